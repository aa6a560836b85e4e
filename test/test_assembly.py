"""Assemblies: exact tangents, elimination along the tree, closed forms."""

from pathlib import Path
import re

from assemblies import random_body, random_kind, random_solver, stir
from conftest import FUZZ
import numpy as np
import pytest

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind, KINDS
from cosserat_ros.assembly.tangent import differentiate
from cosserat_ros.assembly.ties import factorise, solve
from cosserat_ros.checks.errors import InvalidModel, UnknownName
from cosserat_ros.numerics.integrators import SCHEMES

SIXTH = np.array([3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0])  # central differences
STEP = 3e-3  # of the differences


def differences(f, z, h=STEP):
    """Return the derivative of f by differences of order 6."""
    return np.array([
        sum(w * (f(z + h * k * e) - f(z - h * k * e)) for k, w in enumerate(SIXTH, 1)) / h
        for e in np.eye(z.size)]).T


def is_regular(K):
    """Return whether a matrix has an inverse, whatever the units of its rows and columns."""
    rows, columns = np.abs(K).max(axis=1), np.abs(K).max(axis=0)
    return rows.all() and columns.all() and np.linalg.cond(
        K / np.sqrt(rows[:, None] * columns)) < 1e9


def check_tangent(rng, solver):
    """Compare the tangent with differences, and elimination with a dense solve."""
    z, z_t, z_tt = stir(rng, solver)
    moves = solver.moves
    for limit in solver.tree.coordinates.least, solver.tree.coordinates.most:
        z += np.where(np.abs(z - limit) < 10.0 * STEP, 20.0 * STEP, 0.0)  # there is a kink
    for cV, cA in ((3.0, 7.0), (0.0, 0.0)):
        if cV == 0.0:
            z_t, z_tt = np.zeros((2, z.size))
            for part in solver.tree.roots[2:]:
                part[:] = 0.0
        hV, hA = np.where(moves, z_t - cV * z, 0.0), np.where(moves, z_tt - cA * z, 0.0)

        def equations(z, cV=cV, cA=cA, hV=hV, hA=hA):
            return solver.residual(
                z, np.where(moves, cV * z + hV, 0.0), np.where(moves, cA * z + hA, 0.0))

        _, K = solver.jacobian(z, z_t, z_tt, cV, cA)
        largest = np.abs(K).max(axis=0)
        rounding = 1e-15 * np.abs(equations(z)).max() / STEP
        error = np.abs(K - differences(equations, z)).max(axis=0)
        assert (error <= 1e-8 * largest + rounding).all(), (error / largest).max()

        if not is_regular(K):  # a joint that nothing holds, in statics
            continue
        ny = 6 if cV == 0.0 else 18
        equations(z)
        differentiate(solver.tree, solver.work, z, cV, cA, ny, solver.tangent)
        while (at := factorise(solver.tree, ny, solver.tangent, solver.fronts)) >= 0:
            assert solver._postpone(at)
        right, step = rng.normal(size=z.size), np.empty(z.size)
        solve(solver.tree, ny, solver.tangent, solver.fronts, right,
              np.zeros((solver.tree.links.kind.size, 18)), step)
        size = np.abs(K) @ np.abs(step) + np.abs(right)
        assert np.abs(K @ step - right).max() <= 1e-9 * size.max()


@pytest.mark.parametrize('kind', sorted(KINDS))
@pytest.mark.parametrize('sprung', [False, True])
def test_the_tangent_of_each_kind_of_joint_is_exact(kind, sprung):
    rng = np.random.default_rng(len(kind))
    joints = {
        'base': Joint(random_kind(rng, 'free'), Attachment(), Attachment('first')),
        'joint': Joint(random_kind(rng, kind, sprung), Attachment('first', pose((0.1, 0.2, 0.3))),
                       Attachment('second', pose((0.0, 0.1, 0.0))))}
    bodies = {'first': random_body(rng), 'second': random_body(rng)}
    check_tangent(rng, Assembly(bodies, {}, joints, (0.0, 1.0, -9.81)).solver())


@pytest.mark.parametrize('odd', [False, True])
@pytest.mark.parametrize('seed', range(12 * FUZZ))
def test_fuzz_the_tangent_of_any_assembly_is_exact(seed, odd):
    rng = np.random.default_rng(seed)
    check_tangent(rng, random_solver(
        rng, bodies=int(rng.integers(1, 13)), rods=int(rng.integers(0, 4)),
        loops=int(rng.integers(0, 3)), odd=odd))


def test_a_body_without_mass_has_no_acceleration_to_start_with():
    """Be it held by a spring, by nothing, or by a spring that is at rest."""
    for spring in ({'stiffness': 2.0, 'rest': 0.3}, {}, {'stiffness': 2.0}):
        kind = JointKind('prismatic', coordinates=[Coordinate(**spring)])
        assert not Assembly({'nothing': RigidBody()}, {}, {
            'slide': Joint(kind, Attachment(), Attachment('nothing'))}).solver().start()


# --- Closed forms --------------------------------------------------------------------------------

def hinge(**coordinate):
    """Return a joint that turns about y."""
    return JointKind('revolute', (0.0, 1.0, 0.0), coordinates=[Coordinate(**coordinate)])


def link(length=0.6, mass=1.0, inertia=0.02):
    """Return a bar that hangs down."""
    return RigidBody(mass, np.diag([inertia] * 3), (0.0, 0.0, -0.5 * length))


def test_a_double_pendulum_has_the_accelerations_of_the_book():
    first, relative, m, length, c, J, g = 0.5, -0.3, 1.0, 0.6, 0.3, 0.02, 9.81
    solver = Assembly(
        {'one': link(), 'two': link()}, {}, {
            'shoulder': Joint(hinge(position=first), Attachment(), Attachment('one')),
            'elbow': Joint(hinge(position=relative), Attachment('one', pose((0.0, 0.0, -length))),
                           Attachment('two'))}, (0.0, 0.0, -g)).solver()
    assert solver.start()
    second = first + relative
    couple = m * length * c * np.cos(first - second)
    M = np.array([[J + m * c ** 2 + m * length ** 2, couple], [couple, J + m * c ** 2]])
    a = np.linalg.solve(M, -g * m * np.array([(c + length) * np.sin(first), c * np.sin(second)]))
    np.testing.assert_allclose(solver.z_tt, [a[0], a[1] - a[0]], rtol=1e-12)


@pytest.mark.parametrize('moments', [
    (1.0, 2.0, 2.5), (2.0, 1.0, 2.5), (2.5, 1.0, 2.0), (1.0, 2.5, 2.0)])
def test_a_body_that_tumbles_keeps_momentum_and_energy(moments):
    """Whatever the order of its moments: principal axes are right-handed."""
    solver = Assembly({'stone': RigidBody(1.0, np.diag(moments), (0.1, 0.0, 0.2))}).solver()
    solver.set_state(solver.z, np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0]))
    assert solver.start()
    momentum, energy = solver.momentum(), sum(solver.energy())
    for _ in range(200):
        assert solver.step(2.5e-3).converged
    np.testing.assert_allclose(solver.momentum(), momentum, atol=2e-3)
    np.testing.assert_allclose(sum(solver.energy()), energy, rtol=2e-3)


def four_bar(crank=0.8, gravity=(0.0, 0.0, 0.0), **drive):
    """Return a planar four-bar with bars 0.2, 0.5, 0.4 on pivots 0.45 apart."""
    bars = {'crank': 0.2, 'coupler': 0.5, 'rocker': 0.4}
    bodies = {name: RigidBody(1.0, np.diag([0.01] * 3), (0.5 * a, 0.0, 0.0))
              for name, a in bars.items()}
    return Assembly(bodies, {}, {
        'A': Joint(hinge(position=-crank, **drive), Attachment(), Attachment('crank')),
        'B': Joint(hinge(position=0.3), Attachment('crank', pose((0.2, 0.0, 0.0))),
                   Attachment('coupler')),
        'D': Joint(hinge(position=-1.5), Attachment('ground', pose((0.45, 0.0, 0.0))),
                   Attachment('rocker')),
        'C': Joint(JointKind('spherical'), Attachment('coupler', pose((0.5, 0.0, 0.0))),
                   Attachment('rocker', pose((0.4, 0.0, 0.0)))),
    }, gravity)


def rocker_angle(crank, a=0.2, b=0.5, c=0.4, d=0.45):
    """Return the rocker's angle of a four-bar, the branch above (Freudenstein)."""
    x, z = d - a * np.cos(crank), -a * np.sin(crank)
    f = np.hypot(x, z)
    inner = np.arccos((f ** 2 + c ** 2 - b ** 2) / (2.0 * f * c))
    return np.pi - inner + np.arctan2(z, x)


def test_a_four_bar_closes_as_its_closed_form_says():
    for crank in (0.3, 0.8, 1.4):
        solver = four_bar(crank, driven=True).solver()
        assert solver.close()
        found = -solver.z[solver.places.coordinates['D'][0]]
        np.testing.assert_allclose(found, rocker_angle(crank), atol=1e-10)


def test_a_four_bar_conserves_its_energy_at_second_order():
    drifts = []
    for dt in (4e-3, 2e-3, 1e-3):
        solver = four_bar(0.8, (0.0, 0.0, -9.81)).solver(SCHEMES['trapezoidal'])
        assert solver.close() and solver.start()
        before = sum(solver.energy())
        for _ in range(round(0.2 / dt)):
            assert solver.step(dt).converged
        drifts.append(abs(sum(solver.energy()) - before))
    assert drifts[0] / drifts[2] > 10.0
    assert drifts[2] < 1e-4


def test_a_planar_loop_in_space_is_held_no_more_than_it_needs():
    """Of the spherical joint, what is across the plane follows from the hinges."""
    solver = four_bar().solver()
    assert len(solver.redundant) == 1
    place = solver.places.reactions['C']
    assert solver.redundant[0] == place.start + 1  # along y


def test_a_joint_between_what_stands_still_holds_nothing():
    """All of it is redundant, and its reactions are of no equation but their own."""
    solver = Assembly({'one': link(), 'two': link(), 'bob': link()}, {}, {
        'A': Joint(JointKind(), Attachment(), Attachment('one')),
        'B': Joint(JointKind(), Attachment(), Attachment('two')),
        'again': Joint(JointKind(), Attachment('one'), Attachment('two')),
        'pivot': Joint(hinge(position=0.5), Attachment('one'), Attachment('bob')),
    }, (0.0, 0.0, -9.81)).solver()
    place = solver.places.reactions['again']
    assert solver.redundant == list(range(place.start, place.stop))
    _, K = solver.jacobian(solver.z, solver.z_t, solver.z_tt, 0.0, 0.0)
    right = 1.0 + np.arange(solver.Z, dtype=float)[:, None]
    np.testing.assert_allclose(K @ solver.solve_columns(right), right, rtol=1e-12)
    assert solver.statics().converged
    np.testing.assert_allclose(solver.z, 0.0, atol=1e-9)


def test_a_planar_loop_that_is_out_of_its_plane_is_refused_by_name():
    bent = four_bar()
    joints = dict(bent.joints)
    joints['C'] = Joint(JointKind('spherical'), Attachment('coupler', pose((0.5, 0.01, 0.0))),
                        Attachment('rocker', pose((0.4, 0.0, 0.0))))
    with pytest.raises(InvalidModel, match='loop through C'):
        Assembly(bent.bodies, {}, joints).solver()


def test_the_example_of_the_page_runs():
    """The coupler bends, and its loop is closed."""
    page = (Path(__file__).parent.parent / 'docs' / 'assemblies.md').read_text()
    names = {}
    exec(re.search(r'```python\n(.*?)```', page, re.S)[1], names)  # noqa: S102
    solver = names['solver']
    assert solver.gap() < 1e-9
    coupler = [i for link in solver.places.rods['coupler'] for i in range(
        solver.tree.links.first[link],
        solver.tree.links.first[link] + solver.tree.links.freedom[link])]
    assert np.abs(solver.z[coupler]).max() > 1e-3


# --- What is wrong -------------------------------------------------------------------------------

def test_a_joint_between_unknown_bodies_is_refused_by_name():
    with pytest.raises(UnknownName, match=r'joints.hinge.child'):
        Assembly({}, {}, {'hinge': Joint(hinge(), Attachment(), Attachment('arm'))})


def test_a_joint_of_an_unknown_kind_is_refused_by_name():
    with pytest.raises(UnknownName, match='kind of joint'):
        JointKind('hinge')


def test_a_coordinate_of_wrong_limits_is_refused():
    with pytest.raises(InvalidModel, match='least'):
        Coordinate(least=1.0, most=0.0)


def test_a_body_that_nothing_holds_has_no_equilibrium_and_says_which():
    solution = Assembly({'stone': RigidBody(1.0, np.eye(3))}, gravity=(0.0, 0.0, -9.81)
                        ).solver().statics()
    assert not solution.converged
    assert 'stone' in solution.message


ROTATED = np.diag([1.0, 1.0, 1.0, 1.0]) + np.array([[0.0, 0.1, 0.0, 0.0]] + [[0.0] * 4] * 3)


@pytest.mark.parametrize('field, make', [
    ('pose', lambda: Attachment('ground', np.diag([2.0, 2.0, 2.0, 1.0]))),
    ('pose', lambda: Attachment('ground', np.diag([1.0, 1.0, -1.0, 1.0]))),
    ('pose', lambda: Attachment('ground', ROTATED)),
    ('pose', lambda: Attachment('ground', np.eye(3))),
    ('pose', lambda: Attachment('ground', pose((0.0, np.nan, 0.0)))),
    ('pose', lambda: RigidBody(1.0, pose='here')),
    ('centre_of_mass', lambda: RigidBody(1.0, centre_of_mass=(0.0, 0.0))),
    ('centre_of_mass', lambda: RigidBody(1.0, centre_of_mass=(0.0, np.nan, 0.0))),
    ('inertia', lambda: RigidBody(0.0, np.eye(3))),
    ('gravity', lambda: Assembly(gravity=(0.0, -9.81))),
    ('gravity', lambda: Assembly(gravity=-9.81)),
    ('axis', lambda: JointKind('revolute', (1e-200, 0.0, 0.0))),
    ('pitch', lambda: JointKind('screw', pitch=np.nan)),
    ('position', lambda: Coordinate(position=1.0, most=0.5)),
    ('position', lambda: Coordinate(position=-1.0, least=0.0, driven=True)),
])
def test_what_makes_no_sense_is_refused_by_its_field(field, make):
    with pytest.raises(InvalidModel, match=field):
        make()
