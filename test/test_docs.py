"""The documentation: tables that are written from the program, examples that work."""

from dataclasses import is_dataclass
import re
import subprocess
import sys

from conftest import is_current, ROOT
import pytest
from ruamel.yaml import YAML

from cosserat_ros.description import (
    demonstration,
    joints,
    modes,
    obstacles,
    parts,
    rod,
    routing,
    section,
)
from cosserat_ros.description.documents import InvalidDescription
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.demonstration import demonstration as moves_of
from cosserat_ros.simulation.simulator import Simulator

DOCS = ROOT / 'docs'


@pytest.mark.parametrize('script', ['make_api.py', 'make_robots.py'])
def test_tables_are_as_the_program_is(script):
    is_current(script)


@pytest.mark.parametrize('page', ['robots.md', 'calibration_files.md'])
def test_each_key_is_explained_and_none_like_another_beside_it(page):
    text = (DOCS / page).read_text()
    tables = re.findall(r'<!-- fields: (\w+) -->\n(.*?)<!-- end -->', text, re.S)
    assert tables
    for name, table in tables:
        rows = re.findall(r'^\| `(\w+)` \| (.*?) \| ', table, re.M)
        assert len(rows) == table.count('\n| `')
        explained = [words for _, words in rows]
        assert all(re.match(r"['A-Z0-9(]", words) for words in explained), (name, rows)
        assert not [a for a, b in zip(explained, explained[1:]) if a == b], (name, rows)


def test_the_robot_of_the_page_is_one(tmp_path):
    text = re.search(r'```yaml\n(.*?)```', (DOCS / 'robots.md').read_text(), re.S)[1]
    path = tmp_path / 'my_arm.yaml'
    path.write_text(text)
    arm = Simulator(load(path))
    assert list(arm.robot.actuators) == ['left', 'right', 'up', 'down']
    assert arm.statics().converged
    height = arm.tip_pose()[2, 3]
    assert 0.31 < height < 0.3201
    arm.command(left=5.0)
    assert arm.statics().converged
    assert arm.tip_pose()[0, 3] > 0.01


def test_the_assembly_of_the_page_is_one(tmp_path):
    text = re.findall(r'```yaml\n(.*?)```', (DOCS / 'robots.md').read_text(), re.S)[1]
    path = tmp_path / 'grasping_arm.yaml'
    path.write_text(text)
    arm = Simulator(load(path))
    assert list(arm.robot.actuators) == [
        'bend', 'close_left', 'close_right', 'slide', 'backbone_base']
    assert arm.statics().converged
    arm.command(slide=0.1, backbone_base=0.5, close_left=0.3, close_right=0.3)
    assert arm.statics().converged
    assert 0.09 < arm.tip_pose()[0, 3] < 0.11
    left, right = (arm.shape()[f'{side}_finger'].poses[-1][:3, 3] for side in ('left', 'right'))
    assert 0.001 < ((left - right) @ (left - right)) ** 0.5 < 0.018  # 0.02 apart where they begin


def test_the_assembly_of_the_page_becomes_a_gripper(tmp_path):
    """With what is added, and with its demonstration: it takes the block along, and lets go."""
    page = YAML(typ='safe')
    _, assembly, added, shown = (page.load(text) for text in re.findall(
        r'```yaml\n(.*?)```', (DOCS / 'robots.md').read_text(), re.S))
    for part in ('bodies', 'rods'):
        for name, more in added.pop(part).items():
            assembly[part].setdefault(name, {}).update(more)
    path = tmp_path / 'gripper.yaml'
    with path.open('w') as file:
        page.dump({**assembly, **added, **shown}, file)
    sim = Simulator(load(path))
    assert sim.statics().converged
    assert {c.part for c in sim.solver.contacts()} == {'block'}
    commands = moves_of(sim.robot, {name: sim.rest_command(name) for name in sim.robot.actuators})
    link = sim.solver.places.bodies['block'].link
    while sim.time < 4.0:
        sim.command(**commands(sim.time))
        assert sim.step().converged
    assert {'left_finger', 'right_finger'} <= {c.part for c in sim.solver.contacts()}
    assert sim.solver.frame(link).p[0] == pytest.approx(0.1, abs=5e-3)
    while sim.time < 9.0:
        sim.command(**commands(min(sim.time, 7.5 - 1e-9)))
        assert sim.step().converged
    assert {c.part for c in sim.solver.contacts()} == {'block'}
    assert sim.solver.frame(link).p[0] == pytest.approx(0.0, abs=5e-3)


def test_the_robot_at_a_post_touches_it(tmp_path):
    text = re.search(r'```yaml\n(.*?)```', (DOCS / 'contact.md').read_text(), re.S)[1]
    path = tmp_path / 'arm_at_a_post.yaml'
    path.write_text(text)
    arm = Simulator(load(path))
    arm.command(left=30.0)
    assert arm.statics().converged
    found = arm.solver.contacts()
    assert {(c.part, c.obstacle) for c in found} == {('backbone', 'post')}
    assert all(c.force @ c.normal > 0.0 and -1e-4 < c.gap < 0.0 for c in found)
    path.write_text(text.replace('    friction: 0.3', '    body: hand'))
    with pytest.raises(InvalidDescription, match='obstacles.post.body'):
        load(path)


def test_the_example_of_a_comparison_says_what_it_prints():
    """Each line that prints says the numbers after it."""
    page = (DOCS / 'hardware_in_the_loop.md').read_text()
    code = re.search(r'```python\n(.*?)```', page, re.S)[1]
    ran = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True, timeout=100)
    said = re.findall(r'^print.*# (.*) [sm]$', code, re.M)
    for line, numbers in zip(ran.stdout.splitlines(), said, strict=True):
        shown = [float(x) for x in re.findall(r'-?[\d.]+(?:e-?\d+)?', line)]
        assert shown == pytest.approx([float(x) for x in numbers.split(',')], abs=2e-4)


@pytest.mark.parametrize('page', ['README.md', 'docs/engine.md', 'docs/contact.md'])
def test_examples_without_ros_run(page, tmp_path):
    script = tmp_path / 'example.py'  # which runs what is installed, compiled already
    script.write_text(re.search(r'```python\n(.*?)```', (ROOT / page).read_text(), re.S)[1])
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=100,
        cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r'\[.*\d.*\]', ran.stdout), ran.stdout  # a tip


def test_every_part_of_a_robot_is_on_the_page():
    """Every dataclass that a file can have has its table."""
    named = set(re.findall(r'<!-- fields: (\w+) -->', (DOCS / 'robots.md').read_text()))
    for module in (demonstration, obstacles, parts, joints, rod, routing, section):
        for name, kind in vars(module).items():
            if (is_dataclass(kind) and kind.__module__ == module.__name__
                    and not name.startswith(('_', 'Base'))
                    and name not in ('Actuator', 'JointDrive', 'Rod',
                                     'Compound', 'Triangles')):  # only in Python
                assert name in named, f'{name} has no table'
    assert modes.StrainModes.__name__ in named


def test_every_test_that_the_theory_names_is_there():
    named = re.findall(r'((?:nodes/)?test_\w+\.py)::(test_\w+)', (DOCS / 'theory.md').read_text())
    assert named
    for file, name in named:
        assert f'def {name}(' in (ROOT / 'test' / file).read_text(), f'{file}::{name}'


@pytest.mark.parametrize('page', [ROOT / 'README.md', *sorted(DOCS.glob('*.md'))],
                         ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r'\]\(([^)#:]+)\)', page.read_text()):
        assert (page.parent / link).exists(), link
