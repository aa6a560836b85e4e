"""The thread that publishes what the stepping one has done, so that no step waits for it."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Optional

from .robot_publisher import RobotPublisher
from .stepping import Instant, Stepper

IDLE = 0.1  # [s] without a new instant, after which nothing moves
LAST_WORD = 2.0  # [s] that one instant may take to be published


class Metronome:
    """Tells when something is due that happens at a rate."""

    def __init__(self, rate: float) -> None:
        self.rate, self._due = rate, 0.0

    def due(self, now: float) -> bool:
        """Tell whether it is due now, and count on from there."""
        if now < self._due:
            return False
        period = 1.0 / self.rate
        self._due = max(self._due + period, now - period)
        return True

    def wait(self, now: float) -> float:
        """Return how long it is until then [s]."""
        return max(self._due - now, 0.0)


class Publishing:
    """
    Publishes each instant's joints and time, and all else at a rate of its own.

    Parameters
    ----------
    publisher : RobotPublisher
    rate, joint_rate : float
        Of all else, and of the joints at most [Hz]; may be changed while it runs.
    complain : callable
        Called with a text where an instant could not be published.

    """

    def __init__(
        self, publisher: RobotPublisher, rate: float, joint_rate: float,
        complain: Callable[[str], None],
    ) -> None:
        self._publisher, self._complain = publisher, complain
        self.all_else, self.joints = Metronome(rate), Metronome(joint_rate)
        self._fresh, self._ending = threading.Event(), False
        self._thread: Optional[threading.Thread] = None

    def wake(self) -> None:
        """Say that there is a new instant."""
        self._fresh.set()

    def start(self, stepper: Stepper) -> None:
        """Begin to publish."""
        self._ending = False
        self._thread = threading.Thread(
            target=self._run, args=(stepper,), name='publishing', daemon=True)
        self._thread.start()

    def stop(self) -> bool:
        """Cease; tell whether that was soon."""
        thread, self._thread = self._thread, None
        self._ending = True
        self._fresh.set()
        if thread is not None:
            thread.join(LAST_WORD)
        return thread is None or not thread.is_alive()

    def _run(self, stepper: Stepper) -> None:
        self._stepper, self._sent, self._shown = stepper, -1, -1
        self._moved = time.monotonic()
        while not self._ending:
            try:
                wait = self._publish(stepper.instant, time.monotonic())
            except Exception as error:  # one instant is not worth the node
                if not self._ending:
                    self._complain(f'could not publish: {type(error).__name__}: {error}')
                wait = IDLE
            self._fresh.wait(wait)
            self._fresh.clear()

    def _publish(self, instant: Instant, now: float) -> float:
        """Publish what is due; return how long nothing will be, unless there is a new instant."""
        if instant.number != self._sent and self.joints.due(now):
            self._publisher.publish_clock(instant.stamp)
            self._publisher.publish_joints(instant.snapshot, instant.stamp)
            self._sent, self._moved = instant.number, now
        if instant.number != self._shown and self.all_else.due(now):
            self._publisher.publish(instant.snapshot, instant.stamp)
            self._shown = instant.number
        elif now - self._moved > IDLE and self.all_else.due(now):
            # Nothing moves: the last instant is shown with the present time.
            stamp = self._stepper.stamp()
            self._publisher.publish_clock(stamp)
            self._publisher.publish_joints(instant.snapshot, stamp)
            self._publisher.publish(instant.snapshot, stamp)
        waits = [IDLE] if now - self._moved <= IDLE else [self.all_else.wait(now)]
        waits += [beat.wait(now) for beat, done in (
            (self.joints, self._sent), (self.all_else, self._shown)) if done != instant.number]
        return min(waits)
