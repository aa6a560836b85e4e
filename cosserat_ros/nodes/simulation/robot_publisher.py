"""All that a node publishes about a robot: frames, markers, joints, shape."""

from __future__ import annotations

from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from ...description.parts import Actuator, Chamber, Leg
from ...description.robot import RodShape
from ...msg import ActuatorCommand, ActuatorInfo, Backbone, RobotInfo
from ...simulation.simulator import ActuatorState, Simulator, Snapshot
from ..common.conversions import backbone_numbers, make_backbone, pose_numbers, time_message
from .frames import RobotFrames
from .markers import LoadMarkers, RobotMarkers
from .wire import Wire

# As tf2's own broadcasters have it, so that every listener matches.
TF_QOS = QoSProfile(depth=100)
LATCHED_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Reliable, which best-effort listeners (SensorData) match as well.
STATE_QOS = QoSProfile(depth=10)


class Shown(NamedTuple):
    """A robot at one instant, as it is published."""

    shape: dict[str, RodShape]
    wrenches: dict[str, np.ndarray]  # (M, 6) of stations, body frame
    twists: dict[str, np.ndarray]    # (M, 6)
    tip: np.ndarray                  # (4, 4)
    tip_twist: np.ndarray            # (6,)
    actuators: dict[str, ActuatorState]


def shown(sim: Simulator) -> Shown:
    """Return what a simulator's robot looks like now."""
    shape = sim.shape()
    return Shown(shape, sim.internal_wrenches(), sim.twists(shape), sim.tip_pose(),
                 sim.tip_twist(), sim.actuators())


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
        self._view.go_to(snapshot)
        states = self._view.actuators().values()
        numbers = np.array([(a.position, a.velocity, a.effort) for a in states])
        if not np.isfinite(numbers).all():
            return
        self._joints.put(0, numbers.T)
        self._joints.put_stamp(*divmod(nanoseconds, 1_000_000_000))
        self._topics['joints'].publish(self._joints.data())

    def publish(self, snapshot: Snapshot, nanoseconds: int) -> None:
        """Publish all else of one instant."""
        self._view.go_to(snapshot)
        now, stamp = shown(self._view), divmod(nanoseconds, 1_000_000_000)
        numbers = backbone_numbers(now.shape, now.wrenches, now.twists, now.tip, now.tip_twist)
        if not np.isfinite(numbers).all():
            return
        # tf2 complains of two transforms of one instant: simulated time may stand still.
        if nanoseconds != self._last_tf:
            self._topics['tf'].publish(self._frames.moving(now.shape, *stamp))
            self._last_tf = nanoseconds
        efforts = {name: state.effort for name, state in now.actuators.items()}
        self._topics['markers'].publish(self._markers.message(now.shape, efforts, *stamp))
        arrows = self._loads.message(snapshot.loads, now.shape, time_message(nanoseconds))
        if arrows is not None:
            self._topics['markers'].publish(arrows)
        for name, wire, values in (
            ('backbone', self._backbone, numbers),
            ('tip_pose', self._pose, pose_numbers(now.tip[None])),
            ('tip_twist', self._twist, now.tip_twist),
        ):
            wire.put(0, values)
            wire.put_stamp(*stamp)
            self._topics[name].publish(wire.data())

    def withdraw(self) -> None:
        """Take the topics back."""
        for publisher in self._topics.values():
            self._node.destroy_lifecycle_publisher(publisher)


def mode_of(actuator: Actuator) -> int:
    """Return the constant of ActuatorCommand for what an actuator is told."""
    if actuator.command == 'amount':
        return ActuatorCommand.AMOUNT
    return (ActuatorCommand.EFFORT if actuator.interface == 'effort'
            else ActuatorCommand.POSITION)


def robot_info(sim: Simulator, frames: RobotFrames, step: float) -> RobotInfo:
    """Return what a robot is, for whoever shows or drives it."""
    robot = sim.robot
    info = RobotInfo(
        name=robot.name, base_frame=frames.base_link, tip_frame=frames.tip, step=step,
        length=max(rod.length for rod in robot.rods.values()))
    for name, actuator in robot.actuators.items():
        lower, upper = actuator.bounds
        rate = actuator.limits.rate if actuator.limits else None
        kind = (ActuatorInfo.LEG if isinstance(actuator, Leg)
                else ActuatorInfo.CHAMBER if isinstance(actuator, Chamber)
                else ActuatorInfo.TENDON)
        info.actuators.append(ActuatorInfo(
            name=name, kind=kind, mode=mode_of(actuator), unit=actuator.unit, lower=float(lower),
            upper=float(upper), rate=float('inf') if rate is None else float(rate),
            rest=float(sim.rest_command(name))))
    return info
