"""Compiled kernels, rotations, time schemes: no mechanics."""
