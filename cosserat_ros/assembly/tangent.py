r"""
The tangent of an assembly, link by link: it is never formed as a whole.

With dy the variation of the motion at a link's start (position, rotation, velocity, angular
velocity, acceleration, angular acceleration: 18 numbers, 6 in statics), dq that of its own
coordinates, dl that of the wrench it passes on and e that of efforts along it,

    dy' = A dy + B dq                           to the next link
    dl  = C dl' + D dy + E dq                   from the next link (sum over branches)
    dr  = K dq + F dy + G dl' + H de            its own equations

Its blocks are in :mod:`cosserat_ros.assembly.blocks`. C and G follow from these: a force is moved
by its lever, and ``G = -B^T`` (of the pose; virtual work).
"""

from __future__ import annotations

import numpy as np

from ..laws.plastic_bending import bend, BENDING
from ..numerics.arena import matrix, unowned, vector, view
from ..numerics.kernels import call, inner, kernel, merged, run
from ..numerics.references import referred
from ..numerics.rotations import cross
from .along_rods import couple_all_chords, couple_frictions
from .blocks import blocks_of
from .channel_rows import add_ties, tie
from .contact_arrays import touching_at
from .element import bending_of, clear
from .element_start import Surroundings
from .element_tangent import vary
from .flow import flow_at
from .joint import FREELY, inverse_tangent, logarithm, turn_spring, vary_body, vary_joint
from .tree import (
    bristles_at,
    ELEMENT,
    element_at,
    JOINT,
    loads_at,
    motion_of,
    paths_at,
    ROOT,
    state_at,
)

# --- Making --------------------------------------------------------------------------------------

@unowned
@kernel
def differentiate(tree, work, z, cV, cA, ny, tangent):
    """
    Write the tangent at the state of the last `residual`.

    Parameters
    ----------
    tree : Tree
    work : Work
    z : (Z,) float64
    cV, cA : float
        ``z_t = cV z + ...`` [1/s] and ``z_tt = cA z + ...`` [1/s^2].
    ny : int
        18, or 6 where nothing moves and cV = cA = 0.
    tangent : Tangent
        Overwritten.

    """
    links = tree.links
    for link in range(links.kind.size):
        blocks = blocks_of(tree, tangent, link, ny)
        if not links.fixed[link]:
            clear(blocks.body)
            vary_body(tree.bodies, link, motion_of(work.end, link), tree.gravity, ny, blocks.body)
            if work.touch.bodies[link] > 0:
                for i in range(6):
                    for c in range(min(ny, 12)):
                        blocks.body[i, c] += work.touch.block[link, i, c]
            if work.flowing.wrench.shape[0] > 0:
                for i in range(6):
                    for c in range(ny):
                        blocks.body[i, c] += work.flowing.block[link, i, c]
        if links.kind[link] == ROOT:
            continue
        _geometry(tree, work, link, tangent)
        if links.kind[link] == JOINT:
            _joint_blocks(tree, work, link, z, cV, cA, ny, blocks, tangent)
        else:
            _element_blocks(tree, work, link, z, cV, cA, ny, blocks, tangent)
    _closure_turns(tree, work, tangent)
    tangent.pairs[0] = work.touch.found[0]
    for k in range(tangent.touching.size):
        tangent.touching[k] = work.touch.regime[k]
    for k in range(work.own.size):
        tangent.slope[k], tangent.own[k] = work.slope[k], work.own[k]
    couple_all_chords(tree, work, z, tangent.chords)
    for i in range(tangent.bent.size):
        tangent.bent[i] = 0.0
    _renew(tree, work, z, cV, ny, tangent)
    tangent.ties.used[0] = 0
    if work.touch.channels.used[0] > 0:
        run(tie, tree.code.tie, (tree, work, ny, tangent))


@unowned
@kernel
def renew(tree, work, z, cV, ny, tangent):
    """Write what of the tangent is by laws that stick and slip, as of the last `residual`."""
    _renew(tree, work, z, cV, ny, tangent)


@inner
def _renew(tree, work, z, cV, ny, tangent):
    for i in range(tangent.couple.size):
        tangent.couple[i] = tangent.chords[i]
    couple_frictions(tree, work, z, cV, tangent.couple)
    if tree.laws.limit.size > 0:
        for link in range(tree.links.kind.size):
            if tree.links.kind[link] == ELEMENT:
                _bend(tree, work, link, ny, tangent)
    for i in range(tangent.regime.size):
        tangent.regime[i] = work.regime[i]


@inner
def _bend(tree, work, link, ny, tangent):
    """Renew what bristles against bending change with the coordinates of an element."""
    item, n = tree.links.item[link], tree.links.freedom[link]
    bristles, d = bristles_at(tree, work, item), element_at(tree.elements, item)
    if bristles.limit.size == 0:
        return
    x, rows = state_at(tree.elements, item, work.room), blocks_of(tree, tangent, link, ny).rows
    B = view(tangent.bent, tangent.bent_at[item], (n, n))
    for i in range(n):
        for j in range(n):
            rows[i, j] -= B[i, j]
            B[i, j] = 0.0
    first, u, moment, slope = 0, vector(2), vector(2), matrix(2, 2)
    while first < n and d.component[first] < BENDING:  # modes in the order of their components
        first += 1
    last = first
    while last < n and d.component[last] < BENDING + 2:
        last += 1
    for k in range(d.w.size):
        bending_of(d, x, k, u)
        bend(bristles, k, u, moment, slope)
        for i in range(first, last):
            weight = d.w[k] * d.Phi[k, i]
            for j in range(first, last):
                B[i, j] += weight * d.Phi[k, j] * slope[
                    d.component[i] - BENDING, d.component[j] - BENDING]
    for i in range(first, last):
        for j in range(first, last):
            rows[i, j] += B[i, j]


@merged
def _geometry(tree, work, link, tangent):
    """Write where a link starts and ends, how its parent turns, and what it passes on."""
    parent = tree.links.parent[link]
    for i in range(3):
        tangent.arm[link, i] = work.start.p[link, i] - work.end.p[parent, i]
        tangent.lever[link, i] = work.end.p[link, i] - work.start.p[link, i]
        tangent.Om[link, i] = work.end.Om[parent, i]
        tangent.Om_t[link, i] = work.end.Om_t[parent, i]
        tangent.passed[link, i] = work.passed[link, i]


@merged
def _joint_blocks(tree, work, link, z, cV, cA, ny, blocks, tangent):
    links, c, rows, J = tree.links, tree.coordinates, blocks.rows, blocks.motion
    n, j, first = links.freedom[link], links.item[link], links.first[link]
    moving = not links.fixed[links.parent[link]]
    # All columns, of which those of a fixed start are left out.
    all_rows, all_J = (rows, J) if moving else (matrix(12, 24), matrix(18, 24))
    vary_joint(work.joints, j, n, motion_of(work.start, link), work.wrench[link], cV, cA, ny,
               all_rows, all_J)
    for k in range(n):
        all_rows[k, k] += c.stiffness[first + k] + cV * c.damping[first + k]
    if tree.joints.turns[j] == FREELY:
        s = tree.joints.slides[j]
        a = first + s
        if c.stiffness[a] != 0.0 or c.stiffness[a + 1] != 0.0 or c.stiffness[a + 2] != 0.0:
            slope, moment = matrix(3, 3), vector(3)
            turn_spring(tree.joints.reference[j], z[a:a + 3], c.stiffness[a:a + 3],
                        c.rest[a:a + 3], moment, slope)
            for i in range(3):
                for k in range(3):
                    all_rows[s + i, s + k] += slope[i, k]
                all_rows[s + i, s + i] -= c.stiffness[a + i]
    for k in range(n):
        for i in range(3):
            tangent.along[first + k, i] = work.joints.alpha[j, k, i]
            tangent.along[first + k, 3 + i] = work.joints.gamma[j, k, i]
        tangent.held[first + k] = work.held[first + k]
        if work.held[first + k]:
            for i in range(6):
                tangent.along[first + k, i] = 0.0
            for i in range(rows.shape[1]):
                all_rows[k, i] = 0.0
            all_rows[k, k] = c.hardness[first + k]
    if moving:
        return
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            rows[i, k] = all_rows[i, k]
    for i in range(ny):
        for k in range(rows.shape[1]):
            J[i, k] = all_J[i, k]


@merged
def _element_blocks(tree, work, link, z, cV, cA, ny, blocks, tangent):
    links, elements, rows, J = tree.links, tree.elements, blocks.rows, blocks.motion
    n, item = links.freedom[link], links.item[link]
    moving = not links.fixed[links.parent[link]]
    first, actuators = elements.drive[item], elements.size[item, 3]
    d, x = element_at(elements, item), state_at(elements, item, work.room)
    work.room.used[0] = elements.state[elements.state.size - 1]
    call(vary, tree.code.vary, (
        referred(d), referred(loads_at(elements, item)), referred(paths_at(elements, item)),
        referred(touching_at(tree.contacts, work.touch, link, d.w.size, n)),
        referred(flow_at(tree.flows, work.flowing, item, d.w.size)),
        referred(Surroundings(tree.gravity, motion_of(work.start, link), work.passed[link],
                              work.wrench[link])),
        referred(x), cV, cA, moving, ny == 6, rows, J, work.room))
    for c in range(n):
        for i in range(6):
            tangent.along[links.first[link] + c, i] = J[i, c]
    gradient = blocks.actuators
    for a in range(actuators):
        for c in range(n):
            total = 0.0
            for k in range(0 if tree.laws.straight[first + a] else d.w.size):
                total += d.Phi[k, c] * x.gradient[a, k, d.component[c]]
            gradient[a, c] = total


@inner
def _closure_turns(tree, work, tangent):
    turned, gap = matrix(3, 3), vector(3)
    for k in range(tree.closures.a.size):
        if tree.closures.rows[k] < 6:
            continue
        Ra, Rb = work.end.R[tree.closures.a[k]], work.end.R[tree.closures.b[k]]
        for i in range(3):
            for j in range(3):
                turned[i, j] = Ra[i, 0] * Rb[j, 0] + Ra[i, 1] * Rb[j, 1] + Ra[i, 2] * Rb[j, 2]
        logarithm(turned, gap)
        inverse_tangent(gap, tangent.turn[k])


# --- Moving between frames -----------------------------------------------------------------------

@inner
def offset_columns(tangent, link, ny, dy, out):
    """Write the variation (ny,) of a link's start from that of its parent's end."""
    arm, Om, Om_t = tangent.arm[link], tangent.Om[link], tangent.Om_t[link]
    y, z, inner = vector(3), vector(3), vector(3)
    for i in range(ny):
        out[i] = dy[i]
    cross(dy[3:6], arm, y)                      # d(arm)
    for i in range(3):
        out[i] += y[i]
    if ny == 6:
        return
    cross(dy[9:12], arm, z)
    cross(Om, y, inner)
    for i in range(3):
        inner[i] += z[i]                        # d(Om x arm)
        out[6 + i] += inner[i]
    cross(Om, inner, z)
    for i in range(3):
        out[12 + i] += z[i]
    cross(Om_t, y, z)
    for i in range(3):
        out[12 + i] += z[i]
    cross(Om, arm, y)
    cross(dy[9:12], y, z)
    for i in range(3):
        out[12 + i] += z[i]
    cross(dy[15:18], arm, z)
    for i in range(3):
        out[12 + i] += z[i]


@inner
def add_passed(tangent, link, dl, dy, out):
    """Add the variation of the wrench that link l passes to the end of its parent, out (6,)."""
    arm, y, z = tangent.arm[link], vector(3), vector(3)
    cross(arm, dl[:3], y)
    for i in range(3):
        out[i] += dl[i]
        out[3 + i] += dl[3 + i] + y[i]
    cross(dy[3:6], arm, y)
    cross(y, tangent.passed[link], z)
    for i in range(3):
        out[3 + i] += z[i]


# --- Products ------------------------------------------------------------------------------------

@inner
def _multiply_couplings(tree, tangent, dz, dr):
    """Add what couples the elements of rods, and efforts with themselves, times dz to dr."""
    for k in range(tangent.own.size):
        dr[tree.effort + k] += tangent.own[k] * dz[tree.effort + k]
    rods = tree.laws.couplings
    for k in range(rods.link.size):
        n, size = rods.size[k], rods.size[k] + rods.efforts[k]
        K = view(tangent.couple, rods.at[k], (size, size))
        for i in range(size):
            row = rods.first[k] + i if i < n else rods.effort[k] + i - n
            for j in range(size):
                dr[row] += K[i, j] * dz[rods.first[k] + j if j < n else rods.effort[k] + j - n]


@inner
def _any(a, first, count):
    """Return whether some of these numbers are not zero."""
    for i in range(first, first + count):
        if a[i] != 0.0:
            return True
    return False


@inner
def _pulled(tree, dz, out):
    """Write which links are elements whose actuators' efforts vary."""
    for link in range(out.size):
        out[link] = False
        if tree.links.kind[link] != JOINT and tree.links.kind[link] != ROOT:
            item = tree.links.item[link]
            out[link] = _any(
                dz, tree.effort + tree.elements.drive[item], tree.elements.size[item, 3])


@inner
def _multiply_closures(tree, tangent, dz, dy, dl, moved, pulled, dr):
    """Write the closures' rows of dr, and add their reactions to the wrenches dl (L, 6)."""
    closures = tree.closures
    for k in range(closures.a.size):
        a, b, first = closures.a[k], closures.b[k], closures.first[k]
        varied = _any(dz, first, closures.rows[k])
        pulled[a], pulled[b] = pulled[a] or varied, pulled[b] or varied
        if not (varied or moved[a] or moved[b]):
            continue
        for i in range(closures.rows[k]):
            dl[a, i] += dz[first + i]
            dl[b, i] -= dz[first + i]
            if i < 3:
                dr[first + i] = dy[a, i] - dy[b, i]
            else:
                for j in range(3):
                    dr[first + i] += (tangent.turn[k, i - 3, j] * dy[a, 3 + j]
                                      - tangent.turn[k, j, i - 3] * dy[b, 3 + j])
            if tree.free[first + i]:
                dr[first + i] = dz[first + i]


@kernel
def multiply(tree, ny, tangent, dz, dr):
    """Write the tangent times dz (Z,) to dr (Z,); quick where little of dz is not zero."""
    links, elements = tree.links, tree.elements
    L = links.kind.size
    moved, pulled = np.zeros(L, dtype=np.bool_), np.zeros(L, dtype=np.bool_)
    _pulled(tree, dz, pulled)
    dy, dl = np.zeros((L, 18)), np.zeros((L, 6))
    start, along, own = np.zeros(18), np.zeros(6), np.zeros(6)
    dr[:] = 0.0
    for link in range(L):
        if links.kind[link] == ROOT:
            continue
        n, first = links.freedom[link], links.first[link]
        moving = not links.fixed[links.parent[link]]
        moved[link] = moved[links.parent[link]] or _any(dz, first, n)
        if not moved[link]:
            continue
        offset_columns(tangent, link, ny, dy[links.parent[link]], start)
        J = blocks_of(tree, tangent, link, ny).motion
        for i in range(ny):
            for c in range(n):
                dy[link, i] += J[i, c] * dz[first + c]
            for c in range(ny if moving else 0):
                dy[link, i] += J[i, n + c] * start[c]
    for link in range(L):
        if not moved[link]:
            continue
        if not links.fixed[link]:
            D = blocks_of(tree, tangent, link, ny).body
            for i in range(6):
                for c in range(ny):
                    dl[link, i] += D[i, c] * dy[link, c]
    _multiply_closures(tree, tangent, dz, dy, dl, moved, pulled, dr)
    _multiply_couplings(tree, tangent, dz, dr)
    for link in range(L - 1, 0, -1):
        if links.kind[link] == ROOT or not (moved[link] or pulled[link]):
            continue
        n, first = links.freedom[link], links.first[link]
        moving = not links.fixed[links.parent[link]]
        rows, _, _, gradient = blocks_of(tree, tangent, link, ny)
        offset_columns(tangent, link, ny, dy[links.parent[link]], start)
        for i in range(n):
            total = 0.0
            for c in range(n):
                total += rows[i, c] * dz[first + c]
            for c in range(ny if moving else 0):
                total += rows[i, n + c] * start[c]
            for c in range(6):
                total -= tangent.along[first + i, c] * dl[link, c]
            dr[first + i] += total
        if links.kind[link] != JOINT:
            e = tree.effort + elements.drive[links.item[link]]
            for a in range(gradient.shape[0]):
                for c in range(n):
                    dr[first + c] += gradient[a, c] * dz[e + a]
                    dr[e + a] += tangent.slope[e - tree.effort + a] * (
                        gradient[a, c] * dz[first + c])
        if moving:
            for i in range(6):
                own[i] = dl[link, i]
            cross(tangent.lever[link], dl[link, :3], along)
            for i in range(3):
                own[3 + i] += along[i]
            for i in range(6):
                for c in range(n):
                    own[i] += rows[n + i, c] * dz[first + c]
                for c in range(ny):
                    own[i] += rows[n + i, n + c] * start[c]
            add_passed(tangent, link, own, dy[links.parent[link]], dl[links.parent[link]])
            pulled[links.parent[link]] = True
    add_ties(tangent, dz, dr)
