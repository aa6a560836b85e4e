"""How a simulation is doing, once per second, on /diagnostics."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile

from .commands import CommandTopics
from .stepping import Stepper

RATE = 1.0  # [Hz]


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

    """

    def __init__(
        self, node: LifecycleNode, hardware_id: str, stepper: Stepper, commands: CommandTopics,
    ) -> None:
        self._node, self._stepper, self._commands = node, stepper, commands
        self._hardware_id = hardware_id
        self._publisher = node.create_lifecycle_publisher(
            DiagnosticArray, '/diagnostics', QoSProfile(depth=10))
        self._before = time.monotonic(), stepper.instant.snapshot.time
        self._counts = (0, 0, 0)

    def withdraw(self) -> None:
        """Take the topic back."""
        self._node.destroy_lifecycle_publisher(self._publisher)

    def publish(self) -> None:
        """Publish what happened since the last time."""
        message = DiagnosticArray(status=[self._status()])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _status(self) -> DiagnosticStatus:
        stepper, status, refused = self._stepper, self._stepper.status, self._commands.refused
        now, simulated = time.monotonic(), stepper.instant.snapshot.time
        before, simulated_before = self._before
        factor = (simulated - simulated_before) / max(now - before, 1e-9)
        self._before = now, simulated
        overruns, failed, rejected = (
            now - before for now, before in zip(
                (status.overruns, status.failed, refused.count), self._counts))
        self._counts = status.overruns, status.failed, refused.count
        level, words = DiagnosticStatus.OK, 'paused' if stepper.paused else 'running'
        for happened, text in (
            (rejected, f'refused {refused.last}'),
            (status.stale, 'the last command is older than command_timeout'),
            (overruns, f'{overruns} steps behind real time were given up'),
        ):
            if happened:
                level, words = DiagnosticStatus.WARN, text
        if failed and status.failure:
            level, words = DiagnosticStatus.ERROR, f'a step failed: {status.failure}'
        age = now - status.commanded if status.commanded else float('nan')
        values = {
            'residual': f'{status.residual:.3g}', 'iterations': status.iterations,
            'real-time factor': f'{factor:.3f}', 'steps': status.steps,
            'late steps': status.late, 'overruns': status.overruns,
            'failed steps': status.failed, 'slowest step [s]': f'{status.slowest:.6f}',
            'command age [s]': 'never commanded' if age != age else f'{age:.3f}',
            'rejected commands': refused.count, 'last rejection': refused.last,
            'simulated time [s]': f'{simulated:.6f}', 'paused': stepper.paused,
        }
        status.slowest = 0.0
        return DiagnosticStatus(
            level=level, name=f'{self._node.get_fully_qualified_name()}: simulation',
            message=words, hardware_id=self._hardware_id,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])
