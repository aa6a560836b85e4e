"""Closed paths, and how a tip is led along them."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.control.resolved_rate import ResolvedRate, SwingDamper
from cosserat_ros.control.tip_path import eased_time, SHAPES, TipPath

INF = np.full(4, np.inf)
# Two antagonistic pairs of tendons [m/N], as of an arm that only bends.
J = 0.05 * np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0]])


def control(lower=0.0, upper=10.0, rate=INF, relaxation=0.5, damping=0.02):
    return ResolvedRate(np.full(4, lower), np.full(4, upper), rate, np.zeros(4),
                        np.full(4, 10.0), 0.24, damping, relaxation)


@pytest.mark.parametrize('shape', SHAPES)
def test_paths_are_closed_and_their_velocity_is_their_slope(shape):
    path = TipPath(shape, (0.1, -0.2, 0.3), 0.05, 4.0, 0.7)
    assert_allclose(path.position(4.0), path.position(0.0), atol=1e-15)
    assert_allclose(path.position(0.0) - path.centre,
                    0.05 * np.array([np.cos(0.7), np.sin(0.7), 0.0]), atol=1e-15)
    for t in np.linspace(0.0, 4.0, 9):
        h = 1e-6
        slope = (path.position(t + h) - path.position(t - h)) / (2.0 * h)
        assert_allclose(path.velocity(t), slope, atol=1e-9)
        assert np.linalg.norm(path.position(t) - path.centre) <= 0.05 * (1.0 + 1e-12)


@pytest.mark.parametrize(('field', 'value'), [
    ('shape', 'square'), ('radius', 0.0), ('period', -1.0), ('centre', (0.0, np.nan, 0.0))])
def test_a_path_that_is_none_is_refused_by_name(field, value):
    given = {'shape': 'circle', 'centre': (0.0, 0.0, 0.0), 'radius': 1.0, 'period': 1.0}
    with pytest.raises(InvalidModel, match=field):
        TipPath(**{**given, field: value})


def test_a_path_begins_from_rest_and_reaches_its_pace():
    assert eased_time(0.0, 1.0) == (0.0, 0.0)
    before, after = eased_time(1.0 - 1e-9, 1.0), eased_time(1.0 + 1e-9, 1.0)
    assert_allclose(before, after, atol=1e-8)
    assert eased_time(3.0, 1.0) == (2.5, 1.0)


def test_the_tip_moves_as_told_within_limits():
    commands, dt = np.array([1.0, 1.0, 0.0, 0.0]), 0.01
    for velocity in ([0.02, 0.01], [-0.02, 0.03]):
        after = control(damping=1e-3).step(J, np.array(velocity), commands, dt)
        assert_allclose(J @ (after - commands) / dt, velocity, rtol=1e-2)
        assert (after >= 0.0).all()


def test_tensions_that_pull_in_vain_are_let_go():
    commands, hold = np.array([3.0, 2.0, 2.0, 2.0]), np.zeros(2)
    for _ in range(400):
        commands = control().step(J, hold, commands, 0.05)
    assert_allclose(commands, [1.0, 0.0, 0.0, 0.0], atol=1e-2)


def test_limits_and_rates_hold_for_any_velocity():
    rng = np.random.default_rng(1)
    rate = np.array([1.0, 2.0, np.inf, 0.5])
    for _ in range(200):
        commands = rng.uniform(0.0, 10.0, 4) * rng.integers(0, 2, 4)
        after = control(rate=rate).step(J, rng.normal(0.0, 10.0, 2), commands, 0.02)
        assert (after >= 0.0).all() and (after <= 10.0).all()
        assert (np.abs(after - commands) <= 0.02 * rate * (1.0 + 1e-9)).all()
    stuck = control(lower=1.0, upper=1.0).step(J, np.ones(2), np.ones(4), 0.02)
    assert_allclose(stuck, 1.0)


def test_a_swing_is_damped_though_it_is_seen_late():
    """An undamped oscillator that hears every 10 ms what it did 40 ms before."""
    w, dt, age, ratio = 44.0, 0.01, 0.04, 0.2
    damper = SwingDamper(np.array([[0.0, 1.0], [-w * w, 0.0]]), 100.0)
    assert damper.frequency == pytest.approx(w)
    c, s = np.cos(w * dt), np.sin(w * dt)
    x, v, shift, seen = 1.0, 0.0, 0.0, [(1.0, 0.0)] * 5
    for _ in range(100):  # exact steps about the shifted place
        off = x - shift
        x, v = shift + off * c + v / w * s, -off * w * s + v * c
        seen.append((x, v))
        late = seen[-1 - round(age / dt)]
        shift = float(damper.shift(*np.array(late)[:, None], age, ratio)[0])
    assert np.hypot(x, v / w) < 0.01


@pytest.mark.parametrize(('matrix', 'fastest'), [
    ([[0.0, 1.0], [-44.0 ** 2, 0.0]], 20.0),    # too fast to be followed
    ([[0.0, 1.0], [-44.0 ** 2, -60.0]], 100.0),  # damped well enough
    ([[-1.0, 0.0], [0.0, -2.0]], 100.0)])        # does not swing
def test_what_needs_no_damping_gets_none(matrix, fastest):
    damper = SwingDamper(np.array(matrix), fastest)
    assert damper.frequency == 0.0
    assert_allclose(damper.shift(np.ones(3), np.ones(3), 0.02, 0.2), 0.0)
