"""Sections, materials, rest shapes and rods against closed forms and independent numerics."""

from dataclasses import fields, FrozenInstanceError, replace
import math
from typing import get_args, get_type_hints

from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.polynomial import legendre
from numpy.testing import assert_allclose, assert_array_equal
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import fresnel

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description import rod as rod_module
from cosserat_ros.description.rod import Damping, Material, RestShape, Rod, Segment
from cosserat_ros.description.section import (
    Annular,
    Circular,
    Elliptic,
    FreeSection,
    Rectangular,
    Section,
)

STEEL = Material(young_modulus=207e9, density=8000.0, shear_modulus=79e9)  # Till 2019, section 3
DISC = Circular(1e-3)


def area_properties(section):
    return np.array([section.area, *section.second_moments, section.torsion_constant])


def bent(length, curvature, tip_curvature=None, linear_strain=(0.0, 0.0, 1.0)):
    """Return a rod of one segment with the given rest shape."""
    return Rod([Segment(length, DISC, STEEL, rest=RestShape(
        linear_strain, curvature, tip_curvature))])


def pose(rotation, position):
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = rotation, position
    return g


BASE = pose(Rotation.from_rotvec([0.3, -1.2, 2.0]).as_matrix(), [1.0, -2.0, 0.5])


# --- Sections -----------------------------------------------------------------------------------

def test_round_sections_agree():
    r = 0.7
    expected = np.pi * np.array([r ** 2, r ** 4 / 4, r ** 4 / 4, r ** 4 / 2])
    for section in (Circular(r), Annular(r, 0.0), Elliptic(r, r)):
        assert_allclose(area_properties(section), expected, rtol=1e-15)
        assert section.outline == (2 * r, 2 * r)


def test_a_tube_is_a_disc_less_a_disc():
    tube, hole = Annular(0.7, 0.4), Circular(0.4)
    assert_allclose(
        area_properties(tube), area_properties(Circular(0.7)) - area_properties(hole), rtol=1e-14)


def test_a_thin_tube_does_not_cancel():
    r, t = 1.0, 2.0 ** -40
    tube = Annular(r, r - t)
    assert_allclose(tube.area, 2 * np.pi * (r - t / 2) * t, rtol=1e-15)
    assert_allclose(tube.torsion_constant, 2 * np.pi * r ** 3 * t, rtol=1e-11)


def half_chord(radius):
    return lambda x: math.sqrt(max(radius ** 2 - x ** 2, 0.0))


@pytest.mark.parametrize('section, half_width, outer, inner', [
    (Circular(0.7), 0.7, half_chord(0.7), lambda x: 0.0),
    (Annular(0.7, 0.4), 0.7, half_chord(0.7), half_chord(0.4)),
    (Elliptic(0.3, 0.9), 0.3, lambda x: 3.0 * half_chord(0.3)(x), lambda x: 0.0),
    (Rectangular(0.4, 1.1), 0.2, lambda x: 0.55, lambda x: 0.0),
])
def test_area_and_second_moments_are_their_integrals(section, half_width, outer, inner):
    """Strips of constant x, between the half heights inner(x) and outer(x), on both sides."""
    def integral(strip):
        points = [-0.4, 0.4] if isinstance(section, Annular) else None
        value, _ = quad(strip, -half_width, half_width, points=points, limit=200, epsabs=1e-12)
        return value

    area = integral(lambda x: 2 * (outer(x) - inner(x)))
    I_xx = integral(lambda x: 2 / 3 * (outer(x) ** 3 - inner(x) ** 3))
    I_yy = integral(lambda x: 2 * x ** 2 * (outer(x) - inner(x)))
    assert_allclose((section.area, *section.second_moments), (area, I_xx, I_yy), rtol=1e-8)
    assert_allclose(section.outline, (2 * half_width, 2 * outer(0.0)), rtol=1e-15)


def prandtl_torsion_constant(half_x, half_y, boundary, points, weights, degree=12):
    """
    Solve ``laplace(phi) = -2``, phi = 0 on the boundary, by Ritz; return 2 int phi dA.

    The section is a unit square or disc (`points` (2, N), `weights` (N,)) stretched by half_x
    and half_y; phi = boundary * even Legendre polynomials, `boundary` with its gradient (3, N).
    """
    even = [legendre.Legendre.basis(n) for n in range(0, degree + 1, 2)]
    (x, y), (b, b_x, b_y) = points, boundary
    phi, phi_x, phi_y = [], [], []
    for p in even:
        for q in even:
            phi.append(b * p(x) * q(y))
            phi_x.append((b_x * p(x) + b * p.deriv()(x)) * q(y) / half_x)
            phi_y.append((b_y * q(y) + b * q.deriv()(y)) * p(x) / half_y)
    phi, phi_x, phi_y = map(np.array, (phi, phi_x, phi_y))
    w = weights * half_x * half_y
    stiffness = (phi_x * w) @ phi_x.T + (phi_y * w) @ phi_y.T
    load = 2.0 * phi @ w
    return load @ np.linalg.lstsq(stiffness, load, rcond=1e-14)[0]


@pytest.mark.parametrize('a, b', [(0.5, 0.5), (0.3, 0.9), (1.0, 0.2)])
def test_torsion_of_an_ellipse_solves_the_membrane(a, b):
    r, w = legendre.leggauss(20)
    r, w = 0.5 * (r + 1.0), 0.5 * w
    theta = 2.0 * np.pi * np.arange(40) / 40
    x, y = (np.outer(r, f(theta)).ravel() for f in (np.cos, np.sin))
    weights = np.repeat(w * r, 40) * 2.0 * np.pi / 40
    boundary = np.array([1.0 - x ** 2 - y ** 2, -2.0 * x, -2.0 * y])
    expected = prandtl_torsion_constant(a, b, boundary, (x, y), weights)
    assert_allclose(Elliptic(a, b).torsion_constant, expected, rtol=1e-10)


@pytest.mark.parametrize('width, height', [(1.0, 1.0), (0.5, 0.8), (3.0, 1.0)])
def test_torsion_of_a_rectangle_solves_the_membrane(width, height):
    t, w = legendre.leggauss(24)
    x, y = (c.ravel() for c in np.meshgrid(t, t))
    boundary = np.array([
        (1.0 - x ** 2) * (1.0 - y ** 2), -2.0 * x * (1.0 - y ** 2), -2.0 * y * (1.0 - x ** 2)])
    expected = prandtl_torsion_constant(
        width / 2, height / 2, boundary, (x, y), np.outer(w, w).ravel())
    # phi has weak singularities in the corners, hence the looser tolerance
    assert_allclose(Rectangular(width, height).torsion_constant, expected, rtol=1e-6)


def test_torsion_of_a_square():
    assert_allclose(Rectangular(2.0, 2.0).torsion_constant / 2.0 ** 4, 0.1405770, atol=5e-8)


@pytest.mark.parametrize('ratio, beta', [
    (1.2, 0.166), (1.5, 0.196), (2.0, 0.229), (2.5, 0.249), (3.0, 0.263), (4.0, 0.281),
    (5.0, 0.291), (10.0, 0.312),
])
def test_torsion_of_rectangles_as_tabulated(ratio, beta):
    """Timoshenko and Goodier, Theory of Elasticity: J = beta a b^3, in three digits."""
    assert_allclose(Rectangular(ratio, 1.0).torsion_constant / ratio, beta, atol=6e-4)


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3))
def test_torsion_of_a_rectangle_is_saint_venants_series(ratio, height):
    """Against the plain series, summed until nothing changes; both ways round."""
    a, b = max(ratio, 1.0) * height, min(ratio, 1.0) * height
    n = np.arange(1.0, 6001.0, 2.0)[::-1]
    series = np.sum(np.tanh(n * np.pi * a / (2.0 * b)) / n ** 5)
    expected = a * b ** 3 * (1.0 / 3.0 - 64.0 / np.pi ** 5 * b / a * series)
    for section in (Rectangular(ratio * height, height), Rectangular(height, ratio * height)):
        assert_allclose(section.torsion_constant, expected, rtol=1e-12)


def test_torsion_of_a_strip():
    assert_allclose(Rectangular(1e-7, 1.0).torsion_constant, 1e-21 / 3, rtol=1e-7)


def test_a_string_has_no_moments():
    string = FreeSection(1e-6, 0.0, 0.0, 0.0)
    segment = Segment(1.0, string, STEEL)
    assert_allclose(Rod([segment]).stiffness(0.5), [79e3, 79e3, 207e3, 0.0, 0.0, 0.0], rtol=1e-15)
    assert_allclose(string.outline, Circular(math.sqrt(1e-6 / np.pi)).outline, rtol=1e-15)
    assert FreeSection(1e-6, 0.0, 0.0, 0.0, width=2.0, height=3.0).outline == (2.0, 3.0)


def test_a_free_section_may_twist_stiffly_without_polar_moment():
    rod = Rod([Segment(1.0, FreeSection(1e-6, 0.0, 0.0, 1e-12), STEEL)])
    assert rod.stiffness(0.0)[5] == 79e-3
    assert rod.inertia(0.0)[5] == 0.0


def test_dimensions_beyond_double_precision_are_refused():
    for dimension, field in ((1e200, 'area'), (1e-200, 'area'), (1e100, 'second_moments[0]'),
                             (1e-100, 'second_moments[0]')):
        for kind in (Circular, lambda d: Annular(d, d / 2), lambda d: Rectangular(d, d),
                     lambda d: Elliptic(d, d)):
            with pytest.raises(InvalidModel) as error:
                kind(dimension)
            assert error.value.field == field


# --- Stiffness, inertia, damping ----------------------------------------------------------------

def test_the_rod_of_till_2019():
    rod = Rod((Segment(0.4, Circular(1e-3), STEEL),))
    K = rod.stiffness(0.2)
    assert_allclose(K, [248185.8, 248185.8, 650309.7, 0.1625774, 0.1625774, 0.1240929], rtol=1e-6)
    rho = rod.inertia(0.2)
    assert_allclose(rho, [0.0251327] * 3 + [6.283185e-9, 6.283185e-9, 1.256637e-8], rtol=2e-6)
    assert_allclose(rod.mass, 0.01005310, rtol=1e-6)
    # the first mode of this cantilever, 8.9 Hz, ties E, I, rho and A together
    hertz = 1.875104 ** 2 / (2 * np.pi * 0.4 ** 2) * math.sqrt(K[3] / rho[0])
    assert_allclose(hertz, 8.895, atol=1e-3)


def test_each_axis_has_its_own_stiffness():
    """A flat strip, wide along x: stiff about y; k on shear only; torsion is not polar."""
    strip = Rectangular(0.02, 0.001, shear_correction=5 / 6)
    material = Material(2e9, 1000.0, poisson_ratio=0.25)
    rod = Rod([Segment(1.0, strip, material)])
    G = 2e9 / 2.5
    I_xx, I_yy = 0.02 * 0.001 ** 3 / 12, 0.001 * 0.02 ** 3 / 12
    J = 0.02 * 0.001 ** 3 / 3 * (1 - 0.630249 / 20)
    assert_allclose(
        rod.stiffness(0.0),
        [G * 2e-5 * 5 / 6, G * 2e-5 * 5 / 6, 2e9 * 2e-5, 2e9 * I_xx, 2e9 * I_yy, G * J], rtol=1e-6)
    assert_allclose(
        rod.inertia(0.0), [0.02] * 3 + [1e3 * I_xx, 1e3 * I_yy, 1e3 * (I_xx + I_yy)], rtol=1e-14)
    assert_array_equal(rod.outline(0.3), [0.02, 0.001])


def test_damping_is_kelvin_voigt():
    damping = Damping(0.01, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    rod = Rod([Segment(1.0, DISC, STEEL, damping=damping)])
    assert_allclose(
        rod.damping(0.5), 0.01 * rod.stiffness(0.5) + [1, 2, 3, 4, 5, 6], rtol=1e-15)
    assert_array_equal(Rod([Segment(1.0, DISC, STEEL)]).damping(0.5), np.zeros(6))


@pytest.mark.parametrize('nu', [-0.9, 0.0, 0.3, 0.5])
def test_the_shear_modulus_from_poissons_ratio(nu):
    given_G = Material(1e6, 1.0, shear_modulus=1e6 / (2 * (1 + nu)))
    assert_allclose(Material(1e6, 1.0, poisson_ratio=nu).rigidity, given_G.rigidity, rtol=1e-15)


@pytest.mark.parametrize('given', [{}, {'shear_modulus': 1e9, 'poisson_ratio': 0.3}])
def test_one_of_shear_modulus_and_poissons_ratio(given):
    with pytest.raises(InvalidModel, match='shear_modulus, poisson_ratio must be one given'):
        Material(1e9, 1000.0, **given)


# --- Along the rod ------------------------------------------------------------------------------

TAPERS = [
    (Circular(2e-3), Circular(1e-3)),
    (Annular(2e-3, 1e-3), Annular(1e-3, 0.8e-3)),
    (Rectangular(1e-3, 4e-3), Rectangular(5e-3, 1e-3, shear_correction=0.8)),  # passes a square
    (Elliptic(1e-3, 3e-3), Elliptic(2e-3, 1e-3)),
    (FreeSection(1e-6, 1e-13, 2e-13, 3e-13, 0.1, 0.2),
     FreeSection(2e-6, 3e-13, 1e-13, 0.0, 0.3, 0.1)),
]


@pytest.mark.parametrize('start, end', TAPERS)
def test_a_taper_interpolates_dimensions(start, end):
    length, x = 0.3, np.linspace(0.0, 1.0, 7)
    rod = Rod([Segment(length, start, STEEL, end)])
    for k, between in enumerate(x):
        section = replace(start, **{
            f.name: (1 - between) * getattr(start, f.name) + between * getattr(end, f.name)
            for f in fields(start)})
        uniform = Rod([Segment(length, section, STEEL)])
        for function in ('stiffness', 'inertia', 'outline'):
            assert_allclose(
                getattr(rod, function)(x * length)[k], getattr(uniform, function)(0.1),
                rtol=1e-13, err_msg=function)


@pytest.mark.parametrize('start, end', TAPERS)
def test_the_mass_of_a_taper_is_its_integral(start, end):
    rod = Rod([Segment(0.3, start, STEEL, end), Segment(0.2, end, STEEL)])
    expected, _ = quad(lambda s: rod.inertia(s)[0], 0.0, 0.5, points=[0.3], epsrel=1e-12)
    assert_allclose(rod.mass, expected, rtol=1e-12)


def test_a_cone_weighs_a_cone():
    rod = Rod([Segment(2.0, Circular(0.3), STEEL, Circular(0.1))])
    assert_allclose(rod.mass, 8000 * np.pi * 2.0 / 3 * (0.09 + 0.03 + 0.01), rtol=1e-14)


THREE = Rod([
    Segment(0.1, Circular(1e-3), STEEL, rest=RestShape(curvature=(1.0, 2.0, 3.0))),
    Segment(0.2, Circular(2e-3), STEEL, damping=Damping(0.1)),
    Segment(0.3, Circular(3e-3), STEEL, Circular(1e-3)),
])


def test_at_a_break_the_segment_that_begins_there_holds():
    assert_allclose(THREE.breaks, [0.0, 0.1, 0.3, 0.6], rtol=1e-15)
    assert THREE.length == THREE.breaks[-1]
    assert_allclose(
        THREE.outline(THREE.breaks)[:, 0], [2e-3, 4e-3, 6e-3, 2e-3], rtol=1e-14)
    before = THREE.breaks[1:] - 1e-9
    assert_allclose(THREE.outline(before)[:, 0], [2e-3, 4e-3, 2e-3], rtol=1e-7)
    # 0.1 + 0.2 is more than 0.3 in floating point
    assert_allclose(THREE.outline(0.3)[0], 6e-3, rtol=1e-14)
    assert_array_equal(THREE.rest_strain([0.0, 0.1])[:, 3:], [[1, 2, 3], [0, 0, 0]])
    assert THREE.damping([0.05, 0.2]).any(axis=1).tolist() == [False, True]


def test_arc_lengths_keep_their_order_and_shape():
    s = np.array([0.55, 0.0, 0.1, 0.05, 0.6, 0.29])
    for function, shape in (('stiffness', (6,)), ('damping', (6,)), ('inertia', (6,)),
                            ('rest_strain', (6,)), ('outline', (2,)), ('rest_poses', (4, 4))):
        evaluate = getattr(THREE, function)
        assert evaluate(s).shape == s.shape + shape
        assert evaluate([]).shape == (0,) + shape
        assert evaluate(0.2).shape == shape
        assert_array_equal(evaluate(s), [evaluate(one) for one in s])


@pytest.mark.parametrize('s', [
    -1e-9, 0.6 + 1e-9, math.nan, math.inf, -math.inf, [0.1, 0.7], 'here', '0.1', True, None,
    1j, [[0.1], []]])
def test_arc_lengths_off_the_rod_are_refused(s):
    for function in (THREE.stiffness, THREE.rest_poses):
        with pytest.raises(InvalidModel, match=r's must be within \[0, 0.6\] \[m\]'):
            function(s)


def test_arc_lengths_at_the_ends_are_meant_within_rounding():
    off = 1e-15
    ends = THREE.stiffness([0.0, THREE.length])
    assert_array_equal(THREE.stiffness([-off, THREE.length + off]), ends)
    assert_allclose(THREE.stiffness([off, THREE.length - off]), ends, rtol=1e-13)
    assert_array_equal(THREE.rest_poses(-off), np.eye(4))


def test_what_is_described_cannot_change():
    with pytest.raises(ValueError):
        THREE.breaks[1] = 0.2
    with pytest.raises(FrozenInstanceError):
        STEEL.density = 1.0
    assert Rod(list(THREE.segments)) == THREE
    assert hash(Rod(list(THREE.segments))) == hash(THREE)


# --- Rest shape ---------------------------------------------------------------------------------

def test_a_straight_rod_runs_along_z():
    s = np.array([0.0, 0.1, 0.35, 0.6])
    straight = Rod([replace(x, rest=RestShape()) for x in THREE.segments])
    assert_allclose(
        straight.rest_poses(s), [pose(np.eye(3), [0, 0, x]) for x in s], rtol=0, atol=1e-15)


def test_a_circle_closes():
    L = 0.7
    half, full = bent(L, (0.0, 2 * np.pi / L, 0.0)).rest_poses([L / 2, L])
    assert_allclose(full, np.eye(4), rtol=0, atol=1e-12)
    # a turn about +y takes z to +x: the far side of the circle is a diameter away, along x
    assert_allclose(half, pose(np.diag([-1, 1, -1]), [L / np.pi, 0, 0]), rtol=0, atol=1e-12)


def test_a_twisted_rod_stays_straight():
    L, turn = 0.5, 40.0
    g = bent(L, (0.0, 0.0, turn / L)).rest_poses(L / 3)
    expected = pose(Rotation.from_rotvec([0, 0, turn / 3]).as_matrix(), [0, 0, L / 3])
    assert_allclose(g, expected, rtol=0, atol=1e-13)


def test_twist_that_grows_stays_straight():
    L = 0.5
    g = bent(L, (0.0, 0.0, 2.0), (0.0, 0.0, 30.0)).rest_poses([L / 3, L])
    angle = [2.0 * s + 28.0 * s ** 2 / (2 * L) for s in (L / 3, L)]
    expected = [pose(Rotation.from_rotvec([0, 0, a]).as_matrix(), [0, 0, s])
                for a, s in zip(angle, (L / 3, L))]
    assert_allclose(g, expected, rtol=0, atol=1e-12)


def test_a_helix():
    """Curvature kappa and torsion tau: x towards the axis, radius and pitch as in textbooks."""
    kappa, tau, L = 4.0, 3.0, 2.5
    w = math.hypot(kappa, tau)
    radius, rise = kappa / w ** 2, tau / w ** 2

    def helix(s):
        turned = Rotation.from_rotvec([0, 0, w * s]).as_matrix()
        tangent, normal = np.array([0, radius * w, rise * w]), np.array([-1, 0, 0])
        frame = np.column_stack([normal, np.cross(tangent, normal), tangent])
        return pose(turned @ frame, turned @ [radius, 0, 0] + [0, 0, rise * w * s])

    s = np.linspace(0.0, L, 9)
    poses = bent(L, (0.0, kappa, tau)).rest_poses(s, helix(0.0))
    assert_allclose(poses, [helix(x) for x in s], rtol=0, atol=1e-12)


@pytest.mark.parametrize('start', [0.0, -8.0, 3.0])
def test_a_clothoid(start):
    """Heading start s + c s^2 / 2 in the plane x, z; Fresnel integrals, the square completed."""
    L, c = 1.7, 11.0
    s = np.linspace(0.0, L, 8)
    poses = bent(L, (0.0, start, 0.0), (0.0, start + c * L, 0.0)).rest_poses(s)
    scale = math.sqrt(math.pi / c)
    S, C = (scale * (f - f0) for f, f0 in zip(
        fresnel((s + start / c) / scale), fresnel(start / c / scale)))
    lead = start ** 2 / (2 * c)
    x = math.cos(lead) * S - math.sin(lead) * C
    z = math.cos(lead) * C + math.sin(lead) * S
    heading = start * s + c * s ** 2 / 2
    expected = [pose(Rotation.from_rotvec([0, h, 0]).as_matrix(), [a, 0, b])
                for h, a, b in zip(heading, x, z)]
    assert_allclose(poses, expected, rtol=0, atol=1e-12)


CURL = {'length': 2.0, 'curvature': (-3.0, 5.0, 1.0), 'tip_curvature': (9.0, -2.0, 4.0),
        'linear_strain': (0.1, -0.2, 1.1)}


def test_a_curve_in_space_solves_its_differential_equation():
    rod = bent(**CURL)

    def twist(s, flat):
        v, (x, y, z) = np.split(rod.rest_strain(min(s, 2.0)), 2)
        hat = np.zeros((4, 4))
        hat[:3, :3], hat[:3, 3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]], v
        return (flat.reshape(4, 4) @ hat).ravel()

    s = [0.3, 1.1, 2.0]
    solution = solve_ivp(
        twist, (0.0, 2.0), BASE.ravel(), 'DOP853', t_eval=s, rtol=1e-12, atol=1e-13)
    assert_allclose(
        rod.rest_poses(s, BASE), solution.y.T.reshape(3, 4, 4), rtol=0, atol=2e-11)


def test_the_curve_is_integrated_to_order_six(monkeypatch):
    exact = bent(**CURL).rest_poses(2.0)
    errors = []
    for step in (0.8, 0.4):
        monkeypatch.setattr(rod_module, 'MAX_STEP', step)
        errors.append(np.abs(bent(**CURL).rest_poses(2.0) - exact).max())
    assert 5.5 < math.log2(errors[0] / errors[1]) < 6.5


def test_steps_are_small_enough(monkeypatch):
    poses = bent(**CURL).rest_poses(2.0)
    monkeypatch.setattr(rod_module, 'MAX_STEP', rod_module.MAX_STEP / 4)
    assert_allclose(bent(**CURL).rest_poses(2.0), poses, rtol=0, atol=1e-13)


def test_a_cut_changes_nothing():
    whole = bent(**CURL)
    halfway = tuple(whole.rest_strain(0.8)[3:])
    cut = Rod([
        Segment(0.8, DISC, STEEL, rest=RestShape(
            CURL['linear_strain'], CURL['curvature'], halfway)),
        Segment(1.2, DISC, STEEL, rest=RestShape(
            CURL['linear_strain'], halfway, CURL['tip_curvature']))])
    s = np.linspace(0.0, 2.0, 11)
    assert_allclose(cut.rest_strain(s), whole.rest_strain(s), rtol=0, atol=1e-14)
    assert_allclose(cut.rest_poses(s), whole.rest_poses(s), rtol=0, atol=1e-12)


@settings(deadline=None)  # the first example pays for compilation
@given(st.tuples(*[st.floats(-3, 3)] * 3), st.tuples(*[st.floats(-10, 10)] * 3))
def test_the_rest_shape_is_frame_indifferent(turn, shift):
    g = pose(Rotation.from_rotvec(turn).as_matrix(), shift)
    s = [0.0, 0.1, 0.2, 0.6]
    assert_allclose(THREE.rest_poses(s, g), g @ THREE.rest_poses(s), rtol=0, atol=1e-13)


@pytest.mark.parametrize('base', [
    np.eye(3), 2 * np.eye(4), np.full((4, 4), np.nan), np.diag([1, 1, -1, 1]), 'here', 1.0])
def test_a_base_that_is_no_pose_is_refused(base):
    with pytest.raises(InvalidModel, match='base must be a rigid transform'):
        THREE.rest_poses(0.0, base)


# --- Any input ----------------------------------------------------------------------------------

sizes = st.floats(1e-6, 10.0)
triples = st.tuples(*[st.floats(-20.0, 20.0)] * 3)
dampers = st.tuples(*[st.floats(0.0, 1e3)] * 3)


def sections_of(kind):
    correction = st.floats(0.1, 2.0)
    if kind is Annular:
        return st.builds(
            lambda outer, ratio, k: Annular(outer, ratio * outer, shear_correction=k),
            sizes, st.floats(0.0, 0.999), correction)
    given = {f.name: sizes for f in fields(kind) if f.default is not None}
    return st.builds(kind, **{**given, 'shear_correction': correction})


kinds = st.sampled_from(get_args(Section))
segments = kinds.flatmap(lambda kind: st.builds(
    Segment, length=st.floats(1e-3, 10.0), section=sections_of(kind),
    material=st.builds(
        Material, st.floats(1.0, 1e12), st.floats(1e-3, 1e5), st.none(), st.floats(-0.9, 0.5)),
    tip_section=st.none() | sections_of(kind),
    rest=st.builds(
        RestShape, st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.1, 2)), triples,
        st.none() | triples),
    damping=st.builds(Damping, st.floats(0.0, 10.0), dampers, dampers)))


@settings(deadline=None, max_examples=50)
@given(st.lists(segments, min_size=1, max_size=3), st.floats(0.0, 1.0))
def test_any_valid_rod_has_finite_properties(pieces, fraction):
    rod = Rod(pieces)
    s = np.append(rod.breaks, fraction * rod.length)
    for values in (rod.stiffness(s), rod.inertia(s), rod.outline(s), rod.mass):
        assert np.all(np.isfinite(values)) and np.all(np.asarray(values) > 0.0)
    assert np.isfinite(rod.damping(s)).all() and (rod.damping(s) >= 0.0).all()
    poses = rod.rest_poses(s)
    R = poses[:, :3, :3]
    assert np.isfinite(poses).all()
    assert_allclose(R @ R.transpose(0, 2, 1), np.tile(np.eye(3), (len(s), 1, 1)), atol=1e-11)


VALID = {
    Circular: {'radius': 1e-3},
    Annular: {'outer_radius': 2e-3, 'inner_radius': 1e-3},
    Rectangular: {'width': 1e-3, 'height': 2e-3},
    Elliptic: {'semi_axis_x': 1e-3, 'semi_axis_y': 2e-3},
    FreeSection: {'area': 1e-6, 'second_moment_x': 1e-13, 'second_moment_y': 1e-13,
                  'torsion_constant': 2e-13},
    Material: {'young_modulus': 207e9, 'density': 8e3, 'shear_modulus': 79e9},
    RestShape: {},
    Damping: {},
    Segment: {'length': 0.4, 'section': DISC, 'material': STEEL},
    Rod: {'segments': (Segment(0.4, DISC, STEEL),)},
}
MAY_BE_ZERO = {'inner_radius', 'second_moment_x', 'second_moment_y', 'torsion_constant',
               'relaxation_time', 'dry_bending', 'poisson_ratio'}
NO_NUMBERS = (math.nan, math.inf, -math.inf, True, False, '1.0', b'1', 1j, [1.0], {}, object())
NO_VECTORS = (
    'abc', 1.0, math.nan, True, (), (1.0, 1.0), (1.0,) * 4, {0: 1.0, 1: 1.0, 2: 1.0}, object(),
    (1.0, 1.0, math.nan), (math.inf, 1.0, 1.0), (1.0, '1.0', 1.0), (1.0, 1.0, None),
    (1.0, True, 1.0))
NO_DESCRIPTIONS = (1.0, 'steel', {}, (), math.nan, object(), True)


def wrong_values(kind, name):
    """Yield what field `name` of the class `kind` must not take."""
    hint = str(get_type_hints(kind)[name])
    if 'Optional' not in hint and 'None' not in hint:
        yield None
    if 'tuple[float' in hint:
        yield from NO_VECTORS
        if kind is Damping:
            yield (1.0, -1e-9, 1.0)
        if name == 'linear_strain':
            yield from ((0.0, 0.0, 0.0), (0.0, 0.0, -1.0))
    elif 'float' in hint:
        yield from NO_NUMBERS
        if name == 'poisson_ratio':
            yield from (-1.0, 0.500001)
        else:
            yield from (-1e-300, -1.0)
        if name not in MAY_BE_ZERO:
            yield 0.0
    else:
        yield from NO_DESCRIPTIONS


WRONG = [
    pytest.param(kind, f.name, value, id=f'{kind.__name__}-{f.name}-{value!r:.20}')
    for kind in VALID for f in fields(kind) for value in wrong_values(kind, f.name)
]


@pytest.mark.parametrize('kind, name, value', WRONG)
def test_a_wrong_value_is_refused_by_name(kind, name, value):
    given = {**VALID[kind], name: value}
    if name == 'poisson_ratio':
        given['shear_modulus'] = None
    with pytest.raises(InvalidModel) as error:
        kind(**given)
    assert error.value.field.split('[')[0] == name
    assert f'{error.value.field} must be ' in str(error.value)


@pytest.mark.parametrize('kind', VALID)
def test_the_valid_values_are_valid(kind):
    """Without this, the refusals above could be of something else."""
    made = kind(**VALID[kind])
    for f in fields(made):
        assert f.name not in VALID[kind] or getattr(made, f.name) == VALID[kind][f.name]


@given(st.sampled_from(sorted(
    (k.__name__, f.name) for k in VALID if k is not Rod for f in fields(k)
    if f.name not in ('poisson_ratio', 'section', 'tip_section', 'material', 'rest', 'damping')
    and 'tuple' not in f.type)), st.floats(max_value=0.0, exclude_max=True) | st.just(math.nan))
def test_no_dimension_may_be_negative(field, value):
    kind = globals()[field[0]]
    with pytest.raises(InvalidModel) as error:
        kind(**{**VALID[kind], field[1]: value})
    assert error.value.field == field[1]


def test_values_are_stored_as_floats_and_tuples():
    rest = RestShape(np.array([0, 0, 1]), [0, 1, 2], [1, 2, np.float32(3)])
    assert rest == RestShape((0.0, 0.0, 1.0), (0.0, 1.0, 2.0), (1.0, 2.0, 3.0))
    assert all(type(x) is float for f in fields(rest) for x in getattr(rest, f.name))
    assert type(Circular(1).radius) is float
    assert type(Rod([Segment(1, DISC, STEEL)]).segments) is tuple


@pytest.mark.parametrize('make, message', [
    (lambda: Annular(1e-3, 1e-3), 'inner_radius must be less than outer_radius, 0.001'),
    (lambda: Annular(1e-3, 2e-3), 'inner_radius must be less than outer_radius, 0.001'),
    (lambda: Segment(1.0, DISC, STEEL, Elliptic(1e-3, 1e-3)),
     'tip_section must be circular, as section is'),
    (lambda: Segment(1.0, FreeSection(1.0, 1.0, 1.0, 1.0, 1.0, 1.0), STEEL,
                     FreeSection(1.0, 1.0, 1.0, 1.0)),
     'tip_section.width must be given for both or neither'),
    (lambda: bent(1.0, (0.0, 1e5, 0.0)), 'rest.curvature must be at most'),
    (lambda: bent(1e5, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), 'rest.tip_curvature must be at most'),
    (lambda: bent(1.0, (0.0, 1e200, 1e200)), 'rest.curvature must be at most'),
    (lambda: Segment(1.0, Circular(1e70), Material(1e100, 1.0, 1.0)), 'stiffness must be within'),
    (lambda: Segment(1.0, DISC, Material(1e-318, 1.0, 1.0)), 'stiffness must be within'),
    (lambda: Segment(1.0, Circular(1e70), Material(1.0, 1e100, 1.0)), 'inertia must be within'),
    (lambda: Segment(1.0, DISC, STEEL, damping=Damping(1e305)), 'damping must be within'),
    (lambda: Material(1e308, 1.0, poisson_ratio=-1 + 1e-12), 'rigidity must be a finite'),
    (lambda: Rod([Segment(1e6, Circular(100.0), Material(1.0, 1e300, 1.0))]),
     'mass must be a finite'),
    (lambda: Rod([Segment(1e6, DISC, STEEL), Segment(1e-6, DISC, STEEL)]),
     r'segments\[1\].length must be a finite number >= 1e-05'),
    (lambda: Rod([]), 'segments must be a list of at least one Segment'),
    (lambda: Rod([Segment(1.0, DISC, STEEL), DISC]), r'segments\[1\] must be a Segment'),
])
def test_values_that_do_not_fit_together_are_refused(make, message):
    with pytest.raises(InvalidModel, match=message):
        make()


def test_yaml_can_be_made_into_descriptions():
    """Every field is an argument with a type that a reader can resolve; shapes are told apart."""
    for kind in VALID:
        hints = get_type_hints(kind)
        assert all(f.init and f.name in hints for f in fields(kind))
    assert {kind.shape for kind in get_args(Section)} == {
        'circular', 'annular', 'rectangular', 'elliptic', 'free'}
