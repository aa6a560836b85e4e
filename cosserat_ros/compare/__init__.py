"""Simulated and real robots side by side: lined up in time and space, and how far they are off."""
