r"""
Boyer 2023's inverse dynamics: a rod whose strains are told, by Riccati's equations (eq. 84).

Along arc length, with twists eta = (V, Om), wrench L and the sweep ``L = S eta_t + s`` (eq. 57)::

    S' = M + ad_xi^T S + S ad_xi                                        S(l) = 0
    s' = ad_xi^T s - F - ad_eta^T M eta + S (ad_xi_t eta - xi_tt)       s(l) = F_+

(the dot of ad_xi_t is lost in print). -S is the inertia of what is beyond a section, frozen in its
shape (eq. 86 has the sign, the text has not); at a free base it gives the acceleration,
``eta_t = -S^-1 (s + F_-)`` (eq. 85).
All is integrated by the classical scheme of Runge and Kutta: forward poses and twists, backward S
and s, forward accelerations and with them the wrench.

In water after Lighthill (section VII-D), M has the added mass of the sections, and the tip's
wrench is ``V_1 M_a eta - (T_f e_1, 0)``, T_f = 1/2 eta^T M_a eta (eq. 91).

References
----------
Boyer 2023: see `acceleration_shooting`.

"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.lie import ad_se3, exp_so3, inverse_right_tangent_so3


class Told(NamedTuple):
    """A rod whose strains are told at an instant, at ends and middles of its steps, (2 N + 1)."""

    ds: float            # of a step [m]
    xi: np.ndarray       # (2 N + 1, 6) strain, linear part first
    xi_t: np.ndarray     # (2 N + 1, 6) [1/s]
    xi_tt: np.ndarray    # (2 N + 1, 6) [1/s^2]
    M: np.ndarray        # (2 N + 1, 6, 6) inertia of the sections, per length
    M_a: np.ndarray      # (2 N + 1, 6, 6) of the fluid that goes with them
    gravity: np.ndarray  # (3,) on the sections' own mass, world frame [m/s^2]


class Found(NamedTuple):
    """Motion and wrench of a rod whose strains are told, at the ends of steps, (N + 1)."""

    R: np.ndarray       # (N + 1, 3, 3)
    p: np.ndarray       # (N + 1, 3) [m]
    eta: np.ndarray     # (N + 1, 6) twist, body frame, linear part first
    eta_t: np.ndarray   # (N + 1, 6)
    wrench: np.ndarray  # (N + 1, 6) of what is beyond on what is before, body frame [N, N m]
    inertia: np.ndarray  # (6, 6) of the whole, frozen, at the base: -S(0)


def lighthill_tip(M_a: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return the wrench (6,) of the wake on the tail, eq. 91; z is the axis of the body."""
    wrench = eta[2] * M_a @ eta
    wrench[2] -= 0.5 * eta @ M_a @ eta
    return wrench


def inverse_dynamics(
    told: Told, R: np.ndarray, p: np.ndarray, eta: np.ndarray,
    eta_t: np.ndarray | None = None, tip: np.ndarray | None = None,
) -> Found:
    """
    Return what a rod does whose strains are told, in the three passes of section VI-B.

    Parameters
    ----------
    told : Told
    R, p, eta
        Pose of the base, and its twist (6,) in its own frame.
    eta_t : (6,) array, optional
        Its rate, of a base that is moved. Without it, the base is free.
    tip : (6,) array, optional
        Wrench on the tip, its frame [N, N m]; that of the wake is added.

    """
    motion = _forward(told, R, p, eta)
    end = lighthill_tip(told.M_a[-1], motion.eta[-1]) + (0.0 if tip is None else tip)
    S, s = _backward(told, motion, end)
    free = eta_t is None
    start = -np.linalg.solve(S[0], s[0]) if free else np.asarray(eta_t, dtype=float)
    rates = _accelerations(told, motion, start)
    return Found(motion.R[::2], motion.p[::2], motion.eta[::2], rates,
                 np.einsum('kij,kj->ki', S, rates) + s, -S[0])


class _Motion(NamedTuple):
    """Poses and twists at all points, (2 N + 1)."""

    R: np.ndarray
    p: np.ndarray
    eta: np.ndarray


def _forward(told: Told, R: np.ndarray, p: np.ndarray, eta: np.ndarray) -> _Motion:
    """Integrate eq. 49 from point to point, half a step each; strains in between are cubics'."""
    n, h = len(told.xi), 0.5 * told.ds
    out = _Motion(np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 6)))
    out.R[0], out.p[0], out.eta[0] = R, p, eta
    middle, middle_t = _middles(told.xi), _middles(told.xi_t)
    for k in range(n - 1):
        strains = told.xi[k], middle[k], told.xi[k + 1]
        rates = told.xi_t[k], middle_t[k], told.xi_t[k + 1]
        turn, Rk, e = np.zeros(3), out.R[k], out.eta[k]

        def slope(i, turn, e, strains=strains, rates=rates, Rk=Rk):
            here = strains[i]
            return (inverse_right_tangent_so3(turn) @ here[3:],
                    Rk @ exp_so3(turn) @ here[:3], rates[i] - ad_se3(here) @ e)

        a1 = slope(0, turn, e)
        a2 = slope(1, turn + 0.5 * h * a1[0], e + 0.5 * h * a1[2])
        a3 = slope(1, turn + 0.5 * h * a2[0], e + 0.5 * h * a2[2])
        a4 = slope(2, turn + h * a3[0], e + h * a3[2])
        turn, x, change = (h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
                           for b1, b2, b3, b4 in zip(a1, a2, a3, a4))
        out.R[k + 1], out.p[k + 1], out.eta[k + 1] = Rk @ exp_so3(turn), out.p[k] + x, e + change
    return out


def _middles(x: np.ndarray) -> np.ndarray:
    """Return x (n, 6) between its points, (n - 1, 6), by cubics."""
    inside = (-x[:-3] + 9.0 * x[1:-2] + 9.0 * x[2:-1] - x[3:]) / 16.0
    first = (5.0 * x[0] + 15.0 * x[1] - 5.0 * x[2] + x[3]) / 16.0
    last = (5.0 * x[-1] + 15.0 * x[-2] - 5.0 * x[-3] + x[-4]) / 16.0
    return np.vstack([first, inside, last])


def _backward(
    told: Told, motion: _Motion, end: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Integrate eq. 84 from the tip; S (N + 1, 6, 6) and s (N + 1, 6) at the ends of steps."""
    n, ds = len(told.xi) // 2, told.ds
    S, s = np.zeros((n + 1, 6, 6)), np.zeros((n + 1, 6))
    s[-1] = end

    def slope(k: int, S: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ad, M, eta = ad_se3(told.xi[k]), told.M[k] + told.M_a[k], motion.eta[k]
        weight = np.append(told.M[k][0, 0] * motion.R[k].T @ told.gravity, np.zeros(3))
        return (M + ad.T @ S + S @ ad,
                ad.T @ s - weight - ad_se3(eta).T @ M @ eta
                + S @ (ad_se3(told.xi_t[k]) @ eta - told.xi_tt[k]))

    for i in range(n, 0, -1):
        k = 2 * i
        a1 = slope(k, S[i], s[i])
        a2 = slope(k - 1, S[i] - 0.5 * ds * a1[0], s[i] - 0.5 * ds * a1[1])
        a3 = slope(k - 1, S[i] - 0.5 * ds * a2[0], s[i] - 0.5 * ds * a2[1])
        a4 = slope(k - 2, S[i] - ds * a3[0], s[i] - ds * a3[1])
        S[i - 1], s[i - 1] = (x - ds / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
                              for x, b1, b2, b3, b4 in zip((S[i], s[i]), a1, a2, a3, a4))
    return S, s


def _accelerations(told: Told, motion: _Motion, start: np.ndarray) -> np.ndarray:
    """Integrate the rate of the twist, the first of eq. 45, from the base; (N + 1, 6)."""
    n, ds = len(told.xi) // 2, told.ds
    out = np.empty((n + 1, 6))
    out[0] = start

    def slope(k: int, eta_t: np.ndarray) -> np.ndarray:
        return (told.xi_tt[k] - ad_se3(told.xi[k]) @ eta_t
                - ad_se3(told.xi_t[k]) @ motion.eta[k])

    for i in range(n):
        k = 2 * i
        a1 = slope(k, out[i])
        a2 = slope(k + 1, out[i] + 0.5 * ds * a1)
        a3 = slope(k + 1, out[i] + 0.5 * ds * a2)
        a4 = slope(k + 2, out[i] + ds * a3)
        out[i + 1] = out[i] + ds / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return out


def added_mass(half_width: np.ndarray, half_height: np.ndarray, density: float) -> np.ndarray:
    """
    Return the added mass (k, 6, 6) of elliptic sections, per length; body frame, z along the rod.

    Parameters
    ----------
    half_width, half_height : (k,) array
        Half-axes along x and y [m].
    density : float
        Of the fluid [kg/m^3].

    """
    M = np.zeros((len(half_width), 6, 6))
    M[:, 0, 0] = np.pi * density * half_height ** 2
    M[:, 1, 1] = np.pi * density * half_width ** 2
    M[:, 5, 5] = np.pi * density * (half_width ** 2 - half_height ** 2) ** 2 / 8.0
    return M
