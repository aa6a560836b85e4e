"""
Write docs/api.md, the Python API, from signatures and docstrings.

Run by `make docs`. What a user needs is listed here; what it is and does is said where it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
import inspect
from pathlib import Path
import re
import sys
from typing import Any

PAGE = Path(__file__).resolve().parent / 'api.md'
PACKAGE = 'cosserat_ros'
WHAT = {  # section: what it is about, and its modules with the names that a user needs
    'Robots': ('Robot files: [robots.md](robots.md).', {
        'description.robot': ['load', 'Robot', 'RodShape'],
        'description.modes': ['StrainModes']}),
    'Simulation': ('', {
        'simulation.simulator': [
            'Simulator', 'ActuatorState', 'Load', 'Look', 'Snapshot'],
        'assembly.solver': ['Solution'],
        'simulation.urdf': ['urdf']}),
    'Inverse statics': ('', {
        'inverse.statics': ['InverseStatics', 'Result'],
        'inverse.task': ['Target']}),
    'Analyses': ('All of them about the present state of a simulator.', {
        'analysis.linearize': ['linearize', 'LinearModel', 'vibration', 'Vibration'],
        'analysis.stability': ['stability', 'Stability', 'displacements'],
        'analysis.lagrangian': ['lagrangian', 'Lagrangian', 'efforts_for', 'Efforts'],
        'analysis.sensitivity': [
            'command_jacobian', 'compliance', 'station_jacobian', 'wrench_columns', 'Spot',
            'tip_spot']}),
    'Assemblies': (
        'Any graph of bodies, rods and joints: [assemblies.md](assemblies.md).', {
            'assembly.assembly': [
                'Assembly', 'RigidBody', 'RodPart', 'Attachment', 'Joint', 'pose'],
            'assembly.joint_kinds': ['JointKind', 'Coordinate'],
            'assembly.solver': ['AssemblySolver'],
            'analysis.inverse_dynamics': ['inverse_dynamics', 'InverseDynamics']}),
    'Control': ('', {
        'control.resolved_rate': ['ResolvedRate', 'SwingDamper'],
        'control.tip_follower': ['TipFollower'],
        'control.tip_path': ['TipPath']}),
    'Recordings and calibration': (
        'Commands and files: [calibration.md](calibration.md).', {
            'comparison.maps': ['load_map'],
            'comparison.recordings': ['read', 'Recording'],
            'calibration.parameters': ['Parameter', 'ParameterSet'],
            'calibration.prediction': ['predict', 'Prediction'],
            'calibration.calibration': ['Misfit', 'fit', 'Result'],
            'calibration.intervals': ['Interval']}),
    'Errors': ('', {'checks.errors': [
        'CosseratError', 'InvalidModel', 'NotConverged', 'SingularState']}),
}
HEAD = """# The Python API

Written by `make docs` from docstrings: do not edit. No part of it needs ROS. SI units; the local z
axis of a rod is its tangent; poses are (4, 4), body to world; linear parts come before angular
ones. A bad value raises `InvalidModel`, which names the field, the value and what is allowed; a
solver that does not converge returns a status. Names that are not on this page may change without
notice.
"""
SECTION = re.compile(r'^([A-Z]\w+)\n-{3,}\n', re.M)
ENTRY = re.compile(r'^(\S[^\n]*)\n((?:[ ]{4}[^\n]*\n?|\n(?=[ ]{4}))*)', re.M)


def one_line(text: str) -> str:
    """Return text without breaks, as a cell of a table."""
    return ' '.join(text.split()).replace('|', '\\|').replace('``', '`')


def sections_of(thing: Any) -> dict[str, str]:
    """Return the sections of a docstring in numpydoc's style, the first by the name ''."""
    said = inspect.cleandoc(thing.__dict__.get('__doc__') or '' if inspect.isclass(thing)
                            else thing.__doc__ or '')
    parts = SECTION.split(said)
    return {'': parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def entries(text: str) -> list[tuple[str, str, str]]:
    """Return names, types and words of a section's entries."""
    return [(*(x.strip() for x in (name + ' : ').split(' : ')[:2]), one_line(words))
            for name, words in ENTRY.findall(text.rstrip() + '\n')]


def prose(text: str) -> str:
    """Return a docstring's text with its references as code; an indented block as it is."""
    text = re.sub(r':\w+:`~?([^`]+)`', r'`\1`', text.strip())
    return re.sub(r'``([^`]+)``', r'`\1`', text)


def signature(name: str, made: Callable[..., Any]) -> str:
    """Return how a thing is called, without annotations."""
    try:
        listed = inspect.signature(made).parameters.values()
    except ValueError:
        return name
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in listed
             if p.name not in ('self', 'cls')]
    short = [p.replace(default=...) if is_dataclass(p.default) or 'factory' in repr(p.default)
             else p for p in plain]
    shown = str(inspect.Signature(short))
    while '<' in shown:  # a function, which has no short name
        shown = re.sub(r'<[^<>]*>', '...', shown)
    return name + shown.replace('Ellipsis', '...')


def comments(kind: type) -> dict[str, tuple[str, str]]:
    """Return the type of each field of a class, and the comment that stands beside it."""
    found: dict[str, tuple[str, str]] = {}
    last: str | None = None
    for line in inspect.getsource(kind).splitlines():
        field = re.match(r'    (\w+): ([^=#]+?)(?: = [^#]*)?(?:  # (.*))?$', line)
        more = re.match(r'\s+#\s+(.*)$', line)
        if field:
            last = field[1]
            found[last] = field[2].strip(), field[3] or ''
        elif more and last is not None and found[last][1]:
            found[last] = found[last][0], f'{found[last][1]} {more[1]}'
        elif line.strip():
            last = None
    return found


def fields_table(kind: type) -> Iterator[str]:
    """Yield the fields of a NamedTuple, or of a dataclass, as a table."""
    said = {name: words for names, _, words in entries(sections_of(kind).get('Parameters', ''))
            for name in names.replace(' ', '').split(',')}
    names = ([f.name for f in fields(kind) if f.init] if is_dataclass(kind)
             else getattr(kind, '_fields'))  # noqa: B009 which only a NamedTuple has
    said |= {name: words for name, words in re.findall(
        r'`(\w+)` ((?:\([^)]*\)|\[[^]]*\]|[^`;.])+)[;.]', one_line(sections_of(kind)[''])
        ) if name in names and name not in said}
    beside = comments(kind)
    yield from ('| field | type | |', '|---|---|---|')
    for name in names:
        type_, comment = beside.get(name, ('', ''))
        yield f'| `{name}` | `{one_line(type_)}` | {said.get(name) or one_line(comment)} |'


def parameters_list(thing: Any) -> Iterator[str]:
    """Yield the parameters, results and errors of a docstring."""
    for heading in ('Parameters', 'Returns', 'Raises'):
        listed = entries(sections_of(thing).get(heading, ''))
        if listed and heading != 'Parameters':
            yield f'{heading}:\n'
        for name, kind, words in listed:
            about = ': '.join(x for x in (kind, words) if x)
            yield f'- `{name}`' + (f': {about}' if about else '')
        if listed:
            yield ''


def members(kind: type) -> Iterator[str]:
    """Yield the public methods and properties of a class, with the first lines on them."""
    rows = []
    made = [base for base in kind.__mro__ if base.__module__.startswith(PACKAGE)]
    for name, member in {k: v for base in reversed(made) for k, v in vars(base).items()}.items():
        inner = getattr(member, '__func__', member)
        if name.startswith('_') or not (inspect.isfunction(inner) or isinstance(member, property)):
            continue
        said = sections_of(member.fget if isinstance(member, property) else inner)['']
        called = name if isinstance(member, property) else signature(name, inner)
        rows.append(f'| `{one_line(called)}` | {one_line(prose(said))} |')
    if rows:
        yield from ('| member | |', '|---|---|', *rows, '')


def thing_section(module: str, name: str) -> str:
    """Return the section of one class or function."""
    thing = getattr(import_module(f'{PACKAGE}.{module}'), name)
    lines = [f'### {name}', '', '```python', f'from {PACKAGE}.{module} import {name}']
    tuple_like = inspect.isclass(thing) and hasattr(thing, '_fields')
    if not tuple_like and not (inspect.isclass(thing) and issubclass(thing, Exception)):
        lines.append(signature(name, thing))
    lines += ['```', '', prose(sections_of(thing)['']), '']
    if tuple_like or is_dataclass(thing):
        lines += [*fields_table(thing), '']
    else:
        lines += parameters_list(thing)
    if inspect.isclass(thing):
        lines += members(thing)
    return '\n'.join(lines)


def page() -> str:
    """Return the whole page."""
    parts, seen = [HEAD], dict.fromkeys(map(str.lower, WHAT), 1)
    for heading, (about, modules) in WHAT.items():
        anchors = []
        for name in (name for listed in modules.values() for name in listed):
            before = seen.get(name.lower(), 0)  # headings that are alike are numbered
            seen[name.lower()] = before + 1
            anchors.append((name, name.lower() + (f'-{before}' if before else '')))
        links = ', '.join(f'[{name}](#{anchor})' for name, anchor in anchors)
        parts.append('\n\n'.join(x for x in (f'## {heading}', about, links) if x) + '\n')
        parts += [thing_section(module, name)
                  for module, listed in modules.items() for name in listed]
    return re.sub(r'\n{3,}', '\n\n', '\n'.join(parts)).rstrip() + '\n'


def main() -> int:
    """Write the page; with --check only tell whether it is as it should be."""
    text = page()
    if '--check' not in sys.argv[1:]:
        PAGE.write_text(text, encoding='utf-8')
    elif not PAGE.exists() or PAGE.read_text(encoding='utf-8') != text:
        print(f'{PAGE.name} is not up to date: run `make docs`', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
