"""
Till's method: at each time step, guess the load at the clamped end and shoot for that at the tip.

Differences from Till 2019, section 2.4 and appendix B:

* The Jacobian of the six residuals can be exact: six directions go through the same integrator
  (`arc_equations.arc_tangent`). ``jacobian='differences'`` has forward differences as the paper.
* Runge-Kutta needs the history at the midpoints. The paper interpolates linearly ("simple linear
  interpolation"), and so does ``history='linear'``; the error is then of second order in the
  length of an element, whatever the integrator, and feeds energy: it, not the integrator, makes
  the difference between 161.8 s and 201.6 s in table 3. ``history='cubic'`` interpolates with the
  four nearest nodes, which restores the fourth order.
* Strains at the tip are kept like all others. The listing of appendix B leaves them as they were
  at first, which is right for an unloaded tip only.
* Drag is ``R (C q |q|)``, as in eq. (3); the listing has ``(R C q) |q|``.

The solver is that of the paper's code (`solveLevenbergMarquardt` of
https://github.com/JohnDTill/ContinuumRobotExamples, after Till 2015): Levenberg's damping, halved
before each iteration and doubled until the residual falls. Here the damped equations are
solved without the product ``J^T J``, which would square the condition number.
"""

from __future__ import annotations

import math

import numpy as np

from ..checks.errors import UnknownName
from ..numerics.kernels import kernel
from .arc_equations import (
    arc_derivative,
    arc_tangent,
    ArcModel,
    eliminate,
    H,
    HISTORY,
    N,
    Q,
    STATES,
    substitute_back,
    UNKNOWNS,
)
from .cantilever import Cantilever, CantileverSimulator, Solution, Status

INTEGRATORS = {'euler': 1, 'rk4': 4}
DAMPING = 1e-2  # at the start of each solution
DAMPING_FACTOR = 0.5
INCREMENT = 1e-8  # of the forward differences, relative to the scales


@kernel
def _add_scaled(a, c, b, out):
    """Write ``a + c b``; a loop, because array expressions compile ten times as long."""
    for i in range(out.size):
        out[i] = a[i] + c * b[i]


@kernel
def _store(y_k, x_k, y, x, k):
    """Write a node's states and variables with a history to row `k`."""
    for i in range(STATES):
        y[k, i] = y_k[i]
    for i in range(HISTORY):
        x[k, i] = x_k[i]


@kernel
def shoot(base_load, model, xh, stages, y, x, d):
    """
    Integrate eq. (7) from the clamped end to the tip.

    Parameters
    ----------
    base_load : (6,) float64
        n(0), m(0), world frame [N], [N m].
    model : ArcModel
        Of N elements.
    xh : (2 N + 1, 12) float64
        History at the ends and midpoints of the elements.
    stages : int
        4 for Runge-Kutta's classical method, 1 for Euler's.
    y, x : (N + 1, 19) and (N + 1, 12) float64
        States and variables with a history at the nodes, overwritten.
    d : (6 or 0, 19) float64
        Derivatives of the tip's state with respect to `base_load`, overwritten. With no rows they
        are not computed.

    """
    here, stage, y_s = np.zeros(STATES), np.empty(STATES), np.zeros(STATES)
    mean, x_s = np.empty(STATES), np.empty(HISTORY)
    d.fill(0.0)
    here[H] = 1.0
    for i in range(UNKNOWNS):
        here[N + i] = base_load[i]
        if d.shape[0] > 0:
            d[i, N + i] = 1.0
    d_here, d_stage, d_s, d_mean = d.ravel(), d.copy(), np.zeros_like(d), d.copy().ravel()
    weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6) if stages == 4 else (1.0, 0.0, 0.0, 0.0)
    ahead = (0.0, 0.5 * model.ds, 0.5 * model.ds, model.ds)
    last = y.shape[0] - 1
    for e in range(last):
        mean.fill(0.0)
        d_mean.fill(0.0)
        for i in range(stages):
            k = 2 * e + (i + 1) // 2
            _add_scaled(here, ahead[i], y_s, stage)
            arc_derivative(stage, xh, model, k, y_s, x_s)
            _add_scaled(mean, weights[i], y_s, mean)
            if d.size > 0:
                _add_scaled(d_here, ahead[i], d_s.ravel(), d_stage.ravel())
                arc_tangent(stage, xh, model, k, d_stage, d_s)
                _add_scaled(d_mean, weights[i], d_s.ravel(), d_mean)
            if i == 0:
                _store(here, x_s, y, x, e)
        _add_scaled(here, model.ds, mean, here)
        _add_scaled(d_here, model.ds, d_mean, d_here)
    arc_derivative(here, xh, model, 2 * last, y_s, x_s)
    _store(here, x_s, y, x, last)


@kernel
def _scaled_distance(a, b, scales):
    total = 0.0
    for i in range(a.size):
        total += ((a[i] - b[i]) / scales[i]) ** 2
    return math.sqrt(total)


@kernel
def _transpose(a, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = a[j, i]


@kernel
def _forward_differences(base_load, tip_load, model, xh, stages, scales, J):
    """Write d(tip load) / d(base load), (6, 6); `tip_load` (6,) is that of `base_load`."""
    nodes, none = xh.shape[0] // 2 + 1, np.empty((0, STATES))
    y, x, near = np.empty((nodes, STATES)), np.empty((nodes, HISTORY)), base_load.copy()
    for i in range(UNKNOWNS):
        near[i] = base_load[i] + INCREMENT * scales[i]
        shoot(near, model, xh, stages, y, x, none)
        for j in range(UNKNOWNS):
            J[j, i] = (y[-1, N + j] - tip_load[j]) / (near[i] - base_load[i])
        near[i] = base_load[i]


@kernel
def _damped_step(J, r, damping, scales, step):
    """
    Write Levenberg's step, that of least ``|r + J step|^2 + damping |step|^2``, norms scaled.

    As ``[[I, J], [J^T, -damping I]] (-(r + J step), step) = (-r, 0)``, without ``J^T J``.
    """
    size = UNKNOWNS
    A = np.zeros((2 * size, 2 * size + 1))
    for i in range(size):
        A[i, i] = 1.0
        A[size + i, size + i] = -damping
        A[i, -1] = -r[i] / scales[i]
        for j in range(size):
            A[i, size + j] = J[i, j] * scales[j] / scales[i]
            A[size + j, i] = A[i, size + j]
    eliminate(A, 2 * size)
    both = np.empty(2 * size)
    substitute_back(A, A[:, -1], both)
    for i in range(size):
        step[i] = both[size + i] * scales[i]


@kernel
def solve_shooting(base_load, tip_load, model, xh, options, scales, y, x):
    """
    Find the base load with which the tip's load is as given.

    Parameters
    ----------
    base_load : (6,) float64
        First guess, overwritten by the solution, world frame [N], [N m].
    tip_load : (6,) float64
        World frame [N], [N m].
    model, xh, y, x
        As for `shoot`.
    options : (int, bool, float, int)
        Stages of the integrator, whether the Jacobian is exact, tolerance of the scaled residual's
        norm, and most iterations.
    scales : (6,) float64
        Of the loads.

    Returns
    -------
    (bool, int, float)
        Whether it converged, iterations, norm of the scaled residual.

    """
    stages, exact, tolerance, most = options
    J, d = np.empty((UNKNOWNS, UNKNOWNS)), np.empty((UNKNOWNS if exact else 0, STATES))
    step, near, r = np.zeros(UNKNOWNS), np.empty(UNKNOWNS), np.empty(UNKNOWNS)
    damping, error = DAMPING, np.inf
    for iteration in range(most + 1):
        _add_scaled(base_load, 1.0, step, near)
        shoot(near, model, xh, stages, y, x, d)
        tip = y[-1, N:Q]
        near_error = _scaled_distance(tip, tip_load, scales)
        if near_error < error:
            error = near_error
            _add_scaled(base_load, 1.0, step, base_load)
            _add_scaled(tip, -1.0, tip_load, r)
            if error <= tolerance:
                return True, iteration, error
            if exact:
                _transpose(d[:, N:Q], J)
            else:
                _forward_differences(base_load, tip, model, xh, stages, scales, J)
            damping *= DAMPING_FACTOR
        elif iteration == 0:  # the guess itself cannot be shot: not finite
            break
        else:
            damping /= DAMPING_FACTOR
        _damped_step(J, r, damping, scales, step)
    return False, iteration, error


class ShootingSimulator(CantileverSimulator):
    """
    A cantilever solved as in Till 2019.

    Parameters
    ----------
    problem : Cantilever
    integrator : str
        In arc length: ``'rk4'`` or ``'euler'``.
    history : str
        Between nodes, ``'linear'`` as in the paper, or ``'cubic'``.
    jacobian : str
        ``'exact'``, or ``'differences'`` as in the paper.
    tolerance : float
        Of the tip load's error, relative to ``(EI / L^2, EI / L)``. The paper's code has 1e-6.
    max_iterations : int

    """

    def __init__(
        self, problem: Cantilever, integrator: str = 'rk4', history: str = 'linear',
        jacobian: str = 'exact', tolerance: float = 1e-8, max_iterations: int = 100,
    ) -> None:
        for name, value, known in (
            ('integrator', integrator, list(INTEGRATORS)),
            ('history', history, ['linear', 'cubic']),
            ('jacobian', jacobian, ['exact', 'differences']),
        ):
            if value not in known:
                raise UnknownName(name, value, known)
        super().__init__(problem, tolerance, max_iterations)
        self._options = (
            INTEGRATORS[integrator], jacobian == 'exact', self._tolerance, self._max_iterations)
        self._between = linear if history == 'linear' else cubic

    def _solve(self, model: ArcModel, xh: np.ndarray, load: np.ndarray) -> Solution:
        xh_fine = np.empty((2 * len(xh) - 1, HISTORY))
        xh_fine[::2] = xh
        xh_fine[1::2] = self._between(xh)
        y, x = np.empty_like(self._y), np.empty_like(self._x[0])
        base_load = self._y[0, N:Q].copy()
        converged, iterations, residual = solve_shooting(
            base_load, load, model, xh_fine, self._options, self._scales[N:Q], y, x)
        message = 'converged' if converged else 'the tip load was not met: no shot was better'
        return Solution(Status(converged, iterations, residual, message), y, x)


def linear(a: np.ndarray) -> np.ndarray:
    """Return values at the midpoints of rows (N + 1, any), interpolated linearly."""
    return 0.5 * (a[:-1] + a[1:])


def cubic(a: np.ndarray) -> np.ndarray:
    """Return values at the midpoints of rows (N + 1, any), from the four nearest rows."""
    middle = np.empty((len(a) - 1, *a.shape[1:]))
    middle[1:-1] = (9.0 * (a[1:-2] + a[2:-1]) - a[:-3] - a[3:]) / 16.0
    middle[0] = (5.0 * a[0] + 15.0 * a[1] - 5.0 * a[2] + a[3]) / 16.0
    middle[-1] = (5.0 * a[-1] + 15.0 * a[-2] - 5.0 * a[-3] + a[-4]) / 16.0
    return middle
