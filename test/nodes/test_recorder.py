"""The recorder: what it writes is what was said, and the file tells what it means."""

from pathlib import Path
import resource
import shutil
import signal
import sys
import time

from conftest import ROOT
from driver import simulator
from listener import Listener
from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap.records import Message, Schema
from mcap.stream_reader import StreamReader
from mcap_ros2.decoder import DecoderFactory
from nav_msgs.msg import Odometry
import numpy as np
from numpy.testing import assert_allclose
import pytest
import rclpy
from rclpy.duration import Duration
from rosbags.highlevel import AnyReader
from ruamel.yaml import YAML
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cosserat_ros.comparison.maps import load_map
from cosserat_ros.comparison.recordings import read
from cosserat_ros.description.robot import load
from cosserat_ros.msg import Backbone, Obstacle
from cosserat_ros.nodes.recorder import Recorder

RUNS, COMMANDS = 20, 200
PROBE = -1.0  # a command that none of those that count is
BACKBONE = '/arm/simulator/backbone'
ROBOT = {f'/arm/simulator/{name}' for name in (
    'backbone', 'markers', 'robot', 'tip_pose', 'tip_twist')}
TOPICS = {*ROBOT, '/arm/joint_states', '/arm/simulator/commands', '/tf', '/tf_static',
          '/diagnostics'}


def recorder(start_node, folder, **parameters):
    process = start_node('recorder', '-r', '__ns:=/arm', folder=folder, name='bag', **parameters)
    return process, folder / 'bag' / 'bag.mcap'


def wait_for_words(process, words, driver):
    assert driver.spin_until(lambda: words in process.output(), 15.0), process.output()


def wait_until_it_listens(driver, topic):
    assert driver.spin_until(lambda: any(
        s.node_name == 'recorder'
        for s in driver.node.get_subscriptions_info_by_topic(topic)), 15.0)


@pytest.fixture(scope='module')
def robot():
    with simulator('-r', '__ns:=/arm', namespace='/arm') as (driver, _):
        driver.subscribe(Backbone, BACKBONE, 1000)
        yield driver


def test_a_recording_is_what_was_said_and_tells_what_it_means(robot, start_node, tmp_path):
    process, path = recorder(start_node, tmp_path)
    wait_for_words(process, 'recording into', robot)
    wait_until_it_listens(robot, BACKBONE)
    assert robot.spin_until(lambda: robot.listeners('~/commands') == 2, 15.0)  # and the simulator
    robot.spin(1.0)  # until those who speak have found it too
    heard = robot.messages[BACKBONE]
    heard.clear()
    begin = time.monotonic()
    for _ in range(3):  # to a listener that has just been found, the first may be lost
        robot.command([3.0, 0.0, 0.0, 0.0])
        robot.spin(1.0)
    heard = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in list(heard)}
    passed = time.monotonic() - begin
    robot.spin(0.5)  # what was heard here may still be on its way there
    assert process.stop() == 0

    with path.open('rb') as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        summary = reader.get_summary()
        counts = {c.topic: summary.statistics.channel_message_counts.get(c.id, 0)
                  for c in summary.channels.values()}
        there = sum(1 for _ in reader.iter_messages())
        messages = [(channel.topic, message) for _, channel, _, message
                    in reader.iter_decoded_messages([BACKBONE, '/arm/simulator/commands'])]
    assert TOPICS <= counts.keys()
    assert not {'/rosout', '/parameter_events'} & counts.keys()
    assert sum(counts.values()) == there
    assert f'recorded {there} messages of {len(counts)} topics' in process.output()
    assert str(tmp_path / 'bag') in process.output()
    assert counts['/arm/simulator/robot'] == counts['/tf_static'] == 1  # said before it began

    # All of those seconds, and the same numbers, by the definitions in the file alone.
    recorded = {(m.header.stamp.sec, m.header.stamp.nanosec): m
                for topic, m in messages if topic == BACKBONE}
    assert len(heard) > 40 * passed
    assert heard.keys() <= recorded.keys()
    stamp = list(heard)[len(heard) // 2]
    ours, theirs = heard[stamp], recorded[stamp]
    assert theirs.header.frame_id == ours.header.frame_id
    assert [r.name for r in theirs.rods] == [r.name for r in ours.rods]
    for a, b in zip(ours.rods, theirs.rods):
        assert_allclose(b.arc_lengths, a.arc_lengths, rtol=0, atol=0)
        for field in ('linear_strains', 'angular_strains'):
            assert [(v.x, v.y, v.z) for v in getattr(a, field)] == [
                (v.x, v.y, v.z) for v in getattr(b, field)]
        assert [p.position.z for p in a.poses] == [p.position.z for p in b.poses]
    commands = [m for topic, m in messages if topic == '/arm/simulator/commands']
    assert list(commands[-1].data) == [3.0, 0.0, 0.0, 0.0]
    schema = next(s for s in summary.schemas.values() if s.name == 'cosserat_ros/msg/Backbone')
    assert b'MSG: cosserat_ros/RodState' in schema.data and b'[rad/m]' in schema.data


def test_a_recording_has_the_layout_of_rosbag2(robot, start_node, tmp_path):
    """So a reader of bags finds its way by metadata.yaml, with each topic's service and hash."""
    process, path = recorder(
        start_node, tmp_path, topics='"simulator/robot joint_states /tf_static never"')
    wait_for_words(process, 'recording into', robot)
    wait_until_it_listens(robot, '/arm/joint_states')
    assert robot.spin_until(lambda: path.stat().st_size > 5000, 30.0)  # they found each other
    robot.spin(1.0)
    assert process.stop() == 0
    assert 'no message on /arm/never' in process.output()
    bag = YAML(typ='safe').load(path.parent / 'metadata.yaml')['rosbag2_bagfile_information']
    assert (bag['version'], bag['storage_identifier']) == (9, 'mcap')
    assert bag['relative_file_paths'] == [path.name]
    topics = {t['topic_metadata']['name']: t['topic_metadata']
              for t in bag['topics_with_message_count']}
    assert topics.keys() == {'/arm/simulator/robot', '/arm/joint_states', '/tf_static'}
    durability = {name: {q['durability'] for q in t['offered_qos_profiles']}
                  for name, t in topics.items()}
    assert durability == {
        '/arm/simulator/robot': {'transient_local'}, '/tf_static': {'transient_local'},
        '/arm/joint_states': {'volatile'}}
    offered = robot.node.get_publishers_info_by_topic('/arm/simulator/robot')[0]
    assert topics['/arm/simulator/robot']['type_description_hash'] == str(offered.topic_type_hash)
    with AnyReader([path.parent]) as reader:
        assert reader.message_count == bag['message_count']
        states = [reader.deserialize(data, c.msgtype) for c, _, data in reader.messages()
                  if c.topic == '/arm/joint_states']
    assert states[0].name == [f'tendon_{i}' for i in range(1, 5)]
    assert topics['/arm/joint_states']['type'] == f'sensor_msgs/msg/{JointState.__name__}'


def test_a_killed_recorder_leaves_what_came_until_a_second_before(robot, start_node, tmp_path):
    process, path = recorder(start_node, tmp_path, topics='simulator/tip_pose')
    wait_for_words(process, 'recording into', robot)
    assert robot.spin_until(lambda: path.stat().st_size > 5000, 15.0)
    robot.spin(1.5)
    killed = time.time()
    process.process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (path.parent / 'metadata.yaml').exists()
    schemas, times = set(), []
    with path.open('rb') as file, pytest.raises(McapError):  # no end
        for record in StreamReader(file).records:
            if isinstance(record, Schema):
                schemas.add(record.name)
            elif isinstance(record, Message):
                times.append(1e-9 * record.log_time)
    assert 'geometry_msgs/msg/PoseStamped' in schemas
    assert killed - 2.0 < times[-1] <= killed
    assert len(times) > 30

    chart = tmp_path / 'map.yaml'
    chart.write_text('motion: dynamic\nmeasured: {tip: {topic: /arm/simulator/tip_pose}}\n')
    recovered = read(path.parent, load_map(chart), load(ROOT / 'config' / 'tendon_arm.yaml'))
    assert recovered.name == 'bag (recovered)'
    assert len(recovered) == len(times)
    assert recovered.times[-1] == pytest.approx(times[-1] - times[0], abs=0.5)


def test_a_full_disk_ends_the_recording_with_a_word(robot, start_node, tmp_path):
    process, path = recorder(start_node, tmp_path)
    wait_for_words(process, 'recording into', robot)
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (300_000, 300_000))
    assert process.wait() == 1
    assert f'cannot write {path.parent}: File too large' in process.output()
    assert 'Traceback' not in process.output()


def test_a_disk_that_is_full_at_the_end_is_told(start_node, tmp_path):
    process, path = recorder(start_node, tmp_path, topics='never')
    wait_for_its_words(process, 'recording into')
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (10, 10))  # for the index
    assert process.stop(timeout=60.0) == 1
    assert f'cannot write {path.parent}: File too large' in process.output()
    assert 'Traceback' not in process.output()


@pytest.mark.parametrize('stop', [False, True])
def test_a_recording_that_was_removed_is_told(start_node, tmp_path, stop):
    process, path = recorder(start_node, tmp_path, topics='never')
    wait_for_its_words(process, 'recording into')
    shutil.rmtree(path.parent)
    assert (process.stop(timeout=60.0) if stop else process.wait(60.0)) == 1
    assert f'cannot write {path.parent}: ' in process.output()
    assert 'Traceback' not in process.output()


def wait_for_its_words(process, words):
    deadline = time.monotonic() + 60.0
    while words not in process.output():
        assert time.monotonic() < deadline, process.output()
        time.sleep(0.05)


@pytest.mark.parametrize('parameters, words', [
    ({'topics': 'a//b'}, "parameter topics must be names of topics, got 'a//b'"),
    ({'folder': '/proc/nowhere'}, 'cannot record into /proc/nowhere/'),
])
def test_what_cannot_be_recorded_is_refused(start_node, tmp_path, parameters, words):
    process = start_node('recorder', **{'folder': tmp_path, **parameters})
    assert process.wait() == 1
    assert words in process.output()
    assert 'Traceback' not in process.output()


def test_a_recording_is_not_written_over(start_node, tmp_path):
    (tmp_path / 'bag').mkdir()
    process, _ = recorder(start_node, tmp_path)
    assert process.wait() == 1
    assert 'it exists already' in process.output()


def tell(publisher, listeners, driver, numbers):
    """Send commands once it and so many listeners have found each other, until all have come."""
    assert driver.spin_until(lambda: publisher.get_subscription_count() == listeners, 30.0)
    probe(publisher)  # who acknowledges has found the publisher too
    for number in numbers:
        publisher.publish(command(number))
    probe(publisher)


def probe(publisher):
    """Send what does not count until all has been acknowledged: each message asks for it."""
    deadline = time.monotonic() + 30.0
    publisher.publish(command(PROBE))
    while not publisher.wait_for_all_acked(Duration(seconds=0.02)):
        assert time.monotonic() < deadline
        publisher.publish(command(PROBE))


def command(number):
    return Float64MultiArray(data=[float(number), 0.0, 0.0, 0.0])


def told(folder, topic):
    """Return the commands of a recording."""
    with AnyReader([folder]) as reader:
        came = [reader.deserialize(data, c.msgtype).data[0] for c, _, data in reader.messages()
                if c.topic == topic]
    return [number for number in came if number != PROBE]


def test_what_waits_when_a_recorder_is_stopped_is_written(tmp_path):
    rclpy.init(args=['--ros-args', '-r', '__ns:=/slow', '-p', f'folder:={tmp_path}',
                     '-p', 'name:=bag'])
    node, driver, topic = Recorder(), Listener('teller'), '/slow/simulator/commands'
    try:
        node.start()
        publisher = driver.node.create_publisher(Float64MultiArray, topic, 1000)
        tell(publisher, 1, driver, range(COMMANDS))
        assert node.close()
    finally:
        driver.close()
        node.destroy_node()
        rclpy.shutdown()
    assert told(tmp_path / 'bag', topic) == list(range(COMMANDS))


@pytest.mark.timeout(600)
def test_no_command_is_lost_in_twenty_recordings(start, tmp_path):
    """Each publisher comes when its recorder is there, sends 200 commands, and all is ended."""
    process = start(sys.executable, Path(__file__).with_name('recorders.py'), tmp_path, RUNS)
    driver = Listener('teller')
    sent = [1e-6 * i for i in range(COMMANDS)]
    try:
        for k in range(RUNS):
            wait_for_its_words(process, f'recording into {tmp_path}/run_{k}\n')
            topic = f'/run_{k}/simulator/commands'
            publisher = driver.node.create_publisher(Float64MultiArray, topic, 1000)
            tell(publisher, 1, driver, sent)
            process.process.send_signal(signal.SIGINT)
            wait_for_its_words(process, f'topics into {tmp_path}/run_{k}\n')
            driver.node.destroy_publisher(publisher)
    finally:
        driver.close()
    assert process.wait(30.0) == 0
    for k in range(RUNS):
        assert told(tmp_path / f'run_{k}', f'/run_{k}/simulator/commands') == sent


def test_no_command_is_lost_of_publishers_that_come_later(robot, start_node, tmp_path):
    """Five publishers one after another, each with 200 commands once it is heard."""
    process, path = recorder(start_node, tmp_path)
    wait_for_words(process, 'recording into', robot)
    sent = []
    for k in range(5):
        publisher = robot.node.create_publisher(Float64MultiArray, '/arm/simulator/commands', 1000)
        own = [1e-6 * (COMMANDS * k + i) for i in range(COMMANDS)]
        tell(publisher, 2, robot, own)
        robot.node.destroy_publisher(publisher)
        sent += own
    assert process.stop(timeout=30.0) == 0
    assert told(path.parent, '/arm/simulator/commands') == sent
    silent = next(line for line in process.output().splitlines() if 'no message on' in line)
    assert '/arm/simulator/wrench' in silent and '/arm/joint_commands' in silent
    assert '/arm/simulator/commands' not in silent


def test_what_somebody_waits_for_is_heard_before_anybody_says_it(robot, start_node, tmp_path):
    """Inputs of a name that the recorder does not know, as that of a base that is driven."""
    topic = '/arm/an_input'
    waits = robot.node.create_subscription(JointState, topic, lambda _: None, 10)
    process, path = recorder(start_node, tmp_path, topics='an_input')
    wait_for_words(process, 'recording into', robot)
    wait_until_it_listens(robot, topic)
    publisher = robot.node.create_publisher(JointState, topic, 1000)
    assert robot.spin_until(lambda: publisher.get_subscription_count() == 2, 15.0)
    robot.spin(1.0)  # both ends must have found each other
    for i in range(200):
        publisher.publish(JointState(name=['tendon_1'], effort=[float(i)]))
    assert publisher.wait_for_all_acked(Duration(seconds=10))
    robot.spin(0.5)
    assert process.stop() == 0
    robot.node.destroy_publisher(publisher)
    robot.node.destroy_subscription(waits)
    with AnyReader([path.parent]) as reader:
        came = [reader.deserialize(data, c.msgtype).effort[0] for c, _, data in reader.messages()]
    assert came == [float(i) for i in range(200)]


def test_what_a_robot_is_told_is_recorded_where_there_is_no_robot(start_node, tmp_path):
    process = start_node('recorder', '-r', '__ns:=/nobody', folder=tmp_path, name='bag')
    wait_for_its_words(process, 'recording into')
    listener = Listener('listener')
    inputs = {'/nobody/joint_commands': JointState(name=['tendon_1'], effort=[1.0]),
              '/nobody/simulator/obstacles': Obstacle(id='ball')}
    try:
        publishers = {topic: listener.node.create_publisher(type(message), topic, 10)
                      for topic, message in inputs.items()}
        assert listener.spin_until(lambda: all(
            p.get_subscription_count() == 1 for p in publishers.values()), 15.0)
        listener.spin(1.0)  # both ends must have found each other
        for topic, publisher in publishers.items():
            publisher.publish(inputs[topic])
            assert publisher.wait_for_all_acked(Duration(seconds=10))
        listener.spin(0.5)
    finally:
        listener.close()
    assert process.stop() == 0
    with AnyReader([tmp_path / 'bag']) as reader:
        topics = [c.topic for c, _, _ in reader.messages()]
    shared = {'/tf', '/tf_static', '/diagnostics'}  # of all robots
    assert sorted(topic for topic in topics if topic not in shared) == sorted(inputs)


def test_what_moves_a_base_is_recorded_whatever_its_topic(start_node, tmp_path):
    """Odometry of another robot, outside the namespace: all of it, from the first message on."""
    with simulator('-r', '__ns:=/cart', namespace='/cart', robot='mobile_arm', base_topic='/odom',
                   base_source='odometry', parent_frame='odom') as (driver, _):
        process = start_node('recorder', '-r', '__ns:=/cart', folder=tmp_path, name='bag')
        wait_for_words(process, 'recording into', driver)
        wait_until_it_listens(driver, '/odom')
        publisher = driver.node.create_publisher(Odometry, '/odom', 100)
        assert driver.spin_until(lambda: publisher.get_subscription_count() == 2, 15.0)
        driver.spin(1.0)  # both ends must have found each other
        message = Odometry()
        message.header.frame_id, message.pose.pose.orientation.w = 'odom', 1.0
        for i in range(50):
            message.pose.pose.position.z = 0.4 + 1e-4 * i
            publisher.publish(message)
            driver.spin(0.02)
        assert publisher.wait_for_all_acked(Duration(seconds=10))
        assert driver.spin_until(
            lambda: int(driver.diagnosis()[2]['base inputs']) > 40, 10.0)  # best effort there
        assert process.stop() == 0
    with AnyReader([tmp_path / 'bag']) as reader:
        came = [reader.deserialize(data, c.msgtype).pose.pose.position.z
                for c, _, data in reader.messages() if c.topic == '/odom']
    assert_allclose(came, 0.4 + 1e-4 * np.arange(50))
