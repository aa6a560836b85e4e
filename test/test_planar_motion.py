"""
Assemblies with rods in motion against Lagrange's equations in the plane, and balances.

A four-bar with an elastic coupler, an arm that carries an arm, two arms that hold one body, and a
floating body with two rods: each once as an assembly, in space, and once by `lagrange`.
"""

from functools import cache
from typing import NamedTuple

from lagrange import along, Bar, GRAVITY as WEIGHT, Mechanism, Slender, up
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_flexible_assemblies import GRAVITY, hinge, orders, run, TO_X

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import exp_so3

LAST = 0.15  # [s]
BENDING = StrainModes(0, 0, 0, 0, 2, 0, nodes=12)
FINER = StrainModes(0, 0, 0, 0, 3, 0, nodes=12)
MATERIAL, RADIUS = Material(1e7, 1000.0, poisson_ratio=0.3), 0.005


def slender(length):
    """Return a rod for Lagrange's equations."""
    return Slender(length, RADIUS, MATERIAL.young_modulus, MATERIAL.density)


def rod(length):
    """Return the same for an assembly."""
    return Rod((Segment(length, Circular(RADIUS), MATERIAL),))


def turned(angle, x=0.0, z=0.0):
    """Return a pose in the plane."""
    return pose((x, 0.0, z), exp_so3(np.array([0.0, angle, 0.0])))


def rigid(bar):
    """Return a body for an assembly; its inertia about other axes is of no account."""
    x, z = bar.centre
    return RigidBody(bar.mass, bar.inertia * np.eye(3), (x, 0.0, z))


def strains(solver, *rods):
    """Return the places in z of the strains of rods of one element."""
    places = []
    for name in rods:
        link, = solver.places.rods[name]
        first = int(solver.tree.links.first[link])
        places += range(first, first + int(solver.tree.links.freedom[link]))
    return places


# --- A four-bar with an elastic coupler ----------------------------------------------------------

CRANK, COUPLER, ROCKER, PIVOTS = 0.2, 0.5, 0.4, 0.45  # [m]
CRANK_BAR, ROCKER_BAR = (Bar(0.1, 1e-3, (0.5 * length, 0.0)) for length in (CRANK, ROCKER))


def flexible_four_bar():
    """Return a four-bar whose coupler bends."""
    return Assembly({'crank': rigid(CRANK_BAR), 'rocker': rigid(ROCKER_BAR)}, {
        'coupler': RodPart(
            rod(COUPLER), BENDING, Attachment('crank', pose((CRANK, 0.0, 0.0), TO_X)),
            Attachment('rocker', pose((ROCKER, 0.0, 0.0))), base_joint=hinge(0.4),
            tip_joint=JointKind('spherical')),
    }, {
        'A': Joint(hinge(-0.8), Attachment(), Attachment('crank')),
        'D': Joint(hinge(-1.5), Attachment(pose=pose((PIVOTS, 0.0, 0.0))), Attachment('rocker')),
    }, GRAVITY)


def of_four_bar(solver):
    """Return angles of crank, coupler's base and rocker, and amplitudes of bending."""
    c = solver.places.coordinates
    return [c['A'][0], c['coupler.base'][0], c['D'][0], *strains(solver, 'coupler')]


class FourBar(Mechanism):
    """The same by Lagrange."""

    n, coupler = 5, slender(COUPLER)

    def places(self, q):
        crank, base, rocker = q[:3]
        here, pivot = CRANK * along(crank), np.array([PIVOTS, 0.0])
        start = crank + base + 0.5 * np.pi
        end, _ = self.coupler.end(here, start, q[3:])
        return ([CRANK_BAR.at(0.0 * pivot, crank), ROCKER_BAR.at(pivot, rocker),
                 self.coupler.at(here, start, q[3:])],
                end - pivot - ROCKER * along(rocker), self.coupler.energy(q[3:]))


# --- An arm that carries an arm ------------------------------------------------------------------

UPPER, LOWER = 0.3, 0.25        # [m]
SHOULDER, WRIST = 1.9, 0.7      # [rad] between the ground and the upper arm; both arms
ELBOW = Bar(0.03, 2e-5, (0.005, 0.02))
HAND = Bar(0.02, 1e-5, (-0.01, 0.015))
ON_ELBOW = 0.02, 0.01           # [m] where the lower arm begins


def arm_on_arm():
    """Return an arm with a body at its tip, on which an arm with a body grows."""
    return Assembly({'elbow': rigid(ELBOW), 'hand': rigid(HAND)}, {
        'upper': RodPart(rod(UPPER), BENDING, Attachment(pose=turned(SHOULDER)),
                         Attachment('elbow')),
        'lower': RodPart(rod(LOWER), BENDING, Attachment('elbow', turned(WRIST, *ON_ELBOW)),
                         Attachment('hand')),
    }, gravity=GRAVITY)


class ArmOnArm(Mechanism):
    """The same by Lagrange."""

    n, upper, lower = 4, slender(UPPER), slender(LOWER)

    def places(self, q):
        foot, (x, z) = np.zeros(2), ON_ELBOW
        elbow, angle = self.upper.end(foot, SHOULDER, q[:2])
        start = elbow + x * along(angle) + z * up(angle)
        hand, last = self.lower.end(start, angle + WRIST, q[2:])
        return ([self.upper.at(foot, SHOULDER, q[:2]), ELBOW.at(elbow, angle),
                 self.lower.at(start, angle + WRIST, q[2:]), HAND.at(hand, last)],
                np.zeros(0), self.upper.energy(q[:2]) + self.lower.energy(q[2:]))


# --- Two arms that hold one body -----------------------------------------------------------------

LEFT, RIGHT = 0.3, 0.25                               # [m]
FEET = {'left': (0.3, -0.12, 0.0), 'right': (-0.2, 0.1, 0.05)}  # angle, x, z
HELD = Bar(0.08, 1e-4, (0.01, 0.03))
GRIPS = {'left': (0.25, -0.04, -0.003), 'right': (-0.17, 0.04, 0.005)}


def two_arms():
    """Return two arms of different lengths that hold one body: a loop."""
    body = rigid(HELD)
    body = RigidBody(body.mass, body.inertia, body.centre_of_mass, pose((0.01, 0.0, 0.29)))
    return Assembly({'body': body}, {
        name: RodPart(rod(length), FINER, Attachment(pose=turned(*FEET[name])),
                      Attachment('body', turned(*GRIPS[name])))
        for name, length in (('left', LEFT), ('right', RIGHT))}, gravity=GRAVITY)


class TwoArms(Mechanism):
    """The same by Lagrange: the body has coordinates of its own, and two tips are held."""

    n, arms = 9, (slender(LEFT), slender(RIGHT))

    def places(self, q):
        body, angle = q[:2], q[2]
        parts, gaps, elastic = [HELD.at(body, angle)], [], 0.0
        for arm, name, own in zip(self.arms, FEET, (q[3:6], q[6:])):
            start, *foot = FEET[name]
            grip, x, z = GRIPS[name]
            end, last = arm.end(np.array(foot), start, own)
            parts.append(arm.at(np.array(foot), start, own))
            gaps += [end - body - x * along(angle) - z * up(angle), [last - angle - grip]]
            elastic = elastic + arm.energy(own)
        return parts, np.concatenate(gaps), elastic


# --- A floating body with two rods ---------------------------------------------------------------

HULL = Bar(0.2, 4e-4, (0.01, -0.02))
ROOTS = {'up': (0.1, 0.0, 0.05), 'aside': (1.4, 0.05, 0.0)}  # angle, x, z
LENGTHS = {'up': 0.3, 'aside': 0.25}
THROWN = 0.3, -0.2, 4.0  # [m/s, rad/s]


def afloat():
    """Return a body with two rods in space."""
    return Assembly({'hull': rigid(HULL)}, {
        name: RodPart(rod(LENGTHS[name]), BENDING, Attachment('hull', turned(*root)))
        for name, root in ROOTS.items()}, gravity=GRAVITY)


class Afloat(Mechanism):
    """The same by Lagrange."""

    n, rods = 7, tuple(slender(LENGTHS[name]) for name in ROOTS)

    def places(self, q):
        hull, angle = q[:2], q[2]
        parts, elastic = [HULL.at(hull, angle)], 0.0
        for rod_, (turn, x, z), own in zip(self.rods, ROOTS.values(), (q[3:5], q[5:])):
            parts.append(rod_.at(hull + x * along(angle) + z * up(angle), angle + turn, own))
            elastic = elastic + rod_.energy(own)
        return parts, np.zeros(0), elastic


# --- All of them ---------------------------------------------------------------------------------

class Planar(NamedTuple):
    """An assembly, and the same mechanism by Lagrange."""

    assembly: object
    mechanism: Mechanism
    rods: tuple           # whose strains are compared
    body: str = ''        # that has coordinates of its own
    thrown: tuple = ()    # its rates at the start


SYSTEMS = {
    'four-bar': Planar(flexible_four_bar, FourBar(), ()),
    'arm on arm': Planar(arm_on_arm, ArmOnArm(), ('upper', 'lower')),
    'two arms': Planar(two_arms, TwoArms(), ('left', 'right'), 'body'),
    'afloat': Planar(afloat, Afloat(), ('up', 'aside'), 'hull', THROWN),
}


def begun(name, scheme='generalised_alpha', tolerance=1e-15):
    """Return the solver of a system, closed, with its first rates and accelerations."""
    system = SYSTEMS[name]
    solver = system.assembly().solver(SCHEMES[scheme], tolerance)
    assert solver.close()
    if system.thrown:
        z_t = np.zeros(solver.Z)
        z_t[np.array(solver.places.coordinates[system.body])[[0, 2, 4]]] = system.thrown
        solver.set_state(solver.z, z_t)
    assert solver.start()
    return solver


def coordinates(name, solver):
    """Return where a system is, in the coordinates of its equations of Lagrange."""
    system = SYSTEMS[name]
    if name == 'four-bar':
        return solver.z[of_four_bar(solver)]
    own = solver.z[strains(solver, *system.rods)]
    if not system.body:
        return own
    end, link = solver.refresh().end, solver.places.bodies[system.body].link
    p, R = end.p[link], end.R[link]
    assert_allclose([p[1], *R[1, [0, 2]], *R[[0, 2], 1]], 0.0, atol=1e-9)  # in the plane
    return np.array([p[0], p[2], np.arctan2(R[0, 2], R[0, 0]), *own])


def its_rates(name, solver, order=1):
    """Return their rates, or accelerations."""
    system, of = SYSTEMS[name], solver.z_t if order == 1 else solver.z_tt
    if name == 'four-bar':
        return of[of_four_bar(solver)]
    own = of[strains(solver, *system.rods)]
    if not system.body:
        return own
    end, link = solver.refresh().end, solver.places.bodies[system.body].link
    p, turn = (end.p_t, end.Om) if order == 1 else (end.p_tt, end.Om_t)
    return np.array([p[link, 0], p[link, 2], turn[link, 1], *own])


@cache
def by_lagrange(name):
    """Return coordinates and rates of a system at the end."""
    solver, mechanism = begun(name), SYSTEMS[name].mechanism
    start = coordinates(name, solver)
    assert np.abs(mechanism.gap(start)).max(initial=0.0) < 1e-12
    return mechanism.later(start, its_rates(name, solver), LAST)


@pytest.mark.parametrize('name', SYSTEMS)
def test_a_flexible_mechanism_starts_with_the_accelerations_of_lagrange(name):
    solver = begun(name)
    expected = SYSTEMS[name].mechanism.accelerations(
        coordinates(name, solver), its_rates(name, solver))
    assert_allclose(its_rates(name, solver, 2), expected, rtol=0,
                    atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize('name', SYSTEMS)
def test_a_flexible_mechanism_moves_as_lagrange_says(name):
    """Coordinates and rates; steps of order 2, extrapolated to order 4."""
    expected, found = by_lagrange(name), []
    for dt in (5e-4, 2.5e-4):
        solver = run(begun(name), dt, LAST)
        found.append([coordinates(name, solver), its_rates(name, solver)])
    coarse, fine = np.array(found)
    best = fine + (fine - coarse) / 3.0
    for mine, theirs, within in zip(best, expected, (2e-7, 2e-6)):
        assert_allclose(mine, theirs, rtol=0, atol=within * np.abs(theirs).max())
    assert np.abs(expected[0][-2:]).max() > 0.01  # it bends


@pytest.mark.parametrize('scheme, order', [
    ('generalised_alpha', 2), ('backward_euler', 1), ('bdf2', 2), ('bdf_alpha', 2),
    ('trapezoidal', 2), ('newmark', 2)])
def test_all_schemes_have_their_order_on_a_flexible_loop(scheme, order):
    expected = by_lagrange('four-bar')[0]
    errors = [np.abs(coordinates('four-bar', run(begun('four-bar', scheme), dt, LAST))
                     - expected).max() for dt in (6e-4, 3e-4, 1.5e-4)]
    assert_allclose(orders(errors), order, atol=0.05)


# --- Balances ------------------------------------------------------------------------------------

@pytest.mark.parametrize('name', SYSTEMS)
def test_a_flexible_mechanism_has_the_energies_of_lagrange(name):
    """But for the potential where all is at its start."""
    before, after = begun(name), run(begun(name), 1e-3, 0.02)
    found, expected = ([], [])
    for solver in (before, after):
        energy = solver.energy()
        found.append([energy.kinetic, energy.potential])
        expected.append(SYSTEMS[name].mechanism.energies(
            coordinates(name, solver), its_rates(name, solver)))
    assert_allclose(np.diff(found, axis=0), np.diff(expected, axis=0), rtol=1e-9)
    assert_allclose(found[1][0], expected[1][0], rtol=1e-9)


def outside(name, solver):
    """Return the weight, from Lagrange's masses, and what the ground bears: (3,) x, z, about y."""
    parts, _, _ = SYSTEMS[name].mechanism.places(coordinates(name, solver))
    weight = np.zeros(3)
    for part in parts:
        weight -= WEIGHT * np.array([0.0, part.masses.sum(), -part.masses @ part.points[:, 0]])
    return weight - solver.refresh().wrench[0, [0, 2, 4]]


@pytest.mark.parametrize('name', SYSTEMS)
def test_energy_and_momenta_of_a_flexible_mechanism_are_balanced_at_second_order(name):
    """Energy is conserved; momenta are what weight and ground have made of them."""
    energies, momenta = [], []
    for dt in (2e-3, 1e-3, 5e-4):
        solver = begun(name, 'trapezoidal')
        solver.keep_momentum = False
        energy, momentum, drift = sum(solver.energy()), solver.momentum()[[0, 2, 4]], np.zeros(2)
        before = outside(name, solver)
        for _ in range(round(LAST / dt)):
            assert solver.step(dt).converged
            after = outside(name, solver)
            momentum += 0.5 * dt * (before + after)
            before = after
            drift = np.maximum(drift, [
                abs(sum(solver.energy()) - energy),
                np.abs(solver.momentum()[[0, 2, 4]] - momentum).max()])
        energies.append(drift[0])
        momenta.append(drift[1])
    assert (orders(energies) > 1.95).all()
    assert energies[-1] < 1e-4 * solver.energy()[0]
    assert (orders(momenta) > 1.95).all()
    assert momenta[-1] < 1e-4 * np.abs(solver.momentum()).max()
