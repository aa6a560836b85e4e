"""The RViz files: all that they name is there when the robot runs."""

import re

from conftest import ROOT
from driver import simulator
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from ruamel.yaml import YAML
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROBOTS = {  # that a file is for, and its size [m]
    'tendon': ('tendon_arm', 0.24),
    'fluidic': ('fluidic_finger_three_chambers', 0.1),
    'parallel': ('stewart_gough', 0.5),
    'mobile_arm': ('mobile_arm', 0.7),
    'gripper': ('gripper', 0.2),
    'dual_arm': ('dual_arm', 0.25),
    'catheter': ('catheter', 0.3),
    'frame': ('frame', 2.0),
    'swimmer': ('swimmer', 1.0),
    'flapping_wing': ('flapping_wing', 0.14),
}
FLOAT = 'swimmer', 'flapping_wing'  # about base_link, which the view follows
# Those of rviz_default_plugins and rviz_common that we use, with the type each listens to.
DISPLAYS = {
    'rviz_default_plugins/Grid': None,
    'rviz_default_plugins/MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'rviz_default_plugins/RobotModel': 'std_msgs/msg/String',
    'rviz_default_plugins/TF': None,
}
OTHERS = {
    'rviz_common/Displays', 'rviz_common/Views', 'rviz_default_plugins/Orbit',
    *(f'rviz_default_plugins/{tool}'
      for tool in ('Interact', 'MoveCamera', 'Select', 'FocusCamera', 'Measure'))}


def read(path):
    return YAML(typ='safe').load(path)['Visualization Manager']


def classes(node):
    """Return all values of 'Class' in a tree."""
    if isinstance(node, dict):
        own = {node['Class']} if node.get('Class') else set()
        return own.union(*map(classes, node.values()))
    return set().union(*map(classes, node)) if isinstance(node, list) else set()


def test_every_file_is_looked_at():
    assert {path.stem for path in (ROOT / 'rviz').glob('*.rviz')} == {
        *ROBOTS, 'compare', 'two_arms'}


@pytest.mark.parametrize('path', sorted((ROOT / 'rviz').glob('*.rviz')), ids=lambda p: p.stem)
def test_a_file_names_plugins_that_rviz_has(path):
    assert classes(YAML(typ='safe').load(path)) <= {*DISPLAYS, *OTHERS}
    displays = read(path)['Displays']
    assert len({d['Name'] for d in displays}) == len(displays)


def check(config, driver, length):
    """Hold a file against a robot that runs."""
    driver.subscribe(TFMessage, '/tf', 100)
    driver.subscribe(TFMessage, '/tf_static', LATCHED)

    def frames():
        return {name for topic in ('/tf', '/tf_static') for m in driver.messages[topic]
                for t in m.transforms for name in (t.header.frame_id, t.child_frame_id)}

    displays = config['Displays']
    topics = {d['Topic']['Value']: d for d in displays if 'Topic' in d}
    assert topics
    found = dict(driver.node.get_topic_names_and_types())
    for name, display in topics.items():
        full = f'/{name}'  # relative, so that a namespace goes before it
        assert DISPLAYS[display['Class']] in found[full]
        offer = driver.node.get_publishers_info_by_topic(full)[0].qos_profile
        assert offer.reliability.name.lower() == display['Topic']['Reliability Policy'].lower()
        assert display['Topic']['Durability Policy'] == 'Volatile'
    for display in displays:
        if display['Class'].endswith('/RobotModel'):
            check_model(display, driver, found)
    fixed = config['Global Options']['Fixed Frame']
    assert driver.spin_until(lambda: fixed in frames() and all(
        driver.messages[topic] for topic in ('/tf', '/tf_static')), 5.0)
    for display in displays:
        if display['Class'].endswith('/TF'):  # a few of them, not every station
            shown = [f for f in frames() if re.search(display['Filter (whitelist)'], f)]
            assert 2 <= len(shown) <= 3
    view = config['Views']['Current']
    assert 2.0 * length < view['Distance'] < 4.0 * length
    if view['Target Frame'] == '<Fixed Frame>':
        assert 0.3 * length < view['Focal Point']['Z'] < 0.7 * length
    else:
        assert view['Target Frame'] in frames() and view['Focal Point']['Z'] == 0


def check_model(display, driver, found):
    """Hold a RobotModel against the description that is there for late listeners too."""
    topic = display['Description Topic']
    assert not display['Enabled'], 'it would hide the markers'
    assert DISPLAYS[display['Class']] in found[f'/{topic["Value"]}']
    assert topic['Durability Policy'] == 'Transient Local'
    driver.subscribe(String, f'/{topic["Value"]}', LATCHED)
    assert driver.spin_until(lambda: driver.messages[f'/{topic["Value"]}'], 20.0)
    links = set(re.findall('<link name="([^"]*)"', driver.messages[f'/{topic["Value"]}'][0].data))

    def without_a_frame():
        return links - {t.child_frame_id for known in ('/tf', '/tf_static')
                        for m in driver.messages[known] for t in m.transforms}
    assert driver.spin_until(lambda: not without_a_frame(), 20.0), without_a_frame()


@pytest.mark.parametrize('name', ROBOTS)
def test_a_file_shows_what_the_robot_publishes(name):
    robot, length = ROBOTS[name]
    config = read(ROOT / 'rviz' / f'{name}.rviz')
    assert 'rviz_default_plugins/RobotModel' in classes(config)
    assert (config['Views']['Current']['Target Frame'] == 'base_link') == (name in FLOAT)
    with simulator(robot=robot) as (driver, _):
        check(config, driver, length)


def test_the_file_of_a_comparison_shows_both_robots(start_node):
    start_node('comparator')
    with simulator() as (driver, _):
        assert driver.spin_until(lambda: driver.node.count_publishers('/comparator/ghost'), 30.0)
        config = read(ROOT / 'rviz' / 'compare.rviz')
        check(config, driver, 0.24)
    topics = {d['Topic']['Value'] for d in config['Displays'] if 'Topic' in d}
    assert topics == {'simulator/markers', 'comparator/ghost'}


def test_the_file_of_two_robots_shows_both():
    config = read(ROOT / 'rviz' / 'two_arms.rviz')
    topics = {d['Topic']['Value'] for d in config['Displays'] if 'Topic' in d}
    assert topics == {f'/{side}/simulator/markers' for side in ('left', 'right')}
