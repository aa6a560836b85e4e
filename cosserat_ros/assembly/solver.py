r"""
Static equilibria of an assembly, and its steps in time.

Both are the same solve, ``r(z, cV z + hV, cA z + hA) = 0``; statics has ``cV = cA = 0``. It stops
on the size of the update, measured as strain: the residual's own scale depends on stiffness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from ..checks.fields import check_number
from ..numerics.integrators import begin, Rule, Scheme, SCHEMES, STILL
from ..numerics.kernels import address, Direct
from ..numerics.lie import exp_so3
from .element import ElementLoads, Motion
from .fronts import factorise, Fronts, solve
from .joint import FREELY
from .layout import plan
from .momentum import Energy, energy, momentum
from .newton import CONVERGED, newton, NOT_FINITE, Procedures, RUNNING_OUT, SINGULAR, Stop
from .tangent import differentiate, multiply, Tangent
from .tree import ELEMENT, JOINT, residual, Tree, Work

STATIC_TOLERANCE = 1e-10  # of statics at least, as strain
MOST_ITERATIONS = 150     # of one solve
LARGEST_UPDATE = 2.0      # [rad] of bending over the length, in one iteration
LEAST_FRACTION = 1e-3     # of a load or of a time step, below which we give up
REDUNDANT = 1e-9          # of the largest singular value of a set of constraints
AT_LIMIT = 1e-9           # [m, rad] from a limit, where a coordinate is at it
STEPS_OF_IMPACT = 3       # to the limit, to a stop there, and until that is past


class Solution(NamedTuple):
    """How a solve ended; `z` is finite in any case, the last good one if not converged."""

    z: np.ndarray       # all unknowns
    converged: bool
    iterations: int
    update: float       # size of the last update, as strain [-]
    residual: float     # largest entry of the residual before it [J per unit of q]
    parts: int          # in which load or time step was divided
    message: str        # why not; empty if converged


class Inputs(NamedTuple):
    """What an assembly is told and what acts on it: all that continuation may lead."""

    loads: np.ndarray            # of elements, flat
    force: np.ndarray            # (L, 3) on links' ends
    moment: np.ndarray
    follower_force: np.ndarray
    follower_moment: np.ndarray
    gravity: np.ndarray          # (3,)
    effort: np.ndarray           # (m,) commands of actuators
    push: np.ndarray             # (Z,) on joints' coordinates
    command: np.ndarray          # (Z,) of driven coordinates


class AssemblySolver:
    """
    An assembly, and its state in time.

    Parameters
    ----------
    tree, work, tangent, fronts
        Of `TreeBuilder.build`.
    names : sequence of str
        Of the links, for messages.
    scheme : Scheme
        Time integration.
    tolerance : float
        Of the error that a step leaves in the coordinates, as strain [-].

    """

    def __init__(
        self, tree: Tree, work: Work, tangent: Tangent, fronts: Fronts, names: Sequence[str],
        lengths: np.ndarray, scheme: Scheme = SCHEMES['generalised_alpha'],
        tolerance: float = 1e-12,
    ) -> None:
        self.tree, self.work, self.names = tree, work, list(names)
        self.tangent, self.fronts = tangent, fronts
        self.scheme, self.tolerance, self.time = scheme, float(tolerance), 0.0
        self.Z = tree.free.size
        self.moves = np.arange(self.Z) < tree.effort
        self.scale = self._scales(lengths)
        self._past, self._last_step = begin(*np.zeros((3, self.Z))), 0.0
        self._factorised: Rule | None = None   # what the fronts were made for
        self._equilibrium: Inputs | None = None  # of the present state, while it is one
        self._impact_steps = 0                   # steps that backward Euler has still to make
        self._turns = [  # joints that turn freely, and where their turns are in z
            (j, slice(a, a + 3)) for kind, j, first in zip(*(v.tolist() for v in (
                tree.links.kind, tree.links.item, tree.links.first)))
            if kind == JOINT and tree.joints.turns[j] == FREELY
            for a in [first + int(tree.joints.slides[j])]]
        self._code: Procedures | None = None
        self._newton = Direct(newton)
        self._postponed: set[int] = set()
        self.redundant: list[int] = []  # equations of closures that follow from others
        self.places: Any = None  # where named parts are, see `cosserat_ros.assembly.assembly`

    def _scales(self, lengths: np.ndarray) -> np.ndarray:
        """Return the size of each unknown as strain, by the length (L,) of what it belongs to."""
        tree, scale = self.tree, np.zeros(self.Z)
        for link in range(tree.links.kind.size):
            first, n, item = (int(v[link]) for v in (
                tree.links.first, tree.links.freedom, tree.links.item))
            if tree.links.kind[link] == ELEMENT:
                at = int(tree.elements.first[item, 9])
                component = tree.elements.whole[at:at + n]
                scale[first:first + n] = np.where(component < 3, 1.0, lengths[link])
            elif n:
                slides = int(tree.joints.slides[item])
                scale[first:first + n] = np.where(np.arange(n) < slides, 1.0 / lengths[link], 1.0)
        return scale

    # --- Its state ---

    @property
    def z(self) -> np.ndarray:
        """All unknowns at the present instant."""
        return self._past[0]

    @property
    def z_t(self) -> np.ndarray:
        """Their rates; those of efforts and reactions are 0."""
        return self._past[1]

    @property
    def z_tt(self) -> np.ndarray:
        """Their accelerations; those of efforts and reactions are 0."""
        return self._past[2]

    def set_state(
        self, z: np.ndarray, z_t: np.ndarray | None = None, z_tt: np.ndarray | None = None,
    ) -> None:
        """Make this the present instant: at rest, if no rates are given."""
        still = np.zeros(self.Z)
        self._past = begin(np.array(z, dtype=float), *(
            np.where(self.moves, still if v is None else v, 0.0) for v in (z_t, z_tt)))
        self._last_step, self._factorised, self._equilibrium = 0.0, None, None
        self._impact_steps = 0

    def saved(self) -> tuple[Any, ...]:
        """Return the present instant, for `restore`."""
        return (self._past, self._last_step, self.time, self.tree.joints.reference.copy(),
                self._equilibrium, self._impact_steps)

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to an instant that was `saved`."""
        (self._past, self._last_step, self.time, reference, self._equilibrium,
         self._impact_steps) = saved
        self.tree.joints.reference[:] = reference
        self._factorised = None  # so that what follows does not depend on what was

    def refresh(self) -> Work:
        """Return motion and wrenches of all links at the present instant."""
        self.residual()
        return self.work

    def frame(self, link: int) -> Motion:
        """Return the motion of the end of link l, as of the last `refresh`; copies."""
        return Motion(*(part[link].copy() for part in self.work.end))

    def element_loads(self, link: int) -> ElementLoads:
        """Return what acts along the element that link l is, to be written to."""
        e, c = self.tree.elements, int(self.tree.links.item[link])
        m, data = int(e.size[c, 0]), e.loads
        shapes = (m, 3), (m, 3), (m, 6), (3,), (3,)
        return ElementLoads(*(
            data[first:first + int(np.prod(shape))].reshape(shape)
            for first, shape in zip(e.first[c, 10:15].tolist(), shapes)))

    # --- Equations ---

    def residual(
        self, z: np.ndarray | None = None, z_t: np.ndarray | None = None,
        z_tt: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return what must be zero; of the present instant where nothing is given."""
        r = np.empty(self.Z)
        residual(self.tree, self.z if z is None else z, self.z_t if z_t is None else z_t,
                 self.z_tt if z_tt is None else z_tt, self.work, r)
        return r

    def jacobian(
        self, z: np.ndarray, z_t: np.ndarray, z_tt: np.ndarray, cV: float, cA: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what must be zero, and its derivative as a whole, square."""
        r, K, column = self.residual(z, z_t, z_tt), np.empty((self.Z, self.Z)), np.empty(self.Z)
        still = cV == 0.0 and cA == 0.0 and not (z_t.any() or z_tt.any() or self._roots_move())
        ny = 6 if still else 18
        self._factorised = None
        differentiate(self.tree, self.work, z, cV, cA, ny, self.tangent)
        for i, unit in enumerate(np.eye(self.Z)):
            multiply(self.tree, ny, self.tangent, unit, column)
            K[:, i] = column
        return r, K

    def _roots_move(self) -> bool:
        return any(part.any() for part in self.tree.roots[2:])

    def inputs(self) -> Inputs:
        """Return what acts on the assembly; the arrays themselves."""
        tree, b = self.tree, self.tree.bodies
        return Inputs(
            tree.elements.loads, b.force, b.moment, b.follower_force, b.follower_moment,
            tree.gravity, tree.drives.command, tree.coordinates.push, tree.coordinates.command)

    def _take(self, inputs: Inputs) -> None:
        for mine, given in zip(self.inputs(), inputs):
            mine[...] = given

    # --- Solves ---

    def _procedures(self) -> Procedures:
        tree, work, z = self.tree, self.work, np.zeros(self.Z)
        dy = np.zeros((1, 18))
        return Procedures(
            address(residual, tree, z, z, z, work, z),
            address(differentiate, tree, work, z, 0.0, 0.0, 6, self.tangent),
            address(factorise, tree, 6, self.tangent, self.fronts),
            address(solve, tree, 6, self.tangent, self.fronts, z, dy, z))

    def _solve(self, rule: Rule) -> tuple[np.ndarray, Solution]:
        """Return the history at the next instant by `rule`, the old one if there is none."""
        statics = rule is STILL
        known = self._factorised is rule and not statics
        self._factorised = None
        stop = Stop(self.scale, self.moves,
                    min(self.tolerance, STATIC_TOLERANCE) if statics else self.tolerance,
                    MOST_ITERATIONS, LARGEST_UPDATE)
        if self._code is None:
            self._code = self._procedures()
        past = begin(self.z, *np.zeros((2, self.Z))) if statics else self._past
        now, status, iterations, update, worst, at = self._newton(
            self.tree, self.work, self.tangent, self.fronts, self._code, past, rule, stop,
            6 if statics else 18, known)
        if status == SINGULAR and self._postpone(at):
            return self._solve(rule)
        if status == CONVERGED:
            self._factorised = rule
        return now, Solution(
            now[0], status == CONVERGED, iterations, float(update), float(worst), 1,
            self._reason(status, at))

    def _postpone(self, link: int) -> bool:
        """Eliminate coordinates that have no stiffness alone at the root; tell if that is new."""
        if self.tree.links.freedom[link] == 0 or self.fronts.deferred[link]:
            return False
        self._postponed.add(link)
        self.fronts = plan(self.tree, self._postponed)
        return True

    def _reason(self, status: int, at: int) -> str:
        if status == SINGULAR:
            return f'the tangent is singular at {self._loose(at)}'
        return {
            CONVERGED: '',
            RUNNING_OUT: 'Newton ran out of iterations',
            NOT_FINITE: 'Newton left the finite numbers',
        }[status]

    def _loose(self, at: int) -> str:
        """Return the names of what has no stiffness, given the link where that was found."""
        links = [at] if at else np.flatnonzero(self.fronts.deferred).tolist() or [at]
        return ', '.join(dict.fromkeys(self.names[link] for link in links))

    def statics(self) -> Solution:
        """
        Go to the static equilibrium under the present inputs, and stay there at rest.

        If Newton fails, loads and commands are led there step by step, from those of the last
        equilibrium if there was one, else from none.
        """
        before, wanted = self.saved(), Inputs(*(a.copy() for a in self.inputs()))
        now, solution = self._solve(STILL)
        if not solution.converged:
            for start in (self._equilibrium, Inputs(*(np.zeros_like(a) for a in wanted))):
                if start is None or solution.converged:
                    continue
                now, solution = self._continue(start, wanted, before, solution.iterations)
        self._take(wanted)
        if not solution.converged:
            self.restore(before)
            return solution._replace(z=self.z)
        self.set_state(now[0])
        self._recentre()
        self._equilibrium = wanted
        return solution._replace(z=self.z)

    def _continue(
        self, start: Inputs, wanted: Inputs, before: tuple[Any, ...], iterations: int,
    ) -> tuple[np.ndarray, Solution]:
        """Lead the inputs from `start` to `wanted`, as Newton allows."""
        self.restore(before)
        done, step, parts = 0.0, 0.25, 0
        start = start._replace(command=wanted.command)
        while True:
            fraction = min(1.0, done + step)
            self._take(Inputs(*(
                (1.0 - fraction) * a + fraction * b for a, b in zip(start, wanted))))
            now, solution = self._solve(STILL)
            iterations, parts = iterations + solution.iterations, parts + 1
            if solution.converged:
                self._past, done, step = now, fraction, 2.0 * step
            else:
                step *= 0.25
            if done == 1.0 or step < LEAST_FRACTION:
                short = f'{solution.message}, after {100.0 * done:.1f} % of the way to these loads'
                return now, solution._replace(
                    converged=done == 1.0, iterations=iterations, parts=parts,
                    message='' if done == 1.0 else short)

    def rule(self, dt: float) -> Rule:
        """Return the rule of the next step, of dt [s]."""
        scheme = SCHEMES['backward_euler'] if self._impact_steps else self.scheme
        return scheme.rule(dt, self._last_step)

    def step(self, dt: float) -> Solution:
        """
        Advance by dt [s].

        A step that fails is divided; if that does not help either, nothing is changed. Where a
        coordinate hits its limit, backward Euler takes the impact, which is inelastic: schemes of
        second order make of it a rate that changes its sign in every step.
        """
        check_number('dt', dt, above=0.0, unit='s')
        before, end = self.saved(), self.time + dt
        part, iterations, parts = dt, 0, 0
        while self.time < end:
            now, solution = self._solve(self.rule(part))
            iterations, parts = iterations + solution.iterations, parts + 1
            hits = solution.converged and self._hits(now[0])
            if hits and not self._impact_steps:
                self._impact_steps = STEPS_OF_IMPACT
                continue
            if solution.converged:
                self._past, self._last_step, self._equilibrium = now, part, None
                self._impact_steps = STEPS_OF_IMPACT if hits else max(0, self._impact_steps - 1)
                self._recentre()
                self.time = self.time + part if end - self.time > 1.5 * part else end
            elif part < LEAST_FRACTION * dt:
                self.restore(before)
                return solution._replace(z=self.z, iterations=iterations, parts=parts)
            else:
                part *= 0.5
        return solution._replace(z=self.z, iterations=iterations, parts=parts)

    def _hits(self, z: np.ndarray) -> bool:
        """Return whether a coordinate is at a limit in a new state, and was not before."""
        c = self.tree.coordinates
        new, old = (
            (a >= c.most - AT_LIMIT) | (a <= c.least + AT_LIMIT) for a in (z, self.z))
        return bool((new & ~old & ~c.driven).any())

    def _recentre(self) -> None:
        """Count free turns from their new attitudes."""
        for j, turn in self._turns:
            self.tree.joints.reference[j] = (
                exp_so3(self.z[turn]) @ self.tree.joints.reference[j])
            self._past[3, turn] = -self.z[turn]
            self._past[0, turn] = 0.0

    # --- Consistent starts ---

    def _constraints(self) -> np.ndarray:
        """Return which equations hold positions: closures, driven coordinates; bool (Z,)."""
        tree = self.tree
        rows = np.zeros(self.Z, dtype=bool)
        for first, count in zip(tree.closures.first, tree.closures.rows):
            rows[first:first + count] = True
        rows &= ~tree.free
        rows[:tree.effort] = tree.coordinates.driven[:tree.effort]
        return rows

    def release_redundant(self, rng: np.random.Generator | None = None) -> list[int]:
        """
        Let go of equations of closures that follow from others, wherever the assembly is.

        Found from the rank of the constraints' gradients at three states nearby, closed if they
        can be: equations may follow from others only while the loop is closed (Bennett's linkage;
        a door whose hinges are askew, which cannot move). That where most are independent
        counts, so that a dead centre does not. Their reactions are 0. Returns their places in z.
        """
        rows = np.flatnonzero(self._constraints() & ~self.moves)
        if not rows.size:
            return []
        rng, still = rng or np.random.default_rng(0), np.zeros(self.Z)
        size = np.where(self.scale > 0.0, self.scale, 1.0)
        found, before = [], self.saved()
        for _ in range(3):
            self.set_state(
                self.z + np.where(self.moves, 0.03 * rng.normal(size=self.Z) / size, 0.0))
            self.close()
            G = self.jacobian(self.z, still, still, 0.0, 0.0)[1][np.ix_(rows, self.moves)]
            found.append(_independent(G / size[self.moves]))
            self.restore(before)
        rank, _, order = max(found, key=lambda f: f[:2])
        self.redundant = sorted(int(i) for i in rows[order[rank:]])
        self.tree.free[self.redundant] = True
        return self.redundant

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
        still = np.zeros(self.Z)
        for _ in range(most):
            r, K = self.jacobian(self.z, still, still, 0.0, 0.0)
            rows = self._constraints()
            if not rows.any() or np.abs(r[rows]).max() < 1e-13:
                return True
            G = K[np.ix_(rows, self.moves)] / self.scale[self.moves]
            step = np.linalg.lstsq(G, r[rows], rcond=REDUNDANT)[0] / self.scale[self.moves]
            size = np.abs(step * self.scale[self.moves]).max(initial=0.0)
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
        accelerate beyond it. Returns whether it could: not if some coordinate has no inertia.
        """
        c = self.tree.coordinates
        limits = c.least.copy(), c.most.copy()
        c.least[:], c.most[:] = -np.inf, np.inf  # within them, they are of no account
        try:
            return self._start(*limits)
        finally:
            c.least[:], c.most[:] = limits

    def _start(self, least: np.ndarray, most: np.ndarray) -> bool:
        moves, z_t, told = self.moves, self._allowed_rates(), self.z_tt
        held = self._constraints()
        while (x := self._accelerations(z_t, told, held)) is not None:
            z_tt = np.where(moves, x, 0.0)
            beyond = moves & ~held & (
                ((self.z > most - AT_LIMIT) & (z_t >= 0.0) & (z_tt > 0.0))
                | ((self.z < least + AT_LIMIT) & (z_t <= 0.0) & (z_tt < 0.0)))
            if beyond.any():
                held, told = held | beyond, np.where(beyond, 0.0, told)
                continue
            equilibrium = self._equilibrium
            self.set_state(self.z + np.where(moves, 0.0, x), z_t, z_tt)
            self._equilibrium = equilibrium
            return True
        return False

    def _allowed_rates(self) -> np.ndarray:
        """Return the nearest rates that closures allow, (Z,)."""
        moves, still, z_t = self.moves, np.zeros(self.Z), self.z_t.copy()
        rows = self._constraints()
        if rows.any():
            _, K = self.jacobian(self.z, still, still, 0.0, 0.0)
            G = K[np.ix_(rows, moves)] / self.scale[moves]
            z_t[moves] -= np.linalg.lstsq(
                G, self._closure_rates(z_t)[0][rows], rcond=REDUNDANT)[0] / self.scale[moves]
        return z_t

    def _accelerations(
        self, z_t: np.ndarray, told: np.ndarray, held: np.ndarray,
    ) -> np.ndarray | None:
        """
        Return accelerations of coordinates, and changes of reactions (Z,), at rates `z_t`.

        Those of coordinates that are `held`, bool (Z,), are `told`. None if there are none.
        """
        moves, still = self.moves, np.zeros(self.Z)
        (r, K), (_, heavy) = (
            self.jacobian(self.z, z_t, still, 0.0, cA) for cA in (0.0, 1.0))
        closed = held & ~moves
        A, b = np.where(moves, heavy - K, 0.0), -r
        A[:, closed] = K[:, closed]
        A[closed] = np.where(moves, K[closed], 0.0)
        b[closed] = -self._closure_rates(z_t)[1][closed]
        A[moves & held], b[moves & held] = np.eye(self.Z)[moves & held], told[moves & held]
        here = np.flatnonzero(moves | closed)
        A, b = A[np.ix_(here, here)], b[here]
        try:
            x = np.linalg.lstsq(A, b, rcond=None)[0] if closed.any() else np.linalg.solve(A, b)
        except np.linalg.LinAlgError:
            return None
        left = np.abs(A @ x - b).max(initial=0.0)
        if not (np.isfinite(x).all() and left <= 1e-6 * (1.0 + np.abs(b).max(initial=0.0))):
            return None
        whole = still
        whole[here] = x
        return whole

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

    # --- Balances ---

    def energy(self) -> Energy:
        """Return kinetic energy, and the potentials of gravity and of all that is elastic [J]."""
        return energy(self.tree, self.refresh(), self.z)

    def momentum(self) -> np.ndarray:
        """Return linear and angular momentum about the origin, (6,) [N s, N m s]."""
        return momentum(self.tree, self.refresh())


def _independent(G: np.ndarray) -> tuple[int, float, np.ndarray]:
    """Return how many rows are independent, how well, and the order of rows, these first."""
    lengths = np.linalg.norm(G, axis=1, keepdims=True)
    unit = np.where(lengths > REDUNDANT * lengths.max(), G / np.maximum(lengths, 1e-300), 0.0)
    _, R, order = qr(unit.T, mode='economic', pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > REDUNDANT))
    return rank, float(diagonal[rank - 1]) if rank else 0.0, order
