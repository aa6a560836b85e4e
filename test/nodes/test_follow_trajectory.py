"""The action follow_joint_trajectory: an action client and a simulator, over real DDS."""

from contextlib import contextmanager
import math
import os
import time

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance, JointTolerance
from crane import CRANE
from driver import simulator
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.action import ActionClient
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from cosserat_ros.msg import Load
from cosserat_ros.srv import Reset, SetWrench, Step

NAN, INF = math.nan, math.inf
R = FollowJointTrajectory.Result
DONE, ABORTED, CANCELED = (
    GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_CANCELED)


class Following:
    """One goal: what comes back."""

    def __init__(self, client, goal):
        self._client, self.feedback = client, []
        sent = client.action.send_goal_async(goal, lambda m: self.feedback.append(m.feedback))
        assert client.driver.spin_until(sent.done)
        self.handle = sent.result()
        self.accepted = self.handle.accepted
        self._result = self.handle.get_result_async() if self.accepted else None

    @property
    def done(self):
        return self._result.done()

    def result(self, timeout=20.0):
        """Return status, code and words of the end."""
        assert self._client.driver.spin_until(lambda: self.done, timeout), 'no result'
        end = self._result.result()
        return end.status, end.result.error_code, end.result.error_string

    def begun(self):
        """Wait until it is under way."""
        assert self._client.driver.spin_until(lambda: self.feedback or self.done)
        assert not self.done, self.result()
        return self

    def cancel(self):
        asked = self.handle.cancel_goal_async()
        assert self._client.driver.spin_until(asked.done)
        return asked.result()


class Client:
    """Sends goals to the robot of a driver."""

    def __init__(self, driver, process):
        self.driver, self.process = driver, process
        self.action = ActionClient(
            driver.node, FollowJointTrajectory, f'{driver.own}/follow_joint_trajectory')
        assert self.action.wait_for_server(20.0)

    def send(self, *arguments, **fields):
        return Following(self, goal(*arguments, **fields))

    def state(self, name):
        """Return position, velocity and effort of a joint."""
        message = self.driver.fresh()
        k = message.name.index(name)
        return message.position[k], message.velocity[k], message.effort[k]


@contextmanager
def robot_client(tmp_path, namespace, **parameters):
    path = tmp_path / 'crane.yaml'
    path.write_text(CRANE)
    with simulator('-r', f'__ns:={namespace}', namespace=namespace, robot=path,
                   **parameters) as (driver, process):
        client = Client(driver, process)
        try:
            yield client
        finally:
            client.action.destroy()


@pytest.fixture(scope='module')
def crane_of_all(tmp_path_factory):
    with robot_client(tmp_path_factory.mktemp('crane'), '/crane') as client:
        yield client


@pytest.fixture
def crane(crane_of_all):
    """Return the client of a crane at rest."""
    crane_of_all.driver.reset()
    return crane_of_all


def duration(field, seconds):
    field.sec = math.floor(seconds)
    field.nanosec = round(1e9 * (seconds - field.sec))


def trajectory(names, *points, stamp=None):
    message = JointTrajectory(joint_names=names)
    if stamp is not None:
        message.header.stamp.sec = math.floor(stamp)
        message.header.stamp.nanosec = int(1e9 * (stamp % 1.0))
    for at, fields in points:
        point = JointTrajectoryPoint(**fields)
        duration(point.time_from_start, at)
        message.points.append(point)
    return message


def goal(names, *points, stamp=None, path=(), end=(), within=0.0, **fields):
    """Return a goal; tolerances are given as (name, position, velocity)."""
    message = FollowJointTrajectory.Goal(
        trajectory=trajectory(names, *points, stamp=stamp), **fields)
    for given, kept in ((path, message.path_tolerance), (end, message.goal_tolerance)):
        for name, *limits in given:
            kept.append(JointTolerance(
                name=name, **dict(zip(('position', 'velocity', 'acceleration'), limits))))
    duration(message.goal_time_tolerance, within)
    return message


def at(*positions):
    return {'positions': [float(x) for x in positions]}


LONG = ['rail'], (0.0, at(0.0)), (20.0, at(0.4))


# --- What is followed ----------------------------------------------------------------------------

def test_a_trajectory_is_followed_with_feedback(crane):
    before = time.time()
    followed = crane.send(
        ['rail', 'pull', 'wheel'],
        (0.0, {**at(0.0, 0.0, 0.0), 'effort': [0.0, 1.0, 0.0], 'velocities': [0.0] * 3}),
        (0.5, {**at(0.1, 0.0, 0.0), 'effort': [0.0, 2.0, 0.0], 'velocities': [0.2, 0.0, 0.5]}),
        (1.0, {**at(0.2, 0.0, 0.0), 'effort': [0.0, 3.0, 0.0], 'velocities': [0.0] * 3}),
        path=[('rail', 0.01, 0.1), ('pull', 0.01), ('wheel', 0.0, 0.01)],
        end=[('rail', 1e-6), ('pull', 1e-6)])
    assert followed.accepted
    assert followed.result() == (DONE, R.SUCCESSFUL, 'goal reached')
    assert len(followed.feedback) > 5
    times = [m.desired.time_from_start.sec + 1e-9 * m.desired.time_from_start.nanosec
             for m in followed.feedback]
    assert times == sorted(times) and times[-1] >= 1.0 - 1e-6
    assert [m.index for m in followed.feedback] == [
        1 + (t > 0.5 - 1e-8) + (t > 1.0 - 1e-8) for t in times]
    for t, m in zip(times, followed.feedback):
        assert m.joint_names == ['rail', 'pull', 'wheel']
        stamp = m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec
        assert before < stamp < time.time() + 0.1
        x = min(t, 1.0)
        # `velocities` are the rates of pull's tension too; wheel has no accelerations.
        assert_allclose(m.desired.positions[0], cubic(x, (0.0, 0.1, 0.2), (0.0, 0.2, 0.0)),
                        atol=1e-9)
        assert_allclose(m.desired.effort[1], cubic(x, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0)),
                        atol=1e-9)
        assert_allclose(m.desired.velocities[2], cubic(x, (0.0, 0.5, 0.0), (0.0, 0.0, 0.0)),
                        atol=1e-9)
        for part in ('positions', 'velocities', 'effort'):
            desired, actual, error = (
                np.array(getattr(p, part)) for p in (m.desired, m.actual, m.error))
            assert np.isfinite([desired, actual, error]).all()
            assert_allclose(error, desired - actual, atol=1e-12)
        assert abs(m.error.positions[0]) < 1e-6 and abs(m.error.effort[1]) < 1e-6
    position, _, _ = crane.state('rail')
    assert_allclose(position, 0.2, atol=1e-6)
    assert_allclose(crane.state('pull')[2], 3.0, atol=1e-6)


def cubic(t, values, rates):
    k = min(int(t / 0.5), 1)
    x = t / 0.5 - k
    a, b, va, vb = *values[k:k + 2], *rates[k:k + 2]
    return ((1 + 2 * x) * (1 - x) ** 2 * a + x * x * (3 - 2 * x) * b
            + 0.5 * (x * (1 - x) ** 2 * va - x * x * (1 - x) * vb))


def test_it_is_the_trajectory_of_the_topic(crane):
    """Step by step, the same commands."""
    points = [(0.0, {**at(0.0), 'velocities': [0.0]}), (0.2, {**at(0.05), 'velocities': [0.3]}),
              (0.5, {**at(0.1), 'velocities': [0.0]})]
    seen = []
    for by_action in (False, True):
        crane.driver.reset()
        assert crane.driver.ask(SetBool, 'pause', data=True).success
        if by_action:
            followed = crane.send(['rail'], *points)
        else:
            crane.driver.send('~/joint_trajectory', trajectory(['rail'], *points))
            crane.driver.spin(0.5)
        seen.append([])
        for _ in range(12):
            assert crane.driver.ask(Step, 'step', steps=10).success
            seen[-1].append(crane.state('rail')[0])
    assert_allclose(seen[0], seen[1], atol=1e-12)
    assert followed.result()[:2] == (DONE, R.SUCCESSFUL)
    assert max(np.abs(np.diff(seen[0]))) > 1e-3


def test_joints_that_it_does_not_name_stay(crane):
    crane.driver.command([2.0, 0.1, 0.0, 0.5])
    assert crane.driver.spin_until(lambda: abs(crane.state('rail')[0] - 0.1) < 1e-6)
    assert crane.send(['pull'], (0.3, {'effort': [4.0]})).result()[0] == DONE
    assert crane.state('pull')[2] == pytest.approx(4.0)
    assert crane.state('rail')[0] == pytest.approx(0.1)
    assert crane.state('elbow')[2] == pytest.approx(0.5)


def test_a_stamp_says_when_it_starts(crane):
    begun = time.time()
    followed = crane.send(['rail'], (0.0, at(0.0)), (0.5, at(0.1)), stamp=begun + 1.0)
    assert followed.result()[0] == DONE
    assert 1.4 < time.time() - begun < 6.0
    late = crane.send(  # its first points are past
        ['rail'], (0.0, at(0.3)), (10.0, at(0.1)), (11.0, at(0.2)), stamp=time.time() - 9.9)
    assert late.result()[0] == DONE
    assert max(m.desired.positions[0] for m in late.feedback) < 0.21


# --- Tolerances ----------------------------------------------------------------------------------

FAST = ['rail'], (0.0, at(0.0)), (0.2, at(0.4))  # 2 m/s, where 0.5 m/s is the limit


def holds(crane, name='rail'):
    """Tell whether a joint stands."""
    crane.driver.spin(0.2)
    first = crane.state(name)[0]
    crane.driver.spin(0.4)
    return abs(crane.state(name)[0] - first) < 1e-6


def test_who_leaves_the_path_is_stopped(crane):
    followed = crane.send(*FAST, path=[('rail', 0.01)])
    status, code, words = followed.result()
    assert (status, code) == (ABORTED, R.PATH_TOLERANCE_VIOLATED), words
    assert 'rail: position off by 0.01' in words and 'tolerance of 0.01 m' in words
    assert holds(crane)
    assert 0.0 < crane.state('rail')[0] < 0.05


def test_a_tolerance_of_velocity(crane):
    status, code, words = crane.send(*FAST, path=[('rail', 0.0, 0.3)]).result()
    assert (status, code) == (ABORTED, R.PATH_TOLERANCE_VIOLATED)
    assert 'rail: velocity off by ' in words and 'tolerance of 0.3 m/s' in words
    assert holds(crane)
    status, code, words = crane.send(
        ['rail'], (1.0, at(0.2)), path=[('rail', 0.0, 0.3)]).result()
    assert (status, code) == (DONE, R.SUCCESSFUL), words


@pytest.mark.parametrize('default, within, status', [
    (0.0, 0.05, ABORTED), (0.0, 5.0, DONE), (0.0, 0.0, DONE), (0.05, 0.0, ABORTED),
    (0.05, 5.0, DONE), (0.05, -1.0, DONE)])
def test_the_goal_is_reached_in_time_or_not(crane, default, within, status):
    """0 is the default of the node, and -1 no limit; 0.8 s are needed, 0.2 s given."""
    assert crane.driver.set_parameter('goal_time', default).successful
    try:
        followed = crane.send(*FAST, end=[('rail', 1e-3)], within=within)
        end = followed.result()
    finally:
        assert crane.driver.set_parameter('goal_time', 0.0).successful
    assert end[0] == status, end
    if status == DONE:
        assert end[1] == R.SUCCESSFUL
        assert crane.state('rail')[0] == pytest.approx(0.4, abs=1.1e-3)
        t = followed.feedback[-1].actual.time_from_start
        assert 0.75 < t.sec + 1e-9 * t.nanosec < 0.85  # of simulated time
    else:
        assert end[1] == R.GOAL_TOLERANCE_VIOLATED
        assert 'rail: position off by' in end[2] and 'tolerance of 0.05 s' in end[2]
        assert holds(crane) and crane.state('rail')[0] < 0.2


def test_without_tolerances_the_end_of_the_trajectory_is_the_goal(crane):
    assert crane.send(*FAST).result() == (DONE, R.SUCCESSFUL, 'goal reached')
    assert crane.driver.spin_until(lambda: abs(crane.state('rail')[0] - 0.4) < 1e-6)


def test_a_tolerance_of_minus_one_is_none(crane):
    followed = crane.send(*FAST, path=[('rail', -1.0, -1.0, -1.0)], end=[('rail', -1.0)])
    assert followed.result()[:2] == (DONE, R.SUCCESSFUL)


# --- What ends a goal early ----------------------------------------------------------------------

def test_who_cancels_makes_it_hold(crane):
    followed = crane.send(['rail', 'wheel'], (20.0, {**at(0.4, 0.0), 'velocities': [0.0, 0.0]}),
                          ).begun()
    crane.driver.spin(0.3)
    assert len(followed.cancel().goals_canceling) == 1
    status, code, words = followed.result()
    assert (status, code) == (CANCELED, R.SUCCESSFUL) and 'canceled' in words
    assert holds(crane)
    assert 0.0 < crane.state('rail')[0] < 0.2


def test_what_turns_stops_where_it_is_canceled(crane):
    turning = crane.send(['wheel'], (0.1, {'velocities': [1.0]}), (20.0, {'velocities': [1.0]}),
                         (20.1, {'velocities': [0.0]})).begun()
    assert crane.driver.spin_until(lambda: crane.state('wheel')[1] > 0.9)
    turning.cancel()
    assert turning.result()[0] == CANCELED
    assert crane.driver.spin_until(lambda: abs(crane.state('wheel')[1]) < 1e-6)


def test_a_new_goal_takes_the_place_of_the_old_one(crane):
    first = crane.send(*LONG).begun()
    second = crane.send(['rail'], (0.5, at(-0.1)))
    status, code, words = first.result()
    assert (status, code) == (ABORTED, R.INVALID_GOAL) and 'newer trajectory' in words
    assert second.result()[:2] == (DONE, R.SUCCESSFUL)
    assert crane.state('rail')[0] == pytest.approx(-0.1, abs=1e-6)


def test_a_goal_that_is_not_valid_takes_no_place(crane):
    first = crane.send(['rail'], (0.0, at(0.0)), (2.0, at(0.1))).begun()
    assert crane.send(['rial'], (0.5, at(0.0))).result()[1] == R.INVALID_JOINTS
    assert first.result()[:2] == (DONE, R.SUCCESSFUL)


def commanded(driver):
    driver.send('~/commands', Float64MultiArray(data=[0.0, 0.2, 0.0, 0.0]))


def told_otherwise(driver):
    driver.send('~/joint_trajectory', trajectory(['rail'], (0.1, at(0.2))))


@pytest.mark.parametrize('act, said', [
    (commanded, 'command took over'), (told_otherwise, 'newer trajectory took over'),
    (lambda driver: driver.ask(Reset, 'reset', target=Reset.Request.REST), 'was reset')])
def test_what_else_commands_ends_the_goal(crane, act, said):
    followed = crane.send(*LONG).begun()
    act(crane.driver)
    status, code, words = followed.result()
    assert (status, code) == (ABORTED, R.INVALID_GOAL) and said in words
    there = 0.0 if 'reset' in said else 0.2
    assert crane.driver.spin_until(lambda: abs(crane.state('rail')[0] - there) < 1e-6)


def test_a_pause_suspends_a_goal_and_steps_take_it_on(crane):
    followed = crane.send(['rail'], (0.0, at(0.0)), (1.0, at(0.1))).begun()
    assert crane.driver.ask(SetBool, 'pause', data=True).success
    crane.driver.spin(1.5)
    assert not followed.done
    assert crane.driver.ask(Step, 'step', steps=20).success
    assert not followed.done
    assert crane.driver.ask(Step, 'step', steps=200).success
    assert followed.result()[:2] == (DONE, R.SUCCESSFUL)
    halted = crane.send(*LONG)
    assert len(halted.cancel().goals_canceling) == 1
    assert halted.result()[0] == CANCELED  # though time stands still
    assert crane.driver.ask(SetBool, 'pause', data=False).success
    assert holds(crane)


def test_a_simulation_that_fails_ends_the_goal(crane):
    followed = crane.send(*LONG).begun()
    load = Load(name='absurd')
    load.wrench.force.x = 1e11
    try:
        assert crane.driver.ask(SetWrench, 'set_wrench', loads=[load]).success
        status, code, words = followed.result()
        assert (status, code) == (ABORTED, R.INVALID_GOAL) and 'simulation failed' in words
    finally:
        assert crane.driver.ask(SetWrench, 'set_wrench').success


def test_deactivation_ends_goals_and_none_begins_until_it_is_undone(tmp_path):
    with robot_client(tmp_path, '/other') as crane:
        def change(transition):
            assert crane.driver.ask(ChangeState, 'change_state',
                                    transition=Transition(id=transition), timeout=60.0).success

        followed = crane.send(*LONG).begun()
        change(Transition.TRANSITION_DEACTIVATE)
        status, code, words = followed.result()
        assert (status, code) == (ABORTED, R.INVALID_GOAL) and 'deactivated' in words
        assert not crane.send(*LONG).accepted
        change(Transition.TRANSITION_ACTIVATE)
        assert holds(crane)
        assert crane.send(['rail'], (0.2, at(0.0))).result()[0] == DONE
        followed = crane.send(*LONG).begun()
        for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP,
                           Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            change(transition)
        assert crane.action.wait_for_server(20.0)
        assert crane.send(['rail'], (0.2, at(0.1))).result()[0] == DONE
        assert crane.process.stop() == 0, crane.process.output()


# --- Not valid -----------------------------------------------------------------------------------

def bad(names, *points, code=R.INVALID_GOAL, said=(), **fields):
    return goal(names, *points, **fields), code, said


BAD = {
    'unknown joint': bad(['rial'], (1.0, at(0)), code=R.INVALID_JOINTS, said=["'rail'"]),
    'passive joint': bad(['hinge'], (1.0, at(0)), code=R.INVALID_JOINTS, said=['hinge']),
    'joint twice': bad(['rail', 'rail'], (1.0, at(0, 0)), code=R.INVALID_JOINTS, said=['once']),
    'no joint': bad([], (1.0, {}), code=R.INVALID_JOINTS, said=['joint_names']),
    'no point': bad(['rail'], said=['points', 'at least one']),
    'nothing at all': bad([], code=R.INVALID_JOINTS),
    'NaN': bad(['rail'], (1.0, at(NAN)), said=['points[0].rail', 'nan']),
    'infinity': bad(['rail'], (1.0, at(0)), (2.0, at(INF)), said=['points[1].rail', 'inf']),
    'beyond limits': bad(['rail'], (1.0, at(0.6)), said=['points[0].rail', '0.5', '[m]']),
    'NaN rate': bad(['rail'], (1.0, {**at(0), 'velocities': [NAN]}), said=['velocities']),
    'times not sorted': bad(['rail'], (1.0, at(0)), (0.5, at(0.1)), said=['time_from_start']),
    'times alike': bad(['rail'], (1.0, at(0)), (1.0, at(0.1)), said=['time_from_start']),
    'time below zero': bad(['rail'], (-1.0, at(0)), said=['time_from_start']),
    'wrong size': bad(['rail'], (1.0, at(0, 1)), said=['positions', '1 numbers']),
    'size of effort': bad(['rail'], (1.0, {**at(0), 'effort': [0, 0.0]}), said=['effort']),
    'no position': bad(['rail'], (1.0, {'effort': [1.0]}), said=['rail is commanded by it']),
    'no effort': bad(['pull'], (1.0, at(0)), said=['pull is commanded by it']),
    'ends in motion': bad(
        ['rail'], (1.0, {**at(0.1), 'velocities': [0.1]}), said=['velocities', '0 at the end']),
    'past': bad(['rail'], (1.0, at(0)), stamp=1e9, code=R.OLD_HEADER_TIMESTAMP, said=['past']),
    'multi-dof': bad(['rail'], (1.0, at(0)), said=['multi_dof_trajectory']),
    'component on the way': bad(
        ['rail'], (1.0, at(0)), component_path_tolerance=[JointComponentTolerance()],
        said=['component_path_tolerance']),
    'component at the end': bad(
        ['rail'], (1.0, at(0)), component_goal_tolerance=[JointComponentTolerance()],
        said=['component_goal_tolerance']),
    'tolerance of another': bad(
        ['rail'], (1.0, at(0)), path=[('pull', 1.0)],
        said=['path_tolerance[0].name', 'one of: rail']),
    'tolerance twice': bad(
        ['rail'], (1.0, at(0)), end=[('rail', 1.0)] * 2, said=['goal_tolerance[1].name', 'twice']),
    'tolerance below zero': bad(
        ['rail'], (1.0, at(0)), path=[('rail', -0.5)], said=['path_tolerance[0].position', '-1']),
    'tolerance NaN': bad(
        ['rail'], (1.0, at(0)), end=[('rail', 0.1, NAN)], said=['goal_tolerance[0].velocity']),
    'tolerance of acceleration': bad(
        ['rail'], (1.0, at(0)), path=[('rail', 0.1, 0.1, 0.1)], said=['acceleration', 'alone']),
    'velocity of a tension': bad(
        ['pull'], (1.0, {'effort': [1.0]}), path=[('pull', 0.1, 0.1)], said=['tension', 'alone']),
    'position of a velocity': bad(
        ['wheel'], (1.0, {'velocities': [0.0]}), path=[('wheel', 0.1)], said=['velocity alone']),
    'time tolerance below zero': bad(
        ['rail'], (1.0, at(0)), within=-2.0, said=['goal_time_tolerance', '-1 for none']),
    'too many points': bad(['rail'], *[(0.0, {})] * 10_001, said=['points', 'at most 10000']),
    'too long a name': bad(['x' * 2000], (1.0, at(0)), said=['1000 characters']),
    'too many tolerances': bad(
        ['rail'], (1.0, at(0)), path=[('rail', 1.0)] * 1001, said=['path_tolerance', '1000']),
}
BAD['multi-dof'][0].multi_dof_trajectory.joint_names = ['base']


@pytest.mark.parametrize('case', BAD)
def test_a_goal_that_is_not_valid_is_explained(crane_of_all, case):
    message, expected, said = BAD[case]
    status, code, words = Following(crane_of_all, message).result()
    assert (status, code) == (ABORTED, expected), words
    for part in said:
        assert part in words
    assert crane_of_all.process.process.poll() is None


def test_a_flood_of_goals_does_not_stop_the_steps(crane):
    steps = int(crane.driver.diagnosis()[2]['steps'])
    begun = time.monotonic()
    sent = [crane.send(['rail' if k % 2 else 'rial'], (0.5, at(0.1))) for k in range(100)]
    ends = [followed.result()[1] for followed in sent]
    assert ends[0::2] == [R.INVALID_JOINTS] * 50 and ends[-1] == R.SUCCESSFUL
    assert set(ends[1::2]) <= {R.INVALID_GOAL, R.SUCCESSFUL}
    passed = int(crane.driver.diagnosis()[2]['steps']) - steps
    assert passed > 0.5 * 200.0 * (time.monotonic() - begun)


# --- Time, and where there is no control_msgs ----------------------------------------------------

def test_time_is_that_of_the_simulation(tmp_path):
    with robot_client(tmp_path, '/timed', publish_clock='true', time_scale=5.0) as crane:
        followed = crane.send(['rail'], (0.0, at(0.0)), (10.0, at(0.4)))
        assert followed.result()[:2] == (DONE, R.SUCCESSFUL)
        stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in followed.feedback]
        elapsed = [m.actual.time_from_start.sec + 1e-9 * m.actual.time_from_start.nanosec
                   for m in followed.feedback]
        assert_allclose(np.diff(stamps), np.diff(elapsed), atol=1e-6)
        now = stamps[-1]
        old = crane.send(['rail'], (1.0, at(0.0)), stamp=now - 2.0)
        assert old.result()[1] == R.OLD_HEADER_TIMESTAMP
        soon = crane.send(['rail'], (1.0, at(0.0)), stamp=now + 5.0)
        assert soon.result()[:2] == (DONE, R.SUCCESSFUL)
        end = soon.feedback[-1].header.stamp
        assert now + 5.9 < end.sec + 1e-9 * end.nanosec < now + 6.2


def test_without_control_msgs_there_is_no_action_and_that_is_said(start_node, tmp_path):
    hidden = tmp_path / 'control_msgs'
    hidden.mkdir()
    (hidden / '__init__.py').write_text('raise ImportError("not installed")\n')
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get('PYTHONPATH')])])
    process = start_node('simulator', env={'PYTHONPATH': path})
    deadline = time.monotonic() + 60.0
    while 'is ready' not in process.output() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert 'is ready' in process.output()
    assert process.output().count(
        'no ~/follow_joint_trajectory: control_msgs is not installed') == 1
    assert process.stop() == 0
