"""Rigid mechanisms: loops, tops, told motion and limits, against closed forms and other codes."""

from dataclasses import replace
from pathlib import Path

from assemblies import MODES, random_body, random_pose, soft_rod
import numpy as np
from numpy.testing import assert_allclose
import planar
import pytest
from scipy.integrate import solve_ivp

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import exp_so3

REFERENCE = Path(__file__).parent / 'reference' / 'four_bar.npz'
DOWN = (0.0, 0.0, -planar.GRAVITY)
SECOND_ORDER = sorted(set(SCHEMES) - {'backward_euler'})


def hinge(**coordinate):
    """Return a joint that turns x towards z."""
    return JointKind('revolute', (0.0, -1.0, 0.0), coordinates=[Coordinate(**coordinate)])


def bar(length):
    """Return a bar along x from its frame on, as in `planar`."""
    return RigidBody(planar.MASS, planar.INERTIA * np.eye(3), (0.5 * length, 0.0, 0.0))


def four_bar(crank, closed_by='spherical', gravity=DOWN, **drive):
    """Return a four-bar, closed at an angle of its crank."""
    angles = planar.four_bar(crank).angles[0]
    return Assembly(
        {'crank': bar(planar.CRANK), 'coupler': bar(planar.COUPLER),
         'rocker': bar(planar.ROCKER)}, {}, {
            'A': Joint(hinge(position=angles[0], **drive), Attachment(), Attachment('crank')),
            'B': Joint(hinge(position=angles[1] - angles[0]),
                       Attachment('crank', pose((planar.CRANK, 0.0, 0.0))),
                       Attachment('coupler')),
            'D': Joint(hinge(position=angles[2]),
                       Attachment('ground', pose((planar.BASE, 0.0, 0.0))), Attachment('rocker')),
            'C': Joint(closing(closed_by, angles[2] - angles[1]),
                       Attachment('coupler', pose((planar.COUPLER, 0.0, 0.0))),
                       Attachment('rocker', pose((planar.ROCKER, 0.0, 0.0))))}, gravity)


def slider_crank(crank, closed_by='spherical', gravity=DOWN, **drive):
    """Return a slider-crank, closed at an angle of its crank; the slider's mass is a bar's."""
    motion = planar.slider_crank(crank)
    angles, x = motion.angles[0], motion.slide[0]
    slide = JointKind('prismatic', (1.0, 0.0, 0.0), coordinates=[Coordinate(position=x)])
    return Assembly(
        {'crank': bar(planar.CRANK), 'coupler': bar(planar.ROD), 'slider': bar(0.0)}, {}, {
            'A': Joint(hinge(position=angles[0], **drive), Attachment(), Attachment('crank')),
            'B': Joint(hinge(position=angles[1] - angles[0]),
                       Attachment('crank', pose((planar.CRANK, 0.0, 0.0))),
                       Attachment('coupler')),
            'D': Joint(slide, Attachment(), Attachment('slider')),
            'C': Joint(closing(closed_by, -angles[1]),
                       Attachment('coupler', pose((planar.ROD, 0.0, 0.0))),
                       Attachment('slider'))}, gravity)


def closing(kind, angle):
    """Return the joint that closes a loop: a point, or a hinge, which holds more than it needs."""
    return hinge(position=angle) if kind == 'revolute' else JointKind(kind)


MECHANISMS = {'four_bar': (four_bar, planar.four_bar),
              'slider_crank': (slider_crank, planar.slider_crank)}


def coordinates(mechanism, crank, rate=0.0, second=0.0):
    """Return those of A, B, D with their rates and accelerations, in closed form, (3, 3)."""
    motion = mechanism(crank)
    by_crank = motion.angles.copy()
    by_crank[:, 1] -= by_crank[:, 0]
    if motion.slide.any():
        by_crank[:, 2] = motion.slide
    return np.array([by_crank[0], rate * by_crank[1],
                     second * by_crank[1] + rate ** 2 * by_crank[2]])


def places(solver, *names):
    """Return where the first coordinates of joints are in z."""
    return [solver.places.coordinates[name][0] for name in names]


def extrapolated(run, steps):
    """Return the limit of second order of run(n), n steps and twice as many, and the order."""
    one, two, four = (np.asarray(run(n)) for n in (steps, 2 * steps, 4 * steps))
    order = np.log2(np.abs(one - two).max() / np.abs(two - four).max())
    return (4.0 * four - two) / 3.0, order


# --- Loops ---------------------------------------------------------------------------------------

@pytest.mark.parametrize('closed_by', ['spherical', 'revolute'])
@pytest.mark.parametrize('name', MECHANISMS)
def test_a_loop_moves_as_its_closed_form_says(name, closed_by):
    """Rates that the loop allows stay what they are; accelerations follow from them."""
    build, mechanism = MECHANISMS[name]
    for crank, rate in ((0.3, 2.0), (0.8, -5.0), (1.4, 11.0)):
        solver = build(crank, closed_by).solver()
        at = places(solver, 'A', 'B', 'D')
        second = planar.acceleration(mechanism, crank, rate)
        expected = coordinates(mechanism, crank, rate, second)
        assert solver.gap() < 1e-14
        z_t = np.zeros(solver.Z)
        z_t[at] = expected[1]
        if closed_by == 'revolute':  # the angle of the closing hinge, too
            angles = mechanism(crank).angles
            z_t[places(solver, 'C')] = rate * (angles[1, 2] - angles[1, 1])
        solver.set_state(solver.z, z_t)
        assert solver.start()
        np.testing.assert_allclose(solver.z[at], expected[0], rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(solver.z_t[at], expected[1], rtol=0.0, atol=1e-12 * abs(rate))
        np.testing.assert_allclose(
            solver.z_tt[at], expected[2], rtol=0.0, atol=1e-11 * np.abs(expected[2]).max())


@pytest.mark.parametrize('name', MECHANISMS)
def test_a_driven_loop_follows_its_crank(name):
    """Positions are those of the closed form at every instant; rates at second order."""
    build, mechanism = MECHANISMS[name]

    def crank(t):
        return 0.8 + 0.5 * np.sin(3.0 * t) ** 3  # begins at rest

    def run(steps):
        solver = build(crank(0.0), driven=True).solver()
        at, dt = places(solver, 'A', 'B', 'D'), 0.5 / steps
        assert solver.start()
        for i in range(1, steps + 1):
            solver.tree.coordinates.command[at[0]] = crank(i * dt)
            assert solver.step(dt).converged
            np.testing.assert_allclose(
                solver.z[at], coordinates(mechanism, crank(i * dt))[0], rtol=0.0, atol=1e-11)
        return solver.z_t[at]

    found, order = extrapolated(run, 100)
    rate = 0.5 * 9.0 * np.sin(1.5) ** 2 * np.cos(1.5)
    expected = coordinates(mechanism, crank(0.5), rate)[1]
    assert order > 1.8
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize('closed_by', ['spherical', 'revolute'])
@pytest.mark.parametrize('name', MECHANISMS)
def test_a_loop_that_falls_agrees_with_its_equation_in_minimal_coordinates(name, closed_by):
    build, mechanism = MECHANISMS[name]

    def run(steps):
        solver = build(0.8, closed_by).solver()
        assert solver.start()
        for _ in range(steps):
            assert solver.step(0.3 / steps).converged
        assert solver.gap() < 1e-11
        at = places(solver, 'A')
        return solver.z[at], solver.z_t[at]

    found, order = extrapolated(run, 150)
    assert 1.9 < order < 2.1
    expected = planar.crank_at(mechanism, 0.8, 0.0, [0.3])
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=2e-6 * np.abs(expected).max())


def test_a_loop_that_falls_agrees_with_mujoco():
    """
    Its pin is a stiff spring: it opens by 4e-12 m, and the crank is 2e-11 rad from rigid bars.

    What is left is our time step, halved twice and extrapolated.
    """
    reference = np.load(REFERENCE)
    assert reference['gap'][-1].max() < 1e-11

    def run(steps):
        solver = four_bar(float(reference['start'])).solver()
        assert solver.start()
        found = []
        for _ in reference['times']:
            for _ in range(steps):
                assert solver.step(0.05 / steps).converged
            found.append(solver.z[places(solver, 'A')[0]])
        return found

    found, order = extrapolated(run, 25)
    assert order > 1.9
    np.testing.assert_allclose(found, reference['crank'][-1], rtol=0.0, atol=1e-5)


# --- Tops ----------------------------------------------------------------------------------------

def top(tilt, precession):
    """Return a heavy top that precesses steadily, its rate (3,), and its spin about its axis."""
    m, arm, A, C = 0.5, 0.1, 1e-3, 8e-4
    about_pivot = A + m * arm ** 2
    along = (m * planar.GRAVITY * arm / precession + about_pivot * precession * np.cos(tilt)) / C
    spin = along - precession * np.cos(tilt)
    R = exp_so3(np.array([0.0, tilt, 0.0]))
    body = RigidBody(m, np.diag([A, A, C]), (0.0, 0.0, arm))
    solver = Assembly({'top': body}, {}, {'pivot': Joint(
        JointKind('spherical'), Attachment('ground', pose(R=R)), Attachment('top'))}, DOWN)
    return solver, precession * (R.T @ [0.0, 0.0, 1.0]) + spin * np.array([0.0, 0.0, 1.0]), spin, R


@pytest.mark.parametrize('scheme', SECOND_ORDER)
def test_a_heavy_top_precesses_steadily(scheme):
    tilt, precession, duration = 0.6, 4.0, 0.1
    assembly, rate, spin, R = top(tilt, precession)

    def run(steps):
        solver = assembly.solver(SCHEMES[scheme])
        solver.set_state(solver.z, rate)
        assert solver.start()
        # Steady: the acceleration of the rate is that by precession only.
        np.testing.assert_allclose(
            R @ solver.z_tt, np.cross([0.0, 0.0, precession], R @ rate), atol=1e-10)
        for _ in range(steps):
            assert solver.step(duration / steps).converged
        end = solver.refresh().end
        return end.R[solver.places.bodies['top'].link].copy()

    up = np.array([0.0, 0.0, 1.0])
    expected = exp_so3(precession * duration * up) @ R @ exp_so3(spin * duration * up)
    errors = [np.abs(run(n) - expected).max() for n in (200, 400, 800)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.85).all() and (orders < 2.2).all(), errors
    assert errors[-1] < 5e-3


def test_a_body_without_torque_tumbles_as_eulers_equations_say():
    """About its middle axis, whose turning is unstable: it flips."""
    J, start = np.array([1.0, 2.0, 3.0]), np.array([0.05, 3.0, 0.02])

    def euler(t, y):
        w, R = y[:3], y[3:].reshape(3, 3)
        return np.concatenate([np.cross(J * w, w) / J, np.cross(R, w).ravel()])

    duration = 2.0
    reference = solve_ivp(euler, (0.0, duration), [*start, *np.eye(3).ravel()], 'DOP853',
                          rtol=1e-12, atol=1e-13).y[3:, -1]

    def run(steps):
        solver = Assembly({'stone': RigidBody(2.0, np.diag(J), (0.0, 0.0, 0.0))}).solver()
        solver.set_state(solver.z, np.array([0.1, -0.2, 0.3, *start]))
        assert solver.start()
        for _ in range(steps):
            assert solver.step(duration / steps).converged
        # The centre goes straight on, but for 1e-12 per step that Newton may leave.
        np.testing.assert_allclose(solver.z[:3], [0.2, -0.4, 0.6], rtol=0.0, atol=1e-10)
        return solver.refresh().end.R[solver.places.bodies['stone'].link].ravel()

    assert reference[4] < 1.0  # it did turn
    found, order = extrapolated(run, 200)
    assert 1.9 < order < 2.1
    np.testing.assert_allclose(found, reference, rtol=0.0, atol=1e-5)


@pytest.mark.parametrize('carried', [False, True])
def test_an_open_loop_that_is_held_more_often_than_it_can_move_is_refused(carried):
    """Two hinges askew between two bodies, which do not meet; turning both does not help."""
    bodies = {name: RigidBody(1.0, np.eye(3)) for name in ('door', 'frame')}
    joints = {
        'stand': Joint(JointKind('spherical' if carried else 'clamped'), Attachment(),
                       Attachment('frame')),
        'upper': Joint(JointKind('revolute', (1.0, 0.0, 0.0)), Attachment(
            'frame', pose((0.1, 0.0, 0.0))), Attachment('door')),
        'lower': Joint(JointKind('revolute', (0.0, 1.0, 0.0)), Attachment(
            'frame', pose((0.3, 0.2, 0.0))), Attachment('door', pose((0.1, 0.5, 0.2))))}
    with pytest.raises(InvalidModel, match='lower.*held more often than it can move'):
        Assembly(bodies, {}, joints).solver()


@pytest.mark.parametrize('kind', ['spherical', 'universal', 'revolute'])
def test_a_loop_that_is_too_short_is_refused_with_all_its_joints(kind):
    """Also where it could move in many ways, and no equation is redundant."""
    bar = RigidBody(1.0, 0.01 * np.eye(3))
    joints = {
        'A': Joint(JointKind(kind), Attachment(), Attachment('crank')),
        'B': Joint(JointKind(kind), Attachment('crank', pose((0.2, 0.0, 0.0))),
                   Attachment('coupler')),
        'D': Joint(JointKind(kind), Attachment(pose=pose((1.2, 0.0, 0.0))), Attachment('rocker')),
        'C': Joint(JointKind(kind), Attachment('coupler', pose((0.5, 0.0, 0.0))),
                   Attachment('rocker', pose((0.4, 0.0, 0.0))))}
    with pytest.raises(InvalidModel, match=r'a gap of 0\.\d+ m') as error:
        Assembly(dict.fromkeys(('crank', 'coupler', 'rocker'), bar), {}, joints).solver()
    assert error.value.field == 'loop through C, A, B, D'


# --- What drives a body --------------------------------------------------------------------------

def driven_hull(rng):
    """Return a driven body with a mass, a joint's body and a rod on it, in any motion."""
    hull, load = (replace(random_body(rng), driven=driven) for driven in (True, False))
    solver = Assembly({'hull': hull, 'load': load}, {
        'rod': RodPart(soft_rod(), MODES, Attachment('hull', random_pose(rng)))}, {
        'hinge': Joint(JointKind('revolute'), Attachment('hull', random_pose(rng)),
                       Attachment('load', random_pose(rng)))}, (0.3, -0.2, -9.81)).solver()
    link = solver.places.bodies['hull'].link
    for part in solver.tree.roots[2:]:
        part[link] = rng.normal(size=3)
    return solver, link


def test_the_wrench_that_drives_a_body_is_the_rate_of_all_momenta():
    """Less the weight: of the body itself too, and of all that it carries."""
    rng = np.random.default_rng(3)
    solver, link = driven_hull(rng)
    solver.set_state(solver.z, np.where(solver.moves, rng.normal(size=solver.Z), 0.0))
    assert solver.start()
    wrench, p = solver.drive_wrench('hull'), solver.tree.roots.p[link].copy()
    sums = solver._sums_over_all()
    mass, gravity = sums.locked[0, 0], solver.tree.gravity
    centre = np.array([sums.locked[5, 1], sums.locked[3, 2], sums.locked[4, 0]]) / mass
    force = sums.rate[:3] - mass * gravity
    moment = sums.rate[3:] - mass * np.cross(centre, gravity) - np.cross(p, force)
    assert_allclose(wrench, [*force, *moment], rtol=0, atol=1e-9 * np.abs(wrench).max())


def test_the_mass_of_a_driven_body_counts():
    """Alone: m (a - g) and the moment of Euler's equations, by hand."""
    rng = np.random.default_rng(4)
    body, gravity = replace(random_body(rng), driven=True), np.array([0.3, -0.2, -9.81])
    solver = Assembly({'hull': body, 'vane': RigidBody(1e-3, 1e-6 * np.eye(3))}, {}, {
        'hinge': Joint(JointKind('revolute'), Attachment(), Attachment('vane'))},
        gravity).solver()
    link = solver.places.bodies['hull'].link
    v, a, Om, Om_t = rng.normal(size=(4, 3))
    roots = solver.tree.roots
    roots.p_t[link], roots.p_tt[link], roots.Om[link], roots.Om_t[link] = v, a, Om, Om_t
    R = body.pose[:3, :3]
    arm, J = R @ body.centre_of_mass, R @ body.inertia @ R.T
    force = body.mass * (a + np.cross(Om_t, arm) + np.cross(Om, np.cross(Om, arm)) - gravity)
    moment = J @ Om_t + np.cross(Om, J @ Om) + np.cross(arm, force)
    assert_allclose(solver.drive_wrench('hull'), [*force, *moment], rtol=1e-12)
    speed = v + np.cross(Om, arm)
    assert_allclose(solver.energy().kinetic, 0.5 * (
        body.mass * speed @ speed + Om @ J @ Om), rtol=1e-12)
