"""The compiled parts of `cosserat_ros.inverse`: motion of stations, quadratic programs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernels import inner, kernel
from .kinematics import kinematics, turn_columns
from .system import _apply, _factorise

DEPENDENT = 1e-22  # of a normal's square, below which it depends on those of active limits


class Station(NamedTuple):
    """
    How the pose of one station follows from the nodes of its rod.

    ``p = p_0 + sum share t`` and ``R ~ sum weight R_turn``, a polynomial of the element.
    """

    share: np.ndarray   # (N,) [m]
    turn: np.ndarray    # (K,) int64, stations of the chain of rotations
    weight: np.ndarray  # (K,)


@kernel
def station_motion(d, base, q, station):
    """
    Return position (3,), rotation (3, 3) before it is made orthonormal, and their motion.

    Parameters
    ----------
    d : Discretisation
    base : Base
    q : (n,) float64
    station : Station

    Returns
    -------
    p, R, J, xi : arrays
        J (6, n): of position and of rotation (world frame), with q. Strains xi (N, 6).

    """
    still, held = np.zeros(q.size), np.zeros((0, 3))
    x = kinematics(d, base, q, still, still)
    psi = turn_columns(d, x, 0.0, 0.0, held)[0]
    p, R, J = base.p.copy(), np.zeros((3, 3)), np.zeros((6, q.size))
    for k in range(d.s.size):
        share = station.share[k]
        if share == 0.0:
            continue
        e, t = d.station[k], x.t[k]
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            p[i] += share * t[i]
            for c in range(q.size):
                J[i, c] += share * (psi[e, a, c] * t[b] - psi[e, b, c] * t[a])
        for c in range(q.size):
            j = d.component[c]
            if j < 3:
                for i in range(3):
                    J[i, c] += share * d.Phi[k, c] * x.Rc[e, i, j]
    for k in range(station.turn.size):
        e, weight = station.turn[k], station.weight[k]
        for i in range(3):
            for j in range(3):
                R[i, j] += weight * x.Rc[e, i, j]
            for c in range(q.size):
                J[3 + i, c] += weight * psi[e, i, c]
    return p, R, J, x.xi


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


# --- Quadratic programs --------------------------------------------------------------------------

@inner
def _project(B, active, count, p, Q, T, along):
    """
    Split row p of B into what active rows make of it and the rest; write `along`, return the rest.

    Q and T become the active rows' orthonormal basis and the triangle of their coordinates.
    """
    n = B.shape[1]
    rest = np.empty(n)
    for k in range(count + 1):
        row = p if k == count else active[k]
        for i in range(n):
            rest[i] = B[row, i]
        for j in range(k):
            T[j, k] = 0.0
        for _ in range(2):  # twice is enough against rounding errors
            for j in range(k):
                part = 0.0
                for i in range(n):
                    part += Q[j, i] * rest[i]
                T[j, k] += part
                for i in range(n):
                    rest[i] -= part * Q[j, i]
        if k < count:
            size = 0.0
            for i in range(n):
                size += rest[i] * rest[i]
            T[k, k] = np.sqrt(size)
            for i in range(n):
                Q[k, i] = rest[i] / T[k, k]
    for k in range(count - 1, -1, -1):
        along[k] = T[k, count]
        for j in range(k + 1, count):
            along[k] -= T[k, j] * along[j]
        along[k] /= T[k, k]
    return rest


@inner
def _most_violated(C, b, x, active, count, tolerance):
    """Return the limit that is violated most, and by how much; -1 if none is."""
    p, worst = -1, -tolerance
    for i in range(b.size):
        gap = -b[i]
        for c in range(x.size):
            gap += C[i, c] * x[c]
        if gap < worst:
            taken = False
            for k in range(count):
                taken = taken or active[k] == i
            if not taken:
                p, worst = i, gap
    return p, worst


@inner
def _free_minimum(L, a, C):
    """Return ``-G^-1 a``, and C in the coordinates in which G is 1, for ``G^-1 = L^T L``."""
    n, m = a.size, C.shape[0]
    B, x = np.zeros((m, n)), np.zeros(n)
    for k in range(n):
        part = 0.0
        for c in range(n):
            part += L[k, c] * a[c]
            for i in range(m):
                B[i, k] += L[k, c] * C[i, c]
        for c in range(n):
            x[c] -= L[k, c] * part
    return x, B


@inner
def _length(gap, square, whole, count, pull, along):
    """Return how far to go to a limit, which active one gives way (-1: none), if x moves."""
    moves = count < along.size - 1 and square > DEPENDENT * whole
    step, drop = -gap / square if moves else np.inf, -1
    for k in range(count):
        if along[k] > 0.0 and pull[k] < step * along[k]:
            step, drop = pull[k] / along[k], k
    return step, drop, moves


@inner
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def least_quadratic(G, a, C, b, tolerance):
    """
    Minimise ``x G x / 2 + a x`` where ``C x >= b`` (Goldfarb and Idnani 1983, the dual method).

    Parameters
    ----------
    G : (n, n) float64
        Positive definite.
    a : (n,) float64
    C : (m, n) float64
    b : (m,) float64
    tolerance : float
        By which limits may be violated.

    Returns
    -------
    x : (n,) float64
    found : bool
        False if the limits contradict each other; x then satisfies some of them.

    """
    n, m = a.size, b.size
    L = np.linalg.inv(np.linalg.cholesky(G))  # G^-1 = L^T L
    x, B = _free_minimum(L, a, C)
    active, count, pull = np.zeros(n + 1, dtype=np.int64), 0, np.zeros(n + 1)
    Q, T, along = np.zeros((n + 1, n)), np.zeros((n + 1, n + 2)), np.zeros(n + 1)
    p, gap = _most_violated(C, b, x, active, count, tolerance)
    own = 0.0  # multiplier of limit p
    for _ in range(20 * (n + m)):
        if p < 0:
            return x, True
        rest = _project(B, active, count, p, Q, T, along)
        square = _dot(rest, rest)
        step, drop, moves = _length(gap, square, _dot(B[p], B[p]), count, pull, along)
        if not np.isfinite(step):
            return x, False
        own += step
        for k in range(count):
            pull[k] -= step * along[k]
        if moves:
            gap += step * square
            for c in range(n):
                for i in range(n):
                    x[c] += step * L[i, c] * rest[i]
        if drop < 0:
            active[count], pull[count] = p, own
            count += 1
            p, gap = _most_violated(C, b, x, active, count, tolerance)
            own = 0.0
        else:
            count -= 1
            for k in range(drop, count):
                active[k], pull[k] = active[k + 1], pull[k + 1]
    return x, False
