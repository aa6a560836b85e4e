"""
What the benchmarks share: Till's rod, held by a force at its tip and let go, and who simulates it.

Times are processor time, which is wall time on an idle core, per simulated second, of the steps
alone: without set-up, statics and reading the tip.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import NamedTuple

import numpy as np

from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.papers.cantilever import Cantilever, CantileverSimulator
from cosserat_ros.papers.collocation import CollocationSimulator
from cosserat_ros.papers.shooting import ShootingSimulator
from cosserat_ros.rod.discretisation import discretise

STEEL = Material(207e9, 8000.0, shear_modulus=79e9)  # Till 2019, section 3
LENGTH, RADIUS = 0.4, 1e-3
ROD = Rod((Segment(LENGTH, Circular(RADIUS), STEEL),))
GRAVITY = np.array([-9.81, 0.0, 0.0])  # the rod is upright, along z
REFINED = StrainModes(8, 8, 8, 12, 12, 8, substeps=2)


class Release(NamedTuple):
    """The force at the tip before the release [N], and how the motion after it is stepped."""

    force: np.ndarray
    dt: float
    steps: int
    scheme: str = 'bdf_alpha'


TILL = Release(np.array([-0.5, 0.0, 0.0]), 5e-3, 200)
HARD = Release(np.array([-3.0, 1.5, -1.0]), 2e-3, 500)


class Run(NamedTuple):
    """Seconds per simulated second, and the tip's path (steps, 3) [m], up to where it failed."""

    seconds: float
    path: np.ndarray


def both(shear: int, bending: int) -> StrainModes:
    """Return modes: so many of each shear and the stretch, of each bending and the twist."""
    return StrainModes(shear, shear, shear, bending, bending, bending)


def held(release: Release, modes: StrainModes, tolerance: float = 1e-7) -> RodSolver:
    """Return the engine at rest under gravity and the force."""
    solver = RodSolver(
        discretise(ROD, modes), scheme=SCHEMES[release.scheme], tolerance=tolerance)
    loads = solver.no_loads()
    loads.gravity[:] = GRAVITY
    loads.end_force[-1] = release.force
    solver.load(loads)
    assert solver.statics().converged
    return solver


def engine(release: Release, modes: StrainModes) -> Run:
    """Release the engine's rod; it starts without acceleration, as Till's method does."""
    solver = held(release, modes)
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    return follow(
        release, lambda: solver.step(release.dt).converged, lambda: solver.state().p_end[-1])


def shooting(release: Release, most: int = 100) -> Run:
    """Release the rod of Till's method as he has it: RK4, 150 nodes, Jacobian by differences."""
    return _papers(release, ShootingSimulator(
        _problem(release, 149), jacobian='differences', max_iterations=most))


def oracle(release: Release) -> Run:
    """Solve Till's equations with the same time scheme, but refined in space."""
    return _papers(release, CollocationSimulator(_problem(release, 100)))


def _problem(release: Release, elements: int) -> Cantilever:
    return Cantilever(
        ROD, time_step=release.dt, elements=elements, gravity=tuple(GRAVITY),
        scheme=release.scheme)


def _papers(release: Release, simulator: CantileverSimulator) -> Run:
    for part in (0.25, 0.5, 0.75, 1.0):
        assert simulator.statics(part * release.force).converged
    return follow(release, lambda: simulator.step().converged, lambda: simulator.tip)


def follow(release: Release, step: Callable[[], bool], tip: Callable[[], np.ndarray]) -> Run:
    """Time `step`, which says whether it succeeded, and note the tip after each."""
    spent, path = 0.0, []
    for _ in range(release.steps):
        begin = time.process_time()
        if not step():
            break
        spent += time.process_time() - begin
        path.append(tip())
    return Run(spent / (release.dt * max(len(path), 1)), np.array(path).reshape(-1, 3))


def best_of_three(run: Callable[..., Run], *arguments: object) -> Run:
    """Return the fastest of three, after one that compiles."""
    run(*arguments)
    return min((run(*arguments) for _ in range(3)), key=lambda result: result.seconds)


def farthest(path: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest distance of two paths while both last [m]."""
    steps = min(len(path), len(reference))
    return float(np.linalg.norm(path[:steps] - reference[:steps], axis=1).max())
