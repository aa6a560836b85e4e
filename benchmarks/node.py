"""
The simulator node under load, with the tendon arm.

    environment/enter python benchmarks/node.py [seconds] [most arms]

What it takes to publish all topics of an instant, each with a listener; how much of a core the
node takes at 60 steps and frames per second with one listener to /tf. Then 1000 steps and joint
states per second, with frames at 60, both listened to, for that long (600 s if not said): periods
given up and steps that began late, memory at the start, in the middle and at the end, and how long
it takes from a command that is sent to the joint state that has it. Beside it the same of a bare
loop in place of the simulator, which wakes 1000 times per second, takes the command and publishes
a joint state, and nothing else, for a minute at most: what machine, DDS and listener take by
themselves. Then more and more arms side by side at 60 steps, joint states and frames per second,
for ten seconds each, until one falls behind real time. What has no listener is not published, so
that each topic named here has one, in another process; that of many arms does not take what has
come to it, so as to leave the cores to them.

The listener waits and takes by rclpy's wait set, without its executor, and does not decode joint
states and frames: it costs about what a controller in C++ does. Commands are sent at random
times, so that they come at any time of a period.
"""

from __future__ import annotations

from collections.abc import Callable
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
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from cosserat_ros.nodes.common.qos import TF_QOS
from cosserat_ros.nodes.simulator import Simulator

SIMULATOR = Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros' / 'simulator'
PERIOD = 0.1   # [s] between commands, in the mean
GIVEN_UP = 1.0  # [s] after which a command counts as lost
REAL_TIME = 0.98  # factor that counts as real time
BETWEEN = 0.5   # [s] to the middle between two diagnostics
FAST = 1000.0  # steps and joint states per second [Hz]
BARE = 'bare'  # word on the command line: be the bare loop
BARE_SECONDS = 60.0  # that it is measured at most


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


class Ear:
    """Takes the messages of some topics, whose bytes it hands on: by a wait set, at low cost."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self._heard: list[tuple[Any, Callable[[Any], None]]] = []

    def listen(self, kind: type, topic: str, take: Callable[[Any], None], qos: Any,
               raw: bool = True) -> None:
        """Hear a topic from now on."""
        subscription = self.node.create_subscription(kind, topic, lambda _: None, qos, raw=raw)
        self._heard.append((subscription, take))
        self._waits = rcl.WaitSet(
            len(self._heard), 0, 0, 0, 0, 0, self.node.context.handle)

    def hear(self, seconds: float) -> None:
        """Take what is there; if there is nothing, wait for so long at most."""
        self._waits.clear_entities()
        for subscription, _ in self._heard:
            self._waits.add_subscription(subscription.handle)
        self._waits.wait(max(int(1e9 * seconds), 0))
        self.take()

    def take(self) -> None:
        """Take what is there."""
        for subscription, take in self._heard:
            while True:
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    break
                take(taken[0])


class Watch:
    """One who drives an arm, and hears how all are doing."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('watch')
        self._ear = Ear(self.node)
        self.ears = rclpy.create_node('ears')  # nobody takes what it hears
        self.values: dict[str, dict[str, str]] = {}
        self.delays: list[float] = []
        self.lost = self.states = self.frames = 0
        self._publisher: Any = None
        self._sent: tuple[bytes, float] | None = None
        self._next = 0.0  # when a command is to be sent [s]
        self._rng = np.random.default_rng(1)
        self._ear.listen(
            DiagnosticArray, '/diagnostics', self._hear, QoSProfile(depth=100), raw=False)

    def see_frames(self) -> None:
        """Listen to the frames of all arms from now on, and count the messages."""
        self._ear.listen(TFMessage, '/tf', self._see, TF_QOS)

    def _see(self, _: bytes) -> None:
        self.frames += 1

    def hear(self, namespace: str) -> None:
        """Have joint states of an arm published."""
        self.ears.create_subscription(
            JointState, f'/{namespace}/joint_states', lambda _: None, qos_profile_sensor_data)

    def drive(self, namespace: str) -> None:
        """Send commands to an arm now and then, and wait for the joint state that has each."""
        self._publisher = self.node.create_publisher(
            Float64MultiArray, f'/{namespace}/simulator/commands', 1)
        self._ear.listen(
            JointState, f'/{namespace}/joint_states', self._arrive, qos_profile_sensor_data)

    def rest(self) -> None:
        """Send no more commands."""
        self._publisher = None

    def begin(self) -> None:
        """Count from now on."""
        self.delays.clear()
        self.lost, self.states, self._sent = 0, 0, None

    def _send(self) -> None:
        now = time.perf_counter()
        self._next = now + PERIOD * self._rng.uniform(0.5, 1.5)
        if self._sent is not None and now - self._sent[1] > GIVEN_UP:
            self.lost, self._sent = self.lost + 1, None
        if self._sent is None:
            value = float(self._rng.uniform(0.0, 1.0))
            message = Float64MultiArray(data=[value, 0.0, 0.0, 0.0])
            self._sent = struct.pack('<d', value), time.perf_counter()
            self._publisher.publish(message)

    def _arrive(self, message: bytes) -> None:
        self.states += 1
        if self._sent is not None and self._sent[0] in message:
            self.delays.append(time.perf_counter() - self._sent[1])
            self._sent = None

    def _hear(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.values[status.name] = {v.key: v.value for v in status.values}

    def spin(self, seconds: float) -> None:
        """Listen for so long, and send commands."""
        end = time.perf_counter() + seconds
        while (now := time.perf_counter()) < end:
            if self._publisher is None:
                self._ear.hear(end - now)
                continue
            self._ear.hear(min(end, self._next) - now)
            if time.perf_counter() >= self._next:
                self._send()

    def wait(self, arms: int) -> None:
        """Listen until as many arms tell how they are."""
        self.values.clear()
        end = time.monotonic() + 60.0
        while len(self.values) < arms and time.monotonic() < end:
            self._ear.hear(0.05)

    def of(self, namespace: str) -> dict[str, Any]:
        """Return the newest diagnostics of an arm."""
        return self.values[f'/{namespace}/simulator: simulation']

    def response(self) -> str:
        """Say how long it took from commands to joint states."""
        delays = 1e3 * np.array(self.delays)
        return (f'command to joint state, {delays.size} times: {np.median(delays):.2f} ms in the '
                f'median, {np.percentile(delays, 99.9):.2f} ms in 99.9 %, {self.lost} lost')


def bare_loop() -> None:
    """Be a node that does as much as a simulator for who sends commands, but simulates nothing."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node, told = rclpy.create_node('simulator', namespace='bare'), []
    for number in (signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, lambda number, _: told.append(number))
    zeros = [0.0] * 4
    state = JointState(name=[f'tendon_{k}' for k in range(1, 5)], position=zeros,
                       velocity=zeros, effort=zeros)
    ear = Ear(node)
    publisher = node.create_publisher(JointState, 'joint_states', 10)

    def command(data: bytes) -> None:
        state.effort = list(struct.unpack('<4d', data[-32:]))  # what a message ends with

    ear.listen(Float64MultiArray, '~/commands', command, 10)
    due, steps, late = time.monotonic(), 0, 0
    while signal.SIGINT not in told:
        due += 1.0 / FAST
        while (left := due - time.monotonic()) > 0.0:
            time.sleep(left)
        if signal.SIGUSR1 in told:  # count from now on
            told.clear()
            steps = late = 0
        steps, late = steps + 1, late + (-left > 1.0 / FAST)
        ear.take()
        publisher.publish(serialize_message(state))
    print(steps, late)
    rclpy.try_shutdown()


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
    process = start('arm', FAST, FAST)
    try:
        watch.drive('arm')
        watch.wait(1)
        watch.spin(5.0 + BETWEEN)
        watch.begin()
        seen = watch.frames
        used, first, begun = [memory(process)], watch.of('arm'), time.monotonic()
        for _ in range(2):
            watch.spin(0.5 * seconds)
            used.append(memory(process))
        last, passed = watch.of('arm'), time.monotonic() - begun
        counts = {key: int(last[key]) - int(first[key])
                  for key in ('steps', 'late steps', 'overruns', 'failed steps')}
        print(f'{counts["steps"]} steps in {seconds:g} s: {counts["overruns"]} periods given up '
              f'({100.0 * counts["overruns"] / counts["steps"]:.3f} %), '
              f'{counts["late steps"]} began late '
              f'({100.0 * counts["late steps"] / counts["steps"]:.3f} %), '
              f'{counts["failed steps"]} failed')
        print(f'heard per second: {watch.states / passed:.1f} joint states, '
              f'{(watch.frames - seen) / passed:.1f} /tf')
        print(f'memory: {used[0]:.1f} MB at the start, {used[1]:.1f} in the middle, '
              f'{used[2]:.1f} at the end')
        print(watch.response(), flush=True)
    finally:
        watch.rest()
        stop([process])


def floor(watch: Watch, seconds: float) -> None:
    """Print how a bare loop does in place of a simulator."""
    process = subprocess.Popen([sys.executable, __file__, BARE], stdout=subprocess.PIPE, text=True)
    try:
        watch.drive('bare')
        watch.spin(5.0)
        process.send_signal(signal.SIGUSR1)
        watch.begin()
        watch.spin(seconds)
    finally:
        watch.rest()
        stop([process])
    assert process.stdout is not None
    steps, late = (int(word) for word in process.stdout.read().split())
    print(f'a bare loop in its place, {seconds:g} s: {100.0 * late / steps:.3f} % began late; '
          f'{watch.response()}', flush=True)


def many_arms(watch: Watch, most: int) -> None:
    """Print how many arms keep up with real time at 60 steps, joint states and frames per s."""
    processes: list[subprocess.Popen] = []
    try:
        for count in range(1, most + 1):
            processes.append(start(f'arm_{count}', 60.0, 60.0))
            watch.hear(f'arm_{count}')
            watch.wait(count)
            watch.spin(2.0 + BETWEEN)
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
    if BARE in sys.argv:
        bare_loop()
        return
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    rclpy.init()
    watch = Watch()
    one_instant(watch)
    watch.see_frames()
    share_of_a_core(watch)
    one_arm(watch, seconds)
    floor(watch, min(seconds, BARE_SECONDS))
    many_arms(watch, most)
    watch.node.destroy_node()
    watch.ears.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
