r"""
Implicit time schemes: velocities and accelerations of the new instant, linear in its coordinates.

Every scheme says ``q_t = cV q + hV`` and ``q_tt = cA q + hA`` with the history in hV and hA (Till
2019, eq. 5; Boyer 2023, eq. 58). These are sums over the history, so that a scheme is a few
numbers for each step size, which may change from step to step. A start at rest has a history at
rest: nothing jumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..checks.fields import Checked, number

# Rows of a history (6, n): the last instant; q and q_t of the one before; and the auxiliary
# acceleration of the generalised-alpha scheme, which lags behind q_tt.
Q, Q_T, Q_TT, BEFORE, BEFORE_T, LAGGING = np.eye(6)
ROWS = 6


class Rule(NamedTuple):
    """
    One step, as numbers: of the new coordinates, and of the history's rows.

    For q_t [1/s], q_tt [1/s^2] and the auxiliary acceleration [1/s^2] of the new instant.
    """

    new: np.ndarray    # (3,) cV, cA, and the same for the auxiliary acceleration
    past: np.ndarray   # (3, 6) whose sums are hV, hA, ...
    guess: np.ndarray  # (6,) whose sum is a first guess of q


STILL = Rule(np.zeros(3), np.zeros((3, ROWS)), Q)
"""Of statics."""


def begin(q: np.ndarray, q_t: np.ndarray, q_tt: np.ndarray) -> np.ndarray:
    """Return the history (6, n) of a start; that before it is not known, see `Scheme.rule`."""
    return np.array([q, q_t, q_tt, q, q_t, q_tt], dtype=float)


Lines = tuple[float, np.ndarray, float, np.ndarray]
"""cV, hV, cA and hA; hV and hA as weights of the history's rows."""


class _Stepping(Checked):
    """What the schemes share."""

    def lines(self, dt: float, previous: float) -> Lines:
        """Return what makes the scheme; for the parameters, see `rule`."""
        raise NotImplementedError

    def auxiliary(self, dt: float) -> tuple[float, np.ndarray] | None:
        """Return the line of the auxiliary acceleration, if there is one."""
        return None

    def rule(self, dt: float, previous: float = 0.0) -> Rule:
        """
        Return the rule of a step.

        Parameters
        ----------
        dt, previous : float
            This step, and the one before; 0 for the latter at a start [s].

        """
        return _rule(self, dt, previous)


@lru_cache(maxsize=64)
def _rule(scheme: _Stepping, dt: float, previous: float) -> Rule:
    cV, hV, cA, hA = scheme.lines(dt, previous)
    c, h = scheme.auxiliary(dt) or (cA, hA)
    # Adams and Bashforth's: accelerations of what a large step does not resolve would mislead.
    change = 0.5 * dt * ((Q_T - BEFORE_T) / previous if previous else Q_TT)
    return Rule(np.array([cV, cA, c]), np.array([hV, hA, h]), Q + dt * (Q_T + change))


@dataclass(frozen=True)
class BackwardEuler(_Stepping):
    """First order, strongly damped."""

    def lines(self, dt: float, previous: float) -> Lines:
        """Return cV, hV, cA and hA."""
        hV = -Q / dt
        return 1.0 / dt, hV, 1.0 / dt ** 2, (hV - Q_T) / dt


@dataclass(frozen=True)
class BDFAlpha(_Stepping):
    """
    Two-step family of second order (Till 2019, section 2.2).

    ``(1 + alpha) q_t - alpha q_t,1`` = BDF2 plus alpha dt times the second difference. alpha = 0
    is BDF2, -1/2 the trapezoidal rule, -0.2 the paper's choice between.
    """

    alpha: float = number('-', least=-0.5, most=0.0, default=-0.2)

    def lines(self, dt: float, previous: float) -> Lines:
        """Return cV, hV, cA and hA."""
        q2, q2_t = (BEFORE, BEFORE_T) if previous else (Q - dt * Q_T, Q_T - dt * Q_TT)
        ratio = dt / (previous or dt)
        second = self.alpha * 2.0 * ratio / (1.0 + ratio)  # of (1, -1 - ratio, ratio), dt^2 y_tt
        c0 = ((1.0 + 2.0 * ratio) / (1.0 + ratio) + second) / dt
        c1 = -(1.0 + ratio) * (1.0 + second) / dt
        c2 = (ratio ** 2 / (1.0 + ratio) + ratio * second) / dt
        cV, c1, c2, alpha = (c / (1.0 + self.alpha) for c in (c0, c1, c2, self.alpha))
        hV = c1 * Q + c2 * q2 + alpha * Q_T
        hA = cV * hV + c1 * Q_T + c2 * q2_t + alpha * Q_TT
        return cV, hV, cV ** 2, hA


@dataclass(frozen=True)
class GeneralisedAlpha(_Stepping):
    """
    Second order, with chosen damping of high frequencies (Chung and Hulbert 1993).

    In the form of Arnold and Bruels (2007): the equations hold at the new instant, and an
    auxiliary acceleration lags behind q_tt.

    Parameters
    ----------
    spectral_radius : float
        By which the highest frequencies shrink in each step, 0 to 1 [-].

    """

    spectral_radius: float = number('-', least=0.0, most=1.0, default=0.9)

    @property
    def constants(self) -> tuple[float, float, float, float]:
        """alpha_m, alpha_f, beta, gamma."""
        rho = self.spectral_radius
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        return alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma

    def auxiliary(self, dt: float) -> tuple[float, np.ndarray]:
        """Return c and h: the new auxiliary acceleration is c q + h."""
        _, _, beta, _ = self.constants
        c = 1.0 / (beta * dt ** 2)
        return c, -c * (Q + dt * Q_T) - (0.5 - beta) / beta * LAGGING

    def lines(self, dt: float, previous: float) -> Lines:
        """Return cV, hV, cA and hA."""
        alpha_m, alpha_f, _, gamma = self.constants
        c, h = self.auxiliary(dt)
        lag = (1.0 - alpha_m) / (1.0 - alpha_f)
        return (gamma * dt * c, Q_T + dt * ((1.0 - gamma) * LAGGING + gamma * h),
                lag * c, lag * h + (alpha_m * LAGGING - alpha_f * Q_TT) / (1.0 - alpha_f))


@dataclass(frozen=True)
class Newmark(_Stepping):
    """Newmark's scheme (Boyer 2023, eq. 58); by default with the average acceleration."""

    beta: float = number('-', above=0.0, most=0.5, default=0.25)
    gamma: float = number('-', least=0.5, most=1.0, default=0.5)

    def lines(self, dt: float, previous: float) -> Lines:
        """Return cV, hV, cA and hA."""
        c = 1.0 / (self.beta * dt ** 2)
        h = -c * (Q + dt * Q_T) - (0.5 - self.beta) / self.beta * Q_TT
        return self.gamma * dt * c, Q_T + dt * ((1.0 - self.gamma) * Q_TT + self.gamma * h), c, h


Scheme = BackwardEuler | BDFAlpha | GeneralisedAlpha | Newmark
SCHEMES: dict[str, Scheme] = {
    'generalised_alpha': GeneralisedAlpha(),
    'backward_euler': BackwardEuler(),
    'bdf2': BDFAlpha(0.0),
    'bdf_alpha': BDFAlpha(-0.2),
    'trapezoidal': BDFAlpha(-0.5),
    'newmark': Newmark(),
}
