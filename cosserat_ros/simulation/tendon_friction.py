"""
The friction of all tendons of a robot, linearised for the solver.

The law is that of :mod:`cosserat_ros.laws.capstan_friction`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..assembly.rods import RodsSolver
from ..laws.capstan_friction import dry_friction, Law, left_of, Memory, STEEPEST
from ..laws.chords import section_length
from .feeding import Fed
from .model import Model

SWEEPS = 100  # over all nodes, of Gauss and Seidel's method


class _Tendon(NamedTuple):
    """One tendon on a rod of some shape."""

    gradient: np.ndarray  # (N, 6) of its length with the strain, weighted
    beyond: np.ndarray    # (N, n) of its length beyond each node with the amplitudes
    sliding: np.ndarray   # (N,) that length [m]
    angle: np.ndarray     # (N,) by which it bends at each node [rad]
    turn: np.ndarray      # (N, n) of that angle with the amplitudes


class _Given(NamedTuple):
    """The linear law of a tendon that the solver was given: ``beyond^T (offset + slope q)``."""

    offset: np.ndarray      # (N,)
    slope: np.ndarray       # (N, n)
    beyond: np.ndarray      # (N, n)
    by_tension: np.ndarray  # (N,) which it was not given: it has no place for it


def _beyond(each: np.ndarray) -> np.ndarray:
    """Return sums over what lies beyond each node, and half of its own."""
    return np.cumsum(each[::-1], axis=0)[::-1] - 0.5 * each


def _before(each: np.ndarray) -> np.ndarray:
    """Return sums over what lies before each node, and half of its own: the transpose."""
    return np.cumsum(each) - 0.5 * each


class Friction:
    """
    The friction of all tendons of a robot.

    Dry friction is an unknown of each solve, and the solver is given its linear part: stress and
    stiffness. `gap` tells whether that was good enough, `keep` makes it the past.

    Parameters
    ----------
    model : Model
    solver : RodsSolver

    """

    def __init__(self, model: Model, solver: RodsSolver) -> None:
        self._model, self._solver = model, solver
        tendons = model.robot.tendons
        self._damped = [name for name, tendon in tendons.items() if tendon.damping_friction]
        self._dry = [name for name, tendon in tendons.items() if tendon.coulomb_friction]
        self._given: dict[str, _Given] = {}
        self.memory: dict[str, Memory] = {}
        self.forget()

    @property
    def acts(self) -> bool:
        """Whether there is any."""
        return bool(self._damped or self._dry)

    @property
    def sticks(self) -> bool:
        """Whether there is any dry friction."""
        return bool(self._dry)

    def forget(self) -> None:
        """Begin with tendons that have never slid: those of the rods at rest."""
        none = np.zeros(self._model.rods[0].component.size)
        for name in self._dry:
            sliding = self._tendon(name, none).sliding
            self.memory[name] = Memory(sliding, *np.zeros((2, sliding.size)))

    def _tendon(self, name: str, q: np.ndarray) -> _Tendon:
        """Return a tendon where its rod has these amplitudes (n,)."""
        i, slot = self._model.places[name]
        d, path = self._model.rods[i], self._solver.paths[i]
        xi = d.rest_strain.copy()
        np.add.at(xi.T, d.component, (d.Phi * q).T)
        r, weight = path.r[slot], path.weight[slot]
        c = xi[:, :3] + np.cross(xi[:, 3:], r) + path.r_s[slot]
        size = np.linalg.norm(c, axis=1)
        c *= (weight / size)[:, None]
        gradient = np.hstack([c, np.cross(r, c)])
        bend = np.linalg.norm(xi[:, 3:5], axis=1)
        along = np.zeros((d.s.size, 6))
        along[:, 3:5] = xi[:, 3:5] * (weight / np.where(bend > 0.0, bend, 1.0))[:, None]
        return _Tendon(
            gradient, _beyond(gradient[:, d.component] * d.Phi), _beyond(weight * size),
            weight * bend, along[:, d.component] * d.Phi)

    def _law(self, name: str, at: _Tendon, z: np.ndarray, yields: bool = False) -> Law:
        tendon = self._model.robot.tendons[name]
        tension = z[self._solver.effort_places[self._model.places[name]]]
        return dry_friction(self.memory[name], at.sliding, at.angle, max(tension, 0.0),
                            tendon.coulomb_friction, tendon.presliding, yields)

    def add_to(
        self, fed: Fed, z: np.ndarray, near: bool = False, yields: bool = False,
    ) -> None:
        """
        Add what friction does to rods near the unknowns z to `fed`.

        `near` the solution with all its slopes, for Newton's method; else with those of bristles
        that stick alone, which only make a rod stiffer. `yields` as in `dry_friction`.
        """
        for name in self._damped:
            i = self._model.places[name].rod
            fed.viscous[i] += self._damping(name, self._tendon(name, self._solver.q[i]))
        for name in self._dry:
            i, d = self._model.places[name].rod, self._model.rods[self._model.places[name].rod]
            q = z[self._solver.q_places[i]]
            at = self._tendon(name, q)
            law = self._law(name, at, z, yields)
            slope = (law.by_sliding @ at.beyond + law.by_angle @ at.turn if near
                     else np.diag(law.by_sliding)[:, None] * at.beyond)
            offset = law.force - slope @ q  # of the linear law, at q = 0
            fed.elastic[i] += at.beyond.T @ slope
            fed.stress[i] += (_before(offset) / d.w)[:, None] * at.gradient
            self._given[name] = _Given(offset, slope, at.beyond, law.by_tension)

    def coupled(self, K: np.ndarray) -> np.ndarray:
        """
        Return the static tangent dr/dz at the present, where it was added last, with the rest.

        That is what efforts do by friction, and the curvature of the sliding that it works on.
        """
        K = K.copy()
        for name in self._dry:
            i, slot = self._model.places[name]
            path, q, given = self._solver.paths[i], self._solver.q[i], self._given[name]
            row, columns = self._solver.effort_places[i, slot], self._solver.q_places[i]
            weight = path.weight[slot] * _before(given.offset + given.slope @ q)
            K[np.ix_(columns, columns)] += section_length(
                self._model.rods[i], path.r[slot], path.r_s[slot], weight, q).hessian
            if self._solver.z[row] > 0.0:
                K[columns, row] += given.beyond.T @ given.by_tension
        return K

    def _damping(self, name: str, at: _Tendon) -> np.ndarray:
        """
        Return the damping (n, n) of a tendon that slides.

        The tension is that of the last instant: the force is linear, and always takes energy.
        """
        tension = max(self._solver.efforts[self._model.places[name]], 0.0)
        coefficient = self._model.robot.tendons[name].damping_friction * tension * at.angle
        return at.beyond.T @ (coefficient[:, None] * at.beyond)

    def gap(self) -> float:
        """
        Return how far the linear law that the solver was given is from the law at the present.

        As a part of what the tendon itself does to its rod.
        """
        gap = 0.0
        for name in self._dry:
            i, slot = self._model.places[name]
            d, q = self._model.rods[i], self._solver.q[i]
            at = self._tendon(name, q)
            given = self._given[name]
            wrong = np.abs(at.beyond.T @ self._law(name, at, self._solver.z).force
                           - given.beyond.T @ (given.offset + given.slope @ q)).max()
            pull = self._solver.efforts[i, slot] * (
                at.gradient[:, d.component] * d.Phi).sum(axis=0)
            if wrong > 0.0:
                gap = max(gap, wrong / max(np.abs(pull).max(), wrong))
        return gap

    def relaxed(self, jacobian: np.ndarray) -> np.ndarray:
        """
        Return unknowns z near which all sticks and slips as the law says.

        The robot is taken as linear, by the derivative of its equations at the present with what
        was given. Then friction is a problem of bounded forces, which Gauss and Seidel's method
        solves node by node: slower than Newton's, and it does not go in circles.
        """
        solver, A = self._solver, jacobian.copy()
        size = self._model.rods[0].s.size
        B, E = np.zeros((len(self._dry) * size, len(A))), np.zeros((len(self._dry), len(A)))
        start, slid, angle = np.zeros((3, len(B)))
        for j, name in enumerate(self._dry):
            i, given, nodes = self._model.places[name].rod, self._given[name], slice(
                j * size, (j + 1) * size)
            columns, at = solver.q_places[i], self._tendon(name, solver.q[i])
            A[np.ix_(columns, columns)] -= given.beyond.T @ given.slope
            B[nodes, columns] = at.beyond
            E[j, solver.effort_places[self._model.places[name]]] = 1.0
            start[nodes] = given.offset + given.slope @ solver.q[i]
            slid[nodes], angle[nodes] = at.sliding, at.angle
        response = -np.linalg.solve(A, B.T)
        C, pulls = B @ response, E @ response
        force = start.copy()
        for _ in range(SWEEPS):
            before = force.copy()
            for j, name in enumerate(self._dry):
                tendon, last = self._model.robot.tendons[name], self.memory[name]
                tension = E[j] @ solver.z + pulls[j] @ (force - start)
                tension = max(tension, 0.0)
                for k in range(size):
                    g = j * size + k
                    a = min(tendon.coulomb_friction * angle[g], STEEPEST)
                    stiffness = a * tension / tendon.presliding
                    free = slid[g] + C[g] @ (force - start) - C[g, g] * force[g]
                    trial = (left_of(last, k, a * tension)[0] + stiffness * (
                        free - last.sliding[k])) / (1.0 - stiffness * C[g, g])
                    force[g] = min(max(trial, np.expm1(-a) * tension), np.expm1(a) * tension)
                    tension += force[g]
            if np.abs(force - before).max() <= 1e-6 * np.abs(force).max():
                break
        return solver.z + response @ (force - start)

    def keep(self) -> None:
        """Make the present instant that which is remembered."""
        for name in self._dry:
            at = self._tendon(name, self._solver.q[self._model.places[name].rod])
            law = self._law(name, at, self._solver.z)
            self.memory[name] = Memory(at.sliding, law.force, law.limit)

    def tension(self, name: str) -> np.ndarray:
        """Return the tension of a tendon at the nodes of its rod, (N,) [N]."""
        effort = self._solver.efforts[self._model.places[name]]
        if name not in self._dry:
            return np.full(self._model.rods[0].s.size, effort)
        return effort + _before(self.memory[name].force)
