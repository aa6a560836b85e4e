r"""
Newton's method on the residual of one rod: static equilibria, and steps in time.

Both are the same solve, ``Q(q, cV q + hV, cA q + hA) = 0``; statics has ``cV = cA = 0``. It stops
on the size of the update, measured as strain: the residual's own scale depends on stiffness.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .equations import Loads, residual, tangent
from .integrators import History, Rule, Scheme, SCHEMES
from .kernels import kernel
from .kinematics import Base, kinematics, State
from .strain import Discretisation

SLOW = 0.1  # of an update to the one before, above which the tangent is made anew
NEAR = 0.1  # update, as strain, below which a tangent is worth keeping
CONVERGED, RUNNING_OUT, NOT_FINITE = 0, 1, 2
_REASONS = {
    CONVERGED: '',
    RUNNING_OUT: 'Newton ran out of iterations',
    NOT_FINITE: 'Newton left the finite numbers',
}


class Solution(NamedTuple):
    """How a solve ended; `q` is finite in any case, the last good one if not converged."""

    q: np.ndarray       # (n,)
    converged: bool
    iterations: int
    update: float       # size of the last update, as strain [-]
    message: str        # why not; empty if converged


@kernel
def newton(d, base, loads, q0, cV, hV, cA, hA, scale, tolerance, most, reach, inverse, known):
    """
    Solve for q.

    Parameters
    ----------
    d : Discretisation
    base : Base
    loads : Loads
    q0 : (n,) float64
        Start.
    cV, cA : float
    hV, hA : (n,) float64
        Time rule.
    scale : (n,) float64
        Size of each coordinate as strain.
    tolerance, most : float, int
        Update at which to stop; iterations at which to give up.
    reach : float
        Largest update in one iteration: longer ones are shortened.
    inverse : (n, n) float64
        Of an earlier tangent, if `known`; overwritten by the last one used. An inverse is kept
        while each update is a small part of the one before (`SLOW`), and then made anew.

    Returns
    -------
    q : (n,) float64
    status, iterations : int
    size : float
        Of the last update.

    """
    q = q0.copy()
    size = np.inf
    for iteration in range(1, most + 1):
        Q, x, P, M = residual(d, base, loads, q, cV * q + hV, cA * q + hA)
        previous = size
        if known:
            dq = np.dot(inverse, Q)
            size = np.max(np.abs(dq) * scale)
            known = size < SLOW * previous  # not if it is no number
        if not known:
            K = tangent(d, loads, x, P, M, cV, cA)
            for c in range(q.size):
                if not (np.isfinite(Q[c]) and np.isfinite(K[c, c])):
                    return q0, NOT_FINITE, iteration, size
            inverse[:] = np.linalg.inv(K)
            dq = np.dot(inverse, Q)
            size = np.max(np.abs(dq) * scale)
            known = size < NEAR
        if not np.isfinite(size):
            return q0, NOT_FINITE, iteration, size
        q -= dq * min(1.0, reach / size) if size > 0.0 else dq
        if size < tolerance:
            return q, CONVERGED, iteration, size
    return q, RUNNING_OUT, most, size


class RodSolver:
    """
    One rod, its loads, and its state in time.

    Parameters
    ----------
    d : Discretisation
    base : Base, optional
        Clamped at the origin, upright, if not given.
    scheme : Scheme
        Time integration.
    tolerance : float
        Of the coordinates, as strain [-].

    """

    MOST = 60            # iterations of one solve
    REACH = 2.0          # [rad] of bending over the length, in one iteration
    LEAST_FRACTION = 1e-3  # of a load or of a time step, below which we give up

    def __init__(
        self, d: Discretisation, base: Base | None = None,
        scheme: Scheme = SCHEMES['generalised_alpha'], tolerance: float = 1e-10,
    ) -> None:
        zero = np.zeros(3)
        self.d = d
        self.base = base or Base(np.eye(3), zero, zero, zero, zero, zero)
        self.scheme = scheme
        self.tolerance = tolerance
        n = d.component.size
        length = d.breaks[-1] - d.breaks[0]
        self._scale = np.where(d.component < 3, 1.0, length)
        self._inverse = np.empty((n, n))
        self._inverse_of: tuple[float, float] | None = None  # cV and cA that it was made for
        self._past = History(np.zeros(n), np.zeros(n), np.zeros(n))
        self.time = 0.0

    def no_loads(self) -> Loads:
        """Return loads that are all zero, to be replaced."""
        N, E = self.d.s.size, self.d.W.shape[0]
        return Loads(
            np.zeros(3), np.zeros((N, 3)), np.zeros((N, 3)), np.zeros((E, 3)), np.zeros((E, 3)),
            np.zeros((E, 3)), np.zeros((E, 3)), np.zeros(3))

    def state(self) -> State:
        """Return the kinematics of the present instant."""
        return kinematics(self.d, self.base, *self._past[:3])

    def energy(self, loads: Loads) -> float:
        """Return kinetic, elastic and gravitational energy, without that of other loads [J]."""
        d, x = self.d, self.state()
        w_body = np.einsum('kij,ki->kj', x.Rc[d.station], x.Om[d.station])
        kinetic = np.sum(d.w * (
            np.sum(d.inertia[:, :3] * x.p_t ** 2, axis=1)
            + np.sum(d.inertia[:, 3:] * w_body ** 2, axis=1))) / 2.0
        q = self._past.q
        return float(
            kinetic + q @ d.elastic @ q / 2.0
            - np.sum(d.w * d.inertia[:, 0] * (x.p @ loads.gravity)))

    def _solve(self, loads: Loads, q: np.ndarray, rule: Rule) -> Solution:
        known = self._inverse_of == (rule.cV, rule.cA) and rule.cA > 0.0
        self._inverse_of = None
        try:
            q, status, iterations, size = newton(
                self.d, self.base, loads, q, rule.cV, rule.hV, rule.cA, rule.hA, self._scale,
                self.tolerance, self.MOST, self.REACH, self._inverse, known)
        except np.linalg.LinAlgError:
            return Solution(q, False, 1, np.inf, 'the tangent is singular')
        if status == CONVERGED:
            self._inverse_of = (rule.cV, rule.cA)
        return Solution(q, status == CONVERGED, iterations, size, _REASONS[status])

    def statics(self, loads: Loads, from_rest: bool = False) -> Solution:
        """
        Go to the static equilibrium under loads, and stay there at rest.

        If Newton fails from the present shape, the loads are applied step by step, from none.
        """
        start = self._past.q
        zeros = np.zeros_like(start)
        rule = Rule(0.0, zeros, 0.0, zeros)
        solution = self._solve(loads, zeros if from_rest else start, rule)
        if not solution.converged:
            solution = self._continue(loads, rule)
        if solution.converged:
            self._past = History(solution.q, zeros, zeros)
        return solution

    def _continue(self, loads: Loads, rule: Rule) -> Solution:
        """Scale the loads up from nothing, as fast as Newton allows."""
        q, done, step, iterations = np.zeros_like(self._past.q), 0.0, 0.25, 0
        solution = Solution(q, False, 0, np.inf, '')
        while done < 1.0:
            fraction = min(1.0, done + step)
            part = Loads._make([*(fraction * load for load in loads[:-1]), loads.drag])
            solution = self._solve(part, q, rule)
            iterations += solution.iterations
            if solution.converged:
                q, done, step = solution.q, fraction, 2.0 * step
            elif step < self.LEAST_FRACTION:
                message = f'{solution.message}, with loads at {100.0 * done:.1f} %'
                return Solution(self._past.q, False, iterations, solution.update, message)
            else:
                step *= 0.25
        return solution._replace(iterations=iterations)

    def start(self, loads: Loads) -> None:
        """Give the present instant the acceleration that the loads ask for."""
        q, q_t, _, *_ = self._past
        zeros = np.zeros_like(q)
        Q, x, P, M = residual(self.d, self.base, loads, q, q_t, zeros)
        still = tangent(self.d, loads, x, P, M, 0.0, 0.0)
        mass = tangent(self.d, loads, x, P, M, 0.0, 1.0) - still
        q_tt = np.linalg.solve(mass, -Q)
        if np.isfinite(q_tt).all():
            self._past = History(q, q_t, q_tt)

    def step(self, loads: Loads, dt: float) -> Solution:
        """
        Advance by dt [s].

        A step that fails is divided; if that does not help either, nothing is changed.
        """
        past, time = self._past, self.time
        left, part, iterations = dt, dt, 0
        while left > 0.0:
            rule = self.scheme.rule(self._past, part)
            guess = self._past.q + part * self._past.q_t + 0.5 * part ** 2 * self._past.q_tt
            solution = self._solve(loads, guess, rule)
            iterations += solution.iterations
            if solution.converged:
                self._past = self.scheme.advance(self._past, rule, solution.q, part)
                left = left - part if left > 1.5 * part else 0.0
            elif part < self.LEAST_FRACTION * dt:
                self._past, self.time = past, time
                return solution._replace(q=past.q, iterations=iterations)
            else:
                part *= 0.5
        self.time = time + dt
        return solution._replace(iterations=iterations)
