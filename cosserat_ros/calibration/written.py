"""
A YAML file with other numbers in it: all else stays, letter by letter.

Numbers are replaced in the text, where the parser says that they are; a key that is not there
comes before the others of its mapping. What is written is read again and compared with what is
meant. Where an anchor stands for several places that get different numbers, that fails; then each
place gets a part of its own, and the file the parser's layout, with its comments.
"""

from __future__ import annotations

from collections.abc import Iterable
import copy
import io
from pathlib import Path
from typing import Any
import warnings

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from ..checks.errors import InvalidModel
from ..description.documents import build, document
from .parameters import found, steps

WIDEST = 10_000  # characters of a line: none is to be broken
MERGE = '<<'     # the key whose mapping lends its keys


def rewritten(source: Path, kind: type, wanted: Any, places: Iterable[str]) -> str:
    """
    Return the text of a file, with what is at some places as it is in a document.

    Parameters
    ----------
    source : Path
        The file.
    kind : type
        Dataclass of its document.
    wanted : document
        What the text is to be read as.
    places : iterable of str
        Where `wanted` differs from the file, without wildcards.

    """
    text, meant = source.read_text(encoding='utf-8'), document(build(kind, wanted))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of what is merely unusual, such as a reused anchor
        tree = YAML().load(text)
        whole = dict.fromkeys(_whole(tree, place) for place in places)
        values = [(place, found(wanted, place)) for place in whole]
        for way in (_in_place, _apart):
            new = way(text, values)
            try:
                if document(build(kind, YAML().load(new))) == meant:
                    return new
            except InvalidModel:
                pass
    return _dumped(document(build(kind, wanted), defaults=False), 95)


def _whole(tree: Any, place: str) -> str:
    """Return a place, or that of the list which it is in, if that is not in the file."""
    path = ''
    for step in steps(place):
        if step.isdecimal() and found(tree, path) is None:
            return path
        path += f'[{step}]' if step.isdecimal() else f'.{step}' if path else step
    return path


def _dumped(node: Any, width: int = WIDEST) -> str:
    """Return a document as YAML."""
    stream, yaml = io.StringIO(), YAML()
    yaml.default_flow_style, yaml.width, yaml.preserve_quotes = None, width, True
    yaml.dump(node, stream)
    return stream.getvalue()


# --- In the text ---------------------------------------------------------------------------------

def _in_place(text: str, values: list[tuple[str, Any]]) -> str:
    """Return the text with values at places."""
    for place, value in values:  # each in the text with those before: it may be within one of them
        root = YAML(typ='rt', pure=True).compose(text)
        changes = _changes(root, steps(place), value)
        for (start, end), new in sorted(changes.items(), reverse=True):
            text = text[:start] + new + text[end:]
    return text


def _changes(node: Any, way: list[str], value: Any) -> dict[tuple[int, int], str]:
    """Return what replaces which part of the text, so that there is a value at a place."""
    for k, step in enumerate(way):
        inside = _inside(node, step)
        if inside is None:
            for word in reversed(way[k + 1:]):
                value = {word: value}
            start = node.value[0][0].start_mark
            after = ', ' if node.flow_style else '\n' + ' ' * start.column
            return {(start.index, start.index): f'{step}: {_flow(value)}{after}'}
        node = inside
    if isinstance(node, SequenceNode) and isinstance(value, list):
        return {span: new for i, x in enumerate(value)
                for span, new in _changes(node, [str(i)], x).items()}
    end = node.end_mark.index
    start = end - len(node.value) if isinstance(node, ScalarNode) else node.start_mark.index
    return {} if _same(node, value) else {(start, end): _flow(value)}


def _inside(node: Any, step: str) -> Any:
    """Return the node of a key or an index; None where there is none."""
    if isinstance(node, SequenceNode):
        return node.value[int(step)]
    lent = None
    for key, inside in node.value if isinstance(node, MappingNode) else []:
        if key.value == step:
            return inside
        for one in (inside.value if isinstance(inside, SequenceNode) else [inside]) if (
                key.value == MERGE) else []:
            lent = lent or _inside(one, step)
    return lent


def _same(node: Any, value: Any) -> bool:
    try:
        return isinstance(node, ScalarNode) and float(node.value) == value
    except ValueError:
        return False


def _flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return '{' + ', '.join(f'{key}: {_flow(x)}' for key, x in value.items()) + '}'
    return f'[{", ".join(map(_flow, value))}]' if isinstance(value, list) else repr(value)


# --- With parts of their own ---------------------------------------------------------------------

def _apart(text: str, values: list[tuple[str, Any]]) -> str:
    """Return a text with values at places that share nothing with other places."""
    tree = YAML().load(text)
    for place, value in values:
        node, (*way, last) = tree, steps(place)
        for step in way:
            key: Any = int(step) if isinstance(node, list) else step
            there = node[key] if isinstance(node, list) else node.get(key)
            node[key] = _unshared({} if there is None else there)
            node = node[key]
        node[int(last) if isinstance(node, list) else last] = value
    return _dumped(tree)


def _unshared(part: Any) -> Any:
    """Return a copy of a mapping or list without anchors."""
    new = copy.deepcopy(part)
    parts = [new]
    while parts:
        one = parts.pop()
        if getattr(one, 'anchor', None) is not None:
            one.anchor.value = None
        if isinstance(one, (dict, list)):
            parts += one.values() if isinstance(one, dict) else one
    return new
