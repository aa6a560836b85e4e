"""What a node rejects: counted, and said now and then."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

PERIOD = 1.0  # [s] at least between two warnings
LONGEST = 500  # characters of a reason that are said: diagnostics hold it, see limits.py


class Complaints:
    """Counts what is rejected, and says so at most once per second."""

    def __init__(self, say: Callable[[str], Any]) -> None:
        self._say, self._said = say, -PERIOD
        self.count, self.last = 0, ''
        self._lock = threading.Lock()

    def add(self, source: str, reason: str) -> None:
        """Take note of something rejected, and where it came from: a topic, or the page."""
        reason = ' '.join(reason.split())
        with self._lock:
            self.count += 1
            self.last = (
                f'{source}: {reason if len(reason) <= LONGEST else reason[:LONGEST] + "..."}')
            if time.monotonic() - self._said <= PERIOD:
                return
            self._said = time.monotonic()
            self._say(f'rejected {self.last} ({self.count} rejected so far)')
