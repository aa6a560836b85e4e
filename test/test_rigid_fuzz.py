"""Random rigid graphs, absurd masses, nearly singular loops: a status and a reason, never NaN."""

from assemblies import random_kind, random_pose
from conftest import FUZZ
import numpy as np
import pytest

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody
from cosserat_ros.assembly.joint import FREELY
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.numerics.integrators import SCHEMES

MASSES = (0.0, 1e-9, 1e-3, 1.0, 1e6)
MOST_PARTS = 2048  # a step is halved ten times at most


def absurd_body(rng):
    """Return a body of any mass, its inertia like that of any other mass."""
    mass, other = rng.choice(MASSES, 2)
    inertia = 1e-2 * other * rng.choice([0.0, 1.0], 3, p=[0.2, 0.8])
    return RigidBody(float(mass), np.diag(inertia), rng.choice([0.0, 0.1, 10.0]) * rng.normal(
        size=3), random_pose(rng), bool(rng.random() < 0.1))


def random_graph(rng):
    """Return bodies, each on any other or afloat, with some more joints that close loops."""
    names = [f'body_{i}' for i in range(rng.integers(1, 9))]
    bodies = {name: absurd_body(rng) for name in names}
    joints = {}
    for i, name in enumerate(names):
        if not bodies[name].driven and rng.random() < 0.9:
            joints[f'joint_{i}'] = Joint(
                random_kind(rng, sprung=bool(rng.random() < 0.5)),
                Attachment(str(rng.choice(['ground', *names[:i]])), random_pose(rng)),
                Attachment(name, random_pose(rng)))
    for i in range(rng.integers(0, 4) if len(names) > 1 else 0):
        a, b = rng.choice(['ground', *names], 2, replace=False)
        joints[f'loop_{i}'] = Joint(
            random_kind(rng, sprung=bool(rng.random() < 0.3)),
            Attachment(str(a), random_pose(rng)), Attachment(str(b), random_pose(rng)))
    return Assembly(bodies, {}, joints, rng.choice([0.0, 9.81, 1e3]) * rng.normal(size=3))


def limit(rng, solver):
    """Give some coordinates of hinges and slides limits about where they are."""
    tree, c = solver.tree, solver.tree.coordinates
    for link in range(tree.links.kind.size):
        first, n, item = (int(a[link]) for a in (
            tree.links.first, tree.links.freedom, tree.links.item))
        turns = n and tree.joints.turns[item] == FREELY
        for k in range(first, first + n - (3 if turns else 0)):
            if rng.random() < 0.3:
                c.least[k] = solver.z[k] - rng.choice([0.0, 1e-3, 0.5])
                c.most[k] = solver.z[k] + rng.choice([1e-3, 0.5])


def check(solver, solution, before):
    """A solve ended well, or says why not and changed nothing; all is finite."""
    for name in ('z', 'z_t', 'z_tt'):
        assert np.isfinite(getattr(solver, name)).all(), name
    assert np.isfinite(solution.z).all()
    assert 1 <= solution.parts <= MOST_PARTS
    assert solution.converged == (solution.message == '')
    if not solution.converged:
        np.testing.assert_array_equal(solver.z, before)


def exercise(rng, solver):
    """Let a solver do all it can."""
    for scheme_step in range(2):
        if scheme_step == 0:
            before = solver.z.copy()
            check(solver, solver.statics(), before)
        solver.close()
        assert np.isfinite(solver.z).all()
        started = solver.start()
        assert isinstance(started, bool)
        for _ in range(3):
            before = solver.z.copy()
            solution = solver.step(float(10.0 ** rng.uniform(-5.0, 0.0)))
            check(solver, solution, before)
        kinetic, potential = solver.energy().kinetic, solver.energy().potential
        assert np.isfinite([kinetic, potential]).all() and kinetic >= 0.0
        assert np.isfinite(solver.momentum()).all()
        solver.set_state(solver.z, np.where(solver.moves, rng.normal(size=solver.Z), 0.0))


@pytest.mark.timeout(300)  # a hang is a failure; each takes less than a second
@pytest.mark.parametrize('seed', range(40 * FUZZ))
def test_fuzz_any_graph_has_a_status_and_a_reason(seed):
    rng = np.random.default_rng(seed)
    try:
        solver = random_graph(rng).solver(SCHEMES[str(rng.choice(sorted(SCHEMES)))])
    except InvalidModel as error:
        assert 'loop' in str(error)
        return
    limit(rng, solver)
    exercise(rng, solver)


def near_dead_centre(rng, offset):
    """Return a four-bar within `offset` of where its bars are in line, of any masses."""
    crank, coupler = rng.uniform(0.1, 0.5, 2)
    rocker = rng.choice([crank, rng.uniform(0.3, 0.6)])
    base = crank + coupler + rocker if rng.random() < 0.3 else crank + coupler - rocker
    if rng.random() < 0.5:
        rocker, base = crank, coupler  # a parallelogram, folded flat
    kind = str(rng.choice(['spherical', 'revolute', 'universal']))

    def turning(angle=0.0):
        return JointKind('revolute', (0.0, 1.0, 0.0), coordinates=[Coordinate(position=angle)])

    bodies = {name: RigidBody(float(rng.choice(MASSES)), 0.01 * np.eye(3), (0.5 * a, 0.0, 0.0))
              for name, a in (('crank', crank), ('coupler', coupler), ('rocker', rocker))}
    return Assembly(bodies, {}, {
        'A': Joint(turning(offset), Attachment(), Attachment('crank')),
        'B': Joint(turning(-offset), Attachment('crank', pose((crank, 0.0, 0.0))),
                   Attachment('coupler')),
        'D': Joint(turning(offset), Attachment('ground', pose((base, 0.0, 0.0))),
                   Attachment('rocker')),
        'C': Joint(JointKind(kind, (0.0, 1.0, 0.0)),
                   Attachment('coupler', pose((coupler, 0.0, 0.0))),
                   Attachment('rocker', pose((rocker, 0.0, 0.0)))),
    }, (0.0, 0.0, -9.81))


@pytest.mark.timeout(300)
@pytest.mark.parametrize('seed', range(20 * FUZZ))
def test_fuzz_a_loop_near_its_dead_centre_has_a_status_and_a_reason(seed):
    rng = np.random.default_rng(1000 + seed)
    try:
        solver = near_dead_centre(
            rng, float(rng.choice([0.0, 1e-14, 1e-9, 1e-6, 1e-3]))).solver()
    except InvalidModel as error:
        assert 'loop' in str(error)
        return
    exercise(rng, solver)
