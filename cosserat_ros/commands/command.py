"""What the commands of this package have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

from ..checks.errors import CosseratError


class Stopped(BaseException):
    """A signal came that asks to end."""


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Let a command line say who works, see `scale_out.workers`."""
    parser.add_argument('--processes', type=int, help='number of processes; all cores if not '
                        'given')
    parser.add_argument('--cluster', help='address of a Dask scheduler, instead of processes')


def check_writable(path: Path) -> None:
    """Raise `OSError` now if a file could not be written later; nothing of it is changed."""
    there = path.exists()
    with path.open('ab'):
        pass
    if not there:
        path.unlink()


def exit_code(name: str, action: Callable[[], int], kept: str = '') -> int:
    """
    Return what an action returns, and what went wrong otherwise, in one line on stderr.

    Parameters
    ----------
    name : str
        Of the command.
    action : callable
    kept : str
        What a user who stops it should know of what is done.

    Returns
    -------
    int
        That of the action; 1 if it cannot go on; 128 and the number of the signal that stopped it.

    """
    try:
        with _signals():
            return action()
    except CosseratError as error:
        print(f'{name}: {error}', file=sys.stderr)
    except OSError as error:
        print(f'{name}: {error.filename or "output"}: {error.strerror or error}', file=sys.stderr)
    except Stopped as stopped:
        number = signal.Signals(stopped.args[0])
        print(f'{name}: stopped by {number.name}{kept and "; "}{kept}', file=sys.stderr)
        return 128 + number
    return 1


@contextmanager
def _signals() -> Iterator[None]:
    """Turn signals that ask to end into an exception."""
    if threading.current_thread() is not threading.main_thread():  # signals are not for it
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except SystemError as error:  # of kernels that were being loaded as the signal came
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, Stopped):
            raise cause from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
