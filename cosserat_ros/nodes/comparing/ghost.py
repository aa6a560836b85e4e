"""How a real robot is drawn beside the simulated one: its markers, and the shape they tell."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
import math
from typing import Optional

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from scipy.interpolate import CubicSpline
from visualization_msgs.msg import Marker, MarkerArray

from ...comparison.live import Instant
from ...msg import Backbone
from ..common.conversions import fill_xyz
from .marker_places import MarkerPlaces, Place

ROD_WIDTH, BALL, ERROR_WIDTH = 0.02, 0.035, 0.006  # as parts of the robot's length
ROD_COLOUR = (0.95, 0.55, 0.10, 0.45)
BALL_COLOUR = (0.95, 0.45, 0.05, 0.9)
ERROR_COLOUR = (0.85, 0.10, 0.10, 0.9)
LIFETIME = 1     # [s] after which they go if nobody renews them
KEPT = 1000      # shapes of the simulated robot


class Ghost:
    """
    Draws the real robot: the simulated rods, moved by what their markers are off.

    Parameters
    ----------
    places : MarkerPlaces
        Where the markers are.

    """

    def __init__(self, places: MarkerPlaces) -> None:
        self._places = places
        self._times: deque[float] = deque(maxlen=KEPT)
        self._shapes: deque[list[np.ndarray]] = deque(maxlen=KEPT)

    def simulate(self, time: float, message: Backbone) -> None:
        """Keep the shape of the simulated robot at a time [s]."""
        if self._times and self._times[-1] == time:  # it stands still
            return
        if self._times and self._times[-1] > time:   # the clock was set back
            self._times.clear()
            self._shapes.clear()
        self._times.append(time)
        self._shapes.append([
            np.array([(p.position.x, p.position.y, p.position.z) for p in rod.poses])
            for rod in message.rods])

    def markers(self, instant: Instant, delay: float, stamp: Time) -> MarkerArray:
        """Return the markers of an instant, for a real robot so long behind [s]."""
        seen, length = instant.seen, self._places.length
        array = MarkerArray()
        shape = self._shape(instant.time - delay)
        for (name, s), points in zip(self._places.arc_lengths.items(), shape or []):
            at = np.array([self._arc_length(place, name) for place in self._places.places])
            there = np.flatnonzero(seen & np.isfinite(at))
            if there.size:
                off = instant.real[there] - instant.simulated[there]
                self._add(array, stamp, f'real/{name}', Marker.LINE_STRIP, ROD_WIDTH * length,
                          ROD_COLOUR, points + _between_markers(s, at[there], off))
        self._add(array, stamp, 'real/markers', Marker.SPHERE_LIST, BALL * length, BALL_COLOUR,
                  instant.real[seen])
        pairs = np.stack([instant.real[seen], instant.simulated[seen]], axis=1).reshape(-1, 3)
        self._add(array, stamp, 'real/errors', Marker.LINE_LIST, ERROR_WIDTH * length,
                  ERROR_COLOUR, pairs)
        return array

    def _arc_length(self, place: Place, rod: str) -> float:
        """Return where a marker is on a rod [m], or infinity; a lone rod ends in the tip."""
        if place.at_tip and len(self._places.arc_lengths) == 1:
            return float(self._places.arc_lengths[rod][-1])
        return place.arc_length if place.rod == rod else math.inf

    def _shape(self, time: float) -> Optional[list[np.ndarray]]:
        """Return the points of all rods at a time [s], if it is between two that are known."""
        k = bisect_left(self._times, time)
        if not 0 < k < len(self._times):
            return None
        before, after = self._times[k - 1], self._times[k]
        x = (time - before) / (after - before)
        return [(1.0 - x) * a + x * b for a, b in zip(self._shapes[k - 1], self._shapes[k])]

    def _add(
        self, array: MarkerArray, stamp: Time, namespace: str, kind: int, size: float,
        colour: tuple[float, ...], points: np.ndarray,
    ) -> None:
        marker = Marker(ns=namespace, id=0, type=kind, action=Marker.ADD)
        marker.header.frame_id, marker.header.stamp = self._places.base_frame, stamp
        marker.pose.orientation.w = 1.0
        fill_xyz(marker.scale, (size,) * 3)
        marker.color.r, marker.color.g, marker.color.b, marker.color.a = colour
        marker.lifetime.sec = LIFETIME
        marker.points = [Point(x=x, y=y, z=z) for x, y, z in points.tolist()]
        array.markers.append(marker)


def _between_markers(s: np.ndarray, at: np.ndarray, off: np.ndarray) -> np.ndarray:
    """
    Return how far a rod is off between its markers, (N, 3) [m].

    Parameters
    ----------
    s : (N,) float64
        Arc lengths [m].
    at, off : (M,) and (M, 3) float64
        Those of markers, and how far they are off [m].

    """
    knots, first = np.unique([0.0, *at], return_index=True)
    if len(knots) < 2:
        return np.zeros((len(s), 3))
    # The rod is held at its base; beyond the last marker it is as far off as there.
    held = CubicSpline(knots, np.vstack([np.zeros(3), off])[first], bc_type=('clamped', 'natural'))
    return held(np.minimum(s, knots[-1]))
