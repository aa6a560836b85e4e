"""One rod: its discretisation, its kinematics, and what lies between its nodes."""
