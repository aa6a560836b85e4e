"""
How fast the tendon arm runs on one core with laws that couple its rod, driven at random.

    environment/enter python benchmarks/laws.py

The motion and the measure are those of benchmarks/robots.py, for twenty seconds. Printed:
simulated over processor time, the median and the slowest step, how many steps were divided, and
the largest gap of all steps: how far from balance they are at the end, as strain.

Then inverse statics of the same arms: targets are where statics with random tensions in two
tendons bring the tip, from the arm's state and what it remembers. Printed: the median time of a
solve, how many targets are met, and how far the tip is from them at most after
`Simulator.statics` with the commands that were found, from the same state.
"""

from __future__ import annotations

from dataclasses import replace
import time
from typing import Any

import numpy as np
from robots import CASES, CONFIG, run

from cosserat_ros.description.parts import Discs
from cosserat_ros.description.robot import load, Robot
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.simulation.simulator import Simulator

SECONDS, RUNS, TARGETS = 20.0, 3, 40
STEP, MODES = CASES['tendon_arm']


def arms() -> dict[str, Robot]:
    """Return the tendon arm without laws, and with each of them on all tendons, or on its rod."""
    arm = load(CONFIG / 'tendon_arm.yaml')
    rod = arm.rods['backbone']

    def tendons(**options: Any) -> Robot:
        return replace(arm, tendons={
            name: replace(tendon, **options) for name, tendon in arm.tendons.items()})

    rough = replace(rod, segments=tuple(
        replace(s, damping=replace(s.damping, dry_bending=1e-3)) for s in rod.segments))
    return {
        'no law': arm,
        'capstan friction 0.2': tendons(coulomb_friction=0.2),
        'damping 5 s/m': tendons(damping_friction=5.0),
        'chords, 9 discs': replace(
            tendons(guided_by='guides', straight_in='space'),
            discs={'guides': Discs(radius=0.012, thickness=0.0015, count=9)}),
        'dry bending 1 N mm': replace(arm, rods={'backbone': rough}),
        'all of them': replace(
            tendons(coulomb_friction=0.2, damping_friction=5.0, guided_by='guides',
                    straight_in='space'),
            rods={'backbone': rough}),
    }


def reach(robot: Robot) -> tuple[float, int, float]:
    """Return the median time of inverse statics [s], targets met, and by how much at worst [m]."""
    sim, rng = Simulator(robot, MODES), np.random.default_rng(2)
    sim.command(tendon_1=2.0)
    assert sim.statics().converged
    inverse, state, spent, met, away = InverseStatics(sim), sim.snapshot(), [], 0, [0.0]
    other = sim.twin()

    def led(commands: dict[str, float]) -> np.ndarray:
        other.go_to(state)
        other.command(**commands)
        assert other.statics().converged
        return other.tip_pose()[:3, 3]

    for _ in range(TARGETS):
        pulled = rng.choice(list(robot.tendons), 2, replace=False)
        target = led(dict.fromkeys(robot.tendons, 0.0) | {
            str(name): float(rng.uniform(0.5, 4.0)) for name in pulled})
        begin = time.process_time()
        result = inverse.solve([Target(target)], start='present')
        spent.append(time.process_time() - begin)
        if result.met:
            met += 1
            away.append(float(np.linalg.norm(led(result.commands) - target)))
    return float(np.median(spent)), met, max(away)


def main() -> None:
    """Print the tables."""
    print(f'{"tendon arm with":22} {"x real time":>12} {"median us":>10} {"slowest us":>11} '
          f'{"divided":>8} {"gap":>8}')
    for name, robot in arms().items():
        run(robot, MODES, STEP, 1.0)
        runs = [run(robot, MODES, STEP, SECONDS) for _ in range(RUNS)]
        spent = np.min([each.spent for each in runs], axis=0)
        print(f'{name:22} {STEP * len(spent) / spent.sum():12.0f} {1e6 * np.median(spent):10.0f} '
              f'{1e6 * spent.max():11.0f} {runs[0].divided:8d} '
              f'{max(each.gap for each in runs):8.1e}')
    print(f'\n{"inverse statics with":22} {"median ms":>10} {"x no law":>9} {"met":>7} '
          f'{"away [um]":>10}')
    plain = 0.0
    for name, robot in arms().items():
        median, met, away = reach(robot)
        plain = plain or median
        print(f'{name:22} {1e3 * median:10.2f} {median / plain:9.1f} {met:4d}/{TARGETS} '
              f'{1e6 * away:10.4f}')


if __name__ == '__main__':
    main()
