"""Stability of equilibria: columns that buckle, elasticas, and what a simulation does."""

from dataclasses import replace
from math import pi

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root

from cosserat_ros.analysis.linearize import linearize, vibration
from cosserat_ros.analysis.stability import assess, displacements, stability
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.simulation.simulator import Simulator

L = 0.4
EI, EA = 207e9 * pi / 4 * 1e-12, 207e9 * pi * 1e-6
ROD = Rod([Segment(L, Circular(1e-3), Material(207e9, 8000.0, shear_modulus=79e9))])
KIRCHHOFF = StrainModes(0, 0, 0, 10, 10, 2)


def described(name):
    return load(ROOT / 'config' / f'{name}.yaml')


# --- Columns -------------------------------------------------------------------------------------

def pressed(force):
    """Return the stability of a straight cantilever under a dead force along it."""
    solver = RodSolver(discretise(ROD, KIRCHHOFF))
    solver.load(solver.no_loads()._replace(end_force=np.array([[0.0, 0.0, -force]])))
    assert solver.statics().converged
    return assess(solver)


def test_the_margin_of_eulers_column_falls_with_the_load():
    critical = pi ** 2 * EI / (4.0 * L ** 2)
    for part in (0.0, 0.5, 1.0 - 1e-6, 1.0 + 1e-6, 8.0, 10.0):
        found = pressed(part * critical)
        assert_allclose(found.margin, 1.0 - part, atol=1e-9)
        assert found.stable == (part < 1.0)
        assert (found.squared_frequency > 0.0) == found.stable
        assert found.ways == 2 * ((part > 1.0) + (part > 9.0))  # in two planes
        assert found.asymmetry < 1e-12


def test_a_rod_buckles_under_its_own_weight_as_greenhill_says():
    line = 8000 * pi * 1e-6

    def margin(gravity):
        solver = RodSolver(discretise(ROD, KIRCHHOFF))
        solver.load(solver.no_loads()._replace(gravity=np.array([0.0, 0.0, -gravity])))
        return assess(solver).margin

    critical = 7.837347438944921 * EI / (line * L ** 3)
    assert_allclose(brentq(margin, 0.5 * critical, 2.0 * critical), critical, rtol=1e-9)


def test_a_column_between_clamps_bears_sixteen_times_as_much():
    """With stretch, P v = 4 pi^2 EI / L^2 is critical, where v = 1 - P / EA."""
    euler = 4.0 * pi ** 2 * EI / L ** 2
    critical = 0.5 * EA * (1.0 - np.sqrt(1.0 - 4.0 * euler / EA))
    solver = RodSolver(discretise(ROD, StrainModes(0, 0, 1, 10, 10, 2)), tolerance=1e-13)

    def found(force):
        solver.hold_tip(np.eye(3), np.array([0.0, 0.0, L * (1.0 - force / EA)]))
        assert solver.statics().converged
        assert_allclose(solver.reactions[2], -force, rtol=1e-9)
        return assess(solver)

    assert found(0.99999 * critical).stable
    assert_allclose(found(0.5 * critical).margin, 0.5, atol=1e-4)
    above = found(1.00001 * critical)
    assert not above.stable
    assert above.ways == 2
    # The second critical load: tan(b) = b with b^2 = P L^2 / (4 EI).
    second = (4.493409457909064 / pi) ** 2
    assert [found(part * critical).ways for part in (0.999 * second, 1.002 * second)] == [2, 4]


# --- The elastica between clamps, and its conjugate points ---------------------------------------

SHAPES = {  # first curvature, with 0 to 1 along the rod, and ways to fall
    'one arch': (lambda x: 4.0 * np.cos(2.0 * pi * x), 0),
    'two arches': (lambda x: pi / 3.0 * (np.cos(pi * x) - 9.0 * np.cos(3.0 * pi * x)), 1),
    'three arches': (lambda x: 8.0 * np.cos(4.0 * pi * x), 2),
}


def held_elastica(curvature, distance, turn=0.0):
    """Return a planar rod whose two ends are clamped at a distance, in terms of its length."""
    d = discretise(ROD, StrainModes(0, 0, 0, 0, 12, 0, elements=2))
    solver = RodSolver(d, tolerance=1e-12)
    stress = np.zeros((d.s.size, 6))
    stress[:, 4] = -EI * curvature(d.s / L) / L
    solver.load(solver.no_loads()._replace(stress=stress))
    assert solver.statics().converged
    x = solver.state()
    assert_allclose(x.xi[:, 4], curvature(d.s / L) / L, atol=1e-2 / L)
    solver.hold_tip(x.Rc[-1], x.p_end[-1])  # what holds it in its plane is redundant
    solver.load(solver.no_loads())
    assert solver.statics().converged
    for part in np.linspace(0.0, turn, 1 + int(20 * abs(turn))):
        place = np.array([0.0, 0.0, distance * L])
        solver.hold_tip(exp_so3(np.array([0.0, part, 0.0])), place)
        assert solver.statics().converged
    return solver


def elastica(_, y):
    """Return rates along s of angle, x, z, moment, and of their variations (L = EI = 1)."""
    (angle, _, _, moment), force = y[:4], y[4:6]
    J = y[6:].reshape(4, 3)  # with moment and force at the start
    sine, cosine = np.sin(angle), np.cos(angle)
    slope = (cosine * force[1] + sine * force[0]) * J[0]
    dJ = [J[3], cosine * J[0], -sine * J[0], slope + np.array([0.0, -cosine, sine])]
    return np.concatenate([
        [moment, sine, cosine, sine * force[1] - cosine * force[0], 0.0, 0.0], np.ravel(dJ)])


def along(start):
    """Integrate from moment and force (3,) at the start."""
    J = np.zeros((4, 3))
    J[3, 0] = 1.0
    y = np.concatenate([[0.0, 0.0, 0.0, start[0], *start[1:]], J.ravel()])
    return solve_ivp(elastica, (0.0, 1.0), y, rtol=1e-9, atol=1e-11,
                     t_eval=np.linspace(0.0, 1.0, 501))


def conjugate_points(solver, distance, turn=0.0):
    """
    Return where a rod that begins like this one has conjugate points, and det J at the end.

    Shooting finds the same equilibrium first, by itself but for its start.
    """
    force, moment = solver.reactions[[0, 2]] * L ** 2 / EI, solver.state().xi[0, 4] * L

    def miss(start):
        return along(start).y[:3, -1] - [turn, 0.0, distance]

    shot = root(miss, [moment, *force], tol=1e-11)
    assert np.linalg.norm(miss(shot.x)) < 1e-8
    assert_allclose(shot.x[1:], force, atol=1e-4 * np.linalg.norm(force))
    path = along(shot.x)
    det = np.linalg.det(np.moveaxis(path.y[6:15].reshape(3, 3, -1), -1, 0))
    later = path.t > 0.02
    change = np.flatnonzero(np.diff(np.sign(det[later])))
    return path.t[later][change], det[-1]


@pytest.mark.parametrize('distance', [0.9, 0.7])
@pytest.mark.parametrize('shape', SHAPES)
def test_an_elastica_falls_in_as_many_ways_as_it_has_conjugate_points(shape, distance):
    curvature, ways = SHAPES[shape]
    solver = held_elastica(curvature, distance)
    found = assess(solver)
    assert found.stable == (ways == 0)
    assert found.ways == ways
    assert len(conjugate_points(solver, distance)[0]) == ways


def test_an_arch_snaps_through_where_its_end_becomes_a_conjugate_point():
    """One end is turned until the equilibrium is lost, at a fold."""
    solver = held_elastica(SHAPES['one arch'][0], 0.8, 0.6)
    turns, place = [0.68, 0.72, 0.75, 0.77, 0.785, 0.793], np.array([0.0, 0.0, 0.8 * L])
    margins, ends = [], []
    for turn in turns:
        solver.hold_tip(exp_so3(np.array([0.0, turn, 0.0])), place)
        assert solver.statics().converged
        margins.append(assess(solver).margin)
        points, end = conjugate_points(solver, 0.8, turn)
        assert len(points) == 0
        ends.append(end * 1e4)
    lost = np.polyval(np.polyfit(ends, margins, 4), 0.0)  # margin where det J = 0
    assert_allclose(lost, 0.0, atol=5e-3)
    assert margins[-1] < 0.1


# --- Robots --------------------------------------------------------------------------------------

def loaded_arm(command, force):
    """Return the tendon arm, its tendons at 1 N or held there, under a force along it."""
    arm = replace(described('tendon_arm'), gravity=(0.0, 0.0, 0.0))
    sim = Simulator(replace(arm, tendons={
        name: replace(tendon, command=command, limits=None, compliance=1e-4, pretension=1.0)
        for name, tendon in arm.tendons.items()}))
    sim.command(**dict.fromkeys(arm.tendons, 1.0 if command == 'tension' else 0.0))
    sim.set_wrench([0.0, 0.0, -force, 0.0, 0.0, 0.0])
    assert sim.statics().converged
    return sim


def test_tendons_in_the_rod_do_not_buckle_it_and_held_ones_support_it():
    critical = pi ** 2 * 207e9 * pi / 4 * 0.0004 ** 4 / (4.0 * 0.24 ** 2)
    tensions = stability(loaded_arm('tension', 0.0))  # 4 N, more than the critical load
    assert critical < 4.0
    assert_allclose(tensions.margin, 1.0, atol=1e-3)
    assert_allclose(stability(loaded_arm('tension', 0.5 * critical)).margin, 0.5, atol=1e-3)
    assert not stability(loaded_arm('tension', 1.01 * critical)).stable
    assert stability(loaded_arm('displacement', 1.01 * critical)).stable


def test_the_mode_of_a_column_is_a_quarter_of_a_wave():
    sim = loaded_arm('tension', 0.17)
    moved = displacements(sim, stability(sim).mode)['backbone']
    s = np.linspace(0.0, 1.0, 21)
    assert_allclose(np.linalg.norm(moved, axis=1), 1.0 - np.cos(0.5 * pi * s), atol=1e-3)
    assert_allclose(moved[:, 2], 0.0, atol=1e-9)


def test_gas_of_given_amount_is_stiffer_than_gas_of_given_pressure():
    finger = described('fluidic_finger')
    sim = Simulator(finger)
    sim.command(chamber=1.5e-4)
    assert sim.statics().converged
    pressure = sim.actuators()['chamber'].effort
    amount = vibration(linearize(sim).A).frequency
    assert stability(sim).stable
    sim = Simulator(replace(finger, chambers={
        'chamber': replace(finger.chambers['chamber'], command='pressure', limits=None)}))
    sim.command(chamber=pressure)
    assert sim.statics().converged
    assert stability(sim).stable
    ratio = amount / vibration(linearize(sim).A).frequency
    assert ratio.min() > 1.0 - 1e-6
    assert ratio.max() > 1.01


def test_stability_and_eigenvalues_agree_on_a_dead_moment():
    """A moment along a fixed axis has no potential: the stiffness is not symmetric."""
    sim = Simulator(replace(described('cantilever'), gravity=(0.0, 0.0, 0.0)))
    sim.set_wrench([0.0, 0.0, 0.0, 0.2, 0.0, 0.0])
    assert sim.statics().converged
    found = stability(sim)
    assert found.asymmetry > 1e-3
    assert found.stable
    assert np.linalg.eigvals(linearize(sim).A).real.max() < 1e-3


# --- The platform that legs can no longer carry --------------------------------------------------

def platform_under(force):
    """Return the Stewart-Gough platform in its upright equilibrium under a weight."""
    sim = Simulator(described('stewart_gough'))
    for part in (0.0, 100.0, 140.0, force):
        sim.set_wrench([0.0, 0.0, -part, 0.0, 0.0, 0.0])
        assert sim.statics().converged
    return sim


def leaning(force, time=0.3, dt=2e-3):
    """Return how far the platform goes aside after a push of 1 mN for 10 ms [m], (steps,)."""
    sim = platform_under(force)
    aside = []
    for k in range(round(time / dt)):
        sim.set_wrench([1e-3 if k < 5 else 0.0, 0.0, -force, 0.0, 0.0, 0.0])
        assert sim.step(dt).converged
        aside.append(np.linalg.norm(sim.solver.platform.p[:2]))
    return np.array(aside)


def test_a_platform_leans_over_where_its_stiffness_is_lost():
    forces = np.array([144.0, 145.0, 146.0, 147.0])
    found = [stability(platform_under(force)) for force in forces]
    assert [each.ways for each in found] == [0, 0, 2, 2]  # to all sides
    margins = [each.margin for each in found]
    critical = brentq(lambda force: np.polyval(
        np.polyfit(forces - 145.0, margins, 3), force - 145.0), 145.0, 146.0)
    assert_allclose(critical, 145.47, atol=0.02)
    assert leaning(0.99 * critical).max() < 3e-6
    assert leaning(1.01 * critical).max() > 3e-4


def test_the_mode_of_a_platform_is_a_motion_of_all_its_legs():
    sim = platform_under(146.5)
    mode = stability(sim).mode
    moved = displacements(sim, mode)
    R, shift, turn = sim.solver.platform.R, *np.split(mode[sim.solver.platform_places], 2)
    assert np.linalg.norm(turn[:2]) > 1e4 * abs(turn[2])  # it leans and goes aside
    assert np.linalg.norm(shift[:2]) > 1e4 * abs(shift[2])
    legs = sim.robot.legs
    tips = np.array([shift + np.cross(turn, R @ legs[name].attachment.matrix()[:3, 3])
                     for name in legs])
    ends = np.array([moved[name][-1] for name in legs])
    assert_allclose(ends * np.linalg.norm(tips) / np.linalg.norm(ends), tips,
                    atol=1e-6 * np.abs(tips).max())
