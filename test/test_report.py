"""The command `compare`: its table, its page, and what it says where it cannot."""

import re
import sys

from conftest import ROOT
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from cosserat_ros.commands.compare import main
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator

ROBOT = ROOT / 'config' / 'tendon_arm.yaml'
MAP = """
motion: static
group: kind
commands: {tendon_1: {column: pull}}
measured: {tip: {columns: [x, y, z]}}
"""
SHIFT = np.array([0.1, -0.2, 0.05])


@pytest.fixture
def files(tmp_path):
    """Write a map, and a table of the simulated arm that is shifted, and 2 mm off at one end."""
    (tmp_path / 'map.yaml').write_text(MAP)
    sim, rows = Simulator(load(ROBOT)), ['pull,kind,x,y,z']
    for k, pull in enumerate((0.0, 1.0, 2.0, 3.0)):
        sim.command(tendon_1=pull)
        assert sim.statics().converged
        p = sim.tip_pose()[:3, 3] + SHIFT + [0.0, 2e-3 * (k == 3), 0.0]
        rows.append(f'{pull},{"far" if k == 3 else "near"},' + ','.join(map(str, p)))
    (tmp_path / 'table.csv').write_text('\n'.join(rows))
    return [str(ROBOT), str(tmp_path / 'map.yaml'), str(tmp_path / 'table.csv')]


def printed(capsys):
    """Return the table as numbers by its first column."""
    lines = capsys.readouterr().out.splitlines()[1:]
    return {cells[0]: [float(x) for x in cells[1:]]
            for cells in (re.split(' {2,}', line) for line in lines) if len(cells) > 2}


def test_the_table_has_recordings_and_groups(files, capsys):
    assert main(files) == 0
    table = printed(capsys)
    samples, rmse, *_ = table['table.csv, group near']
    assert samples == 3
    assert rmse == pytest.approx(1e3 * np.linalg.norm(SHIFT), rel=1e-5)
    assert table['table.csv'][0] == 4


def test_angles_are_told_where_rotations_are_recorded(files, tmp_path, capsys):
    """A marker that is turned on the tip, seen from a turned frame; it slips by 3 degrees."""
    frame, marker, slip = (Rotation.from_euler('xyz', angles).as_matrix() for angles in (
        (0.3, -0.5, 1.0), (0.2, 0.1, -2.0), (0.0, 0.0, np.radians(3.0))))
    (tmp_path / 'map.yaml').write_text("""
motion: static
commands: {tendon_1: {column: pull}, tendon_2: {column: other}}
measured:
  tip: {columns: [x, y, z], quaternion: [a, b, c, d], roll_pitch_yaw: [0.2, 0.1, -2.0]}
  bare: {columns: [x, y, z]}
""")
    sim, rows = Simulator(load(ROBOT)), ['pull,other,x,y,z,a,b,c,d']
    for k, pull in enumerate((0.0, 1.0, 2.0, 3.0)):
        sim.command(tendon_1=pull, tendon_2=0.5 * k * k)
        assert sim.statics().converged
        g = sim.tip_pose()
        R = frame @ g[:3, :3] @ marker @ (slip if k == 3 else np.eye(3))
        turn = -2.0 * Rotation.from_matrix(R).as_quat() if k else np.zeros(4)
        rows.append(','.join(map(str, (
            pull, 0.5 * k * k, *(frame @ g[:3, 3] + SHIFT), *turn))))
    (tmp_path / 'table.csv').write_text('\n'.join(rows))
    pytest.importorskip('matplotlib')
    assert main([*files, '--align', 'rigid', '--output', str(tmp_path / 'out')]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].endswith('not solved  angle RMS [deg]  angle max [deg]')
    lines = {cells[0]: cells[1:] for cells in (re.split(' {2,}', line) for line in out[1:])}
    for name in ('table.csv', 'table.csv, tip'):
        rms, largest = map(float, lines[name][-2:])
        assert largest == pytest.approx(3.0, abs=1e-3)
        assert rms == pytest.approx(3.0 / np.sqrt(3.0), abs=1e-3)
    assert lines['table.csv, bare'][-2:] == ['-', '-']
    page = (tmp_path / 'out' / 'report.html').read_text()
    assert page.count('<img') == 4 and '1 rotations not seen' in page
    for align in ('none', 'offset'):  # which leave rotations as they are
        assert main([*files, '--align', align]) == 0
        turned = np.degrees(Rotation.from_matrix(frame).magnitude())
        out = capsys.readouterr().out
        assert float(re.split(' {2,}', out.splitlines()[1])[-1]) > turned - 5.0


UNSOLVED = '1.0e+9'  # [N] of one tendon: no equilibrium


@pytest.mark.parametrize('align', ['none', 'offset', 'rigid'])
def test_what_is_not_solved_is_counted_and_not_compared(files, tmp_path, capsys, align):
    path = tmp_path / 'table.csv'
    rows = path.read_text().splitlines()
    main([*files, '--align', align])
    expected = printed(capsys)['table.csv']
    path.write_text('\n'.join([*rows, f'{UNSOLVED},near,9,9,9']))
    assert main([*files, '--align', align]) == 0
    assert printed(capsys)['table.csv'] == [*expected[:-1], 1]

    path.write_text('\n'.join([rows[0], *2 * [f'{UNSOLVED},near,0,0,0']]))
    assert main([*files, '--align', align, '--output', str(tmp_path / 'report')]) == 1
    said = capsys.readouterr()
    assert re.search(r'table.csv +0 +- +- +- +- +2\n', said.out)
    assert said.err.splitlines()[-1] == 'compare: no sample could be solved of table.csv'
    assert '2 not solved' in (tmp_path / 'report' / 'report.html').read_text()


def test_a_gap_that_would_take_days_is_refused(files, tmp_path, capsys):
    (tmp_path / 'map.yaml').write_text(
        'motion: dynamic\ntime: {column: t}\nmeasured: {tip: {columns: [x, y, z]}}\n')
    (tmp_path / 'table.csv').write_text('t,x,y,z\n0,0,0,0\n0.1,0,0,0\n1e6,0,0,0\n')
    assert main(files) == 1
    said = capsys.readouterr().err
    assert 'table.csv: 1e+06 s in steps of ' in said
    assert 'its longest gap is 1e+06 s, from 0.1 s on' in said


def test_a_report_that_cannot_be_written_is_refused_before_the_work(files, tmp_path, capsys):
    (tmp_path / 'file').write_text('')
    assert main([*files, '--output', str(tmp_path / 'file' / 'report')]) == 1
    said = capsys.readouterr()
    assert said.err == f'compare: {tmp_path / "file" / "report"}: Not a directory\n'
    assert not said.out


def test_an_offset_is_taken_away_if_asked_for(files, capsys):
    assert main([*files, '--align', 'offset']) == 0
    _, rmse, _, largest, *_ = printed(capsys)['table.csv']
    assert rmse == pytest.approx(2.0 * np.sqrt(3.0) / 4.0, rel=1e-3)
    assert largest == pytest.approx(1.5, rel=1e-3)


def test_the_page_has_table_and_plots(files, tmp_path, capsys):
    pytest.importorskip('matplotlib')
    assert main([*files, '--align', 'offset', '--output', str(tmp_path / 'out')]) == 0
    page = (tmp_path / 'out' / 'report.html').read_text()
    assert page.count('<img') == 3
    assert 'angle' not in page and 'rotations' not in page
    assert 'table.csv, group far' in page
    assert 'moved by -100.00' in page
    for name in ('coordinates', 'errors', 'paths'):
        assert (tmp_path / 'out' / f'1_{name}.png').read_bytes().startswith(b'\x89PNG')


def test_it_says_what_is_missing(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    assert main([*files, '--output', str(tmp_path / 'out')]) == 1
    assert 'install matplotlib' in capsys.readouterr().err


def test_it_says_what_is_wrong(files, capsys):
    assert main([*files[:2], 'none.csv']) == 1
    assert 'none.csv: No such file' in capsys.readouterr().err
