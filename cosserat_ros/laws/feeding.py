"""
Legs that are fed through the base plate: what stands out of it has the length that is commanded.

The modes of a leg live on the fixed interval of its length at rest; there the fed part, `lam`
times longer, has the strain ``(v, u) = (xi* + Phi q) / lam``, the stiffness K / lam and the mass
lam rho A, each per length at rest, which is exact for statics. In motion the points that modes and
history belong to move with the tip at one end and stand at the plate at the other, while the
material passes there at the speed of feeding: inertia forces of order ``2 rho A L_t w`` and
``rho A L_tt`` (w the turning rate of a section) are left out. Legs are light, and fed slowly: at
0.1 m/s and 1 rad/s it is 2 % of the leg's weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..checks.errors import InvalidModel
from ..numerics.kernels import Direct, kernel
from ..rod.discretisation import Discretisation, grams


class Fed(NamedTuple):
    """What feeding changes of all rods, one after another."""

    elastic: np.ndarray  # flat, of the matrices of all elements
    viscous: np.ndarray  # likewise
    inertia: np.ndarray  # (N, 6) of the nodes of all rods
    stress: np.ndarray   # (N, 6) of the rest shape, which is another than that of the modes


class Parts(NamedTuple):
    """Of the fed parts of rods, and of the others, as in `Fed`."""

    entry: np.ndarray  # (k + 1,) int64, where the matrices of each rod begin
    node: np.ndarray   # (k + 1,) int64, where its nodes begin
    elastic: np.ndarray
    other_elastic: np.ndarray
    viscous: np.ndarray
    other_viscous: np.ndarray
    inertia: np.ndarray
    other_inertia: np.ndarray
    stress: np.ndarray


@kernel
def _fed(parts, lam):
    """Return what is in `Fed` of rods whose fed parts are lam (k,) times longer than at rest."""
    elastic, viscous = np.empty(parts.elastic.shape), np.empty(parts.elastic.shape)
    inertia, stress = np.empty(parts.inertia.shape), np.empty(parts.inertia.shape)
    for i in range(lam.size):
        less = 1.0 / lam[i]
        for a in range(parts.entry[i], parts.entry[i + 1]):
            elastic[a] = parts.elastic[a] * less + parts.other_elastic[a]
            viscous[a] = parts.viscous[a] * less + parts.other_viscous[a]
        for k in range(parts.node[i], parts.node[i + 1]):
            for c in range(6):
                inertia[k, c] = parts.inertia[k, c] * lam[i] + parts.other_inertia[k, c]
                stress[k, c] = parts.stress[k, c] * (less - 1.0)
    return elastic, viscous, inertia, stress


_directly_fed = Direct(_fed)


class Feeding:
    """
    How rods change with the lengths of those that are legs.

    Parameters
    ----------
    rods : mapping of str to Discretisation
    fed : sequence of float
        Of each rod, the length of what is fed, at rest; 0 of one that is no leg [m].

    """

    def __init__(self, rods: Mapping[str, Discretisation], fed: Sequence[float]) -> None:
        self._names, parts = list(rods), list(rods.values())
        self.nodes = [d.s < length for d, length in zip(parts, fed)]
        self._whole = np.array([d.breaks[-1] for d in parts])
        self._first = np.array([length or 1.0 for length in fed])
        self._fed = np.concatenate(self.nodes)
        self._rod = np.repeat(np.arange(len(parts)), [d.s.size for d in parts])

        def matrices(name: str, fed: bool) -> np.ndarray:
            return np.concatenate([
                grams(d, np.where((nodes == fed)[:, None], getattr(d, name), 0.0)).ravel()
                for d, nodes in zip(parts, self.nodes)])

        inertia = np.concatenate([d.inertia for d in parts])
        stress = np.concatenate([d.stiffness * d.rest_strain for d in parts])
        entries = [d.component.size ** 2 // len(d.W) for d in parts]
        moving = self._fed[:, None]
        self.parts = Parts(
            np.cumsum([0, *entries]), np.cumsum([0, *(d.s.size for d in parts)]),
            matrices('stiffness', True), matrices('stiffness', False),
            matrices('damping', True), matrices('damping', False),
            np.where(moving, inertia, 0.0), np.where(moving, 0.0, inertia),
            np.where(moving, stress, 0.0))

    def fed(self, lengths: np.ndarray) -> Fed:
        """Return what legs of these lengths (k,) [m] have of stiffness, damping and mass."""
        return Fed(*_directly_fed(self.parts, self.stretches(lengths)))

    def stretches(self, lengths: np.ndarray) -> np.ndarray:
        """Return how many times longer than at rest the fed parts of rods are, (k,)."""
        lam = 1.0 + (lengths - self._whole) / self._first
        if not lam.min() > 0.0:
            i = int(np.argmin(lam))
            raise InvalidModel(f'length of {self._names[i]}', float(lengths[i]),
                               f'> {self._whole[i] - self._first[i]:g} [m]')
        return lam

    def stretch_at_nodes(self, lengths: np.ndarray) -> np.ndarray:
        """Return the same at the nodes of all rods, (N,): 1 where nothing is fed."""
        return np.where(self._fed, self.stretches(lengths)[self._rod], 1.0)
