r"""
Tendons that run straight in space from the hole of one disc to that of the next.

Its length is a function of the discs' poses, ``l = sum |P_{i+1} - P_i|`` with the holes at
``P_i = p_i + R_i r_i``: not a sum over nodes of densities of the local strain, as those of
`laws.actuators` are. The engine therefore keeps the tendon that is straight in the
section's frame, whose length differs by a part of order ``(angle between discs)^2``, and here is
what is missing: stress and stiffness, and the excess of length, each found for the present shape
and corrected from solve to solve until it is that of the shape that was found. The length, its
gradient and its second derivative are exact; what converges is that of the chords, to rounding.

With c_i the unit vector from hole i to the next, and F_i = c_i - c_{i-1} what a unit of tension
does to disc i:

    dl   = sum c_i . (dP_{i+1} - dP_i)
    d2l  = sum |dP_{i+1} - dP_i|^2 across c_i / |P_{i+1} - P_i| - sum F_i . d2P_i

and the last sum is the tangent of the rod's own equations under dead forces F_i at the holes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..description.modes import StrainModes
from ..description.rod import Rod
from ..engine.solver import at_rest, RodSolver
from ..engine.system import unbalance_and_jacobian
from ..numerics.lie import left_tangent_so3
from ..rod.discretisation import Discretisation, resample
from ..rod.kinematics import kinematics, State


class Functional(NamedTuple):
    """A length, and its derivatives with the amplitudes of the strain modes."""

    length: float         # [m]
    gradient: np.ndarray  # (n,)
    hessian: np.ndarray   # (n, n)


class Chords:
    """
    One tendon through holes.

    Parameters
    ----------
    rod, modes, d
        The rod, and how it is resolved.
    knots : (K,) array
        Arc lengths of the holes, increasing [m].
    holes : (K, 3) array
        Where they are in the sections, body frame [m].

    """

    def __init__(
        self, rod: Rod, modes: StrainModes, d: Discretisation, knots: np.ndarray,
        holes: np.ndarray,
    ) -> None:
        nodes = 3 + max(1, modes.nodes_per_element // (len(knots) - 1))  # more on longer spans
        self.d = resample(rod, modes, d, np.concatenate([[0.0], knots]), nodes)
        self._at = np.array([np.argmin(np.abs(self.d.breaks - s)) for s in knots])
        self._holes = holes
        self._solver = RodSolver(self.d)

    def at(self, q: np.ndarray) -> Functional:
        """Return length and derivatives where the rod has these amplitudes (n,)."""
        d, still = self.d, np.zeros(q.size)
        x = kinematics(d, at_rest(), q, still, still)
        psi, dp = self._columns(x)
        R = np.concatenate([np.eye(3)[None], x.Rc[d.end_station]])[self._at]
        p = np.concatenate([np.zeros((1, 3)), x.p_end])[self._at]
        arm = np.einsum('kij,kj->ki', R, self._holes)
        darm = np.cross(psi, arm[:, :, None], axis=1)
        chord, dchord = np.diff(p + arm, axis=0), np.diff(dp + darm, axis=0)
        size = np.linalg.norm(chord, axis=1)
        c = chord / size[:, None]
        along = np.einsum('ki,kin->kn', c, dchord)
        force = np.zeros((len(arm), 3))
        force[:-1] += c
        force[1:] -= c
        across = np.einsum('kin,kim->nm', dchord / size[:, None, None], dchord) - (
            along / size[:, None]).T @ along
        turned = np.einsum('kin,kim->nm', psi, np.cross(darm, force[:, :, None], axis=1))
        return Functional(
            float(size.sum()), along.sum(axis=0), across - turned + self._dead(q, force, arm))

    def _columns(self, x: State) -> tuple[np.ndarray, np.ndarray]:
        """Return how the sections of the holes turn and move with q, (K, 3, n) each."""
        d, n = self.d, self.d.component.size
        steps = np.zeros((len(d.turn), 3, n))
        bends = d.component >= 3
        axes = x.Rc[:-1] @ np.array([left_tangent_so3(Omega) for Omega in x.Omega])
        steps[:, :, bends] = axes[:, :, d.component[bends] - 3] * d.turn[:, None, bends]
        psi = np.concatenate([np.zeros((1, 3, n)), np.cumsum(steps, axis=0)])
        dt = np.cross(psi[d.station], x.t[:, :, None], axis=1)
        dt[:, :, ~bends] += x.Rc[d.station][:, :, d.component[~bends]] * d.Phi[:, None, ~bends]
        moved = np.add.reduceat(d.w[:, None, None] * dt, np.arange(
            0, d.s.size, d.s.size // len(d.W)), axis=0)
        dp = np.concatenate([np.zeros((1, 3, n)), np.cumsum(moved, axis=0)])
        ends = np.concatenate([[0], d.end_station])
        return psi[ends[self._at]], dp[self._at]

    def _dead(self, q: np.ndarray, force: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Return the tangent of the rod's equations under dead forces at the holes, (n, n)."""
        loads = self._solver.no_loads()
        inside = self._at > 0
        np.add.at(loads.end_force, self._at[inside] - 1, force[inside])
        np.add.at(loads.end_moment, self._at[inside] - 1, np.cross(arm, force)[inside])
        still = np.zeros(q.size)
        return unbalance_and_jacobian(
            self._solver.system(loads), q, still, still, 0.0, 0.0)[1]


def section_length(d: Discretisation, r: np.ndarray, r_s: np.ndarray, weight: np.ndarray,
                   q: np.ndarray) -> Functional:
    """Return the same of a path of the engine, as in :mod:`cosserat_ros.laws.actuators`."""
    xi = d.rest_strain.copy()
    np.add.at(xi.T, d.component, (d.Phi * q).T)
    c = xi[:, :3] + np.cross(xi[:, 3:], r) + r_s
    size = np.linalg.norm(c, axis=1)
    # dc = dv + du x r, in the columns of the modes
    unit = np.concatenate([np.tile(np.eye(3), (len(r), 1, 1)),
                           np.cross(np.eye(3)[None], r[:, None])], axis=1)   # (N, 6, 3)
    dc = unit[:, d.component] * d.Phi[:, :, None]                             # (N, n, 3)
    along = np.einsum('knj,kj->kn', dc, c / size[:, None])
    return Functional(
        float(weight @ size), weight @ along,
        np.einsum('k,knj,kmj->nm', weight / size, dc, dc)
        - np.einsum('k,kn,km->nm', weight / size, along, along))

