"""
What a robot is: rods, what drives them, and where they are; read from YAML, checked.

The dataclasses are the vocabulary of the files in `config/`: each field is a key of the same
name. Frames: ``parent`` (usually the world), ``base_link`` fixed to it by the robot's base pose,
and a body frame at each station of each rod, its z axis along the rod (REP-103 right-handed,
SI units).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import NamedTuple, Optional, Union

import numpy as np
from numpy.polynomial.legendre import leggauss

from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import (
    check_number,
    Checked,
    FARTHEST,
    instance,
    listed,
    mapping,
    text,
    vector,
)
from ..description import documents as description
from ..numerics.lie import write_poses_between
from .demonstration import LoadPlace, Move, MoveLoad
from .fluid import BaseFlow, Flow
from .gaits import BaseGait, Gait, gait_drives, GaitDrive, Stroke, Wave
from .joints import (
    BASE,
    coordinates_of,
    drives_of,
    Joint,
    JointDrive,
    Mount,
    NamedJoint,
    RobotBase,
)
from .modes import StrainModes
from .obstacles import ContactProperties, Obstacle, thinnest
from .parts import Body, Chamber, Discs, Drag, Leg, Platform, Pose, Tendon, TimeStepping, Tip
from .rod import Rod, ROUNDING
from .routing import Path

STEEPEST = 1e3  # [-], of a tendon or chamber against its backbone: more is a mistake
SHORTEST = 1e-6  # of its rod's length, that a tendon or chamber can be
OUTLINED = 65  # arc lengths at which the least radius of a rod is looked for
RESERVED = BASE, 'ground', 'platform', 'tip'  # names that no body can have


@dataclass(frozen=True)
class MountedRod(Rod):
    """
    A rod, what it stands on, what holds its tip, the drag of the air, and how it touches.

    Parameters
    ----------
    base : Mount
        Where it begins: on base_link, if no body is named.
    tip : Mount, optional
        Where it ends, if its tip is held: a body at the tip of this rod alone is carried by it.
    drag : Drag
        Drag of the surrounding fluid.
    contact : ContactProperties, optional
        How it touches; without, it passes through obstacles.
    flow : Slender or Blade, optional
        What a fluid does to it beside drag.
    modes : StrainModes, optional
        How finely it is resolved, if not as the other rods of the robot.

    """

    base: Mount = Mount()
    drag: Drag = Drag()
    tip: Optional[Mount] = None
    contact: Optional[ContactProperties] = None
    flow: Optional[Flow] = None
    modes: Optional[StrainModes] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.base) is Pose:
            object.__setattr__(self, 'base', Mount(self.base.position, self.base.roll_pitch_yaw))
        for name, kind, allowed in (('base', Mount, 'a pose'), ('drag', Drag, 'a drag'),
                                    ('tip', Mount | None, 'a pose on a body'),
                                    ('flow', BaseFlow | None, 'a Slender or a Blade'),
                                    ('modes', StrainModes | None, 'strain modes')):
            if not isinstance(getattr(self, name), kind):
                raise InvalidModel(name, getattr(self, name), allowed)
        if self.contact is None:
            return
        if not isinstance(self.contact, ContactProperties):
            raise InvalidModel('contact', self.contact, 'contact properties')
        try:
            self.contact.check_range(self.length)
        except InvalidModel as error:
            raise error.within('contact') from None


class RodShape(NamedTuple):
    """
    One rod at one instant, at N stations.

    `arc_lengths` (N,) [m]; `poses` (N, 4, 4), body frame in base_link [m]; `strains` (N, 6),
    (v [-], u [1/m]), body frame.
    """

    arc_lengths: np.ndarray
    poses: np.ndarray
    strains: np.ndarray

    def poses_at(self, s: np.ndarray) -> np.ndarray:
        """
        Return poses between the stations, (M, 4, 4), for arc lengths `s` (M,) [m].

        Along the screw motion from one station to the next: exact where strain is constant.
        """
        k = np.clip(np.searchsorted(self.arc_lengths, s) - 1, 0, len(self.arc_lengths) - 2)
        start, end = self.arc_lengths[k], self.arc_lengths[k + 1]
        poses = np.empty((len(k), 4, 4))
        write_poses_between(
            np.ascontiguousarray(self.poses), k, (s - start) / (end - start), poses)
        return poses


@dataclass(frozen=True)
class Robot(Checked):
    """
    A continuum robot.

    Parameters
    ----------
    name : str
        Name of the robot, in messages and logs.
    rods : mapping of str to MountedRod
        Rods, in the order of the file. A rod's name also names its frames.
    base : RobotBase
        Pose of base_link in its parent frame; it may move.
    gravity : (3,) tuple
        Acceleration of gravity, along the axes of the parent frame [m/s^2].
    tip : Tip
        The frame that tasks are set for.
    tendons : mapping of str to Tendon
        Actuators that pull. As for all actuators, the name is that of its joint in joint_states.
    chambers : mapping of str to Chamber
        Actuators with pressure.
    legs : mapping of str to Leg
        Actuators that change the length of rods which carry a platform.
    joints : mapping of str to Joint
        Joints between bodies. Those with a drive are actuators too.
    gaits : mapping of str to Wave or Stroke
        Motions that repeat themselves. Their parameters are actuators.
    platform : Platform, optional
        What the legs carry.
    discs : mapping of str to Discs
        Sets of discs that guide tendons.
    bodies : mapping of str to Body
        Rigid bodies: those that are fixed to rods, and those that joints and rods end on.
    obstacles : mapping of str to Obstacle
        What rods may touch, seen from base_link.
    modes : StrainModes
        Strain modes of rods that have no modes of their own: how finely they are resolved.
    time : TimeStepping
        Time step and scheme.
    demonstration : tuple of Move
        Moves that it repeats until it is commanded (parameter `demonstrate`); if left out, each
        actuator with limits swings.

    """

    name: str = text(
        r'[A-Za-z][A-Za-z0-9_]{0,63}', 'a letter, then up to 63 letters, digits and underscores')
    rods: Mapping[str, MountedRod] = mapping(MountedRod, 'rods', least=1)
    base: RobotBase = instance(Pose, 'a pose', default=RobotBase())
    gravity: tuple[float, float, float] = vector('m/s^2', default=(0.0, 0.0, -9.81))
    tip: Tip = instance(Tip, 'a tip', default=Tip())
    tendons: Mapping[str, Tendon] = mapping(Tendon, 'tendons')
    chambers: Mapping[str, Chamber] = mapping(Chamber, 'chambers')
    legs: Mapping[str, Leg] = mapping(Leg, 'legs')
    platform: Optional[Platform] = instance(Platform, 'a platform', default=None)
    discs: Mapping[str, Discs] = mapping(Discs, 'discs')
    bodies: Mapping[str, Body] = mapping(Body, 'bodies')
    obstacles: Mapping[str, Obstacle] = mapping(Obstacle, 'obstacles')
    joints: Mapping[str, Joint] = mapping(Joint, 'joints')
    gaits: Mapping[str, Gait] = mapping(BaseGait, 'gaits')
    modes: StrainModes = instance(StrainModes, 'strain modes', default=StrainModes())
    time: TimeStepping = instance(TimeStepping, 'a time step and a scheme', default=TimeStepping())
    demonstration: tuple[Move, ...] = listed(Move, 'a list of moves')

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.base) is Pose:
            object.__setattr__(
                self, 'base', RobotBase(self.base.position, self.base.roll_pitch_yaw))
        self._check_bodies()
        self._check_ends()
        self._check_names()
        self._check_tip()
        for name, discs in self.discs.items():
            rod = self._check_rod(f'discs.{name}', discs.rod)
            self._check_within(f'discs.{name}.at', rod, max(discs.at or (0.0,)))
        for name, body in self.carried.items():
            body.check_mass(f'bodies.{name}.mass')
            rod = self._check_rod(f'bodies.{name}', body.rod)
            self._check_within(f'bodies.{name}.at', rod, body.at)
        for name, obstacle in self.obstacles.items():
            if obstacle.body is not None and obstacle.body not in self.standing:
                raise UnknownName(f'obstacles.{name}.body', obstacle.body, list(self.standing))
        self._check_spacings()
        for kind, routed in (('tendons', self.tendons), ('chambers', self.chambers)):
            for name, actuator in routed.items():
                self._check_path(f'{kind}.{name}', name, actuator)
        for name, tendon in self.tendons.items():
            self._check_guides(name, tendon)
        self._check_legs()
        self._check_demonstration()
        self._check_gaits()

    # --- Do the parts fit? ----------------------------------------------------------------------

    def _check_names(self) -> None:
        """Raise if two actuators or coordinates have the same name: they would be one joint."""
        taken: dict[str, str] = {}

        def take(kind: str, path: str, name: str) -> None:
            if name in taken:
                raise InvalidModel(path, name, f'a name that is not among the {taken[name]}')
            taken[name] = kind

        for kind in ('tendons', 'chambers', 'legs'):
            for name in getattr(self, kind):
                take(kind, f'{kind}.{name}', name)
        for name, key, *_ in coordinates_of(self.moving):
            take('joints', f'joints.{key}' if key in self.joints else f'rods.{key}.joint', name)
        for name in self.gait_drives:
            take('gaits', f'gaits.{name}', name)
        for name in self.joints:
            if name in self.bodies:
                raise InvalidModel(f'joints.{name}', name, "a name that is no body's")

    def _check_bodies(self) -> None:
        """Raise if a body has the name of a frame of the robot, or is one by itself on a rod."""
        for name in self.bodies:
            if name in RESERVED or name in self.rods:
                raise InvalidModel(f'bodies.{name}', name, 'another name than a frame or rod has')
        for name, body in self.standing.items():
            for key in ('rod', 'at'):
                if getattr(body, key) is not None:
                    raise InvalidModel(
                        f'bodies.{name}.{key}', getattr(body, key), 'left out: it is a body by '
                        'itself; a rod that carries it says so (rods.<name>.tip.on)')
        for name, body in self.carried.items():
            if body.contact is not None:
                raise InvalidModel(
                    f'bodies.{name}.contact', body.contact, 'left out: it is fixed to a rod; what '
                    'touches is a body by itself, that a rod may carry (rods.<name>.tip.on)')

    def _check_spacings(self) -> None:
        """Raise if points of contact on a rod are too many, or too far apart."""
        thin = thinnest(self.obstacles.values())
        for name, rod in self.rods.items():
            contact = rod.contact
            if contact is None or not (self.obstacles or contact.rods):
                continue
            radius = contact.radius or 0.5 * float(
                rod.outline(np.linspace(0.0, rod.length, OUTLINED)).min())
            try:
                contact.spacing_on(rod.length, radius, thin)
            except InvalidModel as error:
                raise error.within(f'rods.{name}.contact') from None

    def _check_ends(self) -> None:
        """Raise unless joints and ends of rods are on bodies that are there."""
        for name, joint in self.joints.items():
            if joint.child == BASE:
                raise InvalidModel(
                    f'joints.{name}.child', BASE, 'a body; base_link can be the parent')
            self._check_place(f'joints.{name}', 'parent', joint.parent, 'frame', joint.frame)
            self._check_place(
                f'joints.{name}', 'child', joint.child, 'child_frame', joint.child_frame)
            if joint.parent == joint.child:
                raise InvalidModel(
                    f'joints.{name}.child', joint.child, 'another body than its parent')
        legs = {leg.rod for leg in self.legs.values()}
        for name, rod in self.rods.items():
            self._check_place(f'rods.{name}.base', 'on', rod.base.on, 'frame', rod.base.frame)
            if rod.tip is not None:
                self._check_place(f'rods.{name}.tip', 'on', rod.tip.on, 'frame', rod.tip.frame)
                if name in legs:
                    raise InvalidModel(
                        f'rods.{name}.tip', rod.tip.on, 'left out: a leg ends on the platform')
                if rod.tip.on == rod.base.on and np.allclose(
                        self.place(rod.tip), self.place(rod.base)):
                    raise InvalidModel(
                        f'rods.{name}.tip', rod.tip.on, 'another body or pose than its base has')

    def _check_place(
        self, owner: str, key: str, body: str, frame_key: str, frame: Optional[str],
    ) -> None:
        """Raise unless there is a body by itself, with this frame."""
        known = [BASE, *self.bodies]
        if body not in known:
            raise UnknownName(f'{owner}.{key}', body, known)
        frames = list(self.bodies[body].frames) if body != BASE else []
        if frame is not None and frame not in frames:
            raise UnknownName(f'{owner}.{frame_key}', frame, frames)

    def _check_tip(self) -> None:
        """Raise unless there is a platform if there are legs, and the tip is on it."""
        if self.legs and self.platform is None:
            raise InvalidModel('platform', None, 'given where there are legs')
        if self.platform is not None and not self.legs:
            raise InvalidModel('legs', {}, 'at least one where there is a platform')
        if self.tip.on is not None:
            self._check_place('tip', 'on', self.tip.on, 'frame', self.tip.frame)
        if self.platform is None and self.tip.on is None:
            self._check_rod('tip', self.tip.rod)
        for key in ('rod', 'on'):
            if self.platform is not None and getattr(self.tip, key) is not None:
                raise InvalidModel(
                    f'tip.{key}', getattr(self.tip, key), 'left out: the tip is on the platform')

    def _check_rod(self, owner: str, name: Optional[str]) -> MountedRod:
        """Return the rod that a part refers to, or raise with the part's path."""
        if name is not None and name not in self.rods:
            raise UnknownName(f'{owner}.rod', name, list(self.rods))
        if name is None and len(self.rods) > 1:
            raise InvalidModel(
                f'{owner}.rod', None, f'given where there are several: {", ".join(self.rods)}')
        return self.rod(name)

    @staticmethod
    def _check_within(field: str, rod: MountedRod, s: Optional[float]) -> None:
        if s is not None and s > (1.0 + ROUNDING) * rod.length:
            raise InvalidModel(field, s, f"at most the rod's length, {rod.length:g} [m]")

    def _check_path(self, owner: str, name: str, actuator: Union[Tendon, Chamber]) -> None:
        """Raise unless a path lies on its rod, and not absurdly far from it."""
        rod = self._check_rod(owner, actuator.rod)
        self._check_within(f'{owner}.ends_at', rod, actuator.ends_at)
        path = self.path(name)
        if not path.end - path.start > SHORTEST * rod.length:
            raise InvalidModel(
                f'{owner}.starts_at', path.start, f'less than where it ends, {path.end:g} [m]')
        s = np.linspace(path.start, path.end, 33)
        with np.errstate(all='ignore'):
            farthest, steepest = (float(np.abs(r).max()) for r in (path.at(s), path.slope(s)))
        if not farthest <= FARTHEST:
            raise InvalidModel(
                f'{owner}.routing', farthest, f'at most {FARTHEST:g} [m] from the backbone')
        if not steepest <= STEEPEST:
            raise InvalidModel(
                f'{owner}.routing', steepest, f'of a slope dr/ds of at most {STEEPEST:g} [-]')

    def _check_guides(self, name: str, tendon: Tendon) -> None:
        """Raise unless the discs that a tendon runs through are there, on its rod."""
        if tendon.guided_by is None:
            return
        field = f'tendons.{name}.guided_by'
        if tendon.guided_by not in self.discs:
            raise UnknownName(field, tendon.guided_by, list(self.discs))
        rod = self.rod_name(tendon.rod)
        if self.rod_name(self.discs[tendon.guided_by].rod) != rod:
            raise InvalidModel(field, tendon.guided_by, f"discs on the tendon's rod, {rod}")

    def _check_gaits(self) -> None:
        """Raise unless gaits bend rods that can, and stroke joints that are driven, once each."""
        taken: dict[str, str] = {}
        for name, gait in self.gaits.items():
            if isinstance(gait, Wave):
                self._check_rod(f'gaits.{name}', gait.rod)
                parts = [f'{self.rod_name(gait.rod)}, about {gait.bends}']
                if not getattr(self.modes, f'bend_{gait.bends}'):
                    raise InvalidModel(
                        f'gaits.{name}.bends', gait.bends,
                        f'an axis about which rods bend: modes.bend_{gait.bends} is 0')
            else:
                parts = list(gait.joints)
                self._check_strokes(name, gait)
            for part in parts:
                if part in taken:
                    raise InvalidModel(
                        f'gaits.{name}', part, f'what no other gait moves: {taken[part]} does')
                taken[part] = name

    def _check_strokes(self, name: str, gait: Stroke) -> None:
        for joint in gait.joints:
            if joint not in self.drives:
                raise UnknownName(f'gaits.{name}.joints', joint, list(self.drives))
            drive = self.drives[joint]
            if drive.command != 'angle':
                raise InvalidModel(f'gaits.{name}.joints.{joint}', drive.coordinate.drive,
                                   'a joint that turns, with a position drive')

    def _check_legs(self) -> None:
        """Raise unless each leg has a rod of its own that can be fed."""
        taken = set()
        for name, leg in self.legs.items():
            rod = self._check_rod(f'legs.{name}', leg.rod)
            if leg.rod in taken:
                raise InvalidModel(f'legs.{name}.rod', leg.rod, 'the rod of no other leg')
            taken.add(leg.rod)
            self._check_feed(name, leg, rod)

    @staticmethod
    def _check_feed(name: str, leg: Leg, rod: MountedRod) -> None:
        """Raise unless a leg's rod can be fed by its first segment, within its limits."""
        first = rod.segments[0]
        for field, value in (
            ('tip_section', first.tip_section),
            ('rest.tip_curvature', first.rest.tip_curvature),
        ):
            if value is not None:
                raise InvalidModel(
                    f'rods.{leg.rod}.segments[0].{field}', value,
                    'left out: a leg is fed by its first segment, which must be uniform')
        lower, upper = leg.bounds
        if not lower <= rod.length <= upper:
            raise InvalidModel(
                f'legs.{name}.limits', (lower, upper),
                f"a range around the rod's length at rest, {rod.length:g} [m]")
        fixed = rod.length - first.length
        if leg.limits and len(rod.segments) > 1 and lower <= fixed:
            raise InvalidModel(
                f'legs.{name}.limits.lower', lower,
                f"more than the rod's segments after the first, {fixed:g} [m]")

    def _check_demonstration(self) -> None:
        """Raise unless moves command actuators within their limits, and load rods on them."""
        places: dict[str, LoadPlace] = {}
        for i, move in enumerate(self.demonstration):
            field = f'demonstration[{i}].commands'
            for name, value in move.commands.items():
                if name not in self.actuators:
                    raise UnknownName(f'{field}.{name}', name, list(self.actuators))
                least, most = self.actuators[name].bounds
                check_number(f'{field}.{name}', value, least=least, most=most,
                             unit=self.actuators[name].unit)
            for name, load in move.loads.items():
                self._check_load(f'demonstration[{i}].loads.{name}', load)
                if load.place != places.setdefault(name, load.place):
                    raise InvalidModel(f'demonstration[{i}].loads.{name}', load,
                                       f'a load on {places[name]}, as in an earlier move')

    def _check_load(self, field: str, load: MoveLoad) -> None:
        """Raise unless a load is on the platform or within its rod."""
        if self.platform is not None and load.rod is None:
            if load.at is not None or load.extent:
                raise InvalidModel(f'{field}.rod', None, 'given where at or extent is')
            return
        rod = self._check_rod(field, load.rod)
        self._check_within(f'{field}.at', rod, load.at)
        if load.extent:
            start = rod.length if load.at is None else load.at
            self._check_within(f'{field}.extent', rod, start + load.extent)

    # --- Its parts ------------------------------------------------------------------------------

    @cached_property
    def actuators(self) -> Mapping[str, Union[Tendon, Chamber, Leg, JointDrive, GaitDrive]]:
        """All actuators by name: tendons, chambers, legs, joints, gaits, as in the file."""
        stroked = {joint for gait in self.gaits.values() if isinstance(gait, Stroke)
                   for joint in gait.joints}
        drives = {name: drive for name, drive in self.drives.items() if name not in stroked}
        return MappingProxyType({
            **self.tendons, **self.chambers, **self.legs, **drives, **self.gait_drives})

    @cached_property
    def gait_drives(self) -> Mapping[str, GaitDrive]:
        """Actuators that are parameters of gaits, by name."""
        return MappingProxyType(gait_drives(self.gaits))

    @cached_property
    def drives(self) -> Mapping[str, JointDrive]:
        """What drives joints, by name: those between bodies, then those of rods."""
        return MappingProxyType(drives_of(self.moving))

    @cached_property
    def moving(self) -> Mapping[str, NamedJoint]:
        """All joints, by the names that assemblies have for them, see `assembly.Places`."""
        joints = {name: NamedJoint(name, joint) for name, joint in self.joints.items()}
        for name, rod in self.rods.items():
            for end, mount in (('base', rod.base), ('tip', rod.tip)):
                if mount is not None and mount.joint is not None:
                    joints[f'{name}.{end}'] = NamedJoint(f'{name}_{end}', mount.joint)
        return MappingProxyType(joints)

    @cached_property
    def standing(self) -> Mapping[str, Body]:
        """Bodies by themselves: those that joints or rods end on, or with a pose or frames."""
        named = {end for joint in self.joints.values() for end in (joint.parent, joint.child)}
        named |= {mount.on for rod in self.rods.values()
                  for mount in (rod.base, rod.tip) if mount is not None}
        return MappingProxyType({
            name: body for name, body in self.bodies.items()
            if name in named or name == self.tip.on or body.pose is not None or body.frames})

    @cached_property
    def carried(self) -> Mapping[str, Body]:
        """Bodies that are fixed to rods."""
        return MappingProxyType({
            name: body for name, body in self.bodies.items() if name not in self.standing})

    def place(self, mount: Mount) -> np.ndarray:
        """Return the pose of a rod's end on the body that holds it, (4, 4) [m]."""
        return self.on_body(mount.on, mount.frame, mount)

    def on_body(self, body: str, frame: Optional[str], pose: Pose) -> np.ndarray:
        """Return a pose, seen from a frame of a body, as seen from the body, (4, 4) [m]."""
        if frame is None:
            return pose.matrix()
        return self.bodies[body].frames[frame].matrix() @ pose.matrix()

    def rod(self, name: Optional[str]) -> MountedRod:
        """Return the rod of this name, or the only one for None."""
        return self.rods[self.rod_name(name)]

    def rod_name(self, name: Optional[str]) -> str:
        """Return the name itself, or that of the only rod for None."""
        return next(iter(self.rods)) if name is None else name

    def modes_of(self, rod: str) -> StrainModes:
        """Return how finely a rod is resolved: as it says, or as the robot does."""
        return self.rods[rod].modes or self.modes

    def path(self, name: str) -> Path:
        """Return the path of a tendon or a chamber."""
        actuator = self.tendons.get(name) or self.chambers.get(name)
        if actuator is None:
            raise UnknownName('path', name, [*self.tendons, *self.chambers])
        rod = self.rod_name(actuator.rod)
        end = self.rods[rod].length
        if actuator.ends_at is not None:
            end = min(end, actuator.ends_at)  # which may be rounded
        areas = (0.0, 0.0)
        if isinstance(actuator, Chamber):
            tip = actuator.area if actuator.tip_area is None else actuator.tip_area
            areas = (actuator.area, tip)
        return Path(rod, actuator.starts_at, end, actuator.routing, areas)

    # --- Its shape ------------------------------------------------------------------------------

    def rest_shape(self, stations: int) -> dict[str, RodShape]:
        """
        Return the shape free of all loads, gravity too: what the rods are made as.

        The legs of a platform may have to be bent to meet it; here they are not. A rod that stands
        on a body is seen from there.

        Parameters
        ----------
        stations : int
            Number of equally spaced stations per rod, both ends included, >= 2.

        """
        shape = {}
        for name, rod in self.rods.items():
            s = np.linspace(0.0, rod.length, stations)
            shape[name] = RodShape(
                s, rod.rest_poses(s, self.place(rod.base)), rod.rest_strain(s))
        return shape

    def rest_position(self, name: str) -> float:
        """Return where an actuator is at rest: displacement [m], volume [m^3] or length [m]."""
        if name in self.legs:
            return self.rods[self.legs[name].rod].length
        return self._rest_volume(self.path(name)) if name in self.chambers else 0.0

    def _rest_volume(self, path: Path) -> float:
        """Return what the sections of a chamber sweep, the integral of A e_3 . (v + u x r)."""
        rod = self.rods[path.rod]
        inside = rod.breaks[(rod.breaks > path.start) & (rod.breaks < path.end)]
        ends = np.array([path.start, *inside, path.end])
        fine = np.interp(np.arange(32 * (len(ends) - 1) + 1) / 32, np.arange(len(ends)), ends)
        x, weights = leggauss(4)
        half = 0.5 * np.diff(fine)
        s = (0.5 * (fine[1:] + fine[:-1])[:, None] + half[:, None] * x).ravel()
        xi, r = rod.rest_strain(s), path.at(s)
        swept = xi[:, 2] + xi[:, 3] * r[:, 1] - xi[:, 4] * r[:, 0]
        return float((half[:, None] * weights).ravel() @ (path.area(s) * swept))

    def tip_pose(self, shape: Mapping[str, RodShape]) -> np.ndarray:
        """Return the pose of the tip in base_link, (4, 4) [m]; on no body but the platform."""
        if self.tip.on is not None:
            raise InvalidModel('tip.on', self.tip.on, 'left out: where bodies are is not known')
        carrier = (
            shape[self.rod_name(self.tip.rod)].poses[-1] if self.platform is None
            else self.platform_pose(shape))
        return carrier @ self.tip.offset.matrix()

    def platform_pose(self, shape: Mapping[str, RodShape]) -> np.ndarray:
        """
        Return the pose of the platform in base_link, (4, 4) [m], as the tips of the legs have it.

        Exact where the tips meet it; where they do not, as at rest, the one that fits best: by
        least squares of the attachments' positions and of the directions that the joints keep.
        """
        tips = np.array([shape[leg.rod].poses[-1] for leg in self.legs.values()])
        held = np.array([leg.attachment.matrix() for leg in self.legs.values()])
        there, here = tips[:, :3, 3], held[:, :3, 3]
        size = np.abs(here).max() or 1.0
        H = (there - there.mean(axis=0)).T @ (here - here.mean(axis=0)) / size ** 2
        for leg, g, a in zip(self.legs.values(), tips[:, :3, :3], held[:, :3, :3]):
            if leg.joint == 'clamped':
                H += g @ a.T
            elif leg.joint == 'revolute':
                H += np.outer(g @ leg.axis, a @ leg.axis)
        if np.linalg.matrix_rank(H, tol=1e-9 * np.abs(H).max()) < 2:  # free to turn
            H = H + 1e-3 * tips[0, :3, :3] @ held[0, :3, :3].T
        U, _, Vt = np.linalg.svd(H)
        g = np.eye(4)
        g[:3, :3] = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        g[:3, 3] = there.mean(axis=0) - g[:3, :3] @ here.mean(axis=0)
        return g


def load(path: str | FilePath) -> Robot:
    """Read a robot from a YAML file; raise `InvalidDescription` with file, line and reason."""
    return description.load(path, Robot)
