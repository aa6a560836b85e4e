"""Static shapes against the tables of Surmont et al., sections 4.4 and 4.5."""

import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.kinematics import Base
from cosserat_ros.rod import Material, RestShape, Rod, Segment
from cosserat_ros.section import FreeSection, Rectangular
from cosserat_ros.solver import RodSolver
from cosserat_ros.strain import discretise, StrainModes

MODES = StrainModes(8, 8, 8, 8, 8, 8, substeps=4)


def tip_under(solver, force):
    """Return the tip's position under a dead force, from rest, (3,) [m]."""
    loads = solver.no_loads()._replace(end_force=np.array([force]))
    assert solver.statics(loads, from_rest=True).converged
    return solver.state().p_end[-1]


@pytest.mark.parametrize('force, tip', [
    (0.0, (29.29, 70.71, 0.0)),
    (300.0, (22.24, 58.78, 40.19)),
    (600.0, (15.68, 47.15, 53.47)),
])
def test_a_bend_of_45_degrees(force, tip):
    """Table 8, to the digits printed: they take the polar moment for the torsion constant."""
    square = FreeSection(1.0, 1.0 / 12.0, 1.0 / 12.0, 1.0 / 6.0)
    arc = Rod([Segment(
        25.0 * np.pi, square, Material(1e7, 1.0, shear_modulus=5e6),
        rest=RestShape(curvature=(0.0, 0.01, 0.0)))])
    along_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    solver = RodSolver(discretise(arc, MODES), Base(along_y, *np.zeros((5, 3))))
    assert_allclose(tip_under(solver, (0.0, 0.0, force)), tip, rtol=0, atol=0.006)


def test_a_pretwisted_cantilever():
    """
    Table 6: across (their y) and flat (their z).

    Their own digits hold to 4e-8 m; the coupling is that of Zupan and Saje's analytical solution.
    """
    strip = Rod([Segment(
        12.0, Rectangular(1.1, 0.32), Material(29e6, 1.0, poisson_ratio=0.22),
        rest=RestShape(curvature=(0.0, 0.0, np.pi / 24.0)))])
    solver = RodSolver(discretise(strip, MODES))
    thin = tip_under(solver, (0.0, 1.0, 0.0))
    wide = tip_under(solver, (1.0, 0.0, 0.0))
    assert_allclose([thin[1], -thin[0], -wide[1], wide[0]],
                    [0.00542871, 0.00171872, 0.00171870, 0.00174903], rtol=0, atol=5e-8)
    assert_allclose(-thin[0], 0.00171874, rtol=0, atol=5e-9)
