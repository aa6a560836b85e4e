"""
Obstacles that are set, moved and removed while the robot moves: a topic and a service.

Both are checked here, and applied by the stepping thread between two steps. Distances from meshes
take longer, and are computed by the solving thread before. A message is rejected whole; so are all
of a service's. What was set stays over `~/reset`, but for a snapshot, which has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
import threading
from typing import Any, Optional

from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile

from ...checks.errors import InvalidModel
from ...msg import Obstacle as ObstacleMessage
from ...simulation.simulator import Simulator
from ..common.complaints import Complaints
from ..common.hearing import listen
from ..common.limits import check_count
from ..common.threads import describe
from .obstacle_messages import Change, ObstacleReader
from .stepping import Stepper

OBSTACLE_QOS = QoSProfile(depth=100)  # a scene comes as many messages at once
MOST_WAITING = 100                    # changes that wait for the end of a step, or for a mesh
BUSY = f'busy: {MOST_WAITING} changes wait already'
TOPIC = '~/obstacles'


def change_obstacles(changes: Sequence[Change], clear: bool, sim: Simulator) -> None:
    """Change the obstacles of a simulator as a whole, or raise."""
    obstacles = {} if clear else dict(sim.obstacles)
    for change in changes:
        obstacles = change.made(obstacles)
    check_count('obstacles', len(obstacles))
    sim.set_obstacles(obstacles)


class Obstacles:
    """
    What changes the obstacles of a robot.

    Parameters
    ----------
    node : LifecycleNode
    reader : ObstacleReader
    stepper : Stepper
    solve : callable
        Has something done by the solving thread: returns its future, or None if that is busy.
    active : callable
        Tells whether the node is; if not, all is rejected.
    rejected : Complaints
        To which messages are added that are rejected.

    """

    def __init__(
        self, node: LifecycleNode, reader: ObstacleReader, stepper: Stepper,
        solve: Callable[[Callable[[], Any]], Optional[Future]], active: Callable[[], bool],
        rejected: Complaints,
    ) -> None:
        self._node, self._reader, self._stepper = node, reader, stepper
        self._solve, self._active, self._rejected = solve, active, rejected
        self._waiting, self._lock = 0, threading.Lock()
        self._last: Optional[Future] = None  # of what came last, which what follows waits for
        self._subscription = listen(
            node, ObstacleMessage, TOPIC, self._take, OBSTACLE_QOS, rejected)

    def withdraw(self) -> None:
        """Listen no longer."""
        self._node.destroy_subscription(self._subscription)

    def _take(self, message: ObstacleMessage) -> None:
        if not self._active():
            return
        self.ask([message]).add_done_callback(self._complain)

    def _complain(self, future: Future) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None and not isinstance(error, CancelledError):
            self._rejected.add(TOPIC, describe(error))

    def ask(self, messages: Sequence[ObstacleMessage], clear: bool = False) -> Future:
        """
        Have obstacles changed, in the order in which this is called.

        Raises if the messages are not valid by themselves; the future has what else is wrong, and
        is cancelled where there is no stepping.
        """
        changes = self._reader.changes(messages)
        answer: Future = Future()
        with self._lock:
            if self._waiting >= MOST_WAITING:
                raise InvalidModel('obstacles', BUSY, f'at most {MOST_WAITING} changes at once')
            self._waiting += 1
            before, self._last = self._last, answer
        answer.add_done_callback(self._count_down)
        run = partial(change_obstacles, changes, clear)
        if any(change.takes_long for change in changes):
            prepared = self._solve(partial(_prepare, changes))
            if prepared is None:
                answer.set_exception(InvalidModel('obstacles', 'busy', 'asked for again'))
                return answer
            prepared.add_done_callback(
                lambda done: self._after(before, partial(self._apply, run, answer, done)))
        else:
            self._after(before, partial(self._apply, run, answer, None))
        return answer

    @staticmethod
    def _after(before: Optional[Future], go_on: Callable[[], None]) -> None:
        """Go on when what came before has been done."""
        if before is None or before.done():
            go_on()
        else:
            before.add_done_callback(lambda _: go_on())

    def _apply(
        self, run: Callable[[Simulator], Any], answer: Future, prepared: Optional[Future],
    ) -> None:
        """Change the obstacles between two steps, unless they could not be prepared."""
        if prepared is not None:
            error = CancelledError() if prepared.cancelled() else prepared.exception()
            if error is not None:
                answer.set_exception(error)
                return
        self._stepper.ask(run).add_done_callback(partial(_hand_on, answer))

    def _count_down(self, _: Future) -> None:
        with self._lock:
            self._waiting -= 1


def _prepare(changes: Sequence[Change]) -> None:
    for change in changes:
        change.prepare()


def _hand_on(answer: Future, done: Future) -> None:
    """Give one future what another one has."""
    if done.cancelled():
        answer.cancel()
        answer.set_running_or_notify_cancel()
        return
    error = done.exception()
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(done.result())
