"""What works with a running simulator from outside: clients, the path follower, the tutorial."""

from pathlib import Path
import re
import signal
import sys
import time

from ament_index_python.packages import get_package_prefix
from conftest import ROOT, Running
from driver import simulator
from geometry_msgs.msg import Vector3Stamped
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import MarkerArray

from cosserat_ros.checks.errors import CosseratError
from cosserat_ros.description.robot import load
from cosserat_ros.msg import ActuatorInfo, Load, RobotInfo
from cosserat_ros.nodes.common.asking import actuator_command, actuator_value
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import SetWrench

GIVEN = {  # as on a command line, and to the library
    'tendon_arm': (['tendon_1=3', 'tendon_2=1N'], {'tendon_1': 3.0, 'tendon_2': 1.0}),
    'fluidic_finger_three_chambers': (['chamber_1=40kPa', 'chamber_2=1e4'],
                                      {'chamber_1': 4e4, 'chamber_2': 1e4}),
    'stewart_gough': (['leg_1=520mm', 'leg_4=.49'], {'leg_1': 0.52, 'leg_4': 0.49}),
}


@pytest.fixture(scope='module', params=GIVEN)
def driven(request):
    """Return who drives a robot of each kind, and the library's own simulator of it."""
    with simulator(robot=request.param) as (driver, _):
        driver.robot = request.param
        driver.sim = Simulator(load(ROOT / 'config' / f'{request.param}.yaml'))
        driver.sim.statics()
        yield driver


def executable(name):
    return str(Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros' / name)


def run(start, name, *arguments):
    """Run a client; return its exit code and what it printed."""
    process = start(executable(name), *arguments)
    return process.wait(30.0), process.output()


def numbers(text, label):
    """Return the numbers of the line that begins with a label."""
    line = re.search(rf'^ *{label} +(.*)$', text, re.M)[1]
    return [float(x) for x in re.findall(r'-?\d+\.?\d*(?:e-?\d+)?', line)]


# --- Clients ------------------------------------------------------------------------------------

def test_clients_say_what_the_library_finds(driven, start):
    words, commands = GIVEN[driven.robot]
    driven.reset()
    before = driven.tip()
    code, said = run(start, 'statics', *words)
    assert code == 0, said
    sim = driven.sim
    sim.command(**commands)
    assert sim.statics().converged
    wanted = sim.tip_pose()[:3, 3]
    assert_allclose(numbers(said, 'position'), 1e3 * wanted, atol=1e-3)
    assert re.match(rf'{driven.robot}: stable, margin 0\.\d+', said)
    for name, state in sim.actuators().items():
        row = re.search(rf'^{name} +(as it is|\S+ \S+) +(\S+) (\S+) +(\S+) (\S+)$', said, re.M)
        assert (row[1] == 'as it is') == (name not in commands)
        scale = {'mm': 1e-3, 'ml': 1e-6, 'N': 1.0, 'kPa': 1e3}
        for number, unit, value in ((row[2], row[3], state.position),
                                    (row[4], row[5], state.effort)):
            assert float(number) * scale[unit] == pytest.approx(
                value, rel=1e-4, abs=1e-3 * scale[unit])
    assert re.search(r'solved in [\d.]+ ms: \d+ iterations, residual \d', said)
    assert_allclose(driven.tip(), before, atol=1e-5)  # only asked

    code, said = run(start, 'inverse_statics', *map(str, wanted), '--send')
    assert code == 0, said
    assert 'the target is met' in said and 'sent to /simulator/commands' in said
    assert re.search(r'is (not )?proven to be a local optimum; \d of \d starts agree', said), said
    driven.equilibrium()
    assert driven.spin_until(
        lambda: np.allclose(driven.tip(), wanted, atol=2e-4), 10.0), driven.tip()
    driven.reset()


def test_a_force_beside_a_body_is_borne_by_its_joint(start):
    """On the gripper's tip, which is fixed to the palm, a way off."""
    with simulator('-r', '__ns:=/palm', namespace='/palm', robot='gripper') as (driver, _):
        driver.spin(0.5)
        efforts = []
        for force in ([], ['--force', '0.1', '0', '-2']):
            code, said = run(
                start, 'statics', '--node', '/palm/simulator', 'lift=10mm', *force)
            assert code == 0, said
            efforts.append(float(re.search(r'^lift .* (\S+) N$', said, re.M)[1]))
        assert efforts[1] - efforts[0] == pytest.approx(2.0, abs=1e-3)


def test_what_cannot_be_answered_is_one_line_and_a_code(driven, start):
    if driven.robot != 'tendon_arm':
        pytest.skip('alike for all robots')
    cases = (
        ('statics', ['tendon_9=1'], 1, "must be one of: tendon_1, .* got 'tendon_9'"),
        ('statics', ['tendon_1=0.003kPa'], 1, "unit of tendon_1 must be one of: .*got 'kPa'"),
        ('statics', ['tendon_1=-1'], 1, r'a finite number >= 0 and <= 10 \[N\], got -1.0'),
        ('statics', ['--node', '/left/simulator'], 1,
         'no active simulator /left/simulator; there is .*/simulator.*: see --node'),
        ('statics', ['--timeout', '1', '--ros-args', '-r', '__ns:=/left'], 1,
         'no active simulator /left/simulator'),
        ('inverse_statics', ['0.05', '0'], 2, 'required: z'),
        ('inverse_statics', ['-1e-1', '0', 'inf'], 2, "z: must be a finite number, got 'inf'"),
        ('inverse_statics', ['-0.05', '0', '0.5'], 3, r'target is missed by 2\d\d\.\d+ mm: '),
    )
    running = [start(executable(name), *arguments) for name, arguments, _, _ in cases]
    for process, (_, arguments, code, said) in zip(running, cases):
        found, text = process.wait(60.0), process.output()
        assert found == code, (arguments, text)
        assert re.search(said, text), text
        assert code == 3 or text.count('\n') == 1, text


TENDON, CHAMBER, LEG = ActuatorInfo.TENDON, ActuatorInfo.CHAMBER, ActuatorInfo.LEG


@pytest.mark.parametrize(('kind', 'text', 'value', 'mode'), [
    (TENDON, 'a=3', 3.0, 0), (LEG, 'a=-.5e1', -5.0, 0), (TENDON, 'a=2N', 2.0, 1),
    (CHAMBER, 'a=20 kPa', 2e4, 1), (CHAMBER, 'a=1.5bar', 1.5e5, 1), (TENDON, 'a=5mm', 5e-3, 2),
    (LEG, 'a=5mm', 5e-3, 2), (CHAMBER, 'a=2ml', 2e-6, 2), (CHAMBER, 'a=1mmol', 1e-3, 3)])
def test_a_unit_tells_what_is_meant(kind, text, value, mode):
    robot = RobotInfo(actuators=[ActuatorInfo(name='a', kind=kind)])
    found = actuator_command(robot, actuator_value(text))
    assert (found.name, found.mode) == ('a', mode)
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(('kind', 'unit', 'allowed'), [
    (TENDON, 'kPa', 'N, m, mm'), (TENDON, 'ml', 'N, m, mm'), (TENDON, 'mol', 'N, m, mm'),
    (CHAMBER, 'N', 'Pa, kPa, bar, m^3, ml, mol, mmol'), (LEG, 'N', 'm, mm'), (LEG, 'ml', 'm, mm'),
    (CHAMBER, 'mm', 'Pa, kPa, bar, m^3, ml, mol, mmol')])
def test_a_unit_of_another_dimension_is_refused(kind, unit, allowed):
    robot = RobotInfo(actuators=[ActuatorInfo(name='a', kind=kind)])
    with pytest.raises(CosseratError, match=re.escape(
            f"the unit of a must be one of: {allowed}, got '{unit}'")):
        actuator_command(robot, actuator_value(f'a=3{unit}'))


def waits(process, number):
    """Tell whether a client speaks DDS, and leaves a signal to the system."""
    about = Path('/proc') / str(process.process.pid)
    caught = int(re.search(r'SigCgt:\s*(\w+)', (about / 'status').read_text())[1], 16)
    return 'librmw_' in (about / 'maps').read_text() and not caught >> (number - 1) & 1


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_client_that_waits_ends_with_a_signal_in_silence(start, number):
    process = start(executable('statics'), '--node', '/nobody', '--timeout', '300')
    deadline = time.monotonic() + 60.0
    while not waits(process, number):
        assert time.monotonic() < deadline, process.output()
        time.sleep(0.1)
    assert process.stop(number, timeout=30.0) == -number
    assert process.output() == ''


@pytest.mark.parametrize('text', [
    'a', 'a=', '=3', 'a=nan', 'a=1e999', 'a=3kg', 'a=3=4', 'a=1e308bar'])
def test_what_is_no_command_is_refused(text):
    with pytest.raises(Exception, match='must be'):
        actuator_value(text)


# --- The path follower --------------------------------------------------------------------------

FOLLOWED = {  # parameters, load on the tip [N], greatest RMS error in a closed loop [mm]
    'tendon_arm': ({'period': 4.0}, 0.01, 4.0),
    'fluidic_finger_three_chambers': (
        {'period': 4.0, 'axes': 'xyz', 'centre_z': 0.105, 'lead': 0.05}, 0.03, 1.0),
}
ERROR = '/path_follower/tracking_error'


def rms(driver, seconds):
    """Return the RMS of the error that the follower says of so long a time [mm]."""
    driver.messages[ERROR].clear()
    driver.spin(seconds)
    errors = [(m.vector.x, m.vector.y, m.vector.z) for m in driver.messages[ERROR]]
    assert len(errors) > 20 * seconds
    return 1e3 * np.sqrt(np.mean(np.sum(np.square(errors), axis=1)))


def set_gain(driver, gain):
    request = SetParameters.Request(parameters=[Parameter('gain', value=gain).to_parameter_msg()])
    answer = driver.call(SetParameters, '/path_follower/set_parameters', request, attempts=3)
    assert answer.results[0].successful


def test_a_path_is_followed_better_than_open_loop(driven, start_node):
    if driven.robot not in FOLLOWED:
        pytest.skip('two kinds will do')
    parameters, force, bound = FOLLOWED[driven.robot]
    driven.reset()
    for kind, topic in ((Vector3Stamped, ERROR), (MarkerArray, '/path_follower/markers'),
                        (Float64MultiArray, '/simulator/commands')):
        if topic not in driven.messages:
            driven.subscribe(kind, topic)
    follower = start_node('path_follower', **parameters)
    assert driven.spin_until(lambda: driven.messages[ERROR], 30.0), follower.output()

    # A load that nobody has told the open loop of.
    set_gain(driven, 0.0)
    pull = Load(name='pull')
    pull.wrench.force.x = force
    assert driven.ask(SetWrench, 'set_wrench', loads=[pull]).success
    driven.spin(0.5)
    open_loop = rms(driven, 1.5)
    set_gain(driven, 2.0)
    for _ in range(6):  # the loop takes its time where poses come late, as on a busy machine
        driven.spin(2.0)
        closed_loop = rms(driven, 2.5)
        if closed_loop < min(bound, 0.5 * open_loop):
            break
    print(f'{driven.robot}: RMS error {open_loop:.2f} mm open, {closed_loop:.2f} mm closed loop')
    assert closed_loop < bound, follower.output()
    assert open_loop > 2.0 * closed_loop
    assert re.search(r'round 1: RMS error \d', follower.output())

    commands = np.array([m.data for m in driven.messages['/simulator/commands']])
    actuators = driven.sim.robot.actuators.values()
    lower, upper = np.array([a.bounds for a in actuators]).T
    assert (commands >= lower).all() and (commands <= upper).all()
    assert driven.diagnosis()[2]['rejected commands'] == '0'
    if driven.robot == 'tendon_arm':  # four tendons for two directions: none pulls in vain
        assert commands[-200:].min(axis=1).max() < 0.2
    line, ball = driven.messages['/path_follower/markers'][-1].markers
    assert line.header.frame_id == ball.header.frame_id == 'base_link'
    assert len(line.points) > 30

    assert follower.stop() == 0
    assert 'Traceback' not in follower.output()
    driven.reset()


# --- The tutorial -------------------------------------------------------------------------------

def test_the_tutorial_brings_the_tip_to_its_target(driven, tmp_path):
    if driven.robot != 'tendon_arm':
        pytest.skip('it is about the tendon arm')
    driven.reset()
    code = re.search(r'```python\n(.*?)```', (ROOT / 'docs' / 'tutorial.md').read_text(), re.S)[1]
    (tmp_path / 'bend.py').write_text(code)
    process = Running([sys.executable, str(tmp_path / 'bend.py')], None)
    try:
        assert driven.spin_until(lambda: abs(driven.tip()[0] - 0.05) < 0.005, 60.0), driven.tip()
        assert len(code.splitlines()) <= 40
    finally:
        process.stop(signal.SIGINT)
    assert 'Error' not in process.output().replace('KeyboardInterrupt', '')
