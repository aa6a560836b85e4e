"""Assemblies made of robots' descriptions do what `SystemSolver` does, to 1e-9 of their size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.assembly.assembly import Assembly, Attachment, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Body, Inertia
from cosserat_ros.description.robot import load
from cosserat_ros.laws.actuators import GAS, LENGTH
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.simulation.model import Model

CONFIG = Path(__file__).parent.parent / 'config'
MODES = StrainModes(1, 1, 2, 3, 3, 2)
TOLERANCE = 1e-13  # of both solvers, as strain


def described(name):
    """Return the model of a robot of config/."""
    return Model(load(CONFIG / f'{name}.yaml'), MODES)


def assembly_of(model, payload=None):
    """Return a solver of the same robot, with rods at rest length and a body on the first tip."""
    robot, bodies, rods = model.robot, {}, {}
    legs = {leg.rod: leg for leg in robot.legs.values()}
    if robot.platform is not None:
        bodies['platform'] = RigidBody(
            robot.platform.mass, robot.platform.inertia.matrix(),
            pose=robot.platform_pose(robot.rest_shape(2)))
    if payload is not None:
        bodies['payload'] = RigidBody(
            payload.mass, payload.inertia.matrix(), payload.centre_of_mass)
    for i, name in enumerate(model.names):
        leg, tip, joint = legs.get(name), None, JointKind()
        if leg is not None:
            tip = Attachment('platform', leg.attachment.matrix())
            joint = JointKind(leg.joint, leg.axis) if leg.joint == 'revolute' else JointKind(
                leg.joint)
        elif payload is not None and i == 0:
            tip = Attachment('payload')
        rods[name] = RodPart(
            robot.rods[name], model.modes, Attachment(pose=robot.rods[name].base.matrix()), tip,
            tip_joint=joint, paths=model.paths[i], breaks=model._breaks(name))
    solver = Assembly(bodies, rods, gravity=tuple(model.gravity)).solver(
        SCHEMES[robot.time.scheme], TOLERANCE)
    for name, links in solver.places.rods.items():
        for link in links:
            loads, drag = solver.element_loads(link), robot.rods[name].drag
            loads.square_drag[:], loads.linear_drag[:] = drag.square, drag.linear
    return solver


def tell(solver, drives):
    """Give an assembly's actuators the stacked drives of a model."""
    for mine, given in zip(solver.tree.drives, drives):
        mine[:] = given.ravel()


def check_tips(solver, old, size):
    """Compare poses of all tips."""
    end = solver.refresh().end
    for i, links in enumerate(solver.places.rods.values()):
        x = old.state(i)
        assert_allclose(end.p[links[-1]], x.p_end[-1], rtol=0, atol=1e-9 * size)
        assert_allclose(end.R[links[-1]], x.Rc[-1], rtol=0, atol=1e-9)


# --- One rod with actuators ----------------------------------------------------------------------

PAYLOAD = Body(0.002, centre_of_mass=(0.001, -0.002, 0.003), inertia=Inertia(1e-8, 2e-8, 2.5e-8))


@pytest.mark.parametrize('robot, commands, modes', [
    ('tendon_arm', (3.0, 1.0, 0.0, 0.5), None),
    ('tendon_arm', (0.002, -0.001, -0.004, 0.001), 'displacement'),
    ('helical_arm', None, None),
    ('three_segment_arm', None, None),
    ('fluidic_finger', None, None),
    ('fluidic_finger', (2e-3, 1e-3), 'amount'),
], ids=lambda value: value if isinstance(value, str) else '')
@pytest.mark.parametrize('payload', [None, PAYLOAD], ids=['bare', 'carrying'])
def test_a_rod_with_actuators_rests_and_moves_as_before(robot, commands, modes, payload):
    """With gravity, drag, a body at its tip; dead and follower loads come on in motion."""
    model = described(robot)
    names, dt = list(model.robot.actuators), model.robot.time.step
    limits = [model.robot.actuators[name].limits for name in names]
    if commands is None:
        commands = [limit.lower + (0.3 + 0.2 * (i % 2)) * (limit.upper - limit.lower)
                    for i, limit in enumerate(limits)]
    commands = dict(zip(names, (list(commands) * len(names))[:len(names)]))
    other = dict.fromkeys(names, modes) if modes else None
    drives = model.drives(commands, other)
    old, solver = model.solver(TOLERANCE), assembly_of(model, payload)
    loads = model.loads({'payload': payload} if payload else None)
    size = model.robot.rods[model.names[0]].length
    tell(solver, drives)
    assert old.statics(loads, drives).converged
    assert solver.statics().converged
    check_tips(solver, old, size)
    assert_allclose(solver.z[solver.places.efforts[model.names[0]]], old.efforts[0],
                    rtol=1e-9, atol=1e-9 * np.abs(old.efforts).max())

    tip = solver.places.rods[model.names[0]][-1]
    weight = 1e-2 * model.rods[0].stiffness[0, 3] / size ** 2
    loads.end_force[0, -1] = solver.tree.bodies.force[tip] = [weight, 0.0, 0.5 * weight]
    loads.follower_force[0, -1] = solver.tree.bodies.follower_force[tip] = [0.0, 2.0 * weight, 0.0]
    loads.follower_moment[0, -1] = solver.tree.bodies.follower_moment[tip] = [
        0.0, 0.0, weight * size]
    for _ in range(8):
        assert old.step(loads, dt).converged
        assert solver.step(dt).converged
        check_tips(solver, old, size)
    assert np.abs(solver.refresh().end.p_t[tip]).max() > 1e-3 * size


def test_lengths_are_told_where_the_test_says_so():
    """The drives of the cases above are of three kinds."""
    arm, finger = described('tendon_arm'), described('fluidic_finger')
    told = arm.drives(dict.fromkeys(arm.robot.actuators, 0.0),
                      dict.fromkeys(arm.robot.actuators, 'displacement'))
    assert (told.kind == LENGTH).all()
    told = finger.drives(dict.fromkeys(finger.robot.actuators, 1e-3),
                         dict.fromkeys(finger.robot.actuators, 'amount'))
    assert (told.kind == GAS).all()


# --- Platforms -----------------------------------------------------------------------------------

def wrenches_on_tips(model, solver, old):
    """Return what the platform does to the tips, world frame, of both: (2, k, 6)."""
    hold, R = old._platform.hold, old.platform.R
    both = np.zeros((2, len(model.names), 6))
    for i, name in enumerate(model.names):
        found = solver.z[solver.places.reactions[f'{name}.tip']]
        both[0, i, :found.size] = found
        local, frame = hold[i].T @ old.reactions[i], R @ old._platform.tip_R[i]
        both[1, i] = np.concatenate([frame @ local[:3], frame @ local[3:]])
    return both


def platform_of(robot, joint):
    """Return the model of a platform with this joint at its legs' tips."""
    given = load(CONFIG / f'{robot}.yaml')
    legs = {name: replace(leg, joint=joint, axis=leg.axis if joint == 'revolute' else None)
            for name, leg in given.legs.items()}
    return Model(replace(given, legs=legs), MODES)


@pytest.mark.parametrize('robot, joint', [
    ('stewart_gough', 'clamped'), ('stewart_gough', 'spherical'),
    ('planar_parallel', 'revolute'), ('planar_parallel', 'clamped')])
def test_a_platform_rests_and_moves_as_before(robot, joint):
    model = platform_of(robot, joint)
    old, solver = model.solver(TOLERANCE), assembly_of(model)
    loads, wrench = model.loads(), np.zeros(6)
    link, dt = solver.places.bodies['platform'].link, 1e-3

    def check(rtol):
        check_tips(solver, old, 1.0)
        end = solver.refresh().end
        assert_allclose(end.p[link], old.platform.p, rtol=0, atol=1e-9)
        assert_allclose(end.R[link], old.platform.R, rtol=0, atol=1e-9)
        mine, theirs = wrenches_on_tips(model, solver, old)
        assert_allclose(mine, theirs, rtol=0, atol=rtol * np.abs(theirs).max())

    def push(force):
        wrench[:3] = force
        old.load_platform(wrench)
        solver.tree.bodies.force[link] = force

    for force in ((0.0, 0.0, 0.0), (0.2, 0.1, -0.3)):
        push(force)
        first, second = old.statics(loads), solver.statics()
        assert first.converged
        assert second.converged
        check(1e-9)
    push(np.zeros(3))
    for _ in range(8):
        assert old.step(loads, dt).converged
        assert solver.step(dt).converged
        check(1e-8)  # of reactions: stiff legs make of 1e-13 of strain so much of force
    assert np.abs(solver.refresh().end.p_t[link]).max() > 1e-4
