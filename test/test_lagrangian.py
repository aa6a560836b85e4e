"""The Lagrangian form of assemblies, against their equations, skewness, energy and motion."""

from contextlib import suppress
from dataclasses import replace

from assemblies import random_assembly, random_solver, soft_rod, stir
from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_moving_rods import SOFT

from cosserat_ros.analysis.inverse_dynamics import inverse_dynamics
from cosserat_ros.analysis.lagrangian import efforts_for, lagrangian, lagrangian_of
from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, RigidBody
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.assembly.layout import NO_LAWS
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load
from cosserat_ros.description.rod import Damping, Rod
from cosserat_ros.laws.actuators import given_efforts, Paths
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.rod.kinematics import Base
from cosserat_ros.simulation.simulator import Simulator

SEEDS = range(24)


def anything(number, loops=0, rods=2):
    """Return an assembly in some motion."""
    rng = np.random.default_rng(number)
    solver = random_solver(rng, bodies=4, rods=rods, loops=loops)
    z, z_t, _ = stir(rng, solver)
    z[solver.free_turns] = 0.0
    solver.set_state(z, z_t)
    return rng, solver


def moved(solver, dt):
    """Make the instant dt later the present one, as first order in dt has it."""
    z = solver.z + dt * solver.z_t
    solver.set_state(z, solver.z_t)
    return solver


def inertial(solver, z, v, a):
    """Return what inertia does: the part, without efforts, that is even in the rates."""
    still, z = np.zeros(solver.Z), np.where(solver.moves, z, 0.0)
    with solver.let_go():
        both = solver.residual(z, v, a) + solver.residual(z, -v, a)
        return (0.5 * both - solver.residual(z, still, still))[solver.moves]


@pytest.mark.parametrize('number', SEEDS)
def test_all_terms_together_are_the_equations(number):
    """`others` is what is left without accelerations: with them, it is the mass that counts."""
    rng, solver = anything(number, loops=number % 2)
    form, a = lagrangian_of(solver), rng.normal(size=solver.Z) * solver.moves
    with solver.let_go():
        r = solver.residual(solver.z, solver.z_t, a)[solver.moves]
    left = form.mass @ a[solver.moves] + form.passive
    right = (form.actuation @ form.efforts + form.closure @ form.reactions + form.others)
    assert_allclose(left - right, r, rtol=0, atol=1e-10 * np.abs(left).max())


def unloaded(number, loops=0, still=False):
    """
    Return an assembly with weight, springs, dampers, actuators and loops only.

    Anywhere and in motion, or `still`, with its loops closed.
    """
    rng, solver = np.random.default_rng(number), None
    damped = Rod((replace(soft_rod().segments[0], damping=Damping(relaxation_time=0.05)),))
    while solver is None:
        any_of_it = random_assembly(rng, bodies=4, rods=2, loops=loops)
        parts = {name: replace(part, rod=damped, laws=NO_LAWS, dry_bending=None)
                 for name, part in any_of_it.rods.items()}
        with suppress(InvalidModel):  # a loop that cannot be closed
            solver = Assembly(
                any_of_it.bodies, parts, any_of_it.joints, (0.3, -0.2, -9.81)).solver()
    solver.tree.coordinates.push[:] = 0.0
    z, z_t = 0.5 * rng.normal(size=(2, solver.Z))
    z[solver.free_turns] = 0.0
    if still:
        solver.tree.coordinates.stiffness[solver.free_turns] = 0.0  # see the ball joint's test
        for size in (0.0, 0.1, 0.3, 1.0, 1.0, 1.0):  # some are assembled far from closed
            solver.set_state(solver.z + size * rng.normal(size=solver.Z) * solver.moves)
            if solver.close():
                break
        z, z_t = np.where(solver.moves, solver.z, z), 0.0 * z_t
    solver.set_state(z, np.where(solver.moves, z_t, 0.0))
    return solver


@pytest.mark.parametrize('number', SEEDS)
def test_without_loads_nothing_is_left_to_others(number):
    """Each term is as it should be, for any rates, efforts and reactions."""
    solver = unloaded(number, loops=number % 3)
    form = lagrangian_of(solver)
    terms = (form.coriolis @ form.v, form.gravity, form.stiffness @ (form.y - form.rest),
             form.damping @ form.v, form.actuation @ form.efforts, form.closure @ form.reactions)
    assert_allclose(form.others, 0.0, atol=1e-9 * max(np.abs(term).max() for term in terms))


def test_each_term_is_there_without_loads():
    """In one at least of the assemblies of the test above."""
    seen = np.zeros(4, dtype=bool)
    for number in SEEDS[:6]:
        form = lagrangian_of(unloaded(number, loops=number % 3))
        seen |= [form.damping.any(), form.stiffness.any(), form.actuation.any(),
                 form.closure.any()]
    assert seen.all()


def test_the_springs_of_a_ball_joint_act_on_its_turn():
    """Counted anew at each step, the coordinate is 0; its turn is not."""
    kind = JointKind('spherical', coordinates=[Coordinate(stiffness=2.0)] * 3)
    solver = Assembly({'body': RigidBody(1.0, np.eye(3))}, {}, {
        'ball': Joint(kind, Attachment(), Attachment('body'))}).solver()
    turn = np.array([0.4, -0.7, 0.5])
    solver.tree.joints.reference[:] = exp_so3(turn)
    form = lagrangian_of(solver)
    assert_allclose(form.y, turn, rtol=0, atol=1e-14)
    assert_allclose(0.5 * form.y @ form.stiffness @ form.y, solver.energy().springs, rtol=1e-12)
    assert_allclose(form.others, 0.0, atol=1e-12)


@pytest.mark.parametrize('number', [n for n in SEEDS if n % 3])
def test_reactions_work_on_the_rates_of_gaps_only(number):
    """``closure^T v`` is the rate of gaps, of any v: as of the velocities of the frames joined."""
    solver = unloaded(number, loops=number % 3)
    form, gaps = lagrangian_of(solver), np.zeros(solver.Z)
    solver.residual()
    end, closures = solver.work.end, solver.tree.closures
    for a, b, count, first in zip(closures.a, closures.b, closures.rows, closures.first):
        gaps[first:first + count] = np.concatenate(
            [end.p_t[a] - end.p_t[b], end.Om[a] - end.Om[b]])[:count]
    gaps = gaps[solver.closing]
    assert_allclose(np.abs(form.closure.T @ form.v), np.abs(gaps), rtol=0,
                    atol=1e-9 * np.abs(gaps).max(initial=1.0))


@pytest.mark.parametrize('number', [n for n in SEEDS if n % 3])
def test_reactions_of_the_engine_balance_the_equations_of_loops(number):
    """At rest: accelerations and reactions that the engine finds keep loops closed."""
    solver = unloaded(number, loops=number % 3, still=True)
    assert solver.gaps().max(initial=0.0) < 1e-8
    form, found = lagrangian_of(solver), inverse_dynamics(solver, False, 0.0)
    a, reactions = found.accelerations[solver.moves], found.reactions[solver.closing]
    left = form.mass @ a + form.passive
    right = form.actuation @ form.efforts + form.closure @ reactions
    size = np.abs(form.closure) @ np.abs(reactions)
    assert_allclose(left, right, rtol=0, atol=1e-8 * max(size.max(), np.abs(left).max()))
    assert_allclose(form.closure.T @ a, 0.0, atol=1e-7 * np.abs(a).max())


@pytest.mark.parametrize('number', SEEDS)
def test_mass_and_coriolis_are_what_inertia_does(number):
    """Quadratic in the rates: also at others than those that the matrix was made at."""
    rng, solver = anything(number)
    form, a = lagrangian_of(solver), rng.normal(size=solver.Z) * solver.moves
    if solver.tree.roots.Om.any() or solver.tree.roots.p_t.any():
        solver.tree.roots.Om[:], solver.tree.roots.p_t[:] = 0.0, 0.0
    for scale in (1.0, 7.0):
        expected = inertial(solver, solver.z, scale * solver.z_t, a)
        found = form.mass @ a[solver.moves] + scale ** 2 * form.coriolis @ form.v
        assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert_allclose(form.mass, form.mass.T, rtol=0, atol=1e-12 * np.abs(form.mass).max())
    scale = 1.0 / np.sqrt(np.maximum(np.diag(form.mass), 1e-300))
    assert np.linalg.eigvalsh(scale[:, None] * form.mass * scale).min() > -1e-12


@pytest.mark.parametrize('number', SEEDS)
def test_the_rate_of_mass_less_twice_coriolis_is_skew(number):
    """By sixth-order differences of the mass along the motion."""
    _, solver = anything(number)
    form, before = lagrangian_of(solver), solver.saved()
    rate = np.zeros(form.mass.shape)
    dt = 2e-3
    for k, weight in zip((1, 2, 3), (45.0, -9.0, 1.0)):
        for sign in (1, -1):
            rate += sign * weight * lagrangian_of(moved(solver, sign * k * dt)).mass / (60.0 * dt)
            solver.restore(before)
    N = rate - 2.0 * form.coriolis
    assert_allclose(N + N.T, 0.0, atol=1e-7 * max(np.abs(rate).max(), np.abs(N).max()))


def test_a_rod_without_loads_has_no_others_and_keeps_its_energy_but_for_damping():
    d = discretise(SOFT, StrainModes(0, 0, 0, 3, 3, 2))
    rng = np.random.default_rng(3)
    solver = RodSolver(d, free=True)
    start = Base(exp_so3(rng.normal(size=3)), rng.normal(size=3), rng.normal(size=3),
                 rng.normal(size=3), *np.zeros((2, 3)))
    solver.put(start, *rng.normal(size=(2, 8)), np.zeros(8))
    solver.load(solver.no_loads()._replace(gravity=np.array([1.0, -2.0, -9.0])))
    form = lagrangian_of(solver)
    assert_allclose(form.others, 0.0, atol=1e-12 * np.abs(form.passive).max())
    mass = np.sum(d.w * d.inertia[:, 0])
    assert_allclose(form.mass[:3, :3], mass * np.eye(3), atol=1e-12 * mass)
    assert_allclose(form.gravity[:3], mass * np.array([-1.0, 2.0, 9.0]), rtol=1e-12)
    energy = solver.energy()
    kinetic = 0.5 * form.v @ form.mass @ form.v
    assert_allclose(kinetic, energy.kinetic, rtol=1e-12)
    v_t = form.accelerations()
    expected = inverse_dynamics(solver, False, 0.0).accelerations[solver.moves]
    assert_allclose(v_t, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    power = form.v @ (form.mass @ v_t + form.coriolis @ form.v + form.gravity
                      + form.stiffness @ (form.y - form.rest))
    assert_allclose(power, -form.v @ form.damping @ form.v, rtol=1e-9)
    assert power < 0.0


@pytest.mark.parametrize('number', SEEDS)
def test_accelerations_of_trees_are_those_of_the_engine(number):
    _, solver = anything(number, rods=0)
    form = lagrangian_of(solver)
    expected = inverse_dynamics(solver, False, 0.0).accelerations[solver.moves]
    assert_allclose(form.accelerations(), expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize('name, effort', [('tendon_arm', 1.0),
                                          ('fluidic_finger_three_chambers', 1e4)])
def test_the_actuation_of_a_robot_works_against_the_rates_of_its_actuators(name, effort):
    """Tensions [N] on the lengths of tendons, minus pressures [Pa] on volumes of chambers."""
    sim = Simulator(load(ROOT / 'config' / f'{name}.yaml'))
    sim.command(**{name: effort * (1.0 + i) for i, name in enumerate(sim.robot.actuators)})
    assert sim.statics().converged
    solver, rng = sim.solver, np.random.default_rng(0)
    form = lagrangian(sim)
    assert_allclose(form.accelerations(), 0.0, atol=1e-3)  # in equilibrium
    solver.set_state(solver.z, np.where(solver.moves, rng.normal(size=solver.Z), 0.0))
    form = lagrangian(sim)
    assert np.abs(form.efforts).min() > 0.9 * effort
    assert_allclose(form.actuation.T @ form.v, -solver.length_rates().ravel(), rtol=1e-9)


ANY, ARCS = StrainModes(0, 0, 0, 3, 3, 1), StrainModes(0, 0, 0, 1, 1, 0)


def four_tendons(modes=ANY):
    """Return a rod with a tendon on each side."""
    d = discretise(SOFT, modes)
    sides = 0.01 * np.array([[1.0, 0, 0], [0, 1.0, 0], [-1.0, 0, 0], [0, -1.0, 0]])
    r = np.repeat(sides[:, None], d.s.size, axis=1)
    solver = RodSolver(d, paths=Paths(r, 0.0 * r, np.tile(d.w, (4, 1)), np.zeros(4, dtype=bool)))
    solver.load(solver.no_loads()._replace(gravity=np.array([0.0, 0.0, -9.81])))
    return solver


def test_tensions_are_found_that_make_a_motion_and_no_larger_than_need_be():
    """Boyer 2023, remark 10: by those that made it, but for what opposite tendons waste."""
    solver, told = four_tendons(), np.array([3.0, 5.0, 1.0, 4.5])
    for i in range(1, 6):
        solver.drive(given_efforts(i / 5 * told))
        assert solver.step(2e-3).converged
    form = lagrangian_of(solver)
    found = efforts_for(form, form.accelerations())
    assert_allclose(found.left, 0.0, atol=1e-8 * np.abs(form.passive).max())
    assert_allclose(found.values, told - np.array([1.0, 4.5, 1.0, 4.5]), atol=1e-4)
    bounded = efforts_for(form, form.accelerations(), most=1.5)
    assert_allclose(bounded.values[0], 1.5, atol=1e-9)
    assert np.abs(bounded.left).max() > 1e-3


def told_bend(t):
    """Return curvatures about both axes that start at rest, their rates and accelerations."""
    w = 2.0 * np.pi * np.array([1.0, 2.0])
    size = np.array([0.6, -0.4])
    return np.array([size * (1.0 - np.cos(w * t)) ** 2,
                     size * 2.0 * w * (1.0 - np.cos(w * t)) * np.sin(w * t),
                     size * 2.0 * w ** 2 * (np.sin(w * t) ** 2
                                            + (1.0 - np.cos(w * t)) * np.cos(w * t))])


def followed(tensions, dt):
    """Return how far forward dynamics under tensions (k, 4) is from the told bend [1/m]."""
    solver, worst = four_tendons(ARCS), 0.0
    solver.drive(given_efforts(tensions[0]))
    assert solver.start()
    for i, now in enumerate(tensions[1:], start=1):
        solver.drive(given_efforts(now))
        assert solver.step(dt).converged
        worst = max(worst, np.abs(solver.q[0] - told_bend(i * dt)[0]).max())
    return worst


@pytest.mark.parametrize('least', [0.0, 0.5])
def test_forward_dynamics_with_the_tensions_found_follows_a_told_motion(least):
    """Remark 10 in time: told analytically, of a rod whose tendons can make any of its motions."""
    errors = []
    for dt in (4e-3, 2e-3):
        solver, tensions = four_tendons(ARCS), []
        for t in dt * np.arange(round(0.6 / dt) + 1):
            q, q_t, q_tt = told_bend(t)
            solver.put(solver.base(), q, q_t, np.zeros(2))
            form = lagrangian_of(solver)
            found = efforts_for(form, q_tt, least=least)
            assert_allclose(found.left, 0.0, atol=1e-8 * np.abs(form.passive).max() + 1e-12)
            tensions.append(found.values)
        tensions = np.array(tensions)
        assert tensions.min() >= least
        assert_allclose(np.minimum(tensions[:, :2], tensions[:, 2:]), least, atol=1e-6)
        assert tensions.max() > least + 1.0
        errors.append(followed(tensions, dt))
    print(errors)
    assert errors[1] < 5e-4 and np.log2(errors[0] / errors[1]) > 1.8, errors


def test_efforts_at_their_limits_are_the_best_there_are():
    """Kuhn and Tucker: what is left would only fall beyond the limits, and not between them."""
    rng, solver, seen = np.random.default_rng(4), four_tendons(), set()
    for _ in range(20):
        q, q_t = 0.3 * rng.normal(size=(2, 7))
        solver.put(solver.base(), q, q_t, np.zeros(7))
        form = lagrangian_of(solver)
        wanted = form.accelerations(rng.uniform(-1.0, 3.0, size=4))
        found = efforts_for(form, wanted, least=0.2, most=1.5)
        slope = -form.actuation.T @ (found.left / np.diag(form.stiffness))
        low, high = found.values < 0.2 + 1e-9, found.values > 1.5 - 1e-9
        small = 1e-6 * np.max(np.diag(form.actuation.T / np.diag(form.stiffness) @ form.actuation))
        assert (slope[low] > -small).all() and (slope[high] < small).all()
        assert_allclose(slope[~low & ~high], 0.0, atol=small)
        assert found.values.min() > 0.2 - 1e-12 and found.values.max() < 1.5 + 1e-12
        seen |= {('low', low.any()), ('high', high.any()), ('between', (~low & ~high).any())}
    assert {('low', True), ('high', True), ('between', True)} <= seen
