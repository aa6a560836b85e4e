r"""
The tangent of one element with the motion of its start.

The start carries all of the element as a rigid body, so that these columns of
:mod:`cosserat_ros.assembly.element_tangent`, [F; D; A], have closed forms. Rates of the start
change the nodes' inertia forces by dF, dL, and ``F = -sum (dp^T dF + psi^T dL)`` (virtual work).
Its rotation is the opposite of turning all else, which nothing feels: what is a vector in the
world (velocities of the start, gravity, loads, the wrench at the end) is turned back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import empty, matrix, vector, zeros
from ..numerics.kernels import inner
from ..numerics.rotations import add_like, cross, rotate, rotate_back
from .element import clear, drags_at_all, Motion


class Surroundings(NamedTuple):
    """What an element meets, world frame."""

    gravity: np.ndarray   # (3,) [m/s^2]
    start: Motion
    at_start: np.ndarray  # (6,) wrench [N, N m]
    at_end: np.ndarray    # (6,)


@inner
def rotating(start, lever, drift, u, out):
    """
    Write the change of a point's acceleration with that of the start's angular velocity, u (3,).

    Parameters
    ----------
    start : Motion
    lever, drift : (3,) float64
        From the start to the point [m], and its rate less that of the start and of the lever's
        turn with it [m/s].
    u, out : (3,) float64

    """
    y, z = vector(3), vector(3)
    cross(start.Om, lever, y)
    for i in range(3):
        y[i] += 2.0 * drift[i]
    cross(u, y, out)
    cross(u, lever, y)
    cross(start.Om, y, z)
    for i in range(3):
        out[i] += z[i]


@inner
def _carried_load(d, loads, start, x, k, lever, dF, dL):
    """
    Write the change of a node's force and moment (3, 12) with the start's rates.

    Of velocity, angular velocity, acceleration, angular acceleration.
    """
    e = x.Omega.shape[0] // (x.t.shape[0] + 1) * (k + 1)
    R, Om, J, w = x.Rc[e], x.Om[e], d.inertia[k, 3:], d.w[k]
    J_world, u, y, z, rate = matrix(3, 3), vector(3), vector(3), vector(3), vector(3)
    drift, turn, h = vector(3), vector(3), vector(3)
    cross(start.Om, lever, y)
    for i in range(3):
        drift[i] = x.p_t[k, i] - start.p_t[i] - y[i]
        turn[i] = Om[i] - start.Om[i]
        for j in range(3):
            J_world[i, j] = R[i, 0] * J[0] * R[j, 0] + R[i, 1] * J[1] * R[j, 1] + (
                R[i, 2] * J[2] * R[j, 2])
    rotate(J_world, Om, h)
    clear(dF)
    clear(dL)
    for c in range(3):
        for i in range(3):
            u[i] = 1.0 if i == c else 0.0
        dF[c, 6 + c] = -w * d.inertia[k, c]
        rotating(start, lever, drift, u, y)
        cross(u, lever, z)
        for i in range(3):
            dF[i, 3 + c] = -w * d.inertia[k, i] * y[i]
            dF[i, 9 + c] = -w * d.inertia[k, i] * z[i]
            dL[i, 9 + c] = -w * J_world[i, c]
        # Of J Om_t + Om x J Om.
        cross(u, turn, y)
        rotate(J_world, y, rate)
        cross(u, h, y)
        cross(Om, J_world[c], z)  # which is symmetric
        for i in range(3):
            dL[i, 3 + c] = -w * (rate[i] + y[i] + z[i])
    if drags_at_all(loads):
        _carried_drag(loads, R, x.p_t[k], w, lever, dF)


@inner
def _carried_drag(loads, R, p_t, w, lever, dF):
    """Add the change of drag at a node to dF (3, 12)."""
    speed, slope, u, y = vector(3), matrix(3, 3), vector(3), vector(3)
    rotate_back(R, p_t, speed)
    for i in range(3):
        y[i] = -w * (2.0 * loads.square_drag[i] * abs(speed[i]) + loads.linear_drag[i])
    for i in range(3):
        for j in range(3):
            slope[i, j] = R[i, 0] * y[0] * R[j, 0] + R[i, 1] * y[1] * R[j, 1] + (
                R[i, 2] * y[2] * R[j, 2])
    for c in range(3):
        for i in range(3):
            u[i] = 1.0 if i == c else 0.0
            dF[i, c] += slope[i, c]
        cross(u, lever, y)
        for i in range(3):
            dF[i, 3 + c] += slope[i, 0] * y[0] + slope[i, 1] * y[1] + slope[i, 2] * y[2]


@inner
def start_columns(d, loads, touching, around, x, psi, dt, still, rows, J, room):
    """Write the columns of the motion of the start: those after the element's own."""
    m, n = d.Phi.shape
    stride = x.Omega.shape[0] // (m + 1)
    start = around.start
    B = zeros(room, (12, n + 6))  # columns of the rates, as rows
    dp, lever, u, y = empty(room, (3, n)), vector(3), vector(3), vector(3)
    dF, dL = matrix(3, 12), matrix(3, 12)
    for i in range(n + 6):
        for c in range(6):
            rows[i, n + c] = 0.0
    for k in range(m):
        e = stride * (k + 1)
        for i in range(3):
            lever[i] = x.p[k, i] - start.p[i]
            for c in range(n):
                dp[i, c] = 0.0
        for j in range(m):
            add_like(dt[j], dp, d.W[k, j])
        _carried_load(d, loads, start, x, k, lever, dF, dL)
        for b in range(6 if still else 0, 9 if still else 12):
            for i in range(3):
                f, moment = dF[i, b], dL[i, b]
                u[i] = f
                if f != 0.0 or moment != 0.0:
                    for c in range(n):
                        B[b, c] -= f * dp[i, c] + moment * psi[e, i, c]
            cross(lever, u, y)
            for i in range(3):
                B[b, n + i] += dF[i, b]
                B[b, n + 3 + i] += y[i] + dL[i, b]
        turn_back(d.w[k], loads.line_force[k], loads.line_moment[k], lever, dp, psi[e], rows)
    if not still:
        for b in range(12):
            for i in range(n + 6):
                rows[i, n + 6 + b] = B[b, i]
    _turn_start_back(d, around, B, J, x, psi, rows)
    _end_with_start(d, around, x, still, J)
    for c in range(touching.F.shape[0]):
        _carried_contact(touching, c, start, dt, psi, still, dp, rows)


@inner
def _carried_contact(touching, c, start, dt, psi, still, dp, rows):
    """
    Add the columns of a point in contact.

    Its force changes with the start's position, rotation, velocity and angular velocity; what does
    not change is turned back as a dead load.
    """
    n, F, K, D = dp.shape[1], touching.F[c], touching.K[c], touching.D[c]
    lever, drift, u, v = vector(3), vector(3), vector(3), vector(3)
    y, z, dF = vector(3), vector(3), vector(3)
    for i in range(3):
        lever[i] = touching.p[c, i] - start.p[i]
        z[i] = 0.0
        for k in range(n):
            dp[i, k] = 0.0
    for j in range(dt.shape[0]):
        add_like(dt[j], dp, touching.W[c, j])
    cross(start.Om, lever, y)
    for i in range(3):
        drift[i] = touching.p_t[c, i] - start.p_t[i] - y[i]
    turn_back(1.0, F, z, lever, dp, psi[0], rows)
    for b in range(6 if still else 12):
        for i in range(3):
            u[i] = v[i] = 0.0
            z[i] = 1.0 if i == b % 3 else 0.0
        if b < 3:
            u[b] = 1.0
        elif b < 6:
            cross(z, lever, u)
            cross(start.Om, u, v)
            cross(z, drift, y)
            for i in range(3):
                v[i] += y[i]
        elif b < 9:
            v[b - 6] = 1.0
        else:
            cross(z, lever, v)
        for i in range(3):
            dF[i] = 0.0
            for j in range(3):
                dF[i] += K[i, j] * u[j] + (0.0 if still else D[i, j] * v[j])
        for k in range(n):
            rows[k, n + b] -= dF[0] * dp[0, k] + dF[1] * dp[1, k] + dF[2] * dp[2, k]
        cross(lever, dF, y)
        for i in range(3):
            rows[n + i, n + b] += dF[i]
            rows[n + 3 + i, n + b] += y[i]


@inner
def turn_back(weight, force, moment, lever, dp, psi, rows):
    """Add what it makes in the columns of rotation to turn a load back: minus its turn."""
    n, u, v, y = dp.shape[1], vector(3), vector(3), vector(3)
    some = False
    for i in range(3):
        some = some or force[i] != 0.0 or moment[i] != 0.0
    if not some:
        return
    for a in range(3):
        for i in range(3):
            y[i] = weight if i == a else 0.0
        cross(y, force, u)
        cross(y, moment, v)
        for i in range(3):
            for c in range(n):
                rows[c, n + 3 + a] += u[i] * dp[i, c] + v[i] * psi[i, c]
        cross(lever, u, y)
        for i in range(3):
            rows[n + i, n + 3 + a] -= u[i]
            rows[n + 3 + i, n + 3 + a] -= v[i] + y[i]


@inner
def _turn_start_back(d, around, B, J, x, psi, rows):
    """Complete the columns of the start's rotation: all vectors of the world are turned back."""
    n, start = d.Phi.shape[1], around.start
    lever, u, y, back = vector(3), vector(3), vector(3), vector(12)
    for i in range(3):
        lever[i] = 0.0
        for k in range(d.w.size):
            lever[i] += d.w[k] * x.t[k, i]
    turn_back(1.0, around.at_end[:3], around.at_end[3:], lever, J[0:3, :n], J[3:6, :n], rows)
    for a in range(3):
        for i in range(3):
            u[i] = 1.0 if i == a else 0.0
            y[i] = start.p_tt[i] - around.gravity[i]
        cross(u, start.p_t, back[0:3])
        cross(u, start.Om, back[3:6])
        cross(u, y, back[6:9])
        cross(u, start.Om_t, back[9:12])
        for b in range(12):
            if back[b] != 0.0:
                for i in range(n + 6):
                    rows[i, n + 3 + a] -= back[b] * B[b, i]
        cross(u, around.at_start[:3], y)
        for i in range(3):
            rows[n + i, n + 3 + a] += y[i]
        cross(u, around.at_start[3:], y)
        for i in range(3):
            rows[n + 3 + i, n + 3 + a] += y[i]


@inner
def _end_with_start(d, around, x, still, J):
    """Write the columns of the end's motion with that of the start."""
    n, last, start = d.Phi.shape[1], x.Omega.shape[0], around.start
    lever, rate, second = vector(3), vector(3), vector(3)
    drift, turn, u = vector(3), vector(3), vector(3)
    v, y, z = vector(3), vector(3), vector(3)
    for i in range(3):
        lever[i], rate[i], second[i] = 0.0, 0.0, 0.0
        for k in range(d.w.size):
            lever[i] += d.w[k] * x.t[k, i]
            rate[i] += d.w[k] * x.t_t[k, i]
            second[i] += d.w[k] * x.t_tt[k, i]
        turn[i] = x.Om[last, i] - start.Om[i]
    cross(start.Om, lever, y)
    for i in range(3):
        drift[i] = rate[i] - y[i]
    for c in range(3):
        for i in range(3):
            u[i] = 1.0 if i == c else 0.0
        J[c, n + c] = J[3 + c, n + 3 + c] = 1.0
        cross(u, lever, y)
        for i in range(3):
            J[i, n + 3 + c] = y[i]
        if still:
            continue
        for i in range(3):
            J[6 + i, n + 9 + c] = J[12 + i, n + 15 + c] = y[i]
        J[6 + c, n + 6 + c] = J[9 + c, n + 9 + c] = 1.0
        J[12 + c, n + 12 + c] = J[15 + c, n + 15 + c] = 1.0
        cross(u, turn, y)
        rotating(start, lever, drift, u, z)
        for i in range(3):
            J[9 + i, n + 3 + c] = y[i]
            J[15 + i, n + 9 + c] = y[i]
            J[12 + i, n + 9 + c] = z[i]
        # With rotation: that of the whole, less that of the start's velocities.
        cross(u, start.Om, v)
        cross(u, rate, y)
        cross(v, lever, z)
        for i in range(3):
            J[6 + i, n + 3 + c] = y[i] - z[i]
        cross(u, second, y)
        rotating(start, lever, drift, v, z)
        for i in range(3):
            J[12 + i, n + 3 + c] = y[i] - z[i]
        cross(u, x.Om_t[last], y)
        cross(v, turn, z)
        cross(u, start.Om_t, v)
        for i in range(3):
            J[15 + i, n + 3 + c] = y[i] - z[i] - v[i]
        cross(v, lever, z)
        for i in range(3):
            J[12 + i, n + 3 + c] -= z[i]
