r"""
A robot's description as arrays for the solver.

Everything is seen from base_link: gravity is turned into it. Rods get breaks where something ends
or is fixed to them. What all rods have is in flat arrays, one rod after another, see
`cosserat_ros.assembly.rods`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from ..assembly.assembly import Assembly
from ..assembly.layout import RodLaws
from ..assembly.loads import add_wrench, Bodies, join, joined, Loads, no_loads
from ..assembly.rods import RodsSolver
from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_number
from ..description.joints import KINDS
from ..description.modes import StrainModes
from ..description.parts import Body, Chamber, principal_axes, Tendon
from ..description.robot import Robot
from ..description.routing import Path
from ..laws.actuators import Drives, EFFORT, GAS, given_efforts, LENGTH, Paths
from ..laws.capstan_friction import TendonFriction
from ..laws.chords import ChordLengths, Chords, chords_of, Holes
from ..laws.feeding import Feeding
from ..numerics.integrators import SCHEMES
from ..rod.discretisation import Discretisation, discretise, element_ends, in_a_row
from ..rod.stations import Stations
from .builder import assembly_of

HERE = np.eye(4)
GAS_CONSTANT = 8.31446261815324  # [J/(mol K)]
ELEMENT_TIME = 4e-9     # [s] of one iteration per node of an element and (modes + 18)^2
COUPLING_TIME = 1e-9    # [s] likewise, per unknown^3 of a rod whose elements laws couple
DENSE_TIME = 5e-9       # [s] likewise, per entry of the matrices of a whole rod
CHAIN_SHARE = 0.1       # of a node's time that an exponential of the chain of rotations takes
LONGEST_ITERATION = 1.0  # [s] by this estimate, that is allowed


class Place(NamedTuple):
    """Which actuator of a rod this is: of which one, the how-manieth there; legs have no slot."""

    rod: int
    slot: int


class Placement(NamedTuple):
    """Where a wrench acts: at the end of an element, or spread over the nodes of a rod."""

    rod: int
    end: int | None    # of which element
    share: np.ndarray  # (N,) of the wrench, per length, at each node [1/m]; 0 at an end


class Model:
    """
    A robot for the solver.

    Parameters
    ----------
    robot : Robot
    modes : StrainModes, optional
        Of all rods, instead of those of the description.

    """

    def __init__(self, robot: Robot, modes: StrainModes | None = None) -> None:
        self.robot = robot
        self.names = list(robot.rods)
        self.gravity = robot.base.matrix()[:3, :3].T @ np.array(robot.gravity)
        tip = robot.tip
        self.tip_offset = np.ascontiguousarray(  # on what carries it
            robot.on_body(tip.on or '', tip.frame, tip.offset))
        self.modes = [modes or robot.modes_of(name) for name in self.names]
        self._check_modes()
        self.rods = self._discretise()
        legs = {leg.rod for leg in robot.legs.values()}
        self.feeding = Feeding(dict(zip(self.names, self.rods)), [
            rod.segments[0].length if name in legs else 0.0 for name, rod in robot.rods.items()])
        self.chords = self._find_chords()
        self.places = self._find_places()
        self.nodes = in_a_row(d.s.size for d in self.rods)        # of each rod among those of all
        self.elements = in_a_row(len(d.W) for d in self.rods)     # likewise
        on_rods = [name for i in range(len(self.rods)) for name in self._on(i)]
        self.numbers = {name: number for number, name in enumerate(on_rods)}  # among all efforts
        self.paths = [self._paths(i) for i in range(len(self.rods))]
        self.rest_lengths = np.array([
            robot.rest_position(name) if name in robot.chambers else self._rest_length(name)
            for name in on_rods])
        routed: dict[str, Tendon | Chamber] = {**robot.tendons, **robot.chambers}
        self._routed = {name: routed[name] for name in on_rods}
        self._described = self._rules({})
        self._told = self._as_drives()

    # --- Rods ---

    def _check_modes(self) -> None:
        """Raise unless rods have the modes that what is on them, or nothing else, asks for."""
        robot, legs = self.robot, {leg.rod for leg in self.robot.legs.values()}
        for i, (name, modes) in enumerate(zip(self.names, self.modes)):
            field = self._modes_field(i)
            if name in legs and modes.stretch == 0:
                raise InvalidModel(f'{field}.stretch', 0, 'at least 1: legs are fed')
            if not any(modes.counts) and self._on(i):
                raise InvalidModel(field, modes.counts, 'at least one mode in some component: '
                                   f'{self._on(i)[0]} acts on rod {name!r}')
        if not any(count for modes in self.modes for count in modes.counts) and not _moves(robot):
            raise InvalidModel(
                self._modes_field(0), self.modes[0].counts, 'at least one mode in some component, '
                'unless rods are rigid and joints alone move')

    def _modes_field(self, i: int) -> str:
        """Return where the description has the modes of rod i."""
        name = self.names[i]
        own = self.modes[i] is self.robot.rods[name].modes
        return f'rods.{name}.modes' if own else 'modes'

    def _discretise(self) -> list[Discretisation]:
        """Return the rods, with breaks where something ends."""
        breaks = [self._breaks(name) for name in self.names]
        self._check_cost([
            len(element_ends(self.robot.rods[name], modes.elements, b)) - 1
            for name, modes, b in zip(self.names, self.modes, breaks)])
        return [discretise(self.robot.rods[name], modes, b)
                for name, modes, b in zip(self.names, self.modes, breaks)]

    def _check_cost(self, elements: Sequence[int]) -> None:
        """Raise if a solve would take too long, by an estimate."""
        times = [self._cost(*each) for each in zip(self.names, self.modes, elements)]
        if sum(times) > LONGEST_ITERATION:
            i, rods = int(np.argmax(times)), len(times)
            modes, among = self.modes[i], f' of {rods} rods' if rods > 1 else ''
            raise InvalidModel(
                self._modes_field(i), f'{sum(modes.counts)} modes and {modes.nodes_per_element} '
                f'nodes on each of {elements[i]} elements: {times[i]:.2g} s of '
                f'{sum(times):.2g} s{among}',
                'fewer modes, nodes, substeps or elements: one iteration may take '
                f'{LONGEST_ITERATION:g} s by estimate')

    def _cost(self, rod: str, modes: StrainModes, elements: int) -> float:
        """Return an estimate of the time of one iteration [s], of what a rod adds to it."""
        per_element, nodes = sum(modes.counts), modes.nodes_per_element
        chain, unknowns = 2 * modes.substeps * (nodes + 1), elements * per_element
        time = elements * ELEMENT_TIME * (per_element + 18) ** 2 * (nodes + CHAIN_SHARE * chain)
        time += self._couples(rod) * COUPLING_TIME * unknowns ** 3
        return time + DENSE_TIME * unknowns * (elements * (nodes + chain) + 2 * unknowns)

    def _couples(self, rod: str) -> bool:
        """Return whether tendons rub along a rod, or are straight in space: they couple it."""
        robot = self.robot
        return any(
            tendon.rubs or tendon.straight_in == 'space'
            for name, tendon in robot.tendons.items() if robot.path(name).rod == rod)

    def _breaks(self, rod: str) -> list[float]:
        robot = self.robot
        paths = [robot.path(name) for name in (*robot.tendons, *robot.chambers)]
        ends = [s for path in paths if path.rod == rod for s in (path.start, path.end)]
        bodies = [self._place_of(body) for body in robot.carried.values()
                  if robot.rod_name(body.rod) == rod]
        return [*ends, *bodies]

    def _place_of(self, body: Body) -> float:
        return self.robot.rod(body.rod).length if body.at is None else body.at

    # --- Actuators ---

    def _on(self, i: int) -> list[str]:
        """Return the names of tendons and chambers on rod i."""
        robot = self.robot
        return [name for name in (*robot.tendons, *robot.chambers)
                if robot.path(name).rod == self.names[i]]

    def _find_places(self) -> dict[str, Place]:
        places = {}
        for i in range(len(self.names)):
            for slot, name in enumerate(self._on(i)):
                places[name] = Place(i, slot)
        for name, leg in self.robot.legs.items():
            places[name] = Place(self.names.index(leg.rod), -1)
        return {name: places[name] for name in self.robot.actuators if name in places}

    def _paths(self, i: int) -> Paths:
        """Return the paths on rod i."""
        d, m = self.rods[i], len(self._on(i))
        r, r_s, weight = (np.zeros((m, d.s.size, 3)), np.zeros((m, d.s.size, 3)),
                          np.zeros((m, d.s.size)))
        flat = np.zeros(m, dtype=np.bool_)
        for slot, name in enumerate(self._on(i)):
            path = self.robot.path(name)
            inside = (d.s > path.start) & (d.s < path.end)
            flat[slot] = name in self.robot.chambers
            r[slot, inside], r_s[slot, inside] = path.at(d.s[inside]), path.slope(d.s[inside])
            weight[slot, inside] = d.w[inside] * (
                path.area(d.s[inside]) if flat[slot] else 1.0)
            tendon = self.robot.tendons.get(name)
            if tendon is not None and tendon.guided_by is not None:
                holes = self.robot.discs[tendon.guided_by].arc_lengths(
                    self.robot.rods[self.names[i]].length)
                _straighten(d.s, inside, path, holes, r[slot], r_s[slot])
        return Paths(r, r_s, weight, flat)

    def _rest_length(self, name: str) -> float:
        i, slot = self.places[name]
        d, a = self.rods[i], self.paths[i]
        v, u = d.rest_strain[:, :3], d.rest_strain[:, 3:]
        if i in self.chords and slot in self.chords[i].tendon:
            return float(ChordLengths(self.chords[i]).at(np.zeros(d.component.size))[0][slot])
        c = v + np.cross(u, a.r[slot]) + a.r_s[slot]
        return float(a.weight[slot] @ np.linalg.norm(c, axis=1))

    def drives(
        self, commands: Mapping[str, float], modes: Mapping[str, str] | None = None,
    ) -> Drives:
        """
        Return what the tendons and chambers of all rods are told; legs are not among them.

        Parameters
        ----------
        commands : mapping of str to float
            Value of every actuator.
        modes : mapping of str to str, optional
            Command of actuators that are told something else than described: 'tension',
            'displacement', 'pressure', 'volume', 'amount'.

        """
        if not modes:
            kind, _, *others = self._described
            return Drives(kind, self._commands(commands), *others)
        return self._rules(modes)._replace(command=np.array([
            self.told(name, actuator, modes.get(name, actuator.command), commands[name])
            for name, actuator in self._routed.items()], dtype=float))

    def _commands(self, commands: Mapping[str, float]) -> np.ndarray:
        """Return described values as `Drives` takes them."""
        offset, gain = self._told
        values = np.array([commands[name] for name in self._routed], dtype=float)
        values *= gain
        values += offset
        return values

    def _as_drives(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offset and gain of all commands in `Drives` by described values."""
        zero, one = (np.array([
            self.told(name, actuator, actuator.command, value)
            for name, actuator in self._routed.items()], dtype=float) for value in (0.0, 1.0))
        return zero, one - zero

    def _rules(self, modes: Mapping[str, str]) -> Drives:
        """Return the rules that close the actuators, without commands."""
        d = given_efforts(np.zeros(len(self._routed)))
        for at, (name, actuator) in enumerate(self._routed.items()):
            mode = modes.get(name, actuator.command)
            if isinstance(actuator, Tendon):
                d.pulls[at], d.compliance[at] = True, actuator.compliance
            else:
                d.ambient[at], d.dead[at] = actuator.ambient_pressure, actuator.dead_volume
            d.kind[at] = {'tension': EFFORT, 'pressure': EFFORT, 'amount': GAS}.get(mode, LENGTH)
            d.scale[at] = self._stiffness(name)
        return d

    def told(
        self, name: str, actuator: Tendon | Chamber, mode: str, value: float,
    ) -> float:
        """Return a command as `Drives` takes it."""
        if isinstance(actuator, Tendon):
            if mode == 'tension':
                return value
            taken = value + actuator.compliance * actuator.pretension
            return float(self.rest_lengths[self.numbers[name]]) - taken
        factor = {'pressure': -1.0, 'volume': 1.0,
                  'amount': GAS_CONSTANT * actuator.temperature}[mode]
        return factor * value

    def _stiffness(self, name: str) -> float:
        """Return about how much an effort changes with its length, at fixed ends of the rod."""
        i, slot = self.places[name]
        d, a = self.rods[i], self.paths[i]
        lever, bending = np.abs(a.r[slot]).max(), d.stiffness[:, 3]
        bending = np.where(bending > 0.0, bending, np.inf)  # a string has none
        give = np.sum(a.weight[slot] ** 2 / d.w * (
            1.0 / d.stiffness[:, 2] + lever ** 2 / bending))
        return 1.0 / give

    # --- Loads and platform ---

    def loads(self, payloads: Mapping[str, Body] | None = None) -> Loads:
        """Return gravity, drag, the bodies of the description and further ones."""
        loads = []
        for name, d in zip(self.names, self.rods):
            rod = self.robot.rods[name]
            carried = [(self._place_of(body), body)
                       for body in (*self.robot.carried.values(), *(payloads or {}).values())
                       if self.robot.rod_name(body.rod) == name]
            loads.append(no_loads(d.s.size, d.W.shape[0])._replace(
                gravity=self.gravity, square_drag=np.array(rod.drag.square),
                linear_drag=np.array(rod.drag.linear),
                bodies=_carried(d, carried)))
        return join(loads)

    def place(self, rod: str | None, at: float | None = None, extent: float = 0.0) -> Placement:
        """
        Return where a wrench acts.

        Parameters
        ----------
        rod : str or None
            None where there is only one.
        at : float, optional
            Arc length [m]; the rod's end if left out.
        extent : float
            Length beyond `at` that it is spread over evenly; 0: a point [m].

        """
        name = self.robot.rod_name(rod)
        if name not in self.names:
            raise UnknownName('rod', name, self.names)
        i = self.names.index(name)
        d, length = self.rods[i], self.robot.rods[name].length
        s = length if at is None else check_number('at', at, least=0.0, most=length, unit='m')
        check_number('extent', extent, least=0.0, most=(1.0 + 1e-9) * (length - s), unit='m')
        none, end = np.zeros(d.s.size), self.end_at(i, s)
        if extent == 0.0 and end is not None:
            return Placement(i, end, none)
        if extent == 0.0:
            return Placement(i, None, Stations(d, np.array([s])).shares_of_point(0))
        inside = d.breaks[(d.breaks > s) & (d.breaks < s + extent)]
        x, w = legendre.leggauss(d.W.shape[1])
        parts = np.array([s, *inside, min(s + extent, length)])
        for start, stop in zip(parts[:-1], parts[1:]):
            points = Stations(d, 0.5 * (start + stop + (stop - start) * x))
            weight = 0.5 * (stop - start) * w / extent
            none += sum(a * points.shares_of_point(k) for k, a in enumerate(weight))
        return Placement(i, None, none)

    def end_at(self, i: int, s: float) -> int | None:
        """Return which element of rod i ends at arc length s, or None."""
        ends = self.rods[i].breaks[1:]
        near = np.flatnonzero(np.abs(ends - s) < 1e-9 * ends[-1])
        return int(near[0]) if near.size else None

    def ends(self, i: int) -> str:
        """Return in words where the elements of rod i end."""
        return ', '.join(f'{s:g}' for s in self.rods[i].breaks[1:])

    def add_wrench(
        self, loads: Loads, place: Placement, wrench: np.ndarray, follower: bool = False,
        offset: np.ndarray = HERE,
    ) -> None:
        """
        Add a wrench (6,) to loads: along base_link, or along the body (`follower`).

        At the end of an element, it may act at the origin of a frame `offset` (4, 4) from there.
        """
        i, e = place.rod, place.end
        if e is None:
            loads.line_force[self.nodes[i]] += np.outer(place.share, wrench[:3])
            loads.line_moment[self.nodes[i]] += np.outer(place.share, wrench[3:])
            return
        add_wrench([part[self.elements[i]][e] for part in (
            loads.end_force, loads.end_moment, loads.end_lever, loads.follower_force,
            loads.follower_moment)], wrench, offset, follower)

    def assembly(self) -> Assembly:
        """Return the robot as an assembly, in its rest shape."""
        return assembly_of(
            self.robot, dict(zip(self.names, self.rods)), dict(zip(self.names, self.paths)),
            self.gravity, {name: self._laws(i) for i, name in enumerate(self.names)})

    def solver(self, tolerance: float = 1e-6) -> RodsSolver:
        """Return a solver of this robot, in its rest shape, with arrays of its own."""
        solver = RodsSolver(self.assembly(), dict(zip(self.names, self.rods)),
                            SCHEMES[self.robot.time.scheme], tolerance)
        solver.load(self.loads())
        if solver.tree.closures.a.size and not self.robot.legs:  # whom the first solve bends
            closed = solver.close()
            if not closed:
                raise InvalidModel('joints', closed.message, 'loops that close at rest')
        return solver

    def _laws(self, i: int) -> RodLaws:
        """Return the friction of tendons along rod i, and its chords."""
        tendons = self.robot.tendons
        here = {slot: tendons[name] for slot, name in enumerate(self._on(i)) if name in tendons}
        return RodLaws(
            [TendonFriction(slot, tendon.damping_friction, tendon.coulomb_friction,
                            tendon.presliding)
             for slot, tendon in here.items() if tendon.rubs], self.chords.get(i))

    def _find_chords(self) -> dict[int, Chords]:
        """Return the tendons that are straight in space between discs, by rods."""
        robot, found = self.robot, {}
        for i, d in enumerate(self.rods):
            rod, holes = robot.rods[self.names[i]], {}
            for slot, name in enumerate(self._on(i)):
                tendon = robot.tendons.get(name)
                if tendon is None or tendon.straight_in != 'space':
                    continue
                assert tendon.guided_by is not None
                path, discs = robot.path(name), robot.discs[tendon.guided_by]
                knots = np.unique(np.clip(
                    [path.start, *discs.arc_lengths(rod.length), path.end], path.start, path.end))
                holes[slot] = Holes(knots, path.at(knots))
            if holes:
                found[i] = chords_of(rod, self.modes[i], d, holes)
        return found


def _moves(robot: Robot) -> bool:
    """Tell whether a robot moves even if its rods are rigid."""
    return robot.base.motion == 'free' or any(
        KINDS[named.joint.kind] for named in robot.moving.values())


# --- Small parts ---------------------------------------------------------------------------------

def _carried(d: Discretisation, bodies: Sequence[tuple[float, Body]]) -> Bodies:
    """Return bodies at the ends of elements; several at one place become one."""
    E = d.W.shape[0]
    total = [(0.0, np.zeros(3), np.zeros((3, 3)))] * E
    for s, body in bodies:
        e = int(np.argmin(np.abs(d.breaks[1:] - s)))
        total[e] = joined(total[e], (
            body.mass, np.array(body.centre_of_mass), body.inertia.matrix()))
    moments, axes = zip(*(principal_axes(J) for _, _, J in total))
    return Bodies(np.array([m for m, _, _ in total]), np.array([c for _, c, _ in total]),
                  np.array(moments), np.array(axes))


def _straighten(
    s: np.ndarray, inside: np.ndarray, path: Path, holes: np.ndarray, r: np.ndarray,
    r_s: np.ndarray,
) -> None:
    """Lead a tendon straight, in the section's frame, between the holes of discs."""
    knots = np.unique(np.clip([path.start, *holes, path.end], path.start, path.end))
    offsets = path.at(knots)
    k = np.clip(np.searchsorted(knots, s[inside]) - 1, 0, len(knots) - 2)
    slope = (offsets[k + 1] - offsets[k]) / (knots[k + 1] - knots[k])[:, None]
    r[inside] = offsets[k] + slope * (s[inside] - knots[k])[:, None]
    r_s[inside] = slope
