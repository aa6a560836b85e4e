"""When steps are due."""

from __future__ import annotations

CATCH_UP = 0.1  # [s] of lateness that is made up for
CATCH_UP_WITH_CLOCK = 5.0  # [s] the same where another's clock is followed: it may jump
BEHIND = 5      # steps of lateness that are made up for, where they are longer


class Schedule:
    """When steps are due: at whole periods, without drift."""

    def __init__(self, now: float) -> None:
        self.due = now

    def next(self, now: float, period: float, catch_up: float = CATCH_UP) -> int:
        """Set the next instant; return how many periods had to be given up."""
        self.due += period
        behind = now - self.due
        if behind <= max(catch_up, BEHIND * period):
            return 0
        self.due = now
        return int(behind / period) if period > 0.0 else 0

    def look(self, now: float, period: float) -> float:
        """Return how long to wait [s]; begin anew where time has gone back."""
        if self.due - now > 1.5 * period:
            self.due = now + period
        return self.due - now
