"""
Robots and fine rods beside an earlier commit, on the same machine in the same hour.

    environment/enter python benchmarks/before.py [--commit b6d5507] [--seconds 60] [names]

The commit is checked out into a temporary folder, with compiled kernels of its own: by default
the last one of the engine of equal rods, whose tangent was dense over a rod. Robots are driven as
in `robots`, each tree with its own description; rods are let go as in `growth`. Both trees run in
turns, each in a process of its own that has warmed up, and the fastest of `RUNS` runs counts.
Printed: simulated over processor time of robots, milliseconds per step of rods, before and now,
and how many times faster it is now.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
COMMIT = 'b6d5507'
ROBOTS = 'tendon_arm', 'fluidic_finger', 'stewart_gough', 'three_segment_arm'
ELEMENTS = 1, 4, 16  # of a rod, with 12 unknowns each
RUNS = 3


# --- In a tree -----------------------------------------------------------------------------------

def real_time(name: str, seconds: float) -> float:
    """Return how many times faster than real time a robot of this tree runs."""
    from robots import CASES, CONFIG, drive

    from cosserat_ros.description.robot import load
    from cosserat_ros.simulation.simulator import Simulator

    def spent(duration: float) -> float:
        dt, modes = CASES[name]
        sim = Simulator(load(CONFIG / f'{name}.yaml'), modes)
        phases = np.random.default_rng(1).uniform(
            0.0, 2.0 * np.pi, (len(sim.robot.actuators), 2))
        drive(sim, 0.0, phases)
        assert sim.statics().converged
        total = 0.0
        for i in range(1, round(duration / dt) + 1):
            drive(sim, i * dt, phases)
            begin = time.process_time()
            solution = sim.step(dt)
            total += time.process_time() - begin
            assert solution.converged, solution.message
        return total

    spent(1.0)
    return seconds / spent(seconds)


def step_of_a_rod(elements: int) -> float:
    """Return the time of a step of a rod that is let go [ms]."""
    from dataclasses import replace

    from releases import both, engine, HARD

    release, modes = HARD._replace(steps=100), replace(both(1, 3), elements=elements)
    engine(release._replace(steps=5), modes)
    return 1e3 * engine(release, modes).seconds * release.dt


# --- Of both trees -------------------------------------------------------------------------------

def measured(tree: Path, kernels: str | None, *case: str) -> float:
    """
    Return what one case takes in a tree, by a process of its own.

    The present one is that which is installed: its kernels are compiled already, and their cache
    goes by the paths of files.
    """
    paths = [str(tree / 'benchmarks'), os.environ.get('PYTHONPATH', '')]
    environment = dict(os.environ)
    if kernels:
        paths.insert(0, str(tree))
        environment['NUMBA_CACHE_DIR'] = kernels
    environment['PYTHONPATH'] = os.pathsep.join(paths)
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), '--case', *case], cwd=tree,
        env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(ran.stdout.splitlines()[-1]))


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / 'tree'
        subprocess.run(['git', 'worktree', 'add', '--quiet', '--detach', str(tree), commit],
                       cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(['git', 'worktree', 'remove', '--force', str(tree)], cwd=ROOT,
                           check=True)


def in_turns(tree: Path, *case: str) -> tuple[list[float], list[float]]:
    """Return what all runs of a case take, before and now."""
    before, now = [], []
    for _ in range(RUNS):
        before.append(measured(tree, str(tree.parent / 'kernels'), *case))
        now.append(measured(ROOT, None, *case))
    return before, now


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument('names', nargs='*', default=[*ROBOTS, *map(str, ELEMENTS)])
    parser.add_argument('--commit', default=COMMIT)
    parser.add_argument('--seconds', default='60')
    parser.add_argument('--case', action='store_true', help='for itself')
    told = parser.parse_args()
    if told.case:
        sys.path.pop(0)  # of this file, whose neighbours may be those of another tree
        name, seconds = told.names
        value = real_time(name, float(seconds)) if name in ROBOTS else step_of_a_rod(int(name))
        print(json.dumps(value))
        return
    with checked_out(told.commit) as tree:
        robots = [name for name in told.names if name in ROBOTS]
        print(f'{"x real time":20} {told.commit:>10} {"now":>10} {"ratio":>7}')
        for name in robots:
            before, now = map(max, in_turns(tree, name, told.seconds))
            print(f'{name:20} {before:10.0f} {now:10.0f} {now / before:7.2f}', flush=True)
        print(f'\n{"ms per step":20} {told.commit:>10} {"now":>10} {"ratio":>7}')
        for elements in [name for name in told.names if name not in ROBOTS]:
            before, now = map(min, in_turns(tree, elements, '0'))
            label = f'rod, {elements} elements'
            print(f'{label:20} {before:10.3f} {now:10.3f} {before / now:7.2f}', flush=True)


if __name__ == '__main__':
    main()
