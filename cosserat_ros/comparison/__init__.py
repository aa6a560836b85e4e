"""Recordings of real robots, lined up with simulated ones."""
