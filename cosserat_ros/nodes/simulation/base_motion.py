"""
What moves the base of a robot: a topic or a TF frame, followed by a `PoseTracker`.

The simulated time of a measurement is that of its stamp: simulated time itself where the node
makes the clock, else the node's clock, of which simulated time is known from step to step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import math
import threading
from typing import Any, Optional

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Odometry
import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from tf2_msgs.msg import TFMessage

from ...assembly.element import Motion
from ...checks.errors import InvalidModel
from ...control.pose_tracker import PoseTracker
from ...description.robot import Robot
from ..common.complaints import Complaints
from ..common.conversions import nanoseconds, rotation, xyz
from ..common.frame_tree import FrameTree, plain_name
from ..common.hearing import listen, topic_name
from ..common.qos import TF_QOS
from .frames import RobotFrames
from .stepping import Stepper

SOURCES = {'pose': PoseStamped, 'twist': TwistStamped, 'odometry': Odometry, 'tf': TFMessage}
# A measurement that got lost is not worth a delay of the next; all publishers match this.
NEWEST_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
STATIC_QOS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NORM_TOLERANCE = 1e-2  # of a quaternion's length: what is farther from 1 is no rotation
STOOD_STILL = 0.5      # [s] without a step, from which simulated time stood still
SMOOTHED = 1.0         # [s] in which simulated time, as seen from the node's clock, is smoothed
FARTHEST_OFF = 0.05    # [s] that it may be off: steps then are late, and it is taken as it is


@dataclass(frozen=True)
class BaseSettings:
    """The parameters of the node that begin with ``base_``."""

    source: str
    topic: str
    frame: str
    time_constant: float  # [s]
    timeout: float        # [s]
    jump: float           # [m]
    jump_angle: float     # [rad]

    def check(self, node: LifecycleNode, robot: Robot, parent: str) -> None:
        """Raise unless a node can move this robot so."""
        if self.source == 'none':
            return
        if robot.base.motion != 'driven':
            raise InvalidModel(
                'parameter base_source', self.source,
                f'none for {robot.name}, whose base.motion is {robot.base.motion}, not driven')
        if self.source == 'tf' and not (parent and self.frame):
            name, value = ('base_frame', self.frame) if parent else ('parent_frame', parent)
            raise InvalidModel(
                f'parameter {name}', value, 'the name of a frame, for base_source tf')
        topic_name(node, 'parameter base_topic', self.topic)

    @property
    def carrier(self) -> str:
        """The frame of others that base_link is fixed to; none if empty."""
        return self.frame if self.source == 'tf' else ''


class BaseMotion:
    """
    Moves the base of a robot whose base is driven.

    Parameters
    ----------
    node : LifecycleNode
    robot : Robot
    frames : RobotFrames
    settings : BaseSettings
    stepper : Stepper
    active : callable
        Tells whether the node is; if not, nothing is heard.
    rejected : Complaints
        To which measurements are added that are rejected.

    """

    def __init__(
        self, node: LifecycleNode, robot: Robot, frames: RobotFrames, settings: BaseSettings,
        stepper: Stepper, active: Callable[[], bool], rejected: Complaints,
    ) -> None:
        self._node, self._frames, self._settings = node, frames, settings
        self._stepper, self._active, self._rejected = stepper, active, rejected
        self._tracker = PoseTracker(
            robot.base.matrix(), settings.time_constant, settings.timeout,
            (settings.jump, settings.jump_angle), stepper.instant.snapshot.time)
        self._lock = threading.Lock()  # of the tracker
        self._demonstration: Optional[Callable[[float], np.ndarray]] = None
        self._began, self._looked = stepper.clock_now(), -math.inf  # by the node's clock [s]
        self._offset = 0.0  # of simulated time, see `_look_at_clock` [s]
        self._told_jumps, self._inputs = 0, 0
        self.topic, self._tree = '', FrameTree()
        self._fixed: set[str] = set()  # frames of the tree that do not move in their parents
        self._subscriptions: list[Any] = []
        if settings.source == 'tf':
            self.topic = '/tf'
            self._subscriptions = [
                listen(node, TFMessage, topic, partial(self._take_frames, fixed), qos, rejected)
                for topic, qos, fixed in (
                    ('/tf', TF_QOS, False), ('/tf_static', STATIC_QOS, True))]
        elif settings.source != 'none':
            take = {'pose': self._take_pose, 'twist': self._take_twist,
                    'odometry': self._take_odometry}[settings.source]
            self.topic = node.resolve_topic_name(settings.topic)
            self._subscriptions = [listen(
                node, SOURCES[settings.source], self.topic, take, NEWEST_QOS, rejected)]

    def withdraw(self) -> None:
        """Listen no longer."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def demonstrate(self, path: Callable[[float], np.ndarray]) -> None:
        """Follow poses (4, 4), a function of simulated time [s], until something is heard."""
        self._demonstration = path

    # --- For the stepping thread ---

    def motion(self, time: float) -> Motion:
        """Return how the base moves at the end of the step to a simulated time [s]."""
        self._look_at_clock(time)
        with self._lock:
            path = self._demonstration
            if path is not None and self._stepper.demonstrates and self._tracker.time < time:
                self._tracker.see(self._tracker.time, path(self._tracker.time))
            return self._tracker.motion(time)

    def _look_at_clock(self, time: float) -> None:
        """Take note of the simulated time that the node's clock shows now."""
        if self._stepper.own_time:
            return
        now = self._stepper.clock_now() - self._began
        offset = time - self._scale * now
        if self._stands(now):
            with self._lock:
                self._tracker.restart()
        if self._stands(now) or abs(offset - self._offset) > FARTHEST_OFF:
            self._offset = offset
        self._offset += min(self._stepper.step_size / SMOOTHED, 1.0) * (offset - self._offset)
        self._looked = now

    def _stands(self, now: float) -> bool:
        """Tell whether simulated time stood still before an instant of the node's clock [s]."""
        return not 0.0 <= now - self._looked < max(STOOD_STILL, 2.0 * self._stepper.period)

    @property
    def _scale(self) -> float:
        return self._stepper.pace.time_scale or 1.0

    # --- Messages ---

    def _time(self, stamp: Time) -> Optional[float]:
        """
        Return the simulated time of a stamp, of now if it is 0 [s]; None while time stands still.

        Raises `InvalidModel` if that is not about now: the message comes late, or clocks differ.
        """
        if not self._active():
            return None
        stepper, given = self._stepper, nanoseconds(stamp)
        if stepper.own_time:
            present = stepper.instant.snapshot.time
            with self._lock:
                if present < self._tracker.time - 1.5 * stepper.step_size:  # it was reset
                    self._tracker.motion(present)
                time = 1e-9 * given if given else self._tracker.time
                if stepper.paused and not time > self._tracker.newest:
                    return None  # the same instant again
        else:
            now = stepper.clock_now() - self._began
            if stepper.paused or self._stands(now):
                with self._lock:
                    self._tracker.restart()
                return None
            seen = 1e-9 * given - self._began if given else now
            time = self._offset + self._scale * seen
        late, most = self._tracker.time - time, self._settings.timeout
        if not abs(late) <= most:
            raise InvalidModel(
                'header.stamp', f'{abs(late):.3f} s {"ago" if late > 0.0 else "ahead"}',
                f'at most {most:g} s off, see base_timeout')
        return time

    def _measure(self, see: Callable[[], Any]) -> Any:
        """Let the tracker take a measurement; the first one ends the demonstration."""
        with self._lock:
            if self._demonstration is not None:
                self._tracker.restart()
            result = see()
            self._demonstration, self._inputs = None, self._inputs + 1
            return result

    def _see(self, stamp: Time, pose: np.ndarray, twist: Optional[np.ndarray] = None) -> None:
        time = self._time(stamp)
        if time is None:
            return
        jumped = self._measure(lambda: self._tracker.see(time, pose, twist))
        if jumped:
            self._node.get_logger().warning(
                f'input on {self.topic} jumped: the base was placed there directly '
                f'({self._tracker.jumps} times so far)', throttle_duration_sec=1.0)

    def _take_pose(self, message: PoseStamped) -> None:
        self._check_frame(message.header.frame_id)
        self._see(message.header.stamp, pose_matrix('pose', message.pose))

    def _take_odometry(self, message: Odometry) -> None:
        self._check_frame(message.header.frame_id)
        self._see(message.header.stamp, pose_matrix('pose.pose', message.pose.pose),
                  twist_array(message.twist.twist))

    def _take_twist(self, message: TwistStamped) -> None:
        frame = plain_name(message.header.frame_id)
        own = frame in ('', self._frames.base_link)
        if not own:
            self._check_frame(frame, ('', self._frames.base_link))
        time = self._time(message.header.stamp)
        if time is None:
            return
        self._measure(lambda: self._tracker.see_twist(
            time, twist_array(message.twist), in_parent=not own))

    def _check_frame(self, frame: str, others: tuple[str, ...] = ('',)) -> None:
        """Raise unless a frame is that in which base_link is told, if one is named."""
        parent = self._frames.parent
        if parent and plain_name(frame) not in (parent, *others):
            known = ', '.join(repr(name) for name in (parent, *others))
            raise InvalidModel('header.frame_id', frame, f'one of: {known}')

    def _take_frames(self, fixed: bool, message: TFMessage) -> None:
        """
        Take frames that move, or are fixed in their parents.

        Where others on the way move, or are yet to come, what is fixed is no measurement.
        """
        tree, frame = self._tree, self._settings.frame
        moved: list[Time] = []
        for one in message.transforms:
            child = plain_name(one.child_frame_id)
            if child in self._frames.moving_frames:
                continue  # which is what we say ourselves
            t, q = one.transform.translation, one.transform.rotation
            try:
                tree.set_transform(child, one.header.frame_id, (t.x, t.y, t.z, q.x, q.y, q.z, q.w))
            except ValueError as reason:
                if child in tree.ancestors(frame):
                    self._rejected.add(self.topic, str(reason))
                continue
            (self._fixed.add if fixed else self._fixed.discard)(child)
            if child in tree.ancestors(frame):
                moved.append(Time() if fixed else one.header.stamp)
        if not moved:
            return
        pose = tree.pose(frame, self._frames.parent)
        if fixed and (pose is None or self._way() - self._fixed):
            return
        if pose is None:
            raise InvalidModel(
                'transforms', frame, f'a frame that is connected to {self._frames.parent}')
        self._see(max(moved, key=nanoseconds), pose)

    def _way(self) -> set[str]:
        """Return the frames whose places in their parents make up the pose that is followed."""
        ours, theirs = (
            set(self._tree.ancestors(plain_name(name))[:-1])
            for name in (self._settings.frame, self._frames.parent))
        return ours ^ theirs

    # --- How it is ---

    def status(self) -> dict[str, str]:
        """Return what diagnostics tell."""
        with self._lock:
            tracker = self._tracker
            told = self._inputs > 0
            metres, angle = tracker.error
            return {
                'base source': self._settings.source, 'base inputs': str(self._inputs),
                'base input age [s]': f'{tracker.age:.3f}' if told else 'never heard',
                'base input delay [s]': f'{tracker.delay:.3f}' if told else '',
                'base error [m]': f'{metres:.6f}', 'base error [rad]': f'{angle:.6f}',
                'base jumps': str(tracker.jumps)}

    def warning(self) -> str:
        """Say what is wrong with what is heard; nothing if all is well."""
        if not self.topic:
            return ''
        with self._lock:
            jumps, age = self._tracker.jumps, self._tracker.age
        new, self._told_jumps = jumps - self._told_jumps, jumps
        what = f'{self._settings.frame} on /tf' if self.topic == '/tf' else self.topic
        if not self._inputs:
            return f'the base is not led yet: nothing was heard of {what}'
        if age > self._settings.timeout:
            return f'the base stands: nothing was heard of {what} for {age:.1f} s'
        return f'the base jumped {new} times, by {what}' if new else ''


def pose_matrix(field: str, message: Any) -> np.ndarray:
    """Return a pose as a matrix (4, 4), or raise; its quaternion has about unit length."""
    q = message.orientation
    length = math.sqrt(sum(min(abs(x), 1e3) ** 2 for x in (q.x, q.y, q.z, q.w)))
    if not abs(length - 1.0) <= NORM_TOLERANCE:  # nor is NaN
        raise InvalidModel(
            f'{field}.orientation', [q.x, q.y, q.z, q.w], 'a quaternion x, y, z, w of length 1')
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = rotation(f'{field}.orientation', q), xyz(message.position)
    return g


def twist_array(message: Any) -> np.ndarray:
    """Return velocity and angular velocity, (6,)."""
    return np.concatenate([xyz(message.linear), xyz(message.angular)])
