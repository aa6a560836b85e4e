"""Work that may take long: in a thread of its own, so that it is told and signals are heeded."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
import signal
import threading
import time
from typing import Any, TypeVar

from ...checks.errors import CosseratError

PATIENCE = 0.1  # [s] at most until a signal is heeded
TOLD = 5.0      # [s] between two words about what takes so long
T = TypeVar('T')


class Stopped(CosseratError):
    """A signal came before the work was done."""


class LongWork:
    """
    Does one thing after the other, while the main thread looks for signals.

    Parameters
    ----------
    say : callable
        Called with what is being done, when it takes long.

    """

    def __init__(self, say: Callable[[str], Any]) -> None:
        self._say = say
        self._thread = threading.Thread()

    def goes_on(self) -> bool:
        """Tell whether work that was stopped is not at its end."""
        return self._thread.is_alive()

    def do(self, what: str, work: Callable[[], T]) -> T:
        """
        Return what the work returns, or raise what it raises, or `Stopped` after a signal.

        Work that is stopped goes on until the process ends: it cannot be broken off.
        """
        future: Future = Future()
        self._thread = threading.Thread(
            target=_fulfil, args=(future, work), name='long work', daemon=True)
        stopped: list[int] = []
        handlers: dict[int, Any] = {
            number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def stop(number: int, frame: Any) -> None:
            stopped.append(number)
            former = handlers[number]
            if callable(former):
                former(number, frame)

        for number in handlers:
            signal.signal(number, stop)
        try:
            return self._result(what, future, stopped)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _result(self, what: str, future: Future, stopped: list[int]) -> Any:
        """Run the thread, and return what it has to give."""
        begun = told = time.monotonic()
        self._thread.start()
        while self._thread.is_alive() and not stopped:
            self._thread.join(PATIENCE)
            now = time.monotonic()
            if now - told > TOLD:
                told = now
                self._say(f'{what}: {now - begun:.0f} s so far')
        if stopped:
            raise Stopped(f'stopped by a signal: {what}')
        return future.result()


def _fulfil(future: Future, work: Callable[[], Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # it is for who waits
        future.set_exception(error)
