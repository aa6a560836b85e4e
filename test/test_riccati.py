"""Boyer 2023's inverse dynamics by Riccati's equations, as an oracle along arc length."""

import numpy as np
from numpy.testing import assert_allclose

from cosserat_ros.analysis.inverse_dynamics import inverse_dynamics
from cosserat_ros.analysis.lagrangian import lagrangian_of
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import FAMILIES, StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Elliptic
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.papers import riccati
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.rod.kinematics import Base

ROD = Rod([Segment(1.0, Elliptic(0.1, 0.05), Material(1e5, 1000.0, poisson_ratio=0.5))])
MODES = StrainModes(1, 1, 2, 3, 3, 2, nodes=24, substeps=4)
D = discretise(ROD, MODES)
GRAVITY = np.array([1.0, -2.0, -9.0])


def told_strains(q, q_t, q_tt, steps):
    """Return strains of the modes at ends and middles of steps, in no fluid."""
    s = np.linspace(0.0, ROD.length, 2 * steps + 1)
    degree = np.concatenate([np.arange(count) for count in MODES.counts])
    values = FAMILIES[MODES.family](2.0 * s / ROD.length - 1.0, max(degree))[:, degree]
    strain = np.zeros((3, s.size, 6))
    for k, x in enumerate((q, q_t, q_tt)):
        np.add.at(strain[k].T, D.component, (values * x).T)
    strain[0] += ROD.rest_strain(s)
    M = np.einsum('ki,ij->kij', ROD.inertia(s), np.eye(6))
    return riccati.Told(ROD.length / steps, *strain, M, np.zeros(M.shape), GRAVITY)


def some_instant():
    rng = np.random.default_rng(5)
    q, q_t, q_tt = 0.4 * rng.normal(size=(3, D.component.size))
    base = Base(exp_so3(rng.normal(size=3)), *rng.normal(size=(3, 3)), *np.zeros((2, 3)))
    solver = RodSolver(D, free=True)
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    solver.put(base, q, q_t, q_tt)
    return solver, base, (q, q_t, q_tt)


def turned(R, wrench):
    return np.concatenate([R @ wrench[:3], R @ wrench[3:]])


def by_riccati(base, strains, steps=160):
    eta = turned(base.R.T, np.concatenate([base.p_t, base.Om]))
    return riccati.inverse_dynamics(told_strains(*strains, steps), base.R, base.p, eta)


def test_minus_s_at_the_base_is_the_base_block_of_the_mass_matrix():
    solver, base, strains = some_instant()
    found = by_riccati(base, strains)
    R = np.kron(np.eye(2), base.R)
    block = lagrangian_of(solver).mass[:6, :6]
    assert_allclose(R @ found.inertia @ R.T, block, rtol=0, atol=1e-8 * np.abs(block).max())


def test_a_free_base_accelerates_as_in_the_engine():
    solver, base, strains = some_instant()
    told = np.zeros(solver.Z, dtype=bool)
    told[solver.q_places[0]] = True
    found = inverse_dynamics(solver, told, solver.z_tt)
    coarse, fine = (by_riccati(base, strains, steps) for steps in (40, 160))
    errors = []
    for r in (coarse, fine):
        V, Om = r.eta[0, :3], r.eta[0, 3:]
        world = turned(base.R, r.eta_t[0] + np.append(np.cross(Om, V), np.zeros(3)))
        errors.append(np.abs(world - found.accelerations[:6]).max())
    size = np.abs(found.accelerations[:6]).max()
    assert errors[1] < 1e-8 * size and np.log2(errors[0] / errors[1]) > 6.0, (errors, size)


def test_the_wrench_does_on_the_modes_what_the_engine_says():
    """Eq. 43: less the elastic stress, by the quadrature of the engine's nodes."""
    solver, base, strains = some_instant()
    told = np.zeros(solver.Z, dtype=bool)
    told[solver.q_places[0]] = True
    efforts = inverse_dynamics(solver, told, solver.z_tt).efforts[solver.q_places[0]]
    found, steps = by_riccati(base, strains), 160
    s = np.linspace(0.0, ROD.length, steps + 1)
    degree = np.concatenate([np.arange(count) for count in MODES.counts])
    values = FAMILIES[MODES.family](2.0 * s - 1.0, max(degree))[:, degree]
    weight = np.ones(steps + 1)
    weight[1:-1:2], weight[2:-1:2] = 4.0, 2.0
    force = (weight / steps / 3.0) @ (values * found.wrench[:, D.component])
    expected = D.elastic @ strains[0] - efforts
    assert_allclose(force, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_a_base_that_is_held_has_the_reaction_of_the_whole():
    """Statics of a straight rod: its weight."""
    still = np.zeros((3, D.component.size))
    found = riccati.inverse_dynamics(
        told_strains(*still, 40), np.eye(3), np.zeros(3), np.zeros(6), np.zeros(6))
    mass = float(ROD.inertia(0.0)[0])
    assert_allclose(found.wrench[0, :3], mass * GRAVITY, rtol=1e-10)
    assert_allclose(found.wrench[0, 3:], np.cross([0.0, 0.0, 0.5], mass * GRAVITY), atol=1e-9)


def test_added_mass_alone_accelerates_nothing_at_rest():
    steps = 50
    told = told_strains(*np.zeros((3, D.component.size)), steps)
    a = np.full(2 * steps + 1, 0.05)
    told = told._replace(M_a=riccati.added_mass(a, 2.0 * a, 1000.0), gravity=np.zeros(3))
    found = riccati.inverse_dynamics(told, np.eye(3), np.zeros(3), np.zeros(6))
    assert_allclose(found.eta_t, 0.0, atol=1e-12)


def test_the_added_mass_of_a_circle_is_what_it_displaces_and_nothing_in_spin():
    radius, density = np.array([0.03, 0.05]), 1000.0
    M, area = riccati.added_mass(radius, radius, density), np.pi * radius ** 2
    for found, displaced in zip(M, density * area):
        assert_allclose(found, np.diag([displaced, displaced, 0, 0, 0, 0]), rtol=1e-15, atol=0)


def test_the_added_mass_of_a_flat_plate_is_that_of_the_circle_around_it():
    """Lamb's pi rho b^2 across the plate, pi rho b^4 / 8 in spin, nothing along it."""
    b, density = np.array([0.04]), 1000.0
    spin = np.pi * density * b[0] ** 4 / 8.0
    across = np.pi * density * b[0] ** 2
    wide, high = (riccati.added_mass(*sides, density)[0] for sides in ((b, 0 * b), (0 * b, b)))
    assert_allclose(wide, np.diag([0, across, 0, 0, 0, spin]), rtol=1e-15, atol=0)
    assert_allclose(high, np.diag([across, 0, 0, 0, 0, spin]), rtol=1e-15, atol=0)
