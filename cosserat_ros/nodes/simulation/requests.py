"""What services are asked for and answer, between messages and the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Inertia as InertiaMessage, Pose, Vector3
import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from ...analysis.stability import displacements, stability
from ...checks.errors import InvalidModel, UnknownName
from ...checks.fields import check_number
from ...description.joints import BASE
from ...description.parts import Actuator, Body, Chamber, COMMANDS, Inertia, Leg, Tendon
from ...description.robot import Robot
from ...inverse import Target
from ...msg import (
    ActuatorBounds,
    ActuatorCommand,
    Backbone,
    Equilibrium,
    Load as LoadMessage,
    Station,
    Target as TargetMessage,
)
from ...simulation.model import GAS_CONSTANT
from ...simulation.simulator import check_wrench, Load, Simulator
from ..common.conversions import (
    backbone_numbers,
    fill_poses,
    fill_xyz,
    make_backbone,
    rotation,
    wrench_array,
    xyz,
)
from .frames import Place, RobotFrames
from .robot_publisher import mode_of
from .wire import Wire

MODES = {
    Tendon: {ActuatorCommand.EFFORT: 'tension', ActuatorCommand.POSITION: 'displacement'},
    Chamber: {ActuatorCommand.EFFORT: 'pressure', ActuatorCommand.POSITION: 'volume',
              ActuatorCommand.AMOUNT: 'amount'},
    Leg: {ActuatorCommand.POSITION: 'length'},
}
MODE_NAMES = {ActuatorCommand.DESCRIBED: 'DESCRIBED', ActuatorCommand.EFFORT: 'EFFORT',
              ActuatorCommand.POSITION: 'POSITION', ActuatorCommand.AMOUNT: 'AMOUNT',
              ActuatorCommand.VELOCITY: 'VELOCITY'}


# --- Asked ---------------------------------------------------------------------------------------

def read_mode(field: str, actuator: Actuator, mode: int) -> str:
    """Return the library's name of a mode of ActuatorCommand, or raise."""
    if mode == ActuatorCommand.DESCRIBED:
        return actuator.command
    known = MODES.get(type(actuator), {mode_of(actuator): actuator.command})  # of a joint
    if mode not in known:
        allowed = ', '.join(f'{m} ({MODE_NAMES[m]})' for m in (0, *known))
        raise InvalidModel(field, mode, f'one of {allowed}')
    return known[mode]


def read_actuation(
    robot: Robot, given: Sequence[ActuatorCommand],
) -> tuple[dict[str, float], dict[str, str]]:
    """Return values of actuators, and modes of those that are not told what is described."""
    values, modes = {}, {}
    for i, command in enumerate(given):
        if command.name not in robot.actuators:
            raise UnknownName(f'actuation[{i}].name', command.name, list(robot.actuators))
        if command.name in values:
            raise InvalidModel(f'actuation[{i}].name', command.name, 'named once')
        actuator = robot.actuators[command.name]
        mode = read_mode(f'actuation[{i}].mode', actuator, command.mode)
        least, most = actuator.bounds
        if mode != actuator.command:
            least, most = COMMANDS[mode].least, np.inf
            modes[command.name] = mode
        values[command.name] = check_number(
            f'actuation[{i}].value', command.value, least=least, most=most,
            unit=COMMANDS[mode].unit)
    return values, modes


def read_load_station(frames: RobotFrames, robot: Robot, station: Station) -> Place:
    """Return what a load acts on, or a body is fixed to; or raise."""
    if station.frame_id:
        return frames.place(station.frame_id)
    if not station.rod and station.arc_length == 0.0:
        return frames.place(frames.tip)
    return _on_rod(robot, station)


def read_seen_station(frames: RobotFrames, robot: Robot, station: Station) -> Place:
    """Return what is to be seen or moved, nothing for the tip; or raise."""
    if station.frame_id == frames.tip or not (
            station.frame_id or station.rod or station.arc_length):
        return Place()
    if not station.frame_id:
        return _on_rod(robot, station)
    place = frames.place(station.frame_id)
    if place.body == BASE:
        raise InvalidModel('station.frame_id', station.frame_id, 'a frame that moves on it')
    return place


def _on_rod(robot: Robot, station: Station) -> Place:
    if station.rod and station.rod not in robot.rods:
        raise UnknownName('station.rod', station.rod, list(robot.rods))
    if not station.rod and len(robot.rods) > 1:
        raise InvalidModel('station.rod', '', f'one of: {", ".join(robot.rods)}')
    rod = robot.rod_name(station.rod or None)
    return Place(rod, check_number('station.arc_length', station.arc_length, least=0.0,
                                   most=robot.rods[rod].length, unit='m'))


def read_loads(
    frames: RobotFrames, robot: Robot, given: Sequence[LoadMessage], named: bool = False,
) -> dict[str, Load]:
    """Return loads by name, or raise; those without one get one, unless they must be `named`."""
    base = robot.base.matrix()[:3, :3]
    loads: dict[str, Load] = {}
    for i, load in enumerate(given):
        name = load.name or f'load_{i}'
        try:
            if named and not load.name:
                raise InvalidModel('name', '', 'given')
            if name in loads:
                raise InvalidModel('name', name, 'used once')
            if load.kind not in (LoadMessage.DEAD, LoadMessage.FOLLOWER):
                raise InvalidModel('kind', load.kind, 'DEAD (0) or FOLLOWER (1)')
            wrench = check_wrench(wrench_array(load.wrench))
            follower = load.kind == LoadMessage.FOLLOWER
            if not follower:
                wrench = np.concatenate([base.T @ wrench[:3], base.T @ wrench[3:]])
            place = read_load_station(frames, robot, load.station)
            extent = check_number('extent', load.extent, least=0.0, unit='m')
            loads[name] = Load(
                wrench, extent=extent, follower=follower, **place._asdict())
        except InvalidModel as error:
            raise error.within(f'loads[{i}] {load.name!r}') from None
    return loads


def read_body(
    frames: RobotFrames, robot: Robot, station: Station, inertia: InertiaMessage,
) -> tuple[Body, Place]:
    """Return a body, and what it is fixed to; or raise."""
    place = read_load_station(frames, robot, station)
    body = Body(
        inertia.m, at=place.at, rod=place.rod, centre_of_mass=tuple(xyz(inertia.com).tolist()),
        inertia=Inertia(inertia.ixx, inertia.iyy, inertia.izz, inertia.ixy, inertia.ixz,
                        inertia.iyz))
    return body, place


def read_targets(
    frames: RobotFrames, robot: Robot, given: Sequence[TargetMessage],
) -> list[Target]:
    """Return targets, or raise."""
    if not given:
        raise InvalidModel('targets', [], 'at least one')
    targets = []
    for i, target in enumerate(given):
        try:
            if target.kind not in (TargetMessage.POSITION, TargetMessage.POSE):
                raise InvalidModel('kind', target.kind, 'POSITION (0) or POSE (1)')
            position = [check_number(f'pose.position.{axis}', x, unit='m')
                        for axis, x in zip('xyz', xyz(target.pose.position))]
            R = None
            if target.kind == TargetMessage.POSE:
                R = rotation('pose.orientation', target.pose.orientation)
            weights = [check_number(name, getattr(target, name), least=0.0)
                       for name in ('position_weight', 'orientation_weight')]
            place = read_seen_station(frames, robot, target.station)
            targets.append(Target(
                np.array(position), R, weight=weights[0] or 1.0,
                orientation_weight=weights[1] or None, **place._asdict()))
        except InvalidModel as error:
            raise error.within(f'targets[{i}]') from None
    return targets


def read_bounds(robot: Robot, given: Sequence[ActuatorBounds]) -> dict[str, tuple]:
    """Return ranges of commands by actuator, or raise."""
    bounds = {}
    for i, bound in enumerate(given):
        if bound.name not in robot.actuators:
            raise UnknownName(f'bounds[{i}].name', bound.name, list(robot.actuators))
        actuator = robot.actuators[bound.name]
        if read_mode(f'bounds[{i}].mode', actuator, bound.mode) != actuator.command:
            raise InvalidModel(
                f'bounds[{i}].mode', bound.mode,
                f'that of the command, {actuator.command}: {mode_of(actuator)} or 0')
        lower, upper = (
            check_number(f'bounds[{i}].{name}', value, unit=actuator.unit) if given else None
            for name, value, given in (('lower', bound.lower, bound.bounded_below),
                                       ('upper', bound.upper, bound.bounded_above)))
        bounds[bound.name] = lower, upper
    return bounds


# --- Answered ------------------------------------------------------------------------------------

def actuation(robot: Robot, commands: dict[str, float]) -> list[ActuatorCommand]:
    """Return the commands of all actuators, in their described modes."""
    return [ActuatorCommand(name=name, mode=mode_of(actuator), value=float(commands[name]))
            for name, actuator in robot.actuators.items()]


def backbone(sim: Simulator, frame_id: str, stamp: Time) -> Backbone:
    """Return the present shape of a robot."""
    look = sim.look()
    wire = Wire(make_backbone(look.shape, frame_id))
    wire.put(0, backbone_numbers(look))
    wire.put_stamp(stamp.sec, stamp.nanosec)
    return deserialize_message(wire.data(), Backbone)


def equilibrium(sim: Simulator, frame_id: str, stamp: Time, stands: bool) -> Equilibrium:
    """Return the present state; its stability is looked at if it `stands` still by itself."""
    states, robot = sim.actuators(), sim.robot
    message = Equilibrium(
        backbone=backbone(sim, frame_id, stamp),
        actuators=JointState(
            name=list(states), position=[a.position for a in states.values()],
            velocity=[a.velocity for a in states.values()],
            effort=[a.effort for a in states.values()]),
        gas_amounts=[_gas(robot.actuators[name], a) for name, a in states.items()])
    message.actuators.header.stamp = stamp
    if stands:
        found = stability(sim)
        message.stable, message.stability_margin = found.stable, found.margin
        for rod in displacements(sim, found.mode).values():
            for row in rod:
                moved = Vector3()
                fill_xyz(moved, row)
                message.critical_displacements.append(moved)
    return message


def _gas(actuator: Actuator, state: Any) -> float:
    """Return the gas in a chamber [mol]."""
    if not isinstance(actuator, Chamber):
        return 0.0
    pressure = state.effort + actuator.ambient_pressure
    volume = state.position + actuator.dead_volume
    return pressure * volume / (GAS_CONSTANT * actuator.temperature)


def pose_message(g: np.ndarray) -> Pose:
    """Return a homogeneous transform as a message."""
    message = Pose()
    fill_poses([message], g[None])
    return message


def matrix_message(matrix: np.ndarray) -> Float64MultiArray:
    """Return a matrix as a message, row-major."""
    rows, columns = matrix.shape
    message = Float64MultiArray(data=np.ravel(matrix).tolist())
    message.layout.dim = [
        MultiArrayDimension(label='rows', size=rows, stride=rows * columns),
        MultiArrayDimension(label='columns', size=columns, stride=columns)]
    return message
