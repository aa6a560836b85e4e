"""
Boyer 2020's test 3: a rod twisted by one turn, whose ends are then pushed together and past.

Torsion turns into a loop. As printed, G = 4.1e7 Pa makes GJ = 4e-4 EI, and the twist a bystander
of Euler's buckling; rho = 2.04e8 kg/m^3 would weigh 5e5 N/m. Here G is that of steel, and the
density is read as 204: the rod weighs 0.5 N/m and hangs, which makes the equilibrium unique.

References
----------
Boyer 2020: see `explicit_dynamics`.

"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..assembly.joint_kinds import JointKind
from ..assembly.one_rod import RodSolver
from ..checks.errors import NotConverged
from ..description.modes import StrainModes
from ..description.rod import Material, Rod, Segment
from ..description.section import Circular
from ..numerics.lie import exp_so3
from ..rod.discretisation import discretise
from .convergence import require

LENGTH, RADIUS, YOUNG_MODULUS = 20.0, 0.0176 / 2, 2.1e11  # [m], [m], [Pa]
POISSON_RATIO = 0.3  # G = 8.1e10 Pa
DENSITY, GRAVITY = 204.0, np.array([9.81, 0.0, 0.0])
TURNS = 18           # steps of the tip's turn
FORCE_STEP, GIVEN_WAY = 0.5, 0.5  # [N] of the push that buckles it, [m] by which it then has
SLIDING = JointKind('prismatic')  # held but for the way along the rod


def twisted_rod(modes: StrainModes) -> RodSolver:
    """Return the rod, clamped at both ends, after one turn of its tip."""
    material = Material(YOUNG_MODULUS, DENSITY, poisson_ratio=POISSON_RATIO)
    solver = RodSolver(discretise(Rod((Segment(LENGTH, Circular(RADIUS), material),)), modes))
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    for k in range(1, TURNS + 1):
        solver.hold_tip(exp_so3(np.array([0.0, 0.0, 2.0 * np.pi * k / TURNS])), [0, 0, LENGTH])
        require(solver.statics())
    return solver


def _buckle(solver: RodSolver) -> float:
    """Push the tip until it has given way, past the bifurcation; return where it is [m]."""
    loads = solver.no_loads()._replace(gravity=GRAVITY)
    solver.hold_tip(np.eye(3), [0, 0, LENGTH], SLIDING)
    push, place = np.zeros((solver.d.W.shape[0], 3)), LENGTH
    while place > LENGTH - GIVEN_WAY:
        push[-1, 2] -= FORCE_STEP
        solver.load(loads._replace(end_force=push))
        require(solver.statics())
        place = float(solver.state().p_end[-1, 2])
    solver.load(loads)
    return place


def pushed(modes: StrainModes, wanted: Iterable[float], step: float = 0.05) -> Iterator[RodSolver]:
    """
    Yield the solver of the twisted rod with its tip at each of the wanted places [m], falling.

    In steps of at most `step` [m]: where the loop becomes plane, long ones would end at the
    straight rod, compressed.
    """
    solver = twisted_rod(modes)
    place = _buckle(solver)
    for wish in wanted:
        for z in np.linspace(place, wish, int(np.ceil((place - wish) / step)) + 1):
            solver.hold_tip(np.eye(3), [0, 0, z])
            require(solver.statics())
        place = wish
        if np.abs(solver.state().xi[:, 2] - 1.0).max() > 0.01:
            raise NotConverged(f'the rod has left its loop for a compressed one at {wish:g} [m]')
        yield solver
