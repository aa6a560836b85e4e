"""
What calibration recovers from motions.

``releases`` fits Young's modulus and damping to the ten releases of a soft rod by another group
(opencr-mujoco's SoRoSim data, MIT), ``weight`` does Till 2019, section 4.1, on data with noise:

    python benchmarks/calibration.py releases <folder with release_1.txt ...>
    python benchmarks/calibration.py weight
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import sys
import time
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from cosserat_ros.calibration.calibration import fit, Misfit, Result
from cosserat_ros.calibration.parameters import Parameter, ParameterSet
from cosserat_ros.calibration.prediction import predict
from cosserat_ros.comparison.maps import RecordingMap
from cosserat_ros.comparison.recordings import assemble, read
from cosserat_ros.description import documents as description
from cosserat_ros.description.robot import Robot

MODULUS = 'rods.*.segments[*].material.young_modulus'
ALONG_X = Rotation.from_matrix([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).as_euler('xyz').tolist()
NO_SHEAR = {'shear_x': 0, 'shear_y': 0, 'stretch': 0}


def rod_robot(
    length: float, radius: float, material: dict[str, float], gravity: Any, modes: dict[str, int],
    step: float, relaxation_time: float = 0.0, drag: float = 0.0,
) -> Robot:
    """Return a rod of two halves, clamped at the origin, along the x axis."""
    segment = {'length': length / 2, 'section': {'shape': 'circular', 'radius': radius},
               'material': material, 'damping': {'relaxation_time': relaxation_time}}
    return description.build(Robot, {
        'name': 'rod', 'gravity': list(gravity), 'time': {'step': step},
        'modes': {**NO_SHEAR, **modes},
        'rods': {'rod': {'segments': [segment, segment], 'drag': {'square': [drag] * 3},
                         'base': {'roll_pitch_yaw': ALONG_X}}}})


def fit_release(path: Path, samples: int = 100) -> tuple[np.ndarray, float]:
    """Return E [Pa] and beta [s] from the first samples of a release, and the true beta [s]."""
    head = np.loadtxt(path, max_rows=2)
    wrenches = head[1, 1:].reshape(2, 2, 3)
    robot = rod_robot(
        0.4, 5e-3, {'young_modulus': 60e6, 'density': 1200.0, 'poisson_ratio': 0.4}, head[0, 10:],
        {'bend_x': 4, 'bend_y': 4, 'twist': 3}, 2.5e-3, relaxation_time=0.01)
    channels = description.build(RecordingMap, {
        'motion': 'dynamic', 'time': {'column': 0}, 'delimiter': 'tab', 'header': False, 'skip': 2,
        'measured': {'tip': {'columns': [10, 11, 12]},
                     'middle': {'columns': [4, 5, 6], 'at': 0.2}},
        'held': {name: {'wrench': [*force, *moment], 'at': at}
                 for name, (moment, force), at in zip('ab', wrenches, (0.2, 0.4))}})
    recording = read(path, channels, robot).part(slice(0, samples))
    parameters = ParameterSet({
        'E': Parameter((MODULUS,), 30e6, 150e6),
        'beta': Parameter(('rods.*.segments[*].damping.relaxation_time',), 1e-4, 0.2)},
        robot, channels)
    return fit(Misfit(parameters, [recording], noise=1e-3)).values, float(head[0, 0])


def fit_weight_release(noise: float = 5e-4, seed: int = 0) -> tuple[Result, np.ndarray]:
    """
    Cut a weight of 20 g from a rod of steel, and find EI, rho and C from where its tip was.

    The data are made with other modes and half the step, and have noise [m]. Returns the fit, of
    E [Pa], rho [kg/m^3] and C [kg/m^2], and the truth.
    """
    inertia = np.pi * 0.71e-3 ** 4 / 4.0

    def rod(EI: float, density: float, drag: float, modes: int, step: float) -> Robot:
        return rod_robot(
            0.408, 0.71e-3,
            {'young_modulus': EI / inertia, 'density': density, 'poisson_ratio': 0.3},
            (0.0, 0.0, -9.81), {'bend_x': modes, 'bend_y': modes, 'twist': 0}, step, drag=drag)

    channels = description.build(RecordingMap, {
        'motion': 'dynamic', 'time': {'column': 't'}, 'measured': {'tip': {'columns': [0, 1, 2]}},
        'held': {'weight': {'wrench': [0.0, 0.0, -0.020 * 9.81, 0.0, 0.0, 0.0]}}})
    wanted = {'E': Parameter((MODULUS,), 1e11, 3e11),
              'density': Parameter(('rods.*.segments[*].material.density',), 4e3, 1.5e4),
              'drag': Parameter(tuple(f'rods.*.drag.square[{k}]' for k in range(3)), 0.0, 0.02)}
    true = ParameterSet(wanted, rod(0.0380, 7602.0, 2.12e-3, 4, 1e-3), channels)
    count = 401
    blank = assemble('made here', '0', channels, np.arange(count) * 2e-3, np.zeros((count, 0)),
                     np.zeros((count, 1, 3)), [''] * count)
    clean = predict(true, true.start, blank).positions
    noisy = clean + noise * np.random.default_rng(seed).normal(size=clean.shape)
    model = ParameterSet(wanted, rod(0.0420, 8200.0, 5e-3, 3, 2e-3), channels)
    return fit(Misfit(model, [replace(blank, positions=noisy)], noise)), true.start


def main() -> int:
    """Run what the command line asks for."""
    if sys.argv[1:] == ['weight']:
        result, truth = fit_weight_release()
        for x, value in zip(result.intervals, truth):
            print(f'{x.name:<8} {x.value:.5g} +- {x.half:.2g}, truth {value:.5g}')
        return 0
    if sys.argv[1:2] != ['releases'] or len(sys.argv) != 3:
        print(__doc__)
        return 2
    for number in range(1, 11):
        begun = time.perf_counter()
        (E, beta), known = fit_release(Path(sys.argv[2]) / f'release_{number}.txt')
        print(f'release {number:>2}: E {E / 1e6:.3f} MPa ({100 * (E / 70e6 - 1):+.2f} %), beta '
              f'{beta:.5f} s ({100 * (beta / known - 1):+.2f} %), '
              f'{time.perf_counter() - begun:.0f} s', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
