r"""
Laws along whole rods: friction of tendons in their channels, and chords between discs.

They couple all coordinates of a rod with each other and with its efforts. Friction makes the
tension differ from node to node (see :mod:`cosserat_ros.laws.capstan_friction`); in the equations
of an element it is the effort there, and what is left for the tangent is, with G_k the gradient of
a tendon's length at node k and tau_k its tension there,

    K += sum_k G_k (d tau_k)^T.

The length of chords is a function of all of a rod's coordinates, with force and Hessian of its own
(see :mod:`cosserat_ros.laws.chords`).
"""

from __future__ import annotations

import numpy as np

from ..laws.actuators import path_tangent
from ..laws.capstan_friction import (
    ANGLE,
    BY_ANGLE,
    BY_SLIDING,
    BY_SPEED,
    BY_TENSION,
    ROWS,
    rub,
    SLIDING,
    SPEED,
    TOTAL,
)
from ..laws.chords import couple_chords, pull_chords
from ..laws.plastic_bending import BENDING
from ..numerics.arena import empty, vector, view, zeros
from ..numerics.kernels import inner, run
from ..numerics.references import referred
from ..numerics.rotations import cross
from .tree import chords_at, ELEMENT, element_at, paths_at, state_at


def rubbing_size(n: int, nodes: int) -> int:
    """Return how much room the columns of a tendon that rubs need."""
    return 3 * n * nodes + 3 * (n + 1) + 16


# --- Forces --------------------------------------------------------------------------------------

@inner
def pull(tree, work, z):
    """Write the efforts of actuators at all nodes."""
    links, elements = tree.links, tree.elements
    for link in range(links.kind.size):
        if links.kind[link] != ELEMENT:
            continue
        item = links.item[link]
        first = elements.drive[item]
        x = state_at(elements, item, work.room)
        for i in range(x.effort.shape[0]):
            effort = 0.0 if tree.laws.straight[first + i] else z[tree.effort + first + i]
            for k in range(x.effort.shape[1]):
                x.effort[i, k] = effort
    for t in range(tree.laws.frictions.rod.size):
        _rub_along(tree, work, t, z)


@inner
def _rub_along(tree, work, t, z):
    """Write the friction of a tendon, and add it to its efforts at the nodes."""
    a, rods, elements = tree.laws.frictions, tree.laws.couplings, tree.elements
    rod, i = a.rod[t], a.actuator[t]
    nodes = _slide(tree, work, t)
    first, at = a.first[t], a.memory[t]
    along = view(work.rubbing, ROWS * first, (ROWS, nodes))
    rub(a, t, view(tree.laws.memory, at, (3, nodes)), view(work.memory, at, (3, nodes)),
        max(z[rods.effort[rod] + i], 0.0), tree.laws.yields[0], along,
        view(work.regime, tree.laws.limit.size + first, (nodes,)))
    tension, node = 0.0, 0
    for link in range(rods.link[rod], rods.link[rod] + rods.elements[rod]):
        x = state_at(elements, tree.links.item[link], work.room)
        for k in range(x.effort.shape[1]):
            x.effort[i, k] += tension + 0.5 * along[TOTAL, node]
            tension += along[TOTAL, node]
            node += 1


@inner
def _slide(tree, work, t):
    """Write how far a tendon has slid at each node, how fast, and its angles; return how many."""
    a, rods, elements = tree.laws.frictions, tree.laws.couplings, tree.elements
    rod, i = a.rod[t], a.actuator[t]
    nodes = 0
    for link in range(rods.link[rod], rods.link[rod] + rods.elements[rod]):
        nodes += elements.size[tree.links.item[link], 0]
    first, c = a.first[t], vector(3)
    now, along = view(work.memory, a.memory[t], (3, nodes)), view(
        work.rubbing, ROWS * first, (ROWS, nodes))
    node, beyond, speed = nodes, 0.0, 0.0
    for link in range(rods.link[rod] + rods.elements[rod] - 1, rods.link[rod] - 1, -1):
        item = tree.links.item[link]
        x, paths = state_at(elements, item, work.room), paths_at(elements, item)
        for k in range(x.xi.shape[0] - 1, -1, -1):
            node -= 1
            weight, xi = paths.weight[i, k], x.xi[k]
            size, rate = weight * path_tangent(paths, i, k, xi, c), 0.0
            for j in range(6):
                rate += x.gradient[i, k, j] * x.xi_t[k, j]
            now[SLIDING, node] = beyond + 0.5 * size - a.rest[first + node]
            along[SPEED, node] = speed + 0.5 * rate
            along[ANGLE, node] = weight * np.sqrt(
                xi[BENDING] ** 2 + xi[BENDING + 1] ** 2)
            beyond += size
            speed += rate
    return nodes


@inner
def add_chords(tree, work, z, r):
    """Write the lengths of tendons that are straight in space, and add their forces to r."""
    rods = tree.laws.couplings
    for rod in range(rods.link.size):
        if rods.chords[rod] < 0:
            continue
        n, first, at = rods.size[rod], rods.first[rod], rods.effort[rod]
        count = rods.efforts[rod]
        work.room.used[0] = tree.elements.state[tree.elements.state.size - 1]
        run(pull_chords, tree.code.pull_chords, (
            referred(chords_at(tree.laws.chords, rods.chords[rod])), z[first:first + n],
            z[at:at + count], work.length[at - tree.effort:at - tree.effort + count],
            r[first:first + n], work.room))


# --- Tangent -------------------------------------------------------------------------------------

@inner
def couple_all_chords(tree, work, z, matrices):
    """Write the tangents of chords along rods, (n + a, n + a) each, as of the last residual."""
    rods = tree.laws.couplings
    for i in range(matrices.size):
        matrices[i] = 0.0
    for rod in range(rods.link.size):
        if rods.chords[rod] >= 0:
            n = rods.size[rod] + rods.efforts[rod]
            _couple_chords(tree, work, rod, z, view(matrices, rods.at[rod], (n, n)))


@inner
def couple_frictions(tree, work, z, cV, matrices):
    """Add the tangents of tendons that rub to matrices, as of the last residual."""
    rods = tree.laws.couplings
    for t in range(tree.laws.frictions.rod.size):
        rod = tree.laws.frictions.rod[t]
        n = rods.size[rod] + rods.efforts[rod]
        _couple_rubbing(tree, work, t, z, cV, view(matrices, rods.at[rod], (n, n)))


@inner
def _couple_rubbing(tree, work, t, z, cV, K):
    """Add what the friction of a tendon couples to K (n + a, n + a)."""
    a, rods = tree.laws.frictions, tree.laws.couplings
    rod, first = a.rod[t], a.first[t]
    n, i = rods.size[rod], a.actuator[t]
    nodes = 0
    for link in range(rods.link[rod], rods.link[rod] + rods.elements[rod]):
        nodes += tree.elements.size[tree.links.item[link], 0]
    room = work.room
    room.used[0] = tree.elements.state[tree.elements.state.size - 1]
    # Of each node: gradient of the length there (own columns), of that beyond it, and of its rate.
    G, beyond, rates = zeros(room, (nodes, n)), empty(room, (nodes, n)), empty(room, (nodes, n))
    _slide_columns(tree, work, rod, i, cV, a.viscous[t] != 0.0, G, beyond, rates)
    dT, df = zeros(room, (n + 1,)), zeros(room, (n + 1,))  # with coordinates, and the effort
    pulls = 1.0 if z[rods.effort[rod] + i] > 0.0 else 0.0
    dT[n], node, along = pulls, 0, view(work.rubbing, ROWS * first, (ROWS, nodes))
    for link in range(rods.link[rod], rods.link[rod] + rods.elements[rod]):
        item = tree.links.item[link]
        own = tree.links.first[link] - rods.first[rod]
        d, paths = element_at(tree.elements, item), paths_at(tree.elements, item)
        x = _state_kept(tree.elements, item, room)
        for k in range(d.w.size):
            for c in range(n):
                df[c] = (
                    along[BY_TENSION, node] * dT[c] + along[BY_SLIDING, node] * beyond[node, c]
                    + along[BY_SPEED, node] * rates[node, c])
            df[n] = along[BY_TENSION, node] * dT[n]
            if along[BY_ANGLE, node] != 0.0:
                _add_angle(d, x, k, along[BY_ANGLE, node] * paths.weight[i, k], df[own:])
            for b in range(own, own + d.Phi.shape[1]):
                weight = G[node, b]
                for c in range(n):
                    K[b, c] += weight * (dT[c] + 0.5 * df[c])
                K[b, n + i] += weight * (dT[n] + 0.5 * df[n] - pulls)
            for c in range(n + 1):
                dT[c] += df[c]
            node += 1


@inner
def _state_kept(elements, item, room):
    """Return the state of an element, with the room used as it is."""
    used = room.used[0]
    x = state_at(elements, item, room)
    room.used[0] = used
    return x


@inner
def _add_angle(d, x, k, weight, df):
    """Add weight times the slope of the bending at node k with an element's coordinates."""
    u0, u1 = x.xi[k, BENDING], x.xi[k, BENDING + 1]
    size = np.sqrt(u0 * u0 + u1 * u1)
    if size == 0.0:
        return
    for c in range(d.Phi.shape[1]):
        if d.component[c] == BENDING:
            df[c] += weight * u0 / size * d.Phi[k, c]
        elif d.component[c] == BENDING + 1:
            df[c] += weight * u1 / size * d.Phi[k, c]


@inner
def _slide_columns(tree, work, rod, i, cV, moves, G, beyond, rates):
    """Write slopes (N, n) of a tendon's length at nodes, of that beyond them, and of its rate."""
    rods, elements = tree.laws.couplings, tree.elements
    nodes, n = G.shape
    length, rate = empty(work.room, (n,)), empty(work.room, (n,))
    for c in range(n):
        length[c], rate[c] = 0.0, 0.0
    node, curved = nodes, vector(6)
    for link in range(rods.link[rod] + rods.elements[rod] - 1, rods.link[rod] - 1, -1):
        item = tree.links.item[link]
        own = tree.links.first[link] - rods.first[rod]
        d, paths = element_at(elements, item), paths_at(elements, item)
        x = _state_kept(elements, item, work.room)
        for k in range(d.w.size - 1, -1, -1):
            node -= 1
            for c in range(n):
                beyond[node, c], rates[node, c] = length[c], rate[c]
            if moves:
                _curve(paths, i, k, x.xi[k], x.xi_t[k], curved)
            for c in range(d.Phi.shape[1]):
                slope = d.Phi[k, c] * x.gradient[i, k, d.component[c]]
                G[node, own + c] = slope
                beyond[node, own + c] += 0.5 * slope
                length[own + c] += slope
                if moves:
                    slope = cV * slope + d.Phi[k, c] * curved[d.component[c]]
                    rates[node, own + c] += 0.5 * slope
                    rate[own + c] += slope


@inner
def _curve(paths, i, k, xi, xi_t, out):
    """Write the rate of the gradient (6,) of a tendon's weighted length at node k."""
    c, rate = vector(3), vector(3)
    size = path_tangent(paths, i, k, xi, c)
    cross(xi_t[3:], paths.r[i, k], rate)
    along = 0.0
    for j in range(3):
        rate[j] += xi_t[j]
        along += rate[j] * c[j] / size ** 2
    for j in range(3):
        out[j] = paths.weight[i, k] * (rate[j] - along * c[j]) / size
    cross(paths.r[i, k], out[:3], out[3:])


@inner
def _couple_chords(tree, work, rod, z, K):
    """Add what the chords of a rod couple to K (n + a, n + a)."""
    rods, room = tree.laws.couplings, work.room
    n, first, count = rods.size[rod], rods.effort[rod] - tree.effort, rods.efforts[rod]
    q = view(z, rods.first[rod], (n,))
    effort, length = view(z, rods.effort[rod], (count,)), view(work.length, first, (count,))
    room.used[0] = tree.elements.state[tree.elements.state.size - 1]
    gradient, H = zeros(room, (count, n)), zeros(room, (n, n))
    run(couple_chords, tree.code.couple_chords, (
        referred(chords_at(tree.laws.chords, rods.chords[rod])), q, effort, length, gradient, H,
        room))
    for b in range(n):
        for c in range(n):
            K[b, c] += H[b, c]
        for i in range(count):
            K[b, n + i] += gradient[i, b]
            K[n + i, b] += work.slope[first + i] * gradient[i, b]
