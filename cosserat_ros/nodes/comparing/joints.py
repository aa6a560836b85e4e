"""A real robot's joints: compared with the simulated ones, and passed on to them."""

from __future__ import annotations

from collections import deque
import math
from typing import Any, Optional

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ...checks.errors import InvalidModel
from ...comparison.alignment import TimeBuffer
from ...msg import RobotInfo
from ..common.complaints import Complaints
from ..common.conversions import nanoseconds, time_message
from ..common.hearing import listen
from ..common.qos import LATCHED_QOS

FIELDS = 'position', 'velocity', 'effort'
FORWARDED = 'nothing', 'commands', 'joint_commands', 'joint_states'
SPAN = 5.0  # [s] of simulated joint states that are kept
WAITING = 1000  # measured ones that may wait for them


class JointErrors:
    """
    Simulated minus real joints, at the time of the real ones.

    Parameters
    ----------
    longest_gap : float
        Between samples, over which is interpolated [s].

    """

    def __init__(self, longest_gap: float) -> None:
        self._longest_gap = longest_gap
        self._simulated: dict[str, TimeBuffer] = {}  # position, velocity and effort of each
        self._known: set[str] = set(FIELDS)          # that the simulated robot tells
        self._real: deque[tuple[float, JointState]] = deque(maxlen=WAITING)

    def simulate(self, message: JointState) -> None:
        """Take the joints of the simulated robot, or raise."""
        time, count = 1e-9 * nanoseconds(message.header.stamp), len(message.name)
        arrays = {field: getattr(message, field) for field in FIELDS}
        self._known = {field for field, values in arrays.items() if len(values) == count}
        columns = [arrays[field] if field in self._known else [0.0] * count for field in FIELDS]
        known, self._simulated = self._simulated, {}
        for name, *values in zip(message.name, *columns):
            self._simulated[name] = known.get(name) or TimeBuffer(
                len(FIELDS), SPAN, self._longest_gap)
            self._simulated[name].add(time, values)

    def measure(self, time: float, message: JointState) -> None:
        """Take the joints of the real robot, measured at a time [s], or raise."""
        if math.isfinite(time):
            self._real.append((time, message))

    def compare(self, delay: float) -> list[JointState]:
        """Return the errors of all that can be compared, for a real robot so long behind [s]."""
        errors = []
        newest = max((b.newest for b in self._simulated.values()), default=-math.inf)
        while self._real and self._real[0][0] - delay <= newest:
            time, real = self._real.popleft()
            error = self._error(time, real, delay)
            if error is not None:
                errors.append(error)
        return errors

    def _error(self, time: float, real: JointState, delay: float) -> Optional[JointState]:
        fields = [field for field in FIELDS
                  if field in self._known and len(getattr(real, field)) == len(real.name)]
        told = JointState()
        told.header.stamp = time_message(round(1e9 * time))
        for k, name in enumerate(real.name):
            buffer = self._simulated.get(name)
            there = buffer.at(time - delay) if buffer is not None else None
            values = [getattr(real, field)[k] for field in fields]
            if there is None or not np.isfinite(values).all():
                continue
            told.name.append(name)
            for field, value in zip(fields, values):
                getattr(told, field).append(float(there[FIELDS.index(field)]) - value)
        return told if told.name and fields else None


class Forwarding:
    """
    Tells the simulated robot what the real one is told, or does.

    Parameters
    ----------
    node : Node
    what : str
        'commands', one number per actuator; 'joint_commands', by name; or 'joint_states': what
        actuators do is what they are told.
    topic : str
        Where it comes from.
    simulator : str
        Full name of the node that simulates.

    """

    def __init__(
        self, node: Node, what: str, topic: str, simulator: str,
    ) -> None:
        self.count = 0
        self.rejected = Complaints(node.get_logger().warning)
        self._actuators: list[str] = []
        listen(node, RobotInfo, f'{simulator}/robot', self._meet, LATCHED_QOS, self.rejected)
        kind, target, check = {
            'commands': (Float64MultiArray, f'{simulator}/commands', self._checked_numbers),
            'joint_commands': (JointState, f'{simulator.rpartition("/")[0]}/joint_commands',
                               self._checked_joints),
        }['commands' if what == 'commands' else 'joint_commands']
        self._check = check
        self._publisher = node.create_publisher(kind, target, 10)
        if what != 'joint_states':  # those are listened to anyway
            listen(node, kind, topic, self.take, QoSProfile(depth=10), self.rejected)

    def _meet(self, robot: RobotInfo) -> None:
        """Take note of what the simulated robot can be told."""
        self._actuators = [one.name for one in robot.actuators]

    def take(self, message: Any) -> None:
        """Pass a message on, or raise."""
        self._publisher.publish(self._check(message))
        self.count += 1

    @staticmethod
    def _checked_numbers(message: Float64MultiArray) -> Float64MultiArray:
        if not np.isfinite(message.data).all():
            raise InvalidModel('data', list(message.data), 'finite numbers')
        return message

    def _checked_joints(self, message: JointState) -> JointState:
        """Return what there is of the actuators that the simulated robot has."""
        ours = [k for k, name in enumerate(message.name) if name in self._actuators]
        if not ours:
            raise InvalidModel(
                'name', list(message.name),
                f'of the simulated actuators, {", ".join(self._actuators) or "none known yet"}')
        told = JointState(header=message.header, name=[message.name[k] for k in ours])
        for field in FIELDS:
            values = getattr(message, field)
            if len(values) not in (0, len(message.name)):
                raise InvalidModel(field, list(values), f'none or {len(message.name)} numbers')
            chosen = [values[k] for k in ours] if len(values) else []
            if not np.isfinite(chosen).all():
                raise InvalidModel(field, chosen, 'finite numbers')
            setattr(told, field, chosen)
        return told
