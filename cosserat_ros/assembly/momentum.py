"""Energy and momenta of an assembly, at the state of the last sweep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.lie import exp_so3, log_so3
from .joint import FREELY
from .tree import ELEMENT, Tree, Work


class _Masses(NamedTuple):
    """Sections of an element, weighted, or the body at the end of a link; k of them."""

    m: np.ndarray     # (k,) [kg]
    J: np.ndarray     # (k, 3) principal moments [kg m^2]
    axes: np.ndarray  # (k, 3, 3) their axes, as columns, world frame
    p: np.ndarray     # (k, 3) centre [m]
    p_t: np.ndarray   # (k, 3) [m/s]
    Om: np.ndarray    # (k, 3) [rad/s]


class Energy(NamedTuple):
    """Of an assembly [J]."""

    kinetic: float
    gravity: float  # potential of the weight
    strain: float   # of elements, and of what couples them
    springs: float  # of joints

    @property
    def potential(self) -> float:
        """Elastic and by gravity, without that of other loads [J]."""
        return self.gravity + self.strain + self.springs


def energy(tree: Tree, work: Work, z: np.ndarray) -> Energy:
    """Return the energies of an assembly."""
    kinetic = gravity = strain = springs = 0.0
    for a in _all_masses(tree, work):
        spin = np.einsum('kji,kj->ki', a.axes, a.Om)
        kinetic += 0.5 * a.m @ np.sum(a.p_t ** 2, axis=1) + 0.5 * np.sum(a.J * spin ** 2)
        gravity -= a.m @ a.p @ tree.gravity
    for link in range(tree.links.kind.size):
        first, n = int(tree.links.first[link]), int(tree.links.freedom[link])
        item = int(tree.links.item[link])
        if tree.links.kind[link] == ELEMENT:
            q = z[first:first + n]
            strain += 0.5 * q @ _part(tree, item, 7, n, n) @ q
        elif n:
            springs += _spring_energy(tree, item, z, first, n)
    k = tree.couplings
    for first, n, at in zip(k.first.tolist(), k.size.tolist(), k.at.tolist()):
        q = z[first:first + n]
        strain += 0.5 * q @ k.stiffness[at:at + n * n].reshape(n, n) @ q
    return Energy(float(kinetic), float(gravity), float(strain), float(springs))


def elastic_stiffness(tree: Tree) -> np.ndarray:
    """Return the second derivative of the elastic energy at rest, (Z, Z), without loads."""
    Z, k = tree.free.size, tree.couplings
    K = np.diag(tree.coordinates.stiffness)
    for link in np.flatnonzero(tree.links.kind == ELEMENT).tolist():
        first, n = int(tree.links.first[link]), int(tree.links.freedom[link])
        K[first:first + n, first:first + n] += _part(
            tree, int(tree.links.item[link]), 7, n, n)
    for first, n, at in zip(k.first.tolist(), k.size.tolist(), k.at.tolist()):
        K[first:first + n, first:first + n] += k.stiffness[at:at + n * n].reshape(n, n)
    return K.reshape(Z, Z)


def momentum(tree: Tree, work: Work) -> np.ndarray:
    """Return linear and angular momentum about the origin, (6,) [N s, N m s]."""
    total = np.zeros(6)
    for a in _all_masses(tree, work):
        spin = np.einsum('kij,kj->ki', a.axes, a.J * np.einsum('kji,kj->ki', a.axes, a.Om))
        total[:3] += a.m @ a.p_t
        total[3:] += np.sum(a.m[:, None] * np.cross(a.p, a.p_t) + spin, axis=0)
    return total


def _spring_energy(tree: Tree, j: int, z: np.ndarray, first: int, n: int) -> float:
    """Return the energy of the springs of joint j, whose coordinates begin at `first` [J]."""
    c, stretch = tree.coordinates, z[first:first + n].copy()
    if tree.joints.turns[j] == FREELY:
        s = int(tree.joints.slides[j])
        stretch[s:] = log_so3(exp_so3(stretch[s:]) @ tree.joints.reference[j])
    stretch -= c.rest[first:first + n]
    return float(0.5 * c.stiffness[first:first + n] @ stretch ** 2)


def _all_masses(tree: Tree, work: Work) -> list[_Masses]:
    heavy = np.flatnonzero(tree.bodies.mass > 0.0)
    b, end = tree.bodies, work.end
    arm = np.einsum('kij,kj->ki', end.R[heavy], b.offset[heavy])
    bodies = _Masses(
        b.mass[heavy], b.inertia[heavy], end.R[heavy] @ b.axes[heavy], end.p[heavy] + arm,
        end.p_t[heavy] + np.cross(end.Om[heavy], arm), end.Om[heavy])
    return [bodies, *(_sections(tree, work, c) for c in range(len(tree.elements.size)))]


def _sections(tree: Tree, work: Work, c: int) -> _Masses:
    e = tree.elements
    m, M = int(e.size[c, 0]), int(e.size[c, 2])
    x = _state_views(work.room.data, int(e.state[c]), m, M)
    nodes = (M // (m + 1)) * np.arange(1, m + 1)
    w, inertia = _part(tree, c, 0, m), _part(tree, c, 2, m, 6)
    return _Masses(w * inertia[:, 0], w[:, None] * inertia[:, 3:], x['Rc'][nodes], x['p'],
                   x['p_t'], x['Om'][nodes])


def _part(tree: Tree, c: int, k: int, *shape: int) -> np.ndarray:
    """Return array k of element c, see `Elements`."""
    first = int(tree.elements.first[c, k])
    return tree.elements.data[first:first + int(np.prod(shape))].reshape(shape)


def _state_views(room: np.ndarray, first: int, m: int, M: int) -> dict[str, np.ndarray]:
    """Return the arrays of an `ElementState` in an arena, without those of actuators."""
    shapes = {
        'Rc': (M + 1, 3, 3), 'Omega': (M, 3), 'Omega_t': (M, 3), 'Omega_tt': (M, 3), 'c': (M, 8),
        'Om': (M + 1, 3), 'Om_t': (M + 1, 3), 'step': (M, 3), 'step_t': (M, 3), 'xi': (m, 6),
        'xi_t': (m, 6), 'xi_tt': (m, 6), 't': (m, 3), 't_t': (m, 3), 't_tt': (m, 3),
        'p': (m, 3), 'p_t': (m, 3), 'p_tt': (m, 3)}
    views = {}
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        views[name] = room[first:first + size].reshape(shape)
        first += size
    return views
