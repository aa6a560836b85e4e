"""One continuum robot, simulated, with what is to watch and record it."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import (
    AndSubstitution,
    LaunchConfiguration,
    NotSubstitution,
    OrSubstitution,
    PathJoinSubstitution,
    PythonExpression,
)
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

ARGUMENTS = {
    # name: (default, description)
    'robot': ('tendon_arm', 'name in share/cosserat_ros/config, or path of a YAML file'),
    'namespace': ('', 'ROS namespace of the robot, for several of them side by side'),
    'frame_prefix': ('', 'put before the name of each TF frame, e.g. left/'),
    'parent_frame': ('world', 'TF frame that base_link is fixed to; empty for none'),
    'base_source': ('none', 'what moves a driven base: none, pose, twist, odometry or tf'),
    'base_topic': ('~/base', 'topic of the pose, twist or odometry of the base'),
    'base_frame': ('tool0', 'TF frame that carries base_link, for base_source:=tf'),
    'rate': ('0.0', "time steps per simulated second [Hz]; 0: by the robot's file"),
    'time_scale': ('1.0', 'simulated seconds per second; less than 1 is slow motion'),
    'publish_rate': ('60.0', 'frames, markers and shape per second [Hz]'),
    'publish_clock': ('false', 'publish simulated time on /clock, for other nodes'),
    'use_sim_time': ('false', 'use the /clock of another node'),
    'rviz': ('true', 'start RViz'),
    'rviz_config': ('tendon.rviz', 'file in share/cosserat_ros/rviz, or path of one'),
    'viewer': ('false', 'start the viewer page (needs viser from PyPI)'),
    'port': ('8080', 'port of the viewer page on this machine'),
    'record': ('false', 'record all topics of the robot (needs rosbags from PyPI)'),
    'folder': ('recordings', 'folder that recordings are put into, each named by its time'),
}


def generate_launch_description():
    """Describe what `ros2 launch cosserat_ros robot.launch.py` starts."""
    value = {name: LaunchConfiguration(name) for name in ARGUMENTS}

    def given(kind, *names, **renamed):
        chosen = {**dict(zip(names, names)), **renamed}
        return {name: ParameterValue(value[argument], value_type=kind)
                for name, argument in chosen.items()}

    def sim_time(condition):
        return {'use_sim_time': ParameterValue(condition, value_type=bool)}

    # Who makes the time does not go by it.
    others_clock = AndSubstitution(value['use_sim_time'], NotSubstitution(value['publish_clock']))
    any_clock = OrSubstitution(value['use_sim_time'], value['publish_clock'])
    simulator = Node(
        package='cosserat_ros', executable='simulator', name='simulator',
        namespace=value['namespace'], output='screen',
        on_exit=Shutdown(reason='the simulator has ended'),
        parameters=[
            given(str, 'robot', 'frame_prefix', 'parent_frame', 'base_source', 'base_topic',
                  'base_frame'),
            given(float, 'publish_rate', 'time_scale', step_rate='rate'),
            given(bool, 'publish_clock'), sim_time(others_clock)])
    recorder = Node(
        package='cosserat_ros', executable='recorder', name='recorder',
        namespace=value['namespace'], output='screen', condition=IfCondition(value['record']),
        parameters=[given(str, 'folder'), sim_time(any_clock)])
    viewer = Node(
        package='cosserat_ros', executable='viewer', name='viewer', output='screen',
        condition=IfCondition(value['viewer']), parameters=[given(int, 'port')])
    rviz = Node(
        package='rviz2', executable='rviz2', name='rviz', output='log',
        namespace=value['namespace'], condition=IfCondition(value['rviz']),
        parameters=[sim_time(any_clock)],
        arguments=[
            '-d', PathJoinSubstitution(
                [FindPackageShare('cosserat_ros'), 'rviz', value['rviz_config']]),
            '-f', PythonExpression([
                '"', value['parent_frame'], '" or "', value['frame_prefix'], 'base_link"'])])
    return LaunchDescription([
        *(DeclareLaunchArgument(
            name, default_value=default, description=description,
            choices=['true', 'false'] if default in ('true', 'false') else None)
          for name, (default, description) in ARGUMENTS.items()),
        simulator, recorder, viewer, rviz])
