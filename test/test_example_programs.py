"""What is in examples/: it runs, and does what its first lines say."""

import json
import re
import runpy
import subprocess
import sys

from conftest import ROOT
import numpy as np
from numpy.testing import assert_array_equal
import pytest

EXAMPLES = ROOT / 'examples'
REACH = EXAMPLES / 'reach.py'


def test_each_example_is_named_on_the_page():
    page = (EXAMPLES / 'README.md').read_text()
    for path in EXAMPLES.iterdir():
        if path.name not in ('README.md', '__pycache__'):
            assert f'({path.name})' in page, path.name


def test_the_controller_is_that_of_the_tutorial():
    """Which test/nodes/test_tools.py runs against a simulator."""
    page = (ROOT / 'docs' / 'tutorial.md').read_text()
    assert re.search(r'```python\n(.*?)```', page, re.S)[1] == (EXAMPLES / 'bend.py').read_text()


@pytest.mark.timeout(300)
def test_the_notebook_runs():
    client = pytest.importorskip('nbclient')
    nbformat = pytest.importorskip('nbformat')
    path = EXAMPLES / 'arm_without_ros.ipynb'
    assert not any(cell.get('outputs') for cell in json.loads(path.read_text())['cells'])
    notebook = nbformat.read(path, as_version=4)
    client.NotebookClient(notebook, timeout=200, kernel_name='python3', resources={
        'metadata': {'path': str(EXAMPLES)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get('outputs', [])]
    pictures = [o for o in outputs if 'image/png' in o.get('data', {})]
    said = ''.join(o.get('text', '') for o in outputs)
    assert len(pictures) == 2
    predicted, seen = map(float, re.findall(r'([\d.]+) Hz', said))
    assert abs(predicted - seen) < 0.05 * predicted and said.endswith('stable: True\n'), said


# --- Gymnasium -----------------------------------------------------------------------------------

@pytest.fixture(scope='module')
def reach():
    """Return what examples/reach.py defines."""
    pytest.importorskip('gymnasium')
    return runpy.run_path(str(REACH), run_name='reach')


def test_the_environment_passes_the_checker(reach):
    from gymnasium.utils.env_checker import check_env
    env = reach['Reach']()
    check_env(env, skip_render_check=True)
    env.close()


def test_holding_the_commands_of_a_target_reaches_it(reach):
    """A target is the tip of an equilibrium: once vibrations are gone, its commands are there."""
    env = reach['Reach'](ROOT / 'config' / 'fluidic_finger_three_chambers.yaml')
    random = np.random.default_rng(3)
    env.np_random = random
    before = random.bit_generator.state
    seen, info = env.reset()
    random.bit_generator.state = before
    action = random.uniform(-1.0, 2.0 * reach['PULL'] - 1.0, env.action_space.shape[0])
    first = np.linalg.norm(seen[6:9])
    for _ in range(60):
        seen, reward, terminated, truncated, info = env.step(action)
        assert info['converged'] and not terminated and not truncated
        assert env.observation_space.contains(seen)
    assert info['distance'] < 0.02 * first
    assert reward == pytest.approx(-info['distance'] / env._length)


def test_several_at_once_do_what_each_does_alone(reach):
    import gymnasium
    together = gymnasium.make_vec(reach['NAME'], 2, 'sync')
    alone = [gymnasium.make(reach['NAME']) for _ in range(2)]
    seen, _ = together.reset(seed=11)
    assert_array_equal(seen, [env.reset(seed=11 + k)[0] for k, env in enumerate(alone)])
    together.action_space.seed(5)
    for _ in range(5):
        actions = together.action_space.sample()
        seen, rewards, *_ = together.step(actions)
        each = [env.step(action) for env, action in zip(alone, actions)]
        assert_array_equal(seen, [one[0] for one in each])
        assert_array_equal(rewards, [one[1] for one in each])
    together.close()


def test_its_program_runs_several_processes(reach):
    ran = subprocess.run(
        [sys.executable, REACH, '--environments', '2', '--steps', '5'],
        capture_output=True, text=True, check=False, timeout=110)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r'mean reward -0\.\d+, \d+ steps per second of 2 environments', ran.stdout)


def test_a_robot_without_limits_is_refused(reach, tmp_path):
    text = (ROOT / 'config' / 'tendon_arm.yaml').read_text()
    (tmp_path / 'arm.yaml').write_text(text.replace(', limits: {lower: 0, upper: 10}', ''))
    with pytest.raises(ValueError, match='must have limits on both sides'):
        reach['Reach'](tmp_path / 'arm.yaml')
