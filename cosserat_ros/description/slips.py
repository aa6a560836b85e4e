"""
Values of a robot that are allowed, but look like a slip: of a wrong unit, most often.

A file is in SI units, and a value in another one is mostly valid too: a tendon 2.2 m beside a rod
of 0.1 m. `slips` finds such values by what they are compared with: the length of the rod, or what
materials are known for. They are reported, not rejected: a robot of a new kind may well have one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
from typing import Optional, Union

import numpy as np

from .parts import Chamber, Pose, Tendon
from .robot import MountedRod, Robot
from .rod import Segment

SOFTEST, HARDEST = 1e3, 2e12   # [Pa] Young's modulus: of a weak gel, and above diamond
SOFT_METAL = 1e8               # [Pa] below which nothing as dense as a metal is
METAL = 2500.0                 # [kg/m^3]
LIGHTEST, DENSEST = 20.0, 2e5  # [kg/m^3] of a foam; with discs and all, in that of the rod
LONGEST = 30.0                 # [m] of a rod
STRONGEST = 100.0              # [m/s^2] of gravity
TURN = 2.0 * math.pi           # [rad]
COLDEST = 150.0                # [K] of a gas
WEAKEST = 1e3                  # [Pa] that the greatest pressure of a chamber is
SLOWEST = 10.0                 # [s] of a relaxation time
HEAVIEST = 1e3                 # times the mass of all rods, that they carry
FULLEST = 100.0                # times the volume of a chamber at rest


@dataclass(frozen=True)
class Slip:
    """A value that is allowed but unlikely: the path of its field, and what is odd about it."""

    field: str
    text: str

    def __str__(self) -> str:
        return f'{self.field} {self.text}'


def slips(robot: Robot) -> list[Slip]:
    """Return the values of a robot that look like slips, in no particular order."""
    found = [*_gravity(robot), *_angles(robot), *_masses(robot), *_discs(robot)]
    for name, rod in robot.rods.items():
        found += _rod(f'rods.{name}', rod)
    for kind, routed in (('tendons', robot.tendons), ('chambers', robot.chambers)):
        for name, actuator in routed.items():
            found += _routed(robot, f'{kind}.{name}', name, actuator)
    for name, leg in robot.legs.items():
        if leg.limits:
            found += _beside(
                f'legs.{name}.limits.upper', leg.limits.upper, 10.0 * robot.rods[leg.rod].length,
                "ten times the rod's length")
    return found


def _over(field: str, value: float, unit: str, odd: str, meant: str) -> Slip:
    question = f'; was {meant} meant?' if meant else ''
    return Slip(field, f'of {value:g} {unit} {odd}{question}')


def _beside(
    field: str, value: float, length: float, name: str = "the rod's length",
) -> Iterator[Slip]:
    """Yield a slip where a value [m] is larger than a length that it belongs to [m]."""
    value = abs(value)
    if value > length:
        # In metres it is thousand times what it would be in millimetres.
        meant = '; was mm meant?' if 1e-3 * value <= length else ''
        yield Slip(field, f'of {value:g} m is {value / length:.3g} times {name} of {length:g} m'
                   f'{meant}')


def _gravity(robot: Robot) -> Iterator[Slip]:
    size = math.hypot(*robot.gravity)
    if size > STRONGEST:
        yield _over('gravity', size, 'm/s^2', f'is {size / 9.81:.3g} times that of the earth',
                    'mm/s^2')


def _rod(field: str, rod: MountedRod) -> Iterator[Slip]:
    if rod.length > LONGEST:
        yield _over(f'{field}.segments', rod.length, 'm', 'make a very long rod', 'mm')
    for i, segment in enumerate(rod.segments):
        here = f'{field}.segments[{i}]'
        yield from _section(here, rod, segment)
        yield from _material(f'{here}.material', segment)
        time = segment.damping.relaxation_time
        if time > SLOWEST:
            yield _over(f'{here}.damping.relaxation_time', time, 's', 'is long', 'ms')


def _section(field: str, rod: MountedRod, segment: Segment) -> Iterator[Slip]:
    for key in ('section', 'tip_section'):
        section = getattr(segment, key)
        if section is not None:
            extent = 0.5 * max(section.outline)
            yield from _beside(f'{field}.{key}', extent, rod.length)
            bend = max(math.hypot(*u[:2]) for u in (
                segment.rest.curvature, segment.rest.tip_curvature or (0.0, 0.0, 0.0)))
            if bend * extent > 1.0 and extent <= rod.length:
                yield Slip(f'{field}.rest', f'has a curvature of {bend:g} 1/m, by a radius of '
                           f'{1e3 / bend:.3g} mm: less than the section has, {1e3 * extent:g} mm')


def _material(field: str, segment: Segment) -> Iterator[Slip]:
    E, density = segment.material.young_modulus, segment.material.density
    if E < SOFTEST:
        meant = 'MPa' if E < 1.0 else 'GPa' if E >= 10.0 else 'MPa or GPa'
        yield _over(f'{field}.young_modulus', E, 'Pa', 'is softer than a gel', meant)
    elif E < SOFT_METAL and density > METAL:
        yield _over(f'{field}.young_modulus', E, 'Pa',
                    f'is soft for a density of {density:g} kg/m^3', 'MPa' if E > 1e3 else 'GPa')
    elif E > HARDEST:
        yield _over(f'{field}.young_modulus', E, 'Pa', 'is stiffer than diamond', '')
    if density < LIGHTEST:
        yield _over(f'{field}.density', density, 'kg/m^3', 'is lighter than a foam', 'g/cm^3')
    elif density > DENSEST:
        yield _over(f'{field}.density', density, 'kg/m^3', 'is denser than any metal', 'g/m^3')


def _routed(
    robot: Robot, field: str, name: str, actuator: Union[Tendon, Chamber],
) -> Iterator[Slip]:
    rod, path = robot.rod(actuator.rod), robot.path(name)
    offsets = path.at(np.linspace(path.start, path.end, 33))
    where = f'{field}.routing' + ('.offset' if hasattr(actuator.routing, 'offset') else '')
    yield from _beside(where, float(np.linalg.norm(offsets, axis=1).max()), rod.length)
    limits = actuator.limits
    if isinstance(actuator, Tendon):
        if actuator.command == 'displacement' and limits:
            yield from _beside(f'{field}.limits', max(-limits.lower, limits.upper), rod.length)
        if actuator.compliance > rod.length:
            yield _over(f'{field}.compliance', actuator.compliance, 'm/N',
                        "is more than the rod's length by 1 N", 'mm/N')
        return
    if max(actuator.area, actuator.tip_area or 0.0) > rod.length ** 2:
        yield _over(f'{field}.area', actuator.area, 'm^2',
                    "is more than the square of the rod's length", 'mm^2')
    if actuator.temperature < COLDEST:
        yield _over(f'{field}.temperature', actuator.temperature, 'K', 'is cold for a gas',
                    'degrees Celsius')
    if limits and actuator.command == 'pressure' and 0.0 < limits.upper < WEAKEST:
        yield _over(f'{field}.limits.upper', limits.upper, 'Pa', 'hardly bends anything',
                    'bar' if limits.upper <= 10.0 else 'kPa')
    if limits and actuator.command == 'volume' and limits.upper > FULLEST * (
            rest := robot.rest_position(name)):
        yield _over(f'{field}.limits.upper', limits.upper, 'm^3',
                    f'is {limits.upper / rest:.3g} times what the chamber has at rest', 'ml')


def _discs(robot: Robot) -> Iterator[Slip]:
    for name, discs in robot.discs.items():
        length = robot.rod(discs.rod).length
        for key in ('radius', 'thickness'):
            yield from _beside(f'discs.{name}.{key}', getattr(discs, key), length)


def _masses(robot: Robot) -> Iterator[Slip]:
    rods = sum(segment.mass for rod in robot.rods.values() for segment in rod.segments)
    held = {f'bodies.{name}.mass': body.mass for name, body in robot.carried.items()}
    if robot.platform is not None:
        held['platform.mass'] = robot.platform.mass
    for field, mass in held.items():
        if mass > HEAVIEST * rods:
            yield _over(field, mass, 'kg', f'is {mass / rods:.3g} times the mass of all rods', 'g')


def _angles(robot: Robot) -> Iterator[Slip]:
    poses: dict[str, Optional[Pose]] = {'base': robot.base, 'tip.offset': robot.tip.offset}
    for name, rod in robot.rods.items():
        poses |= {f'rods.{name}.base': rod.base, f'rods.{name}.tip': rod.tip}
    for name, leg in robot.legs.items():
        poses[f'legs.{name}.attachment'] = leg.attachment
    for name, body in robot.bodies.items():
        poses[f'bodies.{name}.pose'] = body.pose
        poses |= {f'bodies.{name}.frames.{frame}': at for frame, at in body.frames.items()}
    for field, pose in poses.items():
        most = max(map(abs, pose.roll_pitch_yaw)) if pose is not None else 0.0
        if most > TURN:
            yield _over(f'{field}.roll_pitch_yaw', most, 'rad', 'is more than a turn',
                        'degrees')
