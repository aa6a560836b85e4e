"""
Inverse statics of the example robots: how often it succeeds, how long it takes, how exact it is.

    environment/enter python benchmarks/inverse.py [targets per robot [names of robots]]

Random commands within a part of their limits, forward statics, the tip as the target: its pose
where there are six actuators, else its position; equilibria that are not stable are no targets.
Then inverse statics, and forward statics of what it commands: it succeeds if that is a stable
equilibrium which misses the target by no more than 1e-9 of the robot's length, and rad.

Each solve starts from the answer of the one before, or from an earlier one of the last 64 that is
much nearer. 'random' targets follow one another across
the workspace; 'near' ones are ten steps from rest to each random command, as a tracker would ask.
Times are those of the processor, so that others on the machine count little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import gc
from pathlib import Path
import sys
from time import process_time
from typing import NamedTuple

import numpy as np

from cosserat_ros.analysis.stability import stability
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Limits
from cosserat_ros.description.robot import load, Robot
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.simulation.simulator import Simulator

CONFIG = Path(__file__).parents[1] / 'config'
EXACT = 1e-9  # of the robot's length, and rad


class Case(NamedTuple):
    """A robot, and the commands that are drawn."""

    name: str
    least: float
    most: float
    chambers: str | None = None  # what they are told by the answer, if not as described
    modes: StrainModes | None = None  # instead of those of the description


CASES = [
    Case('tendon_arm', 0.0, 5.0),                                   # N
    Case('helical_arm', 0.0, 5.0),                                  # N
    Case('tendon_experiment', 0.0, 0.03),                           # m
    Case('three_segment_arm', -0.006, 0.006),                       # m
    Case('fluidic_finger', 5e-5, 2.2e-4),                           # mol
    Case('fluidic_finger_three_chambers', 0.0, 150e3),              # Pa
    Case('fluidic_finger_three_chambers', 0.0, 150e3, 'volume'),
    Case('fluidic_finger_three_chambers', 0.0, 150e3, 'amount'),
    Case('planar_parallel', 0.37, 0.45),                            # m
    Case('stewart_gough', 0.47, 0.54, modes=StrainModes(0, 0, 1, 5, 5, 1)),  # m; see robots.py
]


class Figures(NamedTuple):
    """Of all solves of a case."""

    seconds: np.ndarray
    errors: np.ndarray   # over the robot's length, or rad; after forward statics
    met: np.ndarray      # whether the answer says so
    stable: np.ndarray

    @property
    def succeeded(self) -> np.ndarray:
        """Whether a round trip is a round trip."""
        return self.met & self.stable & (self.errors <= EXACT)


def described(case: Case) -> Robot:
    """Return the robot that targets come from."""
    robot = load(CONFIG / f'{case.name}.yaml')
    return robot if case.modes is None else replace(robot, modes=case.modes)


def robot_of(case: Case) -> Robot:
    """Return the robot that answers."""
    robot = described(case)
    if case.chambers is None:
        return robot
    return replace(robot, chambers={
        name: replace(chamber, command=case.chambers, limits=Limits(lower=0.0, upper=1.0))
        for name, chamber in robot.chambers.items()})


def reachable(case: Case, count: int, near: bool) -> Iterator[np.ndarray]:
    """Yield poses of the tip, (4, 4), in stable equilibria under random commands."""
    sim = Simulator(described(case))
    sim.statics()
    rest, random = sim.snapshot(), np.random.default_rng(1)
    names = list(sim.robot.actuators)
    start = np.array([sim.rest_command(name) for name in names])
    while count > 0:
        sim.go_to(rest)
        goal = random.uniform(case.least, case.most, len(names))
        for part in np.arange(1, 11) / 10 if near else [1.0]:
            sim.command(**dict(zip(names, (1.0 - part) * start + part * goal)))
            if sim.statics().converged and stability(sim).stable and count > 0:
                count -= 1
                yield sim.tip_pose()


def run(case: Case, count: int, near: bool = False) -> Figures:
    """Make round trips."""
    inverse, again = InverseStatics(robot_of(case)), Simulator(robot_of(case))
    posed = len(again.robot.actuators) >= 6
    rows = []
    gc.collect()
    gc.freeze()  # as nodes do
    for g in reachable(case, count, near):
        start = process_time()
        result = inverse.solve([Target(g[:3, 3], g[:3, :3] if posed else None)])
        seconds = process_time() - start
        inverse.apply(result, again)
        found = again.tip_pose()
        error = np.linalg.norm(found[:3, 3] - g[:3, 3]) / inverse.length
        if posed:
            error = max(error, np.abs(found[:3, :3] - g[:3, :3]).max())
        rows.append((seconds, error, result.met, stability(again).stable))
    return Figures(*map(np.array, zip(*rows)))


def main(count: int | str = 1000, *names: str) -> None:
    """Print the table."""
    print(f'{"robot":44} {"targets":>7} {"success":>8} {"median ms":>10} {"95 % ms":>8} '
          f'{"worst ms":>9} {"median error":>13} {"worst of met":>13}')
    for case in CASES:
        if names and case.name not in names:
            continue
        run(case, 3)
        for near in (False, True):
            f = run(case, int(count), near)
            ms = 1e3 * np.array([
                np.median(f.seconds), np.quantile(f.seconds, 0.95), f.seconds.max()])
            title = ', '.join([case.name, *([case.chambers] if case.chambers else []),
                               'near' if near else 'random'])
            print(f'{title:44} {f.met.size:7} {f.succeeded.mean():8.1%} {ms[0]:10.2f} '
                  f'{ms[1]:8.2f} {ms[2]:9.1f} {np.median(f.errors):13.1e} '
                  f'{f.errors[f.met].max(initial=0.0):13.1e}', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
