r"""
Inverse dynamics: a rod whose strains are prescribed in time, as those of a swimmer are.

What is found is the net motion of a base that nothing holds, and the internal stress that the
actuation must give (Boyer 2023, section VI-B). The equations are those of
`engine.system`; accelerations enter them linearly, so that the rows of a free base,

    S a + s = 0,

give the acceleration a of the base from the inertia S of the rod frozen in its shape, and all
other forces s on it (Boyer's eq. 85, his S(0) and s(0)). The rows of the strain modes then say
what is missing for balance: that is the actuation. The base moves on SO(3) x R^3 by the classical
scheme of Runge and Kutta of order 4, its turn counted from the start of each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..checks.errors import InvalidModel
from ..checks.fields import check_number
from ..engine.equations import Loads
from ..engine.solver import at_rest, RodSolver
from ..engine.system import stack, unbalance_and_jacobian
from ..numerics.lie import exp_so3, inverse_left_tangent_so3
from ..rod.discretisation import as_stress, Discretisation
from ..rod.kinematics import Base

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

    """

    def __init__(
        self, d: Discretisation, gait: Gait, loads: Loads | None = None, free: bool = True,
    ) -> None:
        self.d, self.gait, self.free = d, gait, free
        solver = RodSolver(d, free=free)
        self._system = solver.system(solver.no_loads() if loads is None else loads)

    def at(self, time: float, base: Base) -> Instant:
        """Return what happens at a time [s], for a base with this pose and velocity."""
        n, free = self.d.component.size, 6 * self.free
        q, q_t, q_tt = (np.asarray(x, dtype=float) for x in self.gait(time))
        for name, x in (('q', q), ('q_t', q_t), ('q_tt', q_tt)):
            if x.shape != (n,) or not np.isfinite(x).all():
                raise InvalidModel(f'gait.{name}', x, f'{n} finite numbers, at {time:g} [s]')
        system = self._system._replace(bases=stack([base]))
        z = np.concatenate([q, base.p, np.zeros(3)])[:n + free]
        z_t = np.concatenate([q_t, base.p_t, base.Om])[:n + free]
        z_tt = np.concatenate([q_tt, np.zeros(6)])[:n + free]
        r, none = unbalance_and_jacobian(system, z, z_t, z_tt, 0.0, 0.0)
        if self.free:
            mass = unbalance_and_jacobian(system, z, z_t, z_tt, 0.0, 1.0)[1] - none
            z_tt[n:] = np.linalg.solve(mass[n:, n:], -r[n:])
            r = r + mass[:, n:] @ z_tt[n:]
            base = base._replace(p_tt=z_tt[n:n + 3].copy(), Om_t=z_tt[n + 3:].copy())
        force = -r[:n]
        return Instant(time, base, force, as_stress(self.d, force))

    def travel(self, duration: float, dt: float, base: Base | None = None) -> list[Instant]:
        """
        Return where the prescribed strains take a rod, instant after instant.

        Parameters
        ----------
        duration, dt : float
            [s]; the last step may be shorter.
        base : Base, optional
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
