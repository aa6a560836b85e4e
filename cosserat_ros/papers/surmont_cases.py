"""
The nine cases of Surmont & Coache, by their method.

Rods are along z where the paper has x, and bend in the plane of x and z; loads are along -x.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .mrp_shooting import End, MrpAssembly, MrpBody, MrpRod, MrpSolution

NONE, ALONG, STRAIGHT = np.zeros(3), np.array([0.0, 0.0, 1.0]), np.eye(3)
ABOUT_Y = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # a joint's x along y
ALONG_Z = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # likewise along z
UP = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])      # a rod along x
LEFT = np.diag([-1.0, 1.0, -1.0])                                        # a rod along -z

E_STEEL, RADIUS = 2.11e11, 0.02  # sections 4.6 to 4.8


def pivot(body: int = -1, section: np.ndarray = STRAIGHT) -> End:
    """Return a pivot about y."""
    return End('pivot', body, R=ABOUT_Y, section=ABOUT_Y.T @ section)


def roller(
    r: Sequence[float], section: np.ndarray = STRAIGHT, moment: np.ndarray = NONE,
) -> End:
    """Return a sphere in a cylinder along z on the ground, with a moment on the rod [N m]."""
    return End('sphere_in_cylinder', r=np.array(r), R=ALONG_Z, section=ALONG_Z.T @ section,
               moment=ALONG_Z.T @ moment)


def body(r: Sequence[float], force: Sequence[float] = (0.0, 0.0, 0.0)) -> MrpBody:
    """Return a rigid body at r [m] with a force on it [N]."""
    return MrpBody(np.array(r), np.array(force), NONE)


def steel(length: float, start: End, end: End, radius: float = RADIUS) -> MrpRod:
    """Return a round rod of steel, nu = 0.3, no shear correction."""
    A, inertia, G = np.pi * radius ** 2, 0.25 * np.pi * radius ** 4, E_STEEL / 2.6
    return MrpRod(length, start, end, ALONG, NONE, 1.0 / np.array([G * A, G * A, E_STEEL * A]),
                  1.0 / (inertia * np.array([E_STEEL, E_STEEL, 2.0 * G])))


def arc(turn: float, rolled: bool = False, pieces: int = 1) -> MrpAssembly:
    """Return the cantilevers of 4.1 and 4.2: a moment M L / EI at the tip, table 2."""
    A, EI, GC = 0.25, 2.0, 1.0 / 2.6
    at_rest = np.array([0.0, 2.0 * np.pi if rolled else 0.0, 0.0])
    return MrpAssembly([MrpRod(
        1.0, End('clamp'), End('imposed_force', moment=np.array([0.0, turn * EI, 0.0])), ALONG,
        at_rest, 1.0 / np.array([A / 2.6, A / 2.6, A]), 1.0 / np.array([EI, EI, GC]), None,
        pieces)])


def helix(part: float, shear: float = 0.5e4, accuracy: float = 1e-12) -> MrpAssembly:
    """Return the cantilever of 4.3 at a part of its load, with a shear stiffness GA."""
    return MrpAssembly([MrpRod(
        10.0, End('clamp'), End('imposed_force', force=np.array([0.0, 50.0 * part, 0.0]),
                                moment=np.array([0.0, 200.0 * np.pi * part, 0.0])),
        ALONG, NONE, 1.0 / np.array([shear, shear, 1e4]), np.full(3, 1e-2))], accuracy=accuracy)


def follow_helix(parts: ArrayLike, **kwargs: float) -> list[MrpSolution]:
    """Return the solutions of 4.3 along a load path, each begun from the one before."""
    solutions: list[MrpSolution] = []
    for part in np.asarray(parts, dtype=float):
        solutions.append(helix(part, **kwargs).solve(solutions[-1].Z if solutions else None))
    return solutions


def twisted(force: Sequence[float]) -> MrpAssembly:
    """Return the strip of 4.4, table 5, twisted by 90 degrees; thin along x at its base."""
    t, h, E, G = 0.32, 1.1, 29e6, 29e6 / 2.44
    A = t * h
    n = np.arange(1, 200, 2)
    J = h * t ** 3 / 3.0 * (1.0 - 192.0 * t / (np.pi ** 5 * h) * np.sum(
        np.tanh(0.5 * n * np.pi * h / t) / n ** 5))
    return MrpAssembly([MrpRod(
        12.0, End('clamp'), End('imposed_force', force=np.array(force)), ALONG,
        np.array([0.0, 0.0, np.pi / 24.0]), 1.0 / np.array([G * A, G * A, E * A]),
        1.0 / np.array([E * h ** 3 * t / 12.0, E * t ** 3 * h / 12.0, G * J]))])


def bend(force: float, pieces: int = 1) -> MrpAssembly:
    """Return the bend of 45 degrees of 4.5, table 7: along y at its base, in the plane x, y."""
    E, G = 1e7, 5e6
    along_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    return MrpAssembly([MrpRod(
        25.0 * np.pi, End('clamp', section=along_y),
        End('imposed_force', force=np.array([0.0, 0.0, force])), ALONG,
        np.array([0.0, 0.01, 0.0]), 1.0 / np.array([G, G, E]),
        12.0 / np.array([E, E, 2.0 * G]), None, pieces)])


def triangle() -> MrpAssembly:
    """Return the beam of 4.6 with a triangular load, of two rods and a body."""
    L, q = 5.0, 10.0
    left = steel(0.5 * L, pivot(), End('clamp', 0))._replace(
        force=lambda s: np.array([-q * 2.0 * s / L, 0.0, 0.0]))
    right = steel(0.5 * L, End('clamp', 0), roller((0.0, 0.0, L)))._replace(
        force=lambda s: np.array([-q * (1.0 - 2.0 * s / L), 0.0, 0.0]))
    return MrpAssembly([left, right], [body((0.0, 0.0, 0.5 * L))], 1e-10)


def two_inertias() -> MrpAssembly:
    """Return the beam of 4.7, of four rods and three bodies; thicker by 2^(1/4) in the middle."""
    L, P, thick = 10.0, 2.5, RADIUS * 2.0 ** 0.25
    places = [(0.0, 0.0, 0.25 * k * L) for k in range(5)]
    return MrpAssembly([
        steel(0.25 * L, pivot(), End('clamp', 0)),
        steel(0.25 * L, End('clamp', 0), End('clamp', 1), thick),
        steel(0.25 * L, End('clamp', 1), End('clamp', 2), thick),
        steel(0.25 * L, End('clamp', 2), roller(places[4]))],
        [body(places[1]), body(places[2], (-P, 0.0, 0.0)), body(places[3])], 1e-10)


def hinged() -> MrpAssembly:
    """Return the compound beam of 4.8: a roller at A, a hinge at B, a clamp at C."""
    a, b, P, q = 4.0, 6.0, 2.0, 1.0
    return MrpAssembly([
        steel(2.0 * a / 3.0, roller((0.0, 0.0, 0.0)), End('clamp', 0)),
        steel(a / 3.0, End('clamp', 0), pivot(1)),
        steel(b, End('clamp', 1), End('clamp', r=np.array([0.0, 0.0, a + b])))._replace(
            force=lambda s: np.array([-q, 0.0, 0.0]))],
        [body((0.0, 0.0, 2.0 * a / 3.0), (-P, 0.0, 0.0)), body((0.0, 0.0, a))], 1e-10)


def t_frame(L: float, q0: float, P: float, M0: float) -> MrpAssembly:
    """
    Return the frame of 4.9, of rods that do not deform (eqs. 55, 56).

    D is the origin, B above it along x, A at -z of B, C at +z.
    """
    def rigid(length: float, start: End, end: End) -> MrpRod:
        return MrpRod(length, start, end, ALONG, NONE, NONE, NONE)

    lower = rigid(0.5 * L, pivot(section=UP), End('clamp', 0, section=UP))
    upper = rigid(0.5 * L, End('clamp', 0, section=UP), End('clamp', 1, section=UP))
    left = rigid(L, End('clamp', 1, section=LEFT), roller(
        (L, 0.0, -L), LEFT, np.array([0.0, -M0, 0.0])))._replace(
            force=lambda s: np.array([-q0 * (1.0 - s / L), 0.0, 0.0]))
    right = rigid(0.5 * L, End('clamp', 1), End(
        'imposed_force', force=np.array([-0.8 * P, 0.0, -0.6 * P])))
    return MrpAssembly([lower, upper, left, right], [
        body((0.5 * L, 0.0, 0.0), (0.0, 0.0, -P)), body((L, 0.0, 0.0))], 1e-10)
