"""From an actuator's limits to a slider: what it is called, where it ends, in which unit."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...checks.errors import CosseratError
from .scene import round_length

SHOWN = {  # unit of a command: unit on the page, and its size
    'N': ('N', 1.0), 'Pa': ('kPa', 1e3), 'm': ('mm', 1e-3), 'm^3': ('ml', 1e-6),
    'mol': ('mmol', 1e-3)}
NARROWEST = 1e-15  # that a command must have room for, in its unit
FULL = {  # that a slider spans without a limit
    'N': 10.0, 'Pa': 1e5, 'm^3': 1e-5, 'mol': 1e-3, 'rad': math.pi, 'm/s': 0.1}
STEPS = 200  # of a slider, about


class NoSlider(CosseratError, ValueError):
    """An actuator that no slider can be made for, with the reason."""


class SliderRange(NamedTuple):
    """A slider for one actuator. All but `lower`, `upper` and `scale` in the unit of the page."""

    name: str
    unit: str      # on the page
    scale: float   # size of that unit in the unit of commands
    low: float     # where the slider begins
    high: float    # where it ends
    step: float
    rest: float    # where the actuator does nothing
    lower: float   # limits of the command, in its own unit; infinite where there are none
    upper: float
    remark: str    # on ends that were chosen here

    def shown(self, command: float) -> float:
        """Return where the slider stands for a command."""
        return min(max(command / self.scale, self.low), self.high)

    def command(self, shown: float) -> float:
        """Return the command for a place of the slider, within the limits."""
        return min(max(shown * self.scale, self.lower), self.upper)


def slider_range(actuator: Any, length: float) -> SliderRange:
    """
    Choose a slider for an actuator.

    Parameters
    ----------
    actuator : ActuatorInfo
    length : float
        Of the robot's longest rod [m]: a slider for a length without limits spans a fifth of it.

    Raises
    ------
    NoSlider
        If there is none, with the reason.

    """
    name, lower, upper, rest = actuator.name, actuator.lower, actuator.upper, actuator.rest
    if not lower <= upper or not math.isfinite(rest):
        raise NoSlider(
            f'actuator {name!r} has limits [{lower}, {upper}] and rest {rest}: they must be '
            'ordered numbers and a finite one')
    unit, scale = SHOWN.get(actuator.unit, (actuator.unit, 1.0))
    span = abs(rest) or FULL.get(actuator.unit, 1.0)
    if actuator.unit == 'm':
        span = 0.2 * length
    low = lower if lower > -math.inf else min(rest, upper) - span
    high = upper if upper < math.inf else max(rest, lower) + span
    if not high - low >= NARROWEST:
        raise NoSlider(f'actuator {name!r} has no range: its limits are {lower} and {upper}')
    missing = [side for side, limit in (('lower', lower), ('upper', upper))
               if not math.isfinite(limit)]
    remark = ''
    if missing:
        remark = (f'{name}: no {" or ".join(missing)} limit is described; the slider goes from '
                  f'{low / scale:g} to {high / scale:g} {unit}')
    low, high = low / scale, high / scale
    return SliderRange(
        name, unit, scale, low, high, round_length((high - low) / STEPS),
        min(max(rest / scale, low), high), lower, upper, remark)
