"""
How far actuators may be from a trajectory: the tolerances of an action's goal.

As joint_trajectory_controller has it, 0 leaves a tolerance at the default, here none, and -1 takes
it away. `position` bounds the error of what is commanded, in the unit of the command: a position,
or tension, pressure and effort, for which JointTolerance has no field of its own. `velocity`
bounds the error of the velocity of what is commanded by position or by velocity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional

from ...checks.errors import InvalidModel, UnknownName
from ...checks.fields import check_number
from ...description.robot import Robot
from ...simulation.simulator import ActuatorState

DEFAULT, ERASED = 0.0, -1.0  # what these values of a tolerance stand for


class Sample(NamedTuple):
    """An actuator on its trajectory at one instant."""

    interface: str        # by which it is commanded
    desired: float        # by that interface
    desired_rate: float   # per second
    actual: float
    state: ActuatorState

    def error(self, quantity: str) -> float:
        """Return desired less actual 'position' or 'velocity', in the sense of this module."""
        if quantity == 'velocity' and self.interface == 'position':
            return self.desired_rate - self.state.velocity
        return self.desired - self.actual


class Tolerance(NamedTuple):
    """The greatest error of one quantity of one actuator."""

    name: str
    quantity: str
    most: float
    unit: str


def sample(robot: Robot, name: str, desired: float, rate: float, state: ActuatorState) -> Sample:
    """Return an actuator on its trajectory."""
    actuator = robot.actuators[name]
    # The position of a chamber is its volume, also where it is told an amount of gas.
    actual = (state.command if actuator.command == 'amount'
              else getattr(state, actuator.interface))
    return Sample(actuator.interface, desired, rate, actual, state)


def read_tolerances(
    robot: Robot, names: list[str], field: str, given: Iterable[Any],
) -> tuple[Tolerance, ...]:
    """Return the tolerances of a goal for the actuators of its trajectory, or raise."""
    tolerances: list[Tolerance] = []
    seen: set[str] = set()
    for i, one in enumerate(given):
        path = f'{field}[{i}]'
        if one.name not in names:
            raise UnknownName(f'{path}.name', one.name, names)
        if one.name in seen:
            raise InvalidModel(f'{path}.name', one.name, 'a joint that is not in the list twice')
        seen.add(one.name)
        actuator = robot.actuators[one.name]
        units = {'position': actuator.unit, 'velocity': f'{actuator.unit}/s'}
        if actuator.interface == 'velocity':
            units = {'velocity': actuator.unit}
        elif actuator.interface == 'effort' or actuator.command == 'amount':
            del units['velocity']
        for quantity in ('position', 'velocity', 'acceleration'):
            most = read_tolerance(f'{path}.{quantity}', getattr(one, quantity), DEFAULT)
            if most and quantity not in units:
                raise InvalidModel(
                    f'{path}.{quantity}', most,
                    f'0 or -1: {one.name} is commanded by {actuator.command} and has a tolerance '
                    f'of {" and ".join(units)} alone')
            if most:
                tolerances.append(Tolerance(one.name, quantity, most, units[quantity]))
    return tuple(tolerances)


def read_tolerance(field: str, value: float, default: float) -> float:
    """Return what a tolerance amounts to; 0 if there is none."""
    if value == ERASED:
        return 0.0
    try:
        return check_number(field, value, least=0.0) or default
    except InvalidModel:
        raise InvalidModel(
            field, value, 'finite and > 0, 0 for the default, or -1 for none') from None


def violation(
    tolerances: Iterable[Tolerance], samples: Mapping[str, Sample],
) -> Optional[str]:
    """Return which tolerance is violated and by how much; None if none is."""
    for name, quantity, most, unit in tolerances:
        error = samples[name].error(quantity)
        if not abs(error) <= most:
            return (f'{name}: {quantity} off by {error:.4g} {unit}, '
                    f'more than the tolerance of {most:g} {unit}')
    return None
