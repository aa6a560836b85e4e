"""
Markers as geometry: what is wrong with them, where they are in the fixed frame, and their meshes.

Plain numpy, not `numerics.lie`: a page that any source may feed does not wait for a compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

# What visualization_msgs/Marker numbers them.
ARROW, CUBE, SPHERE, CYLINDER, LINE_STRIP, LINE_LIST = 0, 1, 2, 3, 4, 5
CUBE_LIST, SPHERE_LIST, POINTS, TEXT_VIEW_FACING, TRIANGLE_LIST = 6, 7, 8, 9, 11

LIMIT = 1e6                 # [m] beyond which a number is taken for a mistake
HEAD = 0.23                 # of an arrow's length, as in RViz
SIDES = 24                  # of round meshes
SCALE = {                   # of a marker's numbers, the sizes that have to be positive
    ARROW: slice(7, 9), CUBE: slice(7, 10), SPHERE: slice(7, 10), CYLINDER: slice(7, 10),
    LINE_STRIP: slice(7, 8), LINE_LIST: slice(7, 8), CUBE_LIST: slice(7, 10),
    SPHERE_LIST: slice(7, 10), POINTS: slice(7, 8), TEXT_VIEW_FACING: slice(9, 10),
    TRIANGLE_LIST: slice(7, 10)}
SORT = {                    # a unit mesh, or what else they are drawn as
    ARROW: 'arrow', CUBE: 'box', CUBE_LIST: 'box', SPHERE: 'sphere', SPHERE_LIST: 'sphere',
    CYLINDER: 'cylinder', LINE_STRIP: 'lines', LINE_LIST: 'lines', POINTS: 'points',
    TEXT_VIEW_FACING: 'text', TRIANGLE_LIST: 'triangles'}
LEAST = {                   # points, for there to be anything to see
    LINE_STRIP: 2, LINE_LIST: 2, CUBE_LIST: 1, SPHERE_LIST: 1, POINTS: 1, TRIANGLE_LIST: 3}
POINTED = frozenset({       # kinds that are made of points, with a color each if they have any
    LINE_STRIP, LINE_LIST, CUBE_LIST, SPHERE_LIST, POINTS, TRIANGLE_LIST})
ORIGIN = np.zeros((1, 3))


class Marker(NamedTuple):
    """One marker as it came, in the terms of visualization_msgs/Marker."""

    namespace: str
    number: int
    kind: int
    frame: str
    numbers: tuple[float, ...]  # position, quaternion x y z w, scale [m], red green blue alpha
    points: np.ndarray          # (n, 3) [m], in the marker's pose
    colors: np.ndarray          # (n, 4) in [0, 1], or (0, 4)
    text: str
    came: float                 # [s] on the caller's clock
    expires: float              # [s] likewise, or infinity

    def fault(self) -> str:
        """Say why the marker cannot be drawn, or nothing."""
        numbers = self.numbers
        if self.kind not in SORT:
            return f'has type {self.kind}, which is not drawn here'
        if math.isnan(sum(numbers)) or min(numbers) < -LIMIT or max(numbers) > LIMIT:
            return 'has a number that is not finite'
        if min(numbers[SCALE[self.kind]]) <= 0.0:
            return 'has a scale that is not positive'
        return self._fault_of_points() if len(self.points) or len(self.colors) else ''

    def _fault_of_points(self) -> str:
        points, colors = len(self.points), len(self.colors)
        if points and not np.abs(self.points).max() < LIMIT:
            return 'has a point that is not finite'
        if colors and not np.abs(self.colors).max() < LIMIT:
            return 'has a color that is not finite'
        if self.kind == TRIANGLE_LIST and points % 3:
            return f'has {points} points, not three for every triangle'
        if colors not in (0, points) and not (self.kind == TRIANGLE_LIST and 3 * colors == points):
            return f'has {colors} colors for {points} points'
        return ''

    def is_seen(self) -> bool:
        """Tell whether there is anything to see: alpha, points, text."""
        if len(self.points) < LEAST.get(self.kind, 0):
            return False
        if self.kind == TEXT_VIEW_FACING and not self.text.strip():
            return False
        return self.numbers[13] > 0.0 or len(self.colors) > 0

    def group(self) -> tuple:
        """Return what can be drawn in one go: the same namespace and sort, width or number."""
        sort = SORT[self.kind]
        if sort in ('lines', 'points'):
            return self.namespace, sort, self.numbers[7]
        if sort in ('text', 'triangles'):
            return self.namespace, sort, self.number
        return self.namespace, sort, None


class Placed(NamedTuple):
    """N markers in the fixed frame, with their M points."""

    rotation: np.ndarray  # (N, 3, 3)
    wxyz: np.ndarray      # (N, 4) the same as quaternions
    scale: np.ndarray     # (N, 3) [m]
    owner: np.ndarray     # (M,) index of a point's marker, ascending
    points: np.ndarray    # (M, 3) [m]; a marker without points has its origin
    colors: np.ndarray    # (M, 4) in [0, 1]

    def part(self, start: int, stop: int) -> Placed:
        """Return the markers from one to before another."""
        first, last = np.searchsorted(self.owner, (start, stop))
        return Placed(
            self.rotation[start:stop], self.wxyz[start:stop], self.scale[start:stop],
            self.owner[first:last] - start, self.points[first:last], self.colors[first:last])


def place(markers: Sequence[Marker], frames: np.ndarray) -> Placed:
    """
    Take markers to the fixed frame, all at once.

    Parameters
    ----------
    markers : sequence of N Marker
        Without faults, at least one.
    frames : (N, 4, 4) float64
        Pose of each marker's frame in the fixed frame [-, m].

    """
    numbers = np.array([marker.numbers for marker in markers])
    rotation = frames[:, :3, :3] @ rotations(numbers[:, 3:7])
    origin = frames[:, :3, 3] + np.einsum('nij,nj->ni', frames[:, :3, :3], numbers[:, :3])
    scale = numbers[:, 7:10]
    sets = [_own_points(marker) for marker in markers]
    owner = np.repeat(np.arange(len(markers)), [len(points) for points in sets])
    points = origin[owner] + np.einsum('mij,mj->mi', rotation[owner], np.concatenate(sets))
    colors = numbers[owner, 10:]
    for index, marker in enumerate(markers):
        if len(marker.colors):
            mine = owner == index
            colors[mine] = np.repeat(marker.colors, mine.sum() // len(marker.colors), axis=0)
    return Placed(
        rotation, quaternions(rotation), scale, owner, points, colors.clip(0.0, 1.0))


def _own_points(marker: Marker) -> np.ndarray:
    """Points in the marker's pose (n, 3) [m], of which triangles alone are scaled."""
    if not len(marker.points):
        return ORIGIN
    return marker.points * marker.numbers[7:10] if marker.kind == TRIANGLE_LIST else marker.points


def rotations(quaternions: np.ndarray) -> np.ndarray:
    """Matrices (N, 3, 3) of quaternions (N, 4) x y z w of any length; zero means no rotation."""
    norm = np.linalg.norm(quaternions, axis=1, keepdims=True)
    x, y, z, w = np.where(norm > 1e-9, quaternions / np.maximum(norm, 1e-9), (0, 0, 0, 1)).T
    return np.moveaxis(np.array((
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)))), 2, 0)


def quaternions(matrices: np.ndarray) -> np.ndarray:
    """Quaternions (N, 4) w x y z of rotation matrices (N, 3, 3), without a weak spot."""
    r = matrices
    diagonal = r[:, [0, 1, 2], [0, 1, 2]]
    # Four times the products of the components; the row with the largest square is the best one.
    w = np.stack((1 + diagonal.sum(1), r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0],
                  r[:, 1, 0] - r[:, 0, 1]), 1)
    products = np.empty((len(r), 4, 4))
    products[:, 0] = products[:, :, 0] = w
    products[:, 1:, 1:] = r + np.swapaxes(r, 1, 2)
    for i in range(3):
        products[:, i + 1, i + 1] = 1 - diagonal.sum(1) + 2 * diagonal[:, i]
    best = np.argmax(products[:, range(4), range(4)], axis=1)
    rows = products[np.arange(len(r)), best]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def along(directions: np.ndarray) -> np.ndarray:
    """Rotations (N, 3, 3) that take z to the unit directions (N, 3)."""
    helper = np.where(np.abs(directions[:, :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    x = np.cross(helper, directions)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.stack((x, np.cross(directions, x), directions), axis=2)


def lathe(*pieces: Sequence[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """
    Turn a profile about z into a mesh.

    Parameters
    ----------
    *pieces : sequences of (radius, z)
        From the top downwards; where one piece ends and the next begins is a sharp edge.

    Returns
    -------
    vertices : (V, 3) float64
    faces : (F, 3) int

    """
    angle = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    circle = np.stack((np.cos(angle), np.sin(angle), np.zeros(SIDES)), 1)
    ring = np.arange(SIDES)
    after = (ring + 1) % SIDES
    vertices: list[np.ndarray] = []
    faces: list[np.ndarray] = []
    for piece in pieces:
        for index, (radius, z) in enumerate(piece):
            lower = SIDES * len(vertices)
            upper = lower - SIDES
            vertices.append(radius * circle + (0.0, 0.0, z))
            if index and piece[index - 1][0] > 0.0:
                faces.append(np.stack((upper + ring, lower + after, upper + after), 1))
            if index and radius > 0.0:
                faces.append(np.stack((upper + ring, lower + ring, lower + after), 1))
    return np.concatenate(vertices), np.concatenate(faces)


def box() -> tuple[np.ndarray, np.ndarray]:
    """Return the unit cube, six separate faces so that its edges are sharp."""
    square = np.array([(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]) / 2.0
    sides = [square[:, axes] for axes in ([0, 1, 2], [1, 2, 0], [2, 0, 1])]
    # Seen through the middle, a side turns the other way round.
    corners = np.concatenate([*sides, *(-side[::-1] for side in sides)])
    faces = [np.array([(0, 1, 2), (0, 2, 3)]) + 4 * side for side in range(6)]
    return corners, np.concatenate(faces)


def unit_meshes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Solids of diameter and height one about the origin."""
    slope = np.linspace(0.0, np.pi, SIDES // 2 + 1)[1:-1]
    ball = [(math.sin(angle) / 2.0, math.cos(angle) / 2.0) for angle in slope]
    top, bottom = [(0.0, 0.5), (0.5, 0.5)], [(0.5, -0.5), (0.0, -0.5)]
    return {
        'box': box(),
        'sphere': lathe([(0.0, 0.5), *ball, (0.0, -0.5)]),
        'cylinder': lathe(top, [(0.5, 0.5), (0.5, -0.5)], bottom),
        'cone': lathe([(0.0, 0.5), (0.5, -0.5)], bottom)}


def arrows(markers: Sequence[Marker], placed: Placed) -> dict[str, Placed]:
    """Shafts (cylinders) and heads (cones) of arrows, given by their ends or by pose and scale."""
    first = np.searchsorted(placed.owner, np.arange(len(markers)))
    by_ends = np.array([len(marker.points) > 1 for marker in markers])
    last = np.where(by_ends, first + 1, first)
    tail = placed.points[first]
    span = np.where(by_ends[:, None], placed.points[last] - tail,
                    placed.rotation[:, :, 0] * placed.scale[:, :1])
    length = np.linalg.norm(span, axis=1)
    shaft = np.where(by_ends, placed.scale[:, 0], placed.scale[:, 1])
    head = np.where(by_ends, placed.scale[:, 1], 2.0 * placed.scale[:, 1])
    wanted = np.where(by_ends & (placed.scale[:, 2] > 0.0), placed.scale[:, 2], HEAD * length)
    point = np.minimum(wanted, length)
    direction = span / np.maximum(length, 1e-12)[:, None]
    seen = length > 1e-9  # an arrow of no length, such as a load of nothing, points nowhere
    rotation = along(np.where(seen[:, None], direction, (0.0, 0.0, 1.0)))
    wxyz = quaternions(rotation)
    tip = tail + span
    stem = length - point

    def part(center: np.ndarray, width: np.ndarray, height: np.ndarray) -> Placed:
        there = seen & (height > 1e-9)
        scale = np.stack((width, width, height), 1)[there]
        return Placed(rotation[there], wxyz[there], scale, np.arange(there.sum()), center[there],
                      placed.colors[first][there])

    return {
        'cylinder': part(tail + direction * (stem / 2.0)[:, None], shaft, stem),
        'cone': part(tip - direction * (point / 2.0)[:, None], head, point)}


def segments(markers: Sequence[Marker], placed: Placed) -> np.ndarray:
    """Indices (S, 2) of the points that line strips and line lists join."""
    starts = []
    for index, marker in enumerate(markers):
        begin = np.searchsorted(placed.owner, index)
        step = 1 if marker.kind == LINE_STRIP else 2
        starts.append(np.arange(begin, begin + len(marker.points) - 1, step))
    start = np.concatenate(starts)
    return np.stack((start, start + 1), 1)


class Bounds:
    """The box around everything drawn."""

    def __init__(self) -> None:
        self.low = np.full(3, np.inf)
        self.high = np.full(3, -np.inf)

    def add(self, points: np.ndarray, margin: float | np.ndarray = 0.0) -> None:
        """Stretch the box around points (M, 3) and what surrounds them [m]."""
        if len(points):
            self.low = np.minimum(self.low, (points - margin).min(axis=0))
            self.high = np.maximum(self.high, (points + margin).max(axis=0))

    def __bool__(self) -> bool:
        return bool(np.isfinite(self.low).all())

    @property
    def center(self) -> np.ndarray:
        """Middle of the box [m]."""
        return (self.low + self.high) / 2.0

    @property
    def radius(self) -> float:
        """Of the sphere around the box [m]; never zero, so that it can be looked at."""
        return max(float(np.linalg.norm(self.high - self.low)) / 2.0, 1e-3)

    def close_to(self, other: Bounds) -> bool:
        """Tell whether a view that fits one box fits the other."""
        apart = float(np.linalg.norm(self.center - other.center))
        return apart < 0.3 * other.radius and 0.6 < self.radius / other.radius < 1.25
