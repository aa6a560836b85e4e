"""Whatever the rod, the load and the step: no NaN leaves the solver, and failures are told."""

from hypothesis import given, HealthCheck, settings, strategies as st
import numpy as np

from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Damping, Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.rod.discretisation import discretise


def powers(least, most):
    """Draw numbers between powers of ten, evenly in their exponent."""
    return st.floats(least, most).map(lambda x: 10.0 ** x)


rods = st.builds(  # from a catheter to a mooring line
    lambda length, slenderness, young, density, damping: Rod([Segment(
        length, Circular(length * slenderness), Material(young, density, poisson_ratio=0.4),
        damping=Damping(relaxation_time=damping))]),
    powers(-2, 3), powers(-4, -1.3), powers(4, 12), powers(1, 4.3),
    st.one_of(st.just(0.0), powers(-6, 0)))
modes = st.sampled_from([
    StrainModes(), StrainModes(0, 0, 0, 4, 4, 2), StrainModes(0, 0, 1, 2, 2, 1, elements=3)])
directions = st.tuples(*3 * [st.floats(-1.0, 1.0)]).map(np.array)


def is_finite(solver):
    return all(np.isfinite(array).all() for array in solver.state())


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(rod=rods, modes=modes, scheme=st.sampled_from(list(SCHEMES)), free=st.booleans(),
       force=powers(-6, 15), direction=directions, moment=powers(-6, 12), axis=directions,
       gravity=st.sampled_from([0.0, 9.81, 1e6]), drag=st.sampled_from([0.0, 1e-3, 1e6]),
       mass=st.sampled_from([0.0, 1e-6, 1e6]), dt=powers(-6, 0))
def test_no_nan_leaves_the_solver(
    rod, modes, scheme, free, force, direction, moment, axis, gravity, drag, mass, dt,
):
    d = discretise(rod, modes)
    solver = RodSolver(d, free=free, scheme=SCHEMES[scheme])
    solver.MOST_ITERATIONS, solver.LEAST_FRACTION = 25, 0.1  # give up early, to try more
    none = solver.no_loads()
    end = np.zeros_like(none.end_force)
    end[-1] = force * direction
    follower = np.zeros_like(end)
    follower[-1] = moment * axis
    masses = np.zeros(len(end))
    masses[-1] = mass
    loads = none._replace(
        gravity=np.array([0.0, gravity, 0.0]), end_force=end, follower_moment=follower,
        square_drag=np.full(3, drag), linear_drag=np.full(3, drag),
        bodies=none.bodies._replace(mass=masses))
    solver.load(loads)
    for solution in (solver.statics(), *_run(solver, none, loads, dt)):
        assert np.isfinite(solution.z).all()
        assert solution.converged or solution.message
    assert is_finite(solver)


def _run(solver, none, loads, dt):
    solver.load(none)
    solver.start()
    for step_loads in (none, loads, loads):
        before, time = solver.state().p.copy(), solver.time
        solver.load(step_loads)
        solution = solver.step(dt)
        if not solution.converged:
            np.testing.assert_array_equal(solver.state().p, before)
            assert solver.time == time
        yield solution


@settings(max_examples=30, deadline=None)
@given(field=st.sampled_from(['gravity', 'end_force', 'line_force', 'stress', 'linear_drag']),
       bad=st.sampled_from([np.nan, np.inf, -np.inf, 1e300]))
def test_numbers_that_are_none_are_survived(field, bad):
    rod = Rod([Segment(0.3, Circular(1e-3), Material(2e11, 8e3, poisson_ratio=0.3))])
    solver = RodSolver(discretise(rod, StrainModes()))
    none = solver.no_loads()
    loads = none._replace(**{field: np.full_like(getattr(none, field), bad)})
    solver.load(loads)
    for solution in (solver.statics(), solver.step(1e-3)):
        assert np.isfinite(solution.z).all()
    assert is_finite(solver)
    solver.load(none)
    assert solver.step(1e-3).converged
