"""Parameters of a node: declared once, with unit, range and whether they may change live."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from ..errors import CosseratError

KINDS = {float: 'a number', int: 'a whole number', str: 'a text', bool: 'true or false'}


class InvalidParameter(CosseratError):
    """A parameter was given a value that it cannot have."""


class Parameter(NamedTuple):
    """
    One parameter.

    `range` is (least, most), both allowed; `choices` are the texts that are. A parameter that is not `live` keeps the value that
    the node was started with.
    """

    name: str
    default: Any
    description: str
    range: Optional[tuple[float, float]] = None
    live: bool = False
    choices: tuple[str, ...] = ()

    def descriptor(self) -> ParameterDescriptor:
        """Return what ``ros2 param describe`` shows."""
        descriptor = ParameterDescriptor(
            description=self.description, read_only=not self.live,
            additional_constraints=f'one of: {", ".join(self.choices)}' if self.choices else '')
        if self.range is not None and isinstance(self.default, float):
            least, most = self.range
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(least), to_value=float(most))]
        elif self.range is not None:
            least, most = self.range
            descriptor.integer_range = [IntegerRange(from_value=int(least), to_value=int(most))]
        return descriptor


def declare(node: Node, parameters: tuple[Parameter, ...]) -> None:
    """Declare all parameters of a node, or raise `InvalidParameter`."""
    given = node._parameter_overrides  # of the command line, as rclpy keeps them
    for parameter in parameters:
        name, default = parameter.name, parameter.default
        value = given[name].value if name in given else default
        if isinstance(default, float) and type(value) is int:  # 60 for 60.0
            given[name] = RosParameter(name, value=float(value))
        try:
            node.declare_parameter(name, default, parameter.descriptor())
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            allowed = KINDS[type(default)]
            if parameter.range is not None:
                allowed += f' from {parameter.range[0]:g} to {parameter.range[1]:g}'
            raise InvalidParameter(
                f'parameter {name} must be {allowed}, got {value!r} '
                f'({parameter.description})') from error
        if parameter.choices and value not in parameter.choices:
            raise InvalidParameter(
                f'parameter {name} must be one of {", ".join(parameter.choices)}, got {value!r} '
                f'({parameter.description})')
