"""Robots in time: a description becomes a simulator."""
