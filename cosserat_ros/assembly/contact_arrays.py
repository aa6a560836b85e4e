"""
What may touch and what does, as arrays for kernels: points of rods and bodies, and obstacles.

Who touches whom is found in :mod:`cosserat_ros.assembly.contact`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..laws.obstacles import Shapes
from ..laws.shapes import reach_of, Shape, stacked
from ..numerics.arena import view
from ..numerics.kernels import inner
from .channels import Channels, room_for_channels
from .element import clear, Touching

SLOTS = 6         # obstacles that one point may stick to at once
RADIUS, STIFFNESS, DAMPING, GRIP, EXTENT, PLACE = range(6)  # columns of `Contacts.numbers`
CROSSINGS = 6     # slots for crossings, for each piece of the element that has most


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
    turns: np.ndarray    # (n,) bool, whether these turned since the sweep before
    measured: np.ndarray  # (n,) bool, whether lists are of distances, and hold till they turn
    strayed: np.ndarray  # (n,) how far one of these is from where it was listed [m]
    origin: np.ndarray   # (K, 3) places of obstacles for which lists were made
    about: np.ndarray    # (2 L, 4) balls, as above, for which they were: of elements, of bodies
    spare: np.ndarray    # (2 L,) how far these may move or grow, and obstacles move [m]
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
        np.zeros(1, dtype=np.bool_), np.zeros((n, 12)), np.zeros(n, dtype=np.bool_),
        np.zeros(n, dtype=np.bool_), np.zeros(n), np.zeros((K, 3)), np.zeros((2 * L, 4)),
        np.zeros(2 * L), np.zeros(2 * L, dtype=np.int64),
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
