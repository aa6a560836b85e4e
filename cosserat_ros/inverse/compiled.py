"""The compiled parts of the mechanics: motion of stations, lengths, many right sides at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..actuators import lengths_and_gradients
from ..kernels import kernel
from ..kinematics import kinematics, turn_columns
from ..system import _apply, _factorise


class Station(NamedTuple):
    """
    How the pose of one station follows from the nodes of its rod.

    ``p = p_0 + sum share t`` and ``R ~ sum weight R_turn``, a polynomial of the element.
    """

    share: np.ndarray   # (N,) [m]
    turn: np.ndarray    # (K,) int64, stations of the chain of rotations
    weight: np.ndarray  # (K,)


@kernel
def station_motion(d, base, q, station, wanted):
    """
    Return position (3,), rotation (3, 3) before it is made orthonormal, and their motion.

    Parameters
    ----------
    d : Discretisation
    base : Base
    q : (n,) float64
    station : Station
    wanted : bool
        Whether the motion is; J is else without columns.

    Returns
    -------
    p, R, J : arrays
        J (6, n): of position and of rotation (world frame), with q.

    """
    still, held = np.zeros(q.size), np.zeros((0, 3))
    x, n = kinematics(d, base, q, still, still), 0
    psi = np.zeros((0, 3, 0))
    if wanted:
        n, psi = q.size, turn_columns(d, x, 0.0, 0.0, held)[0]
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
    for k in range(station.turn.size):
        e, weight = station.turn[k], station.weight[k]
        for i in range(3):
            for j in range(3):
                R[i, j] += weight * x.Rc[e, i, j]
            for c in range(n):
                J[3 + i, c] += weight * psi[e, i, c]
    return p, R, J


@kernel
def actuator_lengths(d, paths, q):
    """Return lengths and volumes (m,) of the actuators of a rod with amplitudes q (n,)."""
    xi = d.rest_strain.copy()
    for c in range(q.size):
        i = d.component[c]
        for k in range(xi.shape[0]):
            xi[k, i] += d.Phi[k, c] * q[c]
    return lengths_and_gradients(paths, xi)[0]


@kernel
def solve_rows(tangent, moves, fresh, inverse, rows, out):
    """
    Write the inverse of a tangent times each row of `rows` to `out`; return whether it is finite.

    `inverse` is made anew if `fresh`, else it is used as it is.
    """
    if fresh and not _factorise(tangent, moves, inverse):
        return False
    for i in range(rows.shape[0]):
        _apply(inverse, rows[i], 6 * moves, out[i])
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            if not np.isfinite(out[i, j]):
                return False
    return True
