"""
A robot's description as an assembly: the one place that knows both.

Rods grow out of base_link, which is the ground here; legs end on the platform, a free body.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ..assembly.assembly import Assembly, Attachment, GROUND, RigidBody, RodPart
from ..assembly.joint_kinds import JointKind
from ..assembly.rods import PLATFORM
from ..checks.errors import InvalidModel
from ..description.robot import Robot
from ..laws.actuators import Paths
from ..rod.discretisation import Discretisation


def assembly_of(
    robot: Robot, rods: Mapping[str, Discretisation], paths: Mapping[str, Paths],
    gravity: np.ndarray, coupled: Collection[str] = (),
) -> Assembly:
    """
    Return a robot's rods and its platform as an assembly, in base_link.

    Parameters
    ----------
    robot : Robot
    rods, paths : mapping of str to Discretisation and Paths
        How each rod is divided, and the paths of its actuators.
    gravity : (3,) array
        Seen from base_link [m/s^2].
    coupled : collection of str
        Rods along which laws act that couple their elements.

    """
    legs = {leg.rod: leg for leg in robot.legs.values()}
    bodies, parts = {}, {}
    if robot.platform is not None:
        missing = [name for name in rods if name not in legs]
        if missing:
            raise InvalidModel('rods', missing, 'all legs where there is a platform')
        bodies[PLATFORM] = RigidBody(
            robot.platform.mass, robot.platform.inertia.matrix(),
            pose=robot.platform_pose(robot.rest_shape(2)))
    for name, d in rods.items():
        tip, joint = None, JointKind()
        if robot.platform is not None:
            leg = legs[name]
            tip = Attachment(PLATFORM, leg.attachment.matrix())
            joint = JointKind(leg.joint, tuple(leg.axis or (0.0, 0.0, 1.0)))
        parts[name] = RodPart(
            d, base=Attachment(GROUND, robot.rods[name].base.matrix()), tip=tip, tip_joint=joint,
            paths=paths[name] if paths[name].flat.size else None,
            coupled=name in coupled and len(d.W) > 1)
    return Assembly(bodies, parts, gravity=gravity)
