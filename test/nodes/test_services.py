"""The services of a simulator, asked rightly and wrongly, over real DDS."""

import math
import re
import signal
import time

from conftest import ROOT
from driver import simulator, wait_for
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.analysis.stability import stability
from cosserat_ros.description.parts import Body
from cosserat_ros.description.robot import load
from cosserat_ros.msg import (
    ActuatorBounds,
    ActuatorCommand,
    ActuatorInfo,
    Load,
    RobotInfo,
    SolverStatus,
    Station,
    Target,
)
from cosserat_ros.nodes.common.qos import LATCHED_QOS
from cosserat_ros.simulation.simulator import Load as LibraryLoad, Simulator
from cosserat_ros.srv import (
    Linearize,
    Reset,
    SaveSnapshot,
    SetPayload,
    SetWrench,
    SolveInverseStatics,
    SolveStatics,
    Step,
)

GIVEN = {
    'tendon_arm': {'tendon_1': 1.0, 'tendon_2': 0.5},
    'fluidic_finger': {'chamber': 1.2e-4},
    'stewart_gough': {'leg_1': 0.52, 'leg_4': 0.49},
}


@pytest.fixture(scope='module', params=GIVEN)
def driven(request):
    """Return a driver of each kind of robot, and the library's own simulator of it."""
    sim = Simulator(load(ROOT / 'config' / f'{request.param}.yaml'))
    with simulator(robot=request.param, step_rate=500.0) as (driver, _):
        driver.sim, driver.given = sim, GIVEN[request.param]
        yield driver


@pytest.fixture
def robot(driven):
    """Return who drives a robot that is at rest, and the library's at rest as well."""
    driven.reset()
    driven.sim = Simulator(driven.sim.robot)
    driven.sim.statics()
    return driven


def position(pose):
    return np.array([pose.position.x, pose.position.y, pose.position.z])


def asked(commands):
    return [ActuatorCommand(name=name, value=value) for name, value in commands.items()]


def pull(name='pull', force=0.01, **fields):
    message = Load(name=name, **fields)
    message.wrench.force.x = force
    return message


# --- Statics -------------------------------------------------------------------------------------

def test_statics_are_those_of_the_library(robot):
    before = robot.tip()
    answer = robot.ask(SolveStatics, 'solve_statics', actuation=asked(robot.given), loads=[pull()])
    assert answer.status.code == SolverStatus.CONVERGED, answer.status.message
    sim, found = robot.sim, answer.equilibrium
    sim.command(**robot.given)
    sim.set_wrench([0.01, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert sim.statics().converged
    assert_allclose(position(found.backbone.tip), sim.tip_pose()[:3, 3], atol=1e-7)
    states = sim.actuators()
    assert list(found.actuators.name) == list(states)
    assert_allclose(found.actuators.effort, [a.effort for a in states.values()], atol=1e-3)
    assert_allclose(found.actuators.position, [a.position for a in states.values()], atol=1e-7)
    judged = stability(sim)
    assert found.stable == judged.stable
    assert_allclose(found.stability_margin, judged.margin, rtol=1e-3)
    moved = np.array([[v.x, v.y, v.z] for v in found.critical_displacements])
    assert len(moved) == 21 * len(sim.robot.rods)
    assert_allclose(np.linalg.norm(moved, axis=1).max(), 1.0)
    assert 0.0 < answer.status.solve_time < 10.0 and answer.status.iterations > 0
    assert_allclose(robot.tip(), before, atol=1e-6)  # the simulation is not touched


def test_inverse_statics_find_commands_that_lead_there(robot):
    sim = robot.sim
    sim.command(**robot.given)
    assert sim.statics().converged
    goal = Target(kind=Target.POSITION)
    goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = sim.tip_pose()[:3, 3]
    answer = robot.ask(SolveInverseStatics, 'solve_inverse_statics', targets=[goal])
    assert answer.status.code == SolverStatus.CONVERGED, answer.status
    assert_allclose(answer.position_errors, [0.0], atol=1e-7)
    assert answer.local_optimum and 1 <= answer.starts_agreed <= answer.starts
    assert_allclose(position(answer.equilibrium.backbone.tip), sim.tip_pose()[:3, 3], atol=1e-7)
    again = Simulator(sim.robot)
    again.command(**{c.name: c.value for c in answer.actuation})
    assert again.statics().converged
    assert_allclose(again.tip_pose()[:3, 3], sim.tip_pose()[:3, 3], atol=1e-6)


def test_a_target_out_of_reach_is_a_best_effort(robot):
    goal = Target()
    goal.pose.position.z = 2.0
    name, bounds = next(iter(robot.given)), []
    actuator = robot.sim.robot.actuators[name]
    bounds = [ActuatorBounds(name=name, bounded_above=True, upper=robot.given[name],
                             bounded_below=True, lower=actuator.bounds[0])]
    answer = robot.ask(SolveInverseStatics, 'solve_inverse_statics', timeout=60.0,
                       targets=[goal], bounds=bounds, from_rest=True)
    assert answer.status.code in (SolverStatus.BEST_EFFORT, SolverStatus.NOT_CONVERGED)
    assert answer.status.message and answer.position_errors[0] > 1.0
    found = {c.name: c.value for c in answer.actuation}
    assert found[name] <= robot.given[name] * (1 + 1e-9)


def test_the_linear_model_is_that_of_the_library(robot):
    answer = robot.ask(Linearize, 'linearize', at_equilibrium=True, actuation=asked(robot.given))
    assert answer.status.code == SolverStatus.CONVERGED, answer.status.message
    sim = robot.sim
    sim.command(**robot.given)
    sim.statics()
    model = linearize(sim)

    def matrix(message):
        rows, columns = (d.size for d in message.layout.dim)
        return np.array(message.data).reshape(rows, columns)

    assert_allclose(matrix(answer.jacobian), model.jacobian, rtol=1e-4,
                    atol=1e-6 * np.abs(model.jacobian).max())
    assert matrix(answer.compliance).shape == (6, 6)
    A, B, C, D = (matrix(getattr(answer, f'{name}_matrix'))
                  for name in ('state', 'input', 'output', 'feedthrough'))
    # The basis of the modes may differ; the static gain does not.
    gain = D - C @ np.linalg.solve(A, B)
    assert_allclose(gain[:6], model.jacobian, atol=2e-3 * np.abs(model.jacobian).max())
    assert [c.name for c in answer.inputs] == list(sim.robot.actuators)
    assert len(answer.state) == len(A)


# --- The simulation ------------------------------------------------------------------------------

def test_paused_it_stands_and_steps_are_deterministic(robot):
    assert robot.ask(SetBool, 'pause', data=True).success
    assert robot.ask(SaveSnapshot, 'save_snapshot', name='here').success
    names = list(robot.sim.robot.actuators)
    values = [robot.given.get(name, robot.sim.commands[name]) for name in names]
    tips = []
    for _ in range(2):
        answer = robot.ask(Reset, 'reset', target=Reset.Request.SNAPSHOT, snapshot='here')
        assert answer.success, answer.message
        robot.tell('~/commands', Float64MultiArray(data=values))
        stepped = robot.ask(Step, 'step', steps=25)
        assert stepped.success, stepped.message
        passed = stepped.time.sec - answer.time.sec + 1e-9 * (
            stepped.time.nanosec - answer.time.nanosec)
        assert_allclose(passed, 25 * 0.002, atol=1e-8)
        tips.append(robot.tip())
        stamps = [robot.fresh('~/tip_pose').header.stamp for _ in range(2)]
        assert (stamps[0].sec, stamps[0].nanosec) < (stamps[1].sec, stamps[1].nanosec)
    assert_allclose(tips[0], tips[1], atol=1e-8)
    assert robot.diagnosis()[2]['paused'] == 'True'
    assert robot.ask(SetBool, 'pause', data=False).success
    assert not robot.ask(Step, 'step').success


def test_reset_to_the_equilibrium_leaves_no_motion(robot):
    assert robot.ask(SetBool, 'pause', data=True).success
    assert robot.ask(SetWrench, 'set_wrench', loads=[pull()]).success
    assert robot.ask(Reset, 'reset', target=Reset.Request.EQUILIBRIUM).success
    sim = robot.sim
    sim.set_wrench([0.01, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert sim.statics().converged
    assert robot.ask(Step, 'step', steps=20).success
    assert_allclose(robot.tip(), sim.tip_pose()[:3, 3], atol=1e-6)


def test_a_spread_load_is_that_of_the_library(robot):
    rod = next(iter(robot.sim.robot.rods))
    station = Station(rod=rod, arc_length=0.02)
    answer = robot.ask(SolveStatics, 'solve_statics', loads=[pull(station=station, extent=0.05)])
    assert answer.status.code == SolverStatus.CONVERGED
    force = np.array([0.01, 0.0, 0.0, 0.0, 0.0, 0.0])
    many = np.linspace(0.02, 0.07, 41)
    robot.sim.set_loads({
        str(k): LibraryLoad(force / 40, rod, float(s))
        for k, s in enumerate(0.5 * (many[1:] + many[:-1]))})
    assert robot.sim.statics().converged
    assert_allclose(position(answer.equilibrium.backbone.tip), robot.sim.tip_pose()[:3, 3],
                    atol=2e-6)


def test_a_payload_is_picked_up_and_let_go(robot):
    assert robot.ask(SetBool, 'pause', data=True).success
    request = SetPayload.Request(name='weight', attached=True)
    request.inertia.m = 0.002
    request.inertia.com.x = 0.003
    sim = robot.sim
    sim.carry('weight', Body(0.002, centre_of_mass=(0.003, 0.0, 0.0)),
              on='platform' if sim.robot.platform is not None else None)
    for attached in (True, False):
        request.attached = attached
        answer = robot.call(SetPayload, f'{robot.own}/set_payload', request)
        assert answer.success, answer.message
        if not attached:
            sim.carry('weight', None)
        assert sim.statics().converged
        assert robot.ask(Reset, 'reset', target=Reset.Request.EQUILIBRIUM).success
        assert_allclose(robot.tip(), sim.tip_pose()[:3, 3], atol=1e-6)
    answer = robot.call(SetPayload, f'{robot.own}/set_payload', request)
    assert not answer.success and 'weight' in answer.message


def test_it_says_what_it_is(robot):
    robot.subscribe(RobotInfo, f'{robot.own}/robot', LATCHED_QOS)
    assert robot.spin_until(lambda: robot.messages[f'{robot.own}/robot'])
    info, described = robot.messages[f'{robot.own}/robot'][-1], robot.sim.robot
    assert info.name == described.name and info.step == 0.002
    assert [a.name for a in info.actuators] == list(described.actuators)
    kinds = {'tendon_arm': ActuatorInfo.TENDON, 'fluidic_finger': ActuatorInfo.CHAMBER,
             'stewart_gough': ActuatorInfo.LEG}
    for a in info.actuators:
        assert a.kind == kinds[described.name] and a.unit == described.actuators[a.name].unit
        assert (a.lower, a.upper) == described.actuators[a.name].bounds
        assert a.rest == robot.sim.rest_command(a.name)


# --- Wrong ---------------------------------------------------------------------------------------

@pytest.fixture(scope='module')
def arm():
    """Return who drives a tendon arm."""
    with simulator('-r', '__ns:=/arm', namespace='/arm') as (driver, _):
        yield driver


@pytest.mark.parametrize('kind, service, fields, words', [
    (SolveStatics, 'solve_statics', {'actuation': asked({'tendon_9': 1.0})}, ['tendon_9']),
    (SolveStatics, 'solve_statics', {'actuation': asked({'tendon_1': math.nan})}, ['nan']),
    (SolveStatics, 'solve_statics', {'actuation': asked({'tendon_1': 11.0})}, ['11.0', '10']),
    (SolveStatics, 'solve_statics', {'actuation': [
        ActuatorCommand(name='tendon_1', mode=3)]}, ['mode', '3', 'EFFORT']),
    (SolveStatics, 'solve_statics', {'loads': [pull(force=math.inf)]}, ['loads[0]', 'inf']),
    (SolveStatics, 'solve_statics', {'loads': [pull(station=Station(frame_id='hand'))]},
     ['hand', 'tip']),
    (SolveStatics, 'solve_statics', {'loads': [pull(station=Station(rod='leg'))]}, ['leg']),
    (SolveStatics, 'solve_statics', {'loads': [pull(station=Station(arc_length=0.3))]}, ['0.3']),
    (SolveStatics, 'solve_statics', {'loads': [
        pull(kind=1, station=Station(arc_length=0.1))]}, ['element ends', '0.24']),
    (SolveStatics, 'solve_statics', {'loads': [pull(extent=0.1)]}, ['extent']),
    (SolveStatics, 'solve_statics', {'loads': [pull(kind=7)]}, ['kind', '7', 'FOLLOWER']),
    (SolveInverseStatics, 'solve_inverse_statics', {}, ['targets']),
    (SolveInverseStatics, 'solve_inverse_statics', {'targets': [Target(kind=9)]}, ['kind', '9']),
    (SolveInverseStatics, 'solve_inverse_statics', {'targets': [Target()], 'secondary_goal': 9},
     ['secondary_goal', '9']),
    (SolveInverseStatics, 'solve_inverse_statics', {
        'targets': [Target()], 'bounds': [ActuatorBounds(name='x')]}, ['bounds[0]', 'x']),
    (Linearize, 'linearize', {'station': Station(frame_id='hand')}, ['hand']),
    (SolveStatics, 'solve_statics', {'loads': [pull(str(k)) for k in range(101)]},
     ['loads', '101', 'at most 100']),
    (SolveStatics, 'solve_statics', {'actuation': [ActuatorCommand()] * 1001},
     ['actuation', '1001', 'at most 1000']),
    (SolveInverseStatics, 'solve_inverse_statics', {'targets': [Target()] * 101},
     ['targets', '101', 'at most 100']),
    (SolveInverseStatics, 'solve_inverse_statics', {
        'targets': [Target()], 'bounds': [ActuatorBounds()] * 1001}, ['bounds', '1001']),
    (Linearize, 'linearize', {'station': Station(rod='x' * 100_000)},
     ['station.rod', 'at most 1000 characters', '100000']),
    (SolveStatics, 'solve_statics', {'loads': [pull('x' * 2000)]}, ['loads[0].name', '2000']),
])
def test_a_wrong_question_is_refused_with_a_reason(arm, kind, service, fields, words):
    answer = arm.ask(kind, service, **fields)
    assert answer.status.code == SolverStatus.INVALID_REQUEST
    for word in words:
        assert word in answer.status.message, answer.status.message
    assert np.isfinite(arm.tip()).all()


@pytest.mark.parametrize('kind, service, fields, words', [
    (Reset, 'reset', {'target': 9}, ['target', '9']),
    (Reset, 'reset', {'target': 2, 'snapshot': 'x'}, ['x']),
    (SaveSnapshot, 'save_snapshot', {}, ['name']),
    (Step, 'step', {}, ['paused']),
    (SetWrench, 'set_wrench', {'loads': [pull('')]}, ['name']),
    (SetWrench, 'set_wrench', {'loads': [pull(force=math.nan)]}, ['pull', 'nan']),
    (SetWrench, 'set_wrench', {'loads': [pull('a'), pull('a')]}, ['a', 'once']),
    (SetPayload, 'set_payload', {'name': 'x', 'attached': True}, ['mass']),
    (SetPayload, 'set_payload', {'name': 'x'}, ['x']),
    (SetWrench, 'set_wrench', {'loads': 50_000 * [pull()]},
     ['loads', '50000', 'at most 100']),
    (SaveSnapshot, 'save_snapshot', {'name': 'x' * 5000}, ['name', '5000']),
    (SetPayload, 'set_payload', {'name': 'x' * 5000, 'attached': True}, ['name', '5000']),
    (Reset, 'reset', {'target': 2, 'snapshot': '\u202e' * 5000}, ['snapshot', '5000']),
])
def test_a_wrong_wish_changes_nothing_and_is_explained(arm, kind, service, fields, words):
    answer = arm.ask(kind, service, **fields)
    assert not answer.success
    for word in words:
        assert word in answer.message, answer.message


def test_what_is_kept_is_bounded_too(arm):
    """As many as are allowed at once, again and again: the next is refused, the others stay."""
    try:
        for k in range(0, 100, 50):
            loads = [pull(f'{k + i}', force=1e-6) for i in range(50)]
            assert arm.ask(SetWrench, 'set_wrench', add=True, loads=loads).success
        answer = arm.ask(SetWrench, 'set_wrench', add=True, loads=[pull('one more')])
        assert not answer.success and 'loads must be at most 100, got 101' in answer.message
        before = int(arm.diagnosis()[2]['rejected commands'])
        arm.send('~/wrench', wrench_on('tip', 1e-3))
        assert 'at most 100' in arm.rejection(before)
        assert arm.ask(SetWrench, 'set_wrench', add=True, loads=[pull('0', force=0.0)]).success
    finally:
        assert arm.ask(SetWrench, 'set_wrench').success
    request = SetPayload.Request(attached=True)
    request.inertia.m = 1e-9
    for k in range(101):
        request.name = str(k)
        answer = arm.call(SetPayload, f'{arm.own}/set_payload', request)
        assert answer.success == (k < 100), answer.message
    assert 'payloads must be at most 100' in answer.message
    arm.reset()
    for k in range(101):
        answer = arm.ask(SaveSnapshot, 'save_snapshot', name=str(k))
        assert answer.success == (k < 100), answer.message
    assert 'snapshots must be at most 100' in answer.message
    assert arm.ask(SaveSnapshot, 'save_snapshot', name='0').success


def wrench_on(frame_id, force):
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.x = frame_id, force
    return message


def test_a_flood_of_questions_holds_nothing_up(arm):
    client = arm.node.create_client(
        Linearize, f'{arm.own}/linearize', qos_profile=QoSProfile(depth=100))
    assert client.wait_for_service(5.0)
    steps = int(arm.diagnosis()[2]['steps'])
    begun = time.monotonic()
    futures = [client.call_async(Linearize.Request()) for _ in range(60)]
    arm.send('~/commands', Float64MultiArray(data=[0.75, 0.0, 0.0, 0.0]))
    assert arm.spin_until(lambda: arm.efforts()[0] == 0.75, 5.0)
    assert arm.spin_until(lambda: all(f.done() for f in futures), 30.0)
    codes = [f.result().status.code for f in futures]
    assert set(codes) <= {SolverStatus.CONVERGED, SolverStatus.NOT_AVAILABLE}
    assert codes.count(SolverStatus.CONVERGED) >= 1
    assert all('wait' in f.result().status.message for f, code in zip(futures, codes)
               if code == SolverStatus.NOT_AVAILABLE)
    level, _, values = arm.diagnosis()
    assert int(values['steps']) - steps > 0.8 * 60 * (time.monotonic() - begun - 1.0)


def test_many_steps_keep_neither_pause_nor_reset_waiting(arm):
    def begin(steps):
        client = arm.node.create_client(Step, f'{arm.own}/step')
        assert client.wait_for_service(10.0)
        future = client.call_async(Step.Request(steps=steps))
        arm.spin(0.3)
        return future

    arm.reset()
    for kind, service, fields in (
        (SetBool, 'pause', {'data': True}),
        (Reset, 'reset', {'target': Reset.Request.REST}),
        (Reset, 'reset', {'target': Reset.Request.EQUILIBRIUM}),
        (SetBool, 'pause', {'data': False}),
    ):
        assert arm.ask(SetBool, 'pause', data=True).success
        stepped = [begin(100_000), begin(100_000)]
        begun = time.monotonic()
        assert arm.ask(kind, service, **fields).success
        waited = time.monotonic() - begun
        for future in stepped:
            assert arm.spin_until(future.done)
            answer = future.result()
            assert not answer.success
            taken = re.fullmatch(
                'pause, reset or cancel was asked for, after ([0-9]+) of 100000 steps',
                answer.message)
            assert taken, answer.message
            assert int(taken[1]) < 50_000, waited
    # What is not urgent waits for its turn, so that stepping is deterministic.
    assert arm.ask(SetBool, 'pause', data=True).success
    stepped = begin(2000)
    assert arm.ask(SetWrench, 'set_wrench').success
    assert stepped.done() and stepped.result().success
    arm.reset()


def test_an_inactive_simulator_says_so(arm):
    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        assert arm.call(ChangeState, f'{arm.own}/change_state', request).success

    change(Transition.TRANSITION_DEACTIVATE)
    answer = arm.ask(SolveStatics, 'solve_statics')
    assert answer.status.code == SolverStatus.NOT_AVAILABLE
    assert 'not active' in answer.status.message
    answer = arm.ask(SetBool, 'pause', data=True)
    assert not answer.success and 'not active' in answer.message
    change(Transition.TRANSITION_ACTIVATE)
    assert arm.ask(SolveStatics, 'solve_statics').status.code == SolverStatus.CONVERGED


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_solving_ends_it_cleanly(number):
    with simulator('-r', '__ns:=/ending', namespace='/ending',
                   robot='stewart_gough') as (driver, process):
        goal = Target()
        goal.pose.position.z = 3.0
        client = driver.node.create_client(
            SolveInverseStatics, f'{driver.own}/solve_inverse_statics')
        assert client.wait_for_service(5.0)
        for _ in range(8):
            client.call_async(SolveInverseStatics.Request(targets=[goal]))
        driver.spin(0.7)
        process.process.send_signal(number)
        assert wait_for(lambda: process.process.poll() is not None, 6.0)
        assert process.wait() == 0
        assert 'Traceback' not in process.output()
