"""The equations of a robot as functions of its shape and of its actuation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..analysis.linearize import reduced, slopes
from ..analysis.sensitivity import LegColumns
from ..analysis.stability import stands
from ..description.parts import Leg
from ..engine.newton import CONVERGED, Inverse, newton
from ..engine.system import equations, System, Tangent, unbalance_and_jacobian
from ..laws.actuators import Drives, EFFORT
from ..numerics.integrators import begin, STILL
from ..numerics.kernels import Direct
from ..simulation.feeding import Fed
from ..simulation.simulator import Simulator
from .compiled import actuator_lengths, solve_rows


class Mechanics:
    """The equations of a simulator's robot as functions of z and of the actuation u (m,)."""

    def __init__(self, sim: Simulator) -> None:
        self.sim, robot, model = sim, sim.robot, sim.model
        self.names, self.actuators = list(robot.actuators), list(robot.actuators.values())
        places = [model.places[name] for name in self.names]
        self.leg = np.array([isinstance(a, Leg) for a in self.actuators], dtype=bool)
        self.rod = np.array([p.rod for p in places], dtype=int)
        self.slot = np.array([p.slot for p in places], dtype=int)
        self.row = np.array([-1 if leg else sim.solver.effort_places[p.rod, p.slot]
                             for p, leg in zip(places, self.leg)], dtype=int)
        self._pulled = np.flatnonzero(~self.leg)
        self._pulled_at = self.rod[self._pulled], self.slot[self._pulled]
        self._pulled_on = [(i, np.flatnonzero((self.rod == i) & ~self.leg))
                           for i in sorted(set(self.rod[self._pulled]))]
        self._fed_rods = self.rod[self.leg]
        self._lengths = np.array([robot.rods[name].length for name in model.names])
        self._legs = LegColumns(sim) if self.leg.any() else None
        self._weights: np.ndarray | None = None
        size, k = sim.solver.z.size, len(model.rods)
        B, self.n = (size - 6 * (robot.platform is not None)) // k, sim.solver.n
        self.still, self.r, self._step = np.zeros(size), np.zeros(size), np.zeros((1, size))
        shapes = (k, B, B), (k, B, 6), (k, 6, B), (6, 6)
        self.tangent = Tangent(*(np.zeros(shape) for shape in shapes))
        self._inverse = Inverse(*(np.zeros(shape) for shape in shapes))
        self._rows = np.zeros((1 + len(self.names), size))
        self.scale = np.array(sim.solver.strain_scale)
        self._equations, self._solve_rows = Direct(equations), Direct(solve_rows)
        self._taken: tuple[Any, Any] | None = None
        self._laws: Fed | None = None
        self.excess = np.zeros(len(self.names))  # of tendons' lengths over the engine's [m]
        self.take()

    @property
    def rest_actuation(self) -> np.ndarray:
        """No effort, and legs as long as at rest, (m,)."""
        u = np.zeros(len(self.names))
        u[self.leg] = [self.sim.robot.rods[self.sim.model.names[i]].length
                       for i in self._fed_rods]
        return u

    def take(self) -> None:
        """Take over the loads that act on the simulator now."""
        sim = self.sim
        system = sim.solver.system(sim.loads)
        taken = sim.loads, system.platform.wrench
        if self._taken is not None and all(a is b for a, b in zip(self._taken, taken)):
            return
        self._taken = taken
        self._stress = sim.loads.stress
        self.described = sim.model.drives(sim.commands)
        self._system = self._feed(system._replace(drives=self.described._replace(
            kind=np.full_like(self.described.kind, EFFORT),
            command=np.zeros_like(self.described.command))))

    def take_laws(self, z: np.ndarray | None) -> None:
        """Take over what dry friction and chords do near z, or nothing of it (None)."""
        self._laws = None if z is None else self.sim.laws(z)
        self.excess = np.zeros(len(self.names))
        if z is not None:
            self.excess[self._pulled] = self.sim.chords.excess[self._pulled_at]
        self._system = self._feed(self._system)

    def stand(self, R: np.ndarray) -> None:
        """Count the platform's turn from R on, and begin anew."""
        self._weights = None
        self._system = self._system._replace(platform=self._system.platform._replace(R=R))

    def actuate(self, u: np.ndarray) -> System:
        """Return the system under actuation u; its arrays are the same each time."""
        system = self._system
        system.drives.command[self._pulled_at] = u[self._pulled]
        if self._legs is None:
            return system
        self._lengths[self._fed_rods] = u[self.leg]
        return self._feed(system)

    def _feed(self, system: System) -> System:
        """Return the system with legs of the present lengths, and the laws that were taken."""
        fed = self.sim.model.feeding.fed(self._lengths)
        if self._laws is not None:
            fed = fed._replace(elastic=fed.elastic + self._laws.elastic,
                               stress=fed.stress + self._laws.stress)
        return system._replace(
            rods=system.rods._replace(elastic=fed.elastic, inertia=fed.inertia),
            loads=system.loads._replace(stress=self._stress + fed.stress))

    def linearise(self, z: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return the way to the equilibrium, and the slope of z with u there, (m, unknowns).

        None where the tangent is singular.
        """
        system, rows = self.actuate(u), self._rows
        self._equations(
            system, z, self.still, self.still, 0.0, 0.0, True, self.r, self.tangent)
        rows[0] = self.r
        rows[1 + self._pulled, self.row[self._pulled]] = -1.0
        if self._legs is not None:
            if self._weights is None:  # the small part of the slope: the first will do for all
                self._weights = self._legs.weights(system, z, self.r)
            columns = self._legs.columns(z, self._lengths, self._weights)
            rows[1 + np.flatnonzero(self.leg)] = columns[self._fed_rods]
        out = np.empty_like(rows)
        found = self._solve_rows(
            self.tangent, system.platform.moves, True, self._inverse, rows, out)
        return (-out[0], -out[1:]) if found else None

    def settling(self, z: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the way to the equilibrium under u by the last tangent, nearly."""
        system = self.actuate(u)
        self._equations(
            system, z, self.still, self.still, 0.0, 0.0, False, self.r, self.tangent)
        self._solve_rows(
            self.tangent, system.platform.moves, False, self._inverse, self.r[None], self._step)
        return -self._step[0]

    def strain(self, step: np.ndarray) -> float:
        """Return the size of a change of z, as strain."""
        size = float(np.max(np.abs(step) * self.scale))
        return size if math.isfinite(size) else math.inf

    def equilibrium(
        self, z: np.ndarray, u: np.ndarray, drives: Drives | None = None,
    ) -> tuple[np.ndarray, bool]:
        """Return the equilibrium under u, or other drives, near z, and whether there is one."""
        system = self.actuate(u)
        if drives is not None:
            system = system._replace(drives=drives)
        found, status, *_ = newton(
            system, begin(z, self.still, self.still), STILL, self.scale, 1e-11, 30, 2.0,
            self._inverse, False)
        return found[0], status == CONVERGED

    def is_stable(self, z: np.ndarray, u: np.ndarray, drives: Drives | None) -> bool:
        """Return whether the equilibrium at z is stable under u, or other drives."""
        system = self.actuate(u)
        if drives is not None:
            system = system._replace(drives=drives)
        K = unbalance_and_jacobian(system, z, self.still, self.still, 0.0, 0.0)[1]
        return stands(K, self.sim.solver)

    def way_to_fall(self, z: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the change of z, of strain 1, by which an equilibrium under u is left first."""
        tangents = slopes(self.actuate(u), z, self.still, self.still)
        part = reduced(tangents, self.sim.solver.moves)
        mode = part.basis @ np.linalg.eigh(0.5 * (part.stiffness + part.stiffness.T))[1][:, 0]
        return mode / self.strain(mode)

    def lengths(self, z: np.ndarray) -> np.ndarray:
        """Return lengths and volumes of the actuators, (m,); 0 for legs."""
        lengths, solver = self.excess.copy(), self.sim.solver
        for i, here in self._pulled_on:
            lengths[here] += actuator_lengths(
                solver.rods[i], solver.paths[i], z[solver.q_places[i]])[self.slot[here]]
        return lengths

    def length_gradients(self, which: np.ndarray) -> np.ndarray:
        """Return how lengths of actuators change with z at the last tangent, (k, unknowns)."""
        gradients = np.zeros((which.size, self.still.size))
        for a, j in enumerate(which):
            i = self.rod[j]
            gradients[a, self.sim.solver.q_places[i]] = (
                self.tangent.block[i, :self.n, self.n + self.slot[j]])
        return gradients
