"""The static equations of a robot as functions of its unknowns: no time, no state of its own."""

from __future__ import annotations

import numpy as np

from ..assembly.newton import CONVERGED
from ..assembly.rods import RodsSolver
from ..numerics.kernels import Direct
from ..simulation.model import Model
from .compiled import linear_solves, SOLVED, STATIC

EXACT = 1e-11  # strain, to which equilibria are found


class Equilibria(RodsSolver):
    """A robot's solver for what is asked at any z, with arrays of its own."""

    MOST_ITERATIONS = 30

    def __init__(self, model: Model) -> None:
        super().__init__(
            model.assembly(), dict(zip(model.names, model.rods)), tolerance=EXACT)
        self.still = np.zeros(self.Z)
        self._motion = np.empty((self.tree.links.kind.size, 18))
        self._linear_solves = Direct(linear_solves)

    def take_obstacles(self, other: RodsSolver) -> None:
        """Let there be the obstacles of another solver."""
        if list(self.obstacles.items()) != list(other.obstacles.items()):
            self.set_obstacles(other.obstacles, check=False)

    def stand_as(self, other: RodsSolver, floats: np.ndarray) -> None:
        """Let roots be where they are in another solver; hold what floats, at places in z."""
        if self._roots.size:
            self._put_roots(other._root_motions())
        c = self.tree.coordinates
        c.driven[floats], c.command[floats] = True, other.z[floats]

    def remember_as(self, other: RodsSolver) -> None:
        """Let laws remember what they would where statics of another solver begins."""
        self.tree.laws.memory[:] = other.tree.laws.memory
        if other.holds_anchors:
            for own, given in zip(self.tree.contacts.memory, other.tree.contacts.memory):
                own[:] = given
        else:
            self.count_turns_from(other.attitude)
            self.commit_contacts(other.z, stays=False)

    def linear_solves(self, z: np.ndarray, fresh: bool, rows: np.ndarray) -> np.ndarray | None:
        """
        Return the inverse of the tangent times the residual at z, and times further rows.

        None where it is singular.

        Parameters
        ----------
        z : (Z,) array
        fresh : bool
            Whether the tangent is that at z; else the last one.
        rows : (1 + m, Z) array
            The first is overwritten by the residual.

        """
        out = np.empty_like(rows)
        while (at := self._linear_solves(
                self.tree, self.work, self.tangent, self.fronts, self._code(),
                z, self.still, fresh, rows, self._motion, out)) >= 0:
            if not self._postpone(at):
                return None
        if fresh:
            self._factorised, self._ny, self._fronts_ny = None, 0, STATIC
        return out if at == SOLVED else None

    def equilibrium(self, z: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the equilibrium near z, and whether there is one; else z."""
        ending = self._balance(z)
        found = ending.status == CONVERGED
        return ending.now[0] if found else z, found

    def stiffness(self, z: np.ndarray) -> np.ndarray:
        """Return the static tangent at z, (Z, Z); what is at its limit yields."""
        self.tree.laws.yields[0] = True
        K = self.jacobian(z, self.still, self.still, 0.0, 0.0)[1]
        self.tree.laws.yields[0] = False
        return K
