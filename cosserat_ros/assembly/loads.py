"""
What acts on rods: forces along them and at the ends of their elements, and what they carry.

Those of several rods have the nodes and elements of all rods, one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

OF_RODS = 'gravity', 'square_drag', 'linear_drag'  # loads that a rod has one of, not of its nodes
T = TypeVar('T', bound=tuple)
Mass = tuple[float, np.ndarray, np.ndarray]  # [kg], its centre (3,) [m], inertia about it (3, 3)


class Bodies(NamedTuple):
    """Rigid bodies that a rod carries at the ends of its elements; those of no mass are none."""

    mass: np.ndarray     # (E,) [kg]
    offset: np.ndarray   # (E, 3) from the element's end to the centre of mass, body frame [m]
    inertia: np.ndarray  # (E, 3) principal moments about the centre of mass [kg m^2]
    axes: np.ndarray     # (E, 3, 3) their axes, as columns, body frame


class Loads(NamedTuple):
    """
    What acts on a rod from outside, what it carries, and what stresses it from within.

    Of k rods, those of `OF_RODS` are (k, 3), see `join`.
    """

    gravity: np.ndarray          # (3,) world frame [m/s^2]
    line_force: np.ndarray       # (N, 3) dead, world frame, at the nodes [N/m]
    line_moment: np.ndarray      # (N, 3) likewise [N]
    end_force: np.ndarray        # (E, 3) dead, world frame, at the end of each element [N]
    end_moment: np.ndarray       # (E, 3) likewise [N m]
    end_lever: np.ndarray        # (E, 3, 3) sum of a f^T, of dead forces f at a, body frame
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
        np.zeros((E, 3, 3)), np.zeros((E, 3)), np.zeros((E, 3)), np.zeros((N, 6)), np.zeros(3),
        np.zeros(3),
        Bodies(
            np.zeros(E), np.zeros((E, 3)), np.zeros((E, 3)), np.tile(np.eye(3), (E, 1, 1))))


def add_wrench(
    loads: Sequence[np.ndarray], wrench: np.ndarray, g: np.ndarray, follower: bool,
) -> None:
    """
    Let a force and a moment act on something rigid.

    Parameters
    ----------
    loads : sequence of array
        Of what is rigid, to be added to: dead force and moment (3,), its lever (3, 3), force and
        moment (3,) of followers.
    wrench : (6,) float64
        In the world frame; of a follower, in the frame g [N, N m].
    g : (4, 4) float64
        Frame whose origin it acts at, seen from what is rigid [m].
    follower : bool
        Whether it turns with what is rigid.

    """
    force, moment, lever, follower_force, follower_moment = loads
    if follower:
        turned = g[:3, :3] @ wrench[:3]
        follower_force += turned
        follower_moment += g[:3, :3] @ wrench[3:] + np.cross(g[:3, 3], turned)
        return
    force += wrench[:3]
    moment += wrench[3:]
    lever += np.outer(g[:3, 3], wrench[:3])


def joined(a: Mass, b: Mass) -> Mass:
    """Return mass, centre and inertia about it of two bodies that are fixed to each other."""
    mass = a[0] + b[0]
    centre = (a[0] * a[1] + b[0] * b[1]) / mass
    inertia = sum(
        J + m * ((c - centre) @ (c - centre) * np.eye(3) - np.outer(c - centre, c - centre))
        for m, c, J in (a, b))
    return mass, centre, np.asarray(inertia)


def moved(mass: Mass, g: np.ndarray) -> Mass:
    """Return what is seen from a frame as seen from where that has the pose g (4, 4)."""
    R = g[:3, :3]
    return mass[0], R @ mass[1] + g[:3, 3], R @ mass[2] @ R.T


def join(items: Sequence[T]) -> T:
    """Return loads of rods, one for each, as those of all of them."""
    first: Any = items[0]
    return type(first)(*(_joined(name, [getattr(item, name) for item in items])
                         for name in first._fields))


def _joined(name: str, parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], tuple):
        return join(parts)
    return np.stack(parts) if name in OF_RODS else np.concatenate(parts)
