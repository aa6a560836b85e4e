"""
Ask a running simulator for a static equilibrium.

``cosserat statics tendon_1=3 tendon_2=1``
"""

from __future__ import annotations

from typing import Any, Optional

from ..srv import SolveStatics
from .common.asking import (
    actuator_command,
    actuator_value,
    Client,
    make_parser,
    OneLineParser,
    print_answer,
    run_client,
    tip_loads,
)


def ask_statics(client: Client, given: Any) -> int:
    """Ask and print."""
    robot = client.robot()
    actuation = [actuator_command(robot, told) for told in given.actuation]
    answer = client.ask(SolveStatics, 'solve_statics', SolveStatics.Request(
        actuation=actuation, loads=tip_loads(given.force), keep_present_loads=True,
        from_rest=given.from_rest))
    print_answer(robot, answer.status, answer.equilibrium, actuation)
    return 0


def command_line() -> OneLineParser:
    """Return what may be given on the command line."""
    parser = make_parser(
        'statics', "Static equilibrium of a running simulator's robot, which does not move.")
    parser.add_argument(
        'actuation', nargs='*', type=actuator_value, metavar='NAME=VALUE',
        help='command of an actuator, in its SI unit, or with a unit: '
             'tendon_1=3, tendon_1=3N, tendon_1=5mm, chamber_1=20kPa; all others '
             'keep their present command')
    return parser


def main(args: Optional[list[str]] = None) -> int:
    """Run the client."""
    return run_client('statics_client', command_line(), ask_statics, args)
