"""
The node that records all inputs and outputs of a robot as a rosbag2 in MCAP. It cannot record
what is sent before publisher and recorder have discovered each other: a second, as a rule.

The messages are written as they came, each topic with its definition and its quality of service,
so that `ros2 bag play`, Foxglove and readers without ROS need nothing but the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
import importlib.util
from operator import itemgetter
from pathlib import Path
from typing import Any, Optional

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import NameValidationException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.topic_or_service_is_hidden import topic_or_service_is_hidden
from rclpy.validate_full_topic_name import validate_full_topic_name

from ..checks.errors import CosseratError
from .common.definitions import message_class, UnknownType
from .common.parameters import declare, Parameter
from .common.process import run
from .page.feeds import matching_qos, same_service

PARAMETERS = (
    Parameter('folder', 'recordings', 'folder of recordings; created if missing'),
    Parameter('name', '', 'name of the recording; empty: by the time of its start'),
    Parameter('simulator', 'simulator',
              "name of the robot's node in the namespace of this one"),
    Parameter('topics', '',
              "topics to record, with blanks between; empty: all of the robot's"),
)

DEPTH = 1000  # messages of a topic that may wait to be written
LOOK = 0.1  # [s] between looks for new topics
SAVE = 1.0  # [s] between writes to the disk: what a killed recorder loses at most
SHARED = '/tf', '/tf_static', '/clock', '/diagnostics'  # recorded whoever publishes them
INPUTS = {  # what a simulator listens to, by its name: heard from the start, whoever will say it
    '{}/commands': 'std_msgs/msg/Float64MultiArray',
    'joint_commands': 'sensor_msgs/msg/JointState',
    '{}/joint_trajectory': 'trajectory_msgs/msg/JointTrajectory',
    '{}/wrench': 'geometry_msgs/msg/WrenchStamped',
    '{}/obstacles': 'cosserat_ros/msg/Obstacle',
}
UNWANTED = '/rosout', '/parameter_events'  # of every node, and not about the robot


class CannotRecord(CosseratError):
    """The recorder cannot start, for the reason given in one line."""


class Recorder(Node):
    """Writes the topics of one robot into a file."""

    def __init__(self) -> None:
        super().__init__('recorder')
        declare(self, PARAMETERS)
        if importlib.util.find_spec('rosbags') is None:
            raise CannotRecord('the recorder needs rosbags, which is not installed: see README.md')
        from .common.recording import Recording  # it needs rosbags
        self._wanted = self._topics_asked_for()
        name = self._value('name') or f'{datetime.now():%Y_%m_%d-%H_%M_%S}'
        path = (Path(self._value('folder')) / name).expanduser().absolute()
        try:
            self._recording = Recording(path)
        except OSError as error:
            raise CannotRecord(f'cannot record into {path}: {error.strerror or error}') from error
        self.failed = False
        self._known: dict[str, Any] = {}  # topic: its subscription, or none where it has no type
        self._begun: set[str] = set()     # topics that the file has
        self._last = 0  # [ns] the time of the newest message
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may stand still
        self.create_timer(LOOK, self._look, clock=steady)
        self.create_timer(SAVE, self._save, clock=steady)

    def start(self) -> bool:
        """Listen to what the robot will be told, and say where the recording goes."""
        for name, kind in INPUTS.items():
            topic = expand_topic_name(
                name.format(self._value('simulator')), self.get_name(), self.get_namespace())
            if not self._wanted or topic in self._wanted:
                self._listen(topic, kind, QoSProfile(depth=DEPTH))
        self._look()
        self.get_logger().info(f'recording into {self._recording.path}')
        return True

    def close(self) -> bool:
        """End the recording, and say what it has."""
        if not self.failed:
            try:
                self._keep_what_waits()
                with self._writing():
                    counts = self._recording.close()
            except CannotRecord as error:
                self.get_logger().error(str(error))
        if self.failed:
            self._recording.abandon()
            return True
        self.get_logger().info(
            f'recorded {sum(counts.values())} messages of {len(counts)} topics into '
            f'{self._recording.path}')
        silent = sorted({*self._wanted, *self._known} - {t for t, n in counts.items() if n})
        if silent:
            tell = self.get_logger().warning if self._wanted else self.get_logger().info
            tell(f'no message on {", ".join(silent)}')
        return True

    def _keep_what_waits(self) -> None:
        """Write what has come and was not taken yet, in the order in which it came."""
        waiting = []
        for subscription in filter(None, self._known.values()):
            for _ in range(DEPTH):  # more may come all the time
                with subscription.handle:
                    taken = subscription.handle.take_message(subscription.msg_type, True)
                if taken is None:
                    break
                waiting.append((taken[1]['received_timestamp'], subscription.callback, taken))
        for _, keep, taken in sorted(waiting, key=itemgetter(0)):
            keep(*taken)

    def _value(self, name: str) -> Any:
        return self.get_parameter(name).value

    def _topics_asked_for(self) -> list[str]:
        names = []
        for word in self._value('topics').split():
            try:
                full = expand_topic_name(word, self.get_name(), self.get_namespace())
                validate_full_topic_name(full)
            except (NameValidationException, ValueError) as error:
                reason = str(error).splitlines()[0]
                raise CannotRecord(
                    f'parameter topics must be names of topics, got {word!r}: {reason}') from error
            names.append(full)
        return names

    def _look(self) -> None:
        """Subscribe to what is new, and anew where a publisher came that offers less."""
        for topic, kind in self._topics().items():
            publishers = self.get_publishers_info_by_topic(topic)
            if not publishers and topic not in self._known:  # somebody waits for it: so do we
                self._listen(topic, kind, QoSProfile(depth=DEPTH))
            if not publishers:
                continue
            if self._known.get(topic, self) is None:  # has a type that is not installed
                continue
            if not self._begin(topic, kind, publishers):
                continue
            qos, known = matching_qos(publishers, DEPTH), self._known.get(topic)
            if known is not None and not same_service(qos, known):
                self.destroy_subscription(self._known.pop(topic))
            if topic not in self._known:
                self._listen(topic, kind, qos)

    def _listen(self, topic: str, kind: str, qos: QoSProfile) -> None:
        try:
            self._known[topic] = self.create_subscription(
                message_class(kind), topic, self._keep(topic, kind), qos, raw=True)
        except UnknownType as error:
            self._leave_out(topic, error)

    def _leave_out(self, topic: str, error: UnknownType) -> None:
        self._known[topic] = None
        self.get_logger().warning(f'{topic} is not recorded: {error}')

    def _begin(self, topic: str, kind: str, endpoints: list) -> bool:
        """Begin a topic in the file, unless it has it; tell whether it does then."""
        if topic not in self._begun:
            try:
                with self._writing():
                    self._recording.add(topic, kind, endpoints)
            except UnknownType as error:
                self._leave_out(topic, error)
                return False
            self._begun.add(topic)
        return True

    def _topics(self) -> dict[str, str]:
        """Return those that exist and are wanted, with their types."""
        if self._wanted:
            wanted = set(self._wanted)
        else:
            robot = self._value('simulator'), self.get_namespace()
            try:
                said = self.get_publisher_names_and_types_by_node(*robot)
                told = self.get_subscriber_names_and_types_by_node(*robot)
            except rcl.NodeNameNonExistentError:  # not there yet, or no more
                said = told = []
            wanted = {*SHARED, *(name for name, _ in [*said, *told]
                                 if not topic_or_service_is_hidden(name))} - set(UNWANTED)
        return {name: kinds[0] for name, kinds in self.get_topic_names_and_types()
                if name in wanted}

    def _keep(self, topic: str, kind: str) -> Callable[[bytes, Any], None]:
        simulated = self._value('use_sim_time')

        def keep(data: bytes, info: Any) -> None:
            came = self.get_clock().now().nanoseconds
            if not simulated:  # when it was received: a while ago, and before others if sent again
                came = self._last = max(info['received_timestamp'], self._last)
            # Who said it may not be known yet, or no more: then as we listen to it.
            said = topic in self._begun or self._begin(
                topic, kind, self.get_publishers_info_by_topic(topic)
                or self.get_subscriptions_info_by_topic(topic))
            if said:
                with self._writing():
                    self._recording.write(topic, came, data)
        return keep

    def _save(self) -> None:
        with self._writing():
            self._recording.save()
            self._recording.check_there()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # the disk is full, or gone
            self.failed = True
            raise CannotRecord(
                f'cannot write {self._recording.path}: {error.strerror or error}') from error


def main(args: Optional[list[str]] = None) -> int:
    """Run the node; return its exit code, 1 also if the recording could not be ended."""
    made: list[Recorder] = []

    def make() -> Recorder:
        made.append(Recorder())
        return made[-1]

    return run(make, args) or int(any(node.failed for node in made))
