"""
Joints that are driven, and bodies that move: what a simulator knows of them beside its rods.

A position drive holds its coordinate where it is told. A velocity drive holds it too, and takes it
along by what it is told from step to step, as far as the limits let it; in statics it stays where
it is. An effort drive pushes.

A time scheme makes rates of the positions that are told, and where those have a kink, as commands
at a rate of their own have, it answers with rates that change sign from step to step, for long.
To take these away after a step would push what the joint carries: it has felt the accelerations.
So rates of held coordinates are told too, before the step: the slopes of a parabola through the
last positions, and accelerations likewise of these rates (BDF2, twice). They are of second order;
what they remember ends after four steps; and accelerations sum up to the change of rates, so that
an irregular sequence of small steps gives no momentum. What gaits tell is smooth, and is left to
the scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..assembly.assembly import Frame
from ..assembly.element import Motion
from ..assembly.rods import RodsSolver
from ..assembly.state import RootMotion, Told
from ..checks.errors import InvalidModel
from ..checks.fields import check_vector
from ..description.gaits import Stroke
from ..description.joints import BASE
from ..description.robot import Robot
from ..numerics.lie import inverse_se3
from ..rod.kinematics import Base


class Pace(NamedTuple):
    """How held coordinates moved in the last step."""

    mean: np.ndarray    # (m,) mean rates
    rate: np.ndarray    # (m,) rates at its end
    change: np.ndarray  # (m,) mean accelerations: of those rates
    step: float         # how long it was; 0: they have stood still [s]


def _still(count: int) -> Pace:
    mean, rate, change = np.zeros((3, count))
    return Pace(mean, rate, change, 0.0)


class DrivenJoints:
    """
    The actuators of a robot that drive joints.

    Parameters
    ----------
    robot : Robot
    solver : RodsSolver
        Of the robot.

    """

    def __init__(self, robot: Robot, solver: RodsSolver) -> None:
        self._solver, self._drives = solver, robot.drives
        self.places = places_of(robot, solver)
        stroked = {name for gait in robot.gaits.values() if isinstance(gait, Stroke)
                   for name in gait.joints}
        self._held = np.array([
            at for name, at in self.places.items() if name not in stroked
            and self._drives[name].coordinate.drive != 'effort'], dtype=np.int64)
        self.memory = _still(self._held.size)
        if self._held.size:
            solver.lead = self

    def tell(self, reached: Mapping[str, float], dt: float = 0.0) -> None:
        """Tell the joints what their actuators have got to; dt [s] is the step that follows."""
        if not self.places:
            return
        c = self._solver.tree.coordinates
        for name, at in self.places.items():
            drive = self._drives[name].coordinate.drive
            if drive == 'effort':
                c.push[at] = reached[name]
            elif drive == 'position':
                c.command[at] = reached[name]
            else:
                c.command[at] = np.clip(
                    self._solver.z[at] + reached[name] * dt, c.least[at], c.most[at])

    def stop(self) -> None:
        """Stand still: what follows is no continuation of what was."""
        self.memory = _still(self._held.size)

    def told(self, dt: float) -> Told:
        """Return where held coordinates are told to be after a step dt [s], and their rates."""
        c, at = self._solver.tree.coordinates, self._held
        there = np.clip(c.command[at], c.least[at], c.most[at])
        pace, acceleration = self._pace((there - self._solver.z[at]) / dt, dt)
        return Told(at, there, pace.rate, acceleration)

    def _pace(self, mean: np.ndarray, dt: float) -> tuple[Pace, np.ndarray]:
        """Return how they move in a step dt [s] at mean rates, and accelerations at its end."""
        last = self.memory
        beyond = dt / (dt + (last.step or dt))
        rate = mean + beyond * (mean - last.mean)
        change = (rate - last.rate) / dt
        return Pace(mean, rate, change, dt), change + beyond * (change - last.change)

    def keep(self, before: np.ndarray, after: np.ndarray, dt: float, heeded: bool) -> None:
        """
        Remember how held coordinates moved in a step dt [s] from z `before` to `after`.

        A scheme that did not heed rates, backward Euler, made mean ones of them, and accelerations
        without what those before left over: that is still to come.
        """
        mean = (after[self._held] - before[self._held]) / dt
        self.memory = self._pace(mean, dt)[0] if heeded else Pace(
            mean, mean, self.memory.change, dt)

    def states(self) -> dict[str, tuple[float, float, float]]:
        """Return position, effort and velocity of each, as of the present instant."""
        if not self.places:
            return {}
        solver, c = self._solver, self._solver.tree.coordinates
        effort = solver.refresh().effort
        return {name: (
            float(solver.z[at]), float(effort[at] if c.driven[at] else c.push[at]),
            float(solver.z_t[at])) for name, at in self.places.items()}


def places_of(robot: Robot, solver: RodsSolver) -> dict[str, int]:
    """Return where the coordinates of driven joints are in z, by actuator."""
    found = solver.places.coordinates
    return {name: found[drive.joint][drive.index] for name, drive in robot.drives.items()}


# --- Bodies --------------------------------------------------------------------------------------

def body_motion(solver: RodsSolver, name: str) -> Base:
    """Return the motion of a body's frame at the present instant, in the assembly's frame."""
    solver.refresh()
    return motion_at(solver, solver.places.bodies[name])


def motion_at(solver: RodsSolver, frame: Frame) -> Base:
    """Return the motion of a frame as of the last sweep."""
    end = solver.frame(frame.link)
    arm = end.R @ frame.pose[:3, 3]
    along = np.cross(end.Om, arm)
    return Base(end.R @ frame.pose[:3, :3], end.p + arm, end.Om, end.p_t + along, end.Om_t,
                end.p_tt + np.cross(end.Om_t, arm) + np.cross(end.Om, along))


def pose_of(base: Base) -> np.ndarray:
    """Return the pose (4, 4) of what moves."""
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = base.R, base.p
    return g


# --- The base ------------------------------------------------------------------------------------

class MovingBase:
    """
    base_link of a robot, where it is driven or floats.

    The assembly's frame is base_link as it is at the start, `home` in its parent.

    Parameters
    ----------
    robot : Robot
    solver : RodsSolver

    """

    def __init__(self, robot: Robot, solver: RodsSolver) -> None:
        self.home, self._motion, self._solver = robot.base.matrix(), robot.base.motion, solver
        self.fixed = self._motion == 'fixed'
        self.floats = np.array(  # places in z of its coordinates, if it floats
            solver.places.coordinates.get(BASE, []), dtype=np.int64)

    def pose(self) -> np.ndarray:
        """Return base_link as seen from where it was at the start, (4, 4)."""
        return np.eye(4) if self.fixed else pose_of(body_motion(self._solver, BASE))

    def seen(self, poses: np.ndarray) -> np.ndarray:
        """Return poses (..., 4, 4) of the assembly's frame as seen from base_link."""
        return poses if self.fixed else inverse_se3(self.pose()) @ poses

    def unseen(self, poses: np.ndarray) -> np.ndarray:
        """Return poses (..., 4, 4) that are seen from base_link in the assembly's frame."""
        return poses if self.fixed else self.pose() @ poses

    def drive(self, motion: Motion | RootMotion) -> None:
        """Move a driven base: see `Simulator.drive_base`."""
        if self._motion != 'driven':
            raise InvalidModel('base.motion', self._motion, 'driven, to be moved')
        link, solver = self._solver.places.bodies[BASE].link, self._solver
        if callable(motion):
            solver.motions[link] = self._at_home(motion)
            return
        solver.motions.pop(link, None)
        for mine, given in zip(solver.tree.roots, self._from_parent(_checked(motion))):
            mine[link] = given

    def _from_parent(self, motion: Motion) -> Motion:
        R, p = self.home[:3, :3].T, self.home[:3, 3]
        return Motion(R @ motion.R, R @ (motion.p - p), *(R @ part for part in motion[2:]))

    def _at_home(self, motion: RootMotion) -> RootMotion:
        R, p = self.home[:3, :3], self.home[:3, 3]

        def moved(last: Motion, time: float, dt: float) -> Motion:
            seen = Motion(R @ last.R, R @ last.p + p, *(R @ part for part in last[2:]))
            return self._from_parent(_checked(motion(seen, time, dt)))
        return moved

    def held(self, solve: Callable) -> Callable:
        """Return a solve during which a floating base is held where it is: for statics."""
        def held_solve():
            c, at = self._solver.tree.coordinates, self.floats
            c.command[at], c.driven[at] = self._solver.z[at], True
            try:
                return solve()
            finally:
                c.driven[at] = False
        return held_solve if self.floats.size else solve


def _checked(motion: Motion) -> Motion:
    """Return a motion as arrays, or raise."""
    R = np.array(motion.R, dtype=float)
    if R.shape != (3, 3) or not np.isfinite(R).all() or not np.allclose(
            R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
        raise InvalidModel('R', motion.R, 'a rotation matrix, 3 x 3')
    U, _, Vt = np.linalg.svd(R)
    return Motion(U @ Vt, *(np.array(check_vector(name, value, 3))
                            for name, value in zip(Motion._fields[1:], motion[1:])))
