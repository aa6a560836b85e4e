"""Whose time it is: real, scaled, simulated, another's. Over real DDS."""

import time

from driver import Driver, simulator
from numpy.testing import assert_allclose
import pytest
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from cosserat_ros.srv import Reset, Step


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


def simulated(driver):
    return float(driver.diagnosis()[2]['simulated time [s]'])


def test_time_scales_live():
    with simulator() as (driver, _):
        for scale, slack in ((1.0, 0.1), (0.25, 0.1), (3.0, 0.2)):
            assert driver.set_parameter('time_scale', scale).successful
            driver.diagnosis()
            begun, start = time.monotonic(), simulated(driver)
            driver.spin(2.5)
            passed = simulated(driver) - start
            assert_allclose(passed / (time.monotonic() - begun), scale, rtol=0.15 + slack)
        assert driver.set_parameter('time_scale', 0.0).successful
        driver.diagnosis()
        begun, start = time.monotonic(), simulated(driver)
        driver.spin(1.5)
        assert simulated(driver) - start > 5.0 * (time.monotonic() - begun)


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
            assert abs(seconds(second.fresh('joint_states').header.stamp) - now) < 3.0
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
            assert second.spin_until(lambda: simulated(second) > stands + 0.9, 5.0)
            assert simulated(second) < stands + 1.1

            # Back to the start of time: the second goes on from there.
            assert first.ask(SetBool, 'pause', data=False).success
            assert first.ask(Reset, 'reset', target=Reset.Request.REST).success
            goes = simulated(second)
            assert second.spin_until(lambda: simulated(second) > goes + 0.2, 6.0)


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
