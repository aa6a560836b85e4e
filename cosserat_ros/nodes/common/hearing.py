"""
Messages of others, each taken for itself.

Anybody may publish anything on a topic. rclpy's own subscriptions say nothing of a message that
cannot be decoded, or raise, as the middleware has it, and what a callback raises ends the node.
Here a message is decoded, held against the limits of its size and taken by itself, and where that
fails it is left out with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.exceptions import InvalidTopicNameException
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from ...checks.errors import CosseratError, InvalidModel
from .complaints import Complaints
from .limits import check_size
from .threads import describe


class Undecodable(CosseratError, ValueError):
    """Bytes that are no message of the type that they are said to be."""


def topic_name(node: Node, field: str, given: str) -> str:
    """Return the full name of a topic that is given as seen from a node, or raise."""
    try:
        return node.resolve_topic_name(given)
    except (InvalidTopicNameException, rcl.RCLError):
        raise InvalidModel(field, given, 'names of topics') from None


def decode(data: bytes, kind: type) -> Any:
    """Return the message that some bytes are; raise `CosseratError` if none, or one too large."""
    try:
        message: Any = deserialize_message(data, kind)
    except Exception as error:  # each middleware has its own
        raise Undecodable(f'{len(data)} bytes that are no {kind.__name__}') from error
    check_size(message)
    return message


def listen(
    node: Node, kind: type, topic: str, take: Callable[[Any], None], qos: QoSProfile,
    rejected: Complaints,
) -> Subscription:
    """
    Subscribe to a topic.

    Parameters
    ----------
    node : Node
    kind : type
        Of the messages.
    topic : str
    take : callable
        Takes a message; whatever it raises is said, and that is all.
    qos : QoSProfile
    rejected : Complaints
        To which messages are added that cannot be decoded, or taken.

    """
    def hear(data: bytes) -> None:
        try:
            take(decode(data, kind))
        except Exception as error:  # a message must not end a node, whatever is wrong with it
            rejected.add(topic, describe(error))

    return node.create_subscription(kind, topic, hear, qos, raw=True)
