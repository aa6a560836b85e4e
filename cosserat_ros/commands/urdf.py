"""Print a robot as URDF, at rest, with a link for each of its TF frames."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
from typing import Optional

from ..checks.errors import InvalidModel
from ..description.robot import load
from ..simulation.ros2_control import controlled_urdf, controllers
from ..simulation.simulator import Simulator
from ..simulation.urdf import urdf
from .command import exit_code

MOST_STATIONS = 999


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog='cosserat urdf', description=__doc__)
    parser.add_argument('robot', type=Path, help='YAML file of a robot')
    parser.add_argument('--stations', type=int, default=21,
                        help='links per rod, as the parameter of the simulator node [21]')
    control = parser.add_mutually_exclusive_group()
    control.add_argument('--ros2-control', metavar='NAMESPACE',
                         help='add <ros2_control>: the simulator in this namespace is hardware')
    control.add_argument('--controllers', action='store_true',
                         help='print parameters of controllers for ros2_control instead')
    given = parser.parse_args(arguments)
    if given.controllers:
        return exit_code('cosserat urdf', lambda: show_controllers(given.robot))
    return exit_code(
        'cosserat urdf', lambda: show(given.robot, given.stations, given.ros2_control))


def show(path: Path, stations: int, namespace: Optional[str]) -> int:
    """Print the URDF of a robot in the equilibrium of its rest commands; return 0."""
    if not 2 <= stations <= MOST_STATIONS:
        raise InvalidModel('--stations', stations, f'from 2 to {MOST_STATIONS}')
    robot = load(path)
    sim = Simulator(robot, stations=stations)
    solution = sim.statics()
    if not solution.converged:
        raise InvalidModel(
            'robot', robot.name, f'one that has an equilibrium at rest ({solution.message})')
    sys.stdout.write(urdf(sim) if namespace is None else controlled_urdf(sim, namespace))
    return 0


def show_controllers(path: Path) -> int:
    """Print the parameters of a controller manager for a robot; return 0."""
    sys.stdout.write(controllers(load(path)))
    return 0
