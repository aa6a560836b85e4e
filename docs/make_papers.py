"""
Draw the pictures of papers.md and those of gaits in robots.md, one function each.

Run by `make docs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use('Agg')

from matplotlib.axes import Axes  # noqa: E402 - after the choice of a backend
import matplotlib.pyplot as plt  # noqa: E402
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # noqa: E402
import numpy as np  # noqa: E402

from cosserat_ros.analysis.inverse_dynamics import PrescribedRod  # noqa: E402
from cosserat_ros.assembly.joint_kinds import JointKind  # noqa: E402
from cosserat_ros.assembly.one_rod import RodSolver  # noqa: E402
from cosserat_ros.assembly.solver import AssemblySolver  # noqa: E402
from cosserat_ros.description.modes import StrainModes  # noqa: E402
from cosserat_ros.description.robot import load  # noqa: E402
from cosserat_ros.laws.actuators import given_efforts  # noqa: E402
from cosserat_ros.papers import (  # noqa: E402
    boyer2020,
    boyer2023,
    flapping_rods,
    flapping_wing,
    flexion_torsion,
    surmont_cases,
    swimmer,
)
from cosserat_ros.papers.flapping_vehicle import SIDES, Vehicle  # noqa: E402
from cosserat_ros.papers.mrp_shooting import MrpSolution  # noqa: E402
from cosserat_ros.rod.discretisation import discretise  # noqa: E402
from cosserat_ros.rod.kinematics import kinematics  # noqa: E402
from cosserat_ros.simulation.simulator import Simulator  # noqa: E402

DOCS = Path(__file__).resolve().parent
CONFIG = DOCS.parent / 'config'


def fine(modes: StrainModes) -> StrainModes:
    """Return modes with enough nodes for a smooth line."""
    return replace(modes, nodes=30)


def shape(solver: RodSolver) -> np.ndarray:
    """Return the centre line of a rod (k, 3) [m], from its base to its tip."""
    x = solver.state()
    return np.vstack([solver.base().p, x.p, x.p_end[-1]])


def moved(
    solver: RodSolver, times: np.ndarray, dt: float,
    tell: Callable[[float], None] = lambda t: None,
) -> Iterator[np.ndarray]:
    """Yield the centre line at times [s], multiples of dt."""
    solver.start()
    for t in times:
        while solver.time < t - 0.5 * dt:
            tell(solver.time + dt)
            solver.step(dt)
        yield shape(solver)


def label(axes: Axes, title: str, along: str = 'z [m]', across: str = 'x [m]') -> None:
    """Write on a panel what it shows, with equal scales."""
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(along, fontsize=8)
    axes.set_ylabel(across, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.set_aspect('equal', adjustable='datalim')


def draw_boyer2020() -> None:
    """Draw the systems of Boyer 2020 but test 3, one panel each."""
    figure, ((torque, follower, cables), (release, string, floating)) = plt.subplots(
        2, 3, figsize=(9.0, 5.6), layout='constrained')
    for solver in boyer2020.rolled_by_a_torque(modes=fine(boyer2020.TORQUE_MODES)):
        p = shape(solver)
        torque.plot(p[:, 2], (p[:, 0] - p[:, 1]) / np.sqrt(2.0))
    label(torque, 'test 1: torque, 1 to 5 N m', across='(x - y) / sqrt 2 [m]')
    pushed = boyer2020.pushed_across(modes=fine(boyer2020.FOLLOWER_MODES))
    for solver, force in zip(pushed, boyer2020.FORCES):
        if force % 26e3 < 5e3:
            p = shape(solver)
            follower.plot(p[:, 2], p[:, 0])
    label(follower, 'test 2: follower force to 130 kN')
    for route in boyer2020.ROUTES:
        breaks = (0.5,) if 'truncated' in route else ()
        solver = boyer2020.cable_arm(route, fine(StrainModes(0, 0, 0, 8, 8, 8)), breaks)
        solver.drive(given_efforts(np.array([5.0])))
        solver.statics()
        p = shape(solver)
        cables.plot(p[:, 2], p[:, 0], label=route)
    cables.legend(fontsize=6)
    label(cables, 'table I: cables, 5 N')
    rolled = boyer2020.released(5.4, fine(boyer2020.RELEASE_MODES))
    for p in moved(rolled, np.arange(0.0, 0.42, 0.06), 1e-3):
        release.plot(p[:, 2], p[:, 0])
    label(release, 'test 4: released, each 60 ms')
    times = np.arange(0.0, 1.01, 0.1)
    pendulum = boyer2020.string_pendulum(fine(boyer2020.FLOATING_MODES))
    for p in moved(pendulum, times, 1e-3):
        string.plot(p[:, 1], p[:, 0])
    string.invert_yaxis()
    label(string, 'test 5: string, each 0.1 s', 'y [m]', 'down [m]')
    solver, tell = boyer2020.floating_rod(fine(boyer2020.FLOATING_MODES))
    for p in moved(solver, np.arange(0.3, 0.61, 0.05), 1e-3, tell):
        floating.plot(p[:, 2], 100.0 * p[:, 0])
    label(floating, 'test 6: floating, each 50 ms', across='x [cm]')
    floating.set_aspect('auto')
    figure.savefig(DOCS / 'boyer2020.png', dpi=100)


def draw_boyer2023() -> None:
    """Draw the systems of Boyer 2023 but the swimmer, one panel each."""
    figure, ((tendon, release), (soft, stick)) = plt.subplots(
        2, 2, figsize=(9.0, 6.0), layout='constrained')
    for route, color in zip(boyer2023.ROUTES, ('C0', 'C1')):
        arm = boyer2023.tendon_arm(route, fine(boyer2023.MODES))
        for i, tension in enumerate(boyer2023.TENSIONS):
            arm.drive(given_efforts(np.array([tension])))
            arm.statics()
            p = shape(arm)
            tendon.plot(p[:, 2], p[:, 0], color=color, label='' if i else route)
    tendon.legend(fontsize=7)
    label(tendon, 'test 1: a tendon pulls, to 67.5 N')
    times = np.arange(0.0, 1.0, 5e-3)
    tips = np.array([p[-1] for p in moved(boyer2023.cut_tendon(), times, 1e-3)])
    release.plot(times, tips[:, 0])
    label(release, 'test 2a: released from 15 N, its tip', 'time [s]')
    release.set_aspect('auto')
    sideways = boyer2023.pulled_sideways(fine(boyer2023.SOFT_MODES))
    for p in moved(sideways, np.arange(0.0, 0.41, 0.05), 1e-3):
        soft.plot(p[:, 2], p[:, 0])
    label(soft, 'test 2b: soft rod, each 50 ms')
    solver = boyer2023.flying_stick(fine(boyer2023.STICK_MODES))

    def tell(t: float) -> None:
        boyer2023.push(solver, t)
    for p in moved(solver, np.arange(0.0, 5.01, 0.4), 1e-2, tell):
        stick.plot(p[:, 0], p[:, 2])
    label(stick, 'test 3: flying stick, each 0.4 s', 'x [m]', 'z [m]')
    figure.savefig(DOCS / 'boyer2023.png', dpi=100)


def centre_lines(found: MrpSolution) -> list[np.ndarray]:
    """Return the centre line of each rod (k, 3) [m]."""
    assert found.converged
    return [phi[:, :, :3].reshape(-1, 3) for phi in found.phi]


def draw_surmont() -> None:
    """Draw Surmont's cases; thin lines are at rest. The loads of 4.9 are ours."""
    figure = plt.figure(figsize=(11.0, 5.6), layout='constrained')
    panels = [figure.add_subplot(2, 4, k, projection='3d' if k in {2, 4} else None)
              for k in range(1, 9)]
    arcs, helix, strip, bend, *beams, frame = panels
    for rolled, color in ((False, 'C0'), (True, 'C1')):
        for turn in np.linspace(0.0, np.pi, 5):
            (p,) = centre_lines(surmont_cases.arc(-turn if rolled else turn, rolled).solve())
            arcs.plot(p[:, 2], p[:, 0], color=color)
    label(arcs, '4.1, 4.2: moments on straight and rolled rods')
    (p,) = centre_lines(surmont_cases.follow_helix(
        np.linspace(0.01, 0.2, 20), accuracy=1e-8)[-1])
    helix.plot(p[:, 2], p[:, 0], p[:, 1])
    helix.set_title('4.3: force and moment, a fifth', fontsize=9)
    for way, name in (((1.0, 0.0, 0.0), '$F_y$'), ((0.0, 1.0, 0.0), '$F_z$')):
        (p,) = centre_lines(surmont_cases.twisted(way).solve())
        strip.plot(p[:, 2], 1e3 * np.hypot(p[:, 0], p[:, 1]), label=name)
    strip.legend(fontsize=7)
    label(strip, '4.4: twisted strip', across='deflection [mm]')
    strip.set_aspect('auto')
    for p in centre_lines(surmont_cases.t_frame(2.0, 30.0, 20.0, 15.0).solve()):
        frame.plot(p[:, 2], p[:, 0])
    label(frame, '4.9: T-frame, rigid')
    for force in (0.0, 300.0, 600.0):
        (p,) = centre_lines(surmont_cases.bend(force).solve())
        bend.plot(*p.T, linewidth=1.5 if force else 0.7)
    bend.set_title('4.5: bend, 300 and 600 N', fontsize=9)
    for axes, case, title in zip(beams, (
            surmont_cases.triangle, surmont_cases.two_inertias, surmont_cases.hinged), (
            '4.6: triangular load', '4.7: two inertias', '4.8: hinge')):
        for p in centre_lines(case().solve()):
            axes.plot(p[:, 2], 1e3 * p[:, 0])
        label(axes, title, across='x [mm]')
        axes.set_aspect('auto')
    for axes in (helix, bend):
        axes.tick_params(labelsize=6)
    figure.savefig(DOCS / 'surmont.png', dpi=100)


def draw_flexion_torsion() -> None:
    """Draw the loop of Boyer 2020's test 3 from above and from the side."""
    modes = StrainModes(0, 0, 2, 10, 10, 8, elements=2, nodes=30)
    places = [18.0, 14.0, 10.0, 8.0, 4.0, 0.0, -5.0, -10.0]
    figure, (side, top) = plt.subplots(
        2, 1, figsize=(8.0, 3.6), sharex=True, height_ratios=(7, 5), layout='constrained')
    for solver, place in zip(flexion_torsion.pushed(modes, places), places):
        x = solver.state()
        p = np.vstack([np.zeros(3), x.p, x.p_end[-1]])
        side.plot(p[:, 2], p[:, 0], label=f'{place:g} m')
        top.plot(p[:, 2], p[:, 1])
    side.set(ylabel='down [m]', aspect='equal')
    side.invert_yaxis()
    top.set(xlabel='along the ends [m]', ylabel='sideways [m]', aspect='equal')
    figure.legend(title='tip at', fontsize=8, loc='outside right center')
    figure.savefig(DOCS / 'flexion_torsion.png', dpi=110)


def draw_swimmer() -> None:
    """Draw the fish of Boyer 2023 each half second, and the speed of its head."""
    d = discretise(swimmer.fish(), StrainModes(0, 0, 0, 0, 8, 0, nodes=30))
    gait, dt = swimmer.gait(d), 0.01
    instants = PrescribedRod(d, gait, water=swimmer.water()).travel(5.0, dt)
    solver, driven = swimmer.swimmer('newmark'), [0.0]
    for instant in instants[1:]:
        swimmer.muscles(solver, instant.time)
        solver.step(dt)
        base = solver.base()
        driven.append(-(base.R.T @ base.p_t)[2])
    figure, (way, speed) = plt.subplots(
        2, 1, figsize=(8.0, 4.0), height_ratios=(1, 2), layout='constrained')
    for instant in instants[::50]:
        p = kinematics(d, instant.base, *gait(instant.time)).p
        way.plot(-p[:, 2], p[:, 0], color=plt.cm.viridis(instant.time / 5.0))
    way.set(xlabel='way [m]', ylabel='sideways [m]', aspect='equal')
    t = [instant.time for instant in instants]
    speed.plot(t, [-(i.base.R.T @ i.base.p_t)[2] for i in instants], label='strains prescribed')
    speed.plot(t, driven, '--', label='control law (92)')
    speed.set(xlabel='time [s]', ylabel='speed of the head [m/s]')
    speed.legend()
    figure.savefig(DOCS / 'swimmer.png', dpi=110)


def draw_flapping_wing() -> None:
    """Draw a hover of Porez's vehicle: wings and thorax, and the air's force, for one stroke."""
    dt = 2e-4
    found = flapping_wing.hover(flapping_wing.Vehicle(added_mass=1.0), dt)
    vehicle, solver = found.vehicle, flapping_wing.fly_on(found)
    rows, lift = [], []
    for _ in range(round(vehicle.period / dt)):
        rows.append(flapping_wing.flap(vehicle, solver, 1, dt)[0])
        lift.append(flapping_wing.air_force(solver)[2])
    a, part = np.array(rows), np.linspace(0.25, 1.25, len(rows))
    figure, (angles, thorax, force) = plt.subplots(3, 1, figsize=(7.0, 6.0), sharex=True)
    for k, name in enumerate(('stroke', 'twist', 'bending')):
        angles.plot(part, np.degrees(a[:, k]), label=name)
    angles.set(ylabel='right wing [deg]')
    thorax.plot(part, 1e3 * a[:, 7], label='ahead [mm]')
    thorax.plot(part, 1e3 * a[:, 8], label='up [mm]')
    thorax.plot(part, np.degrees(a[:, 9]), label='pitch [deg]')
    thorax.set(ylabel='thorax')
    force.plot(part, 1e3 * np.array(lift), label='lift')
    force.axhline(9.81e3 * vehicle.mass, color='black', linestyle=':', label='weight')
    force.set(xlabel='time / period', ylabel='[mN]')
    for axes in (angles, thorax, force):
        axes.legend(fontsize=8, loc='upper right')
    figure.tight_layout()
    figure.savefig(DOCS / 'flapping_wing.png', dpi=110)


def blade_corners(vehicle: Vehicle, solver: AssemblySolver, name: str) -> np.ndarray:
    """Return the corners of the blades of a wing (M, 4, 3) [m], leading edge first."""
    end, corners = solver.refresh().end, []
    for k in range(vehicle.blades):
        link, g = solver.places.bodies[f'{name}_{k}']
        across, down = np.array([SIDES[name] * vehicle.section, 0.0, 0.0]), np.array([
            0.0, 0.0, -vehicle.chords[k]])
        flat = np.array([0.0 * across, across, across + down, down])
        corners.append(end.p[link] + (flat @ g[:3, :3].T + g[:3, 3]) @ end.R[link].T)
    return np.array(corners)


def rod_edges(vehicle: Vehicle, solver: AssemblySolver) -> tuple[np.ndarray, np.ndarray]:
    """Return leading and trailing edge of the right wing (k, 3) [m] where it is a rod."""
    end, links = solver.refresh().end, solver.places.rods['right']
    s = np.arange(1, len(links) + 1) / len(links)
    chord = vehicle.chord * np.sqrt(1.0 - s ** 2)
    leading = end.p[links]
    return leading, leading - chord[:, None] * end.R[links][:, :, 1]


def draw_flapping_shapes() -> None:
    """Draw blades beside rods through half a stroke, and the vehicle at four times of a hover."""
    dt, vehicle = 2e-4, Vehicle(added_mass=1.0)
    stroke = round(vehicle.period / dt)
    figure = plt.figure(figsize=(10.0, 6.4), layout='constrained')
    blades = flapping_wing.assembly_of(vehicle, JointKind()).solver()
    rods = flapping_rods.rod_assembly_of(vehicle).solver()
    above = [figure.add_subplot(2, 2, 1), figure.add_subplot(2, 2, 2)]
    for solver, flap in ((blades, flapping_wing.flap), (rods, flapping_rods.flap_rods)):
        solver.start()
        flap(vehicle, solver, 4 * stroke, dt)
    for k in range(6):
        color = plt.cm.viridis(k / 5)
        corners = 1e3 * blade_corners(vehicle, blades, 'right')
        for part in corners:
            above[0].fill(part[:, 0], part[:, 1], facecolor=color, edgecolor=color, alpha=0.5)
        leading, trailing = (1e3 * edge for edge in rod_edges(vehicle, rods))
        outline = np.vstack([leading, trailing[::-1]])
        above[1].fill(outline[:, 0], outline[:, 1], facecolor=color, edgecolor=color, alpha=0.5)
        flapping_wing.flap(vehicle, blades, stroke // 10, dt)
        flapping_rods.flap_rods(vehicle, rods, stroke // 10, dt)
    label(above[0], 'four blades from above, each tenth of a stroke', 'right [mm]', 'ahead [mm]')
    label(above[1], 'Cosserat rods, likewise', 'right [mm]', 'ahead [mm]')
    found = flapping_wing.hover(vehicle, dt)
    solver, size = flapping_wing.fly_on(found), 1e3 * np.array(vehicle.thorax)
    u, v = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 25), np.linspace(0.0, np.pi, 13))
    ball = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1) * size
    for k in range(4):
        axes = figure.add_subplot(2, 4, 5 + k, projection='3d')
        end, link = solver.refresh().end, solver.places.bodies['thorax'].link
        body = ball @ end.R[link].T + 1e3 * end.p[link]
        axes.plot_surface(*np.moveaxis(body, -1, 0), color='0.6', alpha=0.6)
        for name, face in zip(SIDES, ('C0', 'C1')):
            axes.add_collection3d(Poly3DCollection(
                list(1e3 * blade_corners(found.vehicle, solver, name)), facecolor=face,
                edgecolor='black', linewidth=0.5, alpha=0.6))
        axes.set(xlim=(-70, 70), ylim=(-70, 70), zlim=(-50, 50))
        axes.set_box_aspect((1.4, 1.4, 1.0))
        axes.set_title(f'hover, {0.25 + 0.25 * k:g} of a stroke', fontsize=9)
        axes.tick_params(labelsize=6)
        flapping_wing.flap(found.vehicle, solver, stroke // 4, dt)
    figure.savefig(DOCS / 'flapping_shapes.png', dpi=100)


def draw_gaits() -> None:
    """Draw the robots with gaits: a fish that is told to turn, wings through a stroke."""
    figure, (way, wings) = plt.subplots(
        2, 1, figsize=(8.0, 6.0), height_ratios=(1, 1), layout='constrained')
    fish = Simulator(load(CONFIG / 'swimmer.yaml'), stations=50)
    for i in range(801):
        if i % 100 == 0:
            fish.command(wave_turn=0.6 if i in range(200, 600) else 0.0)
            body = fish.base_pose() @ fish.shape()['body'].poses
            way.plot(body[:, 0, 3], body[:, 1, 3], color=plt.cm.viridis(i / 800))
        assert fish.step().converged
    label(way, 'swimmer.yaml, each second; it turns from 2 to 6 s', 'x [m]', 'y [m]')
    vehicle = Simulator(load(CONFIG / 'flapping_wing.yaml'), stations=2)
    for i in range(801):
        if i >= 600 and i % 25 == 0:
            base = vehicle.base_pose()
            for name, rod in vehicle.shape().items():
                ends = 1e3 * (base[:3, :3] @ rod.poses[:, :3, 3].T)
                if name != 'hull':
                    wings.plot(ends[0], ends[1], color=plt.cm.viridis((i - 600) / 200))
        assert vehicle.step().converged
    label(wings, 'flapping_wing.yaml from above, blades within a stroke', 'right [mm]',
          'ahead [mm]')
    figure.savefig(DOCS / 'gaits.png', dpi=110)


if __name__ == '__main__':
    draw_boyer2020()
    draw_boyer2023()
    draw_flapping_shapes()
    draw_flapping_wing()
    draw_flexion_torsion()
    draw_gaits()
    draw_surmont()
    draw_swimmer()
