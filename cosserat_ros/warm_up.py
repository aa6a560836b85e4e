"""
Compile the numerics into the cache on disk, so that no node has to: run at installation.

    python -m cosserat_ros.warm_up
"""

from __future__ import annotations

import inspect

import numpy as np

from . import lie
from .inverse import InverseStatics, Target
from .linearize import linearize
from .parts import Body, Chamber, Inertia, Leg, Platform, Pose, Tendon
from .rod import Material, Segment
from .robot import MountedRod, Robot
from .routing import Parallel
from .section import Circular
from .simulator import Load, Simulator
from .stability import displacements, stability

# An argument of each name that the kernels of `lie` have.
_SAMPLES = {
    'w': np.ones(3), 'theta': np.ones(3), 'sigma': np.ones(3), 'xi': np.ones(6),
    'R': np.eye(3), 'W': np.eye(3), 'g': np.eye(4), 'Xi': np.eye(4), 'q': np.ones(4),
}


def warm_up() -> None:
    """Call every public kernel once with the types that the library uses."""
    for name, function in vars(lie).items():
        if not name.startswith('_') and getattr(function, '__module__', '') == lie.__name__:
            function(*(_SAMPLES[argument] for argument in inspect.signature(function).parameters))
    for robot in robots():
        _exercise(Simulator(robot))


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
