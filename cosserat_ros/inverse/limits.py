"""Limits of the actuation, and of commands that follow from it and from the shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_number
from ..description.joints import JointDrive
from ..description.parts import Chamber, Tendon
from ..laws.actuators import Drives
from ..simulation.model import GAS_CONSTANT
from .mechanics import Mechanics
from .quadratic import Box

LEAST_FED = 1e-3  # part of a leg's first segment that is always fed
NONE = np.zeros(0)


class Measured(NamedTuple):
    """Of commands that follow from shape and effort, near a point."""

    gradient: np.ndarray  # (k, unknowns) with z
    size: np.ndarray      # (k,) of their slope with x = du / scale


class Limits:
    """
    Limits of the actuation u and of commands that are not efforts.

    Tension, minus the pressure, the length of a leg, or position or effort of a joint is u; a
    joint with a velocity drive stays where it is, and its command is 0. Displacements, volumes and
    amounts of gas follow from u and the shape ('measured').
    """

    def __init__(self, mechanics: Mechanics, bounds: Mapping[str, Any] | None,
                 scale: np.ndarray) -> None:
        self.mechanics, self.model = mechanics, mechanics.sim.model
        m = len(mechanics.names)
        self.box = Box(np.full(m, -np.inf), np.full(m, np.inf), scale)
        self.least, self.most = self.box.least, self.box.most
        ranges = [_command_range(name, actuator, (bounds or {}).get(name))
                  for name, actuator in zip(mechanics.names, mechanics.actuators)]
        self.ranges = tuple(ranges)
        self.command_least, self.command_most = np.array(ranges).T
        self._sides = np.concatenate([np.eye(m), -np.eye(m)])
        self.pulls = np.array([isinstance(a, Tendon) for a in mechanics.actuators])
        for name in bounds or {}:
            if name not in mechanics.names:
                raise UnknownName('bounds', name, mechanics.names)
        measured = []
        for j, (actuator, (least, most)) in enumerate(
                zip(mechanics.actuators, ranges)):
            if j in mechanics.paced:
                self.least[j] = self.most[j] = mechanics.rest_actuation[j]
            elif actuator.command in ('tension', 'length') or isinstance(actuator, JointDrive):
                self.least[j], self.most[j] = least, most
            elif actuator.command == 'pressure':
                self.least[j], self.most[j] = -most, -least
            else:
                measured.append(j)
                self.least[j] = 0.0 if isinstance(actuator, Tendon) else -np.inf
                if isinstance(actuator, Chamber):
                    self.most[j] = actuator.ambient_pressure
        self.measured = np.array(measured, dtype=int)
        self._coefficients()
        self._leave_legs_a_fed_part()

    def _leave_legs_a_fed_part(self) -> None:
        robot, model = self.mechanics.sim.robot, self.model
        for j in np.flatnonzero(self.mechanics.leg):
            rod = robot.rods[model.names[self.mechanics.rod[j]]]
            shortest = rod.length - (1.0 - LEAST_FED) * rod.segments[0].length
            self.least[j] = max(self.least[j], shortest)

    def _coefficients(self) -> None:
        """Write commands as constant + by_length length + by_u u; gas has its own law."""
        mechanics, m = self.mechanics, len(self.mechanics.names)
        self.constant, self.by_length, self.by_u = np.zeros(m), np.zeros(m), np.ones(m)
        self.by_u[mechanics.paced] = 0.0
        self.gas = [j for j, a in enumerate(mechanics.actuators) if a.command == 'amount']
        for j, actuator in enumerate(mechanics.actuators):
            if isinstance(actuator, Tendon) and actuator.command == 'displacement':
                rest = self.model.rest_lengths[mechanics.number[j]]
                self.constant[j] = rest - actuator.compliance * actuator.pretension
                self.by_length[j], self.by_u[j] = -1.0, actuator.compliance
            elif isinstance(actuator, Chamber):
                self.by_u[j] = 0.0 if actuator.command == 'volume' else -1.0
                self.by_length[j] = 1.0 if actuator.command == 'volume' else 0.0

    def values(
        self, u: np.ndarray, length: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return commands, and their slopes with the actuator's length and with u, (m,) each."""
        value = self.constant + self.by_length * length + self.by_u * u
        by_length, by_u = self.by_length, self.by_u
        if self.gas:
            by_length, by_u = by_length.copy(), by_u.copy()
        for j in self.gas:
            chamber = self.mechanics.actuators[j]
            assert isinstance(chamber, Chamber)
            thermal = GAS_CONSTANT * chamber.temperature
            volume, pressure = length[j] + chamber.dead_volume, chamber.ambient_pressure - u[j]
            value[j] = pressure * volume / thermal
            by_length[j], by_u[j] = pressure / thermal, -volume / thermal
        return value, by_length, by_u

    def commands(self, z: np.ndarray, u: np.ndarray) -> tuple[dict[str, float], bool]:
        """
        Return what to tell the actuators, and whether that is exactly what u asks for.

        A slack tendon is told to just fit.
        """
        asked = self.values(u, self.mechanics.lengths(z))[0]
        value = np.clip(asked, self.command_least, self.command_most)
        exact = bool(np.all(value[self.measured] == asked[self.measured]))
        return dict(zip(self.mechanics.names, value.tolist())), exact

    def drives(self, commands: Mapping[str, float]) -> Drives:
        """Return the rules of the described commands."""
        drives = self.mechanics.described
        for j, name in enumerate(self.mechanics.names):
            actuator = self.mechanics.actuators[j]
            if isinstance(actuator, Tendon | Chamber):
                drives.command[self.mechanics.number[j]] = (
                    self.model.told(name, actuator, actuator.command, commands[name]))
        return drives

    def linearise(
        self, z: np.ndarray, u: np.ndarray, slope: np.ndarray,
    ) -> tuple[np.ndarray, Measured]:
        """
        Return the normals of all limits of x = du / scale near z and u, (limits, m).

        Those of u, least and greatest, then those of measured commands. slope (m, unknowns) is
        that of z with x.
        """
        j = self.measured
        if not j.size:
            return self._sides, Measured(np.zeros((0, z.size)), np.ones(0))
        _, by_length, by_u = self.values(u, self.mechanics.lengths(z))
        gradient = by_length[j, None] * self.mechanics.length_slopes(z)[j]
        row = gradient @ slope.T
        row[np.arange(j.size), j] += (by_u * self.box.scale)[j]
        size = np.linalg.norm(row, axis=1)
        row /= size[:, None]
        return np.concatenate([self._sides, row, -row]), Measured(gradient, size)

    def gaps(
        self, measured: Measured, z: np.ndarray, u: np.ndarray, settle: np.ndarray,
    ) -> tuple[Box, np.ndarray]:
        """Return the limits of u, and by how much measured commands are within theirs, < 0."""
        j = self.measured
        if not j.size:
            return self.box, NONE
        value = self.values(u, self.mechanics.lengths(z))[0][j] + measured.gradient @ settle
        above, box = (value - self.command_most[j]) / measured.size, self.box
        stays = (above > 0.0) & (u[j] <= 0.0) & self.pulls[j]  # slack: may be told less
        if stays.any():
            above[stays], most = -np.inf, box.most.copy()
            most[j[stays]] = u[j[stays]]
            box = box._replace(most=most)
        below = (self.command_least[j] - value) / measured.size
        return box, np.concatenate([below, above])

    def violation(self, z: np.ndarray, u: np.ndarray, sizes: np.ndarray) -> float:
        """Return the sum of squares by which measured commands are beyond their limits."""
        if not self.measured.size:
            return 0.0
        value = self.values(u, self.mechanics.lengths(z))[0]
        slack = (u <= 0.0) & self.pulls
        beyond = np.maximum(
            self.command_least - value, np.where(slack, 0.0, value - self.command_most))
        beyond = np.maximum(beyond, 0.0)[self.measured] / sizes[self.measured]
        return float(beyond @ beyond)


def _command_range(name: str, actuator: Any, further: Any) -> tuple[float, float]:
    """Return least and greatest command, by the description and by what is given beside it."""
    least, most = actuator.bounds
    if further is None:
        return least, most
    field = f'bounds.{name}'
    if not isinstance(further, (Sequence, np.ndarray)) or len(further) != 2:
        raise InvalidModel(field, further, f'least and greatest command [{actuator.unit}]')
    for i, value in enumerate(further):
        if value is not None and not (isinstance(value, float) and math.isinf(value)):
            check_number(f'{field}[{i}]', value, unit=actuator.unit)
    least = max(least, -np.inf if further[0] is None else float(further[0]))
    most = min(most, np.inf if further[1] is None else float(further[1]))
    if least > most:
        raise InvalidModel(
            field, tuple(further), f'a range that meets {actuator.bounds} [{actuator.unit}]')
    return least, most
