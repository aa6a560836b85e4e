"""What a robot is told by topics: checked before it is used, rejected as a whole if invalid."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
import threading
from typing import Any, Optional

from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ...checks.errors import CosseratError, InvalidModel, UnknownName
from ...description.robot import Robot
from ...simulation.simulator import check_commands, check_wrench, Load, pose_at, Simulator
from ..common.complaints import Complaints
from ..common.conversions import wrench_array
from ..common.hearing import listen, Polled
from ..common.limits import check_count
from ..common.threads import describe
from .frames import RobotFrames
from .stepping import Stepper
from .trajectory import Pursuit

# Of JointState. ros2_control may command each by a hardware of its own, all in one cycle.
INTERFACES = 'position', 'velocity', 'effort'
TOPIC_LOAD = 'wrench:'  # before the frame: how a load of the topic is named


class NotActive(CosseratError):
    """The robot takes nothing at present."""


class CommandTopics:
    """
    The topics that a robot listens to.

    Parameters
    ----------
    node : LifecycleNode
    robot : Robot
    frames : RobotFrames
    stepper : Stepper
    active : callable
        Tells whether the node is; if not, all is rejected.

    """

    def __init__(
        self, node: LifecycleNode, robot: Robot, frames: RobotFrames, stepper: Stepper,
        active: Callable[[], bool],
    ) -> None:
        self._node, self._robot, self._frames, self._stepper = node, robot, frames, stepper
        self._active = active
        self.rejected = Complaints(node.get_logger().warning)
        self._lock = threading.Lock()
        self._wrenches: dict[str, Load] = {}  # not yet taken over, by frame
        self._asked: Optional[Future] = None  # to take them over
        self._polled = polled = Polled(node)
        self._subscriptions = [
            listen(node, kind, topic, self._if_active(take), QoSProfile(depth=depth),
                   self.rejected, taker)
            for kind, topic, take, depth, taker in (
                (Float64MultiArray, '~/commands', self._take_array, 10, polled),
                (JointState, 'joint_commands', self._take_joints, len(INTERFACES), polled),
                # No step is to wait while these are read, or for their errand.
                (JointTrajectory, '~/joint_trajectory', self._take_trajectory, 10, None),
                (WrenchStamped, '~/wrench', self._take_wrench, 10, None),
            )]
        stepper.hear_by(polled.poll)

    def withdraw(self) -> None:
        """Listen no longer."""
        self._polled.withdraw()
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _if_active(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        def taken(message: Any) -> None:
            if not self._active():
                raise NotActive('the simulator is not active')
            take(message)
        return taken

    def _take_array(self, message: Float64MultiArray) -> None:
        names = list(self._robot.actuators)
        data = message.data[message.layout.data_offset:]
        if len(data) != len(names):
            raise InvalidModel(
                'data', data.tolist(), f'{len(names)} numbers, of {", ".join(names) or "nothing"}')
        self._stepper.command(check_commands(self._robot, dict(zip(names, data))))

    def _take_joints(self, message: JointState) -> None:
        self._stepper.command(joint_commands(self._robot, message))

    def _take_trajectory(self, message: JointTrajectory) -> None:
        self._stepper.follow(Pursuit(*self._stepper.read(message)))

    def _take_wrench(self, message: WrenchStamped) -> None:
        frame = message.header.frame_id
        place = self._frames.place(frame)
        wrench = check_wrench(wrench_array(message.wrench))
        with self._lock:
            self._wrenches[frame] = Load(wrench, **place._asdict())
            if self._asked is None or self._asked.cancelled():  # one errand for a whole flood
                self._asked = self._stepper.ask(self._apply_wrenches)
                self._asked.add_done_callback(self._hear_of_wrenches)

    def _hear_of_wrenches(self, asked: Future) -> None:
        """Count wrenches that were rejected only when they were to act."""
        error = None if asked.cancelled() else asked.exception()
        if error is not None:
            self.rejected.add('~/wrench', describe(error))

    def _apply_wrenches(self, sim: Simulator) -> None:
        with self._lock:
            wrenches, self._wrenches, self._asked = self._wrenches, {}, None
        loads = sim.named_loads
        for frame, load in wrenches.items():
            name = TOPIC_LOAD + frame
            loads.pop(name, None)
            if load.wrench.any():
                try:
                    check_count('loads', len(loads) + 1)
                except InvalidModel as error:  # it takes no other one with it
                    self.rejected.add('~/wrench', str(error))
                    continue
                R = rotation_at(sim, load)
                turned = np.concatenate([R @ load.wrench[:3], R @ load.wrench[3:]])
                loads[name] = load._replace(wrench=turned)
        self._stepper.set_loads(loads)


def rotation_at(sim: Simulator, load: Load) -> np.ndarray:
    """Return the attitude of the frame that a load acts at, seen from base_link at the start."""
    g = pose_at(sim, load.rod, load.at, sim.body_of(load)) @ load.offset
    return g[:3, :3]


def joint_commands(robot: Robot, message: JointState) -> dict[str, float]:
    """
    Return what a JointState tells the actuators that it names, or raise.

    Each takes the array of its interface, position or effort. The other arrays do not count, but
    none may be half filled.
    """
    names = list(message.name)
    for name in names:
        if name not in robot.actuators:
            raise UnknownName('name', name, list(robot.actuators))
    if not names or len(set(names)) < len(names):
        raise InvalidModel('name', names, 'names of actuators, each once')
    for field in INTERFACES:
        if len(getattr(message, field)) not in (0, len(names)):
            raise InvalidModel(
                field, list(getattr(message, field)), f'none or {len(names)} numbers')
    commands: dict[str, Optional[float]] = {}
    for k, name in enumerate(names):
        interface = robot.actuators[name].interface
        values = getattr(message, interface)
        if not len(values):
            raise InvalidModel(interface, [], f'given: {name} is commanded by it')
        commands[name] = values[k]
    return check_commands(robot, commands)
