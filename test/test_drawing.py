"""Markers and frames of every shipped robot, without a process of its own."""

from builtin_interfaces.msg import Time
from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from cosserat_ros.description import robot
from cosserat_ros.description.parts import Chamber, Discs, Tendon
from cosserat_ros.description.robot import MountedRod, Robot
from cosserat_ros.description.rod import Material, RestShape, Segment
from cosserat_ros.description.routing import Helical, Parallel
from cosserat_ros.description.section import Circular
from cosserat_ros.nodes.common.conversions import pose_numbers
from cosserat_ros.nodes.simulation.frames import RobotFrames
from cosserat_ros.nodes.simulation.markers import (
    LoadMarkers,
    RobotMarkers,
    SLACK_COLOUR,
    TAUT_COLOUR,
)
from cosserat_ros.numerics.lie import matrix_from_quaternion
from cosserat_ros.rod.outline import write_chords
from cosserat_ros.simulation.simulator import Load

SHIPPED = sorted((ROOT / 'config').glob('*.yaml'))


def draw(described, efforts=None, stations=21):
    """Return the markers of a robot at rest, by namespace."""
    shape = described.rest_shape(stations)
    markers = RobotMarkers(described, shape, 'base_link')
    efforts = [0.0] * len(described.actuators) if efforts is None else efforts
    data = markers.message(
        shape, dict(zip(described.actuators, efforts, strict=True)), bodies_of(described), 0, 0)
    found = {}
    for marker in deserialize_message(data, MarkerArray).markers:
        found.setdefault(marker.ns, []).append(marker)
    return found


def bodies_of(described):
    """Return where the platform is, if there is one, and base_link."""
    platform = described.platform and described.platform_pose(described.rest_shape(2))
    return {'platform': platform, 'base_link': np.eye(4)}


def points(marker):
    return np.array([[p.x, p.y, p.z] for p in marker.points])


def rgba(marker):
    return [marker.color.r, marker.color.g, marker.color.b, marker.color.a]


def arm(**parts):
    straight = Segment(0.3, Circular(1e-3), Material(207e9, 8e3, poisson_ratio=0.3))
    return Robot('arm', {'b': MountedRod((straight,))}, **parts)


# --- Every robot that is shipped -----------------------------------------------------------------

@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_robot_can_be_drawn(path):
    described = robot.load(path)
    found = draw(described)
    assert set(found) == {
        *(f'rods/{name}' for name in described.rods),
        *(f'discs/{name}' for name in described.discs),
        *(f'tendons/{name}' for name in described.tendons),
        *(f'chambers/{name}' for name in described.chambers),
        *(['platform'] if described.platform else [])}
    for markers in found.values():
        assert [m.id for m in markers] == list(range(len(markers)))
        for m in markers:
            o, p = m.pose.orientation, m.pose.position
            assert_allclose(np.linalg.norm([o.x, o.y, o.z, o.w]), 1.0, atol=1e-12)
            assert np.isfinite([p.x, p.y, p.z]).all() and np.isfinite(points(m)).all()
            assert m.scale.x > 0.0 and m.color.a > 0.0


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_robot_has_one_tree_of_frames(path):
    described = robot.load(path)
    shape = described.rest_shape(5)
    frames = RobotFrames(described, 'left/', 'world', 5)
    bodies = dict.fromkeys(described.standing, np.eye(4))
    places = np.array([pose_numbers(rod.poses) for rod in shape.values()])
    moving = deserialize_message(
        frames.moving(places, {**bodies, **bodies_of(described)}, 0, 0), TFMessage)
    transforms = moving.transforms + frames.static(Time()).transforms
    parents = {t.child_frame_id: t.header.frame_id for t in transforms}
    assert len(parents) == len(transforms)
    assert set(parents.values()) - set(parents) == {'world'}  # the only root
    assert set(parents) == {
        'left/base_link', 'left/tip', *(['left/platform'] if described.platform else []),
        *(f'left/{rod}_{i:02d}' for rod in described.rods for i in range(5)),
        *(f'left/{body}' for body in bodies),
        *(f'left/{name}_{frame}' for name in bodies for frame in described.bodies[name].frames)}
    if described.platform:
        assert parents['left/tip'] == 'left/platform'
        assert parents['left/platform'] == 'left/base_link'


# --- Paths ---------------------------------------------------------------------------------------

def test_a_tendon_is_drawn_from_its_start_to_its_end():
    tendon = Tendon(routing=Parallel((0.01, 0.0)), starts_at=0.1, ends_at=0.17)
    marker, = draw(arm(tendons={'t': tendon}), stations=7)['tendons/t']
    assert_allclose(points(marker), [[0.01, 0, z] for z in (0.1, 0.15, 0.17)], atol=1e-15)


def test_a_helix_looks_round_however_few_the_stations():
    tendon = Tendon(routing=Helical(0.01, turns=3.0))
    marker, = draw(arm(tendons={'t': tendon}), stations=11)['tendons/t']
    p = points(marker)
    middles = np.linalg.norm(0.5 * (p[1:] + p[:-1])[:, :2], axis=1)
    assert middles.min() > 0.95 * 0.01
    assert len(p) < 200


def test_a_tendon_through_discs_is_straight_between_them():
    bent = MountedRod((Segment(
        0.3, Circular(1e-3), Material(207e9, 8e3, poisson_ratio=0.3),
        rest=RestShape(curvature=(0.0, 5.0, 0.0))),))
    tendon = Tendon(routing=Parallel((0.01, 0.0)), guided_by='d', ends_at=0.25)
    described = Robot('arm', {'b': bent}, tendons={'t': tendon},
                      discs={'d': Discs(0.012, 0.001, count=3)})
    found = draw(described)
    marker, = found['tendons/t']
    poses = bent.rest_poses(np.array([0.0, 0.1, 0.2, 0.25]))
    assert_allclose(points(marker), (poses @ (0.01, 0, 0, 1))[:, :3], atol=1e-14)
    assert len(found['discs/d']) == 3


def test_a_chamber_is_a_tube_of_its_area_coloured_by_pressure_in_a_rod_to_look_through():
    chamber = {'area': np.pi * 1e-6, 'routing': Parallel((0.0, 0.01))}
    described = arm(chambers={
        'low': Chamber(**chamber), 'high': Chamber(**chamber, tip_area=3 * np.pi * 1e-6)})
    found = draw(described, efforts=[-5.0, 1e9])
    (low,), (high,) = found['chambers/low'], found['chambers/high']
    assert low.type == Marker.LINE_STRIP
    assert_allclose([low.scale.x, high.scale.x], [0.002, 0.002 * np.sqrt(2.0)])
    assert_allclose(rgba(low), SLACK_COLOUR, atol=1e-6)
    assert_allclose(rgba(high), TAUT_COLOUR, atol=1e-6)
    assert all(m.color.a < 0.5 for m in found['rods/b'])


def test_the_platform_is_a_disc_where_the_legs_have_it():
    described = robot.load(ROOT / 'config' / 'planar_parallel.yaml')
    marker, = draw(described)['platform']
    assert marker.type == Marker.CYLINDER
    assert_allclose([marker.scale.x, marker.scale.y, marker.scale.z], [0.15, 0.15, 0.002])
    p = marker.pose.position
    assert_allclose([p.x, p.y, p.z], [0.0, 0.0, 0.4], atol=1e-12)


@pytest.mark.parametrize('size', [5e-324, 1e-163, 1.0, 1e12])
def test_loads_of_any_size_are_drawn(size):
    described = robot.load(ROOT / 'config' / 'tendon_arm.yaml')
    markers = LoadMarkers(described, 'base_link')
    loads = {'pull': Load(size * np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])),
             'less': Load(1e-3 * size * np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0]))}
    message = markers.message(loads, described.rest_shape(3), {}, Time())
    longest = {}
    for marker in message.markers:
        tail, head = points(marker)
        assert np.isfinite([tail, head]).all()
        longest[marker.ns, marker.id] = np.linalg.norm(head - tail)
    for number in (0, 1):
        assert_allclose(longest['loads/pull', number], 0.3 * 0.24)
        assert size < 1e-163 or longest['loads/less', number] > 0.0


@pytest.mark.parametrize('scale', [0.0, 5e-324, 1e-200, 1e-13])
def test_stations_that_fall_together_are_drawn_as_a_rotation(scale):
    described = robot.load(ROOT / 'config' / 'tendon_arm.yaml')
    shape = described.rest_shape(5)
    shape['backbone'].poses[:, :3, 3] *= scale
    sheared = described.rest_shape(5)
    sheared['backbone'].poses[:, :3, :3] = np.array(  # its x axis along the chord
        [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    for poses in (shape['backbone'].poses, sheared['backbone'].poses):
        places, length = np.empty((4, 7)), np.empty(4)
        write_chords(poses, 1, places, length)
        R = matrix_from_quaternion(places[:, 3:])
        assert_allclose(np.einsum('sij,skj->sik', R, R), np.tile(np.eye(3), (4, 1, 1)), atol=1e-9)
        assert np.isfinite(length).all()
