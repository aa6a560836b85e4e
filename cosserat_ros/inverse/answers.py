"""Earlier answers of inverse statics, to start from the nearest."""

from __future__ import annotations

from collections import deque

import numpy as np

from .task import Task

Start = tuple[np.ndarray, np.ndarray, np.ndarray]  # z, u, and the attitude R of `Result`
MOST = 64      # that are remembered
NEARER = 0.8   # of the last one's distance to the targets, that another must be to be preferred


class Answers:
    """The last answers; they are compared by their targets, if those are of the same stations."""

    def __init__(self) -> None:
        self._all: deque[tuple[tuple, np.ndarray, Start]] = deque(maxlen=MOST)

    def add(self, task: Task, answer: Start) -> None:
        """Remember what was found."""
        self._all.append((task.stations_aimed, task.goal, answer))

    def nearest(self, task: Task) -> Start | None:
        """Return where to start: the last answer, if none is much nearer; None without any."""
        if not self._all:
            return None
        last = self._all[-1]
        alike = [one for one in self._all if one[0] == task.stations_aimed]
        if not alike:
            return last[2]
        distances = np.linalg.norm(np.array([goal for _, goal, _ in alike]) - task.goal, axis=1)
        best = int(np.argmin(distances))
        if alike[-1] is last and not distances[best] < NEARER * distances[-1]:
            return last[2]
        return alike[best][2]
