"""
Start a robot and its viewer as ROS 2 processes, and stop them together.

What `ros2 launch` does where there is one. Run by `make demo`.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
from pathlib import Path
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Optional, TextIO

from ament_index_python.packages import get_package_prefix

HOST = '127.0.0.1'
FIRST_PORT = 8080
START_TIMEOUT = 60.0  # [s] until the page must be there
STOP_TIMEOUT = 5.0  # [s] between asking a node to stop and making it
PR_SET_PDEATHSIG = 1


class Stop(Exception):
    """A signal asked us to stop."""


_heard: list[object] = []


def stop(*signal_and_frame: object) -> None:
    """Handle a signal; the second, which make passes on, must not disturb how the first ends."""
    first = not _heard
    _heard.append(signal_and_frame)
    if first:
        raise Stop


def positive(text: str) -> float:
    """Return a duration given on the command line."""
    value = float(text)
    if not 0.0 < value < float('inf'):
        raise argparse.ArgumentTypeError(f'must be a number of seconds > 0, got {text}')
    return value


def port_number(text: str) -> int:
    """Return a port given on the command line."""
    value = int(text)
    if not 1 <= value <= 65535:
        raise argparse.ArgumentTypeError(f'must be a port from 1 to 65535, got {text}')
    return value


def namespace_name(text: str) -> str:
    """Return a namespace given on the command line."""
    value = text.strip('/')
    if not re.fullmatch(r'([A-Za-z]\w*(/[A-Za-z]\w*)*)?', value, re.ASCII):
        raise argparse.ArgumentTypeError(
            f'must be letters, digits and underscores, as left or lab/left, got {text}')
    return value


def is_free(port: int) -> bool:
    """Tell whether a server could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def reserve(port: int) -> Optional[TextIO]:
    """Take a port that no other demo has taken; hold what is returned to keep it."""
    lock = (Path(tempfile.gettempdir()) / f'cosserat_ros_{os.getuid()}_{port}.lock').open('w')
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    if not is_free(port):
        lock.close()
        return None
    return lock


def answers(port: int) -> bool:
    """Tell whether a server listens there."""
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex((HOST, port)) == 0


def start(node: str, namespace: str, *words: str, **parameters: object) -> subprocess.Popen:
    """Start a node of the package in a namespace, with ROS arguments and parameters."""
    executable = Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros' / node
    given = [word for name, value in parameters.items() for word in ('-p', f'{name}:={value}')]
    libc = ctypes.CDLL(None)
    return subprocess.Popen(
        [str(executable), '--ros-args', '-r', f'__ns:=/{namespace}', *words, *given],
        start_new_session=True,  # Ctrl-C reaches us alone, and we stop the nodes in good order
        # and they stop even if we are killed; we have no threads, so that this is safe
        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))  # noqa: PLW1509


def look_at(robot: str) -> tuple[str, bool]:
    """Return what is wrong with a robot, or nothing, and whether it can move by itself."""
    # Imported while the nodes start, which do the same: the library takes seconds to load.
    from cosserat_ros.checks.errors import CosseratError
    from cosserat_ros.description.robot import load
    from cosserat_ros.nodes.simulator import find_robot
    from cosserat_ros.simulation.demonstration import moves
    try:
        return '', moves(load(find_robot(robot)))
    except (CosseratError, OSError) as error:
        return str(error), False


def stop_all(processes: list[subprocess.Popen]) -> None:
    """Ask all to stop, then make them."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + STOP_TIMEOUT
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def watch(processes: list[subprocess.Popen], port: int, duration: float, moves: bool) -> int:
    """Say where the page is as soon as it is there; return when one ends or the time is over."""
    end, shown = time.monotonic() + START_TIMEOUT, False
    while all(process.poll() is None for process in processes):
        if not shown and answers(port):
            end, shown = time.monotonic() + duration, True
            print(f'\n  Open http://{HOST}:{port} in a browser. Ctrl-C stops it.\n'
                  + '  The robot moves by itself until you command it.\n' * moves, flush=True)
        if time.monotonic() > end:
            if not shown:
                print(f'The viewer did not start within {START_TIMEOUT:g} s.', file=sys.stderr)
            return 0 if shown else 1
        time.sleep(0.05)
    return next(process.returncode for process in processes if process.poll() is not None) or 1


def main() -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robot', required=True, help='name in config/, or path of a YAML file')
    parser.add_argument('--duration', type=positive, default=float('inf'), help='[s]')
    parser.add_argument('--port', type=port_number, help='of the page; the first free one from '
                        f'{FIRST_PORT} if not given')
    parser.add_argument('--namespace', type=namespace_name, default='',
                        help='of the robot, whose frames begin with it')
    arguments = parser.parse_args()
    if not arguments.robot:
        parser.error('ROBOT must be a name in config/ or the path of a YAML file, got nothing')
    wanted = [arguments.port] if arguments.port else range(FIRST_PORT, 65536)
    port, reserved = next(((p, lock) for p in wanted if (lock := reserve(p))), (None, None))
    if port is None:
        print(f'PORT={arguments.port} is in use on {HOST}: choose another, or none for the first '
              f'free one from {FIRST_PORT}.', file=sys.stderr)
        return 1
    # Nodes of other machines are no part of a demo, unless somebody says so.
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    processes: list[subprocess.Popen] = []
    try:
        print(f'Starting {arguments.robot} and its viewer ...', flush=True)
        prefix = f'{arguments.namespace}/' if arguments.namespace else "''"
        processes.append(start(
            'simulator', arguments.namespace, robot=arguments.robot, demonstrate='true',
            frame_prefix=prefix))
        processes.append(start(  # whose address is told below, if all is well
            'viewer', arguments.namespace, '--log-level', 'viewer:=warn', host=HOST, port=port))
        reason, moves = look_at(arguments.robot)
        if reason:
            print(f'ROBOT={arguments.robot}: {reason}', file=sys.stderr)
            return 1
        return watch(processes, port, arguments.duration, moves)
    except Stop:
        return 0
    finally:
        _heard.append('the end')  # a first signal from now on must not disturb it either
        stop_all(processes)
        if reserved:
            reserved.close()


if __name__ == '__main__':
    sys.exit(main())
