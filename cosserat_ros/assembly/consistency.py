"""
Instants that are consistent: loops closed, rates that they allow, accelerations in balance.

Equations are those of :mod:`cosserat_ros.assembly.tree`, linear in accelerations and reactions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from .state import AssemblyState

REDUNDANT = 1e-9          # of the largest singular value of a set of constraints
CONFLICT = 1e-6           # singular value of told positions and closures that exclude others
AT_LIMIT = 1e-9           # [m, rad] from a limit, where a coordinate is at it
CONSISTENT = 1e-6         # of the accelerations' right-hand side: more is a contradiction


class Balance(NamedTuple):
    """Accelerations, and what makes them."""

    z_tt: np.ndarray      # (Z,) accelerations of the coordinates; else 0
    effort: np.ndarray    # (Z,) along coordinates whose acceleration was told; else 0 [N, N m]
    reaction: np.ndarray  # (Z,) change of the reactions of closures; else 0 [N, N m]


class ConsistentState(AssemblyState):
    """An assembly whose present instant can be made consistent."""

    def _constraints(self) -> np.ndarray:
        """Return which equations hold positions: closures, driven coordinates; bool (Z,)."""
        tree = self.tree
        rows = self.closing
        rows[:tree.effort] = tree.coordinates.driven[:tree.effort]
        return rows

    @property
    def closing(self) -> np.ndarray:
        """Which equations close loops, without redundant ones; bool (Z,)."""
        rows = np.zeros(self.Z, dtype=bool)
        for first, count in zip(self.tree.closures.first, self.tree.closures.rows):
            rows[first:first + count] = True
        return rows & ~self.tree.free

    def release_redundant(self, rng: np.random.Generator | None = None) -> list[int]:
        """
        Let go of equations of closures that follow from others, wherever the assembly is.

        Found from the rank of the constraints' gradients at three states nearby, closed if they
        can be: equations may follow from others only while the loop is closed (Bennett's linkage;
        a door whose hinges are askew, which cannot move). That where most are independent
        counts, so that a dead centre does not. Their reactions are 0. Returns their places in z.
        """
        rows = np.flatnonzero(self.closing)
        if not rows.size:
            return []
        found = [_independent(G) for G in self._gradients_nearby(
            rows, rng or np.random.default_rng(0))]
        rank, _, order = max(found, key=lambda f: f[:2])
        self.redundant = sorted(int(i) for i in rows[order[rank:]])
        self.tree.free[self.redundant] = True
        return self.redundant

    def _gradients_nearby(
        self, rows: np.ndarray, rng: np.random.Generator,
    ) -> list[np.ndarray]:
        """Return scaled gradients of some equations at three states nearby, closed if can be."""
        still, before, found = np.zeros(self.Z), self.saved(), []
        size = np.where(self.strain_scale > 0.0, self.strain_scale, 1.0)
        for _ in range(3):
            self.set_state(
                self.z + np.where(self.moves, 0.03 * rng.normal(size=self.Z) / size, 0.0))
            self.close()
            K = self.jacobian(self.z, still, still, 0.0, 0.0)[1]
            for closing, carrying in self._carried():
                K[np.ix_(closing, carrying)] = 0.0
            found.append(K[np.ix_(rows, self.moves)] / size[self.moves])
            self.restore(before)
        return found

    def _carried(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """
        Return for each closure its equations, and coordinates that move both of its ends alike.

        These turn a gap that is left, and cannot close it.
        """
        links, closures, found = self.tree.links, self.tree.closures, []
        for a, b, first, count in zip(*(v.tolist() for v in (
                closures.a, closures.b, closures.first, closures.rows))):
            both = set(self._line(a)) & set(self._line(b))
            found.append((np.arange(first, first + count), np.array([
                i for link in sorted(both) for i in range(
                    links.first[link], links.first[link] + links.freedom[link])], dtype=int)))
        return found

    def _line(self, link: int) -> list[int]:
        """Return a link and all that carries it, down to the world."""
        line = [link]
        while self.tree.links.parent[line[-1]] >= 0:
            line.append(int(self.tree.links.parent[line[-1]]))
        return line

    def contradicting(self) -> list[int]:
        """
        Return positions that are told, and closures, that cannot all be: places in z, or none.

        Closures alone are independent once redundant ones are let go of. With coordinates that
        are told they are not if those are more than the loop can follow: wherever it is, some sum
        of their gradients vanishes, and they are what is in it.
        """
        rows = np.flatnonzero(self._constraints())
        if not self.tree.coordinates.driven[:self.tree.effort].any() or not rows.size:
            return []
        nearby = self._gradients_nearby(rows, np.random.default_rng(0))
        found = []
        for G in nearby:
            size = np.linalg.norm(G, axis=1, keepdims=True)
            U, values, _ = np.linalg.svd(G / np.where(size > 0.0, size, 1.0))
            found.append(U[:, int(np.sum(values > CONFLICT)):])
        least = min(found, key=lambda left: left.shape[1])
        return [int(i) for i in rows[np.abs(least).max(axis=1, initial=0.0) > 1e-3]]

    def gap(self) -> float:
        """Return how far the closures are from being closed [m, rad], redundant ones too."""
        kept = self.tree.free.copy()
        self.tree.free[:] = False
        r = self.residual()
        self.tree.free[:] = kept
        return max((float(np.abs(r[first:first + count]).max()) for first, count in zip(
            self.tree.closures.first, self.tree.closures.rows)), default=0.0)

    def close(self, most: int = 50) -> bool:
        """
        Move the coordinates as little as possible until all loops are closed.

        Returns whether they are.
        """
        still, scale = np.zeros(self.Z), self.strain_scale[self.moves]
        for _ in range(most):
            r, K = self.jacobian(self.z, still, still, 0.0, 0.0)
            rows = self._constraints()
            if not rows.any() or np.abs(r[rows]).max() < 1e-13:
                return True
            G = K[np.ix_(rows, self.moves)] / scale
            step = np.linalg.lstsq(G, r[rows], rcond=REDUNDANT)[0] / scale
            size = np.abs(step * scale).max(initial=0.0)
            if size < 1e-14:
                break
            z = self.z.copy()
            z[self.moves] -= min(1.0, 0.5 / size) * step
            self.set_state(z, self.z_t)
            self._recentre()
        return bool(np.abs(self.residual()[self._constraints()]).max() < 1e-9)

    def start(self) -> bool:
        """
        Give the present instant velocities that constraints allow, and the accelerations it has.

        Reactions of closures are found with them; efforts of actuators stay what they are. Driven
        coordinates keep the rates and accelerations that they were given; those at a limit do not
        accelerate beyond it. Roots that are moved take the rates of the present time. Returns
        whether it could: not if some coordinate has no inertia.
        """
        if self.motions:
            self._move_roots(self.time, 0.0)
        c, moves, told = self.tree.coordinates, self.moves, self.z_tt
        z_t, held = self._allowed_rates(), moves & c.driven
        while (found := self.balance(z_t, told, held)) is not None:
            z_tt = found.z_tt
            beyond = moves & ~held & (
                ((self.z > c.most - AT_LIMIT) & (z_t >= 0.0) & (z_tt > 0.0))
                | ((self.z < c.least + AT_LIMIT) & (z_t <= 0.0) & (z_tt < 0.0)))
            if beyond.any():
                held, told = held | beyond, np.where(beyond, 0.0, told)
                continue
            self._begin(self.z + found.reaction, z_t, z_tt)
            return True
        return False

    def _begin(self, z: np.ndarray, z_t: np.ndarray, z_tt: np.ndarray) -> None:
        """Begin a motion from the present instant."""
        self.set_state(z, z_t, z_tt)

    def _allowed_rates(self) -> np.ndarray:
        """Return the nearest rates that closures allow, (Z,)."""
        moves, still, z_t = self.moves, np.zeros(self.Z), self.z_t.copy()
        rows, scale = self._constraints(), self.strain_scale[self.moves]
        if rows.any():
            _, K = self.jacobian(self.z, still, still, 0.0, 0.0)
            G = K[np.ix_(rows, moves)] / scale
            z_t[moves] -= np.linalg.lstsq(
                G, self._closure_rates(z_t)[0][rows], rcond=REDUNDANT)[0] / scale
        return z_t

    def balance(
        self, z_t: np.ndarray, told: np.ndarray, held: np.ndarray,
        efforts: np.ndarray | None = None,
    ) -> Balance | None:
        """
        Return accelerations, and what makes them, at the present state with rates `z_t` (Z,).

        Accelerations of coordinates that are `held`, bool (Z,), are `told` (Z,), and the effort
        that they take is found; of all others `efforts` (Z,) are told, beside all that acts.
        Limits are of no account. None if there is no solution.
        """
        moves, still, closed = self.moves, np.zeros(self.Z), self.closing
        with self.let_go():
            (r, K), (_, heavy) = (
                self.jacobian(self.z, z_t, still, 0.0, cA) for cA in (0.0, 1.0))
        A = np.where(moves, heavy - K, np.where(closed, K, 0.0))
        b, whole = -r if efforts is None else efforts - r, A.copy()
        A[closed] = np.where(moves, K[closed], 0.0)
        b[closed] = -self._closure_rates(z_t)[1][closed]
        A[held], b[held] = np.eye(self.Z)[held], told[held]
        here = np.flatnonzero(moves | closed)
        A, b, x = A[np.ix_(here, here)], b[here], still
        try:
            x[here] = np.linalg.lstsq(A, b, rcond=None)[0] if closed.any() else (
                np.linalg.solve(A, b))
        except np.linalg.LinAlgError:
            return None
        left = np.abs(A @ x[here] - b).max(initial=0.0)
        if not (np.isfinite(x).all() and left <= CONSISTENT * (1.0 + np.abs(b).max(initial=0.0))):
            return None
        return Balance(np.where(moves, x, 0.0), np.where(held, r + whole @ x, 0.0),
                       np.where(moves, 0.0, x))

    @contextmanager
    def let_go(self) -> Iterator[None]:
        """Let no coordinate be driven, nor have limits: their equations are those of balance."""
        c = self.tree.coordinates
        arrays = c.driven, c.least, c.most
        kept = [array.copy() for array in arrays]
        c.driven[:], c.least[:], c.most[:] = False, -np.inf, np.inf
        try:
            yield
        finally:
            for array, values in zip(arrays, kept):
                array[:] = values

    def _closure_rates(self, z_t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return first and second rates of closures without accelerations of coordinates, (Z,)."""
        self.residual(self.z, z_t, np.zeros(self.Z))
        tree, end = self.tree, self.work.end
        first_rates, second_rates = np.zeros((2, self.Z))
        for a, b, count, first in zip(*tree.closures):
            place = slice(first, first + count)
            first_rates[place] = np.concatenate(
                [end.p_t[a] - end.p_t[b], end.Om[a] - end.Om[b]])[:count]
            second_rates[place] = np.concatenate(
                [end.p_tt[a] - end.p_tt[b], end.Om_t[a] - end.Om_t[b]])[:count]
        return first_rates, second_rates


def _independent(G: np.ndarray) -> tuple[int, float, np.ndarray]:
    """Return how many rows are independent, how well, and the order of rows, these first."""
    lengths = np.linalg.norm(G, axis=1, keepdims=True)
    unit = np.where(lengths > REDUNDANT * lengths.max(), G / np.maximum(lengths, 1e-300), 0.0)
    _, R, order = qr(unit.T, mode='economic', pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > REDUNDANT))
    return rank, float(diagonal[rank - 1]) if rank else 0.0, order
