"""
What rods and bodies may touch, and how they do: the vocabulary of `obstacles` and `contact`.

SI units. An obstacle is rigid unless it has a stiffness of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
import math
from pathlib import Path
from typing import Any, ClassVar, Optional, Union

import numpy as np

from ..checks.errors import InvalidModel
from ..checks.fields import (
    check_vector,
    Checked,
    FARTHEST,
    instance,
    integer,
    number,
    numbers,
    points,
    text,
    vector,
)
from .parts import (
    check_line_stiffness,
    LEAST_DEPTH,
    LEAST_STIFFNESS,
    MOST_DAMPING,
    MOST_LOAD,
    MOST_STIFFNESS,
    Pose,
)

UNSEEN = 0.005        # of a rod's radius, that an obstacle may go in between points unnoticed
UNSEEN_BY_FEW = 0.25  # likewise, if more than this many points would be needed for that:
FINE_POINTS = 2_000
MOST_POINTS = 10_000  # of contact on a rod: more take longer than the rest of it
MOST_SHAPES = 500     # of obstacles: each costs time at each element, far away or not
MOST_HEIGHTS = 1000   # of a field along each side
SHORTEST = 1e-6       # of its rod's length, that the part that touches can be


@dataclass(frozen=True)
class BaseGeometry(Checked):
    """The shape of an obstacle, in its own frame."""

    shape: ClassVar[str]  # the kind's name in YAML

    @property
    def thinness(self) -> float:
        """Least radius of what it is about as thick or as sharp as; infinite if flat [m]."""
        return math.inf


def _rows(kind: type, name: str, value: Any) -> np.ndarray:
    """Return rows of three numbers as an array that cannot be changed, or raise."""
    try:
        array: np.ndarray = np.array(value, dtype=kind)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise InvalidModel(name, value, 'at least one row of three numbers')
    array.flags.writeable = False
    return array


def _parts(name: str, value: Any) -> tuple[tuple[BaseGeometry, Pose], ...]:
    """Return the parts of a compound, or raise."""
    try:
        parts = tuple(map(tuple, value))
    except TypeError:
        raise InvalidModel(name, value, 'a list of shapes and their poses') from None
    for k, part in enumerate(parts):
        if len(part) != 2 or not isinstance(part[0], BaseGeometry) or not isinstance(
                part[1], Pose) or isinstance(part[0], Compound):
            raise InvalidModel(f'{name}[{k}]', part, 'a simple shape and its pose')
    if not parts:
        raise InvalidModel(name, parts, 'at least one shape')
    return parts


@dataclass(frozen=True)
class Plane(BaseGeometry):
    """All below the plane z = 0."""

    shape: ClassVar[str] = 'plane'


@dataclass(frozen=True)
class Sphere(BaseGeometry):
    """
    A ball, its centre at the origin.

    Parameters
    ----------
    radius : float
        Radius [m].

    """

    shape: ClassVar[str] = 'sphere'
    radius: float = number('m', above=0.0)

    @property
    def thinness(self) -> float:
        """Its radius [m]."""
        return self.radius


@dataclass(frozen=True)
class Capsule(BaseGeometry):
    """
    A cylinder about the z axis with half a ball at each end, its centre at the origin.

    Parameters
    ----------
    radius : float
        Radius of the cylinder and of the balls [m].
    length : float
        Length of the cylinder, without the half balls [m].

    """

    shape: ClassVar[str] = 'capsule'
    radius: float = number('m', above=0.0)
    length: float = number('m', above=0.0)

    @property
    def thinness(self) -> float:
        """Its radius [m]."""
        return self.radius


@dataclass(frozen=True)
class Cylinder(BaseGeometry):
    """
    A solid cylinder about the z axis, its centre at the origin.

    Parameters
    ----------
    radius : float
        Radius [m].
    length : float, optional
        Length; infinite if left out [m].

    """

    shape: ClassVar[str] = 'cylinder'
    radius: float = number('m', above=0.0)
    length: Optional[float] = number('m', default=None, above=0.0)

    @property
    def thinness(self) -> float:
        """Its radius, or half its length if that is less [m]."""
        return min(self.radius, 0.5 * (self.length or math.inf))


@dataclass(frozen=True)
class Box(BaseGeometry):
    """
    A box, its centre at the origin.

    Parameters
    ----------
    size : (3,) tuple
        Edges along x, y and z [m].

    """

    shape: ClassVar[str] = 'box'
    size: tuple[float, float, float] = vector('m')

    def __post_init__(self) -> None:
        super().__post_init__()
        for i, edge in enumerate(self.size):
            if not edge > 0.0:
                raise InvalidModel(f'size[{i}]', edge, 'a finite number > 0 [m]')

    @property
    def thinness(self) -> float:
        """Half its shortest edge [m]."""
        return 0.5 * min(self.size)


@dataclass(frozen=True)
class Tube(BaseGeometry):
    """
    The inside of a tube or vessel along a curve: rods are within, and touch its wall.

    Everything that can touch obstacles is taken to be inside, or beyond the ends.

    Parameters
    ----------
    points : list of [x, y, z]
        Points of the centre line, which is a natural cubic spline through them [m].
    radii : list of float
        Radii at these points, or one for all [m].

    """

    shape: ClassVar[str] = 'tube'
    points: tuple[tuple[float, float, float], ...] = points(fewest=2, size=3)
    radii: tuple[float, ...] = numbers('m', fewest=1, least=1e-9)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.radii) not in (1, len(self.points)):
            raise InvalidModel(
                'radii', self.radii, f'one for all points, or {len(self.points)} of them')
        for i, (a, b) in enumerate(zip(self.points[:-1], self.points[1:])):
            if a == b:
                raise InvalidModel(f'points[{i + 1}]', b, 'another point than the one before')


@dataclass(frozen=True)
class Mesh(BaseGeometry):
    """
    A closed surface of triangles, as its signed distance on a grid, interpolated smoothly.

    Parameters
    ----------
    file : str
        A file that `trimesh` reads; its path is absolute, or relative to the working directory.
    scale : float
        Metres per unit of the file [-].
    cells : int
        Cells of the grid along the longest edge of the box around it; details smaller than one
        are lost.
    margin : float
        Around that box, where distances are known: at least the radius of what touches [m].

    """

    shape: ClassVar[str] = 'mesh'
    file: str = text(r'.+', 'a path')
    scale: float = number('-', default=1.0, above=0.0)
    cells: int = integer(least=8, most=400, default=64)
    margin: float = number('m', default=0.02, above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            with Path(self.file).expanduser().open('rb'):
                pass
        except (OSError, RuntimeError, ValueError) as error:  # no such user; a null character
            reason = getattr(error, 'strerror', None) or error
            raise InvalidModel(
                'file', self.file, f'a file that can be read ({reason})') from error

    @property
    def thinness(self) -> float:
        """Nothing: it may have edges [m]."""
        return 0.0


def check_heights(name: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """Return rows of heights as tuples, or raise `InvalidModel`."""
    listed = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))
    if not listed or not 2 <= len(value) <= MOST_HEIGHTS:
        raise InvalidModel(name, value, f'a list of 2 to {MOST_HEIGHTS} rows of numbers [m]')
    first = value[0]
    count = len(first) if isinstance(first, (Sequence, np.ndarray)) else 0
    if not 2 <= count <= MOST_HEIGHTS:
        raise InvalidModel(f'{name}[0]', first, f'a row of 2 to {MOST_HEIGHTS} numbers [m]')
    return tuple(
        check_vector(f'{name}[{i}]', row, count, unit='m', least=-FARTHEST, most=FARTHEST)
        for i, row in enumerate(value))


@dataclass(frozen=True)
class HeightField(BaseGeometry):
    """
    A block whose upper side is a height z(x, y), as its signed distance on a grid.

    Heights are interpolated smoothly (bicubic splines, linear along a side with two of them). The
    block has upright sides, and a flat bottom.

    Parameters
    ----------
    heights : list of rows of float
        Evenly spaced: each row along x, from the least y on [m].
    size : (2,) tuple
        Extent along x and y, its centre at the origin [m].
    depth : float
        How far the block reaches below its lowest height [m].
    cells : int
        Cells of the grid along the longest edge of the box around it; details smaller than one
        are lost.
    margin : float
        Around that box, where distances are known: at least the radius of what touches [m].

    """

    shape: ClassVar[str] = 'height_field'
    heights: tuple[tuple[float, ...], ...] = field(metadata={'check': check_heights})
    size: tuple[float, float] = vector('m', size=2, most=FARTHEST)
    depth: float = number('m', default=0.05, above=0.0, most=FARTHEST)
    cells: int = integer(least=8, most=400, default=64)
    margin: float = number('m', default=0.02, above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for i, edge in enumerate(self.size):
            if not edge > 0.0:
                raise InvalidModel(f'size[{i}]', edge, 'a finite number > 0 [m]')

    @property
    def thinness(self) -> float:
        """Nothing: it may have ridges [m]."""
        return 0.0


Geometry = Union[Plane, Sphere, Capsule, Cylinder, Box, Tube, Mesh, HeightField]  # in robot files


@dataclass(frozen=True, eq=False)
class Triangles(BaseGeometry):
    """
    A closed surface of triangles like `Mesh`, from arrays instead of a file.

    Parameters
    ----------
    vertices : (N, 3) array
        [m].
    faces : (M, 3) int array
        Numbers of vertices.
    cells, margin
        As those of `Mesh`.

    """

    shape: ClassVar[str] = 'triangles'
    __eq__, __hash__ = object.__eq__, object.__hash__  # two are the same if they are one object
    vertices: np.ndarray = field(metadata={'check': partial(_rows, float)})
    faces: np.ndarray = field(metadata={'check': partial(_rows, np.int64)})
    cells: int = integer(least=8, most=400, default=64)
    margin: float = number('m', default=0.02, above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.abs(self.vertices).max(initial=0.0) <= FARTHEST:  # nor is NaN
            raise InvalidModel('vertices', self.vertices, f'finite, within {FARTHEST:g} [m]')
        if not (0 <= self.faces.min(initial=0) and self.faces.max(initial=0) < len(
                self.vertices)):
            raise InvalidModel(
                'faces', self.faces, f'numbers of vertices, from 0 to {len(self.vertices) - 1}')

    @property
    def thinness(self) -> float:
        """Nothing: it may have edges [m]."""
        return 0.0


@dataclass(frozen=True)
class Compound(BaseGeometry):
    """
    Several shapes that are one obstacle.

    Parameters
    ----------
    parts : sequence of (shape, Pose)
        Each with its pose in the frame of the obstacle.

    """

    shape: ClassVar[str] = 'compound'
    parts: tuple[tuple[BaseGeometry, Pose], ...] = field(metadata={'check': _parts})

    @property
    def thinness(self) -> float:
        """That of the thinnest part [m]."""
        return min(geometry.thinness for geometry, _ in self.parts)


def simple_parts(geometry: BaseGeometry) -> tuple[tuple[BaseGeometry, Pose], ...]:
    """Return what a geometry is made of, with the poses in its frame: itself, if it is simple."""
    return geometry.parts if isinstance(geometry, Compound) else ((geometry, Pose()),)


def widest_spacing(radius: float, thinness: float, unseen: float = UNSEEN) -> float:
    """
    Return how far apart points of contact may be on a rod, so that nothing is missed [m].

    Where a round post of radius R is across a rod, midway between two of its points, these are
    h / 2 from the place where it is ``unseen`` of the radius deep, and touch it there if
    ``(h / 2)^2 < (r + R)^2 - (R + (1 - unseen) r)^2``. At most the rod's diameter.
    """
    square = unseen * radius * (2.0 * min(thinness, FARTHEST) + (2.0 - unseen) * radius)
    return 2.0 * min(radius, math.sqrt(square))


@dataclass(frozen=True)
class Obstacle(Checked):
    """
    Something that rods and bodies may touch.

    Parameters
    ----------
    geometry : shape
        See below.
    pose : Pose
        Pose, seen from base_link or from the body.
    body : str, optional
        Name of the body that it is fixed to, driven or free; base_link if left out.
    friction : float
        Coefficient of Coulomb friction with all that touches it [-].
    stiffness : float, optional
        Per length of a rod [N/m^2], in series with that of the rod; rigid if left out.

    """

    geometry: Geometry = instance(BaseGeometry, 'a geometry')
    pose: Pose = instance(Pose, 'a pose', default=Pose())
    body: Optional[str] = text(r'.+', "a body's name", default=None)
    friction: float = number('-', default=0.0, least=0.0, most=100.0)
    stiffness: Optional[float] = number(
        'N/m^2', default=None, least=LEAST_STIFFNESS, most=MOST_STIFFNESS)


def check_obstacles(obstacles: Mapping[str, Obstacle]) -> None:
    """Raise if obstacles have too many shapes."""
    count = sum(len(simple_parts(obstacle.geometry)) for obstacle in obstacles.values())
    if count > MOST_SHAPES:
        raise InvalidModel('obstacles', f'{count} shapes', f'at most {MOST_SHAPES}')


def thinnest(obstacles: Iterable[Obstacle]) -> float:
    """Return the least thinness of all, or infinity [m]."""
    return min((obstacle.geometry.thinness for obstacle in obstacles), default=math.inf)


@dataclass(frozen=True)
class ContactProperties(Checked):
    """
    How a rod touches obstacles and other rods.

    Its stiffness is stated, or follows from a penetration that a line load may make.

    Parameters
    ----------
    stiffness : float, optional
        Force per length of the rod and per penetration [N/m^2].
    penetration : float, optional
        Instead of a stiffness: penetration [m] under `line_load`.
    line_load : float, optional
        Instead of a stiffness: force per length [N/m] at which it goes as deep as `penetration`.
    damping : float
        Part of the pressure that it gains per speed of approach, and loses when it leaves
        [s/m].
    grip : float
        Tangential stiffness of what sticks, as a part of the normal one [-].
    radius : float, optional
        Radius of the rod [m]; half the smaller extent of its section if left out.
    spacing : float, optional
        Distance between the points at which contact is looked for [m]; if left out, such that an
        obstacle goes in by no more than 0.5 % of the radius between them (25 % where this takes
        more than 2000 points), at most the rod's diameter, and at least 4 points on each element.
    starts_at : float
        Arc length from which the rod may touch [m].
    ends_at : float, optional
        Arc length up to which it may [m]; its tip, which counts as a half ball, if left out.
    rods : bool
        Whether it touches other rods that say so, and itself, if it has several elements.
    friction : float
        Coefficient of Coulomb friction with other rods and itself; of two rods the smaller one
        counts [-].

    """

    stiffness: Optional[float] = number(
        'N/m^2', default=None, least=LEAST_STIFFNESS, most=MOST_STIFFNESS)
    penetration: Optional[float] = number('m', default=None, least=LEAST_DEPTH, most=FARTHEST)
    line_load: Optional[float] = number('N/m', default=None, above=0.0, most=MOST_LOAD)
    damping: float = number('s/m', default=10.0, least=0.0, most=MOST_DAMPING)
    grip: float = number('-', default=0.5, above=0.0, most=10.0)
    radius: Optional[float] = number('m', default=None, above=0.0, most=FARTHEST)
    spacing: Optional[float] = number('m', default=None, above=0.0, most=FARTHEST)
    starts_at: float = number('m', default=0.0, least=0.0)
    ends_at: Optional[float] = number('m', default=None, above=0.0)
    rods: bool = instance(bool, 'true or false', default=False)
    friction: float = number('-', default=0.0, least=0.0, most=100.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.penetration is None) != (self.line_load is None):
            raise InvalidModel('penetration', self.penetration, 'given with a line_load')
        if (self.stiffness is None) == (self.penetration is None):
            raise InvalidModel(
                'stiffness', self.stiffness, 'given, or else a penetration and a line_load')
        if self.penetration is not None:
            check_line_stiffness(
                'penetration', self.penetration, self.line_stiffness, 'line_load')
        if self.ends_at is not None and not self.ends_at > self.starts_at:
            raise InvalidModel(
                'ends_at', self.ends_at, f'more than starts_at, {self.starts_at:g} [m]')

    def check_range(self, length: float) -> None:
        """Raise unless the part of a rod that may touch is on it, and not too short."""
        for name, s in (('starts_at', self.starts_at), ('ends_at', self.ends_at)):
            if s is not None and s > (1.0 + 1e-9) * length:
                raise InvalidModel(name, s, f"within the rod's length, {length:g} [m]")
        last = length if self.ends_at is None else self.ends_at
        if not last - self.starts_at > SHORTEST * length:
            raise InvalidModel(
                'starts_at', self.starts_at, f'less than where contact ends, {last:g} [m]')

    def spacing_on(self, length: float, radius: float, thinness: float) -> float:
        """
        Return how far apart its points are, or raise if they are too far apart or too many [m].

        Parameters
        ----------
        length, radius : float
            Of the rod; its least radius [m].
        thinness : float
            Of the thinnest obstacle [m].

        """
        spacing = self.spacing or max(
            widest_spacing(radius, thinness),
            min(length / FINE_POINTS, widest_spacing(radius, thinness, UNSEEN_BY_FEW)))
        if length > MOST_POINTS * spacing:
            raise InvalidModel(
                'spacing', self.spacing,
                f'at least {length / MOST_POINTS:.3g} [m], so that the rod has at most '
                f'{MOST_POINTS} points' + ('' if self.spacing else (
                    f'; if left out it is {spacing:.3g} [m]')))
        widest = 2.0 * math.sqrt(radius * (radius + 2.0 * min(thinness, FARTHEST)))
        if spacing > widest:
            raise InvalidModel(
                'spacing', spacing, f'at most {widest:.3g} [m], or the thinnest obstacle gets '
                'between the points unnoticed')
        return spacing

    @property
    def line_stiffness(self) -> float:
        """Force per length and penetration [N/m^2]."""
        if self.stiffness is not None:
            return self.stiffness
        assert self.penetration is not None and self.line_load is not None
        return self.line_load / self.penetration
