"""
Boyer 2023, sections VII-A and VII-B: a rod pulled by a tendon, and released.

Radius and G are not printed: 1 mm, which gives the paper's critical time step, and nu = 0.3.
"""

import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_acceleration_shooting import tendon_rod

from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.laws.actuators import given_efforts, Paths
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.papers.acceleration_shooting import ShootingRod
from cosserat_ros.papers.explicit_dynamics import explicit_motion
from cosserat_ros.rod.discretisation import discretise

LENGTH, DISC = 0.4, 0.02
GRAVITY = np.array([0.0, 0.0, 9.81])  # it hangs
TENSIONS = np.arange(7.5, 70.0, 7.5)  # to 67.5 N


def route(kind, s):
    """Return place and slope of a tendon, (N, 3) each: D_1 convergent, D_2 one turn of a helix."""
    if kind == 'convergent':
        return (np.stack([DISC * (1.0 - s / LENGTH), 0.0 * s, 0.0 * s], axis=1),
                np.tile([-DISC / LENGTH, 0.0, 0.0], (s.size, 1)))
    k = 2.0 * np.pi / LENGTH
    return (np.stack([DISC * np.cos(k * s), DISC * np.sin(k * s), 0.0 * s], axis=1),
            np.stack([-DISC * k * np.sin(k * s), DISC * k * np.cos(k * s), 0.0 * s], axis=1))


def pulled(kind, count=5, rod=None, scheme='newmark'):
    """Return the solver of the rod with its tendon, slack."""
    d = discretise(rod or tendon_rod(), StrainModes(0, 0, 0, count, count, count, substeps=2))
    r, r_s = route(kind, d.s)
    solver = RodSolver(d, paths=Paths(r[None], r_s[None], d.w[None], np.array([False])),
                       scheme=SCHEMES[scheme])
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    return solver


def active_stress(kind, tension, s):
    """Return eq. 17 without the strain's part: of the straight rod."""
    r, r_s = route(kind, s)
    c = np.array([0.0, 0.0, 1.0]) + r_s
    return tension * np.hstack([c, np.cross(r, c)]) / np.linalg.norm(c, axis=1, keepdims=True)


# --- Test 1 --------------------------------------------------------------------------------------

@pytest.mark.parametrize('kind, printed', [('convergent', 0.0), ('helical', 0.014)])
def test_what_is_neglected_is_as_large_as_printed(kind, printed):
    """'Exactly' and 1.4 %: of the tip's way, between the full law and eq. 17 without strain."""
    full, neglected = pulled(kind, 10), pulled(kind, 10)
    for tension in TENSIONS:
        full.drive(given_efforts(tension))
        neglected.load(neglected.no_loads()._replace(
            gravity=GRAVITY, stress=active_stress(kind, tension, neglected.d.s)))
        assert full.statics().converged and neglected.statics().converged
    tip, other = (solver.state().p_end[-1] for solver in (full, neglected))
    error = np.linalg.norm(tip - other) / np.linalg.norm(tip - [0.0, 0.0, LENGTH])
    print(f'{kind}: {100 * error:.2f} %')
    assert abs(error - printed) < 5e-4


@pytest.mark.parametrize('kind', ['convergent', 'helical'])
def test_shooting_finds_the_equilibria_of_the_engine(kind):
    """Eqs. 51 and 52, in a few iterations each."""
    engine = pulled(kind, 12)
    shooting = ShootingRod(tendon_rod(), elements=80, segments=1)
    for tension in TENSIONS:
        engine.load(engine.no_loads()._replace(
            gravity=GRAVITY, stress=active_stress(kind, tension, engine.d.s)))
        assert engine.statics().converged
        active = active_stress(kind, tension, shooting.s)
        assert shooting.statics(shooting.no_loads()._replace(gravity=GRAVITY, active=active))
        assert shooting.iterations < 12
    assert_allclose(shooting.positions[-1], engine.state().p_end[-1], atol=1e-5 * LENGTH)


# --- Test 2a: released from 15 N -----------------------------------------------------------------

def released(count, dt, duration):
    """Return the tip's path (steps, 3) [m] after the tendon was cut."""
    solver = pulled('convergent', count)
    solver.drive(given_efforts(15.0))
    assert solver.statics().converged
    solver.drive(given_efforts(0.0))
    assert solver.step(1e-6).converged  # the tendon is slack now
    solver.set_state(np.where(solver.moves, solver.z, 0.0), solver.z_t)
    assert solver.start()
    path = []
    for _ in range(round(duration / dt)):
        assert solver.step(dt).converged
        path.append(solver.state().p_end[-1])
    return np.array(path), solver


def test_five_modes_suffice():
    """As printed, at its 1 ms over 1 s."""
    (few, _), (many, _) = (released(count, 1e-3, 1.0) for count in (5, 8))
    assert np.ptp(many[:, 0]) > 0.05  # it swings
    assert np.abs(few - many)[:100].max() < 0.01 * np.ptp(many[:, 0])


def test_below_the_critical_step_nothing_happens():
    """The paper's run at 0.5 ms is lost near 0.18 s; here energy stays, at a fifth of it too."""
    for dt in (0.5e-3, 0.1e-3):
        _, solver = released(5, dt, 0.3)
        energy, start = solver.energy(), released(5, 1e-6, 1e-6)[1].energy()
        assert_allclose(energy.kinetic + energy.potential, start.kinetic + start.potential,
                        rtol=0, atol=1e-2 * (start.strain + start.kinetic))


def test_the_release_follows_the_explicit_integration():
    solver = pulled('convergent', 4)
    solver.drive(given_efforts(15.0))
    assert solver.statics().converged
    bent = np.where(solver.moves, solver.z, 0.0)
    solver.drive(given_efforts(0.0))
    solver.set_state(bent)
    exact = next(explicit_motion(solver, np.array([0.02]), tolerance=1e-8)).state().p_end[-1]
    errors = []
    for dt in (0.5e-4, 0.25e-4):
        solver.set_state(bent)
        assert solver.start()
        for _ in range(round(0.02 / dt)):
            assert solver.step(dt).converged
        errors.append(np.abs(solver.state().p_end[-1] - exact).max())
    assert errors[1] < 1e-4 * LENGTH and np.log2(errors[0] / errors[1]) > 1.5, errors


# --- Test 2b: a rod a hundred times softer, pulled sideways --------------------------------------

def test_the_soft_rod_is_released_by_shooting_as_by_the_engine():
    """0.4 N across; both begin without accelerations, at 5 ms, and are equal in time."""
    rod, force = tendon_rod(E=207e7), np.array([0.4, 0.0, 0.0])
    shooting = ShootingRod(rod, elements=80, segments=10, most=60)
    loads = shooting.no_loads()._replace(gravity=GRAVITY)
    solver = RodSolver(discretise(rod, StrainModes(0, 0, 0, 0, 12, 0, substeps=2)),
                       scheme=SCHEMES['newmark'])
    for part in np.linspace(0.25, 1.0, 4):
        assert shooting.statics(loads._replace(tip=part * np.append(force, np.zeros(3))))
        solver.load(solver.no_loads()._replace(gravity=GRAVITY, end_force=part * force[None]))
        assert solver.statics().converged
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    way = np.abs(solver.state().p_end[-1] - [0.0, 0.0, LENGTH]).max()
    assert way > 0.3 * LENGTH  # highly deformed
    for _ in range(12):
        assert shooting.step(loads, 5e-3)
        assert solver.step(5e-3).converged
        assert_allclose(shooting.positions[-1], solver.state().p_end[-1], rtol=0, atol=1e-3 * way)
