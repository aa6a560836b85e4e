"""All tendons of a robot that are straight in space between discs, linearised for the solver."""

from __future__ import annotations

import numpy as np

from ..assembly.rods import RodsSolver
from ..laws.actuators import Drives, LENGTH
from ..laws.chords import Chords, Functional, section_length
from ..rod.discretisation import as_stress
from .feeding import Fed
from .model import Model

LENGTH_COUNTS = 100.0  # how much more a relative error of length counts than one of force


class SpatialTendons:
    """
    All tendons of a robot that are straight in space between discs.

    Parameters
    ----------
    model : Model
    solver : RodsSolver

    """

    def __init__(self, model: Model, solver: RodsSolver) -> None:
        self._model, self._solver = model, solver
        robot = model.robot
        self._chords: dict[str, Chords] = {}
        self._rest: dict[str, float] = {}
        self._given: dict[str, tuple[np.ndarray, np.ndarray, float]] = {}
        self.excess = np.zeros((len(model.rods), model.slots))  # of lengths over the engine's [m]
        for name, tendon in robot.tendons.items():
            if tendon.guided_by is None or tendon.straight_in == 'section':
                continue
            i, path = model.places[name].rod, robot.path(name)
            rod = robot.rods[model.names[i]]
            holes = robot.discs[tendon.guided_by].arc_lengths(rod.length)
            knots = np.unique(np.clip([path.start, *holes, path.end], path.start, path.end))
            self._chords[name] = Chords(
                rod, model.modes, model.rods[i], knots, path.at(knots))
            self._rest[name] = self._difference(
                name, np.zeros(model.rods[i].component.size)).length

    def __bool__(self) -> bool:
        return bool(self._chords)

    def _difference(self, name: str, q: np.ndarray) -> Functional:
        """Return the chords' length less that of the engine."""
        true, plain = self._chords[name].at(q), self._plain(name, q)
        return Functional(true.length - plain.length, true.gradient - plain.gradient,
                          true.hessian - plain.hessian)

    def _plain(self, name: str, q: np.ndarray) -> Functional:
        """Return the engine's length."""
        i, slot = self._model.places[name]
        a = self._solver.paths[i]
        return section_length(self._model.rods[i], a.r[slot], a.r_s[slot], a.weight[slot], q)

    def add_to(self, fed: Fed, z: np.ndarray) -> None:
        """Add what is missing near the unknowns z to `fed` and `excess`."""
        for name in self._chords:
            i, slot = self._model.places[name]
            q, effort = z[self._solver.q_places[i]], z[self._solver.effort_places[i, slot]]
            more = self._difference(name, q)
            stiffness = effort * more.hessian
            offset = effort * more.gradient - stiffness @ q
            fed.elastic[i] += stiffness
            fed.stress[i] += as_stress(self._model.rods[i], offset)
            self.excess[i, slot] = more.length - self._rest[name]
            self._given[name] = offset, stiffness, more.length

    def shifted(self, drives: Drives) -> Drives:
        """Return drives that make the engine's lengths those at which the chords' are right."""
        if not self._chords:
            return drives
        return drives._replace(command=np.where(
            drives.kind == LENGTH, drives.command - self.excess, drives.command))

    def coupled(self, K: np.ndarray) -> np.ndarray:
        """Return the static tangent dr/dz at the present with what efforts do by the chords."""
        K = K.copy()
        for name in self._chords:
            i, slot = self._model.places[name]
            q, row = self._solver.q_places[i], self._solver.effort_places[i, slot]
            plain = self._plain(name, self._solver.q[i]).gradient
            more = self._difference(name, self._solver.q[i]).gradient
            slope = K[row, q] @ plain / (plain @ plain)  # of the drive's rule with the length
            K[q, row] += more
            K[row, q] += slope * more
        return K

    def gap(self) -> float:
        """Return how far what was given is from what it should be, as in `Friction.gap`."""
        gap = 0.0
        for name in self._chords:
            i, slot = self._model.places[name]
            q, effort = self._solver.q[i], self._solver.efforts[i, slot]
            more, (offset, stiffness, length) = self._difference(name, q), self._given[name]
            wrong = np.abs(effort * more.gradient - offset - stiffness @ q).max()
            pull = np.abs(effort * self._plain(name, q).gradient).max()
            gap = max(gap, wrong / max(pull, wrong) if wrong > 0.0 else 0.0, LENGTH_COUNTS
                      * abs(more.length - length) / self._model.rest_lengths[i, slot])
        return gap
