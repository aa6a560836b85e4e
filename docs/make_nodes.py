"""
Write docs/nodes.md: start every node, ask it what it offers, and put that into tables.

Run by `make docs`. Topics, services and parameters are those of the running nodes. What services
and our own messages are is taken from the first lines of their files; only topics need a word
here, and one without it, or a word for a topic that is not there, is an error.
"""

from __future__ import annotations

import argparse
import importlib
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

from ament_index_python.packages import get_package_prefix
from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rcl_interfaces.srv import DescribeParameters, ListParameters
import rclpy
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.node import Node

from cosserat_ros.commands.cosserat import SUBCOMMANDS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs' / 'nodes.md'
PATIENCE = 60.0  # [s] until a node must be there, with all that it offers
SETTLED = 1.0    # [s] without anything new, after which a node has nothing more to offer
ARGUMENTS = {  # that let a node offer all it can, start beside others, and leave nothing behind
    'simulator': ['-p', 'robot:=mobile_arm', '-p', 'base_source:=odometry'],
    'viewer': ['-p', 'port:=0'], 'recorder': ['-p', f'folder:={tempfile.gettempdir()}']}
TYPES = {ParameterType.PARAMETER_BOOL: 'bool', ParameterType.PARAMETER_INTEGER: 'int',
         ParameterType.PARAMETER_DOUBLE: 'float', ParameterType.PARAMETER_STRING: 'text'}
COMMON = re.compile(  # what rclpy gives every node, or every managed one
    r'/(rosout|parameter_events|.*/transition_event|.*/_action/.*)'
    r'|.*/(describe_parameters|get_parameter_types|get_parameters|list_parameters|set_parameters'
    r'|set_parameters_atomically|get_type_description|change_state|get_available_states'
    r'|get_available_transitions|get_state|get_transition_graph)')
OF_ALL_NODES = 'use_sim_time', 'start_type_description_service'

TOPICS = {
    'simulator': {
        '~/commands': 'one number per actuator, in the order of ~/robot and its unit',
        'joint_commands': 'commands by name, any of them; each takes the array of its interface',
        '~/joint_trajectory': 'commands over time, interpolated; a new one replaces the old',
        '~/wrench': 'load on the frame that the header names, along its axes; zero removes it',
        '~/base': 'what moves a driven base: of base_source pose PoseStamped, twist TwistStamped, '
                  'odometry Odometry; see [A base that moves](#a-base-that-moves)',
        'joint_states': 'displacement and tension, volume and pressure, or length and force; of '
                        'joints position, velocity and effort, 0 if passive',
        '/tf': 'all moving frames of one instant',
        '/tf_static': 'where base_link is, and the tip on what carries it',
        'robot_description': 'URDF: a link per frame, and slides and hinges of joint_states',
        '~/obstacles': 'one obstacle to add, extend, move or remove, as MoveIt has them',
        '~/markers': 'rods, discs, bodies, tendons by tension, chambers by pressure, loads; '
                     'obstacles, and contact forces as arrows',
        '~/tip_pose': 'of the tip or platform, seen from base_link',
        '~/tip_twist': 'its velocity, along the axes of base_link',
        '/diagnostics': 'residual, iterations, real-time factor, overruns, age of the command, '
                        'rejected commands',
    },
    'comparator': {
        'real/tip_pose': 'the markers of the real robot: topics by parameter',
        'real/joint_states': 'joints of the real robot',
        'simulator/backbone': 'the simulated robot',
        'joint_states': 'joints of the simulated robot',
        '~/joint_errors': 'simulated minus real joints, at the stamp minus the delay',
        '~/ghost': 'the real robot in the frame of the simulated one: markers, rods, errors',
        '/diagnostics': 'errors, delay and placement; what was bad, late or missing',
    },
    'viewer': {
        '/tf': 'frames',
        '/tf_static': 'frames',
        '/diagnostics': 'state of the simulators',
    },
    'recorder': dict.fromkeys(
        ('joint_commands', 'simulator/commands', 'simulator/joint_trajectory',
         'simulator/obstacles', 'simulator/wrench'),
        'an input of the robot, recorded from the start; other topics are found as it runs'),
    'path_follower': {
        '/simulator/tip_pose': 'where the tip is',
        '/simulator/tip_twist': 'how fast it is',
        '/simulator/commands': 'commands that move the tip along the path',
        '~/tracking_error': 'wanted minus present position of the tip, at the stamp, in base_link '
                            '[m]',
        '~/markers': 'the path, and the point on it where the tip should be',
    },
}
SERVICES = {  # of types not ours
    'simulator': {'~/pause': 'true: stand still; false: go on'},
    'comparator': {'~/realign': 'estimate the placement of the real robot anew'}}
ACTIONS = {
    'simulator': {
        '~/follow_joint_trajectory': 'as joint_trajectory_controller has it, see '
                                     '[Trajectories](#trajectories); where control_msgs is '
                                     'installed'}}
HEAD = """# Nodes

Written by `make docs` from the running nodes: do not edit. `~` is the node's own name, as in
`/simulator/commands`; the fields of services and of our own messages are explained in
[srv/](../srv) and [msg/](../msg). Every node also has the topics, services and parameters that
rclpy gives it, such as `use_sim_time`. `live` parameters can be set while the node runs; the
others hold what the node was started with.

| what you want | start |
|---|---|
| a robot to command, as if it were real | `cosserat simulate` |
| to see it without RViz, and to drive it by hand | `cosserat view` |
| an equilibrium | `cosserat statics` |
| the actuation for a place of the tip | `cosserat inverse-statics` |
| a tip that follows a path | `cosserat follow` |
| a bag of the inputs and outputs of a robot | `cosserat record` |
| the error between a real robot and the simulated one | `cosserat comparator` |

```
your controller --- ~/commands, joint_commands, ~/joint_trajectory --> simulator
MoveIt, any action client <-- ~/follow_joint_trajectory -------------> simulator
your controller <-- joint_states, ~/tip_pose, ~/backbone ------------- simulator
statics, inverse_statics, path_follower, viewer <-- services --------> simulator
viewer, RViz    <-- /tf, ~/markers ----------------------------------- simulator
comparator      <-- ~/backbone --------------------------------------- simulator
comparator      <-- markers ------------------------------------------ the real robot
recorder        <-- all of them

world -> base_link -> backbone_00 ... backbone_20 -> tip   stations of a rod, each on base_link
                   -> platform -> tip                      a robot with legs
                   -> <body> -> <body>_<frame>             bodies by themselves
```

| topics of the simulator | reliability | durability | depth |
|---|---|---|---|
| `/tf` | reliable | volatile | 100 |
| `/tf_static`, `robot_description` | reliable | transient local | 1 |
| `~/robot`, `~/obstacles_state` | reliable | transient local | 1 |
| `joint_commands` (in) | reliable publishers only | volatile | 3 |
| `~/commands`, `~/joint_trajectory`, `~/wrench` (in) | reliable publishers only | volatile | 10 |
| `~/obstacles` (in) | reliable publishers only | volatile | 100 |
| `base_topic` (in) | best effort: all publishers match | volatile | 10 |
| `/tf` (in, for `base_source` `tf`) | reliable publishers only | volatile | 100 |
| `/tf_static` (in, likewise) | reliable publishers only | transient local | 100 |
| all others (out) | reliable; best-effort listeners match | volatile | 10 |

What has no subscriber is not computed.

## Trajectories

`~/joint_trajectory` and the action `~/follow_joint_trajectory` of
`control_msgs/action/FollowJointTrajectory` take the same trajectories, of any of the actuators:
linear between points, cubic where `velocities` are given, from a stamped time on. Each actuator
takes the field of its interface: `positions`, `velocities` or `effort`. A new trajectory, a
command on any topic or `~/reset` ends one that is followed. `~/pause` suspends it. Times are
simulated.

The action needs `control_msgs`: it comes with ros2_controllers and MoveIt
(`ros-$ROS_DISTRO-control-msgs`), and is built for `make demo`. MoveIt's controller manager takes
it as a controller called `simulator`, with `action_ns: follow_joint_trajectory` and
`type: FollowJointTrajectory`. From Python:

```python
client = ActionClient(node, FollowJointTrajectory, '/simulator/follow_joint_trajectory')
goal = FollowJointTrajectory.Goal()
goal.trajectory.joint_names = ['slide']
goal.trajectory.points = [JointTrajectoryPoint(positions=[0.1], time_from_start=Duration(sec=2))]
goal.goal_tolerance = [JointTolerance(name='slide', position=1e-3)]     # m
goal.goal_time_tolerance = Duration(sec=1)
sent = client.send_goal_async(goal, lambda message: print(message.feedback.error.positions))
```

It behaves as that of joint_trajectory_controller:

- *Feedback* (20 Hz) has desired, actual and error of the goal's actuators. Where nothing is
  desired, as the position of a tendon that is told its tension, `desired` is `actual`.
- *Tolerances*: 0 stands for the default, -1 for none. By default there are none, and
  `goal_time_tolerance` is the parameter `goal_time`, 0 for no limit. `position` bounds the error
  of the command in its unit, also of a tension, pressure or effort; `velocity` bounds that of
  actuators commanded by position or velocity. Others, also `component_..._tolerance`, are
  rejected.
- *The end*: success when the trajectory is over and the goal's tolerances are met. A violated
  tolerance aborts (`PATH_TOLERANCE_VIOLATED`, `GOAL_TOLERANCE_VIOLATED`), and the robot holds what
  it has reached; so it does when the goal is canceled. What turns by its velocity stops.
- *Preemption*: a new goal aborts the old one, as does all else that takes over (`INVALID_GOAL`,
  with the reason). Deactivation aborts too, and the robot holds. A failed step aborts.
- *Goals that are not valid* are accepted and aborted at once (`INVALID_GOAL`, `INVALID_JOINTS`,
  `OLD_HEADER_TIMESTAMP`): in ROS 2 a rejected goal cannot say why. They do not disturb the goal
  that is followed. A trajectory must end at rest. Only an inactive node rejects goals.

## A base that moves

A robot whose file has `base: {motion: driven}` rides on another one. The parameter `base_source`
says what moves its `base_link` in `parent_frame`. The robot feels velocity and acceleration of
that motion.

- `pose`: `geometry_msgs/PoseStamped` on `base_topic`, the pose of `base_link`; `frame_id` is
  `parent_frame` or empty.
- `odometry`: `nav_msgs/Odometry` on `base_topic`, likewise, with the twist along the axes of
  `base_link`. `child_frame_id` and covariances are not read.
- `twist`: `geometry_msgs/TwistStamped` on `base_topic`, the velocity of `base_link`, which is
  integrated from the pose in the robot file. Its axes are those of `base_link` where `frame_id` is
  `base_link` or empty, and those of `parent_frame` where it is that.
- `tf`: `base_frame`, seen from `parent_frame`, over any number of transforms of `/tf` and
  `/tf_static`. `base_link` is put on it, as the simulator says on `/tf_static`. Where others
  publish `base_link` itself, name it as `base_frame`.

`base_link` has the robot's `frame_prefix`. With an empty `parent_frame`, messages of any
`frame_id` are taken. Until the first message, the base stands at the pose of the robot file; the
first pose then places it, without being felt.

*On a mobile robot* that publishes odometry in `odom`, with the arm in the middle of its base:

```bash
cosserat simulate --ros-args -p robot:=mobile_arm -p base_source:=odometry \\
    -p base_topic:=/odom -p parent_frame:=odom -p frame_prefix:=arm/
```

*On the flange of an arm*, on a mount of a mobile robot, or on any frame of `/tf`:

```bash
cosserat simulate --ros-args -p robot:=mobile_arm -p base_source:=tf \\
    -p base_frame:=panda_link8 -p parent_frame:=panda_link0 -p frame_prefix:=arm/
```

The base follows a target, which runs through the messages, by a filter of fourth order: its pose,
velocity and acceleration are continuous.

- *Delay* is made up for: the last message is continued to now with its twist, which is measured
  (`odometry`, `twist`) or that from an earlier pose to the last one. A stamp of 0 means now. Other
  stamps are of the node's clock, or of `/clock` where the node publishes it (`publish_clock`). A
  message whose stamp is more than `base_timeout` off, or not newer than the last one, is rejected
  and counted.
- *Jumps* beyond `base_jump` or `base_jump_angle` from where the last messages led are no motion,
  as when a localisation corrects itself: the base is placed there, and the robot does not feel it.
  Less is followed, and felt.
- *Silence*: `base_timeout` after the last message the base slows down evenly, and stands after as
  long again. The next message leads it on from where it stands.
- *Pause and reset*: while the simulation is paused, the base stands; the next message then places
  it. After `~/reset`, it goes on from where it is.
- *Which `base_time_constant`*, T: behind a constant velocity or acceleration the filter leaves no
  error; at a frequency f [Hz] it leaves about 4 (2 pi f T)^3 of the motion: with 0.02 s, 0.8 % at
  1 Hz. The target itself, a polygon through the messages, is off by
  ((L + h) (L + 2 h) / 2 - h^2 / 12) a at an acceleration a, with messages h apart that are L late.
  T should be two intervals h or more, unless twists are measured: with less, the acceleration
  ripples. For poses at 50 Hz, 0.04 s.

`/diagnostics` has `base source`, `base inputs` (messages taken), `base input age [s]`,
`base input delay [s]` (age of the last message when it came), `base error [m]` and
`base error [rad]` (from where the last message leads), and `base jumps`. It warns while nothing
has been heard yet, while the base stands since nothing is heard, and of jumps.
"""


def names_in_cmake() -> list[str]:
    """Return all executables."""
    text = (ROOT / 'CMakeLists.txt').read_text(encoding='utf-8')
    found = re.search(r'set\(nodes ([^)]*)\)', text)
    assert found is not None
    return sorted(found[1].split(), key=lambda name: name != 'simulator')  # which comes first


def subcommand(node: str) -> str:
    """Return which subcommand of `cosserat` starts a node."""
    return next(word for word, one in SUBCOMMANDS.items() if one.module == f'nodes.{node}')


def first_words(kind: str) -> str:
    """Return what the file of an interface of ours says it is; nothing for others."""
    package, folder, name = kind.split('/')
    if package != 'cosserat_ros':
        return ''
    text = (ROOT / folder / f'{name}.{folder}').read_text(encoding='utf-8')
    return text.splitlines()[0].strip('# .')


class Graph(Node):
    """One who asks nodes what they offer."""

    def offered(self, node: str) -> dict[str, dict[str, str]]:
        """Return a node's topics in and out and its services, by name, with their types."""
        return {kind: {name: types[0] for name, types in ask(node, '/')
                       if not COMMON.fullmatch(name)}
                for kind, ask in (
                    ('in', self.get_subscriber_names_and_types_by_node),
                    ('out', self.get_publisher_names_and_types_by_node),
                    ('service', self.get_service_names_and_types_by_node))}

    def settled(self, node: str, least: int) -> dict[str, dict[str, str]]:
        """Return what a node offers, at `least` so many topics, once nothing more is added."""
        deadline, since = time.monotonic() + PATIENCE, time.monotonic()
        last: dict[str, dict[str, str]] = {}
        here = False
        while time.monotonic() - since < SETTLED or not here or (
                len(last['in']) + len(last['out']) < least):
            assert time.monotonic() < deadline, f'{node} does not come up'
            here = node in self.get_node_names()
            now = self.offered(node) if here else {}
            if now != last:
                since, last = time.monotonic(), now
            rclpy.spin_once(self, timeout_sec=0.1)
        return last

    def call(self, kind: Any, service: str, **fields: Any) -> Any:
        """Return the answer of a service."""
        client: Any = self.create_client(kind, service)
        assert client.wait_for_service(PATIENCE), service
        future = client.call_async(kind.Request(**fields))
        rclpy.spin_until_future_complete(self, future, timeout_sec=PATIENCE)
        assert future.done(), service
        return future.result()

    def parameters(self, node: str) -> list[ParameterDescriptor]:
        """Return the descriptors of a node's own parameters."""
        names = self.call(ListParameters, f'/{node}/list_parameters').result.names
        names = [name for name in names if name not in OF_ALL_NODES]
        answer = self.call(DescribeParameters, f'/{node}/describe_parameters', names=names)
        return answer.descriptors


def allowed(one: ParameterDescriptor) -> str:
    """Return the range of a parameter, or what it may be else."""
    if one.additional_constraints:
        return one.additional_constraints
    for span in (*one.floating_point_range, *one.integer_range):
        return f'{span.from_value:g} to {span.to_value:g}'
    return ''


def node_section(name: str, graph: Graph) -> str:
    """Return the section of a running node."""
    module = importlib.import_module(f'cosserat_ros.nodes.{name}')
    words = dict(TOPICS.get(name, {}))
    offered = graph.settled(name, len(words))
    lines = [f'## {name}', '', summary(module), '',
             f'`cosserat {subcommand(name)}`, or `ros2 run cosserat_ros {name}`', '']
    if offered['in'] or offered['out']:
        lines += ['| | topic | type | |', '|---|---|---|---|']
    else:
        lines += ['Its topics are those of the robot, found as it runs.']
    for way in ('in', 'out'):
        for topic, kind in sorted(offered[way].items()):
            own = topic.replace(f'/{name}/', '~/', 1)
            relative = own if own in words or own[0] == '~' else own.removeprefix('/')
            said = words.pop(relative, '') or first_words(kind)
            assert said, f'{name}: say in TOPICS what {own} is'
            lines.append(f'| {way} | `{relative}` | {kind} | {said} |')
    assert not words, f'{name}: has no topics {list(words)}'
    if offered['service']:
        lines += ['', '| service | type | |', '|---|---|---|']
    for service, kind in sorted(offered['service'].items()):
        own = service.replace(f'/{name}/', '~/', 1)
        said = first_words(kind) or SERVICES[name][own]
        lines.append(f'| `{own}` | {kind} | {said} |')
    lines += action_table(name, graph)
    defaults = {p.name: p.default for p in module.PARAMETERS}
    lines += ['', '| parameter | type | default | allowed | live | |', '|---|---|---|---|---|---|']
    descriptors = {one.name: one for one in graph.parameters(name)}
    for parameter, value in defaults.items():
        one = descriptors.pop(parameter)
        shown = str(value).lower() if isinstance(value, bool) else f'{value}' or '(empty)'
        lines.append(f'| `{one.name}` | {TYPES[one.type]} | `{shown}` | {allowed(one)} | '
                     f'{"" if one.read_only else "live"} | {one.description} |')
    assert not descriptors, f'{name} has more parameters: {list(descriptors)}'
    return '\n'.join(lines) + '\n'


def action_table(name: str, graph: Graph) -> list[str]:
    """Return the table of the actions of a running node, if it has any."""
    rows = []
    for action, kinds in get_action_server_names_and_types_by_node(graph, name, '/'):
        own = action.replace(f'/{name}/', '~/', 1)
        rows.append(f'| `{own}` | {kinds[0]} | {ACTIONS[name][own]} |')
    return ['', '| action | type | |', '|---|---|---|', *rows] if rows else []


def summary(module: Any) -> str:
    """Return the first paragraph of a module's docstring."""
    return ' '.join(module.__doc__.strip().split('\n\n')[0].split())


def client_section(name: str) -> str:
    """Return the section of a command-line client."""
    module = importlib.import_module(f'cosserat_ros.nodes.{name}')
    parser: argparse.ArgumentParser = module.command_line()
    lines = [f'## {name}', '', f'{parser.description}', '',
             f'`cosserat {subcommand(name)} --help`', '', '| argument | |', '|---|---|']
    for action in parser._actions:
        given = action.metavar or ('' if action.option_strings else action.dest)
        shown = ' '.join(given) if isinstance(given, tuple) else given
        flags = ' '.join(filter(None, [', '.join(action.option_strings), shown]))
        lines.append(f'| `{flags}` | {action.help} |')
    return '\n'.join([*lines, '', f'{parser.epilog}', ''])


def written() -> str:
    """Start all nodes, and return the page."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    folder = Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros'
    names = names_in_cmake()
    nodes = [name for name in names
             if hasattr(importlib.import_module(f'cosserat_ros.nodes.{name}'), 'PARAMETERS')]
    rclpy.init()
    graph, sections = Graph('make_nodes'), []
    for name in nodes:  # each by itself: the viewer listens to whatever others publish
        with subprocess.Popen(
                [folder / name, '--ros-args', *ARGUMENTS.get(name, [])],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                sections.append(node_section(name, graph))
            finally:
                process.terminate()
    rclpy.shutdown()
    sections += [client_section(name) for name in names if name not in nodes]
    return '\n'.join([HEAD, *sections])


def main() -> int:
    """Write the page; with --check only tell whether it is as it should be."""
    page = written()
    if '--check' not in sys.argv[1:]:
        PAGE.write_text(page, encoding='utf-8')
        return 0
    if page == PAGE.read_text(encoding='utf-8'):
        return 0
    print(f'{PAGE.name} is not up to date: run `make docs`', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
