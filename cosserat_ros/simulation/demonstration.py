"""
Commands and loads that show what a robot can do: the moves of its file, or its actuators in turn.

Where the file has none, actuators work around the robot: a tendon or chamber when the direction of
its offset comes, a leg when that of its base does, so that the tip goes round; how far it goes
swells and ebbs. Driven joints sway. What has no limits on both sides stays at rest: how much it
bears is not known. A driven base goes along an eight. Gaits run as described, in slow motion where
they are too fast to be seen; waves turn to and fro.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
import math
from typing import Optional, TypeVar

import numpy as np

from ..description.gaits import GaitDrive
from ..description.parts import Leg
from ..description.robot import Robot
from ..numerics.lie import exp_so3
from .simulator import Load

PERIOD = 6.0    # [s] of a round
SWELL = 15.0    # [s] from one wide round to the next
BEGIN = 3.0     # [s] in which it sets in
BASE_PERIOD = 7.0  # [s] of an eight of the base
SWAY = 0.4      # [rad] that it turns to either side
ONE_SIDED = 0.4  # of the range of what can only pull or press
TWO_SIDED = 0.2  # of the way to the nearer limit of what goes both ways
SLOWEST_SEEN = 1.0  # [s] that a gait takes at least
BOTH_WAYS = 0.1  # part of the range on the shorter side, from which it does
SHOWN_LOAD = 'demonstration:'  # begins the names of loads of a demonstration
T = TypeVar('T')


def swinging(robot: Robot) -> list[str]:
    """
    Return the names of the actuators that can be demonstrated: those with a finite range.

    Of gaits that is by what they turn, if anything.
    """
    return [name for name, actuator in robot.actuators.items()
            if 0.0 < actuator.bounds[1] - actuator.bounds[0] < math.inf
            and not (isinstance(actuator, GaitDrive) and actuator.parameter != 'turn')]


def time_scale(robot: Robot) -> float:
    """Return the simulated seconds per second at which its gaits can be seen."""
    fastest = max((abs(gait.frequency.start) for gait in robot.gaits.values()), default=0.0)
    return 1.0 / max(fastest * SLOWEST_SEEN, 1.0)


def moves(robot: Robot) -> bool:
    """Tell whether a robot can be demonstrated."""
    return robot.base.motion == 'driven' or bool(
        robot.demonstration or robot.gaits or swinging(robot))


def base_path(robot: Robot) -> Callable[[float], np.ndarray]:
    """
    Return the way of a driven base: its pose (4, 4) in the parent frame, by the time [s].

    An eight about where it begins, as wide as the robot is long, in the plane of x and y of the
    parent frame; the base sways about z.
    """
    home = robot.base.matrix()
    size = 0.5 * max(rod.length for rod in robot.rods.values())

    def pose(time: float) -> np.ndarray:
        wide = _smooth(time / BEGIN)
        turn = 2.0 * math.pi * time / BASE_PERIOD
        g = np.eye(4)
        g[:3, :3] = exp_so3(np.array([0.0, 0.0, wide * SWAY * math.sin(turn)])) @ home[:3, :3]
        g[:3, 3] = home[:3, 3] + wide * size * np.array(
            [math.sin(turn), math.sin(2.0 * turn) / 2.0, 0.0])
        return g
    return pose


def demonstration(
    robot: Robot, rest: Mapping[str, float],
) -> Optional[Callable[[float], dict[str, float]]]:
    """
    Return the commands as a function of time [s]; `rest` has those at rest.

    None where nothing can be demonstrated: no actuator, and no base, see `base_path`.
    """
    if robot.demonstration:
        return _moves(robot, rest)
    swings = {name: (*_range(*robot.actuators[name].bounds, rest[name]), _angle(robot, name))
              for name in swinging(robot)}
    if not moves(robot):
        return None

    def commands(time: float) -> dict[str, float]:
        wide = min(time / BEGIN, 1.0) * (0.7 + 0.3 * math.sin(2.0 * math.pi * time / SWELL))
        turn = 2.0 * math.pi * time / PERIOD
        told = {}
        for name, (size, one_sided, angle) in swings.items():
            wave = math.cos(turn - angle)
            told[name] = rest[name] + wide * size * (0.5 + 0.5 * wave if one_sided else wave)
        return told
    return commands


def demonstrated_loads(robot: Robot) -> Optional[Callable[[float], dict[str, Load]]]:
    """
    Return the loads of a robot's own moves as a function of time [s], named `SHOWN_LOAD` and more.

    None where they have none.
    """
    at = {name: load.place for move in robot.demonstration for name, load in move.loads.items()}
    if not at:
        return None
    R = robot.base.matrix()[:3, :3]
    goals = [{name: np.zeros(6) for name in at}]
    for move in robot.demonstration:
        goals.append({**goals[-1], **{
            name: np.concatenate([R.T @ load.force, R.T @ load.moment])
            for name, load in move.loads.items()}})

    def loads(time: float) -> dict[str, Load]:
        start, goal, part = _under_way(robot, goals, time)
        wrenches = {name: start[name] + part * (goal[name] - start[name]) for name in at}
        return {SHOWN_LOAD + name: Load(wrench, *at[name])
                for name, wrench in wrenches.items() if wrench.any()}
    return loads


def _moves(robot: Robot, rest: Mapping[str, float]) -> Callable[[float], dict[str, float]]:
    """Return the commands of a robot's own moves, again and again, as a function of time [s]."""
    goals = [dict(rest)]
    for move in robot.demonstration:
        goals.append({**goals[-1], **move.commands})

    def commands(time: float) -> dict[str, float]:
        start, goal, part = _under_way(robot, goals, time)
        return {name: between(value, goal[name], part) for name, value in start.items()}
    return commands


def _under_way(robot: Robot, goals: Sequence[T], time: float) -> tuple[T, T, float]:
    """Return what the move of a time [s] leads from and to, and how much of the way is gone."""
    ends = list(accumulate(move.takes for move in robot.demonstration))
    rounds, time = divmod(max(time, 0.0), ends[-1])
    i = next((i for i, end in enumerate(ends) if time < end), len(ends) - 1)
    part = _smooth(1.0 - (ends[i] - time) / robot.demonstration[i].takes)
    return goals[i] if i or not rounds else goals[-1], goals[i + 1], part


def between(start: float, goal: float, part: float) -> float:
    """Return what is a part of the way from one command to another, not beyond by rounding."""
    return min(max(start + part * (goal - start), min(start, goal)), max(start, goal))


def _smooth(part: float) -> float:
    """Return a way from 0 to 1 without jolts at its ends."""
    part = min(max(part, 0.0), 1.0)
    return part * part * (3.0 - 2.0 * part)


def _range(lower: float, upper: float, rest: float) -> tuple[float, bool]:
    """Return how far a command goes from rest, and whether to one side only."""
    down, up = rest - lower, upper - rest
    if min(down, up) >= BOTH_WAYS * (upper - lower):
        return TWO_SIDED * min(down, up), False
    return (ONE_SIDED * up if up > down else -ONE_SIDED * down), True


def _angle(robot: Robot, name: str) -> float:
    """Return the direction of an actuator about z, from its base [rad]."""
    actuator = robot.actuators[name]
    if isinstance(actuator, Leg):
        x, y = robot.rod(actuator.rod).base.position[:2]
    elif name in robot.gait_drives:
        return 0.5 * math.pi  # from the middle on
    elif name in robot.drives:
        return 2.0 * math.pi * list(robot.drives).index(name) / len(robot.drives)
    else:
        path = robot.path(name)
        x, y = path.at(np.array([path.start]))[0, :2]
    return math.atan2(y, x)
