"""The package as a whole: what its files promise each other."""

import ast
import configparser
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

from conftest import ROOT
import pytest

import cosserat_ros
from cosserat_ros.commands.cosserat import SUBCOMMANDS

SOURCES = sorted((ROOT / 'cosserat_ros').rglob('*.py'))
INTERFACES = sorted([*(ROOT / 'msg').glob('*.msg'), *(ROOT / 'srv').glob('*.srv')])
STANDARD = {'builtin_interfaces', 'geometry_msgs', 'sensor_msgs', 'shape_msgs', 'std_msgs'}


def nodes_in_cmake():
    """Return the nodes that CMake installs as executables."""
    return re.search(r'set\(nodes ([^)]*)\)', (ROOT / 'CMakeLists.txt').read_text())[1].split()


def imports(path):
    """Return the top-level packages that a module imports, and those of its own it names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield '.' * node.level + (node.module or '')


def package():
    return ET.parse(ROOT / 'package.xml').getroot()


def test_every_node_with_a_main_is_an_executable():
    mains = [
        path.stem for path in (ROOT / 'cosserat_ros' / 'nodes').glob('*.py')
        if any(isinstance(n, ast.FunctionDef) and n.name == 'main'
               for n in ast.parse(path.read_text()).body)]
    assert sorted(mains) == sorted(nodes_in_cmake())


def test_the_command_is_installed_by_pip_and_by_cmake_and_has_all_others():
    settings = configparser.ConfigParser()
    settings.read(ROOT / 'setup.cfg')
    scripts = settings['options.entry_points']['console_scripts'].split('\n')
    assert [line for line in scripts if line] == [
        'cosserat = cosserat_ros.commands.cosserat:main']
    assert 'install(PROGRAMS ${command_script} DESTINATION bin)' in (
        ROOT / 'CMakeLists.txt').read_text()
    mains = {f'{folder}.{path.stem}' for folder in ('commands', 'nodes')
             for path in (ROOT / 'cosserat_ros' / folder).glob('*.py')
             if any(isinstance(n, ast.FunctionDef) and n.name == 'main'
                    for n in ast.parse(path.read_text()).body)}
    reached = {one.module for one in SUBCOMMANDS.values()}
    assert mains - {'commands.cosserat'} == reached - {'nodes.common.graph'}


def test_the_version_is_the_same_everywhere():
    assert package().findtext('version') == cosserat_ros.__version__
    changelog = (ROOT / 'CHANGELOG.rst').read_text()
    assert re.search(rf'^({re.escape(cosserat_ros.__version__)}|Forthcoming)\b', changelog, re.M)


def required():
    """Return what setup.cfg requires: the oldest version of each library."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / 'setup.cfg')
    lines = settings['options']['install_requires'].strip().splitlines()
    return dict(line.split(' >= ') for line in lines)


def test_pip_and_ros_install_the_same_libraries():
    """What setup.cfg requires is a dependency in package.xml too."""
    declared = {e.text for e in package() if e.tag.endswith('depend')}
    assert {f'python3-{name}' for name in required()} <= declared


@pytest.mark.parametrize('minor', range(10, 15))
def test_the_oldest_versions_are_tested(minor):
    """`make test-oldest` installs what setup.cfg allows, exactly that for Ubuntu's Python."""
    version = f'3.{minor}'
    pinned = {}
    for line in (ROOT / 'environment' / 'oldest.txt').read_text().splitlines():
        found = re.fullmatch(r"([\w.]+)==([\d.]+)(?: ; python_version (<|==) '([\d.]+)')?", line)
        if found and (found[3] is None or (
                version == found[4] if found[3] == '==' else minor < int(found[4][2:]))):
            assert pinned.setdefault(found[1], found[2]) == found[2], line
    assert pinned.keys() == required().keys()
    for name, least in required().items():
        numbers = [int(n) for n in pinned[name].split('.')]
        bound = [int(n) for n in least.split('.')]
        assert numbers >= bound
        assert minor > 11 or numbers[:len(bound)] == bound


@pytest.mark.parametrize(
    'path', [p for p in SOURCES if 'nodes' not in p.parts], ids=lambda path: path.stem)
def test_the_library_imports_no_ros(path):
    ros = re.compile(
        r'(rclpy|rcl_interfaces|launch|ament|tf2|\w+_msgs|(cosserat_ros)?\.(msg|srv|nodes))\b')
    assert not [name for name in imports(path) if ros.match(name)]


def test_the_library_is_imported_without_ros():
    """In an interpreter that would fail on any import of ROS."""
    code = ('import sys\nfor name in ("rclpy", "ament_index_python"): sys.modules[name] = None\n'
            'import cosserat_ros.warm_up\n'
            'assert not [m for m in sys.modules if m.endswith("_msgs")]')
    subprocess.run([sys.executable, '-c', code], check=True)


@pytest.mark.parametrize('path', INTERFACES, ids=lambda path: path.name)
def test_every_field_of_an_interface_is_explained(path):
    """A comment on each field or constant, with a unit on each number that is a quantity."""
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    assert re.fullmatch(r'# .+\.', lines[0]), 'what is it for?'
    for line in lines:
        definition, _, comment = line.partition('#')
        if not definition.strip() or definition.strip() == '---':
            continue
        kind, name = definition.split()[:2]
        plain = kind.rstrip('[]')
        assert comment.strip(), f'{path.name}: {line}'
        if plain == 'float64' and '=' not in name:
            assert re.search(r'\[.+\]', comment), f'{path.name}: no unit: {line}'
        if '/' in plain:
            assert plain.split('/')[0] in STANDARD


def test_requirements_are_pinned_and_come_from_anywhere():
    """Exact versions, and no address of an index."""
    lines = (ROOT / 'environment' / 'requirements.txt').read_text().splitlines()
    assert all(re.fullmatch(r'[\w.-]+==[\w.]+( ; .+)?', line) for line in lines)
    pinned = {line.split('==')[0] for line in lines}
    wanted = re.findall(
        r'^([\w.-]+)', (ROOT / 'environment' / 'requirements.in').read_text(), re.M)
    assert {re.sub(r'[_.]', '-', name) for name in wanted} <= pinned


def test_tracked_text_names_no_folder_of_a_machine():
    listed = subprocess.run(
        ['git', 'ls-files'], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip('not a git checkout')
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix not in ('.npz', '.png') and path.is_file():
            assert str(ROOT) not in path.read_text(), name
