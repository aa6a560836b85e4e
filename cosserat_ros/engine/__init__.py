"""Rods of equal size and one platform: the solver of robots."""
