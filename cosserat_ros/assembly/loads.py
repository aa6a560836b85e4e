"""What acts on rods: forces along them and at the ends of their elements, and what they carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

T = TypeVar('T', bound=tuple)


class Bodies(NamedTuple):
    """Rigid bodies that a rod carries at the ends of its elements; those of no mass are none."""

    mass: np.ndarray     # (E,) [kg]
    offset: np.ndarray   # (E, 3) from the element's end to the centre of mass, body frame [m]
    inertia: np.ndarray  # (E, 3) principal moments about the centre of mass [kg m^2]
    axes: np.ndarray     # (E, 3, 3) their axes, as columns, body frame


class Loads(NamedTuple):
    """What acts on a rod from outside, what it carries, and what stresses it from within."""

    gravity: np.ndarray          # (3,) world frame [m/s^2]
    line_force: np.ndarray       # (N, 3) dead, world frame, at the nodes [N/m]
    line_moment: np.ndarray      # (N, 3) likewise [N]
    end_force: np.ndarray        # (E, 3) dead, world frame, at the end of each element [N]
    end_moment: np.ndarray       # (E, 3) likewise [N m]
    follower_force: np.ndarray   # (E, 3) body frame at the end of each element [N]
    follower_moment: np.ndarray  # (E, 3) likewise [N m]
    stress: np.ndarray           # (N, 6) active, body frame: added to K eps [N, N m]
    square_drag: np.ndarray      # (3,) body frame: force -square_drag v|v| [kg/m^2]
    linear_drag: np.ndarray      # (3,) likewise: force -linear_drag v [kg/(m s)]
    bodies: Bodies


def no_loads(nodes: int, elements: int) -> Loads:
    """Return loads that are all zero."""
    N, E = nodes, elements
    return Loads(
        np.zeros(3), np.zeros((N, 3)), np.zeros((N, 3)), np.zeros((E, 3)), np.zeros((E, 3)),
        np.zeros((E, 3)), np.zeros((E, 3)), np.zeros((N, 6)), np.zeros(3), np.zeros(3),
        Bodies(
            np.zeros(E), np.zeros((E, 3)), np.zeros((E, 3)), np.tile(np.eye(3), (E, 1, 1))))


def stack(items: Sequence[T]) -> T:
    """Return named tuples of arrays, one for each rod, as one with a leading axis."""
    first: Any = items[0]
    return type(first)(*(
        stack([getattr(item, name) for item in items])
        if isinstance(getattr(first, name), tuple)
        else np.ascontiguousarray(np.stack([getattr(item, name) for item in items]))
        for name in first._fields))


def one_of(stacked: T, i: int) -> T:
    """Return what belongs to rod i of a stacked named tuple."""
    kind: Any = type(stacked)
    return kind(*(one_of(value, i) if isinstance(value, tuple) else value[i] for value in stacked))
