r"""
The flapping vehicle of Porez 2014, section IV: by the paper's method, and on the engine.

A thorax with two wings of M blades each. The first joint of a wing strokes it about the vertical
axis, as told; blades bend about their chord and twist about the leading edge against springs.
Frames have x to the right (s of the paper), y ahead (n) and z up (a). A wing at rest stands
upright, its leading edge above.

Table I is followed, with l = S / M = 17.5 mm, where it prints 1.75. What the paper leaves open is
stated here: gravity is 9.81 m/s^2; X_j is the middle of a section, or where `section_place` says;
the stroke axis is vertical, through the wings' roots, which are alpha c above the thorax's centre
("ac from O_0 along s_0" would be outside of it); blades are rectangles. Its added mass rho pi c^2
is 4 times that of a flat plate: it is a factor here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..assembly.assembly import Assembly, Attachment, GROUND, Joint, pose, RigidBody, RodPart
from ..assembly.joint_kinds import Coordinate, JointKind
from ..assembly.solver import AssemblySolver
from ..description.modes import StrainModes
from ..description.rod import Material, Rod, Segment
from ..description.section import FreeSection
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
from ..numerics.lie import adjoint_se3, exp_se3, hat, inverse_se3, log_so3
from .hybrid_multibody import Body, hybrid, kirchhoff, Outcome, rigid_inertia, State, weight

GRAVITY = np.array([0.0, 0.0, -9.81])
POINTS = 6                 # of Gauss's rule along a blade
UP, SPAN = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
CENTRE_OF_PRESSURE = 0.4   # of the chord, from the leading edge
FLAT_PLATE = 0.25 * np.pi  # added mass per length, of rho c^2
MARKER = 0.01              # depth below the leading edge of the tip that is compared [m]
ROD_AREA, ROD_DENSITY = 1e-6, 1e-6  # of a wing that is a rod: all of its mass is in its flow
NEARLY_PERIODIC = 1e-7     # gap at which a hover is found
HOVER_INCREMENT = 1e-4     # of the finite differences of a hover


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

    def start(self) -> State:
        """Return the wings at the end of a stroke, straight and at rest."""
        r, r_t = np.zeros((2, len(self.bodies)))
        for j, sign in self.driven.items():
            r[j] = sign * self.vehicle.stroke(0.0)[0]
        return State(np.eye(4), np.zeros(6), r, r_t)

    def fly(self, duration: float, dt: float = 1e-4, state: State | None = None) -> Flight:
        """Return a flight, by Runge and Kutta's classical scheme of order 4."""
        now, rows = state or self.start(), []
        for i in range(round(duration / dt) + 1):
            time, stages = i * dt, [now]
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


# --- On the engine -------------------------------------------------------------------------------

class Wings(NamedTuple):
    """Places of the coordinates of each wing in z."""

    stroke: list[int]       # of right and left
    bend: np.ndarray        # (2, M)
    twist: np.ndarray       # (2, M - 1)


def assembly_of(vehicle: Vehicle, thorax: JointKind | None = None) -> Assembly:
    """
    Return the vehicle on the engine.

    Parameters
    ----------
    vehicle : Vehicle
    thorax : JointKind, optional
        How it moves on the ground; freely if left out.

    """
    bodies = {'thorax': RigidBody(vehicle.thorax_mass, vehicle.thorax_inertia)}
    joints = {} if thorax is None else {
        'thorax': Joint(thorax, Attachment(GROUND), Attachment('thorax'))}
    for name, side in SIDES.items():
        before = Attachment('thorax', pose((0.0, 0.0, vehicle.root * vehicle.thorax[2])))
        for k in range(vehicle.blades):
            twisting, bending = vehicle.springs(k)
            first = Coordinate(position=side * vehicle.amplitude, driven=True) if k == 0 else (
                Coordinate(twisting, vehicle.damping))
            bodies[f'{name}_hinge_{k}'] = RigidBody()
            centre = (0.5 * side * vehicle.section, 0.0, -0.5 * vehicle.chords[k])
            bodies[f'{name}_{k}'] = RigidBody(
                vehicle.blade_mass(k), vehicle.blade_inertia(k), centre,
                flow=vehicle.stations(k, side))
            kind = JointKind('revolute', UP if k == 0 else SPAN, coordinates=[first])
            joints[f'{name}_stroke' if k == 0 else f'{name}_twist_{k}'] = Joint(
                kind, before, Attachment(f'{name}_hinge_{k}'))
            bend = JointKind('revolute', UP, coordinates=[Coordinate(bending, vehicle.damping)])
            joints[f'{name}_bend_{k}'] = Joint(
                bend, Attachment(f'{name}_hinge_{k}'), Attachment(f'{name}_{k}'))
            before = Attachment(f'{name}_{k}', pose((side * vehicle.section, 0.0, 0.0)))
    return Assembly(bodies, {}, joints, GRAVITY)


def wings_of(vehicle: Vehicle, solver: AssemblySolver) -> Wings:
    """Return where the wings' coordinates are."""
    at = solver.places.coordinates
    return Wings(
        [at[f'{name}_stroke'][0] for name in SIDES],
        np.array([[at[f'{name}_bend_{k}'][0] for k in range(vehicle.blades)] for name in SIDES]),
        np.array([[at[f'{name}_twist_{k}'][0] for k in range(1, vehicle.blades)]
                  for name in SIDES]))


def flap(vehicle: Vehicle, solver: AssemblySolver, steps: int, dt: float) -> np.ndarray:
    """
    Stroke the wings for some steps of dt [s]; return what they do, (steps, 6 + 6).

    Per instant: stroke, twist and bending of the right wing's tip [rad], torque [N m] and power
    [W] of its motor, time [s]; position [m] and rotation vector [rad] of the thorax.
    """
    wings, rows = wings_of(vehicle, solver), []
    link = solver.places.bodies['thorax'].link
    for _ in range(steps):
        angle = vehicle.stroke(solver.time + dt)[0]
        for at, sign in zip(wings.stroke, SIDES.values()):
            solver.tree.coordinates.command[at] = sign * angle
        if not solver.step(dt).converged:
            raise RuntimeError(f'no step at {solver.time:g} s')
        end, right = solver.refresh().end, wings.stroke[0]
        torque = solver.work.effort[right]
        rows.append([
            solver.z[right], solver.z[wings.twist[0]].sum(), solver.z[wings.bend[0]].sum(), torque,
            torque * solver.z_t[right], solver.time, *end.p[link], *log_so3(end.R[link])])
    return np.array(rows)


def air_force(solver: AssemblySolver) -> np.ndarray:
    """Return the force of the air on the vehicle at the present instant, world frame, (3,) [N]."""
    return solver.refresh().flowing.wrench[:, :3].sum(axis=0)


def air_power(solver: AssemblySolver) -> float:
    """Return the power of the air on the vehicle at the present instant [W]."""
    work = solver.refresh()
    return float((work.flowing.wrench[:, :3] * work.end.p_t).sum()
                 + (work.flowing.wrench[:, 3:] * work.end.Om).sum())


def damping_power(vehicle: Vehicle, solver: AssemblySolver) -> float:
    """Return the power of the joints' dampers at the present instant [W]."""
    wings = wings_of(vehicle, solver)
    rates = solver.z_t[np.concatenate([wings.bend.ravel(), wings.twist.ravel()])]
    return float(-vehicle.damping * np.sum(rates ** 2))


# --- Wings as rods -------------------------------------------------------------------------------

SECTION_OF_ROD = {1.0: np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
                  -1.0: np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])}
"""Attitude of a wing's root: its z along the span, its y up."""


def rod_assembly_of(vehicle: Vehicle, segments: int = 8, modes: int = 2) -> Assembly:
    """
    Return the vehicle, held by its thorax and without gravity, with wings that are Cosserat rods.

    Stiffness is that of the springs times the length of a blade, EI = k_b l and GJ = k_t l; there
    is no damping. The rod is the leading edge; its mass hangs below, and acts as added mass does.
    """
    bodies: dict[str, RigidBody] = {}
    joints: dict[str, Joint] = {}
    rods: dict[str, RodPart] = {}
    ends = np.linspace(0.0, vehicle.span, segments + 1)

    def flow_of(s: float) -> np.ndarray:
        chord = vehicle.chord * np.sqrt(1.0 - (s / vehicle.span) ** 2)
        mass = vehicle.wing_density * vehicle.thickness * chord
        own = rigid_inertia(mass, np.array([0.0, -0.5 * chord, 0.0]),
                            mass * chord ** 2 / 12.0 * np.diag([1.0, 0.0, 1.0]))
        centre = np.array([0.0, -CENTRE_OF_PRESSURE * chord, 0.0])
        T = np.hstack([np.eye(3), -hat(centre)])
        m = np.zeros((3, 3))
        m[0, 0] = vehicle.added_mass * FLAT_PLATE * vehicle.air * chord ** 2
        return added_mass(own + T.T @ m @ T) + blade(
            vehicle.air, chord, centre, (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))

    parts = []
    for s in 0.5 * (ends[:-1] + ends[1:]):
        GJ, EI = (vehicle.section * (a + s / vehicle.span * (b - a))
                  for a, b in (vehicle.twisting, vehicle.bending))
        parts.append(Segment(vehicle.span / segments, FreeSection(ROD_AREA, EI, EI, GJ),
                             Material(1.0, ROD_DENSITY, shear_modulus=1.0)))
    for name, side in SIDES.items():
        bodies[f'{name}_root'] = RigidBody()
        joints[f'{name}_stroke'] = Joint(
            JointKind('revolute', UP, coordinates=[
                Coordinate(position=side * vehicle.amplitude, driven=True)]),
            Attachment(GROUND, pose((0.0, 0.0, vehicle.root * vehicle.thorax[2]))),
            Attachment(f'{name}_root'))
        rods[name] = RodPart(
            Rod(tuple(parts)), StrainModes(0, 0, 0, 0, modes, modes),
            Attachment(f'{name}_root', pose(R=SECTION_OF_ROD[side])), flow=flow_of)
    return Assembly(bodies, rods, joints)


def flap_rods(vehicle: Vehicle, solver: AssemblySolver, steps: int, dt: float) -> np.ndarray:
    """
    Stroke wings that are rods; return what the right one does, (steps, 6).

    Stroke, torque and power of its motor, and where its tip is. That is `MARKER` below the
    leading edge, by which it shows the twist, too [rad, N m, W, m].
    """
    strokes = [solver.places.coordinates[f'{name}_stroke'][0] for name in SIDES]
    tip, rows = solver.places.rods['right'][-1], []
    for _ in range(steps):
        angle = vehicle.stroke(solver.time + dt)[0]
        for at, sign in zip(strokes, SIDES.values()):
            solver.tree.coordinates.command[at] = sign * angle
        if not solver.step(dt).converged:
            raise RuntimeError(f'no step at {solver.time:g} s')
        end, right = solver.refresh().end, strokes[0]
        torque = solver.work.effort[right]
        rows.append([solver.z[right], torque, torque * solver.z_t[right],
                     *(end.p[tip] - MARKER * end.R[tip, :, 1])])
    return np.array(rows)


# --- Hovering ------------------------------------------------------------------------------------

IN_ITS_PLANE = JointKind('planar', (1.0, 0.0, 0.0))  # slides up and back, and pitches


class Hover(NamedTuple):
    """A flight that repeats itself after each stroke, from the middle of one on."""

    vehicle: Vehicle       # with the amplitude that it takes
    z: np.ndarray          # at the start
    z_t: np.ndarray
    gap: float             # by which it does not repeat, of rad, m, and these per 1 / omega


class _Symmetric(NamedTuple):
    """Unknowns of a hover: what both wings and the thorax do in the plane of symmetry."""

    solver: AssemblySolver
    wings: Wings
    thorax: list[int]

    def put(self, vehicle: Vehicle, x: np.ndarray) -> None:
        """Set the state from the passive wing's, then pitch and the thorax's rates; at T / 4."""
        M, wings = vehicle.blades, self.wings
        z, z_t = np.zeros((2, self.solver.Z))
        for k, side in enumerate(SIDES.values()):
            z[wings.stroke[k]], z_t[wings.stroke[k]] = (
                side * a for a in vehicle.stroke(0.25 * vehicle.period)[:2])
            z[wings.bend[k]], z[wings.twist[k]] = side * x[:M], x[M:2 * M - 1]
            z_t[wings.bend[k]], z_t[wings.twist[k]] = (
                vehicle.frequency * side * x[2 * M - 1:3 * M - 1],
                vehicle.frequency * x[3 * M - 1:4 * M - 2])
        z[self.thorax[2]] = x[-4]
        z_t[self.thorax] = vehicle.frequency * x[-3:]
        self.solver.time = 0.25 * vehicle.period
        self.solver.tree.coordinates.command[wings.stroke] = z[wings.stroke]
        self.solver.set_state(z, z_t)
        if not self.solver.start():
            raise RuntimeError('no accelerations at the start')

    def get(self, vehicle: Vehicle) -> np.ndarray:
        """Return these unknowns as they are now."""
        z, z_t, wings = self.solver.z, self.solver.z_t, self.wings
        return np.concatenate([
            z[wings.bend[0]], z[wings.twist[0]], z_t[wings.bend[0]] / vehicle.frequency,
            z_t[wings.twist[0]] / vehicle.frequency, z[self.thorax[2:]],
            z_t[self.thorax] / vehicle.frequency])


def fly_on(found: Hover) -> AssemblySolver:
    """Return a solver at the start of a hover."""
    solver = assembly_of(found.vehicle, IN_ITS_PLANE).solver()
    wings = wings_of(found.vehicle, solver)
    solver.tree.coordinates.command[wings.stroke] = found.z[wings.stroke]
    solver.time = 0.25 * found.vehicle.period
    solver.set_state(found.z, found.z_t)
    if not solver.start():
        raise RuntimeError('no accelerations at the start')
    return solver


def hover(vehicle: Vehicle, dt: float = 2e-4, strokes: int = 3, iterations: int = 6) -> Hover:
    """
    Return the flight that repeats itself, and the amplitude of stroke with which it does.

    By symmetry of the two halves of a stroke, nothing drives the vehicle ahead on average; that it
    does not sink asks for one amplitude. Newton's method on one stroke, from that of the held
    thorax after a few.
    """
    steps = round(vehicle.period / dt)
    held = assembly_of(vehicle, JointKind()).solver()
    start = _Symmetric(held, wings_of(vehicle, held), [0, 0, 0])
    held.start()
    flap(vehicle, held, strokes * steps + steps // 4, dt)
    solver = assembly_of(vehicle, IN_ITS_PLANE).solver()
    flight = _Symmetric(solver, wings_of(vehicle, solver), solver.places.coordinates['thorax'])
    x = np.append(start.get(vehicle)[:4 * vehicle.blades - 2], [0.0, 0.0, 0.0, 0.0, 1.0])

    def miss(x: np.ndarray) -> np.ndarray:
        here = replace(vehicle, amplitude=x[-1] * vehicle.amplitude)
        flight.put(here, x[:-1])
        flap(here, solver, steps, dt)
        return np.append(flight.get(here) - x[:-1], solver.z[flight.thorax[0]] / vehicle.span)

    for _ in range(iterations):
        gap = miss(x)
        if np.abs(gap).max() < NEARLY_PERIODIC:
            break
        J = np.column_stack([
            (miss(x + h) - gap) / HOVER_INCREMENT for h in HOVER_INCREMENT * np.eye(x.size)])
        x = x - np.linalg.solve(J, gap)
    gap = miss(x)
    here = replace(vehicle, amplitude=x[-1] * vehicle.amplitude)
    flight.put(here, x[:-1])
    return Hover(here, solver.z.copy(), solver.z_t.copy(), float(np.abs(gap).max()))
