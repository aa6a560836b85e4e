"""
A robot's description as an assembly: the one place that knows both.

Rods grow out of base_link, which is the ground here; legs end on the platform, a free body. What
acts on rods comes as the stacked arrays of :mod:`cosserat_ros.simulation.model`, and is put where
the elements have it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..assembly.assembly import Assembly, Attachment, GROUND, RigidBody, RodPart
from ..assembly.joint_kinds import JointKind
from ..assembly.solver import AssemblySolver
from ..description.parts import Leg
from ..engine.equations import Loads
from ..laws.actuators import Drives
from ..numerics.integrators import SCHEMES
from .feeding import Fed
from .model import Model

PLATFORM = 'platform'


class _Arrays(NamedTuple):
    """Those of one element that change with loads and with feeding; views."""

    nodes: slice              # of the rod's
    modes: slice              # of the rod's
    inertia: np.ndarray       # (m, 6)
    elastic: np.ndarray       # (n, n)
    viscous: np.ndarray       # (n, n)
    line_force: np.ndarray    # (m, 3)
    line_moment: np.ndarray   # (m, 3)
    stress: np.ndarray        # (m, 6)
    square_drag: np.ndarray   # (3,)
    linear_drag: np.ndarray   # (3,)


def assembly_of(model: Model) -> Assembly:
    """Return a robot's rods and its platform as an assembly, in base_link."""
    robot = model.robot
    legs: dict[str, Leg] = {leg.rod: leg for leg in robot.legs.values()}
    bodies, rods = {}, {}
    if robot.platform is not None:
        bodies[PLATFORM] = RigidBody(
            robot.platform.mass, robot.platform.inertia.matrix(),
            pose=robot.platform_pose(robot.rest_shape(2)))
    for name, d, paths in zip(model.names, model.rods, model.paths):
        rod, tip, joint = robot.rods[name], None, JointKind()
        if robot.platform is not None:
            leg = legs[name]
            tip = Attachment(PLATFORM, leg.attachment.matrix())
            joint = JointKind(leg.joint, tuple(leg.axis or (0.0, 0.0, 1.0)))
        rods[name] = RodPart(
            rod, model.modes, Attachment(GROUND, rod.base.matrix()), tip, tip_joint=joint,
            paths=paths if paths.flat.size else None, breaks=d.breaks[1:-1].tolist())
    return Assembly(bodies, rods, gravity=model.gravity)


class RobotAssembly:
    """
    A robot on the assembly's solver.

    Parameters
    ----------
    model : Model
    tolerance : float
        Of a step, as strain [-].

    """

    def __init__(self, model: Model, tolerance: float = 1e-6) -> None:
        self.model = model
        self.solver: AssemblySolver = assembly_of(model).solver(
            SCHEMES[model.robot.time.scheme], tolerance)
        places = self.solver.places
        self.links = [places.rods[name] for name in model.names]
        self._elements = [
            [self._arrays(link, e) for e, link in enumerate(links)] for links in self.links]

    def _arrays(self, link: int, e: int) -> _Arrays:
        a, c = self.solver.tree.elements, int(self.solver.tree.links.item[link])
        m, n = int(a.size[c, 0]), int(a.size[c, 1])

        def part(data: np.ndarray, k: int, *shape: int) -> np.ndarray:
            first = int(a.first[c, k])
            return data[first:first + int(np.prod(shape))].reshape(shape)

        return _Arrays(
            slice(e * m, e * m + m), slice(e * n, e * n + n), part(a.data, 2, m, 6),
            part(a.data, 7, n, n), part(a.data, 8, n, n), part(a.loads, 10, m, 3),
            part(a.loads, 11, m, 3), part(a.loads, 12, m, 6), part(a.loads, 13, 3),
            part(a.loads, 14, 3))

    def load(self, loads: Loads) -> None:
        """Let stacked loads of all rods act, and carry their bodies."""
        b = self.solver.tree.bodies
        for i, elements in enumerate(self._elements):
            for e, a in enumerate(elements):
                link = self.links[i][e]
                a.line_force[:] = loads.line_force[i, a.nodes]
                a.line_moment[:] = loads.line_moment[i, a.nodes]
                a.stress[:] = loads.stress[i, a.nodes]
                a.square_drag[:], a.linear_drag[:] = loads.square_drag[i], loads.linear_drag[i]
                b.force[link], b.moment[link] = loads.end_force[i, e], loads.end_moment[i, e]
                b.follower_force[link] = loads.follower_force[i, e]
                b.follower_moment[link] = loads.follower_moment[i, e]
                b.mass[link], b.offset[link] = loads.bodies.mass[i, e], loads.bodies.offset[i, e]
                b.inertia[link], b.axes[link] = loads.bodies.inertia[i, e], loads.bodies.axes[i, e]

    def feed(self, fed: Fed, loads: Loads) -> None:
        """Give rods stiffness, damping and mass of legs that are fed, and the stress of that."""
        for i, elements in enumerate(self._elements):
            for a in elements:
                a.elastic[:] = fed.elastic[i, a.modes, a.modes]
                a.viscous[:] = fed.viscous[i, a.modes, a.modes]
                a.inertia[:] = fed.inertia[i, a.nodes]
                a.stress[:] = loads.stress[i, a.nodes] + fed.stress[i, a.nodes]

    def drive(self, drives: Drives) -> None:
        """Tell the actuators."""
        for mine, given in zip(self.solver.tree.drives, drives):
            mine[:] = given.ravel()

    @property
    def efforts(self) -> np.ndarray:
        """Efforts of the actuators, (k, m): tension [N], or minus the pressure [Pa]."""
        tree = self.solver.tree
        first = tree.effort
        return self.solver.z[first:first + tree.drives.kind.size].reshape(
            len(self.links), self.model.slots)

    def tips(self) -> np.ndarray:
        """Return the poses of the rods' tips in base_link, (k, 4, 4)."""
        end = self.solver.refresh().end
        poses = np.tile(np.eye(4), (len(self.links), 1, 1))
        for g, links in zip(poses, self.links):
            g[:3, :3], g[:3, 3] = end.R[links[-1]], end.p[links[-1]]
        return poses
