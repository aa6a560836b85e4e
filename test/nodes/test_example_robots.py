"""The example robots over DDS: each moves by itself, and does what it is there for."""

from conftest import ROOT
from driver import simulator
from geometry_msgs.msg import WrenchStamped
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_simulator import matrix
from tf2_msgs.msg import TFMessage

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.description.robot import load
from cosserat_ros.msg import Contacts, Load, SolverStatus, Target
from cosserat_ros.nodes.common.conversions import fill_xyz, xyz
from cosserat_ros.simulation.simulator import Load as LibraryLoad, Simulator
from cosserat_ros.srv import (
    Linearize,
    Reset,
    SetPayload,
    SetWrench,
    SolveInverseStatics,
    SolveStatics,
)

CONFIG = ROOT / 'config'
SHOWN = {'gripper': 0.02, 'catheter': 0.05, 'dual_arm': 0.01, 'frame': 0.05,
         'swimmer': 0.2, 'mobile_arm': 0.02}  # how far its tip goes at least [m]


def body(driver, name):
    """Return where a body is now, seen from base_link [m]."""
    driver.fresh('~/tip_pose')
    driver.messages['/tf'].clear()

    def found():
        return [t for m in driver.messages['/tf'] for t in m.transforms
                if t.child_frame_id == name]
    assert driver.spin_until(found, 20.0)
    return matrix(found()[-1])[:3, 3]


def matrix_of(driver, name):
    """Return the attitude of a body now, seen from base_link, (3, 3)."""
    transforms = [t for m in driver.messages['/tf'] for t in m.transforms
                  if t.child_frame_id == name]
    return matrix(transforms[-1])[:3, :3]


def state(driver, name):
    """Return position and effort of an actuator."""
    states = driver.fresh()
    at = list(states.name).index(name)
    return states.position[at], states.effort[at]


def command(driver, robot, wanted, **commands):
    """Command the actuators named, all others 0, until something holds."""
    values = [float(commands.get(name, 0.0)) for name in load(CONFIG / f'{robot}.yaml').actuators]
    driver.command(values)
    assert driver.spin_until(wanted, 30.0)


def check_steps(driver):
    """No step failed, and all commands were taken."""
    values = driver.diagnosis()[2]
    assert values['failed steps'] == values['rejected commands'] == '0', values


@pytest.mark.parametrize('name', SHOWN)
def test_it_moves_by_itself(name):
    with simulator(robot=name, demonstrate='true') as (driver, _):
        start, farthest = driver.tip(), 0.0

        def gone():
            nonlocal farthest
            farthest = max(farthest, np.linalg.norm(driver.tip() - start))
            return farthest > SHOWN[name]
        assert driver.spin_until(gone, 40.0), farthest
        assert driver.diagnosis()[2]['moves by itself'] == 'True'
        check_steps(driver)


@pytest.mark.parametrize('how', ['load', 'unload', 'equilibrium', 'rest', 'push'])
def test_a_frame_is_shown_under_loads_until_somebody_loads_it(how):
    with simulator(robot='frame', demonstrate='true') as (driver, _):
        assert driver.spin_until(lambda: driver.tip()[0] < 0.9, 20.0)
        if how in ('load', 'unload'):
            mine = [Load(name='mine')] * (how == 'load')
            for load in mine:
                load.station.rod, load.wrench.force.z = 'right', -1.0
            assert driver.ask(SetWrench, 'set_wrench', loads=mine).success
        elif how == 'push':
            message = WrenchStamped()
            message.header.frame_id, message.wrench.force.z = 'tip', -0.1
            driver.send('~/wrench', message)
        else:
            target = getattr(Reset.Request, how.upper())
            assert driver.ask(Reset, 'reset', target=target).success
        assert driver.spin_until(
            lambda: driver.diagnosis()[2]['moves by itself'] == 'False', 10.0)
        check_steps(driver)
        assert driver.ask(Reset, 'reset', target=Reset.Request.EQUILIBRIUM).success
        x = driver.tip()[0]
        if how == 'equilibrium':
            assert x < 0.95  # of the loads that acted
        else:
            assert_allclose(x, 1.0, atol=1e-2)


def test_a_gripper_lifts_its_box_and_lets_go_of_it():
    with simulator(robot='gripper') as (driver, _):
        driver.subscribe(TFMessage, '/tf', 100)
        assert_allclose(body(driver, 'box'), [0.0, 0.0, 0.025], atol=1e-4)
        closed = dict.fromkeys(('left', 'right', 'thumb'), 90e3)
        command(driver, 'gripper', lambda: state(driver, 'thumb')[1] > 89e3, **closed)
        command(driver, 'gripper', lambda: state(driver, 'lift')[0] > 0.0699, **closed, lift=0.07)
        assert body(driver, 'box')[2] > 0.06
        check_steps(driver)
        command(driver, 'gripper', lambda: body(driver, 'box')[2] < 0.04, lift=0.07)


def pull(driver, frame, *force):
    """Let a force act on a frame, along its axes [N]."""
    message = WrenchStamped()
    message.header.frame_id = frame
    fill_xyz(message.wrench.force, force)
    driver.send('~/wrench', message)


def pressed(driver, obstacle):
    """Return the sum of normal forces on an obstacle now [N]."""
    return sum(np.linalg.norm(xyz(c.normal_force)) for c in driver.fresh('~/contacts').contacts
               if c.other == obstacle)


def test_a_box_is_pulled_out_of_a_gripper_as_friction_says():
    """By ~/wrench on its frame: it slips where its weight and the pull are mu sum N, in 2 %."""
    described = load(CONFIG / 'gripper.yaml')
    weight = 9.81 * described.bodies['box'].mass
    friction = described.obstacles['box'].friction
    with simulator(robot='gripper') as (driver, _):
        driver.subscribe(TFMessage, '/tf', 100)
        driver.subscribe(Contacts, driver.topic('~/contacts'))
        closed = dict.fromkeys(('left', 'right', 'thumb'), 90e3)
        command(driver, 'gripper', lambda: state(driver, 'thumb')[1] > 89e3, **closed)
        command(driver, 'gripper', lambda: state(driver, 'lift')[0] > 0.0699, **closed, lift=0.07)
        driver.spin(1.0)
        holds, high = friction * pressed(driver, 'box'), body(driver, 'box')[2]
        assert holds > 2.0 * weight and high > 0.06
        for part in np.linspace(0.0, 0.9, 45):
            pull(driver, 'box', 0.0, 0.0, part * (weight - holds))
            driver.spin(0.05)
        assert body(driver, 'box')[2] > high - 2e-3
        for part in np.arange(0.9, 1.1, 2e-3):
            now = friction * pressed(driver, 'box')
            pull(driver, 'box', 0.0, 0.0, weight - part * holds)
            driver.spin(0.15)
            if body(driver, 'box')[2] < high - 8e-3:
                break
        assert_allclose(part * holds, now, rtol=0.02)
        assert driver.spin_until(lambda: body(driver, 'box')[2] < 0.04, 10.0)  # it is out
        check_steps(driver)


@pytest.mark.parametrize('station', ['', 'palm', 'palm_left'])
def test_a_weight_on_a_palm_is_felt_by_its_drive(station):
    """At the tip, which is beside the palm, or on a frame of it: what lifts bears it."""
    with simulator(robot='gripper') as (driver, _):
        driver.spin(0.5)
        alone = state(driver, 'lift')[1]
        weight = Load(name='weight')
        weight.station.frame_id, weight.wrench.force.z = station, -2.0
        answer = driver.ask(SetWrench, 'set_wrench', loads=[weight])
        assert answer.success, answer.message
        driver.spin(1.0)
        assert_allclose(state(driver, 'lift')[1], alone + 2.0, atol=0.01)
        assert driver.ask(SetWrench, 'set_wrench').success
        carried = SetPayload.Request(name='weight', attached=True)
        carried.station.frame_id, carried.inertia.m = station, 0.2
        answer = driver.call(SetPayload, f'{driver.own}/set_payload', carried)
        assert answer.success, answer.message
        driver.spin(1.0)
        assert_allclose(state(driver, 'lift')[1], alone + 0.2 * 9.81, atol=0.01)
        check_steps(driver)


def test_a_box_is_brought_to_its_target_by_two_arms():
    """A frame on it, pulled by a load there; met, and where statics and motion have it."""
    robot = load(CONFIG / 'dual_arm.yaml')
    sim, side = Simulator(robot), robot.bodies['box'].frames['right'].matrix()
    load_there = LibraryLoad(np.array([0.05, 0.1, 0.0, 0.0, 0.0, 0.0]), body='box', offset=side)
    sim.set_loads({'pull': load_there})
    sim.command(left_1=3.0, right_1=4.0, left_2=2.0)
    assert sim.statics().converged
    goal = (sim.body_poses()['box'] @ side)[:3, 3]
    with simulator(robot='dual_arm') as (driver, _):
        driver.subscribe(TFMessage, '/tf', 100)
        held = Load(name='pull')
        held.station.frame_id = 'box_right'
        fill_xyz(held.wrench.force, (0.05, 0.1, 0.0))
        assert driver.ask(SetWrench, 'set_wrench', loads=[held]).success
        target = Target(kind=Target.POSITION)
        target.station.frame_id = 'box_right'
        fill_xyz(target.pose.position, goal)
        answer = driver.ask(SolveInverseStatics, 'solve_inverse_statics', 60.0, targets=[target],
                            keep_present_loads=True)
        assert answer.status.code == SolverStatus.CONVERGED, answer.status.message
        assert answer.position_errors[0] < 1e-7
        commands = {one.name: one.value for one in answer.actuation}
        solved = driver.ask(SolveStatics, 'solve_statics', actuation=answer.actuation,
                            keep_present_loads=True)
        assert solved.status.code == SolverStatus.CONVERGED, solved.status.message
        sim.command(**commands)
        assert sim.statics().converged
        assert_allclose((sim.body_poses()['box'] @ side)[:3, 3], goal, atol=1e-6)
        assert_allclose(xyz(solved.equilibrium.backbone.tip.position), sim.tip_pose()[:3, 3],
                        atol=1e-6)
        driver.command([commands[name] for name in robot.actuators])
        driver.equilibrium()
        driver.spin(0.5)
        assert_allclose(body(driver, 'box') + matrix_of(driver, 'box')[:, 0] * side[0, 3], goal,
                        atol=1e-4)
        model = driver.ask(Linearize, 'linearize', station=target.station)
        assert model.status.code == SolverStatus.CONVERGED, model.status.message
        found = linearize(sim, body='box', offset=side)
        assert_allclose(np.array(model.compliance.data).reshape(6, 6), found.compliance,
                        rtol=1e-3, atol=1e-3 * np.abs(found.compliance).max())
        check_steps(driver)


def test_frames_that_nothing_can_act_on_are_rejected_with_those_that_can():
    with simulator(robot='gripper') as (driver, _):
        for frame in ('base_link', 'world', 'lid'):
            weight = Load(name='weight')
            weight.station.frame_id = frame
            answer = driver.ask(SetWrench, 'set_wrench', loads=[weight])
            assert not answer.success
            for word in (frame, 'palm', 'box', 'palm_left', 'tip', 'left_00'):
                assert word in answer.message, answer.message


def test_a_catheter_is_pushed_in_and_turned():
    with simulator(robot='catheter') as (driver, _):
        start = driver.tip()
        command(driver, 'catheter', lambda: state(driver, 'insertion')[0] > 0.0999, insertion=0.1)
        command(driver, 'catheter', lambda: state(driver, 'rotation')[0] > 0.999,
                insertion=0.1, rotation=1.0, bend=1.0)
        moved = driver.tip() - start
        assert moved[0] > 0.03 and moved[2] > 0.03, moved  # round the bend
        check_steps(driver)


def test_two_arms_shift_their_box():
    with simulator(robot='dual_arm') as (driver, _):
        driver.subscribe(TFMessage, '/tf', 100)
        command(driver, 'dual_arm', lambda: body(driver, 'box')[0] > 0.005, left_1=5, right_1=5)
        check_steps(driver)


def test_a_frame_sinks_under_a_load():
    """By as much as beam theory says, see test_examples.py."""
    stiffness = load(CONFIG / 'frame.yaml').rods['right'].stiffness(0.0)[3]
    with simulator(robot='frame') as (driver, _):
        weight = Load(name='weight')
        weight.station.rod, weight.wrench.force.z = 'right', -0.1
        weight.station.arc_length = 1.0
        answer = driver.ask(SetWrench, 'set_wrench', loads=[weight])
        assert answer.success, answer.message
        driver.equilibrium()
        driver.spin(0.5)
        assert_allclose(2.0 - driver.tip()[2], 0.1 * 8.0 / (8.0 * stiffness), rtol=1e-2)
