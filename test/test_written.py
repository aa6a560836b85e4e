"""Fitted files: other numbers, the same comments, anchors and order."""

from dataclasses import replace

from conftest import ROOT
import pytest
from ruamel.yaml import YAML

from cosserat_ros.calibration.parameters import Parameter, ParameterSet
from cosserat_ros.calibration.written import rewritten
from cosserat_ros.comparison.maps import load_map, RecordingMap
from cosserat_ros.description.documents import document
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load, Robot

MAP = """# how the arm was recorded
motion: dynamic
time: {column: t}
commands:
  tendon_1: {column: one}          # a motor
measured:
  tip: {columns: [x, y, z]}
"""
ANCHORED = """# Two rods of one material.
name: pair
tip: {rod: left}
rods:
  left:
    segments:
      - &piece                     # as delivered
        length: 0.1
        section: {shape: circular, radius: 0.001}
        material: &steel {young_modulus: &E 200e9, poisson_ratio: 0.3, density: 7800}  # C75
  right:
    segments:
      - <<: *piece
        length: 0.2                # m
    base: {position: [0.1, 0, 0]}
  last:
    segments:
      - length: 0.1
        section: {shape: circular, radius: 0.001}
        material: {young_modulus: *E, poisson_ratio: 0.3, density: 7800}
    base: {position: [0.2, 0, 0]}
"""


def fitted(path, chart, values, **parameters):
    """Return the text of a robot's file with parameters, and of its map's."""
    robot, channels = load(path), load_map(chart)
    made = ParameterSet(parameters, robot, channels)
    documents = made.documents(values)
    return [rewritten(source, kind, wanted, [
        p for p in made.places if p.startswith(('delay', 'commands')) == (kind is RecordingMap)])
        for source, kind, wanted in zip((path, chart), (Robot, RecordingMap), documents)]


@pytest.fixture
def chart(tmp_path):
    path = tmp_path / 'map.yaml'
    path.write_text(MAP)
    return path


def test_only_the_numbers_change(chart):
    path = ROOT / 'config' / 'tendon_arm.yaml'
    robot, channels = fitted(
        path, chart, [1.8e11, 1.1, 0.033, 0.5],
        E=Parameter(['rods.*.segments[*].material.young_modulus'], 1e11, 3e11),
        radius=Parameter(['tendons.tendon_1.routing.offset'], 0.5, 2.0, change='multiply'),
        delay=Parameter(['delay'], 0.0, 0.1),
        zero=Parameter(['commands.tendon_1.offset'], -1.0, 1.0))
    before, after = path.read_text().splitlines(), robot.splitlines()
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a.split() != b.split()]
    assert len(changed) == 2
    assert changed[0][1].split() == ['young_modulus:', '180000000000', '#', 'Pa']
    assert 'offset: [0.0104500' in changed[1][1] and changed[1][1].endswith('# m; N')
    assert channels.startswith('# how the arm was recorded\ndelay: 0.033\nmotion: dynamic')
    assert 'tendon_1: {offset: 0.5, column: one}          # a motor' in channels


def test_several_keys_that_are_not_there_are_added(chart, tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text((ROOT / 'config' / 'tendon_arm.yaml').read_text())
    robot, channels = fitted(
        path, chart, [0.5, 2.0, 0.033, 0.01, 0.02],
        zero=Parameter(['commands.tendon_1.offset'], -1.0, 1.0),
        scale=Parameter(['commands.tendon_1.scale'], 0.0, 3.0),
        delay=Parameter(['delay'], 0.0, 0.1),
        x=Parameter(['base.position[0]'], -1.0, 1.0),
        y=Parameter(['base.position[1]'], -1.0, 1.0))
    assert 'delay: 0.033' in channels and channels.startswith('# how the arm was recorded')
    assert 'tendon_1: {scale: 2, offset: 0.5, column: one}          # a motor' in channels
    path.write_text(robot)
    assert load(path).base.position == (0.01, 0.02, 0.0)
    assert '# The tendon arm of Till' in robot and '# m; N' in robot


def test_anchors_stay_where_all_that_share_them_change_alike(chart, tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(ANCHORED)
    text, _ = fitted(path, chart, [1.9e11], E=Parameter(
        ['rods.*.segments[*].material.young_modulus'], 1e11, 3e11))
    for kept in ('&piece', '# as delivered', '&steel', '# C75', '<<: *piece', '&E 190000000000,',
                 'young_modulus: *E'):
        assert kept in text, text


def test_a_part_that_is_shared_is_changed_at_one_place_only(chart, tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(ANCHORED)
    text, _ = fitted(path, chart, [1.9e11, 8000.0], E=Parameter(
        ['rods.right.segments[0].material.young_modulus'], 1e11, 3e11),
        density=Parameter(['rods.left.segments[0].material.density'], 1e3, 1e4))
    path.write_text(text)
    rods = load(path).rods
    found = [(r.segments[0].material.young_modulus, r.segments[0].material.density)
             for r in rods.values()]
    assert found == [(200e9, 8000.0), (190e9, 7800.0), (200e9, 7800.0)]
    assert '# C75' in text and '# as delivered' in text


def test_modes_of_a_fit_are_written_where_the_file_has_none(tmp_path):
    path = ROOT / 'config' / 'tendon_arm.yaml'
    modes = StrainModes(0, 0, 0, 4, 4, 1)
    wanted = document(replace(load(path), modes=modes))
    text = rewritten(path, Robot, wanted, [f'modes.{key}' for key in wanted['modes']])
    (tmp_path / 'robot.yaml').write_text(text)
    assert load(tmp_path / 'robot.yaml').modes == modes
    assert text.endswith(path.read_text()[-200:]) and '# m; N' in text


@pytest.mark.parametrize('path', sorted((ROOT / 'config').glob('*.yaml')), ids=lambda p: p.stem)
def test_every_robot_survives(path):
    """A file that nothing is changed in is read as before."""
    robot = load(path)
    text = rewritten(path, Robot, document(robot), ['gravity'])
    kept = [line.split('#')[1].strip() for line in path.read_text().splitlines() if '#' in line]
    assert all(comment in text for comment in kept)
    assert YAML().load(text) is not None
