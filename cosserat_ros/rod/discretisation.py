r"""
Strain modes: a rod's shape as a few numbers, and the kinematics that follow from them.

The strain is expanded in modes (Boyer 2020, eq. 23), ``xi(s) = xi*(s) + Phi(s) q``, separately on
each element of the rod, so that it may jump where section, load or routing jump. Everything else
is an integral of strain, done on Gauss points (*nodes*) of each element:

- Rotations by a chain of exponentials, ``R_e = R_{e-1} exp(Omega_e)``, two between neighbouring
  nodes, with ``Omega_e`` linear in q: a commutator-free Magnus method of order 4, exact where the
  axis of bending is constant. (Order 4 in the distance of nodes, which is refined by `substeps`.)
- Positions by spectral integration of ``t = R v``: ``p_k = p_0 + sum_j W_kj t_j``.

Both are explicit functions of q, so that their variations, velocities and accelerations are exact
derivatives of the discrete kinematics, and loads by its discrete adjoint are work-conjugate.

=========  =================================================================
Symbol     Meaning (see also `cosserat_ros.numerics.lie`)
=========  =================================================================
q          generalised coordinates: amplitudes of the strain modes, (n,)
N, E       nodes of all elements, in order of s; elements
M          exponentials of the chain
c          index of a mode: one component of strain, on one element
=========  =================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
import mmap
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from ..checks.errors import InvalidModel
from ..description.modes import FAMILIES, StrainModes
from ..description.rod import Rod

LARGE = 1_000_000  # entries of matrices that are mostly zeros


class Discretisation(NamedTuple):
    """
    A rod and its modes as plain arrays, for kernels.

    Nodes are in order of s, `m` of them on each element; the end of element i is station
    ``end_station[i]`` of the chain, node k is station ``station[k]``: so many exponentials come
    before it.
    """

    s: np.ndarray            # (N,) arc length of the nodes [m]
    w: np.ndarray            # (N,) quadrature weights [m]
    W: np.ndarray            # (E, m, m) integration from an element's start to its nodes [m]
    stiffness: np.ndarray    # (N, 6) diagonal of (Kse, Kbt)
    damping: np.ndarray      # (N, 6) diagonal of (Bse, Bbt)
    inertia: np.ndarray      # (N, 6) per length
    rest_strain: np.ndarray  # (N, 6)
    component: np.ndarray    # (n,) int64, component of strain of each mode
    Phi: np.ndarray          # (N, n) value of each mode at each node
    rest_turn: np.ndarray    # (M, 3) Omega of the rest strain [rad]
    turn: np.ndarray         # (M, n) Omega of each mode, along the axis of its component
    reach: np.ndarray        # (n, 4) int64, where a mode is not 0: first node, past its last; M
    station: np.ndarray      # (N,) int64, exponentials before each node
    end_station: np.ndarray  # (E,) int64, exponentials before the end of each element
    breaks: np.ndarray       # (E + 1,) arc length of the elements' ends [m]
    elastic: np.ndarray      # (n, n) generalised stiffness, constant
    viscous: np.ndarray      # (n, n) generalised damping, constant


class Element(NamedTuple):
    """An element as plain arrays, for kernels; m nodes, n modes, M exponentials."""

    w: np.ndarray            # (m,) quadrature weights [m]
    W: np.ndarray            # (m, m) integration from the start to the nodes [m]
    inertia: np.ndarray      # (m, 6) per length
    rest_strain: np.ndarray  # (m, 6)
    Phi: np.ndarray          # (m, n) value of each mode at each node
    rest_turn: np.ndarray    # (M, 3) exponents of the rest strain [rad]
    turn: np.ndarray         # (M, n) exponents of each mode, along the axis of its component
    elastic: np.ndarray      # (n, n) generalised stiffness
    viscous: np.ndarray      # (n, n) generalised damping
    component: np.ndarray    # (n,) int64, component of strain of each mode


def discretise_elements(
    rod: Rod, modes: StrainModes, breaks: Sequence[float] = (),
) -> list[Element]:
    """
    Divide a rod into elements and evaluate all that does not depend on its state.

    Parameters
    ----------
    rod : Rod
    modes : StrainModes
    breaks : sequence of float
        Further arc lengths where strain may jump: point loads, ends of tendons [m].

    """
    ends, x, weights = _divided(rod, modes, breaks)
    integral = _integration_matrix(x)
    component = np.repeat(np.arange(6), modes.counts)
    degree = np.concatenate([np.arange(count) for count in modes.counts])
    Phi = np.ascontiguousarray(_values(modes.family, x, degree))
    knots = np.concatenate([[-1.0], x, [1.0]])
    half = 0.5 * np.diff(ends)[:, None]
    s = (0.5 * (ends[1:] + ends[:-1])[:, None] + half * x).ravel()
    stiffness, damping, inertia, rest_strain = (
        values.reshape(len(half), -1, 6)
        for values in (rod.stiffness(s), rod.damping(s), rod.inertia(s), rod.rest_strain(s)))
    elements = []
    for e in range(len(half)):
        w = half[e] * weights
        chain = _chain(rod, modes, ends[e], ends[e + 1], knots, component, degree)
        elements.append(Element(
            w, half[e] * integral, inertia[e], rest_strain[e], Phi, chain.rest_turn, chain.turn,
            gram(Phi, component, w, stiffness[e]), gram(Phi, component, w, damping[e]),
            component))
    return elements


def discretise(rod: Rod, modes: StrainModes, breaks: Sequence[float] = ()) -> Discretisation:
    """Return the elements of a rod as one, with dense matrices; see `discretise_elements`."""
    ends, x, _ = _divided(rod, modes, breaks)
    elements = discretise_elements(rod, modes, breaks)
    E, m, steps = len(elements), len(x), len(elements[0].turn)
    s = (0.5 * (ends[1:] + ends[:-1])[:, None] + 0.5 * np.diff(ends)[:, None] * x).ravel()
    first = steps * np.arange(E)

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(element, name) for element in elements])

    def diagonal(name: str) -> np.ndarray:
        rows, columns = getattr(elements[0], name).shape
        full = _blank(E * rows, E * columns)
        for e, element in enumerate(elements):
            full[e * rows:(e + 1) * rows, e * columns:(e + 1) * columns] = getattr(element, name)
        return full

    arrays = Discretisation(
        s=s, w=joined('w'), W=np.array([element.W for element in elements]),
        stiffness=rod.stiffness(s), damping=rod.damping(s), inertia=joined('inertia'),
        rest_strain=joined('rest_strain'), component=joined('component'), Phi=diagonal('Phi'),
        rest_turn=joined('rest_turn'), turn=diagonal('turn'),
        reach=np.repeat(_reach(np.arange(E), E, m, steps), sum(modes.counts), axis=0),
        station=(first[:, None] + 2 * modes.substeps * np.arange(1, m + 1)).ravel(),
        end_station=first + steps, breaks=ends, elastic=diagonal('elastic'),
        viscous=diagonal('viscous'))
    # One layout for all rods: kernels are compiled once, and their products are fast.
    return Discretisation(*map(np.ascontiguousarray, arrays))


def _blank(rows: int, columns: int) -> np.ndarray:
    """Return a matrix of zeros that takes memory only where it is written to."""
    if rows * columns < LARGE:
        return np.zeros((rows, columns))
    memory = mmap.mmap(-1, 8 * rows * columns)
    if hasattr(mmap, 'MADV_NOHUGEPAGE'):  # pages of 2 MB would be mostly zeros
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory).reshape(rows, columns)


def split(d: Discretisation) -> list[Element]:
    """Return the elements that a rod was made of, see `discretise`."""
    E, N, (M, n) = len(d.W), d.s.size, d.turn.shape

    def part(e: int, count: int) -> slice:
        return slice(e * count // E, (e + 1) * count // E)

    elements = []
    for e in range(E):
        nodes, modes, steps = part(e, N), part(e, n), part(e, M)
        elements.append(Element(*map(np.ascontiguousarray, (
            d.w[nodes], d.W[e], d.inertia[nodes], d.rest_strain[nodes], d.Phi[nodes, modes],
            d.rest_turn[steps], d.turn[steps, modes], d.elastic[modes, modes],
            d.viscous[modes, modes], d.component[modes]))))
    return elements


def _divided(
    rod: Rod, modes: StrainModes, breaks: Sequence[float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the elements' ends (E + 1,) [m], and nodes and weights (m,) within [-1, 1]."""
    return (element_ends(rod, modes.elements, breaks),
            *_gauss_points(modes.nodes_per_element))


_gauss_points = cache(legendre.leggauss)


def resample(
    rod: Rod, modes: StrainModes, d: Discretisation, ends: np.ndarray, nodes: int,
) -> Discretisation:
    """
    Return the same rod, with the same q, by other elements: for kinematics alone.

    It has neither stiffness nor mass.

    Parameters
    ----------
    rod, modes
        Of which d was made.
    d : Discretisation
    ends : (E + 1,) array
        Arc lengths from 0 on, increasing; those of d are added [m].
    nodes : int
        Gauss points of each of these elements.

    """
    inside = d.breaks[d.breaks < ends[-1]]
    ends = np.unique(np.concatenate([ends, inside]))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-9 * rod.length])]
    degree = np.concatenate([np.arange(count) for count in modes.counts])
    n, E = len(degree), len(ends) - 1
    component = d.component[:n]
    x, weights = legendre.leggauss(nodes)
    half = 0.5 * np.diff(ends)
    s = (0.5 * (ends[1:] + ends[:-1])[:, None] + half[:, None] * x).ravel()
    within = np.clip(np.searchsorted(d.breaks, s[::nodes]) - 1, 0, len(d.breaks) - 2)
    Phi, turn, rest_turn = np.zeros((E * nodes, d.component.size)), [], []
    for i, at in enumerate(within):
        start, end = d.breaks[at], d.breaks[at + 1]
        here = slice(i * nodes, (i + 1) * nodes)
        knots = (2.0 * np.array([ends[i], *s[here], ends[i + 1]]) - start - end) / (end - start)
        chain = _chain(rod, modes, start, end, knots, component, degree)
        columns = slice(at * n, (at + 1) * n)
        Phi[here, columns] = _values(modes.family, knots[1:-1], degree)
        turn.append(np.zeros((len(chain.turn), d.component.size)))
        turn[-1][:, columns] = chain.turn
        rest_turn.append(chain.rest_turn)
    first = len(turn[0]) * np.arange(E)
    none = np.zeros((E * nodes, 6))
    arrays = Discretisation(
        s=s, w=(half[:, None] * weights).ravel(),
        W=half[:, None, None] * _integration_matrix(x), stiffness=none, damping=none,
        inertia=none, rest_strain=rod.rest_strain(s), component=d.component, Phi=Phi,
        rest_turn=np.concatenate(rest_turn), turn=np.concatenate(turn),
        reach=np.repeat(_reach(within, len(d.breaks) - 1, nodes, len(turn[0])), n, axis=0),
        station=(first[:, None] + 2 * modes.substeps * np.arange(1, nodes + 1)).ravel(),
        end_station=first + len(turn[0]), breaks=ends,
        elastic=np.zeros_like(d.elastic), viscous=np.zeros_like(d.viscous))
    return Discretisation(*map(np.ascontiguousarray, arrays))


def _reach(within: np.ndarray, count: int, nodes: int, steps: int) -> np.ndarray:
    """Return nodes and exponentials, from and to, of pieces `within` elements: (count, 4)."""
    ends = np.searchsorted(within, np.arange(count + 1))
    return np.stack([nodes * ends[:-1], nodes * ends[1:], steps * ends[:-1], steps * ends[1:]],
                    axis=1)


def as_stress(d: Discretisation, force: np.ndarray) -> np.ndarray:
    """Return a stress (N, 6) made of the modes that acts on them with a force (n,)."""
    amplitudes = np.linalg.solve(gram_along(d, np.ones(d.stiffness.shape)), force)
    stress = np.zeros(d.stiffness.shape)
    np.add.at(stress.T, d.component, (d.Phi * amplitudes).T)
    return stress


def gram(
    Phi: np.ndarray, component: np.ndarray, w: np.ndarray, law: np.ndarray,
) -> np.ndarray:
    """Return the integral of Phi^T law Phi, (n, n), for a diagonal law (N, 6)."""
    full = (w[:, None] * law[:, component] * Phi).T @ Phi
    return np.where(component[:, None] == component, full, 0.0)


def grams(d: Discretisation, law: np.ndarray) -> np.ndarray:
    """Return the same of each element of a rod, (E, b, b): modes of others are 0 on it."""
    E = len(d.W)
    m, b = d.s.size // E, d.component.size // E
    blocks = np.zeros((E, b, b))
    for e in range(E):
        nodes, modes = slice(e * m, (e + 1) * m), slice(e * b, (e + 1) * b)
        blocks[e] = gram(d.Phi[nodes, modes], d.component[modes], d.w[nodes], law[nodes])
    return blocks


def gram_along(d: Discretisation, law: np.ndarray) -> np.ndarray:
    """Return the same of a whole rod, (n, n)."""
    blocks = grams(d, law)
    E, b, _ = blocks.shape
    total = np.zeros((E, b, E, b))
    total[np.arange(E), :, np.arange(E)] = blocks
    return total.reshape(E * b, E * b)


def in_a_row(sizes: Iterable[int]) -> list[slice]:
    """Return where parts of these sizes are in an array that has them one after another."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(start, end) for start, end in zip(ends, ends[1:])]


def element_ends(rod: Rod, elements: int, breaks: Sequence[float]) -> np.ndarray:
    """Return the arc lengths between which strain is smooth, (E + 1,) [m]."""
    wanted = np.concatenate([
        np.linspace(a, b, elements + 1) for a, b in zip(rod.breaks[:-1], rod.breaks[1:])])
    further = np.asarray(breaks, dtype=float)
    outside = further[~((further >= 0.0) & (further <= rod.length))]
    if outside.size:
        raise InvalidModel('breaks', float(outside[0]), f'within [0, {rod.length:g}] [m]')
    ends = np.unique(np.concatenate([wanted, further]))
    keep = np.concatenate([[True], np.diff(ends) > 1e-9 * rod.length])
    keep[-1] = True
    return ends[keep]


def _values(family: str, x: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Return the polynomials of the given degrees (n,) at x (k,) within [-1, 1]: (k, n)."""
    return FAMILIES[family](x, max(degree, default=0))[:, degree]


def _integration_matrix(x: np.ndarray, ends: np.ndarray | None = None) -> np.ndarray:
    """
    Return W with ``sum_j W_kj f(x_j)`` = integral of f from -1 to the ends (k,), of degree m - 1.

    Without ends, to the nodes x themselves.
    """
    ends = x if ends is None else ends
    values = legendre.legvander(x, len(x) - 1)
    integrals = np.stack([
        legendre.legval(ends, legendre.legint(row, lbnd=-1.0)) for row in np.eye(len(x))], axis=1)
    return np.linalg.solve(values.T, integrals.T).T


def integration_to(element: Element, s: np.ndarray) -> np.ndarray:
    """Return the integration from an element's start to arc lengths s (k,) on it, (k, m) [m]."""
    half = 0.5 * float(element.w.sum())
    return half * _integration_matrix(_gauss_points(element.w.size)[0], s / half - 1.0)


def integration_polynomials(element: Element) -> np.ndarray:
    """
    Return `integration_to` as polynomials, (m + 1, m): by powers of x within [-1, 1].

    At the arc length ``s = (1 + x) L / 2`` of an element of length L.
    """
    m, half = element.w.size, 0.5 * float(element.w.sum())
    x = np.cos(np.pi * np.arange(m + 1) / m)
    return np.linalg.solve(np.vander(x, increasing=True), integration_to(element, half + half * x))


class _Chain(NamedTuple):
    rest_turn: np.ndarray  # (steps, 3)
    turn: np.ndarray       # (steps, n)


def _chain(
    rod: Rod, modes: StrainModes, start: float, end: float, knots: np.ndarray,
    component: np.ndarray, degree: np.ndarray,
) -> _Chain:
    """
    Return the exponents of the chain of rotations along one element, linear in q.

    From knot to knot, within [-1, 1] of the element.

    On a step of length h about its middle, ``B_0 = int u ds`` and ``B_1 = int (s - s_mid) / h u
    ds``; then ``exp(B_0 / 2 - 2 B_1) exp(B_0 / 2 + 2 B_1)`` is the rotation to order 4 (Blanes
    and Moan 2006, method CF4; its order of factors turned because ``R_s = R hat(u)``).
    """
    fine = np.interp(
        np.arange((len(knots) - 1) * modes.substeps + 1) / modes.substeps,
        np.arange(len(knots)), knots)
    y, weights = _gauss_points(modes.nodes_per_element)
    scale = 0.5 * (end - start)
    half = 0.5 * np.diff(fine)[:, None]
    points = (0.5 * (fine[1:] + fine[:-1])[:, None] + half * y).ravel()
    u_star = rod.rest_strain(0.5 * (start + end) + scale * points)[:, 3:]
    Phi = np.where(component >= 3, _values(modes.family, points, degree), 0.0)
    factor = half[:, :, None] * scale * weights * (
        0.5 + np.array([[-1.0], [1.0]]) * y)  # 2 (s - s_mid) / h = y; (steps, 2, points)

    def exponents(u: np.ndarray) -> np.ndarray:
        return np.matmul(factor, u.reshape(len(half), len(y), -1)).reshape(2 * len(half), -1)

    return _Chain(exponents(u_star), exponents(Phi))
