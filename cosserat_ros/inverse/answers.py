"""Earlier answers of inverse statics, to start from the nearest."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from .task import Task

Start = tuple[np.ndarray, np.ndarray, np.ndarray]  # z, u, and the attitudes R of `Result`
MOST = 64      # that are remembered
NEARER = 0.8   # of the last one's distance to the targets, that another must be to be preferred


@dataclass(frozen=True)
class Answer:
    """An earlier answer, by its stations, their targets and the limits that it kept."""

    aimed: tuple
    goal: np.ndarray
    limits: tuple
    start: Start
    searched: np.ndarray  # targets near it, for which several starts were tried last


class Answers:
    """The last answers; they are compared by their targets, if those are of the same stations."""

    def __init__(self) -> None:
        self._all: deque[Answer] = deque(maxlen=MOST)

    def add(self, answer: Answer) -> None:
        """Remember what was found."""
        self._all.append(answer)

    def nearest(self, task: Task) -> Answer | None:
        """Return where to start: the last answer, if none is much nearer; None without any."""
        if not self._all:
            return None
        last = self._all[-1]
        alike = [one for one in self._all if one.aimed == task.stations_aimed]
        if not alike:
            return last
        distances = np.linalg.norm(np.array([one.goal for one in alike]) - task.goal, axis=1)
        best = int(np.argmin(distances))
        if alike[-1] is last and not distances[best] < NEARER * distances[-1]:
            return last
        return alike[best]

    def same(self, task: Task) -> list[Start]:
        """Return answers to these very targets, perhaps within other limits."""
        return [one.start for one in self._all
                if one.aimed == task.stations_aimed and np.array_equal(one.goal, task.goal)]
