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

from ..errors import InvalidModel
from ..robot import Robot, RodShape
from .conversions import fill_transforms


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
        self._message = TFMessage(transforms=[
            _transform(self.base_link, child) for child in moving])

    def static(self, stamp: Time) -> TFMessage:
        """Return the message for /tf_static."""
        transforms = [_transform(self._carrier, self.tip)]
        poses = [self._robot.tip.offset.matrix()]
        if self._parent:
            transforms.append(_transform(self._parent, self.base_link))
            poses.append(self._robot.base.matrix())
        fill_transforms(transforms, np.array(poses), stamp)
        return TFMessage(transforms=transforms)

    def moving(self, shape: Mapping[str, RodShape], stamp: Time) -> TFMessage:
        """Return the message for /tf, with all frames of one instant; valid until the next."""
        poses = [rod.poses for rod in shape.values()]
        if self._robot.platform is not None:
            poses.append(self._robot.platform_pose(shape)[None])
        fill_transforms(self._message.transforms, np.concatenate(poses), stamp)
        return self._message


def _transform(parent: str, child: str) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    return message
