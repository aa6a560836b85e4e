"""Resolved-rate control: from the velocity that a tip should have to rates of commands."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from ..checks.errors import InvalidModel


class ResolvedRate:
    r"""
    Rates of commands by damped least squares, within limits.

    With x the rates as parts of each actuator's range, and J the tip's Jacobian likewise, it finds
    the least of ``|J x - v|^2 + (d L)^2 |x - x_0|^2`` with the commands within their limits. The
    second part keeps x finite where the tip cannot move as told. x_0 is that part of
    ``r (rest - command)`` that does not move the tip, so that tensions stay low.

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
            J = jacobian * self._span
            wanted = self._relaxation * (self._rest - commands) / self._span
            wanted -= J.T @ np.linalg.solve(
                J @ J.T + self._weight ** 2 * np.eye(len(J)), J @ wanted)
            A = np.vstack([J, self._weight * np.eye(m)])[:, free]
            b = np.concatenate([velocity, self._weight * wanted])
            x[free] = lsq_linear(A, b, (least[free], most[free]), method='bvls').x
        return np.clip(commands + dt * x * self._span, self._lower, self._upper)


class SwingDamper:
    """
    A velocity that counteracts the slowest swing of a tip, given what was seen a while ago.

    A tip that swings about its path at the angular frequency w, with the offset x and the velocity
    v, has ``v cos(w t) - w x sin(w t)`` a time t later. Against that velocity the quasi-static
    place of the tip is shifted by ``2 ratio / w`` times as much, which damps the swing.

    Parameters
    ----------
    state_matrix : (n, n) float64
        A of the linear system ``x_t = A x`` of the robot.
    fastest : float
        Angular frequency that can still be followed [rad/s].

    """

    LIVELY = 0.3  # ratio of damping from which a swing needs none

    def __init__(self, state_matrix: np.ndarray, fastest: float) -> None:
        roots = np.linalg.eigvals(state_matrix)
        sizes = np.abs(roots)
        swings = sizes[(np.abs(roots.imag) > 0.0) & (-roots.real < self.LIVELY * sizes)]
        slowest = float(swings.min(initial=np.inf))
        self.frequency = slowest if 0.0 < slowest < fastest else 0.0  # [rad/s]; 0: nothing to damp

    def shift(
        self, offset: np.ndarray, velocity: np.ndarray, age: float, ratio: float,
    ) -> np.ndarray:
        """
        Return by how much the tip's quasi-static place is to be shifted [m].

        Parameters
        ----------
        offset, velocity : (3,) float64
            Of the swing [m], [m/s], as seen.
        age : float
            Time from then until what is told now acts [s].
        ratio : float
            Damping that is added, as a part of the critical one [-].

        """
        w = self.frequency
        if w == 0.0:
            return np.zeros_like(offset)
        coming = velocity * np.cos(w * age) - w * offset * np.sin(w * age)
        return -2.0 * ratio / w * coming
