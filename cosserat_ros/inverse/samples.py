"""
Equilibria here and there in the workspace, to start from where the last answer may be the worse.

Targets often have several answers of locally least effort, as an arm of three segments can bend
one way or the other. Some equilibria of random, sparse actuation are kept; those nearest to a
target are good starts to all of its answers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .answers import Start
from .limits import Limits
from .mechanics import Mechanics
from .task import Task

COUNT = 200    # equilibria that are tried
PART = 0.4     # of the actuators that act in each
WIDE = 2.0     # times what bends by a radian, that they do at most
MOST_TASKS = 8  # sets of stations, whose places in all equilibria are kept


class Samples:
    """Equilibria of random actuation from `rest`, within limits."""

    def __init__(
        self, mechanics: Mechanics, limits: Limits, scale: np.ndarray, rest: Start,
    ) -> None:
        z, aim, R = rest
        low, high, aim = (np.clip(aim + wide * scale, limits.least, limits.most)
                          for wide in (-WIDE, WIDE, 0.0))
        rng = np.random.default_rng(0)
        self._all: list[Start] = []
        self._places: dict[tuple, np.ndarray] = {}
        for _ in range(COUNT):
            u = np.where(rng.random(aim.size) < PART, rng.uniform(low, high), aim)
            mechanics.stand(R)
            there, stands = mechanics.equilibrium(z, u)
            if stands and np.isfinite(there).all():
                self._all.append((there, u, R))

    def nearest(self, task: Task, count: int) -> Iterator[Start]:
        """Yield the samples whose stations are nearest to the targets, the nearest first."""
        if not self._all:
            return
        places = self._places.pop(task.stations_aimed, None)
        if places is None:
            places = np.array([task.reached(z, R) for z, _, R in self._all])
        self._places[task.stations_aimed] = places
        if len(self._places) > MOST_TASKS:
            del self._places[next(iter(self._places))]
        order = np.argsort(np.linalg.norm(places - task.goal, axis=1))
        for i in order[:count]:
            yield self._all[i]
