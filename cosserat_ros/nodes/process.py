"""The life of a node's process: start, spin, stop on a signal, say in one line what went wrong."""

from __future__ import annotations

from collections.abc import Callable
import os
import signal
import sys
from typing import Any, Optional

import rclpy
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.signals import SignalHandlerOptions

from ..errors import CosseratError

START_ERRORS = (CosseratError, NameValidationException, rcl.RCLError, rcl.UnknownROSArgsError)
PATIENCE = 0.2  # [s] at most until a signal is heeded


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
        Exit code: 0 after a signal; 1 if the node refused to start, with the reason on stderr.

    """
    told_to_stop: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: told_to_stop.append(number))
    node = None
    try:
        # rclpy's own handlers would take the context away while the node is using it.
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = make_node()
        if not node.start():
            return 1
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        while not told_to_stop:
            executor.spin_once(timeout_sec=PATIENCE)
    except START_ERRORS as error:
        reason = ' '.join(str(error).split())
        print(f'cosserat_ros: {reason}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            if not getattr(node, 'close', lambda: True)():
                # A thread is in the middle of a solve: Python's own way to end waits for it, or
                # crashes in it.
                os._exit(0)
            node.destroy_node()
        rclpy.try_shutdown()
    return 0
