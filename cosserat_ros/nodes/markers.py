"""
What RViz and the viewer draw of a robot.

Each part has a namespace, each marker an id in it that never changes: a rod is a chain of
cylinders (or boxes) in ``rods/<name>``, its discs are in ``discs/<name>``, a tendon is a line in
``tendons/<name>``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ..robot import Discs, Robot, RodShape, Tendon
from ..section import Rectangular
from .conversions import fill_poses, fill_xyz

ROD_COLOUR = (0.25, 0.35, 0.50, 1.0)
DISC_COLOUR = (0.80, 0.82, 0.85, 1.0)
SLACK_COLOUR = (0.15, 0.60, 0.35, 1.0)  # a tendon without tension
TAUT_COLOUR = (0.90, 0.20, 0.10, 1.0)  # at the upper limit of its tension
FULL_TENSION = 10.0  # [N] that counts as taut where no limit is given
TENDON_WIDTH = 0.08  # of its distance from the backbone
THINNEST = 2e-4  # [m] that a tendon is drawn, and a part of a rod long


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
            name: [_marker(frame_id, f'discs/{name}', i, Marker.CYLINDER, DISC_COLOUR,
                           (2.0 * discs.radius, 2.0 * discs.radius, discs.thickness))
                   for i in range(discs.count)]
            for name, discs in robot.discs.items()}
        self._tendons = {
            name: _tendon_marker(name, tendon, shape[robot.rod_name(tendon.rod)], frame_id)
            for name, tendon in robot.tendons.items()}
        self._message = MarkerArray(markers=[
            *(m for group in (self._rods, self._discs) for ms in group.values() for m in ms),
            *self._tendons.values()])

    def message(
        self, shape: Mapping[str, RodShape], efforts: Iterable[float], stamp: Time,
    ) -> MarkerArray:
        """
        Return the markers of one instant; valid until the next call.

        Parameters
        ----------
        shape : mapping of str to RodShape
        efforts : iterable of float
            Tension of each tendon [N].
        stamp : Time

        """
        for name, markers in self._rods.items():
            middles, lengths = _chords(shape[name].poses)
            fill_poses((m.pose for m in markers), middles)
            for marker, length in zip(markers, lengths.tolist(), strict=True):
                marker.scale.z = max(length, THINNEST)  # a rod may stretch
        for name, markers in self._discs.items():
            rod = shape[self._robot.rod_name(self._robot.discs[name].rod)]
            fill_poses((m.pose for m in markers), _disc_poses(self._robot.discs[name], rod))
        for name, effort in zip(self._tendons, efforts, strict=True):
            tendon = self._robot.tendons[name]
            rod = shape[self._robot.rod_name(tendon.rod)]
            _fill_tendon(self._tendons[name], tendon, rod, effort)
        for marker in self._message.markers:
            marker.header.stamp = stamp
        return self._message


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
    return [
        _marker(frame_id, f'rods/{name}', i, kind, ROD_COLOUR, size)
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
        Frames in the middle, z along the chord and x as near to the section's as can be; and the
        chords' lengths [m].

    """
    chord = poses[1:, :3, 3] - poses[:-1, :3, 3]
    length = np.linalg.norm(chord, axis=1)
    z = chord / np.maximum(length, np.finfo(float).tiny)[:, None]
    x = poses[:-1, :3, 0] - np.sum(poses[:-1, :3, 0] * z, axis=1)[:, None] * z
    x /= np.linalg.norm(x, axis=1)[:, None]
    middle = np.tile(np.eye(4), (len(chord), 1, 1))
    middle[:, :3, :3] = np.stack([x, np.cross(z, x), z], axis=-1)
    middle[:, :3, 3] = 0.5 * (poses[1:, :3, 3] + poses[:-1, :3, 3])
    return middle, length


def _disc_poses(discs: Discs, rod: RodShape) -> np.ndarray:
    """Return the poses of the discs, (count, 4, 4), evenly spaced, the last at the rod's end."""
    return rod.poses_at(np.linspace(0.0, rod.arc_lengths[-1], discs.count + 1)[1:])


def _tendon_marker(name: str, tendon: Tendon, rod: RodShape, frame_id: str) -> Marker:
    offset = float(np.linalg.norm(tendon.routing.at(np.zeros(1))))
    width = max(TENDON_WIDTH * offset, THINNEST)
    marker = _marker(
        frame_id, f'tendons/{name}', 0, Marker.LINE_STRIP, SLACK_COLOUR, (width, 0.0, 0.0))
    marker.points = [Point() for _ in _tendon_path(tendon, rod)]
    return marker


def _fill_tendon(marker: Marker, tendon: Tendon, rod: RodShape, effort: float) -> None:
    for point, position in zip(marker.points, _tendon_path(tendon, rod).tolist(), strict=True):
        fill_xyz(point, position)
    most = tendon.limits.upper if tendon.limits and tendon.command == 'tension' else FULL_TENSION
    x = min(max(effort / most, 0.0), 1.0) if most > 0.0 else 0.0
    marker.color = _colour((1.0 - x) * np.array(SLACK_COLOUR) + x * np.array(TAUT_COLOUR))


def _tendon_path(tendon: Tendon, rod: RodShape) -> np.ndarray:
    """Return the points p + R r of a tendon (Till 2019, section 5.2), (M, 3) [m]."""
    end = rod.arc_lengths[-1] if tendon.ends_at is None else tendon.ends_at
    before = rod.arc_lengths < end
    s = np.append(rod.arc_lengths[before], end)
    poses = np.concatenate([rod.poses[before], rod.poses_at(s[-1:])])
    return poses[:, :3, 3] + np.einsum('nij,nj->ni', poses[:, :3, :3], tendon.routing.at(s))
