"""
The action ~/follow_joint_trajectory: with feedback, tolerances, cancel and preemption.

As joint_trajectory_controller has them, but for what ROS 2 cannot tell of a goal that is rejected:
why. So a goal that is not valid is accepted and aborted at once, with code and reason in its
result; what the robot follows at that time goes on.

The stepping thread judges each step. All that is sent, is sent by the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
import threading
from typing import Any, NamedTuple, Optional

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode
from trajectory_msgs.msg import JointTrajectoryPoint

from ...checks.errors import InvalidModel
from ...simulation.simulator import Simulator
from ..common.complaints import Complaints
from ..common.conversions import NANO, time_message
from ..common.limits import check_size
from ..common.threads import describe
from .stepping import Stepper
from .tolerances import read_tolerance, read_tolerances, Sample, sample, violation
from .trajectory import holding, Pursuit

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:  # not installed: no action
    FollowJointTrajectory = None

NAME = '~/follow_joint_trajectory'
FEEDBACK_RATE = 20.0  # [Hz], of joint_trajectory_controller's action monitor
NEGLIGIBLE = 1e-9     # [s] by which an instant may differ from itself, by rounding


class Progress(NamedTuple):
    """How far a goal is."""

    elapsed: float               # since its start [s]
    stamp: int                   # [ns]
    samples: dict[str, Sample]


class Outcome(NamedTuple):
    """How a goal ended."""

    status: str  # 'succeed', 'abort' or 'canceled', methods of a goal's handle
    code: int
    text: str


class Goal(Pursuit):
    """
    A goal that is valid.

    Parameters
    ----------
    stepper : Stepper
    request : FollowJointTrajectory.Goal
    goal_time : float
        How long after its end it may take to be within the goal's tolerances, unless the goal
        says; 0: for ever [s].
    ended : callable
        Called when it has an outcome, by the thread that knows.

    """

    def __init__(
        self, stepper: Stepper, request: Any, goal_time: float, ended: Callable[[Goal], None],
    ) -> None:
        check_goal(request)
        self.robot, trajectory = stepper.robot, request.trajectory
        super().__init__(*stepper.read(trajectory))
        given = np.array([seconds(point.time_from_start) for point in trajectory.points])
        self._given = given + (self.trajectory.times[-1] - given[-1])  # since the start
        names = list(self.trajectory.names)
        self._on_the_way = read_tolerances(
            self.robot, names, 'path_tolerance', request.path_tolerance)
        self._at_the_end = read_tolerances(
            self.robot, names, 'goal_tolerance', request.goal_tolerance)
        self._goal_time = read_tolerance(
            'goal_time_tolerance', seconds(request.goal_time_tolerance), goal_time)
        self._stepper, self._ended, self._lock = stepper, ended, threading.Lock()
        self.outcome: Optional[Outcome] = None
        self.progress: Optional[Progress] = None

    def judge(self, sim: Simulator, failure: str) -> Optional[Mapping[str, float]]:
        """Compare the robot with the trajectory after a step, or end if that failed."""
        codes = FollowJointTrajectory.Result
        hold = partial(holding, sim, self.trajectory.names)
        if failure:
            self.end('abort', codes.INVALID_GOAL, f'the simulation failed: {failure}')
            return hold()
        elapsed, first = sim.time - self.start, self.progress is None
        states, rates = sim.actuators(), self.trajectory.slopes_at(elapsed)
        self.progress = Progress(elapsed, self._stepper.instant.stamp, {
            name: sample(self.robot, name, desired, rates[name], states[name])
            for name, desired in self.trajectory.at(elapsed).items()})
        late = elapsed - self.trajectory.end
        over = late >= -NEGLIGIBLE
        off = None
        if first or not over:
            off = violation(self._on_the_way, self.progress.samples)
        if off:
            self.end('abort', codes.PATH_TOLERANCE_VIOLATED, f'{off}, {elapsed:.3f} s after start')
            return hold()
        if not over:
            return None
        off = violation(self._at_the_end, self.progress.samples)
        if not off:
            self.end('succeed', codes.SUCCESSFUL, 'goal reached')
            return {}
        if self._goal_time and late > self._goal_time:
            self.end('abort', codes.GOAL_TOLERANCE_VIOLATED,
                     f'{off}, {late:.3f} s after the end of the trajectory, more than the '
                     f'tolerance of {self._goal_time:g} s')
            return hold()
        return None

    def stop(self, reason: str) -> None:
        """Hear that something else took over."""
        self.end('abort', FollowJointTrajectory.Result.INVALID_GOAL, reason)

    def end(self, status: str, code: int, text: str) -> None:
        """Take note of how it ended; the first word counts."""
        with self._lock:
            if self.outcome is not None:
                return
            self.outcome = Outcome(status, code, text)
        self._ended(self)

    def next_point(self, elapsed: float) -> int:
        """Return which of the given points comes next, or how many there are if none does."""
        return int(np.searchsorted(self._given, elapsed + NEGLIGIBLE, side='right'))


class _Server(ActionServer):
    """An action server whose goals end when that is told, not when a callback returns."""

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Do nothing yet: the goal has begun."""

    def conclude(self, goal_handle: Any, callback: Callable[[Any], Any]) -> None:
        """Have the executor call back for status and result; from any thread."""
        super().notify_execute(goal_handle, callback)


class FollowTrajectory:
    """
    The action of one robot.

    Parameters
    ----------
    node : LifecycleNode
    stepper : Stepper
    active : callable
        Tells whether the node is; if not, goals are rejected.
    rejected : Complaints
        Which hear of goals that are not valid.
    goal_time : callable
        Returns the default of goal_time_tolerance; 0: none [s].

    """

    def __init__(
        self, node: LifecycleNode, stepper: Stepper, active: Callable[[], bool],
        rejected: Complaints, goal_time: Callable[[], float],
    ) -> None:
        self._node, self._stepper, self._active = node, stepper, active
        self._rejected, self._goal_time = rejected, goal_time
        self._goal: Optional[Goal] = None  # that is followed, or waits to be concluded
        self._handle: Any = None           # of it
        self._server: Any = None
        if FollowJointTrajectory is None:
            node.get_logger().info(f'no {NAME}: control_msgs is not installed')
            return
        self._server = _Server(
            node, FollowJointTrajectory, NAME, lambda _: None,
            goal_callback=lambda _: GoalResponse.ACCEPT if active() else GoalResponse.REJECT,
            handle_accepted_callback=self._begin, cancel_callback=self._cancel)
        self._timer = node.create_timer(
            1.0 / FEEDBACK_RATE, self._tell, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._timer.cancel()

    def deactivate(self) -> None:
        """End the goal, if there is one, as the stepping has ended; the robot is to hold."""
        if self._goal is not None:
            self._goal.stop('the simulator was deactivated')
            self._stepper.abandon(self._goal)

    def withdraw(self) -> None:
        """Take the action back."""
        if self._server is not None:
            self._node.destroy_timer(self._timer)
            self._server.destroy()

    # --- By the executor ---

    def _begin(self, handle: Any) -> None:
        """Begin to follow a goal, in place of the one before; abort it if it is not valid."""
        handle.execute()
        try:
            check_size(handle.request)
            goal = Goal(self._stepper, handle.request, self._goal_time(),
                        lambda goal: self._server.conclude(handle, partial(self._finish, goal)))
        except Exception as error:  # whatever is wrong with a goal, it is not worth the node
            outcome = Outcome('abort', code_of(error), describe(error))
            self._rejected.add(NAME, outcome.text)
            self._server.conclude(handle, partial(_finished, outcome))
            return
        self._goal, self._handle = goal, handle
        self._timer.reset()
        self._stepper.follow(goal)

    def _cancel(self, handle: Any) -> CancelResponse:
        """Have the robot hold, and then end the goal."""
        goal = self._goal
        if goal is None or self._handle.goal_id != handle.goal_id or goal.outcome is not None:
            return CancelResponse.REJECT
        self._stepper.abandon(goal).add_done_callback(lambda _: goal.end(
            'canceled', FollowJointTrajectory.Result.SUCCESSFUL,
            'canceled: the robot holds what it had reached'))
        return CancelResponse.ACCEPT

    def _tell(self) -> None:
        """Publish feedback of the present goal."""
        if self._goal is not None and self._goal.progress is not None:
            self._handle.publish_feedback(feedback(self._goal))

    def _finish(self, goal: Goal, handle: Any) -> Any:
        """Give the last feedback of a goal, its status and its result."""
        outcome = goal.outcome
        assert outcome is not None
        if goal.progress is not None:
            handle.publish_feedback(feedback(goal))
        if goal is self._goal:
            self._goal = None
            self._timer.cancel()
        if outcome.status == 'abort':
            self._node.get_logger().warning(f'{NAME}: aborted: {outcome.text}')
        return _finished(outcome, handle)


def _finished(outcome: Outcome, handle: Any) -> Any:
    """Set the status of a goal, and return its result."""
    getattr(handle, outcome.status)()
    return FollowJointTrajectory.Result(error_code=outcome.code, error_string=outcome.text)


def check_goal(request: Any) -> None:
    """Raise if a goal asks for more than there is, beside what its trajectory may be."""
    if request.multi_dof_trajectory.joint_names or request.multi_dof_trajectory.points:
        raise InvalidModel(
            'multi_dof_trajectory', len(request.multi_dof_trajectory.points),
            'empty: each coordinate of a joint is an actuator by itself')
    for field in ('component_path_tolerance', 'component_goal_tolerance'):
        if getattr(request, field):
            raise InvalidModel(
                field, len(getattr(request, field)),
                'empty: tolerances are those of single actuators')
    for point in request.trajectory.points[-1:]:
        if any(point.velocities):
            raise InvalidModel(
                f'points[{len(request.trajectory.points) - 1}].velocities',
                list(point.velocities), '0 at the end of the trajectory, where it stops')


def code_of(error: Exception) -> int:
    """Return the error code of a goal that is not valid."""
    codes, field = FollowJointTrajectory.Result, getattr(error, 'field', '')
    return (codes.INVALID_JOINTS if field == 'joint_names'
            else codes.OLD_HEADER_TIMESTAMP if field == 'header.stamp' else codes.INVALID_GOAL)


def seconds(duration: Any) -> float:
    """Return a Duration [s]."""
    return duration.sec + duration.nanosec / NANO


def feedback(goal: Goal) -> Any:
    """
    Return where a goal is.

    Where nothing is desired, as the position of a tendon that is told its tension, desired is
    what it actually is.
    """
    progress = goal.progress
    assert progress is not None
    message = FollowJointTrajectory.Feedback(joint_names=list(goal.trajectory.names))
    message.header.stamp = time_message(progress.stamp)
    if hasattr(message, 'index'):  # since control_msgs 6.3
        message.index = goal.next_point(progress.elapsed)
    for part in (message.desired, message.actual, message.error):
        part.time_from_start.sec, nanosec = divmod(round(progress.elapsed * NANO), NANO)
        part.time_from_start.nanosec = nanosec
    for one in progress.samples.values():
        actual = {'position': one.state.position, 'velocity': one.state.velocity,
                  'effort': one.state.effort, one.interface: one.actual}
        desired = {**actual, one.interface: one.desired}
        if one.interface == 'position':
            desired['velocity'] = one.desired_rate
        _append(message.desired, desired)
        _append(message.actual, actual)
        _append(message.error, {key: desired[key] - actual[key] for key in actual})
    return message


def _append(point: JointTrajectoryPoint, values: Mapping[str, float]) -> None:
    for field, key in (('positions', 'position'), ('velocities', 'velocity'),
                       ('effort', 'effort')):
        getattr(point, field).append(float(values[key]))
