"""What a robot's actuators have been told, by us or, as far as their state tells, by others."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

NEAR = 5e-3     # of an actuator's range, that counts as arrived
PATIENCE = 3.0  # [s] that an actuator may stand still elsewhere before others are believed


class Commanded:
    """
    The commands in force.

    A command of ours holds while its actuator is on its way. Once it has arrived, or stands still
    elsewhere, what is measured is the command: somebody else gave it, or ours was rejected.

    Parameters
    ----------
    rest : sequence of float
        Command of each actuator at first, in its unit.
    span : sequence of float
        From the least to the greatest command, likewise.

    """

    def __init__(self, rest: Sequence[float], span: Sequence[float]) -> None:
        self.values = np.array(rest, float)
        self._near = NEAR * np.array(span, float)
        self._seen = np.full(len(self.values), math.nan)
        self._still_since = np.full(len(self.values), -math.inf)
        self._waiting = np.zeros(len(self.values), bool)

    def tell(self, values: np.ndarray, now: float) -> None:
        """Take note of commands that we give at a time [s]."""
        self._waiting |= values != self.values
        self._still_since[values != self.values] = now
        self.values = np.array(values, float)

    def hear(self, measured: np.ndarray, now: float) -> None:
        """Take note of what is measured at a time [s], in the units of commands; NaN: nothing."""
        moved = ~(np.abs(measured - self._seen) <= self._near)
        self._seen[moved] = measured[moved]
        self._still_since[moved] = now
        away = np.abs(measured - self.values) > self._near
        self._waiting &= away & (now - self._still_since < PATIENCE)
        followed = away & ~self._waiting
        self.values[followed] = measured[followed]
