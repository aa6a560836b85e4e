"""
The life of a node's process: start, spin, stop on a signal, say in one line what went wrong.

Here is also what all nodes share: they leave out a /clock that makes no sense, and say when there
is none to go by, or another node has their name.
"""

from __future__ import annotations

from collections.abc import Callable
import os
import signal
import sys
import traceback
from typing import Any, Optional

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.time_source import TimeSource
from rosgraph_msgs.msg import Clock as ClockMessage

from ...checks.errors import CosseratError
from .conversions import NANO

START_ERRORS = (CosseratError, NameValidationException, rcl.RCLError, rcl.UnknownROSArgsError)
PATIENCE = 0.2  # [s] at most until a signal is heeded
WATCH = 1.0     # [s] between looks for nodes of the same name
CLOCK_COMES = 5.0  # [s] within which there is a /clock, where one is needed


def run(make_node: Callable[[], Any], args: Optional[list[str]] = None) -> int:
    """
    Run a node until SIGINT or SIGTERM.

    Parameters
    ----------
    make_node : callable
        Makes the node, or raises `CosseratError`. The node's method ``start() -> bool`` begins
        its work, or logs why it cannot. If it has one, ``close() -> bool`` ends its threads, and
        tells whether they did.
    args : list of str, optional
        Command line; that of the process if not given.

    Returns
    -------
    int
        Exit code: 0 after a signal; 1 if the node rejected to start or could not go on, with the
        reason on stderr.

    """
    told_to_stop: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: told_to_stop.append(number))
    TimeSource.clock_callback = take_clock  # type: ignore[method-assign, assignment]
    node, code = None, 1
    try:
        # rclpy's own handlers would take the context away while the node is using it.
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = make_node()
        watch_for_namesakes(node)
        watch_for_clock(node)
        if node.start():
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            while not told_to_stop:
                executor.spin_once(timeout_sec=PATIENCE)
        code = 0 if told_to_stop else 1
    except START_ERRORS as error:
        reason = ' '.join(str(error).split())
        print(f'cosserat_ros: {reason}', file=sys.stderr)
    except Exception:
        traceback.print_exc()
    finally:
        if node is not None:
            if not getattr(node, 'close', lambda: True)():
                # A thread is in the middle of a solve: Python's own way to end waits for it, or
                # crashes in it.
                os._exit(code)
            node.destroy_node()
        rclpy.try_shutdown()
    return code


_take_clock = TimeSource.clock_callback


def take_clock(source: TimeSource, message: ClockMessage) -> None:
    """Take the time of /clock, as rclpy does, which ends the node where there is no such time."""
    sec, nanosec = message.clock.sec, message.clock.nanosec
    if sec >= 0 and nanosec < NANO:
        _take_clock(source, message)
        return
    node = source._get_node()
    if node is not None:
        node.get_logger().warning(
            f'message on /clock ignored: sec must be 0 or more, got {sec}, and nanosec less than '
            f'{NANO}, got {nanosec}', throttle_duration_sec=1.0)


def namesakes(node: Node) -> int:
    """Return how many other nodes have the name of this one, in its namespace."""
    mine = node.get_name(), node.get_namespace()
    return max(node.get_node_names_and_namespaces().count(mine) - 1, 0)


def watch_for_namesakes(node: Node) -> None:
    """Have a node warn when there are others of its name."""
    known = [0]

    def look() -> None:
        others = namesakes(node)
        if others > known[0]:
            node.get_logger().warning(
                f'other nodes are named {node.get_fully_qualified_name()} too: {others}. All of '
                'them receive and answer each message: start them with -r __ns:=... or '
                '-r __node:=...')
        known[0] = others

    # By the steady clock: simulated time may stand still.
    node.create_timer(WATCH, look, clock=Clock(clock_type=ClockType.STEADY_TIME))


def watch_for_clock(node: Node) -> None:
    """Have a node warn, once, where it goes by a /clock that does not come."""
    def look() -> None:
        timer.cancel()
        clock: Any = node.get_clock()
        if clock.ros_time_is_active and not clock.now().nanoseconds:
            node.get_logger().warning('use_sim_time is set, but /clock does not come; waiting')

    timer = node.create_timer(CLOCK_COMES, look, clock=Clock(clock_type=ClockType.STEADY_TIME))
