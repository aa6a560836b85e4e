"""
The simulator node under load, with the tendon arm.

    environment/enter python benchmarks/node.py [seconds] [most arms]

What it takes to publish all topics of an instant, each with a listener; how much of a core the
node takes at 60 steps and frames per second with one listener to /tf. Then 1000 steps and joint
states per second, with frames at 60, both listened to, for that long (600 s if not said): periods
given up and steps that began late, memory at the start, in the middle and at the end, and how long
it takes from a command that is sent to the joint state that has it. Then more and more arms side
by side at 60 steps, joint states and frames per second, for ten seconds each, until one falls
behind real time. What has no listener is not published, so that each topic named here has one, in
another process; that of many arms does not take what has come to it, so as to leave the cores to
them.
"""

from __future__ import annotations

import os
from pathlib import Path
import signal
import struct
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
from tf2_msgs.msg import TFMessage

from cosserat_ros.nodes.common.qos import TF_QOS
from cosserat_ros.nodes.simulator import Simulator

SIMULATOR = Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros' / 'simulator'
PERIOD = 0.1   # [s] between commands
GIVEN_UP = 1.0  # [s] after which a command counts as lost
REAL_TIME = 0.98  # factor that counts as real time


def start(namespace: str, step_rate: float, joint_state_rate: float = 500.0) -> subprocess.Popen:
    """Start a simulator."""
    return subprocess.Popen([
        str(SIMULATOR), '--ros-args', '-r', f'__ns:=/{namespace}', '-p', f'step_rate:={step_rate}',
        '-p', f'joint_state_rate:={joint_state_rate}', '-p', f'frame_prefix:={namespace}/',
        '--log-level', 'warn'])


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
        self.ears = rclpy.create_node('ears')  # nobody takes what it hears
        self.values: dict[str, dict[str, str]] = {}
        self.delays: list[float] = []
        self.lost = self.states = self.frames = 0
        self._sent: tuple[float, float] | None = None
        self._rng = np.random.default_rng(1)
        self.node.create_subscription(
            DiagnosticArray, '/diagnostics', self._hear, QoSProfile(depth=100))

    def see_frames(self) -> None:
        """Listen to the frames of all arms from now on, and count the messages."""
        self.node.create_subscription(TFMessage, '/tf', self._see, TF_QOS, raw=True)

    def _see(self, _: bytes) -> None:
        self.frames += 1

    def hear(self, namespace: str) -> None:
        """Have joint states of an arm published."""
        self.ears.create_subscription(
            JointState, f'/{namespace}/joint_states', lambda _: None, qos_profile_sensor_data)

    def drive(self, namespace: str) -> None:
        """Send a command now and then, and wait for the joint state that has it."""
        self._publisher = self.node.create_publisher(
            Float64MultiArray, f'/{namespace}/simulator/commands', 1)
        self.node.create_subscription(  # bytes: a thousand messages per second are not decoded
            JointState, f'/{namespace}/joint_states', self._arrive, qos_profile_sensor_data,
            raw=True)
        self.node.create_timer(PERIOD, self._send)

    def _send(self) -> None:
        if self._sent is not None and time.perf_counter() - self._sent[1] > GIVEN_UP:
            self.lost, self._sent = self.lost + 1, None
        if self._sent is None:
            value = float(self._rng.uniform(0.0, 1.0))
            self._sent = value, time.perf_counter()
            self._publisher.publish(Float64MultiArray(data=[value, 0.0, 0.0, 0.0]))

    def _arrive(self, message: bytes) -> None:
        self.states += 1
        if self._sent is not None and struct.pack('<d', self._sent[0]) in message:
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


def one_instant(watch: Watch) -> None:
    """Print how long it takes to publish all topics of an instant that all are listened to."""
    node = Simulator()
    node.start()
    publisher, stepper = node._publisher, node._stepper
    assert stepper is not None
    stepper.stop()
    node._publishing.stop()
    topics = {name: topic for name, topic in publisher._topics.items() if 'static' not in name}
    heard = [watch.ears.create_subscription(
        topic.msg_type, topic.topic_name, lambda _: None, TF_QOS) for topic in topics.values()]
    while not all(publisher._heard(name) for name in topics):
        time.sleep(0.01)
    spent = []
    for k in range(1, 501):
        begun = time.perf_counter()
        publisher.publish(stepper.instant.snapshot, stepper.instant.stamp + k)
        publisher.publish_joints(stepper.instant.snapshot, stepper.instant.stamp + k)
        spent.append(time.perf_counter() - begun)
    print(f'all topics of an instant: {1e3 * np.median(spent):.2f} ms in the median')
    for subscription in heard:
        watch.ears.destroy_subscription(subscription)
    node.close()
    node.destroy_node()


def processor_time(process: subprocess.Popen) -> float:
    """Return what a process has had of the processor [s]."""
    numbers = Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf('SC_CLK_TCK')


def share_of_a_core(watch: Watch, seconds: float = 20.0) -> None:
    """Print how much of a core an arm takes at 60 Hz with one listener."""
    process = start('arm', 60.0)
    try:
        watch.wait(1)
        watch.spin(5.0)
        before, begun, seen = processor_time(process), time.monotonic(), watch.frames
        watch.spin(seconds)
        passed = time.monotonic() - begun
        share = (processor_time(process) - before) / passed
        print(f'60 steps per second, /tf heard {(watch.frames - seen) / passed:.1f} times per '
              f'second: {100.0 * share:.1f} % of a core', flush=True)
    finally:
        stop([process])


def one_arm(watch: Watch, seconds: float) -> None:
    """Print how one arm does at 1000 steps and joint states per second."""
    process = start('arm', 1000.0, 1000.0)
    try:
        watch.drive('arm')
        watch.wait(1)
        watch.spin(5.0)
        watch.delays.clear()
        watch.lost, watch.states, seen = 0, 0, watch.frames
        used, first, begun = [memory(process)], watch.of('arm'), time.monotonic()
        for _ in range(2):
            watch.spin(0.5 * seconds)
            used.append(memory(process))
        last, passed = watch.of('arm'), time.monotonic() - begun
        counts = {key: int(last[key]) - int(first[key])
                  for key in ('steps', 'late steps', 'overruns', 'failed steps')}
        delays = 1e3 * np.array(watch.delays)
        print(f'{counts["steps"]} steps in {seconds:g} s: {counts["overruns"]} periods given up '
              f'({100.0 * counts["overruns"] / counts["steps"]:.3f} %), '
              f'{counts["late steps"]} began late '
              f'({100.0 * counts["late steps"] / counts["steps"]:.3f} %), '
              f'{counts["failed steps"]} failed')
        print(f'heard per second: {watch.states / passed:.1f} joint states, '
              f'{(watch.frames - seen) / passed:.1f} /tf')
        print(f'memory: {used[0]:.1f} MB at the start, {used[1]:.1f} in the middle, '
              f'{used[2]:.1f} at the end')
        print(f'command to joint state, {delays.size} times: {np.median(delays):.2f} ms in the '
              f'median, {np.percentile(delays, 99.9):.2f} ms in 99.9 %, {watch.lost} lost')
    finally:
        stop([process])


def many_arms(watch: Watch, most: int) -> None:
    """Print how many arms keep up with real time at 60 steps, joint states and frames per s."""
    processes: list[subprocess.Popen] = []
    try:
        for count in range(1, most + 1):
            processes.append(start(f'arm_{count}', 60.0, 60.0))
            watch.hear(f'arm_{count}')
            watch.wait(count)
            watch.spin(2.0)
            begun, seen = time.monotonic(), watch.frames
            names = [f'arm_{k}' for k in range(1, count + 1)]
            first = {name: dict(watch.of(name)) for name in names}
            watch.spin(10.0)
            passed = time.monotonic() - begun
            slowest = min(
                (int(watch.of(name)['steps']) - int(first[name]['steps'])) / 60.0 / passed
                for name in names)
            given_up = sum(int(watch.of(n)['overruns']) - int(first[n]['overruns']) for n in names)
            print(f'{count} arms at 60 Hz on {os.cpu_count()} cores: slowest at {slowest:.3f} of '
                  f'real time, {given_up} periods given up, {(watch.frames - seen) / passed:.0f} '
                  '/tf per second', flush=True)
            if slowest < REAL_TIME - 1.0 / passed:
                break
    finally:
        stop(processes)


def main() -> None:
    """Run the benchmark."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    rclpy.init()
    watch = Watch()
    one_instant(watch)
    watch.see_frames()
    share_of_a_core(watch)
    one_arm(watch, seconds)
    many_arms(watch, most)
    watch.node.destroy_node()
    watch.ears.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
