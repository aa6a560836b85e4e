"""
The TF frames of a robot.

::

    parent -> <prefix>base_link -> <prefix><rod>_00 ... <prefix><rod>_NN -> <prefix>tip
                                -> <prefix>platform -> <prefix>tip, where there is a platform
                                -> <prefix><body> -> <prefix><body>_<frame> of bodies by themselves

Every station hangs on base_link directly, so that a lookup composes two transforms however fine
the rod is sampled. What cannot move is on /tf_static: base_link in its parent (if its base is
fixed, or in the frame of others that drives it), frames on bodies, and the tip at the end of its
rod, on a body or on the platform.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
import numpy as np
from tf2_msgs.msg import TFMessage

from ...checks.errors import InvalidModel, UnknownName
from ...description.joints import BASE
from ...description.robot import Robot
from ...simulation.frame_names import FixedFrame, FrameNames
from ...simulation.model import HERE
from ...simulation.simulator import movable_bodies
from ..common.conversions import fill_transforms, pose_numbers
from .wire import Wire


class Place(NamedTuple):
    """What a frame is fixed to: a body, or a rod at an arc length."""

    rod: str | None = None
    at: float | None = None    # [m]
    body: str | None = None
    offset: np.ndarray = HERE  # (4, 4) the frame, seen from there [m]


class RobotFrames:
    """
    Names and messages of a robot's frames.

    Parameters
    ----------
    robot : Robot
    prefix : str
        Put before the name of each frame of the robot.
    parent : str
        Frame that base_link is seen from; none if empty.
    stations : int
        Frames per rod.
    carrier : str
        Frame of others that base_link is fixed to instead, or base_link itself, if others publish
        it; none if empty.

    """

    def __init__(
        self, robot: Robot, prefix: str, parent: str, stations: int, carrier: str = '',
    ) -> None:
        for name, value in (('frame_prefix', prefix), ('parent_frame', parent),
                            ('base_frame', carrier)):
            if value.startswith('/'):
                raise InvalidModel(f'parameter {name}', value, 'without a leading slash')
        names = FrameNames(robot, stations, prefix)
        for name, value in (('parent_frame', parent), ('base_frame', carrier)):
            if value in names.all and not (name == 'base_frame' and value == names.base_link):
                raise InvalidModel(
                    f'parameter {name}', value, "a frame that is not the robot's own")
        self.parent, self.moving_frames = parent, frozenset(names.moving)
        self.base_link, self.tip, self.of_rod = names.base_link, names.tip, names.of_rod
        self._fixed = dict(names.fixed)
        self._bodies = {names.base_link: BASE, **{
            frame: name for name, frame in names.bodies.items()}}
        moves = bool(parent) and robot.base.motion != 'fixed' and not carrier
        if carrier and carrier != self.base_link:
            self._fixed[self.base_link] = FixedFrame(carrier, np.eye(4))
        elif parent and not moves and not carrier:
            self._fixed[self.base_link] = FixedFrame(parent, robot.base.matrix())
        self._others = [*names.bodies, *([BASE] if moves else [])]  # that are not on rods
        self._wire = Wire(TFMessage(transforms=[
            *(_transform(self.base_link, child) for child in names.moving),
            *([_transform(parent, self.base_link)] if moves else [])]))
        places = {
            frame: Place(rod, s) for rod, of in self.of_rod.items()
            for frame, s in zip(of, np.linspace(0.0, robot.rods[rod].length, stations).tolist())}
        places |= {self.of_body(name): Place(body=name) for name in movable_bodies(robot)}
        self._places = places | {
            frame: places[at.carrier]._replace(offset=at.pose)
            for frame, at in names.fixed.items() if at.carrier in places}

    def static(self, stamp: Time) -> TFMessage:
        """Return the message for /tf_static."""
        transforms = [_transform(at.carrier, frame) for frame, at in self._fixed.items()]
        poses = [at.pose for at in self._fixed.values()]
        fill_transforms(transforms, np.array(poses), stamp)
        return TFMessage(transforms=transforms)

    def moving(
        self, stations: np.ndarray, bodies: Mapping[str, np.ndarray], sec: int, nanosec: int,
    ) -> bytes:
        """
        Return the message for /tf, serialised, with all frames of one instant.

        Parameters
        ----------
        stations : (k, M, 7) float64
            Positions [m] and quaternions of the stations of all rods.
        bodies : mapping of str to (4, 4) float64
            Poses of the platform and of bodies by themselves, and of a base that moves in its
            parent.
        sec, nanosec : int
            Stamp.

        """
        self._wire.put(0, stations)
        if self._others:
            poses = np.array([bodies[name] for name in self._others])
            self._wire.put(stations.size, pose_numbers(poses))
        self._wire.put_stamp(sec, nanosec)
        return self._wire.data()

    def place(self, frame: str) -> Place:
        """Return what a frame is fixed to that a load can act on, or raise."""
        if frame not in self._places:
            raise UnknownName('frame_id', frame, list(self._places))
        return self._places[frame]

    def body(self, frame: str) -> tuple[str, np.ndarray]:
        """Return the body that a frame is on, and the frame's pose (4, 4) there, or raise."""
        carrier, pose = frame, np.eye(4)
        if frame in self._fixed and frame != self.base_link:
            carrier, pose = self._fixed[frame]
        if carrier not in self._bodies:
            raise UnknownName('header.frame_id', frame, [
                *([self.parent] if self.parent else []), *self._bodies,
                *(name for name, at in self._fixed.items() if at.carrier in self._bodies)])
        return self._bodies[carrier], pose

    def of_body(self, body: str) -> str:
        """Return the frame of a body."""
        return next(frame for frame, name in self._bodies.items() if name == body)


def _transform(parent: str, child: str) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    return message
