r"""
Joints and rigid bodies: motion of a frame from that of another one, wrenches back, and variations.

A joint slides along up to three axes fixed to its start, and turns: not at all, about one axis
(with a pitch: a screw), or freely. With the arm ``a = R (T x + pitch angle e)`` and the relative
rates u = R (...)_t, w = R (turn rate), world frame,

    p' = p + a                          R' = R exp(turn) [R_ref]
    p_t' = p_t + Om x a + u             Om' = Om + w
    p_tt' = p_tt + Om_t x a + Om x (Om x a + 2 u) + u_t
    Om_t' = Om_t + w_t + Om x w

A free turn is a rotation vector from the attitude R_ref of the last instant, in the frame of the
start; its rates are the relative angular velocity and acceleration, so that a time rule acts on
SO(3) as on any coordinate (Boyer 2023, eqs. 67 to 70). A joint without coordinates is a rigid
link. Its own equations are the components of the wrench at its end along its motions,
``spring + damper - push - alpha . N - gamma . M``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import matrix, vector
from ..numerics.kernels import inner, merged
from ..numerics.rotations import (
    coefficients,
    cross,
    exponential,
    multiply,
    rotate,
    tangent_and_slope,
)
from .element import clear, spin

RIGID, ABOUT_AXIS, FREELY = 0, 1, 3  # how a joint turns: so many coordinates


class Joints(NamedTuple):
    """All joints, in a row."""

    slides: np.ndarray     # (J,) int64, along how many axes
    turns: np.ndarray      # (J,) int64: RIGID, ABOUT_AXIS, FREELY
    axes: np.ndarray       # (J, 3, 3) of sliding, as rows, frame of the start
    axis: np.ndarray       # (J, 3) of turning
    pitch: np.ndarray      # (J,) [m/rad]
    reference: np.ndarray  # (J, 3, 3) attitude that a free turn counts from, frame of the start


class JointStates(NamedTuple):
    """What the joints' variations are made of, world frame."""

    arm: np.ndarray      # (J, 3) from start to end [m]
    u: np.ndarray        # (J, 3) relative velocity [m/s]
    u_t: np.ndarray      # (J, 3) relative acceleration [m/s^2]
    w: np.ndarray        # (J, 3) relative angular velocity [rad/s]
    w_t: np.ndarray      # (J, 3) relative angular acceleration [rad/s^2]
    alpha: np.ndarray    # (J, 6, 3) motion of the end with each coordinate
    beta: np.ndarray     # (J, 6, 3) its rotation with each coordinate
    gamma: np.ndarray    # (J, 6, 3) its angular velocity with each coordinate's rate


class Bodies(NamedTuple):
    """What every link has at its end: loads, and a rigid body unless its mass is 0."""

    force: np.ndarray            # (L, 3) dead, world frame [N]
    moment: np.ndarray           # (L, 3) likewise [N m]
    lever: np.ndarray            # (L, 3, 3) sum of a f^T, of dead forces f at places a, body frame
    follower_force: np.ndarray   # (L, 3) body frame [N]
    follower_moment: np.ndarray  # (L, 3) likewise [N m]
    mass: np.ndarray             # (L,) [kg]
    offset: np.ndarray           # (L, 3) from the end to the centre of mass, body frame [m]
    inertia: np.ndarray          # (L, 3) principal moments about the centre of mass [kg m^2]
    axes: np.ndarray             # (L, 3, 3) their axes, as columns, body frame


def no_bodies(links: int) -> Bodies:
    """Return no loads and no bodies."""
    a, b, c, d, e, f = np.zeros((6, links, 3))
    return Bodies(a, b, np.zeros((links, 3, 3)), c, d, np.zeros(links), e, f,
                  np.tile(np.eye(3), (links, 1, 1)))


# --- Motion --------------------------------------------------------------------------------------

@inner
def shift(start, arm, end):
    """Write the motion of a frame at `arm` (3,) from another one, without its rotation."""
    y, z = vector(3), vector(3)
    cross(start.Om, arm, y)
    cross(start.Om, y, z)
    for i in range(3):
        end.p[i] = start.p[i] + arm[i]
        end.Om[i] = start.Om[i]
        end.Om_t[i] = start.Om_t[i]
        end.p_t[i] = start.p_t[i] + y[i]
    cross(start.Om_t, arm, y)
    for i in range(3):
        end.p_tt[i] = start.p_tt[i] + y[i] + z[i]


@inner
def attach(parent, R, p, start):
    """Write the motion of a frame that is fixed to another one at a pose."""
    arm = vector(3)
    rotate(parent.R, p, arm)
    shift(parent, arm, start)
    multiply(parent.R, R, start.R)


@inner
def _turn_about(axis, angle, R):
    """Write the rotation by an angle about an axis of unit length, (3, 3)."""
    cosine, sine = np.cos(angle), np.sin(angle)
    for i in range(3):
        for k in range(3):
            R[i, k] = (1.0 - cosine) * axis[i] * axis[k]
        R[i, i] += cosine
    _add_hat(R, 0, 0, axis, sine)


@merged
def move_joint(joints, j, start, q, q_t, q_tt, states, end):
    """Write the motion of a joint's end, and its state."""
    n_slides, turns, pitch = joints.slides[j], joints.turns[j], joints.pitch[j]
    local, y, z, c = matrix(3, 3), vector(3), vector(3), vector(8)
    turned, T, D = matrix(3, 3), matrix(3, 3), matrix(3, 3)
    alpha, beta, gamma = states.alpha[j], states.beta[j], states.gamma[j]
    clear(local)  # rows: arm, its rate, its second rate, frame of the start
    for s in range(n_slides):
        rotate(start.R, joints.axes[j, s], alpha[s])
        for i in range(3):
            beta[s, i], gamma[s, i] = 0.0, 0.0
            local[0, i] += joints.axes[j, s, i] * q[s]
            local[1, i] += joints.axes[j, s, i] * q_t[s]
            local[2, i] += joints.axes[j, s, i] * q_tt[s]
    for i in range(3):
        states.w[j, i], states.w_t[j, i] = 0.0, 0.0
    if turns == ABOUT_AXIS:
        s = n_slides
        for i in range(3):
            local[0, i] += pitch * joints.axis[j, i] * q[s]
            local[1, i] += pitch * joints.axis[j, i] * q_t[s]
            local[2, i] += pitch * joints.axis[j, i] * q_tt[s]
        _turn_about(joints.axis[j], q[s], turned)
        multiply(start.R, turned, end.R)
        rotate(start.R, joints.axis[j], gamma[s])
        for i in range(3):
            alpha[s, i], beta[s, i] = pitch * gamma[s, i], gamma[s, i]
            states.w[j, i] = gamma[s, i] * q_t[s]
            states.w_t[j, i] = gamma[s, i] * q_tt[s]
    elif turns == FREELY:
        s = n_slides
        for i in range(3):
            y[i] = q[s + i]
        coefficients(y, c)
        exponential(y, c, turned)
        tangent_and_slope(y, c, y, T, D)
        multiply(turned, joints.reference[j], D)
        multiply(start.R, D, end.R)
        for k in range(3):
            for i in range(3):
                alpha[s + k, i] = 0.0
                gamma[s + k, i] = start.R[i, k]
                beta[s + k, i] = (
                    start.R[i, 0] * T[0, k] + start.R[i, 1] * T[1, k] + start.R[i, 2] * T[2, k])
                states.w[j, i] += gamma[s + k, i] * q_t[s + k]
                states.w_t[j, i] += gamma[s + k, i] * q_tt[s + k]
    else:
        for i in range(3):
            for k in range(3):
                end.R[i, k] = start.R[i, k]
    rotate(start.R, local[0], states.arm[j])
    rotate(start.R, local[1], states.u[j])
    rotate(start.R, local[2], states.u_t[j])
    shift(start, states.arm[j], end)
    cross(start.Om, states.u[j], y)
    cross(start.Om, states.w[j], z)
    for i in range(3):
        end.p_t[i] += states.u[j, i]
        end.p_tt[i] += 2.0 * y[i] + states.u_t[j, i]
        end.Om[i] += states.w[j, i]
        end.Om_t[i] += states.w_t[j, i] + z[i]


# --- Springs of free turns -----------------------------------------------------------------------

@inner
def turn_spring(reference, turn, stiffness, rest, moment, slope):
    """
    Write the moment (3,) of a spring against a free turn, and its slope (3, 3) with the turn.

    The energy is ``phi^T K phi / 2`` of the rotation vector phi of the whole turn, less `rest`;
    frame of the start.
    """
    X, T, D, c = matrix(3, 3), matrix(3, 3), matrix(3, 3), vector(8)
    whole, phi, y = matrix(3, 3), vector(3), vector(3)
    coefficients(turn, c)
    exponential(turn, c, X)
    tangent_and_slope(turn, c, turn, T, D)
    multiply(X, reference, whole)
    logarithm(whole, phi)
    x = phi[0] ** 2 + phi[1] ** 2 + phi[2] ** 2
    kappa, kappa_s = _kappa(x)
    for i in range(3):
        y[i] = stiffness[i] * (phi[i] - rest[i])
    # T_l^-T = 1 + hat/2 + kappa hat^2
    py = phi[0] * y[0] + phi[1] * y[1] + phi[2] * y[2]
    cross(phi, y, moment)
    inverse, first = matrix(3, 3), matrix(3, 3)  # T_l^-1; d(moment)/dphi
    inverse_tangent(phi, inverse)
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        double = phi[i] * py - y[i] * x
        moment[i] = y[i] + 0.5 * moment[i] + kappa * double
        for k in range(3):  # T_l^-T = T_l^-1 mirrored
            first[i, k] = (inverse[k, i] * stiffness[k]
                           + kappa * (phi[i] * y[k] - 2.0 * y[i] * phi[k])
                           + 2.0 * kappa_s * double * phi[k])
        first[i, i] += kappa * py
        first[i, a] += 0.5 * y[b]
        first[i, b] -= 0.5 * y[a]
    multiply(first, inverse, X)
    multiply(X, T, slope)


@inner
def inverse_tangent(phi, out):
    """Write T_l^-1 = 1 - hat / 2 + kappa hat^2 of a rotation vector, (3, 3)."""
    x = phi[0] ** 2 + phi[1] ** 2 + phi[2] ** 2
    kappa, _ = _kappa(x)
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        for k in range(3):
            out[i, k] = kappa * phi[i] * phi[k]
        out[i, i] += 1.0 - kappa * x
        out[i, a] += 0.5 * phi[b]
        out[i, b] -= 0.5 * phi[a]


@inner
def _kappa(x):
    """Return (1 - h cot h) / x with h = sqrt(x) / 2, and its derivative with x."""
    if x < 1e-2:
        kappa = 1 / 12 + x * (1 / 720 + x * (1 / 30240 + x * (1 / 1209600 + x / 47900160)))
        return kappa, 1 / 720 + x * (1 / 15120 + x * (1 / 403200 + x / 11975040))
    angle = np.sqrt(x)
    h = 0.5 * angle
    cot = np.cos(h) / np.sin(h)
    kappa = (1.0 - h * cot) / x
    slope = (0.5 * cot - 0.5 * h / np.sin(h) ** 2) / (2.0 * angle)
    return kappa, -(kappa + slope) / x


@inner
def logarithm(R, phi):
    """Write the rotation vector of R (3, 3), of an angle up to pi."""
    square = 0.0
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        phi[i] = 0.5 * (R[b, a] - R[a, b])
        square += phi[i] ** 2
    cosine, sine = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0), np.sqrt(square)
    if sine > 1e-4 or cosine > 0.0:
        factor = np.arctan2(sine, cosine) / sine if sine > 1e-8 else 1.0
        for i in range(3):
            phi[i] *= factor
        return
    # Near pi: the axis from the symmetric part, its sign from what is left of the sine.
    best = 0
    for i in range(3):
        if R[i, i] > R[best, best]:
            best = i
    size = np.sqrt(max(0.5 * (1.0 + R[best, best]), 0.0))
    sign = 1.0 if phi[best] >= 0.0 else -1.0
    angle = np.arctan2(sine, cosine)
    for i in range(3):
        if i == best:
            phi[i] = sign * angle * size
        else:
            phi[i] = sign * angle * 0.25 * (R[i, best] + R[best, i]) / size


# --- Variations ----------------------------------------------------------------------------------

@inner
def _add_hat(out, row, col, a, factor):
    """Add factor hat(a) to the block of `out` from (row, col) on."""
    x, y, z = factor * a[0], factor * a[1], factor * a[2]
    out[row, col + 1] -= z
    out[row, col + 2] += y
    out[row + 1, col] += z
    out[row + 1, col + 2] -= x
    out[row + 2, col] -= y
    out[row + 2, col + 1] += x


@inner
def _add_hat_hat(out, row, col, a, b, factor):
    """Add factor hat(a) hat(b) = factor (b a^T - (a . b) 1) to a block of `out`."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    for i in range(3):
        for j in range(3):
            out[row + i, col + j] += factor * b[i] * a[j]
        out[row + i, col + i] -= factor * dot


@inner
def shift_blocks(Om, Om_t, arm, u, X, Y, Z):
    """
    Write how velocity and acceleration at `arm` vary with rotation and angular velocity, (3, 3).

    Of a frame that moves with relative velocity u there, without the rates of u. X: velocity with
    rotation; Y: acceleration with rotation; Z: acceleration with angular velocity. Position with
    rotation, velocity with angular velocity, and acceleration with its rate are minus hat(arm).
    """
    y, z = vector(3), vector(3)
    cross(Om, arm, y)
    for i in range(3):
        z[i] = y[i] + 2.0 * u[i]
        for k in range(3):
            X[i, k], Y[i, k], Z[i, k] = 0.0, 0.0, 0.0
    _add_hat_hat(X, 0, 0, Om, arm, -1.0)    # Om x (psi x a)
    _add_hat(X, 0, 0, u, -1.0)              # psi x u
    _add_hat(Z, 0, 0, z, -1.0)              # dOm x (Om x a + 2 u)
    _add_hat_hat(Z, 0, 0, Om, arm, -1.0)    # Om x (dOm x a)
    _add_hat_hat(Y, 0, 0, Om_t, arm, -1.0)  # Om_t x (psi x a)
    _add_hat_hat(Y, 0, 0, Om, u, -2.0)      # 2 Om x (psi x u)
    # Om x (Om x (psi x a)) = Om (Om . (psi x a)) - Om^2 (psi x a), and Om . (psi x a) is
    # psi . (a x Om)
    square = Om[0] ** 2 + Om[1] ** 2 + Om[2] ** 2
    for i in range(3):
        for k in range(3):
            Y[i, k] -= Om[i] * y[k]
    _add_hat(Y, 0, 0, arm, square)


@inner
def shift_columns(Om, Om_t, arm, u, ny, A, col):
    """
    Write how the motion (18) at `arm` follows from that of the start, from column `col` on.

    Of a frame that moves with relative velocity u there; without that of the rotation's rates.
    Motion is in the order position, rotation, velocity, angular velocity, acceleration, angular
    acceleration: ny = 6 of them in statics.
    """
    for i in range(ny):
        for j in range(ny):
            A[i, col + j] = 0.0
        A[i, col + i] = 1.0
    _add_hat(A, 0, col + 3, arm, -1.0)
    if ny == 6:
        return
    X, Y, Z = matrix(3, 3), matrix(3, 3), matrix(3, 3)
    shift_blocks(Om, Om_t, arm, u, X, Y, Z)
    for i in range(3):
        for k in range(3):
            A[6 + i, col + 3 + k] = X[i, k]
            A[12 + i, col + 3 + k] = Y[i, k]
            A[12 + i, col + 9 + k] = Z[i, k]
    _add_hat(A, 6, col + 9, arm, -1.0)             # dOm x a
    _add_hat(A, 12, col + 15, arm, -1.0)           # dOm_t x a


@merged
def vary_joint(states, j, n, start, wrench, cV, cA, ny, rows, J):
    """
    Write the variations of a joint: rows (n + 6, n + ny), J (ny, n + ny); own columns first.

    Without springs and dampers. `wrench` (6,) acts on its end.
    """
    arm, u, u_t, w, w_t = (
        states.arm[j], states.u[j], states.u_t[j], states.w[j], states.w_t[j])
    Om, Om_t = start.Om, start.Om_t
    y, z = vector(3), vector(3)
    clear(rows)
    shift_columns(Om, Om_t, arm, u, ny, J, n)
    if ny > 6:
        _add_hat(J, 12, n + 3, u_t, -1.0)
        _add_hat(J, 9, n + 3, w, -1.0)
        _add_hat(J, 15, n + 3, w_t, -1.0)
        _add_hat(J, 15, n + 9, w, -1.0)
        _add_hat_hat(J, 15, n + 3, Om, w, -1.0)
    for c in range(n):
        alpha, beta, gamma = states.alpha[j, c], states.beta[j, c], states.gamma[j, c]
        for i in range(3):
            J[i, c], J[3 + i, c] = alpha[i], beta[i]
        if ny > 6:
            cross(Om, alpha, y)
            cross(Om, y, z)
            for i in range(3):
                J[6 + i, c] = y[i] + cV * alpha[i]
                J[12 + i, c] = z[i] + 2.0 * cV * y[i] + cA * alpha[i]
            cross(Om_t, alpha, y)
            cross(Om, gamma, z)
            for i in range(3):
                J[12 + i, c] += y[i]
                J[9 + i, c] = cV * gamma[i]
                J[15 + i, c] = cA * gamma[i] + cV * z[i]
        # Own row: -(psi x alpha) . N - (psi x gamma) . M = -psi . (alpha x N + gamma x M)
        cross(alpha, wrench[:3], y)
        cross(gamma, wrench[3:], z)
        for i in range(3):
            rows[c, n + 3 + i] = -y[i] - z[i]
        # Moment on the start: (psi x a + alpha dq) x N
        cross(alpha, wrench[:3], y)
        for i in range(3):
            rows[n + 3 + i, c] = y[i]
    _lever_columns(arm, wrench, rows, n + 3, n + 3)


@inner
def _lever_columns(arm, force, rows, row, col):
    """Add (psi x arm) x N to a block: psi -> arm (N . psi) - psi (N . arm)."""
    dot = arm[0] * force[0] + arm[1] * force[1] + arm[2] * force[2]
    for i in range(3):
        for k in range(3):
            rows[row + i, col + k] += arm[i] * force[k]
        rows[row + i, col + i] -= dot


# --- Bodies --------------------------------------------------------------------------------------

@merged
def load_body(bodies, link, at, gravity, wrench):
    """Write loads, weight and inertia at the end of link l, about it, world frame, (6,)."""
    y, z, arm, axes = vector(3), vector(3), vector(3), matrix(3, 3)
    rotate(at.R, bodies.follower_force[link], y)
    rotate(at.R, bodies.follower_moment[link], z)
    for i in range(3):
        wrench[i] = bodies.force[link, i] + y[i]
        wrench[3 + i] = bodies.moment[link, i] + z[i]
    multiply(at.R, bodies.lever[link], axes)
    wrench[3] += axes[1, 2] - axes[2, 1]
    wrench[4] += axes[2, 0] - axes[0, 2]
    wrench[5] += axes[0, 1] - axes[1, 0]
    mass = bodies.mass[link]
    if mass == 0.0:
        return
    rotate(at.R, bodies.offset[link], arm)
    cross(at.Om, arm, y)
    cross(at.Om, y, z)
    cross(at.Om_t, arm, y)
    for i in range(3):
        z[i] = mass * (gravity[i] - at.p_tt[i] - y[i] - z[i])
        wrench[i] += z[i]
    cross(arm, z, y)
    multiply(at.R, bodies.axes[link], axes)
    spin(axes, at.Om, at.Om_t, bodies.inertia[link], z)
    for i in range(3):
        wrench[3 + i] += y[i] - z[i]


@merged
def vary_body(bodies, link, at, gravity, ny, D):
    """Add the variation of `load_body` with the motion (ny) of the end to D (6, ny)."""
    y, z, arm, force = vector(3), vector(3), vector(3), vector(3)
    axes = matrix(3, 3)
    rotate(at.R, bodies.follower_force[link], y)
    _add_hat(D, 0, 3, y, -1.0)
    rotate(at.R, bodies.follower_moment[link], y)
    _add_hat(D, 3, 3, y, -1.0)
    multiply(at.R, bodies.lever[link], axes)
    trace = axes[0, 0] + axes[1, 1] + axes[2, 2]
    for i in range(3):  # as `_lever_columns` of each force
        for k in range(3):
            D[3 + i, 3 + k] += axes[i, k]
        D[3 + i, 3 + i] -= trace
    mass = bodies.mass[link]
    if mass == 0.0:
        return
    rotate(at.R, bodies.offset[link], arm)
    cross(at.Om, arm, y)
    cross(at.Om, y, z)
    cross(at.Om_t, arm, y)
    for i in range(3):
        force[i] = mass * (gravity[i] - at.p_tt[i] - y[i] - z[i])
    _lever_columns(arm, force, D, 3, 3)
    if ny == 6:
        return
    # The centre's acceleration, by the same columns; then its force and the moment of that.
    X, Y, Z, none = matrix(3, 3), matrix(3, 3), matrix(3, 3), vector(3)
    none[0], none[1], none[2] = 0.0, 0.0, 0.0
    shift_blocks(at.Om, at.Om_t, arm, none, X, Y, Z)
    clear(X)
    _add_hat(X, 0, 0, arm, -1.0)
    for c in range(3):
        _add_inertia(mass, arm, Y, c, D, 3 + c)
        _add_inertia(mass, arm, Z, c, D, 9 + c)
        _add_inertia(mass, arm, X, c, D, 15 + c)
        D[c, 12 + c] -= mass
    _add_hat(D, 3, 12, arm, -mass)
    multiply(at.R, bodies.axes[link], axes)
    _spin_blocks(axes, at.Om, at.Om_t, bodies.inertia[link], D)


@inner
def _add_inertia(mass, arm, A, c, D, at):
    """Add what an acceleration, column c of A, of a mass does at column `at` of D, with moment."""
    y, z = vector(3), vector(3)
    for i in range(3):
        y[i] = -mass * A[i, c]
        D[i, at] += y[i]
    cross(arm, y, z)
    for i in range(3):
        D[3 + i, at] += z[i]


@inner
def _spin_blocks(axes, Om, Om_t, J, D):
    """Add the variation of minus `spin` with rotation, Om and Om_t to rows 3 to 5 of D."""
    J0, L, L_t, y = matrix(3, 3), vector(3), vector(3), vector(3)
    for i in range(3):
        for j in range(3):
            J0[i, j] = (axes[i, 0] * J[0] * axes[j, 0] + axes[i, 1] * J[1] * axes[j, 1]
                       + axes[i, 2] * J[2] * axes[j, 2])
    rotate(J0, Om, L)
    rotate(J0, Om_t, L_t)
    # spin = J Om_t + Om x J0 Om, and dI = hat(psi) J0 - J0 hat(psi)
    first, second, hat_Om = matrix(3, 3), matrix(3, 3), matrix(3, 3)
    clear(hat_Om)       # d(spin)/dOm = hat(Om) J0 - hat(L)
    _add_hat(hat_Om, 0, 0, Om, 1.0)
    multiply(hat_Om, J0, second)
    _add_hat(second, 0, 0, L, -1.0)
    clear(first)        # d(spin)/dpsi: J Om_t part: -hat(L_t) + J0 hat(Om_t)
    for j in range(3):
        for i in range(3):
            y[i] = 0.0
        a, b = (j + 1) % 3, (j + 2) % 3
        y[a], y[b] = Om_t[b], -Om_t[a]             # column j of hat(Om_t): Om_t x e_j
        for i in range(3):
            first[i, j] += J0[i, 0] * y[0] + J0[i, 1] * y[1] + J0[i, 2] * y[2]
    _add_hat(first, 0, 0, L_t, -1.0)
    # Om x (psi x L - J0 (psi x Om)) = hat(Om) (-hat(L) + J0 hat(Om)) psi
    X, Y = matrix(3, 3), matrix(3, 3)
    multiply(J0, hat_Om, X)
    _add_hat(X, 0, 0, L, -1.0)
    multiply(hat_Om, X, Y)
    for i in range(3):
        for j in range(3):
            D[3 + i, 3 + j] -= first[i, j] + Y[i, j]
            D[3 + i, 9 + j] -= second[i, j]
            D[3 + i, 15 + j] -= J0[i, j]
