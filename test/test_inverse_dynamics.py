"""Rods with prescribed strains, and assemblies with prescribed motion: what it takes."""

from assemblies import random_solver, stir
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rigid_trees import random_tree, TREES
from test_assembly import four_bar, hinge, link
from test_rigid_trees import accelerations, REFERENCE, solver_of

from cosserat_ros.analysis.inverse_dynamics import inverse_dynamics, PrescribedRod
from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.assembly.state import at_rest
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Damping, Material, Rod, Segment
from cosserat_ros.description.section import Elliptic
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.rod.kinematics import kinematics

FISH = Rod([Segment(  # 1 m, as heavy as water, soft; Boyer 2023, section VII-D
    1.0, Elliptic(0.1, 0.05), Material(1e5, 1000.0, poisson_ratio=0.5),
    damping=Damping(relaxation_time=0.05))])
D = discretise(FISH, StrainModes(0, 0, 0, 0, 6, 0))
SPACE = discretise(FISH, StrainModes(0, 0, 0, 3, 3, 2))


def ramp(t, duration=1.0):
    """Return a smooth start from 0 to 1, and its two derivatives."""
    if t >= duration:
        return 1.0, 0.0, 0.0
    x = t / duration
    return (x ** 3 * (10.0 - 15.0 * x + 6.0 * x ** 2),
            30.0 * x ** 2 * (1.0 - x) ** 2 / duration,
            60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / duration ** 2)


def wave(sines, cosines, rate=2.0 * np.pi):
    """Return a gait: ``sines sin(rate t) + cosines cos(rate t)``, after a smooth start."""
    def gait(t):
        a, a_t, a_tt = ramp(t)
        s, c = np.sin(rate * t), np.cos(rate * t)
        f, f_t = sines * s + cosines * c, rate * (sines * c - cosines * s)
        return a * f, a_t * f + a * f_t, a_tt * f + 2.0 * a_t * f_t - a * rate ** 2 * f
    return gait


def running_wave(curvature=3.0):
    """Return a wave of curvature that runs along the fish once a second: base (head) to tip."""
    sine, cosine = (np.linalg.lstsq(D.Phi, curvature * f(2.0 * np.pi * D.s), rcond=None)[0]
                    for f in (np.sin, np.cos))
    return wave(-cosine, sine)  # sin(2 pi (s - t))


def in_water(d):
    """Return loads of drag: far more across the fish than along it."""
    return RodSolver(d).no_loads()._replace(
        square_drag=np.array([200.0, 200.0, 2.0]), linear_drag=np.array([5.0, 5.0, 0.5]))


SWIM = running_wave()


def follow(d, gait, loads, free, dt, duration):
    """Return inverse dynamics, and how far forward dynamics with its stress ends from it."""
    rod = PrescribedRod(d, gait, loads, free)
    instants = rod.travel(duration, dt)
    solver = RodSolver(d, free=free, scheme=SCHEMES['generalised_alpha'])
    worst_q, worst_p = 0.0, 0.0
    for instant in instants[1:]:
        solver.load(loads._replace(stress=loads.stress + instant.stress))
        assert solver.step(instant.time - solver.time).converged
        worst_q = max(worst_q, np.abs(solver.q[0] - gait(instant.time)[0]).max())
        worst_p = max(worst_p, np.abs(solver.base().p - instant.base.p).max())
    return instants, worst_q, worst_p


def test_clamped_the_stress_makes_the_motion():
    """Forward dynamics with the stress that was found follows the prescribed strains."""
    gait = wave(*np.array([[0.3, 0.5, 0.2, 0.4, 0.3, 0.2, 0.3, 0.1],
                           [0.1, 0.4, 0.1, 0.3, 0.2, 0.1, 0.1, 0.2]]), rate=5.0)
    loads = in_water(SPACE)._replace(gravity=np.array([0.0, 0.0, -9.81]))
    # Held by the inverse dynamics of t = 0, it starts in equilibrium: straight, under its weight.
    (_, coarse, _), (_, fine, _) = (
        follow(SPACE, gait, loads, False, dt, 0.8) for dt in (0.02, 0.01))
    assert np.log2(coarse / fine) > 1.6 and fine < 0.01 * 0.5, (coarse, fine)


def test_without_loads_the_momenta_stay():
    """A rod in empty space turns itself, but its momenta are what they were."""
    gait = wave(*np.array([[0.8, 0.5, 0.2, 0.9, 0.3, 0.2, 0.5, 0.2],
                           [0.1, 0.6, 0.3, 0.2, 0.8, 0.1, 0.3, 0.2]]))
    rod = PrescribedRod(SPACE, gait)
    base = at_rest()._replace(Om=np.array([0.1, -0.2, 0.3]), p_t=np.array([0.2, 0.0, 0.1]))
    solver = RodSolver(SPACE, free=True)

    def gap(dt):
        values = []
        for instant in rod.travel(1.5, dt, base):
            solver.put(instant.base, *gait(instant.time))
            values.append(solver.momentum())
        return np.abs(values - values[0]).max() / np.abs(values[0]).max()

    coarse, fine = gap(0.05), gap(0.025)
    assert np.log2(coarse / fine) > 3.5, (coarse, fine)
    assert fine < 1e-3


def test_a_swimmer_swims_and_forward_dynamics_follows_it():
    loads = in_water(D)
    (instants, coarse_q, coarse_p), (_, fine_q, fine_p) = (
        follow(D, SWIM, loads, True, dt, 2.0) for dt in (0.02, 0.01))
    far = instants[-1].base.p - instants[0].base.p
    assert np.abs(far[2]) > 0.05                  # along its body
    assert_allclose(far[1], 0.0, atol=1e-9)       # and in its plane
    assert np.log2(coarse_p / fine_p) > 1.6 and fine_p < 0.02 * np.abs(far[2]), (coarse_p, fine_p)
    assert np.log2(coarse_q / fine_q) > 1.6, (coarse_q, fine_q)


def test_a_wave_that_runs_back_drives_forward_and_the_other_way_round():
    loads = in_water(D)

    def way(gait):
        path = [instant.base.p[2] for instant in PrescribedRod(D, gait, loads).travel(4.0, 0.02)]
        return path[-1] - path[100]

    def backward(t):  # the same shapes in reversed order
        q, q_t, q_tt = SWIM(10.0 - t)
        return q, -q_t, q_tt

    assert way(SWIM) < -0.2 and way(backward) > 0.2  # the head, s = 0, goes first


def test_the_work_of_the_actuation_is_what_the_fish_gains_and_loses():
    """Power of the actuation = rate of energy + what damping and drag take; a stress resists."""
    loads, gait = in_water(D), SWIM
    rod = PrescribedRod(D, gait, loads)
    instants = rod.travel(2.0, 0.01)
    energy, power = [], []
    for instant in instants:
        q, q_t, q_tt = gait(instant.time)
        x = kinematics(D, instant.base, q, q_t, q_tt)
        speed = np.einsum('kij,ki->kj', x.Rc[D.station], x.p_t)
        drag = -(loads.square_drag * np.abs(speed) + loads.linear_drag) * speed
        kinetic = D.w @ (D.inertia[:, :3] * x.p_t ** 2).sum(axis=1) + D.w @ (
            D.inertia[:, 3:] * np.einsum(
                'kij,ki->kj', x.Rc[D.station], x.Om[D.station]) ** 2).sum(axis=1)
        energy.append(0.5 * kinetic + 0.5 * q @ D.elastic @ q)
        power.append(D.w @ (drag * speed).sum(axis=1) - (instant.force + D.viscous @ q_t) @ q_t)
    gained = np.concatenate([[0.0], np.cumsum(0.005 * (np.array(power[1:]) + power[:-1]))])
    assert_allclose(np.array(energy) - energy[0], gained, atol=2e-3 * np.ptp(energy))


def test_a_gait_of_the_wrong_size_is_refused():
    rod = PrescribedRod(D, lambda t: (np.zeros(3),) * 3)
    with pytest.raises(InvalidModel, match='gait.q.*6 finite numbers'):
        rod.at(0.0, at_rest())


# --- Assemblies ----------------------------------------------------------------------------------

@pytest.mark.parametrize('number', range(0, TREES, 4))
def test_any_mix_of_told_and_found_is_the_motion_that_pinocchio_finds(number):
    """Accelerations of some coordinates and efforts of the others: all of both come out."""
    sizes = [len(random_tree(i)[1]) for i in range(number + 1)]
    expected = np.load(REFERENCE)['accelerations'][sum(sizes[:-1]):sum(sizes)]
    solver, names = solver_of(number)
    assert solver.start()
    a, efforts = solver.z_tt.copy(), solver.tree.coordinates.push.copy()
    solver.tree.coordinates.push[:] = 0.0
    told = np.random.default_rng(number).random(solver.Z) < 0.5
    for mix in (told, ~told, np.ones(solver.Z, dtype=bool), np.zeros(solver.Z, dtype=bool)):
        found = inverse_dynamics(
            solver, mix, np.where(mix, a, np.nan), np.where(mix, np.nan, efforts))
        size = np.abs(efforts).max(initial=1.0) + np.abs(a).max(initial=0.0)
        assert_allclose(found.efforts, efforts, rtol=0, atol=1e-9 * size)
        solver.set_state(solver.z, solver.z_t, found.accelerations)
        error = np.abs(accelerations(solver, names) - expected).max()
        assert error <= 1e-9 * np.abs(expected).max()


def test_a_double_pendulum_takes_the_torques_of_the_book():
    first, relative, m, length, c, J, g = 0.5, -0.3, 1.0, 0.6, 0.3, 0.02, 9.81
    solver = Assembly(
        {'one': link(), 'two': link()}, {}, {
            'shoulder': Joint(hinge(position=first, driven=True), Attachment(), Attachment('one')),
            'elbow': Joint(hinge(position=relative), Attachment('one', pose((0.0, 0.0, -length))),
                           Attachment('two'))}, (0.0, 0.0, -g)).solver()
    w, a = np.array([1.5, -2.0]), np.array([3.0, -4.0])
    solver.set_state(solver.z, w)
    found = inverse_dynamics(solver, True, a)
    second = first + relative
    couple, whirl = (m * length * c * f(first - second) for f in (np.cos, np.sin))
    M = np.array([[J + m * c ** 2 + m * length ** 2, couple], [couple, J + m * c ** 2]])
    absolute = M @ [a[0], a.sum()] + whirl * np.array([w.sum() ** 2, -w[0] ** 2]) + g * m * (
        np.array([(c + length) * np.sin(first), c * np.sin(second)]))
    assert_allclose(found.efforts, [absolute.sum(), absolute[1]], rtol=1e-12)
    assert_allclose(found.accelerations, a, rtol=0, atol=0)


def energy_at(solver, t):
    """Return the energy of a solver's present motion, t [s] further on."""
    before = solver.saved()
    solver.set_state(solver.z + t * solver.z_t + 0.5 * t ** 2 * solver.z_tt,
                     solver.z_t + t * solver.z_tt)
    energy = solver.energy()
    solver.restore(before)
    return energy.kinetic + energy.potential


def test_the_crank_of_a_four_bar_takes_the_power_that_the_bars_gain():
    solver = four_bar(gravity=(0.0, 0.0, -9.81)).solver()
    crank = solver.places.coordinates['A'][0]
    told = np.arange(solver.Z) == crank
    z_t = np.where(told, 2.0, 0.0)
    assert solver.close()
    solver.tree.coordinates.driven[crank] = True
    solver.set_state(solver.z, z_t)
    assert solver.start()
    found = inverse_dynamics(solver, told, np.full(solver.Z, 3.0))
    solver.set_state(np.where(solver.moves, solver.z, found.reactions), solver.z_t,
                     found.accelerations)
    power = (energy_at(solver, 1e-4) - energy_at(solver, -1e-4)) / 2e-4
    assert_allclose(found.efforts[crank] * solver.z_t[crank], power, rtol=1e-6)
    assert abs(power) > 1.0
    with pytest.raises(InvalidModel, match='accelerations.*motion that the assembly can make'):
        inverse_dynamics(solver, solver.moves, np.ones(solver.Z))


@pytest.mark.parametrize('number', range(20))
def test_random_assemblies_are_in_balance_with_what_was_found(number):
    """With rods, loops, springs, driven bodies: the equations hold, by a sweep of their own."""
    rng = np.random.default_rng(number)
    solver = random_solver(rng, bodies=4, rods=2, loops=number % 2)
    stir(rng, solver)
    solver.close()
    solver.set_state(solver.z, np.where(solver.moves, rng.normal(size=solver.Z), 0.0))
    if not solver.start():
        pytest.skip('some coordinate has no inertia')
    loops = np.flatnonzero(solver.closing)
    told = solver.moves & (rng.random(solver.Z) < 0.5) & (not loops.size)
    a, efforts = rng.normal(size=(2, solver.Z))
    found = inverse_dynamics(solver, told, a, efforts)
    solver.tree.coordinates.driven[:] = False
    z = np.where(solver.moves, solver.z, solver.z * ~solver.closing + found.reactions)
    r = solver.residual(z, solver.z_t, found.accelerations)[solver.moves]
    size = np.abs(found.efforts).max() + np.abs(found.reactions).max(initial=0.0)
    assert_allclose(r, found.efforts[solver.moves], rtol=0, atol=1e-8 * size)
    assert_allclose(found.accelerations[told], a[told], rtol=0, atol=0)
