"""The compile cache: warm where nothing changed, never stale where something did."""

import os
from pathlib import Path
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


@pytest.fixture
def library(tmp_path):
    """Make a folder of two modules, of which one calls the other's kernel."""
    (tmp_path / 'numerics').mkdir()
    for name in ('kernels.py', 'compiling.py'):
        shutil.copy(Path(cosserat_ros.numerics.kernels.__file__).resolve().with_name(name),
                    tmp_path / 'numerics')
    (tmp_path / 'callee.py').write_text(CALLEE.format('1.0'))
    (tmp_path / 'caller.py').write_text(CALLER)
    return tmp_path


def run(library, **env):
    """Run the caller in a fresh process; return its result and its cache hits."""
    done = subprocess.run(
        [sys.executable, library / 'caller.py'], capture_output=True, text=True, check=True,
        env={**os.environ, 'NUMBA_CACHE_DIR': '', **env})
    result, hits = done.stdout.split()
    return float(result), int(hits)


def test_a_second_process_loads_what_the_first_compiled(library):
    assert run(library) == (20.0, 0)
    assert run(library) == (20.0, 1)


def test_an_edit_of_a_callee_in_another_file_is_seen(library):
    run(library)
    (library / 'callee.py').write_text(CALLEE.format('2.0'))
    assert run(library) == (30.0, 0)


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


def test_a_link_to_a_module_that_is_gone_does_no_harm(library):
    (library / 'gone.py').symlink_to(library / 'nowhere.py')
    assert run(library) == (20.0, 0)
