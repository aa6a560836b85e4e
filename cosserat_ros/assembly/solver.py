r"""
Static equilibria of an assembly, and its steps in time.

Both are the same solve, ``r(z, cV z + hV, cA z + hA) = 0``; statics has ``cV = cA = 0``. It stops
on the size of the update, measured as strain: the residual's own scale depends on stiffness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks.fields import check_number
from ..description.obstacles import Obstacle
from ..numerics.integrators import BackwardEuler, begin, Q, Rule, Scheme, SCHEMES, STILL
from ..numerics.kernels import Direct
from .blocks import Tangent
from .consistency import ConsistentState
from .contact_arrays import RADIUS, SLOTS
from .contact_work import returned
from .continuation import as_equilibrium, Inputs, inputs, mixed, take, unloaded
from .element import Motion
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
SHALLOW = 1e-3          # part of the radius up to which damping may let go of anything
MOST_SURPLUS = 0.01       # part of what contact stored that it may give back beyond that
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
    gap: float = 0.0    # error that is left, as strain: the next update if not converged, or
    #                     where laws have kinks, friction or contact; else estimated [-]


class _Ending(NamedTuple):
    """What Newton's method returns."""

    now: np.ndarray  # (6, Z) history at the new instant, if it was found
    status: int
    iterations: int
    size: float
    left: float      # error, as strain
    worst: float
    at: int
    hits: bool       # whether a coordinate has come to its limit
    touches: bool    # whether anything touches, as of the last sweep


class Momentum(NamedTuple):
    """Of what floats, as the loads have made it."""

    group: Floating
    value: np.ndarray  # (6,) linear and angular, about the origin [N s, N m s]
    rate: np.ndarray   # (6,) [N, N m]


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

    _newton, _returned = Direct(newton), Direct(returned)

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
        self._depth = np.inf                     # the largest then, as a part of the radius [-]
        self._pressed: np.ndarray | None = None  # pairs that touch now, where it is known

    # --- Its state ---

    def set_state(
        self, z: np.ndarray, z_t: np.ndarray | None = None, z_tt: np.ndarray | None = None,
    ) -> None:
        """Make this the present instant: at rest, if no rates are given."""
        super().set_state(z, z_t, z_tt)
        self._equilibrium, self._impact_steps, self._momenta = None, 0, None
        self._anchored, self._depth, self._pressed = not self._rubs, np.inf, None
        self._touching = np.ones(self.tree.links.kind.size, dtype=bool)

    def _begin(self, z: np.ndarray, z_t: np.ndarray, z_tt: np.ndarray) -> None:
        equilibrium = self._equilibrium
        super()._begin(z, z_t, z_tt)
        self._equilibrium = equilibrium

    def saved(self) -> tuple[Any, ...]:
        """Return the present instant, for `restore`."""
        holds = self.holds_anchors or (self._pressed is not None and len(self._pressed) > 0)
        memory = [a.copy() for a in self.tree.contacts.memory] if holds else None
        return (super().saved(), self._equilibrium, self._impact_steps, self._momenta,
                self._touching, self._depth, self._pressed, self._anchored, memory)

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to an instant that was `saved`."""
        (instant, self._equilibrium, self._impact_steps, self._momenta, self._touching,
         self._depth, self._pressed, self._anchored, memory) = saved
        for mine, given in zip(self.tree.contacts.memory, memory or ()):
            mine[:] = given
        super().restore(instant)

    # --- What it may touch ---

    def set_obstacles(self, obstacles: Mapping[str, Obstacle], check: bool = True) -> None:
        """
        Let there be these obstacles instead of the present ones, from this instant on.

        Time, motion and what laws remember stay; so do the anchors of friction on obstacles of
        which only the pose is another. One that is new or moved may not have the centre of a rod
        or ball within it; if one does, or is otherwise wrong, this raises and nothing is changed.

        Parameters
        ----------
        obstacles : mapping of str to Obstacle
        check : bool
            Whether to look for overlaps: not where another state is to be restored.

        """
        anchored, remembered = self._anchored, self._rubs
        left = any(obstacles.get(name) is not self.obstacles.get(name)
                   for name in self._touched_names())
        hit = self.scene.change(self, obstacles, check)
        self._anchored = anchored if remembered and self._rubs else not self._rubs
        self._equilibrium = self._momenta = self._factorised = self._pressed = None
        if hit or left:  # accelerations are those of other forces
            self._impact_steps, self._depth = STEPS_OF_IMPACT, np.inf
        if left and self._floating:  # whose momenta go on from these
            found = self.balance(self.z_t, self.z_tt, self.moves & self.tree.coordinates.driven)
            if not isinstance(found, str):
                self._past = self._past.copy()
                self._past[[2, 5]] = found.z_tt

    def _touched_names(self) -> set[str]:
        """Return the names of all obstacles, and of links of rods, that were touched last."""
        pairs = () if self._pressed is None else self._pressed
        return {self.name_touched(int(pair[1])) for pair in pairs}

    @property
    def holds_anchors(self) -> bool:
        """Whether contacts remember the present state."""
        return self._rubs and self._anchored

    @property
    def depends_on_way(self) -> bool:
        """Whether an equilibrium may depend on the way to it, by what laws remember."""
        return self.remembers or self._rubs

    # --- Solves ---

    def _solve(self, rule: Rule, past: np.ndarray, looked: bool = False) -> _Ending:
        """Go to the next instant by `rule`; `looked`: at loops that have turned."""
        statics = rule is STILL
        ny = 6 if statics else 18
        known = self._factorised is rule and not statics
        self._factorised = None
        stop = Stop(
            self.strain_scale, self.moves,
            min(self.tolerance, STATIC_TOLERANCE) if statics else self.tolerance,
            MOST_WITH_CONTACT if self._touches and not statics else self.MOST_ITERATIONS,
            LARGEST_UPDATE)
        now = np.empty(past.shape)
        # What was before an impact says nothing of what comes.
        touching = self._impact_steps or (self._touches and self._touching is not None)
        ending = _Ending(now, *self._newton(
            self.tree, self.work, self.tangent, self.fronts, self._code(), past,
            rule._replace(guess=Q) if touching else rule, stop, ny, known, now))
        self._ny, self._fronts_ny = 0, ny
        if ending.touches and ending.status == CONVERGED and self.work.touch.found[1] > 0:
            ending = ending._replace(status=CROWDED)
        if self._carriers and not looked and ending.status != NOT_FINITE and (
                self._loops_have_turned()):
            self._look_at_loops(ending.now[0])
            return self._solve(rule, past, looked=True)
        if ending.status == CONVERGED:
            self._factorised = rule
        elif ending.status == SINGULAR and self._postpone(ending.at):
            return self._solve(rule, past, looked)
        return ending

    def _look_at_loops(self, z: np.ndarray) -> None:
        """Find anew which equations of loops are redundant, at the unknowns z."""
        before = self.saved()
        self.set_state(z)
        self.release_redundant()
        self.restore(before)

    def _remember(self) -> None:
        """Make the end of the last solve what laws remember."""
        if self.remembers:
            self.tree.laws.memory[:] = self.work.memory

    def _solution(self, ending: _Ending, iterations: int, parts: int) -> Solution:
        """Return how a solve ended that has come to the present instant."""
        return Solution(
            self.z, ending.status == CONVERGED, iterations, ending.size, ending.worst, parts,
            self._remark(ending) if ending.status == CONVERGED else self._reason(ending),
            ending.left)

    def _remark(self, ending: _Ending) -> str:
        """Return what is wrong with a solve that has converged, or nothing."""
        if ending.touches and self.work.touch.found[2]:
            return (f'a point touches more than {SLOTS} obstacles with friction: '
                    f'it sticks to {SLOTS} of them')
        return ''

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
        before, wanted = self.saved(), Inputs(*(a.copy() for a in inputs(self.tree)))
        self._begin_statics(before, wanted)
        ending = self._balance(self._rest() if from_rest else self.z)
        solution = self._solution(ending, ending.iterations, 1)
        if not solution.converged:
            origins = [(self._rest(), unloaded(wanted))]
            if self._equilibrium is not None and not from_rest:
                origins.insert(0, (self.z, self._equilibrium))
            for z, initial in origins:
                if not solution.converged:
                    self._begin_statics(before, wanted)
                    ending, solution = self._continue(z, initial, wanted, solution.iterations)
            if not solution.converged and self._touches:
                self._begin_statics(before, wanted)
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

    def _begin_statics(self, before: tuple[Any, ...], wanted: Inputs) -> None:
        """Go back to where statics began, with the inputs that are wanted, and stop roots."""
        take(self.tree, wanted)
        self.restore(before)
        for part in self.tree.roots[2:] if self._roots.size else ():
            part[self._roots] = 0.0

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
        self._take_stock()
        part, iterations, parts = dt, 0, 0
        while self.time < end:
            roots = self._root_motions() if self.motions else None
            if roots is not None:
                self._move_roots(self.time + part, part)
                if part > self.LEAST_FRACTION * dt and self._is_swept(roots):
                    self._put_roots(roots)
                    part *= 0.5
                    continue
            rule = self.rule(part)
            ending = self._solve(rule, self._past_for(rule, part))
            iterations, parts = iterations + ending.iterations, parts + 1
            converged = ending.status == CONVERGED
            if ending.touches and not self._anchored:
                if roots is not None:
                    self._put_roots(roots)
                self._anchor()
                continue
            let_go = (converged and ending.touches and part > self.LEAST_FRACTION * dt
                      and self._is_let_go())
            hits = converged and (
                ending.hits or let_go or (ending.touches and self._strikes())
                or self._gives_more())
            if converged and not let_go and (self._impact_steps or not hits):
                self._accept(ending.now, part)
                if self._momenta:
                    self.refresh()
                    self._momenta = [self._keep(m, part) for m in self._momenta]
                self._impact_steps = STEPS_OF_IMPACT if hits else max(0, self._impact_steps - 1)
                self._recentre()
                if ending.touches or self._touching is not None or self.holds_anchors:
                    self._remember_contacts()
                self.time = self.time + part if end - self.time > 1.001 * part else end
                if part < dt and ending.iterations <= FEW_ITERATIONS:
                    part *= 2.0
                if self.time < end:
                    part = (end - self.time) / np.ceil((end - self.time) / part - 1e-3)
                continue
            if roots is not None:
                self._put_roots(roots)
            if not self._impact_steps and (hits or ending.touches):
                self._impact_steps = STEPS_OF_IMPACT
            elif part < self.LEAST_FRACTION * dt:
                self.restore(before)
                break
            else:
                part *= 0.5
        return self._solution(ending, iterations, parts)

    def _accept(self, now: np.ndarray, dt: float) -> None:
        """Go on from the end of a step of dt [s]: its history `now`."""
        if self.lead is not None:
            self.lead.keep(self._past[0], now[0], dt, self._changes[1] is not None)
        self._past, self._last_step, self._equilibrium = now, dt, None
        self._remember()

    def _take_stock(self) -> None:
        """Find contacts and momenta of the present state, where it is not that of a step."""
        if self._pressed is None:
            self._look_at_pressed()
        if self._momenta is None:
            self._momenta = self._present_momenta()

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
        near = touching is not None or self._touching is not None
        self._anchored = near or not self._rubs
        self._touching, self._depth = touching, float(self.work.touch.deepest[0])
        if near and self._rubs:
            self.commit_contacts()
        elif near:  # to the tolerance of the step, the last sweep was at its end
            self._commit(self.tree, self.work, False)
        self._pressed = self._pairs()

    def _is_swept(self, before: Motion) -> bool:
        """
        Return whether roots move an obstacle past the centre of a rod or ball that stays behind.

        Or these past it. From there Newton's method might find a way out to the other side.
        `before` is how the roots were.
        """
        if not self._touches:
            return False
        moved = np.linalg.norm(self.tree.roots.p[self._roots] - before.p, axis=1)
        turned = np.abs(self.tree.roots.R[self._roots] - before.R).sum(axis=(1, 2))
        way = (moved + turned * np.linalg.norm(np.ptp(self.work.end.p, axis=0))).max()
        if way < (1.0 - self._depth) * self.tree.contacts.numbers[:, RADIUS].min():
            return False
        self.refresh()
        return bool(self.work.touch.deepest[0] > max(1.0, self._depth))

    def _pairs(self) -> np.ndarray:
        """Return what touches as of the last sweep, see `Touch.pairs`, (n, 19)."""
        return self.work.touch.pairs[:int(self.work.touch.found[0])].copy()

    def _look_at_pressed(self) -> None:
        """Find what is in contact now, and let contacts remember where it is."""
        if self._touches:
            self.refresh()
        self._pressed, self._touching = self._pairs(), self._touched()
        self._depth = float(self.work.touch.deepest[0]) if len(self._pressed) else 0.0
        if len(self._pressed):
            if self._rubs:
                self._anchor()
            else:
                self.commit_contacts()

    def _gives_more(self) -> bool:
        """
        Return whether contact gives back more than it had stored, as of the last sweep.

        What was pressed in and comes free within a long step does, by a scheme of second order.
        """
        if self._impact_steps or self._pressed is None or not len(self._pressed):
            return False
        surplus, stored = self._returned(self.tree, self.work, self._pressed)
        return bool(surplus > MOST_SURPLUS * stored)

    def _touched(self) -> np.ndarray | None:
        """Return which links touch obstacles, (L,) bool, as of the last sweep; None if none do."""
        touch = self.work.touch
        return (touch.points > 0) | (touch.bodies > 0) if touch.found[0] else None

    def _strikes(self) -> bool:
        """Return whether a link touches an obstacle that did not before."""
        touched = self._touched()
        if touched is None or self._touching is None:
            return touched is not None
        return bool((touched & ~self._touching).any())

    def _is_let_go(self) -> bool:
        """
        Return whether damping lets go of what has just come deep, as of the last sweep.

        Where a step is long for what moves in it, its end may be deep in an obstacle at a velocity
        that leads out, though it came from outside: there damping takes the force away. Such an
        end satisfies the equations of the step, but no motion goes there.
        """
        return bool(self.work.touch.let_go[0] > max(self._depth, SHALLOW))

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
        if self._impact_steps or isinstance(self.scheme, BackwardEuler):
            # Its way is that of the momentum at the end, not of the mean: no reason to spin.
            value[3:] += 0.5 * dt / self._sums.locked[0, 0] * np.cross(value[:3], before.value[:3])
        twist = np.linalg.lstsq(self._sums.locked, value - now.value, rcond=1e-12)[0]
        push(self.tree, self.work, before.group, twist, self._past[1])
        return now._replace(value=value)
