"""Joints of rigid bodies that are told, sprung, limited or redundant, against closed forms."""

from assemblies import soft_rod
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from test_rigid_assemblies import extrapolated, four_bar, hinge, places

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.numerics.integrators import SCHEMES
from cosserat_ros.numerics.lie import exp_so3

G, MASS, ARM, INERTIA = 9.81, 0.8, 0.25, 0.03  # of a pendulum; about its centre of mass
ABOUT_PIVOT = INERTIA + MASS * ARM ** 2
DOWN = (0.0, 0.0, -G)
BOB = RigidBody(MASS, INERTIA * np.eye(3), (0.0, 0.0, -ARM))


def pendulum(base='ground', at=None, gravity=DOWN, bodies=None, **coordinate):
    """Return a pendulum that hangs down from a body, at angle 0; it swings towards x."""
    return Assembly({**(bodies or {}), 'bob': BOB}, {}, {
        'pivot': Joint(hinge(**coordinate), Attachment(base, pose() if at is None else at),
                       Attachment('bob'))}, gravity)


# --- Told motion ---------------------------------------------------------------------------------

def test_the_effort_of_a_told_motion_is_that_of_inverse_dynamics():
    def told(t):
        return 0.7 * np.sin(3.0 * t), 2.1 * np.cos(3.0 * t), -6.3 * np.sin(3.0 * t)

    def needed(q, q_tt):
        return ABOUT_PIVOT * q_tt + MASS * G * ARM * np.sin(q)

    def run(steps):
        solver = pendulum(driven=True).solver()
        solver.set_state(np.array([0.0]), np.array([told(0.0)[1]]), np.array([told(0.0)[2]]))
        assert solver.start()
        np.testing.assert_array_equal(solver.z_t, told(0.0)[1])  # as it was given
        efforts = []
        for i in range(1, steps + 1):
            solver.tree.coordinates.command[0] = told(i / steps)[0]
            assert solver.step(1.0 / steps).converged
            effort = solver.refresh().effort[0]
            # Exact for the accelerations that the time scheme has.
            np.testing.assert_allclose(
                effort, needed(solver.z[0], solver.z_tt[0]), rtol=0.0, atol=1e-11)
            if i * 10 % steps == 0:
                efforts.append(effort)
        return efforts

    found, order = (a[2:] if np.ndim(a) else a for a in extrapolated(run, 200))
    t = np.arange(3, 11) / 10.0  # from then on: the scheme's start has died away
    expected = needed(told(t)[0], told(t)[2])
    assert order > 1.8
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-4 * np.abs(expected).max())


def tell(solver, name, p, R, rates):
    """Write the motion of a driven body: p, R, then p_t, Om, p_tt, Om_t."""
    roots, link = solver.tree.roots, solver.places.bodies[name].link
    roots.p[link], roots.R[link] = p, R
    roots.p_t[link], roots.Om[link], roots.p_tt[link], roots.Om_t[link] = rates


def test_an_arm_on_an_accelerated_base_feels_fictitious_forces():
    """A base that shakes and rocks; the pivot is off its origin."""
    off = np.array([0.3, 0.0, 0.1])
    axis = np.array([0.0, -1.0, 0.0])

    def base(t):
        """Return position along x and z, and angle, with their rates."""
        w = np.array([4.0, 3.0, 5.0])
        a, phase = np.array([0.2, 0.1, 0.4]), np.array([0.2, 0.7, 1.1])
        return (a * np.sin(w * t + phase), a * w * np.cos(w * t + phase),
                -a * w ** 2 * np.sin(w * t + phase))

    def pivot_acceleration(t):
        (x, turn), (_, rate), (x_tt, second) = ((v[:2], v[2]) for v in base(t))
        arm = exp_so3(turn * axis) @ off
        return np.array([x_tt[0], 0.0, x_tt[1]]) + np.cross(
            second * axis, arm) - rate ** 2 * arm

    def swing(t, y):
        (_, _, turn), _, (_, _, second) = base(t)
        felt = np.array(DOWN) - pivot_acceleration(t)
        angle = turn + y[0]
        moment = MASS * ARM * (np.cos(angle) * felt[0] + np.sin(angle) * felt[2])
        return [y[1], moment / ABOUT_PIVOT - second]

    def put(solver, t):
        x, v, a = base(t)
        tell(solver, 'base', (x[0], 0.0, x[1]), exp_so3(x[2] * axis),
             ((v[0], 0.0, v[1]), v[2] * axis, (a[0], 0.0, a[1]), a[2] * axis))

    start = [0.4, -1.0]

    def run(steps):
        solver = pendulum('base', pose(off), bodies={'base': RigidBody(driven=True)}).solver()
        put(solver, 0.0)
        solver.set_state(*np.array(start)[:, None])
        assert solver.start()
        np.testing.assert_allclose(solver.z_tt[0], swing(0.0, start)[1], rtol=1e-11)
        for i in range(1, steps + 1):
            put(solver, i / steps)
            assert solver.step(1.0 / steps).converged
        return np.concatenate([solver.z, solver.z_t])

    found, order = extrapolated(run, 200)
    expected = solve_ivp(swing, (0.0, 1.0), start, 'DOP853', rtol=1e-12, atol=1e-12).y[:, -1]
    assert 1.8 < order < 2.2
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())


def test_a_pendulum_on_a_turntable_stands_off_as_a_governor_does():
    """Centrifugal forces and gyroscopic moments in space, where the pivot's axis turns."""
    speed, radius, J = 5.0, 0.2, np.array([0.03, 0.03, 0.01])
    body = RigidBody(MASS, np.diag(J), (0.0, 0.0, -ARM))
    assembly = Assembly({'table': RigidBody(driven=True), 'bob': body}, {}, {
        'pivot': Joint(hinge(), Attachment('table', pose((radius, 0.0, 0.0))),
                       Attachment('bob'))}, DOWN)
    for angle in (0.1, 0.6, 1.2):
        solver = assembly.solver()
        tell(solver, 'table', np.zeros(3), np.eye(3),
             (np.zeros(3), (0.0, 0.0, speed), np.zeros(3), np.zeros(3)))
        solver.set_state(np.array([angle]))
        assert solver.start()
        sine, cosine = np.sin(angle), np.cos(angle)
        moment = (MASS * ARM * (speed ** 2 * (radius + ARM * sine) * cosine - G * sine)
                  + (J[0] - J[2]) * speed ** 2 * sine * cosine)
        np.testing.assert_allclose(
            solver.z_tt[0], moment / (J[1] + MASS * ARM ** 2), rtol=1e-12)


def test_a_loop_onto_a_driven_body_that_moves_starts_with_its_rates():
    """Both pivots of a four-bar on a platform that moves: as seen from there, nothing does."""
    still = four_bar(0.8, gravity=(0.0, 0.0, 0.0))
    joints = {name: Joint(j.kind, Attachment('base', j.parent.pose), j.child)
              if j.parent.body == 'ground' else j for name, j in still.joints.items()}
    # The rocker's pivot stays on the ground, which here is what moves against the base.
    joints['D'] = still.joints['D']
    solver = Assembly({**still.bodies, 'base': RigidBody(driven=True)}, {}, joints).solver()
    tell(solver, 'base', np.zeros(3), np.eye(3),
         ((0.3, 0.0, 0.1), np.zeros(3), np.zeros(3), np.zeros(3)))
    assert solver.start()
    end, closure = solver.refresh().end, solver.tree.closures
    a, b = closure.a[0], closure.b[0]
    assert np.linalg.norm(end.p_t[b]) > 0.05
    np.testing.assert_allclose(end.p_t[a], end.p_t[b], rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(end.p_tt[a], end.p_tt[b], rtol=0.0, atol=1e-12)


# --- Springs and limits --------------------------------------------------------------------------

@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
@pytest.mark.parametrize('damping', [0.0, 0.1, 2.0])  # none, below and above the critical one
def test_a_sprung_joint_is_a_damped_oscillator(kind, damping):
    stiffness, rest, begin, rate = 3.0, 0.1, 0.4, -0.5
    inertia = 0.07
    body = RigidBody(inertia, inertia * np.eye(3))
    spring = Coordinate(stiffness, damping, rest, position=begin)
    assembly = Assembly({'body': body}, {}, {'joint': Joint(
        JointKind(kind, (1.0, 2.0, 3.0), coordinates=[spring]), Attachment(), Attachment('body'))})

    def run(steps):
        solver = assembly.solver()
        solver.set_state(solver.z, np.array([rate]))
        assert solver.start()
        for _ in range(steps):
            assert solver.step(1.0 / steps).converged
        return np.concatenate([solver.z, solver.z_t])

    found, order = extrapolated(run, 250)
    decay = damping / (2.0 * inertia)
    root = np.sqrt(complex(stiffness / inertia - decay ** 2))
    q = begin - rest
    b = (rate + decay * q) / root
    value = np.exp(-decay) * (q * np.cos(root) + b * np.sin(root))
    slope = np.exp(-decay) * root * (b * np.cos(root) - q * np.sin(root)) - decay * value
    assert 1.8 < order < 2.2
    np.testing.assert_allclose(
        found, [rest + value.real, slope.real], rtol=0.0, atol=1e-5)


@pytest.mark.parametrize('scheme', sorted(SCHEMES))
@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_a_pendulum_falls_on_its_limit_and_stays_there(scheme, side):
    limits = {'most': -0.3} if side < 0.0 else {'least': 0.3}
    dt = 2e-3
    solver = pendulum(position=side, **limits).solver(SCHEMES[scheme])
    assert solver.start()
    np.testing.assert_allclose(
        solver.z_tt[0], -MASS * G * ARM * np.sin(side) / ABOUT_PIVOT, rtol=1e-12)
    highest, energies = sum(solver.energy()), []
    for _ in range(1000):
        assert solver.step(dt).converged
        assert side * solver.z[0] >= 0.3 - 1e-10
        energies.append(sum(solver.energy()))
    # Second order leaves the energy of a fall free by so much.
    assert max(energies) <= highest + 1e-4 * MASS * G * ARM
    np.testing.assert_allclose(solver.z[0], 0.3 * side, rtol=0.0, atol=1e-10)
    # It is at rest, and held up as much as its weight pulls.
    np.testing.assert_allclose(solver.z_t[0], 0.0, rtol=0.0, atol=1e-8)
    weight = MASS * G * ARM * np.sin(0.3 * side)
    np.testing.assert_allclose(solver.refresh().effort[0], weight, rtol=1e-7)
    # Pushed, it leaves; the limit does nothing more.
    solver.tree.coordinates.push[0] = 1.5 * weight
    for _ in range(50):
        assert solver.step(dt).converged
    assert side * solver.z[0] > 0.301
    assert solver.refresh().effort[0] == 0.0


def test_a_pendulum_at_its_limit_starts_at_rest():
    solver = pendulum(position=0.3, least=0.3).solver()
    assert solver.start()
    assert solver.z_tt[0] == 0.0
    solver.tree.coordinates.push[0] = 5.0
    assert solver.start()
    np.testing.assert_allclose(
        solver.z_tt[0], (5.0 - MASS * G * ARM * np.sin(0.3)) / ABOUT_PIVOT, rtol=1e-12)


def test_statics_rest_on_a_limit_with_the_effort_that_holds_it():
    solver = pendulum(position=1.0, least=0.3).solver()
    solution = solver.statics()
    assert solution.converged, solution.message
    np.testing.assert_allclose(solver.z[0], 0.3, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(
        solver.refresh().effort[0], MASS * G * ARM * np.sin(0.3), rtol=1e-12)


# --- Redundant loops -----------------------------------------------------------------------------

def tilted(assembly, R):
    """Return an assembly whose ground is turned; gravity with it."""
    joints = {name: Joint(j.kind, Attachment('ground', pose(R=R) @ j.parent.pose), j.child)
              if j.parent.body == 'ground' else j for name, j in assembly.joints.items()}
    return Assembly(assembly.bodies, {}, joints, R @ DOWN)


def test_a_four_bar_of_hinges_in_any_plane_moves_as_in_its_own():
    """Three of six equations of the closing hinge follow from the others; rounding hides none."""
    R = exp_so3(np.array([0.3, -0.8, 0.5]))
    solvers = [four_bar(0.8, 'revolute').solver(), tilted(four_bar(0.8, 'revolute'), R).solver()]
    for solver in solvers:
        assert len(solver.redundant) == 3
        assert solver.start()
        for _ in range(100):
            assert solver.step(2e-3).converged
        assert solver.gap() < 1e-10  # of the equations that were let go, too
    np.testing.assert_allclose(
        solvers[1].z[:4], solvers[0].z[:4], rtol=0.0, atol=1e-8)


def door(second=None):
    """Return a door on two hinges above each other, or with the second one elsewhere."""
    kind = JointKind('revolute', (0.0, 0.0, 1.0))
    at = pose((0.0, 0.0, 2.0))
    return Assembly({'door': RigidBody(20.0, np.diag([7.0, 9.0, 2.0]), (0.5, 0.0, 1.0))}, {}, {
        'lower': Joint(kind, Attachment(), Attachment('door')),
        'upper': Joint(kind, Attachment('ground', at if second is None else second),
                       Attachment('door', at))}, (0.0, G, 0.0))


def test_a_door_on_two_hinges_swings_as_on_one():
    solver = door().solver()
    assert len(solver.redundant) == 5
    assert solver.start()
    one = 20.0 * G * 0.5 / (2.0 + 20.0 * 0.25)
    at = places(solver, 'lower', 'upper')
    np.testing.assert_allclose(solver.z_tt[at], one, rtol=1e-10)
    single = Assembly(door().bodies, {}, {'lower': door().joints['lower']}, (0.0, G, 0.0)).solver()
    assert single.start()
    for _ in range(200):
        assert solver.step(5e-3).converged and single.step(5e-3).converged
    np.testing.assert_allclose(solver.z[at], single.z[0], rtol=0.0, atol=1e-9)
    assert solver.gap() < 1e-10


def test_a_door_whose_hinges_are_askew_does_not_move():
    """The second hinge leans: the two axes cross, and hold each other."""
    lean = exp_so3(np.array([0.1, 0.0, 0.0]))
    kind = JointKind('revolute', (0.0, 0.0, 1.0))
    at = pose((0.0, 0.0, 2.0), lean)
    whole = door()
    solver = Assembly(whole.bodies, {}, {
        **whole.joints, 'upper': Joint(kind, Attachment('ground', at), Attachment('door', at))},
        (0.0, G, 0.0)).solver()
    assert solver.start()
    np.testing.assert_allclose(solver.z_tt[:2], 0.0, atol=1e-10)
    for _ in range(20):
        assert solver.step(5e-3).converged
    np.testing.assert_allclose(solver.z[:2], 0.0, atol=1e-9)


def test_a_door_whose_hinges_do_not_meet_is_refused_by_name():
    with pytest.raises(InvalidModel, match='loop through upper'):
        door(pose((0.0, 0.0, 2.01))).solver()


def bennett(angle, twist=0.6, length=0.3, other=0.5):
    """
    Return Bennett's linkage: four hinges in no plane, which move though their number forbids it.

    Opposite sides are equal, and sin(twist) / length is that of all. Of the angles of its hinges
    tan(first / 2) tan(second / 2) is constant; see `second_angle`. The last is the ground.
    """
    larger = np.arcsin(np.sin(twist) * other / length)
    sides = [(length, twist), (other, larger)] * 2
    ratio = np.sin(0.5 * (larger + twist)) / np.sin(0.5 * (larger - twist))
    second = 2.0 * np.arctan(ratio / np.tan(0.5 * angle))
    angles = (angle, second, 2.0 * np.pi - angle, 2.0 * np.pi - second)
    along = [pose((a, 0.0, 0.0), exp_so3(np.array([turn, 0.0, 0.0]))) for a, turn in sides]
    kinds = [JointKind('revolute', coordinates=[Coordinate(position=a)]) for a in angles]
    bodies = {f'bar_{i}': RigidBody(1.0, 0.01 * np.eye(3), (0.1, 0.0, 0.0)) for i in range(3)}
    ends = [Attachment(f'bar_{i}') for i in range(3)] + [
        Attachment('ground', np.linalg.inv(along[3]))]
    starts = [Attachment()] + [Attachment(f'bar_{i}', along[i]) for i in range(3)]
    return Assembly(bodies, {}, {f'hinge_{i}': Joint(kinds[i], starts[i], ends[i])
                                 for i in range(4)}, DOWN), ratio


def test_bennetts_linkage_moves_though_counting_forbids_it():
    """Three equations follow from the others, others at each instant, while it is closed."""
    assembly, ratio = bennett(0.9)
    drifts = []
    for dt in (2e-3, 1e-3):
        solver = assembly.solver()
        at = places(solver, *(f'hinge_{i}' for i in range(4)))
        assert len(solver.redundant) == 3
        assert solver.gap() < 1e-14 and solver.start()
        before = sum(solver.energy())
        for _ in range(round(0.2 / dt)):
            assert solver.step(dt).converged
            first, second, third, fourth = solver.z[at]
            np.testing.assert_allclose(
                np.tan(0.5 * first) * np.tan(0.5 * second), ratio, rtol=1e-9)
            np.testing.assert_allclose(
                [first + third, second + fourth], 2.0 * np.pi, rtol=0.0, atol=1e-9)
        assert solver.gap() < 1e-10
        assert abs(solver.z[at[0]] - 0.9) > 0.1  # it did move
        drifts.append(abs(sum(solver.energy()) - before))
    assert max(drifts) < 1e-6


def arm_on_a_limit():
    """Return a double pendulum whose elbow has a limit, as a knee has."""
    return Assembly({'thigh': BOB, 'shank': BOB}, {}, {
        'hip': Joint(hinge(position=1.2), Attachment(), Attachment('thigh')),
        'knee': Joint(hinge(position=-0.8, most=0.0),
                      Attachment('thigh', pose((0.0, 0.0, -2.0 * ARM))), Attachment('shank')),
    }, DOWN)


@pytest.mark.parametrize('scheme', sorted(SCHEMES))
def test_a_knee_that_hits_its_limit_takes_the_impulse_to_the_hip(scheme):
    """An inelastic impact in one joint: the angular momentum about the hip does not jump."""
    dt = 2e-4
    solver = arm_on_a_limit().solver(SCHEMES[scheme])
    assert solver.start()
    knee, highest = places(solver, 'knee')[0], sum(solver.energy())
    while solver.z[knee] < -1e-9:
        before = solver.momentum()[4], solver.z_t.copy(), sum(solver.energy())
        assert solver.step(dt).converged and solver.time < 1.0
    assert before[1][knee] > 0.5  # it came with a rate
    for _ in range(3):
        assert solver.step(dt).converged
        assert -1e-9 < solver.z[knee] < 1e-12
    np.testing.assert_allclose(solver.z_t[knee], 0.0, atol=1e-7)
    # Weight changes it by so much in four steps.
    np.testing.assert_allclose(
        solver.momentum()[4], before[0], rtol=0.0, atol=5.0 * dt * 2.0 * MASS * G * 3.0 * ARM)
    after = sum(solver.energy())
    one = ABOUT_PIVOT + INERTIA + MASS * (3.0 * ARM) ** 2  # both as one body, about the hip
    rate = -before[0] / one
    np.testing.assert_allclose(abs(solver.z_t[places(solver, 'hip')[0]]), abs(rate), rtol=2e-2)
    assert after < before[2] and after < highest
    for _ in range(500):  # stretched, until the swing itself bends the knee
        assert solver.step(dt).converged
        assert solver.z[knee] < 1e-12


def test_motion_beyond_an_impact_converges_with_the_step():
    """At first order at least, on average over the phases at which steps meet the impact."""
    def hip(dt, delay):
        solver = arm_on_a_limit().solver()
        assert solver.start()
        assert solver.step(delay).converged
        for _ in range(round(0.5 / dt)):
            assert solver.step(dt).converged
        assert solver.z[places(solver, 'knee')[0]] > -0.1  # it has hit its limit
        return solver.z[places(solver, 'hip')[0]]

    delays = 1e-3 * (1.0 + np.arange(8) / 8.0)
    exact = [hip(5e-5, delay) for delay in delays]
    errors = [np.mean([abs(hip(dt, t) - end) for t, end in zip(delays, exact)])
              for dt in (8e-3, 2e-3, 5e-4)]
    assert np.log(np.divide(errors[:-1], errors[1:])).min() > np.log(4.0), errors
    assert errors[-1] < 1e-4


@pytest.mark.parametrize('kind', ['spherical', 'free', 'point_on_line', 'point_on_plane'])
def test_limits_of_a_free_turn_are_refused(kind):
    """It counts from the last attitude: a limit would be one of each step's turn."""
    count = JointKind(kind).count
    for k in range(count):
        coordinates = [Coordinate(most=0.1) if i == k else Coordinate() for i in range(count)]
        if k < count - 3:
            JointKind(kind, coordinates=coordinates)  # of sliding
            continue
        with pytest.raises(InvalidModel, match=rf'coordinates\[{k}\].least'):
            JointKind(kind, coordinates=coordinates)


SHARP = {'least': -0.01, 'most': 0.02}
HEAVY = RigidBody(0.5, 1e-2 * np.diag([1.0, 1.5, 2.0]), (0.05, 0.02, 0.1))


@pytest.mark.parametrize('scheme', SCHEMES)
@pytest.mark.parametrize('kind', ['planar', 'cylindrical', 'universal', 'line_on_plane'])
def test_all_coordinates_of_a_joint_may_have_limits(kind, scheme):
    joint = JointKind(kind, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    limited = JointKind(kind, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0),
                        coordinates=[Coordinate(**SHARP)] * joint.count)
    solver = Assembly({'body': HEAVY}, {}, {'joint': Joint(
        limited, Attachment(), Attachment('body'))}, (5.0, 3.0, -G)).solver(SCHEMES[scheme])
    assert solver.start()
    start, at = sum(solver.energy()), solver.places.coordinates['joint']
    for _ in range(200):
        assert solver.step(2e-3).converged
        assert (solver.z[at] < SHARP['most'] + 1e-9).all()
        assert (solver.z[at] > SHARP['least'] - 1e-9).all()
        assert sum(solver.energy()) < start + 1e-4
    assert np.isin(np.round(solver.z[at], 9), list(SHARP.values())).any()


@pytest.mark.parametrize('scheme', SCHEMES)
def test_an_arm_with_two_limits_swings_from_where_it_touches_neither(scheme):
    """Until it touches one it moves as without limits."""
    def arm(**limits):
        hip, knee = (hinge(position=q, **limits) for q in (1.0, 0.4))
        return Assembly({'thigh': BOB, 'shank': BOB}, {}, {
            'hip': Joint(hip, Attachment(), Attachment('thigh')),
            'knee': Joint(knee, Attachment('thigh', pose((0.0, 0.0, -0.5))),
                          Attachment('shank'))}, DOWN).solver(SCHEMES[scheme])

    limited, free = arm(least=-0.5, most=1.5), arm()
    assert limited.start() and free.start()
    met = False
    for _ in range(500):
        assert limited.step(2e-3).converged
        assert (np.abs(limited.z - 0.5) < 1.0 + 1e-9).all()
        met = met or bool((np.abs(np.abs(limited.z - 0.5) - 1.0) < 1e-9).any())
        if not met:
            assert free.step(2e-3).converged
            np.testing.assert_allclose(limited.z, free.z, atol=1e-9)
    assert met


@pytest.mark.parametrize('end', ['base_joint', 'tip_joint'])
@pytest.mark.parametrize('kind', ['revolute', 'prismatic', 'universal'])
def test_joints_at_the_ends_of_a_rod_may_have_limits(kind, end):
    joint = JointKind(kind, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    limited = JointKind(kind, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0),
                        coordinates=[Coordinate(**SHARP)] * joint.count)
    rod = RodPart(soft_rod(0.2, 0.01, 1e7), StrainModes(0, 0, 0, 2, 2, 1),
                  tip=Attachment('body'), **{end: limited})
    solver = Assembly({'body': HEAVY}, {'rod': rod}, {}, (5.0, 3.0, -G)).solver()
    assert solver.start()
    at = solver.places.coordinates['rod.base' if end == 'base_joint' else 'rod.tip']
    met = False
    for _ in range(200):
        assert solver.step(2e-3).converged
        assert (solver.z[at] < SHARP['most'] + 1e-9).all()
        assert (solver.z[at] > SHARP['least'] - 1e-9).all()
        met = met or bool(np.isin(np.round(solver.z[at], 9), list(SHARP.values())).any())
    assert met


@pytest.mark.parametrize('kind', ['spherical', 'free', 'point_on_line', 'point_on_plane'])
def test_free_turns_cannot_be_told(kind):
    """They are counted from the last attitude, so that the same position is another next time."""
    told = [Coordinate()] * (JointKind(kind).count - 1) + [Coordinate(driven=True)]
    with pytest.raises(InvalidModel, match='driven'):
        JointKind(kind, coordinates=told)


# --- Springs of free turns -----------------------------------------------------------------------

def sprung(kind, body, stiffness, rest, damping=(0.0, 0.0, 0.0), scheme='generalised_alpha'):
    """Return a body on a joint that turns freely, with springs; its turn's places in z."""
    free = [Coordinate()] * (JointKind(kind).count - 3)
    coordinates = [Coordinate(stiffness=k, rest=phi, damping=c)
                   for k, phi, c in zip(stiffness, rest, damping)]
    solver = Assembly({'body': body}, {}, {'joint': Joint(
        JointKind(kind, coordinates=free + coordinates), Attachment(), Attachment('body'))},
        (0.0, 0.0, 0.0)).solver(SCHEMES[scheme])
    return solver, np.array(solver.places.coordinates['joint'])[-3:]


@pytest.mark.parametrize('kind', ['spherical', 'free'])
def test_the_moment_of_a_spring_is_the_gradient_of_its_energy(kind):
    """Of (phi - rest)^T K (phi - rest) / 2, phi the rotation vector of the whole turn."""
    rng, K, rest = np.random.default_rng(4), np.array([0.7, 2.0, 5.0]), np.array([0.2, -0.4, 0.1])
    solver, turn = sprung(kind, HEAVY, K, rest)
    still = np.zeros(solver.Z)

    def energy(R):
        away = Rotation.from_matrix(R).as_rotvec() - rest
        return 0.5 * away @ (K * away)

    def slope(f, h=1e-3):
        return np.array([sum(c * (f(k * h * e) - f(-k * h * e)) for k, c in (
            (1, 0.75), (2, -0.15), (3, 1.0 / 60.0))) / h for e in np.eye(3)])

    for size in (0.0, 1e-6, 0.3, 1.0, 2.9):
        whole = Rotation.from_rotvec(size * rng.permutation([0.6, 0.0, 0.8])).as_matrix()
        z = still.copy()
        z[turn] = 0.3 * rng.normal(size=3)  # since the last instant
        solver.tree.joints.reference[solver._turning[0]] = exp_so3(-z[turn]) @ whole
        moment = solver.residual(z, still, still)
        expected = slope(lambda turned, whole=whole: energy(exp_so3(turned) @ whole))
        np.testing.assert_allclose(moment[turn], expected, rtol=0.0, atol=1e-9)
        assert not np.delete(moment, turn).any()

        def moment_at(y, z=z):
            moved = z.copy()
            moved[turn] += y
            return solver.residual(moved, still, still)[turn]

        tangent = solver.jacobian(z, still, still, 0.0, 0.0)[1][np.ix_(turn, turn)]
        np.testing.assert_allclose(tangent.T, slope(moment_at), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize('kind', ['spherical', 'free'])
@pytest.mark.parametrize('axis', range(3))
def test_a_body_on_a_spring_of_a_free_turn_is_a_damped_oscillator(kind, axis):
    """Far beyond what a step turns by; against the closed form."""
    J, k, c, rest, start = np.array([0.02, 0.03, 0.05]), 3.0, 0.05, 0.3, 2.4
    body, along = RigidBody(0.5, np.diag(J)), np.eye(3)[axis]

    def run(steps):
        solver, turn = sprung(kind, body, k * (1.0 + along), rest * along, np.full(3, c))
        z, path = np.zeros(solver.Z), []
        z[turn] = start * along
        solver.set_state(z)
        assert solver.start()
        link = solver.places.bodies['body'].link
        for i in range(1, steps + 1):
            assert solver.step(1.0 / steps).converged
            if i * 10 % steps == 0:
                solver.refresh()
                path.append(Rotation.from_matrix(solver.frame(link).R).as_rotvec())
        return path

    found, order = extrapolated(run, 400)
    t, decay = np.arange(1, 11) / 10.0, 0.5 * c / J[axis]
    fast = np.sqrt(2.0 * k / J[axis] - decay ** 2)
    angle = rest + (start - rest) * np.exp(-decay * t) * (
        np.cos(fast * t) + decay / fast * np.sin(fast * t))
    assert order > 1.8
    np.testing.assert_allclose(found, angle[:, None] * along, rtol=0.0, atol=2e-4)
