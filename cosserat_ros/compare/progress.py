"""A line on the terminal that tells how far something is."""

from __future__ import annotations

import sys
import time


class Progress:
    """
    Tells on stderr how far something is: in one line that changes, or in lines of a log.

    Parameters
    ----------
    name : str
        Of what goes on.

    """

    WIDTH = 30  # of the bar

    def __init__(self, name: str) -> None:
        self._name, self._begun = name, time.monotonic()
        self._terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Tell something."""
        end = '' if self._terminal else '\n'
        begin = '\r\033[K' if self._terminal else ''
        spent = time.monotonic() - self._begun
        print(f'{begin}{self._name} [{spent:.0f} s] {text}', end=end, file=sys.stderr, flush=True)

    def count(self, done: int, total: int) -> None:
        """Tell that so many of so many are done."""
        if not self._terminal and 0 < done < total and 10 * done // total == (
                10 * (done - 1) // total):
            return  # a log has a line for each tenth
        filled = self.WIDTH * done // max(total, 1)
        self(f'|{"#" * filled}{"." * (self.WIDTH - filled)}| {done} of {total}')

    def close(self) -> None:
        """End the line."""
        if self._terminal:
            print(file=sys.stderr)
