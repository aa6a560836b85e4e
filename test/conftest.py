"""What the tests share: a ROS domain of their own, and real processes that always end."""

from contextlib import contextmanager
import fcntl
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import threading

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOMAINS = range(10, 100)  # those whose ports stay below Linux' ephemeral ones
FUZZ = int(os.environ.get('COSSERAT_FUZZ', '1'))  # times as many examples as in `make test`

RUN_ONCE = {'test_recorder'}  # of the tests of nodes: what is lost now and then is lost


def is_current(script):
    """Raise unless a page of docs/ is as its script writes it."""
    checked = subprocess.run(
        [sys.executable, ROOT / 'docs' / script, '--check'], capture_output=True, text=True,
        check=False, timeout=100)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def pytest_collection_modifyitems(items):
    """Run what failed in test/nodes once more, and count it: other processes may be late."""
    for item in items:
        if item.path.parent.name == 'nodes' and item.path.stem not in RUN_ONCE:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope='session', autouse=True)
def ros_domain():
    """Take a ROS domain that no other test run on this machine has, and no other host sees."""
    taken = os.environ.get('ROS_DOMAIN_ID')
    for domain in DOMAINS:
        try:
            lock = (Path(tempfile.gettempdir()) / f'ros_test_domain_{domain}.lock').open('a')
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # taken, perhaps by another user
            continue
        if str(domain) != taken:
            break
    else:
        pytest.exit(f'all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are taken')
    os.environ['ROS_DOMAIN_ID'] = str(domain)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    yield domain
    lock.close()


class Running:
    """A process, its output as it comes, and its end."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **(env or {})}, start_new_session=True)
        self._lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.append(line)

    def output(self):
        """Return all that it printed so far."""
        return ''.join(self._lines)

    def wait(self, timeout=20.0):
        """Wait for it to end by itself; return its exit code."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def stop(self, number=signal.SIGINT, timeout=5.0):
        """Send a signal and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait(timeout)

    def kill(self):
        """End it and all that it started in its session."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


@contextmanager
def processes():
    """
    Give two functions that start processes, all of which end with the block.

    One starts a command, the other a node of the package as ``ros2 run`` does.
    """
    running = []

    def start_command(*command, env=None):
        running.append(Running([str(word) for word in command], env))
        return running[-1]

    def start_node_of_ours(node, *ros_arguments, env=None, **parameters):
        given = [word for name, value in parameters.items() for word in ('-p', f'{name}:={value}')]
        from ament_index_python.packages import get_package_prefix
        executable = Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros' / node
        return start_command(executable, '--ros-args', *ros_arguments, *given, env=env)

    try:
        yield start_command, start_node_of_ours
    finally:
        for process in running:
            process.kill()


@pytest.fixture
def start():
    """Return a function that starts a command as a process; all end with the test."""
    with processes() as (start_command, _):
        yield start_command


@pytest.fixture
def start_node():
    """Return a function that starts a node of the package; all end with the test."""
    with processes() as (_, start_node_of_ours):
        yield start_node_of_ours
