"""
The flapping vehicle of Porez 2014: time of computing and what the wings do, beside the paper.

    environment/enter python benchmarks/papers_flapping.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import process_time

import numpy as np

from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.assembly.solver import AssemblySolver
from cosserat_ros.checks.errors import NotConverged
from cosserat_ros.papers.flapping_rods import flap_rods, rod_assembly_of, root_force
from cosserat_ros.papers.flapping_vehicle import GRAVITY, Vehicle
from cosserat_ros.papers.flapping_wing import (
    air_force,
    assembly_of,
    flap,
    fly_on,
    Hover,
    hover,
)

PAPER_TIME, PAPER_STEP = 17.0, 1e-4  # of one stroke, on a laptop in MATLAB [s]
STEP, STROKES = 2e-4, 5              # of the tables; the last stroke is reported
LARGEST_GAP = 1e-5                   # of what counts as a hover
FLAT_PLATE = Vehicle(added_mass=1.0)
READINGS = {
    'printed added mass': Vehicle(),
    "flat plate's": FLAT_PLATE,
    "printed, X_j at a section's start": Vehicle(section_place=0.0),
    "flat plate's, X_j at a section's start": replace(FLAT_PLATE, section_place=0.0),
    "flat plate's, half of k_t": replace(
        FLAT_PLATE, twisting=(0.5 * FLAT_PLATE.twisting[0], 0.5 * FLAT_PLATE.twisting[1])),
}
ROWS = {
    'amplitude of stroke [deg]': '41.3', 'mean lift [mN]': '(weight: 71.3)',
    'twist of the tip [deg]': '79', 'lag of twist [deg]': '58', 'bending of the tip [deg]': '68',
    'lag of bending [deg]': '36', 'largest torque [mN m]': '12.1', 'power of a wing [W]': '0.42',
    'power per mass [W/kg]': '120', 'thorax, ahead [mm]': '2', 'up [mm]': '0.5',
    'pitch [deg]': '7'}


Flap = Callable[[Vehicle, AssemblySolver, int, float], np.ndarray]


def time_of_a_stroke() -> float:
    """
    Return the processor's time for a stroke at the paper's step, the fastest of 5 [s].

    To 1e-9 in each step: after five strokes angles are off by 1e-6 rad, as by the step itself.
    """
    vehicle = Vehicle()
    solver = assembly_of(vehicle).solver(tolerance=1e-9)
    solver.start()
    flap(vehicle, solver, 10, PAPER_STEP)
    times = []
    for _ in range(5):
        begin = process_time()
        flap(vehicle, solver, round(vehicle.period / PAPER_STEP), PAPER_STEP)
        times.append(process_time() - begin)
    return min(times)


def one_stroke(
    vehicle: Vehicle, solver: AssemblySolver, by: Flap = flap,
    force: Callable[[AssemblySolver], np.ndarray] = air_force,
) -> list[float]:
    """
    Return the numbers of `ROWS` of the next stroke.

    Lags are those of first harmonics behind the stroke.
    """
    rows, lift = [], []
    for _ in range(round(vehicle.period / STEP)):
        rows.append(by(vehicle, solver, 1, STEP)[0])
        lift.append(force(solver)[2])
    a = np.array(rows)
    stroke, twist, bending, torque = np.abs(a[:, :4]).max(axis=0)
    late = -np.degrees(np.angle(
        np.exp(-1j * vehicle.frequency * a[:, 5]) @ a[:, 1:3]))
    power = float(a[:, 4].mean())
    numbers = [np.degrees(stroke), 1e3 * np.mean(lift), np.degrees(twist), late[0] % 180.0,
               np.degrees(bending), late[1] % 180.0, 1e3 * torque, power,
               2.0 * power / vehicle.mass]
    if by is flap and np.ptp(a[:, 7]) > 0.0:
        numbers += [*(0.5e3 * np.ptp(a[:, 7:9], axis=0)), np.degrees(0.5 * np.ptp(a[:, 9]))]
    return numbers


def held(vehicle: Vehicle) -> list[float]:
    """Return the numbers of the fifth stroke with the thorax held."""
    solver = assembly_of(vehicle, JointKind()).solver()
    solver.start()
    flap(vehicle, solver, (STROKES - 1) * round(vehicle.period / STEP), STEP)
    return one_stroke(vehicle, solver)


def rods(vehicle: Vehicle) -> list[float]:
    """Return them of wings that are rods."""
    solver = rod_assembly_of(vehicle).solver()
    solver.start()
    flap_rods(vehicle, solver, (STROKES - 1) * round(vehicle.period / STEP), STEP)
    return one_stroke(vehicle, solver, flap_rods, root_force)


def lifting(vehicle: Vehicle) -> list[float]:
    """Return them of rods that stroke so far that they carry the weight; by secants."""
    weight, parts = -1e3 * vehicle.mass * GRAVITY[2], [1.0, 1.1]
    found: list[list[float]] = []
    while not found or abs(found[-1][1] / weight - 1.0) > 1e-4:
        if len(found) > 1:
            slope = (found[-1][1] - found[-2][1]) / (parts[-1] - parts[-2])
            parts.append(parts[-1] + (weight - found[-1][1]) / slope)
        found.append(rods(replace(vehicle, amplitude=parts[len(found)] * vehicle.amplitude)))
    return found[-1]


def found_hover(vehicle: Vehicle) -> Hover | None:
    """Return its hover, if there is one."""
    try:
        found = hover(vehicle, STEP)
    except NotConverged:
        return None
    return found if found.gap < LARGEST_GAP else None


def hovering(found: Hover | None) -> list[float]:
    """Return the numbers of a hover."""
    return [] if found is None else one_stroke(found.vehicle, fly_on(found))


def print_table(columns: dict[str, list[float]]) -> None:
    """Print `ROWS` of many flights."""
    print('| | printed |', ' | '.join(columns), '|')
    print('|---|---' + '|---' * len(columns) + '|')
    for i, (name, printed) in enumerate(ROWS.items()):
        values = (f'{column[i]:.4g}' if i < len(column) else '' for column in columns.values())
        print(f'| {name} | {printed} |', ' | '.join(values), '|')
    print(flush=True)


def main() -> None:
    """Print the time, and the tables."""
    taken = time_of_a_stroke()
    print(f'a stroke of 0.04 s takes {taken:.2f} s of a core at steps of 0.1 ms; '
          f'{PAPER_TIME:.0f} s are printed: {PAPER_TIME / taken:.0f} x faster\n', flush=True)
    hovers = {name: found_hover(vehicle) for name, vehicle in READINGS.items()}
    print_table({
        'held, printed added mass': held(Vehicle()), "held, flat plate's": held(FLAT_PLATE),
        "hover, flat plate's": hovering(hovers["flat plate's"])})
    print('Wings that are rods, thorax held:\n')
    print_table({
        'printed added mass': rods(Vehicle()), "flat plate's": rods(FLAT_PLATE),
        "flat plate's, lift is the weight": lifting(FLAT_PLATE)})
    print('| thorax held | lift [mN] | twist [deg] | bending [deg] | torque [mN m] | power [W] | '
          'stroke of a hover [deg] |')
    print('|---|---|---|---|---|---|---|')
    print('| printed | (weight: 71.3) | 79 | 68 | 12.1 | 0.42 | 41.3 |')
    for name, vehicle in READINGS.items():
        numbers, found = held(vehicle), hovers[name]
        values = ' | '.join(f'{numbers[i]:.4g}' for i in (1, 2, 4, 6, 7))
        stroke = 'not found' if found is None else (
            f'{np.degrees(found.vehicle.amplitude):.1f}')
        print(f'| {name} | {values} | {stroke} |', flush=True)


if __name__ == '__main__':
    main()
