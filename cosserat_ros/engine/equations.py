r"""
The equations of one rod: residual and exact tangent, statics and dynamics alike.

Virtual work on the discrete kinematics of `rod.discretisation`. With node forces ``F_k`` and
moments ``L_k`` (gravity, loads, minus inertia, weighted), and the same at the elements' ends,

    P_j = sum_k W_kj F_k + w_j N_j^+          (work-conjugate to dt_j = R dv + psi x t)
    M_e = sum over stations after e of (t_j x P_j + L_j)
    Q = K q + B q_t + sum_j Phi_j^T S_j - sum_j Phi_j^T R_j^T P_j              (components of v)
    Q = K q + B q_t + sum_j Phi_j^T S_j - sum_e turn_e^T T_e^T R_{e-1}^T M_e   (components of u)

where ``N^+`` is what all beyond the element pulls with, and S the stress that actuators add. World
frame throughout; `T_e` is the left tangent of the exponential e. Statics is the same residual at
``q_t = q_tt = 0``. A free base has six more coordinates, whose rows say that nothing holds it:
``N_0 = 0`` and ``M_0 = 0``. The tangent has one column per coordinate, carried through the same
sums: nothing is differenced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..laws.actuators import add_curvature, lengths_and_gradients
from ..numerics.arena import Arena, arena, empty, matrix, vector, zeros
from ..numerics.kernels import inner, merged, remote
from ..numerics.rotations import (
    add,
    add_cross,
    add_rotated,
    add_rotated_back,
    cross,
    rotate,
    rotate_back,
    tangent_and_slope,
    tangent_times,
)
from ..rod.discretisation import Discretisation
from ..rod.kinematics import kinematics, turn_columns


class Bodies(NamedTuple):
    """Rigid bodies that a rod carries at the ends of its elements; those of no mass are none."""

    mass: np.ndarray     # (E,) [kg]
    offset: np.ndarray   # (E, 3) from the element's end to the centre of mass, body frame [m]
    inertia: np.ndarray  # (E, 3) principal moments about the centre of mass [kg m^2]
    axes: np.ndarray     # (E, 3, 3) their axes, as columns, body frame


class Loads(NamedTuple):
    """What acts on a rod from outside, what it carries, and what stresses it from within."""

    gravity: np.ndarray          # (3,) world frame [m/s^2]
    line_force: np.ndarray       # (N, 3) dead, world frame, at the nodes [N/m]
    line_moment: np.ndarray      # (N, 3) likewise [N]
    end_force: np.ndarray        # (E, 3) dead, world frame, at the end of each element [N]
    end_moment: np.ndarray       # (E, 3) likewise [N m]
    follower_force: np.ndarray   # (E, 3) body frame at the end of each element [N]
    follower_moment: np.ndarray  # (E, 3) likewise [N m]
    stress: np.ndarray           # (N, 6) active, body frame: added to K eps [N, N m]
    square_drag: np.ndarray      # (3,) body frame: force -square_drag v|v| [kg/m^2]
    linear_drag: np.ndarray      # (3,) likewise: force -linear_drag v [kg/(m s)]
    bodies: Bodies


def no_loads(nodes: int, elements: int) -> Loads:
    """Return loads that are all zero."""
    N, E = nodes, elements
    return Loads(
        np.zeros(3), np.zeros((N, 3)), np.zeros((N, 3)), np.zeros((E, 3)), np.zeros((E, 3)),
        np.zeros((E, 3)), np.zeros((E, 3)), np.zeros((N, 6)), np.zeros(3), np.zeros(3),
        Bodies(
            np.zeros(E), np.zeros((E, 3)), np.zeros((E, 3)), np.tile(np.eye(3), (E, 1, 1))))


def arena_for(d: Discretisation, actuators: int) -> Arena:
    """Return an arena in which there is room for the residual and the tangent of a rod."""
    (M, n), N, E, m = d.turn.shape, d.s.size, d.W.shape[0], actuators
    C = n + 6  # columns, if the base is free
    state = 64 * (M + N + E + 2) + 6 * m * N + m + n
    variations = C * (16 * M + 18 * N + 8 * E + C + 80) + 36 * N
    return arena(state + variations)


# --- Residual ------------------------------------------------------------------------------------

@merged
def node_loads(d, loads, x, room):
    """
    Return what acts at the nodes, weighted: forces F and moments L, (N, 3) each, world frame.

    Gravity, line loads, drag, and minus the rate of momentum.
    """
    N = d.s.size
    F, L = empty(room, (N, 3)), empty(room, (N, 3))
    h, y, speed = vector(3), vector(3), vector(3)
    for k in range(N):
        R = x.Rc[d.station[k]]
        rotate_back(R, x.p_t[k], speed)
        for i in range(3):
            y[i] = -(loads.square_drag[i] * abs(speed[i]) + loads.linear_drag[i]) * speed[i]
        rotate(R, y, h)
        for i in range(3):
            F[k, i] = d.w[k] * (
                d.inertia[k, i] * (loads.gravity[i] - x.p_tt[k, i]) + loads.line_force[k, i]
                + h[i])
        spin(R, x.Om[d.station[k]], x.Om_t[d.station[k]], d.inertia[k, 3:], h)
        for i in range(3):
            L[k, i] = d.w[k] * (loads.line_moment[k, i] - h[i])
    return F, L


@merged
def end_loads(d, loads, reaction, x, room):
    """Return forces and moments at the elements' ends, (E, 3) each, world frame."""
    E = d.W.shape[0]
    F, L = empty(room, (E, 3)), empty(room, (E, 3))
    y = vector(3)
    for a in range(E):
        R = x.Rc[d.end_station[a]]
        rotate(R, loads.follower_force[a], y)
        for i in range(3):
            F[a, i] = loads.end_force[a, i] + y[i]
        rotate(R, loads.follower_moment[a], y)
        for i in range(3):
            L[a, i] = loads.end_moment[a, i] + y[i]
        if loads.bodies.mass[a] > 0.0:
            _carry(d, loads, x, a, F[a], L[a])
    for i in range(3):
        F[E - 1, i] += reaction[i]
        L[E - 1, i] += reaction[3 + i]
    return F, L


@inner
def _carry(d, loads, x, a, F, L):
    """Add weight and inertia of the body at the end of element a to F and L (3,)."""
    e = d.end_station[a]
    R, Om, Om_t = x.Rc[e], x.Om[e], x.Om_t[e]
    arm, y, z = vector(3), vector(3), vector(3)
    axes = matrix(3, 3)
    rotate(R, loads.bodies.offset[a], arm)
    cross(Om, arm, y)
    cross(Om, y, z)
    cross(Om_t, arm, y)
    for i in range(3):
        z[i] = loads.bodies.mass[a] * (loads.gravity[i] - x.p_end_tt[a, i] - y[i] - z[i])
        F[i] += z[i]
    cross(arm, z, y)
    for i in range(3):
        L[i] += y[i]
    multiply(R, loads.bodies.axes[a], axes)
    spin(axes, Om, Om_t, loads.bodies.inertia[a], y)
    for i in range(3):
        L[i] -= y[i]


@inner
def multiply(A, B, out):
    """Write A B, (3, 3)."""
    for j in range(3):
        rotate(A, B[:, j], out[:, j])


@inner
def spin(R, Om, Om_t, J, out):
    """Write the rate of angular momentum of a body whose principal axes are the columns of R."""
    w0 = R[0, 0] * Om[0] + R[1, 0] * Om[1] + R[2, 0] * Om[2]
    w1 = R[0, 1] * Om[0] + R[1, 1] * Om[1] + R[2, 1] * Om[2]
    w2 = R[0, 2] * Om[0] + R[1, 2] * Om[1] + R[2, 2] * Om[2]
    y0 = J[0] * (R[0, 0] * Om_t[0] + R[1, 0] * Om_t[1] + R[2, 0] * Om_t[2])
    y1 = J[1] * (R[0, 1] * Om_t[0] + R[1, 1] * Om_t[1] + R[2, 1] * Om_t[2])
    y2 = J[2] * (R[0, 2] * Om_t[0] + R[1, 2] * Om_t[1] + R[2, 2] * Om_t[2])
    y0 += (J[2] - J[1]) * w1 * w2  # Euler: J w_t + w x J w
    y1 += (J[0] - J[2]) * w2 * w0
    y2 += (J[1] - J[0]) * w0 * w1
    for i in range(3):
        out[i] = R[i, 0] * y0 + R[i, 1] * y1 + R[i, 2] * y2


@merged
def adjoint(d, x, F, L, F_end, L_end, room):
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
    P = empty(room, (d.s.size, 3))
    M = zeros(room, (x.Rc.shape[0], 3))
    N_beyond = zeros(room, (3,))
    y = vector(3)
    for a in range(E - 1, -1, -1):
        first, last = a * m, (a + 1) * m
        for i in range(3):
            N_beyond[i] += F_end[a, i]
            M[d.end_station[a], i] += L_end[a, i]
        for k in range(first, last):
            x0, x1, x2 = d.w[k] * N_beyond[0], d.w[k] * N_beyond[1], d.w[k] * N_beyond[2]
            for j in range(m):
                weight = d.W[a, j, k - first]
                x0 += weight * F[first + j, 0]
                x1 += weight * F[first + j, 1]
                x2 += weight * F[first + j, 2]
            P[k, 0], P[k, 1], P[k, 2] = x0, x1, x2
        for k in range(first, last):
            cross(x.t[k], P[k], y)
            for i in range(3):
                M[d.station[k], i] += y[i] + L[k, i]
                N_beyond[i] += F[k, i]
    for e in range(M.shape[0] - 2, -1, -1):
        for i in range(3):
            M[e, i] += M[e + 1, i]
    return P, M, N_beyond


class Balance(NamedTuple):
    """What is out of balance, and what the tangent is made of."""

    Q: np.ndarray         # (n,) generalised forces, zero in balance [J per unit of q]
    N_base: np.ndarray    # (3,) force on the base [N]
    P: np.ndarray         # (N, 3) of `adjoint`
    M: np.ndarray         # (M + 1, 3) of `adjoint`
    length: np.ndarray    # (m,) of the actuators [m, m^3]
    gradient: np.ndarray  # (m, N, 6) of their lengths, see `lengths_and_gradients`


@remote
def residual(d, base, loads, paths, effort, reaction, q, q_t, q_tt, room):
    """
    Return the generalised forces out of balance, and the state they belong to.

    Parameters
    ----------
    d : Discretisation
    base : Base
    loads : Loads
    paths : Paths
    effort : (m,) float64
        Of the actuators: tension [N], or minus the pressure [Pa].
    reaction : (6,) float64
        Force and moment by which the tip is held, world frame [N, N m].
    q, q_t, q_tt : (n,) float64
    room : Arena
        Where the arrays that are returned are.

    Returns
    -------
    Balance, State

    """
    x = kinematics(d, base, q, q_t, q_tt, room)
    F, L = node_loads(d, loads, x, room)
    F_end, L_end = end_loads(d, loads, reaction, x, room)
    P, M, N_base = adjoint(d, x, F, L, F_end, L_end, room)
    length, gradient = lengths_and_gradients(paths, x.xi, room)
    stress = empty(room, (d.s.size, 6))  # weighted, less what the loads do
    y = vector(3)
    for k in range(d.s.size):
        rotate_back(x.Rc[d.station[k]], P[k], y)
        for i in range(6):
            stress[k, i] = d.w[k] * loads.stress[k, i]
            for j in range(length.size):
                stress[k, i] += effort[j] * gradient[j, k, i]
        for i in range(3):
            stress[k, i] -= y[i]
    moment = empty(room, (x.Omega.shape[0], 3))
    for e in range(moment.shape[0]):
        rotate_back(x.Rc[e], M[e + 1], y)
        tangent_times(x.Omega[e], x.c[e], -1.0, y, moment[e])
    Q = empty(room, (q.size,))
    for c in range(q.size):
        total, i = 0.0, d.component[c]
        for b in range(q.size):
            total += d.elastic[c, b] * q[b] + d.viscous[c, b] * q_t[b]
        for k in range(stress.shape[0]):
            total += d.Phi[k, c] * stress[k, i]
        if i >= 3:
            for e in range(moment.shape[0]):
                total -= d.turn[e, c] * moment[e, i - 3]
        Q[c] = total
    return Balance(Q, N_base, P, M, length, gradient), x


# --- Tangent -------------------------------------------------------------------------------------

@remote
def tangent(d, loads, paths, effort, x, balance, cV, cA, base_turn, still, room):
    """
    Return the derivatives of the residual and of the tip with the coordinates.

    Parameters
    ----------
    d : Discretisation
    loads : Loads
    paths : Paths
    effort : (m,) float64
    x : State
    balance : Balance
        At this state.
    cV, cA : float
        ``q_t = cV q + ...`` [1/s] and ``q_tt = cA q + ...`` [1/s^2]; 0 in statics.
    base_turn : (0 or 1, 3) float64
        The turn of a free base since the last instant; no row if it is not free.
    still : bool
        Whether nothing moves, nor does with the coordinates (cV = cA = 0): statics.
    room : Arena
        Where the arrays that are returned are.

    Returns
    -------
    K : (C, C) float64
        Of Q, and with a free base of -N_base and -M_base below. Its C columns belong to q, and to
        the position and the turn of a free base.
    J : (6, C) float64
        Of the tip: its position, and its rotation (world frame).

    """
    n = d.Phi.shape[1]
    psi, dOm, dOm_t = turn_columns(d, x, cV, cA, base_turn, still, room)
    C = psi.shape[2]
    dt, dt_t, dt_tt = _node_columns(d, x, psi, dOm, dOm_t, cV, cA, still, room)
    dF, dL, dF_end, dL_end, J = _load_columns(
        d, loads, x, psi, dOm, dOm_t, dt, dt_t, dt_tt, cV, cA, still, room)
    force, dM, dN = _adjoint_columns(
        d, x, balance.P, psi, dt, dF, dL, dF_end, dL_end, still, room)
    moment = _moment_columns(d, x, balance.M, dM, psi, room)
    K = zeros(room, (C, C))
    for b in range(n):
        for c in range(n):
            K[b, c] = d.elastic[b, c] + cV * d.viscous[b, c]
        i = d.component[b]
        if i < 3:
            _subtract(d.Phi, force, b, i, K)
        else:
            _subtract(d.turn, moment, b, i - 3, K)
    for b in range(n, C):
        for c in range(C):
            K[b, c] = -dN[b - n, c] if b < n + 3 else -dM[0, b - n - 3, c]
    if balance.length.size > 0:
        _add_actuators(d, paths, effort, x, K, room)
    return K, J


@inner
def _add_actuators(d, paths, effort, x, K, room):
    """Add what the actuators' forces change with strain."""
    N, n = d.Phi.shape
    H = zeros(room, (N, 6, 6))
    add_curvature(paths, effort, x.xi, H)
    for k in range(N):
        for b in range(n):
            for c in range(n):
                K[b, c] += d.Phi[k, b] * H[k, d.component[b], d.component[c]] * d.Phi[k, c]


@inner
def _subtract(weights, columns, b, i, K):
    """Subtract the sum over k of weights[k, b] columns[k, i] from row b of K."""
    for k in range(weights.shape[0]):
        weight = weights[k, b]
        if weight != 0.0:
            for c in range(K.shape[1]):
                K[b, c] -= weight * columns[k, i, c]


@inner
def _node_columns(d, x, psi, dOm, dOm_t, cV, cA, still, room):
    """Return the variations of t, t_t and t_tt at the nodes, (N, 3, C) each."""
    N, n = d.Phi.shape
    C = psi.shape[2]
    shape = N, 3, C
    dt, dt_t, dt_tt = zeros(room, shape), zeros(room, shape), zeros(room, shape)
    Rv_t, Rv_tt, y = vector(3), vector(3), vector(3)
    inner = empty(room, (3, C))
    for k in range(N):
        e = d.station[k]
        R, Om, t = x.Rc[e], x.Om[e], x.t[k]
        rotate(R, x.xi_t[k, :3], Rv_t)
        rotate(R, x.xi_tt[k, :3], Rv_tt)
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


@inner
def _load_columns(
    d, loads, x, psi, dOm, dOm_t, dt, dt_t, dt_tt, cV, cA, still, room,
):
    """
    Return the variations of the loads at nodes and ends, and of the tip.

    dF, dL (N, 3, C), dF_end, dL_end (E, 3, C), and J (6, C) of `tangent`.
    """
    N, n = d.Phi.shape
    C, E = psi.shape[2], d.W.shape[0]
    m = N // E
    dF, dL = zeros(room, (N, 3, C)), zeros(room, (N, 3, C))
    dF_end, dL_end = zeros(room, (E, 3, C)), zeros(room, (E, 3, C))
    J = zeros(room, (6, C))
    start, start_t, start_tt = J[:3], zeros(room, (3, C)), zeros(room, (3, C))
    dp_t = empty(room, (3, C))
    kept = room.used[0]
    for c in range(n, min(n + 3, C)):  # position of a free base
        start[c - n, c], start_t[c - n, c], start_tt[c - n, c] = 1.0, cV, cA
    drags = False
    for i in range(3):
        drags = drags or loads.square_drag[i] != 0.0 or loads.linear_drag[i] != 0.0
    for a in range(E):
        first, last = a * m, (a + 1) * m
        for k in range(first, first if still else last):
            add(start_tt, dF[k], 1.0)
            for j in range(m):
                add(dt_tt[first + j], dF[k], d.W[a, k - first, j])
            for i in range(3):
                for c in range(C):
                    dF[k, i, c] *= -d.w[k] * d.inertia[k, i]
                    dp_t[i, c] = start_t[i, c]
            if drags:
                for j in range(m):
                    add(dt_t[first + j], dp_t, d.W[a, k - first, j])
                _drag_columns(d, loads, x, k, psi, dp_t, dF[k], room)
            e = d.station[k]
            spin_columns(
                x.Rc[e], x.Om[e], x.Om_t[e], d.inertia[k, 3:], d.w[k],
                psi[e], dOm[e], dOm_t[e], dL[k], room)
            room.used[0] = kept
        for k in range(first, last):
            add(dt[k], start, d.w[k])
            if not still:
                add(dt_t[k], start_t, d.w[k])
                add(dt_tt[k], start_tt, d.w[k])
        _end_columns(d, loads, x, a, psi, dOm, dOm_t, start_tt, dF_end[a], dL_end[a], room)
        room.used[0] = kept
    add(psi[d.end_station[E - 1]], J[3:], 1.0)
    return dF, dL, dF_end, dL_end, J


@inner
def _end_columns(d, loads, x, a, psi, dOm, dOm_t, dp_tt, dF, dL, room):
    """Add the variation of what acts at the end of element a to dF and dL (3, C)."""
    e = d.end_station[a]
    R, mass = x.Rc[e], loads.bodies.mass[a]
    y, z = vector(3), vector(3)
    rotate(R, loads.follower_force[a], y)
    add_cross(y, psi[e], dF, -1.0)
    rotate(R, loads.follower_moment[a], y)
    add_cross(y, psi[e], dL, -1.0)
    if mass == 0.0:
        return
    # The force -m (p_tt + Om_t x arm + Om x (Om x arm) - g), and its moment about the end.
    Om, Om_t = x.Om[e], x.Om_t[e]
    arm, force, axes = vector(3), vector(3), matrix(3, 3)
    rotate(R, loads.bodies.offset[a], arm)
    darm, inner, df = zeros(room, dF.shape), zeros(room, dF.shape), zeros(room, dF.shape)
    add(dp_tt, df, 1.0)
    add_cross(arm, psi[e], darm, -1.0)
    add_cross(Om, darm, inner, 1.0)
    add_cross(arm, dOm[e], inner, -1.0)
    add_cross(Om, inner, df, 1.0)
    cross(Om, arm, y)
    add_cross(y, dOm[e], df, -1.0)
    add_cross(Om_t, darm, df, 1.0)
    add_cross(arm, dOm_t[e], df, -1.0)
    cross(Om, y, z)
    cross(Om_t, arm, y)
    for i in range(3):
        force[i] = mass * (loads.gravity[i] - x.p_end_tt[a, i] - y[i] - z[i])
    add(df, dF, -mass)
    add_cross(arm, df, dL, -mass)
    add_cross(force, darm, dL, -1.0)
    multiply(R, loads.bodies.axes[a], axes)
    spin_columns(axes, Om, Om_t, loads.bodies.inertia[a], 1.0, psi[e], dOm[e], dOm_t[e], dL, room)


@inner
def _adjoint_columns(d, x, P, psi, dt, dF, dL, dF_end, dL_end, still, room):
    """Return the variations of R^T P (N, 3, C), of M (M + 1, 3, C) and of N_base (3, C)."""
    N, E, C = d.s.size, d.W.shape[0], psi.shape[2]
    m = N // E
    force = zeros(room, (N, 3, C))
    dM = zeros(room, (x.Rc.shape[0], 3, C))
    dN, dP = zeros(room, (3, C)), empty(room, (3, C))
    for a in range(E - 1, -1, -1):
        first, last = a * m, (a + 1) * m
        add(dF_end[a], dN, 1.0)
        add(dL_end[a], dM[d.end_station[a]], 1.0)
        for k in range(first, last):
            e = d.station[k]
            for i in range(3):
                for c in range(C):
                    dP[i, c] = d.w[k] * dN[i, c]
            for j in range(0 if still else m):  # no line load changes with the shape
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
    return force, dM, dN


@inner
def _drag_columns(d, loads, x, k, psi, dp_t, dF, room):
    """Add the variation of drag at node k to dF (3, C)."""
    C = dF.shape[1]
    e = d.station[k]
    R = x.Rc[e]
    speed, f, force = vector(3), vector(3), vector(3)
    rotate_back(R, x.p_t[k], speed)
    for i in range(3):
        f[i] = -(loads.square_drag[i] * abs(speed[i]) + loads.linear_drag[i]) * speed[i]
    rotate(R, f, force)
    relative, dspeed = zeros(room, (3, C)), zeros(room, (3, C))
    add(dp_t, relative, 1.0)
    add_cross(x.p_t[k], psi[e], relative, 1.0)
    add_rotated_back(R, relative, dspeed)
    for i in range(3):
        f[i] = -2.0 * loads.square_drag[i] * abs(speed[i]) - loads.linear_drag[i]
        force[i] *= d.w[k]
        for c in range(C):
            dspeed[i, c] *= f[i]
    add_cross(force, psi[e], dF, -1.0)
    add_rotated(R, dspeed, dF, d.w[k])


@inner
def spin_columns(R, Om, Om_t, J, weight, psi, dOm, dOm_t, dL, room):
    """Add the variation of -weight times `spin` to dL (3, C)."""
    C = dL.shape[1]
    w, h, y = vector(3), vector(3), vector(3)
    rotate_back(R, Om, w)
    for i in range(3):
        h[i] = J[i] * w[i]
    relative, dw, rate = zeros(room, (3, C)), zeros(room, (3, C)), zeros(room, (3, C))
    add(dOm, relative, 1.0)
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
def _moment_columns(d, x, M, dM, psi, room):
    """Return the variation of T_e^T R_{e-1}^T M_e with each coordinate, (M, 3, C)."""
    steps, n = d.turn.shape
    C = psi.shape[2]
    z = empty(room, (steps, 3, C))
    T, D = matrix(3, 3), matrix(3, 3)
    y, minus = vector(3), vector(3)
    relative, column = empty(room, (3, C)), empty(room, (3, C))
    for e in range(steps):
        R = x.Rc[e]
        rotate_back(R, M[e + 1], y)
        for i in range(3):
            minus[i] = -x.Omega[e, i]
        tangent_and_slope(minus, x.c[e], y, T, D)  # T(-o) = T(o)^T, and D = d(T(-o) y)/d(-o)
        for i in range(3):
            for c in range(C):
                relative[i, c], column[i, c] = dM[e + 1, i, c], 0.0
        add_cross(M[e + 1], psi[e], relative, 1.0)
        add_rotated_back(R, relative, column)
        for i in range(3):
            for c in range(C):
                z[e, i, c] = (
                    T[i, 0] * column[0, c] + T[i, 1] * column[1, c] + T[i, 2] * column[2, c])
        for c in range(n):
            mu = d.turn[e, c]
            if mu != 0.0:
                j = d.component[c] - 3
                for i in range(3):
                    z[e, i, c] -= mu * D[i, j]
    return z
