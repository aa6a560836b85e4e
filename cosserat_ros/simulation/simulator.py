"""
A robot in time: commands in, shape out.

The one door for nodes, benchmarks and notebooks: limits and rates of commands, supply lines,
friction of tendons, external wrenches and payloads are looked after here; the mechanics are those
of :mod:`cosserat_ros.assembly`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ..assembly.rods import RodsSolver
from ..assembly.solver import Solution
from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_number, check_vector
from ..description.modes import StrainModes
from ..description.parts import Body, Chamber, Inertia, Leg, Tendon
from ..description.robot import Robot, RodShape
from ..laws.actuators import Drives, lengths_and_gradients
from ..numerics.integrators import Rule, STILL
from ..numerics.lie import inverse_se3
from ..rod.kinematics import State
from ..rod.stations import Stations
from .contradictions import contradiction
from .feeding import Fed
from .inversion import Inversion
from .model import GAS_CONSTANT, Model, Placement
from .plastic_bending import BendingFriction
from .spatial_tendons import SpatialTendons
from .tendon_friction import Friction

PASSES = 30  # most solves of one step to find what slips
NEAR = 0.1  # `Friction.gap` below which Newton's method converges
STRONGEST = 1e12  # [N, N m] that a load may be: more is a mistake, and would overflow when turned
CIRCLES = 1e-3  # the same, above which it goes in circles if it has not converged by half time
SETTLED = 1e-5  # of what a tendon does to its rod, to which its friction must follow the law
UNSETTLED = 'dry friction or chords did not settle: they are off by {:.1g} of what they do'


class ActuatorState(NamedTuple):
    """Of one actuator: what it is told, where it is [m, m^3], how fast, its effort [N, Pa]."""

    command: float
    position: float
    effort: float
    velocity: float


class Load(NamedTuple):
    """
    A wrench on the robot from outside.

    It acts on the platform, if there is one and no rod is named; else on a rod at arc length
    `at`, its end if left out. A follower turns with the body: that needs the end of an element,
    and one that is spread or on the platform cannot.
    """

    wrench: np.ndarray        # (6,) total force and moment [N, N m]
    rod: str | None = None
    at: float | None = None   # [m]
    extent: float = 0.0       # length beyond `at` that it is spread over evenly; 0: a point [m]
    follower: bool = False    # along the axes of the body there, not of base_link


class Snapshot(NamedTuple):
    """All that a simulator is at one instant, for another one of the same robot or for later."""

    time: float                  # [s]
    commands: dict[str, float]
    reached: dict[str, float]
    before: dict[str, float]     # reached one step earlier
    elapsed: float               # that step [s]
    loads: dict[str, Load]
    payloads: dict[str, Body]
    friction: dict[str, Any]     # what the tendons' bristles remember
    bending: np.ndarray          # what those of the rods do
    solver: tuple[Any, ...]


class Simulator:
    """
    One robot, for one thread at a time: a second one that solves meanwhile is refused.

    Parameters
    ----------
    robot : Robot
    modes : StrainModes, optional
        Instead of those of the description.
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
        self._loads = self.model.loads()
        self.stations = [
            Stations(d, np.linspace(d.breaks[0], d.breaks[-1], stations))
            for d in self.model.rods]
        self._acting: dict[str, tuple[Load, Placement | None]] = {}
        self._payloads: dict[str, Body] = {}
        self.commands = {name: self.rest_command(name) for name in robot.actuators}
        self._reached = dict(self.commands)  # after rates and supply lines
        self._before, self._elapsed = self._reached, 1.0  # where they were so long ago [s]
        self._slow = {name: actuator for name, actuator in robot.actuators.items()
                      if _takes_time(actuator)}
        self.leg_lengths = np.array([robot.rods[name].length for name in self.model.names])
        self.friction = Friction(self.model, self.solver)
        self.hysteresis = BendingFriction(self.model, self.solver)
        self.chords = SpatialTendons(self.model, self.solver)
        self.inversion = Inversion(self.model, self.solver, self.stations)
        # Whether rods change from step to step, and whether they do so with the answer.
        self._settles = bool(self.friction.sticks or self.hysteresis or self.chords)
        self._changes = bool(robot.legs or self.friction.acts or self._settles)
        self._solving = Lock()

    @property
    def settles(self) -> bool:
        """Whether laws act that statics follows from solve to solve: dry friction, chords."""
        return self._settles

    def laws(self, z: np.ndarray) -> Fed:
        """Return what dry friction and chords do near the unknowns z, by what is remembered."""
        fed = Fed(*(np.zeros_like(part) for part in self.model.feeding.fed(self.leg_lengths)))
        self._add_laws(fed, z, near=True)
        return fed

    def rest_command(self, name: str) -> float:
        """Return the command at which an actuator does nothing to the rest shape."""
        actuator = self.robot.actuators[name]
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
        """Set commands by actuator's name, in described units; refused whole if one is wrong."""
        self.commands.update(check_commands(self.robot, commands))

    def set_wrench(self, wrench: Any, rod: str | None = None, at: float | None = None) -> None:
        """
        Let a force and a moment act at a place, along the axes of base_link, until changed.

        Parameters
        ----------
        wrench : (6,) array
            [N, N m].
        rod, at : str and float, optional
            Where: the platform or the rod's end if left out [m].

        """
        load = Load(check_wrench(wrench), rod, at)
        place = self._placement(load)
        where = 'platform' if place is None else f'{place.rod}:{place.end}:{at}'
        others = {name: held for name, held in self.named_loads.items() if name != where}
        self.set_loads({**others, where: load} if load.wrench.any() else others)

    @property
    def named_loads(self) -> dict[str, Load]:
        """Loads that act now, by name."""
        return {name: load for name, (load, _) in self._acting.items()}

    def set_loads(self, loads: Mapping[str, Load]) -> None:
        """Let these loads act instead of the present ones; refused whole if one is wrong."""
        acting = {}
        for name, load in loads.items():
            held = self._acting.get(name)
            try:
                acting[name] = held if held and held[0] is load else (load, self._placement(load))
            except InvalidModel as error:
                raise error.within(f'load {name!r}') from None
        self._acting = acting
        self._update_loads()

    def _placement(self, load: Load) -> Placement | None:
        """Return where a load acts, None for the platform; raise if it cannot."""
        check_wrench(load.wrench)
        if self.robot.platform is not None and load.rod is None:
            if load.follower or load.extent:
                raise InvalidModel(
                    'kind' if load.follower else 'extent', 'follower' if load.follower
                    else load.extent, 'dead' if load.follower else '0 on the platform')
            return None
        place = self.model.place(load.rod, load.at, load.extent)
        if load.follower and place.end is None:
            raise InvalidModel(
                'at', load.at if load.extent == 0.0 else f'{load.at} over {load.extent} m',
                'one point where an element ends, for a follower: '
                f'{self.model.ends(place.rod)} [m]')
        return place

    def carry(self, name: str, body: Body | None, on_platform: bool = False) -> None:
        """
        Pick up a body where an element of its rod ends, or let go of it (None).

        On the platform, it is seen from there; a leg must be clamped to it, whose end carries it.
        """
        if body is not None:
            body = self._on_leg(body) if on_platform else body
            i = self.model.place(body.rod, body.at).rod
            if body.at is not None and self.model.end_at(i, body.at) is None:
                raise InvalidModel(
                    'at', body.at, f'where an element ends: {self.model.ends(i)} [m]')
        self._payloads = {key: held for key, held in self._payloads.items() if key != name}
        if body is not None:
            self._payloads[name] = body
        self._update_loads()

    def _on_leg(self, body: Body) -> Body:
        """Return a body that is seen from the platform as one at the end of a clamped leg."""
        leg = next((leg for leg in self.robot.legs.values() if leg.joint == 'clamped'), None)
        if leg is None:
            raise InvalidModel('station', 'platform', 'the end of a leg: none of them is clamped')
        g = inverse_se3(leg.attachment.matrix())
        R, J = g[:3, :3], body.inertia.matrix()
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = (R @ J @ R.T).tolist()
        centre = g[:3, :3] @ np.array(body.centre_of_mass) + g[:3, 3]
        return replace(body, rod=leg.rod, at=None, centre_of_mass=tuple(centre.tolist()),
                       inertia=Inertia(xx, yy, zz, xy, xz, yz))

    @property
    def payloads(self) -> dict[str, Body]:
        """Bodies that were picked up, by name."""
        return dict(self._payloads)

    def _update_loads(self) -> None:
        loads, on_platform = self.model.loads(self._payloads), np.zeros(6)
        for load, place in self._acting.values():
            if place is None:
                on_platform += load.wrench
            else:
                self.model.add_wrench(loads, place, load.wrench, load.follower)
        if self.robot.platform is not None:
            self.solver.load_platform(on_platform)
        self.solver.load(loads)
        self._loads = loads

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
            self.named_loads, self._payloads, dict(self.friction.memory),
            self.hysteresis.roots, self.solver.saved())

    def go_to(self, snapshot: Snapshot) -> None:
        """Be what this or another simulator of the same robot was."""
        if snapshot.payloads is not self._payloads or not _same(
                snapshot.loads, self.named_loads):
            self._payloads = snapshot.payloads
            self.set_loads(snapshot.loads)
        self.commands, self._reached = dict(snapshot.commands), snapshot.reached
        self._before, self._elapsed = snapshot.before, snapshot.elapsed
        self.friction.memory = dict(snapshot.friction)
        self.hysteresis.roots = snapshot.bending
        self.solver.restore(snapshot.solver)
        self._feed(self.solver.z)

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
        memory, reached = (dict(self.friction.memory), self.hysteresis.roots), self._reached
        if from_rest:
            self.friction.forget()
            self.hysteresis.forget()
        self._reached = dict(self.commands)
        drives = self.model.drives(self.commands, modes)
        solution = self._settle(drives, lambda: self.solver.statics(from_rest), 0.0)
        if not solution.converged:
            self.friction.memory, self.hysteresis.roots = memory
            self._stay(reached)
        solution = self._explained(solution, drives)
        for name in modes or {}:
            self.commands[name] = self._described_command(name)
        if solution.converged:
            self._reached = self._before = dict(self.commands)
        return solution

    def _stay(self, reached: dict[str, float]) -> None:
        """Let rods and commands be those of the present state, after a solve that failed."""
        self._reached = reached
        self._feed(self.solver.z)

    def _described_command(self, name: str) -> float:
        """Return the command, as described, that keeps a tendon or chamber as it is now."""
        actuator, (i, slot) = self.robot.actuators[name], self.model.places[name]
        length = float(self.solver.lengths()[i, slot] + self.chords.excess[i, slot])
        effort = float(self.solver.efforts[i, slot])
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

        The platform's turn in z is counted from R (3, 3), its present attitude if not given.
        """
        self._reached = self._before = dict(self.commands)
        self.solver.go_to(z, R)

    def _taken(self, name: str, length: float, effort: float) -> float:
        """Return how much of a tendon is taken in at this length on the rod and tension [m]."""
        tendon, rest = self.robot.tendons[name], self.model.rest_lengths[self.model.places[name]]
        return float(rest - length + tendon.compliance * (effort - tendon.pretension))

    def equations(self, yields: bool = False) -> RodsSolver:
        """
        Return the solver with the equations at the present commands, loads and instant.

        Dry friction is in them as it answers to small motions: it sticks, also where it is at its
        limit, unless it `yields` there. `coupled` has what their tangent has no place for.
        """
        self._feed(self.solver.z, True, yields)
        self.solver.drive(self.chords.shifted(self.model.drives(self._reached)))
        return self.solver

    def coupled(self, K: np.ndarray) -> np.ndarray:
        """Return the tangent dr/dz of `equations`, with what efforts do by friction and chords."""
        return self.friction.coupled(self.chords.coupled(K))

    def step(self, dt: float | None = None) -> Solution:
        """
        Advance by dt [s], that of the description if not given.

        A converged solution has a message where a rod is turned inside out.
        """
        dt = self.robot.time.step if dt is None else dt
        before, reached = self._reached, dict(self.commands)
        for name, actuator in self._slow.items():
            reached[name] = _follow(actuator, before[name], reached[name], dt)
        self._reached = reached
        drives = self.model.drives(reached)
        solution = self._settle(drives, lambda: self.solver.step(dt), dt)
        if not solution.converged:
            self._stay(before)
        self._before, self._elapsed = before, dt
        return self._explained(solution, drives)

    def _explained(self, solution: Solution, drives: Drives) -> Solution:
        """Return how a solve ended; with the names of commands, if it was they."""
        if solution.converged or 'singular' not in solution.message:
            return solution
        why = contradiction(self.model, self.solver, self.chords.shifted(drives))
        return solution._replace(message=(
            f'{why}; a tendon that has a compliance, or is told its tension, would follow '
            f'({solution.message})')) if why else solution

    def _feed(self, z: np.ndarray, near: bool = False, yields: bool = False) -> None:
        """Give rods the lengths of their legs, and what their tendons do near the unknowns z."""
        if not self._changes:
            return
        for name in self.robot.legs:
            self.leg_lengths[self.model.places[name].rod] = self._reached[name]
        fed = self.model.feeding.fed(self.leg_lengths)
        self._add_laws(fed, z, near, yields)
        self.solver.change_rods(*fed)

    def _add_laws(self, fed: Fed, z: np.ndarray, near: bool, yields: bool = False) -> None:
        """Add what friction and chords do near the unknowns z to rods."""
        self.friction.add_to(fed, z, near, yields)
        if self.hysteresis:
            self.hysteresis.add_to(fed, z, yields)
        self.chords.add_to(fed, z)

    def _settle(
        self, drives: Drives, solve: Callable[[], Solution], ahead: float,
    ) -> Solution:
        """
        Solve until dry friction and chords are what they should be at the end.

        If they are not after as many solves as are allowed, nothing is changed: neither the state
        nor what friction remembers. A rod that is turned inside out is no equilibrium: all stays
        as it was. In motion it is said: a robot that stood still there would never come out of it.

        Parameters
        ----------
        drives : Drives
        solve : callable
            Goes from the present to another state.
        ahead : float
            Time to there; 0 in statics [s].

        """
        if not self._solving.acquire(blocking=False):
            raise RuntimeError('another thread solves with this simulator: it is for one alone')
        try:
            return self._settle_alone(drives, solve, ahead)
        finally:
            self._solving.release()

    def _settle_alone(
        self, drives: Drives, solve: Callable[[], Solution], ahead: float,
    ) -> Solution:
        before = self.solver.saved() if self._settles or not ahead else ()
        self._feed(self.solver.z)
        self.solver.drive(drives)
        solution = self._settled(drives, solve, ahead, before) if self._settles else solve()
        if not solution.converged:
            return solution
        wrong = self.inversion.found(self.solver.z)
        if wrong and not ahead:
            self.solver.restore(before)
            return solution._replace(z=self.solver.z, converged=False, message=wrong)
        if self._settles:
            self.friction.keep()
            self.hysteresis.keep()
        return solution._replace(message=wrong) if wrong else solution

    def _settled(
        self, drives: Drives, solve: Callable[[], Solution], ahead: float,
        before: tuple[Any, ...],
    ) -> Solution:
        """Go to a solution that follows all laws, or nowhere; see `_settle`."""
        z, rule = self.solver.z, self.solver.rule(ahead) if ahead else STILL
        least = np.inf
        for tried in range(PASSES):
            self.solver.drive(self.chords.shifted(drives))
            solution = solve()
            if not solution.converged:
                break
            gap = max(self.friction.gap(), self.hysteresis.gap(), self.chords.gap())
            if gap < SETTLED:
                return solution._replace(gap=gap)
            least = min(least, gap)
            try:
                exact = gap < (CIRCLES if self.friction.sticks else NEAR)
                found = self._corrected(drives, rule, exact)
            except np.linalg.LinAlgError:
                break
            circles = gap > CIRCLES and tried > PASSES // 2
            z = z + (0.5 if circles else 1.0) * (found - z)
            self._feed(z, gap < NEAR)
            if ahead:
                self.solver.restore(before)
        self.solver.restore(before)
        return solution._replace(
            z=self.solver.z, converged=False, gap=least if np.isfinite(least) else 0.0,
            message=solution.message or UNSETTLED.format(least))

    def _corrected(self, drives: Drives, rule: Rule, exact: bool) -> np.ndarray:
        """
        Return unknowns nearer to all laws than the present, where those hold that were given.

        By Newton's method, whose residual is the difference of these laws, if it is to be `exact`;
        else by what slips. For bending friction, the solver's own tangent is exact.
        """
        solver = self.solver
        if not (self.friction.sticks or self.chords):
            return solver.z
        r, K = solver.jacobian(solver.z, solver.z_t, solver.z_tt, *rule.new[:2])
        if not exact:
            return self.friction.relaxed(K) if self.friction.sticks else solver.z
        self._feed(solver.z, True)
        solver.drive(self.chords.shifted(drives))
        wanted, K = solver.jacobian(solver.z, solver.z_t, solver.z_tt, *rule.new[:2])
        return solver.z - np.linalg.solve(self.coupled(K), wanted - r)

    # --- What it looks like ---

    def shape(self) -> dict[str, RodShape]:
        """Return the shape of all rods, seen from base_link."""
        shape = {}
        for i, name in enumerate(self.model.names):
            base = self.solver.base(i)
            shape[name] = self.stations[i].shape(self.solver.state(i), base.R, base.p)
        return shape

    def twists(self, shape: Mapping[str, RodShape]) -> dict[str, np.ndarray]:
        """Return velocity and angular velocity of stations, (M, 6) [m/s, rad/s], body frame."""
        return {
            name: self.stations[i].twists(
                self.solver.state(i), self.solver.base(i), shape[name].poses)
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

    def tip_pose(self) -> np.ndarray:
        """Return the pose of the tip in base_link, (4, 4) [m]."""
        if self.robot.platform is not None:
            carrier, offset = self.solver.platform, self.robot.tip.offset.matrix()
            R, p = carrier.R, carrier.p
        else:
            i = self.model.names.index(self.robot.rod_name(self.robot.tip.rod))
            x, offset = self.solver.state(i), self.robot.tip.offset.matrix()
            R, p = x.Rc[-1], x.p_end[-1]
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = R, p
        return g @ offset

    def tip_twist(self) -> np.ndarray:
        """Return velocity and angular velocity of the tip, axes of base_link, (6,)."""
        if self.robot.platform is not None:
            carrier = self.solver.platform
            velocity, spin, p = carrier.p_t, carrier.Om, carrier.p
        else:
            x = self.solver.state(self.model.names.index(self.robot.rod_name(self.robot.tip.rod)))
            velocity, spin, p = x.p_end_t[-1], x.Om[-1], x.p_end[-1]
        arm = self.tip_pose()[:3, 3] - p
        return np.concatenate([velocity + np.cross(spin, arm), spin])

    def actuators(self) -> dict[str, ActuatorState]:
        """Return what every actuator is told, where it is, how fast, and its effort."""
        efforts, model = self.solver.efforts, self.model
        lam = model.feeding.stretches(self.leg_lengths)
        states: dict[str, ActuatorState] = {}
        seen: dict[int, tuple[State, np.ndarray, np.ndarray]] = {}
        for name, actuator in self.robot.actuators.items():
            i, slot = model.places[name]
            if i not in seen:
                x = self.solver.state(i)
                lengths, gradients = lengths_and_gradients(self.solver.paths[i], x.xi)
                seen[i] = x, lengths, np.einsum('mnc,nc->m', gradients, x.xi_t)
            x, lengths, rates = seen[i]
            told = self._reached[name]
            rate = (told - self._before[name]) / self._elapsed
            if isinstance(actuator, Leg):
                push = -self.stations[i].at_stations(self._stress(i, x, lam[i]))[0, 2]
                states[name] = ActuatorState(told, told, float(push), rate)
            elif isinstance(actuator, Tendon) and actuator.command == 'displacement':
                states[name] = ActuatorState(told, told, float(efforts[i, slot]), rate)
            elif isinstance(actuator, Tendon):
                length = lengths[slot] + self.chords.excess[i, slot]
                states[name] = ActuatorState(
                    told, self._taken(name, length, efforts[i, slot]), float(efforts[i, slot]),
                    float(actuator.compliance * rate - rates[slot]))
            else:
                states[name] = ActuatorState(
                    told, float(lengths[slot]), float(-efforts[i, slot]), float(rates[slot]))
        return states


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


def _takes_time(actuator: Any) -> bool:
    """Tell whether commands are not followed at once."""
    limited = actuator.limits is not None and actuator.limits.rate is not None
    return limited or (isinstance(actuator, Chamber) and actuator.supply_lag > 0.0)


def _follow(actuator: Any, now: float, command: float, dt: float) -> float:
    """Return where a command has got to after dt [s]: its rate is limited, its supply lags."""
    change = command - now
    if actuator.limits and actuator.limits.rate is not None:
        most = actuator.limits.rate * dt
        change = max(-most, min(most, change))
    lag = actuator.supply_lag if isinstance(actuator, Chamber) else 0.0
    return now + change * (dt / (lag + dt))
