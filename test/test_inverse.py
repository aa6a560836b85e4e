"""Inverse statics: round trips, limits, least effort, best effort, and errors that say where."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.optimize import lsq_linear, minimize

from cosserat_ros.analysis.sensitivity import command_columns, command_jacobian
from cosserat_ros.analysis.stability import stability
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.parts import Limits
from cosserat_ros.description.robot import load
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.inverse.limits import Limits as Bounds
from cosserat_ros.inverse.search import phases, Search
from cosserat_ros.inverse.task import Task
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.simulation.simulator import Simulator

# Robot, what its chambers are told, least and greatest random command as described.
CASES = [
    ('tendon_arm', None, 0.0, 5.0),
    ('helical_arm', None, 0.0, 5.0),
    ('tendon_experiment', None, 0.0, 0.03),
    ('three_segment_arm', None, -0.006, 0.006),
    ('fluidic_finger', None, 5e-5, 2.2e-4),
    ('fluidic_finger', 'volume', 5e-5, 2.2e-4),
    ('fluidic_finger_three_chambers', None, 0.0, 150e3),
    ('fluidic_finger_three_chambers', 'volume', 0.0, 150e3),
    ('fluidic_finger_three_chambers', 'amount', 0.0, 150e3),
    ('planar_parallel', None, 0.37, 0.45),
    ('stewart_gough', None, 0.47, 0.54),
]
SAMPLES = 30


def robot(name, told=None):
    """Return a robot of ours whose chambers may be told something else than described."""
    described = load(ROOT / 'config' / f'{name}.yaml')
    if told is None:
        return described
    return replace(described, chambers={
        key: replace(chamber, command=told, limits=Limits(lower=0.0, upper=1.0))
        for key, chamber in described.chambers.items()})


def simulator(name, told=None):
    sim = Simulator(robot(name, told))
    sim.statics()
    return sim


@pytest.fixture(scope='module')
def arm():
    return InverseStatics(simulator('tendon_arm'))


def reachable_poses(name, least, most, count):
    """Yield tip poses of stable equilibria under random commands, each found from rest."""
    sim, random = simulator(name), np.random.default_rng(7)
    rest = sim.snapshot()
    while count:
        sim.go_to(rest)
        sim.command(**{
            key: random.uniform(least, most) for key in sim.robot.actuators})
        if sim.statics().converged and stability(sim).stable:
            count -= 1
            yield sim.tip_pose()


def assert_within_limits(robot, commands):
    for name, actuator in robot.actuators.items():
        least, most = actuator.bounds
        assert least <= commands[name] <= most


# --- Round trips ---------------------------------------------------------------------------------

@pytest.mark.parametrize(('name', 'told', 'least', 'most'), CASES)
def test_forward_statics_of_what_is_found_is_the_target(name, told, least, most):
    """Every other one from rest, the others from the answer before."""
    inverse, again = InverseStatics(simulator(name, told)), simulator(name, told)
    posed = len(again.robot.actuators) >= 6
    missed = []
    for i, g in enumerate(reachable_poses(name, least, most, SAMPLES)):
        result = inverse.solve([Target(g[:3, 3], g[:3, :3] if posed else None)],
                               start=('last', 'rest')[i % 2])
        assert_within_limits(again.robot, result.commands)
        inverse.apply(result, again)
        away = again.tip_pose() - g
        error = np.linalg.norm(away[:3, 3]) / inverse.length
        if posed:
            error = max(error, np.abs(away[:3, :3]).max())
        exact = error <= 1e-9 and stability(again).stable
        assert exact or not result.met, result
        if not exact:
            missed.append((i, error, result.message))
    assert len(missed) <= 1, missed


@pytest.mark.parametrize('name', ['tendon_arm', 'three_segment_arm', 'stewart_gough'])
def test_few_evaluations_for_a_target_nearby(name):
    """As a tracker asks, from the answer before."""
    sim, inverse = simulator(name), InverseStatics(simulator(name))
    posed, random = sim.robot.platform is not None, np.random.default_rng(5)
    goal = [case[2:] for case in CASES if case[0] == name][0]
    start = {key: sim.rest_command(key) for key in sim.robot.actuators}
    ends = {key: random.uniform(*goal) for key in sim.robot.actuators}
    steps = []
    for part in np.linspace(0.0, 0.5, 11)[1:]:
        sim.command(**{key: (1.0 - part) * start[key] + part * ends[key] for key in ends})
        sim.statics()
        g = sim.tip_pose()
        result = inverse.solve([Target(g[:3, 3], g[:3, :3] if posed else None)])
        assert result.met
        steps.append(result.iterations)
    assert np.median(steps) <= 12, steps


def test_it_only_reads_the_simulator(arm):
    sim = arm.sim
    sim.command(tendon_1=1.0)
    sim.statics()
    before, z, pose = dict(sim.commands), sim.solver.z.copy(), sim.tip_pose()
    for start in ('rest', 'present', 'last'):
        assert arm.solve([Target([0.05, 0.05, 0.2])], start=start).commands != before
    assert sim.commands == before and sim.time == 0.0
    assert_allclose(sim.solver.z, z, rtol=0, atol=0)
    assert_allclose(sim.tip_pose(), pose, rtol=0, atol=0)


def test_several_points_of_the_backbone():
    sim = simulator('three_segment_arm')
    inverse = InverseStatics(simulator('three_segment_arm'))
    sim.command(tendon_1=0.002, tendon_5=0.001, tendon_9=0.002)
    sim.statics()
    s = sim.shape()['backbone']
    targets = [Target(s.poses_at(np.array([x]))[0][:3, 3], at=x) for x in (0.060, 0.1225, 0.1865)]
    coarse = inverse.solve(targets)       # stations between which the shape is interpolated
    assert coarse.position_errors.max() < 1e-5
    ends = sim.solver.state(0).p_end
    result = inverse.solve([Target(p, at=x) for p, x in zip(ends, (0.060, 0.1225, 0.1865))])
    assert result.met and result.position_errors.shape == (3,)


def test_loads_of_the_simulator_count():
    inverse = InverseStatics(simulator('tendon_arm'))
    target = [Target([0.06, 0.0, 0.22])]
    free = inverse.solve(target)
    inverse.sim.set_wrench([0.0, 0.02, 0.0, 0.0, 0.0, 0.0])
    loaded = inverse.solve(target)
    assert loaded.commands['tendon_4'] > free.commands['tendon_4'] + 0.05
    inverse.apply(loaded)
    missing = np.linalg.norm(inverse.sim.tip_pose()[:3, 3] - target[0].position)
    assert_allclose(missing, loaded.position_errors[0], atol=1e-9)


# --- Effort and limits ---------------------------------------------------------------------------

def test_one_of_two_antagonists_is_slack(arm):
    sim = simulator('tendon_arm')
    sim.command(tendon_1=1.5, tendon_4=0.7)
    sim.statics()
    result = arm.solve([Target(sim.tip_pose()[:3, 3])], start='rest')
    assert result.met
    assert_allclose([result.commands[f'tendon_{i}'] for i in (1, 2, 3, 4)], [1.5, 0, 0, 0.7],
                    atol=1e-3)
    assert max(result.commands['tendon_2'], result.commands['tendon_3']) < 1e-6


def test_nearest_keeps_what_need_not_change():
    sim = simulator('three_segment_arm')
    sim.command(tendon_1=0.001, tendon_4=0.002, tendon_8=0.001)
    sim.statics()
    inverse = InverseStatics(sim)
    here = [Target(sim.tip_pose()[:3, 3])]
    stays = inverse.solve(here, goal='nearest', start='present')
    assert stays.met
    tensions = [sim.actuators()[name].effort for name in sim.robot.tendons]
    inverse.apply(inverse.solve(here, goal='least_effort', start='present'))
    least = [sim.actuators()[name].effort for name in sim.robot.tendons]
    assert np.linalg.norm(least) < np.linalg.norm(tensions) - 1e-3
    for name, command in (('tendon_1', 0.001), ('tendon_4', 0.002), ('tendon_8', 0.001)):
        assert_allclose(stays.commands[name], command, atol=1e-8)


def test_further_bounds_hold(arm):
    sim = simulator('tendon_arm')
    sim.command(tendon_1=2.0)
    sim.statics()
    target = [Target(sim.tip_pose()[:3, 3])]
    result = arm.solve(target, bounds={'tendon_1': (0.0, 1.0), 'tendon_2': (0.2, None)})
    assert not result.met and result.position_errors[0] > 0.01
    assert result.commands['tendon_1'] <= 1.0 and result.commands['tendon_2'] >= 0.2
    assert 'reach' in result.message


def test_displacements_stay_within_their_limits():
    inverse = InverseStatics(simulator('three_segment_arm'))
    bounds = dict.fromkeys(inverse.sim.robot.tendons, (-0.001, 0.001))
    result = inverse.solve([Target([0.15, 0.0, 0.05])], bounds=bounds)
    assert max(map(abs, result.commands.values())) <= 0.001
    assert not result.met


# --- Out of reach --------------------------------------------------------------------------------

def test_best_effort_is_that_of_a_general_minimiser(arm):
    target = np.array([0.15, 0.08, 0.10])
    result = arm.solve([Target(target)], bounds={
        f'tendon_{i}': (0.0, 2.0) for i in (1, 2, 3, 4)}, start='rest')
    assert not result.met and result.converged
    sim = simulator('tendon_arm')

    def distance(tensions):
        sim.command(**dict(zip(sim.robot.tendons, np.clip(tensions, 0.0, 2.0))))
        assert sim.statics().converged
        away = sim.tip_pose()[:3, 3] - target
        return away @ away, 2.0 * away @ command_jacobian(sim)[:3]

    best = min(minimize(distance, x, jac=True, bounds=[(0.0, 2.0)] * 4, options={
        'ftol': 1e-14, 'gtol': 1e-10}).fun for x in (np.ones(4), [1.5, 0.5, 0, 0], np.zeros(4)))
    assert result.position_errors[0] <= np.sqrt(best) * (1.0 + 1e-4)


def test_far_beyond_reach_it_points_there(arm):
    result = arm.solve([Target([0.0, 0.0, 5.0])], start='rest')
    assert not result.met
    assert_allclose(result.position_errors, 5.0 - 0.24, atol=1e-3)


def test_a_singular_straight_arm_is_left(arm):
    """Upright, no tendon moves the tip down at first order."""
    result = arm.solve([Target([0.0, 0.0, 0.2])], start='rest')
    assert np.isfinite(result.position_errors).all()
    assert_within_limits(arm.sim.robot, result.commands)


@pytest.mark.parametrize('tension', [1e-6, 1e-3, 0.05])
def test_targets_next_to_the_straight_arm_are_met(arm, tension):
    sim = simulator('tendon_arm')
    sim.command(tendon_1=tension, tendon_2=0.5 * tension)
    sim.statics()
    result = arm.solve([Target(sim.tip_pose()[:3, 3])], start='rest')
    assert result.met, result
    back = arm.solve([Target(simulator('tendon_arm').tip_pose()[:3, 3])])
    assert back.met, back


# --- Wrong input ---------------------------------------------------------------------------------

@pytest.mark.parametrize(('targets', 'options', 'field'), [
    ([], {}, 'targets'),
    ([Target([0, 0])], {}, 'targets[0].position'),
    ([Target([0, 0, np.nan])], {}, 'targets[0].position[2]'),
    ([Target([0, 0, 0], np.ones((3, 3)))], {}, 'targets[0].rotation'),
    ([Target([0, 0, 0], rod='rope')], {}, 'targets[0].rod'),
    ([Target([0, 0, 0]), Target([0, 0, 0], at=1.0)], {}, 'targets[1].at'),
    ([Target([0, 0, 0], weight=-1.0)], {}, 'targets[0].weight'),
    ([Target([0, 0, 0])], {'goal': 'fun'}, 'goal'),
    ([Target([0, 0, 0])], {'start': 'there'}, 'start'),
    ([Target([0, 0, 0])], {'damping': 0.0}, 'damping'),
    ([Target([0, 0, 0])], {'bounds': {'rope': (0, 1)}}, 'bounds'),
    ([Target([0, 0, 0])], {'bounds': {'tendon_1': (0,)}}, 'bounds.tendon_1'),
    ([Target([0, 0, 0])], {'bounds': {'tendon_1': (11.0, 12.0)}}, 'bounds.tendon_1'),
])
def test_wrong_input_is_named(arm, targets, options, field):
    with pytest.raises(InvalidModel) as error:
        arm.solve(targets, **options)
    assert error.value.field == field


# --- Slopes --------------------------------------------------------------------------------------

def test_the_task_jacobian_is_that_of_differences(arm):
    """Of a station between the nodes, position and orientation."""
    random = np.random.default_rng(3)
    z = np.zeros(arm.sim.solver.z.size)
    z[:19] = random.normal(size=19)
    R = exp_so3(np.array([0.1, 0.2, 0.3]))
    task = Task(arm.sim, [Target([0, 0, 0.1], R, at=0.1), Target([0, 0, 0], R)], 0.24, {})
    error, J = task.errors_and_motion(z, np.eye(3))
    assert_allclose(task.errors(z, np.eye(3)), error, rtol=0, atol=0)
    h = 1e-6
    for j in range(0, 19, 3):
        step = h * np.eye(z.size)[j]
        slope = (task.errors(z + step, np.eye(3)) - task.errors(z - step, np.eye(3))) / (2.0 * h)
        assert_allclose(J[:, j], slope, atol=1e-5)


def test_leg_columns_are_those_of_differences():
    sim = simulator('stewart_gough')
    sim.command(leg_1=0.51, leg_2=0.50, leg_3=0.49)
    sim.statics()
    columns, z, still = command_columns(sim), sim.solver.z.copy(), np.zeros(sim.solver.z.size)
    R, h = sim.solver.attitude, 1e-6
    for j, name in enumerate(['leg_1', 'leg_4']):
        sides = []
        for sign in (1.0, -1.0):
            other = simulator('stewart_gough')
            other.command(**{**sim.commands, name: sim.commands[name] + sign * h})
            other.statics()
            other.solver.go_to(z, R)
            sides.append(other.equations().residual(z, still, still))
        slope, column = (sides[0] - sides[1]) / (2.0 * h), columns[:, 3 * j]
        assert_allclose(column, slope, atol=1e-6 * np.abs(slope).max())


def test_a_step_is_the_least_of_its_quadratic_program(arm):
    """By scipy's bounded least squares, at a point where limits hold some tensions."""
    mechanics = arm.mechanics
    z, u, R = arm._rest()
    mechanics.stand(R)
    task = Task(arm.sim, [Target([0.10, 0.03, 0.2])], arm.length, {})
    bounds = Bounds(mechanics, {'tendon_1': (0.0, 1.0)}, arm._sizes.scale)
    search = Search(mechanics, task, bounds, arm._sizes, mechanics.rest_actuation, R)
    point = search._linearised(z, u)
    phase = phases(1e-6)[0]
    step = search._step(point, phase)
    weight = phase.mu * (arm._sizes.scale / arm._sizes.kind) ** 2

    def merit(x):
        error = point.error + point.linear.J @ x
        return 1e3 * (error @ error + weight @ x ** 2)

    least, most = (side / arm._sizes.scale for side in (bounds.least - u, bounds.most - u))
    # Stacked: |error + J x|^2 + |sqrt(weight) x|^2. What follows a gradient stops on its way here.
    best = lsq_linear(
        np.vstack([point.linear.J, np.diag(np.sqrt(weight))]),
        np.concatenate([-point.error, np.zeros(4)]), (least, most), method='bvls', tol=1e-15)
    assert (step.x >= least - 1e-12).all() and (step.x <= most + 1e-12).all()
    assert (np.isclose(step.x, least) | np.isclose(step.x, most)).any()
    assert merit(step.x) <= merit(best.x) * (1.0 + 1e-9)
    assert_allclose(step.x, best.x, atol=1e-6)


def test_stations_that_were_aimed_are_not_kept_for_ever(arm):
    stations, tip = {}, Target([0.0, 0.0, 0.2])
    for s in np.linspace(0.01, 0.2, 200):
        task = Task(arm.sim, [Target([0.0, 0.0, s], at=s), tip], 0.24, stations)
    assert len(stations) == 64
    assert list(stations)[-2:] == [(0, 0.2), (0, 0.24)]
    assert [aim.station for aim in task.aims] == list(stations.values())[-2:]


def test_an_arm_on_a_slide_before_a_wall_says_what_it_misses(tmp_path):
    """Joints and contact: what is met is met, and a place behind the wall is a best effort."""
    text = (ROOT / 'config' / 'arm_on_slide.yaml').read_text()
    path = tmp_path / 'walled.yaml'
    path.write_text(text.replace('    drag:', '    contact: {stiffness: 1e5}\n    drag:', 1) + (
        '\nobstacles:\n  wall:\n    geometry: {shape: plane}\n'
        '    pose: {position: [0.1, 0, 0], roll_pitch_yaw: [0, -1.5707963, 0]}\n'))
    sim = Simulator(load(path))
    assert sim.statics().converged
    for x, met in ((0.05, True), (0.13, False)):
        inverse, goal = InverseStatics(sim), np.array([x, 0.0, 0.25])
        result = inverse.solve([Target(goal)])
        assert result.met == met
        assert met or 'best effort' in result.message
        reached = sim.twin()
        inverse.apply(result, reached)
        assert reached.statics().converged
        missing = np.linalg.norm(reached.tip_pose()[:3, 3] - goal)
        assert_allclose(result.position_errors[0], missing, atol=1e-9)
        assert (missing < 1e-6) == met
