"""The assembly's solver: what is led in parts, roots that move, linear systems."""

from assemblies import random_solver, soft_rod, stir
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_assembly import is_regular

from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.assembly.continuation import as_equilibrium, inputs, take, unloaded
from cosserat_ros.assembly.joint_kinds import JointKind
from cosserat_ros.assembly.one_rod import RodSolver
from cosserat_ros.assembly.state import at_rest, follow_twist
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.laws.actuators import GAS, given_efforts, LENGTH, Paths
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.rod.kinematics import Base

D = discretise(soft_rod(), StrainModes(1, 1, 1, 4, 4, 2))
GRAVITY = np.array([0.0, 0.2, -1.0])


def impatient(solver, most=8):
    """Give up soon, so that the way is divided."""
    solver.MOST_ITERATIONS = most
    return solver


# --- Statics in parts ----------------------------------------------------------------------------

def actuated(kind):
    """Return a rod with a tendon or a chamber beside it, driven by its length or its gas."""
    r = np.zeros((1, D.s.size, 3))
    r[0, :, 0] = 8e-3
    area = 1e-4 if kind == GAS else 1.0
    solver = RodSolver(D, paths=Paths(
        r, np.zeros_like(r), area * D.w[None], np.array([kind == GAS])))
    start = solver.lengths()
    drives = given_efforts(np.zeros(1))._replace(
        kind=np.array([kind]), ambient=np.full(1, 1e5), scale=np.full(1, 100.0))
    far = 4.0 * 1e5 * start if kind == GAS else start - 0.02
    near = 1e5 * start if kind == GAS else start
    return solver, drives, near, far


@pytest.mark.parametrize('kind', [LENGTH, GAS])
def test_continuation_begins_at_an_equilibrium(kind):
    """At rest without loads, by commands and by where the tip is held."""
    solver, drives, _, far = actuated(kind)
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    solver.drive(drives._replace(command=far))
    R = exp_so3(np.array([0.4, -0.9, 0.2]))
    solver.hold_tip(R, [0.12, 0.08, 0.17], JointKind('universal'))
    rest, still = np.zeros((2, solver.Z))
    assert np.abs(solver.residual(rest, still, still)).max() > 0.1
    initial = as_equilibrium(
        solver.tree, solver.refresh(), rest, unloaded(inputs(solver.tree)))
    take(solver.tree, initial)
    assert_allclose(solver.residual(rest, still, still), 0.0, atol=1e-10)


@pytest.mark.parametrize('kind', [LENGTH, GAS])
def test_commands_are_led_from_where_the_rod_is_in_equilibrium(kind):
    """Beginning at 0, a tendon would have no length."""
    solver, drives, near, far = actuated(kind)
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    solver.drive(drives._replace(command=far))
    solution = impatient(solver, 4).statics()
    assert solution.converged and solution.parts > 1, solution.message
    steady, *_ = actuated(kind)
    steady.load(steady.no_loads()._replace(gravity=GRAVITY))
    for part in np.linspace(0.0, 1.0, 20):
        steady.drive(drives._replace(command=(1.0 - part) * near + part * far))
        assert steady.statics().converged
    assert_allclose(solver.z, steady.z, rtol=1e-7, atol=1e-9)
    assert_allclose(solver.tree.drives.command, far, rtol=0, atol=0)  # and what is told stays


@pytest.mark.parametrize('kind', [JointKind(), JointKind('spherical'), JointKind('revolute'),
                                  JointKind('cylindrical')], ids=lambda kind: kind.name)
def test_a_held_tip_is_led_from_where_it_is(kind):
    R, p = exp_so3(np.array([0.4, -0.9, 0.2])), np.array([0.12, 0.08, 0.17])
    solver = RodSolver(D)
    solver.load(solver.no_loads()._replace(gravity=np.array([2.0, 1.0, -1.0])))
    assert solver.statics().converged  # bent: it knows where to go when it is pushed
    solver.hold_tip(R, p, kind)
    solution = impatient(solver).statics()
    assert solution.converged and solution.parts > 1, solution.message
    x = solver.state()
    shift, turned = R.T @ (x.p_end[-1] - p), R.T @ x.Rc[-1]
    free = {'clamped': [], 'spherical': [3, 4, 5], 'revolute': [5], 'cylindrical': [2, 5]}
    held = np.setdiff1d(np.arange(6), free[kind.name])
    skew = np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0],
                     turned[1, 0] - turned[0, 1]])
    assert_allclose(np.concatenate([shift, skew])[held], 0.0, atol=1e-9)
    wrench = np.concatenate([solver.reactions, np.zeros(6 - solver.reactions.size)])
    along = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
    assert_allclose(along[free[kind.name]], 0.0, atol=1e-9)  # it may go there: nothing holds it
    assert np.linalg.norm(wrench) > 1e-3


def test_another_joint_at_the_tip_keeps_state_loads_and_reactions():
    solver, loads = RodSolver(D), RodSolver(D).no_loads()._replace(gravity=GRAVITY)
    solver.load(loads)
    assert solver.statics().converged
    x = solver.state()
    solver.hold_tip(x.Rc[-1], x.p_end[-1])
    first = solver.statics()
    assert first.converged and first.iterations <= 2  # it is there already
    assert_allclose(solver.reactions, 0.0, atol=1e-9)
    solver.hold_tip(x.Rc[-1], x.p_end[-1] + [0.0, 0.0, -5e-3])
    assert solver.statics().converged
    wrench, q = solver.reactions.copy(), solver.q.copy()
    solver.hold_tip(x.Rc[-1], x.p_end[-1] + [0.0, 0.0, -5e-3], JointKind('spherical'))
    assert_allclose(solver.reactions, wrench[:3], rtol=0, atol=0)
    assert_allclose(solver.q, q, rtol=0, atol=0)
    solver.hold_tip(np.eye(3), np.zeros(3), JointKind('free'))
    assert solver.statics().converged
    assert_allclose(solver.state().p_end[-1], x.p_end[-1], atol=1e-9)


def test_from_rest_does_not_depend_on_what_was():
    solver = RodSolver(D)
    push = solver.no_loads()._replace(end_force=np.array([[0.05, -0.08, -0.3]]))
    solver.load(push._replace(end_moment=np.array([[0.0, 0.06, 0.0]])))
    assert solver.statics().converged
    solver.load(push)
    fresh = RodSolver(D)
    fresh.load(push)
    first, again = fresh.statics(), solver.statics(from_rest=True)
    assert first.converged and again.converged
    assert again.iterations == first.iterations
    assert_allclose(again.z, first.z, rtol=0, atol=0)


def test_the_statics_of_a_free_rod_hold_its_base_and_leave_it_free():
    base = at_rest(exp_so3(np.array([0.3, 0.2, -0.5])), np.array([0.1, 0.2, 0.3]))
    moving = Base(*base)._replace(Om=np.ones(3), p_t=np.ones(3))
    free, clamped = RodSolver(D, moving, free=True), RodSolver(D, base)
    for solver in (free, clamped):
        solver.load(solver.no_loads()._replace(gravity=GRAVITY))
        assert solver.statics().converged
    assert_allclose(free.q, clamped.q, rtol=0, atol=1e-10)
    assert_allclose(free.base().p, base.p, rtol=0, atol=0)
    assert_allclose(free.base().R, base.R, rtol=0, atol=1e-15)
    assert not free.z_t.any()
    assert free.step(1e-2).converged
    assert free.momentum()[:3] @ GRAVITY > 0.0  # it falls


# --- Roots that move -----------------------------------------------------------------------------

def carried():
    """Return a rod on a body whose motion is told."""
    solver = Assembly({'cart': RigidBody(pose=pose((0.1, 0.0, 0.0)), driven=True)}, {
        'rod': RodPart(soft_rod(), StrainModes(0, 0, 0, 3, 3, 1), Attachment('cart'))}).solver()
    return solver, solver.places.bodies['cart'].link


def twist(t):
    """Return a screw that speeds up."""
    axis, along = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.5])
    return 3.0 * t * axis, 2.0 * t * along, 3.0 * axis, 2.0 * along


def test_a_root_is_where_it_is_told_at_the_end_of_every_part_of_a_step():
    solver, cart = carried()
    solver.motions[cart] = follow_twist(twist)
    assert solver.start()
    assert_allclose(solver.tree.roots.p_tt[cart], [2.0, 0.0, 1.0])
    tip = solver.places.rods['rod'][-1]
    solver.tree.bodies.follower_force[tip] = [0.0, 20.0, -6.0]
    solution = impatient(solver, 12).step(0.05)
    assert solution.converged and solution.parts > 1
    assert_allclose(solver.time, 0.05)
    assert_allclose(solver.tree.roots.p[cart], [0.1 + 0.05 ** 2, 0.0, 0.5 * 0.05 ** 2], atol=1e-14)
    assert_allclose(solver.tree.roots.R[cart], exp_so3(np.array([0.0, 0.0, 1.5 * 0.05 ** 2])),
                    atol=1e-14)
    assert_allclose(solver.tree.roots.Om[cart], [0.0, 0.0, 0.15])


def test_what_is_saved_has_the_motion_of_roots():
    solver, cart = carried()
    solver.motions[cart] = follow_twist(twist)
    assert solver.start()
    for _ in range(5):
        assert solver.step(4e-3).converged
    saved, ends = solver.saved(), []
    for _ in range(2):
        solver.restore(saved)
        for _ in range(5):
            assert solver.step(4e-3).converged
        ends.append((solver.z.copy(), solver.tree.roots.p[cart].copy(), solver.time))
    for first, second in zip(*ends):
        assert_allclose(first, second, rtol=0, atol=0)
    # A step that fails leaves roots where they were.
    before = solver.tree.roots.p[cart].copy()
    solver.tree.bodies.force[solver.places.rods['rod'][-1]] = np.nan
    assert not solver.step(4e-3).converged
    assert_allclose(solver.tree.roots.p[cart], before, rtol=0, atol=0)
    assert solver.statics().converged is False
    assert solver.tree.roots.p_t[cart].any()  # and moving


def test_statics_put_roots_at_rest():
    solver, cart = carried()
    solver.tree.roots.Om[cart], solver.tree.roots.p_tt[cart] = 5.0, 5.0
    assert solver.statics().converged
    assert_allclose(solver.z, 0.0, atol=1e-12)  # nothing bends it
    assert not any(part[cart].any() for part in solver.tree.roots[2:])


# --- Linear systems ------------------------------------------------------------------------------

@pytest.mark.parametrize('number', range(12))
def test_columns_are_solved_as_by_the_dense_tangent(number):
    rng = np.random.default_rng(number)
    while not (solver := random_solver(rng, loops=number % 3)).close():
        pass  # a loop that is held more often than it can move
    instant, columns = stir(rng, solver), rng.normal(size=(solver.Z, 4))
    _, K = solver.jacobian(*instant, 300.0, 5e4)
    assert is_regular(K)
    x = solver.solve_columns(columns)
    assert x is not None
    size = np.abs(K) @ np.abs(x)
    assert np.abs(K @ x - columns).max() <= 1e-9 * size.max()


def test_columns_of_what_nothing_holds_have_no_solution():
    solver = Assembly({'stone': RigidBody(1.0, np.eye(3))}).solver()
    still = np.zeros(6)
    solver.jacobian(solver.z, still, still, 0.0, 0.0)
    assert solver.solve_columns(np.eye(6)) is None
