"""The base of a robot that topics or TF move: over DDS, against the library, with all faults."""

from contextlib import contextmanager
import math
import time

from conftest import ROOT
from driver import simulator
from geometry_msgs.msg import PoseStamped, TransformStamped, TwistStamped
from nav_msgs.msg import Odometry
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import SetBool
from test_simulator import matrix
from tf2_msgs.msg import TFMessage

from cosserat_ros.assembly.element import Motion
from cosserat_ros.control.pose_tracker import PoseTracker
from cosserat_ros.description.robot import load
from cosserat_ros.nodes.common.conversions import fill_quaternion, fill_xyz, pose_numbers
from cosserat_ros.numerics.lie import exp_so3, inverse_se3, log_se3
from cosserat_ros.simulation.demonstration import base_path, demonstration, moves
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import Reset, Step

ROBOT = load(ROOT / 'config' / 'mobile_arm.yaml')
HOME = ROBOT.base.matrix()
LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
KINDS = {'pose': (PoseStamped, '~/base'), 'twist': (TwistStamped, '~/base'),
         'odometry': (Odometry, '~/base'), 'tf': (TFMessage, 'tf')}
STEP = 0.005  # [s]


def path(t):
    """Return a pose that turns and goes to and fro."""
    g = HOME.copy()
    g[:3, :3] = exp_so3(np.array([0.0, 0.0, 0.5 * math.sin(2.0 * t)]))
    g[:3, 3] += 0.1 * (1.0 - math.cos(4.0 * t)), 0.05 * math.sin(3.0 * t), 0.02 * math.sin(t)
    return g


def twist(t):
    """Return the velocity and the angular velocity of `path`, along its own axes."""
    R = path(t)[:3, :3]
    v = 0.4 * math.sin(4.0 * t), 0.15 * math.cos(3.0 * t), 0.02 * math.cos(t)
    return np.concatenate([R.T @ v, [0.0, 0.0, math.cos(2.0 * t)]])


def motion(t):
    """Return the exact motion along `path` in warped time, accelerations by differences."""
    def velocities(t):
        u, rate = warped(t)
        R, V = path(u)[:3, :3], rate * twist(u)
        return np.concatenate([R @ V[:3], R @ V[3:]])
    h, V, g = 1e-5, velocities(t), path(warped(t)[0])
    rates = (velocities(t + h) - velocities(t - h)) / (2.0 * h)
    return Motion(g[:3, :3], g[:3, 3], V[3:], V[:3], rates[3:], rates[:3])


def warped(t):
    """Return a time that begins without velocity and acceleration, and its rate [s, -]."""
    return (t ** 3 - 0.5 * t ** 4, 3.0 * t ** 2 - 2.0 * t ** 3) if t < 1.0 else (t - 0.5, 1.0)


def fill_pose(message, g):
    (values,) = pose_numbers(g[None])
    fill_xyz(message.position, values[:3])
    fill_quaternion(message.orientation, values[3:])


def fill_twist(message, V):
    fill_xyz(message.linear, V[:3])
    fill_xyz(message.angular, V[3:])


def message_of(source, stamp, g, V):
    """Return a message of a source, its stamp in [s]."""
    kind = TransformStamped if source == 'tf' else KINDS[source][0]
    message = kind()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(1e9 * stamp), 10 ** 9)
    message.header.frame_id = 'base_link' if source == 'twist' else 'world'
    if source == 'pose':
        fill_pose(message.pose, g)
    elif source == 'odometry':
        message.child_frame_id = 'robot'
        fill_pose(message.pose.pose, g)
        fill_twist(message.twist.twist, V)
    elif source == 'twist':
        fill_twist(message.twist, V)
    else:
        (values,) = pose_numbers(g[None])
        message.child_frame_id = 'tool0'
        fill_xyz(message.transform.translation, values[:3])
        fill_quaternion(message.transform.rotation, values[3:])
        return TFMessage(transforms=[message])
    return message


class Leader:
    """One who leads the base of a simulated robot, and sees where it is."""

    def __init__(self, driver, source):
        self.driver, self.source = driver, source
        kind, topic = KINDS[source]
        driver.subscribe(TFMessage, '/tf', 100)
        driver.subscribe(TFMessage, '/tf_static', LATCHED)
        self._publisher = driver.node.create_publisher(kind, driver.topic(topic), 10)
        listeners = 2 if source == 'tf' else 1  # one is ours
        assert driver.spin_until(
            lambda: self._publisher.get_subscription_count() >= listeners, 10.0)
        driver.spin(0.5)  # until they know of us too

    def send(self, stamp, g=None, V=None, frame=None):
        message = message_of(self.source, stamp, path(stamp) if g is None else g,
                             twist(stamp) if V is None else V)
        if frame is not None:
            message.header.frame_id = frame
        self._publisher.publish(message)
        return message

    def publish(self, message):
        self._publisher.publish(message)

    def transforms(self, topic='/tf'):
        """Return the newest transforms, by child."""
        return {t.child_frame_id: t for m in self.driver.messages[topic] for t in m.transforms}

    def base(self):
        """Return where base_link is now, seen from its parent."""
        self.driver.fresh('~/tip_pose')
        heard = self.driver.messages['/tf']
        heard.clear()
        assert self.driver.spin_until(lambda: 'base_link' in self.transforms(), 20.0)
        return matrix(self.transforms()['base_link'])

    def values(self):
        return self.driver.diagnosis()[2]

    def value(self, name):
        return float(self.values()[name])


@contextmanager
def led(source, **parameters):
    with simulator(robot='mobile_arm', base_source=source, **parameters) as (driver, process):
        yield Leader(driver, source), process


def tip_of(driver, number):
    """Return the tip at a simulated time, (4, 4), of a robot that makes its own clock."""
    stamp = divmod(round(1e9 * number * STEP), 10 ** 9)

    def found():
        return [m for m in driver.heard('~/tip_pose')
                if (m.header.stamp.sec, m.header.stamp.nanosec) == stamp]
    assert driver.spin_until(found, 20.0), stamp
    p, q = found()[0].pose.position, found()[0].pose.orientation
    return np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w])


@pytest.mark.parametrize('source', KINDS)
def test_a_base_is_led_over_dds_as_by_the_library(source):
    """Step by step, a measurement each: the same filter in the library gives the same tip."""
    with led(source, publish_clock='true') as (leader, _):
        driver = leader.driver
        assert driver.ask(SetBool, 'pause', data=True).success
        assert driver.ask(Reset, 'reset', target=Reset.Request.REST).success
        arm = Simulator(ROBOT)
        assert arm.statics().converged
        tracker = PoseTracker(HOME, 0.02, 0.2, (0.1, 0.5))
        arm.solver.time = 0.0
        driver.command([2.0, 0.0, 0.0, 0.0])
        arm.command(tendon_1=2.0)
        for k in range(60):
            t = 1e-9 * round(1e9 * k * STEP)  # as it is in a message
            if k:  # a stamp of 0 is none
                leader.send(t)
                driver.spin(0.03)
            if k and source == 'twist':
                tracker.see_twist(t, twist(t))
            elif k:
                tracker.see(t, path(t), twist(t) if source == 'odometry' else None)
            driver.heard('~/tip_pose').clear()  # also of the time before the reset
            answer = driver.ask(Step, 'step', steps=1)
            assert answer.success, answer.message
            arm.drive_base(tracker.motion(t + STEP))
            assert arm.step(STEP).converged
        assert leader.values()['base inputs'] == '59', leader.values()
        assert_allclose(tip_of(driver, 60), pose_numbers(arm.tip_pose()[None])[0], atol=1e-9)
        at_rest = Simulator(ROBOT)
        at_rest.statics()
        assert np.linalg.norm(arm.tip_pose()[:3, 3] - at_rest.tip_pose()[:3, 3]) > 5e-3
        if source == 'tf':
            fixed = leader.transforms('/tf_static')['base_link']
            assert fixed.header.frame_id == 'tool0'
            assert_allclose(matrix(fixed), np.eye(4))
            assert 'base_link' not in leader.transforms()
        else:
            assert leader.transforms()['base_link'].header.frame_id == 'world'
            assert_allclose(matrix(leader.transforms()['base_link']), arm.base_pose(), atol=1e-9)


@pytest.mark.parametrize('source', ['pose', 'odometry'])
def test_what_is_felt_is_the_true_motion(source):
    """The library alone: tip and base as of an arm that is led exactly along the path."""
    exact, led_arm = Simulator(ROBOT), Simulator(ROBOT)
    tracker, worst, far, swing = PoseTracker(path(0.0), 0.02, 0.2, (0.1, 0.5)), 0.0, 0.0, 0.0
    assert exact.statics().converged and led_arm.statics().converged
    rest = exact.tip_pose()[:3, 3]
    for k in range(400):
        t = k * STEP
        if k % 2 == 0:  # at 100 Hz
            u, rate = warped(t)
            tracker.see(t, path(u), rate * twist(u) if source == 'odometry' else None)
        exact.drive_base(motion(t + STEP))
        led_arm.drive_base(tracker.motion(t + STEP))
        assert exact.step(STEP).converged and led_arm.step(STEP).converged
        far = max(far, np.linalg.norm(log_se3(inverse_se3(
            exact.base_pose()) @ led_arm.base_pose())[:3]))
        tips = [sim.tip_pose()[:3, 3] for sim in (exact, led_arm)]
        worst = max(worst, np.linalg.norm(tips[0] - tips[1]))
        swing = max(swing, np.linalg.norm(tips[0] - rest))
    assert far < 1.5e-3
    assert worst < 0.1 * swing and swing > 0.002


def test_in_real_time_a_base_goes_where_it_is_led_and_stands_where_nothing_comes():
    with led('pose') as (leader, _):
        driver, start = leader.driver, time.time()
        assert_allclose(leader.base(), HOME, atol=1e-9)
        level, words, _ = driver.diagnosis()
        assert level == 1 and '/simulator/base' in words and 'nothing was heard' in words
        errors = []
        while time.time() - start < 4.0:
            now = time.time()
            g = path(now - start)
            leader.send(now, g)
            driver.spin(0.01)
            for message in driver.messages['/tf'][-1:]:
                for one in message.transforms:
                    if one.child_frame_id == 'base_link' and now - start > 2.0:
                        stamp = one.header.stamp.sec + 1e-9 * one.header.stamp.nanosec
                        errors.append(np.linalg.norm(
                            matrix(one)[:3, 3] - path(stamp - start)[:3, 3]))
            driver.messages['/tf'].clear()
        assert len(errors) > 20
        assert np.median(errors) < 5e-3
        values = leader.values()
        assert abs(float(values['base input delay [s]'])) < 0.2
        places = [leader.base()]

        def stands():
            places.append(leader.base())
            return np.allclose(*places[-2:], rtol=0.0, atol=1e-6)
        assert driver.spin_until(stands, 20.0)
        one = places[-1]
        assert np.linalg.norm(one[:3, 3] - g[:3, 3]) < 0.2
        level, words, _ = driver.diagnosis()
        assert level == 1 and 'the base stands: nothing was heard of /simulator/base' in words
        leader.send(time.time(), one)  # it goes on, from where it is
        driver.spin(0.2)
        assert leader.value('base jumps') == 0


def test_a_jump_places_the_base_anew_and_is_told():
    with led('pose', base_timeout=2.0) as (leader, process):
        driver = leader.driver
        for _ in range(3):
            leader.send(time.time(), HOME)
            driver.spin(0.05)
        before = driver.tip()
        far = HOME.copy()
        far[:3, 3] += 2.0, 3.0, 0.0
        leader.send(time.time(), far)
        assert driver.spin_until(
            lambda: np.allclose(leader.base(), far, rtol=0.0, atol=1e-6), 10.0)
        assert_allclose(driver.tip(), before, atol=1e-5)  # the arm does not feel it
        assert leader.value('base jumps') == 1
        assert 'input on /simulator/base jumped' in process.output()


def test_what_is_wrong_is_refused_and_told_and_the_base_stays():
    with led('pose', base_timeout=2.0) as (leader, process):
        driver = leader.driver
        leader.send(time.time(), HOME)
        driver.spin(0.1)
        refused = int(leader.values()['rejected commands'])

        def refuse(change, words, g=HOME, stamp=0.0):
            nonlocal refused
            message = message_of('pose', time.time() + stamp, g, None)
            change(message)
            leader.publish(message)
            assert words in driver.rejection(refused)
            refused = int(driver.diagnosis(fresh=False)[2]['rejected commands'])

        def turn(x, y, z, w):
            return lambda m: fill_quaternion(m.pose.orientation, (x, y, z, w))

        def put(**values):
            return lambda m: [setattr(m.pose.position, k, v) for k, v in values.items()]

        def frame(name):
            return lambda m: setattr(m.header, 'frame_id', name)

        refuse(turn(0.0, 0.0, 0.0, 2.0), 'of length 1')
        refuse(turn(0.0, 0.0, 0.0, 0.0), 'of length 1')
        refuse(turn(math.nan, 0.0, 0.0, 1.0), 'of length 1')
        refuse(put(x=math.nan), 'pose')
        refuse(put(y=math.inf), 'pose')
        refuse(put(z=1e9), 'position')
        refuse(frame('map'), "'world'")
        refuse(lambda m: None, 'base_timeout', stamp=-4.0)
        refuse(lambda m: None, 'base_timeout', stamp=4.0)
        leader.send(time.time(), HOME)
        refuse(lambda m: None, 'more than that of the last one', stamp=-0.1)  # out of order
        assert_allclose(leader.base(), HOME, atol=1e-9)
        assert 'rejected /simulator/base' in process.output()
        message = message_of('pose', 0.0, HOME, None)  # no stamp: now
        message.header.frame_id = ''
        leader.publish(message)
        driver.spin(0.1)
        assert float(leader.values()['base input age [s]']) < 1.5


def test_frames_of_others_lead_through_a_chain():
    """World to a cart, and the cart to a flange that is fixed on it."""
    with led('tf', base_frame='flange') as (leader, _):
        driver = leader.driver
        latched = driver.node.create_publisher(TFMessage, '/tf_static', LATCHED)

        def edge(parent, child, g, stamp):
            message = message_of('tf', stamp, g, None)
            message.transforms[0].header.frame_id = parent
            message.transforms[0].child_frame_id = child
            return message
        on_cart = np.eye(4)
        on_cart[2, 3] = 0.4
        level, words, _ = driver.diagnosis()
        assert level == 1 and 'flange on /tf' in words
        leader.publish(edge('world', 'cart', np.eye(4), time.time()))
        assert driver.spin_until(lambda: int(leader.values()['rejected commands']) == 0, 20.0)
        latched.publish(edge('cart', 'flange', on_cart, 0.0))
        cart = np.eye(4)
        for k in range(50):
            cart[0, 3] = 0.002 * k
            leader.publish(edge('world', 'cart', cart, time.time()))
            driver.spin(0.02)
        values = leader.values()
        assert float(values['base error [m]']) < 2e-3 and values['base jumps'] == '0'
        wrong = edge('world', 'cart', cart, time.time())
        wrong.transforms[0].transform.rotation.w = 3.0
        leader.publish(wrong)
        assert driver.spin_until(lambda: 'length' in leader.values()['last rejection'], 20.0)
        assert leader.transforms('/tf_static')['base_link'].header.frame_id == 'flange'


def test_fixed_frames_on_the_way_are_no_measurements():
    """They come first, as they are latched, and again; their stamps are of another time."""
    with led('tf', base_frame='flange', publish_clock='true') as (leader, _):
        driver, on_cart, cart = leader.driver, np.eye(4), np.eye(4)
        assert driver.ask(SetBool, 'pause', data=True).success
        on_cart[2, 3], cart[0, 3] = 0.4, 0.05
        latched = driver.node.create_publisher(TFMessage, '/tf_static', LATCHED)

        def edge(parent, child, g, stamp):
            message = message_of('tf', stamp, g, None)
            message.transforms[0].header.frame_id = parent
            message.transforms[0].child_frame_id = child
            return message
        latched.publish(edge('cart', 'flange', on_cart, 1e3))
        driver.spin(0.5)
        for k in range(30):
            leader.publish(edge('world', 'cart', cart, 0.0))
            if k in (10, 20):
                latched.publish(edge('cart', 'flange', on_cart, 1e3))
            driver.spin(0.02)
            assert driver.ask(Step, 'step', steps=4).success
        values = leader.values()
        assert values['rejected commands'] == '0', values['last rejection']
        assert driver.ask(SetBool, 'pause', data=False).success
        assert int(leader.values()['base inputs']) == 30
        assert float(leader.values()['base error [m]']) < 1e-3


def test_a_frame_that_is_fixed_in_the_parent_places_the_base():
    with led('tf', base_frame='flange') as (leader, _):
        driver, there = leader.driver, np.eye(4)
        there[0, 3] = 0.3
        message = message_of('tf', time.time() - 100.0, there, None)
        message.transforms[0].child_frame_id = 'flange'
        latched = driver.node.create_publisher(TFMessage, '/tf_static', LATCHED)
        latched.publish(message)
        assert driver.spin_until(lambda: leader.values()['base inputs'] == '1', 10.0)
        assert leader.values()['rejected commands'] == '0'


def test_while_the_clock_is_stopped_the_same_instant_again_is_no_fault():
    with led('pose', publish_clock='true') as (leader, _):
        driver = leader.driver
        assert driver.ask(SetBool, 'pause', data=True).success
        answer = driver.ask(Step, 'step', steps=1)
        now = answer.time.sec + 1e-9 * answer.time.nanosec
        for stamp in (now, 0.0) * 5:
            leader.send(stamp, HOME)
            driver.spin(0.05)
        values = leader.values()
        assert int(values['base inputs']) >= 1
        assert values['rejected commands'] == '0', values['last rejection']


def test_while_paused_nothing_is_heard_and_then_it_is_placed_anew():
    with led('pose', base_timeout=2.0) as (leader, _):
        driver = leader.driver
        leader.send(time.time(), HOME)
        driver.spin(0.1)
        assert driver.ask(SetBool, 'pause', data=True).success
        far = HOME.copy()
        far[0, 3] += 1.0
        for _ in range(10):
            leader.send(time.time(), far)
            driver.spin(0.05)
        assert driver.ask(SetBool, 'pause', data=False).success

        def there():
            leader.send(time.time(), far)
            return np.allclose(leader.base(), far, rtol=0.0, atol=1e-6)
        assert driver.spin_until(there, 20.0)
        values = leader.values()
        assert values['base jumps'] == '0' and values['rejected commands'] == '0'


@pytest.mark.parametrize('parameters, words', [
    ({'robot': 'tendon_arm', 'base_source': 'pose'}, ['base_source', 'driven']),
    ({'robot': 'mobile_arm', 'base_source': 'joystick'}, ['base_source', 'odometry']),
    ({'robot': 'mobile_arm', 'base_source': 'tf', 'base_frame': "''"}, ['base_frame']),
    ({'robot': 'mobile_arm', 'base_source': 'tf', 'base_frame': 'tip'}, ['base_frame', 'own']),
    ({'robot': 'mobile_arm', 'base_source': 'tf', 'parent_frame': "''"}, ['parent_frame']),
    ({'robot': 'mobile_arm', 'base_source': 'pose', 'base_topic': "'a b'"}, ['base_topic']),
    ({'robot': 'mobile_arm', 'base_time_constant': 0.0}, ['base_time_constant'])])
def test_parameters_that_cannot_be_are_refused(start_node, parameters, words):
    process = start_node('simulator', **parameters)
    assert process.wait(30.0) != 0
    assert all(word in process.output() for word in words), process.output()
    assert 'Traceback' not in process.output()


def test_the_demonstration_moves_the_base_until_it_is_led():
    with led('pose', demonstrate='true') as (leader, _):
        driver = leader.driver
        assert driver.spin_until(
            lambda: np.linalg.norm(leader.base()[:3, 3] - HOME[:3, 3]) > 0.02, 20.0)

        for _ in range(20):
            leader.send(time.time(), HOME)
            driver.spin(0.02)

        def at_home():
            leader.send(time.time(), HOME)
            return np.allclose(leader.base(), HOME, rtol=0.0, atol=1e-3)
        assert driver.spin_until(at_home, 20.0)
        driver.spin(1.0)
        assert_allclose(leader.base(), HOME, atol=1e-3)
        assert leader.values()['moves by itself'] == 'True'  # its tendons
        driver.command([0.0, 0.0, 0.0, 0.0])
        assert leader.values()['moves by itself'] == 'False'


def test_the_demonstration_of_a_base_is_smooth_and_succeeds():
    assert moves(ROBOT)
    go = base_path(ROBOT)
    assert_allclose(go(0.0), HOME)
    h, arm = 1e-3, Simulator(ROBOT)
    assert arm.statics().converged
    commands = demonstration(ROBOT, {n: arm.rest_command(n) for n in ROBOT.actuators})
    tracker, places = PoseTracker(HOME, 0.02, 0.2, (0.1, 0.5)), []
    for t in np.arange(0.01, 8.0, 0.05):
        pace = np.linalg.norm(go(t + h)[:3, 3] - 2 * go(t)[:3, 3] + go(t - h)[:3, 3]) / h ** 2
        assert pace < 1.0  # [m/s^2]
    while arm.time < 8.0:
        assert not tracker.see(arm.time, go(arm.time))
        arm.drive_base(tracker.motion(arm.time + STEP))
        arm.command(**commands(arm.time))
        assert arm.step(STEP).converged
        places.append(arm.base_pose()[:3, 3])
        assert np.linalg.norm(places[-1] - go(arm.time)[:3, 3]) < 2e-3
    assert np.ptp(places, axis=0)[0] > 0.1
