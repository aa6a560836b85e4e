"""A catheter in a curved vessel, simulated; all arguments are those of robot.launch.py."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros catheter.launch.py` starts."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'robot', default_value='catheter',
            description='name in share/cosserat_ros/config, or path of a YAML file'),
        DeclareLaunchArgument(
            'rviz_config', default_value='catheter.rviz',
            description='file in share/cosserat_ros/rviz, or path of one'),
        IncludeLaunchDescription(PathJoinSubstitution([
            FindPackageShare('cosserat_ros'), 'launch', 'robot.launch.py']))])
