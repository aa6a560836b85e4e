r"""
Tendons that run straight in space from the hole of one disc to that of the next.

Its length is a function of the discs' poses, ``l = sum |P_{i+1} - P_i|`` with the holes at
``P_i = p_i + R_i r_i``: not a sum over nodes of densities of the local strain, as those of
`laws.actuators` are. The equations of the rod therefore keep the tendon that is straight in the
section's frame, whose length differs by a part of order ``(angle between discs)^2``, and here is
what is missing: stress and stiffness, and the excess of length, each found for the present shape
and corrected from solve to solve until it is that of the shape that was found. The length, its
gradient and its second derivative are exact; what converges is that of the chords, to rounding.

With c_i the unit vector from hole i to the next, and f_i = c_{i-1} - c_i how the length grows with
the place of hole i:

    dl   = sum f_i . dP_i
    d2l  = sum |dP_{i+1} - dP_i|^2 across c_i / |P_{i+1} - P_i| + sum f_i . d2P_i

A hole is a sum of vectors that turn with the chain of rotations, ``P_i = sum y``: y = w R v of
each node before it, and y = R_i r_i. With f(y) the sum of f_i over all holes that y is a part of,
the last sum is that of f(y) . d2y. For two turns before y, psi_a and later in the chain psi_b,

    f . d2y = psi_b . (f y^T - f . y I) psi_a

so that one matrix S, summed from the tip down to b, stands for all that is beyond it; the axial
vector of S - S^T is M, the moment sum y x f. What is left is the second derivative with the
exponent o of one exponential, ``T^T S^T T + d(T^T M)/do``, and what turns do to the strains v.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..description.modes import StrainModes
from ..description.rod import Rod
from ..numerics.arena import matrix, vector
from ..numerics.kernels import Direct, inner, kernel
from ..numerics.rotations import add, add_cross, cross, rotate, rotate_back, tangent_and_slope
from ..rod.discretisation import Discretisation, resample
from ..rod.kinematics import Base, kinematics, turn_columns

BASE = Base(np.eye(3), *np.zeros((5, 3)))  # lengths do not depend on where the rod stands


class Functional(NamedTuple):
    """A length, and its derivatives with the amplitudes of the strain modes."""

    length: float         # [m]
    gradient: np.ndarray  # (n,)
    hessian: np.ndarray   # (n, n)


class Holes(NamedTuple):
    """What a tendon runs through, in order."""

    at: np.ndarray     # (K,) int64, which end of an element; 0 is the base
    place: np.ndarray  # (K, 3) in the section, body frame [m]


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
        at = np.array([np.argmin(np.abs(self.d.breaks - s)) for s in knots])
        self._holes = Holes(at, np.ascontiguousarray(holes, dtype=float))

    def at(self, q: np.ndarray) -> Functional:
        """Return length and derivatives where the rod has these amplitudes (n,)."""
        return Functional(*_chord_length(self.d, BASE, np.ascontiguousarray(q), self._holes))


# --- Kernels -------------------------------------------------------------------------------------

@kernel
def chord_length(d, base, q, holes):
    """
    Return the length of a tendon that is straight from hole to hole, gradient and Hessian.

    Parameters
    ----------
    d : Discretisation
    base : Base
        At rest.
    q : (n,) float64
    holes : Holes

    """
    n, K = q.size, holes.at.size
    still = np.zeros(n)
    x = kinematics(d, base, q, still, still)
    psi = turn_columns(d, x)
    P, arm, dP = np.empty((K, 3)), np.empty((K, 3)), np.zeros((K, 3, n))
    _place_holes(d, base, x, psi, holes, P, arm, dP)
    length, gradient, half, f = 0.0, np.zeros(n), np.zeros((n, n)), np.zeros((K, 3))
    for i in range(K - 1):
        length += _add_chord(P[i], P[i + 1], dP[i], dP[i + 1], f[i], f[i + 1], gradient, half)
    _add_turns(d, x, psi, holes, arm, f, half)
    H = np.empty((n, n))
    for b in range(n):
        for c in range(n):
            H[b, c] = half[b, c] + half[c, b]
    return length, gradient, H


_chord_length = Direct(chord_length)


@inner
def _place_holes(d, base, x, psi, holes, P, arm, dP):
    """Write holes P and their arms R r (K, 3), and add the variation of P to dP (K, 3, n)."""
    m, n = d.s.size // d.W.shape[0], psi.shape[2]
    dp, k = np.zeros((3, n)), 0
    for i in range(holes.at.size):
        a = holes.at[i]
        e = d.end_station[a - 1] if a > 0 else 0
        rotate(x.Rc[e], holes.place[i], arm[i])
        for j in range(3):
            P[i, j] = arm[i, j] + (x.p_end[a - 1, j] if a > 0 else base.p[j])
        while k < a * m:
            _add_node(d, k, x.Rc[d.station[k]], x.t[k], psi[d.station[k]], dp)
            k += 1
        add(dp, dP[i], 1.0)
        add_cross(arm[i], psi[e], dP[i], -1.0)


@inner
def _add_node(d, k, R, t, psi, dp):
    """Add the variation of w t at node k to dp (3, n)."""
    y = vector(3)
    for i in range(3):
        y[i] = d.w[k] * t[i]
    add_cross(y, psi, dp, -1.0)
    for c in range(dp.shape[1]):
        j, weight = d.component[c], d.w[k] * d.Phi[k, c]
        if j < 3 and weight != 0.0:
            for i in range(3):
                dp[i, c] += weight * R[i, j]


@inner
def _add_chord(start, end, dstart, dend, f_start, f_end, gradient, half):
    """Return the length of one chord; add its forces, its gradient and half its curvature."""
    n, c = gradient.size, vector(3)
    size = 0.0
    for i in range(3):
        c[i] = end[i] - start[i]
        size += c[i] ** 2
    size = np.sqrt(size)
    for i in range(3):
        c[i] /= size
        f_start[i] -= c[i]
        f_end[i] += c[i]
    across = np.empty((3, n))
    for b in range(n):
        along = 0.0
        for i in range(3):
            across[i, b] = dend[i, b] - dstart[i, b]
            along += c[i] * across[i, b]
        gradient[b] += along
        for i in range(3):
            across[i, b] -= along * c[i]
    for b in range(n):
        for i in range(3):
            weight = 0.5 * across[i, b] / size
            for j in range(n):
                half[b, j] += weight * across[i, j]
    return size


@inner
def _add_turns(d, x, psi, holes, arm, f, half):
    """Add half of sum f . d2P to `half` (n, n): each pair of variations once, in either order."""
    S, total, y = np.zeros((3, 3)), np.zeros(3), vector(3)  # total: f of all holes beyond
    V = np.empty((3, psi.shape[2]))
    i, a, k = holes.at.size - 1, d.end_station.size, d.s.size - 1
    for e in range(d.turn.shape[0], 0, -1):  # stations, down from the tip
        if a > 0 and d.end_station[a - 1] == e:
            if i >= 0 and holes.at[i] == a:
                for j in range(3):
                    total[j] += f[i, j]
                _add_arm(f[i], arm[i], S)
                i -= 1
            a -= 1
        if k >= 0 and d.station[k] == e:
            for j in range(3):
                y[j] = d.w[k] * x.t[k, j]
            _add_arm(total, y, S)
            _add_stretch(d, k, x.Rc[e], total, psi[e], half)
            k -= 1
        _add_exponential(d, e - 1, x, S, psi[e - 1], V, half)


@inner
def _add_arm(f, y, S):
    """Add f y^T - f . y I to S (3, 3)."""
    along = f[0] * y[0] + f[1] * y[1] + f[2] * y[2]
    for i in range(3):
        S[i, i] -= along
        for j in range(3):
            S[i, j] += f[i] * y[j]


@inner
def _add_stretch(d, k, R, f, psi, half):
    """Add what turns before node k do to its own strains v: f . (psi x w R dv)."""
    z = vector(3)
    for b in range(half.shape[0]):
        j, weight = d.component[b], d.w[k] * d.Phi[k, b]
        if j < 3 and weight != 0.0:
            cross(R[:, j], f, z)
            for c in range(half.shape[1]):
                half[b, c] += weight * (z[0] * psi[0, c] + z[1] * psi[1, c] + z[2] * psi[2, c])


@inner
def _add_exponential(d, e, x, S, psi, V, half):
    """Add pairs of exponential e with turns before it, psi (3, n), and with itself; V is room."""
    n, across, own = half.shape[0], matrix(3, 3), matrix(3, 3)
    _exponential_slopes(x.Rc[e], x.Omega[e], x.c[e], S, across, own)
    for i in range(3):
        for c in range(n):
            V[i, c] = (across[i, 0] * psi[0, c] + across[i, 1] * psi[1, c]
                       + across[i, 2] * psi[2, c])
    for b in range(n):
        i, weight = d.component[b] - 3, d.turn[e, b]
        if i < 0 or weight == 0.0:
            continue
        for c in range(n):
            half[b, c] += weight * V[i, c]
        for c in range(n):
            j = d.component[c] - 3
            if j >= 0:
                half[b, c] += 0.5 * weight * d.turn[e, c] * own[i, j]


@inner
def _exponential_slopes(R, o, coefficients, S, across, own):
    """Write (R T)^T S, and the second derivative with the exponent o itself; (3, 3) each."""
    T, D, B = matrix(3, 3), matrix(3, 3), matrix(3, 3)
    M, m, minus = vector(3), vector(3), vector(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        M[i], minus[i] = S[k, j] - S[j, k], -o[i]
    rotate_back(R, M, m)
    tangent_and_slope(minus, coefficients, m, T, D)  # T(-o) = T(o)^T, and D = d(T(-o) m)/d(-o)
    for i in range(3):
        for j in range(3):
            B[i, j] = R[i, 0] * T[j, 0] + R[i, 1] * T[j, 1] + R[i, 2] * T[j, 2]
    for i in range(3):
        for j in range(3):
            across[i, j] = B[0, i] * S[0, j] + B[1, i] * S[1, j] + B[2, i] * S[2, j]
    for i in range(3):
        for j in range(3):
            own[i, j] = (across[j, 0] * B[0, i] + across[j, 1] * B[1, i] + across[j, 2] * B[2, i]
                         - D[i, j])


# --- Straight in the section's frame -------------------------------------------------------------

def section_length(d: Discretisation, r: np.ndarray, r_s: np.ndarray, weight: np.ndarray,
                   q: np.ndarray) -> Functional:
    """Return the same of a path in the section's frame, see :mod:`cosserat_ros.laws.actuators`."""
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

