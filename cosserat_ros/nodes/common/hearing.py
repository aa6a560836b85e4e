"""
Messages of others, each taken for itself.

Anybody may publish anything on a topic. rclpy's own subscriptions say nothing of a message that
cannot be decoded, or raise, as the middleware has it, and what a callback raises ends the node.
Here a message is decoded, held against the limits of its size and taken by itself, and where that
fails it is left out with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import threading
import time
from typing import Any, Optional

from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import InvalidTopicNameException
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from ...checks.errors import CosseratError, InvalidModel
from .complaints import Complaints
from .limits import check_size
from .threads import describe

FAST = 5e-3   # [s] between turns of a loop at most, for it to begin to take messages by itself
SLOW = 1e-2   # [s] likewise, from which it ceases to, and the executor begins
OFTEN = 5e-4  # [s] between its looks for messages at least
WATCH = 1.0   # [s] between looks for publishers that do not match


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
    rejected: Complaints, polled: Optional[Polled] = None,
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
    polled : Polled, optional
        Which may take the messages by itself.

    """
    def hear(data: bytes) -> None:
        try:
            take(decode(data, kind))
        except Exception as error:  # a message must not end a node, whatever is wrong with it
            rejected.add(topic, describe(error))

    if polled is None:
        return node.create_subscription(kind, topic, hear, qos, raw=True)
    # To wait for events of a subscription is to wake by its messages too: see `Polled.watch`.
    subscription = node.create_subscription(
        kind, topic, hear, qos, callback_group=polled, raw=True,
        event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False))
    polled.add(subscription)
    return subscription


class Polled(CallbackGroup):
    """
    Subscriptions whose messages a fast loop takes by itself, at the beginning of its turns.

    For each message that comes, rclpy's executor makes a wait set of all that a node has, in
    Python: in a simulator it takes most of a millisecond, and holds up other threads. So while a
    loop takes the messages, the executor does not wait for them. Where the loop stands still or
    is slow, or rclpy does not let it take messages, they come by the executor as all others do.
    One of the two at a time takes messages, so that they stay in their order.

    Parameters
    ----------
    node : Node
        Of the subscriptions.

    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node
        self._publishers: dict[str, int] = {}  # how many there were of each topic
        self._timer = node.create_timer(
            WATCH, self.watch, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._subscriptions: list[Any] = []
        self._taking = threading.Lock()
        self._turned = self._polled = -math.inf

    def add(self, subscription: Subscription) -> None:
        """Let the loop take the messages of a subscription of this group."""
        if hasattr(subscription.handle, 'take_message'):
            self._subscriptions.append(subscription)

    def poll(self) -> None:
        """Take what has come, if turns follow each other fast; for the loop."""
        now = time.monotonic()
        pause, self._turned = now - self._turned, now
        if pause > (FAST if self._is_left(now) else SLOW) or now - self._polled < OFTEN:
            return
        if not self.beginning_execution(self):
            return
        self._polled = now
        try:
            for subscription in self._subscriptions:
                self._take(subscription)
        finally:
            self.ending_execution(self)

    def _take(self, subscription: Any) -> None:
        with subscription.handle:
            for _ in range(subscription.qos_profile.depth):
                taken = subscription.handle.take_message(subscription.msg_type, True)
                if taken is None:
                    return
                subscription.callback(taken[0])

    def watch(self) -> None:
        """Warn of publishers that do not match a subscription, as rclpy does of the others."""
        for subscription in self._subscriptions:
            topic = subscription.topic_name
            count = self._node.count_publishers(topic)
            before, self._publishers[topic] = self._publishers.get(topic, 0), count
            if count <= before:
                continue
            kind = subscription.msg_type
            name = f'{kind.__module__.partition(".")[0]}/msg/{kind.__name__}'
            for publisher in self._node.get_publishers_info_by_topic(topic):
                fits, reason = qos_check_compatible(
                    publisher.qos_profile, subscription.qos_profile)
                if publisher.topic_type != name:
                    fits, reason = QoSCompatibility.ERROR, f'it is one of {publisher.topic_type}'
                if fits == QoSCompatibility.ERROR:
                    self._node.get_logger().warning(
                        f'nothing is received from a publisher on {topic}: {reason}')

    def withdraw(self) -> None:
        """Watch no longer."""
        self._node.destroy_timer(self._timer)

    def _is_left(self, now: float) -> bool:
        """Tell whether messages are left to the executor."""
        return now - self._polled > SLOW

    # --- For the executor ---

    def can_execute(self, entity: Any) -> bool:
        """Tell whether to wait for messages: unless the loop takes them."""
        return entity not in self._subscriptions or self._is_left(time.monotonic())

    def beginning_execution(self, entity: Any) -> bool:
        """Begin to take messages; tell whether nobody else does."""
        return self._taking.acquire(blocking=False)

    def ending_execution(self, entity: Any) -> None:
        """Let others take messages."""
        self._taking.release()
