"""
A "real robot" in a process of its own: it replays a recording, as badly as sensors do.

Its markers are measured in another frame, late, at irregular times, with noise; some are not seen,
some messages never come, some come in the wrong order. It tells the simulated robot the commands
of the recording, at a time of the simulated clock, and prints as JSON what it did.

Usage: real_robot.py <recording.npz> <listeners>
"""

import json
import sys
import time

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Pose, PoseArray
import numpy as np
import rclpy
from rclpy.parameter import Parameter
from scipy.interpolate import CubicSpline
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

LEAD = 0.5  # [s] before the motion begins


def spin_until(node, condition):
    deadline = time.monotonic() + 60.0
    while not condition():
        if time.monotonic() > deadline:
            sys.exit('waited in vain')
        rclpy.spin_once(node, timeout_sec=0.01)


def stamp_of(seconds):
    sec, nanosec = divmod(round(1e9 * seconds), 1_000_000_000)
    return {'sec': sec, 'nanosec': nanosec}


def main():
    recording, listeners = np.load(sys.argv[1]), int(sys.argv[2])
    times, places = recording['times'], CubicSpline(recording['times'], recording['places'])
    period, delay = recording['period'], recording['delay']
    rng = np.random.default_rng(int(recording['seed']))
    rclpy.init()
    node = rclpy.create_node('real_robot', parameter_overrides=[
        Parameter('use_sim_time', value=True)])
    measured = node.create_publisher(PoseArray, 'real/markers', 1000)
    commands = node.create_publisher(JointTrajectory, 'simulator/joint_trajectory', 10)

    def now():
        return 1e-9 * node.get_clock().now().nanoseconds

    spin_until(node, lambda: now() > 0.0 and commands.get_subscription_count() == 1
               and measured.get_subscription_count() == listeners)
    begin = now() + LEAD
    trajectory = JointTrajectory(joint_names=[str(name) for name in recording['names']])
    trajectory.header.stamp.sec, trajectory.header.stamp.nanosec = stamp_of(begin).values()
    for at, tensions in zip(recording['command_times'], recording['commands']):
        trajectory.points.append(JointTrajectoryPoint(
            effort=tensions.tolist(), time_from_start=Duration(**stamp_of(at))))
    commands.publish(trajectory)

    did = {'sent': 0, 'unseen': 0, 'swapped': 0, 'lost': 0}
    held = None
    for k in range(int((times[-1] - 1.0) / period)):
        at = k * period + rng.uniform(0.0, 0.4) * period  # jitter
        if rng.random() < 0.1 or 3.0 < at < 3.4:          # dropouts
            did['lost'] += 1
            continue
        message = PoseArray()
        message.header.frame_id = 'tracker'
        message.header.stamp.sec, message.header.stamp.nanosec = stamp_of(
            begin + at + delay).values()
        seen = places(at) + rng.normal(0.0, recording['noise'], places(at).shape)
        for place in (seen - recording['translation']) @ recording['rotation']:
            if rng.random() < 0.05:
                did['unseen'] += 1
                place = np.full(3, np.nan)  # noqa: PLW2901
            pose = Pose()
            pose.position.x, pose.position.y, pose.position.z = place.tolist()
            message.poses.append(pose)
        spin_until(node, lambda at=at: now() >= begin + at + delay)
        if held is None and rng.random() < 0.05:  # to come after the next one
            held = message
            continue
        measured.publish(message)
        did['sent'] += 1
        if held is not None:
            measured.publish(held)
            held, did['swapped'] = None, did['swapped'] + 1
    print(json.dumps(did), flush=True)
    spin_until(node, lambda: False)  # until it is ended: what it said is still on its way


if __name__ == '__main__':
    main()
