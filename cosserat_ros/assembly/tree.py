r"""
An assembly as a tree of links, with closures: its equations, swept forward and backward.

A link takes the motion y of its start (pose, velocity, acceleration) to that of its end, and the
wrench l on its end to that on its start; in between are its own equations r. Links are elements
of rods, joints (a joint without coordinates is a rigid link), and roots, whose motion is told.
Parents come before children, so that one loop forward and one loop backward do it: Boyer's inverse
Newton-Euler pass and Porez's recursion at once. At the end of a link there may be a rigid body.

    y' = f(y, q)                 forward
    l  = g(l', y, q)             backward, l' summed over all that is fixed to the end
    r  = h(l', y, q)             its own equations

Unknowns z: coordinates of the links, efforts of actuators, reactions of closures. A closure joins
two frames of the tree (a point, or all of it): its reaction acts on both, its equations say that
they coincide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..laws.actuators import closure, Drives, Paths
from ..laws.capstan_friction import Frictions
from ..laws.chords import Chords
from ..laws.plastic_bending import Bristles
from ..numerics.arena import Arena, matrix, vector, view
from ..numerics.kernels import call, inner, merged
from ..numerics.references import referred
from ..numerics.rotations import cross
from ..rod.discretisation import Element
from .contact_arrays import Contacts, Touch, touching_at
from .element import balance, ElementLoads, Motion, move, state_in
from .flow import flow_at, Flowing, Flows
from .joint import (
    attach,
    Bodies,
    FREELY,
    Joints,
    JointStates,
    load_body,
    logarithm,
    move_joint,
    turn_spring,
)

ROOT, ELEMENT, JOINT = 0, 1, 2  # kinds of links
AT_LIMIT = 1e-9                 # [m, rad] from a limit, where a coordinate is at it


class Links(NamedTuple):
    """All links, parents before children; the first is the world."""

    kind: np.ndarray      # (L,) int64
    parent: np.ndarray    # (L,) int64; of the world -1
    item: np.ndarray      # (L,) int64, which element or joint it is
    first: np.ndarray     # (L,) int64, where its coordinates begin in z
    freedom: np.ndarray   # (L,) int64, how many there are
    fixed: np.ndarray     # (L,) bool, whether its end does not move with any unknown
    offset_R: np.ndarray  # (L, 3, 3) attitude of its start, in the frame of its parent's end
    offset_p: np.ndarray  # (L, 3) its position there [m]


class Elements(NamedTuple):
    """All elements in flat arrays; see `element_at`."""

    size: np.ndarray    # (C, 5) int64: nodes, modes, exponentials, actuators, bristles
    first: np.ndarray   # (C, 19) int64: where each of its arrays begins
    data: np.ndarray    # float64
    loads: np.ndarray   # float64, what acts between the ends, see `ElementLoads`
    whole: np.ndarray   # int64
    drive: np.ndarray   # (C,) int64, its first actuator among all
    bristle: np.ndarray  # (C,) int64, its first bristle among all
    state: np.ndarray   # (C + 1,) int64, where its state begins in the arena; room from the last


class Coordinates(NamedTuple):
    """What acts along the coordinates of joints, by their place in z."""

    stiffness: np.ndarray  # (Z,) [N/m, N m/rad]
    damping: np.ndarray    # (Z,) [N s/m, N m s/rad]
    rest: np.ndarray       # (Z,) [m, rad]
    push: np.ndarray       # (Z,) effort told [N, N m]
    driven: np.ndarray     # (Z,) bool, whether the position is told
    command: np.ndarray    # (Z,) that position [m, rad]
    least: np.ndarray      # (Z,) limits [m, rad]
    most: np.ndarray       # (Z,)
    hardness: np.ndarray   # (Z,) about the stiffness of what is beyond a limit [N/m, N m/rad]


class Closures(NamedTuple):
    """Pairs of frames that coincide."""

    a: np.ndarray       # (K,) int64, link whose end it is
    b: np.ndarray       # (K,) int64
    rows: np.ndarray    # (K,) int64, 3: a point; 6: a pose
    first: np.ndarray   # (K,) int64, where its reactions begin in z


class Couplings(NamedTuple):
    """
    Rods along which laws couple all coordinates with each other and with efforts.

    Such as the friction of a tendon along it. In matrices of a rod, its coordinates come first,
    then its efforts.
    """

    link: np.ndarray      # (R,) int64, first element of the rod
    elements: np.ndarray  # (R,) int64, how many there are, one after another
    first: np.ndarray     # (R,) int64, where its coordinates begin in z
    size: np.ndarray      # (R,) int64, how many there are
    effort: np.ndarray    # (R,) int64, where its efforts begin in z
    efforts: np.ndarray   # (R,) int64, how many there are
    at: np.ndarray        # (R,) int64, where its matrix begins
    chords: np.ndarray    # (R,) int64, which are its chords, or -1


class ChordSets(NamedTuple):
    """The chords of rods in flat arrays; see `chords_at`."""

    size: np.ndarray   # (S, 4) int64: nodes, modes, exponentials, holes
    first: np.ndarray  # (S, 13) int64, where each of its arrays begins
    data: np.ndarray   # float64
    whole: np.ndarray  # int64


class Laws(NamedTuple):
    """
    What pulls, presses and rubs by laws of its own.

    Those that remember read `memory`, and never write it: only an accepted step does.
    """

    memory: np.ndarray     # (S,) of bristles against bending, then of tendons that rub
    yields: np.ndarray     # (1,) bool, whether what is at its limit slips on, or sticks
    limit: np.ndarray      # (B,) of bristles against bending [N m]
    stiffness: np.ndarray  # (B,) [N m^2]
    couplings: Couplings
    frictions: Frictions
    chords: ChordSets
    straight: np.ndarray   # (m,) bool, actuators that are straight in space


class Code(NamedTuple):
    """Addresses of compiled parts of rods, see `cosserat_ros.numerics.kernels.remote`."""

    move: int
    balance: int
    pull_chords: int
    couple_chords: int
    vary: int
    touch: int
    stream: int
    meet: int
    tie: int
    eliminate: int
    substitute: int


class Tree(NamedTuple):
    """An assembly for kernels."""

    links: Links
    elements: Elements
    joints: Joints
    coordinates: Coordinates
    bodies: Bodies
    drives: Drives          # of all actuators in a row; their efforts are in z from `effort` on
    effort: int
    closures: Closures
    laws: Laws
    contacts: Contacts
    flows: Flows
    free: np.ndarray        # (Z,) bool, redundant equations of closures: their reaction is 0
    roots: Motion           # (L, ...) motion of links that are roots
    gravity: np.ndarray     # (3,) [m/s^2]
    code: Code


class Work(NamedTuple):
    """What the sweeps write."""

    start: Motion            # (L, ...) of all links' starts
    end: Motion              # (L, ...) of their ends
    wrench: np.ndarray       # (L, 6) on the ends, by all that is fixed to them
    passed: np.ndarray       # (L, 6) on the starts
    joints: JointStates
    length: np.ndarray       # (m,) of the actuators [m, m^3]
    slope: np.ndarray        # (m,) of their closures with length
    own: np.ndarray          # (m,) of their closures with effort
    held: np.ndarray         # (Z,) bool: coordinates that are told, or at a limit
    effort: np.ndarray       # (Z,) what holds driven coordinates, and those at limits [N, N m]
    memory: np.ndarray       # (S,) what would be remembered of the present, see `Laws`
    rubbing: np.ndarray      # (7, N) each of the tendons that rub, see `rub`
    regime: np.ndarray       # of all bristles against bending, then of all tendons that rub
    touch: Touch
    flowing: Flowing
    room: Arena


@merged
def motion_of(a, i):
    """Return the motion of one frame of many."""
    return Motion(a.R[i], a.p[i], a.Om[i], a.p_t[i], a.Om_t[i], a.p_tt[i])


@inner
def element_at(a, c):
    """Return element c of many."""
    m, n, M = a.size[c, 0], a.size[c, 1], a.size[c, 2]
    at, data = a.first[c], a.data
    return Element(
        view(data, at[0], (m,)), view(data, at[1], (m, m)), view(data, at[2], (m, 6)),
        view(data, at[3], (m, 6)), view(data, at[4], (m, n)), view(data, at[5], (M, 3)),
        view(data, at[6], (M, n)), view(data, at[7], (n, n)), view(data, at[8], (n, n)),
        view(a.whole, at[9], (n,)))


@inner
def loads_at(a, c):
    """Return what acts on element c."""
    m, at, data = a.size[c, 0], a.first[c], a.loads
    return ElementLoads(
        view(data, at[10], (m, 3)), view(data, at[11], (m, 3)), view(data, at[12], (m, 6)),
        view(data, at[13], (3,)), view(data, at[14], (3,)))


@inner
def paths_at(a, c):
    """Return the actuators' paths along element c."""
    m, k, at, data = a.size[c, 0], a.size[c, 3], a.first[c], a.data
    return Paths(
        view(data, at[15], (k, m, 3)), view(data, at[16], (k, m, 3)), view(data, at[17], (k, m)),
        view(a.whole, at[18], (k,)))


@inner
def bristles_at(tree, work, c):
    """Return the bristles of element c."""
    laws, first, count = tree.laws, tree.elements.bristle[c], tree.elements.size[c, 4]
    return Bristles(
        view(laws.limit, first, (count,)), view(laws.stiffness, first, (count,)),
        view(laws.memory, 2 * first, (count, 2)), view(work.memory, 2 * first, (count, 2)),
        view(work.regime, first, (count,)), laws.yields)


@inner
def chords_at(a, k):
    """Return the chords of one rod of many."""
    N, n, M, K = a.size[k, 0], a.size[k, 1], a.size[k, 2], a.size[k, 3]
    at, data, whole = a.first[k], a.data, a.whole
    return Chords(
        view(data, at[0], (N,)), view(data, at[1], (N, 3)), view(data, at[2], (N, n)),
        view(data, at[3], (M, 3)), view(data, at[4], (M, n)), view(data, at[5], (K, 3)),
        view(whole, at[6], (n,)), view(whole, at[7], (N,)), view(whole, at[8], (K,)),
        view(whole, at[9], (K,)), view(whole, at[10], (K,)), view(whole, at[11], (M,)),
        view(whole, at[12], (M,)))


@inner
def state_at(a, c, room):
    """Return the state of element c."""
    room.used[0] = a.state[c]
    return state_in(room, a.size[c, 0], a.size[c, 2], a.size[c, 3])


# --- Sweeps --------------------------------------------------------------------------------------

@inner
def forward(tree, work, z, z_t, z_tt):
    """Write the motion of all links."""
    links, elements = tree.links, tree.elements
    for k in range(work.length.size):
        work.length[k] = 0.0
    for link in range(links.kind.size):
        start, end = motion_of(work.start, link), motion_of(work.end, link)
        if links.kind[link] == ROOT:
            told = motion_of(tree.roots, link)
            for i in range(3):
                end.p[i], end.Om[i], end.p_t[i] = told.p[i], told.Om[i], told.p_t[i]
                end.Om_t[i], end.p_tt[i] = told.Om_t[i], told.p_tt[i]
                for j in range(3):
                    end.R[i, j] = told.R[i, j]
            continue
        attach(motion_of(work.end, links.parent[link]), links.offset_R[link],
               links.offset_p[link], start)
        a = links.first[link]
        b, item = a + links.freedom[link], links.item[link]
        if links.kind[link] == JOINT:
            move_joint(tree.joints, item, start, z[a:b], z_t[a:b], z_tt[a:b], work.joints, end)
            continue
        x = state_at(elements, item, work.room)
        call(move, tree.code.move, (
            referred(element_at(elements, item)), referred(paths_at(elements, item)),
            referred(start), referred(end), z[a:b], z_t[a:b], z_tt[a:b], referred(x)))
        for k in range(x.length.size):
            work.length[elements.drive[item] + k] += x.length[k]


@inner
def backward(tree, work, z, z_t, r):
    """Write the wrenches on all links, and the equations of their coordinates to r."""
    links, elements = tree.links, tree.elements
    for link in range(links.kind.size):
        load_body(tree.bodies, link, motion_of(work.end, link), tree.gravity, work.wrench[link])
        if work.touch.bodies[link] > 0:
            for i in range(6):
                work.wrench[link, i] += work.touch.wrench[link, i]
        if work.flowing.wrench.shape[0] > 0:
            for i in range(6):
                work.wrench[link, i] += work.flowing.wrench[link, i]
    for k in range(tree.closures.a.size):
        a, b, first = tree.closures.a[k], tree.closures.b[k], tree.closures.first[k]
        for i in range(tree.closures.rows[k]):
            work.wrench[a, i] += z[first + i]
            work.wrench[b, i] -= z[first + i]
    lever = vector(3)
    for link in range(links.kind.size - 1, 0, -1):
        if links.kind[link] == ROOT:
            continue
        a, item = links.first[link], links.item[link]
        b, passed = a + links.freedom[link], work.passed[link]
        for i in range(6):
            passed[i] = work.wrench[link, i]
        if links.kind[link] == JOINT:
            _balance_joint(tree, work, item, z[a:b], z_t[a:b], a, passed, r[a:b])
        else:
            x = state_at(elements, item, work.room)
            work.room.used[0] = elements.state[elements.state.size - 1]
            call(balance, tree.code.balance, (
                referred(element_at(elements, item)), referred(loads_at(elements, item)),
                referred(bristles_at(tree, work, item)),
                referred(touching_at(tree.contacts, work.touch, link, x.t.shape[0], b - a)),
                referred(flow_at(tree.flows, work.flowing, item, x.t.shape[0])), tree.gravity,
                z[a:b], z_t[a:b], referred(x), passed, r[a:b], work.room))
        parent = links.parent[link]
        for i in range(3):
            lever[i] = work.start.p[link, i] - work.end.p[parent, i]
        cross(lever, passed[:3], lever)
        for i in range(3):
            work.wrench[parent, i] += passed[i]
            work.wrench[parent, 3 + i] += passed[3 + i] + lever[i]


@merged
def _balance_joint(tree, work, j, q, q_t, first, passed, r):
    """Write the equations of a joint, and take the wrench on its end to its start."""
    c, states, lever = tree.coordinates, work.joints, vector(3)
    for k in range(q.size):
        at = first + k
        r[k] = (c.stiffness[at] * (q[k] - c.rest[at]) + c.damping[at] * q_t[k] - c.push[at])
        for i in range(3):
            r[k] -= states.alpha[j, k, i] * passed[i] + states.gamma[j, k, i] * passed[3 + i]
    if tree.joints.turns[j] == FREELY:
        s = tree.joints.slides[j]
        a = first + s
        if c.stiffness[a] != 0.0 or c.stiffness[a + 1] != 0.0 or c.stiffness[a + 2] != 0.0:
            slope = matrix(3, 3)
            turn_spring(tree.joints.reference[j], q[s:], c.stiffness[a:a + 3],
                        c.rest[a:a + 3], lever, slope)
            for i in range(3):
                r[s + i] += lever[i] - c.stiffness[a + i] * (q[s + i] - c.rest[a + i])
    for k in range(q.size):
        at = first + k
        work.effort[at] = r[k]
        work.held[at] = c.driven[at]
        if c.driven[at]:
            r[k] = c.hardness[at] * (q[k] - c.command[at])
            continue
        # Complementarity: within the limits and in balance, or at one of them and pushed beyond.
        above, below = c.hardness[at] * (q[k] - c.most[at]), c.hardness[at] * (c.least[at] - q[k])
        if above > r[k]:
            work.held[at] = True
            r[k] = above
        elif below > -r[k]:
            work.held[at] = True
            r[k] = -below
        else:
            work.effort[at] = 0.0
    cross(states.arm[j], passed[:3], lever)
    for i in range(3):
        passed[3 + i] += lever[i]


@inner
def close(tree, work, z, r):
    """Write the equations of actuators and closures to r."""
    for k in range(work.length.size):
        r[tree.effort + k], work.slope[k], work.own[k] = closure(
            tree.drives, k, work.length[k], z[tree.effort + k])
    turned, gap = matrix(3, 3), vector(3)
    for k in range(tree.closures.a.size):
        a, b, first = tree.closures.a[k], tree.closures.b[k], tree.closures.first[k]
        for i in range(3):
            r[first + i] = work.end.p[a, i] - work.end.p[b, i]
        if tree.closures.rows[k] == 6:
            Ra, Rb = work.end.R[a], work.end.R[b]
            for i in range(3):
                for j in range(3):
                    turned[i, j] = Ra[i, 0] * Rb[j, 0] + Ra[i, 1] * Rb[j, 1] + Ra[i, 2] * Rb[j, 2]
            logarithm(turned, gap)
            for i in range(3):
                r[first + 3 + i] = gap[i]
        for i in range(first, first + tree.closures.rows[k]):
            if tree.free[i]:
                r[i] = z[i]
