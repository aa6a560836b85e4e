"""The launch files: what can be known without `launch`, and more where it is installed."""

import ast
import importlib.util

from conftest import ROOT
import pytest
from test_package import nodes_in_cmake

FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
HAS_LAUNCH = importlib.util.find_spec('launch') and importlib.util.find_spec('launch_ros')
needs_launch = pytest.mark.skipif(
    not HAS_LAUNCH, reason='launch and launch_ros are not on PyPI; a ROS 2 installation has them')


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
    ours = [n['executable'] for n in calls(tree, 'Node') if n['package'] == 'cosserat_ros']
    assert ours and set(ours) <= set(nodes_in_cmake())
    for text in (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)):
        if isinstance(text, str) and text.endswith('.rviz'):
            assert (ROOT / 'rviz' / text).is_file()


@needs_launch
@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_a_launch_file_loads_with_every_argument_described(path):
    from launch.launch_description_sources import get_launch_description_from_python_launch_file
    description = get_launch_description_from_python_launch_file(str(path))
    arguments = description.get_launch_arguments()
    assert {'robot', 'namespace', 'frame_prefix'} <= {a.name for a in arguments}
    assert all(len(a.description) > 10 for a in arguments)
