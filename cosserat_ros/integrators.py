r"""
Implicit time schemes: velocities and accelerations of the new instant, linear in its coordinates.

Every scheme says ``q_t = cV q + hV`` and ``q_tt = cA q + hA`` with the history in hV and hA (Till
2019, eq. 5; Boyer 2023, eq. 58). The step size may change from step to step. A start at rest has a
history at rest: nothing jumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .checked import Checked, number


class Rule(NamedTuple):
    """``q_t = cV q + hV`` [1/s], ``q_tt = cA q + hA`` [1/s^2] at the end of one step."""

    cV: float
    hV: np.ndarray
    cA: float
    hA: np.ndarray


class History(NamedTuple):
    """
    What a scheme remembers: the last instant, the one before, and the step between them.

    `a` is the auxiliary acceleration of the generalised-alpha scheme, which lags behind q_tt.
    """

    q: np.ndarray
    q_t: np.ndarray
    q_tt: np.ndarray
    before: tuple[np.ndarray, np.ndarray] | None = None  # q and q_t one step earlier
    dt: float = 0.0
    a: np.ndarray | None = None


class _Stepping(Checked):
    """What the schemes share."""

    def advance(self, past: History, rule: Rule, q: np.ndarray, dt: float) -> History:
        """Return the history after a step of dt [s] by `rule` that ended at q."""
        return History(q, rule.cV * q + rule.hV, rule.cA * q + rule.hA, (past.q, past.q_t), dt)


@dataclass(frozen=True)
class BackwardEuler(_Stepping):
    """First order, strongly damped."""

    def rule(self, past: History, dt: float) -> Rule:
        """Return the rule of a step of dt [s]."""
        hV = -past.q / dt
        return Rule(1.0 / dt, hV, 1.0 / dt ** 2, (hV - past.q_t) / dt)


@dataclass(frozen=True)
class BDFAlpha(_Stepping):
    """
    Two-step family of second order (Till 2019, section 2.3).

    ``(1 + alpha) q_t - alpha q_t,1`` = BDF2 plus alpha dt times the second difference. alpha = 0
    is BDF2, -1/2 the trapezoidal rule, -0.2 the paper's choice between.
    """

    alpha: float = number('-', least=-0.5, most=0.0, default=-0.2)

    def rule(self, past: History, dt: float) -> Rule:
        """Return the rule of a step of dt [s]."""
        previous = past.dt or dt
        q2, q2_t = past.before or (past.q - previous * past.q_t, past.q_t - previous * past.q_tt)
        ratio = dt / previous
        second = self.alpha * 2.0 * ratio / (1.0 + ratio)  # of (1, -1 - ratio, ratio), dt^2 y_tt
        c0 = ((1.0 + 2.0 * ratio) / (1.0 + ratio) + second) / dt
        c1 = -(1.0 + ratio) * (1.0 + second) / dt
        c2 = (ratio ** 2 / (1.0 + ratio) + ratio * second) / dt
        cV, c1, c2, alpha = (c / (1.0 + self.alpha) for c in (c0, c1, c2, self.alpha))
        hV = c1 * past.q + c2 * q2 + alpha * past.q_t
        hA = cV * hV + c1 * past.q_t + c2 * q2_t + alpha * past.q_tt
        return Rule(cV, hV, cV ** 2, hA)


@dataclass(frozen=True)
class GeneralisedAlpha(_Stepping):
    """
    Second order, with chosen damping of high frequencies (Chung and Hulbert 1993).

    In the form of Arnold and Bruels (2007): the equations hold at the new instant, and an
    auxiliary acceleration `a` lags behind q_tt.

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

    def rule(self, past: History, dt: float) -> Rule:
        """Return the rule of a step of dt [s]."""
        alpha_m, alpha_f, beta, gamma = self.constants
        a = past.q_tt if past.a is None else past.a
        c = 1.0 / (beta * dt ** 2)
        h = -c * (past.q + dt * past.q_t) - (0.5 - beta) / beta * a  # the new a is c q + h
        lag = (1.0 - alpha_m) / (1.0 - alpha_f)
        return Rule(
            gamma * dt * c, past.q_t + dt * ((1.0 - gamma) * a + gamma * h),
            lag * c, lag * h + (alpha_m * a - alpha_f * past.q_tt) / (1.0 - alpha_f))

    def advance(self, past: History, rule: Rule, q: np.ndarray, dt: float) -> History:
        """Return the history after a step of dt [s] by `rule` that ended at q."""
        _, _, beta, _ = self.constants
        a = past.q_tt if past.a is None else past.a
        a = (q - past.q - dt * past.q_t) / (beta * dt ** 2) - (0.5 - beta) / beta * a
        return super().advance(past, rule, q, dt)._replace(a=a)


@dataclass(frozen=True)
class Newmark(_Stepping):
    """Newmark's scheme (Boyer 2023, eq. 58); by default with the average acceleration."""

    beta: float = number('-', above=0.0, most=0.5, default=0.25)
    gamma: float = number('-', least=0.5, most=1.0, default=0.5)

    def rule(self, past: History, dt: float) -> Rule:
        """Return the rule of a step of dt [s]."""
        c = 1.0 / (self.beta * dt ** 2)
        h = -c * (past.q + dt * past.q_t) - (0.5 - self.beta) / self.beta * past.q_tt
        return Rule(
            self.gamma * dt * c,
            past.q_t + dt * ((1.0 - self.gamma) * past.q_tt + self.gamma * h), c, h)


Scheme = BackwardEuler | BDFAlpha | GeneralisedAlpha | Newmark
SCHEMES: dict[str, Scheme] = {
    'generalised_alpha': GeneralisedAlpha(),
    'backward_euler': BackwardEuler(),
    'bdf2': BDFAlpha(0.0),
    'bdf_alpha': BDFAlpha(-0.2),
    'trapezoidal': BDFAlpha(-0.5),
    'newmark': Newmark(),
}
