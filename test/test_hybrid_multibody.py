"""The hybrid algorithm of Porez 2014 against Pinocchio, and against the engine."""

from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rigid_trees import FREEDOM, GROUND, random_tree, sliding, TREES, turning

from cosserat_ros.analysis.inverse_dynamics import inverse_dynamics
from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, RigidBody
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.papers.hybrid_multibody import Body, hybrid, rigid_inertia, State, weight

REFERENCE = Path(__file__).parent / 'reference' / 'rigid_trees.npz'
MASSLESS = np.zeros((6, 6))


def screws(link):
    """Return axes (n, 6), positions and rates of a joint as one-coordinate joints in a row."""
    turns = np.eye(3) if FREEDOM[link.kind][1] == 3 else turning(link)
    axes = [*([*a, 0.0, 0.0, 0.0] for a in sliding(link)), *([0.0, 0.0, 0.0, *a] for a in turns)]
    if link.kind == 'screw':
        axes = [[*(link.pitch * link.axis), *link.axis]]
    return np.array(axes).reshape(-1, 6), link.q, link.q_t


def inertia_at_end(a):
    """Return the inertia of a link about the end of its joint."""
    R, p = a.end[:3, :3].T, -a.end[:3, :3].T @ a.end[:3, 3]
    return rigid_inertia(a.mass, R @ a.centre + p, R @ a.inertia @ R.T)


def chain_of(links, floats=False):
    """
    Return bodies of one coordinate each, rows of `r, r_t, effort`, and who ends each link.

    The base is the ground, or the first link.
    """
    inertia = inertia_at_end(links[0]) if floats else MASSLESS
    bodies, rows, ends = [Body(-1, np.eye(4), np.zeros(6), inertia)], [(0.0, 0.0, 0.0)], []
    if floats:
        ends.append(0)
    for a in links[len(ends):]:
        before, pose = (0, a.start) if a.parent == GROUND else (
            ends[a.parent], np.linalg.inv(links[a.parent].end) @ a.start)
        for k, (axis, r, r_t) in enumerate(zip(*screws(a))):
            bodies.append(Body(before, pose, axis, MASSLESS))
            rows.append((r, r_t, a.effort[k]))
            before, pose = len(bodies) - 1, np.eye(4)
        if FREEDOM[a.kind][1] == 3:  # r is 0 there, and the turn so far is in the pose
            pose[:3, :3] = a.attitude
        bodies.append(Body(before, pose, np.zeros(6), inertia_at_end(a)))
        rows.append((0.0, 0.0, 0.0))
        ends.append(len(bodies) - 1)
    return bodies, np.array(rows), ends


def accelerations_of(links, ends, found):
    """Return those of all links' frames (n, 6), world frame."""
    rows = []
    for a, j in zip(links, ends):
        R, (V, Om), (V_t, Om_t) = (
            found.poses[j, :3, :3], found.twists[j].reshape(2, 3), found.rates[j].reshape(2, 3))
        arm = -a.end[:3, :3].T @ a.end[:3, 3]
        rows.append([
            *(R @ (V_t + np.cross(Om, V) + np.cross(Om_t, arm)
                   + np.cross(Om, np.cross(Om, arm)))), *(R @ Om_t)])
    return rows


def loads_on(links, ends, bodies, gravity):
    """Return what acts on bodies, for `hybrid`."""
    def outside(j, pose, twist):
        force = weight(gravity, bodies[j].inertia, pose)
        if j in ends:
            a = links[ends.index(j)]
            force -= np.concatenate([pose[:3, :3].T @ a.force, pose[:3, :3].T @ a.moment])
        return MASSLESS, force

    return outside


@pytest.mark.parametrize('number', range(0, TREES, 2))
def test_a_tree_has_the_accelerations_that_pinocchio_finds(number):
    gravity, links = random_tree(number)
    first = sum(len(random_tree(i)[1]) for i in range(number))
    expected = np.load(REFERENCE)['accelerations'][first:first + len(links)]
    bodies, rows, ends = chain_of(links)
    told = np.array([not body.axis.any() for body in bodies])

    state = State(np.eye(4), np.zeros(6), rows[:, 0], rows[:, 1])
    found = hybrid(bodies, state, told, rows[:, 2], loads_on(links, ends, bodies, gravity),
                   base_rate=np.zeros(6))
    assert_allclose(accelerations_of(links, ends, found), expected, rtol=0,
                    atol=1e-9 * np.abs(expected).max())


def floating_parts():
    """Return number and links of all parts of trees that nothing but a free joint holds."""
    parts = []
    for number in range(TREES):
        links = random_tree(number)[1]
        for root, a in enumerate(links):
            if a.kind == 'free' and a.parent == GROUND:
                own = [root]
                for i in range(root + 1, len(links)):
                    if links[i].parent in own:
                        own.append(i)
                parts.append((number, own))
    return parts


@pytest.mark.parametrize('number, own', floating_parts())
def test_a_floating_tree_has_the_accelerations_that_pinocchio_finds(number, own):
    """Eq. 9: the base is the link on a free joint, whose efforts are loads."""
    gravity, links = random_tree(number)
    first = sum(len(random_tree(i)[1]) for i in range(number))
    expected = np.load(REFERENCE)['accelerations'][first + np.array(own)]
    a = links[own[0]]
    parts = [links[i]._replace(parent=own.index(links[i].parent) if k else GROUND)
             for k, i in enumerate(own)]
    force, moment = (a.start[:3, :3] @ part for part in a.effort.reshape(2, 3))
    parts[0] = a._replace(force=a.force + force, moment=a.moment + moment)
    bodies, rows, ends = chain_of(parts, floats=True)
    told = np.array([not body.axis.any() for body in bodies])
    moved = np.eye(4)
    moved[:3, :3], moved[:3, 3] = a.attitude, a.q[:3]
    twist = (a.q_t.reshape(2, 3) @ a.attitude).ravel()
    state = State(a.start @ moved, twist, rows[:, 0], rows[:, 1])
    found = hybrid(bodies, state, told, rows[:, 2], loads_on(parts, ends, bodies, gravity))
    assert_allclose(accelerations_of(parts, ends, found), expected, rtol=0,
                    atol=1e-9 * np.abs(expected).max())


def floating_tree(seed):
    """Return a random tree on a free base, for the engine and for the algorithm."""
    rng = np.random.default_rng(seed)
    count = rng.integers(2, 10)
    gravity = rng.normal(size=3)
    parts, bodies, joints = {}, [], {}
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = exp_so3(rng.normal(size=3)), rng.normal(size=3)
    for j in range(count):
        mass, centre, A = rng.uniform(0.5, 2.0), 0.1 * rng.normal(size=3), rng.normal(size=(3, 3))
        J = 0.02 * (np.trace(A @ A.T) * np.eye(3) - A @ A.T)
        parts[f'body_{j}'] = RigidBody(mass, J, centre, base if j == 0 else np.eye(4))
        axis, pose = rng.normal(size=3), np.eye(4)
        axis /= np.linalg.norm(axis)
        pose[:3, :3], pose[:3, 3] = exp_so3(rng.normal(size=3)), 0.3 * rng.normal(size=3)
        before = int(rng.integers(0, j)) if j else -1
        bodies.append(Body(
            before, pose, np.array([0.0, 0.0, 0.0, *axis]), rigid_inertia(mass, centre, J)))
        if j:
            joints[f'joint_{j}'] = Joint(
                JointKind('revolute', axis, coordinates=[Coordinate(position=0.3 * j)]),
                Attachment(f'body_{before}', pose), Attachment(f'body_{j}'))
    r = np.array([0.3 * j for j in range(count)])
    r[0] = 0.0
    state = State(base, rng.normal(size=6), r, rng.normal(size=count))
    return gravity, Assembly(parts, {}, joints, gravity).solver(), bodies, state, rng


@pytest.mark.parametrize('seed', range(20))
def test_accelerations_and_torques_of_a_floating_tree_are_those_of_the_engine(seed):
    gravity, solver, bodies, state, rng = floating_tree(seed)
    count, places = len(bodies), solver.places.coordinates
    told, given = rng.random(count) < 0.5, rng.normal(size=count)
    R = state.base[:3, :3]
    z_t, wanted, efforts = np.zeros((3, solver.Z))
    hold = np.zeros(solver.Z, dtype=bool)
    z_t[places['body_0']] = np.concatenate([R @ state.base_twist[:3], R @ state.base_twist[3:]])
    for j in range(1, count):
        at = places[f'joint_{j}'][0]
        z_t[at], hold[at] = state.r_t[j], told[j]
        wanted[at], efforts[at] = given[j], given[j]
    solver.set_state(solver.z, z_t)
    ours = inverse_dynamics(solver, hold, wanted, efforts)
    theirs = hybrid(bodies, state, told, given, lambda j, pose, twist: (
        MASSLESS, weight(gravity, bodies[j].inertia, pose)))
    V, Om = state.base_twist.reshape(2, 3)
    base = np.concatenate([
        R @ (theirs.rates[0, :3] + np.cross(Om, V)), R @ theirs.rates[0, 3:]])
    size = np.abs(theirs.rates).max()
    assert_allclose(ours.accelerations[places['body_0']], base, rtol=0, atol=1e-9 * size)
    for j in range(1, count):
        at = places[f'joint_{j}'][0]
        assert_allclose(ours.accelerations[at], theirs.r_tt[j], rtol=0, atol=1e-9 * size)
        assert_allclose(ours.efforts[at], theirs.tau[j], rtol=0, atol=1e-9 * size)
