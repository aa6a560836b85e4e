"""What is claimed of robots with friction and chords, against the laws themselves."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
import pytest
from scipy.linalg import eigh
from test_contact import rod_of, SIDEWAYS

from cosserat_ros.analysis.sensitivity import tangent
from cosserat_ros.analysis.stability import stability
from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.assembly.newton import RUNNING_OUT
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import ContactProperties, Obstacle, Plane
from cosserat_ros.description.parts import Discs, Pose, Tendon
from cosserat_ros.description.robot import load, MountedRod, Robot
from cosserat_ros.description.rod import Material, Segment
from cosserat_ros.description.routing import Parallel
from cosserat_ros.description.section import Circular
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.laws.actuators import LENGTH
from cosserat_ros.laws.chords import ChordLengths, chords_of, Holes
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.simulation.simulator import Load, Simulator

ARM = load(ROOT / 'config' / 'tendon_arm.yaml')


def arm(tendons=1, rubs=0.0, bends=0.0, discs=0, **options):
    """Return the tendon arm: tendons and rod with dry friction, straight in space by discs."""
    rod = ARM.rods['backbone']
    segment = replace(rod.segments[0], damping=replace(
        rod.segments[0].damping, dry_bending=bends))
    options |= {'limits': None, 'coulomb_friction': rubs}
    if discs:
        options |= {'guided_by': 'guides', 'straight_in': 'space'}
    return Simulator(replace(
        ARM, rods={'backbone': replace(rod, segments=(segment,))},
        tendons={name: replace(ARM.tendons[name], **options)
                 for name in list(ARM.tendons)[:tendons]},
        discs={'guides': Discs(radius=0.012, thickness=0.002, count=discs)} if discs else {}))


def without_laws(robot):
    """Return the same robot with neither friction nor chords."""
    return replace(
        robot, tendons={name: replace(tendon, coulomb_friction=0.0, straight_in='section')
                        for name, tendon in robot.tendons.items()},
        rods={name: replace(rod, segments=tuple(replace(segment, damping=replace(
            segment.damping, dry_bending=0.0)) for segment in rod.segments))
            for name, rod in robot.rods.items()})


class Balance:
    """
    The equations of a robot of one rod, written from its laws and what they remember.

    The engine gives what it knows without laws; they are added where they act.
    """

    def __init__(self, sim):
        plain = Simulator(without_laws(sim.robot), sim.model.modes[0])
        plain.commands, plain._reached = dict(sim.commands), dict(sim.commands)
        plain.set_loads(sim.named_loads)
        self.sim, self.plain, self.d = sim, plain.equations(), sim.model.rods[0]
        N = self.d.s.size
        self.rubbing = {name: sim.solver.rubbing(*sim.model.places[name])
                        for name in sim.robot.tendons}
        dry = bool(sim.robot.rods['backbone'].dry_bending(self.d.s).any())
        self.roots = sim.solver.tree.laws.memory[:2 * N].reshape(N, 2).copy() if dry else (
            np.zeros((N, 2)))

    def __call__(self, z, z_t=None, z_tt=None):
        """Return what must be zero at z and its rates, (unknowns,)."""
        solver, still = self.sim.solver, np.zeros(z.size)
        r = self.plain.residual(
            z, still if z_t is None else z_t, still if z_tt is None else z_tt)
        q = z[solver.q_places[0]]
        r[solver.q_places[0]] += self._bending(q)
        for name, tendon in self.sim.robot.tendons.items():
            row = solver.effort_places[self.sim.model.numbers[name]]
            if tendon.coulomb_friction:
                r[solver.q_places[0]] += self._rubbing(name, q, z[row])
            if tendon.straight_in == 'space' and tendon.guided_by:
                self._add_chords(name, q, row, z, r)
        return r

    def _strain(self, q):
        xi = self.d.rest_strain.astype(q.dtype)
        np.add.at(xi.T, self.d.component, (self.d.Phi * q).T)
        return xi

    def _bending(self, q):
        """Return k (u - a), or M where that is more, against each mode."""
        d, law = self.d, self.sim.robot.rods['backbone'].dry_bending(self.d.s)
        bent = (self._strain(q) - d.rest_strain)[:, 3:5] - self.roots
        size = np.maximum(np.linalg.norm(bent, axis=1), 1e-300)
        moment = bent / size[:, None] * np.minimum(law[:, 1] * size, law[:, 0])[:, None]
        stress = np.zeros((d.s.size, 6))
        stress[:, 3:5] = moment
        return np.einsum('k,kc,kc->c', d.w, d.Phi, stress[:, d.component])

    def _rubbing(self, name, q, tension):
        """Return the work of friction on the sliding, whose slope is that by a complex step."""
        d, tendon = self.d, self.sim.robot.tendons[name]
        path, slot = self.sim.solver.paths[0], self.sim.model.places[name].slot
        r, r_s, weight = path.r[slot], path.r_s[slot], path.weight[slot]

        def sliding(q):
            xi = self._strain(q)
            c = xi[:, :3] + np.cross(xi[:, 3:], r) + r_s
            each = weight * np.sqrt(np.sum(c ** 2, axis=1))
            return np.cumsum(each[::-1])[::-1] - 0.5 * each

        angle = weight * np.linalg.norm(self._strain(q)[:, 3:5], axis=1)
        force = self._dry(self.rubbing[name], sliding(q) - sliding(np.zeros(q.size)), angle,
                          max(tension, 0.0), tendon.coulomb_friction, tendon.presliding)
        return np.array([force @ sliding(q + 1e-20j * unit).imag / 1e-20
                         for unit in np.eye(d.component.size)])

    @staticmethod
    def _dry(last, sliding, angle, tension, mu, presliding):
        """Return dry friction at the nodes: a bristle that holds, or slips as a capstan does."""
        force = np.zeros(sliding.size)
        for k in range(force.size):
            limit = mu * angle[k] * tension
            kept = last[1, k] * (limit / last[2, k] if limit < last[2, k] else 1.0)
            force[k] = np.clip(kept + limit * (sliding[k] - last[0, k]) / presliding,
                               np.expm1(-mu * angle[k]) * tension,
                               np.expm1(mu * angle[k]) * tension)
            tension += force[k]
        return force

    def _add_chords(self, name, q, row, z, r):
        """Add what the chords' length and gradient have more than those of the section."""
        robot, model, path = self.sim.robot, self.sim.model, self.sim.solver.paths[0]
        rod, slot = robot.rods['backbone'], model.places[name].slot
        knots = np.concatenate([[0.0], robot.discs['guides'].arc_lengths(rod.length)])
        chords = ChordLengths(chords_of(
            rod, model.modes[0], self.d, {slot: Holes(knots, robot.path(name).at(knots))}))

        def plain(q):
            xi = self._strain(q)
            c = xi[:, :3] + np.cross(xi[:, 3:], path.r[slot]) + path.r_s[slot]
            return path.weight[slot] @ np.sqrt(np.sum(c ** 2, axis=1))

        def more(q):
            lengths, gradients = chords.at(q)
            slope = [plain(q + 1e-20j * unit).imag / 1e-20 for unit in np.eye(q.size)]
            return lengths[slot] - plain(q), gradients[slot] - slope

        r[self.sim.solver.q_places[0]] += z[row] * more(q)[1]
        drives = self.plain.drives
        if drives.kind[slot] == LENGTH and z[row] > 0.0:
            r[row] -= drives.scale[slot] * (more(q)[0] - more(np.zeros(q.size))[0])


def size_of_laws(sim):
    """Return what the strongest tendon does to its rod, or bending friction."""
    pull = np.abs(sim.solver.efforts).max() * 0.01
    return max(pull, sim.robot.rods['backbone'].dry_bending(0.1)[0]) * 0.24


# --- A step that did not settle ------------------------------------------------------------------

WALKS = [  # laws, how tendons are told, and how far they go at once
    ({'rubs': 0.4, 'bends': 2e-3}, 'tension', 5.0),
    ({'bends': 2e-3, 'discs': 4}, 'tension', 5.0),
    ({'rubs': 0.1, 'bends': 2e-3, 'discs': 4}, 'tension', 5.0),
    ({'rubs': 0.1, 'bends': 2e-3, 'compliance': 1e-4}, 'displacement', 0.012),
    ({'tendons': 4, 'rubs': 0.4, 'discs': 4}, 'tension', 5.0),
    ({'tendons': 4, 'discs': 4}, 'tension', 5.0),
    ({'tendons': 4, 'bends': 2e-3, 'compliance': 1e-4}, 'displacement', 0.01),
]


@pytest.mark.parametrize(('laws', 'command', 'far'), WALKS)
@pytest.mark.parametrize('dt', [None, 0.02], ids=['statics', 'steps'])
def test_what_has_converged_follows_the_laws_and_what_has_not_changes_nothing(
        laws, command, far, dt):
    sim, random = arm(**laws, command=command), np.random.default_rng(0)
    sim.solver.scheme, checked = SCHEMES['bdf2'], 0
    for _ in range(8):
        sim.command(**{name: random.uniform(0.0, far) for name in sim.robot.tendons})
        before, balance = sim.snapshot(), Balance(sim)
        solution = sim.statics() if dt is None else sim.step(dt)
        after = sim.snapshot()
        if solution.converged:
            rates = (None, None) if dt is None else (sim.solver.z_t, sim.solver.z_tt)
            assert 0.0 < solution.gap < 1e-6
            if dt is None or solution.parts == 1:  # else memory is that of the last part
                off = np.abs(balance(sim.solver.z, *rates)[sim.solver.moves]).max()
                assert off < 1e-3 * size_of_laws(sim), (off, solution)
                checked += 1
            continue
        assert solution.message and solution.gap > 1e-6
        for now, then in zip(after.solver[0], before.solver[0]):  # what is remembered too
            np.testing.assert_array_equal(now, then)
        assert after.time == before.time and after.reached == before.reached
    assert checked > 3


# --- The tangent of all laws ---------------------------------------------------------------------

LAWS = [
    ({'rubs': 0.3}, 'tension'),
    ({'bends': 2e-3}, 'tension'),
    ({'discs': 4}, 'tension'),
    ({'rubs': 0.3, 'compliance': 1e-4}, 'displacement'),
    ({'discs': 3, 'compliance': 1e-4}, 'displacement'),
    ({'rubs': 0.2, 'bends': 1e-3, 'discs': 4, 'compliance': 1e-4}, 'displacement'),
]


def pulled(laws, command):
    """
    Return an arm that is pulled, and its balance.

    It remembers what it did before it went there, so that bristles slip, and none is at its limit.
    """
    sim = arm(tendons=2, **laws, command=command)
    told = (2.0, 1.0) if command == 'tension' else (8e-3, 5e-3)
    sim.command(tendon_1=told[0], tendon_2=told[1])
    memory, balance = sim.solver.tree.laws.memory.copy(), Balance(sim)
    assert sim.statics().converged
    sim.solver.tree.laws.memory[:] = memory
    return sim, balance


def differences(balance, z, h=1e-4):
    """Return the derivative of the equations at z by differences of order 6."""
    size = np.maximum(1.0, np.abs(z))
    return np.array([sum(c * (balance(z + k * h * s * unit) - balance(z - k * h * s * unit))
                         for k, c in ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0))) / (h * s)
                     for s, unit in zip(size, np.eye(z.size))]).T


@pytest.mark.parametrize(('laws', 'command'), LAWS)
def test_the_tangent_is_the_derivative_of_all_laws(laws, command):
    sim, balance = pulled(laws, command)
    expected, found = differences(balance, sim.solver.z), tangent(sim)
    scale = np.sqrt(np.outer(*[np.abs(expected).max(axis=axis) for axis in (1, 0)]))
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0.0, atol=1e-8)


# --- Stability -----------------------------------------------------------------------------------

EI, LENGTH_OF_ARM = ARM.rods['backbone'].stiffness(0.0)[4], ARM.rods['backbone'].length
CRITICAL = np.pi ** 2 * EI / (4.0 * LENGTH_OF_ARM ** 2)  # of the bare rod, standing [N]


def weightless(sim):
    return Simulator(replace(sim.robot, gravity=(0.0, 0.0, 0.0)))


def test_bristles_that_stick_hold_a_column_and_are_no_part_of_its_own_stiffness():
    """Bending by EI + k, of which EI is the measure: margin = 1 + k / EI - P / P_critical."""
    sim = weightless(arm(bends=2e-3))
    held = 2e-3 / sim.robot.rods['backbone'].segments[0].damping.presliding / EI
    assert held > 1.0
    for part in (held + 0.2, held + 0.9, held + 1.1):
        sim.set_wrench([0.0, 0.0, -part * CRITICAL, 0.0, 0.0, 0.0])
        assert sim.statics().converged
        found = stability(sim)
        np.testing.assert_allclose(found.margin, 1.0 + held - part, atol=2e-3)
        assert found.stable == (part < 1.0 + held)


@pytest.mark.parametrize(('laws', 'modes', 'force'), [
    ({'discs': 3}, StrainModes(0, 0, 0, 0, 6, 0), (-0.2, 0.0, 0.0)),  # held by its tendon alone
    ({'discs': 4, 'bends': 1e-3}, None, (0.0, 0.0, -0.5 * CRITICAL)),
])
def test_the_margin_of_an_arm_on_chords_is_that_of_differences(laws, modes, force):
    """Held by a displacement and pushed: efforts removed, over the rod and its tendons alone."""
    sim = Simulator(arm(**laws, command='displacement', compliance=1e-4).robot, modes)
    sim.command(tendon_1=0.012)
    assert sim.statics().converged
    sim.set_wrench([*force, 0.0, 0.0, 0.0])
    memory, balance = sim.solver.tree.laws.memory.copy(), Balance(sim)
    assert sim.statics().converged and sim.solver.efforts[0] > 0.0
    sim.solver.tree.laws.memory[:] = memory
    K, moves = differences(balance, sim.solver.z), sim.solver.moves
    bare = np.zeros_like(K)
    bare[np.ix_(moves, moves)] = sim.model.rods[0].elastic
    bare[~moves], bare[:, ~moves] = K[~moves], K[:, ~moves]

    def without_efforts(K):
        K = K[np.ix_(moves, moves)] - K[np.ix_(moves, ~moves)] @ np.linalg.solve(
            K[np.ix_(~moves, ~moves)], K[np.ix_(~moves, moves)])
        return 0.5 * (K + K.T)

    margin = eigh(without_efforts(K), without_efforts(bare), eigvals_only=True)[0]
    assert margin < 0.9
    np.testing.assert_allclose(stability(sim).margin, margin, atol=1e-4)


def bent_and_pressed(part):
    """
    Return an arm bent by its tendon and pressed by this part of what the bare rod bears.

    It is led there by displacement, where it stands, and then kept by the tension alone.
    """
    sim = weightless(arm(bends=1e-3, command='tension', compliance=1e-4))
    sim.set_wrench([0.0, 0.0, -part * CRITICAL, 0.0, 0.0, 0.0])
    sim.command(tendon_1=1e-3)
    assert sim.statics({'tendon_1': 'displacement'}).converged
    assert sim.actuators()['tendon_1'].effort > 0.0
    return sim


def moves_on(sim, push):
    """Return how far the tip is after 1 s, pushed a little along x for the first 0.1 s [m]."""
    start, loads = sim.tip_pose()[0, 3], sim.named_loads
    for k in range(100):
        sim.set_loads(loads)
        if k < 10:
            sim.set_loads({**loads, 'push': Load(np.array([push, 0.0, 0.0, 0.0, 0.0, 0.0]))})
        if not sim.step(0.01).converged:
            break
    return sim.tip_pose()[0, 3] - start


@pytest.mark.parametrize('part', [0.5, 1.3])
def test_an_arm_that_is_called_stable_stays_and_one_that_is_not_leaves(part):
    """Its bristles are at their limit: they do not hold it where it goes on."""
    sim = bent_and_pressed(part)
    claimed = stability(sim)
    moved = moves_on(sim, 1e-4 * np.sign(sim.tip_pose()[0, 3]))
    assert claimed.stable == (part < 1.0)
    assert (abs(moved) < 1e-3) == claimed.stable, (moved, claimed)


# --- Inverse statics -----------------------------------------------------------------------------

def with_a_past(name):
    """Return a robot with laws that has been somewhere, and what its tendons are told at most."""
    if name == 'calibrated':
        sim, far = Simulator(load(
            ROOT / 'examples' / 'three_segment_arm' / 'calibrated.yaml')), 0.003
    else:
        laws, command, far = {
            'rubs': ({'rubs': 0.2}, 'tension', 3.0),
            'discs': ({'discs': 4}, 'tension', 3.0),
            'held by discs': ({'discs': 4, 'compliance': 1e-4}, 'displacement', 0.006),
            'rubs and bends': ({'rubs': 0.1, 'bends': 1e-3}, 'tension', 3.0)}[name]
        sim = arm(tendons=2, **laws, command=command)
    assert sim.statics().converged
    sim.command(**dict.fromkeys(list(sim.robot.tendons)[:2], 0.5 * far))
    assert sim.statics().converged
    return sim, far


@pytest.mark.parametrize(
    'name', ['calibrated', 'rubs', 'discs', 'held by discs', 'rubs and bends'])
def test_inverse_statics_claims_what_statics_finds_with_its_commands(name):
    sim, far = with_a_past(name)
    inverse, random, met = InverseStatics(sim), np.random.default_rng(1), 0
    state = sim.snapshot()
    for i in range(8):
        other = Simulator(sim.robot)
        other.go_to(state)
        pulled = random.permutation(list(sim.robot.tendons))[:2]
        other.command(**{tendon: random.uniform(0.0, far) for tendon in pulled})
        assert other.statics().converged
        target = other.tip_pose()[:3, 3]
        result = inverse.solve([Target(target)], start=('rest', 'present', 'last')[i % 3])
        again = Simulator(sim.robot)
        again.go_to(state)
        again.command(**result.commands)
        if not again.statics().converged:
            assert not (result.met or result.converged)
            continue
        away = np.linalg.norm(again.tip_pose()[:3, 3] - target)
        np.testing.assert_allclose(result.position_errors[0], away, rtol=0.0, atol=1e-9)
        assert not result.met or (away < 1e-6 and stability(again).stable)
        assert result.met or result.message
        met += result.met
        now = sim.snapshot()
        assert now.commands == state.commands
        for part, then in zip(now.solver[0], state.solver[0]):
            np.testing.assert_array_equal(part, then)
    assert met >= 7


def before_a_wall():
    """Return an arm before a wall that rubs, which it can reach."""
    nitinol, sides = Material(70e9, 6450.0, poisson_ratio=0.35), ((1, 0), (-1, 0), (0, 1), (0, -1))
    return Simulator(Robot(
        'arm', {'backbone': MountedRod((Segment(0.3, Circular(0.002), nitinol),),
                                       contact=ContactProperties(stiffness=3e5))},
        tendons={f't{i}': Tendon(routing=Parallel((0.01 * x, 0.01 * y)))
                 for i, (x, y) in enumerate(sides)},
        obstacles={'wall': Obstacle(Plane(), Pose((0.014, 0.0, 0.0), (0.0, -np.pi / 2.0, 0.0)),
                                    friction=0.3)}))


@pytest.mark.parametrize('past', ['never moved', 'touched before', 'put elsewhere'])
@pytest.mark.parametrize('start', ['rest', 'present'])
def test_inverse_statics_claims_what_friction_of_contacts_does(past, start):
    """Where contacts remember nothing of the present state, they begin there as statics does."""
    sim = before_a_wall()
    if past != 'never moved':
        sim.command(t0=24.0)
        assert sim.statics().converged and sim.solver.contacts()
        z = sim.solver.z.copy()
        sim.command(t0=5.0, t3=10.0)
        for _ in range(100):
            assert sim.step(0.01).converged
        assert not sim.solver.contacts() and not sim.solver.holds_anchors
    if past == 'put elsewhere':
        sim.solver.set_state(0.5 * z)
        assert not sim.solver.holds_anchors
    inverse, state, met = InverseStatics(sim), sim.snapshot(), 0
    for pulls in ((24.0, 8.0), (26.0, 20.0), (25.0, 12.0), (30.0, 5.0)):
        other, again = before_a_wall(), before_a_wall()
        other.go_to(state)
        other.command(t0=pulls[0], t2=pulls[1], t1=0.0, t3=0.0)
        if not other.statics().converged:
            continue
        assert other.solver.contacts()
        target = other.tip_pose()[:3, 3]
        result = inverse.solve([Target(target)], start=start)
        again.go_to(state)
        again.command(**result.commands)
        assert again.statics().converged
        away = np.linalg.norm(again.tip_pose()[:3, 3] - target)
        np.testing.assert_allclose(result.position_errors[0], away, rtol=0.0, atol=1e-9)
        assert not result.met or away < 1e-6
        assert not (result.proven and again.solver.contacts())
        met += result.met
        now = sim.snapshot()
        np.testing.assert_array_equal(now.solver[0][0], state.solver[0][0])
    assert met >= 3


def test_the_gap_is_told_where_an_arm_touches():
    sim = before_a_wall()
    sim.command(t0=24.0)
    for solution, most in ((sim.statics(), 1e-7), (sim.step(1e-3), 1e-6)):
        assert sim.solver.contacts()
        assert solution.converged and 0.0 < solution.gap < most, solution


def test_each_way_of_statics_begins_with_the_anchors_of_the_state(monkeypatch):
    """What a way that failed has committed is of no way that follows."""
    ends, begun = [], []
    for fails_late in (False, True):
        sim = before_a_wall()
        sim.command(t0=24.0)
        assert sim.statics().converged and sim.solver.contacts()
        sim.command(t0=28.0, t2=5.0)
        solver, ways = sim.solver, []
        balance, continues = solver._balance, solver._continue

        def at_first(z, balance=balance, ways=ways):
            ending = balance(z)
            return ending if ways else ending._replace(status=RUNNING_OUT)

        def way(*told, continues=continues, solver=solver, ways=ways, fails_late=fails_late):
            ways.append([part.copy() for part in solver.tree.contacts.memory])
            if len(ways) > 1:
                return continues(*told)
            ending, solution = continues(*told) if fails_late else (
                solver._balance(told[0]), solver._solution(solver._balance(told[0]), 1, 1))
            return ending, solution._replace(converged=False)

        monkeypatch.setattr(solver, '_balance', at_first)
        monkeypatch.setattr(solver, '_continue', way)
        assert sim.statics().converged and len(ways) == 2
        begun += ways
        ends.append(solver.z.copy())
    for memory in begun[1:]:
        for part, first in zip(memory, begun[0]):
            np.testing.assert_array_equal(part, first)
    np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-9)


def test_statics_stop_a_base_that_turned_whichever_way_they_go(monkeypatch):
    """Also where the last resort are steps in time: a base at rest throws nothing outwards."""
    ends = []
    for relaxes in (False, True):
        rod = RodPart(rod_of(), StrainModes(0, 0, 1, 3, 3, 0), Attachment(
            'table', pose(R=SIDEWAYS)), contact=ContactProperties(stiffness=1e5))
        solver = Assembly(
            {'table': RigidBody(driven=True)}, {'rod': rod}, gravity=(0.0, 0.0, -1.0),
            obstacles={'floor': Obstacle(Plane(), Pose((0.0, 0.0, -0.02)))}).solver()
        link = solver.places.bodies['table'].link
        solver.tree.roots.Om[link] = [0.0, 0.0, 20.0]
        if relaxes:
            failed, balance = [], solver._balance

            def at_first(z, balance=balance, failed=failed):
                failed.append(z)
                ending = balance(z)
                return ending._replace(status=RUNNING_OUT) if len(failed) == 1 else ending

            monkeypatch.setattr(solver, '_balance', at_first)
            monkeypatch.setattr(solver, '_continue', lambda *told, solver=solver: (
                None, solver.step(1e-3)._replace(converged=False)))
        solution = solver.statics()
        assert solution.converged and (solution.parts > 1) == relaxes
        assert not solver.tree.roots.Om[link].any() and solver.contacts()
        ends.append(solver.z.copy())
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.0, atol=1e-8 * np.abs(ends[0]).max())


def test_inverse_statics_out_of_reach_tells_how_far():
    sim, _ = with_a_past('calibrated')
    target = np.array([0.0, 0.1, 0.3])
    result = InverseStatics(sim).solve([Target(target)])
    assert not result.met and 'reach' in result.message
    sim.command(**result.commands)
    assert sim.statics().converged
    away = np.linalg.norm(sim.tip_pose()[:3, 3] - target)
    np.testing.assert_allclose(result.position_errors[0], away, atol=1e-6)
