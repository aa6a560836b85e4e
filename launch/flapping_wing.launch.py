"""A vehicle with flapping wings, in slow motion; all arguments are those of robot.launch.py."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros flapping_wing.launch.py` starts."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'robot', default_value='flapping_wing',
            description='name in share/cosserat_ros/config, or path of a YAML file'),
        DeclareLaunchArgument(
            'time_scale', default_value='0.04',
            description='simulated seconds per second; less than 1 is slow motion'),
        DeclareLaunchArgument(
            'rviz_config', default_value='flapping_wing.rviz',
            description='file in share/cosserat_ros/rviz, or path of one'),
        IncludeLaunchDescription(PathJoinSubstitution([
            FindPackageShare('cosserat_ros'), 'launch', 'robot.launch.py']))])
