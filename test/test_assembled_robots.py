"""Robots of bodies, joints and rods from files: what they are, what they do, what is refused."""

import random
import re

from conftest import FUZZ, ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_fuzz_robots import check, spoiled_values

from cosserat_ros.analysis.linearize import linearize, outlook
from cosserat_ros.analysis.sensitivity import compliance
from cosserat_ros.analysis.stability import displacements, stability
from cosserat_ros.assembly.assembly import pose
from cosserat_ros.assembly.element import Motion
from cosserat_ros.assembly.joint_kinds import KINDS as ENGINE_KINDS
from cosserat_ros.assembly.state import follow_twist
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.documents import InvalidDescription
from cosserat_ros.description.joints import JointDrive, KINDS, RodJoint
from cosserat_ros.description.robot import load
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.inverse.mechanics import Mechanics
from cosserat_ros.inverse.task import Task
from cosserat_ros.numerics.lie import exp_so3, log_so3
from cosserat_ros.simulation.builder import joint_kind
from cosserat_ros.simulation.simulator import Simulator

SEGMENT = """
    segments:
      - length: 0.2
        section: {shape: circular, radius: 0.002}
        material: {young_modulus: 2e8, poisson_ratio: 0.4, density: 1200}
        damping: {relaxation_time: 0.01}
"""
SLIDE = ROOT / 'config' / 'arm_on_slide.yaml'


@pytest.fixture
def read(tmp_path):
    """Return a function that loads a robot from text."""
    def from_text(text):
        path = tmp_path / 'robot.yaml'
        path.write_text(text)
        return load(path)
    return from_text


# --- Descriptions --------------------------------------------------------------------------------

@pytest.mark.parametrize('kind', KINDS)
def test_every_kind_of_joint_has_as_many_coordinates_as_in_the_engine(kind):
    more = {'second_axis': (1.0, 0.0, 0.0)} if kind in ('universal', 'line_on_plane') else {}
    more |= {'pitch': 0.01} if kind == 'screw' else {}
    made = joint_kind(RodJoint(kind=kind, **more))
    assert made.count == len(KINDS[kind])
    assert {k for k in KINDS if k != 'spring'} == set(ENGINE_KINDS)
    turns = [name.startswith('turn') or name == 'roll' for name in KINDS[kind]]
    slides = [k < len(shape.slides) for shape in made.shapes for k in range(shape.freedom)]
    assert turns == [not slide for slide in slides]


URDF = {'fixed': 'clamped', 'continuous': 'revolute', 'floating': 'free',
        **{kind: kind for kind in ('revolute', 'prismatic', 'planar')}}


@pytest.mark.parametrize('kind', URDF)
def test_every_joint_of_urdf_can_be_said(read, kind):
    """A body on it is where it starts, pushed by its weight in the ways that it has."""
    own = 'axis: [1, 0, 1], ' if kind not in ('fixed', 'floating') else ''
    limits = {'revolute': 'limits: {lower: -0.1, upper: 0.1}, ',
              'prismatic': 'limits: {lower: -0.01, upper: 0.01}, '}.get(kind, '')
    robot = read(f"""
name: one_joint
bodies:
  load: {{mass: 0.1, centre_of_mass: [0, 0.1, 0], inertia: {{xx: 1e-4, yy: 1e-4, zz: 1e-4}}}}
joints: {{it: {{kind: {URDF[kind]}, {own}{limits}child: load}}}}
rods:
  beside:{SEGMENT}""")
    sim = Simulator(robot)
    start = sim.body_poses()['load']
    for _ in range(60):
        assert sim.step(5e-3).converged
    g = np.linalg.inv(start) @ sim.body_poses()['load']
    slid, turned, axis = g[:3, 3], log_so3(g[:3, :3]), np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
    size = {'fixed': (0.0, 0.0), 'revolute': (0.0, 0.1), 'prismatic': (0.01, 0.0)}.get(kind)
    if size:  # held by limits or altogether
        assert_allclose((np.linalg.norm(slid), np.linalg.norm(turned)), size, atol=1e-8)
    elif kind == 'continuous':
        assert np.linalg.norm(turned) > 0.2
        assert_allclose([slid, np.cross(axis, turned)], 0.0, atol=1e-8)
    elif kind == 'planar':
        assert np.linalg.norm(slid) > 0.05
        assert_allclose([slid @ axis, *np.cross(axis, turned)], 0.0, atol=1e-8)
    else:
        fallen = 0.5 * 9.81 * 0.3 ** 2
        assert_allclose(slid, [0.0, 0.0, -fallen], atol=2e-2 * fallen)
        assert_allclose(turned, 0.0, atol=1e-9)


def test_the_actuators_of_joints_have_names_units_and_bounds(read):
    robot = read(f"""
name: robot
bodies:
  cart: {{mass: 1}}
  head: {{mass: 0.1}}
joints:
  rail: {{kind: prismatic, child: cart, axis: [1, 0, 0], drive: velocity, limits: {{velocity: 2}}}}
  neck:
    kind: cylindrical
    parent: cart
    child: head
    coordinates:
      slide: {{drive: position, limits: {{lower: 0, upper: 0.1, velocity: 0.5}}}}
      turn: {{drive: effort, limits: {{effort: 3}}}}
rods:
  whip:{SEGMENT}
    base: {{on: head, joint: {{kind: revolute, axis: [0, 1, 0], drive: position}}}}
""")
    told = {name: (a.command, a.unit, a.interface, a.bounds, a.rate)
            for name, a in robot.actuators.items()}
    free = -np.inf, np.inf
    assert told == {
        'rail': ('velocity', 'm/s', 'velocity', (-2.0, 2.0), None),
        'neck_slide': ('position', 'm', 'position', (0.0, 0.1), 0.5),
        'neck_turn': ('moment', 'N m', 'effort', (-3.0, 3.0), None),
        'whip_base': ('angle', 'rad', 'position', free, None)}
    assert all(isinstance(a, JointDrive) for a in robot.actuators.values())
    assert list(robot.standing) == ['cart', 'head'] and not robot.carried


def test_a_body_is_fixed_to_a_rod_unless_something_says_that_it_is_not(read):
    text = f'name: arm\nrods:\n  rod:{SEGMENT}\nbodies:\n  weight: '
    assert list(read(text + '{mass: 0.01}').carried) == ['weight']
    assert list(read(text + '{mass: 0.01, pose: {}}').standing) == ['weight']
    assert list(read(text + '{frames: {top: {}}}').standing) == ['weight']


WHOLE = f"""name: robot
bodies:
  cart:
    mass: 1
    frames:
      top: {{position: [0, 0, 0.1]}}
  hand: {{mass: 0.1}}
joints:
  rail:
    kind: prismatic
    child: cart
    axis: [1, 0, 0]
    drive: position
    limits: {{lower: -1, upper: 1}}
rods:
  arm:{SEGMENT}
    base: {{on: cart, frame: top}}
    tip: {{on: hand, joint: {{kind: revolute, axis: [0, 1, 0], stiffness: 0.1}}}}
tip: {{on: hand}}
"""
TOP, HAND_BEGUN = 'name: robot', 'hand: {mass: 0.1'
WRONG = {
    'unknown kind': ('kind: prismatic', 'kind: prismatik', 6 + 4, ["'prismatic'"]),
    'unknown child': ('child: cart', 'child: card', 11, ['joints.rail.child', "'cart'"]),
    'unknown parent': ('child: cart', 'child: cart\n    parent: base', 12,
                       ['joints.rail.parent', "'base_link'"]),
    'joint to the ground': ('child: cart', 'child: base_link', 11, ['can be the parent']),
    'joint to itself': ('child: cart', 'child: cart\n    parent: cart', 11, ['another body']),
    'key misspelt': ('axis: [1', 'axes: [1', 12, ['axes', "'axis'"]),
    'no direction': ('axis: [1, 0, 0]', 'axis: [0, 0, 0]', 12, ['not zero']),
    'unknown drive': ('drive: position', 'drive: speed', 13, ['joints.rail.drive']),
    'limits crossed': ('upper: 1', 'upper: -2', 14, ['joints.rail.limits.lower', 'less than']),
    'start beyond a limit': ('drive: position', 'position: 3', 13, ['within its limits']),
    'rate of zero': ('upper: 1', 'upper: 1, velocity: 0', 14, ['limits.velocity', '> 0']),
    'coordinates of one': ('drive: position', 'coordinates: {slide: {drive: position}}', 13,
                           ['joints.rail.coordinates', 'has one']),
    'drive of a clamp': ('kind: prismatic\n    child: cart\n    axis: [1, 0, 0]',
                         'kind: clamped\n    child: cart', 12, ['does not move']),
    'unknown coordinate': (
        'kind: prismatic\n    child: cart\n    axis: [1, 0, 0]\n    drive: position\n'
        '    limits: {lower: -1, upper: 1}',
        'kind: planar\n    child: cart\n    coordinates: {slide: {drive: position}}', 12,
        ['joints.rail.coordinates', 'slide_1, slide_2, turn']),
    'pitch of a slide': ('axis: [1, 0, 0]', 'pitch: 1', 12, ['for a screw']),
    'screw without pitch': ('kind: prismatic', 'kind: screw', 9, ['joints.rail.pitch']),
    'second axis missing': ('kind: prismatic', 'kind: universal', 9, ['second_axis']),
    'unknown body of a rod': ('{on: cart,', '{on: car,', 23, ['rods.arm.base.on', "'cart'"]),
    'unknown frame': ('frame: top', 'frame: tap', 23, ['rods.arm.base.frame', "'top'"]),
    'rod that ends on itself': (
        'tip: {on: hand, joint: {kind: revolute, axis: [0, 1, 0], stiffness: 0.1}}',
        'tip: {on: cart, frame: top}', 24, ['rods.arm.tip', 'another body or pose']),
    'kind of a rod end': ('{kind: revolute,', '{kind: hinge,', 24, ['rods.arm.tip.joint.kind']),
    'tip on nothing': ('tip: {on: hand}', 'tip: {on: and}', 25, ['tip.on', "'hand'"]),
    'tip on both': ('tip: {on: hand}', 'tip: {on: hand, rod: arm}', 25, ['tip.on']),
    'body on a rod': ('hand: {mass: 0.1}', 'hand: {mass: 0.1, rod: arm}', 7,
                      ['bodies.hand.rod', 'by itself']),
    'mass below zero': ('mass: 1', 'mass: -1', 4, ['bodies.cart.mass', '>= 0']),
    'inertia of nothing': ('hand: {mass: 0.1}', 'hand: {inertia: {xx: 1, yy: 1, zz: 1}}', 7,
                           ['bodies.hand.mass', '> 0']),
    'body called base_link': ('  hand: ', '  base_link: ', 7, ['another name']),
    'joint called as a body': ('  rail:', '  hand:', 9, ["no body's"]),
    'unknown motion': ('name: robot', 'name: robot\nbase: {motion: flying}', 2,
                       ['base.motion', 'driven']),
    'turn that is told': (
        '{kind: revolute, axis: [0, 1, 0], stiffness: 0.1}',
        '{kind: spherical, coordinates: {turn_x: {drive: position}}}', 24, ['turns freely']),
    'drive in a list': ('drive: position', 'drive: [position]', 13, ["nearest is 'position'"]),
    'drive misspelt': ('drive: position', 'drive: positon', 13, ["nearest is 'position'"]),
    'drive left empty': ('drive: position', 'drive:', 13, ['joints.rail.drive', 'got None']),
    'joint that is a word': (
        '{kind: revolute, axis: [0, 1, 0], stiffness: 0.1}', 'revolute', 24,
        ['rods.arm.tip.joint must be a mapping', 'stiffness']),
    'kind left out': ('kind: prismatic\n    child', 'child', 9, ['joints.rail.kind is missing']),
    'child left out': ('    child: cart\n', '', 9, ['joints.rail.child is missing']),
    'axis of two numbers': ('axis: [1, 0, 0]', 'axis: [1, 0]', 12, ['3 finite numbers']),
    'axis of no number': ('axis: [1, 0, 0]', 'axis: [.nan, 0, 0]', 12, ['axis[0]', 'nan']),
    'limits in a list': ('{lower: -1, upper: 1}', '[-1, 1]', 14, ['lower, upper, velocity']),
    'limit misspelt': ('upper: 1', 'uper: 1', 14, ["nearest is 'upper'"]),
    'limit in words': ('upper: 1', 'upper: far', 14, ['joints.rail.limits.upper', "'far'"]),
    'endless limit': ('upper: 1', 'upper: .inf', 14, ['limits.upper', 'inf']),
    'spring that pushes away': (
        'stiffness: 0.1', 'stiffness: -0.1', 24, ['rods.arm.tip.joint.stiffness', '>= 0']),
    'place misspelt': ('drive: position', 'pose: {positon: [0, 0, 0]}', 13,
                       ['joints.rail.pose.positon', "nearest is 'position'"]),
    'place in a list': ('drive: position', 'pose: [0, 0, 0]', 13, ['position, roll_pitch_yaw']),
    'unknown frame of a child': ('child: cart', 'child: cart\n    child_frame: tap', 12,
                                 ['joints.rail.child_frame', "nearest is 'top'"]),
    'mount that is a word': ('base: {on: cart, frame: top}', 'base: cart', 23,
                             ['rods.arm.base must be a mapping', 'joint']),
    'mount misspelt': ('base: {on:', 'base: {onn:', 23, ['rods.arm.base.onn', "nearest is 'on'"]),
    'inertia in a list': (
        HAND_BEGUN, HAND_BEGUN + ', inertia: [1, 1, 1]', 7,
        ['xx, yy, zz']),
    'impossible inertia': (
        HAND_BEGUN, HAND_BEGUN + ', inertia: {xx: 1, yy: 1, zz: 9}', 7,
        ['principal moments']),
    'frames in a list': (
        HAND_BEGUN, HAND_BEGUN + ', frames: [tip]', 7,
        ['bodies.hand.frames', 'names to']),
    'contact without points': (
        HAND_BEGUN, HAND_BEGUN + ', contact: {radius: 0.1}', 7,
        ['bodies.hand.contact.points is missing']),
    'motion misspelt': (
        TOP, TOP + '\nbase: {motion: drivn}', 2,
        ["nearest is 'driven'"]),
    'motion without its key': (
        TOP, TOP + '\nbase: driven', 2,
        ['roll_pitch_yaw, motion']),
    'key of motion misspelt': (
        TOP, TOP + '\nbase: {moton: free}', 2,
        ["nearest is 'motion'"]),
    'obstacle of no shape': (
        TOP, TOP + '\nobstacles: {floor: {geometry: {shape: plain}}}', 2,
        ['obstacles.floor.geometry.shape', "nearest is 'plane'"]),
    'obstacle on nothing': (
        TOP, TOP + '\nobstacles: {f: {geometry: {shape: plane}, body: crt}}', 2,
        ['obstacles.f.body', "nearest is 'cart'"]),
    'obstacle without geometry': (
        TOP, TOP + '\nobstacles: {floor: {friction: 0.3}}', 2,
        ['floor.geometry is missing']),
    'obstacle misspelt': (
        TOP, TOP + '\nobstacles: {f: {geometry: {shape: plane}, frction: 0.3}}', 2,
        ['obstacles.f.frction', "nearest is 'friction'"]),
    'friction below zero': (
        TOP, TOP + '\nobstacles: {f: {geometry: {shape: plane}, friction: -1}}', 2,
        ['obstacles.f.friction', '>= 0']),
    'joint called as the end of a rod': (
        '  rail:', '  arm_tip:', 24, ['rods.arm.tip.joint', 'not among the joints']),
    'name of two words': ('  rail:', '  my rail:', 9, ["'my rail'", 'letters, digits']),
}


@pytest.mark.parametrize('case', WRONG)
def test_a_mistake_is_named_with_its_line(read, case):
    old, new, line, said = WRONG[case]
    assert old in WHOLE
    with pytest.raises(InvalidDescription) as error:
        read(WHOLE.replace(old, new, 1))
    assert re.search(rf':{line}: ', str(error.value)), str(error.value)
    for words in said:
        assert words in str(error.value)


@pytest.mark.parametrize('name', ['HAND', 'TWO_ARMS', 'FOUR_BAR', 'MOBILE'])
def test_fuzz_a_spoiled_assembly_is_a_robot_or_is_explained(tmp_path, name):
    motion = ['free', 'driven'][len(name) % 2]
    whole = tmp_path / 'whole.yaml'
    whole.write_text(globals()[name].replace('DRIVEN', '').replace('MOTION', motion))
    assert check(tmp_path / 'robot.yaml', whole.read_bytes())
    for seed in range(8 * FUZZ):
        data = spoiled_values(random.Random(f'{name} {seed}'), whole)
        try:
            check(tmp_path / 'robot.yaml', data)
        except Exception as error:
            raise AssertionError(f'seed {seed}:\n{data.decode(errors="replace")}') from error


# --- Motion --------------------------------------------------------------------------------------

def test_a_driven_joint_takes_the_arm_along():
    """Statics: the same shape as that of a fixed arm, moved and turned."""
    sim = Simulator(load(SLIDE))
    sim.command(slide=0.12, turn=0.7, tendon_1=2.0)
    assert sim.statics().converged
    still = Simulator(load(SLIDE))
    still.command(tendon_1=2.0)
    assert still.statics().converged
    moved = pose((0.12, 0.0, 0.0), exp_so3(np.array([0.0, 0.0, 0.7])))
    assert_allclose(sim.tip_pose(), moved @ still.tip_pose(), atol=1e-9)
    assert_allclose(sim.shape()['backbone'].poses, moved @ still.shape()['backbone'].poses,
                    atol=1e-9)
    assert_allclose(sim.body_poses()['turntable'], moved @ pose((0.0, 0.0, 0.02)), atol=1e-12)
    states = sim.actuators()
    assert (states['slide'].position, states['turn'].position) == (0.12, 0.7)


def test_velocities_are_those_of_poses():
    """Of tip and stations of a rod on a body that moves, against differences in time."""
    sim, dt = Simulator(load(SLIDE)), 1e-4
    assert sim.statics().converged
    tips, shapes, twists, stations = [], [], [], []
    for k in range(400):
        t = (k + 1) * dt
        sim.command(slide=0.05 * np.sin(10.0 * t) ** 2, turn=1.0 - np.cos(20.0 * t))
        assert sim.step(dt).converged
        shape = sim.shape()
        tips.append(sim.tip_pose())
        shapes.append(shape['backbone'].poses)
        twists.append(sim.tip_twist())
        stations.append(sim.twists(shape)['backbone'])
    for k in (200, 300, 390):
        seen = (tips[k + 1][:3, 3] - tips[k - 1][:3, 3]) / (2.0 * dt)
        turned = log_so3(tips[k + 1][:3, :3] @ tips[k - 1][:3, :3].T) / (2.0 * dt)
        assert_allclose(twists[k], np.concatenate([seen, turned]), atol=2e-3)
        moved = (shapes[k + 1][:, :3, 3] - shapes[k - 1][:, :3, 3]) / (2.0 * dt)
        own = np.einsum('sij,sj->si', shapes[k][:, :3, :3], stations[k][:, :3])
        assert_allclose(own, moved, atol=2e-3)


CART = """
name: cart
bodies:
  cart: {{mass: 2}}
joints:
  rail: {{kind: prismatic, child: cart, axis: [1, 0, 0], drive: {drive}, limits: {limits}}}
rods:
  beside:{segment}
tip: {{on: cart}}
"""


def cart(read, drive, limits='{}'):
    """Return a cart on a rail, and a rod that has nothing to do with it."""
    return Simulator(read(CART.format(drive=drive, limits=limits, segment=SEGMENT)))


def test_an_effort_drive_accelerates_what_it_pushes(read):
    sim = cart(read, 'effort', '{upper: 0.3}')
    sim.command(rail=4.0)
    assert sim.solver.Z and sim.step(1e-3).converged
    start = sim.actuators()['rail'].position
    for _ in range(200):
        assert sim.step(1e-3).converged
    state = sim.actuators()['rail']
    assert_allclose(state.position, start + 0.5 * 2.0 * 0.2 ** 2, rtol=2e-2)
    assert_allclose(state.velocity, 0.4, rtol=2e-2)
    assert state.effort == 4.0
    assert_allclose(sim.tip_pose()[0, 3], state.position, atol=1e-12)
    for _ in range(800):
        assert sim.step(1e-3).converged
    assert sim.actuators()['rail'].position == pytest.approx(0.3, abs=1e-9)  # a limit holds


def test_a_velocity_drive_integrates_and_stops_at_its_limits(read):
    sim = cart(read, 'velocity', '{lower: -0.1, upper: 0.3, velocity: 2}')
    with pytest.raises(InvalidModel, match='rail'):
        sim.command(rail=2.5)
    sim.command(rail=0.5)
    for _ in range(20):
        assert sim.step(0.01).converged
    state = sim.actuators()['rail']
    assert state.position == pytest.approx(0.1, abs=1e-12)
    assert state.velocity == pytest.approx(0.5, abs=1e-9) and state.command == 0.5
    before = sim.snapshot()
    for _ in range(100):
        assert sim.step(0.01).converged
    assert sim.actuators()['rail'].position == pytest.approx(0.3, abs=1e-12)
    assert sim.statics().converged  # stays
    assert sim.actuators()['rail'].position == pytest.approx(0.3, abs=1e-12)
    sim.go_to(before)
    assert sim.step(0.01).converged
    assert sim.actuators()['rail'].position == pytest.approx(0.105, abs=1e-12)


def test_a_position_drive_tells_the_effort_that_it_takes(read):
    """Newton: mass times acceleration, and a spring; no echo of a kink in what was told."""
    sim, dt = cart(read, 'position', '{velocity: 1}'), 1e-3
    for k in range(400):
        sim.command(rail=0.1 * (1.0 - np.cos(5.0 * (k + 1) * dt)))
        assert sim.step(dt).converged
    expected = 2.0 * 0.1 * 25.0 * np.cos(5.0 * 400 * dt)
    assert sim.actuators()['rail'].effort == pytest.approx(expected, rel=2e-2)  # a step late
    sim.command(rail=sim.actuators()['rail'].position)  # stops at once
    for _ in range(5):
        assert sim.step(dt).converged
    state = sim.actuators()['rail']
    assert abs(state.effort) < 1e-6 and abs(state.velocity) < 1e-9


def test_commands_at_odd_times_swing_an_arm_no_more_than_they_do(read):
    """A slide at a constant pace, but for steps without a command; and by finer steps."""
    lost, swings = np.random.default_rng(0).random(240) < 0.3, []
    for parts in (1, 8):
        sim = Simulator(read(SLIDE.read_text()))
        assert sim.statics().converged
        before, there, off = 0.0, 0.0, []
        for k, nothing in enumerate(lost):
            there = there if nothing else 0.024 * k / 60.0
            for part in range(parts):
                sim.command(slide=before + (there - before) * (part + 1) / parts)
                assert sim.step(1.0 / 60.0 / parts).converged
            before = there
            off.append(sim.tip_pose()[0, 3] - 0.024 * k / 60.0)
        swings.append(np.std(off))
    assert swings[1] < 2e-3
    assert swings[0] < 1.5 * swings[1]


@pytest.mark.parametrize('scheme', ['generalised_alpha', 'newmark', 'bdf2', 'backward_euler'])
@pytest.mark.parametrize('waited', [0, 1, 20])
def test_what_hangs_on_a_drive_feels_that_it_starts_and_stops(read, scheme, waited):
    """A pivot that is at its pace at once: the momentum of a pendulum about it stays."""
    text = CART.format(drive='velocity', limits='{}', segment=SEGMENT).replace('joints:', """
  bob: {mass: 0.5, centre_of_mass: [0, 0, -0.2], inertia: {xx: 0.01, yy: 0.01, zz: 0.01}}
joints:
  hinge: {kind: revolute, parent: cart, child: bob, axis: [0, 1, 0]}""")
    sim, dt = Simulator(read(f'{text}time: {{scheme: {scheme}}}\n')), 1e-3
    assert sim.statics().converged
    hinge = sim.solver.places.coordinates['hinge']
    for rate, count in ((0.0, waited), (0.5, 10), (0.0, 10)):
        sim.command(rail=rate)
        for _ in range(count):
            assert sim.step(dt).converged
        expected = rate * 0.5 * 0.2 / (0.01 + 0.5 * 0.2 ** 2)
        assert_allclose(sim.solver.z_t[hinge], expected, atol=0.02)  # weight


@pytest.mark.parametrize('scheme, order', [
    ('generalised_alpha', 2), ('newmark', 2), ('bdf2', 2), ('backward_euler', 1)])
def test_steps_with_driven_joints_converge_in_time(read, scheme, order):
    """An arm swung by its base, against finer steps, to the order of the scheme."""
    text = SLIDE.read_text() + f'\ntime: {{scheme: {scheme}}}\n'
    tips = {steps: [] for steps in (32, 64, 1024)}
    for steps, path in tips.items():
        sim = Simulator(read(text))
        sim.solver.tolerance = 1e-10
        assert sim.statics().converged
        for k in range(steps):
            t = 0.15 * (k + 1) / steps
            sim.command(slide=3.0 * t ** 3, turn=20.0 * t ** 3)
            assert sim.step(0.15 / steps).converged
            if (k + 1) % (steps // 32) == 0:
                path.append(sim.tip_pose()[:3, 3])
    coarse, fine = (np.abs(np.subtract(tips[n], tips[1024])).max() for n in (32, 64))
    assert fine < 0.6 ** order * coarse


# --- Assemblies ----------------------------------------------------------------------------------

def test_a_body_at_the_tip_of_a_rod_is_what_the_rod_carries(read):
    """A hand by itself, clamped to the tip, weighs and swings as one that is fixed to the rod."""
    body = '{mass: 0.01, centre_of_mass: [0.01, 0, 0.02], inertia: {xx: 1e-6, yy: 2e-6, zz: 2e-6}}'
    fixed = Simulator(read(f'name: arm\nrods:\n  rod:{SEGMENT}\nbodies:\n  hand: {body}\n'))
    held = Simulator(read(
        f'name: arm\nrods:\n  rod:{SEGMENT}    tip: {{on: hand}}\nbodies:\n  hand: {body}\n'
        'tip: {on: hand}\n'))
    for sim in (fixed, held):
        assert sim.statics().converged
        sim.set_wrench([0.02, 0.01, 0.0, 0.0, 0.0, 0.0], rod='rod')
        for _ in range(30):
            assert sim.step(5e-3).converged
    assert_allclose(held.tip_pose(), fixed.tip_pose(), atol=1e-9)
    assert_allclose(held.tip_twist(), fixed.tip_twist(), atol=1e-7)


TWO_ARMS = f"""
name: dual
bodies:
  bar:
    mass: 0.05
    inertia: {{xx: 1e-5, yy: 1e-4, zz: 1e-4}}
    pose: {{position: [0, 0, 0.2]}}
rods:
  left:{SEGMENT}
    base: {{position: [-0.1, 0, 0]}}
    tip: {{on: bar, position: [-0.1, 0, 0]}}
  right:{SEGMENT}
    base: {{position: [0.1, 0, 0], joint: {{kind: revolute, axis: [0, 1, 0], drive: position}}}}
    tip: {{on: bar, position: [0.1, 0, 0], joint: {{kind: spherical}}}}
gravity: [0, 0, 0]
tip: {{on: bar}}
"""


def test_two_rods_hold_one_body(read):
    sim = Simulator(read(TWO_ARMS))
    assert sim.statics().converged
    assert_allclose(sim.tip_pose()[:3, 3], [0.0, 0.0, 0.2], atol=1e-9)
    sim.command(right_base=0.3)
    assert sim.statics().converged
    shape, bar = sim.shape(), sim.body_poses()['bar']
    assert sim.tip_pose()[0, 3] > 5e-3
    for name, x in (('left', -0.1), ('right', 0.1)):
        assert_allclose(shape[name].poses[-1][:3, 3], (bar @ [x, 0.0, 0.0, 1.0])[:3], atol=1e-9)
    assert_allclose(shape['left'].poses[-1][:3, :3], bar[:3, :3], atol=1e-9)
    for _ in range(20):
        assert sim.step(5e-3).converged
    effort = sim.actuators()['right_base'].effort
    assert effort > 0.0  # it bends two rods


FOUR_BAR = f"""
name: four_bar
bodies:
  crank: {{mass: 0.1, centre_of_mass: [0.05, 0, 0], inertia: {{xx: 1e-6, yy: 1e-4, zz: 1e-4}}}}
  coupler: {{mass: 0.1, centre_of_mass: [0.15, 0, 0], inertia: {{xx: 1e-6, yy: 1e-3, zz: 1e-3}}}}
  rocker: {{mass: 0.1, centre_of_mass: [0.1, 0, 0], inertia: {{xx: 1e-6, yy: 1e-4, zz: 1e-4}}}}
joints:
  A: {{kind: revolute, child: crank, axis: [0, 1, 0], position: -1.0, drive: position}}
  B: {{kind: revolute, parent: crank, child: coupler, axis: [0, 1, 0], position: 0.5,
      pose: {{position: [0.1, 0, 0]}}}}
  D: {{kind: revolute, child: rocker, axis: [0, 1, 0], position: -1.5DRIVEN,
      pose: {{position: [0.3, 0, 0]}}}}
  C: {{kind: revolute, parent: coupler, child: rocker, axis: [0, 1, 0],
      pose: {{position: [0.3, 0, 0]}}, child_pose: {{position: [0.2, 0, 0]}}}}
rods:
  beside:{SEGMENT}
tip: {{on: rocker}}
"""


def test_a_four_bar_closes_and_follows_its_crank(read):
    """Freudenstein: the rocker's angle from the lengths of all bars."""
    sim = Simulator(read(FOUR_BAR.replace('DRIVEN', '')))
    for angle in (-1.0, -0.6, -2.0):
        sim.command(A=angle)
        assert sim.statics().converged
        crank, rocker = sim.body_poses()['crank'], sim.body_poses()['rocker']
        end, there = crank @ [0.1, 0, 0, 1], rocker @ [0.2, 0, 0, 1]
        assert_allclose(np.linalg.norm(end - there), 0.3, atol=1e-9)
        assert_allclose(log_so3(crank[:3, :3]), [0.0, angle, 0.0], atol=1e-9)


def test_a_loop_with_too_many_drives_is_refused_by_name(read):
    with pytest.raises(InvalidModel, match='more often than it can move') as error:
        Simulator(read(FOUR_BAR.replace('DRIVEN', ', drive: position')))
    for name in 'ACD':
        assert re.search(rf'\b{name}\b', error.value.field)


# --- A base that moves ---------------------------------------------------------------------------

MOBILE = f"""
name: mobile
base: {{position: [1, 2, 0.5], roll_pitch_yaw: [0.1, 0.2, 0.3], motion: MOTION}}
rods:
  arm:{SEGMENT}
bodies:
  weight: {{mass: 0.005}}
"""


def test_an_arm_on_a_driven_base_swings_as_one_on_a_slide(read):
    """The base is led by its velocity, or by poses told before each step, or is a cart."""
    def twist(t):
        still = np.zeros(3)
        return still, np.array([0.3 * np.sin(8.0 * t), 0.0, 0.0]), still, np.array(
            [2.4 * np.cos(8.0 * t), 0.0, 0.0])
    led, told, fixed = (Simulator(read(MOBILE.replace('MOTION', motion))) for motion in (
        'driven', 'driven', 'fixed'))
    home = fixed.robot.base.matrix()
    axis = home[:3, :3].T @ [1.0, 0.0, 0.0]
    sliding = MOBILE.replace('MOTION', 'fixed').replace(
        '  weight: {mass: 0.005}',
        '  weight: {mass: 0.005, rod: arm}\n  cart: {mass: 1}\njoints:\n  rail: '
        f'{{kind: prismatic, child: cart, axis: {axis.tolist()}, drive: position}}')
    slid = Simulator(read(sliding.replace('rods:\n  arm:', 'rods:\n  arm:\n    base: {on: cart}')))
    for sim in (led, told, fixed, slid):
        assert sim.statics().converged
    assert_allclose(led.tip_pose(), fixed.tip_pose(), atol=1e-10)
    led.drive_base(follow_twist(twist))
    for k in range(60):
        t, still = (k + 1) * 5e-3, np.zeros(3)
        place = home[:3, 3] + [0.3 / 8.0 * (1.0 - np.cos(8.0 * t)), 0.0, 0.0]
        told.drive_base(Motion(home[:3, :3], place, still, twist(t)[1], still, twist(t)[3]))
        slid.command(rail=place[0] - home[0, 3])
        assert all(sim.step(5e-3).converged for sim in (led, told, slid))
    assert_allclose(led.base_pose()[:3, 3], place, atol=1e-9)
    assert_allclose(told.tip_pose(), led.tip_pose(), atol=1e-6)
    on_cart = np.linalg.inv(slid.body_poses()['cart']) @ slid.tip_pose()
    assert_allclose(on_cart[:3, 3], led.tip_pose()[:3, 3], atol=1e-3)  # from the first step on
    assert np.linalg.norm(led.tip_pose()[:3, 3] - fixed.tip_pose()[:3, 3]) > 1e-3  # it swings
    with pytest.raises(InvalidModel, match='base.motion'):
        fixed.drive_base(follow_twist(twist))


def test_statics_of_an_arm_on_a_base_that_was_turned(read):
    """As of an arm whose file has that base; targets are seen from base_link."""
    turned = MOBILE.replace('roll_pitch_yaw: [0.1, 0.2, 0.3]', 'roll_pitch_yaw: [0.9, 0, 0.3]')
    driven, fixed = (Simulator(read(text.replace('MOTION', motion))) for text, motion in (
        (MOBILE, 'driven'), (turned, 'fixed')))
    g = fixed.robot.base.matrix()
    driven.drive_base(Motion(g[:3, :3], g[:3, 3], *np.zeros((4, 3))))
    assert driven.statics().converged and fixed.statics().converged
    assert_allclose(driven.tip_pose(), fixed.tip_pose(), atol=1e-9)
    assert_allclose(compliance(driven), compliance(fixed), rtol=1e-6, atol=1e-9)


def test_a_free_base_keeps_its_momentum(read):
    text = MOBILE.replace('MOTION', 'free') + 'gravity: [0, 0, 0]\n'
    sim = Simulator(read(text))
    sim.solver.tolerance = 1e-12
    assert sim.statics().converged
    sim.set_wrench([0.02, 0.0, 0.01, 0.0, 0.0, 0.0])
    for _ in range(10):
        assert sim.step(2e-3).converged
    sim.set_wrench(np.zeros(6))
    assert sim.step(2e-3).converged
    before, place = sim.solver.momentum(), sim.base_pose()
    for _ in range(50):
        assert sim.step(2e-3).converged
    assert np.abs(before[:3]).max() > 1e-4
    assert_allclose(sim.solver.momentum(), before, rtol=0.0, atol=1e-7 * np.abs(before).max())
    assert np.linalg.norm(sim.base_pose()[:3, 3] - place[:3, 3]) > 1e-4


def test_targets_of_an_arm_on_a_base_that_moved_are_seen_from_base_link(read):
    """Driven and turned, or afloat and held: commands as on a base that is fixed there."""
    tendon = 'tendons: {pull: {routing: {shape: parallel, offset: [0.01, 0]}}}\n'
    turned = MOBILE.replace('roll_pitch_yaw: [0.1, 0.2, 0.3]', 'roll_pitch_yaw: [0.9, 0, 0.3]')
    fixed, driven, afloat = (Simulator(read(text.replace('MOTION', motion) + tendon))
                             for text, motion in (
        (turned, 'fixed'), (MOBILE, 'driven'), (turned, 'free')))
    g = fixed.robot.base.matrix()
    driven.drive_base(Motion(g[:3, :3], g[:3, 3], *np.zeros((4, 3))))
    fixed.command(pull=0.4)
    assert fixed.statics().converged
    goal = fixed.tip_pose()
    for sim in (fixed, driven, afloat):
        found = InverseStatics(sim).solve([Target(goal[:3, 3], goal[:3, :3])])
        assert found.met, found.message
        assert found.commands['pull'] == pytest.approx(0.4, abs=1e-7)


def test_an_equilibrium_on_a_floating_base_is_judged_as_found_with_the_base_held(read):
    fixed, afloat = (Simulator(read(MOBILE.replace('MOTION', m))) for m in ('fixed', 'free'))
    margins = []
    for sim in (fixed, afloat):
        assert sim.statics().converged
        found = stability(sim)
        assert found.stable
        margins.append(found.margin)
    assert margins[0] < 0.9999  # its weight counts
    assert_allclose(margins[1], margins[0], rtol=1e-9)


# --- Analyses ------------------------------------------------------------------------------------

HAND = f"""
name: hand
bodies:
  cart: {{mass: 0.5}}
  link: {{mass: 0.05, centre_of_mass: [0.05, 0, 0], inertia: {{xx: 1e-6, yy: 1e-5, zz: 1e-5}}}}
  hand:
    mass: 0.01
    inertia: {{xx: 1e-6, yy: 1e-6, zz: 1e-6}}
    frames: {{grip: {{position: [0, 0.01, 0.02]}}}}
joints:
  rail: {{kind: prismatic, child: cart, axis: [1, 0.2, 0], drive: position}}
  elbow: {{kind: revolute, parent: cart, child: link, axis: [0, 1, 0.1], drive: effort,
          stiffness: 0.4, damping: 0.01}}
rods:
  arm:{SEGMENT}
    base: {{on: link, position: [0.1, 0, 0], roll_pitch_yaw: [0, 0.6, 0],
           joint: {{kind: revolute, axis: [1, 0, 0], drive: position}}}}
    tip: {{on: hand, joint: {{kind: spherical, coordinates: {{turn_x: {{stiffness: 0.02}},
          turn_y: {{stiffness: 0.02}}, turn_z: {{stiffness: 0.02}}}}}}}}
tendons:
  pull: {{routing: {{shape: parallel, offset: [0.01, 0]}}}}
tip: {{on: hand, frame: grip}}
"""
TOLD = {'rail': 0.1, 'elbow': 0.05, 'arm_base': 0.3, 'pull': 1.0}


def settled(robot, **commands):
    """Return a simulator in equilibrium."""
    sim = Simulator(robot)
    sim.solver.tolerance = 1e-12
    sim.command(**{**TOLD, **commands})
    assert sim.statics().converged
    return sim


def motion_of_tip(robot, name, h=1e-5):
    """Return the static motion of the tip with a command, by differences."""
    more, less = (settled(robot, **{name: TOLD[name] + s * h}).tip_pose() for s in (1.0, -1.0))
    return np.concatenate([
        (more - less)[:3, 3], log_so3(more[:3, :3] @ less[:3, :3].T)]) / (2.0 * h)


def test_commands_of_joints_move_the_tip_as_differences_say(read):
    robot = read(HAND)
    sim = settled(robot)
    linear = linearize(sim)
    assert list(linear.inputs) == list(robot.actuators)
    gain = linear.direct[:6] - linear.C[:6] @ np.linalg.solve(linear.A, linear.B)
    size = np.abs(linear.jacobian).max(axis=0)
    for j, name in enumerate(robot.actuators):
        assert_allclose(linear.jacobian[:, j], motion_of_tip(robot, name), atol=1e-7 * size[j])
    assert_allclose(gain / size, linear.jacobian / size, atol=1e-6)
    found = stability(sim)
    assert found.stable
    moved = displacements(sim, found.mode)['arm']
    assert_allclose(np.linalg.norm(moved, axis=1).max(), 1.0)


def test_a_linear_model_in_motion_sees_velocities_change(read):
    """About a moving state: those of y with the state, by differences of kinematics."""
    sim = settled(read(HAND))
    rng = np.random.default_rng(1)
    z, z_t = sim.solver.z.copy(), np.where(sim.solver.moves, rng.normal(size=sim.solver.Z), 0.0)
    sim.solver.set_state(z, z_t)
    view, h = outlook(sim), 1e-6
    for c in np.flatnonzero(sim.solver.moves):
        sides = []
        for sign in (1.0, -1.0):
            step = np.where(np.arange(z.size) == c, sign * h, 0.0)
            sim.solver.set_state(z + step, z_t)
            sides.append((sim.tip_pose(), sim.tip_twist()))
        slope = (sides[0][1] - sides[1][1]) / (2.0 * h)
        turned = log_so3(sides[0][0][:3, :3] @ sides[1][0][:3, :3].T) / (2.0 * h)
        moved = (sides[0][0] - sides[1][0])[:3, 3] / (2.0 * h)
        assert_allclose(view.motion[:, c], np.concatenate([moved, turned]), atol=1e-7)
        if c not in sim.solver.free_turns:  # whose axes are taken as fixed
            assert_allclose(view.drift[:, c], slope, atol=1e-7 * (1.0 + np.abs(slope).max()))


# --- Inverse statics -----------------------------------------------------------------------------

def test_a_slide_brings_the_arm_where_it_cannot_reach_alone():
    robot = load(SLIDE)
    inverse, alone = InverseStatics(Simulator(robot)), {'slide': (0.0, 0.0), 'turn': (0.0, 0.0)}
    rng, helped = np.random.default_rng(3), 0
    for _ in range(8):
        other = Simulator(robot)
        other.command(slide=rng.uniform(-0.14, 0.14), turn=rng.uniform(-1.5, 1.5),
                      tendon_1=rng.uniform(0.5, 4.0))
        assert other.statics().converged
        goal = other.tip_pose()[:3, 3]
        found = inverse.solve([Target(goal)])
        assert found.met and found.converged
        for name, actuator in robot.actuators.items():
            assert actuator.bounds[0] <= found.commands[name] <= actuator.bounds[1]
        again = Simulator(robot)
        again.command(**found.commands)
        assert again.statics().converged
        assert_allclose(again.tip_pose()[:3, 3], goal, atol=1e-8)
        helped += not inverse.solve([Target(goal)], bounds=alone, start='rest').met
    assert helped == 8


def test_limits_of_joints_hold():
    sim = Simulator(load(SLIDE))
    found = InverseStatics(sim).solve([Target([0.4, 0.0, 0.25])])
    assert not found.met and found.commands['slide'] <= 0.15
    sim.command(**found.commands)
    assert sim.statics().converged
    missing = np.linalg.norm(sim.tip_pose()[:3, 3] - [0.4, 0.0, 0.25])
    assert_allclose(found.position_errors[0], missing, atol=1e-8)


def test_a_closed_loop_is_inverted_within_the_limits_of_its_crank(read):
    """Angles are known from forward statics; of what is out of them, the limit is best."""
    text = FOUR_BAR.replace('DRIVEN', '')
    limited = text.replace(
        'drive: position', 'drive: position, limits: {lower: -1.2, upper: -0.8}')
    goals = {}
    for angle in (-1.15, -0.9, -0.7):
        sim = Simulator(read(text))
        sim.command(A=angle)
        assert sim.statics().converged
        goals[angle] = sim.body_poses()['coupler'][:3, 3], sim.tip_pose()
    for angle, (place, tip) in goals.items():
        for target in (Target(place, body='coupler'), Target(tip[:3, 3], tip[:3, :3])):
            found = InverseStatics(Simulator(read(text))).solve([target])
            assert found.met, found.message
            assert_allclose(found.commands['A'], angle, atol=1e-7)
            found = InverseStatics(Simulator(read(limited))).solve([target])
            assert found.met == (angle < -0.8)
            assert_allclose(found.commands['A'], min(angle, -0.8), atol=1e-6)


def test_targets_of_a_hand_on_bodies_and_joints(read):
    """Position, effort and tension at once; a free turn; targets of a body and of the tip."""
    robot = read(HAND)
    sim = settled(robot)
    goal, hand = sim.tip_pose(), sim.body_poses()['hand']
    fresh = Simulator(robot)
    inverse = InverseStatics(fresh)
    for target in (Target(goal[:3, 3]), Target(hand[:3, 3], body='hand'),
                   Target(sim.shape()['arm'].poses[-1][:3, 3], rod='arm')):
        found = inverse.solve([target])
        assert found.met, found.message
        again = Simulator(robot)
        again.command(**found.commands)
        assert again.statics().converged
        place = {None: again.tip_pose(), 'hand': again.body_poses()['hand']}[target.body]
        place = again.shape()['arm'].poses[-1] if target.rod else place
        assert_allclose(place[:3, 3], target.position, atol=1e-7)


def test_errors_of_a_task_on_bodies_move_as_differences_say(read):
    sim = settled(read(HAND))
    goal = exp_so3(np.array([0.2, 0.1, 0.0]))
    task = Task(sim, [Target(np.zeros(3), goal), Target(np.ones(3), rod='arm', at=0.1),
                      Target(np.ones(3), body='link')], 0.2, {})
    z, R, h = sim.solver.z, sim.solver.attitude, 1e-6
    J = task.errors_and_motion(z, R)[1]
    for c in np.flatnonzero(sim.solver.moves):
        step = np.where(np.arange(z.size) == c, h, 0.0)
        slope = (task.errors(z + step, R) - task.errors(z - step, R)) / (2.0 * h)
        assert_allclose(J[:, c], slope, atol=1e-7 * max(1.0, np.abs(slope).max()))


def test_equilibria_move_with_the_actuation_as_differences_say(read):
    sim = settled(read(HAND))
    mechanics = Mechanics(sim)
    z, R = sim.solver.z.copy(), sim.solver.attitude
    mechanics.stand(R)
    u = mechanics.actuation(z)
    assert_allclose(u, [TOLD[name] for name in mechanics.names], atol=1e-9)
    slope = mechanics.linearise(z, u)[1]
    for j, h in enumerate([1e-4, 1e-5, 1e-4, 1e-5]):
        step = np.where(np.arange(u.size) == j, h, 0.0)
        (more, found), (less, _) = (mechanics.equilibrium(z, u + s * step) for s in (1.0, -1.0))
        assert found
        change = (more - less) / (2.0 * h)
        assert_allclose(slope[j], change, atol=1e-5 * np.abs(change).max())


def test_a_joint_with_a_velocity_drive_stays_in_inverse_statics(read):
    text = SLIDE.read_text().replace('drive: position', 'drive: velocity', 1)
    sim = Simulator(read(text))
    sim.command(slide=0.3)
    for _ in range(10):
        assert sim.step().converged
    place = sim.actuators()['slide'].position
    sim.command(slide=0.0, turn=0.5, tendon_1=1.0)
    assert sim.statics().converged
    goal = sim.tip_pose()[:3, 3]
    sim.command(turn=0.1, tendon_1=2.0)
    assert sim.statics().converged
    found = InverseStatics(sim).solve([Target(goal)])
    assert found.met and found.commands['slide'] == 0.0
    sim.command(**found.commands)
    assert sim.statics().converged
    assert sim.actuators()['slide'].position == pytest.approx(place, abs=1e-12)


SIX = [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0),
       (0.0, 0.0, 1.0)]
OFFSETS = [0.0, 0.3, 0.25, 0.2, 0.0, 0.1]  # from each joint to the one before, along z


def six_joints():
    """Return a rigid arm of six revolute joints with a spherical wrist, as a file."""
    bodies, joints, parent = [], [], 'base_link'
    for k, (axis, offset) in enumerate(zip(SIX, OFFSETS)):
        bodies.append(f'  link_{k}: {{mass: 0.1}}')
        joints.append(
            f'  joint_{k}: {{kind: revolute, parent: {parent}, child: link_{k}, drive: position,'
            f' axis: {list(axis)}, pose: {{position: [0, 0, {offset}]}},'
            ' limits: {lower: -3.1, upper: 3.1}}')
        parent = f'link_{k}'
    return '\n'.join([
        'name: six', 'bodies:', *bodies, 'joints:', *joints, 'rods:', f'  beside:{SEGMENT}',
        'tip: {on: link_5, offset: {position: [0, 0, 0.05]}}'])


def pose_of_six(angles):
    """Return the pose of the tip."""
    g = np.eye(4)
    for axis, offset, angle in zip(SIX, OFFSETS, angles):
        g = g @ pose((0.0, 0.0, offset), exp_so3(angle * np.array(axis)))
    return g @ pose((0.0, 0.0, 0.05))


def angles_of_six(g, elbow):
    """
    Return the angles for a pose of the tip, of one side of the elbow: Pieper's closed form.

    The last three axes meet in the wrist: its place gives the first three angles, its attitude
    the others.
    """
    wrist = g[:3, 3] - 0.15 * g[:3, 2]
    first = np.arctan2(wrist[1], wrist[0])
    x, z, a, b = np.hypot(*wrist[:2]), wrist[2] - 0.3, 0.25, 0.2
    third = elbow * np.arccos((x * x + z * z - a * a - b * b) / (2.0 * a * b))
    second = np.arctan2(x, z) - np.arctan2(b * np.sin(third), a + b * np.cos(third))
    R = np.eye(3)
    for axis, angle in zip(SIX, (first, second, third)):
        R = R @ exp_so3(angle * np.array(axis))
    W = R.T @ g[:3, :3]
    fifth = np.arctan2(np.hypot(W[0, 2], W[1, 2]), W[2, 2])
    return np.array([first, second, third, np.arctan2(W[1, 2], W[0, 2]), fifth,
                     np.arctan2(W[2, 1], -W[2, 0])])


def test_a_rigid_arm_of_six_joints_is_inverted_as_its_closed_form_is(read):
    robot = read(six_joints())
    sim = Simulator(robot)
    rng = np.random.default_rng(5)
    for _ in range(6):
        truth = np.array([rng.uniform(-1.0, 1.0), rng.uniform(0.2, 1.0), rng.uniform(0.4, 1.2),
                          rng.uniform(-1.0, 1.0), rng.uniform(0.4, 1.2), rng.uniform(-1.0, 1.0)])
        g = pose_of_six(truth)
        assert_allclose(angles_of_six(g, 1.0), truth, atol=1e-9)  # the closed form itself
        near = truth + rng.uniform(-0.15, 0.15, 6)
        sim.command(**{f'joint_{k}': angle for k, angle in enumerate(near)})
        assert sim.statics().converged
        assert_allclose(sim.tip_pose(), pose_of_six(near), atol=1e-10)
        found = InverseStatics(sim).solve(
            [Target(g[:3, 3], g[:3, :3])], goal='nearest', start='present')
        assert found.met, found.message
        assert_allclose(list(found.commands.values()), truth, atol=1e-7)
