"""
The thread that moves a simulated robot on, at a fixed rate.

It alone touches its `Simulator`. What others want of it is left for it: commands in a place where
newer ones replace older ones, so that a flood costs no more than one; all else as errands that it
runs between two steps, in their order. What they may know is in `Stepper.instant`, which never
changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
import threading
import time
from typing import Any, NamedTuple, Optional

import numpy as np
from rclpy.clock import Clock, JumpThreshold
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory

from ...assembly.element import Motion
from ...checks.errors import CosseratError
from ...simulation.simulator import Load, Simulator, Snapshot
from ..common.conversions import nanoseconds
from ..common.threads import carry_out, Loop
from .schedule import CATCH_UP, CATCH_UP_WITH_CLOCK, Schedule
from .trajectory import holding, Pursuit, read_trajectory, Trajectory

PATIENCE = 0.05  # [s] at most until another's clock is looked at
BREATH = 1e-3   # [s] to rest, after ten times as long without any, as fast as possible
LAST_WORD = 2.0  # [s] that a step may take when it is told to end
NO_PURSUIT = Pursuit(Trajectory((), np.zeros(1), np.zeros((1, 0)), None), 0.0)


class Interrupted(CosseratError):
    """Steps that were asked for were not all taken."""


class Instant(NamedTuple):
    """The robot after a step."""

    number: int          # of instants before it
    snapshot: Snapshot
    stamp: int           # [ns] of the node's clock, or simulated


class Demonstration(NamedTuple):
    """What a robot shows until somebody commands it, by simulated time [s]."""

    commands: Callable[[float], Mapping[str, float]]
    loads: Optional[Callable[[float], Mapping[str, Load]]] = None


class Errand(NamedTuple):
    """Something to be done between two steps."""

    run: Callable[[Simulator], Any]
    future: Future
    urgent: bool         # whether steps that are asked for end early for it


@dataclass
class Status:
    """What is to be known of the stepping; written by its thread alone."""

    steps: int = 0
    late: int = 0            # steps that began more than a period after they were due
    overruns: int = 0        # periods that were given up
    failed: int = 0          # steps that did not converge, or raised
    failure: str = ''        # why the last one did; empty once one succeeds
    warning: str = ''        # what no robot could do, of the last that succeeded
    residual: float = 0.0
    iterations: int = 0
    slowest: float = 0.0     # [s] since it was last asked for
    spent: float = 0.0       # time of the processor in steps, all together [s]
    doing: str = ''          # what takes time now; empty if nothing does
    since: float = 0.0       # when that began, by the steady clock [s]
    moved: float = 0.0       # when a step ended, or time stood still as it was told to [s]
    commanded: float = 0.0   # when, likewise; 0 never [s]
    stale: bool = False      # whether the last command is older than allowed


@dataclass
class Pace:
    """How fast time goes; may be changed while it does."""

    time_scale: float = 1.0       # 0: as fast as possible
    command_timeout: float = 0.0  # [s]; 0: none
    on_timeout: str = 'hold'


class Stepper:
    """
    Steps a robot in a thread of its own.

    Parameters
    ----------
    sim : Simulator
    step : float
        [s].
    clock : Clock
        Of the node: for stamps, and to follow where it runs on simulated time.
    own_time : bool
        Whether simulated time is what stamps tell, and no other clock is followed.
    on_instant : callable
        Called after each new instant, by the thread.
    report : callable
        Called with a text where the thread fails, by the thread.

    """

    def __init__(
        self, sim: Simulator, step: float, clock: Clock, own_time: bool,
        on_instant: Callable[[], None], report: Callable[[str], None],
    ) -> None:
        self._sim, self.step_size, self._clock, self.own_time = sim, step, clock, own_time
        self.robot = sim.robot
        self._on_instant = on_instant
        self.pace, self.status = Pace(), Status()
        self.paused = False
        self._lock = threading.Lock()
        self._commands: dict[str, float] = {}
        self._pursuit: Optional[Pursuit] = None
        self._taken: Optional[Pursuit] = None  # whose commands the present step has
        self._demonstration: Optional[Demonstration] = None
        self._shown: Mapping[str, Load] = {}  # loads of it that act
        self._base: Optional[Callable[[float], Motion]] = None
        self._hear: Callable[[], None] = lambda: None
        self._errands: deque[Errand] = deque()
        self.loop = Loop('stepping', self._turn, report)
        self._schedule: Optional[Schedule] = None  # none where it is to begin anew
        self._followed, self._rested = False, 0.0
        self.instant = Instant(0, sim.snapshot(), self._stamp())
        self._jumps = clock.create_jump_callback(
            JumpThreshold(
                min_forward=Duration(nanoseconds=1), min_backward=Duration(nanoseconds=-1),
                on_clock_change=True),
            post_callback=lambda _: self.loop.wake())

    # --- For other threads ---

    def start(self) -> None:
        """Begin to step; raise `StillRunning` where the thread from before still does."""
        self._schedule, self.status.moved = None, time.monotonic()
        self.loop.start()

    def stop(self) -> bool:
        """Cease after the present step; tell whether that was soon."""
        ended = self.loop.stop(LAST_WORD)
        with self._lock:
            waiting, self._errands = self._errands, deque()
        for errand in waiting:
            errand.future.cancel()
        return ended

    def close(self) -> None:
        """Cease for good."""
        self.stop()
        self._jumps.unregister()

    def set_pace(self, **changes: Any) -> None:
        """Change fields of `pace`; one who sleeps by the old one wakes."""
        for name, value in changes.items():
            setattr(self.pace, name, value)
        self.loop.wake()

    def command(self, commands: Mapping[str, float]) -> None:
        """Take over commands, which were checked, with the next step; a trajectory ends."""
        with self._lock:
            self._commands.update(commands)
            ended = self._pursue(None)
        self.status.commanded = time.monotonic()
        ended.stop('a command took over')

    def read(self, message: JointTrajectory) -> tuple[Trajectory, float]:
        """Return what a message asks for and from which simulated time on [s], or raise."""
        stamp = nanoseconds(message.header.stamp)
        start = self.instant.snapshot.time  # to read it takes longer than a step
        delay = self.delay(stamp) if stamp else 0.0
        return read_trajectory(self.robot, message, self.commands(), delay), start

    def follow(self, pursuit: Pursuit) -> None:
        """Follow a trajectory, which replaces an earlier one."""
        with self._lock:
            ended = self._pursue(pursuit)
        self.status.commanded = time.monotonic()
        ended.stop('a newer trajectory took over')

    def abandon(self, pursuit: Pursuit) -> Future:
        """Have the robot hold what it has reached, if it still follows a trajectory."""
        if self.loop.runs:
            return self.ask(partial(self._abandon, pursuit), urgent=True)
        done: Future = Future()
        carry_out(partial(self._abandon, pursuit, self._sim), done)
        return done

    def _abandon(self, pursuit: Pursuit, sim: Simulator) -> None:
        with self._lock:
            if self._pursuit is not pursuit:
                return
            self._pursuit = None
            self._commands.update(holding(sim, pursuit.trajectory.names))

    def _pursue(self, pursuit: Optional[Pursuit]) -> Pursuit:
        """Put one pursuit in the place of another, which is returned; under the lock."""
        ended, self._pursuit, self._demonstration = self._pursuit, pursuit, None
        return ended or NO_PURSUIT

    def demonstrate(self, demonstration: Demonstration) -> None:
        """Command and load the robot by functions of time, until somebody else does."""
        with self._lock:
            self._demonstration = demonstration

    def hold_demonstration(self) -> None:
        """End it, and keep what it commands and loads; to be called from an errand."""
        with self._lock:
            self._demonstration = None
        self._shown = {}

    def set_loads(self, loads: Mapping[str, Load]) -> None:
        """Let loads act, as somebody asks; to be called from an errand. Ends a show of loads."""
        self._sim.set_loads(loads)
        with self._lock:
            if self._demonstration is not None and self._demonstration.loads is not None:
                self._demonstration = None

    def lead_base(self, motion: Callable[[float], Motion]) -> None:
        """Move the base by a function of simulated time [s], called for the end of each step."""
        self._base = motion

    def hear_by(self, poll: Callable[[], None]) -> None:
        """Have newest commands heard at the beginning of each step, before they are taken over."""
        self._hear = poll

    @property
    def demonstrates(self) -> bool:
        """Whether the robot moves by itself."""
        return self._demonstration is not None

    def forget(self) -> None:
        """Drop commands that have not been taken over, and the trajectory."""
        with self._lock:
            self._commands, ended = {}, self._pursue(None)
        ended.stop('the simulation was reset')

    def commands(self) -> dict[str, float]:
        """Return what the actuators are told, by the newest commands."""
        with self._lock:
            return {**self.instant.snapshot.commands, **self._commands}

    def ask(self, run: Callable[[Simulator], Any], urgent: bool = False) -> Future:
        """
        Have something done with the simulator between two steps.

        What is urgent does not wait for the end of `advance`, which ends early. The future is
        cancelled where there is no stepping.
        """
        errand = Errand(run, Future(), urgent)
        with self._lock:
            if self.loop.runs:
                self._errands.append(errand)
            else:
                errand.future.cancel()
        self.loop.wake()
        return errand.future

    def advance(self, steps: int) -> None:
        """Take steps at once; to be called from an errand. Raises where one fails."""
        for taken in range(steps):
            if self.loop.ending:
                raise Interrupted(f'the simulation ends, after {taken} of {steps} steps')
            if self._is_urged():
                raise Interrupted(
                    f'pause, reset or cancel was asked for, after {taken} of {steps} steps')
            if not self._step():
                raise Interrupted(
                    f'{self.status.failure}, after {taken} of {steps} steps')

    def _is_urged(self) -> bool:
        with self._lock:
            return any(errand.urgent for errand in self._errands)

    # --- The thread ---

    @property
    def follows(self) -> bool:
        """Whether the steps follow another's clock."""
        return not self.own_time and getattr(self._clock, 'ros_time_is_active', False)

    @property
    def period(self) -> float:
        """Time from step to step; 0: as fast as possible [s]."""
        return self.step_size / self.pace.time_scale if self.pace.time_scale else 0.0

    def _now(self) -> float:
        return self.clock_now() if self.follows else time.monotonic()

    def _stamp(self) -> int:
        if self.own_time:
            return round(1e9 * self._sim.time)
        return int(self._clock.now().nanoseconds)

    def clock_now(self) -> float:
        """Return what the node's clock shows [s]."""
        return 1e-9 * self._clock.now().nanoseconds

    def stamp(self) -> int:
        """Return the stamp of the present instant, if it were published now [ns]."""
        return self.instant.stamp if self.own_time else int(self._clock.now().nanoseconds)

    def delay(self, stamp: int) -> float:
        """Return how much simulated time is left until a stamp of the node's clock [s]."""
        if self.own_time:
            return 1e-9 * stamp - self.instant.snapshot.time
        scale = self.pace.time_scale or 1.0
        return 1e-9 * (stamp - self._clock.now().nanoseconds) * scale

    def _turn(self) -> None:
        """Run errands, and take a step or wait until one is due."""
        self._run_errands()
        if self.paused:
            self.loop.wait(None)
            self._schedule, self.status.moved = None, time.monotonic()
            return
        if self._schedule is None or self.follows != self._followed:
            self._schedule, self._followed = Schedule(self._now()), self.follows
        period = self.period
        wait = self._schedule.look(self._now(), period)
        if wait > 0.0:
            self.loop.wait(min(wait, PATIENCE) if self._followed else wait)
            return
        self.status.late += -wait > period > 0.0
        self._step()
        self.status.overruns += self._schedule.next(
            self._now(), period, CATCH_UP_WITH_CLOCK if self._followed else CATCH_UP)
        if not period and time.monotonic() - self._rested > 10.0 * BREATH:
            time.sleep(BREATH)  # others want to run too
            self._rested = time.monotonic()

    @contextmanager
    def _doing(self, what: str) -> Iterator[None]:
        """Let others see what is done."""
        self.status.since, self.status.doing = time.monotonic(), what
        try:
            yield
        finally:
            self.status.doing = ''

    def _run_errands(self) -> None:
        while (errand := self._next_errand()) is not None:
            if not errand.future.set_running_or_notify_cancel():
                continue
            carry_out(partial(self._run_errand, errand.run), errand.future)

    def _run_errand(self, run: Callable[[Simulator], Any]) -> Any:
        with self._doing('a request'):
            result = run(self._sim)
        self._tell()
        return result

    def _next_errand(self) -> Optional[Errand]:
        with self._lock:
            return self._errands.popleft() if self._errands else None

    def _step(self) -> bool:
        """Take a step; if it fails, all stays as it is."""
        sim, status = self._sim, self.status
        self._take_commands()
        before, reason, worked = sim.snapshot(), '', time.thread_time()
        try:
            with self._doing('a step'):
                solution = sim.step(self.step_size)
        except Exception as error:  # whatever it is, the robot stays where it is
            reason = f'{type(error).__name__}: {error}'
        else:
            status.residual, status.iterations = float(solution.residual), solution.iterations
            if not solution.converged:
                reason = solution.message or 'it did not converge'
            elif not np.isfinite(sim.solver.z).all():
                reason = 'the state is not finite'
            else:
                status.warning = solution.message
        status.moved, status.failure = time.monotonic(), reason
        status.slowest = max(status.slowest, status.moved - status.since)
        status.spent += time.thread_time() - worked
        if reason:
            status.failed += 1
            sim.go_to(before)
            self._judge_pursuit(reason)
            return False
        status.steps += 1
        self._tell()
        self._judge_pursuit('')
        return True

    def _judge_pursuit(self, failure: str) -> None:
        """End the trajectory if it is over, or cannot be followed."""
        taken, end = self._taken, None
        if taken is not None and self._pursuit is taken:
            end = taken.judge(self._sim, failure)
        if end is None:
            return
        with self._lock:
            if self._pursuit is taken:
                self._pursuit = None
                self._commands.update(end)

    def _take_commands(self) -> None:
        sim, pace, status = self._sim, self.pace, self.status
        self._hear()
        with self._lock:
            commands, self._commands = self._commands, {}
            pursuit, demonstration = self._pursuit, self._demonstration
        self._taken = pursuit
        self._show(demonstration)
        sim.commands.update(commands)
        if pursuit is not None:
            sim.commands.update(pursuit.commands(sim.time + self.step_size))
            status.commanded = time.monotonic()
        age = time.monotonic() - status.commanded if status.commanded else 0.0
        status.stale = 0.0 < pace.command_timeout < age
        if status.stale and pace.on_timeout == 'relax':
            sim.commands.update({name: sim.rest_command(name) for name in sim.commands})
        if self._base is not None:
            sim.drive_base(self._base(sim.time + self.step_size))

    def _show(self, demonstration: Optional[Demonstration]) -> None:
        """Command and load the robot as a demonstration does; take loads of an ended one away."""
        sim, time = self._sim, self._sim.time + self.step_size
        loads: Mapping[str, Load] = {}
        if demonstration is not None:
            sim.commands.update(demonstration.commands(time))
            if demonstration.loads is not None:
                loads = demonstration.loads(time)
        if loads or self._shown:
            others = {name: load for name, load in sim.named_loads.items()
                      if name not in self._shown}
            sim.set_loads({**others, **loads})
            self._shown = loads

    def _tell(self) -> None:
        self.instant = Instant(self.instant.number + 1, self._sim.snapshot(), self._stamp())
        self._on_instant()
