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

from ..numerics.kernels import Direct
from .state import AssemblyState
from .tangent import differentiate
from .tree import AT_LIMIT, ROOT

REDUNDANT = 1e-9          # of the largest singular value of a set of constraints
CONFLICT = 1e-6           # singular value of told positions and closures that exclude others
CLOSED = 1e-8             # [m, rad] gap of loops that are closed
LEFT_OPEN = 1e-9          # [m, rad] of constraints after closing: those that are not redundant
FAR_TURNED = 1.0 + 2.0 * np.cos(0.4)  # trace of the turn at which loops are looked at anew
CONSISTENT = 1e-6         # of the accelerations' right-hand side: more is a contradiction
HEAVY = 1e60              # [1/s^2] of accelerations in the tangent: nothing counts beside inertia
UNIQUE = 1e-3             # of an answer that its second correction changes at most, if it is one


class Outcome(NamedTuple):
    """Whether an instant could be made consistent; true if it could."""

    message: str = ''  # why not, with names; else empty

    def __bool__(self) -> bool:
        return not self.message


class Balance(NamedTuple):
    """Accelerations, and what makes them."""

    z_tt: np.ndarray      # (Z,) accelerations of the coordinates; else 0
    effort: np.ndarray    # (Z,) along coordinates whose acceleration was told; else 0 [N, N m]
    reaction: np.ndarray  # (Z,) change of the reactions of closures; else 0 [N, N m]


class ConsistentState(AssemblyState):
    """An assembly whose present instant can be made consistent."""

    _differentiate = Direct(differentiate)

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

        Equations are in axes of the world: which follow from others changes as what carries the
        loop turns. It is looked at anew where that has turned far since.
        """
        for first, count in zip(self.tree.closures.first, self.tree.closures.rows):
            self.tree.free[first:first + count] = False
        rows = np.flatnonzero(self.closing)
        if not rows.size:
            return []
        alike = self._alike(rows)
        found = [_independent(G, alike) for G in self._gradients_nearby(
            rows, rng or np.random.default_rng(0))]
        rank, _, order = max(found, key=lambda f: f[:2])
        self.redundant = sorted(int(i) for i in rows[order[rank:]])
        self.tree.free[self.redundant] = True
        self._carriers = self._find_carriers()
        return self.redundant

    def _alike(self, rows: np.ndarray) -> np.ndarray:
        """Return for equations a number that those along the axes of one gap, or turn, share."""
        firsts = np.sort(self.tree.closures.first)
        k = np.searchsorted(firsts, rows, side='right') - 1
        return 2 * k + (rows - firsts[k]) // 3

    def _find_carriers(self) -> list[tuple[int, np.ndarray]]:
        """Return what carries loops with redundant equations, and how it is turned now."""
        closures, end = self.tree.closures, self.refresh().end
        links = {max(set(self.line(int(a))) & set(self.line(int(b))))
                 for a, b, first, count in zip(
                     closures.a, closures.b, closures.first, closures.rows)
                 if self.tree.free[first:first + count].any()}
        return [(link, end.R[link].copy()) for link in sorted(links)
                if self.tree.links.parent[link] >= 0]

    def _loops_have_turned(self) -> bool:
        """Return whether what carries a redundant loop has turned far, as of the last sweep."""
        R = self.work.end.R
        return any(np.sum(held * R[link]) < FAR_TURNED for link, held in self._carriers)

    def _gradients_nearby(
        self, rows: np.ndarray, rng: np.random.Generator,
    ) -> list[np.ndarray]:
        """Return scaled gradients of some equations at three states nearby, closed if can be."""
        before, found = self.saved(), []
        size = np.where(self.strain_scale > 0.0, self.strain_scale, 1.0)
        carried, within = self._carried(), np.zeros(self.Z, dtype=bool)
        for _, carrying in carried:
            within |= self.moves & ~np.isin(np.arange(self.Z), carrying)
        for _ in range(3):
            self.set_state(
                self.z + np.where(within, 0.03 * rng.normal(size=self.Z) / size, 0.0))
            self.close()
            self._differentiate_at_rest()
            G = self._gradients(rows)
            for closing, carrying in carried:
                G[np.ix_(np.isin(rows, closing), carrying)] = 0.0
            found.append(G / size[self.moves])
            self.restore(before)
        return found

    def _differentiate_at_rest(self) -> np.ndarray:
        """Write the tangent of statics at the present instant; return what must be zero, (Z,)."""
        r = self.residual(self.z, *np.zeros((2, self.Z)))
        self._differentiate(self.tree, self.work, self.z, 0.0, 0.0, 6, self.tangent)
        self._factorised, self._ny, self._fronts_ny = None, 0, 0
        return r

    def _gradients(self, rows: np.ndarray) -> np.ndarray:
        """
        Return how some constraints, by their places in z, change with coordinates, (rows, moves).

        By the last `_differentiate_at_rest`, swept from the ends of each closure to the root: what
        it costs is in proportion to the links below it.
        """
        tree, place = self.tree, np.full(self.Z, -1)
        G, place[rows] = np.zeros((rows.size, tree.effort)), np.arange(rows.size)
        told = rows < tree.effort
        G[told, rows[told]] = tree.coordinates.hardness[rows[told]]
        for k, (a, b, count, first) in enumerate(zip(*(v.tolist() for v in tree.closures))):
            wanted = np.flatnonzero(place[first:first + count] >= 0)
            into = place[first + wanted]
            for end, turn in (a, self.tangent.turn[k]), (b, -self.tangent.turn[k].T):
                w = np.eye(6) if end == a else -np.eye(6)
                w[3:, 3:] = turn
                self._sweep_gradient(end, w[wanted], into, G)
        return G

    def _sweep_gradient(self, link: int, w: np.ndarray, into: np.ndarray, G: np.ndarray) -> None:
        """Add what motion of a link's end has from all coordinates, times w (k, 6), to G."""
        links, tangent = self.tree.links, self.tangent
        while not links.fixed[link]:
            n, first, parent = (int(v[link]) for v in (links.freedom, links.first, links.parent))
            moving = not links.fixed[parent]
            at, width = int(tangent.at[link, 1]), n + 6 * moving
            J = tangent.data[at:at + 6 * width].reshape(6, width)
            G[into, first:first + n] += w @ J[:, :n]
            if not moving:
                return
            w, arm = w @ J[:, n:], tangent.arm[link]
            if arm.any():
                w[:, 3:] += np.cross(arm, w[:, :3])
            link = parent

    def _carried(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """
        Return for each closure its equations, and coordinates that move both of its ends alike.

        These turn a gap that is left, and cannot close it.
        """
        links, closures, found = self.tree.links, self.tree.closures, []
        for a, b, first, count in zip(*(v.tolist() for v in (
                closures.a, closures.b, closures.first, closures.rows))):
            both = set(self.line(a)) & set(self.line(b))
            found.append((np.arange(first, first + count), np.array([
                i for link in sorted(both) for i in range(
                    links.first[link], links.first[link] + links.freedom[link])], dtype=int)))
        return found

    def line(self, link: int) -> list[int]:
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
            unit = G / np.where(size > 0.0, size, 1.0)
            _, R = qr(unit.T, mode='economic')
            U, values, _ = np.linalg.svd(R.T)
            found.append(U[:, int(np.sum(values > CONFLICT)):])
        least = min(found, key=lambda left: left.shape[1])
        return [int(i) for i in rows[np.abs(least).max(axis=1, initial=0.0) > 1e-3]]

    def gap(self) -> float:
        """Return how far the closures are from being closed [m, rad], redundant ones too."""
        return float(self.gaps().max(initial=0.0))

    def gaps(self) -> np.ndarray:
        """Return `gap` of each closure, (K,)."""
        left = self._all_gaps()
        return np.array([left[first:first + count].max() for first, count in zip(
            self.tree.closures.first, self.tree.closures.rows)])

    def _all_gaps(self) -> np.ndarray:
        """Return how far equations of closures are from being met, redundant ones too, (Z,)."""
        kept = self.tree.free.copy()
        self.tree.free[:] = False
        left = np.where(self.closing, np.abs(self.residual()), 0.0)
        self.tree.free[:] = kept
        return left

    def close(self, most: int = 50) -> Outcome:
        """
        Move the coordinates as little as possible until all loops are closed.

        Returns whether they are, or what is left open.
        """
        scale, rows = self.strain_scale[self.moves], np.flatnonzero(self._constraints())
        for _ in range(most):
            r = self._differentiate_at_rest()
            if np.abs(r[rows]).max(initial=0.0) < 1e-13:
                return Outcome()
            G = self._gradients(rows) / scale
            step = np.linalg.lstsq(G, r[rows], rcond=REDUNDANT)[0] / scale
            size = np.abs(step * scale).max(initial=0.0)
            if size < 1e-14:
                break
            z = self.z.copy()
            z[self.moves] -= min(1.0, 0.5 / size) * step
            self.set_state(z, self.z_t)
            self._recentre()
        left = np.where(self._constraints(), np.abs(self.residual()), 0.0)
        return Outcome() if left.max() < LEFT_OPEN else self._open(left)

    def _open(self, gaps: np.ndarray) -> Outcome:
        """Return where constraints are not met, given how far each is from it, (Z,)."""
        far = np.flatnonzero(gaps >= 0.1 * gaps.max())
        return Outcome(
            f'loops through {self._names_of(far)} are open by {gaps.max():.3g} m or rad')

    def _names_of(self, unknowns: np.ndarray) -> str:
        """Return the names of links that have coordinates or reactions among unknowns."""
        links, closures = self.tree.links, self.tree.closures

        def among(first: int, count: int) -> bool:
            return bool(np.any((unknowns >= first) & (unknowns < first + count)))

        found = [link for link in range(1, links.kind.size)
                 if among(links.first[link], links.freedom[link])]
        for a, b, first, count in zip(closures.a, closures.b, closures.first, closures.rows):
            if among(first, count):
                found += [int(a), int(b)]
        return ', '.join(dict.fromkeys(
            self.names[link] for link in found if self.names[link])) or 'the assembly'

    def start(self) -> Outcome:
        """
        Close loops; give velocities that constraints allow, and the accelerations there are.

        Reactions of closures are found with them; efforts of actuators stay what they are. Driven
        coordinates keep the rates and accelerations that they were given; those at a limit do not
        accelerate beyond it. Roots that are moved take the rates of the present time. Returns
        whether it could, or why not: some coordinate has no inertia, or a loop cannot be closed.
        """
        if self.motions:
            self._move_roots(self.time, 0.0)
        if self.tree.closures.a.size:
            if self.gap() > CLOSED:
                outcome = self.close()
                if not outcome:
                    return outcome
                if self.gap() >= CLOSED:
                    return self._open(self._all_gaps())
            self.refresh()
            if self._loops_have_turned():
                self.release_redundant()
        c, moves, told = self.tree.coordinates, self.moves, self.z_tt
        z_t, held = self._allowed_rates(), moves & c.driven
        while not isinstance(found := self.balance(z_t, told, held), str):
            z_tt = found.z_tt
            beyond = moves & ~held & (
                ((self.z > c.most - AT_LIMIT) & (z_t >= 0.0) & (z_tt > 0.0))
                | ((self.z < c.least + AT_LIMIT) & (z_t <= 0.0) & (z_tt < 0.0)))
            if beyond.any():
                held, told = held | beyond, np.where(beyond, 0.0, told)
                continue
            self._begin(self.z + found.reaction, z_t, z_tt)
            return Outcome()
        return Outcome(found)

    def _begin(self, z: np.ndarray, z_t: np.ndarray, z_tt: np.ndarray) -> None:
        """Begin a motion from the present instant."""
        self.set_state(z, z_t, z_tt)

    def _allowed_rates(self) -> np.ndarray:
        """Return the nearest rates that closures allow, (Z,)."""
        moves, z_t = self.moves, self.z_t.copy()
        rows, scale = np.flatnonzero(self._constraints()), self.strain_scale[self.moves]
        if self.closing.any():
            self._differentiate_at_rest()
            G = self._gradients(rows) / scale
            self.residual(self.z, z_t, np.zeros(self.Z))
            z_t[moves] -= np.linalg.lstsq(
                G, self._closure_rates()[0][rows], rcond=REDUNDANT)[0] / scale
        return z_t

    def balance(
        self, z_t: np.ndarray, told: np.ndarray, held: np.ndarray,
        efforts: np.ndarray | None = None,
    ) -> Balance | str:
        """
        Return accelerations, and what makes them, at the present state with rates `z_t` (Z,).

        Accelerations of coordinates that are `held`, bool (Z,), are `told` (Z,), and the effort
        that they take is found; of all others `efforts` (Z,) are told, beside all that acts.
        Limits are of no account. If there is no solution, returns why.
        """
        if self.Z and (found := self._balance_by_sweeps(z_t, told, held, efforts)) is not None:
            return found
        moves, still, closed = self.moves, np.zeros(self.Z), self.closing
        with self.let_go():
            (r, K), (_, heavy) = (
                self.jacobian(self.z, z_t, still, 0.0, cA) for cA in (0.0, 1.0))
        A = np.where(moves, heavy - K, np.where(closed, K, 0.0))
        b, whole = -r if efforts is None else efforts - r, A.copy()
        A[closed] = np.where(moves, K[closed], 0.0)
        self.residual(self.z, z_t, still)
        b[closed] = -self._closure_rates()[1][closed]
        A[held], b[held] = np.eye(self.Z)[held], told[held]
        here = np.flatnonzero(moves | closed)
        A, b, x = A[np.ix_(here, here)], b[here], still
        try:
            x[here] = np.linalg.lstsq(A, b, rcond=None)[0] if closed.any() else (
                np.linalg.solve(A, b))
        except np.linalg.LinAlgError:
            loose = np.abs(np.linalg.svd(A)[2][-1])
            return f'without inertia: {self._names_of(here[loose > 0.1 * loose.max()])}'
        left = np.abs(A @ x[here] - b)
        if not (np.isfinite(x).all() and left.max(initial=0.0) <= CONSISTENT * (
                1.0 + np.abs(b).max(initial=0.0))):
            worst = here[~(left <= 0.1 * left.max(initial=0.0))]
            return f'no accelerations balance what acts on {self._names_of(worst)}'
        return Balance(np.where(moves, x, 0.0), np.where(held, r + whole @ x, 0.0),
                       np.where(moves, 0.0, x))

    def _balance_by_sweeps(
        self, z_t: np.ndarray, told: np.ndarray, held: np.ndarray, efforts: np.ndarray | None,
    ) -> Balance | None:
        """
        Return what `balance` does, at a cost in proportion to the size; None where in doubt.

        By elimination of `_differentiate_inertia`. What has no inertia, or reactions that are not
        unique, show in the answer to other forces, which a second correction does not leave.
        """
        moves, closed, x = self.moves, self.closing, np.zeros((2, self.Z))
        found, out = moves & ~held, np.empty(x.shape)
        dy = np.empty((self.tree.links.kind.size, 18))
        with self.let_go():
            r = self._differentiate_inertia(z_t, held)
            second = self._closure_rates()[1]
            while (at := self._factorise(self.tree, 6, self.tangent, self.fronts)) >= 0:
                if not (closed.any() and self._postpone(at)):
                    return None
            b = np.array([
                np.where(held, told, np.where(found, -r if efforts is None else efforts - r,
                                              np.where(closed, -second, 0.0))),
                np.where(found, np.cos(np.arange(self.Z)), 0.0)])
            left = b.copy()
            for _ in range(2):
                self._solve_rows(
                    self.tree, 6, self.tangent, self.fronts, self._code(), left, dy, out)
                x += np.where(moves | closed, out, 0.0)
                x[:, held] = b[:, held]
                if not np.isfinite(x).all():
                    return None
                for k in (1, 0):  # what is wanted last, for `taken`
                    taken = self.residual(self.z + np.where(moves, 0.0, x[k]), z_t,
                                          np.where(moves, x[k], 0.0))
                    rates = self._closure_rates()[1]
                    left[k] = np.where(found, b[k] + r - taken, np.where(
                        closed, b[k] + second - rates, 0.0))
        if not (np.abs(left[0]).max() <= CONSISTENT * (1.0 + np.abs(b[0]).max())
                and np.abs(out[1]).max() <= UNIQUE * np.abs(x[1]).max()):
            return None
        return Balance(np.where(moves, x[0], 0.0), np.where(held, taken, 0.0),
                       np.where(moves, 0.0, x[0]))

    def _differentiate_inertia(self, z_t: np.ndarray, held: np.ndarray) -> np.ndarray:
        """
        Write the tangent with accelerations and reactions; return what is there without them.

        As one of statics: motion of a link is its acceleration, and changes of wrenches are those
        by inertia and reactions. Coordinates that are `held` have their accelerations told.

            M a + C l = f                C^T a = -g
        """
        tree, links, tangent = self.tree, self.tree.links, self.tangent
        r = self.residual(self.z, z_t, np.zeros(self.Z))
        self._differentiate(tree, self.work, self.z, 0.0, HEAVY, 18, tangent)
        self._factorised, self._ny, self._fronts_ny = None, 0, 0
        for link in np.flatnonzero(links.kind != ROOT).tolist():
            n, first, fixed = int(links.freedom[link]), int(links.first[link]), links.fixed[link]
            moving = not links.fixed[links.parent[link]]
            rows, J, body = (
                tangent.data[at:at + count * width].reshape(count, width) for at, count, width in (
                    (tangent.at[link, 0], n + 6 * moving, n + 18 * moving),
                    (tangent.at[link, 1], 18, n + 18 * moving),
                    (tangent.at[link, 2], 0 if fixed else 6, 18)))
            inertia = np.concatenate([rows[:, :n] / HEAVY, rows[:, n + 12:]], axis=1)
            own = held[first:first + n]
            inertia[:n][own] = np.eye(n, inertia.shape[1])[own]
            tangent.along[first:first + n][own] = 0.0
            for at, block in zip(tangent.at[link].tolist(), (
                    inertia, np.concatenate([J[12:, :n] / HEAVY, J[12:, n + 12:]], axis=1),
                    body[:, 12:].copy())):
                tangent.data[at:at + block.size] = block.ravel()
        tangent.slope[:], tangent.own[:] = 0.0, 1.0  # efforts stay what they are
        tangent.passed[:], tangent.couple[:], tangent.ties.used[0] = 0.0, 0.0, 0
        tangent.turn[:] = np.eye(3)
        return r

    @contextmanager
    def let_go(self) -> Iterator[None]:
        """Let no coordinate be driven, nor have limits: their equations are those of balance."""
        c = self.tree.coordinates
        arrays = c.driven, c.least, c.most, c.hardness
        kept = [array.copy() for array in arrays]
        c.driven[:], c.least[:], c.most[:] = False, -np.inf, np.inf
        try:
            yield
        finally:
            for array, values in zip(arrays, kept):
                array[:] = values

    def _closure_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return first and second rates of closures, (Z,), as of the last `residual`."""
        tree, end = self.tree, self.work.end
        first_rates, second_rates = np.zeros((2, self.Z))
        for a, b, count, first in zip(*tree.closures):
            place = slice(first, first + count)
            first_rates[place] = np.concatenate(
                [end.p_t[a] - end.p_t[b], end.Om[a] - end.Om[b]])[:count]
            second_rates[place] = np.concatenate(
                [end.p_tt[a] - end.p_tt[b], end.Om_t[a] - end.Om_t[b]])[:count]
        return first_rates, second_rates


def _independent(G: np.ndarray, alike: np.ndarray) -> tuple[int, float, np.ndarray]:
    """
    Return how many rows are independent, how well, and the order of rows, these first.

    Rows are scaled by the longest of those that are `alike`, numbers (rows,): of the axes along
    which a gap could be closed, the one that is moved most comes first.
    """
    lengths = np.linalg.norm(G, axis=1)
    longest = np.array([lengths[alike == group].max() for group in alike])[:, None]
    unit = np.where(longest > REDUNDANT * lengths.max(), G / np.maximum(longest, 1e-300), 0.0)
    _, R, order = qr(unit.T, mode='economic', pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > REDUNDANT))
    return rank, float(diagonal[rank - 1]) if rank else 0.0, order
