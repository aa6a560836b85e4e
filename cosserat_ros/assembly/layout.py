"""
Where everything of an assembly is: links, unknowns, and arrays for kernels.

`TreeBuilder` takes links one after another, and `TreeBuilder.build` returns arrays for kernels.
One place owns all offsets: nobody else counts unknowns. In which order these are eliminated:
:mod:`cosserat_ros.assembly.ordering`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..laws.actuators import given_efforts, path_lengths, Paths
from ..laws.capstan_friction import Frictions, ROWS, TendonFriction
from ..laws.chords import chord_size, Chords, couple_chords, pull_chords
from ..laws.plastic_bending import Bristles
from ..numerics.arena import Arena, arena
from ..numerics.kernels import address
from ..numerics.references import reference
from ..rod.discretisation import Element
from .along_rods import rubbing_size
from .blocks import Tangent, Ties
from .channel_rows import tie
from .contact import touch
from .contact_arrays import Contacts, contacts_of, FixedShape, Points, room_to_touch
from .crossings import meet
from .element import balance, ElementLoads, ElementState, Flow, Motion, move, state_size, Touching
from .element_start import Surroundings
from .element_tangent import tangent_size, vary
from .flow import flows_of, room_to_flow, Stations, stream
from .fronts import eliminate, Fronts, substitute
from .joint import Joints, JointStates, no_bodies, RIGID
from .newton import newton_size
from .ordering import plan, WORLD
from .tree import (
    ChordSets,
    Closures,
    Code,
    Coordinates,
    Couplings,
    ELEMENT,
    Elements,
    JOINT,
    Laws,
    Links,
    ROOT,
    Tree,
    Work,
)


class JointShape(NamedTuple):
    """How a joint may move; see `cosserat_ros.assembly.joint`."""

    slides: np.ndarray            # (k, 3) axes of sliding
    turns: int = RIGID
    axis: np.ndarray = np.zeros(3)
    pitch: float = 0.0

    @property
    def freedom(self) -> int:
        """Number of coordinates."""
        return len(self.slides) + self.turns


class ElementData(NamedTuple):
    """One element of a rod, with what acts along it."""

    element: Element
    loads: ElementLoads
    paths: Paths
    dry_bending: np.ndarray  # (m, 2) limit and stiffness of bristles at the nodes; or (0, 2)


class RodLaws(NamedTuple):
    """Laws along a whole rod."""

    frictions: Sequence[TendonFriction] = ()
    chords: Chords | None = None

    @property
    def couple(self) -> bool:
        """Whether there are any."""
        return bool(self.frictions) or self.chords is not None


NO_LAWS = RodLaws()


class _CoupledRod(NamedTuple):
    links: list[int]
    elements: Sequence[ElementData]
    laws: RodLaws


def no_element_loads(nodes: int) -> ElementLoads:
    """Return loads that are all zero."""
    return ElementLoads(np.zeros((nodes, 3)), np.zeros((nodes, 3)), np.zeros((nodes, 6)),
                        np.zeros(3), np.zeros(3))


class _Link(NamedTuple):
    kind: int
    parent: int
    item: int
    freedom: int
    R: np.ndarray
    p: np.ndarray


class TreeBuilder:
    """Takes links, parents before children; link 0 is the world."""

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        self.gravity = np.array(gravity, dtype=float)
        self._links: list[_Link] = []
        self._joints: list[JointShape] = []
        self._elements: list[ElementData] = []
        self._drive: list[int] = []
        self._drives = 0
        self._closures: list[tuple[int, int, int]] = []
        self._coupled: list[_CoupledRod] = []
        self._points: list[Points] = []
        self._obstacles: list[FixedShape] = []
        self._stations: list[Stations] = []
        self.add_root()

    def add_root(self) -> int:
        """Add a frame whose motion is told; return its link."""
        return self._add(_Link(ROOT, -1 if not self._links else WORLD, 0, 0, np.eye(3),
                               np.zeros(3)))

    def add_joint(
        self, parent: int, shape: JointShape, R: np.ndarray | None = None,
        p: np.ndarray | None = None,
    ) -> int:
        """Add a joint that starts at a pose (R, p) of its parent's end; return its link."""
        self._joints.append(shape)
        return self._add(self._at(JOINT, parent, len(self._joints) - 1, shape.freedom, R, p))

    def add_rod(
        self, parent: int, elements: Sequence[ElementData], R: np.ndarray | None = None,
        p: np.ndarray | None = None, laws: RodLaws = NO_LAWS,
    ) -> list[int]:
        """
        Add the elements of a rod one after another; return their links.

        Laws along it couple its elements: it costs what its unknowns cost as one dense matrix.
        """
        links = []
        for data in elements:
            self._elements.append(data)
            self._drive.append(self._drives)
            links.append(self._add(self._at(
                ELEMENT, parent, len(self._elements) - 1, data.element.component.size, R, p)))
            parent, R, p = links[-1], None, None
        self._drives += elements[0].paths.flat.size
        if laws.couple:
            self._coupled.append(_CoupledRod(links, elements, laws))
        return links

    def add_closure(self, a: int, b: int, count: int) -> int:
        """Let the ends of two links coincide: in a point (3), or wholly (6); return its number."""
        self._closures.append((a, b, count))
        return len(self._closures) - 1

    def add_points(self, points: Points) -> None:
        """Let points of an element, or spheres of a body, touch obstacles."""
        self._points.append(points)

    def add_flow(self, stations: Stations) -> None:
        """Let a fluid act on the end of a link, or along an element."""
        self._stations.append(stations)

    def add_obstacle(self, obstacle: FixedShape) -> None:
        """Fix an obstacle to the end of a link that no unknown moves."""
        self._obstacles.append(obstacle)

    def _add(self, link: _Link) -> int:
        self._links.append(link)
        return len(self._links) - 1

    @staticmethod
    def _at(
        kind: int, parent: int, item: int, freedom: int, R: np.ndarray | None,
        p: np.ndarray | None,
    ) -> _Link:
        return _Link(kind, parent, item, freedom,
                     np.eye(3) if R is None else np.array(R, dtype=float),
                     np.zeros(3) if p is None else np.array(p, dtype=float))

    # --- Arrays for kernels ---

    def build(self) -> tuple[Tree, Work, Tangent, Fronts]:
        """Return the assembly as arrays, without code, and room for what is computed of it."""
        L = len(self._links)
        kind, parent, item, count = (
            np.array([getattr(link, name) for link in self._links], dtype=np.int64)
            for name in ('kind', 'parent', 'item', 'freedom'))
        first = np.concatenate([[0], np.cumsum(count)[:-1]])
        effort = int(count.sum())
        fixed = np.zeros(L, dtype=np.bool_)
        for link in range(L):
            fixed[link] = kind[link] == ROOT or (
                kind[link] == JOINT and count[link] == 0 and fixed[parent[link]])
        links = Links(
            kind, parent, item, first, count, fixed,
            np.array([link.R for link in self._links]), np.array([link.p for link in self._links]))
        rows = np.array([c[2] for c in self._closures], dtype=np.int64)
        start = effort + self._drives + np.concatenate([[0], np.cumsum(rows)])
        closures = Closures(
            np.array([c[0] for c in self._closures], dtype=np.int64),
            np.array([c[1] for c in self._closures], dtype=np.int64), rows,
            start[:-1].astype(np.int64))
        Z = int(start[-1])
        shape = self._shape()
        contacts = contacts_of(fixed, shape, self._points, self._obstacles)
        elements = self._flatten(newton_size(Z, L))
        flows = flows_of(L, item, len(self._elements), self._stations)
        laws, rubbing = self._laws(links, effort)
        laws = laws._replace(yields=contacts.yields)
        joints = self._joint_arrays()
        J, m = len(self._joints), self._drives
        tree = Tree(
            links, elements, joints, _no_coordinates(Z), no_bodies(L),
            given_efforts(np.zeros(m)), effort, closures, laws, contacts, flows,
            np.zeros(Z, dtype=np.bool_), _motions(L), self.gravity, Code(*[0] * len(Code._fields)))
        states = JointStates(*np.zeros((5, max(J, 1), 3)), *np.zeros((3, max(J, 1), 6, 3)))
        work = Work(_motions(L), _motions(L), np.zeros((L, 6)), np.zeros((L, 6)), states,
                    np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(Z, dtype=np.bool_),
                    np.zeros(Z), np.zeros(laws.memory.size), np.zeros(ROWS * rubbing),
                    np.zeros(laws.limit.size + rubbing), room_to_touch(contacts, shape),
                    room_to_flow(flows), self._room(elements, contacts))
        return tree, work, self._tangent(tree, work), plan(tree)

    def with_contacts(
        self, tree: Tree, work: Work, points: Sequence[Points], obstacles: Sequence[FixedShape],
    ) -> tuple[Tree, Work, Tangent]:
        """Return what was built with other points and obstacles: all else of it is shared."""
        contacts = contacts_of(tree.links.fixed, self._shape(), points, obstacles)
        tree = tree._replace(contacts=contacts._replace(yields=tree.laws.yields))
        work = work._replace(touch=room_to_touch(contacts, self._shape()),
                             room=self._room(tree.elements, contacts))
        return tree, work, self._tangent(tree, work)

    def _shape(self) -> np.ndarray:
        """Return nodes and modes of the links that are elements, (L, 2)."""
        return np.array([
            self._elements[link.item].element.Phi.shape if link.kind == ELEMENT else (0, 0)
            for link in self._links], dtype=np.int64)

    def _flatten(self, begin: int) -> Elements:
        """Return all elements, with their states in an arena from `begin` on."""
        parts: dict[str, list[np.ndarray]] = {'data': [], 'loads': [], 'whole': []}
        used = dict.fromkeys(parts, 0)
        first: list[list[int]] = []
        size, state = [], [begin]
        for e, loads, paths, dry in self._elements:
            m, n = e.Phi.shape
            M, a = e.turn.shape[0], paths.flat.size
            first.append([])
            for name, arrays in (('data', e[:-1]), ('whole', (e.component,)), ('loads', loads),
                                 ('data', paths[:-1]), ('whole', (paths.flat,))):
                for array in arrays:
                    first[-1].append(used[name])
                    parts[name].append(np.ravel(array))
                    used[name] += array.size
            size.append((m, n, M, a, len(dry)))
            state.append(state[-1] + state_size(m, M, a))
        return Elements(
            np.array(size, dtype=np.int64).reshape(-1, 5),
            np.array(first, dtype=np.int64).reshape(-1, 19),
            np.concatenate([*parts['data'], np.zeros(1)]),
            np.concatenate([*parts['loads'], np.zeros(1)]),
            np.concatenate([np.zeros(0), *parts['whole'], np.zeros(1)]).astype(np.int64),
            np.array(self._drive, dtype=np.int64),
            np.cumsum([0, *(entry[4] for entry in size)], dtype=np.int64)[:-1],
            np.array(state, dtype=np.int64))

    def _room(self, elements: Elements, contacts: Contacts) -> Arena:
        """Return room for the states of all elements, and for what is computed of one or a law."""
        points = int(np.diff(contacts.slot).max())
        scratch = max([self._room_of_laws(), *(
            tangent_size(n, m, M, points) for m, n, M, *_ in elements.size.tolist())])
        return arena(int(elements.state[-1]) + scratch + 64)

    # --- Laws ---

    def _room_of_laws(self) -> int:
        """Return how much room laws along rods need."""
        most = 0
        for _, elements, laws in self._coupled:
            n = sum(e.element.component.size for e in elements)
            nodes = sum(e.element.w.size for e in elements)
            most = max(most, rubbing_size(n, nodes))
            if laws.chords is not None:
                most = max(most, chord_size(laws.chords) + n * (n + elements[0].paths.flat.size))
        return most

    def _laws(self, links: Links, effort: int) -> tuple[Laws, int]:
        """Return all laws, and how many nodes the tendons have that rub."""
        dry = np.concatenate([np.zeros((0, 2)), *(e.dry_bending for e in self._elements)])
        frictions, memory = self._frictions(2 * len(dry))
        straight = np.zeros(self._drives, dtype=np.bool_)
        couplings = self._couplings(links, effort)
        for rod, first in zip(self._coupled, couplings.effort - effort):
            if rod.laws.chords is not None:
                straight[first + rod.laws.chords.tendon] = True
        laws = Laws(
            np.zeros(memory), np.zeros(1, dtype=np.bool_), np.ascontiguousarray(dry[:, 0]),
            np.ascontiguousarray(dry[:, 1]), couplings, frictions, self._chord_sets(), straight)
        return laws, frictions.rest.size

    def _couplings(self, links: Links, effort: int) -> Couplings:
        link = np.array([rod.links[0] for rod in self._coupled], dtype=np.int64)
        size = np.array([links.freedom[rod.links].sum() for rod in self._coupled], dtype=np.int64)
        efforts = np.array(
            [rod.elements[0].paths.flat.size for rod in self._coupled], dtype=np.int64)
        at = np.concatenate([[0], np.cumsum((size + efforts) ** 2)]).astype(np.int64)
        chords = np.array([rod.laws.chords is not None for rod in self._coupled], dtype=bool)
        drive = np.array(self._drive, dtype=np.int64)
        return Couplings(
            link, np.array([len(rod.links) for rod in self._coupled], dtype=np.int64),
            links.first[link], size, effort + drive[links.item[link]], efforts, at[:-1],
            np.where(chords, np.cumsum(chords) - 1, -1).astype(np.int64))

    def _frictions(self, memory: int) -> tuple[Frictions, int]:
        """Return the tendons that rub, and how much is remembered; of them from `memory` on."""
        rows, whole, rest = [], [], [np.zeros(0)]
        nodes = 0
        for rod, (_, elements, laws) in enumerate(self._coupled):
            N = sum(e.element.w.size for e in elements)
            for friction in laws.frictions:
                rows.append((friction.viscous, friction.dry, friction.presliding))
                whole.append((rod, friction.actuator, memory, nodes))
                each = np.concatenate([
                    path_lengths(e.paths, e.element.rest_strain)[friction.actuator]
                    for e in elements])
                rest.append(np.cumsum(each[::-1])[::-1] - 0.5 * each)
                memory, nodes = memory + 3 * N, nodes + N
        numbers = np.ascontiguousarray(np.array(rows, dtype=float).reshape(-1, 3).T)
        at = np.ascontiguousarray(np.array(whole, dtype=np.int64).reshape(-1, 4).T)
        return Frictions(
            at[0], at[1], numbers[0], numbers[1], numbers[2], at[2], at[3],
            np.concatenate(rest)), memory

    def _chord_sets(self) -> ChordSets:
        size: list[tuple[int, ...]] = []
        first: list[list[int]] = []
        parts: dict[str, list[np.ndarray]] = {'data': [np.zeros(0)], 'whole': [np.zeros(0)]}
        used = dict.fromkeys(parts, 0)
        for chords in (rod.laws.chords for rod in self._coupled):
            if chords is None:
                continue
            size.append((*chords.Phi.shape, len(chords.turn), len(chords.at)))
            first.append([])
            for array in chords:
                name = 'data' if array.dtype == float else 'whole'
                first[-1].append(used[name])
                parts[name].append(np.ravel(array))
                used[name] += array.size
        return ChordSets(
            np.array(size, dtype=np.int64).reshape(-1, 4),
            np.array(first, dtype=np.int64).reshape(-1, 13), np.concatenate(parts['data']),
            np.concatenate(parts['whole']).astype(np.int64))

    def _joint_arrays(self) -> Joints:
        J = max(len(self._joints), 1)
        joints = Joints(
            np.zeros(J, dtype=np.int64), np.zeros(J, dtype=np.int64), np.zeros((J, 3, 3)),
            np.zeros((J, 3)), np.zeros(J), np.tile(np.eye(3), (J, 1, 1)))
        for j, shape in enumerate(self._joints):
            joints.slides[j], joints.turns[j] = len(shape.slides), shape.turns
            joints.axes[j, :len(shape.slides)] = shape.slides
            joints.axis[j], joints.pitch[j] = shape.axis, shape.pitch
        return joints

    @staticmethod
    def _tangent(tree: Tree, work: Work) -> Tangent:
        links, elements, L = tree.links, tree.elements, tree.links.kind.size
        at, used = np.zeros((L, 4), dtype=np.int64), 0
        for link, n in enumerate(links.freedom.tolist()):
            actuators = elements.size[links.item[link], 3] if links.kind[link] == ELEMENT else 0
            for k, size in enumerate((
                    (n + 6) * (n + 18), 18 * (n + 18), 6 * 18, int(actuators) * n)):
                at[link, k], used = used, used + size
        m, rods = tree.drives.kind.size, tree.laws.couplings
        squares = elements.size[:, 1] ** 2 * (elements.size[:, 4] > 0)
        bent_at, bent = np.cumsum(squares) - squares, int(squares.sum())
        arm, lever, Om, Om_t, passed = np.zeros((5, L, 3))
        chords, couple = np.zeros((2, int(np.sum((rods.size + rods.efforts) ** 2))))
        channels = work.touch.channels.link.shape[0]
        push, feel, place, place_t, answer = np.zeros((5, channels, tree.free.size))
        ties = Ties(
            np.zeros(1, dtype=np.int64), push, feel, place, place_t, answer,
            np.zeros(channels ** 2), np.zeros(channels), np.zeros(channels, dtype=np.int64),
            np.zeros((L, 18)))
        return Tangent(
            at, np.zeros(used), np.zeros((tree.closures.a.size, 3, 3)),
            np.zeros((tree.free.size, 6)), arm, lever, Om, Om_t, passed, np.zeros(m), np.zeros(m),
            chords, couple, bent_at, np.zeros(bent), np.zeros(tree.free.size, dtype=np.bool_),
            np.zeros(work.regime.size), np.zeros(len(tree.contacts.numbers), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            ties)


def _motions(count: int) -> Motion:
    return Motion(np.tile(np.eye(3), (count, 1, 1)), *np.zeros((5, count, 3)))


def _no_coordinates(Z: int) -> Coordinates:
    none, unlimited = np.zeros((7, Z)), np.full(Z, np.inf)
    return Coordinates(none[0], none[1], none[2], none[3], np.zeros(Z, dtype=np.bool_), none[4],
                       -unlimited, unlimited, np.ones(Z))


_code: Code | None = None


def element_code(tree: Tree, work: Work, tangent: Tangent, fronts: Fronts) -> Code:
    """Return the addresses of the compiled parts of sweeps, compiled if need be."""
    global _code  # noqa: PLW0603 - arrays of all assemblies have the same types
    if _code is None:
        _code = Code(*(address(function, *arguments) for function, arguments in remote_calls(
            tree, work, tangent, fronts)))
    return _code


def remote_calls(
    tree: Tree, work: Work, tangent: Tangent, fronts: Fronts,
) -> list[tuple[Callable, tuple]]:
    """Return the parts of sweeps that `Code` has, with arguments of the types they get."""
    a, A, AA, i = np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1, 1)), np.zeros(1, dtype=np.int64)
    e = Element(a, A, A, A, A, A, A, A, A, i)
    loads, paths = ElementLoads(A, A, A, a, a), Paths(AA, AA, A, i)
    bristles = Bristles(a, a, A, A, a, np.zeros(1, dtype=np.bool_))
    chords = Chords(a, A, A, A, A, A, *[i] * 7)
    y, touching = Motion(A, a, a, a, a, a), Touching(A, A, A, A, AA, AA, AA, AA)
    flow, room = Flow(A, AA), reference(work.room)
    x = ElementState(*[A] * len(ElementState._fields))._replace(Rc=AA, length=a, gradient=AA)
    calls: list[tuple[Callable, tuple]] = [
        (move, (e, paths, y, y, a, a, a, x)),
        (balance, (e, loads, bristles, touching, flow, a, a, a, x, a, a, room)),
        (pull_chords, (chords, a, a, a, a, room)),
        (couple_chords, (chords, a, a, a, A, A, room)),
        (vary, (e, loads, paths, touching, flow, Surroundings(a, y, a, a), x, 0.0, 0.0, True, True,
                A, A, room)),
        (touch, (tree, work)),
        (stream, (tree, work)),
        (meet, (tree, work)),
        (tie, (tree, work, 6, tangent)),
        (eliminate, (tree, 6, tangent, fronts)),
        (substitute, (tree, 6, tangent, fronts, a, A, a)),
    ]
    return [(function, tuple(
        reference(given) if isinstance(given, tuple) else given for given in arguments))
        for function, arguments in calls]
