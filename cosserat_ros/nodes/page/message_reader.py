"""
Transforms and markers out of serialised messages.

rclpy makes a Python object of every field, which for a robot's markers at 60 Hz takes more than
half a core. This reads the same bytes into numbers and arrays, ten times faster;
test_viewer.py holds it against rclpy's own serialisation.
"""

from __future__ import annotations

from collections.abc import Iterator
import math
import struct

import numpy as np

from ..common.frame_tree import plain_name
from ..common.hearing import Undecodable
from ..common.limits import check_count, check_text
from .geometry import ARROW, Marker, POINTED

NO_POINTS = np.zeros((0, 3))
NO_COLORS = np.zeros((0, 4))


class Cdr:
    """Cursor over a serialised message, in OMG's Common Data Representation."""

    def __init__(self, data: bytes) -> None:
        if data[:2] != b'\0\1':
            raise Undecodable('it is not plain little-endian CDR')
        self._data = data[4:]
        self._at = 0

    def read(self, layout: struct.Struct, size: int) -> tuple:
        """Read numbers of which the first has a size [bytes]."""
        at = self._at + -self._at % size
        self._at = at + layout.size
        try:
            return layout.unpack_from(self._data, at)
        except struct.error:
            raise Undecodable('it is shorter than it says') from None

    def count(self, name: str) -> int:
        """Read how many there are of what is listed by a name, or raise if too many."""
        count: int = self.read(COUNT, 4)[0]
        check_count(name, count)
        return count

    def string(self, name: str) -> str:
        """Read the string of a name, or raise if it is too long."""
        length, = self.read(COUNT, 4)
        text = self._take(length)[:-1].decode(errors='replace')
        check_text(name, text)
        return text

    def array(self, name: str, size: int, columns: int) -> np.ndarray:
        """Read a sequence of rows of real numbers of a size [bytes], or raise if too long."""
        count = self.count(name)
        if count:
            self._at += -self._at % size
        return np.frombuffer(self._take(count * columns * size), f'<f{size}').reshape(-1, columns)

    def skip(self, *sizes: int) -> None:
        """Pass over sequences of elements of these sizes [bytes]; a string has elements of 1."""
        for size in sizes:
            count, = self.read(COUNT, 4)
            self._take(count * size)

    def passed(self, layout: struct.Struct, expected: tuple) -> bool:
        """Pass over words if they are as expected; tell whether they were."""
        before = self._at
        if self.read(layout, 4) == expected:
            return True
        self._at = before
        return False

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at:self._at + count]
        if len(taken) < count:
            raise Undecodable('it is shorter than it says')
        self._at += count
        return taken


COUNT, STAMP, FLAG = struct.Struct('<I'), struct.Struct('<iI'), struct.Struct('<?')
POSE, KEY = struct.Struct('<7d'), struct.Struct('<3i')
LOOK = struct.Struct('<10d4fiI?')  # pose, scale, color, lifetime; locked to its frame or not
# Points, colors, texture, its coordinates, text, mesh: most markers have nothing of these, and
# then everything is empty sequences (0) and empty strings (1 and its end).
REST = struct.Struct('<II I4x iI I4x I4x I I I4x I4x I4x I')
NOTHING = (0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0)


def read_transforms(data: bytes) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Parent, child and the child's pose (position, quaternion x y z w) in a TFMessage."""
    cdr = Cdr(data)
    for _ in range(cdr.count('transforms')):
        cdr.read(STAMP, 4)
        yield cdr.string('frame_id'), cdr.string('child_frame_id'), cdr.read(POSE, 8)


def read_markers(data: bytes, array: bool, now: float) -> Iterator[tuple[int, Marker]]:
    """Actions and markers in a MarkerArray or Marker that came at a time [s]."""
    cdr = Cdr(data)
    for _ in range(cdr.count('markers') if array else 1):
        yield _read_marker(cdr, now)


def _read_marker(cdr: Cdr, now: float) -> tuple[int, Marker]:
    """Read the fields of visualization_msgs/Marker in their order."""
    cdr.read(STAMP, 4)
    frame, namespace = cdr.string('frame_id'), cdr.string('ns')
    number, kind, action = cdr.read(KEY, 4)
    look = cdr.read(LOOK, 8)
    points, colors, text = NO_POINTS, NO_COLORS, ''
    if not cdr.passed(REST, NOTHING):
        points = cdr.array('marker.points', 8, 3)
        colors = cdr.array('marker.colors', 4, 4)
        cdr.skip(1)  # texture_resource
        cdr.read(STAMP, 4)
        cdr.skip(1, 1, 1, 8)  # texture, uv_coordinates
        text = cdr.string('text')
        cdr.skip(1, 1, 1)  # mesh_resource, mesh_file
    cdr.read(FLAG, 1)  # mesh_use_embedded_materials
    lifetime = look[14] + 1e-9 * look[15]
    return action, Marker(
        namespace, number, kind, plain_name(frame), look[:14],
        points if kind in POINTED or kind == ARROW else NO_POINTS,
        colors if kind in POINTED else NO_COLORS, text, now,
        now + lifetime if lifetime > 0.0 else math.inf)
