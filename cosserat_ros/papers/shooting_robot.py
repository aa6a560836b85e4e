"""
What the robots of Till 2019, section 5, share: history, Newton's method, and a body at the tip.

A robot is a set of rods with unknowns at their bases and as many residuals at their tips. Each
robot's module has its equations in arc length, and says what is guessed and what must vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import UnknownName
from ..checks.fields import check_number, check_vector, Checked, number, vector
from .arc_equations import _rotation, H, P, Q, STATES, W
from .cantilever import Cantilever, Coefficients, Status
from .shooting import cubic, linear

INCREMENT = 1e-7  # of the forward differences, relative to the scales
SMALLEST_STEP = 1e-4  # of Newton's step, before it is given up
SMALLEST_PART = 1e-2  # of the way from the last inputs to the next, likewise

Shooter = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class TipBody(Checked):
    """
    A rigid body fixed to the tip, its centre of mass at the tip's centroid.

    Parameters
    ----------
    mass : float
        [kg].
    inertia : (3,) tuple
        Diagonal of J_e, in the frame of the tip's section [kg m^2].

    """

    mass: float = number('kg', default=0.0, least=0.0)
    inertia: tuple[float, float, float] = vector('kg m^2', default=(0.0,) * 3, least=0.0)


NO_BODY = TipBody()


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of vectors (3,); ten times as fast as numpy's."""
    return np.array([
        a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


class History:
    """
    The last steps of variables, and from them ``xh`` in ``x_t = c0 x + xh`` (eq. (5)).

    Parameters
    ----------
    x : array
        Present value; it was always so.

    """

    def __init__(self, x: np.ndarray) -> None:
        self.x = (x, x, x)  # latest first
        self.x_t = np.zeros_like(x)

    def part(self, coefficients: Coefficients) -> np.ndarray:
        """Return ``xh`` of the next step."""
        _, c1, c2, c3, d1 = coefficients
        return c1 * self.x[0] + c2 * self.x[1] + c3 * self.x[2] + d1 * self.x_t

    def advance(self, x: np.ndarray, coefficients: Coefficients) -> None:
        """Go one step ahead, to `x`."""
        self.x_t = coefficients.c0 * x + self.part(coefficients)
        self.x = (x, *self.x[:2])


def at_stages(nodes: np.ndarray, history: str) -> np.ndarray:
    """Return values at the ends and midpoints of elements, (2 N + 1, any), from (N + 1, any)."""
    fine = np.empty((2 * len(nodes) - 1, *nodes.shape[1:]))
    fine[::2] = nodes
    fine[1::2] = linear(nodes) if history == 'linear' else cubic(nodes)
    return fine


def solve_square(
    residual: Callable[[np.ndarray], np.ndarray], guess: np.ndarray, tolerance: float, most: int,
) -> tuple[np.ndarray, Status]:
    """
    Solve ``residual(x) = 0`` by Newton's method, forward differences, and a step that is halved.

    Parameters
    ----------
    residual : function of (n,) float64 to (n,) float64
        Both scaled to be about 1.
    guess : (n,) float64
    tolerance : float
        Of the residual's norm.
    most : int
        Iterations.

    Returns
    -------
    (n,) float64, Status

    """
    x, r = guess, residual(guess)
    for iteration in range(most + 1):
        error = float(np.linalg.norm(r))
        if error <= tolerance:
            return x, Status(True, iteration, error, 'converged')
        if iteration == most or not np.isfinite(error):
            break
        columns = [residual(x + INCREMENT * e) - r for e in np.eye(x.size)]
        J = np.array(columns).T / INCREMENT
        if not np.isfinite(J).all():
            break
        step, size = np.linalg.lstsq(J, -r, rcond=None)[0], 1.0
        near = residual(x + step)
        while not np.linalg.norm(near) < error and size > SMALLEST_STEP:
            size *= 0.5
            near = residual(x + size * step)
        if not np.linalg.norm(near) < error:
            break
        x, r = x + size * step, near
    return x, Status(False, iteration, error, 'the residual did not become small enough')


class ShootingRobot:
    """
    Unknowns, history and time; what is shot is left to the subclasses.

    It begins at rest and free of stress and load, gravity included.

    Parameters
    ----------
    problem : Cantilever
        Rod, time scheme and surroundings.
    scales, residual_scales : (n,) float64
        Of the unknowns and the residuals.
    x, inputs : array
        Variables with a history, and what is given at each step, at rest.
    tip_body : TipBody
    history : str
        Between nodes, ``'cubic'``, or ``'linear'`` as in the paper.
    tolerance : float
        Of the scaled residual's norm.
    max_iterations : int

    """

    def __init__(
        self, problem: Cantilever, scales: np.ndarray, residual_scales: np.ndarray,
        x: np.ndarray, inputs: np.ndarray, tip_body: TipBody, history: str, tolerance: float,
        max_iterations: int,
    ) -> None:
        if history not in ('linear', 'cubic'):
            raise UnknownName('history', history, ['linear', 'cubic'])
        self.problem, self.tip_body = problem, tip_body
        self.time = 0.0  # [s]
        self._between = history
        self._tolerance = check_number('tolerance', tolerance, above=0.0)
        self._max_iterations = int(check_number('max_iterations', max_iterations, least=1.0))
        self._scales, self._residual_scales = scales, residual_scales
        self._gravity = np.array(problem.gravity)
        self._unknowns, self._inputs = np.zeros(scales.size), inputs
        self._history = History(x)
        self._y: np.ndarray

    def _advance(self, static: bool, inputs: np.ndarray) -> Status:
        """Find the equilibrium, or go one step ahead; nothing changes if that fails."""
        coefficients = self.problem.coefficients
        c0 = 0.0 if static else coefficients.c0
        xh = self._history.part(coefficients)
        if static:
            xh = np.zeros_like(xh)
        with np.errstate(all='ignore'):
            unknowns, status = self._approach(self._shooter(c0, xh), inputs)
        if status.converged:
            _, self._y, x = self._shooter(c0, xh)(unknowns, inputs)
            self._unknowns, self._inputs = unknowns, inputs
            if static:
                self._history = History(x)
                self.time = 0.0
            else:
                self._history.advance(x, coefficients)
                self.time += self.problem.time_step
        return status

    def _approach(self, shoot: Shooter, inputs: np.ndarray) -> tuple[np.ndarray, Status]:
        """Solve for `inputs`, if need be for some between the last ones and these before."""
        def residual(scaled: np.ndarray) -> np.ndarray:
            return shoot(scaled * self._scales, between)[0] / self._residual_scales

        guess, reached, ahead, iterations = self._unknowns / self._scales, 0.0, 1.0, 0
        while True:
            between = self._inputs + (reached + ahead) * (inputs - self._inputs)
            scaled, status = solve_square(residual, guess, self._tolerance, self._max_iterations)
            iterations += status.iterations
            if status.converged:
                guess, reached = scaled, reached + ahead
                ahead = min(2.0 * ahead, 1.0 - reached)
            else:
                ahead *= 0.5
            if reached == 1.0 or ahead < SMALLEST_PART:
                return guess * self._scales, status._replace(iterations=iterations)

    def _carried(self, y: np.ndarray, c0: float, xh: np.ndarray) -> np.ndarray:
        """
        Return what the body at the tip adds to the load there (section 5.2), (6,).

        Parameters
        ----------
        y : (19 or more,) float64
            State of the tip.
        c0, xh : float and (6,) float64
            Of the time derivatives of q and w.

        """
        R = np.array(_rotation(y[H], tuple(y[H + 1:H + 4])))
        q, w = y[Q:W], y[W:STATES]
        q_t, w_t = np.split(c0 * y[Q:STATES] + xh, 2)
        mass, J = self.tip_body.mass, np.array(self.tip_body.inertia)
        force = mass * (self._gravity - R @ (_cross(w, q) + q_t))
        return np.concatenate([force, -R @ (_cross(w, J * w) + J * w_t)])

    def _shooter(self, c0: float, xh: np.ndarray) -> Shooter:
        """Return a function of unknowns and inputs to residuals, states y and variables x."""
        raise NotImplementedError


class ActuatedRod(ShootingRobot):
    """One rod with actuators along it: what tendon and fluidic robots share."""

    _y: np.ndarray  # (points, states)
    _count: int     # actuators

    def statics(self, commands: ArrayLike, tip_load: ArrayLike = (0.0,) * 6) -> Status:
        """
        Find the equilibrium nearest to the present state, and rest there.

        Parameters
        ----------
        commands : (actuators,) array_like
            What each is told, in its unit.
        tip_load : (6,) array_like
            Force and moment on the tip besides the body's weight, world frame [N], [N m].

        """
        return self._follow(True, commands, tip_load)

    def step(self, commands: ArrayLike, tip_load: ArrayLike = (0.0,) * 6) -> Status:
        """Go one time step ahead, to these commands and this load, as for `statics`."""
        return self._follow(False, commands, tip_load)

    def _follow(self, static: bool, commands: ArrayLike, tip_load: ArrayLike) -> Status:
        given = checked('commands', commands, self._count)
        return self._advance(static, np.append(given, checked('tip_load', tip_load, 6)))

    @property
    def tip(self) -> np.ndarray:
        """Position of the tip, world frame, (3,) [m]."""
        return self._y[-1, P:H].copy()

    @property
    def positions(self) -> np.ndarray:
        """Positions at `s`, world frame, (points, 3) [m]."""
        return self._y[:, P:H].copy()


def checked(name: str, value: ArrayLike, size: int) -> np.ndarray:
    """Return numbers, (size,), or raise `InvalidModel`."""
    return np.array(check_vector(name, value, size))
