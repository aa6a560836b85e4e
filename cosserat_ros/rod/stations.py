"""Poses, strains and velocities of a rod anywhere between its nodes."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre

from ..description.robot import RodShape
from .discretisation import Discretisation
from .kinematics import Base, State


class Stations:
    """
    Poses and strains of a rod between its nodes, by the polynomials of its elements.

    Parameters
    ----------
    d : Discretisation
    s : (M,) array
        Arc lengths [m].

    """

    def __init__(self, d: Discretisation, s: np.ndarray) -> None:
        self.s = s
        E, m = d.W.shape[:2]
        self._element = np.clip(np.searchsorted(d.breaks, s, side='right') - 1, 0, E - 1)
        self._m, self._d = m, d
        x, _ = legendre.leggauss(m)
        knots = np.concatenate([[-1.0], x, [1.0]])
        start, end = d.breaks[self._element], d.breaks[self._element + 1]
        local = (2.0 * s - start - end) / (end - start)
        self._from_all = _lagrange(knots, local)
        self._from_nodes = _lagrange(x, local)

    def shape(self, x: State, base_R: np.ndarray, base_p: np.ndarray) -> RodShape:
        """Return the rod's shape at the stations."""
        d, m = self._d, self._m
        E = d.W.shape[0]
        p = np.concatenate([base_p[None], x.p_end])
        R = np.concatenate([base_R[None], x.Rc[d.end_station]])
        nodes_p, nodes_R = x.p.reshape(E, m, 3), x.Rc[d.station].reshape(E, m, 3, 3)
        all_p = np.concatenate([p[:-1, None], nodes_p, p[1:, None]], axis=1)
        all_R = np.concatenate([R[:-1, None], nodes_R, R[1:, None]], axis=1)
        e = self._element
        poses = np.tile(np.eye(4), (len(self.s), 1, 1))
        poses[:, :3, 3] = np.einsum('sk,ski->si', self._from_all, all_p[e])
        U, _, Vt = np.linalg.svd(np.einsum('sk,skij->sij', self._from_all, all_R[e]))
        poses[:, :3, :3] = U @ Vt
        return RodShape(self.s, poses, self.at_stations(x.xi))

    def at_stations(self, values: np.ndarray) -> np.ndarray:
        """Return what is given at the nodes, (N, c), at the stations, (M, c)."""
        E = self._d.W.shape[0]
        return np.einsum('sk,ski->si', self._from_nodes,
                         values.reshape(E, self._m, -1)[self._element])

    def shares(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return what makes up the pose of station i: arrays (N,), (K,) and (K,).

        Its position is that of the base and the sum over the nodes of the first times ``R v``; its
        rotation nearly the sum of the third times those of the chain's stations in the second.
        """
        d, m, e = self._d, self._m, self._element[i]
        if self.s[i] >= d.breaks[-1]:
            return d.w.copy(), d.end_station[-1:], np.ones(1)
        nodes = slice(e * m, (e + 1) * m)
        share = np.where(np.arange(d.s.size) < e * m, d.w, 0.0)
        weight = self._from_all[i]
        share[nodes] = weight[1:-1] @ d.W[e] + weight[-1] * d.w[nodes]
        start = d.end_station[e - 1] if e else 0
        turn = np.array([start, *d.station[nodes], d.end_station[e]])
        return share, turn, weight.copy()

    def twists(self, x: State, base: Base, poses: np.ndarray) -> np.ndarray:
        """Return velocity and angular velocity of stations at `poses`, body frame, (M, 6)."""
        d, m = self._d, self._m
        E = d.W.shape[0]

        def between(at_base: np.ndarray, nodes: np.ndarray, ends: np.ndarray) -> np.ndarray:
            knots = np.concatenate([at_base[None], ends])
            all_of = np.concatenate(
                [knots[:-1, None], nodes.reshape(E, m, 3), knots[1:, None]], axis=1)
            return np.einsum('sk,ski->si', self._from_all, all_of[self._element])

        velocity = between(base.p_t, x.p_t, x.p_end_t)
        spin = between(base.Om, x.Om[d.station], x.Om[d.end_station])
        return np.concatenate([
            np.einsum('sji,sj->si', poses[:, :3, :3], v) for v in (velocity, spin)], axis=1)

    def shares_of_point(self, i: int) -> np.ndarray:
        """Return what does the work of a unit point load at station i, per length (N,) [1/m]."""
        d, m, e = self._d, self._m, self._element[i]
        nodes, share = slice(e * m, (e + 1) * m), np.zeros(d.s.size)
        share[nodes] = self._from_nodes[i] / d.w[nodes]
        return share


def _lagrange(knots: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the values at x (M,) of the polynomials that are 1 at one knot, (M, knots)."""
    difference = knots[:, None] - knots + np.eye(len(knots))
    values = np.empty((len(x), len(knots)))
    for k in range(len(knots)):
        others = np.delete(knots, k)
        values[:, k] = np.prod(x[:, None] - others, axis=1) / np.prod(
            np.delete(difference[k], k))
    return values
