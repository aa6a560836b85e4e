r"""
Contact forces between parts that both move: what they act on, and how they change with motion.

Such a force couples two places of the tree that are no neighbours. It is told by *channels*: a
channel is a number that the motion of one or two places changes (a relative displacement, or a
coordinate of a body), and at the same time the force along it. A block says how the forces of a
few channels change with their displacements y and the rates of these,

    df = S dy + S_t dy_t,

which :mod:`cosserat_ros.assembly.ties` makes an update of low rank of the tangent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.kernels import inner

WIDEST = 12         # channels of a block
MOST_CHANNELS = 288  # of which the tangent knows; more forces act, without their slopes
BODY = -1           # in place of a slot: an end of a channel is on the end of a link


class Channels(NamedTuple):
    """All channels and blocks of an instant."""

    used: np.ndarray    # (2,) int64, how many channels and blocks there are
    link: np.ndarray    # (c, 2) int64, of its ends; -1: none
    slot: np.ndarray    # (c, 2) int64, which point of the element; or `BODY`
    along: np.ndarray   # (c, 2, 6) direction; of a body force and moment
    size: np.ndarray    # (b,) int64, channels of a block
    which: np.ndarray   # (b, WIDEST) int64
    S: np.ndarray       # (b, WIDEST, WIDEST)
    S_t: np.ndarray     # (b, WIDEST, WIDEST)


def room_for_channels(some: bool) -> Channels:
    """Return room for channels, if there may be some."""
    c = MOST_CHANNELS if some else 0
    b = c // 3
    link, slot = np.zeros((2, c, 2), dtype=np.int64)
    S, S_t = np.zeros((2, b, WIDEST, WIDEST))
    return Channels(np.zeros(2, dtype=np.int64), link, slot, np.zeros((c, 2, 6)),
                    np.zeros(b, dtype=np.int64), np.zeros((b, WIDEST), dtype=np.int64), S, S_t)


@inner
def open_channels(a, count, link, slot):
    """Add channels along the axes of one place; return the first, or -1 if there is no room."""
    first = a.used[0]
    if first + count > a.link.shape[0]:
        return -1
    a.used[0] += count
    for c in range(count):
        a.link[first + c, 0], a.slot[first + c, 0], a.link[first + c, 1] = link, slot, -1
        for i in range(6):
            a.along[first + c, 0, i] = 1.0 if i == c else 0.0
            a.along[first + c, 1, i] = 0.0
    return first


@inner
def lead_from(a, c, link, slot):
    """Let three channels, from c on, be the displacement past another place: minus its own."""
    for k in range(3):
        a.link[c + k, 1], a.slot[c + k, 1], a.along[c + k, 1, k] = link, slot, -1.0


@inner
def open_block(a, size):
    """Return a new block without slopes, or -1 if there is no room."""
    block = a.used[1]
    if block == a.size.size:
        return -1
    a.used[1] += 1
    a.size[block] = size
    for i in range(size):
        for j in range(size):
            a.S[block, i, j] = a.S_t[block, i, j] = 0.0
    return block
