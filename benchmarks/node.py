"""
The simulator node under load: 500 steps per second of the tendon arm, frames and markers at 60.

    environment/enter python benchmarks/node.py [seconds] [most arms]

First one arm for that long (600 s if not said): periods given up and steps that began late, memory
at the start and at the end, and how long it takes from a command that is sent to the joint state
that has it. Then more and more arms side by side at 60 steps per second, for ten seconds each,
until one falls behind real time.
"""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from ament_index_python.packages import get_package_prefix
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

SIMULATOR = Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros' / 'simulator'
PERIOD = 0.1   # [s] between commands
REAL_TIME = 0.98  # factor that counts as real time


def start(namespace: str, step_rate: float) -> subprocess.Popen:
    """Start a simulator."""
    return subprocess.Popen([
        str(SIMULATOR), '--ros-args', '-r', f'__ns:=/{namespace}', '-p', f'step_rate:={step_rate}',
        '-p', f'frame_prefix:={namespace}/', '--log-level', 'warn'])


def stop(processes: list[subprocess.Popen]) -> None:
    """End simulators."""
    for process in processes:
        process.send_signal(signal.SIGINT)
    for process in processes:
        process.wait(10.0)


def memory(process: subprocess.Popen) -> float:
    """Return what a process has of memory [MB]."""
    status = Path(f'/proc/{process.pid}/status').read_text()
    return int(status.split('VmRSS:')[1].split()[0]) / 1024.0


class Watch:
    """One who drives an arm, and hears how all are doing."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('watch')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.values: dict[str, dict[str, str]] = {}
        self.delays: list[float] = []
        self._sent: tuple[float, float] | None = None
        self._rng = np.random.default_rng(1)
        self.node.create_subscription(
            DiagnosticArray, '/diagnostics', self._hear, QoSProfile(depth=100))

    def drive(self, namespace: str) -> None:
        """Send a command now and then, and wait for the joint state that has it."""
        self._publisher = self.node.create_publisher(
            Float64MultiArray, f'/{namespace}/simulator/commands', 1)
        self.node.create_subscription(
            JointState, f'/{namespace}/joint_states', self._arrive, qos_profile_sensor_data)
        self.node.create_timer(PERIOD, self._send)

    def _send(self) -> None:
        if self._sent is None:
            value = float(self._rng.uniform(0.0, 1.0))
            self._sent = value, time.perf_counter()
            self._publisher.publish(Float64MultiArray(data=[value, 0.0, 0.0, 0.0]))

    def _arrive(self, message: JointState) -> None:
        if self._sent is not None and message.effort[0] == self._sent[0]:
            self.delays.append(time.perf_counter() - self._sent[1])
            self._sent = None

    def _hear(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.values[status.name] = {v.key: v.value for v in status.values}

    def spin(self, seconds: float) -> None:
        """Listen for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.05)

    def wait(self, arms: int) -> None:
        """Listen until as many arms tell how they are."""
        self.values.clear()
        end = time.monotonic() + 60.0
        while len(self.values) < arms and time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.05)

    def of(self, namespace: str) -> dict[str, Any]:
        """Return the newest diagnostics of an arm."""
        return self.values[f'/{namespace}/simulator: simulation']


def one_arm(watch: Watch, seconds: float) -> None:
    """Print how one arm does at 500 steps per second."""
    process = start('arm', 500.0)
    try:
        watch.drive('arm')
        watch.wait(1)
        watch.spin(5.0)
        watch.delays.clear()
        before, first = memory(process), watch.of('arm')
        watch.spin(seconds)
        after, last = memory(process), watch.of('arm')
        counts = {key: int(last[key]) - int(first[key])
                  for key in ('steps', 'late steps', 'overruns', 'failed steps')}
        delays = 1e3 * np.array(watch.delays)
        print(f'{counts["steps"]} steps in {seconds:g} s: {counts["overruns"]} periods given up '
              f'({100.0 * counts["overruns"] / counts["steps"]:.3f} %), '
              f'{counts["late steps"]} began late '
              f'({100.0 * counts["late steps"] / counts["steps"]:.2f} %), '
              f'{counts["failed steps"]} failed')
        print(f'memory: {before:.1f} MB at the start, {after - before:+.1f} MB at the end')
        print(f'command to joint state, {delays.size} times: {np.median(delays):.2f} ms in the '
              f'median, {np.percentile(delays, 99.9):.2f} ms in 99.9 %')
    finally:
        stop([process])


def many_arms(watch: Watch, most: int) -> None:
    """Print how many arms keep up with real time at 60 steps per second."""
    processes: list[subprocess.Popen] = []
    try:
        for count in range(1, most + 1):
            processes.append(start(f'arm_{count}', 60.0))
            watch.wait(count)
            watch.spin(2.0)
            begun = time.monotonic()
            names = [f'arm_{k}' for k in range(1, count + 1)]
            first = {name: dict(watch.of(name)) for name in names}
            watch.spin(10.0)
            passed = time.monotonic() - begun
            slowest = min(
                (int(watch.of(name)['steps']) - int(first[name]['steps'])) / 60.0 / passed
                for name in names)
            given_up = sum(int(watch.of(n)['overruns']) - int(first[n]['overruns']) for n in names)
            print(f'{count} arms at 60 Hz on {os.cpu_count()} cores: slowest at {slowest:.3f} of '
                  f'real time, {given_up} periods given up', flush=True)
            if slowest < REAL_TIME - 1.0 / passed:
                break
    finally:
        stop(processes)


def main() -> None:
    """Run the benchmark."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    rclpy.init()
    watch = Watch()
    one_arm(watch, seconds)
    many_arms(watch, most)
    watch.node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
