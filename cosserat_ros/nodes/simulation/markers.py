"""
What RViz and the viewer draw of a robot.

Each part has a namespace, each marker an id in it that never changes: a rod is a chain of
cylinders (or boxes) in ``rods/<name>``, its discs are in ``discs/<name>``, a tendon is a line in
``tendons/<name>``, a chamber a thick one in ``chambers/<name>``, the platform is in ``platform``.
Loads come in a message of their own, see `LoadMarkers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Optional

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ...description.parts import Tendon
from ...description.robot import Robot, RodShape
from ...description.routing import Path
from ...description.section import Rectangular
from ...simulation.simulator import Load
from ..common.conversions import fill_xyz, pose_numbers
from .wire import Wire

ROD_COLOUR = (0.25, 0.35, 0.50, 1.0)
HOLLOW_COLOUR = (0.25, 0.35, 0.50, 0.4)  # a rod with chambers: they are to be seen
DISC_COLOUR = (0.80, 0.82, 0.85, 1.0)
PLATFORM_COLOUR = (0.80, 0.82, 0.85, 0.7)
SLACK_COLOUR = (0.15, 0.60, 0.35, 1.0)  # a tendon without tension, a chamber without pressure
TAUT_COLOUR = (0.90, 0.20, 0.10, 1.0)  # at the upper limit of tension or pressure
FULL_EFFORT = {'N': 10.0, 'Pa': 1e5}  # that counts as the upper limit where none is given
TENDON_WIDTH = 0.08  # of its distance from the backbone
THINNEST = 2e-4  # [m] that a tendon is drawn, and a part of a rod long
STRAIGHTEST = 0.02  # of its distance from the backbone, that a curved path is off between points
LOAD_COLOURS = (0.95, 0.75, 0.10, 1.0), (0.75, 0.35, 0.85, 1.0)  # of forces, of moments
LONGEST = 0.3  # of the robot's length, that the arrow of the greatest load is long
SHORTEST = 1e-12  # [m] of a chord that has a direction
PARALLEL = 1e-6  # sine of the angle to a chord, below which an axis has no part across it
NUMBERS = 10  # float64 of a marker without points: pose and scale
FINEST = 16  # parts that a path is divided into between two stations, at most
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
        self._robot = robot
        self._rods = {
            name: _rod_markers(robot, name, rod, frame_id) for name, rod in shape.items()}
        self._discs = {
            name: _disc_markers(robot, name, frame_id) for name in robot.discs}
        self._paths = {
            name: _PathMarker(robot, name, shape[robot.path(name).rod], frame_id)
            for name in (*robot.tendons, *robot.chambers)}
        self._platform = [
            _marker(frame_id, 'platform', 0, Marker.CYLINDER, PLATFORM_COLOUR,
                    (2.0 * platform.radius, 2.0 * platform.radius, platform.thickness))
            for platform in (robot.platform,) if platform is not None]
        markers = [
            *(m for group in (self._rods, self._discs) for ms in group.values() for m in ms),
            *(path.marker for path in self._paths.values()), *self._platform]
        self._wire = Wire(MarkerArray(markers=markers))
        sizes = [NUMBERS + 3 * len(m.points) for m in markers]
        self._first = dict(zip(
            ((m.ns, m.id) for m in markers), np.concatenate([[0], np.cumsum(sizes)]).tolist()))
        self._number = {(m.ns, m.id): i for i, m in enumerate(markers)}

    def message(
        self, shape: Mapping[str, RodShape], efforts: Mapping[str, float], sec: int, nanosec: int,
    ) -> bytes:
        """
        Return the markers of one instant, a serialised MarkerArray.

        Parameters
        ----------
        shape : mapping of str to RodShape
        efforts : mapping of str to float
            Of each actuator: tension [N], pressure [Pa] or force [N].
        sec, nanosec : int
            Stamp.

        """
        wire = self._wire
        for name in self._rods:
            middles, lengths = _chords(shape[name].poses)
            first = self._first[f'rods/{name}', 0] + NUMBERS * np.arange(len(lengths))
            wire.put_at(first[:, None] + np.arange(7), pose_numbers(middles))
            wire.put_at(first + 9, np.maximum(lengths, THINNEST))  # a rod may stretch
        for name in self._discs:
            discs = self._robot.discs[name]
            rod = shape[self._robot.rod_name(discs.rod)]
            poses = rod.poses_at(discs.arc_lengths(rod.arc_lengths[-1]))
            first = self._first[f'discs/{name}', 0] + NUMBERS * np.arange(len(poses))
            wire.put_at(first[:, None] + np.arange(7), pose_numbers(poses))
        for name, path in self._paths.items():
            points, colour = path.drawn(shape, efforts[name])
            wire.put(self._first[path.marker.ns, 0] + NUMBERS, points)
            wire.put_floats(4 * self._number[path.marker.ns, 0], colour)
        if self._platform:
            pose = self._robot.platform_pose(shape)
            wire.put(self._first['platform', 0], pose_numbers(pose[None]))
        wire.put_stamp(sec, nanosec)
        return wire.data()


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
        self._robot, self._frame_id = robot, frame_id
        self._length = max(rod.length for rod in robot.rods.values())
        self._shown: set[Key] = set()

    def message(
        self, loads: Mapping[str, Load], shape: Mapping[str, RodShape], stamp: Time,
    ) -> Optional[MarkerArray]:
        """Return arrows for all loads, and what takes earlier ones away; None for nothing."""
        vectors = {}
        for name, load in loads.items():
            pose = self._pose(load, shape)
            for number, part in enumerate((load.wrench[:3], load.wrench[3:])):
                if np.any(part):
                    turned = pose[:3, :3] @ part if load.follower else part
                    vectors[f'loads/{name}', number] = pose[:3, 3], turned
        arrows = {}
        for number in (0, 1):
            arrows.update(_scaled({key: vector for key, (_, vector) in vectors.items()
                                   if key[1] == number}, LONGEST * self._length))
        markers = []
        for (ns, number), (tail, _) in vectors.items():
            size = (0.02 * self._length, 0.04 * self._length, 0.0)
            marker = _marker(self._frame_id, ns, number, Marker.ARROW, LOAD_COLOURS[number], size)
            for end in (tail, tail + arrows[ns, number]):
                marker.points.append(Point(**dict(zip('xyz', end.tolist()))))
            markers.append(marker)
        gone = self._shown - set(vectors)
        markers += [Marker(ns=ns, id=number, action=Marker.DELETE) for ns, number in gone]
        self._shown = set(vectors)
        for marker in markers:
            marker.header.stamp, marker.header.frame_id = stamp, self._frame_id
        return MarkerArray(markers=markers) if markers else None

    def _pose(self, load: Load, shape: Mapping[str, RodShape]) -> np.ndarray:
        if self._robot.platform is not None and load.rod is None:
            return self._robot.platform_pose(shape)
        rod = shape[self._robot.rod_name(load.rod)]
        s = rod.arc_lengths[-1] if load.at is None else load.at + 0.5 * load.extent
        return rod.poses_at(np.array([s]))[0]


def _scaled(vectors: Mapping[Key, np.ndarray], longest: float) -> dict[Key, np.ndarray]:
    """Return vectors in proportion, the longest of a given length; none may be all zero."""
    # By the greatest of all numbers first: squares of tiny and of huge ones are 0 and infinite.
    greatest = max((float(np.abs(v).max()) for v in vectors.values()), default=1.0)
    plain = {key: v / greatest for key, v in vectors.items()}
    length = max((float(np.linalg.norm(v)) for v in plain.values()), default=1.0)
    return {key: longest / length * v for key, v in plain.items()}


def _marker(
    frame_id: str, ns: str, number: int, kind: int, colour: tuple, scale: Iterable[float],
) -> Marker:
    marker = Marker(ns=ns, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id = frame_id
    marker.pose.orientation.w = 1.0
    marker.color = _colour(colour)
    fill_xyz(marker.scale, scale)
    return marker


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
        _marker(frame_id, f'rods/{name}', i, kind, colour, size)
        for i, (kind, size) in enumerate(zip(kinds, sizes, strict=True))]


def _chords(poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return what joins neighbouring stations.

    Parameters
    ----------
    poses : (N, 4, 4) float64

    Returns
    -------
    (N - 1, 4, 4) and (N - 1,) float64
        Frames in the middle, z along the chord (the section's, where there is none) and x as near
        to the section's as can be; and the chords' lengths [m].

    """
    chord = poses[1:, :3, 3] - poses[:-1, :3, 3]
    length = np.linalg.norm(chord, axis=1)
    known = (length > SHORTEST)[:, None]
    z = np.where(known, chord / np.where(known, length[:, None], 1.0), poses[:-1, :3, 2])
    x, y = (axis - np.sum(axis * z, axis=1)[:, None] * z
            for axis in (poses[:-1, :3, 0], poses[:-1, :3, 1]))
    x = np.where((np.linalg.norm(x, axis=1) > PARALLEL)[:, None], x, y)
    x /= np.linalg.norm(x, axis=1)[:, None]
    middle = np.tile(np.eye(4), (len(chord), 1, 1))
    middle[:, :3, :3] = np.stack([x, np.cross(z, x), z], axis=-1)
    middle[:, :3, 3] = 0.5 * (poses[1:, :3, 3] + poses[:-1, :3, 3])
    return middle, length


def _disc_markers(robot: Robot, name: str, frame_id: str) -> list[Marker]:
    discs = robot.discs[name]
    size = (2.0 * discs.radius, 2.0 * discs.radius, discs.thickness)
    return [
        _marker(frame_id, f'discs/{name}', i, Marker.CYLINDER, DISC_COLOUR, size)
        for i in range(len(discs.arc_lengths(robot.rod(discs.rod).length)))]


class _PathMarker:
    """
    A tendon or a chamber: a line p + R r beside the backbone (Till 2019, section 5.2).

    Parameters
    ----------
    robot : Robot
    name : str
        Of the actuator.
    rod : RodShape
        Any shape with the stations that later ones will have.
    frame_id : str

    """

    def __init__(self, robot: Robot, name: str, rod: RodShape, frame_id: str) -> None:
        actuator, path = robot.actuators[name], robot.path(name)
        guides = None
        if isinstance(actuator, Tendon) and actuator.guided_by is not None:
            guides = robot.discs[actuator.guided_by].arc_lengths(rod.arc_lengths[-1])
        self._rod = path.rod
        self._s = _path_stations(path, rod.arc_lengths, guides)
        self._r = path.at(self._s)
        # Most of the points are at stations, whose poses need no interpolation.
        self._station = np.searchsorted(rod.arc_lengths, self._s).clip(max=len(rod.poses) - 1)
        self._between = np.flatnonzero(rod.arc_lengths[self._station] != self._s)
        tendon = isinstance(actuator, Tendon)
        self._full = _full_effort(robot, name)
        width = (
            TENDON_WIDTH * np.linalg.norm(self._r, axis=1).max() if tendon
            else 2.0 * np.sqrt(np.mean(path.areas) / np.pi))
        self.marker = _marker(
            frame_id, f'{"tendons" if tendon else "chambers"}/{name}', 0, Marker.LINE_STRIP,
            SLACK_COLOUR, (max(float(width), THINNEST), 0.0, 0.0))
        self.marker.points = [Point() for _ in self._s]

    def drawn(
        self, shape: Mapping[str, RodShape], effort: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return its points (M, 3) and its colour (4,)."""
        rod = shape[self._rod]
        poses = rod.poses[self._station]
        if self._between.size:
            poses[self._between] = rod.poses_at(self._s[self._between])
        points = poses[:, :3, 3] + np.einsum('nij,nj->ni', poses[:, :3, :3], self._r)
        x = min(max(effort / self._full, 0.0), 1.0) if self._full > 0.0 else 0.0
        return points, (1.0 - x) * np.array(SLACK_COLOUR) + x * np.array(TAUT_COLOUR)


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
