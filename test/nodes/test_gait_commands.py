"""Gaits of robots, changed while they run: real processes, real DDS."""

from conftest import ROOT
from driver import simulator
import numpy as np
from numpy.testing import assert_allclose
import pytest
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from cosserat_ros.description.robot import load
from cosserat_ros.msg import ActuatorInfo, RobotInfo, SolverStatus, Target
from cosserat_ros.nodes.common.qos import LATCHED_QOS
from cosserat_ros.simulation.demonstration import demonstration, moves, time_scale
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import SolveInverseStatics

SWIMMER, WING = (load(ROOT / 'config' / f'{name}.yaml') for name in ('swimmer', 'flapping_wing'))


def places_of(driver, frame='base_link'):
    """Return positions of a frame (T, 3) as they came."""
    return np.array([
        [t.transform.translation.x, t.transform.translation.y, t.transform.translation.z]
        for m in driver.messages['/tf'] for t in m.transforms if t.child_frame_id == frame])


def test_a_gait_is_changed_by_topics_while_it_swims():
    with simulator(robot='swimmer') as (driver, _):
        driver.subscribe(TFMessage, '/tf', 100)
        driver.subscribe(RobotInfo, '/simulator/robot', LATCHED_QOS)
        assert driver.spin_until(lambda: driver.messages['/simulator/robot'], 10.0)
        info = driver.messages['/simulator/robot'][0]
        assert [(one.name, one.kind, one.unit, one.rest) for one in info.actuators] == [
            ('wave_amplitude', ActuatorInfo.GAIT, '-', 1.0),
            ('wave_frequency', ActuatorInfo.GAIT, 'Hz', 1.0),
            ('wave_turn', ActuatorInfo.GAIT, '1/m', 0.0)]
        state = driver.fresh()
        assert list(state.name) == ['wave_amplitude', 'wave_frequency', 'wave_turn']
        assert_allclose(state.position, [1.0, 1.0, 0.0])

        driver.send('joint_commands', JointState(name=['wave_frequency'], position=[1.5]))
        assert driver.spin_until(lambda: driver.fresh().position[1] > 1.1, 20.0)
        assert driver.spin_until(lambda: driver.fresh().position[1] == 1.5, 20.0)
        driver.command([1.2, -1.0, 0.4])
        assert driver.spin_until(
            lambda: np.allclose(driver.fresh().position, [1.2, -1.0, 0.4]), 10.0)
        driver.send('joint_commands', JointState(name=['wave_turn'], position=[7.0]))
        driver.spin(1.0)
        assert_allclose(driver.fresh().position, [1.2, -1.0, 0.4])
        assert int(driver.diagnosis()[2]['rejected commands']) == 1
        assert int(driver.diagnosis()[2]['failed steps']) == 0
        assert np.ptp(places_of(driver)[:, 0]) > 0.3  # it swam
        answer = driver.ask(SolveInverseStatics, 'solve_inverse_statics', targets=[Target()])
        assert answer.status.code == SolverStatus.INVALID_REQUEST
        assert 'gaits' in answer.status.message


def test_wings_flap_in_slow_motion_and_more_if_told():
    with simulator(robot='flapping_wing', time_scale=0.04) as (driver, _):
        driver.subscribe(TFMessage, '/tf', 100)
        names = list(driver.fresh().name)
        assert names[:3] == ['flap_amplitude', 'flap_frequency', 'flap_middle']
        stroke = names.index('right_stroke')  # which is told, too, as are the springs' joints
        assert driver.spin_until(lambda: abs(driver.fresh().position[stroke]) > 0.5, 10.0)
        assert 'left_joint_3_turn_2' in names
        driver.spin(2.0)
        driver.send('joint_commands', JointState(name=['flap_amplitude'], position=[1.15]))
        assert driver.spin_until(lambda: driver.fresh().position[0] == 1.15, 10.0)
        driver.messages['/tf'].clear()
        driver.spin(8.0)
        heights = places_of(driver)[:, 2]
        facts = driver.diagnosis()[2]
        assert int(facts['failed steps']) == 0
        fell, climbed = heights[60] - heights[0], heights[-1] - heights[-61]  # of a stroke
        assert fell < climbed and climbed > 0.0


def test_a_demonstration_of_wings_is_in_slow_motion():
    assert moves(WING) and moves(SWIMMER)
    assert (time_scale(SWIMMER), time_scale(WING)) == (1.0, 0.04)
    with simulator(robot='flapping_wing', demonstrate='true') as (driver, _):
        driver.spin(2.0)
        _, _, facts = driver.diagnosis()
        assert 0.0 < float(facts['simulated time [s]']) < 1.0
        assert int(facts['failed steps']) == 0


def test_a_demonstration_of_the_fish_turns_to_and_fro():
    sim = Simulator(SWIMMER)
    commands = demonstration(SWIMMER, {name: sim.rest_command(name) for name in sim.commands})
    told = [commands(t) for t in np.arange(0.0, 12.0, 0.1)]
    assert all(set(one) == {'wave_turn'} for one in told)
    turns = [one['wave_turn'] for one in told]
    assert min(turns) < -0.1 and max(turns) > 0.1


@pytest.mark.parametrize('robot', [SWIMMER, WING], ids=['swimmer', 'flapping_wing'])
def test_random_gaits_fail_no_step(robot):
    """A minute of commands, one each second, of the wings in slow motion."""
    sim, rng = Simulator(robot, stations=2), np.random.default_rng(5)
    scale = time_scale(robot)
    for _ in range(60):
        sim.command(**{name: rng.uniform(*actuator.bounds)
                       for name, actuator in robot.actuators.items()})
        for _ in range(round(scale / robot.time.step)):
            solution = sim.step()
            assert solution.converged, solution.message
    assert np.isfinite(sim.solver.z).all()
