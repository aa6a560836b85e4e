r"""
The tangent of one element: one column per variation, carried through the same sums as its motion.

Columns belong to its own coordinates, and, where its start may move, to the position, rotation,
velocity, angular velocity, acceleration and angular acceleration of that (3 each; in statics to
position and rotation alone). Without contact, the position of the start changes nothing but that
of the end.

    [ dQ  ]   [ K  F ] [ dq ]
    [ dl  ] = [ E  D ] [    ]          dl: force and moment on the start
    [ dy' ]   [ B  A ] [ dy ]          dy': motion of the end

The columns of the start are in :mod:`cosserat_ros.assembly.element_start`.
"""

from __future__ import annotations

from ..laws.actuators import add_curvature
from ..numerics.arena import empty, matrix, unowned, vector, zeros
from ..numerics.kernels import inner, remote
from ..numerics.rotations import (
    acceleration_slopes,
    add,
    add_cross,
    add_like,
    add_rotated,
    add_rotated_back,
    cross,
    rotate,
    rotate_back,
    tangent_and_slope,
)
from .element import clear, drags_at_all, spin
from .element_flow import flow_columns, flow_with_start
from .element_start import start_columns


def tangent_size(n: int, m: int, steps: int, points: int) -> int:
    """Return how much room `vary` needs, with so many points of contact."""
    return n * (15 * (steps + 1) + 27 * m + 49 + 6 * points) + 12 * (n + 6) + 36 * m + 200


@unowned
@remote
def vary(d, loads, paths, touching, flow, around, x, cV, cA, moving, still, rows, J, room):
    """
    Write the derivatives of an element's equations and of the motion of its end.

    Without those of bristles against bending.

    Parameters
    ----------
    d, loads, paths, touching, flow
        As for `move` and `balance`.
    around : Surroundings
    x : ElementState
        After `balance`.
    cV, cA : float
        ``q_t = cV q + ...`` [1/s] and ``q_tt = cA q + ...`` [1/s^2]; 0 in statics.
    moving : bool
        Whether the start may move: there are columns for it then, and rows of the wrench.
    still : bool
        Whether nothing moves, nor does with the coordinates: statics.
    rows : (n [+ 6], C) float64
        Of Q, and of the wrench on the start; overwritten.
    J : (18, C) float64
        Of the end; overwritten. (6, C) in statics.

    """
    m, n = d.Phi.shape
    M = x.Omega.shape[0]
    shape = M + 1, 3, n
    psi, dOm, dOm_t = zeros(room, shape), zeros(room, shape), zeros(room, shape)
    _turn_columns(d, x, cV, cA, still, psi, dOm, dOm_t)
    shape = m, 3, n
    dt, dt_t, dt_tt = zeros(room, shape), zeros(room, shape), zeros(room, shape)
    _node_columns(d, x, psi, dOm, dOm_t, cV, cA, still, dt, dt_t, dt_tt, room)
    dF, dL = zeros(room, shape), zeros(room, shape)
    if not still:
        _load_columns(d, loads, x, psi, dOm, dOm_t, dt_t, dt_tt, dF, dL, room)
        if flow.wrench.shape[0] > 0:
            flow_columns(d, flow, x, psi, dOm, dOm_t, dt_t, dt_tt, dF, dL, room)
    _end_columns(d, psi, dOm, dOm_t, dt, dt_t, dt_tt, still, J)
    force, dM = dL, zeros(room, (M + 1, 3, n))  # dL is used up station by station
    dN = zeros(room, (3, n))
    dC = zeros(room, (touching.F.shape[0], 3, n))
    if touching.F.shape[0] > 0:
        _contact_columns(touching, dt, dt_t, still, dC)
    _adjoint_columns(d, touching, dC, x, psi, dt, dF, force, dM, dN, still, room)
    _own_rows(d, x, psi, force, dM, cV, rows, room)
    if paths.weight.shape[0] > 0:
        _add_actuators(d, paths, x, rows, room)
    if moving:
        for i in range(3):
            for c in range(n):
                rows[n + i, c] = dN[i, c]
                rows[n + 3 + i, c] = dM[0, i, c]
        start_columns(d, loads, touching, around, x, psi, dt, still, rows, J, room)
        if flow.wrench.shape[0] > 0 and not still:
            flow_with_start(d, flow, around.start, x, psi, dt, rows, room)


# --- Columns of its own coordinates --------------------------------------------------------------

@inner
def _turn_columns(d, x, cV, cA, still, psi, dOm, dOm_t):
    """Write the variations of rotation, angular velocity and acceleration along the chain."""
    n, bending = d.turn.shape[1], 0
    while bending < n and d.component[bending] < 3:  # modes in the order of their components
        bending += 1
    T, D, E1, E2 = matrix(3, 3), matrix(3, 3), matrix(3, 3), matrix(3, 3)
    A, A_t, A_tt, X = matrix(3, 3), matrix(3, 3), matrix(3, 3), matrix(3, 3)
    for e in range(x.Omega.shape[0]):
        R, Om, ra, rb, o = x.Rc[e], x.Om[e], x.step[e], x.step_t[e], x.Omega[e]
        tangent_and_slope(o, x.c[e], x.Omega_t[e], T, D)
        if not still:
            acceleration_slopes(o, x.c[e], x.Omega_t[e], E1, E2)
            tangent_and_slope(o, x.c[e], x.Omega_tt[e], T, X)
            for i in range(3):
                for j in range(3):
                    E1[i, j] += cA * T[i, j] + X[i, j] + cV * E2[i, j]
                    D[i, j] += cV * T[i, j]
        for i in range(3):
            for j in range(3):
                A[i, j] = R[i, 0] * T[0, j] + R[i, 1] * T[1, j] + R[i, 2] * T[2, j]
                A_t[i, j] = R[i, 0] * D[0, j] + R[i, 1] * D[1, j] + R[i, 2] * D[2, j]
                A_tt[i, j] = R[i, 0] * E1[0, j] + R[i, 1] * E1[1, j] + R[i, 2] * E1[2, j]
        for k in range(bending, n):
            mu, j = d.turn[e, k], d.component[k] - 3
            for i in range(3):
                psi[e + 1, i, k] = psi[e, i, k] + mu * A[i, j]
            if still:
                continue
            # dOm += a, a = psi x R a + ...;  dOm_t += psi x R b + dOm x R a + Om x a + ...
            y0, y1, y2 = psi[e, 0, k], psi[e, 1, k], psi[e, 2, k]
            v0, v1, v2 = dOm[e, 0, k], dOm[e, 1, k], dOm[e, 2, k]
            a0 = y1 * ra[2] - y2 * ra[1] + mu * A_t[0, j]
            a1 = y2 * ra[0] - y0 * ra[2] + mu * A_t[1, j]
            a2 = y0 * ra[1] - y1 * ra[0] + mu * A_t[2, j]
            dOm[e + 1, 0, k] = v0 + a0
            dOm[e + 1, 1, k] = v1 + a1
            dOm[e + 1, 2, k] = v2 + a2
            dOm_t[e + 1, 0, k] = (dOm_t[e, 0, k] + y1 * rb[2] - y2 * rb[1] + v1 * ra[2]
                                  - v2 * ra[1] + Om[1] * a2 - Om[2] * a1 + mu * A_tt[0, j])
            dOm_t[e + 1, 1, k] = (dOm_t[e, 1, k] + y2 * rb[0] - y0 * rb[2] + v2 * ra[0]
                                  - v0 * ra[2] + Om[2] * a0 - Om[0] * a2 + mu * A_tt[1, j])
            dOm_t[e + 1, 2, k] = (dOm_t[e, 2, k] + y0 * rb[1] - y1 * rb[0] + v0 * ra[1]
                                  - v1 * ra[0] + Om[0] * a1 - Om[1] * a0 + mu * A_tt[2, j])


@inner
def _node_columns(d, x, psi, dOm, dOm_t, cV, cA, still, dt, dt_t, dt_tt, room):
    """Write the variations of t, t_t and t_tt at the nodes, (m, 3, C) each."""
    m, n = d.Phi.shape
    C, stride = psi.shape[2], x.Omega.shape[0] // (m + 1)
    Rv_t, Rv_tt, y = vector(3), vector(3), vector(3)
    inner = empty(room, (3, C))
    for k in range(m):
        e = stride * (k + 1)
        R, Om, t = x.Rc[e], x.Om[e], x.t[k]
        for i in range(3):
            for c in range(C):
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
        if still:
            continue
        rotate(R, x.xi_t[k, :3], Rv_t)
        rotate(R, x.xi_tt[k, :3], Rv_tt)
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


@inner
def _load_columns(d, loads, x, psi, dOm, dOm_t, dt_t, dt_tt, dF, dL, room):
    """Add the variations of the loads at the nodes to dF and dL, (m, 3, C)."""
    m, C = d.Phi.shape[0], psi.shape[2]
    stride = x.Omega.shape[0] // (m + 1)
    dp_t, kept = empty(room, (3, C)), room.used[0]
    drags = drags_at_all(loads)
    for k in range(m):
        e = stride * (k + 1)
        for j in range(m):
            add_like(dt_tt[j], dF[k], d.W[k, j])
        for i in range(3):
            for c in range(C):
                dF[k, i, c] *= -d.w[k] * d.inertia[k, i]
                dp_t[i, c] = 0.0
        if drags:
            for j in range(m):
                add_like(dt_t[j], dp_t, d.W[k, j])
            _drag_columns(x.Rc[e], loads, x.p_t[k], d.w[k], psi[e], dp_t, dF[k], room)
        spin_columns(x.Rc[e], x.Om[e], x.Om_t[e], d.inertia[k, 3:], d.w[k],
                     psi[e], dOm[e], dOm_t[e], dL[k], room)
        room.used[0] = kept


@inner
def _drag_columns(R, loads, p_t, w, psi, dp_t, dF, room):
    """Add the variation of drag at a node to dF (3, C)."""
    C = dF.shape[1]
    speed, f, force = vector(3), vector(3), vector(3)
    rotate_back(R, p_t, speed)
    for i in range(3):
        f[i] = -(loads.square_drag[i] * abs(speed[i]) + loads.linear_drag[i]) * speed[i]
    rotate(R, f, force)
    relative, dspeed = zeros(room, (3, C)), zeros(room, (3, C))
    add_like(dp_t, relative, 1.0)
    add_cross(p_t, psi, relative, 1.0)
    add_rotated_back(R, relative, dspeed)
    for i in range(3):
        f[i] = -2.0 * loads.square_drag[i] * abs(speed[i]) - loads.linear_drag[i]
        force[i] *= w
        for c in range(C):
            dspeed[i, c] *= f[i]
    add_cross(force, psi, dF, -1.0)
    add_rotated(R, dspeed, dF, w)


@inner
def spin_columns(R, Om, Om_t, J, weight, psi, dOm, dOm_t, dL, room):
    """Add the variation of -weight times `spin` to dL (3, C)."""
    C = dL.shape[1]
    w, h, y = vector(3), vector(3), vector(3)
    rotate_back(R, Om, w)
    for i in range(3):
        h[i] = J[i] * w[i]
    relative, dw, rate = zeros(room, (3, C)), zeros(room, (3, C)), zeros(room, (3, C))
    add_like(dOm, relative, 1.0)
    add_cross(Om, psi, relative, 1.0)
    add_rotated_back(R, relative, dw)            # dw
    for i in range(3):
        for c in range(C):
            relative[i, c] = dOm_t[i, c]
    add_cross(Om_t, psi, relative, 1.0)
    add_rotated_back(R, relative, rate)          # dw_t
    for i in range(3):
        for c in range(C):
            rate[i, c] *= J[i]
    add_cross(h, dw, rate, -1.0)                 # dw x J w
    for i in range(3):
        for c in range(C):
            dw[i, c] *= J[i]
    add_cross(w, dw, rate, 1.0)                  # w x J dw
    add_rotated(R, rate, dL, -weight)
    spin(R, Om, Om_t, J, y)
    for i in range(3):
        y[i] *= weight
    add_cross(y, psi, dL, 1.0)


@inner
def _contact_columns(touching, dt, dt_t, still, dC):
    """Write how points in contact move, and add the variations of their forces to dC."""
    for c in range(dC.shape[0]):
        weights = touching.W[c]
        for rate in range(1 if still else 2):
            slope, dp = (touching.D[c], touching.J_t[c]) if rate else (
                touching.K[c], touching.J[c])
            clear(dp)
            for j in range(weights.size):
                add_like(dt_t[j] if rate else dt[j], dp, weights[j])
            add_rotated(slope, dp, dC[c], 1.0)


@inner
def _end_columns(d, psi, dOm, dOm_t, dt, dt_t, dt_tt, still, J):
    """Write the variation of the end's motion with the coordinates; 0 in other columns."""
    M = psi.shape[0] - 1
    clear(J)
    add(psi[M], J[3:6], 1.0)
    for k in range(d.w.size):
        add(dt[k], J[0:3], d.w[k])
    if still:
        return
    add(dOm[M], J[9:12], 1.0)
    add(dOm_t[M], J[15:18], 1.0)
    for k in range(d.w.size):
        add(dt_t[k], J[6:9], d.w[k])
        add(dt_tt[k], J[12:15], d.w[k])


@inner
def _adjoint_columns(d, touching, dC, x, psi, dt, dF, force, dM, dN, still, room):
    """
    Write the variations of M (M + 1, 3, C), and add that of the force on the start to dN (3, C).

    `force` (m, 3, C) has the variations of the nodes' moments, and gets those of R^T P. The wrench
    at the end does not change.
    """
    m, C = d.Phi.shape[0], psi.shape[2]
    stride = x.Omega.shape[0] // (m + 1)
    dP = empty(room, (3, C))
    for k in range(m):
        e = stride * (k + 1)
        for i in range(3):
            for c in range(C):
                dP[i, c] = 0.0
        for j in range(0 if still else m):  # no line load changes with the shape
            add_like(dF[j], dP, d.W[j, k])
        for c in range(dC.shape[0]):
            add_like(dC[c], dP, touching.W[c, k])
        add_cross(x.t[k], dP, dM[e], 1.0)
        add_cross(x.P[k], dt[k], dM[e], -1.0)
        add_like(force[k], dM[e], 1.0)
        add_cross(x.P[k], psi[e], dP, 1.0)
        for i in range(3):
            for c in range(C):
                force[k, i, c] = 0.0
        add_rotated_back(x.Rc[e], dP, force[k])
        if not still:
            add_like(dF[k], dN, 1.0)
    for c in range(dC.shape[0]):
        add_like(dC[c], dN, 1.0)
    for e in range(dM.shape[0] - 2, -1, -1):
        add_like(dM[e + 1], dM[e], 1.0)


@inner
def _own_rows(d, x, psi, force, dM, cV, rows, room):
    """Write the variation of Q, but for what actuators' forces change with strain."""
    m, n = d.Phi.shape
    C, steps = psi.shape[2], x.Omega.shape[0]
    for b in range(n):
        for c in range(C):
            rows[b, c] = d.elastic[b, c] + cV * d.viscous[b, c]
        i = d.component[b]
        if i < 3:
            for k in range(m):
                weight = d.Phi[k, b]
                for c in range(C):
                    rows[b, c] -= weight * force[k, i, c]
    T, D = matrix(3, 3), matrix(3, 3)
    y, minus = vector(3), vector(3)
    relative, column, z = empty(room, (3, C)), empty(room, (3, C)), empty(room, (3, C))
    for e in range(steps):
        R = x.Rc[e]
        rotate_back(R, x.M[e + 1], y)
        for i in range(3):
            minus[i] = -x.Omega[e, i]
        tangent_and_slope(minus, x.c[e], y, T, D)  # T(-o) = T(o)^T, and D = d(T(-o) y)/d(-o)
        for i in range(3):
            for c in range(C):
                relative[i, c], column[i, c] = dM[e + 1, i, c], 0.0
        add_cross(x.M[e + 1], psi[e], relative, 1.0)
        add_rotated_back(R, relative, column)
        for i in range(3):
            for c in range(C):
                z[i, c] = (
                    T[i, 0] * column[0, c] + T[i, 1] * column[1, c] + T[i, 2] * column[2, c])
        for c in range(n):
            mu = d.turn[e, c]
            if mu != 0.0:
                j = d.component[c] - 3
                for i in range(3):
                    z[i, c] -= mu * D[i, j]
        for b in range(n):
            i, weight = d.component[b] - 3, d.turn[e, b]
            if i >= 0 and weight != 0.0:
                for c in range(C):
                    rows[b, c] -= weight * z[i, c]


@inner
def _add_actuators(d, paths, x, rows, room):
    """Add what the actuators' forces change with strain."""
    m, n = d.Phi.shape
    H = zeros(room, (m, 6, 6))
    add_curvature(paths, x.effort, x.xi, H)
    for k in range(m):
        for b in range(n):
            for c in range(n):
                rows[b, c] += d.Phi[k, b] * H[k, d.component[b], d.component[c]] * d.Phi[k, c]
