"""Messages that a fast loop takes by itself, and the executor where it does not: over real DDS."""

from contextlib import contextmanager
import threading
import time
from types import SimpleNamespace

from driver import wait_for
from listener import Listener
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64

from cosserat_ros.nodes.common.complaints import Complaints
from cosserat_ros.nodes.common.hearing import listen, Polled

DEPTH = 5000  # so that nothing is lost, however busy the machine is
LOOP = 'loop'


class Heard(Listener):
    """One who hears numbers that it sends itself: which, and by whose hand."""

    def __init__(self):
        super().__init__('heard')
        self.numbers, self.takers = [], []
        self.polled, said = Polled(self.node), []
        qos = QoSProfile(depth=DEPTH)
        self.subscription = listen(
            self.node, Float64, 'numbers', self.take, qos, Complaints(said.append), self.polled)
        self._publisher = self.node.create_publisher(Float64, 'numbers', qos)
        self.sent = 0
        assert self.spin_until(self._publisher.get_subscription_count, 10.0)

    def take(self, message):
        self.numbers.append(message.data)
        self.takers.append(threading.current_thread().name)

    def send(self, count):
        for _ in range(count):
            self._publisher.publish(Float64(data=float(self.sent)))
            self.sent += 1

    @contextmanager
    def looping(self, period):
        """Take turns in another thread meanwhile."""
        ended = threading.Event()

        def loop():
            while not ended.wait(period):
                self.polled.poll()
        thread = threading.Thread(target=loop, name=LOOP)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def all_heard(self):
        assert self.spin_until(lambda: len(self.numbers) == self.sent, 20.0), len(self.numbers)
        assert self.numbers == [float(k) for k in range(self.sent)]


@pytest.fixture
def heard():
    """Return one who hears."""
    one = Heard()
    yield one
    one.close()


def test_nothing_is_lost_or_swapped_where_a_loop_comes_and_goes(heard):
    for _ in range(8):
        with heard.looping(5e-4):
            for _ in range(20):
                heard.send(5)
                heard.spin(2e-3)
        heard.send(5)  # the executor's, or the next loop's
        heard.spin(2e-2)
    heard.all_heard()
    assert LOOP in heard.takers


def test_a_loop_takes_all_while_nobody_spins_and_the_executor_the_rest(heard):
    with heard.looping(5e-4):
        heard.send(50)
        end = time.monotonic() + 20.0
        while len(heard.numbers) < 50 and time.monotonic() < end:
            time.sleep(1e-3)
        assert heard.takers == [LOOP] * 50
    heard.send(50)
    heard.all_heard()
    assert LOOP not in heard.takers[50:]


def test_a_slow_loop_leaves_all_to_the_executor(heard):
    with heard.looping(2e-2):
        for _ in range(10):
            heard.send(5)
            heard.spin(2e-2)
        heard.all_heard()
    assert LOOP not in heard.takers


def test_where_rclpy_lets_nobody_take_messages_they_are_left_to_the_executor(heard):
    other = SimpleNamespace(handle=object())  # as of an rclpy to come
    heard.polled.add(other)
    with heard.looping(5e-4):
        assert wait_for(lambda: not heard.polled.can_execute(heard.subscription))
        assert heard.polled.can_execute(other)
    assert wait_for(lambda: heard.polled.can_execute(heard.subscription))


def test_a_publisher_that_does_not_match_is_warned_of(heard):
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    heard.node.create_publisher(Float64, 'numbers', best_effort)
    said = []
    heard.node.get_logger = lambda: SimpleNamespace(warning=said.append)
    assert heard.spin_until(lambda: said, 10.0)
    heard.spin(2.5)
    assert len(said) == 1 and '/numbers' in said[0] and 'reliab' in said[0].lower()
