"""Poses that a real robot's markers are measured at: from messages of three kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, PoseArray, PoseStamped
import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from tf2_msgs.msg import TFMessage

from ...checks.errors import InvalidModel
from ...numerics.lie import quaternion_from_matrix
from ..common.complaints import Complaints
from ..common.conversions import nanoseconds, pose_numbers
from ..common.frame_tree import FrameTree, matrix, plain_name
from ..common.hearing import listen, topic_name
from ..common.qos import LATCHED_QOS, TF_QOS

KINDS = 'pose', 'pose_array', 'frames'
# A recording may be played faster than it is compared, for a while.
DEPTH = 1000
# A sensor's message that got lost is not worth a delay of the next; all publishers match this.
SENSOR_QOS = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
SIMULATED_QOS = QoSProfile(depth=DEPTH)
UNKNOWN = np.full(7, np.nan)
SHORTEST, LONGEST = 1e-6, 1e6  # between which a quaternion may be long
# A marker's number, its time [s], the frame it is seen from, and its pose (7,) there.
See = Callable[[int, float, str, np.ndarray], None]


class Measurements:
    """
    Listens to where markers are.

    Parameters
    ----------
    node : Node
    kind : str
        'pose': a topic with PoseStamped for each; 'pose_array': one topic with PoseArray, in which
        they have an order; 'frames': frames of /tf.
    names : list of str
        Of topics, or of frames.
    markers : int
        How many there are.
    frame : str
        That frames are seen from; empty: each from its parent.
    by_header : bool
        Whether times are those in headers, else those of arrival.
    see : callable
        Called for every pose.

    """

    def __init__(
        self, node: Node, kind: str, names: list[str], markers: int, frame: str, by_header: bool,
        see: See,
    ) -> None:
        wanted = 1 if kind == 'pose_array' else markers
        if len(names) != wanted:
            raise InvalidModel(
                'parameter measured', ' '.join(names),
                f'{wanted} name{"s" if wanted > 1 else ""}, for {markers} arc_lengths by {kind}')
        self._node, self._markers, self._see = node, markers, see
        self._by_header, self._frame = by_header, frame
        self.rejected = Complaints(node.get_logger().warning)
        self.tree = FrameTree()
        self._frames = {plain_name(name): k for k, name in enumerate(names)}
        if len(self._frames) < len(names):
            raise InvalidModel('parameter measured', ' '.join(names), 'names that differ')
        if kind == 'pose':
            for k, name in enumerate(names):
                topic = topic_name(node, 'parameter measured', name)
                listen(node, PoseStamped, topic, self._taker(k), SENSOR_QOS, self.rejected)
        elif kind == 'pose_array':
            topic = topic_name(node, 'parameter measured', names[0])
            listen(node, PoseArray, topic, self._take_array, SENSOR_QOS, self.rejected)
        else:
            self.listen_to_frames()

    def listen_to_frames(self) -> None:
        """Keep the newest pose of every frame."""
        if not hasattr(self, '_tf'):
            self._tf = [
                listen(self._node, TFMessage, topic, self._take_frames, qos, self.rejected)
                for topic, qos in (('/tf', TF_QOS), ('/tf_static', LATCHED_QOS))]

    def _time(self, stamp: Time) -> float:
        """Return when something was measured [s]."""
        return 1e-9 * (nanoseconds(stamp) if self._by_header
                       else self._node.get_clock().now().nanoseconds)

    def _taker(self, marker: int) -> Callable[[PoseStamped], None]:
        def take(message: PoseStamped) -> None:
            self._see(marker, self._time(message.header.stamp), message.header.frame_id,
                      _numbers(message.pose))
        return take

    def _take_array(self, message: PoseArray) -> None:
        if len(message.poses) != self._markers:
            raise InvalidModel(
                'poses', len(message.poses), f'{self._markers}, one for each of arc_lengths')
        time = self._time(message.header.stamp)
        for k, pose in enumerate(message.poses):
            self._see(k, time, message.header.frame_id, _numbers(pose))

    def _take_frames(self, message: TFMessage) -> None:
        moved: list[tuple[int, Any]] = []
        for one in message.transforms:
            t, q = one.transform.translation, one.transform.rotation
            marker = self._frames.get(plain_name(one.child_frame_id))
            try:
                self.tree.set_transform(one.child_frame_id, one.header.frame_id,
                                        (t.x, t.y, t.z, q.x, q.y, q.z, q.w))
            except ValueError as reason:
                self.rejected.add('/tf', str(reason))
                if marker is not None:
                    self._see(marker, self._time(one.header.stamp), self._frame, UNKNOWN)
                continue
            if marker is not None:
                moved.append((marker, one))
        for marker, one in moved:  # now that all frames of the message are where they are
            seen_from = self._frame or one.header.frame_id
            pose = self.tree.pose(one.child_frame_id, seen_from)
            if pose is None:
                self.rejected.add('/tf', f'{one.child_frame_id} is not connected to {seen_from}')
            else:
                self._see(marker, self._time(one.header.stamp), seen_from,
                          pose_numbers(pose[None])[0])


def _numbers(pose: Pose) -> np.ndarray:
    p, q = pose.position, pose.orientation
    return np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w])


def moved(there: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """
    Return a pose as it is seen from outside of the frame in which it is given.

    Parameters
    ----------
    there : (4, 4) float64
        Pose of that frame.
    pose : (7,) float64
        Position [m] and quaternion x, y, z, w, of any length; zero if it is none.

    """
    place = there[:3, :3] @ pose[:3] + there[:3, 3]
    longest = np.abs(pose[3:]).max()
    if not SHORTEST < longest < LONGEST:
        return np.concatenate([place, np.zeros(4)])
    turn = there[:3, :3] @ matrix([0.0, 0.0, 0.0, *pose[3:] / longest])[:3, :3]
    return np.concatenate([place, quaternion_from_matrix(turn)])
