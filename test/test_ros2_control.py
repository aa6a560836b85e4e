"""
The arm under ros2_control, which is not on PyPI: somebody who behaves as its hardware interface.

`TopicHardware` does over DDS what JointStateTopicSystem of ros-controls'
topic_based_hardware_interfaces does in read() and write(), with the same quality of service.
"""

import ast
import math
import sys
import time
import xml.etree.ElementTree as ET

from conftest import ROOT
from driver import simulator
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from ruamel.yaml import YAML
from sensor_msgs.msg import JointState

from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator

FOLDER = ROOT / 'ros2_control'
URDF = ET.parse(FOLDER / 'tendon_arm.urdf').getroot()
CONTROLLERS = YAML(typ='safe').load(FOLDER / 'controllers.yaml')
MANAGER = CONTROLLERS['controller_manager']['ros__parameters']
ROBOT = ROOT / 'config' / 'tendon_arm.yaml'
NAMESPACE = '/tendon_arm'


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
        """Send all commands, unless they are what the states are already; NaN is not."""
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
    """The controller manager's: read, update, write, at its rate."""

    def __init__(self, driver):
        self.driver = driver
        self.hardware = TopicHardware(driver.node, URDF.find('ros2_control'))
        self.names = [joint.get('name') for joint in URDF.find('ros2_control').findall('joint')]

    def values(self, interface):
        return np.array([self.hardware.states[f'{name}/{interface}'] for name in self.names])

    def run(self, seconds, update):
        """Run with a controller: a function of time and period [s] to efforts, or None."""
        period, begin = 1.0 / MANAGER['update_rate'], time.monotonic()
        due, last = begin, begin - period
        while (now := time.monotonic()) < begin + seconds:
            self.hardware.read()
            efforts = update(now - begin, now - last)
            last = now
            for name, effort in zip(self.names, efforts if efforts is not None else ()):
                self.hardware.commands[f'{name}/effort'] = float(effort)
            self.hardware.write()
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


@pytest.fixture
def loop(robot):
    """Start afresh, with states that have come."""
    robot.reset()
    loop = Loop(robot)
    loop.run(0.5, lambda *_: None)
    yield loop
    loop.hardware.close()


def test_the_arm_follows_forwarded_tensions_and_keeps_them_in_silence(loop):
    assert loop.hardware.sent == 0  # nothing was commanded, and NaN least of all
    tensions = [1.5, 0.5, 0.0, 0.0]
    loop.run(3.0, lambda *_: tensions)
    assert_allclose(loop.values('effort'), tensions, atol=1e-9)
    sent = loop.hardware.sent
    assert 0 < sent < 100  # only until the state was as commanded
    loop.run(1.0, lambda *_: tensions)
    assert loop.hardware.sent == sent
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
    for key in loop.hardware.commands:
        loop.hardware.commands[key] = math.nan
    loop.run(0.5, lambda *_: None)
    assert loop.hardware.sent > 10
    values = loop.driver.diagnosis()[2]
    assert int(values['rejected commands']) > 0
    assert 'nan' in values['last rejection']
    assert_allclose(loop.values('effort'), 0.0, atol=1e-12)
    loop.run(0.5, lambda *_: [1.0, 0.0, 0.0, 0.0])
    assert_allclose(loop.values('effort'), [1.0, 0.0, 0.0, 0.0], atol=1e-9)


# --- What the files promise each other -----------------------------------------------------------


def test_the_description_for_ros2_control_is_of_the_same_robot():
    robot = load(ROBOT)
    system = URDF.find('ros2_control')
    joints = {j.get('name'): j for j in system.findall('joint')}
    drawn = {j.get('name'): j for j in URDF.findall('joint')}
    assert list(joints) == list(drawn) == list(robot.actuators)
    frames = {link.get('name') for link in URDF.findall('link')}
    assert 'base_link' in frames and 'tip' not in frames  # that is the simulator's
    for name, actuator in robot.actuators.items():
        command, = joints[name].findall('command_interface')
        assert command.get('name') == actuator.interface
        settings = parameters(command)
        assert (float(settings['min']), float(settings['max'])) == actuator.bounds
        assert float(settings['initial_value']) == 0.0
        states = {s.get('name'): parameters(s) for s in joints[name].findall('state_interface')}
        assert states.keys() == {'position', 'velocity', 'effort'}
        assert all(float(s['initial_value']) == 0.0 for s in states.values())
        limit, origin = drawn[name].find('limit'), drawn[name].find('origin')
        assert float(limit.get('effort')) == actuator.bounds[1]
        x, y, z = map(float, origin.get('xyz').split())
        assert ((x, y), z) == (actuator.routing.offset, 0.0)
        assert drawn[name].get('type') == 'prismatic'


def test_the_controllers_drive_the_joints_there_are():
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
    states = {s.get('name') for s in URDF.iter('state_interface')}
    assert set(follow['state_interfaces']) <= states
    for name, actuator in robot.actuators.items():
        gains = follow['gains'][name]
        assert (gains['u_clamp_min'], gains['u_clamp_max']) == actuator.bounds


def test_a_ros_node_gets_its_parameters_from_the_file(start):
    """By rcl's parser, which takes less than YAML has: no anchors."""
    code = (
        'import sys, rclpy\n'
        'rclpy.init(args=sys.argv)\n'
        'node = rclpy.create_node("displacement_controller",'
        ' automatically_declare_parameters_from_overrides=True)\n'
        'print(node.get_parameter("gains.tendon_4.i").value, node.get_parameter("joints").value)')
    process = start(sys.executable, '-c', code, '--ros-args', '--params-file',
                    FOLDER / 'controllers.yaml')
    assert process.wait() == 0, process.output()
    follow = CONTROLLERS['displacement_controller']['ros__parameters']
    assert process.output().strip() == f'{follow["gains"]["tendon_4"]["i"]} {follow["joints"]}'


def test_the_launch_file_puts_the_simulator_where_the_hardware_looks_for_it():
    tree = ast.parse((ROOT / 'launch' / 'ros2_control.launch.py').read_text())
    given = next(ast.literal_eval(n) for n in ast.walk(tree)
                 if isinstance(n, ast.Dict) and any(
                     getattr(k, 'value', '') == 'namespace' for k in n.keys))
    assert given == {'robot': 'tendon_arm', 'namespace': NAMESPACE.strip('/')}
    settings = parameters(URDF.find('ros2_control/hardware'))
    assert settings['joint_commands_topic'] == f'{NAMESPACE}/joint_commands'
    assert settings['joint_states_topic'] == f'{NAMESPACE}/joint_states'
    words = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    assert set(MANAGER) - {'update_rate', 'enforce_command_limits'} <= words
