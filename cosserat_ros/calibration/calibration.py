r"""
Fit parameters of a robot to recordings of it, by nonlinear least squares.

What is made small is ``sum |simulated - real|^2 / noise^2 + sum |log(R_real^T R_simulated)|^2 /
rotation_noise^2 + sum ((p - mean) / sigma)^2`` over all measured points and rotations of the
training recordings and all priors, within bounds, from several starts if wanted (scipy's trust
region reflective method), with the sensitivities of :mod:`cosserat_ros.calibration.prediction`.

Confidence intervals are those of the linear model at the optimum: for white noise, and for
residuals that are correlated, which is what a model leaves that does not describe everything
(:mod:`cosserat_ros.calibration.intervals`). Residuals that go with velocity are a sign of a delay
(:mod:`cosserat_ros.calibration.delay`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from fnmatch import fnmatch
import math
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from ..checks.errors import CosseratError, InvalidModel
from ..checks.fields import Checked, choice, FARTHEST, instance, integer, mapping, number, text
from ..comparison.metrics import (
    angle_errors,
    AngleSummary,
    summarise,
    summarise_angles,
    Summary,
)
from ..comparison.recordings import Recording
from ..description import documents as description
from ..description.documents import document
from ..description.modes import StrainModes
from ..numerics.lie import inverse_right_tangent_so3
from .delay import lag, velocities
from .intervals import correlations, identifiability, Interval, Rows, uncertainty
from .parameters import Parameter, ParameterSet
from .prediction import differenced, NotDifferentiable, predict, Prediction
from .scale_out import digest_of, Store

CLOSE = 1e-3  # relative change of what is made small, at which a fit ends


def check_names(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of file names or patterns as a tuple, or raise `InvalidModel`."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(x, str) and x for x in value):
        raise InvalidModel(name, value, 'a list of names')
    return tuple(map(str, value))


@dataclass(frozen=True)
class Calibration(Checked):
    """
    What is fitted to what: a YAML file for `calibrate`.

    Parameters
    ----------
    train : list of str
        Recordings to fit to, seen from the folder of the data.
    robot : str
        File of the robot, seen from this file.
    map : str
        File of the recordings' map, seen from this file.
    parameters : mapping of str to Parameter
        What is fitted, by names of your own.
    validate : list of str
        Recordings that are only reported on.
    hold_out : list of str
        Patterns of groups, such as 'pair_*', whose samples are simulated but not fitted to.
    align : str
        'none'; or 'offset': of each recording, the mean of simulated minus real is taken away, as
        where the place of the measuring frame is not known. Rotations stay as they are.
    noise : float
        Standard deviation of a measured coordinate, with what the model cannot describe; weighs
        priors [m].
    rotation_noise : float
        Likewise of a measured rotation, about each axis [rad].
    modes : StrainModes, optional
        Strain modes of the fitted robot, instead of those of its file; a rod's own modes stay.
    starts : int
        Fits from different starts: the first from the given one, the others at random within
        priors and bounds.
    seed : int
        Seed of these random starts.
    most : int
        Iterations of a fit.

    """

    train: tuple[str, ...] = field(metadata={'check': check_names})
    robot: str = text('.+', 'a file')
    map: str = text('.+', 'a file')
    parameters: Mapping[str, Parameter] = mapping(Parameter, 'parameters', least=1)
    validate: tuple[str, ...] = field(default=(), metadata={'check': check_names})
    hold_out: tuple[str, ...] = field(default=(), metadata={'check': check_names})
    align: str = choice('none', 'offset', default='none')
    noise: float = number('m', least=1e-12, most=FARTHEST, default=1e-3)
    rotation_noise: float = number('rad', least=1e-12, most=1e3, default=1e-2)
    modes: Optional[StrainModes] = instance(StrainModes, 'strain modes', default=None)
    starts: int = integer(least=1, most=1000, default=1)
    seed: int = integer(least=0, most=2 ** 31, default=0)
    most: int = integer(least=1, most=1000, default=30)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.train:
            raise InvalidModel('train', [], 'a list of at least one recording')
        both = sorted(set(self.train) & set(self.validate))
        if both:
            raise InvalidModel('validate', both, 'recordings that are not trained on')


def load(path: str | Path) -> Calibration:
    """Read a YAML file; raise `InvalidDescription` with file, line and reason."""
    return description.load(path, Calibration)


class Unsolved(CosseratError):
    """Parameters with which nothing can be told of a robot: the solver converges at no sample."""


class Score(NamedTuple):
    """How well a recording is predicted."""

    name: str
    use: str              # 'train', 'held out' or 'validate'
    summary: Optional[Summary]  # of the samples that were solved; none if none were
    angles: Optional[AngleSummary]  # likewise of their rotations, none if there are none
    seconds: float        # per sample
    failed: int


class Result(NamedTuple):
    """The end of a fit."""

    values: np.ndarray         # (n,)
    intervals: list[Interval]
    correlation: np.ndarray    # (n, n)
    condition: float           # of the sensitivities, each in the size of its parameter
    warnings: list[str]        # of parameters that the data do not tell, and of delays
    block: int                 # samples in a block, for intervals that allow for correlation
    effective: float           # how many of the samples seem to be independent
    scores: list[Score]
    costs: list[float]         # of all starts
    iterations: int
    exact: bool                # whether sensitivities were the engine's, or differences
    message: str


# --- What is made small --------------------------------------------------------------------------

class Misfit:
    """
    What is made small, as a function of the parameters: from their start, in units of their sizes.

    So the first step of a fit from there is not longer than one size: far away a model may have no
    equilibria, and looking for them takes long.

    Parameters
    ----------
    parameters : ParameterSet
    recordings : sequence of Recording
    noise : float
        [m].
    align : str
        See `Calibration`.
    hold_out : sequence of str
        Patterns of groups.
    pool : Executor, optional
        Where predictions are made; here, if there is none.
    workers : int
        How many can be made at once.
    rotation_noise : float
        [rad].

    """

    def __init__(
        self, parameters: ParameterSet, recordings: Sequence[Recording], noise: float,
        align: str = 'none', hold_out: Sequence[str] = (), pool: Executor | None = None,
        workers: int = 1, rotation_noise: float = 1e-2,
    ) -> None:
        self.parameters, self.recordings = parameters, list(recordings)
        self.noise, self.rotation_noise = noise, rotation_noise
        self.align, self.exact = align, True
        self._pool, self._workers = pool, max(workers, 1)
        kept = [~held_out(r, hold_out)[:, None] for r in self.recordings]
        self.used = [r.seen & rows for r, rows in zip(self.recordings, kept)]
        self.turned = [r.turned & rows for r, rows in zip(self.recordings, kept)]
        if not any(used.any() for used in self.used):
            raise InvalidModel('hold_out', list(hold_out), 'patterns that leave some samples')
        self._sizes = parameters.sizes
        self.cost = math.inf  # that of the last residual
        self.solved = 0       # samples of it that the solver reached
        self._priors = [(j, x.prior) for j, x in enumerate(parameters.scalars) if x.prior]

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the parameters, in their units and bounds."""
        return np.clip(self.parameters.start + x * self._sizes, *self.parameters.bounds)

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Return parameters from their start, in units of their sizes."""
        return (values - self.parameters.start) / self._sizes

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Return what is squared and summed."""
        values = self.values(x)
        found = self._run(predict, [(self.parameters, values, r) for r in self.recordings])
        parts = []
        for p, r, used, turned in zip(found, self.recordings, self.used, self.turned):
            parts += [self._aligned((p.positions - r.positions)[used]).ravel() / self.noise,
                      _turns(p.rotations[turned], r.rotations[turned]).ravel()
                      / self.rotation_noise]
        self.solved = sum(int(p.solved.sum()) for p in found)
        residual = np.concatenate([*parts, self._prior(values)])
        self.cost = float(residual @ residual)
        return residual

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return its change with x."""
        values, n, parts = self.values(x), len(self._sizes), []
        for (p, slopes), r, used, turned in zip(
                self._sensitivities(values), self.recordings, self.used, self.turned):
            moved = self._aligned(slopes[used][:, :3]) / self.noise
            angular = _turn_slopes(
                p.rotations[turned], r.rotations[turned], slopes[turned][:, 3:])
            parts += [moved.reshape(-1, n), angular.reshape(-1, n) / self.rotation_noise]
        return np.concatenate([*(part * self._sizes for part in parts), self._prior_slopes()])

    def rows(self) -> Rows:
        """Return which sample each number of the residual is of."""
        first = np.cumsum([0, *map(len, self.recordings)])[:-1]
        samples = [start + np.repeat(np.nonzero(mask)[0], 3)
                   for start, *masks in zip(first, self.used, self.turned) for mask in masks]
        return Rows(np.concatenate([*samples, np.full(len(self._priors), -1)]), first)

    def velocity(self, values: np.ndarray) -> np.ndarray:
        """Return how fast the residual's points move, in its unit per second; 0 of all else."""
        parts, found = [], self.predictions(values, self.recordings)
        for p, r, used, turned in zip(found, self.recordings, self.used, self.turned):
            moving = velocities(r.times, p.positions)[used] if r.dynamic else np.zeros(
                (int(used.sum()), 3))
            parts += [self._aligned(moving).ravel() / self.noise, np.zeros(3 * int(turned.sum()))]
        return np.concatenate([*parts, np.zeros(len(self._priors))])

    def _sensitivities(self, values: np.ndarray) -> list[tuple[Prediction, np.ndarray]]:
        """Return predictions, and how they move and turn with the parameters, (T, M, 6, n)."""
        if self.exact:
            try:
                return self._exact(values)
            except NotDifferentiable:
                self.exact = False
        n = len(values)
        tasks = [(self.parameters, values, r, j) for r in self.recordings for j in range(n)]
        found = iter(self._run(differenced, tasks))
        return [(p, np.stack([next(found) for _ in range(n)], axis=-1))
                for p in self.predictions(values, self.recordings)]

    def _exact(self, values: np.ndarray) -> list[tuple[Prediction, np.ndarray]]:
        """Return the same by the engine's tangents; each worker has some of the parameters."""
        shares = [list(range(k, len(values), self._workers)) for k in range(self._workers)]
        shares = [share for share in shares if share]
        tasks = [(self.parameters, values, r, share) for r in self.recordings for share in shares]
        found = iter(self._run(predict, tasks))
        parts = []
        for r in self.recordings:
            slopes = np.empty((*r.seen.shape, 6, len(values)))
            for share in shares:
                p = next(found)
                slopes[..., share] = p.jacobian
            parts.append((p, slopes))
        return parts

    def _aligned(self, difference: np.ndarray) -> np.ndarray:
        """Return differences (N, 3, ...) as they count."""
        return difference - difference.mean(axis=0) if self.align == 'offset' else difference

    def _prior(self, values: np.ndarray) -> np.ndarray:
        return np.array([(values[j] - p.mean) / p.sigma for j, p in self._priors])

    def _prior_slopes(self) -> np.ndarray:
        slopes = np.zeros((len(self._priors), len(self._sizes)))
        for k, (j, prior) in enumerate(self._priors):
            slopes[k, j] = self._sizes[j] / prior.sigma
        return slopes

    def _run(self, function: Callable, tasks: list[tuple]) -> list:
        """Return what a function makes of each task, in their order."""
        if self._pool is None:
            return [function(*task) for task in tasks]
        return [future.result() for future in [
            self._pool.submit(function, *task) for task in tasks]]

    def digest(self) -> str:
        """Return the SHA-256 of all that it depends on."""
        scalars = [(*x[:-1], document(x.prior)) for x in self.parameters.scalars]
        return digest_of(scalars, self.parameters.documents(self.parameters.start),
                         [(r.digest, len(r), int(used.sum()), int(turned.sum()))
                          for r, used, turned in zip(self.recordings, self.used, self.turned)],
                         self.noise, self.rotation_noise, self.align)

    def predictions(self, values: np.ndarray, recordings: Sequence[Recording]) -> list[Prediction]:
        """Return what the model says of recordings."""
        return self._run(predict, [(self.parameters, values, r) for r in recordings])


def _turns(simulated: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Return rotation vectors (N, 3) [rad] from real to simulated rotations, (N, 3, 3) each."""
    if not len(real):  # which scipy does not take
        return np.zeros((0, 3))
    return Rotation.from_matrix(np.swapaxes(real, 1, 2) @ simulated).as_rotvec()


def _turn_slopes(simulated: np.ndarray, real: np.ndarray, turned: np.ndarray) -> np.ndarray:
    """
    Return the change (N, 3, n) of `_turns` with parameters that turn the simulated rotations.

    ``d log(R_real^T R) = T_r^-1 R^T w`` where ``dR = hat(w) R``, w of the columns of `turned`
    (N, 3, n).
    """
    slopes = np.zeros_like(turned)
    for k, (turn, R) in enumerate(zip(_turns(simulated, real), simulated)):
        slopes[k] = inverse_right_tangent_so3(turn) @ R.T @ turned[k]
    return slopes


def held_out(recording: Recording, patterns: Sequence[str]) -> np.ndarray:
    """Return which samples are of groups that are not fitted to, (T,) bool."""
    return np.array([any(fnmatch(group, pattern) for pattern in patterns)
                     for group in recording.groups], dtype=bool)


# --- The fit -------------------------------------------------------------------------------------

def fit(
    misfit: Misfit, starts: int = 1, seed: int = 0, most: int = 30,
    progress: Callable[[str], None] = lambda line: None, store: Optional[Store] = None,
) -> Result:
    """
    Find the parameters for which a misfit is least.

    Parameters
    ----------
    misfit : Misfit
    starts, seed, most
        See `Calibration`.
    progress : callable
        Is told a line of text now and then.
    store : Store, optional
        Of starts that are finished: their ends are taken as they are.

    Returns
    -------
    Result
        Without scores.

    """
    parameters = misfit.parameters
    bounds = tuple(misfit.scaled(b) for b in parameters.bounds)
    best, costs, store = None, [], store or Store()
    problem = misfit.digest()
    for k, start in enumerate(_starts(parameters, starts, seed)):
        count = [0]

        def slopes(x: np.ndarray, count: list[int] = count, k: int = k) -> np.ndarray:
            count[0] += 1
            if not misfit.solved:
                raise Unsolved(f'no sample can be solved with {_named(misfit, x)}')
            progress(f'start {k + 1} of {starts}, iteration {count[0]}: {misfit.cost:.6g}')
            return misfit.jacobian(x)

        key = digest_of(problem, most, start.tolist())
        inside = np.clip(misfit.scaled(np.array(store[key] if key in store else start)), *bounds)
        found = least_squares(misfit.residual, inside, slopes, bounds=bounds, method='trf',
                              max_nfev=most, xtol=1e-6, ftol=CLOSE)
        if key not in store:
            store.add(key, start.tolist(), misfit.values(found.x).tolist())
        costs.append(2.0 * float(found.cost))
        if best is None or found.cost < best.cost:
            best, iterations = found, count[0]
    assert best is not None
    return _result(misfit, best, costs, iterations)


def _named(misfit: Misfit, x: np.ndarray) -> str:
    """Return parameters in words."""
    return ', '.join(f'{name} = {value:.6g}' for name, value in zip(
        misfit.parameters.names, misfit.values(x)))


def _starts(parameters: ParameterSet, count: int, seed: int) -> list[np.ndarray]:
    """Return values to start from: the given ones, then random ones."""
    random, (lower, upper) = np.random.default_rng(seed), parameters.bounds
    starts = [parameters.start]
    for _ in range(count - 1):
        starts.append(np.array([
            np.clip(random.normal(x.prior.mean, x.prior.sigma), x.lower, x.upper) if x.prior
            else random.uniform(a, b)
            for x, a, b in zip(parameters.scalars, lower, upper)]))
    return starts


def _result(misfit: Misfit, found: Any, costs: list[float], iterations: int) -> Result:
    """Return values with their intervals, and what the data do not tell."""
    values, J = misfit.values(found.x), found.jac
    names, sizes = misfit.parameters.names, misfit.parameters.sizes
    n, priors = len(values), len([x for x in misfit.parameters.scalars if x.prior])
    told = uncertainty(J, found.fun, misfit.rows())
    correlation = correlations(told.spread)
    singular = np.linalg.svd(J[:len(J) - priors], compute_uv=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0.0 else math.inf
    lower, upper = misfit.parameters.bounds
    near = 1e-3 * (upper - lower)
    intervals = [
        Interval(
            names[j], float(values[j]), float(told.error[j] * sizes[j]),
            float(told.half[j] * sizes[j]), float(told.correlated[j] * sizes[j]),
            bool(values[j] < lower[j] + near[j] or values[j] > upper[j] - near[j]))
        for j in range(n)]
    warnings = identifiability(names, correlation, told.error, condition)
    if any(r.dynamic for r in misfit.recordings):
        late = lag(found.fun, J, misfit.velocity(values), misfit.rows())
        warnings += [str(late)] if late.clear else []
    return Result(values, intervals, correlation, condition, warnings, told.block, told.effective,
                  [], costs, iterations, misfit.exact, str(found.message))


def scores(
    misfit: Misfit, values: np.ndarray, recordings: Sequence[Recording], length: float, use: str,
    patterns: Sequence[str] = (),
) -> list[Score]:
    """Return how well recordings are predicted; samples of `patterns` on their own lines."""
    lines = []
    for r, p in zip(recordings, misfit.predictions(values, recordings)):
        out = held_out(r, patterns)
        for name, rows in ((use, ~out), ('held out', out)):
            seen = r.seen & rows[:, None]
            used, turned = (mask & (rows & p.solved)[:, None] for mask in (r.seen, r.turned))
            if seen.any():
                lines.append(Score(
                    r.name, name, summarise(p.positions[used], r.positions[used], length)
                    if used.any() else None,
                    summarise_angles(angle_errors(p.rotations[turned], r.rotations[turned]))
                    if turned.any() else None, p.seconds, int((rows & ~p.solved).sum())))
    return lines
