"""
Two recordings of one motion, lined up: in time by a delay, in space by a rigid motion.

Times are seconds of any clock. A place is three numbers [m]; a pose is seven, its place and a
quaternion x, y, z, w.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
import math
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import CosseratError, InvalidModel
from ..checks.fields import check_number

PLACE, POSE = 3, 7   # numbers of a sample
LARGEST = 1e9        # number that is one: the square of a greater one may not be
SHORTEST = 1e-6      # length of a quaternion that is one
BACK = 0.5           # [s] that a stamp is before the last one, when the clock was set back
COARSEST = 400       # delays that are tried before the best is refined
REFINEMENTS = 4      # times that the best delay is
VAGUEST = 0.1        # of the delays searched, that one may be uncertain by
THINNEST = 1e-6      # width of points to their length, below which they are on a line
FEWEST = 8           # samples that a delay is told from,
ENOUGH = 0.3         # and the part of those given


class CannotAlign(CosseratError):
    """The data do not tell how two recordings lie to each other, for the reason given."""


class Series(NamedTuple):
    """Samples over time: `times` (T,) [s], increasing, and `values` (T, 3) or (T, 7)."""

    times: np.ndarray
    values: np.ndarray


# --- Time ---------------------------------------------------------------------------------------

@dataclass
class Counts:
    """What came into a buffer, and what did not."""

    taken: int = 0
    not_finite: int = 0    # NaN, infinity or as good as that, a quaternion of no length
    out_of_order: int = 0  # stamps that are not after the one before
    dropouts: int = 0      # times that nothing came for longer than is interpolated over
    clock_jumps: int = 0   # stamps so far off that all before was forgotten


@dataclass
class TimeBuffer:
    """
    The newest samples of one thing that moves, and where it was between them.

    What cannot be is refused and counted. A clock that is set back, as by a recording that begins
    again, or that jumps ahead by more than the span, empties the buffer.

    Parameters
    ----------
    size : int
        Numbers of a sample: 3 for places (or any three), 7 for poses.
    span : float
        Time for which samples are kept [s].
    longest_gap : float
        Time between two samples over which is still interpolated [s].

    """

    size: int
    span: float
    longest_gap: float
    counts: Counts = field(default_factory=Counts, init=False)
    _times: list[float] = field(default_factory=list, init=False, repr=False)
    _values: list[np.ndarray] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.size not in (PLACE, POSE):
            raise InvalidModel('size', self.size, '3, for places, or 7, for poses')
        check_number('span', self.span, above=0.0, unit='s')
        check_number('longest_gap', self.longest_gap, above=0.0, unit='s')

    def add(self, time: float, values: ArrayLike) -> bool:
        """Keep a sample; tell whether it was good."""
        sample = np.array(values, dtype=float)
        if sample.shape != (self.size,):
            raise InvalidModel('values', values, f'{self.size} numbers')
        good = math.isfinite(time) and bool((np.abs(sample) <= LARGEST).all())
        length = float(np.linalg.norm(sample[PLACE:])) if good and self.size == POSE else 1.0
        if not good or length < SHORTEST:
            self.counts.not_finite += 1
            return False
        if self._times:
            passed = time - self._times[-1]
            if passed < -BACK or passed > self.span:
                self.counts.clock_jumps += 1
                self.clear()
            elif passed <= 0.0:
                self.counts.out_of_order += 1
                return False
            elif passed > self.longest_gap:
                self.counts.dropouts += 1
        sample[PLACE:] /= length
        self._times.append(time)
        self._values.append(sample)
        self.counts.taken += 1
        old = bisect_left(self._times, time - self.span)
        if old > len(self._times) // 2:  # seldom, since it moves all the others
            del self._times[:old], self._values[:old]
        return True

    def clear(self) -> None:
        """Forget all samples, but not how many there were."""
        self._times.clear()
        self._values.clear()

    @property
    def newest(self) -> float:
        """Time of the last sample [s]; minus infinity if there is none."""
        return self._times[-1] if self._times else -math.inf

    def at(self, time: float) -> Optional[np.ndarray]:
        """Return the sample of a time [s], or none outside of what is known and in gaps."""
        k = bisect_left(self._times, time)
        if k == len(self._times):
            return None
        if self._times[k] == time:
            return self._values[k].copy()
        near = slice(max(k - 1, 0), k + 1)
        known = Series(np.array(self._times[near]), np.array(self._values[near]))
        values, there = interpolate(known, np.array([time]), self.longest_gap)
        return values[0] if there[0] else None

    def series(self) -> Series:
        """Return all that is known of the last span of time."""
        first = bisect_left(self._times, self.newest - self.span)
        return Series(np.array(self._times[first:]),
                      np.array(self._values[first:]).reshape(-1, self.size))


def interpolate(
    series: Series, times: np.ndarray, longest_gap: float = math.inf,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the samples of other times.

    Places go straight from one sample to the next, rotations by the shortest turn.

    Parameters
    ----------
    series : Series
    times : (M,) float64
        [s]
    longest_gap : float
        Time between two samples over which nothing is told [s].

    Returns
    -------
    values : (M, 3) or (M, 7) float64
        Zero where not known.
    known : (M,) bool
        Whether the time is a sample's, or between two that are near enough.

    """
    at, samples = series.times, series.values
    if not len(at):
        return np.zeros((len(times), samples.shape[1])), np.zeros(len(times), dtype=bool)
    right = np.searchsorted(at, times).clip(0, len(at) - 1)
    exact = at[right] == times
    left = np.where(exact, right, np.maximum(right - 1, 0))
    gap = at[right] - at[left]
    known = exact | (at[left] < times) & (times < at[right]) & (gap <= longest_gap)
    x = np.where(gap > 0.0, (times - at[left]) / np.where(gap > 0.0, gap, 1.0), 0.0)
    x = np.where(known, x, 0.0)[:, None]
    values = (1.0 - x) * samples[left] + x * samples[right]
    if samples.shape[1] == POSE:
        values[:, PLACE:] = _slerp(samples[left, PLACE:], samples[right, PLACE:], x)
    values[~known] = 0.0
    return values, known


def _slerp(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return quaternions a part x (M, 1) of the way from a to b, (M, 4), of length one."""
    a, b = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in (a, b))
    b = np.where(np.sum(a * b, axis=1, keepdims=True) < 0.0, -b, b)  # the same turn, but shorter
    # Twice the arctangent of half the chord: exact for tiny angles too.
    angle = 2.0 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))[:, None]
    sine = np.sin(angle)
    turned = sine > 1e-12
    safe = np.where(turned, sine, 1.0)
    q = (np.where(turned, np.sin((1.0 - x) * angle) / safe, 1.0 - x) * a
         + np.where(turned, np.sin(x * angle) / safe, x) * b)
    return q / np.linalg.norm(q, axis=1, keepdims=True)


# --- Delay --------------------------------------------------------------------------------------

class Delay(NamedTuple):
    """By how much a real motion comes after the simulated one."""

    value: float        # [s], negative if it comes before
    uncertainty: float  # its standard error, if what is left were white noise [s]
    residual: float     # RMS distance that is left [m]
    samples: int        # that it is told from


def estimate_delay(
    real: Sequence[Series], simulated: Sequence[Series], most: float, *, rigid: bool = False,
    with_scale: bool = False, around: float = 0.0, longest_gap: float = math.inf,
) -> Delay:
    """
    Find the delay for which two motions are most alike.

    The real places at t are compared with the simulated ones at t less the delay. For every delay
    that is tried, what a constant offset explains is taken away, or all that a rigid motion does:
    an unknown place of the real robot does not count.

    Parameters
    ----------
    real, simulated : sequence of Series
        Places of the same points, one series per point; their stamps need not agree. The simulated
        ones are interpolated, so they should be the cleaner.
    most : float
        By how much the delay may be off `around`, either way [s]; less than half the period of a
        motion that repeats itself.
    rigid : bool
        Whether also a rotation between the two is unknown.
    with_scale : bool
        Whether then a scale is, too.
    around : float
        About which delay is searched [s].
    longest_gap : float
        Time between two simulated samples over which is interpolated [s].

    Returns
    -------
    Delay

    Raises
    ------
    CannotAlign
        If the data do not tell: too few, no motion, nothing alike within `most`.

    """
    check_number('most', most, above=0.0, unit='s')
    check_number('around', around, unit='s')
    if len(real) != len(simulated):
        raise InvalidModel('simulated', len(simulated), f'as many series as real, {len(real)}')
    pairs = [(a, b) for a, b in zip(real, simulated) if len(a.times) and len(b.times) > 1]
    given = sum(len(a.times) for a, _ in pairs)
    if given < FEWEST:
        raise CannotAlign(f'a delay needs at least {FEWEST} samples, got {given}')
    step = max(float(np.median(np.concatenate([np.diff(b.times) for _, b in pairs]))),
               2.0 * most / COARSEST)
    # All delays are judged by the same samples, or those that leave out the worst would win.
    pairs = [(_between(a, b.times[0] + around + most + 2.0 * step,
                       b.times[-1] + around - most - 2.0 * step), b) for a, b in pairs]
    count = sum(len(a.times) for a, _ in pairs)
    if count < max(FEWEST, ENOUGH * given):
        raise CannotAlign('the two recordings do not overlap enough in time')

    def misfits(delays: np.ndarray) -> tuple[np.ndarray, int]:
        """Return mean squares (K,) [m^2] over the samples that all delays share, and how many."""
        return _misfits(pairs, delays, longest_gap, rigid, with_scale)

    tried = around + np.arange(-math.ceil(most / step), math.ceil(most / step) + 1) * step
    shares = [misfits(tried[k:k + 1]) for k in range(len(tried))]
    squares = np.array([c[0] if n >= ENOUGH * count else math.inf for c, n in shares])
    best = int(np.argmin(squares))
    if not np.isfinite(squares[best]):
        raise CannotAlign('the simulated motion has too many gaps')
    delay = tried[best]
    # Three delays one step apart err alike by interpolation, so their parabola does not.
    for _ in range(REFINEMENTS):
        (before, middle, after), n = misfits(delay + step * np.array([-1.0, 0.0, 1.0]))
        bend = before - 2.0 * middle + after
        if n < FEWEST or not bend > 1e-12 * middle:
            raise CannotAlign('the motion does not determine the delay: the robot hardly moved')
        delay += step * float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0))
    if abs(delay - around) > most:
        raise CannotAlign(f'nothing alike within {most:g} s of {around:g} s: it is another delay, '
                          'or another motion')
    curvature = bend / step ** 2  # [m^2/s^2]
    least = max(middle, 0.0)
    uncertainty = math.sqrt(2.0 * least / (3.0 * n * curvature))
    if uncertainty > VAGUEST * most:
        raise CannotAlign(f'the motion determines the delay only to {uncertainty:.2g} s: the '
                          'robot hardly moved, or the motions differ')
    return Delay(float(delay), uncertainty, math.sqrt(least), n)


def _between(series: Series, first: float, last: float) -> Series:
    """Return the samples from one time to another [s]."""
    there = (series.times >= first) & (series.times <= last)
    return Series(series.times[there], series.values[there])


def _misfits(
    pairs: Sequence[tuple[Series, Series]], delays: np.ndarray, longest_gap: float, rigid: bool,
    with_scale: bool,
) -> tuple[np.ndarray, int]:
    """Return the mean squared distances (K,) [m^2] that are left at some delays."""
    real, simulated = [], []
    for a, b in pairs:
        places = Series(b.times, b.values[:, :PLACE])
        shifted = [interpolate(places, a.times - delay, longest_gap) for delay in delays]
        shared = np.logical_and.reduce([known for _, known in shifted])
        real.append(a.values[shared, :PLACE])
        simulated.append([values[shared] for values, _ in shifted])
    target = np.concatenate(real)
    if not len(target):
        return np.full(len(delays), math.inf), 0
    squares = []
    for k in range(len(delays)):
        source = np.concatenate([values[k] for values in simulated])
        # The real points go to the simulated ones: what is left is in their scale.
        x, y = target - target.mean(axis=0), source - source.mean(axis=0)
        if rigid:
            rotation, strength = _best_rotation(x, y)
            size = float(np.sum(x * x))
            x = x @ rotation.T * (strength.sum() / size if with_scale and size else 1.0)
        squares.append(float(np.mean(np.sum((y - x) ** 2, axis=1))))
    return np.array(squares), len(target)


# --- Space --------------------------------------------------------------------------------------

class Alignment(NamedTuple):
    """The motion `scale * rotation @ x + translation` that takes points onto others."""

    rotation: np.ndarray     # (3, 3) [-]
    translation: np.ndarray  # (3,) [m]
    scale: float             # [-], 1 where not asked for
    residual: float          # RMS distance that is left [m]
    largest: float           # greatest distance that is left [m]
    uncertainty: float       # standard error of the rotation, if that were white noise [rad]

    def apply(self, points: np.ndarray) -> np.ndarray:
        """Return where points (..., 3) [m] are taken to."""
        return self.scale * points @ self.rotation.T + self.translation


def align_points(source: ArrayLike, target: ArrayLike, *, with_scale: bool = False) -> Alignment:
    """
    Find the rigid motion that takes points nearest to others, in the sense of least squares.

    Umeyama 1991, eqs. 40 to 43; without scale it is Horn's problem (Horn 1987).

    Parameters
    ----------
    source, target : (N, 3) array_like
        The same points in the two frames [m].
    with_scale : bool
        Whether a scale is looked for too.

    Returns
    -------
    Alignment

    Raises
    ------
    CannotAlign
        If the points leave a rotation free: less than three, all in one place, all on one line.

    """
    x, y = (_points(name, value) for name, value in (('source', source), ('target', target)))
    if x.shape != y.shape:
        raise InvalidModel('target', y.shape, f'as many points as source, {len(x)}')
    if len(x) < 3:
        raise CannotAlign(f'a rotation needs at least 3 points, got {len(x)}')
    middle_x, middle_y = x.mean(axis=0), y.mean(axis=0)
    x, y = x - middle_x, y - middle_y
    rotation, strength = _best_rotation(x, y)
    widths = [np.linalg.svd(points, compute_uv=False) for points in (x, y)]
    for name, width in zip(('source', 'target'), widths):
        if not width[1] > THINNEST * width[0]:
            raise CannotAlign(
                f'the points of {name} are all {"on one line" if width[0] > 0.0 else "the same"}: '
                'a rotation about it would change nothing')
    if not strength[1] + strength[2] > THINNEST ** 2 * strength[0]:
        raise CannotAlign('the two sets of points differ too much to determine a rotation')
    scale = float(strength.sum() / np.sum(x * x)) if with_scale else 1.0
    if not scale > 0.0:
        raise CannotAlign('the two sets of points are not alike: no scale fits')
    left = np.linalg.norm(y - scale * x @ rotation.T, axis=1)
    residual = math.sqrt(float(np.mean(left ** 2)))
    # About the long axis of the points the arms are shortest, and a turn is known worst.
    noise = residual / math.sqrt(3.0)
    uncertainty = noise / (scale * float(np.hypot(*widths[0][1:])))
    return Alignment(rotation, middle_y - scale * rotation @ middle_x, scale, residual,
                     float(left.max()), uncertainty)


def _best_rotation(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the rotation that takes centred points x nearest to y, and what it is worth.

    The second, (3,), are the singular values of the covariance, the last negative where the best
    orthogonal matrix would be a reflection (Umeyama 1991, eq. 43).
    """
    U, strength, Vt = np.linalg.svd(y.T @ x)
    if np.linalg.det(U) * np.linalg.det(Vt) < 0.0:
        U[:, 2] *= -1.0
        strength[2] *= -1.0
    return U @ Vt, strength


def _points(name: str, value: ArrayLike) -> np.ndarray:
    points = np.asarray(value, dtype=float)
    if points.ndim != 2 or points.shape[1] != PLACE or not np.isfinite(points).all():
        raise InvalidModel(name, value, 'finite numbers of shape (N, 3) [m]')
    return points
