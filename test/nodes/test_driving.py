"""Driving simulated robots from the viewer's page: real processes, real DDS, a real browser."""

import math
import re
import signal

from browser import address, open_browser, Page
from conftest import ROOT
from diagnostic_msgs.msg import DiagnosticStatus
from listener import Listener
import numpy as np
from numpy.testing import assert_allclose
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage

from cosserat_ros.description.robot import load
from cosserat_ros.msg import ActuatorCommand, ActuatorInfo, SolverStatus
from cosserat_ros.nodes.common.service_calls import ServiceCalls
from cosserat_ros.nodes.page.commanded import Commanded, PATIENCE
from cosserat_ros.nodes.page.driver import column, name_of, said_of, state_lines
from cosserat_ros.nodes.page.ranges import slider_range
from cosserat_ros.nodes.page.trail import SEGMENTS, strip
from cosserat_ros.srv import SolveInverseStatics

# --- Sliders ------------------------------------------------------------------------------------


def actuator(unit='N', lower=0.0, upper=20.0, rest=0.0):
    return ActuatorInfo(
        name='a', kind=ActuatorInfo.TENDON, mode=ActuatorCommand.EFFORT, unit=unit, lower=lower,
        upper=upper, rate=math.inf, rest=rest)


@pytest.mark.parametrize(('unit', 'upper', 'shown', 'high'), [
    ('N', 20.0, 'N', 20.0), ('Pa', 3e4, 'kPa', 30.0), ('m', 0.05, 'mm', 50.0),
    ('m^3', 2e-5, 'ml', 20.0), ('mol', 4e-3, 'mmol', 4.0), ('lbf', 3.0, 'lbf', 3.0)])
def test_sliders_have_units_for_people_and_commands_have_their_own(unit, upper, shown, high):
    slider = slider_range(actuator(unit, upper=upper), 0.2)
    assert (slider.unit, slider.remark) == (shown, '')
    assert_allclose((slider.low, slider.high, slider.rest), (0.0, high, 0.0))
    assert slider.command(slider.high) == upper  # not a rounding beyond, which would be refused
    assert slider.shown(upper / 2.0) == pytest.approx(high / 2.0)
    assert 50 <= (slider.high - slider.low) / slider.step <= 1000


@pytest.mark.parametrize(('one', 'low', 'high', 'said'), [
    (actuator(upper=math.inf), 0.0, 10.0, 'no upper limit'),
    (actuator(upper=math.inf, rest=3.0), 0.0, 6.0, 'no upper limit'),
    (actuator('Pa', lower=-math.inf, upper=math.inf), -100.0, 100.0, 'no lower or upper limit'),
    (actuator('m', lower=-math.inf, upper=0.01), -40.0, 10.0, 'no lower limit'),
    (actuator('m', lower=0.15, upper=math.inf, rest=0.2), 150.0, 240.0, 'no upper limit'),
    (actuator(lower=30.0, upper=math.inf), 30.0, 40.0, 'no upper limit')])
def test_a_side_without_a_limit_gets_an_end_that_is_said(one, low, high, said):
    slider = slider_range(one, 0.2)
    assert_allclose((slider.low, slider.high), (low, high))
    assert said in slider.remark
    assert f'{high:g}' in slider.remark
    assert slider.low <= slider.rest <= slider.high


@pytest.mark.parametrize('one', [
    actuator(lower=math.nan), actuator(upper=math.nan), actuator(lower=1.0, upper=0.0),
    actuator(rest=math.nan), actuator(lower=2.0, upper=2.0)])
def test_limits_that_are_none_are_refused_by_name(one):
    with pytest.raises(ValueError, match="actuator 'a' has"):
        slider_range(one, 0.2)


def test_our_command_holds_while_its_actuator_is_on_its_way():
    commanded = Commanded([0.0, 0.0], [10.0, 10.0])
    commanded.tell(np.array([8.0, 0.0]), 0.0)
    for now in range(10):  # one unit per second, slower than anybody's patience
        commanded.hear(np.array([min(now, 8.0), 0.0]), float(now))
        assert_allclose(commanded.values, (8.0, 0.0))


def test_commands_of_others_are_followed():
    commanded = Commanded([0.0, 0.0], [10.0, 10.0])
    commanded.hear(np.array([0.0, 4.0]), 0.0)
    assert_allclose(commanded.values, (0.0, 4.0))
    commanded.tell(np.array([5.0, 4.0]), 1.0)
    commanded.hear(np.array([5.0, 4.0]), 1.1)   # arrived
    commanded.hear(np.array([2.0, 4.01]), 1.2)  # another's; the second is as good as told
    assert_allclose(commanded.values, (2.0, 4.0))


def test_a_command_that_is_not_carried_out_is_let_go():
    commanded = Commanded([0.0], [10.0])
    commanded.tell(np.array([5.0]), 0.0)
    commanded.hear(np.array([1.0]), 0.1)
    commanded.hear(np.array([1.0]), 0.9 * PATIENCE)
    assert_allclose(commanded.values, 5.0)
    commanded.hear(np.array([1.0]), 1.1 * PATIENCE)
    assert_allclose(commanded.values, 1.0)


def test_what_is_not_measured_keeps_its_command():
    commanded = Commanded([0.0], [10.0])
    commanded.tell(np.array([5.0]), 0.0)
    commanded.hear(np.array([math.nan]), 10.0)
    assert_allclose(commanded.values, 5.0)


# --- Words --------------------------------------------------------------------------------------


def test_joints_are_found_by_name():
    state = JointState(name=['b', 'a'], position=[1.0, 2.0], effort=[3.0])
    assert_allclose(column(state, 'position', ['a', 'b', 'c']), (2.0, 1.0, math.nan))
    assert_allclose(column(state, 'effort', ['a']), math.nan)
    assert_allclose(column(None, 'effort', ['a']), math.nan)


@pytest.mark.parametrize(('simulator', 'title'), [
    ('/simulator', 'arm'), ('/left/simulator', 'left: arm'), ('/left/other', 'left/other: arm')])
def test_robots_are_told_apart_by_namespace(simulator, title):
    assert name_of(simulator, 'arm') == title


def test_the_simulators_state_is_said_whatever_keys_it_has():
    facts = {'real-time factor': '0.51', 'overruns': '3', 'simulated time [s]': '2.04',
             'failed steps': '0', 'rejected commands': '2'}
    assert state_lines(DiagnosticStatus(), facts, False) == (
        True, ['running, 0.51 × real time, at 2.0 s', 'overruns 3, rejected commands 2'])
    assert state_lines(None, {'real-time factor': 'none'}, True) == (True, ['paused'])
    late = DiagnosticStatus(level=DiagnosticStatus.WARN, message='too slow')
    assert state_lines(late, {}, False) == (False, ['running', 'too slow'])


@pytest.mark.parametrize(('code', 'message', 'distance', 'angle', 'said'), [
    (SolverStatus.CONVERGED, '', 1e-9, 0.0, 'reached; solved in 20 ms'),
    (SolverStatus.BEST_EFFORT, 'out of reach', 0.0123, 0.1,
     'missing: 12.3 mm, 5.7°; out of reach'),
    (SolverStatus.NOT_CONVERGED, 'gave up', 0.0, 0.0, 'gave up'),
    (SolverStatus.SINGULAR, '', 0.0, 0.0, 'no solution, status 3')])
def test_what_is_missing_of_a_target_is_said(code, message, distance, angle, said):
    answer = SolveInverseStatics.Response(
        position_errors=[distance], orientation_errors=[angle],
        status=SolverStatus(code=code, message=message, solve_time=0.02))
    assert said_of(answer) == said


def test_a_trail_leads_from_the_oldest_point_to_the_newest():
    points, colours = strip([np.zeros(3), np.array((1.0, 0.0, 0.0)), np.array((1.0, 1.0, 0.0))])
    assert points.shape == colours.shape == (SEGMENTS, 2, 3)
    assert_allclose(points[0, 0], (0.0, 0.0, 0.0))
    assert_allclose(points[-1, 1], (1.0, 1.0, 0.0))
    assert_allclose(points[1:, 0], points[:-1, 1])


# --- Calls --------------------------------------------------------------------------------------


@pytest.fixture
def asker():
    """Return a listener and its calls of the services of /robot."""
    listener = Listener('asker')
    calls = ServiceCalls(listener.node, '/robot', {'pause': SetBool})
    yield listener, calls
    calls.close()
    listener.close()


def ends(listener, calls, timeout=10.0, **options):
    """Call; return the answer and the reason why there is none."""
    came = []
    calls.call('pause', SetBool.Request(), lambda *both: came.append(both), **options)

    def over():
        calls.check()
        return bool(came)

    assert listener.spin_until(over, timeout)
    return came[0]


def test_a_service_that_is_not_there_is_said_at_once(asker):
    assert ends(*asker) == (None, '/robot/pause is not there')


def test_a_service_that_does_not_answer_or_leaves_ends_the_call(asker):
    listener, calls = asker
    robot = Listener('robot')  # that is never spun, and so never answers
    robot.node.create_service(SetBool, '/robot/pause', lambda _, answer: answer)
    try:
        client = listener.node.create_client(SetBool, '/robot/pause')
        assert client.wait_for_service(10.0)
        assert ends(listener, calls, patience=0.5) == (None, 'no answer for 0.5 s')
        came = []
        calls.call('pause', SetBool.Request(), lambda *both: came.append(both), patience=60.0)
    finally:
        robot.close()

    def over():
        calls.check()
        return bool(came)

    assert listener.spin_until(over, 10.0)
    assert came == [(None, 'the simulator left before it answered')]


# --- The page -----------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def browser():
    """Return a headless browser that draws in software."""
    with open_browser() as browser:
        yield browser


class Robot:
    """A simulator's process, and what it is told and says."""

    def __init__(self, start_node, listener, namespace='', robot='tendon_arm', **parameters):
        prefix = {'frame_prefix': f'{namespace.strip("/")}/'} if namespace else {}
        self._start = lambda: start_node(
            'simulator', '-r', f'__ns:={namespace or "/"}', robot=robot, **prefix, **parameters)
        self._listener = listener
        self._commands = f'{namespace}/simulator/commands'
        self._joints = f'{namespace}/joint_states'
        listener.subscribe(Float64MultiArray, self._commands)
        listener.subscribe(JointState, self._joints)
        self.start()

    def start(self):
        """Start it, again perhaps."""
        self.process = self._start()

    @property
    def efforts(self):
        """Of all actuators, as it says."""
        heard = self._listener.messages[self._joints]
        return list(heard[-1].effort) if heard else []

    @property
    def positions(self):
        """Of all actuators, as it says."""
        heard = self._listener.messages[self._joints]
        return list(heard[-1].position) if heard else []

    @property
    def commands(self):
        """All that it was told, by anybody."""
        return [list(one.data) for one in self._listener.messages[self._commands]]


@pytest.fixture
def scene(start_node, browser):
    """Return a function that opens the page, and one that adds a robot to it; all end after it."""
    listener = Listener('scene')
    pages = []

    def add_robot(namespace='', robot='tendon_arm', **parameters):
        return Robot(start_node, listener, namespace, robot, **parameters)

    def open_page(**size):
        viewer = start_node('viewer', port=0)
        page = Page(browser, address(viewer)[0], **size)
        pages.append((viewer, page))

        def wait_for(condition, timeout=60.0):
            """Listen and look until a condition holds."""
            def holds():
                listener.spin(0.05)
                return condition()
            return Page.wait_for(page, holds, timeout)

        page.wait_for = wait_for
        return page

    yield add_robot, open_page, listener
    for viewer, page in pages:
        assert 'Traceback' not in viewer.output(), viewer.output()
        assert not page.problems
        page.page.close()
    listener.close()


def first_tendon(page):
    """Return the label of the first slider."""
    return page.page.locator('label', has_text=' [N]').first.inner_text()


@pytest.mark.timeout(240)  # for machines that draw slowly
def test_a_robot_is_driven_from_the_page(scene):
    add_robot, open_page, listener = scene
    robot, page = add_robot(), open_page(width=900, height=640)
    button = page.page.get_by_role('button', name='Release all')
    assert page.wait_for(lambda: button.count() == 1 and robot.efforts)
    tendon = first_tendon(page)
    actuators = len(robot.efforts)
    assert page.page.locator('label', has_text=' [N]').count() == actuators

    # A slider moved here is a command there, for all actuators, and is carried out.
    page.drag_slider(tendon, 0.25)
    assert page.wait_for(lambda: robot.commands and robot.efforts[0] > 0.1)
    sent = robot.commands[-1]
    assert len(sent) == actuators
    assert sent[0] > 0.1
    assert_allclose(sent[1:], 0.0, atol=1e-6)
    assert page.wait_for(lambda: robot.efforts[0] == pytest.approx(sent[0], rel=0.05))
    button.click()
    assert page.wait_for(lambda: robot.commands[-1] == [0.0] * actuators)

    # A command from elsewhere moves the slider.
    told = [0.5 * sent[0]] + [0.0] * (actuators - 1)
    elsewhere = listener.node.create_publisher(Float64MultiArray, '/simulator/commands', 10)
    assert page.wait_for(lambda: elsewhere.get_subscription_count() == 2)
    elsewhere.publish(Float64MultiArray(data=told))
    assert page.wait_for(lambda: page.slider_value(tendon) == pytest.approx(told[0], rel=0.05))
    assert robot.commands[-1] == told, 'a slider that follows must not command'

    # Buttons call services.
    page.page.get_by_role('button', name='Step', exact=True).click()
    assert page.wait_for(lambda: 'step: ' in page.text()), 'a running simulation was stepped'
    page.page.get_by_role('button', name='Pause').click()
    assert page.wait_for(lambda: page.status(1).startswith('● paused'))
    page.page.get_by_role('button', name='Step', exact=True).click()
    assert page.wait_for(lambda: 'one step done' in page.text())
    page.page.get_by_role('button', name='Run').click()
    assert page.wait_for(lambda: re.match('● running.*real time', page.status(1)))
    page.page.get_by_role('button', name='Equilibrium').click()
    assert page.wait_for(lambda: 'at equilibrium' in page.text())
    page.page.get_by_role('button', name='Rest').click()
    assert page.wait_for(lambda: 'at rest' in page.text())
    assert page.wait_for(lambda: page.slider_value(tendon) == 0.0)

    # The target of the tip is dragged: the robot is told how to get there.
    page.page.get_by_label('Tip target', exact=True).click()
    page.page.wait_for_timeout(1000)
    before = len(robot.commands)
    page.drag_target(60)
    assert page.wait_for(lambda: len(robot.commands) > before)
    assert page.wait_for(lambda: re.search('reached; solved|missing: ', page.text()))
    assert max(robot.commands[-1]) > 0.1
    page.page.get_by_role('button', name='Target to tip').click()

    # Charts are drawn.
    page.open_tab('Charts')
    assert page.wait_for(lambda: page.page.locator('.uplot canvas').count() == 2)
    assert 'tension [N]' in page.text()


@pytest.mark.timeout(240)
def test_a_robot_that_is_killed_and_started_again_is_driven_on(scene):
    add_robot, open_page, _ = scene
    robot, page = add_robot(), open_page(width=390, height=844)  # a phone
    assert page.wait_for(lambda: robot.efforts and page.page.get_by_text('Release all').count())
    tendon = first_tendon(page)
    for control in (page.slider(tendon), page.page.get_by_role('button', name='Rest')):
        control.scroll_into_view_if_needed()
        box = control.bounding_box()
        assert 0.0 <= box['x'] <= box['x'] + box['width'] <= 390.0
        assert 0.5 * 844.0 < box['y'] < 844.0, 'the panel covers the scene'

    robot.process.stop()
    assert page.wait_for(lambda: 'No robot to drive' in page.text())
    assert page.page.locator('label', has_text=' [N]').count() == 0
    robot.start()
    assert page.wait_for(lambda: page.page.locator('label', has_text=' [N]').count() > 0)
    assert page.wait_for(lambda: 'running' in page.status(1))

    robot.process.stop(signal.SIGKILL)
    assert page.wait_for(lambda: 'no data for' in page.status(1))
    page.page.get_by_role('button', name='Pause').click()
    assert page.wait_for(lambda: re.search(
        'pause: (no answer for 5 s|the simulator left|.*is not there)', page.text()))

    robot.start()
    assert page.wait_for(lambda: 'running' in page.status(1))
    # What is sent before DDS has found the new one is lost: a user would move the slider again.
    assert any(page.drag_slider(tendon, part) or page.wait_for(
        lambda: robot.efforts[0] > 0.1, timeout=15.0) for part in (0.25, 0.35, 0.45))


@pytest.mark.timeout(240)
def test_robots_of_two_namespaces_have_controls_of_their_own(scene):
    add_robot, open_page, _ = scene
    left, right = add_robot('/left'), add_robot('/right')
    page = open_page(width=900, height=900)
    assert page.wait_for(lambda: left.efforts and right.efforts
                         and page.page.get_by_text('Release all').count() == 2)
    assert {'left: tendon_arm', 'right: tendon_arm'} <= set(page.text().splitlines())
    first_is_left = page.text().index('left: tendon_arm') < page.text().index('right: tendon_arm')
    page.drag_slider(first_tendon(page), 0.25, number=0)
    driven, other = (left, right) if first_is_left else (right, left)
    assert page.wait_for(lambda: driven.efforts[0] > 0.1)
    assert other.efforts[0] < 0.1
    assert not other.commands


@pytest.mark.timeout(240)
def test_a_joint_is_driven_from_the_page(scene):
    add_robot, open_page, _ = scene
    robot, page = add_robot(robot='arm_on_slide'), open_page(width=900, height=640)
    slide = page.page.locator('label', has_text='slide [mm]')
    assert page.wait_for(lambda: slide.count() == 1 and robot.positions)
    at = list(load(ROOT / 'config' / 'arm_on_slide.yaml').actuators).index('slide')
    page.drag_slider('slide [mm]', 0.75)
    assert page.wait_for(lambda: robot.commands and robot.commands[-1][at] > 0.05)
    told = robot.commands[-1][at]
    assert page.slider_value('slide [mm]') == pytest.approx(1e3 * told, abs=0.5)
    assert page.wait_for(lambda: robot.positions[at] == pytest.approx(told, abs=1e-4))
    page.drag_slider('slide [mm]', 0.3)
    assert page.wait_for(lambda: robot.positions[at] < -0.03)
    assert_allclose(robot.commands[-1][:at], 0.0, atol=1e-6)


@pytest.mark.timeout(240)
def test_a_robot_moves_by_itself_until_a_slider_is_touched(scene):
    said = 'moves by itself until you command it'
    add_robot, open_page, _ = scene
    robot, page = add_robot(demonstrate='true'), open_page(width=900, height=640)
    assert page.wait_for(lambda: said in page.text() and max(robot.efforts) > 0.5)
    assert not robot.commands
    page.drag_slider(first_tendon(page), 0.25)
    assert page.wait_for(lambda: robot.commands and said not in page.text())
    assert page.wait_for(lambda: robot.efforts[:4] == pytest.approx(robot.commands[-1], abs=0.01))


@pytest.mark.timeout(240)
def test_a_gait_is_changed_from_the_page_which_follows_the_fish(scene):
    add_robot, open_page, listener = scene
    robot, page = add_robot(robot='swimmer'), open_page(width=900, height=640)
    listener.subscribe(TFMessage, '/tf', 100)
    labels = page.page.locator('label', has_text=' [Hz]')
    assert page.wait_for(lambda: labels.count() == 1 and robot.positions)
    page.drag_slider(labels.first.inner_text(), 0.98)
    assert page.wait_for(lambda: robot.positions[1] > 1.3)
    assert_allclose(robot.positions[::2], [1.0, 0.0], atol=0.02)  # what else there is stays

    def head():
        found = [t.transform.translation for m in listener.messages['/tf'][-1:]
                 for t in m.transforms if t.child_frame_id == 'base_link']
        return np.hypot(found[0].x, found[0].y) if found else 0.0
    assert page.wait_for(lambda: head() > 4.0)  # beyond the first view
    page.page.wait_for_timeout(2000)
    r, g, b = page.picture()[:, :, :500]
    assert np.count_nonzero((r < 130) & (g < 130) & (b < 140)) > 200, 'the fish is not to be seen'
