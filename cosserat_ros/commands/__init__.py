"""Commands that need no ROS: compare, calibrate, sweep."""
