"""What users call: targets in, commands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..analysis.stability import stability
from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_number
from ..description.joints import JointDrive
from ..description.robot import Robot
from ..simulation.simulator import Simulator
from .answers import Answer, Answers, Start
from .compiled import Station
from .effort import Descent, EFFORTLESS
from .limits import Limits
from .mechanics import Mechanics
from .samples import Sample, Samples
from .search import Search, Sizes, SLUGGISH
from .task import Target, Task

GOALS = ('least_effort', 'nearest')
STARTS = ('last', 'present', 'rest')
MET = 1e-9          # of the robot's length, or rad, by which a target that is met may be missed
VERIFIED = 1e-7     # the same after statics, where that depends on the way
MISSED = 'best effort: a target is out of reach, or was not found'
FALLS = 'the targets are met by an equilibrium that is not stable'
SETTLED = 1e-9      # strain to the equilibrium, from which one more correction is exact
AGREED = 0.01       # relative, by which efforts from several starts may differ and agree
LIKELY = 1.2        # times the least effort, up to which another start is followed to its end
APART = 1.0         # actuation, as radians of bending, by which samples are unlike
AT_HAND = 0.25      # of the robot's length, or rad, from targets, that relieved samples are tried
OTHER_STARTS = 6    # samples that are tried at most
FOLLOWED = 0.03     # of the robot's length, that an answer is followed before others are tried
SAME = 1e-6         # strain between equilibria that are one
ASIDE, OTHERS = 'aside ', 4   # further starts of a robot whose joints are held, and how many
KICKS = 2.0, -2.0, 4.0, -4.0  # strain along the way to fall, from where it may fall elsewhere


class Result(NamedTuple):
    """
    What was found; commands are within all limits in any case.

    Where dry friction may act, also of contacts, errors are those of `Simulator.statics` with the
    commands, from the simulator's state and what it remembers.
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
    proven: bool = False             # whether it is met, and no less effort nearby meets it too
    starts: int = 0                  # from which the least effort was sought, and targets met
    agreed: int = 0                  # of these, that ended with this effort, within 1 %


@dataclass(frozen=True)
class Found:
    """A result, and the actuation that it has."""

    result: Result
    u: np.ndarray

    def after(self, iterations: int) -> Found:
        """Return the same after this many iterations."""
        return Found(self.result._replace(iterations=iterations), self.u)


class Reached(NamedTuple):
    """Where a search is."""

    search: Search
    z: np.ndarray
    u: np.ndarray
    origin: Sample | None = None


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
        if self.sim.robot.gaits:
            raise InvalidModel('gaits', list(self.sim.robot.gaits),
                               'left out for inverse statics: what moves by a gait never rests')
        rods = self.sim.robot.rods.values()
        self.length = max(rod.length for rod in rods)
        self.mechanics = Mechanics(self.sim)
        self._at_rest = self.mechanics.solver.saved()
        self._answers = Answers()
        self._samples: Samples | None = None
        self._stations: dict[tuple[int, float], Station] = {}
        self._sizes = self._measured()
        self._widest = Limits(self.mechanics, None, self._sizes.scale)

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
            return answer.start
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
        if not self.sim.solver.depends_on_way:
            return found
        before = self.sim.snapshot()
        try:
            return self._verified(task, found)
        finally:
            self.sim.go_to(before)

    def _search(
        self, task: Task, limits: Limits, goal: str, start: str, damping: float,
    ) -> Result:
        """Return the best that is found; of least effort, that of several starts."""
        searched = self._followed(task, limits) if start == 'last' else None
        found, alone = None, searched is not None
        if goal == 'least_effort' and damping < SLUGGISH:
            reached = self._approached(task, limits, damping, self._start(start, task))
            found = self._least(task, limits, damping, reached, alone) if reached else None
        if found is None:
            found = self._reached(task, limits, goal, start, damping)
            if found.result.met and goal == 'least_effort':
                there = self._begun(task, limits, self.mechanics.rest_actuation,
                                    (found.result.z, found.u, found.result.R))
                found = self._least(task, limits, damping, [there], alone) or found
        if found.result.met or found.result.converged:
            self._answers.add(Answer(
                task.stations_aimed, task.goal, limits.ranges,
                (found.result.z, found.u, found.result.R),
                task.goal if searched is None else searched))
        return found.result

    def _followed(self, task: Task, limits: Limits) -> np.ndarray | None:
        """Return targets nearby, whose answer is followed instead of trying several starts."""
        answer = self._answers.nearest(task)
        if (answer is None or answer.aimed != task.stations_aimed
                or answer.limits != limits.ranges
                or np.linalg.norm(answer.searched - task.goal) > FOLLOWED):
            return None
        return answer.searched

    def _reached(
        self, task: Task, limits: Limits, goal: str, start: str, damping: float,
    ) -> Found:
        """Return the first that meets the targets, or the nearest to them."""
        best, iterations, falls = None, 0, False
        for way in _ways(start, damping, bool(self.mechanics.held.size)):
            if way.search == 'keep' and not falls:
                continue
            found = self._attempt(
                task, limits, goal, damping, self._start(way.start, task), way.search)
            iterations += found.result.iterations
            if best is None or _total(found.result, self.length) < _total(
                    best.result, self.length):
                best = found
            if found.result.met:
                return found.after(iterations)
            falls = falls or found.result.message == FALLS
        assert best is not None
        if best.result.message == FALLS:
            for fallen in self._fallen((best.result.z, best.u, best.result.R)):
                found = self._attempt(task, limits, goal, damping, fallen, 'approach')
                iterations += found.result.iterations
                if found.result.met:
                    return found.after(iterations)
            return best.after(iterations)
        calm = self._attempt(task, limits, goal, max(damping, SLUGGISH),
                             (best.result.z, best.u, best.result.R), 'descend')
        iterations += calm.result.iterations
        return (calm if calm.result.converged else best).after(iterations)

    def _least(
        self, task: Task, limits: Limits, damping: float, reached: list[Reached], follows: bool,
    ) -> Found | None:
        """Return the least effort from answers and, if none is followed, from other starts."""
        alone = follows or reached[0].u.size <= task.held
        again = self._again(task, limits, damping)  # no start of its own
        reached, others = [*reached, *again], [] if alone else self._others(task)
        ends: list[tuple[float, Sample | None]] = []  # efforts to which starts led, NaN to none
        followed, best = [one.u for one in reached], None
        new = not any(sample.relieved and distance < AT_HAND for sample, distance in others)
        least, iterations = np.inf, 0

        def another(more: bool) -> bool:
            """Approach from the next sample unlike those before, at hand unless more are to be."""
            for sample, distance in others[:]:
                if not (more or sample.relieved and distance < AT_HAND):
                    continue
                others.remove((sample, distance))
                # One that is new is followed in any case: what it leads to may relieve it.
                if not sample.relieved or self._promises(sample, least, followed):
                    self._relieve(task, damping, sample)
                    followed.append(sample.start[1])
                    reached.extend(self._approached(task, limits, damping, sample.start, sample))
                    return True
            return False

        while reached:
            # Two at first, so that the worse of them need not be followed to its end.
            while len(reached) < 2 and best is None and another(new):
                pass
            at = reached.pop(int(np.argmin([self._effort(each.u) for each in reached])))
            end = np.nan
            if self._effort(at.u) < LIKELY * least + EFFORTLESS:
                found, end = self._descended(task, limits, damping, at, best)
                if found is not None:
                    iterations += found.result.iterations
                    if best is None or found.result.proven and (
                            end < least or not best.result.proven):
                        best, least = found, end
            if not any(at is one for one in again):
                ends.append((end, at.origin))
            agreed = sum(end <= (1.0 + AGREED) * least + EFFORTLESS for end, _ in ends)
            while not reached and another(2 * agreed <= len(ends)):
                pass
        if best is None:
            return None
        for end, sample in ends:
            if sample is not None and not end <= (1.0 + AGREED) * least + EFFORTLESS:
                self._compare(task, damping, sample, best)
        return Found(best.result._replace(
            starts=len(ends), agreed=agreed, iterations=iterations), best.u)

    def _approached(
        self, task: Task, limits: Limits, damping: float, start: Start,
        origin: Sample | None = None,
    ) -> list[Reached]:
        """Return the answer from a start, if there is one; whether it is stable is not known."""
        at = self._begun(task, limits, self.mechanics.rest_actuation, start)
        z, u, there = at.search.approach(at.z, at.u, damping)
        return [Reached(at.search, z, u, origin)] if there else []

    def _again(self, task: Task, limits: Limits, damping: float) -> list[Reached]:
        """Return the least of earlier answers to these targets, perhaps within other limits."""
        found = [one for start in self._answers.same(task)
                 for one in self._approached(task, limits, damping, start)]
        return [min(found, key=lambda one: self._effort(one.u))] if found else []

    def _effort(self, u: np.ndarray) -> float:
        away = (u - self.mechanics.rest_actuation) / self._sizes.kind
        return 0.5 * float(away @ away)

    def _others(self, task: Task) -> list[tuple[Sample, float]]:
        """Return further starts, and how far they are from the targets."""
        if self._samples is None:
            self._samples = Samples(
                self.mechanics, self._widest, self._sizes.scale, self._rest())
        return self._samples.nearest(task, OTHER_STARTS)

    def _promises(self, sample: Sample, least: float, followed: list[np.ndarray]) -> bool:
        """Return whether a sample is unlike what was followed, and may lead to less effort."""
        return self._effort(sample.start[1]) < LIKELY * least and all(
            np.abs((sample.start[1] - u) / self._sizes.kind).max() > APART for u in followed)

    def _relieve(self, task: Task, damping: float, sample: Sample) -> None:
        """Take a sample to the least effort nearby that keeps what is aimed where it is."""
        if sample.relieved:
            return
        sample.relieved, (z, _, R) = True, sample.start
        at = self._begun(
            task.staying(z, R), self._widest, self.mechanics.rest_actuation, sample.start)
        optimum = Descent(at.search, damping).descend(at.z, at.u)
        sample.start = optimum.z, optimum.u, R

    def _compare(self, task: Task, damping: float, sample: Sample, best: Found) -> None:
        """Take a sample to the least effort near a better answer, if that is better there too."""
        if sample.compared:
            return
        sample.compared, (z, u, R) = True, sample.start
        for at in self._approached(task.staying(z, R), self._widest, damping,
                                   (best.result.z, best.u, best.result.R)):
            optimum = Descent(at.search, damping).descend(at.z, at.u)
            if optimum.effort < self._effort(u):
                sample.start = optimum.z, optimum.u, at.search.R

    def _descended(
        self, task: Task, limits: Limits, damping: float, at: Reached, best: Found | None,
    ) -> tuple[Found | None, float]:
        """
        Return the least effort near an answer, and how much that is; NaN if it is not stable.

        None also where that is no better than the best, or comes to it.
        """
        known = best.u if best is not None and best.result.proven else None
        least = np.inf if best is None else self._effort(best.u)
        self.mechanics.stand(at.search.R)
        optimum = Descent(at.search, damping).descend(at.z, at.u, known)
        if optimum.known:
            return None, least
        if optimum.effort > (1.0 + AGREED) * least + EFFORTLESS:
            return None, optimum.effort
        result = self._result(task, limits, at.search, optimum.z, optimum.u, True)
        if not result.met:
            return None, np.nan
        return Found(result._replace(
            proven=optimum.proven, iterations=result.iterations + optimum.steps),
            optimum.u), optimum.effort

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
        # What is smooth in the search is not where laws remember: nothing is proven of that.
        proven = met and found.proven and not (sim.solver.remembers or sim.solver.contacts())
        return found._replace(
            met=met, proven=proven, position_errors=distances, orientation_errors=angles,
            message=message, z=z, R=R)

    def _attempt(
        self, task: Task, limits: Limits, goal: str, damping: float, start: Start, how: str,
    ) -> Found:
        """Return what is found from a start in one way, see `Way`."""
        aim = self.mechanics.rest_actuation if goal == 'least_effort' else self._present()[1]
        search, z, u, _ = self._begun(task, limits, aim, start)
        if how == 'descend':
            z, u, converged = search.descend(z, u, damping)
        else:
            z, u, converged = search.approach(z, u, damping, how != 'keep')
        return Found(self._result(task, limits, search, z, u, converged), u)

    def _begun(
        self, task: Task, limits: Limits, aim: np.ndarray, start: Start,
    ) -> Reached:
        """Return a search, and shape and actuation of a start within the limits."""
        z, u, R = start
        self.mechanics.stand(R)
        inside = np.clip(u, limits.least, limits.most)
        if (inside != u).any():
            z, _ = self.mechanics.equilibrium(z, inside)
        return Reached(Search(self.mechanics, task, limits, self._sizes, aim, R), z, inside)

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
