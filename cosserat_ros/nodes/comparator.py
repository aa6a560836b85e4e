"""
The node that compares a real robot with the simulated one, while both move or from a recording.

It lines the two up in time and in space, tells how far they are apart, and draws the real robot
beside the simulated one.
"""

from __future__ import annotations

import math
import time
from typing import Any, Optional

from diagnostic_msgs.msg import DiagnosticArray, KeyValue
import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from ..checks.errors import CosseratError, InvalidModel
from ..comparison import alignment
from ..comparison.live import IDENTITY, Instant, LiveComparison, Settings
from ..msg import Alignment, Backbone, Comparison
from .common.conversions import nanoseconds, time_message
from .common.hearing import listen, topic_name
from .common.parameters import declare, Parameter
from .common.process import run
from .common.qos import LATCHED_QOS, STATE_QOS
from .common.service_calls import full_name
from .comparing.comparison_messages import alignment_message, comparison_message, diagnosis
from .comparing.ghost import Ghost
from .comparing.joints import FORWARDED, Forwarding, JointErrors
from .comparing.marker_places import check_shape, layout, MarkerPlaces, read_places
from .comparing.measurements import KINDS, Measurements, moved, SENSOR_QOS, SIMULATED_QOS

PARAMETERS = (
    Parameter('simulator', 'simulator', 'node that is the simulated robot, seen from our '
              'namespace'),
    Parameter('measured_as', 'pose', 'how the real robot is measured: "pose", a topic with '
              'PoseStamped for each marker; "pose_array", one topic with PoseArray; "frames", '
              'frames of /tf', choices=KINDS),
    Parameter('measured', 'real/tip_pose', 'topics, or frames, with blanks between'),
    Parameter('arc_lengths', 'tip', 'where each marker is, with blanks between: an arc length '
              '[m], with its rod as rod:0.1 where there are several, or "tip"; the last one '
              'counts as the tip'),
    Parameter('orientations', False, 'compare orientations too: they are measured along the axes '
              "of the robot's frames"),
    Parameter('stamps', 'header', 'when something was measured: by its "header", or by its '
              '"arrival"', choices=('header', 'arrival')),
    Parameter('joint_states', 'real/joint_states', "the real robot's joints"),
    Parameter('forward', 'nothing', 'what commands the simulated robot: the commands of the real '
              'one, as "commands" (Float64MultiArray) or "joint_commands" (JointState), or the '
              'measured motion of its actuators, "joint_states"', choices=FORWARDED),
    Parameter('forwarded', 'real/commands', 'topic of the commands that are forwarded'),
    Parameter('alignment', 'known', 'where the real robot is: "known", by the six parameters '
              'that follow; by "tf"; or estimated from the motion, as "rigid" or "scaled"',
              choices=('known', 'tf', 'rigid', 'scaled')),
    *(Parameter(axis, 0.0, 'of the frame of the measurements, seen from base_link [m]',
                range=(-1000.0, 1000.0)) for axis in ('x', 'y', 'z')),
    *(Parameter(angle, 0.0, 'of that frame, about the fixed axes x, y, z of base_link in this '
                'order [rad]', range=(-10.0, 10.0)) for angle in ('roll', 'pitch', 'yaw')),
    Parameter('measuring_frame', 'world', 'frame that measured frames are seen from; '
              'with alignment "tf", base_link is'),
    Parameter('find_delay', True, 'estimate the delay of the real robot after the simulated one'),
    Parameter('delay', 0.0, 'that delay, or a guess of it [s]', range=(-100.0, 100.0)),
    Parameter('longest_delay', 0.5, 'by how much the guess may be off, either way; less than half '
              'the period of a motion that repeats itself [s]', range=(1e-3, 100.0)),
    Parameter('span', 10.0, 'time over which delay and placement are estimated [s]',
              range=(0.1, 1000.0)),
    Parameter('longest_gap', 0.1, 'time between samples over which is interpolated [s]',
              range=(1e-3, 10.0)),
    Parameter('window', 10.0, 'time over which RMSE and maximum are taken [s]',
              range=(0.01, 10000.0)),
    Parameter('rate', 100.0, 'comparisons per second of measured time, at most [Hz]',
              range=(0.1, 1000.0)),
    Parameter('warn_percent', 5.0, "RMSE of tip or shape, as a part of the robot's length, from "
              'which diagnostics warn [%]', range=(0.0, 1e6), live=True),
    Parameter('error_percent', 10.0, 'and from which they report an error [%]', range=(0.0, 1e6),
              live=True),
    Parameter('silence', 1.0, 'time without a measurement, or a simulated shape, from which '
              'diagnostics say so [s]', range=(0.01, 1000.0), live=True),
)
GHOST_PERIOD = 1.0 / 30.0  # [s] between drawings
SUPERVISION_PERIOD = 1.0   # [s] between diagnostics, and at most between estimates


class Comparator(Node):
    """Compares two robots."""

    def __init__(self) -> None:
        super().__init__('comparator')
        declare(self, PARAMETERS)
        self._simulator = full_name(self, 'parameter simulator', self._value('simulator'))
        self._wanted = read_places(self._value('arc_lengths'))
        self._by_tf = self._value('alignment') == 'tf'
        self._settings = self._read_settings()
        self._comparison: Optional[LiveComparison] = None
        self._places: Optional[MarkerPlaces] = None
        self._drawn = -math.inf       # [s] of the monotonic clock
        self._shape_came = -math.inf                          # likewise
        self._marker_came = [-math.inf] * len(self._wanted)   # likewise, where it was good
        self._fault = ''              # why this cannot go on
        self._joints = JointErrors(self._settings.longest_gap)
        self._comparison_topic = self.create_publisher(Comparison, '~/comparison', STATE_QOS)
        self._alignment_topic = self.create_publisher(Alignment, '~/alignment', LATCHED_QOS)
        self._joint_topic = self.create_publisher(JointState, '~/joint_errors', STATE_QOS)
        self._ghost_topic = self.create_publisher(MarkerArray, '~/ghost', STATE_QOS)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._listen()
        self.create_service(Trigger, '~/realign', self._realign)
        # By the steady clock: simulated time may stand still, or jump.
        self.create_timer(SUPERVISION_PERIOD, self._supervise,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _listen(self) -> None:
        names = self._value('measured').split()
        self._measurements = Measurements(
            self, self._value('measured_as'), names, len(self._wanted),
            '' if self._by_tf else self._value('measuring_frame'),
            self._value('stamps') == 'header', self._see)
        if self._by_tf:
            self._measurements.listen_to_frames()
        space = self._simulator.rpartition('/')[0]
        for kind, topic, take, qos in (
                (Backbone, f'{self._simulator}/backbone', self._see_simulated, SIMULATED_QOS),
                (JointState, f'{space}/joint_states', self._joints.simulate, SIMULATED_QOS),
                (JointState, self._topic('joint_states'), self._see_joints, SENSOR_QOS)):
            listen(self, kind, topic, take, qos, self._measurements.rejected)
        what, self._forwarding = self._value('forward'), None
        if what != 'nothing':
            topic = 'joint_states' if what == 'joint_states' else 'forwarded'
            self._forwarding = Forwarding(self, what, self._topic(topic), self._simulator)

    def start(self) -> bool:
        """Say what is waited for."""
        self.get_logger().info(f'waiting for {self._simulator}')
        return True

    def _value(self, name: str) -> Any:
        return self.get_parameter(name).value

    def _topic(self, parameter: str) -> str:
        return topic_name(self, f'parameter {parameter}', self._value(parameter))

    def _read_settings(self) -> Settings:
        """Return how to compare, or raise with the parameter's name."""
        names = ('find_delay', 'delay', 'longest_delay', 'span', 'longest_gap', 'window', 'rate',
                 'orientations')
        fit = self._value('alignment')
        try:
            return Settings(fit=fit if fit in ('rigid', 'scaled') else 'known',
                            **{name: self._value(name) for name in names})
        except InvalidModel as error:
            raise InvalidModel(f'parameter {error.field}', error.value, error.allowed) from error

    def _known_place(self) -> alignment.Alignment:
        if self._by_tf:
            return IDENTITY
        turn = Rotation.from_euler('xyz', [self._value(a) for a in ('roll', 'pitch', 'yaw')])
        place = np.array([self._value(axis) for axis in ('x', 'y', 'z')])
        return alignment.Alignment(turn.as_matrix(), place, 1.0, 0.0, 0.0, 0.0)

    # --- What comes in --------------------------------------------------------------------------

    def _see_simulated(self, message: Backbone) -> None:
        """Take a shape of the simulated robot; begin, if it is the first or of another robot."""
        check_shape(message)
        if self._places is None or self._places.layout != layout(message):
            try:
                self._begin(message)
            except CosseratError as error:
                if self._places is not None:  # they fit a robot, but not this one
                    raise
                self._fault = str(error)
                return
        assert self._places is not None and self._comparison is not None
        stamp = 1e-9 * nanoseconds(message.header.stamp)
        self._shape_came = time.monotonic()
        self._comparison.simulate(stamp, self._places.poses(message))
        self._ghost.simulate(stamp, message)
        self._compare()

    def _begin(self, message: Backbone) -> None:
        self._places = MarkerPlaces(self._wanted, message)
        self._comparison = LiveComparison(
            len(self._wanted), self._places.length, self._settings, self._known_place())
        self._ghost = Ghost(self._places)
        self.get_logger().info(
            f'comparing {len(self._wanted)} markers with {self._simulator}, '
            f'{self._places.length:g} m long')

    def _see(self, marker: int, when: float, frame: str, pose: np.ndarray) -> None:
        """Take a measured pose of a marker."""
        if self._comparison is None or self._places is None:
            return
        if self._by_tf and np.isfinite(pose).all():
            there = self._measurements.tree.pose(frame, self._places.base_frame)
            if there is None:
                self._measurements.rejected.add(
                    '/tf', f'{frame!r} is not connected to {self._places.base_frame!r}')
                return
            pose = moved(there, pose)
        if self._comparison.measure(marker, when, pose):
            self._marker_came[marker] = time.monotonic()
            if self._comparison.due:
                self._line_up()
        if marker == len(self._wanted) - 1:
            self._compare()

    def _see_joints(self, message: JointState) -> None:
        stamp = nanoseconds(message.header.stamp)
        if self._value('stamps') == 'arrival':
            stamp = self.get_clock().now().nanoseconds
        self._joints.measure(1e-9 * stamp, message)
        if self._value('forward') == 'joint_states':
            assert self._forwarding is not None
            self._forwarding.take(message)

    # --- What comes out -------------------------------------------------------------------------

    def _compare(self) -> None:
        """Publish all that can be compared by now."""
        assert self._comparison is not None and self._places is not None
        delay = self._comparison.present_delay
        for instant in self._comparison.compare():
            self._comparison_topic.publish(
                comparison_message(self._comparison, self._places, instant))
            self._draw(instant, delay)
        for errors in self._joints.compare(delay):
            self._joint_topic.publish(errors)

    def _draw(self, instant: Instant, delay: float) -> None:
        now = time.monotonic()
        if now - self._drawn >= GHOST_PERIOD:
            self._drawn = now
            self._ghost_topic.publish(self._ghost.markers(
                instant, delay, time_message(round(1e9 * instant.time))))

    def _supervise(self) -> None:
        """Line the robots up anew, and say how it is."""
        if self._fault:
            raise CosseratError(self._fault)
        now = self.get_clock().now().to_msg()
        if self._comparison is not None:
            self._line_up()
        since = time.monotonic() - self._value('silence')
        status = diagnosis(
            self._comparison, self._shape_came < since,
            [k for k, came in enumerate(self._marker_came) if came < since],
            (self._value('warn_percent'), self._value('error_percent')))
        status.name = f'{self.get_fully_qualified_name()}: comparison'
        status.hardware_id = self._simulator
        rejected = [self._measurements.rejected]
        if self._forwarding is not None:
            rejected.append(self._forwarding.rejected)
        status.values += [KeyValue(key=key, value=str(value)) for key, value in (
            ('rejected messages', sum(one.count for one in rejected)),
            ('last rejection', next((one.last for one in rejected if one.last), '')),
            ('forwarded commands', self._forwarding.count if self._forwarding else 0))]
        message = DiagnosticArray(status=[status])
        message.header.stamp = now
        self._diagnostics.publish(message)

    def _line_up(self) -> None:
        assert self._comparison is not None and self._places is not None
        if self._comparison.line_up():
            self._say_how_they_lie()
        self._alignment_topic.publish(alignment_message(
            self._comparison, self._places, self.get_clock().now().to_msg()))

    def _say_how_they_lie(self) -> None:
        assert self._comparison is not None
        delay, placement = self._comparison.delay, self._comparison.placement
        words = []
        if delay is not None:
            words.append(f'the real robot comes {1e3 * delay.value:.1f} ms after the simulated '
                         f'one, +- {1e3 * delay.uncertainty:.1f} ms')
        if placement is not None and self._settings.fit != 'known':
            words.append(f'it is placed with {1e3 * placement.residual:.2f} mm RMS left'
                         + (', and stays so' if self._comparison.placement_kept else ''))
        self.get_logger().info('; '.join(words))

    def _realign(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Find the place of the real robot anew."""
        if self._settings.fit == 'known':
            response.message = ('the placement of the real robot is given: parameter alignment is '
                                f'{self._value("alignment")}')
        elif self._comparison is None:
            response.message = f'no message from {self._simulator} yet'
        else:
            self._comparison.place_again()
            response.success = True
            response.message = 'the placement of the real robot is estimated again from now on'
        return response


def main(args: Optional[list[str]] = None) -> int:
    """Run the node."""
    return run(Comparator, args)
