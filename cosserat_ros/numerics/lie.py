r"""
Rotations and poses of cross-sections: SO(3), SE(3), quaternions, modified Rodrigues parameters.

=============  ===========================================================================
Symbol         Meaning
=============  ===========================================================================
R              rotation, body to world: ``x_world = R x_body``; (3, 3) [-]
g              pose ``[[R, p], [0, 1]]``, body to world; (4, 4), p in [m]
theta          rotation vector, axis times angle; (3,) [rad]
xi             twist, LINEAR PART FIRST: strain (v, u), velocity (q, w); (6,). Wrenches
               (n, m) have the same order, so that power is ``wrench @ twist``. It is the
               order of Till 2019, Porez 2014 and geometry_msgs; Boyer 2020/2023 have the
               angular part first.
hat, vee       ``hat(a) b = a x b``, ``R_s = R hat(u)``, ``g_s = g hat_se3(xi)``; inverses
Ad_g           body twist to world twist, ``hat_se3(Ad_g xi) = g hat_se3(xi) g^-1``
ad_xi          Lie bracket, ``ad_xi eta = [xi, eta]``, and ``(Ad_g)_s = Ad_g ad_xi``
T_l (left)     world-frame tangent: ``d exp(x) = hat(T_l dx) exp(x)``
T_r (right)    body-frame tangent: ``d exp(x) = exp(x) hat(T_r dx)``
               ``T_r(x) = T_l(-x)``, ``T_l = Ad_exp(x) T_r``; for SO(3) also ``T_r = T_l^T``
sigma          modified Rodrigues parameters, ``axis tan(angle / 4)``; (3,) [-]
q              quaternion in ROS order (x, y, z, w); only at the surface
=============  ===========================================================================

Every function of a rotation vector here is ``f(hat(u)) = alpha I + beta hat(u) + gamma u u^T``
with coefficients from the Stumpff functions c_0 .. c_7 of ``|u|^2``. A pose is a rotation with a
dual part: ``f(ad_xi)`` has ``f(hat(u))`` on its diagonal and its derivative along v above, which
is the block Q of Barfoot, State Estimation for Robotics, 2017, eq. 7.86.

Kernels take float64 arrays of the stated shapes, raise `InvalidModel` for other sizes, return new
arrays, and give finite numbers for entries below 1e100. The inverse tangents are unbounded at
angles of 2 pi, 4 pi, ..., where they do not exist.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import InvalidModel
from .kernels import kernel

# Up to this angle squared (a little over pi^2) the Stumpff functions are summed, above they come
# from sine and cosine: both are good to a few ulp there (test_stumpff_functions).
_SERIES_LIMIT = 10.0
# 1 / (2 k + 6)! and 1 / (2 k + 7)!, highest k first.
_SERIES = np.array([
    [1.0 / math.factorial(2 * k + n) for n in (6, 7)] for k in reversed(range(13))])


@kernel
def stumpff(x):
    """
    Return the Stumpff functions c_n(x) = sum_k (-x)^k / (2k + n)! for n = 0 .. 7.

    With the angle a = sqrt(x): c_0 = cos a, c_1 = sin a / a, c_2 = (1 - cos a) / a^2,
    c_3 = (a - sin a) / a^3; c_n = 1 / n! - x c_{n+2}; (1 / a) dc_n / da = n c_{n+2} - c_{n+1}.
    """
    if x > _SERIES_LIMIT:
        a = math.sqrt(x)
        c0 = math.cos(a)
        c1 = math.sin(a) / a
        c2 = 2.0 * (math.sin(0.5 * a) / a) ** 2
        c3 = (1.0 - c1) / x
        c4 = (1.0 / 2.0 - c2) / x
        c5 = (1.0 / 6.0 - c3) / x
        c6 = (1.0 / 24.0 - c4) / x
        c7 = (1.0 / 120.0 - c5) / x
    else:
        c6 = 0.0
        c7 = 0.0
        for k in range(0 if x > 0.5 else 7, _SERIES.shape[0]):  # 6 terms do near zero
            c6 = _SERIES[k, 0] - x * c6
            c7 = _SERIES[k, 1] - x * c7
        c5 = 1.0 / 120.0 - x * c7
        c4 = 1.0 / 24.0 - x * c6
        c3 = 1.0 / 6.0 - x * c5
        c2 = 1.0 / 2.0 - x * c4
        c1 = 1.0 - x * c3
        c0 = 1.0 - x * c2
    return c0, c1, c2, c3, c4, c5, c6, c7


@kernel
def _half_cotangent(x):
    """
    Return h = (a / 2) cot(a / 2), e = (1 - h) / a^2, (1 / a) d/da of both; x = a^2.

    h solves a h_a = h - h^2 - a^2 / 4, from which the derivatives. The differences that vanish
    with x are Stumpff functions of higher index where x is small.
    """
    _, c1, c2, c3, c4, c5, c6, _ = stumpff(x)
    h = 0.5 * c1 / c2
    if x > _SERIES_LIMIT:
        e = (1.0 - h) / x
        e_a = e * e + (0.25 - 3.0 * e) / x
    else:
        e = 0.5 * (c3 - 2.0 * c4) / c2
        e_a = 0.5 * (c5 - 4.0 * c6) / c2
    return h, e, h * e - 0.25, e_a


@kernel
def _dot(a, b):
    if a.size != 3 or b.size != 3:
        raise InvalidModel('vector', 'another size', 'of shape (3,)')
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _matrix(alpha, beta, gamma, u):
    """Return alpha I + beta hat(u) + gamma u u^T."""
    if u.size != 3:
        raise InvalidModel('vector', 'another size', 'of shape (3,)')
    A = np.empty((3, 3))
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        A[i, i] = alpha + gamma * u[i] * u[i]
        A[i, j] = gamma * u[i] * u[j] - beta * u[k]
        A[j, i] = gamma * u[i] * u[j] + beta * u[k]
    return A


@kernel
def _product(A, b):
    """Return the vector A b; A is (3, 3)."""
    return np.array([_dot(A[0], b), _dot(A[1], b), _dot(A[2], b)])


@kernel
def _blocks(D, E):
    """Return [[D, E], [0, D]] from (3, 3) blocks."""
    A = np.zeros((6, 6))
    for i in range(3):  # slices would compile ten times as long
        for j in range(3):
            A[i, j] = D[i, j]
            A[i, j + 3] = E[i, j]
            A[i + 3, j + 3] = D[i, j]
    return A


@kernel
def _split(xi):
    """Return views of the linear and the angular part of a twist."""
    if xi.size != 6:
        raise InvalidModel('twist', 'another size', 'of shape (6,)')
    return xi[:3], xi[3:]


@kernel
def _parts(g):
    """Return copies of R and p of a pose."""
    if g.shape[0] != 4 or g.shape[1] != 4:
        raise InvalidModel('pose', 'another size', 'of shape (4, 4)')
    R = np.empty((3, 3))
    p = np.empty(3)
    for i in range(3):
        p[i] = g[i, 3]
        for j in range(3):
            R[i, j] = g[i, j]
    return R, p


@kernel
def _pose(R, p, corner):
    """Return [[R, p], [0, corner]]."""
    g = np.zeros((4, 4))
    for i in range(3):
        g[i, 3] = p[i]
        for j in range(3):
            g[i, j] = R[i, j]
    g[3, 3] = corner
    return g


@kernel
def _quaternion(R):
    """
    Return (w, vector) with w >= 0 of a rotation matrix, up to a factor near one.

    Divides by the largest of the four (Shepperd 1978), so that small angles keep their relative
    accuracy and no angle is singular; finite for every finite matrix.
    """
    if R.shape[0] != 3 or R.shape[1] != 3:
        raise InvalidModel('rotation', 'another size', 'of shape (3, 3)')
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    q = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    i = 0
    for j in range(1, 3):
        if R[j, j] > R[i, i]:
            i = j
    if trace >= R[i, i]:
        largest = math.sqrt(1.0 + trace)
        w = 0.5 * largest
        q *= 0.5 / largest
        return w, q
    largest = math.sqrt(1.0 + 2.0 * R[i, i] - trace)
    w = 0.5 * q[i] / largest
    for j in range(3):
        q[j] = 0.5 * (R[i, j] + R[j, i]) / largest
    q[i] = 0.5 * largest
    return (-w, -q) if w < 0.0 else (w, q)


@kernel
def hat(w):
    """
    Return the skew matrix W with W b = w x b.

    Parameters
    ----------
    w : (3,) float64
        Any vector.

    Returns
    -------
    (3, 3) float64

    """
    return _matrix(0.0, 1.0, 0.0, w)


@kernel
def vee(W):
    """
    Return the vector of the skew part of W; the inverse of `hat`.

    Parameters
    ----------
    W : (3, 3) float64
        Any matrix; a symmetric part is ignored.

    Returns
    -------
    (3,) float64

    """
    if W.shape[0] != 3 or W.shape[1] != 3:
        raise InvalidModel('matrix', 'another size', 'of shape (3, 3)')
    return 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


@kernel
def exp_so3(theta):
    """
    Return the rotation about the axis of theta by its length (Rodrigues' formula).

    Parameters
    ----------
    theta : (3,) float64
        Rotation vector [rad], of any length.

    Returns
    -------
    (3, 3) float64
        Rotation, body to world [-].

    """
    c0, c1, c2, _, _, _, _, _ = stumpff(_dot(theta, theta))
    return _matrix(c0, c1, c2, theta)


@kernel
def log_so3(R):
    """
    Return the shortest rotation vector of R.

    Parameters
    ----------
    R : (3, 3) float64
        Rotation, body to world [-]; orthonormal to rounding, see `orthonormalise`.

    Returns
    -------
    (3,) float64
        Rotation vector [rad], of length <= pi. At pi both signs are right; one is returned.

    """
    w, q = _quaternion(R)
    sine = math.sqrt(_dot(q, q))
    return (2.0 if sine < 1e-9 else 2.0 * math.atan2(sine, w) / sine) * q


@kernel
def left_tangent_so3(theta):
    """
    Return T_l in d exp(theta) = hat(T_l dtheta) exp(theta); world frame.

    Parameters
    ----------
    theta : (3,) float64
        Rotation vector [rad].

    Returns
    -------
    (3, 3) float64

    """
    _, c1, c2, c3, _, _, _, _ = stumpff(_dot(theta, theta))
    return _matrix(c1, c2, c3, theta)


@kernel
def right_tangent_so3(theta):
    """
    Return T_r in d exp(theta) = exp(theta) hat(T_r dtheta); body frame.

    It is T(Theta) of Boyer 2023 (eq. 112): the strain is u = T_r theta_s, see `left_tangent_so3`.
    """
    return left_tangent_so3(-theta)


@kernel
def inverse_left_tangent_so3(theta):
    """
    Return the inverse of `left_tangent_so3`, for angles other than 2 pi, 4 pi, ...

    Parameters
    ----------
    theta : (3,) float64
        Rotation vector [rad].

    Returns
    -------
    (3, 3) float64

    """
    h, e, _, _ = _half_cotangent(_dot(theta, theta))
    return _matrix(h, -0.5, e, theta)


@kernel
def inverse_right_tangent_so3(theta):
    """Return T_r^-1, in theta_s = T_r^-1 u; see `inverse_left_tangent_so3`."""
    return inverse_left_tangent_so3(-theta)


@kernel
def hat_se3(xi):
    """
    Return the matrix [[hat(u), v], [0, 0]] of a twist (Boyer 2020, eq. 66, there with (u, v)).

    Parameters
    ----------
    xi : (6,) float64
        Twist (v, u).

    Returns
    -------
    (4, 4) float64

    """
    v, u = _split(xi)
    return _pose(hat(u), v, 0.0)


@kernel
def vee_se3(Xi):
    """
    Return the twist (v, u) of a matrix; the inverse of `hat_se3`.

    Parameters
    ----------
    Xi : (4, 4) float64
        Element of se(3).

    Returns
    -------
    (6,) float64

    """
    U, v = _parts(Xi)
    return np.concatenate((v, vee(U)))


@kernel
def exp_se3(xi):
    """
    Return the pose reached from the identity by a constant twist in unit time.

    Parameters
    ----------
    xi : (6,) float64
        Twist (v, u), body frame ([m], [rad] when it has been multiplied by length or time).

    Returns
    -------
    (4, 4) float64
        Pose, body to world.

    """
    v, u = _split(xi)
    return _pose(exp_so3(u), _product(left_tangent_so3(u), v), 1.0)


@kernel
def log_se3(g):
    """
    Return the twist (v, u) with exp_se3 of it equal to g, and |u| <= pi.

    Parameters
    ----------
    g : (4, 4) float64
        Pose, body to world.

    Returns
    -------
    (6,) float64
        Twist, body frame ([m], [rad]).

    """
    R, p = _parts(g)
    u = log_so3(R)
    return np.concatenate((_product(inverse_left_tangent_so3(u), p), u))


@kernel
def inverse_se3(g):
    """
    Return the inverse of a pose, by transposition.

    Parameters
    ----------
    g : (4, 4) float64
        Pose, body to world.

    Returns
    -------
    (4, 4) float64
        Pose, world to body.

    """
    R, p = _parts(g)
    for i in range(3):
        for j in range(i):
            R[i, j], R[j, i] = R[j, i], R[i, j]
    return _pose(R, _product(R, -p), 1.0)


@kernel
def adjoint_se3(g):
    """
    Return Ad_g = [[R, hat(p) R], [0, R]], which maps a body twist to a world twist.

    Its inverse transposed maps a body wrench to a world wrench. (Porez 2014, eq. 3; Boyer 2020,
    eq. 67, there with the angular part first.)

    Parameters
    ----------
    g : (4, 4) float64
        Pose, body to world, p in [m].

    Returns
    -------
    (6, 6) float64

    """
    R, p = _parts(g)
    pR = np.empty((3, 3))
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        for m in range(3):
            pR[i, m] = p[j] * R[k, m] - p[k] * R[j, m]
    return _blocks(R, pR)


@kernel
def ad_se3(xi):
    """
    Return ad_xi = [[hat(u), hat(v)], [0, hat(u)]], the Lie bracket with xi.

    (Boyer 2020, eq. 67, there with the angular part first.)

    Parameters
    ----------
    xi : (6,) float64
        Twist (v, u).

    Returns
    -------
    (6, 6) float64

    """
    v, u = _split(xi)
    return _blocks(hat(u), hat(v))


@kernel
def _dual_matrix(value, slope, xi):
    """
    Return f(ad_xi) for f(hat(u)) = alpha I + beta hat(u) + gamma u u^T.

    Parameters
    ----------
    value, slope : 3 floats each
        alpha, beta, gamma and their derivatives (1 / |u|) d/d|u|.
    xi : (6,) float64
        Twist (v, u).

    """
    v, u = _split(xi)
    alpha, beta, gamma = value
    uv = _dot(u, v)
    E = _matrix(uv * slope[0], uv * slope[1], uv * slope[2], u)
    V = _matrix(0.0, beta, 0.0, v)
    for i in range(3):
        for j in range(3):
            E[i, j] += V[i, j] + gamma * (u[i] * v[j] + v[i] * u[j])
    return _blocks(_matrix(alpha, beta, gamma, u), E)


@kernel
def left_tangent_se3(xi):
    """
    Return T_l in d exp(xi) = hat(T_l dxi) exp(xi); world frame.

    Parameters
    ----------
    xi : (6,) float64
        Twist (v, u) ([m], [rad]).

    Returns
    -------
    (6, 6) float64

    """
    u = _split(xi)[1]
    _, c1, c2, c3, c4, c5, _, _ = stumpff(_dot(u, u))
    return _dual_matrix((c1, c2, c3), (c3 - c2, 2.0 * c4 - c3, 3.0 * c5 - c4), xi)


@kernel
def right_tangent_se3(xi):
    """Return T_r in d exp(xi) = exp(xi) hat(T_r dxi); body frame; see `left_tangent_se3`."""
    return left_tangent_se3(-xi)


@kernel
def inverse_left_tangent_se3(xi):
    """
    Return the inverse of `left_tangent_se3`, for angles other than 2 pi, 4 pi, ...

    Parameters
    ----------
    xi : (6,) float64
        Twist (v, u) ([m], [rad]).

    Returns
    -------
    (6, 6) float64

    """
    u = _split(xi)[1]
    h, e, h_a, e_a = _half_cotangent(_dot(u, u))
    return _dual_matrix((h, -0.5, e), (h_a, 0.0, e_a), xi)


@kernel
def inverse_right_tangent_se3(xi):
    """Return T_r^-1; see `inverse_left_tangent_se3`."""
    return inverse_left_tangent_se3(-xi)


@kernel
def orthonormalise(R):
    """
    Return the rotation nearest to R (in the Frobenius norm), to take out drift.

    Newton's iteration for the polar factor, R <- (R + R^-T) / 2, with R scaled to determinant one
    in each step (Higham 1986): one or two steps take out drift.

    Parameters
    ----------
    R : (3, 3) float64
        Matrix of positive determinant; `InvalidModel` is raised for another.

    Returns
    -------
    (3, 3) float64
        Rotation [-].

    """
    if R.shape[0] != 3 or R.shape[1] != 3:
        raise InvalidModel('rotation', 'another size', 'of shape (3, 3)')
    Q = R.copy()
    cofactor = np.empty((3, 3))
    for _ in range(60):
        for i in range(3):
            j = (i + 1) % 3
            k = (i + 2) % 3
            for m in range(3):
                n = (m + 1) % 3
                o = (m + 2) % 3
                cofactor[i, m] = Q[j, n] * Q[k, o] - Q[j, o] * Q[k, n]
        determinant = _dot(Q[0], cofactor[0])
        if not 0.0 < determinant < math.inf:
            break
        scale = determinant ** (-1.0 / 3.0)
        change = 0.0
        for i in range(3):
            for j in range(3):
                old = Q[i, j]
                Q[i, j] = 0.5 * (scale * old + cofactor[i, j] / (scale * determinant))
                change = max(change, abs(Q[i, j] - old))
        if change < 1e-9:  # quadratic convergence: the next change is below rounding
            return Q
    raise InvalidModel('rotation', 'another', 'a finite matrix of positive determinant')


@kernel
def mrp_from_matrix(R):
    """
    Return the modified Rodrigues parameters of a rotation, |sigma| <= 1 (Surmont, eq. 12).

    Parameters
    ----------
    R : (3, 3) float64
        Rotation, body to world [-].

    Returns
    -------
    (3,) float64
        sigma = axis tan(angle / 4) [-].

    """
    w, q = _quaternion(R)
    return q / (math.sqrt(w * w + _dot(q, q)) + w)


@kernel
def matrix_from_mrp(sigma):
    """
    Return the rotation of modified Rodrigues parameters (the transpose of Surmont, eq. 16).

    Surmont's eq. 16 is world to body, which fits r_s = R^T v of eq. 31, while R of eq. 8 to 11 is
    body to world, as here throughout. The shadow has the same matrix.

    Parameters
    ----------
    sigma : (3,) float64
        Modified Rodrigues parameters or their shadow [-].

    Returns
    -------
    (3, 3) float64
        Rotation, body to world [-].

    """
    s = _dot(sigma, sigma)
    gamma = 8.0 / (1.0 + s) ** 2
    return _matrix(1.0 - gamma * s, 0.5 * gamma * (1.0 - s), gamma, sigma)


@kernel
def shadow_mrp(sigma):
    """
    Return the other parameters of the same rotation: -sigma / |sigma|^2 (Surmont, eq. 14).

    Parameters
    ----------
    sigma : (3,) float64
        Modified Rodrigues parameters [-]. The shadow of zero is at infinity: below 1e-100, sigma
        itself is returned, which is the same rotation.

    Returns
    -------
    (3,) float64

    """
    s = _dot(sigma, sigma)
    return -sigma / s if s > 1e-200 else sigma.copy()


@kernel
def switch_mrp(sigma):
    """
    Return sigma or its shadow, whichever is within the unit ball (Surmont, figure 2).

    Parameters
    ----------
    sigma : (3,) float64
        Modified Rodrigues parameters [-].

    Returns
    -------
    (3,) float64

    """
    return shadow_mrp(sigma) if _dot(sigma, sigma) > 1.0 else sigma.copy()


@kernel
def mrp_rate_matrix(sigma):
    """
    Return B in sigma_s = B u (Surmont, eq. 17).

    Parameters
    ----------
    sigma : (3,) float64
        Modified Rodrigues parameters or their shadow [-].

    Returns
    -------
    (3, 3) float64
        Maps angular strain [rad/m] or velocity [rad/s], body frame, to the rate of sigma.

    """
    return _matrix(0.25 * (1.0 - _dot(sigma, sigma)), 0.5, 0.5, sigma)


def _finite_batch(field: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value` as a finite float64 array (..., *shape), or raise `InvalidModel`."""
    allowed = f'finite numbers of shape (..., {", ".join(map(str, shape))})'
    try:
        batch = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidModel(field, value, allowed) from error
    if batch.shape[-len(shape):] != shape or not np.isfinite(batch).all():
        raise InvalidModel(field, value, allowed)
    return batch


@kernel
def _quaternions(R):
    """Return unit quaternions (N, 4) in ROS order, of rotations (N, 3, 3)."""
    out = np.empty((R.shape[0], 4))
    for k in range(R.shape[0]):
        w, q = _quaternion(R[k])
        length = math.sqrt(w * w + _dot(q, q))
        if not _dot(R[k, 0], _product(hat(R[k, 1]), R[k, 2])) > 0.0:  # np.cross compiles for 3 s
            raise InvalidModel('rotation', 'another', 'a matrix of positive determinant')
        for i in range(3):
            out[k, i] = q[i] / length
        out[k, 3] = w / length
    return out


@kernel
def write_places(poses, out):
    """
    Write positions and unit quaternions x, y, z, w (w >= 0) of poses.

    Parameters
    ----------
    poses : (N, 4, 4) float64
        Body to world, not checked [-, m].
    out : (N, 7) float64
        Overwritten.

    """
    for k in range(poses.shape[0]):
        w, q = _quaternion(poses[k, :3, :3])
        length = math.sqrt(w * w + _dot(q, q))
        for i in range(3):
            out[k, i], out[k, 3 + i] = poses[k, i, 3], q[i] / length
        out[k, 6] = w / length


@kernel
def write_poses_between(poses, first, fraction, out):
    """
    Write poses on the screw motions from some poses to those that follow them.

    Parameters
    ----------
    poses : (N, 4, 4) float64
        Body to world [-, m].
    first : (P,) int64
        Which pose each motion starts from.
    fraction : (P,) float64
        How far along it to go: 0 is its start, 1 its end [-].
    out : (P, 4, 4) float64
        Overwritten.

    """
    for k in range(first.size):
        i, x = first[k], fraction[k]
        if x == 0.0:
            out[k] = poses[i]
        elif x == 1.0:
            out[k] = poses[i + 1]
        else:
            step = exp_se3(x * log_se3(_compose(inverse_se3(poses[i]), poses[i + 1])))
            out[k] = _compose(poses[i], step)


@kernel
def _compose(a, b):
    """Return the product of two poses."""
    out = np.zeros((4, 4))
    for i in range(3):
        for j in range(4):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
        out[i, 3] += a[i, 3]
    out[3, 3] = 1.0
    return out


def quaternion_from_matrix(R: ArrayLike) -> np.ndarray:
    """
    Return the unit quaternions of rotation matrices.

    Parameters
    ----------
    R : (..., 3, 3) array_like
        Rotations, body to world [-]; orthonormal to rounding, see `orthonormalise`.

    Returns
    -------
    (..., 4) float64
        Quaternions in ROS order (x, y, z, w), w >= 0 [-].

    """
    batch = _finite_batch('rotation', R, (3, 3))
    # Contiguous, so that slices of poses need no compilation of their own.
    rotations = np.ascontiguousarray(batch.reshape(-1, 3, 3))
    return _quaternions(rotations).reshape(batch.shape[:-2] + (4,))


def matrix_from_quaternion(q: ArrayLike) -> np.ndarray:
    """
    Return the rotation matrices of quaternions.

    Parameters
    ----------
    q : (..., 4) array_like
        Quaternions in ROS order (x, y, z, w), of any length but zero [-].

    Returns
    -------
    (..., 3, 3) float64
        Rotations, body to world [-].

    """
    from scipy.spatial.transform import Rotation  # slow to import, and seldom needed
    batch = _finite_batch('quaternion', q, (4,))
    largest = np.abs(batch).max(axis=-1, keepdims=True)
    if not largest.all():
        raise InvalidModel('quaternion', q, 'of non-zero length')
    if not batch.size:  # which SciPy before 1.12 does not take
        return np.empty(batch.shape[:-1] + (3, 3))
    # Scaled first: the square of a very short or long one would not be a float.
    return Rotation.from_quat((batch / largest).reshape(-1, 4)).as_matrix().reshape(
        batch.shape[:-1] + (3, 3))
