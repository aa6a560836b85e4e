"""Platforms on legs whose joints are not all of one kind."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.linearize import slopes
from cosserat_ros.analysis.stability import stability
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Leg
from cosserat_ros.description.robot import load
from cosserat_ros.engine.solver import SPHERICAL_TIP
from cosserat_ros.engine.system import unbalance_and_jacobian
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
        hold, reaction = sim.model.platform().hold[i], sim.solver.reactions[i]
        wrench = hold.T @ reaction
        inside = sim.internal_wrenches()[leg.rod][-1]
        if leg.joint == 'spherical':
            assert_allclose(reaction[3:], 0.0, atol=1e-12)
            assert_allclose(inside[3:], 0.0, atol=2e-3)
        elif leg.joint == 'revolute':
            assert_allclose(wrench[4], 0.0, atol=1e-12)
            assert abs(inside[4]) < 2e-3
            assert np.abs(wrench[[3, 5]]).max() > 1e-4
        else:
            assert np.abs(wrench[3:]).max() > 1e-2
        total += sim.solver.platform.R @ leg.attachment.matrix()[:3, :3] @ wrench[:3]
    assert_allclose(total, [0.0, 0.0, -9.81 * sim.robot.platform.mass], atol=1e-6)


@pytest.mark.parametrize('joints', [('spherical',) * 6, ('clamped',) * 6])
def test_rows_of_zeros_change_nothing(joints):
    """Six equal joints with and without rows that hold nothing: the same robot."""
    plain, padded = hexapod(*joints), hexapod(*joints)
    hold = plain.solver._platform.hold
    assert hold.shape[1] == (3 if joints[0] == 'spherical' else 6)
    wider = np.concatenate([hold, np.zeros((6, 2, 6))], axis=1)
    platform = padded.model.platform()
    padded.model.platform = lambda: platform._replace(hold=wider)
    padded = padded.twin()
    stand(plain), stand(padded)
    assert_allclose(padded.tip_pose(), plain.tip_pose(), atol=1e-9)
    assert_allclose(padded.solver.reactions[:, -2:], 0.0, atol=1e-15)
    assert stability(padded).ways == stability(plain).ways
    for _ in range(5):
        assert plain.step(0.01).converged and padded.step(0.01).converged
    assert_allclose(padded.tip_pose(), plain.tip_pose(), atol=1e-9)


def test_a_clamp_without_moments_is_a_ball():
    """Clamps whose moments are taken away one by one come to what mixed joints are."""
    mixed = stand(hexapod(*MIXED))
    clamped = hexapod(*('clamped',) * 6)
    platform = clamped.model.platform()
    hold = platform.hold.copy()
    for i, joint in enumerate(MIXED):
        if joint == 'spherical':
            hold[i, 3:] = 0.0
        elif joint == 'revolute':
            hold[i, 4] = 0.0
    assert_allclose(hold[1, :3], SPHERICAL_TIP)
    clamped.solver._platform = clamped.solver._platform._replace(hold=hold)
    stand(clamped)
    assert_allclose(clamped.tip_pose(), mixed.tip_pose(), atol=1e-9)
    stiffer = stand(hexapod(*('clamped',) * 6))
    assert np.abs(stiffer.tip_pose() - mixed.tip_pose()).max() > 1e-5


def test_the_tangent_with_mixed_joints_is_the_derivative():
    sim = stand(hexapod(*MIXED))
    system, z = sim.system(), sim.solver.z
    still = np.zeros(z.size)
    _, K = unbalance_and_jacobian(system, z, still, still, 0.0, 0.0)
    rng = np.random.default_rng(3)
    for _ in range(5):
        step = 1e-6 * rng.normal(size=z.size)
        ahead, back = (unbalance_and_jacobian(system, z + sign * step, still, still, 0.0, 0.0)[0]
                       for sign in (1.0, -1.0))
        assert_allclose(K @ step, 0.5 * (ahead - back), rtol=1e-4, atol=1e-9)
    mass = slopes(system, z, still, still).mass
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
