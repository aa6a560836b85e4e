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

import numpy as np

from .model import Fed, Model
from .solver import SystemSolver

BENDING = (3, 4)  # components of strain


class BendingFriction:
    """
    The dry friction of all rods of a robot.

    The solver is given its linear part, stress and stiffness, as with `friction.Friction`: `gap`
    tells whether that was good enough, `keep` makes it the past.

    Parameters
    ----------
    model : Model
    solver : SystemSolver

    """

    def __init__(self, model: Model, solver: SystemSolver) -> None:
        self._model, self._solver = model, solver
        self.limit, self.stiffness = (
            np.array([model.robot.rods[name].dry_bending(d.s)[:, column]
                      for name, d in zip(model.names, model.rods)]) for column in (0, 1))
        self.acts = bool(self.limit.any())
        self.roots = np.zeros((*self.limit.shape, 2))  # (k, N, 2) [1/m]
        self._given = np.zeros_like(self.roots), np.zeros((*self.roots.shape, 2))

    def __bool__(self) -> bool:
        return self.acts

    def forget(self) -> None:
        """Begin with rods that were never bent."""
        self.roots = np.zeros_like(self.roots)

    def _bending(self, i: int, z: np.ndarray) -> np.ndarray:
        """Return the bending of rod i beyond its rest shape, (N, 2) [1/m]."""
        d, q = self._model.rods[i], z[self._solver.q_places[i]]
        parts = [d.component == c for c in BENDING]
        return np.stack([d.Phi[:, part] @ q[part] for part in parts], axis=1)

    def _law(self, i: int, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return moments (N, 2) [N m] at these bendings, and their slopes (N, 2, 2)."""
        bent = u - self.roots[i]
        size = np.linalg.norm(bent, axis=1)
        slips = self.stiffness[i] * size > self.limit[i]
        unit = bent / np.where(size > 0.0, size, 1.0)[:, None]
        secant = np.where(slips, self.limit[i] / np.where(slips, size, 1.0), self.stiffness[i])
        across = np.eye(2) - slips[:, None, None] * unit[:, :, None] * unit[:, None, :]
        return secant[:, None] * bent, secant[:, None, None] * across

    def _generalised(self, i: int, moment: np.ndarray) -> np.ndarray:
        """Return what moments (N, 2) do to the amplitudes, (n,)."""
        d, force = self._model.rods[i], np.zeros(self._model.rods[i].component.size)
        for column, c in enumerate(BENDING):
            here = d.component == c
            force[here] = d.Phi[:, here].T @ (d.w * moment[:, column])
        return force

    def _generalised_slope(self, i: int, slope: np.ndarray) -> np.ndarray:
        """Return the same of slopes (N, 2, 2), (n, n)."""
        d = self._model.rods[i]
        matrix = np.zeros((d.component.size,) * 2)
        for a, b in np.ndindex(2, 2):
            rows, columns = d.component == BENDING[a], d.component == BENDING[b]
            matrix[np.ix_(rows, columns)] = d.Phi[:, rows].T @ (
                (d.w * slope[:, a, b])[:, None] * d.Phi[:, columns])
        return matrix

    def force(self, z: np.ndarray) -> np.ndarray:
        """Return what friction adds to the equations at z, as many as unknowns."""
        r = np.zeros(z.size)
        for i, q in enumerate(self._solver.q_places):
            r[q] = self._generalised(i, self._law(i, self._bending(i, z))[0])
        return r

    def add_to(self, fed: Fed, z: np.ndarray) -> None:
        """Add what friction does to rods near the unknowns z to `fed`."""
        for i in range(len(self._model.rods)):
            u = self._bending(i, z)
            moment, slope = self._law(i, u)
            offset = moment - np.einsum('nij,nj->ni', slope, u)
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
            gap = max(gap, float(np.abs(self._law(i, u)[0] - given).max() / self.limit[i].max()))
        return gap

    def keep(self) -> None:
        """Make the present instant that which is remembered."""
        roots = self.roots.copy()
        for i in range(len(self._model.rods)):
            holds = self.stiffness[i] > 0.0
            u = self._bending(i, self._solver.z)
            moment = self._law(i, u)[0]
            roots[i, holds] = u[holds] - moment[holds] / self.stiffness[i, holds, None]
        self.roots = roots
