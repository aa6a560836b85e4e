"""
Arms that carry arms, and arms that hold a body: statics by shooting, energy and momenta in motion.

Shooting is written here, on the strong form of a rod's equations, and shares nothing with the
engine: ``p' = R v, R' = R hat(u), n' = -rho A g, m' = -p' x n``, with what a body weighs as jumps
of n and m.
"""

from assemblies import soft_rod
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root
from test_flexible_assemblies import floating_parts, orders, set_off

from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import exp_so3, inverse_se3, log_so3

FINE = StrainModes(4, 4, 4, 6, 6, 4, elements=4, substeps=4)
COARSE = StrainModes(0, 0, 0, 2, 2, 0)
GRAVITY = np.array([0.5, 1.0, -9.81])
LENGTH, RADIUS, YOUNG, DENSITY = 0.3, 0.01, 1e6, 1e3  # of `soft_rod`
AREA, INERTIA, SHEAR = np.pi * RADIUS ** 2, 0.25 * np.pi * RADIUS ** 4, YOUNG / 2.6
FORCE_STIFFNESS = AREA * np.array([SHEAR, SHEAR, YOUNG])
MOMENT_STIFFNESS = INERTIA * np.array([YOUNG, YOUNG, 2.0 * SHEAR])
UPRIGHT = np.array([0.0, 0.0, 1.0])
LOAD = RigidBody(0.02, 1e-5 * np.diag([1.0, 2.0, 2.5]), (0.005, -0.01, 0.02))
FORCE = np.array([0.05, -0.12, 0.02])  # [N] on the last body


def along_arm(g, n, m):
    """Integrate an arm from the pose of its base; return pose, force and moment at its tip."""
    def rates(_, y):
        R, n, m = y[3:12].reshape(3, 3), y[12:15], y[15:]
        t, u = R @ (UPRIGHT + R.T @ n / FORCE_STIFFNESS), R.T @ m / MOMENT_STIFFNESS
        return np.concatenate([
            t, (R @ hat(u)).ravel(), -DENSITY * AREA * GRAVITY, -np.cross(t, n)])

    y = solve_ivp(rates, (0.0, LENGTH), np.concatenate([g[:3, 3], g[:3, :3].ravel(), n, m]),
                  method='DOP853', rtol=1e-12, atol=1e-14).y[:, -1]
    return pose(y[:3], y[3:12].reshape(3, 3)), y[12:15], y[15:]


def hat(u):
    """Return the matrix of a cross product."""
    return np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])


def weight_on(g, body):
    """Return force and moment about the origin of a frame by the weight of a body fixed to it."""
    force = body.mass * GRAVITY
    return force, np.cross(g[:3, :3] @ body.centre_of_mass, force)


def solved(residual, guess, scale):
    """Return what makes a residual zero, counted in `scale`."""
    found = root(lambda x: residual(scale * x), guess / scale, tol=1e-13)
    assert np.abs(found.fun).max() < 1e-11, found.message
    return scale * found.x


def arm_on_an_arm(modes, scheme='generalised_alpha'):
    """Return an arm with a body at its tip that carries another such arm."""
    rod = soft_rod(LENGTH, RADIUS, YOUNG)
    return Assembly({'elbow': LOAD, 'hand': LOAD}, {
        'upper': RodPart(rod, modes, tip=Attachment('elbow')),
        'lower': RodPart(rod, modes, Attachment('elbow'), Attachment('hand')),
    }, gravity=GRAVITY).solver(SCHEMES[scheme], tolerance=1e-13)


def test_an_arm_that_carries_an_arm_stands_as_by_shooting():
    own = DENSITY * AREA * LENGTH * GRAVITY
    n = 2.0 * own + 2.0 * LOAD.mass * GRAVITY + FORCE
    places = []

    def unbalanced(m):
        elbow, n_elbow, m_elbow = along_arm(np.eye(4), n, m)
        force, moment = weight_on(elbow, LOAD)
        hand, n_hand, m_hand = along_arm(elbow, n_elbow - force, m_elbow - moment)
        force, moment = weight_on(hand, LOAD)
        places[:] = elbow, hand
        assert_allclose(n_hand, force + FORCE, atol=1e-10)
        return (m_hand - moment) / 1e-2

    solved(unbalanced, np.zeros(3), np.full(3, 1e-2))
    solver = arm_on_an_arm(FINE)
    links = [solver.places.bodies[name].link for name in ('elbow', 'hand')]
    solver.tree.bodies.force[links[1]] = FORCE
    assert solver.statics().converged
    end = solver.refresh().end
    assert np.linalg.norm(places[1][:3, 3] - [0.0, 0.0, 0.6]) > 0.03  # it bends
    for link, g in zip(links, places):
        assert_allclose(end.p[link], g[:3, 3], rtol=0, atol=2e-9)
        assert_allclose(end.R[link], g[:3, :3], rtol=0, atol=2e-8)


HELD = RigidBody(0.1, 1e-4 * np.diag([1.0, 2.0, 2.5]), (0.0, 0.01, 0.03),
                 pose=pose((0.0, 0.0, LENGTH)))
BASES = {'left': pose((-0.1, 0.0, 0.0), exp_so3(np.array([0.1, 0.2, 0.0]))),
         'right': pose((0.1, 0.02, 0.0), exp_so3(np.array([0.0, -0.3, 0.1])))}
HOLDS = {'left': pose((-0.05, 0.0, 0.0)), 'right': pose((0.05, 0.0, 0.01))}


def two_arms(modes, scheme='generalised_alpha'):
    """Return two arms whose tips are fixed to one body."""
    return Assembly({'body': HELD}, {
        name: RodPart(soft_rod(LENGTH, RADIUS, YOUNG), modes, Attachment(pose=base),
                      Attachment('body', HOLDS[name])) for name, base in BASES.items()},
        gravity=GRAVITY).solver(SCHEMES[scheme], tolerance=1e-13)


def test_two_arms_hold_a_body_as_by_shooting():
    places = []

    def unbalanced(wrenches):
        tips = [along_arm(base, *wrench.reshape(2, 3))
                for base, wrench in zip(BASES.values(), wrenches.reshape(2, 6))]
        bodies = [g @ inverse_se3(hold) for (g, _, _), hold in zip(tips, HOLDS.values())]
        g, other = bodies
        force, moment = weight_on(g, HELD)
        force = force + FORCE
        for tip, n, m in tips:
            force, moment = force - n, moment - m - np.cross(tip[:3, 3] - g[:3, 3], n)
        places[:] = [g]
        return np.concatenate([
            (g - other)[:3, 3] / LENGTH, log_so3(g[:3, :3] @ other[:3, :3].T), force,
            moment / LENGTH])

    each = np.concatenate([0.5 * HELD.mass * GRAVITY + DENSITY * AREA * LENGTH * GRAVITY,
                           np.zeros(3)])
    solved(unbalanced, np.tile(each, 2), np.tile([1.0, 1.0, 1.0, 0.1, 0.1, 0.1], 2))
    solver = two_arms(FINE)
    link = solver.places.bodies['body'].link
    solver.tree.bodies.force[link] = FORCE
    assert solver.statics().converged
    end, g = solver.refresh().end, places[0]
    assert_allclose(end.p[link], g[:3, 3], rtol=0, atol=2e-9)
    assert_allclose(end.R[link], g[:3, :3], rtol=0, atol=2e-8)


def floating(modes, scheme='generalised_alpha'):
    """Return a body with two rods, thrown."""
    bodies, rods = floating_parts(modes=modes)
    return Assembly(bodies, rods, gravity=GRAVITY).solver(SCHEMES[scheme], tolerance=1e-13)


LAST_BODY = {arm_on_an_arm: 'hand', two_arms: 'body'}


@pytest.mark.parametrize('make', [arm_on_an_arm, two_arms, floating])
def test_energy_is_conserved_at_second_order(make):
    """From rest, pushed until then; or thrown. Of what floats, momentum too is that of weight."""
    drifts, last = [], 0.1
    for dt in (2e-3, 1e-3, 5e-4):
        solver = make(COARSE, 'trapezoidal')
        if make is floating:
            solver.keep_momentum = False
            set_off(solver)
        else:
            solver.tree.bodies.force[solver.places.bodies[LAST_BODY[make]].link] = FORCE
            assert solver.statics().converged
            solver.tree.bodies.force[:] = 0.0
            assert solver.start()
        momentum = solver.momentum()
        before, most = sum(solver.energy()), 0.0
        for _ in range(round(last / dt)):
            assert solver.step(dt).converged
            most = max(most, abs(sum(solver.energy()) - before))
        drifts.append(most)
        if make is floating:
            mass = 0.2 + DENSITY * AREA * (0.3 + 0.25)
            assert_allclose(solver.momentum()[:3] - momentum[:3], last * mass * GRAVITY,
                            rtol=0, atol=1e-6)
    assert_allclose(orders(drifts), 2.0, atol=0.1)
    assert drifts[-1] < 1e-4 * solver.energy().kinetic
