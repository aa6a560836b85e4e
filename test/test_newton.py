"""Newton's method by itself: Broyden's updates against the matrices that they stand for."""

import numpy as np
import pytest

from cosserat_ros.assembly.newton import _accelerate, _remember, BROYDEN_UPDATES, Updates
from cosserat_ros.numerics.kernels import kernel


@kernel
def accelerate(updates, made, scale, step):
    return _accelerate(updates, made, scale, step)


@kernel
def remember(updates, made, step, scale, shortened):
    return _remember(updates, made, step, scale, shortened)


def room(n):
    return Updates(np.zeros((BROYDEN_UPDATES, n)), np.zeros(BROYDEN_UPDATES))


@pytest.mark.parametrize('seed', range(5))
def test_accelerated_steps_are_those_of_broydens_matrices(seed):
    """B + (y - B s) (W s)^T / (s^T W s) after each step s that changes the residual by y."""
    rng, n = np.random.default_rng(seed), 7
    A = np.eye(n) + 0.1 * rng.normal(size=(n, n))
    first = np.linalg.inv(A + 0.05 * rng.normal(size=(n, n)))  # of the tangent that is kept
    scale = rng.uniform(0.5, 2.0, n)
    B, updates, made, z = np.linalg.inv(first), room(n), 0, rng.normal(size=n)
    for _ in range(BROYDEN_UPDATES):
        step = first @ (A @ z)
        assert accelerate(updates, made, scale, step)
        np.testing.assert_allclose(
            step, np.linalg.solve(B, A @ z), rtol=0.0, atol=1e-11 * np.abs(step).max())
        made = remember(updates, made, step, scale, 1.0)
        weighted = scale ** 2 * step
        B = B + np.outer(A @ step - B @ step, weighted) / (step @ weighted)
        z = z - step
        if np.abs(z).max() < 1e-9:
            break
    assert made >= 4
    assert np.abs(z).max() < 1e-9  # and they converge faster than the tangent alone


def test_updates_begin_anew_after_a_step_that_was_shortened_and_when_there_are_many():
    updates, scale, made = room(3), np.ones(3), 0
    for count in range(1, BROYDEN_UPDATES + 1):
        made = remember(updates, made, np.full(3, 1.0 / count), scale, 1.0)
        assert made == count
    assert remember(updates, made, np.ones(3), scale, 1.0) == 0
    assert remember(updates, 2, np.ones(3), scale, 0.5) == 0


def test_an_update_that_does_not_contract_is_not_used():
    """The next step by the same tangent is as long as the one before: a new tangent is due."""
    updates, scale = room(2), np.ones(2)
    made = remember(updates, 0, np.array([1.0, 0.0]), scale, 1.0)
    assert accelerate(updates, made, scale, np.array([0.4, 1.0]))
    assert not accelerate(updates, made, scale, np.array([0.6, 0.0]))
