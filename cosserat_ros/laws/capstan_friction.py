r"""
Friction of tendons in their channels: damping, and dry friction that sticks.

A tendon is fastened where it ends, so that it slides past s by as much as its length beyond s
changes, ``x(s) = int_s^L |c| ds``. Friction per length f(s) works on that sliding alone: it does
``f dx``, and the rod feels ``int f dx/dq ds``. In other words, the tension along the tendon is

    tau(s) = tau(0) + int_0^s f ds',   tau(0) the effort of the tendon, at its motor's side,

f > 0 where the tendon pays out (x grows), f < 0 where it is pulled in. Where it bends by an angle
a it is pressed on its channel, and slips where the tension falls by more than ``exp(-mu a)`` or
grows by more than ``exp(mu a)``: the capstan's law.

Dry friction is elastic up to slipping (Prandtl's bristle, Dahl's law in the limit): where the
pressure would hold the force G, sliding by d from where the bristle is free gives
``G d / presliding``. What it gives is remembered from step to step. Where the pressure falls the
bristle keeps its bend, where it grows it keeps its force: either way energy is lost, never won.

Damping is Till 2019, section 5.2.1: ``tau_s = beta tau |u| nu`` at the sliding speed nu, over a
node ``exp(beta a nu)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.kernels import inner, kernel

STEEPEST = 5.0  # mu times the angle at one node, more than which counts as this
AT_LIMIT = 1e-9  # part of what a bristle can hold, by which it is at its limit
SLIDING, FORCE, LIMIT = 0, 1, 2  # rows of what is remembered of a tendon
ANGLE, SPEED, TOTAL, BY_TENSION, BY_SLIDING, BY_ANGLE, BY_SPEED = range(7)  # rows of `along`
ROWS = 7


class TendonFriction(NamedTuple):
    """The friction of one tendon."""

    actuator: int      # which it is on its rod
    viscous: float     # beta [s/m]
    dry: float         # mu [-]
    presliding: float  # sliding at which a bristle slips [m]


class Frictions(NamedTuple):
    """The friction of many tendons, for kernels."""

    rod: np.ndarray         # (T,) int64
    actuator: np.ndarray    # (T,) int64
    viscous: np.ndarray     # (T,) [s/m]
    dry: np.ndarray         # (T,) [-]
    presliding: np.ndarray  # (T,) [m]
    memory: np.ndarray      # (T,) int64, where what is remembered begins, (3, N)
    first: np.ndarray       # (T,) int64, where its nodes begin among those of all of them
    rest: np.ndarray        # length beyond each node of rods at rest [m]


@inner
def rub(a, t, last, now, tension, yields, along, regime):
    """
    Write friction along a tendon, from its motor's side on, and its slopes.

    Parameters
    ----------
    a : Frictions
    t : int
        Which tendon.
    last : (3, N) float64
        What is remembered: sliding [m], dry friction [N], what the pressure could hold [N].
    now : (3, N) float64
        The same at the present, of which the sliding is given; the rest is overwritten.
    tension : float
        Before the first node, >= 0 [N].
    yields : bool
        Whether a bristle that is at its limit slips on, or sticks: it does either, by the way it
        is pushed, and the slopes are those of the one.
    along : (7, N) float64
        Of each node, the angle by which the tendon bends there, >= 0 [rad], and the speed at which
        it slides [m/s]; overwritten are the force by which the tension grows [N], and its slopes
        with the tension before the node, sliding, angle and speed.
    regime : (N,) float64
        Overwritten: 0 where it sticks, -1 or 1 where it slips in or out.

    """
    edge = -AT_LIMIT if yields else AT_LIMIT
    for k in range(now.shape[1]):
        steepness = min(a.dry[t] * along[ANGLE, k], STEEPEST)
        limit = steepness * tension
        now[LIMIT, k] = limit
        slid = (now[SLIDING, k] - last[SLIDING, k]) / a.presliding[t]
        kept, bend = last[FORCE, k], 0.0
        if limit < last[LIMIT, k]:
            bend = last[FORCE, k] / last[LIMIT, k]
            kept = limit * bend
        force, by_sliding = kept + limit * slid, limit / a.presliding[t]
        by_tension, slope = steepness * (bend + slid), tension * (bend + slid)
        less, more, regime[k] = np.expm1(-steepness), np.expm1(steepness), 0.0
        if force < less * tension - edge * limit:
            force, by_sliding, by_tension, slope = (
                less * tension, 0.0, less, -(1.0 + less) * tension)
            regime[k] = -1.0
        elif force > more * tension + edge * limit:
            force, by_sliding, by_tension, slope = (
                more * tension, 0.0, more, (1.0 + more) * tension)
            regime[k] = 1.0
        now[FORCE, k] = force
        by_angle = a.dry[t] * slope if steepness < STEEPEST else 0.0
        # Damping acts on the tension that dry friction leaves.
        damping = a.viscous[t] * along[ANGLE, k] * along[SPEED, k]
        held = abs(damping) > STEEPEST
        grows = np.expm1(min(max(damping, -STEEPEST), STEEPEST))
        slope = 0.0 if held else (1.0 + grows) * (tension + force) * a.viscous[t]
        along[TOTAL, k] = force + grows * (tension + force)
        along[BY_TENSION, k] = by_tension + grows * (1.0 + by_tension)
        along[BY_SLIDING, k] = (1.0 + grows) * by_sliding
        along[BY_ANGLE, k] = (1.0 + grows) * by_angle + slope * along[SPEED, k]
        along[BY_SPEED, k] = slope * along[ANGLE, k]
        tension += along[TOTAL, k]


@kernel
def friction_along(a, t, last, now, tension, yields, along, regime):
    """Do what `rub` does, for calls from Python."""
    rub(a, t, last, now, tension, yields, along, regime)
