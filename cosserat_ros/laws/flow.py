r"""
Forces of a fluid at rest on a section of a rod or on a body: added mass, wake, lift and drag.

All are functions of the twist eta = (V, Omega) of a frame and of its rate, in that frame, so that
neither its place nor its attitude matters. A `station` is a row of numbers that says which act:

- *Added mass* M (6, 6), symmetric: ``-(M eta_t - ad_eta^T M eta)``, Kirchhoff's equations (Porez
  2014, eq. 15; along a slender body, Lighthill's reactive force, Boyer 2023, section VII-D). Its
  power is minus the rate of eta^T M eta / 2.
- *Wake* behind the end of a slender body that sheds the fluid's momentum (Boyer 2023, eq. 91):
  ``V_e M eta - (eta^T M eta / 2) (e, 0)`` with e the direction of the body from head to tail and
  V_e the velocity along it; M is per length here.
- *Lift and drag* of a blade with chord direction t (to the leading edge) and normal w, at the
  centre of pressure C, where the section moves with a = t . V_C and b = w . V_C, U^2 = a^2 + b^2,
  sin 2 beta = 2 a b / U^2, cos 2 beta = (a^2 - b^2) / U^2 (Dickinson 1999; Porez 2014, IV-B),

      -k (C_D0 - C_D2 cos 2 beta) U (a t + b w) + k C_L sin 2 beta U (b t - a w)

  with k = density chord / 2. Motion along the span does not matter. Porez prints lift along v and
  drag along u, and u without its norm: with the axes swapped, u of norm 1 and w away from the side
  of pressure, it is this.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import InvalidModel
from ..numerics.arena import matrix, vector
from ..numerics.kernels import inner
from ..numerics.rotations import cross

# Places of the numbers of a station.
MASS, BLADE, INERTIAL, WAKE, AXIS, CENTRE, FORWARD, NORMAL, LIFT, DRAG = (
    0, 36, 37, 38, 39, 42, 45, 48, 51, 52)
NUMBERS = 54


class Station(NamedTuple):
    """What a fluid does at one place of a body."""

    pose: np.ndarray     # (4, 4) in the frame of the body
    numbers: np.ndarray  # (NUMBERS,) of `added_mass` or `wake`, of a `blade`, or one of each added


def _checked_mass(M: ArrayLike) -> np.ndarray:
    mass = np.asarray(M, dtype=float)
    if mass.shape != (6, 6) or not np.isfinite(mass).all() or not np.allclose(mass, mass.T):
        raise InvalidModel('added mass', M, 'a symmetric matrix (6, 6)')
    return mass


def added_mass(M: ArrayLike) -> np.ndarray:
    """Return the numbers of an added mass (6, 6), linear part first; per length along rods."""
    numbers = np.zeros(NUMBERS)
    numbers[MASS:MASS + 36], numbers[INERTIAL] = _checked_mass(M).ravel(), 1.0
    return numbers


def wake(M: ArrayLike, axis: ArrayLike = (0.0, 0.0, 1.0)) -> np.ndarray:
    """Return the numbers of the wake behind a body's end, with the added mass per length there."""
    numbers = np.zeros(NUMBERS)
    numbers[MASS:MASS + 36], numbers[WAKE] = _checked_mass(M).ravel(), 1.0
    numbers[AXIS:AXIS + 3] = _direction('axis', axis)
    return numbers


def _direction(name: str, given: ArrayLike) -> np.ndarray:
    axis = np.asarray(given, dtype=float)
    if axis.shape != (3,) or not np.isfinite(axis).all() or not axis.any():
        raise InvalidModel(name, given, 'three numbers, not all 0')
    return axis / np.linalg.norm(axis)


def blade(
    density: float, chord: float, centre: ArrayLike, forward: ArrayLike, normal: ArrayLike,
    lift: float = 1.8, drag: tuple[float, float] = (1.92, 1.55),
) -> np.ndarray:
    """
    Return the numbers of a blade's lift and drag, per length of span.

    Parameters
    ----------
    density : float
        Of the fluid [kg/m^3].
    chord : float
        [m].
    centre, forward, normal : (3,) float
        Centre of pressure [m], direction from the trailing to the leading edge, and normal.
    lift, drag : float and (2,) float
        C_L of C_L sin 2 beta, and C_D0, C_D2 of C_D0 - C_D2 cos 2 beta; Dickinson's are default.

    """
    for name, given in (('density', density), ('chord', chord)):
        if not (np.isfinite(given) and given >= 0.0):
            raise InvalidModel(name, given, 'a finite number, at least 0')
    for name, numbers in (('centre', centre), ('lift', lift), ('drag', drag)):
        if not np.isfinite(numbers).all():
            raise InvalidModel(name, numbers, 'finite')
    numbers = np.zeros(NUMBERS)
    numbers[BLADE], numbers[LIFT] = 0.5 * density * chord, lift
    numbers[DRAG:DRAG + 2], numbers[CENTRE:CENTRE + 3] = drag, centre
    numbers[FORWARD:FORWARD + 3] = _direction('forward', forward)
    numbers[NORMAL:NORMAL + 3] = _direction('normal', normal)
    return numbers


def of_length(numbers: np.ndarray, length: float) -> np.ndarray:
    """Return numbers that are per length for a length [m] of it."""
    whole = numbers.copy()
    whole[:INERTIAL] *= length
    return whole


def flow_energy(numbers: np.ndarray, twist: np.ndarray) -> float:
    """Return the kinetic energy of the fluid around a station [J]."""
    M = numbers[MASS:MASS + 36].reshape(6, 6)
    return float(0.5 * numbers[INERTIAL] * twist @ M @ twist)


@inner
def flow(a, eta, eta_t, wrench, slope):
    """
    Write the wrench of the fluid, and its slope with the twist; that with its rate is -M.

    Parameters
    ----------
    a : (NUMBERS,) float64
        Of a station.
    eta, eta_t : (6,) float64
        Twist and its rate, frame of the station.
    wrench, slope : (6,) and (6, 6) float64
        Overwritten.

    """
    for i in range(6):
        wrench[i] = 0.0
        for j in range(6):
            slope[i, j] = 0.0
    if a[INERTIAL] != 0.0 or a[WAKE] != 0.0:
        _react(a, eta, eta_t, wrench, slope)
    if a[BLADE] != 0.0:
        _glide(a, eta, wrench, slope)


@inner
def _react(a, eta, eta_t, wrench, slope):
    """Add the force of added mass and of the wake."""
    p, dp, y, z, unit = vector(6), vector(6), vector(3), vector(3), vector(6)
    energy, speed = 0.0, 0.0
    inertial, shed = a[INERTIAL], a[WAKE]
    for i in range(6):
        p[i] = 0.0
        for j in range(6):
            p[i] += a[MASS + 6 * i + j] * eta[j]
            wrench[i] -= inertial * a[MASS + 6 * i + j] * eta_t[j]
        energy += 0.5 * p[i] * eta[i]
    for i in range(3):
        speed += a[AXIS + i] * eta[i]
    _add_transport(eta, p, inertial, y, z, wrench)
    for i in range(6):
        wrench[i] += shed * speed * p[i]
    for i in range(3):
        wrench[i] -= shed * energy * a[AXIS + i]
    for c in range(6):
        for i in range(6):
            dp[i] = a[MASS + 6 * i + c]
            unit[i] = 1.0 if i == c else 0.0
        column = vector(6)
        for i in range(6):
            column[i] = shed * speed * dp[i]
            if c < 3:
                column[i] += shed * a[AXIS + c] * p[i]
            if i < 3:
                column[i] -= shed * p[c] * a[AXIS + i]
        _add_transport(eta, dp, inertial, y, z, column)
        _add_transport(unit, p, inertial, y, z, column)
        for i in range(6):
            slope[i, c] += column[i]


@inner
def _add_transport(eta, p, factor, y, z, out):
    """Add factor ad_eta^T p to out (6,): minus (Omega x p, Omega x h + V x p)."""
    cross(eta[3:], p[:3], y)
    for i in range(3):
        out[i] -= factor * y[i]
    cross(eta[3:], p[3:], y)
    cross(eta[:3], p[:3], z)
    for i in range(3):
        out[3 + i] -= factor * (y[i] + z[i])


@inner
def _glide(a, eta, wrench, slope):
    """Add lift and drag."""
    t, w = vector(6), vector(6)  # with their moments about the frame
    cross(a[CENTRE:CENTRE + 3], a[FORWARD:FORWARD + 3], t[3:])
    cross(a[CENTRE:CENTRE + 3], a[NORMAL:NORMAL + 3], w[3:])
    x, y = 0.0, 0.0
    for i in range(3):
        t[i], w[i] = a[FORWARD + i], a[NORMAL + i]
    for i in range(6):
        x += t[i] * eta[i]
        y += w[i] * eta[i]
    U = np.sqrt(x * x + y * y)
    if U < 1e-150:
        return
    k, lift, drag, rise = a[BLADE], 2.0 * a[LIFT], a[DRAG], a[DRAG + 1]
    xx, yy, xy = x * x / U, y * y / U, x * y / U
    part = xx - yy
    along = k * (-drag * U * x + rise * part * x + lift * xy * y)
    across = k * (-drag * U * y + rise * part * y - lift * xy * x)
    J = matrix(2, 2)
    xu, yu = x / U, y / U
    J[0, 0] = k * (-drag * (U + xx) + rise * (2.0 * xx + part - part * xu * xu)
                   + lift * (yy - yy * xu * xu))
    J[0, 1] = k * (-drag * xy + rise * (-2.0 * xy - part * xu * yu)
                   + lift * (2.0 * xy - xy * yu * yu))
    J[1, 0] = k * (-drag * xy + rise * (2.0 * xy - part * xu * yu)
                   - lift * (2.0 * xy - xy * xu * xu))
    J[1, 1] = k * (-drag * (U + yy) + rise * (part - 2.0 * yy - part * yu * yu)
                   - lift * (xx - xx * yu * yu))
    for i in range(6):
        wrench[i] += along * t[i] + across * w[i]
        for j in range(6):
            slope[i, j] += t[i] * (J[0, 0] * t[j] + J[0, 1] * w[j]) + w[i] * (
                J[1, 0] * t[j] + J[1, 1] * w[j])
