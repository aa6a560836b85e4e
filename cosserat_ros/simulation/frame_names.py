"""
The names of a robot's frames, and where those are that do not move on what carries them.

The frames of TF and the links of a URDF::

    base_link -> <rod>_00 ... <rod>_NN -> tip
              -> platform -> tip, where there is a platform
              -> <body> -> <body>_<frame> of bodies by themselves
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..assembly.rods import PLATFORM
from ..checks.errors import InvalidModel
from ..description.joints import BASE
from ..description.robot import Robot


class FixedFrame(NamedTuple):
    """A frame that does not move on another."""

    carrier: str
    pose: np.ndarray  # (4, 4), seen from the carrier [m]


class FrameNames:
    """
    Names of a robot's frames.

    Parameters
    ----------
    robot : Robot
    stations : int
        Frames per rod.
    prefix : str
        Put before each name.

    Attributes
    ----------
    base_link, tip : str
    of_rod : dict of str to list of str
        The frames of the stations of each rod.
    bodies : dict of str to str
        The frame of the platform, if there is one, and of each body by itself.
    fixed : dict of str to FixedFrame
        The tip, and frames on bodies.

    """

    def __init__(self, robot: Robot, stations: int, prefix: str = '') -> None:
        width = max(2, len(str(stations - 1)))
        self.base_link, self.tip = f'{prefix}{BASE}', f'{prefix}tip'
        self.of_rod = {
            rod: [f'{prefix}{rod}_{i:0{width}d}' for i in range(stations)] for rod in robot.rods}
        platform = [] if robot.platform is None else [PLATFORM]
        self.bodies = {name: f'{prefix}{name}' for name in (*platform, *robot.standing)}
        tip = robot.tip
        if tip.on is not None:
            carrier = self.base_link if tip.on == BASE else self.bodies[tip.on]
        elif platform:
            carrier = self.bodies[PLATFORM]
        else:
            carrier = self.of_rod[robot.rod_name(tip.rod)][-1]
        frames = [(self.tip, FixedFrame(
            carrier, robot.on_body(tip.on or '', tip.frame, tip.offset)))]
        frames += [(f'{prefix}{name}_{frame}', FixedFrame(self.bodies[name], pose.matrix()))
                   for name, body in robot.standing.items() for frame, pose in body.frames.items()]
        self.fixed = dict(frames)
        own = [self.base_link, *self.moving, *(name for name, _ in frames)]
        if len(set(own)) < len(own):
            twice = sorted(frame for frame in set(own) if own.count(frame) > 1)
            raise InvalidModel('frames', twice, 'of another name each')

    @property
    def moving(self) -> list[str]:
        """Frames that move on base_link: of stations, then of the platform and bodies."""
        return [*(frame for of in self.of_rod.values() for frame in of), *self.bodies.values()]

    @property
    def all(self) -> list[str]:
        """All frames of the robot, base_link first."""
        return [self.base_link, *self.moving, *self.fixed]
