"""A tip that is led along a path by poses that come late, at odd times, or not at all."""

from heapq import heappop, heappush

from conftest import ROOT
import numpy as np
import pytest

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.control.resolved_rate import ResolvedRate, SwingDamper
from cosserat_ros.control.tip_follower import TipFollower
from cosserat_ros.control.tip_path import eased_time, TipPath
from cosserat_ros.description.joints import JointDrive
from cosserat_ros.description.robot import load
from cosserat_ros.inverse.statics import InverseStatics
from cosserat_ros.inverse.task import Target
from cosserat_ros.simulation.simulator import Simulator

RATE = 60.0        # [Hz] of poses
SMOOTHING, GAIN, RATIO = 0.15, 2.0, 0.2  # as the node has them
SEEN = 0.1         # [s] from one Jacobian to the next


class Loop:
    """
    A simulator and a follower, with a way in between that takes time.

    Parameters
    ----------
    name : str
        Of the robot.
    path : TipPath
    led : sequence of bool
        Which coordinates are controlled.
    lead : float
        [s].

    """

    def __init__(self, name, path, led, lead=0.0):
        self.robot = load(ROOT / 'config' / f'{name}.yaml')
        self.sim, self.path, self.led, self.lead = Simulator(self.robot), path, np.array(led), lead
        self.names = list(self.robot.actuators)
        actuators = list(self.robot.actuators.values())
        self.lower, self.upper = np.array([one.bounds for one in actuators]).T
        self.rate = np.array([np.inf if one.rate is None else one.rate for one in actuators])
        self.direct = np.array([isinstance(one, JointDrive) for one in actuators])
        assert self.sim.statics().converged
        self.twin = self.sim.twin()
        self.commands = self._beginning()
        self.sim.command(**dict(zip(self.names, self.commands)))
        assert self.sim.statics().converged

    def _beginning(self):
        """Return commands that have the tip where the path begins; from above, if it is free."""
        wanted, search = self.path.position(0.0), InverseStatics(self.sim)
        if not self.led[2]:
            wanted[2] = self.sim.tip_pose()[2, 3]
        for _ in range(20):
            found = search.solve([Target(position=wanted)]).commands
            self.twin.command(**found)
            assert self.twin.statics().converged
            tip = self.twin.tip_pose()[:3, 3]
            if np.linalg.norm((tip - wanted)[self.led]) < 1e-3:
                return np.array([found[name] for name in self.names])
            wanted[2] = wanted[2] if self.led[2] else tip[2]
        raise AssertionError('out of reach')

    def place(self, time):
        along, pace = eased_time(max(time, 0.0), 0.25 * self.path.period)
        return self.path.position(along), pace * self.path.velocity(along)

    def model(self, commands):
        """Return the linear system about the equilibrium of commands."""
        self.twin.set_loads(self.sim.named_loads)
        self.twin.command(**dict(zip(self.names, commands)))
        assert self.twin.statics().converged
        return linearize(self.twin)

    def follower(self):
        length = max(rod.length for rod in self.robot.rods.values())
        spans = np.minimum(self.upper, 10.0 * length + 1e5 * (self.upper > 1e3)) - np.maximum(
            self.lower, -10.0 * length)
        control, damping = (ResolvedRate(
            self.lower, self.upper, rate, np.zeros(len(self.names)), spans, length, 0.02, 0.5)
            for rate in (self.rate, np.where(self.direct, 0.0, self.rate)))
        model = self.model(self.commands)
        return TipFollower(
            self.place, self.led, control, damping,
            SwingDamper(model.A, 2.0 * np.pi * RATE / 4.0), self.commands,
            self.robot.time.step, 0.2 * self.path.radius, 1.0 / RATE), model.jacobian[:3]

    def errors(self, duration, here, back, lost, gain=GAIN):
        """
        Return distances from the path at each step [m].

        Parameters
        ----------
        duration : float
            [s].
        here, back : callable
            Time that the pose of a step takes to the follower, and a command back [s].
        lost : callable
            Whether a pose is lost.
        gain : float
            [1/s].

        """
        follower, jacobian = self.follower()
        poses, ways, told, linearised, shown = [], [], self.commands, 0.0, 0.0
        step, found = self.robot.time.step, []
        for k in range(1, round(duration / step) + 1):
            now = k * step
            while poses and poses[0][0] <= now:
                came, stamp, tip, velocity = heappop(poses)
                follower.see(stamp, np.array(tip), SMOOTHING)
                sent = follower.step(
                    came, np.array(velocity), jacobian, gain, RATIO, SMOOTHING, self.lead, 0.005)
                if sent is not None:
                    heappush(ways, (came + back(k), tuple(sent)))
                if came - linearised > SEEN:
                    linearised, jacobian = came, self.model(told).jacobian[:3]
            while ways and ways[0][0] <= now:
                told = np.array(heappop(ways)[1])
            self.sim.command(**dict(zip(self.names, told)))
            assert self.sim.step(step).converged
            tip = self.sim.tip_pose()[:3, 3]
            found.append(np.linalg.norm((self.place(now)[0] - tip)[self.led]))
            if now >= shown and not lost(k):
                heappush(poses, (now + here(k), now, tuple(tip),
                                 tuple(self.sim.tip_twist()[:3])))
            shown += now >= shown and 1.0 / RATE
        return np.array(found)


def soon(_):
    return 0.003


def never(_):
    return False


PLANE, SPACE = (True, True, False), (True, True, True)


def circle(period, radius=0.03, centre=(0.0, 0.0, 0.0)):
    return TipPath('circle', centre, radius, period)


def tendon_arm(period=4.0):
    return Loop('tendon_arm', circle(period), PLANE)


def arm_on_slide(period=4.0):
    """Beside its axis of turning: on it, turning does not move the tip."""
    return Loop('arm_on_slide', circle(period, centre=(0.0, 0.05, 0.0)), PLANE)


def mobile_arm(period=4.0):
    return Loop('mobile_arm', circle(period), PLANE)


def finger(period=4.0):
    return Loop('fluidic_finger_three_chambers', circle(period, 0.0125, (0.0, 0.0, 0.105)),
                SPACE, 0.05)


ROBOTS = tendon_arm, arm_on_slide, mobile_arm, finger


def rms(errors):
    """Return the RMS of the second half."""
    return np.sqrt(np.mean(errors[len(errors) // 2:] ** 2))


@pytest.mark.parametrize('robot', ROBOTS)
@pytest.mark.parametrize('delay', [0.0, 0.02, 0.04, 0.06, 0.08, 0.1])
def test_a_delay_that_stamps_tell_does_not_matter(robot, delay):
    loop = robot()
    errors = loop.errors(6.0, lambda _: 0.002 + delay, soon, never)
    print(f'RMS {1e3 * rms(errors):.3f} mm')
    assert rms(errors) < 0.05 * loop.path.radius


@pytest.mark.parametrize('robot', ROBOTS)
@pytest.mark.parametrize('seed', [0, 1])
def test_poses_and_commands_at_odd_times_or_lost_do_not_make_it_swing(robot, seed):
    """A third lost, and others late by up to 100 ms, as many the one way as the other."""
    rng = np.random.default_rng(seed)
    lost, late = rng.random(3000) < 0.3, np.minimum(rng.exponential(0.02, (2, 3000)), 0.1)
    loop = robot(8.0)
    errors = loop.errors(
        12.0, lambda k: 0.002 + late[0, k], lambda k: 0.002 + late[1, k], lost.__getitem__)
    print(f'RMS {1e3 * rms(errors):.3f} mm, at most {1e3 * errors.max():.3f} mm')
    assert rms(errors) < 0.2 * loop.path.radius
    assert errors.max() < 0.5 * loop.path.radius


# --- The law by itself ---------------------------------------------------------------------------

def law(path, frequency=0.0, delay=0.0):
    """Return a follower whose commands are the place of the tip at rest."""
    free = np.full(3, np.inf)
    control = ResolvedRate(-free, free, free, np.zeros(3), np.ones(3), 1.0, 1e-9, 0.0)
    damper = SwingDamper(np.array([[0.0, 1.0], [-frequency ** 2, 0.0]]), 1e3)
    return TipFollower(path, np.ones(3, dtype=bool), control, control, damper, path(0.0)[0],
                       delay, 1.0, 1.0 / RATE)


@pytest.mark.parametrize('smoothing', [0.0, 0.15, 1.0])
@pytest.mark.parametrize('late', [0, 6, 30, 60])
def test_no_gain_is_too_much_for_a_delay(late, smoothing):
    """Of up to a second: a tip that is pushed aside comes back, without a swing worth the name."""
    follower = law(lambda _: np.zeros((2, 3)))
    places, pushed = [np.zeros(3)], np.array([0.1, 0.0, 0.0])
    for k in range(1, 3000):
        now = k / RATE
        if k > late:
            follower.see((k - late) / RATE, places[k - late - 1] + pushed, smoothing)
        sent = follower.step(now, np.zeros(3), np.eye(3), 100.0, 0.0, smoothing)
        places.append(sent)
    off = np.array(places)[:, 0] + pushed[0]
    assert off.min() > -0.35 * pushed[0]
    assert np.abs(off[-100:]).max() < 1e-3 * pushed[0]


@pytest.mark.parametrize('late', range(8))
def test_a_swing_is_never_fed(late):
    """An undamped one, whose poses take a while, and commands up to as long."""
    w, dt = 44.0, 1.0 / RATE
    for back in range(late + 1):
        follower = law(lambda _: np.zeros((2, 3)), w, dt)
        x, v, places, seen = 0.01, 0.0, [0.0] * 100, []
        sizes = []
        for k in range(1, 400):
            off = x - places[-1 - back]
            c, s = np.cos(w * dt), np.sin(w * dt)
            x, v = places[-1 - back] + off * c + v / w * s, -off * w * s + v * c
            seen.append((x, v))
            if k > late:
                x_seen, v_seen = np.outer(seen[-1 - late], [1.0, 0.0, 0.0])
                follower.see((k - late) * dt, x_seen, SMOOTHING)
                sent = follower.step(k * dt, v_seen, np.eye(3), 0.0, RATIO, SMOOTHING)
                places.append(float(sent[0]))
            sizes.append(np.hypot(x, v / w))
        assert max(sizes[50:]) < 1.02 * sizes[0], (late, back)
        if late == 0:
            assert sizes[-1] < 0.01 * sizes[0]


def test_what_a_late_command_has_missed_is_made_up_for_gradually():
    """Poses stop for 0.2 s: nothing jumps, and half a second later the path is kept again."""
    speed = np.array([0.03, 0.0, 0.0])
    follower = law(lambda t: (speed * t, speed))
    sent, times = [], [k / RATE for k in range(1, 120) if not 60 <= k < 72]
    for now in times:
        follower.see(now, speed * now, 0.0)
        sent.append(follower.step(now, speed, np.eye(3), 0.0, 0.0, 0.0)[0])
    assert np.diff(sent).max() < 1.7 * speed[0] / RATE
    assert sent[-1] == pytest.approx(speed[0] * times[-1], abs=1e-6)
