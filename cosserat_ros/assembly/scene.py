"""
What may touch in an assembly, made anew when its obstacles change: points of rods, and shapes.

Which points rods have depends on how thin obstacles are; there are none where there is nothing to
touch. So the present obstacles alone, and not those of before, tell what a solver has. When
they change, time, motion and what laws remember stay, and so do the anchors of friction on
obstacles that are the same but for their pose.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

import numpy as np

from ..checks.errors import InvalidModel, UnknownName
from ..description.obstacles import (
    BaseGeometry,
    ContactProperties,
    HeightField,
    Mesh,
    Obstacle,
    simple_parts,
    thinnest,
    Triangles,
)
from ..laws.obstacles import TUBE
from ..laws.shapes import radius_near, shape_of
from ..rod.discretisation import Element, integration_polynomials, integration_to
from .contact_arrays import Curve, FixedShape, Points, RADIUS

if TYPE_CHECKING:
    from .assembly import Frame, RigidBody, RodPart
    from .layout import TreeBuilder
    from .solver import AssemblySolver

LEAST_POINTS = 4  # of contact on an element, if their spacing is not stated
SLIVER = 1e-9     # of an element, too short to touch
FLUSH = 1e-6      # of a rod's radius, by which a wall at its base does not touch


def points_of(
    part: RodPart, elements: Sequence[Element], links: Sequence[int], rod: int = 0,
    thinness: float | None = None,
) -> tuple[list[Points], list[np.ndarray]]:
    """
    Return the points at which a rod's elements touch obstacles, and their arc lengths [m].

    And the pieces by which they touch rods, if they do.

    Parameters
    ----------
    part, elements, links
        Of the rod.
    rod : int
        Its number among those that touch rods.
    thinness : float, optional
        That of obstacles; there are none if left out [m].

    """
    a, start, points, places = part.contact, 0.0, [], []
    assert a is not None
    a.check_range(part.length)
    for element, link in zip(elements, links):
        length = float(element.w.sum())
        for thin, pieces in ((thinness, False), (np.inf if a.rods else None, True)):
            if thin is None:
                continue
            s, extent = _divided(part, a, start, length, thin, link == links[-1])
            if not s.size:
                continue
            numbers = np.column_stack([
                part.radii(np.minimum(start + s, part.length)), np.full(s.size, a.line_stiffness),
                np.full(s.size, a.damping), np.full(s.size, a.grip), extent, s])
            points.append(Points(link, False, np.zeros((s.size, 0)), numbers, Curve(
                rod, start, length, a.friction, integration_polynomials(element))) if (
                pieces) else Points(link, False, integration_to(element, s), numbers))
            places.append(start + s)
        start += length
    return points, places


def _divided(
    part: RodPart, a: ContactProperties, start: float, length: float, thinness: float, last: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the points of an element are on it, and how long what each stands for [m]."""
    ends_at = part.length if a.ends_at is None else a.ends_at
    low, high = max(a.starts_at - start, 0.0), min(ends_at - start, length)
    touching = high - low > SLIVER * length
    count = _count_points(part, a, start, length, high - low, thinness) if touching else 0
    ends = np.linspace(low, high, count + 1) if count else np.zeros(1)
    if count and start == a.starts_at == 0.0 and not a.spacing:
        # The first diameter touches in its middle: a base may be flush with a wall.
        flush = 2.0 * (1.0 + FLUSH) * float(part.radii(np.zeros(1))[0])
        ends = np.concatenate([[0.0, min(flush, high)], ends[ends > flush]])
    extent = np.diff(ends)
    s = 0.5 * (ends[:-1] + ends[1:])
    if last and ends_at >= part.length * (1.0 - 1e-9):  # the tip, half a ball
        s = np.append(s, length)
        extent = np.append(extent, part.radii(np.array([part.length])))
    return s, extent


def _count_points(
    part: RodPart, a: ContactProperties, start: float, length: float, touching: float,
    thinness: float,
) -> int:
    """Return how many points a part of an element has that is as long as `touching`."""
    radius = float(part.radii(start + length * np.array([0.0, 0.5, 1.0])).min())
    count = int(np.ceil(touching / a.spacing_on(part.length, radius, thinness) - 1e-9))
    least = 1 if a.spacing else int(np.ceil(LEAST_POINTS * touching / length))
    return max(count, least)


@dataclass(frozen=True)
class Touching:
    """What may touch, for `TreeBuilder`, with names for what kernels count."""

    points: list[Points]
    shapes: list[FixedShape]
    labels: list[tuple[str, float]]  # of points: part, and arc length or number of the sphere
    names: list[str]                 # of the obstacles that shapes belong to


class Scene:
    """
    What may touch in an assembly.

    Parameters
    ----------
    builder : TreeBuilder
    rods : mapping of str to (RodPart, list of Element, list of int)
        With the links of their elements, in the order in which they grew.
    bodies : mapping of str to RigidBody
    frames : mapping of str to Frame
        Of all bodies, with the ground's.
    ground : str
        Its name.

    """

    def __init__(
        self, builder: TreeBuilder, rods: Mapping[str, tuple[RodPart, list[Element], list[int]]],
        bodies: Mapping[str, RigidBody], frames: Mapping[str, Frame], ground: str,
    ) -> None:
        self._builder, self._rods, self._bodies = builder, rods, bodies
        self._frames, self._ground = frames, ground

    def touching(self, obstacles: Mapping[str, Obstacle]) -> Touching:
        """Return what touches these obstacles, and rods; raise if one is wrong."""
        found = [*self._along_rods(obstacles), *(self._on_bodies() if obstacles else [])]
        shapes, names = [], []
        for name, obstacle in obstacles.items():
            link = self.frame(name, obstacle).link
            for pose, (geometry, _) in zip(
                    self.poses(name, obstacle), simple_parts(obstacle.geometry)):
                _check_margin(name, geometry, link, found)
                try:
                    shape = shape_of(geometry)
                except InvalidModel as error:
                    raise error.within(f'obstacles.{name}.geometry') from None
                shapes.append(FixedShape(
                    link, pose, shape, obstacle.friction,
                    obstacle.stiffness or np.inf))
                names.append(name)
        found.sort(key=lambda one: one[0].order)  # as `contacts_of` has them
        return Touching([points for points, _ in found], shapes,
                        [label for _, labels in found for label in labels], names)

    def _along_rods(
        self, obstacles: Mapping[str, Obstacle],
    ) -> list[tuple[Points, list[tuple[str, float]]]]:
        found, thin = [], thinnest(obstacles.values()) if obstacles else None
        for number, (name, (part, elements, links)) in enumerate(self._rods.items(), 1):
            if part.contact is None or not (obstacles or part.contact.rods):
                continue
            try:
                points, places = points_of(part, elements, links, number, thin)
            except InvalidModel as error:
                raise error.within(f'rods.{name}.contact') from None
            found += [(p, [(name, float(x)) for x in s]) for p, s in zip(points, places)]
        return found

    def _on_bodies(self) -> list[tuple[Points, list[tuple[str, float]]]]:
        found = []
        for name, body in self._bodies.items():
            a, frame = body.contact, self._frames[name]
            if a is None:
                continue
            where = np.array(a.points) @ frame.pose[:3, :3].T + frame.pose[:3, 3]
            numbers = a.radius, a.ball_stiffness / a.radius, a.damping, a.grip, a.radius, 0.0
            found.append((
                Points(frame.link, True, where, np.tile(numbers, (len(where), 1))),
                [(name, float(i)) for i in range(len(where))]))
        return found

    def frame(self, name: str, obstacle: Obstacle) -> Frame:
        """Return the frame that an obstacle is fixed to, or raise."""
        body = obstacle.body or self._ground
        if body not in self._frames:
            raise UnknownName(f'obstacles.{name}.body', body, list(self._frames))
        return self._frames[body]

    def poses(self, name: str, obstacle: Obstacle) -> list[np.ndarray]:
        """Return the poses (4, 4) of an obstacle's shapes at the end of the link that bears it."""
        g = self.frame(name, obstacle).pose @ obstacle.pose.matrix()
        return [g @ pose.matrix() for _, pose in simple_parts(obstacle.geometry)]

    def origin(self, solver: AssemblySolver, name: str) -> np.ndarray:
        """Return where the origin of an obstacle is, as of the last sweep, (3,) [m]."""
        obstacle, end = solver.obstacles[name], solver.work.end
        frame = self.frame(name, obstacle)
        return end.R[frame.link] @ (
            frame.pose @ obstacle.pose.matrix())[:3, 3] + end.p[frame.link]

    # --- Changes ---

    def change(
        self, solver: AssemblySolver, obstacles: Mapping[str, Obstacle], check: bool,
    ) -> bool:
        """
        Let there be these obstacles for a solver; tell whether it touches some that are new.

        Those that are new or moved may not have the centre of a rod or ball within them; if one
        does, or is otherwise wrong, this raises and nothing is changed. Without the `check`, a
        state must follow that does without it.
        """
        before = solver.obstacles
        changed = [name for name, obstacle in obstacles.items()
                   if before.get(name) is not obstacle]
        if list(before) == list(obstacles) and all(
                _alike(before[name], obstacle) for name, obstacle in obstacles.items()):
            def undo() -> None:
                self._move(solver, before)
            self._move(solver, obstacles)
        else:
            touching, undo = self.touching(obstacles), solver.contacts_kept()
            old = solver.places, solver.tree.contacts
            solver.put_contacts(
                *self._builder.with_contacts(
                    solver.tree, solver.work, touching.points, touching.shapes),
                solver.places._replace(points=touching.labels, obstacles=touching.names))
            self._carry_anchors(solver, before, obstacles, *old)
        solver.obstacles = dict(obstacles)
        if not check:
            return False
        try:
            return self.look_at_overlaps(solver, changed)
        except InvalidModel:
            undo()
            solver.obstacles = before
            raise

    def _move(self, solver: AssemblySolver, obstacles: Mapping[str, Obstacle]) -> None:
        """Put obstacles at other poses."""
        contacts = solver.tree.contacts
        poses = np.array([g for item in obstacles.items() for g in self.poses(*item)])
        if len(poses):
            contacts.R[:], contacts.p[:] = poses[:, :3, :3], poses[:, :3, 3]
            solver.work.touch.listed[0] = False

    def _carry_anchors(
        self, solver: AssemblySolver, before: Mapping[str, Obstacle],
        obstacles: Mapping[str, Obstacle], places: Any, old: Any,
    ) -> None:
        """Let friction hold where it held on obstacles that are the same but for their pose."""
        if not solver.holds_anchors:
            return
        solver.commit_contacts(stays=False)
        now, mine = solver.tree.contacts, solver.tree.contacts.memory
        before_pieces, pieces = int(old.piece_first[0]), int(now.piece_first[0])
        of = _nearest(places.points[:before_pieces], int(old.body_first[0]),
                      solver.places.points[:pieces], int(now.body_first[0]))
        of += [c + before_pieces for c in range(len(places.points) - before_pieces)]
        same = {name for name in before if name in obstacles and _alike(
            before[name], obstacles[name])}
        new_number = np.full(old.link.size, -1)
        for name in same:
            new_number[[k for k, other in enumerate(places.obstacles) if other == name]] = [
                k for k, other in enumerate(solver.places.obstacles) if other == name]
        for c, c_old in enumerate(of):
            kept = 0
            for slot in old.memory.slots[c_old] if c_old >= 0 else ():
                k = int(slot[0]) - 1
                unmoved = places.points[c_old] == solver.places.points[c]
                if 0 <= k < old.link.size and new_number[k] >= 0:
                    number = int(new_number[k])
                    R = mine.R[now.link[number]] @ now.R[number]
                    shift = R.T @ (mine.seen[c] - old.memory.seen[c_old])
                elif k >= old.link.size and unmoved:  # a rod
                    number, shift = k - old.link.size + now.link.size, np.zeros(3)
                else:
                    continue
                mine.slots[c, kept] = slot
                mine.slots[c, kept, 0] = number + 1.0
                mine.slots[c, kept, 1:4] += shift
                kept += 1

    # --- Who is where it cannot be ---

    def look_at_overlaps(
        self, solver: AssemblySolver, names: Collection[str] | None = None,
    ) -> bool:
        """
        Refuse rods and bodies whose centres are within an obstacle, or that fill a tube.

        Of these obstacles, or of all and of rods. Returns whether one of them is touched.
        """
        solver.refresh()
        touch, found = solver.work.touch, False
        numbers, count = solver.tree.contacts.numbers, solver.tree.contacts.link.size
        for pair in touch.pairs[:int(touch.found[0])]:
            point, k = int(pair[0]), int(pair[1])
            if names is not None and (k >= count or solver.places.obstacles[k] not in names):
                continue
            found = True
            if k < count and solver.tree.contacts.shapes.kind[k] == TUBE:
                self._look_at_tube(solver, pair)
            if -pair[18] > numbers[point, RADIUS]:
                part, s = solver.places.points[point]
                raise InvalidModel(
                    f'contact of {part} at {s:.3g}',
                    f'{-pair[18]:.3g} m deep in {solver.name_touched(k)}',
                    'a place where no rod or body has its centre '
                    + ('at the start' if names is None else 'now'))
        return found

    def _look_at_tube(self, solver: AssemblySolver, pair: np.ndarray) -> None:
        """Refuse a tube that is narrower than what touches it from within."""
        point, k, touch = int(pair[0]), int(pair[1]), solver.work.touch
        name = solver.name_touched(k)
        radius = float(solver.tree.contacts.numbers[point, RADIUS])
        x = pair[3:6] + (pair[18] + radius) * pair[6:9]
        number = k - solver.places.obstacles.index(name)
        geometry, _ = simple_parts(solver.obstacles[name].geometry)[number]
        width = radius_near(shape_of(geometry), touch.R[k].T @ (x - touch.p[k]))
        if width < radius:
            part, s = solver.places.points[point]
            raise InvalidModel(
                f'obstacles.{name}.geometry.radii', width,
                f'at least {radius:g} [m] where {part} at {s:.3g} is within it, its radius there')


def _check_margin(
    name: str, geometry: BaseGeometry, link: int,
    found: Sequence[tuple[Points, list[tuple[str, float]]]],
) -> None:
    """Raise if something is wider than what is known of the distance around a grid."""
    if not isinstance(geometry, Mesh | Triangles | HeightField):
        return
    for points, labels in found:
        widest = float(points.numbers[:, RADIUS].max())
        if widest > geometry.margin and not (points.body and points.link == link):
            raise InvalidModel(
                f'obstacles.{name}.geometry.margin', geometry.margin,
                f'at least {widest:g} [m], the radius of {labels[0][0]}, which may touch it')


def _alike(a: Obstacle, b: Obstacle) -> bool:
    """Tell whether two obstacles are the same but for their pose."""
    return a is b or (
        (a.geometry is b.geometry or a.geometry == b.geometry)
        and (a.body, a.friction, a.stiffness) == (b.body, b.friction, b.stiffness))


def _nearest(
    old: Sequence[tuple[str, float]], old_bodies: int, new: Sequence[tuple[str, float]],
    new_bodies: int,
) -> list[int]:
    """Return the old point that is nearest to each new one on the same part, or -1."""
    if list(old) == list(new):
        return list(range(len(new)))
    places: dict[tuple[bool, str], list[tuple[float, int]]] = {}
    for c, (part, s) in enumerate(old):
        places.setdefault((c >= old_bodies, part), []).append((s, c))
    for line in places.values():
        line.sort()
    return [_nearest_on(places.get((c >= new_bodies, part), []), s)
            for c, (part, s) in enumerate(new)]


def _nearest_on(line: Sequence[tuple[float, int]], s: float) -> int:
    """Return the number that is nearest to s, of (place, number) in order; -1 if there is none."""
    k = bisect_left(line, (s, -1))
    return min(((abs(x - s), c) for x, c in line[max(k - 1, 0):k + 1]), default=(0.0, -1))[1]
