"""Calls of another node's services that never block and always end: with an answer or a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import time
from typing import Any

from rclpy.exceptions import InvalidTopicNameException
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node

from ...checks.errors import InvalidModel
from .threads import describe


def full_name(node: Node, field: str, given: str) -> str:
    """Return the full name of another node that is given as seen from ours, or raise."""
    try:
        return node.resolve_service_name(given)
    except (InvalidTopicNameException, rcl.RCLError):
        raise InvalidModel(field, given, 'the name of a node') from None


@dataclass
class Call:
    """A question that has been asked."""

    client: Any
    future: Any
    deadline: float                   # [s] of the monotonic clock
    patience: float                   # [s]
    then: Callable[[Any, str], None]


class ServiceCalls:
    """
    Services of one node, called from the thread that spins ours.

    Parameters
    ----------
    node : Node
        Ours.
    server : str
        Full name of the node that serves.
    services : mapping of str to type
        Name of each service below that node, and its type.

    """

    def __init__(self, node: Node, server: str, services: Mapping[str, type]) -> None:
        self._node = node
        self._clients: dict[str, Any] = {
            name: node.create_client(kind, f'{server}/{name}') for name, kind in services.items()}
        self._calls: list[Call] = []

    def call(
        self, service: str, request: Any, then: Callable[[Any, str], None],
        patience: float = 5.0,
    ) -> None:
        """
        Ask; later `then` is called with the answer and nothing, or with None and the reason.

        If it cannot take the answer it raises, and is called again with the reason.

        Parameters
        ----------
        service : str
        request : message
        then : callable
        patience : float
            Time to wait for the answer [s].

        """
        client = self._clients[service]
        if not client.service_is_ready():
            then(None, f'{client.service_name} is not there')
            return
        future = client.call_async(request)
        call = Call(client, future, time.monotonic() + patience, patience, then)
        self._calls.append(call)
        future.add_done_callback(lambda _: self._finish(call))

    def _finish(self, call: Call) -> None:
        if call not in self._calls:  # given up
            return
        self._calls.remove(call)
        try:
            call.then(call.future.result(), '')
        except Exception as error:  # an answer must not end the node, whatever is wrong with it
            name = call.client.service_name
            call.then(None, f'{name} gave no sensible answer: {describe(error)}')

    def check(self) -> None:
        """Give up what waits too long, and what nobody is left to answer."""
        now = time.monotonic()
        for call in self._calls.copy():
            if now > call.deadline:
                self._give_up(call, f'no answer for {call.patience:g} s')
            elif not call.client.service_is_ready():
                self._give_up(call, 'the simulator left before it answered')

    def give_up(self, reason: str) -> None:
        """Give up all calls."""
        for call in self._calls.copy():
            self._give_up(call, reason)

    def _give_up(self, call: Call, reason: str) -> None:
        self._calls.remove(call)
        call.client.remove_pending_request(call.future)
        call.then(None, reason)

    def close(self) -> None:
        """Take the clients back; calls that still wait end without a word."""
        self._calls.clear()
        for client in self._clients.values():
            self._node.destroy_client(client)
