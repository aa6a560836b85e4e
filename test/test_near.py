"""What is looked at for contact only if it is near: nothing that touches is ever missed."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_contact import rod_of, SIDEWAYS

from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.assembly.contact_arrays import RADIUS
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import (
    Box,
    Capsule,
    ContactProperties,
    Cylinder,
    HeightField,
    Obstacle,
    Plane,
    Sphere,
    Tube,
)
from cosserat_ros.description.parts import ContactSpheres, Pose
from cosserat_ros.description.robot import load
from cosserat_ros.laws.obstacles import distances
from cosserat_ros.simulation.simulator import Simulator

ALL = StrainModes(shear_x=1, shear_y=1, stretch=2, bend_x=2, bend_y=2, twist=1, elements=3)
X, Y = np.meshgrid(np.linspace(-0.1, 0.1, 9), np.linspace(-0.1, 0.1, 9))
HILLS = HeightField((0.01 * np.sin(40.0 * X) * np.cos(30.0 * Y)).tolist(), (0.2, 0.2), cells=24)
VESSEL = Tube(((0.0, 0.0, 0.0), (0.0, 0.01, 0.1), (0.02, 0.03, 0.2)), (0.03, 0.02, 0.025))
GEOMETRIES = (Plane(), Sphere(0.03), Capsule(0.01, 0.1), Cylinder(0.02, 0.05), Cylinder(0.01),
              Box((0.05, 0.1, 0.02)), VESSEL, HILLS)


def somewhere(rng, far):
    return Pose(tuple(far * rng.normal(size=3)), tuple(rng.uniform(-3.0, 3.0, 3)))


def drawn(rng, count):
    """Return obstacles of all kinds, near and far, on the ground and on what moves."""
    return {f'{i}': Obstacle(
        GEOMETRIES[rng.integers(len(GEOMETRIES))], somewhere(rng, 10.0 ** rng.uniform(-1.0, 0.5)),
        friction=0.1, body=(None, None, 'led', 'free')[rng.integers(4)]) for i in range(count)}


def scene(rng):
    """Return a rod, two balls on a free body that may bear shapes, and a body that is led."""
    bodies = {
        'led': RigidBody(driven=True, pose=pose((0.1, 0.0, 0.0))),
        'free': RigidBody(
            0.1, 1e-4 * np.eye(3), pose=pose((0.0, 0.1, 0.1)),
            contact=ContactSpheres(((0.03, 0.0, 0.0), (-0.01, 0.02, 0.0)), 0.01, 1e3))}
    rod = RodPart(rod_of(), ALL, Attachment('ground', pose((0.0, 0.0, 0.0), SIDEWAYS)),
                  contact=ContactProperties(stiffness=1e4))
    solver = Assembly(bodies, {'rod': rod}).solver()
    solver.set_obstacles(drawn(rng, 4), check=False)
    return solver


def in_touch(solver):
    """Return all points in contact with obstacles, of all pairs, at the last commit."""
    contacts, found = solver.tree.contacts, set()
    memory, pieces = contacts.memory, int(contacts.piece_first[0])
    bearer = np.repeat(np.arange(contacts.bears.size), np.diff(contacts.body_first))
    on = np.concatenate([np.full(int(contacts.body_first[0]), -1), bearer])
    for k, link in enumerate(contacts.link):
        R = memory.R[link] @ contacts.R[k]
        x = (memory.seen[:pieces] - memory.p[link] - memory.R[link] @ contacts.p[k]) @ R
        d, n, H = np.empty(len(x)), np.empty((len(x), 3)), np.empty((len(x), 3, 3))
        distances(contacts.shapes, k, np.ascontiguousarray(x), d, n, H)
        touches = (d < contacts.numbers[:pieces, RADIUS]) & (on != link)
        found |= {(int(c), k) for c in np.flatnonzero(touches)}
    return found


def as_found(solver):
    touch = solver.work.touch
    return {(int(c), int(k)) for c, k in touch.pairs[:int(touch.found[0]), :2]}


@pytest.mark.parametrize('seed', range(6))
def test_fuzz_all_that_touches_is_found_whatever_moves(tmp_path, monkeypatch, seed):
    """Against the distances of all points from all shapes, sweep by sweep, from far and near."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    rng = np.random.default_rng(seed)
    solver, count, empty = scene(rng), 0, 0
    led = solver.places.bodies['led'].link
    z, roots, obstacles = solver.z.copy(), solver.tree.roots, dict(solver.obstacles)
    for _ in range(1500):
        kind, size = rng.integers(12), 10.0 ** rng.uniform(-4.0, 0.0)
        if kind < 6:  # strains, within what a rod may be, and the free body
            z += np.where(solver.moves, size * rng.normal(size=z.size), 0.0)
            z *= 0.98
        elif kind == 6:
            z = np.where(solver.moves, 0.3 * rng.normal(size=z.size), 0.0)
        elif kind == 7:
            roots.p[led] += size * rng.normal(size=3)
        elif kind == 8:
            roots.R[led] = Rotation.from_rotvec(
                3.0 * size * rng.normal(size=3)).as_matrix() @ roots.R[led]
        elif kind == 9:  # elsewhere at once
            name = list(obstacles)[rng.integers(len(obstacles))]
            obstacles[name] = replace(obstacles[name], pose=somewhere(rng, 0.3))
        elif kind == 10 and rng.random() < 0.1:
            obstacles = drawn(rng, rng.integers(1, 7))
        elif kind == 11 and size > 0.5:  # far away, where nothing is near
            roots.p[led] += 10.0
            obstacles = {name: replace(obstacle, pose=Pose((20.0, 0.0, 0.0)))
                         for name, obstacle in obstacles.items()}
        if obstacles != solver.obstacles:
            solver.set_obstacles(obstacles, check=False)
        solver.commit_contacts(z, stays=False)
        expected = in_touch(solver)
        assert as_found(solver) == expected
        count, empty = count + bool(expected), empty + (not expected)
    assert count > 100 and empty > 100


@pytest.mark.parametrize('seed', range(2))
def test_motion_does_not_depend_on_how_long_lists_have_held(seed):
    """An arm that is thrown about among posts that jump, against one that lists in each step."""
    robot = load(ROOT / 'config' / 'tendon_arm.yaml')
    rods = {'backbone': replace(robot.rods['backbone'], contact=ContactProperties(
        stiffness=5e6, radius=0.012))}

    def posts(rng, far):
        return {f'post_{i}': Obstacle(Capsule(0.004, 0.02), Pose(
            (*(0.03 + far * rng.random()) * np.array([np.cos(a), np.sin(a)]),
             rng.uniform(0.05, 0.2)), (np.pi / 2.0, 0.0, a)), friction=0.2)
            for i, a in enumerate(rng.uniform(-np.pi, np.pi, 6))}

    ways = []
    for anew in (False, True):
        rng, sim = np.random.default_rng(seed), Simulator(replace(
            robot, rods=rods, obstacles=posts(np.random.default_rng(seed), 0.05)))
        assert sim.statics().converged
        way, touched = [], 0
        for k in range(150):
            if k % 15 == 0:
                sim.command(**{name: 6.0 * rng.random() ** 2 for name in sim.robot.tendons})
            if k % 40 == 20:
                there = posts(rng, (1.0, 0.05)[k // 40 % 2])
                try:
                    sim.set_obstacles(there)
                except ValueError:
                    pass  # one is where the arm is
            if anew:
                sim.solver.work.touch.listed[0] = False
            solution = sim.step(1.0 / 60.0)
            touched += bool(sim.solver.contacts())
            way.append((sim.solver.z.copy(), solution.converged))
        assert touched > 5
        ways.append(way)
    for (one, first), (other, second) in zip(*ways):
        assert first == second
        np.testing.assert_array_equal(one, other)


def test_the_end_of_a_rod_in_the_mouth_of_a_tube_is_found():
    """The middle of its one element is where the mouth is much wider than the tube."""
    solver = Assembly(
        {}, {'rod': RodPart(
            rod_of(0.2, 1e-3), StrainModes(0, 0, 0, 1, 1, 0, elements=1),
            Attachment('ground', pose((0.0, 0.0095, -0.19))),
            contact=ContactProperties(stiffness=1e4))},
        obstacles={'tube': Obstacle(
            Tube(((0.0, 0.0, 0.0), (0.0, 0.0, 0.3)), (0.01,)), friction=0.1)}).solver()
    solver.commit_contacts(stays=False)
    expected = in_touch(solver)
    assert expected and as_found(solver) == expected
