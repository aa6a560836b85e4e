"""
What is near: each element and body keeps a list of the obstacles that it may touch.

An element lies within half its length of the middle between its ends. With that ball, a list holds
while the ball has moved and grown, and obstacles have moved, by less than would bring the nearest
of what is not in the list to it; where there is something in the list, by a part of its size at
most, so that it does not become long. Where no list has anything in it, nothing else is looked at.

How near an obstacle is, tell a ball round it and its distance. The distance changes faster than
anything moves where an obstacle turns: lists that are made by it hold while it does not.
"""

from __future__ import annotations

import numpy as np

from ..laws.obstacles import clearance
from ..numerics.arena import vector
from ..numerics.kernels import inner
from ..numerics.rotations import cross, multiply, rotate, rotate_back

MARGIN = 0.5  # of the size of what touches, by which lists of what is near look farther


@inner
def surround(contacts, touch, link, p, end, w, t):
    """
    Write a ball round an element: about the middle between its ends, of half its length.

    The length is at most ``(L int |t|^2 ds)^(1/2)``, and that if it is evenly stretched.
    """
    length, square = 0.0, 0.0
    for k in range(w.size):
        length += w[k]
        square += w[k] * (t[k, 0] * t[k, 0] + t[k, 1] * t[k, 1] + t[k, 2] * t[k, 2])
    for i in range(3):
        touch.ball[link, i] = 0.5 * (p[i] + end[i])
    touch.ball[link, 3] = contacts.span[link] + 0.5 * np.sqrt(length * square)


@inner
def list_near(contacts, fixed, end, touch):
    """Make sure of the lists of what is near; return whether anything is."""
    moved, L, x = _place_origins(contacts, end, touch), fixed.size, vector(4)
    some, holds = False, touch.listed[0]
    for a in range(2 * L if holds else 0):
        if _size_of(contacts, fixed, end, touch, a, x):
            about, way = touch.about[a], 0.0
            for i in range(3):
                way += (x[i] - about[i]) * (x[i] - about[i])
            left = touch.spare[a] - moved - (x[3] - about[3])
            if not (left >= 0.0 and way <= left * left):
                holds = False
                break
            some = some or touch.near_count[a] > 0
    return some if holds else _list(contacts, fixed, end, touch, x)


@inner
def _list(contacts, fixed, end, touch, x):
    """Make the lists of what is near; return whether anything is."""
    L, some = fixed.size, False
    touch.listed[0] = True
    for a in range(contacts.carriers.size):
        touch.strayed[a] = 0.0
        touch.measured[a] = not touch.turns[a]
    for k in range(contacts.link.size):
        for i in range(3):
            touch.origin[k, i] = touch.p[k, i]
    for a in range(2 * L):
        touch.near_count[a] = 0
        if not _size_of(contacts, fixed, end, touch, a, x):
            continue
        for i in range(4):
            touch.about[a, i] = x[i]
        touch.spare[a] = np.inf
        for k in range(contacts.link.size):
            if contacts.link[k] == a - L:  # a body does not touch what it bears
                continue
            apart = _apart(contacts, end, touch, k, x)
            if apart > MARGIN * x[3]:
                touch.spare[a] = min(touch.spare[a], apart)
            else:
                touch.near_it[a, touch.near_count[a]] = k
                touch.near_count[a] += 1
        if touch.near_count[a] > 0:
            touch.spare[a] = MARGIN * x[3]
            some = True
    return some


@inner
def _apart(contacts, end, touch, k, x):
    """Return how far a ball x (4,) may move at least, until it may touch an obstacle [m]."""
    if is_far(contacts, end, touch, k, x, (1.0 + MARGIN) * x[3]):
        way = 0.0
        for i in range(3):
            way += (x[i] - touch.p[k, i]) ** 2
        return np.sqrt(way) - contacts.reach[k] - x[3]
    carrier = 0
    while contacts.carriers[carrier] != contacts.link[k]:
        carrier += 1
    return _clearance(contacts, touch, k, x) - x[3] if touch.measured[carrier] else 0.0


@inner
def _size_of(contacts, fixed, end, touch, a, out):
    """Write the ball (4,) round element a or, from L on, body a - L; return if it has points."""
    L = fixed.size
    if a < L:
        for i in range(4):
            out[i] = touch.ball[a, i]
        return contacts.first[a + 1] > contacts.first[a]
    link = a - L
    for i in range(3):
        out[i] = end.p[link, i]
    out[3] = contacts.span[link]
    return contacts.body_first[link + 1] > contacts.body_first[link] and not fixed[link]


@inner
def _place_origins(contacts, end, touch):
    """Write where obstacles are whose links move; return how far from where listed [m]."""
    farthest, listed, y = 0.0, touch.listed[0], vector(3)
    for a in range(contacts.carriers.size):
        link = contacts.carriers[a]
        R, p, placed = end.R[link], end.p[link], touch.placed[a]
        moved, turned = not listed, False
        for i in range(3):
            moved = moved or placed[i] != p[i]
            for j in range(3):
                turned = turned or placed[3 + 3 * i + j] != R[i, j]
        touch.turns[a] = turned and listed
        if moved or turned:
            touch.strayed[a] = 0.0
            for i in range(3):
                placed[i] = p[i]
                for j in range(3):
                    placed[3 + 3 * i + j] = R[i, j]
            for k in range(contacts.link.size):
                if contacts.link[k] != link:
                    continue
                rotate(R, contacts.p[k], y)
                way = 0.0
                for i in range(3):
                    touch.p[k, i] = p[i] + y[i]
                    way += (touch.p[k, i] - touch.origin[k, i]) ** 2
                touch.strayed[a] = max(touch.strayed[a], np.sqrt(way))
        if turned and touch.measured[a]:
            touch.listed[0] = False
        farthest = max(farthest, touch.strayed[a])
    return farthest


@inner
def may_touch(contacts, touch, k, centre, radius):
    """Return whether something within a ball may touch an obstacle whose motion is written."""
    return not _clearance(contacts, touch, k, centre) > radius


@inner
def _clearance(contacts, touch, k, x):
    """Return how far a point x of the world may move at least without touching obstacle k."""
    y, z = vector(3), vector(3)
    for i in range(3):
        z[i] = x[i] - touch.p[k, i]
    rotate_back(touch.R[k], z, y)
    return clearance(contacts.shapes, k, y)


@inner
def is_far(contacts, end, touch, k, centre, radius):
    """Return whether an obstacle is out of reach of a ball; else write its whole motion."""
    apart, p = radius + contacts.reach[k], touch.p[k]
    if (centre[0] - p[0]) ** 2 + (centre[1] - p[1]) ** 2 + (centre[2] - p[2]) ** 2 > apart * apart:
        return True
    link, y = contacts.link[k], vector(3)
    for i in range(3):
        y[i] = p[i] - end.p[link, i]
        touch.Om[k, i] = end.Om[link, i]
    cross(end.Om[link], y, touch.p_t[k])
    for i in range(3):
        touch.p_t[k, i] += end.p_t[link, i]
    multiply(end.R[link], contacts.R[k], touch.R[k])
    return False
