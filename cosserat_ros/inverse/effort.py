r"""
The least effort among the actuations that meet the targets, near one that does.

With x = du / scale, effort ``f = |(u - u_0) / kind|^2 / 2`` and the task's error e(x) along
equilibria, this is sequential quadratic programming on ``e(x) = 0`` within limits ``C x >= b``,

    minimise  grad f . x + x H x / 2   where  J x = 0,  C x >= b,     J = de/dx,

after each step of which the targets are met anew (a feasible path; Gill, Murray and Wright 1981,
Practical Optimization, chapter 6), and the step is cut until the effort is less. H is that of the
Lagrangian ``f + lambda e - mu c``, c the limits, where the program may go: on the null space of J
and of the limits that press, by differences of J and of their normals along it, elsewhere that of
f. Far away f's alone serves. So co-contraction of antagonists, which no target asks for, is gone
in a step or two.

It ends where the program gains next to nothing: there the conditions of Karush, Kuhn and Tucker
hold. If H is positive definite on that null space, no less effort is near: that is proven then, to
the accuracy of the differences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.kernels import Direct
from .quadratic import firm, least_on, multipliers, null_space
from .search import phases, Point, Search, Step

STEPS = 30           # of a descent
SHARPEST = 1.0       # [rad] of bending over the length, in one step
CUT, CUTS = 0.35, 5  # of a step that does not gain, and how often
FAR = 0.1            # part of the effort, that a step is to gain where its own curvature serves
STATIONARY = 1e-5    # the same, at which nothing is to be gained
EFFORTLESS = 1e-9    # effort, as rad^2, that is as good as none
ALIKE = 0.2          # actuation, as radians of bending, by which answers on the way are one
SLOPE = 1e-4         # part of what the slope promises, that a step must gain
RESTORED, RESTORES = 1e-7, 10  # strain to the targets, at which they are met on the way; and steps
ANEW = 2             # tangents that this may take
CONTRACTION = 0.7    # of these steps
HELD = 1e-9          # of x, within which a limit holds
DIFFERENCE = 1e-4    # of x, over which slopes are differenced
FIRM = 1e-3          # least curvature, over that of the effort, that proves an optimum
BENT = 0.1           # least curvature, over that of the effort, that a step is made with

_firm, _least_on, _multipliers, _null_space = (
    Direct(each) for each in (firm, least_on, multipliers, null_space))


@dataclass(frozen=True)
class Optimum:
    """Where a descent ended."""

    z: np.ndarray
    u: np.ndarray
    effort: float
    proven: bool    # whether no less effort is near
    steps: int
    known: bool = False  # whether it came to what is known, and went no further


class Descent:
    """Descends along the actuations that meet the targets of a search."""

    def __init__(self, search: Search, damping: float) -> None:
        self._search, self._stay = search, phases(damping)[-1]
        self._curvature = (search.scale / search.kind) ** 2

    def effort(self, u: np.ndarray) -> float:
        """Return f."""
        away = (u - self._search.aim) / self._search.kind
        return 0.5 * float(away @ away)

    def alike(self, u: np.ndarray, known: np.ndarray | None) -> bool:
        """Return whether an actuation is next to a known one."""
        return known is not None and bool(
            np.abs((u - known) / self._search.kind).max() < ALIKE)

    def descend(
        self, z: np.ndarray, u: np.ndarray, known: np.ndarray | None = None,
    ) -> Optimum:
        """
        Return what is found from a shape and an actuation that meet the targets.

        It ends where it comes to an actuation that is known.
        """
        steps, proven, last = 0, False, None
        new: tuple[np.ndarray, np.ndarray] | None = (z, u)
        while new is not None and steps < STEPS:
            if self.alike(new[1], known):
                return Optimum(*new, self.effort(new[1]), False, steps, True)
            point = self._search._linearised(*new)
            if point is None:
                break
            steps, last = steps + 1, point
            x, gain, proven = self._step(point)
            if proven or gain <= STATIONARY * max(self.effort(point.u), EFFORTLESS):
                break
            new = self._after(point, x)
        if last is None:
            return Optimum(z, u, self.effort(u), False, 0)
        return Optimum(last.z + last.settle, last.u, self.effort(last.u), proven, steps)

    # --- The quadratic program ---

    def _step(self, point: Point) -> tuple[np.ndarray, float, bool]:
        """Return a step, what it is to gain, and whether there is nothing to gain nearby."""
        C, b = self._sides(point)
        J, effort = point.linear.J, max(self.effort(point.u), EFFORTLESS)
        g = (point.u - self._search.aim) * self._search.scale / self._search.kind ** 2
        N, H, lowest = _null_space(J), np.diag(self._curvature), np.inf
        x, gain, found = _least_on(H, g, N, C, b)
        if not found or gain > FAR * effort:
            return x, gain if found else 0.0, False
        task_pull, pull = _multipliers(g + H @ x, J, C, C @ x - b < HELD)
        basis = _null_space(np.concatenate([J, C[pull > 0.0]]))
        if basis.shape[1]:
            W = self._second(point, task_pull, pull, basis)
            if W is None:
                return x, gain, False
            least = float(self._curvature.min())
            H, lowest, way = _firm(self._curvature, W, basis, BENT * least)
            lowest /= least
            x, gain, found = _least_on(H, g, N, C, b)
            if not found:
                return x, 0.0, False
            if gain <= STATIONARY * effort and lowest < FIRM:  # a saddle: down on one side
                aside = np.sqrt(2.0 * FAR * effort / (max(-lowest, 1.0) * least)) * way
                return -aside if aside @ g > 0.0 else aside, FAR * effort, False
        return x, gain, lowest >= FIRM and gain <= STATIONARY * effort

    def _sides(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """Return C and b of the limits."""
        box, further = self._search.limits.gaps(
            point.measured, point.z, point.u, point.settle)
        sides = np.concatenate([
            (box.least - point.u) / box.scale, (point.u - box.most) / box.scale, further])
        return point.linear.normal, np.minimum(sides, 0.0)

    def _second(
        self, point: Point, multipliers: np.ndarray, pull: np.ndarray, basis: np.ndarray,
    ) -> np.ndarray | None:
        """
        Return the Lagrangian's second derivatives on a basis (m, n), (n, n).

        `multipliers` are those of the task, `pull` those of limits, 0 where they do not press.
        """
        W = basis.T @ (self._curvature[:, None] * basis)
        z, slope, scale = point.z + point.settle, point.linear.slope, self._search.scale
        for i, way in enumerate(DIFFERENCE * basis.T):
            side = self._search._linearised(z + way @ slope, point.u + scale * way)
            if side is None:
                return None
            bent = multipliers @ (side.linear.J - point.linear.J)
            if pull.any():
                bent -= pull @ (_in_scale_of(point, side) - point.linear.normal)
            W[i] += bent @ basis / DIFFERENCE
        return 0.5 * (W + W.T)

    # --- The way back to the targets ---

    def _after(self, point: Point, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return shape and actuation after a step, or a part of it, that have less effort.

        None if there are none.
        """
        search, effort = self._search, self.effort(point.u)
        dz = x @ point.linear.slope
        size = search.mechanics.strain(dz)
        part = min(1.0, SHARPEST / size) if size > 0.0 else 1.0
        promised = float((point.u - search.aim) / search.kind ** 2 @ (search.scale * x))
        for _ in range(CUTS):
            new = self._restored(point, search._after(point, Step(x, dz, size), part))
            if new is not None and (
                    self.effort(new[1]) < effort + SLOPE * part * min(promised, 0.0)):
                return new
            part *= CUT
        return None

    def _restored(
        self, point: Point, there: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return shape and actuation near some, that meet the targets.

        By a point's tangent while that contracts, else by new ones.
        """
        search, before, anew = self._search, np.inf, ANEW
        at: Point | None = search._looked_at(*there, point)
        for _ in range(RESTORES):
            if at is None:
                return None
            step = search._step(at, self._stay)
            if step.size < CONTRACTION * before:
                before, there = step.size, search._after(at, step, 1.0)
                if step.size < RESTORED:
                    return there
                at = search._looked_at(*there, at)
            elif at.stale and anew and np.isfinite(before):
                anew -= 1
                at = search._linearised(at.z, at.u)
            else:
                return None
        return None


def _in_scale_of(point: Point, side: Point) -> np.ndarray:
    """Return the normals of limits at another point, those of commands as large as at this one."""
    normal, m = side.linear.normal.copy(), side.u.size
    normal[2 * m:] *= np.tile(side.measured.size / point.measured.size, 2)[:, None]
    return normal
