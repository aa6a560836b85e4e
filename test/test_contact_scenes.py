"""Whole scenes with contact: against closed forms and other solutions; what is refused."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.spatial.transform import Rotation
from test_contact import PLANAR, rod_of, SIDEWAYS
from test_contact_fuzz import total

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.assembly.state import follow_twist
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import (
    Box,
    Capsule,
    ContactProperties,
    Cylinder,
    HeightField,
    Mesh,
    Obstacle,
    Plane,
    Sphere,
    Tube,
    widest_spacing,
)
from cosserat_ros.description.parts import ContactSpheres, Pose, Tendon
from cosserat_ros.description.robot import load, MountedRod, Robot
from cosserat_ros.description.rod import Material, Segment
from cosserat_ros.description.routing import Parallel
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.simulation.simulator import Simulator

NITINOL = Material(70e9, 6450.0, poisson_ratio=0.35)
ACROSS = (np.pi / 2.0, 0.0, 0.0)  # turns z to y


def arm_at(obstacles, radius=2e-3, **contact):
    """Return an arm of one element with a tendon on the side of +x."""
    touch = ContactProperties(**(contact or {'penetration': 1e-5, 'line_load': 100.0}))
    return Robot(
        'arm', {'backbone': MountedRod((Segment(0.3, Circular(radius), NITINOL),), contact=touch)},
        gravity=(0.0, 0.0, 0.0), obstacles=obstacles,
        tendons={'bend': Tendon(routing=Parallel((0.01, 0.0)))})


def place_of(solver, body):
    """Return where a body is [m]."""
    solver.refresh()
    return solver.frame(solver.places.bodies[body].link).p.copy()


# --- Where contact is looked for -----------------------------------------------------------------

@pytest.mark.parametrize('post', [5e-3, 5e-4, 5e-5])
def test_a_thin_post_is_found_wherever_it_is(post):
    """An arm of one element is bent against it: it is not passed between two points."""
    radius, between = 2e-3, 0.013
    for z in np.linspace(0.2, 0.2 + between, 7):
        sim = Simulator(arm_at({'post': Obstacle(
            Cylinder(post, 0.2), Pose((radius + post + 2e-3, 0.0, z), ACROSS))}))
        for force in (10.0, 20.0, 30.0):
            sim.command(bend=force)
            assert sim.statics().converged
        found = sim.solver.contacts()
        assert found and all(abs(c.s - z) < 2.0 * radius for c in found)
        shape = sim.shape()['backbone'].poses_at(np.linspace(0.0, 0.3, 3001))[:, :3, 3]
        past = shape[:, [0, 2]] - (radius + post + 2e-3, z)
        assert past[np.argmin(np.linalg.norm(past, axis=1)), 0] < 0.0  # still before the post
        assert np.linalg.norm(past, axis=1).min() > post + 0.6 * radius


def test_points_are_no_farther_apart_than_a_post_is_seen():
    """By the distance of a point from a round post that is a quarter of the radius deep."""
    for r, R in ((1e-3, 0.0), (2e-3, 5e-4), (2e-3, 1.0)):
        h = widest_spacing(r, R)
        assert h <= 2.0 * r
        assert np.hypot(0.5 * h, R + 0.75 * r) < r + R + 1e-9
    assert widest_spacing(1e-3, np.inf) == 2e-3


def test_part_of_a_rod_touches():
    """Points divide what touches: no part of it is left out, however short."""
    robot = arm_at({'wall': Obstacle(Box((0.1, 0.1, 0.1)), Pose((1.0, 0.0, 0.0)))})
    for starts_at, ends_at in ((0.0, 0.3), (0.1, 0.1004), (0.2995, None)):
        rod = replace(robot.rods['backbone'], contact=ContactProperties(
            stiffness=1e7, starts_at=starts_at, ends_at=ends_at))
        solver = Simulator(replace(robot, rods={'backbone': rod})).solver
        extent = solver.tree.contacts.numbers[:, 4]
        tip = 0.0 if ends_at == 0.1004 else 2e-3
        assert extent.sum() == pytest.approx((ends_at or 0.3) - starts_at + tip)


def test_points_that_are_too_far_apart_or_too_many_are_refused():
    thin = {'post': Obstacle(Cylinder(5e-4, 0.2), Pose((0.1, 0.0, 0.1), ACROSS))}
    for contact, words in (({'spacing': 0.02}, 'thinnest obstacle'),
                           ({'spacing': 1e-9}, 'at most 10000 points'),
                           ({'radius': 1e-7}, 'at most 10000 points')):
        with pytest.raises(InvalidModel, match='rods.backbone.contact.spacing') as refused:
            arm_at(thin, stiffness=1e7, **contact)
        assert words in str(refused.value)
        part = RodPart(rod_of(), PLANAR, contact=ContactProperties(stiffness=1e7, **contact))
        with pytest.raises(InvalidModel, match=r'rods\.rod\.contact\.spacing'):
            Assembly(rods={'rod': part}, obstacles=thin)


def test_a_tube_that_is_narrower_than_the_rod_is_refused():
    for width, R, tilt in ((1.5e-3, np.eye(3), 0.0), (1.9e-3, SIDEWAYS, np.pi / 2.0)):
        tube = Obstacle(Tube(((0.0, 0.0, -0.1), (0.0, 0.0, 0.2), (0.0, 0.0, 0.5)),
                             (0.01, width, width)), Pose((0.0, 0.0, 0.0), (0.0, tilt, 0.0)))
        rod = RodPart(rod_of(radius=2e-3), PLANAR, Attachment('ground', pose(R=R)),
                      contact=ContactProperties(stiffness=1e5))
        with pytest.raises(InvalidModel, match='obstacles.lumen.geometry.radii.*rod at'):
            Assembly(rods={'rod': rod}, obstacles={'lumen': tube}).solver()
    part = RodPart(rod_of(radius=2e-3), PLANAR, contact=ContactProperties(stiffness=1e5))
    Assembly(rods={'rod': part}, obstacles={'lumen': replace(tube, geometry=Tube(
        ((0.0, 0.0, -0.1), (0.0, 0.0, 0.5)), (2.001e-3,)), pose=Pose())}).solver()


# --- Energy and rest -----------------------------------------------------------------------------

@pytest.mark.parametrize('friction', [0.0, 0.5])
def test_an_impact_takes_energy(friction):
    """A ball that falls askew, and a rod that swings against a post: in no step is any won."""
    ball = ContactSpheres(((0.0, 0.0, 0.0),), 0.02, 1e4)
    solver = Assembly(
        {'ball': RigidBody(0.05, 8e-6 * np.eye(3), pose=pose((1.0, 0.0, 0.03)), contact=ball)},
        {'rod': RodPart(rod_of(), StrainModes(0, 0, 1, 2, 2, 1, elements=2), Attachment(
            'ground', pose((0.0, 0.0, 0.5), SIDEWAYS)), contact=ContactProperties(stiffness=1e5))},
        gravity=(0.5, 0.0, -9.81), obstacles={
            'floor': Obstacle(Plane(), friction=friction),
            'post': Obstacle(Capsule(0.01, 0.1), Pose((0.2, 0.0, 0.47), ACROSS),
                             friction=friction)}).solver(SCHEMES['backward_euler'])
    first = last = total(solver)
    touched = set()
    for _ in range(200):
        assert solver.step(1e-3).converged
        now = total(solver)
        touched |= {c.obstacle for c in solver.contacts()}
        assert now < last + 1e-4 * abs(first)
        last = now
    assert touched == {'floor', 'post'}
    assert last < first - 1e-3
    assert abs(place_of(solver, 'ball')[2] - 0.02) < 5e-3  # it fell 10 mm, and is not back


def test_relaxation_finds_the_equilibrium_of_newton():
    """By steps from rest to rest, without Newton's stroke and without a divided way."""
    robot = arm_at({'post': Obstacle(Cylinder(0.01, 0.2), Pose((0.018, 0.0, 0.25), ACROSS))})
    found = []
    for relaxes in (False, True):
        sim = Simulator(robot)
        assert sim.statics().converged
        sim.command(bend=30.0)
        if not relaxes:
            assert sim.statics().converged
            found.append(sim.solver.z.copy())
            continue
        failed = sim.solver.statics()
        sim = Simulator(robot)
        sim.command(bend=30.0)
        assert sim.step(1e-6).converged  # which sends the command
        sim.solver.set_state(0.0 * sim.solver.z)
        ending, solution = sim.solver._relax(failed._replace(converged=False, parts=1))
        assert solution.converged and solution.parts > 1
        found.append(ending.now[0])
    assert_allclose(found[1], found[0], atol=1e-8 * np.abs(found[0]).max())


# --- Meshes, driven obstacles --------------------------------------------------------------------

def test_a_mesh_carries_a_rod_as_a_cylinder_does(tmp_path, monkeypatch):
    """On two round posts; those of the mesh have facets, and edges as sharp as its cells."""
    trimesh = pytest.importorskip('trimesh')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    post = Cylinder(0.02, 0.06)
    trimesh.creation.cylinder(post.radius, post.length, sections=48).export(tmp_path / 'post.stl')
    mesh, places = Mesh(str(tmp_path / 'post.stl'), cells=12, margin=0.006), []
    for geometry in (post, mesh):
        part = RodPart(rod_of(young=1e7), PLANAR, Attachment('base', pose(R=SIDEWAYS)),
                       contact=ContactProperties(stiffness=1e5, spacing=2e-3))
        in_plane = Joint(JointKind('planar', axis=(0.0, 1.0, 0.0)),
                         Attachment('ground', pose((0.0, 0.0, 0.0245))), Attachment('base'))
        solver = Assembly(
            {'base': RigidBody()}, {'rod': part}, {'plane': in_plane}, gravity=(0.0, 0.0, -9.81),
            obstacles={name: Obstacle(geometry, Pose((x, 0.0, 0.0), ACROSS), friction=0.5)
                       for name, x in (('near', 0.08), ('far', 0.22))}).solver()
        assert solver.statics().converged
        carried = solver.contact_wrenches()
        half = -0.5 * 9.81 * rod_of().mass
        assert carried['near'][2] + carried['far'][2] == pytest.approx(2.0 * half, rel=1e-7)
        assert carried['near'][2] == pytest.approx(half, rel=0.02)
        solver.refresh()
        places.append(solver.work.end.p[solver.places.rods['rod']].copy())
    assert_allclose(places[1], places[0], atol=2e-4)


def test_a_ball_swings_in_a_bowl_of_heights(tmp_path, monkeypatch):
    """Without friction, as a pendulum of the length between the centres of bowl and ball."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    bowl, radius, start = 0.3, 0.02, 0.004
    x = np.linspace(-0.06, 0.06, 25)
    heights = bowl - np.sqrt(bowl ** 2 - x[:, None] ** 2 - x ** 2)
    ball = RigidBody(0.05, 8e-6 * np.eye(3), pose=pose((start, 0.0, radius + 2e-5)), contact=(
        ContactSpheres(((0.0, 0.0, 0.0),), radius, 1e5)))
    solver = Assembly({'ball': ball}, gravity=(0.0, 0.0, -9.81), obstacles={
        'bowl': Obstacle(HeightField(heights, (0.12, 0.12), cells=24))}).solver()
    dt, places = 2e-3, []
    for _ in range(600):
        assert solver.step(dt).converged
        places.append(place_of(solver, 'ball').copy())
    along = np.array(places)[:, 0]
    falls = np.flatnonzero((along[:-1] > 0.0) & (along[1:] <= 0.0))
    assert len(falls) >= 1
    through = dt * (1 + falls[0] + along[falls[0]] / (along[falls[0]] - along[falls[0] + 1]))
    assert through == pytest.approx(0.5 * np.pi * np.sqrt((bowl - radius) / 9.81), rel=0.01)
    assert along.min() == pytest.approx(-start, rel=0.05)
    assert np.abs(np.array(places)[:, 1]).max() < 1e-6


def test_a_driven_obstacle_pushes_a_rod():
    """As far as it goes, with the force of a cantilever; and it lets go of it."""
    length, radius, young, way = 0.3, 5e-3, 1e8, 4e-3
    touch, ball = ContactProperties(stiffness=1e8, spacing=1e-3), Sphere(0.01)
    solver = Assembly(
        {'pusher': RigidBody(driven=True, pose=pose((-0.017, 0.0, 0.28)))},
        {'rod': RodPart(rod_of(length, radius, young), StrainModes(
            0, 0, 0, 3, 3, 0, elements=2), contact=touch)},
        obstacles={'ball': Obstacle(ball, body='pusher')}).solver(SCHEMES['backward_euler'])
    still, speed = np.zeros(3), 0.02
    solver.motions[solver.places.bodies['pusher'].link] = follow_twist(lambda t: (
        still, np.array([speed if t < 0.3 else 0.0 if t < 0.5 else -speed, 0.0, 0.0]), still,
        still))
    for _ in range(50):  # it begins 2 mm away
        assert solver.step(0.01).converged
    pushed = sum(c.force[0] for c in solver.contacts())
    bending = young * np.pi / 4.0 * radius ** 4
    assert pushed == pytest.approx(3.0 * bending * way / 0.28 ** 3, rel=0.05)
    for _ in range(100):
        assert solver.step(0.01).converged
    assert not solver.contacts()
    solver.refresh()
    assert abs(solver.work.end.p[solver.places.rods['rod'][-1], 0]) < 1e-4


def test_a_body_of_a_robot_file_rests_on_a_plane(tmp_path):
    """As deep as its weight and the stiffness of three balls say; friction holds it on a slope."""
    (tmp_path / 'block.yaml').write_text("""
name: block_on_a_slope
rods:
  post:
    segments:
      - length: 0.1
        section: {shape: circular, radius: 0.002}
        material: {young_modulus: 70e9, poisson_ratio: 0.35, density: 6450}
bodies:
  block:
    mass: 0.1
    inertia: {xx: 2e-5, yy: 2e-5, zz: 2e-5}
    pose: {position: [0.3, 0, 0.01]}
    contact:
      points: [[0.03, 0, 0], [-0.015, 0.025, 0], [-0.015, -0.025, 0]]
      radius: 0.01
      penetration: 1e-4
      load: 1
gravity: [1, 0, -9.81]
obstacles:
  floor: {geometry: {shape: plane}, friction: 0.2}
""")
    sim = Simulator(load(tmp_path / 'block.yaml'))
    for _ in range(100):
        assert sim.step(5e-3).converged
    found = sim.solver.contacts()
    assert {(c.part, c.obstacle) for c in found} == {('block', 'floor')} and len(found) == 3
    assert not any(c.sliding for c in found)
    assert_allclose(sum(c.force for c in found), (-0.1, 0.0, 0.981), atol=0.01)
    at = place_of(sim.solver, 'block')
    assert at[2] == pytest.approx(0.01 - 0.981 / 3e4, abs=2e-6)
    assert abs(at[0] - 0.3) < 1e-4


# --- Linear models -------------------------------------------------------------------------------

def test_a_linear_model_in_contact_is_the_slope_of_statics():
    """Without friction, of an arm that is pulled against a post."""
    sim = Simulator(arm_at({'post': Obstacle(
        Cylinder(0.01, 0.2), Pose((0.018, 0.0, 0.25), ACROSS))}))
    sim.solver.tolerance = 1e-13
    sim.command(bend=30.0)
    assert sim.statics().converged
    assert sim.solver.contacts()
    linear = linearize(sim)
    gain = (linear.direct - linear.C @ np.linalg.solve(linear.A, linear.B))[:3, 0]
    tips = []
    for force in (30.01, 29.99):
        sim.command(bend=force)
        assert sim.statics().converged
        tips.append(sim.tip_pose()[:3, 3].copy())
    assert_allclose(gain, (tips[0] - tips[1]) / 0.02, atol=1e-5 * np.abs(gain).max())


# --- Frames --------------------------------------------------------------------------------------

def test_a_scene_in_time_does_not_depend_on_the_frame():
    """A rod that falls on a post, and a ball that rolls, with friction; all turned and moved."""
    turn, move = Rotation.from_rotvec((0.7, -0.4, 1.1)).as_matrix(), np.array([0.3, -0.2, 0.5])
    paths = []
    for R, origin in ((np.eye(3), np.zeros(3)), (turn, move)):
        g = pose(origin, R)

        def at(p, rpy=(0.0, 0.0, 0.0), g=g):
            G = g @ pose(p, Rotation.from_euler('xyz', rpy).as_matrix())
            return Pose(tuple(G[:3, 3]), tuple(Rotation.from_matrix(G[:3, :3]).as_euler('xyz')))

        solver = Assembly(
            {'ball': RigidBody(0.05, 2e-5 * np.eye(3), pose=g @ pose((0.2, 0.2, 0.035)),
                               contact=ContactSpheres(((0.0, 0.0, 0.0),), 0.03, 1e3))},
            {'rod': RodPart(rod_of(), StrainModes(0, 0, 1, 2, 2, 1, elements=2), Attachment(
                'ground', g), contact=ContactProperties(stiffness=1e5))},
            gravity=tuple(R @ (4.0, 0.0, -9.0)), obstacles={
                'post': Obstacle(Cylinder(0.015, 0.2), at((0.025, 0.0, 0.2), ACROSS),
                                 friction=0.3),
                'floor': Obstacle(Plane(), at((0.2, 0.2, 0.0)), friction=0.4)}).solver()
        path, touched = [], set()
        for _ in range(60):
            assert solver.step(4e-3).converged
            touched |= {c.obstacle for c in solver.contacts()}
            ball = place_of(solver, 'ball')
            tip = solver.work.end.p[solver.places.rods['rod'][-1]]
            path.append(np.concatenate([R.T @ (tip - origin), R.T @ (ball - origin)]))
        assert touched == {'post', 'floor'}
        paths.append(path)
    assert_allclose(paths[1], paths[0], atol=1e-8)
