r"""
Boyer 2023's forward dynamics: shooting on the two-point problem with the accelerations (eq. 61).

At each time step, with body twists eta = (V, Om), wrench L = (n, m), strain xi = xi_o + eps::

    g'     = g hat(xi)
    eta'   = -ad_xi eta + xi_t
    eta_t' = -ad_xi eta_t - ad_xi_t eta + xi_tt          (the dots are lost in print)
    L'     = ad_xi^T L + M eta_t - ad_eta^T M eta - F    (eta, where xi is printed)

Newmark's rule on strains, ``eps = a eps_tt + f_n``, ``eps_t = b eps_tt + h_n`` (eqs. 58, 65), and
the constitutive law leave strains and their rates as functions of L (eq. 64). A clamped rod is
shot from L(0), a free one from the pose of its base, whose motion is Newmark's on SO(3) x R^3
(eqs. 67 to 72). The tangent is the linearised problem (eqs. 80 to 83), of 24 columns.

Multiple shooting starts anew at points in between, with continuity as further equations; the
segments between them are integrated side by side, by the classical scheme of Runge and Kutta.
Strains at the middle of its steps, which the next time step asks for, are Hermite's.

Deviations: Newton where the paper has Levenberg and Marquardt; vectors are linear part first; the
law may have Kelvin-Voigt damping.

References
----------
Boyer 2023: Boyer, Lebastard, Candelier, Renda, Alamir, "Statics and dynamics of continuum robots
based on Cosserat rods and optimal control theories", IEEE Transactions on Robotics 39(2).

"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.integrate import simpson
from scipy.linalg import solve_banded

from ..checks.errors import InvalidModel
from ..description.rod import Rod
from ..numerics.lie import (
    exp_so3,
    log_so3,
    quaternion_from_matrix,
    right_tangent_so3,
)

BETA, GAMMA = 0.25, 0.5  # Newmark's, without damping
P, H, ETA, ETA_T, L = slice(0, 3), slice(3, 7), slice(7, 13), slice(13, 19), slice(19, 25)
BELOW, ABOVE = 41, 6     # bands of the equations of multiple shooting
D_POSE, D_ETA, D_ETA_T, D_L = (slice(i, i + 6) for i in (0, 6, 12, 18))  # of variations


def hats(w: np.ndarray) -> np.ndarray:
    """Return the matrices (k, 3, 3) of vector products with w (k, 3)."""
    W = np.zeros((len(w), 3, 3))
    W[:, 0, 1], W[:, 0, 2], W[:, 1, 2] = -w[:, 2], w[:, 1], -w[:, 0]
    W[:, 1, 0], W[:, 2, 0], W[:, 2, 1] = w[:, 2], -w[:, 1], w[:, 0]
    return W


def ads(x: np.ndarray) -> np.ndarray:
    """Return ad (k, 6, 6) of twists (k, 6): ``ad_x y`` is the bracket."""
    A, turn = np.zeros((len(x), 6, 6)), hats(x[:, 3:])
    A[:, :3, :3], A[:, 3:, 3:], A[:, :3, 3:] = turn, turn, hats(x[:, :3])
    return A


def coads(w: np.ndarray) -> np.ndarray:
    """Return the matrices (k, 6, 6) with ``ad_x^T w = coad_w x``, of wrenches (k, 6)."""
    A, force = np.zeros((len(w), 6, 6)), hats(w[:, :3])
    A[:, :3, 3:], A[:, 3:, :3], A[:, 3:, 3:] = force, force, hats(w[:, 3:])
    return A


def rotations(h: np.ndarray) -> np.ndarray:
    """Return rotations (k, 3, 3) of quaternions (k, 4), scalar last, of any length."""
    size = (h ** 2).sum(axis=1)[:, None, None]
    v, w = h[:, :3], h[:, 3, None, None]
    W = hats(v)
    return np.eye(3) + 2.0 / size * (w * W + W @ W)


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return products of matrices (k, i, j) with vectors (k, j)."""
    return np.einsum('kij,kj->ki', A, x)


class Loads(NamedTuple):
    """What acts on the rod at the end of a step."""

    gravity: np.ndarray  # (3,) world frame [m/s^2]
    tip: np.ndarray      # (6,) dead force and moment at the tip, world frame [N, N m]
    base: np.ndarray     # (6,) likewise at a base that is free
    active: np.ndarray   # (2 N + 1, 6) stress of the actuation at all points [N, N m]


class Base(NamedTuple):
    """Motion of the base: position in the world, turn in its own frame."""

    R: np.ndarray     # (3, 3)
    r: np.ndarray     # (3,) [m]
    r_t: np.ndarray
    r_tt: np.ndarray
    Om: np.ndarray    # (3,) body frame [rad/s]
    Om_t: np.ndarray


class _Rule(NamedTuple):
    """Newmark's rule of one step; none of it in statics, where both factors are 0."""

    b_by_a: float  # [1/s]
    by_a: float    # [1/s^2]
    f: np.ndarray  # (2 N + 1, 6)
    h: np.ndarray  # (2 N + 1, 6) [1/s]


class _Shot(NamedTuple):
    """States at all nodes (N + 1, 25), slopes of L there, and the tangent of each segment."""

    y: np.ndarray
    L_s: np.ndarray
    end: np.ndarray      # (m, 25) where each segment ends
    tangent: np.ndarray  # (m, 24, 24)


class ShootingRod:
    """
    A rod in time by shooting, clamped at its base or free at both ends.

    Parameters
    ----------
    rod : Rod
    components : sequence of int
        Strains that occur, of 0 to 5: shears, stretch, bending about x and y, twist. Kirchhoff's
        inextensible rod, (3, 4, 5), by default.
    free : bool
        Whether nothing holds the base.
    elements : int
        Steps in arc length; a multiple of `segments`.
    segments : int
        Of multiple shooting; 1 for single shooting. The paper takes ten points between.
    tolerance, most
        Of the last update relative to the states' scales, and Newton's iterations.
    R : (3, 3) array, optional
        Attitude of the base.

    """

    def __init__(
        self, rod: Rod, components: tuple[int, ...] = (3, 4, 5), free: bool = False,
        elements: int = 40, segments: int = 10, tolerance: float = 1e-9, most: int = 30,
        R: np.ndarray | None = None,
    ) -> None:
        if elements % segments:
            raise InvalidModel('elements', elements, f'a multiple of {segments}, the segments')
        self.rod, self.free, self.N, self.m = rod, free, elements, segments
        self.s = np.linspace(0.0, rod.length, 2 * elements + 1)
        self.stiffness, self.damping = rod.stiffness(self.s), rod.damping(self.s)
        self.inertia, self.rest = rod.inertia(self.s), rod.rest_strain(self.s)
        self.allowed = np.isin(np.arange(6), components)
        self.tolerance, self.most, self.time, self.iterations = tolerance, most, 0.0, 0
        self.strain = np.zeros((3, self.s.size, 6))  # eps, eps_t, eps_tt at all points
        self.base = Base(np.eye(3) if R is None else np.array(R, dtype=float), *np.zeros((5, 3)))
        self.y = self._straight()

    def _straight(self) -> np.ndarray:
        """Return the states at the nodes (N + 1, 25) of the rod at rest."""
        y = np.zeros((self.N + 1, 25))
        g = self.rod.rest_poses(self.s[::2])
        y[:, P] = g[:, :3, 3] @ self.base.R.T
        y[:, H] = quaternion_from_matrix(self.base.R @ g[:, :3, :3])
        return y

    def no_loads(self) -> Loads:
        """Return loads that are all zero, to be replaced."""
        return Loads(np.zeros(3), np.zeros(6), np.zeros(6), np.zeros((self.s.size, 6)))

    # --- The problem along the rod ---

    def strains(self, at: np.ndarray, wrench: np.ndarray, rule: _Rule, loads: Loads):
        """Return eps, eps_t, eps_tt at points and d eps / dL there, (k, 6) each: eq. 64."""
        viscous = self.damping[at]
        compliance = np.where(
            self.allowed, 1.0 / (self.stiffness[at] + rule.b_by_a * viscous), 0.0)
        past = rule.b_by_a * rule.f[at] - rule.h[at]
        eps = compliance * (wrench - loads.active[at] + viscous * past)
        change = np.where(self.allowed, eps - rule.f[at], 0.0)
        eps_t = np.where(self.allowed, rule.b_by_a * change + rule.h[at], 0.0)
        return eps, eps_t, rule.by_a * change, compliance

    def slope(
        self, at: np.ndarray, y: np.ndarray, rule: _Rule, loads: Loads,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return y' (k, 25) at points, eq. 61, and the matrices (k, 24, 24) of eqs. 80, 81."""
        eps, xi_t, xi_tt, compliance = self.strains(at, y[:, L], rule, loads)
        xi, R, M = self.rest[at] + eps, rotations(y[:, H]), self.inertia[at]
        eta, eta_t = y[:, ETA], y[:, ETA_T]
        down = np.einsum('kji,j->ki', R, loads.gravity)
        ad_xi, ad_xi_t, ad_eta = ads(xi), ads(xi_t), ads(eta)
        y_s = np.empty(y.shape)
        y_s[:, P] = times(R, xi[:, :3])
        u, h = xi[:, 3:], y[:, H]
        y_s[:, 3:6] = 0.5 * (h[:, 3:] * u + np.cross(h[:, :3], u))
        y_s[:, 6] = -0.5 * (h[:, :3] * u).sum(axis=1)
        y_s[:, ETA] = xi_t - times(ad_xi, eta)
        y_s[:, ETA_T] = xi_tt - times(ad_xi, eta_t) - times(ad_xi_t, eta)
        y_s[:, L] = times(ad_xi.transpose(0, 2, 1), y[:, L]) + M * eta_t - times(
            ad_eta.transpose(0, 2, 1), M * eta)
        y_s[:, 19:22] -= M[:, :3] * down

        A, C = np.zeros((len(y), 24, 24)), np.einsum('ki,ij->kij', compliance, np.eye(6))
        for block in (D_POSE, D_ETA, D_ETA_T):
            A[:, block, block] = -ad_xi
        A[:, D_ETA_T, D_ETA] = -ad_xi_t
        A[:, D_POSE, D_L] = C
        A[:, D_ETA, D_L] = (ad_eta + rule.b_by_a * np.eye(6)) @ C
        A[:, D_ETA_T, D_L] = (ads(eta_t) + rule.b_by_a * ad_eta + rule.by_a * np.eye(6)) @ C
        A[:, D_L, D_ETA_T] = np.einsum('ki,ij->kij', M, np.eye(6))
        A[:, D_L, D_ETA] = -ad_eta.transpose(0, 2, 1) * M[:, None, :] - coads(M * eta)
        A[:, D_L, D_L] = ad_xi.transpose(0, 2, 1) + coads(y[:, L]) @ C
        A[:, 18:21, 3:6] -= M[:, :1, None] * hats(down)
        return y_s, A

    def shoot(self, starts: np.ndarray, rule: _Rule, loads: Loads) -> _Shot:
        """Integrate all segments from their starts (m, 25), side by side."""
        k, ds = self.N // self.m, self.rod.length / self.N
        first = 2 * k * np.arange(self.m)
        y, T = starts, np.tile(np.eye(24), (self.m, 1, 1))
        nodes, slopes = np.empty((self.m, k, 25)), np.empty((self.m, k, 6))
        for i in range(k):
            at = first + 2 * i
            y1, A1 = self.slope(at, y, rule, loads)
            nodes[:, i], slopes[:, i] = y, y1[:, L]
            T1 = A1 @ T
            y2, A2 = self.slope(at + 1, y + 0.5 * ds * y1, rule, loads)
            T2 = A2 @ (T + 0.5 * ds * T1)
            y3, A3 = self.slope(at + 1, y + 0.5 * ds * y2, rule, loads)
            T3 = A3 @ (T + 0.5 * ds * T2)
            y4, A4 = self.slope(at + 2, y + ds * y3, rule, loads)
            T4 = A4 @ (T + ds * T3)
            y = y + ds / 6.0 * (y1 + 2.0 * y2 + 2.0 * y3 + y4)
            T = T + ds / 6.0 * (T1 + 2.0 * T2 + 2.0 * T3 + T4)
        last, _ = self.slope(np.array([2 * self.N]), y[-1:], rule, loads)
        return _Shot(np.vstack([nodes.reshape(-1, 25), y[-1:]]),
                     np.vstack([slopes.reshape(-1, 6), last[:, L]]), y, T)

    # --- Ends ---

    def _start(
        self, unknown: np.ndarray, dt: float, loads: Loads,
    ) -> tuple[np.ndarray, np.ndarray, Base]:
        """Return the state (25,) at the base, its derivative (24, 6), and the base's motion."""
        y, T, base = np.zeros(25), np.zeros((24, 6)), self.base
        if not self.free:
            y[P], y[H], y[L] = base.r, quaternion_from_matrix(base.R), unknown
            T[D_L] = np.eye(6)
            return y, T, base
        a, b, r, turn = BETA * dt ** 2, GAMMA * dt, unknown[:3], unknown[3:]
        f, h = _newmark(base.r, base.r_t, base.r_tt, dt)
        k, el = _newmark(np.zeros(3), base.Om, base.Om_t, dt)
        R = base.R @ exp_so3(turn)
        r_tt, Om_t = (r - f) / a, (turn - k) / a
        r_t, Om = b * r_tt + h, b * Om_t + el
        V, acceleration = R.T @ r_t, R.T @ r_tt
        y[P], y[H] = r, quaternion_from_matrix(R)
        y[ETA] = np.concatenate([V, Om])
        y[ETA_T] = np.concatenate([acceleration + np.cross(V, Om), Om_t])
        y[L] = -np.concatenate([R.T @ loads.base[:3], R.T @ loads.base[3:]])
        turned, V_, Om_, A_ = right_tangent_so3(turn), *(
            hats(w[None])[0] for w in (V, Om, acceleration))
        T[:3, :3], T[3:6, 3:] = R.T, turned
        T[6:9, :3], T[6:9, 3:] = b / a * R.T, V_ @ turned
        T[9:12, 3:] = b / a * np.eye(3)
        T[12:15, :3] = (np.eye(3) / a - b / a * Om_) @ R.T
        T[12:15, 3:] = (A_ - Om_ @ V_) @ turned + b / a * V_
        T[15:18, 3:] = np.eye(3) / a
        for part in (slice(0, 3), slice(3, 6)):
            T[18 + part.start:18 + part.stop, 3:] = -hats(
                (R.T @ loads.base[part])[None])[0] @ turned
        return y, T, Base(R, r, r_t, r_tt, Om, Om_t)

    def _at_tip(self, y: np.ndarray, loads: Loads) -> tuple[np.ndarray, np.ndarray]:
        """Return what must be zero at the tip (6,), and its derivative (6, 24)."""
        R, J = rotations(y[None, H])[0], np.zeros((6, 24))
        J[:, D_L] = np.eye(6)
        wrench = np.concatenate([R.T @ loads.tip[:3], R.T @ loads.tip[3:]])
        for part in (slice(0, 3), slice(3, 6)):
            J[part, 3:6] -= hats(wrench[None, part])[0]
        return y[L] - wrench, J

    # --- Newton ---

    def _scales(self, dt: float) -> np.ndarray:
        """Return the size of each variation, (24,)."""
        length, EI = self.rod.length, self.stiffness[0, 3:5].max()
        return np.repeat([length, 1.0, length / dt, 1.0 / dt, length / dt ** 2, 1.0 / dt ** 2,
                          EI / length ** 2, EI / length], 3)

    def _solve(self, rule: _Rule, loads: Loads, dt: float) -> bool:
        """Find all states; the present ones are the first guess, and stay if there are none."""
        m, scale = self.m, self._scales(dt)
        starts = self.y[::self.N // m][:m].copy()
        unknown = self._guess(dt)
        first_scale = scale[:6] if self.free else scale[D_L]
        for iteration in range(1, self.most + 1):
            self.iterations = iteration
            starts[0], T0, base = self._start(unknown, dt, loads)
            shot = self.shoot(starts, rule, loads)
            r, J = self._equations(starts, shot, T0, scale, loads)
            step = _solved(J, -r)
            if step is None:
                return False
            size = np.abs(step).max()
            part = min(1.0, 1.0 / size)
            unknown = unknown + part * step[:6] * first_scale
            for j in range(1, m):
                _move(starts[j], part * scale * step[24 * j - 18:24 * j + 6])
            if size < self.tolerance:
                self._accept(shot, rule, loads, base)
                return True
        return False

    def _equations(
        self, starts: np.ndarray, shot: _Shot, T0: np.ndarray, scale: np.ndarray, loads: Loads,
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return what must be zero, and its derivative; both scaled.

        With T the tangents of segments, T0 that of the base, 6 columns, and those of all starts::

            [T T0  -1      ]     continuity, 24 rows each
            [       T   -1 ]
            [            T ]     6 rows at the tip
        """
        m, first = self.m, scale[:6] if self.free else scale[D_L]
        n = 24 * m - 18
        r, J = np.zeros(n), np.zeros((n, n))
        for j in range(m):
            rows, columns = slice(24 * j, 24 * j + 24), slice(max(0, 24 * j - 18), 24 * j + 6)
            T = shot.tangent[j] * scale if j else shot.tangent[j] @ T0 * first
            if j == m - 1:
                gap, tip = self._at_tip(shot.end[j], loads)
                r[rows], J[rows, columns] = gap / scale[D_L], tip @ T / scale[D_L, None]
                continue
            r[rows] = _gap(shot.end[j], starts[j + 1]) / scale
            J[rows, columns] = T / scale[:, None]
            J[rows, 24 * j + 6:24 * j + 30] = -np.eye(24)
        return r, J

    def _guess(self, dt: float) -> np.ndarray:
        """Return the first guess of the unknowns at the base: ballistic, if it is free."""
        if not self.free:
            return self.y[0, L].copy()
        b = self.base
        return np.concatenate([_newmark(b.r, b.r_t, b.r_tt, dt)[0],
                               _newmark(np.zeros(3), b.Om, b.Om_t, dt)[0]])

    def _accept(self, shot: _Shot, rule: _Rule, loads: Loads, base: Base) -> None:
        """Make what was found the present instant."""
        wrench, ds = np.empty((2 * self.N + 1, 6)), self.rod.length / self.N
        ends, slopes = shot.y[:, L], shot.L_s
        wrench[::2] = ends
        wrench[1::2] = 0.5 * (ends[1:] + ends[:-1]) + ds / 8.0 * (slopes[:-1] - slopes[1:])
        self.y, self.base = shot.y, base
        self.strain = np.array(self.strains(np.arange(self.s.size), wrench, rule, loads)[:3])

    # --- What it does ---

    def statics(self, loads: Loads) -> bool:
        """Go to the equilibrium of a clamped rod, nearest to the present state: eqs. 51, 52."""
        none = np.zeros(self.strain[0].shape)
        return self._solve(_Rule(0.0, 0.0, none, none), loads, 1.0)

    def step(self, loads: Loads, dt: float) -> bool:
        """Advance by dt [s]; returns whether it could."""
        a, b = BETA * dt ** 2, GAMMA * dt
        eps, eps_t, eps_tt = self.strain
        f, h = _newmark(eps, eps_t, eps_tt, dt)
        if not self._solve(_Rule(b / a, 1.0 / a, f, h), loads, dt):
            return False
        self.time += dt
        return True

    @property
    def positions(self) -> np.ndarray:
        """Centres of the sections at the nodes, (N + 1, 3) [m]."""
        return self.y[:, P].copy()

    @property
    def momentum(self) -> np.ndarray:
        """Linear and angular momentum about the origin, (6,), by Simpson's rule."""
        R, density = rotations(self.y[:, H]), self.inertia[::2] * self.y[:, ETA]
        linear, spin = times(R, density[:, :3]), times(R, density[:, 3:])
        along = np.hstack([linear, spin + np.cross(self.y[:, P], linear)])
        return simpson(along, x=self.s[::2], axis=0)


def _solved(J: np.ndarray, r: np.ndarray) -> np.ndarray | None:
    """Return the solution of the banded system of multiple shooting, or None."""
    if not (np.isfinite(r).all() and np.isfinite(J).all()):
        return None
    bands, n = np.zeros((BELOW + ABOVE + 1, r.size)), r.size
    for k in range(-min(BELOW, n - 1), min(ABOVE, n - 1) + 1):
        bands[ABOVE - k, max(0, k):n + min(0, k)] = np.diagonal(J, k)
    try:
        return solve_banded((BELOW, ABOVE), bands, r)
    except np.linalg.LinAlgError:
        return None


def _newmark(
    x: np.ndarray, x_t: np.ndarray, x_tt: np.ndarray, dt: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return f_n and h_n of eq. 65."""
    return (x + dt * x_t + dt ** 2 * (0.5 - BETA) * x_tt, x_t + dt * (1.0 - GAMMA) * x_tt)


def _gap(end: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return how far the end of a segment is from the start of the next, (24,)."""
    (R, Rs), gap = rotations(np.array([end[H], start[H]])), np.empty(24)
    gap[:3] = Rs.T @ (end[P] - start[P])
    gap[3:6] = log_so3(Rs.T @ R)
    gap[6:] = end[7:] - start[7:]
    return gap


def _move(y: np.ndarray, change: np.ndarray) -> None:
    """Change a state (25,) by a variation (24,)."""
    R = rotations(y[None, H])[0]
    y[P] += R @ change[:3]
    y[H] = quaternion_from_matrix(R @ exp_so3(change[3:6]))
    y[7:] += change[6:]
