"""Compare a simulated robot with recordings of the real one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys

import numpy as np

from ..calibration.delay import Lag, lag, velocities
from ..calibration.intervals import Rows
from ..calibration.parameters import Fitted
from ..calibration.prediction import follow, Prediction
from ..checks.errors import CosseratError
from ..comparison.maps import load_map
from ..comparison.recordings import read, Recording
from ..description.robot import load
from .command import exit_code
from .progress import Progress
from .report import ALIGNMENTS, Compared, line_up, prepare, table, write


class Unsolved(CosseratError):
    """Recordings that nothing can be said of: the solver converged at none of their samples."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog='cosserat compare', description=__doc__)
    parser.add_argument('robot', type=Path, help="the robot's YAML file")
    parser.add_argument('map', type=Path, help="the recordings' map, a YAML file")
    parser.add_argument('recordings', type=Path, nargs='+', help='tables or bags')
    parser.add_argument('--align', choices=ALIGNMENTS, default='none',
                        help='how the real robot is moved to the simulated one, for each '
                        'recording (default: %(default)s)')
    parser.add_argument('--output', type=Path, help='folder for report.html and its pictures; '
                        'without it, only the table is printed')
    given = parser.parse_args(arguments)
    return exit_code('compare', lambda: compare(given))


def compare(given: argparse.Namespace) -> int:
    """Print the table and write the report that a command line asks for."""
    robot, channels = load(given.robot), load_map(given.map)
    if given.output is not None:
        prepare(given.output)
    compared = [
        line_up(recording, _followed(Fitted(robot, channels), recording), given.align)
        for recording in (read(path, channels, robot) for path in given.recordings)]
    length = max(rod.length for rod in robot.rods.values())
    lines = table(compared, length)
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print('  '.join(f'{cell:<{width}}' for cell, width in zip(line, widths)).rstrip())
    for c in compared:
        if c.recording.dynamic and (late := _lag(c)).clear:
            print(f'{c.recording.name}: {late}')
    if given.output is not None:
        page = write(given.output, f'{robot.name}: simulated and real', compared, length)
        print(f'wrote {page}')
    unsolved = [c.recording.name for c in compared if not c.used.any()]
    if unsolved:
        raise Unsolved(f'no sample could be solved of {", ".join(unsolved)}')
    return 0


def _lag(c: Compared) -> Lag:
    """Return by how much a recording seems to come later than its map says."""
    moving = velocities(c.recording.times, c.simulated)[c.used].ravel()
    left = (c.simulated - c.real)[c.used].ravel()
    rows = Rows(np.repeat(np.nonzero(c.used)[0], 3), np.zeros(1, dtype=int))
    return lag(left, np.zeros((left.size, 0)), moving, rows)


def _followed(fitted: Fitted, recording: Recording) -> Prediction:
    """Return what a model says of a recording, and tell how far it is."""
    with Progress(f'compare {recording.name}') as progress:
        return follow(fitted, recording,
                      progress=lambda done: progress.count(done, len(recording)))


if __name__ == '__main__':
    sys.exit(main())
