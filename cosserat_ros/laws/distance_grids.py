"""
Signed distances from meshes and height fields on a grid, computed once and kept on disk.

Both are closed surfaces of triangles: that of a mesh is read from a file or given as arrays, that
of a height field is a block, its upper side a bicubic spline, divided more finely than the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple
import zipfile

import numpy as np

from ..checks.errors import InvalidModel
from ..description.obstacles import HeightField, Mesh, Triangles

FACETS = 2.0           # cells that a triangle of a surface may be large, for distances
FINER = 2              # triangles of a height field per cell, along each side
MOST_CANDIDATES = 64   # triangles that may be the nearest one
MOST_GRID_POINTS = 30_000_000  # more take too much memory
KEPT_SURFACES = 64     # of triangles, whose distances are kept in memory
EDITION = 2            # of how they are computed: what another one has kept is not used


class Grid(NamedTuple):
    """Distances on a grid, as the numbers and the data of a shape for kernels."""

    numbers: np.ndarray  # (8,) spacing, counts (3), first point (3), least distance outside
    data: np.ndarray     # coefficients of a tricubic B-spline


class _Points(NamedTuple):
    """The points of a grid."""

    spacing: float      # [m]
    counts: np.ndarray  # (3,) int
    first: np.ndarray   # (3,) [m]
    margin: float       # [m]

    @property
    def border(self) -> float:
        """How far they reach beyond the box [m]."""
        return _border(self.spacing, self.margin)

    def places(self) -> np.ndarray:
        """Return all points, (n, n, n, 3) [m]."""
        axes = [a + self.spacing * np.arange(n) for a, n in zip(self.first, self.counts)]
        return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1)

    def grid(self, d: np.ndarray) -> Grid:
        """Return distances at these points as a spline."""
        from scipy.ndimage import spline_filter
        return Grid(np.array([self.spacing, *self.counts, *self.first, self.margin]),
                    spline_filter(d, order=3, mode='mirror').ravel())


def _around(low: np.ndarray, high: np.ndarray, cells: int, margin: float) -> _Points:
    """Return points around a box from `low` to `high` (3,) [m]."""
    spacing = float((high - low).max()) / cells
    counts = np.ceil((high - low + 2.0 * _border(spacing, margin)) / spacing) + 1
    if np.prod(counts) > MOST_GRID_POINTS:
        raise InvalidModel(
            'cells', cells, f'fewer, or a smaller margin: its grid has {np.prod(counts):.3g} '
            f'points; at most {MOST_GRID_POINTS}')
    return _Points(spacing, counts.astype(int), 0.5 * (low + high) - 0.5 * spacing * (counts - 1),
                   margin)


def _border(spacing: float, margin: float) -> float:
    return margin + 3.0 * spacing


def _kept(content: bytes, compute: Callable[[], Grid]) -> Grid:
    """Return a grid from the cache if it was computed before; else compute and keep it."""
    key = hashlib.sha256(f'{EDITION} '.encode() + content).hexdigest()[:32]
    file = _cache() / f'{key}.npz'
    try:
        with np.load(file) as found:
            return Grid(found['numbers'], found['data'])
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):  # none, or a broken one
        pass
    grid = compute()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f'.{os.getpid()}.npz')
        np.savez(unfinished, numbers=grid.numbers, data=grid.data)
        unfinished.replace(file)
    except OSError:  # a read-only disk: it is computed again next time
        pass
    return grid


def _cache() -> Path:
    base = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(base) / 'cosserat_ros' / 'distances'


# --- Height fields -------------------------------------------------------------------------------

def grid_of_field(a: HeightField) -> Grid:
    """Return the distances of a height field on a grid, from the cache if they are there."""
    return _kept(repr(a).encode(), lambda: _field(a))


class _Block:
    """A height field as a block: its surface of triangles, and what is inside."""

    def __init__(self, a: HeightField) -> None:
        from scipy.interpolate import RectBivariateSpline
        heights = np.array(a.heights).T  # (along x, along y)
        self._x, self._y = (
            0.5 * edge * np.linspace(-1.0, 1.0, n) for edge, n in zip(a.size, heights.shape))
        self._height = RectBivariateSpline(
            self._x, self._y, heights, kx=min(3, len(self._x) - 1), ky=min(3, len(self._y) - 1),
            s=0)
        self._bottom, self._half = heights.min() - a.depth, 0.5 * np.array(a.size)
        self.points = self._points(a, heights.max())
        fine = self._divided(-self._half[0], self._half[0]), self._divided(
            -self._half[1], self._half[1])
        self._flat = np.stack(np.meshgrid(*fine, indexing='ij'), axis=-1)
        self._upper = self._height(*fine)
        if not self._upper.min() > self._bottom:
            raise InvalidModel(
                'depth', a.depth, f'more than {heights.min() - self._upper.min():.3g} [m], by '
                'which the smooth interpolation goes below the least height')
        self.points = self._points(a, max(heights.max(), self._upper.max()))

    def _points(self, a: HeightField, top: float) -> _Points:
        """Return points around the block if it is as high as this [m]."""
        return _around(np.array([*-self._half, self._bottom]), np.array([*self._half, top]),
                       a.cells, a.margin)

    def _divided(self, first: float, last: float) -> np.ndarray:
        count = 1 + int(np.ceil(FINER * (last - first) / self.points.spacing))
        return np.linspace(first, last, max(count, 2))

    def triangles(self) -> np.ndarray:
        """Return the surface, (T, 3, 3) [m]."""
        top = np.concatenate([self._flat, self._upper[..., None]], axis=-1)
        low = np.concatenate([self._flat, np.full((*self._upper.shape, 1), self._bottom)], axis=-1)
        high = self._upper.max() - self._bottom
        up = self._divided(0.0, high)[:, None, None] / high
        sides = [(1.0 - up) * low[edge] + up * top[edge] for edge in (
            np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1])]
        return np.concatenate([_triangles(part) for part in (top, low, *sides)])

    def inside(self, places: np.ndarray) -> np.ndarray:
        """Tell which of the points of a grid (n, n, n, 3) are inside."""
        over = self._height(
            np.clip(places[:, 0, 0, 0], self._x[0], self._x[-1]),
            np.clip(places[0, :, 0, 1], self._y[0], self._y[-1]))
        return ((np.abs(places[..., :2]) < self._half).all(axis=-1)
                & (places[..., 2] > self._bottom) & (places[..., 2] < over[:, :, None]))


def _field(a: HeightField) -> Grid:
    block = _Block(a)
    points, places = block.points, block.points.places()
    d = distances_from(
        block.triangles(), places.reshape(-1, 3), points.border).reshape(points.counts)
    return points.grid(np.where(block.inside(places), -d, d))


def _triangles(patch: np.ndarray) -> np.ndarray:
    """Return two triangles for each cell of a patch of points (n, m, 3), (T, 3, 3)."""
    a, b, c, d = patch[:-1, :-1], patch[1:, :-1], patch[1:, 1:], patch[:-1, 1:]
    return np.stack([np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)]).reshape(-1, 3, 3)


# --- Meshes --------------------------------------------------------------------------------------

def grid_of_surface(surface: Mesh | Triangles) -> Grid:
    """Return the distances of a closed surface on a grid, from the cache if they are there."""
    if isinstance(surface, Triangles):
        return _grid_of_triangles(surface)
    return _grid_of_mesh(surface)


def _grid_of_mesh(mesh: Mesh) -> Grid:
    try:
        content = Path(mesh.file).expanduser().read_bytes()
    except OSError as error:
        raise InvalidModel(
            'file', mesh.file, f'a file that can be read ({error.strerror})') from error
    return _kept(content + repr((mesh.scale, mesh.cells, mesh.margin)).encode(),
                 lambda: _measured(mesh))


@lru_cache(KEPT_SURFACES)
def _grid_of_triangles(surface: Triangles) -> Grid:
    content = surface.vertices.tobytes() + b'/' + surface.faces.tobytes()
    return _kept(content + repr((surface.cells, surface.margin)).encode(),
                 lambda: _measured(surface))


def surface_of(mesh: Mesh | Triangles) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (N, 3) [m] and faces (M, 3) of a closed surface, or raise."""
    try:
        import trimesh
    except ImportError as error:
        raise InvalidModel(
            'geometry', mesh.shape, 'only used with trimesh installed: pip install trimesh',
        ) from error
    name, value, scale = 'faces', f'{mesh.shape} that are open', 1.0
    if isinstance(mesh, Triangles):
        surface: Any = trimesh.Trimesh(mesh.vertices, mesh.faces)
    else:
        name, value, scale = 'file', mesh.file, mesh.scale
        try:
            surface = trimesh.load(Path(mesh.file).expanduser(), force='mesh')
        except Exception as error:  # its readers raise anything
            raise InvalidModel(
                'file', mesh.file, f'a mesh that trimesh can read ({error})') from error
    if not len(surface.faces) or not surface.is_watertight:
        raise InvalidModel(name, value, 'a closed surface')
    return np.asarray(surface.vertices, dtype=float) * scale, np.asarray(surface.faces)


def triangles_of(geometry: Mesh | Triangles | HeightField) -> np.ndarray:
    """Return a surface as triangles (T, 3, 3), to be drawn [m]."""
    if isinstance(geometry, HeightField):
        return _Block(geometry).triangles()
    vertices, faces = surface_of(geometry)
    return vertices[faces]


def _measured(mesh: Mesh | Triangles) -> Grid:
    import trimesh
    vertices, faces = surface_of(mesh)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    if not (high - low).max() > 0.0:
        raise InvalidModel('vertices', vertices[0].tolist(), 'more than one point')
    points = _around(low, high, mesh.cells, mesh.margin)
    places = points.places()
    fine, parts = trimesh.remesh.subdivide_to_size(
        vertices, faces, FACETS * points.spacing, max_iter=30)
    d = distances_from(fine[parts], places.reshape(-1, 3), points.border).reshape(points.counts)
    return points.grid(d * signs_on_grid(vertices[faces], places, d, points.spacing))


def distances_from(
    triangles: np.ndarray, points: np.ndarray, near: float = np.inf,
) -> np.ndarray:
    """
    Return the distances of points (N, 3) from a surface (T, 3, 3), by the nearest of its parts.

    Exact near the surface; far from it, and farther than `near` [m], as exact as the size of its
    triangles.
    """
    from scipy.spatial import cKDTree
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
        left = left[(far[:, -1] - most < d[left]) & (d[left] < near)]
        count = min(4 * count, MOST_CANDIDATES)
    return d


def signs_on_grid(
    triangles: np.ndarray, points: np.ndarray, d: np.ndarray, spacing: float,
) -> np.ndarray:
    """
    Return -1 inside of a closed surface and 1 outside, at the points (..., 3) of a grid.

    By winding numbers (Jacobson 2013), which are robust where normals are not; of points that are
    connected apart from the surface, one tells for all.
    """
    from scipy.ndimage import label
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
