"""
The oracle: Till's equations solved by collocation, all elements at once.

Eq. (7) of Till 2019 holds at both ends and the midpoint of each element for the cubic that
interpolates states and derivatives at the ends (Hermite-Simpson, which is Lobatto IIIA of order
4; Ascher 1995, section 5.4; scipy's ``solve_bvp`` has the same scheme)::

    y_m = (y_0 + y_1) / 2 + ds / 8 (f_0 - f_1)
    r = y_1 - y_0 - ds / 6 (f_0 + 4 f_m + f_1)

Newton's method with the exact Jacobian. Its matrix is almost block diagonal::

    [base    ]           13 rows: p, h, q, w are given
    [A_0  B_0     ]      19 rows per element
    [     A_1  B_1]
    [          tip]       6 rows: n, m are given

and is eliminated from base to tip with exchange of rows within the window of 13 + 19, which is
stable where single shooting is not: there is no smallest time step. The midpoints are states with
a history of their own, so that nothing is interpolated in it.

References
----------
Till 2019: see `arc_equations`.
Ascher 1995: Ascher, Mattheij, Russell, "Numerical solution of boundary value problems for ordinary
differential equations", SIAM.

"""

from __future__ import annotations

import numpy as np

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

CLAMPED = STATES - UNKNOWNS  # states given at the base
MAX_TURN = 0.5  # of the quaternions in one of Newton's steps: a radian


@kernel
def _midpoint_tangent(y, xh, model, k, c, F, out):
    """Write the derivatives of the midpoint's y_s along ``I / 2 + c F``, transposed."""
    d = np.empty((STATES, STATES))
    for i in range(STATES):
        for j in range(STATES):
            d[i, j] = c * F[i, j]
        d[i, i] += 0.5
    arc_tangent(y, xh, model, k, d, out)


@kernel
def _element(y, model, xh, e, A, B, r):
    """
    Write the residual of element `e` and its derivatives, transposed: one row per state.

    Parameters
    ----------
    y : (N + 1, 19) float64
        States at the nodes.
    model, xh, e
        Rod and history (2 N + 1, 12) at ends and midpoints; index of the element.
    A, B : (19, 19) float64
        Derivatives with respect to ``y[e]`` and ``y[e + 1]``, transposed, overwritten.
    r : (19,) float64
        Overwritten.

    """
    ds, k = model.ds, 2 * e
    f0, f1, fm, ym = np.empty(STATES), np.empty(STATES), np.empty(STATES), np.empty(STATES)
    F0, F1 = np.empty((STATES, STATES)), np.empty((STATES, STATES))
    d, unused = np.eye(STATES), np.empty(HISTORY)
    arc_derivative(y[e], xh, model, k, f0, unused)
    arc_derivative(y[e + 1], xh, model, k + 2, f1, unused)
    arc_tangent(y[e], xh, model, k, d, F0)
    arc_tangent(y[e + 1], xh, model, k + 2, d, F1)
    for j in range(STATES):
        ym[j] = 0.5 * (y[e, j] + y[e + 1, j]) + ds / 8.0 * (f0[j] - f1[j])
    arc_derivative(ym, xh, model, k + 1, fm, unused)
    for j in range(STATES):
        r[j] = y[e + 1, j] - y[e, j] - ds / 6.0 * (f0[j] + 4.0 * fm[j] + f1[j])
    _midpoint_tangent(ym, xh, model, k + 1, ds / 8.0, F0, A)
    _midpoint_tangent(ym, xh, model, k + 1, -ds / 8.0, F1, B)
    for i in range(STATES):
        for j in range(STATES):
            A[i, j] = -d[i, j] - ds / 6.0 * (F0[i, j] + 4.0 * A[i, j])
            B[i, j] = d[i, j] - ds / 6.0 * (F1[i, j] + 4.0 * B[i, j])


@kernel
def _shift(window):
    """Move what is left after an elimination to the top: it concerns the next node only."""
    for i in range(CLAMPED):
        for j in range(STATES):
            window[i, j] = window[STATES + i, STATES + j]
            window[i, STATES + j] = 0.0
        window[i, -1] = window[STATES + i, -1]


@kernel
def newton_step(y, tip_load, model, xh, scales, dy):
    """
    Write Newton's update of the states at the nodes.

    Parameters
    ----------
    y : (N + 1, 19) float64
        States, those at the base as the clamp has them.
    tip_load : (6,) float64
        World frame [N], [N m].
    model, xh
        Rod and history (2 N + 1, 12) at ends and midpoints.
    scales : (19,) float64
        Of the states.
    dy : (N + 1, 19) float64
        Update, relative to `scales`, overwritten.

    """
    elements, width = y.shape[0] - 1, 2 * STATES + 1
    A, B, r = np.empty((STATES, STATES)), np.empty((STATES, STATES)), np.empty(STATES)
    upper = np.empty((elements, STATES, width))
    window = np.zeros((CLAMPED + STATES, width))
    for i in range(CLAMPED):
        window[i, i if i < N else i + UNKNOWNS] = 1.0
    for e in range(elements):
        _element(y, model, xh, e, A, B, r)
        for i in range(STATES):
            row = window[CLAMPED + i]
            row[-1] = -r[i] / scales[i]
            for j in range(STATES):
                row[j] = A[j, i] * scales[j] / scales[i]
                row[STATES + j] = B[j, i] * scales[j] / scales[i]
        eliminate(window, STATES)
        for j in range(width):
            for i in range(STATES):
                upper[e, i, j] = window[i, j]
        _shift(window)
    for i in range(UNKNOWNS):
        window[CLAMPED + i].fill(0.0)
        window[CLAMPED + i, N + i] = 1.0
        window[CLAMPED + i, -1] = (tip_load[i] - y[-1, N + i]) / scales[N + i]
    eliminate(window[:STATES], STATES)
    substitute_back(window, window[:STATES, -1], dy[-1])
    for e in range(elements - 1, -1, -1):
        for i in range(STATES):
            r[i] = upper[e, i, -1]
            for j in range(STATES):
                r[i] -= upper[e, i, STATES + j] * dy[e + 1, j]
        substitute_back(upper[e], r, dy[e])


def solve_collocation(
    y: np.ndarray, tip_load: np.ndarray, model: ArcModel, xh: np.ndarray, scales: np.ndarray,
    tolerance: float, most: int,
) -> Status:
    """
    Solve the boundary value problem by Newton's method, with steps cut to turn by `MAX_TURN`.

    Parameters
    ----------
    y : (N + 1, 19) float64
        First guess, overwritten by the solution.
    tip_load, model, xh, scales
        As for `newton_step`.
    tolerance : float
        Of the last update, relative to `scales`.
    most : int
        Iterations.

    """
    dy = np.empty_like(y)
    largest = np.inf
    for iteration in range(1, most + 1):
        newton_step(y, tip_load, model, xh, scales, dy)
        if not np.isfinite(dy).all():
            return Status(False, iteration, np.inf, 'the update is not finite')
        largest = float(np.abs(dy).max())
        turn = np.abs(dy[:, H:N]).max()
        y += scales * dy * (MAX_TURN / max(turn, MAX_TURN))
        if largest <= tolerance:
            return Status(True, iteration, largest, 'converged')
    return Status(False, most, largest, 'the updates did not become small enough')


@kernel
def _with_midpoints(y, model, xh, y_fine, x_fine):
    """Write states (2 N + 1, 19) and variables with a history (2 N + 1, 12) at all points."""
    y_s, unused = np.empty_like(y), np.empty(STATES)
    for e in range(y.shape[0]):
        k = 2 * e
        arc_derivative(y[e], xh, model, k, y_s[e], x_fine[k])
        for j in range(STATES):
            y_fine[k, j] = y[e, j]
    for e in range(y.shape[0] - 1):
        k = 2 * e + 1
        for j in range(STATES):
            y_fine[k, j] = (
                0.5 * (y[e, j] + y[e + 1, j]) + model.ds / 8.0 * (y_s[e, j] - y_s[e + 1, j]))
        arc_derivative(y_fine[k], xh, model, k, unused, x_fine[k])


class CollocationSimulator(CantileverSimulator):
    """
    A cantilever solved by collocation; its points are the ends and midpoints of the elements.

    Parameters
    ----------
    problem : Cantilever
    tolerance : float
        Of Newton's last update, relative to `Cantilever.scales`; the error that is left is about
        its square.
    max_iterations : int

    """

    def __init__(
        self, problem: Cantilever, tolerance: float = 1e-7, max_iterations: int = 30,
    ) -> None:
        super().__init__(problem, tolerance, max_iterations, points_per_element=2)

    def _solve(self, model: ArcModel, xh: np.ndarray, load: np.ndarray) -> Solution:
        guess = self._y[::2].copy()
        if model.c0 == 0.0:
            guess[:, Q:] = 0.0
        status = solve_collocation(
            guess, load, model, xh, self._scales, self._tolerance, self._max_iterations)
        y, x = np.empty_like(self._y), np.empty_like(self._x[0])
        _with_midpoints(guess, model, xh, y, x)
        return Solution(status, y, x)
