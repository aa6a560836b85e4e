"""An assembly at an instant: its unknowns, its equations there, and linear systems with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..description.obstacles import Obstacle
from ..laws.contact import STICKS
from ..numerics.arena import matrix, vector
from ..numerics.integrators import begin, Rule
from ..numerics.kernels import address, Direct, kernel
from ..numerics.lie import exp_so3
from ..numerics.references import reference, type_of
from ..numerics.rotations import coefficients, exponential, multiply
from .blocks import Tangent
from .contact import commit
from .dense import linearise, solve_rows
from .element import ElementLoads, Motion
from .equations import residual
from .fronts import Fronts
from .joint import FREELY
from .layout import element_code
from .momentum import elastic_energy, Energy, Floating, floating, no_sums, sum_masses, Sums
from .newton import Procedures
from .ordering import plan
from .tangent import differentiate, multiply as multiply_tangent, renew
from .ties import factorise, solve
from .tree import ELEMENT, JOINT, ROOT, Tree, Work


class Contact(NamedTuple):
    """One point of a rod, or sphere of a body, that touches something; world frame."""

    part: str           # name of the rod or body
    s: float            # arc length [m]; of a body, which of its spheres
    obstacle: str       # or another rod
    place: np.ndarray   # (3,) on the surface of that [m]
    normal: np.ndarray  # (3,) out of it
    force: np.ndarray   # (3,) on the rod or body [N]
    gap: float          # minus the penetration [m]
    sliding: bool       # friction is at its limit, or there is none


class Told(NamedTuple):
    """Coordinates whose positions are told, at the end of a step."""

    places: np.ndarray        # (k,) in z
    position: np.ndarray      # (k,)
    rate: np.ndarray          # (k,)
    acceleration: np.ndarray  # (k,)


class Lead(Protocol):
    """What leads coordinates along positions that are told: how fast they are to be."""

    def told(self, dt: float) -> Told:
        """Return what is told of the end of a step of dt [s] from here."""

    def keep(self, before: np.ndarray, after: np.ndarray, dt: float, heeded: bool) -> None:
        """Remember a step from z `before` to `after`; and whether rates were as told."""


RootMotion = Callable[[Motion, float, float], Motion]
"""Of a root: from its motion one step earlier, the time at the end of the step, and the step."""


def at_rest(R: np.ndarray | None = None, p: np.ndarray | None = None) -> Motion:
    """Return a frame that stands still; at the origin, upright, if not said otherwise."""
    return Motion(np.eye(3) if R is None else np.array(R, dtype=float),
                  np.zeros(3) if p is None else np.array(p, dtype=float), *np.zeros((4, 3)))


def follow_twist(twist: Callable[[float], tuple[np.ndarray, ...]]) -> RootMotion:
    """
    Return the motion of a root whose velocity is prescribed.

    Parameters
    ----------
    twist : callable
        From the time [s] to angular velocity, velocity, and the derivatives of both, world frame.

    The pose is integrated from step to step: rotations by two exponentials (order 4), positions
    by Gauss quadrature (order 6).
    """
    def move(last: Motion, time: float, dt: float) -> Motion:
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
        return Motion(R, p, Om, p_t, Om_t, p_tt)
    return move


@kernel
def _recentre(reference, joints, first, past):
    """Count free turns of joints (k,), at first (k,) in z, from their new attitudes."""
    R, new, c = matrix(3, 3), matrix(3, 3), vector(8)
    for k in range(joints.size):
        turn = past[0, first[k]:first[k] + 3]
        coefficients(turn, c)
        exponential(turn, c, R)
        multiply(R, reference[joints[k]], new)
        for i in range(3):
            past[3, first[k] + i], past[0, first[k] + i] = -turn[i], 0.0
            for j in range(3):
                reference[joints[k], i, j] = new[i, j]


class AssemblyState:
    """
    An assembly at the present instant.

    Parameters
    ----------
    tree, work, tangent, fronts
        Of `TreeBuilder.build`.
    names : sequence of str
        Of the links, for messages.
    lengths : (L,) array
        Of what each link belongs to [m].

    """

    # Arrays of all assemblies have the same types: what is found of compiled code is shared.
    _addresses: Procedures | None = None
    _types: tuple[Any, ...] | None = None
    _residual, _linearise, _factorise = Direct(residual), Direct(linearise), Direct(factorise)
    _solve_rows, _sum_masses = Direct(solve_rows), Direct(sum_masses)
    _recentre_turns, _commit = Direct(_recentre), Direct(commit)

    def __init__(
        self, tree: Tree, work: Work, tangent: Tangent, fronts: Fronts, names: Sequence[str],
        lengths: np.ndarray,
    ) -> None:
        self.work, self.names, self.time = reference(work), list(names), 0.0
        self.tangent, self.fronts = reference(tangent), reference(fronts)
        self.tree = tree = reference(tree._replace(code=element_code(
            reference(tree), self.work, self.tangent, self.fronts)))
        self._check_types()
        self.Z = tree.free.size
        self.moves = np.arange(self.Z) < tree.effort  # coordinates; not efforts and reactions
        self.strain_scale = self._scales(lengths)     # of each unknown as strain, (Z,)
        self.lead: Lead | None = None  # what tells coordinates more than their positions
        self._changes: tuple[Rule | None, np.ndarray | None] = None, None  # see `_past_for`
        self.motions: dict[int, RootMotion] = {}      # of roots, by their links
        self.redundant: list[int] = []  # equations of closures that follow from others
        self._carriers: list[tuple[int, np.ndarray]] = []  # links of these loops, as turned then
        self.places: Any = None  # where named parts are, see `cosserat_ros.assembly.assembly`
        self._past, self._last_step = begin(*np.zeros((3, self.Z))), 0.0
        self._factorised: Rule | None = None  # what the fronts were made for
        self._ny = 0                          # of a tangent that is not factorised yet; or 0
        self._fronts_ny = 0                   # of that which the fronts are made of
        self._postponed: set[int] = set()
        self._roots = np.flatnonzero(tree.links.kind == ROOT)[1:]  # without the world
        turning = [link for link in np.flatnonzero(tree.links.kind == JOINT).tolist()
                   if tree.joints.turns[tree.links.item[link]] == FREELY]
        self._turning = tree.links.item[turning]
        self._turns = tree.links.first[turning] + tree.joints.slides[self._turning]
        self._floating = floating(tree)
        self._sums = no_sums()
        self.scene: Any = None  # what may touch, see `cosserat_ros.assembly.scene`
        self.obstacles: dict[str, Obstacle] = {}  # at present
        self._look_at_contacts()
        self.remembers = tree.laws.memory.size > 0  # whether laws act that remember

    def _look_at_contacts(self) -> None:
        contacts = self.tree.contacts
        self._touches = len(contacts.numbers) > 0
        self._rubs = bool(contacts.friction.any() or contacts.curve[:, 2].any())

    def put_contacts(self, tree: Tree, work: Work, tangent: Tangent, places: Any) -> None:
        """Go on with a tree that is another only in what touches, with room for that."""
        self.tree, self.work, self.tangent = (
            reference(tree), reference(work), reference(tangent))
        self.places, self.fronts = places, reference(plan(self.tree, self._postponed))
        self._look_at_contacts()
        self._factorised, self._ny, self._fronts_ny = None, 0, 0

    def contacts_kept(self) -> Callable[[], None]:
        """Return what takes back all that `put_contacts` changes."""
        kept = self.tree, self.work, self.tangent, self.fronts, self.places

        def take_back() -> None:
            self.tree, self.work, self.tangent, self.fronts, self.places = kept
            self._look_at_contacts()
            self._factorised, self._ny, self._fronts_ny = None, 0, 0
        return take_back

    def _check_types(self) -> None:
        """Raise if arrays have other types than those that kernels were compiled for."""
        mine = tuple(map(type_of, (self.tree, self.work, self.tangent, self.fronts)))
        if AssemblyState._types is None:
            AssemblyState._types = mine
        if mine != AssemblyState._types:
            raise TypeError('arrays of all assemblies must have the same types')

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
        self._last_step, self._factorised = 0.0, None

    def _past_for(self, rule: Rule, dt: float) -> np.ndarray:
        """
        Return the history for a step dt [s] by `rule`, so that it ends at rates that are told.

        Of coordinates whose positions are told, history has no other use: its rows are changed
        there, but for the positions, until the rule's sums are these rates. A rule whose sums
        depend on positions only, as backward Euler's, is left alone.
        """
        if self.lead is None:
            return self._past
        if self._changes[0] is not rule:
            self._changes = rule, _changes(rule, dt)
        if self._changes[1] is None:
            return self._past
        at, z, rate, acceleration = self.lead.told(dt)
        past = self._past.copy()
        sums = np.outer(rule.new[:2], z) + rule.past[:2] @ past[:, at]
        past[:, at] += self._changes[1] @ (np.array([rate, acceleration]) - sums)
        return past

    def saved(self) -> tuple[Any, ...]:
        """Return the present instant, for `restore`."""
        return (self._past, self._last_step, self.time,
                self.tree.joints.reference.copy() if self._turns.size else None,
                self._root_motions() if self._roots.size else None,
                self.tree.laws.memory.copy() if self.remembers else None)

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to an instant that was `saved`."""
        self._past, self._last_step, self.time, reference, roots, memory = saved
        if reference is not None:
            self.tree.joints.reference[:] = reference
        if roots is not None:
            self._put_roots(roots)
        if memory is not None:
            self.tree.laws.memory[:] = memory
        self._factorised = None  # so that what follows does not depend on what was

    def forget(self) -> None:
        """Let laws remember nothing: rods that were never bent, tendons that never slid."""
        self.tree.laws.memory[:] = 0.0

    @property
    def free_turns(self) -> np.ndarray:
        """Places in z of free turns, whose rates are angular velocities."""
        return (self._turns[:, None] + np.arange(3)).ravel()

    def refresh(self) -> Work:
        """Return motion and wrenches of all links at the present instant."""
        self.residual()
        return self.work

    def frame(self, link: int) -> Motion:
        """Return the motion of the end of link l, as of the last `refresh`; copies."""
        return Motion(*(part[link].copy() for part in self.work.end))

    def drive_wrench(self, body: str) -> np.ndarray:
        """
        Return the wrench that moves a driven body as told, or holds it, (6,) [N, N m].

        About the origin of its frame, world frame: against the weight and inertia of the body and
        of all that it carries, and what else acts on it.
        """
        return -self.refresh().wrench[self.places.bodies[body].link]

    def element_loads(self, link: int) -> ElementLoads:
        """Return what acts along the element that link l is, to be written to."""
        e, c = self.tree.elements, int(self.tree.links.item[link])
        m, data = int(e.size[c, 0]), e.loads
        shapes = (m, 3), (m, 3), (m, 6), (3,), (3,)
        return ElementLoads(*(
            data[first:first + int(np.prod(shape))].reshape(shape)
            for first, shape in zip(e.first[c, 10:15].tolist(), shapes)))

    def contacts(self) -> list[Contact]:
        """Return all that touches at the present instant, rods in order of arc length."""
        yields = self.tree.laws.yields
        yields[0] = True  # anchors were moved so that what slid is at its limit, not beyond
        try:
            self.refresh()
        finally:
            yields[0] = False
        touch, places, found = self.work.touch, self.places, []
        for pair in touch.pairs[:int(touch.found[0])]:
            part, s = places.points[int(pair[0])]
            found.append(Contact(
                part, s, self.name_touched(int(pair[1])), pair[3:6].copy(), pair[6:9].copy(),
                pair[9:12].copy(), float(pair[18]), bool(pair[2] != STICKS)))
        return found

    def contact_wrenches(self) -> dict[str, np.ndarray]:
        """
        Return force and moment on each obstacle by all that touches it, (6,) [N, N m].

        World frame, the moment about the origin of the obstacle. Of rods that are touched by rods
        force and moment about the origin of the world.
        """
        contacts = self.contacts()
        wrenches = {name: np.zeros(6) for name in self.obstacles}
        origins = {name: self.scene.origin(self, name) for name in self.obstacles}
        for c in contacts:
            about = origins.get(c.obstacle, np.zeros(3))
            total = wrenches.setdefault(c.obstacle, np.zeros(6))
            total[:3] -= c.force
            total[3:] -= np.cross(c.place - about, c.force)
        return wrenches

    def name_touched(self, k: int) -> str:
        """Return the name of obstacle k; after all of these, of the rods of links."""
        count = self.tree.contacts.link.size
        return self.places.obstacles[k] if k < count else self.names[k - count]

    def commit_contacts(self, z: np.ndarray | None = None, stays: bool = True) -> None:
        """Let what touches remember where it is, by default at the present instant."""
        if not self._touches:
            return
        if z is None:
            self.residual()
        else:
            self.residual(z, *np.zeros((2, self.Z)))
        self._commit(self.tree, self.work, stays)

    def _recentre(self) -> None:
        """Count free turns from their new attitudes."""
        if self._turns.size:
            self._recentre_turns(
                self.tree.joints.reference, self._turning, self._turns, self._past)

    # --- Roots ---

    def _root_motions(self) -> Motion:
        """Return the motion of all roots but the world, copied."""
        return Motion(*(part[self._roots] for part in self.tree.roots))

    def _put_roots(self, motions: Motion) -> None:
        for mine, given in zip(self.tree.roots, motions):
            mine[self._roots] = given

    def _move_roots(self, time: float, dt: float) -> None:
        """Move roots to where they are told to be at a time, a step dt after where they are."""
        roots = self.tree.roots
        for link, motion in self.motions.items():
            moved = motion(Motion(*(part[link].copy() for part in roots)), time, dt)
            for mine, given in zip(roots, moved):
                mine[link] = given

    # --- Equations ---

    def residual(
        self, z: np.ndarray | None = None, z_t: np.ndarray | None = None,
        z_tt: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return what must be zero; of the present instant where nothing is given."""
        r = np.empty(self.Z)
        self._residual(self.tree, *(
            now if given is None else np.ascontiguousarray(given, dtype=float)
            for given, now in zip((z, z_t, z_tt), self._past)), self.work, r)
        return r

    def jacobian(
        self, z: np.ndarray, z_t: np.ndarray, z_tt: np.ndarray, cV: float, cA: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what must be zero, and its derivative as a whole, square."""
        r, K = np.empty(self.Z), np.empty((self.Z + 1, self.Z))
        self._factorised = None
        self._ny = self._linearise(
            self.tree, self.work, self.tangent, self._code(),
            np.array([z, z_t, z_tt], dtype=float), np.array([cV, cA], dtype=float), r, K)
        return r, K[:-1].T

    def solve_columns(self, columns: np.ndarray) -> np.ndarray | None:
        """
        Return the inverse of the tangent of the last `jacobian` times columns (Z, m).

        At a cost in proportion to the size of the assembly. None where the tangent is singular.
        Without a `jacobian` since, the tangent is that of the last iteration of a solve.
        """
        if self._ny:
            while (at := self._factorise(self.tree, self._ny, self.tangent, self.fronts)) >= 0:
                if not self._postpone(at):
                    return None
            self._fronts_ny, self._ny = self._ny, 0
        assert self._fronts_ny, 'there is no tangent yet'
        rows = np.ascontiguousarray(np.asarray(columns, dtype=float).T)
        out, dy = np.empty(rows.shape), np.empty((self.tree.links.kind.size, 18))
        self._solve_rows(self.tree, self._fronts_ny, self.tangent, self.fronts, self._code(), rows,
                         dy, out)
        return out.T if np.isfinite(out).all() else None

    def _postpone(self, link: int) -> bool:
        """Eliminate coordinates that have no stiffness alone at the root; tell if that is new."""
        if self.tree.links.freedom[link] == 0 or self.fronts.deferred[link]:
            return False
        self._postponed.add(link)
        self.fronts = reference(plan(self.tree, self._postponed))
        return True

    def _code(self) -> Procedures:
        """Return the addresses of compiled sweeps, compiled if need be."""
        if AssemblyState._addresses is None:
            tree, work, z, dy = self.tree, self.work, np.zeros(self.Z), np.zeros((1, 18))
            AssemblyState._addresses = Procedures(
                address(residual, tree, z, z, z, work, z),
                address(differentiate, tree, work, z, 0.0, 0.0, 6, self.tangent),
                address(factorise, tree, 6, self.tangent, self.fronts),
                address(solve, tree, 6, self.tangent, self.fronts, z, dy, z),
                address(multiply_tangent, tree, 6, self.tangent, z, z),
                address(renew, tree, work, z, 0.0, 6, self.tangent))
        return AssemblyState._addresses

    # --- Balances ---

    def energy(self) -> Energy:
        """Return kinetic energy, and the potentials of gravity and of all that is elastic [J]."""
        kinetic, gravity = self._sums_over_all().energy
        return Energy(float(kinetic), float(gravity), *elastic_energy(self.tree, self.z))

    def momentum(self) -> np.ndarray:
        """Return linear and angular momentum about the origin, (6,) [N s, N m s]."""
        return self._sums_over_all().momentum.copy()

    def _sums_over_all(self) -> Sums:
        self._sum_masses(self.tree, self.refresh(),
                         np.ones(self.tree.links.kind.size, dtype=np.bool_), np.zeros(3),
                         self._sums)
        return self._sums

    def _sums_of(self, group: Floating) -> Sums:
        """Return the sums over what floats, about its first base, as of the last sweep."""
        self._sum_masses(self.tree, self.work, group.member, self.work.end.p[group.bases[0]],
                         self._sums)
        return self._sums


def _changes(rule: Rule, dt: float) -> np.ndarray | None:
    """Return the least change of history (6, 2) per change of its two sums, if there is any."""
    units = dt ** np.array([1.0, 2.0, 0.0, 1.0, 2.0])  # of all rows but positions, as lengths
    weights = rule.past[:2, 1:] / units * np.array([[dt], [dt * dt]])
    if np.linalg.matrix_rank(weights) < 2:
        return None
    changes = np.linalg.pinv(weights) * np.array([dt, dt * dt]) / units[:, None]
    return np.vstack([np.zeros((1, 2)), changes])
