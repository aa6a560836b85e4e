r"""
The hybrid algorithm of Porez 2014: trees of rigid bodies on a base that moves freely.

Of each joint either the acceleration is told and the torque found, or the other way round. Three
recursions do it: forward for velocities, backward for the inertia and force that each body shows
to the one before it, forward for accelerations and torques. Twists are (V, Omega), linear part
first, of a body's frame in that frame, wrenches likewise; forces from outside are on the side of
inertia in eq. 6: they are minus what acts on a body.

Where the paper is not followed to the letter:

* Eq. 4 prints r_t A where r_tt A is meant; nu_j of the last recursion is zeta_j; the torque there
  lacks the transpose of A_j.
* An axis A_j may be any screw, not only a turn: eq. 5 is then the Lie bracket of the twist that a
  body gets from its antecedent with r_t A_j, which is what is printed if A_j is a turn. A joint
  with more coordinates is a chain of bodies without inertia, as in the wings of section IV.
* What acts on a body may have an inertia of its own, as in eq. 15; it then is symmetric, which
  the printed tensor of added mass is not (see `kirchhoff`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..numerics.lie import ad_se3, adjoint_se3, exp_se3, hat, inverse_se3


class Body(NamedTuple):
    """A body and the joint by which it moves on its antecedent; the first one is the base."""

    antecedent: int      # its number; of the base -1
    pose: np.ndarray     # (4, 4) of its frame in that of the antecedent, at r = 0
    axis: np.ndarray     # (6,) A_j, own frame
    inertia: np.ndarray  # (6, 6) eq. 7


class State(NamedTuple):
    """Pose and twist of the base, positions and rates of joints (of the base: unused)."""

    base: np.ndarray        # (4, 4)
    base_twist: np.ndarray  # (6,)
    r: np.ndarray           # (N + 1,) [rad, m]
    r_t: np.ndarray         # (N + 1,)


class Outcome(NamedTuple):
    """What the algorithm finds, all in the frames of bodies."""

    poses: np.ndarray   # (N + 1, 4, 4) eq. 1
    twists: np.ndarray  # (N + 1, 6) eq. 2
    rates: np.ndarray   # (N + 1, 6) of twists, eq. 4
    r_tt: np.ndarray    # (N + 1,) told or found
    tau: np.ndarray     # (N + 1,) told or found [N m, N]


Outside = Callable[[int, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From number, pose and twist of a body to M_a (6, 6) and f (6,): f_ext = M_a eta_t + f (15)."""


def rigid_inertia(mass: float, centre: np.ndarray, about_centre: np.ndarray) -> np.ndarray:
    """Return the inertia (6, 6) of a body about its frame (eq. 7)."""
    first = mass * hat(centre)
    return np.block([[mass * np.eye(3), -first],
                     [first, about_centre - first @ hat(centre)]])


def kirchhoff(M: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """
    Return beta (6,) = -ad^T M eta of Kirchhoff's equations, M eta_t + beta = wrench.

    Of a rigid body it is eq. 8. For added mass the paper's tensors hold m_a C^ where symmetry
    wants C^ m_a, and its beta_a is that of a scalar mass with V x M_a V added; this is the one
    whose power is the rate of the kinetic energy eta^T M eta / 2.
    """
    return -ad_se3(twist).T @ (M @ twist)


def weight(gravity: np.ndarray, inertia: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return f_g (6,) of a body, on the side of inertia."""
    return -inertia[:, :3] @ (pose[:3, :3].T @ gravity)


def hybrid(
    bodies: Sequence[Body], state: State, told: np.ndarray, given: np.ndarray,
    outside: Outside | None = None, base_rate: np.ndarray | None = None,
) -> Outcome:
    """
    Return accelerations and torques by the three recursions of section III.

    Parameters
    ----------
    bodies : sequence of Body
        Antecedents before their successors.
    state : State
    told : (N + 1,) bool
        b_j: whether the acceleration of a joint is told, and its torque found.
    given : (N + 1,) float
        That acceleration, or that torque.
    outside : callable, optional
        What acts on bodies; nothing if left out.
    base_rate : (6,) float, optional
        Rate of the base's twist, if it is told: 0 for a base that is held.

    """
    count = len(bodies)
    poses, twists, rates = np.empty((count, 4, 4)), np.empty((count, 6)), np.empty((count, 6))
    Ad, zeta = np.zeros((count, 6, 6)), np.zeros((count, 6))
    M, beta = np.empty((count, 6, 6)), np.empty((count, 6))

    for j, body in enumerate(bodies):  # III-B: eqs. 1, 2, 5, 8, 10, 11
        if j == 0:
            poses[j], twists[j] = state.base, state.base_twist
        else:
            i = body.antecedent
            relative = body.pose @ exp_se3(state.r[j] * body.axis)
            poses[j], Ad[j] = poses[i] @ relative, adjoint_se3(inverse_se3(relative))
            carried = Ad[j] @ twists[i]
            zeta[j] = ad_se3(carried) @ (state.r_t[j] * body.axis)
            twists[j] = carried + state.r_t[j] * body.axis
        M[j], beta[j] = body.inertia, kirchhoff(body.inertia, twists[j])
        if outside is not None:
            added, force = outside(j, poses[j], twists[j])
            M[j], beta[j] = M[j] + added, beta[j] + force

    H = np.zeros(count)
    for j in range(count - 1, 0, -1):  # III-C
        i, A = bodies[j].antecedent, bodies[j].axis
        if told[j]:
            K, alpha = M[j], M[j] @ (A * given[j] + zeta[j]) + beta[j]
        else:
            H[j] = A @ M[j] @ A
            MA = M[j] @ A / H[j]
            K = M[j] - np.outer(MA, A @ M[j])
            alpha = K @ zeta[j] + MA * (given[j] - A @ beta[j]) + beta[j]
        M[i] += Ad[j].T @ K @ Ad[j]
        beta[i] += Ad[j].T @ alpha
    rates[0] = -np.linalg.solve(M[0], beta[0]) if base_rate is None else base_rate  # eq. 9

    r_tt, tau = np.array(given, dtype=float), np.array(given, dtype=float)
    for j in range(1, count):  # III-D
        A = bodies[j].axis
        rates[j] = Ad[j] @ rates[bodies[j].antecedent] + zeta[j]
        if told[j]:
            rates[j] += A * r_tt[j]
            tau[j] = A @ (M[j] @ rates[j] + beta[j])
        else:
            r_tt[j] = (tau[j] - A @ (M[j] @ rates[j] + beta[j])) / H[j]
            rates[j] += A * r_tt[j]
    return Outcome(poses, twists, rates, r_tt, tau)
