"""
The simulator node with each robot of config/, driven by random commands over DDS in real time.

    environment/enter python benchmarks/example_nodes.py [seconds] [names]

One node after the other, for a minute each if not said: 60 frames per second with a listener to
/tf and one to markers, and 30 messages of commands per second, anywhere within the limits; of
forces on the tip, where a robot has no actuators. A base that is driven is led by twists. Robots
whose gaits are too fast to be seen go in slow motion, as in their demonstration. Printed: steps,
those that began more than a period late, periods given up, steps that failed, and the factor of
real time.
"""

from __future__ import annotations

from pathlib import Path
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistStamped, WrenchStamped
from node import SIMULATOR
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from cosserat_ros.description.robot import load, Robot
from cosserat_ros.nodes.common.qos import TF_QOS
from cosserat_ros.simulation.demonstration import time_scale
from cosserat_ros.simulation.simulator import Simulator
from examples import base_twist, CONFIG, random_commands

RATE = 30.0     # [Hz] of commands
BASE_RATE = 50.0  # [Hz] of the base's twist
BASE = '/base_twist'
COUNTED = 'steps', 'late steps', 'overruns', 'failed steps'
PATIENCE = 60.0  # [s] until a node must be there


class Driver:
    """Sends random commands to a robot, and hears how its node does."""

    def __init__(self, robot: Robot) -> None:
        sim = Simulator(robot)
        self._commands = random_commands(
            robot, {name: sim.rest_command(name) for name in robot.actuators}, 0, jumps=False)
        self.values: dict[str, str] = {}
        self.node = rclpy.create_node('driver')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        make = self.node.create_publisher
        self._publisher = make(Float64MultiArray, '/simulator/commands', 1)
        self._forces = make(WrenchStamped, '/simulator/wrench', 1)
        self._base = make(TwistStamped, BASE, 1)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, 10)
        for kind, topic, quality in ((TFMessage, '/tf', TF_QOS),
                                     (MarkerArray, '/simulator/markers', QoSProfile(depth=10))):
            self.node.create_subscription(kind, topic, lambda _: None, quality, raw=True)
        self._begun = time.monotonic()
        self.node.create_timer(1.0 / RATE, self._send if robot.actuators else self._push)
        if robot.base.motion == 'driven':
            self.node.create_timer(1.0 / BASE_RATE, self._lead)

    def _told(self) -> list[float]:
        """Return what is told at random now."""
        return list(self._commands(time.monotonic() - self._begun).values())

    def _send(self) -> None:
        self._publisher.publish(Float64MultiArray(data=self._told()))

    def _push(self) -> None:
        message = WrenchStamped()
        message.header.frame_id = 'tip'
        force = message.wrench.force
        force.x, force.y, force.z = self._told()
        self._forces.publish(message)

    def _lead(self) -> None:
        message = TwistStamped()
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.header.frame_id = 'base_link'
        turn, go, *_ = base_twist(time.monotonic() - self._begun)
        angular, linear = message.twist.angular, message.twist.linear
        angular.x, angular.y, angular.z = turn.tolist()
        linear.x, linear.y, linear.z = go.tolist()
        self._base.publish(message)

    def _hear(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == '/simulator: simulation':
                self.values = {v.key: v.value for v in status.values}

    def spin(self, seconds: float) -> None:
        """Drive for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def counts(self) -> list[int]:
        """Return what is counted, of the newest diagnostics."""
        self.values = {}
        end = time.monotonic() + PATIENCE
        while not self.values and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)
        return [int(self.values[key]) for key in COUNTED]


def run(path: Path, seconds: float) -> None:
    """Print how the node of one robot does."""
    robot = load(path)
    scale = time_scale(robot)
    driver = Driver(robot)
    with subprocess.Popen([
            str(SIMULATOR), '--ros-args', '-p', f'robot:={path}', '-p', f'time_scale:={scale}',
            *(['-p', 'base_source:=twist', '-p', f'base_topic:={BASE}']
              if robot.base.motion == 'driven' else []),
            '--log-level', 'error']) as process:
        try:
            driver.counts()
            driver.spin(3.0)
            before, begun = driver.counts(), time.monotonic()
            driver.spin(seconds)
            after, passed = driver.counts(), time.monotonic() - begun
        finally:
            process.send_signal(signal.SIGINT)
    steps, late, given_up, failed = (b - a for a, b in zip(before, after))
    print(f'{path.stem:30} {scale:6.2f} {steps:8d} {late:6d} {given_up:9d} {failed:7d} '
          f'{steps * robot.time.step / scale / passed:10.3f}', flush=True)
    driver.node.destroy_node()


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    names = sys.argv[2:] or sorted(path.stem for path in CONFIG.glob('*.yaml'))
    rclpy.init()
    print(f'{"robot":30} {"scale":>6} {"steps":>8} {"late":>6} {"given up":>9} {"failed":>7} '
          f'{"real time":>10}')
    for name in names:
        run(CONFIG / f'{name}.yaml', seconds)
    rclpy.shutdown()


if __name__ == '__main__':
    main()
