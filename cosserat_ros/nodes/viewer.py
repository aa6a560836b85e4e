"""
The node that shows robots on a web page and drives them from there.

It shows what RViz would: markers, frames and joint states. It takes everything from topics, so
that any source of them will do, started before or after.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import errno
from functools import partial
import importlib.util
import logging
import math
from queue import Empty, SimpleQueue
import secrets
import socket
import sys
import time
from typing import Any, Optional

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from ..checks.errors import CosseratError
from ..msg import RobotInfo
from .common.checked_messages import check_robot
from .common.complaints import Complaints
from .common.frame_tree import FrameTree, plain_name
from .common.hearing import decode
from .common.parameters import declare, Parameter
from .common.process import run
from .common.threads import describe
from .page import Page
from .page.driver import Driver
from .page.feeds import (
    ALWAYS,
    DEPTH,
    DRAWN,
    Feed,
    joint_rows,
    matching_qos,
    same_service,
    SEEN,
    title,
)
from .page.guard import Guard, is_this_machine
from .page.message_reader import read_transforms

PARAMETERS = (
    Parameter('host', '127.0.0.1', 'address to listen on [-]; 0.0.0.0 lets other machines in, who '
              'need the token in the address that is printed'),
    Parameter('port', 8080, 'TCP port to listen on [-]; 0: any that is free', range=(0, 65535)),
    Parameter('fixed_frame', '', 'frame that stands still [-]; empty: the root of most frames',
              live=True),
    Parameter('max_rate', 30.0, 'scene updates per second [Hz]', range=(1.0, 120.0), live=True),
    Parameter('show_frames', False, 'draw the axes of every frame [-]', live=True),
)

EVERYWHERE = '0.0.0.0', '::'  # addresses to listen on that nobody can go to
SILENCE = 2.0            # [s] without data after which the page says so
UNWATCHED = 0.5          # [s] between scene updates that nobody looks at
DRIVE_PERIOD = 0.05      # [s] at least between updates of sliders, charts and trails


class StartError(CosseratError):
    """The viewer cannot start, for the reason given in one line."""


class Unhurried(CallbackGroup):
    """
    Subscriptions that nobody waits for: their messages are taken when it is time to draw.

    To wake for each message costs ten times as much as to take it, and a robot's joints may be
    said a thousand times per second.
    """

    def can_execute(self, entity: Any) -> bool:
        """Keep them from being waited for."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never begin."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Never end."""


def no_callback(_: bytes) -> None:
    """Stand where rclpy wants a callback."""


class Viewer(Node):
    """Listens to topics and keeps the page up to date."""

    def __init__(self) -> None:
        super().__init__('viewer')
        declare(self, PARAMETERS)
        self._show_frames = self._value('show_frames')
        self._token = '' if is_this_machine(self._value('host')) else secrets.token_urlsafe(16)
        self._page = self._open_page()
        self._tree = FrameTree()
        self._feeds: dict[str, Feed] = {}
        self._transforms: dict[str, tuple[str, tuple[float, ...], str, float]] = {}
        self._notes: dict[str, str] = {}    # topic: what became of it
        self._lost: set[str] = set()        # frames that no transform leads to
        self._waiting = True                # for the first transforms
        self._changed = True                # since the scene was drawn
        self._drawn: tuple = ()             # switches as the scene was drawn
        self._drawn_at = self._driven_at = -math.inf
        self._started = self._measured = time.monotonic()
        self._unhurried = Unhurried()
        self._drivers: dict[str, Driver] = {}  # by the topic that tells of the robot
        self._orders: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._ordered = self.create_guard_condition(self._obey)
        for topic, (kind, qos) in ALWAYS.items():
            self._listen(topic, kind, qos)
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may stand still
        self._draw_timer = self.create_timer(
            1.0 / self._value('max_rate'), self._draw, clock=steady)
        self.create_timer(0.2, self._report, clock=steady)
        self.create_timer(1.0, self._discover, clock=steady)
        self.add_post_set_parameters_callback(self._apply_parameters)

    def start(self) -> bool:
        """Say where the page is."""
        host = self._value('host')
        if host in EVERYWHERE:
            host = socket.gethostname()
        address = f'http://{f"[{host}]" if ":" in host else host}:{self._page.port}'
        if self._token:  # which is not for all who listen to /rosout
            print(f'{address}/?token={self._token}', file=sys.stderr, flush=True)
        else:
            self.get_logger().info(address)
        return True

    def _open_page(self) -> Page:
        guard = Guard(self._token)
        page = open_page(self._value('host'), self._value('port'), self._show_frames, guard)
        guard.complain = partial(Complaints(self.get_logger().warning).add, 'a web request')
        return page

    def destroy_node(self) -> None:
        """Stop serving the page, too."""
        if hasattr(self, '_page'):  # not if it could not be opened
            self._page.close()
        super().destroy_node()

    # ------------------------------------------------------------ parameters

    def _value(self, name: str) -> Any:
        return self.get_parameter(name).value

    def _apply_parameters(self, parameters: list[RosParameter]) -> None:
        for parameter in parameters:
            if parameter.name == 'show_frames':
                self._show_frames = self._page.panel.frames.value = parameter.value
        self._changed = True

    def _take_over_switch(self) -> None:
        """Let the page's switch for frames be the parameter's value."""
        switch = self._page.panel.frames.value
        if switch != self._show_frames:
            self.set_parameters([RosParameter('show_frames', value=switch)])

    # ------------------------------------------------------------ listening

    def _listen(self, topic: str, kind: type, qos: QoSProfile) -> None:
        """Subscribe to a topic, or again with another quality of service."""
        feed = self._feeds.setdefault(topic, Feed(kind))
        if feed.subscription is not None:
            self.destroy_subscription(feed.subscription)
        feed.subscription = self.create_subscription(
            kind, topic, no_callback, qos, raw=True, callback_group=self._unhurried,
            # We follow the publishers anyway.
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False))

    def _take(self) -> None:
        """Take all messages that have come since the last time."""
        for topic, feed in self._feeds.items():
            for _ in range(DEPTH):  # and not for ever, whoever sends faster than we take
                taken = feed.subscription.handle.take_message(feed.type, True)
                if taken is None:
                    break
                self._hear(topic, feed, taken[0])

    def _hear(self, topic: str, feed: Feed, data: bytes) -> None:
        """Store what a message says; drawing comes later."""
        now = feed.last = time.monotonic()
        feed.count += 1
        self._changed |= feed.type in DRAWN
        try:
            if feed.type is JointState:
                feed.newest = decode(data, JointState)
            elif feed.type is RobotInfo:
                feed.newest = decode(data, RobotInfo)
                self._meet_robot(topic, feed.newest)
            elif feed.type is DiagnosticArray:
                array = decode(data, DiagnosticArray)
                for driver in self._drivers.values():
                    driver.diagnose(array.status)
            elif feed.type is TFMessage:
                for parent, child, values in list(read_transforms(data)):
                    self._transforms[child] = parent, values, topic, now
            else:
                feed.apply(data, now)
        except Exception as error:  # a message must not end the page, whatever is wrong with it
            self._warn(f'message on {topic} left out: {describe(error)}')

    def _discover(self) -> None:
        """Find new topics and publishers, and those that went, and how fast the others are."""
        now = time.monotonic()
        for topic, types in self.get_topic_names_and_types():
            known = [self._feeds[topic].type] if topic in self._feeds else []
            for kind in (known + [SEEN[name] for name in types if name in SEEN])[:1]:
                self._follow(topic, kind, now)
        elapsed, self._measured = now - self._measured, now
        for feed in self._feeds.values():
            feed.rate, feed.count = feed.count / elapsed, 0
        self._page.panel.set_title(title(
            [driver.title for driver in self._drivers.values()],
            [topic for topic, feed in self._feeds.items()
             if feed.markers or feed.newest is not None]))
        self._page.panel.set_robots(len(self._drivers))

    def _follow(self, topic: str, kind: type, now: float) -> None:
        """Keep up with a topic's publishers."""
        publishers = self.get_publishers_info_by_topic(topic)
        feed = self._feeds.get(topic)
        if publishers:
            self._notes.pop(topic, None)
            qos = matching_qos(publishers, 1 if kind is JointState else DEPTH)
            if feed is None:
                self._listen(topic, kind, qos)
            elif kind is not TFMessage and not same_service(qos, feed.subscription):
                self._listen(topic, kind, qos)
            feed = self._feeds[topic]
        if feed is not None:
            orphaned = feed.meet((bytes(one.endpoint_gid) for one in publishers), now)
            if orphaned > -math.inf:
                self._clear(topic, feed, orphaned)

    def _clear(self, topic: str, feed: Feed, before: float) -> None:
        """Remove what came on a topic before a time [s]."""
        self._changed = True
        self._tree.forget(before=before, source=topic)
        self._transforms = {child: said for child, said in self._transforms.items()
                            if said[2] != topic or said[3] >= before}
        removed = feed.drop(lambda marker: marker.came < before)
        if feed.last < before:
            removed |= feed.newest is not None
            feed.newest = None
            if topic in self._drivers:
                self._drivers.pop(topic).close()
        if not feed.publishers:
            self._page.scene.clear(topic)
            if removed:
                self._notes[topic] = f'{topic}: publisher gone, its content removed'

    # ------------------------------------------------------------ driving

    def _meet_robot(self, topic: str, info: RobotInfo) -> None:
        """Offer controls for a robot that is new, or was started again."""
        driver = self._drivers.get(topic)
        if driver is not None and driver.info == info:
            driver.start_anew()
            return
        check_robot(info)
        made = Driver(self, self._page, topic.rpartition('/')[0], info, self._order)
        if driver is not None:
            driver.close()
        self._drivers[topic] = made
        self._page.panel.set_robots(len(self._drivers))

    def _order(self, action: Callable[[], None]) -> None:
        """Have something done in the thread that spins; from any thread."""
        self._orders.put(action)
        with contextlib.suppress(rcl.InvalidHandle):  # too late: the node is going
            self._ordered.trigger()

    def _obey(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self._orders.get_nowait()()

    def _drive(self, now: float) -> None:
        """Keep what belongs to one robot up to date."""
        fixed = self._fixed_frame()
        with self._page.server.atomic():
            for driver in self._drivers.values():
                driver.update(now, self._feeds.get(driver.joint_topic), self._tree, fixed)

    # ------------------------------------------------------------ showing

    def _draw(self) -> None:
        """Bring the scene up to date, if there is news."""
        now = time.monotonic()
        watched = self._page.watched
        period = 1.0 / self._value('max_rate') if watched else UNWATCHED
        if self._draw_timer.timer_period_ns != int(1e9 * period):
            self._draw_timer.timer_period_ns = int(1e9 * period)
        self._take()
        self._take_over_switch()
        self._place_frames()
        for feed in self._feeds.values():
            self._changed |= feed.drop(lambda marker: marker.expires <= now)
        panel = self._page.panel
        switches = panel.frames.value, panel.names.value, panel.size.value, watched
        if self._changed or switches != self._drawn:
            self._changed, self._drawn, self._drawn_at = False, switches, now
            self._draw_scene(*switches[:3])
        if watched and now - self._driven_at > DRIVE_PERIOD:
            self._driven_at = now
            self._drive(now)

    def _place_frames(self) -> None:
        """Hang the newest transforms into the tree."""
        arrived, self._transforms = self._transforms, {}
        for child, (parent, values, topic, when) in arrived.items():
            try:
                self._tree.set_transform(child, parent, values, time=when, source=topic)
            except ValueError as error:
                self._warn(f'{error}; left out')
                if topic == '/tf_static':  # is not said again, but may fit once others have left
                    self._transforms[child] = parent, values, topic, when
        if self._waiting and self._tree.frames:
            self._waiting = False
            self.get_logger().info(
                f'first transforms after {time.monotonic() - self._started:.1f} s')

    def _draw_scene(self, show_frames: bool, names: bool, size: float) -> None:
        fixed = self._fixed_frame()
        self._lost = set()

        def pose(frame: str) -> np.ndarray | None:
            found = self._tree.pose(frame or fixed, fixed)
            if found is None:
                self._lost.add(frame)
            return found

        poses = {name: self._tree.pose(name, fixed)
                 for name in (self._tree.frames if show_frames else ())}
        complaints = self._page.scene.draw(
            {topic: list(feed.markers.values()) for topic, feed in self._feeds.items()}, pose,
            {name: found for name, found in poses.items() if found is not None},
            size / 100.0, names)
        for complaint in complaints[:1]:
            self._warn(f'{complaint}; left out')

    def _fixed_frame(self) -> str:
        """Frame asked for, or the root of most frames, or the frame of the first marker."""
        asked = plain_name(self._value('fixed_frame'))
        if asked:
            return asked
        roots = self._tree.roots
        if roots:
            return roots[0]
        markers = (m for feed in self._feeds.values() for m in feed.markers.values())
        return next((marker.frame for marker in markers if marker.frame), 'map')

    def _report(self) -> None:
        """Bring the panel, the floor and the first view up to date."""
        now = time.monotonic()
        self._page.scene.frame_view(now)
        if not self._page.watched:
            return
        panel = self._page.panel
        panel.set_groups(self._page.scene.groups())
        panel.set_joints({
            topic: joint_rows(feed.newest) for topic, feed in self._feeds.items()
            if feed.newest is not None and feed.type is JointState})
        panel.set_status(*self._status(now))
        self._page.scene.follow([
            driver.place for driver in self._drivers.values() if driver.place is not None])
        for driver in self._drivers.values():
            driver.report(now, self._feeds.get(driver.joint_topic))

    def _status(self, now: float) -> tuple[bool, list[str]]:
        """Whether all is well, and the lines that say how it is."""
        streams = [feed for feed in self._feeds.values() if feed.type in DRAWN]
        frames = len(self._tree.frames)
        markers = sum(len(feed.markers) for feed in streams)
        quiet = now - max(feed.last for feed in streams)
        if quiet == math.inf:
            lines = ['waiting for /tf ...']
        elif quiet > SILENCE:
            lines = [f'no data for {quiet:.0f} s']
            if frames or markers:
                lines.append(f'still there: {frames} frames, {markers} markers')
        else:
            rate = max(feed.rate for feed in streams)
            lines = [f'receiving: {frames} frames, {markers} markers, {rate:.0f} Hz']
        if self._lost or len(self._tree.roots) > 1:
            lines.append(f'fixed frame: {self._fixed_frame()}')
        if self._lost:
            lines.append('no transform from: ' + ', '.join(sorted(self._lost)[:5]))
        return quiet <= SILENCE, lines + list(self._notes.values())

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=1.0)


def open_page(host: str, port: int, show_frames: bool, guard: Guard) -> Page:
    """Serve the page exactly there and to those alone that the guard lets in, or raise."""
    if importlib.util.find_spec('viser') is None:
        raise StartError('the viewer needs viser, which is not installed: see README.md')
    check_address(host, port)
    logging.getLogger('websockets').setLevel(logging.CRITICAL)  # a caller's fault is not ours
    page = Page(host, port, show_frames, guard)
    if port not in (0, page.port):  # somebody was faster, and viser took the next
        page.close()
        raise StartError(f'port {port} on {host} is in use')
    return page


def check_address(host: str, port: int) -> None:
    """Raise `StartError` if the address cannot be listened on; viser would go elsewhere."""
    try:
        found = socket.getaddrinfo(host or ' ', port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(address)
    except (OSError, UnicodeError) as error:
        if getattr(error, 'errno', None) == errno.EADDRINUSE:
            reason = f'port {port} on {host} is in use; choose another with -p port:=...'
        else:
            reason = f'cannot listen on {host!r}, port {port}: {error}'
        raise StartError(reason) from error


def main(args: Optional[list[str]] = None) -> int:
    """Run the node."""
    return run(Viewer, args)
