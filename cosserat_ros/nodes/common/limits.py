"""
How much a message may hold.

Whoever can send a message can send a huge one. Each list and each string of what comes in is held
against one table of limits before anything else is done with it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from rosidl_parser.definition import AbstractGenericString, AbstractNestedType, NamespacedType

from ...checks.errors import InvalidModel

LONGEST_TEXT = 1000  # characters of a string
MOST_ITEMS = 1000    # of a list that is not in the table
MOST = {             # of lists of this name, in requests and messages, and of what is kept of them
    'loads': 100, 'payloads': 100, 'snapshots': 100, 'targets': 100,
    'obstacles': 200, 'vertices': 100_000, 'triangles': 100_000,  # of meshes
    'points': 10_000,       # of a trajectory
    'transforms': 100_000,  # of /tf
    'markers': 100_000, 'marker.points': 1_000_000, 'marker.colors': 1_000_000,
}


class Fields(NamedTuple):
    """Of a kind of message, by name."""

    lists: tuple[tuple[str, bool], ...]  # and whether their items may hold too much in turn
    texts: tuple[str, ...]
    messages: tuple[str, ...]            # that may hold too much


def check_size(message: Any) -> None:
    """Raise `InvalidModel` if a list or a string of a message, at any depth, is too long."""
    kind: Any = type(message)
    fields = _fields(kind)
    for name in fields.texts:
        check_text(name, getattr(message, name))
    for name, deep in fields.lists:
        items = getattr(message, name)
        check_count(name, len(items))
        for i, item in enumerate(items if deep else ()):
            if isinstance(item, str):
                check_text(f'{name}[{i}]', item)
                continue
            try:
                check_size(item)
            except InvalidModel as error:
                raise error.within(f'{name}[{i}]') from None
    for name in fields.messages:
        try:
            check_size(getattr(message, name))
        except InvalidModel as error:
            raise error.within(name) from None


def check_count(name: str, count: int) -> None:
    """Raise `InvalidModel` if there are too many of what is listed by this name."""
    most = MOST.get(name, MOST_ITEMS)
    if count > most:
        raise InvalidModel(name, count, f'at most {most}')


def check_text(name: str, text: str) -> None:
    """Raise `InvalidModel` if a string is too long."""
    if len(text) > LONGEST_TEXT:
        raise InvalidModel(name, text, f'at most {LONGEST_TEXT} characters, not {len(text)}')


@cache
def _fields(kind: Any) -> Fields:
    """Return what may hold too much in a kind of message."""
    lists, texts, messages = [], [], []
    for name, slot in zip(kind.get_fields_and_field_types(), kind.SLOT_TYPES):
        if isinstance(slot, AbstractNestedType):
            lists.append((name, _may_hold_much(slot.value_type)))
        elif isinstance(slot, AbstractGenericString):
            texts.append(name)
        elif _may_hold_much(slot):
            messages.append(name)
    return Fields(tuple(lists), tuple(texts), tuple(messages))


def _may_hold_much(slot: Any) -> bool:
    """Tell whether a string, or a message with a list or a string somewhere in it."""
    if not isinstance(slot, NamespacedType):
        return isinstance(slot, AbstractGenericString)
    return any(_fields(getattr(import_module('.'.join(slot.namespaces)), slot.name)))
