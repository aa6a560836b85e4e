r"""
An assembly in the Lagrangian form of robotics, for the design of controllers (Boyer 2020, eq. 25).

With coordinates y, rates v, efforts e of actuators and reactions l of loops,

    M v_t + C v + gravity + K (y - rest) + D v = actuation e + closure l + others

y has strain modes, coordinates of joints, and of bodies that float position and turn, whose rates
v are velocity and angular velocity: the blocks M_0, M_0e of eq. 25 are the rows and columns of M
at such a body, in the world frame where the paper has the body's. The matrices are taken from the
exact slopes of the equations of :mod:`cosserat_ros.assembly.tree`, where the paper feeds unit
accelerations to its inverse Newton-Euler pass (eqs. 33 to 36).

Free turns are rotation vectors in y. What springs of ball joints do beside K (y - rest), if they
are of unequal stiffness or have a rest, is in `others`.

Forces of Coriolis are quadratic in v, so that half of their slope times v gives them; with
coordinates whose rates are v, this is Christoffel's matrix. Rates of free turns are angular
velocities, which do not commute: what is left of Levi-Civita's connection is half the mass matrix
times their bracket,

    C = 1/2 d(C v)/dv - 1/2 M [Om x]

With it M_t - 2 C is skew in all coordinates, as passivity-based control asks. A wake
(:func:`cosserat_ros.laws.flow.wake`) is the exception: its force is quadratic in v, too, and so
is in C, but it takes power from the body, and M_t - 2 C is then not skew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear

from ..assembly.joint import FREELY
from ..assembly.momentum import elastic_stiffness
from ..assembly.rods import VISCOUS
from ..assembly.solver import AssemblySolver
from ..assembly.tree import ELEMENT, JOINT, Tree
from ..numerics.lie import exp_so3, hat, log_so3
from ..simulation.simulator import Simulator
from .linearize import slopes

LEAST_EFFORT = 1e-6  # weight of efforts beside what they leave undone, relative


class Lagrangian(NamedTuple):
    """The equations of motion at an instant; see `cosserat_ros.analysis.lagrangian`."""

    mass: np.ndarray       # (n, n) M
    coriolis: np.ndarray   # (n, n) C; M_t - 2 C is skew unless there is a wake
    gravity: np.ndarray    # (n,) minus the force of the weight
    stiffness: np.ndarray  # (n, n) K of rods and springs, constant
    rest: np.ndarray       # (n,) y where springs are at rest
    damping: np.ndarray    # (n, n) D of rods and joints, constant
    actuation: np.ndarray  # (n, m) of tensions [N] and minus pressures [Pa]
    closure: np.ndarray    # (n, k) of reactions [N, N m]
    others: np.ndarray     # (n,) of loads, drag, contact, laws, motion that bodies are told
    y: np.ndarray          # (n,) coordinates
    v: np.ndarray          # (n,) rates
    efforts: np.ndarray    # (m,) of the present instant
    reactions: np.ndarray  # (k,)
    places: np.ndarray     # (n,) of the coordinates in z

    @property
    def passive(self) -> np.ndarray:
        """All forces on the left side that accelerations do not make, (n,)."""
        return (self.coriolis @ self.v + self.gravity + self.stiffness @ (self.y - self.rest)
                + self.damping @ self.v)

    def accelerations(self, efforts: np.ndarray | None = None) -> np.ndarray:
        """Return v_t (n,) with these efforts (m,), or the present ones; of trees, eq. 37."""
        e = self.efforts if efforts is None else efforts
        return np.linalg.solve(
            self.mass, self.actuation @ e + self.closure @ self.reactions + self.others
            - self.passive)


class Efforts(NamedTuple):
    """Efforts of actuators for a motion that is told."""

    values: np.ndarray  # (m,) [N, Pa]
    left: np.ndarray    # (n,) forces along coordinates that the motion takes beside them


def efforts_for(
    form: Lagrangian, accelerations: ArrayLike, least: ArrayLike = 0.0,
    most: ArrayLike = np.inf,
) -> Efforts:
    """
    Return efforts within limits that come nearest to a motion, and of these the smallest.

    Few actuators cannot make any motion (Boyer 2023, remark 10): what is left is made as small as
    can be, measured as strain by the stiffness, or by the mass where nothing is elastic.

    Parameters
    ----------
    form : Lagrangian
        At the state and rates of the motion.
    accelerations : (n,) float
        Its accelerations, v_t.
    least, most : float or (m,) float
        Limits of the efforts [N, Pa]; tendons pull.

    """
    needed = (form.mass @ np.asarray(accelerations, dtype=float) + form.passive - form.others
              - form.closure @ form.reactions)
    size = 1.0 / np.sqrt(np.maximum(np.diag(form.stiffness), np.diag(form.mass)))
    A, b = size[:, None] * form.actuation, size * needed
    small = LEAST_EFFORT * np.linalg.norm(A, 2)
    m = A.shape[1]
    found = lsq_linear(np.vstack([A, small * np.eye(m)]), np.append(b, np.zeros(m)), (
        np.broadcast_to(least, m), np.broadcast_to(most, m)), method='bvls')
    return Efforts(found.x, needed - form.actuation @ found.x)


def lagrangian(sim: Simulator) -> Lagrangian:
    """Return the equations of motion of a robot at its present instant."""
    return lagrangian_of(sim.equations())


def lagrangian_of(solver: AssemblySolver) -> Lagrangian:
    """
    Return the equations of motion of an assembly at its present instant.

    Driven coordinates are coordinates like any other, and limits are of no account. Where bodies
    are told how to move, what their motion adds is among `others`.
    """
    moves, loops, tree = solver.moves, solver.closing, solver.tree
    pulls = ~moves & (np.arange(solver.Z) < tree.effort + tree.drives.command.size)
    z, v, still = solver.z, solver.z_t, np.zeros(solver.Z)
    slack = np.where(moves, z, 0.0)  # without efforts, there is no dry friction in the slopes
    with solver.let_go():
        inertia, backward = (slopes(solver, slack, rates, still) for rates in (v, -v))
        tangent = solver.jacobian(z, v, still, 0.0, 0.0)[1][moves]
        r, weight = solver.residual(z, v, still)[moves], _weight(solver)[moves]
    here = np.ix_(moves, moves)
    K, D = elastic_stiffness(tree)[here], _viscous(tree)[here]
    M = inertia.mass[here]
    # The part that is odd in v: damping and drag have slopes that are even.
    C = 0.25 * (inertia.damping - backward.damping)[here] - 0.5 * M @ _bracket(solver)[here]
    known = Lagrangian(
        M, C, weight, K, tree.coordinates.rest[moves], D,
        -tangent[:, pulls], -tangent[:, loops], np.zeros(r.size), _whole_turns(solver)[moves],
        v[moves], z[pulls], z[loops], np.flatnonzero(moves))
    return known._replace(others=known.passive - known.actuation @ known.efforts
                          - known.closure @ known.reactions - r)


def _whole_turns(solver: AssemblySolver) -> np.ndarray:
    """Return z (Z,) with free turns from the attitude of rest, not from that of the last step."""
    tree, y = solver.tree, solver.z.copy()
    joints = tree.links.item[tree.links.kind == JOINT]
    turning = joints[tree.joints.turns[joints] == FREELY]
    for j, turn in zip(turning, solver.free_turns.reshape(-1, 3)):
        y[turn] = log_so3(exp_so3(y[turn]) @ tree.joints.reference[j])
    return y


def _weight(solver: AssemblySolver) -> np.ndarray:
    """Return what gravity adds to the equations, (Z,)."""
    gravity, still = solver.tree.gravity, np.zeros(solver.Z)
    kept = gravity.copy()
    r = solver.residual(solver.z, still, still)
    gravity[:] = 0.0
    r -= solver.residual(solver.z, still, still)
    gravity[:] = kept
    return r


def _viscous(tree: Tree) -> np.ndarray:
    """Return the constant damping of rods and joints, (Z, Z)."""
    links, D = tree.links, np.diag(tree.coordinates.damping)
    for link in np.flatnonzero(links.kind == ELEMENT).tolist():
        first, n = int(links.first[link]), int(links.freedom[link])
        at, here = int(tree.elements.first[links.item[link], VISCOUS]), slice(first, first + n)
        D[here, here] += tree.elements.data[at:at + n * n].reshape(n, n)
    return D


def _bracket(solver: AssemblySolver) -> np.ndarray:
    """Return the vector product with the rates of free turns, (Z, Z); 0 elsewhere."""
    B = np.zeros((solver.Z, solver.Z))
    for turn in solver.free_turns.reshape(-1, 3):
        B[np.ix_(turn, turn)] = hat(solver.z_t[turn])
    return B
