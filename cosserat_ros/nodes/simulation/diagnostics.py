"""How a simulation is doing, once per second, on /diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
import time
from typing import Optional

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile

from ..common.conversions import time_message
from ..common.process import namesakes
from ..common.threads import Loop
from .base_motion import BaseMotion
from .commands import CommandTopics
from .stepping import Stepper

RATE = 1.0  # [Hz]
REMINDER = 60.0  # [s] between log messages that tell that real time is not kept
MOST_OF_A_PERIOD = 0.7  # that steps take, from which they are why real time is not kept


class Diagnostics:
    """
    Publishes the state of a simulation.

    Parameters
    ----------
    node : LifecycleNode
    hardware_id : str
        Name of the robot.
    stepper : Stepper
    commands : CommandTopics
    loops : sequence of Loop
        Threads of the node.
    base : BaseMotion, optional
        What moves the base, if it is driven.

    """

    def __init__(
        self, node: LifecycleNode, hardware_id: str, stepper: Stepper, commands: CommandTopics,
        loops: Sequence[Loop], base: Optional[BaseMotion] = None,
    ) -> None:
        self._node, self._stepper, self._commands = node, stepper, commands
        self._base = base
        self._hardware_id, self._loops = hardware_id, loops
        self._publisher = node.create_lifecycle_publisher(
            DiagnosticArray, '/diagnostics', QoSProfile(depth=10))
        self._before = time.monotonic(), stepper.instant.snapshot.time
        self._counts = (0, 0, 0)
        self._spent, self._reminded = (0, 0.0), -REMINDER
        self._steps, self._clock, self._failures = 0, 0, [0] * len(loops)

    def withdraw(self) -> None:
        """Take the topic back."""
        self._node.destroy_lifecycle_publisher(self._publisher)

    def publish(self) -> None:
        """Publish what happened since the last time; raise if a thread of the node died."""
        message = DiagnosticArray(status=[self._status()])
        message.header.stamp = time_message(self._stepper.stamp())
        self._publisher.publish(message)
        for loop in self._loops:
            loop.check()

    def _standstill(self, now: float) -> str:
        """Say why the simulation does not move, or hardly; nothing if it does, or is paused."""
        stepper, status = self._stepper, self._stepper.status
        moved, self._steps = status.steps != self._steps, status.steps
        clock = self._node.get_clock().now().nanoseconds
        ticked, self._clock = clock != self._clock, clock
        period, busy = stepper.period, status.doing
        if busy and not moved and now - status.since > 1.0 / RATE:
            return f'{busy} has taken {now - status.since:.1f} s so far'
        if stepper.paused:
            return ''
        if stepper.follows and not ticked:
            return ('use_sim_time is set, but /clock ' + (
                f'stands still at {1e-9 * clock:.3f} s' if clock else 'does not come'))
        if period > 1.0 / RATE:
            return (f'there is one step every {period:.3g} s: time_scale is '
                    f'{stepper.pace.time_scale:g}, a step {stepper.step_size:.3g} s')
        if not moved and now - status.moved > max(1.0 / RATE, 2.0 * period):
            return f'there was no step for {now - status.moved:.1f} s'
        return ''

    def _warn_of_slowness(self, now: float, factor: float) -> None:
        """Log that real time is not kept, and why; once, then rarely."""
        if now - self._reminded < REMINDER:
            return
        self._reminded = now
        stepper, status, (steps, spent) = self._stepper, self._stepper.status, self._spent
        self._node.get_logger().warning(slowness(
            factor, stepper.pace.time_scale, stepper.period, status.steps + status.failed - steps,
            status.spent - spent))

    def _failed_threads(self) -> list[str]:
        """Say which threads died, or failed since the last time, and why."""
        failures = [loop.failures for loop in self._loops]
        failed = [loop.death or f'{loop.name} failed: {loop.failure}'
                  for loop, count, before in zip(self._loops, failures, self._failures)
                  if loop.death or count != before]
        self._failures = failures
        return failed

    def _status(self) -> DiagnosticStatus:
        stepper, status, rejected = self._stepper, self._stepper.status, self._commands.rejected
        now, simulated = time.monotonic(), stepper.instant.snapshot.time
        before, simulated_before = self._before
        factor = (simulated - simulated_before) / max(now - before, 1e-9)
        self._before = now, simulated
        overruns, failed, turned_away = (
            now - before for now, before in zip(
                (status.overruns, status.failed, rejected.count), self._counts))
        self._counts = status.overruns, status.failed, rejected.count
        if overruns:
            self._warn_of_slowness(now, factor)
        self._spent = status.steps + status.failed, status.spent
        level, words = DiagnosticStatus.OK, 'paused' if stepper.paused else 'running'
        if stepper.demonstrates and not stepper.paused:
            words = 'running; moves by itself until you command it'
        standstill, same = self._standstill(now), namesakes(self._node)
        base = self._base.warning() if self._base is not None else ''
        for happened, text in (  # the last that did is said
            (same, f'other nodes have the same name: {same}'),
            (overruns, f'{overruns} steps behind real time were given up'),
            (turned_away, f'rejected {rejected.last}'),
            (status.stale, 'the last command is older than command_timeout'),
            (base, base),
            (standstill, standstill),
            (status.warning, status.warning),
        ):
            if happened:
                level, words = DiagnosticStatus.WARN, text
        if failed:
            level, words = DiagnosticStatus.WARN, f'{failed} steps failed, and were tried again'
        if status.failure:
            level, words = DiagnosticStatus.ERROR, f'a step failed: {status.failure}'
        if status.warning or status.failure:
            self._node.get_logger().warning(words)
        for text in self._failed_threads():
            level, words = DiagnosticStatus.ERROR, text
        age = f'{now - status.commanded:.3f}' if status.commanded else 'never commanded'
        values = {
            'residual': f'{status.residual:.3g}', 'iterations': status.iterations,
            'real-time factor': f'{factor:.3f}', 'steps': status.steps,
            'late steps': status.late, 'overruns': status.overruns,
            'failed steps': status.failed, 'slowest step [s]': f'{status.slowest:.6f}',
            'command age [s]': age,
            'rejected commands': rejected.count, 'last rejection': rejected.last,
            'moves by itself': stepper.demonstrates,
            'simulated time [s]': f'{simulated:.6f}', 'paused': stepper.paused,
        }
        if self._base is not None:
            values.update(self._base.status())
        status.slowest = 0.0
        return DiagnosticStatus(
            level=level, name=f'{self._node.get_fully_qualified_name()}: simulation',
            message=words, hardware_id=self._hardware_id,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])


def slowness(factor: float, wanted: float, period: float, steps: int, spent: float) -> str:
    """
    Say that the simulation is too slow, and the likely reason.

    Parameters
    ----------
    factor, wanted : float
        Simulated time per time that passed: as it is, and as it should be [-].
    period : float
        Time that there is for a step [s].
    steps, spent : int and float
        Steps that were tried, and the processor time that they took together [s].

    """
    mean = spent / max(steps, 1)
    told = (f'cannot keep real time: {factor:.2f} of {wanted:g} s simulated per second; a step '
            f'takes {1e3 * mean:.3g} ms of processor time, and there are {1e3 * period:.3g} ms '
            'for it')
    if mean > MOST_OF_A_PERIOD * period:
        return (f'{told}. The robot is too slow for this rate: lower step_rate or time_scale, or '
                'use fewer modes, elements or contacts')
    return (f'{told}. Other programs, or the publishing of many frames, use the processor: '
            'close some, or lower publish_rate, joint_state_rate or stations')
