"""Platforms on legs whose joints are not all of one kind."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.linearize import slopes
from cosserat_ros.assembly.assembly import Assembly
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.assembly.rods import RodsSolver
from cosserat_ros.description.joints import RodJoint
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Leg
from cosserat_ros.description.robot import load
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.simulation.simulator import Simulator

MODES = StrainModes(1, 1, 2, 5, 5, 3)
LENGTHS = (0.52, 0.5, 0.51, 0.5, 0.49, 0.505)
AXES = {'revolute': (0.0, 1.0, 0.0)}


def hexapod(*joints):
    """Return a simulator of the Stewart-Gough robot with these joints."""
    robot = load(ROOT / 'config' / 'stewart_gough.yaml')
    legs = {name: replace(leg, joint=joint, axis=AXES.get(joint))
            for (name, leg), joint in zip(robot.legs.items(), joints, strict=True)}
    return Simulator(replace(robot, legs=legs), MODES)


def stand(sim):
    sim.command(**dict(zip(sim.robot.legs, LENGTHS)))
    assert sim.statics().converged
    return sim


MIXED = ('clamped', 'spherical', 'revolute', 'clamped', 'revolute', 'spherical')


def test_each_joint_transmits_what_it_can():
    """No moment through a ball, none about a hinge's axis; and the weight is carried."""
    sim = stand(hexapod(*MIXED))
    total = np.zeros(3)
    for i, leg in enumerate(sim.robot.legs.values()):
        held = sim.solver.tip_wrenches[i]
        R = sim.solver.platform.R @ leg.attachment.matrix()[:3, :3]
        wrench = np.concatenate([R.T @ held[:3], R.T @ held[3:]])
        inside = sim.internal_wrenches()[leg.rod][-1]
        if leg.joint == 'spherical':
            assert_allclose(wrench[3:], 0.0, atol=1e-12)
            assert_allclose(inside[3:], 0.0, atol=2e-3)
        elif leg.joint == 'revolute':
            assert_allclose(wrench[4], 0.0, atol=1e-12)
            assert abs(inside[4]) < 2e-3
            assert np.abs(wrench[[3, 5]]).max() > 1e-4
        else:
            assert np.abs(wrench[3:]).max() > 1e-2
        total += held[:3]
    assert_allclose(total, [0.0, 0.0, -9.81 * sim.robot.platform.mass], atol=1e-6)


def springs(joint):
    """Return a joint of six springs, stiff but along what another one lets go."""
    turning = {'clamped': (1e6, 1e6, 1e6), 'spherical': (0.0, 0.0, 0.0),
               'revolute': (1e6, 0.0, 1e6)}[joint]
    coordinates = [Coordinate(stiffness=k) for k in (*(1e9,) * 3, *turning)]
    return JointKind('free', coordinates=coordinates)


@pytest.mark.parametrize('joints', [('spherical',) * 6, ('clamped',) * 6, MIXED], ids=str)
def test_joints_are_what_stiff_springs_come_to(joints):
    """A spring without stiffness lets go what a ball or a hinge does; the others hold."""
    plain = stand(hexapod(*joints))
    assembly = plain.model.assembly()
    rods = {name: replace(part, tip_joint=springs(joint))
            for (name, part), joint in zip(assembly.rods.items(), joints)}
    sprung = RodsSolver(
        Assembly(assembly.bodies, rods, gravity=plain.model.gravity),
        dict(zip(plain.model.names, plain.model.rods)))
    sprung.load(plain.loads)
    sprung.change_rods(*plain.model.feeding.fed(np.array(LENGTHS)))
    assert sprung.statics().converged
    assert_allclose(sprung.platform.p, plain.solver.platform.p, atol=1e-7)
    assert_allclose(sprung.platform.R, plain.solver.platform.R, atol=1e-6)
    stiffer = stand(hexapod(*('clamped',) * 6))
    same = np.abs(stiffer.tip_pose() - plain.tip_pose()).max() < 1e-5
    assert same == (set(joints) == {'clamped'})


def test_the_tangent_with_mixed_joints_is_the_derivative():
    sim = stand(hexapod(*MIXED))
    solver = sim.equations()
    z, still = solver.z, np.zeros(solver.z.size)
    _, K = solver.jacobian(z, still, still, 0.0, 0.0)
    rng = np.random.default_rng(3)
    for _ in range(5):
        step = 1e-6 * rng.normal(size=z.size)
        ahead, back = (solver.residual(z + sign * step, still, still) for sign in (1.0, -1.0))
        assert_allclose(K @ step, 0.5 * (ahead - back), rtol=1e-4, atol=1e-9)
    mass = slopes(solver, z, still, still).mass
    assert_allclose(mass, mass.T, atol=1e-9 * np.abs(mass).max())


def test_it_moves_and_comes_to_rest():
    sim = stand(hexapod(*MIXED))
    rest = sim.tip_pose()
    sim.set_wrench([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(20):
        assert sim.step(0.01).converged
    assert np.abs(sim.tip_pose() - rest).max() > 1e-3
    sim.set_wrench([0.0] * 6)
    assert sim.statics().converged
    assert_allclose(sim.tip_pose(), rest, atol=1e-7)


def test_a_joint_takes_only_the_axis_it_has():
    assert Leg(rod='a', joint='revolute', axis=(0.0, 2.0, 0.0)).axis == (0.0, 1.0, 0.0)


def test_a_point_of_a_leg_on_a_ball_joint_is_met_from_another_state():
    """Turns of all joints are counted from one state: those of legs as that of the platform."""
    plain = load(ROOT / 'config' / 'stewart_gough.yaml')
    robot = replace(plain, rods={
        name: replace(rod, base=replace(rod.base, joint=RodJoint(kind='spherical')))
        for name, rod in plain.rods.items()})
    there, sim = stand(Simulator(robot, MODES)), Simulator(robot, MODES)
    sim.command(**{name: 0.44 + 0.008 * (i % 2) for i, name in enumerate(robot.legs)})
    assert sim.statics().converged
    k = len(there.stations[0].s) // 2
    target = Target(there.shape()['leg_1'].poses[k][:3, 3], rod='leg_1',
                    at=float(there.stations[0].s[k]))
    found = InverseStatics(sim).solve([target])
    assert found.met, found.message
    sim.command(**found.commands)
    sim.stand(found.z, found.R)
    assert_allclose(sim.shape()['leg_1'].poses[k][:3, 3], target.position, rtol=0, atol=1e-8)
    again = Simulator(robot, MODES)
    again.command(**found.commands)
    assert again.statics().converged
    assert_allclose(again.shape()['leg_1'].poses[k][:3, 3], target.position, rtol=0, atol=1e-7)
