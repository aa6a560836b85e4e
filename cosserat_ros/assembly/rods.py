"""
Assemblies seen rod by rod: what robots are made of.

Each rod has its own number of modes, nodes, elements and actuators. Arrays have those of all rods,
one rod after another, in the order of the rods; here they are put where the elements of the tree
have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks.errors import InvalidModel
from ..description.parts import principal_axes
from ..laws.actuators import Drives, lengths_and_gradients, no_paths
from ..laws.capstan_friction import ROWS, TOTAL
from ..laws.chords import ChordLengths
from ..numerics.integrators import Scheme, SCHEMES
from ..numerics.kernels import Direct, kernel
from ..numerics.lie import exp_so3
from ..rod.discretisation import Discretisation, in_a_row
from ..rod.kinematics import Base, free_base, kinematics, State
from .assembly import Assembly
from .loads import add_wrench, join, joined, Loads, Mass, moved, no_loads
from .momentum import Energy
from .solver import AssemblySolver
from .tree import ELEMENT

PLATFORM = 'platform'  # name of the body that joins the tips of legs
INERTIA, ELASTIC, VISCOUS = 2, 7, 8  # among the arrays of an element, see `Elements`
LINE_FORCE, LINE_MOMENT, STRESS, SQUARE_DRAG, LINEAR_DRAG = range(10, 15)


class OnBody(NamedTuple):
    """A wrench on a body."""

    body: str
    pose: np.ndarray    # (4, 4) of the frame at whose origin it acts, seen from the body
    wrench: np.ndarray  # (6,) world frame; of a follower, that frame [N, N m]
    follower: bool


class _Places(NamedTuple):
    """Where what N nodes and E elements of all rods have goes, in flat arrays of the tree."""

    inertia: np.ndarray      # (N, 6) int64
    stress: np.ndarray       # (N, 6)
    line_force: np.ndarray   # (N, 3)
    line_moment: np.ndarray  # (N, 3)
    square_drag: np.ndarray  # (E, 3)
    linear_drag: np.ndarray  # (E, 3)
    elastic: np.ndarray      # flat, of the matrices of all elements
    viscous: np.ndarray      # likewise
    links: np.ndarray        # (E,) links of the elements
    rods: np.ndarray         # (E,) whose elements they are
    bases: np.ndarray        # (k,) link of each rod's first element


@kernel
def _put_rods(data, loads, at, elastic, viscous, inertia, stress, further):
    """Write what rods have, and two stresses that act in them, to where elements have it."""
    for a in range(elastic.size):
        data[at.elastic[a]], data[at.viscous[a]] = elastic[a], viscous[a]
    for node in range(inertia.shape[0]):
        for c in range(6):
            data[at.inertia[node, c]] = inertia[node, c]
            loads[at.stress[node, c]] = stress[node, c] + further[node, c]


class RodsSolver(AssemblySolver):
    """
    Rods, what joins them, their loads and drives, and their state in time.

    Parameters
    ----------
    assembly : Assembly
        Whose rods are those that follow, in this order.
    rods : mapping of str to Discretisation
        Divided as in the assembly.
    scheme : Scheme
        Time integration.
    tolerance : float
        Of the error that a step leaves in the coordinates, as strain [-].

    """

    _put_rods = Direct(_put_rods)

    def __init__(
        self, assembly: Assembly, rods: Mapping[str, Discretisation],
        scheme: Scheme = SCHEMES['generalised_alpha'], tolerance: float = 1e-12,
    ) -> None:
        super().__init__(*assembly.parts(), scheme, tolerance)
        assembly.set_up(self)
        self.names_of_rods, self.rods = list(rods), list(rods.values())
        self.paths = [
            assembly.rods[name].paths or no_paths(d.s.size) for name, d in rods.items()]
        self.nodes = in_a_row(d.s.size for d in self.rods)  # of each rod among those of all
        self.actuators = in_a_row(len(a.flat) for a in self.paths)  # likewise
        self._places = self._find_places([np.array(self.places.rods[name]) for name in rods])
        links, bases = self.tree.links, self._places.bases
        self.q_places = [  # (n,) in z, of each rod
            first + np.arange(d.component.size)
            for first, d in zip(links.first[bases].tolist(), self.rods)]
        efforts = [self.places.efforts[name] for name in rods]
        self.effort_places = np.concatenate([  # (m,) in z, of all rods
            np.arange(at.start, at.stop, dtype=np.int64) for at in efforts])
        self.platform_places = np.array(  # (6,) in z, position and turn; or none
            self.places.coordinates.get(PLATFORM, []), dtype=np.int64)
        count = self.nodes[-1].stop
        self.stretch: Callable[[], np.ndarray] = lambda: np.ones(count)  # of fed legs, at nodes
        couplings = self.tree.laws.couplings
        self._couplings = {  # by rods
            int(np.flatnonzero(bases == link)[0]): k
            for k, link in enumerate(couplings.link.tolist())}
        self.chords = {  # of rods that have tendons straight in space
            i: ChordLengths(laws.chords) for i, laws in enumerate(
                assembly.rods[name].laws for name in rods) if laws.chords is not None}
        self._none = RodsSolver.no_loads(self)
        self._unloaded = type(self.tree.bodies)(*(part.copy() for part in self.tree.bodies))
        self._own_stress = np.zeros(self._none.stress.shape)  # of fed legs and of laws
        self._given_stress = self._own_stress                 # of loads
        self._told = self.tree.drives  # rules that were told last
        self._told_places = self.effort_places - self.tree.effort
        self._seen: tuple[np.ndarray | None, list[Base]] = None, []  # bases at an instant
        self._still_bases = [self._start_of(i) for i in range(len(self.rods))] if bool(
            links.fixed[links.parent[bases]].all()
            and not self._roots.size) else None

    def _find_places(self, links_of_rods: Sequence[np.ndarray]) -> _Places:
        a, tree, links = self.tree.elements, self.tree, np.concatenate(links_of_rods)
        if not (tree.links.kind[links] == ELEMENT).all():
            raise InvalidModel('rods', self.names, 'rods of elements')
        items = tree.links.item[links]
        nodes, modes = a.size[items, 0], a.size[items, 1]

        def part(array: int, counts: np.ndarray, width: int) -> np.ndarray:
            return np.concatenate([
                first + np.arange(count * width)
                for first, count in zip(a.first[items, array], counts)]).reshape(-1, width)

        one, block = np.ones_like(nodes), modes ** 2
        return _Places(
            part(INERTIA, nodes, 6), part(STRESS, nodes, 6), part(LINE_FORCE, nodes, 3),
            part(LINE_MOMENT, nodes, 3), part(SQUARE_DRAG, one, 3), part(LINEAR_DRAG, one, 3),
            part(ELASTIC, block, 1).ravel(), part(VISCOUS, block, 1).ravel(), links,
            np.repeat(np.arange(len(links_of_rods)), [len(own) for own in links_of_rods]),
            np.array([own[0] for own in links_of_rods]))

    # --- What acts ---

    def no_loads(self) -> Loads:
        """Return loads that are all zero, of all rods, to be replaced."""
        return join([no_loads(d.s.size, d.W.shape[0]) for d in self.rods])

    def _checked_loads(self, loads: Loads) -> Loads:
        """Return loads of all rods, of the shapes that they must have."""
        return as_expected(loads, self._none)

    def load(self, loads: Loads) -> None:
        """Let loads of all rods act, and carry their bodies; gravity is that of the first."""
        loads = self._checked_loads(loads)
        data, at, b = self.tree.elements.loads, self._places, self.tree.bodies
        data[at.line_force], data[at.line_moment] = loads.line_force, loads.line_moment
        data[at.square_drag] = loads.square_drag[at.rods]
        data[at.linear_drag] = loads.linear_drag[at.rods]
        self.tree.gravity[:] = loads.gravity[0]
        b.force[at.links], b.moment[at.links] = loads.end_force, loads.end_moment
        b.lever[at.links] = loads.end_lever
        b.follower_force[at.links] = loads.follower_force
        b.follower_moment[at.links] = loads.follower_moment
        b.mass[at.links], b.offset[at.links] = loads.bodies.mass, loads.bodies.offset
        b.inertia[at.links], b.axes[at.links] = loads.bodies.inertia, loads.bodies.axes
        self._given_stress = loads.stress
        data[at.stress] = self._given_stress + self._own_stress

    def load_bodies(
        self, wrenches: Sequence[OnBody], carried: Mapping[str, Sequence[Mass]],
    ) -> None:
        """
        Let wrenches act on bodies that are no part of rods, and let these carry further masses.

        Instead of those before. Masses are seen from the frame of the body that carries them.
        """
        b, frames = self.tree.bodies, self.places.bodies
        links = sorted({frame.link for frame in frames.values()})
        for mine, own in zip(b, self._unloaded):
            mine[links] = own[links]
        for body, g, wrench, follower in wrenches:
            frame = frames[body]
            add_wrench([part[frame.link] for part in b[:5]], wrench, frame.pose @ g, follower)
        for body, masses in carried.items():
            link, g = frames[body]
            axes = b.axes[link]
            total = float(b.mass[link]), b.offset[link], axes * b.inertia[link] @ axes.T
            for mass in masses:
                total = joined(total, moved(mass, g))
            b.mass[link], b.offset[link] = total[:2]
            b.inertia[link], b.axes[link] = principal_axes(total[2])

    def take_loads(self, other: RodsSolver) -> None:
        """Let the ends of all links bear and carry what they do in a solver of the same parts."""
        for mine, given in zip(self.tree.bodies, other.tree.bodies):
            mine[:] = given

    def drive(self, drives: Drives) -> None:
        """Tell the actuators of all rods, by rules (m,)."""
        told, at = self._told, self._told_places
        if (drives.kind is not told.kind or drives.scale is not told.scale
                or drives.compliance is not told.compliance):
            for own, given in zip(self.tree.drives, drives):
                own[at] = given
            self._told = drives
        self.tree.drives.command[at] = drives.command

    def change_rods(
        self, elastic: np.ndarray, viscous: np.ndarray, inertia: np.ndarray, stress: np.ndarray,
    ) -> None:
        """
        Take other stiffness and damping, inertia and stress (N, 6) of all rods.

        The first two are flat, of the matrices of all elements; stress is that of the rest shape,
        which is added to that of loads.
        """
        elements = self.tree.elements
        self._put_rods(elements.data, elements.loads, self._places, *map(np.ascontiguousarray, (
            elastic, viscous, inertia, stress, self._given_stress)))
        self._own_stress = stress

    @property
    def drives(self) -> Drives:
        """The rules that close the actuators of all rods, (m,)."""
        return Drives(*(part[self._told_places] for part in self.tree.drives))

    def weight_of(self, inertia: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return what more inertia (N, 6) of rods adds to the static residual at z, (Z,)."""
        data, at = self.tree.elements.data, self._places.inertia
        own, plain = data[at], self.residual_at_rest(z)
        data[at] += inertia
        heavier = self.residual_at_rest(z)
        data[at] = own
        return heavier - plain

    def residual_at_rest(self, z: np.ndarray) -> np.ndarray:
        """Return what must be zero in statics, (Z,)."""
        still = np.zeros(z.size)
        return self.residual(z, still, still)

    # --- What it is ---

    def _start_of(self, i: int) -> Base:
        """Return the motion of a rod's base at the present instant."""
        if self._seen[0] is not self._past or self._roots.size:  # which are told at any time
            start = self.refresh().start
            self._seen = self._past, [
                Base(*(part[link].copy() for part in start)) for link in self._places.bases]
        return self._seen[1][i]

    def base_at(self, i: int, z: np.ndarray, z_t: np.ndarray) -> Base:
        """Return the motion of a rod's base at any z with rates z_t, without accelerations."""
        self.residual(z, z_t, np.zeros(self.Z))
        return Base(*(part[self._places.bases[i]].copy() for part in self.work.start))

    @property
    def bases_stand(self) -> bool:
        """Whether no rod's base ever moves."""
        return self._still_bases is not None

    def base(self, i: int = 0) -> Base:
        """Return the motion of a rod's base at the present instant."""
        return self._start_of(i) if self._still_bases is None else self._still_bases[i]

    def state(self, i: int = 0) -> State:
        """Return the kinematics of a rod at the present instant."""
        return kinematics(self.rods[i], self.base(i), *self._past[:3, self.q_places[i]])

    @property
    def q(self) -> list[np.ndarray]:
        """Amplitudes of the strain modes, (n,) of each rod."""
        z = self.z
        return [z[at] for at in self.q_places]

    @property
    def rates(self) -> list[np.ndarray]:
        """Rates of the strain modes' amplitudes, (n,) of each rod [1/s]."""
        z_t = self.z_t
        return [z_t[at] for at in self.q_places]

    @property
    def efforts(self) -> np.ndarray:
        """Efforts of the actuators of all rods, (m,): tension [N], or minus the pressure [Pa]."""
        return self.z[self.effort_places]

    @property
    def tip_wrenches(self) -> np.ndarray:
        """Force and moment on each rod's tip by what holds it, (k, 6), world frame [N, N m]."""
        wrenches = np.zeros((len(self.rods), 6))
        for wrench, name in zip(wrenches, self.names_of_rods):
            at = self.places.reactions.get(f'{name}.tip', slice(0, 0))
            wrench[:at.stop - at.start] = self.z[at]
        return wrenches

    def lengths(self) -> np.ndarray:
        """Return lengths of tendons and volumes of chambers, (m,) [m, m^3]."""
        return self.refresh().length[self._told_places]

    def length_rates(self) -> np.ndarray:
        """Return their rates, (m,) [m/s, m^3/s]."""
        rates = np.zeros(self.effort_places.size)
        for i, here in enumerate(self.actuators):
            x = self.state(i)
            _, gradients = lengths_and_gradients(self.paths[i], x.xi)
            rates[here] = np.einsum('mnc,nc->m', gradients, x.xi_t)
        for i, chords in self.chords.items():
            straight, (_, gradients) = chords.tendons, chords.at(self.q[i])
            rates[self.actuators[i]][straight] = gradients[straight] @ self.rates[i]
        return rates

    def gradients(self, i: int = 0) -> np.ndarray:
        """Return weighted slopes of an actuator's length with the strain, (m, N, 6)."""
        return lengths_and_gradients(self.paths[i], self.state(i).xi)[1]

    def rubbing(self, i: int, slot: int) -> np.ndarray | None:
        """
        Return what is remembered of the friction of a tendon of rod i, (3, N); or None.

        How far it has slid at each node [m], the dry friction there [N], and what its pressure
        could hold [N].
        """
        t = self._friction_of(i, slot)
        if t is None:
            return None
        at, N = int(self.tree.laws.frictions.memory[t]), self.rods[i].s.size
        return self.tree.laws.memory[at:at + 3 * N].reshape(3, N).copy()

    def tension(self, i: int, slot: int) -> np.ndarray:
        """Return the effort of an actuator at all nodes of rod i, (N,) [N, Pa]."""
        t, N = self._friction_of(i, slot), self.rods[i].s.size
        effort = np.full(N, self.efforts[self.actuators[i]][slot])
        if t is None:
            return effort
        at = ROWS * int(self.tree.laws.frictions.first[t]) + TOTAL * N
        force = self.refresh().rubbing[at:at + N]
        return effort + np.cumsum(force) - 0.5 * force

    def _friction_of(self, i: int, slot: int) -> int | None:
        """Return which friction is that of an actuator of rod i, or None."""
        a = self.tree.laws.frictions
        found = np.flatnonzero((a.rod == self._couplings.get(i, -1)) & (a.actuator == slot))
        return int(found[0]) if found.size else None

    @property
    def platform(self) -> Base:
        """Motion of the platform at the present instant."""
        R = self.platform_attitude(self.tree.joints.reference)
        return free_base(R, *self._past[:3, self.platform_places])

    def platform_attitude(self, attitudes: np.ndarray) -> np.ndarray:
        """Return the one of all joints' attitudes that the platform's turn is counted from."""
        return attitudes[int(self.tree.links.item[self.places.bodies[PLATFORM].link])]

    @property
    def attitude(self) -> np.ndarray:
        """
        Attitudes (J, 3, 3) of all joints that free turns in z are counted from; 1 without any.

        Of the platform: see `platform_attitude`.
        """
        return self.tree.joints.reference.copy() if self._turns.size else np.eye(3)

    def count_turns_from(self, R: np.ndarray) -> None:
        """Count free turns in z from the attitudes R on, see `attitude`."""
        if self._turns.size:
            self.tree.joints.reference[:] = R

    def recentred(self, z: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return z with free turns that are 0, and the attitudes that they are counted from."""
        z, R = z.copy(), R.copy()
        for joint, first in zip(self._turning, self._turns):
            turn = first + np.arange(3)
            R[joint], z[turn] = exp_so3(z[turn]) @ R[joint], 0.0
        return z, R

    def go_to(self, z: np.ndarray, R: np.ndarray | None = None) -> None:
        """Stand still at z, in equilibrium or not; free turns are counted from R."""
        if R is not None:
            self.count_turns_from(R)
        self.set_state(z)

    def energy(self) -> Energy:
        """
        Return the energies of rods, platform and bodies [J].

        That of strains counts rods that are fed by what stands out of the base plate; laws and
        loads are not in it.
        """
        strain, stretch = 0.0, self.stretch()
        for i, d in enumerate(self.rods):
            lam = stretch[self.nodes[i]]
            xi = self.state(i).xi / lam[:, None]
            strain += 0.5 * np.sum((d.w * lam) @ (d.stiffness * (xi - d.rest_strain) ** 2))
        return super().energy()._replace(strain=float(strain))


def as_expected(given: Any, expected: Any) -> Any:
    """Return a named tuple of arrays of the shapes that are expected; raise if they are not."""
    values = []
    for name, value, wanted in zip(expected._fields, given, expected):
        if isinstance(wanted, tuple):
            values.append(as_expected(value, wanted))
            continue
        array = np.asarray(value, dtype=wanted.dtype)
        if array.shape != wanted.shape:
            raise InvalidModel(name, array.shape, f'an array of shape {wanted.shape}')
        values.append(array)
    return type(expected)(*values)
