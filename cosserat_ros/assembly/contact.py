r"""
Contact of rods and bodies with shapes: who touches what, and what that does to the links.

Rods touch by points inside their elements, which are like further nodes: ``p = p_start + sum_j
W_j t_j``, so that their forces go the way of the nodes' (:mod:`cosserat_ros.assembly.element`).
Rigid bodies touch by spheres. Friction acts on the centre line of rods, which may spin freely; on
bodies it acts at the point that was in contact when the step began.

Shapes are fixed to the ends of links. Where no unknown moves these (the ground, driven bodies),
they are obstacles; else the reaction acts on a body, and the contact couples two places of the
tree, see :mod:`cosserat_ros.assembly.reactions`. Rods on rods are in
:mod:`cosserat_ros.assembly.crossings`.

What is far costs a look at how far all has moved, see :mod:`cosserat_ros.assembly.near`. Of an
element with obstacles near it, points are looked at in groups, so that they may be close to each
other.
"""

from __future__ import annotations

import numpy as np

from ..laws.contact import AT_LIMIT, Force, Numbers, press
from ..laws.obstacles import distance
from ..numerics.arena import matrix, unowned, vector, view
from ..numerics.kernels import inner, kernel, remote
from ..numerics.rotations import cross, rotate, rotate_back
from .channels import BODY
from .contact_arrays import DAMPING, EXTENT, GRIP, open_slot, PLACE, RADIUS, SLOTS, STIFFNESS
from .element import clear, state_in, tangents_in
from .near import is_far, list_near, may_touch, surround
from .reactions import Ends, react

LET_GO = 0.5      # of the elastic force, below which damping has let go of what leaves
GROUP = 8         # points of an element that are looked at together
STRETCHED = 1.5   # bound of a rod's stretch between the nodes, of the largest at these


# --- Who touches what ----------------------------------------------------------------------------

@unowned
@remote
def touch(tree, work):
    """Find all contacts, their forces and the slopes of these: write `work.touch`."""
    fixed, item, elements, contacts = (
        tree.links.fixed, tree.links.item, tree.elements, tree.contacts)
    start, end, touch, room = work.start, work.end, work.touch, work.room
    if touch.found[0] > 0:
        for c in range(touch.regime.size):
            touch.regime[c] = 0
    touch.found[0] = touch.found[1] = 0
    touch.deepest[0], touch.let_go[0], touch.near[0] = 0.0, 0.0, np.inf
    touch.channels.used[0] = touch.channels.used[1] = 0
    for link in range(fixed.size):
        if touch.bodies[link] > 0:
            clear(touch.block[link])
            for i in range(6):
                touch.wrench[link, i] = 0.0
        touch.points[link], touch.bodies[link], touch.through[link] = 0, 0, -1
        if contacts.first[link + 1] > contacts.first[link] or contacts.rod[link] >= 0:
            c, m, M = item[link], elements.size[item[link], 0], elements.size[item[link], 2]
            w = view(elements.data, elements.first[c, 0], (m,))
            t = view(room.data, elements.state[c] + tangents_in(m, M), (m, 3))
            surround(contacts, touch, link, start.p[link], end.p[link], w, t)
    if contacts.link.size == 0 or not list_near(contacts, fixed, end, touch):
        return
    for link in range(fixed.size):
        if touch.near_count[link] > 0:
            room.used[0] = elements.state[item[link]]
            size = elements.size[item[link]]
            x = state_in(room, size[0], size[2], size[3])
            _touch_element(contacts, link, start.p[link], start.p_t[link], end, x, touch)
        if touch.near_count[fixed.size + link] > 0:
            _touch_body(contacts, link, end, touch)


@inner
def _distance(contacts, touch, k, x, n, H):
    """Return the distance of a point x of the world from obstacle k; n and H are overwritten."""
    y, z, A = vector(3), vector(3), matrix(3, 3)
    R = touch.R[k]
    for i in range(3):
        z[i] = x[i] - touch.p[k, i]
    rotate_back(R, z, y)
    d = distance(contacts.shapes, k, y, z, A)
    rotate(R, z, n)
    for i in range(3):
        for j in range(3):
            H[i, j] = 0.0
            for a in range(3):
                H[i, j] += A[i, a] * R[j, a]
    for j in range(3):
        for i in range(3):
            z[i] = H[i, j]
        for i in range(3):
            H[i, j] = R[i, 0] * z[0] + R[i, 1] * z[1] + R[i, 2] * z[2]
    return d


@inner
def _sum(weights, t, begin, out):
    for i in range(3):
        out[i] = begin[i]
        for j in range(weights.size):
            out[i] += weights[j] * t[j, i]


@inner
def _touch_element(contacts, link, p, p_t, end, x, touch):
    """Find the contacts of an element."""
    first, last, m = contacts.first[link], contacts.first[link + 1], x.t.shape[0]
    ball, near, near_group = touch.ball[link], touch.close[0], touch.close[1]
    count, stretch, place = 0, 0.0, vector(3)
    for i in range(touch.near_count[link]):
        k = touch.near_it[link, i]
        if not is_far(contacts, end, touch, k, ball, ball[3]) and may_touch(
                contacts, touch, k, ball, ball[3]):
            near[count] = k
            count += 1
    if count == 0:
        return
    for k in range(m):
        stretch = max(stretch, x.t[k, 0] ** 2 + x.t[k, 1] ** 2 + x.t[k, 2] ** 2)
    stretch = STRETCHED * np.sqrt(stretch)
    for group in range(first, last, GROUP):
        beyond = min(group + GROUP, last)
        middle, some = (group + beyond) // 2, 0
        _sum(view(contacts.data, contacts.at[middle], (m,)), x.t, p, place)
        at = contacts.numbers[middle, PLACE]
        reach = contacts.span[link] + stretch * max(
            at - contacts.numbers[group, PLACE], contacts.numbers[beyond - 1, PLACE] - at)
        for i in range(count):
            if may_touch(contacts, touch, near[i], place, reach):
                near_group[some] = near[i]
                some += 1
        if some > 0:
            _touch_group(contacts, link, group, beyond, some, p, p_t, end, x, touch)


@inner
def _touch_group(contacts, link, first, last, count, p, p_t, end, x, touch):
    """Find the contacts of some points of an element with the obstacles near these."""
    place, place_t, n, H = vector(3), vector(3), vector(3), matrix(3, 3)
    m = x.t.shape[0]
    for c in range(first, last):
        weights = view(contacts.data, contacts.at[c], (m,))
        _sum(weights, x.t, p, place)
        slot = -1
        for i in range(count):
            k = touch.close[1, i]
            d = _distance(contacts, touch, k, place, n, H)
            if not d < contacts.numbers[c, RADIUS]:
                continue
            if slot < 0:
                _sum(weights, x.t_t, p_t, place_t)
                slot = open_slot(contacts, touch, link, weights, place, place_t, 1.0)
            _press_point(contacts, c, k, d, n, H, link, slot, end, touch)


@inner
def _numbers(contacts, c, k):
    """Return the law of a point and an obstacle, their compliances in series."""
    a = contacts.numbers[c]
    stiffness = a[EXTENT] / (1.0 / a[STIFFNESS] + contacts.softness[k])
    return Numbers(stiffness, a[DAMPING], contacts.friction[k], a[GRIP] * stiffness,
                   -AT_LIMIT if contacts.yields[0] else AT_LIMIT)


@inner
def _relative(touch, k, place, place_t, out):
    """Write the velocity of a point past an obstacle."""
    y = vector(3)
    for i in range(3):
        y[i] = place[i] - touch.p[k, i]
    cross(touch.Om[k], y, out)
    for i in range(3):
        out[i] = place_t[i] - touch.p_t[k, i] - out[i]


@inner
def _slot(memory, c, k):
    """Return in which slot point c remembers obstacle k, or -1."""
    for s in range(SLOTS):
        if memory.slots[c, s, 0] == k + 1.0:
            return s
    return -1


@inner
def _seen(contacts, c, k, out):
    """Write where point c was on obstacle k at the last commit, in the frame of that."""
    link, memory = contacts.link[k], contacts.memory
    y, R = vector(3), memory.R[link]
    for i in range(3):
        y[i] = memory.seen[c, i] - memory.p[link, i]
    rotate_back(R, y, out)
    for i in range(3):
        y[i] = out[i] - contacts.p[k, i]
    rotate_back(contacts.R[k], y, out)


@inner
def _to_world(touch, k, a, out):
    rotate(touch.R[k], a, out)
    for i in range(3):
        out[i] += touch.p[k, i]


@inner
def _record(touch, c, k, regime, d, gap, n, place, rubbed, law, f):
    """Write down a pair that touches, with what is to be remembered of it."""
    touch.regime[c] = 4 * touch.regime[c] + regime
    if f.N[0] ** 2 + f.N[1] ** 2 + f.N[2] ** 2 < (LET_GO * law.stiffness * gap) ** 2 * (
            n[0] ** 2 + n[1] ** 2 + n[2] ** 2):
        touch.let_go[0] = max(touch.let_go[0], gap / (gap - d))
    touch.deepest[0] = max(touch.deepest[0], gap / (gap - d))  # of minus the radius
    if touch.found[0] == touch.pairs.shape[0]:
        return
    pair, y, z = touch.pairs[touch.found[0]], vector(3), vector(3)
    touch.found[0] += 1
    pair[0], pair[1], pair[2], pair[18] = c, k, regime, gap
    for i in range(3):
        pair[3 + i] = place[i] - d * n[i]
        pair[6 + i] = n[i]
        pair[9 + i] = f.N[i] + f.T[i]
        y[i] = rubbed[i] - touch.p[k, i]
        if law.friction > 0.0:  # the bristle as long as its force is
            y[i] += f.T[i] / law.bristle
    rotate_back(touch.R[k], y, z)
    for i in range(3):
        pair[12 + i] = z[i]
        pair[15 + i] = rubbed[i]


@inner
def _press_point(contacts, c, k, d, n, H, link, a, end, touch):
    """Add the contact of an element's point, in slot a, with an obstacle."""
    law, memory = _numbers(contacts, c, k), contacts.memory
    place, place_t = touch.place[a], touch.place_t[a]
    v, y, slip = vector(3), vector(3), vector(3)
    f = Force(vector(3), vector(3), matrix(3, 3), matrix(3, 3), matrix(3, 3), matrix(3, 3),
              matrix(3, 3))
    _relative(touch, k, place, place_t, v)
    if law.friction > 0.0:
        s = _slot(memory, c, k)
        if s >= 0:
            _to_world(touch, k, memory.slots[c, s, 1:4], slip)
        else:
            _seen(contacts, c, k, y)
            _to_world(touch, k, y, slip)
        for i in range(3):
            slip[i] = place[i] - slip[i]
    gap = d - contacts.numbers[c, RADIUS]
    regime = press(law, gap, n, H, v, touch.Om[k], slip, f)
    for i in range(3):
        touch.F[a, i] += f.N[i] + f.T[i]
        for j in range(3):
            touch.K[a, i, j] += f.N_x[i, j] + f.T_x[i, j] + f.T_s[i, j]
            touch.D[a, i, j] += f.N_v[i, j] + f.T_v[i, j]
    if contacts.moving[k]:
        react(contacts.link[k], Ends(link, a - contacts.slot[link], a, place, place, place), f, v,
              end, touch)
    _record(touch, c, k, regime, d, gap, n, place, place, law, f)


# --- Bodies --------------------------------------------------------------------------------------

@inner
def _touch_body(contacts, link, end, touch):
    """Find the contacts of the spheres of a body."""
    arm, place, place_t = vector(3), vector(3), vector(3)
    n, H = vector(3), matrix(3, 3)
    for c in range(contacts.body_first[link], contacts.body_first[link + 1]):
        rotate(end.R[link], view(contacts.data, contacts.at[c], (3,)), arm)
        cross(end.Om[link], arm, place_t)
        for i in range(3):
            place[i] = end.p[link, i] + arm[i]
            place_t[i] += end.p_t[link, i]
        for i in range(touch.near_count[touch.points.size + link]):
            k = touch.near_it[touch.points.size + link, i]
            radius = contacts.numbers[c, RADIUS]
            if is_far(contacts, end, touch, k, place, radius):
                continue
            d = _distance(contacts, touch, k, place, n, H)
            if d < radius:
                touch.bodies[link] += 1
                _press_sphere(contacts, link, c, k, d, n, H, arm, place, place_t, end, touch)


@inner
def _rubbed_point(contacts, link, c, k, out, anchor):
    """Write the point of a body that is rubbed, in its frame, and its anchor on the obstacle."""
    memory = contacts.memory
    s = _slot(memory, c, k)
    if s >= 0:
        for i in range(3):
            anchor[i], out[i] = memory.slots[c, s, 1 + i], memory.slots[c, s, 4 + i]
        return
    y, n, H = vector(3), vector(3), matrix(3, 3)
    _seen(contacts, c, k, anchor)
    distance(contacts.shapes, k, anchor, n, H)
    for i in range(3):
        anchor[i] -= contacts.numbers[c, RADIUS] * n[i]
    rotate(contacts.R[k], anchor, y)
    for i in range(3):
        y[i] += contacts.p[k, i]
    rotate(memory.R[contacts.link[k]], y, n)
    for i in range(3):
        n[i] += memory.p[contacts.link[k], i] - memory.p[link, i]
    rotate_back(memory.R[link], n, out)


@inner
def _press_sphere(contacts, link, c, k, d, n, H, arm, place, place_t, end, touch):
    """Add the contact of a body's sphere with an obstacle."""
    law, radius = _numbers(contacts, c, k), contacts.numbers[c, RADIUS]
    v, slip, anchor, rubbed, lever = vector(3), vector(3), vector(3), vector(3), vector(3)
    f = Force(vector(3), vector(3), matrix(3, 3), matrix(3, 3), matrix(3, 3), matrix(3, 3),
              matrix(3, 3))
    _relative(touch, k, place, place_t, v)
    for i in range(3):
        lever[i] = slip[i] = 0.0
    if law.friction > 0.0:
        _rubbed_point(contacts, link, c, k, rubbed, anchor)
        rotate(end.R[link], rubbed, lever)
        _to_world(touch, k, anchor, slip)
        for i in range(3):
            slip[i] = end.p[link, i] + lever[i] - slip[i]
    regime = press(law, d - radius, n, H, v, touch.Om[k], slip, f)
    _add_wrench(f, arm, lever, end.Om[link], touch.wrench[link], touch.block[link])
    if contacts.moving[k]:
        for i in range(3):
            lever[i] += end.p[link, i]
        react(contacts.link[k], Ends(link, BODY, -1, end.p[link], place, lever), f, v, end, touch)
    for i in range(3):  # the point that is rubbed next
        rubbed[i] = place[i] - radius * n[i]
    _record(touch, c, k, regime, d, d - radius, n, place, rubbed, law, f)


@inner
def _add_wrench(f, arm, lever, Om, wrench, block):
    """Add the forces on a body at `arm` and `lever` from its frame, and their slopes."""
    u, v, s, y, z = vector(3), vector(3), vector(3), vector(3), vector(3)
    dN, dT = vector(3), vector(3)
    cross(arm, f.N, y)
    cross(lever, f.T, z)
    for i in range(3):
        wrench[i] += f.N[i] + f.T[i]
        wrench[3 + i] += y[i] + z[i]
    for b in range(12):
        for i in range(3):
            u[i] = v[i] = s[i] = 0.0
            y[i] = 1.0 if i == b % 3 else 0.0
        if b < 3:
            u[b] = s[b] = 1.0
        elif b < 6:
            cross(y, arm, u)
            cross(y, lever, s)
            cross(Om, u, v)
            cross(u, f.N, y)
            cross(s, f.T, z)
            for i in range(3):
                block[3 + i, b] += y[i] + z[i]
        elif b < 9:
            v[b - 6] = 1.0
        else:
            cross(y, arm, v)
        for i in range(3):
            dN[i] = dT[i] = 0.0
            for j in range(3):
                dN[i] += f.N_x[i, j] * u[j] + f.N_v[i, j] * v[j]
                dT[i] += f.T_x[i, j] * u[j] + f.T_v[i, j] * v[j] + f.T_s[i, j] * s[j]
        cross(arm, dN, y)
        cross(lever, dT, z)
        for i in range(3):
            block[i, b] += dN[i] + dT[i]
            block[3 + i, b] += y[i] + z[i]


# --- Memory --------------------------------------------------------------------------------------

@kernel
def commit(tree, work, stays):
    """Remember where all is, as of the last sweep; what sticks goes on to only if it `stays`."""
    item, elements, contacts = tree.links.item, tree.elements, tree.contacts
    start, end, touch, room = work.start, work.end, work.touch, work.room
    memory, y = contacts.memory, vector(3)
    for link in range(item.size):
        for i in range(3):
            memory.p[link, i] = end.p[link, i]
            for j in range(3):
                memory.R[link, i, j] = end.R[link, i, j]
        if contacts.first[link + 1] > contacts.first[link]:
            size = elements.size[item[link]]
            room.used[0] = elements.state[item[link]]
            x = state_in(room, size[0], size[2], size[3])
            for c in range(contacts.first[link], contacts.first[link + 1]):
                _sum(view(contacts.data, contacts.at[c], (size[0],)), x.t, start.p[link],
                     memory.seen[c])
        for c in range(contacts.body_first[link], contacts.body_first[link + 1]):
            rotate(end.R[link], view(contacts.data, contacts.at[c], (3,)), y)
            for i in range(3):
                memory.seen[c, i] = end.p[link, i] + y[i]
    for c in range(memory.slots.shape[0]):
        for s in range(SLOTS):
            memory.slots[c, s, 0] = 0.0
    if stays:
        _fill_slots(contacts, end, touch)


@inner
def _fill_slots(contacts, end, touch):
    """Remember all pairs that rub."""
    memory, y, link = contacts.memory, vector(3), 0
    touch.found[2] = 0
    for i in range(touch.found[0]):
        pair = touch.pairs[i]
        c, k = int(pair[0]), int(pair[1])
        s = 0
        while s < SLOTS and memory.slots[c, s, 0] > 0.0:
            s += 1
        rods = k >= contacts.link.size
        mu = contacts.curve[k - contacts.link.size, 2] if rods else contacts.friction[k]
        if mu == 0.0:
            continue
        if s == SLOTS:
            touch.found[2] += 1
            continue
        slot = memory.slots[c, s]
        slot[0] = k + 1.0
        for j in range(3):
            slot[1 + j] = pair[12 + j]
        if contacts.body_first[0] <= c < contacts.piece_first[0]:
            while c >= contacts.body_first[link + 1]:
                link += 1
            for j in range(3):
                y[j] = pair[15 + j] - end.p[link, j]
            rotate_back(end.R[link], y, slot[4:7])
