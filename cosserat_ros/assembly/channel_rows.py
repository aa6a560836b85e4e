"""The rows of channels in the tangent: what they push, and what their forces feel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import unowned, vector, view
from ..numerics.kernels import inner, remote
from ..numerics.rotations import cross
from .blocks import blocks_of
from .channels import BODY
from .tree import ROOT


@inner
def dot(a, b):
    """Return the product of two vectors."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


class Gradient(NamedTuple):
    """Of a channel, with the motion of a link's end: position, rotation, and their rates."""

    place: np.ndarray    # (12,) of its displacement
    rate: np.ndarray     # (12,) of the rate of that
    wrench: np.ndarray   # (6,) that its force makes there


@unowned
@remote
def tie(tree, work, ny, tangent):
    """Write the update of the tangent, after all blocks of that."""
    channels, ties = work.touch.channels, tangent.ties
    count = channels.used[0]
    ties.used[0] = count
    g = Gradient(vector(12), vector(12), vector(6))
    for c in range(count):
        for i in range(ties.push.shape[1]):
            ties.push[c, i] = ties.place[c, i] = ties.place_t[c, i] = ties.feel[c, i] = 0.0
        for end in range(2):
            link, slot = channels.link[c, end], channels.slot[c, end]
            if link < 0:
                continue
            if slot == BODY:
                for i in range(12):
                    g.place[i] = g.rate[i] = 0.0
                for i in range(6):
                    g.place[i] = g.rate[6 + i] = g.wrench[i] = channels.along[c, end, i]
                _carry_back(tree, ny, tangent, link, g, c)
            else:
                _leave_element(tree, work, ny, tangent, link, slot, channels.along[c, end], g, c)
    for b in range(channels.used[1]):
        for i in range(channels.size[b]):
            row = ties.feel[channels.which[b, i]]
            for j in range(channels.size[b]):
                other, S, S_t = channels.which[b, j], channels.S[b, i, j], channels.S_t[b, i, j]
                if S != 0.0:
                    for k in range(row.size):
                        row[k] += S * ties.place[other, k]
                if S_t != 0.0 and ny > 6:
                    for k in range(row.size):
                        row[k] += S_t * ties.place_t[other, k]


@inner
def _leave_element(tree, work, ny, tangent, link, slot, d, g, c):
    """Add to the rows of channel c what is of a point of an element, along d."""
    links, touch, contacts = tree.links, work.touch, tree.contacts
    n, ties, first = links.freedom[link], tangent.ties, links.first[link]
    at = contacts.slot[link] + slot
    J = view(touch.J, contacts.column_at[link] + 3 * n * slot, (3, n))
    J_t = view(touch.J_t, contacts.column_at[link] + 3 * n * slot, (3, n))
    for k in range(n):
        for i in range(3):
            ties.push[c, first + k] += d[i] * J[i, k]
            ties.place[c, first + k] += d[i] * J[i, k]
            ties.place_t[c, first + k] += d[i] * J_t[i, k]
    parent = links.parent[link]
    if links.fixed[parent]:
        return
    arm, drift, y, z, Om = vector(3), vector(3), vector(3), vector(3), work.start.Om[link]
    for i in range(3):
        arm[i] = touch.place[at, i] - work.start.p[link, i]
    cross(Om, arm, y)
    for i in range(3):
        drift[i] = touch.place_t[at, i] - work.start.p_t[link, i] - y[i]
        g.place[i] = g.rate[6 + i] = g.wrench[i] = touch.whole[at] * d[i]
        g.place[6 + i] = g.place[9 + i] = g.rate[i] = 0.0
    cross(arm, d, y)
    for i in range(3):
        g.place[3 + i] = g.rate[9 + i] = g.wrench[3 + i] = y[i]
    cross(d, Om, y)
    cross(arm, y, z)
    cross(drift, d, y)
    for i in range(3):
        g.rate[3 + i] = y[i] + z[i]
    _to_parent(tangent, link, g)
    _carry_back(tree, ny, tangent, parent, g, c)


@inner
def _to_parent(tangent, link, g):
    """Take a gradient from a link's start to the end of its parent."""
    arm, Om, y = tangent.arm[link], tangent.Om[link], vector(3)
    _shift(arm, Om, g.place)
    _shift(arm, Om, g.rate)
    cross(arm, g.wrench[0:3], y)
    for i in range(3):
        g.wrench[3 + i] += y[i]


@inner
def _shift(arm, Om, a):
    """Let a gradient (12,) be that with the motion of a frame whose point is `arm` away."""
    y, z = vector(3), vector(3)
    cross(arm, a[0:3], y)
    for i in range(3):
        a[3 + i] += y[i]
    cross(a[6:9], Om, y)
    cross(arm, y, z)
    cross(arm, a[6:9], y)
    for i in range(3):
        a[3 + i] += z[i]
        a[9 + i] += y[i]


@inner
def _to_start(J, n, wide, a):
    """Take a gradient (12,) from a link's end to its start."""
    y = vector(12)
    for k in range(12):
        y[k] = 0.0
    for i in range(wide):
        for k in range(wide):
            y[k] += a[i] * J[i, n + k]
    for k in range(12):
        a[k] = y[k]


@inner
def _carry_back(tree, ny, tangent, link, g, c):
    """Add to the rows of channel c what moves the end of a link, from there to the root."""
    links, ties, lever = tree.links, tangent.ties, vector(3)
    wide = min(ny, 12)
    while links.kind[link] != ROOT and not links.fixed[link]:
        n, first = links.freedom[link], links.first[link]
        J = blocks_of(tree, tangent, link, ny).motion
        for k in range(n):
            for i in range(wide):
                ties.place[c, first + k] += g.place[i] * J[i, k]
                ties.place_t[c, first + k] += g.rate[i] * J[i, k]
            for i in range(6):
                ties.push[c, first + k] += g.wrench[i] * tangent.along[first + k, i]
        if links.fixed[links.parent[link]]:
            return
        _to_start(J, n, wide, g.place)
        _to_start(J, n, wide, g.rate)
        cross(tangent.lever[link], g.wrench[0:3], lever)
        for i in range(3):
            g.wrench[3 + i] += lever[i]
        _to_parent(tangent, link, g)
        link = links.parent[link]


@inner
def add_ties(tangent, dz, dr):
    """Add the update times dz (Z,) to dr (Z,)."""
    ties = tangent.ties
    for c in range(ties.used[0]):
        force = dot(ties.feel[c], dz)
        if force != 0.0:
            for i in range(dr.size):
                dr[i] -= force * ties.push[c, i]
