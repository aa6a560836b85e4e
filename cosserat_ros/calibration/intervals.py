r"""
Confidence intervals of fitted numbers, and what data do not tell.

At the optimum the model is taken as linear, ``p - p_true = -(J^T J)^-1 J^T r``. Two intervals
follow:

- *white*: what is left is white noise, ``cov = s^2 (J^T J)^-1`` with s^2 its variance.
- *correlated*: neighbouring samples err alike. Samples are put into blocks longer than the
  correlation, ``cov = (J^T J)^-1 (sum_b g_b g_b^T) (J^T J)^-1`` with ``g_b`` the sum of
  ``J_k^T r_k`` over the block, and Student's law for the number of blocks (C. A. Bester,
  T. G. Conley, C. B. Hansen, Inference with dependent data using cluster covariance estimators,
  Journal of Econometrics 165, 137-151, 2011). A block bootstrap of the linear model tends to it.

A block is four integrated autocorrelation times long, of the parameter for which that is longest
(A. Sokal, Monte Carlo methods in statistical mechanics, in: Functional integration, Springer,
1997, section 3), but there are at least eight blocks if there are that many samples. No block
has samples of two recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

ALIKE = 0.95          # correlation of two parameters from which on they trade off
UNSEEN = 0.5          # of the size of a parameter, that a standard error may be
ILL = 1e4             # condition number of the scaled sensitivities from which on to warn
CONFIDENCE = 0.95     # of the intervals
TIMES_PER_BLOCK = 4.0  # autocorrelation times
FEWEST_BLOCKS = 8
WINDOW = 5.0          # autocorrelation times over which autocorrelations are summed


class Interval(NamedTuple):
    """One fitted number."""

    name: str
    value: float
    error: float       # standard error, if what is left is white noise
    half: float        # of the confidence interval, if what is left is white noise
    correlated: float  # likewise, if neighbouring samples err alike
    at_bound: bool


class Rows(NamedTuple):
    """Which sample each row of a residual is of."""

    sample: np.ndarray  # (N,) int, counted through all recordings; -1 for a prior
    first: np.ndarray   # (R,) int, number of the first sample of each recording


class Uncertainty(NamedTuple):
    """How well n numbers are told, each in the unit of its column."""

    spread: np.ndarray       # (n, n), the pseudoinverse of J^T J
    error: np.ndarray        # (n,) standard errors for white noise; infinite where not told at all
    half: np.ndarray         # (n,) of the confidence interval for white noise
    correlated: np.ndarray   # (n,) of the one that allows for correlation
    block: int               # samples in a block
    effective: float         # how many independent samples there seem to be


def uncertainty(J: np.ndarray, r: np.ndarray, rows: Rows) -> Uncertainty:
    """
    Return how well a least-squares fit tells its parameters.

    Parameters
    ----------
    J : (N, n) array
        Slopes of the residual at the optimum.
    r : (N,) array
        What is left there.
    rows : Rows

    """
    freedom = max(len(r) - J.shape[1], 1)
    variance = float(r @ r) / freedom
    spread = np.linalg.pinv(J.T @ J)
    told = np.diag(spread @ J.T @ J) > 1.0 - 1e-6  # else the pseudoinverse leaves it out
    error = np.where(told, np.sqrt(variance * np.maximum(np.diag(spread), 0.0)), math.inf)
    of_data = rows.sample >= 0
    used, place = np.unique(rows.sample[of_data], return_inverse=True)
    influence = np.zeros((len(used), J.shape[1]))  # of each sample, on each number
    np.add.at(influence, place, (J[of_data] * r[of_data, None]) @ spread)
    recording = np.searchsorted(rows.first, used, side='right')
    parts = np.split(influence, np.flatnonzero(np.diff(recording)) + 1) if len(used) else []
    longest = max((_autocorrelation_time(parts, j) for j in range(J.shape[1])), default=1.0)
    block = max(1, min(math.ceil(TIMES_PER_BLOCK * longest), len(used) // FEWEST_BLOCKS))
    sums = np.array([some.sum(axis=0) for part in parts
                     for some in np.array_split(part, max(1, round(len(part) / block)))])
    count = len(sums)
    prior = J[~of_data] @ spread  # a prior's noise is known: its unit is its own sigma
    cov = np.zeros_like(spread) if count < 2 else sums.T @ sums * (count / (count - 1.0))
    cov += prior.T @ prior
    correlated = np.full(J.shape[1], math.inf)
    if count > 1:
        correlated[told] = _wide(count - 1) * np.sqrt(np.diag(cov)[told])
    return Uncertainty(spread, error, _wide(freedom) * error, correlated, block,
                       len(used) / longest)


def _wide(freedom: float) -> float:
    """Return the half of a confidence interval in standard errors."""
    return float(stdtrit(freedom, 0.5 + 0.5 * CONFIDENCE))


def _autocorrelation_time(parts: Sequence[np.ndarray], j: int) -> float:
    """Return the integrated autocorrelation time of column j, 1 for white noise, in samples."""
    series = [part[:, j] - part[:, j].mean() for part in parts]
    variance = sum(float(x @ x) for x in series)
    if not variance > 0.0:
        return 1.0
    total, lag = 1.0, 0
    while lag < WINDOW * total and lag < max(map(len, series)) // 4:
        lag += 1
        total += 2.0 * sum(float(x[lag:] @ x[:-lag]) for x in series if len(x) > lag) / variance
    return max(total, 1.0)


def correlations(spread: np.ndarray) -> np.ndarray:
    """Return the correlation (n, n) of numbers with this covariance; of one that has none, 0."""
    size = np.sqrt(np.maximum(np.diag(spread), 0.0))
    return spread / np.maximum(np.outer(size, size), 1e-300)


def identifiability(
    names: Sequence[str], correlation: np.ndarray, error: np.ndarray, condition: float,
) -> list[str]:
    """
    Return warnings about parameters that the data do not tell.

    Parameters
    ----------
    names : (n,) sequence of str
    correlation : (n, n) array
    error : (n,) array
        Standard errors, in the sizes of the parameters.
    condition : float
        Of the sensitivities.

    """
    said = []
    if condition > ILL:
        said.append('the data alone hardly determine all parameters: condition number '
                    f'{condition:.2g}')
    for i in range(len(names)):
        for j in range(i):
            if abs(correlation[i, j]) > ALIKE:
                said.append(f'{names[j]} and {names[i]} trade off: correlation '
                            f'{correlation[i, j]:+.3f}')
        if error[i] > UNSEEN:
            said.append(f'{names[i]} is hardly determined: its standard error is {error[i]:.2g} '
                        'of its prior or range')
    return said
