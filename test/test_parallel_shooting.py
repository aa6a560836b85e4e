"""The parallel robot of Till 2019, section 5.1, against balances, beams and a single rod."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
import pytest
from scipy.integrate import simpson
from scipy.spatial.transform import Rotation

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.rod import Damping, Material, RestShape, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.papers.cantilever import Cantilever
from cosserat_ros.papers.parallel_robot import ParallelRobot, stewart_gough
from cosserat_ros.papers.shooting_robot import TipBody
from cosserat_ros.papers.tendon_robot import TendonRobot

LEG = Segment(0.4, Circular(1e-3), Material(207e9, 8000.0, poisson_ratio=0.3))
PAPER = Cantilever(Rod([LEG]), 1 / 120, elements=30, alpha=-0.2)
PLATE = TipBody(0.0921, (1.91e-4, 1.91e-4, 3.81e-4))
BASES, MOUNTS = stewart_gough(0.087, np.deg2rad(100.0))
LENGTHS = (0.4,) * 6
LOAD = (1.0, -2.0, 0.5, 0.05, 0.02, -0.1)
UP = (0.0, 0.0, 9.81)


def turned(rotation, poses):
    g = np.eye(4)
    g[:3, :3] = rotation.as_matrix()
    return g @ poses


# --- Statics ------------------------------------------------------------------------------------

def test_pattern():
    for poses, angle in ((BASES, 20.0), (MOUNTS, 100.0)):
        x, y = poses[:, :2, 3].T
        assert_allclose(np.hypot(x, y), 0.087)
        apart = np.diff(np.unwrap(np.arctan2(y, x)))
        assert_allclose(np.rad2deg(apart), [angle, 120.0 - angle] * 2 + [angle], atol=1e-9)


@pytest.mark.parametrize('gravity', [(0.0, 0.0, -9.81), UP])
def test_symmetric(gravity):
    robot = ParallelRobot(replace(PAPER, gravity=gravity), BASES, MOUNTS, PLATE)
    assert robot.statics(LENGTHS).converged
    weight = gravity[2] * (PLATE.mass + 6 * PAPER.rod.mass)
    assert_allclose(robot.tip[:2], 0.0, rtol=0.0, atol=1e-10)
    assert 0.38 < robot.tip[2] < 0.4
    assert_allclose(robot.rotation, np.eye(3), rtol=0.0, atol=1e-9)
    assert_allclose(robot.base_loads[:, 2], weight / 6.0, rtol=1e-9)
    third = Rotation.from_rotvec([0.0, 0.0, 2.0 * np.pi / 3.0])
    for i in range(4):
        rotated = third.apply(robot.positions[i])
        assert_allclose(robot.positions[i + 2], rotated, rtol=0.0, atol=1e-9)


def test_bases_carry_weight_and_load():
    tilts = Rotation.from_rotvec(0.1 * np.random.default_rng(1).normal(size=(6, 3)))
    bases, mounts = BASES.copy(), MOUNTS.copy()
    bases[:, :3, :3], mounts[:, :3, :3] = tilts.as_matrix(), tilts.inv().as_matrix()
    robot = ParallelRobot(replace(PAPER, gravity=(1.0, 2.0, -9.0)), bases, mounts, PLATE)
    lengths = np.array([0.4, 0.41, 0.42, 0.43, 0.4, 0.39])
    assert robot.statics(lengths, LOAD).converged
    n, m = robot.base_loads[:, :3], robot.base_loads[:, 3:]
    g, rhoA = np.array([1.0, 2.0, -9.0]), PAPER.rod.inertia(0.0)[0]
    on_platform = PLATE.mass * g + LOAD[:3]
    assert_allclose(n.sum(axis=0), on_platform + rhoA * lengths.sum() * g, rtol=1e-8)
    moment = np.cross(robot.tip, on_platform) + LOAD[3:]
    for p, L in zip(robot.positions, lengths):
        moment += simpson(np.cross(p, rhoA * g), dx=L / 30, axis=0)
    base_moment = (m + np.cross(bases[:, :3, 3], n)).sum(axis=0)
    assert_allclose(base_moment, moment, rtol=0.0, atol=1e-6)
    ends = robot.tip + mounts[:, :3, 3] @ robot.rotation.T
    assert_allclose(robot.positions[:, -1], ends, rtol=0.0, atol=1e-8)


def test_turned_with_gravity():
    rotation = Rotation.from_rotvec([0.5, -0.3, 0.8])
    robot = ParallelRobot(PAPER, BASES, MOUNTS, PLATE)
    problem = replace(PAPER, gravity=tuple(rotation.apply(PAPER.gravity)))
    other = ParallelRobot(problem, turned(rotation, BASES), MOUNTS, PLATE)
    load = np.concatenate([rotation.apply(LOAD[:3]), rotation.apply(LOAD[3:])])
    for _ in range(2):
        assert robot.statics(LENGTHS, LOAD).converged
        assert other.statics(LENGTHS, load).converged
    for _ in range(4):
        assert_allclose(other.tip, rotation.apply(robot.tip), rtol=0.0, atol=1e-9)
        R = rotation.as_matrix() @ robot.rotation
        assert_allclose(other.rotation, R, rtol=0.0, atol=1e-8)
        assert robot.step(LENGTHS).converged and other.step(LENGTHS).converged


def test_longer_legs_lift_the_platform():
    robot = ParallelRobot(PAPER, BASES, MOUNTS, PLATE)
    assert robot.statics(LENGTHS).converged
    z = robot.tip[2]
    assert robot.statics((0.45,) * 6).converged
    assert robot.tip[2] - z == pytest.approx(0.05, abs=2e-3)
    assert robot.statics((0.38, 0.38, 0.42, 0.42, 0.42, 0.42)).converged
    assert np.abs(robot.rotation - np.eye(3)).max() > 0.1
    assert robot.statics(LENGTHS).converged
    assert_allclose(robot.tip[2], z, rtol=0.0, atol=1e-9)


# --- One leg alone ------------------------------------------------------------------------------

LIMP = Cantilever(
    Rod([Segment(
        0.3, Circular(6e-3), Material(5e6, 1100.0, poisson_ratio=0.4),
        rest=RestShape((0.01, 0.02, 1.05), (1.0, -0.5, 0.4)), damping=Damping(0.02))]),
    2e-2, elements=30, gravity=(1.0, 2.0, 3.0), drag=(0.3, 0.2, 0.1))
BODY = TipBody(0.02, (2e-6, 3e-6, 4e-6))
PUSH = (0.02, -0.03, 0.01, 1e-3, 2e-3, -1e-3)
ONE = np.eye(4)[None]


def test_one_leg_is_a_cantilever_with_a_tip_mass():
    apart = []
    for refined in (1, 2):
        problem = replace(LIMP, time_step=LIMP.time_step / refined)
        leg = ParallelRobot(problem, ONE, ONE, BODY)
        rod = TendonRobot(problem, [], BODY)
        assert leg.statics((0.3,), PUSH).converged and rod.statics((), PUSH).converged
        assert_allclose(leg.tip, rod.tip, rtol=0.0, atol=1e-7)
        tips = []
        for _ in range(20 * refined):
            assert leg.step((0.3,)).converged and rod.step(()).converged
            tips.append([leg.tip, rod.tip])
        tips = np.array(tips)
        apart.append(np.abs(tips[:, 0] - tips[:, 1]).max() / np.ptp(tips[:, 1], axis=0).max())
    assert apart[0] < 2e-2  # velocities are found in two ways
    assert np.log2(apart[0] / apart[1]) == pytest.approx(2.0, abs=0.6)


def order(values):
    """Return the order of convergence from values at sizes 4, 2, 1."""
    coarse, middle, fine = values
    return np.log2(np.abs(coarse - middle).max() / np.abs(middle - fine).max())


@pytest.mark.parametrize(('history', 'steps', 'expected'), [
    ('cubic', 0, 4), ('cubic', 8, 4), ('linear', 8, 2)])
def test_order_in_arc_length(history, steps, expected):
    bases = np.tile(np.eye(4), (2, 1, 1))
    bases[1, 0, 3] = 0.1
    tips = []
    for n in (24, 48, 96):
        robot = ParallelRobot(
            replace(LIMP, elements=n), bases, bases, BODY, history=history, tolerance=1e-12)
        assert robot.statics((0.3, 0.32), PUSH).converged
        for _ in range(steps):
            assert robot.step((0.3, 0.32)).converged
        tips.append(robot.tip)
    assert order(tips) == pytest.approx(expected, abs=0.4)


# --- Dynamics -----------------------------------------------------------------------------------

def test_frequency_of_a_table():
    """A plate on four upright legs sways as a storey: stiffness 12 EI / L^3 of each leg."""
    corners = np.tile(np.eye(4), (4, 1, 1))
    corners[:, :2, 3] = [[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1], [0.1, -0.1]]
    dt = 5e-3
    problem = replace(PAPER, gravity=(0.0,) * 3, time_step=dt, alpha=-0.4)
    robot = ParallelRobot(problem, corners, corners, TipBody(0.5, (1e-3, 1e-3, 2e-3)))
    assert robot.statics((0.4,) * 4, (0.05, 0, 0, 0, 0, 0)).converged
    EI, L = PAPER.rod.stiffness(0.0)[3], 0.4
    stiffness = 4 * 12.0 * EI / L ** 3
    assert robot.tip[0] == pytest.approx(0.05 / stiffness, rel=1e-3)
    x = []
    for _ in range(200):
        assert robot.step((0.4,) * 4).converged
        x.append(robot.tip[0])
    x = np.array(x)
    up = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    crossing = (up - x[up] / (x[up + 1] - x[up])) * dt
    mass = 0.5 + 4 * 13 / 35 * PAPER.rod.mass
    expected = np.sqrt(stiffness / mass) / (2.0 * np.pi)
    assert len(up) >= 2
    assert 1.0 / np.diff(crossing).mean() == pytest.approx(expected, rel=0.01)


def test_slow_motion_is_statics():
    moving, resting = (ParallelRobot(PAPER, BASES, MOUNTS, PLATE) for _ in range(2))
    end = np.array([0.42, 0.42, 0.4, 0.4, 0.41, 0.41])
    assert moving.statics(LENGTHS).converged
    for i in range(90):
        assert moving.step(0.4 + (end - 0.4) * min(1.0, (i + 1) / 30)).converged
    assert resting.statics(end).converged
    assert_allclose(moving.tip, resting.tip, rtol=0.0, atol=1e-4)
    assert moving.time == pytest.approx(0.75)


# --- What fails ---------------------------------------------------------------------------------

def test_unreachable_load_is_reported_and_nothing_changes():
    robot = ParallelRobot(PAPER, BASES, MOUNTS, PLATE)
    assert robot.statics(LENGTHS).converged
    before = robot.positions
    assert not robot.step(LENGTHS, (1e300, 0, 0, 0, 0, 0)).converged
    assert_array_equal(robot.positions, before)


@pytest.mark.parametrize(('field', 'make'), [
    ('bases', lambda: ParallelRobot(PAPER, np.eye(4), MOUNTS, PLATE)),
    ('mounts', lambda: ParallelRobot(PAPER, BASES, MOUNTS[:5], PLATE)),
    ('lengths', lambda: ParallelRobot(PAPER, BASES, MOUNTS, PLATE).statics((0.4,) * 5)),
    ('lengths', lambda: ParallelRobot(PAPER, BASES, MOUNTS, PLATE).step((-0.4,) * 6)),
    ('load', lambda: ParallelRobot(PAPER, BASES, MOUNTS, PLATE).step(LENGTHS, (0, 0, 0))),
    ('problem.rod', lambda: ParallelRobot(
        replace(PAPER, rod=Rod([replace(LEG, tip_section=Circular(5e-4))])), ONE, ONE, PLATE)),
])
def test_bad_input(field, make):
    with pytest.raises(InvalidModel) as raised:
        make()
    assert raised.value.field == field
