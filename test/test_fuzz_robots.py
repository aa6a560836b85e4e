"""
Robot files that somebody has spoiled: each is a robot, or an error that names file and line.

Whatever can be loaded is then simulated: finite numbers, or a status that says why not. The seeds
are fixed.
"""

import io
import random
import re
import time

from conftest import FUZZ, ROOT
import numpy as np
import pytest
from ruamel.yaml import YAML

from cosserat_ros.checks.errors import CosseratError
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator

SHIPPED = sorted((ROOT / 'config').glob('*.yaml'))
VALUES, BYTES = 12 * FUZZ, 6 * FUZZ  # examples per file
BOUND = 120.0  # [s] that one may take, on a busy machine
ODD = [None, True, '', 'x', '1e400', '.nan', float('nan'), float('inf'), -float('inf'), 0, -1, 1,
       1e308, -1e308, 1e-308, 5e-324, 1e-9, 1e9, 10 ** 400, [], {}, [0, 0], [1, 2, 3], [[1]],
       {'shape': 'circular'}, {'kind': 'revolute', 'child': 'carriage'}, 'carriage', 'base_link',
       'velocity', 'effort', 'free', 'driven', {'motion': 'free'}, {'on': 'turntable'},
       '\u202ex', 'x' * 70, '*', '&a', '!!python/object:os.system']
KEYS = ['lenght', '', 'x y', 'shape', 'rod', 'modes', 'limits', 'kind', 'on', 'parent', 'child',
        'frame', 'joint', 'tip', 'drive', 'motion', 'position', 'coordinates', 1, None]


def nodes(document):
    """Yield all places of a document: what holds them, and key or index."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for key, item in list(pairs):
        yield document, key
        if isinstance(item, (dict, list)):
            yield from nodes(item)


def spoil(rng, document):
    """Change a document in one place."""
    holder, key = rng.choice(list(nodes(document)))
    value, what = holder[key], rng.random()
    if isinstance(value, (int, float)) and not isinstance(value, bool) and what < 0.6:
        holder[key] = min(value, 1e300) * rng.choice([-1.0, 0.0, 10.0 ** rng.uniform(-6.0, 6.0)])
    elif what < 0.75:
        holder[key] = rng.choice(ODD)
    elif what < 0.85:
        del holder[key]
    elif isinstance(holder, dict):
        holder[rng.choice(KEYS)] = holder[key] if what < 0.93 else holder.pop(key)
    else:
        holder.append(value)


def spoiled_values(rng, path):
    """Return a file with some values changed."""
    yaml = YAML(typ='safe', pure=True)
    yaml.allow_unicode = True
    document = yaml.load(path.read_text())
    for _ in range(rng.choice([1, 1, 2, 5])):
        spoil(rng, document)
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue().encode('utf-8', 'surrogatepass')


def spoiled_bytes(rng, path):
    """Return a file with some bytes changed."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 3, 20])):
        start = rng.randrange(len(data))
        stop = min(start + rng.choice([1, 1, 5, 50]), len(data))
        data[start:stop] = rng.choice([
            b'', b'\x00', b'\xff\xfe', b'\t', b'{', b']', b'- ', b': ', b'0', b'9' * 20, b'e9',
            b'-', b'"', b'*a', b'&a', b'<<: ', b'%', b'\n', data[start:stop] * 2])
    return bytes(data)


def check(path, data):
    """Load and simulate what there is in a file."""
    path.write_bytes(data)
    begun = time.monotonic()
    try:
        robot = load(path)
    except CosseratError as error:
        assert re.match(rf'{re.escape(str(path))}(:\d+)?: \S', str(error)), str(error)
        assert '\n' not in str(error) and len(str(error)) < 2000
        return None
    try:
        sim = Simulator(robot)
    except CosseratError as error:
        assert str(error)
        return None
    sim.solver.MOST_ITERATIONS, sim.solver.LEAST_FRACTION = 25, 0.1  # give up early, to try more
    for solve in (sim.statics, sim.step, sim.step):
        solution = solve()
        assert np.isfinite(solution.z).all()
        assert solution.converged or solution.message
    for shape in sim.shape().values():
        assert np.isfinite(shape.poses).all() and np.isfinite(shape.strains).all()
    assert np.isfinite(sim.tip_pose()).all() and np.isfinite(sim.tip_twist()).all()
    assert np.isfinite(list(sim.actuators().values())).all()
    assert all(np.isfinite(w).all() for w in sim.internal_wrenches().values())
    assert time.monotonic() - begun < BOUND
    return solution.converged


@pytest.mark.parametrize('shipped', SHIPPED, ids=lambda path: path.stem)
@pytest.mark.parametrize('spoiled, count', [(spoiled_values, VALUES), (spoiled_bytes, BYTES)])
def test_fuzz_a_spoiled_file_is_a_robot_or_is_explained(tmp_path, shipped, spoiled, count):
    for seed in range(count):
        data = spoiled(random.Random(f'{shipped.stem} {seed}'), shipped)
        try:
            check(tmp_path / 'robot.yaml', data)
        except Exception as error:
            raise AssertionError(f'seed {seed}:\n{data.decode(errors="replace")}') from error


def test_fuzz_the_spoiled_files_are_of_all_kinds(tmp_path):
    """Some are refused, some stand, and some load but do not stand: else nothing is tested."""
    ends = {check(tmp_path / 'robot.yaml', spoiled_values(random.Random(seed), path))
            for path in SHIPPED[:3] for seed in range(12)}
    assert {None, True} <= ends
