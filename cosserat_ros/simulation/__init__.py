"""From a robot's description to an assembly."""
