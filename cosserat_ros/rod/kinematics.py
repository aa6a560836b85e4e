r"""
Kinematics of one rod: positions, velocities, accelerations of all nodes, and their variations.

Everything is an explicit function of the coordinates q (see `rod.discretisation`), and each
formula here is its exact derivative. World frame, ``t = R v``:

    Om   = sum R a,             a = T o_t                             (o: exponents of the chain)
    Om_t = sum R b + Om x R a,  b = T o_tt + (dT/do . o_t) o_t
    t_t  = R v_t + Om x t
    t_tt = R v_tt + Om_t x t + Om x (Om x t + 2 R v_t)
    p = p_0 + W t, p_t = p_0,t + W t_t, p_tt = p_0,tt + W t_tt
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import matrix, vector
from ..numerics.kernels import inner, kernel, merged
from ..numerics.rotations import (
    add_quadratic_rate,
    coefficients,
    cross,
    exponential,
    rotate,
    tangent_and_slope,
    tangent_times,
)
from .discretisation import Discretisation


class Base(NamedTuple):
    """Motion of the rod's base, world frame."""

    R: np.ndarray      # (3, 3) body to world
    p: np.ndarray      # (3,) [m]
    Om: np.ndarray     # (3,) angular velocity [rad/s]
    p_t: np.ndarray    # (3,) [m/s]
    Om_t: np.ndarray   # (3,) [rad/s^2]
    p_tt: np.ndarray   # (3,) [m/s^2]


class State(NamedTuple):
    """Kinematics of all stations and nodes; world frame unless said otherwise."""

    Rc: np.ndarray       # (M + 1, 3, 3) rotation after each exponential of the chain
    Omega: np.ndarray    # (M, 3) exponents [rad]
    Omega_t: np.ndarray  # (M, 3)
    Omega_tt: np.ndarray  # (M, 3)
    c: np.ndarray        # (M, 8) coefficients of the exponentials, see `coefficients`
    Om: np.ndarray       # (M + 1, 3) angular velocity
    Om_t: np.ndarray     # (M + 1, 3) angular acceleration
    step: np.ndarray     # (M, 3) Om_e - Om_{e-1}
    step_t: np.ndarray   # (M, 3) R b, see `_chain`
    xi: np.ndarray       # (N, 6) strain, body frame
    xi_t: np.ndarray     # (N, 6)
    xi_tt: np.ndarray    # (N, 6)
    t: np.ndarray        # (N, 3) R v
    t_t: np.ndarray      # (N, 3)
    t_tt: np.ndarray     # (N, 3)
    p: np.ndarray        # (N, 3) [m]
    p_t: np.ndarray      # (N, 3)
    p_tt: np.ndarray     # (N, 3)
    p_end: np.ndarray    # (E, 3) position of the elements' ends [m]
    p_end_t: np.ndarray  # (E, 3)
    p_end_tt: np.ndarray  # (E, 3)


# --- Kinematics ----------------------------------------------------------------------------------

def free_base(R: np.ndarray, y: np.ndarray, y_t: np.ndarray, y_tt: np.ndarray) -> Base:
    """
    Return the motion of a free base from its coordinates (6,): position, then turn.

    The turn is the rotation vector, world frame, from the attitude R of the last instant; its
    rates are the angular velocity and acceleration, so that a time rule acts on SO(3) x R^3 as on
    any coordinate (Boyer 2023, eqs. 67 to 70).
    """
    return Base(*_parts_of_base(R, y, y_t, y_tt))


# Kernels that Python calls return plain tuples: numba makes named ones by calls of Python's, and
# crashes if a signal ends such a call.

@kernel
def _parts_of_base(R, y, y_t, y_tt):
    base = base_of(R, y, y_t, y_tt)
    return base.R, base.p, base.Om, base.p_t, base.Om_t, base.p_tt


@inner
def base_of(R, y, y_t, y_tt):
    """In a kernel: return what `free_base` does."""
    turn, new, c = matrix(3, 3), np.empty((3, 3)), vector(8)
    coefficients(y[3:], c)
    exponential(y[3:], c, turn)
    for i in range(3):
        for j in range(3):
            new[i, j] = turn[i, 0] * R[0, j] + turn[i, 1] * R[1, j] + turn[i, 2] * R[2, j]
    return Base(new, y[:3].copy(), y_t[3:].copy(), y_t[:3].copy(), y_tt[3:].copy(),
                y_tt[:3].copy())


def kinematics(
    d: Discretisation, base: Base, q: np.ndarray, q_t: np.ndarray, q_tt: np.ndarray,
) -> State:
    """Return the state of all nodes and stations, from coordinates and their rates (n,)."""
    return State(*_parts_of_state(d, base, q, q_t, q_tt))


@kernel
def _parts_of_state(d, base, q, q_t, q_tt):
    x = state_of(d, base, q, q_t, q_tt)
    return (x.Rc, x.Omega, x.Omega_t, x.Omega_tt, x.c, x.Om, x.Om_t, x.step, x.step_t, x.xi,
            x.xi_t, x.xi_tt, x.t, x.t_t, x.t_tt, x.p, x.p_t, x.p_tt, x.p_end, x.p_end_t,
            x.p_end_tt)


@inner
def state_of(d, base, q, q_t, q_tt):
    """In a kernel: return the same `State`."""
    xi, Omega = _expand(d, q)
    xi_t, Omega_t = _expand(d, q_t)
    xi_tt, Omega_tt = _expand(d, q_tt)
    for k in range(xi.shape[0]):
        for i in range(6):
            xi[k, i] += d.rest_strain[k, i]
    for e in range(Omega.shape[0]):
        for i in range(3):
            Omega[e, i] += d.rest_turn[e, i]
    c, Rc, Om, Om_t, step, step_t = _chain(base, Omega, Omega_t, Omega_tt)

    t, t_t, t_tt = _tangents(d, Rc, Om, Om_t, xi, xi_t, xi_tt)
    p, p_t, p_tt, p_end, p_end_t, p_end_tt = _positions(d, base, t, t_t, t_tt)
    return State(Rc, Omega, Omega_t, Omega_tt, c, Om, Om_t, step, step_t, xi, xi_t, xi_tt,
                 t, t_t, t_tt, p, p_t, p_tt, p_end, p_end_t, p_end_tt)


@merged
def _tangents(d, Rc, Om, Om_t, xi, xi_t, xi_tt):
    """Return t = R v and its two time derivatives at the nodes, (N, 3) each."""
    N = d.s.size
    t, t_t, t_tt = np.empty((N, 3)), np.empty((N, 3)), np.empty((N, 3))
    y, z = vector(3), vector(3)
    for k in range(N):
        e = d.station[k]
        rotate(Rc[e], xi[k, :3], t[k])
        cross(Om[e], t[k], y)
        rotate(Rc[e], xi_t[k, :3], z)
        for i in range(3):
            t_t[k, i] = z[i] + y[i]           # R v_t + Om x t
            y[i] += 2.0 * z[i]
        cross(Om[e], y, z)                   # Om x (Om x t + 2 R v_t)
        cross(Om_t[e], t[k], y)
        for i in range(3):
            t_tt[k, i] = y[i] + z[i]
        rotate(Rc[e], xi_tt[k, :3], y)
        for i in range(3):
            t_tt[k, i] += y[i]
    return t, t_t, t_tt


@merged
def _positions(d, base, t, t_t, t_tt):
    """Return p, p_t and p_tt at the nodes, (N, 3) each, and at the elements' ends, (E, 3) each."""
    N, E = d.s.size, d.W.shape[0]
    m = N // E
    p, p_t, p_tt = np.empty((N, 3)), np.empty((N, 3)), np.empty((N, 3))
    p_end, p_end_t, p_end_tt = np.empty((E, 3)), np.empty((E, 3)), np.empty((E, 3))
    start, start_t, start_tt = base.p, base.p_t, base.p_tt
    for a in range(E):
        first, last = a * m, (a + 1) * m
        for k in range(first, last):
            weights = d.W[a, k - first]
            _integrate(weights, t, first, start, p[k])
            _integrate(weights, t_t, first, start_t, p_t[k])
            _integrate(weights, t_tt, first, start_tt, p_tt[k])
        weights = d.w[first:last]
        _integrate(weights, t, first, start, p_end[a])
        _integrate(weights, t_t, first, start_t, p_end_t[a])
        _integrate(weights, t_tt, first, start_tt, p_end_tt[a])
        start, start_t, start_tt = p_end[a], p_end_t[a], p_end_tt[a]
    return p, p_t, p_tt, p_end, p_end_t, p_end_tt


@inner
def _integrate(weights, t, first, start, out):
    """Write start + sum_j weights_j t_{first + j}, (3,)."""
    x, y, z = start[0], start[1], start[2]
    for j in range(weights.size):
        x += weights[j] * t[first + j, 0]
        y += weights[j] * t[first + j, 1]
        z += weights[j] * t[first + j, 2]
    out[0] = x
    out[1] = y
    out[2] = z


@merged
def _expand(d, q):
    """Return the strain that modes add at the nodes (N, 6), and to the exponents (M, 3)."""
    xi, Omega = np.zeros((d.Phi.shape[0], 6)), np.zeros((d.turn.shape[0], 3))
    for c in range(q.size):
        i, reach = d.component[c], d.reach[c]
        for k in range(reach[0], reach[1]):
            xi[k, i] += d.Phi[k, c] * q[c]
        if i >= 3:
            for e in range(reach[2], reach[3]):
                Omega[e, i - 3] += d.turn[e, c] * q[c]
    return xi, Omega


@merged
def _chain(base, Omega, Omega_t, Omega_tt):
    """
    Return coefficients, rotations, angular velocities and accelerations along the chain.

    With a = T o_t and b = T o_tt + (dT/do . o_t) o_t in the frame before an exponential:
    ``Om_e = Om + R a``, ``Om_t,e = Om_t + R b + Om x R a``.
    """
    M = Omega.shape[0]
    Rc, Om, Om_t = np.empty((M + 1, 3, 3)), np.empty((M + 1, 3)), np.empty((M + 1, 3))
    step, step_t = np.empty((M, 3)), np.empty((M, 3))
    c = np.empty((M, 8))
    X, y, z = matrix(3, 3), vector(3), vector(3)
    for i in range(3):
        Om[0, i], Om_t[0, i] = base.Om[i], base.Om_t[i]
        for j in range(3):
            Rc[0, i, j] = base.R[i, j]
    for e in range(M):
        coefficients(Omega[e], c[e])
        exponential(Omega[e], c[e], X)
        for i in range(3):
            for j in range(3):
                Rc[e + 1, i, j] = (
                    Rc[e, i, 0] * X[0, j] + Rc[e, i, 1] * X[1, j] + Rc[e, i, 2] * X[2, j])
        tangent_times(Omega[e], c[e], 1.0, Omega_t[e], y)
        rotate(Rc[e], y, step[e])
        tangent_times(Omega[e], c[e], 1.0, Omega_tt[e], y)
        add_quadratic_rate(Omega[e], c[e], Omega_t[e], y)
        rotate(Rc[e], y, step_t[e])
        cross(Om[e], step[e], z)
        for i in range(3):
            Om[e + 1, i] = Om[e, i] + step[e, i]
            Om_t[e + 1, i] = Om_t[e, i] + step_t[e, i] + z[i]
    return c, Rc, Om, Om_t, step, step_t


# --- Variations ----------------------------------------------------------------------------------

@inner
def turn_columns(d, x):
    """Return how the rotation after each exponential varies with q, (M + 1, 3, n), world frame."""
    M, n = d.turn.shape
    psi, T, D = np.zeros((M + 1, 3, n)), matrix(3, 3), matrix(3, 3)
    for e in range(M):
        tangent_and_slope(x.Omega[e], x.c[e], x.Omega_t[e], T, D)
        _add_turns(d, e, x.Rc[e], T, psi)
    return psi


@inner
def _add_turns(d, e, R, T, psi):
    """Write psi after exponential e alone: that before it, and R T times its own columns."""
    n = d.turn.shape[1]
    for i in range(3):
        for k in range(psi.shape[2]):
            psi[e + 1, i, k] = psi[e, i, k]
        for k in range(n):
            j = d.component[k] - 3
            if j >= 0:
                psi[e + 1, i, k] += d.turn[e, k] * (
                    R[i, 0] * T[0, j] + R[i, 1] * T[1, j] + R[i, 2] * T[2, j])

