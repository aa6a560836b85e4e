"""Dry friction of tendons: it sticks, it remembers, it only takes energy."""

from dataclasses import replace

from conftest import ROOT
from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.assembly.newton import RUNNING_OUT
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Drag
from cosserat_ros.description.robot import load
from cosserat_ros.description.rod import Damping
from cosserat_ros.laws.capstan_friction import (
    BY_ANGLE,
    BY_SLIDING,
    BY_SPEED,
    BY_TENSION,
    FORCE,
    friction_along,
    Frictions,
    SLIDING,
    TOTAL,
)
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.simulation.simulator import Simulator

CONFIG = ROOT / 'config'
MODES = StrainModes(0, 0, 1, 5, 5, 0)


def arm(coefficient, presliding=1e-5, command='tension', modes=MODES, undamped=False, gravity=0.0):
    """Return the tendon arm with one tendon that rubs."""
    robot = load(CONFIG / 'tendon_arm.yaml')
    tendon = replace(robot.tendons['tendon_1'], command=command, limits=None,
                     coulomb_friction=coefficient, presliding=presliding)
    rod = robot.rods['backbone']
    if undamped:
        rod = replace(rod, drag=Drag(), segments=[replace(rod.segments[0], damping=Damping())])
    return Simulator(replace(robot, rods={'backbone': rod}, tendons={'tendon_1': tendon},
                             gravity=(0.0, 0.0, -gravity)), modes)


def go(sim, tension):
    sim.command(tendon_1=float(tension))
    assert sim.statics().converged
    return sim.tip_pose()[:3, 3]


def rubbing(sim):
    """Return where the tendon has slid to, and the forces there."""
    return sim.solver.rubbing(0, 0)[:2]


# --- The law -------------------------------------------------------------------------------------

def rub(last, sliding, angle, tension, mu=0.3, presliding=1e-5, beta=0.0, speed=0.0):
    """Return what would be remembered (3, N), and force and slopes (7, N)."""
    law = Frictions(*np.zeros((2, 1), dtype=int), np.array([beta]), np.array([mu]),
                    np.array([presliding]), *np.zeros((2, 1), dtype=int), np.zeros(1))
    now, along = np.zeros_like(last), np.zeros((7, last.shape[1]))
    now[SLIDING], along[0], along[1] = sliding, angle, speed
    friction_along(law, 0, last, now, float(tension), False, along, np.zeros(last.shape[1]))
    return now, along


@pytest.mark.parametrize('way, sign', [(-1e-3, -1.0), (1e-3, 1.0)])
def test_a_sliding_tendon_is_a_capstan(way, sign):
    """Around a uniform bend: the tension falls by exp(-mu angle) pulled in, grows paid out."""
    N, mu = 9, 0.4
    angle = np.full(N, 0.3)
    _, along = rub(np.zeros((3, N)), way, angle, 5.0, mu)
    assert_allclose(5.0 + np.cumsum(along[TOTAL]), 5.0 * np.exp(sign * mu * np.cumsum(angle)))


def test_damping_is_that_of_till():
    """tau_s = beta tau |u| nu: exponential in the angle."""
    angle, beta, speed = np.array([0.2, 0.5, 0.1]), 5.0, -0.03
    _, along = rub(np.zeros((3, 3)), 0.0, angle, 2.0, 0.0, beta=beta, speed=speed)
    assert_allclose(2.0 + np.cumsum(along[TOTAL]), 2.0 * np.exp(beta * speed * np.cumsum(angle)))


def test_the_slopes_of_the_law_are_its_derivatives():
    """Some nodes stick, some slip either way, some have been pressed harder before."""
    rng = np.random.default_rng(1)
    N = 7
    last = np.array(
        [rng.normal(0.0, 1e-5, N), rng.normal(0.0, 0.05, N), rng.uniform(0.05, 0.3, N)])
    x, angle, speed = rng.normal(0.0, 2e-5, N), rng.uniform(0.1, 0.5, N), rng.normal(0.0, 0.1, N)

    def law(x, angle, speed, tension):
        return rub(last, x, angle, tension, 0.3, 2e-5, 2.0, speed)[1]

    here = law(x, angle, speed, 3.0)

    def through(slope):
        """Return the change of all forces with one of what each node is told, (N, N)."""
        change, tension = np.zeros((N, N)), np.zeros(N)
        for k in range(N):
            change[k] = here[BY_TENSION, k] * tension
            change[k, k] += slope[k]
            tension += change[k]
        return change

    for row, h, which in ((BY_SLIDING, 1e-8, 0), (BY_ANGLE, 1e-4, 1), (BY_SPEED, 1e-4, 2)):
        expected = []
        for unit in np.eye(N):
            def total(k, h=h, unit=unit, which=which):
                told = [x, angle, speed]
                told[which] = told[which] + k * h * unit
                return law(*told, 3.0)[TOTAL]

            expected.append(sum(c * (total(k) - total(-k)) for k, c in (
                (1, 0.75), (2, -0.15), (3, 1.0 / 60.0))) / h)
        found = through(here[row])
        assert_allclose(found, np.array(expected).T, rtol=0.0, atol=1e-7 * np.abs(found).max())


def test_no_path_of_sliding_and_pressure_wins_energy():
    """Random walks that come back: what friction took is not negative, however one presses."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        memory, taken = np.zeros((3, 1)), 0.0
        walk = np.cumsum(rng.normal(0.0, 1e-5, 30))
        for x in [*walk, 0.0]:
            now, _ = rub(memory, x, rng.uniform(0.0, 1.0, 1), rng.uniform(0.0, 5.0))
            taken += float(now[FORCE] @ (x - memory[SLIDING]))
            memory = now
            assert taken > -1e-15


tensions = st.floats(0.0, 5.0)


@settings(deadline=None, max_examples=100)
@given(path=st.lists(
    st.tuples(st.floats(-5e-5, 5e-5), st.floats(0.0, 1.0), st.floats(0.0, 5.0)), max_size=20),
    mu=st.floats(0.01, 1.0), presliding=st.floats(1e-6, 1e-4))
def test_what_friction_took_is_at_least_what_bristles_hold(path, mu, presliding):
    """However one slides and presses; along one tendon, over three bends."""
    memory, taken = np.zeros((3, 3)), 0.0
    for x, angle, tension in path:
        last = memory
        memory, _ = rub(last, x * np.array([1.0, -0.5, 0.2]), angle * np.array([1.0, 0.3, 2.0]),
                        tension, mu, presliding)
        taken += float(memory[FORCE] @ (memory[SLIDING] - last[SLIDING]))
        assert taken >= held_by_bristles(memory, presliding) - 1e-15


def held_by_bristles(memory, presliding):
    """Return the energy of bristles that have a force, and would slip at what pressure holds."""
    force, limit = memory[FORCE], memory[2]
    return 0.5 * presliding * float(np.sum(force ** 2 / np.maximum(limit, 1e-300)))


# --- On a robot ----------------------------------------------------------------------------------

def test_pulled_in_the_tension_falls_by_the_capstans_law():
    sim = arm(0.2, presliding=1e-7)
    go(sim, 4.0)
    shape = sim.solver.state(0).xi
    angle = float(sim.model.rods[0].w @ np.linalg.norm(shape[:, 3:5], axis=1))
    assert angle > 1.0
    _, force = rubbing(sim)
    assert_allclose((4.0 + force.sum()) / 4.0, np.exp(-0.2 * angle), rtol=1e-4)
    assert_allclose(sim.tension('tendon_1')[-1], 4.0 * np.exp(-0.2 * angle), rtol=0.02)


def test_it_sticks_under_a_command_reduced_a_little_and_does_not_creep():
    without, with_friction = arm(0.0), arm(0.2)
    free = np.linalg.norm(go(without, 4.0) - go(without, 3.6))
    held = go(with_friction, 4.0)
    stuck = np.linalg.norm(go(with_friction, 3.6) - held)
    assert stuck < 0.15 * free, (stuck, free)
    path = []
    for _ in range(500):
        assert with_friction.step(0.02).converged
        path.append(with_friction.tip_pose()[:3, 3])
    assert np.ptp(path, axis=0).max() < 1e-7


def test_the_way_counts_in_statics():
    """Pulled to 3 N from below and let out to it from above; the zero friction limit does not."""
    gaps = []
    for coefficient in (0.2, 1e-3, 0.0):
        sim = arm(coefficient)
        up = go(sim, 3.0)
        go(sim, 5.0)
        gaps.append(np.linalg.norm(go(sim, 3.0) - up))
    assert gaps[0] > 5e-3 and gaps[2] < 1e-6
    assert_allclose(gaps[1], gaps[0] * 1e-3 / 0.2, rtol=0.5)


@pytest.mark.parametrize(
    'command, ends', [('tension', (1.0, 4.0)), ('displacement', (3e-3, 12e-3))])
def test_the_area_of_the_loop_is_what_friction_takes(command, ends):
    sim = arm(0.15, presliding=5e-5, command=command)
    low, high = ends
    go(sim, low)
    go(sim, high)
    work = taken = whole = 0.0
    for value in np.concatenate([np.linspace(high, low, 60)[1:], np.linspace(low, high, 60)[1:]]):
        x, g = rubbing(sim)
        length, tension = sim.solver.lengths()[0], sim.solver.efforts[0]
        go(sim, value)
        x1, g1 = rubbing(sim)
        did = -0.5 * (tension + sim.solver.efforts[0]) * (
            sim.solver.lengths()[0] - length)
        work, whole = work + did, whole + abs(did)
        taken += 0.5 * float((g + g1) @ (x1 - x))
    assert taken > 0.05 * whole
    assert_allclose(work, taken, rtol=0.03)


def test_power_is_balanced_in_motion():
    """Energy gained = work of the tendon - what friction took."""
    def gap(dt, duration=0.3):
        sim = arm(0.2, presliding=1e-4, undamped=True, gravity=9.81)
        go(sim, 1.0)
        start, work, taken = sum(sim.solver.energy()), 0.0, 0.0
        for i in range(1, round(duration / dt) + 1):
            x, g = rubbing(sim)
            length, tension = sim.solver.lengths()[0], sim.solver.efforts[0]
            sim.command(tendon_1=1.0 + 2.0 * np.sin(np.pi * i * dt / duration) ** 2)
            assert sim.step(dt).converged
            x1, g1 = rubbing(sim)
            work -= 0.5 * (tension + sim.solver.efforts[0]) * (
                sim.solver.lengths()[0] - length)
            taken += 0.5 * float((g + g1) @ (x1 - x))
        return abs(sum(sim.solver.energy()) - start - work + taken), taken

    for dt in (4e-3, 2e-3):
        off, taken = gap(dt)
        assert taken > 1e-3 and off < 1e-3 * taken, (off, taken)


def energy_above(sim, reference, held=0.0):
    """Return what a robot, its tendon at this tension and what bristles hold have more [J]."""
    tendon = sim.solver.efforts[0] * sim.solver.lengths()[0]
    return sum(sim.solver.energy()) + tendon + held - reference


def assert_energy_never_grows(sim, without, walk, last, dt, held):
    """
    Go somewhere, change the tension and leave the robot alone: what it has only falls.

    The reference is the equilibrium `without` friction, of least energy. Backward Euler never
    gains; a scheme of second order errs by a part of the energy that falls with dt^2, from steps
    of 0.25 ms on: by 2.5e4 dt^2 where the tension falls from 2 to 0.125 N.
    """
    sim.solver.tolerance = 1e-10
    for tension in walk:
        go(sim, tension)
    go(without, last)
    reference = energy_above(without, 0.0)
    sim.command(tendon_1=last)
    start = sim.snapshot()
    for scheme, part in (
            ('backward_euler', 1e-9), ('generalised_alpha', min(3e4 * dt ** 2, 0.25))):
        sim.go_to(start)
        sim.solver.scheme, path = SCHEMES[scheme], []
        for _ in range(40):
            assert sim.step(dt).converged
            path.append(energy_above(sim, reference, held(sim)))
        assert min(path) > -1e-9
        grown = np.array(path[1:]) - np.minimum.accumulate(path)[:-1]
        assert grown.max() <= part * path[0] + 1e-10, (scheme, grown.max(), path[0])


@settings(deadline=None, max_examples=20)
@given(walk=st.lists(tensions, max_size=3), last=st.floats(0.1, 4.0), dt=st.floats(5e-4, 5e-3))
def test_energy_never_grows_with_a_tendon_that_rubs(walk, last, dt):
    rubs, without = (arm(mu, 1e-5, undamped=True, gravity=9.81) for mu in (0.3, 0.0))
    assert_energy_never_grows(rubs, without, walk, last, dt, lambda sim: held_by_bristles(
        sim.solver.rubbing(0, 0), 1e-5))


def test_large_steps_do_not_chatter():
    """Stopped after a ramp, with steps far longer than a bristle's own period."""
    def swing(coefficient):
        sim = arm(coefficient, presliding=1e-6)
        assert sim.statics().converged
        path = []
        for i in range(80):
            sim.command(tendon_1=0.2 * min(i + 1, 20))
            assert sim.step(0.05).converged
            path.append(sim.tip_pose()[0, 3])
        return np.ptp(path[60:])

    free, rubs = swing(0.0), swing(0.3)
    assert rubs < 1e-4 and rubs < 0.1 * free, (rubs, free)


def test_a_divided_way_ends_where_one_stroke_does():
    """Statics that Newton does not find at once: tendon friction is that of one stroke."""
    ends, parts = [], []
    for divided in (False, True):
        sim = arm(0.3, presliding=1e-4)
        go(sim, 5.0)
        go(sim, 2.0)
        sim.command(tendon_1=4.0)
        solver, tries = sim.solver, []
        balance = solver._balance

        def fails_at_first(z, balance=balance, tries=tries):
            tries.append(z)
            ending = balance(z)
            return ending._replace(status=RUNNING_OUT) if len(tries) == 1 else ending

        if divided:
            solver._balance = fails_at_first
        solution = sim.statics()
        assert solution.converged
        ends.append((sim.tip_pose()[:3, 3], *rubbing(sim)))
        parts.append(solution.parts)
    assert parts[0] == 1 and parts[1] > 1
    for one, other in zip(*ends):
        assert_allclose(other, one, rtol=1e-7, atol=1e-9)


def test_motion_with_friction_converges_with_the_step():
    """At first order at least, while a tendon slides, turns round and slides back."""
    ends = []
    for steps in (20, 40, 80, 160, 1280):
        sim = arm(0.3, presliding=1e-4)
        sim.command(tendon_1=1.0)
        assert sim.statics().converged
        for i in range(1, steps + 1):
            sim.command(tendon_1=1.0 + 3.0 * np.sin(2.0 * np.pi * 0.8 * i / steps) ** 2)
            assert sim.step(0.4 / steps).converged
        ends.append(sim.tip_pose()[:3, 3])
    errors = [np.linalg.norm(end - ends[-1]) for end in ends[:-1]]
    assert np.log2(np.divide(errors[:-1], errors[1:])).min() > 0.9, errors
    assert errors[-1] < 1e-3


def test_friction_is_part_of_the_state():
    sim = arm(0.2)
    go(sim, 4.0)
    saved = sim.snapshot()
    first = go(sim, 3.0)
    go(sim, 1.0)
    sim.go_to(saved)
    assert_allclose(go(sim, 3.0), first, atol=1e-9)
    assert sim.statics(from_rest=True).converged
    fresh = arm(0.2)
    assert_allclose(sim.tip_pose()[:3, 3], go(fresh, 3.0), atol=1e-7)


def test_two_tendons_rub_each_for_itself():
    robot = load(CONFIG / 'tendon_arm.yaml')
    tendons = {name: replace(robot.tendons[name], coulomb_friction=0.2)
               for name in ('tendon_1', 'tendon_2')}
    sim = Simulator(replace(robot, tendons=tendons, gravity=(0.0, 0.0, 0.0)), MODES)
    sim.command(tendon_1=3.0, tendon_2=3.0)
    assert sim.statics().converged
    one, two = (sim.tension(name) for name in tendons)
    assert_allclose(one, two, rtol=1e-4)  # they stand at right angles
    assert one[-1] < 0.95 * 3.0
    sim.command(tendon_2=0.0)
    assert sim.statics().converged
    assert_allclose(sim.tension('tendon_2'), 0.0, atol=1e-9)


def test_presliding_is_a_length():
    tendon = load(CONFIG / 'tendon_arm.yaml').tendons['tendon_1']
    with pytest.raises(InvalidModel, match='presliding.*0'):
        replace(tendon, presliding=0.0)


# --- The paper's experiment ----------------------------------------------------------------------

def test_the_experiment_loses_more_where_it_is_bent():
    """
    Till 2019, section 5.2.1 and figure 15: with their friction the arm rings shorter when bent.

    After each ramp of 0.31 s, by how much the swing of the tip falls from its first second to
    its last, up (bent) and down (level); and that it is the friction which makes the difference.
    """
    def falls(beta):
        robot = load(CONFIG / 'tendon_experiment.yaml')
        tendon = replace(robot.tendons['tendon'], damping_friction=beta)
        sim = Simulator(replace(robot, tendons={'tendon': tendon}), StrainModes(0, 0, 1, 5, 5, 2))
        start = 0.00312
        sim.command(tendon=start)
        assert sim.statics().converged
        path = []
        for i in range(1, 801):
            t = 0.01 * i
            up, down = np.clip(t / 0.31, 0.0, 1.0), np.clip((t - 4.0) / 0.31, 0.0, 1.0)
            sim.command(tendon=start + 0.01619 * float(up - down))
            assert sim.step(0.01).converged
            path.append(sim.tip_pose()[0, 3])
        first_up, last_up, first_down, last_down = (
            np.ptp(path[a:a + 100]) for a in (35, 300, 435, 700))
        return last_up / first_up, last_down / first_down

    (bent, level), (bent_without, level_without) = falls(5.0), falls(0.0)
    assert bent < 0.8 * level, (bent, level)
    assert bent / level < 0.8 * bent_without / level_without, (bent_without, level_without)
