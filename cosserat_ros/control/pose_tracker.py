r"""
A base that follows measured poses, or velocities, smoothly: what moves a robot's driven base.

Measurements come at instants of their own, late, with noise, and perhaps no longer. What moves a
base must have a velocity and an acceleration that are the derivatives of its pose, for the robot
on it feels them. So a *target* runs through the measurements, and the base follows it by a filter.

**Target.** A pose g_r(t) that goes on with a constant body twist: straight lines, circles and
screws are exact. The newest measurement g_i, of the time t_i and with the twist V_i, leads to
``g_i exp((t - t_i) V_i)`` by now: so the delay of measurements is made up for. The target is where
that leads one interval of the measurements later, and goes there without a jump. Where no twist is
measured, V_i is that from an earlier pose to this one; where nothing else is, poses are integrated
from twists by the trapezoidal rule.

**Filter.** With the error xi of the base, ``g = g_r exp(xi)``, and w = 1 / time constant::

    xi_ttt = -6 w^2 xi_t - 4 w xi_tt + y,    y_t = -w^4 xi - 4 w^3 xi_t

which has four equal roots, ``(d/dt + w)^4 xi = 0``. From the target to the base this is
``(6 w^2 s^2 + 4 w^3 s + w^4) / (s + w)^4``: in the steady state there is no error behind a
constant twist, nor behind a constant acceleration; at a frequency f the error is about
4 (2 pi f / w)^3 of the motion. Pose, velocity and acceleration are continuous. Between changes of
the target the solution is known: with ``y_k = (d/dt + w)^k xi``, each y_k is the integral of the
next, times exp(-w t). So steps of any length are exact, and none is unstable.

What a constant acceleration a leaves is the error of the target, a polygon:
``((L + h) (L + 2 h) / 2 - h^2 / 12) a``, with L the delay of measurements and h their interval.
About their mean, accelerations ripple where w h is not small: let the time constant be two
intervals or more, or measure twists.
"""

from __future__ import annotations

from collections import deque
import math
from typing import Any, NamedTuple

import numpy as np

from ..assembly.element import Motion
from ..checks.errors import InvalidModel
from ..checks.fields import check_number, check_vector, FARTHEST
from ..numerics.lie import (
    ad_se3,
    adjoint_se3,
    exp_se3,
    inverse_right_tangent_se3,
    inverse_se3,
    log_se3,
    orthonormalise,
    right_tangent_se3,
)

FASTEST = 1e3  # [m/s, rad/s] that a measured velocity may be: more is a mistake
SHORTEST_BASELINE = 0.3  # of the time constant, from pose to pose that a velocity is told from
MOST_SAMPLES = 1000  # that are kept
SERIES = 30  # terms of the slope of a tangent: exact to rounding up to a turn by pi
BINOMIAL = np.array([[math.comb(k, j) for j in range(4)] for k in range(4)], dtype=float)


class Sample(NamedTuple):
    """What is known of one instant."""

    time: float        # [s]
    pose: np.ndarray   # (4, 4)
    twist: np.ndarray  # (6,) of the body [m/s, rad/s]


class Leg(NamedTuple):
    """A part of the target's way."""

    end: float         # when it is over [s]
    twist: np.ndarray  # (6,) of the body [m/s, rad/s]


class PoseTracker:
    """
    Follows measurements of a moving frame.

    Parameters
    ----------
    pose : (4, 4) array
        Where the base is, and stays until something is measured.
    time_constant : float
        1 / w of the filter: a shorter one follows closer, a longer one is smoother [s].
    timeout : float
        Age of the newest measurement from which the motion ends: the target slows down evenly, and
        stands after as long again [s]. Measurements that are older, or so far ahead of time, are
        refused.
    jump : (float, float)
        Distance [m] and angle [rad] of a measurement from where the last ones led, beyond which
        the base is placed there anew: it goes on from there with the velocity and acceleration
        that it has, so that the robot on it does not feel the way. Less is followed.
    time : float
        At the start [s].

    Attributes
    ----------
    time : float
        Of the present motion [s].
    delay : float
        How old the newest measurement was when it came [s]; NaN before the first.
    jumps : int
        How often the base was placed anew, other than by the first measurement.

    """

    def __init__(
        self, pose: np.ndarray, time_constant: float, timeout: float,
        jump: tuple[float, float], time: float = 0.0,
    ) -> None:
        self._w = 1.0 / check_number('time_constant', time_constant, above=0.0, unit='s')
        self.timeout = check_number('timeout', timeout, above=0.0, unit='s')
        self.jump = check_vector('jump', jump, 2, least=0.0, unit='m, rad')
        self.time, self.delay, self.jumps = time, math.nan, 0
        self._g, self._twist, self._twist_t, self._y = _rigid(pose), *np.zeros((3, 6))
        self._target, self._legs = self._g, deque([Leg(math.inf, np.zeros(6))])
        self._samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        self._placed = False

    # --- Measurements ---

    def restart(self) -> None:
        """Take the next measurement for the first one: the base is placed there."""
        self._placed = False

    @property
    def newest(self) -> float:
        """When the newest measurement was made [s]; minus infinity before the first."""
        return self._samples[-1].time if self._samples else -math.inf

    @property
    def age(self) -> float:
        """How old the newest measurement is [s]; infinite before the first."""
        return self.time - self.newest

    @property
    def error(self) -> tuple[float, float]:
        """How far the base is from where the newest measurement leads, or led [m, rad]."""
        led = self._target if self.age > self.timeout else self._lead(
            self._samples[-1], self.time)
        return _size(log_se3(inverse_se3(led) @ self._g))

    def see(self, time: float, pose: Any, twist: Any = None) -> bool:
        """
        Take a measured pose; tell whether the base jumps there.

        Parameters
        ----------
        time : float
            When it was measured [s].
        pose : (4, 4) array
            Of the base, seen from its parent frame.
        twist : (6,) array, optional
            Its velocity and angular velocity, if measured too, along its own axes [m/s, rad/s].

        Raises
        ------
        InvalidModel
            If it is no pose, older than the last one, or not of the present; nothing is changed.

        """
        self._check_time(time)
        g = _rigid(pose)
        given = None if twist is None else _checked_twist(twist)
        held = self.age > self.timeout  # the target has stopped, or does
        before = self._target if held or not self._samples else self._lead(
            self._samples[-1], time)
        off = _size(log_se3(inverse_se3(before) @ g))
        first = not self._placed
        jumps = not first and any(x > most for x, most in zip(off, self.jump))
        if first or jumps or held:
            known = np.zeros(6) if held or first else self._samples[-1].twist
            self._samples.clear()
        else:
            known = self._mean_twist(time, g)
        interval = (time - self._samples[-1].time if self._samples
                    else min(1.0 / self._w, self.timeout))
        sample = Sample(time, g, known if given is None else given)
        self._samples.append(sample)
        self.delay, self._placed = self.time - time, True
        if first or jumps:
            self.jumps += jumps
            self._place(sample)
        else:
            self._aim(sample, interval)
        return jumps

    def see_twist(self, time: float, twist: Any, in_parent: bool = False) -> None:
        """
        Take a measured velocity, where no pose is measured.

        Parameters
        ----------
        time : float
            When it was measured [s].
        twist : (6,) array
            Velocity of the base, and angular velocity [m/s, rad/s].
        in_parent : bool
            Whether along the axes of the parent frame, not the base's own.

        """
        self._check_time(time)
        V = _checked_twist(twist)
        last = self._samples[-1] if self._samples and self.age <= self.timeout else None
        g = self._target if last is None else self._lead(last, time)
        if in_parent:
            V = np.concatenate([g[:3, :3].T @ V[:3], g[:3, :3].T @ V[3:]])
        if last is not None:
            g = last.pose @ exp_se3(0.5 * (time - last.time) * (last.twist + V))
        self._placed = True
        self.see(time, g, V)

    def _check_time(self, time: float) -> None:
        check_number('time', time, least=self.time - self.timeout, most=self.time + self.timeout,
                     unit='s')
        if self._placed and self._samples and not time > self._samples[-1].time:
            raise InvalidModel(
                'time', time, f'more than that of the last one, {self._samples[-1].time:.6f} [s]')

    def _mean_twist(self, time: float, g: np.ndarray) -> np.ndarray:
        """Return the twist from an earlier pose to one that is measured now."""
        for sample in reversed(self._samples):
            if time - sample.time >= SHORTEST_BASELINE / self._w:
                return log_se3(inverse_se3(sample.pose) @ g) / (time - sample.time)
        return self._samples[-1].twist

    @staticmethod
    def _lead(sample: Sample, time: float) -> np.ndarray:
        return sample.pose @ exp_se3((time - sample.time) * sample.twist)

    def _place(self, sample: Sample) -> None:
        """Move target and base to a measurement; the base keeps its velocity and acceleration."""
        off = inverse_se3(self._target) @ self._g
        self._target = self._lead(sample, self.time)
        self._g = self._target @ off
        self._legs = deque([Leg(math.inf, sample.twist)])

    def _aim(self, sample: Sample, interval: float) -> None:
        """Lead the target, from where it is, to where the newest measurement leads."""
        there = self._lead(sample, self.time + interval)
        way = log_se3(inverse_se3(self._target) @ there)
        self._legs = deque([
            Leg(self.time + interval, way / interval), Leg(math.inf, sample.twist)])

    # --- Motion ---

    def motion(self, time: float) -> Motion:
        """
        Go on to a time [s], and return the motion then, seen from the parent frame.

        Where time does not go on, since a step failed or a robot was reset, the base goes on from
        there at the velocity of the target, without acceleration.
        """
        if not time > self.time:
            shift = time - self.time
            self._legs = deque(leg._replace(end=leg.end + shift) for leg in self._legs)
            self._samples = deque(
                (s._replace(time=s.time + shift) for s in self._samples), MOST_SAMPLES)
            self.time = time
            self._twist = self._legs[0].twist.copy()
            self._twist_t, self._y = np.zeros((2, 6))
        while self.time < time:
            while self._legs[0].end <= self.time:
                self._legs.popleft()
            twist, end = self._legs[0].twist, min(self._legs[0].end, time)
            if self._samples:
                slows = self._samples[-1].time + self.timeout
                stands = slows + self.timeout
                end = min([end, *(t for t in (slows, stands) if t > self.time)])
                if self.time >= slows:  # the mean of what slows down evenly
                    left = max(stands - 0.5 * (self.time + end), 0.0) / self.timeout
                    twist = left * self._samples[-1].twist
            self._advance(twist, end - self.time)
            self.time = end
        R, q, w = self._g[:3, :3], self._twist[:3], self._twist[3:]
        return Motion(R.copy(), self._g[:3, 3].copy(), R @ w, R @ q, R @ self._twist_t[3:],
                      R @ (self._twist_t[:3] + np.cross(w, q)))

    def _advance(self, twist: np.ndarray, dt: float) -> None:
        """Go on by dt [s], while the target goes on with a constant twist."""
        w = self._w
        xi = log_se3(inverse_se3(self._target) @ self._g)
        led = adjoint_se3(exp_se3(-xi)) @ twist  # the target's twist, seen from the base
        own = self._twist - led
        xi_t, xi_tt = _rates(xi, own, self._twist_t + ad_se3(own) @ led)
        d = np.array([xi, xi_t, xi_tt, self._y - 6.0 * w * w * xi_t - 4.0 * w * xi_tt])
        powers = np.subtract.outer(range(4), range(4))
        taylor = np.array([[dt ** (j - k) / math.factorial(j - k) if j >= k else 0.0
                            for j in range(4)] for k in range(4)])
        shift = BINOMIAL * float(w) ** np.maximum(powers, 0)
        back = BINOMIAL * (-float(w)) ** np.maximum(powers, 0)
        d = math.exp(-w * dt) * (back @ taylor @ shift @ d)
        self._y = d[3] + 6.0 * w * w * d[1] + 4.0 * w * d[2]
        self._target = _rigid(self._target @ exp_se3(dt * twist))
        self._g = self._target @ exp_se3(d[0])
        own, own_t = _twists(*d[:3])
        led = adjoint_se3(exp_se3(-d[0])) @ twist
        self._twist, self._twist_t = led + own, own_t - ad_se3(own) @ led


def _twists(xi: np.ndarray, xi_t: np.ndarray, xi_tt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the body twist of exp(xi), and its rate."""
    T = right_tangent_se3(xi)
    return T @ xi_t, T @ xi_tt + _quadratic(xi, xi_t)


def _rates(
    xi: np.ndarray, twist: np.ndarray, twist_t: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rate and acceleration of xi, given the body twist of exp(xi) and its rate."""
    T = inverse_right_tangent_se3(xi)
    xi_t = T @ twist
    return xi_t, T @ (twist_t - _quadratic(xi, xi_t))


def _quadratic(xi: np.ndarray, xi_t: np.ndarray) -> np.ndarray:
    """
    Return (dT_r / dt) xi_t, with T_r(xi) = sum_k (-ad_xi)^k / (k + 1)!.

    ``u = (-ad_xi)^k xi_t`` and its rate at a constant xi_t follow from one k to the next.
    """
    A, A_t = -ad_se3(xi), -ad_se3(xi_t)
    u, u_t, total, factor = xi_t, np.zeros(6), np.zeros(6), 1.0
    for k in range(1, SERIES):
        u, u_t = A @ u, A @ u_t + A_t @ u
        factor /= k + 1
        total += factor * u_t
    return total


def _size(xi: np.ndarray) -> tuple[float, float]:
    """Return how far [m] and by which angle [rad] a twist moves."""
    return float(np.linalg.norm(xi[:3])), float(np.linalg.norm(xi[3:]))


def _rigid(pose: Any) -> np.ndarray:
    """Return a pose as an array, its rotation exact, or raise."""
    g = np.array(pose, dtype=float)
    if g.shape != (4, 4) or not np.isfinite(g).all():
        raise InvalidModel('pose', pose, 'a homogeneous transform, 4 x 4, of finite numbers')
    check_vector('position', g[:3, 3], 3, least=-FARTHEST, most=FARTHEST, unit='m')
    R = g[:3, :3]
    if not np.abs(R @ R.T - np.eye(3)).max() < 1e-6 or np.linalg.det(R) < 0.0:
        raise InvalidModel('rotation', R.tolist(), 'a rotation matrix')
    g[:3, :3], g[3] = orthonormalise(R), (0.0, 0.0, 0.0, 1.0)
    return g


def _checked_twist(twist: Any) -> np.ndarray:
    return np.array(check_vector(
        'twist', np.asarray(twist, dtype=float), 6, least=-FASTEST, most=FASTEST,
        unit='m/s, rad/s'))
