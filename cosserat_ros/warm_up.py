"""
Compile the numerics into the cache on disk, so that no node has to: run at installation.

    python -m cosserat_ros.warm_up
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from .analysis.linearize import linearize
from .analysis.stability import displacements, stability
from .assembly.assembly import Assembly, Attachment, RigidBody, RodPart
from .description.modes import StrainModes
from .description.parts import Body, Chamber, Inertia, Leg, Platform, Pose, Tendon
from .description.robot import MountedRod, Robot
from .description.rod import Material, Segment
from .description.routing import Parallel
from .description.section import Circular
from .engine.newton import Inverse, newton
from .engine.solver import RodSolver
from .engine.system import remote_calls, Tangent
from .inverse import InverseStatics, Target
from .inverse.compiled import actuator_lengths, solve_rows
from .inverse.quadratic import Box, Linear, quadratic_step
from .inverse.task import Task
from .numerics.integrators import begin, STILL
from .numerics.kernels import address, compiled
from .numerics.lie import hat, inverse_se3
from .rod.discretisation import discretise
from .simulation.simulator import Load, Simulator

RESIDUAL, TANGENT, WHOLE = 0, 1, 2  # of `remote_calls`


def warm_up() -> None:
    """Do once what nodes do, with a robot of each kind; what is large, side by side."""
    with ProcessPoolExecutor(2, get_context('spawn')) as processes:
        parts = [processes.submit(_compile_part, piece) for piece in (TANGENT, RESIDUAL)]
        others = [processes.submit(_compile_newton), processes.submit(_compile_assembly)]
        for job in parts:
            job.result()
        others += [processes.submit(_compile_part, WHOLE), processes.submit(_compile_others)]
        for job in others:
            job.result()
    for robot in robots():
        _exercise(Simulator(robot))


def _compile_part(piece: int) -> None:
    """Compile a part of the equations."""
    solver = RodSolver(discretise(robots()[0].rods['backbone'], StrainModes()))
    function, arguments = remote_calls(solver.present())[piece]
    address(function, *arguments)


def _compile_assembly() -> None:
    """Do once what an assembly can do."""
    rod = robots()[0].rods['backbone']
    solver = Assembly(
        {'tool': RigidBody(0.01, 1e-5 * np.eye(3))},
        {'rod': RodPart(rod, StrainModes(), tip=Attachment('tool'))}).solver()
    solver.statics()
    solver.start()
    solver.step(1e-3)


def _compile_newton() -> None:
    """Compile Newton's method, which needs to know no more of the equations than their types."""
    solver = RodSolver(discretise(robots()[0].rods['backbone'], StrainModes()))
    one, square, cube = np.ones(1), np.ones((1, 1)), np.ones((1, 1, 1))
    compiled(newton, solver.present(), begin(one, one, one), STILL, one, 1e-6, 1, 1.0,
             Inverse(cube, cube, cube, square), False)


def _compile_others() -> None:
    """Compile what does not need the equations."""
    sim = Simulator(robots()[0])
    sim.shape()
    sim.actuators()
    Task(sim, [Target(np.zeros(3))], 1.0, {}).errors(sim.solver.z, np.eye(3))
    actuator_lengths(sim.model.rods[0], sim.model.paths[0], sim.solver.q[0])
    inverse_se3(np.eye(4))
    hat(np.zeros(3))
    one, square, cube = np.ones(1), np.ones((1, 1)), np.ones((1, 1, 1))
    solve_rows(Tangent(cube, cube, cube, square), False, True,
               Inverse(cube, cube, cube, square), square, np.empty((1, 1)))
    quadratic_step(
        Linear(square, square, square, np.ones((3, 1))), Box(-one, one, one), *[one] * 7)


def robots() -> list[Robot]:
    """Return a small robot of each kind, with two or more of all: kernels of one are others."""
    segment = Segment(0.1, Circular(1e-3), Material(1e9, 1e3, poisson_ratio=0.3))
    rod = MountedRod(segments=(segment, segment))
    sides = Parallel((0.01, 0.0)), Parallel((0.0, 0.01))
    legs = {}
    for k, angle in enumerate((0.0, 2.0, 4.0)):
        legs[f'leg_{k}'] = Pose((0.05 * np.cos(angle), 0.05 * np.sin(angle), 0.0))
    return [
        Robot('arm', {'backbone': rod}, tendons={
            f'tendon_{k}': Tendon(routing=side) for k, side in enumerate(sides)}),
        Robot('finger', {'backbone': rod}, chambers={
            f'chamber_{k}': Chamber(routing=side, area=1e-5, command='amount')
            for k, side in enumerate(sides)}),
        Robot('platform', {
            name: MountedRod(segments=rod.segments, base=base) for name, base in legs.items()},
            legs={name: Leg(rod=name, attachment=base) for name, base in legs.items()},
            platform=Platform(0.01, Inertia(1e-5, 1e-5, 2e-5), 0.05, 0.003)),
    ]


def _exercise(sim: Simulator) -> None:
    """Do with a robot all that a node does."""
    sim.statics()
    sim.set_loads({'pull': Load(np.full(6, 1e-6))})
    sim.carry('weight', Body(1e-4), on_platform=sim.robot.platform is not None)
    sim.step()
    sim.step()
    sim.twists(sim.shape())
    sim.internal_wrenches()
    sim.actuators()
    sim.statics()
    displacements(sim, stability(sim).mode)
    linearize(sim)
    InverseStatics(sim).solve([Target(sim.tip_pose()[:3, 3])], start='present')


if __name__ == '__main__':
    warm_up()
