"""
Topics, services and parameters from a command line, where there is no `ros2`.

Messages are written and read as YAML: ``cosserat pub /simulator/commands '{data: [2, 0, 0, 0]}'``.
The type of a topic or service is found from those who have it.
"""

from __future__ import annotations

import argparse
from array import array
from collections.abc import Callable, Mapping, Sequence
import importlib
import io
import math
import re
import signal
import sys
import time
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.signals import SignalHandlerOptions
from rclpy.topic_or_service_is_hidden import topic_or_service_is_hidden
from ruamel.yaml import YAML, YAMLError

from ...checks.errors import CosseratError, InvalidModel, UnknownName
from ..page.feeds import matching_qos
from .asking import FAILED, OneLineParser, positive
from .definitions import message_class, UnknownType
from .process import START_ERRORS
from .service_calls import full_name

FOUND = 8.0  # [s] within which topics, services and nodes must be found
QUIET = 1.0  # [s] without a new topic, after which all are taken to be found
OWN_TOPICS = 2  # of every node: /rosout and /parameter_events
PATIENCE = 0.05  # [s] at most until a signal is heeded
HIDDEN = '/_'  # in names that are not for people
WHOLE = {  # least and greatest number, by type of field
    **{f'int{bits}': (-2 ** (bits - 1), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f'uint{bits}': (0, 2 ** bits - 1) for bits in (8, 16, 32, 64)}, 'octet': (0, 255)}
GREATEST = {'float': float(np.finfo(np.float32).max), 'double': sys.float_info.max}


class NotFound(CosseratError):
    """Something that was asked for is not there."""


# --- Messages as YAML ----------------------------------------------------------------------------

def as_plain(value: Any) -> Any:
    """Return a message, or a part of one, as dicts, lists, numbers and text."""
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: as_plain(getattr(value, name))
                for name in value.get_fields_and_field_types()}
    if isinstance(value, (list, tuple, array, np.ndarray)):
        return [as_plain(one) for one in value]
    if isinstance(value, bytes):  # an octet
        return value[0]
    return value.item() if isinstance(value, np.generic) else value


def fill(message: Any, values: Any, where: str = '') -> None:
    """Write values, as `as_plain` returns them, into a message; what is left out stays."""
    if not isinstance(values, Mapping):
        raise InvalidModel(
            where.rstrip('.') or 'message', values, 'fields in braces: {name: value}')
    fields = message.get_fields_and_field_types()
    for name, value in values.items():
        if name not in fields:
            raise UnknownName(f'{where}field', str(name), list(fields))
        setattr(message, name, _converted(
            fields[name], getattr(message, name), value, f'{where}{name}'))


def _converted(kind: str, present: Any, value: Any, path: str) -> Any:
    """Return a value as a field of some type takes it, or raise: rclpy does not look."""
    listed = re.fullmatch(r'sequence<(.+?)(?:, (\d+))?>|(.+)\[(\d+)\]', kind)
    if listed:
        item, most, exactly = listed[1] or listed[3], listed[2], listed[4]
        if (not isinstance(value, list) or (most and len(value) > int(most))
                or (exactly and len(value) != int(exactly))):
            count = f'at most {most} ' if most else f'{exactly} ' if exactly else ''
            raise InvalidModel(path, value, f'a list of {count}{item}')
        return [_converted(item, None, one, f'{path}[{i}]') for i, one in enumerate(value)]
    if '/' in kind:
        package, name = kind.split('/')
        part = message_class(f'{package}/msg/{name}')() if present is None else present
        fill(part, value, f'{path}.')
        return part
    return _checked(kind, value, path)


def _checked(kind: str, value: Any, path: str) -> Any:
    """Return a single value as a field of some type takes it, or raise."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == 'boolean':
        fits, allowed = isinstance(value, bool), 'true or false'
    elif kind in WHOLE:
        lower, upper = WHOLE[kind]
        fits = number and isinstance(value, int) and lower <= value <= upper
        allowed = f'a whole number from {lower} to {upper}'
    elif kind in GREATEST:
        fits = number and not GREATEST[kind] < abs(value) < math.inf
        allowed = f'a number of the type {kind}'
    else:
        _, _, most = kind.rstrip('>').partition('<')
        fits = isinstance(value, str) and (not most or len(value) <= int(most))
        allowed = f'text of at most {most} characters' if most else 'text, in quotes if need be'
    if not fits:
        raise InvalidModel(path, value, allowed)
    if kind == 'octet':
        return bytes([value])
    return float(value) if kind in GREATEST else value


def read_yaml(text: str) -> Any:
    """Return what YAML says, or raise."""
    try:
        return YAML(typ='safe').load(text)
    except YAMLError as error:
        raise InvalidModel('message', text, 'YAML') from error


def to_yaml(message: Any) -> str:
    """Return a message as YAML."""
    out, yaml = io.StringIO(), YAML()
    yaml.default_flow_style = None
    yaml.width = 1000
    yaml.dump(as_plain(message), out)
    return out.getvalue()


# --- Who is there --------------------------------------------------------------------------------

class Asker(Node):
    """A node that looks about."""

    def __init__(self) -> None:
        super().__init__('cosserat_cli', start_parameter_services=False)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)

    def wait_for(self, condition: Callable[[], Any], timeout: float) -> Any:
        """Receive until a condition holds, or for a time [s]; return what it says."""
        deadline = time.monotonic() + timeout
        while not (said := condition()) and (left := deadline - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=min(left, PATIENCE))
        return said

    def all_topics(self) -> list[tuple[str, list[str]]]:
        """Return names and types of all topics, once no new one has been found for a while."""
        known = self.get_topic_names_and_types
        self.wait_for(lambda: len(known()) > OWN_TOPICS, FOUND)
        count = 0

        def changed() -> bool:
            return len(known()) != count

        while changed():
            count = len(known())
            self.wait_for(changed, QUIET)
        return sorted(found for found in known() if not topic_or_service_is_hidden(found[0]))

    def kind_of_topic(self, name: str) -> str:
        """Return the type of a topic that somebody has, or raise."""
        return self._kind('topic', name, self.get_topic_names_and_types)

    def kind_of_service(self, name: str) -> str:
        """Return the type of a service that somebody offers, or raise."""
        return self._kind('service', name, self.get_service_names_and_types)

    def _kind(self, what: str, name: str, known: Callable[[], list]) -> str:
        kinds = self.wait_for(lambda: dict(known()).get(name), FOUND)
        if not kinds:
            raise NotFound(f'there is no {what} {name}; there are: '
                           + ', '.join(sorted(found for found, _ in known())))
        return kinds[0]

    def ask(self, kind: Any, service: str, request: Any, timeout: float = 60.0) -> Any:
        """Return what a service answers, or raise."""
        client: Any = self.create_client(kind, service)
        if not self.wait_for(client.service_is_ready, FOUND):
            raise NotFound(f'there is no service {service}')
        future = client.call_async(request)
        if not self.wait_for(future.done, timeout):
            raise NotFound(f'no answer from {service} for {timeout:g} s')
        return future.result()


def _run(
    words: Sequence[str], parser: OneLineParser, action: Callable[[Asker, Any], int],
) -> int:
    """Read a command line that begins with the program's name, act, and return the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    given = parser.parse_args(list(words[1:]))
    try:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        return action(Asker(), given)
    except (*START_ERRORS, UnknownType) as error:
        print(f'{parser.prog}: {" ".join(str(error).split())}', file=sys.stderr)
        return FAILED
    finally:
        rclpy.try_shutdown()


# --- Subcommands ---------------------------------------------------------------------------------

def count(text: str) -> int:
    """Return a number of things given on the command line."""
    if not re.fullmatch(r'\d+', text, re.ASCII):
        raise argparse.ArgumentTypeError(f'must be a whole number >= 0, got {text!r}')
    return int(text)


def topics(words: Sequence[str]) -> int:
    """List topics with their types."""
    parser = OneLineParser(prog='cosserat topics', description='List topics, with their types.')

    def act(node: Asker, given: Any) -> int:
        for name, kinds in node.all_topics():
            if HIDDEN not in name:
                print(f'{name}  {kinds[0]}')
        return 0
    return _run(words, parser, act)


def echo(words: Sequence[str]) -> int:
    """Print what comes on a topic."""
    parser = OneLineParser(prog='cosserat echo', description='Print what comes on a topic.')
    parser.add_argument('topic', help='e.g. /joint_states')
    parser.add_argument('-n', type=count, default=0,
                        help='end after this number of messages; 0: never')
    parser.add_argument('--timeout', type=positive, default=math.inf, metavar='SECONDS',
                        help='end with exit code 1 if no message arrives for this time')

    def act(node: Asker, given: Any) -> int:
        topic = node.resolve_topic_name(given.topic)
        kind = node.kind_of_topic(topic)
        came: list[Any] = []
        publishers = node.wait_for(lambda: node.get_publishers_info_by_topic(topic), FOUND)
        node.create_subscription(
            message_class(kind), topic, came.append, matching_qos(publishers, 100))
        printed = 0
        while not given.n or printed < given.n:
            if not node.wait_for(lambda: came, given.timeout):
                raise NotFound(f'nothing came on {topic} for {given.timeout:g} s')
            print(f'{to_yaml(came.pop(0))}---', flush=True)
            printed += 1
        return 0
    return _run(words, parser, act)


def publish(words: Sequence[str]) -> int:
    """Publish on a topic."""
    parser = OneLineParser(prog='cosserat pub', description='Publish on a topic that has '
                           'subscribers.')
    parser.add_argument('topic', help='e.g. /simulator/commands')
    parser.add_argument('message', help="fields in YAML, e.g. '{data: [2, 0, 0, 0]}'")
    parser.add_argument('--rate', type=positive, default=0.0, metavar='HZ',
                        help='publish repeatedly, until Ctrl-C; once if not given')

    def act(node: Asker, given: Any) -> int:
        topic = node.resolve_topic_name(given.topic)
        cls = message_class(node.kind_of_topic(topic))
        message = cls()
        fill(message, read_yaml(given.message))
        publisher = node.create_publisher(cls, topic, 10)
        if not node.wait_for(publisher.get_subscription_count, FOUND):
            raise NotFound(f'nobody listens to {topic}')
        publisher.publish(message)
        due = time.monotonic()
        while given.rate:
            due = max(due + 1.0 / given.rate, time.monotonic())
            node.wait_for(lambda: False, due - time.monotonic())
            publisher.publish(message)
        publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=FOUND))
        return 0
    return _run(words, parser, act)


def call(words: Sequence[str]) -> int:
    """Call a service."""
    parser = OneLineParser(prog='cosserat call', description='Call a service, and print its '
                           'answer.')
    parser.add_argument('service', help='e.g. /simulator/pause')
    parser.add_argument('request', nargs='?', default='{}',
                        help="fields in YAML, e.g. '{data: true}'; empty if not given")

    def act(node: Asker, given: Any) -> int:
        service = node.resolve_service_name(given.service)
        package, _, name = node.kind_of_service(service).split('/')
        try:
            kind = getattr(importlib.import_module(f'{package}.srv'), name)
        except (ImportError, AttributeError) as error:
            raise NotFound(f'its type {package}/srv/{name} is not installed here') from error
        request = kind.Request()
        fill(request, read_yaml(given.request))
        print(to_yaml(node.ask(kind, service, request)), end='')
        return 0
    return _run(words, parser, act)


def parameter(name: str, value: Any, present: int) -> Parameter:
    """Return a parameter that is to be set; `present` is the type of its present value."""
    items = value if isinstance(value, list) else [value]
    if present in (ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_DOUBLE_ARRAY):
        items = [_checked('double', one, name) for one in items]
    for one in items:
        if isinstance(one, int) and not isinstance(one, bool):
            _checked('int64', one, name)
    try:
        return Parameter(name, value=items if isinstance(value, list) else items[0])
    except TypeError:
        raise InvalidModel(
            name, value, 'true or false, a number, text, or a list of one of these') from None


def parameters(words: Sequence[str]) -> int:
    """Show or set parameters of a node."""
    parser = OneLineParser(prog='cosserat params', description='Show the parameters of a node, or '
                           'one of them, or set it.')
    parser.add_argument('node', help='e.g. /simulator')
    parser.add_argument('name', nargs='?', help='name of a parameter; all if not given')
    parser.add_argument('value', nargs='?', help='new value')

    def act(node: Asker, given: Any) -> int:
        owner = full_name(node, 'node', given.node)
        names = [given.name] if given.name else sorted(node.ask(
            ListParameters, f'{owner}/list_parameters', ListParameters.Request()).result.names)
        values = node.ask(GetParameters, f'{owner}/get_parameters',
                          GetParameters.Request(names=names)).values
        missing: list[ParameterValue] = [
            v for v in values if v.type == ParameterType.PARAMETER_NOT_SET]
        if missing or not values:
            raise NotFound(f'{owner} has no parameter {given.name}')
        if given.value is not None:
            wanted = parameter(given.name, read_yaml(given.value), values[0].type)
            result = node.ask(
                SetParameters, f'{owner}/set_parameters',
                SetParameters.Request(parameters=[wanted.to_parameter_msg()])).results[0]
            if not result.successful:
                raise NotFound(f'{given.name} was not set: {result.reason}')
            return 0
        for name, value in zip(names, values):
            print(f'{name}: {as_plain(parameter_value_to_python(value))!r}')
        return 0
    return _run(words, parser, act)
