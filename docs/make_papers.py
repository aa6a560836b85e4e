"""
Draw the pictures of papers.md, one function each.

Run by `make docs`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use('Agg')

import matplotlib.pyplot as plt  # noqa: E402 - after the choice of a backend
import numpy as np  # noqa: E402

from cosserat_ros.analysis.inverse_dynamics import PrescribedRod  # noqa: E402
from cosserat_ros.description.modes import StrainModes  # noqa: E402
from cosserat_ros.papers import flapping_wing, flexion_torsion, swimmer  # noqa: E402
from cosserat_ros.rod.discretisation import discretise  # noqa: E402
from cosserat_ros.rod.kinematics import kinematics  # noqa: E402

DOCS = Path(__file__).resolve().parent


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


if __name__ == '__main__':
    draw_flapping_wing()
    draw_flexion_torsion()
    draw_swimmer()
