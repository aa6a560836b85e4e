"""
Recordings out of a rosbag2 (MCAP or SQLite), with rosbags from PyPI: no ROS is needed.

A sample is taken whenever the first measured point is: the commands are the last ones before,
the other points are interpolated, and so are rotations, by the shortest turn.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..checks.errors import CosseratError
from .alignment import interpolate, PLACE, Series, SHORTEST
from .maps import CommandChannel, MeasuredChannel, RecordingMap
from .recordings import assemble, InvalidRecording, Recording
from .recovery import readable, STORAGES

POINT = 'geometry_msgs/msg/PointStamped'  # the only one without rotation
COMMANDS = {'std_msgs/msg/Float64MultiArray', 'sensor_msgs/msg/JointState'}
MEASURED = {
    'geometry_msgs/msg/PoseStamped', POINT,
    'geometry_msgs/msg/TransformStamped', 'geometry_msgs/msg/PoseArray',
    'tf2_msgs/msg/TFMessage',
}
SHORTEST_GAP = 0.2  # [s] between samples of a point, over which is interpolated
OTHER_CLOCK = 1_000_000_000  # [ns] between stamp and arrival that tell that clocks differ
LATEST = 2 ** 63 - 1  # [ns] that a time can be
LONGEST_GAP = 3.0   # likewise, in usual distances of samples, if that is more


def read_bag(path: Path, channels: RecordingMap) -> Recording:
    """Read a recording from a bag, or what is whole of it, see `recordings.read`."""
    if importlib.util.find_spec('rosbags') is None:
        raise InvalidRecording(
            f'{path}: to read a bag install rosbags (pip install rosbags)')
    if not path.exists():
        raise InvalidRecording(f'{path}: no such file or folder')
    try:
        with readable(path) as source:
            if not source.files:
                raise InvalidRecording(f'{path}: not a bag: it has neither metadata.yaml nor a '
                                       f'file that ends in {" or ".join(STORAGES)}')
            heard = _read(path, source.paths, channels)
            name = f'{path.name} (recovered)' if source.recovered else path.name
            return _sampled(path, name, _digest(source.files), channels, *heard)
    except CosseratError:
        raise
    except Exception as error:  # the reader raises whatever its code meets in odd files
        reason = ' '.join(f'{type(error).__name__} {error}'.split())[:200]
        raise InvalidRecording(f'{path}: not a bag that can be read: {reason}') from None


def _read(path: Path, paths: list[Path], channels: RecordingMap) -> tuple[
        dict[str, _Heard], dict[str, _Heard], dict[str, _Heard]]:
    """Return what a bag has for the commands, the measured points and their rotations."""
    from rosbags.highlevel import AnyReader
    from rosbags.interfaces import ConnectionExtRosbag2
    from rosbags.typesys import get_typestore, Stores
    told = {name: _Heard() for name in channels.commands}
    seen, turned = ({name: _Heard() for name in channels.measured} for _ in range(2))
    with AnyReader(paths, default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
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
                    for header, place, turn in _places(point, message):
                        stamp = _stamp(header, nanoseconds)
                        seen[name].add(stamp, place)
                        turned[name].add(stamp, turn)
    return told, seen, turned


class _Heard:
    """What came on one channel: times [ns], and numbers."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.values: list[list[float]] = []

    def add(self, nanoseconds: int, values: list[float]) -> None:
        """Keep what is a number and comes after what came before."""
        last = self.times[-1] if self.times else -1
        if all(map(math.isfinite, values)) and last < nanoseconds <= LATEST:
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
                                       f'{", ".join(sorted(topics)) or "(none there)"}; got '
                                       f'{channel.topic}')
            found = topics[channel.topic]
            if found not in types:
                raise InvalidRecording(f'{field}.topic must be of a type among: '
                                       f'{", ".join(sorted(types))}; {channel.topic} is {found}')
            needed = {'std_msgs/msg/Float64MultiArray': 'element', 'tf2_msgs/msg/TFMessage':
                      'frame', 'geometry_msgs/msg/PoseArray': 'element'}.get(found)
            if needed and getattr(channel, needed) is None:
                raise InvalidRecording(f'{field}.{needed} must be given: {channel.topic} is '
                                       f'{found}')
            if found == POINT and getattr(channel, 'rotation', False):
                raise InvalidRecording(f'{field}.rotation must be left out: {channel.topic} is '
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


def _places(
    channel: MeasuredChannel, message: Any,
) -> list[tuple[Any, list[float], list[float]]]:
    """Return headers, places and quaternions of a point in a message, none or one or more."""
    if hasattr(message, 'poses'):
        found = message.poses[channel.element:][:1]
        places = [(message.header, pose.position, pose.orientation) for pose in found]
    elif hasattr(message, 'transforms') or hasattr(message, 'transform'):
        frame = str(channel.frame).lstrip('/')
        found = [t for t in message.transforms if t.child_frame_id.lstrip('/') == frame] if (
            hasattr(message, 'transforms')) else [message]
        places = [(t.header, t.transform.translation, t.transform.rotation) for t in found]
    elif hasattr(message, 'pose'):
        places = [(message.header, message.pose.position, message.pose.orientation)]
    else:
        places = [(message.header, message.point, None)]
    return [(header, [channel.scale * x for x in (p.x, p.y, p.z)], _turn(channel, turn))
            for header, p, turn in places]


def _turn(channel: MeasuredChannel, quaternion: Any) -> list[float]:
    """Return a quaternion x, y, z, w; NaN where there is none, or it is not asked for."""
    if not channel.rotation:
        return 4 * [math.nan]
    turn = [float(quaternion.x), float(quaternion.y), float(quaternion.z), float(quaternion.w)]
    return turn if max(map(abs, turn)) >= SHORTEST else 4 * [math.nan]


def _stamp(header: Any, nanoseconds: int) -> int:
    """
    Return when a measurement was taken [ns].

    When it came, where its stamp is of another clock: commands may have no other time.
    """
    stamp = int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)
    return stamp if abs(stamp - nanoseconds) < OTHER_CLOCK else nanoseconds


def _sampled(
    path: Path, name: str, digest: str, channels: RecordingMap, told: dict[str, _Heard],
    seen: dict[str, _Heard], turned: dict[str, _Heard],
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
    quaternions = np.full((len(times), len(seen), 4), np.nan)
    for j, (places, turns) in enumerate(zip(seen.values(), turned.values())):
        at, turn = turns.series(start, 4)
        with np.errstate(over='ignore', invalid='ignore'):
            there, known = interpolate(places.series(start, 3), times, gap)
            poses, told_turn = interpolate(
                Series(at, np.concatenate([np.zeros((len(at), PLACE)), turn], axis=1)), times, gap)
        positions[known, j] = there[known]
        quaternions[told_turn, j] = poses[told_turn, PLACE:]
    return assemble(name, digest, channels, times, values, positions, [''] * len(times),
                    quaternions)


def _digest(files: list[Path]) -> str:
    """Return the SHA-256 of all files of a bag."""
    sha = hashlib.sha256()
    for file in files:
        with file.open('rb') as stream:
            while block := stream.read(1 << 20):
                sha.update(block)
    return sha.hexdigest()
