"""
A real and a simulated robot, compared while they move.

Markers are points of the robot that are measured, the last of them the tip. Samples come in as
they are measured and simulated, in any interleaving; what was measured is compared as soon as it
is known where the simulated robot was then.
"""

from __future__ import annotations

from collections import deque
from dataclasses import astuple, dataclass
import math
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import InvalidModel
from ..checks.fields import check_number, Checked, choice, instance, number
from ..numerics.lie import matrix_from_quaternion
from .alignment import (
    align_points,
    Alignment,
    CannotAlign,
    Counts,
    Delay,
    estimate_delay,
    interpolate,
    PLACE,
    POSE,
    Series,
    TimeBuffer,
)
from .metrics import angle_errors, RunningError

FITS = 'known', 'rigid', 'scaled'
IDENTITY = Alignment(np.eye(3), np.zeros(3), 1.0, 0.0, 0.0, 0.0)
MOST_SAMPLES = 2000  # that delay and placement are told from: more cost time, and tell little
VAGUEST = 0.1        # [rad] that a placement may be uncertain by to be used,
SETTLED = 0.02       # [rad] and to be kept
FULL = 0.9           # of the span, that a placement must be told from to be kept
OFTEN = 0.25         # of the span, between estimates
WAITING = 10_000     # measurements that may wait for the simulated robot


@dataclass(frozen=True)
class Settings(Checked):
    """
    How two robots are lined up and compared.

    Parameters
    ----------
    fit : str
        Where the real robot is: 'known'; 'rigid', found by a rigid motion; or 'scaled', found by
        one with a scale.
    find_delay : bool
        Whether the delay is estimated.
    delay : float
        The delay, or a guess of it [s].
    longest_delay : float
        By how much the guess may be off, either way [s].
    span : float
        Time for which samples are kept, and from which delay and placement are told [s].
    longest_gap : float
        Between samples, over which is interpolated [s].
    window : float
        Over which RMS and maximum are taken [s].
    rate : float
        Comparisons per second at most [Hz].
    orientations : bool
        Whether the measured orientations are those of the robot's frames, and count too.

    """

    fit: str = choice(*FITS, default='known')
    find_delay: bool = instance(bool, 'true or false', default=True)
    delay: float = number('s', default=0.0)
    longest_delay: float = number('s', above=0.0, default=0.5)
    span: float = number('s', above=0.0, default=10.0)
    longest_gap: float = number('s', above=0.0, default=0.1)
    window: float = number('s', above=0.0, default=10.0)
    rate: float = number('Hz', above=0.0, default=100.0)
    orientations: bool = instance(bool, 'true or false', default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ('delay', 'longest_delay', 'longest_gap'):
            if abs(getattr(self, name)) > 0.25 * self.span:
                raise InvalidModel(
                    name, getattr(self, name), f'at most a quarter of the span, {self.span:g} s')


class Instant(NamedTuple):
    """Both robots at the time of a measurement; zero where a marker was not seen."""

    time: float            # of the measurement [s]
    seen: np.ndarray       # (M,) bool
    simulated: np.ndarray  # (M, 3) where the markers were, the delay before [m]
    real: np.ndarray       # (M, 3) where they were measured, in the simulated robot's frame [m]
    angles: np.ndarray     # (M,) between the orientations, zero where they do not count [rad]


class LiveComparison:
    """
    Compares the markers of two robots.

    Parameters
    ----------
    markers : int
        How many there are.
    length : float
        Of the robot [m].
    settings : Settings
    known : Alignment
        From the frame of the measurements to that of the simulated robot, where it is known.

    """

    def __init__(
        self, markers: int, length: float, settings: Settings, known: Alignment = IDENTITY,
    ) -> None:
        if markers < 1:
            raise InvalidModel('markers', markers, 'at least one')
        check_number('length', length, above=0.0, unit='m')
        self.settings = settings
        self._size = POSE if settings.orientations else PLACE
        # Measurements may come late: what was simulated is kept for longer.
        self._real, self._simulated = (
            [TimeBuffer(self._size, span, settings.longest_gap) for _ in range(markers)]
            for span in (settings.span, 2.0 * settings.span))
        self.errors = [RunningError(length, settings.window) for _ in range(markers)]
        self.shape = RunningError(length, settings.window)
        self.delay: Optional[Delay] = None  # as estimated last
        self.delay_fault = ''               # why it is not known any better
        self.placement: Optional[Alignment] = known if settings.fit == 'known' else None
        self.placement_kept = settings.fit == 'known'
        self.placement_fault = ''
        self.uncompared = 0  # measurements of times at which nothing was simulated
        self._instants: deque[float] = deque()
        self._last = -math.inf  # [s] of the measurements that were or wait to be compared
        self._lined_up = -math.inf, 0  # newest measurement [s] at the last time, and their number

    @property
    def tip(self) -> RunningError:
        """The error of the last marker."""
        return self.errors[-1]

    @property
    def present_delay(self) -> float:
        """The delay in use [s]."""
        return self.settings.delay if self.delay is None else self.delay.value

    def counts(self, marker: int) -> Counts:
        """Return what came of a real marker, and what was refused."""
        return self._real[marker].counts

    def total(self) -> Counts:
        """Return what came of all real markers, and what was refused."""
        return Counts(*np.sum([astuple(b.counts) for b in self._real], axis=0).tolist())

    @property
    def simulated_counts(self) -> Counts:
        """What came of the simulated robot."""
        return self._simulated[0].counts

    @property
    def lead(self) -> float:
        """By how much the newest measurement is after the newest simulated shape [s]; or zero."""
        lead = self._newest - self._simulated[0].newest
        return lead if math.isfinite(lead) else 0.0

    @property
    def _newest(self) -> float:
        return max(buffer.newest for buffer in self._real)

    # --- What comes in --------------------------------------------------------------------------

    def measure(self, marker: int, time: float, pose: ArrayLike) -> bool:
        """Take a pose (7,) of a real marker; tell whether it was good."""
        buffer = self._real[marker]
        jumps = buffer.counts.clock_jumps
        if not buffer.add(time, np.asarray(pose, dtype=float)[:self._size]):
            return False
        if buffer.counts.clock_jumps > jumps:
            self._restart()
        if time >= self._last + 0.99 / self.settings.rate:
            self._last = time
            self._instants.append(time)
            if len(self._instants) > WAITING:
                self._instants.popleft()
                self.uncompared += 1
        return True

    def simulate(self, time: float, poses: ArrayLike) -> None:
        """Take the poses (M, 7) of all simulated markers at a time [s]."""
        jumps = self.simulated_counts.clock_jumps
        for buffer, pose in zip(self._simulated, np.asarray(poses, dtype=float), strict=True):
            buffer.add(time, pose[:self._size])
        if self.simulated_counts.clock_jumps > jumps:
            self._restart()

    def _restart(self) -> None:
        """Begin anew after a clock jumped; where the real robot is does not depend on it."""
        self._instants.clear()
        self._last = -math.inf
        self._clear_errors()

    def _clear_errors(self) -> None:
        for error in (*self.errors, self.shape):
            error.clear()

    # --- What comes out -------------------------------------------------------------------------

    def compare(self) -> list[Instant]:
        """Compare all measurements that can be by now, in the order of time."""
        instants = []
        while self.placement is not None and self._instants and self._ripe(self._instants[0]):
            instant = self._at(self._instants.popleft(), self.placement)
            if instant is None:
                self.uncompared += 1
                continue
            distances = np.linalg.norm(instant.simulated - instant.real, axis=1)
            for k in np.flatnonzero(instant.seen):
                self.errors[k].add(instant.time, float(distances[k]))
            squares = distances[instant.seen] ** 2
            self.shape.add(instant.time, math.sqrt(float(squares.mean())))
            instants.append(instant)
        return instants

    def _ripe(self, time: float) -> bool:
        """Tell whether all is there that there will be."""
        if self._simulated[0].newest < time - self.present_delay:
            return False
        newest = [buffer.newest for buffer in self._real]
        return min(newest) >= time or max(newest) > time + self.settings.longest_gap

    def _at(self, time: float, placement: Alignment) -> Optional[Instant]:
        count = len(self._real)
        seen = np.zeros(count, dtype=bool)
        simulated, real, angles = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count)
        for k, (measured, model) in enumerate(zip(self._real, self._simulated)):
            there, here = measured.at(time), model.at(time - self.present_delay)
            if there is None or here is None:
                continue
            seen[k] = True
            simulated[k], real[k] = here[:PLACE], placement.apply(there[:PLACE])
            if self._size == POSE:
                angles[k] = _angle(here[PLACE:], there[PLACE:], placement.rotation)
        return Instant(time, seen, simulated, real, angles) if seen.any() else None

    # --- How they lie to each other -------------------------------------------------------------

    @property
    def due(self) -> bool:
        """Whether so much was measured that `line_up` should be called, however fast it came."""
        return abs(self._newest - self._lined_up[0]) > OFTEN * self.settings.span

    def line_up(self) -> bool:
        """Estimate anew what is not given, from the last span of time; tell if it changed much."""
        now = self._newest, self.total().taken
        if now == self._lined_up:
            return False
        self._lined_up = now
        real = [_thinned(b.series(), MOST_SAMPLES // len(self._real)) for b in self._real]
        simulated = [b.series() for b in self._simulated]
        changed = False
        if self.settings.find_delay:
            changed = self._time(real, simulated)
        if not self.placement_kept:
            changed |= self._place(real, simulated)
        if changed:
            self._clear_errors()
        return changed

    def _time(self, real: list[Series], simulated: list[Series]) -> bool:
        """Find the delay; tell whether it was found for the first time."""
        first, kept = self.delay is None, self.placement if self.placement_kept else None
        if kept is not None:
            real = [Series(a.times, kept.apply(a.values[:, :PLACE])) for a in real]
        try:
            self.delay = estimate_delay(
                real, simulated, self.settings.longest_delay, rigid=kept is None,
                with_scale=self.settings.fit == 'scaled', around=self.settings.delay,
                longest_gap=self.settings.longest_gap)
        except CannotAlign as reason:
            self.delay_fault = str(reason)
            return False
        self.delay_fault = ''
        return first

    def _place(self, real: list[Series], simulated: list[Series]) -> bool:
        """Find where the real robot is; tell whether it was found."""
        sources, targets, times = [], [], []
        for a, b in zip(real, simulated):
            there, known = interpolate(
                b, a.times - self.present_delay, self.settings.longest_gap)
            sources.append(a.values[known, :PLACE])
            targets.append(there[known, :PLACE])
            times.append(a.times[known])
        try:
            found = align_points(np.concatenate(sources), np.concatenate(targets),
                                 with_scale=self.settings.fit == 'scaled')
        except CannotAlign as reason:
            self.placement_fault = str(reason)
            return False
        if found.uncertainty > VAGUEST:
            self.placement_fault = (
                f'the motion determines the rotation only to {found.uncertainty:.2g} rad: the '
                'robot hardly moved, or the motions differ')
            return False
        self.placement, self.placement_fault = found, ''
        delay_settled = self.delay is not None or not self.settings.find_delay
        passed = float(np.ptp(np.concatenate(times)))
        self.placement_kept = (
            delay_settled and found.uncertainty < SETTLED and passed > FULL * self.settings.span)
        return True

    def place_again(self) -> None:
        """Forget where the real robot is, unless it is given, and find it anew."""
        if self.settings.fit != 'known':
            self.placement, self.placement_kept = None, False
            for buffer in self._real:
                buffer.clear()  # it may have been moved
            self._restart()


def _thinned(series: Series, most: int) -> Series:
    """Return at most so many samples of a series, evenly chosen."""
    step = -(-len(series.times) // max(most, 1)) or 1
    return Series(series.times[::step], series.values[::step])


def _angle(simulated: np.ndarray, real: np.ndarray, rotation: np.ndarray) -> float:
    """Return the angle [rad] between two quaternions, one of them seen from another frame."""
    a, b = matrix_from_quaternion(np.array([simulated, real]))
    return float(angle_errors(a, rotation @ b))
