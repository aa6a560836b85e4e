r"""
Signed distances from obstacles, with their first and second derivatives.

A distance is positive outside of a solid, and inside of a tube. Each kind has a frame of its own:

- `PLANE`: solid below z = 0.
- `CAPSULE`: all within a radius of the z axis from -h to h; a sphere has h = 0.
- `CYLINDER`: about the z axis, from -h to h, which may be infinite.
- `BOX`: half its edges along the axes.
- `TUBE`: the inside of a tube along a curve, a natural cubic spline of points and radii. Its
  radius is measured across the curve at the nearest point of that. Beyond its ends the curve goes
  on straight, and the mouth widens by ``x^2 / (2 r)``.
- `GRID`: a tricubic B-spline of distances on a grid (Unser 1999), twice differentiable.

Distances of tubes and grids are not exact: their gradient has a length of about 1. Forces are
``-dU`` of a potential of the distance, so that this costs no energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import matrix, vector, view
from ..numerics.kernels import inner, kernel

PLANE, CAPSULE, CYLINDER, BOX, TUBE, GRID = range(6)
NEAREST_ITERATIONS = 30    # for the nearest point of a curve
NEAREST_TOLERANCE = 1e-14  # of the curve's length
TUBE_REACH = 2.0           # by which the distance within a tube may change faster than its point


class Shapes(NamedTuple):
    """All shapes, for kernels."""

    kind: np.ndarray     # (K,) int64
    numbers: np.ndarray  # (K, 8) dimensions: see the functions here
    first: np.ndarray    # (K,) int64, where its data begin
    data: np.ndarray     # float64


@inner
def _clear(n, H):
    for i in range(3):
        n[i] = 0.0
        for j in range(3):
            H[i, j] = 0.0


@inner
def _radial(y, n, H):
    """Write gradient and second derivative of |y|; return it."""
    size = np.sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
    if size == 0.0:
        _clear(n, H)
        n[2] = 1.0
        return 0.0
    for i in range(3):
        n[i] = y[i] / size
    for i in range(3):
        for j in range(3):
            H[i, j] = ((1.0 if i == j else 0.0) - n[i] * n[j]) / size
    return size


@inner
def _capsule(radius, half, x, n, H):
    y = vector(3)
    inside = abs(x[2]) < half
    y[0], y[1] = x[0], x[1]
    y[2] = 0.0 if inside else x[2] - np.copysign(half, x[2])
    size = _radial(y, n, H)
    if inside:
        for i in range(3):
            H[i, 2] = H[2, i] = 0.0
    return size - radius


@inner
def _cylinder(radius, half, x, n, H):
    _clear(n, H)
    out = np.sqrt(x[0] * x[0] + x[1] * x[1])
    a, b = (x[0] / out, x[1] / out) if out > 0.0 else (1.0, 0.0)
    side, cap = out - radius, abs(x[2]) - half
    up = np.copysign(1.0, x[2])
    if side <= 0.0 and cap > side:
        n[2] = up
        return cap
    if cap <= 0.0:
        slope, rise, size, d = 1.0, 0.0, 0.0, side
    else:
        d = np.sqrt(side * side + cap * cap) if side > 0.0 else cap
        slope, rise, size = max(side, 0.0) / d, cap / d, 1.0 / d
    if side <= 0.0:
        slope, size = 0.0, 0.0
    if cap <= 0.0:
        slope = 1.0
    n[0], n[1], n[2] = slope * a, slope * b, rise * up
    # In the half plane of the point, d2 = (1 - n n^T) / d; about the axis, slope / out.
    round_ = slope / out if out > 0.0 else 0.0
    rr, rz, zz = size * rise * rise, -size * rise * slope * up, size * slope * slope
    H[0, 0] = rr * a * a + round_ * b * b
    H[1, 1] = rr * b * b + round_ * a * a
    H[0, 1] = H[1, 0] = (rr - round_) * a * b
    H[0, 2] = H[2, 0] = rz * a
    H[1, 2] = H[2, 1] = rz * b
    H[2, 2] = zz
    return d


@inner
def _box(half, x, n, H):
    y = vector(3)
    best, most, outside = 0, -np.inf, False
    for i in range(3):
        q = abs(x[i]) - half[i]
        if q > most:
            best, most = i, q
        outside = outside or q > 0.0
        y[i] = np.copysign(max(q, 0.0), x[i])
    if not outside:
        _clear(n, H)
        n[best] = np.copysign(1.0, x[best])
        return most
    size = _radial(y, n, H)
    for i in range(3):
        if y[i] == 0.0:
            for j in range(3):
                H[i, j] = H[j, i] = 0.0
    return size


# --- Tubes ---------------------------------------------------------------------------------------

@inner
def _curve(knots, parts, u, c):
    """
    Write the point and radius of a curve at u, with three derivatives, to c (4, 4).

    Row i: derivative i of x, y, z and r.
    """
    S = parts.shape[0]
    low = 0
    high = S - 1
    while low < high:
        middle = (low + high + 1) // 2
        if knots[middle] <= u:
            low = middle
        else:
            high = middle - 1
    end = min(max(u, knots[0]), knots[S])
    t, a = end - knots[low], parts[low]
    for j in range(4):
        c[0, j] = ((a[3, j] * t + a[2, j]) * t + a[1, j]) * t + a[0, j]
        c[1, j] = (3.0 * a[3, j] * t + 2.0 * a[2, j]) * t + a[1, j]
        c[2, j] = 6.0 * a[3, j] * t + 2.0 * a[2, j]
        c[3, j] = 6.0 * a[3, j]
    beyond = u - end
    if beyond != 0.0:
        wide = 1.0 / c[0, 3]
        for j in range(4):
            c[0, j] += c[1, j] * beyond
            c[2, j] = c[3, j] = 0.0
        c[0, 3] += 0.5 * wide * beyond * beyond
        c[1, 3] += wide * beyond
        c[2, 3] = wide


@inner
def _squared(c, x):
    total = 0.0
    for i in range(3):
        total += (x[i] - c[0, i]) ** 2
    return total


@inner
def _nearest(knots, parts, x, c):
    """Return where a curve is nearest to x: the best knot or middle, then Newton, kept there."""
    S = parts.shape[0]
    u, least = knots[0], np.inf
    for i in range(2 * S + 1):
        at = knots[i // 2] if i % 2 == 0 else 0.5 * (knots[i // 2] + knots[i // 2 + 1])
        _curve(knots, parts, at, c)
        size = _squared(c, x)
        if size < least:
            u, least = at, size
    length = knots[S] - knots[0]
    low, high = -np.inf, np.inf
    for _ in range(NEAREST_ITERATIONS):
        _curve(knots, parts, u, c)
        f, speed, bend = 0.0, 0.0, 0.0
        for i in range(3):
            y = x[i] - c[0, i]
            f += y * c[1, i]
            speed += c[1, i] * c[1, i]
            bend += y * c[2, i]
        if f > 0.0:
            low = u
        else:
            high = u
        new = u + f / (speed - bend if speed - bend > 0.1 * speed else speed)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        done = abs(new - u) <= NEAREST_TOLERANCE * length
        u = new
        if done:
            break
    _curve(knots, parts, u, c)
    return u


@inner
def _tube(shapes, k, x, n, H):
    """With y = x - c(u), du = c' / D, D = c'^2 - y c'': d = r(u) - |y|."""
    S, first = int(shapes.numbers[k, 0]), shapes.first[k]
    knots = view(shapes.data, first, (S + 1,))
    parts = view(shapes.data, first + S + 1, (S, 4, 4))
    c, y = matrix(4, 4), vector(3)
    _nearest(knots, parts, x, c)
    size, D, third, both = 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        y[i] = x[i] - c[0, i]
        size += y[i] * y[i]
        D += c[1, i] * c[1, i] - y[i] * c[2, i]
        third += y[i] * c[3, i]
        both += c[1, i] * c[2, i]
    size = np.sqrt(size)
    slope, bend = c[1, 3], c[2, 3]
    if size < 1e-9 * c[0, 3]:  # on the axis
        _clear(n, H)
        return c[0, 3] - size
    if not D > 0.0:  # beyond the curve's own centre: back to its nearest point
        _radial(y, n, H)
        for i in range(3):
            n[i] = -n[i]
            for j in range(3):
                H[i, j] = -H[i, j]
        return c[0, 3] - size
    for i in range(3):
        y[i] /= size
        n[i] = slope * c[1, i] / D - y[i]
    for i in range(3):
        for j in range(3):
            turn = ((1.0 if i == j else 0.0) - y[i] * y[j] - c[1, i] * c[1, j] / D) / size
            second = (c[2, i] * c[1, j] + c[1, i] * c[2, j]
                      - (3.0 * both - third) * c[1, i] * c[1, j] / D) / (D * D)
            H[i, j] = bend * c[1, i] * c[1, j] / (D * D) + slope * second - turn
    return c[0, 3] - size


# --- Grids ---------------------------------------------------------------------------------------

@inner
def _spline(t, w):
    """Write the four weights of a cubic B-spline, and their derivatives, to w (3, 4)."""
    s = 1.0 - t
    w[0, 0], w[0, 3] = s * s * s / 6.0, t * t * t / 6.0
    w[0, 1] = 2.0 / 3.0 - t * t + 0.5 * t * t * t
    w[0, 2] = 2.0 / 3.0 - s * s + 0.5 * s * s * s
    w[1, 0], w[1, 3] = -0.5 * s * s, 0.5 * t * t
    w[1, 1], w[1, 2] = -2.0 * t + 1.5 * t * t, 2.0 * s - 1.5 * s * s
    w[2, 0], w[2, 3] = s, t
    w[2, 1], w[2, 2] = -2.0 + 3.0 * t, -2.0 + 3.0 * s


@inner
def _grid(shapes, k, x, n, H):
    """
    Of numbers: spacing, counts (3), first point (3), least distance outside of the grid.

    Outside of the grid the distance is a lower bound, and has no derivatives.
    """
    spacing, a = shapes.numbers[k, 0], shapes.numbers[k]
    N1, N2 = int(a[2]), int(a[3])
    _clear(n, H)
    beyond = 0.0
    wx, wy, wz, cell, at = matrix(3, 4), matrix(3, 4), matrix(3, 4), vector(3), vector(3)
    for i in range(3):
        u = (x[i] - a[4 + i]) / spacing
        inside = min(max(u, 1.0), a[1 + i] - 2.0)
        beyond += (u - inside) ** 2
        cell[i] = min(np.floor(inside), a[1 + i] - 3.0)
        at[i] = inside - cell[i]
    if beyond > 0.0:
        return a[7] + spacing * np.sqrt(beyond)
    _spline(at[0], wx)
    _spline(at[1], wy)
    _spline(at[2], wz)
    d = 0.0
    for i in range(4):
        for j in range(4):
            row = shapes.first[k] + (
                (int(cell[0]) - 1 + i) * N1 + int(cell[1]) - 1 + j) * N2 + int(cell[2]) - 1
            v0, v1, v2 = 0.0, 0.0, 0.0
            for m in range(4):
                value = shapes.data[row + m]
                v0 += wz[0, m] * value
                v1 += wz[1, m] * value
                v2 += wz[2, m] * value
            d += wx[0, i] * wy[0, j] * v0
            n[0] += wx[1, i] * wy[0, j] * v0
            n[1] += wx[0, i] * wy[1, j] * v0
            n[2] += wx[0, i] * wy[0, j] * v1
            H[0, 0] += wx[2, i] * wy[0, j] * v0
            H[1, 1] += wx[0, i] * wy[2, j] * v0
            H[2, 2] += wx[0, i] * wy[0, j] * v2
            H[0, 1] += wx[1, i] * wy[1, j] * v0
            H[0, 2] += wx[1, i] * wy[0, j] * v1
            H[1, 2] += wx[0, i] * wy[1, j] * v1
    for i in range(3):
        n[i] /= spacing
        for j in range(i, 3):
            H[i, j] /= spacing * spacing
            H[j, i] = H[i, j]
    return d


@inner
def distance(shapes, k, x, n, H):
    """
    Return the signed distance of a point from shape k [m].

    Parameters
    ----------
    shapes : Shapes
    k : int
    x : (3,) float64
        In the shape's frame [m].
    n, H : (3,) and (3, 3) float64
        Overwritten by gradient [-] and second derivative [1/m].

    """
    kind, a = shapes.kind[k], shapes.numbers[k]
    if kind == PLANE:
        _clear(n, H)
        n[2] = 1.0
        return x[2]
    if kind == CAPSULE:
        return _capsule(a[0], a[1], x, n, H)
    if kind == CYLINDER:
        return _cylinder(a[0], a[1], x, n, H)
    if kind == BOX:
        return _box(a, x, n, H)
    if kind == TUBE:
        return _tube(shapes, k, x, n, H)
    return _grid(shapes, k, x, n, H)


@inner
def clearance(shapes, k, x):
    """Return how far a point x (3,) may move at least until it touches shape k [m]."""
    n, H = vector(3), matrix(3, 3)
    if shapes.kind[k] == TUBE:
        return _tube_clearance(shapes, k, x)
    d = distance(shapes, k, x, n, H)
    return d - shapes.numbers[k, 0] if shapes.kind[k] == GRID else d  # less its spacing


@inner
def _tube_clearance(shapes, k, x):
    """As if the tube went on beyond its ends as wide as there: mouths widen at any rate."""
    S, first = int(shapes.numbers[k, 0]), shapes.first[k]
    knots = view(shapes.data, first, (S + 1,))
    parts = view(shapes.data, first + S + 1, (S, 4, 4))
    c, end = matrix(4, 4), matrix(4, 4)
    u = _nearest(knots, parts, x, c)
    _curve(knots, parts, min(max(u, knots[0]), knots[S]), end)
    return (end[0, 3] - np.sqrt(_squared(c, x))) / TUBE_REACH


@kernel
def distances(shapes, k, points, d, n, H):
    """Write the distances of points (N, 3) from shape k: d (N,), n (N, 3), H (N, 3, 3)."""
    for i in range(points.shape[0]):
        d[i] = distance(shapes, k, points[i], n[i], H[i])
