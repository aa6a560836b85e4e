"""What a robot shows of itself until someone commands it: the vocabulary of `demonstration`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Optional

from ..checks.fields import Checked, FARTHEST, mapping, named_numbers, number, text, vector

STRONGEST = 1e12  # [N, N m] that a load may be: more is a mistake, and would overflow when turned


class LoadPlace(NamedTuple):
    """Where a load acts: see `MoveLoad`."""

    rod: Optional[str]
    at: Optional[float]  # [m]
    extent: float        # [m]


@dataclass(frozen=True)
class MoveLoad(Checked):
    """
    A load of a demonstration, along the axes of the parent frame.

    Parameters
    ----------
    rod : str, optional
        What it acts on: the platform or the only rod, if left out.
    at : float, optional
        Arc length: the end of the rod, if left out [m].
    extent : float
        Length beyond `at` that it is spread over evenly; 0: it acts at a point [m].
    force : (3,) tuple
        Total force [N].
    moment : (3,) tuple
        Total moment [N m].

    """

    rod: Optional[str] = text('.+', 'the name of a rod', default=None)
    at: Optional[float] = number('m', least=0.0, most=FARTHEST, default=None)
    extent: float = number('m', least=0.0, most=FARTHEST, default=0.0)
    force: tuple[float, float, float] = vector(
        'N', least=-STRONGEST, most=STRONGEST, default=(0.0, 0.0, 0.0))
    moment: tuple[float, float, float] = vector(
        'N m', least=-STRONGEST, most=STRONGEST, default=(0.0, 0.0, 0.0))

    @property
    def place(self) -> LoadPlace:
        """Where it acts."""
        return LoadPlace(self.rod, self.at, self.extent)


@dataclass(frozen=True)
class Move(Checked):
    """
    One move of a demonstration: commands and loads change smoothly to those that it names.

    Parameters
    ----------
    takes : float
        Duration of the move [s].
    commands : mapping of str to float
        Commands of these actuators at its end, in their units; all others stay.
    loads : mapping of str to MoveLoad
        Loads at its end, by names of your own. They begin with 0; all others stay. A load acts at
        the same place in all moves.

    """

    takes: float = number('s', least=1e-2, most=3600.0)
    commands: Mapping[str, float] = named_numbers('a mapping from names of actuators to commands')
    loads: Mapping[str, MoveLoad] = mapping(MoveLoad, 'loads')
