"""
Recordings out of a rosbag2 (MCAP or SQLite), with rosbags from PyPI: no ROS is needed.

A sample is taken whenever the first measured point is: the commands are the last ones before,
the other points are interpolated.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from .alignment import interpolate, Series
from .maps import CommandChannel, MeasuredChannel, RecordingMap
from .recordings import assemble, InvalidRecording, Recording

COMMANDS = {'std_msgs/msg/Float64MultiArray', 'sensor_msgs/msg/JointState'}
MEASURED = {
    'geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/PointStamped',
    'geometry_msgs/msg/TransformStamped', 'geometry_msgs/msg/PoseArray',
    'tf2_msgs/msg/TFMessage',
}
SHORTEST_GAP = 0.2  # [s] between samples of a point, over which is interpolated
OTHER_CLOCK = 1_000_000_000  # [ns] between stamp and arrival that tell that clocks differ
LONGEST_GAP = 3.0   # likewise, in usual distances of samples, if that is more


def read_bag(path: Path, channels: RecordingMap) -> Recording:
    """Read a recording from a bag, see `recordings.read`."""
    try:
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.interfaces import ConnectionExtRosbag2
        from rosbags.typesys import get_typestore, Stores
    except ImportError:
        raise InvalidRecording(
            f'{path}: to read a bag install rosbags (pip install rosbags)') from None
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        raise InvalidRecording(f'{path}: no such file or folder')
    told = {name: _Heard() for name in channels.commands}
    seen = {name: _Heard() for name in channels.measured}
    try:
        with AnyReader([folder], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            topics = {c.topic: c.msgtype for c in reader.connections}
            _check_topics(path, channels, topics)
            wanted = {c.topic for c in channels.commands.values()} | {
                c.topic for c in channels.measured.values()}
            connections = [c for c in reader.connections
                           if c.topic in wanted and isinstance(c.ext, ConnectionExtRosbag2)]
            for connection, nanoseconds, data in reader.messages(connections):
                message = reader.deserialize(data, connection.msgtype)
                for name, command in channels.commands.items():
                    if command.topic == connection.topic:
                        told[name].add(nanoseconds, [_command(name, command, message)])
                for name, point in channels.measured.items():
                    if point.topic == connection.topic:
                        for header, place in _places(point, message):
                            seen[name].add(_stamp(header, nanoseconds), place)
    except (AnyReaderError, OSError) as error:
        raise InvalidRecording(f'{path}: {error}') from None
    return _sampled(path, _digest(folder), channels, told, seen)


class _Heard:
    """What came on one channel: times [ns], and numbers."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.values: list[list[float]] = []

    def add(self, nanoseconds: int, values: list[float]) -> None:
        """Keep what is a number and comes after what came before."""
        if all(map(math.isfinite, values)) and (
                not self.times or nanoseconds > self.times[-1]):
            self.times.append(nanoseconds)
            self.values.append(values)

    def series(self, start: int, width: int) -> Series:
        """Return it in seconds from `start` [ns] on."""
        return Series((np.array(self.times, dtype=np.int64) - start) * 1e-9,
                      np.array(self.values, dtype=float).reshape(-1, width))


def _check_topics(path: Path, channels: RecordingMap, topics: dict[str, str]) -> None:
    """Raise unless all topics are there, and of a type that can be read."""
    for kind, maps, types in (
        ('commands', channels.commands, COMMANDS), ('measured', channels.measured, MEASURED),
    ):
        for name, channel in maps.items():
            field = f'{path}: {kind}.{name}'
            if channel.topic not in topics:
                raise InvalidRecording(f'{field}.topic must be one of: '
                                       f'{", ".join(sorted(topics))}; got {channel.topic}')
            found = topics[channel.topic]
            if found not in types:
                raise InvalidRecording(f'{field}.topic must be of a type among: '
                                       f'{", ".join(sorted(types))}; {channel.topic} is {found}')
            needed = {'std_msgs/msg/Float64MultiArray': 'element', 'tf2_msgs/msg/TFMessage':
                      'frame', 'geometry_msgs/msg/PoseArray': 'element'}.get(found)
            if needed and getattr(channel, needed) is None:
                raise InvalidRecording(f'{field}.{needed} must be given: {channel.topic} is '
                                       f'{found}')


def _command(name: str, channel: CommandChannel, message: Any) -> float:
    """Return the command in a message; NaN where there is none."""
    if hasattr(message, 'layout'):
        assert channel.element is not None
        values, k = message.data, channel.element
    else:
        joint, values = channel.joint or name, getattr(message, channel.field)
        k = message.name.index(joint) if joint in message.name else len(values)
    return float(values[k]) if k < len(values) else math.nan


def _places(channel: MeasuredChannel, message: Any) -> list[tuple[Any, list[float]]]:
    """Return headers and places of a point in a message, none or one or more."""
    if hasattr(message, 'poses'):
        found = message.poses[channel.element:][:1]
        places = [(message.header, pose.position) for pose in found]
    elif hasattr(message, 'transforms'):
        frame = str(channel.frame).lstrip('/')
        places = [(t.header, t.transform.translation) for t in message.transforms
                  if t.child_frame_id.lstrip('/') == frame]
    elif hasattr(message, 'transform'):
        places = [(message.header, message.transform.translation)]
    else:
        places = [(message.header, message.pose.position if hasattr(message, 'pose')
                   else message.point)]
    return [(header, [channel.scale * x for x in (p.x, p.y, p.z)]) for header, p in places]


def _stamp(header: Any, nanoseconds: int) -> int:
    """
    Return when a measurement was taken [ns].

    When it came, where its stamp is of another clock: commands may have no other time.
    """
    stamp = int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)
    return stamp if abs(stamp - nanoseconds) < OTHER_CLOCK else nanoseconds


def _sampled(
    path: Path, digest: str, channels: RecordingMap, told: dict[str, _Heard],
    seen: dict[str, _Heard],
) -> Recording:
    """Return the samples at the times of the first measured point."""
    first = next(iter(seen.values()))
    if not first.times:
        raise InvalidRecording(f'{path}: measured.{next(iter(seen))} has no finite sample')
    start = first.times[0]
    times = first.series(start, 3).times
    usual = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    gap = max(SHORTEST_GAP, LONGEST_GAP * usual)
    values = np.full((len(times), len(told)), np.nan)
    for j, heard in enumerate(told.values()):
        series = heard.series(start, 1)
        last = np.searchsorted(series.times, times, side='right') - 1
        values[last >= 0, j] = series.values[last[last >= 0], 0]
    positions = np.full((len(times), len(seen), 3), np.nan)
    for j, heard in enumerate(seen.values()):
        there, known = interpolate(heard.series(start, 3), times, gap)
        positions[known, j] = there[known]
    return assemble(path.name, digest, channels, times, values, positions, [''] * len(times))


def _digest(folder: Path) -> str:
    """Return the SHA-256 of all files of a bag."""
    sha = hashlib.sha256()
    for file in sorted(f for f in folder.iterdir() if f.is_file()):
        with file.open('rb') as stream:
            while block := stream.read(1 << 20):
                sha.update(block)
    return sha.hexdigest()
