"""How a path and the point on it that the tip is to be at are drawn."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from ...msg import RobotInfo
from ..common.conversions import fill_xyz

WIDTH, BALL = 0.006, 0.03  # of the line and the ball, as parts of the robot's length
LINE_COLOUR, BALL_COLOUR = (0.1, 0.5, 0.9, 0.8), (0.9, 0.47, 0.0, 0.9)
LIFETIME = 1  # [s] after which they go if nobody renews them


def path_markers(
    robot: RobotInfo, stamp: Time, line: np.ndarray, point: np.ndarray,
) -> MarkerArray:
    """Return the markers of a closed line (N, 3) [m] and a point (3,) [m], in base_link."""
    markers = MarkerArray()
    for kind, size, colour, place in (
        (Marker.LINE_STRIP, WIDTH, LINE_COLOUR, np.zeros(3)),
        (Marker.SPHERE, BALL, BALL_COLOUR, point),
    ):
        marker = Marker(ns='path', id=len(markers.markers), type=kind, action=Marker.ADD)
        marker.header.frame_id, marker.header.stamp = robot.base_frame, stamp
        fill_xyz(marker.pose.position, place)
        marker.pose.orientation.w = 1.0
        fill_xyz(marker.scale, (size * robot.length,) * 3)
        marker.color.r, marker.color.g, marker.color.b, marker.color.a = colour
        marker.lifetime.sec = LIFETIME
        markers.markers.append(marker)
    for x, y, z in line.tolist():
        markers.markers[0].points.append(Point(x=x, y=y, z=z))
    return markers
