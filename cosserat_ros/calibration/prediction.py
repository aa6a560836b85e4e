r"""
What a model says of a recording, and how that changes with the model's parameters.

Each state follows from the one before by equations ``r(z, past, p) = 0`` with the tangent K, so
that the sensitivity of the state follows too, by the implicit function theorem:

    dz/dp = -K^-1 (dr/dp + dr/dpast dpast/dp)

K is the engine's own, exact. What is in brackets is a partial derivative, at fixed z: the residual
alone of models with p a little more and a little less (and their pasts that much different) is
evaluated at the z of the model, by central differences. Nothing is solved for that, so it is exact
to rounding (about nine digits), however nonlinear the robot is. The same holds for the change of a
measured point or rotation, whose models with more and less of p stand at ``z +- dz/dp dp / 2``.
Steps in time carry the history's sensitivity along: the tangent of the discrete motion.

Measurements may come late (`delay` in the map), see :mod:`cosserat_ros.calibration.delay`.

A rotation R changes by a rotation vector w seen from the parent frame, ``dR = hat(w) R``.

What laws remember (dry friction) is a part of the past: the models with more and less of p have a
memory of their own, which goes with the sensitivity of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
import math
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ..assembly.solver import Solution
from ..checks.errors import CosseratError, InvalidModel
from ..comparison.maps import MeasuredChannel, RecordingMap
from ..comparison.recordings import Recording
from ..description.parts import Pose
from ..description.robot import Robot
from ..numerics.integrators import begin, Rule
from ..rod.stations import Stations
from ..simulation.simulator import Load, Simulator
from .delay import delayed
from .parameters import Fitted, ParameterSet

PART = 1e-6     # of a parameter's size, by which it is changed for derivatives
COARSE = 1e-4   # likewise, where whole predictions are differenced
SMOOTH = 1e-9   # tolerance of steps, as strain: errors must not look like sensitivities
GRADED = 40     # times as many steps in the first sample after a release
BEYOND = 8      # samples after the last one that a delayed motion is interpolated with
MOST_STEPS = 2_000_000  # in time, of a recording: more is a mistake in its times


class NotDifferentiable(CosseratError):
    """A prediction whose sensitivities the engine cannot carry along, for the reason given."""


class TooLong(CosseratError):
    """A recording of more time than can be simulated; the message names it and its longest gap."""


class Prediction(NamedTuple):
    """What a model says of a recording of T samples of M points."""

    poses: np.ndarray             # (T, M, 4, 4) of markers, seen from the parent frame [-, m]
    jacobian: np.ndarray          # (T, M, 6, n) of positions and rotations (as rotation vectors)
    #                               with the parameters; n = 0 if not asked for
    solved: np.ndarray            # (T,) bool; where it is not, the last state is told
    seconds: float                # per sample

    @property
    def failed(self) -> int:
        """How many samples were not solved."""
        return int((~self.solved).sum())

    @property
    def positions(self) -> np.ndarray:
        """Of the points, (T, M, 3) [m]."""
        return self.poses[..., :3, 3]

    @property
    def rotations(self) -> np.ndarray:
        """Of the markers, to the parent frame, (T, M, 3, 3) [-]."""
        return self.poses[..., :3, :3]


class _Point:
    """A measured point on a simulated robot."""

    def __init__(self, sim: Simulator, channel: MeasuredChannel) -> None:
        self._sim, self._channel = sim, channel
        self._marker = Pose(channel.offset, channel.roll_pitch_yaw).matrix()
        self._base = sim.robot.base.matrix()
        self._rod = None if channel.at is None else sim.robot.rod_name(channel.rod)
        if self._rod is not None:
            self._index = sim.model.names.index(self._rod)
            self._stations = Stations(sim.model.rods[self._index], np.array([channel.at]))

    def pose(self) -> np.ndarray:
        """Return the pose of its marker, seen from the parent frame, (4, 4) [-, m]."""
        return self._base @ self._pose() @ self._marker

    def _pose(self) -> np.ndarray:
        """Return the pose of the frame that it is seen from, in base_link, (4, 4)."""
        if self._rod is None:
            return self._sim.tip_pose()
        base = self._sim.solver.base(self._index)
        return self._stations.shape(
            self._sim.solver.state(self._index), base.R, base.p).poses[0]


class _Follower:
    """A model that is led through a recording."""

    def __init__(self, fitted: Fitted, recording: Recording) -> None:
        self.sim = Simulator(as_told(fitted.robot, fitted.channels))
        self.sim.solver.tolerance = SMOOTH
        self._laws = self.sim.solver.tree.laws
        self._memory = self._laws.memory.copy()  # what laws remembered before the last sample
        self._commands = recording.commands(fitted.channels)
        if not np.isfinite(self._commands).all():
            raise InvalidModel('commands', self._commands, 'finite by the numbers of the map')
        self._channels = fitted.channels
        self._names = list(fitted.channels.commands)
        self._points = [_Point(self.sim, channel) for channel in fitted.channels.measured.values()]

    def tell(self, k: int) -> None:
        """
        Give the commands of a sample, limits or not: what was measured has been done.

        After the last sample its commands hold.
        """
        told = self._commands[min(k, len(self._commands) - 1)]
        self.sim.commands.update(zip(self._names, told.tolist()))

    def hold(self) -> None:
        """Let the wrenches act that hold the robot before a motion."""
        self.sim.set_loads({name: Load(np.array(held.wrench), held.rod, held.at)
                            for name, held in self._channels.held.items()})

    def release(self) -> None:
        """Let go."""
        self.sim.set_loads({})

    def start(self) -> bool:
        """Begin to move, with the acceleration that the loads ask for; return whether it can."""
        return bool(self.sim.equations().start())

    def unbalance(
        self, z: np.ndarray, R: np.ndarray, z_t: np.ndarray | None = None,
        z_tt: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return what must be zero at z and its rates, with turns counted from R."""
        sim, still = self.sim, np.zeros(z.size)
        rates = still if z_t is None else z_t, still if z_tt is None else z_tt
        if sim.robot.legs or sim.robot.drives or sim.solver.free_turns.size:
            sim.stand(z, R)
            return sim.equations().residual(z, *rates)
        sim.solver.drive(sim.model.drives(sim.commands))
        return sim.solver.residual(z, *rates)

    def keep(self) -> None:
        """Let laws remember the state of the last `unbalance`."""
        self._laws.memory[:] = self.sim.solver.work.memory

    def tangent(self, cV: float = 0.0, cA: float = 0.0) -> np.ndarray:
        """Return the tangent of the last sample, square: of statics, or of a step."""
        after = self._laws.memory.copy()
        self._laws.memory[:] = self._memory
        solver = self.sim.equations()
        K = solver.jacobian(solver.z, solver.z_t, solver.z_tt, cV, cA)[1]
        self._laws.memory[:] = after
        return K

    def statics(self) -> bool:
        """Go to the equilibrium of the present commands; tell whether it was found."""
        self._memory = self._laws.memory.copy()
        return self.sim.statics().converged or self.sim.statics(from_rest=True).converged

    def step(self, dt: float) -> Solution:
        """Advance by dt [s]."""
        self._memory = self._laws.memory.copy()
        return self.sim.step(dt)

    def poses(self) -> np.ndarray:
        """Return where the points are, (M, 4, 4) [-, m]."""
        return np.array([point.pose() for point in self._points])


def as_told(robot: Robot, channels: RecordingMap) -> Robot:
    """Return the robot with its actuators commanded as a recording commands them."""
    changed: dict[str, Any] = {}
    for kind in ('tendons', 'chambers', 'legs'):
        changed[kind] = {
            name: replace(actuator, command=channels.commands[name].mode, limits=None)
            if name in channels.commands and channels.commands[name].mode else actuator
            for name, actuator in getattr(robot, kind).items()}
    return replace(robot, **changed)


def _motion(more: np.ndarray, less: np.ndarray) -> np.ndarray:
    """Return the changes (..., 6) of poses (..., 4, 4): of positions, and rotation vectors."""
    turn = more[..., :3, :3] @ np.swapaxes(less[..., :3, :3], -1, -2)
    turned = Rotation.from_matrix(turn.reshape(-1, 3, 3)).as_rotvec()
    return np.concatenate([
        more[..., :3, 3] - less[..., :3, 3], turned.reshape(*turn.shape[:-2], 3)], axis=-1)


def _solved(K: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return K^-1 r, or raise `NotDifferentiable`."""
    try:
        found = np.linalg.solve(K, r)
    except np.linalg.LinAlgError:
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        raise NotDifferentiable('the tangent is singular')
    return found


class _Shadow(NamedTuple):
    """Models with one parameter a little more and a little less, and by how much in all."""

    more: _Follower
    less: _Follower
    span: float
    delay: float  # change of the map's delay with it


class _Tangent:
    """
    Sensitivities that follow a model through a recording.

    Parameters
    ----------
    model : _Follower
    shadows : sequence of _Shadow

    """

    def __init__(self, model: _Follower, shadows: Sequence[_Shadow]) -> None:
        self._model, self._shadows = model, shadows
        self._past = np.zeros((len(begin(*np.zeros((3, 1)))), model.sim.solver.z.size,
                               len(shadows)))  # of the history with the parameters

    def tell(self, k: int) -> None:
        """Give the commands of a sample."""
        for follower in self._followers():
            follower.tell(k)

    def _followers(self) -> Iterator[_Follower]:
        for shadow in self._shadows:
            yield from shadow[:2]

    def _unbalance(
        self, follower: _Follower, z: np.ndarray, z_t: np.ndarray | None = None,
        z_tt: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return what must be zero for a shadow, at any state."""
        return follower.unbalance(z, self._model.sim.solver.attitude, z_t, z_tt)

    def settle(self, held: bool = False) -> None:
        """Follow the model to an equilibrium, held or not."""
        z = self._model.sim.solver.z
        for follower in self._followers():
            if held:
                follower.hold()
        r = [[self._unbalance(f, z) for f in shadow[:2]] for shadow in self._shadows]
        dz = -_solved(self._model.tangent(), self._columns(r))
        self._past = begin(dz, np.zeros_like(dz), np.zeros_like(dz))
        self._keep()

    def _keep(self) -> None:
        """Let the laws of the shadows remember where these are now."""
        solver = self._model.sim.solver
        if not solver.remembers:
            return
        for j, shadow in enumerate(self._shadows):
            for follower, sign in zip(shadow[:2], (0.5, -0.5)):
                moved = sign * shadow.span * self._past[:3, :, j]
                self._unbalance(follower, solver.z + moved[0], solver.z_t + moved[1],
                                solver.z_tt + moved[2])
                follower.keep()

    def release(self) -> None:
        """Follow the model that was let go: the same equations hold for its acceleration."""
        sim, moved = self._model.sim, self._past[0]
        z, still, here = sim.solver.z, np.zeros(sim.solver.z.size), sim.solver.moves
        K, heavier = (sim.equations().jacobian(z, still, still, 0.0, cA)[1]
                      for cA in (0.0, 1.0))
        r = []
        for j, shadow in enumerate(self._shadows):
            pair = []
            for follower, sign in zip(shadow[:2], (0.5, -0.5)):
                follower.release()
                near = z + sign * shadow.span * moved[:, j]
                pair.append(self._unbalance(follower, near, still, sim.solver.z_tt))
            r.append(pair)
        dz_tt = np.zeros_like(moved)
        dz_tt[here] = -_solved((heavier - K)[np.ix_(here, here)], self._columns(r)[here])
        self._past = begin(moved, np.zeros_like(moved), dz_tt)

    def step(self, rule: Rule) -> None:
        """Follow the model through a step that it has made by a rule."""
        solver = self._model.sim.solver
        z, (cV, cA, _) = solver.z, rule.new
        K = self._model.tangent(cV, cA)
        changes = np.einsum('rk,knj->rnj', rule.past, self._past)
        r = []
        for j, shadow in enumerate(self._shadows):
            pair = []
            for follower, sign in zip(shadow[:2], (0.5, -0.5)):
                more = sign * shadow.span * changes[:2, :, j]
                pair.append(self._unbalance(
                    follower, z, solver.z_t + more[0], solver.z_tt + more[1]))
            r.append(pair)
        dz = -_solved(K, self._columns(r))
        rates = (rule.new[:, None, None] * dz + changes) * solver.moves[:, None]
        self._past = np.stack([dz, rates[0], rates[1], *self._past[:2], rates[2]])
        self._keep()

    def _columns(self, pairs: list) -> np.ndarray:
        """Return slopes (B, n) of what was evaluated at more and less of each parameter."""
        return np.array([(more - less) / shadow.span
                         for (more, less), shadow in zip(pairs, self._shadows)]).T

    def points(self) -> np.ndarray:
        """Return how the points move and turn with the parameters, (M, 6, n)."""
        solver, ends = self._model.sim.solver, []
        z, attitude = solver.z, solver.attitude
        for j, shadow in enumerate(self._shadows):
            moved = 0.5 * shadow.span * self._past[0][:, j]
            for follower, near in ((shadow.more, z + moved), (shadow.less, z - moved)):
                follower.sim.stand(near, attitude)
                ends.append(follower.poses())
        spans = np.array([shadow.span for shadow in self._shadows])
        return np.moveaxis(_motion(np.array(ends[::2]), np.array(ends[1::2])), 0, -1) / spans


# --- Through a recording -------------------------------------------------------------------------

def predict(
    parameters: ParameterSet, values: np.ndarray, recording: Recording,
    wanted: Sequence[int] = (),
) -> Prediction:
    """
    Return what a model says of a recording.

    Parameters
    ----------
    parameters : ParameterSet
    values : (n,) array
    recording : Recording
    wanted : sequence of int
        Parameters with which the change of the prediction is wanted.

    Raises
    ------
    NotDifferentiable
        If sensitivities are wanted that the engine cannot carry along, see `differenced`.

    """
    shadows = [_shadow(parameters, values, j, recording) for j in wanted]
    return follow(parameters.at(values), recording, shadows)


def follow(
    fitted: Fitted, recording: Recording, shadows: Sequence[_Shadow] = (),
    progress: Callable[[int], None] = lambda done: None,
) -> Prediction:
    """
    Return what one model says of a recording, and its change with those of the shadows.

    `progress` is told how many samples are done. Raises `TooLong`.
    """
    delay, count = fitted.channels.delay, len(recording)
    slopes = np.array([shadow.delay for shadow in shadows])
    shifted = bool(delay or slopes.any())
    if shifted:
        recording = _prolonged(recording, max(-delay, 0.0))
    _check_steps(recording, fitted.robot.time.step)
    model = _Follower(fitted, recording)
    wanted = len(shadows)
    if wanted:
        _check_differentiable(model.sim.robot, recording.dynamic)
    tangents = _Tangent(model, shadows)
    poses = np.zeros((*recording.seen.shape, 4, 4))
    jacobian = np.zeros((*recording.seen.shape, 6, wanted))
    begun, solved = time.perf_counter(), np.zeros(len(recording), dtype=bool)
    for k in range(len(recording)):
        model.tell(k)
        tangents.tell(k)
        if not recording.dynamic:
            solved[k] = model.statics()
            if wanted:
                tangents.settle()
        elif k == 0:
            model.hold()
            solved[k] = model.statics()
            if wanted:
                tangents.settle(held=True)
            model.release()
            solved[k] &= model.start()
            if wanted:
                tangents.release()
        else:
            solved[k] = _advance(model, tangents if wanted else None, recording, k)
        poses[k] = model.poses()
        if wanted:
            jacobian[k] = tangents.points()
        progress(min(k + 1, count))
    if shifted:
        poses, jacobian = delayed(recording.times, poses, jacobian, delay, slopes, count)
    return Prediction(
        poses, jacobian, solved[:count], (time.perf_counter() - begun) / len(recording))


def _prolonged(recording: Recording, ahead: float) -> Recording:
    """Return a recording that goes on with its last commands, for [s] and some samples."""
    count, times = len(recording), recording.times
    if count < 2:
        return recording
    gap = max(float(np.median(np.diff(times))), ahead / MOST_STEPS)
    more = BEYOND + math.ceil(ahead / gap)
    longer = recording.part(np.minimum(np.arange(count + more), count - 1))
    return replace(longer, times=np.append(times, times[-1] + gap * np.arange(1, more + 1)))


def _check_steps(recording: Recording, step: float) -> None:
    """Raise unless a motion can be simulated in reasonable time."""
    gaps = np.diff(recording.times)
    if recording.dynamic and np.ceil(gaps / step).sum() > MOST_STEPS:
        longest = int(gaps.argmax())
        raise TooLong(
            f'{recording.name}: {recording.times[-1]:g} s in steps of {step:g} s must be at most '
            f'{MOST_STEPS} steps; its longest gap is {gaps[longest]:g} s, from '
            f'{recording.times[longest]:g} s on')


def _advance(
    model: _Follower, tangents: _Tangent | None, recording: Recording, k: int,
) -> bool:
    """Go to sample k in equal steps; tell whether all of them were made."""
    sim, ahead = model.sim, recording.times[k] - recording.times[k - 1]
    steps = max(1, math.ceil(ahead / sim.robot.time.step - 1e-6))
    if recording.channels.held:  # what was let go moves fast at first
        steps *= max(1, math.ceil(GRADED / k))
    for _ in range(steps):
        rule = sim.solver.rule(ahead / steps)
        solution = model.step(ahead / steps)
        if not solution.converged:
            return False
        if tangents is not None:
            if solution.parts > 1:
                raise NotDifferentiable('a step had to be divided')
            tangents.step(rule)
    return True


def _shadow(parameters: ParameterSet, values: np.ndarray, j: int, recording: Recording) -> _Shadow:
    """Return the models with a little more and a little less of parameter j."""
    more, less = values.copy(), values.copy()
    lower, upper = parameters.bounds
    more[j] = min(values[j] + PART * parameters.sizes[j], upper[j])
    less[j] = max(values[j] - PART * parameters.sizes[j], lower[j])
    span = more[j] - less[j]
    ends = parameters.at(more), parameters.at(less)
    return _Shadow(_Follower(ends[0], recording), _Follower(ends[1], recording), span,
                   (ends[0].channels.delay - ends[1].channels.delay) / span)


def _check_differentiable(robot: Robot, dynamic: bool) -> None:
    """Raise unless the engine's tangent is that of all that the robot does."""
    touching = [rod.contact for rod in robot.rods.values() if rod.contact is not None]
    touches = touching or any(body.contact is not None for body in robot.bodies.values())
    if touches and any(x.friction > 0.0 for x in robot.obstacles.values()):
        raise NotDifferentiable('the robot touches obstacles with friction')
    if any(contact.rods and contact.friction > 0.0 for contact in touching):
        raise NotDifferentiable('rods touch each other with friction')
    if not dynamic:
        return
    for what, there in (
        ('a platform', robot.platform is not None),
        ('joints that are driven', bool(robot.drives)),
        ('gaits', bool(robot.gaits)),
        ('actuators with a rate or a lag', any(
            a.rate is not None or getattr(a, 'supply_lag', 0.0) > 0.0
            for a in robot.actuators.values())),
    ):
        if there:
            raise NotDifferentiable(f'the robot has {what}, and moves')


def differenced(
    parameters: ParameterSet, values: np.ndarray, recording: Recording, j: int,
) -> np.ndarray:
    """Return the change (T, M, 6) of a prediction with parameter j, by whole predictions."""
    lower, upper = parameters.bounds
    more, less = values.copy(), values.copy()
    more[j] = min(values[j] + COARSE * parameters.sizes[j], upper[j])
    less[j] = max(values[j] - COARSE * parameters.sizes[j], lower[j])
    ends = [predict(parameters, x, recording).poses for x in (more, less)]
    return _motion(*ends) / (more[j] - less[j])
