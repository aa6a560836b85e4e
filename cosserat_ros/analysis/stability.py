r"""
Whether an equilibrium is stable, how nearly it is not, and what would go.

An equilibrium is stable if its potential energy is least there among all neighbours that the
constraints allow: if the stiffness ``K_r = N^T K N`` of the independent coordinates, efforts and
reactions removed as in `analysis.linearize`, is positive definite. Reactions count in K
by the curvature of what they hold: that is what buckles a rod between two clamps. Whether efforts
are given matters too: a tendon of given length, or gas of given amount, adds a stiffness that is
never negative, and one of given effort does not.

K_r is measured by what it is without load, ``E_r``: that of strains and closed drives alone. The
least eigenvalue of ``K_r v = margin E_r v`` is 1 at rest, 0 where the equilibrium is lost, and
independent of the choice of coordinates. An Euler column has margin = 1 - P / P_critical.

Of dry friction a bristle that is bent less than its limit is a spring. One at its limit yields if
it is pushed on and is a spring if it is pushed back: here it yields whichever way, which is the
least that friction can do (Hill's criterion). A positive margin then holds for every way to be
pushed, and a negative one may be too strict, if those that yield would not all go the same way.

Moments along fixed axes have no potential in space, and K_r is then not symmetric. Its symmetric
part is judged: a positive margin still excludes that the robot diverges, but not that it
flutters, for which see the eigenvalues of `linearize`; a negative one may be too strict. The
`asymmetry` tells how far this goes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..assembly.momentum import elastic_stiffness
from ..assembly.solver import AssemblySolver
from ..rod.kinematics import kinematics
from ..simulation.simulator import Simulator
from .linearize import (
    constrained,
    reduced,
    Slopes,
    slopes,
    without_soft_efforts,
)
from .sensitivity import singular_states_named

LOOSE = 1e-9  # part of the inertia that stands in for stiffness where a robot at rest has none


class Stability(NamedTuple):
    """Of an equilibrium."""

    stable: bool
    margin: float             # least eigenvalue of the stiffness over that without load [-];
    #                           infinite where there is none without load: a pendulum
    ways: int                 # to fall: negative eigenvalues
    squared_frequency: float  # least eigenvalue of the stiffness over the inertia [rad^2/s^2]
    mode: np.ndarray          # (unknowns,) change of the coordinates that would go first
    asymmetry: float          # of the stiffness, over that without load; 0: has a potential [-]


def assess(solver: AssemblySolver) -> Stability:
    """
    Return the stability of an assembly's present state, an equilibrium of what acts on it.

    Raises
    ------
    SingularState
        If it cannot be judged.

    """
    still, yields = np.zeros(solver.z.size), solver.tree.laws.yields
    yields[0] = True
    try:
        return _assessed(solver, slopes(solver, solver.z, still, still))
    finally:
        yields[0] = False


def stability(sim: Simulator) -> Stability:
    """
    Return the stability of a robot where `Simulator.statics` has brought it.

    A base that floats is held where it is, as it is in statics.

    Raises
    ------
    SingularState
        If it cannot be judged.

    """
    return sim.base.held(lambda: assess(sim.equations()))()


def stands(K: np.ndarray, moves: np.ndarray, held: np.ndarray) -> bool:
    """
    Return whether an equilibrium with the static tangent K is stable: `assess`, in short.

    Parameters
    ----------
    K : (unknowns, unknowns) array
    moves, held : (unknowns,) bool arrays
        Which unknowns are coordinates, and which of these are driven or at a limit.

    """
    try:
        K_r = constrained(K, moves, held)
        np.linalg.cholesky(0.5 * (K_r + K_r.T))
    except np.linalg.LinAlgError:
        return False
    return True


@singular_states_named()
def _assessed(solver: AssemblySolver, tangents: Slopes) -> Stability:
    """Return the stability by tangents; E is of closed drives and of all that is elastic."""
    part = reduced(tangents, solver.moves)
    K = 0.5 * (part.stiffness + part.stiffness.T)
    N = part.basis[solver.moves]
    E = N.T @ _unloaded(solver.moves, tangents.stiffness, elastic_stiffness(solver.tree)) @ N
    E = 0.5 * (E + E.T)
    root = _inverse_root(E)
    values, modes = np.linalg.eigh(root.T @ K @ root)
    skew = root.T @ (part.stiffness - K) @ root
    margin = values[0] if E.any() else np.copysign(np.inf, values[0])
    return Stability(
        bool(values[0] > 0.0), float(margin), int(np.sum(values < 0.0)),
        float(part.squares[0]), part.basis @ root @ modes[:, 0], float(np.linalg.norm(skew, 2)))


def _unloaded(moves: np.ndarray, closed: np.ndarray, elastic: np.ndarray) -> np.ndarray:
    """Return the stiffness of what is elastic and of closed drives alone, of the coordinates."""
    here, bare = np.ix_(moves, moves), closed.copy()
    bare[here] = elastic[here]
    return without_soft_efforts(bare, moves, np.zeros((moves.size, 0)))[0]


def _inverse_root(E: np.ndarray) -> np.ndarray:
    """Return T with T^T E T = 1; a little inertia, here 1, is added where E is singular."""
    try:
        L = np.linalg.cholesky(E)
    except np.linalg.LinAlgError:
        little = LOOSE * np.trace(E) / len(E)
        L = np.linalg.cholesky(E + (little or 1.0) * np.eye(len(E)))
    return np.linalg.inv(L).T


def displacements(sim: Simulator, mode: np.ndarray) -> dict[str, np.ndarray]:
    """
    Return how a change of the unknowns moves the stations of all rods, seen from base_link.

    Parameters
    ----------
    sim : Simulator
    mode : (unknowns,) array
        For example `Stability.mode`.

    Returns
    -------
    displacements : dict of str to (stations, 3) array
        By rod; the largest of all has length 1.

    """
    moved, axes = {}, sim.base.pose()[:3, :3]
    for i, name in enumerate(sim.model.names):
        base = sim.solver.base_at(i, sim.solver.z, mode)
        at = sim.solver.q_places[i]
        x = kinematics(
            sim.solver.rods[i], base, sim.solver.z[at], mode[at], np.zeros(at.size))
        moved[name] = sim.stations[i].shape(
            x._replace(p=x.p_t, p_end=x.p_end_t), base.R, base.p_t).poses[:, :3, 3] @ axes
    largest = max(np.linalg.norm(rod, axis=1).max() for rod in moved.values())
    return {name: rod / (largest or 1.0) for name, rod in moved.items()}
