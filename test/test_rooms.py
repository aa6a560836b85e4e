"""
Who may import whom: the rooms of the library, and every import of every module.

A module imports from its own room and from rooms before it; only `warm_up` sees all of them.
"""

import ast
from importlib.util import resolve_name

from conftest import ROOT
import pytest

ROOMS = (
    'checks', 'numerics', 'description', 'rod', 'laws', 'assembly', 'simulation', 'analysis',
    'inverse', 'control', 'comparison', 'calibration', 'commands', 'papers', 'nodes')
GENERATED = {'msg', 'srv'}  # of the interfaces; for nodes alone
PACKAGE = ROOT / 'cosserat_ros'
MODULES = {
    '.'.join((path.parent if path.stem == '__init__' else path.with_suffix('')).relative_to(
        ROOT).parts): path for path in sorted(PACKAGE.rglob('*.py'))}


def imported(name):
    """Return the modules of this package that a module imports, wherever in it, with lines."""
    path = MODULES[name]
    package = name if path.stem == '__init__' else name.rpartition('.')[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name('.' * node.level + (node.module or ''), package)
            for alias in node.names:
                inner = f'{base}.{alias.name}'
                yield (inner if inner in MODULES else base), node.lineno


def ours(name):
    """Return the imports of a module that are of this package."""
    return [(target, line) for target, line in imported(name)
            if target.split('.')[0] == PACKAGE.name]


def room(name):
    """Return the room of a module; empty for those beside the rooms."""
    parts = name.split('.')
    return parts[1] if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else ''


def test_every_folder_is_a_room():
    folders = {path.name for path in PACKAGE.iterdir() if (path / '__init__.py').is_file()}
    assert folders == set(ROOMS)
    beside = {name for name in MODULES if not room(name)}
    assert beside == {PACKAGE.name, f'{PACKAGE.name}.warm_up'}


@pytest.mark.parametrize('name', MODULES)
def test_every_import_is_of_something_that_is_there(name):
    for target, line in ours(name):
        generated = target.split('.')[1:2] and target.split('.')[1] in GENERATED
        assert target in MODULES or generated, f'{MODULES[name]}:{line}: {target}'


@pytest.mark.parametrize('name', [name for name in MODULES if room(name)])
def test_a_module_imports_only_from_rooms_before_its_own(name):
    allowed = {'', *ROOMS[:ROOMS.index(room(name)) + 1]}
    for target, line in ours(name):
        beside = target.rpartition('.')[2] == 'warm_up'
        first = target.split('.')[1] if '.' in target else ''
        if first in GENERATED:
            assert room(name) == 'nodes', f'{MODULES[name]}:{line}: {target}'
            continue
        assert room(target) in allowed and not beside, f'{MODULES[name]}:{line}: {target}'


@pytest.mark.parametrize('name', [name for name in MODULES if room(name) == 'description'])
def test_only_the_builder_reads_both_description_and_assembly(name):
    assert not [target for target, _ in ours(name) if room(target) == 'assembly']
