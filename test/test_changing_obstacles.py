"""Obstacles that are set, moved and removed while a robot moves, against those of its file."""

from dataclasses import replace
import time

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.assembly.scene import _nearest
from cosserat_ros.checks.errors import InvalidModel, UnknownName
from cosserat_ros.description.joints import RobotBase
from cosserat_ros.description.obstacles import (
    Box,
    Compound,
    ContactProperties,
    Cylinder,
    HeightField,
    MOST_SHAPES,
    Obstacle,
    Plane,
    Sphere,
    Triangles,
    Tube,
)
from cosserat_ros.description.parts import Pose, Tendon
from cosserat_ros.description.robot import MountedRod, Robot
from cosserat_ros.description.rod import Material, Segment
from cosserat_ros.description.routing import Parallel
from cosserat_ros.description.section import Circular
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.simulation.contacts import contacts_of, ObstaclePlaces
from cosserat_ros.simulation.simulator import Simulator

ACROSS = (0.5 * np.pi, 0.0, 0.0)
POST = Obstacle(Cylinder(0.01, 0.2), Pose((0.018, 0.0, 0.25), ACROSS), friction=0.3)
FAR = Obstacle(Sphere(0.05), Pose((5.0, 0.0, 0.0)))
THIN = Obstacle(Cylinder(1e-5, 0.1), Pose((-4.0, 0.0, 0.2)), friction=0.1)


def arm(obstacles=None, base=None, contact=True):
    nitinol = Material(70e9, 6450.0, poisson_ratio=0.35)
    rod = MountedRod((Segment(0.3, Circular(0.002), nitinol),), contact=ContactProperties(
        penetration=1e-5, line_load=100.0) if contact else None)
    extra = {} if base is None else {'base': base}
    return Simulator(Robot(
        'arm', {'backbone': rod}, obstacles=obstacles or {},
        tendons={'left': Tendon(routing=Parallel((0.01, 0.0))),
                 'right': Tendon(routing=Parallel((-0.01, 0.0)))}, **extra))


def run(sim, steps, dt=5e-3, **commands):
    sim.command(**commands)
    for _ in range(steps):
        solution = sim.step(dt)
        assert solution.converged, solution.message
    return sim


def pressed(obstacles=None):
    """Return an arm that is pressed against the post, and still moves."""
    sim = arm({'post': POST, **(obstacles or {})})
    assert sim.statics().converged
    return run(sim, 60, left=30.0)


def test_what_is_set_later_acts_as_what_is_in_the_file():
    from_file, later = arm({'post': POST}), arm()
    for sim in (from_file, later):
        assert sim.statics().converged
    later.set_obstacle('post', POST)
    for sim in (from_file, later):
        run(sim, 80, left=30.0)
    assert from_file.solver.contacts()
    assert_allclose(later.solver.z, from_file.solver.z, rtol=1e-9, atol=1e-12)
    assert_allclose(later.solver.contact_wrenches()['post'],
                    from_file.solver.contact_wrenches()['post'], rtol=1e-7, atol=1e-12)
    # Removed, the arm goes where it would be without.
    later.remove_obstacle('post')
    assert later.obstacles == {}
    assert later.statics().converged
    free = arm()
    free.command(left=30.0)
    assert free.statics().converged
    assert_allclose(later.tip_pose(), free.tip_pose(), atol=1e-7)
    assert np.linalg.norm(free.tip_pose()[:3, 3] - from_file.tip_pose()[:3, 3]) > 0.005


@pytest.mark.parametrize('other', [FAR, THIN], ids=['thick', 'thin'])
def test_obstacles_far_away_change_nothing(other):
    """A thin one lets rods have more points: friction holds on at these."""
    plain, crowded = pressed(), pressed()
    anchors = plain.solver.tree.contacts.memory.slots
    assert anchors[:, :, 0].any()
    crowded.set_obstacle('other', other)
    assert crowded.time == plain.time
    rubs, rubbed = (contacts_of(sim).frictions.sum(axis=0) for sim in (crowded, plain))
    assert np.linalg.norm(rubbed) > 0.05
    assert_allclose(rubs, rubbed, atol=(1e-12 if other is FAR else 0.5) * np.abs(rubbed).max())
    close = 1e-12 if other is FAR else 3e-4
    for sim in (plain, crowded):
        run(sim, 20)
    assert_allclose(crowded.tip_pose(), plain.tip_pose(), atol=close)
    crowded.remove_obstacle('other')
    for sim in (plain, crowded):
        run(sim, 20)
    assert_allclose(crowded.tip_pose(), plain.tip_pose(), atol=close)


def test_moved_obstacles_push():
    sim, contact = pressed(), None
    before = sim.tip_pose()[0, 3]
    for k in range(40):
        p = POST.pose.position
        sim.move_obstacle('post', Pose((p[0] - 2e-4 * (k + 1), *p[1:]), ACROSS))
        run(sim, 2)
        contact = sim.solver.contacts()
    assert contact
    assert sim.tip_pose()[0, 3] < before - 0.006


def test_statics_and_analyses_know_of_them():
    sim, other = arm(), arm({'post': POST})
    sim.statics()
    sim.set_obstacle('post', POST)
    for each in (sim, other):
        each.command(left=30.0)
        assert each.statics().converged
        assert each.solver.contacts()
    assert_allclose(sim.tip_pose(), other.tip_pose(), atol=1e-9)
    held = linearize(sim).compliance[0, 0]
    inverse = InverseStatics(sim)
    goal = sim.tip_pose()[:3, 3]
    result = inverse.solve([Target(goal)])
    assert result.met
    assert_allclose(result.commands['left'] - result.commands['right'], 30.0, atol=0.1)
    sim.remove_obstacle('post')
    sim.statics()
    assert linearize(sim).compliance[0, 0] > 2.0 * held
    result = inverse.solve([Target(goal)])
    # Without the post, another pull brings it there, if any does.
    assert abs(result.commands['left'] - result.commands['right'] - 30.0) > 5.0


def test_snapshots_have_their_obstacles():
    sim, other = pressed(), arm()
    kept = sim.snapshot()
    ahead = run(sim, 10).solver.z.copy()
    other.statics()
    other.go_to(kept)
    assert dict(other.obstacles) == {'post': POST}
    assert_allclose(run(other, 10).solver.z, ahead, rtol=1e-6, atol=1e-8)
    other.set_obstacle('far', FAR)
    other.move_obstacle('post', Pose((1.0, 0.0, 0.0)))
    other.go_to(kept)
    assert_allclose(run(other, 10).solver.z, ahead, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize('depth', [0.0005, 0.0015])
def test_what_overlaps_is_pushed_out_gently(depth):
    """A rigid ball set into the side of the rod: no velocity beyond what damping lets pass."""
    sim = arm()
    sim.statics()
    sim.set_obstacle('ball', Obstacle(Sphere(0.02), Pose((0.022 - depth, 0.0, 0.2))))
    fastest = 0.0
    for _ in range(400):
        assert sim.step(2e-3).converged
        fastest = max(fastest, np.linalg.norm(sim.tip_twist()[:3]))
    assert fastest < 3.0
    assert sim.tip_pose()[0, 3] < -0.5 * depth
    assert all(-c.gap < 1e-4 for c in sim.solver.contacts())


@pytest.mark.parametrize(('name', 'obstacle', 'said'), [
    ('in', Obstacle(Sphere(0.05), Pose((0.0, 0.0, 0.2))), 'deep in in'),
    ('under', Obstacle(Plane(), Pose((0.0, 0.0, 0.5))), 'deep in under'),
    ('narrow', Obstacle(Tube(((0.0, 0.0, 0.0), (0.0, 0.0, 0.3)), (0.001,))), 'radii'),
    ('off', Obstacle(Sphere(0.01), body='moon'), 'moon'),
    ('open', Obstacle(Triangles([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])), 'closed'),
    ('none', 'a ball', 'an Obstacle'),
])
def test_what_cannot_be_is_refused_and_changes_nothing(name, obstacle, said):
    sim, other = pressed(), pressed()
    z = sim.solver.z.copy()
    with pytest.raises((InvalidModel, UnknownName), match=said):
        sim.set_obstacle(name, obstacle)
    assert dict(sim.obstacles) == {'post': POST}
    assert_allclose(sim.solver.z, z, atol=0.0)
    for each in (sim, other):
        run(each, 20)
    assert_allclose(sim.solver.z, other.solver.z, rtol=1e-6, atol=1e-8)


def test_moves_into_the_robot_are_refused():
    sim = pressed()
    with pytest.raises(InvalidModel, match='deep in post'):
        sim.move_obstacle('post', Pose((0.0, 0.0, 0.15), ACROSS))
    assert sim.obstacles['post'] is POST
    with pytest.raises(UnknownName, match="'pots'"):
        sim.move_obstacle('pots', Pose())
    with pytest.raises(UnknownName, match="'pots'"):
        sim.remove_obstacle('pots')
    run(sim, 20)


def test_too_many_are_refused():
    sim = arm()
    with pytest.raises(InvalidModel, match=f'at most {MOST_SHAPES}'):
        sim.set_obstacles({f'{k}': FAR for k in range(MOST_SHAPES + 1)})


def test_several_shapes_are_one_obstacle():
    """A ball within a box changes nothing of the sum, whatever the frame of both."""
    turned = Pose((0.01, 0.02, 0.0), (0.3, 0.2, 0.1))
    inside = np.linalg.inv(turned.matrix())
    box, other = arm(), arm()
    wall = Obstacle(Box((0.02, 0.2, 0.2)), Pose((0.014, 0.0, 0.25)))
    for sim in (box, other):
        sim.statics()
    box.set_obstacle('wall', wall)
    R = inside[:3, :3] @ wall.pose.matrix()[:3, :3]
    seen = Pose(tuple((inside @ wall.pose.matrix())[:3, 3]), (
        np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(R[2, 0]), np.arctan2(R[1, 0], R[0, 0])))
    other.set_obstacle('wall', Obstacle(Compound((
        (wall.geometry, seen), (Sphere(0.01), Pose((3.0, 0.0, 0.0))))), turned))
    for sim in (box, other):
        run(sim, 60, left=30.0)
    assert_allclose(other.tip_pose(), box.tip_pose(), atol=1e-9)
    a, b = contacts_of(box), contacts_of(other)
    assert a.parts
    assert a.others == b.others == ['wall'] * len(a.parts)
    assert_allclose(b.wrenches['wall'][:3], a.wrenches['wall'][:3], atol=1e-5)
    arm_of = a.origins['wall'] - b.origins['wall']
    assert_allclose(
        b.wrenches['wall'][3:],
        a.wrenches['wall'][3:] + np.cross(arm_of, a.wrenches['wall'][:3]), rtol=1e-4, atol=1e-9)
    assert_allclose(ObstaclePlaces().at(other)[0], turned.matrix(), atol=1e-12)


def test_surfaces_are_not_taken_for_each_other():
    """Two balls of triangles of other sizes; each lies where a ball of its size would."""
    import trimesh
    tips = []
    for radius in (0.02, 0.025):
        ball = trimesh.creation.icosphere(subdivisions=3, radius=radius)
        sim, known = arm(), arm()
        for each, geometry in (
                (sim, Triangles(ball.vertices, ball.faces, cells=16, margin=0.006)),
                (known, Sphere(radius))):
            each.statics()
            each.set_obstacle('ball', Obstacle(geometry, Pose((0.03, 0.0, 0.24))))
            run(each, 80, left=30.0)
            assert each.solver.contacts()
        assert_allclose(sim.tip_pose()[:3, 3], known.tip_pose()[:3, 3], atol=1e-3)
        tips.append(sim.tip_pose()[0, 3])
    assert tips[0] - tips[1] > 0.002


@pytest.mark.parametrize('inside_a_compound', [False, True])
def test_a_surface_whose_distances_are_not_known_as_far_as_a_rod_is_wide_is_refused(
        inside_a_compound):
    """Where nothing is known there is a distance, but no direction to push."""
    field = HeightField([[0.0, 0.0], [0.0, 0.0]], (0.1, 0.1), cells=16, margin=0.02)
    sim, pose = arm(), Pose((0.0, 0.0, 0.5))
    sim.statics()
    for margin in (0.0019, 0.0021):
        surface = replace(field, margin=margin)
        geometry = Compound(((Sphere(0.01), Pose()), (surface, Pose()))) if (
            inside_a_compound) else surface
        if margin < 0.002:
            with pytest.raises(InvalidModel, match='0.002.*backbone') as error:
                sim.set_obstacle('hill', Obstacle(geometry, pose, friction=0.3))
            assert error.value.field == 'obstacles.hill.geometry.margin'
            assert not sim.obstacles and not sim.solver.obstacles
        else:
            sim.set_obstacle('hill', Obstacle(geometry, pose, friction=0.3))


def test_forces_add_up_to_the_wrench():
    sim = pressed()
    a = contacts_of(sim)
    forces = a.pressures + a.frictions
    assert_allclose(-forces.sum(axis=0), a.wrenches['post'][:3], rtol=1e-12, atol=1e-15)
    assert_allclose(a.wrenches['post'], sim.solver.contact_wrenches()['post'], rtol=1e-9,
                    atol=1e-12)
    assert_allclose(np.einsum('ni,ni->n', a.frictions, a.normals), 0.0, atol=1e-12)
    sizes = np.linalg.norm(a.frictions, axis=1), np.linalg.norm(a.pressures, axis=1)
    assert (sizes[0] <= 0.3 * sizes[1] * (1.0 + 1e-6)).all()


def test_on_a_base_that_moves():
    """One rides on base_link, the other stays; both are seen from base_link."""
    sim = arm(base=RobotBase(motion='driven'))
    sim.statics()
    sim.set_obstacles({'stays': FAR, 'rides': replace(FAR, body='base_link')})
    sim.drive_base(lambda last, time, dt: last._replace(
        p=np.array([0.1 * time, 0.0, 0.0]), p_t=np.array([0.1, 0.0, 0.0])))
    run(sim, 20)
    stays, rides = ObstaclePlaces().at(sim)[:, :3, 3]
    assert_allclose(rides, FAR.pose.position, atol=1e-12)
    assert_allclose(stays, np.array(FAR.pose.position) - (0.01, 0.0, 0.0), atol=1e-12)
    with pytest.raises(UnknownName, match='bass_link'):
        sim.set_obstacle('rides', replace(FAR, body='bass_link'))


def test_a_robot_that_does_not_touch_takes_them_all_the_same():
    sim = arm(contact=False)
    sim.statics()
    sim.set_obstacle('in', Obstacle(Sphere(0.05), Pose((0.0, 0.0, 0.2))))
    run(sim, 5, left=3.0)
    assert contacts_of(sim).parts == []
    assert_allclose(contacts_of(sim).wrenches['in'], 0.0)


def test_points_find_their_like_among_many():
    """As many points as a rod may have, in no more than a moment; bodies are not rods."""
    old = [('arm', 1e-4 * i) for i in range(10_000)] + [('arm', 0.0)]
    new = [('arm', 1e-4 * i + 4e-5) for i in range(10_000)] + [('arm', 0.0), ('other', 0.1)]
    begun = time.perf_counter()
    found = _nearest(old, 10_000, new, 10_000)
    assert time.perf_counter() - begun < 2.0
    assert found == [*range(10_001), -1]
