"""Threads of the simulator node that are slow, fail or die: all of it is seen. Over real DDS."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
import sys
import threading

from conftest import ROOT, Running
from driver import Driver
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import pytest
from std_srvs.srv import SetBool

from cosserat_ros.description.robot import load
from cosserat_ros.msg import Load
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import Reset, SetWrench

OK, WARN, ERROR = range(3)
SCRIPT = Path(__file__).with_name('faulty_simulator.py')


@contextmanager
def faulty():
    """Start a simulator whose faults are loads, and one who drives it."""
    process = Running([sys.executable, str(SCRIPT)], None)
    driver = None
    try:
        driver = Driver(bound=60.0)
        yield driver, process
    finally:
        if driver is not None:
            driver.close()
        process.kill()


@pytest.fixture
def driven():
    """Return who drives a simulator whose faults are loads, and its process."""
    with faulty() as given:
        yield given


def bring_about(driver, *faults):
    """Ask for faults, and for none of the others; return the future of the answer."""
    client = driver.node.create_client(SetWrench, f'{driver.own}/set_wrench')
    assert client.wait_for_service(10.0)
    return client.call_async(SetWrench.Request(loads=[Load(name=name) for name in faults]))


def change(driver, transition):
    request = ChangeState.Request(transition=Transition(id=transition))
    return driver.call(ChangeState, f'{driver.own}/change_state', request, 30.0).success


def says(driver, level, words):
    """Wait until diagnostics are of a level and say some words."""
    said = []

    def found():
        said[:] = driver.diagnosis()
        return said[0] == level and words in said[1]
    assert driver.spin_until(found, 30.0), said


def runs(driver):
    """Wait until time passes again, and all is well."""
    def well():
        level, _, values = driver.diagnosis()
        return level == OK and float(values['real-time factor']) > 0.2
    assert driver.spin_until(well, 30.0), driver.diagnosis()


def test_a_simulator_is_stepped_by_one_thread_alone(driven):
    driver, process = driven
    assert driver.spin_until(bring_about(driver, 'slow').done)
    says(driver, WARN, 'a step has taken')
    assert change(driver, Transition.TRANSITION_DEACTIVATE)  # in the middle of a step
    assert not change(driver, Transition.TRANSITION_ACTIVATE)
    assert driver.spin_until(  # the answer may be here before what it has logged
        lambda: 'cannot activate: stepping has not ended' in process.output(), 20.0)
    assert not driver.ask(SetBool, 'pause', data=True).success  # and it says that it is inactive
    assert driver.spin_until(lambda: change(driver, Transition.TRANSITION_ACTIVATE), 30.0)
    assert driver.spin_until(bring_about(driver).done, 30.0)
    runs(driver)
    assert 'two threads step' not in process.output()


def test_stepping_that_fails_is_told_of_and_goes_on(driven):
    driver, process = driven
    answered = bring_about(driver, 'broken')
    assert driver.spin_until(answered.done), 'no answer'
    assert 'OverflowError: too long a wait' in answered.result().message
    says(driver, ERROR, 'stepping failed: OverflowError: too long a wait')
    answer = driver.ask(SetBool, 'pause', data=True)
    assert not answer.success and 'too long a wait' in answer.message
    assert 'too long a wait' in process.output()
    driver.spin_until(bring_about(driver).done)
    assert driver.ask(SetBool, 'pause', data=False).success
    runs(driver)


def test_a_thread_that_dies_ends_the_node_with_the_reason(driven):
    driver, process = driven
    bring_about(driver, 'deadly')
    assert driver.spin_until(lambda: process.process.poll() is not None, 30.0)
    assert process.wait() == 1
    assert 'stepping died: SystemExit: of this thread' in process.output()
    assert 'Traceback' not in process.output()


def test_publishing_that_fails_is_told_of_and_goes_on(driven):
    driver, process = driven
    assert driver.spin_until(bring_about(driver, 'unseen').done)
    says(driver, ERROR, 'publishing failed: ZeroDivisionError: nothing to see')
    assert driver.spin_until(bring_about(driver).done)
    runs(driver)
    assert driver.fresh('~/tip_pose')


def test_an_equilibrium_that_cannot_be_solved_is_answered(driven):
    driver, process = driven
    assert driver.spin_until(bring_about(driver, 'unsolved').done)
    for _ in range(2):  # the thread that solves is there for a second one
        answer = driver.ask(Reset, 'reset', target=Reset.Request.EQUILIBRIUM)
        assert not answer.success and 'ArithmeticError: nothing to solve' in answer.message


def test_a_wrench_that_cannot_act_is_counted_as_rejected(driven):
    driver, process = driven
    assert driver.spin_until(bring_about(driver, 'unbearable').done)
    rejected = int(driver.diagnosis()[2]['rejected commands'])
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.x = 'tip', 1.0
    driver.send('~/wrench', message)
    assert driver.spin_until(
        lambda: int(driver.diagnosis()[2]['rejected commands']) == rejected + 1, 30.0)
    assert driver.diagnosis()[2]['last rejection'] == (
        '~/wrench: ArithmeticError: nothing more to bear')
    runs(driver)


def test_a_second_thread_cannot_solve_with_the_same_simulator(monkeypatch):
    arm = Simulator(load(ROOT / 'config' / 'tendon_arm.yaml'))
    began, go_on = threading.Event(), threading.Event()
    step = arm.solver.step

    def wait_and_step(*given):
        began.set()
        assert go_on.wait(30.0)
        return step(*given)
    monkeypatch.setattr(arm.solver, 'step', wait_and_step)
    with ThreadPoolExecutor() as other:
        stepped = other.submit(arm.step)
        assert began.wait(30.0)
        for solve in (arm.step, arm.statics):
            with pytest.raises(RuntimeError, match='another thread'):
                solve()
        go_on.set()
        assert stepped.result(30.0).converged
    assert arm.step().converged
