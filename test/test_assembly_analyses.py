"""Linear models and stability of assemblies: joints that are sprung, driven, at limits; loops."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.linearize import reduced, slopes
from cosserat_ros.analysis.stability import assess
from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.lie import exp_so3

MASS, LENGTH, GRAVITY = 0.3, 0.5, 9.81
BEND = StrainModes(0, 0, 0, 5, 5, 0)
STEEL = Rod([Segment(LENGTH, Circular(1e-3), Material(200e9, 7800.0, poisson_ratio=0.3))])
EI = 200e9 * np.pi * 1e-3 ** 4 / 4.0


def hinge(**coordinate):
    """Return a hinge about y."""
    return JointKind('revolute', (0.0, 1.0, 0.0), coordinates=[Coordinate(**coordinate)])


def bar(mass=MASS):
    """Return a point mass at the end of a bar along its z axis."""
    return RigidBody(mass, 1e-12 * np.eye(3), (0.0, 0.0, LENGTH))


def vibrations(solver):
    """Return squared frequencies of the present equilibrium, by its reduced equations."""
    still = np.zeros(solver.Z)
    return reduced(slopes(solver, solver.z, still, still), solver.moves).squares


@pytest.mark.parametrize('stiffness', [0.9, 1.2, 3.0])
def test_an_inverted_pendulum_on_a_spring(stiffness):
    """It stands while k > m g l: margin 1 - m g l / k, squared frequency (k - m g l) / (m l^2)."""
    k, weight = stiffness * MASS * GRAVITY * LENGTH, MASS * GRAVITY * LENGTH
    solver = Assembly({'bar': bar()}, joints={
        'hinge': Joint(hinge(stiffness=k), Attachment(), Attachment('bar'))},
        gravity=(0.0, 0.0, -GRAVITY)).solver()
    assert solver.statics().converged
    found = assess(solver)
    assert found.stable == (k > weight) and found.ways == (k < weight)
    assert_allclose(found.margin, 1.0 - weight / k, rtol=1e-9)
    assert_allclose(found.squared_frequency, (k - weight) / (MASS * LENGTH ** 2), rtol=1e-9)


def double_pendulum(first, second):
    """Return two bars that hang on hinges."""
    down = exp_so3(np.array([0.0, np.pi, 0.0]))
    solver = Assembly({'upper': bar(), 'lower': bar(0.2)}, joints={
        'shoulder': Joint(first, Attachment('ground', pose(R=down)), Attachment('upper')),
        'elbow': Joint(second, Attachment('upper', pose((0.0, 0.0, LENGTH))),
                       Attachment('lower'))}, gravity=(0.0, 0.0, -GRAVITY)).solver()
    assert solver.statics().converged
    return solver


def test_a_driven_joint_is_no_coordinate_of_the_linear_model():
    """The lower bar of a double pendulum swings by itself while the upper one is held."""
    assert_allclose(vibrations(double_pendulum(hinge(driven=True), hinge())),
                    [GRAVITY / LENGTH], rtol=1e-9)
    whole = double_pendulum(hinge(), hinge())
    a, b = MASS, 0.2
    M = LENGTH ** 2 * np.array([[a + b, b], [b, b]])
    K = GRAVITY * LENGTH * np.diag([a + b, b])
    assert_allclose(vibrations(whole), np.sort(np.linalg.eigvals(np.linalg.solve(M, K))),
                    rtol=1e-9)


def test_a_joint_that_is_pushed_against_its_limit_does_not_swing():
    against = double_pendulum(hinge(effort=0.1, most=0.0), hinge())
    assert against.work.held[against.places.coordinates['shoulder'][0]]
    assert_allclose(vibrations(against), [GRAVITY / LENGTH], rtol=1e-9)
    assert assess(against).stable


def test_commands_of_driven_joints_move_what_hangs_on_them():
    """The shoulder moves by u; in statics the lower bar keeps its attitude, -u at the elbow."""
    solver = double_pendulum(hinge(driven=True), hinge())
    shoulder, elbow = (solver.places.coordinates[name][0] for name in ('shoulder', 'elbow'))
    still = np.zeros(solver.Z)
    column = np.zeros((solver.Z, 1))
    column[shoulder] = -solver.tree.coordinates.hardness[shoulder]
    part = reduced(slopes(solver, solver.z, still, still), solver.moves, column)
    static = part.shift[:, 0] - part.basis @ np.linalg.solve(part.stiffness, part.load)[:, 0]
    assert_allclose(static[[shoulder, elbow]], [1.0, -1.0], rtol=1e-9)
    K = solver.jacobian(solver.z, still, still, 0.0, 0.0)[1]
    assert_allclose(-np.linalg.solve(K, column)[[shoulder, elbow], 0], [1.0, -1.0], rtol=1e-9)
    assert_allclose(-solver.solve_columns(column)[[shoulder, elbow], 0], [1.0, -1.0], rtol=1e-9)


def parallelogram(gravity):
    """Return four hinged bars of which the upper one is carried, upright at rest, in a plane."""
    cross = RigidBody(MASS, 1e-4 * np.eye(3), (0.1, 0.0, 0.0))
    light = RigidBody(1e-9, 1e-12 * np.eye(3))
    top = pose((0.0, 0.0, LENGTH))
    solver = Assembly({'left': light, 'right': light, 'cross': cross}, joints={
        'A': Joint(hinge(stiffness=1.0), Attachment(), Attachment('left')),
        'B': Joint(hinge(), Attachment('left', top), Attachment('cross')),
        'D': Joint(hinge(), Attachment('ground', pose((0.2, 0.0, 0.0))), Attachment('right')),
        'C': Joint(hinge(), Attachment('right', top), Attachment('cross', pose((0.2, 0.0, 0.0)))),
    }, gravity=(0.0, 0.0, -gravity)).solver()
    assert solver.statics().converged
    return solver


def test_a_loop_is_reduced_to_what_can_move():
    """The cross bar stays level: a point mass on a bar, (k - m g l) / (m l^2); one coordinate."""
    for gravity in (0.0, 0.2, 1.0):
        solver = parallelogram(gravity)
        expected = (1.0 - MASS * gravity * LENGTH) / (MASS * LENGTH ** 2)
        assert_allclose(vibrations(solver), [expected], rtol=1e-6)
        found = assess(solver)
        assert_allclose(found.margin, 1.0 - MASS * gravity * LENGTH, rtol=1e-6)
    assert not assess(parallelogram(2.0 / (MASS * LENGTH))).stable


@pytest.mark.parametrize('base, factor', [('clamped', 0.25), ('revolute', None)])
def test_a_column_with_a_hinge_or_a_clamp_at_its_base(base, factor):
    """Euler: P_c = pi^2 EI / (4 L^2); on a spring c, k tan(k L) = c / EI with k^2 = P / EI."""
    spring = 0.02 * EI / LENGTH * 100.0
    kind = JointKind() if base == 'clamped' else hinge(stiffness=spring)
    if factor is None:
        lower, upper = 1e-6, 0.5 * np.pi - 1e-9  # k L tan(k L) = c L / EI
        for _ in range(100):
            middle = 0.5 * (lower + upper)
            if middle * np.tan(middle) < spring * LENGTH / EI:
                lower = middle
            else:
                upper = middle
        critical = EI * (lower / LENGTH) ** 2
        modes = StrainModes(0, 0, 0, 0, 5, 0)  # a hinge turns in its plane alone
    else:
        critical, modes = factor * np.pi ** 2 * EI / LENGTH ** 2, BEND
    margins = []
    for part in (0.97, 1.03):
        solver = Assembly({}, {'rod': RodPart(STEEL, modes, base_joint=kind)}).solver()
        solver.tree.bodies.force[solver.places.rods['rod'][-1]] = [0.0, 0.0, -part * critical]
        assert solver.statics().converged
        margins.append(assess(solver).margin)
    assert margins[0] > 0.0 > margins[1]
    assert_allclose(margins[0] / (margins[0] - margins[1]), 0.5, atol=2e-3)
