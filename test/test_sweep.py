"""Sweeps: the same results on processes and on a cluster, and not done twice."""

import json
import re
import sys

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.calibration.scale_out import NoCluster, workers
from cosserat_ros.commands.sweep import main, Sweep, sweep
from cosserat_ros.description import documents as description
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator

SWEEP = f"""
robot: {ROOT / 'config' / 'tendon_arm.yaml'}
vary:
  pull: {{of: tendon_1, values: [0.5, 2.0]}}
  other: {{of: tendon_2, lower: 0.0, upper: 1.0}}
  E: {{of: 'rods.*.segments[*].material.young_modulus', change: multiply, mean: 1.0, sigma: 0.05}}
samples: 3
seed: 7
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / 'sweep.yaml'
    path.write_text(SWEEP)
    return path


def test_a_grid_with_random_samples(study, tmp_path):
    output = tmp_path / 'out.jsonl'
    results = sweep(study, output, processes=2)
    entries = [json.loads(line) for line in output.read_text().splitlines()]
    tasks = {entry['digest']: entry['task'] for entry in entries}
    assert sorted(task['pull'] for task in tasks.values()) == [0.5] * 3 + [2.0] * 3
    assert len({task['E'] for task in tasks.values()}) == 6
    assert all(0.0 <= task['other'] <= 1.0 for task in tasks.values())
    assert all(result['converged'] for result in results)
    task, result = entries[0]['task'], entries[0]['result']
    text = (ROOT / 'config' / 'tendon_arm.yaml').read_text()
    (tmp_path / 'one.yaml').write_text(text.replace('207e9', f'{207e9 * task["E"]:.17g}'))
    sim = Simulator(load(tmp_path / 'one.yaml'))
    sim.command(tendon_1=task['pull'], tendon_2=task['other'])
    assert sim.statics(from_rest=True).converged
    assert_allclose(result['position'], sim.tip_pose()[:3, 3], atol=1e-9)
    assert result['efforts']['tendon_1'] == pytest.approx(task['pull'])


def test_a_sweep_goes_on_where_it_was_stopped(study, tmp_path):
    output = tmp_path / 'out.jsonl'
    whole = sweep(study, output, processes=1)
    lines = output.read_text().splitlines()
    output.write_text('\n'.join([*lines[:4], lines[4][:20]]))  # killed while it wrote the fifth
    assert sweep(study, output, processes=1) == whole
    added = output.read_text().splitlines()[5:]
    assert len(added) == 2
    before = output.read_text()
    assert sweep(study, output, processes=1) == whole
    assert output.read_text() == before


def test_a_cluster_gives_the_same(study, tmp_path):
    distributed = pytest.importorskip('distributed')
    here = sweep(study, tmp_path / 'here.jsonl', processes=1)
    with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        there = sweep(study, tmp_path / 'there.jsonl', cluster=cluster.scheduler_address)
    assert there == here


def test_values_that_make_no_robot_are_told(tmp_path):
    path = tmp_path / 'sweep.yaml'
    path.write_text(SWEEP.replace('mean: 1.0, sigma: 0.05', 'values: [-1.0]'))
    results = sweep(path, tmp_path / 'out.jsonl', processes=1)
    assert not any(result['converged'] for result in results)
    assert 'young_modulus must be a finite number > 0' in results[0]['message']


def test_the_command_tells_the_reach(study, tmp_path, capsys):
    assert main([str(study), '--output', str(tmp_path / 'o.jsonl'), '--processes', '1']) == 0
    said = capsys.readouterr().out
    assert '6 samples, 0 without equilibrium' in said
    low, high = (float(x) for x in said.split('tip x: ')[1].split(' m')[0].split(' to '))
    assert high > low


@pytest.mark.parametrize('old, new, reason', [
    ('of: tendon_1', 'of: tendon_9', "vary.pull.of must be one of: .*; the nearest is 'tendon_"),
    ('rods.*', 'rods.spine', 'must be one of: backbone'),
    ('values: [0.5, 2.0]', 'values: [0.5], lower: 1', 'one way given'),
    ('samples: 3', 'samples: 0', 'samples must be a whole number'),
    ('young_modulus', 'yuong_modulus', r"vary.E.of.*yuong_modulus is not a known key, .*"
     "nearest is 'young_modulus'"),
    ('segments[*].material.young_modulus', 'segments', 'vary.E.of must be that of a number'),
    ('rods.*.segments[*].material.young_modulus', 'name', 'vary.E.of must be that of a number'),
    ('of: tendon_1', 'of: "a..b"', 'vary.pull.of must be a path such as'),
    ('of: tendon_1,', 'of: tendon_1, change: add,', "vary.pull.change must be 'set'"),
    ('values: [0.5, 2.0]', 'lower: -1.0e+308, upper: 1.0e+308', 'pull.lower must be a finite'),
    ('samples: 3', 'samples: 10000000', 'samples must be a whole number from 1 to 1000000'),
    ('samples: 3', 'samples: 600000', 'vary must be at most 1000000 samples in all, got 1200000'),
])
def test_a_bad_sweep_is_refused(tmp_path, capsys, old, new, reason):
    assert old in SWEEP
    path = tmp_path / 'sweep.yaml'
    path.write_text(SWEEP.replace(old, new))
    assert main([str(path), '--output', str(tmp_path / 'o.jsonl'), '--processes', '1']) == 1
    assert re.search(reason, capsys.readouterr().err)


def test_whole_numbers_are_swept(tmp_path):
    path = tmp_path / 'sweep.yaml'
    path.write_text(f"""
robot: {ROOT / 'config' / 'tendon_arm.yaml'}
vary:
  elements: {{of: modes.elements, values: [1, 2, 1.5]}}
  pull: {{of: tendon_1, values: [2]}}
""")
    one, two, no = sweep(path, tmp_path / 'out.jsonl', processes=1)
    assert one['converged'] and two['converged']
    assert_allclose(two['position'], one['position'], atol=1e-4)
    assert 'elements must be a whole number' in no['message']


def test_refused_samples_are_told_apart(tmp_path, capsys):
    path = tmp_path / 'sweep.yaml'
    path.write_text(SWEEP.replace('values: [0.5, 2.0]', 'values: [0.5, 1.0e+6]'))
    arguments = [str(path), '--output', str(tmp_path / 'o.jsonl'), '--processes', '1']
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert '6 samples, 0 without equilibrium, 3 rejected' in said
    assert 'the first that was rejected: ' in said and 'got 1000000' in said
    path.write_text(SWEEP.replace('values: [0.5, 2.0]', 'values: [1.0e+6]'))
    assert main(arguments) == 1


@pytest.mark.parametrize('content', [
    b'robot: x.yaml\n', b'{"name": "my notes"}\n', b'\x89PNG\r\n\x1a\n\0\0', b'digest'])
def test_a_file_of_another_kind_is_left_as_it_is(study, tmp_path, capsys, content):
    output = tmp_path / 'mine'
    output.write_bytes(content)
    assert main([str(study), '--output', str(output), '--processes', '1']) == 1
    said = capsys.readouterr().err
    assert said.startswith(f'sweep: {output}') and 'not a file of results' in said
    assert output.read_bytes() == content


def test_a_result_that_was_tampered_with_is_done_again(study, tmp_path):
    output = tmp_path / 'out.jsonl'
    whole = sweep(study, output, processes=1)
    text = output.read_text()
    output.write_text(text.replace('"position"', '"posjtion"', 1))
    assert sweep(study, output, processes=1) == whole
    assert output.read_text().count('\n') == text.count('\n') + 1


def test_an_output_that_cannot_be_written_is_refused_before_the_work(study, tmp_path, capsys):
    output = tmp_path / 'none' / 'out.jsonl'
    assert main([str(study), '--output', str(output), '--processes', '1']) == 1
    assert capsys.readouterr().err == f'sweep: {output}: No such file or directory\n'


def test_no_cluster_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    with pytest.raises(NoCluster, match='install distributed'), workers(cluster='tcp://x:1'):
        pass


def test_random_samples_are_those_of_their_seed(study):
    first, again = (list(description.load(study, Sweep).tasks()) for _ in range(2))
    assert first == again
    assert np.std([task['E'] for task in first]) > 0.0
