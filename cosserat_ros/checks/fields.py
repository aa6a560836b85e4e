"""
Dataclasses whose fields check themselves.

    @dataclass(frozen=True)
    class Disc(Checked):
        radius: float = number('m', above=0.0)

A value that does not fit raises `InvalidModel` with the field's name, the value and what is
allowed. A field whose default is ``None`` may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, MISSING
from functools import partial
import math
import re
from types import MappingProxyType
from typing import Any

import numpy as np

from .errors import InvalidModel, UnknownName


class Checked:
    """A dataclass whose fields are replaced by what their checks return."""

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if value is not None or f.default is not None:
                object.__setattr__(self, f.name, f.metadata['check'](f.name, value))

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process: read-only mappings cannot, plain ones can."""
        values = ((f.name, getattr(self, f.name))
                  for f in fields(self) if f.init)  # type: ignore[arg-type]
        return partial(type(self), **{
            name: dict(value) if isinstance(value, MappingProxyType) else value
            for name, value in values}), ()


FARTHEST = 1e6  # [m] that anything of a robot may be long or away: more is a mistake


# --- Kinds of field -----------------------------------------------------------------------------

def number(unit: str, *, default: Any = MISSING, kw_only: Any = MISSING, **limits: Any) -> Any:
    """Make a field for a number [unit] within `limits`, see `check_number`."""
    check = partial(check_number, unit=unit, **limits)
    return field(default=default, kw_only=kw_only, metadata={'check': check})


def integer(*, least: int, most: int, default: Any = MISSING) -> Any:
    """Make a field for a whole number within limits."""
    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InvalidModel(name, value, f'a whole number from {least} to {most}')
        return int(value)
    return field(default=default, metadata={'check': check})


def vector(unit: str, *, size: int = 3, default: Any = MISSING, **limits: Any) -> Any:
    """Make a field for `size` numbers [unit] within `limits`, see `check_vector`."""
    check = partial(check_vector, size=size, unit=unit, **limits)
    return field(default=default, metadata={'check': check})


def position(*, size: int = 3, default: Any = MISSING) -> Any:
    """Make a field for coordinates [m] that are not absurdly far away."""
    return vector('m', size=size, default=default, least=-FARTHEST, most=FARTHEST)


def numbers(
    unit: str, *, fewest: int, most: int = 1000, increasing: bool = False, default: Any = MISSING,
    **limits: Any,
) -> Any:
    """Make a field for a list of `fewest` to `most` numbers [unit] within `limits`."""
    def check(name: str, value: Any) -> tuple[float, ...]:
        allowed = f'a list of {fewest} to {most} numbers [{unit}]'
        checked = check_vector(name, value, _count(name, value, fewest, most, allowed), unit=unit,
                               **limits)
        for i, (x, y) in enumerate(zip(checked[:-1], checked[1:])):
            if increasing and not y > x:
                raise InvalidModel(f'{name}[{i + 1}]', y, f'more than the one before, {x:g}')
        return checked
    return field(default=default, metadata={'check': check})


def points(*, fewest: int, most: int = 1000, size: int = 2) -> Any:
    """Make a field for a list of points (x, y) or (x, y, z) [m]."""
    def check(name: str, value: Any) -> tuple[tuple[float, ...], ...]:
        axes = ', '.join('xyz'[:size])
        _count(name, value, fewest, most, f'a list of {fewest} to {most} points [{axes}] [m]')
        return tuple(
            check_vector(f'{name}[{i}]', x, size, unit='m', least=-FARTHEST, most=FARTHEST)
            for i, x in enumerate(value))
    return field(metadata={'check': check})


def text(pattern: str, allowed: str, *, default: Any = MISSING) -> Any:
    """Make a field for a string that matches `pattern` whole."""
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise InvalidModel(name, value, allowed)
        return str(value)
    return field(default=default, metadata={'check': check})


def choice(*options: str, default: Any = MISSING) -> Any:
    """Make a field for one of several words."""
    def check(name: str, value: Any) -> str:
        if value not in options:
            raise UnknownName(name, value, list(options))
        return str(value)
    return field(default=default, metadata={'check': check})


def instance(kind: type, allowed: str, *, default: Any = MISSING) -> Any:
    """Make a field for a `kind`, which has checked itself."""
    def check(name: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise InvalidModel(name, value, allowed)
        return value
    return field(default=default, metadata={'check': check})


def mapping(kind: type, allowed: str, *, least: int = 0) -> Any:
    """Make a read-only field for a mapping from names to at least so many things of a `kind`."""
    def check(name: str, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping) or len(value) < least:
            count = f'at least {least} of the ' if least else ''
            raise InvalidModel(name, value, f'a mapping from names to {count}{allowed}')
        for key, item in value.items():
            if not isinstance(item, kind):
                raise InvalidModel(f'{name}.{key}', item, allowed)
        return MappingProxyType(dict(value))
    default_factory: Any = MISSING if least else dict
    return field(default_factory=default_factory, metadata={'check': check})


def named_numbers(allowed: str) -> Any:
    """Make a read-only field for a mapping from names to finite numbers."""
    def check(name: str, value: Any) -> Mapping[str, float]:
        if not isinstance(value, Mapping):
            raise InvalidModel(name, value, allowed)
        return MappingProxyType(
            {key: check_number(f'{name}.{key}', item) for key, item in value.items()})
    return field(default_factory=dict, metadata={'check': check})


def listed(kind: type, allowed: str) -> Any:
    """Make a field for a list of things of a `kind`, empty if left out."""
    def check(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise InvalidModel(name, value, allowed)
        for i, item in enumerate(value):
            if not isinstance(item, kind):
                raise InvalidModel(f'{name}[{i}]', item, allowed)
        return tuple(value)
    return field(default=(), metadata={'check': check})


# --- Checks -------------------------------------------------------------------------------------

def check_number(
    field: str, value: Any, *, above: float = -math.inf, least: float = -math.inf,
    most: float = math.inf, unit: str = '-',
) -> float:
    """
    Return `value` as a float, or raise `InvalidModel`.

    Parameters
    ----------
    field : str
        Name for the error message.
    value : object
        Candidate; booleans are not numbers here, and neither are NaN and infinity.
    above, least, most : float
        Allowed are ``above < value``, ``least <= value <= most``.
    unit : str
        For the error message.

    """
    number = math.nan
    if not isinstance(value, (bool, np.bool_, str, bytes)):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    if math.isfinite(number) and number > above and least <= number <= most:
        return number
    bounds = [f'> {above:g}'] if above > -math.inf else []
    bounds += [f'>= {least:g}'] if least > -math.inf else []
    bounds += [f'<= {most:g}'] if most < math.inf else []
    limits = f' {" and ".join(bounds)}' if bounds else ''
    raise InvalidModel(field, value, f'a finite number{limits} [{unit}]')


def _count(name: str, value: Any, fewest: int, most: int, allowed: str) -> int:
    """Return how many a list has, or raise `InvalidModel`."""
    listed = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))
    if not listed or not fewest <= len(value) <= most:
        raise InvalidModel(name, value, allowed)
    return len(value)


def check_vector(
    field: str, value: Any, size: int, *, least: float = -math.inf, most: float = math.inf,
    unit: str = '-',
) -> tuple[float, ...]:
    """Return `value` as a tuple of `size` floats within limits, or raise `InvalidModel`."""
    listed = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if not (listed or isinstance(value, np.ndarray) and value.ndim == 1) or len(value) != size:
        raise InvalidModel(field, value, f'a list of {size} finite numbers [{unit}]')
    return tuple(
        check_number(f'{field}[{i}]', x, least=least, most=most, unit=unit)
        for i, x in enumerate(value))
