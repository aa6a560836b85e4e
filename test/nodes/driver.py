"""Who drives a simulated robot from another process: what goes in, and what comes back."""

from contextlib import contextmanager
from pathlib import Path
import time

from ament_index_python.packages import get_package_prefix
from conftest import Running
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from listener import Listener
import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from cosserat_ros.srv import Reset, SetWrench

IN = {'~/commands': Float64MultiArray, 'joint_commands': JointState,
      '~/joint_trajectory': JointTrajectory, '~/wrench': WrenchStamped}


class Driver(Listener):
    """One who listens to a simulator and drives it."""

    def __init__(self, namespace='', name='driver', bound=10.0):
        super().__init__(name)
        self.namespace, self.own = namespace, f'{namespace}/simulator'
        for kind, topic in ((JointState, 'joint_states'), (PoseStamped, '~/tip_pose'),
                            (TwistStamped, '~/tip_twist')):
            self.subscribe(kind, self.topic(topic))
        self.subscribe(DiagnosticArray, '/diagnostics')
        self._publishers = {
            topic: self.node.create_publisher(kind, self.topic(topic), 10)
            for topic, kind in IN.items()}
        assert self.spin_until(lambda: self.heard('joint_states') and all(
            self.listeners(topic) for topic in IN), bound)

    def topic(self, name):
        return name.replace('~', self.own) if name[0] == '~' else f'{self.namespace}/{name}'

    def heard(self, topic):
        return self.messages[self.topic(topic)]

    def send(self, topic, message):
        self._publishers[topic].publish(message)

    def tell(self, topic, message):
        """Send a message that is there before any request that comes after it."""
        self.send(topic, message)
        assert self._publishers[topic].wait_for_all_acked(Duration(seconds=20))

    def listeners(self, topic):
        """Return how many listen to what is sent on a topic."""
        return self._publishers[topic].get_subscription_count()

    def ask(self, kind, service, timeout=20.0, attempts=1, **fields):
        return self.call(kind, f'{self.own}/{service}', kind.Request(**fields), timeout, attempts)

    def set_parameter(self, name, value):
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()])
        return self.call(
            SetParameters, f'{self.own}/set_parameters', request, attempts=3).results[0]

    def fresh(self, topic='joint_states', timeout=20.0):
        """Return the next message of a topic that tells of now or later, where stamps are real."""
        now, heard = time.time(), self.heard(topic)
        heard.clear()

        def new():
            stamp = heard[-1].header.stamp if heard else None
            return stamp and (stamp.sec < 1e6 or stamp.sec + 1e-9 * stamp.nanosec >= now)
        assert self.spin_until(new, timeout), f'silent: {topic}'
        return heard[-1]

    def efforts(self):
        return list(self.fresh().effort)

    def tip(self):
        p = self.fresh('~/tip_pose').pose.position
        return np.array([p.x, p.y, p.z])

    def diagnosis(self, fresh=True):
        """Return level, words and values of this robot's newest diagnostics."""
        name = f'{self.own}: simulation'
        if fresh:
            self.spin(0.1)  # what waits is old
            self.messages['/diagnostics'].clear()

        def found():
            return [s for m in self.messages['/diagnostics'] for s in m.status if s.name == name]
        assert self.spin_until(found, 20.0), 'no diagnostics'
        status = found()[-1]
        return int.from_bytes(status.level, 'little'), status.message, {
            v.key: v.value for v in status.values}

    def rejection(self, before, timeout=10.0):
        """Wait until more commands were rejected than before; return why the last one was."""
        said = {}

        def rejected():
            said.update(self.diagnosis()[2])
            return int(said['rejected commands']) > before
        assert self.spin_until(rejected, timeout), said
        return said['last rejection']

    def reset(self):
        """Bring the robot back to where it began, running."""
        assert self.ask(SetWrench, 'set_wrench', attempts=3).success
        assert self.ask(Reset, 'reset', attempts=3, target=Reset.Request.REST).success
        assert self.ask(SetBool, 'pause', attempts=3, data=False).success

    def command(self, values):
        """Send commands until they have arrived: a new listener may miss the first."""
        def arrived():
            self.send('~/commands', Float64MultiArray(data=[float(x) for x in values]))
            age = self.diagnosis()[2]['command age [s]']
            return age != 'never commanded' and float(age) < 1.5
        assert self.spin_until(arrived, 10.0)

    def equilibrium(self):
        """Bring the robot to the equilibrium of its commands and loads."""
        answer = self.ask(Reset, 'reset', attempts=2, target=Reset.Request.EQUILIBRIUM)
        assert answer.success, answer.message


@contextmanager
def simulator(*arguments, namespace='', **parameters):
    """Start a simulator as ``ros2 run`` does, and one who drives it."""
    given = [w for name, value in parameters.items() for w in ('-p', f'{name}:={value}')]
    executable = Path(get_package_prefix('cosserat_ros')) / 'lib' / 'cosserat_ros' / 'simulator'
    process = Running([str(executable), '--ros-args', *arguments, *given], None)
    driver = None
    try:
        driver = Driver(namespace, bound=30.0)
        yield driver, process
    finally:
        if driver is not None:
            driver.close()
        process.kill()


def wait_for(condition, timeout=10.0):
    """Wait without receiving anything."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
