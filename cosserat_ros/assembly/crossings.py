r"""
Contact of rods with each other, and of a rod with itself.

A piece of one rod, about its point of contact s_c (see :mod:`cosserat_ros.assembly.contact`),
touches an element of another at the least, over s on the piece and t on the element, of

    D^2 = |p_a(s) - p_b(t)|^2 + e (s - s_c)^2.

Where rods cross, e is 0 and this is the distance of their centre lines; a least distance at the
end of a piece or element is none of the rod, and is left to the next one. Where rods lie along
each other, e is a small number that keeps s in the middle of each piece, so that the pressure is
spread over them. The force ``-dU(D)`` acts along ``x = p_a - p_b``: it takes no energy, and no
momentum. With s and t at their least, all that it changes with is x, and ``x . p'`` of both
curves:

    [ |p_a'|^2 + x . p_a'' + e      -p_a' . p_b'       ] [ ds ]   [ -(p_a' . dx + x . dp_a') ]
    [      -p_a' . p_b'        |p_b'|^2 - x . p_b''    ] [ dt ] = [   p_b' . dx + x . dp_b'  ]

Friction is a bristle between the two places of the rods that touched when the step began. It acts
on the centre lines: rods spin and roll freely.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..laws.contact import AT_LIMIT, RELEASED, SLIDES, STICKS
from ..numerics.arena import empty, matrix, unowned, vector, view
from ..numerics.kernels import inner, remote
from .channels import lead_from, open_block, open_channels
from .contact import LET_GO
from .contact_arrays import DAMPING, EXTENT, GRIP, open_slot, PLACE, RADIUS, SLOTS, STIFFNESS
from .element import state_in

LEVEL = 1e-3               # e, of rods along each other [-]
ACROSS = 0.01              # square of the sine of the angle from which rods cross [-]
BORDER = 1e-9              # slope of the distance at which a least one at a border is taken [-]
SAMPLES = 8                # parts of an element among which Newton's method begins
NEAREST_ITERATIONS = 40
NEAREST_TOLERANCE = 1e-15  # of the element's length
FLATTEST = 1e-6            # of rods along each other, or in one place [-]
SLOTS_OF_ONE = 3           # that a crossing takes of an element: force, slope, friction


class Line(NamedTuple):
    """The centre line of an element, by powers of x = s / half - 1."""

    link: int
    half: float           # of its length [m]
    C: np.ndarray         # (m + 1, m) weights of its nodes
    q: np.ndarray         # (m + 1, 3) position [m]
    q_t: np.ndarray       # (m + 1, 3) velocity [m/s]


class Pair(NamedTuple):
    """Two points at the least distance."""

    at: np.ndarray    # (2,) s and t [m]
    beyond: np.ndarray  # (2,) slope by which it would go on beyond the end of its range [m]
    level: np.ndarray  # (1,) e
    a: np.ndarray     # (3, 3) position, first and second derivative along the rod
    b: np.ndarray     # (3, 3)
    a_t: np.ndarray   # (3, 3) velocity likewise
    b_t: np.ndarray   # (3, 3)
    x: np.ndarray     # (3,) from b to a [m]
    x_t: np.ndarray   # (3,)
    inverse: np.ndarray  # (2, 2) of the matrix above


class Law(NamedTuple):
    """Of a pair."""

    stiffness: float  # [N/m]
    damping: float    # [s/m]
    friction: float   # [-]
    bristle: float    # [N/m]
    apart: float      # distance at which they touch [m]
    beyond: float     # see `cosserat_ros.laws.contact.Numbers` [-]


@unowned
@remote
def meet(tree, work):
    """Find all contacts between rods, with their forces and slopes: go on after `touch`."""
    item, elements, contacts = tree.links.item, tree.elements, tree.contacts
    start, touch, room = work.start, work.touch, work.room
    L, begin = item.size, elements.state[elements.state.size - 1]
    pair = Pair(vector(2), vector(2), vector(1), matrix(3, 3), matrix(3, 3), matrix(3, 3),
                matrix(3, 3), vector(3), vector(3), matrix(2, 2))
    for a in range(L):
        if contacts.rod[a] < 0:
            continue
        line_a = _line(item, elements, start, contacts, a, begin, room)
        kept = room.used[0]
        for b in range(a + 1, L):
            if contacts.rod[b] < 0 or not _near(contacts, touch, a, b):
                continue
            touch.near[0] = min(touch.near[0], contacts.numbers[contacts.piece_first[a], RADIUS]
                                + contacts.numbers[contacts.piece_first[b], RADIUS])
            line_b = _line(item, elements, start, contacts, b, kept, room)
            for c in range(contacts.piece_first[a], contacts.piece_first[a + 1]):
                if _closest(contacts, touch, c, line_a, line_b, pair):
                    _press(contacts, touch, c, start, line_a, line_b, pair, room)


@inner
def _near(contacts, touch, a, b):
    """Return whether two elements may touch; not those that follow each other."""
    if contacts.rod[a] == contacts.rod[b]:
        between = contacts.curve[b, 0] - contacts.curve[a, 0] - contacts.curve[a, 1]
        if between < np.pi * contacts.numbers[contacts.piece_first[a], RADIUS]:
            return False
    square = 0.0
    for i in range(3):
        square += (touch.ball[a, i] - touch.ball[b, i]) ** 2
    return square < (touch.ball[a, 3] + touch.ball[b, 3]) ** 2


@inner
def _line(item, elements, start, contacts, link, begin, room):
    """Return the centre line of an element, made in an arena from `begin` on."""
    size = elements.size[item[link]]
    m = size[0]
    C = view(contacts.data, contacts.curve_at[link], (m + 1, m))
    room.used[0] = elements.state[item[link]]
    x = state_in(room, m, size[2], size[3])
    room.used[0] = begin
    q, q_t = empty(room, (m + 1, 3)), empty(room, (m + 1, 3))
    for k in range(m + 1):
        for i in range(3):
            q[k, i] = start.p[link, i] if k == 0 else 0.0
            q_t[k, i] = start.p_t[link, i] if k == 0 else 0.0
            for j in range(m):
                q[k, i] += C[k, j] * x.t[j, i]
                q_t[k, i] += C[k, j] * x.t_t[j, i]
    return Line(link, 0.5 * contacts.curve[link, 1], C, q, q_t)


@inner
def _evaluate(q, half, s, out):
    """Write a curve at s, with two derivatives, to out (3, 3)."""
    x, n = s / half - 1.0, q.shape[0]
    for i in range(3):
        value, first, second = 0.0, 0.0, 0.0
        for k in range(n - 1, -1, -1):  # Horner
            second = second * x + 2.0 * first
            first = first * x + value
            value = value * x + q[k, i]
        out[0, i], out[1, i], out[2, i] = value, first / half, second / (half * half)


@inner
def _weights(line, s, derivative, out):
    """Write the weights of an element's nodes in position at s, or in its derivative."""
    x = s / line.half - 1.0
    for j in range(out.size):
        value, first = 0.0, 0.0
        for k in range(line.C.shape[0] - 1, -1, -1):
            first = first * x + value
            value = value * x + line.C[k, j]
        out[j] = first / line.half if derivative else value


@inner
def _square(x):
    return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]


@inner
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inner
def _piece(contacts, c, line):
    """Return half the length of the piece of a rod that point c stands for; the tip has none."""
    if contacts.numbers[c, PLACE] >= 2.0 * line.half * (1.0 - 1e-9):
        return 0.0
    return 0.5 * contacts.numbers[c, EXTENT]


@inner
def _closest(contacts, touch, c, a, b, pair):
    """Write the points at least distance of a piece and an element; return if they are near."""
    middle, piece = contacts.numbers[c, PLACE], _piece(contacts, c, a)
    first, last = contacts.piece_first[b.link], contacts.piece_first[b.link + 1] - 1
    low = contacts.numbers[first, PLACE] - _piece(contacts, first, b)
    high = contacts.numbers[last, PLACE] + _piece(contacts, last, b)
    apart = contacts.numbers[c, RADIUS] + contacts.numbers[first, RADIUS] + piece
    _evaluate(a.q, a.half, middle, pair.a)
    square = 0.0
    for i in range(3):
        square += (pair.a[0, i] - touch.ball[b.link, i]) ** 2
    if square > (touch.ball[b.link, 3] + apart) ** 2:
        return False
    least, at = np.inf, low
    for k in range(SAMPLES + 1):
        t = low + (high - low) * k / SAMPLES
        _evaluate(b.q, b.half, t, pair.b)
        square = 0.0
        for i in range(3):
            square += (pair.a[0, i] - pair.b[0, i]) ** 2
        if square < least:
            least, at = square, t
    if least > (apart + (high - low) / SAMPLES) ** 2:
        return False
    pair.at[0], pair.at[1] = middle, at
    _evaluate(b.q, b.half, at, pair.b)
    cosine = _dot(pair.a[1], pair.b[1])
    across = cosine * cosine < (1.0 - ACROSS) * _square(pair.a[1]) * _square(pair.b[1])
    pair.level[0] = 0.0 if across else LEVEL
    _descend(a, b, middle, piece, low, high, pair)
    if not across:
        return True
    small = BORDER * np.sqrt(_square(pair.x))
    if piece > 0.0 and abs(pair.beyond[0]) > small:
        return False
    goes_on = contacts.rod[b.link - 1] == contacts.rod[b.link]
    if pair.at[1] > low:
        goes_on = b.link + 1 < contacts.rod.size and (
            contacts.rod[b.link + 1] == contacts.rod[b.link])
    return not (goes_on and abs(pair.beyond[1]) > small)


@inner
def _descend(a, b, middle, piece, low, high, pair):
    """Find the least distance by Newton's method within bounds."""
    x, H, level = pair.x, pair.inverse, pair.level[0]
    for _ in range(NEAREST_ITERATIONS):
        s, t = pair.at[0], pair.at[1]
        _evaluate(a.q, a.half, s, pair.a)
        _evaluate(b.q, b.half, t, pair.b)
        for i in range(3):
            x[i] = pair.a[0, i] - pair.b[0, i]
        g, h = _dot(x, pair.a[1]) + level * (s - middle), -_dot(x, pair.b[1])
        ss = _square(pair.a[1]) + level
        tt, st = _square(pair.b[1]), -_dot(pair.a[1], pair.b[1])
        bend_s, bend_t = _dot(x, pair.a[2]), -_dot(x, pair.b[2])
        if ss + bend_s > 0.0 and (ss + bend_s) * (tt + bend_t) > st * st * (1.0 + 1e-9):
            ss, tt = ss + bend_s, tt + bend_t
        stays_s = piece == 0.0 or (s <= middle - piece and g > 0.0) or (
            s >= middle + piece and g < 0.0)
        stays_t = (t <= low and h > 0.0) or (t >= high and h < 0.0)
        determinant = max(ss * tt - st * st, FLATTEST * ss * tt)
        H[0, 0], H[1, 1] = tt / determinant, ss / determinant
        H[0, 1] = H[1, 0] = -st / determinant
        if stays_s:
            H[0, 0], H[0, 1], H[1, 0], H[1, 1] = 0.0, 0.0, 0.0, 1.0 / tt
        if stays_t:
            H[0, 1], H[1, 0], H[1, 1] = 0.0, 0.0, 0.0
            H[0, 0] = 0.0 if stays_s else 1.0 / ss
        new_s = min(max(s - H[0, 0] * g - H[0, 1] * h, middle - piece), middle + piece)
        new_t = min(max(t - H[1, 0] * g - H[1, 1] * h, low), high)
        pair.beyond[0], pair.beyond[1] = g if stays_s else 0.0, h if stays_t else 0.0
        if abs(new_s - s) + abs(new_t - t) <= NEAREST_TOLERANCE * (high - low):
            break
        pair.at[0], pair.at[1] = new_s, new_t


# --- Forces --------------------------------------------------------------------------------------

@inner
def _law(contacts, c, a, b):
    """Return the law of a piece and an element, their compliances in series."""
    mine, other = contacts.numbers[c], contacts.numbers[contacts.piece_first[b]]
    stiffness = mine[EXTENT] / (1.0 / mine[STIFFNESS] + 1.0 / other[STIFFNESS])
    return Law(stiffness, max(mine[DAMPING], other[DAMPING]),
               min(contacts.curve[a, 2], contacts.curve[b, 2]),
               min(mine[GRIP], other[GRIP]) * stiffness, mine[RADIUS] + other[RADIUS],
               -AT_LIMIT if contacts.yields[0] else AT_LIMIT)


@inner
def _anchor(contacts, c, a, b, out):
    """Write where the rods touched when the step began, (2,) [m]; return if that is known."""
    slots, key = contacts.memory.slots, contacts.link.size + b + 1.0
    for beside in range(3):  # of this piece, or of those beside it
        other = c if beside == 0 else (c - 1 if beside == 1 else c + 1)
        if not contacts.piece_first[a] <= other < contacts.piece_first[a + 1]:
            continue
        for s in range(SLOTS):
            if slots[other, s, 0] == key:
                out[0], out[1] = slots[other, s, 1], slots[other, s, 2]
                return True
    return False


@inner
def _press(contacts, touch, c, start, a, b, pair, room):
    """Add the contact of a pair, if they touch."""
    law, x = _law(contacts, c, a.link, b.link), pair.x
    D = np.sqrt(_square(x) + pair.level[0] * (pair.at[0] - contacts.numbers[c, PLACE]) ** 2)
    if not D < law.apart:
        return
    D = max(D, FLATTEST * law.apart)
    if not (_has_room(contacts, touch, a.link) and _has_room(contacts, touch, b.link)):
        touch.found[1] += 1
        return
    _evaluate(a.q_t, a.half, pair.at[0], pair.a_t)
    _evaluate(b.q_t, b.half, pair.at[1], pair.b_t)
    for i in range(3):
        pair.x_t[i] = pair.a_t[0, i] - pair.b_t[0, i]
    rate = -_dot(x, pair.x_t) / D
    factor = 1.0 + law.damping * rate
    load = law.stiffness * (law.apart - D) * factor
    anchor, m, T, regime = vector(2), vector(3), vector(3), SLIDES
    if not factor > 0.0:
        factor, load, regime = 0.0, 0.0, RELEASED
    if factor < LET_GO:
        touch.let_go[0] = max(touch.let_go[0], (law.apart - D) / law.apart)
    rubs = law.friction > 0.0 and load > 0.0 and _anchor(contacts, c, a.link, b.link, anchor)
    for i in range(3):
        m[i] = T[i] = 0.0
    if rubs:
        regime = _bristle(law, load, a, b, anchor, x, m, T)
    ends = (4 if pair.beyond[0] != 0.0 else 0) + (8 if pair.beyond[1] != 0.0 else 0)
    touch.regime[c] = 16 * (touch.regime[c] * 31 + b.link + 1) + regime + ends
    touch.deepest[0] = max(touch.deepest[0], (law.apart - D) / law.apart)
    _record(contacts, touch, c, b.link, law, D, load, regime, rubs, anchor, T, pair)
    _tie(touch, contacts, start, law, D, load, factor, rate, rubs, regime, anchor, m, T, a, b,
         pair, room)


@inner
def _has_room(contacts, touch, link):
    """Return whether an element has slots for one more crossing."""
    return contacts.slot[link + 1] - contacts.slot[link] - touch.points[link] >= SLOTS_OF_ONE


@inner
def _bristle(law, load, a, b, anchor, x, m, T):
    """Write the way m between anchors, and friction T on rod a; return its regime."""
    here, there, square = matrix(3, 3), matrix(3, 3), _square(x)
    _evaluate(a.q, a.half, anchor[0], here)
    _evaluate(b.q, b.half, anchor[1], there)
    for i in range(3):
        m[i] = here[0, i] - there[0, i]
    along, size = _dot(m, x) / square, 0.0
    for i in range(3):
        T[i] = m[i] - along * x[i]
        size += T[i] * T[i]
    size = np.sqrt(size)
    sticks = law.bristle * size <= (1.0 + law.beyond) * law.friction * load
    for i in range(3):
        T[i] *= -law.bristle if sticks else -law.friction * load / size
    return STICKS if sticks else SLIDES


@inner
def _record(contacts, touch, c, b, law, D, load, regime, rubs, anchor, T, pair):
    """Write down a pair that touches, with the anchors that it leaves."""
    if touch.found[0] == touch.pairs.shape[0]:
        return
    row = touch.pairs[touch.found[0]]
    touch.found[0] += 1
    row[0], row[1], row[2], row[18] = c, contacts.link.size + b, regime, D - law.apart
    other = contacts.numbers[contacts.piece_first[b], RADIUS]
    for i in range(3):
        row[3 + i] = pair.b[0, i] + other * pair.x[i] / D
        row[6 + i] = pair.x[i] / D
        row[9 + i] = load * pair.x[i] / D + T[i]
        row[12 + i] = row[15 + i] = 0.0
    if rubs and regime == STICKS:
        row[12], row[13] = anchor[0], anchor[1]
        return
    row[12], row[13] = pair.at[0], pair.at[1]
    if not rubs:
        return
    # Where bristles are as long as their force is: p_a' ds - p_b' dt = -T / k.
    aa, bb = _square(pair.a[1]) * (1.0 + FLATTEST), _square(pair.b[1]) * (1.0 + FLATTEST)
    ab = -_dot(pair.a[1], pair.b[1])
    f, g = -_dot(pair.a[1], T) / law.bristle, _dot(pair.b[1], T) / law.bristle
    row[12] += (bb * f - ab * g) / (aa * bb - ab * ab)
    row[13] += (aa * g - ab * f) / (aa * bb - ab * ab)


@inner
def _slot(contacts, touch, start, line, s, derivative, sign, F, room):
    """Add a point of a rod with a force; return its number on its element, or -1."""
    kept = room.used[0]
    w, p, v, there = empty(room, (line.C.shape[1],)), vector(3), vector(3), matrix(3, 3)
    _weights(line, s, derivative, w)
    _evaluate(line.q, line.half, s, there)
    for i in range(3):
        p[i] = start.p[line.link, i] + there[1, i] if derivative else there[0, i]
    _evaluate(line.q_t, line.half, s, there)
    for i in range(3):
        v[i] = start.p_t[line.link, i] + there[1, i] if derivative else there[0, i]
    at = open_slot(contacts, touch, line.link, w, p, v, 0.0 if derivative else 1.0)
    room.used[0] = kept
    if at < 0:
        return -1
    for i in range(3):
        touch.F[at, i] = sign * F[i]
    return at - contacts.slot[line.link]


@inner
def _tie(touch, contacts, start, law, D, load, factor, rate, rubs, regime, anchor, m, T, a, b,
         pair, room):
    """Let the forces of a pair act, and add their slopes."""
    channels, x, f, none = touch.channels, pair.x, vector(3), vector(3)
    for i in range(3):
        f[i], none[i] = load * x[i] / D, 0.0
    count = 8 if rubs else 5
    slots = (_slot(contacts, touch, start, a, pair.at[0], False, 1.0, f, room),
             _slot(contacts, touch, start, b, pair.at[1], False, -1.0, f, room),
             _slot(contacts, touch, start, a, pair.at[0], True, 1.0, none, room),
             _slot(contacts, touch, start, b, pair.at[1], True, 1.0, none, room))
    rubbed = (-1, -1)
    if rubs:
        rubbed = (_slot(contacts, touch, start, a, anchor[0], False, 1.0, T, room),
                  _slot(contacts, touch, start, b, anchor[1], False, -1.0, T, room))
    if min(slots) < 0 or (rubs and min(rubbed) < 0) or (
            channels.used[0] + count > channels.link.shape[0]):
        return
    block = open_block(channels, count)
    if block < 0:
        return
    first = open_channels(channels, 3, a.link, slots[0])
    lead_from(channels, first, b.link, slots[1])
    open_channels(channels, 1, a.link, slots[2])
    open_channels(channels, 1, b.link, slots[3])
    for i in range(3):
        channels.along[first + 3, 0, i] = channels.along[first + 4, 0, i] = x[i]
    if rubs:
        open_channels(channels, 3, a.link, rubbed[0])
        lead_from(channels, first + 5, b.link, rubbed[1])
    for i in range(count):
        channels.which[block, i] = first + i
    d = Variation(vector(3), vector(3), vector(3), vector(2))
    for k in range(count):
        _vary_places(k, pair, d)
        _column(law, D, load, factor, rate, regime, rubs, m, T, pair, d, k,
                channels.S[block])
    for k in range(3):
        for i in range(3):
            d.x[i] = d.m[i] = 0.0
            d.x_t[i] = 1.0 if i == k else 0.0
        d.at[0] = d.at[1] = 0.0
        _column(law, D, load, factor, rate, regime, rubs, m, T, pair, d, k, channels.S_t[block])


class Variation(NamedTuple):
    """Of a pair."""

    x: np.ndarray    # (3,) where s and t are
    x_t: np.ndarray  # (3,) likewise
    m: np.ndarray    # (3,) between anchors
    at: np.ndarray   # (2,) of s and t


@inner
def _vary_places(k, pair, d):
    """Write the variation along channel k: x, then p' of both along x, then m."""
    for i in range(3):
        d.x[i] = 1.0 if i == k else 0.0
        d.m[i] = 1.0 if i == k - 5 else 0.0
        d.x_t[i] = 0.0
    g = _dot(pair.a[1], d.x) + (1.0 if k == 3 else 0.0)
    h = -_dot(pair.b[1], d.x) - (1.0 if k == 4 else 0.0)
    H = pair.inverse
    d.at[0] = -(H[0, 0] * g + H[0, 1] * h)
    d.at[1] = -(H[1, 0] * g + H[1, 1] * h)


@inner
def _column(law, D, load, factor, rate, regime, rubs, m, T, pair, d, k, S):
    """Write how the forces of all channels change with one of them."""
    x, dx, dx_t = pair.x, vector(3), vector(3)
    for i in range(3):
        dx[i] = d.x[i] + pair.a[1, i] * d.at[0] - pair.b[1, i] * d.at[1]
        dx_t[i] = d.x_t[i] + pair.a_t[1, i] * d.at[0] - pair.b_t[1, i] * d.at[1]
    dD = _dot(x, d.x) / D
    faster = -(_dot(dx, pair.x_t) + _dot(x, dx_t)) / D - rate * dD / D
    more = law.stiffness * ((law.apart - D) * law.damping * faster - factor * dD)
    if not factor > 0.0:
        more = 0.0
    for i in range(3):
        S[i, k] = (more * x[i] + load * dx[i] - load * x[i] * dD / D) / D
    S[3, k], S[4, k] = load / D * d.at[0], -load / D * d.at[1]
    if not rubs:
        return
    # T = -k (m - (m.x) x / x^2), or -mu N times its direction.
    square, de = _square(x), vector(3)
    along = _dot(m, x) / square
    turn = (_dot(d.m, x) + _dot(m, dx) - 2.0 * along * _dot(x, dx)) / square
    for i in range(3):
        de[i] = d.m[i] - turn * x[i] - along * dx[i]
    if regime == STICKS:
        for i in range(3):
            S[5 + i, k] = -law.bristle * de[i]
        return
    limit = law.friction * load
    size, part = 0.0, 0.0
    for i in range(3):
        size += (m[i] - along * x[i]) ** 2
        part -= T[i] * de[i] / limit
    size = np.sqrt(size)
    for i in range(3):
        e = -T[i] / limit
        S[5 + i, k] = -law.friction * (more * e + load * (de[i] - e * part) / size)
