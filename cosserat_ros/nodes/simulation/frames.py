"""
The TF frames of a robot.

::

    parent -> <prefix>base_link -> <prefix><rod>_00 ... <prefix><rod>_NN -> <prefix>tip
                                -> <prefix>platform -> <prefix>tip, where there is a platform

Every station hangs on base_link directly, so that a lookup composes two transforms however fine
the rod is sampled. What cannot move is on /tf_static: base_link in its parent, and the tip at the
end of its rod or on the platform.
"""

from __future__ import annotations

from collections.abc import Mapping

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
import numpy as np
from tf2_msgs.msg import TFMessage

from ...checks.errors import InvalidModel, UnknownName
from ...description.robot import Robot, RodShape
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
        self._carrier = f'{prefix}platform'  # of the tip
        if robot.platform is None:
            self._carrier = self.of_rod[robot.rod_name(robot.tip.rod)][-1]
        else:
            moving.append(self._carrier)
        own = [self.base_link, self.tip, *moving]
        if parent in own:
            raise InvalidModel(
                'parameter parent_frame', parent, "a frame that is not the robot's own")
        self._robot = robot
        self._parent = parent
        self._wire = Wire(TFMessage(transforms=[
            _transform(self.base_link, child) for child in moving]))
        self._places: dict[str, tuple[str | None, float | None]] = {
            frame: (rod, s) for rod, of in self.of_rod.items()
            for frame, s in zip(of, np.linspace(0.0, robot.rods[rod].length, stations).tolist())}
        if robot.platform is not None:
            self._places[self._carrier] = None, None

    def static(self, stamp: Time) -> TFMessage:
        """Return the message for /tf_static."""
        transforms = [_transform(self._carrier, self.tip)]
        poses = [self._robot.tip.offset.matrix()]
        if self._parent:
            transforms.append(_transform(self._parent, self.base_link))
            poses.append(self._robot.base.matrix())
        fill_transforms(transforms, np.array(poses), stamp)
        return TFMessage(transforms=transforms)

    def moving(self, shape: Mapping[str, RodShape], sec: int, nanosec: int) -> bytes:
        """Return the message for /tf, serialised, with all frames of one instant."""
        poses = [rod.poses for rod in shape.values()]
        if self._robot.platform is not None:
            poses.append(self._robot.platform_pose(shape)[None])
        self._wire.put(0, pose_numbers(np.concatenate(poses)))
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
