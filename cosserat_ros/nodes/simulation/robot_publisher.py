"""All that a node publishes about a robot: frames, markers, joints, shape."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from ...description.joints import JointDrive
from ...description.parts import Actuator, Chamber, Leg
from ...msg import ActuatorCommand, ActuatorInfo, Backbone, RobotInfo
from ...simulation.simulator import Load, Look, Simulator, Snapshot
from ..common.conversions import backbone_numbers, make_backbone, NANO, time_message
from .frames import RobotFrames
from .markers import LoadMarkers, RobotMarkers
from .wire import Wire

# As tf2's own broadcasters have it, so that every listener matches.
TF_QOS = QoSProfile(depth=100)
LATCHED_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Reliable, which best-effort listeners (SensorData) match as well.
STATE_QOS = QoSProfile(depth=10)
SHAPE_TOPICS = 'tf', 'markers', 'backbone', 'tip_pose', 'tip_twist'  # of the same instants


class RobotPublisher:
    """
    The topics of one robot.

    Parameters
    ----------
    node : LifecycleNode
        Whose publishers they are; they are silent until it is active.
    view : Simulator
        Another instance of the one whose snapshots are published, with as many stations.
    frames : RobotFrames
    clock : bool
        Whether to publish /clock.

    """

    def __init__(
        self, node: LifecycleNode, view: Simulator, frames: RobotFrames, clock: bool,
    ) -> None:
        self._node, self._view, self._frames = node, view, frames
        robot, shape = view.robot, view.shape()
        names = list(robot.actuators)
        zeros = [0.0] * len(names)
        self._joints = Wire(JointState(
            name=names, position=zeros, velocity=zeros, effort=zeros))
        self._markers = RobotMarkers(robot, shape, frames.base_link)
        self._loads = LoadMarkers(robot, frames.base_link)
        self._backbone = Wire(make_backbone(shape, frames.base_link))
        pose, twist = PoseStamped(), TwistStamped()
        pose.header.frame_id = twist.header.frame_id = frames.base_link
        self._pose, self._twist = Wire(pose), Wire(twist)
        make = node.create_lifecycle_publisher
        self._topics: dict[str, Any] = {
            'tf': make(TFMessage, '/tf', TF_QOS),
            'tf_static': make(TFMessage, '/tf_static', LATCHED_QOS),
            'robot': make(RobotInfo, '~/robot', LATCHED_QOS),
            'joints': make(JointState, 'joint_states', STATE_QOS),
            'markers': make(MarkerArray, '~/markers', STATE_QOS),
            'backbone': make(Backbone, '~/backbone', STATE_QOS),
            'tip_pose': make(PoseStamped, '~/tip_pose', STATE_QOS),
            'tip_twist': make(TwistStamped, '~/tip_twist', STATE_QOS),
        }
        if clock:
            self._topics['clock'] = make(Clock, '/clock', STATE_QOS)
        self._last_tf = -1

    def publish_fixed(self, stamp: Time, step: float) -> None:
        """Publish what does not move: once is enough, late listeners get it too."""
        self._topics['tf_static'].publish(self._frames.static(stamp))
        self._topics['robot'].publish(robot_info(self._view, self._frames, step))

    def publish_clock(self, nanoseconds: int) -> None:
        """Publish the time, if so asked."""
        if 'clock' in self._topics:
            self._topics['clock'].publish(Clock(clock=time_message(nanoseconds)))

    def publish_joints(self, snapshot: Snapshot, nanoseconds: int) -> None:
        """Publish the actuators at one instant; all stamps are `nanoseconds`."""
        if not self._heard('joints'):
            return
        self._view.go_to(snapshot)
        numbers = np.array([(a.position, a.velocity, a.effort)
                            for a in self._view.actuators().values()])
        if np.isfinite(numbers).all():
            self._send('joints', self._joints, numbers.T, *divmod(nanoseconds, NANO))

    def publish(self, snapshot: Snapshot, nanoseconds: int) -> None:
        """Publish all else of one instant that somebody listens to."""
        heard = {name for name in SHAPE_TOPICS if self._heard(name)}
        if not heard:
            return
        self._view.go_to(snapshot)
        look, stamp = self._view.look(), divmod(nanoseconds, NANO)
        numbers = backbone_numbers(look)
        if not np.isfinite(numbers).all():
            return
        # tf2 complains of two transforms of one instant: simulated time may stand still.
        if 'tf' in heard and nanoseconds != self._last_tf:
            self._topics['tf'].publish(
                self._frames.moving(look.rods.places, look.bodies, *stamp))
            self._last_tf = nanoseconds
        if 'markers' in heard:
            self._publish_markers(look, snapshot.loads, nanoseconds)
        for name, wire, values in (
            ('backbone', self._backbone, numbers),
            ('tip_pose', self._pose, numbers[-13:-6]),
            ('tip_twist', self._twist, numbers[-6:]),
        ):
            if name in heard:
                self._send(name, wire, values, *stamp)

    def _heard(self, topic: str) -> bool:
        """Tell whether somebody listens to a topic."""
        return self._topics[topic].get_subscription_count() > 0

    def _send(self, topic: str, wire: Wire, values: np.ndarray, sec: int, nanosec: int) -> None:
        wire.put(0, values)
        wire.put_stamp(sec, nanosec)
        self._topics[topic].publish(wire.data())

    def _publish_markers(self, look: Look, loads: Mapping[str, Load], nanoseconds: int) -> None:
        efforts = {name: state.effort for name, state in look.actuators.items()}
        self._topics['markers'].publish(self._markers.message(
            look.shape, efforts, look.bodies, *divmod(nanoseconds, NANO)))
        arrows = self._loads.message(
            loads, look.shape, look.bodies, time_message(nanoseconds))
        if arrows is not None:
            self._topics['markers'].publish(arrows)

    def withdraw(self) -> None:
        """Take the topics back."""
        for publisher in self._topics.values():
            self._node.destroy_lifecycle_publisher(publisher)


def mode_of(actuator: Actuator) -> int:
    """Return the constant of ActuatorCommand for what an actuator is told."""
    if actuator.command == 'amount':
        return ActuatorCommand.AMOUNT
    return {'effort': ActuatorCommand.EFFORT, 'position': ActuatorCommand.POSITION,
            'velocity': ActuatorCommand.VELOCITY}[actuator.interface]


def kind_of(actuator: Actuator) -> int:
    """Return the constant of ActuatorInfo for what an actuator is."""
    if isinstance(actuator, JointDrive):
        return ActuatorInfo.TURN if actuator.turns else ActuatorInfo.SLIDE
    return (ActuatorInfo.LEG if isinstance(actuator, Leg)
            else ActuatorInfo.CHAMBER if isinstance(actuator, Chamber)
            else ActuatorInfo.TENDON)


def robot_info(sim: Simulator, frames: RobotFrames, step: float) -> RobotInfo:
    """Return what a robot is, for whoever shows or drives it."""
    robot = sim.robot
    info = RobotInfo(
        name=robot.name, base_frame=frames.base_link, tip_frame=frames.tip, step=step,
        length=max(rod.length for rod in robot.rods.values()))
    for name, actuator in robot.actuators.items():
        lower, upper = actuator.bounds
        info.actuators.append(ActuatorInfo(
            name=name, kind=kind_of(actuator), mode=mode_of(actuator), unit=actuator.unit,
            lower=float(lower), upper=float(upper),
            rate=math.inf if actuator.rate is None else actuator.rate,
            rest=float(sim.rest_command(name))))
    return info
