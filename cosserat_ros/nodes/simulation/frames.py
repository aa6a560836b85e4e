"""
The TF frames of a robot.

::

    parent -> <prefix>base_link -> <prefix><rod>_00 ... <prefix><rod>_NN -> <prefix>tip
                                -> <prefix>platform -> <prefix>tip, where there is a platform
                                -> <prefix><body> -> <prefix><body>_<frame> of bodies by themselves

Every station hangs on base_link directly, so that a lookup composes two transforms however fine
the rod is sampled. What cannot move is on /tf_static: base_link in its parent (if its base is
fixed), frames on bodies, and the tip at the end of its rod, on a body or on the platform.
"""

from __future__ import annotations

from collections.abc import Mapping

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
import numpy as np
from tf2_msgs.msg import TFMessage

from ...assembly.rods import PLATFORM
from ...checks.errors import InvalidModel, UnknownName
from ...description.joints import BASE
from ...description.robot import Robot
from ..common.conversions import fill_transforms, pose_numbers
from .wire import Wire


class RobotFrames:
    """
    Names and messages of a robot's frames.

    Parameters
    ----------
    robot : Robot
    prefix : str
        Put before the name of each frame of the robot.
    parent : str
        Frame that base_link is fixed to; none if empty.
    stations : int
        Frames per rod.

    """

    def __init__(self, robot: Robot, prefix: str, parent: str, stations: int) -> None:
        for name, value in (('frame_prefix', prefix), ('parent_frame', parent)):
            if value.startswith('/'):
                raise InvalidModel(f'parameter {name}', value, 'without a leading slash')
        width = max(2, len(str(stations - 1)))
        self.base_link = f'{prefix}base_link'
        self.tip = f'{prefix}tip'
        self.of_rod = {
            rod: [f'{prefix}{rod}_{i:0{width}d}' for i in range(stations)] for rod in robot.rods}
        moving = [f for of in self.of_rod.values() for f in of]
        self._bodies = {name: f'{prefix}{name}' for name in robot.standing}
        self._carrier = f'{prefix}platform'  # of the tip
        if robot.tip.on is not None:
            self._carrier = f'{prefix}{robot.tip.on}'
        elif robot.platform is None:
            self._carrier = self.of_rod[robot.rod_name(robot.tip.rod)][-1]
        else:
            moving.append(self._carrier)
        moving += self._bodies.values()
        fixed = [f'{prefix}{name}_{frame}' for name, body in robot.standing.items()
                 for frame in body.frames]
        own = [self.base_link, self.tip, *moving, *fixed]
        if len(set(own)) < len(own):
            twice = sorted(frame for frame in set(own) if own.count(frame) > 1)
            raise InvalidModel('frames', twice, 'of another name each')
        if parent in own:
            raise InvalidModel(
                'parameter parent_frame', parent, "a frame that is not the robot's own")
        self._robot = robot
        self._parent = parent
        self._drifts = bool(parent) and robot.base.motion != 'fixed'
        self._others = [  # frames that are not on rods
            *([PLATFORM] if robot.platform is not None else []),
            *self._bodies, *([BASE] if self._drifts else [])]
        self._wire = Wire(TFMessage(transforms=[
            *(_transform(self.base_link, child) for child in moving),
            *([_transform(parent, self.base_link)] if self._drifts else [])]))
        self._places: dict[str, tuple[str | None, float | None]] = {
            frame: (rod, s) for rod, of in self.of_rod.items()
            for frame, s in zip(of, np.linspace(0.0, robot.rods[rod].length, stations).tolist())}
        if robot.platform is not None:
            self._places[self._carrier] = None, None

    def static(self, stamp: Time) -> TFMessage:
        """Return the message for /tf_static."""
        transforms = [_transform(self._carrier, self.tip)]
        tip = self._robot.tip
        poses = [self._robot.on_body(tip.on or '', tip.frame, tip.offset)]
        for name, frame in self._bodies.items():
            for own, pose in self._robot.bodies[name].frames.items():
                transforms.append(_transform(frame, f'{frame}_{own}'))
                poses.append(pose.matrix())
        if self._parent and not self._drifts:
            transforms.append(_transform(self._parent, self.base_link))
            poses.append(self._robot.base.matrix())
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

    def place(self, frame: str) -> tuple[str | None, float | None]:
        """
        Return rod and arc length [m] of a frame that a load can act on, or raise.

        No rod for the platform. The tip is one of them only where it has no offset: a load there
        would have a lever that turns.
        """
        if frame == self.tip:
            offset = self._robot.tip.offset
            if offset.position != (0.0, 0.0, 0.0):
                raise InvalidModel(
                    'frame_id', frame, f'the frame that carries it, {self._carrier}: the tip has '
                    'an offset')
            frame = self._carrier
        if frame not in self._places:
            raise UnknownName('frame_id', frame, [*self._places, self.tip])
        return self._places[frame]


def _transform(parent: str, child: str) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    return message
