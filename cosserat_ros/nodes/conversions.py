"""
Arrays to messages.

Messages are made once and refilled at each instant: making them anew costs more than filling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Quaternion, TransformStamped, Vector3
import numpy as np

from cosserat_ros.msg import Backbone, RodState

from ..lie import quaternion_from_matrix
from ..robot import RodShape


def fill_xyz(message: Vector3, values: Iterable[float]) -> None:
    """Fill a Point or a Vector3."""
    message.x, message.y, message.z = values


def fill_quaternion(message: Quaternion, values: Iterable[float]) -> None:
    """Fill a quaternion, given in ROS order x, y, z, w."""
    message.x, message.y, message.z, message.w = values


def _numbers(g: np.ndarray) -> Iterator[tuple[list[float], list[float]]]:
    """Return positions and quaternions of homogeneous transforms (N, 4, 4)."""
    return zip(g[:, :3, 3].tolist(), quaternion_from_matrix(g[:, :3, :3]).tolist(), strict=True)


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
    """Make the message of a robot's shape, to be refilled by `fill_backbone`."""
    message = Backbone()
    message.header.frame_id = frame_id
    for name, rod in shape.items():
        stations = range(len(rod.arc_lengths))
        message.rods.append(RodState(
            name=name, arc_lengths=rod.arc_lengths.tolist(),
            poses=[Pose() for _ in stations],
            linear_strains=[Vector3() for _ in stations],
            angular_strains=[Vector3() for _ in stations]))
    return message


def fill_backbone(
    message: Backbone, shape: Mapping[str, RodShape], tip: np.ndarray, stamp: Time,
) -> None:
    """
    Fill the message that `make_backbone` made for a robot of the same rods and stations.

    Parameters
    ----------
    message : Backbone
    shape : mapping of str to RodShape
    tip : (4, 4) float64
        Pose of the tip in base_link [m].
    stamp : Time

    """
    message.header.stamp = stamp
    fill_poses([message.tip], tip[None])
    for state, rod in zip(message.rods, shape.values(), strict=True):
        fill_poses(state.poses, rod.poses)
        for v, u, strain in zip(state.linear_strains, state.angular_strains, rod.strains.tolist()):
            fill_xyz(v, strain[:3])
            fill_xyz(u, strain[3:])
