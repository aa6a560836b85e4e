"""Boyer 2023's swimmer: the engine against Riccati's equations and slender-body theory."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.integrate import cumulative_trapezoid

from cosserat_ros.analysis.inverse_dynamics import inverse_dynamics, PrescribedRod
from cosserat_ros.assembly.one_rod import RodSolver, Water
from cosserat_ros.assembly.state import at_rest
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.laws import flow
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.papers import riccati, swimmer
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.rod.kinematics import Base, kinematics

D = discretise(swimmer.fish(), StrainModes(0, 0, 0, 0, 16, 0, nodes=28, substeps=4))
COARSE = discretise(swimmer.fish(), swimmer.BENDING)


def some_base():
    rng = np.random.default_rng(2)
    return Base(exp_so3(rng.normal(size=3)), np.zeros(3), *rng.normal(size=(2, 3)),
                *np.zeros((2, 3)))


def body_twist(base):
    return np.concatenate([base.R.T @ base.p_t, base.R.T @ base.Om])


def test_in_water_the_head_accelerates_as_by_riccati():
    """Added mass and wake of the engine, by another method along the rod; in three dimensions."""
    base, t = some_base(), 0.7
    solver = RodSolver(D, free=True, water=swimmer.water())
    solver.put(base, *swimmer.gait(D)(t))
    told = np.zeros(solver.Z, dtype=bool)
    told[solver.q_places[0]] = True
    found = inverse_dynamics(solver, told, solver.z_tt).accelerations[:6]
    r = riccati.inverse_dynamics(swimmer.told_to_riccati(t, 320), base.R, base.p,
                                 body_twist(base))
    V, Om = r.eta[0, :3], r.eta[0, 3:]
    expected = np.concatenate([
        base.R @ (r.eta_t[0, :3] + np.cross(Om, V)), base.R @ r.eta_t[0, 3:]])
    assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def swum(dt, duration, scheme='generalised_alpha'):
    """Return prescribed motion, and how far forward dynamics with its stress is from it."""
    gait = swimmer.gait(COARSE)
    instants = PrescribedRod(COARSE, gait, water=swimmer.water()).travel(duration, dt)
    solver = swimmer.swimmer(scheme)
    worst = 0.0
    for instant in instants[1:]:
        solver.load(solver.no_loads()._replace(stress=instant.stress))
        assert solver.step(dt).converged
        worst = max(worst, np.abs(solver.base().p - instant.base.p).max())
    return instants, worst


def test_the_stress_that_was_found_makes_the_fish_swim_the_same_way():
    (instants, coarse), (_, fine) = (swum(dt, 1.5) for dt in (0.02, 0.01))
    assert instants[-1].base.p[2] < -0.08  # the head goes first
    assert_allclose([i.base.p[1] for i in instants], 0.0, atol=1e-9)
    assert np.log2(coarse / fine) > 1.7 and fine < 0.01 * abs(instants[-1].base.p[2])


def test_the_control_law_tracks_the_wave_as_printed():
    """
    At 10 ms and H_r = 50: the strain is that of the wave to 1 % of its largest amplitude.

    The head is 2.3 % faster than with prescribed strains; no difference is visible in the paper.
    """
    dt, gait = 10e-3, swimmer.gait(COARSE)
    instants = PrescribedRod(COARSE, gait, water=swimmer.water()).travel(4.0, dt)
    solver, told, found, error = swimmer.swimmer('newmark'), [], [], 0.0
    for instant in instants[1:]:
        swimmer.muscles(solver, instant.time)
        assert solver.step(dt).converged
        base = solver.base()
        told.append((instant.base.R.T @ instant.base.p_t)[2])
        found.append((base.R.T @ base.p_t)[2])
        error = max(error, np.abs(solver.q[0] - gait(instant.time)[0]).max())
    speeds = [np.mean(v[-100:]) for v in (told, found)]
    print(f'mean speed of the head, prescribed and driven: {speeds} m/s; strain {error:.2g} 1/m')
    assert error < 0.01 * sum(swimmer.AMPLITUDE)
    assert speeds[0] < -0.2
    assert_allclose(speeds[1], speeds[0], rtol=0.03)


def test_without_water_it_does_not_get_away():
    """The dry rod keeps its centre of mass."""
    gait = swimmer.gait(COARSE)
    for instant in PrescribedRod(COARSE, gait).travel(2.0, 0.02)[::20]:
        x = kinematics(COARSE, instant.base, *gait(instant.time))
        weights = COARSE.w / COARSE.w.sum()
        assert_allclose(weights @ x.p, [0.0, 0.0, 0.5], atol=1e-4)


def twist(R, v, w):
    return np.concatenate([R.T @ v, R.T @ w])


def kinetic_balance(dt, duration=1.2):
    """
    Return the error of the balance over time, and the work of the wake on the fish [J].

    Kinetic energy of fish and water is what muscles do beside what goes into the elastic body,
    and the wake, V_e T_f. Elastic energy, which is far larger, is on neither side.
    """
    gait, M_a = swimmer.gait(COARSE), swimmer.section_mass()
    kinetic, power, wake = [], [], []
    for instant in PrescribedRod(COARSE, gait, water=swimmer.water()).travel(duration, dt):
        q, q_t, q_tt = gait(instant.time)
        x = kinematics(COARSE, instant.base, q, q_t, q_tt)
        etas = [twist(x.Rc[e], v, x.Om[e]) for e, v in zip(COARSE.station, x.p_t)]
        kinetic.append(sum(0.5 * w * (eta @ M_a @ eta + eta @ (inertia * eta))
                           for w, eta, inertia in zip(COARSE.w, etas, COARSE.inertia)))
        tail = twist(x.Rc[-1], x.p_end_t[-1], x.Om[-1])
        wake.append(tail[2] * 0.5 * tail @ M_a @ tail)
        power.append(-instant.force @ q_t - q @ COARSE.elastic @ q_t)
    by_muscles, by_wake = (
        cumulative_trapezoid(values, dx=dt, initial=0.0) for values in (power, wake))
    return np.array(kinetic) - kinetic[0] - by_muscles - by_wake, by_wake[-1]


def test_energy_goes_into_fish_water_and_wake():
    """Of second order in the step, and far less than the part of the wake."""
    (coarse, _), (fine, wake) = (kinetic_balance(dt) for dt in (1e-2, 5e-3))
    errors = [np.abs(error).max() for error in (coarse, fine)]
    print(f'errors {errors} J, work of the wake {wake:.3g} J')
    assert wake < 0.0 and errors[1] < 1e-3 * abs(wake), (errors, wake)
    assert np.log2(errors[0] / errors[1]) > 1.8, errors


def test_without_added_mass_it_is_the_dry_rod():
    """Neither along the body nor in the wake: same motion of the base, same forces."""
    gait, none = swimmer.gait(COARSE), np.zeros((6, 6))
    light = Water(lambda s: flow.added_mass(none), [
        flow.Station(np.eye(4), flow.wake(none))])
    dry, wet = (PrescribedRod(COARSE, gait, water=water).travel(0.5, 0.02)
                for water in (None, light))
    size = max(np.abs(instant.force).max() for instant in dry)
    for a, b in zip(dry, wet, strict=True):
        for mine, other in zip(a.base, b.base):
            assert_allclose(mine, other, rtol=0, atol=1e-12)
        assert_allclose(a.force, b.force, rtol=0, atol=1e-12 * size)
    assert np.abs(dry[-1].base.p).max() > 1e-3


TOWED, SMALL = 0.8, 1e-2  # [m/s] towards -z; part of the wave
PERIOD = 5.0 + np.arange(32) / 32.0  # instants of one, after the ramp [s]


def reactive_thrust(tail, R):
    """Return Lighthill's 1/2 m (h_t^2 - U^2 h_s^2) of the tail's twist and attitude [N]."""
    h_t, slope = (R @ tail[:3])[0], R[0, 2]
    return 0.5 * swimmer.section_mass()[0, 0] * (h_t ** 2 - (TOWED * slope) ** 2)


def test_small_waves_have_the_thrust_of_elongated_body_theory():
    """Lighthill 1960: by the tail alone, on average; towed at a steady speed."""
    steps, thrust, theory = 40, [], []
    for t in PERIOD:
        told = swimmer.told_to_riccati(t, steps)
        scaled = [SMALL * x for x in (told.xi_t, told.xi_tt)]
        xi = told.xi.copy()
        xi[:, 4] *= SMALL
        told = told._replace(xi=xi, xi_t=scaled[0], xi_tt=scaled[1])
        found = riccati.inverse_dynamics(told, np.eye(3), np.zeros(3),
                                         np.array([0.0, 0.0, -TOWED, 0.0, 0.0, 0.0]), np.zeros(6))
        thrust.append(-found.wrench[0, 2])
        theory.append(reactive_thrust(found.eta[-1], found.R[-1]))
    assert_allclose(np.mean(thrust), np.mean(theory), rtol=1e-3)
    assert np.mean(theory) > 0.0


def test_small_waves_have_that_thrust_on_the_engine_too():
    """What holds the base of the towed fish, by inverse dynamics with all accelerations told."""
    solver, gait = RodSolver(D, free=True, water=swimmer.water()), swimmer.gait(D)
    base, thrust, theory = at_rest()._replace(p_t=np.array([0.0, 0.0, -TOWED])), [], []
    for t in PERIOD:
        strains = [SMALL * x for x in gait(t)]
        solver.put(base, *strains)
        thrust.append(inverse_dynamics(solver, True, solver.z_tt).efforts[2])
        x = kinematics(D, base, *strains)
        theory.append(reactive_thrust(twist(x.Rc[-1], x.p_end_t[-1], x.Om[-1]), x.Rc[-1]))
    assert_allclose(np.mean(thrust), np.mean(theory), rtol=1e-3)
    assert np.mean(theory) > 0.0


def test_riccati_swims_as_the_engine_does():
    """The inverse run of the paper's figure 6, by its own equations, over half a period."""
    dt, base = 0.02, (np.eye(3), np.zeros(3), np.zeros(6))

    def rate(t, R, eta):
        found = riccati.inverse_dynamics(swimmer.told_to_riccati(t, 20), R, np.zeros(3), eta)
        return found.eta_t[0]

    R, p, eta = base
    for i in range(25):
        t = i * dt
        k1 = rate(t, R, eta)
        middle = eta + 0.5 * dt * k1
        half = R @ exp_so3(0.5 * dt * (eta[3:] + 0.25 * dt * k1[3:]))
        k2 = rate(t + 0.5 * dt, half, middle)
        middle = eta + 0.5 * dt * k2
        new = eta + dt * k2
        p = p + dt * half @ middle[:3]
        R, eta = R @ exp_so3(dt * middle[3:]), new
    last = PrescribedRod(D, swimmer.gait(D), water=swimmer.water()).travel(0.5, dt)[-1].base
    way = np.abs(last.p).max()
    assert_allclose(p, last.p, rtol=0, atol=0.02 * way)


def test_schemes_do_not_matter():
    ends = []
    for scheme in ('newmark', 'generalised_alpha'):
        solver = swimmer.swimmer(scheme)
        assert solver.scheme is SCHEMES[scheme]
        for i in range(1, 101):
            swimmer.muscles(solver, 0.01 * i)
            assert solver.step(0.01).converged
        ends.append(solver.base().p)
    assert_allclose(*ends, atol=0.02 * np.abs(ends[0]).max())
