r"""
Actuators: functionals of a rod's shape, and the efforts conjugate to them.

A tendon has a length and pulls with its tension, a chamber has a volume and pushes with its
pressure. Both follow a path ``p + R r(s)`` beside the backbone, whose tangent in the body frame is
``c = v + u x r + r_s`` (Till 2019, section 5.2):

    tendon    l = int |c| ds             effort: tension tau >= 0, virtual work -tau dl
    chamber   l = int A e_3 . c ds       effort: pressure P,       virtual work +P dl

The chamber's volume is what its cross-sections sweep; its gradient is exactly the pressure force
of Till's eq. 18 (``P A e_3`` at each section, with lever r). His own integral, of ``A |c|``, is
not conjugate to that force where the path is not normal to the sections, and would make work from
nothing in a cycle.

Both are sums over the nodes of densities of the local strain: what an actuator does to the rod is
an internal stress ``S = sum lambda dl/dxi``, and `lambda` is counted positive where it shortens l
(tension, or minus the pressure).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import matrix, vector
from ..numerics.kernels import inner, kernel
from ..numerics.rotations import cross

EFFORT, LENGTH, GAS = 0, 1, 2  # kinds of closure


class Paths(NamedTuple):
    """The paths of m actuators along a rod, for kernels."""

    r: np.ndarray       # (m, N, 3) from the backbone, body frame [m]
    r_s: np.ndarray     # (m, N, 3) its derivative along s [-]
    weight: np.ndarray  # (m, N) quadrature weight, times the area of a chamber; 0 beyond its end
    flat: np.ndarray    # (m,) bool, True for chambers: their density is e_3 . c


class Drives(NamedTuple):
    """
    What m actuators are told, and the rule that closes each: one equation for its effort.

    ======  ============================  =====================================================
    kind    command                       rule, with lambda the effort and l the length or volume
    ======  ============================  =====================================================
    EFFORT  lambda                        lambda = command
    LENGTH  l without effort [m, m^3]     l = command + compliance lambda; a tendon (`pulls`) has
                                          lambda >= 0, and is slack where it is longer than l
    GAS     n R T [J]                     (P + ambient) (l + dead) = command, P = -lambda
    ======  ============================  =====================================================
    """

    kind: np.ndarray        # (m,) int64
    command: np.ndarray     # (m,)
    compliance: np.ndarray  # (m,) [m/N, m^3/Pa]
    pulls: np.ndarray       # (m,) bool: can only pull
    ambient: np.ndarray     # (m,) pressure outside [Pa]
    dead: np.ndarray        # (m,) volume of the supply line [m^3]
    scale: np.ndarray       # (m,) size of an effort over a length: any number near its stiffness


def no_paths(nodes: int) -> Paths:
    """Return the paths of a rod of so many nodes that has no actuators."""
    return Paths(np.zeros((0, nodes, 3)), np.zeros((0, nodes, 3)), np.zeros((0, nodes)),
                 np.zeros(0, dtype=np.bool_))


def given_efforts(efforts: np.ndarray) -> Drives:
    """Return drives that hold these efforts (m,)."""
    command = np.array(efforts, dtype=float, ndmin=1)
    m = command.size
    return Drives(
        np.full(m, EFFORT), command, np.zeros(m),
        np.zeros(m, dtype=np.bool_), np.zeros(m), np.zeros(m), np.ones(m))


def path_lengths(a: Paths, xi: np.ndarray) -> np.ndarray:
    """Return the weighted lengths of tendons at nodes of strain xi (N, 6), (m, N) [m]."""
    c = xi[:, :3] + np.cross(xi[:, 3:], a.r) + a.r_s
    return a.weight * np.linalg.norm(c, axis=2)


@inner
def closure(a, i, length, effort):
    """Return what is zero where the rule of drive i holds, and its slopes with l and lambda."""
    if a.kind[i] == LENGTH:
        gap = length - a.command[i] - a.compliance[i] * effort
        if a.pulls[i] and effort + a.scale[i] * gap < 0.0:  # slack
            return effort, 0.0, 1.0
        return -a.scale[i] * gap, -a.scale[i], a.scale[i] * a.compliance[i]
    if a.kind[i] == GAS:
        volume, pressure = length + a.dead[i], a.ambient[i] - effort
        return (pressure - a.command[i] / volume,
                a.command[i] / volume ** 2, -1.0)
    return effort - a.command[i], 0.0, 1.0


@inner
def path_tangent(a, i, k, xi, c):
    """Write c = v + u x r + r_s of actuator i at node k; return its length."""
    cross(xi[3:], a.r[i, k], c)
    square = 0.0
    for j in range(3):
        c[j] += xi[j] + a.r_s[i, k, j]
        square += c[j] * c[j]
    return np.sqrt(square)


@kernel
def lengths_and_gradients(a, xi):
    """
    Return lengths or volumes (m,), and their weighted densities' gradients (m, N, 6).

    Parameters
    ----------
    a : Paths
    xi : (N, 6) float64
        Strain at the nodes.

    """
    m, N = a.weight.shape
    length, gradient = np.zeros((m,)), np.zeros((m, N, 6))
    c = vector(3)
    for i in range(m):
        for k in range(N):
            weight = a.weight[i, k]
            if weight == 0.0:
                continue
            size = path_tangent(a, i, k, xi[k], c)
            if a.flat[i]:
                size = c[2]
                c[0], c[1], c[2] = 0.0, 0.0, 1.0
            else:
                for j in range(3):
                    c[j] /= size
            length[i] += weight * size
            cross(a.r[i, k], c, gradient[i, k, 3:])
            for j in range(3):
                gradient[i, k, j] = weight * c[j]
                gradient[i, k, 3 + j] *= weight
    return length, gradient


@inner
def add_curvature(a, effort, xi, H):
    """
    Add the second derivative of ``sum effort l`` with the strain at each node to H (N, 6, 6).

    Efforts (m, N) are those at the nodes.

    With c^ = c / |c|: ``d(c^) = (1 - c^ c^T) / |c| (dv + du x r)``; volumes are linear in strain.
    """
    c, row = vector(3), matrix(3, 6)
    for i in range(a.weight.shape[0]):
        if a.flat[i]:
            continue
        for k in range(xi.shape[0]):
            weight = a.weight[i, k] * effort[i, k]
            if weight == 0.0:
                continue
            size = path_tangent(a, i, k, xi[k], c)
            r = a.r[i, k]
            for j in range(3):
                for b in range(3):
                    row[j, b] = -c[j] * c[b] / size ** 2
                row[j, j] += 1.0
            for j in range(3):  # columns of du: row (e_b x r)
                cross(r, row[j, :3], row[j, 3:])
            for b in range(6):
                y0, y1, y2 = row[0, b], row[1, b], row[2, b]
                scale = weight / size
                H[k, 0, b] += scale * y0
                H[k, 1, b] += scale * y1
                H[k, 2, b] += scale * y2
                H[k, 3, b] += scale * (r[1] * y2 - r[2] * y1)
                H[k, 4, b] += scale * (r[2] * y0 - r[0] * y2)
                H[k, 5, b] += scale * (r[0] * y1 - r[1] * y0)
