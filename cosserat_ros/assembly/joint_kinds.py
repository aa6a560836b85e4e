"""
The kinds of joints: how each may move, as one or two joints of the tree.

All of Surmont's table 1 and of URDF. An `axis` is that of turning or sliding, or the normal of the
plane; a `second` axis is that of a universal joint's other turn, or the line that lies on a plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import math

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import InvalidModel, UnknownName
from .joint import ABOUT_AXIS, FREELY, RIGID
from .layout import JointShape

LEAST_AXIS = 1e-9  # norm of an axis


@dataclass(frozen=True)
class Coordinate:
    """
    What acts along one coordinate of a joint.

    Free, if nothing is said; sprung by `stiffness` and `damping`; forced by `effort`; or `driven`:
    its position is told, and its effort found. Limits hold: beyond them, the joint does not move.
    """

    stiffness: float = 0.0    # [N/m, N m/rad]
    damping: float = 0.0      # [N s/m, N m s/rad]
    rest: float = 0.0         # position without force of the spring [m, rad]
    effort: float = 0.0       # [N, N m]
    position: float = 0.0     # at the start, or told [m, rad]
    driven: bool = False
    least: float = -math.inf  # [m, rad]
    most: float = math.inf    # [m, rad]

    def __post_init__(self) -> None:
        for name in ('stiffness', 'damping'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise InvalidModel(name, value, 'finite and >= 0')
        for name in ('rest', 'effort', 'position'):
            if not math.isfinite(getattr(self, name)):
                raise InvalidModel(name, getattr(self, name), 'finite')
        if not self.least < self.most:
            raise InvalidModel('least', self.least, f'below most, {self.most:g}')
        if not self.least <= self.position <= self.most:
            raise InvalidModel(
                'position', self.position, f'within the limits, {self.least:g} to {self.most:g}')


@dataclass(frozen=True)
class JointKind:
    """
    A kind of joint with its axes.

    Parameters
    ----------
    name : str
        One of `KINDS`.
    axis, second : (3,) sequence of float
        Need not be of unit length; see the table at the top of this module.
    pitch : float
        Of a screw [m/rad].
    coordinates : sequence of Coordinate
        As many as there are, or none: all are free.

    """

    name: str = 'clamped'
    axis: ArrayLike = (0.0, 0.0, 1.0)
    second: ArrayLike = (1.0, 0.0, 0.0)
    pitch: float = 0.0
    coordinates: Sequence[Coordinate] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        if self.name not in KINDS:
            raise UnknownName('kind of joint', self.name, list(KINDS))
        for key in ('axis', 'second'):
            value = np.asarray(getattr(self, key), dtype=float)
            if value.shape != (3,) or not LEAST_AXIS < np.linalg.norm(value) < np.inf:
                raise InvalidModel(
                    key, getattr(self, key), f'three finite numbers, of a norm > {LEAST_AXIS:g}')
        if not math.isfinite(self.pitch):
            raise InvalidModel('pitch', self.pitch, 'finite [m/rad]')
        if self.coordinates and len(self.coordinates) != self.count:
            raise InvalidModel('coordinates', len(self.coordinates),
                               f'{self.count} for a joint that is {self.name}')
        for k, coordinate in enumerate(self.coordinates):
            if not self.turns_freely(k):
                continue
            why = (f'a joint that is {self.name} turns freely, which is counted from its last '
                   'attitude')
            if coordinate.least > -math.inf or coordinate.most < math.inf:
                raise InvalidModel(
                    f'coordinates[{k}].least', coordinate.least, f'not given, nor most: {why}')
            if coordinate.driven:
                raise InvalidModel(f'coordinates[{k}].driven', True, f'False: {why}')

    def turns_freely(self, coordinate: int) -> bool:
        """Return whether a coordinate is part of a turn about any axis."""
        for shape in self.shapes:
            if coordinate < shape.freedom:
                return shape.turns == FREELY and coordinate >= len(shape.slides)
            coordinate -= shape.freedom
        return False

    @property
    def shapes(self) -> list[JointShape]:
        """The joints of the tree that it is made of, one after another."""
        return KINDS[self.name](_unit(self.axis), _unit(self.second), self.pitch)

    @property
    def count(self) -> int:
        """Number of coordinates."""
        return sum(shape.freedom for shape in self.shapes)


def _unit(a: ArrayLike) -> np.ndarray:
    vector = np.asarray(a, dtype=float)
    return vector / np.linalg.norm(vector)


def _across(axis: np.ndarray) -> np.ndarray:
    """Return two axes perpendicular to one and to each other, (2, 3)."""
    helper = np.eye(3)[np.argmin(np.abs(axis))]
    first = _unit(np.cross(axis, helper))
    return np.array([first, np.cross(axis, first)])


_NONE = np.zeros((0, 3))


def _turning(axis: np.ndarray, slides: np.ndarray = _NONE, pitch: float = 0.0) -> JointShape:
    return JointShape(slides, ABOUT_AXIS, axis, pitch)


def _line_on_plane(axis: np.ndarray, second: np.ndarray, pitch: float) -> list[JointShape]:
    line = second - axis * (axis @ second)
    if np.linalg.norm(line) < 1e-9:
        raise InvalidModel('second', tuple(second), 'not along the normal of the plane, axis')
    return [_turning(axis, _across(axis)), _turning(_unit(line))]


def _universal(axis: np.ndarray, second: np.ndarray, pitch: float) -> list[JointShape]:
    if np.linalg.norm(np.cross(axis, second)) < 1e-9:
        raise InvalidModel('second', tuple(second), 'not along axis')
    return [_turning(axis), _turning(second)]


KINDS = {
    'clamped': lambda axis, second, pitch: [],
    'spherical': lambda axis, second, pitch: [JointShape(_NONE, FREELY)],
    'free': lambda axis, second, pitch: [JointShape(np.eye(3), FREELY)],
    'point_on_line': lambda axis, second, pitch: [JointShape(axis[None], FREELY)],
    'prismatic': lambda axis, second, pitch: [JointShape(axis[None], RIGID)],
    'point_on_plane': lambda axis, second, pitch: [JointShape(_across(axis), FREELY)],
    'line_on_plane': _line_on_plane,
    'revolute': lambda axis, second, pitch: [_turning(axis)],
    'cylindrical': lambda axis, second, pitch: [_turning(axis, axis[None])],
    'planar': lambda axis, second, pitch: [_turning(axis, _across(axis))],
    'screw': lambda axis, second, pitch: [_turning(axis, pitch=pitch)],
    'universal': _universal,
}
"""A six-dimensional spring and damper is a `free` one with coordinates that are sprung."""
