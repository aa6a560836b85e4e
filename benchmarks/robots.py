"""
How fast the robots of config/ run on one core, driven at random for a minute.

    environment/enter python benchmarks/robots.py

Each actuator follows a smooth random command over half of its range. The minute is driven three
times, after a second to warm up, and each step counts by the fastest of its three: what interrupts
the machine is not the simulator's. Printed: simulated over processor time, the median and the
slowest step, how many steps had to be divided, and the error: the largest distance of the tip from
the same motion with more modes, in percent of the robot's length (over the first five seconds).
Last, how many times longer the repository's compiled
shooting takes for a step of the same motion (Till's equations and method, Runge-Kutta with
`ELEMENTS` elements, median over the first second or until it fails), and how far its tip is from
the engine's in that time: much of it is that of the schemes, where they differ.
"""

from __future__ import annotations

import gc
from pathlib import Path
import time
from typing import NamedTuple

import numpy as np

from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load, Robot
from cosserat_ros.papers.described import by_shooting
from cosserat_ros.simulation.simulator import Simulator

CONFIG = Path(__file__).parent.parent / 'config'
FINE = StrainModes(4, 4, 4, 8, 8, 6, substeps=2)
CASES = {  # time step [s], modes
    'tendon_arm': (1.0 / 60.0, StrainModes(0, 0, 1, 4, 4, 4)),
    'fluidic_finger': (0.01, StrainModes(3, 0, 3, 0, 3, 0, nodes=4)),
    'stewart_gough': (1.0 / 120.0, StrainModes(0, 0, 1, 5, 5, 1, nodes=7)),
    'three_segment_arm': (1.0 / 60.0, StrainModes(0, 0, 1, 2, 2, 1, nodes=4)),
}
SECONDS, COMPARED, SHOT = 60.0, 5.0, 1.0
RUNS = 3
ELEMENTS = 40  # of shooting, per rod


def drive(sim: Simulator, t: float, phases: np.ndarray) -> None:
    """Set all commands for time t [s]: sums of two sines, about rest or from nothing to half."""
    for (name, actuator), (a, b) in zip(sim.robot.actuators.items(), phases):
        least, most = actuator.bounds
        wave = 0.6 * np.sin(1.3 * t + a) + 0.4 * np.sin(2.9 * t + b)
        if actuator.command == 'length':
            value = sim.robot.rest_position(name) * (1.0 + 0.05 * wave)
        else:
            least = max(least, 0.0)
            value = least + 0.25 * (most - least) * (1.0 + wave)
        sim.command(**{name: float(np.clip(value, least, most))})


class Run(NamedTuple):
    """A robot that was driven."""

    path: np.ndarray   # (T, 3) of its tip [m]
    spent: np.ndarray  # (T,) time of each step [s]
    divided: int       # how many were
    gap: float         # the largest of all steps


def run(robot: Robot, modes: StrainModes, dt: float, seconds: float) -> Run:
    """Drive a robot at random, in steps of dt [s]."""
    sim = Simulator(robot, modes)
    phases = np.random.default_rng(1).uniform(0.0, 2.0 * np.pi, (len(sim.robot.actuators), 2))
    drive(sim, 0.0, phases)
    assert sim.statics().converged
    gc.collect()
    gc.freeze()  # as nodes do: what is loaded is not looked at again and again
    path, spent, divided, gap = [], [], 0, 0.0
    for i in range(1, round(seconds / dt) + 1):
        drive(sim, i * dt, phases)
        begin = time.process_time()
        solution = sim.step(dt)
        spent.append(time.process_time() - begin)
        assert solution.converged, solution.message
        divided, gap = divided + (solution.parts > 1), max(gap, solution.gap)
        path.append(sim.tip_pose()[:3, 3])
    return Run(np.array(path), np.array(spent), divided, gap)


def shoot(name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the tip's path by the engine and by shooting, and the latter's median step [s]."""
    dt = CASES[name][0]
    sim = Simulator(load(CONFIG / f'{name}.yaml'), FINE)
    phases = np.random.default_rng(1).uniform(0.0, 2.0 * np.pi, (len(sim.robot.actuators), 2))
    oracle = by_shooting(sim.robot, dt, ELEMENTS)
    rest = told(sim)
    drive(sim, 0.0, phases)
    assert sim.statics().converged
    for part in np.linspace(0.0, 1.0, 21):  # shooting finds only what is near
        assert oracle.statics((1.0 - part) * rest + part * told(sim)).converged
    paths, spent = [], []
    for i in range(1, round(SHOT / dt) + 1):
        drive(sim, i * dt, phases)
        assert sim.step(dt).converged
        commands, begin = told(sim), time.process_time()
        if not oracle.step(commands).converged:
            break
        spent.append(time.process_time() - begin)
        end = sim.tip_pose() @ np.linalg.inv(sim.robot.tip.offset.matrix())
        paths.append((end[:3, 3], oracle.tip))
    return *np.swapaxes(paths, 0, 1), float(np.median(spent))


def told(sim: Simulator) -> np.ndarray:
    """Return commands for shooting, which knows no slack: tensions where tendons are pulled."""
    states = sim.actuators()
    return np.array([
        states[name].effort if actuator.command == 'displacement' else states[name].command
        for name, actuator in sim.robot.actuators.items()])


def main() -> None:
    """Print the table."""
    print(f'{"robot":20} {"step ms":>8} {"x real time":>12} {"median us":>10} {"slowest us":>11} '
          f'{"divided":>8} {"error %":>8} {"x shooting":>11} {"apart %":>8}')
    for name, (dt, modes) in CASES.items():
        robot = load(CONFIG / f'{name}.yaml')
        run(robot, modes, dt, 1.0)
        runs = [run(robot, modes, dt, SECONDS) for _ in range(RUNS)]
        path, _, divided, _ = runs[0]
        spent = np.min([each.spent for each in runs], axis=0)
        fine = run(robot, FINE, dt, COMPARED).path
        length = max(rod.length for rod in robot.rods.values())
        error = np.linalg.norm(path[:len(fine)] - fine, axis=1).max() / length
        print(f'{name:20} {1e3 * dt:8.2f} {dt * len(spent) / spent.sum():12.0f} '
              f'{1e6 * np.median(spent):10.0f} {1e6 * spent.max():11.0f} {divided:8d} '
              f'{100.0 * error:8.3f}', end='', flush=True)
        ours, shot, each = shoot(name)
        apart = np.linalg.norm(ours - shot, axis=1).max() / length
        print(f'{each / np.median(spent):12.0f} {100.0 * apart:8.3f}')


if __name__ == '__main__':
    main()
