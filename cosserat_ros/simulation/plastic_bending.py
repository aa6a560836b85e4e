r"""
Dry friction of rods against bending: sheaths, discs and slack tendons that rub as a rod bends.

It does not depend on tension: such an arm stays a little bent with all of its tendons slack. At
each node the bending strain u = (u_x, u_y) is held by a bristle whose root is at a:

    m = k (u - a),   |m| <= M,   k = M / presliding

Where the bristle would carry more than M it slips: its root follows, so that |m| = M along u - a
(the return mapping of perfect plasticity). That is the law of least dissipation in two directions,
and m has a symmetric slope, so that Newton's method converges. The roots are remembered from step
to step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..assembly.rods import RodsSolver
from ..laws.capstan_friction import AT_LIMIT
from .feeding import Fed
from .model import Model

BENDING = (3, 4)  # components of strain


class _Modes(NamedTuple):
    """The modes of one component of a rod's bending."""

    places: np.ndarray    # (j,) int64, among the rod's amplitudes
    values: np.ndarray    # (N, j) at the nodes
    weighted: np.ndarray  # (j, N) the same, times the weights of quadrature


class BendingFriction:
    """
    The dry friction of all rods of a robot.

    The solver is given its linear part, stress and stiffness, as with `friction.Friction`: `gap`
    tells whether that was good enough, `keep` makes it the past.

    Parameters
    ----------
    model : Model
    solver : RodsSolver

    """

    def __init__(self, model: Model, solver: RodsSolver) -> None:
        self._model, self._solver = model, solver
        self.limit, self.stiffness = (
            np.array([model.robot.rods[name].dry_bending(d.s)[:, column]
                      for name, d in zip(model.names, model.rods)]) for column in (0, 1))
        self.acts = bool(self.limit.any())
        self.roots = np.zeros((*self.limit.shape, 2))  # (k, N, 2) [1/m]
        self._given = np.zeros_like(self.roots), np.zeros((*self.roots.shape, 2))
        self._modes = [[_Modes(np.flatnonzero(d.component == c), d.Phi[:, d.component == c],
                               d.Phi[:, d.component == c].T * d.w) for c in BENDING]
                       for d in model.rods]

    def __bool__(self) -> bool:
        return self.acts

    def forget(self) -> None:
        """Begin with rods that were never bent."""
        self.roots = np.zeros_like(self.roots)

    def _bending(self, i: int, z: np.ndarray) -> np.ndarray:
        """Return the bending of rod i beyond its rest shape, (N, 2) [1/m]."""
        q = z[self._solver.q_places[i]]
        u = np.empty(self.roots[i].shape)
        for column, modes in enumerate(self._modes[i]):
            u[:, column] = modes.values @ q[modes.places]
        return u

    def _secant(
        self, i: int, bent: np.ndarray, yields: bool = False,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return moments per bend (N,) of bristles bent by (N, 2), which slip, and by how much."""
        size = np.sqrt(bent[:, 0] ** 2 + bent[:, 1] ** 2)
        limit = self.limit[i] * (1.0 - AT_LIMIT if yields else 1.0 + AT_LIMIT)
        slips = self.stiffness[i] * size > limit
        secant = np.where(slips, self.limit[i] / np.where(slips, size, 1.0), self.stiffness[i])
        return secant, slips, size

    def _moment(self, i: int, u: np.ndarray) -> np.ndarray:
        """Return moments (N, 2) [N m] at these bendings."""
        bent = u - self.roots[i]
        return self._secant(i, bent)[0][:, None] * bent

    def _slope(self, i: int, u: np.ndarray, yields: bool = False) -> np.ndarray:
        """Return how the moments change with the bendings, (N, 2, 2)."""
        bent = u - self.roots[i]
        secant, slips, size = self._secant(i, bent, yields)
        unit = bent / np.where(size > 0.0, size, 1.0)[:, None]
        across = np.eye(2) - slips[:, None, None] * unit[:, :, None] * unit[:, None, :]
        return secant[:, None, None] * across

    def _generalised_slope(self, i: int, slope: np.ndarray) -> np.ndarray:
        """Return what slopes (N, 2, 2) do to the amplitudes, (n, n)."""
        matrix = np.zeros((self._model.rods[i].component.size,) * 2)
        for a, b in np.ndindex(2, 2):
            rows, columns = self._modes[i][a], self._modes[i][b]
            matrix[np.ix_(rows.places, columns.places)] = (
                rows.weighted * slope[:, a, b]) @ columns.values
        return matrix

    def force(self, z: np.ndarray) -> np.ndarray:
        """Return what friction adds to the equations at z, as many as unknowns."""
        r = np.zeros(z.size)
        for i, q in enumerate(self._solver.q_places):
            moment = self._moment(i, self._bending(i, z))
            for column, modes in enumerate(self._modes[i]):
                r[q[modes.places]] = modes.weighted @ moment[:, column]
        return r

    def add_to(self, fed: Fed, z: np.ndarray, yields: bool = False) -> None:
        """
        Add what friction does to rods near the unknowns z to `fed`.

        A bristle that is at its limit slips on if it `yields`, and sticks if not.
        """
        for i in range(len(self._model.rods)):
            u = self._bending(i, z)
            slope = self._slope(i, u, yields)
            offset = self._moment(i, u) - np.einsum('nij,nj->ni', slope, u)
            fed.elastic[i] += self._generalised_slope(i, slope)
            fed.stress[i][:, list(BENDING)] += offset
            self._given[0][i], self._given[1][i] = offset, slope

    def gap(self) -> float:
        """Return how far the linear law is from the law at the present, as a part of its limit."""
        gap = 0.0
        for i in range(len(self._model.rods)):
            if not self.limit[i].any():
                continue
            u = self._bending(i, self._solver.z)
            given = self._given[0][i] + np.einsum('nij,nj->ni', self._given[1][i], u)
            gap = max(gap, float(np.abs(self._moment(i, u) - given).max() / self.limit[i].max()))
        return gap

    def keep(self) -> None:
        """Make the present instant that which is remembered."""
        roots = self.roots.copy()
        for i in range(len(self._model.rods)):
            holds = self.stiffness[i] > 0.0
            u = self._bending(i, self._solver.z)
            moment = self._moment(i, u)
            roots[i, holds] = u[holds] - moment[holds] / self.stiffness[i, holds, None]
        self.roots = roots
