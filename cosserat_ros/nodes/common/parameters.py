"""Parameters of a node: declared once, with unit, range and whether they may change live."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from ...checks.errors import CosseratError

KINDS = {float: 'a number', int: 'a whole number', str: 'a text', bool: 'true or false'}


class InvalidParameter(CosseratError):
    """A parameter was given a value that it cannot have."""


class Parameter(NamedTuple):
    """
    One parameter.

    `range` is (least, most), both allowed, and `or_zero` whether 0 is as well; `choices` are the
    texts that are. A parameter that is not `live` keeps the value that the node was started with.
    """

    name: str
    default: Any
    description: str
    range: Optional[tuple[float, float]] = None
    live: bool = False
    choices: tuple[str, ...] = ()
    or_zero: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """Return what ``ros2 param describe`` shows."""
        descriptor = ParameterDescriptor(
            description=self.description, read_only=not self.live,
            additional_constraints=self.allowed if self.choices or self.or_zero else '')
        if self.range is None:
            return descriptor
        least, most = 0.0 if self.or_zero else self.range[0], self.range[1]
        if isinstance(self.default, float):
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(least), to_value=float(most))]
        else:
            descriptor.integer_range = [IntegerRange(from_value=int(least), to_value=int(most))]
        return descriptor

    @property
    def allowed(self) -> str:
        """What its value may be, in words."""
        if self.choices:
            return f'one of {", ".join(self.choices)}'
        words = KINDS[type(self.default)]
        if self.range is not None:
            words += f' from {self.range[0]:g} to {self.range[1]:g}'
        return f'{words}, or 0' if self.or_zero else words

    def allows(self, value: Any) -> bool:
        """Tell whether a value of the right type may be its own."""
        if self.choices:
            return value in self.choices
        if self.range is None or (self.or_zero and value == 0.0):
            return True
        return self.range[0] <= value <= self.range[1]


def declare(node: Node, parameters: tuple[Parameter, ...]) -> None:
    """Declare all parameters of a node, or raise `InvalidParameter`; check later changes."""
    known = {parameter.name: parameter for parameter in parameters}

    def check(changes: list[RosParameter]) -> SetParametersResult:
        for change in changes:
            parameter = known.get(change.name)
            if parameter is not None and not parameter.allows(change.value):
                reason = f'{change.name} must be {parameter.allowed}, got {change.value!r}'
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
    given = node._parameter_overrides  # of the command line, as rclpy keeps them
    for parameter in parameters:
        name, default = parameter.name, parameter.default
        value = given[name].value if name in given else default
        if isinstance(default, float) and type(value) is int:  # 60 for 60.0
            given[name] = RosParameter(name, value=float(value))
        try:
            node.declare_parameter(name, default, parameter.descriptor())
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise InvalidParameter(
                f'parameter {name} must be {parameter.allowed}, got {value!r} '
                f'({parameter.description})') from error
