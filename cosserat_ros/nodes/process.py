"""The life of a node's process: start, spin, stop on a signal, say in one line what went wrong."""

from __future__ import annotations

from collections.abc import Callable
import sys
from typing import Any, Optional

import rclpy
from rclpy.exceptions import InvalidNamespaceException, InvalidNodeNameException
from rclpy.executors import ExternalShutdownException

from ..errors import CosseratError

START_ERRORS = (CosseratError, InvalidNamespaceException, InvalidNodeNameException)


def run(make_node: Callable[[], Any], args: Optional[list[str]] = None) -> int:
    """
    Run a node until SIGINT or SIGTERM.

    Parameters
    ----------
    make_node : callable
        Makes the node, or raises `CosseratError`. The node's method ``start() -> bool`` begins
        its work, or logs why it cannot.
    args : list of str, optional
        Command line; that of the process if not given.

    Returns
    -------
    int
        Exit code: 0 after a signal; 1 if the node refused to start, with the reason on stderr.

    """
    node = None
    try:
        rclpy.init(args=args)
        node = make_node()
        if not node.start():
            return 1
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except START_ERRORS as error:
        reason = ' '.join(str(error).split())
        print(f'cosserat_ros: {reason}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0
