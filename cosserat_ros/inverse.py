r"""
Inverse statics: the actuation that brings stations of a robot to their targets.

Shape z and actuation u are sought together. With the equations ``r(z, u) = 0``, their tangent K
and columns ``C = dr/du``, a step is ``dz = -K^-1 (r + C du)``, and the task's error ``e(z)``
changes by ``J dz``: what is left is a quadratic program in the few du,

    minimise |e + J dz|^2 + mu |u + du - u_0|^2 + lam |du|^2   within limits of u and commands,

with u_0 = 0 for least effort. mu falls to `damping`^2, so that effort decides only among
actuations that are equally good for the task; lam is that of Levenberg and Marquardt.

Tendons and chambers are driven by their efforts here, whatever they are told in the end: a tendon
that is slack has no slope with its displacement, but one with its tension. Commands that are not
efforts follow from shape and effort, and their limits are limits of the quadratic program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
import math
from typing import Any, NamedTuple

import numpy as np

from .actuators import Drives, EFFORT, lengths_and_gradients
from .checked import check_number, check_vector
from .errors import InvalidModel, UnknownName
from .inverse_kernels import least_quadratic, solve_rows, Station, station_motion
from .lie import exp_so3, hat, inverse_left_tangent_so3, left_tangent_so3, log_so3
from .model import GAS_CONSTANT, Stations
from .parts import Chamber, Leg, Pose, Tendon
from .robot import Robot
from .simulator import Simulator
from .system import CONVERGED, equations, Inverse, newton, System, Tangent, whole_tangent

GOALS = ('least_effort', 'nearest')
STARTS = ('last', 'present', 'rest')
MET = 1e-9          # of the robot's length, or rad, by which a target that is met may be missed
EXACT = 1e-11       # of the same, at which there is nothing left to do
REACH = 1.0         # [rad] of bending over the length, in one step
CONTRACTION = 0.5   # of a step, that the way back to equilibrium may be
SLUGGISH = 1e-3     # damping for targets that are out of reach
LEADS = 40          # steps to lead shape and actuation to the targets
MOST = 80           # steps of a solve
PENALTY = 100.0     # of violated limits of commands, in the merit
ROUNDING = 1e-15    # of the quadratic program, relative
NEAR = 1e-2         # step, as strain, after which a tangent is good for the next
HERE = np.eye(4)
STIFFEST = 1e8      # lam, at which there is no way down


class Target(NamedTuple):
    """
    Where one station of the robot should be, seen from base_link.

    The station is the tip of the description, with its offset, if neither `rod` nor `at` is
    given; else the rod's body frame at arc length `at` [m], its end if left out.
    """

    position: Any                            # (3,) [m]
    rotation: Any = None                     # (3, 3), body to base_link; None if it is free
    rod: str | None = None
    at: float | None = None
    weight: float = 1.0                      # against other targets [-]
    orientation_weight: float | None = None  # length that a radian counts as; the robot's [m]


class Result(NamedTuple):
    """What was found; commands are within all limits in any case."""

    commands: dict[str, float]       # of all actuators, as described
    converged: bool                  # whether nothing better is near
    met: bool                        # whether all targets are met
    position_errors: np.ndarray      # distance still missing, per target [m]
    orientation_errors: np.ndarray   # angle still missing, per target; 0 if free [rad]
    iterations: int
    message: str                     # why not; empty if converged and met
    z: np.ndarray                    # unknowns of the equilibrium, see `cosserat_ros.system`
    R: np.ndarray                    # attitude that the turn of a platform in z is counted from


# --- Mechanics -----------------------------------------------------------------------------------

class _Linear(NamedTuple):
    """The equations near z and u: ``dz = settle + slope du``."""

    settle: np.ndarray   # (unknowns,) way to the equilibrium
    slope: np.ndarray    # (unknowns, m)


class _Mechanics:
    """The equations of a simulator's robot as functions of z and of the actuation u (m,)."""

    def __init__(self, sim: Simulator) -> None:
        self.sim, robot, model = sim, sim.robot, sim.model
        self.names, self.actuators = list(robot.actuators), list(robot.actuators.values())
        places = [model.places[name] for name in self.names]
        self.leg = np.array([isinstance(a, Leg) for a in self.actuators], dtype=bool)
        self.rod = np.array([p.rod for p in places], dtype=int)
        self.slot = np.array([p.slot for p in places], dtype=int)
        self.row = np.array([-1 if leg else sim.solver.effort_places[p.rod, p.slot]
                             for p, leg in zip(places, self.leg)], dtype=int)
        size, k = sim.solver.z.size, len(model.rods)
        P = 6 * (robot.platform is not None)
        self.B, self.n = (size - P) // k, sim.solver.n
        self.still, self.r = np.zeros(size), np.zeros(size)
        shapes = (k, self.B, self.B), (k, self.B, 6), (k, 6, self.B), (6, 6)
        self.tangent = Tangent(*(np.zeros(shape) for shape in shapes))
        self.inverse = Inverse(*(np.zeros(shape) for shape in shapes))
        self.rows = np.zeros((1 + len(self.names), size))
        self.scale = np.array(sim.solver.strain_scale)
        self.strain_of = [_strain_matrix(d) for d in model.rods]
        self._prepare_legs()
        self._taken: tuple[Any, Any] | None = None
        self.take()

    def _prepare_legs(self) -> None:
        model = self.sim.model
        legs = [model.rods[i] for i in self.rod[self.leg]]
        rods = [self.sim.robot.rods[model.names[i]] for i in self.rod[self.leg]]
        self.first = np.array([rod.segments[0].length for rod in rods])
        self.rest_length = np.array([rod.length for rod in rods])
        parts, fed = model.feeding, self.rod[self.leg]
        self.fed_elastic, self.fixed_elastic = parts.elastic[fed], parts.other_elastic[fed]
        self.fed_inertia, self.fed_stress = parts.inertia[fed], parts.stress[fed]
        self.fed_force = np.array([
            np.einsum('k,kc,kc->c', d.w, d.Phi, stress[:, d.component])
            for d, stress in zip(legs, self.fed_stress)])

    def take(self) -> None:
        """Take over the loads that act on the simulator now."""
        sim = self.sim
        system = sim.solver.system(sim.loads)
        if self._taken is not None and self._taken[0] is sim.loads:
            if self._taken[1] is system.platform.wrench:
                return
        self._taken = sim.loads, system.platform.wrench
        self.stress = system.loads.stress.copy()
        d, inertia = system.rods, np.array([rod.inertia for rod in sim.model.rods])
        self.own_inertia = inertia
        self.described = sim.model.drives(sim.commands)
        self.system = system._replace(
            rods=d._replace(elastic=d.elastic.copy(), inertia=inertia.copy()),
            drives=self.described._replace(
                kind=np.full_like(self.described.kind, EFFORT),
                command=np.zeros_like(self.described.command)),
            loads=system.loads._replace(stress=self.stress.copy()))

    def stand(self, R: np.ndarray) -> None:
        """Count the platform's turn from R on."""
        self.system = self.system._replace(platform=self.system.platform._replace(R=R))

    def actuate(self, u: np.ndarray) -> System:
        """Return the system under actuation u; it is the same object each time."""
        system, pulled = self.system, ~self.leg
        system.drives.command[self.rod[pulled], self.slot[pulled]] = u[pulled]
        if self.leg.any():
            i, lam = self.rod[self.leg], self._stretch(u)[:, None, None]
            system.rods.elastic[i] = self.fixed_elastic + self.fed_elastic / lam
            system.rods.inertia[i] = self.own_inertia[i] + (lam - 1.0) * self.fed_inertia
            system.loads.stress[i] = self.stress[i] + (1.0 / lam - 1.0) * self.fed_stress
        return system

    def _stretch(self, u: np.ndarray) -> np.ndarray:
        return 1.0 + (u[self.leg] - self.rest_length) / self.first

    def linearise(self, z: np.ndarray, u: np.ndarray) -> _Linear | None:
        """Return the equations near z and u, or None where the tangent is singular."""
        system = self._write_rows(z, u)
        rows = self.rows
        out = np.empty_like(rows)
        try:
            found = solve_rows(
                self.tangent, system.platform.moves, True, self.inverse, rows, out)
        except np.linalg.LinAlgError:
            found = False
        return _Linear(-out[0], -out[1:].T) if found else None

    def whole(self, z: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return r and its tangent, square; `rows` from 1 on are its columns with u."""
        self._write_rows(z, u)
        return self.r, whole_tangent(self.tangent, self.system.platform.moves)

    def _write_rows(self, z: np.ndarray, u: np.ndarray) -> System:
        """Write the tangent, and to `rows` the equations and their slopes with u."""
        system, rows = self.actuate(u), self.rows
        equations(system, z, self.still, self.still, 0.0, 0.0, True, self.r, self.tangent)
        rows[:] = 0.0
        rows[0] = self.r
        pulled = np.flatnonzero(~self.leg)
        rows[1 + pulled, self.row[pulled]] = -1.0
        if self.leg.any():
            self._leg_rows(system, z, u, rows)
        return system

    def _leg_rows(self, system: System, z: np.ndarray, u: np.ndarray, rows: np.ndarray) -> None:
        """Write dr/dlength; weight is linear in the length, so that its slope is a difference."""
        inertia = system.rods.inertia.copy()
        inertia[self.rod[self.leg]] += self.fed_inertia
        heavier = np.empty_like(self.r)
        equations(system._replace(rods=system.rods._replace(inertia=inertia)), z, self.still,
                  self.still, 0.0, 0.0, False, heavier, self.tangent)
        weight, lam = heavier - self.r, self._stretch(u)
        for a, j in enumerate(np.flatnonzero(self.leg)):
            i = self.rod[j]
            rod, q = slice(i * self.B, (i + 1) * self.B), self.sim.solver.q_places[i]
            rows[1 + j, rod] = weight[rod]
            rows[1 + j, q] -= (self.fed_elastic[a] @ z[q] + self.fed_force[a]) / lam[a] ** 2
            rows[1 + j] /= self.first[a]

    def settle(self, z: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, float]:
        """Return z nearer to the equilibrium under u by the last tangent, and how far it was."""
        system, step = self.actuate(u), np.empty((1, z.size))
        equations(system, z, self.still, self.still, 0.0, 0.0, False, self.r, self.tangent)
        solve_rows(self.tangent, system.platform.moves, False, self.inverse, self.r[None], step)
        return z - step[0], self.strain(step[0])

    def strain(self, step: np.ndarray) -> float:
        """Return the size of a change of z, as strain."""
        size = float(np.max(np.abs(step) * self.scale))
        return size if math.isfinite(size) else math.inf

    def equilibrium(
        self, z: np.ndarray, u: np.ndarray, drives: Drives | None = None, known: bool = False,
    ) -> tuple[np.ndarray, bool]:
        """
        Return the equilibrium under u near z, and whether there is one.

        Parameters
        ----------
        z, u : arrays
        drives : Drives, optional
            Instead of the efforts of u.
        known : bool
            Whether the last tangent is good enough.

        """
        system = self.actuate(u)
        if drives is not None:
            system = system._replace(drives=drives)
        try:
            found, status, *_ = newton(
                system, z, 0.0, self.still, 0.0, self.still, self.scale, 1e-11, 30, 2.0,
                self.inverse, known)
        except np.linalg.LinAlgError:
            return z, False
        return found, status == CONVERGED

    # --- Commands ---

    def lengths(self, z: np.ndarray) -> np.ndarray:
        """Return lengths and volumes of the actuators, (m,); 0 for legs."""
        lengths, solver = np.zeros(len(self.names)), self.sim.solver
        for i in set(self.rod[~self.leg]):
            xi = self.sim.model.rods[i].rest_strain + self.strain_of[i] @ z[solver.q_places[i]]
            here = (self.rod == i) & ~self.leg
            lengths[here] = lengths_and_gradients(solver.paths[i], xi)[0][self.slot[here]]
        return lengths

    def length_rows(self, linear: _Linear, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how lengths of actuators change: as z settles (k,), and with u (k, m)."""
        settle, slope = np.empty(which.size), np.empty((which.size, len(self.names)))
        for i in set(self.rod[which]):
            here = self.rod[which] == i
            gradient = self.tangent.block[i, :self.n, self.n + self.slot[which[here]]]
            q = self.sim.solver.q_places[i]
            settle[here] = gradient @ linear.settle[q]
            slope[here] = gradient @ linear.slope[q]
        return settle, slope


def _strain_matrix(d: Any) -> np.ndarray:
    """Return the strains at the nodes by the modes, (N, 6, n)."""
    matrix = np.zeros((d.s.size, 6, d.component.size))
    matrix[:, d.component, np.arange(d.component.size)] = d.Phi
    return matrix


# --- Limits --------------------------------------------------------------------------------------

class _Limits:
    """
    Limits of the actuation u and of commands that are not efforts.

    Tension, minus the pressure, or the length of a leg is u; displacements, volumes and amounts
    of gas follow from u and the shape ('measured').
    """

    def __init__(self, mechanics: _Mechanics, bounds: Mapping[str, Any] | None) -> None:
        self.mechanics, self.model = mechanics, mechanics.sim.model
        m = len(mechanics.names)
        self.least, self.most = np.full(m, -np.inf), np.full(m, np.inf)
        ranges = [_command_range(name, actuator, (bounds or {}).get(name))
                  for name, actuator in zip(mechanics.names, mechanics.actuators)]
        self.command_least, self.command_most = np.array(ranges).T
        self.box = np.concatenate([np.eye(m), -np.eye(m)])
        self.pulls = np.array([isinstance(a, Tendon) for a in mechanics.actuators])
        for name in bounds or {}:
            if name not in mechanics.names:
                raise UnknownName('bounds', name, mechanics.names)
        measured = []
        for j, (actuator, (least, most)) in enumerate(
                zip(mechanics.actuators, ranges)):
            if actuator.command in ('tension', 'length'):
                self.least[j], self.most[j] = least, most
            elif actuator.command == 'pressure':
                self.least[j], self.most[j] = -most, -least
            else:
                measured.append(j)
                self.least[j] = 0.0 if isinstance(actuator, Tendon) else -np.inf
                if isinstance(actuator, Chamber):
                    self.most[j] = actuator.ambient_pressure
        self.measured = np.array(measured, dtype=int)
        self._coefficients()
        rest = mechanics.rest_length - mechanics.first
        self.least[mechanics.leg] = np.maximum(
            self.least[mechanics.leg], rest + 1e-3 * mechanics.first)

    def _coefficients(self) -> None:
        """Write commands as constant + by_length length + by_u u; gas has its own law."""
        mechanics, m = self.mechanics, len(self.mechanics.names)
        self.constant, self.by_length, self.by_u = np.zeros(m), np.zeros(m), np.ones(m)
        self.gas = [j for j, a in enumerate(mechanics.actuators) if a.command == 'amount']
        for j, actuator in enumerate(mechanics.actuators):
            if isinstance(actuator, Tendon) and actuator.command == 'displacement':
                rest = self.model.rest_lengths[mechanics.rod[j], mechanics.slot[j]]
                self.constant[j] = rest - actuator.compliance * actuator.pretension
                self.by_length[j], self.by_u[j] = -1.0, actuator.compliance
            elif isinstance(actuator, Chamber):
                self.by_u[j] = 0.0 if actuator.command == 'volume' else -1.0
                self.by_length[j] = 1.0 if actuator.command == 'volume' else 0.0

    def values(
        self, u: np.ndarray, length: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return commands, and their slopes with the actuator's length and with u, (m,) each."""
        value = self.constant + self.by_length * length + self.by_u * u
        by_length, by_u = self.by_length, self.by_u
        if self.gas:
            by_length, by_u = by_length.copy(), by_u.copy()
        for j in self.gas:
            chamber = self.mechanics.actuators[j]
            assert isinstance(chamber, Chamber)
            thermal = GAS_CONSTANT * chamber.temperature
            volume, pressure = length[j] + chamber.dead_volume, chamber.ambient_pressure - u[j]
            value[j] = pressure * volume / thermal
            by_length[j], by_u[j] = pressure / thermal, -volume / thermal
        return value, by_length, by_u

    def commands(self, z: np.ndarray, u: np.ndarray) -> dict[str, float]:
        """Return what to tell the actuators; a slack tendon is told to just fit."""
        value = self.values(u, self.mechanics.lengths(z))[0]
        value = np.clip(value, self.command_least, self.command_most)
        return dict(zip(self.mechanics.names, value.tolist()))

    def drives(self, commands: Mapping[str, float]) -> Drives:
        """Return the rules of the described commands."""
        drives = self.mechanics.described
        for j, name in enumerate(self.mechanics.names):
            actuator = self.mechanics.actuators[j]
            if not isinstance(actuator, Leg):
                drives.command[self.mechanics.rod[j], self.mechanics.slot[j]] = (
                    self.model.told(name, actuator, actuator.command, commands[name]))
        return drives

    def rows(
        self, z: np.ndarray, u: np.ndarray, linear: _Linear, scale: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the limits of a step x = du / scale: C and b of ``C x >= b``."""
        every, limit = self.box, np.concatenate([self.least - u, u - self.most])
        limit /= np.concatenate([scale, scale])
        if self.measured.size:
            j = self.measured
            settle, slope = self.mechanics.length_rows(linear, j)
            value, by_length, by_u = (
                x[j] for x in self.values(u, self.mechanics.lengths(z)))
            row = by_length[:, None] * slope
            row[np.arange(j.size), j] += by_u
            row, value = row * scale, value + by_length * settle
            size = np.linalg.norm(row, axis=1)
            above = (value - self.command_most[j]) / size
            stays = (above > 0.0) & (u[j] <= 0.0) & self.pulls[j]  # slack: may be told less
            above[stays] = -np.inf
            limit[u.size + j[stays]] = 0.0
            row /= size[:, None]
            every = np.concatenate([every, row, -row])
            limit = np.concatenate([limit, (self.command_least[j] - value) / size, above])
        finite = np.isfinite(limit)
        return np.ascontiguousarray(every[finite]), limit[finite]

    def violation(self, z: np.ndarray, u: np.ndarray, sizes: np.ndarray) -> float:
        """Return the sum of squares by which measured commands are beyond their limits."""
        if not self.measured.size:
            return 0.0
        value = self.values(u, self.mechanics.lengths(z))[0]
        slack = (u <= 0.0) & self.pulls
        beyond = np.maximum(
            self.command_least - value, np.where(slack, 0.0, value - self.command_most))
        beyond = np.maximum(beyond, 0.0)[self.measured] / sizes[self.measured]
        return float(beyond @ beyond)


def _command_range(name: str, actuator: Any, further: Any) -> tuple[float, float]:
    """Return least and greatest command, by the description and by what is given beside it."""
    least, most = actuator.bounds
    if further is None:
        return least, most
    field = f'bounds.{name}'
    if not isinstance(further, (Sequence, np.ndarray)) or len(further) != 2:
        raise InvalidModel(field, further, f'least and greatest command [{actuator.unit}]')
    for i, value in enumerate(further):
        if value is not None and not (isinstance(value, float) and math.isinf(value)):
            check_number(f'{field}[{i}]', value, unit=actuator.unit)
    least = max(least, -np.inf if further[0] is None else float(further[0]))
    most = min(most, np.inf if further[1] is None else float(further[1]))
    if least > most:
        raise InvalidModel(
            field, tuple(further), f'a range that meets {actuator.bounds} [{actuator.unit}]')
    return least, most


# --- Task ----------------------------------------------------------------------------------------

class _Aim(NamedTuple):
    """A target, checked."""

    position: np.ndarray
    rotation: np.ndarray | None
    rod: int                  # -1: the platform
    station: Station | None
    offset: np.ndarray        # (4, 4) from the station to the frame that is aimed
    weight: np.ndarray        # (6,) of the errors


class _Task:
    """Errors of all targets, as functions of z."""

    def __init__(
        self, sim: Simulator, targets: Sequence[Target], length: float,
        stations: dict[tuple[int, float], Station],
    ) -> None:
        if not isinstance(targets, Sequence) or not targets:
            raise InvalidModel('targets', targets, 'a list of at least one target')
        self.sim, self.length, self.stations = sim, length, stations
        self.offset = _matrix(sim.robot.tip.offset)
        self.aims = [self._aim(f'targets[{i}]', target) for i, target in enumerate(targets)]

    def _aim(self, field: str, target: Target) -> _Aim:
        if not isinstance(target, Target):
            raise InvalidModel(field, target, 'a Target')
        position = np.array(check_vector(f'{field}.position', target.position, 3, unit='m'))
        rotation = _checked_rotation(f'{field}.rotation', target.rotation)
        weight = check_number(f'{field}.weight', target.weight, least=0.0)
        radian = self.length
        if target.orientation_weight is not None:
            radian = check_number(
                f'{field}.orientation_weight', target.orientation_weight, above=0.0, unit='m')
        weights = weight / self.length * np.repeat([1.0, radian], 3)
        robot, model = self.sim.robot, self.sim.model
        if target.rod is None and target.at is None:
            offset = self.offset
            if robot.platform is not None:
                return _Aim(position, rotation, -1, None, offset, weights)
            name = robot.rod_name(robot.tip.rod)
        else:
            name, offset = self._rod(field, target.rod), HERE
        i, end = model.names.index(name), robot.rods[name].length
        s = end if target.at is None else check_number(
            f'{field}.at', target.at, least=0.0, most=end, unit='m')
        if (i, s) not in self.stations:
            self.stations[i, s] = Station(*Stations(model.rods[i], np.array([s])).shares(0))
        return _Aim(position, rotation, i, self.stations[i, s], offset, weights)

    def _rod(self, field: str, rod: str | None) -> str:
        robot = self.sim.robot
        if rod is None and len(robot.rods) > 1:
            raise InvalidModel(f'{field}.rod', None, 'given where there are several')
        name = robot.rod_name(rod)
        if name not in robot.rods:
            raise UnknownName(f'{field}.rod', name, list(robot.rods))
        return name

    def pose(self, aim: _Aim, z: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return position, rotation and motion with z (6, unknowns) of what is aimed."""
        J = np.zeros((6, z.size))
        if aim.station is None:
            p, R = z[-6:-3], exp_so3(z[-3:]) @ R
            J[:3, -6:-3], J[3:, -3:] = np.eye(3), left_tangent_so3(z[-3:])
        else:
            solver, i = self.sim.solver, aim.rod
            q = solver.q_places[i]
            p, R, J[:, q], _ = station_motion(
                self.sim.model.rods[i], solver.bases[i], z[q], aim.station)
            if len(aim.station.turn) > 1:
                U, _, Vt = np.linalg.svd(R)
                R = U @ Vt
        if aim.offset is HERE:
            return p, R, J
        arm = R @ aim.offset[:3, 3]
        J[:3] -= hat(arm) @ J[3:]
        return p + arm, R @ aim.offset[:3, :3], J

    def errors(self, z: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weighted errors, stacked, and their motion with z; R as in `Result`."""
        errors, motions = [], []
        for aim in self.aims:
            p, turned, J = self.pose(aim, z, R)
            errors.append(aim.weight[:3] * (p - aim.position))
            motions.append(aim.weight[:3, None] * J[:3])
            if aim.rotation is not None:
                turn = log_so3(turned @ aim.rotation.T)
                errors.append(aim.weight[3:] * turn)
                motions.append(aim.weight[3:, None] * (inverse_left_tangent_so3(turn) @ J[3:]))
        return np.concatenate(errors), np.concatenate(motions)

    def missing(self, z: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distances [m] and angles [rad] that are missing, per target."""
        distances, angles = np.zeros((2, len(self.aims)))
        for i, aim in enumerate(self.aims):
            p, turned, _ = self.pose(aim, z, R)
            distances[i] = np.linalg.norm(p - aim.position)
            if aim.rotation is not None:
                angles[i] = np.linalg.norm(log_so3(turned @ aim.rotation.T))
        return distances, angles


@lru_cache(maxsize=8)
def _matrix(pose: Pose) -> np.ndarray:
    g = pose.matrix()
    return HERE if np.array_equal(g, HERE) else g


def _checked_rotation(field: str, rotation: Any) -> np.ndarray | None:
    if rotation is None:
        return None
    try:
        array = np.array(rotation, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if (array.shape != (3, 3) or not np.allclose(array @ array.T, np.eye(3), atol=1e-6)
            or np.linalg.det(array) < 0.0):
        raise InvalidModel(field, rotation, 'a rotation matrix, 3 x 3')
    U, _, Vt = np.linalg.svd(array)
    return U @ Vt


# --- The solver ----------------------------------------------------------------------------------

class _Point(NamedTuple):
    """A shape and an actuation, and the task near them."""

    z: np.ndarray
    u: np.ndarray
    linear: _Linear
    error: np.ndarray   # once z has settled
    J: np.ndarray       # of the error with u / scale
    stale: bool         # whether the linearisation is that of an earlier point


class _Step(NamedTuple):
    x: np.ndarray       # change of u / scale
    merit: float        # before it
    gain: float         # of the merit, as predicted


class _Phase(NamedTuple):
    mu: float           # weight of effort
    pulled: bool        # towards u_0; else towards where it is
    enough: float       # part of the merit, below which gains are left to the next phase


class _Search:
    """One search from one start."""

    def __init__(self, owner: InverseStatics, task: _Task, limits: _Limits, aim: np.ndarray,
                 R: np.ndarray) -> None:
        self.mechanics, self.task, self.limits = owner.mechanics, task, limits
        self.scale, self.kind, self.sizes = owner.scale, owner.kind, owner.command_sizes
        self.aim, self.R = aim, R   # u_0, and the attitude that the platform's turn adds to
        self.iterations = 0

    def run(
        self, z: np.ndarray, u: np.ndarray, damping: float,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return shape and actuation, and whether nothing better is near."""
        point, lam, done = self._at(z, u), 0.0, False
        for phase in _phases(damping):
            done = False
            while point is not None and self.iterations < MOST and not done:
                done = not phase.pulled and float(np.abs(point.error).max()) < EXACT
                if done:
                    break
                step = self._step(point, phase, lam)
                done = step.gain <= phase.enough * step.merit or lam > STIFFEST
                if done:
                    break
                self.iterations += 1
                after, ratio = self._try(point, step, phase)
                if after is None and point.stale:
                    point = self._at(point.z, point.u)
                    continue
                if after is None:
                    lam = max(8.0 * lam, 1e-4)
                    continue
                lam = 0.0 if lam < 1e-8 else lam * (0.1 if ratio > 0.5 else 1.0)
                point = after
        if point is None:
            return z, u, False
        return point.z + point.linear.settle, point.u, done

    def lead(self, z: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return shape and actuation that meet the targets, whatever the limits, if it finds them.

        Newton's method on equations and task as one system: it passes where the tangent is
        singular, as that of a platform whose legs buckle: with the platform held, they stand.
        """
        n, held = z.size, (z, u)
        for _ in range(LEADS):
            r, K = self.mechanics.whole(z, u)
            error, motion = self.task.errors(z, self.R)
            A = np.zeros((n + error.size, n + u.size))
            A[:n, :n], A[:n, n:] = K, self.mechanics.rows[1:].T * self.scale
            A[n:, :n] = motion
            step = -_solved(A, np.concatenate([r, error]))
            size = self.mechanics.strain(step[:n])
            if not math.isfinite(size):
                return held
            part = min(1.0, 0.5 * REACH / size) if size > 0.0 else 1.0
            z, u = z + part * step[:n], u + part * step[n:] * self.scale
            u[self.mechanics.leg] = np.clip(u, self.limits.least, None)[self.mechanics.leg]
            if size < 1e-3:
                self.iterations += 1
                return z, u
        return held

    def _at(
        self, z: np.ndarray, u: np.ndarray, errors: tuple[np.ndarray, ...] | None = None,
    ) -> _Point | None:
        linear = self.mechanics.linearise(z, u)
        if linear is None:
            return None
        error, motion = self.task.errors(z, self.R) if errors is None else errors
        return _Point(z, u, linear, error + motion @ linear.settle,
                      motion @ (linear.slope * self.scale), False)

    def _step(self, point: _Point, phase: _Phase, lam: float) -> _Step:
        """Solve the quadratic program."""
        J, e, m = point.J, point.error, point.u.size
        pull = self.scale / self.kind
        away = self._away(point.u, point.u, phase)
        weight = phase.mu * pull ** 2
        G = J.T @ J + np.diag(weight + lam)
        G.flat[::m + 1] += ROUNDING * np.trace(G)
        C, b = self.limits.rows(point.z, point.u, point.linear, self.scale)
        x, _ = least_quadratic(
            np.ascontiguousarray(G), J.T @ e + phase.mu * pull * away, C, b, 1e-13)
        merit = self._merit(e, away, phase) + PENALTY * self.limits.violation(
            point.z, point.u, self.sizes)
        after = self._merit(e + J @ x, away + pull * x, phase)
        return _Step(x.reshape(m), merit, merit - after)

    def _away(self, u: np.ndarray, start: np.ndarray, phase: _Phase) -> np.ndarray:
        return (u - (self.aim if phase.pulled else start)) / self.kind

    @staticmethod
    def _merit(error: np.ndarray, away: np.ndarray, phase: _Phase) -> float:
        return float(error @ error + phase.mu * (away @ away))

    def _try(
        self, point: _Point, step: _Step, phase: _Phase,
    ) -> tuple[_Point | None, float]:
        """Return the point after a step, or None if it is no better, and the part of the gain."""
        du = step.x * self.scale
        dz = point.linear.settle + point.linear.slope @ du
        size = self.mechanics.strain(dz)
        part = min(1.0, REACH / size) if size > 0.0 else 1.0
        u = np.clip(point.u + part * du, self.limits.least, self.limits.most)
        z, back = self.mechanics.settle(point.z + part * dz, u)
        if not back <= max(CONTRACTION * part * size, 1e-9):
            return None, 0.0
        if back > 1e-3:
            z, back = self.mechanics.settle(z, u)
        errors = self.task.errors(z, self.R)
        merit = self._merit(errors[0], self._away(u, point.u, phase), phase)
        merit += PENALTY * self.limits.violation(z, u, self.sizes)
        ratio = (step.merit - merit) / (part * step.gain)
        if not ratio > 1e-4:
            return None, ratio
        if part * size < NEAR:
            settled = point.linear._replace(settle=self.mechanics.still)
            return _Point(z, u, settled, errors[0], point.J, True), ratio
        return self._at(z, u, errors), ratio


def _solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the least x of ``A x = b``."""
    try:
        if A.shape[0] == A.shape[1]:
            return np.linalg.solve(A, b)
        return np.linalg.lstsq(A, b, rcond=1e-14)[0]
    except np.linalg.LinAlgError:
        return np.full(A.shape[1], np.inf)


def _phases(damping: float) -> list[_Phase]:
    """Return how effort gives way to the task."""
    least = damping ** 2
    if damping >= SLUGGISH:
        return [_Phase(least, True, 1e-9)]
    return [_Phase(max(1e-6, least), True, 0.1), _Phase(least, True, 1e-2),
            _Phase(least, False, 1e-9)]


class InverseStatics:
    """
    Finds actuation for targets; the simulator that it is given is only read.

    Parameters
    ----------
    robot : Robot or Simulator
        A simulator gives its present loads to each solve, and its state and commands to those
        that start there.

    """

    RETRIES = 3  # other ways to go, where a target is not met

    def __init__(self, robot: Robot | Simulator) -> None:
        self.sim = Simulator(robot) if isinstance(robot, Robot) else robot
        if not self.sim.robot.actuators:
            raise InvalidModel('actuators', {}, 'at least one')
        rods = self.sim.robot.rods.values()
        self.length = max(rod.length for rod in rods)
        self.mechanics = _Mechanics(self.sim)
        self._last: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._stations: dict[tuple[int, float], Station] = {}
        self._measure()

    def _measure(self) -> None:
        """Find the actuation that bends by about a radian, and the size of a command to it."""
        mechanics = self.mechanics
        z, u, _ = self._rest()
        linear = mechanics.linearise(z, u)
        if linear is None:
            raise InvalidModel('robot', self.sim.robot.name, 'one that has a stiffness at rest')
        strain = np.abs(linear.slope) * mechanics.scale[:, None]
        self.scale = 1.0 / np.maximum(strain.max(axis=0), 1e-300)
        kinds = [type(a) for a in mechanics.actuators]
        self.kind = np.array([
            np.mean([x for x, other in zip(self.scale, kinds) if other is kind])
            for kind in kinds])
        limits = _Limits(mechanics, None)
        self.command_sizes = np.ones(u.size)
        j = limits.measured
        if j.size:
            _, by_length, by_u = limits.values(u, mechanics.lengths(z))
            slope = by_length[j, None] * mechanics.length_rows(linear, j)[1]
            slope[np.arange(j.size), j] += by_u[j]
            self.command_sizes[j] = np.linalg.norm(slope * self.scale, axis=1)

    # --- Starts ---

    def _rest(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return z, u and the platform's attitude of the robot at rest under its loads."""
        sim, before = self.sim, self.sim.saved()
        wrench = sim.solver.system(sim.loads).platform.wrench
        try:
            sim.solver.restore(sim.model.solver().saved())  # the platform too is where it was
            sim.solver.load_platform(wrench)
            sim.commands = {name: sim.rest_command(name) for name in sim.robot.actuators}
            sim.statics(dict.fromkeys(sim.robot.tendons, 'tension')
                        | dict.fromkeys(sim.robot.chambers, 'pressure'), from_rest=True)
            return self._present()
        finally:
            sim.restore(before)

    def _present(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sim, mechanics = self.sim, self.mechanics
        z, system = sim.solver.z.copy(), sim.system()
        u = np.where(mechanics.leg, [sim.reached(name) for name in mechanics.names],
                     z[mechanics.row])
        return z, u, system.platform.R.copy()

    def _start(self, start: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if start == 'last' and self._last is not None:
            return self._last
        if start == 'rest':
            return self._rest()
        z, u, R = self._present()
        self.mechanics.stand(R)
        z, stands = self.mechanics.equilibrium(z, u)  # it may move
        return (z, u, R) if stands else self._rest()

    def _ways(self, start: str) -> list[tuple[str, bool]]:
        """Return where to start, and whether to lead the stations to their targets first."""
        ways = [(start, False), (start, True), ('rest', False), ('rest', True)]
        return list(dict.fromkeys(ways))[:1 + self.RETRIES]

    # --- Solving ---

    def solve(
        self, targets: Sequence[Target], bounds: Mapping[str, Any] | None = None,
        goal: str = 'least_effort', start: str = 'last', damping: float = 1e-6,
    ) -> Result:
        """
        Return the actuation that meets the targets, or comes nearest.

        Parameters
        ----------
        targets : sequence of Target
        bounds : mapping of str to (least, greatest), optional
            Of commands, beside the limits of the description; None or infinite for none.
        goal : str
            Among many answers: 'least_effort', the smallest tensions, pressures, and changes of
            leg lengths from rest, or 'nearest' to those of the simulator.
        start : str
            'last' solution (the simulator's state, if there is none), 'present' state of the
            simulator, or 'rest'.
        damping : float
            Motion of a target, as part of the robot's length, by the actuation that bends about a
            radian: where there is less of it, effort counts more than the target [-]. Out of
            reach it is 1e-3 at least: no arm is to squeeze itself for a micrometre.

        """
        if goal not in GOALS:
            raise UnknownName('goal', goal, list(GOALS))
        if start not in STARTS:
            raise UnknownName('start', start, list(STARTS))
        check_number('damping', damping, least=1e-7, most=1.0)
        task = _Task(self.sim, targets, self.length, self._stations)
        limits = _Limits(self.mechanics, bounds)
        self.mechanics.take()
        best, iterations = None, 0
        for origin, led in self._ways(start):
            result, u = self._attempt(task, limits, goal, damping, origin, led)
            iterations += result.iterations
            if best is None or _total(result, self.length) < _total(best[0], self.length):
                best = result, u
            if result.met:
                break
        assert best is not None
        self._last = best[0].z, best[1], best[0].R
        if not best[0].met:
            calm = self._attempt(task, limits, goal, max(damping, SLUGGISH), 'last', False)
            iterations += calm[0].iterations
            if calm[0].converged:
                best = calm
            self._last = (best[0].z, best[1], best[0].R) if best[0].converged else None
        return best[0]._replace(iterations=iterations)

    def _attempt(
        self, task: _Task, limits: _Limits, goal: str, damping: float, start: str, led: bool,
    ) -> tuple[Result, np.ndarray]:
        mechanics = self.mechanics
        z, u, R = self._start(start)
        mechanics.stand(R)
        aim = self._rest_actuation() if goal == 'least_effort' else self._present()[1]
        search = _Search(self, task, limits, aim, R)
        if led:
            z, u = search.lead(z, u)
        inside = np.clip(u, limits.least, limits.most)
        if (inside != u).any():
            z = z.copy()
            z[mechanics.row[~mechanics.leg]] = inside[~mechanics.leg]
            z, _ = mechanics.equilibrium(z, inside)
        z, u, converged = search.run(z, inside, damping)
        return self._result(task, limits, search, z, u, converged), u

    def _rest_actuation(self) -> np.ndarray:
        mechanics = self.mechanics
        u = np.zeros(len(mechanics.names))
        u[mechanics.leg] = mechanics.rest_length
        return u

    def _result(
        self, task: _Task, limits: _Limits, search: _Search, z: np.ndarray, u: np.ndarray,
        converged: bool,
    ) -> Result:
        """Hold what was found against the equations of the described commands."""
        commands = limits.commands(z, u)
        if limits.measured.size:
            z, stands = self.mechanics.equilibrium(z, u, limits.drives(commands))
        else:
            z, stands = self.mechanics.equilibrium(z, u, known=converged)
        R = search.R
        if self.sim.robot.platform is not None:
            R = exp_so3(z[-3:]) @ R
            z = z.copy()
            z[-3:] = 0.0
        distances, angles = task.missing(z, R)
        met = stands and bool(distances.max() <= MET * self.length and angles.max() <= MET)
        message = '' if met else 'best effort: a target is out of reach, or was not found'
        if not stands:
            message = 'no equilibrium was found for these commands'
        elif not converged:
            message = 'ran out of steps' if not met else 'met, but effort may not be the least'
        return Result(commands, bool(converged and stands), met, distances, angles,
                      search.iterations, message, z, R)

    def apply(self, result: Result, sim: Simulator | None = None) -> None:
        """Give the commands to a simulator, the own one by default, and put it there at rest."""
        sim = sim or self.sim
        sim.command(**result.commands)
        sim.solver.go_to(result.z, result.R if sim.robot.platform is not None else None)
        sim.statics()


def _total(result: Result, length: float) -> float:
    """Return by how much a result misses its targets."""
    return float(np.sum(result.position_errors / length) + np.sum(result.orientation_errors))
