"""The flapping vehicle of Porez 2014: engine against the paper's method, hover, wings as rods."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.integrate import trapezoid

from cosserat_ros.analysis.inverse_dynamics import inverse_dynamics
from cosserat_ros.analysis.lagrangian import lagrangian_of
from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.papers.flapping_rods import flap_rods, rod_assembly_of, root_force
from cosserat_ros.papers.flapping_vehicle import GRAVITY, PaperVehicle, SIDES, Vehicle
from cosserat_ros.papers.flapping_wing import (
    air_force,
    air_power,
    assembly_of,
    damping_power,
    flap,
    fly_on,
    hover,
    wings_of,
)
from cosserat_ros.papers.hybrid_multibody import State

FLAT_PLATE = Vehicle(added_mass=1.0)


def test_its_mass_is_that_of_table_1():
    assert_allclose(FLAT_PLATE.thorax_mass, 6.78e-3, rtol=1e-3)
    assert_allclose(FLAT_PLATE.mass, 7.26e-3, rtol=3e-3)


@pytest.mark.parametrize('seed, place', [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.0), (4, 0.8)])
def test_accelerations_and_torques_are_those_of_the_papers_method(seed, place):
    """With all of the air's forces, at any state; printed added mass; X_j read in three ways."""
    rng, vehicle = np.random.default_rng(seed), Vehicle(section_place=place)
    paper, solver = PaperVehicle(vehicle), assembly_of(vehicle).solver()
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = exp_so3(rng.normal(size=3)), rng.normal(size=3)
    count = len(paper.bodies)
    state = State(base, rng.normal(size=6), 0.5 * rng.normal(size=count),
                  50.0 * rng.normal(size=count))
    theirs = paper.at(0.003, state)

    wings, body = wings_of(vehicle, solver), solver.places.coordinates['thorax']
    order = joints_in_the_papers_order(vehicle, solver)
    z, z_t, wanted = np.zeros((3, solver.Z))
    z[body[:3]], z[order], z_t[order] = base[:3, 3], state.r[1:], state.r_t[1:]
    link = solver.places.bodies['thorax'].link
    solver.tree.joints.reference[solver.tree.links.item[link]] = base[:3, :3]
    V, Om = state.base_twist.reshape(2, 3)
    z_t[body] = np.concatenate([base[:3, :3] @ V, base[:3, :3] @ Om])
    told = np.zeros(solver.Z, dtype=bool)
    told[wings.stroke] = True
    for k, side in enumerate(SIDES.values()):
        wanted[wings.stroke[k]] = side * vehicle.stroke(0.003)[2]
    solver.set_state(z, z_t)
    ours = inverse_dynamics(solver, told, wanted)

    size = np.abs(theirs.r_tt).max()
    assert_allclose(ours.accelerations[order], theirs.r_tt[1:], rtol=0, atol=1e-8 * size)
    acceleration = base[:3, :3] @ (theirs.rates[0, :3] + np.cross(Om, V))
    assert_allclose(ours.accelerations[body[:3]], acceleration, rtol=0, atol=1e-8 * size)
    strokes = [1, 2 * vehicle.blades + 1]
    assert_allclose(ours.efforts[wings.stroke], theirs.tau[strokes], rtol=1e-8)


def joints_in_the_papers_order(vehicle, solver):
    """Return the places in z of all joints as `PaperVehicle` counts them, thorax left out."""
    wings = wings_of(vehicle, solver)
    return np.concatenate([np.concatenate([[wings.stroke[k]], np.ravel(np.column_stack([
        wings.bend[k], np.append(wings.twist[k], -1)]))[:-1]]) for k in range(2)])


def test_a_flight_is_that_of_the_papers_method():
    """From the middle of a stroke, wings straight, thorax free; the engine is of second order."""
    begin, duration, errors = 0.25 * FLAT_PLATE.period, 2e-3, []
    theirs = PaperVehicle(FLAT_PLATE).fly(begin, duration)
    assert_allclose(theirs.time[-1], begin + duration, rtol=1e-12)
    for steps in (20, 40):
        solver = assembly_of(FLAT_PLATE).solver()
        order = joints_in_the_papers_order(FLAT_PLATE, solver)
        z, z_t = np.zeros((2, solver.Z))
        z[order], z_t[order] = theirs.r[0, 1:], theirs.r_t[0, 1:]
        solver.tree.coordinates.command[order] = z[order]
        solver.time = begin
        solver.set_state(z, z_t)
        assert solver.start()
        last = flap(FLAT_PLATE, solver, steps, duration / steps)[-1]
        errors.append([
            np.abs(solver.z[order] - theirs.r[-1, 1:]).max(),
            np.abs(solver.z_t[order] - theirs.r_t[-1, 1:]).max(),
            np.abs(last[6:9] - theirs.base[-1, :3, 3]).max(), abs(last[3] - theirs.tau[-1, 1])])
    print(np.array(errors))
    coarse, fine = np.array(errors)[:, :2]
    assert np.all((0.2 < fine / coarse) & (fine / coarse < 0.3))
    angle, rate, place, torque = errors[1]
    assert angle < 3e-6 and rate < 1e-2 and place < 1e-8 and torque < 1e-7


@pytest.mark.parametrize('place', [-0.1, 1.0, np.nan])
def test_a_blade_without_a_chord_is_refused(place):
    with pytest.raises(InvalidModel, match='section_place'):
        Vehicle(section_place=place)


def balances_of_a_hover(dt):
    """
    Return what is left of the balances of a stroke, and the motion of the thorax.

    Of the weight by the mean force of the air, and of the motors' work by the losses in air and
    dampers; both relative.
    """
    found = hover(FLAT_PLATE, dt)
    assert found.gap < 1e-6
    vehicle, solver = found.vehicle, fly_on(found)
    rows, force, power = [], [], []
    for _ in range(round(vehicle.period / dt)):
        rows.append(flap(vehicle, solver, 1, dt)[0])
        force.append(air_force(solver))
        power.append(air_power(solver) + damping_power(vehicle, solver))
    weight = -vehicle.mass * GRAVITY
    motors = 2.0 * np.mean([row[4] for row in rows])
    assert motors > 0.0
    return (np.abs(np.mean(force, axis=0) - weight).max() / weight[2],
            abs(motors + np.mean(power)) / motors), np.array(rows)[:, 6:]


@pytest.mark.timeout(300)  # half a minute on a quiet machine
def test_a_hover_repeats_itself_and_carries_its_weight():
    """What is left is of second order in the step: a quarter at half of it."""
    (coarse, _), (fine, thorax) = (balances_of_a_hover(dt) for dt in (4e-4, 2e-4))
    print(f'force and work, relative: {coarse} at 0.4 ms, {fine} at 0.2 ms')
    assert max(fine) < 1e-4
    for more, less in zip(coarse, fine):
        assert 0.2 < less / more < 0.3 or less < 1e-6
    assert_allclose(thorax[-1, :3], 0.0, rtol=0, atol=2e-5)


def blade_tips(blades, steps, dt):
    """Return the path of a wing's tip, 1 cm below its leading edge, of so many blades."""
    part = blades / 4.0
    vehicle = replace(
        FLAT_PLATE, blades=blades, damping=part * FLAT_PLATE.damping,
        **{name: tuple(part * np.array(getattr(FLAT_PLATE, name)))
           for name in ('twisting', 'bending')})
    solver = assembly_of(vehicle, JointKind()).solver()
    solver.tree.gravity[:] = 0.0
    solver.start()
    link, g = solver.places.bodies[f'right_{blades - 1}']
    tips = []
    for _ in range(steps):
        flap(vehicle, solver, 1, dt)
        end = solver.refresh().end
        tips.append(end.p[link] + end.R[link] @ (
            g[:3, :3] @ [vehicle.section, 0.0, -0.01] + g[:3, 3]))
    return np.array(tips)


def test_the_roots_of_rods_carry_the_air_and_show_all_curvature():
    assembly = rod_assembly_of(FLAT_PLATE)
    solver = assembly.solver()
    assert solver.start()
    twist, bending = flap_rods(FLAT_PLATE, solver, 60, 2e-4)[-1, 1:3]
    elements = [e for rod in assembly.rods.values() for e in rod.elements()]
    air = np.concatenate([e.w for e in elements]) @ solver.refresh().flowing.line[:, :3]
    assert_allclose(root_force(solver), air, rtol=0, atol=1e-6 * np.linalg.norm(air))
    right, total = solver.places.rods['right'], np.zeros(6)
    for link, e in zip(right, elements):
        q = solver.z[solver.tree.links.first[link]:][:e.component.size]
        np.add.at(total, e.component, e.w @ e.Phi * q)
    assert_allclose([bending, twist], total[4:], rtol=1e-12)


def air_power_along_rods(solver):
    """Return the power of the air and of what hangs from the rods: of their part of residuals."""
    nodes = solver.tree.flows.nodes
    kept = nodes.copy()
    with solver.let_go():
        whole = solver.residual()
        nodes[:] = 0.0
        dry = solver.residual()
        nodes[:] = kept
    return (dry - whole) @ solver.z_t


def energy_left_by_rods(dt, duration=24e-3):
    """Return the energy that does not balance over most of a stroke, and the motors' work [J]."""
    solver = rod_assembly_of(FLAT_PLATE).solver()
    assert solver.start()
    D, start = lagrangian_of(solver).damping, sum(solver.energy())
    power = [[0.0, air_power_along_rods(solver), 0.0]]
    for _ in range(round(duration / dt)):
        right = flap_rods(FLAT_PLATE, solver, 1, dt)[0]
        v = solver.z_t[solver.moves]
        power.append([2.0 * right[4], air_power_along_rods(solver), -v @ D @ v])
    work = trapezoid(power, dx=dt, axis=0)
    return sum(solver.energy()) - start - work.sum(), work[0]


def test_the_motors_of_rods_work_as_much_as_is_lost():
    """Work of motors, air and damping is the change of energy, at second order in the step."""
    (coarse, _), (fine, motors) = (energy_left_by_rods(dt) for dt in (4e-4, 2e-4))
    print(f"left: {coarse / motors:.2g}, {fine / motors:.2g} of the motors' work")
    assert abs(fine) < 1e-4 * motors and 0.2 < fine / coarse < 0.3


def test_many_blades_flap_as_a_cosserat_rod():
    """At first order in the length of a blade."""
    dt, steps = 2e-4, 200
    solver = rod_assembly_of(FLAT_PLATE).solver()
    assert solver.start()
    rod = flap_rods(FLAT_PLATE, solver, steps, dt)[:, 6:]
    errors = [np.sqrt(np.mean(np.sum((blade_tips(M, steps, dt) - rod) ** 2, axis=1)))
              for M in (8, 16, 32)]
    print(f'{np.array(errors) * 1e3} mm')
    assert errors[2] < 2e-3
    for coarse, fine in zip(errors[:-1], errors[1:]):
        assert 0.4 < fine / coarse < 0.6
