"""Types of messages by their names: their classes, and the text that defines them."""

from __future__ import annotations

import importlib
from pathlib import Path
import re
from typing import Any

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError

SEPARATOR = '=' * 80  # between the definition of a type and those of its parts


class UnknownType(Exception):
    """A type of message that is not installed here."""


def message_class(kind: str) -> Any:
    """Return the class of a type of message, or raise `UnknownType`."""
    package, _, name = kind.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise UnknownType(f'its type {kind} is not installed here') from error


def definition(kind: str) -> str:
    """Return the text of a type's .msg file and of all those it is made of, as rosbag2 does."""
    texts: dict[str, str] = {}
    waiting = [kind]
    while waiting:
        name = waiting.pop(0)
        if name in texts:
            continue
        package, _, short = name.split('/')
        try:
            path = Path(get_package_share_directory(package)) / 'msg' / f'{short}.msg'
            texts[name] = path.read_text()
        except (PackageNotFoundError, OSError) as error:
            raise UnknownType(f'the definition of {name} is not installed here') from error
        fields = ' '.join(message_class(name).get_fields_and_field_types().values())
        waiting += [f'{package}/msg/{short}' for package, short in re.findall(
            r'(\w+)/(\w+)', fields)]
    parts = [texts.pop(kind)]
    for name, text in texts.items():
        package, _, short = name.split('/')
        parts.append(f'{SEPARATOR}\nMSG: {package}/{short}\n{text}')
    return '\n'.join(parts)
