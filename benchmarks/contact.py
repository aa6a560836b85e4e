"""
Contact against theory: ropes, elasticae and rods in tubes, and what it costs.

    environment/enter python benchmarks/contact.py

Each line says what was found, over what it should be, with the reference derived here:

- a heavy rope over a drum: at the limit of friction ``dT = mu (T + w R sin) dtheta + w R cos
  dtheta`` along the drum gives the longest heavy side (that moves at most 5 mm here);
- an elastica pressed round a cylinder, as a boundary value problem with a free point of lift-off;
- the critical twist of a clamped rod (Greenhill), the force at which a rod in a horizontal tube
  buckles to a sine (Dawson and Paslay), and the tendon arm among posts.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import time
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from cosserat_ros.analysis.stability import assess
from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.assembly.solver import AssemblySolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import (
    Capsule,
    ContactProperties,
    Cylinder,
    Obstacle,
    Tube,
)
from cosserat_ros.description.parts import Pose
from cosserat_ros.description.robot import load
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.simulation.simulator import Simulator

CONFIG = Path(__file__).parent.parent / 'config'
GRAVITY = 9.81
SIDEWAYS = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # z of the rod along x


# --- A rope over a drum --------------------------------------------------------------------------

class Rope(NamedTuple):
    """A heavy rope over a drum."""

    drum: float = 0.05      # radius [m]
    radius: float = 1e-3    # of the rope [m]
    young: float = 3e5      # [Pa]
    density: float = 1e3    # [kg/m^3]
    light: float = 0.15     # side that hangs free [m]
    friction: float = 0.3

    @property
    def longest(self) -> float:
        """Heavy side that friction just holds, by integration along the drum [m]."""
        R, mu = self.drum + self.radius, self.friction

        def slope(angle: float, T: np.ndarray) -> np.ndarray:
            # Over the top from the light side: weight presses by sin, and pulls by cos.
            return mu * (T + R * np.sin(angle)) + R * np.cos(angle)

        return float(solve_ivp(slope, (0.0, np.pi), [self.light], rtol=1e-10, atol=1e-12).y[0, -1])


def rope_over_drum(factor: float, elements: int = 10) -> AssemblySolver:
    """Return a rope, laid on a drum without stretch, its heavy side `factor` times the longest."""
    rope = Rope()
    radius = rope.drum + rope.radius - 2e-6
    material = Material(rope.young, rope.density, poisson_ratio=0.5)
    rod = Rod(tuple(Segment(length, Circular(rope.radius), material) for length in (
        rope.light, np.pi * radius, factor * rope.longest)))
    modes = StrainModes(0, 0, 2, 0, 4, 0, elements=elements)
    in_plane = Joint(JointKind('planar', axis=(0.0, 1.0, 0.0)),
                     Attachment('ground', pose((-radius, 0.0, -rope.light))), Attachment('end'))
    solver = Assembly(
        {'end': RigidBody()},
        {'rope': RodPart(rod, modes, Attachment('end'), contact=ContactProperties(stiffness=1e5))},
        {'plane': in_plane}, gravity=(0.0, 0.0, -GRAVITY),
        obstacles={'drum': Obstacle(Cylinder(rope.drum), Pose((0.0, 0.0, 0.0), (
            np.pi / 2.0, 0.0, 0.0)), friction=rope.friction)}).solver()
    z = solver.z.copy()
    for link in solver.places.rods['rope'][elements:2 * elements]:
        z[solver.tree.links.first[link] + 2] = 1.0 / radius  # after two modes of stretch
    solver.set_state(z)
    return solver


def travel(solver: AssemblySolver, seconds: float, dt: float = 0.01) -> float:
    """Return how far an end of a link moves in a time, or until it has moved 5 mm [m]."""
    solver.refresh()
    start, moved = solver.work.end.p.copy(), 0.0
    for _ in range(round(seconds / dt)):
        if not solver.step(dt).converged:
            raise RuntimeError('a step failed')
        solver.refresh()
        moved = float(np.linalg.norm(solver.work.end.p - start, axis=1).max())
        if moved > 5e-3:
            break
    return moved


def slips(factor: float, more: float = 1.0, seconds: float = 2.0) -> float:
    """Return how far a rope slips that was laid down with `more` times its friction [m]."""
    solver = rope_over_drum(factor)
    solver.tree.contacts.friction[:] = more * Rope().friction
    if not solver.statics().converged:
        raise RuntimeError('the rope does not come to rest')
    solver.tree.contacts.friction[:] = Rope().friction
    return travel(solver, seconds)


# --- An elastica round a cylinder ----------------------------------------------------------------

class Pressed(NamedTuple):
    """A clamped rod whose tip is pulled round a cylinder that it touches at its base."""

    length: float = 0.3
    radius: float = 2e-3    # of the rod [m]
    drum: float = 0.08      # of the cylinder [m]
    young: float = 1e8      # [Pa]

    @property
    def bending(self) -> float:
        """EI [N m^2]."""
        return self.young * np.pi / 4.0 * self.radius ** 4


def lift_off(case: Pressed, force: float) -> tuple[float, np.ndarray]:
    """
    Return the arc length where the rod leaves the cylinder, and the place of its tip (2,).

    A dead force acts at the tip, along -y; the rod begins along x on top of the cylinder, which is
    below. On the arc the curvature is 1 / R; beyond, ``EI theta'' = F cos(theta)`` with the
    curvature continuous (no couple acts) and zero at the tip.
    """
    R, F, EI = case.drum + case.radius, force, case.bending

    def beyond(arc: float) -> np.ndarray:  # angle, curvature, x and y, (4, N)
        start = [arc / R, 1.0 / R, R * np.sin(arc / R), R * np.cos(arc / R)]
        return solve_ivp(
            lambda s, y: [y[1], -F / EI * np.cos(y[0]), np.cos(y[0]), -np.sin(y[0])],
            (arc, case.length), start, rtol=1e-11, atol=1e-13).y

    # The curvature falls to the tip; of a shorter arc it would fall below zero.
    arc = brentq(lambda a: beyond(a)[1].min(), 1e-6, 0.5 * np.pi * R, xtol=1e-13)
    return arc, beyond(arc)[2:, -1]


def pressed_rod(case: Pressed, force: float, elements: int = 24) -> AssemblySolver:
    """Return the rod of `lift_off` in equilibrium."""
    rod = Rod((Segment(case.length, Circular(case.radius), Material(
        case.young, 1e3, poisson_ratio=0.3)),))
    modes = StrainModes(0, 0, 0, 0, 3, 0, elements=elements)
    top = case.drum + case.radius
    solver = Assembly(
        rods={'rod': RodPart(rod, modes, Attachment('ground', pose((0.0, 0.0, top), SIDEWAYS)),
                             contact=ContactProperties(stiffness=1e8, spacing=1e-3))},
        obstacles={'drum': Obstacle(Cylinder(case.drum), Pose((0.0, 0.0, 0.0), (
            np.pi / 2.0, 0.0, 0.0)))}).solver()
    tip = solver.places.rods['rod'][-1]
    for part in np.linspace(0.1, 1.0, 10):
        solver.tree.bodies.force[tip] = 0.0, 0.0, -part * force
        if not solver.statics().converged:
            raise RuntimeError('no equilibrium')
    return solver


# --- Buckling ------------------------------------------------------------------------------------

def greenhill() -> float:
    """
    Return the twist at which a clamped rod loses its stability, over Greenhill's.

    Both ends clamped, one turned: ``M = 2 * 4.4934 EI / L`` (the first root of tan x = x), at a
    twist of M L / GJ.
    """
    rod = Rod((Segment(1.0, Circular(5e-3), Material(1e7, 1e3, poisson_ratio=0.3)),))
    root = brentq(lambda x: np.tan(x) - x, 4.4, 4.6)
    stiffness = rod.stiffness(np.array([0.5]))[0]
    critical = 2.0 * root * stiffness[3] / stiffness[5]
    turned = JointKind('cylindrical', axis=(0.0, 0.0, 1.0), coordinates=[
        Coordinate(), Coordinate(driven=True)])
    solver = Assembly(
        {'end': RigidBody()},
        {'rod': RodPart(rod, StrainModes(0, 0, 1, 5, 5, 1, elements=8), tip=Attachment('end'))},
        {'turn': Joint(turned, Attachment('ground', pose((0.0, 0.0, 1.0))), Attachment('end'))},
    ).solver()
    place = solver.places.coordinates['turn'][1]

    def margin(part: float) -> float:
        solver.tree.coordinates.command[place] = part * critical
        if not solver.statics().converged:
            raise RuntimeError('no equilibrium')
        return assess(solver).margin

    for part in np.linspace(0.1, 0.9, 9):
        margin(part)
    return float(brentq(margin, 0.9, 1.1, xtol=1e-5))


def sinusoidal(waves: int = 4) -> float:
    """
    Return the force at which a rod in a horizontal tube buckles to a sine, over its theory.

    ``2 sqrt(EI w / r)`` of a rod with the weight w and the clearance r (Dawson and Paslay 1984),
    hinged at the bottom of the tube, its length a multiple of the half wave pi (EI r / w)^(1/4).
    """
    radius, clearance, stiffness = 2e-3, 5e-3, 1e6
    material = Material(1e9, 8e3, poisson_ratio=0.3)
    EI, w = 1e9 * np.pi / 4.0 * radius ** 4, 8e3 * np.pi * radius ** 2 * GRAVITY
    length = waves * np.pi * (EI * clearance / w) ** 0.25
    critical = 2.0 * np.sqrt(EI * w / clearance)
    low = -clearance - w / stiffness
    slide = JointKind('prismatic', axis=(0.0, 0.0, 1.0), coordinates=[Coordinate()])
    solver = Assembly(
        {'end': RigidBody()},
        {'rod': RodPart(
            Rod((Segment(length, Circular(radius), material),)),
            StrainModes(0, 0, 0, 3, 3, 1, elements=6 * waves),
            Attachment('ground', pose((0.0, 0.0, low), SIDEWAYS)), Attachment('end'),
            JointKind('universal', (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), JointKind('spherical'),
            contact=ContactProperties(stiffness=stiffness, ends_at=0.999 * length))},
        {'slide': Joint(slide, Attachment('ground', pose((length, 0.0, low), SIDEWAYS)),
                        Attachment('end'))},
        gravity=(0.0, 0.0, -GRAVITY),
        obstacles={'tube': Obstacle(Tube(
            ((-0.1, 0.0, 0.0), (length + 0.1, 0.0, 0.0)), (radius + clearance,)))}).solver()
    place = solver.places.coordinates['slide'][0]

    def margin(part: float) -> float:
        solver.tree.coordinates.push[place] = -part * critical
        if not solver.statics().converged:
            raise RuntimeError('no equilibrium')
        return assess(solver).margin

    for part in (0.0, 0.5, 0.9):
        margin(part)
    return float(brentq(margin, 0.9, 1.1, xtol=1e-4))


# --- The tendon arm among posts ------------------------------------------------------------------

def arm_among_posts(near: bool = True) -> Simulator:
    """Return the tendon arm, its discs among 20 posts."""
    robot = load(CONFIG / 'tendon_arm.yaml')
    posts = {}
    rows = (0.08, 0.022), (0.12, 0.028), (0.16, 0.036), (0.2, 0.044)  # height, distance [m]
    for row, (height, away) in enumerate(rows):
        for k in range(5):
            angle = 2.0 * np.pi * (k + 0.5 * row) / 5.0
            d = away + (0.0 if near else 1.0)
            posts[f'post_{row}_{k}'] = Obstacle(
                Capsule(0.004, 0.02),
                Pose((d * np.cos(angle), d * np.sin(angle), height), (np.pi / 2.0, 0.0, angle)),
                friction=0.2)
    touching = ContactProperties(stiffness=1e6, radius=0.012)
    rods = {'backbone': replace(robot.rods['backbone'], contact=touching)}
    return Simulator(replace(robot, rods=rods, obstacles=posts),
                     StrainModes(0, 0, 1, 3, 3, 2, elements=4))


def driven(sim: Simulator, seconds: float = 20.0, dt: float = 1.0 / 60.0) -> tuple[float, ...]:
    """Return simulated over processor time, contacts per step, and depth over radius."""
    phases = np.random.default_rng(1).uniform(0.0, 2.0 * np.pi, (4, 2))
    spent, count, depth = 0.0, 0, 0.0
    for i in range(round(seconds / dt)):
        t = i * dt
        sim.command(**{f'tendon_{k + 1}': 2.5 * (
            1.0 + 0.6 * np.sin(1.3 * t + a) + 0.4 * np.sin(2.9 * t + b))
            for k, (a, b) in enumerate(phases)})
        begin = time.process_time()
        solution = sim.statics() if i == 0 else sim.step(dt)
        spent += time.process_time() - begin
        if not solution.converged:
            raise RuntimeError(solution.message)
        found = sim.solver.contacts()
        count += len(found)
        depth = max([depth, *(-c.gap for c in found)])
    return seconds / spent, count / round(seconds / dt), depth / 0.012


def main() -> None:
    """Print the table."""
    rope = Rope()
    mu, R = rope.friction, rope.drum + rope.radius
    closed = np.exp(mu * np.pi) * rope.light + R * 2.0 * mu / (1.0 + mu ** 2) * (
        np.exp(mu * np.pi) + 1.0)
    print(f'rope: longest side {rope.longest:.6f} m by integration, {closed:.6f} in closed form')
    for factor, more in ((0.98, 1.0), (1.02, 1.3)):
        found = rope_over_drum(factor).statics()
        print(f'rope at {factor}: {"an" if found.converged else "no"} equilibrium; laid down with '
              f'{more:g} times the friction, it moves {1e3 * slips(factor, more):.3g} mm in 2 s')
    case, force = Pressed(), 0.35
    arc, tip = lift_off(case, force)
    solver = pressed_rod(case, force)
    solver.refresh()
    found = solver.work.end.p[solver.places.rods['rod'][-1]][[0, 2]]
    last = max(c.s for c in solver.contacts())
    print(f'elastica: leaves at {last:.4f} m (exact {arc:.4f}), tip off by '
          f'{np.linalg.norm(found - tip) / case.length:.2e} of its length')
    print(f'twist at which a clamped rod buckles, over Greenhill: {greenhill():.4f}')
    print(f'force at which a rod in a tube buckles to a sine, over theory: {sinusoidal():.4f}')
    for near in (True, False):
        speed, count, depth = driven(arm_among_posts(near))
        print(f'arm among posts {"near" if near else "far"}: {speed:.0f} x real time, {count:.1f} '
              f'contacts, {100.0 * depth:.2f} % of its radius deep')


if __name__ == '__main__':
    main()
