"""Loads on bodies, on frames beside them, and beside the ends of rods; and what bodies carry."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.optimize import brentq

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.assembly.element import Motion
from cosserat_ros.checks.errors import InvalidModel, UnknownName
from cosserat_ros.description.parts import Body, Inertia, Pose, Tip
from cosserat_ros.description.robot import load
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.numerics.lie import exp_so3, log_so3
from cosserat_ros.simulation.simulator import Load, Simulator

G = 9.81
BESIDE = (0.02, -0.03, 0.05)  # [m] from what is loaded
HINGED = """
name: hinged
bodies:
  flap:
    mass: 0.1
    inertia: {xx: 1e-4, yy: 1e-4, zz: 1e-4}
    frames: {edge: {position: [0.1, 0, 0.05]}}
joints:
  hinge:
    kind: revolute
    child: flap
    axis: [0, 1, 0]
    child_pose: {position: [-0.2, 0, 0.03], roll_pitch_yaw: [0.2, 0, 0]}
    stiffness: 0.5
rods:
  whip:
    base: {on: flap}
    segments:
      - length: 0.2
        section: {shape: circular, radius: 0.002}
        material: {young_modulus: 2e9, poisson_ratio: 0.3, density: 1000}
gravity: [0, 0, 0]
tip: {on: flap}
"""


def described(name, **changes):
    return replace(load(ROOT / 'config' / f'{name}.yaml'), **changes)


def offset(position, rotation=(0.0, 0.0, 0.0)):
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = exp_so3(np.array(rotation)), position
    return g


def settled(robot, **commands):
    sim = Simulator(robot)
    sim.solver.tolerance = 1e-12
    sim.command(**commands)
    assert sim.statics().converged
    return sim


def pulled(sim, wrench, **place):
    """Let a wrench act instead of all others, and go to its equilibrium."""
    sim.set_loads({'pull': Load(np.asarray(wrench, dtype=float), **place)})
    solution = sim.statics()
    assert solution.converged, solution.message
    return sim


PLACES = {  # a robot that is bent, and what is loaded there
    'dual_arm': ({'left_1': 4.0, 'right_2': 5.0}, {'body': 'box'}),
    'gripper': ({'left': 4e4, 'lift': 0.02}, {'body': 'palm'}),
    'stewart_gough': ({'leg_1': 0.52}, {'body': 'platform'}),
    'tendon_arm': ({'tendon_1': 3.0}, {'rod': 'backbone'}),
    'arm_on_slide': ({'tendon_1': 3.0, 'turn': 1.0}, {'body': 'turntable'}),
}


@pytest.mark.parametrize('name', PLACES)
def test_a_weight_is_a_load_at_its_centre(name):
    """Carried there, or pulling there as a dead force: one equilibrium, one stiffness."""
    commands, place = PLACES[name]
    robot, mass = described(name), 0.004
    down = robot.base.matrix()[:3, :3].T @ np.array([0.0, 0.0, -G * mass])
    one, other = settled(robot, **commands), settled(robot, **commands)
    straight = one.tip_pose()
    pulled(one, [*down, 0.0, 0.0, 0.0], **place, offset=offset(BESIDE))
    other.carry('weight', Body(mass, centre_of_mass=BESIDE, rod=place.get('rod')),
                on=place.get('body'))
    assert other.statics().converged
    assert_allclose(one.solver.z, other.solver.z, rtol=1e-7, atol=1e-9)
    if name not in ('gripper', 'arm_on_slide'):  # whose drives hold
        assert np.abs(one.tip_pose() - straight).max() > 1e-6
    a, b = linearize(one), linearize(other)
    assert_allclose(a.compliance, b.compliance, rtol=1e-6, atol=1e-9)
    other.carry('weight', None)
    assert other.statics().converged
    assert_allclose(other.tip_pose(), straight, atol=1e-9)


def test_what_is_lifted_is_felt_by_the_drive_that_lifts():
    sim = settled(described('gripper'), lift=0.02)
    alone = sim.actuators()['lift'].effort
    pulled(sim, [0.0, 0.0, -3.0, 0.0, 0.0, 0.0], body='palm', offset=offset(BESIDE))
    assert_allclose(sim.actuators()['lift'].effort, alone + 3.0, rtol=1e-9)


@pytest.mark.parametrize('follower', [False, True])
def test_a_sprung_hinge_turns_as_its_balance_says(tmp_path, follower):
    """Its spring balances (R arm) x F about the axis; the body's frame is not at the hinge."""
    path = tmp_path / 'robot.yaml'
    path.write_text(HINGED)
    sim = settled(load(path))
    at, force = offset((0.1, 0.0, 0.05), (0.0, 0.4, 0.0)), np.array([0.6, 0.0, -2.0])
    pulled(sim, [*force, 0.0, 0.03, 0.0], body='flap', offset=at, follower=follower)
    tilt = exp_so3(np.array([0.2, 0.0, 0.0]))
    joint = np.linalg.inv(np.block([[tilt, np.array([[-0.2, 0.0, 0.03]]).T],
                                    [np.zeros((1, 3)), np.ones((1, 1))]]))
    pose = joint @ at  # seen from what turns

    def unbalanced(angle):
        R = exp_so3(np.array([0.0, angle, 0.0]))
        f, m = force, np.array([0.0, 0.03, 0.0])
        if follower:
            f, m = (R @ pose[:3, :3] @ v for v in (f, m))
        return 0.5 * angle - (np.cross(R @ pose[:3, 3], f) + m)[1]

    angle = brentq(unbalanced, -1.5, 1.5, xtol=1e-14)
    assert abs(angle) > 0.1
    expected = exp_so3(np.array([0.0, angle, 0.0])) @ joint[:3, :3]
    assert_allclose(sim.tip_pose()[:3, :3], expected, atol=1e-8)


@pytest.mark.parametrize('follower', [False, True])
@pytest.mark.parametrize('name', ['dual_arm', 'tendon_arm'])
def test_loads_are_frame_indifferent(name, follower):
    """On a base that was turned, turned loads bend a robot as before; followers turn with it."""
    commands, place = PLACES[name]
    robot = described(name, gravity=(0.0, 0.0, 0.0))
    wrench = np.array([0.2, -0.1, 0.15, 0.004, 0.002, -0.003])
    at = offset(BESIDE, (0.3, 0.2, -0.5))
    still = pulled(settled(robot, **commands), wrench, **place, offset=at, follower=follower)
    driven = settled(replace(robot, base=replace(robot.base, motion='driven')), **commands)
    turn = exp_so3(np.array([0.4, -1.1, 0.7]))
    home = robot.base.matrix()
    driven.drive_base(Motion(home[:3, :3] @ turn, home[:3, 3] + [0.1, 0.2, 0.3],
                             *np.zeros((4, 3))))
    turned = wrench if follower else np.concatenate([turn @ wrench[:3], turn @ wrench[3:]])
    pulled(driven, turned, **place, offset=at, follower=follower)
    assert np.abs(still.tip_pose() - settled(robot, **commands).tip_pose()).max() > 1e-3
    assert_allclose(driven.tip_pose(), still.tip_pose(), atol=1e-8)


@pytest.mark.parametrize('name', ['dual_arm', 'tendon_arm', 'stewart_gough'])
def test_the_compliance_beside_a_body_is_that_of_statics(name):
    commands, place = PLACES[name]
    at = offset(BESIDE)
    robot = described(name)
    tip = Tip(offset=Pose(BESIDE), on='box' if name == 'dual_arm' else None)
    sim = settled(replace(robot, tip=tip), **commands)
    held = [*(0.5 * np.array([0.02, 0.01, -0.03])), 1e-4, -2e-4, 1e-4]
    found = linearize(pulled(sim, held, **place, offset=at), **place, offset=at)
    assert_allclose(found.pose, sim.tip_pose(), atol=1e-12)
    for k, size in enumerate([1e-3] * 3 + [1e-4] * 3):
        poses = [pulled(sim, np.add(held, sign * size * np.eye(6)[k]), **place,
                        offset=at).tip_pose() for sign in (1.0, -1.0)]
        moved = (poses[0] - poses[1])[:3, 3]
        turned = log_so3(poses[0][:3, :3] @ poses[1][:3, :3].T)
        expected = np.concatenate([moved, turned]) / (2.0 * size)
        assert_allclose(found.compliance[:, k], expected, rtol=2e-4,
                        atol=2e-5 * np.abs(found.compliance[:, k]).max())


def test_a_snapshot_has_loads_and_payloads_of_bodies():
    sim = settled(described('dual_arm'))
    sim.carry('weight', Body(0.01, inertia=Inertia(1e-6, 2e-6, 2e-6)), on='box',
              offset=offset(BESIDE, (0.3, 0.0, 0.0)))
    pulled(sim, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0], body='box', offset=offset(BESIDE))
    kept, there = sim.snapshot(), sim.tip_pose()
    assert sim.step().converged
    sim.set_loads({})
    sim.carry('weight', None)
    assert sim.statics().converged
    assert np.abs(sim.tip_pose() - there).max() > 1e-4
    for other in (sim, sim.twin()):
        other.go_to(kept)
        assert_allclose(other.tip_pose(), there, atol=1e-12)
        assert other.statics().converged
        assert_allclose(other.tip_pose(), there, atol=1e-9)


def test_inverse_statics_know_what_acts_on_bodies():
    """Of a frame on a body, under a load and a weight on it; confirmed by statics."""
    robot, at = described('dual_arm'), offset((0.06, 0.0, 0.01))
    sim = Simulator(robot)
    sim.carry('weight', Body(0.02), on='box')
    sim.set_loads({'pull': Load(np.array([0.1, 0.05, 0.0, 0.0, 0.0, 0.0]), body='box',
                                offset=offset(BESIDE))})
    sim.command(left_1=3.0, right_1=4.0, left_2=2.0)
    assert sim.statics().converged
    goal = sim.body_poses()['box'] @ at
    sim.command(left_1=0.0, right_1=0.0, left_2=0.0)
    assert sim.statics().converged
    result = InverseStatics(sim).solve([Target(goal[:3, 3], body='box', offset=at)])
    assert result.met and result.position_errors[0] < 1e-9
    sim.command(**result.commands)
    assert sim.statics().converged
    assert_allclose((sim.body_poses()['box'] @ at)[:3, 3], goal[:3, 3], atol=1e-7)


def test_a_platform_is_a_body_that_targets_name():
    sim = settled(described('stewart_gough'), leg_1=0.52, leg_4=0.49)
    at = offset(BESIDE)
    goal = (sim.body_poses()['platform'] @ at)[:3, 3]
    result = InverseStatics(described('stewart_gough')).solve(
        [Target(goal, body='platform', offset=at)])
    assert result.met
    sim.command(**result.commands)
    assert sim.statics().converged
    assert_allclose((sim.body_poses()['platform'] @ at)[:3, 3], goal, atol=1e-6)


@pytest.mark.parametrize('place, words', [
    ({'body': 'lid'}, ['lid', 'palm', 'box']),
    ({'body': 'base_link'}, ['base_link', 'palm']),  # which does not move
    ({'body': 'box', 'rod': 'left'}, ['rod', 'left out']),
    ({'body': 'box', 'extent': 0.1}, ['extent', 'left out']),
    ({'body': 'box', 'offset': np.zeros(3)}, ['offset', '4 x 4']),
    ({'rod': 'left', 'at': 0.031, 'offset': offset(BESIDE)}, ['offset', '0.1']),
])
def test_a_load_that_cannot_act_is_rejected(place, words):
    sim = Simulator(described('gripper'))
    with pytest.raises((InvalidModel, UnknownName)) as caught:
        sim.set_loads({'pull': Load(np.ones(6), **place)})
    for word in words:
        assert word in str(caught.value)
    assert not sim.named_loads


def test_a_base_that_floats_is_pushed():
    """Its momentum is the impulse, where there is no air."""
    robot = described('tendon_arm')
    robot = replace(robot, rods={
        name: replace(rod, drag=type(rod.drag)()) for name, rod in robot.rods.items()})
    sim = Simulator(replace(robot, base=replace(robot.base, motion='free'),
                            gravity=(0.0, 0.0, 0.0)))
    assert sim.statics().converged
    force = np.array([1e-3, 0.0, 5e-4])
    sim.set_loads({'push': Load(np.array([*force, 0.0, 0.0, 0.0]), body='base_link')})
    momenta = []
    for _ in range(20):
        assert sim.step().converged
        momenta.append(sim.solver.momentum()[:3])
    impulse = 10 * robot.time.step * force
    assert_allclose(momenta[-1] - momenta[-11], impulse, atol=2e-3 * np.linalg.norm(impulse))
