"""Two robots side by side: namespaces left and right, frames left/... and right/..."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution, PythonExpression
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

ARGUMENTS = {
    # name: (default, description)
    'left': ('tendon_arm', 'robot on the left: name in share/cosserat_ros/config, or a path'),
    'right': ('tendon_arm', 'robot on the right, likewise'),
    'distance': ('0.2', 'between their bases, along y of world [m]'),
    'rviz': ('true', 'start RViz'),
    'viewer': ('false', 'start the viewer page (needs viser from PyPI)'),
    'record': ('false', 'record the topics of both (needs rosbags from PyPI)'),
    'folder': ('recordings', 'folder that recordings are put into, each named by its time'),
}


def robot(side, y):
    """Return one robot, and where it stands."""
    mount = f'{side}/mount'
    stands = Node(
        package='tf2_ros', executable='static_transform_publisher', name='mount', namespace=side,
        arguments=['--y', y, '--frame-id', 'world', '--child-frame-id', mount])
    # Scoped, so that the arguments of one are not those of the other. The page of the left one
    # shows both.
    return GroupAction([
        stands,
        IncludeLaunchDescription(
            PathJoinSubstitution([FindPackageShare('cosserat_ros'), 'launch', 'robot.launch.py']),
            launch_arguments={
                'robot': LaunchConfiguration(side), 'namespace': side, 'frame_prefix': f'{side}/',
                'parent_frame': mount, 'rviz': 'false',
                'viewer': LaunchConfiguration('viewer') if side == 'left' else 'false',
                'folder': PathJoinSubstitution([LaunchConfiguration('folder'), side]),
            }.items())])


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros two_arms.launch.py` starts."""
    half = [LaunchConfiguration('distance'), ' / 2']
    rviz = Node(
        package='rviz2', executable='rviz2', name='rviz', output='log',
        condition=IfCondition(LaunchConfiguration('rviz')),
        arguments=['-d', PathJoinSubstitution(
            [FindPackageShare('cosserat_ros'), 'rviz', 'two_arms.rviz'])])
    return LaunchDescription([
        *(DeclareLaunchArgument(
            name, default_value=default, description=description,
            choices=['true', 'false'] if default in ('true', 'false') else None)
          for name, (default, description) in ARGUMENTS.items()),
        rviz,
        robot('left', PythonExpression(half)),
        robot('right', PythonExpression(['-', *half]))])
