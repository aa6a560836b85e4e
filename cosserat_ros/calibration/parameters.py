"""
Parameters of a robot's file, or of a recording's map, that are fitted to recordings.

A parameter names the places that it changes by paths into the YAML document, with ``*`` for any
key or element: ``rods.backbone.segments[*].material.young_modulus``, ``tendons.*.compliance``.
Paths that begin with ``commands`` or ``measured``, ``delay`` and ``settling_time`` are those of
the map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import copy
from dataclasses import dataclass, field
import math
import re
from typing import Any, NamedTuple, Optional

import numpy as np

from ..checks.errors import excerpt, InvalidModel, MissingKey, UnknownKey, UnknownName
from ..checks.fields import Checked, choice, instance, number
from ..comparison.maps import RecordingMap
from ..description.documents import build, document
from ..description.robot import Robot

GREATEST = 1e30  # of any number of a robot: more is a mistake, and its square may be infinite
OF_MAP = ('commands', 'measured', 'delay', 'settling_time')  # keys of the map that may change
NEUTRAL = {'add': 0.0, 'multiply': 1.0, 'rotate': 0.0}  # values that change nothing
STEP = re.compile(r'\[(\d+|\*)\]|([^.\[\]]+)')
WHOLE = re.compile(r'[^.\[\]]+(\.[^.\[\]]+|\[(\d+|\*)\])*')


def value(unit: str, **limits: Any) -> Any:
    """Make a field for a value of something in a robot's file."""
    return number(unit, **{'least': -GREATEST, 'most': GREATEST, **limits})


@dataclass(frozen=True)
class Prior(Checked):
    """
    What is known of a parameter before the fit: a normal distribution.

    Parameters
    ----------
    mean : float
        Its mean [the parameter's unit].
    sigma : float
        Its standard deviation [the parameter's unit].

    """

    mean: float = value("the parameter's unit")
    sigma: float = value("the parameter's unit", least=1.0 / GREATEST)


def check_paths(name: str, value: Any) -> tuple[str, ...]:
    """Return paths as a tuple, or raise `InvalidModel`."""
    listed = isinstance(value, (list, tuple)) and len(value) > 0
    if not listed or not all(isinstance(x, str) and WHOLE.fullmatch(x) for x in value):
        raise InvalidModel(name, value, 'a list of paths such as tendons.*.compliance')
    return tuple(map(str, value))


@dataclass(frozen=True)
class Parameter(Checked):
    """
    A number that is fitted, and what it does to the robot.

    Parameters
    ----------
    paths : list of str
        The places that it changes.
    change : str
        'set': what is there becomes the value. 'add': it is added to what is there. 'multiply':
        what is there is multiplied by it, each number of a list. 'rotate': a pair (x, y) there is
        turned by it [rad].
    lower : float
        Least value.
    upper : float
        Greatest value.
    start : float, optional
        Where the fit starts; what is there, 0, 1 or 0 if left out.
    prior : Prior, optional
        What is known of it before the fit.
    share : str
        'all': one value for all places. 'none': each place has a value of its own.

    """

    paths: tuple[str, ...] = field(metadata={'check': check_paths})
    lower: float = value("the parameter's unit")
    upper: float = value("the parameter's unit")
    change: str = choice('set', 'add', 'multiply', 'rotate', default='set')
    start: Optional[float] = value("the parameter's unit", default=None)
    prior: Optional[Prior] = instance(Prior, 'a mean and a sigma', default=None)
    share: str = choice('all', 'none', default='all')

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lower < self.upper:
            raise InvalidModel('lower', self.lower, f'less than upper, {self.upper:g}')
        if self.start is not None and not self.lower <= self.start <= self.upper:
            raise InvalidModel(
                'start', self.start, f'from lower, {self.lower:g}, to upper, {self.upper:g}')


class Scalar(NamedTuple):
    """One number of the fit."""

    name: str
    places: tuple[str, ...]  # without wildcards
    change: str
    start: float
    lower: float
    upper: float
    prior: Optional[Prior]

    @property
    def size(self) -> float:
        """Size of a change that matters: the fit's unit."""
        return self.prior.sigma if self.prior is not None else self.upper - self.lower


class Fitted(NamedTuple):
    """A robot and the map of its recordings, for some values of the parameters."""

    robot: Robot
    channels: RecordingMap


class ParameterSet:
    """
    All numbers of a fit, and the documents that they change.

    Parameters
    ----------
    parameters : mapping of str to Parameter
    robot : Robot
    channels : RecordingMap

    """

    def __init__(
        self, parameters: Mapping[str, Parameter], robot: Robot, channels: RecordingMap,
    ) -> None:
        self._robot, self._channels = document(robot), document(channels)
        self.scalars: list[Scalar] = []
        for name, parameter in parameters.items():
            try:
                self.scalars += self._scalars(name, parameter)
            except InvalidModel as error:
                raise error.within(f'parameters.{name}') from None
        if not self.scalars:
            raise InvalidModel('parameters', dict(parameters), 'at least one')

    def _scalars(self, name: str, parameter: Parameter) -> Iterator[Scalar]:
        """Return the numbers that one parameter stands for."""
        places: list[str] = []
        for i, path in enumerate(parameter.paths):
            try:
                kind, whole = self._document(path)
                places += changeable(kind, whole, path, parameter.change)
            except InvalidModel as error:
                raise error.within(f'paths[{i}]') from None
        for place in places:
            self._check_fitted(parameter, place)
        sets = [tuple(places)] if parameter.share == 'all' else [(place,) for place in places]
        for k, group in enumerate(sets):
            start = parameter.start
            if start is None:
                start = (found(self._document(group[0])[1], group[0])
                         if parameter.change == 'set'
                         else NEUTRAL[parameter.change])
                if not parameter.lower <= start <= parameter.upper:
                    raise InvalidModel('start', start, f'from {parameter.lower:g} to '
                                       f'{parameter.upper:g}: it is what {group[0]} is')
            yield Scalar(name if len(sets) == 1 else f'{name}[{k}]', group, parameter.change,
                         float(start), parameter.lower, parameter.upper, parameter.prior)

    def _check_fitted(self, parameter: Parameter, place: str) -> None:
        """Raise unless what is at a place can be fitted."""
        there = found(self._document(place)[1], place)
        if place == 'delay' and self._channels['motion'] == 'static':
            raise InvalidModel('paths', place, 'left out where recordings are static')
        if isinstance(there, int):
            raise InvalidModel('paths', place, f'that of a real number, not a whole one: {there}')
        if there is None and parameter.start is None:
            raise InvalidModel('start', None, f'given: {place} is not in the file')

    def _document(self, path: str) -> tuple[type, Any]:
        """Return the document that a path is of, and its kind."""
        return (RecordingMap, self._channels) if of_map(path) else (Robot, self._robot)

    @property
    def names(self) -> list[str]:
        """Of the numbers."""
        return [x.name for x in self.scalars]

    @property
    def places(self) -> list[str]:
        """All that is changed, without wildcards."""
        return [place for x in self.scalars for place in x.places]

    @property
    def start(self) -> np.ndarray:
        """Values to start from, (n,)."""
        return np.array([x.start for x in self.scalars])

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest values, (n,) each."""
        return (np.array([x.lower for x in self.scalars]),
                np.array([x.upper for x in self.scalars]))

    @property
    def sizes(self) -> np.ndarray:
        """Sizes of changes that matter, (n,)."""
        return np.array([x.size for x in self.scalars])

    def documents(self, values: Sequence[float] | np.ndarray) -> tuple[Any, Any]:
        """Return the documents of robot and map with these values (n,)."""
        robot, channels = copy.deepcopy(self._robot), copy.deepcopy(self._channels)
        for scalar, value in zip(self.scalars, values, strict=True):
            for place in scalar.places:
                _change(channels if of_map(place) else robot, place, scalar.change, float(value))
        return robot, channels

    def at(self, values: Sequence[float] | np.ndarray) -> Fitted:
        """Return robot and map with these values (n,); raise `InvalidModel` if they are none."""
        robot, channels = self.documents(values)
        return Fitted(build(Robot, robot), build(RecordingMap, channels))


def of_map(path: str) -> bool:
    """Whether a path is one of the recordings' map, not of the robot."""
    return re.split(r'[.\[]', path, maxsplit=1)[0] in OF_MAP


# --- Documents -----------------------------------------------------------------------------------

def changeable(kind: type, whole: Any, path: str, change: str) -> list[str]:
    """
    Return the places of a path, without wildcards; raise `InvalidModel` unless all can be changed.

    Parameters
    ----------
    kind : type
        Dataclass of the document.
    whole : document
    path, change : str
        See `Parameter`.

    """
    if not WHOLE.fullmatch(path):
        raise InvalidModel('', path, 'a path such as tendons.*.compliance')
    places = list(_expanded(whole, path))
    for place in places:
        there = found(whole, place)
        if there is None:
            _check_keys(kind, whole, place)
        _check_change(place, there, change)
    return places


def _check_keys(kind: type, whole: Any, place: str) -> None:
    """Raise unless something may be set at a place where nothing is."""
    with_it = copy.deepcopy(whole)
    _change(with_it, place, 'set', 1.0)
    try:
        build(kind, with_it)
    except (UnknownKey, MissingKey):
        raise
    except InvalidModel:  # of the value, which will be another
        pass


def _check_change(place: str, there: Any, change: str) -> None:
    """Raise unless what is at a place can be changed as is wanted."""
    pair = isinstance(there, list) and len(there) == 2
    numbers = there if isinstance(there, list) else [there]
    known = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in numbers)
    if change == 'rotate' and not (pair and known):
        raise InvalidModel('', place, f'that of a pair of numbers, not {excerpt(there)}')
    if isinstance(there, list) and change in ('set', 'add'):
        raise InvalidModel('', place, f'that of a number, such as {place}[0], where it is set or '
                           'added to')
    if not known and not (change == 'set' and there is None):
        raise InvalidModel('', place, f'that of a number, not {excerpt(there)}')


def steps(path: str) -> list[str]:
    """Return the keys and indices of a path."""
    return [index or key for index, key in STEP.findall(path)]


def _expanded(whole: Any, path: str) -> Iterator[str]:
    """Return the paths that one with wildcards stands for; raise if there are none."""
    reached = [('', whole)]
    way = steps(path)
    for k, step in enumerate(way):
        deeper = []
        for prefix, node in reached:
            if isinstance(node, Mapping) and step not in ('*', *node) and k < len(way) - 1:
                raise UnknownName('', step, list(node))
            for key in _keys(node, step, path):
                word = f'[{key}]' if isinstance(node, list) else f'.{key}' if prefix else key
                deeper.append((f'{prefix}{word}', _inside(node, key)))
        reached = deeper
    if not reached:
        raise InvalidModel('', path, 'a path to something that is in the file')
    return (prefix for prefix, _ in reached)


def _keys(node: Any, step: str, path: str) -> list[Any]:
    """Return the keys of a node that a step stands for."""
    if isinstance(node, list):
        if step == '*':
            return list(range(len(node)))
        if _is_index(step) and int(step) < len(node):
            return [int(step)]
        raise UnknownName('', path, [f'[{k}]' for k in range(len(node))])
    if isinstance(node, Mapping):
        return list(node) if step == '*' else [step]  # which may not be there: a default
    if node is None and not (step == '*' or _is_index(step)):
        return [step]
    if node is None:
        raise InvalidModel('', path, 'a path whose lists and wildcards are in the file')
    raise InvalidModel('', path, f'a path that ends before {step!r}: there is {node!r}')


def _is_index(step: str) -> bool:
    return step.isdecimal() and len(step) < 10


def _inside(node: Any, key: Any) -> Any:
    return None if node is None else node.get(key) if isinstance(node, Mapping) else node[key]


def found(node: Any, path: str) -> Any:
    """Return what is at a path, None if nothing."""
    for step in steps(path):
        node = _inside(node, int(step) if isinstance(node, list) else step)
    return node


def _change(node: Any, path: str, change: str, value: float) -> None:
    """Change what is at a path."""
    *way, last = steps(path)
    for step in way:
        node = node[int(step)] if isinstance(node, list) else node.setdefault(step, {})
    key: Any = int(last) if isinstance(node, list) else last
    there = _inside(node, key)
    if change == 'multiply':
        new: Any = [value * x for x in there] if isinstance(there, list) else value * there
    elif change == 'rotate':
        c, s = math.cos(value), math.sin(value)
        new = [c * there[0] - s * there[1], s * there[0] + c * there[1]]
    else:
        new = value if change == 'set' else there + value
    node[key] = [_plain(x) for x in new] if isinstance(new, list) else _plain(new)


def _plain(value: float) -> float:
    """Return a whole number as such: where only these are allowed, 1.0 is none."""
    return int(value) if value.is_integer() else value


def changed(whole: Any, path: str, change: str, value: float) -> Any:
    """Return a document with all places of a path changed; raise `InvalidModel` if it has none."""
    whole = copy.deepcopy(whole)
    for place in _expanded(whole, path):
        _change(whole, place, change, value)
    return whole
