"""Markers and frames of every shipped robot, without a process of its own."""

from dataclasses import replace

from builtin_interfaces.msg import Time
from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from cosserat_ros.assembly.element import Motion
from cosserat_ros.description import robot
from cosserat_ros.description.obstacles import Compound, HeightField, Sphere
from cosserat_ros.description.parts import Body, Chamber, Discs, Inertia, Pose, Tendon
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
from cosserat_ros.nodes.simulation.obstacle_markers import solids_of
from cosserat_ros.numerics.lie import matrix_from_quaternion
from cosserat_ros.rod.outline import write_chords
from cosserat_ros.simulation.simulator import Load, Simulator
from cosserat_ros.simulation.visuals import body_visuals

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
    """Return where the platform is, if there is one, and bodies by themselves: in base_link."""
    platform = described.platform and described.platform_pose(described.rest_shape(2))
    return {'platform': platform, **dict.fromkeys([*described.standing, 'base_link'], np.eye(4))}


def seen_of(described):
    """Return the bodies that have a size, and that no obstacle shows."""
    shown = {obstacle.body for obstacle in described.obstacles.values()}
    return [name for name, body in described.bodies.items()
            if (body.inertia.matrix().any() or body.contact) and name not in shown]


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
        *(f'bodies/{name}' for name in seen_of(described)),
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


@pytest.mark.parametrize('axis', [0, 1, 2])
@pytest.mark.parametrize('height', [0.002, 0.03])
def test_a_round_body_is_the_cylinder_of_its_mass_and_inertia(axis, height):
    """It is a disc or a pole, with its axis where the odd moment is."""
    mass, radius, centre = 0.6, 0.01, (0.0, 0.02, 0.005)
    moments = np.full(3, mass / 12.0 * (3.0 * radius ** 2 + height ** 2))
    moments[axis] = 0.5 * mass * radius ** 2
    shown, = body_visuals(
        Body(mass, inertia=Inertia(*moments.tolist()), centre_of_mass=centre))
    assert shown.shape == 'cylinder'
    assert_allclose(shown.sizes, [2.0 * radius, 2.0 * radius, height], rtol=1e-9)
    assert_allclose(np.abs(shown.pose[:3, 2]), np.eye(3)[axis], atol=1e-12)
    assert_allclose(shown.pose[:3, 3], centre)
    assert_allclose(np.linalg.det(shown.pose[:3, :3]), 1.0)


def test_a_body_is_a_box_of_its_mass_and_inertia_where_it_is():
    """The carriage of arm_on_slide, a body on a rod, and balls; what an obstacle shows is not."""
    described = robot.load(ROOT / 'config' / 'arm_on_slide.yaml')
    size = np.array([0.03, 0.02, 0.01])
    moments = 0.6 / 12.0 * np.array([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2,
                                     size[0] ** 2 + size[1] ** 2])
    block = Body(
        0.6, inertia=Inertia(*moments.tolist()), centre_of_mass=(0.0, 0.0, 0.005), at=0.12)
    described = replace(described, bodies={**described.bodies, 'block': block})
    shape = described.rest_shape(3)
    there = {'carriage': pose_at(0.1, 0.0, 0.0), 'turntable': pose_at(0.1, 0.0, 0.02)}
    data = RobotMarkers(described, shape, 'base_link').message(
        shape, dict.fromkeys(described.actuators, 0.0), there, 0, 0)
    found = {m.ns: m for m in deserialize_message(data, MarkerArray).markers}
    box = found['bodies/block']
    assert box.type == Marker.CUBE
    o = box.pose.orientation
    turned = matrix_from_quaternion(np.array([o.x, o.y, o.z, o.w]))
    assert_allclose(np.abs(turned @ [box.scale.x, box.scale.y, box.scale.z]), size, rtol=1e-6)
    assert_allclose(place(box), [0.0, 0.0, 0.155], atol=1e-12)  # the flange is 3 cm up
    assert_allclose(place(found['bodies/carriage']), [0.1, 0.0, 0.0], atol=1e-12)
    assert_allclose(place(found['bodies/turntable']), [0.1, 0.0, 0.02], atol=1e-12)


def test_a_body_is_drawn_once():
    """By its balls, or by the obstacle that it is."""
    gripper = robot.load(ROOT / 'config' / 'gripper.yaml')
    assert not [ns for ns in draw(gripper) if ns.startswith('bodies/')]
    balls = draw(replace(gripper, obstacles={}))['bodies/box']
    contact = gripper.bodies['box'].contact
    assert_allclose([place(m) for m in balls], contact.points, atol=1e-12)
    assert all(m.type == Marker.SPHERE and m.scale.x == 2.0 * contact.radius for m in balls)


def pose_at(*position):
    g = np.eye(4)
    g[:3, 3] = position
    return g


def place(marker):
    p = marker.pose.position
    return [p.x, p.y, p.z]


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


def drawn_pull(sim, **place):
    """Return where the arrow of a force along x of base_link at the start begins and ends."""
    load = Load(np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0]), **place)
    look = sim.look()
    marker, = LoadMarkers(sim.robot, 'base_link').message(
        {'pull': load}, look.shape, look.bodies, Time()).markers
    return points(marker)


@pytest.mark.parametrize('name, motion', [('tendon_arm', 'fixed'), ('mobile_arm', 'driven')])
def test_a_load_points_where_it_pulls_also_on_a_base_that_turned(name, motion):
    """It has the axes of base_link at the start; what is drawn, those of now."""
    described = robot.load(ROOT / 'config' / f'{name}.yaml')
    described = replace(described, base=replace(described.base, motion=motion))
    sim, along = Simulator(described), [1.0, 0.0, 0.0]
    if motion == 'driven':
        home, turn = described.base.matrix(), np.array(
            [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        sim.drive_base(Motion(home[:3, :3] @ turn, home[:3, 3], *np.zeros((4, 3))))
        along = [0.0, -1.0, 0.0]
    assert sim.statics().converged
    tail, head = drawn_pull(sim)
    assert_allclose(tail, sim.shape()['backbone'].poses[-1, :3, 3], atol=1e-12)
    assert_allclose((head - tail) / np.linalg.norm(head - tail), along, atol=1e-9)


def test_a_load_beside_a_body_is_drawn_there():
    sim = Simulator(robot.load(ROOT / 'config' / 'gripper.yaml'))
    g = np.eye(4)
    g[:3, 3] = 0.01, 0.02, 0.03
    tail, head = drawn_pull(sim, body='palm', offset=g)
    assert_allclose(tail, sim.body_poses()['palm'][:3, 3] + g[:3, 3], atol=1e-12)
    assert_allclose(np.cross(head - tail, [1.0, 0.0, 0.0]), np.zeros(3), atol=1e-12)


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


def test_a_height_field_is_drawn_as_its_surface():
    """A ramp: its triangles are the slope, four upright sides and the bottom."""
    ramp = HeightField([[0.0, 0.03], [0.0, 0.03]], (0.1, 0.06), depth=0.02, cells=8)
    placed = Compound(((ramp, Pose((0.0, 0.0, 0.5))), (Sphere(0.01), Pose())))
    solid, ball = solids_of(placed, 0.3)
    assert (solid.kind, ball.kind) == (Marker.TRIANGLE_LIST, Marker.SPHERE)
    assert solid.alpha > 0.0 and solid.scale == (1.0, 1.0, 1.0)
    assert_allclose(solid.pose[:3, 3], [0.0, 0.0, 0.5])
    corners = solid.corners
    assert len(corners) % 3 == 0 and len(corners) >= 3 * 12
    assert_allclose(corners.min(axis=0), [-0.05, -0.03, -0.02], atol=1e-12)
    assert_allclose(corners.max(axis=0), [0.05, 0.03, 0.03], atol=1e-12)
    a, b, c = np.moveaxis(corners.reshape(-1, 3, 3), 1, 0)
    normals = np.cross(b - a, c - a)
    area = 0.5 * np.linalg.norm(normals, axis=1)
    whole = (0.1 * 0.06 + np.hypot(0.1, 0.03) * 0.06 + 2 * 0.1 * (0.02 + 0.015)
             + 0.06 * 0.02 + 0.06 * 0.05)
    assert_allclose(area.sum(), whole, rtol=1e-9)
    slope = np.abs(normals @ [-0.3, 0.0, 1.0]) > 0.999 * np.sqrt(1.09) * 2.0 * area
    assert_allclose(area[slope].sum(), np.hypot(0.1, 0.03) * 0.06, rtol=1e-9)
