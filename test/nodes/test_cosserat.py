"""The command `cosserat`, and every command line that README and docs print."""

from importlib.util import find_spec
import os
from pathlib import Path
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv

from ament_index_python.packages import get_package_prefix
from conftest import ROOT
from diagnostic_msgs.msg import DiagnosticStatus
from driver import simulator
import pytest
from rcl_interfaces.msg import ParameterType
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import SetBool
from visualization_msgs.msg import MarkerArray

from cosserat_ros.checks.errors import CosseratError
from cosserat_ros.commands.cosserat import main, SUBCOMMANDS
from cosserat_ros.nodes.common.graph import as_plain, fill, parameter, read_yaml
from cosserat_ros.nodes.page.feeds import matching_qos
from cosserat_ros.srv import Reset, Step

COMMAND = str(Path(get_package_prefix('cosserat_ros')) / 'bin' / 'cosserat')
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
NODES = {  # run until they are stopped
    'simulate': 'simulator', 'view': 'viewer', 'follow': 'path_follower',
    'comparator': 'comparator', 'record': 'recorder'}
# Commands that need an installed ROS 2, and those that are not ours, or run by other tests.
NEED_ROS = ('ros2 launch', 'ros2 bag', 'ros2 security', 'ros2 topic pub -1 /tension_controller',
            'rosdep', 'colcon', 'sudo apt', 'cd ~/ros2_ws', 'source install/setup.bash')
OTHERS = ('ssh', 'pip install', 'source .environment', 'python ', 'make ', 'export ', 'for ',
          'done', 'http', '...', 'environment/enter')
RECORDED = {  # an arm at rest and bent a little: positions do not matter here
    'map.yaml': 'motion: static\ncommands: {tendon_1: {column: pull}}\n'
                'measured: {tip: {columns: [x, y, z]}}\n',
    'recording.csv': 'pull,x,y,z\n0,0,0,0.24\n1,0.03,0,0.236\n2,0.058,0,0.229\n',
    'calibration.yaml': 'robot: robot.yaml\nmap: map.yaml\ntrain: [recording.csv]\nparameters:\n'
                        "  E: {paths: ['rods.*.segments[*].material.young_modulus'], lower: 1e11, "
                        'upper: 4e11}\n'}


def command_lines():
    """Return page and line of all commands: in blocks of bash, indented, and within sentences."""
    found = []
    for page in PAGES:
        text = page.read_text()
        blocks = re.findall(r'^```bash\n(.*?)^```', text, re.S | re.M)
        blocks += re.findall(r'^    (cosserat (?:.*\\\n)*.*)', text, re.M)
        blocks += [' '.join(one.split()) for one in re.findall(r'`(cosserat\s[^`]+)`', text)]
        for line in '\n'.join(blocks).replace('\\\n', ' ').splitlines():
            if line.strip() and not line.startswith('#'):
                found.append((page.name, line.strip()))
    return found


LINES = command_lines()
OURS = [one for one in LINES if one[1].startswith('cosserat ')]
NAMED = {line for _, line in OURS if len(line.split()) == 2}  # subcommands alone
WHOLE = [one for one in OURS if one[1] not in NAMED]
PLACES = {'FILE': 'my_arm.yaml', 'NAMESPACE': 'arm', '<folder of recordings>': '.'}
INCOMPLETE = '<folder>', '...', '--enclave', '--resume file'  # of files that are not here


@pytest.fixture(scope='module')
def robot():
    with simulator() as (driver, _):
        yield driver


@pytest.fixture
def run(start):
    """Return a function that runs the command; returns its exit code and its output."""
    def run(*words):
        process = start(COMMAND, *words)
        return process.wait(60.0), process.output()
    return run


def test_all_other_command_lines_are_known_to_need_something_else():
    assert OURS
    for page, line in LINES:
        assert line.startswith(('cosserat ', *NEED_ROS, *OTHERS)), f'{page}: {line}'


def test_pages_say_which_commands_need_an_installation_of_ros():
    for page in {page for page, line in LINES if line.startswith(NEED_ROS)}:
        text = next(path for path in PAGES if path.name == page).read_text()
        assert re.search(r'ROS 2 .* installed|ROS 2\s+installation', text), page


def test_every_subcommand_that_is_named_exists():
    assert {line.split()[1] for line in NAMED} <= SUBCOMMANDS.keys()


@pytest.mark.parametrize('page, line', WHOLE, ids=lambda value: re.sub(r'\W+', '_', value)[:60])
def test_every_command_line_of_the_pages_runs(robot, start, tmp_path, monkeypatch, page, line):
    """Those that print and end succeed; nodes come up, and end when told to."""
    words = shlex.split(re.sub('(<.*?>)', r"'\1'", line), comments=True)[1:]
    options = []
    if any(part in line for part in INCOMPLETE):
        options = [word for word in words if word.startswith('--') and word != '--ros-args']
        words = [words[0], '--help']
    words = [PLACES.get(word, word) for word in words]
    for name in ('my_arm.yaml', 'robot.yaml'):
        (tmp_path / name).write_bytes((ROOT / 'config' / 'tendon_arm.yaml').read_bytes())
    for name, text in RECORDED.items():
        (tmp_path / name).write_text(text)
    (tmp_path / 'sweep.yaml').write_text(
        'robot: my_arm.yaml\nvary: {pull: {of: tendon_1, lower: 0.0, upper: 4.0}}\nsamples: 3\n')
    monkeypatch.chdir(tmp_path)
    if 'comparator' in line and words[0] == 'echo':
        words = ['echo', '--help']  # of a comparator that does not run
    node, names = NODES.get(words[0]), robot.node.get_node_names
    before = names().count(node)
    process = start(COMMAND, *words)
    if node and '--help' not in words:
        assert robot.spin_until(lambda: names().count(node) > before, 60.0), process.output()
        assert process.stop() == 0, process.output()
    else:
        # A target may be out of reach: then what is as near as can be is told, with this code.
        fine = (0, 3) if words[0] == 'inverse-statics' else (0,)
        assert process.wait(60.0) in fine, process.output()
        assert all(option in process.output() for option in options if option != '--enclave')
    assert 'Traceback' not in process.output()


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Install the library by pip into an environment of its own; return its command."""
    folder = tmp_path_factory.mktemp('installed')
    source, environment = folder / 'source', folder / 'venv'
    for name in ('setup.py', 'setup.cfg', 'README.md', 'LICENSE'):
        source.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / 'cosserat_ros', source / 'cosserat_ros',
                    ignore=shutil.ignore_patterns('__pycache__'))
    venv.create(environment, system_site_packages=True)
    python = environment / 'bin' / 'python'
    ours = sysconfig.get_path('purelib')
    theirs = sysconfig.get_path('purelib', vars={'base': str(environment)})
    (Path(theirs) / 'numerics.pth').write_text(f'{ours}\n')  # numba and all it needs
    subprocess.run(
        [sys.executable, '-m', 'pip', '--python', python, 'install', '--no-deps', '--no-index',
         '--no-build-isolation', source], check=True, capture_output=True, text=True,
        env=without_ros())
    return environment / 'bin' / 'cosserat'


def without_ros():
    return {name: value for name, value in os.environ.items()
            if name not in ('PYTHONPATH', 'AMENT_PREFIX_PATH')}


@pytest.mark.timeout(300)
def test_the_same_words_do_the_same_where_pip_installed_them(installed, tmp_path):
    (tmp_path / 'wrong.yaml').write_text('name: arm\nrodz: {}\n')
    good = ROOT / 'config' / 'tendon_arm.yaml'
    for words in (['--help'], ['check', good], ['check', 'wrong.yaml'], ['check', 'nowhere.yaml'],
                  ['calibate'], ['sweep', '--help'], ['calibrate', '--help']):
        here, there = (subprocess.run(
            [command, *words], capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
            for command, env in ((COMMAND, None), (installed, without_ros())))
        assert (here.returncode, here.stdout, here.stderr) == (
            there.returncode, there.stdout, there.stderr), words
    for name in ('simulate', 'topics', 'statics'):
        done = subprocess.run(
            [installed, name], capture_output=True, text=True, check=False, env=without_ros())
        assert done.returncode == 1 and done.stderr.count('\n') == 1
        assert 'needs ROS 2, which was not found' in done.stderr


def test_the_help_names_all_subcommands(run):
    code, said = run('--help')
    assert code == 0
    for name in SUBCOMMANDS:
        assert re.search(rf'^  {name} ', said, re.M)


def test_an_unknown_subcommand_is_told(capsys):
    assert main(['calibate']) == 2
    assert "the nearest is 'calibrate'" in capsys.readouterr().err


@pytest.mark.parametrize('words', [
    ['robot:=cantilever'], ['cantilever'], ['--ros-args', '-p', 'stations:=9', '--', 'arm']])
def test_a_node_takes_no_words_but_those_for_ros(capsys, words):
    assert main(['simulate', *words]) == 2
    said = capsys.readouterr().err
    assert f'unknown argument {words[-1]};' in said
    assert 'cosserat simulate --ros-args -p robot:=...' in said and said.count('\n') == 1


@pytest.mark.parametrize('missing', ['rclpy', 'cosserat_ros.msg'])
def test_what_needs_ros_says_so_in_one_line_where_there_is_none(capsys, monkeypatch, missing):
    monkeypatch.setattr('cosserat_ros.commands.cosserat.find_spec', lambda name: (
        None if name == missing else find_spec(name)))
    assert main(['topics']) == 1
    said = capsys.readouterr().err
    assert 'needs ROS 2, which was not found' in said and said.count('\n') == 1


def test_files_are_checked(capsys, tmp_path):
    assert main(['check', *map(str, (ROOT / 'config').glob('*.yaml'))]) == 0
    assert capsys.readouterr() == ('', '')
    (tmp_path / 'arm.yaml').write_text('name: arm\nrodz: {}\n')
    assert main(['check', str(tmp_path / 'arm.yaml')]) == 1
    assert 'arm.yaml:2: rodz is not a known key' in capsys.readouterr().err


@pytest.mark.parametrize('geometry, said', [
    ('{shape: mesh, file: %s/nowhere.stl}', 'geometry.file must be a file that can be read'),
    ('{shape: mesh, file: %s/open.stl}', 'geometry.file must be a closed surface'),
    ('{shape: tube, points: [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3]], radii: [1, .1, .1, 1]}',
     'geometry.radii must be radii whose smooth interpolation stays > 0')])
def test_obstacles_are_checked(capsys, tmp_path, geometry, said):
    pytest.importorskip('trimesh').Trimesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).export(tmp_path / 'open.stl')
    text = (ROOT / 'config' / 'tendon_arm.yaml').read_text()
    lines = text.count('\n')
    (tmp_path / 'arm.yaml').write_text(text + 'obstacles:\n  skull:\n    geometry: ' + (
        geometry.replace('%s', str(tmp_path))) + '\n')
    assert main(['check', str(tmp_path / 'arm.yaml')]) == 1
    error = capsys.readouterr().err
    assert f'arm.yaml:{lines + 3}: obstacles.skull.{said}' in error


def test_topics_are_listed_read_and_written(robot, run):
    run('call', '/simulator/pause', '{data: false}')
    listed = (run('topics')[1] for _ in range(5))  # a busy machine is slow to tell of all of them
    assert any('/simulator/backbone  cosserat_ros/msg/Backbone' in said for said in listed)
    assert run('pub', '/simulator/commands', '{data: [2, 0, 0, 1]}')[0] == 0
    assert robot.spin_until(lambda: robot.efforts() == [2.0, 0.0, 0.0, 1.0])
    code, said = run('echo', 'joint_states', '-n', '1', '--timeout', '20')
    assert code == 0
    assert 'effort: [2.0, 0.0, 0.0, 1.0]' in said


def test_services_and_parameters_are_asked(robot, run):
    assert run('call', '/simulator/pause', '{data: true}')[0] == 0
    assert 'success: true' in run('call', '/simulator/pause', '{data: false}')[1]
    assert run('params', '/simulator', 'publish_rate', '30.0')[0] == 0
    assert run('params', '/simulator', 'publish_rate')[1].strip() == 'publish_rate: 30.0'
    assert run('params', 'simulator', 'publish_rate', '60')[0] == 0
    assert run('params', 'simulator', 'publish_rate')[1].strip() == 'publish_rate: 60.0'
    assert "robot: 'tendon_arm'" in run('params', '/simulator')[1]


@pytest.mark.parametrize('words, said', [
    (['echo', '/nothing'], 'there is no topic /nothing'),
    (['pub', '/simulator/commands', '{dato: [1]}'], "the nearest is 'data'"),
    (['pub', '/simulator/commands', '{data: much}'], 'data'),
    (['call', '/simulator/nothing'], 'there is no service /simulator/nothing'),
    (['call', '/simulator/pause', '{data: yes}'], 'data must be true or false'),
    (['params', '/simulator', 'robot', 'finger'], 'was not set'),
    (['params', '/simulator', 'robot', '{a: 1}'], 'robot must be'),
])
def test_what_cannot_be_done_is_told_in_one_line(robot, run, words, said):
    code, output = run(*words)
    assert code == 1
    assert said in output and 'Traceback' not in output


@pytest.mark.parametrize('words, said', [
    (['echo', '/joint_states', '-n', '-1'], 'a whole number >= 0'),
    (['pub', '/simulator/commands', '{}', '--rate', '-1'], 'must be > 0'),
])
def test_options_out_of_range_are_misuse(run, words, said):
    code, output = run(*words)
    assert code == 2
    assert said in output and output.count('\n') == 1


def test_echo_ends_in_silence_where_nobody_reads_on(robot):
    done = subprocess.run(
        ['bash', '-c', f'set -o pipefail; {COMMAND} echo /joint_states | head -n 1'],
        capture_output=True, text=True, timeout=60.0, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, '')
    assert done.stdout.count('\n') == 1


@pytest.mark.parametrize('node', ['recorder', 'viewer', 'statics', 'common.graph'])
def test_who_has_no_robot_of_its_own_starts_without_the_library(node):
    """It takes longer to import than all else."""
    code = (f'import sys, cosserat_ros.nodes.{node}\n'
            'print({"numba", "scipy.linalg", "scipy.spatial"} & sys.modules.keys())')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'set()'


def test_a_demonstration_ends_with_a_reset():
    for target in (Reset.Request.REST, Reset.Request.EQUILIBRIUM):
        with simulator('-r', '__ns:=/a', namespace='/a', demonstrate='true') as (driver, _):
            assert driver.diagnosis()[2]['moves by itself'] == 'True'
            assert driver.ask(Reset, 'reset', target=target).success
            assert driver.diagnosis()[2]['moves by itself'] == 'False'


def test_every_publisher_is_heard_that_comes_after_its_listener():
    qos = matching_qos([], 1)
    assert qos.reliability == ReliabilityPolicy.BEST_EFFORT
    assert qos.durability == DurabilityPolicy.VOLATILE


@pytest.mark.parametrize('kind, text, said', [
    (SetBool.Request, '{data: yes}', "data must be true or false, got 'yes'"),
    (SetBool.Request, '{data: 1}', 'data must be true or false, got 1'),
    (Step.Request, '{steps: 1.5}', 'steps must be a whole number from 0 to 4294967295, got 1.5'),
    (Step.Request, '{steps: -1}', 'steps must be a whole number from 0 to 4294967295, got -1'),
    (Step.Request, '{steps: true}', 'steps must be a whole number'),
    (Reset.Request, '{snapshot: 5}', 'snapshot must be text.*, got 5'),
    (Reset.Request, '{target: 256}', 'target must be a whole number from 0 to 255, got 256'),
    (JointState, '{name: [a, 1]}', r'name\[1\] must be text.*, got 1'),
    (JointState, '{position: [0, much]}', r"position\[1\] must be a number.*, got 'much'"),
    (JointState, '{header: {stamp: {sec: 1.0}}}', r'header\.stamp\.sec must be a whole number'),
    (JointState, '{header: 1}', 'header must be fields in braces'),
    (Imu, '{orientation_covariance: [1, 2]}', 'must be a list of 9 double'),
])
def test_values_of_another_type_are_rejected_with_their_field(kind, text, said):
    with pytest.raises(CosseratError, match=said):
        fill(kind(), read_yaml(text))


def test_parameters_take_the_type_that_they_have():
    double, doubles = ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_DOUBLE_ARRAY
    assert isinstance(parameter('rate', 30, double).value, float)
    assert list(parameter('rates', [1, 2.5], doubles).value) == [1.0, 2.5]
    assert parameter('count', 30, ParameterType.PARAMETER_INTEGER).value == 30
    for value in ({'a': 1}, [1, 'a'], 2 ** 63):
        with pytest.raises(CosseratError, match='^count must be'):
            parameter('count', value, ParameterType.PARAMETER_INTEGER)


def test_messages_survive_as_plain_values():
    message = JointState(name=['a'], position=[1.0], effort=[2.0])
    message.header.stamp.sec = 7
    status = DiagnosticStatus(level=DiagnosticStatus.WARN, name='a')
    for one in (message, status):
        other = type(one)()
        fill(other, as_plain(one))
        assert other == one
    markers = MarkerArray()
    fill(markers, {'markers': [{'points': [{'x': 1}], 'color': {'r': 0.5}}]})
    assert markers.markers[0].points[0].x == 1.0
    with pytest.raises(CosseratError, match='markers'):
        fill(markers, {'markers': {'points': 1}})
