"""The example robots that are assemblies: what each must obey, and all of config/ at random."""

from dataclasses import replace
import math
import sys

from conftest import FUZZ, ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.checks.errors import InvalidModel, UnknownName
from cosserat_ros.description.demonstration import Move, MoveLoad
from cosserat_ros.description.documents import InvalidDescription
from cosserat_ros.description.joints import RobotBase
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.demonstration import between, demonstrated_loads, demonstration
from cosserat_ros.simulation.simulator import Load, Simulator

sys.path.insert(0, str(ROOT / 'benchmarks'))
import examples  # noqa: E402

CONFIG = ROOT / 'config'
G = 9.81
STRAIGHT = StrainModes(0, 0, 1, 0, 0, 0)


def described(name, **changes):
    return replace(load(CONFIG / f'{name}.yaml'), **changes)


def obstacles_with(robot, name, friction):
    return {**robot.obstacles, name: replace(robot.obstacles[name], friction=friction)}


def lead(sim, seconds, **commands):
    """Lead commands somewhere smoothly; every step must succeed."""
    before, n = dict(sim.commands), round(seconds / sim.robot.time.step)
    for part in np.linspace(0.0, 1.0, n + 1)[1:]:
        x = part * part * (3.0 - 2.0 * part)
        sim.command(**{name: between(before[name], goal, x) for name, goal in commands.items()})
        assert sim.step().converged


def body(sim, name):
    """Return the motion of a body, world frame."""
    return sim.solver.frame(sim.solver.places.bodies[name].link)


def pressed(sim, obstacle):
    """Return the sum of normal forces on an obstacle [N]."""
    return sum(abs(c.force @ c.normal) for c in sim.solver.contacts() if c.obstacle == obstacle)


# --- The gripper ---------------------------------------------------------------------------------

def lifted(friction, pressure):
    """Return a gripper that has lifted its box."""
    robot = described('gripper')
    sim = Simulator(replace(robot, obstacles=obstacles_with(robot, 'box', friction)))
    assert sim.statics().converged
    lead(sim, 1.5, left=pressure, right=pressure, thumb=pressure)
    lead(sim, 2.5, lift=0.08)
    lead(sim, 1.0)
    return sim


@pytest.mark.parametrize('friction, pressure', [(0.8, 80e3), (0.6, 80e3), (0.8, 100e3)])
def test_a_gripper_holds_as_long_as_friction_says(friction, pressure):
    """It lifts the box; pulled down by more and more, that slides at mu sum N, within 2 %."""
    sim = lifted(friction, pressure)
    found = sim.solver.contacts()
    assert {(c.part, c.obstacle) for c in found} == {
        (finger, 'box') for finger in ('left', 'right', 'thumb')}
    weight = G * sim.robot.bodies['box'].mass
    assert_allclose(sum(c.force[2] for c in found), -weight, rtol=1e-3)  # on the box it is up
    assert body(sim, 'box').p[2] > 0.075
    pull = sim.solver.tree.bodies.force[sim.solver.places.bodies['box'].link]
    for load_now in np.arange(weight, 1.0, 2e-4):
        pull[2] = weight - load_now
        assert sim.step().converged
        if body(sim, 'box').p_t[2] < -5e-3:
            break
    assert_allclose(load_now, friction * pressed(sim, 'box'), rtol=0.02)
    slid_from = body(sim, 'box').p[2]
    for _ in range(30):
        pull[2] = weight - 1.02 * load_now
        assert sim.step().converged
    assert body(sim, 'box').p[2] < slid_from - 5e-3


def test_a_gripper_without_friction_lifts_nothing():
    assert body(lifted(0.0, 80e3), 'box').p[2] < 0.026


def test_a_gripper_shows_that_it_can_lift():
    """Its demonstration puts the box back where it was, or nearly."""
    sim = Simulator(described('gripper'))
    assert sim.statics().converged
    commands = demonstration(sim.robot, {n: sim.rest_command(n) for n in sim.robot.actuators})
    heights = []
    for _ in range(round(20.0 / sim.robot.time.step)):
        sim.command(**commands(sim.time))
        assert sim.step().converged
        heights.append(body(sim, 'box').p[2])
    assert max(heights) > 0.095
    assert_allclose(heights[-1], 0.025, atol=1e-4)
    assert np.hypot(*body(sim, 'box').p[:2]) < 5e-3


# --- The catheter --------------------------------------------------------------------------------

def pushed(friction, weight=False):
    """Return a catheter, and what it takes to hold it at an insertion: force and energy."""
    robot = described('catheter', **({} if weight else {'gravity': (0.0, 0.0, 0.0)}))
    sim = Simulator(replace(robot, obstacles=obstacles_with(robot, 'vessel', friction)))

    def at(insertion):
        sim.command(insertion=insertion)
        assert sim.statics().converged
        found = sim.solver.contacts()
        walls = sum(0.5 * abs(c.force @ c.normal) * -c.gap for c in found)
        return sim.actuators()['insertion'].effort, sum(sim.solver.energy()) + walls, found
    return sim, at


WAY = np.arange(0.002, 0.101, 0.002)


def test_what_pushes_a_catheter_is_the_slope_of_its_energy():
    """Without friction, by virtual work; and the wall bears what is pushed."""
    _, at = pushed(0.0)
    tried, h = 0, 5e-5
    for x in WAY:
        at(x)
        if round(1e3 * x) in (40, 60, 80, 100):
            (_, low, _), (force, _, found), (_, high, _) = at(x - h), at(x), at(x + h)
            assert force > 5e-3
            assert_allclose((high - low) / (2.0 * h), force, rtol=1e-3)
            assert_allclose(sum(c.force[2] for c in found), -force, rtol=1e-6)
            tried += 1
    assert tried == 4


def test_friction_holds_a_catheter_back_both_ways():
    """On the way in more is pushed than without, on the way out less; Coulomb bounds all of it."""
    sim, at = pushed(0.1)
    into = {round(1e3 * x): at(x)[0] for x in WAY}
    for c in sim.solver.contacts():
        across = c.force - (c.force @ c.normal) * c.normal
        assert np.linalg.norm(across) <= 0.1 * abs(c.force @ c.normal) * (1.0 + 1e-6)
    out = {round(1e3 * x): at(x)[0] for x in WAY[::-1]}
    _, smooth = pushed(0.0)
    between = {round(1e3 * x): smooth(x)[0] for x in WAY}
    for x in (60, 70, 80, 90):
        assert out[x] + 1e-3 < between[x] < into[x] - 1e-3


def test_a_catheter_stays_in_its_vessel_and_is_steered():
    sim, _ = pushed(0.1, weight=True)
    assert sim.statics().converged
    lead(sim, 6.0, insertion=0.1)
    straight = sim.tip_pose()[:3, 3]
    assert straight[0] > 0.03  # round the bend
    lead(sim, 1.0, bend=1.0)
    lead(sim, 2.0, rotation=1.5)
    assert np.linalg.norm(sim.tip_pose()[:3, 3] - straight) > 1e-3
    assert max(-c.gap for c in sim.solver.contacts()) < 2e-4
    lead(sim, 6.0, insertion=0.0, bend=0.0, rotation=0.0)
    assert_allclose(sim.tip_pose()[2, 3], 0.2, atol=1e-3)


# --- Two arms ------------------------------------------------------------------------------------

def test_two_arms_are_as_stiff_as_beams_say():
    """Pushed along the box, whose hinges are free about y: two cantilevers; so across it."""
    sim = Simulator(described('dual_arm', gravity=(0.0, 0.0, 0.0)))
    segment = sim.robot.rods['left'].segments[0]
    bending = 207e9 * 0.25 * np.pi * segment.section.radius ** 4
    push = sim.solver.tree.bodies.force[sim.solver.places.bodies['box'].link]
    for axis in (0, 1):
        push[:] = 0.0
        push[axis] = 1e-3
        assert sim.statics().converged
        moved = sim.tip_pose()[axis, 3]
        assert_allclose(moved, 1e-3 * segment.length ** 3 / (6.0 * bending), rtol=1e-3)


def test_two_arms_carry_one_box():
    """What their tips bear is its weight, pulled as they may be; mirrored, it moves mirrored."""
    sim = Simulator(described('dual_arm'))
    weight = G * sim.robot.bodies['box'].mass
    sim.command(left_1=5.0, left_2=2.0, right_4=6.0)
    assert sim.statics().converged
    passed, rods = sim.solver.refresh().wrench, sim.solver.places.rods
    borne = sum(passed[rods[side][-1], :3] for side in ('left', 'right'))
    assert_allclose(borne, [0.0, 0.0, -weight], atol=1e-6 * weight)
    one = sim.tip_pose()
    sim.command(left_1=0.0, left_2=0.0, right_4=0.0)
    sim.command(right_3=5.0, right_2=2.0, left_4=6.0)
    assert sim.statics(from_rest=True).converged
    other, mirror = sim.tip_pose(), np.diag([-1.0, 1.0, 1.0])
    assert np.linalg.norm(one[:2, 3]) > 5e-3
    assert_allclose(other[:3, 3], mirror @ one[:3, 3], atol=1e-7)
    assert_allclose(other[:3, :3], mirror @ one[:3, :3] @ mirror, atol=1e-6)


# --- The T-frame ---------------------------------------------------------------------------------

Q, P, M0, SPAN = 30.0, 20.0, 15.0, 2.0  # ours: the paper has none


def frame_loads(part=1.0, pieces=8):
    """Return the loads of section 4.9; its triangular one in pieces of equal resultants."""
    loads = {
        'P': Load(part * np.array([-P, 0, 0, 0, 0, 0]), 'column', 1.0),
        'C': Load(part * np.array([-0.6 * P, 0, -0.8 * P, 0, 0, 0]), 'right'),
        'M': Load(part * np.array([0, 0, 0, 0, M0, 0]), 'left')}
    ends = np.linspace(0.0, SPAN, pieces + 1)
    for i, (a, b) in enumerate(zip(ends[:-1], ends[1:])):  # from B, where it is largest, to A
        qa, qb = Q * (1.0 - a / SPAN), Q * (1.0 - b / SPAN)
        middle = a + (b - a) * (qa + 2.0 * qb) / (3.0 * (qa + qb))
        loads[f'q{i}'] = Load(
            part * np.array([0, 0, -0.5 * (qa + qb) * (b - a), 0, 0, 0]), 'left', middle)
    return loads


def supports(sim):
    """Return what D and A bear: forces along x and z [N]."""
    passed, places = sim.solver.refresh(), sim.solver.places
    D = passed.passed[places.rods['column'][0]]
    A = passed.wrench[places.rods['left'][-1]]
    return -D[[0, 2]], A[[0, 2]]


@pytest.mark.parametrize('modes, part, precise', [(STRAIGHT, 1.0, 1e-5), (None, 1e-4, 1e-4)])
def test_a_t_frame_rests_on_its_supports_as_statics_say(modes, part, precise):
    """Surmont et al., eqs. 51 and 52; rods that do not bend, and ours under small loads."""
    sim = Simulator(described('frame'), modes)
    sim.set_loads(frame_loads(part))
    assert sim.statics().converged
    D, A = supports(sim)
    size = precise * part * P
    assert_allclose(D, part * np.array([1.6 * P, M0 / SPAN + Q * SPAN / 3.0 + 0.1 * P]), atol=size)
    assert_allclose(A, part * np.array([0.0, -M0 / SPAN + Q * SPAN / 6.0 + 0.7 * P]), atol=size)


def test_the_end_of_a_t_frame_sinks_as_beams_say():
    """A force P down at C: the beams bend, and all of them shear and shorten a little."""
    sim, force = Simulator(described('frame')), 1e-3
    sim.set_loads({'C': Load(np.array([0, 0, -force, 0, 0, 0]), 'right')})
    assert sim.statics().converged
    EI, GA, EA = (float(sim.robot.rods['right'].stiffness(0.0)[i]) for i in (3, 0, 2))
    sunk = force * (SPAN ** 3 / (8.0 * EI) + 0.75 * SPAN / GA + 2.25 * SPAN / EA)
    assert_allclose(2.0 - sim.tip_pose()[2, 3], sunk, rtol=1e-5)


# --- Demonstrations, and all at random -----------------------------------------------------------

def test_a_demonstration_goes_through_its_moves_and_begins_again():
    moves = (Move(2.0, {'tendon_1': 4.0}), Move(1.0), Move(2.0, {'tendon_1': 1.0}))
    arm = described('tendon_arm', demonstration=moves)
    commands = demonstration(arm, dict.fromkeys(arm.actuators, 0.0))
    seen = [commands(t)['tendon_1'] for t in (0.0, 1.0, 2.0, 2.7, 4.0, 5.0, 6.0, 7.0)]
    assert_allclose(seen, [0.0, 2.0, 4.0, 4.0, 2.5, 1.0, 2.5, 4.0], atol=1e-12)
    assert all(commands(t)['tendon_2'] == 0.0 for t in (0.5, 7.7))


@pytest.mark.parametrize('move, wrong', [
    (Move(1.0, {'tendn_1': 1.0}), 'tendn_1'), (Move(1.0, {'tendon_1': 1e3}), 'tendon_1')])
def test_a_demonstration_keeps_to_actuators_and_limits(move, wrong):
    with pytest.raises(InvalidModel, match=rf'demonstration\[1\].commands.{wrong}') as raised:
        described('tendon_arm', demonstration=(Move(1.0), move))
    assert isinstance(raised.value, UnknownName) == (wrong == 'tendn_1')


def test_a_demonstration_loads_and_unloads():
    """Along the axes of the parent frame, which base_link is turned against."""
    moves = (Move(2.0, loads={'tip': MoveLoad(force=(0.04, 0.0, 0.0)),
                              'wind': MoveLoad(at=0.1, extent=0.1, moment=(0.0, 0.0, 1e-3))}),
             Move(1.0), Move(2.0, loads={'tip': MoveLoad()}))
    base = RobotBase(roll_pitch_yaw=(0.0, 0.0, 0.5 * math.pi))
    arm = described('tendon_arm', base=base, demonstration=moves)
    loads = demonstrated_loads(arm)
    assert loads(0.0) == {}
    for time, force in ((1.0, 0.02), (2.5, 0.04), (4.0, 0.02), (6.0, 0.02)):
        assert_allclose(loads(time).get('demonstration:tip').wrench, [0, -force, 0, 0, 0, 0],
                        atol=1e-12)
    wind = loads(5.0)
    assert list(wind) == ['demonstration:wind'] and wind['demonstration:wind'][1:5] == (
        None, 0.1, 0.1, False)
    assert_allclose(wind['demonstration:wind'].wrench, [0, 0, 0, 0, 0, 1e-3], atol=1e-12)
    assert demonstrated_loads(described('tendon_arm', demonstration=(Move(1.0),))) is None
    sim = Simulator(arm)
    sim.set_loads(loads(2.5))
    assert sim.statics().converged
    assert sim.tip_pose()[1, 3] < -1e-3  # 0.04 N along -y of base_link


@pytest.mark.parametrize('name, load, wrong', [
    ('tendon_arm', MoveLoad(at=0.5), 'at'), ('tendon_arm', MoveLoad(at=0.1, extent=0.2), 'extent'),
    ('tendon_arm', MoveLoad(extent=0.1), 'extent'), ('dual_arm', MoveLoad(), 'rod'),
    ('dual_arm', MoveLoad('middle'), 'rod'), ('stewart_gough', MoveLoad(extent=0.1), 'rod')])
def test_a_load_of_a_demonstration_is_on_its_rod(name, load, wrong):
    with pytest.raises(InvalidModel, match=rf'demonstration\[1\].loads.a.{wrong}'):
        described(name, demonstration=(Move(1.0), Move(1.0, loads={'a': load})))


def test_a_load_of_a_demonstration_stays_where_it_is():
    moves = (Move(1.0, loads={'a': MoveLoad(at=0.1)}), Move(1.0, loads={'a': MoveLoad()}))
    with pytest.raises(InvalidModel, match=r'demonstration\[1\].loads.a must be .*earlier'):
        described('tendon_arm', demonstration=moves)


@pytest.mark.parametrize('text, reason', [
    ('{takes: 1, loads: {a: {force: [1, 2]}}}', r'force must be a list of 3 .*\[N\]'),
    ('{takes: 1, loads: {a: {at: 9}}}', r'at must be at most'),
    ('{takes: 1, loads: {a: {froce: [1, 2, 3]}}}', 'froce is not a known key.*force'),
    ('{takes: 1, loads: [1]}', 'loads'),
    ('{takes: 0}', r'takes must be .* >= 0.01 .* \[s\]'), ('{commands: {}}', 'takes'),
    ('{takes: 1, commands: {tendon_1: x}}', r'tendon_1 must be a finite number'),
    ('{takes: 1, commands: [1]}', 'a mapping from names'),
    ('{takes: 1, command: {}}', 'command is not a known key')])
def test_a_bad_move_is_named_with_its_line(tmp_path, text, reason):
    path, arm = tmp_path / 'arm.yaml', (CONFIG / 'tendon_arm.yaml').read_text()
    path.write_text(f'{arm}\ndemonstration:\n  - {{takes: 1}}\n  - {text}\n')
    line = len(arm.splitlines()) + 4
    with pytest.raises(InvalidDescription, match=rf'arm.yaml:{line}: demonstration.*{reason}'):
        load(path)


@pytest.mark.parametrize('path', sorted(CONFIG.glob('*.yaml')), ids=lambda path: path.stem)
@pytest.mark.parametrize('jumps', [False, True], ids=['smooth', 'jumps'])
def test_fuzz_every_robot_follows_random_commands(path, jumps):
    """No step fails; for a minute with COSSERAT_FUZZ=20, as `make soak` has it."""
    assert examples.drive(load(path), 3.0 * FUZZ, seed=FUZZ, jumps=jumps).failed == []
