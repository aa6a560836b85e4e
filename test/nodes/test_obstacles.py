"""Obstacles and contacts of a simulated robot, set, moved and seen over real DDS."""

from dataclasses import replace
import random
import time

from absurd import message as absurd_message
from conftest import FUZZ
from driver import simulator
from geometry_msgs.msg import Point, Pose
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
import trimesh
from visualization_msgs.msg import Marker, MarkerArray

from cosserat_ros.description.obstacles import (
    Cylinder,
    Obstacle as LibraryObstacle,
    Triangles,
)
from cosserat_ros.description.parts import Pose as LibraryPose
from cosserat_ros.description.robot import load
from cosserat_ros.msg import Contacts, Obstacle, Obstacles, SolverStatus, Target
from cosserat_ros.nodes.common.qos import LATCHED_QOS
from cosserat_ros.nodes.simulation.obstacle_markers import ObstacleMarkers
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import (
    Reset,
    SaveSnapshot,
    SetObstacles,
    SolveInverseStatics,
    SolveStatics,
    Step,
)

ROBOT = """
name: touching_arm
rods:
  backbone:
    segments:
      - length: 0.3
        section: {shape: circular, radius: 0.002}
        material: {young_modulus: 70e9, poisson_ratio: 0.35, density: 6450}
    contact: {penetration: 1e-5, line_load: 100}
tendons:
  left: {routing: {shape: parallel, offset: [0.01, 0]}}
  right: {routing: {shape: parallel, offset: [-0.01, 0]}}
bodies:
  cart:
    {mass: 0.1, inertia: {xx: 1e-4, yy: 1e-4, zz: 1e-4}, frames: {top: {position: [0, 0, 0.1]}}}
joints:
  rail:
    {parent: base_link, child: cart, kind: prismatic, axis: [1, 0, 0], pose: {position: [1, 0, 0]},
     drive: position}
time: {step: 0.005}
"""
PLACE = (0.018, 0.0, 0.25)
ACROSS = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
POST = LibraryObstacle(Cylinder(0.01, 0.2), LibraryPose(PLACE, (0.5 * np.pi, 0.0, 0.0)), None, 0.3)
PULL = [30.0, 0.0]


def pose(position=(0.0, 0.0, 0.0), xyzw=(0.0, 0.0, 0.0, 1.0)):
    made = Pose()
    made.position.x, made.position.y, made.position.z = map(float, position)
    q = made.orientation
    q.x, q.y, q.z, q.w = map(float, xyzw)
    return made


def obstacle(name='post', frame='base_link', at=None, **fields):
    """Return a message that adds the post, or changes an obstacle."""
    fields.setdefault('primitives', [SolidPrimitive(
        type=SolidPrimitive.CYLINDER, dimensions=[0.2, 0.01])])
    fields.setdefault('friction', 0.3)
    made = Obstacle(id=name, pose=pose(PLACE, ACROSS) if at is None else at, **fields)
    made.header.frame_id = frame
    return made


def moved(name='post', at=None, frame='base_link'):
    return obstacle(name, frame, at, operation=Obstacle.MOVE, primitives=[])


def removed(name='post'):
    return obstacle(name, operation=Obstacle.REMOVE, primitives=[])


def tetrahedron(size=0.02):
    corners = size * np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], dtype=float)
    faces = [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)]
    return Mesh(vertices=[Point(x=x, y=y, z=z) for x, y, z in corners.tolist()],
                triangles=[MeshTriangle(vertex_indices=face) for face in faces])


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp('robots') / 'touching_arm.yaml'
    file.write_text(ROBOT)
    return file


@pytest.fixture(scope='module')
def driven(path):
    with simulator(robot=path) as (driver, process):
        driver.subscribe(Contacts, driver.topic('~/contacts'))
        driver.subscribe(MarkerArray, driver.topic('~/markers'), 100)
        driver.subscribe(Obstacles, driver.topic('~/obstacles_state'), LATCHED_QOS)
        driver.obstacles = driver.node.create_publisher(
            Obstacle, driver.topic('~/obstacles'), QoSProfile(depth=100))
        assert driver.spin_until(lambda: driver.obstacles.get_subscription_count() > 0)
        driver.process = process
        yield driver
        assert process.process.poll() is None, process.output()


@pytest.fixture
def arm(driven):
    """Return who drives an arm that is at rest and paused, without obstacles."""
    assert driven.ask(SetBool, 'pause', data=True).success
    answer = driven.ask(SetObstacles, 'set_obstacles', clear=True)
    assert answer.success, answer.message
    assert driven.ask(Reset, 'reset', target=Reset.Request.REST).success
    return driven


def put(driver, *messages, clear=False):
    answer = driver.ask(SetObstacles, 'set_obstacles', obstacles=list(messages), clear=clear)
    assert answer.success, answer.message


def steps(driver, count, pull=PULL):
    """Let some steps pass with an actuation that has arrived."""
    driver.tell('~/commands', Float64MultiArray(data=[*pull, 0.0]))
    answer = driver.ask(Step, 'step', steps=count, timeout=60.0)
    assert answer.success, answer.message
    return 1e-9 * answer.time.nanosec + answer.time.sec


def present(driver, names):
    """Wait until the obstacles are said to be these; return them by name."""
    heard = driver.heard('~/obstacles_state')

    def there():
        return heard and {o.id for o in heard[-1].obstacles} == set(names)
    assert driver.spin_until(there, 10.0), heard[-1:]
    return {o.id: o for o in heard[-1].obstacles}


def contacts(driver):
    """Return what touches, as of now."""
    return driver.fresh('~/contacts')


def xyz(v):
    return np.array([v.x, v.y, v.z])


def in_library(path, obstacles, count):
    sim = Simulator(load(path))
    assert sim.statics().converged
    sim.set_obstacles(obstacles)
    sim.command(left=PULL[0])
    for _ in range(count):
        assert sim.step(0.005).converged
    return sim


# --- What they do --------------------------------------------------------------------------------

@pytest.mark.parametrize('way', ['service', 'topic'])
def test_an_obstacle_bends_the_motion_as_in_the_library(arm, path, way):
    if way == 'service':
        put(arm, obstacle())
    else:
        arm.obstacles.publish(obstacle())
    one = present(arm, ['post'])['post']
    assert one.primitives[0] == obstacle().primitives[0]
    assert (one.header.frame_id, one.friction, one.stiffness) == ('base_link', 0.3, 0.0)
    assert_allclose(xyz(one.pose.position), PLACE, atol=1e-12)
    steps(arm, 100)
    sim = in_library(path, {'post': POST}, 100)
    assert_allclose(arm.tip(), sim.tip_pose()[:3, 3], atol=1e-6)

    heard = contacts(arm)
    assert heard.header.frame_id == 'base_link'
    assert {(c.part, c.other, c.other_is_rod) for c in heard.contacts} == {
        ('backbone', 'post', False)}
    total = sum(xyz(c.normal_force) + xyz(c.friction_force) for c in heard.contacts)
    moment = sum(np.cross(
        xyz(c.position) - PLACE, xyz(c.normal_force) + xyz(c.friction_force))
        for c in heard.contacts)
    wrench, = heard.wrenches
    assert wrench.obstacle == 'post'
    assert_allclose(xyz(wrench.origin), PLACE, atol=1e-12)
    assert np.linalg.norm(total) > 0.1
    assert_allclose(xyz(wrench.wrench.force), -total, rtol=1e-9, atol=1e-12)
    assert_allclose(xyz(wrench.wrench.torque), -moment, rtol=1e-9, atol=1e-12)
    there = sim.solver.contact_wrenches()['post']
    assert_allclose(xyz(wrench.wrench.force), there[:3], rtol=1e-3, atol=1e-4)
    for c, known in zip(heard.contacts, sim.solver.contacts(), strict=True):
        assert_allclose(c.arc_length, known.s, rtol=1e-9)
        assert_allclose(c.gap, known.gap, rtol=1e-3)
        assert c.gap < 0.0
        assert c.sliding == known.sliding
        assert_allclose(np.linalg.norm(xyz(c.normal)), 1.0)
        assert_allclose(xyz(c.normal) @ xyz(c.friction_force), 0.0, atol=1e-9)

    # Without it, the arm goes on to where it would be.
    put(arm, removed())
    present(arm, [])
    assert arm.ask(Reset, 'reset', target=Reset.Request.EQUILIBRIUM).success
    free = Simulator(load(path))
    free.command(left=PULL[0])
    free.statics()
    assert_allclose(arm.tip(), free.tip_pose()[:3, 3], atol=1e-6)
    assert not contacts(arm).contacts
    assert not contacts(arm).wrenches


@pytest.mark.parametrize('pulled', [0.0, 24.0])
def test_inverse_statics_reach_round_a_post(arm, path, pulled):
    """From where nothing touches, or where it leans on the post: confirmed by statics."""
    sim = Simulator(load(path))
    assert sim.statics().converged
    sim.set_obstacles({'post': POST})
    sim.command(left=PULL[0])
    assert sim.statics().converged
    goal, touch = sim.tip_pose()[:3, 3], sim.solver.contacts()
    assert np.linalg.norm(sum(c.force for c in touch)) > 0.5
    put(arm, obstacle())
    steps(arm, 1, [pulled, 0.0])
    arm.equilibrium()
    assert bool(contacts(arm).contacts) == bool(pulled)
    target = Target(kind=Target.POSITION)
    target.pose.position = Point(**dict(zip('xyz', goal.tolist())))
    answer = arm.ask(SolveInverseStatics, 'solve_inverse_statics', 60.0, targets=[target])
    assert answer.status.code == SolverStatus.CONVERGED, answer.status.message
    assert answer.position_errors[0] < 1e-7
    # With friction, other points slide on the other way there: another tension, as exactly met.
    assert answer.actuation[0].value == pytest.approx(PULL[0], rel=0.01 if pulled else 1e-4)
    forward = arm.ask(SolveStatics, 'solve_statics', actuation=answer.actuation)
    assert forward.status.code == SolverStatus.CONVERGED, forward.status.message
    assert_allclose(xyz(forward.equilibrium.backbone.tip.position), goal, atol=1e-7)
    put(arm, removed())
    free = arm.ask(SolveStatics, 'solve_statics', actuation=answer.actuation)
    assert np.linalg.norm(xyz(free.equilibrium.backbone.tip.position) - goal) > 1e-3


def test_it_moves_with_what_it_rides_on_and_where_it_is_put(arm):
    put(arm, obstacle('on_cart', 'cart', pose((0.0, 0.0, 0.3))),
        obstacle('on_top', 'cart_top', pose()), obstacle('fixed', 'world', pose((0.0, 1.0, 0.0))))
    said = present(arm, ['on_cart', 'on_top', 'fixed'])
    assert said['on_top'].header.frame_id == 'cart'
    assert_allclose(said['on_top'].pose.position.z, 0.1, atol=1e-12)

    def drawn(ns):
        return [m for a in arm.heard('~/markers') for m in a.markers if m.ns == f'obstacles/{ns}']

    def check(ns, place, atol=1e-6):
        """Wait until it is drawn there; it is, again, each second."""
        arm.heard('~/markers').clear()
        assert arm.spin_until(lambda: drawn(ns) and np.allclose(
            xyz(drawn(ns)[-1].pose.position), place, rtol=0.0, atol=atol), 20.0), drawn(ns)[-1:]
    check('on_cart', (1.0, 0.0, 0.3), 1e-9)
    arm.tell('~/commands', Float64MultiArray(data=[0.0, 0.0, 0.2]))
    assert arm.ask(Step, 'step', steps=50).success
    check('on_cart', (1.2, 0.0, 0.3))
    check('on_top', (1.2, 0.0, 0.1))
    put(arm, moved('on_cart', pose((0.0, 0.2, 0.0)), 'cart'), moved('fixed', pose((2, 0, 0))))
    check('on_cart', (1.2, 0.2, 0.0))
    check('fixed', (2.0, 0.0, 0.0))

    def taken_away():
        """Tell whether it is said that it is gone: once, which a busy machine may lose."""
        put(arm, obstacle('fixed', at=pose((2.0, 0.0, 0.0))))
        check('fixed', (2.0, 0.0, 0.0))
        put(arm, removed('fixed'))
        return arm.spin_until(
            lambda: any(m.action == Marker.DELETE for m in drawn('fixed')), 2.0)
    assert any(taken_away() for _ in range(5))


def test_a_moved_post_pushes_the_running_arm(arm):
    put(arm, obstacle())
    steps(arm, 60)
    assert arm.ask(SetBool, 'pause', data=False).success
    before = arm.tip()[0]
    for k in range(60):
        p = (PLACE[0] - 1.5e-4 * (k + 1), *PLACE[1:])
        arm.obstacles.publish(moved(at=pose(p, ACROSS)))
        arm.spin(0.02)
    assert arm.spin_until(lambda: arm.tip()[0] < before - 0.005, 20.0)
    heard = contacts(arm)
    assert heard.contacts
    assert arm.ask(SetBool, 'pause', data=True).success


def test_shapes_of_all_kinds_are_taken_and_drawn(arm):
    box = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1, 0.2, 0.3])
    ball = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.05])
    cone = SolidPrimitive(type=SolidPrimitive.CONE, dimensions=[0.1, 0.05])
    many = obstacle(
        'many', at=pose((1.0, 2.0, 3.0)), primitives=[box, ball, cone],
        primitive_poses=[pose((x, 0.0, 0.0)) for x in (0.0, 0.5, 1.0)],
        meshes=[tetrahedron()], planes=[Plane(coef=[0.0, 0.0, 2.0, 20.0])])
    answer = arm.ask(SetObstacles, 'set_obstacles', timeout=90.0, obstacles=[many])
    assert answer.success, answer.message
    one = present(arm, ['many'])['many']
    assert [p.type for p in one.primitives] == [SolidPrimitive.BOX, SolidPrimitive.SPHERE]
    assert len(one.meshes) == 2
    assert len(one.meshes[1].vertices) == 4
    assert_allclose(one.planes[0].coef, [0.0, 0.0, 1.0, 10.0], atol=1e-9)
    put(arm, obstacle('many', operation=Obstacle.APPEND, primitives=[ball], at=pose((0, 0, 3))))
    assert arm.spin_until(lambda: len(present(arm, ['many'])['many'].primitives) == 3, 10.0)
    one = present(arm, ['many'])['many']
    assert_allclose(xyz(one.primitive_poses[2].position), (-1.0, -2.0, 0.0), atol=1e-9)
    arm.heard('~/markers').clear()

    def drawn():
        return {m.id: m for a in arm.heard('~/markers') for m in a.markers
                if m.ns == 'obstacles/many'}
    assert arm.spin_until(lambda: len(drawn()) >= 6, 20.0)
    shown = drawn()
    assert sorted(m.type for m in shown.values()) == sorted([
        Marker.CUBE, Marker.CUBE, Marker.SPHERE, Marker.SPHERE, Marker.TRIANGLE_LIST,
        Marker.TRIANGLE_LIST])
    plate, = (m for m in shown.values() if m.color.a < 1.0)
    assert_allclose(plate.pose.position.z, 3.0 - 10.0 - 0.5 * plate.scale.z, atol=1e-9)
    # What is said can be sent again.
    put(arm, one, clear=True)
    again = present(arm, ['many'])['many']
    assert [p.type for p in again.primitives] == [p.type for p in one.primitives]


def test_a_mesh_is_moved_without_a_word_of_the_others_and_many_are_drawn(path):
    """Numbers of one message would be too many for all meshes; to make it anew takes long."""
    ball = trimesh.creation.uv_sphere(radius=0.05, count=[27, 27])
    scene = {f'ball_{k}': LibraryObstacle(
        Triangles(ball.vertices, ball.faces, cells=8), LibraryPose((k + 1.0, 0.0, 0.0)))
        for k in range(40)}
    sim, markers = Simulator(load(path)), ObstacleMarkers('base_link', 0.3)

    def drawn():
        sim.set_obstacles(scene)
        return {m.ns: m for data in markers.messages(sim, 1, 0, 0)
                for m in deserialize_message(data, MarkerArray).markers}
    first = drawn()
    assert len(first) == 40
    assert sum(len(m.points) for m in first.values()) == 40 * 3 * len(ball.faces)
    scene['ball_7'] = replace(scene['ball_7'], pose=LibraryPose((0.0, 2.0, 0.0)))
    markers._sent = np.inf  # they are not sent again for those who came since
    (moved,) = drawn().values()
    assert moved.ns == 'obstacles/ball_7'
    assert_allclose(xyz(moved.pose.position), (0.0, 2.0, 0.0))


def test_contact_forces_are_arrows(arm):
    put(arm, obstacle())
    steps(arm, 60)
    assert arm.set_parameter('contact_scale', 0.1).successful

    def arrows():
        arm.heard('~/markers').clear()
        arm.spin(0.5)
        return {m.id: m for a in arm.heard('~/markers') for m in a.markers if m.ns == 'contacts'}
    touching, shown = contacts(arm).contacts, arrows()
    assert len(shown) == len(touching) > 0
    for k, c in enumerate(touching):
        tail, tip = map(xyz, shown[k].points)
        assert_allclose(tail, xyz(c.position), atol=1e-9)
        assert_allclose(tip - tail, 0.1 * (xyz(c.normal_force) + xyz(c.friction_force)),
                        rtol=1e-6, atol=1e-9)
    assert arm.set_parameter('contact_scale', 0.0).successful
    tails = [np.linalg.norm(xyz(m.points[1]) - xyz(m.points[0])) for m in arrows().values()]
    assert_allclose(max(tails), 0.09, rtol=1e-6)
    put(arm, removed())
    assert all(m.action == Marker.DELETE for m in arrows().values())


# --- Reset ---------------------------------------------------------------------------------------

def test_reset_keeps_them_and_snapshots_have_their_own(arm):
    put(arm, obstacle())
    assert arm.ask(SaveSnapshot, 'save_snapshot', name='with_post').success
    steps(arm, 20)
    assert arm.ask(Reset, 'reset', target=Reset.Request.REST).success
    present(arm, ['post'])
    assert arm.ask(Reset, 'reset', target=Reset.Request.EQUILIBRIUM).success
    put(arm, obstacle('other', at=pose((5.0, 0.0, 0.0))), removed())
    present(arm, ['other'])
    assert arm.ask(Reset, 'reset', target=Reset.Request.SNAPSHOT, snapshot='with_post').success
    present(arm, ['post'])
    # Where the robot would be within one, it stays where it is.
    steps(arm, 150)
    p = arm.tip()
    assert p[0] > 0.005
    put(arm, removed())
    assert arm.ask(Reset, 'reset', target=Reset.Request.EQUILIBRIUM).success
    bent = arm.tip()
    assert bent[0] > 0.012
    put(arm, obstacle(at=pose((0.0, 0.0, 0.292), ACROSS)))
    answer = arm.ask(Reset, 'reset', target=Reset.Request.REST)
    assert not answer.success
    assert 'deep in post' in answer.message
    assert_allclose(arm.tip(), bent, atol=1e-9)


# --- What is refused -----------------------------------------------------------------------------

def of_sizes(kind, *sizes):
    return obstacle('bad', primitives=[SolidPrimitive(type=kind, dimensions=sizes)])


def with_mesh(**fields):
    mesh = tetrahedron()
    for name, value in fields.items():
        setattr(mesh, name, value)
    return obstacle('bad', primitives=[], meshes=[mesh])


BAD = {
    'no id': (obstacle(''), 'id must be given'),
    'no shape': (obstacle('bad', primitives=[]), 'primitives'),
    'operation': (obstacle('bad', operation=7), 'operation must be one of ADD'),
    'unknown frame': (obstacle('bad', 'moon'), 'frame_id'),
    'frame of a rod': (obstacle('bad', 'backbone_10'), 'frame_id'),
    'unknown shape': (of_sizes(5, 0.1, 0.1), 'type must be one of BOX'),
    'two sizes of three': (of_sizes(SolidPrimitive.BOX, 0.1, 0.1), 'dimensions must be 3'),
    'a negative size': (of_sizes(SolidPrimitive.SPHERE, -1.0), 'dimensions[0]'),
    'no size': (of_sizes(SolidPrimitive.CYLINDER, 0.1, 0.0), 'dimensions[1]'),
    'NaN': (of_sizes(SolidPrimitive.SPHERE, float('nan')), 'dimensions[0]'),
    'huge': (of_sizes(SolidPrimitive.SPHERE, 1e300), 'dimensions[0]'),
    'far': (obstacle('bad', at=pose((1e300, 0.0, 0.0))), 'pose.position.x'),
    'NaN far': (obstacle('bad', at=pose((0.0, float('nan'), 0.0))), 'pose.position.y'),
    'no rotation': (obstacle('bad', at=pose((1.0, 0.0, 0.0), (0.0,) * 4)), 'pose.orientation'),
    'poses': (obstacle('bad', primitive_poses=[pose(), pose()]), 'primitive_poses'),
    'a pose': (obstacle('bad', primitive_poses=[pose((0.0, 0.0, float('inf')))]),
               'primitive_poses[0].position.z'),
    'friction': (obstacle('bad', friction=-0.1), 'friction'),
    'friction NaN': (obstacle('bad', friction=float('nan')), 'friction'),
    'stiffness': (obstacle('bad', stiffness=-1.0), 'stiffness'),
    'flat plane': (obstacle('bad', primitives=[], planes=[Plane()]), 'coef'),
    'open mesh': (with_mesh(triangles=tetrahedron().triangles[:3]), 'closed'),
    'no triangles': (with_mesh(triangles=[]), 'faces'),
    'no vertices': (with_mesh(vertices=[]), 'vertices'),
    'a vertex too many': (with_mesh(
        triangles=[MeshTriangle(vertex_indices=(0, 1, 2 ** 32 - 1))]), 'faces'),
    'a vertex NaN': (with_mesh(vertices=[
        Point(x=float('nan')), *tetrahedron().vertices[1:]]), 'vertices'),
    'one point': (with_mesh(vertices=[Point()] * 4), "obstacles[1] 'bad'"),
    'unknown': (moved('bad'), "'bad'"),
    'gone': (removed('bad'), "'bad'"),
    'extend nothing': (obstacle('bad', operation=Obstacle.APPEND), "'bad'"),
    'move with shapes': (obstacle('post', operation=Obstacle.MOVE), 'none, to MOVE'),
    'in the arm': (obstacle('bad', at=pose((0.0, 0.0, 0.2))), 'deep in bad'),
    'long id': (obstacle('x' * 1001), 'id must be'),
    'too many shapes': (obstacle('bad', at=pose((9.0, 0.0, 0.0)), primitives=[
        SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.1])] * 600), 'at most 500'),
}


@pytest.mark.parametrize('name', BAD)
def test_what_is_wrong_is_refused_whole(arm, name):
    put(arm, obstacle())
    bad, said = BAD[name]
    answer = arm.ask(SetObstacles, 'set_obstacles', obstacles=[
        obstacle('good', at=pose((4.0, 0.0, 0.0))), bad])
    assert not answer.success
    assert said in answer.message, answer.message
    assert 'obstacles[1]' in answer.message or name in (
        'in the arm', 'too many shapes'), answer.message
    present(arm, ['post'])


def test_bad_messages_are_counted_and_said(arm):
    put(arm, obstacle())
    before = int(arm.diagnosis()[2]['rejected commands'])
    for bad, _ in BAD.values():
        arm.obstacles.publish(bad)
    arm.obstacles.publish(obstacle('good', at=pose((4.0, 0.0, 0.0))))
    present(arm, ['post', 'good'])

    def counted():
        return int(arm.diagnosis()[2]['rejected commands']) >= before + len(BAD)
    assert arm.spin_until(counted, 20.0)
    assert '~/obstacles' in arm.diagnosis()[2]['last rejection']


def test_too_many_obstacles_are_refused(arm):
    ball = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.1])]
    put(arm, *(obstacle(f'{k}', at=pose((k + 3.0, 0.0, 0.0)), primitives=ball)
               for k in range(200)))
    answer = arm.ask(SetObstacles, 'set_obstacles', obstacles=[
        obstacle('more', at=pose((3.0, 0.0, 0.0)), primitives=ball)])
    assert not answer.success
    assert 'at most 200' in answer.message
    put(arm, removed(''))
    present(arm, [])


def test_nothing_is_taken_while_inactive(arm):
    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        assert arm.call(ChangeState, f'{arm.own}/change_state', request).success
    put(arm, obstacle())
    change(Transition.TRANSITION_DEACTIVATE)
    answer = arm.ask(SetObstacles, 'set_obstacles', clear=True)
    assert not answer.success and 'not active' in answer.message
    change(Transition.TRANSITION_ACTIVATE)
    present(arm, ['post'])
    put(arm, removed())


@pytest.mark.timeout(120 * FUZZ)
def test_fuzz_obstacles_in_and_out_of_a_moving_arm(arm):
    """Whatever comes, wherever: each request is answered, and the arm moves on, finite."""
    rng, numbers = random.Random(5), np.random.default_rng(5)
    assert arm.ask(SetBool, 'pause', data=False).success
    refused = taken = 0
    for k in range(60 * FUZZ):
        if k % 3 == 0:
            request = SetObstacles.Request(obstacles=[absurd_message(Obstacle, numbers)])
        else:
            at = pose([rng.uniform(-0.1, 0.1), rng.uniform(-0.1, 0.1), rng.uniform(0.0, 0.35)],
                      numbers.normal(size=4))
            kind, count = rng.choice([(1, 3), (2, 1), (3, 2)])
            sizes = [10.0 ** rng.uniform(-3.0, -1.0) for _ in range(count)]
            request = SetObstacles.Request(
                clear=rng.random() < 0.2, obstacles=[obstacle(
                    rng.choice('abcd'), at=at, friction=rng.choice([0.0, 0.5]),
                    stiffness=rng.choice([0.0, 1e5]),
                    primitives=[SolidPrimitive(type=kind, dimensions=sizes)])])
        answer = arm.call(SetObstacles, arm.topic('~/set_obstacles'), request, 30.0)
        refused, taken = refused + (not answer.success), taken + answer.success
        assert answer.success != bool(answer.message)
        arm.send('~/commands', Float64MultiArray(
            data=[rng.uniform(0.0, 20.0), rng.uniform(0.0, 20.0), 0.0]))
        arm.spin(0.05)
    assert min(refused, taken) > 5
    put(arm, removed(''))
    for _ in range(100):
        arm.send('~/commands', Float64MultiArray(data=[0.0, 0.0, 0.0]))
        arm.spin(0.02)
    deadline = time.monotonic() + 20.0
    while np.linalg.norm(arm.tip() - (0.0, 0.0, 0.3)) > 0.02:
        assert time.monotonic() < deadline, arm.tip()
    assert arm.process.process.poll() is None
