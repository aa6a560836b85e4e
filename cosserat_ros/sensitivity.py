"""
How the equations of a robot change with commands and loads: exact columns, nothing differenced.

With r(z, command, wrench) = 0 and its tangent K, ``dz = -K^-1 (dr/dcommand dcommand + ...)``. A
wrench enters linearly, and its column is minus the transpose of the motion that it works on: the
Jacobian of any station comes from there.
"""

from __future__ import annotations

import numpy as np

from .actuators import EFFORT, GAS, LENGTH, lengths_and_gradients
from .equations import Loads
from .model import GAS_CONSTANT
from .parts import Chamber, Leg, Tendon
from .simulator import Simulator
from .system import System, unbalance_and_jacobian


def tangent(sim: Simulator) -> np.ndarray:
    """Return the static tangent dr/dz at the present instant, square."""
    still = np.zeros(sim.solver.z.size)
    return unbalance_and_jacobian(sim.system(), sim.solver.z, still, still, 0.0, 0.0)[1]


def command_columns(sim: Simulator) -> np.ndarray:
    """Return dr/dcommand at the present instant, (unknowns, actuators), in described units."""
    system, z = sim.system(), sim.solver.z
    columns = np.zeros((z.size, len(sim.robot.actuators)))
    for j, (name, actuator) in enumerate(sim.robot.actuators.items()):
        i, slot = sim.model.places[name]
        if isinstance(actuator, Leg):
            columns[:, j] = _leg_column(sim, system, i)
            continue
        row = sim.solver.effort_places[i, slot]
        drives, at = system.drives, (i, slot)
        length = lengths_and_gradients(sim.solver.paths[i], sim.solver.state(i).xi)[0][slot]
        gap = length - drives.command[at] - drives.compliance[at] * z[row]
        slack = drives.pulls[at] and z[row] + drives.scale[at] * gap < 0.0
        slope = {
            EFFORT: -1.0,
            LENGTH: 0.0 if slack else drives.scale[at],
            GAS: -1.0 / (length + drives.dead[at]),
        }[int(drives.kind[at])]
        columns[row, j] = slope * _unit(actuator)
    return columns


def _unit(actuator: Tendon | Chamber) -> float:
    """Return the change of a command of `Drives` with the described one."""
    if isinstance(actuator, Chamber):
        return {'pressure': -1.0, 'volume': 1.0,
                'amount': GAS_CONSTANT * actuator.temperature}[actuator.command]
    return 1.0 if actuator.command == 'tension' else -1.0


def _leg_column(sim: Simulator, system: System, i: int) -> np.ndarray:
    """
    Return dr/dlength of a leg.

    With lam = 1 + (L - L_0) / L_1: elastic forces by ``d/dlam [K / lam (xi_k - lam xi*)] =
    -K / lam^2 xi_k``, weight and inertia in proportion to lam.
    """
    name, d = sim.model.names[i], sim.model.rods[i]
    first = sim.robot.rods[name].segments[0].length
    lam, fed = sim.model.stretches(sim.leg_lengths)[i], sim.model.fed_nodes[i]
    z, still = sim.solver.z, np.zeros(sim.solver.z.size)
    strain = sim.solver.state(i).xi
    stress = np.where(fed[:, None], -d.stiffness / lam ** 2 * strain, 0.0)
    column = np.zeros(z.size)
    column[sim.solver.q_places[i]] = np.einsum(
        'k,kc,kc->c', d.w, d.Phi, stress[:, d.component])
    heavier, lighter = system.rods.inertia.copy(), system.rods.inertia.copy()
    heavier[i] += np.where(fed[:, None], d.inertia, 0.0)
    weight = [unbalance_and_jacobian(
        system._replace(rods=system.rods._replace(inertia=inertia)), z, still, still, 0.0, 0.0)[0]
        for inertia in (heavier, lighter)]
    return (column + weight[0] - weight[1]) / first


def wrench_columns(sim: Simulator, rod: str | None = None, at: float | None = None) -> np.ndarray:
    """
    Return dr/dwrench, (unknowns, 6), of force and moment at a station, axes of base_link.

    The platform's centre of mass, or the end of the only rod, if no rod is named.
    """
    if sim.robot.platform is not None and rod is None:
        columns = np.zeros((sim.solver.z.size, 6))
        columns[-6:] = -np.eye(6)
        return columns
    place = sim.model.place(rod, at)
    system, z = sim.system(), sim.solver.z
    still = np.zeros(z.size)

    def unbalance(loads: Loads) -> np.ndarray:
        return unbalance_and_jacobian(
            system._replace(loads=loads), z, still, still, 0.0, 0.0)[0]

    none = unbalance(system.loads)
    changes = []
    for unit in np.eye(6):
        loads = system.loads._replace(
            end_force=system.loads.end_force.copy(), end_moment=system.loads.end_moment.copy(),
            line_force=system.loads.line_force.copy(),
            line_moment=system.loads.line_moment.copy())
        sim.model.add_wrench(loads, place, unit)
        changes.append(unbalance(loads) - none)
    return np.array(changes).T


def station_jacobian(
    sim: Simulator, rod: str | None = None, at: float | None = None,
) -> np.ndarray:
    """Return the motion of a station with z, (6, unknowns): position, rotation (base_link)."""
    columns = -wrench_columns(sim, rod, at).T
    columns[:, ~sim.solver.moves] = 0.0
    return columns


def command_jacobian(
    sim: Simulator, rod: str | None = None, at: float | None = None,
) -> np.ndarray:
    """Return the static motion of a station with each command, (6, actuators)."""
    return -station_jacobian(sim, rod, at) @ np.linalg.solve(tangent(sim), command_columns(sim))


def compliance(sim: Simulator, rod: str | None = None, at: float | None = None) -> np.ndarray:
    """Return the static motion of a station with force and moment there, (6, 6)."""
    columns = wrench_columns(sim, rod, at)
    return -station_jacobian(sim, rod, at) @ np.linalg.solve(tangent(sim), columns)


def unstable_directions(sim: Simulator) -> int:
    """
    Return in how many ways the present equilibrium would be left: 0 if it is stable.

    Newton's method finds unstable equilibria as well as stable ones. The tangent's rows of closed
    drives and held tips are scaled so that it is symmetric; each of them adds a negative
    eigenvalue that is none of the energy's.
    """
    K, moves = tangent(sim), sim.solver.moves
    ruled = np.flatnonzero(~moves)
    slope, force = K[np.ix_(ruled, moves)], K[np.ix_(moves, ruled)].T
    square = np.einsum('ij,ij->i', force, force)
    factor = np.einsum('ij,ij->i', slope, force) / np.where(square > 0.0, square, 1.0)
    held = np.abs(factor) > 0.0
    K[ruled[held]] /= factor[held, None]
    kept = moves.copy()
    kept[ruled[held]] = True
    size = np.where(sim.solver.strain_scale > 0.0, 1.0 / np.where(
        moves, sim.solver.strain_scale, 1.0), 1.0)[kept]
    scaled = size[:, None] * K[np.ix_(kept, kept)] * size
    values = np.linalg.eigvalsh(0.5 * (scaled + scaled.T))
    return int(np.sum(values < 0.0) - np.sum(held))
