"""
The rod's equations in arc length after Till's discretisation in time, and their tangent.

The letters are those of Till 2019, table 2. At each arc length there are

=======  ==========================================================================
y (19,)  ``p`` position [m], ``h`` quaternion, scalar first [-], ``n`` force [N] and
         ``m`` moment [N m], all in the world frame; ``q`` velocity [m/s] and ``w``
         angular velocity [rad/s], body frame; in this order
x (12,)  what has a history: strains less rest strains ``(v - v*, u - u*)`` [-], [1/m],
         then ``q``, ``w``; body frame. Time derivatives are ``x_t = c0 x + xh``, with
         the history ``xh`` of eq. (5)
=======  ==========================================================================

Strains are counted from rest: then a rod at rest has no history at all, where Till's ``c0 v + vh``
is the difference of large numbers, and Kirchhoff's rod (eq. (11)) is one of zero compliance.

Vectors of three are tuples within the kernels: the compiler keeps them in registers, and the
formulas can be read.

References
----------
Till 2019: Till, Aloi, Rucker, "Real-time dynamics of soft and continuum robots based on Cosserat
rod models", Int. J. Robotics Research 38(6).

"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.kernels import kernel

P, H, N, M, Q, W = 0, 3, 7, 10, 13, 16  # where in y the letters begin
STATES = 19
UNKNOWNS = 6  # n and m at the clamped end
HISTORY = 12


class ArcModel(NamedTuple):
    """
    A rod at 2 N + 1 arc lengths, the ends and midpoints of N elements of equal length.

    Parameters
    ----------
    c0 : float
        Of the time scheme [1/s]; 0 for statics.
    ds : float
        Length of an element [m].
    compliance : (2 N + 1, 6) float64
        Diagonal of ``(K + c0 B)^-1``, [1/N] and [1/(N m^2)]; 0 for strains that do not occur.
    damping, inertia, rest : (2 N + 1, 6) float64
        As the methods of `cosserat_ros.description.rod.Rod`.
    gravity : (3,) float64
        World frame [m/s^2].
    drag : (3,) float64
        Diagonal of C in eq. (3), body frame [kg/m^2].

    """

    c0: float
    ds: float
    compliance: np.ndarray
    damping: np.ndarray
    inertia: np.ndarray
    rest: np.ndarray
    gravity: np.ndarray
    drag: np.ndarray


# --- Vectors of three ---------------------------------------------------------------------------

@kernel
def _get(a, i):
    return a[i], a[i + 1], a[i + 2]


@kernel
def _put(a, i, b):
    a[i], a[i + 1], a[i + 2] = b


@kernel
def _row(a, k, i):
    return a[k, i], a[k, i + 1], a[k, i + 2]


@kernel
def _put_row(a, k, i, b):
    a[k, i], a[k, i + 1], a[k, i + 2] = b


@kernel
def _add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def _scale(c, a):
    return c * a[0], c * a[1], c * a[2]


@kernel
def _times(D, a):
    """Return the product with a diagonal matrix."""
    return D[0] * a[0], D[1] * a[1], D[2] * a[2]


@kernel
def _subtract(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def _absolute(a):
    return abs(a[0]), abs(a[1]), abs(a[2])


@kernel
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _to_world(R, a):
    return _dot(R[0], a), _dot(R[1], a), _dot(R[2], a)


@kernel
def _to_body(R, a):
    return _add(_add(_scale(a[0], R[0]), _scale(a[1], R[1])), _scale(a[2], R[2]))


@kernel
def _rotation(h1, h):
    """Return the rows of R, body to world, of a quaternion of any length (eq. (10))."""
    c = 2.0 / (h1 * h1 + _dot(h, h))
    h2, h3, h4 = h
    return (
        (1.0 - c * (h3 * h3 + h4 * h4), c * (h2 * h3 - h4 * h1), c * (h2 * h4 + h3 * h1)),
        (c * (h2 * h3 + h4 * h1), 1.0 - c * (h2 * h2 + h4 * h4), c * (h3 * h4 - h2 * h1)),
        (c * (h2 * h4 - h3 * h1), c * (h3 * h4 + h2 * h1), 1.0 - c * (h2 * h2 + h3 * h3)))


@kernel
def _quaternion_rate(h1, h, u):
    """Return the scalar and the vector part of h_s (eq. (9))."""
    return -0.5 * _dot(h, u), _scale(0.5, _add(_scale(h1, u), _cross(h, u)))


# --- Equations ----------------------------------------------------------------------------------

@kernel
def _elastic(y, xh, model, k):
    """Return R, body force, v - v*, u - u* (eq. (6)) at the arc length of index `k`."""
    R = _rotation(y[H], _get(y, H + 1))
    n, m = _to_body(R, _get(y, N)), _to_body(R, _get(y, M))
    B, S = model.damping, model.compliance
    dv = _times(_row(S, k, 0), _subtract(n, _times(_row(B, k, 0), _row(xh, k, 0))))
    du = _times(_row(S, k, 3), _subtract(m, _times(_row(B, k, 3), _row(xh, k, 3))))
    return R, n, dv, du


@kernel
def _body_loads(y, xh, model, k, n, v):
    """Return R^T (n_s + rho A g) and R^T m_s (eq. (7)), with `n` the force in the body frame."""
    q, w = _get(y, Q), _get(y, W)
    rhoA, rhoJ = _row(model.inertia, k, 0), _row(model.inertia, k, 3)
    q_t = _add(_scale(model.c0, q), _row(xh, k, 6))
    w_t = _add(_scale(model.c0, w), _row(xh, k, 9))
    drag = _times(_get(model.drag, 0), _times(_absolute(q), q))
    a = _add(_times(rhoA, _add(_cross(w, q), q_t)), drag)
    b = _subtract(_add(_cross(w, _times(rhoJ, w)), _times(rhoJ, w_t)), _cross(v, n))
    return a, b


@kernel
def arc_derivative(y, xh, model, k, y_s, x):
    """
    Write the derivatives in arc length, eq. (7), and the variables with a history.

    Parameters
    ----------
    y : (19,) float64
        State, see above.
    xh : (2 N + 1, 12) float64
        History.
    model : ArcModel
    k : int
        Index of the arc length in `xh` and `model`.
    y_s, x : (19,) and (12,) float64
        Overwritten.

    """
    R, n, dv, du = _elastic(y, xh, model, k)
    v, u = _add(_row(model.rest, k, 0), dv), _add(_row(model.rest, k, 3), du)
    v_t = _add(_scale(model.c0, dv), _row(xh, k, 0))
    u_t = _add(_scale(model.c0, du), _row(xh, k, 3))
    q, w = _get(y, Q), _get(y, W)
    a, b = _body_loads(y, xh, model, k, n, v)
    weight = _times(_row(model.inertia, k, 0), _get(model.gravity, 0))
    _put(y_s, P, _to_world(R, v))
    y_s[H], h_s = _quaternion_rate(y[H], _get(y, H + 1), u)
    _put(y_s, H + 1, h_s)
    _put(y_s, N, _subtract(_to_world(R, a), weight))
    _put(y_s, M, _to_world(R, b))
    _put(y_s, Q, _add(_subtract(v_t, _cross(u, q)), _cross(w, v)))
    _put(y_s, W, _subtract(u_t, _cross(u, w)))
    _put(x, 0, dv)
    _put(x, 3, du)
    _put(x, 6, q)
    _put(x, 9, w)


@kernel
def arc_tangent(y, xh, model, k, d, d_s):
    """
    Write the derivatives of `arc_derivative` along several directions, exact to rounding.

    A change of h turns the section by ``theta = 2 Im(conj(h) dh) / |h|^2`` in the body frame;
    then ``d(R a) = R (da + theta x a)``.

    Parameters
    ----------
    y, xh, model, k
        As for `arc_derivative`.
    d, d_s : (directions, 19) float64
        Changes of y; changes of y_s, overwritten.

    """
    R, n, dv, du = _elastic(y, xh, model, k)
    m = _to_body(R, _get(y, M))
    v, u = _add(_row(model.rest, k, 0), dv), _add(_row(model.rest, k, 3), du)
    a, b = _body_loads(y, xh, model, k, n, v)
    q, w, h = _get(y, Q), _get(y, W), _get(y, H + 1)
    rhoA, rhoJ = _row(model.inertia, k, 0), _row(model.inertia, k, 3)
    drag = _times(_get(model.drag, 0), _scale(2.0, _absolute(q)))
    to_angle = 2.0 / (y[H] * y[H] + _dot(h, h))
    c0 = model.c0
    for j in range(d.shape[0]):
        dh1, dh, dq, dw = d[j, H], _row(d, j, H + 1), _row(d, j, Q), _row(d, j, W)
        theta = _subtract(_subtract(_scale(y[H], dh), _scale(dh1, h)), _cross(h, dh))
        theta = _scale(to_angle, theta)
        dn = _subtract(_to_body(R, _row(d, j, N)), _cross(theta, n))
        dm = _subtract(_to_body(R, _row(d, j, M)), _cross(theta, m))
        dv = _times(_row(model.compliance, k, 0), dn)
        du = _times(_row(model.compliance, k, 3), dm)
        da = _add(_cross(dw, q), _add(_cross(w, dq), _scale(c0, dq)))
        da = _add(_times(rhoA, da), _times(drag, dq))
        db = _add(_cross(w, _times(rhoJ, dw)), _scale(c0, _times(rhoJ, dw)))
        db = _add(_cross(dw, _times(rhoJ, w)), db)
        db = _subtract(db, _add(_cross(dv, n), _cross(v, dn)))
        dq_s = _subtract(_scale(c0, dv), _add(_cross(du, q), _cross(u, dq)))
        turned = _quaternion_rate(dh1, dh, u)
        bent = _quaternion_rate(y[H], h, du)
        _put_row(d_s, j, P, _to_world(R, _add(dv, _cross(theta, v))))
        d_s[j, H] = turned[0] + bent[0]
        _put_row(d_s, j, H + 1, _add(turned[1], bent[1]))
        _put_row(d_s, j, N, _to_world(R, _add(da, _cross(theta, a))))
        _put_row(d_s, j, M, _to_world(R, _add(db, _cross(theta, b))))
        _put_row(d_s, j, Q, _add(dq_s, _add(_cross(dw, v), _cross(w, dv))))
        _put_row(d_s, j, W, _subtract(_scale(c0, du), _add(_cross(du, w), _cross(u, dw))))


# --- Linear algebra -----------------------------------------------------------------------------

@kernel
def eliminate(A, columns):
    """
    Make the first `columns` columns of `A` upper triangular, by rows, with partial pivoting.

    Parameters
    ----------
    A : (rows, any) float64
        Overwritten; at least as many rows as `columns`.
    columns : int

    """
    rows, width = A.shape
    for i in range(columns):
        pivot = i
        for k in range(i + 1, rows):
            if abs(A[k, i]) > abs(A[pivot, i]):
                pivot = k
        for j in range(i, width):
            A[i, j], A[pivot, j] = A[pivot, j], A[i, j]
        for k in range(i + 1, rows):
            factor = A[k, i] / A[i, i]
            if factor != 0.0:
                for j in range(i, width):
                    A[k, j] -= factor * A[i, j]


@kernel
def substitute_back(A, b, x):
    """
    Write the solution of ``A x = b``, of whose square matrix only the upper triangle is read.

    Parameters
    ----------
    A : (n, at least n) float64
    b, x : (n,) float64
        Right-hand side; solution, overwritten.

    """
    for i in range(x.size - 1, -1, -1):
        x[i] = b[i]
        for j in range(i + 1, x.size):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
