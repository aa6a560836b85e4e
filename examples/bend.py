"""Bring the tip of the tendon arm to a place along x, by two of its tendons."""
from geometry_msgs.msg import PoseStamped
import rclpy
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

TARGET = 0.05  # [m], of the tip along x of base_link
GAIN = 10.0    # [N/(m s)]: how fast tension grows where the tip is off


class Bend(Node):
    def __init__(self):
        super().__init__('bend')
        self.tension = 0.0  # [N]; below 0 the opposite tendon pulls
        self.seen = None
        self.commands = self.create_publisher(Float64MultiArray, '/simulator/commands', 10)
        self.create_subscription(PoseStamped, '/simulator/tip_pose', self.see_tip, 10)

    def see_tip(self, message):
        stamp = message.header.stamp
        now = stamp.sec + 1e-9 * stamp.nanosec
        passed = min(now - self.seen, 0.1) if self.seen else 0.0
        self.seen = now
        self.tension += GAIN * passed * (TARGET - message.pose.position.x)
        self.tension = min(max(self.tension, -5.0), 5.0)
        toward, away = max(self.tension, 0.0), max(-self.tension, 0.0)
        self.commands.publish(Float64MultiArray(data=[toward, 0.0, away, 0.0]))


rclpy.init()
try:
    rclpy.spin(Bend())
except KeyboardInterrupt:
    pass
