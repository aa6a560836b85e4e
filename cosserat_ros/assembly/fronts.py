r"""
Linear systems with the tangent of an assembly, by one sweep to the root and one back.

Each link has a small dense *front* (multifrontal elimination, along the tree). Its variables are
its own coordinates dq, the borders db that pass through it (see
:mod:`cosserat_ros.assembly.layout`) and the motion dy of its start. All that hangs on its end says

    [ dl' ]   [ P  P_b ] [ dy' ]
    [ r_b ] = [ R  R_b ] [ db  ]

where r_b are the borders' equations as far as they have been met. With dy' = A dy + B dq this
is a front of the link, of which dq and the borders that are complete here are eliminated:

                    dq, done        others, dy
    own, done   [     L U               X      ]
    others, dl  [      W                S      ]      S goes on to the parent

A chain of links costs in proportion to its length. It is the Riccati sweep of Boyer 2023 and
Featherstone's articulated body at once. What is kept is the front after Gauss' elimination in its
place, with pivots among the rows that are eliminated: L (below the diagonal, of 1), U with the
inverse of its diagonal, ``X = L^-1 F``, ``W = G U^-1`` of what was there, F and G. A new
right-hand side takes two cheap sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import matrix, unowned, vector, view
from ..numerics.kernels import inner, kernel, merged
from ..numerics.rotations import cross
from .blocks import blocks_of
from .element import clear
from .joint import shift_blocks
from .tangent import offset_columns
from .tree import JOINT, ROOT


class Fronts(NamedTuple):
    """Which unknowns are in which front, and the fronts."""

    first: np.ndarray       # (L + 1,) int64, where each link's list of borders begins
    border: np.ndarray      # int64, unknowns; those that are complete at the link come first
    up: np.ndarray          # int64, places of the others in the list of its parent
    done: np.ndarray        # (L,) int64, how many are complete
    deferred: np.ndarray    # (L,) bool, whether its own coordinates are borders
    own_at: np.ndarray      # (L,) int64, where they are in the list
    effort_at: np.ndarray   # (L,) int64, where the efforts of an element are
    closure_at: np.ndarray  # (K, 2) int64, where a closure's reactions are in lists of a and b
    hub: np.ndarray         # (K,) int64, joint on a root that alone moves the end b, or -1
    hub_at: np.ndarray      # (K,) int64, where its coordinates are in the list of a
    at: np.ndarray          # (L, 4) int64, where front, [P R], right-hand side and pivots begin
    data: np.ndarray        # float64
    pivot: np.ndarray       # (Z,) int64, with which row of its front each one was exchanged
    singular: np.ndarray    # (1,) int64, the link whose block is singular, or -1
    scratch: int            # where in data there is room
    inner: np.ndarray       # (L,) bool, whether anything hangs on the link
    coupling: np.ndarray    # (L,) int64, which coupling is of the rod that begins here, or -1


# --- Elimination ---------------------------------------------------------------------------------

@unowned
@kernel
def eliminate(tree, ny, tangent, fronts):
    """Eliminate all unknowns of the tree, without `cosserat_ros.assembly.ties`."""
    fronts.singular[0] = -1
    links = tree.links
    L = links.kind.size
    for link in range(L):
        B = fronts.first[link + 1] - fronts.first[link]
        P = view(fronts.data, fronts.at[link, 1], (6 + B, 18 + B))
        clear(P)
        if not links.fixed[link]:
            D = blocks_of(tree, tangent, link, ny).body
            for i in range(6):
                for c in range(ny):
                    P[i, c] = D[i, c]
    for k in range(tree.closures.a.size):
        _close(tree, k, ny, tangent, fronts)
    for link in range(L - 1, -1, -1):
        if not _eliminate(tree, link, ny, tangent, fronts):
            fronts.singular[0] = link
            return


@inner
def _close(tree, k, ny, tangent, fronts):
    """Put a closure into the fronts of its ends."""
    links, closures = tree.links, tree.closures
    first, count = closures.first[k], closures.rows[k]
    for side in range(2):
        link = closures.a[k] if side == 0 else closures.b[k]
        at = fronts.closure_at[k, side]
        if at < 0 or links.fixed[link]:
            continue
        sign = 1.0 if side == 0 else -1.0
        B = fronts.first[link + 1] - fronts.first[link]
        P = view(fronts.data, fronts.at[link, 1], (6 + B, 18 + B))
        for i in range(count):
            P[i, 18 + at + i] += sign
            if tree.free[first + i]:
                continue
            if i < 3:
                P[6 + at + i, i] += sign
            for j in range(3 if i >= 3 else 0):
                P[6 + at + i, 3 + j] += (
                    tangent.turn[k, i - 3, j] if side == 0 else -tangent.turn[k, j, i - 3])
    if fronts.hub[k] >= 0:
        _close_onto_hub(tree, k, ny, tangent, fronts)
    for i in range(count):
        if tree.free[first + i]:
            side = 0 if fronts.closure_at[k, 0] >= 0 else 1
            at, link = fronts.closure_at[k, side], closures.a[k] if side == 0 else closures.b[k]
            B = fronts.first[link + 1] - fronts.first[link]
            P = view(fronts.data, fronts.at[link, 1], (6 + B, 18 + B))
            P[6 + at + i, 18 + at + i] = 1.0


@inner
def _close_onto_hub(tree, k, ny, tangent, fronts):
    """Put what a closure has to do with the coordinates of a hub into the front of its end a."""
    links, closures, hub = tree.links, tree.closures, fronts.hub[k]
    a, b = closures.a[k], closures.b[k]
    B = fronts.first[a + 1] - fronts.first[a]
    P = view(fronts.data, fronts.at[a, 1], (6 + B, 18 + B))
    at, there = fronts.closure_at[k, 0], fronts.hub_at[k]
    arm, y, z = vector(3), vector(3), vector(3)
    arm[0], arm[1], arm[2] = 0.0, 0.0, 0.0
    while b != hub:  # rigid links
        for i in range(3):
            arm[i] += tangent.arm[b, i]
        b = links.parent[b]
    J = blocks_of(tree, tangent, hub, ny).motion
    for c in range(links.freedom[hub]):
        along = tangent.along[links.first[hub] + c]
        beta = J[3:6, c]
        cross(beta, arm, y)
        cross(along[3:], arm, z)
        for i in range(closures.rows[k]):
            if not tree.free[closures.first[k] + i]:
                if i < 3:
                    P[6 + at + i, 18 + there + c] -= J[i, c] + y[i]
                for m in range(3 if i >= 3 else 0):
                    P[6 + at + i, 18 + there + c] -= tangent.turn[k, m, i - 3] * beta[m]
            # Minus `along` times the wrench on b, which is minus the reaction.
            P[6 + there + c, 18 + at + i] += along[i] + (z[i] if i < 3 else 0.0)


@merged
def _eliminate(tree, link, ny, tangent, fronts):
    """Eliminate what is complete at a link; return whether its block could be inverted."""
    links = tree.links
    B, done = fronts.first[link + 1] - fronts.first[link], fronts.done[link]
    n, root = links.freedom[link], links.kind[link] == ROOT
    moving = False if root else not links.fixed[links.parent[link]]
    held = fronts.deferred[link]
    m = 0 if held else n                # own coordinates that are eliminated
    nd = ny if moving else 0
    H = view(fronts.data, fronts.at[link, 0], (m + B + (6 if moving else 0), m + B + nd))
    clear(H)
    P = view(fronts.data, fronts.at[link, 1], (6 + B, 18 + B))
    if links.fixed[link]:
        for i in range(B):
            for c in range(B):
                H[m + i, m + c] = P[6 + i, 18 + c]
    if not root and not (links.fixed[link] and n == 0):
        own = fronts.own_at[link] if held else 0
        _assemble(tree, link, ny, tangent, fronts, P, own, m, H)
    if fronts.coupling[link] >= 0:
        _couple(tree, fronts.coupling[link], tangent, fronts, H)
    for i in range(done):  # borders' own slopes, once
        unknown = fronts.border[fronts.first[link] + i]
        k = unknown - tree.effort
        if 0 <= k < tangent.own.size:
            H[m + i, m + i] += tangent.own[k]
    if not _reduce(H, view(fronts.pivot, fronts.at[link, 3], (m + done,))):
        return False
    if link > 0:
        _pass_on(tree, link, ny, tangent, fronts, H, m + done, B - done, moving)
    return True


@inner
def _couple(tree, k, tangent, fronts, H):
    """Add what couples the coordinates and efforts of a rod to the front of its first element."""
    a = tree.laws.couplings
    link, first, n = a.link[k], a.first[k], a.size[k]
    own, begin, size = tree.links.freedom[link], fronts.first[link], a.size[k] + a.efforts[k]
    K = view(tangent.couple, a.at[k], (size, size))
    others = fronts.done[link]
    place = view(fronts.pivot, fronts.at[link, 3], (own + others,))  # which is not in use yet
    for i in range(own):
        place[i] = i
    for i in range(others):
        at, effort = fronts.border[begin + i] - first, fronts.border[begin + i] - a.effort[k]
        if 0 <= at < n:
            place[at] = own + i
        elif 0 <= effort < a.efforts[k]:
            place[n + effort] = own + i
    for i in range(size):
        for j in range(size):
            H[place[i], place[j]] += K[i, j]


@inner
def _reduce(H, pivot):
    """
    Eliminate as many unknowns of a front as there are pivots (Gauss); return whether it worked.

    Those that have no equation of their own among the rows to be eliminated make it fail.
    """
    R, C = H.shape
    e = pivot.size
    for c in range(e):
        best, most = c, abs(H[c, c])
        for i in range(c + 1, e):
            size = abs(H[i, c])
            if size > most:
                best, most = i, size
        if not (most > 0.0 and np.isfinite(most)):
            return False
        pivot[c] = best
        if best != c:
            for j in range(C):
                H[best, j], H[c, j] = H[c, j], H[best, j]
        inverse = 1.0 / H[c, c]
        H[c, c] = inverse
        for i in range(c + 1, R):
            factor = H[i, c]
            if factor != 0.0:
                factor *= inverse
                H[i, c] = factor
                for j in range(c + 1, C):
                    H[i, j] -= factor * H[c, j]
    return True


@merged
def _assemble(tree, link, ny, tangent, fronts, P, own, m, H):
    """
    Write a link's front: rows own, borders, wrench; columns own, borders, motion of the start.

    `own` is where its own rows and columns are; borders begin at m.
    """
    links, elements = tree.links, tree.elements
    n, B = links.freedom[link], fronts.first[link + 1] - fronts.first[link]
    moving = not links.fixed[links.parent[link]]
    nd, last = (ny if moving else 0), m + B
    blocks = blocks_of(tree, tangent, link, ny)
    rows, J = blocks.rows, blocks.motion
    width = n + nd
    loaded = B > 0 or fronts.inner[link] or tree.bodies.mass[link] != 0.0 or (
        tree.contacts.bears[link]) or (
        tree.flows.first.size > 0 and tree.flows.first[link + 1] > tree.flows.first[link])
    if not loaded:
        for i in range(3):
            loaded = (loaded or tree.bodies.follower_force[link, i] != 0.0
                      or tree.bodies.follower_moment[link, i] != 0.0)
            for k in range(3):
                loaded = loaded or tree.bodies.lever[link, i, k] != 0.0
    T = view(fronts.data, fronts.scratch, (6 + B, width))
    for i in range(6 + B if loaded else 0):
        if links.kind[link] == JOINT:
            _row_times_joint(P, i, J, n, nd, ny, T)
            continue
        for c in range(width):
            T[i, c] = 0.0
        for k in range(ny):
            factor = P[i, k]
            if factor != 0.0:
                for c in range(width):
                    T[i, c] += factor * J[k, c]
    for i in range(B if loaded else 0):
        for c in range(n):
            H[m + i, own + c] += T[6 + i, c]
        for c in range(nd):
            H[m + i, last + c] += T[6 + i, n + c]
        for c in range(B):
            H[m + i, m + c] += P[6 + i, 18 + c]
    for i in range(n):
        for c in range(n):
            H[own + i, own + c] += rows[i, c]
        for c in range(nd):
            H[own + i, last + c] += rows[i, n + c]
        for k in range(6 if loaded else 0):
            factor = tangent.along[links.first[link] + i, k]
            if factor == 0.0:
                continue
            for c in range(n):
                H[own + i, own + c] -= factor * T[k, c]
            for c in range(nd):
                H[own + i, last + c] -= factor * T[k, n + c]
            for c in range(B):
                H[own + i, m + c] -= factor * P[k, 18 + c]
    if moving:
        for i in range(6):
            for c in range(n):
                H[last + i, own + c] += rows[n + i, c]
            for c in range(nd):
                H[last + i, last + c] += rows[n + i, n + c]
            if loaded:
                _add_levered(T, P, tangent.lever[link], i, n, nd, B, own, m, last, H)
    if links.kind[link] != JOINT and fronts.effort_at[link] >= 0:
        first = elements.drive[links.item[link]]
        gradient, at = blocks.actuators, m + fronts.effort_at[link]
        for a in range(gradient.shape[0]):
            for c in range(n):
                H[own + c, at + a] += gradient[a, c]
                H[at + a, own + c] += tangent.slope[first + a] * gradient[a, c]


@merged
def _row_times_joint(P, i, J, n, nd, ny, T):
    """Write row i of P times [B A] of a joint; A is 1 but for rotation and its rates."""
    for c in range(n):
        total = 0.0
        for k in range(ny):
            total += P[i, k] * J[k, c]
        T[i, c] = total
    for c in range(nd):
        T[i, n + c] = P[i, c]
    if nd == 0:
        return
    for c in range(3, 6):
        total = 0.0
        for k in range(3):
            total += P[i, k] * J[k, n + c]
        for k in range(6, ny):
            total += P[i, k] * J[k, n + c]
        T[i, n + c] += total
    if ny == 6:
        return
    for c in range(9, 12):
        total = 0.0
        for k in range(3):
            total += P[i, 6 + k] * J[6 + k, n + c]
        for k in range(12, 18):
            total += P[i, k] * J[k, n + c]
        T[i, n + c] += total
    for c in range(15, 18):
        for k in range(12, 15):
            T[i, n + c] += P[i, k] * J[k, n + c]


@merged
def _add_levered(T, P, lever, i, n, nd, B, own, m, last, H):
    """Add row i of the wrench at the end, moved to the start."""
    for k in range(6):
        factor = 1.0 if k == i else 0.0
        if i >= 3 and k < 3 and k != i - 3:  # lever x force
            a, b = (i - 2) % 3, (i - 1) % 3
            factor = lever[a] if k == b else -lever[b]
        if factor == 0.0:
            continue
        for c in range(n):
            H[last + i, own + c] += factor * T[k, c]
        for c in range(nd):
            H[last + i, last + c] += factor * T[k, n + c]
        for c in range(B):
            H[last + i, m + c] += factor * P[k, 18 + c]


@merged
def _pass_on(tree, link, ny, tangent, fronts, H, e, others, moving):
    """Add what is left of a link's front to that at the end of its parent."""
    parent = tree.links.parent[link]
    B = fronts.first[parent + 1] - fronts.first[parent]
    P = view(fronts.data, fronts.at[parent, 1], (6 + B, 18 + B))
    first = fronts.first[link] + fronts.done[link]
    for i in range(others):
        row = 6 + fronts.up[first + i]
        for c in range(others):
            P[row, 18 + fronts.up[first + c]] += H[e + i, e + c]
    if not moving:
        return
    arm, last = tangent.arm[link], e + others
    bare = arm[0] == 0.0 and arm[1] == 0.0 and arm[2] == 0.0
    for i in range(6):
        for c in range(others):
            P[i, 18 + fronts.up[first + c]] += H[last + i, e + c]
    for i in range(others):
        row = 6 + fronts.up[first + i]
        for c in range(ny):
            P[row, c] += H[e + i, last + c]
    for i in range(6):
        for c in range(ny):
            P[i, c] += H[last + i, last + c]
    if not bare:
        _pass_lever(link, ny, tangent, fronts, H, e, others, P)


@merged
def _pass_lever(link, ny, tangent, fronts, H, e, others, P):
    """Add what the distance of a link's start from its parent's end makes of its front."""
    first, last, arm = fronts.first[link] + fronts.done[link], e + others, tangent.arm[link]
    X, Y, Z, none, row = matrix(3, 3), matrix(3, 3), matrix(3, 3), vector(3), vector(18)
    none[0], none[1], none[2] = 0.0, 0.0, 0.0
    if ny > 6:
        shift_blocks(tangent.Om[link], tangent.Om_t[link], arm, none, X, Y, Z)
    # dy_start = (1 + V) dy: rows times V; then the moments of forces, arm x rows 0 to 2.
    for i in range(others):
        _shift_row(H, e + i, last, arm, X, Y, Z, ny, row)
        for c in range(ny):
            P[6 + fronts.up[first + i], c] += row[c]
    for i in range(6):
        _shift_row(H, last + i, last, arm, X, Y, Z, ny, row)
        for c in range(ny):
            P[i, c] += row[c]
            row[c] += H[last + i, last + c]
        if i < 3:
            a, b = (i + 1) % 3, (i + 2) % 3
            for c in range(ny):  # force i has the moments b about a, and -a about b
                P[3 + a, c] += arm[b] * row[c]
                P[3 + b, c] -= arm[a] * row[c]
            for c in range(others):
                at = 18 + fronts.up[first + c]
                P[3 + a, at] += arm[b] * H[last + i, e + c]
                P[3 + b, at] -= arm[a] * H[last + i, e + c]
    # (psi x arm) x N = arm (N . psi) - psi (N . arm)
    N = tangent.passed[link]
    dot = N[0] * arm[0] + N[1] * arm[1] + N[2] * arm[2]
    for i in range(3):
        for c in range(3):
            P[3 + i, 3 + c] += arm[i] * N[c]
        P[3 + i, 3 + i] -= dot


@inner
def _shift_row(H, i, col, arm, X, Y, Z, ny, out):
    """Write row i of H, from column `col` on, times V, where a shift by `arm` is 1 + V."""
    for c in range(ny):
        out[c] = 0.0
    cross(arm, H[i, col:col + 3], out[3:6])
    if ny == 6:
        return
    cross(arm, H[i, col + 6:col + 9], out[9:12])
    cross(arm, H[i, col + 12:col + 15], out[15:18])
    for c in range(3):
        for k in range(3):
            out[3 + c] += H[i, col + 6 + k] * X[k, c] + H[i, col + 12 + k] * Y[k, c]
            out[9 + c] += H[i, col + 12 + k] * Z[k, c]


# --- Right-hand sides ----------------------------------------------------------------------------

@unowned
@kernel
def substitute(tree, ny, tangent, fronts, r, dy, step):
    """
    Write the inverse of the tree's tangent times r (Z,) to `step` (Z,), by the last `eliminate`.

    dy (L, 18) is overwritten by the motion of the links' ends.
    """
    L = tree.links.kind.size
    for link in range(L):
        s = view(fronts.data, fronts.at[link, 2],
                 (6 + fronts.first[link + 1] - fronts.first[link],))
        for i in range(s.size):
            s[i] = 0.0
    for link in range(L - 1, -1, -1):
        _gather(tree, link, ny, tangent, fronts, r, step)
    for link in range(L):
        _scatter(tree, link, ny, tangent, fronts, dy, step)


@merged
def _gather(tree, link, ny, tangent, fronts, r, step):
    """Take the right-hand side of a link to its parent; L^-1 of it is left in `step`."""
    links = tree.links
    first, done = fronts.first[link], fronts.done[link]
    B, n, root = fronts.first[link + 1] - first, links.freedom[link], links.kind[link] == ROOT
    moving = False if root else not links.fixed[links.parent[link]]
    held = fronts.deferred[link]
    m = 0 if held else n
    e = m + done
    s = view(fronts.data, fronts.at[link, 2], (6 + B,))
    rest = B - done
    y = view(fronts.data, fronts.scratch, (e + rest + (6 if moving else 0),))
    loose = not root and not links.fixed[link] and (fronts.inner[link] or B > 0)
    a = links.first[link]
    for i in range(n):
        total = 0.0
        for k in range(6 if loose else 0):
            total += tangent.along[a + i, k] * s[k]
        if held:
            s[6 + fronts.own_at[link] + i] -= total
        else:
            y[i] = r[a + i] - total
    for i in range(done):
        y[m + i] = r[fronts.border[first + i]] + s[6 + i]
    if moving:  # to the start
        lever = vector(3)
        cross(tangent.lever[link], s[:3], lever)
        for i in range(3):
            s[3 + i] += lever[i]
    for i in range(rest):
        y[e + i] = s[6 + done + i]
    for i in range(6 if moving else 0):
        y[e + rest + i] = s[i]
    H = view(fronts.data, fronts.at[link, 0], (y.size, e + rest + (ny if moving else 0)))
    pivot = view(fronts.pivot, fronts.at[link, 3], (e,))
    for c in range(e):
        y[c], y[pivot[c]] = y[pivot[c]], y[c]
    for c in range(e):
        factor = y[c]
        step[a + c if c < m else fronts.border[first + c - m]] = factor
        for i in range(c + 1, y.size):
            y[i] -= H[i, c] * factor
    if link == 0:
        return
    parent = links.parent[link]
    t = view(fronts.data, fronts.at[parent, 2],
             (6 + fronts.first[parent + 1] - fronts.first[parent],))
    for i in range(rest):
        t[6 + fronts.up[first + done + i]] += y[e + i]
    if moving:
        lever, dl = vector(3), y[e + rest:]
        cross(tangent.arm[link], dl, lever)
        for i in range(3):
            t[i] += dl[i]
            t[3 + i] += dl[3 + i] + lever[i]


@merged
def _scatter(tree, link, ny, tangent, fronts, dy, step):
    """Complete what is eliminated at a link, and write the motion of its end."""
    links = tree.links
    first, done = fronts.first[link], fronts.done[link]
    B, n, a = fronts.first[link + 1] - first, links.freedom[link], links.first[link]
    root = links.kind[link] == ROOT
    moving = False if root else not links.fixed[links.parent[link]]
    m = 0 if fronts.deferred[link] else n
    e, others = m + done, B - done
    start = vector(18)
    if moving:
        offset_columns(tangent, link, ny, dy[links.parent[link]], start)
    nd = ny if moving else 0
    H = view(fronts.data, fronts.at[link, 0], (e + others + (6 if moving else 0), e + others + nd))
    x = view(fronts.data, fronts.scratch, (e,))
    for i in range(e):
        total = 0.0
        for k in range(others):
            total += H[i, e + k] * step[fronts.border[first + done + k]]
        for k in range(nd):
            total += H[i, e + others + k] * start[k]
        x[i] = step[a + i if i < m else fronts.border[first + i - m]] - total
    for c in range(e - 1, -1, -1):
        x[c] *= H[c, c]
        step[a + c if c < m else fronts.border[first + c - m]] = x[c]
        for i in range(c):
            x[i] -= H[i, c] * x[c]
    for i in range(18):
        dy[link, i] = 0.0
    if root or links.fixed[link] or not fronts.inner[link]:
        return
    J = blocks_of(tree, tangent, link, ny).motion
    joint = links.kind[link] == JOINT
    for i in range(ny):
        total = 0.0
        for c in range(n):
            total += J[i, c] * step[a + c]
        if joint and moving:  # A is 1 but for columns of rotation and its rates
            total += start[i] if i // 3 % 2 == 0 else 0.0
            for c in range(3, nd, 6):
                total += (J[i, n + c] * start[c] + J[i, n + c + 1] * start[c + 1]
                          + J[i, n + c + 2] * start[c + 2])
        else:
            for c in range(nd):
                total += J[i, n + c] * start[c]
        dy[link, i] = total
