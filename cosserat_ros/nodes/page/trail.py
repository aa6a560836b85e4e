"""The path that a robot's tip has taken in the last seconds."""

from __future__ import annotations

from collections import deque
import itertools
from typing import Any

import numpy as np

from .scene import as_bytes, linear

SEGMENTS = 150        # that a trail is drawn with: always as many, so that it is not made anew
NEAR = 2e-3           # of the robot's length, that a tip must move for a new point
JUMP = 0.2            # of the robot's length between two points, that is no motion but a reset
PERIOD = 0.1          # [s] between two drawings
OLD, NEW = np.array((0.81, 0.83, 0.85)), np.array((0.90, 0.47, 0.0))  # red, green, blue
NUMBERS = itertools.count()  # for names in the scene


class Trail:
    """
    One robot's trail.

    Parameters
    ----------
    scene : viser.SceneApi
    length : float
        Of the robot [m].

    """

    def __init__(self, scene: Any, length: float) -> None:
        self._scene = scene
        self._name = f'/trails/{next(NUMBERS)}'
        self._length = length
        self._points: deque[tuple[float, np.ndarray]] = deque()  # when [s], and where [m]
        self._line: Any = None
        self._drawn_at = -np.inf

    def add(self, position: np.ndarray, now: float) -> None:
        """Take note of where the tip is [m] at a time [s]."""
        if self._points:
            distance = np.linalg.norm(position - self._points[-1][1])
            if distance > JUMP * self._length:
                self._points.clear()
            elif distance < NEAR * self._length:
                return
        self._points.append((now, position))

    def draw(self, duration: float, now: float) -> None:
        """Draw the last seconds, or nothing for none."""
        if now - self._drawn_at < PERIOD and duration:
            return
        self._drawn_at = now
        while self._points and now - self._points[0][0] > duration:
            self._points.popleft()
        if len(self._points) < 2:
            self.remove()
            return
        points, colours = strip([point for _, point in self._points])
        if self._line is None:
            self._line = self._scene.add_line_segments(
                self._name, points, colours, thickness=2.5, thickness_units='screen')
        elif not np.array_equal(self._line.points, points):
            self._line.points = points

    def remove(self) -> None:
        """Take it out of the scene; it is drawn again when there is something to draw."""
        if self._line is not None:
            self._line.remove()
            self._line = None


def strip(points: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """
    Lay a fixed number of segments along points, older ones paler.

    Returns
    -------
    (SEGMENTS, 2, 3) float32
        Ends of the segments [m].
    (SEGMENTS, 2, 3) uint8
        Their colours.

    """
    path = np.array(points)
    place = np.linspace(0.0, len(path) - 1, SEGMENTS + 1)
    at = np.stack([np.interp(place, np.arange(len(path)), path[:, i]) for i in range(3)], 1)
    age = np.linspace(0.0, 1.0, SEGMENTS + 1)[:, None]
    colours = as_bytes(linear(OLD + age * (NEW - OLD)))
    ends = np.stack([np.arange(SEGMENTS), np.arange(SEGMENTS) + 1], 1)
    return at[ends].astype(np.float32), colours[ends]
