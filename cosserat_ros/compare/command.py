"""What the commands of this package have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import sys

from ..errors import CosseratError


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Let a command line say who works, see `scale_out.workers`."""
    parser.add_argument('--processes', type=int, help='how many work at once; all cores if not '
                        'given')
    parser.add_argument('--cluster', help='address of a Dask scheduler, instead of processes')


def exit_code(name: str, action: Callable[[], int]) -> int:
    """Return what an action returns; 1 if it cannot go on, with the reason on stderr."""
    try:
        return action()
    except CosseratError as error:
        print(f'{name}: {error}', file=sys.stderr)
    except OSError as error:
        print(f'{name}: {error.filename or "output"}: {error.strerror}', file=sys.stderr)
    return 1
