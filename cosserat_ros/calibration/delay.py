r"""
Measurements that come later than commands: what a delay does to a prediction, and signs of one.

A sample at t shows the robot as it was at t - delay. A motion is simulated at the times of the
samples, and told between them by cubic splines; before the first sample it rests. The change of a
position with the delay is its velocity, with the opposite sign.

A delay that the map does not have looks like an error in proportion to velocity, ``simulated -
real = delay * velocity``; what of it other parameters can take up, they do, and are wrong by that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from .intervals import Rows, uncertainty

WORTH_SAYING = 0.3  # correlation of residuals with velocity, below which it is not told


def at_times(
    times: np.ndarray, values: np.ndarray, wanted: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return what (T, ...) samples of a motion from rest are at other times, and their rates.

    Before the first time they are as then, and so they are after the last.
    """
    if len(times) < 2:
        return np.broadcast_to(values, (len(wanted), *values.shape[1:])).copy(), np.zeros(
            (len(wanted), *values.shape[1:]))
    spline = CubicSpline(times, values, bc_type=('clamped', 'natural'))
    inside = (times[0] <= wanted) & (wanted <= times[-1])
    found = spline(np.clip(wanted, times[0], times[-1]))
    rates = spline(np.clip(wanted, times[0], times[-1]), 1)
    rates[~inside] = 0.0
    return found, rates


def velocities(times: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the velocities (T, M, 3) [m/s] of points (T, M, 3) [m] that start from rest."""
    return at_times(times, positions, times)[1]


def delayed(
    times: np.ndarray, poses: np.ndarray, jacobian: np.ndarray, delay: float, slopes: np.ndarray,
    count: int,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return poses as they were a while ago, and their sensitivities.

    Parameters
    ----------
    times : (T,) array
        [s].
    poses : (T, M, 4, 4) array
        [-, m].
    jacobian : (T, M, 6, n) array
        Of positions and rotations with n parameters.
    delay : float
        [s].
    slopes : (n,) array
        Of the delay, with the parameters.
    count : int
        Of the first samples, which are wanted.

    """
    wanted = times[:count] - delay
    told, rates = at_times(times, poses, wanted)
    U, _, V = np.linalg.svd(told[..., :3, :3])
    told[..., :3, :3] = U @ V  # the nearest rotation
    turn = rates[..., :3, :3] @ np.swapaxes(told[..., :3, :3], -1, -2)
    spin = 0.5 * np.stack([turn[..., 2, 1] - turn[..., 1, 2], turn[..., 0, 2] - turn[..., 2, 0],
                           turn[..., 1, 0] - turn[..., 0, 1]], axis=-1)
    moved = np.concatenate([rates[..., :3, 3], spin], axis=-1)
    changed = at_times(times, jacobian, wanted)[0] if jacobian.shape[-1] else jacobian[:count]
    return told, changed - moved[..., None] * slopes


class Lag(NamedTuple):
    """By how much measurements seem to come later than a model says."""

    seconds: float
    half: float         # of its confidence interval, that allows for correlated residuals
    correlation: float  # of residuals with velocity, beside all that is fitted

    @property
    def clear(self) -> bool:
        """Whether it is more than chance, and worth saying."""
        return abs(self.seconds) > self.half and abs(self.correlation) > WORTH_SAYING

    def __str__(self) -> str:
        later = 'later' if self.seconds > 0.0 else 'earlier'
        return (f'residuals correlate with velocity ({self.correlation:+.2f}), as if measurements '
                f'came {1e3 * abs(self.seconds):.3g} +- {1e3 * self.half:.2g} ms {later} than the '
                'map says: give `delay` in the map or fit it')


def lag(r: np.ndarray, J: np.ndarray, velocity: np.ndarray, rows: Rows) -> Lag:
    """
    Return by how much a fit's residual says that measurements come later.

    Parameters
    ----------
    r : (N,) array
        What is left, simulated minus real.
    J : (N, n) array
        Slopes with what was fitted; n may be 0.
    velocity : (N,) array
        Simulated, in the residual's unit per second.
    rows : Rows

    """
    both = np.column_stack([J, -velocity])
    step = -np.linalg.pinv(both) @ r  # of all that was fitted, and of the delay
    found = uncertainty(both, r + both @ step, rows)
    beside = velocity - J @ (np.linalg.pinv(J) @ velocity)
    size = float(np.sqrt((beside @ beside) * (r @ r)))
    correlation = float(beside @ r) / size if size > 0.0 else 0.0
    return Lag(float(step[-1]), float(found.correlated[-1]), correlation)
