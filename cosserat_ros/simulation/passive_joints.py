"""
Joints that are no actuators, as joint_states tells of them: passive, or stroked by a gait.

Their names are those that they would have as actuators. Free turns are left out: they are counted
from the last attitude, and so are no positions.
"""

from __future__ import annotations

from ..description.joints import coordinates_of, KINDS
from ..description.robot import Robot
from .simulator import Simulator

FREE_TURNS = KINDS['spherical']


def passive_joints(robot: Robot) -> dict[str, tuple[str, int]]:
    """Return joint and index of the coordinates that no command of theirs drives, by name."""
    return {name: (key, index)
            for name, key, index, own, _ in coordinates_of(robot.moving)
            if name not in robot.actuators and own not in FREE_TURNS}


class PassiveJoints:
    """
    Where the passive joints of a simulator are.

    Parameters
    ----------
    sim : Simulator

    """

    def __init__(self, sim: Simulator) -> None:
        self._sim, self._solver, places = sim, sim.solver, sim.solver.places.coordinates
        self._at = {name: places[key][index]
                    for name, (key, index) in passive_joints(sim.robot).items()}
        self.names = list(self._at)
        self._stroked = [name for name in self.names if name in sim.robot.drives]

    def states(self) -> list[tuple[float, float, float]]:
        """Return position, velocity and effort of each, which is 0 where nothing drives it."""
        z, z_t = self._solver.z, self._solver.z_t
        driven = self._sim.joints.states() if self._stroked else {}
        efforts = {name: driven[name][1] for name in self._stroked}
        return [(float(z[at]), float(z_t[at]), efforts.get(name, 0.0))
                for name, at in self._at.items()]
