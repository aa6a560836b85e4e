"""
Write the tables of docs/robots.md and docs/calibration_files.md from what reads the files.

Run by `make docs`. A table goes between a line ``<!-- fields: Name -->`` and the next
``<!-- end -->``; all else is written by hand.
"""

from __future__ import annotations

from dataclasses import Field, fields, MISSING
import functools
import inspect
import math
from pathlib import Path
import re
import sys
from typing import Any

from cosserat_ros.calibration import calibration, parameters
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.checks.fields import FARTHEST
from cosserat_ros.commands import sweep
from cosserat_ros.comparison import maps
from cosserat_ros.description import (
    demonstration,
    fluid,
    gaits,
    joints,
    obstacles,
    parts,
    robot,
    rod,
    routing,
    section,
)
from cosserat_ros.rod import discretisation as strain

PAGES = [Path(__file__).resolve().parent / name for name in ('robots.md', 'calibration_files.md')]
MARK = re.compile(r'(<!-- fields: (\w+) -->\n).*?(<!-- end -->)', re.S)
MODULES = (robot, parts, joints, fluid, gaits, rod, section, routing, obstacles, strain,
           demonstration, maps, calibration, parameters, sweep)


def kind_named(name: str) -> type:
    """Return the dataclass of this name."""
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))


def explanations(kind: type) -> dict[str, str]:
    """Return what the docstrings of a dataclass and its bases say of each field."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        text = inspect.cleandoc(base.__dict__.get('__doc__') or '')
        _, _, listed = text.partition('Parameters\n----------\n')
        for names, words in re.findall(
                r'^(\w[\w, ]*?)(?: : [^\n]*)?\n((?:    [^\n]*\n?|\n(?=    ))+)', listed, re.M):
            if 'see `_' not in words:  # where a base says it
                found.update(dict.fromkeys(names.replace(' ', '').split(','),
                                           ' '.join(words.split())))
    return found


def known_of(field: Field) -> dict[str, Any]:
    """Return what the check of a field knows: its unit, limits, options."""
    check = field.metadata.get('check')
    if isinstance(check, functools.partial):
        return dict(check.keywords)
    if check is None or not check.__closure__:
        return {}
    known = dict(zip(check.__code__.co_freevars, (c.cell_contents for c in check.__closure__)))
    return {**known, **known.get('limits', {})}


def allowed(field: Field) -> str:
    """Return what a field may be, as far as its check tells: unit and limits, or a list."""
    known = known_of(field)
    if not {'unit', 'options', 'kind', 'pattern', 'least', 'fewest'} & set(known):
        return told(field)
    if set(known) == {'allowed'}:
        return known['allowed']
    if 'options' in known:
        return ' or '.join(f'`{word}`' for word in known['options'])
    if 'kind' in known:
        what = known['allowed']
        return f'a mapping of names to {what}' if 'Mapping' in str(field.type) else what
    if 'pattern' in known:
        return known['allowed']
    limits = [f'{sign} {known[key]:g}' for key, sign in (
        ('above', '>'), ('least', '≥'), ('most', '≤'))
        if math.isfinite(known.get(key, math.inf)) and abs(known[key]) != FARTHEST
        and 'fewest' not in known]
    what = 'a number' if 'unit' in known else 'a whole number'
    if 'size' in known and 'fewest' not in known:
        what = f'{known["size"]} numbers'
    elif 'fewest' in known:
        what = 'a list of numbers' if 'unit' in known else (
            f'a list of `[{", ".join("xyz"[:known["size"]])}]`')
    return f'{what} {" and ".join(limits)}'.rstrip()


def told(field: Field) -> str:
    """Return what a field may be by what its check says of a value that is none."""
    if 'check' not in field.metadata:  # a mapping of its own, or a list of them
        return 'see below'
    try:
        field.metadata['check'](field.name, object())
    except InvalidModel as error:
        return error.allowed
    raise ValueError(f'{field.name} can be anything')


def unit(field: Field) -> str:
    """Return the unit of a field, or nothing."""
    known = known_of(field)
    return known.get('unit', 'm' if 'fewest' in known else '')


def default(field: Field) -> str:
    """Return what holds where a key is left out."""
    if field.default is MISSING:
        return '**required**' if field.default_factory is MISSING else 'none'
    value: Any = field.default
    if value is None:
        return 'none'
    if isinstance(value, bool):
        return f'`{str(value).lower()}`'
    if isinstance(value, tuple):
        return f'`[{", ".join(f"{x:g}" for x in value)}]`'
    if isinstance(value, float):
        return f'`{value:.6g}`'
    return f'`{value}`' if isinstance(value, (int, str)) else 'its defaults'


def field_table(kind: type) -> str:
    """Return what a mapping is, in a line, and its keys as a table."""
    said = explanations(kind)
    summary = inspect.cleandoc(kind.__doc__ or '').split('\n\n')[0]
    tag = f' `shape: {kind.shape}`.' if hasattr(kind, 'shape') else ''
    rows = [' '.join(summary.split()) + tag]
    keys = sorted((f for f in fields(kind) if f.init), key=lambda f: f.default is not MISSING)
    if keys:
        rows += ['', '| key | what | unit | allowed | default |', '|---|---|---|---|---|']
    for field in keys:
        words = said.get(field.name, '').replace('|', '\\|').replace('``', '`')
        words = words.replace(f' [{unit(field)}]', '').removeprefix(
            f'[{unit(field)}]').strip(' .,;')
        words = words[:1].upper() + words[1:]
        rows.append(
            f'| `{field.name}` | {words} | {unit(field)} | {allowed(field)} | {default(field)} |')
    return '\n'.join(rows) + '\n'


def written(page: str) -> str:
    """Return the page with all its tables anew."""
    return MARK.sub(lambda m: m[1] + field_table(kind_named(m[2])) + m[3], page)


def main() -> int:
    """Write the pages; with --check only tell whether they are as they should be."""
    check, stale = '--check' in sys.argv[1:], 0
    for page in PAGES:
        before = page.read_text(encoding='utf-8')
        after = written(before)
        if not check:
            page.write_text(after, encoding='utf-8')
        elif before != after:
            print(f'{page.name} is not up to date: run `make docs`', file=sys.stderr)
            stale = 1
    return stale


if __name__ == '__main__':
    sys.exit(main())
