"""
What the columns of a table, or the topics of a bag, are to a robot: read from YAML, checked.

The dataclasses are the vocabulary of such a map: each field is a key of the same name. A map alone
must suffice for the recording of another robot. SI units, after `scale`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import (
    check_number,
    Checked,
    choice,
    instance,
    integer,
    mapping,
    number,
    position,
    text,
    vector,
)
from ..description import documents as description
from ..description.robot import Robot

Column = Union[str, int]
DELIMITERS = {'comma': ',', 'semicolon': ';', 'tab': '\t', 'space': ' '}
LONGEST_DELAY = 100.0  # [s] of measurements: more is a mistake
FIELDS = ('position', 'velocity', 'effort')  # of a JointState


def check_column(name: str, value: Any) -> Column:
    """Return the name or the number, from 0, of a column, or raise `InvalidModel`."""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not whole and not (isinstance(value, str) and value):
        raise InvalidModel(name, value, 'the name of a column, or its number from 0')
    return int(value) if whole else str(value)


def column() -> Any:
    """Make a field for a column, which may be left out."""
    return field(default=None, metadata={'check': check_column})


def list_of_columns(count: int) -> Any:
    """Make a field for so many columns, which may be left out."""
    def check(name: str, value: Any) -> tuple[Column, ...]:
        if not isinstance(value, (list, tuple)) or len(value) != count:
            raise InvalidModel(name, value, f'a list of {count} columns')
        return tuple(check_column(f'{name}[{i}]', x) for i, x in enumerate(value))
    return field(default=None, metadata={'check': check})


def topic() -> Any:
    """Make a field for the name of a topic, which may be left out."""
    return text('/.+', 'the name of a topic, with its leading slash', default=None)


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is true or false, or raise `InvalidModel`."""
    if not isinstance(value, bool):
        raise InvalidModel(name, value, 'true or false')
    return value


@dataclass(frozen=True)
class Clock(Checked):
    """
    The column of times.

    Parameters
    ----------
    column : str or int
        Its name or number, from 0.
    scale : float
        Their unit [s].
    zero : float, optional
        Time in the column at which the settling of commands begins; each recording's own first
        one if left out [the column's unit].

    """

    column: Column = field(metadata={'check': check_column})
    scale: float = number('s', default=1.0, above=0.0)
    zero: Optional[float] = number("the column's unit", default=None)


@dataclass(frozen=True)
class CommandChannel(Checked):
    """
    Where an actuator's command is found: ``scale * value + offset``, and `settling`.

    Parameters
    ----------
    column : str or int, optional
        Column of a table.
    topic : str, optional
        Topic of a bag: a Float64MultiArray with `element`, or a JointState with `joint` and
        `field`.
    element : int, optional
        Index of the number in the array, from 0.
    joint : str, optional
        Name in the JointState; the actuator's own name if left out.
    field : str
        Field of the JointState.
    scale : float
        Factor to the unit of the command; a negative one changes the sign.
    offset : float
        Added to the scaled value.
    settling : float
        Added at first, and lost exponentially with `settling_time`: tendons get longer with use.
    mode : str, optional
        What the value commands, if it is not what the robot's description says.

    """

    column: Optional[Column] = column()
    topic: Optional[str] = topic()
    element: Optional[int] = integer(least=0, most=10_000, default=None)
    joint: Optional[str] = text('.+', 'the name of a joint', default=None)
    field: str = choice(*FIELDS, default='position')
    scale: float = number("the command's unit", default=1.0)
    offset: float = number("the command's unit", default=0.0)
    settling: float = number("the command's unit", default=0.0)
    mode: Optional[str] = choice(
        'tension', 'displacement', 'pressure', 'volume', 'amount', 'length', default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_source(self.column, self.topic)


@dataclass(frozen=True)
class MeasuredChannel(Checked):
    """
    Where a measured point is found, and where it is on the robot.

    Parameters
    ----------
    columns : list, optional
        x, y and z in a table.
    quaternion : list, optional
        Rotation in a table: columns x, y, z and w of a quaternion of any length.
    topic : str, optional
        Topic of a bag: PoseStamped, PointStamped or TransformStamped, or with `element` a
        PoseArray, or with `frame` a TFMessage.
    element : int, optional
        Index of the pose in the array, from 0.
    frame : str, optional
        The child frame of the transform.
    rotation : bool
        Bags only: whether the rotation of the pose or transform is measured too.
    scale : float
        Factor to metres.
    rod : str, optional
        Name of the rod that the point is on; may be left out where there is only one.
    at : float, optional
        Its arc length [m]. Without it, the point is the robot's tip frame.
    offset : (3,) tuple
        Offset of the point, seen from the rod's body frame there, or from the tip frame [m].
    roll_pitch_yaw : (3,) tuple
        Rotation of the measured marker, seen from the same frame: fixed axes, as in
        URDF [rad].

    """

    columns: Optional[tuple[Column, ...]] = list_of_columns(3)
    quaternion: Optional[tuple[Column, ...]] = list_of_columns(4)
    topic: Optional[str] = topic()
    element: Optional[int] = integer(least=0, most=10_000, default=None)
    frame: Optional[str] = text('.+', 'the name of a frame', default=None)
    rotation: bool = field(default=False, metadata={'check': check_flag})
    scale: float = number('m', default=1.0)
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)
    at: Optional[float] = number('m', least=0.0, default=None)
    offset: tuple[float, float, float] = position(default=(0.0, 0.0, 0.0))
    roll_pitch_yaw: tuple[float, float, float] = vector('rad', default=(0.0, 0.0, 0.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_source(self.columns, self.topic)
        if self.topic is not None and self.quaternion is not None:
            raise InvalidModel('quaternion', self.quaternion,
                               'left out with a topic, whose rotation is measured by '
                               'rotation: true')
        if self.topic is None and self.rotation:
            raise InvalidModel('rotation', True,
                               'left out in a table, whose rotations are columns (quaternion)')
        if any(self.roll_pitch_yaw) and not self.has_rotation:
            raise InvalidModel('roll_pitch_yaw', self.roll_pitch_yaw,
                               'left out where no rotation is measured (quaternion, rotation)')
        if self.at is None and self.rod is not None:
            raise InvalidModel('rod', self.rod, 'left out without an arc length (at)')

    @property
    def has_rotation(self) -> bool:
        """Whether its rotation is measured, not only its place."""
        return self.rotation or self.quaternion is not None


@dataclass(frozen=True)
class Held(Checked):
    """
    A wrench that held the robot in equilibrium, and that is gone from the first sample on.

    Parameters
    ----------
    wrench : (6,) tuple
        Force and moment, along the axes of base_link [N, N m].
    rod : str, optional
        Name of the rod; may be left out where there is only one.
    at : float, optional
        Arc length where it acts; the rod's end if left out [m].

    """

    wrench: tuple[float, ...] = vector('N, N m', size=6)
    rod: Optional[str] = text('.+', 'the name of a rod', default=None)
    at: Optional[float] = number('m', least=0.0, default=None)


@dataclass(frozen=True)
class RecordingMap(Checked):
    """
    How a recording is read.

    Parameters
    ----------
    motion : str
        'static': each sample is an equilibrium, in the order in which they were reached.
        'dynamic': a motion in time, from an equilibrium at the first sample.
    commands : mapping of str to CommandChannel
        Commands by actuator; one that is not named stays at rest.
    measured : mapping of str to MeasuredChannel
        Measured points, by any name; their positions and rotations are seen from the parent frame
        of base_link.
    time : Clock, optional
        Column of times of a table; without it samples are one second apart, and static.
    group : str or int, optional
        Column of a table that names the group of a sample.
    delimiter : str
        Separator in a table: 'comma', 'semicolon', 'tab' or 'space' (any number of blanks).
    header : bool
        Whether a row of the table names the columns.
    skip : int
        Rows before that.
    held : mapping of str to Held
        What holds a robot until a dynamic recording begins.
    delay : float
        How much later than commands measurements are stamped: a sample at t shows the robot as it
        was at t - delay [s]. Only in a dynamic recording.
    settling_time : float
        Time in which `settling` of commands falls to 37 %, from ``time.zero`` on [s].

    """

    motion: str = choice('static', 'dynamic')
    measured: Mapping[str, MeasuredChannel] = mapping(MeasuredChannel, 'channels', least=1)
    commands: Mapping[str, CommandChannel] = mapping(CommandChannel, 'channels')
    time: Optional[Clock] = instance(Clock, 'a column, a scale and a zero', default=None)
    group: Optional[Column] = column()
    delimiter: str = choice(*DELIMITERS, default='comma')
    header: bool = field(default=True, metadata={'check': check_flag})
    skip: int = integer(least=0, most=1_000_000, default=0)
    held: Mapping[str, Held] = mapping(Held, 'wrenches')
    delay: float = number('s', default=0.0, least=-LONGEST_DELAY, most=LONGEST_DELAY)
    settling_time: float = number('s', default=600.0, above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind in ('commands', 'measured'):
            for name, channel in getattr(self, kind).items():
                if (channel.topic is None) != (self.of_table):
                    raise InvalidModel(
                        f'{kind}.{name}', 'a topic' if self.of_table else 'a column',
                        'of a table, as the others are' if self.of_table
                        else 'a topic of a bag, as the others are')
        if self.motion == 'dynamic' and self.of_table and self.time is None:
            raise InvalidModel('time', None, 'given for a dynamic recording')
        if self.motion == 'static' and self.held:
            raise InvalidModel('held', dict(self.held), 'left out in a static recording')
        if self.motion == 'static' and self.delay:
            raise InvalidModel('delay', self.delay, 'left out in a static recording')

    @property
    def of_table(self) -> bool:
        """Whether it maps columns, not topics."""
        return next(iter(self.measured.values())).topic is None

    def check_robot(self, robot: Robot) -> None:
        """Raise `InvalidModel` unless the robot has the actuators and places that are named."""
        for name, channel in self.commands.items():
            if name not in robot.actuators:
                raise UnknownName('commands', name, list(robot.actuators))
            _check_mode(f'commands.{name}.mode', channel.mode, robot.actuators[name])
        for kind, places in (('measured', self.measured), ('held', self.held)):
            for name, place in places.items():
                _check_place(f'{kind}.{name}', place, robot)


def _check_source(columns: Any, topic: Optional[str]) -> None:
    """Raise unless a channel is either in a table or in a bag."""
    if (columns is None) == (topic is None):
        raise InvalidModel('column(s), topic', (columns, topic), 'one given, the other not')


def _check_mode(path: str, mode: Optional[str], actuator: Any) -> None:
    """Raise unless an actuator can be told that."""
    allowed = {'Tendon': ['tension', 'displacement'], 'Chamber': ['pressure', 'volume', 'amount'],
               'Leg': ['length']}.get(type(actuator).__name__, [actuator.command])
    if mode is not None and mode not in allowed:
        raise UnknownName(path, mode, allowed)


def _check_place(path: str, place: Union[MeasuredChannel, Held], robot: Robot) -> None:
    """Raise unless a place is on the robot."""
    if place.rod is not None and place.rod not in robot.rods:
        raise UnknownName(f'{path}.rod', place.rod, list(robot.rods))
    if place.rod is None and place.at is not None and len(robot.rods) > 1:
        raise InvalidModel(f'{path}.rod', None, f'one of: {", ".join(robot.rods)}')
    if place.at is not None:
        check_number(f'{path}.at', place.at, least=0.0, most=robot.rod(place.rod).length, unit='m')


def load_map(path: str | Path) -> RecordingMap:
    """Read a map from a YAML file; raise `InvalidDescription` with file, line and reason."""
    return description.load(path, RecordingMap)
