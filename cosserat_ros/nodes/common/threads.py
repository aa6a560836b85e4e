"""Threads of a node: each is the only one of its kind, and none of them fails or ends unseen."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
import threading
import time
from typing import Any, Optional

from ...checks.errors import CosseratError

REST = 0.1  # [s] after a turn that failed


class StillRunning(CosseratError):
    """A thread cannot be started: the one from before has not ended."""


class ThreadDied(CosseratError):
    """A thread ended that should not have."""


class Loop:
    """
    A thread that takes one turn after another.

    A turn that raises is reported, and the next one is taken after a rest.

    Parameters
    ----------
    name : str
        What it does, as "stepping".
    turn : callable
        One turn; ends soon after `wake`.
    report : callable
        Called with a text where a turn fails, by the thread.

    """

    def __init__(
        self, name: str, turn: Callable[[], None], report: Callable[[str], None],
    ) -> None:
        self.name, self._turn, self._report = name, turn, report
        self.failures = 0   # turns that failed
        self.failure = ''   # why the last one did
        self.death = ''     # why the thread ended without being told to
        self.ending = False
        self._awake = threading.Event()
        self._thread: Optional[threading.Thread] = None

    @property
    def runs(self) -> bool:
        """Whether it takes turns."""
        return self._thread is not None and not self.ending and not self.death

    def start(self) -> None:
        """Begin; raise `StillRunning` where the thread from before has not ended."""
        if self._thread is not None and self._thread.is_alive():
            raise StillRunning(f'{self.name} has not ended since it was told to')
        self.ending, self.death = False, ''
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self, patience: float) -> bool:
        """End after the present turn; tell whether it did so within a time [s]."""
        self.ending = True
        self._awake.set()
        if self._thread is not None:
            self._thread.join(patience)
        return self._thread is None or not self._thread.is_alive()

    def wake(self) -> None:
        """End the wait of the present turn, or the next one; from any thread."""
        self._awake.set()

    def wait(self, seconds: Optional[float]) -> None:
        """Wait for so long, for ever if None, or until `wake`; for the turn."""
        self._awake.wait(seconds if seconds is None else min(seconds, threading.TIMEOUT_MAX))
        self._awake.clear()

    def _run(self) -> None:
        try:
            while not self.ending:
                try:
                    self._turn()
                except Exception as error:  # one turn is not worth the node
                    if not self.ending:
                        self._fail(describe(error))
        except BaseException as error:  # the node looks at it, see `check`
            self.death = f'{self.name} died: {describe(error)}'

    def _fail(self, reason: str) -> None:
        self.failures, self.failure = self.failures + 1, reason
        self._report(f'{self.name} failed, and is tried again: {reason}')
        time.sleep(REST)

    def check(self) -> None:
        """Raise `ThreadDied` if the thread ended without being told to."""
        if self.death:
            raise ThreadDied(self.death)


def carry_out(work: Callable[[], Any], future: Future) -> None:
    """Do something for whoever holds the future; an error is theirs, unless it ends the thread."""
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
        if not isinstance(error, Exception):
            raise
    else:
        future.set_result(result)


def describe(error: BaseException) -> str:
    """Return what an error says, in one line, with its kind where it is not one of ours."""
    text = ' '.join(str(error).split())
    return text if isinstance(error, CosseratError) else f'{type(error).__name__}: {text}'
