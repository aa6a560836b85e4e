"""
One rod: its base clamped, moved or free, its tip free or held by a joint.

A small user of :mod:`cosserat_ros.assembly.rods`: the base is a body, driven or free, and so is
what holds the tip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import InvalidModel
from ..laws.actuators import Paths
from ..laws.flow import Station
from ..numerics.integrators import Scheme, SCHEMES
from ..rod.discretisation import Discretisation
from ..rod.kinematics import Base, free_base, kinematics
from .assembly import Assembly, Attachment, Joint, pose, RigidBody, RodPart
from .continuation import Inputs, inputs
from .element import Motion
from .joint_kinds import JointKind
from .loads import join, Loads, no_loads
from .rods import as_expected, RodsSolver
from .solver import Solution
from .state import at_rest, RootMotion

ROD, BASE, HOLDER, TIP = 'rod', 'base', 'holder', 'tip'
FREE, CLAMPED = JointKind('free'), JointKind('clamped')


class Water(NamedTuple):
    """Forces of a fluid on a rod, see `cosserat_ros.laws.flow`."""

    along: Callable[[float], np.ndarray] | None = None  # numbers per length, by arc length [m]
    at_tip: Sequence[Station] = ()


class RodSolver(RodsSolver):
    """
    One rod: what `RodsSolver` is for many, with loads of this rod alone.

    Parameters
    ----------
    d : Discretisation
    base : Base or Motion, optional
        Where the base is, and how it moves at the start; see `at_rest`, the default.
    paths : Paths, optional
        Of its actuators.
    motion : RootMotion, optional
        How the base is moved, see `follow_twist`. Without it, it keeps the motion it has.
    free : bool
        Whether nothing holds the base: the rod floats. In statics, it is held where it is.
    scheme : Scheme
        Time integration.
    tolerance : float
        Of the error that a step leaves in the coordinates, as strain [-].
    water : Water, optional
        What a fluid does along it and at its tip.

    """

    def __init__(
        self, d: Discretisation, base: Base | Motion | None = None, paths: Paths | None = None,
        motion: RootMotion | None = None, free: bool = False,
        scheme: Scheme = SCHEMES['generalised_alpha'], tolerance: float = 1e-12,
        water: Water | None = None,
    ) -> None:
        if not d.component.size:
            raise InvalidModel('modes', 0, 'at least one mode in some component')
        self.d, self.free, self._hold = d, free, FREE
        self.n = d.component.size
        self._water = water or Water()
        self._no_loads = self.no_loads()
        base = Base(*(base or at_rest()))
        self._build(base, paths, FREE, scheme, float(tolerance))
        if motion is not None:
            self.motions[self._base] = motion
        self.put(base, *np.zeros((3, self.n)))

    def _build(
        self, base: Base, paths: Paths | None, kind: JointKind, scheme: Scheme, tolerance: float,
    ) -> None:
        """Make the tree of a rod at rest on its base, its tip held where it is."""
        bodies = {BASE: RigidBody(pose=pose(base.p, base.R), driven=not self.free)}
        joints, tip, tip_joint = {}, None, CLAMPED
        if kind.name != FREE.name:
            none = np.zeros(self.d.component.size)
            x = kinematics(self.d, base, none, none, none)
            bodies[HOLDER] = RigidBody(pose=pose(x.p_end[-1], x.Rc[-1]), driven=True)
            tip = Attachment(HOLDER)
        if kind.name == 'spherical':
            tip_joint = kind
        elif kind.count and tip is not None:  # its axes are fixed to what holds it
            bodies[TIP], tip = RigidBody(), Attachment(TIP)
            joints[HOLDER] = Joint(kind, Attachment(HOLDER), Attachment(TIP))
        assembly = Assembly(bodies, {ROD: RodPart(
            self.d, base=Attachment(BASE), tip=tip, tip_joint=tip_joint, paths=paths,
            flow=self._water.along, tip_flow=self._water.at_tip)}, joints)
        super().__init__(assembly, {ROD: self.d}, scheme, tolerance)
        self._hold, self._base = kind, self.places.bodies[BASE].link
        self._floats = np.array(self.places.coordinates.get(BASE, []), dtype=np.int64)

    def put(
        self, base: Base | Motion, q: np.ndarray, q_t: np.ndarray, q_tt: np.ndarray,
    ) -> None:
        """Make a base, strains (n,), their rates and accelerations the present instant."""
        instant = np.zeros((3, self.Z))
        instant[:, self.q_places[0]] = q, q_t, q_tt
        if self.free:
            still = np.zeros(3)
            instant[:, self._floats] = np.array([
                (base.p, still), (base.p_t, base.Om), (base.p_tt, base.Om_t)]).reshape(3, 6)
            self.tree.joints.reference[self.tree.links.item[self._base]] = base.R
        else:
            for mine, given in zip(self.tree.roots, base):
                mine[self._base] = given
        self.set_state(*instant)

    # --- What acts ---

    def no_loads(self) -> Loads:
        """Return loads that are all zero, to be replaced."""
        return no_loads(self.d.s.size, self.d.W.shape[0])

    def _checked_loads(self, loads: Loads) -> Loads:
        return join([as_expected(loads, self._no_loads)])

    # --- What it is ---

    def base(self, i: int = 0) -> Base:
        """Return the motion of its base at the present instant."""
        if self.free:
            joint = int(self.tree.links.item[self._base])
            return free_base(self.tree.joints.reference[joint], *self._past[:3, self._floats])
        return Base(*(part[self._base].copy() for part in self.tree.roots))

    @property
    def reactions(self) -> np.ndarray:
        """Force and moment (6,) that hold the tip, or force (3,) alone; world frame [N, N m]."""
        return self.z[self.places.reactions.get(f'{ROD}.tip', slice(0, 0))]

    # --- What it does ---

    def statics(self, from_rest: bool = False) -> Solution:
        """Go to the static equilibrium; a free base is held. See `AssemblySolver.statics`."""
        c = self.tree.coordinates
        c.command[self._floats], c.driven[self._floats] = self.z[self._floats], True
        solution = super().statics(from_rest)
        c.driven[self._floats] = False
        return solution

    def hold_tip(self, R: ArrayLike, p: ArrayLike, kind: JointKind = CLAMPED) -> None:
        """
        Hold the tip at a pose, from the next solve on.

        Parameters
        ----------
        R, p : (3, 3) and (3,) array
            Body to world, and position [m].
        kind : JointKind
            Of joint that holds it, its axes in the frame R. A `free` one lets it go.

        """
        if self.free and kind.name != FREE.name:
            raise InvalidModel('hold', kind.name, f'{FREE.name} where the base is free')
        if _numbers(kind) != _numbers(self._hold):
            self._change_hold(kind)
        if kind.name != FREE.name:
            link = self.places.bodies[HOLDER].link
            self.tree.roots.R[link], self.tree.roots.p[link] = R, p

    def _change_hold(self, kind: JointKind) -> None:
        """Take another joint at the tip; state, loads and drives stay what they are."""
        old, links, places, past = self.tree, self._places.links, self.q_places[0], self._past
        efforts, wrench = self.effort_places, self.reactions
        stress = self._own_stress, self._given_stress
        time, motions, equilibrium = self.time, self.motions, self._equilibrium
        base = self.base()
        self._build(base, self.paths[0], kind, self.scheme, self.tolerance)
        new, here = self.tree, self._places.links
        for mine, given in zip(new.bodies, old.bodies):
            mine[here] = given[links]
        new.elements.data[:], new.elements.loads[:] = old.elements.data, old.elements.loads
        new.gravity[:] = old.gravity
        for mine, given in zip(new.drives, old.drives):
            mine[:] = given
        self._own_stress, self._given_stress = stress
        self.time, self.motions = time, motions
        self.put(base, *past[:3, places])
        z = self.z.copy()
        z[self.effort_places] = past[0, efforts]
        count = min(wrench.size, self.reactions.size)
        first = self.Z - self.reactions.size
        z[first:first + count] = wrench[:count]
        self.set_state(z, self.z_t, self.z_tt)
        if equilibrium is not None:
            self._equilibrium = self._moved(equilibrium, links, here)

    def _moved(self, given: Inputs, links: np.ndarray, here: np.ndarray) -> Inputs:
        """Return inputs of an earlier tree, whose elements were at `links`, for this one."""
        own = Inputs(*(a.copy() for a in inputs(self.tree)))
        for name in ('force', 'moment', 'lever', 'follower_force', 'follower_moment'):
            getattr(own, name)[here] = getattr(given, name)[links]
        return own._replace(loads=given.loads, gravity=given.gravity, effort=given.effort)


def _numbers(kind: JointKind) -> tuple[Any, ...]:
    """Return what tells a joint from another one."""
    return (kind.name, *np.ravel(kind.axis), *np.ravel(kind.second), kind.pitch,
            *kind.coordinates)
