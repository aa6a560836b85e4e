"""
How the cost of a step grows with modes and with elements.

    environment/enter python benchmarks/growth.py

The hard release of `releases`, 2 ms, best of three. A line in logarithms is fitted to each table,
to that of elements from `FITTED_FROM` on: below, what a step takes whatever the rod counts. The
last column is the slope from the row above. Elimination goes element by element. Iterations are as
many for any number of elements (4.6 per step); from 256 on each takes longer, since what they read
and write, 30 kB per element, outgrows the caches of a core.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from releases import best_of_three, both, engine, HARD

from cosserat_ros.description.modes import StrainModes

RELEASE = HARD._replace(steps=200)
FEW = both(1, 3)  # 12 unknowns per element
FITTED_FROM = {'unknowns': 0, 'elements': 8}


def table(
    title: str, cases: list[tuple[int, StrainModes]], unit: str = 'unknowns',
    steps: int = RELEASE.steps,
) -> None:
    """Print the time of a step for modes with so many unknowns, and the fitted slope."""
    print(f'\n{title}\n{unit:>8} {"ms per step":>12} {"slope":>6}')
    counts, times = [], []
    for count, modes in cases:
        result = best_of_three(engine, RELEASE._replace(steps=steps), modes)
        assert len(result.path) == steps
        counts.append(count)
        times.append(1e3 * result.seconds * RELEASE.dt)
        slope = ''
        if len(times) > 1:
            slope = f'{np.log(times[-1] / times[-2]) / np.log(counts[-1] / counts[-2]):6.2f}'
        print(f'{count:8} {times[-1]:12.3f} {slope}')
    fitted = np.array(counts) >= FITTED_FROM[unit]
    slope, _ = np.polyfit(np.log(counts)[fitted], np.log(times)[fitted], 1)
    print(f'time of a step ~ {unit} ^ {slope:.2f}, from {min(np.array(counts)[fitted])} on')


def main() -> None:
    """Print the tables."""
    table('More modes on one element, as many of each strain', [
        (6 * count, both(count, count)) for count in (3, 4, 6, 8, 12, 16, 24)])
    table('More elements, with 1 mode of each shear and 3 of each bending', [
        (elements, replace(FEW, elements=elements))
        for elements in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)], 'elements', steps=50)
    table('The same, as fine as it may be', [
        (elements, replace(FEW, elements=elements)) for elements in (500, 1000)],
        'elements', steps=10)


if __name__ == '__main__':
    main()
