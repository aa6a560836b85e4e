"""Boyer 2023, sections VII-A and VII-B: a rod pulled by a tendon, and released."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.checks.errors import NotConverged, UnknownName
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.laws.actuators import given_efforts
from cosserat_ros.papers import boyer2020, boyer2023
from cosserat_ros.papers.acceleration_shooting import ShootingRod
from cosserat_ros.papers.convergence import require
from cosserat_ros.papers.explicit_dynamics import explicit_motion

GRAVITY, LENGTH, TENSIONS = boyer2023.GRAVITY, boyer2023.LENGTH, boyer2023.TENSIONS


def of_modes(count):
    """Return so many modes each of bending, both ways, and twist."""
    return StrainModes(0, 0, 0, count, count, count, substeps=2)


# --- Test 1 --------------------------------------------------------------------------------------

@pytest.mark.parametrize('kind, printed', [('convergent', 0.0), ('helical', 0.014)])
def test_what_is_neglected_is_as_large_as_printed(kind, printed):
    """'Exactly' and 1.4 %: of the tip's way, between the full law and eq. 17 without strain."""
    full, neglected = (boyer2023.tendon_arm(kind, of_modes(10)) for _ in range(2))
    for tension in TENSIONS:
        full.drive(given_efforts(tension))
        neglected.load(neglected.no_loads()._replace(
            gravity=GRAVITY, stress=boyer2023.active_stress(kind, tension, neglected.d.s)))
        assert full.statics().converged and neglected.statics().converged
    tip, other = (solver.state().p_end[-1] for solver in (full, neglected))
    error = np.linalg.norm(tip - other) / np.linalg.norm(tip - [0.0, 0.0, LENGTH])
    print(f'{kind}: {100 * error:.2f} %')
    assert abs(error - printed) < 5e-4


@pytest.mark.parametrize('kind', ['convergent', 'helical'])
def test_shooting_finds_the_equilibria_of_the_engine(kind):
    """Eqs. 51 and 52, in a few iterations each."""
    engine = boyer2023.tendon_arm(kind, of_modes(12))
    shooting = ShootingRod(boyer2023.tendon_rod(), elements=80, segments=1)
    for tension in TENSIONS:
        engine.load(engine.no_loads()._replace(
            gravity=GRAVITY, stress=boyer2023.active_stress(kind, tension, engine.d.s)))
        assert engine.statics().converged
        active = boyer2023.active_stress(kind, tension, shooting.s)
        assert shooting.statics(shooting.no_loads()._replace(gravity=GRAVITY, active=active))
        assert shooting.iterations < 12
    assert_allclose(shooting.positions[-1], engine.state().p_end[-1], atol=1e-5 * LENGTH)


@pytest.mark.parametrize('place', [boyer2020.cable_place, boyer2023.tendon_place])
def test_a_route_that_is_not_in_the_paper_is_rejected(place):
    with pytest.raises(UnknownName, match='route must be one of: .*convergent'):
        place('direct', np.zeros(2))


def test_a_system_that_is_not_solved_on_its_way_tells_so():
    solution = boyer2023.pulled_sideways().statics()
    require(solution)
    with pytest.raises(NotConverged, match='the reason'):
        require(solution._replace(converged=False, message='the reason'))


# --- Test 2a: released from 15 N -----------------------------------------------------------------

def released(count, dt, duration):
    """Return the tip's path (steps, 3) [m] after the tendon was cut, and the solver at the end."""
    solver = boyer2023.cut_tendon(of_modes(count))
    assert solver.start()
    path = []
    for _ in range(round(duration / dt)):
        assert solver.step(dt).converged
        path.append(solver.state().p_end[-1])
    return np.array(path), solver


def test_five_modes_suffice():
    """As printed, at its 1 ms and over all of its 1 s."""
    (few, _), (many, _) = (released(count, 1e-3, 1.0) for count in (5, 8))
    assert np.ptp(many[:, 0]) > 0.05  # it swings
    apart = np.abs(few - many).max(axis=1) / np.ptp(many[:, 0])
    print(f'apart {apart[:100].max():.2e} in 0.1 s, {apart.max():.2e} in 1 s')
    assert apart.max() < 6e-3, apart.max()


@pytest.mark.timeout(300)  # a quarter of a minute on a quiet machine
def test_the_release_by_shooting_is_that_of_the_engine_for_all_of_the_second():
    """
    Figure 3a: 1 ms, ten points between; the engine has the paper's five modes, then eight.

    Apart by 4.6e-3 and 2.1e-3 of the swing: most of the former is what five modes leave.
    """
    shooting = ShootingRod(boyer2023.tendon_rod(), elements=44, segments=11)
    hanging = shooting.no_loads()._replace(gravity=GRAVITY)
    assert shooting.statics(hanging._replace(
        active=boyer2023.active_stress('convergent', boyer2023.CUT_TENSION, shooting.s)))
    few, many = (boyer2023.cut_tendon(of_modes(count)) for count in (5, 8))
    path = []
    for _ in range(1000):
        assert shooting.step(hanging, 1e-3)  # from no accelerations, as the engine here
        assert few.step(1e-3).converged and many.step(1e-3).converged
        path.append([shooting.positions[-1], few.state().p_end[-1], many.state().p_end[-1]])
    shot, of_few, of_many = np.moveaxis(path, 1, 0)
    swing = np.ptp(shot[:, 0])
    apart = [np.linalg.norm(shot - other, axis=1).max() / swing for other in (of_few, of_many)]
    print(f'swing {swing:.3g} m, apart {apart} of it')
    assert swing > 0.15 and apart[0] < 6e-3 and apart[1] < 3e-3


def test_below_the_critical_step_nothing_happens():
    """The paper's run at 0.5 ms is lost near 0.18 s; here energy stays, at a fifth of it too."""
    for dt in (0.5e-3, 0.1e-3):
        _, solver = released(5, dt, 0.3)
        energy, start = solver.energy(), released(5, 1e-6, 1e-6)[1].energy()
        assert_allclose(energy.kinetic + energy.potential, start.kinetic + start.potential,
                        rtol=0, atol=1e-2 * (start.strain + start.kinetic))


def test_the_release_follows_the_explicit_integration():
    solver = boyer2023.cut_tendon(of_modes(4))
    bent = solver.z.copy()
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
    """0.4 N across; both begin without accelerations, at 10 ms, over the paper's second."""
    solver = boyer2023.pulled_sideways()
    shooting = ShootingRod(boyer2023.tendon_rod(boyer2023.YOUNG_MODULUS / boyer2023.SOFTER),
                           elements=44, segments=11, most=60)
    loads = shooting.no_loads()._replace(gravity=GRAVITY)
    for part in np.linspace(0.25, 1.0, 4):
        assert shooting.statics(loads._replace(
            tip=np.array([part * boyer2023.SIDE_FORCE, 0.0, 0.0, 0.0, 0.0, 0.0])))
    start = solver.state().p_end[-1].copy()
    assert np.abs(start - [0.0, 0.0, LENGTH]).max() > 0.3 * LENGTH  # highly deformed
    assert_allclose(shooting.positions[-1], start, rtol=0, atol=1e-6 * LENGTH)
    way, worst = 0.0, 0.0
    for _ in range(100):
        assert shooting.step(loads, 10e-3)
        assert solver.step(10e-3).converged
        tip = solver.state().p_end[-1]
        way = max(way, np.linalg.norm(tip - start))
        apart = np.linalg.norm(shooting.positions[-1] - tip)
        worst = max(worst, apart / way)
        assert apart < 1e-3 * way
    print(f'way {way:.3g} m, apart by {worst:.2g} of it')
    assert way > 1.5 * LENGTH
