"""The oracle against closed forms, its own orders, and the shooting method."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
import pytest
from scipy.integrate import simpson
from scipy.spatial.transform import Rotation

from cosserat_ros.description.rod import Damping, Material, RestShape, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.papers.cantilever import Cantilever, difference_formula, SCHEMES
from cosserat_ros.papers.collocation import CollocationSimulator, newton_step, solve_collocation
from cosserat_ros.papers.shooting import ShootingSimulator

STEEL = Material(young_modulus=207e9, density=8000.0, shear_modulus=79e9)
ROD = Rod([Segment(0.4, Circular(1e-3), STEEL)])  # Till 2019, section 3
EI = ROD.stiffness(0.0)[3]
FREE = (0.0, 0.0, 0.0)
BENCHMARK = Cantilever(ROD, 5e-3, elements=20, gravity=(-9.81, 0.0, 0.0))
RELEASED = (-0.5, 0.0, 0.0)  # [N]
LIMP = Rod([Segment(  # with everything that a rod can have
    0.3, Circular(2e-3), Material(5e7, 1100.0, poisson_ratio=0.4), tip_section=Circular(1.5e-3),
    rest=RestShape((0.01, 0.02, 1.05), (1.0, -0.5, 0.4)),
    damping=Damping(relaxation_time=0.02, bending_and_twist=(1e-6, 2e-6, 3e-6)))])


def order(values):
    """Return the order of convergence from values at sizes 4, 2, 1."""
    coarse, middle, fine = values
    return np.log2(np.abs(coarse - middle).max() / np.abs(middle - fine).max())


# --- Time schemes -------------------------------------------------------------------------------

@pytest.mark.parametrize(('scheme', 'alpha', 'degree'), [
    ('backward_euler', 0.0, 1), ('bdf2', 0.0, 2), ('bdf3', 0.0, 3), ('bdf_alpha', -0.2, 2),
    ('bdf_alpha', -0.48, 2), ('trapezoidal', 0.0, 2)])
def test_difference_formula_is_exact_for_polynomials(scheme, alpha, degree):
    dt, t = 0.3, 1.1
    c0, c1, c2, c3, d1 = difference_formula(scheme, dt, alpha)
    for power in range(degree + 2):
        x = [(t - i * dt) ** power for i in range(4)]
        rate = [power * (t - i * dt) ** (power - 1) if power else 0.0 for i in range(2)]
        error = c0 * x[0] + c1 * x[1] + c2 * x[2] + c3 * x[3] + d1 * rate[1] - rate[0]
        assert (abs(error) < 1e-12) == (power <= degree)


def test_alpha_goes_from_the_trapezoidal_rule_to_bdf2():
    assert difference_formula('bdf_alpha', 0.1, 0.0) == difference_formula('bdf2', 0.1)
    assert difference_formula('bdf_alpha', 0.1, -0.5) == difference_formula('trapezoidal', 0.1)
    assert set(SCHEMES) == {'backward_euler', 'bdf2', 'bdf3', 'bdf_alpha', 'trapezoidal'}


@pytest.mark.parametrize(('scheme', 'expected'), [
    ('backward_euler', 1), ('bdf2', 2), ('bdf_alpha', 2), ('trapezoidal', 2)])
def test_order_in_time(scheme, expected):
    duration = 0.08

    def tip(dt):
        sim = CollocationSimulator(replace(
            BENCHMARK, elements=6, time_step=dt, scheme=scheme, gravity=FREE), tolerance=1e-9)
        for i in range(1, round(duration / dt) + 1):
            # From rest without a jump in its first derivatives, as the rest history assumes.
            force = 0.3 * np.sin(np.pi * i * dt / duration) ** 4
            assert sim.step((force, 0.5 * force, 0.0)).converged
        assert sim.time == pytest.approx(duration)
        return sim.tip

    steps = 2e-4 * np.array([4.0, 2.0, 1.0])
    assert order([tip(dt) for dt in steps]) == pytest.approx(expected, abs=0.2)


# --- Statics ------------------------------------------------------------------------------------

def test_tip_moment_makes_a_circle():
    sim = CollocationSimulator(replace(BENCHMARK, gravity=FREE, elements=80))
    curvature = 2.0 * np.pi / ROD.length
    assert sim.statics(FREE, (0.0, curvature * EI, 0.0)).converged
    angle = curvature * sim.s
    expected = np.stack([1.0 - np.cos(angle), 0.0 * angle, np.sin(angle)], axis=1) / curvature
    assert_allclose(sim.poses[:, :3, 3], expected, rtol=0.0, atol=2e-8)
    turned = Rotation.from_rotvec(np.outer(angle, [0.0, 1.0, 0.0])).as_matrix()
    assert_allclose(sim.poses[:, :3, :3], turned, rtol=0.0, atol=2e-7)
    assert_allclose(sim.strains, np.tile([0, 0, 1, 0, curvature, 0], (161, 1)), atol=2e-6)
    assert sim.energy == pytest.approx(0.5 * EI * curvature ** 2 * ROD.length, rel=1e-8)


def test_small_deflection():
    F, L, GA = 1e-4, ROD.length, ROD.stiffness(0.0)[0]
    sim = CollocationSimulator(replace(BENCHMARK, gravity=FREE))
    assert sim.statics((0.0, F, 0.0)).converged
    assert_allclose(sim.tip[1], F * L ** 3 / (3.0 * EI) + F * L / GA, rtol=1e-7)


def test_loads_balance():
    sim = CollocationSimulator(Cantilever(LIMP, 1e-2, elements=20, gravity=(1.0, -2.0, -9.0)))
    force, moment = np.array([2e-3, 3e-3, 1e-3]), np.array([1e-4, 2e-4, -3e-4])
    assert sim.statics(force, moment).converged
    weight = LIMP.inertia(sim.s)[:, :1] * [1.0, -2.0, -9.0]
    p = sim.poses[:, :3, 3]
    n0 = force + simpson(weight, x=sim.s, axis=0)
    m0 = moment + np.cross(p[-1], force) + simpson(np.cross(p, weight), x=sim.s, axis=0)
    assert_allclose(sim.loads[0, :3], n0, rtol=1e-9)
    assert_allclose(sim.loads[0, 3:], m0, rtol=0.0, atol=1e-5 * np.abs(m0).max())


# --- Solver -------------------------------------------------------------------------------------

def test_jacobian_is_exact():
    """Newton's method is quadratic only with the derivative of what it solves."""
    problem = Cantilever(LIMP, 1e-2, elements=6, drag=(0.3, 0.2, 0.1))
    random, load = np.random.default_rng(3), np.array([1e-3, 2e-3, 0.0, 1e-5, 0.0, 2e-5])
    model = problem.arc_model(problem.coefficients.c0)
    xh = 0.5 * random.normal(size=(13, 12))
    y = CollocationSimulator(problem)._y[::2].copy()
    assert solve_collocation(y, load, model, xh, problem.scales, 1e-9, 50).converged
    solution, sizes = y.copy(), []
    away = random.normal(size=y.shape) * problem.scales
    away[0, :7] = away[0, 13:] = 0.0
    for size in (1e-3, 5e-4):
        dy = np.empty_like(y)
        newton_step(solution + size * away, load, model, xh, problem.scales, dy)
        sizes.append(np.abs(solution + size * away + dy * problem.scales - solution).max(axis=0))
    assert_allclose(np.log2(np.max(sizes[0] / problem.scales) / np.max(
        sizes[1] / problem.scales)), 2.0, atol=0.2)


@pytest.mark.parametrize('steps', [0, 8])
def test_order_in_arc_length(steps):
    tips, poses = [], []
    for elements in (12, 24, 48):
        problem = Cantilever(LIMP, 5e-3, elements=elements, drag=(0.3, 0.2, 0.1))
        sim = CollocationSimulator(problem, tolerance=1e-10)
        assert sim.statics((2e-3, 3e-3, 0.0), (1e-4, 0.0, 1e-4)).converged
        for _ in range(steps):
            assert sim.step((0.0, 0.0, 1e-3)).converged
        tips.append(sim.tip)
        poses.append(sim.poses[::elements // 12])  # midpoints of the coarse elements, too
    assert order(tips) == pytest.approx(4.0, abs=0.25)
    assert order(poses) > 3.6


def test_no_smallest_time_step():
    """Where shooting fails at 1 ms, see test_shooting."""
    tips = []
    for dt in (4e-4, 2e-4, 1e-4):
        sim = CollocationSimulator(replace(
            BENCHMARK, time_step=dt, scheme='trapezoidal', elements=10))
        assert sim.statics(RELEASED).converged
        at_rest = sim.tip
        for _ in range(round(0.02 / dt)):
            assert sim.step().converged
        tips.append(sim.tip)
    assert np.abs(tips[2] - at_rest).max() > 0.02
    assert_allclose(tips[1], tips[2], rtol=0.0, atol=2e-4)
    tiny = CollocationSimulator(replace(BENCHMARK, time_step=1e-6))
    assert tiny.statics(RELEASED).converged and tiny.step().converged


def test_unreachable_load_is_reported_and_nothing_changes():
    sim = CollocationSimulator(BENCHMARK)
    assert sim.statics(RELEASED).converged
    before = sim.poses
    for status in (sim.statics((1e8, 0.0, 0.0)), sim.step((1e300, 0.0, 0.0))):
        assert not status.converged and status.message != 'converged'
        assert_array_equal(sim.poses, before)
    assert sim.time == 0.0
    assert sim.step().converged


# --- Dynamics -----------------------------------------------------------------------------------

def test_first_natural_frequency():
    dt = 1e-3
    sim = CollocationSimulator(replace(
        BENCHMARK, gravity=FREE, scheme='trapezoidal', time_step=dt, elements=10))
    rhoA = ROD.inertia(0.0)[0]
    tips = []
    for i in range(900):
        force = 1e-3 * np.sin(np.pi * min(i * dt / 0.1, 1.0)) ** 2  # too slow for other modes
        assert sim.step((force, 0.0, 0.0)).converged
        tips.append(sim.tip[0])
    x = np.array(tips[100:])
    up = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    crossing = up + x[up] / (x[up] - x[up + 1])
    period = dt * (crossing[-1] - crossing[0]) / (len(crossing) - 1)
    # The trapezoidal rule has tan(w dt / 2) = w_exact dt / 2.
    frequency = np.tan(np.pi * dt / period) / (np.pi * dt)
    expected = 1.87510407 ** 2 / (2.0 * np.pi * ROD.length ** 2) * np.sqrt(EI / rhoA)
    assert expected == pytest.approx(8.895, abs=5e-4)
    assert frequency == pytest.approx(expected, rel=2e-4)


def test_energy_is_kept_and_damping_takes_it():
    def energies(rod, drag):
        sim = CollocationSimulator(replace(
            BENCHMARK, rod=rod, time_step=1e-3, scheme='trapezoidal', elements=10, drag=drag))
        assert sim.statics(RELEASED).converged
        assert sim.step().converged
        values = [sim.energy]
        for _ in range(100):
            assert sim.step().converged
            values.append(sim.energy)
        return np.array(values)

    E = energies(ROD, FREE)
    assert np.ptp(E) < 2e-3 * E[0]
    damped = Rod([replace(ROD.segments[0], damping=Damping(relaxation_time=2e-3))])
    for rod, drag in ((damped, FREE), (ROD, (1.0, 1.0, 0.0))):
        assert energies(rod, drag)[-1] < 0.9 * E[0]


def test_numerical_damping_is_not_the_interpolation_s():
    """Till 2019, table 3, alpha = -0.48: 161.8 s with Euler's method, 201.6 s with RK4."""
    sim = CollocationSimulator(replace(BENCHMARK, alpha=-0.48, elements=10), tolerance=1e-6)
    assert sim.statics(FREE).converged
    at_rest = sim.energy
    assert sim.statics(RELEASED).converged
    E = [sim.energy - at_rest]
    for _ in range(2000):
        assert sim.step().converged
        E.append(sim.energy - at_rest)
    slope, _ = np.polyfit(5e-3 * np.arange(2001), np.log(E), 1)
    assert -2.0 / slope == pytest.approx(161.8, rel=0.01)


def test_bdf3_is_unstable():
    """As in Till 2019, table 3."""
    sim = CollocationSimulator(replace(BENCHMARK, scheme='bdf3', time_step=2e-3))
    assert sim.statics(RELEASED).converged
    before = sim.energy
    for _ in range(60):
        assert sim.step().converged
    assert sim.energy > 1.1 * before


@pytest.mark.parametrize(('history', 'elements', 'atol'), [
    ('linear', 149, 4e-6), ('cubic', 149, 1e-8)])
def test_agrees_with_shooting_on_the_benchmark(history, elements, atol):
    oracle = CollocationSimulator(replace(BENCHMARK, elements=60), tolerance=1e-8)
    sim = ShootingSimulator(
        replace(BENCHMARK, elements=elements), history=history, tolerance=1e-10)
    assert oracle.statics(RELEASED).converged and sim.statics(RELEASED).converged
    assert_allclose(sim.tip, oracle.tip, rtol=0.0, atol=1e-9)
    swing = []
    for _ in range(20):
        assert oracle.step().converged and sim.step().converged
        assert_allclose(sim.tip, oracle.tip, rtol=0.0, atol=atol)
        swing.append(oracle.tip[0])
    assert np.ptp(swing) > 0.1


@pytest.mark.parametrize('model', ['cosserat', 'kirchhoff'])
def test_agrees_with_shooting_in_space(model):
    problem = Cantilever(
        LIMP, 0.02, elements=60, model=model, gravity=(1.0, -2.0, -9.0), drag=(0.3, 0.2, 0.1))
    oracle = CollocationSimulator(problem, tolerance=1e-9)
    sim = ShootingSimulator(replace(problem, elements=120), history='cubic', tolerance=1e-11)
    force, moment = (2e-3, 3e-3, 1e-3), (1e-4, 2e-4, -3e-4)
    assert oracle.statics(force, moment).converged and sim.statics(force, moment).converged
    for i in range(10):
        assert_allclose(sim.poses, oracle.poses, rtol=0.0, atol=1e-7)
        assert_allclose(sim.energy, oracle.energy, rtol=1e-6)
        force = (0.0, 1e-3 * i, 0.0)
        assert oracle.step(force).converged and sim.step(force).converged
    assert_allclose(sim.velocities, oracle.velocities, rtol=0.0, atol=1e-5)
