"""Contact with friction, tendons that rub, chords and plastic bending in one robot: tangents."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_contact import differences

from cosserat_ros.analysis.linearize import linearize, slopes
from cosserat_ros.analysis.sensitivity import command_columns
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import Capsule, ContactProperties, Obstacle
from cosserat_ros.description.parts import Discs, Drag, Pose
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator

ARM = load(ROOT / 'config' / 'tendon_arm.yaml')
MODES = StrainModes(1, 1, 1, 3, 3, 2, elements=2)
ACROSS = np.pi / 2.0


def arm(friction, command='tension'):
    """Return an arm with all laws that have kinks, squeezed by posts at two heights."""
    rod = ARM.rods['backbone']
    segment = replace(rod.segments[0], damping=replace(rod.segments[0].damping, dry_bending=1e-3))
    options = {'limits': None, 'coulomb_friction': 0.2, 'guided_by': 'guides',
               'straight_in': 'space', 'command': command}
    if command == 'displacement':
        options['compliance'] = 1e-4
    posts = {f'post_{height}_{k}': Obstacle(Capsule(0.004, 0.03), Pose(
        (0.01597 * np.cos(angle), 0.01597 * np.sin(angle), height), (ACROSS, 0.0, angle)),
        friction=friction) for height in (0.03, 0.11) for k, angle in enumerate(
            np.arange(4) * ACROSS)}
    touching = ContactProperties(stiffness=1e6, radius=0.012, damping=2.0)
    return Simulator(replace(
        ARM, rods={'backbone': replace(rod, segments=(segment,), contact=touching, drag=Drag())},
        tendons={name: replace(ARM.tendons[name], **options)
                 for name in ('tendon_1', 'tendon_2')},
        discs={'guides': Discs(radius=0.012, thickness=0.002, count=4)}, obstacles=posts), MODES)


def told(sim, part):
    """Command a part of what the tests pull."""
    most = (3.0, 2.0) if sim.robot.tendons['tendon_1'].command == 'tension' else (8e-3, 5e-3)
    sim.command(tendon_1=part * most[0], tendon_2=part * most[1])
    return sim


def remembered(solver):
    """Return all that laws and contacts remember."""
    return [solver.tree.laws.memory.copy(), *(a.copy() for a in solver.tree.contacts.memory)]


def put_back(solver, memory):
    for mine, given in zip((solver.tree.laws.memory, *solver.tree.contacts.memory), memory):
        mine[:] = given


def regimes(solver):
    """Return who sticks, slips and touches, as of the last sweep."""
    return np.concatenate([solver.work.regime, solver.work.touch.regime]).tolist()


def on_the_way(friction, command='tension', more=1.3):
    """Return an arm on its way from one equilibrium to another, with the memory of the first."""
    sim = told(arm(friction, command), 1.0)
    assert sim.statics().converged
    memory = remembered(sim.solver)
    assert told(sim, more).statics().converged
    put_back(sim.solver, memory)
    return sim


def assert_close(found, expected, atol=1e-7):
    """Compare entries with the largest of their rows and columns."""
    scale = np.sqrt(np.outer(*[np.abs(expected).max(axis=axis) for axis in (1, 0)]))
    scale = np.maximum(scale, 1e-12 * scale.max())  # of columns that are 0
    assert_allclose(found / scale, expected / scale, rtol=0.0, atol=atol)


@pytest.mark.parametrize('command', ['tension', 'displacement'])
@pytest.mark.parametrize('friction', [0.02, 1.0])
@pytest.mark.parametrize('moving', [False, True], ids=['statics', 'dynamics'])
def test_the_tangent_of_contact_and_all_laws_is_exact(moving, friction, command):
    """Away from kinks, by differences of order 6: all stick and slip as they do in between."""
    sim = on_the_way(friction, command)
    solver, rng = sim.equations(), np.random.default_rng(1)
    memory = remembered(solver)
    rates = [scale * np.where(solver.moves, rng.normal(size=solver.Z), 0.0)
             for scale in ((0.02, 0.1) if moving else (0.0, 0.0))]
    solver.set_state(solver.z.copy(), *rates)
    put_back(solver, memory)
    sliding = {c.sliding for c in solver.contacts()}
    assert (friction < 0.5) in sliding
    cV, cA = (30.0, 900.0) if moving else (0.0, 0.0)
    K = solver.jacobian(solver.z, solver.z_t, solver.z_tt, cV, cA)[1]
    here = regimes(solver)
    assert len(set(here[:solver.work.regime.size])) > 1  # of tendons and bending: some slip
    assert_close(K, differences(solver, cV, cA, 1e-6))
    columns = rng.normal(size=(solver.Z, 2))
    assert_allclose(K @ solver.solve_columns(columns), columns, atol=1e-6)


@pytest.mark.parametrize('command', ['tension', 'displacement'])
@pytest.mark.parametrize('friction', [0.02, 1.0])
def test_the_parts_of_a_linear_model_are_exact(friction, command):
    """Stiffness, damping and mass, and how the equations change with commands."""
    sim = on_the_way(friction, command)
    solver = sim.equations()
    z, still = solver.z.copy(), np.zeros(solver.Z)
    parts = slopes(solver, z, still, still)
    assert_close(parts.stiffness, differences(solver, 0.0, 0.0, 1e-6))

    def derivative(of, h):
        return np.array([sum(c * (of(k * h * e) - of(-k * h * e)) for k, c in (
            (1, 0.75), (2, -0.15), (3, 1.0 / 60.0))) / h
            for e in np.diag(solver.moves.astype(float))]).T

    assert_close(parts.mass, derivative(lambda e: solver.residual(z, still, e), 1.0))
    assert_close(parts.damping, derivative(lambda e: solver.residual(z, e, still), 1e-3))
    columns, told_now = command_columns(sim), dict(sim.commands)
    for j, (name, value) in enumerate(told_now.items()):
        def r(k, name=name, value=value):
            with sim.trying(**{name: value * (1.0 + 1e-3 * k)}) as trying:
                trying.drive(sim.model.drives({**told_now, name: value * (1.0 + 1e-3 * k)}))
                return trying.residual(z, still, still)
        by = (0.75 * (r(1) - r(-1)) - 0.15 * (r(2) - r(-2)) + (r(3) - r(-3)) / 60.0) / (
            1e-3 * value)
        assert_allclose(columns[:, j], by, atol=1e-7 * np.abs(by).max())


@pytest.mark.parametrize('command', ['tension', 'displacement'])
@pytest.mark.parametrize('friction', [0.02, 1.0])
def test_linear_models_are_the_slopes_of_statics_where_all_sticks(friction, command):
    """
    Of what commands and a force at the tip do, after a small way back.

    An equilibrium is on a kink: contacts may be at their limit, and bristles of tendons let go of
    a part of what they hold if the pressure falls, and of none if it grows. With higher limits,
    all is off these, and forces are as they were.
    """
    sim = told(arm(friction, command), 1.3)
    sim.solver.tolerance = 1e-13
    assert sim.statics().converged
    assert told(sim, 1.29).statics().converged
    solver = sim.solver
    for limit in (solver.tree.contacts.friction, solver.tree.laws.frictions.dry,
                  solver.tree.laws.limit):
        limit[:] *= 1.5
    before, commands = sim.snapshot(), dict(sim.commands)
    model, found = linearize(sim), set()

    def tip(force=(0.0, 0.0, 0.0), **given):
        sim.go_to(before)
        sim.set_wrench([*force, 0.0, 0.0, 0.0])
        sim.command(**{**commands, **given})
        assert sim.statics().converged
        found.add(tuple(regimes(solver)))
        return sim.tip_pose()[:3, 3].copy()

    def slope(of, h):
        return (0.75 * (of(h) - of(-h)) - 0.15 * (of(2 * h) - of(-2 * h))
                + (of(3 * h) - of(-3 * h)) / 60.0) / h

    for j, (name, value) in enumerate(commands.items()):
        by = slope(lambda d, name=name, value=value: tip(**{name: value + d}), 1e-5 * value)
        assert_allclose(model.jacobian[:3, j], by, atol=1e-6 * np.abs(by).max())
    for axis in np.eye(6)[:3]:
        by = slope(lambda f, axis=axis: tip(f * axis[:3]), 1e-5)
        assert_allclose(model.compliance[:3] @ axis, by, atol=1e-6 * np.abs(by).max())
    assert len(found) == 1  # no kinks in between
