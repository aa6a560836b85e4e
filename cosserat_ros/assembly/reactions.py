r"""
What a contact does to a body that bears the shape touched, and how both move each other.

The force follows from where a point is in the frame of the shape, and turns with that. With y from
the body's frame to the point, psi its rotation, and v the velocity past the shape,

    dN = psi x N + N_x (dp - dp_b - psi x y) + N_v (dv - dv_b - dOm x y - Om x (psi x y) - psi x v)

and friction likewise. On the body act minus these forces, at the same points: momenta are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import vector
from ..numerics.kernels import inner
from ..numerics.rotations import cross
from .channels import BODY, open_block, open_channels


class Ends(NamedTuple):
    """Who touches the body."""

    link: int
    slot: int            # point of the element, or `BODY`
    at: int              # its number among all slots
    frame: np.ndarray    # (3,) about which moments on it are taken; of an element, the point [m]
    centre: np.ndarray   # (3,) where the normal force acts [m]
    rubbed: np.ndarray   # (3,) where friction does [m]


class Change(NamedTuple):
    """Of the two forces, and of the arms at which they act."""

    N: np.ndarray
    T: np.ndarray
    centre: np.ndarray   # motion of the points
    rubbed: np.ndarray


@inner
def react(body, ends, f, v, end, touch):
    """
    Add the reaction of a contact to a body, and the block that couples the two.

    Parameters
    ----------
    body : int
        Link that bears the shape.
    ends : Ends
    f : Force
    v : (3,) float64
        Velocity past the shape [m/s].
    end : Motion
        Of all links.
    touch : Touch

    """
    frame, Om, size = end.p[body], end.Om[body], 6 if ends.slot == BODY else 3
    touch.bodies[body] += 1
    d = Change(vector(3), vector(3), vector(3), vector(3))
    out = vector(6)
    _moments(f.N, f.T, ends, frame, out)
    for i in range(6):
        touch.wrench[body, i] -= out[i]
    block = _block(body, ends, size, touch)
    for b in range(12):  # motion of the body
        _turned(b, ends, frame, Om, f, v, d)
        _moments(d.N, d.T, ends, frame, out)
        for i in range(3):  # the points stay where they are, and the body's frame moves
            d.centre[i] = -1.0 if i == b else 0.0
        _lever_arms(d.centre, d.centre, f, out)
        for i in range(6):
            touch.block[body, i, b] -= out[i]
        if block >= 0:
            _moments(d.N, d.T, ends, ends.frame, out)
            _enter(touch.channels, block, 0, size, size + b % 6, b >= 6, out, 1.0)
    if block < 0:
        return
    for b in range(2 * size):  # motion of who touches
        _moved(b, size, ends, f, end, d)
        _moments(d.N, d.T, ends, frame, out)
        _lever_arms(d.centre, d.rubbed, f, out)
        _enter(touch.channels, block, size, 6, b % size, b >= size, out, -1.0)


@inner
def _block(body, ends, size, touch):
    """Return the block of a pair, or -1 if there is no room."""
    channels = touch.channels
    if ends.slot == BODY:
        if touch.through[ends.link] < 0:
            touch.through[ends.link] = open_channels(channels, 6, ends.link, BODY)
        first = touch.through[ends.link]
    else:
        if touch.opened[ends.at] < 0:
            touch.opened[ends.at] = open_channels(channels, 3, ends.link, ends.slot)
        first = touch.opened[ends.at]
    if touch.through[body] < 0:
        touch.through[body] = open_channels(channels, 6, body, BODY)
    if first < 0 or touch.through[body] < 0:
        return -1
    block = open_block(channels, size + 6)
    if block >= 0:
        for i in range(size):
            channels.which[block, i] = first + i
        for i in range(6):
            channels.which[block, size + i] = touch.through[body] + i
    return block


@inner
def _enter(channels, block, first, count, column, rate, values, sign):
    """Write a column of a block."""
    for i in range(count):
        if rate:
            channels.S_t[block, first + i, column] = sign * values[i]
        else:
            channels.S[block, first + i, column] = sign * values[i]


@inner
def _moments(N, T, ends, frame, out):
    """Write the wrench of two forces about a frame."""
    y, z = vector(3), vector(3)
    for i in range(3):
        out[i] = N[i] + T[i]
        y[i], z[i] = ends.centre[i] - frame[i], ends.rubbed[i] - frame[i]
    cross(y, N, out[3:6])
    cross(z, T, y)
    for i in range(3):
        out[3 + i] += y[i]


@inner
def _lever_arms(centre, rubbed, f, out):
    """Add what motion of their points makes of the moments of forces."""
    y = vector(3)
    cross(centre, f.N, y)
    for i in range(3):
        out[3 + i] += y[i]
    cross(rubbed, f.T, y)
    for i in range(3):
        out[3 + i] += y[i]


@inner
def _change(f, x, v, s, d):
    """Write the change of forces with motion of centre, its velocity, and the point rubbed."""
    for i in range(3):
        d.N[i] = d.T[i] = 0.0
        for j in range(3):
            d.N[i] += f.N_x[i, j] * x[j] + f.N_v[i, j] * v[j]
            d.T[i] += f.T_x[i, j] * x[j] + f.T_v[i, j] * v[j] + f.T_s[i, j] * s[j]


@inner
def _turned(b, ends, frame, Om, f, v, d):
    """Write the change of the forces with motion b of the body."""
    unit, y, x, s = vector(3), vector(3), vector(3), vector(3)
    rate, z = vector(3), vector(3)
    for i in range(3):
        unit[i] = 1.0 if i == b % 3 else 0.0
        x[i] = s[i] = rate[i] = 0.0
        y[i] = ends.centre[i] - frame[i]
    if b < 3:
        x[b] = s[b] = -1.0
    elif b < 6:
        cross(y, unit, x)  # minus psi x y
        cross(Om, x, rate)
        cross(v, unit, z)
        for i in range(3):
            rate[i] += z[i]
            y[i] = ends.rubbed[i] - frame[i]
        cross(y, unit, s)
    elif b < 9:
        rate[b - 6] = -1.0
    else:
        cross(y, unit, rate)
    _change(f, x, rate, s, d)
    if 3 <= b < 6:
        cross(unit, f.N, x)
        cross(unit, f.T, s)
        for i in range(3):
            d.N[i] += x[i]
            d.T[i] += s[i]


@inner
def _moved(b, size, ends, f, end, d):
    """Write the change of the forces with motion b of who touches, and how the points move."""
    unit, rate, y = vector(3), vector(3), vector(3)
    for i in range(3):
        unit[i] = 1.0 if i == b % 3 else 0.0
        d.centre[i] = d.rubbed[i] = rate[i] = 0.0
        y[i] = ends.centre[i] - ends.frame[i]
    if b < 3:
        d.centre[b] = d.rubbed[b] = 1.0
    elif size == 3:
        rate[b - 3] = 1.0
    elif b < 6:
        cross(unit, y, d.centre)
        cross(end.Om[ends.link], d.centre, rate)
        for i in range(3):
            y[i] = ends.rubbed[i] - ends.frame[i]
        cross(unit, y, d.rubbed)
    elif b < 9:
        rate[b - 6] = 1.0
    else:
        cross(unit, y, rate)
    _change(f, d.centre, rate, d.rubbed, d)
