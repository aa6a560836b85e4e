"""
Gaits: motions that repeat themselves, whose parameters are actuators.

The dataclasses are vocabulary of robot files. A gait has a phase, which grows by 2 pi frequency
per second, so that it has no jump when the frequency is changed. Its parameters are commanded like
all other actuators, by the names ``<gait>_<parameter>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import math
from typing import ClassVar, Optional, Union

from ..checks.errors import InvalidModel
from ..checks.fields import (
    Checked,
    choice,
    FARTHEST,
    instance,
    mapping,
    number,
    numbers,
    text,
)
from .parts import Actuator

FASTEST = 1e4  # [Hz] of a gait: more is a mistake


@dataclass(frozen=True)
class Live(Checked):
    """
    A parameter of a gait that is commanded while it runs.

    Parameters
    ----------
    start : float
        Value at the start and at rest.
    lower : float, optional
        Least command.
    upper : float, optional
        Greatest command.
    rate : float, optional
        Largest change per second, so that the motion has no jump.

    """

    start: float = number("the parameter's unit")
    lower: Optional[float] = number("the parameter's unit", default=None)
    upper: Optional[float] = number("the parameter's unit", default=None)
    rate: Optional[float] = number("the parameter's unit per second", default=None, above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        lower, upper = self.range
        if not lower <= self.start <= upper:
            raise InvalidModel('start', self.start, f'within its range, {lower:g} to {upper:g}')

    @property
    def range(self) -> tuple[float, float]:
        """Least and greatest command, infinite where there is no limit."""
        return (-math.inf if self.lower is None else self.lower,
                math.inf if self.upper is None else self.upper)


@dataclass(frozen=True, kw_only=True)
class BaseGait(Checked):
    """
    What all gaits share.

    Parameters
    ----------
    frequency : Live
        Frequency of the motion [Hz]; a negative one reverses it.
    ramp : float
        Time from the start in which it sets in, without a jolt: it grows with
        tau - sin(2 pi tau) / (2 pi), tau = time / ramp.

    """

    commands: ClassVar[dict[str, str]] = {}  # of its live parameters

    frequency: Live = instance(Live, 'a live parameter: a mapping with start, lower, upper, rate')
    ramp: float = number('s', least=0.0, default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for end in (*self.frequency.range, self.frequency.start):
            if math.isfinite(end) and abs(end) > FASTEST:
                raise InvalidModel('frequency', end, f'at most {FASTEST:g} [Hz], either way')

    def live(self) -> Iterator[tuple[str, Live]]:
        """Yield its parameters that are commanded, by name."""
        for name in self.commands:
            yield name, getattr(self, name)

    def set_in(self, time: float) -> float:
        """Return which part of the motion has set in at a time [s]."""
        if time >= self.ramp:
            return 1.0
        x = 2.0 * math.pi * max(time, 0.0) / self.ramp
        return (x - math.sin(x)) / (2.0 * math.pi)


@dataclass(frozen=True, kw_only=True)
class Wave(BaseGait):
    """
    A wave of curvature that travels along a rod, by muscles that bend it.

    The muscles' moment is the rod's stiffness times ``-K_d``, so that free of loads it has the
    curvature ``K_d = amplitude profile(s) sin(2 pi s / wave_length - phase) + turn``
    (Boyer 2023, eqs. 92 to 95).

    Parameters
    ----------
    rod : str, optional
        Name of the rod; may be left out where there is only one.
    bends : str
        Axis of the section about which it bends: 'x' or 'y'.
    profile : list of float
        Coefficients of the wave's size, a polynomial in s / length, lowest first.
    wave_length : float
        Wave length along the rod; the wave travels from the base to the tip.
    amplitude : Live
        Factor of the profile [-].
    turn : Live
        Mean curvature, by which it turns [1/m].

    """

    shape: ClassVar[str] = 'wave'
    commands: ClassVar[dict[str, str]] = {
        'amplitude': 'factor', 'frequency': 'frequency', 'turn': 'curvature'}

    rod: Optional[str] = text('.+', 'the name of a rod', default=None)
    bends: str = choice('x', 'y', default='y')
    profile: tuple[float, ...] = numbers('1/m', fewest=1, most=10)
    wave_length: float = number('m', above=0.0, most=FARTHEST)
    amplitude: Live = instance(Live, 'a live parameter', default=Live(1.0))
    turn: Live = instance(Live, 'a live parameter', default=Live(0.0))


@dataclass(frozen=True)
class Follower(Checked):
    """
    A joint that takes part in a stroke.

    Parameters
    ----------
    factor : float
        Factor of its angle; -1 for a joint that mirrors another.
    lag : float
        Phase by which it lags behind the others.

    """

    factor: float = number('-', default=1.0, least=-1e3, most=1e3)
    lag: float = number('rad', default=0.0)


@dataclass(frozen=True, kw_only=True)
class Stroke(BaseGait):
    """
    A stroke of driven joints, whose angle is ``factor (middle + amplitude sin(phase - lag))``.

    Within their limits. The gait alone commands them: they are no actuators.

    Parameters
    ----------
    joints : mapping of str to Follower
        Joints with a position drive that take part, by the names of these drives.
    amplitude : Live
        Amplitude of the stroke [rad].
    middle : Live
        Mean angle of the stroke [rad].

    """

    shape: ClassVar[str] = 'stroke'
    commands: ClassVar[dict[str, str]] = {
        'amplitude': 'stroke', 'frequency': 'frequency', 'middle': 'stroke'}

    joints: Mapping[str, Follower] = mapping(Follower, 'parts in a stroke', least=1)
    amplitude: Live = instance(Live, 'a live parameter: a mapping with start, lower, upper, rate')
    middle: Live = instance(Live, 'a live parameter', default=Live(0.0))


Gait = Union[Wave, Stroke]


@dataclass(frozen=True, kw_only=True)
class GaitDrive(Actuator):
    """
    A live parameter of a gait: an actuator like any other. Not a part of files.

    Parameters
    ----------
    gait : str
        Its name.
    parameter : str
        Which one.
    live : Live
        As described.

    """

    command: str = choice('factor', 'frequency', 'curvature', 'stroke')
    gait: str = text('.+', 'the name of a gait')
    parameter: str = text('.+', 'the name of a parameter')
    live: Live = instance(Live, 'a live parameter')

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest command, infinite where there is no limit [unit]."""
        return self.live.range

    @property
    def rate(self) -> Optional[float]:
        """Greatest change of the command per second; None without limit [unit/s]."""
        return self.live.rate


def gait_drives(gaits: Mapping[str, BaseGait]) -> dict[str, GaitDrive]:
    """Return the actuators that gaits have, by name, in the order of the file."""
    return {f'{name}_{key}': GaitDrive(command=gait.commands[key], gait=name, parameter=key,
                                       live=live)
            for name, gait in gaits.items() for key, live in gait.live()}
