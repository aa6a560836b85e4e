"""Obstacles of all shapes that jump into a robot, or hit it: a step, a refusal, no explosion."""

from conftest import FUZZ
from hypothesis import example, given, HealthCheck, settings, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_contact_energy import total
from test_contact_law import measured

from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.assembly.state import follow_twist
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import (
    Box,
    Capsule,
    Compound,
    ContactProperties,
    Cylinder,
    HeightField,
    Obstacle,
    Plane,
    simple_parts,
    Sphere,
    Triangles,
    Tube,
)
from cosserat_ros.description.parts import Body, ContactSpheres, Inertia, Pose
from cosserat_ros.description.robot import MountedRod, Robot
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.simulation.simulator import Simulator

RADIUS, BALL = 0.01, 0.03
DRIFT = 0.5  # of the energy that moves; at most 0.12 was seen of the rod
CORNERS = 0.04 * (np.indices((2, 2, 2)).reshape(3, 8).T - 0.5)
SIDES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
         [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
SHAPES = {
    'plane': Plane(), 'sphere': Sphere(0.04), 'capsule': Capsule(0.02, 0.1),
    'cylinder': Cylinder(0.03, 0.2), 'post': Cylinder(1e-3, 0.3), 'box': Box((0.02, 0.1, 0.2)),
    'tube': Tube(((0.0, 0.0, -0.2), (0.01, 0.0, 0.2)), (0.05, 0.04)),
    'height_field': HeightField([[0.0, 0.01], [0.01, 0.0]], (0.2, 0.2), cells=12, margin=0.03),
    'triangles': Triangles(CORNERS, SIDES, cells=10, margin=0.03),
    'compound': Compound((
        (Sphere(0.02), Pose((0.0, 0.0, 0.03))), (Box((0.1, 0.02, 0.02)), Pose())))}
NAMES = sorted(SHAPES)

vectors = st.tuples(*[st.floats(-1.0, 1.0)] * 3)
steps = st.floats(-6.0, 0.0).map(lambda x: 10.0 ** x)
places = st.tuples(st.sampled_from(['rod', 'ball']), vectors, vectors, st.floats(-0.5, 1.1))
shapes = st.tuples(st.sampled_from(NAMES), st.sampled_from([0.0, 0.5]))
jumps = st.lists(st.tuples(
    st.sampled_from(['a', 'b']), st.one_of(st.none(), shapes), places,
    st.lists(steps, min_size=1, max_size=3)), min_size=1, max_size=4)


@pytest.fixture(scope='module', autouse=True)
def cache(tmp_path_factory):
    """Keep distances from surfaces elsewhere than in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('XDG_CACHE_HOME', str(tmp_path_factory.mktemp('cache')))
        yield


def robot(young, stiffness, damping):
    """Return a robot of a rod that stands, and a ball beside it."""
    rod = MountedRod(
        (Segment(0.3, Circular(RADIUS), Material(young, 1e3, poisson_ratio=0.3)),),
        modes=StrainModes(0, 0, 1, 2, 2, 1, elements=3),
        contact=ContactProperties(stiffness=100.0 * stiffness, damping=damping))
    ball = Body(0.05, inertia=Inertia(2e-5, 2e-5, 2e-5), pose=Pose((0.2, 0.0, 0.25)),
                contact=ContactSpheres(((0.0, 0.0, 0.0),), BALL, stiffness, damping=damping))
    return Simulator(Robot('robot', {'rod': rod}, bodies={'ball': ball}, obstacles={
        'b': Obstacle(SHAPES['sphere'], Pose((1.0, 0.0, 0.0)))}))


def pose_at(name, place, solver):
    """
    Return where a shape is, turned in some way, if a rod or ball is so deep in it.

    Part of its radius: above 1 its centre is within the shape; below 0 it does not touch.
    """
    part, turn, side, deep = place
    if part == 'ball':
        x, radius = solver.frame(solver.places.bodies['ball'].link).p, BALL
    else:
        x = solver.work.end.p[solver.places.rods['rod'][abs(int(2.9 * turn[0]))]]
        radius = RADIUS
    R = Rotation.from_euler('xyz', 3.0 * np.array(turn)).as_matrix()
    side = np.array(side) + (0.0, 0.0, 1e-3)
    way = np.linspace(0.0, 0.2, 2001)[:, None] * side / np.linalg.norm(side)
    far = [measured(geometry, (way - at.position) @ at.matrix()[:3, :3])[0]
           for geometry, at in simple_parts(SHAPES[name])]
    wanted = np.abs(np.min(far, axis=0) - (1.0 - deep) * radius)
    return Pose(tuple(x - R @ way[np.argmin(wanted)]), tuple(3.0 * np.array(turn)))


def state(solver):
    """Return all that a step that is refused leaves as it was."""
    kept = solver.tree.contacts.memory if solver.holds_anchors else ()
    return [a.copy() for a in (solver.z, solver.z_t, solver.z_tt, np.array(solver.time),
                               *solver.tree.roots, *kept)]


def look_at(solver, solution, before):
    """Compare a step with what it may be."""
    for values in (solver.z, solver.z_t, solver.z_tt):
        assert np.isfinite(values).all()
    if not solution.converged:
        assert solution.message
        for a, b in zip(before, state(solver)):
            np.testing.assert_array_equal(a, b)


@settings(deadline=None, max_examples=30 * FUZZ, suppress_health_check=[HealthCheck.too_slow])
@given(jumps=jumps, young=st.sampled_from([1e6, 1e8]), stiffness=st.sampled_from([1e3, 1e5]),
       damping=st.sampled_from([0.0, 10.0]))
@example(jumps=[('b', ('sphere', 0.0), ('ball', (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), 0.9), [0.01]),
                ('b', None, ('ball', (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0), [1.0])],
         young=1e6, stiffness=1e3, damping=0.0)  # what pushed a ball is gone, and so is its push
def test_obstacles_jump_into_a_robot(jumps, young, stiffness, damping):
    """
    What overlaps is pushed out by what the overlap stores, and by nothing more.

    But for the drift of a soft rod that is flung about by joules, in steps of many of its periods.
    """
    sim = robot(young, stiffness, damping)
    solver = sim.solver
    for name, shape, place, lengths in jumps:
        before, present = state(solver), dict(sim.obstacles)
        solver.refresh()
        try:
            if shape is not None:
                sim.set_obstacle(name, Obstacle(
                    SHAPES[shape[0]], pose_at(shape[0], place, solver), friction=shape[1]))
            elif place[3] > 0.0 and name in present:
                kind = next(k for k in NAMES if SHAPES[k] is present[name].geometry)
                sim.move_obstacle(name, pose_at(kind, place, solver))
            elif name in present:
                sim.remove_obstacle(name)
        except InvalidModel as refused:
            assert 'deep in' in str(refused) or 'radii' in str(refused)
            assert dict(sim.obstacles) == present
            for a, b in zip(before, state(solver)):
                np.testing.assert_array_equal(a, b)
        most = total(solver)
        released = most - solver.energy().gravity
        for dt in lengths:
            before = state(solver)
            look_at(solver, sim.step(dt), before)
            moves = released + solver.energy().kinetic  # in free fall too
            assert total(solver) < most + DRIFT * max(moves, 0.01)


@settings(deadline=None, max_examples=30 * FUZZ, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(NAMES), place=places, stiffness=st.sampled_from([1e3, 1e5]),
       ways=st.lists(st.tuples(vectors, vectors, st.lists(
           st.one_of(steps, st.floats(3e-4, 2e-2)), min_size=3, max_size=8)),
           min_size=1, max_size=4), friction=st.sampled_from([0.0, 0.5]))
def test_obstacles_that_move_fast_hit_a_rod_and_a_ball(name, place, stiffness, ways, friction):
    """At 10 m/s and 10 rad/s: a ball is thrown by each way as fast as it would bounce, at most."""
    rod = RodPart(
        Rod((Segment(0.3, Circular(RADIUS), Material(1e7, 1e3, poisson_ratio=0.3)),)),
        StrainModes(0, 0, 1, 2, 2, 1, elements=3), Attachment('ground', pose()),
        contact=ContactProperties(stiffness=100.0 * stiffness))
    ball = ContactSpheres(((0.0, 0.0, 0.0),), BALL, stiffness)
    solver = Assembly(
        {'ball': RigidBody(0.05, 2e-5 * np.eye(3), pose=pose((0.2, 0.0, 0.25)), contact=ball),
         'carrier': RigidBody(driven=True)}, {'rod': rod},
        obstacles={'far': Obstacle(SHAPES['sphere'], Pose((1e3, 0.0, 0.0)))}).solver()
    solver.refresh()
    try:
        solver.set_obstacles({'thing': Obstacle(
            SHAPES[name], pose_at(name, place, solver), body='carrier', friction=friction)})
    except InvalidModel as refused:
        assert 'deep in' in str(refused) or 'radii' in str(refused)
        return
    carrier, still, link = (solver.places.bodies['carrier'].link, np.zeros(3),
                            solver.places.bodies['ball'].link)
    fastest = np.sqrt(2.0 * total(solver) / 0.05)  # by what the overlap stores
    for velocity, spin, lengths in ways:
        solver.motions[carrier] = follow_twist(lambda t, v=velocity, w=spin: (
            10.0 * np.array(w), 10.0 * np.array(v), still, still))
        reach = 0.3 + 10.0 * sum(sum(way[2]) for way in ways)
        fastest += 2.0 * (10.0 * np.linalg.norm(velocity) + 10.0 * np.linalg.norm(spin) * reach)
        for dt in lengths:
            before = state(solver)
            look_at(solver, solver.step(dt), before)
            solver.refresh()
            assert np.linalg.norm(solver.frame(link).p_t) < 1.1 * fastest + 0.1
