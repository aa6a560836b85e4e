"""
The flapping vehicle of Porez 2014: time of computing and what the wings do, beside the paper.

    environment/enter python benchmarks/papers_flapping.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.papers.flapping_wing import air_force, assembly_of, flap, hover, Vehicle

PAPER_TIME, PAPER_STEP = 17.0, 1e-4  # of one stroke, on a laptop in MATLAB [s]
STEP, STROKES = 2e-4, 5              # of the table; the last stroke is reported
LARGEST_GAP = 1e-5                   # of what counts as a hover
READINGS = {
    'printed added mass': Vehicle(),
    "flat plate's": Vehicle(added_mass=1.0),
    "printed, X_j at a section's start": Vehicle(section_place=0.0),
    "flat plate's, X_j at a section's start": Vehicle(added_mass=1.0, section_place=0.0),
}


def time_of_a_stroke() -> float:
    """Return what one stroke of the free vehicle takes at the paper's step, compiled [s]."""
    vehicle = Vehicle()
    solver = assembly_of(vehicle).solver()
    solver.start()
    flap(vehicle, solver, 10, PAPER_STEP)
    begin = perf_counter()
    flap(vehicle, solver, round(vehicle.period / PAPER_STEP), PAPER_STEP)
    return perf_counter() - begin


def held(vehicle: Vehicle) -> list[float]:
    """Return lift [mN], twist and bending [deg], torque [mN m], power [W] with the thorax held."""
    solver = assembly_of(vehicle, JointKind()).solver()
    solver.start()
    steps = round(vehicle.period / STEP)
    flap(vehicle, solver, (STROKES - 1) * steps, STEP)
    rows, lift = [], []
    for _ in range(steps):
        rows.append(flap(vehicle, solver, 1, STEP)[0])
        lift.append(air_force(solver)[2])
    stroke = np.array(rows)
    twist, bending, torque = np.abs(stroke[:, 1:4]).max(axis=0)
    return [1e3 * float(np.mean(lift)), *np.degrees([twist, bending]), 1e3 * torque,
            float(stroke[:, 4].mean())]


def stroke_of_hover(vehicle: Vehicle) -> str:
    """Return the amplitude of stroke with which it hovers [deg]."""
    try:
        found = hover(vehicle, STEP)
    except RuntimeError:
        return 'not found'
    return (f'{np.degrees(found.vehicle.amplitude):.1f}' if found.gap < LARGEST_GAP
            else 'not found')


def main() -> None:
    """Print the time, and the table."""
    taken = time_of_a_stroke()
    print(f'a stroke of 0.04 s takes {taken:.2f} s at steps of 0.1 ms; {PAPER_TIME:.0f} s are '
          f'printed: {PAPER_TIME / taken:.0f} x faster\n')
    print('| thorax held | lift [mN] | twist [deg] | bending [deg] | torque [mN m] | power [W] | '
          'stroke of a hover [deg] |')
    print('|---|---|---|---|---|---|---|')
    print('| printed | (weight: 71.3) | 79 | 68 | 12.1 | 0.42 | 41.3 |')
    for name, vehicle in READINGS.items():
        values = ' | '.join(f'{value:.3g}' for value in held(vehicle))
        print(f'| {name} | {values} | {stroke_of_hover(vehicle)} |', flush=True)


if __name__ == '__main__':
    main()
