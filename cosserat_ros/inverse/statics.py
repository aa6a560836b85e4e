"""What users call: targets in, commands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..analysis.stability import stability
from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_number
from ..description.joints import JointDrive
from ..description.robot import Robot
from ..simulation.simulator import Simulator
from .answers import Answers, Start
from .compiled import Station
from .limits import Limits
from .mechanics import Mechanics
from .search import Search, Sizes, SLUGGISH
from .task import Target, Task

GOALS = ('least_effort', 'nearest')
STARTS = ('last', 'present', 'rest')
MET = 1e-9          # of the robot's length, or rad, by which a target that is met may be missed
VERIFIED = 1e-7     # the same after statics, where laws remember
MISSED = 'best effort: a target is out of reach, or was not found'
FALLS = 'the targets are met by an equilibrium that is not stable'
SETTLED = 1e-9      # strain to the equilibrium, from which one more correction is exact
SAME = 1e-6         # strain between equilibria that are one
ASIDE, OTHERS = 'aside ', 4   # further starts of a robot whose joints are held, and how many
KICKS = 2.0, -2.0, 4.0, -4.0  # strain along the way to fall, from where it may fall elsewhere


class Result(NamedTuple):
    """
    What was found; commands are within all limits in any case.

    Where dry friction acts, errors are those of `Simulator.statics` with the commands, from the
    simulator's state and what it remembers.
    """

    commands: dict[str, float]       # of all actuators, as described
    converged: bool                  # whether nothing better is near
    met: bool                        # whether all targets are, by a stable equilibrium
    position_errors: np.ndarray      # distance still missing, per target [m]
    orientation_errors: np.ndarray   # angle still missing, per target; 0 if free [rad]
    iterations: int
    message: str                     # why not; empty if converged and met
    z: np.ndarray                    # unknowns of the equilibrium, see `assembly.tree`
    R: np.ndarray                    # attitude that turns in z are counted from, see `RodsSolver`


class InverseStatics:
    """
    Finds actuation for targets; the simulator that it is given is only read.

    Parameters
    ----------
    robot : Robot or Simulator
        A simulator gives its present loads to each solve, and its state and commands to those
        that start there.

    """

    def __init__(self, robot: Robot | Simulator) -> None:
        self.sim = Simulator(robot) if isinstance(robot, Robot) else robot
        if not self.sim.robot.actuators:
            raise InvalidModel('actuators', {}, 'at least one')
        rods = self.sim.robot.rods.values()
        self.length = max(rod.length for rod in rods)
        self.mechanics = Mechanics(self.sim)
        self._at_rest = self.mechanics.solver.saved()
        self._answers = Answers()
        self._stations: dict[tuple[int, float], Station] = {}
        self._sizes = self._measured()

    def _measured(self) -> Sizes:
        """Return the actuation that bends by about a radian, and the size of a command to it."""
        mechanics = self.mechanics
        z, u, R = self._rest()
        mechanics.stand(R)
        linear = mechanics.linearise(z, u)
        if linear is None:
            raise InvalidModel('robot', self.sim.robot.name, 'one that has a stiffness at rest')
        strain = np.abs(linear[1]) * mechanics.scale
        scale = 1.0 / np.maximum(strain.max(axis=1), 1e-300)
        kinds = [a.unit if isinstance(a, JointDrive) else type(a) for a in mechanics.actuators]
        kind = np.array([
            np.mean([x for x, other in zip(scale, kinds) if other is kind])
            for kind in kinds])
        commands, limits = np.ones(u.size), Limits(mechanics, None, scale)
        commands[limits.measured] = limits.linearise(z, u, linear[1] * scale[:, None])[1].size
        return Sizes(scale, kind, commands)

    # --- Starts ---

    def _rest(self) -> Start:
        """Return the robot at rest under its loads."""
        sim, before = self.sim, self.sim.snapshot()
        try:
            sim.solver.restore(self._at_rest)  # the platform too is where it was
            sim.commands = {name: sim.rest_command(name) for name in sim.robot.actuators}
            sim.statics(dict.fromkeys(sim.robot.tendons, 'tension')
                        | dict.fromkeys(sim.robot.chambers, 'pressure'), from_rest=True)
            return self._present()
        finally:
            sim.go_to(before)

    def _present(self) -> Start:
        solver = self.sim.solver
        return solver.z.copy(), self.mechanics.actuation(solver.z), solver.attitude

    def _start(self, start: str, task: Task) -> Start:
        answer = self._answers.nearest(task) if start == 'last' else None
        if answer is not None:
            return answer
        if start == 'rest':
            return self._rest()
        if start.startswith(ASIDE):
            return self._aside(int(start[len(ASIDE):]))
        z, u, R = self._present()
        self.mechanics.stand(R)
        z, stands = self.mechanics.equilibrium(z, u)  # it may move
        return (z, u, R) if stands else self._rest()

    def _aside(self, seed: int) -> Start:
        """
        Return some equilibrium with joints anywhere within their limits, and the robot bent.

        A straight arm that turns about itself does not see where its joint would bring it.
        """
        z, u, R = self._rest()
        mechanics, rng = self.mechanics, np.random.default_rng(seed)
        limits = Limits(mechanics, None, self._sizes.scale)
        low, high = (np.maximum(limits.least, u - 0.5 * self._sizes.scale),
                     np.minimum(limits.most, u + 0.5 * self._sizes.scale))
        low[mechanics.held], high[mechanics.held] = (
            np.where(np.isfinite(limit), limit, own)[mechanics.held]
            for limit, own in ((limits.least, low), (limits.most, high)))
        aside = rng.uniform(low, high)
        mechanics.stand(R)
        there, stands = mechanics.equilibrium(z, aside)
        return (there, aside, R) if stands else (z, u, R)

    def _fallen(self, unstable: Start) -> Iterator[Start]:
        """Yield stable equilibria of the same actuation, found by kicks from an unstable one."""
        z, u, R = unstable
        mechanics, found = self.mechanics, [z]
        mechanics.stand(R)
        mode = mechanics.way_to_fall(z, u)
        for kick in KICKS:
            mechanics.stand(R)
            there, stands = mechanics.equilibrium(z + kick * mode, u)
            new = all(mechanics.strain(there - other) > SAME for other in found)
            found.append(there)
            if stands and new and mechanics.is_stable(there, u, None):
                yield there, u, R

    # --- Solving ---

    def solve(
        self, targets: Sequence[Target], bounds: Mapping[str, Any] | None = None,
        goal: str = 'least_effort', start: str = 'last', damping: float = 1e-6,
    ) -> Result:
        """
        Return the actuation that meets the targets, or comes nearest.

        Parameters
        ----------
        targets : sequence of Target
        bounds : mapping of str to (least, greatest), optional
            Of commands, beside the limits of the description; None or infinite for none.
        goal : str
            Among many answers: 'least_effort', the smallest tensions, pressures, and changes of
            leg lengths from rest, or 'nearest' to those of the simulator.
        start : str
            'last' solution, or an earlier one if that is much nearer (the simulator's state, if
            there is none), 'present' state of the simulator, or 'rest'.
        damping : float
            Motion of a target, as part of the robot's length, by the actuation that bends about a
            radian: where there is less of it, effort counts more than the target [-]. Out of
            reach it is 1e-3 at least: no arm is to squeeze itself for a micrometre.

        """
        if goal not in GOALS:
            raise UnknownName('goal', goal, list(GOALS))
        if start not in STARTS:
            raise UnknownName('start', start, list(STARTS))
        check_number('damping', damping, least=1e-7, most=1.0)
        task = Task(self.sim, targets, self.length, self._stations)
        limits = Limits(self.mechanics, bounds, self._sizes.scale)
        self.mechanics.take()
        found = self._search(task, limits, goal, start, damping)
        if not self.sim.solver.remembers:
            return found
        before = self.sim.snapshot()
        try:
            return self._verified(task, found)
        finally:
            self.sim.go_to(before)

    def _search(
        self, task: Task, limits: Limits, goal: str, start: str, damping: float,
    ) -> Result:
        """Return the best that is found."""
        best, iterations, falls = None, 0, False
        for way in _ways(start, damping, bool(self.mechanics.held.size)):
            if way.search == 'keep' and not falls:
                continue
            result, u = self._attempt(
                task, limits, goal, damping, self._start(way.start, task), way.search)
            iterations += result.iterations
            if best is None or _total(result, self.length) < _total(best[0], self.length):
                best = result, u
            if result.met:
                self._answers.add(task, (result.z, u, result.R))
                return result._replace(iterations=iterations)
            falls = falls or result.message == FALLS
        assert best is not None
        if best[0].message == FALLS:
            for fallen in self._fallen((best[0].z, best[1], best[0].R)):
                result, u = self._attempt(task, limits, goal, damping, fallen, 'approach')
                iterations += result.iterations
                if result.met:
                    self._answers.add(task, (result.z, u, result.R))
                    return result._replace(iterations=iterations)
            return best[0]._replace(iterations=iterations)
        calm = self._attempt(task, limits, goal, max(damping, SLUGGISH),
                             (best[0].z, best[1], best[0].R), 'descend')
        iterations += calm[0].iterations
        if calm[0].converged:
            best = calm
        if best[0].converged:
            self._answers.add(task, (best[0].z, best[1], best[0].R))
        return best[0]._replace(iterations=iterations)

    def _verified(self, task: Task, found: Result) -> Result:
        """Return what the commands do: by statics, from the present state and memory."""
        sim = self.sim
        sim.command(**found.commands)
        solution = sim.statics()
        if not solution.converged:
            return found._replace(
                met=False, converged=False, message=f'not verified: {solution.message}')
        z, R = sim.solver.z.copy(), sim.solver.attitude
        distances, angles = task.missing(z, R)
        there = bool(distances.max() <= VERIFIED * self.length and angles.max() <= VERIFIED)
        met = there and stability(sim).stable
        message = '' if met else FALLS if there else MISSED
        if not found.converged:
            message = message or 'met, but effort may not be the least'
        return found._replace(met=met, position_errors=distances, orientation_errors=angles,
                              message=message, z=z, R=R)

    def _attempt(
        self, task: Task, limits: Limits, goal: str, damping: float, start: Start, how: str,
    ) -> tuple[Result, np.ndarray]:
        """Return what is found from a start in one way, see `Way`, and u."""
        mechanics = self.mechanics
        z, u, R = start
        mechanics.stand(R)
        aim = mechanics.rest_actuation if goal == 'least_effort' else self._present()[1]
        search = Search(mechanics, task, limits, self._sizes, aim, R)
        inside = np.clip(u, limits.least, limits.most)
        if (inside != u).any():
            z, _ = mechanics.equilibrium(z, inside)
        if how == 'descend':
            z, u, converged = search.descend(z, inside, damping)
        else:
            z, u, converged = search.approach(z, inside, damping, how != 'keep')
        return self._result(task, limits, search, z, u, converged), u

    def _result(
        self, task: Task, limits: Limits, search: Search, z: np.ndarray, u: np.ndarray,
        converged: bool,
    ) -> Result:
        """Hold what was found against the equations of the described commands."""
        commands, exact = limits.commands(z, u)
        drives = limits.drives(commands) if limits.measured.size else None
        settle = self.mechanics.settling(z, u)
        if exact and self.mechanics.strain(settle) < SETTLED:
            z, stands = z + settle, True
        else:
            z, stands = self.mechanics.equilibrium(z, u, drives)
        inverted = self.sim.inversion.found(z)
        stands = stands and not inverted
        distances, angles = task.missing(z, search.R)
        there = bool(distances.max() <= MET * self.length and angles.max() <= MET)
        met = there and stands and self.mechanics.is_stable(z, u, drives)
        message = '' if met else MISSED
        if not stands:
            message = inverted or 'no equilibrium was found for these commands'
        elif there and not met:
            message = FALLS
        elif not converged:
            message = 'ran out of steps' if not met else 'met, but effort may not be the least'
        z, R = self.mechanics.solver.recentred(z, search.R)
        return Result(commands, bool(converged and stands), met, distances, angles,
                      search.iterations, message, z, R)

    def apply(self, result: Result, sim: Simulator | None = None) -> None:
        """Give the commands to a simulator, the own one by default, and put it there at rest."""
        sim = sim or self.sim
        sim.command(**result.commands)
        sim.solver.go_to(result.z, result.R)
        sim.statics()


class Way(NamedTuple):
    """One attempt."""

    start: str
    search: str  # 'approach' the targets, 'descend', or 'keep' the actuation where it need not be


def _ways(start: str, damping: float, joints: bool) -> list[Way]:
    """Return what to try, 'keep' only where an equilibrium was found that is not stable."""
    ways = [Way(origin, search) for origin in (start, 'rest')
            for search in ('approach', 'keep', 'descend')]
    if joints:
        ways += [Way(f'{ASIDE}{k}', 'descend') for k in range(OTHERS)]
    return [way for way in dict.fromkeys(ways) if damping < SLUGGISH or way.search == 'descend']


def _total(result: Result, length: float) -> float:
    """Return by how much a result misses its targets."""
    return float(np.sum(result.position_errors / length) + np.sum(result.orientation_errors))
