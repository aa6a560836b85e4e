"""
Make robots.npz: what the robots of config/ do, for test_builder.py.

The file in the repository was made at commit b6d5507, by an engine of equal rods and one platform
that shared no equations of motion with the present one:

    python test/reference/make_robots.py
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from cosserat_ros.analysis.stability import stability
from cosserat_ros.description.parts import TimeStepping
from cosserat_ros.description.robot import load
from cosserat_ros.inverse.statics import InverseStatics
from cosserat_ros.inverse.task import Target
from cosserat_ros.simulation.simulator import Simulator

CONFIG = Path(__file__).resolve().parent.parent.parent / 'config'
ROBOTS = ('tendon_arm', 'three_segment_arm', 'fluidic_finger', 'helical_arm', 'stewart_gough',
          'planar_parallel')
JOINTS = {'stewart_gough': ('clamped', 'spherical'), 'planar_parallel': ('clamped', 'revolute')}
TIME = {'planar_parallel': TimeStepping()}  # whose file had no other then
STEP = 0.01  # [s]
WEIGHTS = 144.0, 145.0, 146.0, 147.0  # [N] on the platform, whose stiffness is lost in between
LOADS = {  # [N, N m] on platforms; in the plane of the planar one
    'stewart_gough': np.array([
        [1.0, -0.5, -4.0, 0.02, 0.04, -0.02], [-1.0, 0.5, -2.0, 0.02, 0.0, 0.0]]),
    'planar_parallel': np.array([[0.1, 0, -0.1, 0, 0.002, 0], [-0.05, 0, 0.1, 0, -0.005, 0]]),
}


def variants():
    """Return the robots by name, platforms once with each joint at the tips of their legs."""
    robots = {}
    for name in ROBOTS:
        robot = load(CONFIG / f'{name}.yaml')
        robot = replace(robot, time=TIME.get(name, robot.time))
        robots[name] = robot
        for joint in JOINTS.get(name, ()):
            robots[f'{name}, {joint}'] = replace(robot, legs={
                key: replace(leg, joint=joint, axis=leg.axis if joint == 'revolute' else None)
                for key, leg in robot.legs.items()})
    return robots


def command(sim, rng, part=1.0):
    """Give random commands that any of the robots can follow; changed by a part of that."""
    for key, actuator in sim.robot.actuators.items():
        rest = sim.rest_command(key)
        least, most = actuator.bounds
        top = min(most, rest + 0.02) if sim.robot.legs else min(
            most, 3.0 if rest == 0.0 else rest)
        wanted = rest + 0.3 * rng.random() * (top - rest)
        sim.commands[key] = float(np.clip(
            sim.commands[key] + part * (wanted - sim.commands[key]), least, most))


def told(sim):
    """Return tips of all rods, the robot's tip, and all actuators."""
    return {
        'tips': np.array([shape.poses[-1, :3] for shape in sim.shape().values()]),
        'tip': sim.tip_pose()[:3], 'twist': sim.tip_twist(),
        'actuators': np.array([
            [state.position, state.effort] for state in sim.actuators().values()])}


def run(robot):
    """Return what a robot does: statics without and with a load and their stability, and steps."""
    sim, rng = Simulator(robot), np.random.default_rng(1)
    sim.solver.tolerance = 1e-13
    instants, stable = [], []
    for wrench in (np.zeros(6), np.array([0.02, -0.01, -0.03, 1e-4, 2e-4, -1e-4])):
        sim.set_wrench(wrench)
        command(sim, rng)
        assert sim.statics().converged
        found = stability(sim)
        instants.append(told(sim))
        stable.append([found.margin, found.ways, found.squared_frequency])
    sim.set_wrench(np.zeros(6))
    for _ in range(8):
        command(sim, rng, 0.1)  # gently: a violent step has several solutions
        assert sim.step(STEP).converged
        instants.append(told(sim))
    return {'stability': np.array(stable), **{
        key: np.array([instant[key] for instant in instants]) for key in instants[0]}}


def transition():
    """Return margin, negative eigenvalues and height of Stewart and Gough's, near 145.5 N."""
    rows = []
    for force in WEIGHTS:
        sim = Simulator(variants()['stewart_gough'])
        sim.solver.tolerance = 1e-13
        for part in (0.0, 100.0, 140.0, force):
            sim.set_wrench([0.0, 0.0, -part, 0.0, 0.0, 0.0])
            assert sim.statics().converged
        found = stability(sim)
        rows.append([found.margin, found.ways, sim.tip_pose()[2, 3]])
    return np.array(rows)


def lengths(robot):
    """Return leg lengths that bring a platform under loads back to poses it had without, [m]."""
    sim, rng, rows = Simulator(robot), np.random.default_rng(2), []
    sim.solver.tolerance = 1e-13
    for wrench in LOADS[robot.name]:
        sim.set_wrench(np.zeros(6))
        command(sim, rng)
        assert sim.statics().converged
        pose = sim.tip_pose()
        sim.set_wrench(wrench)
        found = InverseStatics(sim).solve([Target(
            position=pose[:3, 3], rotation=pose[:3, :3])], start='present', damping=1e-7)
        assert found.met, found.message
        rows.append([found.commands[name] for name in robot.legs])
    return np.array(rows)


if __name__ == '__main__':
    np.savez_compressed(Path(__file__).parent / 'robots.npz', **{
        f'{name}/{key}': value for name, robot in variants().items()
        for key, value in run(robot).items()},
        **{f'{name}/lengths': lengths(robot)
           for name, robot in variants().items() if robot.legs}, transition=transition())
