"""The Lagrangian form of assemblies, against their equations, skewness, energy and motion."""

from assemblies import random_solver, stir
from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_moving_rods import SOFT

from cosserat_ros.analysis.inverse_dynamics import inverse_dynamics
from cosserat_ros.analysis.lagrangian import efforts_for, lagrangian, lagrangian_of
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load
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
    rng, solver = anything(number, loops=number % 2)
    form, a = lagrangian_of(solver), rng.normal(size=solver.Z) * solver.moves
    with solver.let_go():
        r = solver.residual(solver.z, solver.z_t, a)[solver.moves]
    left = form.mass @ a[solver.moves] + form.passive
    right = (form.actuation @ form.efforts + form.closure @ form.reactions + form.others)
    assert_allclose(left - right, r, rtol=0, atol=1e-10 * np.abs(left).max())


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


def test_the_actuation_of_a_robot_works_against_the_rates_of_its_tendons():
    sim = Simulator(load(ROOT / 'config' / 'tendon_arm.yaml'))
    sim.command(**{name: 1.0 + i for i, name in enumerate(sim.robot.actuators)})
    assert sim.statics().converged
    solver, rng = sim.solver, np.random.default_rng(0)
    assert_allclose(lagrangian(sim).accelerations(), 0.0, atol=1e-3)  # in equilibrium
    solver.set_state(solver.z, np.where(solver.moves, rng.normal(size=solver.Z), 0.0))
    form = lagrangian(sim)
    assert form.efforts.min() > 0.9
    assert_allclose(form.actuation.T @ form.v, -solver.length_rates().ravel(), rtol=1e-9)


def four_tendons():
    """Return a rod with a tendon on each side, in motion."""
    d = discretise(SOFT, StrainModes(0, 0, 0, 3, 3, 1))
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
