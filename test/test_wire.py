"""Messages whose numbers are written into their bytes, against rclpy's own serialisation."""

from conftest import ROOT
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from cosserat_ros.description.robot import load
from cosserat_ros.msg import Backbone
from cosserat_ros.nodes.common.conversions import make_backbone, pose_numbers
from cosserat_ros.nodes.simulation.frames import RobotFrames
from cosserat_ros.nodes.simulation.markers import RobotMarkers
from cosserat_ros.nodes.simulation.wire import Wire

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
        frames = deserialize_message(
            RobotFrames(robot, '', 'world', stations).moving(
                places, dict.fromkeys([*robot.bodies, 'platform', 'base_link'], np.eye(4)), 7, 8),
            TFMessage)
        assert {t.header.stamp.sec for t in frames.transforms} == {7}
        markers = RobotMarkers(robot, shape, 'base_link')
        efforts = dict.fromkeys(robot.actuators, 0.0)
        drawn = deserialize_message(
            markers.message(shape, efforts, {'platform': np.eye(4)}, 7, 8), MarkerArray)
        assert {m.header.stamp.nanosec for m in drawn.markers} == {8}
