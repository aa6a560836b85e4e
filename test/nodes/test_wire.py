"""Messages whose numbers are written into their bytes, against rclpy's own serialisation."""

from functools import partial

from conftest import ROOT
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseStamped,
    TransformStamped,
    Twist,
    TwistStamped,
    Vector3,
    Wrench,
)
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from cosserat_ros.description.robot import load
from cosserat_ros.msg import (
    Backbone,
    Contact,
    Contacts as ContactsMessage,
    ContactWrench,
    RodState,
)
from cosserat_ros.nodes.common.conversions import make_backbone, pose_numbers
from cosserat_ros.nodes.simulation.contact_messages import ContactMarkers, ContactMessages
from cosserat_ros.nodes.simulation.frames import RobotFrames
from cosserat_ros.nodes.simulation.markers import RobotMarkers
from cosserat_ros.nodes.simulation.robot_publisher import RobotPublisher
from cosserat_ros.nodes.simulation.wire import Wire
from cosserat_ros.simulation.contacts import Contacts
from cosserat_ros.simulation.simulator import Simulator

NAMES = '', 'a', 'ab', 'abc', 'Ärmel', '腕', 'рука/левая', '🦾🦾', 'tendon 1'
SHIPPED = sorted((ROOT / 'config').glob('*.yaml'))


def joints(names, values, stamp=(0, 0)):
    message = JointState(name=names, **dict(zip(('position', 'velocity', 'effort'), values)))
    message.header.stamp.sec, message.header.stamp.nanosec = stamp
    return message


@pytest.mark.parametrize('names', [[], ['a'], ['ab', 'abc', 'abcd'], ['x' * n for n in range(9)]])
def test_numbers_are_where_rclpy_puts_them(names):
    """Names of all lengths shift the numbers, and leave gaps of every size before them."""
    rng = np.random.default_rng(len(names))
    wire = Wire(joints(names, np.ones((3, len(names))).tolist()))
    for stamp in ((1, 2), (2_000_000_000, 999_999_999)):
        values = rng.normal(size=(3, len(names)))
        wire.put(0, values)
        wire.put_stamp(*stamp)
        expected = joints(names, values.tolist(), stamp)
        assert deserialize_message(wire.data(), JointState) == expected
        assert len(wire.data()) == len(serialize_message(expected))


def named(kind, count, field='name', **fields):
    """Make some messages with names of all sorts."""
    return [kind(**{field: NAMES[k % len(NAMES)]}, **fields) for k in range(count)]


def some_joints(n):
    zeros = [0.0] * n
    return JointState(name=[NAMES[k % len(NAMES)] for k in range(n)], position=zeros,
                      velocity=zeros[:n // 2], effort=zeros)


def some_backbone(n):
    """Make rods of different numbers of stations, the first without any."""
    rods = named(RodState, n)
    for k, rod in enumerate(rods):
        rod.arc_lengths = [0.0] * k
        for field, kind in (('poses', Pose), ('linear_strains', Vector3),
                            ('angular_strains', Vector3), ('internal_wrenches', Wrench),
                            ('twists', Twist)):
            setattr(rod, field, [kind() for _ in range(k)])
    return Backbone(rods=rods)


def stamped(kind, n):
    message = kind()
    message.header.frame_id = NAMES[n % len(NAMES)]
    return message


def some_frames(n):
    return TFMessage(transforms=named(TransformStamped, n, 'child_frame_id'))


def some_markers(n):
    """Make markers with different numbers of points and colours."""
    markers = named(Marker, n, 'ns', frame_locked=True)
    for k, marker in enumerate(markers):
        marker.header.frame_id, marker.id = NAMES[-1 - k % len(NAMES)], k - 3
        marker.lifetime.sec, marker.text = -k, NAMES[(2 * k) % len(NAMES)]
        marker.points = [Point() for _ in range(k % 4)]
        marker.colors = [ColorRGBA() for _ in range(k % 3)]
    return MarkerArray(markers=markers)


def some_contacts(n):
    contacts = named(Contact, n, 'other', other_is_rod=True)
    for k, contact in enumerate(contacts):
        contact.part, contact.sliding = NAMES[-1 - k % len(NAMES)], k % 2 == 1
    return ContactsMessage(contacts=contacts, wrenches=named(ContactWrench, n // 2, 'obstacle'))


def fill(message, doubles, floats, stamp):
    """Fill all numbers of a message by rclpy, field after field."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if kind == 'double':
            setattr(message, name, next(doubles))
        elif kind == 'float':
            setattr(message, name, next(floats))
        elif kind == 'sequence<double>':
            setattr(message, name, [next(doubles) for _ in value])
        elif kind == 'builtin_interfaces/Time':
            value.sec, value.nanosec = stamp
        elif isinstance(value, list):
            for item in value:
                if hasattr(item, 'get_fields_and_field_types'):
                    fill(item, doubles, floats, stamp)
        elif hasattr(value, 'get_fields_and_field_types'):
            fill(value, doubles, floats, stamp)


class Counted:
    """Random numbers, and how many were taken."""

    def __init__(self, numbers):
        self._left, self.taken = iter(numbers.tolist()), 0

    def __next__(self):
        self.taken += 1
        return next(self._left)


@pytest.mark.parametrize('make', [
    some_joints, some_backbone, some_frames, some_markers, some_contacts,
    partial(stamped, PoseStamped), partial(stamped, TwistStamped),
], ids=['JointState', 'Backbone', 'TFMessage', 'MarkerArray', 'Contacts', 'PoseStamped',
        'TwistStamped'])
@pytest.mark.parametrize('size', [0, 1, 2, 5, 9, 40])
def test_each_message_is_as_rclpy_writes_it(make, size):
    rng = np.random.default_rng(size)
    wire = Wire(make(size))
    for stamp in ((0, 0), (1, 2), (-3, 4), (2 ** 31 - 1, 999_999_999)):
        doubles = rng.normal(size=30000) * 10.0 ** rng.integers(-300, 300, 30000)
        floats = rng.random(5000).astype('f4')
        expected, taken = make(size), (Counted(doubles), Counted(floats))
        fill(expected, *taken, stamp)
        assert wire.count == taken[0].taken
        wire.put(0, doubles[:taken[0].taken])
        wire.put_floats(0, floats[:taken[1].taken])
        wire.put_stamp(*stamp)
        assert deserialize_message(wire.data(), type(expected)) == expected
        assert len(wire.data()) == len(serialize_message(expected))


def test_a_message_is_left_as_it_was():
    message = joints(['a', 'b'], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    wire = Wire(message)
    assert message == joints(['a', 'b'], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert deserialize_message(wire.data(), JointState) == message


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
@pytest.mark.parametrize('stations', [2, 21, 60])
def test_all_numbers_of_a_robot_are_found_again_and_again(path, stations):
    """Bytes between fields are not initialised: what an earlier message left must not count."""
    robot = load(path)
    shape = robot.rest_shape(stations)
    for _ in range(5):
        backbone = Wire(make_backbone(shape, 'base_link'))
        numbers = np.arange(float(backbone.count))
        backbone.put(0, numbers)
        message = deserialize_message(backbone.data(), Backbone)
        assert list(message.rods[0].arc_lengths) == numbers[:stations].tolist()
        twist = message.tip_twist
        assert [twist.linear.x, twist.angular.z] == [numbers[-6], numbers[-1]]
        places = np.array([pose_numbers(rod.poses) for rod in shape.values()])
        bodies = dict.fromkeys([*robot.bodies, 'platform', 'base_link'], np.eye(4))
        frames = deserialize_message(
            RobotFrames(robot, '', 'world', stations).moving(places, bodies, 7, 8), TFMessage)
        assert {t.header.stamp.sec for t in frames.transforms} == {7}
        markers = RobotMarkers(robot, shape, 'base_link')
        efforts = dict.fromkeys(robot.actuators, 0.0)
        drawn = deserialize_message(
            markers.message(shape, efforts, bodies, 7, 8), MarkerArray)
        assert {m.header.stamp.nanosec for m in drawn.markers} == {8}


def touching(count, obstacles, rng):
    """Return contacts of random numbers, on obstacles with names of all lengths."""
    names = ['o' * (k + 1) for k in range(obstacles)]
    some = [rng.normal(size=(count, 3)) for _ in range(4)]
    return Contacts(
        ['rod' * (k % 3 + 1) for k in range(count)], rng.normal(size=count),
        [names[k % obstacles] for k in range(count)], rng.random(count) < 0.5, *some,
        rng.normal(size=count), rng.random(count) < 0.5,
        {name: rng.normal(size=3) for name in names}, {name: rng.normal(size=6) for name in names})


@pytest.mark.parametrize('count', [0, 1, 7])
def test_contacts_are_written_where_their_fields_are(count):
    rng = np.random.default_rng(count)
    messages, arrows = ContactMessages('base_link'), ContactMarkers('base_link', 0.3)
    for _ in range(3):
        a = touching(count, 3, rng)
        message = deserialize_message(messages.message(a, 3, 4), ContactsMessage)
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == (3, 4)
        assert [c.part for c in message.contacts] == a.parts
        assert [c.other for c in message.contacts] == a.others
        assert [c.sliding for c in message.contacts] == a.slide.tolist()
        for name, known in (('position', a.places), ('normal', a.normals),
                            ('normal_force', a.pressures), ('friction_force', a.frictions)):
            told = [getattr(c, name) for c in message.contacts]
            assert [[p.x, p.y, p.z] for p in told] == known.tolist()
        assert [(c.arc_length, c.gap) for c in message.contacts] == list(
            zip(a.s.tolist(), a.gaps.tolist()))
        for one in message.wrenches:
            f, m = one.wrench.force, one.wrench.torque
            assert [f.x, f.y, f.z, m.x, m.y, m.z] == a.wrenches[one.obstacle].tolist()
            assert [one.origin.x, one.origin.y, one.origin.z] == a.origins[one.obstacle].tolist()
        drawn = arrows.message(a, 2.0, 3, 4)
        if count:
            markers = deserialize_message(drawn, MarkerArray).markers
            spans = [[m.points[1].x - m.points[0].x, m.points[1].y - m.points[0].y,
                      m.points[1].z - m.points[0].z] for m in markers]
            np.testing.assert_allclose(spans, 2.0 * (a.pressures + a.frictions))
    a.gaps[:] = np.nan
    assert (messages.message(a, 3, 4) is None) == (count > 0)


# --- What a robot publishes ----------------------------------------------------------------------

class Topic:
    """A publisher that keeps what it is given."""

    def __init__(self, kind, name, qos):
        self.kind, self.listeners, self.sent = kind, 0, []

    def get_subscription_count(self):
        return self.listeners

    def publish(self, message):
        self.sent.append(
            deserialize_message(message, self.kind) if isinstance(message, bytes) else message)


class Node:
    """As much of a node as has topics."""

    create_lifecycle_publisher = Topic

    def get_logger(self):
        raise AssertionError('nothing is to be said')


@pytest.fixture(scope='module', params=['tendon_arm', 'stewart_gough', 'gripper', 'mobile_arm'])
def moving(request):
    """Return a robot in the middle of a motion, and its frames."""
    robot = load(ROOT / 'config' / f'{request.param}.yaml')
    sim = Simulator(robot, stations=11)
    sim.statics()
    for name, actuator in robot.actuators.items():
        lower, upper = actuator.bounds
        if np.isfinite([lower, upper]).all():
            rest = sim.rest_command(name)
            sim.commands[name] = rest + 0.05 * (upper - rest)
    for _ in range(5):
        assert sim.step(robot.time.step).converged
    return sim, RobotFrames(robot, 'left/', 'world', 11)


def publisher_of(moving, listeners):
    sim, frames = moving
    publisher = RobotPublisher(Node(), sim.twin(), frames, clock=False)
    for name, topic in publisher._topics.items():
        topic.listeners = int(name in listeners)
    return publisher


def pose_of(message):
    p, q = message.position, message.orientation
    return [p.x, p.y, p.z, q.x, q.y, q.z, q.w]


def vectors(*messages):
    return [n for m in messages for n in (m.x, m.y, m.z)]


ALL = {'joints', 'tf', 'markers', 'backbone', 'tip_pose', 'tip_twist', 'contacts'}


@pytest.mark.parametrize('heard', [set(), *({name} for name in sorted(ALL)), ALL],
                         ids=lambda heard: '+'.join(sorted(heard)) or 'none')
def test_only_topics_with_a_listener_are_published(moving, heard):
    publisher = publisher_of(moving, heard)
    publisher._told_obstacles = publisher._view.obstacles  # as if they had been told
    for k in range(3):
        publisher.publish_joints(moving[0].snapshot(), k)
        publisher.publish(moving[0].snapshot(), k)
    sent = {name: len(topic.sent) for name, topic in publisher._topics.items() if topic.sent}
    assert sent.keys() == heard
    assert all(count == 3 for name, count in sent.items() if name != 'markers')


def test_nothing_is_computed_where_nobody_listens(moving, monkeypatch):
    publisher = publisher_of(moving, set())
    publisher._told_obstacles = publisher._view.obstacles

    def never(*_):
        raise AssertionError('computed for nobody')
    for name in ('go_to', 'look', 'actuators'):
        monkeypatch.setattr(publisher._view, name, never)
    publisher.publish_joints(moving[0].snapshot(), 1)
    publisher.publish(moving[0].snapshot(), 1)


def test_all_numbers_of_a_robot_are_its_own(moving):
    """All fields of all messages of an instant, against the library."""
    sim, frames = moving
    publisher = publisher_of(moving, ALL)
    publisher.publish_joints(sim.snapshot(), 7_000_000_008)
    publisher.publish(sim.snapshot(), 7_000_000_008)
    look = sim.look()
    sent = {name: topic.sent[0] for name, topic in publisher._topics.items() if topic.sent}

    def is_headed(header):
        return (header.frame_id, header.stamp.sec, header.stamp.nanosec) == (
            frames.base_link, 7, 8)

    joints = sent['joints']
    assert (joints.header.stamp.sec, joints.header.stamp.nanosec) == (7, 8)
    states = sim.actuators()
    assert joints.name[:len(states)] == list(states)
    for name in ('position', 'velocity', 'effort'):
        told = getattr(joints, name)
        assert len(told) == len(joints.name)
        np.testing.assert_allclose(
            told[:len(states)], [getattr(a, name) for a in states.values()], rtol=1e-9, atol=1e-12)

    backbone = sent['backbone']
    assert is_headed(backbone.header) and [r.name for r in backbone.rods] == list(look.shape)
    twists, wrenches = sim.twists(look.shape), look.rods.wrenches
    for i, (rod, shape) in enumerate(zip(backbone.rods, look.shape.values())):
        np.testing.assert_array_equal(rod.arc_lengths, shape.arc_lengths)
        np.testing.assert_allclose(
            [pose_of(p) for p in rod.poses], pose_numbers(shape.poses), rtol=0, atol=1e-12)
        np.testing.assert_allclose([vectors(v) for v in rod.linear_strains],
                                   shape.strains[:, :3], rtol=0, atol=1e-12)
        np.testing.assert_allclose([vectors(v) for v in rod.angular_strains],
                                   shape.strains[:, 3:], rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            [vectors(w.force, w.torque) for w in rod.internal_wrenches], wrenches[i],
            rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            [vectors(t.linear, t.angular) for t in rod.twists], twists[rod.name],
            rtol=1e-9, atol=1e-9)
    for tip, twist in ((backbone.tip, backbone.tip_twist),
                       (sent['tip_pose'].pose, sent['tip_twist'].twist)):
        np.testing.assert_allclose(pose_of(tip), pose_numbers(look.tip[None])[0], atol=1e-12)
        np.testing.assert_allclose(
            vectors(twist.linear, twist.angular), look.tip_twist, rtol=1e-9, atol=1e-9)
    assert all(is_headed(sent[name].header) for name in ('tip_pose', 'tip_twist', 'contacts'))
    assert all(is_headed(m.header) for m in sent['markers'].markers)

    places = {frame: pose for rod, of in frames.of_rod.items()
              for frame, pose in zip(of, look.shape[rod].poses)}
    transforms = {t.child_frame_id: t for t in sent['tf'].transforms}
    assert len(transforms) == len(sent['tf'].transforms) and places.keys() <= transforms.keys()
    for frame, transform in transforms.items():
        body = frames._bodies.get(frame)
        pose = places[frame] if frame in places else look.bodies[body]
        parent = 'world' if frame == frames.base_link else frames.base_link
        stamp, told = transform.header.stamp, transform.transform
        assert (transform.header.frame_id, stamp.sec, stamp.nanosec) == (parent, 7, 8)
        np.testing.assert_allclose(
            [*vectors(told.translation), *vectors(told.rotation), told.rotation.w],
            pose_numbers(pose[None])[0], rtol=0, atol=1e-12)
