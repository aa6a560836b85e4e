"""
Assemblies seen rod by rod: what robots are made of.

Loads and rules of actuators come as stacked arrays, one row for each rod; here they are put where
the elements of the tree have them. All rods have as many modes, nodes, elements and actuators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..checks.errors import InvalidModel
from ..laws.actuators import Drives, lengths_and_gradients, no_paths
from ..laws.capstan_friction import ROWS, TOTAL
from ..laws.chords import ChordLengths
from ..numerics.integrators import Scheme, SCHEMES
from ..numerics.kernels import Direct, kernel
from ..numerics.lie import exp_so3
from ..rod.discretisation import Discretisation
from ..rod.kinematics import Base, free_base, kinematics, State
from .assembly import Assembly
from .loads import Loads, no_loads, stack
from .momentum import Energy
from .solver import AssemblySolver
from .tree import ELEMENT

PLATFORM = 'platform'  # name of the body that joins the tips of legs
INERTIA, ELASTIC, VISCOUS = 2, 7, 8  # among the arrays of an element, see `Elements`
LINE_FORCE, LINE_MOMENT, STRESS, SQUARE_DRAG, LINEAR_DRAG = range(10, 15)


class _Places(NamedTuple):
    """Where the entries of stacked arrays go, in flat arrays of all elements."""

    inertia: np.ndarray      # (k, N, 6) int64
    stress: np.ndarray       # (k, N, 6)
    line_force: np.ndarray   # (k, N, 3)
    line_moment: np.ndarray  # (k, N, 3)
    square_drag: np.ndarray  # (k, E, 3)
    linear_drag: np.ndarray  # (k, E, 3)
    elastic: np.ndarray      # (k, E, n / E, n / E) of the blocks on the diagonal
    viscous: np.ndarray      # (k, E, n / E, n / E)
    links: np.ndarray        # (k, E) links of the elements


@kernel
def _put_rods(data, loads, at, elastic, viscous, inertia, stress, further):
    """Write what rods have, and two stresses that act in them, to where elements have it."""
    k, E, block = at.elastic.shape[:3]
    for i in range(k):
        for e in range(E):
            first = e * block
            for a in range(block):
                for b in range(block):
                    data[at.elastic[i, e, a, b]] = elastic[i, first + a, first + b]
                    data[at.viscous[i, e, a, b]] = viscous[i, first + a, first + b]
        for node in range(inertia.shape[1]):
            for c in range(6):
                data[at.inertia[i, node, c]] = inertia[i, node, c]
                loads[at.stress[i, node, c]] = stress[i, node, c] + further[i, node, c]


class RodsSolver(AssemblySolver):
    """
    Rods, what joins them, their loads and drives, and their state in time.

    Parameters
    ----------
    assembly : Assembly
        Whose rods are those that follow, in this order.
    rods : mapping of str to Discretisation
        As many modes, nodes and elements each, as in the assembly.
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
        self.n = self.rods[0].component.size
        links = np.array([self.places.rods[name] for name in rods])
        self._places = self._find_places(links)
        first = self.tree.links.first[links[:, 0]]
        self.q_places = first[:, None] + np.arange(self.n)  # (k, n) in z
        efforts = [self.places.efforts[name] for name in rods]
        self.effort_places = np.array(  # (k, m) in z
            [np.arange(at.start, at.stop) for at in efforts], dtype=np.int64)
        self.platform_places = np.array(  # (6,) in z, position and turn; or none
            self.places.coordinates.get(PLATFORM, []), dtype=np.int64)
        shape = len(self.rods), self.rods[0].s.size
        self.stretch: Callable[[], np.ndarray] = lambda: np.ones(shape)  # of fed legs, at nodes
        couplings = self.tree.laws.couplings
        self._couplings = {  # by rods
            int(np.flatnonzero(links[:, 0] == link)[0]): k
            for k, link in enumerate(couplings.link.tolist())}
        self.chords = {  # of rods that have tendons straight in space
            i: ChordLengths(laws.chords) for i, laws in enumerate(
                assembly.rods[name].laws for name in rods) if laws.chords is not None}
        self._none = RodsSolver.no_loads(self)
        self._own_stress = np.zeros(self._none.stress.shape)  # of fed legs and of laws
        self._given_stress = self._own_stress                 # of loads
        self._told = self.tree.drives  # rules that were told last
        self._seen: tuple[np.ndarray | None, list[Base]] = None, []  # bases at an instant
        self._still_bases = [self._start_of(i) for i in range(len(self.rods))] if bool(
            self.tree.links.fixed[self.tree.links.parent[links[:, 0]]].all()
            and not self._roots.size) else None

    def _find_places(self, links: np.ndarray) -> _Places:
        a, tree = self.tree.elements, self.tree
        if not (tree.links.kind[links] == ELEMENT).all():
            raise InvalidModel('rods', self.names, 'rods of elements')
        items = tree.links.item[links]
        m, n = (int(v) for v in a.size[items[0, 0], :2])

        def part(array: int, *shape: int) -> np.ndarray:
            inside = np.arange(int(np.prod(shape))).reshape(shape)
            return a.first[items, array].reshape(*items.shape, *[1] * len(shape)) + inside

        def nodes(array: int, width: int) -> np.ndarray:
            return part(array, m, width).reshape(len(links), -1, width)

        return _Places(
            nodes(INERTIA, 6), nodes(STRESS, 6), nodes(LINE_FORCE, 3), nodes(LINE_MOMENT, 3),
            part(SQUARE_DRAG, 3), part(LINEAR_DRAG, 3), part(ELASTIC, n, n), part(VISCOUS, n, n),
            links)

    # --- What acts ---

    def no_loads(self) -> Loads:
        """Return loads that are all zero, stacked, to be replaced."""
        return stack([no_loads(d.s.size, d.W.shape[0]) for d in self.rods])

    def _stacked_loads(self, loads: Loads) -> Loads:
        """Return loads for all rods, of the shapes that they must have."""
        return as_expected(loads, self._none)

    def load(self, loads: Loads) -> None:
        """Let stacked loads act, from now on, and carry their bodies; gravity is that of all."""
        loads = self._stacked_loads(loads)
        data, at, b = self.tree.elements.loads, self._places, self.tree.bodies
        data[at.line_force], data[at.line_moment] = loads.line_force, loads.line_moment
        data[at.square_drag] = loads.square_drag[:, None]
        data[at.linear_drag] = loads.linear_drag[:, None]
        self.tree.gravity[:] = loads.gravity[0]
        b.force[at.links], b.moment[at.links] = loads.end_force, loads.end_moment
        b.follower_force[at.links] = loads.follower_force
        b.follower_moment[at.links] = loads.follower_moment
        b.mass[at.links], b.offset[at.links] = loads.bodies.mass, loads.bodies.offset
        b.inertia[at.links], b.axes[at.links] = loads.bodies.inertia, loads.bodies.axes
        self._given_stress = loads.stress
        data[at.stress] = self._given_stress + self._own_stress

    def load_platform(self, wrench: np.ndarray) -> None:
        """Let force and moment (6,) act at the platform's centre of mass, world frame."""
        link = self.places.bodies[PLATFORM].link
        self.tree.bodies.force[link], self.tree.bodies.moment[link] = wrench[:3], wrench[3:]

    def drive(self, drives: Drives) -> None:
        """Tell the actuators, by stacked rules (k, m)."""
        mine = self.tree.drives
        mine.command[:] = drives.command.ravel()
        told = self._told
        if (drives.kind is not told.kind or drives.scale is not told.scale
                or drives.compliance is not told.compliance):
            for own, given in zip(mine, drives):
                own[:] = given.ravel()
        self._told = drives

    def change_rods(
        self, elastic: np.ndarray, viscous: np.ndarray, inertia: np.ndarray, stress: np.ndarray,
    ) -> None:
        """
        Take other stiffness and damping (k, n, n), inertia and stress (k, N, 6) of the rods.

        Of the rest shape: it is added to that of loads. Matrices couple nothing but the
        coordinates of each element.
        """
        elements = self.tree.elements
        self._put_rods(elements.data, elements.loads, self._places, *map(np.ascontiguousarray, (
            elastic, viscous, inertia, stress, self._given_stress)))
        self._own_stress = stress

    @property
    def drives(self) -> Drives:
        """The rules that close the actuators, stacked (k, m); not copies."""
        return Drives(*(part.reshape(self.effort_places.shape) for part in self.tree.drives))

    def weight_of(self, inertia: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return what more inertia (k, N, 6) of rods adds to the static residual at z, (Z,)."""
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
                Base(*(part[link].copy() for part in start)) for link in self._places.links[:, 0]]
        return self._seen[1][i]

    def base_at(self, i: int, z: np.ndarray, z_t: np.ndarray) -> Base:
        """Return the motion of a rod's base at any z with rates z_t, without accelerations."""
        self.residual(z, z_t, np.zeros(self.Z))
        return Base(*(part[self._places.links[i, 0]].copy() for part in self.work.start))

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
    def q(self) -> np.ndarray:
        """Amplitudes of the strain modes, (k, n)."""
        return self.z[self.q_places]

    @property
    def rates(self) -> np.ndarray:
        """Rates of the strain modes' amplitudes, (k, n) [1/s]."""
        return self.z_t[self.q_places]

    @property
    def efforts(self) -> np.ndarray:
        """Efforts of the actuators, (k, m): tension [N], or minus the pressure [Pa]."""
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
        """Return lengths of tendons and volumes of chambers, (k, m) [m, m^3]."""
        return self.refresh().length[self.effort_places - self.tree.effort]

    def length_rates(self) -> np.ndarray:
        """Return their rates, (k, m) [m/s, m^3/s]."""
        rates = np.zeros(self.effort_places.shape)
        for i, x in enumerate(map(self.state, range(len(self.rods)))):
            _, gradients = lengths_and_gradients(self.paths[i], x.xi)
            rates[i] = np.einsum('mnc,nc->m', gradients, x.xi_t)
        for i, chords in self.chords.items():
            straight, (_, gradients) = chords.tendons, chords.at(self.q[i])
            rates[i, straight] = gradients[straight] @ self.rates[i]
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
        effort = np.full(N, self.efforts[i, slot])
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
        return free_base(self._attitude(), *self._past[:3, self.platform_places])

    def _attitude(self) -> np.ndarray:
        """Return the attitude (3, 3) that the platform's turn is counted from; not a copy."""
        link = self.places.bodies[PLATFORM].link
        return self.tree.joints.reference[int(self.tree.links.item[link])]

    @property
    def attitude(self) -> np.ndarray:
        """
        Attitude (3, 3) that the platform's turn in z is counted from.

        Without a platform, those of all joints (J, 3, 3) if some turn freely; else 1.
        """
        if self.platform_places.size:
            return self._attitude().copy()
        return self.tree.joints.reference.copy() if self._turns.size else np.eye(3)

    def count_turns_from(self, R: np.ndarray) -> None:
        """Count free turns in z from the attitude R on, see `attitude`."""
        if self.platform_places.size:
            self._attitude()[:] = R
        elif self._turns.size:
            self.tree.joints.reference[:] = R

    def recentred(self, z: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return z with free turns that are 0, and the attitude that they are counted from."""
        z, R = z.copy(), R.copy()
        if self.platform_places.size:
            turn = self.platform_places[3:]
            R, z[turn] = exp_so3(z[turn]) @ R, 0.0
        else:
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
            lam = stretch[i][:, None]
            xi = self.state(i).xi
            strain += 0.5 * np.sum(
                (d.w * stretch[i]) @ (d.stiffness * (xi / lam - d.rest_strain) ** 2))
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
