"""The tendon robot of Till 2019, section 5.2, against closed forms and balances."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
import pytest
from scipy.integrate import simpson
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.rod import Damping, Material, RestShape, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.papers.cantilever import Cantilever
from cosserat_ros.papers.shooting import ShootingSimulator
from cosserat_ros.papers.shooting_robot import TipBody
from cosserat_ros.papers.tendon_robot import helix, parallel, Tendon, TendonRobot

OFFSET = 9.5e-3  # [m]
BACKBONE = Segment(  # Till 2019, section 5.2
    0.24, Circular(4e-4), Material(207e9, 16000.0, poisson_ratio=0.3),
    damping=Damping(bending_and_twist=(1e-6,) * 3))
ARM = Cantilever(Rod([BACKBONE]), 1 / 60, elements=40, alpha=-0.03, drag=(0.03,) * 3)
FOUR = [Tendon(parallel(OFFSET * x, OFFSET * y)) for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1))]
SOFT = Cantilever(  # with everything that a rod can have; strains of all kinds
    Rod([Segment(
        0.3, Circular(6e-3), Material(5e6, 1100.0, poisson_ratio=0.4),
        tip_section=Circular(5e-3), rest=RestShape((0.01, 0.02, 1.05), (1.0, -0.5, 0.4)),
        damping=Damping(relaxation_time=0.02, bending_and_twist=(1e-6, 2e-6, 3e-6)))]),
    2e-2, elements=60, gravity=(1.0, 2.0, 3.0), drag=(0.3, 0.2, 0.1))
WOUND = [
    Tendon(helix(8e-3, 12.0)), Tendon(helix(7e-3, -5.0, 1.0), end=0.2), Tendon(parallel(0, 9e-3))]
PULLED = (2.0, 1.5, 1.0)  # [N]
LOAD = (0.02, -0.03, 0.01, 1e-3, 2e-3, -1e-3)


def weightless(problem):
    return replace(problem, gravity=(0.0, 0.0, 0.0))


def pull(tendon, xi, s):
    """Return the wrench of unit tension on a section of strain `xi`, body frame, (6,)."""
    r, r_s, _ = (x[0] for x in tendon.routing(np.array([s])))
    c = xi[:3] + np.cross(xi[3:], r) + r_s
    return np.concatenate([c, np.cross(r, c)]) / np.linalg.norm(c)


# --- Statics ------------------------------------------------------------------------------------

@pytest.mark.parametrize('tension', [0.1, 2.0, 8.0])
def test_one_tendon_makes_an_arc(tension):
    robot = TendonRobot(weightless(ARM), FOUR)
    assert robot.statics((tension, 0.0, 0.0, 0.0)).converged
    K = ARM.rod.stiffness(0.0)
    u, v = tension * OFFSET / K[4], 1.0 - tension / K[2]
    assert_allclose(robot.strains - [0, 0, v, 0, u, 0], 0.0, rtol=0.0, atol=1e-10 * u)
    angle = u * robot.s
    arc = v / u * np.stack([1.0 - np.cos(angle), 0.0 * angle, np.sin(angle)], axis=1)
    assert_allclose(robot.positions, arc, rtol=0.0, atol=1e-7)
    assert_allclose(robot.tip, arc[-1], rtol=0.0, atol=1e-7)
    turn = u * OFFSET * np.array([-1.0, 0.0, 1.0, 0.0])
    assert_allclose(robot.lengths, 0.24 * (v + turn), rtol=1e-12)


def test_antagonists_only_compress():
    robot = TendonRobot(weightless(ARM), FOUR)
    assert robot.statics((3.0, 2.0, 3.0, 2.0)).converged
    EA = ARM.rod.stiffness(0.0)[2]
    assert_allclose(robot.tip, [0.0, 0.0, 0.24 * (1.0 - 10.0 / EA)], rtol=0.0, atol=1e-12)


def test_each_section_balances_its_tendons():
    rod = SOFT.rod
    robot = TendonRobot(weightless(SOFT), WOUND)
    assert robot.statics(PULLED).converged
    assert np.count_nonzero(np.isclose(robot.s, 0.2)) == 2  # where the second tendon ends
    strains, largest = robot.strains, 0.0
    for k in range(0, robot.s.size, 3):
        s = robot.s[k]
        beyond = k > np.flatnonzero(np.isclose(robot.s, 0.2))[0]
        tensions = np.array(PULLED) * [1.0, 0.0 if beyond else 1.0, 1.0]

        def balance(xi, s=s, tensions=tensions):
            tendons = sum(tau * pull(t, xi, s) for tau, t in zip(tensions, WOUND))
            return (rod.stiffness(s) * (xi - rod.rest_strain(s)) + tendons) / rod.stiffness(s)

        expected = fsolve(balance, rod.rest_strain(s), xtol=1e-13)
        assert_allclose(strains[k], expected, rtol=0.0, atol=2e-5)
        largest = max(largest, np.abs(expected - rod.rest_strain(s))[3:].max())
    assert largest > 2.0  # [1/m]


def test_base_carries_weight_and_load():
    rod = SOFT.rod
    robot = TendonRobot(SOFT, WOUND, TipBody(mass=5e-3))
    assert robot.statics(PULLED, LOAD).converged
    xi, g = robot.strains[0], np.array(SOFT.gravity)
    s, once = np.unique(robot.s, return_index=True)
    base = rod.stiffness(0.0) * (xi - rod.rest_strain(0.0))
    base += sum(tau * pull(t, xi, 0.0) for tau, t in zip(PULLED, WOUND))
    weight = rod.inertia(s)[:, :1] * g
    force = simpson(weight, x=s, axis=0) + LOAD[:3] + 5e-3 * g
    moment = simpson(np.cross(robot.positions[once], weight), x=s, axis=0)
    moment += np.cross(robot.tip, 5e-3 * g + LOAD[:3]) + LOAD[3:]
    assert_allclose(base, np.concatenate([force, moment]), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize('compliance', [0.0, 5e-4])
def test_lengths_and_tensions_are_the_same_thing(compliance):
    robot = TendonRobot(SOFT, WOUND)
    assert robot.statics(PULLED, LOAD).converged
    by_length = [replace(t, command='length', compliance=compliance) for t in WOUND[:2]]
    other = TendonRobot(SOFT, [*by_length, WOUND[2]])
    lengths = robot.lengths - compliance * np.array(PULLED)
    assert other.statics((*lengths[:2], PULLED[2]), LOAD).converged
    assert_allclose(other.tensions, PULLED, rtol=1e-6)
    assert_allclose(other.tip, robot.tip, rtol=0.0, atol=1e-8)


def test_tendons_lose_the_work_that_the_rod_gains():
    robot, rod, step = TendonRobot(weightless(SOFT), WOUND), SOFT.rod, 1e-3

    def energy_and_lengths(tension):
        assert robot.statics(tension).converged
        x = robot.strains - rod.rest_strain(robot.s)
        density = 0.5 * (rod.stiffness(robot.s) * x ** 2).sum(axis=1)
        cut = np.flatnonzero(np.diff(robot.s) == 0.0)[0] + 1
        parts = zip(np.split(density, [cut]), np.split(robot.s, [cut]))
        return sum(simpson(d, x=s) for d, s in parts), robot.lengths

    (U0, l0), (U1, l1) = (
        energy_and_lengths(np.array(PULLED) + h * np.array([1, 2, -1])) for h in (-step, step))
    assert U1 - U0 == pytest.approx(-np.dot(PULLED, l1 - l0), rel=1e-4)


# --- Orders, and without tendons ----------------------------------------------------------------

def order(values):
    """Return the order of convergence from values at sizes 4, 2, 1."""
    coarse, middle, fine = values
    return np.log2(np.abs(coarse - middle).max() / np.abs(middle - fine).max())


@pytest.mark.parametrize(('history', 'steps', 'expected'), [
    ('cubic', 0, 4), ('cubic', 4, 4), ('linear', 4, 2)])
def test_order_in_arc_length(history, steps, expected):
    tips = []
    for n in (15, 30, 60):
        robot = TendonRobot(
            replace(SOFT, elements=n), WOUND, history=history, tolerance=1e-12)
        assert robot.statics(PULLED, LOAD).converged
        for _ in range(steps):
            assert robot.step((1.5, 1.5, 0.5)).converged
        tips.append(robot.tip)
    assert order(tips) == pytest.approx(expected, abs=0.4)


def test_without_tendons_it_is_a_cantilever():
    robot = TendonRobot(SOFT, [], tolerance=1e-10)
    rod = ShootingSimulator(SOFT, history='cubic', tolerance=1e-10)
    assert robot.statics((), LOAD).converged and rod.statics(LOAD[:3], LOAD[3:]).converged
    assert_allclose(robot.tip, rod.tip, rtol=0.0, atol=1e-7)
    moved = []
    for _ in range(15):
        assert robot.step(()).converged and rod.step().converged
        assert_allclose(robot.tip, rod.tip, rtol=0.0, atol=1e-6)
        moved.append(rod.tip)
    assert np.ptp(moved, axis=0).max() > 1e-2


# --- Dynamics -----------------------------------------------------------------------------------

def test_frequency_of_a_tip_mass():
    mass, dt = 5e-3, 5e-3
    problem = replace(
        weightless(ARM), time_step=dt, alpha=-0.5, scheme='trapezoidal', drag=(0.0,) * 3)
    robot = TendonRobot(problem, [], TipBody(mass))
    assert robot.statics((), (1e-3, 0, 0, 0, 0, 0)).converged
    x = []
    for _ in range(400):
        assert robot.step(()).converged
        x.append(robot.tip[0])
    x = np.array(x)
    up = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    crossing = (up - x[up] / (x[up + 1] - x[up])) * dt
    EI, L = ARM.rod.stiffness(0.0)[3], 0.24
    expected = np.sqrt(3.0 * EI / (mass + 33 / 140 * ARM.rod.mass) / L ** 3) / (2.0 * np.pi)
    assert len(up) >= 2
    assert 1.0 / np.diff(crossing).mean() == pytest.approx(expected, rel=0.01)


def test_base_force_changes_the_momentum():
    """Of rod, tendons and body together, which the equations of the rod alone do not contain."""
    rod = SOFT.rod
    robot = TendonRobot(replace(SOFT, elements=200, drag=(0.0,) * 3), WOUND, TipBody(5e-3))
    assert robot.statics(PULLED, LOAD).converged
    for _ in range(5):
        assert robot.step((1.0, 2.0, 0.5)).converged
    y, x, x_t = robot._y, robot._history.x[0], robot._history.x_t
    R = Rotation.from_quat(np.roll(y[:, 3:7], -1, axis=1))
    acceleration = R.apply(np.cross(x[:, 9:12], x[:, 6:9]) + x_t[:, 6:9])
    s, once = np.unique(robot.s, return_index=True)
    excess = rod.inertia(s)[:, :1] * (np.array(SOFT.gravity) - acceleration[once])
    expected = simpson(excess, x=s, axis=0)
    expected += 5e-3 * (np.array(SOFT.gravity) - acceleration[-1])
    xi, xi_t = robot.strains[0], x_t[0, :6]
    base = rod.stiffness(0.0) * (xi - rod.rest_strain(0.0)) + rod.damping(0.0) * xi_t
    base += sum(tau * pull(t, xi, 0.0) for tau, t in zip((1.0, 2.0, 0.5), WOUND))
    assert_allclose(base[:3], expected, rtol=0.0, atol=1e-6)
    assert np.abs(acceleration).max() > 0.5


def test_order_in_time():
    tips = []
    for n in (10, 20, 40):
        robot = TendonRobot(
            replace(SOFT, time_step=0.2 / n, alpha=-0.2), WOUND, tolerance=1e-11)
        assert robot.statics(PULLED).converged
        for i in range(n):
            smooth = np.sin(0.5 * np.pi * (i + 1) / n) ** 4
            assert robot.step(PULLED + smooth * np.array([1.0, -0.7, 0.5])).converged
        tips.append(robot.tip)
    assert order(tips) == pytest.approx(2.0, abs=0.3)


def test_sudden_release_comes_to_rest():
    robot = TendonRobot(ARM, FOUR)
    assert robot.statics((2.0, 0.0, 0.0, 0.0)).converged
    bent = robot.tip
    assert robot.step((2.0, 0.0, 0.0, 0.0)).converged
    assert_allclose(robot.tip, bent, rtol=0.0, atol=1e-8)
    tips = []
    for _ in range(120):
        assert robot.step((0.0, 0.0, 0.0, 0.0)).converged
        tips.append(robot.tip)
    assert min(x for x, _, _ in tips) < -0.05
    assert robot.time == pytest.approx(121 / 60)
    assert np.abs(tips[-1] - [0.0, 0.0, 0.24]).max() < 5e-3


def test_slow_motion_is_statics():
    tendons = [replace(t, command='length') for t in FOUR[:1]]
    moving, resting = TendonRobot(ARM, tendons), TendonRobot(ARM, tendons)
    for robot in (moving, resting):
        assert robot.statics((0.24,)).converged
    for length in np.linspace(0.24, 0.23, 120):
        assert moving.step((length,)).converged
    for _ in range(120):
        assert moving.step((0.23,)).converged
    assert resting.statics((0.23,)).converged
    assert_allclose(moving.tip, resting.tip, rtol=0.0, atol=1e-4)
    assert_allclose(moving.tensions, resting.tensions, rtol=1e-2)


# --- What fails ---------------------------------------------------------------------------------

def test_unreachable_load_is_reported_and_nothing_changes():
    robot = TendonRobot(ARM, FOUR)
    assert robot.statics((1.0, 0.0, 0.0, 0.0)).converged
    before = robot.positions
    status = robot.step((1.0, 0.0, 0.0, 0.0), (1e300, 0, 0, 0, 0, 0))
    assert not status.converged and status.message != 'converged'
    assert_array_equal(robot.positions, before)
    assert robot.time == 0.0


@pytest.mark.parametrize(('field', 'make'), [
    ('commands', lambda: TendonRobot(ARM, FOUR).statics((1.0,))),
    ('tip_load[1]', lambda: TendonRobot(ARM, FOUR).step((1.0,) * 4, (0, np.nan, 0, 0, 0, 0))),
    ('tendons[0].end', lambda: TendonRobot(ARM, [replace(FOUR[0], end=0.3)])),
    ('tendons[0].command', lambda: TendonRobot(ARM, [replace(FOUR[0], command='speed')])),
    ('problem.model', lambda: TendonRobot(replace(ARM, model='kirchhoff'), FOUR)),
    ('history', lambda: TendonRobot(ARM, FOUR, history='quintic')),
    ('mass', lambda: TipBody(-1.0)),
])
def test_bad_input(field, make):
    with pytest.raises(InvalidModel) as raised:
        make()
    assert raised.value.field == field
