"""Commands that change in time: a JointTrajectory, checked and interpolated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Optional

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from ...checks.errors import InvalidModel, UnknownName
from ...checks.fields import check_vector
from ...description.robot import Robot
from ...simulation.simulator import check_commands, Simulator


class Trajectory(NamedTuple):
    """Commands at instants; linear in between, or cubic where their rates are given."""

    names: tuple[str, ...]
    times: np.ndarray            # (n,) [s], after a start
    values: np.ndarray           # (n, m), in the units of the commands
    rates: Optional[np.ndarray]  # (n, m) per second

    @property
    def end(self) -> float:
        """When it is over [s]."""
        return float(self.times[-1])

    def at(self, time: float) -> dict[str, float]:
        """Return the commands at an instant [s]; those of the last point afterwards."""
        t = min(max(time, self.times[0]), self.times[-1])
        if len(self.times) == 1:
            return dict(zip(self.names, self.values[0].tolist()))
        k = min(int(np.searchsorted(self.times, t, side='right')) - 1, len(self.times) - 2)
        x = (t - self.times[k]) / (self.times[k + 1] - self.times[k])
        return dict(zip(self.names, self._between(np.array([k]), x)[0].tolist()))

    def slopes_at(self, time: float) -> dict[str, float]:
        """Return how fast the commands change at an instant [s], per second; 0 when it is over."""
        slopes = np.zeros(len(self.names))
        if len(self.times) > 1 and self.times[0] <= time < self.times[-1]:
            k = int(np.searchsorted(self.times, time, side='right')) - 1
            h = self.times[k + 1] - self.times[k]
            x, chord = (time - self.times[k]) / h, (self.values[k + 1] - self.values[k]) / h
            slopes = chord if self.rates is None else (
                6 * x * (1 - x) * chord + (1 - x) * (1 - 3 * x) * self.rates[k]
                + x * (3 * x - 2) * self.rates[k + 1])
        return dict(zip(self.names, slopes.tolist()))

    def _between(self, k: np.ndarray, x: float) -> np.ndarray:
        """Return the values at a fraction x of the intervals k, (intervals, m)."""
        a, b = self.values[k], self.values[k + 1]
        if self.rates is None:
            return a + x * (b - a)
        h = (self.times[k + 1] - self.times[k])[:, None]
        return ((1 + 2 * x) * (1 - x) ** 2 * a + x ** 2 * (3 - 2 * x) * b  # Hermite's cubic
                + x * (1 - x) * h * ((1 - x) * self.rates[k] - x * self.rates[k + 1]))

    def check_between(self, robot: Robot) -> None:
        """Raise if a cubic swings out of the limits between two points, as far as samples tell."""
        if self.rates is None:
            return
        k = np.arange(len(self.times) - 1)
        for x in np.linspace(0.0, 1.0, 17)[1:-1]:
            values = self._between(k, float(x))
            for extreme in (values.min(axis=0), values.max(axis=0)):
                try:
                    check_commands(robot, dict(zip(self.names, extreme.tolist())))
                except InvalidModel as error:
                    raise error.within('between two points, by its velocities,') from None


class Pursuit:
    """
    A trajectory that a robot follows.

    Parameters
    ----------
    trajectory : Trajectory
    start : float
        Simulated time from which on it does [s].

    """

    def __init__(self, trajectory: Trajectory, start: float) -> None:
        self.trajectory, self.start = trajectory, start

    def commands(self, time: float) -> dict[str, float]:
        """Return the commands at a simulated time [s]."""
        return self.trajectory.at(time - self.start)

    def judge(self, sim: Simulator, failure: str) -> Optional[Mapping[str, float]]:
        """
        Look at the robot after a step, or at why that failed; by the stepping thread.

        Returns
        -------
        mapping of str to float or None
            Commands that end it, perhaps none; None while it goes on.

        """
        over = not failure and sim.time - self.start > self.trajectory.end
        return {} if over else None

    def stop(self, reason: str) -> None:
        """Hear that something else took over; by any thread."""


def holding(sim: Simulator, names: Iterable[str]) -> dict[str, float]:
    """Return the commands by which actuators stay at what they have reached."""
    return {name: 0.0 if sim.robot.actuators[name].interface == 'velocity' else sim.reached(name)
            for name in names}


def read_trajectory(
    robot: Robot, message: JointTrajectory, present: Mapping[str, float], delay: float,
) -> Trajectory:
    """
    Return what a message asks for, or raise `InvalidModel`.

    Each actuator takes the array of its interface: `positions`, or `effort` for tensions and
    pressures. `velocities` are the rates of the commands, whatever they are. Before the first
    point, the command goes there from where it is.

    Parameters
    ----------
    robot : Robot
    message : JointTrajectory
    present : mapping of str to float
        Commands at the start.
    delay : float
        Until it starts; negative if it has started already [s].

    """
    names = list(message.joint_names)
    known = list(robot.actuators)
    for name in names:
        if name not in known:
            raise UnknownName('joint_names', name, known)
    if not names or len(set(names)) < len(names):
        raise InvalidModel('joint_names', names, 'names of actuators, each once')
    if not message.points:
        raise InvalidModel('points', [], 'at least one')
    times: list[float] = []
    values: list[list[float]] = []
    rates: list[tuple[float, ...]] = []
    for i, point in enumerate(message.points):
        times.append(point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec)
        try:
            values.append(_commands(robot, names, point))
            own = _rates(robot, names, point)
            if own is not None or rates:
                rates.append(own or check_vector('velocities', [], len(names)))
        except InvalidModel as error:
            raise error.within(f'points[{i}]') from None
        if i and not times[i] > times[i - 1] or times[0] < 0.0:
            raise InvalidModel(
                f'points[{i}].time_from_start', times[i],
                '>= 0, and more than that of the point before [s]')
    if rates and len(rates) < len(times):
        raise InvalidModel('points[0].velocities', [], 'given for all points, or for none')
    if delay + times[-1] < 0.0:
        raise InvalidModel(
            'header.stamp', f'{-delay:.3f} s ago',
            f'less than {times[-1]:g} s ago: all its points are past')
    t, v = np.array(times) + delay, np.array(values)
    r = np.array(rates) if rates else None
    if t[0] > 0.0:
        t, v = np.append(0.0, t), np.vstack([[present[name] for name in names], v])
        r = None if r is None else np.vstack([np.zeros(len(names)), r])
    trajectory = Trajectory(tuple(names), t, v, r)
    trajectory.check_between(robot)
    return trajectory


def _rates(robot: Robot, names: list[str], point) -> Optional[tuple[float, ...]]:
    """Return the rates of the commands of a point, if they are given: those of velocities too."""
    paced = [robot.actuators[name].interface == 'velocity' for name in names]
    given = point.accelerations if all(paced) else point.velocities
    if not len(given):
        return None
    rates = check_vector('accelerations' if all(paced) else 'velocities', list(given), len(names))
    if not any(paced) or all(paced):
        return rates
    faster = check_vector('accelerations', list(point.accelerations) or [0.0] * len(names),
                          len(names))
    return tuple(a if own else v for own, a, v in zip(paced, faster, rates))


def _commands(robot: Robot, names: list[str], point) -> list[float]:
    """Return the commands of a point."""
    arrays = {'position': point.positions, 'velocity': point.velocities, 'effort': point.effort}
    fields = {'position': 'positions', 'velocity': 'velocities', 'effort': 'effort'}
    for interface, array in arrays.items():
        if len(array) not in (0, len(names)):
            raise InvalidModel(fields[interface], len(array), f'none or {len(names)} numbers')
    commands = {}
    for k, name in enumerate(names):
        interface = robot.actuators[name].interface
        if not len(arrays[interface]):
            raise InvalidModel(fields[interface], [], f'given: {name} is commanded by it')
        commands[name] = arrays[interface][k]
    return list(check_commands(robot, commands).values())
