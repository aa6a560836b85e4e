"""
The topics that the viewer listens to: which ones, who publishes them, what they said last.

Times are of the monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
import math
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker as MarkerMessage, MarkerArray

from ...msg import RobotInfo
from ..common.limits import check_count
from .geometry import Marker
from .message_reader import read_markers

DEPTH = 100    # of every subscription, but of joint states: there the newest will do
GONE = 3.0     # [s] after which what a publisher said goes with it
NOTICED = 2.0  # [s] within which a new publisher is found; its first messages may be faster
JOINTS = 200   # that a table shows at most
SEEN = {       # types of topic that are looked for
    'visualization_msgs/msg/MarkerArray': MarkerArray,
    'visualization_msgs/msg/Marker': MarkerMessage,
    'sensor_msgs/msg/JointState': JointState,
    'cosserat_ros/msg/RobotInfo': RobotInfo}
DRAWN = TFMessage, MarkerArray, MarkerMessage  # types that change the scene
LATCHED = QoSProfile(
    depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
ALWAYS = {     # topics that are listened to before anybody publishes them
    '/tf': (TFMessage, RELIABLE),
    '/tf_static': (TFMessage, LATCHED),
    '/diagnostics': (DiagnosticArray, RELIABLE)}


@dataclass
class Feed:
    """One topic that is listened to."""

    type: type
    subscription: Any = None
    publishers: dict[bytes, float] = field(default_factory=dict)  # and since when [s]
    left: float = math.inf   # [s] when a publisher went whose content is still there
    last: float = -math.inf  # [s] when the last message came
    count: int = 0           # messages since the rate was last measured
    rate: float = 0.0        # [Hz]
    markers: dict[tuple[str, int], Marker] = field(default_factory=dict)
    newest: Any = None       # JointState or RobotInfo

    def apply(self, data: bytes, now: float) -> None:
        """Carry out what a marker message says."""
        for action, marker in list(read_markers(data, self.type is MarkerArray, now)):
            key = marker.namespace, marker.number
            if action == MarkerMessage.DELETEALL:
                self.markers.clear()
            elif action == MarkerMessage.DELETE:
                self.markers.pop(key, None)
            else:
                if key not in self.markers:
                    check_count('markers', len(self.markers) + 1)
                self.markers[key] = marker

    def drop(self, old: Callable[[Marker], bool]) -> bool:
        """Drop some of the markers; tell whether there were any."""
        keys = [key for key, marker in self.markers.items() if old(marker)]
        for key in keys:
            del self.markers[key]
        return bool(keys)

    def meet(self, publishers: Iterable[bytes], now: float) -> float:
        """
        Learn who publishes now.

        Returns
        -------
        float
            Time [s] before which nobody who is still there said anything, some time after
            somebody has left; else minus infinity.

        """
        known = self.publishers
        self.publishers = {name: known.get(name, now) for name in publishers}
        if known.keys() - self.publishers:
            self.left = now
        if not now - self.left > GONE:
            return -math.inf
        self.left = math.inf
        return min(self.publishers.values(), default=math.inf) - NOTICED


def matching_qos(publishers: list, depth: int) -> QoSProfile:
    """Strictest quality of service that every publisher of a topic can serve; least if none."""
    offers = [publisher.qos_profile for publisher in publishers]
    reliable = bool(offers) and all(
        offer.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
    latched = reliable and all(
        offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)


def same_service(qos: QoSProfile, subscription: Any) -> bool:
    """Tell whether a subscription already has a quality of service."""
    used = subscription.qos_profile
    return (qos.reliability, qos.durability) == (used.reliability, used.durability)


def joint_rows(state: JointState) -> list[tuple[str, str, str, str]]:
    """Name, position, velocity and effort of every joint in a JointState, as text."""
    def shown(values: Any, index: int) -> str:
        return f'{values[index]:.4g}' if len(values) == len(state.name) else '–'

    return [
        (name, shown(state.position, i), shown(state.velocity, i), shown(state.effort, i))
        for i, name in enumerate(state.name[:JOINTS])]


def title(robots: list[str], topics: list[str]) -> str:
    """Name the page after its robots: those that are driven, or else the topics' namespaces."""
    names = robots or [topic.strip('/').rpartition('/')[0] for topic in topics]
    names = list(dict.fromkeys(filter(None, names))) or [topic.strip('/') for topic in topics]
    more = f' and {len(names) - 3} more' if len(names) > 3 else ''
    return ', '.join(names[:3]) + more or 'viewer'
