"""The blocks of the tangent of an assembly, see :mod:`cosserat_ros.assembly.tangent`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.arena import view
from ..numerics.kernels import merged
from .tree import ELEMENT, ROOT


class Ties(NamedTuple):
    """What contacts between moving parts add, see `cosserat_ros.assembly.ties`."""

    used: np.ndarray     # (1,) int64, channels
    push: np.ndarray     # (c, Z) U: generalised force of each
    feel: np.ndarray     # (c, Z) V: change of its force with the unknowns
    place: np.ndarray    # (c, Z) change of its displacement
    place_t: np.ndarray  # (c, Z) and of the rate of that
    answer: np.ndarray   # (c, Z) X
    matrix: np.ndarray   # (c c,) 1 - V X, factorised
    force: np.ndarray    # (c,) h
    pivot: np.ndarray    # (c,) int64
    dy: np.ndarray       # (L, 18)


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
    chords: np.ndarray  # of chords along rods, (n + a, n + a) each
    couple: np.ndarray  # of all laws along rods, likewise
    bent_at: np.ndarray  # (C,) int64, where the bristles' part of an element's K begins
    bent: np.ndarray    # these parts, (n, n) each
    held: np.ndarray    # (Z,) bool: coordinates that were told, or at a limit
    regime: np.ndarray  # of laws, for which it was made, see `Work`
    touching: np.ndarray  # (C,) int64, likewise, of points of contact
    pairs: np.ndarray   # (1,) int64, how many touched then
    ties: Ties


class Blocks(NamedTuple):
    """The blocks of one link, own columns first; a start that cannot move has none."""

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
