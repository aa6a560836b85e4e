"""Obstacles thrown at rods and bodies, steps of any length: a status, and no energy gained."""

from conftest import FUZZ
import numpy as np
import pytest

from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import (
    Box,
    Capsule,
    ContactProperties,
    Cylinder,
    Obstacle,
    Plane,
    Sphere,
)
from cosserat_ros.description.parts import ContactSpheres, Pose
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.lie import exp_so3

MODES = StrainModes(0, 0, 1, 2, 2, 1, elements=3)
MOST_DRAWN = 50


def thrown(rng):
    """Return an obstacle of any kind, anywhere near."""
    geometry = [Sphere(rng.uniform(0.01, 0.1)), Capsule(rng.uniform(0.005, 0.05), 0.1),
                Cylinder(rng.uniform(0.01, 0.05), 0.2), Box(tuple(rng.uniform(0.02, 0.2, 3))),
                Plane()][rng.integers(5)]
    place = 0.25 * rng.normal(size=3)
    if isinstance(geometry, Plane):
        return Obstacle(geometry, Pose((0.0, 0.0, -rng.uniform(0.02, 0.3))),
                        friction=rng.choice([0.0, 0.5]))
    return Obstacle(geometry, Pose(tuple(place), tuple(rng.normal(size=3))),
                    friction=rng.choice([0.0, 0.5]))


def scene(rng):
    """Return a rod and a ball among obstacles: of those that do not overlap, the first drawn."""
    for _ in range(MOST_DRAWN):
        solver = drawn(rng)
        if solver is not None:
            return solver
    raise AssertionError('all scenes overlap')


def drawn(rng):
    """Return a rod and a ball among obstacles, or None if they overlap."""
    radius = rng.choice([1e-3, 5e-3, 0.02])
    young = rng.choice([1e5, 1e7, 1e9])
    rod = Rod((Segment(0.3, Circular(radius), Material(young, 1e3, poisson_ratio=0.3)),))
    touch = ContactProperties(stiffness=float(rng.choice([1e3, 1e5, 1e7])))
    ball = ContactSpheres(((0.0, 0.0, 0.0),), 0.03, float(rng.choice([1e2, 1e5])))
    try:
        return Assembly(
            {'ball': RigidBody(0.05, 2e-5 * np.eye(3), pose=pose((0.2, 0.2, 0.2)), contact=ball)},
            {'rod': RodPart(rod, MODES, Attachment('ground', pose(R=exp_so3(rng.normal(size=3)))),
                            contact=touch)},
            gravity=(0.0, 0.0, -9.81),
            obstacles={f'thing_{i}': thrown(rng) for i in range(rng.integers(1, 6))}).solver()
    except InvalidModel as refused:
        assert 'deep in' in str(refused)
        return None


def total(solver):
    """Return the energy, with what contacts store at most [J]."""
    energy = solver.energy()
    stored = sum(0.5 * np.linalg.norm(c.force) * abs(c.gap) for c in solver.contacts())
    return energy.kinetic + energy.potential + stored


@pytest.mark.parametrize('seed', range(8 * FUZZ))
def test_fuzz_nothing_explodes(seed):
    rng = np.random.default_rng(seed)
    solver = scene(rng)
    first = total(solver)
    for dt in 10.0 ** rng.uniform(-6.0, 0.0, 12):
        before = solver.saved()
        solution = solver.step(float(dt))
        assert np.isfinite(solver.z).all() and np.isfinite(solver.z_t).all()
        if not solution.converged:
            assert solution.message
            np.testing.assert_array_equal(solver.z, before[0][0][0])
            continue
        lost = first - total(solver)
        assert lost > -0.02 * max(abs(first), 1e-3)


@pytest.mark.parametrize('seed', range(4 * FUZZ))
def test_fuzz_statics_with_obstacles_ends(seed):
    rng = np.random.default_rng(100 + seed)
    solver = scene(rng)
    solver.tree.coordinates.driven[solver.places.coordinates['ball']] = True
    solver.tree.coordinates.command[solver.places.coordinates['ball']] = solver.z[
        solver.places.coordinates['ball']]
    solution = solver.statics()
    assert np.isfinite(solver.z).all()
    assert solution.converged or solution.message
