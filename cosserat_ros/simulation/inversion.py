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
from ..rod.stations import Stations
from .model import Model

STRETCH = COMPONENTS.index('stretch')


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

    def found(self, z: np.ndarray) -> str:
        """Return where a rod is turned inside out at the unknowns z, in words; empty: nowhere."""
        if not self._places.size:  # no rod can be compressed
            return ''
        stretch = self._slopes @ z[self._places] + self._rest
        if stretch.min() > 0.0:
            return ''
        worst = int(np.argmin(stretch))
        rod, s = self._where[worst]
        return (f'rod {rod!r} is compressed to nothing: its stretch at {s:.4g} m is '
                f'{stretch[worst]:.3g}, must be > 0; it is too soft for these loads')
