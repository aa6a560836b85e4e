"""
Static tests of Boyer 2020, section VIII: a tip torque, a follower force, a loop, and cables.

Both readings of the printed diameters are tested, see `boyer2020`.
"""

import numpy as np
from numpy.polynomial import Polynomial
from numpy.testing import assert_allclose
import pytest
from scipy.integrate import solve_bvp, solve_ivp
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation
from scipy.special import ellipj

from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.laws.actuators import given_efforts
from cosserat_ros.papers import boyer2020, flexion_torsion as loop
from cosserat_ros.rod.discretisation import discretise


def stiffness_in_bending(radius, young_modulus):
    return young_modulus * np.pi * radius ** 4 / 4.0


# --- Test 1: a tip torque about a tilted axis ----------------------------------------------------

@pytest.mark.parametrize('radius, nodes', [(0.01, 20), (0.005, 80)], ids=['meant', 'printed'])
@pytest.mark.parametrize('kind', ['end_moment', 'follower_moment'])
def test_a_tilted_torque_rolls_the_rod_up(kind, radius, nodes):
    """1 m, 1e8 Pa, 5 N m in 5 steps: a turn, or 16 as printed, in the plane across the torque."""
    modes = StrainModes(0, 0, 0, 5, 5, 0, nodes=nodes)
    rolled = boyer2020.rolled_by_a_torque(radius, kind == 'follower_moment', modes)
    for torque, solver in zip(boyer2020.TORQUES, rolled, strict=True):
        curvature = torque / stiffness_in_bending(radius, 1e8)
        across = (1.0 - np.cos(curvature * solver.d.s)) / curvature / np.sqrt(2.0)
        circle = np.stack([across, -across, np.sin(curvature * solver.d.s) / curvature], axis=1)
        assert_allclose(solver.state().p, circle, rtol=0, atol=1e-10)


# --- Test 2: a follower force across the tip -----------------------------------------------------

LENGTH, YOUNG_MODULUS, FORCES = 100.0, boyer2020.MAST_YOUNG_MODULUS, boyer2020.FORCES


def follower_elastica(force, EI):
    """
    Return the tip's position (x, z) and angle.

    From the tip, where the force is known, towards the clamp, nothing is to be found: with the
    angle a from the tip's tangent, EI a'' = -F cos(a), a pendulum let go at the horizontal.
    """
    a, _, x, z = solve_ivp(
        lambda _, y: [-y[1], force / EI * np.cos(y[0]), -np.sin(y[0]), -np.cos(y[0])],
        [0.0, LENGTH], np.zeros(4), rtol=1e-13, atol=1e-13, method='DOP853').y[:, -1]
    c, s = np.cos(a), np.sin(a)
    return np.array([s * z - c * x, -s * x - c * z]), -a


def tips_under_follower_forces(radius, modes, forces):
    """Return the tips' positions (x, z), (len(forces), 2), and angles, each load after another."""
    tips, angles = [], []
    for solver in boyer2020.pushed_across(forces, radius, modes):
        x = solver.state()
        tips.append(x.p_end[-1, [0, 2]])
        angles.append(np.arctan2(x.Rc[-1, 0, 2], x.Rc[-1, 2, 2]))
    return np.array(tips), np.array(angles)


def largest_error(radius, modes, forces=FORCES):
    """Return the largest distance from the elastica, by length."""
    EI = stiffness_in_bending(radius, YOUNG_MODULUS)
    exact = [follower_elastica(force, EI)[0] for force in forces]
    tips, _ = tips_under_follower_forces(radius, modes, forces)
    error = np.linalg.norm(tips - exact, axis=1).max() / LENGTH
    print(f'largest error {error:.2e} of the length')
    return error


def bending(count, **options):
    return StrainModes(0, 0, 0, 0, count, 0, **options)


def test_the_tip_path_of_a_follower_force_with_14_modes():
    assert largest_error(0.57, bending(14)) < 1e-6


def test_the_papers_5_monomials_are_good_to_a_hundredth_of_the_length():
    """The same polynomials as Legendre's: the error is theirs, not the basis'."""
    error = largest_error(0.57, bending(5, family='monomial'))
    assert error < 0.01
    assert_allclose(error, largest_error(0.57, bending(5)), rtol=1e-6)


def test_the_tip_path_with_the_diameter_as_printed():
    """F L^2 / EI = 625 instead of 39: eight elements, and loads in steps of 2 kN."""
    assert largest_error(0.285, bending(9, elements=8), np.arange(2e3, 131e3, 2e3)) < 1e-6


def test_with_the_diameter_as_printed_5_monomials_are_lost():
    """By more than half of the length at 30 of 130 kN."""
    assert largest_error(0.285, bending(5, family='monomial'), np.arange(2e3, 31e3, 2e3)) > 0.5


def test_the_tip_of_a_follower_force_swings_between_0_and_180_degrees():
    """The closed form of a pendulum let go at the horizontal, of modulus 1 / sqrt(2)."""
    EI = stiffness_in_bending(0.57, YOUNG_MODULUS)
    _, cn, dn, _ = ellipj(np.sqrt(FORCES / EI) * LENGTH, 0.5)
    exact = np.pi / 2 - 2.0 * np.arcsin(np.sqrt(0.5) * cn / dn)
    _, angles = tips_under_follower_forces(0.57, bending(16), FORCES)
    assert_allclose(angles, exact, rtol=0, atol=1e-6)


# --- Cables: table I -----------------------------------------------------------------------------

R_CABLE = boyer2020.CABLE_RADIUS


def pulled(route, tension, count, breaks=()):
    """Return the tip of the cable-driven rod, and its solver."""
    modes = StrainModes(0, 0, 0, count, count, count, nodes=16, substeps=2)
    solver = boyer2020.cable_arm(route, modes, breaks)
    solver.drive(given_efforts(tension))
    assert solver.statics().converged
    return solver.state().p_end[-1], solver


def local_curvature(route, tension, s):
    """Return u at s: with nothing but the cable, each section balances it on its own."""
    EI = 1e6 * np.pi * R_CABLE ** 4 / 4
    K = np.array([EI, EI, 2 * EI * (1e6 / 3) / 1e6])
    (r,), (r_s,) = boyer2020.cable_place(route, np.array([s]))
    e3 = np.array([0.0, 0.0, 1.0])

    def balance(u):
        c = e3 + np.cross(u, r) + r_s
        return u + tension * np.cross(r, c / np.linalg.norm(c)) / K
    return fsolve(balance, np.zeros(3), xtol=1e-10)


def tip_of(route, tension):
    """Integrate the pose of the rod with that curvature."""
    e3 = np.array([0.0, 0.0, 1.0])

    def rate(s, y):
        R = y[:9].reshape(3, 3)
        u = local_curvature(route, tension, s)
        hat = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
        return np.concatenate([(R @ hat).ravel(), R @ e3])

    y = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    for a, b in ((0.0, 0.5), (0.5 + 1e-12, 1.0)):
        y = solve_ivp(rate, [a, b], y, rtol=1e-10, atol=1e-12).y[:, -1]
    return y[9:]


@pytest.mark.parametrize('route', boyer2020.ROUTES)
@pytest.mark.parametrize('tension', [1.0, 5.0])
def test_a_cable_bends_the_rod_as_its_sections_ask(route, tension):
    breaks = (0.5,) if route == 'parallel-truncated' else ()
    tip, _ = pulled(route, tension, 12, breaks)
    assert_allclose(tip, tip_of(route, tension), atol=2e-6 if route == 'spiral' else 1e-7)


def test_a_parallel_cable_is_a_tip_moment():
    """C = T R_b / 2, as the paper says: a circle, whose curvature is C / EI."""
    tip, solver = pulled('parallel', 2.0, 3)
    u = np.linalg.norm(solver.state().xi[:, 3:], axis=1)
    assert_allclose(u, 2.0 * R_CABLE / 2 / (1e6 * np.pi * R_CABLE ** 4 / 4), rtol=1e-10)


def test_five_modes_are_enough_but_where_the_cable_jumps():
    """Errors with 5 modes: small, except for the truncated cable, which a break makes exact."""
    for route in ('convergent', 'cross'):
        assert np.linalg.norm(pulled(route, 5.0, 5)[0] - tip_of(route, 5.0)) < 1e-4
    exact = tip_of('parallel-truncated', 5.0)
    five, ten = (np.linalg.norm(pulled('parallel-truncated', 5.0, n)[0] - exact) for n in (5, 10))
    assert five > 1e-3 and ten < five
    assert np.linalg.norm(pulled('parallel-truncated', 5.0, 1, (0.5,))[0] - exact) < 1e-9


# --- Test 3 as printed: G = 4.1e7 Pa makes it Euler's buckling -----------------------------------

LOOP_ROD = Rod([Segment(20.0, Circular(0.0176 / 2), Material(
    2.1e11, 1.0, shear_modulus=4.1e7))])


ACROSS = [10.0, 2.0, 0.0]
SLIDING = JointKind('prismatic')  # held but for the way along the rod


def twisted_and_pushed(modes, distance, steps=24):
    """
    Return the solver of a rod twisted by one turn, whose ends are then pushed together.

    With a force across at half length, (10, 2, 0) N, in place of the paper's gravity, whose
    density (2.04e8 kg/m^3) is not of this world: without either, the shape of a round rod could
    be turned about the line of its ends, and the equilibrium would not be unique.
    """
    solver = RodSolver(discretise(LOOP_ROD, modes, breaks=[10.0]))
    loads = solver.no_loads()
    for k in range(1, 19):
        angle = 2 * np.pi * k / 18
        solver.hold_tip(Rotation.from_rotvec([0, 0, angle]).as_matrix(), [0, 0, 20.0])
        assert solver.statics().converged
    assert_allclose(solver.state().xi[:, 5], 2 * np.pi / 20.0, rtol=1e-9)
    solver.hold_tip(np.eye(3), [0, 0, 20.0], SLIDING)
    for force in np.linspace(10.0, 110.0, 11):
        solver.load(loads._replace(end_force=np.array([ACROSS, [0.0, 0.0, -force]])))
        assert solver.statics().converged
    start = solver.state().p_end[-1, 2]
    solver.load(loads._replace(end_force=np.array([ACROSS, [0.0, 0.0, 0.0]])))
    for k in range(steps + 1):
        z = start + (distance - start) * k / steps
        solver.hold_tip(np.eye(3), [0, 0, z])
        assert solver.statics().converged
    return solver


def test_with_the_printed_shear_modulus_the_twisted_rod_buckles():
    """
    GJ = 4e-4 EI: twist has no part in it.

    The ends stay where they are held, moments balance, and modes converge.
    """
    found = []
    for modes in (StrainModes(0, 0, 2, 8, 8, 6), StrainModes(0, 0, 2, 10, 10, 8)):
        solver = twisted_and_pushed(modes, 12.0)
        x = solver.state()
        assert_allclose(x.p_end[-1], [0, 0, 12.0], atol=1e-8)
        assert_allclose(x.Rc[-1], np.eye(3), atol=1e-8)
        found.append(x.p_end[0])
    assert np.linalg.norm(found[1][:2]) > 4.0  # far out of line
    assert_allclose(found[0], found[1], atol=2e-3 * 20.0)


def test_the_buckled_rod_satisfies_the_equations_of_a_rod():
    """Curvature by an initial value problem from the clamp, with the engine's own reactions."""
    solver = twisted_and_pushed(StrainModes(0, 0, 2, 12, 12, 10), 12.0)
    x, wrench = solver.state(), solver.reactions
    second = np.pi * (0.0176 / 2) ** 4 / 4
    K = second * np.array([2.1e11, 2.1e11, 2 * 4.1e7])
    force, moment_tip = wrench[:3], wrench[3:]
    p_tip = x.p_end[-1]

    def rate(s, y):
        R, p = y[:9].reshape(3, 3), y[9:]
        n = force + (np.array(ACROSS) if s < 10.0 else 0.0)
        m = moment_tip + np.cross(p_tip - p, force)
        if s < 10.0:
            m = m + np.cross(x.p_end[0] - p, ACROSS)
        u = R.T @ m / K
        stretch = (R.T @ n)[2] / (2.1e11 * np.pi * (0.0176 / 2) ** 2)
        hat = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
        return np.concatenate([(R @ hat).ravel(), R @ [0, 0, 1.0 + stretch]])

    y = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    for a, b in ((0.0, 10.0 - 1e-12), (10.0, 20.0)):
        y = solve_ivp(rate, [a, b], y, rtol=1e-10, atol=1e-12).y[:, -1]
    assert_allclose(y[9:], p_tip, atol=1e-3 * 20.0)
    R = y[:9].reshape(3, 3)
    assert_allclose(R[:, 2], [0.0, 0.0, 1.0], atol=1e-4)
    assert abs(R[1, 0]) < 0.1  # twist: the rod is 2500 times softer in it than in bending


# --- Test 3 with flexion and torsion -------------------------------------------------------------

PAPER_MODES = StrainModes(0, 0, 2, 5, 5, 3, family='chebyshev', nodes=16, substeps=2)
FINE_MODES = StrainModes(0, 0, 2, 10, 10, 8, elements=2, substeps=2)


def rotation_of(h):
    """Return rotations (3, 3, k) of quaternions (4, k), scalar first."""
    a, b, c, d = h
    return np.array([
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d]])


def loop_by_collocation(solver):
    """
    Return curvature and twist (N, 3) [1/m] of a rod clamped at both ends, by scipy's collocation.

    p, quaternion, force and moment (13 equations, world frame), in units of length and EI; both
    poses are given, and the engine's solution is but the first guess.
    """
    x, d, EI = solver.state(), solver.d, stiffness_in_bending(loop.RADIUS, 2.1e11)
    area, L, torsion = np.pi * loop.RADIUS ** 2, loop.LENGTH, 1.0 / (1.0 + loop.POISSON_RATIO)
    stretching = 2.1e11 * area * L ** 2 / EI
    weight = loop.DENSITY * area * loop.GRAVITY * L ** 3 / EI

    def slope(s, y):
        h, n, m = y[3:7], y[7:10], y[10:]
        R = rotation_of(h)
        u = np.einsum('jik,jk->ik', R, m) / np.array([[1.0], [1.0], [torsion]])
        t = R[:, 2] * (1.0 + (R[:, 2] * n).sum(axis=0) / stretching)
        a, b, c, d = h
        h_s = 0.5 * np.array([
            -b * u[0] - c * u[1] - d * u[2], a * u[0] + c * u[2] - d * u[1],
            a * u[1] - b * u[2] + d * u[0], a * u[2] + b * u[1] - c * u[0]])
        return np.vstack([
            t, h_s, np.repeat(-weight[:, None], s.size, axis=1), -np.cross(t, n, axis=0)])

    def ends(a, b):
        R = rotation_of(b[3:7])
        return np.concatenate([
            a[:3], a[3:7] - [1, 0, 0, 0], b[:3] - x.p_end[-1] / L,
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]])

    s = np.concatenate([[0.0], d.s / L, [1.0]])
    R = np.concatenate([x.Rc[:1], x.Rc[d.station], x.Rc[-1:]])
    h = np.roll(Rotation.from_matrix(R).as_quat(), 1, axis=1)
    h *= np.sign(h[0, 0]) * np.cumprod(np.append(1.0, np.sign((h[1:] * h[:-1]).sum(axis=1))))[
        :, None]
    u = L * x.xi[[0, *range(d.s.size), -1], 3:] * [1.0, 1.0, torsion]
    guess = np.hstack([
        np.vstack([np.zeros(3), x.p, x.p_end[-1]]) / L, h,
        solver.reactions[:3] * L ** 2 / EI + weight * (1.0 - s[:, None]),
        np.einsum('kij,kj->ki', R, u)])
    found = solve_bvp(slope, ends, s, guess.T, tol=1e-6, max_nodes=20000)
    assert found.success
    y = found.sol(d.s / L)
    return np.einsum('jik,jk->ki', rotation_of(y[3:7]), y[10:]) / [1.0, 1.0, torsion] / L


def test_torsion_turns_into_a_loop_whose_tip_goes_beyond_its_base():
    """The tip from l to -0.5 l: curvature and twist within 0.1 % of collocation, all the way."""
    twist, bending = [], []
    for solver in loop.pushed(FINE_MODES, [18.0, 12.0, 8.0, 4.0, 0.0, -10.0]):
        x = solver.state()
        exact, found = loop_by_collocation(solver), x.xi[:, 3:]
        assert np.abs(found - exact).max() < 1e-3 * np.abs(exact).max()
        assert_allclose(x.Rc[-1], np.eye(3), atol=1e-8)
        twist.append(np.abs(found[:, 2]).max())
        bending.append(np.sqrt(solver.d.w @ (found[:, :2] ** 2).sum(axis=1)))
        out_of_plane = np.abs(x.p[:, 1]).max()
    assert twist[0] > 0.9 * 2 * np.pi / loop.LENGTH and twist[3] < 1e-6 * twist[0]
    assert bending[2] > 1.5 * bending[0] and out_of_plane < 1e-6  # a plane loop


def best_of_polynomials(d, values, count):
    """Return the error of the best approximation (k,) of values (N, k) by so many polynomials."""
    return [np.abs(Polynomial.fit(d.s, f, count - 1, w=np.sqrt(d.w))(d.s) - f).max()
            for f in values.T]


def test_the_papers_modes_leave_percents():
    """
    Twist within 0.1 % is printed; with G as here, 5 modes of curvature are not enough.

    Curvature is off by what the best approximation by 5 polynomials is, and twist by less.
    """
    errors, best = [], []
    for solver in loop.pushed(PAPER_MODES, [18.0, 12.0, 8.0]):
        exact = loop_by_collocation(solver)
        errors.append(np.abs(solver.state().xi[:, 3:] - exact).max(axis=0))
        best.append(best_of_polynomials(solver.d, exact[:, :2], 5))
    errors, best = (np.array(a) / (2 * np.pi / loop.LENGTH) for a in (errors, best))
    print(errors, best, sep='\n')
    assert (errors[:, :2] < 2.0 * best).all() and best.max() > 0.1
    assert (0.01 < errors[:, 2]).all() and (errors[:, 2] < errors[:, :2].max(axis=1)).all()
