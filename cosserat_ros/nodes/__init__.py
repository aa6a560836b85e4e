"""ROS 2 nodes around the library: parameters in, messages out, no physics of their own."""
