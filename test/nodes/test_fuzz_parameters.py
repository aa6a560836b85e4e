"""
Every numeric parameter of every node at the ends of its range, alone and together, over real DDS.

A node stays up, answers, and does its work again once all is as by default. Or it ends with one
line that says why: a path out of reach, say.
"""

import importlib
import pkgutil
import random
import time

from conftest import FUZZ, processes
from driver import Driver
import pytest
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from cosserat_ros import nodes
from cosserat_ros.msg import SolverStatus
from cosserat_ros.srv import SolveStatics, Step

# Mixes of ends that a node is started with, and set to: beside all least and all most ones.
STARTS, CHANGES = (2 * FUZZ, 6 * FUZZ) if FUZZ > 1 else (0, 1)
AT_WORK = 6.0 if FUZZ > 1 else 1.0  # [s] that nodes have something to do, once they answer
ERROR = 2
PLACE = {'centre_x', 'centre_y', 'centre_z', 'radius'}  # where these end, no robot gets to
WORK = {  # that a node has something to do
    'comparator': {'measured': 'simulator/tip_pose', 'joint_states': 'joint_states'},
    'viewer': {'port': 0}}


def numeric(node):
    """Return the numeric parameters of a node."""
    parameters = importlib.import_module(f'cosserat_ros.nodes.{node}').PARAMETERS
    return [p for p in parameters if isinstance(p.default, (int, float)) and p.range]


NODES = [name for _, name, _ in pkgutil.iter_modules(nodes.__path__)
         if hasattr(importlib.import_module(f'cosserat_ros.nodes.{name}'), 'PARAMETERS')
         and numeric(name)]


def ends(parameter):
    return [*map(type(parameter.default), parameter.range), *([0.0] if parameter.or_zero else [])]


def mixes(node, parameters, times):
    """Return values for parameters: all least ones, all most ones, and any, by a fixed seed."""
    dice = random.Random(node)
    yield {p.name: p.range[0] for p in parameters}
    yield {p.name: p.range[1] for p in parameters}
    for _ in range(times):
        yield {p.name: dice.choice([*ends(p), p.default]) for p in parameters}


def changes(node):
    """Return values for live parameters: ends of one alone, and mixes."""
    live = [p for p in numeric(node) if p.live]
    yield from ({p.name: end} for p in live for end in ends(p))
    yield from mixes(node, live, CHANGES)


def usual(node):
    return {p.name: p.default for p in numeric(node) if p.live}


def typed(node, values):
    """Return values as the types that the parameters of a node have."""
    kinds = {p.name: type(p.default) for p in numeric(node)}
    return {name: kinds[name](value) for name, value in values.items()}


@pytest.fixture(scope='module')
def driver():
    """Return who drives a simulator, beside which other nodes are started."""
    with processes() as (_, start_node):
        start_node('simulator')
        driver = Driver(bound=60.0)
        yield driver
        driver.close()


@pytest.fixture
def other():
    """Return a function that starts a simulator of a namespace, and one who drives it."""
    drivers = []
    with processes() as (_, start_node):
        def start_simulator(**values):
            process = start_node('simulator', '-r', '__ns:=/other', **values)
            drivers.append(Driver('/other', 'other', bound=120.0))
            return drivers[0], process
        yield start_simulator
        for driver in drivers:
            driver.close()


def move(driver, seconds):
    """Drive the robot about."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        driver.send('~/commands', Float64MultiArray(data=[random.random(), 0.0, 0.0, 0.0]))
        driver.spin(0.2)


def answers(driver, name, process):
    """Ask a node for a parameter; tell whether it answers, or else has ended."""
    client = driver.node.create_client(GetParameters, f'{name}/get_parameters')
    asked = []

    def settled():
        if not asked and client.service_is_ready():
            asked.append(client.call_async(GetParameters.Request(names=['use_sim_time'])))
        return process.process.poll() is not None or (asked and asked[0].done())
    assert driver.spin_until(settled, 60.0), f'no answer from {name}'
    driver.node.destroy_client(client)
    return process.process.poll() is None


def set_all(driver, name, values):
    request = SetParametersAtomically.Request(parameters=[
        Parameter(key, value=value).to_parameter_msg() for key, value in values.items()])
    result = driver.call(
        SetParametersAtomically, f'{name}/set_parameters_atomically', request, 60.0).result
    assert result.successful, (values, result.reason)


def simulator_works(driver):
    """Check that each thread of a simulator does what it is for."""
    assert driver.ask(SetBool, 'pause', 60.0, data=False).success                  # stepping
    solved = driver.ask(SolveStatics, 'solve_statics', 60.0)                       # solving
    assert solved.status.code == SolverStatus.CONVERGED, solved.status.message


def simulator_moves(driver):
    """Check that a simulator of default parameters steps and publishes, at once."""
    def now():
        stamp = driver.ask(Step, 'step', 60.0).time  # refused, as it runs, with the time
        return stamp.sec + 1e-9 * stamp.nanosec
    before = now()
    assert driver.spin_until(lambda: now() > before, 10.0), 'it stands still'
    for topic in ('joint_states', '~/tip_pose'):
        driver.fresh(topic, 10.0)


def silent(process):
    """Check that a node had nothing to complain about."""
    assert process.process.poll() is None, process.output()
    for word in ('Traceback', 'failed', 'died'):
        assert word not in process.output(), process.output()


def test_fuzz_live_parameters_of_the_simulator(other):
    driver, process = other()
    for values in changes('simulator'):
        set_all(driver, driver.own, values)
        simulator_works(driver)
        set_all(driver, driver.own, usual('simulator'))
        simulator_moves(driver)
    assert driver.diagnosis()[0] != ERROR
    silent(process)


@pytest.mark.parametrize(
    'values', mixes('simulator', numeric('simulator'), STARTS), ids=str)
def test_fuzz_start_of_the_simulator(other, values):
    driver, process = other(**typed('simulator', values))
    simulator_works(driver)
    assert driver.diagnosis()[0] != ERROR
    set_all(driver, driver.own, usual('simulator'))
    simulator_moves(driver)
    silent(process)


@pytest.mark.parametrize('node', [name for name in NODES if name != 'simulator'])
def test_fuzz_live_parameters(start_node, driver, node):
    process = start_node(node, **WORK.get(node, {}))
    assert answers(driver, f'/{node}', process)
    move(driver, AT_WORK)
    for values in (*changes(node), usual(node)):
        set_all(driver, f'/{node}', values)
        move(driver, 0.2)
        assert answers(driver, f'/{node}', process)
    silent(process)
    simulator_works(driver)


@pytest.mark.parametrize('node', [name for name in NODES if name != 'simulator'])
def test_fuzz_start(start_node, driver, node):
    parameters = [p for p in numeric(node) if p.name not in PLACE]
    started = {}
    for k, values in enumerate(mixes(node, parameters, STARTS)):
        given = {**WORK.get(node, {}), **typed(node, values)}
        if 'port' in given and k > 1:  # which one alone can have
            given['port'] = 0
        started[f'/{node}_{k}'] = start_node(node, '-r', f'__node:={node}_{k}', **given)
    for name, process in started.items():
        answers(driver, name, process)
    move(driver, AT_WORK)
    for name, process in started.items():
        if answers(driver, name, process):
            assert process.stop(timeout=20.0) == 0, process.output()
        else:
            assert process.wait() == 1
            assert 'cosserat_ros: ' in process.output().splitlines()[-1], process.output()
        assert 'Traceback' not in process.output(), process.output()
    simulator_works(driver)


def test_fuzz_paths_out_of_reach_are_refused(start_node, driver):
    refused = [
        start_node('path_follower', '-r', f'__node:=far_{p.name}_{k}', axes='xyz', **{p.name: end})
        for p in numeric('path_follower') if p.name in PLACE
        for k, end in enumerate(ends(p)) if end]
    assert len(refused) == 7
    for process in refused:
        assert driver.spin_until(lambda process=process: process.process.poll() is not None, 60.0)
        assert process.wait() == 1
        assert 'out of reach by' in process.output().splitlines()[-1]
