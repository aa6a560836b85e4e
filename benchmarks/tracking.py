"""
How well the path follower leads a tip: RMS error in open and closed loop, per round.

Run it by hand, on a machine that has nothing else to do: ``environment/enter python
benchmarks/tracking.py``. Both nodes run as processes of their own, with a side load on the tip
that the open loop does not know of.
"""

from __future__ import annotations

import os
from pathlib import Path
import re
import subprocess
import sys
import time
from typing import Any

from ament_index_python.packages import get_package_prefix
import rclpy

from cosserat_ros.msg import Load
from cosserat_ros.srv import SetWrench

CASES = {  # parameters of the follower, and the load [N]
    'tendon_arm': (['period:=4.0'], 0.01),
    'fluidic_finger_three_chambers': (
        ['period:=4.0', 'axes:=xyz', 'centre_z:=0.105', 'lead:=0.05'], 0.03),
}
ROUNDS = 3


def start(name: str, *parameters: str) -> subprocess.Popen[str]:
    """Start a node."""
    folder = Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros'
    given = [word for parameter in parameters for word in ('-p', parameter)]
    return subprocess.Popen(
        [folder / name, '--ros-args', *given], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)


def push(force: float) -> None:
    """Load the tip of the robot."""
    node = rclpy.create_node('tracking')
    client: Any = node.create_client(SetWrench, '/simulator/set_wrench')
    client.wait_for_service(60.0)
    load = Load(name='push')
    load.wrench.force.x = force
    rclpy.spin_until_future_complete(node, client.call_async(SetWrench.Request(loads=[load])))
    node.destroy_node()


def errors(robot: str, gain: float) -> list[float]:
    """Return the RMS errors of rounds [mm]; the load comes when the path is known."""
    parameters, force = CASES[robot]
    with start('simulator', f'robot:={robot}') as simulator:
        with start('path_follower', *parameters, f'gain:={gain}') as follower:
            found: list[float] = []
            try:
                assert follower.stdout is not None
                for line in follower.stdout:
                    if 'within reach' in line:
                        time.sleep(2.0)
                        push(force)
                    match = re.search(r'round \d+: RMS error ([\d.]+) mm', line)
                    if match:
                        found.append(float(match[1]))
                    if len(found) == ROUNDS:
                        break
            finally:
                follower.terminate()
                simulator.terminate()
    return found


def main() -> int:
    """Print a table."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rclpy.init()
    print(f'{"robot":32}{"loop":8}' + ''.join(f'{f"round {i + 1}":>10}' for i in range(ROUNDS)))
    for robot in CASES:
        for loop, gain in (('open', 0.0), ('closed', 2.0)):
            row = ''.join(f'{x:10.2f}' for x in errors(robot, gain))
            print(f'{robot:32}{loop:8}{row}  mm')
    return 0


if __name__ == '__main__':
    sys.exit(main())
