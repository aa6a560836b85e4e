"""The equations of a robot as functions of its shape and of its actuation."""

from __future__ import annotations

import math

import numpy as np

from ..analysis.linearize import reduced, slopes
from ..analysis.sensitivity import LegColumns
from ..analysis.stability import stands
from ..description.joints import JointDrive
from ..description.parts import Chamber, Leg, Tendon
from ..laws.actuators import Drives, EFFORT
from ..numerics.kernels import Direct
from ..simulation.model import Place
from ..simulation.simulator import Simulator
from .compiled import actuator_lengths
from .equilibria import Equilibria


class Mechanics:
    """
    The equations of a simulator's robot as functions of z and of the actuation u (m,).

    u has efforts of tendons and chambers, lengths of legs, positions of joints that are held, and
    efforts of those that are pushed.
    """

    def __init__(self, sim: Simulator) -> None:
        self.sim, robot, model = sim, sim.robot, sim.model
        self.solver = Equilibria(model)
        self.still, self.scale = self.solver.still, self.solver.strain_scale
        self.names, self.actuators = list(robot.actuators), list(robot.actuators.values())
        places = [model.places.get(name, Place(-1, -1)) for name in self.names]
        self.leg = np.array([isinstance(a, Leg) for a in self.actuators], dtype=bool)
        self.rod = np.array([p.rod for p in places], dtype=int)
        self.slot = np.array([p.slot for p in places], dtype=int)
        self.pulled = np.flatnonzero([isinstance(a, Tendon | Chamber) for a in self.actuators])
        self.number = np.array([model.numbers.get(name, -1) for name in self.names], dtype=int)
        self._pulled_at = self.number[self.pulled]
        self.row = self.solver.effort_places[self._pulled_at]  # of efforts in z
        self._pulled_on = [(i, self.pulled[self.rod[self.pulled] == i])
                           for i in sorted(set(self.rod[self.pulled].tolist()))]
        self._find_joints()
        self._fed_rods = self.rod[self.leg]
        self._lengths = np.array([robot.rods[name].length for name in model.names])
        self._legs = LegColumns(sim) if self.leg.any() else None
        self._weights: np.ndarray | None = None
        self._rows = np.zeros((1 + len(self.names), self.still.size))
        self._rows[1 + self.pulled, self.row] = -1.0
        self._rows[1 + self.pushed, self._pushed_at] = -1.0
        self._rows[1 + self.held, self._held_at] = -self.solver.tree.coordinates.hardness[
            self._held_at]
        self._actuator_lengths = Direct(actuator_lengths)
        self._loads: object = None
        self.take()

    def _find_joints(self) -> None:
        """Find the joints among the actuators: held ones, some by velocity, and pushed ones."""
        drives = [a.coordinate.drive if isinstance(a, JointDrive) else '' for a in self.actuators]
        self.held = np.flatnonzero([drive in ('position', 'velocity') for drive in drives])
        self.pushed = np.flatnonzero([drive == 'effort' for drive in drives])
        self.paced = np.flatnonzero([drive == 'velocity' for drive in drives])
        at = self.sim.joints.places
        self._held_at, self._pushed_at, self._paced_at = (
            np.array([at[self.names[j]] for j in which], dtype=int)
            for which in (self.held, self.pushed, self.paced))

    @property
    def rest_actuation(self) -> np.ndarray:
        """No effort, legs as long as at rest, and joints where they are at rest, (m,)."""
        u = np.zeros(len(self.names))
        u[self.held] = [self.sim.rest_command(self.names[j]) for j in self.held]
        u[self.paced] = self.sim.solver.z[self._paced_at]
        u[self.leg] = [self.sim.robot.rods[self.sim.model.names[i]].length
                       for i in self._fed_rods]
        return u

    def actuation(self, z: np.ndarray) -> np.ndarray:
        """Return efforts and joints in z, lengths of the simulator's legs, its pushes, (m,)."""
        u = np.array([self.sim.reached(name) for name in self.names])
        u[self.pulled], u[self.held] = z[self.row], z[self._held_at]
        return u

    def take(self) -> None:
        """Take over the loads that act on the simulator now, and what its laws remember."""
        sim = self.sim
        self.solver.take_obstacles(sim.solver)
        self.solver.stand_as(sim.solver, sim.base.floats)
        self.solver.remember_as(sim.solver)
        if self._loads is sim.loads:
            return
        self._loads = sim.loads
        self.solver.load(sim.loads)
        self.solver.take_loads(sim.solver)
        self.described = sim.model.drives(sim.commands)
        self._efforts = self.described._replace(
            kind=np.full_like(self.described.kind, EFFORT),
            command=np.zeros_like(self.described.command))

    def stand(self, R: np.ndarray) -> None:
        """Count free turns from R on, and begin anew."""
        self._weights = None
        self.solver.count_turns_from(R)

    def actuate(self, u: np.ndarray, drives: Drives | None = None) -> Equilibria:
        """Return the equations under actuation u, or with legs of these lengths and drives."""
        self._efforts.command[self._pulled_at] = u[self.pulled]
        if self.held.size or self.pushed.size:
            told = self.solver.tree.coordinates
            told.command[self._held_at], told.push[self._pushed_at] = u[self.held], u[self.pushed]
        self.solver.drive(self._efforts if drives is None else drives)
        if self._legs is not None:
            self._lengths[self._fed_rods] = u[self.leg]
            self.solver.change_rods(*self.sim.model.feeding.fed(self._lengths))
        return self.solver

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
        """Return lengths and volumes of the actuators, (m,); 0 for legs and joints."""
        lengths = np.zeros(len(self.names))
        for i, here in self._pulled_on:
            lengths[here] = self._lengths_and_slopes(i, z)[0][self.slot[here]]
        return lengths

    def length_slopes(self, z: np.ndarray) -> np.ndarray:
        """Return how lengths and volumes of the actuators change with z, (m, unknowns)."""
        slopes = np.zeros((len(self.names), z.size))
        for i, here in self._pulled_on:
            slopes[here[:, None], self.solver.q_places[i]] = (
                self._lengths_and_slopes(i, z)[1][self.slot[here]])
        return slopes

    def _lengths_and_slopes(self, i: int, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        solver, q = self.solver, z[self.solver.q_places[i]]
        lengths, slopes = self._actuator_lengths(solver.rods[i], solver.paths[i], q)
        chords = solver.chords.get(i)
        if chords is not None:
            straight, (true, gradients) = chords.tendons, chords.at(q)
            lengths[straight], slopes[straight] = true[straight], gradients[straight]
        return lengths, slopes
