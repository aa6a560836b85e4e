"""Resolved-rate control: from the velocity that a tip should have to rates of commands."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from .errors import InvalidModel


class ResolvedRate:
    r"""
    Rates of commands by damped least squares, within limits.

    With x the rates as parts of each actuator's range, and J the tip's Jacobian likewise, it finds
    the least of ``|J x - v|^2 + (d L)^2 |x - x_0|^2`` with the commands within their limits. The
    second part keeps x finite where the tip cannot move as told, and leads commands that do not
    matter to the tip to rest: ``x_0 = r (rest - command)``, so that tensions stay low.

    Parameters
    ----------
    lower, upper : (m,) float64
        Limits of commands, infinite where there are none.
    rate : (m,) float64
        Their greatest change per second, likewise.
    rest : (m,) float64
        Commands that do nothing.
    span : (m,) float64
        Range of each command, > 0: how its unit compares with others.
    length : float
        L, of the robot [m].
    damping : float
        d [-], > 0.
    relaxation : float
        r [1/s].

    """

    def __init__(
        self, lower: np.ndarray, upper: np.ndarray, rate: np.ndarray, rest: np.ndarray,
        span: np.ndarray, length: float, damping: float, relaxation: float,
    ) -> None:
        self._lower, self._upper, self._rate = (np.array(a, float) for a in (lower, upper, rate))
        self._rest, self._span = np.array(rest, float), np.array(span, float)
        if not (self._span > 0.0).all():
            raise InvalidModel('span', self._span.tolist(), '> 0')
        self._weight, self._relaxation = damping * length, relaxation

    def step(
        self, jacobian: np.ndarray, velocity: np.ndarray, commands: np.ndarray, dt: float,
    ) -> np.ndarray:
        """
        Return the commands a moment later, (m,).

        Parameters
        ----------
        jacobian : (k, m) float64
            Change of the tip's coordinates per unit of each command [m].
        velocity : (k,) float64
            What they should change by per second [m/s].
        commands : (m,) float64
            The present ones, within limits.
        dt : float
            That moment [s].

        """
        m = len(commands)
        least = np.maximum((self._lower - commands) / dt, -self._rate) / self._span
        most = np.minimum((self._upper - commands) / dt, self._rate) / self._span
        least, most = np.minimum(least, 0.0), np.maximum(most, 0.0)
        free = most > least
        x = np.zeros(m)
        if free.any():
            wanted = self._relaxation * (self._rest - commands) / self._span
            A = np.vstack([jacobian * self._span, self._weight * np.eye(m)])[:, free]
            b = np.concatenate([velocity, self._weight * wanted])
            x[free] = lsq_linear(A, b, (least[free], most[free]), method='bvls').x
        return np.clip(commands + dt * x * self._span, self._lower, self._upper)
