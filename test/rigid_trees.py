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
    'clamped': (0, 0)}
CHANCES = (0.3, 0.15, 0.15, 0.05, 0.1, 0.05, 0.1, 0.05, 0.05)


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
