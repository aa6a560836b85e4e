"""Loops that are held more often than they can move, on what moves: turned, afloat, on a rod."""

from assemblies import soft_rod
import numpy as np
import planar
import pytest
from test_rigid_assemblies import bar, DOWN, hinge, places

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.description.modes import StrainModes

HIDDEN = {'spherical': 1, 'revolute': 3}  # equations that say nothing new, by the closing joint
CRANK = 0.8  # angle at the start [rad]


def four_bar(closing, rods=None, carrier=None, gravity=DOWN, open_by=0.0, **base):
    """Return a four-bar in x and z on a body `base` that something carries, or nothing."""
    def along(length):
        return pose((length, 0.0, 0.0))

    crank, coupler, rocker = planar.four_bar(CRANK).angles[0]
    last = JointKind('spherical') if closing == 'spherical' else hinge(
        position=rocker - coupler)
    bodies = {'crank': bar(planar.CRANK), 'coupler': bar(planar.COUPLER),
              'rocker': bar(planar.ROCKER),
              'base': RigidBody(1.0, 0.02 * np.eye(3), (0.2, 0.0, 0.01), **base)}
    joints = {
        'A': Joint(hinge(position=crank), Attachment('base'), Attachment('crank')),
        'B': Joint(hinge(position=coupler - crank + open_by),
                   Attachment('crank', along(planar.CRANK)), Attachment('coupler')),
        'D': Joint(hinge(position=rocker), Attachment('base', along(planar.BASE)),
                   Attachment('rocker')),
        'C': Joint(last, Attachment('coupler', along(planar.COUPLER)),
                   Attachment('rocker', along(planar.ROCKER)))}
    return Assembly(bodies, rods, {**joints, **(carrier or {})}, gravity).solver()


def on_a_turntable(closing):
    """Return a four-bar on a table that is turned about the vertical, and where its angle is."""
    about = JointKind('revolute', coordinates=[Coordinate(driven=True)])
    solver = four_bar(closing, carrier={'table': Joint(about, Attachment(), Attachment('base'))})
    return solver, solver.places.coordinates['table'][0]


def reactions(solver):
    """Return the size of the largest force or moment that closes the loop."""
    return np.abs(solver.z[solver.closing]).max()


@pytest.mark.parametrize('closing', HIDDEN)
@pytest.mark.parametrize('angle', [0.5 * np.pi, -0.5 * np.pi, 0.5 * np.pi - 1e-3, 2.0, 3.1])
def test_a_turned_four_bar_hangs_as_before(closing, angle):
    """In axes of the world other equations follow from others then."""
    solver, table = on_a_turntable(closing)
    assert solver.statics().converged
    bars = places(solver, 'A', 'B', 'D')
    hanging, held = solver.z[bars], reactions(solver)
    solver.tree.coordinates.command[table] = angle
    assert solver.statics().converged
    np.testing.assert_allclose(solver.z[bars], hanging, atol=1e-9)
    assert len(solver.redundant) == HIDDEN[closing]
    assert reactions(solver) < np.sqrt(3.0) * held
    assert solver.gap() < 1e-10


@pytest.mark.parametrize('closing', HIDDEN)
def test_a_four_bar_on_a_turntable_may_be_turned_by_any_angle(closing):
    solver, table = on_a_turntable(closing)
    assert solver.start()
    for k in range(1, 161):
        solver.tree.coordinates.command[table] = 2.0 * np.pi * k / 160.0
        assert solver.step(5e-3).converged
        assert solver.gap() < 1e-9
        assert reactions(solver) < 300.0  # N; it turns once in 0.8 s
    assert len(solver.redundant) == HIDDEN[closing]


@pytest.mark.parametrize('closing', HIDDEN)
@pytest.mark.parametrize('spin', [(5.0, 0.0, 0.0), (0.0, 5.0, 0.0), (3.0, 4.0, 5.0)])
def test_a_four_bar_tumbles_and_stays_closed(closing, spin):
    solver = four_bar(closing, gravity=(0.0, 0.0, 0.0))
    z_t = np.zeros(solver.Z)
    z_t[solver.places.coordinates['base']] = 0.0, 0.0, 0.0, *spin
    solver.set_state(solver.z, z_t)
    assert solver.start()
    energy = sum(solver.energy())
    for _ in range(300):
        assert solver.step(2e-3).converged
        assert solver.gap() < 1e-10
    assert abs(sum(solver.energy()) / energy - 1.0) < 1e-4


@pytest.mark.parametrize('closing', HIDDEN)
def test_a_floating_four_bar_is_closed_at_its_start(closing):
    solver = four_bar(closing, open_by=0.2)
    assert solver.gap() > 0.05
    assert solver.start()
    assert solver.gap() < 1e-9
    assert solver.step(1e-3).converged


@pytest.mark.parametrize('closing', HIDDEN)
def test_a_four_bar_hangs_from_the_tip_of_a_rod(closing):
    """It bends the rod as its weight at its centre of mass does."""
    arm = RodPart(soft_rod(0.3, 0.02, 1e9), StrainModes(0, 0, 0, 3, 3, 1), tip=Attachment('base'))
    solver = four_bar(closing, {'arm': arm})
    assert len(solver.redundant) == HIDDEN[closing]
    assert solver.start() and solver.step(1e-3).converged
    assert solver.statics().converged
    frames, centre = solver.places.bodies, np.zeros(3)
    for name, offset in (('crank', (0.5 * planar.CRANK, 0.0, 0.0)),
                         ('coupler', (0.5 * planar.COUPLER, 0.0, 0.0)),
                         ('rocker', (0.5 * planar.ROCKER, 0.0, 0.0)), ('base', (0.2, 0.0, 0.01))):
        end = solver.frame(frames[name].link)
        g = frames[name].pose
        centre += 0.25 * (end.p + end.R @ (g[:3, :3] @ offset + g[:3, 3]))
    weight = RigidBody(4.0, 0.02 * np.eye(3), tuple(_seen_from_tip(solver, centre)))
    alone = Assembly({'base': weight}, {'arm': arm}, {}, DOWN).solver()
    assert alone.statics().converged
    tip = solver.places.rods['arm'][-1]
    np.testing.assert_allclose(solver.frame(tip).p, alone.refresh().end.p[tip], atol=1e-9)


def _seen_from_tip(solver, place):
    """Return a place in the frame of the rod's tip."""
    end = solver.frame(solver.places.rods['arm'][-1])
    return end.R.T @ (place - end.p)


@pytest.mark.parametrize('swapped', [False, True])
@pytest.mark.parametrize('kind', ['clamped', 'revolute', 'prismatic', 'screw'])
def test_two_floating_bodies_may_be_joined_twice(kind, swapped):
    body = RigidBody(1.0, np.diag([1.0, 1.5, 2.0]), (0.1, 0.0, 0.2))
    ends = [Attachment('one'), Attachment('other')]
    joint = JointKind(kind)
    twice = Joint(joint, *(ends[::-1] if swapped else ends))
    solver = Assembly(
        {'one': body, 'other': body}, {}, {'x': Joint(joint, *ends), 'y': twice}, DOWN).solver()
    assert len(solver.redundant) == 6 - joint.count
    assert solver.start() and solver.step(1e-3).converged
