"""
The arm under ros2_control, which is not on PyPI: somebody who behaves as its hardware interface.

`TopicHardware` does over DDS what JointStateTopicSystem of ros-controls'
topic_based_hardware_interfaces does in read() and write(), with the same quality of service.
"""

import math
import sys
import time
import xml.etree.ElementTree as ET

from conftest import ROOT
from crane import CRANE
from driver import simulator
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from ruamel.yaml import YAML
from sensor_msgs.msg import JointState
from urdf_parser_py import urdf as parser

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.commands.cosserat import main
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.passive_joints import passive_joints
from cosserat_ros.simulation.ros2_control import by_interface, controlled_urdf, controllers
from cosserat_ros.simulation.simulator import Simulator

CONFIG = ROOT / 'config'
SHIPPED = sorted(CONFIG.glob('*.yaml'))
ROBOT = CONFIG / 'tendon_arm.yaml'
PARAMETERS = ROOT / 'ros2_control' / 'tendon_arm.yaml'
CONTROLLERS = YAML(typ='safe').load(PARAMETERS)
MANAGER = CONTROLLERS['controller_manager']['ros__parameters']
NAMESPACE = '/robot'


def described(path, namespace=NAMESPACE):
    """Return a robot at rest with its <ros2_control>."""
    sim = Simulator(load(path), stations=3)
    assert sim.statics().converged
    return ET.fromstring(controlled_urdf(sim, namespace))


def parameters(element):
    return {p.get('name'): p.text for p in element.findall('param')}


class TopicHardware:
    """What stands between controllers and topics: states and commands by 'joint/interface'."""

    def __init__(self, node, element):
        settings = parameters(element.find('hardware'))
        self._threshold = float(settings.get('trigger_joint_command_threshold', 1e-5))
        self._joints = {
            joint.get('name'): [i.get('name') for i in joint.findall('command_interface')]
            for joint in element.findall('joint')}
        self.states, self.commands = (
            {f'{joint.get("name")}/{i.get("name")}':
             float(parameters(i).get('initial_value', math.nan))
             for joint in element.findall('joint') for i in joint.findall(kind)}
            for kind in ('state_interface', 'command_interface'))
        self._latest = JointState()
        self._node, self.sent = node, 0
        self._publisher = node.create_publisher(
            JointState, settings['joint_commands_topic'], QoSProfile(depth=1))
        self._subscription = node.create_subscription(
            JointState, settings['joint_states_topic'], self._take, qos_profile_sensor_data)

    def close(self):
        self._node.destroy_publisher(self._publisher)
        self._node.destroy_subscription(self._subscription)

    def _take(self, message):
        self._latest = message

    def read(self):
        """Take over what is finite of the last message that came."""
        for i, name in enumerate(self._latest.name):
            for interface in ('position', 'velocity', 'effort') if name in self._joints else ():
                values = getattr(self._latest, interface)
                if len(values) and math.isfinite(values[i]):
                    self.states[f'{name}/{interface}'] = values[i]

    def write(self):
        """
        Send all commands, unless they are what the states are already; NaN is not.

        Each array has the values of the joints that are commanded by it, without gaps.
        """
        if sum(abs(self.states[key] - value)
               for key, value in self.commands.items()) <= self._threshold:
            return
        message = JointState(name=list(self._joints))
        message.header.stamp = self._node.get_clock().now().to_msg()
        for interface in ('position', 'velocity', 'effort'):
            setattr(message, interface, [
                self.commands[f'{joint}/{interface}'] for joint, commanded in self._joints.items()
                if interface in commanded])
        self._publisher.publish(message)
        self.sent += 1


class Loop:
    """The controller manager's: read, update, write, at its rate, for all hardware."""

    def __init__(self, driver, urdf):
        self.driver = driver
        self.hardware = [TopicHardware(driver.node, one) for one in urdf.findall('ros2_control')]
        self.names = [joint.get('name') for joint in urdf.findall('ros2_control/joint')]

    def close(self):
        for one in self.hardware:
            one.close()

    @property
    def sent(self):
        return sum(one.sent for one in self.hardware)

    @property
    def states(self):
        return {key: value for one in self.hardware for key, value in one.states.items()}

    @property
    def commands(self):
        return [key for one in self.hardware for key in one.commands]

    def values(self, interface):
        states = self.states
        return np.array([states[f'{name}/{interface}'] for name in self.names])

    def command(self, values):
        """Set commands by 'joint/interface', of whatever hardware."""
        for one in self.hardware:
            one.commands.update({key: float(values[key]) for key in one.commands if key in values})

    def run(self, seconds, update=None):
        """Run with a controller: a function of time and period [s] to efforts."""
        period, begin = 1.0 / MANAGER['update_rate'], time.monotonic()
        due, last = begin, begin - period
        while (now := time.monotonic()) < begin + seconds:
            for one in self.hardware:
                one.read()
            if update is not None:
                efforts = update(now - begin, now - last)
                self.command({f'{n}/effort': e for n, e in zip(self.names, efforts)})
            last = now
            for one in self.hardware:
                one.write()
            due += period
            self.driver.spin(max(0.0, due - time.monotonic()))


class Pid:
    """What joint_trajectory_controller does per joint that is commanded by effort."""

    def __init__(self, gains):
        self._gains, self._sum = gains, 0.0

    def command(self, error, rate, period):
        g = self._gains
        low, high = g['u_clamp_min'], g['u_clamp_max']
        raw = g['p'] * error + self._sum + g['d'] * rate
        # conditional_integration: not further into what is clamped anyway.
        if not ((raw > high and error > 0.0) or (raw < low and error < 0.0)):
            self._sum += g['i'] * error * period
        return min(max(raw, low), high)


@pytest.fixture(scope='module')
def robot():
    with simulator('-r', f'__ns:={NAMESPACE}', namespace=NAMESPACE) as (driver, _):
        yield driver


@pytest.fixture(scope='module')
def arm():
    return described(ROBOT)


@pytest.fixture
def loop(robot, arm):
    """Start afresh, with states that have come."""
    robot.reset()
    loop = Loop(robot, arm)
    loop.run(0.5)
    yield loop
    loop.close()


@pytest.fixture(scope='module')
def crane_file(tmp_path_factory):
    path = tmp_path_factory.mktemp('crane') / 'crane.yaml'
    path.write_text(CRANE)
    return path


def test_the_arm_follows_forwarded_tensions_and_keeps_them_in_silence(loop):
    assert loop.sent == 0  # nothing was commanded, and NaN least of all
    tensions = [1.5, 0.5, 0.0, 0.0]
    loop.run(3.0, lambda *_: tensions)
    assert_allclose(loop.values('effort'), tensions, atol=1e-9)
    sent = loop.sent
    assert 0 < sent < 100  # only until the state was as commanded
    loop.run(1.0, lambda *_: tensions)
    assert loop.sent == sent
    assert_allclose(loop.values('effort'), tensions, atol=1e-9)

    still = Simulator(load(ROBOT))
    still.command(**dict(zip(loop.names, tensions)))
    assert still.statics().converged
    assert_allclose(loop.driver.tip(), still.tip_pose()[:3, 3], atol=5e-3)
    assert loop.driver.diagnosis()[2]['rejected commands'] == '0'


def test_the_arm_follows_displacements_by_the_gains_of_the_file(loop):
    gains = CONTROLLERS['displacement_controller']['ros__parameters']['gains']
    pids = [Pid(gains[name]) for name in loop.names]
    goal = 1e-3 * np.array([6.0, 3.0, -6.0, -3.0])  # m, reached in 1 s

    def update(now, period):
        errors = goal * min(now, 1.0) - loop.values('position')
        rates = goal * (now < 1.0) - loop.values('velocity')
        return [pid.command(*x, period) for pid, *x in zip(pids, errors, rates)]

    loop.run(5.0, update)
    assert_allclose(loop.values('position'), goal, atol=3e-4)
    assert loop.values('effort')[0] > 0.5
    assert loop.driver.diagnosis()[2]['rejected commands'] == '0'


def test_what_an_interface_without_initial_values_sends_is_refused(loop):
    """It sends NaN until the first command: the arm stays, and says why."""
    loop.command(dict.fromkeys(loop.commands, math.nan))
    loop.run(0.5)
    assert loop.sent > 10
    values = loop.driver.diagnosis()[2]
    assert int(values['rejected commands']) > 0
    assert 'nan' in values['last rejection']
    assert_allclose(loop.values('effort'), 0.0, atol=1e-12)
    loop.run(0.5, lambda *_: [1.0, 0.0, 0.0, 0.0])
    assert_allclose(loop.values('effort'), [1.0, 0.0, 0.0, 0.0], atol=1e-9)


def test_joints_of_all_drives_follow_at_once_and_passive_ones_are_read(crane_file):
    with simulator('-r', '__ns:=/crane', robot=crane_file, namespace='/crane') as (driver, _):
        loop = Loop(driver, described(crane_file, '/crane'))
        loop.run(1.0)
        told = {'rail/position': 0.2, 'wheel/velocity': 0.7, 'elbow/effort': 0.4,
                'pull/effort': 1.5}
        assert set(loop.commands) == set(told)
        loop.command(told)
        loop.run(0.5)
        assert max(abs(loop.states['hinge/position']), abs(loop.states['hinge/velocity'])) > 1e-3
        deadline = time.monotonic() + 15.0
        while time.monotonic() < deadline and not np.allclose(
                [loop.states[key] for key in told], list(told.values()), atol=1e-5):
            loop.run(0.2)
        assert_allclose([loop.states[key] for key in told], list(told.values()), atol=1e-5)
        heard = driver.fresh()
        assert set(loop.names) == set(heard.name)
        assert driver.diagnosis()[2]['rejected commands'] == '0'
        assert [one.sent for one in loop.hardware][-1] == 0  # nothing commands passive joints
        assert all(one.sent for one in loop.hardware[:-1])
        loop.close()


# --- What is generated ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    'path', [path for path in SHIPPED if load(path).actuators], ids=lambda path: path.stem)
def test_a_description_has_what_joint_states_has(path):
    check_description(path)


def test_the_description_of_a_robot_with_all_drives(crane_file):
    systems = check_description(crane_file)
    assert {name: list(joints) for name, joints in systems.items()} == {
        'crane_position': ['rail'], 'crane_velocity': ['wheel'],
        'crane_effort': ['pull', 'elbow'], 'crane_passive': ['hinge']}


def check_description(path):
    """Hold a description against its robot; return joints by system."""
    robot, root = load(path), described(path)
    found = parser.URDF.from_xml_string(ET.tostring(root))
    assert found.get_root() == 'base_link'
    assert len({link.name for link in found.links}) == len(found.links)
    systems = {system.get('name'): {j.get('name'): j for j in system.findall('joint')}
               for system in root.findall('ros2_control')}
    joints = {name: joint for of in systems.values() for name, joint in of.items()}
    passive = passive_joints(robot)
    assert joints.keys() == {*robot.actuators, *passive}
    assert sum(map(len, systems.values())) == len(joints)
    for name, joint in joints.items():
        assert found.joint_map[name].type in ('prismatic', 'revolute', 'continuous')
        states = {s.get('name'): parameters(s) for s in joint.findall('state_interface')}
        assert list(states) == ['position', 'velocity', 'effort']
        assert all(math.isfinite(float(s['initial_value'])) for s in states.values())
        commands = joint.findall('command_interface')
        if name in passive:
            assert not commands
            continue
        command, = commands
        actuator, settings = robot.actuators[name], parameters(command)
        assert command.get('name') == actuator.interface
        bounds = float(settings.get('min', '-inf')), float(settings.get('max', 'inf'))
        assert bounds == actuator.bounds
        if actuator.command == 'amount':  # whose position is a volume: it is sent again and again
            continue
        # Equal to what the robot does already: nothing is sent before a controller commands.
        assert float(settings['initial_value']) == pytest.approx(
            float(states[actuator.interface]['initial_value']), rel=1e-6, abs=1e-9)
    for system in root.findall('ros2_control'):
        kinds = {c.get('name') for c in system.findall('joint/command_interface')}
        assert len(kinds) <= 1  # of several, the hardware would send arrays with gaps closed
        hardware = parameters(system.find('hardware'))
        assert hardware['joint_commands_topic'] == f'{NAMESPACE}/joint_commands'
        assert hardware['joint_states_topic'] == f'{NAMESPACE}/joint_states'
    return systems


@pytest.mark.parametrize('namespace', ['', '/', 'a b', '7up', 'a//b', 'a__b', 'a/'])
def test_a_namespace_that_ros_has_not_is_refused(namespace):
    sim = Simulator(load(ROBOT), stations=3)
    if namespace == 'a/':
        assert '>/a/joint_states<' in controlled_urdf(sim, namespace)
        return
    with pytest.raises(InvalidModel, match='namespace'):
        controlled_urdf(sim, namespace)


def test_the_command_prints_description_and_controllers(capsys, tmp_path, crane_file):
    assert main(['urdf', str(crane_file), '--stations', '3', '--ros2-control', 'robot']) == 0
    told = ET.fromstring(capsys.readouterr().out)
    assert ET.tostring(told) == ET.tostring(described(crane_file))
    assert main(['urdf', str(crane_file), '--controllers']) == 0
    assert capsys.readouterr().out == controllers(load(crane_file))
    still = tmp_path / 'still.yaml'
    still.write_text((CONFIG / 'cantilever.yaml').read_text())
    assert not load(still).actuators
    assert main(['urdf', str(still), '--ros2-control', 'robot']) == 1
    assert 'actuators' in capsys.readouterr().err


def test_a_forward_controller_per_interface(crane_file):
    robot = load(crane_file)
    found = YAML(typ='safe').load(controllers(robot))
    types = {name: value['type'] for name, value in
             found['controller_manager']['ros__parameters'].items() if isinstance(value, dict)}
    forward = 'forward_command_controller/ForwardCommandController'
    assert types == {
        'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
        'position_controller': forward, 'velocity_controller': forward,
        'effort_controller': forward}
    for interface, actuators in by_interface(robot).items():
        assert found[f'{interface}_controller']['ros__parameters'] == {
            'joints': list(actuators), 'interface_name': interface}


def test_the_controllers_of_the_arm_drive_the_joints_there_are():
    robot = load(ROBOT)
    types = {name: value['type'] for name, value in MANAGER.items() if isinstance(value, dict)}
    assert set(types.values()) == {
        'joint_state_broadcaster/JointStateBroadcaster',
        'forward_command_controller/ForwardCommandController',
        'joint_trajectory_controller/JointTrajectoryController'}
    forward = CONTROLLERS['tension_controller']['ros__parameters']
    follow = CONTROLLERS['displacement_controller']['ros__parameters']
    assert forward['joints'] == follow['joints'] == list(robot.actuators)
    interfaces = {a.interface for a in robot.actuators.values()}
    assert {forward['interface_name']} == set(follow['command_interfaces']) == interfaces
    assert set(follow['state_interfaces']) <= {'position', 'velocity', 'effort'}
    for name, actuator in robot.actuators.items():
        gains = follow['gains'][name]
        assert (gains['u_clamp_min'], gains['u_clamp_max']) == actuator.bounds


@pytest.mark.parametrize('node, words', [
    ('displacement_controller', ['gains.tendon_4.i', 'joints']), ('position_controller', [
        'joints', 'interface_name'])])
def test_a_ros_node_gets_its_parameters_from_the_file(node, words, start, tmp_path, crane_file):
    """By rcl's parser, which takes less than YAML has: no anchors."""
    path = PARAMETERS
    if node == 'position_controller':
        path = tmp_path / 'controllers.yaml'
        path.write_text(controllers(load(crane_file)))
    code = (
        'import sys, rclpy\n'
        'rclpy.init(args=sys.argv)\n'
        f'node = rclpy.create_node({node!r},'
        ' automatically_declare_parameters_from_overrides=True)\n'
        f'print(*(node.get_parameter(word).value for word in {words}))')
    process = start(sys.executable, '-c', code, '--ros-args', '--params-file', path)
    assert process.wait() == 0, process.output()
    given = YAML(typ='safe').load(path)[node]['ros__parameters']
    wanted = []
    for word in words:
        value = given
        for key in word.split('.'):
            value = value[key]
        wanted.append(value)
    assert process.output().strip() == ' '.join(map(str, wanted))
