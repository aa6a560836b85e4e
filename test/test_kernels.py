"""The compile cache: warm where nothing changed, never stale where something did."""

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest

import cosserat_ros.numerics.kernels

CALLEE = 'from numerics.kernels import kernel\n\n\n@kernel\ndef f(x):\n    return x + {}\n'
CALLER = """\
from callee import f
from numerics.kernels import kernel


@kernel
def g(x):
    return 10.0 * f(x)


if __name__ == '__main__':
    print(g(1.0), sum(g.stats.cache_hits.values()))
"""
FORKING = """\
import os

from caller import g

child = os.fork()
if child == 0:
    g(1.0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
REAL = """\
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator

Simulator(load({!r})).statics()
"""


@pytest.fixture
def library(tmp_path):
    """Make a folder of two modules, of which one calls the other's kernel."""
    (tmp_path / 'numerics').mkdir()
    for name in ('kernels.py', 'compiling.py', 'first_use.py', 'loading.py'):
        shutil.copy(Path(cosserat_ros.numerics.kernels.__file__).resolve().with_name(name),
                    tmp_path / 'numerics')
    (tmp_path / 'callee.py').write_text(CALLEE.format('1.0'))
    (tmp_path / 'caller.py').write_text(CALLER)
    return tmp_path


def start(library, **env):
    """Run the caller in a fresh process; return it when it has ended."""
    return subprocess.run(
        [sys.executable, library / 'caller.py'], capture_output=True, text=True, check=True,
        env={**os.environ, 'NUMBA_CACHE_DIR': '', **env})


def run(library, **env):
    """Run the caller in a fresh process; return its result and its cache hits."""
    result, hits = start(library, **env).stdout.split()
    return float(result), int(hits)


def test_what_takes_long_to_compile_is_said_and_nothing_else(library):
    assert not start(library).stderr
    first_use = library / 'numerics' / 'first_use.py'
    first_use.write_text(re.sub('^LONG = .*', 'LONG = 0.0', first_use.read_text(), flags=re.M))
    said = start(library).stderr.splitlines()
    assert len(said) == 1, said
    assert said[0].startswith('cosserat_ros: compiling the numerics, once, for one to two minutes')


def test_a_forked_worker_says_nothing(library):
    """As those that calibrate and sweep: the main process speaks for all."""
    first_use = library / 'numerics' / 'first_use.py'
    first_use.write_text(re.sub('^LONG = .*', 'LONG = -1.0', first_use.read_text(), flags=re.M))
    assert start(library).stderr
    shutil.rmtree(library / '__pycache__')
    (library / 'forking.py').write_text(FORKING)
    done = subprocess.run(
        [sys.executable, library / 'forking.py'], capture_output=True, text=True, check=True,
        env={**os.environ, 'NUMBA_CACHE_DIR': ''})
    assert done.stderr == ''


def test_the_first_use_of_a_robot_says_soon_that_it_compiles(tmp_path):
    robot = Path(__file__).resolve().parent.parent / 'config' / 'cantilever.yaml'
    process = subprocess.Popen(
        [sys.executable, '-c', REAL.format(str(robot))], stderr=subprocess.PIPE, text=True,
        env={**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path)})
    try:
        said = process.stderr.readline()
    finally:
        process.kill()  # what it would compile takes a minute
        process.wait()
        process.stderr.close()
    assert said.startswith('cosserat_ros: compiling the numerics, once, for one to two minutes')


def test_a_second_process_loads_what_the_first_compiled(library):
    assert run(library) == (20.0, 0)
    assert run(library) == (20.0, 1)


def test_what_was_loaded_is_taken_in_by_what_is_compiled(library):
    run(library)
    text = (library / 'caller.py').read_text()
    (library / 'caller.py').write_text(text.replace('10.0', '5.0').replace(
        'print(', 'print(f(1.0) * ').replace(', sum(g.', ', sum(f.'))
    assert run(library) == (20.0, 1)


def test_an_edit_of_a_callee_in_another_file_is_seen(library):
    run(library)
    (library / 'callee.py').write_text(CALLEE.format('2.0'))
    assert run(library) == (30.0, 0)


def test_an_edit_of_a_constant_two_imports_away_is_seen(library):
    (library / 'constants.py').write_text('ONE = 1.0\n')
    callee = 'from constants import ONE\n' + CALLEE.format('ONE')
    (library / 'callee.py').write_text(callee)
    assert run(library) == (20.0, 0)
    (library / 'constants.py').write_text('ONE = 3.0\n')
    assert run(library) == (40.0, 0)


def test_an_edit_of_what_is_not_imported_is_not_seen_unless_it_is_a_named_tuple(library):
    other = library / 'other.py'
    other.write_text('from caller import g\n')
    run(library)
    other.write_text('from caller import g\n\nprint(g(2.0))\n')
    assert run(library) == (20.0, 1)
    other.write_text('from typing import NamedTuple\n\n\nclass A(NamedTuple):\n    x: float\n')
    assert run(library) == (20.0, 0)


def test_a_cache_of_types_that_are_no_more_is_made_anew(library):
    pair = 'from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    x: float\n'
    caller = CALLER.replace('import f', 'import f, Pair').replace('f(x)', 'f(x.x)').replace(
        'g(1.0)', 'g(Pair(1.0))')
    for name in ('Pair', 'Couple'):
        (library / 'callee.py').write_text((pair + CALLEE.format('1.0')).replace('Pair', name))
        (library / 'caller.py').write_text(caller.replace('Pair', name))
        assert run(library) == (20.0, 0)
        assert run(library) == (20.0, 1)


def test_a_disk_that_cannot_be_written_costs_only_the_cache(library):
    shutil.rmtree(library / '__pycache__', ignore_errors=True)
    (library / '__pycache__').write_text('a file in the way of the folder')
    nowhere = str(library / 'callee.py' / 'nowhere')
    assert run(library, HOME=nowhere, XDG_CACHE_HOME=nowhere) == (20.0, 0)


@pytest.mark.parametrize(('missing', 'cached'), [
    ('import numba.core.caching as c; c.IndexDataCacheFile.__slots__ = (); '
     'del c.IndexDataCacheFile._load_index', False),
    ('import sys, numba; sys.modules["numba.core.event"] = None', True),
    ('import sys, numba; sys.modules["numba.core.targetconfig"] = None', True),
    ('import sys, numba; sys.modules["numba.core.codegen"] = None', True),
])
def test_a_numba_that_is_other_inside_costs_time_alone(library, missing, cached):
    """First without some private part of numba, then with it: the cache holds for both."""
    caller = (library / 'caller.py').read_text()
    (library / 'caller.py').write_text(
        f'{missing}\n{caller}')
    assert run(library) == (20.0, 0)
    assert run(library) == (20.0, int(cached))


@pytest.mark.parametrize('part', ['numba.np.arrayobj', 'numba.core.datamodel'])
def test_a_numba_without_what_is_needed_is_named(part):
    code = f'import sys, numba\nsys.modules[{part!r}] = None\nimport cosserat_ros.numerics.arena'
    ended = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert re.search(r'ImportError: cosserat_ros does not run with numba [\d.]+ \(.*'
                     r'\): install one from 0\.58\.1 to 0\.68\.1', ended.stderr)


def test_options_that_numba_lacks_are_not_set():
    code = ('import sys, numba\nsys.modules["numba.core.options"] = None\n'
            'from cosserat_ros.numerics.arena import COUNTING_IS_OPTIONAL, unowned\n'
            'from cosserat_ros.numerics.kernels import kernel\n'
            'print(COUNTING_IS_OPTIONAL, unowned(kernel(lambda x: x + 1.0))(1.0))')
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          check=True).stdout.split() == ['False', '2.0']


def test_a_link_to_a_module_that_is_gone_does_no_harm(library):
    (library / 'gone.py').symlink_to(library / 'nowhere.py')
    assert run(library) == (20.0, 0)
