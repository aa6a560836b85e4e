"""Targets, and how far stations of a robot are from them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from ..analysis.sensitivity import link_changes
from ..assembly.rods import PLATFORM
from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_number, check_vector, FARTHEST
from ..description.joints import BASE
from ..numerics.kernels import Direct
from ..numerics.lie import inverse_left_tangent_so3, log_so3
from ..rod.stations import Stations
from ..simulation.builder import body_name
from ..simulation.joints import motion_at, pose_of
from ..simulation.model import HERE
from ..simulation.simulator import movable_bodies, Simulator
from .compiled import body_motion, Station, station_motion

HEAVIEST = 1e9  # [-] that a target may count: more is a mistake
MOST_STATIONS = 64  # that are kept from task to task
SKEWED = 1e-6 + 1e-5 * np.eye(3)  # that a rotation times its transpose may differ from 1

_station_motion, _body_motion = Direct(station_motion), Direct(body_motion)


class Target(NamedTuple):
    """
    Where one station of the robot should be, seen from base_link.

    The station is the tip of the description, with its offset, if neither `rod`, `at` nor `body`
    is given; else a frame on a body, which may be the platform, or on the rod at arc length `at`
    [m], its end if left out.
    """

    position: Any                            # (3,) [m]
    rotation: Any = None                     # (3, 3), body to base_link; None if it is free
    rod: str | None = None
    at: float | None = None
    weight: float = 1.0                      # against other targets [-]
    orientation_weight: float | None = None  # length that a radian counts as; the robot's [m]
    body: str | None = None
    offset: Any = HERE                       # (4, 4) frame that is meant, seen from the body, or
                                             # from the rod's body frame there [m]


class _Aim(NamedTuple):
    """A target, checked."""

    position: np.ndarray
    rotation: np.ndarray | None
    rod: int                  # -1: the platform, or a body
    body: str | None
    station: Station | None
    at: float                 # its arc length [m]
    offset: np.ndarray        # (4, 4) from the station to the frame that is aimed
    weight: np.ndarray        # (6,) of the errors


class Task:
    """Errors of all targets, as functions of z."""

    def __init__(
        self, sim: Simulator, targets: Sequence[Target], length: float,
        stations: dict[tuple[int, float], Station],
    ) -> None:
        if not isinstance(targets, Sequence) or not targets:
            raise InvalidModel('targets', targets, 'a list of at least one target')
        self.sim, self.length, self.stations = sim, length, stations
        self.offset, self._base = sim.model.tip_offset, sim.base.pose()
        self.aims = [self._aim(f'targets[{i}]', target) for i, target in enumerate(targets)]
        # What is aimed, and where it should be: lengths over that of the robot, and rotations.
        self.stations_aimed = tuple(
            (aim.rod, aim.at, aim.body, aim.rotation is None, aim.offset.tobytes())
            for aim in self.aims)
        self.goal = np.concatenate([
            part.ravel() for aim in self.aims for part in (aim.position / length, aim.rotation)
            if part is not None])

    def staying(self, z: np.ndarray, R: np.ndarray) -> Task:
        """Return the task that asks for where everything aimed is."""
        task, aims = copy(self), []
        for aim in self.aims:
            p, turned, _ = self._pose(aim, z, R, False)
            aims.append(aim._replace(
                position=p, rotation=None if aim.rotation is None else turned))
        task.aims, task.goal = aims, self.reached(z, R)
        return task

    @property
    def held(self) -> int:
        """How many numbers the targets hold."""
        return sum(3 if aim.rotation is None else 6 for aim in self.aims)

    def _aim(self, field: str, target: Target) -> _Aim:
        if not isinstance(target, Target):
            raise InvalidModel(field, target, 'a Target')
        position = np.array(check_vector(
            f'{field}.position', target.position, 3, least=-FARTHEST, most=FARTHEST, unit='m'))
        rotation = _checked_rotation(f'{field}.rotation', target.rotation)
        position = self._base[:3, :3] @ position + self._base[:3, 3]
        rotation = None if rotation is None else self._base[:3, :3] @ rotation
        weight = check_number(f'{field}.weight', target.weight, least=0.0, most=HEAVIEST)
        radian = self.length
        if target.orientation_weight is not None:
            radian = check_number(
                f'{field}.orientation_weight', target.orientation_weight, above=0.0, most=FARTHEST,
                unit='m')
        weights = weight / self.length * np.repeat([1.0, radian], 3)
        robot, model = self.sim.robot, self.sim.model
        if target.body is not None:
            name = self._body(field, target)
            return _Aim(position, rotation, -1, None if name == PLATFORM else name, None, 0.0,
                        target.offset, weights)
        if target.rod is None and target.at is None:
            offset, on = self.offset, robot.tip.on
            if robot.platform is not None or on is not None:
                body = None if on is None else body_name(robot, on)
                return _Aim(position, rotation, -1, body, None, 0.0, offset, weights)
            name = robot.rod_name(robot.tip.rod)
        else:
            name, offset = self._rod(field, target.rod), target.offset
        i, end = model.names.index(name), robot.rods[name].length
        s = end if target.at is None else check_number(
            f'{field}.at', target.at, least=0.0, most=end, unit='m')
        return _Aim(position, rotation, i, None, self._station(i, s), s, offset, weights)

    def _body(self, field: str, target: Target) -> str:
        """Return the assembly's name of a body that is aimed."""
        known = [name for name in movable_bodies(self.sim.robot) if name != BASE]
        if target.body not in known:
            raise UnknownName(f'{field}.body', target.body, known)
        if target.rod is not None or target.at is not None:
            raise InvalidModel(f'{field}.rod', target.rod, 'left out where a body is named')
        return target.body

    def _station(self, rod: int, s: float) -> Station:
        """Return what is known of an arc length [m]; the last `MOST_STATIONS` are kept."""
        station = self.stations.pop((rod, s), None) or Station(
            *Stations(self.sim.model.rods[rod], np.array([s])).shares(0))
        self.stations[rod, s] = station
        if len(self.stations) > MOST_STATIONS:
            del self.stations[next(iter(self.stations))]
        return station

    def _rod(self, field: str, rod: str | None) -> str:
        robot = self.sim.robot
        if rod is None and len(robot.rods) > 1:
            raise InvalidModel(f'{field}.rod', None, 'given where there are several')
        name = robot.rod_name(rod)
        if name not in robot.rods:
            raise UnknownName(f'{field}.rod', name, list(robot.rods))
        return name

    def _pose(
        self, aim: _Aim, z: np.ndarray, R: np.ndarray, wanted: bool,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, rotation and, if wanted, motion with z (6, unknowns) of an aim."""
        solver, J = self.sim.solver, np.zeros((6, z.size if wanted else 0))
        if aim.body is not None or (aim.station is not None and not solver.bases_stand):
            return self._pose_on_the_move(aim, z, R, wanted)
        if aim.station is None:
            at = solver.platform_places
            p, R, own = _body_motion(solver.platform_attitude(R), z[at], aim.offset, wanted)
        else:
            at = solver.q_places[aim.rod]
            p, R, own = _station_motion(
                solver.rods[aim.rod], solver.base(aim.rod), z[at], aim.station, aim.offset, wanted)
        if wanted:
            J[:, at] = own
        return p, R, J

    def _pose_on_the_move(
        self, aim: _Aim, z: np.ndarray, R: np.ndarray, wanted: bool,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the same of an aim on a body, or on a rod that stands on one."""
        solver, J = self.sim.solver, np.zeros((6, z.size if wanted else 0))
        kept = solver.attitude
        solver.count_turns_from(R)
        if aim.station is None:
            assert aim.body is not None
            frame, still = solver.places.bodies[aim.body], np.zeros(z.size)
            solver.residual(z, still, still)
            link = frame.link
            g = pose_of(motion_at(solver, frame)) @ aim.offset
            p, turned, at, own = g[:3, 3], g[:3, :3], [], J[:, :0]
        else:
            base, at = solver.base_at(aim.rod, z, np.zeros(z.size)), solver.q_places[aim.rod]
            first = solver.places.rods[solver.names_of_rods[aim.rod]][0]
            link = int(solver.tree.links.parent[first])
            p, turned, own = _station_motion(
                solver.rods[aim.rod], base, z[at], aim.station, aim.offset, wanted)
        if wanted:
            arm = p - solver.work.end.p[link]
            with solver.let_go():
                J = -link_changes(solver, z, link, arm).T
            J[:, ~solver.moves] = 0.0
            J[:, at] = own
        solver.count_turns_from(kept)
        return p, turned, J

    def reached(self, z: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return where what is aimed is, in the order of `goal`."""
        parts: list[np.ndarray] = []
        for aim in self.aims:
            p, turned, _ = self._pose(aim, z, R, False)
            parts += [p / self.length] + ([] if aim.rotation is None else [turned.ravel()])
        return np.concatenate(parts)

    def errors(self, z: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return weighted errors, stacked; R as in `Result`."""
        errors = []
        for aim in self.aims:
            errors += _errors(aim, *self._pose(aim, z, R, False)[:2])
        return _stacked(errors)

    def errors_and_motion(self, z: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weighted errors, stacked, and their motion with z."""
        errors, motions = [], []
        for aim in self.aims:
            p, turned, J = self._pose(aim, z, R, True)
            own = _errors(aim, p, turned)
            errors += own
            motions.append(aim.weight[:3, None] * J[:3])
            if aim.rotation is not None:
                turn = log_so3(turned @ aim.rotation.T)
                motions.append(aim.weight[3:, None] * (inverse_left_tangent_so3(turn) @ J[3:]))
        return _stacked(errors), _stacked(motions)

    def missing(self, z: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distances [m] and angles [rad] that are missing, per target."""
        distances, angles = np.zeros((2, len(self.aims)))
        for i, aim in enumerate(self.aims):
            p, turned, _ = self._pose(aim, z, R, False)
            distances[i] = np.linalg.norm(p - aim.position)
            if aim.rotation is not None:
                angles[i] = np.linalg.norm(log_so3(turned @ aim.rotation.T))
        return distances, angles


def _errors(aim: _Aim, p: np.ndarray, R: np.ndarray) -> list[np.ndarray]:
    """Return the weighted errors of position and, if it matters, orientation."""
    error = aim.weight[:3] * (p - aim.position)
    if aim.rotation is None:
        return [error]
    return [error, aim.weight[3:] * log_so3(R @ aim.rotation.T)]


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _checked_rotation(field: str, rotation: Any) -> np.ndarray | None:
    if rotation is None:
        return None
    try:
        array = np.array(rotation, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if (array.shape != (3, 3) or not (np.abs(array @ array.T - np.eye(3)) <= SKEWED).all()
            or np.linalg.det(array) < 0.0):
        raise InvalidModel(field, rotation, 'a rotation matrix, 3 x 3')
    U, _, Vt = np.linalg.svd(array)
    return U @ Vt
