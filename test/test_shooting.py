"""Till's shooting method against the listing of his paper, its table 3, and closed forms."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
import pytest
from scipy.optimize import curve_fit
from scipy.spatial.transform import Rotation

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.rod import Damping, Material, RestShape, Rod, Segment
from cosserat_ros.description.section import Circular, FreeSection
from cosserat_ros.papers.arc_equations import arc_derivative, arc_tangent
from cosserat_ros.papers.cantilever import Cantilever
from cosserat_ros.papers.shooting import cubic, linear, shoot, ShootingSimulator

STEEL = Material(young_modulus=207e9, density=8000.0, shear_modulus=79e9)
ROD = Rod([Segment(0.4, Circular(1e-3), STEEL)])  # Till 2019, section 3
EI = ROD.stiffness(0.0)[3]
BENCHMARK = Cantilever(ROD, 5e-3, gravity=(-9.81, 0.0, 0.0))
RELEASED = (-0.5, 0.0, 0.0)  # [N]
LIMP = Rod([Segment(  # with everything that a rod can have
    0.3, Circular(2e-3), Material(5e7, 1100.0, poisson_ratio=0.4), tip_section=Circular(1.5e-3),
    rest=RestShape((0.01, 0.02, 1.05), (1.0, -0.5, 0.4)),
    damping=Damping(relaxation_time=0.02, bending_and_twist=(1e-6, 2e-6, 3e-6)))])


# --- The listing of appendix B ------------------------------------------------------------------

def cross(a, b):
    return np.array([
        a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def listing(steps, rk4=True, B_se=0.0, B_bt=0.0, C=0.0, F_tip=(0.0, 0.0, 0.0)):
    """
    Return tip positions (steps, 3) by the MATLAB listing, line by line but for three things.

    The columns of the Jacobian are shot all at once, the strains at the tip are kept as well, and
    drag is that of eq. (3): in the listing, all three are for a free and undamped rod.
    """
    L, N, E, r, rho = 0.4, 40, 207e9, 0.0012, 8000.0
    g, dt = 10.0 * np.array([-9.81, 0.0, 0.0]), 0.005
    A, G, ds = np.pi * r ** 2, E / (2.0 * (1.0 + 0.3)), L / (N - 1)
    J = np.array([np.pi * r ** 4 / 4, np.pi * r ** 4 / 4, np.pi * r ** 4 / 2])[:, None]
    K_se, K_bt = np.array([[G * A], [G * A], [E * A]]), np.array([[E], [E], [G]]) * J
    v_star = np.array([[0.0], [0.0], [1.0]])
    c0, c1, c2 = 1.5 / dt, -2.0 / dt, 0.5 / dt

    def ode(y, yh, zh):
        h, n, m, q, w = np.split(y[3:], [4, 7, 10, 13])
        h1, h2, h3, h4 = h
        R = np.eye(3)[:, :, None] + 2.0 / (h * h).sum(axis=0) * np.array([
            [-h3 ** 2 - h4 ** 2, h2 * h3 - h4 * h1, h2 * h4 + h3 * h1],
            [h2 * h3 + h4 * h1, -h2 ** 2 - h4 ** 2, h3 * h4 - h2 * h1],
            [h2 * h4 - h3 * h1, h3 * h4 + h2 * h1, -h2 ** 2 - h3 ** 2]])
        to_world, to_body = 'ijk,jk->ik', 'jik,jk->ik'
        v = (np.einsum(to_body, R, n) + K_se * v_star - B_se * zh[:3]) / (K_se + c0 * B_se)
        u = (np.einsum(to_body, R, m) - B_bt * zh[3:]) / (K_bt + c0 * B_bt)
        z = np.concatenate([v, u])
        v_t, u_t = np.split(c0 * z + zh, 2)
        q_t, w_t = np.split((c0 * y + yh)[13:], 2)
        f = rho * A * g[:, None] - np.einsum(to_world, R, C * q * abs(q))
        p_s = np.einsum(to_world, R, v)
        n_s = rho * A * np.einsum(to_world, R, cross(w, q) + q_t) - f
        m_s = rho * np.einsum(to_world, R, cross(w, J * w) + J * w_t) - cross(p_s, n)
        q_s = v_t - cross(u, q) + cross(w, v)
        w_s = u_t - cross(u, w)
        u1, u2, u3 = u
        h_s = 0.5 * np.array([
            -u1 * h2 - u2 * h3 - u3 * h4, u1 * h1 + u3 * h3 - u2 * h4,
            u2 * h1 - u3 * h2 + u1 * h4, u3 * h1 + u2 * h2 - u1 * h3])
        return np.concatenate([p_s, h_s, n_s, m_s, q_s, w_s]), z

    def residual(guess):
        y, z = np.zeros((N, 19, guess.shape[1])), np.empty((N, 6, guess.shape[1]))
        y[0, 3], y[0, 7:13] = 1.0, guess
        for j in range(N - 1):
            k1, z[j] = ode(y[j], yh[j], zh[j])
            y[j + 1] = y[j] + ds * k1
            if rk4:
                yh_int, zh_int = 0.5 * (yh[j] + yh[j + 1]), 0.5 * (zh[j] + zh[j + 1])
                k2, _ = ode(y[j] + k1 * ds / 2, yh_int, zh_int)
                k3, _ = ode(y[j] + k2 * ds / 2, yh_int, zh_int)
                k4, _ = ode(y[j] + k3 * ds, yh[j + 1], zh[j + 1])
                y[j + 1] = y[j] + ds * (k1 + 2 * (k2 + k3) + k4) / 6
        z[-1] = ode(y[-1], yh[-1], zh[-1])[1]
        return y[-1, 7:13] - np.array([*F_tip, 0.0, 0.0, 0.0])[:, None], y[..., :1], z[..., :1]

    y, z = np.zeros((N, 19, 1)), np.zeros((N, 6, 1))
    y[:, 2, 0], z[:, 2] = np.linspace(0.0, L, N), 1.0
    y_prev, z_prev, guess, tips = y, z, np.zeros(6), []
    for _ in range(steps):
        yh, zh = c1 * y + c2 * y_prev, c1 * z + c2 * z_prev
        y_prev, z_prev = y, z
        for _ in range(8):
            E_all, y, z = residual(guess[:, None] + 1e-7 * np.eye(6, 7, 1))
            if np.abs(E_all[:, 0]).max() < 1e-9:
                break
            guess = guess - np.linalg.solve((E_all[:, 1:] - E_all[:, :1]) / 1e-7, E_all[:, 0])
        tips.append(y[-1, :3, 0])
    return np.array(tips)


@pytest.mark.parametrize(('options', 'integrator', 'steps'), [
    ({}, 'rk4', 24),
    ({'rk4': False}, 'euler', 20),
    ({'B_se': 30.0, 'B_bt': 1e-3, 'C': 0.5, 'F_tip': (0.5, 1.0, 0.2)}, 'rk4', 10),
], ids=['as printed', 'euler', 'damping, drag and tip force'])
def test_appendix_b(options, integrator, steps):
    material = Material(207e9, 8000.0, poisson_ratio=0.3)
    B_se, B_bt, C = (options.get(name, 0.0) for name in ('B_se', 'B_bt', 'C'))
    damping = Damping(0.0, (B_se,) * 3, (B_bt,) * 3)
    rod = Rod([Segment(0.4, Circular(1.2e-3), material, damping=damping)])
    problem = Cantilever(
        rod, 5e-3, elements=39, scheme='bdf2', gravity=(-98.1, 0.0, 0.0), drag=(C,) * 3)
    sim = ShootingSimulator(problem, integrator, tolerance=1e-9)
    expected = listing(steps, **options)
    for tip in expected:
        assert sim.step(options.get('F_tip', (0.0, 0.0, 0.0))).converged
        assert_allclose(sim.tip, tip, rtol=0.0, atol=2e-9)
    assert sim.time == pytest.approx(steps * 5e-3)
    if not options:  # "an exaggerated movement", within the axes of the listing's plot
        assert -0.55 * 0.4 < expected[:, 0].min() < -0.06


# --- Statics ------------------------------------------------------------------------------------

def test_tip_moment_makes_a_circle():
    sim = ShootingSimulator(replace(BENCHMARK, gravity=(0.0, 0.0, 0.0)))
    curvature = 1.5 * np.pi / ROD.length
    assert sim.statics((0.0, 0.0, 0.0), (0.0, curvature * EI, 0.0)).converged
    angle = curvature * sim.s
    expected = np.stack([1.0 - np.cos(angle), 0.0 * angle, np.sin(angle)], axis=1) / curvature
    assert_allclose(sim.poses[:, :3, 3], expected, rtol=0.0, atol=1e-8)
    turned = Rotation.from_rotvec(np.outer(angle, [0.0, 1.0, 0.0])).as_matrix()
    assert_allclose(sim.poses[:, :3, :3], turned, rtol=0.0, atol=1e-7)
    assert_allclose(sim.strains - [0, 0, 1, 0, curvature, 0], 0.0, rtol=0.0, atol=1e-6)
    assert sim.energy == pytest.approx(0.5 * EI * curvature ** 2 * ROD.length, rel=1e-8)


@pytest.mark.parametrize('model', ['cosserat', 'kirchhoff'])
def test_small_deflection(model):
    F, L, GA = 1e-4, ROD.length, ROD.stiffness(0.0)[0]
    problem = replace(BENCHMARK, gravity=(0.0, 0.0, 0.0), model=model)
    sim = ShootingSimulator(problem, tolerance=1e-13)
    assert sim.statics((0.0, F, 0.0)).converged
    shear = F * L / GA if model == 'cosserat' else 0.0  # a share of 1e-5
    assert_allclose(sim.tip[1], F * L ** 3 / (3.0 * EI) + shear, rtol=1e-7)


def test_hanging_rod_stretches():
    problem = replace(BENCHMARK, gravity=(0.0, 0.0, 9.81))
    sim = ShootingSimulator(problem)
    assert sim.statics((0.0, 0.0, 100.0)).converged
    EA, weight, L = ROD.stiffness(0.0)[2], 9.81 * ROD.mass, ROD.length
    assert_allclose(sim.tip[2] - L, (100.0 + weight / 2.0) * L / EA, rtol=1e-9)
    assert_allclose(sim.loads[0], [0, 0, 100.0 + weight, 0, 0, 0], rtol=1e-9, atol=1e-9)


def test_kirchhoff_is_cosserat_for_a_slender_rod():
    def history(model):
        sim = ShootingSimulator(replace(BENCHMARK, model=model, elements=40))
        assert sim.statics(RELEASED).converged
        return np.array([sim.tip for _ in range(20) if sim.step().converged])
    cosserat, kirchhoff = history('cosserat'), history('kirchhoff')
    difference = np.abs(cosserat - kirchhoff).max() / np.ptp(cosserat[:, 0])
    assert len(cosserat) == 20 and 1e-6 < difference < 1e-4


def test_rest_shape():
    sim = ShootingSimulator(Cantilever(LIMP, 1e-2, gravity=(0.0, 0.0, 0.0)))
    rest = LIMP.rest_poses(sim.s)
    assert_allclose(sim.poses, rest, rtol=0.0, atol=1e-14)
    assert sim.statics((1e-3, 2e-3, 0.0), (1e-4, 0.0, 1e-4)).converged
    assert np.abs(sim.tip - rest[-1, :3, 3]).max() > 1e-3
    assert sim.statics((0.0, 0.0, 0.0)).converged
    assert_allclose(sim.poses, rest, rtol=0.0, atol=1e-7)


# --- Orders and Jacobians -----------------------------------------------------------------------

def order(values):
    """Return the order of convergence from values at sizes 4, 2, 1."""
    coarse, middle, fine = values
    return np.log2(np.abs(coarse - middle).max() / np.abs(middle - fine).max())


@pytest.mark.parametrize(('integrator', 'history', 'elements', 'steps', 'expected'), [
    ('euler', 'linear', 50, 0, 1),
    ('rk4', 'linear', 8, 0, 4),
    ('euler', 'linear', 400, 6, 1),
    ('rk4', 'linear', 20, 6, 2),  # the paper's interpolation costs two orders
    ('rk4', 'cubic', 20, 6, 4),
])
def test_order_in_arc_length(integrator, history, elements, steps, expected):
    tips = []
    for n in (elements, 2 * elements, 4 * elements):
        sim = ShootingSimulator(
            replace(BENCHMARK, elements=n), integrator, history, tolerance=1e-12)
        assert sim.statics((-2.0, 1.0, 0.0)).converged
        for _ in range(steps):
            assert sim.step().converged
        tips.append(sim.tip)
    assert order(tips) == pytest.approx(expected, abs=0.25)


def state_and_history(problem, seed):
    """Return a random state, history and dynamic model."""
    random = np.random.default_rng(seed)
    model = problem.arc_model(problem.coefficients.c0)
    y = random.normal(size=19) * np.repeat([1, 0.5, 0.02, 0.002, 1, 2], [3, 4, 3, 3, 3, 3])
    return y, random.normal(size=(len(model.rest), 12)), model


def test_equations_as_printed():
    """Eqs. (3), (6), (7), (9) of Till 2019, with strains as they are, not counted from rest."""
    problem = Cantilever(LIMP, 1e-2, elements=4, drag=(0.3, 0.2, 0.1), gravity=(1.0, 2.0, 3.0))
    y, xh, arc = state_and_history(problem, seed=4)
    k, c0 = 3, problem.coefficients.c0
    s = k * LIMP.length / 8
    K, B, rho_AJ, rest = (f(s) for f in (
        LIMP.stiffness, LIMP.damping, LIMP.inertia, LIMP.rest_strain))
    _, h, n, m, q, w = np.split(y, [3, 7, 10, 13, 16])
    R = Rotation.from_quat(np.roll(h, -1)).as_matrix()
    zh = xh[k, :6] - c0 * rest  # z_t = c0 z + zh
    z = (np.concatenate([R.T @ n, R.T @ m]) + K * rest - B * zh) / (K + c0 * B)
    (v, u), (v_t, u_t) = np.split(z, 2), np.split(c0 * z + zh, 2)
    q_t, w_t = c0 * q + xh[k, 6:9], c0 * w + xh[k, 9:]
    rho_A, rho_J = rho_AJ[0], np.diag(rho_AJ[3:])
    f = rho_A * np.array(problem.gravity) - R @ (problem.drag * q * abs(q))
    p_s = R @ v
    u1, u2, u3 = u
    expected = np.concatenate([
        p_s,
        0.5 * np.array([
            [0, -u1, -u2, -u3], [u1, 0, u3, -u2], [u2, -u3, 0, u1], [u3, u2, -u1, 0]]) @ h,
        rho_A * R @ (np.cross(w, q) + q_t) - f,
        R @ (np.cross(w, rho_J @ w) + rho_J @ w_t) - np.cross(p_s, n),
        v_t - np.cross(u, q) + np.cross(w, v),
        u_t - np.cross(u, w)])
    y_s, x = np.empty(19), np.empty(12)
    arc_derivative(y, xh, arc, k, y_s, x)
    assert_allclose(x, np.concatenate([z - rest, q, w]), rtol=1e-10)
    for start, stop in zip((0, 3, 7, 10, 13, 16), (3, 7, 10, 13, 16, 19)):
        assert_allclose(y_s[start:stop], expected[start:stop], rtol=1e-9)


def test_history_between_nodes():
    s = np.linspace(0.0, 1.0, 7)
    middle = 0.5 * (s[1:] + s[:-1])
    for power in range(5):
        assert np.allclose(linear(s ** power), middle ** power, atol=1e-12) == (power <= 1)
        error = np.abs(cubic(s ** power) - middle ** power)
        assert error.max() < 1e-12 if power <= 3 else error.min() > 1e-5


@pytest.mark.parametrize('model', ['cosserat', 'kirchhoff'])
def test_tangent_of_the_equations(model):
    problem = Cantilever(LIMP, 1e-2, elements=4, model=model, drag=(0.3, 0.2, 0.1))
    y, xh, arc = state_and_history(problem, seed=1)
    tangent, x = np.empty((19, 19)), np.empty(12)
    arc_tangent(y, xh, arc, 3, np.eye(19), tangent)
    step = 1e-6
    for j in range(19):
        ahead, behind = np.empty(19), np.empty(19)
        arc_derivative(y + step * np.eye(19)[j], xh, arc, 3, ahead, x)
        arc_derivative(y - step * np.eye(19)[j], xh, arc, 3, behind, x)
        expected = (ahead - behind) / (2.0 * step)
        scale = max(1.0, np.abs(expected).max())
        assert_allclose(tangent[j] / scale, expected / scale, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize('stages', [1, 4])
def test_tangent_of_a_shot(stages):
    problem = Cantilever(LIMP, 0.5, elements=10, drag=(0.3, 0.2, 0.1))
    y, xh, arc = state_and_history(problem, seed=2)
    load, xh = y[7:13], 0.1 * xh
    y, x, d = np.empty((11, 19)), np.empty((11, 12)), np.empty((6, 19))

    def tip(load):
        shoot(load, arc, xh, stages, y, x, np.empty((0, 19)))
        return y[-1].copy()

    shoot(load, arc, xh, stages, y, x, d)
    for i in range(6):
        step = 1e-8 * np.eye(6)[i]
        expected = (tip(load + step) - tip(load - step)) / 2e-8
        assert_allclose(d[i], expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())


def test_jacobian_by_differences_finds_the_same():
    sims = [ShootingSimulator(BENCHMARK, jacobian=x, tolerance=1e-10)
            for x in ('exact', 'differences')]
    for sim in sims:
        assert sim.statics(RELEASED).converged
        for _ in range(10):
            assert sim.step().converged
    assert_allclose(sims[0].tip, sims[1].tip, rtol=0.0, atol=1e-10)


# --- Dynamics -----------------------------------------------------------------------------------

def damping_time(scheme, alpha, duration, integrator, elements=149):
    """
    Return tau of table 3: the energy over that at rest, fitted by ``E0 exp(-2 t / tau)``.

    Least squares over all time steps, as MATLAB's ``fit`` has it. The paper's caption of figure 2
    has 10 s; its text has 1 s for the tables, but their values of alpha = -0.48 need 10 s.
    """
    problem = replace(BENCHMARK, scheme=scheme, alpha=alpha, elements=elements)
    sim = ShootingSimulator(problem, integrator, tolerance=1e-6)
    assert sim.statics((0.0, 0.0, 0.0)).converged
    at_rest = sim.energy
    assert sim.statics(RELEASED).converged
    E = [sim.energy - at_rest]
    for _ in range(round(duration / problem.time_step)):
        assert sim.step().converged
        E.append(sim.energy - at_rest)
    t = problem.time_step * np.arange(len(E))
    (_, rate), _ = curve_fit(lambda t, E0, r: E0 * np.exp(-2.0 * r * t), t, E, p0=(E[0], 0.2))
    return 1.0 / rate


@pytest.mark.parametrize(('scheme', 'alpha', 'integrator', 'duration', 'expected', 'rtol'), [
    ('backward_euler', 0.0, 'rk4', 1.0, 0.13, 0.03),
    ('bdf2', 0.0, 'rk4', 2.0, 3.88, 0.015),
    ('bdf_alpha', -0.2, 'euler', 4.0, 7.57, 0.02),
    ('bdf_alpha', -0.48, 'euler', 10.0, 161.8, 0.002),
    ('bdf_alpha', -0.48, 'rk4', 10.0, 201.6, 0.002),
])
def test_numerical_damping_of_table_3(scheme, alpha, integrator, duration, expected, rtol):
    assert_allclose(damping_time(scheme, alpha, duration, integrator), expected, rtol=rtol)


def test_turned_about_the_rod():
    turn = Rotation.from_rotvec([0.0, 0.0, 0.7])
    tips = []
    for rotation in (Rotation.identity(), turn):
        gravity = tuple(rotation.apply([-9.81, 2.0, 1.0]))
        sim = ShootingSimulator(replace(BENCHMARK, gravity=gravity, elements=30))
        assert sim.statics(rotation.apply([0.3, 0.4, 0.1])).converged
        for _ in range(5):
            assert sim.step((0.0, 0.0, 0.0), rotation.apply([0.01, 0.02, 0.03])).converged
        tips.append(rotation.inv().apply(sim.tip))
    assert_allclose(tips[0], tips[1], rtol=0.0, atol=1e-8)


# --- What fails ---------------------------------------------------------------------------------

@pytest.mark.parametrize(('scheme', 'works', 'fails'), [
    ('bdf2', 1.5e-3, 1e-3), ('bdf_alpha', 2e-3, 1.2e-3), ('trapezoidal', 5e-3, 2e-3)])
def test_smallest_time_step(scheme, works, fails):
    for dt in (works, fails):
        sim = ShootingSimulator(
            replace(BENCHMARK, time_step=dt, scheme=scheme), tolerance=1e-6)
        assert sim.statics(RELEASED).converged
        for _ in range(round(0.1 / dt)):
            before = sim.poses
            status = sim.step()
            if not status.converged:
                break
        assert status.converged == (dt == works)
    assert_array_equal(sim.poses, before)
    assert status.residual > 1e-6 and status.message != 'converged'


def test_unreachable_load_is_reported_and_nothing_changes():
    sim = ShootingSimulator(BENCHMARK)
    assert sim.statics(RELEASED).converged
    before = sim.poses
    for status in (sim.statics((1e8, 0.0, 0.0)), sim.step((1e300, 0.0, 0.0))):
        assert not status.converged
        assert_array_equal(sim.poses, before)
    assert sim.time == 0.0
    assert sim.step().converged


@pytest.mark.parametrize(('field', 'make'), [
    ('tip_force[1]', lambda: ShootingSimulator(BENCHMARK).step((0.0, np.nan, 0.0))),
    ('tip_moment', lambda: ShootingSimulator(BENCHMARK).statics((0, 0, 0), (0.0, 0.0))),
    ('integrator', lambda: ShootingSimulator(BENCHMARK, 'rk45')),
    ('history', lambda: ShootingSimulator(BENCHMARK, history='quintic')),
    ('jacobian', lambda: ShootingSimulator(BENCHMARK, jacobian='none')),
    ('tolerance', lambda: ShootingSimulator(BENCHMARK, tolerance=0.0)),
    ('max_iterations', lambda: ShootingSimulator(BENCHMARK, max_iterations=0)),
    ('scheme', lambda: replace(BENCHMARK, scheme='bdf4')),
    ('alpha', lambda: replace(BENCHMARK, alpha=-0.6)),
    ('time_step', lambda: replace(BENCHMARK, time_step=0.0)),
    ('elements', lambda: replace(BENCHMARK, elements=3)),
    ('rod', lambda: replace(BENCHMARK, rod=None)),
    ('rod.segments', lambda: replace(BENCHMARK, rod=Rod(ROD.segments * 2))),
    ('rod.stiffness', lambda: replace(
        BENCHMARK, rod=Rod([Segment(0.4, FreeSection(1e-6, 0.0, 0.0, 0.0), STEEL)]))),
])
def test_bad_input(field, make):
    with pytest.raises(InvalidModel) as raised:
        make()
    assert raised.value.field == field
