"""Assemblies with rods in motion: independent solutions, limits, balances, orders."""

from pathlib import Path
import subprocess
import sys
import tracemalloc

from assemblies import soft_rod
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.integrate import solve_ivp
from test_assembly import check_tangent

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.assembly.loads import Bodies
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import COMPONENTS, StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.rod.discretisation import discretise

GRAVITY = (0.0, 0.0, -9.81)
ALL = StrainModes(2, 2, 2, 3, 3, 2)
HINGE = JointKind('revolute', (0.0, 1.0, 0.0))
TO_X = exp_so3(np.array([0.0, np.pi / 2.0, 0.0]))  # a rod that grows along x


def run(solver, dt, time):
    """Step to a time [s]."""
    for _ in range(round(time / dt)):
        assert solver.step(dt).converged
    return solver


def orders(errors):
    """Return the orders of errors at steps that are halved."""
    errors = np.array(errors)
    return np.log2(errors[:-1] / errors[1:])


def hinge(position):
    """Return a joint that turns about y, from this angle."""
    return JointKind('revolute', (0.0, 1.0, 0.0), coordinates=[Coordinate(position=position)])


# --- Arms that carry arms ------------------------------------------------------------------------

LOAD = RigidBody(0.02, 1e-5 * np.diag([1.0, 2.0, 2.5]), (0.005, -0.01, 0.02))


def pushed(solver, link, force=(0.05, -0.08, 0.02), moment=(0.0, 0.002, 0.001)):
    """Let a wrench act on the end of a link."""
    solver.tree.bodies.force[link], solver.tree.bodies.moment[link] = force, moment
    return solver


def test_an_arm_on_a_body_on_an_arm_is_one_longer_rod_with_a_body():
    """Statics, then motion without the force, to 1e-9."""
    rod = soft_rod(0.3)
    solver = Assembly({'elbow': LOAD, 'hand': LOAD}, {
        'upper': RodPart(rod, ALL, tip=Attachment('elbow')),
        'lower': RodPart(rod, ALL, Attachment('elbow'), Attachment('hand')),
    }, gravity=GRAVITY).solver(tolerance=1e-13)
    both = Rod(rod.segments * 2)
    old = RodSolver(discretise(both, ALL), tolerance=1e-13)
    loads = old.no_loads()._replace(gravity=np.array(GRAVITY), bodies=Bodies(
        np.full(2, LOAD.mass), np.tile(LOAD.centre_of_mass, (2, 1)),
        np.tile(np.diag(LOAD.inertia), (2, 1)), np.tile(np.eye(3), (2, 1, 1))))
    loads.end_force[-1], loads.end_moment[-1] = (0.05, -0.08, 0.02), (0.0, 0.002, 0.001)
    hand = solver.places.bodies['hand'].link
    pushed(solver, hand)

    def check():
        end, x = solver.refresh().end, old.state()
        for k, name in enumerate(('elbow', 'hand')):
            link = solver.places.bodies[name].link
            assert_allclose(end.p[link], x.p_end[k], rtol=0, atol=1e-9)
            assert_allclose(end.p_t[link], x.p_end_t[k], rtol=0, atol=1e-7)

    old.load(loads)
    assert old.statics().converged
    assert solver.statics().converged
    check()
    pushed(solver, hand, 0.0, 0.0)
    loads.end_force[:], loads.end_moment[:] = 0.0, 0.0
    old.load(loads)
    for _ in range(40):
        assert old.step(2.5e-3).converged
        assert solver.step(2.5e-3).converged
        check()
    assert np.linalg.norm(solver.refresh().end.p_t[hand]) > 0.1


def test_two_arms_that_hold_one_body_are_each_a_half_of_it():
    """Mirrored at x = 0: one arm, with half the body, that the mirror's plane guides."""
    body = RigidBody(0.1, 1e-4 * np.diag([1.0, 2.0, 2.5]), (0.0, 0.01, 0.03),
                     pose=pose((0.0, 0.0, 0.3)))
    half = RigidBody(0.05, 0.5e-4 * np.diag([1.0, 2.0, 2.5]), body.centre_of_mass)
    rod = soft_rod(0.3)
    mirror = np.diag([-1.0, 1.0, 1.0])
    tilt = exp_so3(np.array([0.1, 0.2, 0.0]))
    ends = {'left': (pose((-0.1, 0.0, 0.0), tilt), pose((-0.05, 0.0, 0.0))),
            'right': (pose((0.1, 0.0, 0.0), mirror @ tilt @ mirror), pose((0.05, 0.0, 0.0)))}
    whole = Assembly({'body': body}, {
        name: RodPart(rod, ALL, Attachment(pose=base), Attachment('body', tip))
        for name, (base, tip) in ends.items()}, gravity=(0.0, 3.0, -9.81)).solver(tolerance=1e-13)
    guide = Joint(JointKind('planar', (1.0, 0.0, 0.0), coordinates=[
        Coordinate(position=0.0), Coordinate(position=0.3), Coordinate()]),
        Attachment(), Attachment('body'))
    base, tip = ends['left']
    part = Assembly({'body': half}, {
        'left': RodPart(rod, ALL, Attachment(pose=base), Attachment('body', tip))},
        {'guide': guide}, (0.0, 3.0, -9.81)).solver(tolerance=1e-13)
    links = [solver.places.bodies['body'].link for solver in (whole, part)]
    for solver, link, size in zip((whole, part), links, (1.0, 0.5)):
        pushed(solver, link, (0.0, 0.3 * size, -0.5 * size), (0.01 * size, 0.0, 0.0))
        solution = solver.statics()
        assert solution.converged, solution
    for _ in range(41):
        one, other = whole.refresh().end, part.refresh().end
        assert_allclose(one.p[links[0]], other.p[links[1]], rtol=0, atol=1e-9)
        assert_allclose(one.R[links[0]], other.R[links[1]], rtol=0, atol=1e-9)
        for solver, link in zip((whole, part), links):
            pushed(solver, link, 0.0, 0.0)
            assert solver.step(2e-3).converged
    assert np.linalg.norm(whole.refresh().end.p_t[links[0]]) > 1e-2


# --- Afloat --------------------------------------------------------------------------------------

def floating_parts(place=(0.0, 0.0, 0.0), name='hull', modes=ALL):
    """Return a body and two rods on it, in space."""
    body = RigidBody(0.2, 1e-3 * np.diag([1.0, 2.0, 2.5]), (0.01, 0.0, -0.02), pose(place))
    aside = exp_so3(np.array([0.3, 1.3, 0.0]))
    return {name: body}, {
        f'{name}_up': RodPart(soft_rod(0.3), modes, Attachment(name, pose((0.0, 0.0, 0.05)))),
        f'{name}_aside': RodPart(soft_rod(0.25), modes, Attachment(name, pose((0.05, 0.0, 0.0),
                                                                             aside)))}


def set_off(solver, name='hull'):
    """Give a floating body a velocity and a spin."""
    z_t = solver.z_t.copy()
    z_t[solver.places.coordinates[name]] += [0.1, -0.2, 0.3, 1.0, -2.0, 1.5]
    solver.set_state(solver.z, z_t)
    assert solver.start()


@pytest.mark.parametrize('scheme, order', [
    ('generalised_alpha', 2), ('trapezoidal', 2), ('newmark', 2), ('bdf_alpha', 2),
    ('bdf2', 2), ('backward_euler', 1)])
def test_momenta_of_a_floating_body_with_two_rods_drift_by_the_order_of_the_scheme(scheme, order):
    """
    Without `keep_momentum` they drift in 0.1 s, at steps of 0.25 ms, by these parts of themselves.

    By 6e-8 (generalised alpha, trapezoidal, Newmark), 1.4e-7 and 1.9e-7 (BDF), 2.9e-5 (Euler). To
    see that, Newton's tolerance is at rounding: at 1e-12 the drift does not go below 1.4e-7.
    """
    drifts = []
    for dt in (1e-3, 5e-4, 2.5e-4):
        solver = Assembly(*floating_parts(modes=StrainModes(1, 1, 1, 2, 2, 1))).solver(
            SCHEMES[scheme], tolerance=1e-15)
        solver.keep_momentum = False
        set_off(solver)
        before, drift = solver.momentum(), np.zeros(6)
        size = np.repeat([np.linalg.norm(before[:3]), np.linalg.norm(before[3:])], 3)
        for _ in range(round(0.1 / dt)):
            assert solver.step(dt).converged
            drift = np.maximum(drift, np.abs(solver.momentum() - before) / size)
        drifts.append(drift.max())
    assert orders(drifts).mean() > order - 0.1
    assert drifts[-1] < (2e-7 if order == 2 else 5e-5)


def apart():
    """Return two floating robots."""
    parts = [floating_parts(place, name, StrainModes(1, 1, 1, 2, 2, 1)) for name, place in (
        ('one', (0.0, 0.0, 0.0)), ('two', (0.5, 0.0, 0.0)))]
    return Assembly(parts[0][0] | parts[1][0], parts[0][1] | parts[1][1])


def joined():
    """Return two floating bodies, one at the tips of two rods of the other: a loop in space."""
    body = RigidBody(0.2, 1e-3 * np.diag([1.0, 2.0, 2.5]), (0.01, 0.0, -0.02))
    places = {'left': pose((-0.05, 0.0, 0.0)), 'right': pose((0.05, 0.0, 0.0))}
    return Assembly(
        {'one': body, 'two': RigidBody(0.1, 1e-3 * np.eye(3), pose=pose((0.0, 0.0, 0.3)))},
        {name: RodPart(soft_rod(0.3), ALL, Attachment('one', g), Attachment('two', g))
         for name, g in places.items()})


@pytest.mark.parametrize('scheme', SCHEMES)
@pytest.mark.parametrize('robots', [apart, joined])
def test_momenta_of_what_floats_are_kept_whatever_the_step(robots, scheme):
    """
    To rounding, over 0.2 s at 4 ms; without that they drift.

    By 1.5e-6 (generalised alpha) to 1.2e-4 (Euler) of themselves for two robots, by 1.6e-5 (BDF2)
    to 2e-4 (Euler) with a loop. With Newton's tolerance at 1e-12 they are kept to 2e-11.
    """
    def drift(keep):
        solver = robots().solver(SCHEMES[scheme], tolerance=1e-15)
        solver.keep_momentum = keep
        z_t = np.zeros(solver.Z)
        z_t[solver.places.coordinates['one']] = 0.1, -0.2, 3.0, 1.0, -2.0, 1.5
        solver.set_state(solver.z, z_t)
        assert solver.start()
        before = solver.momentum()
        run(solver, 4e-3, 0.2)
        assert solver.gap() < 1e-9
        return np.abs(solver.momentum() - before).max() / np.abs(before).max()

    assert drift(True) < 3e-13
    assert drift(False) > 1e-6


def test_what_a_spring_holds_is_left_to_the_scheme():
    """Momentum is no balance there: the same motion with `keep_momentum` and without."""
    free = JointKind('free', coordinates=[Coordinate(stiffness=5.0)] * 6)

    def swung(keep):
        solver = Assembly(*floating_parts(), {
            'spring': Joint(free, Attachment(), Attachment('hull'))}).solver()
        solver.keep_momentum = keep
        z_t = np.where(solver.moves, 0.1, 0.0)
        solver.set_state(solver.z, z_t)
        assert solver.start()
        return run(solver, 4e-3, 0.1).z

    assert_allclose(swung(True), swung(False), rtol=0, atol=0)


def test_several_floating_robots_move_each_as_if_alone():
    places = {'one': (0.0, 0.0, 0.0), 'two': (3.0, 1.0, 0.0), 'three': (0.0, -2.0, 1.0)}
    spins = {'one': 1.0, 'two': -2.0, 'three': 0.5}
    parts = {name: floating_parts(place, name) for name, place in places.items()}
    bodies = {name: body for some, _ in parts.values() for name, body in some.items()}
    rods = {name: rod for _, some in parts.values() for name, rod in some.items()}

    def start(bodies, rods):
        solver = Assembly(bodies, rods, gravity=GRAVITY).solver(tolerance=1e-15)
        z_t = np.zeros(solver.Z)
        for name in bodies:
            z_t[solver.places.coordinates[name]] = spins[name] * np.array(
                [0.1, -0.2, 0.3, 1.0, -2.0, 1.5])
        solver.set_state(solver.z, z_t)
        assert solver.start()
        return run(solver, 2e-3, 0.05)

    all_of_them = start(bodies, rods)
    end = all_of_them.refresh().end
    for name, (body, own) in parts.items():
        alone = start(body, own)
        mine = alone.refresh().end
        for rod in own:
            a, b = all_of_them.places.rods[rod][-1], alone.places.rods[rod][-1]
            assert_allclose(end.p[a], mine.p[b], rtol=0, atol=1e-12)
            assert_allclose(end.R[a], mine.R[b], rtol=0, atol=1e-12)
        assert np.linalg.norm(end.p[all_of_them.places.bodies[name].link] - places[name]) > 0.005


# --- Rigid and stiff -----------------------------------------------------------------------------

def stiffen(solver, link, component, factor):
    """Make one strain of an element stiffer."""
    e, c = solver.tree.elements, int(solver.tree.links.item[link])
    n = int(e.size[c, 1])
    of = e.whole[e.first[c, 9]:e.first[c, 9] + n]
    e.data[e.first[c, 7]:e.first[c, 7] + n * n].reshape(n, n)[of == component] *= factor


@pytest.mark.parametrize('component', range(6), ids=COMPONENTS)
def test_a_rod_without_modes_of_a_strain_is_the_limit_of_a_stiff_one(component):
    """The rest, of the strain that is left, shrinks in proportion to the stiffness."""
    rod = soft_rod(0.3)

    def tip(modes, factor=1.0):
        solver = Assembly({'load': LOAD}, {'rod': RodPart(
            rod, modes, tip=Attachment('load'))}, gravity=(1.0, 2.0, -9.81)).solver(
                SCHEMES['backward_euler'], 1e-14)
        link = solver.places.rods['rod'][-1]
        stiffen(solver, link, component, factor)
        pushed(solver, link)
        assert solver.statics().converged
        at_rest = solver.refresh().end.p[link].copy()
        pushed(solver, link, 0.0, 0.0)
        run(solver, 5e-3, 0.05)
        return np.array([at_rest, solver.refresh().end.p[link]])

    full = {name: getattr(ALL, name) for name in COMPONENTS}
    rigid = tip(StrainModes(**{**full, COMPONENTS[component]: 0}))
    soft, stiff, stiffer = (
        np.abs(tip(ALL, factor) - rigid).max() for factor in (1.0, 1e4, 1e6))
    assert stiff < 2e-3 * soft
    assert stiffer < 2e-5 * soft + 1e-12


def test_a_short_stiff_rod_is_a_clamp():
    """1 mm long, 1e7 times as stiff as the arm on it: it gives by 1e-9 of what that does."""
    stub = Rod((Segment(1e-3, Circular(0.01), Material(1e13, 1e3, poisson_ratio=0.3)),))
    arm = soft_rod(0.3)

    def moved(parts, bodies, above):
        solver = Assembly(bodies, parts, gravity=(3.0, 1.0, -9.81)).solver(tolerance=1e-12)
        link = solver.places.rods['arm'][-1]
        run(solver, 2e-3, 0.1)
        return solver.refresh().end.p[link] - [0.0, 0.0, above]

    alone = moved({'arm': RodPart(arm, ALL)}, {}, 0.0)
    on_it = moved({'stub': RodPart(stub, ALL, tip=Attachment('root')),
                   'arm': RodPart(arm, ALL, Attachment('root'))}, {'root': RigidBody()}, 1e-3)
    assert np.linalg.norm(alone - [0.0, 0.0, 0.3]) > 0.005
    assert_allclose(on_it, alone, rtol=0, atol=1e-9)


# --- Hinges --------------------------------------------------------------------------------------

def rigid_pendulum(angle, length, mass, inertia, time):
    """Return the angle of a pendulum after some time, from rest."""
    def slope(_, y):
        return y[1], -9.81 * 0.5 * mass * length * np.sin(y[0]) / inertia

    return solve_ivp(slope, (0.0, time), (angle, 0.0), rtol=1e-12, atol=1e-13).y[0, -1]


@pytest.mark.parametrize('bending', [2, 0], ids=['stiff', 'rigid'])
def test_a_stiff_rod_on_a_hinge_is_a_rigid_pendulum(bending):
    """It bends by 1e-8 or not at all; steps have order 2, and are extrapolated to order 4."""
    length, radius, start, time = 0.3, 0.01, 0.7, 0.3
    mass = 1e3 * np.pi * radius ** 2 * length
    inertia = mass * length ** 2 / 3.0 + mass * radius ** 2 / 4.0
    down = pose(R=exp_so3(np.array([0.0, np.pi, 0.0])))
    expected = rigid_pendulum(start, length, mass, inertia, time)

    def angle(dt):
        solver = Assembly({}, {'rod': RodPart(
            soft_rod(length, radius, 1e12), StrainModes(0, 0, 0, 0, bending, 0),
            Attachment(pose=down), base_joint=hinge(start))}, gravity=GRAVITY).solver()
        assert solver.start()
        return run(solver, dt, time).z[0]

    errors = [angle(dt) - expected for dt in (4e-3, 2e-3, 1e-3)]
    assert_allclose(orders(np.abs(errors)), 2.0, atol=0.05)
    assert abs(errors[2] + (errors[2] - errors[1]) / 3.0) < 1e-7


def test_a_hinge_between_two_moving_rods_passes_no_moment_and_no_energy():
    def drift(dt):
        solver = Assembly({'knee': RigidBody()}, {
            'thigh': RodPart(soft_rod(0.3), ALL, Attachment(pose=pose(R=TO_X)),
                             Attachment('knee')),
            'shin': RodPart(soft_rod(0.3), ALL, Attachment('knee'), base_joint=HINGE),
        }, gravity=GRAVITY).solver(SCHEMES['trapezoidal'], tolerance=1e-15)
        assert solver.start()
        before, joint = sum(solver.energy()), solver.places.coordinates['shin.base'][0]
        most = 0.0
        for _ in range(round(0.1 / dt)):
            assert solver.step(dt).converged
            work = solver.refresh()
            first = solver.places.rods['shin'][0]
            axis = work.start.R[first][:, 1]
            assert abs(axis @ work.passed[first, 3:]) < 1e-9
            most = max(most, abs(sum(solver.energy()) - before))
        assert abs(solver.z[joint]) > 0.05
        return most, solver.energy()[0]

    drifts = [drift(dt) for dt in (2e-3, 1e-3, 5e-4)]
    assert orders([d for d, _ in drifts])[-1] > 1.9
    assert drifts[-1][0] < 1e-3 * drifts[-1][1]


# --- Loads that are too much at once -------------------------------------------------------------

def two_link_arm(**options):
    """Return an arm on an arm."""
    return Assembly({'elbow': RigidBody(0.01)}, {
        'upper': RodPart(soft_rod(0.3), ALL, tip=Attachment('elbow')),
        'lower': RodPart(soft_rod(0.3), ALL, Attachment('elbow')),
    }).solver(**options)


@pytest.mark.parametrize('force, moment', [
    ((1.09, -0.33, -0.21), (-0.035, -0.001, 0.077)),
    ((-0.31, 0.21, -0.16), (0.132, 0.063, -0.22))])
def test_a_load_that_newton_cannot_take_at_once_is_led_there(force, moment):
    """What the ground takes is what acts on the tip, with its lever; as wound up as it may be."""
    solver = two_link_arm()
    tip, root = solver.places.rods['lower'][-1], solver.places.rods['upper'][0]
    solution = pushed(solver, tip, force, moment).statics()
    assert solution.converged
    assert solution.parts > 1
    work = solver.refresh()
    assert_allclose(work.passed[root, :3], force, rtol=0, atol=1e-12)
    assert_allclose(work.passed[root, 3:], moment + np.cross(work.end.p[tip], force), rtol=0,
                    atol=1e-12)
    assert np.abs(solver.residual()).max() < 1e-11


def test_a_step_that_newton_cannot_take_at_once_is_divided():
    solver = two_link_arm()
    tip = solver.places.rods['lower'][-1]
    solver.tree.bodies.follower_force[tip] = [0.0, 100.0, -33.0]
    solution = solver.step(0.05)
    assert solution.converged
    assert solution.parts > 1
    assert_allclose(solver.time, 0.05)


def test_a_load_that_nothing_can_bear_is_refused_and_changes_nothing():
    solver = two_link_arm()
    tip = solver.places.rods['lower'][-1]
    before = solver.z.copy()
    solver.tree.bodies.force[tip] = [0.0, np.inf, 0.0]
    solution = solver.statics()
    assert not solution.converged
    assert solution.message
    assert np.array_equal(solution.z, before)


# --- Loops ---------------------------------------------------------------------------------------

LOOPS = {
    'an arch on the ground': Assembly({}, {'arch': RodPart(
        soft_rod(), ALL, tip=Attachment(pose=pose((0.2, 0.0, 0.1))))}),
    'a handle on a floating body': Assembly({'hull': LOAD}, {'handle': RodPart(
        soft_rod(), ALL, Attachment('hull'), Attachment('hull', pose((0.2, 0.0, 0.1))))}),
    'a ring of two rods and two bodies': Assembly({'one': LOAD, 'two': LOAD}, {
        'there': RodPart(soft_rod(), ALL, Attachment('one'), Attachment('two')),
        'back': RodPart(soft_rod(), ALL, Attachment('two', pose((0.1, 0.0, 0.0))),
                        Attachment('one', pose((0.1, 0.0, 0.0))),
                        tip_joint=JointKind('spherical'))}),
    'three legs, one of them with a knee': Assembly({'plate': LOAD, 'knee': LOAD}, {
        'one': RodPart(soft_rod(), ALL, tip=Attachment('plate')),
        'two': RodPart(soft_rod(), ALL, Attachment(pose=pose((0.1, 0.0, 0.0))),
                       Attachment('plate', pose((0.1, 0.0, 0.0))),
                       tip_joint=JointKind('spherical')),
        'thigh': RodPart(soft_rod(0.15), ALL, Attachment(pose=pose((0.0, 0.1, 0.0))),
                         Attachment('knee')),
        'shin': RodPart(soft_rod(0.15), ALL, Attachment('knee'), Attachment(
            'plate', pose((0.0, 0.1, 0.0))), base_joint=HINGE)}),
}


@pytest.mark.parametrize('loop', LOOPS)
def test_the_tangent_of_a_loop_of_rods_is_exact(loop):
    check_tangent(np.random.default_rng(len(loop)), LOOPS[loop].solver())


def test_a_beam_that_is_clamped_at_both_ends_bends_as_theory_says():
    full = Rod((Segment(0.3, Circular(0.01), Material(1e6, 1e3, poisson_ratio=0.3)),) * 2)
    solver = Assembly({}, {'beam': RodPart(
        full, ALL, tip=Attachment(pose=pose((0.0, 0.0, 0.6))))}).solver(tolerance=1e-14)
    middle = solver.places.rods['beam'][0]
    EI, GA, force = 1e6 * np.pi * 1e-8 / 4.0, 1e6 / 2.6 * np.pi * 1e-4, 1e-6
    solver.tree.bodies.force[middle, 0] = force
    assert solver.statics().converged
    assert_allclose(solver.refresh().end.p[middle, 0],
                    force * (0.6 ** 3 / (192.0 * EI) + 0.6 / (4.0 * GA)), rtol=1e-8)


def test_a_rod_that_ends_where_it_begins_is_refused_by_name():
    with pytest.raises(InvalidModel, match=r'rods.ring.tip'):
        Assembly({}, {'ring': RodPart(soft_rod(), ALL, tip=Attachment())})


# --- Many elements -------------------------------------------------------------------------------

def test_a_rod_of_a_thousand_elements_rolls_up_to_a_circle():
    """By a moment at its tip, of which linear theory knows the curvature."""
    solver = Assembly({}, {'rod': RodPart(
        soft_rod(0.3), StrainModes(0, 0, 1, 1, 1, 1, elements=1000))}).solver()
    link = solver.places.rods['rod'][-1]
    EI, turn = 1e6 * np.pi * 1e-8 / 4.0, 3.0
    solver.tree.bodies.moment[link, 1] = EI * turn / 0.3
    assert solver.statics().converged
    assert_allclose(solver.refresh().end.p[link], 0.3 / turn * np.array(
        [1.0 - np.cos(turn), 0.0, np.sin(turn)]), rtol=0, atol=1e-11)


@pytest.mark.parametrize('elements', [30, 1000])
def test_a_rod_of_many_elements_starts_in_balance(elements):
    """A bent rod is let go. Nothing on the way is as large as a matrix of all unknowns."""
    solver = Assembly({}, {'rod': RodPart(
        soft_rod(0.3), StrainModes(1, 1, 1, 3, 3, 3, elements=elements))}).solver()
    solver.tree.bodies.moment[solver.places.rods['rod'][-1], 1] = 2e-3
    assert solver.statics().converged
    solver.tree.bodies.moment[:] = 0.0
    unbalanced = np.abs(solver.residual()).max()
    tracemalloc.start()
    assert solver.start()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.abs(solver.residual()).max() < 1e-9 * unbalanced
    assert peak < 100 * 8 * solver.Z + 1e6


@pytest.mark.parametrize('kind', ['clamped', 'spherical'])
def test_an_arch_of_many_elements_starts_in_balance(kind):
    """Its loop is looked at, closed and let go, without a matrix of all unknowns."""
    arch = Assembly({}, {'rod': RodPart(
        soft_rod(0.3), StrainModes(0, 0, 1, 1, 1, 1, elements=512),
        tip=Attachment('ground', pose((0.1, 0.0, 0.0), exp_so3(np.array([0.0, np.pi, 0.0])))),
        tip_joint=JointKind(kind))}, gravity=(0.0, 0.0, -9.81))
    solver = arch.solver()
    before = solver.saved()
    tracemalloc.start()
    assert solver.release_redundant() == []
    solver.restore(before)
    assert solver.close() and solver.start()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solver.gap() < 1e-9
    assert np.abs(solver.residual()).max() < 1e-9 * np.abs(solver.z).max()
    assert peak < 200 * 8 * solver.Z + 1e6  # a square matrix takes 34 MB


def test_memory_of_discretised_rods_is_in_proportion_to_elements():
    """Matrices with a row for each mode take no memory where nothing is in them."""
    program = (
        'import resource as r; from assemblies import soft_rod;'
        'from cosserat_ros.description.modes import StrainModes;'
        'from cosserat_ros.rod.discretisation import discretise;'
        'before = r.getrusage(r.RUSAGE_SELF).ru_maxrss;'
        'd = discretise(soft_rod(), StrainModes(1, 1, 1, 3, 3, 3, elements=1000));'
        'print(r.getrusage(r.RUSAGE_SELF).ru_maxrss - before)')  # of all of it 4 GB
    taken = subprocess.run([sys.executable, '-c', program], check=True, text=True,
                           cwd=Path(__file__).parent, stdout=subprocess.PIPE).stdout
    assert int(taken) < 500_000  # [kB]


def test_memory_is_in_proportion_to_elements():
    def size(elements):
        rod = RodPart(soft_rod(), StrainModes(elements=elements))
        solver = Assembly({}, {'rod': rod}).solver()
        return sum(array.size for array in (
            solver.tree.elements.data, solver.work.room.data, solver.tangent.data,
            solver.fronts.data))

    assert_allclose(size(80) - size(40), size(120) - size(80), rtol=1e-12)
