r"""
The tangent of a fluid's forces on an element: with its own coordinates, and with its start.

At node k, with S the slope (6, 15) of the wrench per length and w the weight of the node, force
and moment vary by ``w S (psi, dp_t, dOm, dp_tt, dOm_t)``.
"""

from __future__ import annotations

from ..numerics.arena import empty, vector, zeros
from ..numerics.kernels import inner
from ..numerics.rotations import add_like, cross
from .element_start import rotating, turn_back


@inner
def flow_columns(d, flow, x, psi, dOm, dOm_t, dt_t, dt_tt, dF, dL, room):
    """Add the variations of a fluid's forces and moments at the nodes to dF and dL (m, 3, C)."""
    m, C = d.Phi.shape[0], psi.shape[2]
    stride, kept = x.Omega.shape[0] // (m + 1), room.used[0]
    for k in range(m):
        e, S = stride * (k + 1), flow.slope[k]
        dp_t, dp_tt = zeros(room, (3, C)), zeros(room, (3, C))
        for j in range(m):
            add_like(dt_t[j], dp_t, d.W[k, j])
            add_like(dt_tt[j], dp_tt, d.W[k, j])
        for i in range(3):
            for j in range(3):
                _add_row(S[i], j, d.w[k], psi[e], dp_t, dOm[e], dp_tt, dOm_t[e], dF[k, i])
                _add_row(S[3 + i], j, d.w[k], psi[e], dp_t, dOm[e], dp_tt, dOm_t[e], dL[k, i])
        room.used[0] = kept


@inner
def _add_row(S, j, w, psi, dp_t, dOm, dp_tt, dOm_t, out):
    """Add what component j of a node's motion makes in one component of a wrench, (C,)."""
    a, b, c, d, e = w * S[j], w * S[3 + j], w * S[6 + j], w * S[9 + j], w * S[12 + j]
    for k in range(out.size):
        out[k] += a * psi[j, k] + b * dp_t[j, k] + c * dOm[j, k] + d * dp_tt[j, k] + (
            e * dOm_t[j, k])


@inner
def _turned(start, lever, rate, second, drift, turn, Om_t, u, moved):
    """Write how a node moves (15,) as the start turns: all of it, less the start's velocities."""
    v, y, z = vector(3), vector(3), vector(3)
    cross(u, start.Om, v)
    cross(u, rate, y)
    cross(v, lever, z)
    for i in range(3):
        moved[i], moved[3 + i] = u[i], y[i] - z[i]
    cross(u, turn, moved[6:9])
    cross(u, second, y)
    rotating(start, lever, drift, v, z)
    for i in range(3):
        moved[9 + i] = y[i] - z[i]
    cross(u, Om_t, y)
    cross(v, turn, z)
    cross(u, start.Om_t, v)
    for i in range(3):
        moved[12 + i] = y[i] - z[i] - v[i]
    cross(v, lever, z)
    for i in range(3):
        moved[9 + i] -= z[i]


@inner
def flow_with_start(d, flow, start, x, psi, dt, rows, room):
    """
    Add the columns of the start's motion to rows (n + 6, n + 18).

    The wrench at the start has been turned as a whole with it; a fluid's forces change as the
    motion of the nodes does.
    """
    m, n = d.Phi.shape
    stride = x.Omega.shape[0] // (m + 1)
    lever, drift, turn, rate, second = (
        vector(3), vector(3), vector(3), vector(3), vector(3))
    u, y, moved, load = vector(3), vector(3), vector(15), vector(6)
    dp = empty(room, (3, n))
    for k in range(m):
        e, S, w = stride * (k + 1), flow.slope[k], d.w[k]
        for i in range(3):
            lever[i] = x.p[k, i] - start.p[i]
            rate[i] = x.p_t[k, i] - start.p_t[i]
            second[i] = x.p_tt[k, i] - start.p_tt[i]
            turn[i] = x.Om[e, i] - start.Om[i]
            for c in range(n):
                dp[i, c] = 0.0
        cross(start.Om, lever, y)
        for i in range(3):
            drift[i] = rate[i] - y[i]
        for j in range(m):
            add_like(dt[j], dp, d.W[k, j])
        turn_back(w, flow.wrench[k, :3], flow.wrench[k, 3:], lever, dp, psi[e], rows)
        for b in range(3, 18):
            for i in range(15):
                moved[i] = 0.0
            for i in range(3):
                u[i] = 1.0 if i == b % 3 else 0.0
            if b < 6:
                _turned(start, lever, rate, second, drift, turn, x.Om_t[e], u, moved)
            elif b < 9:
                moved[3 + b - 6] = 1.0
            elif b < 12:
                cross(u, lever, moved[3:6])
                moved[6 + b - 9] = 1.0
                rotating(start, lever, drift, u, moved[9:12])
                cross(u, turn, moved[12:15])
            elif b < 15:
                moved[9 + b - 12] = 1.0
            else:
                cross(u, lever, moved[9:12])
                moved[12 + b - 15] = 1.0
            for i in range(6):
                load[i] = 0.0
                for j in range(15):
                    load[i] += w * S[i, j] * moved[j]
            for i in range(3):
                for c in range(n):
                    rows[c, n + b] -= load[i] * dp[i, c] + load[3 + i] * psi[e, i, c]
            cross(lever, load[:3], y)
            for i in range(3):
                rows[n + i, n + b] += load[i]
                rows[n + 3 + i, n + b] += y[i] + load[3 + i]
