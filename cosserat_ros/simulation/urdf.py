"""
A robot as URDF: for RViz's RobotModel, and for tools that know robots by `robot_description`.

A URDF has links of rigid shape in a tree. Here each TF frame is a link of the same name:

- a station of a rod has the piece of the rod around it, as long as half the ways to its
  neighbours, and the discs and carried bodies next to it;
- the platform and bodies by themselves have a cylinder, their contact balls, or the box that has
  their mass and moments of inertia; with inertials, as bodies on rods have;
- the tip and frames on bodies are fixed to what carries them.

What moves stands on base_link by a floating joint, whose origin is where it is at the instant that
is described. Bodies that a slide or hinge carries stand on their parent body by a prismatic,
revolute or continuous joint, of the name that it has in joint_states; its zero is that of the
coordinate. A hinge that is not in the origin of its child's frame has no such joint:
between them would have to be a link that is no frame.
"""

from __future__ import annotations

from collections.abc import Iterable
import math
import re
from typing import NamedTuple, Optional
from xml.etree import ElementTree

import numpy as np

from ..assembly.rods import PLATFORM
from ..checks.errors import InvalidModel
from ..description.joints import BASE, Joint
from ..description.parts import Body
from ..description.robot import RodShape
from ..description.section import Rectangular
from ..numerics.lie import inverse_se3
from .builder import Z_AXIS
from .frame_names import FrameNames
from .model import joined
from .passive_joints import passive_joints
from .simulator import Simulator
from .visuals import (
    body_visuals,
    DISC_COLOUR,
    disc_visual,
    HOLLOW_COLOUR,
    PLATFORM_COLOUR,
    ROD_COLOUR,
    Visual,
)

UNLIMITED = 1e9  # where a joint has no limit of effort, velocity or position: URDF must have one
BESIDE_AXIS = 1e-12  # [m] that the origin of a frame may be, to turn about it
NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
KINDS = 'prismatic', 'revolute'  # of joints that a URDF has too


class Place(NamedTuple):
    """How a link stands on another."""

    parent: str
    kind: str
    name: str               # of the joint
    pose: np.ndarray        # (4, 4), of the child at the joint's zero, seen from the parent [m]
    joint: Optional[Joint] = None      # that is driven
    axis: Optional[np.ndarray] = None  # (3,) of it, seen from the child


def urdf(sim: Simulator) -> str:
    """
    Return a robot as URDF, its stations those of the simulator, as it is at the present instant.

    Raises
    ------
    InvalidModel
        If a name cannot be in an XML file.

    """
    return xml_text(urdf_tree(sim))


def urdf_tree(sim: Simulator) -> ElementTree.Element:
    """Return what `urdf` does as a tree, for more to be added: first link is the root."""
    return _Writer(sim).tree()


def xml_text(root: ElementTree.Element) -> str:
    """Return the file of a tree."""
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode', xml_declaration=False) + '\n'


class _Writer:
    """
    Makes the XML of a robot.

    Parameters
    ----------
    sim : Simulator

    """

    def __init__(self, sim: Simulator) -> None:
        self._sim, self._robot = sim, sim.robot
        self._shape, self._bodies = sim.shape(), sim.body_poses()
        self._names = FrameNames(self._robot, len(sim.stations[0].s))
        self._root = ElementTree.Element('robot', name=self._robot.name)
        self._joint_names = {*self._robot.drives, *passive_joints(self._robot)}

    def tree(self) -> ElementTree.Element:
        """Return the robot."""
        names, robot = self._names, self._robot
        self._add_link(names.base_link)
        for rod, frames in names.of_rod.items():
            self._add_rod(rod, frames)
        if robot.platform is not None:
            part = robot.platform
            self._add_link(names.bodies[PLATFORM], [disc_visual(part, np.eye(4), PLATFORM_COLOUR)],
                (part.mass, np.zeros(3), part.inertia.matrix()))
        for name, body in robot.standing.items():
            self._add_link(names.bodies[name], list(body_visuals(body)), _inertial(body))
        places = {frame: Place(names.base_link, 'floating', '', pose)
                  for rod, frames in names.of_rod.items()
                  for frame, pose in zip(frames, self._shape[rod].poses)}
        places.update(self._bodies_in_tree())
        for frame, at in names.fixed.items():
            self._add_link(frame)
            places[frame] = Place(at.carrier, 'fixed', '', at.pose)
        for frame, place in places.items():
            self._add_joint(frame, place)
        return self._root

    # --- Links ---

    def _add_link(
        self, name: str, visuals: Iterable[Visual] = (),
        inertial: Optional[tuple[float, np.ndarray, np.ndarray]] = None,
    ) -> None:
        link = ElementTree.SubElement(self._root, 'link', name=checked_name(name))
        if inertial is not None:
            mass, centre, J = inertial
            element = ElementTree.SubElement(link, 'inertial')
            pose = np.eye(4)
            pose[:3, 3] = centre
            _add_origin(element, pose)
            ElementTree.SubElement(element, 'mass', value=_number(mass))
            ElementTree.SubElement(element, 'inertia', {
                f'i{a}{b}': _number(J['xyz'.index(a), 'xyz'.index(b)])
                for a, b in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')})
        for pose, shape, sizes, colour in visuals:
            element = ElementTree.SubElement(link, 'visual')
            _add_origin(element, pose)
            geometry = ElementTree.SubElement(element, 'geometry')
            ElementTree.SubElement(geometry, shape, _attributes(shape, sizes))
            material = ElementTree.SubElement(element, 'material', name=f'colour_{colour}')
            ElementTree.SubElement(material, 'color', rgba=_numbers(colour))

    def _add_rod(self, name: str, frames: list[str]) -> None:
        """Add the links of a rod's stations, with what is on the rod."""
        robot, shape = self._robot, self._shape[name]
        visuals = [[piece] for piece in self._pieces(name)]
        inertials: list[Optional[tuple[float, np.ndarray, np.ndarray]]] = [None] * len(frames)
        for discs in robot.discs.values():
            if robot.rod_name(discs.rod) == name:
                for s in discs.arc_lengths(robot.rods[name].length):
                    k, there = _nearest(shape, float(s))
                    visuals[k].append(disc_visual(discs, there, DISC_COLOUR))
        for body in robot.carried.values():
            if robot.rod_name(body.rod) == name:
                k, there = _nearest(shape, shape.arc_lengths[-1] if body.at is None else body.at)
                visuals[k] += [v._replace(pose=there @ v.pose) for v in body_visuals(body)]
                mass, centre, J = _inertial(body) or (0.0, np.zeros(3), np.zeros((3, 3)))
                R = there[:3, :3]
                turned = mass, R @ centre + there[:3, 3], R @ J @ R.T
                held = inertials[k]
                inertials[k] = turned if held is None else joined(held, turned)
        for frame, visual, inertial in zip(frames, visuals, inertials):
            self._add_link(frame, visual, inertial)

    def _pieces(self, name: str) -> list[Visual]:
        """Return the piece of a rod around each station, straight along its tangent."""
        rod, shape = self._robot.rods[name], self._shape[name]
        chords = np.linalg.norm(np.diff(shape.poses[:, :3, 3], axis=0), axis=1)
        before, after = 0.5 * np.append(0.0, chords), 0.5 * np.append(chords, 0.0)
        hollow = any(self._robot.path(chamber).rod == name for chamber in self._robot.chambers)
        colour = HOLLOW_COLOUR if hollow else ROD_COLOUR
        pieces = []
        for s, (width, height), down, up in zip(
                shape.arc_lengths, rod.outline(shape.arc_lengths), before, after):
            pose = np.eye(4)
            pose[2, 3] = 0.5 * (up - down)
            box = isinstance(rod.segment_at(float(s)).section, Rectangular)
            round_width = math.sqrt(width * height)
            pieces.append(
                Visual(pose, 'box', (width, height, down + up), colour) if box else
                Visual(pose, 'cylinder', (round_width, round_width, down + up), colour))
        return pieces

    # --- Joints ---

    def _bodies_in_tree(self) -> dict[str, Place]:
        """Return how the platform and bodies by themselves stand, by their frames."""
        names, robot = self._names, self._robot
        parents: dict[str, str] = {}
        held: dict[str, Place] = {}
        for name, joint in robot.joints.items():
            place = self._on_joint(name, joint)
            if place is None or joint.child in held:
                continue
            above: Optional[str] = joint.parent
            while above is not None and above != joint.child:
                above = parents.get(above)
            if above is None:  # else the joint would close a loop
                parents[joint.child], held[joint.child] = joint.parent, place
        return {frame: held.get(
            name, Place(names.base_link, 'floating', '', self._bodies[name]))
            for name, frame in names.bodies.items()}

    def _on_joint(self, name: str, joint: Joint) -> Optional[Place]:
        """Return how a joint holds its child, if URDF can say that."""
        robot, names = self._robot, self._names
        if joint.kind not in KINDS:
            return None
        there = robot.on_body(joint.parent, joint.frame, joint.pose)
        held = robot.on_body(joint.child, joint.child_frame, joint.child_pose)
        axis, kind = held[:3, :3] @ (joint.axis or Z_AXIS), joint.kind
        if kind == 'revolute':
            if np.abs(np.cross(held[:3, 3], axis)).max() > BESIDE_AXIS:
                return None
            if not all(map(math.isfinite, joint.limits.range)):
                kind = 'continuous'
        parent = names.base_link if joint.parent == BASE else names.bodies[joint.parent]
        return Place(parent, kind, name, there @ inverse_se3(held), joint, axis)

    def _add_joint(self, child: str, place: Place) -> None:
        name = place.name
        if not name:
            name = f'{child}_joint'
            while name in self._joint_names:
                name += '_'
            self._joint_names.add(name)
        joint = ElementTree.SubElement(
            self._root, 'joint', name=checked_name(name), type=place.kind)
        _add_origin(joint, place.pose)
        ElementTree.SubElement(joint, 'parent', link=place.parent)
        ElementTree.SubElement(joint, 'child', link=child)
        if place.joint is None or place.axis is None:
            return
        limits, (lower, upper) = place.joint.limits, place.joint.limits.range
        ElementTree.SubElement(joint, 'axis', xyz=_numbers(place.axis))
        given = {'effort': limits.effort or UNLIMITED, 'velocity': limits.velocity or UNLIMITED}
        if place.kind != 'continuous':
            given.update(lower=max(lower, -UNLIMITED), upper=min(upper, UNLIMITED))
        ElementTree.SubElement(joint, 'limit', {k: _number(v) for k, v in given.items()})


# --- Small parts ---------------------------------------------------------------------------------

def _nearest(shape: RodShape, s: float) -> tuple[int, np.ndarray]:
    """Return the station nearest to an arc length [m], and the pose there as seen from it."""
    k = int(np.abs(shape.arc_lengths - s).argmin())
    return k, inverse_se3(shape.poses[k]) @ shape.poses_at(np.array([s]))[0]


def _inertial(body: Body) -> Optional[tuple[float, np.ndarray, np.ndarray]]:
    """Return mass, centre and inertia about it; none of a body without mass."""
    if body.mass == 0.0:
        return None
    return body.mass, np.array(body.centre_of_mass), body.inertia.matrix()


def _attributes(shape: str, sizes: tuple[float, float, float]) -> dict[str, str]:
    """Return the attributes of a URDF geometry."""
    if shape == 'box':
        return {'size': _numbers(sizes)}
    radius = {'radius': _number(0.5 * sizes[0])}
    return radius if shape == 'sphere' else {**radius, 'length': _number(sizes[2])}


def _add_origin(element: ElementTree.Element, pose: np.ndarray) -> None:
    ElementTree.SubElement(
        element, 'origin', xyz=_numbers(pose[:3, 3]), rpy=_numbers(_roll_pitch_yaw(pose)))


def _roll_pitch_yaw(g: np.ndarray) -> np.ndarray:
    """Return the angles about the fixed axes x, y, z of a pose; one of many at a right pitch."""
    roll = np.arctan2(g[2, 1], g[2, 2])
    # Of what is left once the roll is taken back: good also where the pitch leaves it open.
    y = np.cos(roll) * g[:3, 1] - np.sin(roll) * g[:3, 2]
    return np.array([roll, np.arctan2(-g[2, 0], np.hypot(g[2, 1], g[2, 2])),
                     np.arctan2(-y[0], y[1])])


def _number(value: float) -> str:
    return repr(float(value))


def _numbers(values: Iterable[float]) -> str:
    return ' '.join(map(_number, values))


def checked_name(name: str) -> str:
    """Return a name that XML can have, or raise."""
    if NOT_XML.search(name):
        raise InvalidModel('name', name, 'without control characters: XML has none')
    return name
