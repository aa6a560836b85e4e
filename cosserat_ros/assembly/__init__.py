"""Assemblies: rigid bodies, rods between them, joints and loops, as one tree with closures."""
