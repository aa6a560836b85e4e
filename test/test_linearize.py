"""A robot as a linear system: against the simulator, and what is known of beams."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_planar_motion import flexible_four_bar

from cosserat_ros.analysis.linearize import linearize, outlook, reduced, slopes, vibration
from cosserat_ros.analysis.sensitivity import (
    command_columns,
    command_jacobian,
    compliance,
    tip_spot,
)
from cosserat_ros.assembly.assembly import Assembly
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.checks.errors import SingularState
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.parts import Pose, TimeStepping, Tip
from cosserat_ros.description.robot import load
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.rod.kinematics import kinematics
from cosserat_ros.simulation.simulator import Simulator

DT = 1e-4
CASES = {  # an equilibrium, and a small step from there
    'tendon_arm': ({'tendon_1': 2.0, 'tendon_2': 1.0}, {'tendon_1': 1e-4}),
    'fluidic_finger': ({'chamber': 1.5e-4}, {'chamber': 1e-9}),
    'stewart_gough': ({'leg_1': 0.52}, {'leg_2': 1e-8}),
    'arm_on_slide': ({'tendon_1': 2.0, 'slide': 0.05, 'turn': 0.7}, {'tendon_1': 1e-4}),
    'dual_arm': ({'left_1': 2.0, 'right_2': 1.0}, {'left_1': 1e-4, 'right_4': 1e-4}),
}


def at_equilibrium(robot, modes=None, **commands):
    robot = replace(robot, time=TimeStepping(step=DT, scheme='trapezoidal'))
    sim = Simulator(robot, modes)
    sim.solver.tolerance = 1e-13
    sim.command(**commands)
    assert sim.statics().converged
    return sim


def described(name):
    return load(ROOT / 'config' / f'{name}.yaml')


def with_displacements(give=0.0):
    """Return the tendon arm with tendons that are told their displacement."""
    arm = described('tendon_arm')
    return replace(arm, tendons={
        name: replace(tendon, command='displacement', compliance=give, limits=None)
        for name, tendon in arm.tendons.items()})


def forced(A, force, steps):
    """Return the states after each step of the trapezoidal rule; the force begins suddenly."""
    x, identity = np.zeros(len(A)), np.eye(len(A))
    states = []
    for k in range(steps):
        push = DT * (0.5 if k == 0 else 1.0) * force
        x = np.linalg.solve(identity - 0.5 * DT * A, (identity + 0.5 * DT * A) @ x + push)
        states.append(x)
    return np.array(states)


def simulated(sim, steps):
    """Return positions and velocities of the tip after each step, from where it is, (steps, 6)."""
    start, motion = sim.tip_pose()[:3, 3], []
    for _ in range(steps):
        assert sim.step().converged
        motion.append(np.concatenate([sim.tip_pose()[:3, 3] - start, sim.tip_twist()[:3]]))
    return np.array(motion)


# --- Against the simulator -----------------------------------------------------------------------

@pytest.mark.parametrize('name', CASES)
def test_a_small_step_of_a_command_moves_the_simulated_robot_as_the_linear_one(name):
    commands, change = CASES[name]
    sim = at_equilibrium(described(name), **commands)
    linear = linearize(sim)
    du = np.array([change.get(name, 0.0) for name in linear.inputs])
    y = forced(linear.A, linear.B @ du, 50) @ linear.C.T
    sim.command(**{name: sim.commands[name] + step for name, step in change.items()})
    motion = simulated(sim, 50)
    for part, found in ((slice(0, 3), y[:, :3]), (slice(3, 6), y[:, 6:9])):
        assert_allclose(found, motion[:, part], atol=1e-4 * np.abs(motion[:, part]).max())


def test_a_moment_moves_a_driven_flexible_four_bar_as_the_linear_one():
    """A loop with a joint that is told, and an elastic coupler: all coordinates, and rates."""
    parts = flexible_four_bar()
    crank = JointKind('revolute', (0.0, 1.0, 0.0), coordinates=[
        Coordinate(position=-0.8, driven=True)])
    solver = Assembly(parts.bodies, parts.rods, {
        **parts.joints, 'A': replace(parts.joints['A'], kind=crank)}, (0.0, 0.0, -9.81)).solver(
            SCHEMES['trapezoidal'], 1e-15)
    assert solver.statics().converged
    z, still, before = solver.z, np.zeros(solver.Z), solver.residual()
    part = reduced(slopes(solver, z, still, still), solver.moves)
    p = part.squares.size
    assert p == 2  # angles of three hinges and two of bending, less the crank and two of the gap
    solver.tree.bodies.moment[solver.places.bodies['rocker'].link, 1] = 1e-5
    push = part.basis.T @ (before - solver.residual())
    A = np.block([[np.zeros((p, p)), np.eye(p)], [-part.stiffness, -part.damping]])
    x = forced(A, np.concatenate([0.0 * push, push]), 50)
    found = []
    for _ in range(50):
        assert solver.step(DT).converged
        found.append([solver.z - z, solver.z_t])
    for of, theirs in zip(np.moveaxis(found, 1, 0), (x[:, :p], x[:, p:])):
        mine = np.where(solver.moves, of, 0.0)
        assert_allclose(theirs @ part.basis.T, mine, atol=1e-4 * np.abs(mine).max())
        assert not mine[:, solver.places.coordinates['A']].any()


@pytest.mark.parametrize('give', [0.0, 1e-4])
def test_a_force_moves_an_arm_of_given_displacements_as_the_linear_one(give):
    sim = at_equilibrium(with_displacements(give), tendon_1=2e-3, tendon_3=-3e-3,
                         tendon_2=1e-3, tendon_4=-2e-3)
    solver, J = sim.solver, outlook(sim).motion
    linear = linearize(sim)
    taut = int(np.sum(solver.efforts > 1e-6))
    assert taut == 2
    assert linear.A.shape[0] == 2 * (solver.moves.sum() - (0 if give else taut))
    force = np.array([1e-6, 2e-6, 0.0, 0.0, 0.0, 0.0])
    part = reduced(slopes(sim.equations(), solver.z, solver.z_t, solver.z_tt), solver.moves)
    push = part.basis.T @ J.T @ force
    y = forced(linear.A, np.concatenate([0.0 * push, push]), 50) @ linear.C.T
    sim.set_wrench(force)
    motion = simulated(sim, 50)
    assert_allclose(y[:, :3], motion[:, :3], atol=1e-4 * np.abs(motion[:, :3]).max())


def test_in_motion_the_state_matrix_is_the_slope_of_the_accelerations():
    sim = at_equilibrium(described('tendon_arm'), tendon_1=2.0)
    sim.command(tendon_1=6.0, tendon_2=3.0)
    for _ in range(40):
        sim.step(1e-3)
    solver = sim.equations()
    n, z0 = solver.moves.sum(), solver.z

    def rates(x):
        z, z_t, still = z0.copy(), np.zeros(z0.size), np.zeros(z0.size)
        z[:n], z_t[:n] = x[:n], x[n:]
        r = solver.residual(z, z_t, still)
        mass = slopes(solver, z, z_t, still).mass[:n, :n]
        return np.concatenate([x[n:], np.linalg.solve(mass, -r[:n])])

    linear = linearize(sim)
    both = np.kron(np.eye(2), linear.basis[:n])
    x = np.concatenate([z0[:n], solver.z_t[:n]])
    assert_allclose(both @ linear.state, x, atol=1e-6 * np.abs(x).max())
    step = 1e-6
    for way in np.random.default_rng(1).normal(size=(4, 2 * n)):
        found = both @ linear.A @ np.linalg.solve(both, way)
        expected = (rates(x + step * way) - rates(x - step * way)) / (2.0 * step)
        assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize('at', [None, 0.1, 0.24])
def test_in_motion_outputs_are_the_slopes_of_pose_and_velocity(at):
    arm = replace(described('tendon_arm'),
                  tip=Tip(offset=Pose(position=(0.01, 0.02, 0.03))))
    sim = at_equilibrium(arm, tendon_1=2.0)
    sim.command(tendon_1=6.0, tendon_2=3.0)
    for _ in range(40):
        sim.step(1e-3)
    view = outlook(sim, None if at is None else 'backbone', at)
    solver, n = sim.solver, sim.solver.q[0].size
    d, q, q_t = solver.rods[0], solver.q[0], solver.rates[0]

    def twist(q, q_t):
        x = kinematics(d, solver.base(), q, q_t, np.zeros(n))
        if at == 0.1:
            k = np.abs(d.s - at).argmin()
            return np.concatenate([x.p_t[k], x.Om[d.station[k]]])
        arm = np.zeros(3) if at else x.Rc[-1] @ [0.01, 0.02, 0.03]
        return np.concatenate([x.p_end_t[-1] + np.cross(x.Om[-1], arm), x.Om[-1]])

    if at == 0.1:  # a node
        at_node = float(d.s[np.abs(d.s - at).argmin()])
        view = outlook(sim, 'backbone', at_node)
    h = 1e-6
    for c in range(n):
        unit = h * np.eye(n)[c]
        drift = (twist(q + unit, q_t) - twist(q - unit, q_t)) / (2.0 * h)
        assert_allclose(view.drift[:, c], drift, atol=1e-7)
        assert_allclose(view.motion[:, c], twist(q, np.eye(n)[c]), atol=1e-10)
    assert np.abs(view.drift).max() > 0.1


# --- What must hold ------------------------------------------------------------------------------

@pytest.mark.parametrize('name', sorted(path.stem for path in (ROOT / 'config').glob('*.yaml')))
def test_the_static_gain_is_the_jacobian(name):
    """What floats has none: that is said."""
    robot = described(name)
    sim = Simulator(robot)
    if robot.base.motion == 'free':
        with pytest.raises(SingularState):
            linearize(sim)
        return
    sim.command(**CASES.get(name, ({}, {}))[0])
    assert sim.statics().converged
    linear = linearize(sim)
    assert linear.C.shape[0] == 12 and linear.B.shape[1] == len(robot.actuators)
    assert not linear.direct.any() or robot.drives  # which take the arm along
    gain = linear.direct[:6] - linear.C[:6] @ np.linalg.solve(linear.A, linear.B)
    size = np.abs(linear.jacobian).max(initial=0.0)
    assert_allclose(gain, linear.jacobian, atol=1e-9 * size)
    if robot.tip.offset == Pose():
        spot = tip_spot(sim)
        for found, wanted in ((linear.jacobian, command_jacobian(sim, *spot)),
                              (linear.compliance, compliance(sim, *spot))):
            assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max(initial=0.0))


def test_constraints_leave_as_many_states_as_there_are_independent_coordinates():
    sim = at_equilibrium(described('stewart_gough'))
    assert sim.solver.moves.sum() == 6 * 19 + 6
    assert linearize(sim).A.shape == (2 * (6 * 19 + 6 - 36),) * 2


@pytest.mark.parametrize('pulled', [0.0, 3e-3])
def test_rigid_tendons_are_the_limit_of_stiff_ones(pulled):
    commands = {'tendon_1': 2e-3 + pulled, 'tendon_3': -1e-2, 'tendon_2': 1e-3, 'tendon_4': -1e-2}
    responses = []
    for give in (0.0, 1e-7):
        linear = linearize(at_equilibrium(with_displacements(give), **commands))
        s = 300j * np.eye(len(linear.A))
        responses.append(linear.C @ np.linalg.solve(s - linear.A, linear.B) + linear.direct)
        gain = linear.direct[:6] - linear.C[:6] @ np.linalg.solve(linear.A, linear.B)
        assert_allclose(gain, linear.jacobian, atol=1e-9 * np.abs(linear.jacobian).max())
    rigid, stiff = (response[:6] for response in responses)  # not the velocities
    assert_allclose(rigid, stiff, atol=1e-4 * np.abs(stiff).max())
    assert np.abs(linearize(at_equilibrium(with_displacements(), **commands)).direct).max() > 0.1


def test_the_offset_of_the_tip_counts():
    arm = described('tendon_arm')
    far = replace(arm, tip=Tip(offset=Pose(position=(0.0, 0.0, 0.05))))
    end, tip = (linearize(at_equilibrium(robot, tendon_1=2.0)) for robot in (arm, far))
    lever = np.cross(end.jacobian[3:].T, tip.pose[:3, 3] - end.pose[:3, 3]).T
    assert_allclose(tip.jacobian[:3], end.jacobian[:3] + lever, atol=1e-12)
    assert_allclose(tip.C[3:6], end.C[3:6], atol=1e-9)
    gain = -tip.C[:6] @ np.linalg.solve(tip.A, tip.B)
    assert_allclose(gain, tip.jacobian, atol=1e-9 * np.abs(gain).max())


def test_slack_tendons_do_nothing():
    sim = at_equilibrium(with_displacements(), tendon_1=-1e-3, tendon_3=-1e-3)
    assert not command_columns(sim)[:, [0, 2]].any()
    linear = linearize(sim)
    assert_allclose(linear.B[:, [0, 2]], 0.0, atol=1e-12)


# --- Known frequencies and damping ---------------------------------------------------------------

def test_a_cantilever_has_the_frequencies_of_euler_and_bernoulli():
    rod = replace(described('cantilever'), gravity=(0.0, 0.0, 0.0))
    sim = at_equilibrium(rod, StrainModes(0, 0, 0, 12, 12, 1))
    found = vibration(linearize(sim).A)
    EI, line = 207e9 * np.pi / 4 * 1e-12, 8000 * np.pi * 1e-6
    beta = np.repeat([1.87510407, 4.69409113, 7.85475744, 10.99554073], 2) / 0.4
    assert_allclose(found.frequency[:8], beta ** 2 * np.sqrt(EI / line), rtol=1e-3)
    assert_allclose(found.damping, 0.0, atol=1e-9)


def test_kelvin_voigt_damping_grows_with_frequency():
    """A relaxation time tau makes D = tau K, and every damping ratio tau omega / 2."""
    finger = replace(described('fluidic_finger_three_chambers'), gravity=(0.0, 0.0, 0.0))
    found = vibration(linearize(at_equilibrium(finger)).A)
    assert found.frequency.size >= 2
    assert_allclose(found.damping, 0.5 * 0.02 * found.frequency, rtol=1e-6)
