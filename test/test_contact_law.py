"""Shapes of obstacles and the law of contact: derivatives, return mapping, energy, frames."""

from functools import partial

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from scipy.interpolate import RectBivariateSpline
from scipy.spatial.transform import Rotation

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.obstacles import (
    Box,
    Capsule,
    ContactProperties,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    Sphere,
    Tube,
)
from cosserat_ros.laws import distance_grids
from cosserat_ros.laws.contact import Force, Numbers, press, SLIDES, STICKS
from cosserat_ros.laws.distance_grids import distances_from, winding
from cosserat_ros.laws.obstacles import distances
from cosserat_ros.laws.shapes import check_shape, shape_of, stacked
from cosserat_ros.numerics.kernels import kernel

VESSEL = Tube(((0.0, 0.0, 0.0), (0.1, 0.02, 0.05), (0.15, 0.1, 0.1), (0.1, 0.2, 0.1)),
              (0.03, 0.02, 0.025, 0.02))
GEOMETRIES = {
    'plane': Plane(), 'sphere': Sphere(0.05), 'capsule': Capsule(0.03, 0.1),
    'cylinder': Cylinder(0.04, 0.1), 'rod': Cylinder(0.04), 'box': Box((0.1, 0.06, 0.04)),
    'pipe': Tube(((0.0, 0.0, -0.1), (0.0, 0.0, 0.1)), (0.05,)), 'vessel': VESSEL,
}


@kernel
def press_all(a, gap, n, H, v, Om, slip, N, T, slopes):
    f = Force(N, T, slopes[0], slopes[1], slopes[2], slopes[3], slopes[4])
    return press(a, gap, n, H, v, Om, slip, f)


def measured(geometry, points):
    """Return distances, gradients and second derivatives."""
    points = np.atleast_2d(points)
    d, n, H = np.empty(len(points)), np.empty((len(points), 3)), np.empty((len(points), 3, 3))
    distances(stacked([shape_of(geometry)]), 0, points, d, n, H)
    return d, n, H


def differences(f, x, h):
    """Return the derivative of f at x (3,), of order 6."""
    columns = []
    for e in np.eye(3):
        columns.append(sum(c * (f(x + k * h * e) - f(x - k * h * e)) for k, c in (
            (1, 0.75), (2, -0.15), (3, 1.0 / 60.0))) / h)
    return np.array(columns)


def near(name, rng):
    """Return a point where a shape is smooth."""
    if name == 'vessel':
        middle = np.mean(VESSEL.points[1:3], axis=0)  # third derivatives jump at the points
        return middle + 0.004 * rng.normal(size=3)
    return 0.06 * rng.normal(size=3)


@pytest.mark.parametrize('name', GEOMETRIES)
def test_gradient_and_second_derivative(name):
    geometry, rng = GEOMETRIES[name], np.random.default_rng(1)
    for _ in range(30):
        x = near(name, rng)
        d, n, H = (a[0] for a in measured(geometry, x))
        probe = measured(geometry, x + 4e-4 * rng.normal(size=(20, 3)))[2]
        if np.abs(probe - H).max() > 0.3 * np.abs(H).max() + 1e-9:
            continue  # near an edge
        slope = differences(lambda y: measured(geometry, y)[0][0], x, 1e-4)
        second = differences(lambda y: measured(geometry, y)[1][0], x, 1e-4)
        np.testing.assert_allclose(n, slope, atol=2e-8)
        np.testing.assert_allclose(H, second, atol=2e-7 * max(1.0, np.abs(H).max()))


def test_distances_of_simple_shapes():
    point = np.array([0.1, 0.05, 0.2])
    assert measured(Plane(), point)[0][0] == 0.2
    assert measured(Sphere(0.05), point)[0][0] == pytest.approx(np.linalg.norm(point) - 0.05)
    ring = np.hypot(0.1, 0.05)
    assert measured(Cylinder(0.04), point)[0][0] == pytest.approx(ring - 0.04)
    assert measured(Cylinder(0.04, 0.1), point)[0][0] == pytest.approx(np.hypot(ring - 0.04, 0.15))
    assert measured(Capsule(0.04, 0.1), point)[0][0] == pytest.approx(np.hypot(ring, 0.15) - 0.04)
    assert measured(Box((0.1, 0.2, 0.1)), point)[0][0] == pytest.approx(np.hypot(0.05, 0.15))
    assert measured(Box((0.3, 0.2, 0.8)), point)[0][0] == pytest.approx(-0.05)
    pipe = Tube(((0.0, 0.0, 0.0), (0.0, 0.0, 0.5)), (0.2,))
    assert measured(pipe, point)[0][0] == pytest.approx(0.2 - ring)


def test_a_vessel_along_a_circle_is_a_torus():
    """Natural splines bend less at their ends: there, and only there, it is none."""
    angle = np.linspace(-0.5, np.pi + 0.5, 80)
    points = tuple(map(tuple, 0.1 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)))
    rng = np.random.default_rng(2)
    x = rng.uniform(-1.0, 1.0, (200, 3)) * (0.02, 0.02, 0.02)
    a = rng.uniform(0.3, np.pi - 0.3, 200)
    x += 0.1 * np.stack([np.cos(a), np.sin(a), 0 * a], axis=1)
    d = measured(Tube(points, (0.03,)), x)[0]
    exact = 0.03 - np.hypot(np.hypot(x[:, 0], x[:, 1]) - 0.1, x[:, 2])
    np.testing.assert_allclose(d, exact, atol=2e-7)


def test_a_mesh_is_measured_once(tmp_path, monkeypatch):
    trimesh = pytest.importorskip('trimesh')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    file = tmp_path / 'ball.stl'
    trimesh.creation.icosphere(subdivisions=3, radius=50.0).export(file)
    mesh = Mesh(str(file), scale=1e-3, cells=40, margin=0.01)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 3))
    x *= (0.05 + rng.uniform(-0.01, 0.008, 50) / 1.0)[:, None] / np.linalg.norm(
        x, axis=1)[:, None]
    d, n, H = measured(mesh, x)
    assert np.abs(d - np.linalg.norm(x, axis=1) + 0.05).max() < 4e-4  # that of its facets
    for i in range(10):
        slope = differences(lambda y: measured(mesh, y)[0][0], x[i], 2e-5)
        second = differences(lambda y: measured(mesh, y)[1][0], x[i], 2e-5)
        np.testing.assert_allclose(n[i], slope, atol=1e-6)
        np.testing.assert_allclose(H[i], second, atol=1e-3 * np.abs(H[i]).max())
    kept = list((tmp_path / 'cache').rglob('*.npz'))
    assert len(kept) == 1
    stamp = kept[0].stat().st_mtime_ns
    np.testing.assert_array_equal(measured(mesh, x)[0], d)
    assert kept[0].stat().st_mtime_ns == stamp
    assert measured(mesh, np.array([1.0, 0.0, 0.0]))[0][0] > 0.5  # far outside: a lower bound


def test_distances_and_signs_of_a_box_of_triangles():
    trimesh = pytest.importorskip('trimesh')
    box = np.asarray(trimesh.creation.box((0.2, 0.1, 0.3)).triangles)
    x = np.random.default_rng(4).uniform(-0.2, 0.2, (500, 3))
    sign = np.where(np.abs(winding(box, x)) > 0.5, -1.0, 1.0)
    np.testing.assert_allclose(
        sign * distances_from(box, x), measured(Box((0.2, 0.1, 0.3)), x)[0], atol=1e-12)


def test_a_height_field_is_the_surface_that_it_samples(tmp_path, monkeypatch):
    """A slope is a plane, a dome a ball; its sides are those of a box; outside is no block."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    rng = np.random.default_rng(6)
    x, y = np.linspace(-0.1, 0.1, 21), np.linspace(-0.05, 0.05, 11)
    X, Y = np.meshgrid(x, y)  # rows along x
    slope = HeightField((0.3 * X - 0.2 * Y).tolist(), (0.2, 0.1), cells=24)
    at = np.column_stack([*rng.uniform(-0.02, 0.02, (2, 40)), rng.uniform(-0.003, 0.012, 40)])
    at[:, 2] += 0.3 * at[:, 0] - 0.2 * at[:, 1]
    n = np.array([-0.3, 0.2, 1.0]) / np.sqrt(1.13)
    d, slopes, _ = measured(slope, at)
    np.testing.assert_allclose(d, at @ n, atol=2e-5)
    np.testing.assert_allclose(slopes, np.tile(n, (40, 1)), atol=1e-2)
    beside = measured(slope, np.array([[0.11, 0.0, -0.03], [0.0, -0.06, -0.04]]))[0]
    np.testing.assert_allclose(beside, 0.01, atol=2e-5)
    R = 0.2
    dome = HeightField(np.sqrt(R ** 2 - X ** 2 - Y ** 2) - R, (0.2, 0.1), cells=30)
    at = np.column_stack([*rng.uniform(-0.15, 0.15, (2, 60)) * [[1.0], [0.5]], np.ones(60)])
    at *= ((R + rng.uniform(-0.004, 0.015, 60)) / np.linalg.norm(at, axis=1))[:, None]
    d, slopes, _ = measured(dome, at - [0.0, 0.0, R])
    np.testing.assert_allclose(d, np.linalg.norm(at, axis=1) - R, atol=3e-5)
    np.testing.assert_allclose(
        slopes, at / np.linalg.norm(at, axis=1)[:, None], atol=1e-2)
    assert len(list((tmp_path / 'cache').rglob('*.npz'))) == 2


def test_a_height_field_is_as_high_as_it_is_between_its_samples(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    heights, x = np.zeros((12, 12)), np.linspace(-0.25, 0.25, 12)
    heights[4:8, 4:8] = 0.4
    field = HeightField(heights, (0.5, 0.5), depth=0.2, cells=48, margin=0.002)
    smooth = RectBivariateSpline(x, x, heights)
    fine = np.linspace(-0.25, 0.25, 201)
    over = smooth(fine, fine)
    i, j = np.unravel_index(np.argmax(over), over.shape)
    top = np.array([fine[i], fine[j], over[i, j]])
    assert top[2] > 0.45
    d, _, _ = measured(field, top + np.array([[0.0, 0.0, -5e-3], [0.0, 0.0, 5e-3]]))
    assert d[0] < -1e-3
    np.testing.assert_allclose(d[1], 5e-3, atol=1e-3)


def test_a_height_field_that_is_too_thin_is_found_without_its_distances(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    heights = np.zeros((9, 9))
    heights[:, 4:] = 1.0
    with pytest.raises(InvalidModel, match='depth'):
        check_shape(HeightField(heights, (0.1, 0.1), depth=0.01, cells=32))
    check_shape(HeightField(heights, (0.1, 0.1), depth=0.2, cells=32))
    assert not (tmp_path / 'cache').exists()


@pytest.mark.parametrize('broken', [b'', b'PK\x03\x04 and no more', b'no archive'])
def test_kept_distances_that_are_broken_or_old_are_computed_again(tmp_path, monkeypatch, broken):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    flat, x = HeightField(np.zeros((2, 2)), (0.1, 0.1), cells=8), np.array([0.0, 0.0, 0.01])
    d = measured(flat, x)[0]
    kept, = (tmp_path / 'cache').rglob('*.npz')
    whole = kept.read_bytes()
    kept.write_bytes(broken)
    np.testing.assert_array_equal(measured(flat, x)[0], d)
    assert len(kept.read_bytes()) == len(whole)
    monkeypatch.setattr(distance_grids, 'EDITION', 0)
    measured(flat, x)
    assert len(list((tmp_path / 'cache').rglob('*.npz'))) == 2


@pytest.mark.parametrize('heights', [
    [[0.0, 0.0]], [[0.0], [0.0]], [[0.0, 1.0], [0.0]], [[0.0, np.nan], [0.0, 0.0]], 'flat',
    [1, 2]])
def test_heights_that_make_no_field(heights):
    with pytest.raises(InvalidModel, match='heights'):
        HeightField(heights, (0.1, 0.1))


def test_a_field_that_needs_too_large_a_grid():
    with pytest.raises(InvalidModel, match='margin'):
        shape_of(HeightField([[0.0, 0.0], [0.0, 0.0]], (0.1, 0.1), cells=400, margin=0.1))


@pytest.mark.parametrize('file', ['nowhere.stl', ''])
def test_a_mesh_that_is_not_there(file):
    with pytest.raises(InvalidModel, match='file'):
        shape_of(Mesh(file))


def test_stiffness_or_penetration():
    assert ContactProperties(penetration=1e-5, line_load=100.0).line_stiffness == 1e7
    for given_ in ({}, {'penetration': 1e-5}, {'stiffness': 1.0, 'penetration': 1.0,
                                               'line_load': 1.0}):
        with pytest.raises(InvalidModel):
            ContactProperties(**given_)


# --- The law -------------------------------------------------------------------------------------

STILL = np.zeros(3)
LAW = Numbers(1e4, 0.5, 0.4, 3e3)


def force(geometry, x, v, anchor, law=LAW, Om=STILL):
    """Return the force on a point, its regime, and slopes with x, v and the rubbed point."""
    d, n, H = (a[0] for a in measured(geometry, x))
    N, T, slopes = np.zeros(3), np.zeros(3), np.zeros((5, 3, 3))
    if d >= 0.0:
        return N, T, 0, slopes
    regime = press_all(law, d, n, H, v - np.cross(Om, x), Om, x - anchor, N, T, slopes)
    return N, T, regime, slopes


def at_place(part, fixed, given_, y):
    """Return a part of the force at another place, with the same slip."""
    return force(x=y, anchor=y + fixed, **given_)[part]


def at_rubbed(x, anchor, given_, y):
    """Return the friction where another point is rubbed."""
    return force(x=x, anchor=anchor + x - y, **given_)[1]


def at_speed(part, x, anchor, given_, w):
    """Return a part of the force at another velocity."""
    return force(x=x, anchor=anchor, **{**given_, 'v': w})[part]


@pytest.mark.parametrize('slip', [1e-5, 1e-2])
@pytest.mark.parametrize('name', ['plane', 'sphere', 'vessel'])
def test_slopes_of_the_force(name, slip):
    geometry, rng = GEOMETRIES[name], np.random.default_rng(5)
    for _ in range(5):
        x = near(name, rng)
        d, n, _ = (a[0] for a in measured(geometry, x))
        x -= (d + 2e-3) * n / (n @ n)
        v, Om = 0.2 * rng.normal(size=(2, 3))
        e = rng.normal(size=3)
        e -= (e @ n) * n / (n @ n)
        anchor = x + slip * e / np.linalg.norm(e) + 0.1 * slip * n
        N, T, regime, s = force(geometry, x, v, anchor, Om=Om)
        assert regime == (STICKS if slip < 1e-4 else SLIDES)
        fixed = anchor - x  # so that the slip stays
        scale = np.abs(s[0]).max()
        h = min(1e-6, 0.1 * slip)
        given_ = {'geometry': geometry, 'v': v, 'Om': Om}
        for slope, part in ((s[0], 0), (s[2], 1)):
            found = differences(partial(at_place, part, fixed, given_), x, h).T
            np.testing.assert_allclose(slope, found, atol=1e-7 * scale)
        found = differences(partial(at_rubbed, x, anchor, given_), x, h).T
        np.testing.assert_allclose(s[4], found, atol=1e-7 * scale)
        for slope, part in ((s[1], 0), (s[3], 1)):
            found = differences(partial(at_speed, part, x, anchor, given_), v, 1e-3).T
            np.testing.assert_allclose(slope, found, atol=1e-7 * np.abs(s[1]).max())


vectors = st.tuples(*[st.floats(-1.0, 1.0)] * 3).map(np.array)


@settings(deadline=None, max_examples=20)
@given(st.lists(vectors, min_size=3, max_size=12), st.floats(0.0, 1.0))
def test_a_closed_path_gains_no_energy(steps, friction):
    """Pushed round a closed path on a ball, slowly: the force does no work on the whole."""
    law = Numbers(1e4, 0.0, friction, 3e3)
    corners = np.array([0.0, 0.0, 0.049]) + 1e-3 * np.array(steps)
    path = np.concatenate([np.linspace(a, b, 60, endpoint=False) for a, b in zip(
        corners, np.roll(corners, -1, axis=0))])
    anchor, work, last = None, 0.0, None
    for x in np.concatenate([path, path[:1]]):
        touching = measured(Sphere(0.05), x)[0][0] < 0.0
        anchor = x if anchor is None else anchor
        N, T, _, _ = force(Sphere(0.05), x, np.zeros(3), anchor, law)
        if last is not None:
            work += 0.5 * (N + T + last[1]) @ (x - last[0])
        last = x, N + T
        anchor = x + T / law.bristle if touching else x
    # The bristle may still be bent at the end: then it holds what was put into it.
    assert work <= 1e-3 * law.stiffness * 1e-6


@settings(deadline=None, max_examples=60)
@given(vectors, vectors, vectors, vectors)
def test_the_law_is_frame_indifferent(turn, x, v, slip):
    Q = Rotation.from_rotvec(3.0 * turn).as_matrix()
    x = 0.04 * (x + 0.1) / np.linalg.norm(x + 0.1) if np.linalg.norm(x + 0.1) > 0.1 else np.array(
        [0.0, 0.0, 0.04])
    one = force(Sphere(0.05), x, v, x + 0.01 * slip)
    other = force(Sphere(0.05), Q @ x, Q @ v, Q @ (x + 0.01 * slip))
    for a, b in zip(one[:2], other[:2]):
        np.testing.assert_allclose(Q @ a, b, atol=1e-9 * LAW.stiffness * 0.01)


def test_what_sticks_stays_and_what_slides_is_on_the_cone():
    x, anchor = np.array([0.0, 0.0, -1e-3]), np.zeros(3)
    for pull, regime in ((1e-4, STICKS), (5e-3, SLIDES)):
        N, T, found, _ = force(Plane(), x + [pull, 0.0, 0.0], np.zeros(3), anchor)
        assert found == regime
        assert N[2] == pytest.approx(LAW.stiffness * 1e-3)
        limit = LAW.friction * N[2]
        assert T[0] == pytest.approx(-min(limit, LAW.bristle * pull))
        again = x + [pull, 0.0, 0.0] + T / LAW.bristle  # what is remembered of it
        assert force(Plane(), x + [pull, 0.0, 0.0], np.zeros(3), again)[1] == pytest.approx(T)


def test_damping_never_pulls():
    x = np.array([0.0, 0.0, -1e-3])
    assert force(Plane(), x, np.array([0.0, 0.0, 100.0]), x)[0][2] == 0.0
    assert force(Plane(), x, np.array([0.0, 0.0, -1.0]), x)[0][2] == pytest.approx(15.0)


def test_beyond_the_centre_of_a_bend_a_tube_pushes_back_to_its_curve():
    """There the distance has a kink: it has a direction all the same, and friction a plane."""
    bend = Tube(((0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (-0.1, 0.0, 0.0)), (0.02,))
    rng, found = np.random.default_rng(3), 0
    for _ in range(200):
        x = np.array([0.0, -0.05, 0.0]) + 0.05 * rng.normal(size=3)
        d, n, H = (a[0] for a in measured(bend, x))
        assert np.isfinite(d) and np.isfinite(n).all() and np.isfinite(H).all()
        if d > 0.0:
            continue
        found += 1
        assert np.linalg.norm(n) > 1.0 - 1e-9
        N, T, _, slopes = force(bend, x, np.zeros(3), x + [1e-3, 2e-3, 0.0])
        assert np.isfinite(N).all() and np.isfinite(T).all() and np.isfinite(slopes).all()
        assert measured(bend, x + 1e-6 * N / np.linalg.norm(N))[0][0] > d
    assert found > 100


def test_without_a_normal_there_is_no_friction():
    N, T, slopes = np.zeros(3), np.zeros(3), np.zeros((5, 3, 3))
    press_all(LAW, -1e-3, np.zeros(3), np.zeros((3, 3)), STILL, STILL, np.array([1e-3, 0.0, 0.0]),
              N, T, slopes)
    for part in (N, T, slopes):
        np.testing.assert_array_equal(part, 0.0)
