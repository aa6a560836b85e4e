"""
Messages as they go over the wire, whose numbers are written in place.

To fill a message object by object and to serialise it takes milliseconds for a robot; a message of
the same layout differs from the last in its numbers alone, which numpy writes in microseconds.
Where the numbers are in the bytes is found by marks: a message is filled with numbers that occur
nowhere else, serialised by rclpy, and searched for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

HEADER = 4  # bytes before the first field, from where on fields are aligned
SPAN = 0x10_0000  # of marks
# Marks begin with a control character, and so are in no text. Bytes between fields hold what was
# in memory before, perhaps marks of an earlier message: each attempt has others.
_SERIES = cycle(range(0x1000_0000, 0x1E00_0000, SPAN))
_HEADS = 0x0F00_0000  # less for the first half of a mark of 64 bits
_TAIL = 0x9E37_79B9  # of a mark of 64 bits: no length of an array
ATTEMPTS = 16


class Wire:
    """
    One message, serialised.

    Its float64 numbers are counted in the order of the message's fields, and so are its float32.

    Parameters
    ----------
    message : message
        With all its arrays at the length that they are to keep.

    """

    def __init__(self, message: Any) -> None:
        slots = list(_slots(message))
        given = [slot.value for slot in slots]
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._find(message, slots)
                break
            except _Ambiguous:
                if attempt == ATTEMPTS:
                    raise
            finally:
                for slot, value in zip(slots, given):
                    slot.put(value)
        for kind, write in (('double', self.put), ('float', self.put_floats)):
            write(0, np.array([v for slot, v in zip(slots, given) if slot.kind == kind]))
        self.put_stamp(0, 0)

    def _find(self, message: Any, slots: list[_Slot]) -> None:
        """Serialise the message, and find its numbers."""
        counts = dict.fromkeys(('double', 'float', 'Time'), 0)
        series = next(_SERIES)
        for slot in slots:
            slot.mark(series, counts[slot.kind])
            counts[slot.kind] += 1
        data = serialize_message(message)
        self._size = len(data)
        self._bytes = bytearray(data) + bytearray(-(len(data) - HEADER) % 8)
        self._doubles = np.frombuffer(self._bytes, dtype='<f8', offset=HEADER)
        words = np.frombuffer(self._bytes, dtype='<u4', offset=HEADER)
        self._floats, self._words = words.view('<f4'), words
        heads, tails = words[1::2].astype(np.int64) + _HEADS, words[0::2]
        marked = np.where(tails == (_TAIL ^ (heads - series)), heads, 0)
        self._double_at = _found(marked, series, counts['double'])
        marks = _found(words, series, counts['float'] + 2 * counts['Time'])
        self._float_at, self._time_at = marks[:counts['float']], marks[counts['float']:]

    @property
    def count(self) -> int:
        """How many float64 numbers there are."""
        return self._double_at.size

    def put(self, first: int, values: np.ndarray) -> None:
        """Write float64 numbers, from the `first` on."""
        flat = np.ravel(values)
        self._doubles[self._double_at[first:first + flat.size]] = flat

    def put_at(self, which: np.ndarray, values: np.ndarray) -> None:
        """Write the float64 numbers `which` (any shape)."""
        self._doubles[self._double_at[which]] = values

    def put_floats(self, first: int, values: np.ndarray) -> None:
        """Write float32 numbers, from the `first` on."""
        flat = np.ravel(values)
        self._floats[self._float_at[first:first + flat.size]] = flat

    def put_floats_at(self, which: np.ndarray, values: np.ndarray) -> None:
        """Write the float32 numbers `which` (any shape)."""
        self._floats[self._float_at[which]] = values

    def put_stamp(self, sec: int, nanosec: int) -> None:
        """Write all stamps."""
        self._words[self._time_at[0::2]] = sec & 0xFFFF_FFFF
        self._words[self._time_at[1::2]] = nanosec

    def data(self) -> bytes:
        """Return what to publish."""
        return bytes(memoryview(self._bytes)[:self._size])


class _Slot:
    """A number in a message, or a stamp."""

    def __init__(self, owner: Any, key: Any, kind: str) -> None:
        self._owner, self._key, self.kind = owner, key, kind

    @property
    def value(self) -> Any:
        if isinstance(self._key, str):
            return getattr(self._owner, self._key)
        return self._owner[self._key]

    def put(self, value: Any) -> None:
        if self.kind == 'Time':
            self._owner.sec, self._owner.nanosec = 0, 0
        elif isinstance(self._key, str):
            setattr(self._owner, self._key, value)
        else:
            self._owner[self._key] = value

    def mark(self, series: int, number: int) -> None:
        if self.kind == 'double':
            bits = np.array([_TAIL ^ number, series - _HEADS + number], dtype='<u4')
            self.put(float(bits.view('<f8')[0]))
        elif self.kind == 'float':
            bits = np.array([series + number], dtype='<u4')
            self.put(float(bits.view('<f4')[0]))
        else:  # stamps come after all float32
            first = series + SPAN // 2 + 2 * number
            self._owner.sec, self._owner.nanosec = first, first + 1


def _slots(message: Any) -> Iterator[_Slot]:
    for field, kind in message.get_fields_and_field_types().items():
        value = getattr(message, field)
        if kind in ('double', 'float'):
            yield _Slot(message, field, kind)
        elif kind == 'builtin_interfaces/Time':
            yield _Slot(value, 'sec', 'Time')
        elif kind == 'sequence<double>':
            for i in range(len(value)):
                yield _Slot(value, i, 'double')
        elif kind.startswith('sequence<') and '/' in kind:
            for item in value:
                yield from _slots(item)
        elif '/' in kind:
            yield from _slots(value)


class _Ambiguous(ValueError):
    """Something in a message looks like a mark, but is none."""


def _found(words: np.ndarray, series: int, count: int) -> np.ndarray:
    """Return where the marks of a series are, in their order."""
    at = np.flatnonzero((words >= series) & (words < series + SPAN))
    if at.size != count or np.unique(words[at]).size != count:
        raise _Ambiguous(f'{count} marks were put into a message, {at.size} were found')
    return at[np.argsort(words[at])]
