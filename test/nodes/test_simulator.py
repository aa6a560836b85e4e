"""The simulator node as its users meet it: a process of its own, seen over real DDS."""

from pathlib import Path
import signal
import time

from conftest import ROOT
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from driver import wait_for
from geometry_msgs.msg import TransformStamped
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from listener import Listener
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import (
    DurabilityPolicy,
    qos_profile_sensor_data,
    QoSProfile,
)
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from cosserat_ros.description.robot import load
from cosserat_ros.msg import Backbone
from cosserat_ros.simulation import simulator

TENDONS = ['tendon_1', 'tendon_2', 'tendon_3', 'tendon_4']
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def listener():
    """Return a node of another process, from the point of view of the simulator."""
    listener = Listener()
    yield listener
    listener.close()


def listen(listener, namespace='', raw=False):
    """Subscribe to all that a simulator publishes."""
    for kind, topic, qos in (
        (TFMessage, '/tf', QoSProfile(depth=100)),
        (TFMessage, '/tf_static', LATCHED),
        (JointState, f'{namespace}/joint_states', qos_profile_sensor_data),
        (MarkerArray, f'{namespace}/simulator/markers', 10),
        (Backbone, f'{namespace}/simulator/backbone', 10),
    ):
        listener.subscribe(kind, topic, qos, raw)
    return listener.messages


def matrix(message: TransformStamped):
    g = np.eye(4)
    r, t = message.transform.rotation, message.transform.translation
    g[:3, :3] = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
    g[:3, 3] = t.x, t.y, t.z
    return g


def tree(messages):
    """Return {child: (parent, transform)} of the newest /tf and all of /tf_static."""
    transforms = [t for m in messages['/tf_static'] for t in m.transforms]
    transforms += messages['/tf'][-1].transforms
    children = [t.child_frame_id for t in transforms]
    assert len(set(children)) == len(children), 'a frame with two parents'
    return {t.child_frame_id: (t.header.frame_id, matrix(t)) for t in transforms}


def pose_in_root(frames, frame):
    """Return the root that a frame hangs on, and its pose there."""
    g = np.eye(4)
    while frame in frames:
        frame, step = frames[frame]
        g = step @ g
    return frame, g


# --- What is published ---------------------------------------------------------------------------

def test_the_base_pose_of_the_description_is_on_tf_static(start_node, listener):
    start_node('simulator', robot='cantilever')
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/tf'] and messages['/tf_static'])
    root, base = pose_in_root(tree(messages), 'base_link')
    assert root == 'world'
    assert_allclose(base[:3, 3], [0.0, 0.0, 0.3], atol=1e-12)
    assert_allclose(base[:3, 2], [1.0, 0.0, 0.0], atol=1e-12)  # along world x


def test_prefix_parent_and_stations_are_as_asked(start_node, listener):
    start_node('simulator', frame_prefix='left/', parent_frame='torso', stations=101)
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/tf'] and messages['/tf_static'])
    frames = tree(messages)
    assert len(frames) == 103
    assert all(frame.startswith('left/') for frame in frames)
    assert frames['left/base_link'][0] == 'torso'
    assert frames['left/tip'][0] == 'left/backbone_100'
    assert 'left/backbone_000' in frames


def test_without_a_parent_frame_the_base_link_is_the_root(start_node, listener):
    start_node('simulator', '-p', 'parent_frame:=""')
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/tf'] and messages['/tf_static'])
    assert pose_in_root(tree(messages), 'tip')[0] == 'base_link'


@pytest.mark.parametrize(
    'path', sorted((ROOT / 'config').glob('*.yaml')), ids=lambda path: path.stem)
def test_every_shipped_robot_comes_up(start_node, listener, path):
    process = start_node('simulator', robot=path)
    messages = listen(listener)
    assert listener.spin_until(lambda: all(messages.values())), process.output()
    described = load(path)
    expected = simulator.Simulator(described)
    assert expected.statics().converged
    state = messages['/joint_states'][-1]
    told = expected.actuators().values()
    assert list(state.name[:len(told)]) == list(described.actuators)
    assert_allclose(state.effort[:len(told)], [a.effort for a in told], atol=1e-4)
    assert_allclose(state.position[:len(told)], [a.position for a in told], atol=1e-7)
    root, tip = pose_in_root(tree(messages), 'tip')
    assert root == 'world'
    if described.gaits:  # it does not rest
        return
    assert_allclose(tip, described.base.matrix() @ expected.tip_pose(), atol=1e-6)
    position = messages['/simulator/backbone'][-1].tip.position
    assert_allclose((position.x, position.y, position.z), expected.tip_pose()[:3, 3], atol=1e-6)


def test_two_robots_live_side_by_side(start_node, listener):
    for side in ('left', 'right'):
        start_node('simulator', '-r', f'__ns:=/{side}', frame_prefix=f'{side}/')
    for side in ('left', 'right'):
        listen(listener, namespace=f'/{side}')
    messages = listener.messages

    def children():
        return {t.child_frame_id for m in messages['/tf'] for t in m.transforms}

    # Both are on one topic, and on a busy machine the second may be heard some time later.
    assert listener.spin_until(lambda: all(messages.values()) and len(children()) >= 42), (
        {topic: len(heard) for topic, heard in messages.items()}, children())
    assert len(children()) == 42 and {c.split('/')[0] for c in children()} == {'left', 'right'}


# --- Lifecycle and parameters --------------------------------------------------------------------

def test_it_is_a_managed_node(start_node, listener):
    start_node('simulator', autostart='false')
    messages = listen(listener)

    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return listener.call(ChangeState, '/simulator/change_state', request).success

    def state():
        answer = listener.call(GetState, '/simulator/get_state', GetState.Request())
        return answer.current_state.id

    assert state() == State.PRIMARY_STATE_UNCONFIGURED
    for _ in range(2):
        assert change(Transition.TRANSITION_CONFIGURE)
        listener.spin(0.5)
        messages['/tf'].clear()
        listener.spin(0.5)
        assert not messages['/tf'] and state() == State.PRIMARY_STATE_INACTIVE
        assert change(Transition.TRANSITION_ACTIVATE)
        assert listener.spin_until(lambda: messages['/tf'])
        assert change(Transition.TRANSITION_DEACTIVATE)
        assert change(Transition.TRANSITION_CLEANUP)
    assert state() == State.PRIMARY_STATE_UNCONFIGURED
    assert change(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)


def test_a_bad_robot_leaves_a_managed_node_unconfigured_and_up(start_node, listener):
    process = start_node('simulator', autostart='false', robot='/nowhere/arm.yaml')
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE))
    assert not listener.call(ChangeState, '/simulator/change_state', request).success
    answer = listener.call(GetState, '/simulator/get_state', GetState.Request())
    assert answer.current_state.id == State.PRIMARY_STATE_UNCONFIGURED
    assert '/nowhere/arm.yaml: No such file' in process.output()
    assert process.stop() == 0


def test_parameters_are_described_with_unit_and_range(start_node, listener):
    start_node('simulator')
    live = ['time_scale', 'publish_rate', 'joint_state_rate', 'command_timeout', 'on_timeout']
    names = ['robot', 'frame_prefix', 'parent_frame', 'stations', 'step_rate', 'publish_clock',
             'autostart', *live]
    request = DescribeParameters.Request(names=names)
    answer = listener.call(DescribeParameters, '/simulator/describe_parameters', request)
    described = {d.name: d for d in answer.descriptors}
    assert all(d.description for d in described.values())
    assert [n for n in names if not described[n].read_only] == live
    assert described['publish_rate'].type == ParameterType.PARAMETER_DOUBLE
    assert '[Hz]' in described['publish_rate'].description
    assert described['publish_rate'].floating_point_range[0].to_value == 1000.0


def test_the_rate_can_change_live_and_nonsense_is_refused(start_node, listener):
    start_node('simulator')
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/tf'])

    def set_parameter(name, value):
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()])
        return listener.call(SetParameters, '/simulator/set_parameters', request).results[0]

    assert set_parameter('publish_rate', 20.0).successful
    listener.spin(0.5)
    for _ in range(4):  # a busy machine may have a bad moment
        messages['/tf'].clear()
        listener.spin(2.0)
        if len(messages['/tf']) / 2.0 == pytest.approx(20.0, rel=0.1):
            break
    else:
        raise AssertionError(len(messages['/tf']) / 2.0)
    for name, value in (('publish_rate', -1.0), ('publish_rate', float('nan')),
                        ('publish_rate', 'fast'), ('robot', 'cantilever'), ('stations', 5),
                        ('step_rate', 100.0), ('time_scale', -1.0), ('on_timeout', 'dance')):
        assert not set_parameter(name, value).successful, (name, value)
    refused = set_parameter('time_scale', 1e-13)
    assert not refused.successful
    assert 'time_scale must be a number from 0.001 to 1000, or 0, got 1e-13' in refused.reason
    messages['/tf'].clear()
    assert listener.spin_until(lambda: messages['/tf'])


def test_two_simulators_of_one_name_say_so(start_node, listener):
    one, other = start_node('simulator'), start_node('simulator')
    elsewhere = start_node('simulator', '-r', '__ns:=/left')
    said = 'other nodes are named /simulator too: 1.'
    assert listener.spin_until(lambda: said in one.output() and said in other.output(), 60.0)
    assert 'other nodes' not in elsewhere.output()
    listener.subscribe(DiagnosticArray, '/diagnostics')
    assert listener.spin_until(lambda: any(
        s.level == DiagnosticStatus.WARN and 'same name' in s.message
        for m in listener.messages['/diagnostics'] for s in m.status), 20.0)


def test_to_configure_and_clean_up_leaves_nothing_behind(start_node, listener):
    process = start_node('simulator', autostart='false')

    def cycle(times):
        for _ in range(times):
            for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE,
                               Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
                request = ChangeState.Request(transition=Transition(id=transition))
                assert listener.call(
                    ChangeState, '/simulator/change_state', request, 30.0).success
        pages = Path(f'/proc/{process.process.pid}/statm').read_text().split()[1]
        return int(pages) * 4096 / 1e6

    cycle(6)
    before = cycle(1)
    assert cycle(16) - before < 5.0  # [MB]: a cycle took 0.5 to 1.8


# --- Its end -------------------------------------------------------------------------------------

@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(start_node, listener, number):
    process = start_node('simulator')
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/tf'])
    assert process.stop(number) == 0
    assert 'Traceback' not in process.output()


@pytest.mark.parametrize('delay', [0.0, 0.05, 0.1, 0.3, 0.7, 1.2])
def test_a_signal_while_it_starts_is_no_error(start_node, delay):
    process = start_node('simulator')
    while not catches(process.process.pid, signal.SIGTERM):  # until then it is all Python's own
        time.sleep(0.001)
    time.sleep(delay)
    assert process.stop() == 0
    assert 'Traceback' not in process.output()


def catches(pid, number):
    """Tell whether a process has a handler of its own for a signal."""
    status = Path(f'/proc/{pid}/status').read_text()
    mask = int(status.split('SigCgt:')[1].split()[0], 16)
    return bool(mask >> (number - 1) & 1)


@pytest.mark.parametrize('arguments, words', [
    (['robot:=tendon_arn'], ['tendon_arn', "'tendon_arm'", 'cantilever']),
    (['robot:=/nowhere/arm.yaml'], ['/nowhere/arm.yaml', 'No such file']),
    (['robot:=7'], ['robot', '7']),
    (['publish_rate:=0.0'], ['publish_rate', '0.1 to 1000', '0.0']),
    (['publish_rate:=fast'], ['publish_rate', "'fast'"]),
    (['publish_rate:=.nan'], ['publish_rate', 'nan']),
    (['stations:=1'], ['stations', '2 to 999', '1']),
    (['frame_prefix:=/left/'], ['frame_prefix', 'slash', '/left/']),
    (['parent_frame:=base_link'], ['parent_frame', 'base_link']),
    (['on_timeout:=dance'], ['on_timeout', 'hold', 'relax', 'dance']),
    (['step_rate:=1e-300'], ['step_rate', 'from 1 to 10000, or 0', '1e-300']),
    (['time_scale:=1e-13'], ['time_scale', 'from 0.001 to 1000, or 0', '1e-13']),
    (['step_rate:=-5.0'], ['step_rate', '-5.0', '[Hz]']),
])
def test_bad_parameters_end_it_with_one_clear_line(start_node, arguments, words):
    process = start_node('simulator', *(w for a in arguments for w in ('-p', a)))
    assert process.wait() != 0
    lines = process.output().strip().splitlines()
    assert len(lines) == 1, process.output()
    for word in words:
        assert word in lines[0]


def test_a_whole_number_will_do_for_a_rate(start_node, listener):
    start_node('simulator', publish_rate=30)
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/tf'])


def test_a_bad_description_ends_it_with_one_clear_line(start_node, tmp_path):
    text = (ROOT / 'config' / 'tendon_arm.yaml').read_text()
    path = tmp_path / 'arm.yaml'
    path.write_text(text.replace('length: 0.24', 'lenght: 0.24'))
    process = start_node('simulator', robot=path)
    assert process.wait() != 0
    line, = process.output().strip().splitlines()
    assert f'{path}:' in line and 'lenght' in line and "'length'" in line


def fine(tmp_path, robot, modes):
    """Return the file of a robot with other modes."""
    path = tmp_path / f'{robot}.yaml'
    path.write_text((ROOT / 'config' / path.name).read_text() + f'\nmodes: {modes}\n')
    return path


def test_a_robot_that_costs_too_much_is_refused_at_once(start_node, tmp_path):
    path = fine(tmp_path, 'tendon_arm', '{bend_x: 10, bend_y: 10, elements: 600}')
    process = start_node('simulator', robot=path)
    assert process.wait(30.0) == 1
    for words in ('modes must be fewer', '600 elements', '1 s by estimate'):
        assert words in process.output()
    assert 'Traceback' not in process.output()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_long_search_for_the_equilibrium_is_told_and_can_be_stopped(
    start_node, tmp_path, number,
):
    # As fine as is allowed, and far too soft for what it carries.
    path = fine(tmp_path, 'tendon_arm', '{bend_x: 10, bend_y: 10, elements: 200}')
    path.write_text(path.read_text().replace('207e9', '207e5')
                    + 'bodies:\n  stone: {mass: 10, centre_of_mass: [0.1, 0, 0]}\n')
    process = start_node('simulator', robot=path)
    assert wait_for(lambda: 'looking for the equilibrium of tendon_arm' in process.output(), 60.0)
    assert process.stop(number, 20.0) == 0
    assert 'Traceback' not in process.output()
