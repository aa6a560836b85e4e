"""The flapping vehicle of Porez 2014: engine against the paper's method, hover, wings as rods."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.inverse_dynamics import inverse_dynamics
from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.papers.flapping_wing import (
    air_force,
    air_power,
    assembly_of,
    damping_power,
    flap,
    flap_rods,
    fly_on,
    GRAVITY,
    hover,
    PaperVehicle,
    rod_assembly_of,
    SIDES,
    Vehicle,
    wings_of,
)
from cosserat_ros.papers.hybrid_multibody import State

FLAT_PLATE = Vehicle(added_mass=1.0)


def test_its_mass_is_that_of_table_1():
    assert_allclose(FLAT_PLATE.thorax_mass, 6.78e-3, rtol=1e-3)
    assert_allclose(FLAT_PLATE.mass, 7.26e-3, rtol=3e-3)


@pytest.mark.parametrize('seed', range(3))
def test_accelerations_and_torques_are_those_of_the_papers_method(seed):
    """With all of the air's forces, at any state; printed added mass."""
    rng, vehicle = np.random.default_rng(seed), Vehicle()
    paper, solver = PaperVehicle(vehicle), assembly_of(vehicle).solver()
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = exp_so3(rng.normal(size=3)), rng.normal(size=3)
    count = len(paper.bodies)
    state = State(base, rng.normal(size=6), 0.5 * rng.normal(size=count),
                  50.0 * rng.normal(size=count))
    theirs = paper.at(0.003, state)

    wings, body = wings_of(vehicle, solver), solver.places.coordinates['thorax']
    order = np.concatenate([np.concatenate([[wings.stroke[k]], np.ravel(np.column_stack([
        wings.bend[k], np.append(wings.twist[k], -1)]))[:-1]]) for k in range(2)])
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


def test_a_hover_repeats_itself_and_carries_its_weight():
    """Means over a stroke: force of the air and weight, work of motors, air and dampers."""
    dt = 2e-4
    found = hover(FLAT_PLATE, dt)
    assert found.gap < 1e-6
    vehicle, solver = found.vehicle, fly_on(found)
    rows, force, power = [], [], []
    for _ in range(round(vehicle.period / dt)):
        rows.append(flap(vehicle, solver, 1, dt)[0])
        force.append(air_force(solver))
        power.append(air_power(solver) + damping_power(vehicle, solver))
    weight = -vehicle.mass * GRAVITY
    assert_allclose(np.mean(force, axis=0), weight, rtol=0, atol=1e-3 * weight[2])
    motors = 2.0 * np.mean([row[4] for row in rows])
    assert motors > 0.0
    assert_allclose(motors + np.mean(power), 0.0, rtol=0, atol=1e-3 * motors)
    thorax = np.array(rows)[:, 6:]
    assert_allclose(thorax[-1, :3], 0.0, rtol=0, atol=2e-5)
    assert 2e-3 < np.ptp(thorax[:, 1]) / 2.0 < 4e-3  # 2 mm is printed


def blade_tips(blades, steps, dt):
    """Return the path of a wing's tip, 1 cm below its leading edge, of so many blades."""
    part = blades / 4.0
    vehicle = replace(
        FLAT_PLATE, blades=blades, damping=0.0,
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


def test_many_blades_flap_as_a_cosserat_rod():
    """At first order in the length of a blade."""
    dt, steps = 2e-4, 200
    vehicle = replace(FLAT_PLATE, damping=0.0)
    solver = rod_assembly_of(vehicle).solver()
    assert solver.start()
    rod = flap_rods(vehicle, solver, steps, dt)[:, 3:]
    errors = [np.sqrt(np.mean(np.sum((blade_tips(M, steps, dt) - rod) ** 2, axis=1)))
              for M in (8, 16, 32)]
    print(f'{np.array(errors) * 1e3} mm')
    assert errors[2] < 2e-3
    for coarse, fine in zip(errors[:-1], errors[1:]):
        assert 0.4 < fine / coarse < 0.6
