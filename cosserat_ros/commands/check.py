"""The command `check`: read robot files, and say what is wrong with them; nothing if valid."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys

from ..checks.errors import CosseratError
from ..description.robot import load
from .command import exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog='cosserat check', description=__doc__)
    parser.add_argument('robot', type=Path, nargs='+', help='YAML file of a robot')
    given = parser.parse_args(arguments)
    return exit_code('cosserat check', lambda: check(given.robot))


def check(paths: Sequence[Path]) -> int:
    """Print what is wrong with each file; return 1 if one is invalid."""
    wrong = 0
    for path in paths:
        try:
            load(path)
        except CosseratError as error:
            print(error, file=sys.stderr)
            wrong = 1
    return wrong
