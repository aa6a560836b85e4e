"""
Planar mechanisms in closed form: a four-bar and a slider-crank, in x and z, gravity along -z.

Bars are complex numbers x + i z. Whatever moves follows from the angle of the crank; `Motion` has
it with its first and second derivatives, and `acceleration` is the one equation of motion that is
left, in minimal coordinates.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

GRAVITY = 9.81  # [m/s^2]
MASS, INERTIA = 1.0, 0.01  # of each bar, about its middle [kg, kg m^2]
CRANK, COUPLER, ROCKER, BASE = 0.2, 0.5, 0.4, 0.45  # of the four-bar [m]
ROD = 0.5  # of the slider-crank; its crank is the same [m]


class Motion(NamedTuple):
    """Of angles and centres of bodies: value, first and second derivative with the crank's."""

    angles: np.ndarray   # (3, n) [rad]
    slide: np.ndarray    # (3,) of the slider, if there is one [m]
    centres: np.ndarray  # (3, n) complex [m]


def _turns(arm, angle, rate, second):
    """Return arm exp(i angle), and its two derivatives."""
    bar = arm * np.exp(1j * angle)
    return np.array([bar, 1j * rate * bar, (1j * second - rate ** 2) * bar])


def _two(a, b, right):
    """Solve a x + b y = right for real x, y."""
    return np.linalg.solve([[a.real, b.real], [a.imag, b.imag]], [right.real, right.imag])


def four_bar(crank):
    """Return the motion of crank, coupler and rocker at an angle, on the branch above."""
    A = _turns(CRANK, crank, 1.0, 0.0)
    f = BASE - A[0]
    inner = np.arccos((abs(f) ** 2 + ROCKER ** 2 - COUPLER ** 2) / (2.0 * abs(f) * ROCKER))
    rocker = np.pi - inner + np.angle(f)
    b, c = BASE + ROCKER * np.exp(1j * rocker) - A[0], ROCKER * np.exp(1j * rocker)
    x, y = _two(1j * b, -1j * c, -A[1])
    xx, yy = _two(1j * b, -1j * c, -A[2] + b * x ** 2 - c * y ** 2)
    B = _turns(COUPLER, np.angle(b), x, xx)
    C = _turns(ROCKER, rocker, y, yy)
    centres = np.array([0.5 * A, A + 0.5 * B, 0.5 * C]).T
    centres[0, 2] += BASE
    return Motion(np.array([[crank, np.angle(b), rocker], [1.0, x, y], [0.0, xx, yy]]),
                  np.zeros(3), centres)


def slider_crank(crank):
    """Return the motion of crank, rod and slider at an angle; the slider does not turn."""
    A = _turns(CRANK, crank, 1.0, 0.0)
    rod = -np.arcsin(A[0].imag / ROD)
    x = -A[1].imag / (ROD * np.cos(rod))
    xx = (-A[2].imag + ROD * np.sin(rod) * x ** 2) / (ROD * np.cos(rod))
    B = _turns(ROD, rod, x, xx)
    return Motion(np.array([[crank, rod, 0.0], [1.0, x, 0.0], [0.0, xx, 0.0]]),
                  (A + B).real, np.array([0.5 * A, A + 0.5 * B, (A + B).real]).T)


def acceleration(mechanism, crank, rate, effort=0.0):
    """Return that of the crank [rad/s^2], by Lagrange's equation in its angle."""
    (_, turn, turn_2), _, (_, v, a) = mechanism(crank)
    inertia = np.sum(MASS * abs(v) ** 2 + INERTIA * turn ** 2)
    slope = 2.0 * np.sum(MASS * (v.conj() * a).real + INERTIA * turn * turn_2)
    return (effort - MASS * GRAVITY * v.imag.sum() - 0.5 * slope * rate ** 2) / inertia


def crank_at(mechanism, crank, rate, times):
    """Return angle and rate of the crank at times, (2, n): an ODE by a method of order 8."""
    run = solve_ivp(lambda t, y: [y[1], acceleration(mechanism, *y)], (0.0, times[-1]),
                    [crank, rate], 'DOP853', times, rtol=1e-13, atol=1e-14)
    return run.y
