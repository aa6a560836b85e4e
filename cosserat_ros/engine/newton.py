"""
Newton's method on the equations of a robot, for a whole step in time.

Each rod's unknowns are removed first, by the inverse of its own block, then those of the platform.
The inverse is kept from iteration to iteration and from step to step as long as it contracts, and
is improved by Broyden's updates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.kernels import borrowed, inner, kernel, run
from .system import equations, Tangent

SLOW = 0.5  # of an update to the one before, above which the tangent is made anew
UPDATES = 12  # that `_accelerate` looks back on
NEAR = 0.1  # update, as strain, below which a tangent is worth keeping
INHERITED = 1e-3  # part of the tolerance for a first update by an earlier tangent
STAGNANT = 1e3  # times the tolerance, below which updates may end in rounding errors
SHORTEST = 1e-3  # part of an update that the line search tries
CONVERGED, RUNNING_OUT, NOT_FINITE, SINGULAR = 0, 1, 2, 3


class Inverse(NamedTuple):
    """Of a tangent: each rod's own block, and what the platform needs of it."""

    block: np.ndarray   # (k, B, B) inverse of a rod's block
    column: np.ndarray  # (k, B, 6) that times what the platform does to it
    row: np.ndarray     # (k, 6, B) what it does to the platform, times that
    schur: np.ndarray   # (6, 6) inverse of what is left for the platform


# --- Linear systems ------------------------------------------------------------------------------

@inner
def _line(a, factor, b, out):
    """Write a + factor b. (numba compiles an array expression for seconds.)"""
    for i in range(a.size):
        out[i] = a[i] + factor * b[i]


@inner
def _multiply(A, B, out):
    """Write A B."""
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            out[i, j] = 0.0
        for k in range(A.shape[1]):
            factor = A[i, k]
            for j in range(B.shape[1]):
                out[i, j] += factor * B[k, j]


@inner
def _size(step, scale):
    """Return the largest entry of a step, as strain; not finite if any entry is not."""
    size = 0.0
    for i in range(step.size):
        if not np.isfinite(step[i]):
            return np.inf
        size = max(size, abs(step[i]) * scale[i])
    return size


@inner
def _largest_below(A, c):
    """Return in which row, from row c on, column c has its largest entry."""
    best = c
    for i in range(c + 1, A.shape[0]):
        if abs(A[i, c]) > abs(A[best, c]):
            best = i
    return best


@inner
def _swap(a, b):
    for i in range(a.size):
        a[i], b[i] = b[i], a[i]


@inner
def _invert(matrix, out):
    """Write the inverse of a matrix; return whether there is one."""
    n = matrix.shape[0]
    swapped = np.empty(n, dtype=np.int64)
    for i in range(n):
        for j in range(n):
            out[i, j] = matrix[i, j]
    for c in range(n):  # Gauss and Jordan, in place, with the largest pivot of each column
        best = _largest_below(out, c)
        pivot = out[best, c]
        if not (abs(pivot) > 0.0 and np.isfinite(pivot)):
            return False
        swapped[c] = best
        if best != c:
            _swap(out[best], out[c])
        out[c, c] = 1.0
        for j in range(n):
            out[c, j] /= pivot
        for i in range(n):
            factor = out[i, c]
            if i != c and factor != 0.0:
                out[i, c] = 0.0
                for j in range(n):
                    out[i, j] -= factor * out[c, j]
    for c in range(n - 1, -1, -1):  # rows that were swapped are columns of the inverse
        if swapped[c] != c:
            _swap(out[:, c], out[:, swapped[c]])
    return True


@inner
def apply_inverse(inverse, r, P, step):
    """Write the inverse times r."""
    k, B = inverse.block.shape[:2]
    end = k * B
    rest = np.zeros(6)
    for e in range(P):
        rest[e] = r[end + e]
        for i in range(k):
            for c in range(B):
                rest[e] -= inverse.row[i, e, c] * r[i * B + c]
    for e in range(P):
        total = 0.0
        for c in range(P):
            total += inverse.schur[e, c] * rest[c]
        step[end + e] = total
    for i in range(k):
        for a in range(B):
            total = 0.0
            for c in range(B):
                total += inverse.block[i, a, c] * r[i * B + c]
            for c in range(P):
                total -= inverse.column[i, a, c] * step[end + c]
            step[i * B + a] = total


@inner
def factorise(tangent, moves, inverse):
    """Write the inverse of the tangent; return whether there is one."""
    k = inverse.block.shape[0]
    for i in range(k):
        if not _invert(tangent.block[i], inverse.block[i]):
            return False
    if not moves:
        return True
    S, product = tangent.corner.copy(), np.empty((6, 6))
    for i in range(k):
        _multiply(inverse.block[i], tangent.column[i], inverse.column[i])
        _multiply(tangent.row[i], inverse.block[i], inverse.row[i])
        _multiply(tangent.row[i], inverse.column[i], product)
        for e in range(6):
            for c in range(6):
                S[e, c] -= product[e, c]
    return _invert(S, inverse.schur)


# --- Steps ---------------------------------------------------------------------------------------

class Updates(NamedTuple):
    """Made with one inverse, one after another, for `_accelerate`."""

    made: np.ndarray    # (1,) int64, how many
    step: np.ndarray    # (UPDATES, B)
    square: np.ndarray  # (UPDATES,) of their sizes, as strain


@inner
def _remember(a, step, scale, shortened):
    """Add a step to the updates; after one that was shortened, begin anew."""
    j = a.made[0]
    if shortened < 1.0 or j == a.square.size:
        a.made[0] = 0
        return
    a.square[j] = 0.0
    for i in range(step.size):
        a.step[j, i] = step[i]
        a.square[j] += (step[i] * scale[i]) ** 2
    a.made[0] += 1


@inner
def _accelerate(a, scale, step):
    """
    Improve a step by the updates that were made with the same inverse (Broyden's method).

    In the form that needs no matrix (Kelley 1995, chapter 7). Returns whether it may be used.
    """
    for j in range(a.made[0]):
        share = 0.0
        for i in range(step.size):
            share += a.step[j, i] * step[i] * scale[i] ** 2
        share /= a.square[j]
        last = j == a.made[0] - 1
        if last and not abs(share) < SLOW:
            return False
        for i in range(step.size):
            step[i] = step[i] / (1.0 - share) if last else step[i] + share * a.step[j + 1, i]
    return True


@inner
def _part_left(fresh, first, size, previous):
    """
    Return what is left of an error after an update of this size, per size.

    An inverse that was kept leaves a part like that which the last update was of the one before;
    of an inherited one this is known from its second update on.
    """
    if fresh or (not first and not size < 0.5 * previous):
        return 1.0
    return 1.0 / INHERITED if first else size / (previous - size)


@inner
def _follow(past, rule, now, h):
    """Write the first guess to now[0], and the history's part of the other rows to h (3, n)."""
    for i in range(past.shape[1]):
        now[0, i] = 0.0
        for j in range(past.shape[0]):
            now[0, i] += rule.guess[j] * past[j, i]
        for line in range(3):
            h[line, i] = 0.0
            for j in range(past.shape[0]):
                h[line, i] += rule.past[line, j] * past[j, i]


@inner
def _finish(past, rule, h, scale, now):
    """Complete the history at the new instant; efforts and reactions have no rates."""
    for i in range(past.shape[1]):
        moves = scale[i] > 0.0
        now[1, i] = rule.new[0] * now[0, i] + h[0, i] if moves else 0.0
        now[2, i] = rule.new[1] * now[0, i] + h[1, i] if moves else 0.0
        now[3, i], now[4, i] = past[0, i], past[1, i]
        now[5, i] = rule.new[2] * now[0, i] + h[2, i] if moves else 0.0


@kernel
def newton(system, past, rule, scale, tolerance, most, reach, inverse, known):
    """
    Go to the next instant.

    Parameters
    ----------
    system : System
    past : (6, B) float64
        History, see `cosserat_ros.numerics.integrators`.
    rule : Rule
        Of the step; of statics, `STILL`.
    scale : float64 array
        Size of each unknown as strain; 0 for efforts and reactions.
    tolerance, most : float, int
        Error that may be left, as strain; iterations at which to give up.
    reach : float
        Largest update in one iteration: longer ones are shortened.
    inverse : Inverse
        Of an earlier tangent, if `known`; overwritten by the last one used. An inverse is kept
        while each update is a small part of the one before (`SLOW`), and then made anew. The line
        search measures by it too: a step is halved until the next update by the same inverse is
        smaller than this one (Deuflhard's natural monotonicity test).

    Returns
    -------
    now : (6, B) float64
        History at the new instant; the old one if there is none.
    status, iterations : int
    size, worst : float
        Of the last update, and of the residual before it.

    """
    system = borrowed(system)
    n = past.shape[1]
    P = 6 * system.platform.moves
    cV, cA = rule.new[0], rule.new[1]
    now, h = np.empty(past.shape), np.empty((3, n))
    _follow(past, rule, now, h)
    z, z_t, z_tt = now[0], now[1], now[2]
    good, r, step, ones = np.empty(n), np.empty(n), np.empty(n), np.ones(n)
    updates = Updates(np.zeros(1, dtype=np.int64), np.zeros((UPDATES, n)), np.empty(UPDATES))
    k, B = inverse.block.shape[:2]
    tangent = Tangent(
        np.empty((k, B, B)), np.empty((k, B, 6)), np.empty((k, 6, B)), np.empty((6, 6)))
    size, worst, shortened = np.inf, np.inf, 1.0
    dz, fresh = np.zeros(n), False  # fresh: whether the inverse was made for the last update
    for iteration in range(1, most + 1):
        _line(h[0], cV, z, z_t)
        _line(h[1], cA, z, z_tt)
        building = not (known or fresh)
        run(equations, system.code.equations, (
            system, z, z_t, z_tt, cV, cA, building, r, tangent))
        worst, previous = _size(r, ones), size
        if not building:
            apply_inverse(inverse, r, P, step)
            size = _size(step, scale)
            if fresh and not size < previous and shortened > SHORTEST:
                shortened *= 0.5
                _line(good, -shortened, dz, z)
                size = previous
                continue
            known = known and size < SLOW * previous
            if known:
                known = _accelerate(updates, scale, step)
                size = _size(step, scale)
        fresh = not known
        if fresh:
            if not building:
                building = not building  # numba would compile anew for a constant
                run(equations, system.code.equations, (
                    system, z, z_t, z_tt, cV, cA, building, r, tangent))
            if not np.isfinite(worst):
                return past, NOT_FINITE, iteration, size, worst
            if not factorise(tangent, system.platform.moves, inverse):
                return past, SINGULAR, iteration, size, worst
            apply_inverse(inverse, r, P, step)
            size = _size(step, scale)
            known = size < NEAR
            updates.made[0] = 0
        if not np.isfinite(size):
            return past, NOT_FINITE, iteration, size, worst
        shortened = min(1.0, reach / size) if size > 0.0 else 1.0
        for i in range(n):
            good[i], dz[i] = z[i], step[i]
        _line(good, -shortened, dz, z)
        _remember(updates, step, scale, shortened)
        # Where the updates end in rounding errors they no longer shrink.
        stagnant = size < STAGNANT * tolerance and not size < 0.5 * previous
        if _part_left(fresh, iteration == 1, size, previous) * size < tolerance or stagnant:
            _finish(past, rule, h, scale, now)
            return now, CONVERGED, iteration, size, worst
    return past, RUNNING_OUT, most, size, worst
