"""
The wings of Porez's vehicle as Cosserat rods, which the paper has not: blades without end.

Table I is in `flapping_vehicle`, the vehicle with blades in `flapping_wing`.
"""

from __future__ import annotations

import numpy as np

from ..assembly.assembly import Assembly, Attachment, GROUND, Joint, pose, RigidBody, RodPart
from ..assembly.joint_kinds import Coordinate, JointKind
from ..assembly.solver import AssemblySolver
from ..description.modes import StrainModes
from ..description.rod import Damping, Material, Rod, Segment
from ..description.section import FreeSection
from ..laws.flow import added_mass, blade
from ..numerics.lie import hat
from .convergence import require
from .flapping_vehicle import CENTRE_OF_PRESSURE, FLAT_PLATE, SIDES, UP, Vehicle
from .hybrid_multibody import rigid_inertia

MARKER = 0.01              # depth below the leading edge of the tip that is compared [m]
ROD_AREA, ROD_DENSITY = 1e-6, 1e-6  # of a wing that is a rod: all of its mass is in its flow

SECTION_OF_ROD = {1.0: np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
                  -1.0: np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])}
"""Attitude of a wing's root: its z along the span, its y up."""


def rod_assembly_of(vehicle: Vehicle, segments: int = 8, modes: int = 2) -> Assembly:
    """
    Return the vehicle, held by its thorax and without gravity, with wings that are Cosserat rods.

    Stiffness is that of the springs times the length of a blade, EI = k_b l and GJ = k_t l, and
    damping is mu l likewise. The rod is the leading edge; its mass hangs below, and acts as added
    mass does.
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

    parts, viscosity = [], vehicle.damping * vehicle.section
    for s in 0.5 * (ends[:-1] + ends[1:]):
        GJ, EI = (vehicle.section * (a + s / vehicle.span * (b - a))
                  for a, b in (vehicle.twisting, vehicle.bending))
        parts.append(Segment(vehicle.span / segments, FreeSection(ROD_AREA, EI, EI, GJ),
                             Material(1.0, ROD_DENSITY, shear_modulus=1.0),
                             damping=Damping(bending_and_twist=(viscosity,) * 3)))
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
    Stroke wings that are rods; return what the right one does, (steps, 9).

    Per instant: stroke, twist and bending of its tip [rad], torque [N m] and power [W] of its
    motor, time [s]; where its tip is, `MARKER` below the leading edge, by which it shows the
    twist, too [m]. Twist and bending are curvature along all of the wing, as of blades they are
    the sums of all angles.
    """
    strokes = [solver.places.coordinates[f'{name}_stroke'][0] for name in SIDES]
    links = solver.places.rods['right']
    modes = (solver.tree.links.first[links[1]] - solver.tree.links.first[links[0]]) // 2
    mean = solver.tree.links.first[links]  # of bending on each element; of twist `modes` further
    tip, length, rows = links[-1], vehicle.span / len(links), []
    for _ in range(steps):
        angle = vehicle.stroke(solver.time + dt)[0]
        for at, sign in zip(strokes, SIDES.values()):
            solver.tree.coordinates.command[at] = sign * angle
        require(solver.step(dt))
        end, right = solver.refresh().end, strokes[0]
        torque = solver.work.effort[right]
        rows.append([
            solver.z[right], length * solver.z[mean + modes].sum(),
            length * solver.z[mean].sum(), torque, torque * solver.z_t[right], solver.time,
            *(end.p[tip] - MARKER * end.R[tip, :, 1])])
    return np.array(rows)


def root_force(solver: AssemblySolver) -> np.ndarray:
    """
    Return the force of the wings on their roots at the present instant, world frame, (3,) [N].

    Over a stroke that repeats itself its mean is that of the air, as there is no gravity.
    """
    roots = [links[0] for links in solver.places.rods.values()]
    return solver.refresh().passed[roots, :3].sum(axis=0)
