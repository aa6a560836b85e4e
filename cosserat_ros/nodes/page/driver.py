"""
One robot that is driven from the page: its controls there, its topics and services here.

All of it happens in the thread that spins the viewer; what users do comes there by a queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
import math
import time
from typing import Any, Optional

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from ...msg import ActuatorCommand, ActuatorInfo, RobotInfo, SolverStatus, Target
from ...srv import Reset, SolveInverseStatics, Step
from ..common.frame_tree import FrameTree
from ..common.service_calls import ServiceCalls
from ..page import Lines, Orders, Page
from .commanded import Commanded
from .feeds import Feed
from .ranges import slider_range

SERVICES = {
    'pause': SetBool, 'step': Step, 'reset': Reset, 'solve_inverse_statics': SolveInverseStatics}
SILENCE = 2.0          # [s] without joint states after which the page says so
HASTE = 1.0            # [s] after which the page says that it waits for a solve
SLOW = 30.0            # [s] that an equilibrium may take, with a first compilation
STEP_PATIENCE = 0.02   # [s] that a time step may take, beside that
SOLVED = SolverStatus.CONVERGED, SolverStatus.BEST_EFFORT
EFFORTS = {            # what an actuator exerts: title of its chart, and size of its unit
    ActuatorInfo.TENDON: ('tension [N]', 1.0),
    ActuatorInfo.CHAMBER: ('pressure [kPa]', 1e3),
    ActuatorInfo.LEG: ('force in legs [N]', 1.0),
    ActuatorInfo.SLIDE: ('force of joints [N]', 1.0),
    ActuatorInfo.TURN: ('moment of joints [N m]', 1.0)}
ALWAYS_SAID = 'overruns', 'iterations', 'residual'  # of the diagnostics
SAID_IF_ANY = 'failed steps', 'rejected commands'


class Driver:
    """
    One robot and its controls.

    Parameters
    ----------
    node : Node
        The viewer.
    page : Page
    simulator : str
        Full name of the robot's simulator.
    info : RobotInfo
        That `check_robot` finds nothing wrong with.
    post : callable
        Takes a function from any thread and has it called in the node's.

    Raises
    ------
    NoSlider
        If the robot cannot be driven, with the reason.

    """

    def __init__(
        self, node: Node, page: Page, simulator: str, info: RobotInfo,
        post: Callable[[Callable[[], None]], None],
    ) -> None:
        self._ranges = [slider_range(one, info.length) for one in info.actuators]
        self.info = info
        self.simulator = simulator
        self.joint_topic = f'{simulator.rpartition("/")[0]}/joint_states'
        self._node, self._page, self._post = node, page, post
        self._closed = False
        self._tip: Optional[np.ndarray] = None   # pose seen from base_link
        self.place: Optional[np.ndarray] = None  # of base_link where all is drawn [m]
        self._asked_at = math.inf                # [s] when a solve was asked for, if any
        self._wants_solve = False                # the target has moved since
        self._diagnosis: Optional[DiagnosticStatus] = None
        self._facts: dict[str, str] = {}         # of the diagnosis
        self._commanded = Commanded(
            [one.rest for one in info.actuators],
            [(one.high - one.low) * one.scale for one in self._ranges])
        self._commands = node.create_publisher(Float64MultiArray, f'{simulator}/commands', 10)
        self._calls = ServiceCalls(node, simulator, SERVICES)
        self.title = title = name_of(simulator, info.name)
        self._controls = page.add_controls(title, self._ranges, info.length, self._orders())
        self._effort_order, lines = effort_charts(info.actuators)
        self._charts = page.add_charts(
            title, [Lines('tip, seen from the base [mm]', 'xyz', 1e-3), *lines])
        self._trail = page.add_trail(info.length)

    def _orders(self) -> Orders:
        def ordered(method: Callable[..., None]) -> Callable[..., None]:
            return lambda *arguments: self._post(partial(self._obey, method, *arguments))

        return Orders(
            ordered(self._set_command), ordered(self._release), ordered(self._pause),
            ordered(self._step), ordered(self._reset), ordered(self._solve),
            ordered(self._fetch_target))

    def _obey(self, method: Callable[..., None], *arguments: Any) -> None:
        if not self._closed:
            method(*arguments)

    def start_anew(self) -> None:
        """Note that the simulator was started again: what it was asked, it has forgotten."""
        self._wants_solve = False
        self._calls.give_up('the simulator was started again')

    def close(self) -> None:
        """Take everything back."""
        self._closed = True
        self._calls.close()
        self._node.destroy_publisher(self._commands)
        for part in (self._controls, self._charts, self._trail):
            part.remove()

    # ------------------------------------------------------------ commands

    def _set_command(self, index: int, value: float) -> None:
        commands = self._commanded.values.copy()
        commands[index] = value
        self._send(commands)

    def _release(self) -> None:
        self._send(np.array([one.rest for one in self.info.actuators]))
        self._controls.say('released')

    def _send(self, commands: np.ndarray) -> None:
        """Command all actuators, within their limits."""
        lower = [one.lower for one in self._ranges]
        upper = [one.upper for one in self._ranges]
        commands = np.clip(commands, lower, upper)
        self._commanded.tell(commands, time.monotonic())
        self._commands.publish(Float64MultiArray(data=commands.tolist()))
        if not self._commands.get_subscription_count():
            self._controls.say(f'no subscriber on {self._commands.topic_name}', good=False)

    # ------------------------------------------------------------ time

    def _pause(self, pause: bool) -> None:
        done = 'paused' if pause else 'running'
        self._call('pause', SetBool.Request(data=pause), done)

    def _step(self, steps: int) -> None:
        done = 'one step done' if steps == 1 else f'{steps} steps done'
        self._call('step', Step.Request(steps=steps), done, SLOW + steps * STEP_PATIENCE)

    def _reset(self, equilibrium: bool) -> None:
        target = Reset.Request.EQUILIBRIUM if equilibrium else Reset.Request.REST
        place = 'at equilibrium' if equilibrium else 'at rest'
        self._call('reset', Reset.Request(target=target), place, SLOW)

    def _call(self, service: str, request: Any, done: str, patience: float = 5.0) -> None:
        """Call a service that answers with success and message, and say what came of it."""
        def finish(answer: Any, fault: str) -> None:
            if answer is not None and answer.success:
                self._controls.say(done)
            else:
                reason = fault or answer.message or 'rejected without a reason'
                self._controls.say(f'{service}: {reason}', good=False)

        self._controls.say(f'{service} ...')
        self._calls.call(service, request, finish, patience)

    # ------------------------------------------------------------ target of the tip

    def _fetch_target(self) -> None:
        if self._tip is None:
            self._controls.target.say(
                f'no transform from {self.info.base_frame} to {self.info.tip_frame} yet',
                good=False)
        else:
            self._controls.target.place(self._tip)
            self._controls.target.say('')

    def _solve(self) -> None:
        """Ask how to bring the tip to the target: one question at a time, the last one counts."""
        self._wants_solve = self._asked_at < math.inf
        if self._wants_solve or not self._controls.target.is_shown:
            return
        self._asked_at = time.monotonic()
        position, wxyz = self._controls.target.pose()
        self._calls.call(
            'solve_inverse_statics', inverse_request(position, wxyz), self._take_answer, SLOW)

    def _take_answer(self, answer: Any, fault: str) -> None:
        self._asked_at = math.inf
        if answer is None:  # whoever still wants it moves the target again
            self._controls.target.say(f'solve_inverse_statics: {fault}', good=False)
            return
        self._take_actuation(answer)
        if self._wants_solve:
            self._solve()

    def _take_actuation(self, answer: Any) -> None:
        found = {one.name: one.value for one in answer.actuation}
        commands = np.array([
            found.get(one.name, old) for one, old in zip(self._ranges, self._commanded.values)])
        if answer.status.code in SOLVED and np.isfinite(commands).all():
            self._send(commands)
        self._controls.target.say(
            said_of(answer), good=answer.status.code == SolverStatus.CONVERGED)

    # ------------------------------------------------------------ what the robot says

    def diagnose(self, statuses: Sequence[DiagnosticStatus]) -> None:
        """Take what is said of this robot's simulator, among others."""
        for status in statuses:
            node, _, _ = status.name.partition(':')
            if node.strip(' /') == self.simulator.strip('/'):
                self._diagnosis = status
                self._facts = {fact.key: fact.value for fact in status.values}

    @property
    def _paused(self) -> bool:
        return self._facts.get('paused', '').lower() in ('true', '1', 'yes')

    def update(self, now: float, feed: Optional[Feed], tree: FrameTree, fixed: str) -> None:
        """Bring trail, charts, sliders and target up to date, at a monotonic time [s]."""
        panel = self._page.panel
        base = tree.pose(self.info.base_frame, fixed)
        self._tip = tree.pose(self.info.tip_frame, self.info.base_frame)
        if base is not None:
            self.place = base[:3, 3]
            self._controls.target.set_base(base)
            if self._tip is not None:
                self._trail.add((base @ self._tip)[:3, 3], now)
        self._trail.draw(panel.trail_length.value if panel.trail.value else 0.0, now)
        positions, efforts = self._read(feed)
        modes = [one.mode for one in self.info.actuators]
        measured = np.select(
            [np.equal(modes, ActuatorCommand.EFFORT), np.equal(modes, ActuatorCommand.POSITION)],
            [efforts, positions], math.nan)
        if not self._paused:  # else a command shows only when time goes on
            self._commanded.hear(measured, now)
        self._controls.set_commands(self._commanded.values.tolist())
        if panel.draw_charts.value and self._charts.wants_sample(now):
            tip = np.full(3, math.nan) if self._tip is None else self._tip[:3, 3]
            self._charts.add(np.concatenate((tip, efforts[self._effort_order])), now)
            self._charts.draw(now)

    def _read(self, feed: Optional[Feed]) -> tuple[np.ndarray, np.ndarray]:
        """Return position and effort of every actuator, NaN where not known."""
        return tuple(
            column(feed.newest if feed else None, field, [one.name for one in self.info.actuators])
            for field in ('position', 'effort'))  # type: ignore[return-value]

    def report(self, now: float, feed: Optional[Feed]) -> None:
        """Say how the robot is, at a monotonic time [s], and give up calls that take too long."""
        self._calls.check()
        if now - self._asked_at > HASTE:
            self._controls.target.say(f'solving for {now - self._asked_at:.0f} s ...')
        quiet = now - (feed.last if feed else -math.inf)
        if quiet == math.inf:
            self._controls.set_state(False, [f'waiting for {self.joint_topic} ...'])
        elif quiet > SILENCE and not self._paused:
            self._controls.set_state(False, [f'no data for {quiet:.0f} s'])
        else:
            self._controls.set_state(*state_lines(self._diagnosis, self._facts, self._paused))


def name_of(simulator: str, robot: str) -> str:
    """Return a title that tells robots apart: by the simulator's namespace or its own name."""
    place = simulator.strip('/').removesuffix('/simulator')
    return robot if place in ('', 'simulator') else f'{place}: {robot}'


def column(state: Optional[JointState], field: str, names: Sequence[str]) -> np.ndarray:
    """Return a field of a joint state for some joints by name, NaN where it has none."""
    values = getattr(state, field) if state is not None else ()
    if state is None or len(values) != len(state.name):
        return np.full(len(names), math.nan)
    found = dict(zip(state.name, values))
    return np.array([found.get(name, math.nan) for name in names])


def effort_charts(actuators: Sequence[ActuatorInfo]) -> tuple[np.ndarray, list[Lines]]:
    """Return the charts for what actuators exert, one per kind, and the order of their lines."""
    order: list[int] = []
    charts = []
    for kind, (title, scale) in EFFORTS.items():
        alike = [i for i, one in enumerate(actuators) if one.kind == kind]
        if alike:
            order += alike
            charts.append(Lines(title, [actuators[i].name for i in alike], scale))
    return np.array(order, int), charts


def inverse_request(
    position: np.ndarray, wxyz: Optional[np.ndarray],
) -> SolveInverseStatics.Request:
    """Ask for the actuation, near the present one, that brings the tip somewhere."""
    target = Target(kind=Target.POSITION if wxyz is None else Target.POSE)
    p, q = target.pose.position, target.pose.orientation
    p.x, p.y, p.z = position.tolist()
    if wxyz is not None:
        q.w, q.x, q.y, q.z = (wxyz / np.linalg.norm(wxyz)).tolist()
    return SolveInverseStatics.Request(
        targets=[target], secondary_goal=SolveInverseStatics.Request.NEAREST,
        keep_present_loads=True)


def said_of(answer: SolveInverseStatics.Response) -> str:
    """Say how far a target is met."""
    message = answer.status.message
    if answer.status.code not in SOLVED:
        return message or f'no solution, status {answer.status.code}'
    distance, angle = sum(answer.position_errors), sum(answer.orientation_errors)
    missing = [f'{distance * 1e3:.1f} mm'] if distance >= 5e-5 else []
    missing += [f'{math.degrees(angle):.1f}°'] if angle >= 1e-3 else []
    met = f'missing: {", ".join(missing)}' if missing else 'reached'
    return f'{met}; {message or f"solved in {answer.status.solve_time * 1e3:.0f} ms"}'


def state_lines(
    diagnosis: Optional[DiagnosticStatus], facts: Mapping[str, str], paused: bool,
) -> tuple[bool, list[str]]:
    """Whether a simulator is well, and the lines that say how it is; keys may be absent."""
    lines = ['paused' if paused else 'running']
    factor, simulated = number(facts, 'real-time factor'), number(facts, 'simulated time [s]')
    if factor is not None and not paused:
        lines[0] += f', {factor:.2f} × real time'
    if simulated is not None:
        lines[0] += f', at {simulated:.1f} s'
    if facts.get('moves by itself') == 'True' and not paused:
        lines.append('moves by itself until you command it')
    counted = [f'{key} {facts[key]}' for key in ALWAYS_SAID if key in facts]
    counted += [f'{key} {facts[key]}' for key in SAID_IF_ANY if facts.get(key, '0') != '0']
    if counted:
        lines.append(', '.join(counted))
    if diagnosis is None:
        return True, lines
    good = diagnosis.level == DiagnosticStatus.OK
    return good, lines if good else [*lines, diagnosis.message]


def number(facts: Mapping[str, str], key: str) -> Optional[float]:
    """Return a fact that is a number, or None."""
    try:
        return float(facts[key])
    except (KeyError, ValueError):
        return None
