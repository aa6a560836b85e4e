"""A described robot by Till's own equations and method, to compare the engine with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..checks.errors import InvalidModel
from ..description.robot import MountedRod, Robot
from ..description.routing import Parallel
from .cantilever import Cantilever
from .fluidic_robot import Chamber, FluidicRobot
from .parallel_robot import ParallelRobot
from .shooting_robot import TipBody
from .tendon_robot import parallel, Tendon, TendonRobot

FLUIDS = {'pressure': 'pressure', 'volume': 'volume', 'amount': 'gas'}


def by_shooting(
    robot: Robot, time_step: float, elements: int = 60, **options: Any,
) -> TendonRobot | FluidicRobot | ParallelRobot:
    """
    Return the robot by semi-discretised shooting, with BDF-alpha at alpha = -0.2 as in the paper.

    Parameters
    ----------
    robot : Robot
        All of its rods are alike, and the same all along; tendons and chambers are parallel.
    time_step : float
        [s].
    elements : int
        Of each rod.
    options
        Further ones of the paper's robot.

    Its commands are those of the description, in its order, but tendons are told their tension; of
    a gas, times the ratio of the paper's gas constant to the exact one.
    """
    rod = _as_one_segment(next(iter(robot.rods.values())))
    problem = Cantilever(rod, time_step=time_step, elements=elements, scheme='bdf_alpha',
                         alpha=-0.2, gravity=robot.gravity, drag=rod.drag.square)
    if robot.platform is not None:
        inertia = robot.platform.inertia
        return ParallelRobot(
            problem, np.array([rod.base.matrix() for rod in robot.rods.values()]),
            np.array([leg.attachment.matrix() for leg in robot.legs.values()]),
            TipBody(robot.platform.mass, (inertia.xx, inertia.yy, inertia.zz)), **options)
    if robot.chambers:
        return FluidicRobot(problem, [
            Chamber(_offset(name, chamber.routing), chamber.area, fluid=FLUIDS[chamber.command])
            for name, chamber in robot.chambers.items()], **{'volume': 'conjugate', **options})
    return TendonRobot(problem, [
        Tendon(parallel(*_offset(name, tendon.routing)),
               end=np.inf if tendon.ends_at is None else tendon.ends_at)
        for name, tendon in robot.tendons.items()], **options)


def _as_one_segment(rod: MountedRod) -> MountedRod:
    """Return a rod whose segments differ in length alone as one of a single segment."""
    whole = replace(rod.segments[0], length=rod.length)
    if any(replace(segment, length=rod.length) != whole for segment in rod.segments):
        raise InvalidModel('segments', len(rod.segments), 'alike but for their length')
    return replace(rod, segments=(whole,))


def _offset(name: str, routing: Any) -> tuple[float, float]:
    if not isinstance(routing, Parallel):
        raise InvalidModel(f'routing of {name}', routing, 'parallel')
    return routing.offset
