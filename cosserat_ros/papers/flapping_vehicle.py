r"""
The flapping vehicle of Porez 2014, section IV: table I, and its flight by the paper's method.

A thorax with two wings of M blades each. The first joint of a wing strokes it about the vertical
axis, as told; blades bend about their chord and twist about the leading edge against springs.
Frames have x to the right (s of the paper), y ahead (n) and z up (a). A wing at rest stands
upright, its leading edge above. `flapping_wing` has the same vehicle on the engine.

Table I is followed, with l = S / M = 17.5 mm, where it prints 1.75. What the paper leaves open is
stated here: gravity is 9.81 m/s^2; X_j is the middle of a section, or where `section_place` says;
the stroke axis is vertical, through the wings' roots, which are alpha c above the thorax's centre
("ac from O_0 along s_0" would be outside of it); blades are rectangles. Its added mass rho pi c^2
is 4 times that of a flat plate: it is a factor here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..assembly.assembly import pose
from ..checks.errors import InvalidModel
from ..laws.flow import (
    added_mass,
    BLADE,
    blade,
    CENTRE,
    DRAG,
    FORWARD,
    LIFT,
    MASS,
    NORMAL,
    of_length,
    Station,
)
from ..numerics.lie import adjoint_se3, exp_se3, hat, inverse_se3
from .hybrid_multibody import Body, hybrid, kirchhoff, Outcome, rigid_inertia, State, weight

GRAVITY = np.array([0.0, 0.0, -9.81])
POINTS = 6                 # of Gauss's rule along a blade
UP, SPAN = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
CENTRE_OF_PRESSURE = 0.4   # of the chord, from the leading edge
FLAT_PLATE = 0.25 * np.pi  # added mass per length, of rho c^2


@dataclass(frozen=True)
class Vehicle:
    """Table I."""

    blades: int = 4                        # M, of a wing
    span: float = 70e-3                    # S [m]
    chord: float = 31.5e-3                 # C, at the root [m]
    thickness: float = 0.1e-3              # e [m]
    thorax: tuple[float, float, float] = (8.5e-3, 8.5e-3, 28e-3)  # half-axes a, b, c [m]
    root: float = 0.65                     # alpha, of c
    thorax_density: float = 800.0          # [kg/m^3]
    wing_density: float = 1400.0
    air: float = 1.22
    amplitude: float = 41.3 * np.pi / 180  # A [rad]
    frequency: float = 50.0 * np.pi        # omega [rad/s]
    twisting: tuple[float, float] = (3e-3, 9e-3)   # k_t at root and tip [N m/rad]
    bending: tuple[float, float] = (36e-3, 9e-3)   # k_b
    damping: float = 1e-5                  # mu [N m s/rad]
    added_mass: float = 4.0                # of that of a flat plate
    section_place: float = 0.5             # X_j within a section: 0 at its start, 1 at its end

    def __post_init__(self) -> None:
        if not 0.0 <= self.section_place < 1.0:
            raise InvalidModel('section_place', self.section_place,
                               'at least 0, and less than 1 where a blade would have no chord')

    @property
    def section(self) -> float:
        """Length of a blade [m]."""
        return self.span / self.blades

    @property
    def period(self) -> float:
        """Of the stroke [s]."""
        return 2.0 * np.pi / self.frequency

    @property
    def places(self) -> np.ndarray:
        """X_j of the blades, (M,) [m]."""
        return (np.arange(self.blades) + self.section_place) * self.section

    @property
    def chords(self) -> np.ndarray:
        """c_j of the blades, (M,) [m]."""
        return self.chord * np.sqrt(1.0 - (self.places / self.span) ** 2)

    @property
    def thorax_mass(self) -> float:
        """[kg]."""
        return float(4.0 / 3.0 * np.pi * np.prod(self.thorax) * self.thorax_density)

    @property
    def thorax_inertia(self) -> np.ndarray:
        """About its centre, (3, 3) [kg m^2]."""
        squares = np.square(self.thorax)
        return 0.2 * self.thorax_mass * np.diag(squares.sum() - squares)

    def blade_mass(self, k: int) -> float:
        """Return that of blade k [kg]."""
        return float(self.wing_density * self.thickness * self.section * self.chords[k])

    def blade_inertia(self, k: int) -> np.ndarray:
        """Return that of blade k about its centre, (3, 3) [kg m^2]."""
        squares = np.square([self.section, self.thickness, self.chords[k]])
        return self.blade_mass(k) / 12.0 * np.diag(squares.sum() - squares)

    @property
    def mass(self) -> float:
        """Of all [kg]."""
        return self.thorax_mass + 2.0 * sum(self.blade_mass(k) for k in range(self.blades))

    def springs(self, k: int) -> tuple[float, float]:
        """Return the stiffness of twisting and bending before blade k (eqs. 12, 13)."""
        part = self.places[k] / self.span
        twisting, bending = (a + part * (b - a) for a, b in (self.twisting, self.bending))
        return twisting, bending

    def stroke(self, time: float) -> tuple[float, float, float]:
        """Return the angle of the right wing, its rate and acceleration."""
        phase = self.frequency * time
        return (self.amplitude * np.cos(phase),
                -self.amplitude * self.frequency * np.sin(phase),
                -self.amplitude * self.frequency ** 2 * np.cos(phase))

    def stations(self, k: int, side: float) -> list[Station]:
        """Return where the air acts on blade k: points of Gauss's rule along its leading edge."""
        chord = self.chords[k]
        centre = np.array([0.0, 0.0, -CENTRE_OF_PRESSURE * chord])
        m = np.zeros((3, 3))
        m[1, 1] = self.added_mass * FLAT_PLATE * self.air * chord ** 2  # w w^T
        T = np.hstack([np.eye(3), -hat(centre)])
        numbers = added_mass(T.T @ m @ T) + blade(self.air, chord, centre, UP, (0.0, 1.0, 0.0))
        x, w = np.polynomial.legendre.leggauss(POINTS)
        return [Station(pose((side * 0.5 * self.section * (1.0 + a), 0.0, 0.0)),
                        of_length(numbers, 0.5 * self.section * b)) for a, b in zip(x, w)]


SIDES = {'right': 1.0, 'left': -1.0}


# --- The paper's method --------------------------------------------------------------------------

class Flight(NamedTuple):
    """A flight by the paper's method, instant after instant."""

    time: np.ndarray      # (T,) [s]
    base: np.ndarray      # (T, 4, 4)
    twist: np.ndarray     # (T, 6)
    r: np.ndarray         # (T, N)
    r_t: np.ndarray       # (T, N)
    tau: np.ndarray       # (T, N)


class PaperVehicle:
    """
    The vehicle for the hybrid algorithm.

    Thorax, then the right wing, then the left one: stroke, bend, twist, bend, ... of each.
    """

    def __init__(self, vehicle: Vehicle, held: bool = False) -> None:
        self.vehicle, self.held = vehicle, held
        self.bodies = [Body(-1, np.eye(4), np.zeros(6), rigid_inertia(
            vehicle.thorax_mass, np.zeros(3), vehicle.thorax_inertia))]
        self.stations: dict[int, list[Station]] = {}
        stiffness = [0.0]
        for side in SIDES.values():
            before = 0
            at = pose((0.0, 0.0, vehicle.root * vehicle.thorax[2]))
            for k in range(vehicle.blades):
                twisting, bending = vehicle.springs(k)
                first = UP if k == 0 else SPAN
                self.bodies.append(Body(
                    before, at, np.array([0.0, 0.0, 0.0, *first]), np.zeros((6, 6))))
                stiffness.append(0.0 if k == 0 else twisting)
                centre = np.array([0.5 * side * vehicle.section, 0.0, -0.5 * vehicle.chords[k]])
                self.bodies.append(Body(
                    len(self.bodies) - 1, np.eye(4), np.array([0.0, 0.0, 0.0, *UP]),
                    rigid_inertia(vehicle.blade_mass(k), centre, vehicle.blade_inertia(k))))
                stiffness.append(bending)
                before, at = len(self.bodies) - 1, pose((side * vehicle.section, 0.0, 0.0))
                self.stations[before] = vehicle.stations(k, side)
        self.stiffness = np.array(stiffness)
        self.driven = {1: 1.0, 2 * vehicle.blades + 1: -1.0}

    def _outside(self, j: int, at: np.ndarray, twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        M, f = np.zeros((6, 6)), weight(GRAVITY, self.bodies[j].inertia, at)
        for station in self.stations.get(j, []):
            Ad = adjoint_se3(inverse_se3(station.pose))
            own = station.numbers[MASS:MASS + 36].reshape(6, 6)
            M += Ad.T @ own @ Ad
            f -= Ad.T @ blade_force(station.numbers, Ad @ twist)
        return M, f + kirchhoff(M, twist)

    def at(self, time: float, state: State) -> Outcome:
        """Return accelerations and torques."""
        told = np.zeros(len(self.bodies), dtype=bool)
        given = -self.stiffness * state.r - self.vehicle.damping * state.r_t
        for j, sign in self.driven.items():
            told[j], given[j] = True, sign * self.vehicle.stroke(time)[2]
        return hybrid(self.bodies, state, told, given, self._outside,
                      np.zeros(6) if self.held else None)

    def start(self, time: float) -> State:
        """Return the wings in a stroke, straight."""
        r, r_t = np.zeros((2, len(self.bodies)))
        for j, sign in self.driven.items():
            r[j], r_t[j] = (sign * a for a in self.vehicle.stroke(time)[:2])
        return State(np.eye(4), np.zeros(6), r, r_t)

    def fly(self, time: float, duration: float, dt: float = 1e-4) -> Flight:
        """Return a flight from `start`, by Runge and Kutta's classical scheme of order 4 [s]."""
        first, now, rows = time, self.start(time), []
        for i in range(round(duration / dt) + 1):
            time, stages = first + i * dt, [now]
            found = [self.at(time, now)]
            rows.append((time, now.base, now.base_twist, now.r, now.r_t, found[0].tau))
            for part in (0.5, 0.5, 1.0):
                stages.append(_moved(now, part * dt, stages[-1:], found[-1:], [1.0]))
                found.append(self.at(time + part * dt, stages[-1]))
            now = _moved(now, dt, stages, found, [1 / 6, 1 / 3, 1 / 3, 1 / 6])
        return Flight(*(np.array(column) for column in zip(*rows)))


def _moved(
    state: State, dt: float, stages: list[State], found: list[Outcome], weights: list[float],
) -> State:
    """Return a state after dt with the mean of the rates of stages."""
    twist, rate, r_t, r_tt = (
        np.tensordot(weights, np.array(rows), 1) for rows in (
            [a.base_twist for a in stages], [a.rates[0] for a in found],
            [a.r_t for a in stages], [a.r_tt for a in found]))
    return State(state.base @ exp_se3(dt * twist), state.base_twist + dt * rate,
                 state.r + dt * r_t, state.r_t + dt * r_tt)


def blade_force(numbers: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return lift and drag (6,) on a station, as section IV-B says it, with C_L, C_D and beta."""
    centre, t, w = (numbers[at:at + 3] for at in (CENTRE, FORWARD, NORMAL))
    V = twist[:3] + np.cross(twist[3:], centre)
    V = t * (t @ V) + w * (w @ V)
    speed = np.linalg.norm(V)
    if speed == 0.0:
        return np.zeros(6)
    v = V / speed
    w = -w if w @ v > 0.0 else w  # away from the side of pressure
    u = np.cross(v, np.cross(t, v))
    u = u / max(np.linalg.norm(u), np.finfo(float).tiny)
    beta = np.arctan2(-w @ v, -t @ v)
    lift = numbers[LIFT] * np.sin(2.0 * beta)
    drag = numbers[DRAG] - numbers[DRAG + 1] * np.cos(2.0 * beta)
    force = -numbers[BLADE] * speed ** 2 * (lift * u + drag * v)
    return np.concatenate([force, np.cross(centre, force)])
