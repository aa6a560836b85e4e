"""
The node that moves a robot's tip along a path: an example of a controller in its own loop.

Before it moves it asks for the inverse statics of points on the path, and rejects one that is out
of reach. It goes to the beginning, and then turns the path's velocity, and a part of the error
that it sees, into rates of commands, by the static Jacobian that the simulator gives for the
present equilibrium; what swings is damped (`control.tip_follower`). Whatever breaks the loop - a
simulator that leaves, is reset or stands still - has it begin again.
"""

from __future__ import annotations

import math
import time
from typing import Any, Optional

from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3Stamped
import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import MarkerArray

from ..checks.errors import CosseratError, InvalidModel
from ..checks.fields import check_vector
from ..control.resolved_rate import ResolvedRate, SwingDamper
from ..control.tip_follower import TipFollower
from ..control.tip_path import eased_time, SHAPES, TipPath
from ..msg import ActuatorCommand, ActuatorInfo, RobotInfo, SolverStatus
from ..srv import Linearize, SolveInverseStatics
from .common.checked_messages import check_robot
from .common.complaints import Complaints
from .common.conversions import fill_xyz, nanoseconds, xyz
from .common.hearing import listen
from .common.parameters import declare, Parameter
from .common.process import run
from .common.qos import LATCHED_QOS, STATE_QOS
from .common.service_calls import full_name, ServiceCalls
from .following.path_markers import path_markers
from .following.reach import OutOfReach, Reach
from .page.ranges import slider_range

PARAMETERS = (
    Parameter('simulator', 'simulator', 'node that is the robot, seen from our namespace'),
    Parameter('path', 'circle', 'shape of the path, in a plane parallel to x and y of base_link',
              choices=SHAPES),
    Parameter('centre_x', 0.0, 'middle of the path, seen from base_link [m]',
              range=(-1000.0, 1000.0)),
    Parameter('centre_y', 0.0, 'middle of the path, seen from base_link [m]',
              range=(-1000.0, 1000.0)),
    Parameter('centre_z', 0.0, 'height of the path, for axes "xyz", seen from base_link [m]',
              range=(-1000.0, 1000.0)),
    Parameter('radius', 0.0,
              "of a circle, or half the length of others; 0: an eighth of the robot's length [m]",
              range=(0.0, 1000.0)),
    Parameter('heading', 0.0, 'angle from x to where a circle starts, or others lie along [rad]',
              range=(-10.0, 10.0)),
    Parameter('period', 8.0, 'time for a round [s]', range=(0.1, 10000.0)),
    Parameter('axes', 'xy',
              'coordinates of the tip that are controlled: "xy", for robots that cannot choose '
              'their height; or "xyz"',
              choices=('xy', 'xyz')),
    Parameter('tolerance', 0.002, 'distance from the robot at which a point is out of reach [m]',
              range=(1e-6, 1.0)),
    Parameter('rate', 200.0,
              'commands per second at most; on the path there is one per pose of the tip [Hz]',
              range=(1.0, 1000.0)),
    Parameter('jacobian_rate', 10.0, 'Jacobians asked for per second, at most [Hz]',
              range=(0.1, 1000.0)),
    Parameter('damping', 0.02,
              "of the least squares, as a part of the robot's length per range of a command [-]",
              range=(1e-6, 10.0)),
    Parameter('relaxation', 0.5,
              'rate at which commands that do not move the tip return to rest [1/s]',
              range=(0.0, 100.0)),
    Parameter('gain', 2.0, 'part of the error that is corrected per second, less where poses come '
              'late; 0: open loop [1/s]',
              range=(0.0, 100.0), live=True),
    Parameter('lead', 0.0,
              'time by which the path is followed ahead, for actuators with a lag [s]',
              range=(0.0, 10.0), live=True),
    Parameter('smoothing', 0.15,
              'time constant by which the error is smoothed, so that the gain does not excite '
              'what swings [s]', range=(0.0, 100.0), live=True),
    Parameter('swing_damping', 0.2,
              'damping that is added to the slowest swing, as a part of the critical one, less '
              'where poses come late; 0: none [-]', range=(0.0, 2.0), live=True),
)

FARTHEST = 1e6     # [m], [m/s] that a tip may be away, and fast
SILENCE = 1.0      # [s] without a new pose of the tip, after which the robot is lost
STALE = 3.0        # [s] without a new Jacobian, likewise
OFF_CLOCK = 1.0    # [s] between a stamp and our clock that is no delay any more
APPROACH = 2.0     # [s] at least to the beginning of the path
JUMP = 0.6         # of the radius, that a tip cannot move at once: it was reset
SWING = 2.0        # times the path's speed, or that seen last, that it may have besides
FASTEST_ERROR = 0.2  # of the radius, that the gain makes good at a time
ONSET = 0.25       # of a period until the path goes at its pace
PATIENCE = 10.0    # [s] for an answer
SUPERVISION_RATE = 50.0  # [Hz], also of commands on the way to the path
MARKER_RATE = 10.0       # [Hz]
SWING_SAMPLES = 4.0      # poses of the tip per swing, at least, to damp it
WAITING, ASKING, APPROACHING, FOLLOWING = range(4)


class PathFollower(Node):
    """Leads one robot's tip."""

    def __init__(self) -> None:
        super().__init__('path_follower')
        declare(self, PARAMETERS)
        self._simulator = full_name(self, 'parameter simulator', self._value('simulator'))
        self._robot: Optional[RobotInfo] = None
        self._phase = WAITING
        self._fault = ''                          # why this cannot go on
        self._tip: Optional[np.ndarray] = None
        self._tip_stamp, self._tip_period = 0, 0.02   # [ns]; [s] between poses
        self._tip_age = 0.0                       # [s] by its stamp and our clock, as it came
        self._tip_speed = 0.0                     # [m/s]
        self._highest = 0.0                       # [m] of tips before paths, and straight arms
        self._started, self._turn = 0, 0          # [ns] on the path; rounds since then
        self._squares: list[float] = []           # of errors of this turn [m^2]
        self._asking, self._asked_at = False, 0.0     # for a Jacobian
        self._tip_came = self._tip_moved = -math.inf  # [s] of the monotonic clock
        self._calls = ServiceCalls(self, self._simulator, {
            'linearize': Linearize, 'solve_inverse_statics': SolveInverseStatics})
        self._not_before = 0.0                    # [s] to ask again
        self._commands_topic = self.create_publisher(
            Float64MultiArray, f'{self._simulator}/commands', 10)
        self._error_topic = self.create_publisher(
            Vector3Stamped, '~/tracking_error', STATE_QOS)
        self._marker_topic = self.create_publisher(MarkerArray, '~/markers', STATE_QOS)
        rejected = Complaints(self.get_logger().warning)
        for kind, topic, take, qos in (
                (RobotInfo, 'robot', self._meet_robot, LATCHED_QOS),
                (PoseStamped, 'tip_pose', self._see_tip, STATE_QOS),
                (TwistStamped, 'tip_twist', self._see_twist, STATE_QOS)):
            listen(self, kind, f'{self._simulator}/{topic}', take, qos, rejected)
        self.create_timer(1.0 / SUPERVISION_RATE, self._supervise)
        self.create_timer(1.0 / MARKER_RATE, self._draw)

    def start(self) -> bool:
        """Say what is waited for."""
        self.get_logger().info(f'waiting for {self._simulator}')
        return True

    def _value(self, name: str) -> Any:
        return self.get_parameter(name).value

    # --- What the robot says --------------------------------------------------------------------

    def _meet_robot(self, robot: RobotInfo) -> None:
        """Begin with a robot, or again if its simulator was started again."""
        check_robot(robot)
        if not robot.actuators:
            raise InvalidModel('actuators', [], 'at least one: they move the tip')
        paced = [one.name for one in robot.actuators if one.mode == ActuatorCommand.VELOCITY]
        if paced:
            raise InvalidModel('actuators', paced, 'commanded by position or effort, not velocity')
        spans = [slider_range(one, robot.length) for one in robot.actuators]
        self._robot, self._highest = robot, robot.length
        self._path = TipPath(
            self._value('path'), tuple(self._value(f'centre_{axis}') for axis in 'xyz'),
            self._value('radius') or 0.125 * robot.length, self._value('period'),
            self._value('heading'))
        self._onset = ONSET * self._path.period
        limits = [[getattr(one, name) for one in robot.actuators]
                  for name in ('lower', 'upper', 'rate', 'rest')]
        lower, upper, rate, rest = (np.array(values) for values in limits)
        # Driven joints move the tip at once: what they did against its velocity would be a part of
        # the velocity that is seen next, and the loop would swing up by itself.
        held = np.array([moves_at_once(one) for one in robot.actuators])
        self._control, self._damping_control = (ResolvedRate(
            lower, upper, greatest, rest,
            np.array([(one.high - one.low) * one.scale for one in spans]), robot.length,
            self._value('damping'), self._value('relaxation'))
            for greatest in (rate, np.where(held, 0.0, rate)))
        self._rates = rate
        self._begin(f'{robot.name} is there')

    def _see_tip(self, message: PoseStamped) -> None:
        """Take the tip's pose; say how far it is from where it should have been then."""
        now, tip = time.monotonic(), near('pose.position', message.pose.position)
        stamp, before = nanoseconds(message.header.stamp), self._tip
        passed = 1e-9 * (stamp - self._tip_stamp)
        if 0.0 < passed < SILENCE:
            self._tip_period += 0.1 * (passed - self._tip_period)
        self._tip, self._tip_stamp, self._tip_came = tip, stamp, now
        self._tip_age = 1e-9 * (self.get_clock().now().nanoseconds - stamp)
        if before is None or not np.array_equal(tip, before):
            self._tip_moved = now
        if self._phase != FOLLOWING or before is None:
            return
        jump = float(np.linalg.norm(tip - before))
        pace = 2.0 * math.pi * self._path.radius / self._path.period  # of a circle [m/s]
        swung = SWING * max(pace, self._tip_speed) * passed
        if jump > JUMP * self._path.radius + swung or passed < 0.0:
            self._begin(f'the robot was reset: its tip jumped by {1e3 * jump:.1f} mm')
            return
        self._judge(message, tip)

    def _judge(self, message: PoseStamped, tip: np.ndarray) -> None:
        """Compare the tip with the path at the moment of its pose."""
        elapsed = 1e-9 * (nanoseconds(message.header.stamp) - self._started)
        if elapsed <= 0.0:
            return
        self._follower.see(elapsed, tip, self._value('smoothing'))
        error = self._follower.error
        told = Vector3Stamped(header=message.header)
        fill_xyz(told.vector, error)
        self._error_topic.publish(told)
        turn = int(eased_time(elapsed, self._onset)[0] / self._path.period)
        if turn > self._turn and self._squares:
            rms = math.sqrt(sum(self._squares) / len(self._squares))
            self.get_logger().info(
                f'round {self._turn + 1}: RMS error {1e3 * rms:.3f} mm, at most '
                f'{1e3 * math.sqrt(max(self._squares)):.3f} mm')
            self._squares.clear()
        self._turn = turn
        self._squares.append(float(error @ error))

    # --- To the beginning of the path -----------------------------------------------------------

    def _begin(self, reason: str) -> None:
        """Ask whether the path can be followed, and how to its beginning."""
        self.get_logger().info(reason)
        self._phase = WAITING  # before those who hear that they get no answer look at it
        self._calls.give_up('restarted')

    def _ask(self) -> None:
        """Begin to ask, once there is a tip."""
        assert self._robot is not None and self._tip is not None
        self._phase = ASKING
        self._highest = max(self._highest, float(self._tip[2]))
        lifted = self._value('axes') == 'xy'
        self._reach = Reach(self._path, lifted, self._highest, self._value('tolerance'))
        self._ask_next()

    def _ask_next(self) -> None:
        request = self._reach.request()
        if request is None:
            self._calls.call('linearize', self._linear_request(), self._approach, PATIENCE)
        else:
            self._calls.call('solve_inverse_statics', request, self._take_point, PATIENCE)

    def _take_point(self, answer: Any, fault: str) -> None:
        if answer is None:
            self._lose(fault)
        elif answer.status.code in (SolverStatus.CONVERGED, SolverStatus.BEST_EFFORT):
            try:
                self._reach.take(answer)
            except OutOfReach as error:
                self._fault = str(error)
                return
            self._ask_next()
        elif answer.status.code == SolverStatus.INVALID_REQUEST:
            self._fault = answer.status.message
        else:
            self._lose(answer.status.message)

    def _linear_request(self) -> Linearize.Request:
        return Linearize.Request(at_equilibrium=True, keep_present_loads=True)

    def _approach(self, answer: Any, fault: str) -> None:
        """Go to the beginning of the path, from where the commands are."""
        assert self._robot is not None
        self._take_jacobian(answer, fault)
        if self._phase != ASKING:
            return
        count = len(self._rates)
        here = np.array(check_vector('inputs', [one.value for one in answer.inputs], count))
        there = np.array(check_vector('actuation', self._reach.first_commands, count))
        duration = max(APPROACH, float(2.0 * np.max(np.abs(there - here) / self._rates)))
        self._leg = here, there, duration, self.get_clock().now().nanoseconds
        n_states = len(answer.state)
        state_matrix = check_vector(
            'state_matrix.data', list(answer.state_matrix.data), n_states ** 2)
        damper = SwingDamper(
            np.reshape(state_matrix, (n_states, n_states)),
            2.0 * math.pi / (SWING_SAMPLES * self._tip_period))
        led = np.array([True, True, self._value('axes') == 'xyz'])
        self._follower = TipFollower(
            self._place, led, self._control, self._damping_control, damper, there,
            self._robot.step, FASTEST_ERROR * self._path.radius, self._tip_period)
        self._phase = APPROACHING
        self.get_logger().info(
            f'the path is within reach; at its beginning in {duration:.1f} s')

    def _take_jacobian(self, answer: Any, fault: str) -> None:
        """Take a Jacobian, or begin again if it is none."""
        self._asking = False
        if answer is None or answer.status.code != SolverStatus.CONVERGED:
            self._lose(fault or answer.status.message)
            return
        size = 6 * len(self._rates)
        jacobian = check_vector('jacobian.data', list(answer.jacobian.data), size)
        self._jacobian = np.reshape(jacobian, (6, -1))[:3]
        self._jacobian_came = time.monotonic()

    # --- Along the path -------------------------------------------------------------------------

    def _supervise(self) -> None:
        """Look whether all is well, and do what is next."""
        self._calls.check()
        if self._fault:
            raise CosseratError(self._fault)
        now = time.monotonic()
        if self._phase == WAITING:
            if (self._robot is not None and now > self._not_before
                    and now - self._tip_came < SILENCE):
                self._ask()
        elif now - self._tip_came > SILENCE:
            self._lose(f'no pose of the tip for {SILENCE:g} s')
        elif abs(self._tip_age) > OFF_CLOCK:
            self._lose(f'the stamps of the tip are {self._tip_age:.1f} s '
                       'behind our clock; is use_sim_time as it should be?')
        elif self._phase == APPROACHING:
            self._go_nearer()
        elif self._phase == FOLLOWING:
            self._renew(now)

    def _renew(self, now: float) -> None:
        """Ask for a Jacobian when it is time."""
        if now - self._tip_moved > SILENCE:
            self._lose(f'the robot has stood still for {SILENCE:g} s')
        elif now - self._jacobian_came > STALE:
            self._lose(f'no Jacobian for {STALE:g} s')
        elif not self._asking and now - self._asked_at > 1.0 / self._value('jacobian_rate'):
            self._asking, self._asked_at = True, now
            self._calls.call(
                'linearize', self._linear_request(), self._take_jacobian, PATIENCE)

    def _go_nearer(self) -> None:
        here, there, duration, begun = self._leg
        now = self.get_clock().now().nanoseconds
        x = min(max(1e-9 * (now - begun) / duration, 0.0), 1.0)
        self._send(here + (there - here) * x ** 3 * (10.0 - 15.0 * x + 6.0 * x * x))
        if x < 1.0:
            return
        self._phase, self._started, self._turn = FOLLOWING, now, 0
        self._squares.clear()
        self._tip_moved = self._asked_at = self._jacobian_came = time.monotonic()

    def _see_twist(self, message: TwistStamped) -> None:
        """Move the commands on by what leads the tip along the path; its pose has just come."""
        swing = near('twist.linear', message.twist.linear)
        self._tip_speed = float(np.linalg.norm(swing))
        if self._phase != FOLLOWING or nanoseconds(message.header.stamp) != self._tip_stamp:
            return
        commands = self._follower.step(
            1e-9 * (self.get_clock().now().nanoseconds - self._started), swing, self._jacobian,
            self._value('gain'), self._value('swing_damping'), self._value('smoothing'),
            self._value('lead'), 0.99 / self._value('rate'))
        if commands is not None:
            self._send(commands)

    def _place(self, elapsed: float) -> tuple[np.ndarray, np.ndarray]:
        """Return where the tip is to be, and its velocity, so long after the beginning [s]."""
        along, pace = eased_time(elapsed, self._onset)
        place = self._path.position(along)
        place[2] = self._reach.height(along)
        return place, pace * self._path.velocity(along)

    def _send(self, commands: np.ndarray) -> None:
        self._commands_topic.publish(Float64MultiArray(data=commands.tolist()))

    def _lose(self, reason: str) -> None:
        """Begin again later."""
        if reason == 'restarted':
            return
        self._begin(f'{reason}; waiting')
        self._not_before = time.monotonic() + SILENCE

    def _draw(self) -> None:
        """Show path, wanted point and error."""
        if self._phase not in (APPROACHING, FOLLOWING) or self._robot is None:
            return
        now = self.get_clock().now()
        elapsed = (1e-9 * (now.nanoseconds - self._started) if self._phase == FOLLOWING else 0.0)
        wanted = self._place(max(elapsed, 0.0))[0]
        self._marker_topic.publish(path_markers(
            self._robot, now.to_msg(), self._reach.line(), wanted))


def moves_at_once(actuator: ActuatorInfo) -> bool:
    """Tell whether an actuator moves the tip rigidly, not by forces."""
    return (actuator.kind in (ActuatorInfo.SLIDE, ActuatorInfo.TURN)
            and actuator.mode == ActuatorCommand.POSITION)


def near(field: str, message: Any) -> np.ndarray:
    """Return a Point or a Vector3 that a tip can have, or raise."""
    return np.array(check_vector(field, xyz(message), 3, least=-FARTHEST, most=FARTHEST))


def main(args: Optional[list[str]] = None) -> int:
    """Run the node."""
    return run(PathFollower, args)
