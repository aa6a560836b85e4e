"""A base that follows measurements: exactness, orders, continuity, and all that can be wrong."""

from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.control.pose_tracker import PoseTracker
from cosserat_ros.numerics.lie import exp_se3, exp_so3, inverse_se3, log_se3, log_so3

HOME = exp_se3(np.array([0.3, -0.2, 0.5, 0.4, 1.0, -0.7]))
TWIST = np.array([0.4, 0.1, -0.2, 0.3, -0.5, 1.2])
NOT_NEAR = 1e9, 1e9  # no measurement is a jump


def tracker(pose=HOME, time_constant=0.02, timeout=0.2, jump=NOT_NEAR):
    return PoseTracker(pose, time_constant, timeout, jump)


def pose_of(motion):
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = motion.R, motion.p
    return g


def off(motion, pose):
    return np.linalg.norm(log_se3(inverse_se3(pose_of(motion)) @ pose))


def screw(t):
    return HOME @ exp_se3(t * TWIST)


def follow(base, path, end, step, interval, delay=0.0, twist=None):
    """Yield time and motion of steps, while measurements come after a delay."""
    measured, k = 0, 0
    while k * step < end - 1e-9:
        while measured * interval + delay <= k * step + 1e-12:
            t = measured * interval
            base.see(t, path(t), None if twist is None else twist(t))
            measured += 1
        k += 1
        yield k * step, base.motion(k * step)


@pytest.mark.parametrize('step, interval, delay', [
    (0.005, 0.01, 0.0), (0.0167, 0.01, 0.0), (0.002, 0.02, 0.03), (0.001, 0.033, 0.011)])
def test_a_screw_motion_is_followed_exactly(step, interval, delay):
    """A constant body twist: lines, circles and screws, whatever rates and delay."""
    for t, motion in follow(tracker(), screw, 1.5, step, interval, delay):
        if t > 1.2:
            assert off(motion, screw(t)) < 1e-9
            R = screw(t)[:3, :3]
            assert_allclose(motion.Om, R @ TWIST[3:], atol=1e-7)
            assert_allclose(motion.p_t, R @ TWIST[:3], atol=1e-7)
            assert_allclose(motion.Om_t, 0.0, atol=1e-5)
            assert_allclose(motion.p_tt, R @ np.cross(TWIST[3:], TWIST[:3]), atol=1e-5)


def test_behind_a_constant_acceleration_is_what_the_page_says():
    """((L + h)(L + 2 h) / 2 - h^2 / 12) a of the target, and nothing of the filter, on average."""
    h, a = 0.01, 2.0

    def path(t):
        g = np.eye(4)
        g[0, 3] = 0.5 * a * t * t
        return g
    for delay in (0.0, 0.02):
        motions = list(follow(tracker(np.eye(4)), path, 1.0, h / 20, h, delay))[-20:]  # h long
        behind = np.mean([path(t)[0, 3] - motion.p[0] for t, motion in motions])
        assert behind == pytest.approx(
            ((delay + h) * (delay + 2.0 * h) / 2.0 - h * h / 12.0) * a, abs=2e-6)
        accelerations = [motion.p_tt[0] for _, motion in motions]
        assert np.mean(accelerations) == pytest.approx(a, rel=2e-3)
        assert np.ptp(accelerations) < 0.5 * a  # the target is a polygon


def test_a_swing_is_followed_to_third_order_in_its_frequency():
    """4 (2 pi f / w)^3 of its size, where measurements are dense."""
    errors = []
    for omega in (5.0, 10.0):
        def path(t, omega=omega):
            g = np.eye(4)
            g[0, 3] = 0.1 * np.sin(omega * t)
            return g
        worst = max(off(motion, path(t)) for t, motion in follow(
            tracker(np.eye(4)), path, 3.0, 0.0005, 0.0005) if t > 1.0)
        assert worst == pytest.approx(0.1 * 4.0 * (0.02 * omega) ** 3, rel=0.2)
        errors.append(worst)
    assert 2.7 < np.log2(errors[1] / errors[0]) < 3.2


def test_velocity_and_acceleration_are_the_derivatives_of_the_pose():
    """Also far from the target and turning; sixth-order differences."""
    base = tracker(time_constant=0.1)
    base.see(0.0, HOME)
    base.motion(0.03)
    base.see(0.03, HOME @ exp_se3(np.array([0.3, -0.2, 0.1, 1.0, -0.8, 0.9])))
    h = 1e-3
    motions = [base.motion(0.031 + k * h) for k in range(7)]
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60.0 / h
    second = np.array([2, -27, 270, -490, 270, -27, 2]) / 180.0 / h ** 2
    middle = motions[3]
    places = np.array([m.p for m in motions])
    assert_allclose(weights @ places, middle.p_t, rtol=1e-7, atol=1e-8)
    assert_allclose(second @ places, middle.p_tt, rtol=1e-6, atol=1e-6)
    turns = np.array([log_so3(m.R @ middle.R.T) for m in motions])
    assert_allclose(weights @ turns, middle.Om, rtol=1e-7, atol=1e-8)
    assert_allclose(weights @ np.array([m.Om for m in motions]), middle.Om_t, rtol=1e-6)
    assert np.linalg.norm(middle.Om) > 0.1 and np.linalg.norm(middle.Om_t) > 1.0


def test_steps_of_any_length_are_exact():
    """One long step, or many short ones."""
    motions = []
    for count in (1, 3, 200):
        base = tracker(time_constant=0.05)
        base.see(0.0, HOME)
        base.motion(0.01)
        base.see(0.01, HOME @ exp_se3(0.3 * TWIST), TWIST)
        for k in range(count):
            motion = base.motion(0.01 + 0.15 * (k + 1) / count)
        motions.append(motion)
    for motion in motions[1:]:
        for part, one in zip(motion, motions[0]):
            assert_allclose(part, one, atol=1e-9)


def test_pose_velocity_and_acceleration_are_continuous():
    """Over measurements with noise, and the end of them."""
    rng, base, last = np.random.default_rng(1), tracker(), None
    step, fastest = 1e-4, 0.0
    for k in range(4000):
        t = k * step
        if k % 100 == 0 and t < 0.2:
            base.see(t, screw(t) @ exp_se3(1e-4 * rng.standard_normal(6)))
        motion = base.motion(t + step)
        if last is not None:
            assert_allclose(motion.p, last.p + step * motion.p_t, atol=1e-6)
            assert np.linalg.norm(motion.p_tt - last.p_tt) < 2.0
            fastest = max(fastest, np.linalg.norm(motion.p_tt))
        last = motion
    assert fastest > 20.0


def test_it_slows_down_and_stands_where_measurements_end():
    """Evenly, within the timeout after the timeout."""
    base = tracker(np.eye(4), timeout=0.1)
    for k in range(100):
        g = np.eye(4)
        g[0, 3] = 0.01 * k * 0.5
        base.see(0.01 * k, g)
        base.motion(0.01 * (k + 1))
    speeds, place = [], []
    for k in range(100, 150):
        motion = base.motion(0.01 * (k + 1))
        speeds.append(motion.p_t[0])
        place.append(motion.p[0])
        assert np.linalg.norm(motion.p_tt) < 1.3 * 0.5 / 0.1  # the filter goes beyond
    assert_allclose(speeds[:8], 0.5, atol=1e-9)
    assert abs(speeds[-1]) < 1e-4
    # On for 0.1 s after the last one at 0.99 s, then half as far again.
    assert_allclose(place[-1], 0.5 * (0.99 + 0.1 + 0.05), atol=1e-5)
    assert base.age == pytest.approx(0.51)


def test_it_goes_on_where_measurements_come_again():
    """From near by it goes there; from far off it is placed there."""
    for far in (0.02, 0.5):
        base = tracker(np.eye(4), jump=(0.1, 0.5))
        base.see(0.0, np.eye(4))
        base.motion(1.0)
        g = np.eye(4)
        g[1, 3] = far
        assert base.see(1.0, g) == (far > 0.1)
        motion = base.motion(1.001)
        assert abs(motion.p[1] - (far if far > 0.1 else 0.0)) < 1e-3
        for k in range(1, 40):
            if k < 30:
                base.see(1.0 + 0.01 * k, g)
            motion = base.motion(1.001 + 0.01 * k)
        assert_allclose(motion.p, g[:3, 3], atol=1e-4)


def test_a_jump_is_not_felt():
    base = tracker(jump=(0.1, 0.5))
    for _ in follow(base, screw, 0.5, 0.01, 0.01):
        pass
    moved = exp_se3(np.array([5.0, 1.0, 2.0, 0.0, 0.0, 0.0]))
    assert base.see(0.5, moved @ screw(0.5)) and base.jumps == 1
    after = base.motion(0.51)
    assert off(after, moved @ screw(0.51)) < 1e-6
    assert_allclose(after.p_t, screw(0.51)[:3, :3] @ TWIST[:3], atol=1e-6)
    assert_allclose(after.p_tt, screw(0.51)[:3, :3] @ np.cross(TWIST[3:], TWIST[:3]), atol=1e-3)
    assert not base.see(0.51, moved @ screw(0.51))
    turned = moved @ screw(0.52)
    turned[:3, :3] = turned[:3, :3] @ exp_so3(np.array([0.0, 1.0, 0.0]))
    assert base.see(0.52, turned) and base.jumps == 2


def test_the_first_measurement_places_it():
    base = tracker(jump=(0.1, 0.5))
    far = exp_se3(np.array([100.0, 0.0, 0.0, 0.0, 0.0, 3.0]))
    assert_allclose(pose_of(base.motion(0.1)), HOME, atol=1e-12)
    assert not base.see(0.1, far) and base.jumps == 0
    motion = base.motion(0.2)
    assert off(motion, far) < 1e-9
    assert not np.abs(np.concatenate(motion[2:])).max() > 1e-9
    base.restart()
    assert not base.see(0.2, HOME) and base.jumps == 0
    assert off(base.motion(0.3), HOME) < 1e-9


def test_twists_are_integrated_to_second_order():
    """Along the base's own axes, or those of its parent; against the exact motion."""
    def path(t):
        g = np.eye(4)
        g[:3, :3] = exp_so3(np.array([0.0, 0.0, np.sin(2.0 * t)]))
        g[:3, 3] = 0.3 * np.sin(3.0 * t), 0.2 * np.cos(2.0 * t), 0.1 * t
        return g

    def world(t):
        return np.array([0.9 * np.cos(3.0 * t), -0.4 * np.sin(2.0 * t), 0.1,
                         0.0, 0.0, 2.0 * np.cos(2.0 * t)])

    for in_parent in (False, True):
        errors = []
        for interval in (0.02, 0.01):
            base, k = tracker(path(0.0)), 0
            while k * interval < 1.0:
                t = k * interval
                V, R = world(t), path(t)[:3, :3]
                base.see_twist(t, V if in_parent else np.concatenate([R.T @ V[:3], R.T @ V[3:]]),
                               in_parent)
                k += 1
                base.motion(k * interval)
            newest = base._samples[-1]
            errors.append(np.linalg.norm(
                log_se3(inverse_se3(newest.pose) @ path(newest.time))))
        assert errors[1] < 2e-4
        assert np.log2(errors[0] / errors[1]) > 1.8


def test_a_measured_twist_is_better_than_none():
    """The velocity at the measurement, not the mean before it."""
    def path(t):
        g = np.eye(4)
        g[0, 3] = 0.1 * np.sin(5.0 * t)
        return g

    def twist(t):
        return np.array([0.5 * np.cos(5.0 * t), 0.0, 0.0, 0.0, 0.0, 0.0])
    worst = [max(off(motion, path(t)) for t, motion in follow(
        tracker(np.eye(4), 0.01), path, 2.0, 0.005, 0.02, 0.0, given) if t > 0.5)
        for given in (None, twist)]
    assert worst[1] < 0.7 * worst[0] < 2e-3


@pytest.mark.parametrize('time, pose, words', [
    (0.5, HOME, 'more than that of the last one'), (0.4, HOME, 'more than that'),
    (0.29, HOME, 'time'), (0.75, HOME, 'time'), (np.nan, HOME, 'time'),
    (0.52, np.full((4, 4), np.nan), 'pose'), (0.52, np.eye(3), 'pose'),
    (0.52, np.diag([1.0, 1.0, 2.0, 1.0]), 'rotation'),
    (0.52, np.diag([1.0, 1.0, -1.0, 1.0]), 'rotation'),
    (0.52, exp_se3(np.array([1e8, 0, 0, 0, 0, 0])), 'position')])
def test_a_bad_measurement_is_refused_and_changes_nothing(time, pose, words):
    base = tracker()
    for _ in follow(base, screw, 0.5, 0.01, 0.01):
        pass
    base.see(0.5, screw(0.5))
    with pytest.raises(InvalidModel, match=words):
        base.see(time, pose)
    assert off(base.motion(0.51), screw(0.51)) < 1e-8


def test_a_bad_twist_is_refused():
    base = tracker()
    for wrong in ([1e4, 0, 0, 0, 0, 0], [np.inf, 0, 0, 0, 0, 0], np.zeros(3)):
        with pytest.raises(InvalidModel, match='twist'):
            base.see(0.0, HOME, wrong)
        with pytest.raises(InvalidModel, match='twist'):
            base.see_twist(0.0, wrong)
    assert_allclose(pose_of(base.motion(0.1)), HOME, atol=1e-12)
    for arguments in ((HOME, 0.0, 0.1, NOT_NEAR), (HOME, 0.1, -1.0, NOT_NEAR),
                      (HOME, 0.1, 0.1, (1.0, np.nan)), (np.zeros((4, 4)), 0.1, 0.1, NOT_NEAR)):
        with pytest.raises(InvalidModel):
            PoseTracker(*arguments)


def test_where_time_does_not_go_on_the_acceleration_ends():
    """A step that failed is tried without it; after a reset time begins anew."""
    base = tracker(jump=(0.1, 0.5))
    for _ in follow(base, screw, 0.5, 0.01, 0.01):
        pass
    place = pose_of(base.motion(0.51))
    for time in (0.51, 0.01):
        motion = base.motion(time)
        assert_allclose(pose_of(motion), place, atol=1e-12)
        assert_allclose(motion.Om, place[:3, :3] @ TWIST[3:], atol=1e-6)
        assert_allclose(motion.Om_t, 0.0, atol=1e-9)
    base.see(0.02, screw(0.52))  # measurements go on in the new time
    assert off(base.motion(0.03), screw(0.53)) < 1e-3


@settings(deadline=None, max_examples=100)
@given(steps=st.lists(st.tuples(
    st.floats(1e-6, 0.5), st.floats(-0.3, 0.3), st.lists(st.floats(-3.0, 3.0), min_size=6,
                                                       max_size=6)), min_size=1, max_size=12))
def test_whatever_is_measured_the_motion_is_finite(steps):
    base, now = tracker(jump=(0.5, 2.0)), 0.0
    for dt, early, xi in steps:
        try:
            base.see(now + early, exp_se3(np.array(xi)))
        except InvalidModel:
            pass
        now += dt
        motion = base.motion(now)
        assert all(np.isfinite(part).all() for part in motion)
        assert_allclose(motion.R @ motion.R.T, np.eye(3), atol=1e-9)
