r"""
Static equilibria of an assembly, and its steps in time.

Both are the same solve, ``r(z, cV z + hV, cA z + hA) = 0``; statics has ``cV = cA = 0``. It stops
on the size of the update, measured as strain: the residual's own scale depends on stiffness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks.fields import check_number
from ..numerics.integrators import begin, Q, Rule, Scheme, SCHEMES, STILL
from ..numerics.kernels import Direct, kernel
from .blocks import Tangent
from .consistency import AT_LIMIT, ConsistentState
from .continuation import as_equilibrium, Inputs, inputs, mixed, take, unloaded
from .fronts import Fronts
from .momentum import Floating, is_loose, push
from .newton import CONVERGED, CROWDED, newton, NOT_FINITE, RUNNING_OUT, SINGULAR, Stop
from .tree import ELEMENT, Tree, Work

STATIC_TOLERANCE = 1e-10  # of statics at least, as strain
LARGEST_UPDATE = 2.0      # [rad] of bending over the length, in one iteration
FIRST_RELAXATION, SHORTEST_RELAXATION = 1e-3, 1e-6  # [s] steps on the way to rest
TRY_EQUILIBRIUM_FROM = 0.03  # [s] of these, from which Newton may find the equilibrium
MOST_RELAXATIONS = 40
MOST_WITH_CONTACT = 60  # iterations of a step in time: shorter steps are cheaper
FEW_ITERATIONS = 16     # after which the parts of a divided step may grow
STEPS_OF_IMPACT = 3       # to the limit, to a stop there, and until that is past


class Solution(NamedTuple):
    """How a solve ended; `z` is finite in any case, the last good one if not converged."""

    z: np.ndarray       # all unknowns
    converged: bool
    iterations: int
    update: float       # size of the last update, as strain [-]
    residual: float     # largest entry of the residual before it [J per unit of q]
    parts: int          # in which load or time step was divided
    message: str        # why not, or what no robot could do; else empty
    gap: float = 0.0    # how far from balance it is at the end, as strain, if laws remember [-]


class _Ending(NamedTuple):
    """What Newton's method returns."""

    now: np.ndarray  # (6, Z) history at the new instant, if it was found
    status: int
    iterations: int
    size: float
    worst: float
    at: int


class Momentum(NamedTuple):
    """Of what floats, as the loads have made it."""

    group: Floating
    value: np.ndarray  # (6,) linear and angular, about the origin [N s, N m s]
    rate: np.ndarray   # (6,) [N, N m]


@kernel
def _hits(tree, moves, new, old):
    """Return whether a coordinate is at a limit in a new state, and was not before."""
    driven, least, most = (
        tree.coordinates.driven, tree.coordinates.least, tree.coordinates.most)
    for i in range(new.size):
        if not moves[i]:
            return False  # coordinates come first
        if not driven[i] and (
                new[i] >= most[i] - AT_LIMIT or new[i] <= least[i] + AT_LIMIT) and not (
                old[i] >= most[i] - AT_LIMIT or old[i] <= least[i] + AT_LIMIT):
            return True
    return False


class AssemblySolver(ConsistentState):
    """
    An assembly, and its state in time.

    Roots move by what is written to `tree.roots` before a step, or by `motions`: a function for
    each root, see `cosserat_ros.assembly.state.follow_twist`.

    Parameters
    ----------
    tree, work, tangent, fronts
        Of `TreeBuilder.build`.
    names : sequence of str
        Of the links, for messages.
    lengths : (L,) array
        Of what each link belongs to [m].
    scheme : Scheme
        Time integration.
    tolerance : float
        Of the error that a step leaves in the coordinates, as strain; statics is at least as exact
        as `STATIC_TOLERANCE` [-].
    keep_momentum : bool
        Whether the momenta of what floats are set after each step, see
        :mod:`cosserat_ros.assembly.momentum`.

    """

    MOST_ITERATIONS = 150  # of one solve
    LEAST_FRACTION = 1e-3  # of a load or of a time step, below which we give up

    _newton, _hits = Direct(newton), Direct(_hits)

    def __init__(
        self, tree: Tree, work: Work, tangent: Tangent, fronts: Fronts, names: Sequence[str],
        lengths: np.ndarray, scheme: Scheme = SCHEMES['generalised_alpha'],
        tolerance: float = 1e-12, keep_momentum: bool = True,
    ) -> None:
        super().__init__(tree, work, tangent, fronts, names, lengths)
        self.scheme, self.tolerance = scheme, float(tolerance)
        self.keep_momentum = keep_momentum
        self._equilibrium: Inputs | None = None  # of the present state, while it is one
        self._impact_steps = 0                   # steps that backward Euler has still to make
        self._momenta: list[Momentum] | None = None
        # Which links touched before, (L,) bool; None: none did.
        self._touching: np.ndarray | None = np.ones(tree.links.kind.size, dtype=bool)
        self._anchored = not self._rubs          # whether contacts remember the present state

    # --- Its state ---

    def set_state(
        self, z: np.ndarray, z_t: np.ndarray | None = None, z_tt: np.ndarray | None = None,
    ) -> None:
        """Make this the present instant: at rest, if no rates are given."""
        super().set_state(z, z_t, z_tt)
        self._equilibrium, self._impact_steps, self._momenta = None, 0, None
        self._anchored = not self._rubs
        self._touching = np.ones(self.tree.links.kind.size, dtype=bool)

    def _begin(self, z: np.ndarray, z_t: np.ndarray, z_tt: np.ndarray) -> None:
        equilibrium = self._equilibrium
        super()._begin(z, z_t, z_tt)
        self._equilibrium = equilibrium

    def saved(self) -> tuple[Any, ...]:
        """Return the present instant, for `restore`."""
        memory = [a.copy() for a in self.tree.contacts.memory] if (
            self._rubs and self._anchored) else None
        return (super().saved(), self._equilibrium, self._impact_steps, self._momenta,
                self._touching, memory)

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to an instant that was `saved`."""
        (instant, self._equilibrium, self._impact_steps, self._momenta, self._touching,
         memory) = saved
        self._anchored = memory is not None or not self._rubs
        for mine, given in zip(self.tree.contacts.memory, memory or ()):
            mine[:] = given
        super().restore(instant)

    # --- Solves ---

    def _solve(self, rule: Rule, past: np.ndarray) -> _Ending:
        """Go to the next instant by `rule`."""
        statics = rule is STILL
        ny = 6 if statics else 18
        known = self._factorised is rule and not statics
        self._factorised = None
        stop = Stop(
            self.strain_scale, self.moves,
            min(self.tolerance, STATIC_TOLERANCE) if statics else self.tolerance,
            MOST_WITH_CONTACT if not statics and self._touches else (
                self.MOST_ITERATIONS), LARGEST_UPDATE)
        now = np.empty(past.shape)
        touching = self._touches and self._touching is not None
        ending = _Ending(now, *self._newton(
            self.tree, self.work, self.tangent, self.fronts, self._code(), past,
            rule._replace(guess=Q) if touching else rule, stop, ny, known, now))
        self._ny, self._fronts_ny = 0, ny
        if ending.status == CONVERGED and self.work.touch.found[1] > 0:
            ending = ending._replace(status=CROWDED)
        if ending.status == CONVERGED:
            self._factorised = rule
        elif ending.status == SINGULAR and self._postpone(ending.at):
            return self._solve(rule, past)
        return ending

    def _remember(self) -> None:
        """Make the end of the last solve what laws remember."""
        self.tree.laws.memory[:] = self.work.memory

    def _solution(self, ending: _Ending, iterations: int, parts: int) -> Solution:
        """Return how a solve ended that has come to the present instant."""
        return Solution(
            self.z, ending.status == CONVERGED, iterations, ending.size, ending.worst, parts,
            '' if ending.status == CONVERGED else self._reason(ending),
            ending.size if self.remembers else 0.0)

    def _reason(self, ending: _Ending) -> str:
        if ending.status == SINGULAR:
            return f'the tangent is singular at {self._loose(ending.at)}'
        return {
            RUNNING_OUT: 'Newton ran out of iterations: strains still change by '
                         f'{ending.size:.1g}',
            NOT_FINITE: 'Newton left the finite numbers',
            CROWDED: 'more rods touch one element than it has room for: divide it into more',
        }[ending.status]

    def _loose(self, at: int) -> str:
        """Return the names of what has no stiffness, given the link where that was found."""
        links = [at] if at else np.flatnonzero(self.fronts.deferred).tolist() or [at]
        return ', '.join(dict.fromkeys(self.names[link] for link in links))

    # --- Statics ---

    def statics(self, from_rest: bool = False) -> Solution:
        """
        Go to the static equilibrium under the present inputs, and stay there at rest.

        If Newton fails, the way there is divided: from the last equilibrium, if there was one,
        loads, gravity and commands are changed and roots are led step by step; else, or if that
        fails too, from rods at rest without loads. Where there are obstacles, the last resort are
        steps in time from rest to rest, longer and longer. What laws remember changes only in the
        end: friction of tendons and rods is that of one stroke, however the way was divided. With
        friction of contacts, the equilibrium depends on the way to it.

        Parameters
        ----------
        from_rest : bool
            Whether to begin with rods at rest, without efforts and reactions; joints and free
            bodies where they are.

        """
        self._anchor()
        before = self.saved()
        for part in self.tree.roots[2:] if self._roots.size else ():
            part[self._roots] = 0.0
        ending = self._balance(self._rest() if from_rest else self.z)
        wanted = Inputs(*(a.copy() for a in inputs(self.tree)))
        solution = self._solution(ending, ending.iterations, 1)
        if not solution.converged:
            origins = [(self._rest(), unloaded(wanted))]
            if self._equilibrium is not None and not from_rest:
                origins.insert(0, (self.z, self._equilibrium))
            for z, initial in origins:
                if not solution.converged:
                    ending, solution = self._continue(z, initial, wanted, solution.iterations)
            if not solution.converged and self._touches:
                take(self.tree, wanted)
                self.restore(before)
                ending, solution = self._relax(solution)
        if not solution.converged:
            take(self.tree, wanted)
            self.restore(before)
            return solution._replace(z=self.z)
        self.set_state(ending.now[0])
        self._remember()
        self._recentre()
        self.commit_contacts()
        self._equilibrium, self._anchored = wanted, True
        return solution._replace(z=self.z)

    def _balance(self, z: np.ndarray) -> _Ending:
        """Find the equilibrium next to z."""
        return self._solve(STILL, begin(z, *np.zeros((2, self.Z))))

    def _rest(self) -> np.ndarray:
        """Return the unknowns of rods at rest; joints and free bodies stay."""
        links, z = self.tree.links, np.where(self.moves, self.z, 0.0)
        for link in np.flatnonzero(links.kind == ELEMENT).tolist():
            first = int(links.first[link])
            z[first:first + int(links.freedom[link])] = 0.0
        return z

    def _continue(
        self, z: np.ndarray, initial: Inputs, wanted: Inputs, iterations: int,
    ) -> tuple[_Ending, Solution]:
        """Lead the inputs from where z is an equilibrium to those that are wanted."""
        take(self.tree, initial)
        still = np.zeros(self.Z)
        self.residual(z, still, still)
        initial = as_equilibrium(self.tree, self.work, z, initial)
        done, step, parts = 0.0, 0.25, 0
        while True:
            fraction = min(1.0, done + step)
            take(self.tree, mixed(initial, wanted, fraction))
            ending = self._balance(z)
            iterations, parts = iterations + ending.iterations, parts + 1
            if ending.status == CONVERGED:
                z, done, step = ending.now[0], fraction, 2.0 * step
                self.commit_contacts(z)
            else:
                step *= 0.25
            if done == 1.0 or step < self.LEAST_FRACTION:
                solution = self._solution(ending, iterations, parts)
                if done < 1.0:
                    way = f'after {100.0 * done:.1f} % of the way to these loads'
                    solution = solution._replace(message=f'{solution.message}, {way}')
                return ending, solution

    def _relax(self, failed: Solution) -> tuple[_Ending, Solution]:
        """Move from rest to rest by steps of backward Euler, until it is an equilibrium."""
        z, dt, iterations, parts = self.z, FIRST_RELAXATION, failed.iterations, failed.parts
        while True:
            rule = SCHEMES['backward_euler'].rule(dt)
            ending = self._solve(rule, begin(z, *np.zeros((2, self.Z))))
            iterations, parts = iterations + ending.iterations, parts + 1
            if ending.status == CONVERGED:
                z, dt = ending.now[0], 2.0 * dt
                self.commit_contacts(z)
            else:
                dt *= 0.25
            if dt >= TRY_EQUILIBRIUM_FROM and ending.status == CONVERGED:
                balanced = self._balance(z)
                iterations += balanced.iterations
                if balanced.status == CONVERGED:
                    return balanced, self._solution(balanced, iterations, parts)
            if dt < SHORTEST_RELAXATION or parts - failed.parts >= MOST_RELAXATIONS:
                return ending, failed._replace(
                    iterations=iterations, parts=parts,
                    message=f'{failed.message}; nor does it come to rest')

    # --- Time ---

    def rule(self, dt: float) -> Rule:
        """Return the rule of the next step, of dt [s]."""
        scheme = SCHEMES['backward_euler'] if self._impact_steps else self.scheme
        return scheme.rule(dt, self._last_step)

    def step(self, dt: float) -> Solution:
        """
        Advance by dt [s].

        A step that fails is divided; if that does not help either, nothing is changed. Where a
        coordinate hits its limit or an element an obstacle, or where a step in contact fails,
        backward Euler takes the impact, which is inelastic: schemes of second order make of it a
        rate that changes its sign in every step.
        """
        check_number('dt', dt, above=0.0, unit='s')
        before, end = self.saved(), self.time + dt
        if self._momenta is None:
            self._momenta = self._present_momenta()
        part, iterations, parts = dt, 0, 0
        while self.time < end:
            roots = self._root_motions() if self.motions else None
            if roots is not None:
                self._move_roots(self.time + part, part)
            ending = self._solve(self.rule(part), self._past)
            iterations, parts = iterations + ending.iterations, parts + 1
            converged = ending.status == CONVERGED
            if not self._anchored and self._touched() is not None:
                if roots is not None:
                    self._put_roots(roots)
                self._anchor()
                continue
            hits = converged and (self._hits(
                self.tree, self.moves, ending.now[0], self.z) or self._strikes())
            if converged and (self._impact_steps or not hits):
                self._past, self._last_step, self._equilibrium = ending.now, part, None
                self._remember()
                self._impact_steps = STEPS_OF_IMPACT if hits else max(0, self._impact_steps - 1)
                if self._momenta:
                    self.refresh()
                    self._momenta = [self._keep(m, part) for m in self._momenta]
                self._recentre()
                self._remember_contacts()
                self.time = self.time + part if end - self.time > 1.001 * part else end
                if part < dt and ending.iterations <= FEW_ITERATIONS:
                    part *= 2.0
                if self.time < end:
                    part = (end - self.time) / np.ceil((end - self.time) / part - 1e-3)
                continue
            if roots is not None:
                self._put_roots(roots)
            if hits or not (converged or self._impact_steps) and self._touched() is not None:
                self._impact_steps = STEPS_OF_IMPACT
            elif part < self.LEAST_FRACTION * dt:
                self.restore(before)
                break
            else:
                part *= 0.5
        return self._solution(ending, iterations, parts)

    def _anchor(self) -> None:
        """Let what may rub remember the present state, without friction in it."""
        if not self._anchored:
            self.commit_contacts(stays=False)
            self._anchored = True

    def _remember_contacts(self) -> None:
        """Let what touches remember a step that was accepted; else, remember nothing."""
        if not self._touches:
            return
        touching = self._touched()
        self._anchored = not self._rubs or not (touching is None and self._touching is None)
        self._touching = touching
        if self._anchored:
            self.commit_contacts()

    def _touched(self) -> np.ndarray | None:
        """Return which links touch obstacles, (L,) bool, as of the last sweep; None if none do."""
        touch = self.work.touch
        return (touch.points > 0) | (touch.bodies > 0) if touch.found[0] else None

    def _strikes(self) -> bool:
        """Return whether a link touches an obstacle that did not before."""
        touched = self._touched() if self._touches else None
        if touched is None or self._touching is None:
            return touched is not None
        return bool((touched & ~self._touching).any())

    def _present_momenta(self) -> list[Momentum]:
        """Return the momenta of all that floats and that nothing holds."""
        if not (self._floating and self.keep_momentum):
            return []
        self.refresh()
        return [self._momentum_of(group) for group in self._floating
                if is_loose(self.tree, group)]

    def _momentum_of(self, group: Floating) -> Momentum:
        sums = self._sums_of(group)
        return Momentum(group, sums.momentum.copy(), sums.rate.copy())

    def _keep(self, before: Momentum, dt: float) -> Momentum:
        """Give what floats the velocity at which its momenta are what the loads made of them."""
        now = self._momentum_of(before.group)
        value = before.value + 0.5 * dt * (before.rate + now.rate)
        twist = np.linalg.lstsq(self._sums.locked, value - now.value, rcond=1e-12)[0]
        push(self.tree, self.work, before.group, twist, self._past[1])
        return now._replace(value=value)
