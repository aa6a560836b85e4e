"""Parameters of robots fitted to recordings."""
