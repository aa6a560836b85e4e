"""
A robot's description as an assembly: the one place that knows robots and parts of assemblies.

Rods grow out of base_link and out of bodies. base_link is the ground here, or a body that is
driven or floats; all is seen from where it is at the start. Legs end on the platform, a free body.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..assembly.assembly import Assembly, Attachment, GROUND, Joint, RigidBody, RodPart
from ..assembly.joint_kinds import Coordinate, JointKind
from ..assembly.layout import RodLaws
from ..assembly.rods import PLATFORM
from ..checks.errors import InvalidModel
from ..description.joints import BASE, Mount, RodJoint
from ..description.robot import Robot
from ..laws.actuators import Paths
from ..rod.discretisation import Discretisation
from .fluid import flow_on

Z_AXIS, X_AXIS = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)


def assembly_of(
    robot: Robot, rods: Mapping[str, Discretisation], paths: Mapping[str, Paths],
    gravity: np.ndarray, laws: Mapping[str, RodLaws],
) -> Assembly:
    """
    Return a robot as an assembly, seen from base_link as it is at the start.

    Parameters
    ----------
    robot : Robot
    rods, paths : mapping of str to Discretisation and Paths
        How each rod is divided, and the paths of its actuators.
    gravity : (3,) array
        Seen from base_link [m/s^2].
    laws : mapping of str to RodLaws
        Along each rod.

    """
    if robot.platform is not None:
        legs = {leg.rod for leg in robot.legs.values()}
        missing = [name for name in rods if name not in legs]
        if missing:
            raise InvalidModel('rods', missing, 'all legs where there is a platform')
    parts = {}
    for name, d in rods.items():
        rod, (tip, tip_joint) = robot.rods[name], _tip(robot, name)
        dry, flow = rod.dry_bending(d.s), flow_on(rod)
        parts[name] = RodPart(
            d, base=_end(robot, rod.base), tip=tip, tip_joint=tip_joint,
            base_joint=joint_kind(rod.base.joint),
            paths=paths[name] if paths[name].flat.size else None,
            laws=laws[name], dry_bending=dry if dry.any() else None, contact=rod.contact,
            outline=rod.outline, flow=flow.along, tip_flow=flow.at_tip)
    return Assembly(_bodies(robot), parts, _joints(robot), gravity, robot.obstacles)


def _bodies(robot: Robot) -> dict[str, RigidBody]:
    """Return the bodies that are no part of rods."""
    bodies = {}
    if robot.base.motion != 'fixed':
        bodies[BASE] = RigidBody(driven=robot.base.motion == 'driven')
    for name, body in robot.standing.items():
        bodies[name] = RigidBody(
            body.mass, body.inertia.matrix(), body.centre_of_mass,
            np.eye(4) if body.pose is None else body.pose.matrix(), contact=body.contact)
    if robot.platform is not None:
        bodies[PLATFORM] = RigidBody(
            robot.platform.mass, robot.platform.inertia.matrix(),
            pose=robot.platform_pose(robot.rest_shape(2)))
    return bodies


def _joints(robot: Robot) -> dict[str, Joint]:
    """Return the joints between bodies."""
    return {name: Joint(
        joint_kind(joint),
        Attachment(
            body_name(robot, joint.parent), robot.on_body(joint.parent, joint.frame, joint.pose)),
        Attachment(joint.child, robot.on_body(joint.child, joint.child_frame, joint.child_pose)))
        for name, joint in robot.joints.items()}


def body_name(robot: Robot, name: str) -> str:
    """Return the name of a described body in the assembly: base_link may be the ground."""
    return GROUND if name == BASE and robot.base.motion == 'fixed' else name


def _end(robot: Robot, mount: Mount) -> Attachment:
    return Attachment(body_name(robot, mount.on), robot.place(mount))


def _tip(robot: Robot, name: str) -> tuple[Attachment | None, JointKind]:
    """Return where the tip of a rod is held, and how."""
    for leg in robot.legs.values():
        if leg.rod == name:
            return (Attachment(PLATFORM, leg.attachment.matrix()),
                    JointKind(leg.joint, tuple(leg.axis or Z_AXIS)))
    tip = robot.rods[name].tip
    return (None, JointKind()) if tip is None else (_end(robot, tip), joint_kind(tip.joint))


def joint_kind(joint: RodJoint | None) -> JointKind:
    """Return a described joint, or none (clamped), as that of an assembly."""
    if joint is None:
        return JointKind()
    coordinates = []
    for _, c in joint.each():
        least, most = c.limits.range
        coordinates.append(Coordinate(
            c.stiffness, c.damping, c.rest, position=c.position, least=least, most=most,
            driven=c.drive in ('position', 'velocity')))
    return JointKind(
        'free' if joint.kind == 'spring' else joint.kind, joint.axis or Z_AXIS,
        joint.second_axis or X_AXIS, joint.pitch or 0.0, coordinates)
