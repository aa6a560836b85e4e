"""A fluid's forces: closed forms, tangents, energy, and rods against bodies."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.assembly.tangent import differentiate, multiply
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.laws.flow import added_mass, blade, flow_energy, of_length, Station, wake
from cosserat_ros.numerics.lie import exp_so3

RNG = np.random.default_rng(5)
AXES = exp_so3(np.array([0.3, -0.2, 0.5]))


def some_mass(scale):
    """Return a symmetric, positive matrix (6, 6)."""
    A = RNG.normal(size=(6, 6))
    return scale * (A @ A.T)


MASS, TAIL = some_mass(0.02), some_mass(0.05)
ALL = (added_mass(MASS) + blade(1000.0, 0.05, (0.0, 0.02, 0.01), AXES[0], AXES[1]))


def soft_rod():
    """Return a rod that bends easily."""
    return Rod([Segment(0.5, Circular(0.01), Material(2e6, 1100.0, poisson_ratio=0.4))])


def make():
    """Return a solver of a free body with a rod on it that carries another body by a hinge."""
    station = Station(pose((0.1, 0.02, -0.03), AXES), added_mass(MASS) + of_length(
        blade(1000.0, 0.05, (0.0, 0.02, 0.01), AXES[0], AXES[1]), 0.1))
    hinge = JointKind('revolute', (1.0, 0.5, 0.0), coordinates=[
        Coordinate(stiffness=0.1, position=0.2)])
    inertia = np.diag([2e-3, 3e-3, 4e-3])
    return Assembly(
        {'head': RigidBody(0.5, inertia, (0.0, 0.02, 0.0), flow=[station]),
         'end': RigidBody(0.05, 0.01 * inertia),
         'fin': RigidBody(0.1, 0.1 * inertia, (0.05, 0.0, 0.0), flow=[station, station])},
        {'body': RodPart(soft_rod(), StrainModes(3, 3, 3, 1, 1, 1), Attachment('head'),
                         breaks=[0.2], flow=lambda s: (1.0 + s) * ALL,
                         tip_flow=[Station(np.eye(4), wake(TAIL))],
                         tip=Attachment('end'))},
        {'hinge': Joint(hinge, Attachment('end', pose((0.0, 0.0, 0.05))), Attachment('fin'))},
        (0.0, 0.0, -9.81)).solver()


def test_the_tangent_is_that_of_differences():
    """With positions, rates and accelerations at once: all slopes of all stations."""
    solver = make()
    z, z_t, z_tt = RNG.normal(size=(3, solver.Z)) * np.array([[0.3], [1.0], [5.0]])
    cV, cA = 30.0, 700.0
    for _ in range(4):
        dz = RNG.normal(size=solver.Z)

        def residual(h, dz=dz):
            solver.set_state(z + h * dz, z_t + h * cV * dz, z_tt + h * cA * dz)
            return solver.residual(z_tt=solver.z_tt)

        h, differences = 1e-4, 0.0
        for k, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
            differences = differences + weight * (residual(k * h) - residual(-k * h)) / h
        residual(0.0)
        differentiate(solver.tree, solver.work, solver.z, cV, cA, 18, solver.tangent)
        found = np.empty(solver.Z)
        multiply(solver.tree, 18, solver.tangent, dz, found)
        assert_allclose(found, differences, rtol=0, atol=1e-8 * np.abs(found).max())


def ball(numbers, mass=0.3):
    """Return a solver of a free body with a fluid around its centre of mass."""
    return Assembly({'ball': RigidBody(mass, np.diag([2e-3, 3e-3, 4e-3]), flow=[
        Station(np.eye(4), numbers)])}, {}).solver()


def test_added_mass_slows_a_push():
    """By m / (m + m_a) along each axis."""
    M = np.diag([0.1, 0.2, 0.4, 1e-3, 2e-3, 3e-3])
    solver = ball(added_mass(M))
    link = solver.places.bodies['ball'].link
    solver.tree.bodies.force[link] = 1.0, 1.0, 1.0
    solver.tree.bodies.moment[link] = 1.0, 1.0, 1.0
    assert solver.start()
    expected = 1.0 / (np.array([0.3, 0.3, 0.3, 2e-3, 3e-3, 4e-3]) + np.diag(M))
    assert_allclose(solver.z_tt[:6], expected, rtol=1e-12)


def test_a_blade_has_lift_and_drag_by_its_angle():
    """Across and along its motion, of Dickinson's coefficients."""
    for beta in np.radians([5.0, 30.0, 45.0, 80.0, 120.0, -40.0]):
        solver = ball(of_length(blade(1.2, 0.05, np.zeros(3), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
                                0.2), 1.0)
        velocity = 3.0 * np.array([np.cos(beta), np.sin(beta), 0.0])
        z_t = np.zeros(solver.Z)
        z_t[:3] = velocity
        solver.set_state(solver.z, z_t)
        assert solver.start()
        pressure = 0.5 * 1.2 * 0.05 * 0.2 * 9.0
        across = np.array([np.sin(beta), -np.cos(beta), 0.0])
        expected = pressure * (1.8 * np.sin(2.0 * beta) * across - (
            1.92 - 1.55 * np.cos(2.0 * beta)) * velocity / 3.0)
        assert_allclose(solver.z_tt[:3], expected, rtol=0, atol=1e-12)


def twist_of(solver, link):
    """Return the twist (6,) of a link's end, in its own frame."""
    end = solver.refresh().end
    R = end.R[link]
    return np.concatenate([R.T @ end.p_t[link], R.T @ end.Om[link]])


def test_a_body_in_a_perfect_fluid_keeps_its_energy_as_steps_get_short():
    """Kirchhoff's equations: tumbling, with a drift of second order in the step."""
    drifts = []
    for dt in (2e-3, 1e-3):
        solver = ball(added_mass(MASS))
        z_t = np.zeros(solver.Z)
        z_t[:6] = 0.5, -0.3, 0.8, 3.0, -2.0, 4.0
        solver.set_state(solver.z, z_t)
        assert solver.start()
        link = solver.places.bodies['ball'].link

        def energy(solver=solver, link=link):
            return solver.energy().kinetic + flow_energy(added_mass(MASS), twist_of(solver, link))

        before = energy()
        for _ in range(round(0.5 / dt)):
            assert solver.step(dt).converged
        drifts.append(abs(energy() / before - 1.0))
    assert drifts[0] < 1e-3
    assert drifts[1] < 0.35 * drifts[0]


def test_a_stiff_rod_in_a_fluid_moves_as_a_body():
    """Stations along it, and the same fluid as stations of Gauss's rule on a rigid body."""
    rod = Rod([Segment(0.5, Circular(0.01), Material(2e6, 1100.0, poisson_ratio=0.4))])
    rigid = StrainModes(0, 0, 0, 0, 0, 0, nodes=6)
    soft = Assembly({'hub': RigidBody()}, {'rod': RodPart(
        rod, rigid, Attachment('hub'), flow=lambda s: (1.0 + s) * ALL)}, {}).solver()
    x, w = np.polynomial.legendre.leggauss(6)
    stations = [Station(pose((0.0, 0.0, 0.25 * (1.0 + a))),
                        of_length((1.0 + 0.25 * (1.0 + a)) * ALL, 0.25 * b)) for a, b in zip(x, w)]
    m, r, L = 1100.0 * np.pi * 1e-4 * 0.5, 0.01, 0.5
    J = m * np.diag([r ** 2 / 4 + L ** 2 / 12, r ** 2 / 4 + L ** 2 / 12, r ** 2 / 2])
    solid = Assembly({'hub': RigidBody(m, J, (0.0, 0.0, 0.25), flow=stations)}, {}).solver()
    rates = np.array([0.5, -0.3, 0.8, 3.0, -2.0, 4.0])
    found = []
    for solver in (soft, solid):
        at = solver.places.coordinates['hub']
        z_t = np.zeros(solver.Z)
        z_t[at] = rates
        solver.set_state(solver.z, z_t)
        assert solver.start()
        found.append(solver.z_tt[at])
    assert_allclose(found[0], found[1], rtol=1e-9)


def test_an_added_mass_that_is_not_symmetric_is_rejected():
    with pytest.raises(InvalidModel):
        added_mass(np.triu(np.ones((6, 6))))


def test_a_wake_behind_a_bare_tip_is_eliminated_with_it():
    """The factors are those of the whole tangent, where a link bears nothing but a fluid."""
    rod = RodPart(soft_rod(), StrainModes(3, 3, 3), Attachment('ground'), breaks=[0.2],
                  tip_flow=[Station(np.eye(4), added_mass(MASS)), Station(np.eye(4), wake(TAIL))])
    solver = Assembly({}, {'body': rod}, {}).solver()
    z, z_t, z_tt = RNG.normal(size=(3, solver.Z)) * np.array([[0.3], [1.0], [5.0]])
    _, K = solver.jacobian(z, z_t, z_tt, 30.0, 700.0)
    x = RNG.normal(size=(solver.Z, 2))
    assert_allclose(solver.solve_columns(K @ x), x, rtol=1e-7)


@pytest.mark.parametrize('wrong', [
    {'density': -1.0}, {'chord': np.nan}, {'forward': (0.0, 0.0, 0.0)}, {'lift': np.inf}])
def test_a_blade_that_cannot_be_is_refused_by_name(wrong):
    right = {'density': 1.2, 'chord': 0.1, 'centre': (0.0, 0.0, 0.0), 'forward': AXES[0],
             'normal': AXES[1]}
    with pytest.raises(InvalidModel, match=next(iter(wrong))):
        blade(**{**right, **wrong})
