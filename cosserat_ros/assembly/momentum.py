"""
Energy and momenta of an assembly, at the state of the last sweep; momenta of what floats.

Time schemes act on coordinates, of which momentum is no linear function: they keep it to their
order only. What nothing holds is therefore given, after each step, the rigid velocity at which
its momenta are what the loads have made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..numerics.arena import vector
from ..numerics.kernels import inner, kernel
from ..numerics.lie import exp_so3, log_so3
from ..numerics.rotations import cross, rotate
from .element import spin
from .joint import FREELY
from .tree import ELEMENT, element_at, JOINT, state_at, Tree, Work

# --- Sums over all masses ------------------------------------------------------------------------


class Sums(NamedTuple):
    """Over sections of rods and rigid bodies; momenta about the origin, world frame."""

    energy: np.ndarray    # (2,) kinetic, and potential of the weight [J]
    momentum: np.ndarray  # (6,) linear and angular [N s, N m s]
    rate: np.ndarray      # (6,) what accelerations make of it [N, N m]
    locked: np.ndarray    # (6, 6) its change with velocity and spin of a frame, as if rigid


def no_sums() -> Sums:
    """Return room for sums."""
    return Sums(np.zeros(2), np.zeros(6), np.zeros(6), np.zeros((6, 6)))


@inner
def _add_mass(m, J, R, p, p_t, p_tt, Om, Om_t, gravity, about, out):
    """Add a body with its centre at p, whose principal axes are the columns of R."""
    y, z, arm = vector(3), vector(3), vector(3)
    # Spin: R J R^T Om, and its rate.
    for i in range(3):
        y[i] = J[i] * (R[0, i] * Om[0] + R[1, i] * Om[1] + R[2, i] * Om[2])
    rotate(R, y, z)
    for i in range(3):
        out.energy[0] += 0.5 * (m * p_t[i] * p_t[i] + z[i] * Om[i])
        out.energy[1] -= m * p[i] * gravity[i]
        out.momentum[i] += m * p_t[i]
        out.momentum[3 + i] += z[i]
        out.rate[i] += m * p_tt[i]
        arm[i] = p[i] - about[i]
    cross(p, p_t, y)
    for i in range(3):
        out.momentum[3 + i] += m * y[i]
    spin(R, Om, Om_t, J, z)
    cross(p, p_tt, y)
    for i in range(3):
        out.rate[3 + i] += z[i] + m * y[i]
    # m [1, -arm^; p^, -p^ arm^] + [0, 0; 0, R J R^T]
    dot = p[0] * arm[0] + p[1] * arm[1] + p[2] * arm[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out.locked[i, i] += m
        out.locked[j, 3 + k] += m * arm[i]
        out.locked[k, 3 + j] -= m * arm[i]
        out.locked[3 + j, k] -= m * p[i]
        out.locked[3 + k, j] += m * p[i]
        out.locked[3 + i, 3 + i] += m * dot
        for c in range(3):
            out.locked[3 + i, 3 + c] += (
                R[i, 0] * J[0] * R[c, 0] + R[i, 1] * J[1] * R[c, 1] + R[i, 2] * J[2] * R[c, 2]
                - m * arm[i] * p[c])


@inner
def _add_body(tree, work, link, about, out):
    """Add the rigid body at the end of a link."""
    b, end = tree.bodies, work.end
    arm, u, a = vector(3), vector(3), vector(3)
    p, J, axes = vector(3), b.inertia[link], np.empty((3, 3))
    R, Om, Om_t = end.R[link], end.Om[link], end.Om_t[link]
    for i in range(3):
        for j in range(3):
            axes[i, j] = (R[i, 0] * b.axes[link, 0, j] + R[i, 1] * b.axes[link, 1, j]
                          + R[i, 2] * b.axes[link, 2, j])
    rotate(R, b.offset[link], arm)
    cross(Om, arm, u)
    cross(Om, u, a)
    for i in range(3):
        p[i] = end.p[link, i] + arm[i]
        a[i] += end.p_tt[link, i]
    cross(Om_t, arm, arm)
    for i in range(3):
        a[i] += arm[i]
        u[i] += end.p_t[link, i]
    _add_mass(b.mass[link], J, axes, p, u, a, Om, Om_t, tree.gravity, about, out)


@kernel
def sum_masses(tree, work, member, about, out):
    """
    Write sums over all links that are members.

    Parameters
    ----------
    tree, work
        Of the assembly, after a sweep.
    member : (L,) bool
    about : (3,) float64
        Where the frame is whose velocity `Sums.locked` is for [m].
    out : Sums
        Overwritten.

    """
    J = vector(3)
    for i in range(6):
        out.momentum[i], out.rate[i] = 0.0, 0.0
        for j in range(6):
            out.locked[i, j] = 0.0
    out.energy[0], out.energy[1] = 0.0, 0.0
    for link in range(tree.links.kind.size):
        if not member[link]:
            continue
        if tree.bodies.mass[link] > 0.0:
            _add_body(tree, work, link, about, out)
        if tree.links.kind[link] != ELEMENT:
            continue
        item = tree.links.item[link]
        d, x = element_at(tree.elements, item), state_at(tree.elements, item, work.room)
        m = d.w.size
        stride = x.Omega.shape[0] // (m + 1)
        for k in range(m):
            e = stride * (k + 1)
            for i in range(3):
                J[i] = d.w[k] * d.inertia[k, 3 + i]
            _add_mass(d.w[k] * d.inertia[k, 0], J, x.Rc[e], x.p[k], x.p_t[k], x.p_tt[k],
                      x.Om[e], x.Om_t[e], tree.gravity, about, out)


# --- Energy --------------------------------------------------------------------------------------

class Energy(NamedTuple):
    """Of an assembly [J]."""

    kinetic: float
    gravity: float  # potential of the weight
    strain: float   # of elements
    springs: float  # of joints

    @property
    def potential(self) -> float:
        """Elastic and by gravity, without that of other loads [J]."""
        return self.gravity + self.strain + self.springs


def elastic_stiffness(tree: Tree) -> np.ndarray:
    """Return the second derivative of the elastic energy at rest, (Z, Z), without loads."""
    K = np.diag(tree.coordinates.stiffness)
    for here, stiffness in _stiffness_of_elements(tree):
        K[here, here] += stiffness
    return K


def _stiffness_of_elements(tree: Tree) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield for each element the places of its coordinates, and their stiffness (n, n)."""
    links = tree.links
    for link in np.flatnonzero(links.kind == ELEMENT).tolist():
        first, n = int(links.first[link]), int(links.freedom[link])
        at = int(tree.elements.first[links.item[link], 7])
        yield slice(first, first + n), tree.elements.data[at:at + n * n].reshape(n, n)


def elastic_energy(tree: Tree, z: np.ndarray) -> tuple[float, float]:
    """Return the energy of strains, and that of springs [J]; laws are not in it."""
    links = tree.links
    springs = sum(
        _spring_energy(tree, int(links.item[link]), z, int(links.first[link]),
                       int(links.freedom[link]))
        for link in np.flatnonzero((links.kind == JOINT) & (links.freedom > 0)).tolist())
    strains = sum(0.5 * z[here] @ K @ z[here] for here, K in _stiffness_of_elements(tree))
    return float(strains), springs


def _spring_energy(tree: Tree, j: int, z: np.ndarray, first: int, n: int) -> float:
    """Return the energy of the springs of joint j, whose coordinates begin at `first` [J]."""
    c, stretch = tree.coordinates, z[first:first + n].copy()
    if tree.joints.turns[j] == FREELY:
        s = int(tree.joints.slides[j])
        stretch[s:] = log_so3(exp_so3(stretch[s:]) @ tree.joints.reference[j])
    stretch -= c.rest[first:first + n]
    return float(0.5 * c.stiffness[first:first + n] @ stretch ** 2)


# --- What floats ---------------------------------------------------------------------------------

class Floating(NamedTuple):
    """Trees on free bodies, held together by closures, that no closure ties to a root."""

    bases: list[int]     # joints in space that carry them
    member: np.ndarray   # (L,) bool, their links


def floating(tree: Tree) -> list[Floating]:
    """Return all that floats in space."""
    links, closures = tree.links, tree.closures
    L, parent = links.kind.size, links.parent
    top = np.zeros(L, dtype=np.int64)  # the link that carries the branch; 0 if nothing moves it
    for link in range(1, L):
        if not links.fixed[link]:
            top[link] = link if links.fixed[parent[link]] else top[parent[link]]
    group = np.arange(L)
    for link in set(top.tolist()) - {0}:
        if not _is_free_in_space(tree, link):
            group[link] = 0
    for a, b in zip(top[closures.a], top[closures.b]):
        pair = group[a], group[b]
        group[np.isin(group, pair)] = min(pair)
    found = []
    for first in sorted(set(group[top[top > 0]].tolist()) - {0}):
        member = (top > 0) & (group[top] == first)
        found.append(Floating(sorted(set(top[member].tolist())), member))
    return found


def _is_free_in_space(tree: Tree, link: int) -> bool:
    """Return whether a link is a joint that leaves all six directions free, on the world."""
    links, joint = tree.links, int(tree.links.item[link])
    if links.kind[link] != JOINT or links.freedom[link] != 6 or (
            tree.joints.turns[joint] != FREELY):
        return False
    root = link
    while links.kind[root] == JOINT:
        root = int(links.parent[root])
    return root == 0


def is_loose(tree: Tree, group: Floating) -> bool:
    """Return whether no spring, drive, obstacle or fluid acts on what floats."""
    c, contacts = tree.coordinates, tree.contacts
    touching = contacts.bears | (np.diff(contacts.first) + np.diff(contacts.piece_first) > 0)
    if touching[group.member].any():
        return False
    if tree.flows.first.size or tree.flows.along.size:
        return False
    return not any(
        c.stiffness[at].any() or c.damping[at].any() or c.driven[at].any()
        for at in (slice(first, first + 6) for first in tree.links.first[group.bases].tolist()))


def push(tree: Tree, work: Work, group: Floating, twist: np.ndarray, z_t: np.ndarray) -> None:
    """Add a rigid velocity (6,), that of the first base, to the rates of what floats."""
    at = work.end.p[group.bases[0]]
    for link in group.bases:
        first, R = int(tree.links.first[link]), work.start.R[link]
        axes = tree.joints.axes[tree.links.item[link]]
        z_t[first:first + 3] += axes @ R.T @ (
            twist[:3] + np.cross(twist[3:], work.end.p[link] - at))
        z_t[first + 3:first + 6] += R.T @ twist[3:]
