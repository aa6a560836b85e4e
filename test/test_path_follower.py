"""A path follower whose simulator leaves or is reset, or that is asked for the impossible."""

import re

from driver import simulator
from geometry_msgs.msg import Vector3Stamped

from cosserat_ros.srv import Reset

ERROR = '/path_follower/tracking_error'


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
        assert driver.spin_until(lambda: 'was reset' in follower.output(), 5.0), follower.output()
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
