"""
Draw docs/convergence.png: how fast errors fall with modes, and with the time step.

    pip install -r benchmarks/requirements.txt
    python benchmarks/convergence.py

Left: statics under the force of the hard release, the error of the tip against collocation. Right:
a force at the tip comes and goes smoothly in 0.12 s; the largest distance of the tip, every 10 ms,
from generalised-alpha with 20 us and the same modes.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
import numpy as np
from releases import both, GRAVITY, HARD, held, ROD, TILL

from cosserat_ros.description.modes import StrainModes
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.papers.cantilever import Cantilever
from cosserat_ros.papers.collocation import CollocationSimulator

PICTURE = Path(__file__).resolve().parent.parent / 'docs' / 'convergence.png'
DURATION, LOOKS = 0.12, 12  # [s], and how often to look at the tip
PEAK = np.array([[-0.5, 0.3, 0.0]])  # [N]
MARKS = 'os^vD*'


def static_errors(counts: range, substeps: int) -> list[float]:
    """Return the error of the tip [m] with so many modes of each strain."""
    oracle = CollocationSimulator(
        Cantilever(ROD, time_step=1.0, elements=640, gravity=tuple(GRAVITY)))
    for part in (0.25, 0.5, 0.75, 1.0):
        assert oracle.statics(part * HARD.force).converged
    found = (
        held(HARD, StrainModes(*6 * (count,), substeps=substeps), 1e-12) for count in counts)
    return [float(np.linalg.norm(rod.state().p_end[-1] - oracle.tip)) for rod in found]


def tips(scheme: str, parts: int) -> np.ndarray:
    """Return where the tip is at the looks, (LOOKS, 3) [m], with so many steps between them."""
    rod = held(TILL._replace(force=np.zeros(3), scheme=scheme), both(2, 6), 1e-10)
    loads = rod.no_loads()._replace(gravity=GRAVITY)
    steps, path = LOOKS * parts, []
    for i in range(1, steps + 1):
        force = np.sin(np.pi * i / steps) ** 2 * PEAK
        rod.load(loads._replace(end_force=force))
        assert rod.step(DURATION / steps).converged
        if i % parts == 0:
            path.append(rod.state().p_end[-1])
    return np.array(path)


def main() -> None:
    """Compute, print and draw."""
    figure = Figure(figsize=(10.0, 4.2), layout='constrained')
    left, right = figure.subplots(1, 2)
    counts = range(2, 15)
    for substeps, mark in zip((1, 2, 4), MARKS):
        errors = static_errors(counts, substeps)
        print(f'statics, {substeps} substeps:', *(f'{error:.1e}' for error in errors))
        left.semilogy(counts, errors, f'{mark}-', fillstyle='none', label=f'substeps: {substeps}')
    left.set(xlabel='modes of each strain', ylabel='error of the tip [m]',
             title='Space: statics under 3.5 N')
    reference = tips('generalised_alpha', 512)
    parts = [2 ** k for k in range(7)]
    dt = DURATION / LOOKS / np.array(parts)
    for name, mark in zip(SCHEMES, MARKS):
        errors = [float(np.linalg.norm(tips(name, part) - reference, axis=1).max())
                  for part in parts]
        order = np.log2(errors[-2] / errors[-1])
        print(f'{name}: order {order:.2f},', *(f'{error:.1e}' for error in errors))
        right.loglog(1e3 * dt, errors, f'{mark}-', fillstyle='none',
                     label=f'{name}, order {order:.2f}')
    for order, top in ((1, 1.5e-1), (2, 4e-3)):
        right.loglog(1e3 * dt, top * (dt / dt[0]) ** order, 'k:', linewidth=1.0)
        right.annotate(f'order {order}', (1e3 * dt[2], top * (dt[2] / dt[0]) ** order),
                       xytext=(6.0, -9.0), textcoords='offset points')
    right.set(xlabel='time step [ms]', ylabel='largest error of the tip [m]',
              title='Time: a force comes and goes in 0.12 s')
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(PICTURE, dpi=120)
    print('See docs/convergence.png.')


if __name__ == '__main__':
    main()
