"""Robots on the assembly's solver, beside the same robots on the solver of equal rods."""

from pathlib import Path

import numpy as np
import pytest

from cosserat_ros.description.robot import load
from cosserat_ros.simulation.builder import RobotAssembly
from cosserat_ros.simulation.simulator import Simulator

CONFIG = Path(__file__).resolve().parent.parent / 'config'
ROBOTS = ('tendon_arm', 'three_segment_arm', 'fluidic_finger', 'helical_arm', 'stewart_gough',
          'planar_parallel')


def tip_poses(sim):
    """Return the poses of all tips, by the simulator."""
    poses = []
    for i in range(len(sim.model.rods)):
        x, g = sim.solver.state(i), np.eye(4)
        g[:3, :3], g[:3, 3] = x.Rc[-1], x.p_end[-1]
        poses.append(g)
    return np.array(poses)


@pytest.mark.parametrize('name', ROBOTS)
def test_a_robot_is_on_the_assembly_what_it_is_on_equal_rods(name):
    """Statics and motion, tips and efforts, to what Newton leaves: the equations are the same."""
    robot = load(CONFIG / f'{name}.yaml')
    sim = Simulator(robot)
    sim.solver.tolerance = 1e-12
    new = RobotAssembly(sim.model, 1e-12)
    rng = np.random.default_rng(1)

    def command():
        for key, actuator in robot.actuators.items():
            rest = sim.rest_command(key)
            least, most = actuator.bounds
            top = min(most, rest + 0.02) if robot.legs else min(most, 3.0 if rest == 0.0 else rest)
            sim.commands[key] = float(np.clip(
                rest + 0.3 * rng.random() * (top - rest), least, most))

    def compare(step):
        new.load(sim.loads)
        new.feed(sim.model.feeding.fed(sim.leg_lengths), sim.loads)
        new.drive(sim.model.drives(sim.commands))
        solution = step()
        assert solution.converged, solution.message
        np.testing.assert_allclose(new.tips(), tip_poses(sim), atol=1e-9)
        efforts = sim.solver.efforts
        np.testing.assert_allclose(
            new.efforts, efforts, atol=1e-7 * max(1.0, np.abs(efforts).max(initial=0.0)))

    command()
    assert sim.statics().converged
    compare(new.solver.statics)
    for _ in range(5):
        command()
        assert sim.step(0.01).converged
        compare(lambda: new.solver.step(0.01))
