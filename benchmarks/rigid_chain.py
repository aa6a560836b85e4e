"""
How the cost of a step grows with the number of rigid bodies in a chain, and beside Pinocchio.

    environment/enter python benchmarks/rigid_chain.py

A chain of bars with revolute joints about axes in turns, which falls from a bent start: 1 ms per
step. Of five runs, which are all alike, the best time of every step counts: others may use the
machine, too. Pinocchio (``pip install pin``) makes as many steps of the same size with
`aba` and `integrate`, called from Python; its column is left out where it cannot be imported. It
is of first order and explicit there, ours is of second order and implicit: each step has Newton's
iterations, the number of which stands beside the time.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from cosserat_ros.assembly.assembly import Assembly, Attachment, GROUND, Joint, pose, RigidBody
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind

try:
    import pinocchio
except ImportError:
    pinocchio = None

COUNTS = (10, 25, 50, 100, 200, 400)
LENGTH, MASS, INERTIA = 0.1, 0.2, 2e-4  # of a bar [m, kg, kg m^2]
BEND = 0.1                              # of each joint at the start [rad]
AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)  # of the joints, in turns
GRAVITY = (0.0, 0.0, -9.81)
DT, STEPS, RUNS = 1e-3, 200, 5


def best(run: Callable[[int], tuple[np.ndarray, float, np.ndarray]], n: int) -> tuple[
        float, float, np.ndarray]:
    """Return seconds and iterations per step, and where the tip ends [m], of the best times."""
    runs = [run(n) for _ in range(RUNS)]
    return float(np.min([seconds for seconds, _, _ in runs], axis=0).mean()), *runs[0][1:]


def ours(n: int) -> tuple[np.ndarray, float, np.ndarray]:
    """Return seconds of each step, iterations per step, and where the tip ends [m]."""
    joints, before = {}, GROUND
    for i in range(n):
        kind = JointKind('revolute', AXES[i % 2], coordinates=[Coordinate(position=BEND)])
        at = pose((0.0, 0.0, -LENGTH)) if i else pose()
        joints[f'joint_{i}'] = Joint(kind, Attachment(before, at), Attachment(f'bar_{i}'))
        before = f'bar_{i}'
    bar = RigidBody(MASS, INERTIA * np.eye(3), (0.0, 0.0, -0.5 * LENGTH))
    solver = Assembly({f'bar_{i}': bar for i in range(n)}, {}, joints, GRAVITY).solver()
    solver.set_state(solver.z)
    assert solver.start() and solver.step(DT).converged
    iterations, seconds = 0, np.empty(STEPS)
    for i in range(STEPS):
        begin = perf_counter()
        solution = solver.step(DT)
        seconds[i] = perf_counter() - begin
        assert solution.converged, solution.message
        iterations += solution.iterations
    tip = solver.places.bodies[before].link
    return seconds, iterations / STEPS, solver.refresh().end.p[tip].copy()


def theirs(n: int) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the same of Pinocchio, which does not iterate."""
    model, joint = pinocchio.Model(), 0
    model.gravity.linear = np.array(GRAVITY)
    bar = pinocchio.Inertia(MASS, np.array([0.0, 0.0, -0.5 * LENGTH]), INERTIA * np.eye(3))
    for i in range(n):
        place = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, -LENGTH if i else 0.0]))
        joint = model.addJoint(joint, (
            pinocchio.JointModelRX() if i % 2 == 0 else pinocchio.JointModelRY()), place, f'{i}')
        model.appendBodyToJoint(joint, bar, pinocchio.SE3.Identity())
    data, q, v, effort = model.createData(), np.full(n, BEND), np.zeros(n), np.zeros(n)
    seconds = np.empty(STEPS + 1)
    for i in range(STEPS + 1):
        begin = perf_counter()
        v = v + DT * pinocchio.aba(model, data, q, v, effort)
        q = pinocchio.integrate(model, q, DT * v)
        seconds[i] = perf_counter() - begin
    pinocchio.forwardKinematics(model, data, q)
    return seconds, 1.0, data.oMi[joint].translation


def main() -> None:
    """Print the table."""
    print(f'{"bodies":>6} {"us per step":>12} {"iterations":>10} {"slope":>6}'
          + (f' {"Pinocchio":>10} {"ratio":>6} {"tips apart":>12}' if pinocchio else ''))
    times: list[float] = []
    for n in COUNTS:
        seconds, iterations, tip = best(ours, n)
        times.append(1e6 * seconds)
        slope = '' if len(times) == 1 else (
            f'{np.log(times[-1] / times[-2]) / np.log(n / COUNTS[len(times) - 2]):.2f}')
        row = f'{n:6} {times[-1]:12.1f} {iterations:10.1f} {slope:>6}'
        if pinocchio:
            other, _, there = best(theirs, n)
            row += (f' {1e6 * other:10.1f} {seconds / other:6.1f}'
                    f' {1e3 * np.linalg.norm(tip - there):9.2f} mm')
        print(row, flush=True)
    slope, _ = np.polyfit(np.log(COUNTS), np.log(times), 1)
    print(f'time of a step ~ bodies ^ {slope:.2f}')


if __name__ == '__main__':
    main()
