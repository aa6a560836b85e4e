r"""
What a fluid does to rods and bodies: wrenches and their slopes, by :mod:`cosserat_ros.laws.flow`.

Stations of a body are fixed to the end of its link; those along a rod are the nodes of its
elements, with numbers per length. In the world, with ``V = R^T p_t``, ``Omega = R^T Om``,
``V_t = R^T p_tt - Omega x V``, ``Omega_t = R^T Om_t``, a wrench F = R f varies by

    dF = psi x F + R (D d eta - M d eta_t)

which is a matrix (6, 15) on rotation, velocity, angular velocity, acceleration and angular
acceleration of the frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..laws.flow import flow, INERTIAL, MASS, NUMBERS, Station
from ..numerics.arena import matrix, unowned, vector, view
from ..numerics.kernels import inner, remote
from ..numerics.rotations import cross, rotate, rotate_back
from .element import clear, Flow, Motion, state_in
from .joint import multiply, shift, shift_columns


class Flows(NamedTuple):
    """Where a fluid acts, for kernels."""

    first: np.ndarray    # (L + 1,) int64, where the stations of each body begin; (0,) without any
    R: np.ndarray        # (S, 3, 3) their poses at the ends of links
    p: np.ndarray        # (S, 3) [m]
    numbers: np.ndarray  # (S, NUMBERS)
    along: np.ndarray    # (C,) int64, where the nodes of each element begin, or -1; or (0,)
    nodes: np.ndarray    # (N, NUMBERS) per length


class Flowing(NamedTuple):
    """What it does, world frame."""

    wrench: np.ndarray      # (L, 6) on the ends of links; (0, 6) without any
    block: np.ndarray       # (L, 6, 18) its change with their motion
    line: np.ndarray        # (N, 6) on nodes, per length
    line_slope: np.ndarray  # (N, 6, 15) its change with their motion, see the top of this module


class Stations(NamedTuple):
    """Stations of one link, or numbers at the nodes of one element."""

    link: int
    stations: Sequence[Station] = ()
    nodes: np.ndarray = np.zeros((0, NUMBERS))


def flows_of(links: int, items: np.ndarray, elements: int, parts: Sequence[Stations]) -> Flows:
    """Return all stations as arrays; `items` (L,) says which element a link is."""
    at_ends = [(part.link, s) for part in parts for s in part.stations]
    at_ends.sort(key=lambda pair: pair[0])
    first = np.zeros(links + 1, dtype=np.int64)
    for link, _ in at_ends:
        first[link + 1] += 1
    along = np.full(elements, -1, dtype=np.int64)
    nodes, count = [np.zeros((0, NUMBERS))], 0
    for part in parts:
        if len(part.nodes):
            along[items[part.link]] = count
            nodes.append(part.nodes)
            count += len(part.nodes)
    poses = np.array([s.pose for _, s in at_ends], dtype=float).reshape(-1, 4, 4)
    return Flows(
        np.cumsum(first) if at_ends else np.zeros(0, dtype=np.int64),
        np.ascontiguousarray(poses[:, :3, :3]), np.ascontiguousarray(poses[:, :3, 3]),
        np.array([s.numbers for _, s in at_ends], dtype=float).reshape(-1, NUMBERS),
        along if count else np.zeros(0, dtype=np.int64), np.concatenate(nodes))


def room_to_flow(a: Flows) -> Flowing:
    """Return room for what a fluid does."""
    L, N = max(a.first.size - 1, 0), len(a.nodes)
    return Flowing(
        np.zeros((L, 6)), np.zeros((L, 6, 18)), np.zeros((N, 6)), np.zeros((N, 6, 15)))


@inner
def flow_at(flows, flowing, item, m):
    """Return what a fluid does at the m nodes of an element; of none without a fluid."""
    first = flows.along[item] if flows.along.size > 0 else -1
    count = m if first >= 0 else 0
    first = max(first, 0)
    return Flow(view(flowing.line, 6 * first, (count, 6)),
                view(flowing.line_slope, 90 * first, (count, 6, 15)))


@unowned
@remote
def stream(tree, work):
    """Write what a fluid does to all links, and its slopes: `work.flowing`."""
    elements, flows = tree.elements, tree.flows
    end, flowing, room = work.end, work.flowing, work.room
    for link in range(flowing.wrench.shape[0]):
        _flow_body(flows, link, Motion(
            end.R[link], end.p[link], end.Om[link], end.p_t[link], end.Om_t[link],
            end.p_tt[link]), flowing.wrench[link], flowing.block[link])
    for item in range(flows.along.size):
        first = flows.along[item]
        if first < 0:
            continue
        size = elements.size[item]
        room.used[0] = elements.state[item]
        x = state_in(room, size[0], size[2], size[3])
        stride = size[2] // (size[0] + 1)
        for k in range(size[0]):
            e = stride * (k + 1)
            _press(flows.nodes[first + k], Motion(
                x.Rc[e], x.p[k], x.Om[e], x.p_t[k], x.Om_t[e], x.p_tt[k]),
                flowing.line[first + k], flowing.line_slope[first + k])


@inner
def _flow_body(flows, link, end, wrench, block):
    """Write the wrench on a link's end, about it, and its slope (6, 18) with its motion."""
    clear(block)
    for i in range(6):
        wrench[i] = 0.0
    arm, y, own, slope = vector(3), vector(3), vector(6), matrix(6, 15)
    R, p, Om, p_t, Om_t, p_tt = (
        matrix(3, 3), vector(3), vector(3), vector(3), vector(3), vector(3))
    at, A, none = Motion(R, p, Om, p_t, Om_t, p_tt), matrix(18, 18), vector(3)
    none[0], none[1], none[2] = 0.0, 0.0, 0.0
    for s in range(flows.first[link], flows.first[link + 1]):
        rotate(end.R, flows.p[s], arm)
        shift(end, arm, at)
        multiply(end.R, flows.R[s], at.R)
        _press(flows.numbers[s], at, own, slope)
        shift_columns(end.Om, end.Om_t, arm, none, 18, A, 0)
        cross(arm, own[:3], y)
        for i in range(3):
            wrench[i] += own[i]
            wrench[3 + i] += own[3 + i] + y[i]
        dot = arm[0] * own[0] + arm[1] * own[1] + arm[2] * own[2]
        for i in range(3):  # (psi x arm) x F
            for j in range(3):
                block[3 + i, 3 + j] += arm[i] * own[j]
            block[3 + i, 3 + i] -= dot
        for c in range(18):
            for i in range(6):
                own[i] = 0.0
                for j in range(15):
                    own[i] += slope[i, j] * A[3 + j, c]
            cross(arm, own[:3], y)
            for i in range(3):
                block[i, c] += own[i]
                block[3 + i, c] += own[3 + i] + y[i]


@inner
def _press(a, at, wrench, slope):
    """Write the wrench at a station (6,), world frame, and its slope (6, 15)."""
    eta, eta_t, f, D = vector(6), vector(6), vector(6), matrix(6, 6)
    rotate_back(at.R, at.p_t, eta[:3])
    rotate_back(at.R, at.Om, eta[3:])
    rotate_back(at.R, at.p_tt, eta_t[:3])
    rotate_back(at.R, at.Om_t, eta_t[3:])
    y, z, spun = vector(3), vector(3), vector(3)
    cross(eta[3:], eta[:3], y)
    for i in range(3):
        spun[i] = eta_t[i]
        eta_t[i] -= y[i]
    flow(a, eta, eta_t, f, D)
    rotate(at.R, f[:3], wrench[:3])
    rotate(at.R, f[3:], wrench[3:])
    clear(slope)
    # Columns by body axes: u = R^T (of the motion); rotation acts as the velocities turned back.
    d, dd, column = vector(6), vector(6), vector(6)
    for b in range(5):
        for c in range(3):
            for i in range(6):
                d[i], dd[i] = 0.0, 0.0
            for i in range(3):
                z[i] = at.R[c, i]  # R^T e_c
            if b == 0:  # rotation: eta and eta_t + Omega x V in the world are turned back
                cross(eta[:3], z, d[:3])
                cross(eta[3:], z, d[3:])
                cross(spun, z, dd[:3])
                cross(eta_t[3:], z, dd[3:])
            for i in range(3):
                if b == 1:
                    d[i] = z[i]
                elif b == 2:
                    d[3 + i] = z[i]
                elif b == 3:
                    dd[i] = z[i]
                elif b == 4:
                    dd[3 + i] = z[i]
            cross(d[3:], eta[:3], y)
            for i in range(3):
                dd[i] -= y[i]
            cross(eta[3:], d[:3], y)
            for i in range(3):
                dd[i] -= y[i]
            for i in range(6):
                column[i] = 0.0
                for j in range(6):
                    column[i] += D[i, j] * d[j] - a[INERTIAL] * a[MASS + 6 * i + j] * dd[j]
            if b == 0:
                cross(z, f[:3], y)
                for i in range(3):
                    column[i] += y[i]
                cross(z, f[3:], y)
                for i in range(3):
                    column[3 + i] += y[i]
            for i in range(3):
                slope[i, 3 * b + c] = (
                    at.R[i, 0] * column[0] + at.R[i, 1] * column[1] + at.R[i, 2] * column[2])
                slope[3 + i, 3 * b + c] = (
                    at.R[i, 0] * column[3] + at.R[i, 1] * column[4] + at.R[i, 2] * column[5])
