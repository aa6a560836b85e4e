r"""
An assembly by names: bodies, rods between them, joints; and the tree that it becomes.

A body is ground, driven (its motion is told) or free. A rod grows out of a body, and may end on
another one. A joint moves one body on another. What is reached from the ground by joints and by
rods is a branch of the tree, in minimal coordinates; what is left over closes loops:

- a body on which a joint ends is carried by that joint, the first if there are several;
- a body at the tip of one rod only is carried by the rod;
- a body at the tips of several rods, or that nothing holds, has six coordinates of its own.

Every other joint or tip is a closure: the two frames coincide, in a point (spherical) or wholly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_vector
from ..description.modes import StrainModes
from ..description.obstacles import ContactProperties, Obstacle
from ..description.parts import ContactSpheres, principal_axes
from ..description.rod import Rod
from ..laws.actuators import no_paths, Paths
from ..laws.flow import NUMBERS, Station
from ..numerics.integrators import Scheme, SCHEMES
from ..numerics.lie import inverse_se3
from ..rod.discretisation import (
    Discretisation,
    discretise_elements,
    Element,
    split,
)
from .blocks import Tangent
from .consistency import CLOSED
from .flow import Stations
from .fronts import Fronts
from .joint import FREELY, RIGID
from .joint_kinds import Coordinate, JointKind
from .layout import ElementData, JointShape, no_element_loads, NO_LAWS, RodLaws, TreeBuilder
from .ordering import WORLD
from .scene import Scene
from .solver import AssemblySolver
from .tree import Tree, Work

GROUND = 'ground'
RIGID_WITHIN = 1e-6   # of a pose's rotation, from one
LIMIT_HARDNESS = 1e5  # [N/m, N m/rad] of limits: they decide, and not what is out of balance
FURTHER_STARTS = 0.1, 0.3, 1.0  # strains [-] at random from which loops are tried to be closed


def pose(p: ArrayLike = (0.0, 0.0, 0.0), R: np.ndarray | None = None) -> np.ndarray:
    """Return a pose (4, 4) from position [m] and rotation."""
    g = np.eye(4)
    g[:3, 3] = p
    if R is not None:
        g[:3, :3] = R
    return g


@dataclass(frozen=True)
class RigidBody:
    """
    A rigid body.

    Parameters
    ----------
    mass : float
        [kg]; 0 for none, then there is no inertia either.
    inertia : (3, 3) array
        About the centre of mass, body frame [kg m^2].
    centre_of_mass : (3,) sequence
        Body frame [m].
    pose : (4, 4) array
        At the start, in the world; of no account for a body that is carried by a joint or rod.
    driven : bool
        Whether its motion is told: see `AssemblySolver.tree`'s roots. Its mass then counts in the
        energy, in the momenta, and in `drive_wrench`.
    contact : ContactSpheres, optional
        By which it touches obstacles.
    flow : sequence of Station
        Where a fluid acts on it, see `cosserat_ros.laws.flow`.

    """

    mass: float = 0.0
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    centre_of_mass: Sequence[float] = (0.0, 0.0, 0.0)
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    driven: bool = False
    contact: ContactSpheres | None = None
    flow: Sequence[Station] = ()

    def __post_init__(self) -> None:
        _check_pose('pose', self.pose)
        check_vector('centre_of_mass', np.asarray(self.centre_of_mass), 3, unit='m')
        if not (np.isfinite(self.mass) and self.mass >= 0.0):
            raise InvalidModel('mass', self.mass, 'finite and >= 0 [kg]')
        J = np.asarray(self.inertia, dtype=float)
        if J.shape != (3, 3) or not np.isfinite(J).all() or not np.allclose(J, J.T):
            raise InvalidModel('inertia', self.inertia, 'a symmetric matrix (3, 3) [kg m^2]')
        if np.linalg.eigvalsh(J).min() < -1e-12 * max(np.abs(J).max(), 1e-300):
            raise InvalidModel('inertia', self.inertia, 'without negative principal moments')
        if self.mass == 0.0 and J.any():
            raise InvalidModel('inertia', self.inertia, '0 for a body without mass [kg m^2]')


@dataclass(frozen=True)
class Attachment:
    """Where something is fixed: a body, and a pose (4, 4) in its frame."""

    body: str = GROUND
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        _check_pose('pose', self.pose)


def _check_pose(name: str, value: Any) -> None:
    """Raise if this is no rigid motion (4, 4)."""
    allowed = 'a rotation and a position, as a matrix (4, 4)'
    try:
        g = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidModel(name, value, allowed) from None
    if g.shape != (4, 4) or not np.isfinite(g).all() or not np.allclose(
            g[3], (0.0, 0.0, 0.0, 1.0), atol=RIGID_WITHIN) or not np.allclose(
            g[:3, :3] @ g[:3, :3].T, np.eye(3), atol=RIGID_WITHIN) or np.linalg.det(
            g[:3, :3]) < 0.0:
        raise InvalidModel(name, value, allowed)


@dataclass(frozen=True)
class Joint:
    """A joint from one body to another."""

    kind: JointKind
    parent: Attachment
    child: Attachment


@dataclass(frozen=True)
class RodPart:
    """
    A rod that grows out of a body, with joints at its ends; its tip may be on another body.

    What is discretised already has modes and breaks of its own.
    """

    rod: Rod | Discretisation
    modes: StrainModes = field(default_factory=StrainModes)
    base: Attachment = field(default_factory=Attachment)
    tip: Attachment | None = None
    base_joint: JointKind = field(default_factory=JointKind)
    tip_joint: JointKind = field(default_factory=JointKind)
    paths: Paths | None = None
    breaks: Sequence[float] = ()
    laws: RodLaws = NO_LAWS  # along all of it
    dry_bending: np.ndarray | None = None  # (N, 2) limit and stiffness of bristles at all nodes
    contact: ContactProperties | None = None  # how it touches obstacles; not at all if None
    outline: Callable[[np.ndarray], np.ndarray] | None = None  # as of `Rod`, if discretised
    flow: Callable[[float], np.ndarray] | None = None  # numbers of a fluid per length, by s [m]
    tip_flow: Sequence[Station] = ()  # what a fluid does at its tip

    def elements(self) -> list[Element]:
        """Return its elements."""
        if isinstance(self.rod, Discretisation):
            return split(self.rod)
        return discretise_elements(self.rod, self.modes, self.breaks)

    def radii(self, s: np.ndarray) -> np.ndarray:
        """Return its radius for contact at arc lengths s (N,) [m]."""
        assert self.contact is not None
        if self.contact.radius is not None:
            return np.full(s.size, self.contact.radius)
        outline = self.outline or getattr(self.rod, 'outline', None)
        if outline is None:
            raise InvalidModel('contact.radius', None, 'given where the rod has no outline')
        return 0.5 * outline(s).min(axis=1)

    @property
    def length(self) -> float:
        """Arc length [m]."""
        if isinstance(self.rod, Discretisation):
            return float(self.rod.breaks[-1] - self.rod.breaks[0])
        return self.rod.length


class Frame(NamedTuple):
    """A frame fixed to the end of a link."""

    link: int
    pose: np.ndarray  # (4, 4)


class Places(NamedTuple):
    """Where the named parts are in the tree."""

    bodies: dict[str, Frame]
    rods: dict[str, list[int]]         # links of the elements
    coordinates: dict[str, list[int]]  # places in z, of joints, also 'rod.base' and 'rod.tip'
    efforts: dict[str, slice]          # places in z, of the actuators along rods
    reactions: dict[str, slice]        # places in z, of joints and tips that close a loop
    points: list[tuple[str, float]]    # of contact: part, and arc length or number of the sphere
    obstacles: list[str]


def elements_of(
    elements: Sequence[Element], paths: Paths | None = None, dry: np.ndarray | None = None,
) -> list[ElementData]:
    """Return the elements of a rod with the parts of paths and bristles along each."""
    parts, first = [], 0
    for element in elements:
        m = element.w.size
        at, first = slice(first, first + m), first + m
        along = no_paths(m) if paths is None else Paths(
            paths.r[:, at], paths.r_s[:, at], paths.weight[:, at], paths.flat)
        parts.append(ElementData(
            element, no_element_loads(m), along, np.zeros((0, 2)) if dry is None else dry[at]))
    return parts


class Assembly:
    """
    Bodies, rods and joints by name.

    Parameters
    ----------
    bodies : mapping of str to RigidBody
        Without the ground, which is always there.
    rods : mapping of str to RodPart
    joints : mapping of str to Joint
    gravity : (3,) sequence
        World frame [m/s^2].
    obstacles : mapping of str to Obstacle
        On the ground, or on bodies.

    """

    def __init__(
        self, bodies: Mapping[str, RigidBody] | None = None,
        rods: Mapping[str, RodPart] | None = None, joints: Mapping[str, Joint] | None = None,
        gravity: ArrayLike = (0.0, 0.0, 0.0), obstacles: Mapping[str, Obstacle] | None = None,
    ) -> None:
        self.bodies, self.rods, self.joints = dict(bodies or {}), dict(rods or {}), dict(
            joints or {})
        self.obstacles = dict(obstacles or {})
        check_vector('gravity', np.asarray(gravity), 3, unit='m/s^2')
        self._check()
        self._tree = TreeBuilder(gravity)
        self._names = [GROUND]
        self._start: dict[int, tuple[list[Coordinate], np.ndarray]] = {}
        self.frames: dict[str, Frame] = {GROUND: Frame(WORLD, np.eye(4))}
        self._links: dict[str, list[int]] = {}
        self._coordinate_links: dict[str, list[int]] = {}
        self._closures: dict[str, int] = {}
        self._lengths: dict[int, float] = {}
        self._grown: dict[str, tuple[RodPart, list[Element], list[int]]] = {}
        self._grow()
        self.scene = Scene(self._tree, self._grown, self.bodies, self.frames, GROUND)
        self._touching = self.scene.touching(self.obstacles)
        for points in self._touching.points:
            self._tree.add_points(points)
        for shape in self._touching.shapes:
            self._tree.add_obstacle(shape)
        self._put_flows()

    # --- What is wrong with it ---

    def _check(self) -> None:
        known = [GROUND, *self.bodies]
        if GROUND in self.bodies:
            raise InvalidModel('bodies', GROUND, 'other names than that of the ground')
        for name, part in self.rods.items():
            for field_name, end in (('base', part.base), ('tip', part.tip)):
                if end is not None and end.body not in known:
                    raise UnknownName(f'rods.{name}.{field_name}', end.body, known)
            if part.tip is not None and part.tip.body == part.base.body and np.allclose(
                    part.tip.pose, part.base.pose):
                raise InvalidModel(
                    f'rods.{name}.tip', part.tip.body, 'another body or pose than its base has')
        for name, joint in self.joints.items():
            for field_name, end in (('parent', joint.parent), ('child', joint.child)):
                if end.body not in known:
                    raise UnknownName(f'joints.{name}.{field_name}', end.body, known)
            if joint.parent.body == joint.child.body:
                raise InvalidModel(
                    f'joints.{name}.child', joint.child.body, 'another body than its parent')

    def _is_root(self, body: str) -> bool:
        return body == GROUND or self.bodies[body].driven

    # --- The tree ---

    def _grow(self) -> None:
        """Place all bodies, rods and joints; what meets a body that is placed closes a loop."""
        for name, body in self.bodies.items():
            if body.driven:
                self._place(name, Frame(self._tree.add_root(), np.eye(4)), name)
        joints, rods, carries = dict(self.joints), dict(self.rods), set()
        carried_by_rod = {
            name for name in self.bodies if not self._is_root(name)
            and not any(j.child.body == name for j in self.joints.values())
            and sum(r.tip is not None and r.tip.body == name for r in self.rods.values()) == 1}
        while True:
            joint = next((name for name, j in joints.items() if j.parent.body in self.frames
                          and j.child.body not in self.frames), None)
            rod = next((name for name, r in rods.items() if r.base.body in self.frames), None)
            if joint is not None:
                self._hang(joint, joints.pop(joint))
            elif rod is not None:
                part = rods.pop(rod)
                self._grow_rod(rod, part)
                if part.tip is not None and part.tip.body in carried_by_rod - set(self.frames):
                    self._carry_by_rod(rod, part)
                    carries.add(rod)
            else:
                missing = [name for name in self.bodies if name not in self.frames]
                if not missing:
                    break
                self._float(self._nothing_holds(missing, joints, rods))
        for name, joint_left in joints.items():
            self._close(name, self.frames[joint_left.parent.body], joint_left.parent.pose,
                        joint_left.kind, joint_left.child)
        for name, part in self.rods.items():
            if part.tip is not None and name not in carries:
                self._close(f'{name}.tip', Frame(self._links[name][-1], np.eye(4)), np.eye(4),
                            part.tip_joint, part.tip)

    def _nothing_holds(
        self, missing: list[str], joints: Mapping[str, Joint], rods: Mapping[str, RodPart],
    ) -> str:
        """Return a body that needs coordinates of its own: best one that no other leads to."""
        led = {j.child.body for j in joints.values()} | {
            r.tip.body for r in rods.values() if r.tip is not None}
        return next((name for name in missing if name not in led), missing[0])

    def _place(self, name: str, frame: Frame, link_name: str) -> None:
        self.frames[name] = frame
        self._name(frame.link, link_name)

    def _name(self, link: int, name: str) -> None:
        self._names += [''] * (link + 1 - len(self._names))
        self._names[link] = name

    def _add_joint(
        self, name: str, on: Frame, at: np.ndarray, kind: JointKind,
        start: np.ndarray | None = None,
    ) -> int:
        """Add the links of a joint at a pose of a frame; return the last."""
        g, link = on.pose @ at, on.link
        shapes = kind.shapes or [JointShape(np.zeros((0, 3)), RIGID)]
        coordinates = list(kind.coordinates) or [Coordinate()] * kind.count
        for shape in shapes:
            link = self._tree.add_joint(link, shape, g[:3, :3], g[:3, 3])
            own, coordinates = coordinates[:shape.freedom], coordinates[shape.freedom:]
            self._start[link] = own, np.eye(3) if start is None else start
            if shape.freedom:
                self._coordinate_links.setdefault(name, []).append(link)
            self._name(link, name)
            g = np.eye(4)
        return link

    def _hang(self, name: str, joint: Joint) -> None:
        link = self._add_joint(
            name, self.frames[joint.parent.body], joint.parent.pose, joint.kind)
        self.frames[joint.child.body] = Frame(link, inverse_se3(joint.child.pose))

    def _float(self, name: str) -> None:
        body = self.bodies[name]
        free = JointKind('free', coordinates=[
            Coordinate(position=x) for x in (*body.pose[:3, 3], 0.0, 0.0, 0.0)])
        link = self._add_joint(
            name, self.frames[GROUND], np.eye(4), free, np.array(body.pose[:3, :3]))
        self.frames[name] = Frame(link, np.eye(4))

    def _grow_rod(self, name: str, part: RodPart) -> None:
        on, at = self.frames[part.base.body], part.base.pose
        if part.base_joint.count:
            on, at = Frame(self._add_joint(f'{name}.base', on, at, part.base_joint), np.eye(4)), (
                np.eye(4))
        g = on.pose @ at
        elements = part.elements()
        links = self._tree.add_rod(
            on.link, elements_of(elements, part.paths, part.dry_bending), g[:3, :3], g[:3, 3],
            part.laws)
        self._links[name] = links
        self._grown[name] = part, elements, links
        self._put_flow_along(part, elements, links)
        for link in links:
            self._name(link, name)
            self._lengths[link] = part.length

    def _put_flow_along(
        self, part: RodPart, elements: Sequence[Element], links: Sequence[int],
    ) -> None:
        """Let a fluid act along a rod and on its tip."""
        begin = 0.0
        for element, link in zip(elements, links):
            length = float(element.w.sum())
            if part.flow is not None:
                x, _ = np.polynomial.legendre.leggauss(element.w.size)
                nodes = begin + 0.5 * length * (1.0 + x)
                self._tree.add_flow(Stations(link, nodes=np.array(
                    [part.flow(float(s)) for s in nodes]).reshape(-1, NUMBERS)))
            begin += length
        if part.tip_flow:
            self._tree.add_flow(Stations(links[-1], part.tip_flow))

    def _carry_by_rod(self, name: str, part: RodPart) -> None:
        assert part.tip is not None
        end = Frame(self._links[name][-1], np.eye(4))  # which may have a body of its own
        link = self._add_joint(f'{name}.tip', end, np.eye(4), part.tip_joint)
        self.frames[part.tip.body] = Frame(link, inverse_se3(part.tip.pose))

    def _close(
        self, name: str, on: Frame, at: np.ndarray, kind: JointKind, child: Attachment,
    ) -> None:
        """Let a joint end where it should: on a body that is there already."""
        point = kind.name == 'spherical' and not any(
            c != Coordinate() for c in kind.coordinates)
        g = on.pose @ at
        if point or kind.count == 0:
            a = on.link if np.array_equal(g, np.eye(4)) else self._add_joint(
                name, on, at, JointKind())
        else:
            a = self._add_joint(name, on, at, kind)
        target = self.frames[child.body]
        b = target.link if np.array_equal(target.pose @ child.pose, np.eye(4)) else (
            self._add_joint(name, target, child.pose, JointKind()))
        self._closures[name] = self._tree.add_closure(a, b, 3 if point else 6)

    def _put_flows(self) -> None:
        """Let a fluid act on bodies."""
        for name, body in self.bodies.items():
            frame = self.frames[name]
            if body.flow and not body.driven:
                self._tree.add_flow(Stations(frame.link, [
                    station._replace(pose=frame.pose @ station.pose) for station in body.flow]))

    # --- For the solver ---

    def solver(
        self, scheme: Scheme = SCHEMES['generalised_alpha'], tolerance: float = 1e-12,
    ) -> AssemblySolver:
        """Return a solver, at rest where the parts say."""
        solver = AssemblySolver(*self.parts(), scheme, tolerance)
        self.set_up(solver)
        return solver

    def parts(self) -> tuple[Tree, Work, Tangent, Fronts, list[str], np.ndarray]:
        """Return what an `AssemblySolver` is made of, with arrays of its own."""
        tree, work, tangent, fronts = self._tree.build()
        size = max(self._lengths.values(), default=0.0) or self._extent()
        lengths = np.array([
            self._lengths.get(link, size) for link in range(tree.links.kind.size)])
        names = self._names + [''] * (tree.links.kind.size - len(self._names))
        return tree, work, tangent, fronts, names, lengths

    def set_up(self, solver: AssemblySolver) -> None:
        """Give a solver of these parts its bodies and coordinates, at rest, and look at loops."""
        self._put_bodies(solver.tree)
        z = self._put_coordinates(solver.tree)
        solver.places, solver.scene = self._places(solver.tree), self.scene
        solver.obstacles = dict(self.obstacles)
        solver.set_state(z)
        self._look_at_loops(solver)
        self.scene.look_at_overlaps(solver)

    def _look_at_loops(self, solver: AssemblySolver) -> None:
        """Let go of redundant constraints; refuse loops that cannot be closed."""
        if not self._closures:
            return
        redundant, before = solver.release_redundant(), solver.saved()
        contradicting = solver.contradicting()
        if contradicting:
            raise InvalidModel(
                f'loop through {", ".join(self._names_at(solver, contradicting))}',
                f'{len(contradicting)} positions told or closed',
                'one with fewer of them: it is held more often than it can move')
        gaps = self._gaps_left(solver, FURTHER_STARTS[:0 if redundant else None])
        if gaps.max() >= CLOSED:
            names = self._around(solver, np.flatnonzero(gaps >= CLOSED).tolist())
            raise InvalidModel(
                f'loop through {", ".join(names)}', f'a gap of {gaps.max():.3g} m or rad',
                'one that can be closed' + (
                    ': it is held more often than it can move' if redundant else ''))
        solver.restore(before)

    @staticmethod
    def _gaps_left(solver: AssemblySolver, further: Sequence[float]) -> np.ndarray:
        """Return gaps of closures, (K,), that closing leaves; the least, if it starts nearby."""
        start, rng, found = solver.z.copy(), np.random.default_rng(0), []
        scale = np.where(solver.moves, solver.strain_scale, np.inf)
        for size in (0.0, *further):
            solver.set_state(start + size * rng.normal(size=solver.Z) / scale)
            solver.close()
            found.append(solver.gaps())
            if found[-1].max() < CLOSED:
                break
        return min(found, key=np.max)

    def _around(self, solver: AssemblySolver, closures: Sequence[int]) -> list[str]:
        """Return the names of closures, and then of all joints and rods in their loops."""
        ends, names = solver.tree.closures, list(self._closures)
        links = [link for k in closures for link in sorted(
            set(solver.line(int(ends.a[k]))) ^ set(solver.line(int(ends.b[k]))))]
        return list(dict.fromkeys([names[k] for k in closures] + [
            name for link in links if (name := solver.names[link])]))

    @staticmethod
    def _names_at(solver: AssemblySolver, unknowns: Sequence[int]) -> list[str]:
        """Return the names of joints that have coordinates or reactions among unknowns."""
        places = {name: list(range(at.start, at.stop))
                  for name, at in solver.places.reactions.items()}
        for name, at in solver.places.coordinates.items():
            places[name] = places.get(name, []) + at
        return [name for name, at in places.items() if set(at) & set(unknowns)]

    def _extent(self) -> float:
        """Return about how large an assembly without rods is [m]."""
        sizes = [np.linalg.norm(end.pose[:3, 3]) for j in self.joints.values()
                 for end in (j.parent, j.child)]
        return float(max(sizes, default=0.0)) or 1.0

    def _put_bodies(self, tree: Tree) -> None:
        masses: dict[int, list[tuple[float, np.ndarray, np.ndarray]]] = {}
        for name, body in self.bodies.items():
            frame = self.frames[name]
            if body.driven:
                tree.roots.R[frame.link], tree.roots.p[frame.link] = (
                    body.pose[:3, :3], body.pose[:3, 3])
            R, p = frame.pose[:3, :3], frame.pose[:3, 3]
            masses.setdefault(frame.link, []).append((
                body.mass, R @ np.asarray(body.centre_of_mass, dtype=float) + p,
                R @ np.asarray(body.inertia, dtype=float) @ R.T))
        for link, parts in masses.items():
            mass = sum(m for m, _, _ in parts)
            if mass == 0.0:
                continue
            centre = sum(m * c for m, c, _ in parts) / mass
            J = np.asarray(sum(J + m * ((c - centre) @ (c - centre) * np.eye(3)
                             - np.outer(c - centre, c - centre)) for m, c, J in parts))
            b = tree.bodies
            b.mass[link], b.offset[link] = mass, centre
            b.inertia[link], b.axes[link] = principal_axes(J)

    def _put_coordinates(self, tree: Tree) -> np.ndarray:
        z, c = np.zeros(tree.free.size), tree.coordinates
        for link, (coordinates, R) in self._start.items():
            first, item = int(tree.links.first[link]), int(tree.links.item[link])
            for k, coordinate in enumerate(coordinates):
                at = first + k
                z[at] = c.command[at] = coordinate.position
                c.stiffness[at], c.damping[at] = coordinate.stiffness, coordinate.damping
                c.rest[at], c.push[at] = coordinate.rest, coordinate.effort
                c.driven[at] = coordinate.driven
                c.least[at], c.most[at] = coordinate.least, coordinate.most
                c.hardness[at] = 1.0 if coordinate.driven else LIMIT_HARDNESS
            if tree.joints.turns[item] == FREELY:
                tree.joints.reference[item] = R
        return z

    def _places(self, tree: Tree) -> Places:
        return Places(
            dict(self.frames), dict(self._links),
            {name: [int(tree.links.first[link]) + k for link in links
                    for k in range(int(tree.links.freedom[link]))]
             for name, links in self._coordinate_links.items()},
            {name: slice(first, first + int(tree.elements.size[item, 3]))
             for name, links in self._links.items()
             for item in [int(tree.links.item[links[0]])]
             for first in [tree.effort + int(tree.elements.drive[item])]},
            {name: slice(int(tree.closures.first[k]),
                         int(tree.closures.first[k] + tree.closures.rows[k]))
             for name, k in self._closures.items()},
            self._touching.labels, self._touching.names)
