"""The thread that publishes what the stepping one has done, so that no step waits for it."""

from __future__ import annotations

from collections.abc import Callable
import time

from ..common.threads import Loop
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
        period = 1.0 / self.rate
        self._due = min(self._due, now + period)  # sooner, if the rate was raised since
        if now < self._due:
            return False
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
        Of all else, and of the joints at most [Hz].
    report : callable
        Called with a text where an instant could not be published.

    """

    def __init__(
        self, publisher: RobotPublisher, rate: float, joint_rate: float,
        report: Callable[[str], None],
    ) -> None:
        self._publisher = publisher
        self._all_else, self._joints = Metronome(rate), Metronome(joint_rate)
        self.loop = Loop('publishing', self._turn, report)

    def set_rates(self, rate: float, joint_rate: float) -> None:
        """Change the rates [Hz]; one who sleeps by the old ones wakes."""
        self._all_else.rate, self._joints.rate = rate, joint_rate
        self.loop.wake()

    def start(self, stepper: Stepper) -> None:
        """Begin to publish; raise `StillRunning` where the thread from before still does."""
        self._stepper, self._sent, self._shown = stepper, -1, -1
        self._moved = time.monotonic()
        self.loop.start()

    def stop(self) -> bool:
        """Cease; tell whether that was soon."""
        return self.loop.stop(LAST_WORD)

    def _turn(self) -> None:
        self.loop.wait(self._publish(self._stepper.instant, time.monotonic()))

    def _publish(self, instant: Instant, now: float) -> float:
        """Publish what is due; return how long nothing will be, unless there is a new instant."""
        if instant.number != self._sent and self._joints.due(now):
            self._publisher.publish_clock(instant.stamp)
            self._publisher.publish_joints(instant.snapshot, instant.stamp)
            self._sent, self._moved = instant.number, now
        if instant.number != self._shown and self._all_else.due(now):
            self._publisher.publish(instant.snapshot, instant.stamp)
            self._shown = instant.number
        elif now - self._moved > IDLE and self._all_else.due(now):
            # Nothing moves: the last instant is shown with the present time.
            stamp = self._stepper.stamp()
            self._publisher.publish_clock(stamp)
            self._publisher.publish_joints(instant.snapshot, stamp)
            self._publisher.publish(instant.snapshot, stamp)
        waits = [IDLE] if now - self._moved <= IDLE else [self._all_else.wait(now)]
        waits += [beat.wait(now) for beat, done in (
            (self._joints, self._sent), (self._all_else, self._shown)) if done != instant.number]
        return min(waits)
