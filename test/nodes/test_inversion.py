"""A rod that is compressed to nothing: refused in statics, told in motion."""

from conftest import ROOT
from driver import simulator
import numpy as np
import pytest

from cosserat_ros.description.robot import load
from cosserat_ros.msg import Load, SolverStatus
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import Reset, SetWrench, SolveStatics

SOFT = """
name: soft
gravity: [0, 0, -9.81]
rods:
  column:
    segments:
      - length: 0.1
        section: {{shape: circular, radius: 0.01}}
        material: {{young_modulus: {young}, poisson_ratio: 0.4, density: 1000}}
        damping: {{relaxation_time: 0.01}}
modes: {{shear_x: 0, shear_y: 0, bend_x: 0, bend_y: 0, twist: 0, stretch: 2}}
bodies:
  weight: {{mass: 0.2}}
"""


def soft(tmp_path, young):
    path = tmp_path / 'soft.yaml'
    path.write_text(SOFT.format(young=young))
    return path


def test_statics_refuse_a_rod_that_is_turned_inside_out(tmp_path):
    sim = Simulator(load(soft(tmp_path, 5e3)))
    solution = sim.statics()
    assert not solution.converged
    # The body's weight, and the rod's own above the base, over E A.
    stretch = 1.0 - 9.81 * (0.2 + 1000.0 * np.pi * 1e-4 * 0.1) / (5e3 * np.pi * 1e-4)
    for word in ("'column'", ' 0 m', f'{stretch:.3g}', '> 0'):
        assert word in solution.message
    assert not solution.z.any() and not sim.solver.z.any()  # it stays where it was


def test_one_that_is_hard_enough_is_not(tmp_path):
    sim = Simulator(load(soft(tmp_path, 2e4)))
    assert sim.statics().converged
    assert 0.0 < sim.shape()['column'].strains[:, 2].min() < 0.95


@pytest.mark.parametrize('robot', ['tendon_experiment', 'planar_parallel'])
def test_with_dry_friction_and_with_legs_too(robot):
    sim = Simulator(load(ROOT / 'config' / f'{robot}.yaml'))
    assert sim.statics().converged
    before = sim.solver.z.copy()
    place = {'rod': next(iter(sim.robot.rods)), 'at': 0.05}
    sim.set_wrench([0.0, 0.0, -1e9, 0.0, 0.0, 0.0], **place)
    assert not sim.statics().converged
    np.testing.assert_array_equal(sim.solver.z, before)
    sim.set_wrench(np.zeros(6), **place)
    assert sim.statics().converged


def test_a_step_into_it_is_told_until_it_is_out_again(tmp_path):
    sim = Simulator(load(soft(tmp_path, 2e4)))
    sim.statics()
    told = []
    for force in (-20.0, 0.0):
        sim.set_wrench([0.0, 0.0, force, 0.0, 0.0, 0.0])
        for _ in range(1000):
            solution = sim.step(1e-3)
            assert solution.converged
            told.append('column' in solution.message)
            assert told[-1] == (sim.shape()['column'].strains[:, 2].min() <= 0.0)
    assert not told[0] and told[999] and not told[-1]


def test_a_node_does_not_start_with_it(tmp_path, start_node):
    process = start_node('simulator', robot=soft(tmp_path, 5e3))
    assert process.wait(60.0) == 1
    assert "'column' is compressed to nothing" in process.output()
    assert 'Traceback' not in process.output()


def test_a_node_tells_of_it_and_recovers(tmp_path):
    with simulator(robot=soft(tmp_path, 2e4), step_rate=200.0) as (driver, process):
        crush = Load(name='crush')
        crush.wrench.force.z = -20.0
        answer = driver.ask(SolveStatics, 'solve_statics', loads=[crush])
        assert answer.status.code == SolverStatus.NOT_CONVERGED
        assert "'column' is compressed" in answer.status.message
        assert driver.ask(SetWrench, 'set_wrench', loads=[crush]).success
        answer = driver.ask(Reset, 'reset', target=Reset.Request.EQUILIBRIUM)
        assert not answer.success and "'column' is compressed" in answer.message
        said = []

        def warned():
            said[:] = driver.diagnosis()
            return said[0] == 1 and 'compressed' in said[1]
        assert driver.spin_until(warned, 20.0), said
        assert driver.spin_until(
            lambda: "rod 'column' is compressed" in process.output(), 20.0)
        driver.reset()
        assert driver.spin_until(lambda: driver.diagnosis()[0] == 0, 20.0)
