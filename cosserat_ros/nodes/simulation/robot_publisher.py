"""All that a node publishes about a robot: frames, markers, joints, shape."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from rclpy.lifecycle import LifecycleNode
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from ...checks.errors import InvalidModel
from ...description.gaits import GaitDrive
from ...description.joints import JointDrive
from ...description.parts import Actuator, Chamber, Leg
from ...msg import ActuatorCommand, ActuatorInfo, Backbone, Contacts, Obstacles, RobotInfo
from ...simulation.contacts import contacts_of
from ...simulation.passive_joints import PassiveJoints
from ...simulation.simulator import Load, Look, Simulator, Snapshot
from ...simulation.urdf import urdf
from ..common.conversions import backbone_numbers, make_backbone, NANO, time_message
from ..common.qos import LATCHED_QOS, STATE_QOS, TF_QOS
from .contact_messages import ContactMarkers, ContactMessages
from .frames import RobotFrames
from .markers import LoadMarkers, RobotMarkers
from .obstacle_markers import ObstacleMarkers
from .obstacle_messages import ObstacleReader
from .wire import Wire

# Of the same instants.
SHAPE_TOPICS = 'tf', 'markers', 'backbone', 'tip_pose', 'tip_twist', 'contacts'
NO_TIME = -1  # [ns]


class RobotPublisher:
    """
    The topics of one robot.

    Parameters
    ----------
    node : LifecycleNode
        Whose publishers they are; they are silent until it is active.
    view : Simulator
        Another instance of the one whose snapshots are published, with as many stations; at rest
        now, as robot_description has it.
    frames : RobotFrames
    clock : bool
        Whether to publish /clock.

    """

    def __init__(
        self, node: LifecycleNode, view: Simulator, frames: RobotFrames, clock: bool,
    ) -> None:
        self._node, self._view, self._frames = node, view, frames
        robot, shape = view.robot, view.shape()
        self._passive = PassiveJoints(view)
        names = [*robot.actuators, *self._passive.names]
        zeros = [0.0] * len(names)
        self._joints = Wire(JointState(
            name=names, position=zeros, velocity=zeros, effort=zeros))
        self._markers = RobotMarkers(robot, shape, frames.base_link)
        self._loads = LoadMarkers(robot, frames.base_link)
        length = max(rod.length for rod in robot.rods.values())
        self._obstacles = ObstacleMarkers(frames.base_link, length)
        self._arrows = ContactMarkers(frames.base_link, length)
        self._contacts = ContactMessages(frames.base_link)
        self._reader = ObstacleReader(robot, frames)
        self._told_obstacles: Mapping[str, Any] | None = None
        self.contact_scale = 0.0  # of arrows [m/N], see `ContactMarkers`
        self._backbone = Wire(make_backbone(shape, frames.base_link))
        pose, twist = PoseStamped(), TwistStamped()
        pose.header.frame_id = twist.header.frame_id = frames.base_link
        self._pose, self._twist = Wire(pose), Wire(twist)
        make = node.create_lifecycle_publisher
        self._topics: dict[str, Any] = {
            'tf': make(TFMessage, '/tf', TF_QOS),
            'tf_static': make(TFMessage, '/tf_static', LATCHED_QOS),
            'robot': make(RobotInfo, '~/robot', LATCHED_QOS),
            'description': make(String, 'robot_description', LATCHED_QOS),
            'joints': make(JointState, 'joint_states', STATE_QOS),
            'markers': make(MarkerArray, '~/markers', STATE_QOS),
            'backbone': make(Backbone, '~/backbone', STATE_QOS),
            'contacts': make(Contacts, '~/contacts', STATE_QOS),
            'obstacles': make(Obstacles, '~/obstacles_state', LATCHED_QOS),
            'tip_pose': make(PoseStamped, '~/tip_pose', STATE_QOS),
            'tip_twist': make(TwistStamped, '~/tip_twist', STATE_QOS),
        }
        if clock:
            self._topics['clock'] = make(Clock, '/clock', STATE_QOS)
        self._last_tf: int | None = None
        try:
            self._description = urdf(view)
        except InvalidModel as error:
            self._description = ''
            node.get_logger().warning(f'no robot_description: {error}')

    def rehearse(self, snapshot: Snapshot) -> None:
        """
        Go through all topics while the node is inactive, so that nothing is sent.

        It loads the kernels of all messages: else a fast robot would wait when somebody begins
        to listen.
        """
        self._publish_joints(snapshot, NO_TIME)
        self._publish_shape(snapshot, NO_TIME, set(SHAPE_TOPICS))

    def publish_fixed(self, stamp: Time, step: float) -> None:
        """Publish what does not move: once is enough, late listeners get it too."""
        self._topics['tf_static'].publish(self._frames.static(stamp))
        self._told_obstacles = None
        self._topics['robot'].publish(robot_info(self._view, self._frames, step))
        if self._description:
            self._topics['description'].publish(String(data=self._description))

    def publish_clock(self, nanoseconds: int) -> None:
        """Publish the time, if so asked."""
        if 'clock' in self._topics:
            self._topics['clock'].publish(Clock(clock=time_message(nanoseconds)))

    def publish_joints(self, snapshot: Snapshot, nanoseconds: int) -> None:
        """Publish actuators and passive joints at one instant; the stamp is `nanoseconds`."""
        if self._heard('joints'):
            self._publish_joints(snapshot, nanoseconds)

    def _publish_joints(self, snapshot: Snapshot, nanoseconds: int) -> None:
        self._view.go_to(snapshot)
        numbers = np.array([(a.position, a.velocity, a.effort)
                            for a in self._view.actuators().values()]
                           + self._passive.states())
        if np.isfinite(numbers).all():
            self._send('joints', self._joints, numbers.T, *divmod(nanoseconds, NANO))

    def publish(self, snapshot: Snapshot, nanoseconds: int) -> None:
        """Publish all else of one instant that somebody listens to."""
        if snapshot.obstacles is not self._told_obstacles:
            self._told_obstacles = snapshot.obstacles
            self._topics['obstacles'].publish(
                self._reader.state(snapshot.obstacles, time_message(nanoseconds)))
        heard = {name for name in SHAPE_TOPICS if self._heard(name)}
        if heard:
            self._publish_shape(snapshot, nanoseconds, heard)

    def _publish_shape(self, snapshot: Snapshot, nanoseconds: int, heard: set[str]) -> None:
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
        if heard & {'markers', 'contacts'}:
            self._publish_contacts(heard, *stamp)
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

    def _publish_contacts(self, heard: set[str], sec: int, nanosec: int) -> None:
        """Publish what touches, and obstacles and contact forces as markers."""
        contacts, markers, made = contacts_of(self._view), self._topics['markers'], []
        if 'contacts' in heard:
            message = self._contacts.message(contacts, sec, nanosec)
            if message is not None:
                self._topics['contacts'].publish(message)
        if 'markers' in heard:
            made = self._obstacles.messages(
                self._view, markers.get_subscription_count(), sec, nanosec)
            arrows = self._arrows.message(contacts, self.contact_scale, sec, nanosec)
            made += [] if arrows is None else [arrows]
        for one in made:
            markers.publish(one)

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
            else ActuatorInfo.GAIT if isinstance(actuator, GaitDrive)
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
