"""The compiled parts of the mechanics: motion of stations, lengths, many linear solves at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..assembly.equations import residual
from ..assembly.tangent import differentiate
from ..assembly.ties import factorise, solve
from ..laws.actuators import lengths_and_gradients
from ..numerics.arena import matrix, unowned, vector
from ..numerics.kernels import call, inner, kernel, run
from ..numerics.rotations import coefficients, rotate, tangent_and_slope
from ..rod.kinematics import base_of, state_of, turn_columns

SOLVED, NOT_FINITE = -1, -2
STATIC = 6  # variations of the motion of a frame


class Station(NamedTuple):
    """
    How the pose of one station follows from the nodes of its rod.

    ``p = p_0 + sum share t`` and ``R ~ sum weight R_turn``, a polynomial of the element.
    """

    share: np.ndarray   # (N,) [m]
    turn: np.ndarray    # (K,) int64, stations of the chain of rotations
    weight: np.ndarray  # (K,)


@inner
def _make_orthonormal(R):
    """Take R (3, 3) to the rotation next to it, to which it is near (Newton and Schulz)."""
    S = np.empty((3, 3))
    for _ in range(6):
        for i in range(3):
            for j in range(3):
                S[i, j] = 1.5 if i == j else 0.0
                for k in range(3):
                    S[i, j] -= 0.5 * R[k, i] * R[k, j]
        for i in range(3):
            a, b, c = R[i, 0], R[i, 1], R[i, 2]
            for j in range(3):
                R[i, j] = a * S[0, j] + b * S[1, j] + c * S[2, j]


@inner
def _turn(station, Rc, psi, R, J):
    """Write the rotation of a station, and how it turns."""
    for k in range(station.turn.size):
        e, weight = station.turn[k], station.weight[k]
        for i in range(3):
            for j in range(3):
                R[i, j] += weight * Rc[e, i, j]
            for c in range(J.shape[1]):
                J[3 + i, c] += weight * psi[e, i, c]
    if station.turn.size > 1:
        _make_orthonormal(R)


@inner
def _offset(offset, p, R, J):
    """Take position, rotation and motion of a frame to those of one fixed to it."""
    arm, column = np.empty(3), np.empty(3)
    rotate(R, offset[:3, 3], arm)
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        p[i] += arm[i]
        for c in range(J.shape[1]):
            J[i, c] += J[3 + a, c] * arm[b] - J[3 + b, c] * arm[a]
    turned = np.empty((3, 3))
    for j in range(3):
        rotate(R, offset[:3, j], column)
        for i in range(3):
            turned[i, j] = column[i]
    for i in range(3):
        for j in range(3):
            R[i, j] = turned[i, j]


@kernel
def station_motion(d, base, q, station, offset, wanted):
    """
    Return position (3,) and rotation (3, 3) of a frame at a station, and their motion.

    Parameters
    ----------
    d : Discretisation
    base : Base
    q : (n,) float64
    station : Station
    offset : (4, 4) float64
        From the rod's body frame to this one.
    wanted : bool
        Whether the motion is; J is else without columns.

    Returns
    -------
    p, R, J : arrays
        J (6, n): of position and of rotation (world frame), with q.

    """
    still = np.zeros(q.size)
    x, n = state_of(d, base, q, still, still), 0
    psi = np.zeros((0, 3, 0))
    if wanted:
        n, psi = q.size, turn_columns(d, x)
    p, R, J = base.p.copy(), np.zeros((3, 3)), np.zeros((6, n))
    for k in range(d.s.size):
        share = station.share[k]
        if share == 0.0:
            continue
        e, t = d.station[k], x.t[k]
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            p[i] += share * t[i]
            for c in range(n):
                J[i, c] += share * (psi[e, a, c] * t[b] - psi[e, b, c] * t[a])
        for c in range(n):
            j = d.component[c]
            if j < 3:
                for i in range(3):
                    J[i, c] += share * d.Phi[k, c] * x.Rc[e, i, j]
    _turn(station, x.Rc, psi, R, J)
    _offset(offset, p, R, J)
    return p, R, J


@kernel
def body_motion(R, y, offset, wanted):
    """
    Return position (3,) and rotation (3, 3) of a frame on a free body, and their motion.

    Parameters
    ----------
    R : (3, 3) float64
        Attitude that the body's turn is counted from.
    y : (6,) float64
        Its coordinates: position, and turn as a rotation vector, world frame.
    offset : (4, 4) float64
        From the body's frame to this one.
    wanted : bool
        Whether the motion is; J is else without columns.

    Returns
    -------
    p, R, J : arrays
        J (6, 6): of position and of rotation (world frame), with y.

    """
    body = base_of(R, y, np.zeros(6), np.zeros(6))
    n = 6 if wanted else 0
    J = np.zeros((6, n))
    c, T, slope = vector(8), matrix(3, 3), matrix(3, 3)
    coefficients(y[3:], c)
    tangent_and_slope(y[3:], c, y[3:], T, slope)
    for i in range(n // 2):
        J[i, i] = 1.0
        for j in range(3):
            J[3 + i, 3 + j] = T[i, j]
    _offset(offset, body.p, body.R, J)
    return body.p, body.R, J


@kernel
def actuator_lengths(d, paths, q):
    """Return lengths and volumes (m,) of a rod's actuators, and their slopes with q (m, n)."""
    xi = d.rest_strain.copy()
    for c in range(q.size):
        i = d.component[c]
        for k in range(xi.shape[0]):
            xi[k, i] += d.Phi[k, c] * q[c]
    lengths, density = lengths_and_gradients(paths, xi)
    slopes = np.zeros((lengths.size, q.size))
    for j in range(lengths.size):
        for c in range(q.size):
            i = d.component[c]
            for k in range(xi.shape[0]):
                slopes[j, c] += density[j, k, i] * d.Phi[k, c]
    return lengths, slopes


@unowned
@kernel
def linear_solves(tree, work, tangent, fronts, code, z, still, fresh, rows, dy, out):
    """
    Write the inverse of the static tangent times the residual at z, and times further rows.

    Parameters
    ----------
    tree, work, tangent, fronts
        Of the assembly; the last two are made anew if `fresh`, else used as they are.
    code : Procedures
    z, still : (Z,) float64
        Unknowns; zeros.
    fresh : bool
    rows : (1 + m, Z) float64
        The first is overwritten by the residual.
    dy : (L, 18) float64
        Room.
    out : (1 + m, Z) float64
        Overwritten.

    Returns
    -------
    int
        SOLVED, NOT_FINITE, or which link's block is singular.

    """
    run(residual, code.residual, (tree, z, still, still, work, rows[0]))
    if fresh:
        run(differentiate, code.differentiate, (tree, work, z, 0.0, 0.0, STATIC, tangent))
        at = call(factorise, code.factorise, (tree, STATIC, tangent, fronts))
        if at >= 0:
            return at
    for i in range(rows.shape[0]):
        run(solve, code.solve, (tree, STATIC, tangent, fronts, rows[i], dy, out[i]))
        for j in range(out.shape[1]):
            if not np.isfinite(out[i, j]):
                return NOT_FINITE
    return SOLVED
