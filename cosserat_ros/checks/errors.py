"""
Errors of the library: what is wrong, where, and what is allowed.

Bad input raises one of these. A solver that does not converge raises nothing: it returns a
status with a reason. Functions that solve many times on the way to a result raise `NotConverged`.
"""

from __future__ import annotations

import copy
import difflib
import reprlib
from typing import Any


class _Excerpt(reprlib.Repr):
    """Shows a value in a few words, however large, deep or self-containing it is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxdict, self.maxstring, self.maxother = 2, 4, 3, 60, 60

    def repr1(self, x: Any, level: int) -> str:
        # By kind, not by the name of the class as reprlib has it: YAML's lists are subclasses.
        if isinstance(x, dict):
            return self.repr_dict(x, level)
        if isinstance(x, list):
            return self.repr_list(x, level)
        return super().repr1(x, level)


excerpt = _Excerpt().repr
COMPARED = 100  # characters of an unknown name, by which the nearest is found: it is slow
NEAR = 0.6  # ratio of `difflib`, from which a known name may have been meant: a slip or two


class CosseratError(Exception):
    """Root of all errors that the library raises on purpose."""


class InvalidModel(CosseratError, ValueError):
    """
    A value that no model can be made of.

    Parameters
    ----------
    field : str
        Path of the offending field, e.g. ``'rods.backbone.segments[0].length'``.
    value : object
        What was given.
    allowed : str
        What would be accepted, with unit, completing "must be ...".

    """

    def __init__(self, field: str, value: Any, allowed: str) -> None:
        super().__init__(field, value, allowed)
        self.field = field
        self.value = value
        self.allowed = allowed

    def __str__(self) -> str:
        return f'{self.field or "it"} must be {self.allowed}, got {excerpt(self.value)}'

    def within(self, path: str) -> InvalidModel:
        """Return the same error, its field seen from outside as ``path.field``."""
        outer = copy.copy(self)
        joint = '' if not self.field or self.field.startswith('[') else '.'
        outer.field = f'{path}{joint}{self.field}'
        return outer


class SingularState(CosseratError):
    """A state of a robot about which it has no linear model."""


class NotConverged(CosseratError):
    """An equilibrium or a step on the way to a result that does not converge."""


class UnknownName(InvalidModel):
    """A name that is not among those known: a misspelt key, a rod that is not there."""

    def __init__(self, field: str, value: Any, known: list[str]) -> None:
        super().__init__(field, value, f'one of: {", ".join(known) or "(none there)"}')
        self.args = (field, value, known)
        near = difflib.get_close_matches(str(value)[:COMPARED], known, n=1, cutoff=NEAR)
        self.hint = f'; the nearest is {near[0]!r}' if near else ''

    def __str__(self) -> str:
        return super().__str__() + self.hint


class UnknownKey(UnknownName):
    """A key that a mapping must not have."""

    def __init__(self, field: str, known: list[str]) -> None:
        super().__init__(field, field, known)
        self.args = (field, known)

    def __str__(self) -> str:
        return f'{self.field} is not a known key, must be {self.allowed}{self.hint}'


class MissingKey(InvalidModel):
    """A key that a mapping must have."""

    def __init__(self, field: str) -> None:
        super().__init__(field, None, 'given')
        self.args = (field,)

    def __str__(self) -> str:
        return f'{self.field} is missing'
