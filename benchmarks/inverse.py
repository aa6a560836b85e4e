"""
Inverse statics of the example robots: how often it succeeds, how long it takes, how exact it is.

    environment/enter python benchmarks/inverse.py [targets per robot [names of robots]]
    environment/enter python benchmarks/inverse.py effort [targets per arm [starts]]

Random commands within a part of their limits, forward statics, the tip as the target: its pose
where there are six actuators, else its position; equilibria that are not stable are no targets.
Then inverse statics, and forward statics of what it commands: it succeeds if that is a stable
equilibrium which misses the target by no more than 1e-9 of the robot's length, and rad.

Each solve starts from the answer of the one before, or from an earlier one that is much nearer.
'random' targets follow one another across the workspace; 'near' ones are ten steps from rest to
each random command, as a tracker would ask. Times are those of the processor, so that others on
the machine count little; let OPENBLAS_NUM_THREADS be 1, else waiting threads are counted.

'effort' is about least effort: on arms with 4, 8, 9 and 12 tendons it is compared with the best of
50 random starts, each followed to its local optimum, or until it comes to the best so far. 'times'
are those of a search from one start that ends where the targets are met (goal 'nearest' of a robot
at rest), interleaved with it; 'of one start' is how often that is within 1 %. Both solvers are
warm: they have answered 100 other targets before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import gc
from pathlib import Path
import sys
from time import process_time
from typing import NamedTuple

import numpy as np

from cosserat_ros.analysis.stability import stability
from cosserat_ros.description.documents import build
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Limits
from cosserat_ros.description.robot import load, Robot
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.inverse.effort import EFFORTLESS
from cosserat_ros.inverse.limits import Limits as Bounds
from cosserat_ros.inverse.task import Task
from cosserat_ros.simulation.simulator import Simulator

CONFIG = Path(__file__).parents[1] / 'config'
EXACT = 1e-9  # of the robot's length, and rad
WARM = 100    # targets that solvers have answered before their least effort is measured


class Case(NamedTuple):
    """A robot, and the commands that are drawn."""

    name: str
    least: float
    most: float
    chambers: str | None = None  # what they are told by the answer, if not as described
    modes: StrainModes | None = None  # instead of those of the description


CASES = [
    Case('tendon_arm', 0.0, 5.0),                                   # N
    Case('helical_arm', 0.0, 5.0),                                  # N
    Case('tendon_experiment', 0.0, 0.03),                           # m
    Case('three_segment_arm', -0.006, 0.006),                       # m
    Case('fluidic_finger', 5e-5, 2.2e-4),                           # mol
    Case('fluidic_finger_three_chambers', 0.0, 150e3),              # Pa
    Case('fluidic_finger_three_chambers', 0.0, 150e3, 'volume'),
    Case('fluidic_finger_three_chambers', 0.0, 150e3, 'amount'),
    Case('planar_parallel', 0.37, 0.45),                            # m
    Case('stewart_gough', 0.47, 0.54, modes=StrainModes(0, 0, 1, 5, 5, 1)),  # m; see robots.py
]


class Figures(NamedTuple):
    """Of all solves of a case."""

    seconds: np.ndarray
    errors: np.ndarray   # over the robot's length, or rad; after forward statics
    met: np.ndarray      # whether the answer says so
    stable: np.ndarray

    @property
    def succeeded(self) -> np.ndarray:
        """Whether a round trip is a round trip."""
        return self.met & self.stable & (self.errors <= EXACT)


def described(case: Case) -> Robot:
    """Return the robot that targets come from."""
    robot = load(CONFIG / f'{case.name}.yaml')
    return robot if case.modes is None else replace(robot, modes=case.modes)


def robot_of(case: Case) -> Robot:
    """Return the robot that answers."""
    robot = described(case)
    if case.chambers is None:
        return robot
    return replace(robot, chambers={
        name: replace(chamber, command=case.chambers, limits=Limits(lower=0.0, upper=1.0))
        for name, chamber in robot.chambers.items()})


def reachable(
    case: Case, count: int, near: bool, robot: Robot | None = None,
) -> Iterator[np.ndarray]:
    """Yield poses of the tip, (4, 4), in stable equilibria under random commands."""
    sim = Simulator(robot or described(case))
    sim.statics()
    rest, random = sim.snapshot(), np.random.default_rng(1)
    names = list(sim.robot.actuators)
    start = np.array([sim.rest_command(name) for name in names])
    while count > 0:
        sim.go_to(rest)
        goal = random.uniform(case.least, case.most, len(names))
        for part in np.arange(1, 11) / 10 if near else [1.0]:
            sim.command(**dict(zip(names, (1.0 - part) * start + part * goal)))
            if sim.statics().converged and stability(sim).stable and count > 0:
                count -= 1
                yield sim.tip_pose()


def run(case: Case, count: int, near: bool = False) -> Figures:
    """Make round trips."""
    inverse, again = InverseStatics(robot_of(case)), Simulator(robot_of(case))
    posed = len(again.robot.actuators) >= 6
    rows = []
    gc.collect()
    gc.freeze()  # as nodes do
    for g in reachable(case, count, near):
        start = process_time()
        result = inverse.solve([Target(g[:3, 3], g[:3, :3] if posed else None)])
        seconds = process_time() - start
        inverse.apply(result, again)
        found = again.tip_pose()
        error = np.linalg.norm(found[:3, 3] - g[:3, 3]) / inverse.length
        if posed:
            error = max(error, np.abs(found[:3, :3] - g[:3, :3]).max())
        rows.append((seconds, error, result.met, stability(again).stable))
    return Figures(*map(np.array, zip(*rows)))


# --- Least effort --------------------------------------------------------------------------------

def endoscope(
    segments: int = 2, young_modulus: float = 48e9, command: str = 'tension', most: float = 150.0,
) -> Robot:
    """
    Return an endoscope of 100 mm: nitinol, four tendons 2.2 mm beside it end with each segment.

    Tendons of a segment are turned against those of the one before. `most` is of the command; a
    displacement may be as negative.
    """
    length, tendons = 0.1 / segments, {}
    for k in range(segments):
        for j in range(4):
            angle = 0.5 * np.pi * (j + k / segments)
            tendons[f'tendon_{4 * k + j + 1}'] = {
                'routing': {'shape': 'parallel', 'offset': [
                    0.0022 * float(np.cos(angle)), 0.0022 * float(np.sin(angle))]},
                'ends_at': (segments - k) * length, 'command': command,
                'limits': {'lower': 0.0 if command == 'tension' else -most, 'upper': most}}
    return build(Robot, {
        'name': 'endoscope', 'tendons': tendons,
        'rods': {'backbone': {'segments': segments * [{
            'length': length, 'section': {'shape': 'circular', 'radius': 0.0007},
            'material': {
                'young_modulus': young_modulus, 'poisson_ratio': 0.3, 'density': 6500.0},
            'damping': {'relaxation_time': 0.01}}]}}})


ARMS = {  # by the number of tendons: the arm, least and greatest random command
    4: (lambda: load(CONFIG / 'tendon_arm.yaml'), 0.0, 5.0),                   # N
    8: (endoscope, 0.0, 60.0),                                                 # N
    9: (lambda: load(CONFIG / 'three_segment_arm.yaml'), -0.006, 0.006),       # m
    12: (lambda: endoscope(3), 0.0, 60.0),                                     # N
}


def random_starts(inverse: InverseStatics, count: int) -> Iterator[tuple]:
    """Yield equilibria of random efforts, about half of them 0."""
    random, mechanics = np.random.default_rng(2), inverse.mechanics
    z, u, R = inverse._rest()
    limits = Bounds(mechanics, None, inverse._sizes.scale)
    low, high = limits.least, np.minimum(limits.most, 3.0 * inverse._sizes.scale)
    for _ in range(count):
        start = np.where(random.random(u.size) < 0.5, random.uniform(low, high), u)
        mechanics.stand(R)
        there, stands = mechanics.equilibrium(z, start)
        if stands:
            yield there, start, R


def best_effort(inverse: InverseStatics, target: Target, starts: list) -> float:
    """Return the least effort found from all these starts, each to its end, or to the best one."""
    task = Task(inverse.sim, [target], inverse.length, {})
    limits, best = Bounds(inverse.mechanics, None, inverse._sizes.scale), None
    for start in starts:
        for there in inverse._approached(task, limits, 1e-6, start):
            found, effort = inverse._descended(task, limits, 1e-6, there, best)
            if found is not None and (best is None or effort < inverse._effort(best.u)):
                best = found
    return np.inf if best is None else inverse._effort(best.u)


def effort(count: int | str = 500, starts: int | str = 50) -> None:
    """Print the table of least effort."""
    print(f'{"tendons":>7} {"targets":>7} {"met":>7} {"within 1 %":>10} {"of one start":>12} '
          f'{"proven":>7} {"agreed":>7} {"median ms":>10} {"95 % ms":>8} {"median, times":>13} '
          f'{"mean, times":>11}')
    for tendons, (robot, least, most) in ARMS.items():
        inverse, one, other = (InverseStatics(robot()) for _ in range(3))
        targets = [Target(g[:3, 3]) for g in reachable(
            Case('', least, most), int(count) + WARM, False, robot())]
        targets, warming = targets[:int(count)], targets[int(count):]
        random, rows = list(random_starts(other, int(starts))), []
        for i, target in enumerate([*warming, *targets]):
            results, seconds = [], []
            for solver, goal in ((inverse, 'least_effort'), (one, 'nearest')):
                begin = process_time()
                results.append(solver.solve([target], goal=goal))
                seconds.append(process_time() - begin)
            efforts = [inverse._effort(r.z[inverse.mechanics.row]) for r in results]
            rows.append((results[0].met, results[0].proven,
                         results[0].agreed / max(results[0].starts, 1), *efforts, *seconds))
            if i == WARM - 1:
                gc.collect()
                gc.freeze()
                rows.clear()
        met, proven, agreed, new_effort, old_effort, new, old = np.array(rows, dtype=float).T
        best = np.minimum(new_effort, [best_effort(other, target, random) for target in targets])
        within, before = (e <= 1.01 * best + EFFORTLESS for e in (new_effort, old_effort))
        on = met > 0.0
        print(f'{tendons:7} {met.size:7} {met.mean():7.1%} {within[on].mean():10.1%} '
              f'{before[on].mean():12.1%} {proven[on].mean():7.1%} {agreed[on].mean():7.1%} '
              f'{1e3 * np.median(new):10.2f} {1e3 * np.quantile(new, 0.95):8.2f} '
              f'{np.median(new) / np.median(old):13.2f} {new.mean() / old.mean():11.2f}',
              flush=True)


def main(count: int | str = 1000, *names: str) -> None:
    """Print the table."""
    if count == 'effort':
        effort(*names)
        return
    print(f'{"robot":44} {"targets":>7} {"success":>8} {"median ms":>10} {"95 % ms":>8} '
          f'{"worst ms":>9} {"median error":>13} {"worst of met":>13}')
    for case in CASES:
        if names and case.name not in names:
            continue
        run(case, 3)
        for near in (False, True):
            f = run(case, int(count), near)
            ms = 1e3 * np.array([
                np.median(f.seconds), np.quantile(f.seconds, 0.95), f.seconds.max()])
            title = ', '.join([case.name, *([case.chambers] if case.chambers else []),
                               'near' if near else 'random'])
            print(f'{title:44} {f.met.size:7} {f.succeeded.mean():8.1%} {ms[0]:10.2f} '
                  f'{ms[1]:8.2f} {ms[2]:9.1f} {np.median(f.errors):13.1e} '
                  f'{f.errors[f.met].max(initial=0.0):13.1e}', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
