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

from ...checks.errors import CosseratError
from ...simulation.simulator import Simulator, Snapshot
from ..common.threads import carry_out, Loop
from .trajectory import Trajectory

CATCH_UP = 0.1  # [s] of lateness that is made up for
CATCH_UP_WITH_CLOCK = 5.0  # [s] the same where another's clock is followed: it may jump
BEHIND = 5      # steps of lateness that are made up for, where they are longer
PATIENCE = 0.05  # [s] at most until another's clock is looked at
BREATH = 1e-3   # [s] to rest, after ten times as long without any, as fast as possible
LAST_WORD = 2.0  # [s] that a step may take when it is told to end


class Interrupted(CosseratError):
    """Steps that were asked for were not all taken."""


class Instant(NamedTuple):
    """The robot after a step."""

    number: int          # of instants before it
    snapshot: Snapshot
    stamp: int           # [ns] of the node's clock, or simulated


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


class Schedule:
    """When steps are due: at whole periods, without drift."""

    def __init__(self, now: float) -> None:
        self.due = now

    def next(self, now: float, period: float, catch_up: float = CATCH_UP) -> int:
        """Set the next instant; return how many periods had to be given up."""
        self.due += period
        behind = now - self.due
        if behind <= max(catch_up, BEHIND * period):
            return 0
        self.due = now
        return int(behind / period) if period > 0.0 else 0

    def look(self, now: float, period: float) -> float:
        """Return how long to wait [s]; begin anew where time has gone back."""
        if self.due - now > 1.5 * period:
            self.due = now + period
        return self.due - now


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
        self._sim, self.step_size, self._clock, self._own_time = sim, step, clock, own_time
        self._on_instant = on_instant
        self.pace, self.status = Pace(), Status()
        self.paused = False
        self._lock = threading.Lock()
        self._commands: dict[str, float] = {}
        self._trajectory: Optional[tuple[float, Trajectory]] = None
        self._demonstration: Optional[Callable[[float], Mapping[str, float]]] = None
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
            self._trajectory = self._demonstration = None
        self.status.commanded = time.monotonic()

    def follow(self, trajectory: Trajectory, start: float) -> None:
        """Follow a trajectory, which replaces an earlier one, from a simulated time on [s]."""
        with self._lock:
            self._trajectory, self._demonstration = (start, trajectory), None
        self.status.commanded = time.monotonic()

    def demonstrate(self, commands: Optional[Callable[[float], Mapping[str, float]]]) -> None:
        """Command by a function of simulated time [s], until somebody else does; None ends it."""
        with self._lock:
            self._demonstration = commands

    @property
    def demonstrates(self) -> bool:
        """Whether the robot moves by itself."""
        return self._demonstration is not None

    def forget(self) -> None:
        """Drop commands that have not been taken over, and the trajectory."""
        with self._lock:
            self._commands, self._trajectory, self._demonstration = {}, None, None

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
                raise Interrupted(f'pause or reset was asked for, after {taken} of {steps} steps')
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
        return not self._own_time and getattr(self._clock, 'ros_time_is_active', False)

    @property
    def period(self) -> float:
        """Time from step to step; 0: as fast as possible [s]."""
        return self.step_size / self.pace.time_scale if self.pace.time_scale else 0.0

    def _now(self) -> float:
        return 1e-9 * self._clock.now().nanoseconds if self.follows else time.monotonic()

    def _stamp(self) -> int:
        if self._own_time:
            return round(1e9 * self._sim.time)
        return int(self._clock.now().nanoseconds)

    def stamp(self) -> int:
        """Return the stamp of the present instant, if it were published now [ns]."""
        return self.instant.stamp if self._own_time else int(self._clock.now().nanoseconds)

    def delay(self, stamp: int) -> float:
        """Return how much simulated time is left until a stamp of the node's clock [s]."""
        if self._own_time:
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
            return False
        status.steps += 1
        self._tell()
        return True

    def _take_commands(self) -> None:
        sim, pace, status = self._sim, self.pace, self.status
        with self._lock:
            commands, self._commands = self._commands, {}
            trajectory, demonstration = self._trajectory, self._demonstration
        if demonstration is not None:
            sim.commands.update(demonstration(sim.time + self.step_size))
        sim.commands.update(commands)
        if trajectory is not None:
            start, points = trajectory
            elapsed = sim.time + self.step_size - start
            sim.commands.update(points.at(elapsed))
            status.commanded = time.monotonic()
            if elapsed > points.end:
                with self._lock:
                    if self._trajectory is trajectory:
                        self._trajectory = None
        age = time.monotonic() - status.commanded if status.commanded else 0.0
        status.stale = 0.0 < pace.command_timeout < age
        if status.stale and pace.on_timeout == 'relax':
            sim.commands.update({name: sim.rest_command(name) for name in sim.commands})

    def _tell(self) -> None:
        self.instant = Instant(self.instant.number + 1, self._sim.snapshot(), self._stamp())
        self._on_instant()
