"""
Recordings of a robot: what it was told, and where points of it were, in the order of samples.

A recording is read from a table (CSV) or a rosbag2, with a map that says what is what
(:mod:`cosserat_ros.comparison.maps`).
"""

from __future__ import annotations

from collections.abc import Sequence
import csv
from dataclasses import dataclass, replace
import hashlib
import math
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np

from ..checks.errors import CosseratError, excerpt
from ..checks.fields import FARTHEST
from ..description.robot import Robot
from ..numerics.lie import matrix_from_quaternion
from .alignment import SHORTEST
from .maps import Column, DELIMITERS, RecordingMap

LARGEST = 500_000_000  # [bytes] of a table: more belongs into a bag
LATEST = 1e12          # [s] that a time may be: more is a mistake


class InvalidRecording(CosseratError):
    """A recording that cannot be used; the message names the file and the reason."""


class Counts(NamedTuple):
    """How many samples a recording has, and what was wrong with others."""

    taken: int
    skipped: int   # for the reasons of `Recording.skipped`
    unseen: int    # of all measured points, that were not seen
    unturned: int  # of all measured rotations, that were missing or zero


class Skipped(NamedTuple):
    """Samples that were not taken, all for one reason."""

    reason: str
    rows: int   # how many
    first: int  # number of the first, from 1, without header and skipped rows

    def __str__(self) -> str:
        where = f'row {self.first}' if self.rows == 1 else f'the first is row {self.first}'
        return f'{self.rows} {self.reason}, {where}'


@dataclass(frozen=True)
class Recording:
    """
    What a robot was told, and where it was.

    Parameters
    ----------
    name : str
        For reports: the file's name.
    digest : str
        SHA-256 of what it was read from.
    channels : RecordingMap
        What is what.
    times : (T,) array
        [s], from 0 on.
    values : (T, m) array
        What was told to the actuators of `channels.commands`, in the file's units.
    positions : (T, M, 3) array
        Where the points of `channels.measured` were, seen from the parent frame [m]; 0 where not
        seen.
    seen : (T, M) array of bool
        Whose position is known.
    rotations : (T, M, 3, 3) array
        How the markers there were turned, marker to parent frame [-]; the identity where not
        known.
    turned : (T, M) array of bool
        Whose rotation is known.
    groups : tuple of str
        Of each sample.
    counts : Counts
    skipped : tuple of Skipped
        Why rows were left out.
    begun : float
        When it begins, counted from where the settling of commands began [s].

    """

    name: str
    digest: str
    channels: RecordingMap
    times: np.ndarray
    values: np.ndarray
    positions: np.ndarray
    seen: np.ndarray
    rotations: np.ndarray
    turned: np.ndarray
    groups: tuple[str, ...]
    counts: Counts
    skipped: tuple[Skipped, ...] = ()
    begun: float = 0.0

    def __len__(self) -> int:
        return len(self.times)

    @property
    def dynamic(self) -> bool:
        """Whether it is a motion in time; else a sequence of equilibria."""
        return self.channels.motion == 'dynamic'

    def commands(self, channels: Optional[RecordingMap] = None) -> np.ndarray:
        """Return the commands, (T, m), by its own or another map with other scales and offsets."""
        return _commands(self.values, self.begun + self.times, channels or self.channels)

    @property
    def has_rotations(self) -> bool:
        """Whether rotations are measured too."""
        return any(c.has_rotation for c in self.channels.measured.values())

    @property
    def tally(self) -> str:
        """How much there is of it, and what is missing, in words."""
        counts = self.counts
        turns = f', {counts.unturned} rotations not seen' if self.has_rotations else ''
        why = f' ({"; ".join(map(str, self.skipped))})' if self.skipped else ''
        return (f'{len(self)} samples, {counts.skipped} rows skipped{why}, '
                f'{counts.unseen} points not seen{turns}')

    def part(self, chosen: np.ndarray | slice) -> Recording:
        """Return some of its samples, in their order."""
        kept = np.arange(len(self))[chosen]
        return replace(
            self, times=self.times[kept] - self.times[kept[0]],
            begun=self.begun + float(self.times[kept[0]]), values=self.values[kept],
            positions=self.positions[kept], seen=self.seen[kept],
            rotations=self.rotations[kept], turned=self.turned[kept],
            groups=tuple(self.groups[k] for k in kept), skipped=(),
            counts=_counts(self.channels, self.seen[kept], self.turned[kept], 0))


def _counts(
    channels: RecordingMap, seen: np.ndarray, turned: np.ndarray, skipped: int,
) -> Counts:
    """Return the counts of samples whose points are `seen` and `turned`, (T, M)."""
    wanted = [c.has_rotation for c in channels.measured.values()]
    return Counts(len(seen), skipped, int((~seen).sum()), int((~turned[:, wanted]).sum()))


def _commands(values: np.ndarray, times: np.ndarray, channels: RecordingMap) -> np.ndarray:
    """Return commands (T, m) of what a file has for them, at times (T,) since settling began."""
    told = channels.commands.values()
    left = np.exp(-np.maximum(times, 0.0) / channels.settling_time)
    settling = np.outer(left, [c.settling for c in told])
    return values * [c.scale for c in told] + [c.offset for c in told] + settling


def read(path: str | Path, channels: RecordingMap, robot: Robot) -> Recording:
    """
    Read a recording of a robot.

    Parameters
    ----------
    path : str or Path
        A table, or the folder or file of a rosbag2 (MCAP or SQLite).
    channels : RecordingMap
    robot : Robot
        Whose actuators and rods the map names.

    Raises
    ------
    InvalidModel, InvalidRecording

    """
    channels.check_robot(robot)
    path = Path(path)
    if channels.of_table:
        return _read_table(path, channels)
    from .bags import read_bag
    return read_bag(path, channels)


# --- Tables --------------------------------------------------------------------------------------

def _read_table(path: Path, channels: RecordingMap) -> Recording:
    """Read a table."""
    names, rows, digest = _rows(path, channels)

    def place(column: Column, field: str) -> int:
        return _place(path, names, len(rows[0]), column, field)

    told = [place(_given(c.column), f'commands.{name}.column')
            for name, c in channels.commands.items()]
    seen = [[place(c, f'measured.{name}.columns') for c in m.columns or ()]
            for name, m in channels.measured.items()]
    turns = [[place(c, f'measured.{name}.quaternion') for c in m.quaternion or ()]
             for name, m in channels.measured.items()]
    clock = None if channels.time is None else place(channels.time.column, 'time.column')
    group = None if channels.group is None else place(channels.group, 'group')
    with np.errstate(over='ignore'):
        points = [np.array([_numbers(row, where) for row in rows]) * m.scale
                  for where, m in zip(seen, channels.measured.values())]
        times = np.array([_number(row, clock) for row in rows] if clock is not None
                         else np.arange(len(rows), dtype=float))
        times *= 1.0 if channels.time is None else channels.time.scale
    return assemble(
        path.name, digest, channels, times,
        np.array([_numbers(row, told) for row in rows]).reshape(len(rows), -1),
        np.stack(points, axis=1),
        [row[group] if group is not None and group < len(row) else '' for row in rows],
        np.array([[_numbers(row, where) if where else 4 * [math.nan] for where in turns]
                  for row in rows]))


def _rows(path: Path, channels: RecordingMap) -> tuple[list[str], list[list[str]], str]:
    """Return the names of the columns, the rows, and the digest of a table."""
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            raise InvalidRecording(f'{path}: larger than {LARGEST} bytes')
        data = path.read_bytes()
        text = data.decode('utf-8-sig')
    except OSError as error:
        raise InvalidRecording(f'{path}: {error.strerror}') from None
    except UnicodeDecodeError:
        raise InvalidRecording(f'{path}: not a text file in UTF-8') from None
    lines = text.splitlines()[channels.skip:]
    delimiter = DELIMITERS[channels.delimiter]
    try:
        rows = [line.split() for line in lines] if delimiter == ' ' else list(
            csv.reader(lines, delimiter=delimiter))
    except csv.Error as error:
        raise InvalidRecording(f'{path}: not a table: {error}') from None
    rows = [[cell.strip() for cell in row] for row in rows if row]
    names = rows.pop(0) if channels.header and rows else []
    if not rows:
        raise InvalidRecording(f'{path}: no rows of data')
    return names, rows, hashlib.sha256(data).hexdigest()


def _place(path: Path, names: list[str], width: int, column: Column, field: str) -> int:
    """Return the number of a column, or raise `InvalidRecording`."""
    if isinstance(column, int):
        if column < width:
            return column
        raise InvalidRecording(
            f'{path}: {field} must be a column from 0 to {width - 1}, got {column}')
    if column not in names:
        raise InvalidRecording(
            f'{path}: {field} must be one of: {", ".join(names) or "(no header)"}; '
            f'got {excerpt(column)}')
    return names.index(column)


def _given(column: Optional[Column]) -> Column:
    assert column is not None  # by `RecordingMap`
    return column


def _number(row: list[str], column: int) -> float:
    """Return the number of a cell; NaN where there is none."""
    try:
        return float(row[column])
    except (ValueError, IndexError):
        return math.nan


def _numbers(row: list[str], columns: list[int]) -> list[float]:
    return [_number(row, column) for column in columns]


# --- Any -----------------------------------------------------------------------------------------

def assemble(
    name: str, digest: str, channels: RecordingMap, times: np.ndarray, values: np.ndarray,
    positions: np.ndarray, groups: Sequence[str], quaternions: Optional[np.ndarray] = None,
) -> Recording:
    """
    Make a recording of samples, some of which may be NaN; raise if too little is left.

    Parameters
    ----------
    name, digest, channels, groups
        See `Recording`.
    times, values, positions : (T,), (T, m) and (T, M, 3) array
        As they came.
    quaternions : (T, M, 4) array, optional
        x, y, z and w as they came, of any length and sign; none are known if left out.

    """
    if quaternions is None:
        quaternions = np.full((*positions.shape[:2], 4), np.nan)
    with np.errstate(over='ignore', invalid='ignore'):
        told = np.isfinite(_commands(values, np.zeros(len(values)), channels))
        timed = np.abs(times) <= LATEST
        seen = (np.abs(positions) <= FARTHEST).all(axis=2)
    good = timed & told.all(axis=1)
    skipped = [('without a time', ~timed)]
    skipped += [
        (f'without a command for {actuator}', timed & told[:, :j].all(axis=1) & ~told[:, j])
        for j, actuator in enumerate(channels.commands)]
    if channels.motion == 'dynamic':
        latest = np.maximum.accumulate(np.where(good, times, -np.inf))
        late = np.append(True, latest[1:] > latest[:-1])
        skipped.append(('not later than a row before', good & ~late))
        good &= late
    why = tuple(Skipped(reason, int(rows.sum()), int(rows.argmax()) + 1)
                for reason, rows in skipped if rows.any())
    if not good.any() or not seen[good].any():
        reasons = [*map(str, why), f'{int(good.sum())} without a measured point']
        raise InvalidRecording(f'{name}: no sample has finite times, commands and a measured '
                               f'point: {"; ".join(reasons)}')
    kept = np.flatnonzero(good)
    seen = seen[kept]
    rotations, turned = _rotations(quaternions[kept])
    first, clock = float(times[kept[0]]), channels.time
    begun = 0.0 if clock is None or clock.zero is None else first - clock.zero * clock.scale
    return Recording(
        name, digest, channels, times[kept] - first, values[kept],
        np.where(seen[:, :, None], positions[kept], 0.0), seen, rotations, turned,
        tuple(groups[k] for k in kept.tolist()),
        _counts(channels, seen, turned, len(times) - len(kept)), why, begun)


def _rotations(quaternions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations (T, M, 3, 3) of quaternions (T, M, 4), and which are any, (T, M)."""
    largest = np.abs(quaternions).max(axis=-1)
    turned = (largest >= SHORTEST) & (largest < np.inf)
    return matrix_from_quaternion(
        np.where(turned[:, :, None], quaternions, [0.0, 0.0, 0.0, 1.0])), turned
