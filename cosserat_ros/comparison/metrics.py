"""
How far a simulated robot is from a real one: of a whole recording, and while it goes on.

Markers are points on the robot, each at an arc length; the last one is the tip. An error is the
distance of a marker from where it should be; that of the shape is the RMS over its markers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import InvalidModel
from ..checks.fields import check_number


class Summary(NamedTuple):
    """The errors of one recording."""

    rmse: float            # root of the mean squared distance [m]
    mean: float            # mean distance [m]
    largest: float         # greatest distance [m]
    percent: float         # rmse as a part of the robot's length [%]
    offset: np.ndarray     # mean of simulated minus real, (3,) [m]
    rmse_without_offset: float     # rmse once that offset is taken away [m]
    largest_without_offset: float  # likewise [m]
    samples: int


def summarise(simulated: ArrayLike, real: ArrayLike, length: float) -> Summary:
    """
    Compare all positions of a marker, or of several.

    Parameters
    ----------
    simulated, real : (T, 3) or (T, M, 3) array_like
        Where the markers are at the same times, in one frame [m]. With several markers each sample
        is one of them at one time; the offset is that of all.
    length : float
        Of the robot [m].

    Returns
    -------
    Summary

    """
    difference = _difference(simulated, real).reshape(-1, 3)
    if not len(difference):
        raise InvalidModel('simulated', simulated, 'at least one sample')
    check_number('length', length, above=0.0, unit='m')
    offset = difference.mean(axis=0)
    distances, without = (np.linalg.norm(d, axis=-1) for d in (difference, difference - offset))
    rmse, rmse_without = (math.sqrt(float(np.mean(d ** 2))) for d in (distances, without))
    return Summary(
        rmse, float(distances.mean()), float(distances.max()), 100.0 * rmse / length,
        offset, rmse_without, float(without.max()), distances.size)


class AngleSummary(NamedTuple):
    """The errors of the rotations of one recording."""

    rms: float      # root of the mean squared angle [rad]
    largest: float  # greatest angle [rad]
    samples: int


def summarise_angles(angles: ArrayLike) -> AngleSummary:
    """Return RMS and maximum of angles (N,) [rad], N > 0."""
    angles = np.asarray(angles, dtype=float)
    return AngleSummary(
        math.sqrt(float(np.mean(angles ** 2))), float(angles.max()), angles.size)


def angle_errors(simulated: ArrayLike, real: ArrayLike) -> np.ndarray:
    """Return the angles (...) [rad] between rotations, both (..., 3, 3) [-]."""
    turn = np.swapaxes(np.asarray(simulated), -1, -2) @ np.asarray(real)
    # By sine and cosine: exact for small angles too.
    sine = 0.5 * np.linalg.norm(np.stack([
        turn[..., i, j] - turn[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0))]), axis=0)
    return np.arctan2(sine, 0.5 * (np.trace(turn, axis1=-2, axis2=-1) - 1.0))


def marker_errors(simulated: ArrayLike, real: ArrayLike) -> np.ndarray:
    """Return the distances (..., M) [m] of markers from real ones, both (..., M, 3) [m]."""
    return np.linalg.norm(_difference(simulated, real), axis=-1)


def shape_errors(simulated: ArrayLike, real: ArrayLike) -> np.ndarray:
    """Return the RMS distance (...) [m] over markers, both (..., M, 3) [m], at each time."""
    return np.sqrt(np.mean(marker_errors(simulated, real) ** 2, axis=-1))


@dataclass
class RunningError:
    """
    An error while it goes on: its last value, and RMS and maximum of the newest samples.

    Parameters
    ----------
    length : float
        Of the robot [m].
    window : float
        Time over which RMS and maximum are taken [s].

    """

    length: float
    window: float
    last: float = field(default=0.0, init=False)  # [m]
    _samples: deque[tuple[float, float]] = field(default_factory=deque, init=False, repr=False)
    _maxima: deque[tuple[float, float]] = field(default_factory=deque, init=False, repr=False)
    _sum: float = field(default=0.0, init=False, repr=False)  # of squares [m^2]

    def __post_init__(self) -> None:
        check_number('length', self.length, above=0.0, unit='m')
        check_number('window', self.window, above=0.0, unit='s')

    def add(self, time: float, error: float) -> None:
        """Take the error [m] of a time [s], later than all before."""
        if not (math.isfinite(error) and error >= 0.0):
            raise InvalidModel('error', error, 'a finite distance >= 0 [m]')
        self.last = error
        self._sum += error * error
        self._samples.append((time, error))
        # Whatever came before a greater one will never be the greatest.
        while self._maxima and self._maxima[-1][1] <= error:
            self._maxima.pop()
        self._maxima.append((time, error))
        while self._samples[0][0] < time - self.window:
            self._sum -= self._samples.popleft()[1] ** 2
        while self._maxima[0][0] < time - self.window:
            self._maxima.popleft()

    def clear(self) -> None:
        """Forget all samples."""
        self._samples.clear()
        self._maxima.clear()
        self._sum = self.last = 0.0

    @property
    def samples(self) -> int:
        """How many are in the window."""
        return len(self._samples)

    @property
    def rmse(self) -> float:
        """Root of the mean squared error in the window; 0 without any [m]."""
        # Sums of what has come and gone round to a little less than nothing.
        return math.sqrt(max(self._sum, 0.0) / max(len(self._samples), 1))

    @property
    def largest(self) -> float:
        """Greatest error in the window; 0 without any [m]."""
        return self._maxima[0][1] if self._maxima else 0.0

    @property
    def percent(self) -> float:
        """The last error as a part of the robot's length [%]."""
        return 100.0 * self.last / self.length


def _difference(simulated: ArrayLike, real: ArrayLike) -> np.ndarray:
    """Return simulated minus real positions (..., 3) [m], if they are such."""
    arrays = []
    for name, value in (('simulated', simulated), ('real', real)):
        array = np.asarray(value, dtype=float)
        if not array.ndim or array.shape[-1] != 3 or not np.isfinite(array).all():
            raise InvalidModel(name, value, 'finite positions of shape (..., 3) [m]')
        arrays.append(array)
    if arrays[0].shape != arrays[1].shape:
        raise InvalidModel(
            'real', arrays[1].shape, f'of the shape of simulated, {arrays[0].shape}')
    return arrays[0] - arrays[1]
