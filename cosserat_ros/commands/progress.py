"""A line on the terminal that tells how far something is."""

from __future__ import annotations

import math
import sys
import time

OFTEN, SELDOM = 0.1, 10.0  # [s] between lines on a terminal, and in a log


class Progress:
    """
    Tells on stderr how far something is: in one line that changes, or in lines of a log.

    The line ends with the block that it is for.

    Parameters
    ----------
    name : str
        Of what goes on.

    """

    WIDTH = 30  # of the bar

    def __init__(self, name: str) -> None:
        self._name, self._begun = name, time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._told = -math.inf  # when it was counted last

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._terminal:
            print(file=sys.stderr)

    def __call__(self, text: str) -> None:
        """Tell something."""
        end = '' if self._terminal else '\n'
        begin = '\r\033[K' if self._terminal else ''
        spent = time.monotonic() - self._begun
        print(f'{begin}{self._name} [{spent:.0f} s] {text}', end=end, file=sys.stderr, flush=True)

    def count(self, done: int, total: int) -> None:
        """Tell that so many of so many are done, now and then."""
        now = time.monotonic()
        if 0 < done < total and now < self._told + (OFTEN if self._terminal else SELDOM):
            return
        self._told = now
        filled = self.WIDTH * done // max(total, 1)
        self(f'|{"#" * filled}{"." * (self.WIDTH - filled)}| {done} of {total}')
