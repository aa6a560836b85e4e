"""
What the command-line clients share: one question to a running simulator, its answer as text.

Everything that goes wrong is one line on stderr. Exit codes: 0 all is well, 1 there is no answer
or it was rejected, 2 the arguments make no sense, 3 the target is met in part only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import math
import re
import signal
import sys
import time
from typing import Any, NamedTuple, NoReturn, Optional

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from ...checks.errors import CosseratError, UnknownName
from ...msg import ActuatorCommand, ActuatorInfo, Equilibrium, Load, RobotInfo, SolverStatus
from ..page.ranges import SHOWN
from .checked_messages import check_robot
from .complaints import Complaints
from .conversions import xyz
from .hearing import listen
from .process import START_ERRORS
from .qos import LATCHED_QOS
from .service_calls import full_name

FAILED, MISUSED, PARTLY_MET = 1, 2, 3  # exit codes
SOLVED = SolverStatus.CONVERGED, SolverStatus.BEST_EFFORT
PATIENCE = 0.05  # [s] at most until a signal is heeded
DISCOVERY = 0.3  # of the time for an answer, within which a simulator must be found
POSITION_UNITS = {ActuatorInfo.TENDON: 'm', ActuatorInfo.CHAMBER: 'm^3', ActuatorInfo.LEG: 'm',
                  ActuatorInfo.SLIDE: 'm', ActuatorInfo.TURN: 'rad'}
EFFORT_UNITS = {ActuatorInfo.TENDON: 'N', ActuatorInfo.CHAMBER: 'Pa', ActuatorInfo.LEG: 'N',
                ActuatorInfo.SLIDE: 'N', ActuatorInfo.TURN: 'N m', ActuatorInfo.GAIT: '-'}
UNITS = {  # that a value may be given in: the SI unit, and the size in it
    'N': ('N', 1.0), 'Pa': ('Pa', 1.0), 'kPa': ('Pa', 1e3), 'bar': ('Pa', 1e5),
    'm': ('m', 1.0), 'mm': ('m', 1e-3), 'm^3': ('m^3', 1.0), 'ml': ('m^3', 1e-6),
    'mol': ('mol', 1.0), 'mmol': ('mol', 1e-3), 'rad': ('rad', 1.0),
    'deg': ('rad', math.pi / 180.0)}
MODES = {  # kind of actuator: the mode that an SI unit tells
    ActuatorInfo.TENDON: {'N': ActuatorCommand.EFFORT, 'm': ActuatorCommand.POSITION},
    ActuatorInfo.CHAMBER: {'Pa': ActuatorCommand.EFFORT, 'm^3': ActuatorCommand.POSITION,
                           'mol': ActuatorCommand.AMOUNT},
    ActuatorInfo.LEG: {'m': ActuatorCommand.POSITION},
    ActuatorInfo.SLIDE: {'m': ActuatorCommand.POSITION, 'N': ActuatorCommand.EFFORT},
    ActuatorInfo.TURN: {'rad': ActuatorCommand.POSITION}}
NUMBER = r'[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?'


class NoAnswer(CosseratError):
    """There is no answer, for the reason given in one line."""


class OneLineParser(argparse.ArgumentParser):
    """A parser of arguments whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        self.exit(MISUSED, f'{self.prog}: {message} (see --help)\n')


def make_parser(subcommand: str, description: str) -> OneLineParser:
    """Return a parser with the options that all clients have."""
    parser = OneLineParser(
        prog=f'cosserat {subcommand}', description=description,
        epilog='Exit code: 0 success, 1 no answer or rejected, 2 bad arguments, 3 the target '
               'is met in part only.')
    parser.add_argument(
        '--force', nargs=3, type=finite, metavar=('X', 'Y', 'Z'),
        help='a force on the tip in addition to the present loads [N], in the frame to which '
             'base_link is fixed')
    parser.add_argument(
        '--from-rest', action='store_true',
        help='start the search from the unloaded shape, not from the present one')
    parser.add_argument(
        '--node', default='simulator', help='name of the simulator, e.g. /left/simulator')
    parser.add_argument(
        '--timeout', type=positive, default=30.0, metavar='SECONDS',
        help='how long to wait for the answer; a tenth of it for the simulator to be found')
    return parser


def finite(text: str) -> float:
    """Return a number given on the command line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f'must be a finite number, got {text.strip()!r}')
    return value


def positive(text: str) -> float:
    """Return a duration given on the command line."""
    value = finite(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f'must be > 0, got {text.strip()!r}')
    return value


class ActuatorValue(NamedTuple):
    """What an actuator is told on the command line."""

    name: str
    value: float  # in SI units
    unit: str     # as given, or empty


def actuator_value(text: str) -> ActuatorValue:
    """Return what NAME=VALUE says, where VALUE may carry a unit."""
    match = re.fullmatch(rf'\s*([^=\s]+)=({NUMBER})\s*(\S*)', text)
    if match is None or not math.isfinite(1e5 * float(match[2])):
        raise argparse.ArgumentTypeError(
            f'must be NAME=VALUE with a finite number, as tendon_1=3 or chamber_1=20kPa, '
            f'got {text!r}')
    name, number, unit = match.groups()
    if unit and unit not in UNITS:
        raise argparse.ArgumentTypeError(
            f'{text!r} has the unit {unit!r}, must be one of: {", ".join(UNITS)}')
    return ActuatorValue(name, (UNITS[unit][1] if unit else 1.0) * float(number), unit)


def actuator_command(robot: RobotInfo, told: ActuatorValue) -> ActuatorCommand:
    """Return what an actuator of a robot is told; raise `InvalidModel` if it has no such unit."""
    info = next((one for one in robot.actuators if one.name == told.name), None)
    if info is None:
        raise UnknownName('NAME', told.name, [one.name for one in robot.actuators])
    mode = ActuatorCommand.DESCRIBED
    if told.unit:
        modes, dimension = MODES.get(info.kind, {}), UNITS[told.unit][0]
        if dimension not in modes:
            raise UnknownName(f'the unit of {told.name}', told.unit,
                              [unit for unit, (si, _) in UNITS.items() if si in modes])
        mode = modes[dimension]
    return ActuatorCommand(name=told.name, mode=mode, value=told.value)


def tip_loads(force: Optional[Sequence[float]]) -> list[Load]:
    """Return the load of the option --force."""
    if force is None:
        return []
    load = Load(name='force')
    load.wrench.force.x, load.wrench.force.y, load.wrench.force.z = force
    return [load]


class Client(Node):
    """
    A node that asks one simulator.

    Parameters
    ----------
    simulator : str
        Its name, seen from our namespace.
    timeout : float
        How long to wait for an answer [s].

    """

    def __init__(self, name: str, simulator: str, timeout: float) -> None:
        super().__init__(name)
        self.simulator = full_name(self, '--node', simulator)
        self._timeout = timeout
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)
        self._told: list[RobotInfo] = []
        listen(self, RobotInfo, f'{self.simulator}/robot', self._meet_robot, LATCHED_QOS,
               Complaints(self.get_logger().warning))

    def _meet_robot(self, robot: RobotInfo) -> None:
        check_robot(robot)
        self._told.append(robot)

    def wait_for(self, condition: Callable[[], Any], timeout: float) -> bool:
        """Receive until a condition holds; tell whether it does."""
        deadline = time.monotonic() + timeout
        while not condition() and time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=PATIENCE)
        return bool(condition())

    def robot(self) -> RobotInfo:
        """Return what the simulator's robot is, or raise."""
        if not self.wait_for(lambda: self._told, DISCOVERY * self._timeout):
            others = [topic.removesuffix('/robot')
                      for topic, kinds in self.get_topic_names_and_types()
                      if 'cosserat_ros/msg/RobotInfo' in kinds
                      and self.get_publishers_info_by_topic(topic)]
            found = f'; there is {", ".join(others)}: see --node' if others else ''
            raise NoAnswer(f'no active simulator {self.simulator}{found}')
        return self._told[-1]

    def ask(self, kind: Any, service: str, request: Any) -> Any:
        """Return the response of a service, or raise."""
        client: Any = self.create_client(kind, f'{self.simulator}/{service}')
        if not self.wait_for(client.service_is_ready, DISCOVERY * self._timeout):
            raise NoAnswer(f'{client.service_name} is not there')
        future = client.call_async(request)
        self.wait_for(
            lambda: future.done() or not client.service_is_ready(), self._timeout)
        if not future.done():
            gone = not client.service_is_ready()
            raise NoAnswer(f'{self.simulator} left before it answered' if gone else
                           f'no answer from {client.service_name} for {self._timeout:g} s')
        return future.result()


def run_client(
    name: str, parser: OneLineParser, ask: Callable[[Client, Any], int],
    args: Optional[list[str]],
) -> int:
    """
    Read the command line, ask, and return the exit code.

    Parameters
    ----------
    name : str
        Of the node that asks.
    parser : OneLineParser
    ask : callable
        Takes a client and the parsed arguments; prints the answer and returns the exit code, or
        raises `CosseratError`.
    args : list of str, optional
        Command line with the program's name; that of the process if not given.

    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    words = sys.argv if args is None else args
    try:
        # rclpy's own handlers would end it with an exception, these in silence.
        rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
        # A number is no option, though it may begin with a minus: argparse goes by the blank.
        given = parser.parse_args([
            f' {word}' if re.fullmatch(NUMBER, word) else word
            for word in remove_ros_args(words)[1:]])
        return ask(Client(name, given.node.strip(), given.timeout), given)
    except (*START_ERRORS, NoAnswer) as error:
        print(f'{parser.prog}: {" ".join(str(error).split())}', file=sys.stderr)
        return FAILED
    finally:
        rclpy.try_shutdown()


# --- What is printed -----------------------------------------------------------------------------

def quantity(value: float, unit: str) -> str:
    """Return a value in SI units as text, in a unit that people use."""
    shown, scale = SHOWN.get(unit, (unit, 1.0))
    rounded = round(value / scale, 4) + 0.0  # which is never -0
    return f'{rounded:.6g} {shown}'


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with columns below each other, the first to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        '  '.join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows]


def command_unit(mode: int, info: ActuatorInfo) -> str:
    """Return the unit of a command in a mode of ActuatorCommand."""
    return {ActuatorCommand.DESCRIBED: info.unit, ActuatorCommand.AMOUNT: 'mol',
            ActuatorCommand.VELOCITY: info.unit, ActuatorCommand.EFFORT: EFFORT_UNITS[info.kind],
            ActuatorCommand.POSITION: position_unit(info)}[mode]


def position_unit(info: ActuatorInfo) -> str:
    """Return the unit of where an actuator is."""
    return POSITION_UNITS.get(info.kind, info.unit)


def actuator_table(
    robot: RobotInfo, found: Equilibrium, told: Sequence[ActuatorCommand],
) -> list[str]:
    """Return lines on every actuator; whoever is not `told` anything keeps its command."""
    commands = {one.name: quantity(one.value, command_unit(one.mode, info))
                for one in told for info in robot.actuators if info.name == one.name}
    infos = {info.name: info for info in robot.actuators}
    rows = [('actuator', 'command', 'position', 'effort')]
    for name, position, effort in zip(
            found.actuators.name, found.actuators.position, found.actuators.effort):
        rows.append((name, commands.get(name, 'as it is'),
                     quantity(position, position_unit(infos[name])),
                     quantity(effort, EFFORT_UNITS[infos[name].kind])))
    return table(rows) if len(rows) > 1 else ['no actuators']


def tip_lines(robot: RobotInfo, found: Equilibrium) -> list[str]:
    """Return lines on where the tip is."""
    from scipy.spatial.transform import Rotation  # slow to import, and seldom needed
    position, q = xyz(found.backbone.tip.position), found.backbone.tip.orientation
    xyzw = [q.x, q.y, q.z, q.w]
    angles = Rotation.from_quat(xyzw).as_euler('xyz', degrees=True)
    shown = ['  '.join(f'{round(x, digits) + 0.0:.{digits}f}' for x in values)
             for values, digits in ((1e3 * position, 3), (xyzw, 5), (angles, 2))]
    return [f'{robot.tip_frame} in {robot.base_frame}',
            *(f'  {line}' for line in table([
                ('position', f'{shown[0]} mm'), ('quaternion x y z w', shown[1]),
                ('roll pitch yaw', f'{shown[2]} deg')]))]


def print_answer(
    robot: RobotInfo, status: SolverStatus, found: Equilibrium, told: Sequence[ActuatorCommand],
) -> None:
    """Print an equilibrium and how it was found, or raise `NoAnswer` where there is none."""
    if status.code not in SOLVED:
        raise NoAnswer(status.message or f'no equilibrium found, status {status.code}')
    state = 'stable' if found.stable else 'NOT STABLE'
    lines = [
        f'{robot.name}: {state}, margin {found.stability_margin:.3g} of the stiffness at rest',
        '', *actuator_table(robot, found, told), '', *tip_lines(robot, found), '',
        f'solved in {1e3 * status.solve_time:.1f} ms: {status.iterations} iterations, residual '
        f'{status.residual:.1e}']
    print('\n'.join(lines))
