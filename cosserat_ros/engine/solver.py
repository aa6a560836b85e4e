r"""
Solvers of the equations of `engine.system`: static equilibria, and steps in time.

Both are the same solve, ``r(z, cV z + hV, cA z + hA) = 0``; statics has ``cV = cA = 0``. It stops
on the size of the update, measured as strain: the residual's own scale depends on stiffness.
`SystemSolver` has any number of rods of equal size and a platform, `RodSolver` is that of one rod.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks.errors import InvalidModel
from ..checks.fields import check_number
from ..laws.actuators import (
    Drives,
    EFFORT,
    GAS,
    given_efforts,
    LENGTH,
    lengths_and_gradients,
    no_paths,
    Paths,
)
from ..numerics.integrators import begin, Rule, Scheme, SCHEMES, STILL
from ..numerics.kernels import Direct
from ..numerics.lie import exp_so3, log_so3
from ..rod.discretisation import Discretisation
from ..rod.kinematics import Base, free_base, kinematics, State
from .equations import arena_for, Loads, no_loads
from .momentum import energy, Momentum, momentum
from .newton import CONVERGED, Inverse, newton, NOT_FINITE, RUNNING_OUT, SINGULAR
from .system import Code, compiled_code, one_of, Platform, stack, System, unbalance_and_jacobian

_REASONS = {
    CONVERGED: '',
    RUNNING_OUT: 'Newton ran out of iterations',
    NOT_FINITE: 'Newton left the finite numbers',
    SINGULAR: 'the tangent is singular',
}

CLAMPED_TIP = np.eye(6)
SPHERICAL_TIP = np.eye(3, 6)
FREE_TIP = np.zeros((0, 6))


class Solution(NamedTuple):
    """How a solve ended; `z` is finite in any case, the last good one if not converged."""

    z: np.ndarray       # all unknowns, see `cosserat_ros.engine.system`
    converged: bool
    iterations: int
    update: float       # size of the last update, as strain [-]
    residual: float     # largest entry of the residual before it [J per unit of q]
    parts: int          # in which load or time step was divided
    message: str        # why not, or what no robot could do; else empty
    gap: float = 0.0    # of friction and chords from their laws, as a part of what they do [-]


Motion = Callable[[Base, float, float], Base]
"""Of a base: from its motion one step earlier, the time at the end of the step, and the step."""


def at_rest(R: np.ndarray | None = None, p: np.ndarray | None = None) -> Base:
    """Return a base that stands still; at the origin, upright, if not said otherwise."""
    return Base(np.eye(3) if R is None else np.array(R, dtype=float),
                np.zeros(3) if p is None else np.array(p, dtype=float), *np.zeros((4, 3)))


def follow_twist(twist: Callable[[float], tuple[np.ndarray, ...]]) -> Motion:
    """
    Return the motion of a base whose velocity is prescribed.

    Parameters
    ----------
    twist : callable
        From the time [s] to angular velocity, velocity, and the derivatives of both, world frame.

    The pose is integrated from step to step: rotations by two exponentials (order 4), positions
    by Gauss quadrature (order 6).
    """
    def move(last: Base, time: float, dt: float) -> Base:
        early, late = (twist(time - dt * (0.5 + sign * np.sqrt(3.0) / 6.0))[0]
                       for sign in (1.0, -1.0))
        more, less = 0.25 + np.sqrt(3.0) / 6.0, 0.25 - np.sqrt(3.0) / 6.0
        R = (exp_so3(dt * (less * early + more * late))
             @ exp_so3(dt * (more * early + less * late)) @ last.R)
        nodes, weights = np.polynomial.legendre.leggauss(3)
        p = last.p + 0.5 * dt * sum(
            weight * twist(time - 0.5 * dt * (1.0 - node))[1]
            for node, weight in zip(nodes, weights))
        Om, p_t, Om_t, p_tt = (np.array(v, dtype=float) for v in twist(time))
        return Base(R, p, Om, p_t, Om_t, p_tt)
    return move


def no_platform(rods: int, hold: np.ndarray = FREE_TIP) -> Platform:
    """Return a platform that is a place in space, here the origin; it holds nothing by default."""
    zero = np.zeros(3)
    return Platform(
        np.eye(3), zero, False, np.tile(np.eye(3), (rods, 1, 1)), np.zeros((rods, 3)),
        np.ascontiguousarray(np.tile(np.asarray(hold, dtype=float), (rods, 1, 1))), 0.0, zero,
        np.eye(3), zero, np.zeros(6))


class SystemSolver:
    """
    Rods, the platform that joins them, their loads and drives, and their state in time.

    Parameters
    ----------
    rods : sequence of Discretisation
        As many modes, nodes and elements each.
    bases : sequence of Base
        Where their bases are, and how they move at the start.
    paths : sequence of Paths, optional
        Of their actuators, as many on each rod.
    platform : Platform, optional
        What holds the tips.
    motion : Motion, optional
        How the base is moved, see `follow_twist`; for one rod only. Without it, bases stay.
    free : bool
        Whether nothing holds the base: the rod floats. For one rod only.
    scheme : Scheme
        Time integration.
    tolerance : float
        Of the error that a step leaves in the coordinates, as strain; statics is at least as exact
        as `STATIC` [-].

    """

    MOST = 150           # iterations of one solve
    STATIC = 1e-10       # tolerance of statics
    REACH = 2.0          # [rad] of bending over the length, in one iteration
    LEAST_FRACTION = 1e-3  # of a load or of a time step, below which we give up

    def __init__(
        self, rods: Sequence[Discretisation], bases: Sequence[Base],
        paths: Sequence[Paths] | None = None, platform: Platform | None = None,
        motion: Motion | None = None, free: bool = False,
        scheme: Scheme = SCHEMES['generalised_alpha'], tolerance: float = 1e-12,
    ) -> None:
        if len(rods) > 1 and (free or motion):
            raise InvalidModel('rods', len(rods), '1 where the base is free or moved')
        paths = paths or [no_paths(d.s.size) for d in rods]
        self.rods, self.bases, self.paths = list(rods), list(bases), list(paths)
        self.scheme, self.tolerance, self.free = scheme, float(tolerance), free
        self.time = 0.0
        self._motion = motion
        self._rods, self._paths = stack(self.rods), stack(self.paths)
        self.stretch = np.ones(self._rods.s.shape)  # (k, N) of fed legs, by which energy counts
        self._stacked = self.bases, stack(self.bases)
        self._platform = platform or no_platform(len(rods))
        self._drives = stack([given_efforts(np.zeros(a.flat.size)) for a in self.paths])
        self._momentum: Momentum | None = None  # of a floating rod, as the loads have made it
        self._given: Loads | None = None        # the last loads, as they came
        self._none = self._plain = SystemSolver.no_loads(self)  # and as kernels take them
        self._loads = self._none                # with the rods' own stress
        self._stress: np.ndarray | None = None
        self._code: Code | None = None          # found or compiled when it is needed
        self._newton = Direct(newton)
        self._equilibrium: System | None = None  # of the present state, while it is one
        self._room = arena_for(self.rods[0], self.paths[0].flat.size)
        self._lay_out()
        self._past, self._last_step = begin(*np.zeros((3, self._scale.size))), 0.0
        if free:
            b = self.bases[0]
            self._past[:, self.n:self.n + 6] = begin(*(np.concatenate(pair) for pair in (
                (b.p, np.zeros(3)), (b.p_t, b.Om), (b.p_tt, b.Om_t))))
        if self._platform.moves:
            self._past[0, -6:-3] = self._platform.p

    def _lay_out(self) -> None:
        """Find where each unknown is, and make room for the tangent."""
        k, m, j = len(self.rods), self.paths[0].flat.size, self._platform.hold.shape[1]
        d = self.rods[0]
        length = d.breaks[-1] - d.breaks[0]
        body = np.repeat([1.0 / length, 1.0], 3)
        self.n = d.component.size
        scale = np.concatenate([
            np.where(d.component < 3, 1.0, length), body[:6 * self.free], np.zeros(m + j)])
        B, P = scale.size, 6 * self._platform.moves
        self._scale = np.concatenate([np.tile(scale, k), body[:P]])
        self._moves = self._scale > 0.0  # coordinates; not efforts and reactions
        at_rod = np.arange(k)[:, None] * B
        first = self.n + 6 * self.free
        self._q = at_rod + np.arange(self.n)                       # (k, n) places in z
        self._efforts = at_rod + first + np.arange(m)              # (k, m)
        self._reactions = at_rod + first + m + np.arange(j)        # (k, j)
        self._turns = [*([slice(self.n + 3, self.n + 6)] if self.free else []),
                       *([slice(k * B + 3, k * B + 6)] if P else [])]
        self._inverse = Inverse(np.empty((k, B, B)), np.empty((k, B, 6)), np.empty((k, 6, B)),
                                np.empty((6, 6)))
        self._inverse_of: Rule | None = None  # that it was made for
        # A floating rod's statics hold its base: the same without those six.
        self._held = np.ones(self._scale.size, dtype=bool)
        self._held[self.n:self.n + 6 * self.free] = False

    # --- What it is ---

    def no_loads(self) -> Loads:
        """Return loads that are all zero, stacked, to be replaced."""
        return stack([no_loads(d.s.size, d.W.shape[0]) for d in self.rods])

    def base(self, i: int = 0) -> Base:
        """Return the motion of a rod's base at the present instant."""
        if not self.free:
            return self.bases[i]
        return free_base(self.bases[i].R, *self._past[:3, self.n:self.n + 6])

    def state(self, i: int = 0) -> State:
        """Return the kinematics of a rod at the present instant."""
        return kinematics(self.rods[i], self.base(i), *self._past[:3, self._q[i]])

    @property
    def z(self) -> np.ndarray:
        """All unknowns at the present instant, see `cosserat_ros.engine.system`."""
        return self._past[0]

    @property
    def z_t(self) -> np.ndarray:
        """Their rates; those of efforts and reactions are 0."""
        return self._past[1]

    @property
    def z_tt(self) -> np.ndarray:
        """Their accelerations; those of efforts and reactions are 0."""
        return self._past[2]

    @property
    def moves(self) -> np.ndarray:
        """Which unknowns are coordinates, and not efforts or reactions, bool."""
        return self._moves

    @property
    def strain_scale(self) -> np.ndarray:
        """Size of each unknown as strain; 0 for efforts and reactions."""
        return self._scale

    @property
    def q_places(self) -> np.ndarray:
        """Where the amplitudes of the rods' modes are in z, (k, n)."""
        return self._q

    @property
    def effort_places(self) -> np.ndarray:
        """Where the efforts of the actuators are in z, (k, m)."""
        return self._efforts

    @property
    def q(self) -> np.ndarray:
        """Amplitudes of the strain modes, (k, n)."""
        return self.z[self._q]

    @property
    def efforts(self) -> np.ndarray:
        """Efforts of the actuators, (k, m): tension [N], or minus the pressure [Pa]."""
        return self.z[self._efforts]

    @property
    def reactions(self) -> np.ndarray:
        """Reactions at the tips, along their directions of hold, (k, j) [N, N m]."""
        return self.z[self._reactions]

    @property
    def platform(self) -> Base:
        """Motion of the platform at the present instant."""
        if self._platform.moves:
            return free_base(self._platform.R, *self._past[:3, -6:])
        return at_rest(self._platform.R, self._platform.p)

    def lengths(self) -> np.ndarray:
        """Return lengths of tendons and volumes of chambers, (k, m) [m, m^3]."""
        return np.array([lengths_and_gradients(self.paths[i], self.state(i).xi)[0]
                         for i in range(len(self.rods))])

    def change_rods(
        self, elastic: np.ndarray, viscous: np.ndarray, inertia: np.ndarray, stress: np.ndarray,
    ) -> None:
        """
        Take other stiffness and damping (k, n, n), inertia and stress (k, N, 6) of the rods.

        Of the rest shape: it is added to that of loads.
        """
        self._rods = self._rods._replace(
            elastic=_like(self._rods.elastic, 'elastic', elastic),
            viscous=_like(self._rods.viscous, 'viscous', viscous),
            inertia=_like(self._rods.inertia, 'inertia', inertia))
        self._stress = _like(self._none.stress, 'stress', stress)
        self._loads = self._plain._replace(stress=self._plain.stress + self._stress)

    def load_platform(self, wrench: np.ndarray) -> None:
        """Let force and moment (6,) act at the platform's centre of mass, world frame."""
        self._platform = self._platform._replace(wrench=np.array(wrench, dtype=float))

    @property
    def rates(self) -> np.ndarray:
        """Rates of the strain modes' amplitudes, (k, n) [1/s]."""
        return self.z_t[self._q]

    def gradients(self, i: int = 0) -> np.ndarray:
        """Return weighted slopes of an actuator's length with the strain, (m, N, 6)."""
        return lengths_and_gradients(self.paths[i], self.state(i).xi)[1]

    # --- Its state as a whole ---

    def saved(self) -> tuple[Any, ...]:
        """Return the present instant, for `restore`."""
        return (self._past, self._last_step, self.bases, self.time, self._momentum,
                self._platform, self._equilibrium)

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to an instant that was `saved`."""
        (self._past, self._last_step, self.bases, self.time, self._momentum,
         self._platform, self._equilibrium) = saved
        self._inverse_of = None  # so that what follows does not depend on what was

    def go_to(self, z: np.ndarray, R: np.ndarray | None = None) -> None:
        """Stand still at z, in equilibrium or not; its platform's turn is counted from R."""
        if R is not None:
            self._platform = self._platform._replace(R=np.array(R, dtype=float))
        self._stand(z)
        self._equilibrium = None

    def _stand(self, z: np.ndarray) -> None:
        """Make z the present instant, at rest."""
        self._past, self._last_step = begin(z, *np.zeros((2, z.size))), 0.0
        self._momentum = None

    # --- Solving ---

    def rule(self, dt: float) -> Rule:
        """Return the rule of a step of dt [s] from the present instant."""
        return self.scheme.rule(dt, self._last_step)

    def system(self, loads: Loads, drives: Drives | None = None) -> System:
        """Return the system under these loads and drives (the last ones if not given)."""
        if loads is not self._given:
            self._given, self._plain = loads, self._checked(loads, self._none)
            self._loads = self._plain if self._stress is None else self._plain._replace(
                stress=self._plain.stress + self._stress)
        if drives is not None:
            same = drives.kind is self._drives.kind and drives.scale is self._drives.scale
            self._drives = drives if same else self._checked(drives, self._drives)
        if self.bases is not self._stacked[0]:
            self._stacked = self.bases, self._stack(self.bases)
        if self._code is None:
            self._code = compiled_code(self.present())
        return self.present()

    def _stack(self, bases: Sequence[Base]) -> Base:
        """Return bases for kernels."""
        return SystemSolver._checked(self, stack(bases), self._stacked[1])

    def present(self) -> System:
        """Return the system of the last loads and drives; without code, if it was not needed."""
        return System(self._rods, self._paths, self._stacked[1], self.free, self._drives,
                      self._loads, self._platform, self._code or Code(0, 0, 0), self._room)

    def _checked(self, given: Any, expected: Any) -> Any:
        """Return arrays for kernels, which do not look: of one layout, and of expected shape."""
        values = []
        for name, value, wanted in zip(expected._fields, given, expected):
            if isinstance(wanted, tuple):
                values.append(self._checked(value, wanted))
                continue
            values.append(value if value is wanted else _like(wanted, name, value))
        return type(expected)(*values)

    def _solve(
        self, system: System, past: np.ndarray, rule: Rule,
    ) -> tuple[np.ndarray, Solution]:
        """Return the history at the next instant by `rule`, the old one if there is none."""
        known = self._inverse_of is rule and rule is not STILL
        self._inverse_of = None
        inverse, scale = self._inverse, self._scale
        if past.shape[1] != scale.size:  # a floating rod, held in statics
            B = past.shape[1]
            scale = scale[self._held]
            inverse = Inverse(np.empty((1, B, B)), np.empty((1, B, 6)), np.empty((1, 6, B)),
                              inverse.schur)
        tolerance = self.tolerance if rule is not STILL else min(self.tolerance, self.STATIC)
        now, status, iterations, update, worst = self._newton(
            system, past, rule, scale, tolerance, self.MOST, self.REACH, inverse, known)
        if status == CONVERGED:
            self._inverse_of = rule
        return now, Solution(
            now[0], status == CONVERGED, iterations, update, worst, 1, _REASONS[status])

    def _balance(self, system: System, z: np.ndarray) -> Solution:
        """Find the equilibrium next to z."""
        return self._solve(system, begin(z, *np.zeros((2, z.size))), STILL)[1]

    def statics(
        self, loads: Loads, drives: Drives | None = None, from_rest: bool = False,
    ) -> Solution:
        """
        Go to the static equilibrium under loads and drives, and stay there at rest.

        A free base is held. If Newton fails, the way there is divided: from the last equilibrium,
        if there was one, loads, gravity and commands are changed and held tips are led step by
        step; else, or if that fails too, from the rods at rest.
        """
        bases = [at_rest(b.R, b.p) for b in map(self.base, range(len(self.rods)))]
        system = self.system(loads, drives)._replace(bases=self._stack(bases), free=False)
        rest = self._rest()
        present = rest if from_rest else self.z[self._held]
        solution = self._balance(system, present)
        origins = [(rest, _unloaded(system))]
        if self._equilibrium is not None and not from_rest:
            origins.insert(0, (present, self._equilibrium))
        for z, initial in origins:
            if not solution.converged:
                earlier = solution.iterations
                solution = self._continue(z, initial, system)
                solution = solution._replace(iterations=earlier + solution.iterations)
        if solution.converged:
            z = self.z.copy()
            z[self._held] = solution.z
            self._stand(z)
            self.bases, self._equilibrium = bases, system
            self._recentre()
        return solution._replace(z=self.z)

    def _rest(self) -> np.ndarray:
        """Return the unknowns of the rods at rest; the platform stays."""
        z = np.zeros(self._scale.size)
        if self._platform.moves:
            z[-6:] = self.z[-6:]
        return z[self._held]

    def _continue(self, z: np.ndarray, initial: System, system: System) -> Solution:
        """Go from one equilibrium to another system, as Newton allows."""
        initial = self._as_equilibrium(z, initial, system)
        done, step, parts, iterations = 0.0, 0.25, 0, 0
        while True:
            fraction = min(1.0, done + step)
            solution = self._balance(_mixed(initial, system, fraction), z)
            iterations, parts = iterations + solution.iterations, parts + 1
            if solution.converged:
                z, done, step = solution.z, fraction, 2.0 * step
            else:
                step *= 0.25
            if done == 1.0 or step < self.LEAST_FRACTION:
                short = f'{solution.message}, after {100.0 * done:.1f} % of the way to these loads'
                return solution._replace(
                    z=z if done == 1.0 else self.z[self._held], converged=done == 1.0,
                    iterations=iterations, parts=parts, message='' if done == 1.0 else short)

    def _as_equilibrium(self, z: np.ndarray, initial: System, system: System) -> System:
        """Return `initial` with the commands and the held tip at which z is an equilibrium."""
        full = np.zeros(self._scale.size)
        full[self._held] = z
        states = [kinematics(d, Base(*(part[i] for part in system.bases)), full[self._q[i]],
                             *np.zeros((2, self.n))) for i, d in enumerate(self.rods)]
        length = np.array([lengths_and_gradients(a, x.xi)[0]
                           for a, x in zip(self.paths, states)]).reshape(self._efforts.shape)
        initial = initial._replace(drives=system.drives._replace(
            command=_commands(system.drives, length, full[self._efforts])))
        if self._platform.moves or self._platform.hold.shape[1] == 0:
            return initial
        tip = states[0]
        R = tip.Rc[-1] @ system.platform.tip_R[0].T
        return initial._replace(platform=system.platform._replace(
            R=R, p=tip.p_end[-1] - R @ system.platform.tip_p[0]))

    def start(self, loads: Loads, drives: Drives | None = None) -> bool:
        """
        Give the present instant the acceleration that the loads ask for.

        Efforts and reactions stay what they are. Returns whether it could: not if some coordinate
        has no inertia.
        """
        if self._motion:
            self.bases = [self._motion(self.bases[0], self.time, 0.0)]
        system = self.system(loads, drives)
        z, z_t = self.z, self.z_t
        still = np.zeros(z.size)
        (r, K), (_, mass) = (
            unbalance_and_jacobian(system, z, z_t, still, 0.0, cA) for cA in (0.0, 1.0))
        here = np.ix_(self._moves, self._moves)
        z_tt = still.copy()
        try:
            z_tt[self._moves] = np.linalg.solve((mass - K)[here], -r[self._moves])
        except np.linalg.LinAlgError:
            return False
        if not np.isfinite(z_tt).all():
            return False
        self._past, self._last_step, self._momentum = begin(z, z_t, z_tt), 0.0, None
        return True

    def step(self, loads: Loads, dt: float, drives: Drives | None = None) -> Solution:
        """
        Advance by dt [s].

        A step that fails is divided; if that does not help either, nothing is changed.
        """
        check_number('dt', dt, above=0.0, unit='s')
        before = self.saved()
        if self.free and self._momentum is None:
            self._momentum = self.momentum(loads)
        end = self.time + dt
        part, iterations, parts = dt, 0, 0
        while self.time < end:
            rule, system = self.rule(part), self.system(loads, drives)
            if self._motion:
                moved = [self._motion(self.bases[0], self.time + part, part)]
                system = system._replace(bases=self._stack(moved))
            now, solution = self._solve(system, self._past, rule)
            iterations, parts = iterations + solution.iterations, parts + 1
            if solution.converged:
                self._past, self._last_step, self._equilibrium = now, part, None
                if self._motion:
                    self.bases = moved
                if self._momentum is not None:
                    self._momentum = self._keep_momentum(self._momentum, loads, part)
                if self._turns:
                    self._recentre()
                self.time = self.time + part if end - self.time > 1.5 * part else end
            elif part < self.LEAST_FRACTION * dt:
                self.restore(before)
                return solution._replace(z=self.z, iterations=iterations, parts=parts)
            else:
                part *= 0.5
        return solution._replace(iterations=iterations, parts=parts)

    def _keep_momentum(self, before: Momentum, loads: Loads, dt: float) -> Momentum:
        """
        Give a free base the velocity at which the momenta are what the loads have made of them.

        The schemes act on coordinates, of which momentum is no linear function: they keep it to
        their order only, and a long flight would drift. Returns the momenta.
        """
        now = self.momentum(loads)
        value = before.value + 0.5 * dt * (before.rate + now.rate)
        self._past[1, self.n:self.n + 6] += np.linalg.solve(now.locked, value - now.value)
        return now._replace(value=value)

    def _recentre(self) -> None:
        """Count the turns of a free base and of the platform from their new attitudes."""
        if self.free:
            self.bases = [self.base()]
        if self._platform.moves:
            turned = exp_so3(self.z[-3:]) @ self._platform.R
            self._platform = self._platform._replace(R=turned)
        for turn in self._turns:
            self._past[3, turn] = -self.z[turn]
            self._past[0, turn] = 0.0

    def energy(self, loads: Loads) -> float:
        """Return kinetic, elastic and gravitational energy of rods, platform and bodies [J]."""
        rods = sum(energy(d, self.state(i), self.stretch[i], one_of(loads, i))
                   for i, d in enumerate(self.rods))
        own, at = self._platform, self.platform
        spin = own.axes.T @ at.R.T @ at.Om
        return rods + float(0.5 * own.mass * at.p_t @ at.p_t + 0.5 * own.inertia @ spin ** 2
                            - own.mass * at.p @ own.gravity)

    def momentum(self, loads: Loads, i: int = 0) -> Momentum:
        """Return the momenta of a rod and of the bodies among its loads."""
        return momentum(self.rods[i], self.state(i), one_of(loads, i).bodies, self.base(i).p)


class RodSolver(SystemSolver):
    """
    One rod: what `SystemSolver` is for many, with loads and drives that are not stacked.

    Parameters
    ----------
    d : Discretisation
    base : Base, optional
        Where the base is, and how it moves at the start; see `at_rest`, the default.
    paths : Paths, optional
        Of its actuators.
    options
        motion, free, scheme, tolerance of `SystemSolver`.

    """

    def __init__(
        self, d: Discretisation, base: Base | None = None, paths: Paths | None = None,
        **options: Any,
    ) -> None:
        super().__init__([d], [base or at_rest()], [paths] if paths else None, **options)

    @property
    def d(self) -> Discretisation:
        """The rod."""
        return self.rods[0]

    def no_loads(self) -> Loads:
        """Return loads that are all zero, to be replaced."""
        return no_loads(self.d.s.size, self.d.W.shape[0])

    def _checked(self, given: Any, expected: Any) -> Any:
        """Return arrays for kernels: a stack of one."""
        if isinstance(given, (Loads, Drives)):
            return _with_axis(super()._checked(given, one_of(expected, 0)))
        return super()._checked(given, expected)

    def energy(self, loads: Loads) -> float:
        """Return kinetic, elastic and gravitational energy, without that of other loads [J]."""
        return super().energy(_with_axis(loads))

    def momentum(self, loads: Loads, i: int = 0) -> Momentum:
        """Return the momenta of the rod and of the bodies among the loads."""
        return super().momentum(_with_axis(loads), i)

    def hold_tip(self, R: np.ndarray, p: np.ndarray, hold: np.ndarray = CLAMPED_TIP) -> None:
        """
        Hold the tip at a pose, from the next solve on.

        Parameters
        ----------
        R, p : (3, 3) and (3,) array
            Body to world, and position [m].
        hold : (j, 6) array
            Directions of force and moment, in the frame R, that it may take: `CLAMPED_TIP`,
            `SPHERICAL_TIP`, or those of another joint. `FREE_TIP` lets it go.

        """
        if self.free and len(hold):
            raise InvalidModel('hold', len(hold), '0 where the base is free')
        hold = np.asarray(hold, dtype=float)
        reaction = hold @ self._platform.hold[0].T @ self.reactions[0]
        self._platform = no_platform(1, hold)._replace(
            R=np.array(R, dtype=float), p=np.array(p, dtype=float))
        first = self.n + 6 * self.free + self.paths[0].flat.size
        self._lay_out()
        none = np.zeros(len(hold))
        pairs = zip(self._past[:3, :first], (reaction, none, none))
        self._past, self._last_step = begin(*(np.concatenate(pair) for pair in pairs)), 0.0


# --- Of systems ----------------------------------------------------------------------------------

def _like(wanted: np.ndarray, name: str, value: Any) -> np.ndarray:
    """Return an array that a kernel can take instead of another one."""
    array = np.ascontiguousarray(value, dtype=wanted.dtype)
    if array.shape != wanted.shape:
        raise InvalidModel(name, array.shape, f'an array of shape {wanted.shape}')
    return array


def _with_axis(single):
    """Return a named tuple of arrays as a stack of one."""
    return type(single)(*(
        _with_axis(value) if isinstance(value, tuple) else value[None] for value in single))


def _commands(drives: Drives, length: np.ndarray, effort: np.ndarray) -> np.ndarray:
    """Return the commands at which these lengths and efforts are an equilibrium, (k, m)."""
    return np.select(
        [drives.kind == EFFORT, drives.kind == LENGTH, drives.kind == GAS],
        [effort, length - drives.compliance * effort,
         (drives.ambient - effort) * (length + drives.dead)])


def _unloaded(system: System) -> System:
    """Return a system with no loads; drag and carried bodies stay what they are."""
    return system._replace(
        loads=system.loads._replace(**{
            name: np.zeros_like(getattr(system.loads, name))
            for name in system.loads._fields if name not in _KEPT}),
        platform=system.platform._replace(
            wrench=np.zeros(6), gravity=np.zeros(3)))


_KEPT = ('square_drag', 'linear_drag', 'bodies')  # loads that continuation leaves alone


def _mixed(a: System, b: System, fraction: float) -> System:
    """Return the system at a fraction of the way from a to b."""
    if fraction == 1.0:
        return b

    def mix(x: Any, y: Any, *names: str) -> Any:
        return y._replace(**{name: (1.0 - fraction) * getattr(x, name)
                             + fraction * getattr(y, name) for name in names})

    loads = mix(a.loads, b.loads, *(name for name in b.loads._fields if name not in _KEPT))
    platform = mix(a.platform, b.platform, 'p', 'wrench', 'gravity')
    turn = log_so3(b.platform.R @ a.platform.R.T)
    return b._replace(
        loads=loads, drives=mix(a.drives, b.drives, 'command'),
        platform=platform._replace(R=exp_so3(fraction * turn) @ a.platform.R))
