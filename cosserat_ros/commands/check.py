"""
Check robot files: print what is invalid in them, nothing if valid.

Values that are allowed but look like a mistake, such as those in a wrong unit, give a warning.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys

from ..checks.errors import CosseratError, InvalidModel
from ..description.documents import line_of, load
from ..description.robot import Robot
from ..description.slips import slips
from ..laws.shapes import check_shape
from .command import exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog='cosserat check', description=__doc__)
    parser.add_argument('robot', type=Path, nargs='+', help='YAML file of a robot')
    given = parser.parse_args(arguments)
    return exit_code('cosserat check', lambda: check(given.robot))


def check(paths: Sequence[Path]) -> int:
    """Print what is wrong with each file, or unlikely; return 1 if one is invalid."""
    wrong = 0
    for path in paths:
        try:
            robot = load(path, Robot, check_obstacles)
        except CosseratError as error:
            print(error, file=sys.stderr)
            wrong = 1
            continue
        for slip in slips(robot):
            print(f'{path}:{line_of(path, slip.field)}: warning: {slip}', file=sys.stderr)
    return wrong


def check_obstacles(robot: Robot) -> None:
    """Raise unless meshes can be read, and tubes are smooth."""
    for name, obstacle in robot.obstacles.items():
        try:
            check_shape(obstacle.geometry)
        except InvalidModel as error:
            raise error.within(f'obstacles.{name}.geometry') from None
