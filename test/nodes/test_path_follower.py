"""A path follower whose simulator leaves or is reset, or that is asked for the impossible."""

import re

from conftest import ROOT
from driver import simulator
from geometry_msgs.msg import Vector3Stamped
import numpy as np
from numpy.testing import assert_allclose
from std_msgs.msg import Float64MultiArray

from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import Reset

ERROR = '/path_follower/tracking_error'
RADIUS, PERIOD = 0.03, 8.0  # [m], [s]


def test_a_simulator_that_is_reset_or_leaves_is_followed_again(start_node):
    follower = start_node('path_follower', period=4.0)
    refused = start_node('path_follower', '-r', '__node:=other', axes='xyz', centre_z=0.3)
    wrong = {
        'path must be one of circle, line': start_node('path_follower', path='square'),
        'period must be a number from 0.1': start_node('path_follower', period=-1.0),
        'simulator must be the name of a node': start_node('path_follower', simulator='no.name')}

    with simulator(robot='tendon_arm') as (driver, process):
        def follows(times):
            """Tell whether it is on its path, so many times begun."""
            return driver.messages[ERROR] and follower.output().count('within reach') == times

        driver.subscribe(Vector3Stamped, ERROR)
        assert driver.spin_until(lambda: follows(1), 30.0), follower.output()
        driver.spin(1.0)
        assert driver.ask(Reset, 'reset', target=Reset.Request.REST).success
        assert driver.spin_until(lambda: 'was reset' in follower.output(), 20.0), follower.output()
        driver.messages[ERROR].clear()
        assert driver.spin_until(lambda: follows(2), 15.0), follower.output()
        process.kill()
        assert driver.spin_until(lambda: re.search(
            'no pose of the tip|simulator left', follower.output()), 10.0), follower.output()
    with simulator(robot='tendon_arm') as (driver, _):
        driver.subscribe(Vector3Stamped, ERROR)
        assert driver.spin_until(lambda: follows(3), 20.0), follower.output()
    assert follower.stop() == 0
    assert 'Traceback' not in follower.output()

    # Paths that cannot be followed, and parameters that make no sense.
    assert refused.wait() == 1
    assert re.search(r'point x 0\.03, y 0, z 0\.3 m of the path.* out of reach by \d+\.\d mm: '
                     'change centre, radius or axes', refused.output()), refused.output()
    for said, process in wrong.items():
        assert process.wait() == 1
        assert said in process.output()


def test_an_arm_on_a_slide_begins_its_path_upright(start_node):
    """Its tip is higher than the arm is long: below that height it would have to lean over."""
    robot = load(ROOT / 'config' / 'arm_on_slide.yaml')
    names = list(robot.actuators)
    with simulator(robot='arm_on_slide') as (driver, _):
        driver.subscribe(Vector3Stamped, ERROR)
        driver.subscribe(Float64MultiArray, driver.topic('~/commands'), 100)
        follower = start_node('path_follower', radius=0.03)
        assert driver.spin_until(lambda: driver.messages[ERROR], 60.0), follower.output()
        commands = dict(zip(names, driver.heard('~/commands')[-1].data))
        assert driver.diagnosis()[2]['rejected commands'] == '0'
        assert follower.stop() == 0
        assert 'Traceback' not in follower.output()
    sim = Simulator(robot)
    sim.command(**commands)
    assert sim.statics().converged
    assert_allclose(sim.tip_pose()[:3, 3], [0.03, 0.0, 0.29], atol=4e-3)
    assert max(commands['tendon_1'], commands['tendon_2']) < 0.5  # the slide does it
    assert commands['slide'] > 0.02


def test_driven_joints_lead_a_tip_along_its_path(start_node):
    """Beside the axis of turning; nothing damps the arm along the slide, which may swing it."""
    with simulator(robot='arm_on_slide') as (driver, _):
        driver.subscribe(Vector3Stamped, ERROR)
        follower = start_node('path_follower', centre_y=0.05, radius=RADIUS, period=PERIOD)
        assert driver.spin_until(lambda: driver.messages[ERROR], 60.0), follower.output()
        driver.spin(0.5 * PERIOD)
        driver.messages[ERROR].clear()
        driver.spin(PERIOD)
        errors = np.array([(m.vector.x, m.vector.y) for m in driver.messages[ERROR]])
        assert driver.diagnosis()[2]['rejected commands'] == '0'
        assert follower.stop() == 0
    distances = np.linalg.norm(errors, axis=1)
    rms, most = np.sqrt(np.mean(distances ** 2)), distances.max()
    print(f'RMS error {1e3 * rms:.2f} mm, at most {1e3 * most:.2f} mm, {len(errors)} poses')
    assert follower.output().count('within reach') == 1, follower.output()  # it went on
    assert 'Traceback' not in follower.output()
    assert rms < 0.2 * RADIUS, follower.output()


def test_a_path_that_nothing_can_follow_by_its_velocity_is_rejected(start_node, tmp_path):
    """Joints commanded by velocity have no inverse statics to begin with."""
    text = (ROOT / 'config' / 'arm_on_slide.yaml').read_text()
    assert text.count('drive: position') == 2
    file = tmp_path / 'paced.yaml'
    file.write_text(text.replace('drive: position', 'drive: velocity', 1))
    with simulator(robot=file) as (driver, _):
        follower = start_node('path_follower')
        said = "must be commanded by position or effort, not velocity, got ['slide']"
        assert driver.spin_until(lambda: said in follower.output(), 30.0), follower.output()
        assert follower.stop() == 0
