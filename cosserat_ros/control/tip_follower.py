r"""
From a path and poses of a tip, which come late, to commands.

Commands move on by ``J du = dy_ref + k f dt``, with the static Jacobian J, the path y_ref, the
gain k and the error f: at the stamp of a pose it is wanted minus seen, smoothed by a lag of time
constant S. The path is taken at the instant at which a command acts.

**Delay.** The stamp of a pose tells its age. With the time D from a stamp until what is told then
has acted and is told anew, the loop is ``L(s) = k exp(-s D) / (s (1 + s S))``, for motions that
are slower than swings. As ``|L(i w)| <= k / w``, L crosses 1 at some ``w <= k``, where its phase
lags by ``pi/2 + w D + atan(w S) <= pi/2 + k (D + S)``. So the gain is lowered where need be until
``k (D + S) <= pi/4``: a phase margin of 45 degrees for any delay that stamps tell.

**Swings.** Against a swing of the tip about its path, the tip's place at rest is shifted by
``2 r / w`` of its velocity, foretold over the time D, see `SwingDamper`: that adds r to its ratio
of damping. If D is wrong by dD, what is added is ``r cos(w dD)``: beyond ``w dD = pi/2`` the swing
is fed. How long commands take is not told; they are supposed to take no longer than the latest of
the poses of the last second did. So r is lowered in proportion as w times that age goes to pi/2,
and is 0 beyond: what is added is never negative, and what is left is the robot's own damping.

**No jumps.** Where poses do not come, commands do not either. What they have missed would be a
jump, and what is not damped would swing. So commands go along the path by their own clock: one
that is behind goes faster, but never as much as twice.
"""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np

from .resolved_rate import ResolvedRate, SwingDamper

MARGIN = 0.25 * math.pi    # [rad] of the loop's phase, that delay and smoothing may take
LATEST = 0.5 * math.pi     # [rad] of a swing in the age of a pose, from which it is not damped
REMEMBERED = 1.0           # [s] that the age of a pose counts
SPRINT = 1.5               # mean times between poses that one command makes up for, at most
AVERAGED = 0.1             # weight of the newest in the mean time between poses


class TipFollower:
    """
    Leads a tip along a path; times are counted from its beginning [s].

    Parameters
    ----------
    path : callable
        Place [m] and velocity [m/s] of the tip at a time, (3,) each.
    led : (3,) bool
        Which coordinates are controlled.
    control, damping : ResolvedRate
        For the motion along the path, and for what damps swings.
    damper : SwingDamper
    commands : (n,) float64
        Those that have the tip at the beginning.
    delay : float
        From when a command comes to when it acts [s].
    greatest : float
        Error that is made good at a time [m].
    period : float
        Between poses, about [s].

    Attributes
    ----------
    error : (3,) float64
        Wanted minus seen place of the tip, of the last pose [m].

    """

    def __init__(
        self, path: Callable[[float], tuple[np.ndarray, np.ndarray]], led: np.ndarray,
        control: ResolvedRate, damping: ResolvedRate, damper: SwingDamper, commands: np.ndarray,
        delay: float, greatest: float, period: float,
    ) -> None:
        self._path, self._led, self._delay, self._greatest = path, led, delay, greatest
        self._control, self._damping, self._damper = control, damping, damper
        self._commands, self._period = commands, period
        self._covered = self._seen = self._latest = 0.0
        self.error, self._smooth = np.zeros(3), np.zeros(3)

    def see(self, time: float, tip: np.ndarray, smoothing: float) -> None:
        """
        Take the place of the tip at a time.

        Parameters
        ----------
        time : float
            At which it was measured [s]; what was before another one is left out.
        tip : (3,) float64
            [m].
        smoothing : float
            Time constant S; 0: none [s].

        """
        passed = time - self._seen
        if passed <= 0.0:
            return
        self._seen = time
        self._period += AVERAGED * (min(passed, 2.0 * self._period) - self._period)
        self._latest *= math.exp(-passed / REMEMBERED)
        self.error = np.where(self._led, self._path(time)[0] - tip, 0.0)
        self._smooth += (self.error - self._smooth) * (passed / (passed + smoothing))

    def step(
        self, now: float, velocity: np.ndarray, jacobian: np.ndarray, gain: float, ratio: float,
        smoothing: float, lead: float = 0.0, shortest: float = 0.0,
    ) -> np.ndarray | None:
        """
        Return the commands (n,) to be sent, or None if it is too soon for new ones.

        Parameters
        ----------
        now : float
            Present time [s].
        velocity : (3,) float64
            Of the tip, at the last pose [m/s].
        jacobian : (3, n) float64
            Change of the tip's place at rest per unit of each command [m].
        gain : float
            k [1/s].
        ratio : float
            r [-].
        smoothing : float
            S, as it was [s].
        lead : float
            Time by which the path is followed ahead, for actuators with a lag [s].
        shortest : float
            Time between commands [s].

        """
        age = max(now - self._seen, 0.0)
        self._latest = max(self._latest, age)
        delay = age + self._delay
        dt = min(now + self._delay + lead - self._covered, SPRINT * self._period)
        if dt <= shortest:
            return None
        before = self._path(self._covered)[0]
        self._covered += dt
        wanted = (self._path(self._covered)[0] - before) / dt
        size = float(np.linalg.norm(self._smooth))
        error = self._smooth * min(1.0, self._greatest / (size or self._greatest))
        J = jacobian[self._led]
        gain = min(gain, MARGIN / (delay + self._period + smoothing))
        self._commands = self._control.step(
            J, (wanted + gain * error)[self._led], self._commands, dt)
        sure = max(0.0, 1.0 - self._damper.frequency * self._latest / LATEST)
        shift = self._damper.shift(
            self._smooth - self.error, velocity - self._path(self._seen)[1], delay, sure * ratio)
        return self._damping.step(J, shift[self._led] / dt, self._commands, dt)
