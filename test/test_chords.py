"""Tendons that are straight in space between discs."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.analysis.sensitivity import command_jacobian
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Discs, Drag
from cosserat_ros.description.robot import load
from cosserat_ros.description.rod import Damping, Material, RestShape, Rod, Segment
from cosserat_ros.description.routing import Helical
from cosserat_ros.description.section import Circular
from cosserat_ros.laws.chords import ChordLengths, chords_of, Holes
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.simulation.simulator import Simulator

STEEL = Material(2e11, 7800.0, poisson_ratio=0.3)
MODES = StrainModes(1, 1, 2, 4, 4, 2)


def bent(curvature, *lengths):
    return Rod([Segment(length, Circular(1e-3), STEEL, rest=RestShape(curvature=curvature))
                for length in lengths])


# --- The functional ------------------------------------------------------------------------------

class Chords:
    """The chords of one tendon, which is the second actuator of its rod."""

    def __init__(self, rod, modes, d, knots, holes):
        self._all = ChordLengths(chords_of(rod, modes, d, {1: Holes(knots, holes)}))

    def at(self, q):
        return self._all.of(1, q)



@pytest.mark.parametrize('count', [1, 3, 10])
def test_on_a_circle_chords_are_chords(count):
    """A rod of constant curvature k, holes d inside: count times 2 (1/k - d) sin(k h / 2)."""
    k, offset, length = 9.0, 0.012, 0.24
    rod = bent((0.0, k, 0.0), length)
    d = discretise(rod, MODES)
    knots = np.linspace(0.0, length, count + 1)
    holes = np.tile([offset, 0.0, 0.0], (count + 1, 1))  # toward the centre: u_y bends to +x
    found = Chords(rod, MODES, d, knots, holes).at(np.zeros(d.component.size)).length
    expected = count * 2.0 * (1.0 / k - offset) * np.sin(0.5 * k * length / count)
    assert_allclose(found, expected, rtol=1e-9)


@pytest.fixture
def through_space():
    """Chords on a rod of two segments that is bent and twisted at random, and amplitudes."""
    rod = bent((1.0, 2.0, 0.5), 0.1, 0.14)
    d = discretise(rod, MODES)
    angle = np.linspace(0.0, 2.0, 5)
    holes = 0.01 * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    chords = Chords(rod, MODES, d, np.array([0.02, 0.05, 0.12, 0.2, 0.24]), holes)
    q = np.random.default_rng(4).normal(size=d.component.size)
    return chords, q * np.where(d.component < 3, 0.02, 4.0)


def test_its_derivatives_are_exact(through_space):
    chords, q = through_space
    found, h = chords.at(q), 1e-6
    for k, unit in enumerate(np.eye(q.size)):
        ahead, back = chords.at(q + h * unit), chords.at(q - h * unit)
        assert_allclose(found.gradient[k], (ahead.length - back.length) / (2.0 * h), atol=1e-9)
        assert_allclose(
            found.hessian[:, k], (ahead.gradient - back.gradient) / (2.0 * h), atol=1e-8)
    assert_allclose(found.hessian, found.hessian.T, atol=1e-14)


def test_many_discs_are_a_channel():
    """Length and gradient of chords through n discs come to those of the path, by 1 / n^2."""
    rod = bent((1.0, 5.0, 0.5), 0.24)
    d, path = discretise(rod, MODES), Helical(radius=0.01, turns=0.4)
    q = np.random.default_rng(6).normal(size=d.component.size)

    def channel(q):
        xi = d.rest_strain.astype(q.dtype)
        np.add.at(xi.T, d.component, (d.Phi * q).T)
        c = xi[:, :3] + np.cross(xi[:, 3:], path.at(d.s, 0.0, 0.24)) + path.slope(d.s, 0.0, 0.24)
        return d.w @ np.sqrt(np.sum(c ** 2, axis=1))

    gradient = np.array([channel(q + 1e-20j * unit).imag / 1e-20 for unit in np.eye(q.size)])
    gaps = []
    for count in (8, 16, 32):
        knots = np.linspace(0.0, 0.24, count + 1)
        found = Chords(rod, MODES, d, knots, path.at(knots, 0.0, 0.24)).at(q)
        gaps.append([abs(found.length - channel(q)), np.abs(found.gradient - gradient).max()])
    orders = np.log2(np.array(gaps[:-1]) / gaps[1:])
    assert np.all(np.abs(orders - 2.0) < 0.2), (gaps, orders)


# --- On a robot ----------------------------------------------------------------------------------

def arm(straight_in, count=4, command='tension', undamped=False, **options):
    """Return the tendon arm with one tendon through so many discs, without gravity."""
    robot = load(ROOT / 'config' / 'tendon_arm.yaml')
    tendon = replace(robot.tendons['tendon_1'], command=command, limits=None, guided_by='guides',
                     straight_in=straight_in, **options)
    rod = robot.rods['backbone']
    if undamped:
        rod = replace(rod, drag=Drag(), segments=[replace(rod.segments[0], damping=Damping())])
    return Simulator(replace(
        robot, rods={'backbone': rod}, tendons={'tendon_1': tendon}, gravity=(0.0, 0.0, 0.0),
        discs={'guides': Discs(radius=0.012, thickness=0.002, count=count)}), MODES)


def true_length(sim):
    """Return length and derivatives of the chords at the present, made anew from discs' poses."""
    robot, d = sim.robot, sim.model.rods[0]
    length = robot.rods['backbone'].length
    knots = np.concatenate([[0.0], robot.discs['guides'].arc_lengths(length)])
    return Chords(robot.rods['backbone'], MODES, d, knots, robot.path('tendon_1').at(knots)).at(
        sim.solver.q[0])


def test_it_stands_where_the_chords_pull_it():
    """K q + tension dl/dq = 0, which the tendon in the section's frame does not fulfil."""
    for straight_in, least, most in (('space', 0.0, 1e-9), ('section', 1e-3, 1.0)):
        sim = arm(straight_in)
        sim.command(tendon_1=4.0)
        assert sim.statics().converged
        force, pull = sim.model.rods[0].elastic @ sim.solver.q[0], 4.0 * true_length(sim).gradient
        error = np.abs(force + pull).max() / np.abs(pull).max()
        assert least <= error < most, (straight_in, error)


def test_a_displacement_is_that_of_the_chords():
    sim = arm('space', command='displacement', compliance=1e-4)
    at_rest = true_length(sim).length
    sim.command(tendon_1=0.012)
    assert sim.statics().converged
    tension = sim.actuators()['tendon_1'].effort
    assert tension > 1.0
    assert_allclose(at_rest - true_length(sim).length, 0.012 - 1e-4 * tension, atol=1e-8)
    told = arm('space')  # the other way round: the position that this tension makes
    told.command(tendon_1=tension)
    assert told.statics().converged
    assert_allclose(told.actuators()['tendon_1'].position, 0.012 - 1e-4 * tension, atol=1e-6)
    assert_allclose(told.tip_pose(), sim.tip_pose(), atol=1e-5)


def test_with_many_discs_the_arm_is_that_with_a_channel():
    channel = arm('section', count=60)
    channel.command(tendon_1=3.0)
    assert channel.statics().converged
    gaps = []
    for count in (3, 6, 12):
        sim = arm('space', count)
        sim.command(tendon_1=3.0)
        assert sim.statics().converged
        gaps.append(np.linalg.norm((sim.tip_pose() - channel.tip_pose())[:3, 3]))
    assert gaps[0] > 1e-3 and np.all(np.log2(np.array(gaps[:-1]) / gaps[1:]) > 1.7), gaps


def test_the_work_of_the_chords_is_what_the_arm_gains():
    def gap(dt, duration=0.2):
        sim = arm('space', undamped=True)
        assert sim.statics().converged
        start, work = sum(sim.solver.energy()), 0.0
        length, tension = true_length(sim).length, 0.0
        for i in range(1, round(duration / dt) + 1):
            sim.command(tendon_1=2.0 * np.sin(np.pi * i * dt / duration) ** 2)
            assert sim.step(dt).converged
            now = true_length(sim).length, sim.actuators()['tendon_1'].effort
            work -= 0.5 * (tension + now[1]) * (now[0] - length)
            length, tension = now
        return abs(sum(sim.solver.energy()) - start - work), abs(work)

    (coarse, _), (fine, size) = gap(4e-3), gap(2e-3)
    assert np.log2(coarse / fine) > 1.5, (coarse, fine)
    assert fine < 0.02 * max(size, 1e-3)


def test_without_discs_there_are_no_chords():
    tendon = load(ROOT / 'config' / 'tendon_arm.yaml').tendons['tendon_1']
    with pytest.raises(InvalidModel, match='straight_in.*guided_by'):
        replace(tendon, straight_in='space', guided_by=None)
    with pytest.raises(InvalidModel, match='straight_in.*section, space'):
        replace(tendon, straight_in='air')


@pytest.mark.parametrize('command, value', [('tension', 3.0), ('displacement', 0.01)])
def test_sensitivities_are_those_of_the_chords(command, value):
    """The motion of the tip with the command, against statics one step to either side."""
    sim = arm('space', command=command)
    sim.solver.tolerance = 1e-10

    def tip(at):
        sim.command(tendon_1=at)
        assert sim.statics().converged
        return sim.tip_pose()[:3, 3]

    step = 1e-3 * value
    expected = (tip(value + step) - tip(value - step)) / (2.0 * step)
    tip(value)
    found = command_jacobian(sim)[:3, 0]
    assert_allclose(found, expected, rtol=0.0, atol=1e-4 * np.abs(expected).max())
    linear = linearize(sim)
    static = linear.direct - linear.C @ np.linalg.solve(linear.A, linear.B)
    assert_allclose(static[:3, 0], found, rtol=0.0, atol=1e-9 * np.abs(expected).max())
