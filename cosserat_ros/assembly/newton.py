"""
Newton's method on the equations of an assembly, for a whole step in time.

The tangent is kept, factorised, from iteration to iteration and from step to step as long as it
contracts, and is improved by Broyden's updates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import empty, unowned
from ..numerics.kernels import borrowed, call, inner, kernel, run
from .fronts import factorise, solve
from .tangent import differentiate
from .tree import residual

KEEP_TANGENT_BELOW = 0.5     # of an update to the one before, above which the tangent is made anew
BROYDEN_UPDATES = 12         # that `_accelerate` looks back on
REUSE_TANGENT_BELOW = 0.1    # update, as strain, below which a tangent is worth keeping
FIRST_UPDATE_COUNTS = 1e-3   # part of the tolerance for a first update by an inherited tangent
ROUNDING_BELOW = 1e3         # times the tolerance, below which updates may end in rounding errors
SHORTEST_STEP = 1e-3         # part of an update that the line search tries
CONVERGED, RUNNING_OUT, NOT_FINITE, SINGULAR = 0, 1, 2, 3


class Procedures(NamedTuple):
    """Addresses of the compiled sweeps."""

    residual: int
    differentiate: int
    factorise: int
    solve: int
    multiply: int


@inner
def _line(a, factor, b, out):
    """Write a + factor b. (numba compiles an array expression for seconds.)"""
    for i in range(a.size):
        out[i] = a[i] + factor * b[i]


@inner
def _largest(r):
    """Return the largest entry of a residual; not finite if any entry is not."""
    size = 0.0
    for i in range(r.size):
        if not np.isfinite(r[i]):
            return np.inf
        size = max(size, abs(r[i]))
    return size


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
def _differ(held, then):
    """Return whether other coordinates are at limits than those a tangent was made for."""
    for i in range(held.size):
        if held[i] != then[i]:
            return True
    return False


class Updates(NamedTuple):
    """Made with one tangent, one after another, for `_accelerate`."""

    step: np.ndarray    # (BROYDEN_UPDATES, Z)
    square: np.ndarray  # (BROYDEN_UPDATES,) of their sizes, as strain


@inner
def _remember(a, made, step, scale, shortened):
    """Add a step to the updates, of which so many were made; return how many there are then."""
    if shortened < 1.0 or made == a.square.size:
        return 0  # after one that was shortened, begin anew
    a.square[made] = 0.0
    for i in range(step.size):
        a.step[made, i] = step[i]
        a.square[made] += (step[i] * scale[i]) ** 2
    return made + 1


@inner
def _accelerate(a, made, scale, step):
    """
    Improve a step by the updates that were `made` with the same tangent (Broyden's method).

    In the form that needs no matrix (Kelley 1995, chapter 7). Returns whether it may be used.
    """
    for j in range(made):
        share = 0.0
        for i in range(step.size):
            share += a.step[j, i] * step[i] * scale[i] ** 2
        share /= a.square[j]
        last = j == made - 1
        if last and not abs(share) < KEEP_TANGENT_BELOW:
            return False
        for i in range(step.size):
            step[i] = step[i] / (1.0 - share) if last else step[i] + share * a.step[j + 1, i]
    return True


@inner
def _part_left(fresh, first, size, previous):
    """
    Return what is left of an error after an update of this size, per size.

    A tangent that was kept leaves a part like that which the last update was of the one before;
    of an inherited one this is known from its second update on.
    """
    if fresh or (not first and not size < 0.5 * previous):
        return 1.0
    return 1.0 / FIRST_UPDATE_COUNTS if first else size / (previous - size)


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
def _finish(past, rule, h, moves, now):
    """Complete the history at the new instant; efforts and reactions have no rates."""
    for i in range(past.shape[1]):
        now[1, i] = rule.new[0] * now[0, i] + h[0, i] if moves[i] else 0.0
        now[2, i] = rule.new[1] * now[0, i] + h[1, i] if moves[i] else 0.0
        now[3, i], now[4, i] = past[0, i], past[1, i]
        now[5, i] = rule.new[2] * now[0, i] + h[2, i] if moves[i] else 0.0


class Stop(NamedTuple):
    """When Newton's method ends."""

    scale: np.ndarray  # (Z,) size of each unknown as strain; 0 for efforts and reactions
    moves: np.ndarray  # (Z,) bool, coordinates
    tolerance: float   # error that may be left, as strain
    most: int          # iterations at which to give up
    reach: float       # largest update in one iteration: longer ones are shortened


def newton_size(Z: int, links: int) -> int:
    """Return how much room `newton` needs, at the beginning of the arena."""
    return (7 + BROYDEN_UPDATES) * Z + BROYDEN_UPDATES + 18 * links


@unowned
@kernel
def newton(tree, work, tangent, fronts, code, past, rule, stop, ny, known, now):
    """
    Go to the next instant.

    Parameters
    ----------
    tree, work, tangent, fronts
        Of the assembly. `fronts` are those of an earlier tangent, if `known`, and are overwritten.
        They are kept while each update is a small part of the one before and the same coordinates
        are at limits, and then made anew.
        The line search measures by them too: a step is halved until the next update by the same
        tangent is smaller than this one (Deuflhard's natural monotonicity test).
    code : Procedures
    past : (6, Z) float64
        History, see `cosserat_ros.numerics.integrators`.
    rule : Rule
        Of the step; of statics, `STILL`.
    stop : Stop
    ny : int
        18; 6 in statics.
    known : bool
        Whether the fronts are those of an earlier tangent that may do.
    now : (6, Z) float64
        Overwritten by the history at the new instant, if that is found.

    Returns
    -------
    status, iterations : int
    size, worst : float
        Of the last update, and of the residual before it.
    at : int
        Which link's block is singular, if the status is so.

    """
    tree, work = borrowed(tree), borrowed(work)
    tangent, fronts = borrowed(tangent), borrowed(fronts)
    scale, n, room = stop.scale, past.shape[1], work.room
    cV, cA = rule.new[0], rule.new[1]
    room.used[0] = 0
    h = empty(room, (3, n))
    good, r, step, dz = (
        empty(room, (n,)), empty(room, (n,)), empty(room, (n,)), empty(room, (n,)))
    dy = empty(room, (tree.links.kind.size, 18))
    updates = Updates(empty(room, (BROYDEN_UPDATES, n)), empty(room, (BROYDEN_UPDATES,)))
    _follow(past, rule, now, h)
    z, z_t, z_tt, made = now[0], now[1], now[2], 0
    size, worst, shortened = np.inf, np.inf, 1.0
    fresh = False  # whether the tangent was made for the last update
    for iteration in range(1, stop.most + 1):
        for i in range(n):
            z_t[i] = h[0, i] + cV * z[i] if stop.moves[i] else 0.0
            z_tt[i] = h[1, i] + cA * z[i] if stop.moves[i] else 0.0
        run(residual, code.residual, (tree, z, z_t, z_tt, work, r))
        worst, previous = _largest(r), size
        if (known or fresh) and _differ(work.held, tangent.held):
            known, fresh = False, False
        if known or fresh:
            run(solve, code.solve, (tree, ny, tangent, fronts, r, dy, step))
            size = _size(step, scale)
            if fresh and not size < previous and shortened > SHORTEST_STEP:
                shortened *= 0.5
                _line(good, -shortened, dz, z)
                size = previous
                continue
            known = known and size < KEEP_TANGENT_BELOW * previous
            if known:
                known = _accelerate(updates, made, scale, step)
                size = _size(step, scale)
        fresh = not known
        if fresh:
            if not np.isfinite(worst):
                return NOT_FINITE, iteration, size, worst, -1
            run(differentiate, code.differentiate, (tree, work, z, cV, cA, ny, tangent))
            at = call(factorise, code.factorise, (tree, ny, tangent, fronts))
            if at >= 0:
                return SINGULAR, iteration, size, worst, at
            run(solve, code.solve, (tree, ny, tangent, fronts, r, dy, step))
            size = _size(step, scale)
            known = size < REUSE_TANGENT_BELOW
            made = 0
        if not np.isfinite(size):
            return NOT_FINITE, iteration, size, worst, -1
        shortened = min(1.0, stop.reach / size) if size > 0.0 else 1.0
        for i in range(n):
            good[i], dz[i] = z[i], step[i]
        _line(good, -shortened, dz, z)
        made = _remember(updates, made, step, scale, shortened)
        # Where the updates end in rounding errors they no longer shrink.
        stagnant = size < ROUNDING_BELOW * stop.tolerance and not size < 0.5 * previous
        if _part_left(fresh, iteration == 1, size, previous) * size < stop.tolerance or stagnant:
            _finish(past, rule, h, stop.moves, now)
            return CONVERGED, iteration, size, worst, -1
    return RUNNING_OUT, stop.most, size, worst, -1
