r"""
Inverse dynamics of assemblies, and of a rod whose strains are prescribed, as a swimmer's are.

Of each coordinate of an assembly, an acceleration is told and the effort that it takes is found,
or the other way round, in any mix (Porez 2014: b_j = 1 and 0). With the equations of
:mod:`cosserat_ros.assembly.tree`, linear in accelerations a and reactions l of loops,

    M a + C l + s = u                C^T a + g = 0

where s is all that is there without accelerations and reactions, u the efforts, and g what rates
make of the loops' accelerations. All accelerations told, this is the inverse dynamics of robots;
none, the forward one. All but those of a floating base, it is that of Boyer 2023, section VI-B:
the rows of the base give its acceleration from the inertia of the rod frozen in its shape (his
eq. 85, S(0) and s(0)), and those of the strain modes say what the actuation must give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..assembly.element import Motion
from ..assembly.loads import Loads
from ..assembly.one_rod import RodSolver, Water
from ..assembly.solver import AssemblySolver
from ..assembly.state import at_rest
from ..checks.errors import InvalidModel
from ..checks.fields import check_number
from ..numerics.lie import exp_so3, inverse_left_tangent_so3
from ..rod.discretisation import as_stress, Discretisation
from ..rod.kinematics import Base


class InverseDynamics(NamedTuple):
    """An instant of an assembly: told or found."""

    accelerations: np.ndarray  # (Z,) of coordinates; 0 elsewhere
    efforts: np.ndarray        # (Z,) along coordinates, beside all that acts already; 0 elsewhere
    reactions: np.ndarray      # (Z,) that close loops; 0 elsewhere [N, N m]


def inverse_dynamics(
    solver: AssemblySolver, told: ArrayLike, accelerations: ArrayLike,
    efforts: ArrayLike = 0.0,
) -> InverseDynamics:
    """
    Return accelerations, efforts and reactions at the present state and rates.

    Springs, dampers, pushes, loads and actuators act as they do in a solve. Rates must be such
    that loops stay closed. Where accelerations of more coordinates are told than a loop has
    freedom, efforts are not unique: those with the smallest reactions are returned. A driven
    coordinate is one like any other here, and limits are of no account. The solver is not changed.

    Parameters
    ----------
    solver : AssemblySolver
    told : (Z,) bool
        Of which coordinates the acceleration is told; of all others it is the effort.
    accelerations : (Z,) float
        [m/s^2, rad/s^2]; of strain modes their second rates. Of no account where not told.
    efforts : (Z,) float
        Along coordinates [N, N m; J per unit of q]. Of no account where accelerations are told.

    Raises
    ------
    InvalidModel
        If no motion has these accelerations: a loop forbids them, or what is to be found has no
        inertia.

    """
    moves = solver.moves
    held = np.broadcast_to(np.asarray(told, dtype=bool), moves.shape) & moves
    wanted, given = (np.broadcast_to(np.asarray(a, dtype=float), moves.shape)
                     for a in (accelerations, efforts))
    for name, values in (('accelerations', wanted[held]), ('efforts', given[moves & ~held])):
        if not np.isfinite(values).all():
            raise InvalidModel(name, values, 'finite numbers')
    found = solver.balance(solver.z_t, wanted, held, np.where(moves & ~held, given, 0.0))
    if isinstance(found, str):
        raise InvalidModel(
            'accelerations', wanted[held].tolist(),
            f'those of a motion that the assembly can make: {found}')
    return InverseDynamics(
        found.z_tt, np.where(held, found.effort, np.where(moves, given, 0.0)),
        np.where(solver.closing, solver.z + found.reaction, 0.0))


Gait = Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""From the time [s] to amplitudes of the strain modes, rates and accelerations, (n,) each."""


class Instant(NamedTuple):
    """A rod that follows its prescribed strains, at one time."""

    time: float         # [s]
    base: Base          # with its accelerations
    force: np.ndarray   # (n,) of the actuation, its power is -force q_t [J per unit of q]
    stress: np.ndarray  # (N, 6) the same as a stress at the nodes, for `Loads.stress` [N, N m]


class PrescribedRod:
    """
    A rod that is made to have certain strains at any time.

    Its base moves on SO(3) x R^3 by the classical scheme of Runge and Kutta of order 4, its turn
    counted from the start of each step.

    Parameters
    ----------
    d : Discretisation
    gait : callable
        From the time [s] to q, q_t and q_tt.
    loads : Loads, optional
        That act all the time: gravity, drag, bodies. Without actuation: its stress is counted as
        a load.
    free : bool
        Whether nothing holds the base; else it stands still.
    water : Water, optional
        What a fluid does along it and at its tip.

    """

    def __init__(
        self, d: Discretisation, gait: Gait, loads: Loads | None = None, free: bool = True,
        water: Water | None = None,
    ) -> None:
        self.d, self.gait, self.free = d, gait, free
        self._solver = RodSolver(d, free=free, water=water)
        if loads is not None:
            self._solver.load(loads)

    def at(self, time: float, base: Base | Motion) -> Instant:
        """Return what happens at a time [s], for a base with this pose and velocity."""
        n, solver = self.d.component.size, self._solver
        strains = [np.asarray(x, dtype=float) for x in self.gait(time)]
        for name, x in zip(('q', 'q_t', 'q_tt'), strains):
            if x.shape != (n,) or not np.isfinite(x).all():
                raise InvalidModel(f'gait.{name}', x, f'{n} finite numbers, at {time:g} [s]')
        q = solver.q_places[0]
        solver.put(base, *strains)
        told = np.zeros(solver.Z, dtype=bool)
        told[q] = True
        found = inverse_dynamics(solver, told, solver.z_tt)
        solver.set_state(solver.z, solver.z_t, found.accelerations)
        force = -found.efforts[q]
        return Instant(time, solver.base(), force, as_stress(self.d, force))

    def travel(
        self, duration: float, dt: float, base: Base | Motion | None = None,
    ) -> list[Instant]:
        """
        Return where the prescribed strains take a rod, instant after instant.

        Parameters
        ----------
        duration, dt : float
            [s]; the last step may be shorter.
        base : Base or Motion, optional
            Pose and velocity at time 0; at rest at the origin if left out.

        """
        check_number('dt', dt, above=0.0, unit='s')
        check_number('duration', duration, least=0.0, unit='s')
        instants = [self.at(0.0, base or at_rest())]
        steps = int(np.ceil(duration / dt - 1e-9))
        for i in range(steps):
            now, end = instants[-1], min(duration, (i + 1) * dt)
            instants.append(self.at(end, self._moved(now, end - now.time)))
        return instants

    def _moved(self, now: Instant, dt: float) -> Base:
        """Return pose and velocity of the base one step later."""
        if not self.free:
            return now.base
        first = now.base

        def base(y: np.ndarray) -> Base:
            return first._replace(R=exp_so3(y[3:6]) @ first.R, p=y[:3], p_t=y[6:9], Om=y[9:])

        def slope(part: float, y: np.ndarray) -> np.ndarray:
            b = self.at(now.time + part, base(y)).base
            return np.concatenate([
                b.p_t, inverse_left_tangent_so3(y[3:6]) @ b.Om, b.p_tt, b.Om_t])

        y = np.concatenate([first.p, np.zeros(3), first.p_t, first.Om])
        k1 = np.concatenate([first.p_t, first.Om, first.p_tt, first.Om_t])
        k2 = slope(0.5 * dt, y + 0.5 * dt * k1)
        k3 = slope(0.5 * dt, y + 0.5 * dt * k2)
        k4 = slope(dt, y + dt * k3)
        return base(y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
