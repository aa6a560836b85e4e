"""
Where tendons and chambers run beside the backbone of a rod.

A routing says r(s), the offset from the centroid in the section's plane, body frame [m]; the path
in space is ``p + R r`` (Till 2019, section 5.2). s is the arc length along the rod from the rod's
base, also for a path that starts further on. The names here are also those of the YAML files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math
from typing import ClassVar, NamedTuple, Optional, TYPE_CHECKING, Union

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval

from ..checks.errors import InvalidModel
from ..checks.fields import Checked, number, numbers, points, position

if TYPE_CHECKING:
    from scipy.interpolate import PchipInterpolator


@dataclass(frozen=True)
class BaseRouting(Checked):
    """
    A way beside a backbone, from the arc length `start` to `end` [m].

    Each kind has the methods ``_offset`` and ``_offset_s``, which take s (N,) and give the x and y
    components, each a number or (N,).
    """

    shape: ClassVar[str]  # the kind's name in YAML

    def at(self, s: np.ndarray, start: float, end: float) -> np.ndarray:
        """Return r(s), (N, 3) [m], body frame."""
        return _in_section(s, *self._offset(s, start, end))

    def slope(self, s: np.ndarray, start: float, end: float) -> np.ndarray:
        """Return dr/ds, (N, 3) [-], body frame."""
        return _in_section(s, *self._offset_s(s, start, end))

    def _offset(self, s: np.ndarray, start: float, end: float) -> tuple:
        raise NotImplementedError

    def _offset_s(self, s: np.ndarray, start: float, end: float) -> tuple:
        raise NotImplementedError


def _in_section(
    s: np.ndarray, x: Union[float, np.ndarray], y: Union[float, np.ndarray],
) -> np.ndarray:
    return np.stack([np.broadcast_to(c, s.shape) for c in (x, y, 0.0)], axis=-1)


@dataclass(frozen=True)
class Parallel(BaseRouting):
    """
    At a constant offset from the backbone.

    Parameters
    ----------
    offset : (2,) tuple
        Offset along the local x and y axes [m].

    """

    shape: ClassVar[str] = 'parallel'
    offset: tuple[float, float] = position(size=2)

    def _offset(self, s: np.ndarray, start: float, end: float) -> tuple:
        return self.offset

    def _offset_s(self, s: np.ndarray, start: float, end: float) -> tuple:
        return 0.0, 0.0


@dataclass(frozen=True)
class Convergent(BaseRouting):
    """
    Linear from one offset to another.

    Parameters
    ----------
    offset : (2,) tuple
        Offset (x, y) where it starts [m].
    tip_offset : (2,) tuple
        Offset (x, y) where it ends [m].

    """

    shape: ClassVar[str] = 'convergent'
    offset: tuple[float, float] = position(size=2)
    tip_offset: tuple[float, float] = position(size=2)

    def _offset(self, s: np.ndarray, start: float, end: float) -> tuple:
        x = (s - start) / (end - start)
        return tuple((1.0 - x) * a + x * b for a, b in zip(self.offset, self.tip_offset))

    def _offset_s(self, s: np.ndarray, start: float, end: float) -> tuple:
        return tuple((b - a) / (end - start) for a, b in zip(self.offset, self.tip_offset))


@dataclass(frozen=True)
class Helical(BaseRouting):
    """
    On a helix about the backbone, right-handed for positive `pitch` or `turns`.

    Parameters
    ----------
    radius : float
        Radius of the helix [m].
    pitch : float, optional
        Arc length per turn, not 0 [m]; or else `turns`.
    turns : float, optional
        Number of turns from where it starts to where it ends, not 0 [-]; or else `pitch`.
    phase : float
        Angle from the x axis to the y axis where it starts [rad].

    """

    shape: ClassVar[str] = 'helical'
    radius: float = number('m', above=0.0)
    pitch: Optional[float] = number('m', default=None)
    turns: Optional[float] = number('-', default=None, least=-1e3, most=1e3)
    phase: float = number('rad', default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.pitch is None) == (self.turns is None):
            given = (self.pitch, self.turns)
            raise InvalidModel('pitch, turns', given, 'one given, the other not')
        for name in ('pitch', 'turns'):
            if getattr(self, name) == 0.0:
                raise InvalidModel(name, 0.0, 'not 0: a straight path is parallel')

    def _rate(self, start: float, end: float) -> float:
        """Angle per arc length [rad/m]."""
        if self.turns is not None:
            return 2.0 * math.pi * self.turns / (end - start)
        assert self.pitch is not None
        return 2.0 * math.pi / self.pitch

    def _offset(self, s: np.ndarray, start: float, end: float) -> tuple:
        angle = self.phase + self._rate(start, end) * (s - start)
        return self.radius * np.cos(angle), self.radius * np.sin(angle)

    def _offset_s(self, s: np.ndarray, start: float, end: float) -> tuple:
        x, y = self._offset(s, start, end)
        rate = self._rate(start, end)
        return -rate * y, rate * x


@dataclass(frozen=True)
class Polynomial(BaseRouting):
    """
    Offsets x(s) and y(s) as polynomials of the arc length s [m].

    Parameters
    ----------
    x : tuple of float
        Coefficients of 1, s, s^2, ... for the offset along x [m, -, 1/m, ...].
    y : tuple of float
        Coefficients of 1, s, s^2, ... for the offset along y [m, -, 1/m, ...].

    """

    shape: ClassVar[str] = 'polynomial'
    x: tuple[float, ...] = numbers('m, -, 1/m, ...', fewest=1, most=20)
    y: tuple[float, ...] = numbers('m, -, 1/m, ...', fewest=1, most=20)

    def _offset(self, s: np.ndarray, start: float, end: float) -> tuple:
        return polyval(s, self.x), polyval(s, self.y)

    def _offset_s(self, s: np.ndarray, start: float, end: float) -> tuple:
        return polyval(s, polyder(self.x)), polyval(s, polyder(self.y))


@dataclass(frozen=True)
class Tabulated(BaseRouting):
    """
    Through given points, smoothly.

    By piecewise cubics that keep monotony (PCHIP): between two points the path never leaves the
    range of their offsets. Before the first and after the last one the offset is constant.

    Parameters
    ----------
    arc_lengths : tuple of float
        Arc lengths along the rod, increasing [m].
    offsets : tuple of (x, y)
        Offset (x, y) at each arc length [m].

    """

    shape: ClassVar[str] = 'tabulated'
    arc_lengths: tuple[float, ...] = numbers('m', fewest=2, increasing=True, least=0.0)
    offsets: tuple[tuple[float, float], ...] = points(fewest=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.offsets) != len(self.arc_lengths):
            raise InvalidModel(
                'offsets', self.offsets, f'as many as arc_lengths, {len(self.arc_lengths)}')

    @cached_property
    def _curve(self) -> PchipInterpolator:
        from scipy.interpolate import PchipInterpolator  # slow to import, and seldom needed
        return PchipInterpolator(self.arc_lengths, self.offsets)

    def _offset(self, s: np.ndarray, start: float, end: float) -> tuple:
        return tuple(self._curve(np.clip(s, self.arc_lengths[0], self.arc_lengths[-1])).T)

    def _offset_s(self, s: np.ndarray, start: float, end: float) -> tuple:
        inside = (s >= self.arc_lengths[0]) & (s <= self.arc_lengths[-1])
        return tuple(np.where(inside[:, None], self._curve(s, 1), 0.0).T)


Routing = Union[Parallel, Convergent, Helical, Polynomial, Tabulated]


class Path(NamedTuple):
    """
    The path of one tendon or chamber of a robot, complete: which rod, from where to where.

    `areas` [m^2] are those of a chamber where it starts and ends; a tendon has none.
    """

    rod: str
    start: float
    end: float
    routing: BaseRouting
    areas: tuple[float, float] = (0.0, 0.0)

    def at(self, s: np.ndarray) -> np.ndarray:
        """Return r(s), (N, 3) [m], body frame, for s (N,) within [start, end] [m]."""
        return self.routing.at(s, self.start, self.end)

    def slope(self, s: np.ndarray) -> np.ndarray:
        """Return dr/ds, (N, 3) [-], body frame."""
        return self.routing.slope(s, self.start, self.end)

    def area(self, s: np.ndarray) -> np.ndarray:
        """Return the area of a chamber, (N,) [m^2], linear between its ends."""
        return np.interp(s, (self.start, self.end), self.areas)
