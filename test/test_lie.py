"""SO(3), SE(3), quaternions and MRP against axioms, finite differences and other libraries."""

from decimal import Context, Decimal, localcontext
import math

from hypothesis import assume, example, given, settings, strategies as st
import numpy as np
from numpy.testing import assert_allclose
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation
import transforms3d

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.numerics import lie

examples = settings(deadline=None, max_examples=60)  # the first one pays for compilation
EPS = np.finfo(float).eps
SWITCH = math.sqrt(10.0)  # angle at which lie.py goes from series to sine and cosine
SMALL = [0.0, 1e-300, 1e-160, 1e-12, 1e-9, 1e-8, 1e-5, 1e-3]
NEAR_PI = [math.pi - d for d in (1e-3, 1e-6, 1e-9, 1e-12)]
AROUND_PI = NEAR_PI + [math.pi, math.pi + 1e-9, SWITCH, SWITCH + 1e-9]


def vectors(size, limit):
    return st.lists(st.floats(-limit, limit), min_size=size, max_size=size).map(np.array)


def unit(x):
    return x / np.linalg.norm(x)


axes = st.one_of(
    st.sampled_from([*np.eye(3), *-np.eye(3)]),
    vectors(3, 1.0).filter(lambda x: np.linalg.norm(x) > 0.1).map(unit))
short_angles = st.one_of(st.sampled_from(SMALL + NEAR_PI), st.floats(0.0, math.pi - 1e-12))
angles = st.one_of(st.sampled_from(SMALL + AROUND_PI), st.floats(0.0, 6.0))
short_rotations = st.builds(lambda axis, angle: axis * angle, axes, short_angles)
rotations = st.builds(lambda axis, angle: axis * angle, axes, angles)
short_twists = st.builds(lambda v, u: np.r_[v, u], vectors(3, 3.0), short_rotations)
twists = st.builds(lambda v, u: np.r_[v, u], vectors(3, 3.0), rotations)

# The two groups as (hat, exp, Ad, ad, T_l, T_r, T_l^-1, T_r^-1); Ad_R = R in SO(3).
SO3 = (lie.hat, lie.exp_so3, lambda R: R, lie.hat, lie.left_tangent_so3,
       lie.right_tangent_so3, lie.inverse_left_tangent_so3, lie.inverse_right_tangent_so3)
SE3 = (lie.hat_se3, lie.exp_se3, lie.adjoint_se3, lie.ad_se3, lie.left_tangent_se3,
       lie.right_tangent_se3, lie.inverse_left_tangent_se3, lie.inverse_right_tangent_se3)
elements = st.one_of(rotations, twists)


def group(x):
    return SO3 if x.size == 3 else SE3


def derivative(f, h=0.02):
    """Differentiate f at zero: central, sixth order, error about h^6 = 6e-11 times f^(7) / 140."""
    return sum(
        c * (f(k * h) - f(-k * h)) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)


def stumpff(x, n):
    """Sum the series of the Stumpff function c_n."""
    total, term, k = Decimal(0), 1 / Decimal(math.factorial(n)), 0
    while abs(term) > Decimal('1e-58'):
        total, k = total + term, k + 1
        term *= -x / ((2 * k + n - 1) * (2 * k + n))
    return total


# ---------------------------------------------------------------------------- coefficients

SQUARED_ANGLES = np.r_[
    0.0, np.geomspace(1e-30, 9.9, 60), np.linspace(9.9, 10.1, 21), np.linspace(10.2, 36.0, 40)]


def test_stumpff_functions_are_good_to_a_few_ulp_on_both_sides_of_the_switch():
    for x in SQUARED_ANGLES.tolist():
        with localcontext(Context(prec=60)):
            exact = np.array([stumpff(Decimal(x), n) for n in range(8)])
            error = np.abs([Decimal(c) for c in lie.stumpff(x)] - exact).astype(float)
        # c_0 .. c_2 have zeros: measured against 1 / n!; the others against themselves.
        scale = np.r_[1.0, 1.0, 0.5, exact[3:].astype(float)]
        assert np.all(error <= 8.0 * EPS * scale), (x, error / scale)


def test_half_cotangent_is_good_to_a_few_ulp_on_both_sides_of_the_switch():
    def h(x):
        return stumpff(x, 1) / (2 * stumpff(x, 2))

    def e(x):
        return (stumpff(x, 3) - 2 * stumpff(x, 4)) / (2 * stumpff(x, 2))

    def slope(f, x, step=Decimal('1e-20')):  # (1 / a) d/da = 2 d/dx
        return (f(x + step) - f(x - step)) / step

    for x in SQUARED_ANGLES.tolist():
        with localcontext(Context(prec=60)):
            X = Decimal(x)
            exact = np.array([h(X), e(X), slope(h, X), slope(e, X)])
            error = np.abs([Decimal(c) for c in lie._half_cotangent(x)] - exact).astype(float)
        scale = np.maximum(np.abs(exact.astype(float)), [1.0, 0.0, 0.0, 0.0])
        # Near 2 pi the pole magnifies the rounding of x: condition number x / (4 pi^2 - x).
        tolerance = 6.0 * EPS * (1.0 + x / (4.0 * math.pi ** 2 - x))
        assert np.all(error <= tolerance * scale), (x, error / scale)


def test_no_jump_at_the_switch():
    below, above = math.sqrt(math.nextafter(10.0, 0.0)), math.sqrt(math.nextafter(10.0, 11.0))
    axis = unit(np.array([1.0, -2.0, 3.0]))
    for f in (lie.exp_so3, lie.left_tangent_so3, lie.inverse_left_tangent_so3):
        assert_allclose(f(above * axis), f(below * axis), rtol=0.0, atol=6e-15)
    for f in (lie.left_tangent_se3, lie.inverse_left_tangent_se3):
        a, b = (np.r_[1.0, 2.0, 3.0, angle * axis] for angle in (above, below))
        assert_allclose(f(a), f(b), rtol=0.0, atol=2e-14)


# ---------------------------------------------------------------------------- group axioms


@examples
@given(vectors(3, 5.0), vectors(3, 5.0))
def test_hat_is_the_cross_product_and_vee_its_inverse(a, b):
    assert_allclose(lie.hat(a) @ b, np.cross(a, b), rtol=0.0, atol=1e-14)
    assert np.array_equal(lie.vee(lie.hat(a)), a)


@examples
@given(vectors(6, 5.0))
def test_hat_se3_has_the_linear_part_first_and_vee_is_its_inverse(xi):
    Xi = lie.hat_se3(xi)
    assert np.array_equal(Xi[:3, 3], xi[:3])
    assert np.array_equal(Xi[:3, :3], lie.hat(xi[3:]))
    assert not Xi[3].any()
    assert np.array_equal(lie.vee_se3(Xi), xi)


@examples
@given(elements)
def test_exp_of_the_negative_is_the_inverse(x):
    exp = group(x)[1]
    g = exp(x)
    R = g[:3, :3]
    assert_allclose(R.T @ R, np.eye(3), rtol=0.0, atol=4e-15)
    assert np.linalg.det(R) > 0.0
    assert_allclose(g @ exp(-x), np.eye(len(g)), rtol=0.0, atol=4e-14)


@examples
@given(elements, st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_exp_is_a_one_parameter_subgroup(x, a, b):
    exp = group(x)[1]
    assert_allclose(exp(a * x) @ exp(b * x), exp((a + b) * x), rtol=0.0, atol=4e-14)


@examples
@given(twists)
def test_inverse_se3(xi):
    g = lie.exp_se3(xi)
    assert_allclose(lie.inverse_se3(g), np.linalg.inv(g), rtol=0.0, atol=1e-13)
    assert np.array_equal(lie.inverse_se3(g)[3], [0.0, 0.0, 0.0, 1.0])


@examples
@given(twists, twists, vectors(6, 3.0))
def test_adjoint(x, y, xi):
    g, h = lie.exp_se3(x), lie.exp_se3(y)
    Ad = lie.adjoint_se3
    world = lie.hat_se3(Ad(g) @ xi)
    assert_allclose(world, g @ lie.hat_se3(xi) @ lie.inverse_se3(g), rtol=0.0, atol=2e-13)
    assert_allclose(Ad(g) @ Ad(h), Ad(g @ h), rtol=0.0, atol=2e-13)
    assert_allclose(Ad(g) @ Ad(lie.inverse_se3(g)), np.eye(6), rtol=0.0, atol=2e-13)


@examples
@given(twists)
def test_adjoint_of_exp_is_expm_of_ad(x):
    assert_allclose(
        lie.adjoint_se3(lie.exp_se3(x)), scipy.linalg.expm(lie.ad_se3(x)), rtol=0.0, atol=1e-12)


@examples
@given(vectors(6, 3.0), vectors(6, 3.0), vectors(6, 3.0))
def test_ad_is_the_lie_bracket(x, y, z):
    X, Y = lie.hat_se3(x), lie.hat_se3(y)
    ad = lie.ad_se3
    assert_allclose(lie.hat_se3(ad(x) @ y), X @ Y - Y @ X, rtol=0.0, atol=1e-13)
    jacobi = ad(x) @ ad(y) @ z + ad(y) @ ad(z) @ x + ad(z) @ ad(x) @ y
    assert_allclose(jacobi, np.zeros(6), atol=1e-12)


# ---------------------------------------------------------------------------- exp and log


@examples
@given(short_rotations)
def test_log_undoes_exp_below_pi(theta):
    error = np.linalg.norm(lie.log_so3(lie.exp_so3(theta)) - theta)
    assert error <= 1e-15 * np.linalg.norm(theta)


@examples
@given(axes, st.sampled_from([math.pi, -math.pi, 3.0 * math.pi]))
def test_log_at_pi_finds_the_axis(axis, angle):
    theta = lie.log_so3(lie.exp_so3(angle * axis))
    assert abs(np.linalg.norm(theta) - math.pi) < 1e-15 * abs(angle)
    assert min(np.abs(theta - s * math.pi * axis).max() for s in (1, -1)) < 1e-15 * abs(angle)


@examples
@given(axes, st.one_of(
    st.sampled_from([math.pi + 1e-9, math.pi + 1e-3, 2 * math.pi, 2 * math.pi + 1e-9, 7.0, 20.0]),
    st.floats(math.pi + 1e-9, 50.0)))
def test_log_beyond_pi_gives_the_equivalent_short_rotation(axis, angle):
    short = math.remainder(angle, 2.0 * math.pi)
    assume(math.pi - abs(short) > 1e-12)
    theta = lie.log_so3(lie.exp_so3(angle * axis))
    assert_allclose(theta, short * axis, rtol=0.0, atol=1e-15 * angle)


@examples
@given(rotations)
def test_exp_and_log_agree_with_scipy_and_transforms3d(theta):
    R = lie.exp_so3(theta)
    rotation = Rotation.from_rotvec(theta)
    assert_allclose(R, rotation.as_matrix(), rtol=0.0, atol=2e-15)
    angle = np.linalg.norm(theta)
    if angle > 1e-100:  # below, transforms3d has no axis
        R_other = transforms3d.axangles.axangle2mat(theta / angle, angle, is_normalized=True)
        assert_allclose(R, R_other, rtol=0.0, atol=2e-15)
    if abs(angle - math.pi) > 1e-8:
        assert_allclose(lie.log_so3(R), rotation.as_rotvec(), rtol=0.0, atol=4e-15)


@examples
@given(short_twists)
def test_log_se3_undoes_exp_se3(xi):
    assert_allclose(lie.log_se3(lie.exp_se3(xi)), xi, rtol=1e-14, atol=2e-14)


@examples
@given(axes, vectors(3, 3.0), st.sampled_from([math.pi, 4.0, 2.0 * math.pi - 0.1, 7.0, 9.0]))
def test_exp_se3_undoes_log_se3_at_and_beyond_pi(axis, v, angle):
    g = lie.exp_se3(np.r_[v, angle * axis])
    xi = lie.log_se3(g)
    assert np.linalg.norm(xi[3:]) <= math.pi * (1.0 + EPS)
    assert_allclose(lie.exp_se3(xi), g, rtol=0.0, atol=2e-14)


@examples
@given(twists)
def test_exp_se3_is_expm(xi):
    assert_allclose(
        lie.exp_se3(xi), scipy.linalg.expm(lie.hat_se3(xi)), rtol=0.0, atol=2e-13)


@settings(examples, max_examples=20)
@given(vectors(3, 3.0), axes, st.floats(1e-3, 3.0))
def test_log_se3_is_logm(v, axis, angle):
    g = lie.exp_se3(np.r_[v, angle * axis])
    with np.errstate(over='ignore'):  # in scipy's estimate of a norm, of subnormal entries
        wanted = scipy.linalg.logm(g)
    assert_allclose(lie.hat_se3(lie.log_se3(g)), wanted, rtol=0.0, atol=1e-11)


# ---------------------------------------------------------------------------- tangents


@examples
@given(st.one_of(st.tuples(rotations, vectors(3, 1.0)), st.tuples(twists, vectors(6, 1.0))))
def test_tangents_are_derivatives_of_exp(pair):
    x, dx = pair
    hat, exp, _, _, left, right, *_ = group(x)
    dexp = derivative(lambda h: exp(x + h * dx))
    inverse = exp(-x)
    assert_allclose(hat(left(x) @ dx), dexp @ inverse, rtol=0.0, atol=1e-9)
    assert_allclose(hat(right(x) @ dx), inverse @ dexp, rtol=0.0, atol=1e-9)


@examples
@given(elements)
def test_tangents_are_power_series_of_ad(x):
    """T_l = sum ad^k / (k + 1)!, a block of expm([[ad, I], [0, 0]])."""
    _, _, _, ad, left, right, *_ = group(x)
    n, zero = len(x), np.zeros((len(x), len(x)))
    for T, sign in ((left, 1.0), (right, -1.0)):
        series = scipy.linalg.expm(np.block([[sign * ad(x), np.eye(n)], [zero, zero]]))[:n, n:]
        assert_allclose(T(x), series, rtol=0.0, atol=1e-12)


@examples
@given(elements)
def test_inverse_tangents(x):
    *_, left, right, inverse_left, inverse_right = group(x)
    for T, inverse in ((left, inverse_left), (right, inverse_right)):
        # The inverse grows as 1 / (2 pi - angle): 22 at the largest angle drawn, 6.
        assert_allclose(T(x) @ inverse(x), np.eye(len(x)), rtol=0.0, atol=2e-12)


@examples
@given(elements)
def test_left_tangent_is_adjoint_times_right_tangent(x):
    _, exp, adjoint, _, left, right, *_ = group(x)
    assert_allclose(left(x), adjoint(exp(x)) @ right(x), rtol=0.0, atol=1e-13)
    if len(x) == 3:
        assert np.array_equal(left(x), right(x).T)


@examples
@given(axes, vectors(3, 1.0), st.sampled_from(SMALL[1:-1]))
def test_tangents_near_zero_keep_their_small_terms(axis, v, angle):
    """T_l = I + ad / 2 + ..., T_l^-1 = I - ad / 2 + ...: the odd parts, to their own rounding."""
    xi = np.r_[angle * v, angle * axis]
    ad = lie.ad_se3(xi)
    odd = 0.5 * (lie.left_tangent_se3(xi) - lie.right_tangent_se3(xi))
    odd_inverse = 0.5 * (lie.inverse_left_tangent_se3(xi) - lie.inverse_right_tangent_se3(xi))
    assert_allclose(odd, ad / 2 + ad @ ad @ ad / 24, rtol=0.0, atol=4 * EPS * angle)
    assert_allclose(odd_inverse, -ad / 2, rtol=0.0, atol=4 * EPS * angle)


# ---------------------------------------------------------------------------- projection


@examples
@given(rotations, vectors(9, 0.3), st.sampled_from([0.0, 1e-12, 1e-6, 1.0]))
def test_orthonormalise_gives_the_polar_factor(theta, noise, size):
    R = lie.exp_so3(theta)
    A = R + size * noise.reshape(3, 3)
    assume(np.linalg.det(A) > 0.05)
    Q = lie.orthonormalise(A)
    assert_allclose(Q.T @ Q, np.eye(3), rtol=0.0, atol=2e-15)
    assert_allclose(Q, scipy.linalg.polar(A)[0], rtol=0.0, atol=1e-13)
    if size == 0.0:
        assert_allclose(Q, R, rtol=0.0, atol=2e-15)


@pytest.mark.parametrize('factor', [1e-100, 1e-3, 1e3, 1e100])
def test_orthonormalise_is_free_of_scale(factor):
    R = lie.exp_so3(np.array([1.0, -2.0, 0.5]))
    assert_allclose(lie.orthonormalise(factor * R), R, rtol=0.0, atol=2e-15)


def test_orthonormalise_of_a_nearly_flat_matrix():
    Q = lie.orthonormalise(np.diag([1.0, 1e-8, 1e-3]))
    assert_allclose(Q, np.eye(3), rtol=0.0, atol=1e-15)


@pytest.mark.parametrize('bad', [
    np.zeros((3, 3)), np.diag([1.0, 1.0, -1.0]), np.full((3, 3), np.nan), np.full((3, 3), np.inf)])
def test_orthonormalise_refuses_what_is_no_rotation(bad):
    with pytest.raises(InvalidModel, match='positive determinant'), np.errstate(all='ignore'):
        lie.orthonormalise(bad)


# ---------------------------------------------------------------------------- quaternions


def test_quaternions_are_in_ros_order():
    quarter_turn_about_z = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    q = [0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)]
    assert_allclose(lie.quaternion_from_matrix(quarter_turn_about_z), q, rtol=0.0, atol=1e-15)
    assert_allclose(lie.matrix_from_quaternion(q), quarter_turn_about_z, rtol=0.0, atol=1e-15)


@examples
@given(rotations)
def test_quaternions_agree_with_transforms3d(theta):
    R = lie.exp_so3(theta)
    q = lie.quaternion_from_matrix(R)
    assert q[3] >= 0.0
    w_first = transforms3d.quaternions.mat2quat(R)
    assert min(np.abs(np.roll(q, 1) - s * w_first).max() for s in (1, -1)) < 1e-14
    assert_allclose(transforms3d.quaternions.quat2mat(np.roll(q, 1)), R, rtol=0.0, atol=4e-15)


@examples
@given(rotations, st.sampled_from([-1e200, -1.0, 1e-200, 0.3, 7.0]))
@example(np.array([math.pi, 0.0, 0.0]), 1.0)
def test_matrix_from_quaternion_undoes_quaternion_from_matrix(theta, factor):
    R = lie.exp_so3(theta)
    assert_allclose(
        lie.matrix_from_quaternion(factor * lie.quaternion_from_matrix(R)), R,
        rtol=0.0, atol=4e-15)


def test_quaternions_of_a_slice_of_poses():
    g = np.array([lie.exp_se3(np.r_[1.0, 2.0, 3.0, k, 0.5, -0.5]) for k in range(3)])
    assert np.array_equal(
        lie.quaternion_from_matrix(g[:, :3, :3]), lie.quaternion_from_matrix(g[:, :3, :3].copy()))


@pytest.mark.parametrize('shape', [(), (1,), (5,), (2, 3), (0,)])
def test_quaternions_of_batches(shape):
    q = np.random.default_rng(1).normal(size=(*shape, 4))
    R = lie.matrix_from_quaternion(q)
    back = lie.quaternion_from_matrix(R)
    assert R.shape == (*shape, 3, 3)
    assert back.shape == (*shape, 4)
    for k in np.ndindex(shape):
        assert_allclose(back[k], unit(q[k]) * np.sign(q[k][3]), rtol=0.0, atol=1e-14)


@pytest.mark.parametrize('bad', [
    [0.0, 0.0, 0.0, 0.0], [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]], [0.0, 0.0, np.nan, 1.0],
    [np.inf, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0], 1.0, ['a', 'b', 'c', 'd'], None])
def test_bad_quaternions_are_refused(bad):
    with pytest.raises(InvalidModel, match='^quaternion must be '):
        lie.matrix_from_quaternion(bad)


@pytest.mark.parametrize('bad', [
    np.zeros((3, 3)), np.diag([1.0, 1.0, -1.0]), np.full((3, 3), np.nan), np.eye(4), 'R'])
def test_bad_rotations_are_refused(bad):
    with pytest.raises(InvalidModel, match='^rotation must be '):
        lie.quaternion_from_matrix(bad)


# ---------------------------------------------------------------------------- MRP


@examples
@given(axes, short_angles)
def test_mrp_is_the_axis_times_the_tangent_of_a_quarter_angle(axis, angle):
    R = lie.exp_so3(angle * axis)
    sigma = lie.mrp_from_matrix(R)
    assert_allclose(sigma, axis * math.tan(angle / 4.0), rtol=0.0, atol=1e-15)
    assert_allclose(sigma, Rotation.from_matrix(R).as_mrp(), rtol=0.0, atol=1e-15)
    assert_allclose(lie.matrix_from_mrp(sigma), R, rtol=0.0, atol=4e-15)


@examples
@given(vectors(3, 4.0))
def test_matrix_from_mrp_agrees_with_scipy(sigma):
    R = lie.matrix_from_mrp(sigma)
    assert_allclose(R, Rotation.from_mrp(sigma).as_matrix(), rtol=0.0, atol=4e-15)
    assert_allclose(R.T, lie.matrix_from_mrp(-sigma), rtol=0.0, atol=1e-15)


@examples
@given(vectors(3, 4.0))
@example(np.zeros(3))
@example(np.array([1e-158, 0.0, 0.0]))
@example(np.array([0.0, 0.0, 1.0001]))
def test_shadow_is_the_same_rotation_and_switch_keeps_to_the_unit_ball(sigma):
    shadow, switched = lie.shadow_mrp(sigma), lie.switch_mrp(sigma)
    R = lie.matrix_from_mrp(sigma)
    assert_allclose(lie.matrix_from_mrp(shadow), R, rtol=0.0, atol=4e-15)
    assert_allclose(lie.matrix_from_mrp(switched), R, rtol=0.0, atol=4e-15)
    assert np.linalg.norm(switched) <= 1.0 + EPS
    assert np.array_equal(switched, sigma) or np.array_equal(switched, shadow)
    s = sigma @ sigma
    if s > 1e-200:
        assert_allclose(shadow, -sigma / s, rtol=1e-15, atol=1e-300)
        assert_allclose(lie.shadow_mrp(shadow), sigma, rtol=1e-14, atol=1e-300)


@examples
@given(axes, st.floats(0.0, 2.9), vectors(3, 1.0), st.booleans())
def test_mrp_rate_matrix_is_the_derivative_along_the_body_strain(axis, angle, u, in_shadow):
    """R_s = R hat(u); both members of the pair obey the same law (Surmont, eq. 17)."""
    R = lie.exp_so3(angle * axis)
    assume(angle > 1.0 or not in_shadow)  # the shadow leaves to infinity at zero

    def sigma(s):
        member = lie.mrp_from_matrix(R @ lie.exp_so3(s * u))
        return lie.shadow_mrp(member) if in_shadow else member

    rate = lie.mrp_rate_matrix(sigma(0.0))
    assert_allclose(rate @ u, derivative(sigma), rtol=0.0, atol=1e-6 if in_shadow else 1e-9)


@examples
@given(vectors(3, 4.0))
def test_mrp_rate_matrix_is_the_papers(sigma):
    s = sigma @ sigma
    W = lie.hat(sigma)
    surmont = ((1.0 + s) * np.eye(3) + 2.0 * W + 2.0 * W @ W) / 4.0
    assert_allclose(lie.mrp_rate_matrix(sigma), surmont, rtol=0.0, atol=1e-14)


# ---------------------------------------------------------------------------- bad and huge input

OF_VECTOR = [
    lie.hat, lie.exp_so3, lie.left_tangent_so3, lie.right_tangent_so3,
    lie.inverse_left_tangent_so3, lie.inverse_right_tangent_so3, lie.matrix_from_mrp,
    lie.shadow_mrp, lie.switch_mrp, lie.mrp_rate_matrix]
OF_TWIST = [
    lie.hat_se3, lie.exp_se3, lie.ad_se3, lie.left_tangent_se3, lie.right_tangent_se3,
    lie.inverse_left_tangent_se3, lie.inverse_right_tangent_se3]
OF_ROTATION = [lie.vee, lie.log_so3, lie.mrp_from_matrix]
OF_POSE = [lie.vee_se3, lie.log_se3, lie.inverse_se3, lie.adjoint_se3]


@examples
@given(vectors(16, 1e100))
@example(np.zeros(16))
@example(np.full(16, 5e-324))
@example(np.r_[np.zeros(5), 2.0 * math.pi, np.zeros(10)])
@example(np.r_[0.0, 2.0 * math.pi, 1.0, 0.0, 4.0 * math.pi, np.zeros(11)])
def test_finite_in_finite_out(x):
    for functions, argument in (
            (OF_VECTOR, x[:3]), (OF_TWIST, x[:6]), (OF_ROTATION, x[:9].reshape(3, 3)),
            (OF_POSE, x.reshape(4, 4))):
        for f in functions:
            before = argument.copy()
            with np.errstate(all='ignore'):  # for a run without compilation
                assert np.isfinite(f(argument)).all(), f
            assert np.array_equal(argument, before), f


@pytest.mark.parametrize('f', OF_VECTOR + OF_TWIST + OF_ROTATION + OF_POSE + [lie.orthonormalise])
def test_wrong_sizes_are_refused(f):
    if f in OF_VECTOR or f in OF_TWIST:
        shapes = [(0,), (2,), (4,), (7,)]
    else:
        shapes = [(0, 0), (2, 2), (3, 4), (1, 9), (5, 5)]
    for shape in shapes:
        with pytest.raises(InvalidModel, match='of shape'):
            f(np.ones(shape))


def test_results_are_new_arrays():
    sigma = np.array([0.1, 0.2, 0.3])
    assert not np.shares_memory(lie.switch_mrp(sigma), sigma)
    R = np.eye(3)
    assert not np.shares_memory(lie.orthonormalise(R), R)
