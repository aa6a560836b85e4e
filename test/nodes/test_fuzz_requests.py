"""
Services under hostile requests: each is answered, the node stays up and recovers.

Requests are drawn by the types of their fields: most fields are sensible, some are not, so that
what is wrong is met at every depth. The seeds are fixed.
"""

from array import array
import math
import random

from conftest import FUZZ
from driver import simulator
import numpy as np
import pytest
from rosidl_parser.definition import (
    AbstractGenericString,
    AbstractNestedType,
    Array,
    BoundedSequence,
    NamespacedType,
)
from std_srvs.srv import SetBool, Trigger

from cosserat_ros.msg import SolverStatus
from cosserat_ros.srv import (
    Linearize,
    Reset,
    SaveSnapshot,
    SetObstacles,
    SetPayload,
    SetWrench,
    SolveInverseStatics,
    SolveStatics,
    Step,
)

SERVICES = {
    'linearize': Linearize, 'pause': SetBool, 'reset': Reset, 'save_snapshot': SaveSnapshot,
    'set_obstacles': SetObstacles, 'set_payload': SetPayload, 'set_wrench': SetWrench,
    'solve_inverse_statics': SolveInverseStatics, 'solve_statics': SolveStatics, 'step': Step}
EXAMPLES = 8 * FUZZ
CODES = {
    SolverStatus.CONVERGED, SolverStatus.BEST_EFFORT, SolverStatus.NOT_CONVERGED,
    SolverStatus.SINGULAR, SolverStatus.INVALID_REQUEST, SolverStatus.NOT_AVAILABLE}
ODD = 0.15  # part of the fields that make no sense
NUMBERS = [math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 1e308, 1e200, 1e12, -1e12, 1e-163,
           1e-308, 5e-324, -5e-324, 0.0, -0.0, -1.0]
TEXTS = ['', ' ', 'tendon_9', 'tip\n', 'backbone_99', '/tip', '../../etc/passwd', '%s%n', '{0}',
         '\u202e\u0301' * 40, '\U0001f980' * 300, 'x' * 1001, '\u00e9' * 100_000, '\ufeff',
         '\x1b[2J']
ROBOTS = {  # and what is sensible of each, by the names of fields
    'tendon_arm': {
        'name': [f'tendon_{k}' for k in range(1, 5)], 'rod': ['', 'backbone'],
        'frame_id': ['', 'tip', 'backbone_10', 'backbone_20'], 'snapshot': ['tendon_1'],
        'arc_length': [0.0, 0.1, 0.24], 'value': [0.0, 0.5, 2.0]},
    'stewart_gough': {
        'name': [f'leg_{k}' for k in range(1, 7)], 'rod': ['', 'leg_1'],
        'frame_id': ['', 'tip', 'platform', 'leg_1_20'], 'snapshot': ['leg_1'],
        'arc_length': [0.0, 0.1], 'value': [0.5, 0.52]}}
SENSIBLE = {  # of all of them
    'extent': [0.0, 0.02],
    'mode': [0, 0, 1, 2], 'kind': [0, 0, 1], 'target': [0, 1, 2], 'secondary_goal': [0, 1],
    'id': ['post', 'wall'], 'operation': [0, 0, 1, 2, 3], 'type': [1, 2, 3],
    'dimensions': [0.01, 0.05], 'coef': [0.0, 1.0], 'vertex_indices': [0, 1, 2],
    'steps': [0, 1, 5], 'm': [1e-3], 'w': [1.0], 'z': [0.0, 0.2]}
INTEGERS = {'steps': [100_001, 2 ** 32 - 1]}  # as many as are allowed would only take long


def drawn(rng, kind, sensible):
    """Return a message of a kind."""
    message = kind()
    for name, slot in zip(kind.get_fields_and_field_types(), kind.SLOT_TYPES):
        if isinstance(slot, AbstractNestedType):
            count = rng.choice([0, 0, 1, 1, 2, 4] if rng.random() > ODD else [101, 1001, 3000])
            one = value(rng, name, slot.value_type, sensible)
            if isinstance(slot, Array):
                count = slot.size
            elif isinstance(slot, BoundedSequence):
                count = min(count, slot.maximum_size)
            items = [value(rng, name, slot.value_type, sensible) for _ in range(min(count, 4))]
            setattr(message, name, (items + [one] * count)[:count])
        else:
            setattr(message, name, value(rng, name, slot, sensible))
    return message


def value(rng, name, slot, sensible):
    """Return what a field of this name and type may hold."""
    odd = rng.random() < ODD
    if isinstance(slot, NamespacedType):
        module = __import__('.'.join(slot.namespaces), fromlist=[slot.name])
        return drawn(rng, getattr(module, slot.name), sensible)
    if isinstance(slot, AbstractGenericString):
        return rng.choice(TEXTS if odd else sensible.get(name, ['a', 'b']))
    if slot.typename == 'boolean':
        return rng.random() < 0.5
    if slot.typename in ('double', 'float'):
        wrong = NUMBERS if slot.typename == 'double' else [math.nan, math.inf, 3.4e38]
        return float(rng.choice(wrong if odd else sensible.get(name, [0.0, 0.01])))
    return rng.choice(integers(name, slot.typename) if odd else sensible.get(name, [0]))


def integers(name, typename):
    """Return whole numbers that make no sense, or nearly none."""
    bits = int(typename.removeprefix('u').removeprefix('int'))
    most = 2 ** bits - 1 if typename.startswith('u') else 2 ** (bits - 1) - 1
    return INTEGERS.get(name, [most, most // 2, 3, 7])


def numbers(message):
    """Yield all numbers of a message."""
    if isinstance(message, (float, int)):
        yield message
    elif isinstance(message, (list, tuple, array, np.ndarray)):
        for item in message:
            yield from numbers(item)
    elif hasattr(message, 'get_fields_and_field_types'):
        for name in message.get_fields_and_field_types():
            yield from numbers(getattr(message, name))


def check(service, request, answer):
    """Hold an answer against what every answer has to be."""
    about = f'{service}: {str(request)[:2000]}\n{str(answer)[:2000]}'
    assert all(map(math.isfinite, numbers(answer))), about
    if hasattr(answer, 'status'):
        assert answer.status.code in CODES, about
        assert answer.status.message or answer.status.code == SolverStatus.CONVERGED, about
        assert 'Error' not in answer.status.message, about  # of Python's own
    else:
        assert answer.success or answer.message, about
        assert 'Error' not in answer.message, about


@pytest.fixture(scope='module', params=ROBOTS)
def driven(request):
    """Return who drives a robot, its process, and what is sensible of it."""
    with simulator(robot=request.param, step_rate=500.0) as (driver, process):
        yield driver, process, {**SENSIBLE, **ROBOTS[request.param]}


def start_anew(driver):
    """Bring the robot back to where it began, without obstacles, which could be in its way."""
    driver.ask(SetObstacles, 'set_obstacles', clear=True)
    driver.reset()


@pytest.mark.parametrize('service', SERVICES)
def test_fuzz_every_request_is_answered_and_the_node_recovers(driven, service):
    driver, process, sensible = driven
    rng = random.Random(service)
    for _ in range(EXAMPLES):
        request = drawn(rng, SERVICES[service].Request, sensible)
        answer = driver.call(SERVICES[service], f'{driver.own}/{service}', request, 120.0)
        assert process.process.poll() is None, f'{service}: {str(request)[:2000]}'
        check(service, request, answer)
        if service in ('set_obstacles', 'set_wrench', 'set_payload', 'reset', 'pause'):
            driver.spin(0.05)  # it has to live with it for some steps
            if rng.random() < 0.3:
                start_anew(driver)
    start_anew(driver)
    assert driver.spin_until(lambda: driver.diagnosis()[0] == 0, 30.0), driver.diagnosis()
    assert np.isfinite(driver.tip()).all()
    assert 'Traceback' not in process.output()


def test_every_service_of_the_package_is_among_them(driven):
    driver = driven[0]
    offered = {name.rpartition('/')[2]: kinds
               for name, kinds in driver.node.get_service_names_and_types()
               if name.startswith(driver.own) and not kinds[0].startswith(
                   ('rcl_interfaces', 'lifecycle_msgs', 'type_description', 'control_msgs',
                    'action_msgs'))}
    assert offered.keys() == SERVICES.keys()


def test_fuzz_the_comparator_answers_whatever_it_knows(start_node, driven):
    driver = driven[0]
    process = start_node('comparator', measured='/marker', arc_lengths='tip')
    for _ in range(3 * FUZZ):
        answer = driver.call(Trigger, '/comparator/realign', Trigger.Request(), 60.0)
        check('realign', '', answer)
    assert process.process.poll() is None
