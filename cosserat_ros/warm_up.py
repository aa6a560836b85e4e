"""
Compile the numerics into the cache on disk, so that no node has to: run at installation.

    python -m cosserat_ros.warm_up
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from .analysis.linearize import linearize
from .analysis.stability import displacements, stability
from .assembly.blocks import Tangent
from .assembly.contact_work import returned
from .assembly.dense import linearise, solve_rows
from .assembly.equations import residual
from .assembly.fronts import Fronts
from .assembly.layout import remote_calls
from .assembly.newton import newton, Procedures, Stop
from .assembly.tangent import differentiate, multiply, renew
from .assembly.ties import factorise, solve
from .assembly.tree import Code, Tree, Work
from .description.fluid import Slender
from .description.gaits import Live, Wave
from .description.joints import Mount, RobotBase
from .description.obstacles import ContactProperties, Obstacle, Plane
from .description.parts import Body, Chamber, Inertia, Leg, Platform, Pose, Tendon
from .description.robot import MountedRod, Robot
from .description.rod import Material, Segment
from .description.routing import Parallel
from .description.section import Circular
from .inverse import InverseStatics, Target
from .inverse.compiled import actuator_lengths, linear_solves
from .inverse.quadratic import (
    Box,
    firm,
    least_on,
    Linear,
    multipliers,
    null_space,
    quadratic_step,
)
from .inverse.task import Task
from .numerics.integrators import begin, STILL
from .numerics.kernels import address, compiled
from .numerics.lie import hat, inverse_se3, write_places
from .numerics.references import reference
from .rod.outline import Marks, write_chords, write_frames, write_points
from .simulation.model import Model
from .simulation.simulator import Load, Simulator

ELIMINATION = 'tie', 'eliminate', 'substitute'  # of `Code`


def warm_up() -> None:
    """Do once what nodes do, with a robot of each kind; what is large, side by side."""
    jobs = (  # roughly by what needs what
        _compile_element_tangent, _compile_residual, _compile_elimination, _compile_tangent,
        _compile_newton, _compile_dense, _compile_others, _compile_searches)
    with ProcessPoolExecutor(2, get_context('spawn')) as processes:
        for job in [processes.submit(job) for job in jobs]:
            job.result()
    for robot in robots():
        _exercise(Simulator(robot))
    _swim()


class _Arguments(NamedTuple):
    """Of the sweeps; none of them is called."""

    tree: Tree
    work: Work
    tangent: Tangent
    fronts: Fronts
    code: Procedures
    z: np.ndarray     # (1,)
    rows: np.ndarray  # (1, 1)


def _arguments() -> _Arguments:
    tree, work, tangent, fronts = Model(robots()[0]).assembly().parts()[:4]
    return _Arguments(
        reference(tree), reference(work), reference(tangent), reference(fronts),
        Procedures(0, 0, 0, 0, 0, 0), np.zeros(1), np.zeros((1, 1)))


def _compile_element_tangent() -> None:
    a = _arguments()
    calls = remote_calls(a.tree, a.work, a.tangent, a.fronts)
    for k in (Code._fields.index('vary'), Code._fields.index('couple_chords')):
        address(calls[k][0], *calls[k][1])


def _compile_residual() -> None:
    a = _arguments()
    for name, (function, arguments) in zip(Code._fields, remote_calls(
            a.tree, a.work, a.tangent, a.fronts)):
        if name not in ('vary', 'couple_chords', *ELIMINATION):
            address(function, *arguments)
    address(residual, a.tree, a.z, a.z, a.z, a.work, a.z)


def _compile_elimination() -> None:
    a = _arguments()
    calls = remote_calls(a.tree, a.work, a.tangent, a.fronts)
    for name in ELIMINATION:
        function, arguments = calls[Code._fields.index(name)]
        address(function, *arguments)
    address(factorise, a.tree, 6, a.tangent, a.fronts)
    address(solve, a.tree, 6, a.tangent, a.fronts, a.z, a.rows, a.z)


def _compile_tangent() -> None:
    a = _arguments()
    address(differentiate, a.tree, a.work, a.z, 0.0, 0.0, 6, a.tangent)
    address(renew, a.tree, a.work, a.z, 0.0, 6, a.tangent)


def _compile_newton() -> None:
    a = _arguments()
    compiled(newton, a.tree, a.work, a.tangent, a.fronts, a.code, begin(a.z, a.z, a.z), STILL,
             Stop(a.z, a.z > 0.0, 1e-6, 1, 1.0), 6, False, a.rows)
    compiled(linear_solves, a.tree, a.work, a.tangent, a.fronts, a.code, a.z, a.z, True, a.rows,
             a.rows, a.rows)


def _compile_dense() -> None:
    a = _arguments()
    address(multiply, a.tree, 6, a.tangent, a.z, a.z)
    compiled(linearise, a.tree, a.work, a.tangent, a.code, a.rows, a.z, a.z, a.rows)
    compiled(solve_rows, a.tree, 6, a.tangent, a.fronts, a.code, a.rows, a.rows, a.rows)


def _compile_others() -> None:
    """Compile what does not need the equations."""
    sim = Simulator(robots()[0])
    sim.shape()
    sim.actuators()
    Task(sim, [Target(np.zeros(3))], 1.0, {}).errors(sim.solver.z, np.eye(3))
    actuator_lengths(sim.model.rods[0], sim.model.paths[0], sim.solver.q[0])
    inverse_se3(np.eye(4))
    hat(np.zeros(3))
    _draw(np.tile(np.eye(4), (2, 1, 1)), Marks(np.zeros(1, dtype=np.int64), np.zeros(1)))


def _compile_searches() -> None:
    """Compile what inverse statics and contact need beside the equations."""
    one, square = np.ones(1), np.ones((1, 1))
    quadratic_step(
        Linear(square, square, square, np.ones((3, 1))), Box(-one, one, one), *[one] * 7)
    null_space(square)
    least_on(square, one, square, square, one)
    multipliers(one, square, square, one > 0.0)
    firm(one, square, square, 1.0)
    a = _arguments()
    compiled(returned, a.tree, a.work, np.ones((1, 19)))


def _draw(poses: np.ndarray, marks: Marks) -> None:
    """Do what is done for markers and frames."""
    places = np.empty((2, 7))
    write_places(poses, places)
    write_frames(poses, marks, places[:1])
    write_points(poses, marks, np.zeros((1, 3)), np.empty((1, 3)))
    write_chords(poses, 1, places[:1], np.empty(1))


def robots() -> list[Robot]:
    """Return a small robot of each kind, with two or more of all: kernels of one are others."""
    segment = Segment(0.1, Circular(1e-3), Material(1e9, 1e3, poisson_ratio=0.3))
    rod = MountedRod(segments=(segment, segment))
    touching = ContactProperties(stiffness=1e4)
    sides = Parallel((0.01, 0.0)), Parallel((0.0, 0.01))
    legs = {}
    for k, angle in enumerate((0.0, 2.0, 4.0)):
        legs[f'leg_{k}'] = Mount((0.05 * np.cos(angle), 0.05 * np.sin(angle), 0.0))
    return [
        Robot('arm', {'backbone': replace(rod, contact=touching)}, tendons={
            f'tendon_{k}': Tendon(routing=side) for k, side in enumerate(sides)},
            obstacles={'floor': Obstacle(Plane(), Pose((0.0, 0.0, -1.0)), friction=0.1)}),
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
    sim.carry('weight', Body(1e-4), on='platform' if sim.robot.platform is not None else None)
    sim.step()
    sim.step()
    sim.shape()
    sim.look()
    sim.internal_wrenches()
    sim.actuators()
    sim.statics()
    displacements(sim, stability(sim).mode)
    linearize(sim)
    InverseStatics(sim).solve([Target(sim.tip_pose()[:3, 3])], start='present')


def _swim() -> None:
    """Do with a robot that floats in a fluid what a node does."""
    body = replace(robots()[0].rods['backbone'], contact=None, flow=Slender(density=1e3))
    sim = Simulator(Robot('fish', {'body': body}, base=RobotBase(motion='free'), gaits={
        'wave': Wave(profile=(1.0,), wave_length=0.1, frequency=Live(1.0))}))
    sim.statics()
    for _ in range(2):
        sim.step()
    sim.look()
    sim.go_to(sim.snapshot())


if __name__ == '__main__':
    warm_up()
