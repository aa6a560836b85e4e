"""Whatever is in the files of sweep, calibrate and compare: a study, or an error in one line."""

from itertools import islice
from random import Random
import re

from conftest import FUZZ, ROOT
from corruption import corrupted, misspelt, WORDS
import pytest

from cosserat_ros.calibration.calibration import Calibration
from cosserat_ros.calibration.parameters import changed, Parameter, ParameterSet
from cosserat_ros.calibration.scale_out import digest_of, InvalidStore, Store
from cosserat_ros.checks.errors import CosseratError
from cosserat_ros.commands.sweep import check_varied, Sweep, Variation
from cosserat_ros.comparison.maps import RecordingMap
from cosserat_ros.description import documents as description
from cosserat_ros.description.robot import load, Robot

ROBOTS = {name: load(ROOT / 'config' / f'{name}.yaml') for name in (
    'tendon_arm', 'fluidic_finger_three_chambers', 'stewart_gough')}
CHANGES = ('set', 'add', 'multiply', 'rotate')
VALUES = (0.0, 1.0, -1.0, 2.5, 1e-300, 1e30, -1e30, 1e308)
MAP = """
motion: dynamic
time: {column: t, scale: 0.001}
commands: {tendon_1: {column: pull, scale: 2.0, offset: 0.1, mode: displacement}}
measured:
  tip: {columns: [x, y, 2], scale: 0.001}
  middle: {columns: [u, v, w], at: 0.1, offset: [0, 0, 0.01]}
held: {hand: {wrench: [1, 0, 0, 0, 0, 0], rod: backbone, at: 0.2}}
"""
SWEEP = """
robot: tendon_arm.yaml
vary:
  pull: {of: tendon_1, values: [0.5, 2.0]}
  other: {of: tendon_2, lower: 0.0, upper: 1.0}
  E: {of: 'rods.*.segments[*].material.young_modulus', change: multiply, mean: 1.0, sigma: 0.05}
samples: 3
seed: 7
"""
CALIBRATION = """
robot: tendon_arm.yaml
map: map.yaml
train: [a.csv]
validate: [b.csv]
hold_out: ['odd*']
noise: 0.0005
starts: 2
parameters:
  E: {paths: ['rods.*.segments[*].material.young_modulus'], lower: 1.0e+11, upper: 4.0e+11}
  zero: {paths: [commands.tendon_1.offset], start: 0, lower: -1, upper: 1,
         prior: {mean: 0.0, sigma: 0.1}}
  turn: {paths: [tendons.*.routing.offset], change: rotate, lower: -1, upper: 1, share: none}
"""
TOKEN = re.compile(r'[^\s{}\[\],:]+')


def paths_in(node, prefix=''):
    """Return the paths of all parts of a document."""
    items = (enumerate(node) if isinstance(node, list) else node.items()
             if isinstance(node, dict) else ())
    for key, part in items:
        path = f'{prefix}[{key}]' if isinstance(node, list) else f'{prefix}.{key}'.lstrip('.')
        yield path
        yield from paths_in(part, path)


def odd_path(random, path):
    """Return a path, as it is or with a step that is another."""
    steps = re.findall(r'\.?[^.\[\]]+|\[\d+\]', path)
    if random.random() < 0.6:
        k = random.randrange(len(steps))
        steps[k] = random.choice((
            '.*', '[*]', '[99]', f'[{"9" * 5000}]', '[-1]', f'{steps[k]}x', '', steps[k] * 2,
            f'{steps[k]}.deeper', f'{steps[k]}[0]', f'.{random.choice(WORDS)}'))
    return ''.join(steps).lstrip('.') or '*'


@pytest.mark.parametrize('name', ROBOTS)
def test_fuzz_paths(name):
    random, robot = Random(name), ROBOTS[name]
    document = description.document(robot)
    channels = description.build(RecordingMap, {
        'motion': 'static', 'measured': {'tip': {'columns': [0, 1, 2]}}})
    paths = list(paths_in(document))
    swept = 0
    for _ in range(300 * FUZZ):
        path, change = odd_path(random, random.choice(paths)), random.choice(CHANGES)
        value = random.choice(VALUES)
        try:
            check_varied(Variation(path, change, values=[value]), robot, document)
            description.build(Robot, changed(document, path, change, value))
            swept += 1
        except CosseratError as error:
            assert '\n' not in str(error)
        try:
            parameter = Parameter([path], -1.0, 1.0, change, start=random.choice((None, 0.5)))
            ParameterSet({'x': parameter}, robot, channels).at([0.5])
        except CosseratError as error:
            assert '\n' not in str(error)
    assert swept > 20 * FUZZ


def test_fuzz_files(tmp_path):
    random, path = Random(5), tmp_path / 'file.yaml'
    robot, good = ROBOTS['tendon_arm'], 0
    chart = description.build(RecordingMap, {
        'motion': 'static', 'commands': {'tendon_1': {'column': 0}},
        'measured': {'tip': {'columns': [0, 1, 2]}}})
    for _ in range(150 * FUZZ):
        for kind, text in ((Sweep, SWEEP), (Calibration, CALIBRATION), (RecordingMap, MAP)):
            path.write_bytes(corrupted(random, text.encode()) if random.random() < 0.3
                             else misspelt(random, text, TOKEN).encode())
            try:
                given = description.load(path, kind)
                if kind is Sweep:
                    assert len(list(islice(given.tasks(), 10))) == min(given.count, 10)
                elif kind is Calibration:
                    parameters = ParameterSet(given.parameters, robot, chart)
                    parameters.at(parameters.start)
                else:
                    given.check_robot(robot)
                good += 1
            except CosseratError as error:
                assert '\n' not in str(error)
    assert good > 10 * FUZZ


def test_fuzz_files_of_results(tmp_path):
    """What is taken as done is what was written, and what is no file of results stays as it is."""
    random, path = Random(6), tmp_path / 'out.jsonl'
    store, written = Store(path), {}
    for k in range(8):
        digest = digest_of(k)
        written[digest] = {'converged': True, 'position': [0.1 * k, 0.0, 0.2], 'message': 'é'}
        store.add(digest, {'pull': k}, written[digest])
    whole = path.read_bytes()
    found = 0
    for _ in range(300 * FUZZ):
        broken = corrupted(random, whole)
        path.write_bytes(broken)
        try:
            again = Store(path)
        except InvalidStore as error:
            assert path.name in str(error) and path.read_bytes() == broken
            continue
        found += sum(digest in again for digest in written)
        assert all(again[digest] == result
                   for digest, result in written.items() if digest in again)
        again.add('new', 1, 2)
        assert path.read_bytes().startswith(broken)
        assert Store(path)['new'] == 2
    assert found
