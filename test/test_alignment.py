"""Recordings lined up in time and space: known delays and motions, and what tells none."""

from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.spatial.transform import Rotation, Slerp

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.comparison.alignment import (
    align_points,
    CannotAlign,
    estimate_delay,
    interpolate,
    Series,
    TimeBuffer,
)

TURN = Rotation.from_rotvec([0.4, -1.1, 0.7])
SHIFT = np.array([0.3, -0.2, 1.5])


def wander(t, marker=1.0):
    """Return a smooth motion in space that does not repeat itself, (T, 3) [m]."""
    return 0.05 * marker * np.stack([
        np.sin(2.1 * t) + 0.4 * np.sin(5.3 * t + 1.0), np.cos(1.3 * t) - 0.3 * np.sin(4.1 * t),
        2.0 + 0.3 * np.cos(3.2 * t)], axis=1)


def filled(times, values, **settings):
    buffer = TimeBuffer(np.shape(values)[1], **{'span': 10.0, 'longest_gap': 0.1, **settings})
    for time, value in zip(times, values):
        buffer.add(time, value)
    return buffer


# --- Buffers ------------------------------------------------------------------------------------

def test_a_buffer_tells_what_is_between_its_samples_and_nothing_else():
    t = np.arange(0.0, 1.0, 0.05)
    buffer = filled(t, np.outer(t, [1.0, -2.0, 0.5]))  # straight: interpolation is exact
    for time in (0.0, 0.05, 0.061, 0.5, t[-1]):
        assert_allclose(buffer.at(time), np.multiply(time, [1.0, -2.0, 0.5]), atol=1e-15)
    assert buffer.at(-1e-9) is None and buffer.at(t[-1] + 1e-9) is None
    assert buffer.newest == t[-1]
    assert TimeBuffer(3, 1.0, 1.0).at(0.0) is None


def test_poses_turn_by_the_shortest_way():
    turns = Rotation.from_rotvec([[0.0, 0.0, 0.0], [0.5, 1.0, -1.0], [0.2, 1.3, 2.0]])
    q = turns.as_quat()
    q[1] *= -3.0  # the same rotation
    t = np.array([0.0, 1.0, 2.0])
    buffer = filled(t, np.hstack([np.outer(t, [1.0, 0.0, 2.0]), q]), longest_gap=1.0)
    for time in np.linspace(0.0, 2.0, 9):
        pose = buffer.at(time)
        assert_allclose(pose[:3], [time, 0.0, 2.0 * time], atol=1e-15)
        error = Rotation.from_quat(pose[3:]).inv() * Slerp(t, turns)(time)
        assert error.magnitude() < 1e-7


def test_what_cannot_be_is_refused_and_counted():
    buffer = filled([0.0, 0.05], [[0.0] * 3, [1.0] * 3])
    assert not buffer.add(0.1, [0.0, np.nan, 0.0])
    assert not buffer.add(np.inf, [0.0, 0.0, 0.0])
    assert not buffer.add(0.05, [7.0] * 3)     # again
    assert not buffer.add(0.03, [7.0] * 3)     # late
    assert_allclose(buffer.at(0.04), [0.8] * 3)
    assert buffer.add(0.5, [2.0] * 3)
    assert buffer.at(0.3) is None              # in a gap
    assert_allclose(buffer.at(0.5), [2.0] * 3)
    counts = buffer.counts
    assert (counts.taken, counts.not_finite, counts.out_of_order) == (3, 2, 2)
    assert (counts.dropouts, counts.clock_jumps) == (1, 0)
    poses = TimeBuffer(7, 1.0, 1.0)
    assert not poses.add(0.0, [0.0] * 7)       # no rotation
    assert poses.counts.not_finite == 1


@pytest.mark.parametrize('jump', [-3.0, 1000.0])
def test_a_clock_that_jumps_begins_anew(jump):
    buffer = filled(np.arange(0.0, 5.0, 0.05), np.zeros((100, 3)))
    assert buffer.add(4.95 + jump, [1.0] * 3)
    assert buffer.counts.clock_jumps == 1
    assert buffer.at(4.9) is None
    assert_allclose(buffer.series().values, [[1.0] * 3])


def test_a_buffer_keeps_its_span_and_no_more():
    buffer = filled(np.arange(0.0, 100.0, 0.05), np.zeros((2000, 3)), span=2.0)
    assert len(buffer.series().times) == 41
    assert len(buffer._times) < 100
    assert buffer.at(buffer.newest - 2.0) is not None


@pytest.mark.parametrize(('field', 'value'), [
    ('size', 4), ('span', 0.0), ('span', np.nan), ('longest_gap', -1.0)])
def test_a_buffer_that_makes_no_sense_is_refused_by_name(field, value):
    with pytest.raises(InvalidModel, match=field):
        TimeBuffer(**{'size': 3, 'span': 1.0, 'longest_gap': 1.0, field: value})
    with pytest.raises(InvalidModel, match='values must be 3 numbers'):
        TimeBuffer(3, 1.0, 1.0).add(0.0, [1.0, 2.0])


def test_nothing_is_known_of_an_empty_series():
    values, known = interpolate(Series(np.zeros(0), np.zeros((0, 3))), np.array([0.0, 1.0]))
    assert values.shape == (2, 3) and not known.any()


# --- Delay --------------------------------------------------------------------------------------

@pytest.mark.parametrize('delay', [0.0, 0.0071, 0.1234, -0.2])
@pytest.mark.parametrize('rigid', [False, True])
def test_a_known_delay_is_found_within_a_part_of_a_sample(delay, rigid):
    rng = np.random.default_rng(1)
    period = 1.0 / 60.0
    t = 1.7e9 + np.arange(0.0, 6.0, period)  # as large as stamps are
    real, simulated = [], []
    for marker in (0.5, 1.0):
        seen = t + rng.uniform(-0.3, 0.3, t.size) * period   # jitter
        seen = seen[rng.random(t.size) > 0.2]                # dropouts
        places = wander(seen - 1.7e9 - delay, marker)
        places += rng.normal(0.0, 5e-4, places.shape)        # 0.5 mm of noise
        real.append(Series(seen, (TURN.apply(places) if rigid else places) + SHIFT))
        simulated.append(Series(t, wander(t - 1.7e9, marker)))
    found = estimate_delay(real, simulated, 0.5, rigid=rigid)
    assert abs(found.value - delay) < 0.05 * period
    assert abs(found.value - delay) < 4.0 * found.uncertainty
    assert_allclose(found.residual, np.sqrt(3.0) * 5e-4, rtol=0.1)
    assert found.samples > 400


def test_a_delay_is_looked_for_about_another():
    t = np.arange(0.0, 8.0, 0.02)
    found = estimate_delay([Series(t, wander(t - 1.93))], [Series(t, wander(t))], 0.2, around=2.0)
    assert_allclose(found.value, 1.93, atol=1e-3)


def test_a_part_that_overlaps_tells_the_delay_or_nothing():
    """However much of the simulated motion is forgotten: no delay wins by leaving samples out."""
    t, told = np.arange(0.0, 6.0, 0.02), 0
    for start in np.arange(0.0, 6.0, 0.1):
        kept = np.arange(start, 12.0, 0.02)
        simulated = Series(kept, wander(np.minimum(kept, 6.0)))
        try:
            found = estimate_delay([Series(t, wander(t - 0.083))], [simulated], 0.4)
        except CannotAlign:
            continue
        told += 1
        assert abs(found.value - 0.083) < 1e-3, start
    assert 30 < told < 50


def test_the_uncertainty_of_a_delay_is_that_of_many_trials():
    t = np.arange(0.0, 4.0, 0.02)
    simulated = [Series(t, wander(t))]
    errors, told = [], []
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(0.0, 2e-3, (t.size, 3))
        found = estimate_delay([Series(t, wander(t - 0.05) + noise)], simulated, 0.2)
        errors.append(found.value - 0.05)
        told.append(found.uncertainty)
    assert 0.7 < np.std(errors) / np.mean(told) < 1.4
    assert abs(np.mean(errors)) < 3.0 * np.std(errors) / np.sqrt(40)


def test_what_does_not_tell_a_delay_is_refused_with_the_reason():
    t = np.arange(0.0, 4.0, 0.02)
    rng = np.random.default_rng(2)
    moving, still = Series(t, wander(t)), Series(t, np.ones((t.size, 3)))
    for real, simulated, reason in (
        (Series(t[:3], wander(t[:3])), moving, 'at least 8 samples, got 3'),
        (still, still, 'hardly moved'),
        (Series(t, 1.0 + rng.normal(0.0, 1e-3, (t.size, 3))), still, 'hardly moved'),
        (Series(t + 100.0, wander(t)), moving, 'do not overlap'),
        (Series(t, wander(t - 0.6)), moving, 'nothing alike within 0.3 s of 0 s'),
    ):
        with pytest.raises(CannotAlign, match=reason):
            estimate_delay([real], [simulated], 0.3)
    # A circle that turns steadily: later is the same as turned.
    circle = np.stack([np.cos(3.0 * t), np.sin(3.0 * t), 0.0 * t], axis=1)
    with pytest.raises(CannotAlign):
        estimate_delay([Series(t, circle + rng.normal(0.0, 1e-3, circle.shape))],
                       [Series(t, circle)], 0.3, rigid=True)
    with pytest.raises(InvalidModel, match='most'):
        estimate_delay([moving], [moving], 0.0)
    with pytest.raises(InvalidModel, match='simulated'):
        estimate_delay([moving], [moving, moving], 0.3)


# --- Space --------------------------------------------------------------------------------------

@settings(deadline=None, max_examples=50)
@given(turn=st.tuples(*[st.floats(-3.0, 3.0)] * 3), shift=st.tuples(*[st.floats(-5.0, 5.0)] * 3),
       scale=st.floats(0.01, 100.0), flat=st.booleans(), seed=st.integers(0, 1000))
def test_a_known_motion_is_found(turn, shift, scale, flat, seed):
    points = np.random.default_rng(seed).uniform(-1.0, 1.0, (12, 3))
    if flat:
        points[:, 2] = 0.3  # a plane will do, and must not be mirrored
    R = Rotation.from_rotvec(turn).as_matrix()
    found = align_points(points, scale * points @ R.T + shift, with_scale=True)
    assert_allclose(found.rotation, R, atol=1e-9)
    assert_allclose(found.translation, shift, atol=1e-9 * max(1.0, scale))
    assert_allclose(found.scale, scale, rtol=1e-9)
    assert found.residual < 1e-9 * max(1.0, scale)
    rigid = align_points(points, points @ R.T + shift)
    assert rigid.scale == 1.0 and rigid.largest < 1e-12
    assert_allclose(rigid.apply(points), points @ R.T + shift, atol=1e-12)


def test_noise_is_what_is_left_and_says_how_well_the_rotation_is_known():
    points, errors, told = wander(np.linspace(0.0, 9.0, 200)), [], []
    for seed in range(60):
        noise = np.random.default_rng(seed).normal(0.0, 1e-3, points.shape)
        found = align_points(points, TURN.apply(points) + SHIFT + noise)
        assert_allclose(found.residual, np.sqrt(3.0) * 1e-3, rtol=0.15)
        assert found.residual < found.largest < 8e-3
        errors.append((Rotation.from_matrix(found.rotation) * TURN.inv()).as_rotvec())
        told.append(found.uncertainty)
    worst_axis = np.sqrt(np.linalg.eigvalsh(np.cov(np.transpose(errors)))[-1])
    assert 0.7 < worst_axis / np.mean(told) < 1.4


def test_a_mirrored_robot_is_not_aligned_by_a_mirror():
    points = wander(np.linspace(0.0, 9.0, 50))
    found = align_points(points, points * [1.0, 1.0, -1.0])
    assert_allclose(np.linalg.det(found.rotation), 1.0)
    assert found.residual > 1e-3


def test_points_that_leave_a_rotation_free_are_refused():
    line = np.outer(np.linspace(0.0, 1.0, 9), [1.0, 2.0, 3.0])
    cloud = np.random.default_rng(0).normal(size=(9, 3))
    for source, target, reason in (
        (cloud[:2], cloud[:2], 'at least 3 points, got 2'),
        (line, line, 'source are all on one line'),
        (cloud, line, 'target are all on one line'),
        (np.ones((9, 3)), cloud, 'source are all the same'),
    ):
        with pytest.raises(CannotAlign, match=reason):
            align_points(source, target)
    with pytest.raises(InvalidModel, match='target must be as many'):
        align_points(cloud, cloud[:5])
    with pytest.raises(InvalidModel, match='source must be finite'):
        align_points(np.full((9, 3), np.nan), cloud)
