"""All of a robot at one instant, compiled, against what the parts of the library say."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.description.robot import load
from cosserat_ros.numerics.lie import quaternion_from_matrix
from cosserat_ros.simulation.demonstration import (
    demonstrated_loads,
    demonstration,
    moves,
    time_scale,
)
from cosserat_ros.simulation.simulator import Simulator

SHIPPED = sorted((ROOT / 'config').glob('*.yaml'))


@pytest.fixture(scope='module', params=SHIPPED, ids=lambda path: path.stem)
def sim(request):
    """Return a robot of each file, anywhere and in motion."""
    sim = Simulator(load(request.param), stations=7)
    rng = np.random.default_rng(1)
    size = sim.solver.z.size
    sim.solver.set_state(sim.solver.z + 0.1 * rng.normal(size=size), rng.normal(size=size))
    return sim


def test_a_look_has_shape_wrenches_and_velocities_of_all_rods(sim):
    look, shape, wrenches = sim.look(), sim.shape(), sim.internal_wrenches()
    twists = sim.twists(shape)
    for i, (name, rod) in enumerate(shape.items()):
        R = rod.poses[:, :3, :3]
        assert_allclose(look.shape[name].poses, rod.poses, atol=1e-13)
        assert_allclose(look.shape[name].strains, rod.strains, rtol=1e-13, atol=1e-13)
        assert_allclose(look.rods.places[i, :, :3], rod.poses[:, :3, 3], atol=1e-13)
        assert_allclose(look.rods.places[i, :, 3:], quaternion_from_matrix(R), atol=1e-13)
        assert_allclose(look.rods.twists[i], twists[name], atol=1e-12)
        size = np.abs(wrenches[name]).max()
        assert_allclose(look.rods.stresses[i], wrenches[name], atol=1e-12 * size)
        for part in (slice(0, 3), slice(3, 6)):
            turned = np.einsum('nij,nj->ni', R, wrenches[name][:, part])
            assert_allclose(look.rods.wrenches[i, :, part], turned, atol=1e-12 * size)


def test_a_look_has_tip_bodies_and_actuators(sim):
    look = sim.look()
    assert_allclose(look.tip, sim.tip_pose(), atol=1e-13)
    assert_allclose(look.tip_twist, sim.tip_twist(), atol=1e-13)
    for name, pose in sim.body_poses().items():
        assert_allclose(look.bodies[name], pose, atol=1e-13)
    lengths, rates = sim._lengths(look.rods)
    if lengths.size:
        assert_allclose(lengths, sim.solver.lengths(), rtol=1e-12, atol=1e-18)
        assert_allclose(rates, sim.solver.length_rates(), rtol=1e-11, atol=1e-14)
    assert look.actuators == sim.actuators()


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_robot_can_be_demonstrated(path):
    """Every step succeeds, within the limits, and the tip of a rod goes some way."""
    if not moves(load(path)):
        pytest.skip('nothing in it can swing')
    sim = Simulator(load(path))
    sim.statics()
    commands = demonstration(sim.robot, {n: sim.rest_command(n) for n in sim.robot.actuators})
    loads, tips = demonstrated_loads(sim.robot), []
    while sim.time < 8.0 * time_scale(sim.robot):
        sim.command(**commands(sim.time))
        if loads is not None:
            sim.set_loads(loads(sim.time))
        assert sim.step().converged
        tips.append([shape.poses[-1, :3, 3] for shape in sim.shape().values()])
    length = max(rod.length for rod in sim.robot.rods.values())
    way = np.linalg.norm(np.ptp(tips, axis=0), axis=1).max()
    assert way > 0.02 * length


def test_a_robot_that_nothing_can_swing_is_not_demonstrated():
    """No actuators, or none with limits on both sides."""
    assert demonstration(load(ROOT / 'config' / 'cantilever.yaml'), {}) is None
    arm = load(ROOT / 'config' / 'tendon_arm.yaml')
    rest = dict.fromkeys(arm.actuators, 0.0)
    assert demonstration(arm, rest) is not None
    endless = {name: replace(one, limits=None) for name, one in arm.tendons.items()}
    assert demonstration(replace(arm, tendons=endless), rest) is None
