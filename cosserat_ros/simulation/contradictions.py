"""
Tendons and chambers whose given lengths and volumes contradict each other.

A tendon of given displacement without compliance, or a chamber of given volume, is a constraint on
the strains: ``G dq = b``, G the gradient of its length and b what is missing to the given one.
Where the rod cannot stretch, two tendons on opposite sides have gradients that depend on each
other: no q meets both, unless one is paid out as the other is taken in. The part of b that is in
no range of G tells which ones contradict each other.
"""

from __future__ import annotations

import numpy as np

from ..assembly.rods import RodsSolver
from ..laws.actuators import Drives, LENGTH
from .model import Model

REDUNDANT = 1e-9  # singular value of scaled gradients, below which they depend on each other
MISSING = 1e-6    # of what is given, as strain, that is not met by those that are named


def contradiction(model: Model, solver: RodsSolver, drives: Drives) -> str:
    """Return which commands exclude each other near the present state, in words; or nothing."""
    unmet, dependent = [], []
    for i, d in enumerate(model.rods):
        rigid = {number: name for name, number in model.numbers.items()
                 if model.places[name].rod == i and drives.kind[number] == LENGTH
                 and drives.compliance[number] == 0.0}
        if len(rigid) < 2:
            continue
        numbers, slots = list(rigid), [model.places[name].slot for name in rigid.values()]
        G = np.einsum('mkc,kc->mc', solver.gradients(i)[slots][:, :, d.component], d.Phi)
        missing = drives.command[numbers] - solver.lengths()[numbers]
        size = np.linalg.norm(G, axis=1)
        size = np.where(size > 0.0, size, 1.0)
        U, values, _ = np.linalg.svd(G / size[:, None])
        free = U[:, int(np.sum(values > REDUNDANT)):]
        for name, row, left in zip(
                rigid.values(), free, free @ (free.T @ (missing / size))):
            unmet += [name] if abs(left) > MISSING else []
            dependent += [name] if np.abs(row).max(initial=0.0) > MISSING else []
    if unmet:
        return f'the commands of {", ".join(unmet)} contradict each other: no shape meets them all'
    if dependent:
        return (f'the commands of {", ".join(dependent)} depend on each other: '
                'no effort is determined')
    return ''
