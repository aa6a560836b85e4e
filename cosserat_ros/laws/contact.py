r"""
The force of one point of contact: pressure, damping, and dry friction that sticks.

With the gap g = d - radius and n the gradient of the distance d, the normal force is

    N = k delta (1 + a delta_t)+,   delta = (-g)+

(Hunt and Crossley 1975): continuous where contact begins, and never pulling. In the plane across
n, friction is an elastic bristle from an anchor on the obstacle to the point of the rod or body,

    T = -k_t e   where that is at most mu N,   else   T = -mu N e / |e|

(return mapping, as in plasticity). The anchor is memory: Newton's method reads it, and only an
accepted step moves it to where the bristle is at its limit. What sticks does not creep. The slopes
here are exact in each of the regimes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import vector
from ..numerics.kernels import inner
from ..numerics.rotations import cross, rotate

APART, STICKS, SLIDES, RELEASED = range(4)  # regimes; released: by damping, which lets go
AT_LIMIT = 1e-7  # part of the limit of friction within which it is at it


class Numbers(NamedTuple):
    """Of a pair in contact."""

    stiffness: float  # k [N/m]
    damping: float    # a [s/m]
    friction: float   # mu [-]
    bristle: float    # k_t [N/m]
    beyond: float = 0.0  # part of the limit by which what sticks may be beyond it [-]


class Force(NamedTuple):
    """The normal force and that of friction with their slopes, world frame, [N, N/m, N s/m]."""

    N: np.ndarray    # (3,)
    T: np.ndarray    # (3,)
    N_x: np.ndarray  # (3, 3) with the position of the centre
    N_v: np.ndarray  # (3, 3) with its velocity
    T_x: np.ndarray  # (3, 3) likewise
    T_v: np.ndarray  # (3, 3)
    T_s: np.ndarray  # (3, 3) with the position of the point that is rubbed


@inner
def press(a, gap, n, H, v, Om, slip, f):
    """
    Write the force on a point in contact; return its regime.

    Parameters
    ----------
    a : Numbers
    gap : float
        < 0 [m].
    n, H : (3,) and (3, 3) float64
        Gradient [-] and second derivative [1/m] of the distance.
    v, Om : (3,) float64
        Velocity of the centre past the obstacle [m/s], and how the obstacle turns [rad/s].
    slip : (3,) float64
        From the anchor to the point that is rubbed [m].
    f : Force
        Overwritten.

    """
    rate, y, spun = 0.0, vector(3), vector(3)
    rotate(H, v, y)
    cross(n, Om, spun)
    for i in range(3):
        rate -= n[i] * v[i]
    factor = 1.0 + a.damping * rate
    load = -a.stiffness * gap * factor
    for i in range(3):
        f.N[i] = f.T[i] = 0.0
        for j in range(3):
            f.N_x[i, j] = f.N_v[i, j] = f.T_x[i, j] = f.T_v[i, j] = f.T_s[i, j] = 0.0
    if not factor > 0.0:
        return RELEASED
    by_x, by_v = vector(3), vector(3)  # slopes of the load
    for i in range(3):
        by_x[i] = a.stiffness * (gap * a.damping * (y[i] - spun[i]) - factor * n[i])
        by_v[i] = a.stiffness * gap * a.damping * n[i]
    for i in range(3):
        f.N[i] = load * n[i]
        for j in range(3):
            f.N_x[i, j] = n[i] * by_x[j] + load * H[i, j]
            f.N_v[i, j] = n[i] * by_v[j]
    if a.friction == 0.0 or not (n[0] != 0.0 or n[1] != 0.0 or n[2] != 0.0):
        return SLIDES  # without a normal there is no plane to slide in
    return _rub(a, load, by_x, by_v, n, H, slip, f)


@inner
def _rub(a, load, by_x, by_v, n, H, slip, f):
    """Write the part of friction; return whether it sticks or slides."""
    size, along = np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), 0.0
    u, e, y = vector(3), vector(3), vector(3)
    for i in range(3):
        u[i] = n[i] / size
        along += u[i] * slip[i]
    length = 0.0
    for i in range(3):
        e[i] = slip[i] - along * u[i]
        length += e[i] * e[i]
    length = np.sqrt(length)
    limit = a.friction * load * size
    sticks = a.bristle * length <= (1.0 + a.beyond) * limit
    grip = a.bristle if sticks else limit / length
    rotate(H, u, y)
    for i in range(3):
        f.T[i] = -grip * e[i]
        e[i] /= length if length > 0.0 else 1.0
    # u turns by (1 - u u^T) H / |n|, and with it the plane that the slip is seen in.
    tilt = vector(3)
    rotate(H, e, tilt)
    for i in range(3):
        for j in range(3):
            across = (1.0 if i == j else 0.0) - u[i] * u[j]
            turn = (H[i, j] - u[i] * y[j]) / size
            if not sticks:
                across -= e[i] * e[j]
                turn -= e[i] * tilt[j] / size
            f.T_s[i, j] = -grip * across
            f.T_x[i, j] = grip * (along * turn + length * u[i] * tilt[j] / size)
    if not sticks:
        for i in range(3):
            for j in range(3):
                f.T_x[i, j] -= a.friction * e[i] * (size * by_x[j] + load * y[j])
                f.T_v[i, j] -= a.friction * e[i] * size * by_v[j]
    return STICKS if sticks else SLIDES
