"""Strain-mode engine: exact derivatives, closed forms, orders, and agreement with the oracle."""

import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.assembly.loads import Bodies, join, Loads
from cosserat_ros.assembly.one_rod import CLAMPED, RodSolver
from cosserat_ros.assembly.rods import OnBody, PLATFORM, RodsSolver
from cosserat_ros.assembly.state import at_rest
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Damping, Material, RestShape, Rod, Segment
from cosserat_ros.description.section import Circular, Rectangular
from cosserat_ros.laws.actuators import GAS, given_efforts, LENGTH, lengths_and_gradients, Paths
from cosserat_ros.numerics.integrators import begin, SCHEMES
from cosserat_ros.papers.cantilever import Cantilever
from cosserat_ros.papers.collocation import CollocationSimulator
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.rod.kinematics import Base, kinematics

STEEL = Material(207e9, 8000.0, shear_modulus=79e9)  # Till 2019, section 3
L, EI = 0.4, 207e9 * np.pi * 1e-12 / 4
TILL = Rod([Segment(L, Circular(1e-3), STEEL)])
ACROSS = np.array([-9.81, 0.0, 0.0])
KIRCHHOFF = StrainModes(shear_x=0, shear_y=0, stretch=0, bend_x=6, bend_y=6, twist=6)


def odd_rod():
    """Return a rod with everything: two segments, taper, rest shape, damping, flat section."""
    return Rod([
        Segment(0.2, Circular(2e-3), STEEL, tip_section=Circular(1e-3),
                rest=RestShape(curvature=(1.0, -2.0, 0.5), tip_curvature=(0.0, 3.0, -1.0)),
                damping=Damping(bending_and_twist=(1e-3, 2e-3, 3e-3),
                                shear_and_stretch=(1.0, 2.0, 3.0))),
        Segment(0.15, Rectangular(2e-3, 1e-3), STEEL, damping=Damping(relaxation_time=1e-4))])


def moving_base(rng):
    return Base(Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), *rng.normal(size=(5, 3)))


def all_loads(solver, rng):
    """Return loads of every kind."""
    none = solver.no_loads()
    scale = {'gravity': 9.81, 'line_force': 1.0, 'line_moment': 0.01, 'end_force': 1.0,
             'end_moment': 0.05, 'follower_force': 1.0, 'follower_moment': 0.05, 'stress': 0.1,
             'square_drag': 0.03, 'linear_drag': 0.02}
    loads = {name: s * rng.normal(size=getattr(none, name).shape) for name, s in scale.items()}
    return none._replace(**loads, bodies=some_bodies(len(none.end_force), rng))


def some_bodies(count, rng):
    """Return bodies, out of centre and turned, at every other end."""
    mass = 0.05 * (np.arange(count) % 2 == 0)
    return Bodies(mass, 0.03 * rng.normal(size=(count, 3)),
                  1e-5 * np.tile([1.0, 2.0, 2.5], (count, 1)),
                  Rotation.from_rotvec(rng.normal(size=(count, 3))).as_matrix())


def some_paths(d, rng):
    """Return two tendons, one of which ends half way, and a chamber."""
    r, r_s = 0.01 * rng.normal(size=(3, d.s.size, 3)), 0.05 * rng.normal(size=(3, d.s.size, 3))
    weight = np.tile(d.w, (3, 1)) * np.array([1.0, 1.0, 2e-5])[:, None]
    weight[1, d.s > 0.2] = 0.0
    return Paths(r, r_s, weight, np.array([False, False, True]))


def random_motion(d, rng):
    """Return q, q_t, q_tt of a strongly bent, fast rod."""
    small = np.where(d.component < 3, 1e-3, 3.0)
    return [factor * small * rng.normal(size=small.size) for factor in (1.0, 10.0, 300.0)]


def derivative(f, h):
    """Differentiate f at zero: central, sixth order."""
    return sum(c * (f(k * h) - f(-k * h)) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60 * h)


CASES = [
    StrainModes(), KIRCHHOFF, StrainModes(elements=2, family='chebyshev', shear_x=0, twist=1),
    StrainModes(0, 0, 1, 3, 0, 2, family='monomial', substeps=2)]


@pytest.fixture(params=CASES)
def case(request):
    """Return a solver of an odd rod with a moving base and actuators, its loads and a motion."""
    rng = np.random.default_rng(7)
    d = discretise(odd_rod(), request.param, breaks=[0.07])
    solver = RodSolver(d, moving_base(rng), paths=some_paths(d, rng))
    return solver, all_loads(solver, rng), *random_motion(d, rng)


# --- Derivatives ---------------------------------------------------------------------------------

def test_velocities_and_accelerations_are_exact_derivatives(case):
    solver, _, q, q_t, q_tt = case
    still = Base(*at_rest(solver.base().R, solver.base().p))

    def at(t):
        return kinematics(solver.d, still, q + t * q_t + t * t / 2 * q_tt, q_t + t * q_tt, q_tt)

    now, h = at(0.0), 1e-4
    for value, rate in (('p', 'p_t'), ('p_t', 'p_tt'), ('Om', 'Om_t'), ('t', 't_t'),
                        ('t_t', 't_tt'), ('p_end', 'p_end_t'), ('p_end_t', 'p_end_tt')):
        expected = derivative(lambda t, name=value: getattr(at(t), name), h)
        found = getattr(now, rate)
        assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(found).max())
    spin = derivative(lambda t: at(t).Rc[-1], h) @ now.Rc[-1].T
    assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], now.Om[-1], rtol=1e-9)


def assert_jacobian_exact(solver, z, z_t, z_tt, cV, cA, size=0.0):
    """
    Compare the tangent with sixth-order differences, column by column.

    `size` is that of terms which cancel in the residual: their rounding errors do not.
    """
    r, K = solver.jacobian(z, z_t, z_tt, cV, cA)
    bends = np.concatenate([
        at[d.component >= 3] for at, d in zip(solver.q_places, solver.rods)])
    for c, e in enumerate(np.eye(z.size)):
        step = 1e-5 if c in bends else 1e-6  # short: square drag has a kink
        expected = derivative(lambda t, e=e: solver.residual(
            z + t * e, z_t + cV * t * e * solver.moves, z_tt + cA * t * e * solver.moves), step)
        noise = np.finfo(float).eps * (np.abs(r) + size) / step  # of the difference
        error = np.abs(K[:, c] - expected)
        assert np.all(error < 1e-8 * np.abs(K[:, c]).max() + 5.0 * noise), c


EFFORTS = np.array([2.0, -1.5, -3e4])
TERMS = [*Loads._fields, 'efforts', 'inertia', 'all']


@pytest.mark.parametrize('cV, cA', [(0.0, 0.0), (300.0, 5e4)], ids=['statics', 'dynamics'])
@pytest.mark.parametrize('term', TERMS)
def test_each_term_of_the_tangent_is_exact(case, term, cV, cA):
    solver, loads, *motion = case
    efforts = EFFORTS if term in ('efforts', 'all') else np.zeros(3)
    if term in loads._fields:
        loads = solver.no_loads()._replace(**{term: getattr(loads, term)})
    elif term != 'all':
        loads = solver.no_loads()
    solver.load(loads)
    base = solver.base()
    if cA == 0.0:
        base = at_rest(base.R, base.p)
        motion = [motion[0], *np.zeros((2, motion[0].size))]
    solver.put(base, *motion)
    z = solver.z.copy()
    z[solver.effort_places] = efforts
    assert_jacobian_exact(solver, z, solver.z_t, solver.z_tt, cV, cA)


def extended(solver, *motions):
    """Return z, z_t, z_tt: the rods' motions, the same efforts, and random further unknowns."""
    rng = np.random.default_rng(5)
    instant = rng.normal(size=(3, solver.Z))
    instant[1:, ~solver.moves] = 0.0
    for places, motion in zip(solver.q_places, motions):
        instant[:, places] = motion
    instant[0, solver.effort_places] = np.tile(EFFORTS, len(motions))
    return instant


def test_the_tangent_of_a_free_base_is_exact(case):
    clamped, loads, *motion = case
    solver = RodSolver(clamped.d, clamped.base(), clamped.paths[0], free=True)
    solver.load(loads)
    assert_jacobian_exact(solver, *extended(solver, motion), 300.0, 5e4)


HOLDS = [CLAMPED, JointKind('spherical'), JointKind('revolute')]


@pytest.mark.parametrize('hold', HOLDS, ids=lambda hold: hold.name)
def test_the_tangent_of_a_held_tip_is_exact(case, hold):
    solver, loads, *motion = case
    R = kinematics(solver.d, solver.base(), *motion).Rc[-1] @ Rotation.from_rotvec(
        [0.3, -0.2, 0.5]).as_matrix()
    solver.hold_tip(R, [0.3, -0.4, 0.2], hold)
    solver.load(loads)
    assert_jacobian_exact(solver, *extended(solver, motion), 300.0, 5e4)


@pytest.mark.parametrize('kind', [LENGTH, GAS])
@pytest.mark.parametrize('taut', [True, False])
def test_the_tangent_of_closed_actuators_is_exact(case, kind, taut):
    solver, loads, *motion = case
    length = lengths_and_gradients(solver.paths[0], kinematics(
        solver.d, solver.base(), *motion).xi)[0]
    drives = given_efforts(np.zeros(3))._replace(
        kind=np.array([LENGTH, LENGTH, kind]), compliance=np.array([1e-3, 0.0, 1e-12]),
        pulls=np.array([True, True, False]), ambient=np.full(3, 1e5), dead=np.full(3, 1e-6),
        scale=np.full(3, 300.0), command=length + (-0.1 if taut else 0.1))
    if kind == GAS:
        drives.command[2] = 1.3e5 * length[2]
    solver.load(loads)
    solver.drive(drives)
    assert_jacobian_exact(
        solver, *extended(solver, motion), 300.0, 5e4, size=2e5 if kind == GAS else 100.0)


@pytest.mark.parametrize('hold', HOLDS, ids=lambda hold: hold.name)
def test_the_tangent_of_a_platform_is_exact(hold):
    """Three different rods to one body that spins."""
    rng = np.random.default_rng(11)
    d = discretise(odd_rod(), StrainModes(1, 0, 1, 2, 3, 2))
    bases = [moving_base(rng) for _ in range(3)]
    paths = [some_paths(d, rng) for _ in range(3)]
    turned = Rotation.from_rotvec(0.3 * rng.normal(size=(5, 3))).as_matrix()
    bodies = {f'base_{i}': RigidBody(pose=pose(base.p, base.R), driven=True)
              for i, base in enumerate(bases)}
    bodies[PLATFORM] = RigidBody(
        0.3, turned[4] @ np.diag([1e-3, 2e-3, 2.5e-3]) @ turned[4].T, pose=pose(R=turned[0]))
    rods = {f'rod_{i}': RodPart(
        d, base=Attachment(f'base_{i}'), tip=Attachment(PLATFORM, pose(
            0.1 * rng.normal(size=3), turned[1 + i])), tip_joint=hold, paths=paths[i])
        for i in range(3)}
    solver = RodsSolver(Assembly(bodies, rods), dict.fromkeys(rods, d))
    for i, base in enumerate(bases):
        for part, value in zip(solver.tree.roots, base):
            part[solver.places.bodies[f'base_{i}'].link] = value
    solver.load(join([all_loads(RodSolver(d), rng) for _ in range(3)]))
    solver.load_bodies([OnBody(PLATFORM, np.eye(4), rng.normal(size=6), False)], {})
    instant = 0.1 * extended(solver, *(random_motion(d, rng) for _ in range(3)))
    instant[:, solver.platform_places] = 0.5 * rng.normal(size=(3, 6))
    # A loop's turn is the logarithm of a rotation, of entries that are about 1.
    assert_jacobian_exact(solver, *instant, 300.0, 5e4, size=1.0 * solver.closing)


def test_statics_is_the_gradient_of_an_energy():
    rng = np.random.default_rng(3)
    d = discretise(odd_rod(), StrainModes())
    solver = RodSolver(d, paths=some_paths(d, rng))
    force, effort = rng.normal(size=(2, 3)), rng.normal(size=3)
    solver.load(solver.no_loads()._replace(gravity=ACROSS, end_force=force))
    q = random_motion(d, rng)[0]
    zero = np.zeros_like(q)

    def energy(q):
        x = kinematics(d, solver.base(), q, zero, zero)
        potential = np.sum(d.w * d.inertia[:, 0] * (x.p @ ACROSS)) + np.sum(force * x.p_end)
        lengths = lengths_and_gradients(solver.paths[0], x.xi)[0]
        return q @ d.elastic @ q / 2 - potential + effort @ lengths

    z = np.concatenate([q, effort])
    Q = solver.residual(z, 0.0 * z, 0.0 * z)[:q.size]
    for c, e in enumerate(np.eye(q.size)):
        slope = derivative(lambda t, e=e: energy(q + t * e), 1e-6 if d.component[c] < 3 else 1e-3)
        assert abs(Q[c] - slope) < 1e-8 * np.abs(Q).max()


def test_the_chain_of_rotations_has_order_four():
    rod = Rod([Segment(1.0, Circular(1e-2), STEEL, rest=RestShape(
        curvature=(3.0, 1.0, -2.0), tip_curvature=(-1.0, 4.0, 2.0)))])
    exact = rod.rest_poses(1.0)[:3, :3]
    errors = []
    for substeps in (1, 2, 4):
        d = discretise(rod, StrainModes(substeps=substeps))
        zero = np.zeros(d.component.size)
        errors.append(np.abs(kinematics(d, RodSolver(d).base(), zero, zero, zero).Rc[-1] - exact))
    worst = [error.max() for error in errors]
    assert worst[0] < 1e-4
    assert_allclose(np.log2([worst[0] / worst[1], worst[1] / worst[2]]), 4.0, atol=0.3)


# --- Closed forms --------------------------------------------------------------------------------

@pytest.mark.parametrize('angle', [0.5, np.pi, 2 * np.pi, 4 * np.pi])
def test_a_tip_moment_makes_a_circle(angle):
    solver = RodSolver(discretise(TILL, StrainModes(nodes=24)))
    solver.load(solver.no_loads()._replace(end_moment=np.array([[0.0, EI * angle / L, 0.0]])))
    assert solver.statics().converged
    tip = L / angle * np.array([1 - np.cos(angle), 0.0, np.sin(angle)])
    assert_allclose(solver.state().p_end[-1], tip, rtol=0, atol=1e-10 * L)


def test_a_rolled_up_rod_is_unrolled():
    ring = Rod([Segment(L, Circular(1e-3), STEEL, rest=RestShape(
        curvature=(0.0, 2 * np.pi / L, 0.0)))])
    solver = RodSolver(discretise(ring, StrainModes(nodes=16)))
    assert_allclose(solver.state().p_end[-1], 0.0, atol=1e-12)
    moment = np.array([[0.0, -EI * 2 * np.pi / L, 0.0]])
    solver.load(solver.no_loads()._replace(end_moment=moment))
    assert solver.statics().converged
    assert_allclose(solver.state().p_end[-1], [0.0, 0.0, L], atol=1e-10 * L)


def test_the_elastica():
    """An inextensible rod under a tip force across, against its differential equation."""
    force = 2.0 * EI / L ** 2
    theta0 = elastica_tip_angle(force)
    sol = solve_ivp(lambda s, y: [y[1], -force / EI * np.cos(y[0]), np.sin(y[0]), np.cos(y[0])],
                    [0.0, L], [0.0, theta0, 0.0, 0.0], rtol=1e-12, atol=1e-14, method='DOP853')
    modes = StrainModes(shear_x=0, shear_y=0, stretch=0, bend_x=0, bend_y=10, twist=0)
    solver = RodSolver(discretise(TILL, modes))
    solver.load(solver.no_loads()._replace(end_force=np.array([[force, 0.0, 0.0]])))
    assert solver.statics().converged
    assert_allclose(solver.state().p_end[-1], [sol.y[2, -1], 0.0, sol.y[3, -1]], atol=1e-9)


def elastica_tip_angle(force):
    """Return the curvature at the clamp for which that at the tip is zero."""
    def tip_curvature(k):
        sol = solve_ivp(lambda s, y: [y[1], -force / EI * np.cos(y[0])], [0.0, L], [0.0, k],
                        rtol=1e-12, atol=1e-14, method='DOP853')
        return sol.y[1, -1]
    return brentq(tip_curvature, 0.0, 4.0 * force * L / EI, xtol=1e-13)


def linear_matrices(modes, rod):
    """Return stiffness and mass of small motion about rest."""
    d = discretise(rod, modes)
    solver = RodSolver(d)
    zero = np.zeros(d.component.size)
    K = solver.jacobian(zero, zero, zero, 0.0, 0.0)[1]
    return K, solver.jacobian(zero, zero, zero, 0.0, 1.0)[1] - K


def test_the_first_four_frequencies_are_euler_bernoullis():
    K, mass = linear_matrices(
        StrainModes(shear_x=0, shear_y=0, stretch=0, bend_x=0, bend_y=12, twist=0), TILL)
    found = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(mass, K)).real))[:4]
    beta = np.array([1.87510407, 4.69409113, 7.85475744, 10.99554073]) / L
    assert_allclose(found, beta ** 2 * np.sqrt(EI / (8000 * np.pi * 1e-6)), rtol=1e-3)


def test_shear_and_rotary_inertia_lower_the_first_frequency_as_timoshenko_says():
    """A thick cantilever, against the determinant of Timoshenko's equations."""
    thick = Rod([Segment(L, Circular(2e-2), STEEL)])
    GA, EI_thick = thick.stiffness(0.0)[[0, 4]]
    mass_line, J_line = thick.inertia(0.0)[[0, 4]]
    K, mass = linear_matrices(StrainModes(12, 0, 0, 0, 12, 0), thick)
    found = np.sqrt(np.linalg.eigvals(np.linalg.solve(mass, K)).real.min())

    def determinant(w):
        A = np.array([[0.0, 1.0, 1.0 / GA, 0.0], [0.0, 0.0, 0.0, 1.0 / EI_thick],
                      [-mass_line * w ** 2, 0.0, 0.0, 0.0], [0.0, -J_line * w ** 2, -1.0, 0.0]])
        return np.linalg.det(expm(A * L)[2:, 2:])  # of deflection, angle, force and moment

    euler = (1.87510407 / L) ** 2 * np.sqrt(EI_thick / mass_line)
    assert_allclose(found, brentq(determinant, 0.9 * euler, euler), rtol=1e-9)
    assert found < 0.998 * euler


def test_modes_converge_spectrally_to_the_oracle():
    """Statics in space under 3 N, against collocation with 160 elements."""
    oracle = CollocationSimulator(Cantilever(TILL, time_step=1.0, elements=160))
    force, moment = np.array([-3.0, 1.5, -1.0]), np.zeros(3)
    for part in (0.25, 0.5, 0.75, 1.0):
        assert oracle.statics(part * force, moment).converged
    errors = []
    for count in (3, 5, 7, 9):
        solver = RodSolver(discretise(TILL, StrainModes(
            count, count, count, count, count, count, substeps=4)))
        solver.load(solver.no_loads()._replace(
            gravity=np.array([0.0, 0.0, -9.81]), end_force=force[None]))
        assert solver.statics().converged
        errors.append(np.abs(solver.state().p_end[-1] - oracle.tip).max())
    assert errors[-1] < 1e-7 and errors[0] > 1e3 * errors[-1], errors


# --- Time ----------------------------------------------------------------------------------------

def pendulum(scheme, steps):
    """Integrate a damped pendulum over 2 s with these steps; return its last angle."""
    q, v = np.array([1.0]), np.array([0.3])
    past, previous = begin(q, v, -4.0 * np.sin(q) - 0.1 * v), 0.0
    for dt in steps:
        rule, x = scheme.rule(dt, previous), past[0]
        (cV, cA, c), (hV, hA, h) = rule.new, rule.past @ past
        for _ in range(20):
            x_t = cV * x + hV
            error = cA * x + hA + 4.0 * np.sin(x) + 0.1 * x_t
            x = x - error / (cA + 4.0 * np.cos(x) + 0.1 * cV)
        past = np.array([x, cV * x + hV, cA * x + hA, past[0], past[1], c * x + h])
        previous = dt
    return past[0, 0]


@pytest.mark.parametrize('pattern', [[1.0], [0.5, 1.5, 1.2, 0.8]], ids=['equal', 'uneven'])
@pytest.mark.parametrize('name', SCHEMES)
def test_schemes_have_their_order(name, pattern):
    exact = solve_ivp(lambda t, y: [y[1], -4.0 * np.sin(y[0]) - 0.1 * y[1]], [0.0, 2.0],
                      [1.0, 0.3], rtol=1e-13, atol=1e-13, method='DOP853').y[0, -1]
    errors = [abs(pendulum(SCHEMES[name], np.resize(pattern, n) * 2.0 / n) - exact)
              for n in (200, 400)]
    order = np.log2(errors[0] / errors[1])
    assert order > (0.9 if name == 'backward_euler' else 1.9)


def released(scheme, dt, duration, modes=KIRCHHOFF):
    """Return a solver of Till's benchmark, released from 0.5 N, after so many seconds."""
    solver = RodSolver(discretise(TILL, modes), scheme=SCHEMES[scheme])
    loads = solver.no_loads()._replace(gravity=ACROSS)
    solver.load(loads._replace(end_force=np.array([[-0.5, 0.0, 0.0]])))
    assert solver.statics().converged
    solver.load(loads)
    solver.start()
    for _ in range(round(duration / dt)):
        assert solver.step(dt).converged
    return solver


@pytest.mark.parametrize('scheme', SCHEMES)
@pytest.mark.parametrize('dt', [5e-3, 2e-3, 1e-3, 5e-4, 1e-4])
def test_there_is_no_smallest_time_step(scheme, dt):
    solver = released(scheme, dt, 30 * dt)
    assert np.isfinite(solver.state().p).all()


def distance_to_oracle(dt, duration=0.12):
    """Return the largest distance of tips [m] while a force comes and goes smoothly."""
    still = np.zeros(3)
    oracle = CollocationSimulator(Cantilever(
        TILL, time_step=dt, elements=40, scheme='bdf_alpha', alpha=-0.2, gravity=tuple(ACROSS)))
    assert oracle.statics(still, still).converged
    solver = RodSolver(
        discretise(TILL, StrainModes(4, 4, 4, 8, 8, 4)), scheme=SCHEMES['bdf_alpha'])
    loads = solver.no_loads()._replace(gravity=ACROSS)
    solver.load(loads)
    assert solver.statics().converged
    worst = 0.0
    for i in range(1, round(duration / dt) + 1):
        force = np.array([-0.5, 0.3, 0.0]) * np.sin(np.pi * i * dt / duration) ** 2
        assert oracle.step(force, still).converged
        solver.load(loads._replace(end_force=force[None]))
        assert solver.step(dt).converged
        worst = max(worst, np.abs(solver.state().p_end[-1] - oracle.tip).max())
    return worst


def test_motion_agrees_with_the_oracle():
    """
    To the order of the scheme.

    The oracle applies it to velocities in the body frame (Till 2019, eq. 5), the engine to strain
    rates: their difference is of the scheme's own order, and far below its error.
    """
    coarse, fine = distance_to_oracle(4e-3), distance_to_oracle(2e-3)
    assert fine < 5e-6
    assert np.log2(coarse / fine) > 1.7, (coarse, fine)


def total_energy(solver):
    energy = solver.energy()
    return energy.kinetic + energy.potential


@pytest.mark.parametrize('modes', [KIRCHHOFF, StrainModes()], ids=['kirchhoff', 'cosserat'])
def test_an_undamped_rod_keeps_its_energy(modes):
    """Within 0.1 % at every instant of 10 s, at 1 ms: a hundredth of the first period."""
    solver, straight = released('newmark', 1e-3, 0.0, modes), RodSolver(discretise(TILL, modes))
    straight.load(straight.no_loads()._replace(gravity=ACROSS))
    start, rest = total_energy(solver), total_energy(straight)
    worst = 0.0
    for _ in range(1000):
        for _ in range(10):
            assert solver.step(1e-3).converged
        worst = max(worst, abs(total_energy(solver) - start))
    assert worst < 1e-3 * abs(start - rest)


# --- What cannot be done -------------------------------------------------------------------------

def test_absurd_loads_leave_the_state_as_it_was():
    solver = RodSolver(discretise(TILL, StrainModes()))
    before = solver.state().p_end.copy()
    solver.load(solver.no_loads()._replace(end_force=np.full((1, 3), 1e300)))
    solution = solver.statics()
    assert not solution.converged and solution.message
    assert np.isfinite(solution.z).all()
    assert_allclose(solver.state().p_end, before)
    solver.load(solver.no_loads()._replace(end_force=np.full((1, 3), np.nan)))
    solution = solver.step(1e-3)
    assert not solution.converged and solver.time == 0.0
    assert_allclose(solver.state().p_end, before)


def test_bad_steps_and_loads_are_named():
    solver = RodSolver(discretise(TILL, StrainModes()))
    with pytest.raises(InvalidModel, match='dt'):
        solver.step(0.0)
    with pytest.raises(InvalidModel, match=r'end_force.*\(1, 3\)'):
        solver.load(solver.no_loads()._replace(end_force=np.zeros((2, 3))))


def test_modes_that_make_no_sense_are_refused():
    with pytest.raises(InvalidModel, match='at least one mode'):
        RodSolver(discretise(TILL, StrainModes(0, 0, 0, 0, 0, 0)))
    with pytest.raises(InvalidModel, match='family'):
        StrainModes(family='fourier')
    with pytest.raises(InvalidModel, match='breaks'):
        discretise(TILL, StrainModes(), breaks=[0.5])
