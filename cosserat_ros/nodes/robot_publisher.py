"""All that a node publishes about a robot: frames, markers, joints, shape."""

from __future__ import annotations

from collections.abc import Mapping

from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from cosserat_ros.msg import Backbone

from ..robot import Robot, RodShape
from .conversions import fill_backbone, make_backbone
from .frames import RobotFrames
from .markers import RobotMarkers

# As tf2's own broadcasters have it, so that every listener matches.
TF_QOS = QoSProfile(depth=100)
TF_STATIC_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Reliable, which best-effort listeners (SensorData) match as well.
STATE_QOS = QoSProfile(depth=10)


class RobotPublisher:
    """
    The topics of one robot.

    Parameters
    ----------
    node : LifecycleNode
        Whose publishers they are; they are silent until it is active.
    robot : Robot
    frames : RobotFrames
    shape : mapping of str to RodShape
        Any shape with the stations that later ones will have.

    """

    def __init__(
        self, node: LifecycleNode, robot: Robot, frames: RobotFrames,
        shape: Mapping[str, RodShape],
    ) -> None:
        self._node = node
        self._robot = robot
        self._frames = frames
        self._markers = RobotMarkers(robot, shape, frames.base_link)
        self._backbone = make_backbone(shape, frames.base_link)
        make = node.create_lifecycle_publisher
        self._topics = {
            'tf': make(TFMessage, '/tf', TF_QOS),
            'tf_static': make(TFMessage, '/tf_static', TF_STATIC_QOS),
            'joints': make(JointState, 'joint_states', STATE_QOS),
            'markers': make(MarkerArray, '~/markers', STATE_QOS),
            'backbone': make(Backbone, '~/backbone', STATE_QOS),
        }

    def publish_fixed(self, stamp: Time) -> None:
        """Publish what does not move: once is enough, late listeners get it too."""
        self._topics['tf_static'].publish(self._frames.static(stamp))

    def publish(self, shape: Mapping[str, RodShape], joints: JointState, stamp: Time) -> None:
        """Publish one instant."""
        joints.header.stamp = stamp
        fill_backbone(self._backbone, shape, self._robot.tip_pose(shape), stamp)
        self._topics['tf'].publish(self._frames.moving(shape, stamp))
        self._topics['joints'].publish(joints)
        self._topics['markers'].publish(self._markers.message(shape, joints.effort, stamp))
        self._topics['backbone'].publish(self._backbone)

    def withdraw(self) -> None:
        """Take the topics back."""
        for publisher in self._topics.values():
            self._node.destroy_lifecycle_publisher(publisher)
