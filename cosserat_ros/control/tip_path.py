"""Closed paths for the tip of a robot, as functions of time."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from ..checks.fields import Checked, choice, number, position

SHAPES = 'circle', 'line', 'figure_eight'


@dataclass(frozen=True)
class TipPath(Checked):
    """
    A closed path in a plane parallel to x and y of base_link.

    Parameters
    ----------
    shape : str
        'circle'; 'line', to and fro; or 'figure_eight', twice as long as wide.
    centre : (3,) tuple
        Seen from base_link [m].
    radius : float
        Of the circle; from the centre to the ends of the others [m].
    period : float
        Time for a round [s].
    heading : float
        Angle from the x axis to where a circle starts, or to the direction of the others [rad].

    """

    shape: str = choice(*SHAPES)
    centre: tuple[float, float, float] = position()
    radius: float = number('m', above=0.0)
    period: float = number('s', above=0.0)
    heading: float = number('rad', default=0.0)

    def position(self, time: float) -> np.ndarray:
        """Return where the tip is to be at a time [s], (3,) [m]."""
        a = 2.0 * math.pi * time / self.period
        x, y = {'circle': (math.cos(a), math.sin(a)),
                'line': (math.cos(a), 0.0),
                'figure_eight': (math.cos(a), 0.5 * math.sin(2.0 * a))}[self.shape]
        return np.array(self.centre) + self._turned(x, y)

    def velocity(self, time: float) -> np.ndarray:
        """Return how fast it is to move then, (3,) [m/s]."""
        w = 2.0 * math.pi / self.period
        a = w * time
        x, y = {'circle': (-math.sin(a), math.cos(a)),
                'line': (-math.sin(a), 0.0),
                'figure_eight': (-math.sin(a), math.cos(2.0 * a))}[self.shape]
        return w * self._turned(x, y)

    def _turned(self, x: float, y: float) -> np.ndarray:
        """Return a vector of the plane, given in radii along the heading and across."""
        c, s = math.cos(self.heading), math.sin(self.heading)
        return self.radius * np.array([c * x - s * y, s * x + c * y, 0.0])


def eased_time(elapsed: float, onset: float) -> tuple[float, float]:
    """
    Return the time along a path that begins from rest [s], and its rate [-].

    Parameters
    ----------
    elapsed : float
        Time since it began [s].
    onset : float
        Time until it goes at its own pace [s].

    """
    if elapsed < onset:
        return 0.5 * elapsed ** 2 / onset, elapsed / onset
    return elapsed - 0.5 * onset, 1.0
