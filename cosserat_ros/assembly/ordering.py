"""
In which order the unknowns of a tree are eliminated: determined once, before any number is known.

Elimination goes from the leaves to the root (see :mod:`cosserat_ros.assembly.fronts`). Unknowns
that several links share, *borders*, travel with the sweep until all that they touch has been met:

- efforts, until the first element of their rod;
- reactions of a closure, until the link where its branches meet, or the last one before a root;
- coordinates of joints within a loop, which may have no stiffness of their own until the loop is
  closed: *deferred* likewise. Of a joint on a root (a platform in space) they wait for the root;
  whatever is closed onto it need not wait for it, and is eliminated by itself before.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from .fronts import Fronts
from .tree import ELEMENT, JOINT, Tree

WORLD = 0  # the first link


def plan(tree: Tree, postponed: Collection[int] = ()) -> Fronts:
    """
    Return where each unknown is eliminated, and what every link's front is made of.

    Parameters
    ----------
    tree : Tree
    postponed : collection of int
        Links whose coordinates wait for the root: they were met without stiffness of their own.

    """
    links, closures = tree.links, tree.closures
    parent, fixed = links.parent.tolist(), links.fixed.tolist()
    L, K = len(parent), closures.a.size
    above = [_line(parent, link) for link in range(L)]  # from each link to the world
    ends = list(zip(closures.a.tolist(), closures.b.tolist()))
    hub = np.full(K, -1, dtype=np.int64)
    loops: list[set[int]] = []  # links that must be eliminated with a closure, or before
    meets: list[int] = []       # for each closure, the link whose front closes it
    for k, (a, b) in enumerate(ends):
        onto = _hub(tree, b)
        soft = sum(links.freedom[link] for link in above[a] if links.kind[link] == ELEMENT)
        by_itself = soft >= closures.rows[k] and onto not in above[a]
        hub[k] = onto if by_itself else -1
        loose = [end for end in (a, b) if not fixed[end]][:1 if hub[k] >= 0 else 2]
        loops.append(set(above[a]) ^ set(above[b]) if len(loose) == 2 else {
            link for end in loose for link in above[end] if not fixed[link]})
        common = next(link for link in above[a] if link in above[b])
        meets.append(a if not loose else
                     _branch(above[loose[0]], fixed) if len(loose) == 1 else common)
    last = _last_fronts(tree, above, hub, loops, meets, postponed)
    rods = tree.laws.couplings
    for top, first, size in zip(*(v.tolist() for v in (rods.link, rods.first, rods.size))):
        for link in range(top + 1, L):  # further elements of the rod wait for its first one
            if first < links.first[link] < first + size:
                last.setdefault(link, top)
    deferred = np.array([link in last and last[link] != link for link in range(L)])
    done_at: dict[int, int] = {}       # unknown -> link
    touched: dict[int, set[int]] = {}  # unknown -> links whose fronts it is in
    for k, (a, b) in enumerate(ends):
        for i in range(closures.first[k], closures.first[k] + closures.rows[k]):
            done_at[i] = meets[k]
            touched[i] = {end for end in ((a,) if hub[k] >= 0 else (a, b))
                          if not fixed[end]} or {a}
    for link in np.flatnonzero(deferred).tolist():
        for i in range(links.first[link], links.first[link] + links.freedom[link]):
            done_at[i] = last[link]
            touched[i] = {link} | {ends[k][0] for k in range(K) if hub[k] == link}
    for link in range(L - 1, -1, -1):
        if links.kind[link] == ELEMENT:
            item = int(links.item[link])
            a, count = tree.effort + int(tree.elements.drive[item]), tree.elements.size[item, 3]
            for i in range(a, a + int(count)):
                done_at[i] = link  # in the end, at the first element
                touched.setdefault(i, set()).add(link)
    return _fronts(tree, above, deferred, hub, done_at, touched)


def _last_fronts(
    tree: Tree, above: list[list[int]], hub: np.ndarray, loops: list[set[int]], meets: list[int],
    postponed: Collection[int],
) -> dict[int, int]:
    """
    Return where the coordinates of joints within loops are eliminated; move `meets` up to there.

    A closure cannot be eliminated before the joints of its loop, nor they before it.
    """
    links, height = tree.links, [len(line) for line in above]
    joints = [link for link in range(links.kind.size) if links.freedom[link] and (
        links.kind[link] == JOINT or link in postponed)]
    last: dict[int, int] = {}
    while True:
        for link in joints:
            through = [meets[k] for k in range(len(meets)) if link in loops[k]]
            if link in hub or link in postponed:
                through.append(WORLD)
            if through:
                last[link] = min(through, key=lambda m: height[m])
        higher = [min([meets[k], *(last[link] for link in loops[k] if link in last)],
                      key=lambda m: height[m]) for k in range(len(meets))]
        if higher == meets:
            return last
        meets[:] = higher


def _line(parent: list[int], link: int) -> list[int]:
    line = [link]
    while parent[line[-1]] >= 0:
        line.append(parent[line[-1]])
    return line


def _branch(line: list[int], fixed: list[bool]) -> int:
    """Return the last link before a fixed one on the line to the world."""
    last = line[0]
    for link in line:
        if fixed[link]:
            return last
        last = link
    return last


def _hub(tree: Tree, b: int) -> int:
    """Return the joint on a fixed frame that alone moves the end of link b, or -1."""
    links, link = tree.links, b
    while links.kind[link] == JOINT and links.freedom[link] == 0 and not links.fixed[link]:
        link = int(links.parent[link])
    moves = links.kind[link] == JOINT and links.freedom[link] > 0
    return int(link) if moves and links.fixed[links.parent[link]] else -1


def _fronts(
    tree: Tree, above: list[list[int]], deferred: np.ndarray, hub: np.ndarray,
    done_at: dict[int, int], touched: dict[int, set[int]],
) -> Fronts:
    links, closures = tree.links, tree.closures
    L, K = links.kind.size, closures.a.size
    lists: list[set[int]] = [set() for _ in range(L)]
    for unknown, starts in touched.items():
        for start in starts:
            for link in above[start]:
                lists[link].add(unknown)
                if link == done_at[unknown]:
                    break
    order, done = [], np.zeros(L, dtype=np.int64)
    for link in range(L):
        here = sorted(i for i in lists[link] if done_at[i] == link)
        order.append(here + sorted(i for i in lists[link] if done_at[i] != link))
        done[link] = len(here)
    place = [{unknown: k for k, unknown in enumerate(o)} for o in order]
    border_first = np.concatenate([[0], np.cumsum([len(o) for o in order])]).astype(np.int64)
    up = np.full(int(border_first[-1]), -1, dtype=np.int64)
    for link in range(1, L):
        for k in range(done[link], len(order[link])):
            up[border_first[link] + k] = place[links.parent[link]][order[link][k]]
    own_at, effort_at = np.full(L, -1, dtype=np.int64), np.full(L, -1, dtype=np.int64)
    for link in range(L):
        if deferred[link]:
            own_at[link] = place[link][int(links.first[link])]
        if links.kind[link] == ELEMENT and tree.elements.size[links.item[link], 3]:
            effort_at[link] = place[link][tree.effort + int(tree.elements.drive[links.item[link]])]
    closure_at = np.full((K, 2), -1, dtype=np.int64)
    hub_at = np.full(K, -1, dtype=np.int64)
    for k in range(K):
        a, b = closures.a[k], closures.b[k]
        still = links.fixed[a] and links.fixed[b]  # then a has what is redundant, which is all
        for side, end in enumerate((a, b)):
            if not (links.fixed[end] or side == 1 and hub[k] >= 0) or side == 0 and still:
                closure_at[k, side] = place[end][int(closures.first[k])]
        if hub[k] >= 0:
            hub_at[k] = place[closures.a[k]][int(links.first[hub[k]])]
    at, used = np.zeros((L, 4), dtype=np.int64), 0
    most = eliminated = 0
    for link in range(L):
        n = 0 if deferred[link] else int(links.freedom[link])
        B, e = len(order[link]), n + int(done[link])
        moving = link > 0 and not links.fixed[links.parent[link]]
        rest = B - int(done[link])
        for k, size in enumerate((
                (e + rest + 6 * moving) * (e + rest + 18 * moving), (6 + B) * (18 + B), 6 + B)):
            at[link, k], used = used, used + size
        at[link, 3], eliminated = eliminated, eliminated + e
        most = max(most, (6 + B) * (int(links.freedom[link]) + B + 18))
    children = np.zeros(L, dtype=np.bool_)
    children[links.parent[1:]] = True
    coupling = np.full(L, -1, dtype=np.int64)
    coupling[tree.laws.couplings.link] = np.arange(tree.laws.couplings.link.size)
    return Fronts(
        border_first, np.array([i for o in order for i in o], dtype=np.int64), up, done,
        deferred, own_at, effort_at, closure_at, hub, hub_at, at, np.zeros(used + most + 64),
        np.zeros(eliminated, dtype=np.int64), np.zeros(1, dtype=np.int64), used, children,
        coupling)
