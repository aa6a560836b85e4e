"""Energy and momenta of a rod and of the bodies it carries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..rod.discretisation import Discretisation
from ..rod.kinematics import State
from .equations import Bodies, Loads


class Momentum(NamedTuple):
    """Linear and angular momentum about the origin, world frame, in one vector."""

    value: np.ndarray    # (6,) [N s, N m s]
    rate: np.ndarray     # (6,) what the loads make of it [N, N m]
    locked: np.ndarray   # (6, 6) its change with velocity and spin of the base, as if rigid


class _Masses(NamedTuple):
    """All sections, weighted, and all bodies, in a row."""

    m: np.ndarray     # (k,) [kg]
    J: np.ndarray     # (k, 3, 3) about the own centre, world frame [kg m^2]
    p: np.ndarray     # (k, 3) centre
    p_t: np.ndarray   # (k, 3)
    p_tt: np.ndarray  # (k, 3)
    Om: np.ndarray    # (k, 3)
    Om_t: np.ndarray  # (k, 3)


def energy(d: Discretisation, x: State, stretch: np.ndarray, loads: Loads) -> float:
    """
    Return kinetic, elastic and gravitational energy, without that of other loads [J].

    stretch (N,) is how many times longer than in d the rod is at its nodes: fed, not strained.
    """
    lam = stretch[:, None]
    a = _masses(d._replace(inertia=lam * d.inertia), x, loads.bodies)
    kinetic = a.m @ np.sum(a.p_t ** 2, axis=1) + np.einsum('ki,kij,kj', a.Om, a.J, a.Om)
    elastic = np.sum((d.w * stretch) @ (d.stiffness * (x.xi / lam - d.rest_strain) ** 2))
    return float(0.5 * kinetic + 0.5 * elastic - a.m @ a.p @ loads.gravity)


def momentum(d: Discretisation, x: State, bodies: Bodies, base: np.ndarray) -> Momentum:
    """Return the momenta of a rod whose base is at `base` (3,)."""
    a = _masses(d, x, bodies)
    spin = np.einsum('kij,kj->ki', a.J, a.Om)
    spin_t = np.einsum('kij,kj->ki', a.J, a.Om_t) + np.cross(a.Om, spin)
    arm, place = _hats(a.p - base), _hats(a.p)
    m = a.m[:, None, None]
    mass = a.m.sum() * np.eye(3)
    return Momentum(
        np.concatenate([a.m @ a.p_t, np.sum(a.m[:, None] * np.cross(a.p, a.p_t) + spin, 0)]),
        np.concatenate([a.m @ a.p_tt, np.sum(a.m[:, None] * np.cross(a.p, a.p_tt) + spin_t, 0)]),
        np.block([[mass, -np.sum(m * arm, axis=0)],
                  [np.sum(m * place, axis=0), np.sum(a.J - m * place @ arm, axis=0)]]))


def _masses(d: Discretisation, x: State, bodies: Bodies) -> _Masses:
    R, Om, Om_t = (v[d.end_station] for v in (x.Rc, x.Om, x.Om_t))
    arm = np.einsum('kij,kj->ki', R, bodies.offset)
    arm_t = np.cross(Om, arm)
    arm_tt = np.cross(Om_t, arm) + np.cross(Om, arm_t)
    axes = np.concatenate([x.Rc[d.station], R @ bodies.axes])
    J = np.concatenate([d.w[:, None] * d.inertia[:, 3:], bodies.inertia])
    return _Masses(
        np.concatenate([d.w * d.inertia[:, 0], bodies.mass]),
        np.einsum('kij,kj,klj->kil', axes, J, axes),
        np.concatenate([x.p, x.p_end + arm]), np.concatenate([x.p_t, x.p_end_t + arm_t]),
        np.concatenate([x.p_tt, x.p_end_tt + arm_tt]),
        np.concatenate([x.Om[d.station], Om]), np.concatenate([x.Om_t[d.station], Om_t]))


def _hats(v: np.ndarray) -> np.ndarray:
    """Return the matrices (k, 3, 3) of the cross products with v (k, 3)."""
    return np.cross(v[:, None, :], np.eye(3)).transpose(0, 2, 1)
