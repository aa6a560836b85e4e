"""
What a robot has beside its rods: actuators, discs, bodies, a platform.

The dataclasses are the vocabulary of the files in `config/`, as those of `description.robot`,
which puts them together and checks that they fit. SI units.

An actuator is a joint for ROS: its command goes by the interface `effort` (tension [N], pressure
[Pa]) or `position` (displacement [m], volume [m^3], amount of gas [mol], length [m]). Joints that
are driven (`description.joints`) are told position, velocity or effort; what gaits
(`description.gaits`) are told goes by the interface `position`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import NamedTuple, Optional

import numpy as np

from ..checks.errors import InvalidModel
from ..checks.fields import (
    Checked,
    choice,
    FARTHEST,
    instance,
    integer,
    mapping,
    number,
    numbers,
    points,
    position,
    text,
    vector,
)
from ..numerics.integrators import SCHEMES
from .routing import BaseRouting, Routing

ROUNDED = 0.01  # relative: moments of inertia are often given with two digits
LEAST_STIFFNESS, MOST_STIFFNESS = 1e-3, 1e12  # [N/m^2] of contact: diamond is of 1e12 Pa
LEAST_DEPTH = 1e-12  # [m] of contact under load: less than an atom
MOST_LOAD = 1e9      # [N/m, N] of contact
MOST_DAMPING = 1e6   # [s/m] of contact


@dataclass(frozen=True)
class Pose(Checked):
    """
    Pose of a frame in another.

    Parameters
    ----------
    position : (3,) tuple
        Position of its origin [m].
    roll_pitch_yaw : (3,) tuple
        Rotations about the fixed axes x, y and z, in this order, as in URDF [rad].

    """

    position: tuple[float, float, float] = position(default=(0.0, 0.0, 0.0))
    roll_pitch_yaw: tuple[float, float, float] = vector('rad', default=(0.0, 0.0, 0.0))

    def matrix(self) -> np.ndarray:
        """Return the homogeneous transform, (4, 4)."""
        (cx, cy, cz), (sx, sy, sz) = (
            map(of, self.roll_pitch_yaw) for of in (math.cos, math.sin))
        g = np.eye(4)
        g[:3, :3] = ((cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
                     (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
                     (0.0 - sy, cy * sx, cy * cx))
        g[:3, 3] = self.position
        return g


# --- Actuators ----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Limits(Checked):
    """
    Range of an actuator's command.

    Parameters
    ----------
    lower : float
        Least command [the command's unit].
    upper : float
        Greatest command [the command's unit].
    rate : float, optional
        Greatest change per second; none if left out [the command's unit per second].

    """

    lower: float = number("the command's unit")
    upper: float = number("the command's unit")
    rate: Optional[float] = number("the command's unit per second", default=None, above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower > self.upper:
            raise InvalidModel('lower', self.lower, f'at most upper, {self.upper:g}')


class Command(NamedTuple):
    """What an actuator can be told: unit, interface of its joint, least value that makes sense."""

    unit: str
    interface: str
    least: float = -math.inf


COMMANDS = {
    'tension': Command('N', 'effort', 0.0),  # a tendon can only pull
    'displacement': Command('m', 'position'),
    'pressure': Command('Pa', 'effort'),
    'volume': Command('m^3', 'position', 0.0),
    'amount': Command('mol', 'position', 0.0),
    'length': Command('m', 'position', 0.0),
    'position': Command('m', 'position'),  # from here on, of joints
    'angle': Command('rad', 'position'),
    'velocity': Command('m/s', 'velocity'),
    'angular_velocity': Command('rad/s', 'velocity'),
    'force': Command('N', 'effort'),
    'moment': Command('N m', 'effort'),
    'factor': Command('-', 'position'),  # from here on, of gaits
    'frequency': Command('Hz', 'position'),
    'curvature': Command('1/m', 'position'),
    'stroke': Command('rad', 'position'),
}


@dataclass(frozen=True, kw_only=True)
class Actuator(Checked):
    """What all actuators share: a `command` and its `limits`."""

    command: str
    limits: Optional[Limits] = instance(Limits, 'limits', default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limits and self.limits.lower < self._least:
            raise InvalidModel(
                'limits.lower', self.limits.lower, f'>= {self._least:g} [{self.unit}]')

    @property
    def unit(self) -> str:
        """Unit of the command."""
        return COMMANDS[self.command].unit

    @property
    def interface(self) -> str:
        """Field of a JointState that commands it: 'effort', 'position' or 'velocity'."""
        return COMMANDS[self.command].interface

    @property
    def rate(self) -> Optional[float]:
        """Greatest change of the command per second; None without limit [unit/s]."""
        return self.limits.rate if self.limits else None

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest command, infinite where there is no limit [unit]."""
        if self.limits:
            return self.limits.lower, self.limits.upper
        return self._least, math.inf

    @property
    def _least(self) -> float:
        return COMMANDS[self.command].least


@dataclass(frozen=True, kw_only=True)
class _Routed(Actuator):
    """
    What tendons and chambers share: a path along a rod.

    Parameters
    ----------
    routing : Parallel, Convergent, Helical, Polynomial or Tabulated
        Where it runs in the section.
    rod : str, optional
        Name of its rod; may be left out where there is only one.
    starts_at : float, optional
        Arc length where it begins [m]; the base of the rod if left out.
    ends_at : float, optional
        Arc length where it is fastened [m]; the tip of the rod if left out.

    """

    routing: Routing = instance(BaseRouting, 'a routing')
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)
    starts_at: float = number('m', least=0.0, most=FARTHEST, default=0.0)
    ends_at: Optional[float] = number('m', above=0.0, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ends_at is not None and self.ends_at <= self.starts_at:
            raise InvalidModel(
                'ends_at', self.ends_at, f'more than starts_at, {self.starts_at:g} [m]')


@dataclass(frozen=True, kw_only=True)
class Tendon(_Routed):
    """
    A tendon along a rod.

    Parameters
    ----------
    routing, rod, starts_at, ends_at
        Its path, see `_Routed`.
    command : str
        What the robot is told: 'tension' [N] or 'displacement' of its motor [m], > 0 pulls,
        0 for a tendon that just fits the rest shape.
    compliance : float
        Stretch of the whole tendon up to its motor per tension [m/N].
    pretension : float
        Tension in the rest shape at displacement 0 [N]: the tendon is shorter by
        ``compliance pretension``. Needs a compliance.
    damping_friction : float
        beta of Till 2019, section 5.2.1 [s/m]: ``-beta tau |u| nu e_3`` acts on the backbone
        where the tendon slides at nu.
    coulomb_friction : float
        Coefficient of dry friction along the path [-]: where the tendon bends it is pressed on
        its channel, and sticks there until the tension changes too much on the way.
    presliding : float
        Elastic sliding before it slips [m].
    guided_by : str, optional
        Name of the discs through whose holes it runs, straight from one to the next; if left
        out it follows its routing everywhere.
    straight_in : str
        How it is straight from disc to disc: in the 'section', at offsets that are linear in
        between, as in a channel; or in 'space', as a free string.
    limits : Limits, optional
        Limits of the command.

    """

    command: str = choice('tension', 'displacement', default='tension')
    compliance: float = number('m/N', least=0.0, default=0.0)
    pretension: float = number('N', least=0.0, default=0.0)
    damping_friction: float = number('s/m', least=0.0, default=0.0)
    coulomb_friction: float = number('-', least=0.0, most=100.0, default=0.0)
    presliding: float = number('m', least=1e-9, most=FARTHEST, default=1e-4)
    guided_by: Optional[str] = text('.+', 'the name of discs', default=None)
    straight_in: str = choice('section', 'space', default='section')

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pretension > 0.0 and self.compliance == 0.0:
            raise InvalidModel('pretension', self.pretension, '0 [N] without a compliance')
        if self.straight_in == 'space' and self.guided_by is None:
            raise InvalidModel('straight_in', 'space', "'section' without discs (guided_by)")

    @property
    def rubs(self) -> bool:
        """Whether it has friction in its channel."""
        return self.damping_friction > 0.0 or self.coulomb_friction > 0.0


@dataclass(frozen=True, kw_only=True)
class Chamber(_Routed):
    """
    A chamber along a rod that fluid is pressed into (Till 2019, section 5.3).

    Parameters
    ----------
    routing, rod, starts_at, ends_at
        Path of its middle, see `_Routed`.
    area : float
        Area of its section [m^2].
    tip_area : float, optional
        Area where it ends, if it varies: linear in between [m^2].
    command : str
        What the robot is told: 'pressure' above ambient [Pa], 'volume' of an incompressible
        fluid in the chamber [m^3], or 'amount' of an ideal gas in chamber and supply line [mol].
    temperature : float
        Temperature of the gas [K].
    ambient_pressure : float
        Pressure around the robot [Pa].
    supply_lag : float
        Time constant by which what is in the chamber follows the command [s].
    dead_volume : float
        Volume of the supply line, for gas [m^3].
    limits : Limits, optional
        Limits of the command.

    """

    area: float = number('m^2', above=0.0)
    tip_area: Optional[float] = number('m^2', above=0.0, default=None)
    command: str = choice('pressure', 'volume', 'amount', default='pressure')
    temperature: float = number('K', above=0.0, default=293.15)
    ambient_pressure: float = number('Pa', least=0.0, default=101325.0)
    supply_lag: float = number('s', least=0.0, default=0.0)
    dead_volume: float = number('m^3', least=0.0, default=0.0)

    @property
    def _least(self) -> float:
        return -self.ambient_pressure if self.command == 'pressure' else super()._least


@dataclass(frozen=True, kw_only=True)
class Leg(Actuator):
    """
    A rod that is fed through the base plate and carries the platform (Till 2019, section 5.1).

    The rod's own length is what stands out of the plate at rest. To feed it is to lengthen or
    shorten its first segment, which must be uniform.

    Parameters
    ----------
    rod : str
        Name of its rod.
    command : str
        'length' that stands out [m].
    attachment : Pose
        Pose of the rod's tip, seen from the platform, as it is held there, or where the joint is
        at angle 0.
    joint : str
        'clamped', 'spherical' or 'revolute'.
    axis : (3,) tuple
        Axis of a revolute joint, seen from the attachment; kept as a unit vector.
    limits : Limits, optional
        Limits of the length.

    """

    rod: str = text('.+', 'the name of a rod')
    command: str = choice('length', default='length')
    attachment: Pose = instance(Pose, 'a pose', default=Pose())
    joint: str = choice('clamped', 'spherical', 'revolute', default='clamped')
    axis: Optional[tuple[float, float, float]] = vector('-', default=None, least=-1e3, most=1e3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limits and self.limits.lower == 0.0:
            raise InvalidModel('limits.lower', 0.0, '> 0 [m]')
        if (self.axis is None) == (self.joint == 'revolute'):
            raise InvalidModel('axis', self.axis, 'given for a revolute joint, and for no other')
        if self.axis is not None:
            size = math.hypot(*self.axis)
            if size < 1e-9:
                raise InvalidModel('axis', self.axis, 'a direction, not zero')
            object.__setattr__(self, 'axis', tuple(x / size for x in self.axis))


# --- Rigid parts --------------------------------------------------------------------------------

@dataclass(frozen=True)
class Inertia(Checked):
    """
    Moments and products of inertia, as in URDF.

    Parameters
    ----------
    xx : float
        Moment about the x axis [kg m^2].
    yy : float
        Moment about the y axis [kg m^2].
    zz : float
        Moment about the z axis [kg m^2].
    xy : float
        Product: element of the tensor, minus the integral of x y [kg m^2].
    xz : float
        Product, minus the integral of x z [kg m^2].
    yz : float
        Product, minus the integral of y z [kg m^2].

    """

    xx: float = number('kg m^2', least=0.0)
    yy: float = number('kg m^2', least=0.0)
    zz: float = number('kg m^2', least=0.0)
    xy: float = number('kg m^2', default=0.0)
    xz: float = number('kg m^2', default=0.0)
    yz: float = number('kg m^2', default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        a, b, c = self.principal
        if a < -1e-9 * c or c > (1.0 + ROUNDED) * (a + b):
            raise InvalidModel(
                'principal moments', (a, b, c),
                f'>= 0, none more than the sum of the others (but for {ROUNDED:.0%}) [kg m^2]')

    def matrix(self) -> np.ndarray:
        """Return the tensor, (3, 3) [kg m^2]."""
        return np.array([
            [self.xx, self.xy, self.xz], [self.xy, self.yy, self.yz], [self.xz, self.yz, self.zz]])

    @property
    def principal(self) -> tuple[float, ...]:
        """The three principal moments, in ascending order [kg m^2]."""
        return tuple(np.linalg.eigvalsh(self.matrix()).tolist())


def principal_axes(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return principal moments (3,), ascending, and right-handed axes, as columns (3, 3)."""
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 0] *= np.sign(np.linalg.det(axes))  # Euler's equations hold in right-handed axes
    return moments, axes


def check_line_stiffness(field: str, value: float, stiffness: float, load: str) -> None:
    """Raise unless the stiffness of contact that a field and a load make is sensible [N/m^2]."""
    if not LEAST_STIFFNESS <= stiffness <= MOST_STIFFNESS:
        raise InvalidModel(
            field, value, f'such that with the {load} contact has a stiffness >= '
            f'{LEAST_STIFFNESS:g} and <= {MOST_STIFFNESS:g} [N/m^2], not {stiffness:.3g}')


@dataclass(frozen=True)
class ContactSpheres(Checked):
    """
    Balls by which a rigid body touches obstacles, with the obstacles' friction.

    Its stiffness is stated, or follows from a penetration that a load may make.

    Parameters
    ----------
    points : list of [x, y, z]
        Their centres, in the body's frame [m].
    radius : float
        Radius of each [m].
    stiffness : float, optional
        Force per penetration, of each [N/m].
    damping : float
        Damping, as for rods [s/m].
    grip : float
        Tangential stiffness, as for rods [-].
    penetration : float, optional
        Instead of a stiffness: penetration [m] under `load`.
    load : float, optional
        Instead of a stiffness: force on a ball [N] at which it goes as deep as `penetration`.

    """

    points: tuple[tuple[float, float, float], ...] = points(fewest=1, size=3)
    radius: float = number('m', above=0.0, most=FARTHEST)
    stiffness: Optional[float] = number(
        'N/m', default=None, least=LEAST_STIFFNESS, most=MOST_STIFFNESS)
    damping: float = number('s/m', default=10.0, least=0.0, most=MOST_DAMPING)
    grip: float = number('-', default=0.5, above=0.0, most=10.0)
    penetration: Optional[float] = number('m', default=None, least=LEAST_DEPTH, most=FARTHEST)
    load: Optional[float] = number('N', default=None, above=0.0, most=MOST_LOAD)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.penetration is None) != (self.load is None):
            raise InvalidModel('penetration', self.penetration, 'given with a load')
        if (self.stiffness is None) == (self.penetration is None):
            raise InvalidModel(
                'stiffness', self.stiffness, 'given, or else a penetration and a load')
        field = 'stiffness' if self.penetration is None else 'penetration'
        check_line_stiffness(
            field, getattr(self, field), self.ball_stiffness / self.radius, 'radius')

    @property
    def ball_stiffness(self) -> float:
        """Force per penetration of each ball [N/m]."""
        if self.stiffness is not None:
            return self.stiffness
        assert self.penetration is not None and self.load is not None
        return self.load / self.penetration


@dataclass(frozen=True)
class Body(Checked):
    """
    A rigid body: fixed to a rod (a payload, a marker), or a part by itself (a palm, a link).

    It is one by itself if a joint or an end of a rod names it, or if it has a pose or frames.

    Parameters
    ----------
    mass : float
        Mass; > 0 if it is fixed to a rod [kg].
    at : float, optional
        Arc length, if it is fixed to a rod; the end of the rod if left out [m].
    rod : str, optional
        Name of the rod that it is fixed to; may be left out where there is only one.
    centre_of_mass : (3,) tuple
        Seen from the rod's body frame there, or from its own frame [m].
    inertia : Inertia
        Inertia about the centre of mass, along the axes of that frame; none for a point mass.
    pose : Pose, optional
        Pose of a body by itself at the start, seen from base_link; ignored if a joint or a single
        rod carries it.
    frames : mapping of str to Pose
        Frames on a body by itself, where joints, rods or the tip can be.
    contact : ContactSpheres, optional
        Balls by which a body by itself touches obstacles; without, it passes through them.

    """

    mass: float = number('kg', least=0.0, default=0.0)
    at: Optional[float] = number('m', least=0.0, default=None)
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)
    centre_of_mass: tuple[float, float, float] = position(default=(0.0, 0.0, 0.0))
    inertia: Inertia = instance(Inertia, 'moments of inertia', default=Inertia(0.0, 0.0, 0.0))
    pose: Optional[Pose] = instance(Pose, 'a pose', default=None)
    frames: Mapping[str, Pose] = mapping(Pose, 'poses')
    contact: Optional[ContactSpheres] = instance(ContactSpheres, 'contact spheres', default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mass == 0.0 and self.inertia.principal[2] > 0.0:
            raise InvalidModel('mass', self.mass, 'a finite number > 0 [kg] with an inertia')

    def check_mass(self, field: str) -> None:
        """Raise unless it has a mass, as what a rod carries must have."""
        if not self.mass > 0.0:
            raise InvalidModel(field, self.mass, 'a finite number > 0 [kg] on a rod')


@dataclass(frozen=True)
class Platform(Checked):
    """
    The rigid plate that legs carry, its frame in its centre of mass.

    Parameters
    ----------
    mass : float
        Mass [kg].
    inertia : Inertia
        Inertia about its centre of mass.
    radius : float
        Radius of the disc that is drawn about its z axis [m].
    thickness : float
        Thickness of that disc [m].

    """

    mass: float = number('kg', above=0.0)
    inertia: Inertia = instance(Inertia, 'moments of inertia')
    radius: float = number('m', above=0.0, most=FARTHEST)
    thickness: float = number('m', above=0.0, most=FARTHEST)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.inertia.principal[0] > 0.0:
            raise InvalidModel('inertia', self.inertia.principal, '> 0 about every axis [kg m^2]')


@dataclass(frozen=True)
class Discs(Checked):
    """
    Equal discs along a rod that guide the tendons.

    Parameters
    ----------
    radius : float
        Radius of each [m].
    thickness : float
        Extent along the rod [m].
    count : int, optional
        How many, evenly spaced with the last one at the rod's end; or else `at`.
    at : tuple of float, optional
        Their arc lengths [m]; or else `count`.
    rod : str, optional
        Name of the rod; may be left out where there is only one.

    """

    radius: float = number('m', above=0.0)
    thickness: float = number('m', above=0.0)
    count: Optional[int] = integer(least=1, most=1000, default=None)
    at: Optional[tuple[float, ...]] = numbers(
        'm', fewest=1, increasing=True, default=None, least=0.0)
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.count is None) == (self.at is None):
            raise InvalidModel('count, at', (self.count, self.at), 'one given, the other not')

    def arc_lengths(self, length: float) -> np.ndarray:
        """Return where they are on a rod of this length [m], (count,) [m]."""
        if self.at is not None:
            return np.array(self.at)
        assert self.count is not None
        return np.linspace(0.0, length, self.count + 1)[1:]


@dataclass(frozen=True)
class Tip(Checked):
    """
    The tip frame: at the end of a rod, on a body, or on the platform if there is one.

    Parameters
    ----------
    offset : Pose
        Pose of the tip frame, seen from what carries it.
    rod : str, optional
        Name of the rod that carries it; may be left out where there is only one.
    on : str, optional
        Name of the body that carries it instead of a rod.
    frame : str, optional
        Frame of that body that the offset is seen from.

    """

    offset: Pose = instance(Pose, 'a pose', default=Pose())
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)
    on: Optional[str] = text('.+', 'the name of a body', default=None)
    frame: Optional[str] = text('.+', 'the name of a frame', default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.on is not None and self.rod is not None:
            raise InvalidModel('on', self.on, 'left out where a rod is named, or no rod')
        if self.on is None and self.frame is not None:
            raise InvalidModel('frame', self.frame, 'left out without a body (on)')


# --- Surroundings and numerics ------------------------------------------------------------------

@dataclass(frozen=True)
class Drag(Checked):
    """
    Force of the surrounding fluid on a rod, per length, body frame.

    ``-(square |q| q + linear q)``, each component by itself, q the velocity of the section along
    the local x, y and z [m/s]; `square` is C of Till 2019, eq. (3).

    Parameters
    ----------
    square : (3,) tuple
        Coefficients of the square of the velocity along the local x, y and z [kg/m^2].
    linear : (3,) tuple
        Coefficients of the velocity along the local x, y and z [kg/(m s)].

    """

    square: tuple[float, float, float] = vector('kg/m^2', default=(0.0,) * 3, least=0.0)
    linear: tuple[float, float, float] = vector('kg/(m s)', default=(0.0,) * 3, least=0.0)


@dataclass(frozen=True)
class TimeStepping(Checked):
    """
    Time stepping of the simulation.

    Parameters
    ----------
    step : float
        Time step [s].
    scheme : str
        Implicit scheme; see `cosserat_ros.numerics.integrators`.

    """

    step: float = number('s', least=1e-6, most=1.0, default=1.0 / 60.0)
    scheme: str = choice(*SCHEMES, default='generalised_alpha')
