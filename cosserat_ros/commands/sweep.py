"""
Compute equilibria of a robot over parameters and commands.

A grid for a parameter study, random commands for the reach of a robot, random parameters for a
Monte Carlo study of tolerances. Results go to a file of JSON lines; a sweep that was stopped
continues where it ended.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import itertools
import math
from pathlib import Path
import sys
from typing import Any, Optional

import numpy as np

from ..calibration.parameters import changeable, changed, value
from ..calibration.scale_out import run, Store, workers
from ..checks.errors import CosseratError, InvalidModel, UnknownName
from ..checks.fields import Checked, choice, integer, mapping, numbers, text
from ..description import documents as description
from ..description.robot import load as load_robot, Robot
from ..simulation.simulator import Simulator
from .command import add_workers, exit_code
from .progress import Progress

MOST_SAMPLES = 1_000_000  # of a sweep: results are kept in memory too, a kilobyte each


@dataclass(frozen=True)
class Variation(Checked):
    """
    What is varied, and how: by `values`, or at random from `lower` to `upper`, or by a normal law.

    Parameters
    ----------
    of : str
        The name of an actuator, for its command, or a path into the robot's file.
    change : str
        What the value does, as in a calibration's parameters; commands are always set.
    values : list of float, optional
        A grid is made of all values of all variations that have some.
    lower : float, optional
        Least random value; with `upper`.
    upper : float, optional
        Greatest random value.
    mean : float, optional
        Mean of normally distributed values; with `sigma`.
    sigma : float, optional
        Their standard deviation.

    """

    of: str = text('.+', 'an actuator or a path')
    change: str = choice('set', 'add', 'multiply', 'rotate', default='set')
    values: Optional[tuple[float, ...]] = numbers('its unit', fewest=1, most=10_000, default=None)
    lower: Optional[float] = value('its unit', default=None)
    upper: Optional[float] = value('its unit', default=None)
    mean: Optional[float] = value('its unit', default=None)
    sigma: Optional[float] = value('its unit', least=0.0, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        ways = (self.values,), (self.lower, self.upper), (self.mean, self.sigma)
        given = [way for way in ways if any(x is not None for x in way)]
        if len(given) != 1 or None in given[0]:
            raise InvalidModel('values, lower and upper, mean and sigma', ways, 'one way given')
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise InvalidModel('lower', self.lower, f'at most upper, {self.upper:g}')


@dataclass(frozen=True)
class Sweep(Checked):
    """
    What is swept: a YAML file for `sweep`.

    Parameters
    ----------
    robot : str
        File of the robot, seen from this file.
    vary : mapping of str to Variation
        What is varied, by names of your own.
    samples : int
        Random ones, for each point of the grid; 1 where nothing is random.
    seed : int
        Seed of the random values.

    """

    robot: str = text('.+', 'a file')
    vary: Mapping[str, Variation] = mapping(Variation, 'variations', least=1)
    samples: int = integer(least=1, most=MOST_SAMPLES, default=1)
    seed: int = integer(least=0, most=2 ** 31, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count > MOST_SAMPLES:
            raise InvalidModel('vary', self.count, f'at most {MOST_SAMPLES} samples in all')

    @property
    def count(self) -> int:
        """How many samples there are in all."""
        return self.samples * math.prod(len(v.values) for v in self.vary.values() if v.values)

    def tasks(self) -> Iterator[dict[str, float]]:
        """Return the values of all samples, by the names of the variations."""
        grid = {name: v.values for name, v in self.vary.items() if v.values is not None}
        random = np.random.default_rng(self.seed)
        for point in itertools.product(*grid.values()):
            for _ in range(self.samples):
                task = dict(zip(grid, point))
                for name, v in self.vary.items():
                    if v.lower is not None and v.upper is not None:
                        task[name] = float(random.uniform(v.lower, v.upper))
                    elif v.mean is not None and v.sigma is not None:
                        task[name] = float(random.normal(v.mean, v.sigma))
                yield {name: float(task[name]) for name in self.vary}


def equilibrium(common: dict[str, Any], task: dict[str, float]) -> dict[str, Any]:
    """
    Return the equilibrium of one sample: converged, tip [m, quaternion x y z w], efforts.

    From the rods at rest, so that it does not depend on what was before. Values that make no
    robot, or commands beyond limits, are refused: there is only a `message`.
    """
    from scipy.spatial.transform import Rotation
    try:
        robot, commands = common['robot'], {}
        for name, value in task.items():
            of, change = common['vary'][name]
            if of in common['actuators']:
                commands[of] = value
            else:
                robot = changed(robot, of, change, value)
        sim = Simulator(description.build(Robot, robot))
        sim.command(**commands)
        solution = sim.statics(from_rest=True)
    except CosseratError as error:
        return {'converged': False, 'message': str(error)}
    pose = sim.robot.base.matrix() @ sim.tip_pose()
    return {
        'converged': bool(solution.converged), 'message': solution.message,
        'position': pose[:3, 3].tolist(),
        'orientation': Rotation.from_matrix(pose[:3, :3]).as_quat().tolist(),
        'efforts': {name: state.effort for name, state in sim.actuators().items()}}


def sweep(
    path: Path, output: Path, processes: int | None = None, cluster: str | None = None,
) -> list[dict[str, Any]]:
    """Do what a file says; return the results in the order of the samples."""
    given = description.load(path, Sweep)
    robot = load_robot(path.parent / given.robot)
    document = description.document(robot)
    for name, variation in given.vary.items():
        try:
            check_varied(variation, robot, document)
        except InvalidModel as error:
            raise error.within(f'vary.{name}') from None
    common = {'robot': document, 'actuators': list(robot.actuators),
              'vary': {name: [v.of, v.change] for name, v in given.vary.items()}}
    store = Store(output)
    with Progress('sweep') as progress, workers(processes, cluster) as (pool, at_once):
        return run(equilibrium, common, given.tasks(), pool, at_once, store,
                   lambda done: progress.count(done, given.count))


def check_varied(variation: Variation, robot: Robot, document: Any) -> None:
    """Raise `InvalidModel` unless a robot has what is varied."""
    if variation.of in robot.actuators:
        if variation.change != 'set':
            raise InvalidModel('change', variation.change, "'set' for an actuator's command")
    elif variation.of.isidentifier() and variation.of not in document:
        raise UnknownName('of', variation.of, [*robot.actuators, *document])
    else:
        try:
            changeable(Robot, document, variation.of, variation.change)
        except InvalidModel as error:
            raise error.within('of') from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog='cosserat sweep', description=__doc__)
    parser.add_argument('sweep', type=Path, help='YAML file: what is varied')
    parser.add_argument('--output', type=Path, default=Path('sweep.jsonl'),
                        help='file of results (default: %(default)s); samples in it are not '
                        'computed again')
    add_workers(parser)
    given = parser.parse_args(arguments)
    return exit_code(
        'sweep', lambda: told(
            sweep(given.sweep, given.output, given.processes, given.cluster), given.output),
        f'finished samples are in {given.output}; the same command continues from there')


def told(results: Sequence[Mapping[str, Any]], output: Path) -> int:
    """Print what a sweep found; return the exit code: 1 if all samples were refused."""
    solved = [r['position'] for r in results if r['converged']]
    refused = [r['message'] for r in results if 'position' not in r]
    print(f'{len(results)} samples, {len(results) - len(solved) - len(refused)} without '
          f'equilibrium, {len(refused)} rejected, in {output}')
    if refused:
        print(f'the first that was rejected: {refused[0]}')
    if solved:
        low, high = np.min(solved, axis=0), np.max(solved, axis=0)
        for k, axis in enumerate('xyz'):
            print(f'tip {axis}: {low[k]:.6f} to {high[k]:.6f} m')
    return int(len(refused) == len(results))


if __name__ == '__main__':
    sys.exit(main())
