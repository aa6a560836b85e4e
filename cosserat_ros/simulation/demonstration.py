"""
Commands that show what a robot can do: each actuator in turn, around the robot.

A tendon or chamber works when the direction of its offset comes, a leg when that of its base does,
so that the tip goes round; how far it goes swells and ebbs. Driven joints sway. What has no limits
on both sides stays at rest: how much it bears is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import Optional

import numpy as np

from ..description.parts import Leg
from ..description.robot import Robot

PERIOD = 6.0    # [s] of a round
SWELL = 15.0    # [s] from one wide round to the next
BEGIN = 3.0     # [s] in which it sets in
ONE_SIDED = 0.4  # of the range of what can only pull or press
TWO_SIDED = 0.2  # of the way to the nearer limit of what goes both ways
BOTH_WAYS = 0.1  # part of the range on the shorter side, from which it does


def swinging(robot: Robot) -> list[str]:
    """Return the names of the actuators that can be demonstrated: those with a finite range."""
    return [name for name, actuator in robot.actuators.items()
            if 0.0 < actuator.bounds[1] - actuator.bounds[0] < math.inf]


def demonstration(
    robot: Robot, rest: Mapping[str, float],
) -> Optional[Callable[[float], dict[str, float]]]:
    """
    Return the commands as a function of time [s]; `rest` has those at rest.

    None where no actuator can be demonstrated.
    """
    swings = {name: (*_range(*robot.actuators[name].bounds, rest[name]), _angle(robot, name))
              for name in swinging(robot)}
    if not swings:
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
    elif name in robot.drives:
        return 2.0 * math.pi * list(robot.drives).index(name) / len(robot.drives)
    else:
        path = robot.path(name)
        x, y = path.at(np.array([path.start]))[0, :2]
    return math.atan2(y, x)
