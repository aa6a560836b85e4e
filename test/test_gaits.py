"""Robots with gaits in a fluid: the papers' swimmer and flapping vehicle from robot files."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.analysis.sensitivity import command_columns
from cosserat_ros.checks.errors import InvalidModel, SingularState
from cosserat_ros.description.documents import InvalidDescription
from cosserat_ros.description.gaits import Live, Wave
from cosserat_ros.description.joints import RobotBase
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load
from cosserat_ros.inverse import InverseStatics
from cosserat_ros.numerics.lie import inverse_se3
from cosserat_ros.papers import riccati, swimmer
from cosserat_ros.papers.flapping_vehicle import SIDES, Vehicle
from cosserat_ros.papers.flapping_wing import assembly_of, wings_of
from cosserat_ros.simulation.fluid import flow_on
from cosserat_ros.simulation.simulator import Simulator

SWIMMER, WING = (load(ROOT / 'config' / f'{name}.yaml') for name in ('swimmer', 'flapping_wing'))
EXACT = 1e-12  # tolerance of the library's systems


def simulator(robot, **commands):
    sim = Simulator(robot, stations=5)
    sim.solver.tolerance = EXACT
    sim.command(**commands)
    sim.statics()  # so that slow commands are there at once
    return sim


def test_the_fish_swims_as_the_papers_system():
    sim, theirs = simulator(SWIMMER), swimmer.swimmer()
    start = sim.base_pose() @ SWIMMER.rods['body'].base.matrix()
    dt = SWIMMER.time.step
    for _ in range(250):
        assert sim.step().converged
        swimmer.muscles(theirs, theirs.time + dt)
        assert theirs.step(dt).converged
    assert_allclose(sim.solver.q[0], theirs.q[0], rtol=0, atol=1e-11)
    moved = inverse_se3(start) @ sim.base_pose() @ SWIMMER.rods['body'].base.matrix()
    assert_allclose(moved[:3, 3], theirs.base().p, rtol=0, atol=1e-11)
    assert_allclose(moved[:3, :3], theirs.base().R, rtol=0, atol=1e-11)
    assert sim.base_pose()[0, 3] > 0.3  # ahead


def test_the_wings_flap_as_the_papers_system():
    """At the printed stroke; the thorax flies freely."""
    vehicle = Vehicle(added_mass=1.0)
    sim = simulator(WING, flap_amplitude=vehicle.amplitude)
    theirs = assembly_of(vehicle).solver()
    wings, dt = wings_of(vehicle, theirs), WING.time.step
    z = np.zeros(theirs.Z)  # the robot begins in the equilibrium of held springs, see statics
    at = sim.solver.places.coordinates
    for k, side in enumerate(SIDES):
        for j in range(vehicle.blades):
            ours = at[f'{side}_joint_{j}'] if j else [-1, at[f'{side}_bend_0'][0]]
            z[wings.bend[k][j]] = sim.solver.z[ours[1]]
            if j:
                z[wings.twist[k][j - 1]] = sim.solver.z[ours[0]]
    theirs.tree.coordinates.command[wings.stroke] = 0.0
    theirs.set_state(z)  # and without accelerations, as what was held until now
    ramp, rate = WING.gaits['flap'].ramp, 2.0 * np.pi * WING.gaits['flap'].frequency.start
    assert_allclose(rate, vehicle.frequency)
    for _ in range(400):
        t = theirs.time + dt
        x = min(t / ramp, 1.0)
        angle = vehicle.amplitude * np.sin(rate * t) * (
            x - np.sin(2.0 * np.pi * x) / (2.0 * np.pi))
        for place, sign in zip(wings.stroke, SIDES.values()):
            theirs.tree.coordinates.command[place] = sign * angle
        assert theirs.step(dt).converged and sim.step().converged
    end, link = theirs.refresh().end, theirs.places.bodies['thorax'].link
    print(sim.base_pose()[:3, 3] - end.p[link])
    assert_allclose(sim.base_pose()[:3, 3], end.p[link], rtol=0, atol=1e-9)
    assert_allclose(sim.base_pose()[:3, :3], end.R[link], rtol=0, atol=1e-7)
    for k, side in enumerate(SIDES):
        ours = sim.solver.z[[at[f'{side}_joint_{j}'][0] for j in (1, 2, 3)]]
        assert_allclose(ours, theirs.z[wings.twist[k]], rtol=0, atol=1e-7)
        assert np.abs(ours).max() > 0.05
    assert end.p[link][2] < -0.005  # at the printed stroke it sinks


def test_numbers_of_the_water_are_those_of_the_ellipse():
    rod = SWIMMER.rods['body']
    flow = flow_on(rod)
    expected = riccati.added_mass(np.array([0.03]), np.array([0.06]), 1000.0)[0]
    assert_allclose(flow.along(0.3)[:36].reshape(6, 6), expected, rtol=1e-14)
    assert len(flow.at_tip) == 1
    assert not flow_on(replace(rod, flow=replace(rod.flow, wake='none'))).at_tip


def test_a_frequency_that_changes_makes_no_jump():
    """Without a limit of its rate: the phase is the integral of the frequency."""
    gait = replace(SWIMMER.gaits['wave'], frequency=Live(1.0), ramp=0.0)
    sim = simulator(replace(SWIMMER, gaits={'wave': gait}))
    told, dt = [], 0.01
    for i in range(120):
        if i == 60:
            sim.command(wave_frequency=3.0)
        assert sim.step(dt).converged
        told.append(sim.loads.stress[3, 4])
    steps = np.abs(np.diff(told))
    assert_allclose(sim.gaits.phases['wave'], 2.0 * np.pi * (0.6 + 3.0 * 0.6), rtol=1e-12)
    assert steps[59] < 1.1 * steps[60:].max() and steps[:58].max() < 0.5 * steps[60:].max()


def test_commands_of_a_gait_follow_their_rates_and_limits():
    sim = simulator(SWIMMER)
    sim.command(wave_amplitude=0.5)
    for _ in range(20):
        assert sim.step().converged
    state = sim.actuators()['wave_amplitude']
    assert_allclose([state.position, state.velocity, state.effort], [0.8, -1.0, 0.0], atol=1e-9)
    with pytest.raises(InvalidModel, match='wave_amplitude.*1.5'):
        sim.command(wave_amplitude=2.0)
    assert list(WING.actuators) == ['flap_amplitude', 'flap_frequency', 'flap_middle']


@pytest.mark.parametrize('turn', [0.5, -0.5])
def test_a_fish_that_bends_turns(turn):
    sim = simulator(SWIMMER, wave_turn=turn)
    for _ in range(400):
        assert sim.step().converged
    heading = np.arctan2(*sim.base_pose()[1::-1, 0])
    assert heading * turn < 0.0 and abs(heading) > 0.3


def test_a_snapshot_keeps_the_phase():
    sim, other = simulator(SWIMMER), Simulator(SWIMMER, stations=5)
    other.solver.tolerance = EXACT
    for _ in range(30):
        sim.step()
    other.go_to(sim.snapshot())
    sim.step()
    other.step()
    assert_allclose(other.solver.z, sim.solver.z, rtol=0, atol=1e-11)
    assert other.gaits.phases == sim.gaits.phases


def test_linear_models_hold_the_gait_at_its_phase():
    sim = simulator(SWIMMER)
    for _ in range(130):
        sim.step()
    columns = command_columns(sim)
    assert not columns[:, 1].any()  # of the frequency
    still = np.zeros(sim.solver.z.size)
    for j, name in ((0, 'wave_amplitude'), (2, 'wave_turn')):
        none = sim.solver.residual(sim.solver.z, still, still)
        with sim.trying(**{name: sim.reached(name) + 0.3}) as solver:
            changed = solver.residual(sim.solver.z, still, still)
        assert_allclose(changed - none, 0.3 * columns[:, j], rtol=0, atol=1e-9)
        assert columns[:, j].any()
    with pytest.raises(SingularState):  # it floats
        linearize(sim)
    held = simulator(replace(SWIMMER, base=RobotBase()))
    for _ in range(130):
        held.step()
    model = linearize(held)
    assert np.isfinite(model.B).all() and not model.B[:, 1].any() and model.B[:, 0].any()


def test_inverse_statics_refuses_a_gait():
    with pytest.raises(InvalidModel, match='gaits.*wave'):
        InverseStatics(SWIMMER)


def rewritten(tmp_path, name, *changes):
    """Return the file of a robot with some text replaced."""
    text = (ROOT / 'config' / f'{name}.yaml').read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / 'robot.yaml'
    path.write_text(text)
    return path


@pytest.mark.parametrize('name, old, new, said', [
    ('swimmer', 'shape: wave', 'shape: march', r'gaits.wave.shape.*wave, stroke'),
    ('swimmer', 'wave_length: 1.0', 'wave_length: 0', r'gaits.wave.wave_length.*> 0'),
    ('swimmer', 'wave_length: 1.0', 'rod: tail, wave_length: 1', r'robot.yaml:\d+'),
    ('swimmer', 'ramp: 1.0', 'bends: x', r'gaits.wave.bends.*modes.bend_x is 0'),
    ('swimmer', 'start: 1.0, lower: 0.0', 'start: -1.0, lower: 0.0', r'wave.amplitude.start'),
    ('swimmer', 'density: 1000}                   ', 'density: 0}', r'rods.body.flow.density'),
    ('swimmer', 'shape: slender', 'shape: blade, forward: [0, 0, 1]', r'flow.forward.*plane'),
    ('swimmer', 'shape: slender', 'shape: blade, drag: [1, 2]', r'flow.drag.*C_D2'),
    ('flapping_wing', 'right_stroke: {}', 'right_strike: {}', r'gaits.flap.joints.*right_stroke'),
    ('flapping_wing', 'drive: position', 'drive: velocity', r'right_stroke.*position drive'),
    ('flapping_wing', 'frequency: {start: 25.0,', 'frequency: {start: 25.0, least: 1,',
     r'frequency.least is not a known key'),
])
def test_files_that_make_no_sense_are_refused(tmp_path, name, old, new, said):
    with pytest.raises(InvalidDescription, match=said):
        load(rewritten(tmp_path, name, (old, new)))


def test_two_gaits_do_not_move_the_same():
    wave = SWIMMER.gaits['wave']
    with pytest.raises(InvalidModel, match='gaits.other'):
        replace(SWIMMER, gaits={'wave': wave, 'other': wave})
    flap = WING.gaits['flap']
    with pytest.raises(InvalidModel, match='gaits.other.*right_stroke'):
        replace(WING, gaits={'flap': flap, 'other': flap})


def test_rods_without_modes_need_joints():
    rigid = StrainModes(0, 0, 0, 0, 0, 0)
    arm = load(ROOT / 'config' / 'cantilever.yaml')
    with pytest.raises(InvalidModel, match='modes.*at least one mode'):
        Simulator(replace(arm, modes=rigid))
    with pytest.raises(InvalidModel, match='modes.*at least one mode'):
        Simulator(replace(load(ROOT / 'config' / 'tendon_arm.yaml'), modes=rigid))


def test_a_wave_is_as_printed():
    """Of eqs. 93 to 95, with the ramp, as muscles make it."""
    gait = SWIMMER.gaits['wave']
    assert isinstance(gait, Wave)
    sim = simulator(SWIMMER)
    d = sim.model.rods[0]
    for _ in range(57):
        sim.step()
    assert_allclose(sim.loads.stress[:, 4], -50.0 * swimmer.wave(d.s, sim.time)[0], atol=1e-9)
