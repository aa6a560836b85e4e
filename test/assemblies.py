"""Random assemblies of bodies, rods and joints, for tests."""

from dataclasses import replace

import numpy as np

from cosserat_ros.assembly.assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from cosserat_ros.assembly.joint_kinds import Coordinate, JointKind, KINDS
from cosserat_ros.assembly.layout import RodLaws
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.rod import Material, Rod, Segment
from cosserat_ros.description.section import Circular
from cosserat_ros.laws.actuators import Paths
from cosserat_ros.laws.capstan_friction import TendonFriction
from cosserat_ros.laws.chords import chords_of, Holes
from cosserat_ros.numerics.lie import exp_so3
from cosserat_ros.rod.discretisation import discretise

MODES = StrainModes(shear_x=1, shear_y=1, stretch=1, bend_x=2, bend_y=2, twist=1, nodes=4)


def soft_rod(length=0.3, radius=0.01, young=1e6):
    """Return a soft rod."""
    return Rod((Segment(length, Circular(radius), Material(young, 1e3, poisson_ratio=0.3)),))


def random_pose(rng, size=0.2):
    """Return a pose anywhere."""
    return pose(size * rng.normal(size=3), exp_so3(rng.normal(size=3)))


def random_body(rng, driven=False):
    """Return a body with its mass anywhere."""
    axes = exp_so3(rng.normal(size=3))
    a = rng.uniform(0.5, 1.0, 3)
    inertia = 1e-3 * axes @ np.diag(np.sum(a) - a) @ axes.T
    return RigidBody(rng.uniform(0.1, 1.0), inertia, 0.1 * rng.normal(size=3),
                     random_pose(rng), driven)


def random_kind(rng, name=None, sprung=True):
    """Return a joint of any kind with any axes, sprung or not."""
    name = name or str(rng.choice(list(KINDS)))
    axis, second = rng.normal(size=(2, 3))
    kind = JointKind(name, axis, second, pitch=0.1 * rng.normal())
    coordinates = [Coordinate(
        stiffness=rng.uniform(0.5, 2.0) if sprung else 0.0,
        damping=rng.uniform(0.0, 0.1) if sprung else 0.0,
        rest=0.1 * rng.normal() if sprung else 0.0, effort=0.1 * rng.normal() if sprung else 0.0)
        for _ in range(kind.count)]
    return JointKind(name, axis, second, kind.pitch, coordinates)


def with_told_and_limited(rng, kind):
    """Return a joint some of whose coordinates are told or have limits, where they can."""
    changed = []
    for k, coordinate in enumerate(kind.coordinates):
        options = [{}, {'driven': True}, {'least': -0.1, 'most': 0.1}, {'most': 0.0}]
        chosen = options[rng.integers(4)] if not kind.turns_freely(k) else {}
        changed.append(replace(coordinate, **chosen))
    return replace(kind, coordinates=changed)


def random_paths(rng, rod, modes, actuators):
    """Return the paths of actuators beside a rod: tendons and chambers in turns."""
    d = discretise(rod, modes)
    N = d.s.size
    return Paths(
        0.01 * rng.normal(size=(actuators, N, 3)), 0.1 * rng.normal(size=(actuators, N, 3)),
        np.tile(d.w, (actuators, 1)), np.arange(actuators) % 2 == 1)


def random_laws(rng, rod, modes, actuators):
    """Return friction of the first actuator, a tendon, or chords, or both, or nothing."""
    if not actuators or rng.random() < 0.4:
        return RodLaws()
    rubs, straight = [(True, False), (False, True), (True, True)][rng.integers(3)]
    holes = Holes(np.array([0.02, 0.1, 0.2, 0.3]), 0.01 * rng.normal(size=(4, 3)))
    return RodLaws(
        [TendonFriction(0, rng.uniform(0.0, 2.0), rng.uniform(0.0, 0.5), 1e-2)] if rubs else [],
        chords_of(rod, modes, discretise(rod, modes), {0: holes}) if straight else None)


def random_dry_bending(rng, rod, modes):
    """
    Return limits and stiffnesses of bristles at the nodes, or nothing.

    They stick or slip, far from the kink in between.
    """
    if rng.random() < 0.6:
        return None
    slips = rng.random(discretise(rod, modes).s.size) < 0.5
    moment = rng.uniform(1e-3, 1e-2, size=slips.size)
    return np.stack([np.where(slips, moment, 1e3), np.where(slips, 1e3, moment)], axis=1)


def random_assembly(rng, bodies=4, rods=2, loops=1, kinds=None, odd=False):
    """
    Return a tree of bodies, joints and rods with some loops.

    If `odd`, bodies without mass are among them, coordinates that are told or limited, in loops
    too, joints of all kinds at the ends of rods, and one that says again what another one does.
    """
    names = [f'body_{i}' for i in range(bodies)]
    parts = {name: random_body(rng, driven=i == 0 and rng.random() < 0.3)
             for i, name in enumerate(names)}
    joints, rod_parts = {}, {}
    if odd:
        parts = {name: RigidBody(pose=body.pose) if not body.driven and rng.random() < 0.2 else
                 body for name, body in parts.items()}

    def anywhere(of):
        return Attachment(str(rng.choice(['ground', *of])), random_pose(rng))

    for i, name in enumerate(names):
        if parts[name].driven or rng.random() < 0.15:
            continue  # told, or afloat
        kind = random_kind(rng, str(rng.choice(kinds)) if kinds else None)
        kind = with_told_and_limited(rng, kind) if odd else kind
        joints[f'joint_{i}'] = Joint(kind, anywhere(names[:i]), Attachment(name, random_pose(rng)))
    for i in range(rods):
        rod, actuators = soft_rod(), int(rng.integers(0, 3))
        modes = StrainModes(**{**MODES.__dict__, 'elements': int(rng.integers(1, 4))})
        base = anywhere(names)
        other = [name for name in names if name != base.body]
        tip = Attachment(str(rng.choice(other)), random_pose(rng)) if (
            other and rng.random() < 0.5) else None
        rod_parts[f'rod_{i}'] = RodPart(
            rod, modes, base, tip,
            random_kind(rng, None if odd else str(rng.choice(['clamped', 'revolute']))),
            random_kind(rng, None if odd else str(rng.choice(
                ['clamped', 'spherical', 'revolute']))),
            random_paths(rng, rod, modes, actuators),
            laws=random_laws(own := np.random.default_rng(int(1e9 * rng.random())), rod, modes,
                             actuators),
            dry_bending=random_dry_bending(own, rod, modes))
    for i in range(loops if bodies > 1 else 0):
        a, b = rng.choice(names, 2, replace=False)
        kind = random_kind(rng, sprung=bool(odd and rng.random() < 0.5))
        kind = with_told_and_limited(rng, kind) if odd and rng.random() < 0.5 else kind
        joints[f'loop_{i}'] = Joint(
            kind, Attachment(str(a), random_pose(rng)), Attachment(str(b), random_pose(rng)))
    if odd and joints and rng.random() < 0.5:
        name = str(rng.choice(list(joints)))
        joints['again'] = replace(
            joints[name], kind=replace(joints[name].kind, coordinates=()))
    return Assembly(parts, rod_parts, joints, (0.3, -0.2, -9.81))


def random_solver(rng, **sizes):
    """Return the solver of a random assembly whose loops can be closed, or held no more often."""
    while True:
        try:
            return random_assembly(rng, **sizes).solver()
        except InvalidModel:  # a loop that cannot be closed
            continue


def stir(rng, solver, rate=0.5):
    """Give all that acts on an assembly some value; return coordinates and rates anywhere."""
    tree, b = solver.tree, solver.tree.bodies
    for array in (b.force, b.moment, b.follower_force, b.follower_moment):
        array[:] = 0.1 * rng.normal(size=array.shape)
    b.lever[:] = 0.05 * np.random.default_rng(1).normal(size=b.lever.shape)
    tree.laws.memory[:] = 1e-2 * np.random.default_rng(0).normal(size=tree.laws.memory.size)
    tree.elements.loads[:] = 0.1 * rng.uniform(size=tree.elements.loads.shape)
    for square_drag in tree.elements.first[:, 13]:  # has a kink where a node stands still
        tree.elements.loads[square_drag:square_drag + 3] = 0.0
    for j in range(len(tree.joints.reference)):
        tree.joints.reference[j] = exp_so3(rng.normal(size=3))
    for link in np.flatnonzero(tree.links.kind == 0)[1:]:
        for part in tree.roots[2:]:
            part[link] = rate * rng.normal(size=3)
    z, z_t, z_tt = rate * rng.normal(size=(3, solver.Z))
    moves = solver.moves
    return z, np.where(moves, z_t, 0.0), np.where(moves, z_tt, 0.0)
