"""Rods with prescribed strains: what their bases do, and what it takes."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.inverse_dynamics import PrescribedRod
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
