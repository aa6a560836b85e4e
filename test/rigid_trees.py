"""
Random trees of rigid bodies as plain numbers, for our engine and for Pinocchio alike.

Drawn by numpy's `RandomState`, whose stream is frozen: whoever draws a tree by its number gets the
same one, so that only results need to be stored.
"""

from typing import NamedTuple

import numpy as np

TREES = 200
MOST_BODIES = 12
GROUND = -1
# Coordinates of each kind: those of sliding, then those of turning.
FREEDOM = {
    'revolute': (0, 1), 'prismatic': (1, 0), 'spherical': (0, 3), 'free': (3, 3),
    'cylindrical': (1, 1), 'planar': (2, 1), 'universal': (0, 2), 'screw': (0, 1),
    'clamped': (0, 0), 'point_on_line': (1, 3), 'point_on_plane': (2, 3), 'line_on_plane': (2, 2)}
CHANCES = (0.22, 0.1, 0.1, 0.06, 0.08, 0.07, 0.08, 0.07, 0.04, 0.06, 0.06, 0.06)


class Link(NamedTuple):
    """A body, and the joint that moves it on an earlier one."""

    parent: int           # number of that body, or GROUND
    kind: str
    axis: np.ndarray      # (3,) of unit length, frame of the joint's start
    second: np.ndarray    # (3,) likewise
    pitch: float          # [m/rad]
    start: np.ndarray     # (4, 4) the joint's start, in the frame of the parent
    end: np.ndarray       # (4, 4) the joint's end, in the frame of the body
    mass: float           # [kg]
    centre: np.ndarray    # (3,) of mass, frame of the body [m]
    inertia: np.ndarray   # (3, 3) about it [kg m^2]
    q: np.ndarray         # (n,) coordinates; 0 for free turns
    attitude: np.ndarray  # (3, 3) of free turns, frame of the joint's start
    q_t: np.ndarray       # (n,) rates; of free turns the angular velocity there
    effort: np.ndarray    # (n,) along the rates
    force: np.ndarray     # (3,) at the joint's end, world frame [N]
    moment: np.ndarray    # (3,) likewise [N m]


def rotation(turn):
    """Return the rotation (3, 3) by a rotation vector (3,), by Rodrigues' formula."""
    angle = np.linalg.norm(turn)
    x, y, z = turn / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def across(axis):
    """Return the two axes of sliding in a plane, as our engine has them, (2, 3)."""
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(axis, first)])


def sliding(link):
    """Return the axes along which a joint slides, (n, 3)."""
    return {0: np.zeros((0, 3)), 1: link.axis[None], 2: across(link.axis), 3: np.eye(3)}[
        FREEDOM[link.kind][0]]


def turning(link):
    """Return the axes about which a joint turns one after another, (n, 3), if not freely."""
    if link.kind == 'line_on_plane':  # about the normal, then about the line
        line = link.second - link.axis * (link.axis @ link.second)
        return np.array([link.axis, line / np.linalg.norm(line)])
    return np.array([link.axis, link.second])[:FREEDOM[link.kind][1]]


def _pose(rng):
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = rotation(rng.normal(size=3)), rng.normal(size=3) * 0.3
    return g


def _unit(rng):
    a = rng.normal(size=3)
    return a / np.linalg.norm(a)


def _inertia(rng, mass):
    """Return that of six points around the centre: any that a body can have."""
    axes, size = rotation(rng.normal(size=3)), rng.uniform(0.05, 0.2, 3) ** 2
    return mass * axes @ np.diag(size.sum() - size) @ axes.T


def random_tree(number):
    """Return gravity (3,) and the links of a tree, branching, parents first."""
    rng = np.random.RandomState(number)
    links = []
    for i in range(rng.randint(1, MOST_BODIES + 1)):
        kind = rng.choice(list(FREEDOM), p=CHANCES)
        slides, turns = FREEDOM[kind]
        mass = np.exp(rng.uniform(np.log(0.1), np.log(5.0)))
        q = np.concatenate([0.3 * rng.normal(size=slides), rng.normal(size=turns)])
        attitude = rotation(rng.normal(size=3))
        if turns == 3:
            q[slides:] = 0.0
        links.append(Link(
            int(rng.randint(GROUND, i)), str(kind), _unit(rng), _unit(rng), 0.1 * rng.normal(),
            _pose(rng), _pose(rng), mass, 0.1 * rng.normal(size=3), _inertia(rng, mass), q,
            attitude, 2.0 * rng.normal(size=slides + turns), rng.normal(size=slides + turns),
            rng.normal(size=3), 0.1 * rng.normal(size=3)))
    return 5.0 * rng.normal(size=3), links
