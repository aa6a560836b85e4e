"""Contact between parts that both move: rods on rods, rods and bodies on bodies."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from test_contact import differences, rod_of, SIDEWAYS

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.channels import MOST_CHANNELS
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.assembly.state import follow_twist
from cosserat_ros.checks.errors import UnknownName
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import (
    ContactProperties,
    Obstacle,
    Plane,
    Sphere,
)
from cosserat_ros.description.parts import Body, ContactSpheres, Inertia, Pose
from cosserat_ros.description.robot import MountedRod, Robot
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.simulation.simulator import Simulator

ALL = StrainModes(shear_x=1, shear_y=1, stretch=1, bend_x=2, bend_y=2, twist=1, elements=2)
ALONG_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # z of the rod along y


def check_tangent(solver, moving, rng, part):
    """Compare the tangent with differences, and solve with it, at a state nearby."""
    z = solver.z + np.where(solver.moves, part * rng.normal(size=solver.Z), 0.0)
    rates = [scale * np.where(solver.moves, rng.normal(size=solver.Z), 0.0)
             for scale in ((0.02, 0.1) if moving else (0.0, 0.0))]
    solver.set_state(z, *rates)
    cV, cA = (30.0, 900.0) if moving else (0.0, 0.0)
    K = solver.jacobian(solver.z, solver.z_t, solver.z_tt, cV, cA)[1]
    np.testing.assert_allclose(K, differences(solver, cV, cA, 1e-6), atol=1e-7 * np.abs(K).max())
    if moving:  # else, things float
        columns = rng.normal(size=(solver.Z, 2))
        np.testing.assert_allclose(K @ solver.solve_columns(columns), columns, atol=1e-6)


@pytest.mark.parametrize('friction', [0.0, 0.02, 1.0])
@pytest.mark.parametrize('moving', [False, True])
def test_the_tangent_of_contact_with_free_bodies_is_exact(moving, friction):
    """A rod on a free base, and a ball, on a plane that a free body bears."""
    bodies = {
        'float': RigidBody(0.1, 1e-4 * np.eye(3), pose=pose((0.0, 0.3, 0.1))),
        'ball': RigidBody(0.1, 1e-4 * np.eye(3), pose=pose((0.3, 0.3, 0.12)),
                          contact=ContactSpheres(((0.0, 0.01, 0.0), (0.02, 0.0, 0.01)), 0.03, 50.0,
                                                 damping=2.0)),
        'plate': RigidBody(0.2, 1e-3 * np.eye(3), pose=pose((0.0, 0.3, 0.05)))}
    rod = RodPart(rod_of(), ALL, Attachment('float', pose((0.01, 0.0, 0.0), SIDEWAYS)),
                  contact=ContactProperties(stiffness=1e4, damping=3.0, spacing=0.04))
    solver = Assembly(bodies, {'rod': rod}, gravity=(0.0, 0.0, -9.81), obstacles={
        'floor': Obstacle(Plane(), Pose((0.0, 0.0, 0.046), (0.01, 0.005, 0.0)), body='plate',
                          friction=friction, stiffness=3e4)}).solver()
    solver.commit_contacts(solver.z, stays=False)
    check_tangent(solver, moving, np.random.default_rng(1), 3e-4)
    found = solver.contacts()
    assert {c.part for c in found} == {'rod', 'ball'}
    if friction:
        assert (friction < 0.5) in {c.sliding for c in found}


def crossing_rods(friction, angle):
    """Return two rods that cross at an angle, in contact; the upper one on a free body."""
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[-s, 0.0, c], [c, 0.0, s], [0.0, 1.0, 0.0]])
    touch = ContactProperties(stiffness=1e4, damping=3.0, spacing=0.03, rods=True,
                              friction=friction)
    rods = {
        'a': RodPart(rod_of(), ALL, Attachment('ground', pose((-0.13, 0.003, 9.5e-3), SIDEWAYS)),
                     contact=touch),
        'b': RodPart(rod_of(), ALL, Attachment(
            'float', pose((0.08 - 0.16 * c, -0.16 * s, 0.0), R)), contact=touch)}
    return Assembly({'float': RigidBody(0.1, 1e-4 * np.eye(3), pose=pose((-0.08, 0.0, 0.0)))},
                    rods, gravity=(0.0, 0.0, -9.81)).solver()


@pytest.mark.parametrize('friction', [0.0, 0.02, 5.0])
@pytest.mark.parametrize('angle', [1.2, 0.003])
def test_the_tangent_of_rods_on_rods_is_exact(angle, friction):
    """Across each other, and along each other; apart, sticking and sliding."""
    for moving in (False, True):
        solver = crossing_rods(friction, angle)
        solver.commit_contacts()
        check_tangent(solver, moving, np.random.default_rng(6), 2e-4)
        found = solver.contacts()
        assert {(c.part, c.obstacle) for c in found} == {('a', 'b')}
        assert len(found) > 5 or angle > 1.0
        if friction:
            assert (friction < 1.0) in {c.sliding for c in found}


def test_forces_between_rods_do_not_depend_on_the_frame():
    """All turned: the same contacts, turned; and the forces on all add up to zero."""
    R = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    touch = ContactProperties(stiffness=1e4, rods=True, friction=0.4)
    forces = []
    for turn in (np.eye(3), R):
        rods = {
            name: RodPart(rod_of(), ALL, Attachment(name, pose(R=axes)), contact=touch)
            for name, axes in (('a', SIDEWAYS), ('b', ALONG_Y))}
        starts = {'a': (-0.13, 0.003, 9.5e-3), 'b': (0.0, -0.1, 0.0)}
        solver = Assembly({
            name: RigidBody(1.0, np.eye(3), pose=pose(turn @ np.array(at), turn))
            for name, at in starts.items()}, rods).solver()
        solver.commit_contacts()
        z = solver.z.copy()
        for name in 'ab':
            z[solver.tree.links.first[solver.places.rods[name][0]]] += 1e-3  # shear
        solver.set_state(z)
        solver.refresh()
        forces.append(turn.T @ solver.contacts()[0].force)
        out = [solver.work.wrench[solver.places.bodies[name].link].copy() for name in 'ab']
        np.testing.assert_allclose(out[0][:3] + out[1][:3], 0.0, atol=1e-12)
    assert abs(forces[0][0]) > 1e-3  # friction too
    np.testing.assert_allclose(*forces, atol=1e-12)


# --- Ropes that cross ----------------------------------------------------------------------------

LENGTH, SPAN, RADIUS, YOUNG, DENSITY = 1.0, 0.8, 5e-3, 1e6, 1e3
PARTS = 0.44, 0.12, 0.44
HIGHER, LOWER = 0.02, 0.1  # from where the pins of the upper rope go down, and to where [m]
GRAVITY = 9.81


def slope_of_rope(s, y, pull, force):
    """
    Return the slope of x, z, angle and curvature along a rope whose middle is pushed up.

    The planar elastica with stretch: from the pin on, a section bears a horizontal force `pull`
    and the vertical one ``w s - (w L - force) / 2``; ``EI theta'' = -(1 + N / EA) t x n``.
    """
    A = np.pi * RADIUS ** 2
    EA, EI, w = YOUNG * A, 0.25 * YOUNG * A * RADIUS ** 2, DENSITY * A * GRAVITY
    n, c, d = w * s - 0.5 * (w * LENGTH - force), np.cos(y[2]), np.sin(y[2])
    stretch = 1.0 + (pull * c + n * d) / EA
    return stretch * c, stretch * d, y[3], -stretch * (c * n - d * pull) / EI


def ropes_in_theory(apart):
    """
    Return halves of both ropes from their pins on, the force between them, and the lift.

    Their middles are `apart`; the lift is that of the upper rope's middle by the other one.
    """
    def slopes(s, y, p):
        return np.vstack([*slope_of_rope(s, y[:4], p[0], p[2]),
                          *slope_of_rope(s, y[4:8], p[1], -p[2]),
                          *slope_of_rope(s, y[8:], p[3], 0.0)])

    def ends(start, middle, p):
        closed = [v for k in (0, 4, 8) for v in (
            start[k], start[k + 1], start[k + 3], middle[k] - 0.5 * SPAN, middle[k + 2])]
        return np.array([*closed, middle[1] - LOWER - middle[5] - apart])

    s = np.linspace(0.0, 0.5 * LENGTH, 101)
    x = s * SPAN / LENGTH
    guess = [x, -1.1 * x * (1.0 - x / SPAN), -0.9 * (1.0 - 2.0 * s), 1.8 + 0.0 * s]
    found = solve_bvp(slopes, ends, s, np.vstack(3 * guess), p=[0.3, 0.3, 0.1, 0.3], tol=1e-9,
                      max_nodes=100000)
    assert found.success, found.message
    middle = found.sol(0.5 * LENGTH)
    return lambda x: found.sol(x)[:4], lambda x: found.sol(x)[4:8], found.p[2], (
        middle[1] - middle[9])


def crossing_ropes(elements=3):
    """
    Return two ropes that hang across each other, the upper one let down on the other.

    Their elements are shorter where they touch: a point force within one is smoothed by it.
    """
    material = Material(YOUNG, DENSITY, poisson_ratio=0.5)
    rod = Rod(tuple(Segment(part, Circular(RADIUS), material) for part in PARTS))
    modes = StrainModes(0, 0, 2, 3, 3, 1, elements=elements)
    touch = ContactProperties(stiffness=1e6, rods=True, friction=0.5)
    pins = JointKind('universal', (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), JointKind('spherical')
    half = 0.5 * SPAN
    rods = {
        'upper': RodPart(
            rod, modes, Attachment('pins', pose((-half, 0.0, 0.0), SIDEWAYS)),
            Attachment('pins', pose((half, 0.0, 0.0))), *pins, contact=touch),
        'lower': RodPart(
            rod, modes, Attachment('ground', pose((0.0, -half, 0.0), ALONG_Y)),
            Attachment('ground', pose((0.0, half, 0.0))), *pins, contact=touch)}
    solver = Assembly({'pins': RigidBody(driven=True, pose=pose((0.0, 0.0, HIGHER)))}, rods,
                      gravity=(0.0, 0.0, -GRAVITY)).solver(SCHEMES['backward_euler'])
    assert solver.statics().converged
    still, speed = np.zeros(3), 0.05
    solver.motions[solver.places.bodies['pins'].link] = follow_twist(lambda t: (
        still, np.array([0.0, 0.0, -speed if speed * t < HIGHER + LOWER else 0.0]), still, still))
    for _ in range(500):
        assert solver.step(0.01).converged
    assert solver.statics().converged
    return solver


def shape(solver, name):
    """Return where the ends of a rod's elements are."""
    solver.refresh()
    return solver.work.end.p[solver.places.rods[name]]


def test_ropes_that_cross():
    """One rope on another: the lift, force and shapes of two elasticae with a point force."""
    solver = crossing_ropes()
    found = solver.contacts()
    upper, lower, force, lift = ropes_in_theory(2.0 * RADIUS)
    assert sum(c.force[2] for c in found) == pytest.approx(force, rel=5e-4)
    s = np.cumsum(np.repeat(PARTS, 3) / 3.0)[:-1]
    for name, theory, axis, z in (('upper', upper, 0, -LOWER), ('lower', lower, 1, 0.0)):
        there = np.array([theory(min(x, LENGTH - x))[:2] for x in s])
        wanted = np.zeros((len(s), 3))
        wanted[:, axis] = np.where(s > 0.5 * LENGTH, 1.0, -1.0) * (0.5 * SPAN - there[:, 0])
        wanted[:, 2] = z + there[:, 1]
        np.testing.assert_allclose(shape(solver, name)[:-1], wanted, atol=1e-4 * LENGTH)
    middle = found[0].place[2] + RADIUS + 0.5 * found[0].gap
    assert middle == pytest.approx(upper(0.5 * LENGTH)[1] - LOWER, abs=5e-4 * lift)


# --- A gripper -----------------------------------------------------------------------------------

def gripper(friction=0.5, mass=0.02, squeezed=2e-3):
    """Return three fingers that press on a free ball between them, without weight."""
    round_ball, rod, fingers, joints = 0.02, rod_of(0.1, 3e-3, 1e9), {}, {}
    down = np.diag([1.0, -1.0, -1.0])
    height = -0.086
    bodies = {'ball': RigidBody(mass, 0.4 * mass * round_ball ** 2 * np.eye(3),
                                pose=pose((0.0, 0.0, height)))}
    for k in range(3):
        c, s = np.cos(2.0 * np.pi * k / 3.0), np.sin(2.0 * np.pi * k / 3.0)
        turned = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        at = (round_ball + 3e-3 - 1e-5) * np.array([c, s, 0.0])
        bodies[f'slide_{k}'] = RigidBody()
        joints[f'slide_{k}'] = Joint(
            JointKind('prismatic', axis=(-1.0, 0.0, 0.0), coordinates=[Coordinate(driven=True)]),
            Attachment('ground', pose(at, turned)), Attachment(f'slide_{k}'))
        fingers[f'finger_{k}'] = RodPart(
            rod, StrainModes(0, 0, 1, 3, 3, 1, elements=2), Attachment(
                f'slide_{k}', pose(R=down)), contact=ContactProperties(stiffness=1e6))
    solver = Assembly(bodies, fingers, joints, obstacles={
        'ball': Obstacle(Sphere(round_ball), body='ball', friction=friction)}).solver()
    places = [solver.places.coordinates[f'slide_{k}'][0] for k in range(3)]
    for way in np.linspace(0.0, squeezed, 11):
        solver.tree.coordinates.command[places] = way
        assert solver.statics().converged
    return solver


def falls(solver, seconds=0.3):
    """Return how far the ball of a gripper goes down in a time [m]."""
    link, start = solver.places.bodies['ball'].link, None
    for _ in range(round(seconds / 0.005)):
        solver.refresh()
        start = solver.work.end.p[link, 2] if start is None else start
        assert solver.step(0.005).converged
    solver.refresh()
    return float(start - solver.work.end.p[link, 2])


def test_fingers_hold_a_ball_by_friction():
    """
    As long as the weight is less than mu times what all of them press, along their surface.

    The ball has bent the fingers, so that they spread a little and push it down.
    """
    solver, mass = gripper(), 0.02
    found = solver.contacts()
    assert {c.part for c in found} == {'finger_0', 'finger_1', 'finger_2'}
    pressed = sum(abs(c.force @ c.normal) for c in found)
    assert pressed > 0.5
    total = solver.contact_wrenches()['ball']
    np.testing.assert_allclose(total, 0.0, atol=1e-7 * pressed)
    up = np.array([c.force @ c.normal * c.normal[2] for c in found]).sum()  # on the fingers
    held = sum(0.5 * abs(c.force @ c.normal) * np.hypot(*c.normal[:2]) for c in found)
    assert 0.0 < up < 0.1 * held
    heaviest, saved = (held - up) / mass, solver.saved()
    for part in (0.5, 0.98, 1.02):
        solver.restore(saved)
        solver.tree.gravity[2] = -part * heaviest
        if part < 1.0:
            assert solver.statics().converged
            np.testing.assert_allclose(
                solver.contact_wrenches()['ball'][2], part * heaviest * mass, rtol=1e-6)
            assert abs(falls(solver)) < 1e-6
        else:
            assert falls(solver) > 2e-3


def test_rods_that_collide_keep_their_momentum_and_gain_no_energy():
    """Two free rods fly across each other, with friction."""
    touch = ContactProperties(stiffness=1e5, rods=True, friction=0.3)
    rods = {name: RodPart(rod_of(), ALL, Attachment(name, pose(R=axes)), contact=touch)
            for name, axes in (('a', SIDEWAYS), ('b', ALONG_Y))}
    starts = {'a': (-0.13, 0.003, 0.0115), 'b': (0.0, -0.1, 0.0)}
    solver = Assembly({name: RigidBody(1e-3, 1e-7 * np.eye(3), pose=pose(at))
                       for name, at in starts.items()}, rods).solver(SCHEMES['backward_euler'])
    z_t = np.zeros(solver.Z)
    first = solver.tree.links.first[solver.places.bodies['a'].link]
    z_t[first:first + 3] = 0.03, 0.0, -0.2
    solver.set_state(solver.z, z_t)
    energy, momentum, touched = sum(solver.energy()), solver.momentum(), 0
    for _ in range(60):
        assert solver.step(5e-4).converged
        found = solver.contacts()
        touched += bool(found)
        spring = sum(0.5 * abs(c.force @ c.normal) * -c.gap for c in found)
        assert sum(solver.energy()) + spring < energy * (1.0 + 1e-9)
        np.testing.assert_allclose(
            solver.momentum()[:3], momentum[:3], atol=1e-3 * np.linalg.norm(momentum[:3]))
    assert touched > 3


def test_bodies_of_robots_bear_shapes():
    """A finger pushes a free ball away that it touches; a shape needs a body that is there."""
    nitinol = Material(70e9, 6450.0, poisson_ratio=0.35)
    finger = MountedRod((Segment(0.1, Circular(2e-3), nitinol),),
                        contact=ContactProperties(stiffness=1e5))
    shape = Obstacle(Sphere(0.02), body='ball')
    robot = Robot('finger', {'finger': finger}, gravity=(0.0, 0.0, 0.0), bodies={
        'ball': Body(0.02, inertia=Inertia(3e-6, 3e-6, 3e-6), pose=Pose((0.0219, 0.0, 0.08)))},
        obstacles={'ball': shape})
    sim = Simulator(robot)
    for _ in range(20):
        assert sim.step(1e-3).converged
    frame = sim.solver.frame(sim.solver.places.bodies['ball'].link)
    assert frame.p_t[0] > 1e-3
    assert frame.p_t[2] == pytest.approx(0.0, abs=0.1 * frame.p_t[0])
    with pytest.raises(UnknownName, match='obstacles.ball.body'):
        replace(robot, obstacles={'ball': replace(shape, body='block')})


# --- A rod that touches itself -------------------------------------------------------------------

COIL = StrainModes(0, 0, 1, 2, 2, 1, elements=8)


def looped(depth=2e-4, friction=0.0, seed=None):
    """Return a free rod bent to a loop, its ends across each other by this much too near [m]."""
    length, touch = 0.4, ContactProperties(stiffness=1e4, rods=True, friction=friction)
    solver = Assembly(
        {'base': RigidBody(1e-3, 1e-7 * np.eye(3))},
        {'rod': RodPart(rod_of(length), COIL, Attachment('base', pose((0.01, 0.0, 0.0))),
                        contact=touch)}).solver(SCHEMES['backward_euler'])
    z, links = solver.z.copy(), solver.places.rods['rod']
    if seed is not None:
        z[solver.moves] += 1e-4 * np.random.default_rng(seed).normal(size=int(solver.moves.sum()))

    def apart(twist):
        """Return how far the centre lines of the ends are from each other [m]."""
        for link in links[2:6]:
            first = solver.tree.links.first[link]
            z[first + 3], z[first + 5] = 1.5 * np.pi / (0.5 * length), twist
        solver.set_state(z)
        found = solver.contacts()
        assert len(found) <= 1
        return found[0].gap if found else np.inf

    low = max(twist for twist in np.linspace(0.5, 6.0, 56) if apart(twist) < -depth)
    high = low + 0.2
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if apart(middle) < -depth else (low, middle)
    assert apart(low) == pytest.approx(-depth, rel=1e-3)
    return solver


def test_a_rod_that_touches_itself_pushes_as_much_as_it_is_pushed():
    """No force and no couple is left on the rod as a whole; its ends part."""
    solver = looped()
    (found,) = solver.contacts()
    assert (found.part, found.obstacle) == ('rod', 'rod')
    pressed = np.linalg.norm(found.force)
    assert pressed > 1e-3
    first, still = solver.tree.links.first[solver.places.bodies['base'].link], np.zeros(solver.Z)
    left = solver.residual(solver.z, still, still)[first:first + 6]
    np.testing.assert_allclose(left, 0.0, atol=1e-10 * pressed)


@pytest.mark.parametrize('friction', [0.0, 1e-4, 5.0])
@pytest.mark.parametrize('moving', [False, True])
def test_the_tangent_of_a_rod_that_touches_itself_is_exact(moving, friction):
    solver = looped(friction=friction, seed=1)
    solver.commit_contacts()
    check_tangent(solver, moving, np.random.default_rng(8), 1e-5)
    found = solver.contacts()
    assert len(found) == 1
    if friction:
        assert found[0].sliding == (friction < 1.0)


def test_a_loop_that_opens_against_itself_keeps_its_momentum_and_gains_no_energy():
    """Let go, it springs open: its ends slide across each other, and part."""
    solver, touched = looped(), 0

    def total():
        spring = sum(0.5 * abs(c.force @ c.normal) * -c.gap for c in solver.contacts())
        return sum(solver.energy()) + spring

    energy, first = total(), total()
    for _ in range(120):
        assert solver.step(2e-5).converged
        touched += bool(solver.contacts())
        assert total() < energy + 1e-9 * first
        energy = total()
        speed = np.sqrt(2.0 * max(solver.energy().kinetic, 1e-12) * rod_of(0.4).mass)
        np.testing.assert_allclose(solver.momentum()[:3], 0.0, atol=5e-3 * speed)
    assert touched > 2
    assert energy < first


def bundle(count, elements, spacing=None):
    """Return rods that lie across one, in contact, `count` of them."""
    touch = ContactProperties(stiffness=1e4, rods=True, radius=2e-3, spacing=spacing)
    rods = {'under': RodPart(rod_of(), replace(ALL, elements=elements), Attachment(
        'ground', pose(R=SIDEWAYS)), contact=touch)}
    for k, x in enumerate(np.linspace(0.02, 0.28, count)):
        rods[f'over_{k}'] = RodPart(rod_of(0.1), replace(ALL, elements=1), Attachment(
            'ground', pose((x, -0.05, 3.99e-3), ALONG_Y)), contact=touch)
    return Assembly(rods=rods).solver()


def test_more_rods_on_an_element_than_it_has_room_for_are_told_of():
    solver = bundle(30, elements=1, spacing=0.1)
    before, solution = solver.z.copy(), solver.step(1e-3)
    assert not solution.converged
    assert 'more rods touch one element' in solution.message
    np.testing.assert_array_equal(solver.z, before)


def test_more_crossings_than_the_tangent_has_room_for_are_solved_all_the_same():
    """Of 80 crossings 57 are in the tangent: Newton goes on with the others' forces alone."""
    solver = bundle(80, elements=12)
    solution = solver.step(1e-3)
    found = {c.obstacle for c in solver.contacts()} | {c.part for c in solver.contacts()}
    assert solver.work.touch.channels.used[0] > MOST_CHANNELS - 8
    assert solution.converged
    assert len(found) == 81
    still = np.zeros(solver.Z)
    assert np.isfinite(solver.residual(solver.z, still, still)).all()
