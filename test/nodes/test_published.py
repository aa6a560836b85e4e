"""What a simulator publishes, seen over real DDS: all tests look at one process."""

import time

from conftest import processes
from listener import Listener
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from test_simulator import LATCHED, listen, pose_in_root, TENDONS, tree
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker


@pytest.fixture(scope='module')
def running():
    """Return the process of a simulator as it is by default."""
    with processes() as (_, start_node):
        yield start_node('simulator')


@pytest.fixture
def listener():
    """Return a node of another process, from the point of view of the simulator."""
    listener = Listener()
    yield listener
    listener.close()


def test_all_topics_come_from_a_fresh_process(running, listener):
    messages = listen(listener)
    assert listener.spin_until(lambda: all(messages.values())), (
        {k: len(v) for k, v in messages.items()}, running.output())
    stamp = messages['/tf'][-1].transforms[0].header.stamp
    assert abs(stamp.sec - time.time()) < 10


def test_the_frames_are_one_tree_with_the_names_of_the_contract(running, listener):
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/tf'] and messages['/tf_static'])
    frames = tree(messages)
    stations = [f'backbone_{i:02d}' for i in range(21)]
    assert set(frames) == {'base_link', 'tip', *stations}
    for frame in frames:
        assert pose_in_root(frames, frame)[0] == 'world'
    for i, frame in enumerate(stations):  # a straight rod of 0.24 m, upright
        assert frames[frame][0] == 'base_link'
        _, g = pose_in_root(frames, frame)
        assert_allclose(g, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, i * 0.012], [0, 0, 0, 1]],
                        atol=1e-7)  # its weight shortens it by 20 nm
    assert frames['tip'][0] == 'backbone_20'


def test_all_frames_of_one_instant_are_one_message(running, listener):
    messages = listen(listener)
    assert listener.spin_until(lambda: len(messages['/tf']) > 20)
    stamps = []
    for message in messages['/tf']:
        assert len(message.transforms) == 21
        instants = {(t.header.stamp.sec, t.header.stamp.nanosec) for t in message.transforms}
        assert len(instants) == 1
        stamps.append(instants.pop())
    assert stamps == sorted(set(stamps))


def test_joint_states_name_every_actuator(running, listener):
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/joint_states'])
    state = messages['/joint_states'][-1]
    assert list(state.name) == TENDONS
    assert list(state.effort) == [0.0] * 4
    assert_allclose(state.position, 0.0, atol=1e-7)
    assert_allclose(state.velocity, 0.0, atol=1e-9)


def test_marker_ids_are_stable_and_markers_are_drawable(running, listener):
    messages = listen(listener)
    topic = '/simulator/markers'
    assert listener.spin_until(lambda: len(messages[topic]) > 30)
    identities = [{(m.ns, m.id): m.type for m in a.markers} for a in messages[topic]]
    assert all(identity == identities[0] for identity in identities)
    markers = messages[topic][-1].markers
    assert len(identities[0]) == len(markers) == 20 + 9 + 4
    assert {m.ns for m in markers} == {
        'rods/backbone', 'discs/guides', *(f'tendons/{name}' for name in TENDONS)}
    for m in markers:
        assert m.action == Marker.ADD and m.header.frame_id == 'base_link'
        o, p = m.pose.orientation, m.pose.position
        assert_allclose(np.linalg.norm([o.x, o.y, o.z, o.w]), 1.0, atol=1e-12)
        assert np.isfinite([p.x, p.y, p.z]).all()
        assert m.color.a == 1.0 and m.scale.x > 0.0
    tube = [m for m in markers if m.ns == 'rods/backbone']
    assert_allclose(sum(m.scale.z for m in tube), 0.24, rtol=1e-6)
    assert_allclose([m.scale.x for m in tube], 0.0008, rtol=1e-12)
    tendon = next(m for m in markers if m.ns == 'tendons/tendon_1')
    assert_allclose([[p.x, p.y, p.z] for p in tendon.points],
                    [[0.0095, 0.0, 0.012 * i] for i in range(21)], atol=1e-7)


def test_the_backbone_message_carries_the_shape(running, listener):
    messages = listen(listener)
    assert listener.spin_until(lambda: messages['/simulator/backbone'])
    message = messages['/simulator/backbone'][-1]
    rod, = message.rods
    assert message.header.frame_id == 'base_link' and rod.name == 'backbone'
    assert_allclose(rod.arc_lengths, np.linspace(0, 0.24, 21))
    assert_allclose([p.position.z for p in rod.poses], rod.arc_lengths, atol=1e-7)
    assert_allclose([[v.x, v.y, v.z] for v in rod.linear_strains], [[0, 0, 1]] * 21, atol=1e-6)
    weight = 16000 * np.pi * 0.0004 ** 2 * 0.24 * 9.81
    assert_allclose([w.force.z for w in rod.internal_wrenches],
                    np.linspace(-weight, 0.0, 21), atol=1e-9)
    assert len(rod.twists) == 21
    assert_allclose(message.tip.position.z, 0.24, atol=1e-7)


def test_the_rate_is_sixty_per_second(running, listener):
    messages = listen(listener, raw=True)  # to make objects of them takes longer than to send them
    assert listener.spin_until(lambda: messages['/tf'] and messages['/simulator/markers'])
    topics = ['/tf', '/joint_states', '/simulator/markers', '/simulator/backbone']
    for _ in range(4):  # a busy machine may have a bad moment, not a bad quarter of a minute
        before = {topic: len(messages[topic]) for topic in topics}
        listener.spin(3.0)
        rates = [(len(messages[topic]) - before[topic]) / 3.0 for topic in topics]
        if rates == pytest.approx([60.0] * 4, rel=0.1):
            return
    raise AssertionError(rates)


def test_quality_of_service_is_that_of_the_contract(running, listener):
    messages = listen(listener)
    assert listener.spin_until(lambda: all(messages.values()))
    offered = {
        topic: listener.node.get_publishers_info_by_topic(topic)[0].qos_profile
        for topic in messages}
    assert all(q.reliability == ReliabilityPolicy.RELIABLE for q in offered.values())
    assert offered.pop('/tf_static').durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert all(q.durability == DurabilityPolicy.VOLATILE for q in offered.values())


def test_a_late_listener_gets_the_static_frames(running, listener):
    messages = listen(listener)
    assert listener.spin_until(lambda: len(messages['/tf']) > 60)
    late = Listener('late')
    late.subscribe(TFMessage, '/tf_static', LATCHED)
    assert late.spin_until(lambda: late.messages['/tf_static'])
    late.close()
