"""Impacts of balls, bodies and rods on all shapes: what contact gives back, it had stored."""

from conftest import FUZZ
from hypothesis import given, HealthCheck, settings, strategies as st
import numpy as np
import pytest

from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.assembly.state import follow_twist
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import (
    Box,
    Capsule,
    ContactProperties,
    Cylinder,
    Obstacle,
    Plane,
    Sphere,
    Tube,
)
from cosserat_ros.description.parts import ContactSpheres, Pose
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import exp_so3

SIDEWAYS = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # z of a rod along x
MASS, RADIUS = 0.05, 0.02  # of what is thrown
# Shape, and the height of its surface above the origin.
SHAPES = {
    'plane': (Plane(), 0.0), 'sphere': (Sphere(0.1), 0.1), 'capsule': (Capsule(0.06, 0.2), 0.06),
    'cylinder': (Cylinder(0.08, 0.4), 0.08), 'box': (Box((0.3, 0.2, 0.1)), 0.05),
    'tube': (Tube(((-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)), (0.08,)), -0.08)}
LYING = ('capsule', 'cylinder')
FEET = ((0.03, 0.0, 0.01), (-0.03, 0.02, 0.0), (-0.02, -0.03, 0.005))
# Of the energy that is thrown in. A scheme of two steps goes on with a third of the last force
# after it has ended: by up to 4 % for a spring that lets go of a mass, of all lengths of steps.
DRIFT = {'bdf2': 0.04, 'bdf_alpha': 0.04}
LEAST_DRIFT = 0.02


def stiff_enough(case):
    """
    Add the stiffness at which steps have their pace, if that holds what is thrown.

    A step is no longer than the way to its middle: past a surface that is curved, backward Euler
    errs by the square of the way.
    """
    dt = min(case['dt'], RADIUS / case['speed'])
    least = MASS * (2.0 * case['speed'] / RADIUS) ** 2
    return {**case, 'dt': dt, 'stiffness': max(MASS * (case['pace'] / dt) ** 2, least)}


impacts = st.fixed_dictionaries({
    'shape': st.sampled_from(sorted(SHAPES)), 'scheme': st.sampled_from(sorted(SCHEMES)),
    'dt': st.floats(-4.0, np.log10(1.0 / 30.0)).map(lambda x: 10.0 ** x),
    'speed': st.floats(0.5, 10.0), 'angle': st.floats(-1.2, 1.2),
    'pace': st.floats(-1.0, 1.5).map(lambda x: 10.0 ** x),  # rad of its contact in a step
    'damping': st.sampled_from([0.0, 0.1, 10.0]), 'friction': st.sampled_from([0.0, 0.5]),
    'weight': st.sampled_from([0.0, 9.81]), 'gap': st.floats(1e-3, 0.02),
    'turn': st.tuples(*[st.floats(-1.0, 1.0)] * 3)}).map(stiff_enough)


def stored(solver):
    """Return what all contacts store, in their pressure and in bristles [J]."""
    solver.refresh()
    contacts, touch, energy = solver.tree.contacts, solver.work.touch, 0.0
    for pair in touch.pairs[:int(touch.found[0])]:
        _, line, _, grip, extent, _ = contacts.numbers[int(pair[0])]
        rod = int(pair[1]) - contacts.link.size  # of which it touches an element, if it is one
        softness = contacts.softness[int(pair[1])] if rod < 0 else (
            1.0 / contacts.numbers[contacts.piece_first[rod], 1])
        stiffness = extent / (1.0 / line + softness)
        n, force = pair[6:9], pair[9:12]
        rubs = force - (force @ n) / (n @ n) * n
        energy += 0.5 * stiffness * pair[18] ** 2 + 0.5 * rubs @ rubs / (grip * stiffness)
    return energy


def total(solver):
    """Return kinetic, elastic and stored energy, and that of the weight [J]."""
    energy = solver.energy()
    return energy.kinetic + energy.potential + stored(solver)


def throw(solver, body, velocity, spin=(0.0, 0.0, 0.0)):
    """Let a free body, and all that it carries, have a velocity."""
    link, first = solver.places.bodies[body].link, solver.places.coordinates[body]
    places = np.arange(solver.Z)[first]
    still, columns = np.zeros(solver.Z), []
    for k in places:
        solver.residual(solver.z, np.eye(solver.Z)[k], still)
        columns.append(np.concatenate([solver.work.end.p_t[link], solver.work.end.Om[link]]))
    z_t = np.zeros(solver.Z)
    z_t[places] = np.linalg.solve(np.array(columns).T, np.concatenate([velocity, spin]))
    solver.set_state(solver.z, z_t)
    solver.start()


def scene(kind, case):
    """Return what is thrown at a shape, at its speed."""
    geometry, height = SHAPES[case['shape']]
    lies = (0.5 * np.pi, 0.0, 0.0) if case['shape'] in LYING else (0.0, 0.0, 0.0)
    obstacles = {'thing': Obstacle(geometry, Pose((0.0, 0.0, 0.0), lies),
                                   friction=case['friction'])}
    height += RADIUS + case['gap']
    rods, turn = {}, exp_so3(np.array(case['turn']))
    if kind == 'rod':
        rod = Rod((Segment(0.2, Circular(RADIUS), Material(1e9, 1e3, poisson_ratio=0.3)),))
        rods['rod'] = RodPart(
            rod, StrainModes(0, 0, 1, 2, 2, 1, elements=2), Attachment('thrown', pose()),
            contact=ContactProperties(stiffness=min(300.0 * case['stiffness'], 1e12),
                                      damping=case['damping']))
        turn = exp_so3(np.array([0.0, 0.2 * case['turn'][1], 0.0])) @ SIDEWAYS
        body = RigidBody(0.01, 1e-6 * np.eye(3), pose=pose(
            (-0.1, 0.0, height + 0.2 * abs(turn[2, 2])), turn))
    else:
        feet = ((0.0, 0.0, 0.0),) if kind == 'ball' else FEET
        body = RigidBody(MASS, np.diag([2e-5, 3e-5, 4e-5]) if kind == 'body' else 2e-5 * np.eye(3),
                         pose=pose((0.0, 0.0, height + np.linalg.norm(feet, axis=1).max()), turn),
                         contact=ContactSpheres(feet, RADIUS, case['stiffness'],
                                                damping=case['damping']))
    solver = Assembly({'thrown': body}, rods, gravity=(0.0, 0.0, -case['weight']),
                      obstacles=obstacles).solver(SCHEMES[case['scheme']])
    angle = case['angle']
    throw(solver, 'thrown', case['speed'] * np.array([np.sin(angle), 0.0, -np.cos(angle)]),
          10.0 * np.array(case['turn']) if kind != 'rod' else np.zeros(3))
    return solver


def rise(energies):
    """Return the most by which energies are above one before them [J]."""
    energies = np.array(energies)
    return float((energies - np.minimum.accumulate(energies)).max())


def run(solver, dt, steps):
    """Return energies step by step [J]."""
    energies = [total(solver)]
    for _ in range(steps):
        assert solver.step(dt).converged
        energies.append(total(solver))
    return energies


@pytest.mark.parametrize('kind', ['ball', 'body', 'rod'])
@settings(deadline=None, max_examples=25 * FUZZ, suppress_health_check=[HealthCheck.too_slow])
@given(case=impacts)
def test_what_is_thrown_gains_no_energy(kind, case):
    """
    With steps that are short and long for the impact; the rest is the drift of the scheme.

    Rods keep their energy in free flight only if a step turns and bends them little.
    """
    if kind == 'rod':
        case['dt'] = min(case['dt'], 5e-3 / case['speed'])
    check_impact(kind, case)


def check_impact(kind, case):
    """Throw; compare the rise of energy with what is thrown, and with the rise in free flight."""
    solver = scene(kind, case)
    thrown = solver.energy().kinetic + MASS * case['weight'] * case['gap']
    steps = int(np.clip(0.08 / case['dt'], 10, 40))
    gained = rise(run(solver, case['dt'], steps))
    solver.set_obstacles({})
    drift = rise(run(solver, case['dt'], steps))
    assert gained < DRIFT.get(case['scheme'], LEAST_DRIFT) * thrown + 2.0 * drift


PRESSED = 0.2 * RADIUS  # how deep


def pressed(kind):
    """Return what is pressed into something and let go of, and its angular frequency there."""
    stiffness, obstacles, rods = 1e5, {'floor': Obstacle(Plane())}, {}
    steel = Material(2e11, 8e3, poisson_ratio=0.3)
    rod = Rod((Segment(0.2, Circular(RADIUS), steel),))
    touch = ContactProperties(stiffness=100.0 * stiffness, damping=0.0, rods=kind == 'rods')
    if kind == 'ball':
        bodies = {'ball': RigidBody(
            MASS, 2e-5 * np.eye(3), pose=pose((0.0, 0.0, RADIUS - PRESSED)), contact=(
                ContactSpheres(((0.0, 0.0, 0.0),), RADIUS, stiffness, damping=0.0)))}
        return Assembly(bodies, obstacles=obstacles), np.sqrt(stiffness / MASS)
    bodies = {'low': RigidBody(0.01, 1e-6 * np.eye(3), pose=pose(
        (-0.1, 0.0, RADIUS - PRESSED), SIDEWAYS))}
    if kind == 'rods':
        obstacles = {}
        bodies['high'] = RigidBody(0.01, 1e-6 * np.eye(3), pose=pose(
            (0.01, 0.11, 3.0 * RADIUS - 2.0 * PRESSED),
            exp_so3(np.array([0.0, 0.0, -0.5 * np.pi])) @ SIDEWAYS))
    for name in bodies:
        rods[f'rod_{name}'] = RodPart(
            rod, StrainModes(0, 0, 0, 2, 2, 0, elements=2), Attachment(name, pose()),
            contact=touch)
    return Assembly(bodies, rods, obstacles=obstacles), np.sqrt(
        100.0 * stiffness * 0.2 / rod.mass)


@pytest.mark.parametrize('scheme', sorted(SCHEMES))
@pytest.mark.parametrize('kind', ['ball', 'rod', 'rods'])
def test_what_was_pressed_in_comes_free_with_no_more_than_it_stored(kind, scheme):
    """Within steps from a fraction of the way out to many times that."""
    assembly, frequency = pressed(kind)
    for length in (0.3, 1.0, 3.0, 10.0):
        solver = assembly.solver(SCHEMES[scheme])
        solver.start()
        first = total(solver)
        assert first > 0.0
        energies = run(solver, length / frequency, int(3 + 6.0 / length))
        assert not solver.contacts()
        assert rise(energies) < DRIFT.get(scheme, LEAST_DRIFT) * first


@settings(deadline=None, max_examples=25 * FUZZ)
@given(case=impacts, way=st.tuples(*[st.floats(-1.0, 1.0)] * 3))
def test_a_shape_that_moves_throws_a_ball_no_faster_than_it_would_bounce(case, way):
    """As seen from the shape, which goes on as fast as before, the ball gains no energy."""
    geometry, height = SHAPES[case['shape']]
    lies = (0.5 * np.pi, 0.0, 0.0) if case['shape'] in LYING else (0.0, 0.0, 0.0)
    ball = ContactSpheres(((0.0, 0.0, 0.0),), RADIUS, case['stiffness'], damping=case['damping'])
    inertia = 2e-5
    solver = Assembly(
        {'thrown': RigidBody(MASS, inertia * np.eye(3), contact=ball, pose=pose(
            (0.0, 0.0, height + RADIUS + case['gap']))), 'carrier': RigidBody(driven=True)},
        obstacles={'thing': Obstacle(geometry, Pose((0.0, 0.0, 0.0), lies), body='carrier',
                                     friction=case['friction'])}).solver(SCHEMES[case['scheme']])
    velocity = case['speed'] * np.array([0.5 * way[0], 0.5 * way[1], 1.0])
    still = np.zeros(3)
    solver.motions[solver.places.bodies['carrier'].link] = follow_twist(
        lambda t: (still, velocity, still, still))
    link, energies = solver.places.bodies['thrown'].link, [0.5 * MASS * velocity @ velocity]
    for _ in range(int(np.clip(0.08 / case['dt'], 10, 40))):
        assert solver.step(case['dt']).converged
        energy = stored(solver)
        end = solver.frame(link)
        past = end.p_t - velocity
        energies.append(energy + 0.5 * MASS * past @ past + 0.5 * inertia * end.Om @ end.Om)
    assert rise(energies) < DRIFT.get(case['scheme'], LEAST_DRIFT) * energies[0]


@pytest.mark.parametrize('scheme', ['backward_euler', 'generalised_alpha', 'newmark'])
def test_a_ball_in_free_flight_does_not_spin(scheme):
    """Its weight turns it about the origin, but not about its centre."""
    solver = Assembly({'ball': RigidBody(MASS, 2e-5 * np.eye(3), pose=pose((0.2, 0.0, 0.3)))},
                      gravity=(0.0, 0.0, -9.81)).solver(SCHEMES[scheme])
    throw(solver, 'ball', (2.0, 1.0, 0.0))
    for _ in range(60):
        assert solver.step(1.0 / 60.0).converged
    solver.refresh()
    end = solver.frame(solver.places.bodies['ball'].link)
    np.testing.assert_allclose(end.p_t, (2.0, 1.0, -9.81), atol=1e-9)
    np.testing.assert_allclose(end.Om, 0.0, atol=1e-8)
