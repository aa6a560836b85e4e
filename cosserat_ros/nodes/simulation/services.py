"""
The services of a simulated robot.

What has to be solved is solved beside the simulation, by a second simulator of the same robot in a
thread of its own. What changes the simulation is done by the stepping thread between two steps.
The executor waits for neither: answers are sent by the thread that has them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
import queue
import time
from typing import Any, Optional

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from std_srvs.srv import SetBool

from ...analysis.linearize import linearize
from ...assembly.solver import Solution
from ...checks.errors import CosseratError, InvalidModel, SingularState, UnknownName
from ...inverse import InverseStatics, Result
from ...msg import SolverStatus
from ...simulation.simulator import Simulator, Snapshot
from ...srv import (
    Linearize,
    Reset,
    SaveSnapshot,
    SetObstacles,
    SetPayload,
    SetWrench,
    SolveInverseStatics,
    SolveStatics,
    Step,
)
from ..common.complaints import Complaints
from ..common.conversions import time_message
from ..common.limits import check_count, check_size
from ..common.threads import carry_out, describe, Loop
from ..simulation import requests
from .frames import RobotFrames
from .obstacle_messages import ObstacleReader
from .obstacles import Obstacles
from .stepping import Stepper

SERVICE_QOS = QoSProfile(depth=100)  # requests that come at once, and are all answered
MOST_WAITING = 8       # requests that wait to be solved
MOST_STEPS = 100_000   # of one request
LAST_WORD = 0.5        # [s] that a solve may take when it is told to end
INACTIVE = 'the simulator is not active'
BUSY = f'busy: {MOST_WAITING} requests wait already'


class DeferredService:
    """
    A service that is answered later, by whichever thread has the answer.

    Parameters
    ----------
    node : LifecycleNode
    kind, name
        Of the service.
    begin : callable
        From a request to the `Future` of its response.

    """

    def __init__(
        self, node: LifecycleNode, kind: Any, name: str, begin: Callable[[Any], Future],
    ) -> None:
        self._node, self._kind, self._begin = node, kind, begin
        # rclpy's executor sends what the callback returns: that is the request here, and to send
        # it is to begin. An `await` in the callback would have the executor poll all the while.
        service: Any = node.create_service(
            kind, name, lambda request, _: request, qos_profile=SERVICE_QOS)
        self.service, self._send = service, service.send_response
        service.send_response = self._take

    def _take(self, request: Any, header: Any) -> None:
        self._begin(request).add_done_callback(partial(self._answer, header))

    def _answer(self, header: Any, future: Future) -> None:
        try:
            response = future.result()
        except CancelledError:
            response = rejection(self._kind, INACTIVE)
        except Exception as error:
            response = rejection(self._kind, describe(error))
        try:
            self._send(response, header)
        except Exception as error:  # nobody waits any more, or the node ends
            self._node.get_logger().debug(f'could not answer: {error}')


class Worker:
    """A thread that solves one request after the other, from now on."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._jobs: queue.Queue = queue.Queue(MOST_WAITING)
        self.loop = Loop('solving', self._turn, report)
        self.loop.start()

    def submit(self, job: Callable[[], Any]) -> Optional[Future]:
        """Have a job done; None if too many wait already."""
        future: Future = Future()
        try:
            self._jobs.put_nowait((job, future))
        except queue.Full:
            return None
        self.loop.wake()
        return future

    def _turn(self) -> None:
        try:
            job, future = self._jobs.get_nowait()
        except queue.Empty:
            self.loop.wait(None)
            return
        if future.set_running_or_notify_cancel():
            carry_out(job, future)

    def close(self) -> bool:
        """End after the present job, and cancel the others; tell whether that was soon."""
        self.loop.ending = True
        with suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()[1].cancel()
        return self.loop.stop(LAST_WORD)


class Services:
    """
    All services of one robot.

    Parameters
    ----------
    node : LifecycleNode
    sim : Simulator
        A second one of the same robot, to solve with.
    frames : RobotFrames
    stepper : Stepper
        Of the first one.
    active : callable
        Tells whether the node is; if not, all is rejected.
    report : callable
        Called with a text where the solving thread fails, by that thread.
    rejected : Complaints
        To which messages are added that are rejected.

    """

    def __init__(
        self, node: LifecycleNode, sim: Simulator, frames: RobotFrames, stepper: Stepper,
        active: Callable[[], bool], report: Callable[[str], None], rejected: Complaints,
    ) -> None:
        self._node, self._sim, self._frames, self._stepper = node, sim, frames, stepper
        self._robot, self._active = sim.robot, active
        self._inverse: Optional[InverseStatics] = None
        self._start = stepper.instant.snapshot
        self._snapshots: dict[str, Snapshot] = {}
        self._worker = Worker(report)
        self._obstacles = Obstacles(
            node, ObstacleReader(self._robot, frames), stepper,
            lambda job: self._worker.submit(job) if self.loop.runs else None, active, rejected)
        offered: tuple[tuple[Any, str, Callable[[Any], Future]], ...] = (
            (SolveStatics, 'solve_statics', self._solved(SolveStatics, self._solve_statics)),
            (SolveInverseStatics, 'solve_inverse_statics',
             self._solved(SolveInverseStatics, self._solve_inverse)),
            (Linearize, 'linearize', self._solved(Linearize, self._linearize)),
            (Reset, 'reset', self._reset),
            (SaveSnapshot, 'save_snapshot', self._done(SaveSnapshot, self._save_snapshot)),
            (SetBool, 'pause', self._done(SetBool, self._pause, urgent=True)),
            (Step, 'step', self._done(Step, self._step)),
            (SetWrench, 'set_wrench', self._done(SetWrench, self._set_wrench)),
            (SetPayload, 'set_payload', self._done(SetPayload, self._set_payload)),
            (SetObstacles, 'set_obstacles', self._set_obstacles),
        )
        self._services = [
            DeferredService(node, kind, f'~/{name}', _within_limits(kind, begin))
            for kind, name, begin in offered]

    @property
    def loop(self) -> Loop:
        """The solving thread."""
        return self._worker.loop

    def close(self) -> bool:
        """End the solving thread; tell whether that was soon."""
        return self._worker.close()

    def withdraw(self) -> None:
        """Take the services back."""
        self._obstacles.withdraw()
        for deferred in self._services:
            self._node.destroy_service(deferred.service)

    # --- What has to be solved ---

    def _solved(self, kind: Any, solve: Callable[[Any, Any], None]) -> Callable[[Any], Future]:
        """Return how a service begins whose response is filled by the solving thread."""
        def job(request: Any) -> Any:
            response, begun = kind.Response(), time.monotonic()
            status = response.status
            try:
                solve(request, response)
            except CosseratError as error:
                response = kind.Response()
                status = response.status
                status.code, status.message = SolverStatus.INVALID_REQUEST, describe(error)
            except Exception as error:  # the request is not worth the node
                response = kind.Response()
                status = response.status
                status.code, status.message = SolverStatus.NOT_CONVERGED, describe(error)
                self._node.get_logger().error(f'a solve failed: {status.message}')
            status.solve_time = time.monotonic() - begun
            return response

        def begin(request: Any) -> Future:
            if not (self._active() and self.loop.runs):
                return _ready(rejection(kind, self.loop.death or INACTIVE))
            return self._worker.submit(partial(job, request)) or _ready(rejection(kind, BUSY))
        return begin

    def _take_state(self, loads: Any, keep: bool) -> None:
        """Bring the second simulator to where the first one is, under other loads."""
        sim = self._sim
        sim.go_to(self._stepper.instant.snapshot)
        given = requests.read_loads(self._frames, self._robot, loads)
        sim.set_loads({**sim.named_loads, **given} if keep else given)

    def _find_equilibrium(self, request: Any, from_rest: bool) -> Solution:
        values, modes = requests.read_actuation(self._robot, request.actuation)
        self._take_state(request.loads, request.keep_present_loads)
        self._sim.commands.update(values)
        return self._sim.statics(modes, from_rest)

    def _solve_statics(self, request: Any, response: Any) -> None:
        solution = self._find_equilibrium(request, request.from_rest)
        _fill_status(response.status, solution)
        self._fill_equilibrium(response, solution)

    def _solve_inverse(self, request: Any, response: Any) -> None:
        targets = requests.read_targets(self._frames, self._robot, request.targets)
        bounds = requests.read_bounds(self._robot, request.bounds)
        goals = {request.LEAST_EFFORT: 'least_effort', request.NEAREST: 'nearest'}
        if request.secondary_goal not in goals:
            raise InvalidModel(
                'secondary_goal', request.secondary_goal, 'LEAST_EFFORT (0) or NEAREST (1)')
        self._take_state(request.loads, request.keep_present_loads)
        if self._inverse is None:
            self._inverse = InverseStatics(self._sim)
        result = self._inverse.solve(
            targets, bounds, goals[request.secondary_goal],
            'rest' if request.from_rest else 'present')
        self._inverse.apply(result, self._sim)
        solution = self._sim.statics()
        status = response.status
        _fill_status(status, solution)
        status.iterations = result.iterations
        status.message = solution.message or result.message
        if not (result.converged or result.met):
            status.code = SolverStatus.NOT_CONVERGED
        elif not result.met:
            status.code = SolverStatus.BEST_EFFORT
        self._fill_inverse(response, result)
        self._fill_equilibrium(response, solution)

    def _fill_inverse(self, response: Any, result: Result) -> None:
        response.actuation = requests.actuation(self._robot, result.commands)
        response.position_errors = result.position_errors.tolist()
        response.orientation_errors = result.orientation_errors.tolist()
        response.local_optimum = result.proven
        response.starts, response.starts_agreed = result.starts, result.agreed

    def _linearize(self, request: Any, response: Any) -> None:
        sim = self._sim
        place = requests.read_seen_station(self._frames, self._robot, request.station)
        if request.at_equilibrium:
            solution = self._find_equilibrium(request, False)
            _fill_status(response.status, solution)
            if not solution.converged:
                return
        else:
            sim.go_to(self._stepper.instant.snapshot)
        try:
            model = linearize(sim, *place)
        except SingularState as error:
            response.status.code, response.status.message = SolverStatus.SINGULAR, describe(error)
            return
        if not all(np.isfinite(part).all() for part in (model.A, model.B, model.C, model.direct)):
            response.status.code = SolverStatus.SINGULAR
            response.status.message = 'the linear model is not finite here'
            return
        response.time = time_message(round(1e9 * sim.time))
        response.state = model.state.tolist()
        response.inputs = requests.actuation(self._robot, model.inputs)
        response.pose = requests.pose_message(model.pose)
        for name, matrix in (
            ('state_matrix', model.A), ('input_matrix', model.B), ('output_matrix', model.C),
            ('feedthrough_matrix', model.direct), ('jacobian', model.jacobian),
            ('compliance', model.compliance),
        ):
            setattr(response, name, requests.matrix_message(matrix))

    def _fill_equilibrium(self, response: Any, solution: Solution) -> None:
        """Fill the state that was found, and its stability if that can be judged."""
        stamp = time_message(self._stepper.stamp())
        fill = partial(requests.equilibrium, self._sim, self._frames.base_link, stamp)
        try:
            response.equilibrium = fill(solution.converged)
        except SingularState as error:
            response.equilibrium = fill(False)
            response.status.code, response.status.message = SolverStatus.SINGULAR, describe(error)

    # --- What changes the simulation ---

    def _done(
        self, kind: Any, change: Callable[[Any, Any, Simulator], None], urgent: bool = False,
    ) -> Callable[[Any], Future]:
        """Return how a service begins whose response is filled by the stepping thread."""
        return lambda request: self._asked(kind, partial(change, request), urgent)

    def _asked(
        self, kind: Any, change: Callable[[Any, Simulator], None], urgent: bool,
    ) -> Future:
        """Have a change made between two steps; return the future of the response."""
        response = kind.Response()
        return self._told(response, self._stepper.ask(partial(change, response), urgent))

    def _told(self, response: Any, done: Future) -> Future:
        """Return the future of a response that tells whether something was done."""
        answer: Future = Future()

        def told(future: Future) -> None:
            error = None if future.cancelled() else future.exception()
            reason = (self._stepper.loop.death or INACTIVE if future.cancelled()
                      else describe(error) if error else '')
            response.success, response.message = not reason, reason
            if hasattr(response, 'time'):
                response.time = time_message(round(1e9 * self._stepper.instant.snapshot.time))
            answer.set_result(response)

        done.add_done_callback(told)
        return answer

    def _set_obstacles(self, request: Any) -> Future:
        response = SetObstacles.Response()
        if not self._active():
            return _ready(rejection(SetObstacles, INACTIVE))
        try:
            done = self._obstacles.ask(request.obstacles, request.clear)
        except CosseratError as error:
            response.message = describe(error)
            return _ready(response)
        return self._told(response, done)

    def _reset(self, request: Any) -> Future:
        if request.target != Reset.Request.EQUILIBRIUM or not self._active():
            return self._asked(Reset, partial(self._go_back, request), urgent=True)
        found = self._worker.submit(self._find_present_equilibrium)
        if found is None:
            return _ready(rejection(Reset, BUSY))
        answer: Future = Future()

        def adopt(_: Any, sim: Simulator) -> None:
            snapshot = found.result()  # or why there is none
            now, commands = sim.time, dict(sim.commands)
            _go_to_with_obstacles(sim, snapshot)
            sim.solver.time = now
            if self._stepper.demonstrates:
                self._stepper.hold_demonstration()  # commands and loads of the equilibrium stay
            else:
                sim.commands.update(commands)

        found.add_done_callback(lambda _: self._asked(Reset, adopt, urgent=True).add_done_callback(
            lambda future: answer.set_result(future.result())))
        return answer

    def _find_present_equilibrium(self) -> Snapshot:
        """Find the equilibrium of commands and loads beside the simulation."""
        self._sim.go_to(self._stepper.instant.snapshot)
        solution = self._sim.statics()
        if not solution.converged:
            raise InvalidModel('equilibrium', solution.message, 'one that can be found')
        return self._sim.snapshot()

    def _go_back(self, request: Any, response: Any, sim: Simulator) -> None:
        snapshot = self._start
        if request.target == Reset.Request.SNAPSHOT:
            if request.snapshot not in self._snapshots:
                raise UnknownName('snapshot', request.snapshot, list(self._snapshots))
            snapshot = self._snapshots[request.snapshot]
        elif request.target != Reset.Request.REST:
            raise InvalidModel(
                'target', request.target, 'REST (0), EQUILIBRIUM (1) or SNAPSHOT (2)')
        if request.target == Reset.Request.REST:
            _go_to_with_obstacles(sim, snapshot)
        else:
            sim.go_to(snapshot)
        self._stepper.forget()

    def _save_snapshot(self, request: Any, response: Any, sim: Simulator) -> None:
        if not request.name:
            raise InvalidModel('name', '', 'given')
        check_count('snapshots', len({*self._snapshots, request.name}))
        self._snapshots[request.name] = sim.snapshot()

    def _pause(self, request: Any, response: Any, sim: Simulator) -> None:
        self._stepper.paused = request.data

    def _step(self, request: Any, response: Any, sim: Simulator) -> None:
        if not self._stepper.paused:
            raise InvalidModel('simulation', 'running', 'paused, see ~/pause')
        if request.steps > MOST_STEPS:
            raise InvalidModel('steps', request.steps, f'at most {MOST_STEPS}')
        self._stepper.advance(request.steps or 1)

    def _set_wrench(self, request: Any, response: Any, sim: Simulator) -> None:
        loads = requests.read_loads(self._frames, self._robot, request.loads, named=True)
        loads = {**sim.named_loads, **loads} if request.add else loads
        check_count('loads', len(loads))
        self._stepper.set_loads(loads)

    def _set_payload(self, request: Any, response: Any, sim: Simulator) -> None:
        if not request.name:
            raise InvalidModel('name', '', 'given')
        if not request.attached:
            if request.name not in sim.payloads:
                raise UnknownName('name', request.name, list(sim.payloads))
            sim.carry(request.name, None)
            return
        check_count('payloads', len({*sim.payloads, request.name}))
        body, place = requests.read_body(
            self._frames, self._robot, request.station, request.inertia)
        sim.carry(request.name, body, place.body, place.offset)


def _go_to_with_obstacles(sim: Simulator, snapshot: Snapshot) -> None:
    """Go to a state among the present obstacles, or raise where these do not let it."""
    before, obstacles = sim.snapshot(), sim.obstacles
    sim.go_to(snapshot)
    if sim.obstacles is not obstacles:
        try:
            sim.set_obstacles(obstacles)
        except InvalidModel:
            sim.go_to(before)
            raise


def _within_limits(kind: Any, begin: Callable[[Any], Future]) -> Callable[[Any], Future]:
    """Return how a service begins that rejects a request with too much in it."""
    def checked(request: Any) -> Future:
        try:
            check_size(request)
        except InvalidModel as error:
            response = kind.Response()
            if hasattr(response, 'status'):
                response.status.code = SolverStatus.INVALID_REQUEST
                response.status.message = describe(error)
            else:
                response.message = describe(error)
            return _ready(response)
        return begin(request)
    return checked


def _ready(response: Any) -> Future:
    future: Future = Future()
    future.set_result(response)
    return future


def rejection(kind: Any, reason: str) -> Any:
    """Return the response of a service that could not be done."""
    response = kind.Response()
    if hasattr(response, 'status'):
        response.status.code, response.status.message = SolverStatus.NOT_AVAILABLE, reason
    else:
        response.message = reason
    return response


def _fill_status(status: SolverStatus, solution: Solution) -> None:
    """Fill how a solve ended; nothing that is not finite."""
    status.code = SolverStatus.CONVERGED
    if not solution.converged:
        singular = 'singular' in solution.message
        status.code = SolverStatus.SINGULAR if singular else SolverStatus.NOT_CONVERGED
    status.message = solution.message
    status.residual = float(np.nan_to_num(solution.residual, posinf=np.finfo(float).max))
    status.iterations = solution.iterations
