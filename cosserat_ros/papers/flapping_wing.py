"""
The flapping vehicle of Porez 2014 on the engine: held or free, and its hover.

Table I and what the paper leaves open are in `flapping_vehicle`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..assembly.assembly import Assembly, Attachment, GROUND, Joint, pose, RigidBody
from ..assembly.joint_kinds import Coordinate, JointKind
from ..assembly.solver import AssemblySolver
from ..checks.errors import NotConverged
from ..numerics.lie import log_so3
from .convergence import require
from .flapping_vehicle import GRAVITY, SIDES, SPAN, UP, Vehicle

NEARLY_PERIODIC = 1e-7     # gap at which a hover is found
HOVER_INCREMENT = 1e-4     # of the finite differences of a hover


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
        require(solver.step(dt))
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
        started = self.solver.start()
        if not started:
            raise NotConverged(started.message)

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
    started = solver.start()
    if not started:
        raise NotConverged(started.message)
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
