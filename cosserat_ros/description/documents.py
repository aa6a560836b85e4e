"""
From a YAML file to checked dataclasses, with errors that a user can act on.

Each mapping of the file becomes a dataclass, each key one of its fields; the dataclasses check
their own values (`checks.fields`). What is said here once for all of them: unknown
and missing keys, wrong kinds of node, and the line of the file where the trouble is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, MISSING
import itertools
from pathlib import Path
import re
import types
from typing import Any, get_args, get_origin, get_type_hints, Union
import warnings

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from ..checks.errors import (
    CosseratError,
    excerpt,
    InvalidModel,
    MissingKey,
    UnknownKey,
    UnknownName,
)

MAX_SIZE = 200_000  # [bytes] of a description: more is some other file
MAX_DEPTH = 50  # of brackets in brackets: the parser slows down with its square
TAG = 'shape'  # the key that tells which of several dataclasses a mapping is
NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]{0,63}')


class InvalidDescription(CosseratError):
    """A description file that cannot be used; the message names file, line and reason."""


def load(path: str | Path, kind: type, check: Callable[[Any], None] | None = None) -> Any:
    """
    Read a YAML file into a dataclass.

    Parameters
    ----------
    path : str or Path
        The file.
    kind : type
        Dataclass of the document.
    check : callable, optional
        Of what is read: may raise `InvalidModel` too.

    Raises
    ------
    InvalidDescription
        With the file, the line, and what is wrong there, in one line of text.

    """
    document = parse(Path(path))
    try:
        read = build(kind, document)
        if check is not None:
            check(read)
        return read
    except InvalidModel as error:
        raise located(path, document, error) from None


def located(path: str | Path, document: Any, error: InvalidModel) -> InvalidDescription:
    """
    Return what is wrong with a document, with the line where that is.

    An error may name parts instead of a path, as "loop through a, b": then it is where the first
    of them is described.
    """
    field = error.field
    if not any(_word(key) == re.split(r'[.\[]', field)[0] for key in document):
        named = (f'{key}.{name}' for name in re.findall(r'\w+', field)
                 for key, part in document.items() if isinstance(part, Mapping) and name in part)
        field = next(named, '')
    return InvalidDescription(f'{path}:{_line_of(document, field)}: {error}')


def line_of(path: str | Path, field: str) -> int:
    """Return the line of a YAML file, from 1, of the deepest node on the path of a field."""
    return _line_of(parse(Path(path)), field)


def parse(path: Path) -> Any:
    """Return the document of a YAML 1.2 file, whose nodes remember their lines."""
    try:
        if path.exists() and not path.is_file():
            raise InvalidDescription(f'{path}: not a file')
        if path.exists() and path.stat().st_size > MAX_SIZE:
            raise InvalidDescription(f'{path}: larger than {MAX_SIZE} bytes, not a description')
        text = path.read_text(encoding='utf-8')
    except (OSError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        reason = error.strerror if isinstance(error, OSError) else 'not a text file in UTF-8'
        raise InvalidDescription(f'{path}: {reason}') from None
    if _depth(text) > MAX_DEPTH:
        raise InvalidDescription(f'{path}: brackets nested deeper than {MAX_DEPTH}')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # of what is merely unusual, such as a reused anchor
            document = YAML(typ='rt', pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = str(error.problem or error.context).split('\n')[0].split(' with value ')[0]
        raise InvalidDescription(f'{path}:{line}: not valid YAML: {problem}') from None
    except Exception as error:  # the parser raises whatever its code meets in odd files
        reason = ' '.join(f'{type(error).__name__} {error}'.split())[:200]
        raise InvalidDescription(f'{path}: not valid YAML: {reason}') from None
    if not isinstance(document, Mapping):
        raise InvalidDescription(f'{path}:1: not a mapping of keys to values')
    return document


def _depth(text: str) -> int:
    """Return how deep brackets are nested, or more where some are part of strings."""
    steps = ({'[': 1, '{': 1, ']': -1, '}': -1}.get(c, 0) for c in text)
    return max(itertools.accumulate(steps), default=0)


def build(kind: Any, node: Any) -> Any:
    """
    Return `node`, a part of a YAML document, as the annotated type `kind`.

    Scalars pass as they are: the dataclass that they belong to checks them.
    """
    if is_dataclass(kind):
        return _build_dataclass(kind, node)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _build_union(arguments, node)
    if origin is tuple and arguments[-1] is Ellipsis and is_dataclass(arguments[0]):
        return _build_list(arguments[0], node)
    if origin is not None and issubclass(origin, Mapping):
        return _build_named(arguments[1], node)
    return node


def document(thing: Any, defaults: bool = True) -> Any:
    """
    Return the document that `build` makes a thing of.

    Parameters
    ----------
    thing : dataclass, mapping, sequence or scalar
    defaults : bool
        Whether to tell what could be left out.

    """
    if is_dataclass(thing):
        node = {TAG: getattr(thing, TAG)} if hasattr(thing, TAG) else {}
        for f in fields(thing):
            value = getattr(thing, f.name)
            usual = f.default if f.default_factory is MISSING else f.default_factory()
            if f.init and value is not None and (defaults or value != usual):
                node[f.name] = document(value, defaults)
        return node
    if isinstance(thing, Mapping):
        return {name: document(item, defaults) for name, item in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [document(item, defaults) for item in thing]
    return thing


def _build_dataclass(kind: Any, node: Any) -> Any:
    known = [f for f in fields(kind) if f.init]
    names = [f.name for f in known]
    if not isinstance(node, Mapping):
        raise InvalidModel('', node, f'a mapping with keys from: {", ".join(names)}')
    tagged = hasattr(kind, TAG)
    for key in node:
        if key not in names and not (tagged and key == TAG):
            raise UnknownKey(_word(key), names)
    for f in known:
        if f.name not in node and f.default is MISSING and f.default_factory is MISSING:
            raise MissingKey(f.name)
    types_of = get_type_hints(kind)
    values = {
        name: _within(name, types_of[name], node[name]) for name in names if name in node}
    return kind(**values)


def _build_union(kinds: tuple, node: Any) -> Any:
    """Choose among dataclasses by their tag; ``None`` among the kinds allows an empty node."""
    if node is None and type(None) in kinds:
        return None
    kinds = tuple(k for k in kinds if k is not type(None))
    if len(kinds) == 1:
        return build(kinds[0], node)
    tags = {getattr(k, TAG): k for k in kinds if is_dataclass(k)}
    if not tags:  # of scalars
        return node
    if not isinstance(node, Mapping):
        raise InvalidModel('', node, f'a mapping with {TAG}: {" or ".join(tags)}')
    if TAG not in node:
        raise MissingKey(TAG)
    if node[TAG] not in list(tags):  # a list: the node may be unhashable
        raise UnknownName(TAG, node[TAG], list(tags))
    return build(tags[node[TAG]], node)


def _build_list(kind: Any, node: Any) -> tuple:
    if not isinstance(node, Sequence) or isinstance(node, (str, bytes)):
        raise InvalidModel('', node, 'a list')
    return tuple(_within(f'[{i}]', kind, item) for i, item in enumerate(node))


def _build_named(kind: Any, node: Any) -> dict[str, Any]:
    """Build a mapping from names, which the user chooses, to things of one kind."""
    if not isinstance(node, Mapping):
        raise InvalidModel('', node, 'a mapping from names to their properties')
    for name in node:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InvalidModel(
                _word(name), name,
                'named by a letter, then up to 63 letters, digits and underscores')
    return {name: _within(name, kind, item) for name, item in node.items()}


def _word(key: Any) -> str:
    """Return a key as part of a path: as it is, or quoted where it is no plain word."""
    return key if isinstance(key, str) and re.fullmatch(r'[\w/-]+', key) else excerpt(key)


def _within(path: str, kind: Any, node: Any) -> Any:
    """Build a part, and let its errors tell where it is."""
    try:
        return build(kind, node)
    except InvalidModel as error:
        raise error.within(path) from None


def _line_of(document: Any, field: str) -> int:
    """Return the line, from 1, of the deepest node of the document on the path `field`."""
    line = 1
    node: Any = document
    for step in re.findall(r'[^.\[\]]+', field):
        try:
            listed = isinstance(node, list)
            key: Any = int(step) if listed else next(k for k in node if _word(k) == step)
            line = (node.lc.item if listed else node.lc.key)(key)[0] + 1
            node = node[key]
        except (StopIteration, IndexError, KeyError, AttributeError, ValueError, TypeError):
            break
    return line
