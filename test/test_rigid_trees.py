"""Accelerations of random rigid trees against Pinocchio's articulated-body algorithm."""

from pathlib import Path

import numpy as np
import pytest
from rigid_trees import FREEDOM, GROUND, random_tree, TREES

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, RigidBody
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.assembly.tangent import differentiate
from cosserat_ros.assembly.ties import factorise, solve

REFERENCE = Path(__file__).parent / 'reference' / 'rigid_trees.npz'
GROUP = 20


def solver_of(number):
    """Return a solver at the state of a random tree, and the names of its bodies."""
    gravity, links = random_tree(number)
    bodies, joints = {}, {}
    for i, a in enumerate(links):
        bodies[f'body_{i}'] = RigidBody(a.mass, a.inertia, a.centre)
        kind = JointKind(a.kind, a.axis, a.second, a.pitch, [
            Coordinate(position=q, effort=effort) for q, effort in zip(a.q, a.effort)])
        parent = 'ground' if a.parent == GROUND else f'body_{a.parent}'
        joints[f'joint_{i}'] = Joint(
            kind, Attachment(parent, a.start), Attachment(f'body_{i}', a.end))
    solver = Assembly(bodies, {}, joints, gravity).solver()
    z_t = np.zeros(solver.Z)
    for i, a in enumerate(links):
        link = solver.places.bodies[f'body_{i}'].link
        solver.tree.bodies.force[link], solver.tree.bodies.moment[link] = a.force, a.moment
        if FREEDOM[a.kind][1] == 3:
            solver.tree.joints.reference[solver.tree.links.item[link]] = a.attitude
        z_t[solver.places.coordinates.get(f'joint_{i}', [])] = a.q_t
    solver.set_state(solver.z, z_t)
    return solver, list(bodies)


def accelerations(solver, names):
    """Return those of bodies' frames, of the origin and angular, world frame, (n, 6)."""
    end = solver.refresh().end
    rows = []
    for link, g in (solver.places.bodies[name] for name in names):
        arm, Om, Om_t = end.R[link] @ g[:3, 3], end.Om[link], end.Om_t[link]
        rows.append([*(end.p_tt[link] + np.cross(Om_t, arm) + np.cross(Om, np.cross(Om, arm))),
                     *Om_t])
    return np.array(rows)


@pytest.mark.parametrize('group', range(TREES // GROUP))
def test_a_tree_has_the_accelerations_that_pinocchio_finds(group):
    reference, first = np.load(REFERENCE)['accelerations'], 0
    for number in range(TREES):
        n = len(random_tree(number)[1])
        expected, first = reference[first:first + n], first + n
        if number // GROUP != group:
            continue
        solver, names = solver_of(number)
        assert solver.start()
        error = np.abs(accelerations(solver, names) - expected).max()
        assert error <= 1e-9 * np.abs(expected).max(), f'tree {number}'
    assert first == len(reference)


@pytest.mark.parametrize('number', range(0, TREES, 10))
def test_elimination_along_a_tree_finds_the_same_accelerations(number):
    """The sweeps of a time step, without inertia of their own: Featherstone's algorithm."""
    solver, names = solver_of(number)
    assert solver.start()
    expected = accelerations(solver, names)
    still, step = np.zeros(solver.Z), np.empty(solver.Z)
    r, huge = solver.residual(z_tt=still), 1e12
    differentiate(solver.tree, solver.work, solver.z, 0.0, huge, 18, solver.tangent)
    assert factorise(solver.tree, 18, solver.tangent, solver.fronts) == -1
    solve(solver.tree, 18, solver.tangent, solver.fronts, r,
          np.zeros((solver.tree.links.kind.size, 18)), step)
    solver.set_state(solver.z, solver.z_t, -huge * step)
    # What is not inertia in the tangent, stiffness of gravity and of rates, is 1e-12 of it or so.
    np.testing.assert_allclose(
        accelerations(solver, names), expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())
