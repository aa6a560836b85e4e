"""Slips in robot files: values of a wrong unit are told, and robots of ours have none."""

from copy import deepcopy
import re

from conftest import ROOT
import pytest
from ruamel.yaml import YAML

from cosserat_ros.checks.errors import UnknownName
from cosserat_ros.commands.check import main
from cosserat_ros.description.documents import build
from cosserat_ros.description.robot import load, Robot
from cosserat_ros.description.slips import slips

ROBOTS = [*sorted((ROOT / 'config').glob('*.yaml')), *sorted(ROOT.glob('examples/*/robot.yaml')),
          ROOT / 'examples' / 'three_segment_arm' / 'calibrated.yaml']

ENDOSCOPE = {
    'name': 'endoscope',
    'rods': {'backbone': {'segments': [{
        'length': 0.1, 'section': {'shape': 'circular', 'radius': 0.0007},
        'material': {'young_modulus': 48e9, 'poisson_ratio': 0.3, 'density': 6500.0},
        'rest': {'curvature': [0.0, 1.0, 0.0]}, 'damping': {'relaxation_time': 0.01}}]}},
    'tendons': {'tendon_1': {
        'routing': {'shape': 'parallel', 'offset': [0.0022, 0.0]}, 'command': 'displacement',
        'compliance': 1e-4, 'limits': {'lower': -0.01, 'upper': 0.01}}},
    'chambers': {'chamber_1': {
        'routing': {'shape': 'parallel', 'offset': [0.0, 0.003]}, 'area': 2e-6,
        'limits': {'lower': 0.0, 'upper': 1e5}}},
    'discs': {'guides': {'radius': 0.004, 'thickness': 0.001, 'count': 5}},
    'bodies': {'camera': {'mass': 0.0005}},
    'tip': {'offset': {'roll_pitch_yaw': [0.0, 0.0, 1.57]}},
    'time': {'step': 0.01},
}
SEGMENT = 'rods.backbone.segments[0]'
SLIPS = [
    ('tendons.tendon_1.routing.offset', [2.2, 0.0],
     "of 2.2 m is 22 times the rod's length of 0.1 m; was mm meant?"),
    ('chambers.chamber_1.routing.offset', [0.0, 3.0], "is 30 times the rod's .* was mm meant"),
    (f'{SEGMENT}.material.young_modulus', 60.0, 'of 60 Pa is softer than a gel; was GPa meant?'),
    (f'{SEGMENT}.material.young_modulus', 0.8, 'softer than a gel; was MPa meant'),
    (f'{SEGMENT}.material.young_modulus', 48e3, 'soft for a density of 6500 .* was MPa meant'),
    (f'{SEGMENT}.material.young_modulus', 48e12, 'stiffer than diamond'),
    (f'{SEGMENT}.material.density', 6.5, 'lighter than a foam; was g/cm\\^3 meant'),
    (f'{SEGMENT}.material.density', 6.5e6, 'was g/m\\^3 meant'),
    (f'{SEGMENT}.section.radius', 0.7, "of 0.7 m is 7 times the rod's length .* was mm meant"),
    (f'{SEGMENT}.rest.curvature', [0.0, 2000.0, 0.0], 'less than the section has, 0.7 mm'),
    (f'{SEGMENT}.damping.relaxation_time', 20.0, 'was ms meant'),
    ('tendons.tendon_1.limits', {'lower': -1.0, 'upper': 1.0}, '10 times the .* was mm meant'),
    ('tendons.tendon_1.compliance', 0.14, 'was mm/N meant'),
    ('chambers.chamber_1.area', 2.0, 'was mm\\^2 meant'),
    ('chambers.chamber_1.temperature', 20.0, 'was degrees Celsius meant'),
    ('chambers.chamber_1.limits.upper', 1.5, 'was bar meant'),
    ('chambers.chamber_1.limits.upper', 150.0, 'was kPa meant'),
    ('discs.guides.radius', 4.0, "40 times the rod's length .* was mm meant"),
    ('bodies.camera.mass', 2.0, 'times the mass of all rods; was g meant'),
    ('tip.offset.roll_pitch_yaw', [0.0, 0.0, 90.0], 'more than a turn; was degrees meant'),
    ('gravity', [0.0, 0.0, -9810.0], 'was mm/s\\^2 meant'),
]


def put(document, field, value):
    """Set a field of a document by its path."""
    *path, last = field.replace('[0]', '.0').split('.')
    for key in path:
        document = document[int(key)] if isinstance(document, list) else document[key]
    document[last] = value


def slipped(field, value):
    document = deepcopy(ENDOSCOPE)
    put(document, field, value)
    return document


@pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)
def test_no_robot_of_ours_has_one(path):
    assert [str(slip) for slip in slips(load(path))] == []


def test_that_which_slips_are_made_of_has_none():
    assert slips(build(Robot, ENDOSCOPE)) == []


@pytest.mark.parametrize(('field', 'value', 'words'), SLIPS)
def test_each_kind_is_told_once_with_its_field(field, value, words):
    found = slips(build(Robot, slipped(field, value)))
    assert len(found) == 1, found
    assert found[0].field.startswith(field.rpartition('.')[0])
    assert re.search(words, str(found[0])), str(found[0])


def test_a_rod_in_millimetres_is_told():
    document = slipped(f'{SEGMENT}.length', 100.0)
    assert any('was mm meant' in str(slip) for slip in slips(build(Robot, document)))


def test_check_warns_with_the_line_and_the_file_is_valid(tmp_path, capsys):
    path = tmp_path / 'arm.yaml'
    yaml = YAML()
    with path.open('w') as file:
        yaml.dump(slipped('tendons.tendon_1.routing.offset', [2.2, 0.0]), file)
    assert main([str(path)]) == 0
    said = capsys.readouterr().err
    line = 1 + [line.strip() for line in path.read_text().splitlines()].index('offset:')
    assert said == (
        f'{path}:{line}: warning: tendons.tendon_1.routing.offset of 2.2 m is 22 times the '
        "rod's length of 0.1 m; was mm meant?\n")


@pytest.mark.parametrize(('word', 'known', 'near'), [
    ('lenght', ['length', 'section'], 'length'),
    ('yuong_modulus', ['young_modulus', 'density'], 'young_modulus'),
    ('foo', ['length', 'section', 'tendon_1'], None),
    ('x', ['length'], None),
])
def test_only_a_name_that_is_near_is_suggested(word, known, near):
    said = str(UnknownName('key', word, known))
    assert ('nearest' in said) == (near is not None)
    assert near is None or said.endswith(f'; the nearest is {near!r}')
