"""Where markers are: on a robot, in its messages, in other frames; or refused by name."""

from geometry_msgs.msg import Pose, Quaternion
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.spatial.transform import Rotation

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.msg import Backbone, RodState
from cosserat_ros.nodes.comparing.marker_places import check_shape, MarkerPlaces, read_places
from cosserat_ros.nodes.comparing.measurements import moved


def circle(s, curvature=4.0):
    """Return poses (N, 7) along a circle, which is a screw motion."""
    places = np.stack([(1.0 - np.cos(curvature * s)) / curvature, 0.0 * s,
                       np.sin(curvature * s) / curvature], axis=1)
    turns = Rotation.from_rotvec(np.outer(curvature * s, [0.0, 1.0, 0.0]))
    return np.hstack([places, turns.as_quat()])


def pose(numbers):
    made = Pose()
    (made.position.x, made.position.y, made.position.z, made.orientation.x, made.orientation.y,
     made.orientation.z, made.orientation.w) = map(float, numbers)
    return made


def message(**rods):
    """Return rods with these arc lengths, all on one circle; the tip is beyond."""
    made = Backbone(tip=pose([0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 1.0]), rods=[
        RodState(name=name, arc_lengths=s, poses=[pose(x) for x in circle(np.array(s))])
        for name, s in rods.items()])
    made.header.frame_id = 'base_link'
    return made


def test_places_between_stations_are_exact_on_a_circle():
    arm = message(arm=[0.0, 0.05, 0.1, 0.1, 0.2])  # two stations where strain jumps
    places = MarkerPlaces(read_places('0 0.03 arm:0.1 0.17 0.2 tip'), arm)
    poses = places.poses(arm)
    expected = circle(np.array([0.0, 0.03, 0.1, 0.17, 0.2]))
    assert_allclose(poses[:5], expected, atol=1e-12)
    assert_allclose(poses[5], [0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 1.0], atol=1e-15)
    assert places.length == 0.2 and places.base_frame == 'base_link'
    assert [p.rod for p in places.places] == ['arm'] * 5 + ['']


def test_places_of_a_parallel_robot_name_their_rod():
    robot = message(leg_1=[0.0, 0.3], leg_2=[0.0, 0.2, 0.5])
    places = MarkerPlaces(read_places('leg_2:0.4 leg_1:0.3'), robot)
    assert_allclose(places.poses(robot), circle(np.array([0.4, 0.3])), atol=1e-12)
    assert places.length == 0.5


@pytest.mark.parametrize(('text', 'words'), [
    ('', 'one place per marker'),
    ('0.1 x', "arc lengths >= 0 .m., as 0.1 or rod:0.1, or \"tip\", got 'x'"),
    ('nan', 'arc lengths >= 0'), ('-0.1', 'arc lengths >= 0'), ('leg_1:', 'arc lengths >= 0'),
    ('0.1', 'with the name of a rod, as leg_1:0.1'),
    ('leg_3:0.1', 'one of: leg_1, leg_2'),
    ('leg_1:0.31', 'a finite number >= 0 and <= 0.3 .m., got 0.31'),
])
def test_places_that_are_not_on_the_robot_are_refused(text, words):
    with pytest.raises(InvalidModel, match=f'parameter arc_lengths.* must be {words}'):
        MarkerPlaces(read_places(text), message(leg_1=[0.0, 0.3], leg_2=[0.0, 0.5]))


def test_messages_that_tell_no_shape_are_refused():
    check_shape(message(arm=[0.0, 0.1, 0.1, 0.2]))
    short, far = message(arm=[0.0, 0.1]), message(arm=[0.0, 0.1])
    short.rods[0].poses.pop()
    far.rods[0].poses[1].position.y = np.nan
    untold = message(arm=[0.0, 0.1])
    untold.tip = Pose(orientation=Quaternion(w=0.0))
    for wrong, words in (
        (message(), 'rods must be at least one'),
        (message(arm=[0.0]), 'rods.arm.arc_lengths must be two or more'),
        (message(arm=[0.0, 0.2, 0.1]), 'never decreasing'),
        (message(arm=[0.0, np.nan]), 'rods.arm.arc_lengths'),
        (short, 'rods.arm.poses must be as many as arc_lengths, 2, got 1'),
        (far, 'poses must be finite, of a size up to 1e.06, with rotations, got .*nan'),
        (untold, 'poses must be finite, of a size up to 1e.06, with rotations'),
    ):
        with pytest.raises(InvalidModel, match=words):
            check_shape(wrong)


def test_a_pose_is_seen_from_another_frame_with_or_without_rotation():
    there, turn = np.eye(4), Rotation.from_rotvec([0.3, -0.2, 0.5])
    there[:3, :3], there[:3, 3] = turn.as_matrix(), [0.1, 0.2, 0.3]
    own = Rotation.from_rotvec([0.0, 1.0, 0.2])
    place = turn.apply([1.0, 2.0, 3.0]) + [0.1, 0.2, 0.3]
    for length in (1.0, -1.0, 1e-5, 1e5):
        pose = moved(there, np.array([1.0, 2.0, 3.0, *length * own.as_quat()]))
        assert_allclose(pose[:3], place, atol=1e-14)
        assert (Rotation.from_quat(pose[3:]).inv() * turn * own).magnitude() < 1e-12
    for none in (0.0, 1e-200, 1e200):
        pose = moved(there, np.array([1.0, 2.0, 3.0, none, 0.0, 0.0, 0.0]))
        assert_allclose(pose, [*place, 0.0, 0.0, 0.0, 0.0], atol=1e-14)
