r"""
Newton's method on the residual of one rod: static equilibria, and steps in time.

Both are the same solve, ``Q(y, cV y + hV, cA y + hA) = 0``; statics has ``cV = cA = 0``. The
unknowns y are the modes' amplitudes q, then position and turn of a free base, then the reactions
that hold the tip, if it is held. It stops on the size of the update, measured as strain: the
residual's own scale depends on stiffness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .actuators import no_paths, Paths
from .checked import check_number
from .equations import Loads, no_loads, residual, tangent
from .errors import InvalidModel
from .integrators import History, Rule, Scheme, SCHEMES
from .kernels import inner, kernel, part
from .kinematics import Base, free_base, kinematics, rotate, rotate_back, State
from .lie import exp_so3, inverse_left_tangent_so3, log_so3
from .momentum import energy, Momentum, momentum
from .strain import Discretisation

SLOW = 0.1  # of an update to the one before, above which the tangent is made anew
NEAR = 0.1  # update, as strain, below which a tangent is worth keeping
INHERITED = 1e-3  # part of the tolerance for a first update by an earlier tangent
STAGNANT = 1e3  # times the tolerance, below which updates may end in rounding errors
SHORTEST = 1e-3  # part of an update that the line search tries
CONVERGED, RUNNING_OUT, NOT_FINITE = 0, 1, 2
_REASONS = {
    CONVERGED: '',
    RUNNING_OUT: 'Newton ran out of iterations',
    NOT_FINITE: 'Newton left the finite numbers',
}

CLAMPED_TIP = np.eye(6)
SPHERICAL_TIP = np.eye(3, 6)
FREE_TIP = np.zeros((0, 6))


class Ends(NamedTuple):
    """How the ends of a rod are held."""

    base: Base         # its motion; of a free base, the attitude R at the last instant
    free: bool         # whether the base is free
    tip_R: np.ndarray  # (3, 3) where the tip is held, body to world
    tip_p: np.ndarray  # (3,) [m]
    hold: np.ndarray   # (j, 6) directions of force and moment that hold it, in the frame tip_R


class Solution(NamedTuple):
    """How a solve ended; `q` is finite in any case, the last good one if not converged."""

    q: np.ndarray       # (n,)
    converged: bool
    iterations: int
    update: float       # size of the last update, as strain [-]
    residual: float     # largest entry of the residual before it [J per unit of q]
    parts: int          # in which load or time step was divided
    message: str        # why not; empty if converged


# --- Equations of a rod with its ends ------------------------------------------------------------

@inner
def _base_of(ends, n, y, y_t, y_tt):
    """Return the motion of the base."""
    if ends.free:
        return free_base(ends.base.R, y[n:n + 6], y_t[n:n + 6], y_tt[n:n + 6])
    return ends.base


@inner
def _reaction(ends, y):
    """Return the wrench (6,) that holds the tip, world frame."""
    j = ends.hold.shape[0]
    local, wrench = np.zeros(6), np.empty(6)
    for a in range(j):
        for i in range(6):
            local[i] += ends.hold[a, i] * y[y.size - j + a]
    rotate(ends.tip_R, local[:3], wrench[:3])
    rotate(ends.tip_R, local[3:], wrench[3:])
    return wrench


@inner
def _tip_error(d, ends, x):
    """Return how far the tip is from its place, in the frame tip_R: distance and turn, (6,)."""
    R, p = x.Rc[x.Rc.shape[0] - 1], x.p_end[x.p_end.shape[0] - 1]
    error, turned = np.empty(6), np.empty((3, 3))
    rotate_back(ends.tip_R, p, error[:3])
    rotate_back(ends.tip_R, ends.tip_p, error[3:])
    for i in range(3):
        error[i] -= error[3 + i]
        rotate_back(ends.tip_R, R[:, i], turned[:, i])
    # The logarithm, by sine and cosine of the angle: what counts is its zero.
    cosine = 0.5 * (turned[0, 0] + turned[1, 1] + turned[2, 2] - 1.0)
    square = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        error[3 + i] = 0.5 * (turned[k, j] - turned[j, k])
        square += error[3 + i] ** 2
    sine = np.sqrt(square)
    if sine > 1e-8:
        for i in range(3):
            error[3 + i] *= np.arctan2(sine, cosine) / sine
    return error


@part
def unbalance(d, ends, loads, paths, y, y_t, y_tt):
    """Return what must be zero, as many as there are unknowns, with balance and state."""
    n, b, j = d.component.size, 6 * ends.free, ends.hold.shape[0]
    base = _base_of(ends, n, y, y_t, y_tt)
    balance, x = residual(
        d, base, loads, paths, _reaction(ends, y), y[:n], y_t[:n], y_tt[:n])
    r = np.zeros(n + b + j)
    for i in range(n):
        r[i] = balance.Q[i]
    for i in range(b):
        r[n + i] = -balance.N_base[i] if i < 3 else -balance.M[0, i - 3]
    if j > 0:
        error = _tip_error(d, ends, x)
        for i in range(j):
            for c in range(6):
                r[n + b + i] += ends.hold[i, c] * error[c]
    return r, balance, x


@part
def jacobian(d, ends, loads, paths, y, x, balance, cV, cA):
    """Return the derivative of `unbalance`, square."""
    n, b, j = d.component.size, 6 * ends.free, ends.hold.shape[0]
    turn = np.empty((b // 6, 3))
    for i in range(b // 2):
        turn[0, i] = y[n + 3 + i]
    K, J = tangent(d, loads, paths, x, balance, cV, cA, turn)
    return K if j == 0 else _with_tip_held(d, ends, x, K, J)


@inner
def _with_tip_held(d, ends, x, K, J):
    """Border the tangent K by the columns of the reactions and the rows of the constraints."""
    C, j = K.shape[0], ends.hold.shape[0]
    A = np.zeros((C + j, C + j))
    T = inverse_left_tangent_so3(_tip_error(d, ends, x)[3:])
    move, local = np.empty(6), np.empty(6)
    for c in range(C):
        for b in range(C):
            A[b, c] = K[b, c]
        rotate_back(ends.tip_R, J[:3, c], move[:3])
        rotate_back(ends.tip_R, J[3:, c], move[3:])
        rotate(T, move[3:], local[3:])
        for i in range(3):
            local[i] = move[i]
        for a in range(j):
            for i in range(6):
                A[c, C + a] -= ends.hold[a, i] * move[i]
                A[C + a, c] += ends.hold[a, i] * local[i]
    return A


@inner
def _size(step, scale):
    """Return the largest entry of a step, as strain; not finite if any entry is not."""
    size = 0.0
    for i in range(step.size):
        if not np.isfinite(step[i]):
            return np.inf
        size = max(size, abs(step[i]) * scale[i])
    return size


@inner
def _copy(A, out):
    """Write A, square."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i, j] = A[i, j]


@inner
def _line(a, factor, b, out):
    """Write a + factor b. (numba compiles an array expression for seconds.)"""
    for i in range(a.size):
        out[i] = a[i] + factor * b[i]


@inner
def _multiply(A, b, out):
    """Write A b."""
    for i in range(b.size):
        total = 0.0
        for j in range(b.size):
            total += A[i, j] * b[j]
        out[i] = total


@inner
def _finite(K):
    """Return whether all entries are finite numbers."""
    for i in range(K.shape[0]):
        for j in range(K.shape[1]):
            if not np.isfinite(K[i, j]):
                return False
    return True


@kernel
def newton(
    d, ends, loads, paths, y0, cV, hV, cA, hA, scale, tolerance, most, reach, inverse, known,
):
    """
    Solve for y.

    Parameters
    ----------
    d : Discretisation
    ends : Ends
    loads : Loads
    paths : Paths
    y0 : float64 array
        Start.
    cV, cA : float
    hV, hA : float64 arrays
        Time rule.
    scale : float64 array
        Size of each unknown as strain; 0 for reactions.
    tolerance, most : float, int
        Update at which to stop; iterations at which to give up.
    reach : float
        Largest update in one iteration: longer ones are shortened.
    inverse : float64 array, square
        Of an earlier tangent, if `known`; overwritten by the last one used. An inverse is kept
        while each update is a small part of the one before (`SLOW`), and then made anew. The line
        search measures by it too: a step is halved until the next update by the same inverse is
        smaller than this one (Deuflhard's natural monotonicity test).

    Returns
    -------
    y : float64 array
    status, iterations : int
    size, worst : float
        Of the last update, and of the residual before it.

    """
    y, good, dy = y0.copy(), y0.copy(), np.zeros(y0.size)
    y_t, y_tt, step, ones = y0.copy(), y0.copy(), y0.copy(), np.ones(y0.size)
    size, worst, shortened = np.inf, np.inf, 1.0
    fresh = False  # whether the inverse was made for the last update
    for iteration in range(1, most + 1):
        _line(hV, cV, y, y_t)
        _line(hA, cA, y, y_tt)
        r, balance, x = unbalance(d, ends, loads, paths, y, y_t, y_tt)
        worst, previous = _size(r, ones), size
        if known or fresh:
            _multiply(inverse, r, step)
            size = _size(step, scale)
            if fresh and not size < previous and shortened > SHORTEST:
                shortened *= 0.5
                _line(good, -shortened, dy, y)
                size = previous
                continue
            known = known and size < SLOW * previous
        fresh = not known
        if fresh:
            K = jacobian(d, ends, loads, paths, y, x, balance, cV, cA)
            if not (np.isfinite(worst) and _finite(K)):
                return y0, NOT_FINITE, iteration, size, worst
            _copy(np.linalg.inv(K), inverse)
            _multiply(inverse, r, step)
            size = _size(step, scale)
            known = size < NEAR
        if not np.isfinite(size):
            return y0, NOT_FINITE, iteration, size, worst
        shortened = min(1.0, reach / size) if size > 0.0 else 1.0
        for i in range(y.size):
            good[i], dy[i] = y[i], step[i]
        _line(good, -shortened, dy, y)
        # How well an inherited inverse does is known from its second update on. Where the
        # updates end in rounding errors they no longer shrink.
        inherited = not fresh and iteration == 1
        stagnant = size < STAGNANT * tolerance and not size < 0.5 * previous
        if size < (INHERITED if inherited else 1.0) * tolerance or stagnant:
            return y, CONVERGED, iteration, size, worst
    return y, RUNNING_OUT, most, size, worst


# --- One rod in time -----------------------------------------------------------------------------

Motion = Callable[[Base, float, float], Base]
"""Of a base: from its motion one step earlier, the time at the end of the step, and the step."""


def at_rest(R: np.ndarray | None = None, p: np.ndarray | None = None) -> Base:
    """Return a base that stands still; at the origin, upright, if not said otherwise."""
    return Base(np.eye(3) if R is None else np.array(R, dtype=float),
                np.zeros(3) if p is None else np.array(p, dtype=float), *np.zeros((4, 3)))


def follow_twist(twist: Callable[[float], tuple[np.ndarray, ...]]) -> Motion:
    """
    Return the motion of a base whose velocity is prescribed.

    Parameters
    ----------
    twist : callable
        From the time [s] to angular velocity, velocity, and the derivatives of both, world frame.

    The pose is integrated from step to step: rotations by two exponentials (order 4), positions
    by Gauss quadrature (order 6).
    """
    def move(last: Base, time: float, dt: float) -> Base:
        early, late = (twist(time - dt * (0.5 + sign * np.sqrt(3.0) / 6.0))[0]
                       for sign in (1.0, -1.0))
        more, less = 0.25 + np.sqrt(3.0) / 6.0, 0.25 - np.sqrt(3.0) / 6.0
        R = (exp_so3(dt * (less * early + more * late))
             @ exp_so3(dt * (more * early + less * late)) @ last.R)
        nodes, weights = np.polynomial.legendre.leggauss(3)
        p = last.p + 0.5 * dt * sum(
            weight * twist(time - 0.5 * dt * (1.0 - node))[1]
            for node, weight in zip(nodes, weights))
        Om, p_t, Om_t, p_tt = (np.array(v, dtype=float) for v in twist(time))
        return Base(R, p, Om, p_t, Om_t, p_tt)
    return move


class RodSolver:
    """
    One rod, its loads, and its state in time.

    Parameters
    ----------
    d : Discretisation
    base : Base, optional
        Where the base is, and how it moves at the start; see `at_rest`, the default.
    motion : Motion, optional
        How the base is moved, see `follow_twist`. Without it, it stays.
    free : bool
        Whether nothing holds the base: the rod floats.
    paths : Paths, optional
        Of its actuators.
    scheme : Scheme
        Time integration.
    tolerance : float
        Of the coordinates, as strain [-].

    """

    MOST = 60            # iterations of one solve
    REACH = 2.0          # [rad] of bending over the length, in one iteration
    LEAST_FRACTION = 1e-3  # of a load or of a time step, below which we give up

    def __init__(
        self, d: Discretisation, base: Base | None = None, motion: Motion | None = None,
        free: bool = False, paths: Paths | None = None,
        scheme: Scheme = SCHEMES['generalised_alpha'], tolerance: float = 1e-10,
    ) -> None:
        self.d = d
        self.paths = no_paths(d.s.size) if paths is None else paths
        self.scheme = scheme
        self.tolerance = tolerance
        self.free = free
        self.time = 0.0
        self.reaction = np.zeros(0)  # of the tip, along the directions of hold
        self._base = base or at_rest()
        self._momentum: Momentum | None = None  # of a floating rod, as the loads have made it
        self._motion = motion
        self._hold, self._tip = FREE_TIP, (np.eye(3), np.zeros(3))
        n = d.component.size
        length = d.breaks[-1] - d.breaks[0]
        scale = np.where(d.component < 3, 1.0, length)
        self._scale = np.concatenate([scale, np.repeat([1.0 / length, 1.0], 3)[:6 * free]])
        self._forget_tangent()
        self._checked: Loads | None = None  # the last loads that were looked at
        self._loads: Loads | None = None  # those of the last equilibrium, while it lasts
        zeros, b = np.zeros(n), self._base
        if free:
            self._past = History(
                np.concatenate([zeros, b.p, np.zeros(3)]),
                np.concatenate([zeros, b.p_t, b.Om]), np.concatenate([zeros, b.p_tt, b.Om_t]))
        else:
            self._past = History(zeros, zeros, zeros)

    # --- What it is ---

    @property
    def base(self) -> Base:
        """Motion of the base at the present instant."""
        if not self.free:
            return self._base
        n = self.d.component.size
        return free_base(self._base.R, *(y[n:] for y in self._past[:3]))

    def no_loads(self) -> Loads:
        """Return loads that are all zero, to be replaced."""
        return no_loads(self.d.s.size, self.d.W.shape[0], self.paths.flat.size)

    def state(self) -> State:
        """Return the kinematics of the present instant."""
        n = self.d.component.size
        return kinematics(self.d, self.base, *(y[:n] for y in self._past[:3]))

    def energy(self, loads: Loads) -> float:
        """Return kinetic, elastic and gravitational energy, without that of other loads [J]."""
        return energy(self.d, self.state(), self._past.q[:self.d.component.size], loads)

    def momentum(self, loads: Loads) -> Momentum:
        """Return the momenta of the rod and of the bodies among the loads."""
        return momentum(self.d, self.state(), loads.bodies, self.base.p)

    # --- What holds it ---

    def hold_tip(self, R: np.ndarray, p: np.ndarray, hold: np.ndarray = CLAMPED_TIP) -> None:
        """
        Hold the tip at a pose, from the next solve on.

        Parameters
        ----------
        R, p : (3, 3) and (3,) array
            Body to world, and position [m].
        hold : (j, 6) array
            Directions of force and moment, in the frame R, that it may take: `CLAMPED_TIP`,
            `SPHERICAL_TIP`, or those of another joint. `FREE_TIP` lets it go.

        """
        if self.free and len(hold):
            raise InvalidModel('hold', len(hold), '0 where the base is free')
        self._tip = np.array(R, dtype=float), np.array(p, dtype=float)
        self.reaction = np.asarray(hold, dtype=float) @ self._hold.T @ self.reaction
        self._hold = np.ascontiguousarray(hold, dtype=float)
        self._forget_tangent()

    def _forget_tangent(self) -> None:
        size = self._scale.size + len(self._hold)
        self._inverse = np.empty((size, size))
        self._inverse_of: tuple[float, float] | None = None  # cV and cA that it was made for

    # --- Solving ---

    def _check(self, loads: Loads) -> None:
        """Refuse arrays of another shape than `no_loads`: kernels do not look."""
        if loads is self._checked:
            return
        none = self.no_loads()
        for given, expected in ((loads, none), (loads.bodies, none.bodies)):
            for name in expected._fields:
                value, shape = getattr(given, name), getattr(expected, name)
                if name != 'bodies' and (
                        np.shape(value) != shape.shape or value.dtype != shape.dtype):
                    raise InvalidModel(
                        name, np.shape(value), f'a float array of shape {shape.shape}')
        self._checked = loads

    def _solve(
        self, loads: Loads, y: np.ndarray, reaction: np.ndarray, rule: Rule, base: Base,
        free: bool = False, tip: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> tuple[Solution, np.ndarray]:
        """Solve from y and a reaction at the tip; return how it went, and the new reaction."""
        self._check(loads)
        n, start, hV, hA, scale = y.size, y, rule.hV, rule.hA, self._scale[:y.size]
        if reaction.size:
            none = np.zeros(reaction.size)
            start, hV, hA, scale = (np.concatenate(pair) for pair in (
                (y, reaction), (hV, none), (hA, none), (scale, none)))
        known = self._inverse_of == (rule.cV, rule.cA) and rule.cA > 0.0
        self._inverse_of = None
        R, p = tip or self._tip
        inverse = self._inverse
        if inverse.shape[0] != start.size:
            inverse = np.empty((start.size, start.size))
        try:
            found, status, iterations, update, worst = newton(
                self.d, Ends(base, free, R, p, self._hold), loads, self.paths, start,
                rule.cV, hV, rule.cA, hA, scale, self.tolerance, self.MOST, self.REACH,
                inverse, known)
        except np.linalg.LinAlgError:
            return Solution(y, False, 1, np.inf, np.inf, 1, 'the tangent is singular'), reaction
        if status == CONVERGED and inverse is self._inverse:
            self._inverse_of = (rule.cV, rule.cA)
        return Solution(found[:n], status == CONVERGED, iterations, update, worst, 1,
                        _REASONS[status]), found[n:]

    def statics(self, loads: Loads, from_rest: bool = False) -> Solution:
        """
        Go to the static equilibrium under loads, and stay there at rest; a free base is held.

        If Newton fails, the way there is divided: from the last equilibrium, if there was one,
        loads, gravity and efforts are changed and a held tip is led step by step; else, or if
        that fails too, from the rod at rest.
        """
        n, base = self.d.component.size, self.base
        still = at_rest(base.R, base.p)
        zeros = np.zeros(n)
        rule = Rule(0.0, zeros, 0.0, zeros)
        start = zeros if from_rest else self._past.q[:n]
        solution, reaction = self._solve(loads, start, self.reaction, rule, still)
        origins = [(zeros, np.zeros(self.reaction.size), self.no_loads())]
        if self._loads is not None and not from_rest:
            origins.insert(0, (start, self.reaction, self._loads))
        for q, initial_reaction, initial in origins:
            if not solution.converged:
                earlier = solution.iterations
                solution, reaction = self._continue(
                    q, initial_reaction, initial, loads, rule, still)
                solution = solution._replace(iterations=earlier + solution.iterations)
        if solution.converged:
            tail = np.concatenate([base.p, np.zeros(3)])[:6 * self.free]
            rest = np.zeros(n + tail.size)
            self._past = History(np.concatenate([solution.q, tail]), rest, rest)
            self._base, self._momentum, self._loads = still, None, loads
            self.reaction = reaction
        return solution

    def _continue(
        self, q: np.ndarray, reaction: np.ndarray, initial: Loads, loads: Loads, rule: Rule,
        base: Base,
    ) -> tuple[Solution, np.ndarray]:
        """Go from an equilibrium to other loads and where the tip is held, as Newton allows."""
        x = kinematics(self.d, base, q, rule.hV, rule.hA)
        done, step, parts, iterations = 0.0, 0.25, 0, 0
        while True:
            fraction = min(1.0, done + step)
            solution, found = self._solve(
                _mixed(initial, loads, fraction), q, reaction, rule, base,
                tip=_between(x.Rc[-1], x.p_end[-1], *self._tip, fraction))
            iterations, parts = iterations + solution.iterations, parts + 1
            if solution.converged:
                q, reaction, done, step = solution.q, found, fraction, 2.0 * step
            else:
                step *= 0.25
            if done == 1.0 or step < self.LEAST_FRACTION:
                short = f'{solution.message}, after {100.0 * done:.1f} % of the way to these loads'
                return solution._replace(
                    q=q if done == 1.0 else self._past.q[:q.size], converged=done == 1.0,
                    iterations=iterations, parts=parts,
                    message='' if done == 1.0 else short), reaction

    def start(self, loads: Loads) -> bool:
        """
        Give the present instant the acceleration that the loads ask for.

        Returns
        -------
        bool
            Whether it could: not if some coordinate has no inertia.

        """
        n, q, q_t = self.d.component.size, self._past.q, self._past.q_t
        base = self.base
        if self._motion and not self.free:
            base = self._motion(base, self.time, 0.0)
        still = base._replace(Om_t=np.zeros(3), p_tt=np.zeros(3)) if self.free else base
        turn = np.zeros((int(self.free), 3))
        balance, x = residual(self.d, still, loads, self.paths, np.zeros(6),
                              q[:n], q_t[:n], np.zeros(n))
        stiffness, mass = (tangent(
            self.d, loads, self.paths, x, balance, 0.0, cA, turn)[0] for cA in (0.0, 1.0))
        r = np.concatenate([balance.Q, *(-balance.N_base, -balance.M[0])[:2 * self.free]])
        try:
            q_tt = np.linalg.solve(mass - stiffness, -r)
        except np.linalg.LinAlgError:
            return False
        if not np.isfinite(q_tt).all():
            return False
        self._past = History(q, q_t, q_tt)
        self._base, self._momentum = base, None
        return True

    def step(self, loads: Loads, dt: float) -> Solution:
        """
        Advance by dt [s].

        A step that fails is divided; if that does not help either, nothing is changed.
        """
        check_number('dt', dt, above=0.0, unit='s')
        before = self._past, self._base, self.reaction, self.time, self._momentum
        end = self.time + dt
        part, iterations, parts = dt, 0, 0
        if self.free and self._momentum is None:
            self._momentum = self.momentum(loads)
        while self.time < end:
            past = self._past
            rule = self.scheme.rule(past, part)
            guess = past.q + part * past.q_t + 0.5 * part ** 2 * past.q_tt
            base = self._base
            if self._motion and not self.free:
                base = self._motion(base, self.time + part, part)
            solution, reaction = self._solve(
                loads, guess, self.reaction, rule, base, self.free)
            iterations, parts = iterations + solution.iterations, parts + 1
            if solution.converged:
                self._past, self._loads = self.scheme.advance(past, rule, solution.q, part), None
                if self._momentum is not None:
                    self._momentum = self._keep_momentum(self._momentum, loads, part)
                    base = self._recentre()
                self._base, self.reaction = base, reaction
                self.time = self.time + part if end - self.time > 1.5 * part else end
            elif part < self.LEAST_FRACTION * dt:
                self._past, self._base, self.reaction, self.time, self._momentum = before
                return solution._replace(
                    q=self._past.q, iterations=iterations, parts=parts)
            else:
                part *= 0.5
        return solution._replace(iterations=iterations, parts=parts)

    def _keep_momentum(self, before: Momentum, loads: Loads, dt: float) -> Momentum:
        """
        Give a free base the velocity at which the momenta are what the loads have made of them.

        The schemes act on coordinates, of which momentum is no linear function: they keep it to
        their order only, and a long flight would drift. Returns the momenta.
        """
        n = self.d.component.size
        now = self.momentum(loads)
        value = before.value + 0.5 * dt * (before.rate + now.rate)
        q_t = self._past.q_t.copy()
        q_t[n:] += np.linalg.solve(now.locked, value - now.value)
        self._past = self._past._replace(q_t=q_t)
        return now._replace(value=value)

    def _recentre(self) -> Base:
        """Count the turn of a free base from its new attitude; return it."""
        n, base = self.d.component.size, self.base
        q = self._past.q.copy()
        q[n + 3:] = 0.0
        if self._past.before is not None:
            earlier, earlier_t = self._past.before
            earlier = earlier.copy()
            earlier[n + 3:] = -self._past.q[n + 3:]
            self._past = self._past._replace(before=(earlier, earlier_t))
        self._past = self._past._replace(q=q)
        return base


def _mixed(a: Loads, b: Loads, fraction: float) -> Loads:
    """Return loads at a fraction of the way from a to b; drag and bodies are those of b."""
    if fraction == 1.0:
        return b
    kept = ('square_drag', 'linear_drag', 'bodies')
    return b._replace(**{
        name: (1.0 - fraction) * getattr(a, name) + fraction * getattr(b, name)
        for name in b._fields if name not in kept})


def _between(
    R0: np.ndarray, p0: np.ndarray, R1: np.ndarray, p1: np.ndarray, fraction: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose at a fraction of the way from one to the other."""
    if fraction == 1.0:
        return R1, p1
    return exp_so3(fraction * log_so3(R1 @ R0.T)) @ R0, p0 + fraction * (p1 - p0)
