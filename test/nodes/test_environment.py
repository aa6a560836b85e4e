"""The set-up behind make demo and make test, and the demo itself."""

import importlib.util
import os
from pathlib import Path
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from conftest import ROOT
from diagnostic_msgs.msg import DiagnosticArray
from listener import Listener
import pytest
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

SECOND_START = 6.0  # [s] of processor time at most to the page, once everything is set up


PATIENCE = 60.0  # [s] for what takes a few on a machine that does nothing else
BROKEN = """name: broken
rods:
  rod:
    segments:
      - length: 0.4
        section: {shape: circular, radiuss: 0.001}
        material: {young_modulus: 207e9, shear_modulus: 79e9, density: 8000}
"""


@pytest.fixture
def prepare(tmp_path, monkeypatch):
    """Return the module prepare.py, at work in an empty folder."""
    spec = importlib.util.spec_from_file_location('prepare', ROOT / 'environment' / 'prepare.py')
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, 'prepare', module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, 'STATE', tmp_path / '.environment')
    return module


# --- Steps ---------------------------------------------------------------------------------------

class Recorder:
    """A step that writes down what happens to it."""

    def __init__(self, prepare):
        self.events, self.inputs, self.failure = [], [b'a'], None
        self.step = prepare.Step(
            'test', 'Testing', lambda: self.inputs, self.run, lambda: self.events.append('undo'))

    def run(self):
        self.events.append('run')
        if self.failure:
            raise self.failure


def test_a_step_is_done_once_and_again_when_its_inputs_change(prepare):
    recorder = Recorder(prepare)
    assert recorder.step.needed()
    recorder.step.carry_out()
    assert not recorder.step.needed()
    recorder.inputs = [b'a', b'b']
    assert recorder.step.needed()
    recorder.step.carry_out()
    assert recorder.events == ['undo', 'run', 'run'] and not recorder.step.needed()


def test_inputs_that_are_cut_elsewhere_are_other_inputs(prepare):
    recorder = Recorder(prepare)
    recorder.inputs = [b'ab', b'c']
    recorder.step.carry_out()
    recorder.inputs = [b'a', b'bc']
    assert recorder.step.needed()


@pytest.mark.parametrize('failure', [KeyboardInterrupt, RuntimeError, SystemExit])
def test_an_interrupted_step_starts_afresh(prepare, failure):
    recorder = Recorder(prepare)
    recorder.step.carry_out()
    recorder.inputs, recorder.failure = [b'changed'], failure
    with pytest.raises(failure):
        recorder.step.carry_out()
    assert recorder.step.needed()
    recorder.events.clear()
    recorder.failure = None
    recorder.step.carry_out()
    assert recorder.events == ['undo', 'run'] and not recorder.step.needed()


def test_a_command_that_fails_shows_its_last_words(prepare, capsys, monkeypatch):
    prepare.STATE.mkdir()
    monkeypatch.setattr(prepare, 'LOGS', prepare.STATE / 'log')
    with pytest.raises(prepare.Failure, match='step failed'):
        prepare.run('step', ['sh', '-c', 'echo because; exit 3'])
    assert 'because' in capsys.readouterr().out


def test_the_wheels_are_made_to_fit_this_python(prepare, tmp_path, monkeypatch):
    venv = tmp_path / 'venv'
    file = venv / 'share' / 'a_msgs' / 'cmake' / 'export.cmake'
    file.parent.mkdir(parents=True)
    built = '/opt/python/cp311-cp311'
    file.write_text(
        f'set(x "{built}/include/python3.11;'
        f'{built}/lib/python3.11/site-packages/numpy/_core/include;/opt/other")\n')
    monkeypatch.setattr(prepare, 'VENV', venv)
    monkeypatch.setattr(prepare, 'PYTHON', Path(sys.executable))
    for _ in range(2):  # once more changes nothing
        prepare.repair_wheels()
        folders = file.read_text().split('"')[1].split(';')
        assert (Path(folders[0]) / 'Python.h').exists()
        assert (Path(folders[1]) / 'numpy' / 'arrayobject.h').exists()
        assert folders[2:] == ['/opt/other']


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_set_up_that_is_stopped_leaves_nothing_running(start, tmp_path, number):
    code = (
        'import prepare, pathlib\n'
        f'prepare.STATE = pathlib.Path({str(tmp_path)!r}); prepare.LOGS = prepare.STATE / "log"\n'
        'prepare.prepare = lambda: prepare.run("step", ["sleep", "60"])\n'
        'raise SystemExit(prepare.main([]))\n')
    process = start(sys.executable, '-c', code, env={'PYTHONPATH': str(ROOT / 'environment')})
    deadline = time.monotonic() + 10.0
    while not (started := descendants(process.process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert started
    assert process.stop(number) == (-number if number == signal.SIGKILL else 130)
    assert gone(started)


def test_another_place_or_python_means_a_new_environment(prepare, monkeypatch):
    state = prepare.STATE
    (state / 'venv').mkdir(parents=True)
    monkeypatch.setattr(prepare, 'steps', lambda: [])
    prepare.prepare()
    assert not (state / 'venv').exists()
    (state / 'venv').mkdir()
    prepare.prepare()
    assert (state / 'venv').exists()
    monkeypatch.setattr(prepare, 'IDENTITY', 'another')
    prepare.prepare()
    assert not (state / 'venv').exists()


def test_a_path_that_build_tools_do_not_take_is_refused(prepare, monkeypatch):
    monkeypatch.setattr(prepare, 'ROOT', Path('/home/my robots/cosserat_ros'))
    with pytest.raises(prepare.Failure, match='clone elsewhere'):
        prepare.check_machine()


# --- What is missing is said in one sentence -----------------------------------------------------

@pytest.fixture
def bare_machine(tmp_path):
    """Return a function that runs environment/enter in a new clone with only some programs."""
    clone = tmp_path / 'clone'
    shutil.copytree(ROOT / 'environment', clone / 'environment')
    programs = tmp_path / 'bin'
    programs.mkdir()
    interpreter = os.path.realpath(sys.executable)

    def run(*names, **env):
        for name in ('sh', 'dirname', *names):
            target = interpreter if name.startswith('python') else shutil.which(name)
            (programs / name).symlink_to(target)
        return subprocess.run(
            [clone / 'environment' / 'enter', 'true'], capture_output=True, text=True,
            check=False, env={'PATH': str(programs), 'HOME': str(tmp_path), **env})

    run.programs = programs
    return run


def sentence(done):
    """Return the one line on stderr of a refusal."""
    assert done.returncode == 1
    line, = done.stderr.splitlines()
    assert line.endswith('.') and 'Traceback' not in done.stdout
    return line


def test_without_python(bare_machine):
    assert 'needs Python 3.10' in sentence(bare_machine())


def test_with_an_old_python(bare_machine):
    old = bare_machine.programs / 'python3'
    old.write_text('#!/bin/sh\nexit 1\n')  # as an older one answers the check of its version
    old.chmod(0o755)
    assert 'needs Python 3.10' in sentence(bare_machine())


def test_an_older_python_first_on_the_path_is_passed_over(bare_machine):
    old = bare_machine.programs / 'python3'
    old.write_text('#!/bin/sh\nexit 1\n')
    old.chmod(0o755)
    newer = f'python3.{sys.version_info.minor}'
    assert 'C++ compiler' in sentence(bare_machine(newer, 'bash'))


def test_without_a_compiler(bare_machine):
    assert 'No C++ compiler' in sentence(bare_machine('python3', 'bash'))


def test_without_bash(bare_machine):
    assert 'No bash' in sentence(bare_machine('python3', 'c++'))


def test_with_a_ros_that_is_named_but_not_sourced(bare_machine):
    line = sentence(bare_machine('python3', 'bash', 'c++', ROS_DISTRO='jazzy'))
    assert 'ROS_DISTRO=jazzy' in line and 'cannot import rclpy' in line


def test_without_headers_of_python(prepare, monkeypatch):
    monkeypatch.setattr(prepare.sysconfig, 'get_path', lambda name: '/nowhere')
    with pytest.raises(prepare.Failure, match='python3-dev'):
        prepare.check_machine()


def test_without_venv(prepare, monkeypatch):
    monkeypatch.setitem(sys.modules, 'ensurepip', None)
    with pytest.raises(prepare.Failure, match='python3-venv'):
        prepare.check_machine()


# --- The demo ------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def descendants(pid):
    """Return the processes that a process has started, and theirs."""
    parents = {}
    for folder in Path('/proc').iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int(
                    (folder / 'stat').read_text().rpartition(')')[2].split()[1])
            except OSError:
                continue
    found, before = {pid}, 0
    while len(found) > before:
        before = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found - {pid}


def processor_time(pid):
    """Return what a process, and those it has waited for, had of the processor [s]."""
    numbers = (Path('/proc') / str(pid) / 'stat').read_text().rpartition(')')[2].split()
    return sum(map(int, numbers[11:15])) / os.sysconf('SC_CLK_TCK')


def gone(pids, patience=10.0):
    """Tell whether all these processes end in time."""
    deadline = time.monotonic() + patience
    while any(Path(f'/proc/{pid}').exists() for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def demo(start):
    """Return a function that runs make demo."""
    def run(**variables):
        return start('make', '-C', ROOT, 'demo', *(f'{k}={v}' for k, v in variables.items()))
    return run


@pytest.fixture
def transforms():
    """Return a listener to /tf."""
    listener = Listener()
    listener.subscribe(TFMessage, '/tf', QoSProfile(depth=100))
    yield listener
    listener.close()


def page(port):
    with urllib.request.urlopen(f'http://127.0.0.1:{port}', timeout=5) as answer:
        return answer.read().decode(errors='replace')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_demo_starts_fast_shows_a_page_and_leaves_nothing_behind(demo, transforms, number):
    port = free_port()
    process = demo(PORT=port)
    assert transforms.spin_until(lambda: transforms.messages['/tf'], PATIENCE), process.output()
    address = f'http://127.0.0.1:{port}'
    assert transforms.spin_until(lambda: address in process.output(), PATIENCE), process.output()
    started = descendants(process.process.pid)
    spent = sum(map(processor_time, started))
    assert '<html' in page(port)
    assert len(started) >= 3, 'make, the demo and two nodes'
    os.killpg(process.process.pid, number)  # as a terminal does it
    process.wait(10.0)
    assert gone(started)
    assert 'Traceback' not in process.output()
    assert spent < SECOND_START


def test_the_nodes_end_even_if_the_demo_is_killed(demo, transforms):
    process = demo(PORT=free_port())
    assert transforms.spin_until(lambda: transforms.messages['/tf'], PATIENCE), process.output()
    started = descendants(process.process.pid)
    process.kill()
    assert gone(started)


def test_the_demo_ends_by_itself_after_its_duration(demo):
    process = demo(PORT=free_port(), DURATION=4, ROBOT='cantilever')
    assert process.wait(PATIENCE) == 0, process.output()


EXAMPLES = ('gripper', 'mobile_arm', 'dual_arm', 'catheter', 'swimmer', 'flapping_wing', 'frame')


@pytest.mark.parametrize('robot', EXAMPLES)
def test_the_demo_shows_each_example_robot(start, robot):
    program = ROOT / 'environment' / 'demo.py'
    process = start(sys.executable, program, '--robot', robot, '--port', str(free_port()))
    listener = Listener()
    try:
        listener.subscribe(MarkerArray, '/simulator/markers')
        listener.subscribe(DiagnosticArray, '/diagnostics')

        def values():
            return {v.key: v.value for m in listener.messages['/diagnostics']
                    for s in m.status if s.name == '/simulator: simulation' for v in s.values}
        assert listener.spin_until(
            lambda: float(values().get('simulated time [s]', 0.0)) > 0.04, 40.0), process.output()
        assert listener.spin_until(lambda: listener.messages['/simulator/markers'], 10.0)
        listener.spin(2.0)
        assert 'moves by itself' in process.output(), process.output()
        assert values()['moves by itself'] == 'True'
        assert values()['failed steps'] == '0', values()
        assert 'Traceback' not in process.output(), process.output()
    finally:
        listener.close()


def test_two_demos_at_once_have_their_own_pages(demo, transforms):
    both = [demo(), demo()]
    addresses = [transforms.spin_until(lambda d=d: 'Open http' in d.output(), PATIENCE)
                 and re.search(r'Open (http://\S+)', d.output())[1] for d in both]
    assert all(addresses) and len(set(addresses)) == 2, [d.output() for d in both]
    assert all(d.process.poll() is None for d in both)


def test_the_demo_takes_another_port_if_its_own_is_taken(demo, transforms):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        deadline = time.monotonic() + 10.0
        while other.getsockname()[1] != 8080 and time.monotonic() < deadline:
            try:
                other.bind(('127.0.0.1', 8080))
            except OSError:
                time.sleep(0.1)  # a viewer that was killed before is still on its way out
        other.listen()
        process = demo()
        said = transforms.spin_until(
            lambda: 'Open http://127.0.0.1:' in process.output(), PATIENCE)
        assert said and '8080' not in process.output(), process.output()


def test_a_demo_has_its_namespace(demo, transforms):
    """Frames begin with it, and so do topics: two of them do not disturb each other."""
    port = free_port()
    process = demo(PORT=port, NAMESPACE='left')
    transforms.subscribe(JointState, '/left/joint_states')
    heard = transforms.messages
    assert transforms.spin_until(
        lambda: heard['/tf'] and heard['/left/joint_states'], PATIENCE), process.output()
    assert transforms.spin_until(
        lambda: f'Open http://127.0.0.1:{port}' in process.output(), PATIENCE), process.output()
    assert '<html' in page(port)
    frames = {name for message in heard['/tf'] for t in message.transforms
              for name in (t.header.frame_id, t.child_frame_id)}
    assert len(frames) > 2 and all(frame.startswith('left/') for frame in frames)
    node = transforms.node
    assert transforms.spin_until(
        lambda: {('simulator', '/left'), ('viewer', '/left')}
        <= set(node.get_node_names_and_namespaces()), PATIENCE)
    assert transforms.spin_until(
        lambda: {'/left/simulator/commands', '/left/simulator/markers', '/left/joint_commands'}
        <= dict(node.get_topic_names_and_types()).keys(), PATIENCE)
    assert not [name for name, _ in node.get_topic_names_and_types()
                if name.startswith('/simulator/') or name in ('/joint_states', '/joint_commands')]


@pytest.mark.parametrize('variables, words', [
    ({'ROBOT': 'tendon_arn'}, ["'tendon_arm'"]),
    ({'ROBOT': '{broken}'}, ['broken.yaml:6', 'radiuss']),
    ({'ROBOT': '{torn}'}, ['torn.yaml']),
    ({'ROBOT': '{missing}'}, ['missing.yaml']),
    ({'NAMESPACE': 'a b'}, ['namespace', 'a b']),
    ({'NAMESPACE': '2nd'}, ['namespace', '2nd']),
    ({'DURATION': 'long'}, ['duration', 'long']),
    ({'DURATION': '-1'}, ['duration', '-1']),
    ({'PORT': '99999'}, ['port', '99999']),
])
def test_the_demo_rejects_nonsense_before_it_tells_an_address(demo, tmp_path, variables, words):
    files = {name: tmp_path / f'{name}.yaml' for name in ('broken', 'torn', 'missing')}
    files['broken'].write_text(BROKEN)
    files['torn'].write_text('rods: {rod: [')
    process = demo(**{name: value.format(**files) for name, value in variables.items()})
    assert process.wait(PATIENCE) != 0
    for word in words:
        assert word in process.output()
    assert 'Traceback' not in process.output()
    assert 'http' not in process.output()


def test_the_demo_refuses_a_port_in_use(demo):
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        port = other.getsockname()[1]
        process = demo(PORT=port)
        assert process.wait(PATIENCE) != 0
        assert f'PORT={port} is in use' in process.output()
