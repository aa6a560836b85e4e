"""Geometries of obstacles as numbers for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..checks.errors import InvalidModel
from ..description.obstacles import (
    BaseGeometry,
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    simple_parts,
    Sphere,
    Triangles,
    Tube,
)
from .distance_grids import grid_of_field, grid_of_surface, triangles_of
from .obstacles import BOX, CAPSULE, CYLINDER, GRID, PLANE, Shapes, TUBE

FINE = 65  # points on each part of a tube, of which one is the nearest


class Shape(NamedTuple):
    """A geometry for kernels, see `Shapes`."""

    kind: int
    numbers: np.ndarray  # (8,)
    data: np.ndarray


def shape_of(geometry: BaseGeometry) -> Shape:
    """Return a geometry as numbers."""
    if isinstance(geometry, Tube):
        return _tube(geometry)
    if isinstance(geometry, (Mesh, Triangles)):
        return Shape(GRID, *grid_of_surface(geometry))
    if isinstance(geometry, HeightField):
        return Shape(GRID, *grid_of_field(geometry))
    kind, numbers = _simple(geometry)
    return Shape(kind, np.pad(np.array(numbers, dtype=float), (0, 8 - len(numbers))), np.zeros(0))


def reach_of(shape: Shape) -> float:
    """Return how far from its origin a shape reaches; infinite where all may be touched [m]."""
    a = shape.numbers
    if shape.kind == CAPSULE:
        return float(a[0] + a[1])
    if shape.kind == CYLINDER:
        return float(np.hypot(a[0], a[1]))
    if shape.kind == BOX:
        return float(np.linalg.norm(a[:3]))
    if shape.kind == GRID:
        last = a[4:7] + a[0] * (a[1:4] - 1.0)
        return float(np.linalg.norm(np.maximum(np.abs(a[4:7]), np.abs(last))))
    return np.inf


def _simple(geometry: BaseGeometry) -> tuple[int, tuple[float, ...]]:
    if isinstance(geometry, Plane):
        return PLANE, ()
    if isinstance(geometry, Sphere):
        return CAPSULE, (geometry.radius, 0.0)
    if isinstance(geometry, Capsule):
        return CAPSULE, (geometry.radius, 0.5 * geometry.length)
    if isinstance(geometry, Cylinder):
        return CYLINDER, (geometry.radius, 0.5 * (geometry.length or np.inf))
    if isinstance(geometry, Box):
        return BOX, tuple(0.5 * edge for edge in geometry.size)
    raise InvalidModel('geometry', geometry, 'one of the known kinds')


def stacked(shapes: list[Shape]) -> Shapes:
    """Return many shapes as one."""
    first = np.concatenate([[0], np.cumsum([s.data.size for s in shapes])])[:len(shapes)]
    return Shapes(
        np.array([s.kind for s in shapes], dtype=np.int64),
        np.array([s.numbers for s in shapes], dtype=float).reshape(-1, 8),
        first.astype(np.int64),
        np.concatenate([np.zeros(0), *(np.ravel(s.data) for s in shapes), np.zeros(1)]))


def check_shape(geometry: BaseGeometry) -> None:
    """Raise if no shape can be made of a geometry; distances on grids are not computed."""
    for part, _ in simple_parts(geometry):
        if isinstance(part, (Mesh, Triangles, HeightField)):
            triangles_of(part)
        else:
            shape_of(part)


def radius_near(shape: Shape, x: np.ndarray) -> float:
    """Return the radius of a tube at the point of its centre line that is nearest to x [m]."""
    parts = int(shape.numbers[0])
    knots, c = shape.data[:parts + 1], shape.data[parts + 1:].reshape(parts, 4, 4)
    s = np.linspace(knots[:-1], knots[1:], FINE, axis=1) - knots[:-1, None]
    line = np.einsum('spk,spt->stk', c, s[:, None, :] ** np.arange(4)[:, None]).reshape(-1, 4)
    return float(line[np.argmin(np.linalg.norm(line[:, :3] - x, axis=1)), 3])


def _tube(tube: Tube) -> Shape:
    from scipy.interpolate import CubicSpline  # slow to import, and seldom needed
    points = np.array(tube.points, dtype=float)
    radii = np.broadcast_to(np.array(tube.radii, dtype=float), len(points))
    knots = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    spline = CubicSpline(knots, np.column_stack([points, radii]), bc_type='natural')
    parts = np.transpose(spline.c[::-1], (1, 0, 2))  # (segments, powers, x y z r)
    thin = spline(np.linspace(0.0, knots[-1], 16 * len(knots)))[:, 3].min()
    if not thin > 0.0:
        raise InvalidModel('radii', tube.radii, 'radii whose smooth interpolation stays > 0 [m]')
    return Shape(TUBE, np.array([len(parts), *np.zeros(7)]),
                 np.concatenate([knots, parts.ravel()]))
