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
from pathlib import Path
from typing import ClassVar, NamedTuple, Optional

import numpy as np
from scipy.spatial.transform import Rotation

from . import description
from .checked import (
    Checked,
    choice,
    instance,
    integer,
    mapping,
    number,
    position,
    text,
    vector,
)
from .errors import InvalidModel, UnknownName
from .lie import exp_se3, inverse_se3, log_se3
from .rod import Rod


@dataclass(frozen=True)
class Pose(Checked):
    """Position [m] and fixed-axis roll, pitch, yaw [rad] of a frame in another (as in URDF)."""

    position: tuple[float, float, float] = position(default=(0.0, 0.0, 0.0))
    roll_pitch_yaw: tuple[float, float, float] = vector('rad', default=(0.0, 0.0, 0.0))

    def matrix(self) -> np.ndarray:
        """Return the homogeneous transform, (4, 4)."""
        g = np.eye(4)
        g[:3, :3] = Rotation.from_euler('xyz', self.roll_pitch_yaw).as_matrix()
        g[:3, 3] = self.position
        return g


@dataclass(frozen=True)
class MountedRod(Rod):
    """A rod and the pose of its base, seen from base_link."""

    base: Pose = Pose()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.base, Pose):
            raise InvalidModel('base', self.base, 'a pose')


@dataclass(frozen=True)
class Limits(Checked):
    """Range of an actuator's command, in the unit of its command mode."""

    lower: float = number('N or m')
    upper: float = number('N or m')

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower > self.upper:
            raise InvalidModel('lower', self.lower, f'at most upper, {self.upper:g}')


@dataclass(frozen=True)
class ParallelRouting(Checked):
    """A tendon's way at a constant offset (x, y) [m] from the centroid, in the section."""

    shape: ClassVar[str] = 'parallel'
    offset: tuple[float, float] = position(size=2)

    def at(self, s: np.ndarray) -> np.ndarray:
        """Return r(s), (N, 3) [m], body frame (Till 2019, section 5.2)."""
        return np.broadcast_to((*self.offset, 0.0), (len(s), 3))


@dataclass(frozen=True)
class Tendon(Checked):
    """
    A tendon along a rod, from its base to `ends_at`.

    Parameters
    ----------
    routing : ParallelRouting
        Where it runs in the section.
    rod : str, optional
        Name of its rod; may be left out where there is only one.
    ends_at : float, optional
        Arc length where it is fastened [m]; the end of the rod if left out.
    command : str
        What the robot is told: 'tension' [N] or 'displacement' [m], > 0 pulls.
    limits : Limits, optional
        Of the command, in its unit.

    """

    routing: ParallelRouting = instance(ParallelRouting, 'a routing')
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)
    ends_at: Optional[float] = number('m', above=0.0, default=None)
    command: str = choice('tension', 'displacement', default='tension')
    limits: Optional[Limits] = instance(Limits, 'limits', default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limits and self.command == 'tension' and self.limits.lower < 0.0:
            raise InvalidModel(
                'limits.lower', self.limits.lower, '>= 0 [N]: a tendon can only pull')


@dataclass(frozen=True)
class Discs(Checked):
    """Equal discs along a rod that guide the tendons, the last one at its end."""

    radius: float = number('m', above=0.0)
    thickness: float = number('m', above=0.0)
    count: int = integer(least=1, most=1000)
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)


@dataclass(frozen=True)
class Tip(Checked):
    """Where the tip frame is, seen from the end of a rod."""

    offset: Pose = instance(Pose, 'a pose', default=Pose())
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)


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
        fraction = (s - start) / (end - start)
        return np.array([
            self.poses[i] @ exp_se3(x * log_se3(inverse_se3(self.poses[i]) @ self.poses[i + 1]))
            for i, x in zip(k, fraction, strict=True)]).reshape(-1, 4, 4)


@dataclass(frozen=True)
class Robot(Checked):
    """
    A continuum robot.

    Parameters
    ----------
    name : str
        For people and logs.
    rods : mapping of str to MountedRod
        In the order of the file. A rod's name also names its frames.
    base : Pose
        Of base_link, seen from its parent frame.
    gravity : (3,) tuple
        Along the axes of the parent frame [m/s^2].
    tip : Tip
        The frame that tasks are set for.
    tendons : mapping of str to Tendon
        A tendon's name is its joint's name.
    discs : mapping of str to Discs
        Sets of discs.

    """

    name: str = text(
        r'[A-Za-z][A-Za-z0-9_]{0,63}', 'a letter, then up to 63 letters, digits and underscores')
    rods: Mapping[str, MountedRod] = mapping(MountedRod, 'rods', least=1)
    base: Pose = instance(Pose, 'a pose', default=Pose())
    gravity: tuple[float, float, float] = vector('m/s^2', default=(0.0, 0.0, -9.81))
    tip: Tip = instance(Tip, 'a tip', default=Tip())
    tendons: Mapping[str, Tendon] = mapping(Tendon, 'tendons')
    discs: Mapping[str, Discs] = mapping(Discs, 'discs')

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_rod('tip', self.tip.rod)
        for name, discs in self.discs.items():
            self._check_rod(f'discs.{name}', discs.rod)
        for name, tendon in self.tendons.items():
            rod = self._check_rod(f'tendons.{name}', tendon.rod)
            if tendon.ends_at is not None and tendon.ends_at > rod.length:
                raise InvalidModel(
                    f'tendons.{name}.ends_at', tendon.ends_at,
                    f"at most the rod's length, {rod.length:g} [m]")

    def _check_rod(self, owner: str, name: Optional[str]) -> MountedRod:
        """Return the rod that a part refers to, or raise with the part's path."""
        if name is not None and name not in self.rods:
            raise UnknownName(f'{owner}.rod', name, list(self.rods))
        if name is None and len(self.rods) > 1:
            raise InvalidModel(
                f'{owner}.rod', None, f'given where there are several: {", ".join(self.rods)}')
        return self.rod(name)

    def rod(self, name: Optional[str]) -> MountedRod:
        """Return the rod of this name, or the only one for None."""
        return self.rods[self.rod_name(name)]

    def rod_name(self, name: Optional[str]) -> str:
        """Return the name itself, or that of the only rod for None."""
        return next(iter(self.rods)) if name is None else name

    def tip_pose(self, shape: Mapping[str, RodShape]) -> np.ndarray:
        """Return the pose of the tip in base_link, (4, 4) [m]."""
        return shape[self.rod_name(self.tip.rod)].poses[-1] @ self.tip.offset.matrix()

    def rest_shape(self, stations: int) -> dict[str, RodShape]:
        """
        Return the shape free of all loads, gravity too: what the robot is made as.

        Parameters
        ----------
        stations : int
            Number of equally spaced stations per rod, both ends included, >= 2.

        """
        shape = {}
        for name, rod in self.rods.items():
            s = np.linspace(0.0, rod.length, stations)
            shape[name] = RodShape(
                s, rod.rest_poses(s, rod.base.matrix()), rod.rest_strain(s))
        return shape


def load(path: str | Path) -> Robot:
    """Read a robot from a YAML file; raise `InvalidDescription` with file, line and reason."""
    return description.load(path, Robot)
