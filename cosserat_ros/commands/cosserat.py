"""
The command `cosserat`: all that this package does from a command line, as subcommands.

The same words in a ROS 2 workspace, in the environment of `make demo`, and after `pip install .`,
where those that talk to a running robot are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
import sys
from types import ModuleType
from typing import NamedTuple

from ..checks.errors import UnknownName


class Subcommand(NamedTuple):
    """Where a subcommand is, and what it does."""

    module: str    # in this package
    function: str  # takes the words after the subcommand; returns an exit code
    words: str     # what it does

    @property
    def needs_ros(self) -> bool:
        """Whether it talks to a running robot."""
        return self.module.startswith('nodes.')


SUBCOMMANDS = {
    'check': Subcommand('commands.check', 'main', 'check robot files'),
    'compare': Subcommand('commands.compare', 'main', 'compare a robot with recordings'),
    'calibrate': Subcommand('commands.calibrate', 'main', 'fit a robot to recordings'),
    'sweep': Subcommand('commands.sweep', 'main', 'run a study over parameters'),
    'urdf': Subcommand('commands.urdf', 'main', 'print a robot as URDF'),
    'simulate': Subcommand('nodes.simulator', 'main', 'start the simulator node'),
    'view': Subcommand('nodes.viewer', 'main', 'start the viewer node, a web page'),
    'follow': Subcommand('nodes.path_follower', 'main', 'move the tip along a path'),
    'comparator': Subcommand('nodes.comparator', 'main', 'compare with a real robot, live'),
    'record': Subcommand('nodes.recorder', 'main', 'record a robot into a bag'),
    'statics': Subcommand('nodes.statics', 'main', 'equilibrium of a running robot'),
    'inverse-statics': Subcommand(
        'nodes.inverse_statics', 'main', 'actuation that brings the tip to a place'),
    'topics': Subcommand('nodes.common.graph', 'topics', 'list topics'),
    'echo': Subcommand('nodes.common.graph', 'echo', 'print the messages of a topic'),
    'pub': Subcommand('nodes.common.graph', 'publish', 'publish on a topic'),
    'call': Subcommand('nodes.common.graph', 'call', 'call a service'),
    'params': Subcommand('nodes.common.graph', 'parameters', 'show or set parameters'),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the subcommand that is named first; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ('-h', '--help'):
        print(usage())
        return 0 if words else 2
    name, rest = words[0], words[1:]
    if name not in SUBCOMMANDS:
        error = UnknownName('subcommand', name, list(SUBCOMMANDS))
        print(f'cosserat: {error} (see cosserat --help)', file=sys.stderr)
        return 2
    chosen = SUBCOMMANDS[name]
    package = __package__.rpartition('.')[0]
    if chosen.needs_ros and not (find_spec('rclpy') and find_spec(f'{package}.msg')):
        print(f'cosserat: {name} talks to a running robot and needs ROS 2, which was not found: '
              'source a ROS 2 workspace, or .environment/setup.bash after make demo',
              file=sys.stderr)
        return 1
    module = import_module(f'{package}.{chosen.module}')
    if hasattr(module, 'PARAMETERS'):
        if not {'-h', '--help'}.isdisjoint(rest):
            print(node_usage(name, module))
            return 0
        if unknown := not_for_ros(rest):
            print(f'cosserat {name}: unknown argument {unknown[0]}; parameters are given as in '
                  f'cosserat {name} --ros-args -p {module.PARAMETERS[0].name}:=... (see --help)',
                  file=sys.stderr)
            return 2
    if chosen.needs_ros:  # whose command line begins with the program's name
        rest = [f'cosserat {name}', *rest]
    return getattr(module, chosen.function)(rest)


def not_for_ros(words: Sequence[str]) -> list[str]:
    """Return the words that are not between --ros-args and --, also old remap rules (a:=b)."""
    found, for_ros = [], False
    for word in words:
        if word in ('--ros-args', '--'):
            for_ros = word == '--ros-args'
        elif not for_ros:
            found.append(word)
    return found


def node_usage(name: str, module: ModuleType) -> str:
    """Return what --help prints of a subcommand that starts a node."""
    width = max(len(one.name) for one in module.PARAMETERS)
    return '\n'.join([
        f'usage: cosserat {name} [--ros-args -p PARAMETER:=VALUE ... -r __ns:=/NAMESPACE]', '',
        (module.__doc__ or '').strip().split('\n\n')[0], '', 'parameters:',
        *(f'  {one.name:{width}}  {one.description}' for one in module.PARAMETERS)])


def usage() -> str:
    """Return what --help prints."""
    width = max(map(len, SUBCOMMANDS))

    def lines(needs_ros: bool) -> list[str]:
        return [f'  {name:{width}}  {one.words}' for name, one in SUBCOMMANDS.items()
                if one.needs_ros == needs_ros]
    return '\n'.join([
        'usage: cosserat SUBCOMMAND ...', '', 'Simulation and control of continuum robots.', '',
        'without ROS:', *lines(False), '',
        'with ROS 2, for a running robot (options of nodes: --ros-args -p name:=value):',
        *lines(True), '', 'Help on a subcommand: cosserat SUBCOMMAND --help'])
