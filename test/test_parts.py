"""Actuators, bodies and platforms in robot files: what is read, and what is refused."""

from dataclasses import replace
from functools import partial
import re

from conftest import ROOT
from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.testing import assert_allclose
import pytest
from ruamel.yaml import YAML
from test_description import NODES, nodes_of

from cosserat_ros.checks.errors import InvalidModel, UnknownName
from cosserat_ros.description import robot
from cosserat_ros.description.documents import InvalidDescription
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import (
    Body,
    Chamber,
    Discs,
    Drag,
    Inertia,
    Leg,
    Limits,
    Platform,
    Pose,
    Tendon,
    TimeStepping,
)
from cosserat_ros.description.robot import MountedRod, Robot, RodShape
from cosserat_ros.description.rod import Material, RestShape, Segment
from cosserat_ros.description.routing import Convergent, Helical, Parallel, Polynomial, Tabulated
from cosserat_ros.description.section import Circular

ARM = """\
name: arm
rods:
  backbone: &rod
    segments:
      - &piece
        length: 0.2
        section: {shape: circular, radius: 1e-3}
        material: {young_modulus: 207e9, poisson_ratio: 0.3, density: 8000}
      - {<<: *piece, length: 0.1}
    drag: {square: [0.03, 0.03, 0], linear: [1e-3, 1e-3, 0]}
  other: *rod
tip: {rod: backbone}
tendons:
  straight:
    rod: backbone
    routing: {shape: parallel, offset: [0.01, 0]}
    command: displacement
    compliance: 1e-4
    pretension: 2
    damping_friction: 5
    coulomb_friction: 0.1
    presliding: 2e-5
    guided_by: guides
    straight_in: space
    limits: {lower: -0.01, upper: 0.02, rate: 0.05}
  slanted:
    rod: backbone
    routing: {shape: convergent, offset: [0.01, 0], tip_offset: [0.005, 0]}
    starts_at: 0.05
    ends_at: 0.25
  wound: {rod: backbone, routing: {shape: helical, radius: 0.01, pitch: 0.1, phase: 1}}
  curved: {rod: backbone, routing: {shape: polynomial, x: [0.01, -0.02], y: [0, 0, 0.1]}}
chambers:
  air:
    rod: other
    routing:
      shape: tabulated
      arc_lengths: [0, 0.1, 0.3]
      offsets: [[0, 0], [0.001, 0], [0, 0.001]]
    starts_at: 0.1
    ends_at: 0.2
    area: 2e-5
    tip_area: 1e-5
    command: amount
    temperature: 300
    ambient_pressure: 1e5
    supply_lag: 0.1
    dead_volume: 1e-6
    limits: {lower: 0, upper: 1e-3}
discs:
  guides: {rod: backbone, radius: 0.012, thickness: 0.001, at: [0.1, 0.2, 0.3]}
bodies:
  payload:
    rod: backbone
    at: 0.25
    mass: 0.01
    centre_of_mass: [0, 0, 0.01]
    inertia: {xx: 1e-6, yy: 1e-6, zz: 1e-6, xy: 1e-7}
modes: {bend_x: 4, bend_y: 4, twist: 2, shear_x: 0, shear_y: 0, stretch: 0, elements: 2}
time: {step: 0.01, scheme: newmark}
"""

PARALLEL = """\
name: hexapod
rods:
  a: &rod
    base: {position: [0.1, 0, 0]}
    segments:
      - &piece
        length: 0.3
        section: {shape: circular, radius: 1e-3}
        material: {young_modulus: 207e9, poisson_ratio: 0.3, density: 8000}
      - {<<: *piece, length: 0.1}
  b: {<<: *rod, base: {position: [-0.1, 0, 0]}}
tip: {offset: {position: [0, 0, 0.02]}}
legs:
  first:
    rod: a
    command: length
    attachment: {position: [0.1, 0, 0]}
    joint: clamped
    limits: {lower: 0.2, upper: 0.5, rate: 0.1}
  second:
    rod: b
    attachment: {position: [-0.1, 0, 0]}
    joint: revolute
    axis: [0, 2, 0]
platform:
  mass: 0.1
  inertia: {xx: 1e-4, yy: 1e-4, zz: 2e-4}
  radius: 0.12
  thickness: 0.003
"""


@pytest.fixture
def read(tmp_path):
    """Return a function that loads a robot from text."""
    def load(content):
        path = tmp_path / 'arm.yaml'
        path.write_text(content)
        return robot.load(path)
    return load


# --- Good files ----------------------------------------------------------------------------------

def test_every_key_of_an_arm_reaches_its_field(read):
    arm = read(ARM)
    assert arm.rods['other'].drag == Drag((0.03, 0.03, 0.0), (1e-3, 1e-3, 0.0))
    assert arm.tendons['straight'] == Tendon(
        routing=Parallel((0.01, 0.0)), rod='backbone', command='displacement', compliance=1e-4,
        pretension=2.0, damping_friction=5.0, coulomb_friction=0.1, presliding=2e-5,
        guided_by='guides', straight_in='space', limits=Limits(-0.01, 0.02, 0.05))
    assert arm.tendons['slanted'] == Tendon(
        routing=Convergent((0.01, 0.0), (0.005, 0.0)), rod='backbone', starts_at=0.05,
        ends_at=0.25)
    assert arm.tendons['wound'].routing == Helical(0.01, pitch=0.1, phase=1.0)
    assert arm.tendons['curved'].routing == Polynomial((0.01, -0.02), (0.0, 0.0, 0.1))
    assert arm.chambers['air'] == Chamber(
        routing=Tabulated((0.0, 0.1, 0.3), ((0.0, 0.0), (0.001, 0.0), (0.0, 0.001))),
        rod='other', starts_at=0.1, ends_at=0.2, area=2e-5, tip_area=1e-5, command='amount',
        temperature=300.0, ambient_pressure=1e5, supply_lag=0.1, dead_volume=1e-6,
        limits=Limits(0.0, 1e-3))
    assert arm.discs['guides'] == Discs(0.012, 0.001, at=(0.1, 0.2, 0.3), rod='backbone')
    assert arm.bodies['payload'] == Body(
        0.01, 0.25, 'backbone', (0.0, 0.0, 0.01), Inertia(1e-6, 1e-6, 1e-6, xy=1e-7))
    assert arm.modes == StrainModes(0, 0, 0, 4, 4, 2, elements=2)
    assert arm.time == TimeStepping(0.01, 'newmark')


def test_every_key_of_a_parallel_robot_reaches_its_field(read):
    hexapod = read(PARALLEL)
    assert hexapod.legs['first'] == Leg(
        rod='a', attachment=Pose((0.1, 0.0, 0.0)), limits=Limits(0.2, 0.5, 0.1))
    assert hexapod.legs['second'].joint == 'revolute'
    assert hexapod.legs['second'].axis == (0.0, 1.0, 0.0)  # a unit vector
    assert hexapod.platform == Platform(0.1, Inertia(1e-4, 1e-4, 2e-4), 0.12, 0.003)


def test_actuators_are_in_the_order_of_the_file_within_their_kinds(read):
    arm = read(ARM)
    assert list(arm.actuators) == ['straight', 'slanted', 'wound', 'curved', 'air']
    assert list(read(PARALLEL).actuators) == ['first', 'second']
    with pytest.raises(TypeError):
        arm.actuators['new'] = arm.actuators['air']


PATH = {'routing': Parallel((0.01, 0.0))}
ROD = MountedRod((Segment(0.3, Circular(1e-3), Material(1e9, 1e3, poisson_ratio=0.3)),))
STRAINS = np.tile([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (2, 1))


@pytest.mark.parametrize('actuator, unit, interface, bounds', [
    (Tendon(**PATH), 'N', 'effort', (0.0, np.inf)),
    (Tendon(**PATH, limits=Limits(1.0, 2.0)), 'N', 'effort', (1.0, 2.0)),
    (Tendon(**PATH, command='displacement'), 'm', 'position', (-np.inf, np.inf)),
    (Chamber(**PATH, area=1e-5), 'Pa', 'effort', (-101325.0, np.inf)),
    (Chamber(**PATH, area=1e-5, command='volume'), 'm^3', 'position', (0.0, np.inf)),
    (Chamber(**PATH, area=1e-5, command='amount'), 'mol', 'position', (0.0, np.inf)),
    (Leg(rod='a'), 'm', 'position', (0.0, np.inf)),
])
def test_a_command_has_unit_interface_and_bounds(actuator, unit, interface, bounds):
    assert (actuator.unit, actuator.interface, actuator.bounds) == (unit, interface, bounds)


def test_a_path_knows_its_rod_and_ends(read):
    arm = read(ARM)
    path = arm.path('slanted')
    assert (path.rod, path.start, path.end) == ('backbone', 0.05, 0.25)
    assert_allclose(path.at(np.array([0.05, 0.25]))[:, 0], [0.01, 0.005])
    assert (arm.path('wound').start, arm.path('wound').end) == (0.0, arm.rods['backbone'].length)
    assert arm.path('air').areas == (2e-5, 1e-5)
    with pytest.raises(UnknownName, match='straight'):
        arm.path('strait')


def test_an_end_may_be_the_length_of_the_rod_but_for_rounding():
    assert 0.1 + 0.2 != 0.3
    rod = MountedRod((replace(ROD.segments[0], length=0.1),) * 3)  # 0.30000000000000004
    assert Robot('r', {'r': rod}, tendons={'t': Tendon(**PATH, ends_at=0.3)}).path('t').end == 0.3
    short = MountedRod((replace(ROD.segments[0], length=0.7), replace(
        ROD.segments[0], length=0.1)))  # 0.7999999999999999
    arm = Robot('r', {'r': short}, tendons={'t': Tendon(**PATH, ends_at=0.8)})
    assert arm.path('t').end == short.length < 0.8


def test_positions_at_rest_are_displacement_volume_and_length(read):
    arm, hexapod = read(ARM), read(PARALLEL)
    assert arm.rest_position('straight') == 0.0
    assert_allclose(arm.rest_position('air'), 1.5e-5 * 0.1, rtol=1e-12)
    assert_allclose(hexapod.rest_position('first'), 0.4)


@settings(deadline=None)
@given(x=st.floats(-0.02, 0.02), y=st.floats(-0.02, 0.02), u=st.floats(-8, 8))
def test_the_volume_of_a_chamber_in_a_bent_rod_is_that_of_a_torus(x, y, u):
    bent = MountedRod((Segment(
        0.3, Circular(0.02), Material(1e6, 1e3, poisson_ratio=0.5),
        rest=RestShape(curvature=(0.0, u, 0.0))),))
    chamber = Chamber(routing=Parallel((x, y)), area=1e-5)
    arm = Robot('arm', {'b': bent}, chambers={'c': chamber})
    assert_allclose(arm.rest_position('c'), 1e-5 * 0.3 * (1.0 - u * x), rtol=1e-12)


def test_discs_are_counted_or_placed():
    assert_allclose(Discs(0.01, 0.001, 4).arc_lengths(0.2), [0.05, 0.1, 0.15, 0.2])
    assert_allclose(Discs(0.01, 0.001, at=(0.0, 0.1)).arc_lengths(0.2), [0.0, 0.1])


def test_an_inertia_is_a_symmetric_tensor():
    J = Inertia(2.0, 3.0, 4.0, 0.1, 0.2, 0.3)
    assert_allclose(J.matrix(), [[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]])
    assert_allclose(sum(J.principal), 9.0)
    assert Inertia(0.0, 0.0, 0.0).principal == (0.0, 0.0, 0.0)


def test_the_tip_is_on_the_platform(read):
    hexapod = read(PARALLEL)
    shape = hexapod.rest_shape(5)
    assert_allclose(hexapod.platform_pose(shape)[:3, 3], [0.0, 0.0, 0.4], atol=1e-15)
    assert_allclose(hexapod.tip_pose(shape)[:3, 3], [0.0, 0.0, 0.42], atol=1e-15)


@pytest.mark.parametrize('joints', [
    ['clamped'], ['clamped', 'clamped'], ['spherical'] * 3, ['revolute', 'revolute'],
    ['clamped', 'spherical', 'revolute']])
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_the_platform_is_where_legs_that_meet_it_have_it(joints, data):
    """Whatever its pose, and however the joints are turned."""
    triple = st.tuples(*[st.floats(-1.5, 1.5)] * 3)
    truth = Pose(data.draw(triple), data.draw(triple)).matrix()
    places = [(0.1, 0.0, 0.0), (-0.05, 0.08, 0.0), (-0.05, -0.08, 0.01)]
    legs, shape = {}, {}
    for i, (joint, place) in enumerate(zip(joints, places)):
        held = Pose(place, (0.0, 0.0, data.draw(st.floats(-0.3, 0.3))))
        turned = {
            'clamped': Pose(), 'spherical': Pose((0.0, 0.0, 0.0), data.draw(triple)),
            'revolute': Pose((0.0, 0.0, 0.0), (0.0, data.draw(st.floats(-3, 3)), 0.0))}[joint]
        axis = (0.0, 1.0, 0.0) if joint == 'revolute' else None
        legs[f'leg{i}'] = Leg(rod=f'rod{i}', attachment=held, joint=joint, axis=axis)
        tip = truth @ held.matrix() @ turned.matrix()
        shape[f'rod{i}'] = RodShape(np.array([0.0, 1.0]), np.array([np.eye(4), tip]), STRAINS)
    rods = dict.fromkeys(shape, ROD)
    plate = Platform(0.1, Inertia(1e-4, 1e-4, 2e-4), 0.1, 0.01)
    whole = Robot('whole', rods, legs=legs, platform=plate)
    assert_allclose(whole.platform_pose(shape), truth, atol=1e-9)


def test_a_platform_on_a_ball_has_some_pose():
    legs = {'leg': Leg(rod='rod', joint='spherical')}
    plate = Platform(0.1, Inertia(1e-4, 1e-4, 2e-4), 0.1, 0.01)
    ball = Robot('ball', {'rod': ROD}, legs=legs, platform=plate)
    shape = ball.rest_shape(3)
    assert_allclose(ball.platform_pose(shape), shape['rod'].poses[-1], atol=1e-12)


# --- Shipped robots ------------------------------------------------------------------------------

def shipped(name):
    return robot.load(ROOT / 'config' / f'{name}.yaml')


def test_the_arm_of_the_experiment_weighs_what_the_paper_says_and_bends_in_the_vertical():
    arm = shipped('tendon_experiment')
    assert_allclose(arm.rods['backbone'].mass, 0.034, rtol=1e-5)
    up = arm.base.matrix()[:3, :3].T @ (0, 0, 1)
    assert_allclose(up, [1, 0, 0], atol=1e-15)  # g = -9.81 e_1


def test_the_finger_ends_in_the_state_that_the_paper_reports():
    """
    2e-4 mol fill 2.65e-6 m^3 at a mean stretch of 0.12 (Till 2019, section 5.3.3).

    A constant pressure makes constant strains: P A = EA (v - 1), P A r = EI u.
    """
    finger = shipped('fluidic_finger')
    chamber, path = finger.chambers['chamber'], finger.path('chamber')
    K = finger.rods['backbone'].stiffness(0.05)
    (A, _), r = path.areas, path.at(np.array([0.05]))[0, 0]
    gas = 2e-4 * 8.314 * chamber.temperature
    softness = A / K[2] + A * r ** 2 / K[4]  # swept stretch per pressure
    L = path.end
    # (P + P_atm) A L (1 + softness P) = n R T
    P = np.roots([softness, 1.0 + softness * chamber.ambient_pressure,
                  chamber.ambient_pressure - gas / (A * L)]).max()
    assert_allclose(A * L * (1.0 + softness * P), 2.65e-6, rtol=5e-3)
    assert_allclose(P * A / K[2], 0.12, rtol=0.02)


def test_the_holes_of_the_hexapod_are_on_a_circle_a_major_angle_apart():
    hexapod = shipped('stewart_gough')
    base = np.array([rod.base.position for rod in hexapod.rods.values()])
    top = np.array([leg.attachment.position for leg in hexapod.legs.values()])
    for holes, first in ((base, 20.0), (top, 100.0)):
        assert_allclose(np.linalg.norm(holes, axis=1), 0.087, rtol=1e-6)
        angles = np.degrees(np.arctan2(holes[:, 1], holes[:, 0]))
        assert_allclose(np.diff(angles, append=angles[0]) % 360.0,
                        [first, 120.0 - first] * 3, rtol=1e-5)
    pose = hexapod.platform_pose(hexapod.rest_shape(3))
    assert_allclose(pose[:3, :3], np.eye(3), atol=1e-6)
    assert_allclose(pose[:3, 3], [0, 0, 0.5042], atol=1e-8)


def test_the_strips_of_the_planar_robot_meet_its_platform_at_rest():
    planar = shipped('planar_parallel')
    shape = planar.rest_shape(3)
    pose = planar.platform_pose(shape)
    assert_allclose(pose[:3, 3], [0, 0, 0.4], atol=1e-12)
    for leg in planar.legs.values():
        assert_allclose(pose @ leg.attachment.matrix(), shape[leg.rod].poses[-1], atol=1e-12)


def test_the_segments_of_the_long_arm_have_three_tendons_each():
    arm = shipped('three_segment_arm')
    ends = [arm.path(name).end for name in arm.tendons]
    assert_allclose(ends, np.repeat(arm.rods['backbone'].breaks[1:], 3))
    r = np.array([arm.path(name).at(np.zeros(1))[0] for name in arm.tendons])
    assert_allclose(np.linalg.norm(r, axis=1), 0.0045, rtol=1e-4)


# --- Bad files -----------------------------------------------------------------------------------

def change(good, old, new):
    """Return a file with one change."""
    assert old in good
    return good.replace(old, new, 1)


arm, parallel = partial(change, ARM), partial(change, PARALLEL)


TABLE = 'arc_lengths: [0, 0.1, 0.3]'
BAD = {
    # what is wrong: (changed file, words that the message must have, in order)
    'unknown routing': (arm('shape: parallel', 'shape: paralel'), ["'parallel'"]),
    'no routing': (arm('    routing: {shape: parallel, offset: [0.01, 0]}\n', ''),
                   ['tendons.straight.routing is missing']),
    'chamber on no rod': (arm('rod: other', 'rod: othr'), ['chambers.air.rod', "'other'"]),
    'chamber without rod': (arm('    rod: other\n', ''), ['chambers.air.rod', 'backbone, other']),
    'tendon on no rod': (arm('rod: backbone\n    routing', 'rod: x\n    routing'),
                         ['tendons.straight.rod', 'backbone']),
    'body on no rod': (arm('rod: backbone\n    at', 'rod: back\n    at'),
                       ['bodies.payload.rod', "'backbone'"]),
    'discs on no rod': (arm('{rod: backbone, radius', '{rod: b, radius'), ['discs.guides.rod']),
    'leg on no rod': (parallel('rod: b\n', 'rod: c\n'), ['legs.second.rod', 'one of: a, b']),
    'leg without rod': (parallel('    rod: b\n', ''), ['legs.second.rod is missing']),
    'same name': (arm('  air:', '  wound:'), ['chambers.wound', 'not among the tendons']),
    'path beyond the rod': (arm('ends_at: 0.25', 'ends_at: 0.35'),
                            ['tendons.slanted.ends_at', '0.3 \\[m\\]', '0.35']),
    'chamber beyond the rod': (arm('ends_at: 0.2\n', 'ends_at: 0.4\n'),
                               ['chambers.air.ends_at', "rod's length", '0.4']),
    'start beyond the rod': (arm('    starts_at: 0.05\n    ends_at: 0.25', '    starts_at: 0.3'),
                             ['tendons.slanted.starts_at', 'less than', '0.3 \\[m\\]']),
    'start after end': (arm('starts_at: 0.05', 'starts_at: 0.25'),
                        ['tendons.slanted.ends_at', 'more than starts_at, 0.25']),
    'start before the rod': (arm('starts_at: 0.05', 'starts_at: -0.1'), ['starts_at', '>= 0']),
    'path that is nowhere': (arm('y: [0, 0, 0.1]', 'y: [0, 0, 1e300]'),
                             ['tendons.curved.routing', '1e\\+06 \\[m\\]']),
    'path across': (arm('pitch: 0.1', 'pitch: 1e-9'), ['tendons.wound.routing', 'slope']),
    'path that overflows': (arm('pitch: 0.1', 'pitch: 1e-320'), ['tendons.wound.routing']),
    'pitch and turns': (arm('pitch: 0.1', 'pitch: 0.1, turns: 2'), ['routing.pitch, turns']),
    'table that goes back': (arm(TABLE, 'arc_lengths: [0, 0.3, 0.1]'),
                             ['routing.arc_lengths\\[2\\]', 'more than', '0.3']),
    'table with a gap': (arm(TABLE, 'arc_lengths: [0, .nan, 0.3]'),
                         ['routing.arc_lengths\\[1\\]', 'nan']),
    'table that is short': (arm(TABLE, 'arc_lengths: [0, 0.1]'),
                            ['chambers.air.routing.offsets', 'as many as arc_lengths, 2']),
    'table of numbers': (arm('[[0, 0], [0.001, 0], [0, 0.001]]', '[0, 0.001, 0]'),
                         ['routing.offsets\\[0\\]', '2 finite numbers']),
    'area below zero': (arm('area: 2e-5', 'area: -2e-5'), ['chambers.air.area', '> 0 \\[m\\^2']),
    'no area at the tip': (arm('tip_area: 1e-5', 'tip_area: 0'), ['chambers.air.tip_area', '> 0']),
    'no area': (arm('    area: 2e-5\n', ''), ['chambers.air.area is missing']),
    'below absolute zero': (arm('temperature: 300', 'temperature: -3'), ['temperature', '> 0']),
    'lag below zero': (arm('supply_lag: 0.1', 'supply_lag: -0.1'), ['supply_lag', '>= 0 \\[s']),
    'dead volume': (arm('dead_volume: 1e-6', 'dead_volume: -1'), ['dead_volume', '>= 0']),
    'command of a tendon': (arm('command: amount', 'command: tension'),
                            ['chambers.air.command', 'pressure, volume, amount']),
    'command of a chamber': (arm('command: displacement', 'command: volume'),
                             ['tendons.straight.command', 'tension, displacement']),
    'command of a leg': (parallel('command: length', 'command: force'),
                         ['legs.first.command', 'length']),
    'amount below zero': (arm('lower: 0,', 'lower: -1,'), ['limits.lower', '>= 0 \\[mol\\]']),
    'limits inverted': (arm('lower: -0.01', 'lower: 0.03'), ['limits.lower', '0.02', '0.03']),
    'rate of zero': (arm('rate: 0.05', 'rate: 0'), ['limits.rate', '> 0', 'per second']),
    'rate that is nothing': (arm('rate: 0.05', 'rate: .nan'), ['limits.rate', 'nan']),
    'pretension of steel': (arm('compliance: 1e-4', 'compliance: 0'),
                            ['tendons.straight.pretension', 'without a compliance']),
    'stiffness below zero': (arm('compliance: 1e-4', 'compliance: -1e-4'), ['compliance', 'm/N']),
    'friction below zero': (arm('coulomb_friction: 0.1', 'coulomb_friction: -1'),
                            ['coulomb_friction', '>= 0']),
    'no presliding': (arm('presliding: 2e-5', 'presliding: 0'), ['presliding', 'm']),
    'chords without discs': (arm('    guided_by: guides\n', ''), ['straight_in', 'guided_by']),
    'damping below zero': (arm('damping_friction: 5', 'damping_friction: -5'), ['s/m']),
    'unknown discs': (arm('guided_by: guides', 'guided_by: guide'),
                      ['tendons.straight.guided_by', "'guides'"]),
    'discs of another rod': (arm('{rod: backbone, radius', '{rod: other, radius'),
                             ['tendons.straight.guided_by', "tendon's rod, backbone"]),
    'discs beyond the rod': (arm('at: [0.1, 0.2, 0.3]', 'at: [0.1, 0.2, 0.4]'),
                             ['discs.guides.at', "rod's length", '0.4']),
    'discs that go back': (arm('at: [0.1, 0.2, 0.3]', 'at: [0.1, 0.3, 0.2]'),
                           ['discs.guides.at\\[2\\]', 'more than']),
    'discs counted and placed': (arm('at: [0.1, 0.2, 0.3]', 'at: [0.1], count: 1'),
                                 ['discs.guides.count, at', 'one given']),
    'body beyond the rod': (arm(' at: 0.25', ' at: 0.31'), ['bodies.payload.at', '0.3 \\[m\\]']),
    'no mass': (arm('mass: 0.01', 'mass: 0'), ['bodies.payload.mass', '> 0 \\[kg\\]']),
    'no such body': (arm('zz: 1e-6', 'zz: 1e-5'),
                     ['bodies.payload.inertia.principal moments', 'sum of the others']),
    'no such product': (arm('xy: 1e-7', 'xy: 1e-5'), ['inertia.principal moments', '>= 0']),
    'drag that pushes': (arm('square: [0.03', 'square: [-0.03'),
                         ['drag.square\\[0\\]', '>= 0 \\[kg/m\\^2\\]']),
    'modes below zero': (arm('bend_x: 4', 'bend_x: -4'), ['modes.bend_x', '0 to 40']),
    'unknown mode': (arm('bend_x: 4', 'bent_x: 4'), ['modes.bent_x', "'bend_x'"]),
    'unknown scheme': (arm('scheme: newmark', 'scheme: euler'),
                       ['time.scheme', 'generalised_alpha, backward_euler']),
    'no time': (arm('step: 0.01', 'step: 0'), ['time.step', '\\[s\\]']),
    'axis of zero': (parallel('axis: [0, 2, 0]', 'axis: [0, 0, 0]'),
                     ['legs.second.axis', 'not zero']),
    'axis of nothing': (parallel('axis: [0, 2, 0]', 'axis: [0, .nan, 0]'), ['axis\\[1\\]', 'nan']),
    'no axis': (parallel('    axis: [0, 2, 0]\n', ''), ['legs.second.axis', 'revolute']),
    'axis of a clamp': (parallel('joint: revolute', 'joint: clamped'),
                        ['legs.second.axis', 'for no other']),
    'unknown joint': (parallel('joint: clamped', 'joint: fixed'),
                      ['legs.first.joint', 'clamped, spherical, revolute']),
    'two legs of one rod': (parallel('rod: b', 'rod: a'), ['legs.second.rod', 'no other leg']),
    'leg of no length': (parallel('lower: 0.2', 'lower: 0'), ['limits.lower', '> 0 \\[m\\]']),
    'leg that is too long': (parallel('upper: 0.5', 'upper: 0.3'),
                             ['legs.first.limits', 'at rest, 0.4 \\[m\\]']),
    'leg that is fed too little': (parallel('lower: 0.2', 'lower: 0.1'),
                                   ['legs.first.limits.lower', 'after the first, 0.1']),
    'tip on a rod': (parallel('tip: {', 'tip: {rod: a, '), ['tip.rod', 'on the platform']),
    'no platform': (PARALLEL[:PARALLEL.index('platform:')], ['platform', 'there are legs']),
    'no legs': (PARALLEL[:PARALLEL.index('legs:')] + PARALLEL[PARALLEL.index('platform:'):],
                ['legs', 'at least one where there is a platform']),
    'platform that cannot turn': (parallel('xx: 1e-4, yy: 1e-4, zz: 2e-4', 'xx: 0, yy: 0, zz: 0'),
                                  ['platform.inertia', '> 0 about every axis']),
    'platform of no size': (parallel('radius: 0.12', 'radius: 0'), ['platform.radius', '> 0']),
    'short inertia': (parallel('{xx: 1e-4, yy: 1e-4, zz: 2e-4}', '[1e-4, 1e-4, 2e-4]'),
                      ['platform.inertia', 'xx, yy, zz']),
}


@pytest.mark.parametrize('what', BAD)
def test_a_bad_part_is_refused_in_one_line(what, read):
    content, words = BAD[what]
    with pytest.raises(InvalidDescription) as caught:
        read(content)
    message = str(caught.value)
    assert '\n' not in message and len(message) < 600
    assert re.search(r'arm\.yaml:\d+: .*' + '.*'.join(words), message), message


def test_the_line_is_that_of_the_part(read):
    for content, line in (
        (arm('ends_at: 0.25', 'ends_at: 0.35'), ARM[:ARM.index('ends_at: 0.25')].count('\n') + 1),
        (parallel('rod: b\n', 'rod: a\n'), PARALLEL[:PARALLEL.index('rod: b')].count('\n') + 1),
    ):
        with pytest.raises(InvalidDescription, match=f'arm.yaml:{line}: '):
            read(content)


@pytest.mark.parametrize('field, change', [
    ('tip_section', {'tip_section': Circular(2e-3)}),
    ('rest.tip_curvature', {'rest': RestShape(tip_curvature=(0.0, 1.0, 0.0))})])
def test_a_leg_is_fed_by_a_uniform_segment(field, change):
    tapered = MountedRod((replace(ROD.segments[0], **change),))
    plate = Platform(0.1, Inertia(1e-4, 1e-4, 2e-4), 0.1, 0.01)
    with pytest.raises(InvalidModel, match=rf'rods.r.segments\[0\].{field} .* uniform'):
        Robot('r', {'r': tapered}, legs={'l': Leg(rod='r')}, platform=plate)


def test_a_pressure_may_fall_to_vacuum_and_no_further():
    Chamber(**PATH, area=1e-5, limits=Limits(-101325.0, 0.0))
    with pytest.raises(InvalidModel, match=r'limits.lower .* >= -101325 \[Pa\]'):
        Chamber(**PATH, area=1e-5, limits=Limits(-101326.0, 0.0))


def test_parts_made_in_python_are_checked_as_well():
    with pytest.raises(InvalidModel, match='routing must be a routing'):
        Tendon(routing=(0.1, 0.0))
    with pytest.raises(InvalidModel, match='limits must be limits'):
        Tendon(**PATH, limits=(0.0, 1.0))
    with pytest.raises(InvalidModel, match='drag must be a drag'):
        MountedRod(ROD.segments, drag=0.1)
    with pytest.raises(InvalidModel, match='attachment must be a pose'):
        Leg(rod='a', attachment=np.eye(4))
    with pytest.raises(InvalidModel, match='modes must be strain modes'):
        Robot('r', {'r': ROD}, modes=4)
    with pytest.raises(InvalidModel, match='chambers.c must be chambers'):
        Robot('r', {'r': ROD}, chambers={'c': Tendon(**PATH)})


@pytest.mark.parametrize('good', [ARM, PARALLEL], ids=['arm', 'parallel'])
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_whatever_is_put_in_place_of_a_node_is_read_or_refused(good, data, tmp_path_factory):
    """Only `InvalidDescription` ever comes out, and what is accepted has finite numbers."""
    document = YAML(typ='safe').load(good)
    path = data.draw(st.sampled_from([path for path in nodes_of(document) if path]))
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = data.draw(NODES)
    file = tmp_path_factory.mktemp('fuzz') / 'arm.yaml'
    with file.open('w') as stream:
        YAML(typ='safe').dump(document, stream)
    try:
        made = robot.load(file)
    except InvalidDescription as error:
        assert '\n' not in str(error)
        return
    assert np.isfinite(made.tip_pose(made.rest_shape(5))).all()
    assert np.isfinite([made.rest_position(name) for name in made.actuators]).all()
