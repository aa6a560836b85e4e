"""Least effort of inverse statics: a local optimum, of several starts, whatever the limits are."""

from dataclasses import replace
import runpy

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.optimize import minimize

from cosserat_ros.analysis.sensitivity import command_jacobian
from cosserat_ros.description.documents import build
from cosserat_ros.description.parts import Limits as Range
from cosserat_ros.description.robot import Robot
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.inverse.effort import _multipliers, _null_space, Descent
from cosserat_ros.inverse.limits import Limits
from cosserat_ros.inverse.search import Search
from cosserat_ros.inverse.task import Task
from cosserat_ros.simulation.model import GAS_CONSTANT
from cosserat_ros.simulation.simulator import Simulator

BENCHMARK = runpy.run_path(str(ROOT / 'benchmarks' / 'inverse.py'))
endoscope = BENCHMARK['endoscope']
PLACE = np.array([0.015, 0.005, 0.096])  # m
SOFTER = 24.3e9  # Pa, of a backbone that meets it by less than 40 N


def tensions(inverse, result):
    inverse.apply(result)
    return np.array([inverse.sim.actuators()[name].effort for name in inverse.sim.robot.tendons])


def effort(inverse, result):
    """Return the sum of squares of tensions [N^2]."""
    return float(np.sum(tensions(inverse, result) ** 2))


def assert_best(inverse, result, least):
    assert result.met and result.proven, result
    assert 2 <= result.agreed <= result.starts
    assert effort(inverse, result) <= 1.01 * least


@pytest.mark.parametrize('most', [0.003, 0.01, 0.02])
@pytest.mark.parametrize('start', ['rest', 'present'])
def test_an_endoscope_by_displacements_does_not_pull_against_itself(most, start):
    inverse = InverseStatics(endoscope(command='displacement', most=most))
    result = inverse.solve([Target(PLACE)], start=start)
    assert_best(inverse, result, 7096.0)
    assert np.sum(tensions(inverse, result) > 0.1) == 4


def test_limits_far_from_rest_are_no_obstacle_to_other_starts():
    """Tendons that are always pulled by more than what bends the arm by two radians."""
    robot = endoscope(young_modulus=SOFTER)
    pulled = replace(robot, tendons={
        name: replace(tendon, limits=Range(lower=100.0, upper=200.0))
        for name, tendon in robot.tendons.items()})
    inverse, sim = InverseStatics(pulled), Simulator(pulled)
    sim.command(**dict(zip(pulled.tendons, np.linspace(100.0, 110.0, len(pulled.tendons)))))
    assert sim.statics().converged
    result = inverse.solve([Target(sim.tip_pose()[:3, 3])], start='rest')
    assert result.met and result.starts >= 2, result


def test_wider_limits_need_no_more_effort():
    efforts = []
    for most in (40.0, 80.0, 150.0):
        inverse = InverseStatics(endoscope(young_modulus=SOFTER, most=most))
        result = inverse.solve([Target(PLACE)], start='rest')
        assert_best(inverse, result, 1819.0)
        efforts.append(effort(inverse, result))
    assert_allclose(efforts, efforts[0], rtol=1e-3)


def test_wider_limits_never_need_more_effort():
    """Random targets, each asked anew within nested limits: nothing found before can help."""
    robots = [endoscope(young_modulus=SOFTER, most=most) for most in (40.0, 80.0, 150.0)]
    sim, random, met = Simulator(robots[0]), np.random.default_rng(8), 0
    for _ in range(20):
        sim.command(**{name: random.uniform(0.0, 40.0) * (random.random() < 0.6)
                       for name in sim.robot.tendons})
        assert sim.statics(from_rest=True).converged
        target, efforts = [Target(sim.tip_pose()[:3, 3])], []
        for robot in robots:
            inverse = InverseStatics(robot)
            result = inverse.solve(target, start='rest')
            efforts.append(effort(inverse, result) if result.met else np.inf)
            met += result.met
        assert efforts[2] <= 1.0001 * efforts[1] <= 1.001 * efforts[0], (target, efforts)
    assert met == 60


def test_a_robot_that_pulls_against_itself_is_relieved():
    inverse = InverseStatics(endoscope(young_modulus=SOFTER))
    inverse.sim.command(**dict.fromkeys(inverse.sim.robot.tendons, 80.0))
    assert inverse.sim.statics().converged
    result = inverse.solve([Target(PLACE)], start='present')
    assert_best(inverse, result, 1819.0)


def test_earlier_answers_within_narrower_limits_are_not_left_for_worse():
    inverse = InverseStatics(endoscope(3))
    sim, random = Simulator(inverse.sim.robot), np.random.default_rng(4)
    for _ in range(5):
        sim.command(**{name: random.uniform(0.0, 40.0) for name in sim.robot.tendons})
        assert sim.statics().converged
        target = [Target(sim.tip_pose()[:3, 3])]
        efforts = []
        for most in (60.0, 100.0, None):
            result = inverse.solve(
                target, dict.fromkeys(sim.robot.tendons, (None, most)), start='rest')
            efforts.append(effort(inverse, result) if result.met else np.inf)
        assert efforts[2] <= 1.0001 * efforts[1] <= 1.001 * efforts[0]


def test_what_is_proven_is_what_a_general_minimiser_finds_nearby():
    inverse = InverseStatics(endoscope(young_modulus=SOFTER, most=40.0))
    found = tensions(inverse, inverse.solve([Target(PLACE)], start='rest'))
    sim = inverse.sim

    def missing(x):
        sim.command(**dict(zip(sim.robot.tendons, np.clip(x, 0.0, 40.0))))
        assert sim.statics().converged
        return 1e3 * (sim.tip_pose()[:3, 3] - PLACE)

    def slope(x):
        missing(x)
        return 1e3 * command_jacobian(sim)[:3]

    best = minimize(
        lambda x: 1e-3 * float(x @ x), found, jac=lambda x: 2e-3 * x, method='SLSQP',
        bounds=[(0.0, 40.0)] * 8, constraints={'type': 'eq', 'fun': missing, 'jac': slope},
        options={'ftol': 1e-12})
    assert np.abs(missing(best.x)).max() < 1e-6
    assert 1e-3 * found @ found <= best.fun * (1.0 + 1e-4)


def finger(most):
    """Return a finger of six chambers, by amounts of gas, times those at rest at most."""
    chambers = {}
    for j in range(6):
        angle, ends_at = j * np.pi / 3.0, 0.05 if j % 2 else 0.1
        rest = 101325.0 * 2e-5 * ends_at / (GAS_CONSTANT * 293.15)
        chambers[f'chamber_{j + 1}'] = {
            'routing': {'shape': 'parallel', 'offset': [
                0.008 * float(np.cos(angle)), 0.008 * float(np.sin(angle))]},
            'area': 2e-5, 'ends_at': ends_at, 'command': 'amount',
            'limits': {'lower': 0.0, 'upper': most * rest}}
    return build(Robot, {
        'name': 'finger', 'gravity': [0.0, 0.0, 0.0], 'chambers': chambers,
        'rods': {'backbone': {'segments': [{
            'length': 0.1, 'section': {'shape': 'circular', 'radius': 0.012},
            'material': {'young_modulus': 1e6, 'poisson_ratio': 0.45, 'density': 1000.0}}]}}})


def test_the_proof_knows_how_limits_of_commands_bend():
    """Second derivatives of the Lagrangian are those of differences along equilibria."""
    inverse = InverseStatics(finger(most=2.0))
    target = [Target(np.array([-0.00805, 0.0002, 0.10045]))]
    result = inverse.solve(target, start='rest')
    assert result.met and result.proven
    task = Task(inverse.sim, target, inverse.length, inverse._stations)
    limits = Limits(inverse.mechanics, None, inverse._sizes.scale)
    u = result.z[inverse.mechanics.row]
    search = Search(inverse.mechanics, task, limits, inverse._sizes,
                    inverse.mechanics.rest_actuation, result.R)
    descent = Descent(search, 1e-6)
    inverse.mechanics.stand(result.R)
    point = search._linearised(result.z, u)
    C, b = descent._sides(point)
    J, g = point.linear.J, (u - search.aim) * search.scale / search.kind ** 2
    task_pull, pull = _multipliers(g, J, C, b > -1e-6)
    assert_allclose(g, C.T @ pull - J.T @ task_pull, atol=1e-5 * np.abs(g).max())
    assert (pull[12:] > 0.0).sum() == 1 and not pull[:12].any()  # one amount, no pressure
    basis = _null_space(np.concatenate([J, C[pull > 0.0]]))

    def lagrangian(y):
        v = u + search.scale * (basis @ y)
        z, stands = inverse.mechanics.equilibrium(result.z, v)
        assert stands
        amounts = limits.values(v, inverse.mechanics.lengths(z))[0] / point.measured.size
        return (descent.effort(v) + task_pull @ task.errors(z, result.R)
                - pull[12:] @ np.concatenate([amounts, -amounts]))

    h = 3e-3 * np.eye(basis.shape[1])
    second = [[(lagrangian(p + q) - lagrangian(p - q) - lagrangian(q - p) + lagrangian(-p - q))
               / 3.6e-5 for q in h] for p in h]
    assert_allclose(descent._second(point, task_pull, pull, basis), second, atol=2e-7)


def test_every_change_of_a_tendon_costs_effort():
    inverse = InverseStatics(endoscope(young_modulus=SOFTER))
    result = inverse.solve([Target(PLACE)], start='rest')
    least, names = effort(inverse, result), inverse.sim.robot.tendons
    for name, tension in zip(names, tensions(inverse, result)):
        other = inverse.solve([Target(PLACE)], {name: (tension + 0.5, None)}, start='rest')
        assert other.met and effort(inverse, other) > least


def test_nothing_is_said_of_effort_that_was_not_sought():
    inverse = InverseStatics(endoscope())
    nearest = inverse.solve([Target(PLACE)], goal='nearest', start='rest')
    assert nearest.met and not nearest.proven and nearest.starts == 0
    missed = inverse.solve([Target([0.0, 0.0, 0.2])])
    assert not missed.met and not missed.proven and missed.starts == 0


def test_a_target_nearby_follows_the_answer_and_others_are_tried_on_the_way():
    inverse = InverseStatics(BENCHMARK['ARMS'][9][0]())
    sim, starts = Simulator(inverse.sim.robot), []
    for part in np.linspace(0.1, 1.0, 20):
        sim.command(tendon_1=0.01 * part, tendon_5=0.008 * part, tendon_9=0.01 * part)
        sim.statics()
        result = inverse.solve([Target(sim.tip_pose()[:3, 3])])
        assert result.met
        starts.append(result.starts)
    assert starts[0] > 1 and 1 in starts and max(starts[1:]) > 1


@pytest.mark.parametrize('tendons', [4, 8, 9, 12])
def test_few_targets_need_more_than_the_best_of_random_starts(tendons):
    robot, least, most = BENCHMARK['ARMS'][tendons]
    inverse, other = InverseStatics(robot()), InverseStatics(robot())
    starts = list(BENCHMARK['random_starts'](other, 8))
    targets = [Target(g[:3, 3]) for g in BENCHMARK['reachable'](
        BENCHMARK['Case']('', least, most), 6, False, robot())]
    for target in targets:
        result = inverse.solve([target])
        best = BENCHMARK['best_effort'](other, target, starts)
        own = inverse._effort(result.z[inverse.mechanics.row])
        assert result.met and result.proven and own <= 1.01 * best, (result, own, best)
