r"""
Tendons that run straight in space from the hole of one disc to that of the next.

Its length is a function of the discs' poses, ``l = sum |P_{i+1} - P_i|`` with the holes at
``P_i = p_i + R_i r_i``: not a sum over nodes of densities of the local strain, as those of
`laws.actuators` are, and it couples all of a rod's coordinates.

With c_i the unit vector from hole i to the next, and f_i = c_{i-1} - c_i how the length grows with
the place of hole i:

    dl   = sum f_i . dP_i
    d2l  = sum |dP_{i+1} - dP_i|^2 across c_i / |P_{i+1} - P_i| + sum f_i . d2P_i

A hole is a sum of vectors that turn with the chain of rotations, ``P_i = sum y``: y = w R v of
each node before it, and y = R_i r_i. With f(y) the sum of f_i over all holes that y is a part of,
the last sum is that of f(y) . d2y. For two turns before y, psi_a and later in the chain psi_b,

    f . d2y = psi_b . (f y^T - f . y I) psi_a

so that one matrix S, summed from the tip down to b, stands for all that is beyond it; the axial
vector of S - S^T is M, the moment sum y x f. What is left is the second derivative with the
exponent o of one exponential, ``T^T S^T T + d(T^T M)/do``, and what turns do to the strains v.

All tendons of a rod share one chain of rotations, with a station at each of their holes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..description.modes import StrainModes
from ..description.rod import Rod
from ..numerics.arena import Arena, arena, empty, matrix, unowned, vector, zeros
from ..numerics.kernels import address, Direct, inner, kernel, remote, run
from ..numerics.references import reference
from ..numerics.rotations import (
    add,
    add_cross,
    coefficients,
    cross,
    exponential,
    multiply,
    rotate,
    rotate_back,
    tangent_and_slope,
    tangent_times,
)
from ..rod.discretisation import Discretisation, resample


class Functional(NamedTuple):
    """A length, and its derivatives with the amplitudes of the strain modes."""

    length: float         # [m]
    gradient: np.ndarray  # (n,)
    hessian: np.ndarray   # (n, n)


class Chords(NamedTuple):
    """The tendons of a rod that are straight in space, for kernels."""

    w: np.ndarray          # (N,) quadrature weights [m]
    rest: np.ndarray       # (N, 3) strain v at rest
    Phi: np.ndarray        # (N, n) value of each mode at each node
    rest_turn: np.ndarray  # (M, 3) exponents of the rest strain [rad]
    turn: np.ndarray       # (M, n) exponents of each mode, along the axis of its component
    place: np.ndarray      # (K, 3) of each hole in its section, body frame [m]
    component: np.ndarray  # (n,) int64, component of strain of each mode
    station: np.ndarray    # (N,) int64, exponentials before each node
    at: np.ndarray         # (K,) int64, exponentials before each hole; tendon by tendon
    order: np.ndarray      # (K,) int64, holes from the base to the tip
    tendon: np.ndarray     # (K,) int64, which actuator of the rod a hole belongs to
    begin: np.ndarray      # (M,) int64, first coordinate that an exponential depends on
    end: np.ndarray        # (M,) int64, and where they end


class ChordState(NamedTuple):
    """Where the holes are, and what leads there."""

    Rc: np.ndarray     # (M + 1, 3, 3) rotation after each exponential
    Omega: np.ndarray  # (M, 3) exponents [rad]
    c: np.ndarray      # (M, 8) coefficients of the exponentials
    t: np.ndarray      # (N, 3) R v
    P: np.ndarray      # (K, 3) holes [m]
    arm: np.ndarray    # (K, 3) from the backbone to the holes [m]
    f: np.ndarray      # (K, 3) force on the holes [N]


class Holes(NamedTuple):
    """What a tendon runs through, in order."""

    s: np.ndarray      # (K,) arc lengths, increasing [m]
    place: np.ndarray  # (K, 3) in the sections, body frame [m]


def chords_of(
    rod: Rod, modes: StrainModes, d: Discretisation, tendons: Mapping[int, Holes],
) -> Chords:
    """
    Return the chords of tendons along a rod.

    Parameters
    ----------
    rod, modes, d
        The rod, and how it is resolved.
    tendons : mapping of int to Holes
        By their numbers among the rod's actuators.

    """
    knots = np.unique(np.concatenate([holes.s for holes in tendons.values()]))
    nodes = 2 + max(1, modes.nodes_per_element // max(len(knots) - 1, 1))  # more on longer spans
    fine = resample(rod, modes, d, np.concatenate([[0.0], knots]), nodes)
    stations = np.concatenate([[0], fine.end_station])
    at = np.concatenate([
        stations[np.argmin(np.abs(fine.breaks - holes.s[:, None]), axis=1)]
        for holes in tendons.values()])
    per_element = sum(modes.counts)
    middle = 0.5 * (fine.breaks[1:] + fine.breaks[:-1])
    begin = per_element * np.repeat(
        np.searchsorted(d.breaks, middle) - 1, len(fine.turn) // len(middle))
    return Chords(*map(np.ascontiguousarray, (
        fine.w, fine.rest_strain[:, :3], fine.Phi, fine.rest_turn, fine.turn,
        np.concatenate([np.asarray(holes.place, dtype=float) for holes in tendons.values()]),
        fine.component, fine.station, at, np.argsort(at, kind='stable'),
        np.repeat(list(tendons), [len(holes.s) for holes in tendons.values()]),
        begin, begin + per_element)))


def chord_size(a: Chords) -> int:
    """Return how much room the kernels below need."""
    (N, n), M, K = a.Phi.shape, len(a.turn), len(a.at)
    return (20 * M + 9) + 3 * N + 9 * K + 3 * n * (M + 1 + K + 3) + n * n


# --- Length and force ----------------------------------------------------------------------------

@inner
def state_of_chords(a, room):
    """Return a state in an arena, to be written by `stretch_chords`."""
    N, M, K = a.w.size, a.turn.shape[0], a.at.size
    return ChordState(
        empty(room, (M + 1, 3, 3)), empty(room, (M, 3)), empty(room, (M, 8)), empty(room, (N, 3)),
        empty(room, (K, 3)), empty(room, (K, 3)), empty(room, (K, 3)))


@inner
def stretch_chords(a, q, effort, length, x):
    """Write lengths of tendons by their efforts' numbers, the holes and the forces on them."""
    _turn(a, q, x)
    _place(a, q, x)
    for i in range(a.at.size):
        length[a.tendon[i]] = 0.0
        for j in range(3):
            x.f[i, j] = 0.0
    c = vector(3)
    for i in range(1, a.at.size):
        if a.tendon[i] != a.tendon[i - 1]:
            continue
        size, pull = _chord(x.P[i - 1], x.P[i], c), effort[a.tendon[i]]
        length[a.tendon[i]] += size
        for j in range(3):
            x.f[i - 1, j] -= pull * c[j]
            x.f[i, j] += pull * c[j]


@inner
def _chord(start, end, c):
    """Write the unit vector from one hole to the next; return the distance."""
    square = 0.0
    for j in range(3):
        c[j] = end[j] - start[j]
        square += c[j] ** 2
    size = np.sqrt(square)
    for j in range(3):
        c[j] /= size
    return size


@inner
def _turn(a, q, x):
    """Write rotations along the chain."""
    X, Rc = matrix(3, 3), x.Rc
    for i in range(3):
        for j in range(3):
            Rc[0, i, j] = 1.0 if i == j else 0.0  # lengths do not depend on where the rod stands
    for e in range(a.turn.shape[0]):
        o, c = x.Omega[e], x.c[e]
        for i in range(3):
            o[i] = a.rest_turn[e, i]
        for k in range(a.begin[e], a.end[e]):
            if a.component[k] >= 3:
                o[a.component[k] - 3] += a.turn[e, k] * q[k]
        coefficients(o, c)
        exponential(o, c, X)
        multiply(Rc[e], X, Rc[e + 1])


@inner
def _place(a, q, x):
    """Write t at the nodes, and where the holes are."""
    v, p, k = vector(3), vector(3), 0
    p[0], p[1], p[2] = 0.0, 0.0, 0.0
    for place in range(a.order.size):
        i = a.order[place]
        while k < a.w.size and a.station[k] < a.at[i]:
            for j in range(3):
                v[j] = a.rest[k, j]
            for c in range(a.begin[a.station[k] - 1], a.end[a.station[k] - 1]):
                if a.component[c] < 3:
                    v[a.component[c]] += a.Phi[k, c] * q[c]
            rotate(x.Rc[a.station[k]], v, x.t[k])
            for j in range(3):
                p[j] += a.w[k] * x.t[k, j]
            k += 1
        rotate(x.Rc[a.at[i]], a.place[i], x.arm[i])
        for j in range(3):
            x.P[i, j] = p[j] + x.arm[i, j]


@inner
def add_chord_force(a, x, Q):
    """Add the work of the forces on the holes with each coordinate to Q (n,)."""
    M, total, y, m = vector(3), vector(3), vector(3), vector(3)
    for j in range(3):
        M[j], total[j] = 0.0, 0.0
    last, k = a.order.size - 1, a.w.size - 1
    for e in range(a.turn.shape[0], 0, -1):  # stations, down from the tip
        while last >= 0 and a.at[a.order[last]] == e:
            i = a.order[last]
            cross(x.arm[i], x.f[i], y)
            for j in range(3):
                M[j] += y[j]
                total[j] += x.f[i, j]
            last -= 1
        if k >= 0 and a.station[k] == e:
            cross(x.t[k], total, y)
            for j in range(3):
                M[j] += a.w[k] * y[j]
            rotate_back(x.Rc[e], total, y)
            for c in range(a.begin[e - 1], a.end[e - 1]):
                if a.component[c] < 3:
                    Q[c] += a.w[k] * a.Phi[k, c] * y[a.component[c]]
            k -= 1
        rotate_back(x.Rc[e - 1], M, y)
        tangent_times(x.Omega[e - 1], x.c[e - 1], -1.0, y, m)
        for c in range(a.begin[e - 1], a.end[e - 1]):
            if a.component[c] >= 3:
                Q[c] += a.turn[e - 1, c] * m[a.component[c] - 3]


# --- Derivatives ---------------------------------------------------------------------------------

@inner
def add_chord_columns(a, effort, x, gradient, H, room):
    """
    Add gradients of lengths to `gradient` (A, n), and the derivative of the force to H (n, n).

    x is that of `stretch_chords`. Rows of the gradient are those of the rod's actuators.
    """
    n, K, M = H.shape[0], a.at.size, a.turn.shape[0]
    psi, dP, half = empty(room, (M + 1, 3, n)), zeros(room, (K, 3, n)), zeros(room, (n, n))
    _turn_columns(a, x, psi)
    _place_columns(a, x, psi, dP, room)
    across, c = empty(room, (3, n)), vector(3)
    for i in range(1, K):
        if a.tendon[i] == a.tendon[i - 1]:
            size = _chord(x.P[i - 1], x.P[i], c)
            _add_chord(dP[i - 1], dP[i], c, effort[a.tendon[i]] / size, across,
                       gradient[a.tendon[i]], half)
    _add_turns(a, x, psi, half, across)
    for b in range(n):
        for j in range(n):
            H[b, j] += half[b, j] + half[j, b]


@inner
def _turn_columns(a, x, psi):
    """Write the turns of all stations with each coordinate, (M + 1, 3, n)."""
    n, T, D, none = psi.shape[2], matrix(3, 3), matrix(3, 3), vector(3)
    none[0], none[1], none[2] = 0.0, 0.0, 0.0
    A = matrix(3, 3)
    for i in range(3):
        for c in range(n):
            psi[0, i, c] = 0.0
    for e in range(a.turn.shape[0]):
        R = x.Rc[e]
        tangent_and_slope(x.Omega[e], x.c[e], none, T, D)
        multiply(R, T, A)
        for i in range(3):
            for c in range(n):
                psi[e + 1, i, c] = psi[e, i, c]
        for c in range(a.begin[e], a.end[e]):
            j = a.component[c] - 3
            for i in range(3 if j >= 0 else 0):
                psi[e + 1, i, c] += a.turn[e, c] * A[i, j]


@inner
def _place_columns(a, x, psi, dP, room):
    """Add the variation of the holes to dP (K, 3, n)."""
    dp, k = zeros(room, (3, psi.shape[2])), 0
    for place in range(a.order.size):
        i = a.order[place]
        while k < a.w.size and a.station[k] < a.at[i]:
            _add_node(a, k, x.Rc[a.station[k]], x.t[k], psi[a.station[k]], dp)
            k += 1
        add(dp, dP[i], 1.0)
        add_cross(x.arm[i], psi[a.at[i]], dP[i], -1.0)


@inner
def _add_node(a, k, R, t, psi, dp):
    """Add the variation of w t at node k to dp (3, n)."""
    y = vector(3)
    for i in range(3):
        y[i] = a.w[k] * t[i]
    add_cross(y, psi, dp, -1.0)
    for c in range(a.begin[a.station[k] - 1], a.end[a.station[k] - 1]):
        j, weight = a.component[c], a.w[k] * a.Phi[k, c]
        if j < 3 and weight != 0.0:
            for i in range(3):
                dp[i, c] += weight * R[i, j]


@inner
def _add_chord(dstart, dend, c, pull, across, gradient, half):
    """Add the gradient of one chord along c, and half its curvature times `pull`."""
    n = gradient.size
    for b in range(n):
        along = 0.0
        for i in range(3):
            across[i, b] = dend[i, b] - dstart[i, b]
            along += c[i] * across[i, b]
        gradient[b] += along
        for i in range(3):
            across[i, b] -= along * c[i]
    for b in range(n if pull != 0.0 else 0):
        x, y, z = pull * across[0, b], pull * across[1, b], pull * across[2, b]
        for j in range(b):  # each pair once
            half[b, j] += x * across[0, j] + y * across[1, j] + z * across[2, j]
        half[b, b] += 0.5 * (x * across[0, b] + y * across[1, b] + z * across[2, b])


@inner
def _add_turns(a, x, psi, half, V):
    """Add half of sum f . d2P to `half` (n, n): each pair of variations once, in either order."""
    S, total, y = matrix(3, 3), vector(3), vector(3)  # total: f of all holes beyond
    for i in range(3):
        total[i] = 0.0
        for j in range(3):
            S[i, j] = 0.0
    last, k = a.order.size - 1, a.w.size - 1
    for e in range(a.turn.shape[0], 0, -1):  # stations, down from the tip
        while last >= 0 and a.at[a.order[last]] == e:
            i = a.order[last]
            for j in range(3):
                total[j] += x.f[i, j]
            _add_arm(x.f[i], x.arm[i], S)
            last -= 1
        if k >= 0 and a.station[k] == e:
            for j in range(3):
                y[j] = a.w[k] * x.t[k, j]
            _add_arm(total, y, S)
            _add_stretch(a, k, x.Rc[e], total, psi[e], half)
            k -= 1
        _add_exponential(a, e - 1, x, S, psi[e - 1], V, half)


@inner
def _add_arm(f, y, S):
    """Add f y^T - f . y I to S (3, 3)."""
    along = f[0] * y[0] + f[1] * y[1] + f[2] * y[2]
    for i in range(3):
        S[i, i] -= along
        for j in range(3):
            S[i, j] += f[i] * y[j]


@inner
def _add_stretch(a, k, R, f, psi, half):
    """Add what turns before node k do to its own strains v: f . (psi x w R dv)."""
    z = vector(3)
    for b in range(a.begin[a.station[k] - 1], a.end[a.station[k] - 1]):
        j, weight = a.component[b], a.w[k] * a.Phi[k, b]
        if j < 3 and weight != 0.0:
            cross(R[:, j], f, z)
            for c in range(half.shape[1]):
                half[b, c] += weight * (z[0] * psi[0, c] + z[1] * psi[1, c] + z[2] * psi[2, c])


@inner
def _add_exponential(a, e, x, S, psi, V, half):
    """Add pairs of exponential e with turns before it, psi (3, n), and with itself; V is room."""
    n, across, own = half.shape[0], matrix(3, 3), matrix(3, 3)
    _exponential_slopes(x.Rc[e], x.Omega[e], x.c[e], S, across, own)
    for i in range(3):
        for c in range(n):
            V[i, c] = (across[i, 0] * psi[0, c] + across[i, 1] * psi[1, c]
                       + across[i, 2] * psi[2, c])
        for c in range(a.begin[e], a.end[e]):
            if a.component[c] >= 3:
                V[i, c] += 0.5 * a.turn[e, c] * own[i, a.component[c] - 3]
    for b in range(a.begin[e], a.end[e]):
        i, weight = a.component[b] - 3, a.turn[e, b]
        if i >= 0 and weight != 0.0:
            for c in range(n):
                half[b, c] += weight * V[i, c]


@inner
def _exponential_slopes(R, o, coefficients, S, across, own):
    """Write (R T)^T S, and the second derivative with the exponent o itself; (3, 3) each."""
    T, D, B = matrix(3, 3), matrix(3, 3), matrix(3, 3)
    M, m, minus = vector(3), vector(3), vector(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        M[i], minus[i] = S[k, j] - S[j, k], -o[i]
    rotate_back(R, M, m)
    tangent_and_slope(minus, coefficients, m, T, D)  # T(-o) = T(o)^T, and D = d(T(-o) m)/d(-o)
    for i in range(3):
        for j in range(3):
            B[i, j] = R[i, 0] * T[j, 0] + R[i, 1] * T[j, 1] + R[i, 2] * T[j, 2]
    for i in range(3):
        for j in range(3):
            across[i, j] = B[0, i] * S[0, j] + B[1, i] * S[1, j] + B[2, i] * S[2, j]
    for i in range(3):
        for j in range(3):
            own[i, j] = (across[j, 0] * B[0, i] + across[j, 1] * B[1, i] + across[j, 2] * B[2, i]
                         - D[i, j])


# --- For other kernels, by address ---------------------------------------------------------------

@unowned
@remote
def pull_chords(a, q, effort, length, Q, room):
    """Write the lengths of tendons by their numbers, and add their force to Q (n,)."""
    x = state_of_chords(a, room)
    stretch_chords(a, q, effort, length, x)
    add_chord_force(a, x, Q)


@unowned
@remote
def couple_chords(a, q, effort, length, gradient, H, room):
    """Do the same, and add gradients to `gradient` (A, n), and the slope of the force to H."""
    x = state_of_chords(a, room)
    stretch_chords(a, q, effort, length, x)
    add_chord_columns(a, effort, x, gradient, H, room)


@kernel
def measure_chords(address, a, q, effort, length, gradient, H, room):
    """Do what `couple_chords` at an address does, for calls from Python."""
    room.used[0] = 0
    run(couple_chords, address, (a, q, effort, length, gradient, H, room))


class ChordLengths:
    """The lengths of a rod's tendons that are straight in space, as functions of its shape."""

    _measure = Direct(measure_chords)
    _address: int | None = None

    def __init__(self, chords: Chords) -> None:
        self.chords = reference(chords)
        self._room: Arena = reference(arena(chord_size(chords) + 64))
        self.tendons = np.unique(chords.tendon)  # their numbers among the rod's actuators
        self._actuators = int(self.tendons[-1]) + 1

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lengths (A,) [m] and gradients (A, n); 0 of actuators without chords."""
        length, gradient, _ = self._measured(q, np.zeros(self._actuators))
        return length, gradient

    def of(self, tendon: int, q: np.ndarray) -> Functional:
        """Return length, gradient and Hessian of one tendon."""
        length, gradient, H = self._measured(q, np.eye(self._actuators)[tendon])
        return Functional(float(length[tendon]), gradient[tendon], H)

    def _measured(
        self, q: np.ndarray, effort: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = q.size
        length, gradient = np.zeros(self._actuators), np.zeros((self._actuators, n))
        H = np.zeros((n, n))
        arguments = (self.chords, np.ascontiguousarray(q, dtype=float), effort, length, gradient,
                     H, self._room)
        if ChordLengths._address is None:
            ChordLengths._address = address(couple_chords, *arguments)
        self._measure(ChordLengths._address, *arguments)
        return length, gradient, H
