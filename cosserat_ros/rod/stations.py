"""
Poses, strains and velocities of a rod anywhere between its nodes.

Positions and rotations are interpolated by the polynomial through an element's ends and nodes,
rotations then made orthonormal; strains by that through the nodes alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from ..description.robot import RodShape
from ..numerics.arena import matrix, vector
from ..numerics.kernels import Direct, inner, kernel
from ..numerics.lie import write_places
from ..numerics.rotations import rotate, rotate_back
from .discretisation import Discretisation
from .kinematics import Base, State, state_of

MOST_TURNS = 30  # of the iteration that makes a rotation of an interpolated one


class Between(NamedTuple):
    """Where stations are between the knots of a rod, for kernels."""

    element: np.ndarray   # (M,) int64, that each station is on
    of_knots: np.ndarray  # (M, m + 2) weights of an element's start, its nodes and its end
    of_nodes: np.ndarray  # (M, m) weights of the nodes alone


class Law(NamedTuple):
    """What the force and moment in a rod follow from, at its nodes."""

    stiffness: np.ndarray    # (N, 6) diagonal of (Kse, Kbt)
    damping: np.ndarray      # (N, 6) diagonal of (Bse, Bbt)
    rest_strain: np.ndarray  # (N, 6)
    stretch: np.ndarray      # (N,) how many times longer than at rest a fed part is


class Seen(NamedTuple):
    """A rod at its M stations, as seen from a frame."""

    poses: np.ndarray     # (M, 4, 4) [m]
    places: np.ndarray    # (M, 7) the same as positions [m] and quaternions x, y, z, w
    strains: np.ndarray   # (M, 6), body frame
    stresses: np.ndarray  # (M, 6) force and moment in the rod, body frame [N, N m]
    wrenches: np.ndarray  # (M, 6) the same along the axes of the frame [N, N m]
    twists: np.ndarray    # (M, 6) velocity and angular velocity in the world, body frame
    at_nodes: np.ndarray  # (N, 6) strains of the nodes, body frame
    rates: np.ndarray     # (N, 6) their rates [1/s]


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
        self._between = Between(self._element, self._from_all, self._from_nodes)

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

    def look(
        self, d: Discretisation, base: Base, amplitudes: tuple[np.ndarray, np.ndarray], law: Law,
        frame: np.ndarray, seen: Seen,
    ) -> None:
        """
        Write what the rod is like at the stations.

        Parameters
        ----------
        d : Discretisation
            Of the rod as it is now.
        base : Base
            Its motion.
        amplitudes : (n,) and (n,) float64
            Of the strain modes, and their rates.
        law : Law
        frame : (4, 4) float64
            That it is seen from, in the world [-, m].
        seen : Seen
            Overwritten.

        """
        _directly_looked(d, self._between, base, *amplitudes, law, frame, seen)

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


# --- Kernels -------------------------------------------------------------------------------------

@inner
def _knot(d, k, e, m):
    """Return the station of the chain at knot k of element e: its start, m nodes, its end."""
    if k == 0:
        return d.end_station[e - 1] if e else 0
    return d.end_station[e] if k == m + 1 else d.station[e * m + k - 1]


@inner
def _interpolate(weights, e, at_base, nodes, ends, out):
    """Write what a station on element e has of values at its start, nodes and end, (3,)."""
    m = weights.size - 2
    for i in range(3):
        first = ends[e - 1, i] if e else at_base[i]
        total = weights[0] * first + weights[m + 1] * ends[e, i]
        for k in range(m):
            total += weights[1 + k] * nodes[e * m + k, i]
        out[i] = total


@inner
def _turned(d, x, weights, e, R):
    """Write the rotation of a station on element e."""
    m = weights.size - 2
    for i in range(3):
        for j in range(3):
            R[i, j] = 0.0
    for k in range(m + 2):
        at = _knot(d, k, e, m)
        for i in range(3):
            for j in range(3):
                R[i, j] += weights[k] * x.Rc[at, i, j]
    if _make_orthonormal(R):
        return
    nearest = 0
    for k in range(m + 2):
        nearest = k if weights[k] > weights[nearest] else nearest
    at = _knot(d, nearest, e, m)
    for i in range(3):
        for j in range(3):
            R[i, j] = x.Rc[at, i, j]


@inner
def _make_orthonormal(R):
    """
    Replace R by its polar factor, by Newton's iteration R <- (R + R^-T) / 2 (Higham 1986).

    Returns whether it could: not where the determinant is not positive.
    """
    cofactor = matrix(3, 3)
    for _ in range(MOST_TURNS):
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            for m in range(3):
                n, o = (m + 1) % 3, (m + 2) % 3
                cofactor[i, m] = R[j, n] * R[k, o] - R[j, o] * R[k, n]
        determinant = (
            R[0, 0] * cofactor[0, 0] + R[0, 1] * cofactor[0, 1] + R[0, 2] * cofactor[0, 2])
        if not determinant > 0.0:
            return False
        change = 0.0
        for i in range(3):
            for j in range(3):
                new = 0.5 * (R[i, j] + cofactor[i, j] / determinant)
                change = max(change, abs(new - R[i, j]))
                R[i, j] = new
        if change < 1e-9:  # quadratic convergence: the next change is below rounding
            return True
    return False


@kernel
def _look(d, between, base, q, q_t, law, frame, seen):
    """Write what a rod is like at its stations: see `Stations.look`."""
    x = state_of(d, base, q, q_t, q_t)  # accelerations are not looked at
    for n in range(x.xi.shape[0]):
        for i in range(6):
            seen.at_nodes[n, i], seen.rates[n, i] = x.xi[n, i], x.xi_t[n, i]
    m = between.of_nodes.shape[1]
    velocity, spin = vector(3), vector(3)
    for s in range(between.element.size):
        e, weights, g = between.element[s], between.of_knots[s], seen.poses[s]
        _turned(d, x, weights, e, g[:3, :3])
        _interpolate(weights, e, base.p, x.p, x.p_end, g[:3, 3])
        g[3, 0], g[3, 1], g[3, 2], g[3, 3] = 0.0, 0.0, 0.0, 1.0
        _interpolate(weights, e, base.p_t, x.p_t, x.p_end_t, velocity)
        _spin(d, x, weights, e, spin)
        rotate_back(g[:3, :3], velocity, seen.twists[s, :3])
        rotate_back(g[:3, :3], spin, seen.twists[s, 3:])
        for i in range(6):
            strain, stress = 0.0, 0.0
            for k in range(m):
                n, weight = e * m + k, between.of_nodes[s, k]
                strain += weight * x.xi[n, i]
                stress += weight * (
                    law.stiffness[n, i] * (x.xi[n, i] / law.stretch[n] - law.rest_strain[n, i])
                    + law.damping[n, i] * x.xi_t[n, i] / law.stretch[n])
            seen.strains[s, i], seen.stresses[s, i] = strain, stress
        _see_from(frame, g)
        rotate(g[:3, :3], seen.stresses[s, :3], seen.wrenches[s, :3])
        rotate(g[:3, :3], seen.stresses[s, 3:], seen.wrenches[s, 3:])
    write_places(seen.poses, seen.places)


@inner
def _spin(d, x, weights, e, out):
    """Write the angular velocity of a station on element e."""
    m = weights.size - 2
    for i in range(3):
        out[i] = 0.0
    for k in range(m + 2):
        at = _knot(d, k, e, m)
        for i in range(3):
            out[i] += weights[k] * x.Om[at, i]


@inner
def _see_from(frame, g):
    """Replace a pose g by that seen from a frame: the inverse of the frame, times g."""
    column = vector(3)
    for j in range(4):
        for i in range(3):
            column[i] = g[i, j] - frame[i, 3] if j == 3 else g[i, j]
        rotate_back(frame[:3, :3], column, g[:3, j])


_directly_looked = Direct(_look)  # arrays of all rods have the same types
