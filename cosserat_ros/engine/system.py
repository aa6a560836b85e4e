r"""
The equations of a robot: rods with their actuators, and a platform that joins their tips.

Unknowns z, rod after rod: amplitudes q of the strain modes; position and turn of its base, where
that is free; efforts of its actuators; reactions that hold its tip. Then position and turn of the
platform, where there is one that moves. As many equations: balance of the modes and of a free
base, the rules that close the actuators (`Drives`), the tip where the platform has it (Till 2019,
eqs. 13 and 14), and the balance of the platform (eqs. 15 and 16).

The tangent has an arrow's shape: the platform sees each rod through its own block.
`engine.newton` keeps the inverse of each block, and a 6 x 6 Schur complement for the
platform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..laws.actuators import closure, Drives, Paths
from ..numerics.arena import Arena, empty, matrix, vector, zeros
from ..numerics.kernels import address, borrowed, call, inner, kernel, merged
from ..numerics.lie import inverse_left_tangent_so3
from ..numerics.rotations import coefficients, cross, rotate, rotate_back, tangent_and_slope
from ..rod.discretisation import Discretisation
from ..rod.kinematics import Base, free_base, State
from .equations import (
    Balance,
    Bodies,
    Loads,
    multiply,
    residual,
    spin,
    spin_columns,
    tangent as rod_tangent,
)


class Platform(NamedTuple):
    """What holds the tips: a rigid body, or a place in space."""

    R: np.ndarray         # (3, 3) attitude at the last instant, body to world
    p: np.ndarray         # (3,) centre of mass, if it does not move [m]
    moves: bool           # whether its pose is unknown
    tip_R: np.ndarray     # (k, 3, 3) attitude of the tips in the platform's frame
    tip_p: np.ndarray     # (k, 3) their positions in it [m]
    hold: np.ndarray      # (k, j, 6) directions of force and moment that hold them, frame tip_R;
    #                       rows of zeros, where a joint has fewer, hold nothing
    mass: float           # [kg]
    inertia: np.ndarray   # (3,) principal moments [kg m^2]
    axes: np.ndarray      # (3, 3) their axes, as columns
    gravity: np.ndarray   # (3,) [m/s^2]
    wrench: np.ndarray    # (6,) external force and moment at the centre of mass, world frame


class Code(NamedTuple):
    """Addresses of compiled equations, see `cosserat_ros.numerics.kernels.remote`."""

    residual: int   # of a rod
    tangent: int    # of a rod
    equations: int  # of the whole


class System(NamedTuple):
    """A robot for kernels; everything of rods is stacked, k of them of equal size."""

    rods: Discretisation
    paths: Paths
    bases: Base     # of a free base, R is the attitude at the last instant
    free: bool      # whether the bases are free
    drives: Drives
    loads: Loads
    platform: Platform
    code: Code
    room: Arena     # for one rod at a time


def stack(items):
    """Return named tuples of arrays, one for each rod, as one with a leading axis."""
    first = items[0]
    return type(first)(*(
        stack([getattr(item, name) for item in items])
        if isinstance(getattr(first, name), tuple)
        else np.ascontiguousarray(np.stack([getattr(item, name) for item in items]))
        for name in first._fields))


def one_of(stacked, i):
    """Return what belongs to rod i of a stacked named tuple."""
    return type(stacked)(*(
        one_of(value, i) if isinstance(value, tuple) else value[i] for value in stacked))


# --- One of the rods -----------------------------------------------------------------------------

@merged
def _rod(a, i):
    return Discretisation(
        a.s[i], a.w[i], a.W[i], a.stiffness[i], a.damping[i], a.inertia[i], a.rest_strain[i],
        a.component[i], a.Phi[i], a.rest_turn[i], a.turn[i], a.station[i], a.end_station[i],
        a.breaks[i], a.elastic[i], a.viscous[i])


@merged
def _loads(a, i):
    b = a.bodies
    return Loads(
        a.gravity[i], a.line_force[i], a.line_moment[i], a.end_force[i], a.end_moment[i],
        a.follower_force[i], a.follower_moment[i], a.stress[i], a.square_drag[i],
        a.linear_drag[i], Bodies(b.mass[i], b.offset[i], b.inertia[i], b.axes[i]))


@merged
def _paths(a, i):
    return Paths(a.r[i], a.r_s[i], a.weight[i], a.flat[i])


@merged
def _drives(a, i):
    return Drives(a.kind[i], a.command[i], a.compliance[i], a.pulls[i], a.ambient[i], a.dead[i],
                  a.scale[i])


@merged
def _base(system, i, y, y_t, y_tt):
    """Return the motion of a rod's base; y are the coordinates of a free one."""
    b = system.bases
    if system.free:
        return free_base(b.R[i], y, y_t, y_tt)
    return Base(b.R[i], b.p[i], b.Om[i], b.p_t[i], b.Om_t[i], b.p_tt[i])


class Tip(NamedTuple):
    """Where and by what a rod's tip is held, world frame."""

    R: np.ndarray       # (3, 3)
    p: np.ndarray       # (3,) [m]
    arm: np.ndarray     # (3,) from the platform's centre of mass [m]
    wrench: np.ndarray  # (6,) on the rod [N, N m]


@merged
def _tip(a, i, pose, reaction, room):
    R, wrench = empty(room, (3, 3)), empty(room, (6,))
    p, arm = empty(room, (3,)), empty(room, (3,))
    multiply(pose.R, a.tip_R[i], R)
    rotate(pose.R, a.tip_p[i], arm)
    local = vector(6)
    for j in range(6):
        local[j] = 0.0
        for b in range(a.hold.shape[1]):
            local[j] += a.hold[i, b, j] * reaction[b]
    rotate(R, local[:3], wrench[:3])
    rotate(R, local[3:], wrench[3:])
    for j in range(3):
        p[j] = pose.p[j] + arm[j]
    return Tip(R, p, arm, wrench)


@inner
def _holds(direction):
    """Return whether there is a direction (6,) to hold; without one, the reaction is zero."""
    for c in range(6):
        if direction[c] != 0.0:
            return True
    return False


@inner
def _tip_error(tip, x, error):
    """Write how far a rod's tip is from its place, in the tip's frame: distance and turn (6,)."""
    R, p = x.Rc[x.Rc.shape[0] - 1], x.p_end[x.p_end.shape[0] - 1]
    turned = matrix(3, 3)
    rotate_back(tip.R, p, error[:3])
    rotate_back(tip.R, tip.p, error[3:])
    for i in range(3):
        error[i] -= error[3 + i]
        rotate_back(tip.R, R[:, i], turned[:, i])
    # The logarithm, by sine and cosine of the angle: what counts is its zero.
    cosine = 0.5 * (turned[0, 0] + turned[1, 1] + turned[2, 2] - 1.0)
    square = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        error[3 + i] = 0.5 * (turned[k, j] - turned[j, k])
        square += error[3 + i] ** 2
    sine = np.sqrt(square)
    if sine > 1e-8:
        for i in range(3):
            error[3 + i] *= np.arctan2(sine, cosine) / sine


# --- Residual ------------------------------------------------------------------------------------

@inner
def _platform_pose(platform, y, y_t, y_tt):
    """Return the motion of the platform; y are its coordinates, if it moves."""
    if platform.moves:
        return free_base(platform.R, y, y_t, y_tt)
    none = np.zeros(3)
    return Base(platform.R, platform.p, none, none, none, none)


@merged
def _rod_residual(system, i, pose, y, y_t, y_tt, r):
    """Write the equations of rod i to r, and return what its tangent is made of."""
    d, drives = _rod(system.rods, i), _drives(system.drives, i)
    n, b, m = d.component.size, 6 * system.free, drives.kind.size
    base = _base(system, i, y[n:n + b], y_t[n:n + b], y_tt[n:n + b])
    effort = y[n + b:n + b + m]
    tip = _tip(system.platform, i, pose, y[n + b + m:], system.room)
    balance, x = call(residual, system.code.residual, (
        d, base, _loads(system.loads, i), _paths(system.paths, i), effort, tip.wrench,
        y[:n], y_t[:n], y_tt[:n], system.room))
    for c in range(n):
        r[c] = balance.Q[c]
    for c in range(b):
        r[n + c] = -balance.N_base[c] if c < 3 else -balance.M[0, c - 3]
    for a in range(m):
        r[n + b + a] = closure(drives, a, balance.length[a], effort[a])[0]
    hold = system.platform.hold[i]
    if hold.shape[0] > 0:
        error = vector(6)
        _tip_error(tip, x, error)
        for a in range(hold.shape[0]):
            total = 0.0
            for c in range(6):
                total += hold[a, c] * error[c]
            r[n + b + m + a] = total if _holds(hold[a]) else y[n + b + m + a]
    return balance, x, tip


@inner
def _platform_residual(platform, pose, tips_force, tips_moment, r):
    """Write the balance of the platform to r (6,): what the tips take, inertia, less the loads."""
    for j in range(3):
        r[j] = tips_force[j] + platform.mass * (pose.p_tt[j] - platform.gravity[j])
        r[j] -= platform.wrench[j]
    axes = matrix(3, 3)
    multiply(pose.R, platform.axes, axes)
    spin(axes, pose.Om, pose.Om_t, platform.inertia, r[3:])
    for j in range(3):
        r[3 + j] += tips_moment[j] - platform.wrench[3 + j]


@inner
def _add_tip(tip, force, moment):
    """Add what the platform gives to a tip to force and moment (3,)."""
    lever = vector(3)
    cross(tip.arm, tip.wrench[:3], lever)
    for j in range(3):
        force[j] += tip.wrench[j]
        moment[j] += tip.wrench[3 + j] + lever[j]


# --- Tangent -------------------------------------------------------------------------------------

@inner
def _rod_tangent(system, i, pose, y, tip, balance, x, cV, cA, still, A, column, row):
    """
    Write the derivatives of a rod's equations, and of what it does to the platform.

    A (B, B) with its own unknowns, column (B, 6) with position and rotation of the platform, row
    (6, B) of the platform's balance with its own unknowns.
    """
    d, drives, paths = _rod(system.rods, i), _drives(system.drives, i), _paths(system.paths, i)
    hold = system.platform.hold[i]
    n, b, m, j = d.component.size, 6 * system.free, drives.kind.size, hold.shape[0]
    C = n + b
    effort = y[C:C + m]
    turn = empty(system.room, (b // 6, 3))
    for a in range(b // 2):
        turn[0, a] = y[n + 3 + a]
    K, J = call(rod_tangent, system.code.tangent, (
        d, _loads(system.loads, i), paths, effort, x, balance, cV, cA, turn, still,
        system.room))
    for a in range(A.shape[0]):
        for c in range(A.shape[0]):
            A[a, c] = K[a, c] if a < C and c < C else 0.0
        for c in range(6):
            column[a, c], row[c, a] = 0.0, 0.0
    for a in range(m):
        _, slope, own = closure(drives, a, balance.length[a], effort[a])
        A[C + a, C + a] = own
        for c in range(n):
            change = 0.0
            for node in range(d.s.size):
                change += d.Phi[node, c] * balance.gradient[a, node, d.component[c]]
            A[c, C + a] = change
            A[C + a, c] = slope * change
    if j > 0:
        _hold_tip(hold, tip, x, J, C + m, A)
        if system.platform.moves:
            _join(hold, tip, pose, x, J, C + m, column, row)


@inner
def _is_still(x):
    """Return whether nothing of a rod moves or is accelerated."""
    moves = 0.0
    for k in range(x.t.shape[0]):
        for i in range(3):
            moves += abs(x.p_t[k, i]) + abs(x.p_tt[k, i])
    for e in range(x.Om.shape[0]):
        for i in range(3):
            moves += abs(x.Om[e, i]) + abs(x.Om_t[e, i])
    for k in range(x.xi.shape[0]):
        for i in range(6):
            moves += abs(x.xi_t[k, i]) + abs(x.xi_tt[k, i])
    return moves == 0.0


@inner
def _hold_tip(hold, tip, x, J, first, A):
    """Write the columns of the reactions, and the rows of what they enforce, from `first` on."""
    C, j = J.shape[1], hold.shape[0]
    move, local = vector(6), vector(6)
    _tip_error(tip, x, local)
    T = inverse_left_tangent_so3(local[3:])
    for c in range(C):
        rotate_back(tip.R, J[:3, c], move[:3])
        rotate_back(tip.R, J[3:, c], move[3:])
        rotate(T, move[3:], local[3:])
        for a in range(j):
            for e in range(6):
                A[c, first + a] -= hold[a, e] * move[e]
                A[first + a, c] += hold[a, e] * (move[e] if e < 3 else local[e])
    for a in range(j):
        if not _holds(hold[a]):
            A[first + a, first + a] = 1.0


@inner
def _join(hold, tip, pose, x, J, first, column, row):
    """Write what reactions do to the platform, and what the platform does to a rod."""
    C, j = J.shape[1], hold.shape[0]
    move, local, force, lever = vector(6), vector(6), vector(6), vector(3)
    _tip_error(tip, x, local)
    T = inverse_left_tangent_so3(local[3:])
    for a in range(j):
        rotate(tip.R, hold[a, :3], force[:3])
        rotate(tip.R, hold[a, 3:], force[3:])
        cross(tip.arm, force[:3], lever)
        for e in range(3):
            row[e, first + a] = force[e]
            row[3 + e, first + a] = force[3 + e] + lever[e]
    # With the platform's position, then with its rotation, which turns the reactions too.
    unit, arm, p = vector(3), vector(3), x.p_end[x.p_end.shape[0] - 1]
    for a in range(3):
        arm[a] = p[a] - pose.p[a]
    for e in range(6):
        for a in range(3):
            unit[a] = 1.0 if a == e % 3 else 0.0
        _unit_motion(e, unit, arm, move)
        rotate_back(tip.R, move[:3], local[:3])
        rotate_back(tip.R, move[3:], lever)
        rotate(T, lever, local[3:])
        for a in range(j):
            for c in range(6):
                column[first + a, e] -= hold[a, c] * local[c]
        cross(move[3:], tip.wrench[:3], force[:3])
        cross(move[3:], tip.wrench[3:], force[3:])
        for c in range(C):
            for a in range(6):
                column[c, e] -= J[a, c] * force[a]


@inner
def _unit_motion(e, unit, arm, move):
    """Write the motion (6,) at `arm` of a body that moves (e < 3) or turns by a unit vector."""
    cross(unit, arm, move[:3])
    for a in range(3):
        move[3 + a] = unit[a] if e >= 3 else 0.0
        move[a] = move[a] if e >= 3 else unit[a]


@inner
def _platform_tangent(platform, pose, turn, force, moment, cV, cA, S, room):
    """Write the derivative of the platform's balance with its position and turn, (6, 6)."""
    T, D, stumpff, axes, y = np.empty((3, 3)), matrix(3, 3), vector(8), matrix(3, 3), vector(3)
    coefficients(turn, stumpff)
    tangent_and_slope(turn, stumpff, turn, T, D)
    dOm, dOm_t, dL = zeros(room, (3, 3)), zeros(room, (3, 3)), zeros(room, (3, 3))
    multiply(pose.R, platform.axes, axes)
    for j in range(3):
        dOm[j, j], dOm_t[j, j] = cV, cA
    spin_columns(axes, pose.Om, pose.Om_t, platform.inertia, -1.0, T, dOm, dOm_t, dL, room)
    for c in range(3):
        cross(T[:, c], force, y)
        for j in range(3):
            S[j, c] = platform.mass * cA if j == c else 0.0
            S[3 + j, c] = 0.0
            S[j, 3 + c] = y[j]
        cross(T[:, c], moment, y)
        for j in range(3):
            S[3 + j, 3 + c] = y[j] + dL[j, c]
    return T


@inner
def _turn_columns(T, column):
    """Take columns of the platform's rotation to those of its turn: times T (3, 3)."""
    for a in range(column.shape[0]):
        c0, c1, c2 = column[a, 3], column[a, 4], column[a, 5]
        for e in range(3):
            column[a, 3 + e] = c0 * T[0, e] + c1 * T[1, e] + c2 * T[2, e]


# --- All of them ---------------------------------------------------------------------------------

class Tangent(NamedTuple):
    """The parts of a tangent that are not zero."""

    block: np.ndarray   # (k, B, B) of each rod with its own unknowns
    column: np.ndarray  # (k, B, 6) of each rod with the platform's position and turn
    row: np.ndarray     # (k, 6, B) of the platform's balance with each rod's unknowns
    corner: np.ndarray  # (6, 6) of the platform's balance with its own


@kernel
def equations(system, z, z_t, z_tt, cV, cA, wanted, r, tangent):
    """Write what must be zero to r, as many as there are unknowns, and the tangent if wanted."""
    k, B = tangent.block.shape[:2]
    end = k * B
    system, tangent = borrowed(system), borrowed(tangent)
    platform = system.platform
    pose = _platform_pose(platform, z[end:], z_t[end:], z_tt[end:])
    force, moment = np.zeros(3), np.zeros(3)
    for i in range(k):
        a, b = i * B, (i + 1) * B
        system.room.used[0] = 0
        balance, x, tip = _rod_residual(
            system, i, pose, z[a:b], z_t[a:b], z_tt[a:b], r[a:b])
        _add_tip(tip, force, moment)
        if wanted:
            still = cV == 0.0 and cA == 0.0 and _is_still(x)
            _rod_tangent(system, i, pose, z[a:b], tip, balance, x, cV, cA, still,
                         tangent.block[i], tangent.column[i], tangent.row[i])
    if platform.moves:
        _platform_residual(platform, pose, force, moment, r[end:])
    if platform.moves and wanted:
        system.room.used[0] = 0
        T = _platform_tangent(
            platform, pose, z[end + 3:], force, moment, cV, cA, tangent.corner, system.room)
        for i in range(k):
            _turn_columns(T, tangent.column[i])


def unbalance_and_jacobian(
    system: System, z: np.ndarray, z_t: np.ndarray, z_tt: np.ndarray, cV: float, cA: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what must be zero, and its derivative as a whole, square."""
    k, P = system.rods.s.shape[0], 6 * system.platform.moves
    B = (z.size - P) // k
    r, tangent = np.empty(z.size), Tangent(
        np.empty((k, B, B)), np.empty((k, B, 6)), np.empty((k, 6, B)), np.empty((6, 6)))
    equations(system, z, z_t, z_tt, cV, cA, True, r, tangent)
    return r, whole_tangent(tangent, system.platform.moves)


def whole_tangent(tangent: Tangent, moves: bool) -> np.ndarray:
    """Return a tangent as one matrix, square."""
    k, B = tangent.block.shape[:2]
    end, P = k * B, 6 * moves
    A = np.zeros((end + P, end + P))
    for i in range(k):
        rod = slice(i * B, (i + 1) * B)
        A[rod, rod] = tangent.block[i]
        A[rod, end:], A[end:, rod] = tangent.column[i, :, :P], tangent.row[i, :P]
    A[end:, end:] = tangent.corner[:P, :P]
    return A


def remote_calls(system: System) -> list[tuple[Callable, tuple]]:
    """Return the functions whose addresses are `Code`, with arguments of the types they get."""
    d, base, loads, paths = (
        one_of(part, 0) for part in (system.rods, system.bases, system.loads, system.paths))
    a, A, AA = np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1, 1))
    x = State(*[A] * len(State._fields))._replace(Rc=AA)
    balance = Balance(a, a, A, A, a, AA)
    return [
        (residual, (d, base, loads, paths, a, a, a, a, a, system.room)),
        (rod_tangent, (d, loads, paths, a, x, balance, 0.0, 0.0, A, True, system.room)),
        (equations, (system, a, a, a, 0.0, 0.0, True, a, Tangent(AA, AA, AA, A))),
    ]


def compiled_code(system: System) -> Code:
    """Return the code for the types of a system, compiled if need be."""
    return Code(*(address(function, *arguments) for function, arguments in remote_calls(system)))
