"""Rods and bodies against obstacles: tangents, closed forms, and solutions found another way."""

import numpy as np
import pytest

from cosserat_ros.analysis.stability import assess
from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.contact_arrays import SLOTS
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.checks.errors import InvalidModel, UnknownName
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import (
    Box,
    ContactProperties,
    Cylinder,
    Obstacle,
    Plane,
    Sphere,
    Tube,
)
from cosserat_ros.description.parts import ContactSpheres, Pose, Tendon
from cosserat_ros.description.robot import MountedRod, Robot
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.routing import Parallel
from cosserat_ros.description.section import Circular
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.simulation.simulator import Simulator

PLANAR = StrainModes(shear_x=0, shear_y=0, stretch=1, bend_x=0, bend_y=3, twist=0, elements=6)
SIDEWAYS = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # z of the rod along x


def rod_of(length=0.3, radius=5e-3, young=1e6, density=1e3):
    """Return a round rod."""
    return Rod((Segment(length, Circular(radius), Material(young, density, poisson_ratio=0.3)),))


def differences(solver, cV, cA, h):
    """Return the tangent of an assembly by differences of order 6, (Z, Z)."""
    z, z_t, z_tt = solver.z.copy(), solver.z_t.copy(), solver.z_tt.copy()
    columns = []
    for i in range(solver.Z):
        e = np.zeros(solver.Z)
        e[i] = h
        rates = np.where(solver.moves, e, 0.0)

        def r(k, e=e, rates=rates):
            return solver.residual(z + k * e, z_t + cV * k * rates, z_tt + cA * k * rates)

        columns.append(sum(c * (r(k) - r(-k)) for k, c in (
            (1, 0.75), (2, -0.15), (3, 1.0 / 60.0))) / h)
    return np.array(columns).T


@pytest.mark.parametrize('friction', [0.0, 0.02, 1.0])
@pytest.mark.parametrize('moving', [False, True])
def test_the_tangent_with_contact_is_exact(moving, friction):
    """Away from kinks: of rods on a fixed and on a free base, of a body, of moved obstacles."""
    rng = np.random.default_rng(int(moving) + 1)
    modes = StrainModes(shear_x=1, shear_y=1, stretch=1, bend_x=2, bend_y=2, twist=1, elements=2)
    touch = ContactProperties(stiffness=1e4, damping=3.0, spacing=0.04)
    bodies = {
        'float': RigidBody(0.1, 1e-4 * np.eye(3), pose=pose((0.0, 0.3, 0.1))),
        'ball': RigidBody(0.1, 1e-4 * np.eye(3), pose=pose((0.3, 0.3, 0.12)),
                          contact=ContactSpheres(((0.0, 0.01, 0.0), (0.02, 0.0, 0.01)), 0.03, 50.0,
                                                 damping=2.0)),
        'moved': RigidBody(driven=True, pose=pose((0.0, 0.0, 0.3)))}
    rods = {
        'held': RodPart(rod_of(), modes, Attachment('ground', pose((0.0, 0.0, 0.0))),
                        contact=touch),
        'loose': RodPart(rod_of(), modes, Attachment('float', pose((0.01, 0.0, 0.0), SIDEWAYS)),
                         contact=touch)}
    obstacles = {
        'ball': Obstacle(Sphere(0.1), Pose((0.103, 0.0, 0.15)), friction=friction),
        'floor': Obstacle(Plane(), Pose((0.0, 0.3, 0.097), (0.01, 0.005, 0.0)), friction=friction,
                          stiffness=3e4),
        'ring': Obstacle(Tube(((0.0, 0.0, -0.1), (0.0, 0.006, 0.1)), (0.006,)), body='moved',
                         friction=friction)}
    # Only the rod on the ground is in the ring, only the other one and the ball over the floor.
    for name, wanted in (('held', ('ball', 'ring')), ('loose', ('floor',))):
        used = ('moved',) if name == 'held' else ('float', 'ball')
        solver = Assembly(
            {k: bodies[k] for k in used}, {name: rods[name]}, gravity=(0.0, 0.0, -9.81),
            obstacles={k: obstacles[k] for k in wanted}).solver()
        z = solver.z + np.where(solver.moves, 1e-3 * rng.normal(size=solver.Z), 0.0)
        if friction:
            solver.commit_contacts(solver.z, stays=False)
        rates = [scale * np.where(solver.moves, rng.normal(size=solver.Z), 0.0)
                 for scale in ((0.02, 0.1) if moving else (0.0, 0.0))]
        if moving and 'ring' in wanted:
            link = solver.places.bodies['moved'].link
            solver.tree.roots.Om[link], solver.tree.roots.p_t[link] = 0.1, 0.02
        solver.set_state(z, *rates)
        found = solver.contacts()
        assert {c.obstacle for c in found} == set(wanted)
        if friction:
            assert (friction < 0.5) in {c.sliding for c in found}
        cV, cA = (30.0, 900.0) if moving else (0.0, 0.0)
        K = solver.jacobian(solver.z, solver.z_t, solver.z_tt, cV, cA)[1]
        by_differences = differences(solver, cV, cA, 1e-6)
        np.testing.assert_allclose(K, by_differences, atol=1e-7 * np.abs(K).max())
        if not moving and name == 'loose':
            continue  # without friction nothing holds it
        columns = rng.normal(size=(solver.Z, 2))
        np.testing.assert_allclose(K @ solver.solve_columns(columns), columns, atol=1e-6)


def test_a_rod_lies_on_a_plane():
    """All of its weight is on the floor, as deep as its stiffness says."""
    k, r = 1e5, 5e-3
    part = RodPart(rod_of(), PLANAR, Attachment('base', pose(R=SIDEWAYS)),
                   contact=ContactProperties(stiffness=k))
    in_plane = Joint(JointKind('planar', axis=(0.0, 1.0, 0.0)),
                     Attachment('ground', pose((0.0, 0.0, r - 1e-6))), Attachment('base'))
    solver = Assembly({'base': RigidBody()}, {'rod': part}, {'plane': in_plane},
                      gravity=(0.0, 0.0, -9.81),
                      obstacles={'floor': Obstacle(Plane(), friction=0.5)}).solver()
    assert solver.statics().converged
    found = solver.contacts()
    weight = 9.81 * rod_of().mass
    assert sum(c.force[2] for c in found) == pytest.approx(weight, rel=1e-7)
    depth = weight / 0.3 / k
    inside = [-c.gap for c in found if 0.06 < c.s < 0.24]
    np.testing.assert_allclose(inside, depth, rtol=0.02)
    assert not any(c.sliding for c in found)


def test_a_body_slides_down_a_slope_or_stays():
    """By Coulomb: g (sin - mu cos) on a slope that is steeper than the friction holds."""
    steep, g = 0.3, 9.81
    for friction in (1.02 * np.tan(steep), 0.5 * np.tan(steep)):
        feet = ContactSpheres(tuple((x, y, 0.0) for x in (-0.05, 0.05) for y in (-0.05, 0.05)),
                              0.01, 1e4)
        R = np.array([[np.cos(steep), 0.0, np.sin(steep)], [0.0, 1.0, 0.0],
                      [-np.sin(steep), 0.0, np.cos(steep)]])
        depth = 0.1 * g * np.cos(steep) / 4e4
        solver = Assembly(
            {'sledge': RigidBody(0.1, 1e-4 * np.eye(3), pose=pose(R @ [0.0, 0.0, 0.01 - depth], R),
                                 contact=feet)},
            gravity=(0.0, 0.0, -g), obstacles={'slope': Obstacle(
                Plane(), Pose((0.0, 0.0, 0.0), (0.0, steep, 0.0)), friction=friction)}).solver()
        if friction > np.tan(steep):
            assert solver.statics().converged
        for _ in range(200):
            assert solver.step(2.5e-3).converged
        solver.refresh()
        way = R[:, 0] @ solver.frame(solver.places.bodies['sledge'].link).p
        if friction > np.tan(steep):
            assert abs(way) < 2e-5
            assert not all(c.sliding for c in solver.contacts())  # upper feet bear less
        else:
            exact = 0.5 * g * (np.sin(steep) - friction * np.cos(steep)) * 0.5 ** 2
            assert way == pytest.approx(exact, rel=5e-3)
            assert all(c.sliding for c in solver.contacts())


def test_a_ball_rolls_without_sliding():
    """A full ball on a slope has 5 / 7 of the acceleration of what slides freely."""
    steep, g, r, m = 0.2, 9.81, 0.02, 0.1
    solver = Assembly(
        {'ball': RigidBody(m, 0.4 * m * r ** 2 * np.eye(3), pose=pose((0.0, 0.0, r)),
                           contact=ContactSpheres(((0.0, 0.0, 0.0),), r, 1e5))},
        gravity=(g * np.sin(steep), 0.0, -g * np.cos(steep)),
        obstacles={'floor': Obstacle(Plane(), friction=0.5)}).solver()
    for _ in range(400):
        assert solver.step(1e-3).converged
    end = (solver.refresh(), solver.frame(solver.places.bodies['ball'].link))[1]
    assert end.p[0] == pytest.approx(0.5 * 5.0 / 7.0 * g * np.sin(steep) * 0.4 ** 2, rel=4e-3)
    assert end.p_t[0] == pytest.approx(r * end.Om[1], rel=5e-3)  # bristles swing


def test_what_is_refused():
    rod = RodPart(rod_of(), PLANAR, contact=ContactProperties(stiffness=1e5))
    with pytest.raises(UnknownName, match='obstacles.post.body'):
        Assembly(rods={'rod': rod}, obstacles={'post': Obstacle(Sphere(0.1), body='nobody')})
    with pytest.raises(InvalidModel, match='rod.*deep in post'):
        Assembly(rods={'rod': rod}, obstacles={
            'post': Obstacle(Box((0.1, 0.1, 0.1)), Pose((0.0, 0.0, 0.2)))}).solver()


def test_a_snapshot_has_the_anchors():
    """What follows from a snapshot does not depend on what was done in between."""
    part = RodPart(rod_of(), PLANAR, Attachment('ground', pose((0.0, 0.0, 0.02), SIDEWAYS)),
                   contact=ContactProperties(stiffness=1e5))
    solver = Assembly(rods={'rod': part}, gravity=(0.0, 0.0, -9.81), obstacles={
        'floor': Obstacle(Plane(), friction=0.5)}).solver()
    assert solver.statics().converged
    for _ in range(5):
        solver.step(0.01)
    saved = solver.saved()
    solver.tree.gravity[0] = 5.0
    ways = []
    for _ in range(2):
        solver.restore(saved)
        for _ in range(5):
            assert solver.step(0.01).converged
        ways.append(solver.z.copy())
    np.testing.assert_array_equal(*ways)


def test_what_has_slid_yields_for_stability_and_sticks_for_linear_models():
    """A cart on a spring, pushed over a floor: at the limit of friction it comes to rest."""
    k, radius, depth, stiffness, friction = 40.0, 0.01, 1e-4, 1e4, 0.3
    load = stiffness * depth
    rail = Joint(JointKind('prismatic', axis=(1.0, 0.0, 0.0), coordinates=[
        Coordinate(stiffness=k)]), Attachment('ground', pose((0.0, 0.0, radius - depth))),
        Attachment('cart'))
    solver = Assembly(
        {'cart': RigidBody(0.1, 1e-4 * np.eye(3), contact=ContactSpheres(
            ((0.0, 0.0, 0.0),), radius, stiffness))}, joints={'rail': rail},
        obstacles={'floor': Obstacle(Plane(), friction=friction)}).solver()
    solver.tree.coordinates.push[0] = 2.0 * friction * load
    assert solver.statics().converged
    assert solver.z[0] == pytest.approx(friction * load / k, rel=1e-9)
    np.testing.assert_allclose(
        solver.contact_wrenches()['floor'][:3], [friction * load, 0.0, -load], rtol=1e-9)
    still = np.zeros(1)
    grip = ContactSpheres(((0.0, 0.0, 0.0),), radius, stiffness).grip * stiffness
    assert solver.jacobian(solver.z, still, still, 0.0, 0.0)[1][0, 0] == pytest.approx(k + grip)
    assert assess(solver).margin == pytest.approx(1.0)
    solver.tree.coordinates.push[0] = 0.0  # within the limit it sticks in either case
    solver.tree.contacts.friction[0] = 2.0 * friction
    assert assess(solver).margin == pytest.approx(1.0 + grip / k)


def test_inverse_statics_finds_targets_in_contact():
    """From a state in contact; a forward solve confirms it."""
    nitinol = Material(70e9, 6450.0, poisson_ratio=0.35)
    backbone = MountedRod((Segment(0.3, Circular(0.002), nitinol),),
                          contact=ContactProperties(penetration=1e-5, line_load=100.0))
    sides = (0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)
    robot = Robot(
        'arm', {'backbone': backbone},
        tendons={f't{i}': Tendon(routing=Parallel(side)) for i, side in enumerate(sides)},
        obstacles={'post': Obstacle(Cylinder(0.01, 0.2), Pose((0.018, 0.0, 0.25), (
            np.pi / 2.0, 0.0, 0.0)))})
    sim = Simulator(robot)
    sim.command(t0=30.0)
    assert sim.statics().converged
    assert sim.solver.contacts()
    target = sim.tip_pose()[:3, 3].copy()
    sim.command(t0=24.0)
    assert sim.statics().converged
    answer = InverseStatics(sim).solve([Target(target)], start='present')
    assert answer.met
    sim.command(**answer.commands)
    assert sim.statics().converged
    np.testing.assert_allclose(sim.tip_pose()[:3, 3], target, atol=1e-6)


def ball_on(obstacles):
    """Return a ball that lies on the plane z = 0, with one above it, touching obstacles."""
    balls = ContactSpheres(((0.0, 0.0, 0.0), (0.0, 0.0, 0.05)), 0.03, 1e4)
    body = RigidBody(0.1, 1e-4 * np.eye(3), pose=pose((0.0, 0.0, 0.0299)), contact=balls)
    return Assembly({'ball': body}, gravity=(0.0, 0.0, -9.81), obstacles=obstacles).solver()


@pytest.mark.parametrize('count', [SLOTS, SLOTS + 1])
def test_more_obstacles_at_a_point_than_it_may_stick_to_are_told_of(count):
    solver = ball_on({f'floor_{i}': Obstacle(Plane(), friction=0.5) for i in range(count)})
    solution = solver.step(1e-3)
    assert solution.converged
    assert len(solver.contacts()) == count
    assert ('more than' in solution.message) == (count > SLOTS)


def test_of_100_obstacles_the_90th_is_touched():
    places = {f'thing_{i}': Obstacle(Sphere(0.01), Pose((
        0.5 + 0.05 * i, 0.0, 0.0)), friction=0.5) for i in range(100)}
    places['thing_89'] = Obstacle(Plane(), friction=0.5)
    solver = ball_on(places)
    for _ in range(20):
        assert solver.step(1e-2).converged
    (found,) = solver.contacts()
    assert (found.part, found.obstacle) == ('ball', 'thing_89')
    np.testing.assert_allclose(found.force, (0.0, 0.0, 0.981), atol=1e-3)
