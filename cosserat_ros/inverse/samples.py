"""
Equilibria here and there in the workspace, to start from where the last answer may be the worse.

Targets often have several answers of locally least effort, as an arm of three segments can bend
one way or the other. Some equilibria of random, sparse actuation are kept. Once one is next to a
target, it is relieved: it keeps its place, by the least effort nearby. Answers from such starts
are near answers of least effort themselves; where one leads to more than another did, it is
relieved anew from there. Samples of like actuation lead to one answer: of those, one is followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .answers import Start
from .limits import Limits
from .mechanics import Mechanics
from .task import Task

COUNT = 200    # equilibria that are tried
PART = 0.4     # of the actuators that act in each
WIDE = 2.0     # times what bends by a radian, that they do at most
MOST_TASKS = 8  # sets of stations, to which samples are kept


@dataclass(eq=False)
class Sample:
    """An equilibrium; all of these are to tasks of the same stations."""

    start: Start
    relieved: bool = False  # whether it is of least effort at its place
    compared: bool = False  # whether it was held against another, of less effort


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
        self._known: dict[tuple, tuple[np.ndarray, list[Sample]]] = {}
        for _ in range(COUNT):
            u = np.where(rng.random(aim.size) < PART, rng.uniform(low, high), aim)
            mechanics.stand(R)
            there, stands = mechanics.equilibrium(z, u)
            if stands and np.isfinite(there).all():
                self._all.append((there, u, R))

    def nearest(self, task: Task, count: int) -> list[tuple[Sample, float]]:
        """Return the samples whose stations are nearest to the targets, and how far they are."""
        if not self._all:
            return []
        known = self._known.pop(task.stations_aimed, None)
        if known is None:
            known = (np.array([task.reached(z, R) for z, _, R in self._all]),
                     [Sample(start) for start in self._all])
        self._known[task.stations_aimed] = known
        if len(self._known) > MOST_TASKS:
            del self._known[next(iter(self._known))]
        places, samples = known
        distances = np.linalg.norm(places - task.goal, axis=1)
        return [(samples[i], float(distances[i])) for i in np.argsort(distances)[:count]]
