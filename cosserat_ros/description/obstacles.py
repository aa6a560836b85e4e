"""
What rods and bodies may touch, and how they do: the vocabulary of `obstacles` and `contact`.

SI units. An obstacle is rigid unless it has a stiffness of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Optional, Union

from ..checks.errors import InvalidModel
from ..checks.fields import Checked, instance, integer, number, numbers, points, text, vector
from .parts import Pose


@dataclass(frozen=True)
class BaseGeometry(Checked):
    """The shape of an obstacle, in its own frame."""

    shape: ClassVar[str]  # the kind's name in YAML


@dataclass(frozen=True)
class Plane(BaseGeometry):
    """All below the plane z = 0."""

    shape: ClassVar[str] = 'plane'


@dataclass(frozen=True)
class Sphere(BaseGeometry):
    """A ball of a `radius` [m]."""

    shape: ClassVar[str] = 'sphere'
    radius: float = number('m', above=0.0)


@dataclass(frozen=True)
class Capsule(BaseGeometry):
    """A cylinder about the z axis with half a ball at each end; `length` without these [m]."""

    shape: ClassVar[str] = 'capsule'
    radius: float = number('m', above=0.0)
    length: float = number('m', above=0.0)


@dataclass(frozen=True)
class Cylinder(BaseGeometry):
    """
    A solid cylinder about the z axis, its centre at the origin.

    Parameters
    ----------
    radius : float
        [m].
    length : float, optional
        [m]; infinite if left out.

    """

    shape: ClassVar[str] = 'cylinder'
    radius: float = number('m', above=0.0)
    length: Optional[float] = number('m', default=None, above=0.0)


@dataclass(frozen=True)
class Box(BaseGeometry):
    """A box with its centre at the origin and edges of a `size` along x, y and z [m]."""

    shape: ClassVar[str] = 'box'
    size: tuple[float, float, float] = vector('m')

    def __post_init__(self) -> None:
        super().__post_init__()
        for i, edge in enumerate(self.size):
            if not edge > 0.0:
                raise InvalidModel(f'size[{i}]', edge, 'a finite number > 0 [m]')


@dataclass(frozen=True)
class Tube(BaseGeometry):
    """
    The inside of a tube or vessel along a curve: rods are within, and touch its wall.

    Everything that can touch obstacles is taken to be inside, or beyond the ends.

    Parameters
    ----------
    points : list of [x, y, z]
        Of the centre line, which is a natural cubic spline through them [m].
    radii : list of float
        At these points, or one for all [m].

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
        Any format that `trimesh` reads; its path is absolute, or seen from where one works.
    scale : float
        Metres per unit of the file [-].
    cells : int
        Of the grid along the longest edge of the box around the mesh; details smaller than one
        are lost.
    margin : float
        Around that box, where distances are known: at least the radius of what touches [m].

    """

    shape: ClassVar[str] = 'mesh'
    file: str = text(r'.+', 'a path')
    scale: float = number('-', default=1.0, above=0.0)
    cells: int = integer(least=8, most=400, default=64)
    margin: float = number('m', default=0.02, above=0.0)


Geometry = Union[Plane, Sphere, Capsule, Cylinder, Box, Tube, Mesh]


@dataclass(frozen=True)
class Obstacle(Checked):
    """
    Something that rods and bodies may touch.

    Parameters
    ----------
    geometry : shape
        See below.
    pose : Pose
        In base_link, or in the frame of the body.
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
    stiffness: Optional[float] = number('N/m^2', default=None, above=0.0)


@dataclass(frozen=True)
class ContactProperties(Checked):
    """
    How a rod touches obstacles and other rods.

    Its stiffness is stated, or follows from a penetration that a line load may make.

    Parameters
    ----------
    stiffness : float, optional
        Force per length of the rod and per penetration [N/m^2].
    penetration, line_load : float, optional
        Instead: how deep [m] this force per length [N/m] may go.
    damping : float
        Part of the pressure that it gains per speed of approach, and loses when it leaves
        [s/m].
    grip : float
        Tangential stiffness of what sticks, as a part of the normal one [-].
    radius : float, optional
        Of the rod [m]; half the smaller extent of its section if left out.
    spacing : float, optional
        Between the points at which contact is looked for [m]; if left out, the rod's diameter,
        but 4 to 24 points on each element.
    starts_at, ends_at : float
        Part of the rod that may touch; to its tip if the latter is left out [m]. Its tip counts
        as a half ball.
    rods : bool
        Whether it touches other rods that say so, and itself.
    friction : float
        Coefficient of Coulomb friction with other rods and itself; of two rods the smaller one
        counts [-].

    """

    stiffness: Optional[float] = number('N/m^2', default=None, above=0.0)
    penetration: Optional[float] = number('m', default=None, above=0.0)
    line_load: Optional[float] = number('N/m', default=None, above=0.0)
    damping: float = number('s/m', default=10.0, least=0.0)
    grip: float = number('-', default=0.5, above=0.0, most=10.0)
    radius: Optional[float] = number('m', default=None, above=0.0)
    spacing: Optional[float] = number('m', default=None, above=0.0)
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

    @property
    def line_stiffness(self) -> float:
        """Force per length and penetration [N/m^2]."""
        if self.stiffness is not None:
            return self.stiffness
        assert self.penetration is not None and self.line_load is not None
        return self.line_load / self.penetration


@dataclass(frozen=True)
class ContactSpheres(Checked):
    """
    Balls by which a rigid body touches obstacles.

    Parameters
    ----------
    points : list of [x, y, z]
        Their centres, in the body's frame [m].
    radius : float
        [m].
    stiffness : float
        Force per penetration, of each [N/m].
    damping, grip : float
        As of rods [s/m, -].

    """

    points: tuple[tuple[float, float, float], ...] = points(fewest=1, size=3)
    radius: float = number('m', above=0.0)
    stiffness: float = number('N/m', above=0.0)
    damping: float = number('s/m', default=10.0, least=0.0)
    grip: float = number('-', default=0.5, above=0.0, most=10.0)
