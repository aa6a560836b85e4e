"""The launch files: what can be known without `launch`, and more where it is installed."""

import ast
import importlib.util
import sys

from conftest import ROOT
from geometry_msgs.msg import PoseStamped
from listener import Listener
import pytest
from test_package import nodes_in_cmake

from cosserat_ros.nodes import simulator

FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
HAS_LAUNCH = importlib.util.find_spec('launch') and importlib.util.find_spec('launch_ros')
needs_launch = pytest.mark.skipif(
    not HAS_LAUNCH, reason='launch and launch_ros are not on PyPI; a ROS 2 installation has them')


def literal(text):
    """Return a launch argument's text as Python has it."""
    plain = text.capitalize() if text in ('true', 'false') else text
    return plain if plain[:1].isdigit() or plain != text else repr(text)


def calls(tree, name):
    """Return the keyword arguments of all calls of a function in a module."""
    return [
        {k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == name]


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_a_launch_file_starts_what_is_installed(path):
    tree = ast.parse(path.read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert 'generate_launch_description' in functions
    nodes = [n for n in calls(tree, 'Node') if n['package'] == 'cosserat_ros']
    assert {n['executable'] for n in nodes} <= set(nodes_in_cmake())
    texts = [n.value for n in ast.walk(tree)
             if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for text in texts:
        if text.endswith('.rviz'):
            assert (ROOT / 'rviz' / text).is_file()
    assert nodes or 'robot.launch.py' in texts


@needs_launch
@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_a_launch_file_loads_with_every_argument_described(path):
    from launch.launch_description_sources import get_launch_description_from_python_launch_file
    description = get_launch_description_from_python_launch_file(str(path))
    arguments = description.get_launch_arguments()
    assert {'rviz', 'viewer', 'record'} <= {a.name for a in arguments}
    assert all(len(a.description) > 8 and a.default_value is not None for a in arguments)
    if path.stem.startswith('robot.'):
        defaults = {a.name: a.default_value[0].text for a in arguments if a.default_value}
        assert simulator.find_robot(defaults['robot']).is_file()
        shared = {p.name: p.default for p in simulator.PARAMETERS}
        for name in defaults.keys() & shared.keys():
            assert ast.literal_eval(literal(defaults[name])) == shared[name], name


@needs_launch
@pytest.mark.parametrize('name, words', [
    ('robot', ['robot:=cantilever']), ('fluidic', []), ('parallel', ['publish_clock:=true']),
    *((name, []) for name in ('gripper', 'catheter', 'dual_arm', 'frame', 'mobile_arm',
                              'swimmer', 'flapping_wing'))])
def test_a_launch_file_starts_and_ends_on_a_signal(name, words, start, tmp_path):
    code = ('import sys, launch\n'
            'from launch.launch_description_sources import AnyLaunchDescriptionSource as Source\n'
            'given = [tuple(word.split(":=", 1)) for word in sys.argv[2:]]\n'
            'service = launch.LaunchService(noninteractive=True)\n'
            'service.include_launch_description(launch.LaunchDescription(['
            'launch.actions.IncludeLaunchDescription('
            'Source(sys.argv[1]), launch_arguments=given)]))\n'
            'sys.exit(service.run())')
    process = start(
        sys.executable, '-c', code, ROOT / 'launch' / f'{name}.launch.py', 'rviz:=false',
        'namespace:=arm', 'frame_prefix:=arm/', 'record:=true', f'folder:={tmp_path}', *words,
        env={'ROS_LOG_DIR': str(tmp_path)})
    listener = Listener()
    try:
        listener.subscribe(PoseStamped, '/arm/simulator/tip_pose')
        heard = listener.messages['/arm/simulator/tip_pose']
        assert listener.spin_until(
            lambda: heard and 'recording into' in process.output(), 30.0), process.output()
        assert heard[0].header.frame_id == 'arm/base_link'
        clock = listener.node.count_publishers('/clock')
        assert clock == ('publish_clock:=true' in words)
        listener.spin(1.0)
    finally:
        listener.close()
    assert process.stop(timeout=15.0) == 0
    assert process.output().count('has finished cleanly') == 2
    assert list(tmp_path.glob('*/metadata.yaml'))


@needs_launch
@pytest.mark.parametrize('words, forward, others', [
    ({}, ['tension_controller'], ['displacement_controller']),
    ({'active': 'displacement_controller'}, ['displacement_controller'], ['tension_controller']),
    ({'robot': 'arm_on_slide'}, ['position_controller', 'effort_controller'], []),
    ({'robot': str(ROOT / 'config' / 'swimmer.yaml')}, ['position_controller'], [])])
def test_any_robot_gets_controllers_and_a_description(words, forward, others):
    """As far as it goes without a controller manager: what it would be started with."""
    import launch
    from launch.launch_description_sources import get_launch_description_from_python_launch_file
    description = get_launch_description_from_python_launch_file(
        str(ROOT / 'launch' / 'ros2_control.launch.py'))
    context = launch.LaunchContext()
    context.launch_configurations.update(words)
    declared = [e for e in description.entities
                if isinstance(e, launch.actions.DeclareLaunchArgument)]
    for one in declared:
        one.execute(context)
    name = words.get('robot', 'tendon_arm').rpartition('/')[2].removesuffix('.yaml')
    assert context.launch_configurations['namespace'] == name
    function, = (e for e in description.entities if isinstance(e, launch.actions.OpaqueFunction))
    publisher, manager, *spawners = function.execute(context)
    given = [[word[0].text for word in one.cmd[1:] if hasattr(word[0], 'text')]
             for one in spawners]
    assert given[0][:1 + len(forward)] == ['joint_state_broadcaster', *forward]
    assert [words[:1 + len(others)] for words in given[1:]] == (
        [['--inactive', *others]] if others else [])
    assert [one.node_package for one in (publisher, manager)] == [
        'robot_state_publisher', 'controller_manager']
