"""Commands that exclude each other are named, and states without a linear model are told."""

from conftest import ROOT
from crane import CRANE
from driver import simulator
import numpy as np
import pytest

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.analysis.stability import stability
from cosserat_ros.checks.errors import SingularState
from cosserat_ros.description.robot import load
from cosserat_ros.msg import Load, SolverStatus
from cosserat_ros.simulation.simulator import Simulator
from cosserat_ros.srv import Linearize, SolveStatics

INEXTENSIBLE = '{shear_x: 0, shear_y: 0, stretch: 0, bend_x: 4, bend_y: 4, twist: 2}'


@pytest.fixture
def rigid(tmp_path):
    """Return an arm whose tendons are told displacements, and have no compliance."""
    text = (ROOT / 'config' / 'tendon_arm.yaml').read_text()
    path = tmp_path / 'arm.yaml'
    path.write_text(text.replace(
        'command: tension, limits: {lower: 0, upper: 10}', 'command: displacement')
        + f'\nmodes: {INEXTENSIBLE}\n')
    return Simulator(load(path))


@pytest.mark.parametrize('commands, named, word', [
    ({'tendon_1': 0.002, 'tendon_3': 0.002}, [1, 3], 'contradict'),
    ({'tendon_2': 0.002, 'tendon_4': -0.001}, [2, 4], 'contradict'),
    (dict.fromkeys(['tendon_1', 'tendon_2', 'tendon_3'], 0.001), [1, 2, 3, 4], 'contradict'),
    ({'tendon_1': 0.002, 'tendon_3': -0.002}, [1, 2, 3, 4], 'depend on each other'),
])
def test_rigid_tendons_that_contradict_each_other_are_named(rigid, commands, named, word):
    rigid.statics()
    rigid.command(**commands)
    for solution in (rigid.statics(), rigid.step(0.01)):
        assert not solution.converged
        assert word in solution.message
        told = solution.message.partition(word)[0]
        assert [k for k in range(1, 5) if f'tendon_{k}' in told] == named


def test_other_failures_blame_no_tendon():
    sim = Simulator(load(ROOT / 'config' / 'tendon_arm.yaml'))
    sim.set_wrench([1e12, 0.0, 0.0, 0.0, 1e12, 0.0])
    solution = sim.statics()
    assert not solution.converged and 'tendon' not in solution.message


def test_a_state_without_a_linear_model_is_told():
    sim = Simulator(load(ROOT / 'config' / 'tendon_arm.yaml'))
    sim.set_wrench([1e5, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert sim.statics().converged
    for judge in (linearize, stability):
        with pytest.raises(SingularState, match='no linear model'):
            judge(sim)


def test_a_node_answers_with_a_status(tmp_path):
    strong = Load(name='strong')
    strong.wrench.force.x = 1e5
    with simulator() as (driver, process):
        answer = driver.ask(Linearize, 'linearize', at_equilibrium=True, loads=[strong])
        assert answer.status.code == SolverStatus.SINGULAR
        assert 'no linear model' in answer.status.message
        assert not len(answer.state_matrix.data)
        answer = driver.ask(SolveStatics, 'solve_statics', loads=[strong])
        assert answer.status.code == SolverStatus.SINGULAR
        assert not answer.equilibrium.stable and answer.equilibrium.backbone.rods
        assert np.isfinite(answer.equilibrium.backbone.tip.position.x)
        assert driver.ask(SolveStatics, 'solve_statics').status.code == SolverStatus.CONVERGED
        assert 'LinAlgError' not in process.output()


def test_a_node_names_the_line_of_a_loop_that_cannot_be_closed(tmp_path, start_node):
    path = tmp_path / 'crane.yaml'
    path.write_text(CRANE.replace('child: bob', 'child: boom'))  # which the elbow carries
    lines = path.read_text().splitlines()
    process = start_node('simulator', robot=path)
    assert process.wait(100.0) == 1
    assert 'Traceback' not in process.output()
    said = process.output()
    assert 'loop through' in said and 'held more often than it can move' in said
    line = int(said.partition(f'{path}:')[2].partition(':')[0])
    assert any(f'  {name}:' in lines[line - 1] for name in ('wheel', 'elbow', 'hinge'))
