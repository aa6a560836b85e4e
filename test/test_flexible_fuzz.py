"""Random graphs of rods, bodies and joints, absurd masses: a status and a reason, never NaN."""

from dataclasses import replace

from assemblies import random_assembly
from conftest import FUZZ
import numpy as np
import pytest
from test_rigid_fuzz import absurd_body, exercise, limit, near_dead_centre

from cosserat_ros.assembly.assembly import Assembly
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.numerics.integrators import SCHEMES

GRAVITIES = (0.0, 9.81, 1e3)


def absurd_graph(rng):
    """Return a tree of rods and bodies with some loops; bodies have any mass, or none."""
    made = random_assembly(rng, bodies=int(rng.integers(1, 6)), rods=int(rng.integers(1, 4)),
                           loops=int(rng.integers(0, 3)), odd=True)
    bodies = {name: replace(absurd_body(rng), pose=body.pose, driven=body.driven)
              for name, body in made.bodies.items()}
    return Assembly(bodies, made.rods, made.joints, rng.choice(GRAVITIES) * rng.normal(size=3))


@pytest.mark.timeout(300)  # a hang is a failure; each takes seconds
@pytest.mark.parametrize('seed', range(20 * FUZZ))
def test_fuzz_any_graph_with_rods_has_a_status_and_a_reason(seed):
    rng = np.random.default_rng(seed)
    try:
        solver = absurd_graph(rng).solver(SCHEMES[str(rng.choice(sorted(SCHEMES)))])
    except InvalidModel as error:
        assert 'loop' in str(error)
        return
    limit(rng, solver)
    solver.MOST_ITERATIONS, solver.LEAST_FRACTION = 25, 0.1  # give up early, to try more
    exercise(rng, solver)


@pytest.mark.timeout(300)
@pytest.mark.parametrize('seed', range(10 * FUZZ))
def test_fuzz_a_loop_with_an_elastic_coupler_near_its_dead_centre_has_a_status(seed):
    rng = np.random.default_rng(2000 + seed)
    try:
        solver = near_dead_centre(
            rng, float(rng.choice([0.0, 1e-14, 1e-9, 1e-6, 1e-3])), elastic=True).solver()
    except InvalidModel as error:
        assert 'loop' in str(error)
        return
    solver.MOST_ITERATIONS, solver.LEAST_FRACTION = 25, 0.1
    exercise(rng, solver)
