r"""
What contact gives back over a step, and what it had stored.

The pressure of a pair is ``k delta`` at a penetration delta: ``k delta^2 / 2`` are stored. A step
knows the forces at its two ends only. Where a pair comes free within it, the force at its begin
acts along all of the way, also where nothing touches: a scheme of second order makes of it

    W = (N_0 + N_1) . (y_1 - y_0) / 2,

y from the obstacle to the point, in the frame of that. Beyond what is stored this is energy from
nowhere, as much as ``k dt^2 / 4 m`` times that of a mass m.
"""

from __future__ import annotations

from ..numerics.arena import matrix, vector, view
from ..numerics.kernels import inner, kernel
from ..numerics.rotations import rotate, rotate_back
from .contact_arrays import EXTENT, RADIUS, STIFFNESS
from .crossings import _evaluate, _line
from .element import state_in


@kernel
def returned(tree, work, before):
    """
    Return the work of pressure over a step, beyond what it stored less, and what was stored [J].

    Parameters
    ----------
    tree, work
        Of the assembly, after the last sweep of the step; contacts remember where all was at its
        begin.
    before : (n, 19) float64
        Pairs that touched then, see `Touch.pairs`.

    """
    memory, end, touch = tree.contacts.memory, work.end, work.touch
    surplus, stored = 0.0, 0.0
    for i in range(before.shape[0]):
        energy = _stored(tree.contacts, before[i])
        stored += energy
        surplus += 0.5 * _work(tree, work, before[i], before, memory.R, False) - energy
    for i in range(touch.found[0]):
        surplus += _stored(tree.contacts, touch.pairs[i]) + 0.5 * _work(
            tree, work, touch.pairs[i], before, end.R, True)
    return surplus, stored


@inner
def _stored(contacts, pair):
    """Return the energy of the pressure of a pair [J]."""
    c, k = int(pair[0]), int(pair[1])
    K = contacts.link.size
    softness = contacts.softness[k] if k < K else (
        1.0 / contacts.numbers[contacts.piece_first[k - K], STIFFNESS])
    stiffness = contacts.numbers[c, EXTENT] / (1.0 / contacts.numbers[c, STIFFNESS] + softness)
    return 0.5 * stiffness * pair[18] * pair[18]


@inner
def _work(tree, work, pair, before, R, now):
    """Return the work of the pressure of a pair along the whole step, R (L, 3, 3) of links [J]."""
    contacts, n, load, square = tree.contacts, pair[6:9], 0.0, 0.0
    for i in range(3):
        load += pair[9 + i] * n[i]
        square += n[i] * n[i]
    if not square > 0.0:
        return 0.0
    c, k = int(pair[0]), int(pair[1])
    if k >= contacts.link.size:
        return load * _way_of_crossing(tree, work, pair, before, now)
    link, memory, end = contacts.link[k], contacts.memory, work.end
    x, y, z, way = vector(3), vector(3), vector(3), 0.0
    rotate_back(R[link], n, x)  # the normal in the frame of the link, in which both places are
    _place(tree, work, c, y)
    for i in range(3):
        z[i] = y[i] - end.p[link, i]
    rotate_back(end.R[link], z, y)
    for i in range(3):
        way += x[i] * y[i]
        z[i] = memory.seen[c, i] - memory.p[link, i]
    rotate_back(memory.R[link], z, y)
    for i in range(3):
        way -= x[i] * y[i]
    return load / square * way


@inner
def _link_of(first, c):
    """Return to which link point c belongs, given where the points of each begin (L + 1,)."""
    low, high = 0, first.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if first[middle] <= c:
            low = middle
        else:
            high = middle
    return low


@inner
def _place(tree, work, c, out):
    """Write where point c of an element, or sphere c of a body, is."""
    contacts, elements, room = tree.contacts, tree.elements, work.room
    if c < contacts.body_first[0]:
        link = _link_of(contacts.first, c)
        size = elements.size[tree.links.item[link]]
        room.used[0] = elements.state[tree.links.item[link]]
        t = state_in(room, size[0], size[2], size[3]).t
        weights = view(contacts.data, contacts.at[c], (size[0],))
        for i in range(3):
            out[i] = work.start.p[link, i]
            for j in range(size[0]):
                out[i] += weights[j] * t[j, i]
        return
    link = _link_of(contacts.body_first, c)
    rotate(work.end.R[link], view(contacts.data, contacts.at[c], (3,)), out)
    for i in range(3):
        out[i] += work.end.p[link, i]


@inner
def _way_of_crossing(tree, work, pair, before, now):
    """
    Return how far two places of rods have moved apart along the normal of the pair [m].

    Of a pair that touches only now, as far as it is deep.
    """
    contacts, elements, room = tree.contacts, tree.elements, work.room
    c, b = int(pair[0]), int(pair[1]) - contacts.link.size
    apart = contacts.numbers[c, RADIUS] + contacts.numbers[contacts.piece_first[b], RADIUS]
    if now:
        for i in range(before.shape[0]):
            row, cosine = before[i], 0.0
            if row[0] == pair[0] and row[1] == pair[1]:
                for j in range(3):
                    cosine += row[6 + j] * pair[6 + j]
                return pair[18] + apart - (row[18] + apart) * cosine
        return pair[18]
    begin, way = elements.state[elements.state.size - 1], -(pair[18] + apart)
    a = _link_of(contacts.piece_first, c)
    for side in range(2):
        line = _line(tree.links.item, elements, work.start, contacts, b if side else a, begin,
                       room)
        there = matrix(3, 3)
        _evaluate(line.q, line.half, pair[12 + side], there)
        for i in range(3):
            way += (-1.0 if side else 1.0) * there[0, i] * pair[6 + i]
    return way
