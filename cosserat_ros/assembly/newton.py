"""
Newton's method on the equations of an assembly, for a whole step in time.

The tangent is kept, factorised, from iteration to iteration and from step to step as long as it
contracts, and is improved by Broyden's updates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import empty, unowned
from ..numerics.kernels import call, inner, kernel, merged, run
from .equations import residual
from .tangent import differentiate, renew
from .ties import factorise, solve
from .tree import AT_LIMIT

KEEP_TANGENT_BELOW = 0.5     # of an update to the one before, above which the tangent is made anew
BROYDEN_UPDATES = 12         # that `_accelerate` looks back on
REUSE_TANGENT_BELOW = 0.1    # update, as strain, below which a tangent is worth keeping
FIRST_UPDATE_COUNTS = 1e-3   # part of the tolerance for a first update by an inherited tangent
ROUNDING_BELOW = 1e3         # times the tolerance, below which updates may end in rounding errors
ROUNDING = 1e-7              # strain, likewise
SHORTEST_STEP = 1e-3         # part of an update that the line search tries
LEAST_SETTLED = 1e-9         # strain, to which a last look asks for balance at most
MOST_RENEWALS = 8            # of the part of laws alone, until all of the tangent is made anew
DEEPEST = 0.25               # part of a radius that an update may go into an obstacle
DEEPER = 0.1                 # part of the way on to the middle that what is deeper may go
CONVERGED, RUNNING_OUT, NOT_FINITE, SINGULAR, CROWDED = 0, 1, 2, 3, 4


class Procedures(NamedTuple):
    """Addresses of the compiled sweeps."""

    residual: int
    differentiate: int
    factorise: int
    solve: int
    multiply: int
    renew: int


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
    """Return whether a tangent was made for others at limits, in contact, or that slip."""
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
    """Complete the history at the new instant."""
    _rates(rule, h, moves, now)
    for i in range(past.shape[1]):
        now[3, i], now[4, i] = past[0, i], past[1, i]
        now[5, i] = rule.new[2] * now[0, i] + h[2, i] if moves[i] else 0.0


@inner
def _rates(rule, h, moves, now):
    """Write the rates that belong to now[0]; efforts and reactions have none."""
    for i in range(now.shape[1]):
        now[1, i] = h[0, i] + rule.new[0] * now[0, i] if moves[i] else 0.0
        now[2, i] = h[1, i] + rule.new[1] * now[0, i] if moves[i] else 0.0


@inner
def _factorised(tree, tangent, fronts, code, ny, rooms):
    """Write the step to where r is 0 by a new tangent; return where it is singular, or -1."""
    at = call(factorise, code.factorise, (tree, ny, tangent, fronts))
    if at < 0:
        run(solve, code.solve, (tree, ny, tangent, fronts, rooms.r, rooms.dy, rooms.step))
    return at


class Stop(NamedTuple):
    """When Newton's method ends."""

    scale: np.ndarray  # (Z,) size of each unknown as strain; 0 for efforts and reactions
    moves: np.ndarray  # (Z,) bool, coordinates
    tolerance: float   # error that may be left, as strain
    most: int          # iterations at which to give up
    reach: float       # largest update in one iteration: longer ones are shortened


class Rooms(NamedTuple):
    """What Newton's method writes to."""

    h: np.ndarray      # (3, Z) part of the history in z_t, z_tt and the scheme's own row
    good: np.ndarray   # (Z,) unknowns before the last update
    ends: np.ndarray   # (L, 3) where the links' ends were then
    dz: np.ndarray     # (Z,) that update, before it was shortened
    r: np.ndarray      # (Z,)
    step: np.ndarray   # (Z,)
    dy: np.ndarray     # (L, 18) motion of the links' ends with a step
    updates: Updates


def newton_size(Z: int, links: int) -> int:
    """Return how much room `newton` needs, at the beginning of the arena."""
    return (7 + BROYDEN_UPDATES) * Z + BROYDEN_UPDATES + 21 * links


@unowned
@kernel
def newton(tree, work, tangent, fronts, code, past, rule, stop, ny, known, now):
    """
    Go to the next instant.

    Parameters
    ----------
    tree, work, tangent, fronts
        Of the assembly. `fronts` are those of an earlier tangent, if `known`, and are overwritten.
        They are kept while each update is a small part of the one before, the same coordinates are
        at limits and the same points in contact, and then made anew.
        The line search measures by them too: a step is halved until the next update by the same
        tangent is smaller than this one (Deuflhard's natural monotonicity test).
        Laws that remember have kinks: where others stick or slip, their part of the tangent is
        made anew, and the end is looked at once more.
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
    size, left, worst : float
        Of the last update, of the error that is left after it, and of the residual before it; of
        the last look, where there are kinks.
    at : int
        Which link's block is singular, if the status is so.
    hits : bool
        Whether a coordinate is at a limit at the new instant, and was not before.
    touches : bool
        Whether anything touches, as of the last sweep.

    """
    n, room = past.shape[1], work.room
    room.used[0] = 0
    rooms = Rooms(
        empty(room, (3, n)), empty(room, (n,)), empty(room, (tree.links.kind.size, 3)),
        empty(room, (n,)), empty(room, (n,)), empty(room, (n,)),
        empty(room, (tree.links.kind.size, 18)),
        Updates(empty(room, (BROYDEN_UPDATES, n)), empty(room, (BROYDEN_UPDATES,))))
    _follow(past, rule, now, rooms.h)
    status, iteration, size, left, worst, at = _iterate(
        tree, work, tangent, fronts, code, past, rule, stop, ny, known, now, rooms)
    hits = status == CONVERGED and _hits(tree.coordinates, stop.moves, now[0], past[0])
    touches = work.touch.found[0] + work.touch.found[1] > 0
    return status, iteration, size, left, worst, at, hits, touches


@inner
def _hits(coordinates, moves, new, old):
    """Return whether a coordinate is at a limit in a new state, and was not before."""
    driven, least, most = coordinates.driven, coordinates.least, coordinates.most
    for i in range(new.size):
        if not moves[i]:
            return False  # coordinates come first
        if not driven[i] and (
                new[i] >= most[i] - AT_LIMIT or new[i] <= least[i] + AT_LIMIT) and not (
                old[i] >= most[i] - AT_LIMIT or old[i] <= least[i] + AT_LIMIT):
            return True
    return False


@merged
def _iterate(  # noqa: PLR0915 - one loop, read from top to bottom
    tree, work, tangent, fronts, code, past, rule, stop, ny, known, now, rooms,
):
    """Go on from a first guess, see `newton`."""
    z, r, scale, made = now[0], rooms.r, stop.scale, 0
    _set_out(past[0], z, rooms)  # from where it was, should the guess be within an obstacle
    size, worst, shortened, renewals = np.inf, np.inf, 1.0, 0
    fresh = False  # whether the tangent was made for the last update
    limit, near = 0.0, np.inf  # of a last look; distance at which rods touch, if some are near
    deep = 0.0 if rule.new[1] > 0.0 else DEEPEST  # a guess that touches anything misleads
    for iteration in range(1, stop.most + 1):
        _rates(rule, rooms.h, stop.moves, now)
        run(residual, code.residual, (tree, z, now[1], now[2], work, r))
        if work.touch.deepest[0] > deep and shortened > SHORTEST_STEP:
            # Beyond its middle an obstacle would push to the other side.
            shortened, made = 0.0 if iteration == 1 else 0.5 * shortened, 0
            _line(rooms.good, -shortened, rooms.dz, z)
            continue
        moved = _farthest(work.end.p, rooms.ends) if near < np.inf else 0.0
        if moved > near and shortened > SHORTEST_STEP:  # it may be through another rod
            shortened, made = max(0.1, 0.9 * near / moved) * shortened, 0
            _line(rooms.good, -shortened, rooms.dz, z)
            continue
        # What was deep before may go deeper, but not through the middle.
        deepest = work.touch.deepest[0]
        deep = max(deep, DEEPEST, deepest + DEEPER * max(0.0, 1.0 - deepest))
        worst, previous, renewed = _largest(r), size, False
        if (known or fresh) and _differ(work.held, tangent.held):
            known, fresh = False, False
        if known or fresh:
            run(solve, code.solve, (tree, ny, tangent, fronts, r, rooms.dy, rooms.step))
            size = _size(rooms.step, scale)
            if size < limit:
                _finish(past, rule, rooms.h, stop.moves, now)
                return CONVERGED, iteration, size, size, worst, -1
            changed = work.touch.found[0] + tangent.pairs[0] > 0 and _differ(
                work.touch.regime, tangent.touching)
            if fresh and not size < previous and shortened > SHORTEST_STEP:
                shortened, size = 0.5 * shortened, previous
                _line(rooms.good, -shortened, rooms.dz, z)
                continue
            if changed:
                known = False
            elif renewals < MOST_RENEWALS and _differ(work.regime, tangent.regime):
                run(renew, code.renew, (tree, work, z, rule.new[0], ny, tangent))
                renewed = _factorised(tree, tangent, fronts, code, ny, rooms) < 0
                known, made, renewals = renewed, 0, renewals + 1
            elif known:
                known = size < KEEP_TANGENT_BELOW * previous and _accelerate(
                    rooms.updates, made, scale, rooms.step)
            size = _size(rooms.step, scale)
        fresh, limit = not known or renewed, 0.0
        if not known:
            if not np.isfinite(worst):
                break
            run(differentiate, code.differentiate, (
                tree, work, z, rule.new[0], rule.new[1], ny, tangent))
            at = _factorised(tree, tangent, fronts, code, ny, rooms)
            if at >= 0:
                return SINGULAR, iteration, size, size, worst, at
            size, made = _size(rooms.step, scale), 0
            known = size < REUSE_TANGENT_BELOW
        if not np.isfinite(size):
            break
        shortened, near = min(1.0, stop.reach / size) if size > 0.0 else 1.0, work.touch.near[0]
        _go(z, work.end.p, shortened, rooms)
        made = _remember(rooms.updates, made, rooms.step, scale, shortened)
        # Where the updates end in rounding errors they no longer shrink.
        stagnant = not size < 0.5 * previous and size < min(
            ROUNDING_BELOW * stop.tolerance, ROUNDING)
        left = _part_left(fresh, previous == np.inf, size, previous) * size
        kinks = tree.laws.memory.size + work.touch.found[0] > 0
        if kinks and (left < stop.tolerance or stagnant):
            limit = max(stop.tolerance, LEAST_SETTLED, 2.0 * size if stagnant else 0.0)
        elif left < stop.tolerance or stagnant:
            _finish(past, rule, rooms.h, stop.moves, now)
            return CONVERGED, iteration, size, left, worst, -1
    status = RUNNING_OUT if np.isfinite(size + worst) else NOT_FINITE
    return status, iteration, size, size, worst, -1


@inner
def _farthest(a, b):
    """Return the largest distance of points (L, 3) from others [m]."""
    most = 0.0
    for k in range(a.shape[0]):
        most = max(most, (a[k, 0] - b[k, 0]) ** 2 + (a[k, 1] - b[k, 1]) ** 2
                   + (a[k, 2] - b[k, 2]) ** 2)
    return np.sqrt(most)


@inner
def _set_out(last, z, rooms):
    """Let the first guess z be an update of the last instant."""
    for i in range(z.size):
        rooms.good[i], rooms.dz[i] = last[i], last[i] - z[i]


@inner
def _go(z, ends, part, rooms):
    """Make a part of a step from z, and remember where it began."""
    for i in range(z.size):
        rooms.good[i], rooms.dz[i] = z[i], rooms.step[i]
    for link in range(ends.shape[0]):
        for i in range(3):
            rooms.ends[link, i] = ends[link, i]
    _line(rooms.good, -part, rooms.dz, z)
