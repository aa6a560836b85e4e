"""Parts of the simulator node."""
