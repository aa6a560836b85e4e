"""A rosbag2 in MCAP that carries the definitions of its messages."""

from __future__ import annotations

from contextlib import suppress
import errno
from pathlib import Path
from typing import Any, Final

from rclpy.qos import QoSProfile
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer

from .definitions import definition

VERSION: Final = 9  # of rosbag2's metadata: that of Jazzy and Kilted


class Recording:
    """
    A recording under way.

    Parameters
    ----------
    path : Path
        Folder that becomes the bag; it must not exist. Raises `OSError` if it cannot be made.

    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise FileExistsError('it exists already')
        self.path = path
        self._writer = Writer(path, version=VERSION, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        self._connections: dict[str, Any] = {}

    def add(self, topic: str, kind: str, endpoints: list) -> None:
        """
        Begin a topic.

        Parameters
        ----------
        topic : str
        kind : str
            Its type, as ``std_msgs/msg/String``. Raises `UnknownType`.
        endpoints : list of TopicEndpointInfo
            Who publishes it now; or who listens to it, where nobody is known who does.

        """
        self._connections[topic] = self._writer.add_connection(
            topic, kind, msgdef=definition(kind), rihs01=str(endpoints[0].topic_type_hash),
            offered_qos_profiles=[offered(p.qos_profile) for p in endpoints])

    def write(self, topic: str, nanoseconds: int, data: bytes) -> None:
        """Add a serialised message that came at a time [ns]."""
        self._writer.write(self._connections[topic], nanoseconds, data)

    def save(self) -> None:
        """
        Put all that came so far on the disk.

        Whoever is killed after that leaves a file without index and metadata.yaml, which
        ``mcap recover`` or ``ros2 bag reindex`` add, and `compare.recovery` does without.
        """
        storage: Any = self._writer.storage
        if storage.chunk.msgs:
            storage.close_chunk()
            storage.bio.flush()

    def check_there(self) -> None:
        """Raise `OSError` if the file was removed: what is written to it then is lost."""
        storage: Any = self._writer.storage
        if not storage.path.exists():
            raise FileNotFoundError(errno.ENOENT, 'it was removed')

    def abandon(self) -> None:
        """End it as it is, where it cannot be written any more."""
        with suppress(OSError):
            self._writer.abort()

    def close(self) -> dict[str, int]:
        """End the recording; return how many messages of each topic it has."""
        counts = {topic: self._writer.counts[c.id] for topic, c in self._connections.items()}
        self._writer.close()
        return counts


def offered(qos: QoSProfile) -> Qos:
    """Return the quality of service of a publisher as the bag has it, by the same names."""
    def same(names: Any, policy: Any) -> Any:
        return names[policy.name]

    def time(duration: Any) -> QosTime:
        return QosTime(*divmod(duration.nanoseconds, 1_000_000_000))

    return Qos(
        same(QosHistory, qos.history), qos.depth, same(QosReliability, qos.reliability),
        same(QosDurability, qos.durability), time(qos.deadline), time(qos.lifespan),
        same(QosLiveliness, qos.liveliness), time(qos.liveliness_lease_duration),
        qos.avoid_ros_namespace_conventions)
