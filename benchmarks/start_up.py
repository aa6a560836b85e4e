"""
From the start of Python to the first step of a rod, with the kernels in the cache and without.

    environment/enter python benchmarks/start_up.py

First all that nodes need is compiled, by `cosserat_ros.warm_up` as at installation, in two
processes at a time; also with the oldest versions that are supported, if `make test-oldest` has
made their environment. Then each row is a new process. Wall times count from its start, processor
time is that of all of it. The memory is the largest that the process ever had. This file imports
little itself: a process inherits the peak of the one that started it.
"""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time

ROOT = Path(__file__).resolve().parent.parent
OLDEST = ROOT / '.environment' / 'oldest' / 'bin' / 'python'

# All of the engine that a simulation needs. Prints instants, processor time and memory [kB].
CHILD = """
import resource, time
import numpy as np
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.rod.discretisation import discretise
imported = time.time()
rod = Rod((Segment(0.4, Circular(1e-3), Material(207e9, 8000.0, shear_modulus=79e9)),))
solver = RodSolver(discretise(rod, StrainModes()))
solver.load(solver.no_loads()._replace(gravity=np.array([-9.81, 0.0, 0.0])))
assert solver.statics().converged
solver.start()
assert solver.step(1e-3).converged
solver.state(), solver.energy()
print(imported, time.time(), time.process_time(),
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def first_step(name: str, cache: str) -> None:
    """Start a process with this cache of kernels, and print a row of the table."""
    begin = time.time()
    output = subprocess.run(
        [sys.executable, '-c', CHILD], env=os.environ | {'NUMBA_CACHE_DIR': cache},
        stdout=subprocess.PIPE, text=True, check=True).stdout
    imported, stepped, processor, memory = map(float, output.split())
    print(f'{name:20} {imported - begin:10.2f} {stepped - begin:13.2f} {processor:12.2f} '
          f'{memory / 1024.0:8.0f}', flush=True)


def compile_all(python: str | Path, cache: str, versions: str) -> None:
    """Compile all that nodes need, and print how long it takes."""
    begin = time.time()
    subprocess.run(
        [python, '-m', 'cosserat_ros.warm_up'], check=True, cwd=ROOT, stderr=subprocess.DEVNULL,
        env=os.environ | {'NUMBA_CACHE_DIR': cache, 'PYTHONPATH': str(ROOT)})
    took = time.time() - begin
    print(f'all that nodes need, compiled with {versions}: {took:.1f} s', flush=True)


def main() -> None:
    """Print the table."""
    if OLDEST.exists():
        with tempfile.TemporaryDirectory() as cache:
            compile_all(OLDEST, cache, 'the oldest versions')
    with tempfile.TemporaryDirectory() as cache:
        compile_all(sys.executable, cache, 'these versions')
        print()
        print(f'{"cache of kernels":20} {"imported s":>10} {"first step s":>13} '
              f'{"processor s":>12} {"peak MB":>8}')
        for _ in range(3):
            first_step('full', cache)
    with tempfile.TemporaryDirectory() as cache:
        first_step('empty: one rod', cache)


if __name__ == '__main__':
    main()
