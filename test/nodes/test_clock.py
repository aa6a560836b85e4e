"""Whose time it is: real, scaled, simulated, another's. Over real DDS."""

from driver import Driver, simulator
from listener import Listener
from numpy.testing import assert_allclose
import pytest
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from cosserat_ros.srv import Reset, Step

OK, WARN = range(2)


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


def simulated(driver):
    return float(driver.diagnosis()[2]['simulated time [s]'])


def test_time_scales_live():
    with simulator() as (driver, _):
        def factor():
            return float(driver.diagnosis()[2]['real-time factor'])

        for scale in (1.0, 0.25, 3.0):
            assert driver.set_parameter('time_scale', scale).successful
            driver.diagnosis()
            near = pytest.approx(scale, rel=0.05)
            assert driver.spin_until(lambda near=near: factor() == near, 40.0)
        assert driver.set_parameter('time_scale', 0.0).successful
        assert driver.spin_until(lambda: factor() > 5.0, 40.0)
        assert driver.fresh('~/tip_pose')  # it still has time to tell


def test_who_sleeps_by_an_old_rate_is_woken_by_a_new_one():
    with simulator(step_rate=1.0, time_scale=0.001, publish_rate=0.1,
                   joint_state_rate=0.1) as (driver, _):
        def stands():
            level, words, values = driver.diagnosis()
            return (level, values['real-time factor']) == (WARN, '0.000') and (
                'one step every 1e+03 s: time_scale is 0.001, a step 1 s' in words)
        assert driver.spin_until(stands, 20.0), driver.diagnosis()
        assert driver.set_parameter('time_scale', 1000.0).successful
        assert driver.spin_until(lambda: driver.diagnosis()[0] != WARN or float(
            driver.diagnosis()[2]['real-time factor']) > 1.0, 20.0), driver.diagnosis()
        for name, topic in (('joint_state_rate', 'joint_states'), ('publish_rate', '~/tip_pose')):
            # The next one would be due within 10 s: none of these may wait for it.
            for _ in range(5):
                assert driver.set_parameter(name, 0.1).successful
                driver.spin(0.3)
                assert driver.set_parameter(name, 100.0).successful
                driver.fresh(topic, 6.0)


def test_without_a_clock_to_follow_it_says_why_it_stands():
    with simulator(use_sim_time='true') as (driver, _):
        def says(level, words):
            found = []

            def said():
                found[:] = driver.diagnosis()
                return found[0] == level and words in found[1]
            return driver.spin_until(said, 20.0), found
        good, found = says(WARN, 'use_sim_time is set, but /clock does not come')
        assert good, found
        clock = driver.node.create_publisher(Clock, '/clock', 10)
        message = Clock()
        message.clock.sec = 7
        assert driver.spin_until(lambda: clock.get_subscription_count() > 0)
        clock.publish(message)
        good, found = says(WARN, 'use_sim_time is set, but /clock stands still at 7.000 s')
        assert good, found
        assert driver.ask(SetBool, 'pause', data=True).success
        good, found = says(OK, 'paused')
        assert good, found


def test_a_viewer_shows_what_comes_though_simulated_time_stands_still(start_node):
    viewer = start_node('viewer', use_sim_time='true', port=0)
    with simulator() as (driver, _):
        assert driver.spin_until(lambda: 'first transforms' in viewer.output(), 30.0)


def test_a_node_that_waits_for_a_clock_says_so_once(start_node):
    process = start_node('path_follower', use_sim_time='true')
    listener = Listener()
    try:
        said = 'use_sim_time is set, but /clock does not come'
        assert listener.spin_until(lambda: said in process.output(), 30.0), process.output()
        listener.spin(6.0)
        assert process.output().count(said) == 1
        assert process.stop() == 0
    finally:
        listener.close()


@pytest.mark.parametrize('node', ['simulator', 'path_follower', 'comparator', 'viewer'])
def test_a_clock_that_makes_no_sense_is_left_out(start_node, node):
    given = {'port': 0} if node == 'viewer' else {}
    process = start_node(node, use_sim_time='true', **given)
    listener = Listener()
    try:
        clock = listener.node.create_publisher(Clock, '/clock', 10)
        assert listener.spin_until(lambda: clock.get_subscription_count() > 0, 30.0)
        for sec, nanosec in ((-1, 0), (-2 ** 31, 0), (2 ** 31 - 1, 2 ** 32 - 1)):
            message = Clock()
            message.clock.sec, message.clock.nanosec = sec, nanosec
            said = f'got {sec}'

            def left_out(message=message, said=said):
                clock.publish(message)
                listener.spin(0.3)
                return said in process.output()
            assert listener.spin_until(left_out, 30.0), process.output()
        assert process.process.poll() is None
        for sec in (5, 2 ** 31 - 1, 3):  # and time goes on where it makes sense
            message = Clock()
            message.clock.sec = sec
            clock.publish(message)
            listener.spin(0.5)
        assert process.stop() == 0, process.output()
        assert 'Traceback' not in process.output()
    finally:
        listener.close()


def test_a_second_simulator_runs_on_the_time_of_the_first():
    with simulator('-r', '__ns:=/first', namespace='/first', frame_prefix='first/',
                   publish_clock='true', time_scale=0.5) as (first, _):
        first.subscribe(Clock, '/clock')
        with simulator('-r', '__ns:=/second', namespace='/second', frame_prefix='second/',
                       use_sim_time='true') as (second, _):
            clocks = first.messages['/clock']
            assert first.spin_until(lambda: len(clocks) > 20)
            times = [seconds(m.clock) for m in clocks]
            assert times == sorted(times)
            # Stamps are simulated: of the first its own, of the second the first one's.
            now = seconds(first.fresh('joint_states').header.stamp)
            assert abs(now - simulated(first)) < 2.0
            assert second.spin_until(  # before the first /clock comes, it is 0
                lambda: seconds(second.fresh('joint_states').header.stamp) > 0.0)
            assert abs(seconds(second.fresh('joint_states').header.stamp) - now) < 5.0
            start = simulated(first), simulated(second)
            second.spin(3.0)
            passed = simulated(first) - start[0], simulated(second) - start[1]
            assert_allclose(passed[1], passed[0], atol=1.2)
            assert 0.5 < passed[1] < 3.0

            assert first.ask(SetBool, 'pause', data=True).success
            second.spin(0.5)
            stands = simulated(second)
            second.spin(1.0)
            assert_allclose(simulated(second), stands, atol=1e-9)
            assert first.ask(Step, 'step', steps=60).success
            assert second.spin_until(lambda: simulated(second) > stands + 0.9, 20.0)
            assert simulated(second) < stands + 1.1

            # Back to the start of time: the second goes on from there.
            assert first.ask(SetBool, 'pause', data=False).success
            assert first.ask(Reset, 'reset', target=Reset.Request.REST).success
            goes = simulated(second)
            assert second.spin_until(lambda: simulated(second) > goes + 0.2, 20.0)


def test_two_robots_are_driven_apart_from_each_other():
    with simulator('-r', '__ns:=/left', namespace='/left', frame_prefix='left/') as (left, _):
        with simulator('-r', '__ns:=/right', namespace='/right', frame_prefix='right/',
                       robot='fluidic_finger') as (right, _):
            assert left.fresh('~/tip_pose').header.frame_id == 'left/base_link'
            assert right.fresh('~/tip_pose').header.frame_id == 'right/base_link'
            assert left.ask(SetBool, 'pause', data=True).success
            assert left.diagnosis()[2]['paused'] == 'True'
            assert right.diagnosis()[2]['paused'] == 'False'


def test_many_drivers_are_heard():
    with simulator() as (driver, _):
        other = Driver(name='other')
        try:
            assert other.tip() == pytest.approx(driver.tip(), abs=1e-6)
        finally:
            other.close()
