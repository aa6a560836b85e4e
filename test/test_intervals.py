"""Confidence intervals, by how often they contain a truth that is known."""

import warnings

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.calibration.intervals import Rows, uncertainty

TRUTH = np.array([1.0, -2.0, 0.5])


def slopes(count):
    """Return slopes with an offset, a slow and a faster oscillation, at three axes per sample."""
    s = np.linspace(0.0, 1.0, count)
    columns = np.stack([np.ones(count), np.sin(6.0 * np.pi * s), np.cos(14.0 * np.pi * s)], axis=1)
    return np.repeat(columns, 3, axis=0) * np.tile([1.0, 0.5, 2.0], count)[:, None]


def noise(random, count, memory):
    """Return noise that neighbours share, of three axes, each by itself."""
    e = random.normal(size=(count, 3))
    for k in range(1, count):
        e[k] += memory * e[k - 1]
    return e.ravel()


def coverage(count, memory, trials=300):
    """Return how often white and correlated intervals contain the truth, (3,) each."""
    random, J = np.random.default_rng(7), slopes(count)
    rows = Rows(np.repeat(np.arange(count), 3), np.array([0, count // 2]))
    inside = np.zeros((2, 3))
    for _ in range(trials):
        data = J @ TRUTH + noise(random, count, memory)
        fitted = np.linalg.lstsq(J, data, rcond=None)[0]
        found = uncertainty(J, J @ fitted - data, rows)
        inside += [abs(fitted - TRUTH) < found.half, abs(fitted - TRUTH) < found.correlated]
    return inside / trials


def test_both_intervals_hold_for_white_noise():
    white, correlated = coverage(200, 0.0)
    assert (white > 0.91).all() and (correlated > 0.91).all()


def test_only_one_interval_holds_for_noise_that_neighbours_share():
    white, correlated = coverage(800, 0.9)
    assert (white < 0.6).all()
    assert (correlated > 0.87).all()


def test_the_number_of_independent_samples_is_found():
    """An autoregressive process has the autocorrelation time (1 + a) / (1 - a)."""
    count, memory = 20_000, 0.8
    J = np.repeat(np.ones((count, 1)), 3, axis=0)
    data = noise(np.random.default_rng(1), count, memory)
    found = uncertainty(J, data - data.mean(), Rows(
        np.repeat(np.arange(count), 3), np.array([0])))
    assert_allclose(found.effective, count / 9.0, rtol=0.15)
    assert found.block == pytest.approx(4 * 9, rel=0.15)
    assert_allclose(found.correlated / found.half, 3.0, rtol=0.25)


def test_what_the_data_do_not_tell_has_an_infinite_interval():
    J = np.column_stack([slopes(30)[:, 0], np.zeros(90)])
    r = noise(np.random.default_rng(2), 30, 0.0)
    found = uncertainty(J, r, Rows(np.repeat(np.arange(30), 3), np.array([0])))
    assert np.isinf([found.half[1], found.correlated[1]]).all()
    assert np.isfinite([found.half[0], found.correlated[0]]).all()


def test_a_prior_alone_gives_its_own_width():
    """A parameter that no sample tells has the standard error of its prior."""
    J = np.vstack([np.column_stack([slopes(100)[:, 0], np.zeros(300)]), [[0.0, 1.0]]])
    r = np.append(noise(np.random.default_rng(3), 100, 0.5), 0.0)
    r[:-1] -= J[:-1, 0] * (J[:-1, 0] @ r[:-1]) / (J[:-1, 0] @ J[:-1, 0])
    found = uncertainty(J, r, Rows(
        np.append(np.repeat(np.arange(100), 3), -1), np.array([0])))
    assert 1.9 < found.correlated[1] < 2.6  # Student's law for some tens of blocks


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('count', [1, 2, 5])
def test_few_samples_give_intervals_without_warnings_of_numpy(count):
    J = slopes(count)[:, :1]
    rows = Rows(np.repeat(np.arange(count), 3), np.array([0]))
    found = uncertainty(J, np.zeros(3 * count), rows)
    assert found.half[0] == 0.0
    assert found.correlated[0] == (np.inf if count == 1 else 0.0)


def test_without_any_sample_nothing_is_told():
    """As where no sample of a recording could be solved."""
    rows = Rows(np.zeros(0, dtype=int), np.array([0]))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        none = uncertainty(np.zeros((0, 1)), np.zeros(0), rows)
    assert none.correlated == np.inf and none.error == np.inf and none.block == 1
