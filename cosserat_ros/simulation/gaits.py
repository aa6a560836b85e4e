"""
Gaits of a robot: what their phases and live parameters make of it at an instant.

A wave is an active stress of muscles along a rod, a stroke tells driven joints where to be.
The phase of a gait is the integral of its frequency. In statics and in linear models it stands
still: gaits are held as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np

from ..description.gaits import Stroke, Wave
from ..description.robot import Robot
from ..rod.discretisation import Discretisation, in_a_row

BEND = {'x': 3, 'y': 4}  # places of curvatures among the strains


class Gaits:
    """
    The gaits of a robot.

    Parameters
    ----------
    robot : Robot
    rods : mapping of str to Discretisation
        How each rod is divided.

    """

    def __init__(self, robot: Robot, rods: Mapping[str, Discretisation]) -> None:
        self._robot, self._gaits = robot, robot.gaits
        self.phases = dict.fromkeys(robot.gaits, 0.0)  # [rad]; replaced, never changed
        self._waves = {}
        nodes = dict(zip(rods, in_a_row(d.s.size for d in rods.values())))
        for name, gait in robot.gaits.items():
            if isinstance(gait, Wave):
                rod = robot.rod_name(gait.rod)
                d = rods[rod]
                x = d.s / d.breaks[-1]
                self._waves[name] = (
                    nodes[rod], BEND[gait.bends], d.stiffness[:, BEND[gait.bends]],
                    np.polynomial.polynomial.polyval(x, gait.profile),
                    2.0 * np.pi * d.s / gait.wave_length)

    def advance(self, reached: Mapping[str, float], dt: float) -> None:
        """Let phases go on by a step dt [s] at the frequencies that were reached."""
        self.phases = {name: phase + 2.0 * math.pi * reached[f'{name}_frequency'] * dt
                       for name, phase in self.phases.items()}

    def write_stress(
        self, reached: Mapping[str, float], time: float, stress: np.ndarray,
    ) -> bool:
        """Write the stress of muscles in rods (N, 6) at a time [s]; tell if there is any."""
        if not self._waves:
            return False
        stress[:] = 0.0
        for name, (nodes, bend, stiffness, size, place) in self._waves.items():
            wave = reached[f'{name}_amplitude'] * size * np.sin(place - self.phases[name])
            curvature = self._gaits[name].set_in(time) * (wave + reached[f'{name}_turn'])
            stress[nodes, bend] -= stiffness * curvature
        return True

    def told(self, reached: Mapping[str, float], time: float) -> Mapping[str, float]:
        """Return where actuators have got to, and with them joints that stroke, at a time [s]."""
        told = {}
        for name, gait in self._gaits.items():
            if not isinstance(gait, Stroke):
                continue
            middle, size = (
                gait.set_in(time) * reached[f'{name}_{key}'] for key in ('middle', 'amplitude'))
            for joint, part in gait.joints.items():
                least, most = self._robot.drives[joint].bounds
                angle = part.factor * (middle + size * math.sin(self.phases[name] - part.lag))
                told[joint] = min(max(angle, least), most)
        return {**reached, **told} if told else reached
