"""
What RViz and the viewer draw of a robot.

Each part has a namespace, each marker an id in it that never changes: a rod is a chain of
cylinders (or boxes) in ``rods/<name>``, its discs are in ``discs/<name>``, a tendon is a line in
``tendons/<name>``, a chamber a thick one in ``chambers/<name>``, the platform is in ``platform``,
bodies that no obstacle shows are in ``bodies/<name>``.
Loads come in a message of their own, see `LoadMarkers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Optional

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ...assembly.rods import PLATFORM
from ...description.joints import BASE
from ...description.parts import Tendon
from ...description.robot import Robot, RodShape
from ...description.routing import Path
from ...description.section import Rectangular
from ...rod.outline import Marks, write_chords, write_frames, write_points
from ...simulation.model import HERE
from ...simulation.simulator import Load
from ...simulation.visuals import (
    body_visuals,
    DISC_COLOUR,
    disc_visual,
    HOLLOW_COLOUR,
    PLATFORM_COLOUR,
    ROD_COLOUR,
    Visual,
)
from ..common.conversions import fill_xyz, pose_numbers
from .wire import Wire

SLACK_COLOUR = (0.15, 0.60, 0.35, 1.0)  # a tendon without tension, a chamber without pressure
TAUT_COLOUR = (0.90, 0.20, 0.10, 1.0)  # at the upper limit of tension or pressure
SLACK, TAUT = np.array(SLACK_COLOUR), np.array(TAUT_COLOUR)
FULL_EFFORT = {'N': 10.0, 'Pa': 1e5}  # that counts as the upper limit where none is given
TENDON_WIDTH = 0.08  # of its distance from the backbone
THINNEST = 2e-4  # [m] that a tendon is drawn, and a part of a rod long
STRAIGHTEST = 0.02  # of its distance from the backbone, that a curved path is off between points
LOAD_COLOURS = (0.95, 0.75, 0.10, 1.0), (0.75, 0.35, 0.85, 1.0)  # of forces, of moments
LONGEST = 0.3  # of the robot's length, that the arrow of the greatest load is long
NUMBERS = 10  # float64 of a marker without points: pose and scale
FINEST = 16  # parts that a path is divided into between two stations, at most
SHAPES = {'box': Marker.CUBE, 'sphere': Marker.SPHERE, 'cylinder': Marker.CYLINDER}
Key = tuple[str, int]  # namespace and id of a marker


class RobotMarkers:
    """
    The markers of a robot, in the frame base_link.

    Parameters
    ----------
    robot : Robot
    shape : mapping of str to RodShape
        Any shape with the stations that later ones will have.
    frame_id : str
        Name of the robot's base_link.

    """

    def __init__(self, robot: Robot, shape: Mapping[str, RodShape], frame_id: str) -> None:
        rods = {name: _rod_markers(robot, name, rod, frame_id) for name, rod in shape.items()}
        discs = {name: _disc_markers(robot, name, frame_id) for name in robot.discs}
        paths = [_path_marker(robot, name, shape, frame_id)
                 for name in (*robot.tendons, *robot.chambers)]
        looks = [(name, number, visual) for name, visuals in _body_looks(robot).items()
                 for number, visual in enumerate(visuals)]
        bodies = [
            marker(frame_id, name if name == PLATFORM else f'bodies/{name}', number,
                   SHAPES[visual.shape], visual.colour, visual.sizes)
            for name, number, visual in looks]
        chords = [m for of in rods.values() for m in of]
        frames = [m for of in discs.values() for m in of]
        markers = [*chords, *frames, *(path.marker for path in paths), *bodies]
        self._wire = Wire(MarkerArray(markers=markers))
        starts = np.concatenate(
            [[0], np.cumsum([NUMBERS + 3 * len(m.points) for m in markers])]).astype(int)
        ends = np.cumsum([0, len(chords), len(frames), len(paths), len(bodies)])
        of_chords, of_frames, of_paths, of_bodies = (
            starts[first:last] for first, last in zip(ends[:-1], ends[1:]))
        of_points = [np.arange(first + NUMBERS, first + NUMBERS + 3 * len(path.marker.points))
                     for first, path in zip(of_paths, paths)]
        pose = np.arange(7)
        # All numbers that change, one after another, and where they are in the message.
        self._at = np.concatenate([
            (of_chords[:, None] + pose).ravel(), of_chords + 9,
            (of_frames[:, None] + pose).ravel(), *of_points,
            (of_bodies[:, None] + pose).ravel()])
        self._numbers = np.zeros(self._at.size)
        sizes = 7 * len(chords), len(chords), 7 * len(frames), sum(map(len, of_points))
        chord_places, self._lengths, frame_places, points, body_places = np.split(
            self._numbers, np.cumsum(sizes))
        self._chord_places, self._frame_places, self._points, self._body_places = (
            part.reshape(-1, width) for part, width in (
                (chord_places, 7), (frame_places, 7), (points, 3), (body_places, 7)))
        stations = _Stations(shape)
        self._discs = stations.marks([
            (robot.rod_name(robot.discs[name].rod),
             robot.discs[name].arc_lengths(robot.rod(robot.discs[name].rod).length))
            for name in discs])
        self._path_marks = stations.marks([(path.rod, path.s) for path in paths])
        self._offsets = np.concatenate([np.zeros((0, 3)), *(path.r for path in paths)])
        self._shown_bodies = [name for name, _, _ in looks]
        self._carried = {name: (robot.rod_name(body.rod), body.at)
                         for name, body in robot.carried.items() if name in self._shown_bodies}
        self._on_bodies = np.array([visual.pose for _, _, visual in looks])
        self._names = [path.name for path in paths]
        self._full = np.array([path.full for path in paths])
        self._colours = 4 * np.arange(ends[2], ends[3])[:, None] + np.arange(4)

    def message(
        self, shape: Mapping[str, RodShape], efforts: Mapping[str, float],
        bodies: Mapping[str, np.ndarray], sec: int, nanosec: int,
    ) -> bytes:
        """
        Return the markers of one instant, a serialised MarkerArray.

        Parameters
        ----------
        shape : mapping of str to RodShape
        efforts : mapping of str to float
            Of each actuator: tension [N], pressure [Pa] or force [N].
        bodies : mapping of str to (4, 4) float64
            Poses of the platform, if there is one, and of bodies by themselves.
        sec, nanosec : int
            Stamp.

        """
        poses = np.concatenate([rod.poses for rod in shape.values()])
        write_chords(poses, len(shape), self._chord_places, self._lengths)
        np.maximum(self._lengths, THINNEST, out=self._lengths)  # a rod may stretch
        if self._frame_places.size:
            write_frames(poses, self._discs, self._frame_places)
        if self._points.size:
            write_points(poses, self._path_marks, self._offsets, self._points)
            effort = np.array([efforts[name] for name in self._names])
            x = np.clip(effort / self._full, 0.0, 1.0)[:, None]
            self._wire.put_floats_at(self._colours, (1.0 - x) * SLACK + x * TAUT)
        if self._body_places.size:
            known = {**bodies, **self._on_rods(shape)}
            poses = np.array([known[name] for name in self._shown_bodies])
            self._body_places[:] = pose_numbers(poses @ self._on_bodies)
        self._wire.put_at(self._at, self._numbers)
        self._wire.put_stamp(sec, nanosec)
        return self._wire.data()

    def _on_rods(self, shape: Mapping[str, RodShape]) -> dict[str, np.ndarray]:
        """Return where bodies are that rods carry, (4, 4)."""
        return {name: shape[rod].poses[-1] if at is None else
                shape[rod].poses_at(np.array([at]))[0]
                for name, (rod, at) in self._carried.items()}


def _body_looks(robot: Robot) -> dict[str, list[Visual]]:
    """Return what the platform and bodies look like, but those that an obstacle shows."""
    shown = {obstacle.body for obstacle in robot.obstacles.values()}
    looks = {name: list(body_visuals(body)) for name, body in robot.bodies.items()
             if name not in shown}
    if robot.platform is not None:
        looks[PLATFORM] = [disc_visual(robot.platform, np.eye(4), PLATFORM_COLOUR)]
    return looks


class LoadMarkers:
    """
    External loads as arrows, in ``loads/<name>``: id 0 the force, id 1 the moment.

    The longest arrow of a force, and of a moment, has `LONGEST` times the robot's length.

    Parameters
    ----------
    robot : Robot
    frame_id : str
        Name of the robot's base_link.

    """

    def __init__(self, robot: Robot, frame_id: str) -> None:
        self._robot, self._frame_id, self._home = robot, frame_id, robot.base.matrix()
        self._length = max(rod.length for rod in robot.rods.values())
        self._shown: set[Key] = set()

    def message(
        self, loads: Mapping[str, Load], shape: Mapping[str, RodShape],
        bodies: Mapping[str, np.ndarray], stamp: Time,
    ) -> Optional[MarkerArray]:
        """Return arrows for all loads, and what takes earlier ones away; None for nothing."""
        if not loads and not self._shown:
            return None
        vectors = {}
        moved = bodies[BASE] if BASE in bodies else self._home
        from_start = moved[:3, :3].T @ self._home[:3, :3]
        for name, load in loads.items():
            pose = self._pose(load, shape, bodies)
            axes = pose[:3, :3] if load.follower else from_start
            for number, part in enumerate((load.wrench[:3], load.wrench[3:])):
                if np.any(part):
                    turned = axes @ part
                    vectors[f'loads/{name}', number] = pose[:3, 3], turned
        arrows = {}
        for number in (0, 1):
            arrows.update(_scaled({key: vector for key, (_, vector) in vectors.items()
                                   if key[1] == number}, LONGEST * self._length))
        markers = []
        for (ns, number), (tail, _) in vectors.items():
            size = (0.02 * self._length, 0.04 * self._length, 0.0)
            arrow = marker(self._frame_id, ns, number, Marker.ARROW, LOAD_COLOURS[number], size)
            for end in (tail, tail + arrows[ns, number]):
                arrow.points.append(Point(**dict(zip('xyz', end.tolist()))))
            markers.append(arrow)
        gone = self._shown - set(vectors)
        markers += [Marker(ns=ns, id=number, action=Marker.DELETE) for ns, number in gone]
        self._shown = set(vectors)
        for one in markers:
            one.header.stamp, one.header.frame_id = stamp, self._frame_id
        return MarkerArray(markers=markers) if markers else None

    def _pose(
        self, load: Load, shape: Mapping[str, RodShape], bodies: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        body = load.body
        if body is None and load.rod is None and self._robot.platform is not None:
            body = PLATFORM
        if body is not None:  # base_link is what all is seen from
            return (HERE if body == BASE else bodies[body]) @ load.offset
        rod = shape[self._robot.rod_name(load.rod)]
        s = rod.arc_lengths[-1] if load.at is None else load.at + 0.5 * load.extent
        return rod.poses_at(np.array([s]))[0] @ load.offset


def _scaled(vectors: Mapping[Key, np.ndarray], longest: float) -> dict[Key, np.ndarray]:
    """Return vectors in proportion, the longest of a given length; none may be all zero."""
    # By the greatest of all numbers first: squares of tiny and of huge ones are 0 and infinite.
    greatest = max((float(np.abs(v).max()) for v in vectors.values()), default=1.0)
    plain = {key: v / greatest for key, v in vectors.items()}
    length = max((float(np.linalg.norm(v)) for v in plain.values()), default=1.0)
    return {key: longest / length * v for key, v in plain.items()}


def marker(
    frame_id: str, ns: str, number: int, kind: int, colour: tuple, scale: Iterable[float],
) -> Marker:
    """Return a marker at the origin of a frame."""
    made = Marker(ns=ns, id=number, type=kind, action=Marker.ADD)
    made.header.frame_id = frame_id
    made.pose.orientation.w = 1.0
    made.color = _colour(colour)
    fill_xyz(made.scale, scale)
    return made


def _colour(rgba: Iterable[float]) -> ColorRGBA:
    r, g, b, a = map(float, rgba)
    return ColorRGBA(r=r, g=g, b=b, a=a)


def _rod_markers(robot: Robot, name: str, shape: RodShape, frame_id: str) -> list[Marker]:
    """Make one marker per interval between stations, as thick as the section in its middle."""
    rod = robot.rods[name]
    middles = 0.5 * (shape.arc_lengths[1:] + shape.arc_lengths[:-1])
    sizes = np.column_stack([rod.outline(middles), np.ones(len(middles))]).tolist()
    kinds = [
        Marker.CUBE if isinstance(rod.segment_at(s).section, Rectangular) else Marker.CYLINDER
        for s in middles]
    hollow = any(robot.path(chamber).rod == name for chamber in robot.chambers)
    colour = HOLLOW_COLOUR if hollow else ROD_COLOUR
    return [
        marker(frame_id, f'rods/{name}', i, kind, colour, size)
        for i, (kind, size) in enumerate(zip(kinds, sizes, strict=True))]


def _disc_markers(robot: Robot, name: str, frame_id: str) -> list[Marker]:
    discs = robot.discs[name]
    size = (2.0 * discs.radius, 2.0 * discs.radius, discs.thickness)
    return [
        marker(frame_id, f'discs/{name}', i, Marker.CYLINDER, DISC_COLOUR, size)
        for i in range(len(discs.arc_lengths(robot.rod(discs.rod).length)))]


class _Stations:
    """
    Stations of all rods, counted through.

    Parameters
    ----------
    shape : mapping of str to RodShape

    """

    def __init__(self, shape: Mapping[str, RodShape]) -> None:
        counts = [len(rod.arc_lengths) for rod in shape.values()]
        self._first = dict(zip(shape, np.cumsum([0, *counts]).tolist()))
        self._s = {name: rod.arc_lengths for name, rod in shape.items()}

    def marks(self, places: Sequence[tuple[str, np.ndarray]]) -> Marks:
        """Return where places are, given rods and arc lengths (P,) [m]."""
        first, fraction = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for rod, s in places:
            known = self._s[rod]
            k = np.clip(np.searchsorted(known, s) - 1, 0, len(known) - 2)
            first.append(self._first[rod] + k)
            fraction.append((s - known[k]) / (known[k + 1] - known[k]))
        return Marks(np.concatenate(first), np.concatenate(fraction))


class _Path(NamedTuple):
    """A tendon or a chamber: a line p + R r beside the backbone (Till 2019, section 5.2)."""

    name: str
    marker: Marker
    rod: str
    s: np.ndarray  # (M,) arc lengths of its points [m]
    r: np.ndarray  # (M, 3) in the sections, body frame [m]
    full: float    # effort that is drawn as the greatest [N or Pa]


def _path_marker(
    robot: Robot, name: str, shape: Mapping[str, RodShape], frame_id: str,
) -> _Path:
    actuator, path = robot.actuators[name], robot.path(name)
    stations, guides = shape[path.rod].arc_lengths, None
    if isinstance(actuator, Tendon) and actuator.guided_by is not None:
        guides = robot.discs[actuator.guided_by].arc_lengths(stations[-1])
    s = _path_stations(path, stations, guides)
    r, tendon = path.at(s), isinstance(actuator, Tendon)
    width = (TENDON_WIDTH * np.linalg.norm(r, axis=1).max() if tendon
             else 2.0 * np.sqrt(np.mean(path.areas) / np.pi))
    line = marker(
        frame_id, f'{"tendons" if tendon else "chambers"}/{name}', 0, Marker.LINE_STRIP,
        SLACK_COLOUR, (max(float(width), THINNEST), 0.0, 0.0))
    line.points = [Point() for _ in s]
    return _Path(name, line, path.rod, s, r, _full_effort(robot, name))


def _full_effort(robot: Robot, name: str) -> float:
    """Return the effort that is drawn as the greatest [N or Pa]."""
    actuator = robot.actuators[name]
    if actuator.limits and actuator.interface == 'effort':
        return actuator.limits.upper
    return FULL_EFFORT['Pa' if name in robot.chambers else 'N']


def _path_stations(
    path: Path, stations: np.ndarray, guides: Optional[np.ndarray],
) -> np.ndarray:
    """
    Return the arc lengths between which a path is drawn straight, (M,) [m].

    Those of the `guides` (K,) if there are any, else those of the `stations` (N,), each interval
    divided until a path that winds about the backbone looks round.
    """
    knots = stations if guides is None else guides
    inside = knots[(knots > path.start) & (knots < path.end)]
    s = np.array([path.start, *inside, path.end])
    if guides is not None:
        return s
    r = path.at(s)
    off = np.linalg.norm(path.at(0.5 * (s[1:] + s[:-1])) - 0.5 * (r[1:] + r[:-1]), axis=1).max()
    allowed = STRAIGHTEST * np.linalg.norm(r, axis=1).max()
    if not off > allowed:
        return s
    parts = min(int(np.ceil(np.sqrt(off / max(allowed, off / FINEST ** 2)))), FINEST)
    return np.interp(np.arange(parts * (len(s) - 1) + 1) / parts, np.arange(len(s)), s)
