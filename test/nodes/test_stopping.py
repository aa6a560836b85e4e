"""Commands that are stopped: what is done is kept, one line is said, no process is left behind."""

import json
import os
from pathlib import Path
import signal
import time

from ament_index_python.packages import get_package_prefix
from conftest import ROOT
import pytest

from cosserat_ros.commands.command import exit_code, Stopped

SWEEP = f"""
robot: {ROOT / 'config' / 'tendon_arm.yaml'}
vary: {{pull: {{of: tendon_1, lower: 0.0, upper: 4.0}}}}
samples: 20000
"""
MAP = 'commands: {tendon_1: {column: pull}}\nmeasured: {tip: {columns: [x, y, z]}}\n'
CALIBRATION = f"""
robot: {ROOT / 'config' / 'tendon_arm.yaml'}
map: map.yaml
train: [table.csv]
starts: 100
parameters:
  E: {{paths: ['rods.*.segments[*].material.young_modulus'], lower: 1.0e11, upper: 4.0e11}}
"""
COMMAND = Path(get_package_prefix('cosserat_ros')) / 'bin' / 'cosserat'
PATIENCE = 60.0  # [s] for what takes a moment on a machine that does nothing else


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


def workers_of(process):
    """Return the processes of a command's session that are alive, without itself."""
    found = []
    for status in Path('/proc').glob('[0-9]*/stat'):
        try:
            pid, state = int(status.parent.name), status.read_text().rsplit(')', 1)[1].split()[0]
            alive = state not in 'ZX' and os.getsid(pid) == process.process.pid
        except (OSError, ProcessLookupError):
            continue
        if alive and pid != process.process.pid:
            found.append(pid)
    return found


@pytest.fixture
def long_sweep(start, tmp_path):
    """Start a sweep that takes minutes; return it and its results, of which some are there."""
    (tmp_path / 'sweep.yaml').write_text(SWEEP)
    output = tmp_path / 'out.jsonl'
    process = start(COMMAND, 'sweep', tmp_path / 'sweep.yaml', '--output', output,
                    '--processes', 2)
    wait_until(lambda: output.exists() and output.read_text().count('\n') > 5, process.output)
    return process, output


@pytest.fixture
def long_fit(start, tmp_path):
    """Start a calibration that takes minutes; return it while its workers work."""
    rows = [f'{k % 40 / 10},0.01,0,0.2' for k in range(400)]
    (tmp_path / 'table.csv').write_text('\n'.join(['pull,x,y,z', *rows]))
    (tmp_path / 'map.yaml').write_text(f'motion: static\n{MAP}')
    (tmp_path / 'calibration.yaml').write_text(CALIBRATION)
    process = start(COMMAND, 'calibrate', tmp_path / 'calibration.yaml', '--output',
                    tmp_path / 'robot.yaml', '--processes', 2)
    wait_until(lambda: 'iteration 1' in process.output(), process.output)
    return process, tmp_path / 'robot.yaml'


@pytest.fixture(params=['long_sweep', 'long_fit'])
def at_work(request):
    """Return a command at work on two processes, and the file that it writes."""
    process, output = request.getfixturevalue(request.param)
    wait_until(lambda: len(workers_of(process)) >= 2, process.output)
    return process, output


def last_line(process):
    said = process.output()
    assert 'Traceback' not in said, said
    return said.splitlines()[-1]


def test_ctrl_c_keeps_what_is_done_and_the_next_run_goes_on(long_sweep, start, tmp_path):
    process, output = long_sweep
    os.killpg(process.process.pid, signal.SIGINT)  # as a terminal does, to the workers too
    assert process.wait(PATIENCE) == 128 + signal.SIGINT
    assert last_line(process) == (
        f'sweep: stopped by SIGINT; finished samples are in {output}; the same command continues '
        'from there')
    done = output.read_text().splitlines()
    assert 5 < len(done) < 20000
    assert not workers_of(process)

    again = start(COMMAND, 'sweep', tmp_path / 'sweep.yaml', '--output', output,
                  '--processes', 2)
    wait_until(lambda: output.read_text().count('\n') > len(done) + 10, again.output)
    assert again.stop(timeout=PATIENCE) == 128 + signal.SIGINT
    lines = output.read_text().splitlines()
    assert lines[:len(done)] == done
    digests = [json.loads(line)['digest'] for line in lines]
    assert len(set(digests)) == len(digests)  # none is done again


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_command_and_workers(at_work, number):
    process, _ = at_work
    os.kill(process.process.pid, number)
    assert process.wait(PATIENCE) == 128 + number
    assert f'stopped by {number.name}' in last_line(process)
    assert not workers_of(process)


def test_workers_do_not_outlive_a_killed_command(at_work):
    process, _ = at_work
    os.kill(process.process.pid, signal.SIGKILL)
    process.process.wait(PATIENCE)
    wait_until(lambda: not workers_of(process), lambda: 'workers are left behind')


def test_a_killed_worker_is_told(at_work):
    process, _ = at_work
    os.kill(workers_of(process)[0], signal.SIGKILL)
    assert process.wait(PATIENCE) == 1
    assert 'a worker process ended abruptly' in last_line(process)
    assert not workers_of(process)


def test_a_comparison_can_be_stopped(start, tmp_path):
    rows = [f'{k % 40 / 10},0.01,0,0.2' for k in range(50_000)]
    (tmp_path / 'table.csv').write_text('\n'.join(['pull,x,y,z', *rows]))
    (tmp_path / 'map.yaml').write_text(f'motion: static\n{MAP}')
    process = start(COMMAND, 'compare', ROOT / 'config' / 'tendon_arm.yaml',
                    tmp_path / 'map.yaml', tmp_path / 'table.csv')
    wait_until(lambda: '1 of 50000' in process.output(), process.output)
    assert process.stop(timeout=PATIENCE) == 128 + signal.SIGINT
    assert last_line(process) == 'compare: stopped by SIGINT'


def test_a_signal_that_comes_while_kernels_are_loaded_stops_the_command(capsys):
    """What unpickles them turns the exception into others, each the cause of the next."""
    def interrupted():
        try:
            raise SystemError('in') from Stopped(signal.SIGTERM)
        except SystemError as error:
            raise SystemError('out') from error

    assert exit_code('compare', interrupted) == 128 + signal.SIGTERM
    assert capsys.readouterr().err == 'compare: stopped by SIGTERM\n'


def test_what_stops_while_it_starts_says_nothing(start, tmp_path):
    (tmp_path / 'sweep.yaml').write_text(SWEEP)
    process = start(COMMAND, 'sweep', tmp_path / 'sweep.yaml', '--output', tmp_path / 'o')
    time.sleep(0.2)  # it imports, for a second or two
    assert process.stop(timeout=PATIENCE) == 128 + signal.SIGINT
    assert 'Traceback' not in process.output()
