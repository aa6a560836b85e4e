"""What a simulator is told, right and wrong: over real DDS, the simulator a process of its own."""

import math
import re
import time

from conftest import ROOT
from driver import simulator
from geometry_msgs.msg import WrenchStamped
import numpy as np
from numpy.testing import assert_allclose
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

from cosserat_ros.description.robot import load
from cosserat_ros.msg import Load
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import SetWrench, Step

NAN, INF = math.nan, math.inf
TENDONS = ['tendon_1', 'tendon_2', 'tendon_3', 'tendon_4']


@pytest.fixture(scope='module')
def arm_process():
    """Return a tendon arm for all tests of this file."""
    with simulator(step_rate=500.0) as (driver, process):
        yield driver, process


@pytest.fixture
def arm(arm_process):
    """Return who drives an arm that is at rest."""
    driver, _ = arm_process
    driver.reset()
    return driver


def array(*data):
    return Float64MultiArray(data=[float(x) for x in data])


def joints(name, **arrays):
    return JointState(name=name, **arrays)


def trajectory(names, *points, stamp=None):
    message = JointTrajectory(joint_names=names)
    if stamp is not None:
        message.header.stamp.sec = int(stamp)
        message.header.stamp.nanosec = int(1e9 * (stamp % 1.0))
    for at, fields in points:
        point = JointTrajectoryPoint(**fields)
        point.time_from_start.sec = int(at)
        point.time_from_start.nanosec = int(round(1e9 * (at % 1.0)))
        message.points.append(point)
    return message


def wrench(frame_id, *numbers):
    message = WrenchStamped()
    message.header.frame_id = frame_id
    force, torque = message.wrench.force, message.wrench.torque
    for part, values in ((force, numbers[:3]), (torque, numbers[3:])):
        for axis, value in zip('xyz', values):
            setattr(part, axis, float(value))
    return message


# --- From command to shape -----------------------------------------------------------------------

@pytest.mark.parametrize('robot, commands', [
    ('tendon_arm', [1.0, 0.5, 0.0, 0.0]),
    ('fluidic_finger', [1.2e-4]),
    ('stewart_gough', [0.52, 0.5, 0.51, 0.5, 0.49, 0.5]),
])
def test_a_command_leads_to_the_shape_of_statics(robot, commands):
    expected = Simulator(load(ROOT / 'config' / f'{robot}.yaml'))
    expected.command(**dict(zip(expected.robot.actuators, commands)))
    assert expected.statics().converged
    goal = expected.tip_pose()[:3, 3]
    with simulator(robot=robot, step_rate=500.0) as (driver, process):
        far = np.linalg.norm(goal - driver.tip())
        assert far > 1e-3
        driver.command(commands)
        assert driver.spin_until(  # it gets near on its own, but damping is little
            lambda: np.linalg.norm(driver.tip() - goal) < 0.3 * far, 20.0), process.output()
        driver.equilibrium()
        assert driver.spin_until(
            lambda: np.allclose(driver.tip(), goal, rtol=0.0, atol=1e-6), 20.0), driver.tip()
        state = driver.fresh()
        assert_allclose(state.effort, [a.effort for a in expected.actuators().values()],
                        rtol=1e-3, atol=1e-3)
        assert_allclose(state.position, [a.position for a in expected.actuators().values()],
                        rtol=1e-6, atol=1e-7)
        for topic, said in driver.messages.items():
            assert not re.search(r'\bnan\b', str(said[-1:])), topic


def test_a_described_mode_takes_its_own_interface(arm):
    message = joints(TENDONS[:2], effort=[2.0, 1.0], position=[NAN, NAN], velocity=[0.0, 0.0])
    arm.send('joint_commands', message)
    assert arm.spin_until(lambda: arm.efforts() == [2.0, 1.0, 0.0, 0.0])
    arm.send('joint_commands', joints(['tendon_4'], effort=[0.5]))  # the others hold
    assert arm.spin_until(lambda: arm.efforts() == [2.0, 1.0, 0.0, 0.5])


def test_a_trajectory_is_followed_and_replaced(arm):
    points = [(0.2, {'effort': [0.0]}), (1.2, {'effort': [5.0]})]
    arm.send('~/joint_trajectory', trajectory(['tendon_2'], *points))
    seen = []
    assert arm.spin_until(lambda: seen.append(arm.efforts()[1]) or seen[-1] == 5.0, 20.0)
    rising = [x for x in seen if 0.0 < x < 5.0]
    assert len(rising) > 5 and rising == sorted(rising)
    arm.send('~/joint_trajectory', trajectory(['tendon_2'], (30.0, {'effort': [9.0]})))
    arm.spin(0.3)
    arm.send('~/joint_trajectory', trajectory(['tendon_2'], (0.05, {'effort': [1.0]})))
    assert arm.spin_until(lambda: arm.efforts()[1] == 1.0)


def test_velocities_make_it_cubic(arm):
    fields = ({'effort': [0.0], 'velocities': [0.0]}, {'effort': [4.0], 'velocities': [0.0]})
    arm.ask(SetBool, 'pause', data=True)
    arm.tell('~/joint_trajectory', trajectory(['tendon_1'], (0.0, fields[0]), (0.4, fields[1])))
    for steps, expected in ((50, 4.0 * (3 / 16 - 2 / 64)), (50, 2.0), (150, 4.0)):
        assert arm.ask(Step, 'step', steps=steps).success
        assert_allclose(arm.efforts()[0], expected, rtol=1e-9)


def test_past_points_are_skipped(arm):
    now = time.time()
    arm.send('~/joint_trajectory', trajectory(
        ['tendon_3'], (0.0, {'effort': [8.0]}), (10.0, {'effort': [8.0]}),
        (10.5, {'effort': [3.0]}), stamp=now - 10.4))
    seen = []
    assert arm.spin_until(lambda: seen.append(arm.efforts()[2]) or seen[-1] == 3.0, 20.0)
    assert max(seen) < 8.0


def test_a_wrench_acts_along_the_frame_it_names_and_zero_takes_it_away(arm):
    expected = Simulator(load(ROOT / 'config' / 'tendon_arm.yaml'))
    expected.statics()
    straight = expected.tip_pose()[:3, 3]
    expected.set_wrench([0.01, 0.0, 0.0, 0.0, 0.0, 0.0], at=0.12)
    expected.statics()
    arm.ask(SetBool, 'pause', data=True)  # upright, so that its axes are those of the base
    arm.tell('~/wrench', wrench('backbone_10', 0.01))
    arm.equilibrium()
    assert_allclose(arm.tip(), expected.tip_pose()[:3, 3], atol=1e-6)
    assert np.linalg.norm(arm.tip() - straight) > 1e-3
    arm.tell('~/wrench', wrench('backbone_10'))
    arm.equilibrium()
    assert_allclose(arm.tip(), straight, atol=1e-6)


# --- Wrong ---------------------------------------------------------------------------------------

@pytest.mark.parametrize('topic, message, words', [
    ('~/commands', array(1, 2, 3), ['4 numbers', 'tendon_1']),
    ('~/commands', array(), ['4 numbers']),
    ('~/commands', array(1, 2, 3, NAN), ['tendon_4', 'nan']),
    ('~/commands', array(1, 2, INF, 0), ['tendon_3', 'inf']),
    ('~/commands', array(1, -1, 0, 0), ['tendon_2', '-1.0', '[N]']),
    ('~/commands', array(99, 0, 0, 0), ['tendon_1', '99.0', '10']),
    ('joint_commands', joints(['tendon_9'], effort=[1.0]), ['tendon_9', 'tendon_1']),
    ('joint_commands', joints([], effort=[]), ['name']),
    ('joint_commands', joints(['tendon_1'] * 2, effort=[1.0] * 2), ['once']),
    ('joint_commands', joints(TENDONS[:2], effort=[1.0]), ['effort', '2 numbers']),
    ('joint_commands', joints(TENDONS[:2], effort=[1.0, 2.0], position=[1.0]), ['position']),
    ('joint_commands', joints(['tendon_1'], position=[0.01]), ['effort', 'tendon_1']),
    ('joint_commands', joints(['tendon_1'], effort=[NAN]), ['tendon_1', 'nan']),
    ('~/joint_trajectory', trajectory(['arm'], (1.0, {'effort': [1.0]})), ['joint_names', 'arm']),
    ('~/joint_trajectory', trajectory(['tendon_1']), ['points']),
    ('~/joint_trajectory', trajectory(['tendon_1'], (1.0, {'effort': []})), ['effort']),
    ('~/joint_trajectory', trajectory(['tendon_1'], (1.0, {'effort': [1.0, 2.0]})), ['effort']),
    ('~/joint_trajectory', trajectory(['tendon_1'], (1.0, {'effort': [NAN]})), ['nan']),
    ('~/joint_trajectory', trajectory(
        ['tendon_1'], (1.0, {'effort': [1.0]}), (0.5, {'effort': [2.0]})), ['time_from_start']),
    ('~/joint_trajectory', trajectory(
        ['tendon_1'], (1.0, {'effort': [1.0]}), stamp=1e9), ['past']),
    ('~/joint_trajectory', trajectory(
        ['tendon_1'], (1.0, {'effort': [0.1], 'velocities': [9.0]})), ['velocities', 'tendon_1']),
    ('~/commands', array(*[0.0] * 50_000), ['data', 'at most 1000', '50000']),
    ('joint_commands', joints(['tendon_1'] * 1001), ['name', 'at most 1000', '1001']),
    ('joint_commands', joints(['x' * 5000]), ['name[0]', '1000 characters', '5000']),
    ('~/joint_trajectory', JointTrajectory(
        joint_names=['tendon_1'], points=[JointTrajectoryPoint()] * 10_001),
     ['points', 'at most 10000', '10001']),
    ('~/wrench', wrench('x' * 5000, 1.0), ['header.frame_id', '1000 characters']),
    ('~/wrench', wrench('tip', 1.7e308, 1.7e308, 1.7e308), ['wrench', '1.7e+308', '1e+12']),
    ('~/wrench', wrench('tool', 1.0), ['frame_id', 'tool', 'tip']),
    ('~/wrench', wrench('', 1.0), ['frame_id']),
    ('~/wrench', wrench('tip', NAN), ['wrench[0]', 'nan']),
    ('~/wrench', wrench('tip', 0, 0, 0, INF), ['wrench[3]', 'inf']),
])
def test_what_is_wrong_is_refused_whole_and_said(arm, topic, message, words):
    arm.send('~/commands', array(1, 0, 0.5, 0))
    assert arm.spin_until(lambda: arm.efforts() == [1.0, 0.0, 0.5, 0.0])
    before = int(arm.diagnosis(fresh=False)[2]['rejected commands'])
    arm.send(topic, message)
    reason = arm.rejection(before)
    for word in words:
        assert word in reason
    assert arm.efforts() == [1.0, 0.0, 0.5, 0.0]
    assert np.isfinite(arm.tip()).all()


def test_floods_are_survived_and_mentioned_once_per_second(arm, arm_process):
    _, process = arm_process
    said = process.output().count('rejected')
    steps = int(arm.diagnosis()[2]['steps'])
    deadline, sent = time.monotonic() + 2.0, 0
    while time.monotonic() < deadline:
        for topic, message in (
            ('~/commands', array(NAN, 0, 0, 0)), ('joint_commands', joints(['x'], effort=[1.0])),
            ('~/wrench', wrench('tip', 1e-3)), ('~/wrench', wrench('nowhere', 1.0)),
            ('~/joint_trajectory', trajectory(['x'])), ('~/commands', array(1, 0, 0, 0)),
        ):
            arm.send(topic, message)
            sent += 1
        time.sleep(0.001)
    assert sent > 1000
    arm.send('~/commands', array(0.25, 0, 0, 0))
    assert arm.spin_until(lambda: arm.efforts() == [0.25, 0.0, 0.0, 0.0])
    assert process.output().count('rejected') - said < 2 * (2 + 5)  # each line has the word twice
    assert int(arm.diagnosis()[2]['steps']) > steps + 500
    assert np.isfinite(arm.tip()).all()


def test_a_load_that_no_arm_bears_does_not_end_it(arm):
    """Newton fails under a million newtons: the last good state holds, and that is said."""
    message = Load(name='absurd')
    message.wrench.force.x = 1e9
    message.wrench.torque.y = 1e9
    assert arm.ask(SetWrench, 'set_wrench', loads=[message]).success
    levels = []
    arm.spin_until(lambda: levels and levels[-1][0] == 2 or levels.append(arm.diagnosis()[:2]), 20)
    assert np.isfinite(arm.tip()).all()
    assert levels[-1][0] == 2 and 'step failed' in levels[-1][1], levels
    assert arm.ask(SetWrench, 'set_wrench').success
    arm.reset()
    assert arm.spin_until(lambda: arm.diagnosis()[0] < 2, 12.0)


def test_a_stale_command_is_relaxed_if_so_asked(arm):
    assert arm.set_parameter('on_timeout', 'relax').successful
    assert arm.set_parameter('command_timeout', 1.0).successful
    heard = arm.heard('joint_states')

    def came(*efforts):
        return any(list(message.effort) == [*efforts] for message in heard)
    try:
        heard.clear()
        arm.send('~/commands', array(1, 0, 0, 0))
        assert arm.spin_until(lambda: came(1.0, 0.0, 0.0, 0.0), 10.0)
        heard.clear()
        assert arm.spin_until(lambda: came(0.0, 0.0, 0.0, 0.0), 10.0)
        level, words, _ = arm.diagnosis()
        assert level == 1 and 'command_timeout' in words
    finally:
        assert arm.set_parameter('command_timeout', 0.0).successful
        assert arm.set_parameter('on_timeout', 'hold').successful


@pytest.mark.parametrize('size', [5e-324, 1e-163, 1e-20])
def test_a_tiny_load_is_drawn_like_any_other(arm, size):
    topic = f'{arm.own}/markers'
    arm.subscribe(MarkerArray, topic)
    arm.send('~/wrench', wrench('tip', size))

    def arrows():
        return [m for array in arm.messages[topic] for m in array.markers
                if m.ns == 'loads/wrench:tip' and m.action == m.ADD]
    assert arm.spin_until(arrows, 10.0)
    tail, head = ([p.x, p.y, p.z] for p in arrows()[-1].points)
    assert_allclose(np.linalg.norm(np.subtract(head, tail)), 0.3 * 0.24, rtol=1e-6)
    arm.fresh('~/tip_pose')
    assert arm.spin_until(lambda: arm.diagnosis()[0] == 0, 10.0)


def test_one_wrench_that_is_refused_takes_no_other_with_it(arm):
    rejected = int(arm.diagnosis()[2]['rejected commands'])
    before = arm.tip()
    assert arm.ask(SetBool, 'pause', data=True).success
    for message in (wrench('tip', 0.3), wrench('backbone_10', 1e300), wrench('backbone_05', NAN)):
        arm.send('~/wrench', message)
    assert arm.spin_until(
        lambda: int(arm.diagnosis()[2]['rejected commands']) == rejected + 2, 10.0)
    assert arm.ask(SetBool, 'pause', data=False).success
    assert arm.spin_until(lambda: np.linalg.norm(arm.tip() - before) > 1e-3, 10.0)
