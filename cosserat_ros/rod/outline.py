"""Where a rod, and what runs beside it, is drawn: chords between stations, points in sections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import vector
from ..numerics.kernels import inner, kernel
from ..numerics.lie import write_places, write_poses_between
from ..numerics.rotations import cross, rotate

SHORTEST = 1e-12  # [m] of a chord that has a direction
PARALLEL = 1e-6  # sine of the angle to a chord, below which an axis has no part across it


class Marks(NamedTuple):
    """Places between stations of rods, which are counted through all rods."""

    first: np.ndarray     # (P,) int64, station before each place
    fraction: np.ndarray  # (P,) how far it is to the next station [-]


@kernel
def write_frames(poses, marks, places):
    """Write positions and quaternions (P, 7) of places between stations, poses (N, 4, 4)."""
    between = np.empty((marks.first.size, 4, 4))
    write_poses_between(poses, marks.first, marks.fraction, between)
    write_places(between, places)


@kernel
def write_points(poses, marks, offsets, points):
    """Write points (P, 3) at offsets (P, 3), body frame, from places between stations [m]."""
    between = np.empty((marks.first.size, 4, 4))
    write_poses_between(poses, marks.first, marks.fraction, between)
    for k in range(offsets.shape[0]):
        rotate(between[k, :3, :3], offsets[k], points[k])
        for i in range(3):
            points[k, i] += between[k, i, 3]


@kernel
def write_chords(poses, rods, places, lengths):
    """
    Write what joins neighbouring stations.

    Parameters
    ----------
    poses : (N, 4, 4) float64
        Of the stations of all rods, one after another, each of as many [-, m].
    rods : int
        How many there are.
    places : (N - rods, 7) float64
        Positions and quaternions in the middle, overwritten: z along the chord (the section's,
        where there is none) and x as near to the section's as can be [m].
    lengths : (N - rods,) float64
        Of the chords, overwritten [m].

    """
    count = poses.shape[0] // rods
    middle = np.zeros((lengths.size, 4, 4))
    for i in range(rods):
        for k in range(count - 1):
            c = i * (count - 1) + k
            start, end = poses[i * count + k], poses[i * count + k + 1]
            lengths[c] = _write_chord(start, end, middle[c])
    write_places(middle, places)


@inner
def _write_chord(start, end, middle):
    """Write the frame in the middle of a chord; return the chord's length."""
    x, y, z, square = vector(3), vector(3), vector(3), 0.0
    for i in range(3):
        z[i] = end[i, 3] - start[i, 3]
        middle[i, 3] = 0.5 * (start[i, 3] + end[i, 3])
        square += z[i] * z[i]
    length = np.sqrt(square)
    for i in range(3):
        z[i] = z[i] / length if length > SHORTEST else start[i, 2]
    if not _write_across(start[:3, 0], z, x):
        _write_across(start[:3, 1], z, x)
    cross(z, x, y)
    for i in range(3):
        middle[i, 0], middle[i, 1], middle[i, 2] = x[i], y[i], z[i]
    middle[3, 3] = 1.0
    return length


@inner
def _write_across(axis, z, out):
    """Write the direction of an axis across z, if it has one; tell whether it has."""
    along = axis[0] * z[0] + axis[1] * z[1] + axis[2] * z[2]
    square = 0.0
    for i in range(3):
        out[i] = axis[i] - along * z[i]
        square += out[i] * out[i]
    size = np.sqrt(square)
    if not size > PARALLEL:
        return False
    for i in range(3):
        out[i] /= size
    return True
