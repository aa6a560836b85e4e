"""
Who may import whom: the rooms of the library, and every import of every module.

A module imports from its own room and from rooms before it; only `warm_up` sees all of them. Of a
description, `rod`, `laws` and `assembly` know plain data of parts alone (a rod, its modes, shapes
that are touched); only the builder knows both robots and what assemblies are made of.
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


# What the equations read of a description: data of one part, and never of a robot.
PLAIN_DATA = {
    'modes': {'FAMILIES', 'StrainModes'},
    'obstacles': {
        'BaseGeometry', 'Box', 'Capsule', 'ContactProperties', 'Cylinder', 'HeightField', 'Mesh',
        'Obstacle', 'Plane', 'Sphere', 'Triangles', 'Tube', 'simple_parts', 'thinnest'},
    'parts': {'ContactSpheres', 'principal_axes'},
    'rod': {'Rod'},
    'robot': {'RodShape'},  # poses and strains along a rod
}
# What assemblies are made of.
PARTS_OF_ASSEMBLIES = {
    'assembly.assembly': {'Attachment', 'Joint', 'RigidBody', 'RodPart'},
    'assembly.joint_kinds': {'Coordinate', 'JointKind'},
}


def names_from(name, where):
    """Return (module, name) of all that a module imports from a room, by their names there."""
    path = MODULES[name]
    package = name if path.stem == '__init__' else name.rpartition('.')[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = resolve_name('.' * node.level + (node.module or ''), package)
            if room(base) == where:
                found |= {(base.split('.', 2)[-1], alias.name) for alias in node.names}
    return found


@pytest.mark.parametrize('name', [
    name for name in MODULES if room(name) in ('rod', 'laws', 'assembly')])
def test_the_equations_read_data_of_parts_and_never_of_a_robot(name):
    further = {(module, what) for module, what in names_from(name, 'description')
               if what not in PLAIN_DATA.get(module, ())}
    assert not further


def test_all_plain_data_of_the_list_is_read():
    read = set().union(*(names_from(name, 'description') for name in MODULES
                         if room(name) in ('rod', 'laws', 'assembly')))
    assert read == {(module, what) for module, names in PLAIN_DATA.items() for what in names}


def test_only_the_builder_makes_an_assembly_of_a_robot():
    """No other module knows both robots and the parts of assemblies."""
    both = {name for name in MODULES if any(
        module in ('robot', 'joints') and what != 'RodShape'
        for module, what in names_from(name, 'description')) and any(
        what in PARTS_OF_ASSEMBLIES.get(f'assembly.{module}', ())
        for module, what in names_from(name, 'assembly'))}
    assert both == {f'{PACKAGE.name}.simulation.builder'}
