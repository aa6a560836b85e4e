"""
Ask a running simulator how to bring its tip somewhere.

``cosserat inverse-statics 0.05 0 0.22 --send``
"""

from __future__ import annotations

import math
from typing import Any, Optional

from rclpy.duration import Duration
from std_msgs.msg import Float64MultiArray

from ..msg import SolverStatus, Target
from ..srv import SolveInverseStatics
from .common.asking import (
    Client,
    finite,
    make_parser,
    NoAnswer,
    OneLineParser,
    PARTLY_MET,
    print_answer,
    run_client,
    tip_loads,
)
from .common.conversions import fill_quaternion, fill_xyz

ARRIVAL = 2.0  # [s] that a command may take to arrive


def make_request(given: Any) -> SolveInverseStatics.Request:
    """Return what the command line asks for."""
    target = Target(kind=Target.POSITION)
    fill_xyz(target.pose.position, (given.x, given.y, given.z))
    if given.orientation is not None:
        target.kind = Target.POSE
        fill_quaternion(target.pose.orientation, given.orientation)
    request = SolveInverseStatics.Request
    return request(
        targets=[target], loads=tip_loads(given.force), keep_present_loads=True,
        secondary_goal=request.NEAREST if given.nearest else request.LEAST_EFFORT,
        from_rest=given.from_rest)


def ask_inverse_statics(client: Client, given: Any) -> int:
    """Ask and print, and command the robot if so asked."""
    robot = client.robot()
    answer = client.ask(SolveInverseStatics, 'solve_inverse_statics', make_request(given))
    print_answer(robot, answer.status, answer.equilibrium, answer.actuation)
    met = answer.status.code == SolverStatus.CONVERGED
    if met:
        print('the target is met' + effort_words(answer))
    else:
        missing = f'{1e3 * answer.position_errors[0]:.3f} mm'
        if given.orientation is not None:
            missing += f' and {math.degrees(answer.orientation_errors[0]):.2f} deg'
        print(f'the target is missed by {missing}: {answer.status.message}')
    if given.send:
        print(send(client, [one.value for one in answer.actuation]))
    return 0 if met else PARTLY_MET


def effort_words(answer: Any) -> str:
    """Return what is known of the effort, after a comma; nothing if it was not sought."""
    if not answer.starts:
        return ''
    proven = 'proven to be' if answer.local_optimum else 'not proven to be'
    return (f', with an effort that is {proven} a local optimum; {answer.starts_agreed} of '
            f'{answer.starts} starts agree on it')


def send(client: Client, commands: list[float]) -> str:
    """Command the robot, and return the words for it; raise if nobody listens."""
    publisher = client.create_publisher(Float64MultiArray, f'{client.simulator}/commands', 10)
    if not client.wait_for(publisher.get_subscription_count, ARRIVAL):
        raise NoAnswer(f'nobody listens to {publisher.topic_name}: nothing was sent')
    publisher.publish(Float64MultiArray(data=commands))
    # One who was killed never acknowledges: after a while whoever is there has it all the same.
    publisher.wait_for_all_acked(Duration(seconds=ARRIVAL))
    return f'sent to {publisher.topic_name}'


def command_line() -> OneLineParser:
    """Return what may be given on the command line."""
    parser = make_parser(
        'inverse-statics', "Actuation that brings the tip of a running simulator's robot to a "
        'place, at rest. Without --send the robot does not move.')
    for axis in 'xyz':
        parser.add_argument(axis, type=finite, help='target of the tip in base_link [m]')
    parser.add_argument(
        '--orientation', nargs=4, type=finite, metavar=('QX', 'QY', 'QZ', 'QW'),
        help='target orientation of the tip, as a quaternion')
    parser.add_argument(
        '--nearest', action='store_true',
        help='of several solutions, the nearest to the present actuation, not the least effort')
    parser.add_argument('--send', action='store_true', help='send the solution as commands')
    return parser


def main(args: Optional[list[str]] = None) -> int:
    """Run the client."""
    return run_client('inverse_statics_client', command_line(), ask_inverse_statics, args)
