"""
How the equations of a robot change with commands and loads: exact columns, nothing differenced.

With r(z, command, wrench) = 0 and its tangent K, ``dz = -K^-1 (dr/dcommand dcommand + ...)``. A
wrench enters linearly, and its column is minus the transpose of the motion that it works on: the
Jacobian of any station comes from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ..assembly.rods import RodsSolver
from ..checks.errors import SingularState
from ..description.gaits import GaitDrive
from ..description.joints import JointDrive
from ..description.parts import Chamber, Leg, Tendon
from ..laws.actuators import EFFORT, GAS, LENGTH
from ..simulation.builder import body_name
from ..simulation.model import GAS_CONSTANT
from ..simulation.simulator import Simulator


@contextmanager
def singular_states_named() -> Iterator[None]:
    """Raise `SingularState` where linear algebra fails."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise SingularState(
            'there is no linear model of this state: its stiffness is singular, infinite, or too '
            f'negative, as under loads that no robot bears ({error})') from error


def tangent(sim: Simulator) -> np.ndarray:
    """Return the static tangent dr/dz at the present instant, square."""
    still = np.zeros(sim.solver.z.size)
    return sim.equations().jacobian(sim.solver.z, still, still, 0.0, 0.0)[1]


def command_columns(sim: Simulator) -> np.ndarray:
    """
    Return dr/dcommand at the present instant, (unknowns, actuators), in described units.

    Of a joint with a velocity drive, which is held where it is: dr/dposition. Of a gait, which is
    held at its phase: the frequency changes nothing.
    """
    solver = sim.equations()
    z, drives, lengths = solver.z, solver.drives, solver.lengths()
    columns = np.zeros((z.size, len(sim.robot.actuators)))
    fed = _leg_columns(sim) if sim.robot.legs else columns.T
    held, c = solver.refresh().held, solver.tree.coordinates
    for j, (name, actuator) in enumerate(sim.robot.actuators.items()):
        if isinstance(actuator, JointDrive):
            place = sim.joints.places[name]
            columns[place, j] = (
                -c.hardness[place] if c.driven[place] else 0.0 if held[place] else -1.0)
            continue
        if isinstance(actuator, GaitDrive):
            columns[:, j] = _gait_column(sim, name)
            continue
        if isinstance(actuator, Leg):
            columns[:, j] = fed[sim.model.places[name].rod]
            continue
        at = sim.model.numbers[name]
        row = sim.solver.effort_places[at]
        gap = lengths[at] - drives.command[at] - drives.compliance[at] * z[row]
        slack = drives.pulls[at] and z[row] + drives.scale[at] * gap < 0.0
        slope = {
            EFFORT: -1.0,
            LENGTH: 0.0 if slack else drives.scale[at],
            GAS: -1.0 / (lengths[at] + drives.dead[at]),
        }[int(drives.kind[at])]
        columns[row, j] = slope * _unit(actuator)
    return columns


def _gait_column(sim: Simulator, name: str) -> np.ndarray:
    """Return dr/dparameter of a gait, (unknowns,): the equations are linear in it."""
    none = sim.solver.residual_at_rest(sim.solver.z)
    with sim.trying(**{name: sim.reached(name) + 1.0}) as solver:
        return solver.residual_at_rest(solver.z) - none


def _unit(actuator: Tendon | Chamber) -> float:
    """Return the change of a command of `Drives` with the described one."""
    if isinstance(actuator, Chamber):
        return {'pressure': -1.0, 'volume': 1.0,
                'amount': GAS_CONSTANT * actuator.temperature}[actuator.command]
    return 1.0 if actuator.command == 'tension' else -1.0


def _leg_columns(sim: Simulator) -> np.ndarray:
    """Return dr/dlength of each rod at the present instant, (k, unknowns): 0 of no legs."""
    legs, z = LegColumns(sim), sim.solver.z
    return legs.columns(z, sim.leg_lengths, legs.weights(sim.solver, z))


class LegColumns:
    """
    How the equations change with the lengths of legs.

    With lam = 1 + (L - L_0) / L_1: elastic forces by ``d/dlam [K / lam (xi_k - lam xi*)] =
    -K / lam^2 xi_k``, weight in proportion to lam.
    """

    def __init__(self, sim: Simulator) -> None:
        model = sim.model
        parts, self._model = model.feeding.parts, model
        self._legs = []  # of each: rod, places in z, stiffness of its elements, force at rest
        for i in sorted(model.places[name].rod for name in sim.robot.legs):
            d, stress = model.rods[i], parts.stress[model.nodes[i]]
            E, block = len(d.W), d.component.size // len(d.W)
            self._legs.append((
                i, sim.solver.q_places[i],
                parts.elastic[parts.entry[i]:parts.entry[i + 1]].reshape(E, block, block),
                np.einsum('k,kc,kc->c', d.w, d.Phi, stress[:, d.component])))
        self._first = np.array([
            sim.robot.rods[name].segments[0].length for name in model.names])

    def weights(self, solver: RodsSolver, z: np.ndarray) -> np.ndarray:
        """
        Return the change of the equations at z as the fed parts of all rods grow by lam = 1.

        A rod's weight is in its own equations only, so that all can be made heavier at once.
        """
        return solver.weight_of(self._model.feeding.parts.inertia, z)

    def columns(self, z: np.ndarray, lengths: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return dr/dlength of each leg (k, unknowns), at z with rods of these lengths (k,)."""
        columns, lam = np.zeros((lengths.size, z.size)), self._model.feeding.stretches(lengths)
        for i, at, stiffness, at_rest in self._legs:
            q = z[at].reshape(len(stiffness), -1, 1)
            elastic = (stiffness @ q).ravel() + at_rest
            columns[i, at] = (weights[at] - elastic / lam[i] ** 2) / self._first[i]
        return columns


class Spot(NamedTuple):
    """
    Where something is seen or acts.

    A body's frame, or a rod at an arc length, its end if left out. Neither: the platform's centre
    of mass, or the end of the only rod.
    """

    rod: str | None = None
    at: float | None = None    # [m]
    body: str | None = None


def tip_spot(sim: Simulator) -> Spot:
    """Return what carries the tip."""
    tip = sim.robot.tip
    return Spot() if sim.robot.platform is not None else Spot(tip.rod, None, tip.on)


def axes_of(sim: Simulator) -> np.ndarray:
    """Return the axes of base_link, twice, as columns of the assembly's frame, (6, 6)."""
    return np.kron(np.eye(2), sim.base.pose()[:3, :3])


def wrench_columns(
    sim: Simulator, rod: str | None = None, at: float | None = None, body: str | None = None,
) -> np.ndarray:
    """Return dr/dwrench, (unknowns, 6), of force and moment at a `Spot`, axes of base_link."""
    sim.equations()
    return _changes(sim, Spot(rod, at, body)) @ axes_of(sim)


def _changes(sim: Simulator, spot: Spot) -> np.ndarray:
    """Return dr/dwrench, (unknowns, 6), axes of the assembly's frame."""
    solver = sim.solver
    if spot.body is not None:
        frame = solver.places.bodies[body_name(sim.robot, spot.body)]
        arm = solver.refresh().end.R[frame.link] @ frame.pose[:3, 3]
        return link_changes(solver, solver.z, frame.link, arm)
    if sim.robot.platform is not None and spot.rod is None:
        columns = np.zeros((solver.z.size, 6))
        columns[solver.platform_places] = -np.eye(6)
        return columns
    place, z, changes = sim.model.place(spot.rod, spot.at), solver.z, []
    none = solver.residual_at_rest(z)
    try:
        for unit in np.eye(6):
            loads = sim.loads._replace(**{
                name: getattr(sim.loads, name).copy()
                for name in ('end_force', 'end_moment', 'line_force', 'line_moment')})
            sim.model.add_wrench(loads, place, unit)
            solver.load(loads)
            changes.append(solver.residual_at_rest(z) - none)
    finally:
        solver.load(sim.loads)
    return np.array(changes).T


def link_changes(solver: RodsSolver, z: np.ndarray, link: int, arm: np.ndarray) -> np.ndarray:
    """Return dr/dwrench at z, (unknowns, 6), at `arm` (3,) from the end of a link, its frame's."""
    bodies, changes = solver.tree.bodies, []
    before = bodies.force[link].copy(), bodies.moment[link].copy()
    none = solver.residual_at_rest(z)
    for unit in np.eye(6):
        bodies.force[link] = before[0] + unit[:3]
        bodies.moment[link] = before[1] + unit[3:] + np.cross(arm, unit[:3])
        changes.append(solver.residual_at_rest(z) - none)
        bodies.force[link], bodies.moment[link] = before
    return np.array(changes).T


def station_jacobian(
    sim: Simulator, rod: str | None = None, at: float | None = None, body: str | None = None,
) -> np.ndarray:
    """Return the motion of a `Spot` with z, (6, unknowns): position, rotation (base_link)."""
    with sim.equations().let_go():  # so that it is seen how held coordinates move it
        columns = -_changes(sim, Spot(rod, at, body)).T
    columns[:, ~sim.solver.moves] = 0.0
    return axes_of(sim).T @ columns


@singular_states_named()
def command_jacobian(
    sim: Simulator, rod: str | None = None, at: float | None = None, body: str | None = None,
) -> np.ndarray:
    """Return the static motion of a `Spot` with each command, (6, actuators)."""
    change = np.linalg.solve(tangent(sim), command_columns(sim))
    return -station_jacobian(sim, rod, at, body) @ change


@singular_states_named()
def compliance(
    sim: Simulator, rod: str | None = None, at: float | None = None, body: str | None = None,
) -> np.ndarray:
    """Return the static motion of a `Spot` with force and moment there, (6, 6)."""
    columns = wrench_columns(sim, rod, at, body)
    return -station_jacobian(sim, rod, at, body) @ np.linalg.solve(tangent(sim), columns)
