"""Qualities of service that nodes and those who listen to them agree on."""

from rclpy.qos import DurabilityPolicy, QoSProfile

# As tf2's own broadcasters have it, so that every listener matches.
TF_QOS = QoSProfile(depth=100)
LATCHED_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Reliable, which best-effort listeners (SensorData) match as well.
STATE_QOS = QoSProfile(depth=10)
