"""
The node that is the robot: a managed (lifecycle) node around one robot description.

It publishes the robot at rest, free of loads: forces and motion come with the engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ament_index_python.packages import get_package_share_directory
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter as RosParameter
from rclpy.timer import Timer
from sensor_msgs.msg import JointState

from ..errors import CosseratError, UnknownName
from ..robot import load, Robot
from .frames import RobotFrames
from .parameters import declare, Parameter
from .process import run
from .robot_publisher import RobotPublisher

PARAMETERS = (
    Parameter('robot', 'tendon_arm',
              'YAML file of the robot, or the name of one in share/cosserat_ros/config'),
    Parameter('frame_prefix', '', 'put before the name of each frame, e.g. "left/"'),
    Parameter('parent_frame', 'world',
              'frame that base_link is fixed to by the base pose of the robot; empty: none, '
              'something else publishes it'),
    Parameter('stations', 21, 'frames per rod, both ends included [-]', range=(2, 999)),
    Parameter('publish_rate', 60.0, 'frames, markers, joints and shape per second [Hz]',
              range=(0.1, 1000.0), live=True),
    Parameter('autostart', True, 'configure and activate without being asked'),
)


class Simulator(LifecycleNode):
    """One continuum robot."""

    def __init__(self) -> None:
        super().__init__('simulator')
        declare(self, PARAMETERS)
        self.add_post_set_parameters_callback(self._apply_parameters)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Optional[Timer] = None

    def start(self) -> bool:
        """Configure and activate, if so asked; tell whether all went well."""
        if not self._value('autostart'):
            return True
        return all(
            transition() == TransitionCallbackReturn.SUCCESS
            for transition in (self.trigger_configure, self.trigger_activate))

    # --- Lifecycle ------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot and offer its topics."""
        try:
            self._configure()
        except Exception as error:  # rclpy would drop it without a word
            known = isinstance(error, CosseratError)
            reason = str(error) if known else f'{type(error).__name__}: {error}'
            self.get_logger().fatal(' '.join(reason.split()))
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def _configure(self) -> None:
        self._robot = load(find_robot(self._value('robot')))
        stations = self._value('stations')
        frames = RobotFrames(
            self._robot, self._value('frame_prefix'), self._value('parent_frame'), stations)
        self._shape = self._robot.rest_shape(stations)
        self._joints = joints_at_rest(self._robot)
        self._publisher = RobotPublisher(self, self._robot, frames, self._shape)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to publish."""
        result = super().on_activate(state)
        self._publisher.publish_fixed(self._now())
        self._start_timer(self._value('publish_rate'))
        self.get_logger().info(f'{self._robot.name} is up')
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Cease to publish."""
        self._stop_timer()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take the topics back."""
        self._publisher.withdraw()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Cease for good."""
        self._stop_timer()
        return super().on_shutdown(state)

    # --- Timing and parameters ------------------------------------------------------------------

    def _now(self):
        return self.get_clock().now().to_msg()

    def _value(self, name: str):
        return self.get_parameter(name).value

    def _start_timer(self, rate: float) -> None:
        # By the steady clock: a jump of the system's or of simulated time must not stall it.
        self._stop_timer()
        self._timer = self.create_timer(1.0 / rate, self._publish, clock=self._steady)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None

    def _publish(self) -> None:
        self._publisher.publish(self._shape, self._joints, self._now())

    def _apply_parameters(self, parameters: list[RosParameter]) -> None:
        for parameter in parameters:
            if parameter.name == 'publish_rate' and self._timer is not None:
                self._start_timer(parameter.value)


def find_robot(name: str) -> Path:
    """Return the file of a robot, given its path or the name of a shipped one."""
    if '/' in name or name.endswith(('.yaml', '.yml')):
        return Path(name).expanduser()
    folder = Path(get_package_share_directory('cosserat_ros')) / 'config'
    path = folder / f'{name}.yaml'
    if not path.is_file():
        shipped = sorted(p.stem for p in folder.glob('*.yaml'))
        raise UnknownName('parameter robot, where not the path of a .yaml file,', name, shipped)
    return path


def joints_at_rest(robot: Robot) -> JointState:
    """Return the state of all actuators of a robot at rest, free of effort."""
    names = list(robot.actuators)
    zeros = [0.0] * len(names)
    positions = [robot.rest_position(name) for name in names]
    return JointState(name=names, position=positions, velocity=zeros, effort=zeros)


def main(args: Optional[list[str]] = None) -> int:
    """Run the node."""
    return run(Simulator, args)
