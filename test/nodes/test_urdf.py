"""Robots as URDF: a parser of others reads them, and they are where the simulator has them."""

from dataclasses import replace

from conftest import ROOT
from driver import simulator
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from scipy.spatial.transform import Rotation
from std_msgs.msg import String
from test_simulator import matrix
from tf2_msgs.msg import TFMessage
from urdf_parser_py import urdf as parser

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.commands.cosserat import main
from cosserat_ros.description.joints import Joint
from cosserat_ros.description.parts import Body, Inertia, Pose
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.frame_names import FrameNames
from cosserat_ros.simulation.passive_joints import PassiveJoints
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.simulation.urdf import urdf

CONFIG = ROOT / 'config'
SHIPPED = sorted(CONFIG.glob('*.yaml'))
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SEGMENT = """
    segments:
      - length: 0.2
        section: {shape: circular, radius: 0.001}
        material: {young_modulus: 207e9, poisson_ratio: 0.3, density: 8000}
"""
HINGED = f"""
name: hinged
bodies:
  plate: {{mass: 0.3, centre_of_mass: [0.01, 0, 0],
          inertia: {{xx: 4e-4, yy: 5e-4, zz: 6e-4, xy: 1e-5}}}}
  wheel: {{mass: 0.1, inertia: {{xx: 5e-5, yy: 5e-5, zz: 8e-5}},
          frames: {{hub: {{position: [0, 0, 0.03], roll_pitch_yaw: [0.3, -0.4, 0.5]}}}}}}
  ball: {{mass: 0.05, contact: {{points: [[0, 0, 0.01]], radius: 0.02, stiffness: 1000}}}}
joints:
  rail: {{kind: prismatic, child: plate, axis: [1, 2, 0.5], position: 0.05, drive: position,
         pose: {{position: [0.1, 0, 0], roll_pitch_yaw: [0.1, 0.2, 0.3]}},
         child_pose: {{position: [0, 0.02, 0.01], roll_pitch_yaw: [-0.5, 0.1, 0.2]}},
         limits: {{lower: -0.1, upper: 0.2, velocity: 0.5}}}}
  axle: {{kind: revolute, parent: plate, child: wheel, axis: [0, 1, 1], position: 0.4,
         drive: position, CHILD}}
  hook: {{kind: revolute, parent: wheel, child: ball, stiffness: 1,
         pose: {{position: [0, 0, 0.1]}}}}
rods:
  beside:{SEGMENT}
tip: {{on: wheel, frame: hub, offset: {{position: [0.01, 0.02, 0.03]}}}}
"""
AT_AXIS = 'child_pose: {roll_pitch_yaw: [0.2, 0.1, -0.3]}'


@pytest.fixture
def read(tmp_path):
    """Return a function that makes a robot of the text of its file."""
    def read(text):
        path = tmp_path / 'robot.yaml'
        path.write_text(text)
        return load(path)
    return read


def at_rest(robot, stations=7):
    sim = Simulator(robot, stations=stations)
    assert sim.statics().converged
    return sim


def pose_of(origin):
    g = np.eye(4)
    g[:3, 3] = origin.xyz
    g[:3, :3] = Rotation.from_euler('xyz', origin.rpy).as_matrix()
    return g


def places(found, positions):
    """Return the poses of all links, seen from the root, given positions of joints by name."""
    def place(link):
        if link == found.get_root():
            return np.eye(4)
        name, parent = found.parent_map[link]
        joint = found.joint_map[name]
        moved = np.eye(4)
        if joint.type == 'prismatic':
            moved[:3, 3] = positions[name] * np.array(joint.axis)
        elif joint.type in ('revolute', 'continuous'):
            turn = positions[name] * np.array(joint.axis)
            moved[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
        else:
            assert joint.type in ('fixed', 'floating')
        return place(parent) @ pose_of(joint.origin) @ moved
    return {link.name: place(link.name) for link in found.links}


def positions(sim):
    """Return what joint_states tells of joints."""
    passive = PassiveJoints(sim)
    told = {name: state.position for name, state in sim.actuators().items()}
    return {**told, **{name: state[0] for name, state in zip(passive.names, passive.states())}}


def frames_of(sim):
    """Return the poses of all frames, seen from base_link, as the simulator has them."""
    look = sim.look()
    names = FrameNames(sim.robot, len(sim.stations[0].s))
    poses = {names.base_link: np.eye(4)}
    for rod, frames in names.of_rod.items():
        poses.update(zip(frames, look.shape[rod].poses))
    poses.update((frame, look.bodies[name]) for name, frame in names.bodies.items())
    poses.update((name, poses[at.carrier] @ at.pose) for name, at in names.fixed.items())
    assert_allclose(poses['tip'], look.tip, atol=1e-12)
    return poses


def check_places(sim):
    """Hold a URDF against the simulator; return it as the parser has it."""
    text = urdf(sim)
    found = parser.URDF.from_xml_string(text.encode())
    assert found.get_root() == 'base_link'
    wanted, got = frames_of(sim), places(found, positions(sim))
    assert got.keys() == wanted.keys()
    for name, pose in wanted.items():
        assert_allclose(got[name], pose, atol=1e-9, err_msg=name)
    assert len({joint.name for joint in found.joints}) == len(found.joints) == len(got) - 1
    return found


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_robot_is_where_the_simulator_has_it(path):
    sim = at_rest(load(path))
    found = check_places(sim)
    assert found.name == sim.robot.name
    for rod, frames in FrameNames(sim.robot, 7).of_rod.items():
        chords = np.linalg.norm(np.diff(sim.shape()[rod].poses[:, :3, 3], axis=0), axis=1)
        pieces = [found.link_map[frame].visuals[0] for frame in frames]
        lengths = [getattr(p.geometry, 'length', None) or p.geometry.size[2] for p in pieces]
        assert_allclose(sum(lengths), chords.sum(), rtol=1e-12)  # no gap and no overlap
        discs = sum(len(found.link_map[frame].visuals) - 1 for frame in frames)
        assert discs == sum(
            len(d.arc_lengths(sim.robot.rods[rod].length)) for d in sim.robot.discs.values()
            if sim.robot.rod_name(d.rod) == rod)


def test_a_slide_and_a_turntable_are_joints_with_their_limits():
    sim = at_rest(load(CONFIG / 'arm_on_slide.yaml'))
    sim.command(slide=0.1, turn=0.7)
    assert sim.statics().converged
    found = check_places(sim)  # moved away from the zeros of joints
    slide, turn = found.joint_map['slide'], found.joint_map['turn']
    assert (slide.type, slide.parent, slide.child) == ('prismatic', 'base_link', 'carriage')
    assert (turn.type, turn.parent, turn.child) == ('revolute', 'carriage', 'turntable')
    assert (slide.limit.lower, slide.limit.upper, slide.limit.velocity) == (-0.15, 0.15, 0.5)
    assert (turn.limit.lower, turn.limit.upper, turn.limit.velocity) == (-3.1, 3.1, 4.0)
    inertial = found.link_map['carriage'].inertial
    assert inertial.mass == 0.3
    assert (inertial.inertia.ixx, inertial.inertia.izz, inertial.inertia.ixy) == (4e-4, 6e-4, 0.0)
    round_one = found.link_map['carriage'].visuals[0].geometry
    a, b = 0.3 / 4.0 * round_one.radius ** 2, 0.3 / 12.0 * round_one.length ** 2
    assert_allclose([a + b, 2.0 * a], [4e-4, 6e-4])  # moments of the body, across and along


def test_joints_that_are_off_and_turned_on_both_bodies(read):
    sim = at_rest(read(HINGED.replace('CHILD', AT_AXIS)))
    found = check_places(sim)
    assert found.joint_map['rail'].type == 'prismatic'
    assert found.joint_map['axle'].type == 'continuous'
    assert found.joint_map['hook'].type == 'continuous'  # though nothing drives it
    assert_allclose(found.link_map['plate'].inertial.origin.xyz, [0.01, 0, 0])
    assert found.link_map['plate'].inertial.inertia.ixy == 1e-5
    assert found.link_map['ball'].visuals[0].geometry.radius == 0.02
    sim.command(rail=-0.02, axle=-1.0)
    assert sim.statics().converged
    check_places(sim)


def test_a_hinge_beside_its_childs_frame_floats(read):
    sim = at_rest(read(HINGED.replace('CHILD', 'child_frame: hub')))
    found = check_places(sim)
    assert found.parent_map['wheel'] == ('wheel_joint', 'base_link')


def test_carried_bodies_are_on_the_link_of_the_nearest_station(read):
    """Two at one place are one inertial: that of all their matter."""
    arm = load(CONFIG / 'tendon_arm.yaml')
    J = Inertia(1e-6, 2e-6, 2.5e-6)
    bodies = {'a': Body(0.01, centre_of_mass=(0.01, 0.0, 0.0), inertia=J),
              'b': Body(0.03, centre_of_mass=(0.0, 0.02, 0.0), inertia=J),
              'c': Body(0.02, at=0.06)}
    sim = at_rest(replace(arm, bodies=bodies), 9)
    found = check_places(sim)
    held = found.link_map['backbone_08'].inertial
    assert_allclose(held.mass, 0.04)
    assert_allclose(held.origin.xyz, [0.0025, 0.015, 0.0], atol=1e-12)
    reduced = 0.01 * 0.03 / 0.04
    assert_allclose(held.inertia.izz, 5e-6 + reduced * (0.01 ** 2 + 0.02 ** 2))
    assert_allclose(held.inertia.ixy, reduced * 0.01 * 0.02)
    assert found.link_map['backbone_02'].inertial.mass == 0.02
    assert found.link_map['backbone_01'].inertial is None


def test_names_that_xml_escapes_survive_and_others_are_refused():
    """Those of files are words; a program may have made others."""
    arm = load(CONFIG / 'tendon_arm.yaml')
    for name in ('a<b>&"c\'', 'a b', 'Führung', 'wheel'):
        check_places(at_rest(replace(arm, bodies={name: Body(0.1, pose=Pose())}, joints={
            'backbone_00_joint': Joint(child=name, kind='prismatic', drive='position')})))
    with pytest.raises(InvalidModel, match='control characters'):
        urdf(at_rest(replace(arm, bodies={'a\x07b': Body(0.1, pose=Pose())}, joints={
            'slide': Joint(child='a\x07b', kind='prismatic', drive='position')})))


def test_the_command_prints_it(capsys, tmp_path):
    assert main(['urdf', str(CONFIG / 'tendon_arm.yaml'), '--stations', '5']) == 0
    found = parser.URDF.from_xml_string(capsys.readouterr().out.encode())
    assert [link.name for link in found.links] == [
        'base_link', *(f'backbone_{i:02d}' for i in range(5)), 'tip']
    assert main(['urdf', str(CONFIG / 'tendon_arm.yaml'), '--stations', '1']) == 1
    assert '--stations' in capsys.readouterr().err
    assert main(['urdf', str(tmp_path / 'none.yaml')]) == 1
    assert 'none.yaml' in capsys.readouterr().err


def test_the_node_publishes_it_for_late_listeners_with_the_frames_of_tf():
    """Without the prefix of its TF frames, as RobotModel and robot_state_publisher expect."""
    with simulator('-r', '__ns:=/left', robot='arm_on_slide', frame_prefix='left/',
                   namespace='/left') as (driver, _):
        driver.subscribe(String, '/left/robot_description', LATCHED)
        driver.subscribe(TFMessage, '/tf', 100)
        driver.subscribe(TFMessage, '/tf_static', LATCHED)
        heard = driver.messages
        assert driver.spin_until(
            lambda: all(heard[f'/{topic}'] for topic in (
                'left/robot_description', 'tf', 'tf_static')), 10.0)
    transforms = [t for topic in ('/tf_static', '/tf') for t in heard[topic][-1].transforms]
    tf = {t.child_frame_id: (t.header.frame_id, matrix(t)) for t in transforms}
    found = parser.URDF.from_xml_string(heard['/left/robot_description'][-1].data.encode())
    for name, pose in places(found, {'slide': 0.0, 'turn': 0.0}).items():
        if name == found.get_root():
            assert tf[f'left/{name}'][0] == 'world'
            continue
        parent, there = tf[f'left/{name}']
        above = tf[parent][1] if parent != 'left/base_link' else np.eye(4)
        assert_allclose(above @ there, pose, atol=1e-6, err_msg=name)
