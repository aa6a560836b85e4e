"""
The tendon arm under ros2_control: a simulator, and controllers that take it for hardware.

Needs ros2_control and its topic-based hardware, see README.md.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.substitutions import FileContent, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

ARGUMENTS = {
    # name: (default, description)
    'controllers': ('controllers.yaml', 'file in share/cosserat_ros/ros2_control, or path of one'),
    'active': ('tension_controller', 'controller that is active at first'),
    'inactive': ('displacement_controller', 'controller that is loaded, to be switched to'),
}


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros ros2_control.launch.py` starts."""
    share = FindPackageShare('cosserat_ros')
    folder = PathJoinSubstitution([share, 'ros2_control'])
    description = ParameterValue(
        FileContent(PathJoinSubstitution([folder, 'tendon_arm.urdf'])), value_type=str)
    controllers = PathJoinSubstitution([folder, LaunchConfiguration('controllers')])
    simulator = IncludeLaunchDescription(
        PathJoinSubstitution([share, 'launch', 'robot.launch.py']),
        # As tendon_arm.urdf has its topics.
        launch_arguments={'robot': 'tendon_arm', 'namespace': 'tendon_arm'}.items())
    state_publisher = Node(
        package='robot_state_publisher', executable='robot_state_publisher',
        parameters=[{'robot_description': description}])
    manager = Node(
        package='controller_manager', executable='ros2_control_node', output='screen',
        parameters=[controllers])
    spawner = Node(
        package='controller_manager', executable='spawner', name='spawner', output='screen',
        arguments=['joint_state_broadcaster', LaunchConfiguration('active')])
    inactive_spawner = Node(
        package='controller_manager', executable='spawner', name='inactive_spawner',
        output='screen', arguments=['--inactive', LaunchConfiguration('inactive')])
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=description)
          for name, (default, description) in ARGUMENTS.items()),
        simulator, state_publisher, manager, spawner, inactive_spawner])
