"""
Till's benchmark (2019, section 3): the engine against his shooting method, on one core.

    environment/enter python benchmarks/cantilever.py

A steel rod of 0.4 m, gravity across, is let go from 0.5 N; BDF-alpha (-0.2), 5 ms, one second.
Times are the best of three, ratios are within this run. The error is that of the modes alone: the
largest distance of the tip from the same engine with 8 modes of shear and 12 of bending.
"""

from __future__ import annotations

import time

import numpy as np

from cosserat_ros.integrators import SCHEMES
from cosserat_ros.papers.cantilever import Cantilever
from cosserat_ros.papers.shooting import ShootingSimulator
from cosserat_ros.rod import Material, Rod, Segment
from cosserat_ros.section import Circular
from cosserat_ros.solver import RodSolver
from cosserat_ros.strain import discretise, StrainModes

ROD = Rod((Segment(0.4, Circular(1e-3), Material(207e9, 8000.0, shear_modulus=79e9)),))
GRAVITY = np.array([-9.81, 0.0, 0.0])
FORCE = np.array([-0.5, 0.0, 0.0])
DT, STEPS = 5e-3, 200


def engine(modes: StrainModes) -> tuple[float, np.ndarray]:
    """Return the seconds that a second takes, and the tip's path (STEPS, 3) [m]."""
    solver = RodSolver(discretise(ROD, modes), scheme=SCHEMES['bdf_alpha'], tolerance=1e-7)
    loads = solver.no_loads()._replace(gravity=GRAVITY)
    assert solver.statics(loads._replace(end_force=FORCE[None])).converged
    path, spent = [], 0.0
    for _ in range(STEPS):
        begin = time.perf_counter()
        assert solver.step(loads, DT).converged
        spent += time.perf_counter() - begin
        path.append(solver.state().p_end[-1])
    return spent, np.array(path)


def shooting(elements: int) -> float:
    """Return the seconds that a second takes, with RK4 and a Jacobian by differences."""
    problem = Cantilever(ROD, time_step=DT, elements=elements, gravity=tuple(GRAVITY))
    simulator = ShootingSimulator(problem, jacobian='differences')
    still = np.zeros(3)
    assert simulator.statics(FORCE, still).converged
    begin = time.perf_counter()
    for _ in range(STEPS):
        assert simulator.step(still, still).converged
    return time.perf_counter() - begin


def main() -> None:
    """Print the table."""
    reference = engine(StrainModes(8, 8, 8, 12, 12, 8))[1]
    shooting(149)  # compiles
    paper = min(shooting(149) for _ in range(3))
    print(f'{"method":34} {"ms per s":>9} {"x shooting":>11} {"x real time":>12} {"error mm":>9}')
    print(f'{"shooting, RK4, 150 nodes":34} {1e3 * paper:9.1f} {1.0:11.1f} {1.0 / paper:12.1f}')
    for shear, bending in ((0, 4), (2, 4), (2, 5), (4, 6), (4, 8)):
        modes = StrainModes(shear, shear, shear, bending, bending, bending)
        runs = [engine(modes) for _ in range(3)]
        spent = min(run[0] for run in runs)
        error = np.linalg.norm(runs[0][1] - reference, axis=1).max()
        name = f'strain modes, {shear} shear + {bending} bending'
        print(f'{name:34} {1e3 * spent:9.1f} {paper / spent:11.1f} {1.0 / spent:12.1f} '
              f'{1e3 * error:9.1e}')


if __name__ == '__main__':
    main()
