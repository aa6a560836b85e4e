"""What a robot looks like: colours, and simple shapes of bodies, for URDF and markers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..description.parts import Body, Discs, Inertia, Platform, principal_axes

ROD_COLOUR = (0.25, 0.35, 0.50, 1.0)
HOLLOW_COLOUR = (0.25, 0.35, 0.50, 0.4)  # a rod with chambers: they are to be seen
DISC_COLOUR = (0.80, 0.82, 0.85, 1.0)
PLATFORM_COLOUR = (0.80, 0.82, 0.85, 0.7)
BODY_COLOUR = (0.45, 0.50, 0.58, 1.0)
ROUND = 1e-6  # relative difference of two principal moments up to which a body is round


class Visual(NamedTuple):
    """A shape on a link or body."""

    pose: np.ndarray   # (4, 4), seen from there [m]
    shape: str         # box, cylinder along z, or sphere
    sizes: tuple[float, float, float]  # along its axes, from side to side [m]
    colour: tuple[float, float, float, float]


def disc_visual(part: Discs | Platform, pose: np.ndarray, colour: tuple) -> Visual:
    """Return what a disc or a platform looks like."""
    width = 2.0 * part.radius
    return Visual(pose, 'cylinder', (width, width, part.thickness), colour)


def body_visuals(body: Body) -> Iterable[Visual]:
    """Yield what a body looks like: by its contact, or a solid of its mass and inertia."""
    if body.contact is not None:
        width = 2.0 * body.contact.radius
        for point in body.contact.points:
            pose = np.eye(4)
            pose[:3, 3] = point
            yield Visual(pose, 'sphere', (width, width, width), BODY_COLOUR)
    elif body.inertia != Inertia(0.0, 0.0, 0.0):
        yield _solid(body)


def _solid(body: Body) -> Visual:
    """Return the cylinder that has a body's mass and inertia, or the box where two axes differ."""
    moments, axes = principal_axes(body.inertia.matrix())
    pose = np.eye(4)
    pose[:3, 3] = body.centre_of_mass
    for across, along in (((0, 1), 2), ((1, 2), 0)):
        first, second = moments[list(across)]
        if second - first <= ROUND * second:
            pose[:3, :3] = axes[:, [*across, along]]  # even permutations: they stay right-handed
            squared = 2.0 * moments[along] / body.mass
            length = np.sqrt(max(6.0 * (first + second) / body.mass - 3.0 * squared, 0.0))
            width = 2.0 * np.sqrt(squared)
            return Visual(pose, 'cylinder', (width, width, float(length)), BODY_COLOUR)
    pose[:3, :3] = axes
    squares = 6.0 / body.mass * (moments.sum() - 2.0 * moments)
    x, y, z = np.sqrt(np.maximum(squares, 0.0)).tolist()
    return Visual(pose, 'box', (x, y, z), BODY_COLOUR)
