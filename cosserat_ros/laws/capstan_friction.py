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

Damping is Till 2019, section 5.2.1: ``f = beta tau |u| nu`` at the sliding speed nu.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

STEEPEST = 5.0  # mu times the angle at one node, more than which counts as this
AT_LIMIT = 1e-9  # part of what a bristle can hold, by which it is at its limit


class Memory(NamedTuple):
    """Of dry friction at the last instant: between tendon and channel, at N nodes."""

    sliding: np.ndarray  # (N,) length of the tendon beyond each node [m]
    force: np.ndarray    # (N,) by which the tension grows there [N]
    limit: np.ndarray    # (N,) force that the pressure could hold [N]


class Law(NamedTuple):
    """Dry friction at an instant, and its slopes."""

    force: np.ndarray       # (N,) [N]
    limit: np.ndarray       # (N,) [N]
    by_sliding: np.ndarray  # (N, N) [N/m]
    by_angle: np.ndarray    # (N, N) [N/rad]
    by_tension: np.ndarray  # (N,) with the tension before the first node [-]


def dry_friction(
    last: Memory, sliding: np.ndarray, angle: np.ndarray, tension: float, coefficient: float,
    presliding: float, yields: bool = False,
) -> Law:
    """
    Return dry friction along a tendon, from its motor's side on.

    Parameters
    ----------
    last : Memory
    sliding : (N,) array
        Length of the tendon beyond each node [m].
    angle : (N,) array
        By which it bends at each node, >= 0 [rad].
    tension : float
        Before the first node, >= 0 [N].
    coefficient, presliding : float
        mu [-], and the sliding at which a bristle slips [m].
    yields : bool
        Whether a bristle that is at its limit slips on, or sticks: it does either, by the way it
        is pushed, and the slopes are those of the one.

    """
    N = sliding.size
    force, limit = np.zeros(N), np.zeros(N)
    by_sliding, by_angle = np.zeros((N, N)), np.zeros((N, N))
    tension_by_sliding, tension_by_angle = np.zeros(N), np.zeros(N)
    by_first, tension_by_first = np.zeros(N), 1.0
    edge = -AT_LIMIT if yields else AT_LIMIT
    for k in range(N):
        a = min(coefficient * angle[k], STEEPEST)
        least, most = np.expm1(-a) * tension, np.expm1(a) * tension
        limit[k] = a * tension
        kept, bend = left_of(last, k, limit[k])
        bend += (sliding[k] - last.sliding[k]) / presliding
        force[k] = kept + limit[k] / presliding * (sliding[k] - last.sliding[k])
        by_tension, slope = a * bend, tension * bend
        if force[k] < least - edge * limit[k]:
            force[k], by_tension, slope = least, np.expm1(-a), -np.exp(-a) * tension
        elif force[k] > most + edge * limit[k]:
            force[k], by_tension, slope = most, np.expm1(a), np.exp(a) * tension
        else:
            by_sliding[k, k] = limit[k] / presliding
        by_angle[k, k] = coefficient * slope if a < STEEPEST else 0.0
        by_sliding[k] += by_tension * tension_by_sliding
        by_angle[k] += by_tension * tension_by_angle
        by_first[k] = by_tension * tension_by_first
        tension += force[k]
        tension_by_sliding += by_sliding[k]
        tension_by_angle += by_angle[k]
        tension_by_first += by_first[k]
    return Law(force, limit, by_sliding, by_angle, by_first)


def left_of(last: Memory, k: int, limit: float) -> tuple[float, float]:
    """Return what is left of a remembered force [N], and its slope with the limit [-]."""
    if limit < last.limit[k]:
        bend = last.force[k] / last.limit[k]
        return limit * bend, bend
    return last.force[k], 0.0

