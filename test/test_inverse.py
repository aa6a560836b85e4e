"""Inverse statics: round trips, limits, least effort, best effort, and errors that say where."""

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.optimize import minimize

from cosserat_ros.errors import InvalidModel
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.lie import exp_so3
from cosserat_ros.robot import load
from cosserat_ros.sensitivity import command_jacobian, unstable_directions
from cosserat_ros.simulator import Simulator

CASES = {  # least and greatest random command, and whether the pose is the target
    'tendon_arm': (0.0, 5.0, False),
    'fluidic_finger_three_chambers': (0.0, 150e3, False),
    'stewart_gough': (0.47, 0.54, True),
    'three_segment_arm': (-0.006, 0.006, False),
}
SAMPLES = 50


def simulator(name):
    sim = Simulator(load(ROOT / 'config' / f'{name}.yaml'))
    sim.statics()
    return sim


@pytest.fixture(scope='module')
def arm():
    return InverseStatics(simulator('tendon_arm'))


def random_targets(sim, name, count):
    """Yield targets of stable equilibria under random commands, each found from rest."""
    least, most, posed = CASES[name]
    random, rest = np.random.default_rng(7), sim.saved()
    while count:
        sim.restore(rest)
        sim.command(**{
            key: random.uniform(least, most) for key in sim.robot.actuators})
        if sim.statics().converged and unstable_directions(sim) == 0:
            count -= 1
            g = sim.tip_pose()
            yield g, [Target(g[:3, 3], g[:3, :3] if posed else None)]


def assert_within_limits(robot, commands):
    for name, actuator in robot.actuators.items():
        least, most = actuator.bounds
        assert least <= commands[name] <= most


# --- Round trips ---------------------------------------------------------------------------------

@pytest.mark.parametrize('start', ['rest', 'last'])
@pytest.mark.parametrize('name', CASES)
def test_forward_statics_of_what_is_found_is_the_target(name, start):
    sim = simulator(name)
    inverse, again = InverseStatics(simulator(name)), simulator(name)
    good = 0
    for g, targets in random_targets(sim, name, SAMPLES):
        result = inverse.solve(targets, start=start)
        assert_within_limits(sim.robot, result.commands)
        inverse.apply(result, again)
        found = again.tip_pose()
        size = 1e-9 * np.array([inverse.length, 1.0])[[0] * 3 + [1] * 3]
        error = np.abs([*(found - g)[:3, 3], *np.abs(found - g)[:3, :3].max(axis=0)])
        exact = bool((error <= size)[:None if targets[0].rotation is not None else 3].all())
        assert exact or not result.met, result
        good += exact
    print(f'{name} from {start}: {good} of {SAMPLES}')
    assert good >= 0.98 * SAMPLES


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


def test_the_task_jacobian_is_that_of_differences(arm):
    """Of a station between the nodes, position and orientation."""
    from cosserat_ros.inverse import _Task
    random = np.random.default_rng(3)
    z = np.zeros(arm.sim.solver.z.size)
    z[:19] = random.normal(size=19)
    R = exp_so3(np.array([0.1, 0.2, 0.3]))
    task = _Task(arm.sim, [Target([0, 0, 0.1], R, at=0.1), Target([0, 0, 0], R)], 0.24, {})
    _, J = task.errors(z, np.eye(3))
    h = 1e-6
    for j in range(0, 19, 3):
        step = h * np.eye(z.size)[j]
        slope = (task.errors(z + step, np.eye(3))[0] - task.errors(z - step, np.eye(3))[0]) / (
            2.0 * h)
        assert_allclose(J[:, j], slope, atol=1e-5)
