"""
A robot under ros2_control: a simulator, and controllers that take it for hardware.

Needs ros2_control and its topic-based hardware, see README.md.
"""

from pathlib import Path
import tempfile

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.substitutions import (
    Command,
    LaunchConfiguration,
    PathJoinSubstitution,
    PythonExpression,
)
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
import yaml

ARGUMENTS = {
    # name: (default, description)
    'robot': ('tendon_arm', 'name in share/cosserat_ros/config, or path of a YAML file'),
    'controllers': ('', 'parameters of the controller manager: path of a YAML file; empty: that '
                        'of the robot in share/cosserat_ros/ros2_control, or if there is none, '
                        'a forward_command_controller per interface'),
    'active': ('', 'controllers that are active at first, separated by spaces; empty: each '
                   'forward_command_controller. All others are loaded, to be switched to'),
}
BROADCASTER = 'joint_state_broadcaster'


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros ros2_control.launch.py` starts."""
    # Apart from the root: /joint_states is the broadcaster's.
    namespace = DeclareLaunchArgument(
        'namespace', description="ROS namespace of the simulator; by default its file's name",
        default_value=PythonExpression(
            ['"', LaunchConfiguration('robot'), '".rpartition("/")[2].partition(".")[0]']))
    simulator = IncludeLaunchDescription(
        PathJoinSubstitution([FindPackageShare('cosserat_ros'), 'launch', 'robot.launch.py']))
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=description)
          for name, (default, description) in ARGUMENTS.items()),
        namespace, simulator, OpaqueFunction(function=controlled)])


def controlled(context):
    """Return the controller manager of a robot and what it needs."""
    share = Path(FindPackageShare('cosserat_ros').perform(context))
    robot, controllers, active, namespace = (
        LaunchConfiguration(name).perform(context)
        for name in ('robot', 'controllers', 'active', 'namespace'))
    named = '/' not in robot and not robot.endswith(('.yaml', '.yml'))
    path = share / 'config' / f'{robot}.yaml' if named else Path(robot).expanduser()

    def urdf(*words):
        return Command(['cosserat urdf "', str(path), '" ', *words]).perform(context)

    shipped = share / 'ros2_control' / f'{robot}.yaml'
    if controllers:
        parameters = Path(controllers).expanduser()
    elif named and shipped.is_file():
        parameters = shipped
    else:
        with tempfile.NamedTemporaryFile(
                'w', prefix='controllers_', suffix='.yaml', delete=False) as file:
            file.write(urdf('--controllers'))
        parameters = Path(file.name)
    manager = yaml.safe_load(parameters.read_text())['controller_manager']['ros__parameters']
    types = {name: value['type'] for name, value in manager.items() if isinstance(value, dict)}
    first = active.split() or [
        name for name, kind in types.items() if kind.endswith('/ForwardCommandController')]
    others = [name for name in types if name not in (*first, BROADCASTER)]
    return [
        # To publish the description: what moves is on /tf by the simulator.
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             parameters=[{'robot_description': urdf('--ros2-control ', namespace)}],
             remappings=[('/tf', '~/tf'), ('/tf_static', '~/tf_static')]),
        Node(package='controller_manager', executable='ros2_control_node', output='screen',
             parameters=[str(parameters)]),
        Node(package='controller_manager', executable='spawner', name='spawner', output='screen',
             arguments=[BROADCASTER, *first]),
        *([Node(package='controller_manager', executable='spawner', name='inactive_spawner',
                output='screen', arguments=['--inactive', *others])] if others else [])]
