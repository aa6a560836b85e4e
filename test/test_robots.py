"""The robots of config/ against Till's own equations by shooting, and against physics."""

from dataclasses import replace
import re

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.sensitivity import command_jacobian
from cosserat_ros.analysis.stability import stability
from cosserat_ros.checks.errors import InvalidModel, UnknownName
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Body, Drag, TimeStepping
from cosserat_ros.description.robot import load
from cosserat_ros.description.rod import Damping
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import log_so3
from cosserat_ros.papers.cantilever import Cantilever
from cosserat_ros.papers.described import by_shooting
from cosserat_ros.papers.fluidic_robot import GAS_CONSTANT as PAPER_GAS_CONSTANT
from cosserat_ros.papers.shooting_robot import TipBody
from cosserat_ros.papers.tendon_robot import helix, parallel, Tendon, TendonRobot
from cosserat_ros.simulation.model import GAS_CONSTANT
from cosserat_ros.simulation.simulator import Simulator

CONFIG = ROOT / 'config'
FINE = StrainModes(4, 4, 4, 8, 8, 6, substeps=2)


def simulator(name, modes=FINE, scheme=None):
    """Return a simulator of a robot in config/."""
    sim = Simulator(load(CONFIG / f'{name}.yaml'), modes)
    if scheme:
        sim.solver.scheme = SCHEMES[scheme]
    return sim


def tip(sim):
    return sim.tip_pose()[:3, 3]


@pytest.mark.parametrize('path', sorted(CONFIG.glob('*.yaml')), ids=lambda path: path.stem)
def test_every_robot_of_config_rests_and_moves(path):
    sim = Simulator(load(path))
    assert sim.statics().converged
    before = sim.tip_pose()
    for _ in range(5):
        assert sim.step().converged
    if not sim.robot.gaits:
        assert_allclose(sim.tip_pose(), before, atol=1e-5)  # it was at rest
    assert np.isfinite(list(sim.actuators().values())).all()
    for shape in sim.shape().values():
        R = shape.poses[:, :3, :3]
        assert_allclose(np.einsum('sij,skj->sik', R, R), np.tile(np.eye(3), (len(R), 1, 1)),
                        atol=1e-9)


# --- Tendons -------------------------------------------------------------------------------------

OFFSETS = ((0.0095, 0.0), (0.0, 0.0095), (-0.0095, 0.0), (0.0, -0.0095))


def pull(sim, tensions):
    sim.command(**{f'tendon_{i + 1}': t for i, t in enumerate(tensions)})


@pytest.mark.parametrize('tensions', [(3, 0, 0, 0), (3, 2, 0, 0), (5, 5, 0, 0), (1, 4, 2, 0.5)])
def test_the_arm_bends_as_by_shooting(tensions):
    sim = simulator('tendon_arm')
    pull(sim, tensions)
    assert sim.statics().converged
    oracle = by_shooting(sim.robot, 1.0 / 60.0)
    assert oracle.statics(np.array(tensions, dtype=float)).converged
    assert_allclose(tip(sim), oracle.tip, atol=1e-5 * 0.24)


def test_the_arm_moves_as_by_shooting():
    """Smooth tensions with BDF-alpha: they differ by the scheme's own order, see test_engine."""
    def distance(dt, duration=0.2):
        sim = simulator('tendon_arm', scheme='bdf_alpha')
        oracle = by_shooting(sim.robot, dt)
        assert sim.statics().converged and oracle.statics(np.zeros(4)).converged
        worst = 0.0
        for i in range(1, round(duration / dt) + 1):
            pulse = np.sin(np.pi * i * dt / duration) ** 2
            tensions = np.array([2.0, 1.0, 0.0, 0.0]) * pulse
            pull(sim, tensions)
            assert sim.step(dt).converged
            assert oracle.step(tensions).converged
            worst = max(worst, np.abs(tip(sim) - oracle.tip).max())
        return worst

    coarse, fine = distance(10e-3), distance(5e-3)
    assert np.log2(coarse / fine) > 1.5, (coarse, fine)
    assert fine < 2e-3 * 0.24


def test_a_helical_tendon_bends_the_arm_as_by_shooting():
    sim = simulator('helical_arm', StrainModes(5, 5, 5, 14, 14, 12, substeps=2))
    name, tendon = next(iter(sim.robot.tendons.items()))
    path, length = sim.robot.path(name), sim.robot.rods['backbone'].length
    rate = 2.0 * np.pi * tendon.routing.turns / (path.end - path.start)
    problem = Cantilever(sim.robot.rods['backbone'], time_step=0.01, elements=120,
                         gravity=sim.robot.gravity)
    oracle = TendonRobot(problem, [
        Tendon(helix(tendon.routing.radius, rate, tendon.routing.phase))])
    for tension in (0.5, 0.5 * tendon.limits.upper):
        sim.command(**{name: tension})
        assert sim.statics().converged
        assert oracle.statics(np.array([tension])).converged
        assert_allclose(tip(sim), oracle.tip, atol=1e-5 * length)


def test_tendons_that_end_on_the_way_bend_the_arm_as_by_shooting():
    """Two end at 0.1 m: strain jumps there, at a break of the modes."""
    robot = load(CONFIG / 'tendon_arm.yaml')
    robot = replace(robot, tendons={
        name: replace(tendon, ends_at=0.1 if i < 2 else None)
        for i, (name, tendon) in enumerate(robot.tendons.items())})
    sim = Simulator(robot, FINE)
    rod = robot.rods['backbone']
    problem = Cantilever(rod, time_step=0.01, elements=120, gravity=robot.gravity)
    oracle = TendonRobot(problem, [
        Tendon(parallel(*offset), end=0.1 if i < 2 else np.inf)
        for i, offset in enumerate(OFFSETS)])
    tensions = (4.0, 2.0, 1.5, 3.0)
    pull(sim, tensions)
    assert sim.statics().converged
    assert oracle.statics(np.array(tensions)).converged
    assert_allclose(tip(sim), oracle.tip, atol=1e-5 * 0.24)


def test_lengths_and_tensions_are_two_ways_to_say_the_same():
    sim = simulator('tendon_arm', StrainModes())
    pull(sim, (3.0, 1.0, 0.5, 0.0))
    assert sim.statics().converged
    pose, taken = sim.tip_pose(), {n: s.position for n, s in sim.actuators().items()}
    sim.commands.update(taken, tendon_4=taken['tendon_4'] - 1e-3)  # four would not be unique
    modes = dict.fromkeys(taken, 'displacement')
    assert sim.statics(modes, from_rest=True).converged
    assert_allclose(sim.tip_pose(), pose, atol=1e-8)
    assert_allclose([s.effort for s in sim.actuators().values()], [3.0, 1.0, 0.5, 0.0],
                    rtol=1e-5)


def test_a_tendon_that_is_let_out_goes_slack():
    """Its tension is 0, not negative, and the rod does not feel it."""
    sim = simulator('tendon_arm', StrainModes())
    modes = dict.fromkeys(sim.robot.tendons, 'displacement')
    sim.commands.update(tendon_1=0.004, tendon_2=-0.02, tendon_3=-0.02, tendon_4=-0.02)
    assert sim.statics(modes).converged
    efforts = [s.effort for s in sim.actuators().values()]
    assert efforts[0] > 0.1 and efforts[1:] == [0.0, 0.0, 0.0]
    alone = simulator('tendon_arm', StrainModes())
    pull(alone, (efforts[0], 0.0, 0.0, 0.0))
    assert alone.statics().converged
    assert_allclose(sim.tip_pose(), alone.tip_pose(), atol=1e-7)


def test_mirrored_tensions_make_mirrored_shapes():
    a, b = simulator('tendon_arm', StrainModes()), simulator('tendon_arm', StrainModes())
    pull(a, (3.0, 1.0, 0.0, 0.0))
    pull(b, (0.0, 1.0, 3.0, 0.0))
    assert a.statics().converged and b.statics().converged
    assert_allclose(tip(a) * [-1.0, 1.0, 1.0], tip(b), atol=1e-9)


def test_a_body_is_picked_up_and_let_go_while_running():
    """With 1 g the arm sinks to what shooting has for a tip mass; without, it comes back."""
    sim = simulator('tendon_arm')
    pull(sim, (3.0, 0.0, 0.0, 0.0))
    assert sim.statics().converged
    light = tip(sim)
    sim.carry('weight', Body(1e-3))
    oracle = by_shooting(sim.robot, 1.0 / 60.0, tip_body=TipBody(1e-3))
    assert oracle.statics(np.array([3.0, 0.0, 0.0, 0.0])).converged
    for _ in range(10):
        assert sim.step().converged
    assert tip(sim)[2] < light[2]
    assert sim.statics().converged
    assert_allclose(tip(sim), oracle.tip, atol=1e-5 * 0.24)
    sim.carry('weight', None)
    assert sim.statics().converged
    assert_allclose(tip(sim), light, atol=1e-7)


def test_friction_takes_energy():
    """The arm of 5.2.1 let go from a push: the paper's beta takes some, ten times that much."""
    def swing(beta):
        robot = load(CONFIG / 'tendon_experiment.yaml')
        robot = replace(robot, tendons={
            'tendon': replace(robot.tendons['tendon'], damping_friction=beta)})
        sim = Simulator(robot, StrainModes(0, 0, 1, 5, 5, 2))
        sim.command(tendon=0.012)
        assert sim.statics().converged
        rest = tip(sim)
        sim.set_wrench([0.02, 0.0, 0.0, 0.0, 0.0, 0.0])
        assert sim.statics().converged
        sim.set_wrench([0.0] * 6)
        sizes = []
        for _ in range(120):
            assert sim.step(1.0 / 60.0).converged
            sizes.append(np.linalg.norm(tip(sim) - rest))
        return max(sizes[60:])

    none, some, much = swing(0.0), swing(5.0), swing(50.0)
    assert some < 0.97 * none and much < 0.8 * none, (none, some, much)


# --- Chambers ------------------------------------------------------------------------------------

@pytest.mark.parametrize('mode, command', [
    ('pressure', 5e4), ('volume', 2.4e-6), ('amount', 1.7e-4)])
def test_the_finger_bends_as_by_shooting(mode, command):
    sim = simulator('fluidic_finger')
    sim.commands.update(chamber=command)
    assert sim.statics({'chamber': mode}).converged
    chambers = {'chamber': replace(sim.robot.chambers['chamber'], command=mode, limits=None)}
    oracle = by_shooting(replace(sim.robot, chambers=chambers), 0.01)
    if mode == 'amount':
        command *= GAS_CONSTANT / PAPER_GAS_CONSTANT  # 8.314
    assert oracle.statics(np.array([command])).converged
    assert_allclose(tip(sim), oracle.tip, atol=1e-5 * 0.1)


def test_the_finger_moves_as_by_shooting():
    sim = simulator('fluidic_finger', scheme='bdf_alpha')
    oracle = by_shooting(sim.robot, 0.01)
    start = sim.commands['chamber']
    assert sim.statics().converged and oracle.statics(np.array([start])).converged
    worst = 0.0
    for i in range(1, 31):
        amount = start + (1.6e-4 - start) * np.sin(0.5 * np.pi * i / 30) ** 2
        sim.command(chamber=amount)
        assert sim.step(0.01).converged and oracle.step(np.array([amount])).converged
        worst = max(worst, np.abs(tip(sim) - oracle.tip).max())
    assert worst < 2e-3 * 0.1, worst


def test_the_finger_reaches_the_papers_end_state_with_air_and_with_water():
    """Mean elongation 0.12 and 2.65e-6 m^3; air lets it swing about twice as far (5.3.3)."""
    swings = []
    for mode, end in (('amount', 2e-4), ('volume', 2.65e-6)):
        sim = simulator('fluidic_finger', StrainModes(2, 2, 3, 5, 5, 2), 'bdf_alpha')
        start = sim.commands['chamber'] if mode == 'amount' else sim.robot.rest_position('chamber')
        path = []
        for i in range(1, 451):
            sim.commands['chamber'] = start + (end - start) * min(i / 200.0, 1.0)
            sim._reached['chamber'] = sim.commands['chamber']
            sim.solver.drive(sim.model.drives(sim.commands, {'chamber': mode}))
            assert sim.solver.step(0.01).converged
            path.append(tip(sim)[0])
        shape = sim.shape()['backbone']
        assert abs(np.mean(shape.strains[:, 2]) - 1.0 - 0.12) < 0.005
        assert_allclose(sim.actuators()['chamber'].position, 2.65e-6, rtol=0.01)
        swings.append(np.ptp(path[210:]))
    assert 1.5 < swings[0] / swings[1] < 3.0, swings


def test_three_equal_pressures_only_stretch():
    sim = simulator('fluidic_finger_three_chambers', StrainModes())
    sim.solver.tolerance = 1e-11
    sim.commands.update(dict.fromkeys(sim.robot.chambers, 2e4))
    loads = sim.model.loads()
    sim.solver.load(loads._replace(gravity=0.0 * loads.gravity))
    sim.solver.drive(sim.model.drives(
        sim.commands, dict.fromkeys(sim.robot.chambers, 'pressure')))
    assert sim.solver.statics().converged
    length = sim.robot.rods['backbone'].length
    assert_allclose(tip(sim)[:2], 0.0, atol=1e-9 * length)
    assert tip(sim)[2] > 1.001 * length


# --- Legs ----------------------------------------------------------------------------------------

def test_the_platform_stands_as_by_shooting():
    sim, lengths = simulator('stewart_gough'), np.array([0.52, 0.5, 0.51, 0.5, 0.49, 0.505])
    oracle = by_shooting(sim.robot, 1.0 / 120.0, elements=40)
    assert sim.statics().converged
    assert oracle.statics(np.full(6, 0.5042)).converged
    assert_allclose(tip(sim), oracle.tip, atol=1e-5 * 0.5)
    sim.command(**{f'leg_{i + 1}': x for i, x in enumerate(lengths)})
    assert sim.statics().converged
    assert oracle.statics(lengths).converged
    assert_allclose(tip(sim), oracle.tip, atol=1e-5 * 0.5)
    assert_allclose(sim.solver.platform.R, oracle.rotation, atol=1e-5)
    # What the legs carry is the weight of the platform.
    force = sim.solver.tip_wrenches[:, :3].sum(axis=0)
    assert_allclose(force, [0.0, 0.0, -9.81 * 0.0921], atol=1e-6)


def test_the_platform_moves_as_by_shooting():
    """A push on the platform, legs held."""
    def distance(dt, duration=0.1):
        sim = simulator('stewart_gough', StrainModes(1, 1, 2, 6, 6, 3), 'bdf_alpha')
        oracle = by_shooting(sim.robot, dt, elements=40)
        assert sim.statics().converged and oracle.statics(np.full(6, 0.5042)).converged
        worst = 0.0
        for i in range(1, round(duration / dt) + 1):
            push = 1.5 * np.sin(np.pi * i * dt / duration) ** 2
            wrench = np.array([push, 0.5 * push, 0.0, 0.0, 0.0, 0.02 * push])
            sim.set_wrench(wrench)
            assert sim.step(dt).converged
            assert oracle.step(np.full(6, 0.5042), wrench).converged
            worst = max(worst, np.abs(tip(sim) - oracle.tip).max())
        return worst

    assert distance(1.0 / 120.0) < 1e-3 * 0.5


def test_legs_of_equal_length_lift_the_platform_straight():
    sim = simulator('stewart_gough', StrainModes())
    heights = []
    for length in (0.48, 0.5042, 0.53):
        sim.command(**dict.fromkeys(sim.robot.legs, length))
        assert sim.statics().converged
        heights.append(tip(sim)[2])
        assert_allclose(tip(sim)[:2], 0.0, atol=1e-7)
    assert_allclose(np.diff(heights), [0.0242, 0.0258], rtol=0.05)


def test_a_fed_leg_is_a_rod_of_that_length():
    """Feeding from one length to another ends where a robot with such legs starts."""
    fed = simulator('stewart_gough')
    made = Simulator(replace(fed.robot, rods={
        name: replace(rod, segments=[replace(rod.segments[0], length=0.55)])
        for name, rod in fed.robot.rods.items()}), FINE)
    fed.command(**dict.fromkeys(fed.robot.legs, 0.55))
    assert fed.statics().converged and made.statics().converged
    assert_allclose(fed.tip_pose(), made.tip_pose(), atol=1e-7)


# --- Doors ---------------------------------------------------------------------------------------

def test_wrong_commands_are_refused_whole():
    sim = simulator('tendon_arm', StrainModes())
    with pytest.raises(UnknownName, match='tendon_9'):
        sim.command(tendon_1=1.0, tendon_9=1.0)
    with pytest.raises(InvalidModel, match='tendon_2'):
        sim.command(tendon_1=1.0, tendon_2=-1.0)
    with pytest.raises(InvalidModel, match='tendon_2'):
        sim.command(tendon_1=1.0, tendon_2=float('nan'))
    assert sim.commands['tendon_1'] == 0.0
    with pytest.raises(InvalidModel, match='wrench'):
        sim.set_wrench([0.0, np.inf, 0.0, 0.0, 0.0, 0.0])


def test_rates_of_legs_are_kept():
    sim = simulator('stewart_gough', StrainModes())
    assert sim.statics().converged
    sim.command(**dict.fromkeys(sim.robot.legs, 0.6))
    assert sim.step(0.01).converged
    assert_allclose([s.position for s in sim.actuators().values()], 0.5042 + 0.2 * 0.01)


def test_a_wrench_along_the_rod_does_what_a_break_would():
    """Spread over the nodes of an element, against a break where it acts."""
    sim = simulator('tendon_arm')
    sim.set_wrench([0.05, 0.02, 0.0, 0.0, 0.0, 1e-4], at=0.1)
    assert sim.statics().converged
    rod = sim.robot.rods['backbone']
    halves = replace(rod, segments=[
        replace(rod.segments[0], length=length) for length in (0.1, 0.14)])
    other = Simulator(replace(sim.robot, rods={'backbone': halves}), FINE)
    other.set_wrench([0.05, 0.02, 0.0, 0.0, 0.0, 1e-4], at=0.1)
    assert other.statics().converged
    assert_allclose(tip(sim), tip(other), atol=2e-4 * 0.24)


# --- Work ----------------------------------------------------------------------------------------

def test_the_work_of_the_tendons_is_what_the_arm_gains():
    """Undamped and without drag: energy gained and work done agree to the scheme's order."""
    robot = load(CONFIG / 'tendon_arm.yaml')
    rod = robot.rods['backbone']
    robot = replace(robot, rods={'backbone': replace(
        rod, drag=Drag(), segments=[replace(rod.segments[0], damping=Damping())])})

    def gap(dt, duration=0.2):
        sim = Simulator(robot, StrainModes(2, 2, 2, 5, 5, 3))
        assert sim.statics().converged
        start, work, before = sum(sim.solver.energy()), 0.0, None
        for i in range(round(duration / dt) + 1):
            pull(sim, (2.0 * np.sin(np.pi * i * dt / duration) ** 2, 0.5, 0.0, 0.0))
            if i:
                assert sim.step(dt).converged
            else:
                assert sim.statics().converged
                start = sum(sim.solver.energy())
            now = sim.solver.lengths(), sim.solver.efforts
            if before is not None:
                work -= 0.5 * (before[1] + now[1]) @ (now[0] - before[0])
            before = now
        return abs(sum(sim.solver.energy()) - start - work), abs(work)

    (coarse, _), (fine, size) = gap(4e-3), gap(2e-3)
    assert np.log2(coarse / fine) > 1.5, (coarse, fine)
    assert fine < 0.02 * max(size, 1e-3)


def undamped_strips():
    """Return the platform on three strips, with nothing that takes energy."""
    robot = load(CONFIG / 'planar_parallel.yaml')
    return replace(robot, time=TimeStepping(), rods={
        name: replace(rod, segments=[
            replace(segment, damping=Damping()) for segment in rod.segments])
        for name, rod in robot.rods.items()})


FED = {'left': 0.43, 'middle': 0.38, 'right': 0.42}


def test_the_energy_of_fed_legs_is_that_of_legs_built_so_long():
    """Other lengths of modes, but the same robot: the same pose, and the same energy."""
    fed = Simulator(undamped_strips(), BOTH)
    built = Simulator(replace(fed.robot, rods={
        name: replace(rod, segments=[replace(rod.segments[0], length=FED[name])])
        for name, rod in fed.robot.rods.items()}), BOTH)
    at_rest = sum(fed.solver.energy())
    for sim in (fed, built):
        sim.command(**FED)
        assert sim.statics().converged
    assert_allclose(fed.tip_pose(), built.tip_pose(), atol=1e-9)
    energy = sum(built.solver.energy())
    assert abs(energy - at_rest) > 1e-3
    assert_allclose(sum(fed.solver.energy()), energy, rtol=1e-7)


def test_a_platform_that_swings_on_fed_legs_keeps_its_energy():
    """After a push that starts and ends softly: what the strips give up the platform has."""
    sim, dt, push = Simulator(undamped_strips(), BOTH), 1e-3, 50
    sim.command(**FED)
    assert sim.statics().converged
    energies, speeds = [], []
    for k in range(5 * push):
        force = 5.0 * np.sin(np.pi * min(k / push, 1.0)) ** 2
        sim.set_wrench([force, 0.0, 0.0, 0.0, 0.0, 0.0])
        assert sim.step(dt).converged
        if k >= push:
            energies.append(sum(sim.solver.energy()))
            speeds.append(np.linalg.norm(sim.solver.platform.p_t))
    swing = 0.5 * sim.robot.platform.mass * max(speeds) ** 2
    assert np.ptp(energies) < 5e-3 * swing, (np.ptp(energies), swing)


# --- The stability transition of figures 11 and 12 -----------------------------------------------

BOTH = StrainModes(1, 1, 2, 5, 5, 3)


def leg_lengths_along_x(count, step=0.01):
    """Return the lengths that hold the platform upright at x = 0, step, ...: (count, 6) [m]."""
    sim = simulator('stewart_gough', BOTH)
    assert sim.statics().converged
    start = tip(sim)
    lengths = [np.full(6, 0.5042)]
    for k in range(1, count):
        now = lengths[-1]
        for _ in range(15):
            error = np.concatenate([
                start + [step * k, 0.0, 0.0] - tip(sim), -log_so3(sim.solver.platform.R)])
            if np.abs(error).max() < 1e-9:
                break
            now = now + np.linalg.solve(command_jacobian(sim), error)
            sim.command(**dict(zip(sim.robot.legs, now.tolist())))
            assert sim.statics().converged
        lengths.append(now)
    return np.array(lengths)


def test_the_platform_swings_out_past_the_bifurcation():
    """
    Legs move it along x at 2 cm/s, 4 cm further than where the straight path is stable.

    A static solution stays upright there; the moving platform tilts, and sways about a new
    equilibrium that is stable. (Lengths beyond 0.11 m are extrapolated, and slow.)
    """
    lengths = leg_lengths_along_x(12)
    fit = np.polynomial.Polynomial.fit
    legs = [fit(np.arange(12), column, 5) for column in lengths.T]
    sim = simulator('stewart_gough', BOTH, 'bdf_alpha')
    sim.set_wrench([0.0, 1e-4, 0.0, 0.0, 0.0, 0.0])  # what is imperfect
    assert sim.statics().converged
    path, tilt = [], []
    for i in range(1, 1201):
        x = min(i / 60.0, 16.0)  # cm
        sim.command(**{name: float(leg(x)) for name, leg in zip(sim.robot.legs, legs)})
        assert sim.step(1.0 / 120.0).converged
        path.append(tip(sim))
        tilt.append(np.linalg.norm(log_so3(sim.solver.platform.R)))
    path, tilt = np.array(path), np.array(tilt)
    assert tilt[:690].max() < 0.005          # up to x = 11.5 cm
    assert_allclose(path[659], [0.11, 0.0, 0.5], atol=2e-3)
    assert tilt[900:].min() > 0.03 and tilt.max() < 0.3
    assert np.ptp(path[900:, 0]) > 5e-3      # it sways
    assert sim.statics().converged
    assert stability(sim).stable


def test_the_experiment_of_the_paper_goes_up_and_comes_back():
    """5.2.1: from a level tip, 0.01619 m of tendon in 0.31 s and out again after 4 s."""
    sim = simulator('tendon_experiment', StrainModes(0, 0, 1, 5, 5, 2))
    start = 0.00312
    sim.command(tendon=start)
    assert sim.statics().converged
    low, level = tip(sim), sim.tip_pose()[:3, 2]
    assert abs(level[0]) < 2e-3  # along z, as the paper says
    path = []
    for i in range(1, 801):
        t = 0.01 * i
        up, down = np.clip(t / 0.31, 0.0, 1.0), np.clip((t - 4.0) / 0.31, 0.0, 1.0)
        sim.command(tendon=start + 0.01619 * float(up - down))
        assert sim.step(0.01).converged
        path.append(tip(sim))
    high = np.mean(path[200:400], axis=0)
    assert 0.2 < high[0] - low[0] < 0.4
    assert_allclose(np.mean(path[600:], axis=0), low, atol=0.02)


def test_internal_wrenches_balance_what_is_beyond():
    """At the base: weight and tip force; at the end of a leg: what the platform gives it."""
    sim = simulator('tendon_arm')
    sim.set_wrench([0.02, 0.01, 0.0, 0.0, 0.0, 0.0])
    assert sim.statics().converged
    wrench, rod = sim.internal_wrenches()['backbone'], sim.robot.rods['backbone']
    assert_allclose(wrench[0, :3], [0.02, 0.01, -9.81 * rod.mass], atol=2e-5)
    tip_position = tip(sim)
    assert_allclose(wrench[0, 4], 0.02 * tip_position[2] + 9.81 * rod.mass * np.mean(
        sim.shape()['backbone'].poses[:, 0, 3]), rtol=0.01)
    platform = simulator('stewart_gough')
    platform.command(**dict.fromkeys(platform.robot.legs, 0.55))
    assert platform.statics().converged
    shapes = platform.shape()
    for i, (name, wrench) in enumerate(platform.internal_wrenches().items()):
        R, held = shapes[name].poses[-1, :3, :3], platform.solver.tip_wrenches[i]
        assert_allclose(wrench[-1], np.concatenate([R.T @ held[:3], R.T @ held[3:]]), atol=5e-3)


def test_a_twin_shares_the_model_and_nothing_that_moves():
    sim = Simulator(load(CONFIG / 'tendon_arm.yaml'), stations=5)
    twin = sim.twin()
    assert twin.model is sim.model and len(twin.shape()['backbone'].arc_lengths) == 5
    sim.command(tendon_1=3.0)
    sim.set_wrench([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert sim.statics().converged
    assert not twin.solver.z.any() and not twin.named_loads and twin.commands['tendon_1'] == 0.0
    twin.go_to(sim.snapshot())
    assert_allclose(twin.tip_pose(), sim.tip_pose(), atol=1e-12)


def test_a_tendon_on_a_string_has_a_stiffness_too(tmp_path):
    path = tmp_path / 'finger.yaml'
    text = (CONFIG / 'fluidic_finger.yaml').read_text()
    path.write_text(re.sub(r'second_moment_x: \S+', 'second_moment_x: 0', text))
    sim = Simulator(load(path))
    assert sim.robot.rods['backbone'].stiffness(np.array([0.05]))[0, 3] == 0.0
    solution = sim.statics()
    assert solution.converged or solution.message
    assert np.isfinite(sim.solver.z).all()
