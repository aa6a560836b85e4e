"""The viewer as its users meet it: a process, real DDS, and a page in a real browser."""

import math
import re
import signal
import socket
import threading
import time

from browser import address, open_browser, Page
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, TransformStamped
from hypothesis import given, HealthCheck, settings, strategies as st
from listener import Listener
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rcl_interfaces.srv import DescribeParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from cosserat_ros.nodes.common.hearing import Undecodable
from cosserat_ros.nodes.page import geometry
from cosserat_ros.nodes.page.feeds import Feed, joint_rows, title
from cosserat_ros.nodes.page.message_reader import read_markers, read_transforms
from cosserat_ros.nodes.page.scene import round_length

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LOOPBACK = '0100007F'  # 127.0.0.1, as the kernel writes it


# --- Messages -----------------------------------------------------------------------------------


def marker(number=0, kind=Marker.CUBE, namespace='backbone', frame='base_link', **fields):
    """Return a magenta marker of 0.1 m."""
    message = Marker(ns=namespace, id=number, type=kind, **fields)
    message.header.frame_id = frame
    message.scale.x = message.scale.y = message.scale.z = 0.1
    message.color = ColorRGBA(r=1.0, g=0.0, b=1.0, a=1.0)
    return message


def transform(child, parent, position=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0, 1.0)):
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    t, r = message.transform.translation, message.transform.rotation
    t.x, t.y, t.z = position
    r.x, r.y, r.z, r.w = rotation
    return message


# A machine that does other things too is no fault of ours.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
number = st.floats(width=32)
name = st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=9)
point = st.builds(Point, x=number, y=number, z=number)
color = st.builds(ColorRGBA, r=number, g=number, b=number, a=number)


@st.composite
def marker_messages(draw):
    message = Marker(
        ns=draw(name), id=draw(st.integers(-2**31, 2**31 - 1)), text=draw(name),
        type=draw(st.sampled_from([Marker.LINE_STRIP, Marker.TRIANGLE_LIST, Marker.POINTS])),
        action=draw(st.integers(0, 3)), points=draw(st.lists(point, max_size=3)),
        colors=draw(st.lists(color, max_size=3)), mesh_resource=draw(name),
        texture_resource=draw(name), frame_locked=draw(st.booleans()))
    message.header.frame_id = 'f' + draw(name)
    message.texture.format = draw(name)
    message.texture.data = draw(st.binary(max_size=5))
    message.mesh_file.filename = draw(name)
    message.mesh_file.data = draw(st.binary(max_size=5))
    message.pose.position = draw(point)
    message.color = draw(color)
    message.scale.z = draw(number)
    return message


@PATIENT
@given(st.lists(marker_messages(), max_size=4))
def test_markers_are_read_as_rclpy_would(messages):
    data = serialize_message(MarkerArray(markers=messages))
    for message, (action, read) in zip(messages, read_markers(data, True, 0.0), strict=True):
        p, q, s, c = (
            message.pose.position, message.pose.orientation, message.scale, message.color)
        assert (action, read.kind, read.number) == (message.action, message.type, message.id)
        assert (read.namespace, read.frame, read.text) == (
            message.ns, message.header.frame_id, message.text)
        np.testing.assert_array_equal(read.numbers, (
            p.x, p.y, p.z, q.x, q.y, q.z, q.w, s.x, s.y, s.z, c.r, c.g, c.b, c.a))
        np.testing.assert_array_equal(
            read.points, np.reshape([(p.x, p.y, p.z) for p in message.points], (-1, 3)))
        np.testing.assert_array_equal(
            read.colors, np.reshape([(c.r, c.g, c.b, c.a) for c in message.colors], (-1, 4)))


@PATIENT
@given(st.lists(st.tuples(name, name, st.tuples(*[number] * 7)), max_size=4))
def test_transforms_are_read_as_rclpy_would(edges):
    message = TFMessage(transforms=[
        transform(child, parent, v[:3], v[3:]) for parent, child, v in edges])
    read = list(read_transforms(serialize_message(message)))
    assert [edge[:2] for edge in read] == [edge[:2] for edge in edges]
    np.testing.assert_array_equal([edge[2] for edge in read], [edge[2] for edge in edges])


@PATIENT
@given(marker_messages(), st.data())
def test_a_cut_message_is_an_error_and_nothing_worse(message, data):
    whole = serialize_message(message)
    part = whole[:data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(Undecodable):
        list(read_markers(part, False, 0.0))


def test_joint_states_have_four_digits_and_gaps():
    state = JointState(name=['a', 'b'], position=[0.123456, 12345.6], velocity=[1.0])
    assert joint_rows(state) == [
        ('a', '0.1235', '–', '–'), ('b', '1.235e+04', '–', '–')]


def test_the_page_is_named_after_the_robots():
    assert title([], ['/arm/markers', '/arm/joint_states', '/joint_states']) == 'arm'
    assert title([], ['/a/markers', '/b/sim/markers']) == 'a, b/sim'
    assert title([], ['/markers']) == 'markers'
    assert title([], []) == 'viewer'
    assert title(['left: arm', 'right: arm'], ['/markers']) == 'left: arm, right: arm'


# --- What a topic holds -------------------------------------------------------------------------


def send(feed, *messages, now=0.0):
    feed.apply(serialize_message(MarkerArray(markers=messages)), now)
    return sorted(number for _, number in feed.markers)


def test_markers_are_added_changed_and_deleted():
    feed = Feed(MarkerArray)
    assert send(feed, marker(0), marker(1), marker(2)) == [0, 1, 2]
    assert send(feed, marker(1, kind=Marker.SPHERE), marker(2, action=Marker.DELETE)) == [0, 1]
    assert feed.markers['backbone', 1].kind == Marker.SPHERE
    assert send(feed, marker(9, action=Marker.DELETE)) == [0, 1]
    assert send(feed, marker(action=Marker.DELETEALL), marker(7)) == [7]


def test_a_marker_ends_with_its_lifetime_unless_sent_again():
    feed = Feed(MarkerArray)
    short = Duration(sec=1, nanosec=500_000_000)
    send(feed, marker(0, lifetime=short), marker(1, lifetime=short), marker(2), now=10.0)
    send(feed, marker(1, lifetime=short), now=11.0)
    assert feed.drop(lambda one: one.expires <= 12.0)
    assert sorted(feed.markers) == [('backbone', 1), ('backbone', 2)]


def test_what_a_publisher_said_is_orphaned_some_time_after_it_left():
    feed = Feed(MarkerArray)
    assert feed.meet([b'old'], 0.0) == -math.inf
    assert feed.meet([], 10.0) == -math.inf
    assert feed.meet([], 14.0) == math.inf
    assert feed.meet([], 20.0) == -math.inf


def test_a_restarted_publisher_keeps_what_it_says_itself():
    feed = Feed(MarkerArray)
    feed.meet([b'old'], 0.0)
    feed.meet([b'old', b'new'], 100.0)  # killed, so that its end is noticed late
    feed.meet([b'new'], 110.0)
    assert 0.0 < feed.meet([b'new'], 114.0) <= 100.0


# --- Geometry -----------------------------------------------------------------------------------


@pytest.mark.parametrize(('mesh', 'volume'), [
    ('box', 1.0), ('sphere', math.pi / 6.0), ('cylinder', math.pi / 4.0), ('cone', math.pi / 12.0),
])
def test_unit_meshes_are_closed_and_face_outwards(mesh, volume):
    vertices, faces = geometry.unit_meshes()[mesh]
    corners = vertices[faces]
    enclosed = np.linalg.det(corners).sum() / 6.0
    assert enclosed == pytest.approx(volume, rel=0.03)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert_allclose(normals.sum(axis=0), 0.0, atol=1e-12)
    assert (np.einsum('fi,fi->f', normals, corners.mean(axis=1)) > 0.0).all()
    assert_allclose(np.abs(vertices).max(axis=0), 0.5)


component = st.floats(-1.0, 1.0)


@given(st.lists(
    st.tuples(*[component] * 4).filter(lambda q: np.linalg.norm(q) > 0.1), min_size=1))
def test_quaternions_and_matrices_are_the_same_rotations(xyzw):
    matrices = geometry.rotations(np.array(xyzw))
    wxyz = geometry.quaternions(matrices)
    assert_allclose(np.linalg.norm(wxyz, axis=1), 1.0)
    assert_allclose(geometry.rotations(wxyz[:, [1, 2, 3, 0]]), matrices, atol=1e-12)


def test_an_orientation_of_zeros_is_none_as_in_rviz():
    assert_allclose(geometry.rotations(np.zeros((1, 4))), [np.eye(3)])


def drawn(message):
    """Return a message as the scene sees it."""
    (_, read), = read_markers(serialize_message(message), False, 0.0)
    return read


def test_arrows_reach_from_tail_to_tip():
    by_ends = marker(kind=Marker.ARROW, points=[Point(x=1.0), Point(x=1.0, z=2.0)])
    by_pose = marker(1, kind=Marker.ARROW)
    by_pose.pose.position.y = 5.0
    nothing = marker(2, kind=Marker.ARROW, points=[Point(), Point()])
    markers = [drawn(message) for message in (by_ends, by_pose, nothing)]
    parts = geometry.arrows(markers, geometry.place(markers, np.tile(np.eye(4), (3, 1, 1))))
    shaft, head = parts['cylinder'], parts['cone']
    half = np.einsum('nij,nj->ni', head.rotation, head.scale * (0.0, 0.0, 0.5))
    assert_allclose(head.points + half, [(1.0, 0.0, 2.0), (0.1, 5.0, 0.0)], atol=1e-12)
    half = np.einsum('nij,nj->ni', shaft.rotation, shaft.scale * (0.0, 0.0, 0.5))
    assert_allclose(shaft.points - half, [(1.0, 0.0, 0.0), (0.0, 5.0, 0.0)], atol=1e-12)


def test_lists_are_placed_by_pose_and_frame():
    message = marker(kind=Marker.CUBE_LIST, points=[Point(x=1.0), Point(y=1.0)])
    message.colors = [ColorRGBA(r=1.0, a=1.0), ColorRGBA(g=1.0, a=0.5)]
    half = math.sqrt(0.5)
    message.pose.orientation.z = message.pose.orientation.w = half
    frame = np.eye(4)
    frame[:3, 3] = 0.0, 0.0, 3.0
    placed = geometry.place([drawn(marker()), drawn(message)], np.array([np.eye(4), frame]))
    assert_allclose(
        placed.points, [(0.0, 0.0, 0.0), (0.0, 1.0, 3.0), (-1.0, 0.0, 3.0)], atol=1e-12)
    assert_allclose(placed.colors, [(1, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0.5)])


def test_strips_and_lists_join_their_points():
    ends = [Point(), Point(), Point(), Point()]
    markers = [drawn(marker(kind=kind, points=ends))
               for kind in (Marker.LINE_STRIP, Marker.LINE_LIST)]
    placed = geometry.place(markers, np.tile(np.eye(4), (2, 1, 1)))
    assert geometry.segments(markers, placed).tolist() == [[0, 1], [1, 2], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize(('change', 'reason'), [
    (lambda m: setattr(m.pose.position, 'x', math.nan), 'finite'),
    (lambda m: setattr(m.pose.orientation, 'x', math.inf), 'finite'),
    (lambda m: setattr(m.color, 'g', math.nan), 'finite'),
    (lambda m: setattr(m.scale, 'z', 0.0), 'positive'),
    (lambda m: setattr(m, 'type', Marker.MESH_RESOURCE), 'type 10'),
    (lambda m: setattr(m, 'points', [Point(x=math.nan)]), 'point'),
    (lambda m: setattr(m, 'colors', [ColorRGBA()] * 3), '3 colors for 1 points'),
])
def test_markers_that_cannot_be_drawn_say_why(change, reason):
    message = marker(kind=Marker.CUBE_LIST, points=[Point()])
    assert not drawn(message).fault()
    change(message)
    assert reason in drawn(message).fault()


@pytest.mark.parametrize(('length', 'rounded'), [
    (1.0, 1.0), (1.9, 1.0), (2.0, 2.0), (0.049, 0.02), (0.05, 0.05), (730.0, 500.0)])
def test_floors_have_round_cells(length, rounded):
    assert round_length(length) == pytest.approx(rounded)


# --- The process --------------------------------------------------------------------------------


def listening(port):
    """Return the addresses that something listens on at a port, as the kernel writes them."""
    found = []
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        with open(table) as lines:
            rows = [line.split() for line in lines][1:]
        found += [row[1].split(':')[0] for row in rows
                  if row[3] == '0A' and int(row[1].split(':')[1], 16) == port]
    return found


def test_it_listens_on_loopback_alone(start_node):
    _, port = address(start_node('viewer', port=0))
    assert listening(port) == [LOOPBACK]


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quickly_and_quietly(start_node, number):
    viewer = start_node('viewer', port=0)
    address(viewer)
    asked = time.monotonic()
    assert viewer.stop(number) == 0
    assert time.monotonic() - asked < 2.0
    assert len(viewer.output().splitlines()) == 1, viewer.output()


def test_a_port_in_use_is_said_in_one_line(start_node):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        viewer = start_node('viewer', port=port)
        assert viewer.wait() != 0
    line, = viewer.output().splitlines()
    assert f'port {port} on 127.0.0.1 is in use' in line


@pytest.mark.parametrize(('parameter', 'value'), [
    ('port', 'eighty'), ('port', 65536), ('max_rate', 0.5), ('max_rate', '.nan'),
    ('show_frames', 'maybe'), ('host', '192.0.2.1'), ('host', 'no.such.host.invalid'),
])
def test_a_bad_parameter_is_said_in_one_line(start_node, parameter, value):
    viewer = start_node('viewer', **{'port': 0, parameter: value})
    assert viewer.wait() != 0
    line, = viewer.output().splitlines()
    assert parameter in line or str(value) in line


def test_parameters_are_described_and_only_some_are_live(start_node):
    address(start_node('viewer', port=0))
    listener = Listener()
    try:
        names = ['host', 'port', 'fixed_frame', 'max_rate', 'show_frames']
        described = listener.call(
            DescribeParameters, '/viewer/describe_parameters',
            DescribeParameters.Request(names=names)).descriptors
        assert all(one.description for one in described)
        assert [one.read_only for one in described] == [True, True, False, False, False]
        values = {'host': '0.0.0.0', 'port': 1, 'fixed_frame': 'tip', 'max_rate': 10.0,
                  'show_frames': True}
        answers = listener.call(SetParameters, '/viewer/set_parameters', SetParameters.Request(
            parameters=[Parameter(name, value=values[name]).to_parameter_msg() for name in names]))
        assert [one.successful for one in answers.results] == [False, False, True, True, True]
        too_fast = Parameter('max_rate', value=1000.0).to_parameter_msg()
        answer = listener.call(SetParameters, '/viewer/set_parameters', SetParameters.Request(
            parameters=[too_fast]))
        assert not answer.results[0].successful
    finally:
        listener.close()


# --- Sources of data ----------------------------------------------------------------------------


class Source:
    """A robot in a context of its own: frames, markers and joints at 20 Hz, in a thread."""

    def __init__(self, markers=4, namespace='/arm'):
        self._ros = Listener('robot')
        node = self._ros.node
        self._still = node.create_publisher(TFMessage, '/tf_static', LATCHED)
        self._moving = node.create_publisher(TFMessage, '/tf', 100)
        self._markers = node.create_publisher(MarkerArray, f'{namespace}/markers', 10)
        self._joints = node.create_publisher(JointState, f'{namespace}/joint_states', BEST_EFFORT)
        self._count = markers
        self._stop = threading.Event()
        self._still.publish(TFMessage(transforms=[transform('base_link', 'world')]))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.wait(0.05):
            self._moving.publish(TFMessage(transforms=[
                transform(f'link_{k}', 'base_link', (0.1 * k, 0.0, 0.2))
                for k in range(self._count)]))
            self._markers.publish(MarkerArray(markers=[
                marker(k, frame=f'link_{k}') for k in range(self._count)]))
            self._joints.publish(JointState(
                name=['tendon_a', 'tendon_<b>'], position=[0.0123456, 2.0], effort=[1.0, 2.0]))

    def close(self):
        """Stop and leave."""
        if not self._stop.is_set():
            self._stop.set()
            self._thread.join()
            self._ros.close()


@pytest.fixture
def source():
    """Return a function that makes sources; all leave with the test."""
    sources = []

    def make(**options):
        sources.append(Source(**options))
        return sources[-1]

    yield make
    for one in sources:
        one.close()


def says(viewer, text, timeout=15.0):
    """Wait until a viewer has logged a text."""
    deadline = time.monotonic() + timeout
    while text not in viewer.output() and time.monotonic() < deadline:
        time.sleep(0.05)
    return text in viewer.output()


def test_it_says_when_the_first_transforms_come(start_node, source):
    viewer = start_node('viewer', port=0)
    address(viewer)
    source()
    assert says(viewer, 'first transforms after '), viewer.output()
    assert viewer.stop() == 0
    assert len(viewer.output().splitlines()) == 2, viewer.output()


def test_what_is_no_data_is_left_out_with_few_words(start_node, source):
    viewer = start_node('viewer', port=0)
    address(viewer)
    source()
    listener = Listener('troublemaker')
    frames = listener.node.create_publisher(TFMessage, '/tf', 100)
    markers = listener.node.create_publisher(MarkerArray, '/trouble/markers', 10)
    single = listener.node.create_publisher(Marker, '/trouble/marker', BEST_EFFORT)
    nan_pose = marker(1)
    nan_pose.pose.position.x = math.nan
    flat = marker(2)
    flat.scale.y = 0.0
    bad = [
        transform('me', 'me'), transform('', 'world'), transform('a', ''), transform('b', 'c'),
        transform('c', 'b'), transform('d', 'world', (math.nan, 0.0, 0.0)),
        transform('e', 'world', rotation=(1.0, 1.0, 1.0, 1.0)), transform('world', 'link_0')]
    begin = time.monotonic()
    try:
        while time.monotonic() - begin < 4.0:
            frames.publish(TFMessage(transforms=bad))
            markers.publish(MarkerArray(markers=[nan_pose, flat, marker(3, kind=99)]))
            single.publish(serialize_message(marker())[:50])
            time.sleep(0.02)
    finally:
        listener.close()
    assert says(viewer, 'left out')
    assert viewer.stop() == 0
    warnings = viewer.output().count('[WARN]')
    assert 1 <= warnings <= time.monotonic() - begin + 1.0, viewer.output()
    assert 'Traceback' not in viewer.output()


# --- The page -----------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def browser():
    """Return a headless browser that draws in software."""
    with open_browser() as browser:
        yield browser


@pytest.fixture
def viewer_and_page(start_node, browser):
    """Return a viewer's process and its page."""
    viewer = start_node('viewer', port=0)
    page = Page(browser, address(viewer)[0])
    yield viewer, page
    page.page.close()


@pytest.mark.timeout(300)  # for machines that draw slowly
def test_the_page_follows_a_robot_that_comes_goes_and_returns(viewer_and_page, source):
    viewer, page = viewer_and_page
    assert page.wait_for(lambda: 'waiting for /tf' in page.status())
    assert page.magenta() == 0

    robot = source()
    assert page.wait_for(lambda: re.search('receiving: 6 frames, 4 markers', page.status()))
    assert page.wait_for(lambda: page.magenta() > 500), 'the robot is not to be seen'
    page.open_tab('View')
    panel = page.text()
    for text in ('arm', '/arm/markers', 'backbone', 'tendon_a', 'tendon_<b>', '0.01235'):
        assert text in panel

    page.page.get_by_label('backbone', exact=True).click()
    assert page.wait_for(lambda: page.magenta() == 0), 'a hidden namespace is to be seen'
    page.page.get_by_label('backbone', exact=True).click()
    assert page.wait_for(lambda: page.magenta() > 500)

    robot.close()
    assert page.wait_for(lambda: 'no data for' in page.status())
    assert page.wait_for(lambda: 'publisher gone' in page.text())
    assert page.wait_for(lambda: page.magenta() == 0), 'a robot that left is to be seen'

    source(markers=2)
    assert page.wait_for(lambda: re.search('receiving: 4 frames, 2 markers', page.status()))
    assert page.wait_for(lambda: page.magenta() > 500)
    assert page.page.get_by_label('backbone', exact=True).count() == 1

    asked = time.monotonic()
    assert viewer.stop() == 0
    assert time.monotonic() - asked < 2.0
    assert 'Traceback' not in viewer.output()
    assert not page.problems


def test_what_was_latched_before_is_shown(start_node, browser):
    listener = Listener('early')
    try:
        listener.node.create_publisher(MarkerArray, '/early/markers', LATCHED).publish(
            MarkerArray(markers=[marker(k, frame='map') for k in range(3)]))
        single = listener.node.create_publisher(Marker, '/early/marker', BEST_EFFORT)
        viewer = start_node('viewer', port=0)
        page = Page(browser, address(viewer)[0])

        def all_shown():
            single.publish(marker(frame='map'))
            return 'receiving: 0 frames, 4 markers' in page.status()

        assert page.wait_for(all_shown)
        page.page.close()
    finally:
        listener.close()
