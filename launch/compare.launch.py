"""A real robot beside the simulated one; all other arguments are those of robot.launch.py."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.substitutions import LaunchConfiguration, OrSubstitution, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

COMPARED = {
    # parameter of the comparator: (default, description)
    'measured_as': ('pose', 'how the real robot is measured: pose, pose_array or frames'),
    'measured': ('real/tip_pose', 'its topics, or frames, with blanks between'),
    'arc_lengths': ('tip', 'where each marker is: arc lengths [m], or tip, with blanks between'),
    'alignment': ('known', 'where the real robot is: known, tf, rigid or scaled'),
    **dict.fromkeys(
        ('x', 'y', 'z'), ('0.0', 'of the frame of the measurements, seen from base_link [m]')),
    **dict.fromkeys(('roll', 'pitch', 'yaw'), ('0.0', 'of that frame, about fixed axes [rad]')),
    'forward': ('nothing', 'what is forwarded from the real robot to the simulated one: nothing, '
                'commands, joint_commands or joint_states'),
    'forwarded': ('real/commands', 'topic of the commands that are forwarded'),
}
SHARED = {
    # name: (default, description), also of robot.launch.py
    'namespace': ('', 'ROS namespace of the robot, for several of them side by side'),
    'publish_clock': ('false', 'publish simulated time on /clock, for other nodes'),
    'use_sim_time': ('false', 'use the /clock of another node, such as ros2 bag play --clock'),
    'rviz_config': ('compare.rviz', 'file in share/cosserat_ros/rviz, or path of one'),
}


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros compare.launch.py` starts."""
    value = {name: LaunchConfiguration(name) for name in (*COMPARED, *SHARED)}
    any_clock = OrSubstitution(value['use_sim_time'], value['publish_clock'])
    comparator = Node(
        package='cosserat_ros', executable='comparator', name='comparator',
        namespace=value['namespace'], output='screen',
        parameters=[{
            **{name: ParameterValue(value[name], value_type=float if default == '0.0' else str)
               for name, (default, _) in COMPARED.items()},
            'use_sim_time': ParameterValue(any_clock, value_type=bool)}])
    return LaunchDescription([
        *(DeclareLaunchArgument(
            name, default_value=default, description=description,
            choices=['true', 'false'] if default in ('true', 'false') else None)
          for name, (default, description) in {**COMPARED, **SHARED}.items()),
        comparator,
        IncludeLaunchDescription(PathJoinSubstitution([
            FindPackageShare('cosserat_ros'), 'launch', 'robot.launch.py']))])
