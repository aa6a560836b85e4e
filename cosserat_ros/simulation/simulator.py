"""
A robot in time: commands in, shape out.

The one door for nodes, benchmarks and notebooks: limits and rates of commands, supply lines,
friction of tendons, external wrenches and payloads are looked after here; the mechanics are those
of :mod:`cosserat_ros.assembly`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
import math
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..assembly.element import Motion
from ..assembly.loads import Mass, moved
from ..assembly.rods import OnBody, PLATFORM, RodsSolver
from ..assembly.solver import Solution
from ..assembly.state import RootMotion
from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_number, check_vector
from ..description.demonstration import STRONGEST
from ..description.gaits import GaitDrive
from ..description.joints import BASE, JointDrive
from ..description.modes import StrainModes
from ..description.obstacles import check_obstacles, Obstacle
from ..description.parts import Body, Chamber, Inertia, Leg, Pose, Tendon
from ..description.robot import Robot, RodShape
from ..laws.actuators import Drives, lengths_and_gradients
from ..numerics.kernels import Direct
from ..numerics.lie import hat
from ..rod.kinematics import Base, State
from ..rod.stations import Law, Seen, Stations
from .builder import body_name
from .contradictions import contradiction
from .gaits import Gaits
from .inversion import Inversion
from .joints import body_motion, DrivenJoints, motion_at, MovingBase, Pace, pose_of
from .model import GAS_CONSTANT, HERE, Model, Placement

SEEN = (4, 4), (7,), (6,), (6,), (6,), (6,)  # shapes of a station's parts of `Seen`
AT_ONCE = math.inf, 0.0  # of an actuator: its rate, and the lag of its supply

_lengths_and_gradients = Direct(lengths_and_gradients)  # rods have arrays of the same types


class ActuatorState(NamedTuple):
    """Of one actuator: its command, where it is [m, m^3, rad], how fast, effort [N, Pa, N m]."""

    command: float
    position: float
    effort: float
    velocity: float


class Load(NamedTuple):
    """
    A wrench on the robot from outside.

    It acts on a body, if one is named, which may be the platform; else on a rod at arc length
    `at`, its end if left out; if no rod is named either, on the platform, if there is one. A
    follower turns with what it acts on. On a rod, that needs the end of an element, and so does an
    offset; what is spread has neither.
    """

    wrench: np.ndarray        # (6,) total force and moment [N, N m]
    rod: str | None = None
    at: float | None = None   # [m]
    extent: float = 0.0       # length beyond `at` that it is spread over evenly; 0: a point [m]
    follower: bool = False    # along the axes of the body there, not of base_link at the start
    body: str | None = None   # of those by themselves; base_link if it floats; platform
    offset: np.ndarray = HERE  # (4, 4) frame at whose origin it acts and along which it follows,
                               # seen from the body, or from the rod's body frame [m]


class Payload(NamedTuple):
    """A rigid body that was picked up."""

    body: Body       # seen from what carries it
    on: str | None   # body that carries it; None: the rod that it names


class Look(NamedTuple):
    """What a robot looks like at one instant, seen from base_link: k rods of M stations."""

    shape: dict[str, RodShape]
    rods: Seen                       # the same and more, of all rods: (k, M, ...), and (N, 6)
    tip: np.ndarray                  # (4, 4) [-, m]
    tip_twist: np.ndarray            # (6,) [m/s, rad/s], axes of base_link
    actuators: dict[str, ActuatorState]
    bodies: dict[str, np.ndarray]    # (4, 4) of the platform, of bodies by themselves, and of
                                     # base_link in its parent frame, if it moves


class Snapshot(NamedTuple):
    """All that a simulator is at one instant, for another one of the same robot or for later."""

    time: float                  # [s]
    commands: dict[str, float]
    reached: dict[str, float]
    before: dict[str, float]     # reached one step earlier
    elapsed: float               # that step [s]
    loads: dict[str, Load]
    payloads: dict[str, Payload]
    obstacles: Mapping[str, Obstacle]
    joints: Pace                 # how driven ones moved
    phases: dict[str, float]     # of gaits [rad]
    solver: tuple[Any, ...]      # with what laws remember


class Simulator:
    """
    One robot, for one thread at a time: a second one that solves meanwhile is rejected.

    Parameters
    ----------
    robot : Robot
    modes : StrainModes, optional
        Of all rods, instead of those of the description.
    stations : int
        Per rod, evenly spaced, at which shapes are told.

    """

    def __init__(
        self, robot: Robot, modes: StrainModes | None = None, stations: int = 21,
    ) -> None:
        self._begin(Model(robot, modes), stations)

    def twin(self) -> Simulator:
        """Return another simulator of the same robot, at rest; what never changes is shared."""
        other = Simulator.__new__(Simulator)
        other._begin(self.model, len(self.stations[0].s))
        return other

    def _begin(self, model: Model, stations: int) -> None:
        self.robot, self.model = model.robot, model
        robot = model.robot
        self.solver = self.model.solver()
        self.solver.stretch = lambda: model.feeding.stretch_at_nodes(self.leg_lengths)
        self.joints = DrivenJoints(robot, self.solver)
        self.gaits = Gaits(robot, dict(zip(model.names, model.rods)))
        self.base = MovingBase(robot, self.solver)
        self._loads = self.model.loads()
        self.stations = [
            Stations(d, np.linspace(d.breaks[0], d.breaks[-1], stations))
            for d in self.model.rods]
        self._feet = [Stations(d, d.breaks[:1]) for d in self.model.rods]  # where legs are pushed
        self._acting: dict[str, tuple[Load, Placement | None]] = {}
        self._payloads: dict[str, Payload] = {}
        self._obstacles: Mapping[str, Obstacle] = robot.obstacles
        self.commands = {name: self.rest_command(name) for name in robot.actuators}
        self._reached = dict(self.commands)  # after rates and supply lines
        self._before, self._elapsed = self._reached, 1.0  # where they were so long ago [s]
        self._slow = {name: pace for name, pace in zip(
            robot.actuators, map(_pace, robot.actuators.values())) if pace != AT_ONCE}
        self.leg_lengths = np.array([robot.rods[name].length for name in self.model.names])
        self._unstretched = np.ones(self.model.nodes[-1].stop)
        self.inversion = Inversion(self.model, self.solver, self.stations)
        self._solving = Lock()

    def rest_command(self, name: str) -> float:
        """Return the command at which an actuator does nothing to the rest shape."""
        actuator = self.robot.actuators[name]
        if isinstance(actuator, GaitDrive):
            return actuator.live.start
        if isinstance(actuator, JointDrive):
            held = actuator.coordinate
            return held.position if held.drive == 'position' else 0.0
        if actuator.command in ('volume', 'length'):
            return self.robot.rest_position(name)
        if isinstance(actuator, Chamber) and actuator.command == 'amount':
            volume = self.robot.rest_position(name) + actuator.dead_volume
            return actuator.ambient_pressure * volume / (GAS_CONSTANT * actuator.temperature)
        return 0.0

    # --- Commands and loads ---

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.solver.time

    def command(self, **commands: float) -> None:
        """Set commands by actuator's name, in described units; one that is invalid rejects all."""
        self.commands.update(check_commands(self.robot, commands))

    def set_wrench(
        self, wrench: Any, rod: str | None = None, at: float | None = None,
        body: str | None = None,
    ) -> None:
        """
        Let a force and a moment act at a place, until changed.

        Parameters
        ----------
        wrench : (6,) array
            Along the axes of base_link as it is at the start [N, N m].
        rod, at, body : str, float and str, optional
            Where: a body, or a rod; the platform or the rod's end if left out [m].

        """
        load = Load(check_wrench(wrench), rod, at, body=body)
        place = self._placement(load)
        where = body or PLATFORM if place is None else f'{place.rod}:{place.end}:{at}'
        others = {name: held for name, held in self.named_loads.items() if name != where}
        self.set_loads({**others, where: load} if load.wrench.any() else others)

    @property
    def named_loads(self) -> dict[str, Load]:
        """Loads that act now, by name."""
        return {name: load for name, (load, _) in self._acting.items()}

    def set_loads(self, loads: Mapping[str, Load]) -> None:
        """Let these loads act instead of the present ones; one that is invalid rejects all."""
        acting = {}
        for name, load in loads.items():
            try:
                acting[name] = load, self._place_again(load, self._acting.get(name))
            except InvalidModel as error:
                raise error.within(f'load {name!r}') from None
        self._acting = acting
        self._update_loads()

    def _place_again(
        self, load: Load, held: tuple[Load, Placement | None] | None,
    ) -> Placement | None:
        """Return where a load acts, which is known of one `held` that acts at the same place."""
        if held is None or held[0][1:] != load[1:]:
            return self._placement(load)
        if held[0] is not load:
            check_wrench(load.wrench)
        return held[1]

    def _placement(self, load: Load) -> Placement | None:
        """Return where on a rod a load acts, None if on a body; raise if it cannot."""
        check_wrench(load.wrench)
        if np.shape(load.offset) != (4, 4):
            raise InvalidModel('offset', load.offset, 'a pose, 4 x 4')
        if self.body_of(load) is not None:
            for field, value in (('rod', load.rod), ('at', load.at), ('extent', load.extent)):
                if value:
                    raise InvalidModel(field, value, 'left out on a body')
            return None
        place = self.model.place(load.rod, load.at, load.extent)
        beside = not np.array_equal(load.offset, HERE)
        if place.end is None and (load.follower or beside):
            raise InvalidModel(
                'at', load.at if load.extent == 0.0 else f'{load.at} over {load.extent} m',
                'one point where an element ends, for '
                f'{"a follower" if load.follower else "an offset"}: '
                f'{self.model.ends(place.rod)} [m]')
        return place

    def body_of(self, load: Load) -> str | None:
        """Return the body that a load acts on, or None for a rod; raise if it does not move."""
        if load.body is not None:
            return self._checked_body('body', load.body)
        return PLATFORM if self.robot.platform is not None and load.rod is None else None

    def _checked_body(self, field: str, name: str) -> str:
        """Return the name of a body that can be loaded, or raise."""
        known = movable_bodies(self.robot)
        if name not in known:
            raise UnknownName(field, name, known)
        return name

    def carry(
        self, name: str, body: Body | None, on: str | None = None, offset: np.ndarray = HERE,
    ) -> None:
        """
        Pick up a body, or let go of it (None).

        Parameters
        ----------
        name : str
            Of what is picked up.
        body : Body or None
        on : str, optional
            Body that carries it, which may be the platform; if left out, its rod does, where one
            of the elements ends.
        offset : (4, 4) array
            Frame that it is seen from, on what carries it [m].

        """
        if body is not None:
            body.check_mass('mass')
            if on is not None:
                self._checked_body('station', on)
            else:
                i = self.model.place(body.rod, body.at).rod
                if body.at is not None and self.model.end_at(i, body.at) is None:
                    raise InvalidModel(
                        'at', body.at, f'where an element ends: {self.model.ends(i)} [m]')
        self._payloads = {key: held for key, held in self._payloads.items() if key != name}
        if body is not None:
            self._payloads[name] = Payload(_seen_through(body, offset), on)
        self._update_loads()

    @property
    def payloads(self) -> dict[str, Payload]:
        """Bodies that were picked up, by name."""
        return dict(self._payloads)

    def _update_loads(self) -> None:
        payloads = self._payloads.items()
        loads = self.model.loads({name: held.body for name, held in payloads if held.on is None})
        on_bodies = []
        for load, place in self._acting.values():
            body = self.body_of(load)
            if place is not None:
                self.model.add_wrench(loads, place, load.wrench, load.follower, load.offset)
            elif body is not None:
                on_bodies.append(OnBody(body, load.offset, load.wrench, load.follower))
        carried: dict[str, list[Mass]] = {}
        for _, (payload, on) in payloads:
            if on is not None:
                carried.setdefault(on, []).append((
                    payload.mass, np.array(payload.centre_of_mass), payload.inertia.matrix()))
        self.solver.load_bodies(on_bodies, carried)
        self.gaits.write_stress(self._reached, self.time, loads.stress)
        self.solver.load(loads)
        self._loads = loads

    # --- Obstacles ---

    @property
    def obstacles(self) -> Mapping[str, Obstacle]:
        """Obstacles at present, by name: those of the description, until others are set."""
        return self._obstacles

    def set_obstacles(self, obstacles: Mapping[str, Obstacle]) -> None:
        """
        Let there be these obstacles instead of the present ones; one that is invalid rejects all.

        Motion, time and all that is remembered stay. Where one that is new or moved overlaps a
        rod or ball, contact pushes these out; with their centre within it, it is rejected. What is
        moved so is elsewhere at once, without a velocity. Poses are seen from base_link as it is
        at the start, or from the body that an obstacle is fixed to: base_link itself is one.
        """
        for name, obstacle in obstacles.items():
            if not isinstance(obstacle, Obstacle):
                raise InvalidModel(f'obstacles.{name}', obstacle, 'an Obstacle')
        check_obstacles(obstacles)
        self._feed()
        self.solver.set_obstacles(self._on_bodies(obstacles))
        self._obstacles = MappingProxyType(dict(obstacles))

    def _on_bodies(self, obstacles: Mapping[str, Obstacle]) -> dict[str, Obstacle]:
        """Return obstacles as the solver has them: a fixed base is its ground."""
        if not self.base.fixed:
            return dict(obstacles)
        return {name: replace(obstacle, body=None) if obstacle.body == BASE else obstacle
                for name, obstacle in obstacles.items()}

    def set_obstacle(self, name: str, obstacle: Obstacle) -> None:
        """Add an obstacle, or let it replace the one of this name: see `set_obstacles`."""
        self.set_obstacles({**self._obstacles, name: obstacle})

    def move_obstacle(self, name: str, pose: Pose) -> None:
        """Put an obstacle elsewhere, seen from where it was seen before: see `set_obstacles`."""
        if name not in self._obstacles:
            raise UnknownName('obstacle', name, list(self._obstacles))
        self.set_obstacle(name, replace(self._obstacles[name], pose=pose))

    def remove_obstacle(self, name: str) -> None:
        """Take an obstacle away."""
        if name not in self._obstacles:
            raise UnknownName('obstacle', name, list(self._obstacles))
        self.set_obstacles({key: o for key, o in self._obstacles.items() if key != name})

    # --- The whole of it ---

    @property
    def loads(self) -> Any:
        """Loads that act now; another object when they change."""
        return self._loads

    def reached(self, name: str) -> float:
        """Return where a command has got to, after rates and supply lines."""
        return self._reached[name]

    def snapshot(self) -> Snapshot:
        """Return all that it is now: cheap, nothing in it changes later."""
        return Snapshot(
            self.time, dict(self.commands), self._reached, self._before, self._elapsed,
            self.named_loads, self._payloads, self._obstacles, self.joints.memory,
            self.gaits.phases, self.solver.saved())

    def go_to(self, snapshot: Snapshot) -> None:
        """Be what this or another simulator of the same robot was."""
        if snapshot.payloads is not self._payloads or not _same(
                snapshot.loads, self.named_loads):
            self._payloads = snapshot.payloads
            self.set_loads(snapshot.loads)
        if snapshot.obstacles is not self._obstacles:
            self.solver.set_obstacles(self._on_bodies(snapshot.obstacles), check=False)
            self._obstacles = snapshot.obstacles
        self.commands, self._reached = dict(snapshot.commands), snapshot.reached
        self._before, self._elapsed = snapshot.before, snapshot.elapsed
        self.solver.restore(snapshot.solver)
        self.joints.memory, self.gaits.phases = snapshot.joints, snapshot.phases
        self._tell()
        self._feed()

    def drive_base(self, motion: Motion | RootMotion) -> None:
        """
        Move the base of a robot whose base is driven, seen from the parent frame of base_link.

        Parameters
        ----------
        motion : Motion or callable
            Pose, velocity and acceleration at the end of the next step, which hold until told
            anew; or a function of the motion one step earlier, the time at the end of a step, and
            the step: see `assembly.state.follow_twist`.

        """
        self.base.drive(motion)

    # --- Motion ---

    def statics(
        self, modes: Mapping[str, str] | None = None, from_rest: bool = False,
    ) -> Solution:
        """
        Go to the equilibrium of the present commands and loads, and stay there.

        If there is none, or it is not found, nothing is changed.

        With dry friction, which one depends on the way: it is gone in one stroke from the last
        state, or from rods and tendons at rest.

        Parameters
        ----------
        modes : mapping of str to str, optional
            What actuators are told that are not told what is described, see `Model.drives`. Once
            there, their commands are the described ones that keep the robot where it is.
        from_rest : bool
            Whether to start from the rods at rest.

        """
        before, reached = self.solver.saved(), self._reached
        if from_rest:
            self.solver.forget()
        self._reached = dict(self.commands)
        drives = self.model.drives(self.commands, modes)
        self._tell()
        solution = self._solve(drives, self.base.held(lambda: self.solver.statics(from_rest)))
        wrong = self.inversion.found(self.solver.z) if solution.converged else ''
        if wrong:  # a rod that is turned inside out is no equilibrium
            solution = solution._replace(converged=False, message=wrong)
        if not solution.converged:
            self.solver.restore(before)
            solution = solution._replace(z=self.solver.z)
            self._stay(reached)
        solution = self._explained(solution, drives)
        for name in modes or {}:
            self.commands[name] = self._described_command(name)
        if solution.converged:
            self._reached = self._before = dict(self.commands)
            self.joints.stop()
        return solution

    def _stay(self, reached: dict[str, float]) -> None:
        """Let rods and commands be those of the present state, after a solve that failed."""
        self._reached = reached
        self._tell()
        self._feed()

    def _tell(self, dt: float = 0.0) -> None:
        """Tell joints and muscles what commands have got to; dt [s] is the step that follows."""
        time = self.time + dt
        if self.gaits.write_stress(self._reached, time, self._loads.stress):
            self.solver.load(self._loads)
        self.joints.tell(self.gaits.told(self._reached, time), dt)

    def _described_command(self, name: str) -> float:
        """Return the command, as described, that keeps a tendon or chamber as it is now."""
        actuator, number = self.robot.actuators[name], self.model.numbers[name]
        length = float(self.solver.lengths()[number])
        effort = float(self.solver.efforts[number])
        if isinstance(actuator, Tendon):
            return effort if actuator.command == 'tension' else self._taken(name, length, effort)
        assert isinstance(actuator, Chamber)
        if actuator.command == 'amount':
            return ((actuator.ambient_pressure - effort) * (length + actuator.dead_volume)
                    / (GAS_CONSTANT * actuator.temperature))
        return length if actuator.command == 'volume' else -effort

    def stand(self, z: np.ndarray, R: np.ndarray | None = None) -> None:
        """
        Stand still at the unknowns z with the present commands, in equilibrium or not.

        Free turns in z are counted from R, the present attitudes if not given: see `RodsSolver`.
        """
        self._reached = self._before = dict(self.commands)
        self.solver.go_to(z, R)
        self.joints.stop()
        self._tell()

    def _taken(self, name: str, length: float, effort: float) -> float:
        """Return how much of a tendon is taken in at this length on the rod and tension [m]."""
        tendon, rest = self.robot.tendons[name], self.model.rest_lengths[self.model.numbers[name]]
        return float(rest - length + tendon.compliance * (effort - tendon.pretension))

    @contextmanager
    def trying(self, **reached: float) -> Iterator[RodsSolver]:
        """Give the solver, with joints and gaits as if commands had got elsewhere."""
        before = self._reached
        self._reached = {**before, **reached}
        self._tell()
        try:
            yield self.solver
        finally:
            self._reached = before
            self._tell()

    def equations(self) -> RodsSolver:
        """
        Return the solver with the equations at the present commands, loads and instant.

        Dry friction is in them as it answers to small motions: it sticks, also where it is at its
        limit.
        """
        self._feed()
        self._tell()
        self.solver.drive(self.model.drives(self._reached))
        return self.solver

    def step(self, dt: float | None = None) -> Solution:
        """
        Advance by dt [s], that of the description if not given.

        A converged solution has a message where a rod is turned inside out.
        """
        dt = self.robot.time.step if dt is None else dt
        before, reached = self._reached, dict(self.commands)
        phases, pace = self.gaits.phases, self.joints.memory
        for name, (rate, lag) in self._slow.items():
            most = rate * dt
            change = max(-most, min(most, reached[name] - before[name]))
            reached[name] = before[name] + change * (dt / (lag + dt))
        self._reached = reached
        drives = self.model.drives(reached)
        self.gaits.advance(reached, dt)
        self._tell(dt)
        solution = self._solve(drives, lambda: self.solver.step(dt))
        if solution.converged:  # inside out it goes on: standing still, it would never come out
            wrong = self.inversion.found(self.solver.z)
            solution = solution._replace(message=wrong) if wrong else solution
        else:
            self.gaits.phases, self.joints.memory = phases, pace
            self._stay(before)
            solution = self._explained(solution, drives)
        self._before, self._elapsed = before, dt
        return solution

    def _explained(self, solution: Solution, drives: Drives) -> Solution:
        """Return how a solve ended; with the names of commands, if it was they."""
        if solution.converged or 'singular' not in solution.message:
            return solution
        why = contradiction(self.model, self.solver, drives)
        return solution._replace(message=(
            f'{why}; a tendon that has a compliance, or is told its tension, would follow '
            f'({solution.message})')) if why else solution

    def _feed(self) -> None:
        """Give legs the lengths that were reached."""
        if not self.robot.legs:
            return
        for name in self.robot.legs:
            self.leg_lengths[self.model.places[name].rod] = self._reached[name]
        self.solver.change_rods(*self.model.feeding.fed(self.leg_lengths))

    def _solve(self, drives: Drives, solve: Callable[[], Solution]) -> Solution:
        """Go to another state; if it is not found, nothing is changed."""
        if not self._solving.acquire(blocking=False):
            raise RuntimeError('another thread solves with this simulator: it is for one alone')
        try:
            self._feed()
            self.solver.drive(drives)
            return solve()
        finally:
            self._solving.release()

    # --- What it looks like ---

    def look(self) -> Look:
        """Return all that can be seen of the robot: each part is computed once."""
        rods = self._see(self.stations)
        shape = {name: RodShape(self.stations[i].s, rods.poses[i], rods.strains[i])
                 for i, name in enumerate(self.model.names)}
        bodies, offset = {}, self.model.tip_offset
        if self.robot.platform is None and self.robot.tip.on is None:
            i = self.model.names.index(self.robot.rod_name(self.robot.tip.rod))
            carrier, twist = rods.poses[i, -1], rods.twists[i, -1]
            R = carrier[:3, :3]
            velocity, spin = R @ twist[:3], R @ twist[3:]
            velocity += hat(spin) @ (R @ offset[:3, 3])
            tip, tip_twist = carrier @ offset, np.concatenate([velocity, spin])
        else:
            held = self._tip_carrier()
            carrier = self.base.seen(pose_of(held))
            tip, tip_twist = carrier @ offset, self._twist_of_tip(held)
            if self.robot.platform is not None:
                bodies[PLATFORM] = carrier
        if self.robot.standing:
            bodies = self.body_poses()
        if not self.base.fixed:
            bodies[BASE] = self.base_pose()
        return Look(shape, rods, tip, tip_twist, self._actuators(rods), bodies)

    def _see(self, stations: list[Stations]) -> Seen:
        """Return what all rods are like at their stations, (k, M, ...), and at all nodes."""
        k, M, model = len(stations), len(stations[0].s), self.model
        rods = Seen(*(np.empty((k, M, *part)) for part in SEEN),
                    *np.empty((2, model.nodes[-1].stop, 6)))
        solver, frame, longer = self.solver, self.base.pose(), self._stretch()
        for i, (along, d, at) in enumerate(zip(stations, model.rods, solver.q_places)):
            nodes = model.nodes[i]
            law = Law(d.stiffness, d.damping, d.rest_strain, longer[nodes])
            along.look(
                solver.rods[i], solver.base(i), (solver.z[at], solver.z_t[at]), law, frame,
                Seen(*(part[i] for part in rods[:-2]), *(part[nodes] for part in rods[-2:])))
        return rods

    def _stretch(self) -> np.ndarray:
        """Return how many times longer than at rest rods are at their nodes, (N,)."""
        if not self.robot.legs:
            return self._unstretched
        return self.model.feeding.stretch_at_nodes(self.leg_lengths)

    def shape(self) -> dict[str, RodShape]:
        """Return the shape of all rods, seen from base_link."""
        shape = {}
        for i, name in enumerate(self.model.names):
            base = self.solver.base(i)
            seen = self.stations[i].shape(self.solver.state(i), base.R, base.p)
            shape[name] = seen._replace(poses=self.base.seen(seen.poses))
        return shape

    def body_poses(self) -> dict[str, np.ndarray]:
        """Return the poses (4, 4) of all bodies that are no part of rods, seen from base_link."""
        names = list(self.robot.standing)
        names += [PLATFORM] if self.robot.platform is not None else []
        frames = self.solver.places.bodies
        self.solver.refresh()
        poses = [pose_of(motion_at(self.solver, frames[name])) for name in names]
        return dict(zip(names, self.base.seen(np.array(poses).reshape(-1, 4, 4))))

    def base_pose(self) -> np.ndarray:
        """Return the pose (4, 4) of base_link, seen from its parent frame."""
        return self.base.home @ self.base.pose()

    def twists(self, shape: Mapping[str, RodShape]) -> dict[str, np.ndarray]:
        """
        Return velocity and angular velocity of stations, (M, 6) [m/s, rad/s], body frame.

        Against the parent frame of base_link, as all velocities here, if that moves.
        """
        return {
            name: self.stations[i].twists(
                self.solver.state(i), self.solver.base(i), self.base.unseen(shape[name].poses))
            for i, name in enumerate(self.model.names)}

    def internal_wrenches(self) -> dict[str, np.ndarray]:
        """
        Return force and moment within each rod at the stations, (M, 6) [N, N m], body frame.

        Of the rod itself, by its law of material: what tendons and fluid carry is not in it.
        """
        lam = self.model.feeding.stretches(self.leg_lengths)
        return {
            name: self.stations[i].at_stations(self._stress(i, self.solver.state(i), lam[i]))
            for i, name in enumerate(self.model.names)}

    def _stress(self, i: int, x: State, lam: float) -> np.ndarray:
        """Return force and moment at the nodes of rod i, fed to `lam` times its length, (N, 6)."""
        d = self.model.rods[i]
        longer = np.where(self.model.feeding.nodes[i], lam, 1.0)[:, None]
        return (d.stiffness * (x.xi / longer - d.rest_strain) + d.damping * x.xi_t / longer)

    def _tip_carrier(self) -> Base:
        """Return the motion of what carries the tip, in the assembly's frame."""
        if self.robot.platform is not None:
            return self.solver.platform
        if self.robot.tip.on is not None:
            return body_motion(self.solver, body_name(self.robot, self.robot.tip.on))
        x = self.solver.state(self.model.names.index(self.robot.rod_name(self.robot.tip.rod)))
        none = np.zeros(3)
        return Base(x.Rc[-1], x.p_end[-1], x.Om[-1], x.p_end_t[-1], none, none)

    def tip_pose(self) -> np.ndarray:
        """Return the pose of the tip in base_link, (4, 4) [m]."""
        return self.base.seen(pose_of(self._tip_carrier()) @ self.model.tip_offset)

    def tip_twist(self) -> np.ndarray:
        """Return velocity and angular velocity of the tip, axes of base_link, (6,)."""
        return self._twist_of_tip(self._tip_carrier())

    def _twist_of_tip(self, carrier: Base) -> np.ndarray:
        arm, R = carrier.R @ self.model.tip_offset[:3, 3], self.base.pose()[:3, :3].T
        return np.concatenate([R @ (carrier.p_t + hat(carrier.Om) @ arm), R @ carrier.Om])

    def actuators(self) -> dict[str, ActuatorState]:
        """Return what every actuator is told, where it is, how fast, and its effort."""
        return self._actuators(self._see(self._feet))

    def _actuators(self, rods: Seen) -> dict[str, ActuatorState]:
        efforts, model = self.solver.efforts, self.model
        lengths, rates = self._lengths(rods)
        states: dict[str, ActuatorState] = {}
        joints = self.joints.states()
        for name, actuator in self.robot.actuators.items():
            if isinstance(actuator, JointDrive):
                states[name] = ActuatorState(self._reached[name], *joints[name])
                continue
            told = self._reached[name]
            rate = (told - self._before[name]) / self._elapsed
            if isinstance(actuator, GaitDrive):
                states[name] = ActuatorState(told, told, 0.0, rate)
                continue
            if isinstance(actuator, Leg):
                force = float(rods.stresses[model.places[name].rod, 0, 2])
                states[name] = ActuatorState(told, told, -force, rate)
                continue
            number = model.numbers[name]
            effort, length = float(efforts[number]), float(lengths[number])
            if isinstance(actuator, Tendon) and actuator.command == 'displacement':
                states[name] = ActuatorState(told, told, effort, rate)
            elif isinstance(actuator, Tendon):
                states[name] = ActuatorState(
                    told, self._taken(name, length, effort), effort,
                    actuator.compliance * rate - float(rates[number]))
            else:
                states[name] = ActuatorState(told, length, -effort, float(rates[number]))
        return states

    def _lengths(self, rods: Seen) -> tuple[np.ndarray, np.ndarray]:
        """Return lengths or volumes of tendons and chambers, and their rates, (m,) each."""
        solver = self.solver
        lengths, rates = np.zeros((2, solver.effort_places.size))
        for i, (here, nodes) in enumerate(zip(solver.actuators, solver.nodes)):
            if here.start == here.stop:
                continue
            lengths[here], gradients = _lengths_and_gradients(
                solver.paths[i], rods.at_nodes[nodes])
            rates[here] = gradients.reshape(len(gradients), -1) @ rods.rates[nodes].ravel()
        for i, chords in solver.chords.items():
            here, straight = solver.actuators[i], chords.tendons
            along, gradients = chords.at(solver.q[i])
            lengths[here][straight] = along[straight]
            rates[here][straight] = gradients[straight] @ solver.rates[i]
        return lengths, rates

    def tension(self, name: str) -> np.ndarray:
        """Return the tension of a tendon at the nodes of its rod, (N,) [N]."""
        return self.solver.tension(*self.model.places[name])


def pose_at(
    sim: Simulator, rod: str | None = None, at: float | None = None, body: str | None = None,
) -> np.ndarray:
    """
    Return the pose (4, 4) of a body, or of a rod at an arc length [m], its end if left out.

    Seen from base_link as it is at the start.
    """
    if body is not None:
        return pose_of(body_motion(sim.solver, body_name(sim.robot, body)))
    i = sim.model.place(rod, at).rod
    d, base = sim.model.rods[i], sim.solver.base(i)
    station = Stations(d, np.array([d.breaks[-1] if at is None else at]))
    return station.shape(sim.solver.state(i), base.R, base.p).poses[0]


def movable_bodies(robot: Robot) -> list[str]:
    """Return the bodies that loads can act on: the platform, those by themselves, a free base."""
    return [*([PLATFORM] if robot.platform is not None else []),
            *([BASE] if robot.base.motion == 'free' else []), *robot.standing]


def _seen_through(body: Body, g: np.ndarray) -> Body:
    """Return a body that is seen from a frame as seen from where that has the pose g (4, 4)."""
    if np.array_equal(g, HERE):
        return body
    _, centre, J = moved((body.mass, np.array(body.centre_of_mass), body.inertia.matrix()), g)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = J.tolist()
    return replace(body, centre_of_mass=tuple(centre.tolist()),
                   inertia=Inertia(xx, yy, zz, xy, xz, yz))


def check_commands(robot: Robot, commands: Mapping[str, Any]) -> dict[str, float]:
    """Return commands as numbers; raise if a name is unknown or a value not within its limits."""
    checked = {}
    for name, value in commands.items():
        if name not in robot.actuators:
            raise UnknownName('command', name, list(robot.actuators))
        actuator = robot.actuators[name]
        least, most = actuator.bounds
        checked[name] = check_number(name, value, least=least, most=most, unit=actuator.unit)
    return checked


def check_wrench(wrench: Any) -> np.ndarray:
    """Return force and moment as an array (6,) [N, N m], or raise."""
    return np.array(check_vector(
        'wrench', wrench, 6, least=-STRONGEST, most=STRONGEST, unit='N, N m'))


def _same(a: Mapping[str, Load], b: Mapping[str, Load]) -> bool:
    """Tell whether two sets of loads are the same objects."""
    return len(a) == len(b) and all(b.get(name) is load for name, load in a.items())


def _pace(actuator: Any) -> tuple[float, float]:
    """Return how fast commands are followed at most [unit/s], and the lag of their supply [s]."""
    return (math.inf if actuator.rate is None else actuator.rate,
            actuator.supply_lag if isinstance(actuator, Chamber) else 0.0)
