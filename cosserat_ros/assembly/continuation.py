"""
What acts on an assembly as one thing, so that it can be led from an equilibrium to another one.

Loads, gravity, commands and the poses of roots are led; drag and carried bodies are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..laws.actuators import Drives, EFFORT, GAS, LENGTH
from ..numerics.lie import exp_so3, log_so3
from .tree import ELEMENT, ROOT, Tree, Work


class Inputs(NamedTuple):
    """What an assembly is told and what acts on it: all that continuation may lead."""

    loads: np.ndarray            # of elements, flat
    force: np.ndarray            # (L, 3) on links' ends
    moment: np.ndarray
    lever: np.ndarray
    follower_force: np.ndarray
    follower_moment: np.ndarray
    gravity: np.ndarray          # (3,)
    effort: np.ndarray           # (m,) commands of actuators
    push: np.ndarray             # (Z,) on joints' coordinates
    command: np.ndarray          # (Z,) of driven coordinates
    root_p: np.ndarray           # (L, 3) positions of roots [m]
    root_R: np.ndarray           # (L, 3, 3) their attitudes


def inputs(tree: Tree) -> Inputs:
    """Return what acts on an assembly; the arrays themselves."""
    b = tree.bodies
    return Inputs(
        tree.elements.loads, b.force, b.moment, b.lever, b.follower_force, b.follower_moment,
        tree.gravity, tree.drives.command, tree.coordinates.push, tree.coordinates.command,
        tree.roots.p, tree.roots.R)


def take(tree: Tree, given: Inputs) -> None:
    """Let inputs act."""
    for mine, value in zip(inputs(tree), given):
        mine[...] = value


def unloaded(given: Inputs) -> Inputs:
    """Return no loads; commands and roots are what they are."""
    return Inputs(*(np.zeros_like(a) for a in given))._replace(
        effort=given.effort, command=given.command, root_p=given.root_p, root_R=given.root_R)


def mixed(a: Inputs, b: Inputs, fraction: float) -> Inputs:
    """Return the inputs at a fraction of the way from a to b."""
    if fraction == 1.0:
        return b
    R = b.root_R.copy()
    for i in np.flatnonzero((a.root_R != b.root_R).any(axis=(1, 2))):
        R[i] = exp_so3(fraction * log_so3(b.root_R[i] @ a.root_R[i].T)) @ a.root_R[i]
    return Inputs(*((1.0 - fraction) * x + fraction * y for x, y in zip(a, b)))._replace(root_R=R)


def as_equilibrium(tree: Tree, work: Work, z: np.ndarray, given: Inputs) -> Inputs:
    """
    Return inputs with commands and roots at which z is an equilibrium, as of a sweep there.

    Commands of actuators, positions of driven coordinates, and roots on which there is nothing but
    what closes a loop: they are where the loop is closed.
    """
    command = np.where(tree.coordinates.driven, z, given.command)
    first = tree.effort
    efforts = z[first:first + work.length.size]
    root_p, root_R = given.root_p.copy(), given.root_R.copy()
    for root, a, b, rows in _holders(tree):
        R = work.end.R[root].T
        if rows == 6:
            root_R[root] = work.end.R[a] @ work.end.R[b].T @ work.end.R[root]
        arm = root_R[root] @ R @ (work.end.p[b] - work.end.p[root])
        root_p[root] = work.end.p[a] - arm
    return given._replace(
        effort=_commands(tree.drives, work.length, efforts), command=command, root_p=root_p,
        root_R=root_R)


def _commands(drives: Drives, length: np.ndarray, effort: np.ndarray) -> np.ndarray:
    """Return the commands at which these lengths and efforts are an equilibrium, (m,)."""
    return np.select(
        [drives.kind == EFFORT, drives.kind == LENGTH, drives.kind == GAS],
        [effort, length - drives.compliance * effort,
         (drives.ambient - effort) * (length + drives.dead)])


def _holders(tree: Tree) -> list[tuple[int, int, int, int]]:
    """Return roots that only hold something: root, other end, own end and rows of a closure."""
    links = tree.links
    root = np.arange(links.kind.size)
    for link in range(1, root.size):
        if links.kind[link] != ROOT:
            root[link] = root[links.parent[link]]
    bearing = {0, *root[(links.kind == ELEMENT) | (tree.bodies.mass > 0.0)].tolist()}
    found: dict[int, tuple[int, int, int, int]] = {}
    for a, b, rows in zip(*(v.tolist() for v in tree.closures[:3])):
        for own, other in ((b, a), (a, b)):
            if root[own] not in bearing:
                found.setdefault(int(root[own]), (int(root[own]), other, own, rows))
    return list(found.values())
