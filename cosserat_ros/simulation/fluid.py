"""Forces of a fluid on described rods, as numbers for :mod:`cosserat_ros.laws.flow`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..description.fluid import Blade, Slender
from ..description.robot import MountedRod
from ..laws.flow import added_mass, blade, Station, wake
from ..numerics.lie import hat

FLAT_PLATE = 0.25 * np.pi  # added mass per length, of density chord^2


class FlowOnRod(NamedTuple):
    """What a fluid does along a rod, by arc length, and at its tip."""

    along: Callable[[float], np.ndarray] | None = None
    at_tip: Sequence[Station] = ()


def flow_on(rod: MountedRod) -> FlowOnRod:
    """Return what is described of the fluid around a rod."""
    flow = rod.flow
    if isinstance(flow, Slender):
        shed = wake(_mass_of_section(rod, flow, rod.length))
        return FlowOnRod(lambda s: added_mass(_mass_of_section(rod, flow, s)),
                         [Station(np.eye(4), shed)] if flow.wake == 'tip' else ())
    if isinstance(flow, Blade):
        return FlowOnRod(lambda s: _blade(rod, flow, s))
    return FlowOnRod()


def _mass_of_section(rod: MountedRod, flow: Slender, s: float) -> np.ndarray:
    """Return the added mass (6, 6) of the ellipse that a section fills, per length."""
    a, b = 0.5 * rod.outline(s)
    M = np.zeros((6, 6))
    M[0, 0], M[1, 1] = np.pi * flow.density * b ** 2, np.pi * flow.density * a ** 2
    M[5, 5] = np.pi / 8.0 * flow.density * (a ** 2 - b ** 2) ** 2
    return M


def _blade(rod: MountedRod, flow: Blade, s: float) -> np.ndarray:
    """Return lift, drag and added mass of a blade at s, per length."""
    forward = np.array(flow.forward)
    normal = np.cross(forward, (0.0, 0.0, 1.0))
    chord = float(np.abs(forward[:2]) @ rod.outline(s))
    centre = (0.5 - flow.centre_of_pressure) * chord * forward
    T = np.hstack([np.eye(3), -hat(centre)])
    mass = flow.added_mass * FLAT_PLATE * flow.density * chord ** 2 * np.outer(normal, normal)
    return added_mass(T.T @ mass @ T) + blade(
        flow.density, chord, centre, forward, normal, flow.lift, flow.drag)
