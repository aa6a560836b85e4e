r"""
One element of a rod: its motion from that of its base, and the wrenches back to there.

An element is a link of the assembly's tree (see :mod:`cosserat_ros.assembly.tree`): it takes the
motion of its start to that of its end, and the wrench at its end to that at its start. Between the
two sweeps, virtual work on the discrete kinematics gives its own equations. With node forces
``F_k`` and moments ``L_k`` (gravity, loads, minus inertia, weighted), and N, M those at its end,

    P_j = sum_k W_kj F_k + w_j N              (work-conjugate to dt_j = R dv + psi x t)
    M_e = M + sum over stations after e of (t_j x P_j + L_j)
    Q = K q + B q_t + sum_j Phi_j^T S_j - sum_j Phi_j^T R_j^T P_j              (components of v)
    Q = K q + B q_t + sum_j Phi_j^T S_j - sum_e turn_e^T T_e^T R_{e-1}^T M_e   (components of u)

S is the stress that actuators and laws add, `T_e` the left tangent of exponential e; in the world
frame. What `N` and `M_0` are at the start goes to the link before (Boyer 2020, section VII, eqs.
39 to 43: the inverse Newton-Euler pass).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..laws.actuators import path_tangent
from ..laws.plastic_bending import bend, BENDING
from ..numerics.arena import empty, matrix, unowned, vector
from ..numerics.kernels import inner, remote
from ..numerics.rotations import (
    add_quadratic_rate,
    coefficients,
    cross,
    exponential,
    multiply,
    rotate,
    rotate_back,
    tangent_times,
)


class ElementLoads(NamedTuple):
    """What acts on an element between its ends."""

    line_force: np.ndarray   # (m, 3) dead, world frame, at the nodes [N/m]
    line_moment: np.ndarray  # (m, 3) likewise [N]
    stress: np.ndarray       # (m, 6) active, body frame: added to K eps [N, N m]
    square_drag: np.ndarray  # (3,) body frame: force -square_drag v|v| [kg/m^2]
    linear_drag: np.ndarray  # (3,) likewise: force -linear_drag v [kg/(m s)]


class Touching(NamedTuple):
    """Points of an element that are in contact, world frame."""

    W: np.ndarray    # (a, m) integration from the start to each of them [m]
    p: np.ndarray    # (a, 3) [m]
    p_t: np.ndarray  # (a, 3) [m/s]
    F: np.ndarray    # (a, 3) force [N]
    K: np.ndarray    # (a, 3, 3) its change with p [N/m]
    D: np.ndarray    # (a, 3, 3) and with p_t [N s/m]
    J: np.ndarray    # (a, 3, n) change of p with the element's coordinates; `vary` writes it
    J_t: np.ndarray  # (a, 3, n) likewise of p_t


class Flow(NamedTuple):
    """What a fluid does at the nodes of an element, per length, world frame."""

    wrench: np.ndarray  # (m, 6) force and moment; (0, 6) without a fluid [N/m, N]
    slope: np.ndarray   # (m, 6, 15) its change, see `cosserat_ros.assembly.flow`


class ElementState(NamedTuple):
    """Kinematics of stations and nodes, and what acts through them; world frame."""

    Rc: np.ndarray        # (M + 1, 3, 3) rotation after each exponential
    Omega: np.ndarray     # (M, 3) exponents [rad]
    Omega_t: np.ndarray   # (M, 3)
    Omega_tt: np.ndarray  # (M, 3)
    c: np.ndarray         # (M, 8) coefficients of the exponentials
    Om: np.ndarray        # (M + 1, 3) angular velocity
    Om_t: np.ndarray      # (M + 1, 3) angular acceleration
    step: np.ndarray      # (M, 3) Om_e - Om_{e-1}
    step_t: np.ndarray    # (M, 3)
    xi: np.ndarray        # (m, 6) strain, body frame
    xi_t: np.ndarray      # (m, 6)
    xi_tt: np.ndarray     # (m, 6)
    t: np.ndarray         # (m, 3) R v
    t_t: np.ndarray       # (m, 3)
    t_tt: np.ndarray      # (m, 3)
    p: np.ndarray         # (m, 3) [m]
    p_t: np.ndarray       # (m, 3)
    p_tt: np.ndarray      # (m, 3)
    P: np.ndarray         # (m, 3) weighted internal force at the nodes, w N [N m]
    M: np.ndarray         # (M + 1, 3) moment through each exponential; M[0] at the start [N m]
    length: np.ndarray    # (a,) of the actuators along the element [m, m^3]
    gradient: np.ndarray  # (a, m, 6) of these lengths with strain, weighted
    effort: np.ndarray    # (a, m) of the actuators at each node [N, Pa]


def state_size(m: int, steps: int, actuators: int) -> int:
    """Return how many numbers an `ElementState` is."""
    return 9 * (steps + 1) + 17 * steps + 6 * (steps + 1) + 6 * steps + 39 * m + 3 * (
        steps + 1) + actuators * (1 + 7 * m)


@inner
def state_in(room, m, M, a):
    """Return the state that is at this place in an arena, or shall be."""
    return ElementState(
        empty(room, (M + 1, 3, 3)), empty(room, (M, 3)), empty(room, (M, 3)), empty(room, (M, 3)),
        empty(room, (M, 8)), empty(room, (M + 1, 3)), empty(room, (M + 1, 3)),
        empty(room, (M, 3)), empty(room, (M, 3)), empty(room, (m, 6)), empty(room, (m, 6)),
        empty(room, (m, 6)), empty(room, (m, 3)), empty(room, (m, 3)), empty(room, (m, 3)),
        empty(room, (m, 3)), empty(room, (m, 3)), empty(room, (m, 3)), empty(room, (m, 3)),
        empty(room, (M + 1, 3)), empty(room, (a,)), empty(room, (a, m, 6)), empty(room, (a, m)))


@inner
def tangents_in(m, M):
    """Return where `t` begins in a state: to be looked at without making all the rest."""
    return 15 * (M + 1) + 23 * M + 18 * m


class Motion(NamedTuple):
    """Motion of a frame, world frame."""

    R: np.ndarray     # (3, 3) body to world
    p: np.ndarray     # (3,) [m]
    Om: np.ndarray    # (3,) angular velocity [rad/s]
    p_t: np.ndarray   # (3,) [m/s]
    Om_t: np.ndarray  # (3,) [rad/s^2]
    p_tt: np.ndarray  # (3,) [m/s^2]


@inner
def clear(A):
    """Set a matrix to zero. (numba compiles an array expression for seconds.)"""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.0


# --- Forward -------------------------------------------------------------------------------------

@unowned
@remote
def move(d, paths, start, end, q, q_t, q_tt, x):
    """
    Write the state of an element and the motion of its end.

    Parameters
    ----------
    d : Element
    paths : Paths
    start, end : Motion
        Of its start; of its end, overwritten.
    q, q_t, q_tt : (n,) float64
    x : ElementState
        Overwritten, but for P, M and the efforts.

    """
    _expand(d, q, q_t, q_tt, x)
    _chain(start, x)
    _tangents(x)
    _positions(d, start, x)
    _integrate(d.w, x.t, start.p, end.p)
    _integrate(d.w, x.t_t, start.p_t, end.p_t)
    _integrate(d.w, x.t_tt, start.p_tt, end.p_tt)
    M = x.Omega.shape[0]
    for i in range(3):
        end.Om[i], end.Om_t[i] = x.Om[M, i], x.Om_t[M, i]
        for j in range(3):
            end.R[i, j] = x.Rc[M, i, j]
    lengths(paths, x.xi, x.length, x.gradient)


@inner
def _expand(d, q, q_t, q_tt, x):
    """Write strain at the nodes and exponents of the chain, with their rates."""
    last = 0
    for i in range(6):
        first = last  # modes are in the order of their components
        while last < q.size and d.component[last] == i:
            last += 1
        for k in range(x.xi.shape[0]):
            a, a_t, a_tt = d.rest_strain[k, i], 0.0, 0.0
            for c in range(first, last):
                value = d.Phi[k, c]
                a += value * q[c]
                a_t += value * q_t[c]
                a_tt += value * q_tt[c]
            x.xi[k, i], x.xi_t[k, i], x.xi_tt[k, i] = a, a_t, a_tt
        for e in range(x.Omega.shape[0] if i >= 3 else 0):
            a, a_t, a_tt = d.rest_turn[e, i - 3], 0.0, 0.0
            for c in range(first, last):
                value = d.turn[e, c]
                a += value * q[c]
                a_t += value * q_t[c]
                a_tt += value * q_tt[c]
            x.Omega[e, i - 3], x.Omega_t[e, i - 3], x.Omega_tt[e, i - 3] = a, a_t, a_tt


@inner
def _chain(start, x):
    """
    Write coefficients, rotations, angular velocities and accelerations along the chain.

    With a = T o_t and b = T o_tt + (dT/do . o_t) o_t in the frame before an exponential:
    ``Om_e = Om + R a``, ``Om_t,e = Om_t + R b + Om x R a``.
    """
    X, y, z = matrix(3, 3), vector(3), vector(3)
    Rc = x.Rc
    for i in range(3):
        x.Om[0, i], x.Om_t[0, i] = start.Om[i], start.Om_t[i]
        for j in range(3):
            Rc[0, i, j] = start.R[i, j]
    for e in range(x.Omega.shape[0]):
        o, c = x.Omega[e], x.c[e]
        coefficients(o, c)
        exponential(o, c, X)
        multiply(Rc[e], X, Rc[e + 1])
        tangent_times(o, c, 1.0, x.Omega_t[e], y)
        rotate(Rc[e], y, x.step[e])
        tangent_times(o, c, 1.0, x.Omega_tt[e], y)
        add_quadratic_rate(o, c, x.Omega_t[e], y)
        rotate(Rc[e], y, x.step_t[e])
        cross(x.Om[e], x.step[e], z)
        for i in range(3):
            x.Om[e + 1, i] = x.Om[e, i] + x.step[e, i]
            x.Om_t[e + 1, i] = x.Om_t[e, i] + x.step_t[e, i] + z[i]


@inner
def _tangents(x):
    """Write t = R v and its two time derivatives at the nodes."""
    m = x.t.shape[0]
    stride = x.Omega.shape[0] // (m + 1)
    y, z = vector(3), vector(3)
    for k in range(m):
        e = stride * (k + 1)
        R, Om = x.Rc[e], x.Om[e]
        rotate(R, x.xi[k, :3], x.t[k])
        cross(Om, x.t[k], y)
        rotate(R, x.xi_t[k, :3], z)
        for i in range(3):
            x.t_t[k, i] = z[i] + y[i]            # R v_t + Om x t
            y[i] += 2.0 * z[i]
        cross(Om, y, z)                         # Om x (Om x t + 2 R v_t)
        cross(x.Om_t[e], x.t[k], y)
        for i in range(3):
            x.t_tt[k, i] = y[i] + z[i]
        rotate(R, x.xi_tt[k, :3], y)
        for i in range(3):
            x.t_tt[k, i] += y[i]


@inner
def _positions(d, start, x):
    for k in range(x.t.shape[0]):
        _integrate(d.W[k], x.t, start.p, x.p[k])
        _integrate(d.W[k], x.t_t, start.p_t, x.p_t[k])
        _integrate(d.W[k], x.t_tt, start.p_tt, x.p_tt[k])


@inner
def _integrate(weights, t, start, out):
    """Write start + sum_j weights_j t_j, (3,)."""
    a, b, c = start[0], start[1], start[2]
    for j in range(weights.size):
        a += weights[j] * t[j, 0]
        b += weights[j] * t[j, 1]
        c += weights[j] * t[j, 2]
    out[0] = a
    out[1] = b
    out[2] = c


@inner
def lengths(a, xi, length, gradient):
    """Write lengths or volumes (a,), and the gradients of their weighted densities (a, m, 6)."""
    c = vector(3)
    for i in range(a.weight.shape[0]):
        length[i] = 0.0
        for k in range(xi.shape[0]):
            weight = a.weight[i, k]
            if weight == 0.0:
                for j in range(6):
                    gradient[i, k, j] = 0.0
                continue
            size = path_tangent(a, i, k, xi[k], c)
            if a.flat[i]:
                size = c[2]
                c[0], c[1], c[2] = 0.0, 0.0, 1.0
            else:
                for j in range(3):
                    c[j] /= size
            length[i] += weight * size
            cross(a.r[i, k], c, gradient[i, k, 3:])
            for j in range(3):
                gradient[i, k, j] = weight * c[j]
                gradient[i, k, 3 + j] *= weight


# --- Backward ------------------------------------------------------------------------------------

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


@inner
def drags_at_all(loads):
    """Return whether there is drag."""
    some = False
    for i in range(3):
        some = some or loads.square_drag[i] != 0.0 or loads.linear_drag[i] != 0.0
    return some


@inner
def _drag(loads, R, p_t, out):
    """Write the drag on a section [N/m], (3,)."""
    speed = vector(3)
    rotate_back(R, p_t, speed)
    for i in range(3):
        speed[i] *= -(loads.square_drag[i] * abs(speed[i]) + loads.linear_drag[i])
    rotate(R, speed, out)


@unowned
@remote
def balance(d, loads, bristles, touching, flow, gravity, q, q_t, x, wrench, Q, room):
    """
    Write the element's own equations, and take the wrench at its end to that at its start.

    Parameters
    ----------
    d : Element
    loads : ElementLoads
    bristles : Bristles
    touching : Touching
    flow : Flow
    gravity : (3,) float64
        [m/s^2].
    q, q_t : (n,) float64
    x : ElementState
        Of `move`, with efforts: tension [N], or minus the pressure [Pa]; P and M are overwritten.
    wrench : (6,) float64
        Force and moment on the end, about it; overwritten by those on the start [N, N m].
    Q : (n,) float64
        Overwritten by what is out of balance [J per unit of q].
    room : Arena

    """
    m, M = x.t.shape[0], x.Omega.shape[0]
    stride = M // (m + 1)
    F, h, y, drags = empty(room, (m, 3)), vector(3), vector(3), drags_at_all(loads)
    for k in range(m):
        for i in range(3):
            F[k, i] = d.w[k] * (
                d.inertia[k, i] * (gravity[i] - x.p_tt[k, i]) + loads.line_force[k, i])
        if drags:
            _drag(loads, x.Rc[stride * (k + 1)], x.p_t[k], h)
            for i in range(3):
                F[k, i] += d.w[k] * h[i]
    for k in range(flow.wrench.shape[0]):
        for i in range(3):
            F[k, i] += d.w[k] * flow.wrench[k, i]
    for k in range(m):
        for i in range(3):
            total = d.w[k] * wrench[i]
            for j in range(m):
                total += d.W[j, k] * F[j, i]
            x.P[k, i] = total
    for i in range(3):
        x.M[M, i] = wrench[3 + i]
    for c in range(touching.F.shape[0]):  # further nodes, as it were
        weights = touching.W[c]
        for i in range(3):
            wrench[i] += touching.F[c, i]
            for k in range(m):
                x.P[k, i] += weights[k] * touching.F[c, i]
    for e in range(M - 1, -1, -1):
        for i in range(3):
            x.M[e, i] = x.M[e + 1, i]
        k = e // stride - 1
        if k * stride + stride == e and k >= 0:  # station e is node k
            cross(x.t[k], x.P[k], y)
            spin(x.Rc[e], x.Om[e], x.Om_t[e], d.inertia[k, 3:], h)
            for i in range(3):
                x.M[e, i] += y[i] + d.w[k] * (loads.line_moment[k, i] - h[i])
                if flow.wrench.shape[0] > 0:
                    x.M[e, i] += d.w[k] * flow.wrench[k, 3 + i]
    for k in range(m):
        for i in range(3):
            wrench[i] += F[k, i]
    for i in range(3):
        wrench[3 + i] = x.M[0, i]
    _generalise(d, loads, bristles, q, q_t, x, Q)


@inner
def _generalise(d, loads, bristles, q, q_t, x, Q):
    """Write the generalised forces Q from P, M, stress, bristles and efforts."""
    m, M = x.t.shape[0], x.Omega.shape[0]
    stride = M // (m + 1)
    stress, moment, y = vector(6), vector(3), vector(3)
    u, slope = vector(2), matrix(2, 2)
    n = q.size
    for c in range(n):
        total = 0.0
        for b in range(n):
            total += d.elastic[c, b] * q[b] + d.viscous[c, b] * q_t[b]
        Q[c] = total
    for k in range(m):
        rotate_back(x.Rc[stride * (k + 1)], x.P[k], y)
        for i in range(6):
            stress[i] = d.w[k] * loads.stress[k, i]
            for j in range(x.effort.shape[0]):
                stress[i] += x.effort[j, k] * x.gradient[j, k, i]
        for i in range(3):
            stress[i] -= y[i]
        if bristles.limit.size > 0:
            bending_of(d, x, k, u)
            bend(bristles, k, u, moment, slope)
            for i in range(2):
                stress[BENDING + i] += d.w[k] * moment[i]
        for c in range(n):
            Q[c] += d.Phi[k, c] * stress[d.component[c]]
    bending = 0
    while bending < n and d.component[bending] < 3:
        bending += 1
    for e in range(M):
        rotate_back(x.Rc[e], x.M[e + 1], y)
        tangent_times(x.Omega[e], x.c[e], -1.0, y, moment)
        for c in range(bending, n):
            Q[c] -= d.turn[e, c] * moment[d.component[c] - 3]


@inner
def bending_of(d, x, k, u):
    """Write by how much the rod is bent at node k, beyond its rest shape, (2,) [1/m]."""
    for i in range(2):
        u[i] = x.xi[k, BENDING + i] - d.rest_strain[k, BENDING + i]
