"""A tendon arm on a base that moves, simulated; all arguments are those of robot.launch.py."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros mobile_arm.launch.py` starts."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'robot', default_value='mobile_arm',
            description='name in share/cosserat_ros/config, or path of a YAML file'),
        DeclareLaunchArgument(
            'base_source', default_value='pose',
            description='what moves the base: none, pose, twist, odometry or tf'),
        DeclareLaunchArgument(
            'rviz_config', default_value='mobile_arm.rviz',
            description='file in share/cosserat_ros/rviz, or path of one'),
        IncludeLaunchDescription(PathJoinSubstitution([
            FindPackageShare('cosserat_ros'), 'launch', 'robot.launch.py']))])
