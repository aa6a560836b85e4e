"""A second ROS process' view of a node: what arrives on its topics."""

import time

import rclpy
from rclpy.executors import SingleThreadedExecutor


class Listener:
    """A node in its own context that keeps the messages of some topics."""

    def __init__(self, name='listener'):
        self.context = rclpy.Context()
        self.context.init()
        self.node = rclpy.create_node(name, context=self.context)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self.messages = {}

    def subscribe(self, kind, topic, qos=10, raw=False):
        """Keep all messages of a topic in ``messages[topic]``, raw ones as they came: as bytes."""
        kept = self.messages.setdefault(topic, [])
        self.node.create_subscription(kind, topic, kept.append, qos, raw=raw)

    def spin(self, seconds):
        """Receive for so long."""
        self.spin_until(lambda: False, seconds)

    def spin_until(self, condition, timeout=30.0):
        """Receive until the condition holds; tell whether it does."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                return False
            self._executor.spin_once(timeout_sec=0.02)
        return True

    def call(self, kind, service, request, timeout=30.0):
        """Call a service and return its response."""
        client = self.node.create_client(kind, service)
        assert client.wait_for_service(timeout), f'no service {service}'
        future = client.call_async(request)
        assert self.spin_until(future.done, timeout), f'no answer from {service}'
        self.node.destroy_client(client)
        return future.result()

    def close(self):
        """Leave."""
        self._executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()
