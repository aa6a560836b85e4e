"""
A Gymnasium environment: bring the tip of a tendon arm to a target.

    pip install gymnasium
    python examples/reach.py [--robot config/tendon_arm.yaml] [--environments 4] [--steps 100]

An action is one number from -1 to 1 per actuator, from its lower to its upper limit. An
observation has the tip's position and velocity, the way from there to the target, and the last
action. The reward is minus the distance to the target, in lengths of the robot. Targets are tips
of equilibria, so that each can be reached.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import time
from typing import Any

import gymnasium
import numpy as np

from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator

ARM = Path(__file__).resolve().parent.parent / 'config' / 'tendon_arm.yaml'
NAME = 'cosserat/Reach-v0'
PERIOD = 0.05     # [s] between actions
FASTEST = 100.0   # [m/s] that an observation tells
PULL = 0.4        # of the range of actuators, up to which targets are chosen


class Reach(gymnasium.Env):
    """
    A robot whose tip is to reach a target.

    Parameters
    ----------
    robot : str or Path
        File of a robot whose actuators have limits on both sides.

    """

    metadata: dict[str, Any] = {'render_modes': []}  # noqa: RUF012 as Gymnasium has it

    def __init__(self, robot: str | Path = ARM) -> None:
        self._sim = Simulator(load(robot))
        limits = [actuator.limits for actuator in self._sim.robot.actuators.values()]
        if not all(x and x.lower is not None and x.upper is not None for x in limits):
            raise ValueError(f'{robot}: each actuator must have limits on both sides')
        self._lower = np.array([x.lower for x in limits])
        self._upper = np.array([x.upper for x in limits])
        self._length = max(rod.length for rod in self._sim.robot.rods.values())
        if not self._sim.statics().converged:
            raise ValueError(f'{robot}: no equilibrium at rest')
        self._target, self._action = np.zeros(3), -np.ones(len(limits))
        far = np.full(3, 2.0 * self._length)
        most = np.concatenate([far, np.full(3, FASTEST), 2.0 * far, np.ones(len(limits))])
        self.observation_space = gymnasium.spaces.Box(-most, most, dtype=np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(limits),), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Choose a target, and begin at rest."""
        super().reset(seed=seed)
        converged = False
        while not converged:
            self._sim = self._sim.twin()  # new ones, so that a seed gives the same to the last bit
            self._command(self.np_random.uniform(-1.0, 2.0 * PULL - 1.0, len(self._lower)))
            converged = self._sim.statics().converged
        self._target = self._sim.tip_pose()[:3, 3].copy()
        self._sim = self._sim.twin()
        self._sim.statics()
        self._action = -np.ones(len(self._lower))
        return self._seen(), {'target': self._target}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Command the actuators, and let a period pass; it ends early where the solver fails."""
        self._action = np.clip(np.asarray(action, dtype=float), -1.0, 1.0)
        self._command(self._action)
        parts = max(1, round(PERIOD / self._sim.robot.time.step))
        converged = all(self._sim.step(PERIOD / parts).converged for _ in range(parts))
        distance = float(np.linalg.norm(self._target - self._sim.tip_pose()[:3, 3]))
        return self._seen(), -distance / self._length, False, not converged, {
            'distance': distance, 'converged': converged}

    def _command(self, action: np.ndarray) -> None:
        values = self._lower + 0.5 * (action + 1.0) * (self._upper - self._lower)
        self._sim.command(**dict(zip(self._sim.robot.actuators, values.tolist())))

    def _seen(self) -> np.ndarray:
        tip = self._sim.tip_pose()[:3, 3]
        seen = np.concatenate([tip, self._sim.tip_twist()[:3], self._target - tip, self._action])
        return np.clip(seen, self.observation_space.low, self.observation_space.high)


gymnasium.register(NAME, entry_point=Reach, max_episode_steps=100)


def main() -> None:
    """Run several environments at once with random actions, and say how fast they are."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('--robot', type=Path, default=ARM)
    parser.add_argument('--environments', type=int, default=4)
    parser.add_argument('--steps', type=int, default=100)
    given = parser.parse_args()
    envs = gymnasium.make_vec(NAME, given.environments, 'async', robot=given.robot)
    envs.action_space.seed(0)
    envs.reset(seed=0)
    begun, rewards = time.perf_counter(), []
    for _ in range(given.steps):
        rewards.append(envs.step(envs.action_space.sample())[1])
    passed = time.perf_counter() - begun
    envs.close()
    print(f'mean reward {np.mean(rewards):.3f}, '
          f'{given.steps * given.environments / passed:.0f} steps per second of '
          f'{given.environments} environments')


if __name__ == '__main__':
    main()
