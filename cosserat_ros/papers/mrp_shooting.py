r"""
Shooting and multiple shooting of Surmont & Coache: statics of rods, joints and rigid bodies.

A rod's state is phi = (r, sigma, n, m): position, modified Rodrigues parameters, and force and
moment in the section's frame. From a guess of what the joint at its start leaves open, X, it is
integrated to the other end (eq. 31), where the joint there holds six quantities, Y (table 1);
Newton's method makes them as they should be. Rods may be cut into pieces (eqs. 39 to 44), and may
start and end on rigid bodies, whose poses are unknown and whose loads are in balance (eq. 45).

Where the paper is not followed to the letter:

* Eq. 23 prints v x n where u x n is meant (eqs. 10 and 31). Eq. 16, and with it the order of
  eq. 34, is world to body; here rotations are body to world.
* The integration's error is held step by step, and relative where a quantity is larger than 1:
  an absolute one of 1e-12 is less than rounding where moments are 40 kN m (section 4.5).
* Loads at an end are those on the rod: n(L) and -n(0). In table 1 they are n at both ends.
* Row (g), a line on a plane, holds sigma_y = 0 as printed, which is that joint only as long as one
  of its two turns is small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..checks.errors import UnknownName
from ..numerics.lie import (
    matrix_from_mrp,
    mrp_from_matrix,
    shadow_mrp,
    switch_mrp,
)
from .mrp_equations import rates, Sections

R, SIGMA, N, M = (slice(3 * i, 3 * i + 3) for i in range(4))  # of phi, and of a joint
GROUND = -1

# Runge-Kutta-Fehlberg 4(5): nodes, stages, weights of the fifth order, error of the fourth.
_NODES = 0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2
_STAGES = (
    (), (1 / 4,), (3 / 32, 9 / 32), (1932 / 2197, -7200 / 2197, 7296 / 2197),
    (439 / 216, -8.0, 3680 / 513, -845 / 4104),
    (-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40))
_FIFTH = 16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55
_ERROR = 1 / 360, 0.0, -128 / 4275, -2197 / 75240, 1 / 50, 2 / 55
LARGEST_STEP, SMALLEST_STEP = 0.25, 2e-4  # of a piece of a rod
SAFETY = 0.9                              # of the step that the error estimate allows
INCREMENT = 1e-7                          # of finite differences


# --- Table 1 -------------------------------------------------------------------------------------

def _free(*names: str) -> tuple[int, ...]:
    order = 'x y z sx sy sz nx ny nz mx my mz'.split()
    return tuple(order.index(name) for word in names for name in word.split())


_ALL = {'r': 'x y z', 'sigma': 'sx sy sz', 'n': 'nx ny nz', 'm': 'mx my mz'}
TABLE_1 = {
    'clamp': _free(_ALL['n'], _ALL['m']),
    'spherical': _free(_ALL['sigma'], _ALL['n']),
    'imposed_force': _free(_ALL['r'], _ALL['sigma']),
    'sphere_in_cylinder': _free('x', _ALL['sigma'], 'ny nz'),
    'prismatic': _free('x ny nz', _ALL['m']),
    'point_on_plane': _free('x y nz', _ALL['sigma']),
    'cylinder_on_plane': _free('x y sx sz nz my'),
    'pivot': _free('sx', _ALL['n'], 'my mz'),
    'sliding_pivot': _free('x sx ny nz my mz'),
    'plane_on_plane': _free('x y sz nz mx my'),
    'screw': _free('x ny nz', _ALL['m']),
    'spring': _free('x ny nz', _ALL['m']),
}
"""What each joint leaves open of relative position, turn, force and moment, in its own frame."""


@dataclass(frozen=True)
class End:
    """
    A joint between a rod's end and a rigid body, or the ground.

    Parameters
    ----------
    joint : str
        One of `TABLE_1`, with axis x; planes have the normal z.
    body : int
        Its number, or GROUND.
    r, R : (3,) and (3, 3) float
        Pose of the joint in the frame of the body [m].
    section : (3, 3) float
        Attitude of the rod's section in the joint, where that does not turn.
    force, moment : (3,) float
        On the rod, frame of the joint; of components that the joint leaves free to move.
    pitch : float
        Of a screw [m/rad].
    stiffness : float
        Of a spring [N/m].

    """

    joint: str
    body: int = GROUND
    r: np.ndarray = field(default_factory=lambda: np.zeros(3))
    R: np.ndarray = field(default_factory=lambda: np.eye(3))
    section: np.ndarray = field(default_factory=lambda: np.eye(3))
    force: np.ndarray = field(default_factory=lambda: np.zeros(3))
    moment: np.ndarray = field(default_factory=lambda: np.zeros(3))
    pitch: float = 0.0
    stiffness: float = 0.0

    def __post_init__(self) -> None:
        if self.joint not in TABLE_1:
            raise UnknownName('joint', self.joint, list(TABLE_1))

    @property
    def free(self) -> list[int]:
        """Places of X."""
        return list(TABLE_1[self.joint])

    @property
    def held(self) -> list[int]:
        """Places of Y."""
        return [i for i in range(12) if i not in TABLE_1[self.joint]]

    def told(self, relative: np.ndarray) -> np.ndarray:
        """Return what Y must be, (12,), with X as in `relative` (12,)."""
        y = np.concatenate([np.zeros(6), self.force, self.moment])
        if self.joint == 'screw':
            y[3], y[6] = np.tan(0.25 * relative[0] / self.pitch), -relative[9] / self.pitch
            shadow = shadow_mrp(y[SIGMA])
            if abs(shadow[0] - relative[3]) < abs(y[3] - relative[3]):
                y[SIGMA] = shadow  # of the two, which are one turn, the one to compare with
        elif self.joint == 'spring':
            y[6] = -self.stiffness * relative[0]
        return y


class MrpRod(NamedTuple):
    """A rod, its ends, and its properties along arc length [m]."""

    length: float                                     # [m]
    start: End
    end: End
    v0: np.ndarray                                    # (3,) strain at rest
    u0: np.ndarray                                    # (3,) curvature at rest [1/m]
    Qn: np.ndarray                                    # (3,) compliance, eq. 21 [1/N]
    Qm: np.ndarray                                    # (3,) eq. 22 [1/(N m^2)]
    force: Callable[[float], np.ndarray] | None = None   # f, per length, world frame [N/m]
    pieces: int = 1
    moment: Callable[[float], np.ndarray] | None = None  # l, likewise [N]


class MrpBody(NamedTuple):
    """A rigid body: where it is at first, and what acts on it, world frame."""

    r: np.ndarray       # (3,) [m]
    force: np.ndarray   # (3,) [N]
    moment: np.ndarray  # (3,) about r [N m]


class MrpSolution(NamedTuple):
    """A solution, or the last iterate."""

    converged: bool
    iterations: int
    residual: float
    Z: np.ndarray           # unknowns
    s: np.ndarray           # (K,) part of each piece at which the fields are known
    phi: list[np.ndarray]   # of each rod (pieces, K, 12)
    bodies: np.ndarray      # (B, 6) position and sigma of rigid bodies


# --- Integration ---------------------------------------------------------------------------------

class _Pieces(NamedTuple):
    """Pieces of rods, all integrated in a row (eqs. 43, 44)."""

    rods: list[MrpRod]
    first: np.ndarray   # (P,) where each begins [m]
    length: np.ndarray  # (P,) [m]

    def sections(self, part: float) -> Sections:
        """Return all pieces at a part of each."""
        force, moment = (np.array([np.zeros(3) if load is None else load(s) for load, s in zip(
            loads, self.first + part * self.length)], dtype=float) for loads in (
                [rod.force for rod in self.rods], [rod.moment for rod in self.rods]))
        v0, u0, Qn, Qm = (np.array([getattr(rod, name) for rod in self.rods], dtype=float)
                          for name in ('v0', 'u0', 'Qn', 'Qm'))
        return Sections(self.length, v0, u0, Qn, Qm, force, moment)

    def shoot(
        self, which: np.ndarray, phi: np.ndarray, accuracy: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return what integration of states (Q, 12) passes: parts (K,), states (K, Q, 12).

        `which` (Q,) is the piece of each; the first of each piece decide on the step. sigma or its
        shadow is taken, whichever is smaller, after each step (figure 2).
        """
        leads = np.unique(which, return_index=True)[1]
        part, step, parts, states = 0.0, LARGEST_STEP, [0.0], [phi]
        while part < 1.0:
            step = min(step, 1.0 - part)
            k = np.empty((len(_NODES), *phi.shape))
            for i, (node, stage) in enumerate(zip(_NODES, _STAGES)):
                rates(self.sections(part + node * step), which,
                      phi + step * np.tensordot(stage, k[:i], 1), k[i])
            error = step * np.abs(np.tensordot(_ERROR, k[:, leads], 1)) / np.maximum(
                1.0, np.abs(phi[leads]))
            room = accuracy / max(error.max(), 1e-300) if np.isfinite(error).all() else 0.0
            if room >= 1.0 or step <= SMALLEST_STEP:
                part, phi = part + step, phi + step * np.tensordot(_FIFTH, k, 1)
                for row in phi:
                    row[SIGMA] = switch_mrp(row[SIGMA])
                parts.append(part)
                states.append(phi)
            step = max(SMALLEST_STEP, min(
                LARGEST_STEP, step * min(4.0, max(0.1, SAFETY * room ** 0.2))))
        return np.array(parts), np.array(states)


# --- Ends ----------------------------------------------------------------------------------------

def _frame(end: End, bodies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return position and attitude of a joint in the world."""
    if end.body == GROUND:
        return end.r, end.R
    turn = matrix_from_mrp(bodies[end.body, SIGMA])
    return bodies[end.body, R] + turn @ end.r, turn @ end.R


def state_at(end: End, X: np.ndarray, bodies: np.ndarray, side: float) -> np.ndarray:
    """Return phi (12,) at an end from what its joint leaves open: gamma of eq. 25."""
    relative = np.zeros(12)
    relative[end.free] = X
    relative[end.held] = end.told(relative)[end.held]
    p, turn = _frame(end, bodies)
    attitude = turn @ matrix_from_mrp(relative[SIGMA]) @ end.section
    load = attitude.T @ turn * side
    return np.concatenate([
        p + turn @ relative[R], mrp_from_matrix(attitude), load @ relative[N],
        load @ relative[M]])


def relative_at(end: End, phi: np.ndarray, bodies: np.ndarray, side: float) -> np.ndarray:
    """Return all (12,) that a joint may leave open or hold, in its own frame (eqs. 26, 27)."""
    p, turn = _frame(end, bodies)
    attitude = matrix_from_mrp(np.ascontiguousarray(phi[SIGMA]))
    relative = np.ascontiguousarray(turn.T @ attitude @ end.section.T)
    load = side * turn.T @ attitude
    return np.concatenate([
        turn.T @ (phi[R] - p), mrp_from_matrix(relative), load @ phi[N], load @ phi[M]])


class MrpAssembly:
    """
    Rods with joints at their ends, on the ground or on rigid bodies.

    Parameters
    ----------
    rods : sequence of MrpRod
    bodies : sequence of MrpBody
    tolerance : float
        Of Newton's method, of the norm of all constraints.
    accuracy : float
        Of each step of the integration; absolute up to 1, beyond that relative.

    """

    def __init__(
        self, rods: Sequence[MrpRod], bodies: Sequence[MrpBody] = (), tolerance: float = 1e-8,
        accuracy: float = 1e-12,
    ) -> None:
        self.rods, self.bodies = list(rods), list(bodies)
        self.tolerance, self.accuracy = tolerance, accuracy
        cuts = [np.linspace(0.0, rod.length, rod.pieces + 1) for rod in self.rods]
        self._pieces = _Pieces(
            [rod for rod in self.rods for _ in range(rod.pieces)],
            np.concatenate([cut[:-1] for cut in cuts]), np.concatenate([np.diff(c) for c in cuts]))
        self._first = np.cumsum([0, *(rod.pieces for rod in self.rods)])

    # Unknowns Z: of each rod X of its start, then phi of its further pieces; then all bodies.

    def guess(self) -> np.ndarray:
        """Return unknowns for rods without load, straight or as at rest."""
        bodies, parts = np.array([[*b.r, 0.0, 0.0, 0.0] for b in self.bodies]).reshape(-1, 6), []
        for rod in self.rods:
            at = state_at(rod.start, np.zeros(6), bodies, -1.0)
            parts.append(relative_at(rod.start, at, bodies, -1.0)[rod.start.free])
            for k in range(rod.pieces - 1):
                one = _Pieces([rod], np.array([0.0]), np.array([
                    (k + 1) * rod.length / rod.pieces]))
                parts.append(one.shoot(np.zeros(1, dtype=np.int64), at[None], 1e-6)[1][-1, 0])
        return np.concatenate([*parts, bodies.ravel()])

    def _starts(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return phi (P, 12) at the start of all pieces, and the bodies (B, 6)."""
        bodies = Z[Z.size - 6 * len(self.bodies):].reshape(-1, 6)
        starts, at = [], 0
        for rod in self.rods:
            starts.append(state_at(rod.start, Z[at:at + 6], bodies, -1.0))
            at += 6
            for _ in range(rod.pieces - 1):  # (39)
                starts.append(Z[at:at + 12])
                at += 12
        return np.array(starts), bodies

    def _constraints(
        self, starts: np.ndarray, ends: np.ndarray, bodies: np.ndarray,
    ) -> np.ndarray:
        """Return C (41), and the balance of bodies (45)."""
        rows, balance = [], np.array([
            [*b.force, *b.moment] for b in self.bodies]).reshape(-1, 6)
        for rod, first, last in zip(self.rods, self._first[:-1], self._first[1:]):
            for p in range(first, last - 1):
                gap = ends[p] - starts[p + 1]
                here, there = (matrix_from_mrp(np.ascontiguousarray(phi[SIGMA]))
                               for phi in (ends[p], starts[p + 1]))
                gap[SIGMA] = mrp_from_matrix(np.ascontiguousarray(there.T @ here))  # (33)
                rows.append(gap)
            relative = relative_at(rod.end, ends[last - 1], bodies, 1.0)
            rows.append((relative - rod.end.told(relative))[rod.end.held])  # (32)
            for end, phi, side in (
                    (rod.start, starts[first], -1.0), (rod.end, ends[last - 1], 1.0)):
                if end.body != GROUND:
                    turn = matrix_from_mrp(np.ascontiguousarray(phi[SIGMA]))
                    force = side * turn @ phi[N]
                    balance[end.body, :3] -= force
                    balance[end.body, 3:] -= side * turn @ phi[M] + np.cross(
                        phi[R] - bodies[end.body, R], force)
        return np.concatenate([*rows, balance.ravel()])

    def _shoot(self, guesses: np.ndarray) -> tuple[
            np.ndarray, np.ndarray, list[np.ndarray], np.ndarray]:
        """Return constraints (C, Z) of many unknowns (C, Z), and the states of the first."""
        starts, bodies = zip(*(self._starts(Z) for Z in guesses))
        all_starts = np.array(starts)
        # Most unknowns change the start of one piece or two: the others end as the first did.
        moved = (all_starts != all_starts[0]).any(axis=2)
        moved[0] = True
        guess, which = np.nonzero(moved)
        parts, states = self._pieces.shoot(which, all_starts[moved], self.accuracy)
        count = len(self._pieces.rods)
        ends = np.tile(states[-1, :count], (len(guesses), 1, 1))
        ends[guess, which] = states[-1]
        constraints = np.array([
            self._constraints(*all_of) for all_of in zip(starts, ends, bodies)])
        along = states[:, :count].transpose(1, 0, 2)
        return constraints, parts, [
            along[a:b] for a, b in zip(self._first[:-1], self._first[1:])], bodies[0]

    def solve(self, guess: np.ndarray | None = None, most: int = 50) -> MrpSolution:
        """
        Return the solution by Newton's method.

        The Jacobian is by finite differences, inverted by its singular values (section 3.1).
        An iteration is a solve with the Jacobian; what is converged at once takes none.
        """
        Z = self.guess() if guess is None else np.array(guess, dtype=float)
        for iteration in range(most + 1):
            steps = INCREMENT * np.maximum(1.0, np.abs(Z))
            C, parts, phi, bodies = self._shoot(np.vstack([Z, Z + np.diag(steps)]))
            residual = float(np.linalg.norm(C[0]))
            if not residual > self.tolerance or iteration == most or not np.isfinite(C).all():
                break
            Z = self._switched(
                Z - np.linalg.lstsq((C[1:] - C[0]).T / steps, C[0], rcond=1e-14)[0])
        return MrpSolution(
            residual <= self.tolerance, iteration, residual, Z, parts, phi, bodies)

    def _switched(self, Z: np.ndarray) -> np.ndarray:
        """Return unknowns with rotations of starts, pieces and bodies within the unit ball."""
        Z, at, places = Z.copy(), 0, [Z.size - 6 * k - 3 for k in range(len(self.bodies))]
        for rod in self.rods:
            sigma = np.zeros(12)  # what a joint holds of it is zero, also in the shadow
            sigma[rod.start.free] = Z[at:at + 6]
            sigma[SIGMA] = switch_mrp(sigma[SIGMA])
            Z[at:at + 6] = sigma[rod.start.free]
            places.extend(at + 6 + 12 * k + 3 for k in range(rod.pieces - 1))
            at += 6 + 12 * (rod.pieces - 1)
        for place in places:
            Z[place:place + 3] = switch_mrp(np.ascontiguousarray(Z[place:place + 3]))
        return Z
