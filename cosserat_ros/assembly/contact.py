r"""
Contact of rods and bodies with shapes: who touches what, and what that does to the links.

Rods touch by points inside their elements, which are like further nodes: ``p = p_start + sum_j
W_j t_j``, so that their forces go the way of the nodes' (:mod:`cosserat_ros.assembly.element`).
Rigid bodies touch by spheres. Friction acts on the centre line of rods, which may spin freely; on
bodies it acts at the point that was in contact when the step began.

Shapes are fixed to the ends of links. Where no unknown moves these (the ground, driven bodies),
they are obstacles; else the reaction acts on a body, and the contact couples two places of the
tree, see :mod:`cosserat_ros.assembly.reactions`. Rods on rods are in
:mod:`cosserat_ros.assembly.crossings`.

What is far costs a look at how far all has moved: each element and body keeps a list of the
obstacles near it, which holds until something has moved by a part of its size. An element lies
within half its length of the middle between its ends. Of an element with obstacles near it, points
are looked at in groups, so that they may be close to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..laws.contact import AT_LIMIT, Force, Numbers, press
from ..laws.obstacles import distance, Shapes, TUBE
from ..laws.shapes import reach_of, Shape, stacked
from ..numerics.arena import matrix, unowned, vector, view
from ..numerics.kernels import inner, kernel, remote
from ..numerics.rotations import cross, multiply, rotate, rotate_back
from .channels import BODY, Channels, room_for_channels
from .element import clear, state_in, Touching
from .reactions import Ends, react

SLOTS = 6         # obstacles that one point may stick to at once
TUBE_REACH = 2.0  # by which the distance from a tube's wall may change faster than its point
RADIUS, STIFFNESS, DAMPING, GRIP, EXTENT, PLACE = range(6)  # columns of `Contacts.numbers`
CROSSINGS = 6     # slots for crossings, for each piece of the element that has most
MARGIN = 0.5      # of the size of what touches, by which lists of what is near look farther
LET_GO = 0.5      # of the elastic force, below which damping has let go of what leaves
GROUP = 8         # points of an element that are looked at together
STRETCHED = 1.5   # bound of a rod's stretch between the nodes, of the largest at these


class Memory(NamedTuple):
    """Where everything was when the last step was accepted."""

    R: np.ndarray      # (L, 3, 3) of the links' ends
    p: np.ndarray      # (L, 3)
    seen: np.ndarray   # (C, 3) points of contact, world frame [m]
    slots: np.ndarray  # (C, SLOTS, 7) obstacle + 1 (0: none), anchor on it, point of the body;
    #                    of rods: number of obstacles + link + 1, arc lengths on both elements


class Contacts(NamedTuple):
    """What may touch: obstacles and points, for kernels."""

    shapes: Shapes
    link: np.ndarray        # (K,) int64, to whose end each obstacle is fixed
    carriers: np.ndarray    # (n,) int64, all of these
    R: np.ndarray           # (K, 3, 3) its pose there
    p: np.ndarray           # (K, 3) [m]
    friction: np.ndarray    # (K,) [-]
    reach: np.ndarray       # (K,) within which of its origin it is [m]
    softness: np.ndarray    # (K,) inverse of the stiffness per length [m^2/N]
    moving: np.ndarray      # (K,) bool, whether unknowns move it
    bears: np.ndarray       # (L,) bool, whether contacts act on the end of a link
    yields: np.ndarray      # (1,) bool, see `Laws`
    first: np.ndarray       # (L + 1,) int64, where the points of each element begin
    body_first: np.ndarray  # (L + 1,) int64, where the spheres of each body begin, after these
    piece_first: np.ndarray  # (L + 1,) int64, where the pieces of each element that touch rods do
    span: np.ndarray        # (L,) largest radius of an element; of a ball round a body's spheres
    at: np.ndarray          # (C + 1,) int64, where weights or position of a point begin in `data`
    data: np.ndarray        # float64
    numbers: np.ndarray     # (C, 6) radius [m], stiffness per length [N/m^2], damping [s/m],
    #                         bristles' part of the stiffness [-], length that it stands for [m],
    #                         arc length on the element [m]
    slot: np.ndarray        # (L + 1,) int64, where the slots for points in contact begin
    weight_at: np.ndarray   # (L,) int64, where their weights begin in `Touch.W`
    column_at: np.ndarray   # (L,) int64, where their columns begin in `Touch.J`
    rod: np.ndarray         # (L,) int64, which rod an element is of, if that touches rods; or -1
    curve: np.ndarray       # (L, 3) of such: arc length of its start, its length [m], friction [-]
    curve_at: np.ndarray    # (L,) int64, where its polynomials begin in `data`, (m + 1, m)
    memory: Memory


class Touch(NamedTuple):
    """What touches; points of an element that do come first among its own."""

    R: np.ndarray        # (K, 3, 3) obstacles in the world
    p: np.ndarray        # (K, 3)
    Om: np.ndarray       # (K, 3)
    p_t: np.ndarray      # (K, 3)
    points: np.ndarray   # (L,) int64, of each element
    bodies: np.ndarray   # (L,) int64, spheres of each body
    W: np.ndarray        # see `Touching`; of all slots
    whole: np.ndarray    # (S,) 1, or 0 of a derivative along the rod: that is no point
    opened: np.ndarray   # (S,) int64, its first channel, or -1
    place: np.ndarray    # (S, 3)
    place_t: np.ndarray  # (S, 3)
    F: np.ndarray        # (S, 3)
    K: np.ndarray        # (S, 3, 3)
    D: np.ndarray        # (S, 3, 3)
    J: np.ndarray
    J_t: np.ndarray
    regime: np.ndarray   # (C,) int64, changes where one of its contacts sticks, slides or ends
    wrench: np.ndarray   # (L, 6) on bodies
    block: np.ndarray    # (L, 6, 12) its change with position, rotation and their rates
    through: np.ndarray  # (L,) int64, first channel of a body, or -1
    channels: Channels
    ball: np.ndarray     # (L, 4) round each element that touches: centre, radius [m]
    listed: np.ndarray   # (1,) bool, whether there are lists of what is near
    placed: np.ndarray   # (n, 12) poses of the carriers at which obstacles on them were placed
    strayed: np.ndarray  # (n,) how far one of these is from where it was listed [m]
    origin: np.ndarray   # (K, 3) places of obstacles for which lists were made
    about: np.ndarray    # (2 L, 4) balls, as above, for which they were: of elements, of bodies
    near_count: np.ndarray  # (2 L,) int64, how many obstacles are near each
    near_it: np.ndarray  # (2 L, K) int64, these
    close: np.ndarray    # (2, K) int64, room for those that an element, and a group, may touch
    near: np.ndarray     # (1,) distance of the centre lines at which rods touch, if some are near
    deepest: np.ndarray  # (1,) largest penetration as a part of the radius [-]
    let_go: np.ndarray   # (1,) likewise, of what damping has let go of, see `LET_GO`
    found: np.ndarray    # (3,) int64, how many pairs touch, how many found no room to, and how
    #                      many anchors did not
    pairs: np.ndarray    # ((SLOTS + 1) C, 19) point, obstacle, regime, place, normal, force,
    #                      anchor, point, gap


class Curve(NamedTuple):
    """The centre line of an element of a rod that touches other rods."""

    rod: int
    start: float             # arc length of the element's start [m]
    length: float            # [m]
    friction: float          # [-]
    polynomials: np.ndarray  # (m + 1, m) weights of its nodes, by powers of x within [-1, 1]


class Points(NamedTuple):
    """Points of one element, spheres of one body, or pieces of one element that touch rods."""

    link: int
    body: bool
    where: np.ndarray    # (c, m) weights of an element's nodes; (c, 3) on a body; (c, 0) of pieces
    numbers: np.ndarray  # (c, 6) see `Contacts`
    curve: Curve | None = None  # of pieces

    @property
    def order(self) -> tuple[int, int]:
        """Their place among all: points, spheres, pieces, each by their links."""
        return (2 if self.curve is not None else int(self.body)), self.link


class FixedShape(NamedTuple):
    """An obstacle, fixed to the end of a link."""

    link: int
    pose: np.ndarray  # (4, 4)
    shape: Shape
    friction: float
    stiffness: float  # per length [N/m^2]; may be infinite


def contacts_of(
    fixed: np.ndarray, shape: np.ndarray, points: Sequence[Points],
    obstacles: Sequence[FixedShape],
) -> Contacts:
    """
    Return points and obstacles as arrays; without anything to touch there are no points.

    Parameters
    ----------
    fixed : (L,) bool array
        Links that no unknown moves.
    shape : (L, 2) int array
        Nodes and modes of those that are elements.
    points, obstacles : sequences

    """
    L, K = fixed.size, len(obstacles)
    points = [p for p in points if obstacles or p.curve is not None]
    ordered = sorted(points, key=lambda p: p.order)
    counts, span = np.zeros((3, L), dtype=np.int64), np.zeros(L)
    for p in ordered:
        counts[p.order] += len(p.where)
        far = np.linalg.norm(p.where, axis=1) if p.body else 0.0
        span[p.link] = max(span[p.link], (p.numbers[:, RADIUS] + far).max(initial=0.0))
    first, body_first, piece_first = (
        before + np.concatenate([[0], np.cumsum(c)]) for before, c in zip(
            np.concatenate([[0], np.cumsum(counts.sum(axis=1))]), counts))
    rows = [row for p in ordered for row in np.asarray(p.where, dtype=float)]
    at = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    poses = np.array([o.pose for o in obstacles], dtype=float).reshape(K, 4, 4)
    numbers = [np.asarray(p.numbers, dtype=float).reshape(-1, 6) for p in ordered]
    link = np.array([o.link for o in obstacles], dtype=np.int64)
    moving, bears = ~fixed[link], counts[1] > 0
    bears[link[moving]] = True
    rod, curve, curve_at = np.full(L, -1, dtype=np.int64), np.zeros((L, 3)), np.zeros(
        L, dtype=np.int64)
    data, used = [*rows, np.zeros(1)], int(at[-1]) + 1
    for p in ordered:
        if p.curve is not None:
            rod[p.link], curve[p.link] = p.curve.rod, p.curve[1:4]
            curve_at[p.link], used = used, used + p.curve.polynomials.size
            data.append(np.ravel(p.curve.polynomials))
    slots = counts[0] + CROSSINGS * int(counts[2].max()) * (rod >= 0)
    before = np.concatenate([[0], np.cumsum(slots)])
    return Contacts(
        stacked([o.shape for o in obstacles]), link, np.unique(link),
        np.ascontiguousarray(poses[:, :3, :3]), np.ascontiguousarray(poses[:, :3, 3]),
        np.array([o.friction for o in obstacles], dtype=float),
        np.array([reach_of(o.shape) for o in obstacles], dtype=float),
        np.array([1.0 / o.stiffness for o in obstacles], dtype=float), moving, bears,
        np.zeros(1, dtype=np.bool_), first, body_first, piece_first, span, at,
        np.concatenate(data),
        np.concatenate([np.zeros((0, 6)), *numbers]), before,
        np.cumsum(slots * shape[:, 0]) - slots * shape[:, 0],
        3 * (np.cumsum(slots * shape[:, 1]) - slots * shape[:, 1]), rod, curve, curve_at,
        Memory(np.tile(np.eye(3), (L, 1, 1)), np.zeros((L, 3)), np.zeros((len(rows), 3)),
               np.zeros((len(rows), SLOTS, 7))))


def room_to_touch(a: Contacts, shape: np.ndarray) -> Touch:
    """Return room for what touches; `shape` as for `contacts_of`."""
    L, C, K, S = a.first.size - 1, len(a.numbers), a.link.size, int(a.slot[-1])
    points, bodies, through = np.zeros((3, L), dtype=np.int64)
    n = a.carriers.size
    (p, Om, p_t), (place, place_t, F) = np.zeros((3, K, 3)), np.zeros((3, S, 3))
    slopes, b = np.zeros((2, S, 3, 3)), L if a.bears.any() else 0
    J, J_t = np.zeros((2, 3 * int(np.diff(a.slot) @ shape[:, 1])))
    return Touch(
        np.zeros((K, 3, 3)), p, Om, p_t, points, bodies,
        np.zeros(int(np.diff(a.slot) @ shape[:, 0])), np.zeros(S), np.zeros(S, dtype=np.int64),
        place, place_t, F, slopes[0], slopes[1], J, J_t, np.zeros(C, dtype=np.int64),
        np.zeros((b, 6)), np.zeros((b, 6, 12)), through,
        room_for_channels(bool(a.moving.any() or (a.rod >= 0).any())), np.zeros((L, 4)),
        np.zeros(1, dtype=np.bool_), np.zeros((n, 12)), np.zeros(n), np.zeros((K, 3)),
        np.zeros((2 * L, 4)), np.zeros(2 * L, dtype=np.int64),
        np.zeros((2 * L, K), dtype=np.int64), np.zeros((2, K), dtype=np.int64),
        np.full(1, np.inf), np.zeros(1), np.zeros(1), np.zeros(3, dtype=np.int64),
        np.zeros(((SLOTS + 1) * C, 19)))


@inner
def touching_at(contacts, touch, link, m, n):
    """Return the points of an element that touch; it has m nodes and n modes."""
    first, a = contacts.slot[link], touch.points[link]
    at = contacts.column_at[link]
    return Touching(
        view(touch.W, contacts.weight_at[link], (a, m)), view(touch.place, 3 * first, (a, 3)),
        view(touch.place_t, 3 * first, (a, 3)), view(touch.F, 3 * first, (a, 3)),
        view(touch.K, 9 * first, (a, 3, 3)), view(touch.D, 9 * first, (a, 3, 3)),
        view(touch.J, at, (a, 3, n)), view(touch.J_t, at, (a, 3, n)))


@inner
def open_slot(contacts, touch, link, weights, place, place_t, whole):
    """Add a point of an element, without force; return its number among the slots, or -1."""
    slot = contacts.slot[link] + touch.points[link]
    if slot == contacts.slot[link + 1]:
        return -1
    W = view(touch.W, contacts.weight_at[link] + touch.points[link] * weights.size,
             (weights.size,))
    for j in range(weights.size):
        W[j] = weights[j]
    touch.points[link] += 1
    touch.whole[slot], touch.opened[slot] = whole, -1
    for i in range(3):
        touch.place[slot, i], touch.place_t[slot, i], touch.F[slot, i] = place[i], place_t[i], 0.0
    clear(touch.K[slot])
    clear(touch.D[slot])
    return slot


# --- Who touches what ----------------------------------------------------------------------------

@unowned
@remote
def touch(tree, work):
    """Find all contacts, their forces and the slopes of these: write `work.touch`."""
    fixed, item, elements, contacts = (
        tree.links.fixed, tree.links.item, tree.elements, tree.contacts)
    start, end, touch, room = work.start, work.end, work.touch, work.room
    touch.found[0] = touch.found[1] = 0
    touch.deepest[0], touch.let_go[0], touch.near[0] = 0.0, 0.0, np.inf
    touch.channels.used[0] = touch.channels.used[1] = 0
    for c in range(touch.regime.size):
        touch.regime[c] = 0
    for link in range(fixed.size):
        touch.points[link], touch.bodies[link], touch.through[link] = 0, 0, -1
        if contacts.bears[link]:
            clear(touch.block[link])
            for i in range(6):
                touch.wrench[link, i] = 0.0
        if contacts.first[link + 1] > contacts.first[link] or contacts.rod[link] >= 0:
            room.used[0] = elements.state[item[link]]
            size = elements.size[item[link]]
            x = state_in(room, size[0], size[2], size[3])
            w = view(elements.data, elements.first[item[link], 0], (size[0],))
            _surround(contacts, touch, link, start.p[link], end.p[link], w, x.t)
    if contacts.link.size == 0:
        return
    _list_near(contacts, fixed, end, touch)
    for link in range(fixed.size):
        if touch.near_count[link] > 0:
            room.used[0] = elements.state[item[link]]
            size = elements.size[item[link]]
            x = state_in(room, size[0], size[2], size[3])
            _touch_element(contacts, link, start.p[link], start.p_t[link], end, x, touch)
        if touch.near_count[fixed.size + link] > 0:
            _touch_body(contacts, link, end, touch)


@inner
def _surround(contacts, touch, link, p, end, w, t):
    """Write a ball round an element: about the middle between its ends, of half its length."""
    reach = 0.0
    for k in range(w.size):
        reach += 0.5 * w[k] * np.sqrt(t[k, 0] ** 2 + t[k, 1] ** 2 + t[k, 2] ** 2)
    for i in range(3):
        touch.ball[link, i] = 0.5 * (p[i] + end[i])
    touch.ball[link, 3] = contacts.span[link] + reach


@inner
def _list_near(contacts, fixed, end, touch):
    """Make sure of the lists of what is near: they hold while little has moved since."""
    moved, L, x = _place_origins(contacts, end, touch), fixed.size, vector(4)
    holds = touch.listed[0]
    for a in range(2 * L if holds else 0):
        if _size_of(contacts, fixed, end, touch, a, x):
            about, way = touch.about[a], 0.0
            for i in range(3):
                way += (x[i] - about[i]) ** 2
            if not np.sqrt(way) + moved + x[3] - about[3] <= MARGIN * about[3]:
                holds = False
                break
    if holds:
        return
    touch.listed[0] = True
    for a in range(contacts.carriers.size):
        touch.strayed[a] = 0.0
    for k in range(contacts.link.size):
        for i in range(3):
            touch.origin[k, i] = touch.p[k, i]
    for a in range(2 * L):
        touch.near_count[a] = 0
        if not _size_of(contacts, fixed, end, touch, a, x):
            continue
        for i in range(4):
            touch.about[a, i] = x[i]
        for k in range(contacts.link.size):
            apart, way, p = (1.0 + MARGIN) * x[3] + contacts.reach[k], 0.0, touch.p[k]
            for i in range(3):
                way += (x[i] - p[i]) ** 2
            if not way > apart * apart:
                touch.near_it[a, touch.near_count[a]] = k
                touch.near_count[a] += 1


@inner
def _size_of(contacts, fixed, end, touch, a, out):
    """Write the ball (4,) round element a or, from L on, body a - L; return if it has points."""
    L = fixed.size
    if a < L:
        for i in range(4):
            out[i] = touch.ball[a, i]
        return contacts.first[a + 1] > contacts.first[a]
    link = a - L
    for i in range(3):
        out[i] = end.p[link, i]
    out[3] = contacts.span[link]
    return contacts.body_first[link + 1] > contacts.body_first[link] and not fixed[link]


@inner
def _place_origins(contacts, end, touch):
    """Write where obstacles are whose links move; return how far from where listed [m]."""
    farthest, y = 0.0, vector(3)
    for a in range(contacts.carriers.size):
        link = contacts.carriers[a]
        R, p, placed = end.R[link], end.p[link], touch.placed[a]
        moved = not touch.listed[0]
        for i in range(3):
            moved = moved or placed[i] != p[i]
            for j in range(3):
                moved = moved or placed[3 + 3 * i + j] != R[i, j]
        if moved:
            touch.strayed[a] = 0.0
            for i in range(3):
                placed[i] = p[i]
                for j in range(3):
                    placed[3 + 3 * i + j] = R[i, j]
        for k in range(contacts.link.size if moved else 0):
            if contacts.link[k] != link:
                continue
            rotate(R, contacts.p[k], y)
            way = 0.0
            for i in range(3):
                touch.p[k, i] = p[i] + y[i]
                way += (touch.p[k, i] - touch.origin[k, i]) ** 2
            touch.strayed[a] = max(touch.strayed[a], np.sqrt(way))
        farthest = max(farthest, touch.strayed[a])
    return farthest


@inner
def _is_far(contacts, end, touch, k, centre, radius):
    """Return whether an obstacle is out of reach of a ball; else write its whole motion."""
    apart, p = radius + contacts.reach[k], touch.p[k]
    if (centre[0] - p[0]) ** 2 + (centre[1] - p[1]) ** 2 + (centre[2] - p[2]) ** 2 > apart * apart:
        return True
    link, y = contacts.link[k], vector(3)
    for i in range(3):
        y[i] = p[i] - end.p[link, i]
        touch.Om[k, i] = end.Om[link, i]
    cross(end.Om[link], y, touch.p_t[k])
    for i in range(3):
        touch.p_t[k, i] += end.p_t[link, i]
    multiply(end.R[link], contacts.R[k], touch.R[k])
    return False


@inner
def _distance(contacts, touch, k, x, n, H):
    """Return the distance of a point x of the world from obstacle k; n and H are overwritten."""
    y, z, A = vector(3), vector(3), matrix(3, 3)
    R = touch.R[k]
    for i in range(3):
        z[i] = x[i] - touch.p[k, i]
    rotate_back(R, z, y)
    d = distance(contacts.shapes, k, y, z, A)
    rotate(R, z, n)
    for i in range(3):
        for j in range(3):
            H[i, j] = 0.0
            for a in range(3):
                H[i, j] += A[i, a] * R[j, a]
    for j in range(3):
        for i in range(3):
            z[i] = H[i, j]
        for i in range(3):
            H[i, j] = R[i, 0] * z[0] + R[i, 1] * z[1] + R[i, 2] * z[2]
    return d


@inner
def _sum(weights, t, begin, out):
    for i in range(3):
        out[i] = begin[i]
        for j in range(weights.size):
            out[i] += weights[j] * t[j, i]


@inner
def _touch_element(contacts, link, p, p_t, end, x, touch):
    """Find the contacts of an element."""
    first, last, m = contacts.first[link], contacts.first[link + 1], x.t.shape[0]
    ball, near, near_group = touch.ball[link], touch.close[0], touch.close[1]
    count, stretch, place = 0, 0.0, vector(3)
    for i in range(touch.near_count[link]):
        k = touch.near_it[link, i]
        if not _is_far(contacts, end, touch, k, ball, ball[3]) and _may_touch(
                contacts, touch, k, ball, ball[3]):
            near[count] = k
            count += 1
    if count == 0:
        return
    for k in range(m):
        stretch = max(stretch, x.t[k, 0] ** 2 + x.t[k, 1] ** 2 + x.t[k, 2] ** 2)
    stretch = STRETCHED * np.sqrt(stretch)
    for group in range(first, last, GROUP):
        beyond = min(group + GROUP, last)
        middle, some = (group + beyond) // 2, 0
        _sum(view(contacts.data, contacts.at[middle], (m,)), x.t, p, place)
        at = contacts.numbers[middle, PLACE]
        reach = contacts.span[link] + stretch * max(
            at - contacts.numbers[group, PLACE], contacts.numbers[beyond - 1, PLACE] - at)
        for i in range(count):
            if _may_touch(contacts, touch, near[i], place, reach):
                near_group[some] = near[i]
                some += 1
        if some > 0:
            _touch_group(contacts, link, group, beyond, some, p, p_t, end, x, touch)


@inner
def _may_touch(contacts, touch, k, centre, radius):
    """Return whether something within a ball may touch an obstacle."""
    n, H = vector(3), matrix(3, 3)
    lag = TUBE_REACH if contacts.shapes.kind[k] == TUBE else 1.0
    return not _distance(contacts, touch, k, centre, n, H) > lag * radius


@inner
def _touch_group(contacts, link, first, last, count, p, p_t, end, x, touch):
    """Find the contacts of some points of an element with the obstacles near these."""
    place, place_t, n, H = vector(3), vector(3), vector(3), matrix(3, 3)
    m = x.t.shape[0]
    for c in range(first, last):
        weights = view(contacts.data, contacts.at[c], (m,))
        _sum(weights, x.t, p, place)
        slot = -1
        for i in range(count):
            k = touch.close[1, i]
            d = _distance(contacts, touch, k, place, n, H)
            if not d < contacts.numbers[c, RADIUS]:
                continue
            if slot < 0:
                _sum(weights, x.t_t, p_t, place_t)
                slot = open_slot(contacts, touch, link, weights, place, place_t, 1.0)
            _press_point(contacts, c, k, d, n, H, link, slot, end, touch)


@inner
def _numbers(contacts, c, k):
    """Return the law of a point and an obstacle, their compliances in series."""
    a = contacts.numbers[c]
    stiffness = a[EXTENT] / (1.0 / a[STIFFNESS] + contacts.softness[k])
    return Numbers(stiffness, a[DAMPING], contacts.friction[k], a[GRIP] * stiffness,
                   -AT_LIMIT if contacts.yields[0] else AT_LIMIT)


@inner
def _relative(touch, k, place, place_t, out):
    """Write the velocity of a point past an obstacle."""
    y = vector(3)
    for i in range(3):
        y[i] = place[i] - touch.p[k, i]
    cross(touch.Om[k], y, out)
    for i in range(3):
        out[i] = place_t[i] - touch.p_t[k, i] - out[i]


@inner
def _slot(memory, c, k):
    """Return in which slot point c remembers obstacle k, or -1."""
    for s in range(SLOTS):
        if memory.slots[c, s, 0] == k + 1.0:
            return s
    return -1


@inner
def _seen(contacts, c, k, out):
    """Write where point c was on obstacle k at the last commit, in the frame of that."""
    link, memory = contacts.link[k], contacts.memory
    y, R = vector(3), memory.R[link]
    for i in range(3):
        y[i] = memory.seen[c, i] - memory.p[link, i]
    rotate_back(R, y, out)
    for i in range(3):
        y[i] = out[i] - contacts.p[k, i]
    rotate_back(contacts.R[k], y, out)


@inner
def _to_world(touch, k, a, out):
    rotate(touch.R[k], a, out)
    for i in range(3):
        out[i] += touch.p[k, i]


@inner
def _record(touch, c, k, regime, d, gap, n, place, rubbed, law, f):
    """Write down a pair that touches, with what is to be remembered of it."""
    touch.regime[c] = 4 * touch.regime[c] + regime
    if f.N[0] ** 2 + f.N[1] ** 2 + f.N[2] ** 2 < (LET_GO * law.stiffness * gap) ** 2 * (
            n[0] ** 2 + n[1] ** 2 + n[2] ** 2):
        touch.let_go[0] = max(touch.let_go[0], gap / (gap - d))
    touch.deepest[0] = max(touch.deepest[0], gap / (gap - d))  # of minus the radius
    if touch.found[0] == touch.pairs.shape[0]:
        return
    pair, y, z = touch.pairs[touch.found[0]], vector(3), vector(3)
    touch.found[0] += 1
    pair[0], pair[1], pair[2], pair[18] = c, k, regime, gap
    for i in range(3):
        pair[3 + i] = place[i] - d * n[i]
        pair[6 + i] = n[i]
        pair[9 + i] = f.N[i] + f.T[i]
        y[i] = rubbed[i] - touch.p[k, i]
        if law.friction > 0.0:  # the bristle as long as its force is
            y[i] += f.T[i] / law.bristle
    rotate_back(touch.R[k], y, z)
    for i in range(3):
        pair[12 + i] = z[i]
        pair[15 + i] = rubbed[i]


@inner
def _press_point(contacts, c, k, d, n, H, link, a, end, touch):
    """Add the contact of an element's point, in slot a, with an obstacle."""
    law, memory = _numbers(contacts, c, k), contacts.memory
    place, place_t = touch.place[a], touch.place_t[a]
    v, y, slip = vector(3), vector(3), vector(3)
    f = Force(vector(3), vector(3), matrix(3, 3), matrix(3, 3), matrix(3, 3), matrix(3, 3),
              matrix(3, 3))
    _relative(touch, k, place, place_t, v)
    if law.friction > 0.0:
        s = _slot(memory, c, k)
        if s >= 0:
            _to_world(touch, k, memory.slots[c, s, 1:4], slip)
        else:
            _seen(contacts, c, k, y)
            _to_world(touch, k, y, slip)
        for i in range(3):
            slip[i] = place[i] - slip[i]
    gap = d - contacts.numbers[c, RADIUS]
    regime = press(law, gap, n, H, v, touch.Om[k], slip, f)
    for i in range(3):
        touch.F[a, i] += f.N[i] + f.T[i]
        for j in range(3):
            touch.K[a, i, j] += f.N_x[i, j] + f.T_x[i, j] + f.T_s[i, j]
            touch.D[a, i, j] += f.N_v[i, j] + f.T_v[i, j]
    if contacts.moving[k]:
        react(contacts.link[k], Ends(link, a - contacts.slot[link], a, place, place, place), f, v,
              end, touch)
    _record(touch, c, k, regime, d, gap, n, place, place, law, f)


# --- Bodies --------------------------------------------------------------------------------------

@inner
def _touch_body(contacts, link, end, touch):
    """Find the contacts of the spheres of a body."""
    arm, place, place_t = vector(3), vector(3), vector(3)
    n, H = vector(3), matrix(3, 3)
    for c in range(contacts.body_first[link], contacts.body_first[link + 1]):
        rotate(end.R[link], view(contacts.data, contacts.at[c], (3,)), arm)
        cross(end.Om[link], arm, place_t)
        for i in range(3):
            place[i] = end.p[link, i] + arm[i]
            place_t[i] += end.p_t[link, i]
        for i in range(touch.near_count[touch.points.size + link]):
            k = touch.near_it[touch.points.size + link, i]
            radius = contacts.numbers[c, RADIUS]
            if contacts.link[k] == link or _is_far(contacts, end, touch, k, place, radius):
                continue
            d = _distance(contacts, touch, k, place, n, H)
            if d < radius:
                touch.bodies[link] += 1
                _press_sphere(contacts, link, c, k, d, n, H, arm, place, place_t, end, touch)


@inner
def _rubbed_point(contacts, link, c, k, out, anchor):
    """Write the point of a body that is rubbed, in its frame, and its anchor on the obstacle."""
    memory = contacts.memory
    s = _slot(memory, c, k)
    if s >= 0:
        for i in range(3):
            anchor[i], out[i] = memory.slots[c, s, 1 + i], memory.slots[c, s, 4 + i]
        return
    y, n, H = vector(3), vector(3), matrix(3, 3)
    _seen(contacts, c, k, anchor)
    distance(contacts.shapes, k, anchor, n, H)
    for i in range(3):
        anchor[i] -= contacts.numbers[c, RADIUS] * n[i]
    rotate(contacts.R[k], anchor, y)
    for i in range(3):
        y[i] += contacts.p[k, i]
    rotate(memory.R[contacts.link[k]], y, n)
    for i in range(3):
        n[i] += memory.p[contacts.link[k], i] - memory.p[link, i]
    rotate_back(memory.R[link], n, out)


@inner
def _press_sphere(contacts, link, c, k, d, n, H, arm, place, place_t, end, touch):
    """Add the contact of a body's sphere with an obstacle."""
    law, radius = _numbers(contacts, c, k), contacts.numbers[c, RADIUS]
    v, slip, anchor, rubbed, lever = vector(3), vector(3), vector(3), vector(3), vector(3)
    f = Force(vector(3), vector(3), matrix(3, 3), matrix(3, 3), matrix(3, 3), matrix(3, 3),
              matrix(3, 3))
    _relative(touch, k, place, place_t, v)
    for i in range(3):
        lever[i] = slip[i] = 0.0
    if law.friction > 0.0:
        _rubbed_point(contacts, link, c, k, rubbed, anchor)
        rotate(end.R[link], rubbed, lever)
        _to_world(touch, k, anchor, slip)
        for i in range(3):
            slip[i] = end.p[link, i] + lever[i] - slip[i]
    regime = press(law, d - radius, n, H, v, touch.Om[k], slip, f)
    _add_wrench(f, arm, lever, end.Om[link], touch.wrench[link], touch.block[link])
    if contacts.moving[k]:
        for i in range(3):
            lever[i] += end.p[link, i]
        react(contacts.link[k], Ends(link, BODY, -1, end.p[link], place, lever), f, v, end, touch)
    for i in range(3):  # the point that is rubbed next
        rubbed[i] = place[i] - radius * n[i]
    _record(touch, c, k, regime, d, d - radius, n, place, rubbed, law, f)


@inner
def _add_wrench(f, arm, lever, Om, wrench, block):
    """Add the forces on a body at `arm` and `lever` from its frame, and their slopes."""
    u, v, s, y, z = vector(3), vector(3), vector(3), vector(3), vector(3)
    dN, dT = vector(3), vector(3)
    cross(arm, f.N, y)
    cross(lever, f.T, z)
    for i in range(3):
        wrench[i] += f.N[i] + f.T[i]
        wrench[3 + i] += y[i] + z[i]
    for b in range(12):
        for i in range(3):
            u[i] = v[i] = s[i] = 0.0
            y[i] = 1.0 if i == b % 3 else 0.0
        if b < 3:
            u[b] = s[b] = 1.0
        elif b < 6:
            cross(y, arm, u)
            cross(y, lever, s)
            cross(Om, u, v)
            cross(u, f.N, y)
            cross(s, f.T, z)
            for i in range(3):
                block[3 + i, b] += y[i] + z[i]
        elif b < 9:
            v[b - 6] = 1.0
        else:
            cross(y, arm, v)
        for i in range(3):
            dN[i] = dT[i] = 0.0
            for j in range(3):
                dN[i] += f.N_x[i, j] * u[j] + f.N_v[i, j] * v[j]
                dT[i] += f.T_x[i, j] * u[j] + f.T_v[i, j] * v[j] + f.T_s[i, j] * s[j]
        cross(arm, dN, y)
        cross(lever, dT, z)
        for i in range(3):
            block[i, b] += dN[i] + dT[i]
            block[3 + i, b] += y[i] + z[i]


# --- Memory --------------------------------------------------------------------------------------

@kernel
def commit(tree, work, stays):
    """Remember where all is, as of the last sweep; what sticks goes on to only if it `stays`."""
    item, elements, contacts = tree.links.item, tree.elements, tree.contacts
    start, end, touch, room = work.start, work.end, work.touch, work.room
    memory, y = contacts.memory, vector(3)
    for link in range(item.size):
        for i in range(3):
            memory.p[link, i] = end.p[link, i]
            for j in range(3):
                memory.R[link, i, j] = end.R[link, i, j]
        if contacts.first[link + 1] > contacts.first[link]:
            size = elements.size[item[link]]
            room.used[0] = elements.state[item[link]]
            x = state_in(room, size[0], size[2], size[3])
            for c in range(contacts.first[link], contacts.first[link + 1]):
                _sum(view(contacts.data, contacts.at[c], (size[0],)), x.t, start.p[link],
                     memory.seen[c])
        for c in range(contacts.body_first[link], contacts.body_first[link + 1]):
            rotate(end.R[link], view(contacts.data, contacts.at[c], (3,)), y)
            for i in range(3):
                memory.seen[c, i] = end.p[link, i] + y[i]
    for c in range(memory.slots.shape[0]):
        for s in range(SLOTS):
            memory.slots[c, s, 0] = 0.0
    if stays:
        _fill_slots(contacts, end, touch)


@inner
def _fill_slots(contacts, end, touch):
    """Remember all pairs that rub."""
    memory, y, link = contacts.memory, vector(3), 0
    touch.found[2] = 0
    for i in range(touch.found[0]):
        pair = touch.pairs[i]
        c, k = int(pair[0]), int(pair[1])
        s = 0
        while s < SLOTS and memory.slots[c, s, 0] > 0.0:
            s += 1
        rods = k >= contacts.link.size
        mu = contacts.curve[k - contacts.link.size, 2] if rods else contacts.friction[k]
        if mu == 0.0:
            continue
        if s == SLOTS:
            touch.found[2] += 1
            continue
        slot = memory.slots[c, s]
        slot[0] = k + 1.0
        for j in range(3):
            slot[1 + j] = pair[12 + j]
        if contacts.body_first[0] <= c < contacts.piece_first[0]:
            while c >= contacts.body_first[link + 1]:
                link += 1
            for j in range(3):
                y[j] = pair[15 + j] - end.p[link, j]
            rotate_back(end.R[link], y, slot[4:7])
