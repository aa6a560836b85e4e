"""
Planar mechanisms with rods by Lagrange's equations with multipliers: nothing of the engine.

In x and z, gravity along -z, angles about y. With all places weighted by the roots of masses,
Y(q), ``Y'^T Y_tt = -V' + G^T lambda`` and ``G q_tt + G_t q_t = 0``; derivatives are taken by
complex and by central differences.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss, legint, legval
from scipy.integrate import solve_ivp

GRAVITY = 9.81  # [m/s^2]
POINTS, WEIGHTS = leggauss(12)


def along(angle):
    """Return the x axis (2, ...) of a frame that is turned by an angle about y, in x and z."""
    return np.array([np.cos(angle), -np.sin(angle)])


def up(angle):
    """Return its z axis."""
    return np.array([np.sin(angle), np.cos(angle)])


@cache
def turns(x, n):
    """
    Return integrals from -1 of the first n Legendre polynomials.

    To x (m,), as (m, n), and to the points by which one integrates from -1 to each of these, as
    (m, 12, n).
    """
    inside = 0.5 * np.multiply.outer(1.0 + np.array(x), 1.0 + POINTS) - 1.0
    integrals = [legint(e, lbnd=-1.0) for e in np.eye(n)]
    return tuple(np.stack([legval(y, each) for each in integrals], axis=-1)
                 for y in (np.array(x), inside))


class Masses(NamedTuple):
    """Points with mass that turn with an inertia, some of them."""

    points: np.ndarray    # (n, 2) [m]
    turns: np.ndarray     # (n,) [rad]
    masses: np.ndarray    # (n,) [kg]
    inertias: np.ndarray  # (n,) about y [kg m^2]


@dataclass(frozen=True)
class Bar:
    """A rigid body by its mass, its inertia about y and its centre (x, z) in its frame."""

    mass: float
    inertia: float
    centre: tuple[float, float]

    def at(self, p, angle):
        """Return its mass where its frame is at p (2,)."""
        x, z = self.centre
        return Masses((p + x * along(angle) + z * up(angle))[None], np.array([angle]),
                      np.array([self.mass]), np.array([self.inertia]))


@dataclass(frozen=True)
class Slender:
    """
    A round rod that grows along z and bends about y.

    Its strains are the amplitudes of its curvature in Legendre polynomials of 2 s / L - 1.
    """

    length: float
    radius: float
    young: float
    density: float

    def _sections(self, p, start, q, x):
        """Return places (n, 2) and angles (n,) of sections, if its base is at p (2,)."""
        here, before = turns(x, len(q))
        turned = start + 0.5 * self.length * (before @ q)
        s = 0.5 * self.length * (1.0 + np.array(x))
        return p + (0.5 * s * (up(turned) @ WEIGHTS)).T, start + 0.5 * self.length * (here @ q)

    def end(self, p, start, q):
        """Return place (2,) and angle of its tip."""
        places, angles = self._sections(p, start, q, (1.0,))
        return places[0], angles[0]

    def at(self, p, start, q):
        """Return its masses, at nodes."""
        w = 0.5 * self.length * WEIGHTS
        return Masses(*self._sections(p, start, q, tuple(POINTS)),
                      self.density * np.pi * self.radius ** 2 * w,
                      self.density * np.pi * self.radius ** 4 / 4.0 * w)

    def energy(self, q):
        """Return the potential of its strains."""
        moment = np.pi * self.radius ** 4 / 4.0
        return 0.5 * self.length * self.young * moment * sum(
            a ** 2 / (2 * k + 1) for k, a in enumerate(q))


class Mechanism:
    """
    A planar mechanism with n coordinates.

    A subclass has `places(q)`, which returns a list of `Masses`, what must vanish, and the elastic
    energy.
    """

    n = 0

    def places(self, q):
        """Return masses, what must be zero, and the energy of springs and rods."""
        raise NotImplementedError

    def _all_of(self, q):
        """Return weighted places, what must be zero, and the potential, in one vector."""
        parts, gap, elastic = self.places(q)
        points, turns, masses, inertias = (np.concatenate(each) for each in zip(*parts))
        energy = GRAVITY * masses @ points[:, 1] + elastic
        return np.concatenate([(np.sqrt(masses)[:, None] * points).ravel(),
                               np.sqrt(inertias) * turns, gap, [energy]])

    def _jacobian(self, q):
        """Return the derivative of `_all_of`."""
        return np.array([self._all_of(q + 1e-30j * e).imag / 1e-30 for e in np.eye(self.n)]).T

    def gap(self, q):
        """Return what must be zero."""
        return self.places(q)[1]

    def _rate_of_jacobian(self, q, q_t):
        """Return its derivative with time, by differences of order 4."""
        h = 1e-3 / max(np.linalg.norm(q_t), 1e-3)
        near, far = (self._jacobian(q + k * h * q_t) - self._jacobian(q - k * h * q_t)
                     for k in (1.0, 2.0))
        return (8.0 * near - far) / (12.0 * h)

    def accelerations(self, q, q_t):
        """Return q_tt."""
        J, held = self._jacobian(q), len(self.gap(q))
        bias = self._rate_of_jacobian(q, q_t) @ q_t
        Y, G = J[:-1 - held], J[-1 - held:-1]
        A = np.block([[Y.T @ Y, -G.T], [G, np.zeros((held, held))]])
        b = np.concatenate([-J[-1] - Y.T @ bias[:-1 - held], -bias[-1 - held:-1]])
        return np.linalg.solve(A, b)[:self.n]

    def energies(self, q, q_t):
        """Return kinetic energy and potential [J]."""
        J, held = self._jacobian(q), len(self.gap(q))
        return 0.5 * np.sum((J[:-1 - held] @ q_t) ** 2), self._all_of(q)[-1]

    def later(self, q, q_t, time):
        """Return coordinates and rates after some time."""
        n = self.n
        solution = solve_ivp(
            lambda _, y: np.concatenate([y[n:], self.accelerations(y[:n], y[n:])]), (0.0, time),
            np.concatenate([q, q_t]), method='DOP853', rtol=1e-11, atol=1e-12)
        return solution.y[:n, -1], solution.y[n:, -1]
