"""
The node that is the robot: a managed (lifecycle) node around one simulated robot.

Four threads share the work: one steps the simulation, one publishes, one solves what services
ask for, and the executor's hands messages and requests to them. One that steps fast takes commands
by itself.
"""

from __future__ import annotations

from dataclasses import fields
import gc
from pathlib import Path
import sys
from typing import Any, Optional

from ament_index_python.packages import get_package_share_directory
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter as RosParameter
from rclpy.timer import Timer

from ..checks.errors import InvalidModel, UnknownName
from ..description.documents import located, parse
from ..description.robot import load, Robot
from ..description.slips import slips
from ..simulation import simulator
from ..simulation.demonstration import (
    base_path,
    demonstrated_loads,
    demonstration,
    time_scale,
)
from .common.parameters import declare, Parameter
from .common.process import run
from .common.threads import describe
from .simulation.base_motion import BaseMotion, BaseSettings, SOURCES
from .simulation.commands import CommandTopics
from .simulation.diagnostics import Diagnostics, RATE
from .simulation.follow_trajectory import FollowTrajectory
from .simulation.frames import RobotFrames
from .simulation.long_work import LongWork
from .simulation.publishing import Publishing
from .simulation.robot_publisher import RobotPublisher
from .simulation.services import Services
from .simulation.stepping import Demonstration, Stepper

SWITCH_INTERVAL = 2e-4  # [s] that a thread may keep others from Python: a part of a fast step

PARAMETERS = (
    Parameter('robot', 'tendon_arm',
              'YAML file of the robot, or the name of one in share/cosserat_ros/config'),
    Parameter('frame_prefix', '', 'prefix of the name of each frame, e.g. "left/"'),
    Parameter('parent_frame', 'world',
              'frame that base_link is fixed to by the base pose of the robot; empty: none, '
              'something else publishes it'),
    Parameter('base_source', 'none',
              'what moves a base that is driven: "pose" (PoseStamped), "twist" (TwistStamped) or '
              '"odometry" (Odometry) on base_topic; or "tf", base_frame seen from parent_frame',
              choices=('none', *SOURCES)),
    Parameter('base_topic', '~/base', 'topic of the pose, twist or odometry of the base'),
    Parameter('base_frame', 'tool0',
              'for base_source tf: frame of others that base_link is put on; base_link itself '
              'where others publish it'),
    Parameter('base_time_constant', 0.02,
              'of the filter by which the base follows: shorter is closer, longer is smoother [s]',
              range=(1e-3, 10.0)),
    Parameter('base_timeout', 0.2,
              'age of the newest input from which the base slows down, to stand after as long '
              'again; input that is older is rejected [s]', range=(1e-3, 100.0)),
    Parameter('base_jump', 0.1,
              'distance of input from where the last led, beyond which the base is placed there '
              'anew, unfelt by the robot; less is followed [m]', range=(1e-6, 1e6)),
    Parameter('base_jump_angle', 0.5, 'angle, likewise [rad]', range=(1e-6, 10.0)),
    Parameter('stations', 21, 'frames per rod, both ends included [-]', range=(2, 999)),
    Parameter('step_rate', 0.0,
              "time steps per simulated second; 0: by the robot's time.step [Hz]",
              range=(1.0, 10000.0), or_zero=True),
    Parameter('publish_clock', False,
              'publish simulated time on /clock, and stamp all messages with it'),
    Parameter('demonstrate', False,
              'move without commands, within the limits, until commanded or reset; a '
              'gait that is too fast to be seen is shown in slow motion, if time_scale is 1'),
    Parameter('autostart', True, 'configure and activate itself'),
    Parameter('time_scale', 1.0, 'simulated seconds per second; 0: as fast as possible [-]',
              range=(1e-3, 1000.0), or_zero=True, live=True),
    Parameter('publish_rate', 60.0, 'frames, markers and shape per second [Hz]',
              range=(0.1, 1000.0), live=True),
    Parameter('joint_state_rate', 500.0,
              'joint states per second at most; never more than there are steps [Hz]',
              range=(0.1, 1000.0), live=True),
    Parameter('contact_scale', 0.0,
              'length of the arrow of a contact force on ~/markers; 0: the longest is 0.3 of the '
              'robot [m/N]', range=(1e-6, 1e6), or_zero=True, live=True),
    Parameter('command_timeout', 0.0, 'age from which a command is stale; 0: never [s]',
              range=(0.0, 1e6), live=True),
    Parameter('on_timeout', 'hold', 'when a command is stale: "hold" it, or "relax" to rest',
              choices=('hold', 'relax'), live=True),
    Parameter('goal_time', 0.0,
              "of ~/follow_joint_trajectory: simulated time after a trajectory's end within which "
              "the goal's tolerances are to be met, unless the goal says; 0: for ever [s]",
              range=(0.0, 1e6), live=True),
)


class Simulator(LifecycleNode):
    """One continuum robot."""

    def __init__(self) -> None:
        super().__init__('simulator')
        declare(self, PARAMETERS)
        self.add_post_set_parameters_callback(self._apply_parameters)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Optional[Timer] = None
        self._active = False
        self._stepper: Optional[Stepper] = None
        self._work = LongWork(self.get_logger().info)
        sys.setswitchinterval(SWITCH_INTERVAL)

    def start(self) -> bool:
        """Configure and activate, if so asked; tell whether all went well."""
        if not self._value('autostart'):
            return True
        return all(
            transition() == TransitionCallbackReturn.SUCCESS
            for transition in (self.trigger_configure, self.trigger_activate))

    def close(self) -> bool:
        """Stop all threads; tell whether they ended."""
        ended = self._stop() and (self._stepper is None or self._robot_services.close())
        return ended and not self._work.goes_on()

    # --- Lifecycle ------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot, find its equilibrium and offer its topics and services."""
        try:
            self._configure()
        except Exception as error:  # rclpy would drop it without a word
            self.get_logger().fatal(describe(error))
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def _configure(self) -> None:
        path = find_robot(self._value('robot'))
        robot = load(path)
        for slip in slips(robot):
            self.get_logger().warning(str(slip))
        stations, own_time = self._value('stations'), self._value('publish_clock')
        base, parent = BaseSettings(*(
            self._value(f'base_{f.name}') for f in fields(BaseSettings))), self._value(
                'parent_frame')
        base.check(self, robot, parent)
        frames = RobotFrames(robot, self._value('frame_prefix'), parent, stations, base.carrier)
        sim = self._work.do(
            f'making the model of {robot.name}',
            lambda: make_model(path, robot, stations))
        solution = self._work.do(
            f'looking for the equilibrium of {robot.name}, of {sim.solver.z.size} unknowns',
            sim.statics)
        if not solution.converged:
            raise InvalidModel(
                'robot', robot.name, f'one that has an equilibrium at rest ({solution.message})')
        view, other = sim.twin(), sim.twin()
        view.go_to(sim.snapshot())
        rate = self._value('step_rate')
        step = 1.0 / rate if rate else robot.time.step
        publisher = RobotPublisher(self, view, frames, own_time)
        publisher.rehearse(sim.snapshot())
        self._robot, self._publisher = robot, publisher
        self._publishing = Publishing(
            publisher, self._value('publish_rate'), self._value('joint_state_rate'),
            self._report)
        self._stepper = Stepper(
            sim, step, self.get_clock(), own_time, self._publishing.loop.wake, self._report)
        self._apply_parameters([])
        self._commands = CommandTopics(
            self, robot, frames, self._stepper, lambda: self._active)
        self._follow = FollowTrajectory(
            self, self._stepper, lambda: self._active, self._commands.rejected,
            lambda: self._value('goal_time'))
        self._base = None
        if robot.base.motion == 'driven':
            self._base = BaseMotion(
                self, robot, frames, base, self._stepper, lambda: self._active,
                self._commands.rejected)
            self._stepper.lead_base(self._base.motion)
        if self._value('demonstrate'):
            self._demonstrate(sim)
        self._robot_services = Services(
            self, other, frames, self._stepper, lambda: self._active, self._report,
            self._commands.rejected)
        self._diagnostics = Diagnostics(
            self, robot.name, self._stepper, self._commands,
            (self._stepper.loop, self._publishing.loop, self._robot_services.loop), self._base)

    def _demonstrate(self, sim: simulator.Simulator) -> None:
        """Let the robot move by itself."""
        assert self._stepper is not None
        robot = sim.robot
        commands = demonstration(robot, {name: sim.rest_command(name) for name in robot.actuators})
        if commands is not None:
            self._stepper.demonstrate(Demonstration(commands, demonstrated_loads(robot)))
        if self._base is not None:
            self._base.demonstrate(base_path(robot))
        slow = time_scale(robot)
        if slow < 1.0 and self._value('time_scale') == 1.0:
            self.set_parameters([RosParameter('time_scale', value=slow)])
            self.get_logger().info(f'in slow motion: time_scale is {slow:g}')

    def _report(self, text: str) -> None:
        self.get_logger().error(text, throttle_duration_sec=1.0)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to step and to publish, unless those of before have not ended."""
        assert self._stepper is not None
        for part in (self._stepper, self._publishing):
            if not part.stop():
                self.get_logger().error(
                    f'cannot activate: {part.loop.name} has not ended since it was deactivated; '
                    'try again')
                return TransitionCallbackReturn.FAILURE
        result = super().on_activate(state)
        self._publisher.publish_fixed(
            self.get_clock().now().to_msg(), self._stepper.step_size)
        self._active = True
        gc.collect()
        gc.freeze()  # else Python would look through all that is loaded now and then, for 0.1 s
        self._stepper.start()
        self._publishing.start(self._stepper)
        # By the steady clock: a jump of the system's or of simulated time must not stall it.
        self._timer = self.create_timer(1.0 / RATE, self._diagnostics.publish, clock=self._steady)
        self.get_logger().info(f'{self._robot.name} is ready')
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Cease to step and to publish; the state is kept."""
        if not self._stop():
            self.get_logger().warning('the present step, or its publishing, takes long; '
                                      'activation fails until it ends')
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take topics and services back."""
        self._withdraw()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Cease for good."""
        self._stop()
        self._withdraw()
        return super().on_shutdown(state)

    def _stop(self) -> bool:
        self._active = False
        gc.unfreeze()  # so that what is taken back is freed
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        if self._stepper is None:
            return True
        stepped, published = self._stepper.stop(), self._publishing.stop()
        self._follow.deactivate()
        return stepped and published

    def _withdraw(self) -> None:
        if self._stepper is None:
            return
        self._stepper.close()
        self._robot_services.close()
        for part in (self._robot_services, self._commands, self._follow, self._diagnostics,
                     self._publisher, self._base):
            if part is not None:
                part.withdraw()
        self._stepper = None

    # --- Parameters -----------------------------------------------------------------------------

    def _value(self, name: str) -> Any:
        return self.get_parameter(name).value

    def _apply_parameters(self, _: list[RosParameter]) -> None:
        if self._stepper is None:
            return
        self._stepper.set_pace(**{
            name: self._value(name) for name in ('time_scale', 'command_timeout', 'on_timeout')})
        self._publisher.contact_scale = self._value('contact_scale')
        self._publishing.set_rates(self._value('publish_rate'), self._value('joint_state_rate'))


def make_model(path: Path, robot: Robot, stations: int) -> simulator.Simulator:
    """Return a simulator of a robot; raise with the line of its file if there can be none."""
    try:
        return simulator.Simulator(robot, stations=stations)
    except InvalidModel as error:
        raise located(path, parse(path), error) from None


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


def main(args: Optional[list[str]] = None) -> int:
    """Run the node."""
    return run(Simulator, args)
