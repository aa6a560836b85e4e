"""Dry friction of rods against bending: closed forms, memory, and that it makes no energy."""

from dataclasses import replace

from conftest import ROOT
from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.testing import assert_allclose
from test_friction import assert_energy_never_grows, tensions

from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Drag
from cosserat_ros.description.robot import load
from cosserat_ros.description.rod import Damping
from cosserat_ros.simulation.simulator import Simulator

LIMIT = 2e-3  # [N m]


def make_sim(limit=LIMIT, presliding=0.05):
    """Return a light arm without gravity, whose rod has dry friction."""
    arm = load(ROOT / 'config' / 'tendon_arm.yaml')
    rod = arm.rods['backbone']
    segment = replace(rod.segments[0], damping=replace(
        rod.segments[0].damping, dry_bending=limit, presliding=presliding))
    return Simulator(replace(
        arm, gravity=(0.0, 0.0, 0.0), rods={'backbone': replace(rod, segments=(segment,))},
        modes=StrainModes(0, 0, 0, 2, 2, 1)))


def bend(sim, moment):
    """Go to the equilibrium of a moment about y at the tip [N m]; return the curvature [1/m]."""
    sim.set_wrench([0.0, 0.0, 0.0, 0.0, moment, 0.0])
    assert sim.statics().converged
    return sim.solver.state(0).xi[:, 4]


EI = load(ROOT / 'config' / 'tendon_arm.yaml').rods['backbone'].stiffness(0.0)[4]


def test_a_moment_must_overcome_it_both_ways():
    """Bent by EI u + M, and when let go, back only until EI u = M."""
    sim = make_sim()
    assert_allclose(bend(sim, 5.0 * LIMIT), 4.0 * LIMIT / EI, rtol=1e-4)
    assert_allclose(bend(sim, 0.0), LIMIT / EI, rtol=1e-4)
    assert_allclose(bend(sim, -5.0 * LIMIT), -4.0 * LIMIT / EI, rtol=1e-4)
    assert_allclose(bend(sim, 0.0), -LIMIT / EI, rtol=1e-4)


def test_below_its_limit_it_is_a_spring():
    sim, presliding = make_sim(), 0.05
    stiffness = EI + LIMIT / presliding
    assert_allclose(bend(sim, 0.5 * LIMIT), 0.5 * LIMIT / stiffness, rtol=1e-4)
    assert_allclose(bend(sim, 0.0), 0.0, atol=1e-6)


def test_it_does_not_care_for_the_direction():
    sim, both = make_sim(), make_sim()
    u = bend(sim, 5.0 * LIMIT)
    moment = 5.0 * LIMIT * np.array([np.cos(0.7), np.sin(0.7)])
    both.set_wrench([0.0, 0.0, 0.0, *moment, 0.0])
    assert both.statics().converged
    assert_allclose(np.linalg.norm(both.solver.state(0).xi[:, 3:5], axis=1), u, rtol=1e-4)


def test_a_cycle_takes_four_times_limit_and_range():
    """The work of a moment around a closed loop, of a rod as long as the arm."""
    sim = make_sim(presliding=1e-3)
    bend(sim, 5.0 * LIMIT)
    moments = LIMIT * np.concatenate([np.linspace(5, -5, 81), np.linspace(-5, 5, 81)[1:]])
    u = np.array([bend(sim, m)[0] for m in moments])
    work = np.sum(0.5 * (moments[1:] + moments[:-1]) * np.diff(u))
    assert_allclose(work, 4.0 * LIMIT * 4.0 * LIMIT / EI, rtol=0.01)


def test_what_it_remembers_is_saved_and_forgotten():
    sim = make_sim()
    bend(sim, 5.0 * LIMIT)
    saved = sim.snapshot()
    first = bend(sim, 0.0).copy()
    bend(sim, -5.0 * LIMIT)
    sim.go_to(saved)
    assert_allclose(bend(sim, 0.0), first, rtol=1e-6)
    assert sim.statics(from_rest=True).converged
    assert_allclose(sim.solver.state(0).xi[:, 4], 0.0, atol=1e-9)


def test_it_stops_a_vibration_that_nothing_else_damps():
    sim = make_sim(limit=5e-4)
    bend(sim, 10.0 * 5e-4)
    sim.set_wrench(np.zeros(6))
    energies = []
    for _ in range(120):
        assert sim.step(5e-3).converged
        energies.append(sum(sim.solver.energy()))
    assert max(energies[60:]) < 0.2 * energies[0]
    rest = np.abs(sim.solver.state(0).xi[:, 4]).max()
    assert rest < 1.2 * 5e-4 / EI


def test_a_rod_without_it_springs_back():
    sim = make_sim(limit=0.0)
    assert_allclose(bend(sim, 5.0 * LIMIT), 5.0 * LIMIT / EI, rtol=1e-4)
    assert_allclose(bend(sim, 0.0), 0.0, atol=1e-9)


def undamped(limit):
    """Return the arm with one tendon, and no damping but dry friction against bending."""
    robot = make_sim().robot
    rod = robot.rods['backbone']
    segment = replace(rod.segments[0], damping=Damping(
        **({'dry_bending': limit, 'presliding': 0.05} if limit else {})))
    return Simulator(replace(
        robot, rods={'backbone': replace(rod, segments=(segment,), drag=Drag())},
        tendons={'tendon_1': replace(robot.tendons['tendon_1'], limits=None)}))


def held_by_bristles(sim):
    """Return the energy of bending that is not plastic, at all nodes [J]."""
    d = sim.model.rods[0]
    stiffness = sim.robot.rods['backbone'].dry_bending(d.s)[:, 1]
    bent = (sim.solver.state(0).xi - d.rest_strain)[:, 3:5]
    plastic = sim.solver.tree.laws.memory[:2 * d.s.size].reshape(-1, 2)
    return 0.5 * float((d.w * stiffness) @ np.sum((bent - plastic) ** 2, axis=1))


@settings(deadline=None, max_examples=20)
@given(walk=st.lists(tensions, max_size=3), last=st.floats(0.1, 4.0), dt=st.floats(5e-4, 5e-3))
def test_energy_never_grows_by_plastic_bending(walk, last, dt):
    assert_energy_never_grows(undamped(LIMIT), undamped(0.0), walk, last, dt, held_by_bristles)
