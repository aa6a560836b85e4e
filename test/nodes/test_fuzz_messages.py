"""
What anybody may publish, on every topic that a node of ours listens to.

Random, cut and damaged bytes, and messages that can be decoded but make no sense. Every node stays
up, goes on serving, and says so now and then.
"""

from contextlib import contextmanager, ExitStack
from http.client import HTTPConnection
import math
import re
import time

from absurd import attacks
from browser import address, CHROMIUM, open_browser, Page
from conftest import FUZZ, processes
from diagnostic_msgs.msg import DiagnosticArray
from driver import simulator
from geometry_msgs.msg import PoseArray, PoseStamped, Vector3Stamped, WrenchStamped
from listener import Listener
import numpy as np
import pytest
from rcl_interfaces.srv import ListParameters
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from cosserat_ros.msg import ActuatorCommand, ActuatorInfo, RobotInfo
from cosserat_ros.nodes.common.definitions import message_class
from cosserat_ros.srv import Linearize, SolveInverseStatics

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # all listen to this
NOT_OURS = {'/rosout', '/parameter_events', '/clock'}  # rclpy itself listens to these
COMPARATORS = {
    'by_pose': {'forward': 'commands'},
    'by_array': {'measured_as': 'pose_array', 'measured': 'real/markers',
                 'forward': 'joint_states'},
    'by_frame': {'measured_as': 'frames', 'measured': 'tip', 'alignment': 'tf',
                 'forward': 'joint_commands'}}
NODES = ['simulator', 'viewer', 'path_follower', 'recorder', *COMPARATORS]
UNFORESEEN = re.compile(r'Traceback|RuntimeWarning|\b[A-Z]\w*(Error|Exception|error): ')


class Attacker(Listener):
    """One who publishes anything on any topic, latched, so that it meets a node that restarts."""

    def __init__(self, seed):
        super().__init__('attacker')
        self._rng = np.random.default_rng(seed)
        self._publishers = {}

    def publish(self, topic, kind, sent):
        """Send a message, or bytes."""
        if topic not in self._publishers:
            self._publishers[topic] = self.node.create_publisher(kind, topic, LATCHED)
        self._publishers[topic].publish(sent)

    def topics_of(self, node):
        """Return the topics that a node listens to, with their types."""
        try:
            found = self.node.get_subscriber_names_and_types_by_node(node, '/')
        except rcl.NodeNameNonExistentError:  # not found yet
            found = []
        return {name: kinds[0] for name, kinds in found if name not in NOT_OURS}

    def attack(self, topics, count):
        """Send much of this to topics in turn, slowly enough for each to be heard."""
        streams = {topic: attacks(message_class(kind), self._rng, count)
                   for topic, kind in topics.items()}
        while streams:
            for topic, stream in list(streams.items()):
                sent = next(stream, None)
                if sent is None:
                    del streams[topic]
                else:
                    self.publish(topic, message_class(topics[topic]), sent)
            time.sleep(0.01)


@pytest.fixture
def attacker():
    """Return one who attacks, and leaves with the test."""
    one = Attacker(seed=1)
    yield one
    one.close()


@contextmanager
def everything(tmp_path):
    """Run all nodes, with somebody who looks at the page if there is a browser."""
    with ExitStack() as stack:
        start, start_node = stack.enter_context(processes())
        driver, arm = stack.enter_context(simulator(robot='tendon_arm'))
        running = {'simulator': arm, 'viewer': start_node('viewer', port=0),
                   'path_follower': start_node('path_follower', period=4.0),
                   'recorder': start_node('recorder', folder=tmp_path)}
        for name, parameters in COMPARATORS.items():
            running[name] = start_node('comparator', '-r', f'__node:={name}', **parameters)
        url, _ = address(running['viewer'], timeout=60.0)
        page = None
        if CHROMIUM is not None:
            page = Page(stack.enter_context(open_browser()), url)
        yield driver, running, page


def answers(listener, node):
    """Tell whether a node still answers."""
    return listener.call(
        ListParameters, f'/{node}/list_parameters', ListParameters.Request(), 60.0) is not None


def serves_page(viewer):
    """Tell whether a viewer still gives its page out."""
    connection = HTTPConnection('127.0.0.1', address(viewer)[1], timeout=20.0)
    connection.request('GET', '/')
    status = connection.getresponse().status
    connection.close()
    return status == 200


@pytest.mark.timeout(300 * FUZZ)
def test_fuzz_every_node_survives_every_message(tmp_path, attacker):
    with everything(tmp_path) as (driver, running, page):
        attacker.publish('/hostile/marker', Marker, b'')  # so that there is one to listen to
        topics = {}

        def all_are_there():
            for node in NODES:
                topics.update(attacker.topics_of(node))
            return {
                '/hostile/marker', '/simulator/backbone', '/simulator/markers', '/joint_states',
                '/simulator/robot', '/simulator/wrench', '/simulator/tip_twist', '/real/markers',
                '/real/commands', '/diagnostics', '/tf_static'} <= topics.keys()
        assert attacker.spin_until(all_are_there, 60.0), topics
        begin = time.monotonic()
        attacker.attack(topics, 30 * FUZZ)

        # They are all there, and do what they are for.
        for name, process in running.items():
            assert process.process.poll() is None, (name, process.output())
            assert answers(driver, name), name
        assert driver.ask(SetBool, 'pause', data=True, timeout=60.0).success
        assert driver.ask(SetBool, 'pause', data=False, timeout=60.0).success
        driver.subscribe(Vector3Stamped, '/path_follower/tracking_error')
        assert driver.spin_until(
            lambda: driver.messages['/path_follower/tracking_error'], 60.0), (
                running['path_follower'].output())
        for kind, topic in ((JointState, 'joint_states'), ('', '~/tip_pose')):
            fresh = driver.fresh(topic, 20.0)
            numbers = fresh.effort if kind else [getattr(fresh.pose.position, x) for x in 'xyz']
            assert np.isfinite(numbers).all()
        assert int(driver.diagnosis()[2]['rejected commands']) > 30
        assert serves_page(running['viewer'])
        if page is not None:
            assert page.wait_for(lambda: 'receiving' in page.status())
            page.page.close()

        # And a viewer that is started now meets what is latched.
        late = running['late viewer'] = running['viewer'].__class__(
            running['viewer'].process.args, None)
        address(late, timeout=60.0)
        assert attacker.spin_until(lambda: 'left out' in late.output(), 60.0), late.output()
        assert serves_page(late)

        passed = time.monotonic() - begin
        for name, process in running.items():
            assert process.stop(timeout=20.0) == 0, (name, process.output())
            said = process.output()
            assert not UNFORESEEN.search(said), (name, said)
            if name != 'recorder':  # it writes what comes, whatever it is
                assert 1 <= said.count('[WARN]') <= 3.0 * passed, (name, said)


# --- What ended the viewer once -----------------------------------------------------------------


@pytest.fixture(scope='module')
def viewer():
    """Return a viewer's process."""
    with processes() as (_, start_node):
        process = start_node('viewer', port=0)
        address(process)
        yield process
        assert process.stop() == 0
        assert not UNFORESEEN.search(process.output()), process.output()


@pytest.fixture(scope='module')
def arm():
    """Return one who drives a simulator."""
    with simulator(robot='tendon_arm') as (driver, _):
        yield driver


def robot(**fields):
    """Return what an arm says of itself, with some of its actuator's fields changed."""
    one = ActuatorInfo(name='tendon', unit='N', lower=0.0, upper=10.0, rate=1.0)
    for name, value in fields.items():
        setattr(one, name, value)
    return RobotInfo(name='arm', base_frame='base_link', tip_frame='tip', length=0.2,
                     actuators=[one])


@pytest.mark.parametrize(('topic', 'kind', 'sent', 'said'), [
    ('/arm/robot', RobotInfo, b'\0\1\0\0nonsense', 'that are no RobotInfo'),
    ('/arm/robot', RobotInfo, robot(upper=1.7e308), 'upper must be inf'),
    ('/arm/robot', RobotInfo, robot(lower=-1.7e308, upper=1.7e308), 'lower must be -inf'),
    ('/arm/robot', RobotInfo, robot(upper=5e-324), 'has no range'),
    ('/arm/robot', RobotInfo, robot(kind=7), 'kind must be'),
    ('/arm/joint_states', JointState, JointState(name=['a'] * 1001), 'name must be at most 1000'),
    ('/arm/markers', MarkerArray, MarkerArray(markers=[Marker(text='x' * 1001)]),
     'text must be at most 1000 characters'),
    ('/arm/markers', MarkerArray, b'\0\1\0\0' + (100_001).to_bytes(4, 'little'),
     'markers must be at most 100000'),
    ('/tf', TFMessage, b'\0\1\0\0' + (100_001).to_bytes(4, 'little'),
     'transforms must be at most 100000'),
    ('/arm/joint_states', JointState, b'\0\1\0\0nonsense', 'that are no JointState'),
    ('/arm/markers', MarkerArray, b'\0\1\0\0\1\0\0\0', 'shorter than it says'),
    ('/diagnostics', DiagnosticArray, b'\0\1\0\0nonsense', 'that are no DiagnosticArray'),
    ('/tf_static', TFMessage, b'\0\1\0\0\1\0\0\0', 'shorter than it says')])
def test_a_message_does_not_end_the_viewer(viewer, attacker, topic, kind, sent, said):
    def refused():
        attacker.publish(topic, kind, sent)
        attacker.spin(0.1)
        return re.search(f'message on {topic} left out: .*{said}', viewer.output())
    assert attacker.spin_until(refused, 30.0), viewer.output()
    assert viewer.process.poll() is None and serves_page(viewer)


@pytest.mark.parametrize(('topic', 'kind'), [
    ('/simulator/commands', Float64MultiArray), ('/joint_commands', JointState),
    ('/simulator/joint_trajectory', JointTrajectory), ('/simulator/wrench', WrenchStamped)])
def test_an_undecodable_command_is_counted_as_rejected(arm, attacker, topic, kind):
    def rejected():
        attacker.publish(topic, kind, b'\0\1\0\0nonsense')
        arm.spin(0.2)
        return f'that are no {kind.__name__}' in arm.diagnosis()[2]['last rejection']
    assert arm.spin_until(rejected, 30.0)


@pytest.mark.parametrize('kind', [PoseStamped, PoseArray])
def test_an_undecodable_measurement_is_said(start_node, attacker, kind):
    comparator = start_node('comparator', measured='marker', measured_as={
        PoseStamped: 'pose', PoseArray: 'pose_array'}[kind])

    def refused():
        attacker.publish('/marker', kind, b'\0\1\0\0nonsense')
        attacker.spin(0.1)
        return f'that are no {kind.__name__}' in comparator.output()
    assert attacker.spin_until(refused, 30.0), comparator.output()


# --- Answers of services ------------------------------------------------------------------------


class Liar(Listener):
    """A simulator of one tendon, whose answers make no sense one time in two."""

    def __init__(self):
        super().__init__('liar')  # not the name of the arm that other tests of this module drive
        node = self.node
        self.robot_topic = node.create_publisher(RobotInfo, '~/robot', LATCHED)
        self.robot_topic.publish(robot())
        tip = node.create_publisher(PoseStamped, '~/tip_pose', 10)

        def tell_tip():
            message = PoseStamped()
            message.header.stamp = node.get_clock().now().to_msg()
            tip.publish(message)
        node.create_timer(0.02, tell_tip)
        node.create_service(SolveInverseStatics, '~/solve_inverse_statics', self._solve)
        node.create_service(Linearize, '~/linearize', self._linearize)
        self.solved = self.linearized = 0

    def _solve(self, request, answer):
        self.solved += 1
        answer.equilibrium.backbone.tip.position = request.targets[0].pose.position
        answer.actuation = [ActuatorCommand(name='tendon')]
        if self.solved % 10 == 1:
            answer.equilibrium.backbone.tip.position.x = math.nan
        return answer

    def _linearize(self, _, answer):
        wrong = self.linearized % 4
        self.linearized += 1
        answer.inputs = [ActuatorCommand(name='tendon', value=math.inf if wrong == 0 else 0.0)]
        answer.jacobian.data = [math.nan if wrong == 1 else 1.0] * (5 if wrong == 2 else 6)
        answer.state, answer.state_matrix.data = [0.0, 0.0], [math.nan] * 4
        return answer


@pytest.mark.timeout(300)
def test_fuzz_answers_that_make_no_sense_do_not_end_the_path_follower(start_node):
    liar = Liar()
    try:
        follower = start_node('path_follower', simulator='liar')
        missing = {
            'solve_inverse_statics gave no sensible answer: equilibrium.backbone.tip',
            'linearize gave no sensible answer: inputs[0]',
            'linearize gave no sensible answer: jacobian.data[0]',
            'linearize gave no sensible answer: jacobian.data must be a list of 6',
            'linearize gave no sensible answer: state_matrix.data[0]'}

        def all_are_said():
            missing.difference_update([said for said in missing if said in follower.output()])
            return not missing
        assert liar.spin_until(all_are_said, 200.0), (missing, follower.output())
        assert follower.stop() == 0
        assert not UNFORESEEN.search(follower.output()), follower.output()
    finally:
        liar.close()


class Restless(Liar):
    """A simulator that says again that it is there, each time before it gives a linear model."""

    def _linearize(self, request, answer):
        self.robot_topic.publish(robot())
        time.sleep(1.0)  # it is heard before the answer
        return super()._linearize(request, answer)


def test_a_robot_that_begins_again_while_it_is_asked_is_asked_again(start_node):
    restless = Restless()
    try:
        follower = start_node('path_follower', simulator='liar')
        assert restless.spin_until(lambda: restless.linearized > 2, 90.0), follower.output()
        assert follower.stop() == 0
        assert not UNFORESEEN.search(follower.output()), follower.output()
    finally:
        restless.close()
