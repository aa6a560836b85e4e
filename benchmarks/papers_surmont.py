"""
Iterations, points and results of Surmont's nine cases, beside those that the paper prints.

    environment/enter python benchmarks/papers_surmont.py
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from cosserat_ros.papers import surmont_cases as cases
from cosserat_ros.papers.mrp_shooting import MrpAssembly, MrpSolution, SIGMA

EI = cases.E_STEEL * np.pi * cases.RADIUS ** 4 / 4.0
HELIX_STEPS = 50
NOT_PRINTED = 'not printed'
Result = Callable[[MrpSolution], float]


def tip(i: int) -> Result:
    """Return what gives coordinate i of the tip [m]."""
    return lambda solution: float(solution.phi[0][-1, -1, i])


def arc_error(turn: float) -> Result:
    """Return what gives the largest error of an arc's height [m]."""
    return lambda a: float(np.abs(a.phi[0][0, :, 0] - (1.0 - np.cos(turn * a.s)) / turn).max())


def moment_error(exact: Callable[[np.ndarray], np.ndarray], length: float) -> Result:
    """Return what gives the largest relative error of the first rod's moment, by arc length."""
    def error(a: MrpSolution) -> float:
        s = length * a.s[1:]
        return float(np.abs(np.abs(a.phi[0][0, 1:, 10]) / exact(s) - 1.0).max())
    return error


def hinge_turn(a: MrpSolution) -> float:
    """Return the relative deviation of theta_A of 4.8 from eq. 50."""
    v = (6.0 ** 4 / 8.0 + 2.0 * 2.0 * 6.0 ** 3 / 9.0) / EI
    turn = 4.0 * np.arctan(np.linalg.norm(a.phi[0][0, 0, SIGMA]))
    return float(turn / (v / 4.0 + 4.0 * 2.0 * 16.0 / (81.0 * EI)) - 1.0)


def hinge_deflection(a: MrpSolution) -> float:
    """Return the relative deviation of delta_B of 4.8 from eq. 50."""
    return float(-a.bodies[1, 0] / ((6.0 ** 4 / 8.0 + 2.0 * 2.0 * 6.0 ** 3 / 9.0) / EI) - 1.0)


POINTS = {'4.6': '22', '4.7': '18'}  # that the paper prints
ROWS: list[tuple[str, MrpAssembly, str, str, Result, str]] = [
    ('4.1 arc, full circle', cases.arc(2.0 * np.pi), NOT_PRINTED, 'max. error of z [m]',
     arc_error(2.0 * np.pi), '8.09e-12'),
    ('4.2 circle unrolled', cases.arc(-2.0 * np.pi, True), NOT_PRINTED, 'tip x [m]',
     tip(0), '1.30e-12'),
    ('4.4 twisted, F_y', cases.twisted((1.0, 0.0, 0.0)), '2', 'tip y [m]', tip(0), '0.00542871'),
    ('4.4 twisted, F_z', cases.twisted((0.0, 1.0, 0.0)), '2', 'tip z [m]', tip(1), '0.00174903'),
    ('4.5 bend, 300 N', cases.bend(300.0), '5', 'tip x [m]', tip(0), '22.24'),
    ('4.5 bend, 600 N', cases.bend(600.0), '5', 'tip x [m]', tip(0), '15.68'),
    ('4.6 triangular load', cases.triangle(), NOT_PRINTED, 'shear deflection [m]',
     lambda a: float(-a.bodies[0, 0] - 10.0 * 5.0 ** 4 / (120.0 * EI)), '2.0287e-07'),
    ('4.7 two inertias', cases.two_inertias(), NOT_PRINTED, 'deflection / eq. 49 - 1',
     lambda a: float(-a.bodies[1, 0] / (9.0 * 2.5e3 / (768.0 * EI)) - 1.0), '4.7287e-05'),
    ('4.6 triangular load', cases.triangle(), NOT_PRINTED, 'max. error of moment',
     moment_error(lambda s: 10.0 * s / 60.0 * (75.0 - 4.0 * s * s), 2.5), '1.0302e-05'),
    ('4.7 two inertias', cases.two_inertias(), NOT_PRINTED, 'max. error of moment',
     moment_error(lambda s: 1.25 * s, 2.5), '6.7815e-08'),
    ('4.8 hinge', cases.hinged(), NOT_PRINTED, 'delta_B / eq. 50 - 1', hinge_deflection,
     '2.3211e-05'),
    ('4.8 hinge', cases.hinged(), NOT_PRINTED, 'theta_A / eq. 50 - 1', hinge_turn, '2.3550e-05'),
    ('4.9 T-frame', cases.t_frame(2.0, 30.0, 20.0, 15.0), NOT_PRINTED, 'D_x [N]',
     lambda a: float(a.phi[0][0, 0, 6]), '32 (8 P / 5)'),
]


def main() -> None:
    """Print the table."""
    cases.arc(1.0).solve()
    print('| case | iterations | paper | points | paper | time [s] | quantity | here | paper |')
    print('|---|---|---|---|---|---|---|---|---|')
    for name, assembly, iterations, quantity, result, printed in ROWS:
        begin = perf_counter()
        a = assembly.solve()
        assert a.converged, name
        print(f'| {name} | {a.iterations} | {iterations} | {a.s.size * len(assembly.rods)} | '
              f'{POINTS.get(name[:3], NOT_PRINTED)} | '
              f'{perf_counter() - begin:.2f} | {quantity} | {result(a):.6g} | {printed} |')
    begin = perf_counter()
    path = cases.follow_helix(np.linspace(0.0, 1.0, HELIX_STEPS + 1), accuracy=1e-10)
    assert all(a.converged for a in path)
    most, last = max(a.iterations for a in path), path[-1].phi[0][0, -1, 1]
    print(f'| 4.3 helix, {HELIX_STEPS} steps | {most} at most | {NOT_PRINTED} | '
          f'{path[-1].s.size} | {NOT_PRINTED} | {perf_counter() - begin:.2f} | '
          f'out of plane at the end [m] | {last:.6g} | a figure |')


if __name__ == '__main__':
    main()
