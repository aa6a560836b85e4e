"""
Obstacles as markers, in ``obstacles/<name>``.

A plane is a thin plate below it, a tube its wall; both are translucent. Those that cannot move
are sent when they are put somewhere, and again now and then, for who came since; those that ride
on what moves, always. Messages are made anew only where shapes are new: of a mesh that takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import time

from geometry_msgs.msg import Point
import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from ...description.obstacles import (
    BaseGeometry,
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Mesh,
    Obstacle,
    Plane,
    simple_parts,
    Sphere,
    Triangles,
    Tube,
)
from ...laws.distance_grids import triangles_of
from ...laws.shapes import shape_of
from ...simulation.contacts import ObstaclePlaces
from ...simulation.simulator import Simulator
from ..common.conversions import pose_numbers
from .markers import Key, marker, NUMBERS
from .wire import Wire

COLOUR = (0.62, 0.60, 0.55)
SOLID, CLEAR = 1.0, 0.25   # alpha
PLATE, ENDLESS = 2.0, 6.0  # of the robot's length: edge of a plane, length of an endless cylinder
THIN = 0.004               # of the robot's length, that a plane is drawn thick
RINGS, SIDES = 60, 16      # of a tube's wall, at most
MESHES = Mesh, Triangles, HeightField
MOST_TRIANGLES = 3000      # of the meshes of an obstacle, that are drawn: more are drawn coarser
AGAIN = 1.0                # [s] after which obstacles that stand still are sent again


@dataclass(frozen=True)
class Solid:
    """What one marker draws: its kind, its pose in the obstacle's frame, sizes or triangles."""

    kind: int
    pose: np.ndarray                  # (4, 4)
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    alpha: float = SOLID
    corners: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))  # (3 n, 3) [m]


def solids_of(geometry: BaseGeometry, length: float) -> list[Solid]:
    """Return what draws a geometry for a robot of some length [m]."""
    found, parts = [], simple_parts(geometry)
    most = MOST_TRIANGLES // max(sum(isinstance(part, MESHES) for part, _ in parts), 1)
    for part, pose in parts:
        g = pose.matrix()
        for solid in _simple(part, length, most):
            found.append(Solid(
                solid.kind, g @ solid.pose, solid.scale, solid.alpha, solid.corners))
    return found


def _simple(geometry: BaseGeometry, length: float, most: int) -> list[Solid]:
    if isinstance(geometry, Tube):
        return [Solid(Marker.TRIANGLE_LIST, _at(0.0), alpha=CLEAR, corners=tube_wall(geometry))]
    if isinstance(geometry, MESHES):
        return [Solid(
            Marker.TRIANGLE_LIST, _at(0.0),
            corners=coarser(triangles_of(geometry), most).reshape(-1, 3))]
    return _primitive(geometry, length)


def _primitive(geometry: BaseGeometry, length: float) -> list[Solid]:
    if isinstance(geometry, Plane):
        edge, thickness = PLATE * length, THIN * length
        return [Solid(Marker.CUBE, _at(-0.5 * thickness), (edge, edge, thickness), CLEAR)]
    if isinstance(geometry, Box):
        return [Solid(Marker.CUBE, _at(0.0), geometry.size)]
    if isinstance(geometry, Sphere):
        return [_ball(geometry.radius, 0.0)]
    if isinstance(geometry, Cylinder):
        return [_round(geometry.radius, geometry.length or ENDLESS * length)]
    assert isinstance(geometry, Capsule)
    half = 0.5 * geometry.length
    return [_round(geometry.radius, geometry.length), _ball(geometry.radius, half),
            _ball(geometry.radius, -half)]


def _at(z: float) -> np.ndarray:
    g = np.eye(4)
    g[2, 3] = z
    return g


def _ball(radius: float, z: float) -> Solid:
    return Solid(Marker.SPHERE, _at(z), (2.0 * radius, 2.0 * radius, 2.0 * radius))


def _round(radius: float, length: float) -> Solid:
    return Solid(Marker.CYLINDER, _at(0.0), (2.0 * radius, 2.0 * radius, length))


def coarser(triangles: np.ndarray, most: int) -> np.ndarray:
    """
    Return at most so many triangles (M, 3, 3) for a surface (N, 3, 3), by joining vertices.

    Those within one cell of a grid become one; cells are doubled until that is enough (Rossignac
    and Borrel 1993).
    """
    low = triangles.reshape(-1, 3).min(axis=0)
    cell = float(np.ptp(triangles.reshape(-1, 3), axis=0).max()) / 256.0
    while len(triangles) > most:
        grid = np.round((triangles - low) / cell)
        apart = ((grid[:, [0, 1, 2]] != grid[:, [1, 2, 0]]).any(axis=2)).all(axis=1)
        kept = np.unique(np.sort(grid[apart].astype(np.int64) @ [1, 1 << 20, 1 << 40], axis=1),
                         axis=0, return_index=True)[1]
        if len(kept) <= most:
            return grid[apart][kept] * cell + low
        cell *= 2.0
    return triangles


def tube_wall(tube: Tube) -> np.ndarray:
    """Return the wall of a tube as triangles, their corners (3 n, 3) [m]."""
    shape = shape_of(tube)
    parts = int(shape.numbers[0])
    knots, c = shape.data[:parts + 1], shape.data[parts + 1:].reshape(parts, 4, 4)
    u = np.linspace(knots[0], knots[-1], RINGS)
    k = np.clip(np.searchsorted(knots, u) - 1, 0, parts - 1)
    t = (u - knots[k])[:, None] ** np.arange(4)
    line = np.einsum('sp,spk->sk', t, c[k])
    along = np.einsum('sp,spk->sk', t[:, :3] * (1.0, 2.0, 3.0), c[k, 1:, :3])
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    across = np.zeros((RINGS, 3))
    last = np.eye(3)[np.argmin(np.abs(along[0]))]
    for i, e in enumerate(along):  # carried along without twist
        last = last - (last @ e) * e
        across[i] = last = last / np.linalg.norm(last)
    angle = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    ring = (np.cos(angle)[:, None] * across[:, None]
            + np.sin(angle)[:, None] * np.cross(along, across)[:, None])
    wall = line[:, None, :3] + line[:, None, 3:] * ring
    a, b = wall[:-1], wall[1:]
    a_next, b_next = np.roll(a, -1, axis=1), np.roll(b, -1, axis=1)
    return np.stack([a, b, a_next, a_next, b, b_next], axis=2).reshape(-1, 3)


class ObstacleMarkers:
    """
    The markers of obstacles.

    Parameters
    ----------
    frame_id : str
        Name of the robot's base_link.
    length : float
        Of the robot [m].

    """

    def __init__(self, frame_id: str, length: float) -> None:
        self._frame_id, self._length = frame_id, length
        self._places = ObstaclePlaces()
        self._solids: dict[str, tuple[BaseGeometry, list[Solid]]] = {}
        self._of: Mapping[str, Obstacle] | None = None
        self._groups: dict[tuple, _Group] = {}
        self._shown: set[Key] = set()
        self._sent, self._listeners = -np.inf, 0

    def messages(self, sim: Simulator, listeners: int, sec: int, nanosec: int) -> list[bytes]:
        """
        Return what is to be sent of one instant, serialised arrays of markers.

        Parameters
        ----------
        sim : Simulator
        listeners : int
            How many there are: a new one gets all.
        sec, nanosec : int
            Stamp.

        """
        changed = sim.obstacles is not self._of
        made = self._make(sim) if changed else []
        now = time.monotonic()
        everything = listeners > self._listeners or now - self._sent > AGAIN
        self._listeners = listeners
        if everything:
            self._sent = now
        for group in self._groups.values():
            if group.rides or everything or changed:
                places = self._places.at(sim)
                if group.rides or everything or group.is_moved(places):
                    made.append(group.message(places, sec, nanosec))
        return made

    def _make(self, sim: Simulator) -> list[bytes]:
        """Make the markers of other obstacles; return what takes away those that are gone."""
        self._of = sim.obstacles
        self._solids = {name: self._drawn(name, obstacle.geometry)
                        for name, obstacle in sim.obstacles.items()}
        rides = self._places.ride(sim)
        together: dict[tuple[bool, str], list[_Part]] = {}  # a mesh by itself
        for i, (name, (_, solids)) in enumerate(self._solids.items()):
            alone = name if any(len(solid.corners) for solid in solids) else ''
            together.setdefault((bool(rides[i]), alone), []).append(_Part(i, name, solids))
        groups = {}
        for (moving, _), parts in together.items():
            key = moving, *((part.name, id(part.solids)) for part in parts)
            groups[key] = self._groups.get(key) or _Group(moving, parts, self._frame_id)
            groups[key].own(parts)
        self._groups = groups
        shown = {(f'obstacles/{name}', number) for name, (_, solids) in self._solids.items()
                 for number in range(len(solids))}
        gone = [Marker(ns=ns, id=number, action=Marker.DELETE)
                for ns, number in sorted(self._shown - shown)]
        self._shown = shown
        return [Wire(MarkerArray(markers=gone)).data()] if gone else []

    def _drawn(self, name: str, geometry: BaseGeometry) -> tuple[BaseGeometry, list[Solid]]:
        """Return what draws an obstacle: what drew it before, if it is the same."""
        held = self._solids.get(name)
        return held if held and held[0] is geometry else (
            geometry, solids_of(geometry, self._length))


@dataclass(frozen=True)
class _Part:
    """An obstacle in a group."""

    at: int  # in the order of all obstacles
    name: str
    solids: list[Solid]


class _Group:
    """Markers that are sent together."""

    def __init__(self, rides: bool, parts: list[_Part], frame_id: str) -> None:
        self.rides, self._parts = rides, parts  # kept, so that no others can have their ids
        self._last: np.ndarray | None = None
        self._local = np.array([solid.pose for part in parts for solid in part.solids])
        markers = []
        for part in parts:
            for number, solid in enumerate(part.solids):
                one = marker(frame_id, f'obstacles/{part.name}', number, solid.kind,
                             (*COLOUR, solid.alpha), solid.scale)
                one.points = [Point(x=x, y=y, z=z) for x, y, z in solid.corners.tolist()]
                markers.append(one)
        self._wire = Wire(MarkerArray(markers=markers))
        starts = np.cumsum([0, *(NUMBERS + 3 * len(m.points) for m in markers[:-1])])
        self._at = starts[:, None] + np.arange(7)

    def own(self, parts: list[_Part]) -> None:
        """Take note of where these obstacles are among all now."""
        self._owner = np.array([part.at for part in parts for _ in part.solids])

    def is_moved(self, places: np.ndarray) -> bool:
        """Tell whether these were not sent yet at the poses that all obstacles have (n, 4, 4)."""
        return self._last is None or not np.array_equal(places[self._owner], self._last)

    def message(self, places: np.ndarray, sec: int, nanosec: int) -> bytes:
        """Return the markers, given the poses of all obstacles (n, 4, 4)."""
        self._last = places[self._owner]
        self._wire.put_at(self._at, pose_numbers(self._last @ self._local))
        self._wire.put_stamp(sec, nanosec)
        return self._wire.data()
