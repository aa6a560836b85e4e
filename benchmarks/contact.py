"""
Contact against theory: ropes, elasticae and rods in tubes, and what it costs.

    environment/enter python benchmarks/contact.py

Each line says what was found, over what it should be, with the reference derived here:

- a heavy rope over a drum: at the limit of friction ``dT = mu (T + w R sin) dtheta + w R cos
  dtheta`` along the drum gives the longest heavy side (that moves at most 5 mm here);
- an elastica pressed round a cylinder, as a boundary value problem with a free point of lift-off;
- the critical twist of a clamped rod (Greenhill), the forces at which a rod in a horizontal tube
  buckles to a sine (Dawson and Paslay) and to a helix (Chen, Lin and Cheatham);
- the tendon arm in a cage of 20 posts that squeeze it all the time, among posts that it hits and
  leaves, and with posts far away, against the same arm without any contact. Posts are anywhere
  between the points at which contact is looked for; depths are those of the curve, at SEEN points.
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


def pressed_rod(case: Pressed, force: float, elements: int = 96) -> AssemblySolver:
    """Return the rod of `lift_off` in equilibrium."""
    rod = Rod((Segment(case.length, Circular(case.radius), Material(
        case.young, 1e3, poisson_ratio=0.3)),))
    modes = StrainModes(0, 0, 0, 0, 3, 0, elements=elements)
    top = case.drum + case.radius
    solver = Assembly(
        rods={'rod': RodPart(rod, modes, Attachment('ground', pose((0.0, 0.0, top), SIDEWAYS)),
                             contact=ContactProperties(stiffness=1e11, spacing=2.5e-4))},
        obstacles={'drum': Obstacle(Cylinder(case.drum), Pose((0.0, 0.0, 0.0), (
            np.pi / 2.0, 0.0, 0.0)))}).solver()
    tip = solver.places.rods['rod'][-1]
    for part in np.linspace(0.1, 1.0, 10):
        solver.tree.bodies.force[tip] = 0.0, 0.0, -part * force
        if not solver.statics().converged:
            raise RuntimeError('no equilibrium')
    return solver


def force_of_lift_off(solver: AssemblySolver, case: Pressed) -> tuple[float, float]:
    """
    Return the arc length where a rod leaves the cylinder, and the force concentrated there [N].

    On the arc no shear acts: the pressure is p = T / R, with the tension T at the root. A force P
    at the end l of the arc balances the shear beyond, ``F cos(l / R)``. P and l follow from the
    sum and the first moment of what presses on the outer half of the arc, from h on: ``P + p (l -
    h)`` and ``P l + p (l^2 - h^2) / 2``. The elastic contact spreads P over some points.
    """
    found = solver.contacts()
    s, force = np.array([(c.s, np.linalg.norm(c.force)) for c in found]).T
    p = solver.work.passed[solver.places.rods['rod'][0]][0] / (case.drum + case.radius)
    first = int(np.searchsorted(s, 0.5 * s[-1]))
    h = 0.5 * (s[first - 1] + s[first])
    total, moment = force[first:].sum(), force[first:] @ s[first:]
    arc = brentq(lambda x: (total - p * (x - h)) * x + 0.5 * p * (x * x - h * h) - moment,
                 h, 1.2 * s[-1])
    return float(arc), float(total - p * (arc - h))


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


class Helix(NamedTuple):
    """A rod in equilibrium as a helix in a horizontal tube, under a dead force at its end."""

    solver: AssemblySolver
    slide: int       # coordinate of its end along the tube
    weight: float    # per length [N/m]
    length: float    # [m]
    low: float       # height of its ends [m]
    critical: float  # force [N]

    def potential(self, part: float) -> float:
        """Return its energy at a part of the critical force, less that of a straight rod [J]."""
        self.solver.tree.coordinates.push[self.slide] = -part * self.critical
        if not self.solver.statics().converged:
            raise RuntimeError('no equilibrium')
        energy = self.solver.energy()
        return (energy.strain + energy.gravity - self.weight * self.length * self.low
                + part * self.critical * self.solver.z[self.slide])


def helix_in_tube(turns: int) -> Helix:
    """Return a rod that lies as a helix in a tube, its hinged ends at the bottom."""
    radius, r, per_turn = 2e-3, 5e-3, 16
    material = Material(1e9, 8e3, poisson_ratio=0.3)
    EI, w = 1e9 * np.pi / 4.0 * radius ** 4, 8e3 * np.pi * radius ** 2 * GRAVITY
    critical = np.sqrt(8.0 * EI * w / r)
    b = np.sqrt(critical / (2.0 * EI))  # angle per length of the tube
    stretch = 1.0 + (r * b) ** 2
    tube = turns * 2.0 * np.pi / b
    length = tube * np.sqrt(stretch)
    slide = JointKind('prismatic', axis=(0.0, 0.0, 1.0), coordinates=[Coordinate()])
    solver = Assembly(
        {'end': RigidBody()},
        {'rod': RodPart(
            Rod((Segment(length, Circular(radius), material),)),
            StrainModes(0, 0, 0, 3, 3, 1, elements=per_turn * turns),
            Attachment('ground', pose((0.0, 0.0, -r), SIDEWAYS)), Attachment('end'),
            JointKind('universal', (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), JointKind('spherical'),
            contact=ContactProperties(stiffness=1e5, ends_at=0.999 * length))},
        {'slide': Joint(slide, Attachment('ground', pose((length, 0.0, -r), SIDEWAYS)),
                        Attachment('end'))},
        gravity=(0.0, 0.0, -GRAVITY),
        obstacles={'tube': Obstacle(Tube(
            ((-0.1, 0.0, 0.0), (length + 0.1, 0.0, 0.0)), (radius + r,)))}).solver()
    # The curvature r b^2 / stretch of a helix, which turns without twist by its torsion.
    z, (x, weight) = solver.z.copy(), np.polynomial.legendre.leggauss(8)
    P = weight[:, None] * np.polynomial.legendre.legvander(x, 2) * (np.arange(3) + 0.5)
    for i, link in enumerate(solver.places.rods['rod']):
        angle = b / stretch * length / (per_turn * turns) * (i + 0.5 + 0.5 * x)
        first = solver.tree.links.first[link]
        z[first:first + 3] = r * b ** 2 / stretch * np.sin(angle) @ P
        z[first + 3:first + 6] = -r * b ** 2 / stretch * np.cos(angle) @ P
    place = solver.places.coordinates['slide'][0]
    z[place] = tube - length
    z[solver.places.coordinates['rod.base'][0]] = -np.arctan(r * b)
    solver.set_state(z)
    return Helix(solver, place, w, length, -r, critical)


def helical() -> float:
    """
    Return the force at which a helix in a tube has the energy of a straight rod, over theory.

    ``2 sqrt 2 sqrt(EI w / r)`` (Chen, Lin and Cheatham 1990): of a long rod under a dead force F,
    a helix with the angle b per length has the energy ``EI r^2 b^4 / 2 - F r^2 b^2 / 2 + w r`` per
    length above the straight one at the bottom. It is least for ``b^2 = F / (2 EI)``, and 0 there
    if ``F^2 = 8 EI w / r``. This compares energies; along a path of loads a rod may stay a sine
    beyond. Ends are no part of it: the energy of one more turn is what counts, between rods of 3
    and 4 turns. In that theory the helix is even. That the weight makes it uneven lowers the
    force: with the angle ``b x + A sin(b x)`` by 1.2 %, to second order in A.
    """
    short, long = helix_in_tube(3), helix_in_tube(4)

    def one_turn(part: float) -> float:
        return long.potential(part) - short.potential(part)

    return float(brentq(one_turn, 1.0, 0.95, xtol=1e-4))


# --- The tendon arm among posts ------------------------------------------------------------------

MODES = StrainModes(0, 0, 1, 3, 3, 2, elements=4)
DISC = 0.012  # radius of the arm's discs [m]
POST = 0.004  # radius of a post [m]
HALF = 0.01   # of its length, without the round ends [m]
SEEN = 1201   # points of the arm at which its depth is measured


def _among(posts: dict[str, Obstacle], stiffness: float) -> Simulator:
    robot = load(CONFIG / 'tendon_arm.yaml')
    touching = ContactProperties(stiffness=stiffness, radius=DISC)
    rods = {'backbone': replace(robot.rods['backbone'], contact=touching)}
    return Simulator(replace(robot, rods=rods, obstacles=posts), MODES)


def _post(height: float, away: float, angle: float) -> Obstacle:
    return Obstacle(
        Capsule(POST, 2.0 * HALF),
        Pose((away * np.cos(angle), away * np.sin(angle), height), (np.pi / 2.0, 0.0, angle)),
        friction=0.2)


def arm_alone() -> Simulator:
    """Return the tendon arm without obstacles and contact."""
    return Simulator(load(CONFIG / 'tendon_arm.yaml'), MODES)


def arm_in_cage(squeezed: float = 8e-5) -> Simulator:
    """Return the tendon arm, five of its discs between four posts each that squeeze them [m]."""
    return _among({f'post_{row}_{k}': _post(
        0.027 + 0.0437 * row, DISC + POST - squeezed, 0.5 * np.pi * k)
        for row in range(5) for k in range(4)}, 1e8)


def arm_among_posts(near: bool = True) -> Simulator:
    """Return the tendon arm among 20 posts that it hits and leaves, or all a metre farther."""
    rows = (0.08, 0.022), (0.12, 0.028), (0.16, 0.036), (0.2, 0.044)  # height, distance [m]
    return _among({f'post_{row}_{k}': _post(
        height, away + (0.0 if near else 1.0), 2.0 * np.pi * (k + 0.5 * row) / 5.0)
        for row, (height, away) in enumerate(rows) for k in range(5)}, 5e6)


def deepest(sim: Simulator) -> float:
    """Return how deep the curve of an arm with discs is in posts, not at points of contact [m]."""
    posts = np.array([obstacle.pose.matrix() for obstacle in sim.obstacles.values()])
    s = np.linspace(0.0, sim.robot.rods['backbone'].length, SEEN)
    p = sim.shape()['backbone'].poses_at(s)[:, None, :3, 3] - posts[:, :3, 3]
    along = np.clip(np.einsum('spi,pi->sp', p, posts[:, :3, 2]), -HALF, HALF)
    away = np.linalg.norm(p - along[..., None] * posts[:, :3, 2], axis=2)
    return float(DISC + POST - away.min())


def driven(
    sim: Simulator, seconds: float = 20.0, dt: float = 1.0 / 60.0, looks: bool = True,
) -> tuple[float, ...]:
    """Return simulated over processor time of steps, posts touched per step, depth over radius."""
    phases = np.random.default_rng(1).uniform(0.0, 2.0 * np.pi, (4, 2))
    spent, count, depth = 0.0, 0, 0.0
    for i in range(round(seconds / dt)):
        t = i * dt
        sim.command(**{f'tendon_{k + 1}': 2.5 * (
            1.0 + 0.6 * np.sin(1.3 * t + a) + 0.4 * np.sin(2.9 * t + b))
            for k, (a, b) in enumerate(phases)})
        begin = time.process_time()
        solution = sim.statics() if i == 0 else sim.step(dt)
        spent += time.process_time() - begin if i > 0 else 0.0
        if not solution.converged:
            raise RuntimeError(solution.message)
        if looks:
            count += len({c.obstacle for c in sim.solver.contacts()})
            depth = max(depth, deepest(sim))
    return i * dt / spent, count / (i + 1), depth / DISC


def beside(seconds: float = 1.0, rounds: int = 200) -> tuple[float, float]:
    """Return the speeds of the arm alone and with posts far away, best of rounds in turn."""
    arms = arm_alone(), arm_among_posts(near=False)
    speeds = [[driven(arm, seconds, looks=False)[0] for arm in arms] for _ in range(rounds)]
    alone, far = np.max(speeds, axis=0)
    return float(alone), float(far)


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
    end, pressed = force_of_lift_off(solver, case)
    exact = force * np.cos(arc / (case.drum + case.radius))
    print(f'elastica: leaves at {end:.5f} m (exact {arc:.5f}) with a force of {pressed:.5f} N '
          f'(exact {exact:.5f}), tip off by {np.linalg.norm(found - tip) / case.length:.1e} of '
          'its length')
    print(f'twist at which a clamped rod buckles, over Greenhill: {greenhill():.4f}')
    print(f'force at which a rod in a tube buckles to a sine, over theory: {sinusoidal():.4f}')
    print(f'force at which a helix is worth it, over theory: {helical():.4f}')
    for name, arm in (('in a cage', arm_in_cage()), ('among posts', arm_among_posts())):
        speed, count, depth = driven(arm)
        print(f'arm {name}: {speed:.0f} x real time, {count:.1f} posts touched, at most '
              f'{100.0 * depth:.2f} % of its radius deep')
    alone, far = beside()
    print(f'arm alone: {alone:.0f} x real time; with 20 posts far away: {far:.0f} x, a ratio of '
          f'{far / alone:.3f}')


if __name__ == '__main__':
    main()
