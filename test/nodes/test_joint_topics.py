"""Joints of a robot are joints: on topics, in services and in clients, over real DDS."""

import math

from conftest import ROOT
from crane import CRANE
from driver import simulator
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from urdf_parser_py.urdf import URDF

from cosserat_ros.description.robot import load
from cosserat_ros.msg import ActuatorCommand, ActuatorInfo, RobotInfo, SolverStatus, Target
from cosserat_ros.nodes.common.checked_messages import check_robot
from cosserat_ros.nodes.page.ranges import slider_range
from cosserat_ros.simulation.passive_joints import passive_joints, PassiveJoints
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import Linearize, SolveInverseStatics, SolveStatics, Step

ACTUATORS = ['pull', 'rail', 'wheel', 'elbow']
NAN = math.nan
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture(scope='module')
def crane_file(tmp_path_factory):
    path = tmp_path_factory.mktemp('crane') / 'crane.yaml'
    path.write_text(CRANE)
    return path


@pytest.fixture(scope='module')
def crane_of_all(crane_file):
    with simulator(robot=crane_file) as (driver, _):
        yield driver


@pytest.fixture
def crane(crane_of_all):
    crane_of_all.reset()
    return crane_of_all


def states(driver):
    """Return position, velocity and effort by name."""
    message = driver.fresh()
    return dict(zip(message.name, zip(message.position, message.velocity, message.effort)))


def test_driven_and_passive_joints_are_in_joint_states_as_in_the_library(crane, crane_file):
    sim = Simulator(load(crane_file))
    assert sim.statics().converged
    passive = PassiveJoints(sim)
    assert passive.names == ['hinge']
    assert crane.ask(SetBool, 'pause', data=True).success
    told = {'pull': 1.0, 'rail': 0.3, 'wheel': 0.5, 'elbow': 0.2}
    crane.tell('~/commands', Float64MultiArray(data=list(told.values())))
    sim.command(**told)
    for _ in range(3):
        assert crane.ask(Step, 'step', steps=40).success
        for _ in range(40):
            assert sim.step(sim.robot.time.step).converged
        found = states(crane)
        assert list(found) == [*ACTUATORS, 'hinge']
        for name, state in sim.actuators().items():
            assert_allclose(found[name][0], state.position, rtol=1e-5, atol=1e-7)
            assert_allclose(found[name][1:], (state.velocity, state.effort), rtol=1e-2, atol=1e-4)
        assert_allclose(found['hinge'], passive.states()[0], rtol=1e-3, atol=1e-5)
        assert abs(found['hinge'][0]) > 1e-3 and abs(found['hinge'][1]) > 1e-3  # it swings
        assert found['hinge'][2] == 0.0
    crane.ask(SetBool, 'pause', data=False)


def test_names_of_passive_coordinates(tmp_path):
    """One coordinate has the joint's name, several their own too; free turns have none."""
    path = tmp_path / 'robot.yaml'
    path.write_text(CRANE.replace('{kind: revolute, parent: cart, child: bob, axis: [0, 1, 0],',
                                  '{kind: cylindrical, parent: cart, child: bob,').replace(
        'position: 0.1, damping: 2e-3', 'coordinates: {turn: {damping: 1e-3}}').replace(
        'base: {on: turret}', 'base: {on: turret, joint: {kind: spherical}}'))
    assert list(passive_joints(load(path))) == ['hinge_slide', 'hinge_turn']


def test_each_drive_takes_its_own_interface(crane):
    """As a topic-based hardware of ros2_control sends them: NaN where nothing is commanded."""
    crane.send('joint_commands', JointState(
        name=['rail', 'wheel', 'elbow', 'pull'], position=[0.2, NAN, NAN, NAN],
        velocity=[NAN, 0.7, NAN, NAN], effort=[NAN, NAN, 0.4, 1.5]))

    def arrived():
        now = states(crane)
        return np.allclose([now['rail'][0], now['wheel'][1], now['elbow'][2], now['pull'][2]],
                           [0.2, 0.7, 0.4, 1.5], atol=1e-6)
    assert crane.spin_until(arrived, 10.0), states(crane)


@pytest.mark.parametrize('message, said', [
    (JointState(name=['hinge'], position=[0.1]), ["'hinge'", 'rail']),
    (JointState(name=['wheel'], position=[0.1]), ['velocity', 'wheel is commanded by it']),
    (JointState(name=['wheel'], velocity=[2.5]), ['wheel', 'rad/s', '2.5']),
    (JointState(name=['elbow'], effort=[-4.0]), ['elbow', 'N m', '-4']),
    (JointState(name=['rail'], position=[0.6]), ['rail', '[m]', '0.6'])])
def test_what_a_joint_cannot_be_told_is_refused(crane, message, said):
    before = int(crane.diagnosis()[2]['rejected commands'])
    crane.send('joint_commands', message)
    reason = crane.rejection(before)
    assert all(words in reason for words in said), reason


def test_statics_inverse_statics_and_linear_models_have_joints(crane, crane_file):
    answer = crane.ask(SolveStatics, 'solve_statics', timeout=60.0, actuation=[
        ActuatorCommand(name='rail', value=0.25), ActuatorCommand(name='elbow', value=0.3)])
    assert answer.status.code == SolverStatus.CONVERGED, answer.status.message
    found = dict(zip(answer.equilibrium.actuators.name, answer.equilibrium.actuators.position))
    sim = Simulator(load(crane_file))
    sim.command(rail=0.25, elbow=0.3)
    assert sim.statics().converged
    assert_allclose([found[n] for n in ACTUATORS],
                    [a.position for a in sim.actuators().values()], atol=1e-7)

    target = Target()
    target.pose.position.x, target.pose.position.y, target.pose.position.z = (
        sim.tip_pose()[:3, 3].tolist())
    answer = crane.ask(SolveInverseStatics, 'solve_inverse_statics', timeout=60.0,
                       targets=[target], secondary_goal=1)
    assert answer.status.code == SolverStatus.CONVERGED, answer.status.message
    assert answer.position_errors[0] < 1e-5
    told = {one.name: (one.mode, one.value) for one in answer.actuation}
    assert list(told) == ACTUATORS
    assert told['rail'] == (ActuatorCommand.POSITION, pytest.approx(0.25, abs=1e-4))
    assert told['wheel'][0] == ActuatorCommand.VELOCITY
    assert told['elbow'][0] == ActuatorCommand.EFFORT

    model = crane.ask(Linearize, 'linearize', timeout=60.0)
    assert model.status.code == SolverStatus.CONVERGED, model.status.message
    assert [one.name for one in model.inputs] == ACTUATORS
    jacobian = np.reshape(model.jacobian.data, (6, 4))
    assert_allclose(jacobian[:, 1], [1, 0, 0, 0, 0, 0], atol=1e-9)  # the rail moves all along x


def test_every_drive_has_a_slider(crane):
    crane.subscribe(RobotInfo, f'{crane.own}/robot', LATCHED)
    assert crane.spin_until(lambda: crane.messages[f'{crane.own}/robot'])
    info = crane.messages[f'{crane.own}/robot'][0]
    check_robot(info)
    sliders = {one.name: slider_range(one, info.length) for one in info.actuators}
    ends = {name: (s.low * s.scale, s.high * s.scale) for name, s in sliders.items()}
    assert ends == {'pull': (0.0, 5.0), 'rail': (-0.5, 0.5), 'wheel': (-2.0, 2.0),
                    'elbow': (-3.0, 3.0)}
    assert {one.name: one.kind for one in info.actuators} == {
        'pull': ActuatorInfo.TENDON, 'rail': ActuatorInfo.SLIDE, 'wheel': ActuatorInfo.TURN,
        'elbow': ActuatorInfo.TURN}


def test_the_description_has_the_joints_of_joint_states(crane):
    crane.subscribe(String, '/robot_description', LATCHED)
    assert crane.spin_until(lambda: crane.messages['/robot_description'])
    joints = {j.name: j for j in URDF.from_xml_string(
        crane.messages['/robot_description'][0].data).joints}
    assert {name: joints[name].type for name in ('rail', 'wheel', 'elbow', 'hinge')} == {
        'rail': 'prismatic', 'wheel': 'continuous', 'elbow': 'continuous', 'hinge': 'continuous'}
    assert (joints['hinge'].parent, joints['hinge'].child) == ('cart', 'bob')


def test_the_shipped_arm_on_a_slide():
    robot = load(ROOT / 'config' / 'arm_on_slide.yaml')
    with simulator('-r', '__ns:=/slide', namespace='/slide', robot='arm_on_slide') as (driver, _):
        assert list(states(driver)) == [*robot.actuators, *passive_joints(robot)]
