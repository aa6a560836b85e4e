"""The comparator: a real robot in another process beside the simulated one, over real DDS."""

import json
import sys

from conftest import processes, ROOT
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from driver import simulator
from geometry_msgs.msg import Pose, PoseArray, PoseStamped, TransformStamped
from listener import Listener
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from cosserat_ros.description.robot import load
from cosserat_ros.msg import ActuatorInfo, Alignment, Backbone, Comparison, RobotInfo, RodState
from cosserat_ros.simulation.simulator import Simulator

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TURN = Rotation.from_euler('xyz', [0.2, -0.3, 0.5])
SHIFT = np.array([0.4, -0.2, 0.1])
RATE = 120.0  # [Hz] of steps


def diagnosis(listener, name):
    """Return level, words and values of a comparator's newest diagnostics."""
    found = [s for m in listener.messages['/diagnostics'] for s in m.status
             if s.name == f'/{name}: comparison']
    if not found:
        return DiagnosticStatus.STALE, '', {}
    return found[-1].level, found[-1].message, {v.key: v.value for v in found[-1].values}


def newest(listener, topic):
    """Return the last message of a topic."""
    assert listener.spin_until(lambda: listener.messages[topic], 10.0), topic
    return listener.messages[topic][-1]


def wait_for_words(listener, words, *processes):
    assert listener.spin_until(lambda: all(
        words in process.output() for process in processes), 30.0), processes[0].output()


# --- Live ---------------------------------------------------------------------------------------

def tensions(t):
    """Return commands over time, from rest, that lead the arm about in space, (T, 4) [N]."""
    ramp = np.minimum(t / 0.5, 1.0)
    return np.stack([ramp * 0.9 * (1.0 - np.cos(w * t + a)) for w, a in (
        (2.1, 0.0), (3.1, 1.0), (1.7, 2.0), (2.6, 0.5))], axis=1)


def record(path, duration, **given):
    """Record where the markers of the arm are on these commands, without ROS."""
    arm = Simulator(load(ROOT / 'config' / 'tendon_arm.yaml'), stations=4)
    assert arm.statics().converged
    knots = np.arange(0.0, duration, 0.05)
    commands = tensions(knots)
    times, places = [0.0], [arm.shape()['backbone'].poses[1:, :3, 3]]
    while times[-1] < duration:
        t = arm.time + 1.0 / RATE
        arm.command(**{name: np.interp(t, knots, commands[:, k])
                       for k, name in enumerate(arm.robot.actuators)})
        assert arm.step(1.0 / RATE).converged
        times.append(arm.time)
        places.append(arm.shape()['backbone'].poses[1:, :3, 3])
    np.savez(path, times=times, places=places, names=list(arm.robot.actuators),
             command_times=knots, commands=commands, rotation=TURN.as_matrix(),
             translation=SHIFT, **given)
    return np.array(places)


PERIOD, DELAY, OFF = 0.02, 0.083, np.array([0.004, 0.0, -0.003])  # [s], [s], [m]


@pytest.fixture(scope='module')
def live(tmp_path_factory):
    """
    Run an arm, a real one, and two comparators; return what came of it.

    One comparator is told where the real robot is, but 5 mm wrong; the other is to find it. All
    goes by simulated time, so that a slow machine changes nothing.
    """
    path = tmp_path_factory.mktemp('live') / 'recording.npz'
    places = record(path, 7.0, period=PERIOD, delay=DELAY, noise=2e-4, seed=7)
    assert np.ptp(places[:, -1], axis=0).min() > 0.005  # it moves about
    common = {'measured_as': 'pose_array', 'measured': 'real/markers', 'use_sim_time': 'true',
              'arc_lengths': '"0.08 0.16 tip"', 'span': 5.0, 'longest_delay': 0.4,
              'warn_percent': 1.0}
    x, y, z = SHIFT - OFF
    with processes() as (start, start_node), simulator(
            publish_clock='true', step_rate=RATE, time_scale=2.0) as (driver, _):
        told = start_node('comparator', '-r', '__node:=told', **common, x=x, y=y, z=z,
                          roll=0.2, pitch=-0.3, yaw=0.5)
        finds = start_node('comparator', '-r', '__node:=finds', **common, alignment='rigid')
        for name in ('told', 'finds'):
            driver.subscribe(Alignment, f'/{name}/alignment', LATCHED)
        driver.subscribe(Comparison, '/told/comparison', 1000)
        driver.subscribe(MarkerArray, '/told/ghost')
        wait_for_words(driver, 'comparing 3 markers', told, finds)
        real = start(sys.executable, ROOT / 'test' / 'nodes' / 'real_robot.py', path, 2)
        assert driver.spin_until(lambda: '{' in real.output(), 60.0), real.output()
        assert driver.spin_until(lambda: newest(driver, '/finds/alignment').placement_kept,
                                 10.0), finds.output()
        # Nothing is measured any more: what is said from now on is the end.
        assert driver.spin_until(
            lambda: 'no good measurement' in diagnosis(driver, 'told')[1], 10.0)
        for process in (told, finds):
            assert process.stop() == 0
            assert 'Traceback' not in process.output()
    return driver, json.loads(real.output())


@pytest.mark.parametrize('name', ['told', 'finds'])
def test_the_delay_of_a_real_robot_is_found_within_a_sample(live, name):
    found = newest(live[0], f'/{name}/alignment')
    assert found.delay_found
    assert abs(found.delay - DELAY) < 0.5 * PERIOD
    assert found.delay_uncertainty < 0.1 * PERIOD


def test_the_place_of_a_real_robot_is_found(live):
    found = newest(live[0], '/finds/alignment')
    q, t = found.placement.rotation, found.placement.translation
    turn = Rotation.from_quat([q.x, q.y, q.z, q.w])
    assert (turn * TURN.inv()).magnitude() < np.radians(0.5)
    assert_allclose([t.x, t.y, t.z], SHIFT, atol=2e-3)
    assert 2e-4 < found.residual < 1e-3 and found.scale == 1.0


def test_the_error_of_a_real_robot_is_told(live):
    driver, _ = live
    compared = driver.messages['/told/comparison']
    for deviation in (compared[-1].tip, compared[-1].shape):
        assert_allclose(deviation.rmse, 0.005, atol=5e-4)
        assert_allclose(deviation.rmse_percent, 100.0 * 0.005 / 0.24, atol=0.2)
        assert 0.005 < deviation.largest < 0.0125  # a slow simulator is interpolated far
    assert [(m.rod, m.arc_length) for m in compared[-1].markers] == [
        ('backbone', 0.08), ('backbone', 0.16), ('', 0.0)]
    errors = np.array([[getattr(m.simulated, a) - getattr(m.real, a) for a in 'xyz']
                       for c in compared[-100:] for m in c.markers if m.seen])
    assert_allclose(errors.mean(axis=0), OFF, atol=3e-4)
    warnings = [s.message for m in driver.messages['/diagnostics'] for s in m.status
                if s.name == '/told: comparison' and s.level == DiagnosticStatus.WARN]
    assert warnings and '% of the length: 1 % or more' in warnings[-1]


def test_what_is_bad_is_counted(live):
    """Messages of sensors may get lost where a machine is busy, but not most of them."""
    driver, did = live
    level, _, values = diagnosis(driver, 'told')
    assert level == DiagnosticStatus.STALE  # the end
    sent = 3 * (did['sent'] + did['swapped'])
    assert did['unseen'] > 20 and did['swapped'] > 5 and did['lost'] > 20
    assert 0.6 * did['unseen'] <= int(values['not finite']) <= did['unseen']
    assert 0.4 * 3 * did['swapped'] < int(values['out of order']) <= 3 * did['swapped']
    taken = sum(int(values[key]) for key in ('measurements', 'not finite', 'out of order'))
    assert 0.6 * sent <= taken <= sent
    assert int(values['dropouts']) >= 3 and values['clock jumps'] == '0'


def test_the_real_robot_is_drawn_beside_the_simulated_one(live):
    markers = {m.ns: m for m in newest(live[0], '/told/ghost').markers}
    assert markers.keys() == {'real/backbone', 'real/markers', 'real/errors'}
    assert all(m.header.frame_id == 'base_link' for m in markers.values())
    rod = np.array([(p.x, p.y, p.z) for p in markers['real/backbone'].points])
    assert len(rod) == 21 and np.linalg.norm(rod[0]) < 1e-6  # its base is where it is
    lengths = np.linalg.norm(np.diff(rod, axis=0), axis=1)
    assert_allclose(lengths.sum(), 0.24, atol=0.01)


# --- From a recording ---------------------------------------------------------------------------

LENGTH, STATIONS = 0.2, 11


def arc(t, s):
    """Return the poses (N, 7) of a rod that is bent to a circle, at arc lengths s (N,)."""
    bend = 3.0 + 2.0 * np.sin(1.9 * t)  # [1/m]
    plane = Rotation.from_euler('z', 0.8 * np.sin(1.1 * t) + 0.3 * t)
    places = plane.apply(np.stack(
        [(1.0 - np.cos(bend * s)) / bend, 0.0 * s, np.sin(bend * s) / bend], axis=1))
    turns = plane * Rotation.from_rotvec(np.outer(bend * s, [0.0, 1.0, 0.0]))
    return np.hstack([places, turns.as_quat()])


def pose_message(numbers):
    pose = Pose()
    (pose.position.x, pose.position.y, pose.position.z, pose.orientation.x, pose.orientation.y,
     pose.orientation.z, pose.orientation.w) = map(float, numbers)
    return pose


def put_stamp(message, seconds):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(
        round(1e9 * seconds), 1_000_000_000)
    return message


def shape(t):
    """Return the simulated robot at a time."""
    s = np.linspace(0.0, LENGTH, STATIONS)
    rod = RodState(
        name='rod', arc_lengths=s.tolist(), poses=[pose_message(x) for x in arc(t, s)])
    message = put_stamp(Backbone(rods=[rod], tip=rod.poses[-1]), t)
    message.header.frame_id = 'base_link'
    return message


class Player(Listener):
    """Plays a simulated and a real robot, of which the latter comes late."""

    def __init__(self, delay):
        super().__init__('player')
        self._delay = delay
        make = self.node.create_publisher
        self.topics = {
            'clock': make(Clock, '/clock', 10), 'tf': make(TFMessage, '/tf', 100),
            'backbone': make(Backbone, '/simulator/backbone', 1000),
            'array': make(PoseArray, '/real/markers', 1000),
            'middle': make(PoseStamped, '/real/middle', 1000),
            'tip': make(PoseStamped, '/real/tip', 1000),
            'simulated_joints': make(JointState, '/joint_states', 1000),
            'joints': make(JointState, '/real/joint_states', 1000),
            'commands': make(JointState, '/real/joint_commands', 10),
            'numbers': make(Float64MultiArray, '/real/commands', 10),
            'robot': make(RobotInfo, '/simulator/robot', LATCHED)}
        self.topics['robot'].publish(RobotInfo(actuators=[ActuatorInfo(name='tendon')]))

    def play(self, t):
        """Publish all of an instant of the recording."""
        now = self.topics['clock']
        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = divmod(round(1e9 * t), 1_000_000_000)
        now.publish(clock)
        self.topics['backbone'].publish(shape(t))
        middle, tip = (pose_message(x) for x in arc(t - self._delay, np.array([0.11, LENGTH])))
        self.topics['array'].publish(put_stamp(PoseArray(poses=[middle, tip]), t))
        frames = TFMessage()
        for name, pose in (('middle', middle), ('tip', tip)):
            self.topics[name].publish(put_stamp(PoseStamped(pose=pose), t))
            one = put_stamp(TransformStamped(child_frame_id=f'real/{name}'), t)
            one.header.frame_id = 'base_link'
            for axis in 'xyz':
                setattr(one.transform.translation, axis, getattr(pose.position, axis))
            one.transform.rotation = pose.orientation
            frames.transforms.append(one)
        self.topics['tf'].publish(frames)
        for name, value in (('simulated_joints', np.sin(t)),
                            ('joints', np.sin(t - self._delay) + 0.25)):
            self.topics[name].publish(put_stamp(JointState(
                name=['tendon'], position=[value], effort=[2.0]), t))


LATE, STEP = 0.047, 0.02  # [s] that the real robot comes late, and between messages
OF_ALL = {'arc_lengths': '"0.11 tip"', 'use_sim_time': 'true', 'orientations': 'true',
          'span': 4.0}
KINDS = {
    'poses': {'measured': '"real/middle real/tip"', 'forward': 'joint_commands',
              'forwarded': 'real/joint_commands'},
    'array': {'measured_as': 'pose_array', 'measured': 'real/markers', 'forward': 'commands'},
    'frames': {'measured_as': 'frames', 'measured': '"real/middle real/tip"', 'alignment': 'tf'}}
LISTENERS = {'backbone': 3, 'array': 1, 'middle': 1, 'tip': 1, 'tf': 1, 'joints': 3,
             'simulated_joints': 3, 'commands': 1, 'numbers': 1}


@pytest.fixture(scope='module')
def played():
    """Play a recording faster than it went, and once more; return who played it to whom."""
    player = Player(LATE)
    with processes() as (_, start_node):
        running = {name: start_node('comparator', '-r', f'__node:={name}', **OF_ALL, **given)
                   for name, given in KINDS.items()}
        player.subscribe(DiagnosticArray, '/diagnostics', 100)
        player.subscribe(JointState, '/poses/joint_errors', 1000)
        player.subscribe(JointState, '/joint_commands', 10)
        player.subscribe(Float64MultiArray, '/simulator/commands', 10)
        for name in running:
            player.subscribe(Comparison, f'/{name}/comparison', 1000)
            player.subscribe(Alignment, f'/{name}/alignment', LATCHED)
        assert player.spin_until(lambda: all(
            player.topics[name].get_subscription_count() >= n for name, n in LISTENERS.items()),
            30.0)
        begin = 0.0
        while not all(compared(player)):  # what they say first may be lost, to who is new
            assert begin < 2.5, compared(player)
            player.play(begin)
            player.spin(0.05)
            begin += STEP
        for first in (begin, 0.0):
            play(player, first)
        yield player, running
        player.close()


def compared(player):
    """Return how many comparisons came from each."""
    return [len(player.messages[f'/{name}/comparison']) for name in KINDS]


def play(player, begin):
    """Play the recording as fast as it is heard, until all know the delay."""
    before = compared(player)
    for k, t in enumerate(np.arange(begin, 5.0, STEP)):
        player.play(t)
        if k % 5 == 4:
            wanted = [n + 0.6 * (k - 10) for n in before]
            assert player.spin_until(lambda wanted=wanted: all(
                n >= w for n, w in zip(compared(player), wanted)), 10.0), (t, compared(player))
    assert player.spin_until(lambda: all(
        abs(newest(player, f'/{name}/alignment').delay - LATE) < 0.1 * STEP for name in KINDS),
        10.0)


def test_a_recording_is_compared_at_any_speed_and_when_it_begins_again(played):
    """By all three kinds of message."""
    player, running = played
    player.messages['/diagnostics'].clear()
    assert player.spin_until(lambda: all(diagnosis(player, name)[2] for name in KINDS), 10.0)
    for name in KINDS:
        values = diagnosis(player, name)[2]
        assert (values['clock jumps'], values['simulated clock jumps']) == ('2', '1'), name
        player.messages[f'/{name}/comparison'].clear()
    for t in np.arange(5.0, 5.5, STEP):  # now that the delay is known
        player.play(t)
    assert player.spin_until(lambda: min(compared(player)) > 15, 10.0)
    for name in KINDS:
        last = newest(player, f'/{name}/comparison')
        assert last.shape.now < 2e-4 and last.tip.now < 2e-4, name
        assert max(m.angle for m in last.markers) < 2e-3
    # Nothing comes any more.
    assert player.spin_until(lambda: 'no good measurement' in diagnosis(player, 'array')[1], 10.0)
    assert diagnosis(player, 'array')[0] == DiagnosticStatus.STALE
    assert not [p for p in running.values() if 'Traceback' in p.output()]


def test_joints_are_compared_when_they_were(played):
    errors = newest(played[0], '/poses/joint_errors')
    assert errors.name == ['tendon'] and len(errors.velocity) == 0
    assert_allclose([errors.position[0], errors.effort[0]], [-0.25, 0.0], atol=1e-3)


def test_commands_are_passed_on_unless_they_are_none(played):
    player, running = played
    heard = player.messages['/joint_commands']
    for name, effort in (('wheel', 1.0), ('tendon', np.nan)):
        player.topics['commands'].publish(JointState(name=[name], effort=[effort]))
    player.topics['commands'].publish(JointState(name=['wheel', 'tendon'], effort=[1.0, 3.0]))
    assert player.spin_until(lambda: heard, 10.0)
    assert (list(heard[0].name), list(heard[0].effort)) == (['tendon'], [3.0])
    wait_for_words(player, "name must be of the simulated actuators, tendon, got ['wheel']",
                   running['poses'])
    heard = player.messages['/simulator/commands']
    for numbers in ([np.inf], [4.0]):
        player.topics['numbers'].publish(Float64MultiArray(data=numbers))
    assert player.spin_until(lambda: heard, 10.0)
    assert list(heard[0].data) == [4.0]
    wait_for_words(player, 'data must be finite numbers, got [inf]', running['array'])


def test_a_place_that_is_given_is_not_looked_for(played):
    answer = played[0].call(Trigger, '/array/realign', Trigger.Request())
    assert not answer.success and 'alignment is known' in answer.message


def test_a_sensor_without_stamps_is_compared_by_arrival(start_node):
    """And the place that is not on the robot is refused, once there is one."""
    process = start_node('comparator', stamps='arrival', find_delay='false')
    beyond = start_node('comparator', '-r', '__node:=beyond', arc_lengths='"rod:0.3"')
    player = Listener('sensor')
    try:
        player.subscribe(Comparison, '/comparator/comparison')
        heard = player.messages['/comparator/comparison']
        shapes = player.node.create_publisher(Backbone, '/simulator/backbone', 10)
        tips = player.node.create_publisher(PoseStamped, '/real/tip_pose', 10)
        message = shape(1.0)
        tip = PoseStamped(pose=shape(1.0).tip)
        tip.pose.position.x += 0.001

        def compared():
            shapes.publish(Backbone())  # tells nothing
            message.header.stamp = player.node.get_clock().now().to_msg()
            shapes.publish(message)
            tips.publish(tip)
            return len(heard) > 20 and beyond.process.poll() is not None
        assert player.spin_until(compared, 20.0), process.output()
        assert_allclose(heard[-1].tip.now, 0.001, rtol=1e-6)
        wait_for_words(player, 'rejected /simulator/backbone: rods must be at least one', process)
    finally:
        player.close()
    assert beyond.wait() == 1
    assert 'arc_lengths must be a finite number >= 0 and <= 0.2 [m], got 0.3' in beyond.output()


# --- Bad parameters -----------------------------------------------------------------------------

WRONG = [
    ({'arc_lengths': '0.1,0.2'}, "parameter arc_lengths must be arc lengths >= 0 [m], as 0.1 or "
                                 "rod:0.1, or \"tip\", got '0.1,0.2'"),
    ({'arc_lengths': '"0.1 tip"'}, 'parameter measured must be 2 names, for 2 arc_lengths by'),
    ({'measured': 'a..b'}, "parameter measured must be names of topics, got 'a..b'"),
    ({'joint_states': '/a//b'}, 'parameter joint_states must be names of topics'),
    ({'span': 1.0}, 'parameter longest_delay must be at most a quarter of the span, 1 s, got 0.5'),
]


def test_parameters_that_make_no_sense_are_refused(start_node):
    running = [start_node('comparator', **wrong) for wrong, _ in WRONG]
    for process, (_, words) in zip(running, WRONG):
        assert process.wait(60.0) == 1
        assert words in process.output(), process.output()
        assert 'Traceback' not in process.output()
