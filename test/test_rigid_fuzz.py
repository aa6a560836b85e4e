"""Random rigid graphs, absurd masses, nearly singular loops: a status and a reason, never NaN."""

from assemblies import MODES, random_kind, random_pose, soft_rod
from conftest import FUZZ
import numpy as np
import pytest

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint import FREELY
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.assembly.tree import JOINT
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import exp_so3

MASSES = (0.0, 1e-9, 1e-3, 1.0, 1e6)
MOST_PARTS = 2048  # a step is halved ten times at most


def absurd_body(rng):
    """Return a body of any mass; if it has one, with an inertia like that of any other."""
    mass, other = rng.choice(MASSES, 2)
    inertia = 1e-2 * other * (mass > 0.0) * rng.choice([0.0, 1.0], 3, p=[0.2, 0.8])
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
        if tree.links.kind[link] != JOINT:
            continue
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
        for outcome in (solver.close(), solver.start()):
            assert np.isfinite(solver.z).all()
            assert bool(outcome) == (outcome.message == '')
            assert outcome or any(name and name in outcome.message for name in solver.names)
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


def near_dead_centre(rng, offset, elastic=False):
    """Return a four-bar within `offset` of where its bars are in line, of any masses."""
    crank, coupler = rng.uniform(0.1, 0.5, 2)
    rocker = rng.choice([crank, rng.uniform(0.3, 0.6)])
    base = crank + coupler + rocker if rng.random() < 0.3 else crank + coupler - rocker
    if rng.random() < 0.5:
        rocker, base = crank, coupler  # a parallelogram, folded flat
    kind = str(rng.choice(['spherical', 'revolute', 'universal']))

    def turning(angle=0.0):
        return JointKind('revolute', (0.0, 1.0, 0.0), coordinates=[Coordinate(position=angle)])

    def bar(length):
        mass = float(rng.choice(MASSES))
        return RigidBody(mass, 0.01 * (mass > 0.0) * np.eye(3), (0.5 * length, 0.0, 0.0))

    bodies = {'crank': bar(crank), 'rocker': bar(rocker)}
    joints = {
        'A': Joint(turning(offset), Attachment(), Attachment('crank')),
        'D': Joint(turning(offset), Attachment('ground', pose((base, 0.0, 0.0))),
                   Attachment('rocker'))}
    on_crank = Attachment('crank', pose((crank, 0.0, 0.0)))
    on_rocker = Attachment('rocker', pose((rocker, 0.0, 0.0)))
    last = JointKind(kind, (0.0, 1.0, 0.0))
    if elastic:
        along_x = pose((crank, 0.0, 0.0), exp_so3(np.array([0.0, np.pi / 2.0, 0.0])))
        young = float(rng.choice([1e5, 1e7, 1e11]))
        return Assembly(bodies, {'coupler': RodPart(
            soft_rod(coupler, young=young), MODES, Attachment('crank', along_x), on_rocker,
            turning(-offset), last)}, joints, (0.0, 0.0, -9.81))
    return Assembly({**bodies, 'coupler': bar(coupler)}, {}, {
        **joints, 'B': Joint(turning(-offset), on_crank, Attachment('coupler')),
        'C': Joint(last, Attachment('coupler', pose((coupler, 0.0, 0.0))), on_rocker),
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


# --- Why not -------------------------------------------------------------------------------------

def slider(reach):
    """Return a crank of 0.2 m that is told its angle; its rod of length `reach` leads a slide."""
    def hinge(**options):
        return JointKind('revolute', (0.0, 1.0, 0.0), coordinates=[
            Coordinate(**options)])

    bar = RigidBody(0.1, 1e-3 * np.eye(3))
    return Assembly({'crank': bar, 'rod': bar, 'block': bar}, {}, {
        'A': Joint(hinge(driven=True), Attachment(), Attachment('crank')),
        'B': Joint(hinge(), Attachment('crank', pose((0.2, 0.0, 0.0))), Attachment('rod')),
        'slide': Joint(JointKind('prismatic', (1.0, 0.0, 0.0), coordinates=[
            Coordinate(position=0.2 + reach)]), Attachment(), Attachment('block')),
        'C': Joint(JointKind('spherical'), Attachment('rod', pose((reach, 0.0, 0.0))),
                   Attachment('block'))}).solver()


def test_a_loop_that_cannot_be_closed_is_named():
    """Its crank is told to go where the rod does not reach the slide."""
    solver = slider(0.1)
    assert solver.close() and solver.start()
    crank = solver.places.coordinates['A'][0]
    solver.tree.coordinates.command[crank] = 0.5 * np.pi
    outcome = solver.close()
    assert not outcome
    assert 'open by' in outcome.message and 'C' in outcome.message
    assert np.isfinite(solver.z).all()
    started = solver.start()
    assert not started and started.message == outcome.message


def test_what_has_no_inertia_is_named():
    bar = RigidBody(0.1, 1e-3 * np.eye(3))
    solver = Assembly({'arm': bar, 'vane': RigidBody()}, {}, {
        'shoulder': Joint(JointKind('revolute'), Attachment(), Attachment('arm')),
        'spindle': Joint(JointKind('revolute'), Attachment('arm'), Attachment('vane'))}).solver()
    outcome = solver.start()
    assert not outcome
    assert 'spindle' in outcome.message and 'shoulder' not in outcome.message
