r"""
The tangent of an assembly, link by link: it is never formed as a whole.

With dy the variation of the motion at a link's start (position, rotation, velocity, angular
velocity, acceleration, angular acceleration: 18 numbers, 6 in statics), dq that of its own
coordinates, dl that of the wrench it passes on and e that of efforts along it,

    dy' = A dy + B dq                           to the next link
    dl  = C dl' + D dy + E dq                   from the next link (sum over branches)
    dr  = K dq + F dy + G dl' + H de            its own equations

`Tangent` has these blocks of all links in one flat array, and what C and G follow from: a force is
moved by its lever, and ``G = -B^T`` (of the pose; virtual work).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import empty, matrix, unowned, vector, view
from ..numerics.kernels import call, inner, kernel, merged
from ..numerics.rotations import cross
from .element import clear
from .element_start import Surroundings
from .element_tangent import vary
from .joint import FREELY, inverse_tangent, logarithm, turn_spring, vary_body, vary_joint
from .tree import ELEMENT, element_at, JOINT, loads_at, motion_of, paths_at, ROOT, state_at


class Tangent(NamedTuple):
    """The blocks of all links, see `blocks_of`; it stays until it is remade."""

    at: np.ndarray      # (L, 4) int64: where rows, motion, body and actuators of a link begin
    data: np.ndarray    # float64
    turn: np.ndarray    # (K, 3, 3) derivative of each closure's turn with the rotation of its
    #                     end a; with that of b it is minus the transpose
    along: np.ndarray   # (Z, 6) motion of a link's end along which wrenches work on a coordinate;
    #                     0 of those that are held
    arm: np.ndarray     # (L, 3) from the parent's end to the start [m]
    lever: np.ndarray   # (L, 3) from start to end [m]
    Om: np.ndarray      # (L, 3) angular velocity of the parent's end [rad/s]
    Om_t: np.ndarray    # (L, 3) its rate [rad/s^2]
    passed: np.ndarray  # (L, 3) force on the start [N]
    slope: np.ndarray   # (m,) of the actuators' closures with length
    own: np.ndarray     # (m,) with effort
    couple: np.ndarray  # of couplings, (size, size) each
    held: np.ndarray    # (Z,) bool: coordinates that were told, or at a limit


class Blocks(NamedTuple):
    """The blocks of one link, own columns first; of a start that is fixed there are none."""

    rows: np.ndarray       # (n [+ 6], n [+ ny]) [K F; E D]
    motion: np.ndarray     # (ny, n [+ ny]) [B A]
    body: np.ndarray       # (6, ny) change of what acts at the end with its motion
    actuators: np.ndarray  # (a, n) change of actuators' lengths with coordinates


@merged
def blocks_of(tree, tangent, link, ny):
    """Return the blocks of a link."""
    links, at, data = tree.links, tangent.at[link], tangent.data
    n, element = links.freedom[link], links.kind[link] == ELEMENT
    moving = links.kind[link] != ROOT and not links.fixed[links.parent[link]]
    width = n + (ny if moving else 0)
    actuators = tree.elements.size[links.item[link], 3] if element else 0
    return Blocks(
        view(data, at[0], (n + (6 if moving else 0), width)), view(data, at[1], (ny, width)),
        view(data, at[2], (6, ny)), view(data, at[3], (actuators, n)))


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
        if links.kind[link] == ROOT:
            continue
        _geometry(tree, work, link, tangent)
        if links.kind[link] == JOINT:
            _joint_blocks(tree, work, link, z, cV, cA, ny, blocks, tangent)
        else:
            _element_blocks(tree, work, link, z, cV, cA, ny, blocks, tangent)
    _closure_turns(tree, work, tangent)
    for k in range(work.own.size):
        tangent.slope[k], tangent.own[k] = work.slope[k], work.own[k]
    for k in range(tangent.couple.size):
        tangent.couple[k] = tree.couplings.stiffness[k] + cV * tree.couplings.damping[k]


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
    e, actuators = tree.effort + elements.drive[item], elements.size[item, 3]
    d, x = element_at(elements, item), state_at(elements, item, work.room)
    work.room.used[0] = elements.state[elements.state.size - 1]
    C = n + (ny - 3 if moving else 0)  # without columns of the start's position
    own, end = empty(work.room, (rows.shape[0], C)), empty(work.room, (18, C))
    call(vary, tree.code.vary, (
        d, loads_at(elements, item), paths_at(elements, item), z[e:e + actuators],
        Surroundings(tree.gravity, motion_of(work.start, link), work.passed[link],
                     work.wrench[link]),
        x, cV, cA, moving, ny == 6, own, end, work.room))
    for i in range(rows.shape[0]):
        _spread(own[i], n, rows[i])
    for i in range(ny):
        _spread(end[i], n, J[i])
    for c in range(n):
        for i in range(6):
            tangent.along[links.first[link] + c, i] = J[i, c]
    if moving:
        for i in range(3):
            J[i, n + i] = 1.0
    gradient = blocks.actuators
    for a in range(actuators):
        for c in range(n):
            total = 0.0
            for k in range(d.w.size):
                total += d.Phi[k, c] * x.gradient[a, k, d.component[c]]
            gradient[a, c] = total


@inner
def _spread(a, n, out):
    """Write a row with columns of the start's position, which are zero."""
    for c in range(n):
        out[c] = a[c]
    for c in range(n, out.size):
        out[c] = a[c - 3] if c >= n + 3 else 0.0


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
    for k in range(tree.couplings.link.size):
        n, first = tree.couplings.size[k], tree.couplings.first[k]
        K = view(tangent.couple, tree.couplings.at[k], (n, n))
        for i in range(n):
            for j in range(n):
                dr[first + i] += K[i, j] * dz[first + j]


@kernel
def multiply(tree, ny, tangent, dz, dr):
    """Write the tangent times dz (Z,) to dr (Z,)."""
    links, elements, closures = tree.links, tree.elements, tree.closures
    L = links.kind.size
    dy, dl = np.zeros((L, 18)), np.zeros((L, 6))
    start, along, own = np.zeros(18), np.zeros(6), np.zeros(6)
    dr[:] = 0.0
    for link in range(L):
        if links.kind[link] == ROOT:
            continue
        n, first = links.freedom[link], links.first[link]
        moving = not links.fixed[links.parent[link]]
        offset_columns(tangent, link, ny, dy[links.parent[link]], start)
        J = blocks_of(tree, tangent, link, ny).motion
        for i in range(ny):
            for c in range(n):
                dy[link, i] += J[i, c] * dz[first + c]
            for c in range(ny if moving else 0):
                dy[link, i] += J[i, n + c] * start[c]
    for link in range(L):
        if not links.fixed[link]:
            D = blocks_of(tree, tangent, link, ny).body
            for i in range(6):
                for c in range(ny):
                    dl[link, i] += D[i, c] * dy[link, c]
    for k in range(closures.a.size):
        a, b, first = closures.a[k], closures.b[k], closures.first[k]
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
    _multiply_couplings(tree, tangent, dz, dr)
    for link in range(L - 1, 0, -1):
        if links.kind[link] == ROOT:
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
