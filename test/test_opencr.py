"""
The engine against another group's strain-based solutions (opencr-mujoco's SoRoSim data, MIT).

A soft rod along x: our rod's z axis is turned there. The statics were made without twist, and the
releases, it seems, without shear and stretch: with them release 1 is 0.65 mm off over 2 s, without
them 0.12 mm, a difference such as Timoshenko's first frequency makes, 2.5e-4 below.
"""

import csv
import time

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.interpolate import BarycentricInterpolator

from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Damping, Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.rod.kinematics import Base

DATA = ROOT.parent / 'shared' / 'data' / 'opencr' / 'sorosim_tpu'
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f'the recordings of opencr are not in {DATA}')

L = 0.4
LOCAL = np.array([0.0, 0.04691, 0.23077, 0.5, 0.76923, 0.95309, 1.0])
STATIONS = np.concatenate([LOCAL, 1.0 + LOCAL]) * L / 2
ALONG_X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def make_solver(modes, relaxation_time=0.0):
    """Return the rod of the data, with a break in its middle, where a wrench acts."""
    rod = Rod([Segment(L, Circular(5e-3), Material(70e6, 1200.0, poisson_ratio=0.4),
                       damping=Damping(relaxation_time=relaxation_time))])
    base = Base(ALONG_X, *np.zeros((5, 3)))
    return RodSolver(discretise(rod, modes, breaks=[L / 2]), base, tolerance=1e-8)


def positions(solver):
    """Return the positions of the 14 stations, (14, 3) [m]."""
    d, x = solver.d, solver.state()
    m = len(d.s) // 2
    p = []
    for a, start in enumerate((np.zeros(3), x.p_end[0])):
        s = np.concatenate([[d.breaks[a]], d.s[a * m:(a + 1) * m], [d.breaks[a + 1]]])
        known = np.concatenate([[start], x.p[a * m:(a + 1) * m], [x.p_end[a]]])
        p.append(BarycentricInterpolator(s, known)(STATIONS[a * 7:(a + 1) * 7]))
    return np.concatenate(p)


def test_all_static_shapes():
    rows = list(csv.reader((DATA / 'statics.csv').open()))[2:]
    numbers = np.array([[float(x) for x in row[1:]] for row in rows]).reshape(-1, 6, 17)
    assert len(numbers) == 500
    solver = make_solver(StrainModes(1, 1, 1, 4, 4, 0, nodes=8))
    none = solver.no_loads()
    solver.statics()  # compiles
    errors, spent = [], []
    for shape in numbers:
        gravity, wrenches = shape[3:, 0], shape[:, 1:3].T
        loads = none._replace(
            gravity=gravity, end_moment=wrenches[:, :3].copy(), end_force=wrenches[:, 3:].copy())
        begin = time.perf_counter()
        solver.load(loads)
        assert solver.statics(from_rest=True).converged
        spent.append(time.perf_counter() - begin)
        errors.append(np.linalg.norm(positions(solver) - shape[3:, 3:].T, axis=1))
    errors = np.array(errors)
    print(f'median {1e3 * np.median(errors):.3f} mm, worst {1e3 * errors.max():.3f} mm, '
          f'{1e3 * np.median(spent):.2f} ms per shape')
    assert np.median(errors) <= 0.15e-3
    assert errors.max() <= 0.5e-3
    assert np.median(spent) < 5e-3


def steps_in_sample(i):
    """Return how many steps the sample i of 5 ms is divided into: 80, 40, 27, ..., 2, 2."""
    return max(2, -(-80 // (i + 1)))


@pytest.mark.parametrize('number', range(1, 11))
def test_the_releases_are_followed_for_ten_seconds(number):
    """
    Kirchhoff rods, at steps in proportion to the time since the release, 1/16 ms to 2.5 ms.

    The sudden release, not the motion, asks for short steps: 2.5 ms from the start are 3.9 mm off
    in release 1. The worst mean of the ten is 1.00, 0.31, 0.14 mm for last steps of 5, 2.5 and
    1.25 ms: second order, down to the data. A start finer by two changes no mean by 0.02 mm.
    """
    data = np.loadtxt(DATA / f'release_{number}.txt')
    beta, gravity, wrench = data[0, 0], data[0, 10:], data[1, 1:].reshape(2, 6)
    solver = make_solver(StrainModes(0, 0, 0, 5, 5, 4, nodes=8), beta)
    free = solver.no_loads()._replace(gravity=gravity)
    held = free._replace(end_moment=wrench[:, :3].copy(), end_force=wrench[:, 3:].copy())
    solver.load(held)
    assert solver.statics().converged
    solver.load(free)
    solver.start()
    tips = [solver.state().p_end[-1]]
    for i in range(len(data) - 3):
        for _ in range(steps_in_sample(i)):
            assert solver.step(5e-3 / steps_in_sample(i)).converged
        tips.append(solver.state().p_end[-1])
    assert_allclose(solver.time, data[-1, 0])
    assert data[-1, 0] == 10.0
    error = np.linalg.norm(tips - data[2:, 10:], axis=1)
    print(f'release {number}: mean {1e3 * error.mean():.3f} mm, worst {1e3 * error.max():.3f} mm')
    assert error.mean() <= 0.4e-3
