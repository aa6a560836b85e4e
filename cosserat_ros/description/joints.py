"""
Joints of a robot: between its bodies, and at the ends of its rods; what drives their coordinates.

The dataclasses are vocabulary of robot files, as those of `description.parts`. A joint of one
coordinate says of it what there is to say; one of several names them under `coordinates`:

| kind | coordinates, in this order |
|---|---|
| clamped | none |
| spherical | turn_x, turn_y, turn_z |
| free, spring | x, y, z, turn_x, turn_y, turn_z |
| point_on_line | slide, turn_x, turn_y, turn_z |
| point_on_plane | slide_1, slide_2, turn_x, turn_y, turn_z |
| prismatic | slide |
| revolute, screw | turn |
| cylindrical | slide, turn |
| planar | slide_1, slide_2, turn |
| line_on_plane | slide_1, slide_2, turn, roll |
| universal | turn_1, turn_2 |

A driven coordinate is an actuator: of the joint's name, or ``<joint>_<coordinate>`` where there
are several. The joint at the base of a rod is called ``<rod>_base``, that at its tip
``<rod>_tip``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
import math
from typing import NamedTuple, Optional

import numpy as np

from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import Checked, choice, instance, integer, mapping, number, text, vector
from .parts import Actuator, Pose

BASE = 'base_link'  # name of the body that the robot stands on
BODY = 'the name of a body, or base_link'
DRIVES = 'none', 'position', 'velocity', 'effort'
COMMANDED = {  # what a drive is told along a slide, and about an axis
    'position': ('position', 'angle'), 'velocity': ('velocity', 'angular_velocity'),
    'effort': ('force', 'moment')}
_FREELY = 'turn_x', 'turn_y', 'turn_z'  # counted from the last attitude: neither told nor limited
KINDS: dict[str, tuple[str, ...]] = {
    'clamped': (), 'spherical': _FREELY, 'free': ('x', 'y', 'z', *_FREELY),
    'point_on_line': ('slide', *_FREELY), 'prismatic': ('slide',),
    'point_on_plane': ('slide_1', 'slide_2', *_FREELY),
    'line_on_plane': ('slide_1', 'slide_2', 'turn', 'roll'), 'revolute': ('turn',),
    'cylindrical': ('slide', 'turn'), 'planar': ('slide_1', 'slide_2', 'turn'),
    'screw': ('turn',), 'universal': ('turn_1', 'turn_2'), 'spring': ('x', 'y', 'z', *_FREELY)}
WITHOUT_AXIS = 'clamped', 'spherical', 'free', 'spring'
WITH_SECOND_AXIS = 'line_on_plane', 'universal'


@dataclass(frozen=True, kw_only=True)
class JointLimits(Checked):
    """
    Limits of one coordinate of a joint; it does not move beyond them, however it is driven.

    Parameters
    ----------
    lower : float, optional
        Least position.
    upper : float, optional
        Greatest position.
    velocity : float, optional
        Greatest rate at which a drive moves it, either way.
    effort : float, optional
        Greatest force or moment of an effort drive, either way.

    """

    lower: Optional[float] = number('m or rad', default=None)
    upper: Optional[float] = number('m or rad', default=None)
    velocity: Optional[float] = number('m/s or rad/s', default=None, above=0.0)
    effort: Optional[float] = number('N or N m', default=None, above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.range[0] < self.range[1]:
            raise InvalidModel('lower', self.lower, f'less than upper, {self.upper:g}')

    @property
    def range(self) -> tuple[float, float]:
        """Least and greatest position, infinite where there is no limit [m or rad]."""
        return (-math.inf if self.lower is None else self.lower,
                math.inf if self.upper is None else self.upper)


@dataclass(frozen=True, kw_only=True)
class Coordinate(Checked):
    """
    One coordinate of a joint: what drives it, what springs it back, how far it goes.

    Parameters
    ----------
    drive : str
        What it is told, as an actuator: its 'position', its 'velocity', or the 'effort' along it;
        'none' for a passive one.
    position : float
        Where it is at the start, and where a drive is at rest.
    stiffness : float
        Stiffness of a spring along or about it.
    damping : float
        Damping along or about it.
    rest : float
        Position at which the spring does not push.
    limits : JointLimits
        Limits of its motion.

    """

    drive: str = choice(*DRIVES, default='none')
    position: float = number('m or rad', default=0.0)
    stiffness: float = number('N/m or N m/rad', least=0.0, default=0.0)
    damping: float = number('N s/m or N m s/rad', least=0.0, default=0.0)
    rest: float = number('m or rad', default=0.0)
    limits: JointLimits = instance(JointLimits, 'limits of a joint', default=JointLimits())

    def __post_init__(self) -> None:
        super().__post_init__()
        lower, upper = self.limits.range
        if not lower <= self.position <= upper:
            raise InvalidModel(
                'position', self.position, f'within its limits, {lower:g} to {upper:g}')


@dataclass(frozen=True, kw_only=True)
class RodJoint(Coordinate):
    """
    How one end of a rod moves on what holds it: a kind of joint, and its coordinates.

    Parameters
    ----------
    kind : str
        Kind of joint: the motions that it allows.
    axis : (3,) tuple
        Axis of rotation or sliding, or the normal of the plane, seen from the joint; kept as a
        unit vector.
    second_axis : (3,) tuple, optional
        Second axis of a universal joint, or the line that lies on the plane.
    pitch : float, optional
        Translation of a screw per angle [m/rad].
    coordinates : mapping of str to Coordinate
        Coordinates of a joint that has several, by name; those left out are free.

    """

    kind: str = choice(*KINDS)
    axis: Optional[tuple[float, float, float]] = vector('-', default=None, least=-1e3, most=1e3)
    second_axis: Optional[tuple[float, float, float]] = vector(
        '-', default=None, least=-1e3, most=1e3)
    pitch: Optional[float] = number('m/rad', default=None, least=-1e3, most=1e3)
    coordinates: Mapping[str, Coordinate] = mapping(Coordinate, 'coordinates')

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_axes()
        self._check_coordinates()
        for name, coordinate in self.each():
            limited = coordinate.limits != JointLimits()
            if name in _FREELY and (coordinate.drive != 'none' or limited or coordinate.position):
                raise InvalidModel(
                    f'coordinates.{name}', coordinate.drive,
                    f'without drive, limits and position: a joint that is {self.kind} turns '
                    'freely, which is counted from its last attitude')

    def _check_axes(self) -> None:
        if self.kind in WITHOUT_AXIS and self.axis is not None:
            raise InvalidModel('axis', self.axis, f'left out for a joint that is {self.kind}')
        if (self.second_axis is None) == (self.kind in WITH_SECOND_AXIS):
            raise InvalidModel('second_axis', self.second_axis,
                               f'given for {" and ".join(WITH_SECOND_AXIS)}, and for no other')
        if (self.pitch is None) == (self.kind == 'screw'):
            raise InvalidModel('pitch', self.pitch, 'given for a screw, and for no other')
        for name in ('axis', 'second_axis'):
            axis = getattr(self, name)
            if axis is not None:
                size = math.hypot(*axis)
                if size < 1e-9:
                    raise InvalidModel(name, axis, 'a direction, not zero')
                object.__setattr__(self, name, tuple(x / size for x in axis))
        if self.second_axis is not None:
            across = np.cross(self.axis or (0.0, 0.0, 1.0), self.second_axis)
            if np.linalg.norm(across) < 1e-6:
                raise InvalidModel('second_axis', self.second_axis, 'not along axis')

    def _check_coordinates(self) -> None:
        known = KINDS[self.kind]
        for name in self.coordinates:
            if name not in known:
                raise UnknownName('coordinates', name, list(known))
        if len(known) == 1 and self.coordinates:
            raise InvalidModel('coordinates', list(self.coordinates),
                               f'left out: a joint that is {self.kind} has one, said without it')
        for f in fields(Coordinate):
            if len(known) != 1 and getattr(self, f.name) != f.default:
                raise InvalidModel(f.name, getattr(self, f.name), (
                    f'said of one of its coordinates: {", ".join(known)}' if known
                    else 'left out: it does not move'))

    def each(self) -> Iterator[tuple[str, Coordinate]]:
        """Yield names and properties of all its coordinates, in order."""
        for name in KINDS[self.kind]:
            yield name, self if len(KINDS[self.kind]) == 1 else self.coordinates.get(
                name, Coordinate())


@dataclass(frozen=True, kw_only=True)
class Joint(RodJoint):
    """
    A joint from one body to another.

    Parameters
    ----------
    parent : str
        Name of the body that it begins on, or base_link.
    child : str
        Name of the body that it ends on.
    frame : str, optional
        Frame of the parent that `pose` is seen from; the body's own if left out.
    child_frame : str, optional
        Frame of the child that `child_pose` is seen from; the body's own if left out.
    pose : Pose
        Where the joint is on the parent.
    child_pose : Pose
        Where the joint is on the child.

    """

    child: str = text('.+', 'the name of a body')
    parent: str = text('.+', BODY, default=BASE)
    frame: Optional[str] = text('.+', 'the name of a frame', default=None)
    pose: Pose = instance(Pose, 'a pose', default=Pose())
    child_frame: Optional[str] = text('.+', 'the name of a frame', default=None)
    child_pose: Pose = instance(Pose, 'a pose', default=Pose())


@dataclass(frozen=True)
class Mount(Pose):
    """
    Where an end of a rod is held: a pose on a body, and how it may move there.

    Parameters
    ----------
    position : (3,) tuple
        Position of the rod's end, seen from the body or from its frame [m].
    roll_pitch_yaw : (3,) tuple
        Rotation of the rod's end, likewise [rad].
    on : str
        Name of the body, or base_link.
    frame : str, optional
        Frame of the body that the pose is seen from.
    joint : RodJoint, optional
        Joint by which it is held; clamped if left out.

    """

    on: str = text('.+', BODY, default=BASE)
    frame: Optional[str] = text('.+', 'the name of a frame', default=None)
    joint: Optional[RodJoint] = instance(RodJoint, 'a joint', default=None)


@dataclass(frozen=True)
class RobotBase(Pose):
    """
    Where base_link is, seen from its parent frame, and whether it moves there.

    Parameters
    ----------
    position : (3,) tuple
        Position at the start [m].
    roll_pitch_yaw : (3,) tuple
        Rotations about the fixed axes x, y and z at the start [rad].
    motion : str
        'fixed'; 'driven': a topic or a TF frame moves it (parameter `base_source` of the
        simulator), or `Simulator.drive_base`; or 'free': it floats.

    """

    motion: str = choice('fixed', 'driven', 'free', default='fixed')


@dataclass(frozen=True, kw_only=True)
class JointDrive(Actuator):
    """
    What drives one coordinate of a joint: an actuator like any other. Not a part of files.

    Parameters
    ----------
    joint : str
        Whose coordinate it is, as in `Robot.moving`.
    index : int
        Which one.
    coordinate : Coordinate
        As described.

    """

    command: str = choice(*(word for words in COMMANDED.values() for word in words))
    joint: str = text('.+', 'the name of a joint')
    index: int = integer(least=0, most=5)
    coordinate: Coordinate = instance(Coordinate, 'a coordinate')

    @property
    def turns(self) -> bool:
        """Whether the coordinate is an angle."""
        return self.command in (about for _, about in COMMANDED.values())

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest command, infinite where there is no limit [unit]."""
        limits = self.coordinate.limits
        if self.coordinate.drive == 'position':
            return limits.range
        most = limits.velocity if self.coordinate.drive == 'velocity' else limits.effort
        return (-math.inf, math.inf) if most is None else (-most, most)

    @property
    def rate(self) -> Optional[float]:
        """Greatest change of the command per second; None without limit [unit/s]."""
        return self.coordinate.limits.velocity if self.coordinate.drive == 'position' else None


class NamedJoint(NamedTuple):
    """A joint of a robot, and the name that its actuators have or begin with."""

    name: str
    joint: RodJoint


def coordinates_of(
    joints: Mapping[str, NamedJoint],
) -> Iterator[tuple[str, str, int, str, Coordinate]]:
    """Yield name, joint, index, own name and properties of all coordinates, in order."""
    for key, (name, joint) in joints.items():
        several = len(KINDS[joint.kind]) > 1
        for index, (own, coordinate) in enumerate(joint.each()):
            yield f'{name}_{own}' if several else name, key, index, own, coordinate


def drives_of(joints: Mapping[str, NamedJoint]) -> dict[str, JointDrive]:
    """Return the actuators of joints, by name, in the order of joints and coordinates."""
    drives = {}
    for name, key, index, own, coordinate in coordinates_of(joints):
        if coordinate.drive != 'none':
            turns = own.startswith('turn') or own == 'roll'
            drives[name] = JointDrive(
                command=COMMANDED[coordinate.drive][turns], joint=key, index=index,
                coordinate=coordinate)
    return drives
