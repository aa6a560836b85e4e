"""
What is near: each element and body keeps a list of the obstacles that it may touch.

A list holds until something has moved by a part of its size. An element lies within half its
length of the middle between its ends.
"""

from __future__ import annotations

import numpy as np

from ..numerics.arena import vector
from ..numerics.kernels import inner
from ..numerics.rotations import cross, multiply, rotate

MARGIN = 0.5      # of the size of what touches, by which lists of what is near look farther


@inner
def surround(contacts, touch, link, p, end, w, t):
    """Write a ball round an element: about the middle between its ends, of half its length."""
    reach = 0.0
    for k in range(w.size):
        reach += 0.5 * w[k] * np.sqrt(t[k, 0] ** 2 + t[k, 1] ** 2 + t[k, 2] ** 2)
    for i in range(3):
        touch.ball[link, i] = 0.5 * (p[i] + end[i])
    touch.ball[link, 3] = contacts.span[link] + reach


@inner
def list_near(contacts, fixed, end, touch):
    """Make sure of the lists of what is near: they hold while little has moved since."""
    moved, L, x = _place_origins(contacts, end, touch), fixed.size, vector(4)
    holds = touch.listed[0]
    for a in range(2 * L if holds else 0):
        if _size_of(contacts, fixed, end, touch, a, x):
            about, way = touch.about[a], 0.0
            for i in range(3):
                way += (x[i] - about[i]) ** 2
            if not np.sqrt(way) + moved + x[3] - about[3] <= MARGIN * about[3]:
                holds = False
                break
    if holds:
        return
    touch.listed[0] = True
    for a in range(contacts.carriers.size):
        touch.strayed[a] = 0.0
    for k in range(contacts.link.size):
        for i in range(3):
            touch.origin[k, i] = touch.p[k, i]
    for a in range(2 * L):
        touch.near_count[a] = 0
        if not _size_of(contacts, fixed, end, touch, a, x):
            continue
        for i in range(4):
            touch.about[a, i] = x[i]
        for k in range(contacts.link.size):
            apart, way, p = (1.0 + MARGIN) * x[3] + contacts.reach[k], 0.0, touch.p[k]
            for i in range(3):
                way += (x[i] - p[i]) ** 2
            if not way > apart * apart:
                touch.near_it[a, touch.near_count[a]] = k
                touch.near_count[a] += 1


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
    farthest, y = 0.0, vector(3)
    for a in range(contacts.carriers.size):
        link = contacts.carriers[a]
        R, p, placed = end.R[link], end.p[link], touch.placed[a]
        moved = not touch.listed[0]
        for i in range(3):
            moved = moved or placed[i] != p[i]
            for j in range(3):
                moved = moved or placed[3 + 3 * i + j] != R[i, j]
        if moved:
            touch.strayed[a] = 0.0
            for i in range(3):
                placed[i] = p[i]
                for j in range(3):
                    placed[3 + 3 * i + j] = R[i, j]
        for k in range(contacts.link.size if moved else 0):
            if contacts.link[k] != link:
                continue
            rotate(R, contacts.p[k], y)
            way = 0.0
            for i in range(3):
                touch.p[k, i] = p[i] + y[i]
                way += (touch.p[k, i] - touch.origin[k, i]) ** 2
            touch.strayed[a] = max(touch.strayed[a], np.sqrt(way))
        farthest = max(farthest, touch.strayed[a])
    return farthest


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
