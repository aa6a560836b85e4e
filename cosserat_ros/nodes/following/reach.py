"""Whether a robot's tip can follow a path at all: asked point by point before it moves."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ...checks.errors import CosseratError
from ...checks.fields import check_vector
from ...control.tip_path import TipPath
from ...msg import Target
from ...srv import SolveInverseStatics
from ..common.conversions import fill_xyz, xyz

POINTS = 8    # of the path that are asked for
TRIALS = 20   # at most to find a point's height
DRAWN = 64    # points of the line that is drawn


class OutOfReach(CosseratError):
    """A path that the robot's tip cannot follow."""


class Reach:
    """
    The inverse statics of points on a path, one question after the other.

    A robot that only bends has a surface that its tip is on: for it the height of each point is
    what comes out (`lifted`). It is found from above, by asking again for a target as high as the
    tip came: a target below the surface would have tendons pull against each other.

    Parameters
    ----------
    path : TipPath
    lifted : bool
        Whether the height is free.
    height : float
        To look from, if so: above all that is to be reached [m].
    tolerance : float
        Distance from a point at which it is out of reach [m].

    """

    def __init__(self, path: TipPath, lifted: bool, height: float, tolerance: float) -> None:
        self._path, self._lifted, self._tolerance = path, lifted, tolerance
        self._highest = height
        self._heights: list[float] = []
        self.first_commands = np.zeros(0)
        self._next_point()

    def _next_point(self) -> None:
        self._trials = 0
        self._wanted = self._path.position(len(self._heights) / POINTS * self._path.period)
        if self._lifted:
            self._wanted[2] = self._highest

    def request(self) -> Optional[SolveInverseStatics.Request]:
        """Return what is to be asked next, or None if the path is within reach."""
        if len(self._heights) == POINTS:
            return None
        target = Target(kind=Target.POSITION)
        fill_xyz(target.pose.position, self._wanted)
        return SolveInverseStatics.Request(
            targets=[target], keep_present_loads=True,
            secondary_goal=SolveInverseStatics.Request.LEAST_EFFORT)

    def take(self, answer: Any) -> None:
        """Take an answer, or raise `OutOfReach`; or `InvalidModel` if it is none."""
        tip = xyz(answer.equilibrium.backbone.tip.position)
        reached = np.array(check_vector('equilibrium.backbone.tip', tip, 3, unit='m'))
        off = self._wanted - reached
        self._trials += 1
        distance = float(np.linalg.norm(off[:2] if self._lifted else off))
        if distance > self._tolerance:
            if not self._lifted or self._trials == TRIALS:
                x, y, z = self._wanted
                place = f'x {x:g}, y {y:g}' + ('' if self._lifted else f', z {z:g}')
                raise OutOfReach(
                    f'the point {place} m of the path, in base_link, is out of reach by '
                    f'{1e3 * distance:.1f} mm: change centre, radius or axes')
            self._wanted[2] = reached[2]
            return
        if not self._heights:
            self.first_commands = np.array([one.value for one in answer.actuation])
        self._heights.append(float(reached[2]) if self._lifted else self._wanted[2])
        self._next_point()

    def height(self, time: float) -> float:
        """Return the height of the path at a time along it [s], in base_link [m]."""
        return float(np.interp(
            time / self._path.period, np.arange(POINTS) / POINTS, self._heights, period=1.0))

    def line(self) -> np.ndarray:
        """Return the path as a closed line, (N, 3) [m]."""
        times = np.linspace(0.0, self._path.period, DRAWN + 1)
        return np.array([[*self._path.position(t)[:2], self.height(t)] for t in times])
