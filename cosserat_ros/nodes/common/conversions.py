"""Arrays to messages, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TYPE_CHECKING

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Quaternion, TransformStamped, Twist, Vector3, Wrench
import numpy as np

from ...checks.errors import InvalidModel
from ...msg import Backbone, RodState

if TYPE_CHECKING:  # most nodes have no robot of their own, and start faster without the library
    from ...description.robot import RodShape
    from ...simulation.simulator import Look

NANO = 1_000_000_000
FIRST, LAST = -2 ** 31 * NANO, 2 ** 31 * NANO - 1  # [ns] that a stamp can tell
SHORTEST = 1e-6  # that a quaternion may be: a shorter one is a mistake


def time_message(nanoseconds: int) -> Time:
    """Return a stamp, or the nearest that there is."""
    sec, nanosec = divmod(min(max(nanoseconds, FIRST), LAST), NANO)
    return Time(sec=sec, nanosec=nanosec)


def nanoseconds(stamp: Time) -> int:
    """Return what a stamp says [ns]."""
    return stamp.sec * NANO + stamp.nanosec


def fill_xyz(message: Vector3, values: Iterable[float]) -> None:
    """Fill a Point or a Vector3."""
    message.x, message.y, message.z = map(float, values)


def fill_quaternion(message: Quaternion, values: Iterable[float]) -> None:
    """Fill a quaternion, given in ROS order x, y, z, w."""
    message.x, message.y, message.z, message.w = map(float, values)


def xyz(message: Any) -> np.ndarray:
    """Return a Point or a Vector3 as an array (3,)."""
    return np.array([message.x, message.y, message.z])


def wrench_array(message: Wrench) -> np.ndarray:
    """Return force and moment, (6,)."""
    return np.concatenate([xyz(message.force), xyz(message.torque)])


def rotation(field: str, message: Quaternion) -> np.ndarray:
    """Return the matrix of a quaternion, which need not be of length 1, or raise."""
    q = np.array([message.x, message.y, message.z, message.w])
    largest = np.abs(q).max()
    if not (np.isfinite(largest) and largest > SHORTEST):
        raise InvalidModel(field, q.tolist(), f'a rotation: finite, and longer than {SHORTEST:g}')
    q = q / largest  # else the squares of huge numbers would be infinite
    x, y, z, w = q / np.linalg.norm(q)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def pose_numbers(g: np.ndarray) -> np.ndarray:
    """Return positions and quaternions x, y, z, w of homogeneous transforms, (N, 7)."""
    from ...numerics.lie import write_places
    numbers = np.empty((len(g), 7))
    write_places(np.ascontiguousarray(g), numbers)
    return numbers


def _numbers(g: np.ndarray) -> Iterator[tuple[list[float], list[float]]]:
    return ((x[:3], x[3:]) for x in pose_numbers(g).tolist())


def fill_poses(messages: Iterable[Pose], g: np.ndarray) -> None:
    """Fill N poses from homogeneous transforms (N, 4, 4)."""
    for message, (position, quaternion) in zip(messages, _numbers(g), strict=True):
        fill_xyz(message.position, position)
        fill_quaternion(message.orientation, quaternion)


def fill_transforms(
    messages: Iterable[TransformStamped], g: np.ndarray, stamp: Time,
) -> None:
    """Fill N stamped transforms from homogeneous transforms (N, 4, 4)."""
    for message, (position, quaternion) in zip(messages, _numbers(g), strict=True):
        message.header.stamp = stamp
        fill_xyz(message.transform.translation, position)
        fill_quaternion(message.transform.rotation, quaternion)


def make_backbone(shape: Mapping[str, RodShape], frame_id: str) -> Backbone:
    """Make the message of a robot's shape, its numbers to be written by `Wire` or one by one."""
    message = Backbone()
    message.header.frame_id = frame_id
    for name, rod in shape.items():
        stations = range(len(rod.arc_lengths))
        message.rods.append(RodState(
            name=name, arc_lengths=rod.arc_lengths.tolist(),
            poses=[Pose() for _ in stations],
            linear_strains=[Vector3() for _ in stations],
            angular_strains=[Vector3() for _ in stations],
            internal_wrenches=[Wrench() for _ in stations],
            twists=[Twist() for _ in stations]))
    return message


def backbone_numbers(look: Look) -> np.ndarray:
    """Return all numbers of a Backbone in their order."""
    parts, rods = [], look.rods
    for i, rod in enumerate(look.shape.values()):
        parts += [rod.arc_lengths, rods.places[i], rods.strains[i, :, :3], rods.strains[i, :, 3:],
                  rods.wrenches[i], rods.twists[i]]
    parts += [pose_numbers(look.tip[None]), look.tip_twist]
    return np.concatenate([part.ravel() for part in parts])
