"""Geometries of obstacles as numbers for kernels; distances from meshes, kept on disk."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import label, spline_filter
from scipy.spatial import cKDTree

from ..checks.errors import InvalidModel
from ..description.obstacles import (
    BaseGeometry,
    Box,
    Capsule,
    Cylinder,
    Mesh,
    Plane,
    Sphere,
    Tube,
)
from .obstacles import BOX, CAPSULE, CYLINDER, GRID, PLANE, Shapes, TUBE

FACETS = 2.0           # cells that a triangle may be large, for distances
MOST_CANDIDATES = 64   # triangles that may be the nearest one


class Shape(NamedTuple):
    """A geometry for kernels, see `Shapes`."""

    kind: int
    numbers: np.ndarray  # (8,)
    data: np.ndarray


def shape_of(geometry: BaseGeometry) -> Shape:
    """Return a geometry as numbers."""
    if isinstance(geometry, Tube):
        return _tube(geometry)
    if isinstance(geometry, Mesh):
        return _mesh(geometry)
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


def _tube(tube: Tube) -> Shape:
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


# --- Meshes --------------------------------------------------------------------------------------

def _mesh(mesh: Mesh) -> Shape:
    """Return the distances of a mesh on a grid, from the cache if they were computed before."""
    try:
        content = Path(mesh.file).expanduser().read_bytes()
    except OSError as error:
        raise InvalidModel(
            'file', mesh.file, f'a file that can be read ({error.strerror})') from error
    key = hashlib.sha256(
        content + repr((mesh.scale, mesh.cells, mesh.margin)).encode()).hexdigest()[:32]
    kept = _cache() / f'{key}.npz'
    try:
        with np.load(kept) as found:
            return Shape(GRID, found['numbers'], found['data'])
    except (OSError, KeyError, ValueError):
        pass
    shape = _measured(mesh)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(f'.{os.getpid()}.npz')
        np.savez(unfinished, numbers=shape.numbers, data=shape.data)
        unfinished.replace(kept)
    except OSError:  # a read-only disk: it is computed again next time
        pass
    return shape


def _cache() -> Path:
    base = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(base) / 'cosserat_ros' / 'distances'


def _measured(mesh: Mesh) -> Shape:
    try:
        import trimesh
    except ImportError as error:
        raise InvalidModel(
            'geometry', mesh.shape, 'only used with trimesh installed: pip install trimesh',
        ) from error
    try:
        surface: Any = trimesh.load(Path(mesh.file).expanduser(), force='mesh')
    except Exception as error:  # its readers raise anything
        raise InvalidModel(
            'file', mesh.file, f'a mesh that trimesh can read ({error})') from error
    if not len(surface.faces) or not surface.is_watertight:
        raise InvalidModel('file', mesh.file, 'a closed surface')
    vertices = np.asarray(surface.vertices, dtype=float) * mesh.scale
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    spacing = float((high - low).max()) / mesh.cells
    border = mesh.margin + 3.0 * spacing
    counts = np.ceil((high - low + 2.0 * border) / spacing).astype(int) + 1
    first = 0.5 * (low + high) - 0.5 * spacing * (counts - 1)
    axes = [a + spacing * np.arange(n) for a, n in zip(first, counts)]
    points = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1)
    fine, faces = trimesh.remesh.subdivide_to_size(
        vertices, np.asarray(surface.faces), FACETS * spacing, max_iter=30)
    d = distances_from(fine[faces], points.reshape(-1, 3)).reshape(counts)
    d *= signs_on_grid(vertices[np.asarray(surface.faces)], points, d, spacing)
    return Shape(GRID, np.array([spacing, *counts, *first, mesh.margin]),
                 spline_filter(d, order=3, mode='mirror').ravel())


def distances_from(triangles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """
    Return the distances of points (N, 3) from a surface (T, 3, 3), by the nearest of its parts.

    Exact near the surface; far from it, as exact as the size of its triangles.
    """
    centres = triangles.mean(axis=1)
    most = float(np.linalg.norm(triangles - centres[:, None], axis=2).max())
    tree, d = cKDTree(centres), np.empty(len(points))
    left, count = np.arange(len(points)), 8
    while left.size:
        count = min(count, len(triangles))
        far, which = tree.query(points[left], k=count, workers=-1)
        far, which = far.reshape(left.size, -1), which.reshape(left.size, -1)
        for part in np.array_split(np.arange(left.size), 1 + left.size * count // 200_000):
            d[left[part]] = np.sqrt(_squared(
                triangles[which[part]], points[left[part], None]).min(axis=1))
        if count == len(triangles) or count >= MOST_CANDIDATES:
            break
        left, count = left[far[:, -1] - most < d[left]], 4 * count
    return d


def signs_on_grid(
    triangles: np.ndarray, points: np.ndarray, d: np.ndarray, spacing: float,
) -> np.ndarray:
    """
    Return -1 inside of a closed surface and 1 outside, at the points (..., 3) of a grid.

    By winding numbers (Jacobson 2013), which are robust where normals are not; of points that are
    connected apart from the surface, one tells for all.
    """
    groups, count = label(d > 0.51 * spacing)
    sign = np.ones(d.shape)
    for group in range(1, count + 1):
        members = groups == group
        some = points[members][:1]
        sign[members] = np.where(np.abs(winding(triangles, some)) > 0.5, -1.0, 1.0)
    close = groups == 0
    sign[close] = np.where(np.abs(winding(triangles, points[close])) > 0.5, -1.0, 1.0)
    return sign


def winding(triangles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return how often a surface (T, 3, 3) goes round each of the points (N, 3)."""
    parts = np.array_split(points, 1 + points.shape[0] * len(triangles) // 500_000)
    return np.concatenate([_winding(triangles, part[:, None]) for part in parts])


def _winding(triangles: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the solid angles of a surface seen from points, over 4 pi (van Oosterom 1983)."""
    a, b, c = (triangles[None, :, i] - x for i in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    top = np.einsum('ntk,ntk->nt', a, np.cross(b, c))
    bottom = la * lb * lc + sum(
        np.einsum('ntk,ntk->nt', u, v) * w for u, v, w in ((a, b, lc), (b, c, la), (c, a, lb)))
    return np.arctan2(top, bottom).sum(axis=1) / (2.0 * np.pi)


def _squared(triangles: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the squared distances (N, T) of points (N, 1, 3) from triangles (N, T, 3, 3)."""
    corners = [triangles[:, :, i] for i in range(3)]
    edges = [corners[(i + 1) % 3] - corners[i] for i in range(3)]
    normal = np.cross(edges[0], -edges[2])
    size = np.einsum('ntk,ntk->nt', normal, normal)
    beside, best = np.ones(triangles.shape[:2], dtype=bool), np.inf
    for corner, edge in zip(corners, edges):
        y = x - corner
        along = np.clip(np.einsum('ntk,ntk->nt', y, edge) / np.maximum(
            np.einsum('ntk,ntk->nt', edge, edge), 1e-300), 0.0, 1.0)
        left = y - along[:, :, None] * edge
        best = np.minimum(best, np.einsum('ntk,ntk->nt', left, left))
        side = np.cross(normal, edge)
        beside &= np.einsum('ntk,ntk->nt', side, y) >= 0.0
    height = np.einsum('ntk,ntk->nt', x - corners[0], normal)
    return np.where(beside & (size > 0.0), height ** 2 / np.maximum(size, 1e-300), best)
