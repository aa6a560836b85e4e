"""
Ways from a shape and an actuation to the targets.

`Search.approach` is Newton's method on equations and task as one system, steps from the quadratic
program. Between linearisations it goes on by the last one while that contracts, and it is held by
Deuflhard's natural monotonicity test: the next step must be shorter than this one. It passes where
the tangent is singular, as that of a platform whose legs buckle, and it takes few evaluations; but
it finds only targets that can be met.

`Search.descend` is the method of Levenberg and Marquardt along equilibria: each step lowers the
merit, errors and effort, so that it ends at the best effort where a target is out of reach.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..numerics.kernels import Direct
from .limits import Limits, Measured
from .mechanics import Mechanics
from .quadratic import Linear, quadratic_step
from .task import Task

REACH = 2.0         # [rad] of bending over the length, in one step
KEEP = 0.25         # of a step, that the next one may be for the linearisation to be kept
EXACT = 1e-11       # strain, or part of the robot's length, at which there is nothing left to do
PULLED = 0.03       # step, as strain, above which actuation is pulled to the least effort
SHORTEST = 1e-2     # part of a step that is tried
MOST = 40           # steps of an approach
SLUGGISH = 1e-3     # damping for targets that are out of reach

MOST_DOWN = 80      # steps of a descent
REACH_DOWN = 1.0    # as REACH
CONTRACTION = 0.5   # of a step down, that the way back to equilibrium may be
NEAR = 1e-2         # step down, as strain, after which a linearisation is good for the next
PENALTY = 100.0     # of violated limits of commands, in the merit
STIFFEST = 1e8      # lam, at which there is no way down

_quadratic_step = Direct(quadratic_step)


class Phase(NamedTuple):
    """What counts beside the task."""

    mu: float           # weight of effort
    pulled: bool        # towards u_0; else towards where it is
    enough: float       # part of the merit, below which gains are left to the next phase


def phases(damping: float) -> list[Phase]:
    """Return how effort gives way to the task."""
    least = damping ** 2
    if damping >= SLUGGISH:
        return [Phase(least, True, 1e-9)]
    return [Phase(SLUGGISH ** 2, True, 0.1), Phase(least, True, 1e-2), Phase(least, False, 1e-9)]


class Sizes(NamedTuple):
    """Of the actuation (m,)."""

    scale: np.ndarray     # bends by about a radian
    kind: np.ndarray      # the same, mean of all actuators of a kind
    commands: np.ndarray  # of measured commands, to that


class Point(NamedTuple):
    """A shape and an actuation, by a linearisation there or nearby."""

    z: np.ndarray
    u: np.ndarray
    settle: np.ndarray  # way to the equilibrium under u
    error: np.ndarray   # of the task, once settled
    linear: Linear
    measured: Measured
    stale: bool         # whether the linearisation is that of an earlier point


class Step(NamedTuple):
    """Where to go from a point."""

    x: np.ndarray       # change of u / scale
    dz: np.ndarray
    size: float         # as strain


class Search:
    """Searches for one task; `aim` is u_0, R what the platform's turn is counted from."""

    def __init__(self, mechanics: Mechanics, task: Task, limits: Limits, sizes: Sizes,
                 aim: np.ndarray, R: np.ndarray) -> None:
        self.mechanics, self.task, self.limits = mechanics, task, limits
        self.scale, self.kind, self.commands = sizes
        self.aim, self.R = aim, R
        self._pull, self._still = self.scale / self.kind, np.zeros(aim.size)
        self._weight = mechanics.scale ** 2
        self.iterations = 0

    # --- Points and steps ---

    def _linearised(self, z: np.ndarray, u: np.ndarray) -> Point | None:
        """Return the point with its own linearisation; None where the tangent is singular."""
        found = self.mechanics.linearise(z, u)
        if found is None:
            return None
        settle, slope = found[0], found[1] * self.scale[:, None]
        error, motion = self.task.errors_and_motion(z, self.R)
        normal, measured = self.limits.linearise(z, u, slope)
        linear = Linear(slope, motion, motion @ slope.T, normal)
        return Point(z, u, settle, error + motion @ settle, linear, measured, False)

    def _looked_at(self, z: np.ndarray, u: np.ndarray, before: Point) -> Point:
        """Return the point by the linearisation of one before, which costs little."""
        settle = self.mechanics.settling(z, u)
        error = self.task.errors(z, self.R) + before.linear.motion @ settle
        return Point(z, u, settle, error, before.linear, before.measured, True)

    def _away(self, u: np.ndarray, start: np.ndarray, phase: Phase) -> np.ndarray:
        return (u - (self.aim if phase.pulled else start)) / self.kind

    def _step(self, point: Point, phase: Phase, lam: float = 0.0) -> Step:
        """Solve the quadratic program."""
        pull = self._still
        if phase.pulled:
            pull = phase.mu * self._pull * self._away(point.u, point.u, phase)
        box, further = self.limits.gaps(point.measured, point.z, point.u, point.settle)
        return Step(*_quadratic_step(
            point.linear, box, further, point.u, point.error, point.settle,
            phase.mu * self._pull ** 2 + lam, pull, self.mechanics.scale))

    def _after(self, point: Point, step: Step, part: float) -> tuple[np.ndarray, np.ndarray]:
        u = point.u + part * step.x * self.scale
        return point.z + part * step.dz, np.clip(u, self.limits.least, self.limits.most)

    # --- Newton ---

    def approach(
        self, z: np.ndarray, u: np.ndarray, damping: float, pulled: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """
        Return shape and actuation, and whether it came to an end there.

        Far away the actuation is pulled to u_0; if not, it changes as little as it can.
        """
        phase, last = phases(damping)[0]._replace(pulled=pulled), phases(damping)[-1]
        point = self._linearised(z, u)
        trail: list[Step] = []
        while point is not None and self.iterations < MOST:
            if not point.stale:
                step, trail = self._step(point, phase), []
            if not math.isfinite(step.size):
                break
            self.iterations += 1
            ahead = self._ahead(point, step, phase)
            if ahead is None:  # by an old linearisation, that is not the last word
                point = self._linearised(point.z, point.u) if point.stale else None
                continue
            point, after, part = ahead
            contraction = after.size / step.size if step.size > 0.0 else 0.0
            trail.append(step)
            if phase is not last and after.size < PULLED:
                phase, trail = last, []
                after, contraction = self._step(point, phase), KEEP
            step = self._improved(after, trail)
            if phase is last and step.size * contraction < EXACT:
                return *self._after(point, step, 1.0), True
            if part < 1.0 or contraction > KEEP:
                point = self._linearised(point.z, point.u)
        return z, u, False

    def _improved(self, step: Step, trail: list[Step]) -> Step:
        """
        Return a step corrected by what those before it have shown of the tangent.

        The trail is of whole steps since the linearisation: Broyden's update, the good one
        (Deuflhard 2011, Newton Methods for Nonlinear Problems, section 2.1.4).
        """
        x, dz = step.x, step.dz
        for i, before in enumerate(trail):
            weighted = self._weight * before.dz
            along = float((weighted @ dz) / (weighted @ before.dz))
            if i + 1 < len(trail):
                x, dz = x + along * trail[i + 1].x, dz + along * trail[i + 1].dz
            elif abs(along) < 0.5:
                x, dz = x / (1.0 - along), dz / (1.0 - along)
        return Step(x, dz, self.mechanics.strain(dz))

    def _ahead(
        self, point: Point, step: Step, phase: Phase,
    ) -> tuple[Point, Step, float] | None:
        """Return the point after a part of a step, the next step by the same tangent, the part."""
        longest = part = min(1.0, REACH / step.size) if step.size > 0.0 else 1.0
        while part > SHORTEST * longest:
            ahead = self._looked_at(*self._after(point, step, part), point)
            after = self._step(ahead, phase)
            if after.size <= (1.0 - 0.25 * part) * step.size or step.size < EXACT:
                return ahead, after, part
            if point.stale:
                return None
            part *= 0.5
        return None

    # --- Levenberg and Marquardt ---

    def descend(
        self, z: np.ndarray, u: np.ndarray, damping: float,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return shape and actuation, and whether nothing better is near."""
        point, lam, done, taken = self._linearised(z, u), 0.0, False, 0
        for phase in phases(damping):
            done = False
            while point is not None and taken < MOST_DOWN and not done:
                step = self._step(point, phase, lam)
                merit, gain = self._gain(point, step, phase)
                done = (gain <= phase.enough * merit or lam > STIFFEST
                        or not phase.pulled and float(np.abs(point.error).max()) < EXACT)
                if done:
                    break
                taken += 1
                after, ratio = self._down(point, step, phase, merit, gain)
                if after is None and point.stale:
                    point = self._linearised(point.z, point.u)
                elif after is None:
                    lam = max(8.0 * lam, 1e-4)
                else:
                    lam = 0.0 if lam < 1e-8 else lam * (0.1 if ratio > 0.5 else 1.0)
                    point = after
        self.iterations += taken
        if point is None:
            return z, u, False
        return point.z + point.settle, point.u, done

    def _gain(self, point: Point, step: Step, phase: Phase) -> tuple[float, float]:
        """Return the merit of a point, and what a step is to gain."""
        away = self._away(point.u, point.u, phase)
        merit = _merit(point.error, away, phase)
        merit += PENALTY * self.limits.violation(point.z, point.u, self.commands)
        after = point.error + point.linear.J @ step.x
        return merit, merit - _merit(after, away + self._pull * step.x, phase)

    def _down(
        self, point: Point, step: Step, phase: Phase, merit: float, gain: float,
    ) -> tuple[Point | None, float]:
        """Return the point after a step, or None if it is no better, and the part of the gain."""
        part = min(1.0, REACH_DOWN / step.size) if step.size > 0.0 else 1.0
        z, u = self._after(point, step, part)
        settle = self.mechanics.settling(z, u)
        back = self.mechanics.strain(settle)
        if not back <= max(CONTRACTION * part * step.size, 1e-9):
            return None, 0.0
        z = z + settle
        if back > 1e-3:
            z = z + self.mechanics.settling(z, u)
        error = self.task.errors(z, self.R)
        new = _merit(error, self._away(u, point.u, phase), phase)
        new += PENALTY * self.limits.violation(z, u, self.commands)
        ratio = (merit - new) / (part * gain)
        if not ratio > 1e-4:
            return None, ratio
        if part * step.size < NEAR:
            return point._replace(
                z=z, u=u, settle=self.mechanics.still, error=error, stale=True), ratio
        return self._linearised(z, u), ratio


def _merit(error: np.ndarray, away: np.ndarray, phase: Phase) -> float:
    return float(error @ error + phase.mu * (away @ away))
