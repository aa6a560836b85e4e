"""
A robot as ros2_control sees it: hardware that is commanded and read over topics, and controllers.

The hardware is ros-controls' joint_state_topic_hardware_interface. It sends, for all joints of a
system, the values of the command interfaces that there are, without gaps for those that there are
not. So the joints of each interface are a system of their own, and so are the passive ones, which
nothing commands. It sends nothing while states are as commanded; an amount of gas, whose position
is a volume, it sends in every cycle.

ros2_control knows only joints that the URDF has. What joint_states has and a tree of links has not
(tendons, chambers, legs, gaits, joints that URDF does not know) is added as a joint from base_link
to a link without mass or shape: position and effort are those of joint_states, the place is not.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
import math
import re
from typing import Optional
from xml.etree import ElementTree

from ..checks.errors import InvalidModel
from ..description.joints import coordinates_of
from ..description.parts import Actuator
from ..description.robot import Robot
from .passive_joints import PassiveJoints
from .simulator import Simulator
from .urdf import checked_name, UNLIMITED, urdf_tree, xml_text

INTERFACES = 'position', 'velocity', 'effort'  # of JointState, in the order of states
PLUGIN = 'joint_state_topic_hardware_interface/JointStateTopicSystem'
RESOLUTION = 1e-6  # of the range of commands: a smaller change is not sent
ANGULAR = 'rad', 'rad/s', 'N m'  # units of commands of joints that turn
NAMESPACE = re.compile('(/[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*)*')
RATE = 100  # of the controllers [Hz]


def controlled_urdf(sim: Simulator, namespace: str) -> str:
    """
    Return the URDF of a robot with its <ros2_control> systems.

    Parameters
    ----------
    sim : Simulator
        At rest: its commands and states are those that ros2_control begins with.
    namespace : str
        ROS namespace of the simulator node, where joint_commands and joint_states are. Not the
        root: /joint_states is the broadcaster's.

    Raises
    ------
    InvalidModel
        If the namespace is invalid, if the robot has neither actuators nor passive joints, or if
        a name cannot be in an XML file.

    """
    robot, passive = sim.robot, PassiveJoints(sim)
    space = '/' + namespace.strip('/')
    if space == '/' or not NAMESPACE.fullmatch(space):
        raise InvalidModel('namespace', namespace, 'a ROS namespace other than the root')
    states = {name: (state.position, state.velocity, state.effort)
              for name, state in sim.actuators().items()}
    states.update(zip(passive.names, passive.states()))
    if not states:
        raise InvalidModel('robot', robot.name, 'one with actuators or joints')
    root = urdf_tree(sim)
    _add_missing(root, robot, states)
    for interface, actuators in by_interface(robot).items():
        system = _add_system(root, f'{robot.name}_{interface}', space, _threshold(actuators))
        for name, actuator in actuators.items():
            _add_joint(system, name, states[name], actuator, sim.rest_command(name))
    if passive.names:
        system = _add_system(root, f'{robot.name}_passive', space, 0.0)
        for name in passive.names:
            _add_joint(system, name, states[name])
    return xml_text(root)


def controllers(robot: Robot) -> str:
    """Return parameters of a controller manager: a forward_command_controller per interface."""
    actuated = by_interface(robot)
    lines = [
        'controller_manager:', '  ros__parameters:', f'    update_rate: {RATE}   # Hz',
        '    enforce_command_limits: true', '    joint_state_broadcaster:',
        '      type: joint_state_broadcaster/JointStateBroadcaster']
    for interface in actuated:
        lines += [f'    {interface}_controller:',
                  '      type: forward_command_controller/ForwardCommandController']
    for interface, actuators in actuated.items():
        units = ', '.join(one.unit for one in actuators.values())
        lines += ['', f'# ~/commands: std_msgs/Float64MultiArray [{units}]',
                  f'{interface}_controller:', '  ros__parameters:',
                  f'    joints: {json.dumps(list(actuators), ensure_ascii=False)}',
                  f'    interface_name: {interface}']
    return '\n'.join(lines) + '\n'


def by_interface(robot: Robot) -> dict[str, dict[str, Actuator]]:
    """Return the actuators of a robot by the interface that commands them, where there are any."""
    found: dict[str, dict[str, Actuator]] = {}
    for interface in INTERFACES:
        for name, actuator in robot.actuators.items():
            if actuator.interface == interface:
                found.setdefault(interface, {})[name] = actuator
    return found


# --- Parts of the description --------------------------------------------------------------------


def _add_missing(
    root: ElementTree.Element, robot: Robot, states: Mapping[str, tuple[float, float, float]],
) -> None:
    """Add a joint and a link for each name of joint_states that the tree of links has not."""
    links = [link.get('name', '') for link in root.findall('link')]
    known = {joint.get('name') for joint in root.findall('joint')}
    own = {name: own for name, _, _, own, _ in coordinates_of(robot.moving)}
    for name in states:
        if name in known:
            continue
        end = f'{name}_end'
        while end in links:
            end += '_'
        links.append(end)
        ElementTree.SubElement(root, 'link', name=checked_name(end))
        actuator = robot.actuators.get(name)
        turns = (actuator.unit in ANGULAR if actuator is not None
                 else own[name].startswith('turn') or own[name] == 'roll')
        joint = ElementTree.SubElement(
            root, 'joint', name=checked_name(name), type='continuous' if turns else 'prismatic')
        ElementTree.SubElement(joint, 'parent', link=links[0])
        ElementTree.SubElement(joint, 'child', link=end)
        ElementTree.SubElement(joint, 'axis', xyz='0 0 1')
        limits = {'effort': UNLIMITED, 'velocity': UNLIMITED}
        if not turns:
            limits.update(lower=-UNLIMITED, upper=UNLIMITED)
        ElementTree.SubElement(joint, 'limit', {k: repr(v) for k, v in limits.items()})


def _threshold(actuators: Mapping[str, Actuator]) -> float:
    """Return the sum of differences between commands and states up to which nothing is sent."""
    ranges = [upper - lower for lower, upper in (one.bounds for one in actuators.values())]
    return RESOLUTION * min(ranges) if math.isfinite(max(ranges)) else 0.0


def _add_system(
    root: ElementTree.Element, name: str, space: str, threshold: float,
) -> ElementTree.Element:
    """Add hardware, whose name is that of a ROS node too."""
    system = ElementTree.SubElement(
        root, 'ros2_control', name=re.sub('[^A-Za-z0-9_]', '_', name), type='system')
    hardware = ElementTree.SubElement(system, 'hardware')
    ElementTree.SubElement(hardware, 'plugin').text = PLUGIN
    _add_parameter(hardware, 'joint_commands_topic', f'{space}/joint_commands')
    _add_parameter(hardware, 'joint_states_topic', f'{space}/joint_states')
    _add_parameter(hardware, 'trigger_joint_command_threshold', repr(threshold))
    return system


def _add_joint(
    system: ElementTree.Element, name: str, state: tuple[float, float, float],
    actuator: Optional[Actuator] = None, command: float = 0.0,
) -> None:
    """Add a joint with its interfaces. Without initial values, NaN would be sent at first."""
    joint = ElementTree.SubElement(system, 'joint', name=checked_name(name))
    if actuator is not None:
        commanded = ElementTree.SubElement(joint, 'command_interface', name=actuator.interface)
        for end, limit in zip(('min', 'max'), actuator.bounds):
            if math.isfinite(limit):
                _add_parameter(commanded, end, repr(float(limit)))
        _add_parameter(commanded, 'initial_value', repr(float(command)))
    for interface, value in zip(INTERFACES, state):
        told = ElementTree.SubElement(joint, 'state_interface', name=interface)
        _add_parameter(told, 'initial_value', repr(float(value)))


def _add_parameter(element: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(element, 'param', name=name).text = text
