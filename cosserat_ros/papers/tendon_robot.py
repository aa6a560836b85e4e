"""
The tendon robot of Till 2019, section 5.2: a rod with tendons in channels along it.

States in arc length are the paper's: strains instead of loads (eq. (17)), here counted from rest,
and the tendons' lengths. Differences from the paper:

* Tendons may end anywhere; the rod is integrated in pieces between these ends. At each, the load
  of the rod jumps by the tendon's termination wrench ``F_i, L_i``, and its strains jump. Then all
  other tendons have a kink there, and pull on the rod at this point, which the paper leaves out.
  Here the load of rod and tendons together is continuous, and the strains follow from it by
  Newton's method, of which `Phi` is the matrix.
* A tendon of given length is one of unknown tension, with the length as a further residual
  ("prescribed displacement", section 5.2.1). A slack tendon is not looked for: its tension is
  found to be negative.
* The guess at the base is the load of rod and tendons together, what the support carries: it does
  not know of the tensions, and zero is a good first guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from ..checks.errors import InvalidModel, UnknownName
from ..checks.fields import check_number
from ..numerics.kernels import kernel
from .arc_equations import (
    _absolute,
    _add,
    _cross,
    _dot,
    _get,
    _put,
    _quaternion_rate,
    _rotation,
    _row,
    _scale,
    _subtract,
    _times,
    _to_body,
    _to_world,
    eliminate,
    H,
    P,
    Q,
    STATES,
    substitute_back,
    UNKNOWNS,
    W,
)
from .cantilever import Cantilever
from .shooting import _add_scaled
from .shooting_robot import ActuatedRod, at_stages, NO_BODY, Shooter, TipBody

V, U, LENGTHS = 7, 10, STATES  # in y, where a plain rod has n and m; and after it
MOST, SMALL = 20, 1e-8  # iterations at a piece's beginning, and update after which it is enough
HISTORY = 18  # v - v*, u - u*, q, w, and the derivatives of the strains in arc length
Routing = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


# --- Routings -----------------------------------------------------------------------------------

def parallel(x: float, y: float) -> Routing:
    """Return the routing of a tendon parallel to the rod, through (`x`, `y`) [m]."""
    def routing(s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = np.tile([x, y, 0.0], (s.size, 1))
        return r, 0.0 * r, 0.0 * r
    return routing


def helix(radius: float, rate: float, phase: float = 0.0) -> Routing:
    """Return the routing of a tendon at a `radius` [m] that turns at a `rate` [rad/m]."""
    def routing(s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        angle = rate * s + phase
        r = radius * np.stack([np.cos(angle), np.sin(angle), 0.0 * s], axis=1)
        r_s = rate * np.stack([-r[:, 1], r[:, 0], 0.0 * s], axis=1)
        return r, r_s, -rate ** 2 * r
    return routing


@dataclass(frozen=True)
class Tendon:
    """
    A tendon without friction or mass, from the base to where it is fixed.

    Parameters
    ----------
    routing : function of (k,) float64 to three (k, 3) float64
        Arc length [m] to the offset from the centroid r [m], r_s [-] and r_ss [1/m], body frame;
        r's third component is 0.
    end : float, optional
        Where it is fixed [m]; at the tip if not given.
    command : str
        What is given at each step: ``'tension'`` [N], or ``'length'`` from the base to the end,
        free of tension [m].
    compliance : float
        Of a tendon whose length is given [m/N], what lies before the base included.

    """

    routing: Routing
    end: float = math.inf
    command: str = 'tension'
    compliance: float = 0.0


# --- Equations ----------------------------------------------------------------------------------

class TendonModel(NamedTuple):
    """
    Rod and tendons at the ends and midpoints of all elements, piece by piece: `rows` in all.

    Parameters
    ----------
    c0 : float
        Of the time scheme [1/s]; 0 for statics.
    gravity, drag : (3,) float64
        World frame [m/s^2]; diagonal of C in eq. (3) [kg/m^2].
    inertia : (rows, 6) float64
        As of `cosserat_ros.description.rod.Rod`.
    K, K_s, B, B_s, rest, rest_s : (rows, 6) float64
        Stiffness, damping, rest strain, and their derivatives in arc length.
    r : (tendons, rows, 9) float64
        r, r_s and r_ss.
    ds, elements : (pieces,) float64 and int64
        Length and number of a piece's elements.
    last_piece : (tendons,) int64
        The piece at whose end a tendon is fixed.

    """

    c0: float
    gravity: np.ndarray
    drag: np.ndarray
    inertia: np.ndarray
    K: np.ndarray
    K_s: np.ndarray
    B: np.ndarray
    B_s: np.ndarray
    rest: np.ndarray
    rest_s: np.ndarray
    r: np.ndarray
    ds: np.ndarray
    elements: np.ndarray
    last_piece: np.ndarray


@kernel
def _tangent(y, model, i, k):
    """Return a tendon's p_si in the body frame at row `k` (section 5.2)."""
    v = _add(_row(model.rest, k, 0), _get(y, V))
    u = _add(_row(model.rest, k, 3), _get(y, U))
    return _add(_add(_cross(u, _row(model.r[i], k, 0)), _row(model.r[i], k, 3)), v)


@kernel
def _loads(y, xh, model, k):
    """Return n and m in the body frame at row `k`, eq. (4)."""
    c0, K, B = model.c0, model.K, model.B
    v_t = _add(_scale(c0, _get(y, V)), _row(xh, k, 0))
    u_t = _add(_scale(c0, _get(y, U)), _row(xh, k, 3))
    n = _add(_times(_row(K, k, 0), _get(y, V)), _times(_row(B, k, 0), v_t))
    return n, _add(_times(_row(K, k, 3), _get(y, U)), _times(_row(B, k, 3), u_t)), v_t, u_t


@kernel
def _through(tau, c, x):
    """Return ``A_i x`` with ``A_i = -tau (c^)^2 / |c|^3``."""
    size = math.sqrt(_dot(c, c))
    return _scale(tau / size ** 3, _subtract(_scale(size ** 2, x), _scale(_dot(c, x), c)))


@kernel
def _add_tendons(y, model, tension, piece, k, Phi):
    """Add A, G, G^T, H to the matrix `Phi` (6, 7), and -a, -b to its last column."""
    u = _add(_row(model.rest, k, 3), _get(y, U))
    v_star_s, u_star_s = _row(model.rest_s, k, 0), _row(model.rest_s, k, 3)
    for i in range(tension.size):
        if piece > model.last_piece[i]:
            continue
        tau, c, r = tension[i], _tangent(y, model, i, k), _row(model.r[i], k, 0)
        r_s, r_ss = _row(model.r[i], k, 3), _row(model.r[i], k, 6)
        bent = _add(_add(_cross(u, _add(c, r_s)), r_ss), _add(v_star_s, _cross(u_star_s, r)))
        a = _through(tau, c, bent)
        b = _cross(r, a)
        for j in range(3):
            e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
            A_j = _through(tau, c, e)
            G_j = _through(tau, c, _cross(e, r))  # -A r^
            H_j = _cross(r, G_j)
            for row in range(3):
                Phi[row, j] += A_j[row]
                Phi[row, 3 + j] += G_j[row]
                Phi[3 + j, row] += G_j[row]
                Phi[3 + row, 3 + j] += H_j[row]
            Phi[j, 6] -= a[j]
            Phi[3 + j, 6] -= b[j]


@kernel
def tendon_derivative(y, xh, model, tension, piece, k, y_s, x, Phi):
    """
    Write the derivatives in arc length, eq. (17), and the variables with a history.

    Parameters
    ----------
    y, y_s : (19 + tendons,) float64
        p, h, v - v*, u - u*, q, w, lengths; derivatives, overwritten.
    xh : (rows, 18) float64
        History.
    model : TendonModel
    tension : (tendons,) float64
        [N].
    piece, k : int
        Of the rod, and row of the arc length.
    x : (18,) float64
        Overwritten.
    Phi : (6, 7) float64
        Overwritten.

    """
    R = _rotation(y[H], _get(y, H + 1))
    dv, du, q, w = _get(y, V), _get(y, U), _get(y, Q), _get(y, W)
    v, u = _add(_row(model.rest, k, 0), dv), _add(_row(model.rest, k, 3), du)
    n, m, v_t, u_t = _loads(y, xh, model, k)
    q_t = _add(_scale(model.c0, q), _row(xh, k, 6))
    w_t = _add(_scale(model.c0, w), _row(xh, k, 9))
    rhoA, rhoJ = _row(model.inertia, k, 0), _row(model.inertia, k, 3)
    drag = _times(_get(model.drag, 0), _times(_absolute(q), q))
    weight = _times(rhoA, _to_body(R, _get(model.gravity, 0)))
    Lambda_n = _subtract(_add(_times(rhoA, _add(_cross(w, q), q_t)), drag), weight)
    Lambda_m = _add(_cross(w, _times(rhoJ, w)), _times(rhoJ, w_t))
    Lambda_m = _subtract(Lambda_m, _cross(v, n))
    K_s, B_s, B = model.K_s, model.B_s, model.B
    Gamma_v = _add(_times(_row(K_s, k, 0), dv), _times(_row(B_s, k, 0), v_t))
    Gamma_v = _add(_add(_cross(u, n), Gamma_v), _times(_row(B, k, 0), _row(xh, k, 12)))
    Gamma_u = _add(_times(_row(K_s, k, 3), du), _times(_row(B_s, k, 3), u_t))
    Gamma_u = _add(_add(_cross(u, m), Gamma_u), _times(_row(B, k, 3), _row(xh, k, 15)))
    Phi.fill(0.0)
    for j in range(6):
        Phi[j, j] = model.K[k, j] + model.c0 * B[k, j]
    for j in range(3):
        Phi[j, 6] = Lambda_n[j] - Gamma_v[j]
        Phi[3 + j, 6] = Lambda_m[j] - Gamma_u[j]
    _add_tendons(y, model, tension, piece, k, Phi)
    for i in range(tension.size):
        c = _tangent(y, model, i, k)
        y_s[LENGTHS + i] = math.sqrt(_dot(c, c)) if piece <= model.last_piece[i] else 0.0
    eliminate(Phi, 6)
    substitute_back(Phi, Phi[:, 6], x[12:])
    _put(y_s, P, _to_world(R, v))
    y_s[H], h_s = _quaternion_rate(y[H], _get(y, H + 1), u)
    _put(y_s, H + 1, h_s)
    _put(y_s, V, _get(x, 12))
    _put(y_s, U, _get(x, 15))
    _put(y_s, Q, _add(_subtract(v_t, _cross(u, q)), _cross(w, v)))
    _put(y_s, W, _subtract(u_t, _cross(u, w)))
    _put(x, 0, dv)
    _put(x, 3, du)
    _put(x, 6, q)
    _put(x, 9, w)


@kernel
def _total(y, xh, model, tension, piece, k):
    """Return the load of the rod and the tendons in `piece` together, body frame."""
    n, m, _, _ = _loads(y, xh, model, k)
    for i in range(tension.size):
        if piece <= model.last_piece[i]:
            c = _tangent(y, model, i, k)
            pull = _scale(tension[i] / math.sqrt(_dot(c, c)), c)
            n = _add(n, pull)
            m = _add(m, _cross(_row(model.r[i], k, 0), pull))
    return n, m


@kernel
def _begin_piece(y, xh, model, tension, piece, k, n, m, Phi):
    """Write the strains with which rod and tendons together carry n and m, body frame."""
    step = np.empty(6)
    for _ in range(MOST):
        here_n, here_m = _total(y, xh, model, tension, piece, k)
        Phi.fill(0.0)
        _add_tendons(y, model, tension, piece, k, Phi)  # whose matrix is the tangent of _total
        for j in range(6):
            Phi[j, j] += model.K[k, j] + model.c0 * model.B[k, j]
        for j in range(3):
            Phi[j, 6] = n[j] - here_n[j]
            Phi[3 + j, 6] = m[j] - here_m[j]
        eliminate(Phi, 6)
        substitute_back(Phi, Phi[:, 6], step)
        change = 0.0
        for j in range(6):
            y[V + j] += step[j]
            change = max(change, abs(step[j]))
        if change < SMALL:  # its square is below rounding
            break


@kernel
def _runge_kutta(here, xh, model, tension, piece, k, x, work, Phi):
    """Go one element ahead; `x` (18,) becomes that of where it began."""
    y_s, mean, stage, x_stage = work
    mean.fill(0.0)
    y_s.fill(0.0)
    ds = model.ds[piece]
    ahead, weights = (0.0, 0.5 * ds, 0.5 * ds, ds), (ds / 6, ds / 3, ds / 3, ds / 6)
    for i in range(4):
        _add_scaled(here, ahead[i], y_s, stage)
        tendon_derivative(stage, xh, model, tension, piece, k + (i + 1) // 2, y_s, x_stage, Phi)
        _add_scaled(mean, weights[i], y_s, mean)
        if i == 0:
            x[:] = x_stage
    _add_scaled(here, 1.0, mean, here)


@kernel
def shoot_tendons(base_load, tension, model, xh, y, x, tip_load):
    """
    Integrate eq. (17) from the clamped end to the tip, piece by piece.

    Parameters
    ----------
    base_load : (6,) float64
        n(0), m(0) of rod and tendons together [N], [N m].
    tension : (tendons,) float64
        [N].
    model : TendonModel
    xh : (rows, 18) float64
        History at the ends and midpoints of the elements.
    y, x : (nodes, 19 + tendons) and (nodes, 18) float64
        At the ends of the elements, pieces' ends twice; overwritten.
    tip_load : (6,) float64
        n and m beyond the tip, world frame, overwritten.

    """
    here, Phi = np.zeros(y.shape[1]), np.empty((6, 7))
    work = (np.empty_like(here), np.empty_like(here), np.empty_like(here), np.empty(HISTORY))
    here[H] = 1.0
    n, m = _get(base_load, 0), _get(base_load, 3)
    node, k = 0, 0
    for piece in range(model.ds.size):
        _begin_piece(here, xh, model, tension, piece, k, n, m, Phi)
        for _ in range(model.elements[piece]):
            y[node] = here
            _runge_kutta(here, xh, model, tension, piece, k, x[node], work, Phi)
            node, k = node + 1, k + 2
        y[node] = here
        tendon_derivative(here, xh, model, tension, piece, k, work[0], x[node], Phi)
        n, m = _total(here, xh, model, tension, piece, k)
        node, k = node + 1, k + 1
    R = _rotation(here[H], _get(here, H + 1))
    _put(tip_load, 0, _to_world(R, n))
    _put(tip_load, 3, _to_world(R, m))


# --- Robot --------------------------------------------------------------------------------------

class TendonRobot(ActuatedRod):
    """
    A clamped rod with tendons and a body at its tip.

    Parameters
    ----------
    problem : Cantilever
        Of the Cosserat model; its elements are shared among the pieces between tendons' ends.
    tendons : list of Tendon
    tip_body : TipBody
    history, tolerance, max_iterations
        See `ShootingRobot`.

    """

    def __init__(
        self, problem: Cantilever, tendons: list[Tendon], tip_body: TipBody = NO_BODY,
        history: str = 'cubic', tolerance: float = 1e-9, max_iterations: int = 50,
    ) -> None:
        if problem.model != 'cosserat':
            raise InvalidModel('problem.model', problem.model, 'cosserat')
        self.tendons = tuple(tendons)
        self._count = len(tendons)
        L, count = problem.rod.length, len(tendons)
        ends = [L if t.end == math.inf else check_number(
            f'tendons[{i}].end', t.end, above=0.0, most=L, unit='m')
            for i, t in enumerate(tendons)]
        self._cuts = np.unique([0.0, *ends, L])
        self._elements = np.maximum(
            4, np.ceil(problem.elements * np.diff(self._cuts) / L - 1e-9).astype(int))
        self._last_piece = np.searchsorted(self._cuts, ends) - 1
        self.s = self._grid(1)  # [m]; where a tendon ends, twice
        self._by_length = np.array([t.command == 'length' for t in tendons], dtype=bool)
        for i, tendon in enumerate(tendons):
            if tendon.command not in ('tension', 'length'):
                raise UnknownName(
                    f'tendons[{i}].command', tendon.command, ['tension', 'length'])
        load = problem.scales[V:Q]
        free = int(self._by_length.sum())
        super().__init__(
            problem, np.append(load, np.full(free, load[0])), np.append(load, np.full(free, L)),
            np.zeros((self.s.size, HISTORY)), np.zeros(count + 6), tip_body, history, tolerance,
            max_iterations)
        self._static = self._model(0.0)._replace(gravity=np.zeros(3))
        self._dynamic = self._model(problem.coefficients.c0)
        self._y = np.zeros((self.s.size, STATES + count))
        _, self._y, _ = self._shooter(0.0, self._history.x[0])(self._unknowns, self._inputs)
        self._inputs[:count][self._by_length] = self.lengths[self._by_length]
        self._static = self._model(0.0)  # what came before was free of load

    @property
    def tensions(self) -> np.ndarray:
        """Of the tendons, (tendons,) [N]."""
        return self._tensions(self._inputs, self._unknowns)

    def _tensions(self, inputs: np.ndarray, unknowns: np.ndarray) -> np.ndarray:
        tension = inputs[:-6].copy()
        tension[self._by_length] = unknowns[UNKNOWNS:]
        return tension

    @property
    def strains(self) -> np.ndarray:
        """``(v, u)`` at `s`, body frame, (points, 6) [-], [1/m]."""
        return self.problem.rod.rest_strain(self.s) + self._y[:, V:Q]

    @property
    def lengths(self) -> np.ndarray:
        """Of the tendons, from the base to their ends, (tendons,) [m]."""
        return self._y[-1, LENGTHS:].copy()

    def _grid(self, points_per_element: int) -> np.ndarray:
        """Arc lengths, piece by piece."""
        return np.concatenate([
            np.linspace(start, stop, points_per_element * count + 1)
            for start, stop, count in zip(self._cuts, self._cuts[1:], self._elements)])

    def _model(self, c0: float) -> TendonModel:
        problem, s = self.problem, self._grid(2)
        rod = problem.rod
        r = np.array([np.concatenate(t.routing(s), axis=1) for t in self.tendons])
        return TendonModel(
            c0, np.array(problem.gravity), np.array(problem.drag), rod.inertia(s),
            rod.stiffness(s), slope(rod.stiffness, s, rod.length),
            rod.damping(s), slope(rod.damping, s, rod.length),
            rod.rest_strain(s), slope(rod.rest_strain, s, rod.length),
            r.reshape(len(self.tendons), s.size, 9),
            np.diff(self._cuts) / self._elements, self._elements, self._last_piece)

    def _shooter(self, c0: float, xh: np.ndarray) -> Shooter:
        model = self._dynamic if c0 else self._static
        pieces = np.split(xh, np.cumsum(self._elements + 1)[:-1])
        fine = np.concatenate([at_stages(piece, self._between) for piece in pieces])
        compliance = np.array([t.compliance for t in self.tendons])
        free = self._by_length

        def shoot(
            unknowns: np.ndarray, inputs: np.ndarray,
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            tension = self._tensions(inputs, unknowns)
            y, x, tip_load = np.empty_like(self._y), np.empty_like(xh), np.empty(6)
            shoot_tendons(unknowns[:UNKNOWNS], tension, model, fine, y, x, tip_load)
            carried = self._carried(y[-1], c0, xh[-1, 6:12])
            lengths = y[-1, LENGTHS:] - inputs[:-6] - compliance * tension
            return np.append(tip_load - inputs[-6:] - carried, lengths[free]), y, x
        return shoot


def slope(f: Callable[[np.ndarray], np.ndarray], s: np.ndarray, length: float) -> np.ndarray:
    """Return the derivatives of `f` at `s` within [0, length], by parabolas."""
    h = 1e-4 * length
    centre = np.clip(s, h, length - h)
    before, here, after = f(centre - h), f(centre), f(centre + h)
    curved = (s - centre)[:, None] * (after - 2.0 * here + before) / h ** 2
    return (after - before) / (2.0 * h) + curved
