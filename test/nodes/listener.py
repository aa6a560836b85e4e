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
        self._clients = {}

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

    def call(self, kind, service, request, timeout=30.0, attempts=1):
        """
        Call a service and return its response.

        DDS loses a reply if the server has not discovered the client yet, as on a busy machine:
        what does no harm twice may have several attempts within the time.
        """
        if (kind, service) not in self._clients:
            self._clients[kind, service] = self.node.create_client(kind, service)
        client = self._clients[kind, service]
        assert client.wait_for_service(timeout), f'no service {service}'
        for _ in range(attempts):
            future = client.call_async(request)
            if self.spin_until(future.done, timeout / attempts):
                return future.result()
            client.remove_pending_request(future)
        raise AssertionError(f'no answer from {service}')

    def close(self):
        """Leave."""
        self._executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()
