"""The equations of a robot as functions of its shape and of its actuation."""

from __future__ import annotations

import math

import numpy as np

from ..analysis.linearize import reduced, slopes
from ..analysis.sensitivity import LegColumns
from ..analysis.stability import stands
from ..assembly.rods import PLATFORM
from ..description.parts import Chamber, Leg, Tendon
from ..laws.actuators import Drives, EFFORT
from ..numerics.kernels import Direct
from ..simulation.feeding import Fed
from ..simulation.simulator import Simulator
from .compiled import actuator_lengths
from .equilibria import Equilibria


class Mechanics:
    """The equations of a simulator's robot as functions of z and of the actuation u (m,)."""

    def __init__(self, sim: Simulator) -> None:
        self.sim, robot, model = sim, sim.robot, sim.model
        self.solver = Equilibria(model)
        self.still, self.scale = self.solver.still, self.solver.strain_scale
        self.names, self.actuators = list(robot.actuators), list(robot.actuators.values())
        places = [model.places[name] for name in self.names]
        self.leg = np.array([isinstance(a, Leg) for a in self.actuators], dtype=bool)
        self.rod = np.array([p.rod for p in places], dtype=int)
        self.slot = np.array([p.slot for p in places], dtype=int)
        self.pulled = np.flatnonzero([isinstance(a, Tendon | Chamber) for a in self.actuators])
        self._pulled_at = self.rod[self.pulled], self.slot[self.pulled]
        self.row = self.solver.effort_places[self._pulled_at]  # of efforts in z
        self._pulled_on = [(i, self.pulled[self.rod[self.pulled] == i])
                           for i in sorted(set(self.rod[self.pulled].tolist()))]
        self._fed_rods = self.rod[self.leg]
        self._lengths = np.array([robot.rods[name].length for name in model.names])
        self._legs = LegColumns(sim) if self.leg.any() else None
        self._weights: np.ndarray | None = None
        self._rows = np.zeros((1 + len(self.names), self.still.size))
        self._rows[1 + self.pulled, self.row] = -1.0
        self._actuator_lengths = Direct(actuator_lengths)
        self._loads: object = None
        self._laws: Fed | None = None
        self.excess = np.zeros(len(self.names))  # of chords over lengths in the section [m]
        self.take()

    @property
    def rest_actuation(self) -> np.ndarray:
        """No effort, and legs as long as at rest, (m,)."""
        u = np.zeros(len(self.names))
        u[self.leg] = [self.sim.robot.rods[self.sim.model.names[i]].length
                       for i in self._fed_rods]
        return u

    def actuation(self, z: np.ndarray) -> np.ndarray:
        """Return efforts in z, and lengths that the simulator's legs have, (m,)."""
        u = np.array([self.sim.reached(name) for name in self.names])
        u[self.pulled] = z[self.row]
        return u

    def take(self) -> None:
        """Take over the loads that act on the simulator now."""
        sim = self.sim
        if self._loads is sim.loads:
            return
        self._loads = sim.loads
        self.solver.load(sim.loads)
        if sim.robot.platform is not None:
            link, acting = self.solver.places.bodies[PLATFORM].link, sim.solver.tree.bodies
            self.solver.load_platform(np.concatenate([acting.force[link], acting.moment[link]]))
        self.described = sim.model.drives(sim.commands)
        self._efforts = self.described._replace(
            kind=np.full_like(self.described.kind, EFFORT),
            command=np.zeros_like(self.described.command))

    def take_laws(self, z: np.ndarray | None) -> None:
        """Take over what dry friction and chords do near z, or nothing of it (None)."""
        self._laws = None if z is None else self.sim.laws(z)
        self.excess = np.zeros(len(self.names))
        if z is not None:
            self.excess[self.pulled] = self.sim.chords.excess[self._pulled_at]
        self._feed()

    def stand(self, R: np.ndarray) -> None:
        """Count the platform's turn from R on, and begin anew."""
        self._weights = None
        self.solver.count_turns_from(R)

    def actuate(self, u: np.ndarray, drives: Drives | None = None) -> Equilibria:
        """Return the equations under actuation u, or with legs of these lengths and drives."""
        self._efforts.command[self._pulled_at] = u[self.pulled]
        self.solver.drive(self._efforts if drives is None else drives)
        if self._legs is not None:
            self._lengths[self._fed_rods] = u[self.leg]
            self._feed()
        return self.solver

    def _feed(self) -> None:
        """Give rods the present lengths of legs, and the laws that were taken."""
        fed = self.sim.model.feeding.fed(self._lengths)
        if self._laws is not None:
            fed = fed._replace(elastic=fed.elastic + self._laws.elastic,
                               stress=fed.stress + self._laws.stress)
        self.solver.change_rods(*fed)

    def linearise(self, z: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Return the way to the equilibrium, and the slope of z with u there, (m, unknowns).

        None where the tangent is singular.
        """
        solver, rows = self.actuate(u), self._rows
        if self._legs is not None:
            if self._weights is None:  # the small part of the slope: the first will do for all
                self._weights = self._legs.weights(solver, z)
            columns = self._legs.columns(z, self._lengths, self._weights)
            rows[1 + np.flatnonzero(self.leg)] = columns[self._fed_rods]
        out = solver.linear_solves(z, True, rows)
        return None if out is None else (-out[0], -out[1:])

    def settling(self, z: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the way to the equilibrium under u by the last tangent, nearly."""
        out = self.actuate(u).linear_solves(z, False, self._rows[:1])
        return np.full(z.size, np.nan) if out is None else -out[0]

    def strain(self, step: np.ndarray) -> float:
        """Return the size of a change of z, as strain."""
        size = float(np.max(np.abs(step) * self.scale))
        return size if math.isfinite(size) else math.inf

    def equilibrium(
        self, z: np.ndarray, u: np.ndarray, drives: Drives | None = None,
    ) -> tuple[np.ndarray, bool]:
        """Return the equilibrium under u, or other drives, near z, and whether there is one."""
        return self.actuate(u, drives).equilibrium(z)

    def is_stable(self, z: np.ndarray, u: np.ndarray, drives: Drives | None) -> bool:
        """Return whether the equilibrium at z is stable under u, or other drives."""
        solver = self.actuate(u, drives)
        return stands(solver.stiffness(z), solver.moves, solver.work.held)

    def way_to_fall(self, z: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the change of z, of strain 1, by which an equilibrium under u is left first."""
        tangents = slopes(self.actuate(u), z, self.still, self.still)
        part = reduced(tangents, self.solver.moves)
        mode = part.basis @ np.linalg.eigh(0.5 * (part.stiffness + part.stiffness.T))[1][:, 0]
        return mode / self.strain(mode)

    def lengths(self, z: np.ndarray) -> np.ndarray:
        """Return lengths and volumes of the actuators, (m,); 0 for legs."""
        lengths = self.excess.copy()
        for i, here in self._pulled_on:
            lengths[here] += self._lengths_and_slopes(i, z)[0][self.slot[here]]
        return lengths

    def length_slopes(self, z: np.ndarray) -> np.ndarray:
        """Return how lengths and volumes of the actuators change with z, (m, unknowns)."""
        slopes = np.zeros((len(self.names), z.size))
        for i, here in self._pulled_on:
            slopes[here[:, None], self.solver.q_places[i]] = (
                self._lengths_and_slopes(i, z)[1][self.slot[here]])
        return slopes

    def _lengths_and_slopes(self, i: int, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        solver = self.solver
        return self._actuator_lengths(solver.rods[i], solver.paths[i], z[solver.q_places[i]])
