r"""
The equations of one rod: residual and exact tangent, statics and dynamics alike.

Virtual work on the discrete kinematics of :mod:`cosserat_ros.strain`. With node forces ``F_k`` and
moments ``L_k`` (gravity, loads, minus inertia, weighted), and the same at the elements' ends,

    P_j = sum_k W_kj F_k + w_j N_j^+          (work-conjugate to dt_j = R dv + psi x t)
    M_e = sum over stations after e of (t_j x P_j + L_j)
    Q = K q + B q_t - sum_j Phi_j^T R_j^T P_j                 (components of v)
    Q = K q + B q_t - sum_e turn_e^T T_e^T R_{e-1}^T M_e      (components of u)

where ``N^+`` is what all beyond the element pulls with. World frame throughout; `T_e` is the left
tangent of the exponential e. Statics is the same residual at ``q_t = q_tt = 0``. The tangent has
one column per mode, carried through the same sums: nothing is differenced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernels import kernel
from .kinematics import (
    add,
    add_cross,
    add_rotated_back,
    add_scaled,
    cross,
    kinematics,
    rotate,
    rotate_back,
    tangent_and_slope,
    turn_columns,
)


class Loads(NamedTuple):
    """What acts on a rod from outside."""

    gravity: np.ndarray          # (3,) world frame [m/s^2]
    line_force: np.ndarray       # (N, 3) dead, world frame, at the nodes [N/m]
    line_moment: np.ndarray      # (N, 3) likewise [N]
    end_force: np.ndarray        # (E, 3) dead, world frame, at the end of each element [N]
    end_moment: np.ndarray       # (E, 3) likewise [N m]
    follower_force: np.ndarray   # (E, 3) body frame at the end of each element [N]
    follower_moment: np.ndarray  # (E, 3) likewise [N m]
    drag: np.ndarray             # (3,) square-law, body frame: force -drag q|q| [kg/m^2]


# --- Residual ------------------------------------------------------------------------------------

@kernel
def node_loads(d, loads, x):
    """
    Return what acts at the nodes, weighted: forces F and moments L, (N, 3) each, world frame.

    Gravity, line loads, drag, and minus the rate of momentum.
    """
    N = d.s.size
    F, L = np.empty((N, 3)), np.empty((N, 3))
    w_body, h, y, speed = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for k in range(N):
        R = x.Rc[d.station[k]]
        rotate_back(R, x.p_t[k], speed)
        for i in range(3):
            y[i] = -loads.drag[i] * speed[i] * abs(speed[i])
        rotate(R, y, h)
        for i in range(3):
            F[k, i] = d.w[k] * (
                d.inertia[k, i] * (loads.gravity[i] - x.p_tt[k, i]) + loads.line_force[k, i]
                + h[i])
        # Rotary inertia in the body frame: J w_t + w x J w.
        rotate_back(R, x.Om[d.station[k]], w_body)
        rotate_back(R, x.Om_t[d.station[k]], y)
        for i in range(3):
            h[i] = d.inertia[k, 3 + i] * w_body[i]
            y[i] *= d.inertia[k, 3 + i]
        cross(w_body, h, speed)
        for i in range(3):
            y[i] += speed[i]
        rotate(R, y, h)
        for i in range(3):
            L[k, i] = d.w[k] * (loads.line_moment[k, i] - h[i])
    return F, L


@kernel
def end_loads(d, loads, x):
    """Return forces and moments at the elements' ends, (E, 3) each, world frame."""
    E = d.W.shape[0]
    F, L = loads.end_force.copy(), loads.end_moment.copy()
    y = np.empty(3)
    for a in range(E):
        R = x.Rc[d.end_station[a]]
        rotate(R, loads.follower_force[a], y)
        for i in range(3):
            F[a, i] += y[i]
        rotate(R, loads.follower_moment[a], y)
        for i in range(3):
            L[a, i] += y[i]
    return F, L


@kernel
def adjoint(d, x, F, L, F_end, L_end):
    """
    Return what the loads do to the strains.

    Parameters
    ----------
    d : Discretisation
    x : State
    F, L : (N, 3) float64
        Forces [N] and moments [N m] at the nodes, weighted.
    F_end, L_end : (E, 3) float64
        The same at the elements' ends.

    Returns
    -------
    P : (N, 3) float64
        Weighted internal force at the nodes, w N [N m].
    M : (M + 1, 3) float64
        Moment that acts through each exponential; M[0] is that on the base [N m].
    N_base : (3,) float64
        Force on the base [N].

    """
    E = d.W.shape[0]
    m = d.s.size // E
    P = np.empty((d.s.size, 3))
    M = np.zeros((x.Rc.shape[0], 3))
    N_beyond = np.zeros(3)
    y = np.empty(3)
    for a in range(E - 1, -1, -1):
        first, last = a * m, (a + 1) * m
        for i in range(3):
            N_beyond[i] += F_end[a, i]
            M[d.end_station[a], i] += L_end[a, i]
        for k in range(first, last):
            for i in range(3):
                P[k, i] = d.w[k] * N_beyond[i]
                for j in range(m):
                    P[k, i] += d.W[a, j, k - first] * F[first + j, i]
        for k in range(first, last):
            cross(x.t[k], P[k], y)
            for i in range(3):
                M[d.station[k], i] += y[i] + L[k, i]
                N_beyond[i] += F[k, i]
    for e in range(M.shape[0] - 2, -1, -1):
        for i in range(3):
            M[e, i] += M[e + 1, i]
    return P, M, N_beyond


@kernel
def residual(d, base, loads, q, q_t, q_tt):
    """
    Return the generalised forces out of balance, and what the tangent is made of.

    Parameters
    ----------
    d : Discretisation
    base : Base
    loads : Loads
    q, q_t, q_tt : (n,) float64

    Returns
    -------
    Q : (n,) float64
        Zero in balance [J per unit of q].
    x : State
    P, M : float64 arrays
        Of `adjoint`.

    """
    x = kinematics(d, base, q, q_t, q_tt)
    F, L = node_loads(d, loads, x)
    F_end, L_end = end_loads(d, loads, x)
    P, M, _ = adjoint(d, x, F, L, F_end, L_end)
    force = np.empty((d.s.size, 3))
    for k in range(d.s.size):
        rotate_back(x.Rc[d.station[k]], P[k], force[k])
    moment = np.empty((x.Omega.shape[0], 3))
    T, D, y = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for e in range(moment.shape[0]):
        rotate_back(x.Rc[e], M[e + 1], y)
        tangent_and_slope(x.Omega[e], y, T, D)
        rotate_back(T, y, moment[e])
    Q = np.zeros(q.size)
    for c in range(q.size):
        for b in range(q.size):
            Q[c] += d.elastic[c, b] * q[b] + d.viscous[c, b] * q_t[b]
        i = d.component[c]
        if i < 3:
            for k in range(force.shape[0]):
                Q[c] -= d.Phi[k, c] * force[k, i]
        else:
            for e in range(moment.shape[0]):
                Q[c] -= d.turn[e, c] * moment[e, i - 3]
    return Q, x, P, M


# --- Tangent -------------------------------------------------------------------------------------

@kernel
def tangent(d, loads, x, P, M, cV, cA):
    """
    Return the derivative of the residual with q, (n, n), where q_t and q_tt follow q.

    Parameters
    ----------
    d : Discretisation
    loads : Loads
    x : State
    P, M : float64 arrays
        Of `adjoint` at this state.
    cV, cA : float
        ``q_t = cV q + ...`` [1/s] and ``q_tt = cA q + ...`` [1/s^2]; 0 in statics.

    """
    n = d.Phi.shape[1]
    psi, dOm, dOm_t = turn_columns(d, x, cV, cA)
    dt, dt_t, dt_tt = _node_columns(d, x, psi, dOm, dOm_t, cV, cA)
    dF, dL = _load_columns(d, loads, x, psi, dOm, dOm_t, dt_t, dt_tt)
    force, dM = _adjoint_columns(d, loads, x, P, psi, dt, dF, dL)
    moment = _moment_columns(d, x, M, dM, psi)
    K = np.empty((n, n))
    for b in range(n):
        for c in range(n):
            K[b, c] = d.elastic[b, c] + cV * d.viscous[b, c]
        i = d.component[b]
        if i < 3:
            _subtract(d.Phi, force, b, i, K)
        else:
            _subtract(d.turn, moment, b, i - 3, K)
    return K


@kernel
def _subtract(weights, columns, b, i, K):
    """Subtract the sum over k of weights[k, b] columns[k, i] from row b of K."""
    for k in range(weights.shape[0]):
        weight = weights[k, b]
        if weight != 0.0:
            for c in range(K.shape[1]):
                K[b, c] -= weight * columns[k, i, c]


@kernel
def _node_columns(d, x, psi, dOm, dOm_t, cV, cA):
    """Return the variations of t, t_t and t_tt at the nodes, (N, 3, n) each."""
    N, n = d.Phi.shape
    dt, dt_t, dt_tt = np.zeros((N, 3, n)), np.zeros((N, 3, n)), np.zeros((N, 3, n))
    Rv_t, Rv_tt, y = np.empty(3), np.empty(3), np.empty(3)
    inner = np.empty((3, n))
    for k in range(N):
        e = d.station[k]
        R, Om, t = x.Rc[e], x.Om[e], x.t[k]
        rotate(R, x.xi_t[k, :3], Rv_t)
        rotate(R, x.xi_tt[k, :3], Rv_tt)
        for i in range(3):
            for c in range(n):
                inner[i, c] = 0.0  # of Om x t + 2 R v_t
        for c in range(n):
            j = d.component[c]
            if j < 3:
                for i in range(3):
                    s = d.Phi[k, c] * R[i, j]
                    dt[k, i, c] = s
                    dt_t[k, i, c] = cV * s
                    dt_tt[k, i, c] = cA * s
                    inner[i, c] = 2.0 * cV * s
        add_cross(t, psi[e], dt[k], -1.0)
        add_cross(Rv_t, psi[e], dt_t[k], -1.0)
        add_cross(t, dOm[e], dt_t[k], -1.0)
        add_cross(Om, dt[k], dt_t[k], 1.0)
        add_cross(Rv_t, psi[e], inner, -2.0)
        add_cross(t, dOm[e], inner, -1.0)
        add_cross(Om, dt[k], inner, 1.0)
        add_cross(Rv_tt, psi[e], dt_tt[k], -1.0)
        add_cross(t, dOm_t[e], dt_tt[k], -1.0)
        add_cross(x.Om_t[e], dt[k], dt_tt[k], 1.0)
        cross(Om, t, y)
        for i in range(3):
            y[i] += 2.0 * Rv_t[i]
        add_cross(y, dOm[e], dt_tt[k], -1.0)
        add_cross(Om, inner, dt_tt[k], 1.0)
    return dt, dt_t, dt_tt


@kernel
def _load_columns(d, loads, x, psi, dOm, dOm_t, dt_t, dt_tt):
    """Return the variations of the node loads F and L, (N, 3, n) each."""
    N, n = d.Phi.shape
    E = d.W.shape[0]
    m = N // E
    dF, dL = np.zeros((N, 3, n)), np.zeros((N, 3, n))
    start_t, start_tt, dp_t = np.zeros((3, n)), np.zeros((3, n)), np.zeros((3, n))
    drags = loads.drag[0] != 0.0 or loads.drag[1] != 0.0 or loads.drag[2] != 0.0
    for a in range(E):
        first, last = a * m, (a + 1) * m
        for k in range(first, last):
            add(start_tt, dF[k], 1.0)
            for j in range(m):
                add(dt_tt[first + j], dF[k], d.W[a, k - first, j])
            for i in range(3):
                for c in range(n):
                    dF[k, i, c] *= -d.w[k] * d.inertia[k, i]
                    dp_t[i, c] = start_t[i, c]
            if drags:
                for j in range(m):
                    add(dt_t[first + j], dp_t, d.W[a, k - first, j])
                _drag_columns(d, loads, x, k, psi, dp_t, dF[k])
            _spin_columns(d, x, k, psi, dOm, dOm_t, dL[k])
        for k in range(first, last):
            add(dt_t[k], start_t, d.w[k])
            add(dt_tt[k], start_tt, d.w[k])
    return dF, dL


@kernel
def _adjoint_columns(d, loads, x, P, psi, dt, dF, dL):
    """Return the variations of R^T P (N, 3, n) and of M (M + 1, 3, n)."""
    N, n = d.Phi.shape
    E = d.W.shape[0]
    m = N // E
    force = np.zeros((N, 3, n))
    dM = np.zeros((x.Rc.shape[0], 3, n))
    dN = np.zeros((3, n))
    y = np.empty(3)
    for a in range(E - 1, -1, -1):
        first, last = a * m, (a + 1) * m
        e = d.end_station[a]
        rotate(x.Rc[e], loads.follower_force[a], y)
        add_cross(y, psi[e], dN, -1.0)
        rotate(x.Rc[e], loads.follower_moment[a], y)
        add_cross(y, psi[e], dM[e], -1.0)
        for k in range(first, last):
            e = d.station[k]
            dP = np.zeros((3, n))
            add(dN, dP, d.w[k])
            for j in range(m):
                add(dF[first + j], dP, d.W[a, j, k - first])
            add_cross(x.t[k], dP, dM[e], 1.0)
            add_cross(P[k], dt[k], dM[e], -1.0)
            add(dL[k], dM[e], 1.0)
            add_cross(P[k], psi[e], dP, 1.0)
            add_rotated_back(x.Rc[e], dP, force[k])
        for k in range(first, last):
            add(dF[k], dN, 1.0)
    for e in range(dM.shape[0] - 2, -1, -1):
        add(dM[e + 1], dM[e], 1.0)
    return force, dM


@kernel
def _drag_columns(d, loads, x, k, psi, dp_t, dF):
    """Add the variation of drag at node k to dF (3, n)."""
    n = dF.shape[1]
    e = d.station[k]
    R = x.Rc[e]
    speed, f, force = np.empty(3), np.empty(3), np.empty(3)
    rotate_back(R, x.p_t[k], speed)
    for i in range(3):
        f[i] = -loads.drag[i] * speed[i] * abs(speed[i])
    rotate(R, f, force)
    relative = dp_t.copy()
    add_cross(x.p_t[k], psi[e], relative, 1.0)
    dspeed = np.zeros((3, n))
    add_rotated_back(R, relative, dspeed)
    for i in range(3):
        f[i] = -2.0 * loads.drag[i] * abs(speed[i])
        force[i] *= d.w[k]
    add_cross(force, psi[e], dF, -1.0)
    add_scaled(R, f, dspeed, dF, d.w[k])


@kernel
def _spin_columns(d, x, k, psi, dOm, dOm_t, dL):
    """Add the variation of minus the rate of angular momentum at node k to dL (3, n)."""
    n = dL.shape[1]
    e = d.station[k]
    R = x.Rc[e]
    J = d.inertia[k, 3:]
    w, w_t, h, y = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    rotate_back(R, x.Om[e], w)
    rotate_back(R, x.Om_t[e], w_t)
    for i in range(3):
        h[i] = J[i] * w[i]
    cross(w, h, y)
    for i in range(3):
        y[i] = d.w[k] * (y[i] + J[i] * w_t[i])
    relative, dw, rate = dOm[e].copy(), np.zeros((3, n)), np.zeros((3, n))
    add_cross(x.Om[e], psi[e], relative, 1.0)
    add_rotated_back(R, relative, dw)            # dw
    for i in range(3):
        for c in range(n):
            relative[i, c] = dOm_t[e, i, c]
    add_cross(x.Om_t[e], psi[e], relative, 1.0)
    add_rotated_back(R, relative, rate)          # dw_t
    for i in range(3):
        for c in range(n):
            rate[i, c] *= J[i]
    add_cross(h, dw, rate, -1.0)                 # dw x J w
    for i in range(3):
        for c in range(n):
            dw[i, c] *= J[i]
    add_cross(w, dw, rate, 1.0)                  # w x J dw
    one = np.ones(3)
    add_scaled(R, one, rate, dL, -d.w[k])
    rotate(R, y, h)
    add_cross(h, psi[e], dL, 1.0)


@kernel
def _moment_columns(d, x, M, dM, psi):
    """Return the variation of T_e^T R_{e-1}^T M_e with each coordinate, (M, 3, n)."""
    steps, n = d.turn.shape
    z = np.zeros((steps, 3, n))
    T, D = np.empty((3, 3)), np.empty((3, 3))
    y, minus = np.empty(3), np.empty(3)
    column = np.empty((3, n))
    for e in range(steps):
        R = x.Rc[e]
        rotate_back(R, M[e + 1], y)
        for i in range(3):
            minus[i] = -x.Omega[e, i]
        tangent_and_slope(minus, y, T, D)  # T(-o) = T(o)^T, and D = d(T(-o) y)/d(-o)
        relative = dM[e + 1].copy()
        add_cross(M[e + 1], psi[e], relative, 1.0)
        for i in range(3):
            for c in range(n):
                column[i, c] = 0.0
        add_rotated_back(R, relative, column)
        for i in range(3):
            for c in range(n):
                z[e, i, c] = (
                    T[i, 0] * column[0, c] + T[i, 1] * column[1, c] + T[i, 2] * column[2, c])
        for c in range(n):
            mu = d.turn[e, c]
            if mu != 0.0:
                j = d.component[c] - 3
                for i in range(3):
                    z[e, i, c] -= mu * D[i, j]
    return z
