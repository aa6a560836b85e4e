"""
Rods that are turned inside out.

The law of material is linear: it has a solution for any compression, also beyond the one at which
nothing is left of the rod. Where the stretch ``v_3`` is 0 or less, sections have passed through
each other: a solution of the equations, but of no robot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..assembly.rods import RodsSolver
from ..description.modes import COMPONENTS
from ..numerics.kernels import Direct, kernel
from ..rod.stations import Stations
from .model import Model

STRETCH = COMPONENTS.index('stretch')


@kernel
def _least_stretch(slopes, rest, places, z):
    """Return where the stretch ``rest + slopes z`` is least, and how much it is there."""
    worst, least = 0, np.inf
    for k in range(rest.size):
        stretch = rest[k]
        for c in range(places.size):
            stretch += slopes[k, c] * z[places[c]]
        if stretch < least:
            worst, least = k, stretch
    return worst, least


class Inversion:
    """
    Finds where a rod is turned inside out, at its nodes and its stations.

    Parameters
    ----------
    model : Model
    solver : RodsSolver
    stations : sequence of Stations
        Of each rod.

    """

    def __init__(
        self, model: Model, solver: RodsSolver, stations: Sequence[Stations],
    ) -> None:
        parts, rest, self._where = [], [], []
        for name, d, at, places in zip(model.names, model.rods, stations, solver.q_places):
            modes = np.zeros((d.s.size, solver.z.size))
            modes[:, places] = np.where(d.component == STRETCH, d.Phi, 0.0)
            parts += [modes, at.at_stations(modes)]
            rest += [d.rest_strain[:, STRETCH], at.at_stations(d.rest_strain)[:, STRETCH]]
            self._where += [(name, float(s)) for s in (*d.s, *at.s)]
        slopes = np.concatenate(parts)
        self._places = np.flatnonzero(slopes.any(axis=0))
        self._slopes, self._rest = slopes[:, self._places].copy(), np.concatenate(rest)
        self._least = Direct(_least_stretch)

    def found(self, z: np.ndarray) -> str:
        """Return where a rod is turned inside out at the unknowns z, in words; empty: nowhere."""
        if not self._places.size:  # no rod can be compressed
            return ''
        worst, stretch = self._least(self._slopes, self._rest, self._places, z)
        if stretch > 0.0:
            return ''
        rod, s = self._where[worst]
        return (f'rod {rod!r} is compressed to nothing: its stretch at {s:.4g} m is '
                f'{stretch:.3g}, must be > 0; it is too soft for these loads')
