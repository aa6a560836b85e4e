r"""
Boyer 2023's swimmer (section VII-D): a rod in water after Lighthill, bent by a wave.

The water's reaction is that of an added mass M_a of the sections, and a wake at the tail (eqs. 90,
91; eq. 90 lacks ``L +``). Muscles follow the wave as a proportional law, ``m = H_r (K - K_d)``
(eq. 92), which is a rod of stiffness H_r with the active stress ``-H_r K_d``; or they make it
exactly, and what it takes is found (`PrescribedRod`).

The paper's section is only in a figure. Here it is an ellipse, 0.06 m wide and 0.12 m high all
along, as heavy as water. z runs from head to tail, x sideways; it swims towards -z.

References
----------
Boyer 2023: see `acceleration_shooting`.

"""

from __future__ import annotations

import numpy as np

from ..analysis.inverse_dynamics import Gait
from ..assembly.one_rod import RodSolver, Water
from ..description.modes import StrainModes
from ..description.rod import Material, Rod, Segment
from ..description.section import Elliptic
from ..laws.flow import added_mass, Station, wake
from ..numerics.integrators import SCHEMES
from ..rod.discretisation import Discretisation, discretise
from . import riccati

LENGTH, DENSITY = 1.0, 1000.0
WIDTH, HEIGHT = 0.06, 0.12         # of the section [m]
STIFFNESS = 50.0                   # H_r about the vertical [N m^2]
AMPLITUDE = 1.0, 0.5, 2.0          # a_0, a_1, a_2 of the wave [1/m]
WAVE_LENGTH, PERIOD, RAMP = 1.0, 1.0, 1.0  # [m], [s], [s]
BENDING = StrainModes(0, 0, 0, 0, 8, 0)


def fish() -> Rod:
    """Return the body, whose stiffness against bending sideways is that of the control law."""
    second = np.pi / 4.0 * (0.5 * HEIGHT) * (0.5 * WIDTH) ** 3
    return Rod((Segment(LENGTH, Elliptic(0.5 * WIDTH, 0.5 * HEIGHT),
                        Material(STIFFNESS / second, DENSITY, poisson_ratio=0.5)),))


def section_mass() -> np.ndarray:
    """Return the added mass of a section (6, 6), per length."""
    return riccati.added_mass(np.array([0.5 * WIDTH]), np.array([0.5 * HEIGHT]), DENSITY)[0]


def water() -> Water:
    """Return what water does to the fish."""
    numbers = added_mass(section_mass())
    return Water(lambda s: numbers, [Station(np.eye(4), wake(section_mass()))])


def ramp(t: float) -> np.ndarray:
    """Return f_r of eq. 94 and its first two rates."""
    if t >= RAMP:
        return np.array([1.0, 0.0, 0.0])
    x, w = t / RAMP, 2.0 * np.pi
    return np.array([x - np.sin(w * x) / w, (1.0 - np.cos(w * x)) / RAMP,
                     w * np.sin(w * x) / RAMP ** 2])


def wave(s: np.ndarray, t: float) -> np.ndarray:
    """Return the wanted curvature at s (k,), eqs. 93 and 95, and its two rates, (3, k) [1/m]."""
    f, f_t, f_tt = ramp(t)
    x, rate = s / LENGTH, 2.0 * np.pi / PERIOD
    phase = 2.0 * np.pi * (s / WAVE_LENGTH - t / PERIOD)
    size = AMPLITUDE[0] + AMPLITUDE[1] * x + AMPLITUDE[2] * x ** 2
    sine, cosine = size * np.sin(phase), size * np.cos(phase)
    return np.array([
        f * sine, f_t * sine - rate * f * cosine,
        f_tt * sine - 2.0 * rate * f_t * cosine - rate ** 2 * f * sine])


def gait(d: Discretisation) -> Gait:
    """Return the wave as amplitudes of the modes of bending sideways."""
    inverse = np.linalg.pinv(d.Phi)

    def told(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, q_t, q_tt = wave(d.s, t) @ inverse.T
        return q, q_t, q_tt
    return told


def swimmer(scheme: str = 'generalised_alpha', modes: StrainModes = BENDING) -> RodSolver:
    """Return the fish at rest in water; drive it by `muscles`."""
    return RodSolver(discretise(fish(), modes), free=True, water=water(), scheme=SCHEMES[scheme])


def muscles(solver: RodSolver, t: float) -> None:
    """Make the stress of the muscles that of the control law at a time, eq. 92."""
    stress = np.zeros((solver.d.s.size, 6))
    stress[:, 4] = -STIFFNESS * wave(solver.d.s, t)[0]
    solver.load(solver.no_loads()._replace(stress=stress))


def told_to_riccati(t: float, steps: int = 80) -> riccati.Told:
    """Return the fish in water with the strains of a time, for `riccati.inverse_dynamics`."""
    s, rod = np.linspace(0.0, LENGTH, 2 * steps + 1), fish()
    xi, xi_t, xi_tt = np.zeros((3, s.size, 6))
    xi[:, 4], xi_t[:, 4], xi_tt[:, 4] = wave(s, t)
    M = np.einsum('ki,ij->kij', rod.inertia(s), np.eye(6))
    return riccati.Told(LENGTH / steps, xi + rod.rest_strain(s), xi_t, xi_tt, M,
                        np.tile(section_mass(), (s.size, 1, 1)), np.zeros(3))
