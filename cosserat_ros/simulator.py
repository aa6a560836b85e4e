"""
A robot in time: commands in, shape out.

The one door for nodes, benchmarks and notebooks: limits and rates of commands, supply lines,
friction of tendons, external wrenches and payloads are looked after here; the mechanics are those
of :mod:`cosserat_ros.system`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .checked import check_number
from .chords import SpatialTendons
from .errors import UnknownName
from .friction import Friction
from .integrators import STILL
from .model import GAS_CONSTANT, Model, Stations
from .parts import Body, Chamber, Leg, Tendon
from .robot import Robot, RodShape
from .solver import Solution
from .strain import StrainModes
from .system import System, unbalance_and_jacobian

PASSES = 12  # most solves of one step to find what slips
NEAR = 0.1  # `Friction.gap` below which Newton's method converges
SETTLED = 1e-5  # of what a tendon does to its rod, to which its friction must follow the law


class ActuatorState(NamedTuple):
    """Of one actuator: what it is told, where it is [m, m^3], and its effort [N, Pa]."""

    command: float
    position: float
    effort: float


class Simulator:
    """
    One robot.

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
        self.robot = robot
        self.model = Model(robot, modes)
        self.solver = self.model.solver()
        self._loads = self.model.loads()
        self.stations = [
            Stations(d, np.linspace(d.breaks[0], d.breaks[-1], stations))
            for d in self.model.rods]
        self._wrenches: dict[tuple[str, float], np.ndarray] = {}
        self._payloads: dict[str, Body] = {}
        self.commands = {name: self.rest_command(name) for name in robot.actuators}
        self._reached = dict(self.commands)  # after rates and supply lines
        self.leg_lengths = np.array([robot.rods[name].length for name in self.model.names])
        self.friction = Friction(self.model, self.solver)
        self.chords = SpatialTendons(self.model, self.solver)
        self._fed_loads = self._loads

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
        for name, value in commands.items():
            if name not in self.robot.actuators:
                raise UnknownName('command', name, list(self.robot.actuators))
            actuator = self.robot.actuators[name]
            least, most = actuator.bounds
            check_number(name, value, least=least, most=most, unit=actuator.unit)
        self.commands.update({name: float(value) for name, value in commands.items()})

    def set_wrench(self, wrench: Any, rod: str | None = None, at: float | None = None) -> None:
        """
        Let a force and a moment act, along the axes of base_link, until changed.

        Parameters
        ----------
        wrench : (6,) array
            [N, N m].
        rod, at : str and float, optional
            Where: the platform or the rod's end if left out [m].

        """
        array = np.array([check_number(f'wrench[{i}]', x) for i, x in enumerate(wrench)])
        if array.shape != (6,):
            check_number('wrench', len(array), least=6, most=6)
        if self.robot.platform is not None and rod is None:
            self.solver.load_platform(array)
            return
        name = self.robot.rod_name(rod)
        if name not in self.robot.rods:
            raise UnknownName('rod', name, list(self.robot.rods))
        length = self.robot.rods[name].length
        s = length if at is None else check_number('at', at, least=0.0, most=length, unit='m')
        self._wrenches[name, s] = array
        self._update_loads()

    def carry(self, name: str, body: Body | None) -> None:
        """Pick up a body at the end of its rod, or let go of it (None)."""
        self._payloads.pop(name, None)
        if body is not None:
            self._payloads[name] = body
        self._update_loads()

    def _update_loads(self) -> None:
        loads = self.model.loads(self._payloads)
        for (name, s), wrench in self._wrenches.items():
            i = self.model.names.index(name)
            d = self.model.rods[i]
            ends = np.flatnonzero(np.abs(d.breaks[1:] - s) < 1e-9 * d.breaks[-1])
            if ends.size:
                loads.end_force[i, ends[0]] += wrench[:3]
                loads.end_moment[i, ends[0]] += wrench[3:]
            else:
                force, moment = Stations(d, np.array([s])).spread(0, wrench)
                loads.line_force[i] += force
                loads.line_moment[i] += moment
        self._loads = loads

    @property
    def loads(self) -> Any:
        """Loads that act now, without the stress of fed legs; another object when they change."""
        return self._loads

    def reached(self, name: str) -> float:
        """Return where a command has got to, after rates and supply lines."""
        return self._reached[name]

    def saved(self) -> tuple[Any, ...]:
        """Return commands and state, for `restore`; loads are not among them."""
        return (dict(self.commands), dict(self._reached), self.solver.saved(),
                dict(self.friction.memory))

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to commands and state that were `saved`."""
        self.commands, self._reached = dict(saved[0]), dict(saved[1])
        self.solver.restore(saved[2])
        self.friction.memory = dict(saved[3])
        self._feed(self.solver.z)

    # --- Motion ---

    def statics(
        self, modes: Mapping[str, str] | None = None, from_rest: bool = False,
    ) -> Solution:
        """
        Go to the equilibrium of the present commands and loads, and stay there.

        With dry friction, which one depends on the way: it is gone in one stroke from the last
        state, or from rods and tendons at rest.
        """
        self._reached = dict(self.commands)
        if from_rest:
            self.friction.forget()
        drives = self.model.drives(self.commands, modes)
        return self._settle(
            lambda: self.solver.statics(
                self._fed_loads, self.chords.shifted(drives), from_rest), ahead=0.0)

    def system(self) -> System:
        """
        Return the equations at the present commands, loads and instant.

        Dry friction is in them as it answers to small motions: it sticks.
        """
        self._feed(self.solver.z)
        return self.solver.system(
            self._fed_loads, self.chords.shifted(self.model.drives(self._reached)))

    def step(self, dt: float | None = None) -> Solution:
        """Advance by dt [s], that of the description if not given."""
        dt = self.robot.time.step if dt is None else dt
        before = dict(self._reached)
        for name, actuator in self.robot.actuators.items():
            self._reached[name] = _follow(
                actuator, self._reached[name], self.commands[name], dt)
        drives = self.model.drives(self._reached)
        solution = self._settle(
            lambda: self.solver.step(self._fed_loads, dt, self.chords.shifted(drives)), ahead=dt)
        if not solution.converged:
            self._reached = before
        return solution

    def _feed(self, z: np.ndarray, near: bool = False) -> None:
        """Give rods the lengths of their legs, and what their tendons do near the unknowns z."""
        for name in self.robot.legs:
            self.leg_lengths[self.model.places[name].rod] = self._reached[name]
        self._fed_loads = self._loads
        if not (self.robot.legs or self.friction.acts or self.chords):
            return
        fed = self.model.fed(self.leg_lengths)
        self.friction.add_to(fed, z, near)
        self.chords.add_to(fed, z)
        self.solver.change_rods(fed.elastic, fed.viscous, fed.inertia)
        self._fed_loads = self._loads._replace(stress=self._loads.stress + fed.stress)

    def _settle(self, solve: Callable[[], Solution], ahead: float) -> Solution:
        """
        Solve until dry friction and chords are what they should be at the end.

        Or as often as is allowed: then the best of these solutions is taken.

        Parameters
        ----------
        solve : callable
            Goes from the present to another state.
        ahead : float
            Time to there; 0 in statics [s].

        """
        before, z = self.solver.saved(), self.solver.z
        rule = self.solver.rule(ahead) if ahead else STILL
        self._feed(z)
        if not (self.friction.sticks or self.chords):
            return solve()
        best, least = None, np.inf
        for tried in range(PASSES):
            solution = solve()
            if not solution.converged:
                break
            gap = max(self.friction.gap(), self.chords.gap())
            if best is None or gap < least:
                best, least = (solution, self.solver.saved()), gap
            if gap < SETTLED:
                break
            found = self.solver.z
            if self.friction.sticks:
                found = self.friction.relaxed(unbalance_and_jacobian(
                    self.solver.system(self._fed_loads), found, self.solver.z_t,
                    self.solver.z_tt, *rule.new[:2])[1])
            z = z + (1.0 if tried < PASSES // 2 else 0.5) * (found - z)  # else in circles
            self._feed(z, gap < NEAR)
            if ahead:
                self.solver.restore(before)
        if best is None:
            return solution
        self.solver.restore(best[1])
        self.friction.keep()
        return best[0]

    # --- What it looks like ---

    def shape(self) -> dict[str, RodShape]:
        """Return the shape of all rods, seen from base_link."""
        shape = {}
        for i, name in enumerate(self.model.names):
            base = self.solver.base(i)
            shape[name] = self.stations[i].shape(self.solver.state(i), base.R, base.p)
        return shape

    def internal_wrenches(self) -> dict[str, np.ndarray]:
        """
        Return force and moment within each rod at the stations, (M, 6) [N, N m], body frame.

        Of the rod itself, by its law of material: what tendons and fluid carry is not in it.
        """
        wrenches = {}
        lam = self.model.stretches(self.leg_lengths)
        for i, (name, d) in enumerate(zip(self.model.names, self.model.rods)):
            x = self.solver.state(i)
            longer = np.where(self.model.fed_nodes[i], lam[i], 1.0)[:, None]
            wrench = (d.stiffness * (x.xi / longer - d.rest_strain)
                      + d.damping * x.xi_t / longer)
            wrenches[name] = self.stations[i].at_stations(wrench)
        return wrenches

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

    def actuators(self) -> dict[str, ActuatorState]:
        """Return what every actuator is told, where it is, and its effort."""
        lengths, efforts = self.solver.lengths(), self.solver.efforts
        states = {}
        for name, actuator in self.robot.actuators.items():
            i, slot = self.model.places[name]
            told = self._reached[name]
            if isinstance(actuator, Leg):
                states[name] = ActuatorState(told, told, float(self.solver.axial_force(i)))
            elif isinstance(actuator, Tendon):
                taken = (self.model.rest_lengths[i, slot] - lengths[i, slot]
                         - self.chords.excess[i, slot]
                         + actuator.compliance * (efforts[i, slot] - actuator.pretension))
                position = told if actuator.command == 'displacement' else float(taken)
                states[name] = ActuatorState(told, position, float(efforts[i, slot]))
            else:
                states[name] = ActuatorState(
                    told, float(lengths[i, slot]), float(-efforts[i, slot]))
        return states


def _follow(actuator: Any, now: float, command: float, dt: float) -> float:
    """Return where a command has got to after dt [s]: its rate is limited, its supply lags."""
    change = command - now
    if actuator.limits and actuator.limits.rate is not None:
        most = actuator.limits.rate * dt
        change = max(-most, min(most, change))
    lag = actuator.supply_lag if isinstance(actuator, Chamber) else 0.0
    return now + change * (dt / (lag + dt))
