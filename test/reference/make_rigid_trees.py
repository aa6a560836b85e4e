"""
Make rigid_trees.npz: accelerations of random rigid trees by Pinocchio's `aba`.

    python -m venv /tmp/reference && /tmp/reference/bin/pip install pin
    /tmp/reference/bin/python test/reference/make_rigid_trees.py

Made with pin 4.1.0. For each tree of `rigid_trees.random_tree`, the accelerations of all bodies'
frames one after another: that of the origin [m/s^2] and the angular one [rad/s^2], world frame.
"""

from pathlib import Path
import sys

import numpy as np
import pinocchio as pin

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rigid_trees import FREEDOM, GROUND, random_tree, sliding, TREES, turning  # noqa: E402


def se3(g):
    return pin.SE3(g[:3, :3], g[:3, 3])


def joints_of(link):
    """Return joints of Pinocchio's that make one of ours: sliding first, then turning."""
    if link.kind == 'free':
        return [pin.JointModelFreeFlyer()]
    if link.kind == 'screw':
        return [pin.JointModelHelicalUnaligned(link.axis, link.pitch)]
    slides = [pin.JointModelPrismaticUnaligned(a) for a in sliding(link)]
    if FREEDOM[link.kind][1] == 3:
        return [*slides, pin.JointModelSpherical()]
    return [*slides, *(pin.JointModelRevoluteUnaligned(a) for a in turning(link))]


def state_of(link):
    """Return coordinates, rates and efforts as Pinocchio has them: of free turns, body frame."""
    slides, turns = FREEDOM[link.kind]
    if turns < 3:
        return link.q, link.q_t, link.effort
    along = 0 if link.kind == 'free' else slides  # from where on rates are of the body's frame
    v, f = (np.concatenate([a[:along], (a[along:].reshape(-1, 3) @ link.attitude).ravel()])
            for a in (link.q_t, link.effort))
    return np.concatenate([link.q[:slides], pin.Quaternion(link.attitude).coeffs()]), v, f


def accelerations(number):
    """Return those of all bodies of a tree, (n, 6)."""
    gravity, links = random_tree(number)
    model = pin.Model()
    model.gravity.linear = gravity
    at, frames, ends = {GROUND: (0, pin.SE3.Identity())}, [], []
    for i, link in enumerate(links):
        joint, place = at[link.parent]
        place = place * se3(link.start)
        for k, kind in enumerate(joints_of(link)):
            joint, place = model.addJoint(joint, kind, place, f'{i}.{k}'), pin.SE3.Identity()
        ends.append((joint, place))
        place = place * se3(link.end).inverse()
        model.appendBodyToJoint(
            joint, pin.Inertia(link.mass, link.centre, link.inertia), place)
        frames.append(model.addFrame(pin.Frame(f'{i}', joint, place, pin.FrameType.BODY)))
        at[i] = joint, place
    q, v, effort = (np.concatenate(parts) for parts in zip(*map(state_of, links)))
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    loads = [pin.Force.Zero() for _ in range(model.njoints)]
    for (joint, place), link in zip(ends, links):
        end = data.oMi[joint] * place
        world = pin.Force(link.force, link.moment + np.cross(end.translation, link.force))
        loads[joint] += data.oMi[joint].actInv(world)
    a = pin.aba(model, data, q, v, effort, loads)
    pin.forwardKinematics(model, data, q, v, a)
    return np.array([pin.getFrameClassicalAcceleration(
        model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector for frame in frames])


def main():
    """Write the file."""
    assert set(FREEDOM) == {*(link.kind for n in range(TREES) for link in random_tree(n)[1])}
    rows = np.concatenate([accelerations(n) for n in range(TREES)])
    assert np.isfinite(rows).all()
    np.savez_compressed(HERE / 'rigid_trees.npz', accelerations=rows)
    print(f'{len(rows)} bodies of {TREES} trees, up to {np.abs(rows).max():.3g} m/s^2 or rad/s^2')


if __name__ == '__main__':
    main()
