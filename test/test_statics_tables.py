"""Static shapes against the tables and figures of Surmont et al., sections 4.1 to 4.5."""

from functools import cache

import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.integrate import solve_ivp

from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Material, RestShape, Rod, Segment
from cosserat_ros.description.section import FreeSection, Rectangular
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.rod.kinematics import Base

MODES = StrainModes(8, 8, 8, 8, 8, 8, substeps=4)


def tip_under(solver, force):
    """Return the tip's position under a dead force, from rest, (3,) [m]."""
    solver.load(solver.no_loads()._replace(end_force=np.array([force])))
    assert solver.statics(from_rest=True).converged
    return solver.state().p_end[-1]


# --- Sections 4.1 and 4.2: circles ---------------------------------------------------------------

@pytest.mark.parametrize('turn', [0.0, np.pi / 2, np.pi, 1.5 * np.pi, 2 * np.pi])
@pytest.mark.parametrize('rest_turn', [0.0, 2 * np.pi], ids=['straight', 'pre-bent'])
def test_a_moment_rolls_a_straight_rod_up_and_unrolls_a_circle(rest_turn, turn):
    """Tables 3 and 4, with the numbers of table 2: errors along the whole rod; theirs: 4e-11."""
    length, EI = 1.0, 2.0
    sign = -1.0 if rest_turn else 1.0
    rod = Rod([Segment(
        length, FreeSection(0.25, 2.0, 2.0, 1.0), Material(1.0, 1.0, poisson_ratio=0.3),
        rest=RestShape(curvature=(0.0, rest_turn / length, 0.0)))])
    solver = RodSolver(discretise(rod, StrainModes(nodes=20)))
    moment = np.array([[0.0, sign * EI * turn / length, 0.0]])
    solver.load(solver.no_loads()._replace(end_moment=moment))
    assert solver.statics().converged
    x, s, curvature = solver.state(), solver.d.s, (rest_turn + sign * turn) / length
    half = np.sinc(curvature * s / (2 * np.pi))
    assert_allclose(x.p[:, 0], curvature * s ** 2 / 2 * half ** 2, rtol=0, atol=1e-11)
    assert_allclose(x.p[:, 1], 0.0, rtol=0, atol=1e-11)
    assert_allclose(x.p[:, 2], s * np.sinc(curvature * s / np.pi), rtol=0, atol=1e-11)
    found = EI * (x.xi[:, 4] - rest_turn / length)
    assert_allclose(found, moment[0, 1], rtol=0, atol=1e-11)


# --- Section 4.3: a helix ------------------------------------------------------------------------

HELIX_LENGTH, HELIX_EI, HELIX_EA = 10.0, 100.0, 1e4  # GJ = EI
HELIX_FORCE, HELIX_MOMENT = 50.0, 200.0 * np.pi  # both along y: ten turns
FRACTIONS = np.arange(1, 21) / 20.0
SHEAR = {'G = E / 2': 5e3, 'G = E': 1e4, 'no shear': np.inf}  # GA


@cache
def helix(GA):
    """Return the tips' positions (20, 3) and tangents (20, 3) at the fractions of the load."""
    G = min(GA, HELIX_EA)  # with an area of 1
    rod = Rod([Segment(
        HELIX_LENGTH, FreeSection(1.0, HELIX_EI / HELIX_EA, HELIX_EI / HELIX_EA, HELIX_EI / G),
        Material(HELIX_EA, 1.0, shear_modulus=G))])
    shear = 0 if np.isinf(GA) else 22
    solver = RodSolver(discretise(
        rod, StrainModes(shear, shear, 22, 22, 22, 22, elements=2, substeps=6)))
    tips = []
    for fraction in FRACTIONS:
        loads = solver.no_loads()
        loads.end_force[-1, 1] = fraction * HELIX_FORCE
        loads.end_moment[-1, 1] = fraction * HELIX_MOMENT
        solver.load(loads)
        assert solver.statics().converged
        x = solver.state()
        tips.append((x.p_end[-1], x.Rc[-1][:, 2]))
    return np.array(tips).transpose(1, 0, 2)


def helix_from_its_tip(GA, climb):
    """
    Integrate all helices from the tip to the clamp.

    Where EI = GJ, curvature is moment over EI however the section is rolled, so that tangent d
    and position p do; and both loads are along y, so that the tip may point anywhere about y.

    Parameters
    ----------
    GA : float
    climb : (20,) float64
        The tip tangent's y.

    Returns
    -------
    climb : (20,) float64
        The clamp tangent's y, 0 for a solution.
    tip : (20, 3) float64
        Seen from the clamp, turned about y until the clamp points along z.

    """
    force, moment = HELIX_FORCE * FRACTIONS, HELIX_MOMENT * FRACTIONS

    def slope(_, y):
        d, p = y.reshape(2, 3, -1)
        u = np.stack([force * p[2], moment, -force * p[0]]) / HELIX_EI
        d_s = np.cross(u, d, axis=0)
        p_s = (1.0 + (1.0 / HELIX_EA - 1.0 / GA) * force * d[1]) * d
        p_s[1] += force / GA
        return -np.concatenate([d_s.ravel(), p_s.ravel()])

    zero = np.zeros_like(climb)
    start = np.concatenate([zero, climb, np.sqrt(1.0 - climb ** 2), zero, zero, zero])
    end = solve_ivp(
        slope, [0.0, HELIX_LENGTH], start, rtol=1e-11, atol=1e-12, method='DOP853').y[:, -1]
    d, (x, y, z) = end.reshape(2, 3, -1)
    size = np.hypot(d[0], d[2])
    tip = np.stack([d[0] * z - d[2] * x, -size * y, -d[0] * x - d[2] * z], axis=1)
    return d[1], tip / size[:, None]


@pytest.mark.parametrize('GA', SHEAR.values(), ids=SHEAR)
def test_helices_of_up_to_ten_turns_solve_the_rods_equations(GA):
    """Against the equations' solution next to ours, found by secants: 1e-7 of the length."""
    tips, tangents = helix(GA)
    climb, step = tangents[:, 1], np.full(len(FRACTIONS), 1e-6)
    before, _ = helix_from_its_tip(GA, climb)
    for _ in range(3):
        climb = climb + step
        now, expected = helix_from_its_tip(GA, climb)
        step, before = -step * now / np.where(now == before, np.inf, now - before), now
    assert np.abs(before).max() < 1e-12
    print(f'largest distance {np.abs(tips - expected).max() / HELIX_LENGTH:.1e} of the length')
    assert_allclose(tips, expected, rtol=0, atol=1e-7 * HELIX_LENGTH)


@pytest.mark.parametrize('GA', SHEAR.values(), ids=SHEAR)
def test_helices_swing_about_the_line_of_pure_shear(GA):
    """Figures 10 and 11: about zero without shear, else about a slope, of F L / GA."""
    across = helix(GA)[0][:, 1]
    centre = (across[:-2] + 2.0 * across[1:-1] + across[2:]) / 4.0
    swing = across[1:-1] - centre
    half = FRACTIONS[1:-1] >= 0.5
    assert np.all(swing[1:] * swing[:-1] < 0.0)
    line = HELIX_FORCE * FRACTIONS[1:-1] * HELIX_LENGTH / GA
    assert_allclose(centre[half], line[half], rtol=0, atol=0.003)


# --- Sections 4.4 and 4.5: twist and bend --------------------------------------------------------

@pytest.mark.parametrize('force, tip', [
    (0.0, (29.29, 70.71, 0.0)),
    (300.0, (22.24, 58.78, 40.19)),
    (600.0, (15.68, 47.15, 53.47)),
])
def test_a_bend_of_45_degrees(force, tip):
    """Table 8, to the digits printed: they take the polar moment for the torsion constant."""
    square = FreeSection(1.0, 1.0 / 12.0, 1.0 / 12.0, 1.0 / 6.0)
    arc = Rod([Segment(
        25.0 * np.pi, square, Material(1e7, 1.0, shear_modulus=5e6),
        rest=RestShape(curvature=(0.0, 0.01, 0.0)))])
    along_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    solver = RodSolver(discretise(arc, MODES), Base(along_y, *np.zeros((5, 3))))
    assert_allclose(tip_under(solver, (0.0, 0.0, force)), tip, rtol=0, atol=0.006)


def test_a_pretwisted_cantilever():
    """
    Table 6: across (their y) and flat (their z).

    Their own digits hold to 4e-8 m; the coupling is that of Zupan and Saje's analytical solution.
    """
    strip = Rod([Segment(
        12.0, Rectangular(1.1, 0.32), Material(29e6, 1.0, poisson_ratio=0.22),
        rest=RestShape(curvature=(0.0, 0.0, np.pi / 24.0)))])
    solver = RodSolver(discretise(strip, MODES))
    thin = tip_under(solver, (0.0, 1.0, 0.0))
    wide = tip_under(solver, (1.0, 0.0, 0.0))
    assert_allclose([thin[1], -thin[0], -wide[1], wide[0]],
                    [0.00542871, 0.00171872, 0.00171870, 0.00174903], rtol=0, atol=5e-8)
    assert_allclose(-thin[0], 0.00171874, rtol=0, atol=5e-9)
