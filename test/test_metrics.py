"""Errors between simulated and real markers, against numbers made by hand."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.comparison.metrics import marker_errors, RunningError, shape_errors, summarise


def test_a_summary_is_that_of_the_definitions():
    real = np.zeros((4, 3))
    simulated = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    found = summarise(simulated, real, length=10.0)
    assert_allclose(found.rmse, np.sqrt(26.0 / 4.0))
    assert_allclose(found.mean, 6.0 / 4.0)
    assert_allclose(found.largest, 5.0)
    assert_allclose(found.percent, 10.0 * found.rmse)
    assert_allclose(found.offset, [0.75, 1.0, 0.25])
    # The mean square less that of the mean.
    assert_allclose(found.rmse_without_offset ** 2, 26.0 / 4.0 - (0.75 ** 2 + 1.0 + 0.25 ** 2))
    assert_allclose(found.largest_without_offset, np.sqrt(2.25 ** 2 + 3.0 ** 2 + 0.25 ** 2))
    assert found.samples == 4


def test_an_offset_is_all_that_a_shifted_robot_is_off():
    real = np.random.default_rng(0).normal(size=(50, 4, 3))
    found = summarise(real + [0.0, 0.003, -0.004], real, length=0.2)
    assert_allclose([found.rmse, found.mean, found.largest], 0.005)
    assert_allclose(found.percent, 2.5)
    assert_allclose(found.offset, [0.0, 0.003, -0.004])
    assert found.rmse_without_offset < 1e-15 and found.samples == 200


def test_the_shape_is_the_rms_over_markers():
    real = np.zeros((2, 2, 3))
    simulated = np.array([[[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]]])
    assert_allclose(marker_errors(simulated, real), [[3.0, 4.0], [0.0, 2.0]])
    assert_allclose(shape_errors(simulated, real), [np.sqrt(12.5), np.sqrt(2.0)])


def test_a_running_error_is_that_of_its_window():
    rng = np.random.default_rng(3)
    times, errors = np.cumsum(rng.uniform(0.0, 0.1, 500)), rng.exponential(1e-3, 500)
    running = RunningError(length=0.2, window=2.0)
    assert (running.rmse, running.largest, running.samples) == (0.0, 0.0, 0)
    for k, (time, error) in enumerate(zip(times, errors)):
        running.add(time, error)
        newest = errors[:k + 1][times[:k + 1] >= time - 2.0]
        assert_allclose(running.rmse, np.sqrt(np.mean(newest ** 2)), rtol=1e-9)
        assert running.largest == newest.max() and running.last == error
        assert running.samples == len(newest)
        assert_allclose(running.percent, 100.0 * error / 0.2)
    running.clear()
    assert (running.rmse, running.largest, running.last) == (0.0, 0.0, 0.0)
    running.add(0.0, 2e-3)  # the clock was set back
    assert_allclose([running.rmse, running.largest], 2e-3)


@pytest.mark.parametrize(('call', 'words'), [
    (lambda: summarise(np.zeros((0, 3)), np.zeros((0, 3)), 1.0), 'simulated must be at least one'),
    (lambda: summarise(np.zeros((4, 3)), np.zeros((4, 3)), 0.0), 'length must be'),
    (lambda: summarise(np.zeros((4, 3)), np.full((4, 3), np.nan), 1.0), 'real must be finite'),
    (lambda: marker_errors(np.zeros((4, 2)), np.zeros((4, 2))), 'simulated must be finite pos'),
    (lambda: marker_errors(np.zeros((4, 3)), np.zeros((5, 3))), r'real must be of the shape'),
    (lambda: RunningError(0.2, -1.0), 'window must be'),
    (lambda: RunningError(0.2, 1.0).add(0.0, np.nan), 'error must be a finite distance'),
])
def test_what_cannot_be_compared_is_refused_by_name(call, words):
    with pytest.raises(InvalidModel, match=words):
        call()
