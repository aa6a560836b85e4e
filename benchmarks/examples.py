"""
All robots of config/ on one core, driven by random commands for a minute at 60 Hz.

    environment/enter python benchmarks/examples.py [seconds] [names]

Every second each actuator gets a new command, anywhere within its limits, and is led there
smoothly; in a second run it jumps. So does the force on the tip of a robot without actuators. A
base that is driven goes and turns to and fro. What is too fast to be seen goes in slow motion, at
the time scale of its demonstration. Printed for both runs: simulated over processor time, at that
scale; the slowest of all sixtieths of a second and how many took longer than they last; how many
steps had to be divided, and how many failed.
"""

from __future__ import annotations

from collections.abc import Callable
import gc
from pathlib import Path
import sys
import time
from typing import NamedTuple

import numpy as np

from cosserat_ros.assembly.state import follow_twist
from cosserat_ros.description.robot import load, Robot
from cosserat_ros.simulation.demonstration import between, time_scale
from cosserat_ros.simulation.simulator import Simulator

CONFIG = Path(__file__).parent.parent / 'config'
EVERY = 1.0        # [s] a new command, of a minute that may be in slow motion
RATE = 60.0        # [Hz] of a node
AXES = 'x', 'y', 'z'
SWAYED = 0.1       # of its rod, that a random force moves the tip of a cantilever
SPEED, SPIN = 0.3, 1.0  # [m/s, rad/s] of a driven base at most


class Run(NamedTuple):
    """A robot that was driven at random."""

    spent: np.ndarray   # (T,) processor time of each sixtieth of a second [s]
    divided: int        # how many steps were
    failed: list[str]   # when and why


def random_commands(
    robot: Robot, rest: dict[str, float], seed: int, jumps: bool,
) -> Callable[[float], dict[str, float]]:
    """
    Return random commands within limits by the time [s], which must not go back.

    Of a robot without actuators those are the components of a force, see `force_at_tip`.
    """
    rng = np.random.default_rng(seed)
    bounds = {name: actuator.bounds for name, actuator in robot.actuators.items()}
    if not bounds:
        most = force_at_tip(robot)
        bounds, rest = dict.fromkeys(AXES, (-most, most)), dict.fromkeys(AXES, 0.0)

    def anywhere() -> dict[str, float]:
        return {name: rng.uniform(*ends) if np.isfinite(ends).all() else rest[name]
                for name, ends in bounds.items()}

    known = [rest, anywhere()]

    def commands(t: float) -> dict[str, float]:
        while len(known) < 2 + t // EVERY:
            known.append(anywhere())
        x = 1.0 if jumps else t / EVERY % 1.0
        x *= x * (3.0 - 2.0 * x)
        start, goal = known[int(t // EVERY):][:2]
        return {name: between(start[name], goal[name], x) for name in start}
    return commands


def force_at_tip(robot: Robot) -> float:
    """Return the force that bends the rod of the tip, were it clamped, by `SWAYED` of it [N]."""
    rod = robot.rod(robot.tip.rod if robot.platform is None else next(iter(robot.rods)))
    return 3.0 * SWAYED * min(rod.stiffness(0.0)[3:5]) / rod.length ** 2


def drive(robot: Robot, seconds: float, seed: int = 0, jumps: bool = False) -> Run:
    """Drive a robot at random, from rest on, in its own time steps, at its time scale."""
    sim = Simulator(robot)
    assert sim.statics().converged
    commands = random_commands(
        robot, {name: sim.rest_command(name) for name in robot.actuators}, seed, jumps)
    if robot.base.motion == 'driven':
        sim.drive_base(follow_twist(base_twist))
    gc.collect()
    gc.freeze()  # as nodes do: what is loaded is not looked at again and again
    dt, spent, divided, failed = robot.time.step, np.zeros(round(RATE * seconds)), 0, []
    scale = time_scale(robot)
    for i in range(round(scale * seconds / dt)):
        now = i * dt / scale
        if robot.actuators:
            sim.command(**commands(now))
        else:
            sim.set_wrench([*commands(now).values(), 0.0, 0.0, 0.0], robot.tip.rod)
        begin = time.process_time()
        solution = sim.step()
        spent[min(int(now * RATE), len(spent) - 1)] += time.process_time() - begin
        divided += solution.parts > 1
        if not solution.converged:
            failed.append(f'{sim.time:.3f} s: {solution.message}')
    return Run(spent, divided, failed)


def base_twist(t: float) -> tuple[np.ndarray, ...]:
    """Return velocities and accelerations of a base that goes about and sways."""
    x, y = 1.0, 2.3  # [rad/s]
    return (SPIN * np.array([0.0, 0.0, np.sin(x * t)]),
            SPEED * np.array([np.sin(x * t), np.sin(y * t), 0.0]),
            SPIN * np.array([0.0, 0.0, x * np.cos(x * t)]),
            SPEED * np.array([x * np.cos(x * t), y * np.cos(y * t), 0.0]))


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    names = sys.argv[2:] or sorted(path.stem for path in CONFIG.glob('*.yaml'))
    print(f'{"robot":30} {"scale":>6} {"commands":>9} {"x real time":>12} {"slowest ms":>11} '
          f'{"late":>5} {"divided":>8} {"failed":>7}')
    for name in names:
        robot = load(CONFIG / f'{name}.yaml')
        drive(robot, 1.0)
        for jumps in (False, True):
            run = drive(robot, seconds, jumps=jumps)
            print(f'{name:30} {time_scale(robot):6.2f} {"jump" if jumps else "smooth":>9} '
                  f'{len(run.spent) / RATE / run.spent.sum():12.0f} {1e3 * run.spent.max():11.2f} '
                  f'{(run.spent > 1.0 / RATE).sum():5d} {run.divided:8d} {len(run.failed):7d}',
                  flush=True)


if __name__ == '__main__':
    main()
