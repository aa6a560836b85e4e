"""
Boyer 2020's forward dynamics: the Lagrangian form in explicit time integration (eq. 37).

The paper integrates with ODE45 of Matlab; here it is DOP853 of scipy, of order 8, to tolerances at
which it is a reference for the implicit schemes of the engine. Steps are as short as the fastest
strain mode asks. Turns of free bodies are counted from the last of the given times, where the
paper has quaternions (eq. 20).

References
----------
Boyer 2020: Boyer, Lebastard, Candelier, Renda, "Dynamics of continuum and soft robots: a strain
parameterization based approach", IEEE Transactions on Robotics.

"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.integrate import solve_ivp

from ..analysis.lagrangian import lagrangian_of
from ..assembly.rods import RodsSolver
from ..checks.errors import NotConverged
from ..numerics.lie import inverse_left_tangent_so3

Tell = Callable[[float], None]
"""To make loads, drives and bases of a solver those of a time [s]; its state is set already."""


def explicit_motion(
    solver: RodsSolver, times: np.ndarray, tell: Tell = lambda t: None,
    tolerance: float = 1e-9,
) -> Iterator[RodsSolver]:
    """
    Take an assembly without loops from time to time, and yield its solver there.

    Parameters
    ----------
    solver : RodsSolver
        At the state at 0 s.
    times : (k,) array
        Increasing, after 0 s [s].
    tell : callable
        See `Tell`.
    tolerance : float
        Of each step, relative and absolute.

    """
    moves, turns = solver.moves, solver.free_turns.reshape(-1, 3)
    n = int(moves.sum())

    def put(t: float, x: np.ndarray) -> None:
        z, z_t = np.zeros((2, solver.Z))
        z[~moves] = solver.z[~moves]
        z[moves], z_t[moves] = x[:n], x[n:]
        solver.set_state(z, z_t)
        tell(t)

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        put(t, x)
        x_t = np.concatenate([x[n:], lagrangian_of(solver).accelerations()])
        for turn in turns:
            x_t[turn] = inverse_left_tangent_so3(x[turn]) @ x[n + turn]
        return x_t

    x = np.concatenate([solver.z[moves], solver.z_t[moves]])
    for start, end in zip([0.0, *times[:-1]], times):
        way = solve_ivp(slope, [start, end], x, 'DOP853', rtol=tolerance, atol=tolerance)
        if not way.success:
            raise NotConverged(f'no explicit integration from {start} to {end} s: {way.message}')
        x = way.y[:, -1]
        put(float(end), x)
        z, attitude = solver.recentred(solver.z, solver.attitude)
        solver.count_turns_from(attitude)
        solver.set_state(z, solver.z_t)
        x = np.concatenate([solver.z[moves], solver.z_t[moves]])
        yield solver
