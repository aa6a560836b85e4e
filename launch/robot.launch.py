"""One continuum robot, simulated, and RViz or the viewer page to watch it."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

ARGUMENTS = {
    # name: (default, description)
    'robot': ('tendon_arm', 'name in share/cosserat_ros/config, or path of a YAML file'),
    'namespace': ('', 'ROS namespace of the robot, for several of them side by side'),
    'frame_prefix': ('', 'put before the name of each TF frame, e.g. left/'),
    'parent_frame': ('world', 'TF frame that base_link is fixed to; empty for none'),
    'publish_rate': ('60.0', 'frames, markers and joint states per second [Hz]'),
    'rviz': ('true', 'start RViz'),
    'viewer': ('false', 'start the viewer page (needs viser from PyPI)'),
    'port': ('8080', 'port of the viewer page on this machine'),
}


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros robot.launch.py` starts."""
    value = {name: LaunchConfiguration(name) for name in ARGUMENTS}

    def text(name):
        return ParameterValue(value[name], value_type=str)

    simulator = Node(
        package='cosserat_ros', executable='simulator', name='simulator',
        namespace=value['namespace'], output='screen',
        parameters=[{
            'robot': text('robot'),
            'frame_prefix': text('frame_prefix'),
            'parent_frame': text('parent_frame'),
            'publish_rate': ParameterValue(value['publish_rate'], value_type=float),
        }])
    viewer = Node(
        package='cosserat_ros', executable='viewer', name='viewer', output='screen',
        condition=IfCondition(value['viewer']),
        parameters=[{'port': ParameterValue(value['port'], value_type=int)}])
    rviz = Node(
        package='rviz2', executable='rviz2', name='rviz', output='log',
        namespace=value['namespace'], condition=IfCondition(value['rviz']),
        arguments=[
            '-d', PathJoinSubstitution([FindPackageShare('cosserat_ros'), 'rviz', 'robot.rviz']),
            '-f', PythonExpression([
                '"', value['parent_frame'], '" or "', value['frame_prefix'], 'base_link"'])])
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=description)
          for name, (default, description) in ARGUMENTS.items()),
        simulator, viewer, rviz])
