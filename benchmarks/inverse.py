"""
Inverse statics of the example robots: how often it succeeds, how long it takes, how exact it is.

    environment/enter python benchmarks/inverse.py [targets per robot]

Random commands within a part of their limits, forward statics, the tip's pose as the target, and
forward statics again; equilibria that are not stable are no targets. Each solve starts from the
solution of the one before, half of the workspace away on average; 'near' are targets on ten steps
from rest to each random one, as a tracker would ask.
"""

from __future__ import annotations

from pathlib import Path
import sys
from time import perf_counter
from typing import NamedTuple

import numpy as np

from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.robot import load
from cosserat_ros.sensitivity import unstable_directions
from cosserat_ros.simulator import Simulator

CONFIG = Path(__file__).parents[1] / 'config'


class Case(NamedTuple):
    """A robot, the commands that are drawn, and whether orientation is a target too."""

    robot: str
    least: float
    most: float
    posed: bool


CASES = [
    Case('tendon_arm', 0.0, 5.0, False),                         # N
    Case('fluidic_finger_three_chambers', 0.0, 150e3, False),    # Pa
    Case('stewart_gough', 0.47, 0.54, True),                     # m
    Case('three_segment_arm', -0.006, 0.006, False),             # m
]


def run(case: Case, count: int, near: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return seconds of each solve, errors over the robot's length, and whether it says met."""
    sim = Simulator(load(CONFIG / f'{case.robot}.yaml'))
    inverse = InverseStatics(sim.robot)
    random = np.random.default_rng(1)
    sim.statics()
    rest = sim.saved()
    seconds, errors, met = [], [], []
    old = None
    for i in range(count):
        if old is None or not near or i % 10 == 0:
            old = np.array([sim.rest_command(name) for name in sim.robot.actuators])
            new = random.uniform(case.least, case.most, len(sim.robot.actuators))
        part = (i % 10 + 1) / 10 if near else 1.0
        commands = (1.0 - part) * old + part * new
        if part == 1.0 / 10 or not near:
            sim.restore(rest)
        sim.command(**dict(zip(sim.robot.actuators, commands)))
        if not sim.statics().converged or unstable_directions(sim):
            continue
        g = sim.tip_pose()
        start = perf_counter()
        result = inverse.solve([Target(g[:3, 3], g[:3, :3] if case.posed else None)])
        seconds.append(perf_counter() - start)
        inverse.apply(result)
        found = inverse.sim.tip_pose()
        errors.append(np.linalg.norm(found[:3, 3] - g[:3, 3]) / inverse.length)
        if case.posed:
            errors[-1] = max(errors[-1], np.abs(found[:3, :3] - g[:3, :3]).max())
        met.append(result.met)
    return np.array(seconds), np.array(errors), np.array(met)


def main(count: int = 1000) -> None:
    """Print the table."""
    print(f'{"robot":32} {"targets":>8} {"met":>8} {"median ms":>10} {"95 % ms":>8} '
          f'{"worst ms":>9} {"median error":>13} {"worst of met":>13}')
    for case in CASES:
        run(case, 3, False)
        for near in (False, True):
            seconds, errors, met = run(case, count, near)
            ms = 1e3 * np.array([np.median(seconds), np.quantile(seconds, 0.95), seconds.max()])
            print(f'{case.robot + (", near" if near else ""):32} {len(met):8} {met.mean():8.1%} '
                  f'{ms[0]:10.2f} {ms[1]:8.2f} {ms[2]:9.1f} {np.median(errors):13.1e} '
                  f'{errors[met].max(initial=0.0):13.1e}')


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
