"""
Say that kernels are being compiled, where that takes long: the first call would else seem to hang.

What is compiled is kept on disk, so that this is said once per version of the library. It is said
on stderr, in the main process alone.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time

from numba.core.event import Event, Listener, register

LONG = 3.0      # [s] of compiling until it is said; to load what is compiled takes less
SELDOM = 10.0   # [s] between lines
EXPECTED = 'one to two minutes'


class FirstUse(Listener):
    """
    Hears when numba begins and ends to compile a function, and says so now and then.

    Functions are compiled within others: only the time of the outermost counts. What is loaded
    from disk is heard too, but takes no time to speak of.
    """

    def __init__(self) -> None:
        self._depth, self._spent = 0, 0.0
        self._begun, self._said = 0.0, 0.0
        self._process = os.getpid()

    def on_start(self, event: Event) -> None:
        """Hear that a function is compiled now."""
        if self._depth == 0:
            self._begun = time.monotonic()
        self._depth += 1
        self._say()

    def on_end(self, event: Event) -> None:
        """Hear that it has been."""
        self._say()
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.monotonic() - self._begun

    def _say(self) -> None:
        now = time.monotonic()
        spent = self._spent + now - self._begun
        mine = os.getpid() == self._process  # a worker that was forked has this object too
        if mine and spent > LONG and now - self._said > SELDOM:
            self._said = now
            print(f'cosserat_ros: compiling the numerics, once, for {EXPECTED}: {spent:.0f} s',
                  file=sys.stderr, flush=True)


def announce() -> None:
    """Say from now on where kernels take long to compile."""
    if multiprocessing.parent_process() is None:
        register('numba:compile', FirstUse())
