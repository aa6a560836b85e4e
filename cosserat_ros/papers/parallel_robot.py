"""
The parallel robot of Till 2019, section 5.1: legs that are rods, clamped to a rigid platform.

Guessed are the paper's ``G = {p_e, k, n_1, m_1, ...}``, and what vanishes is its ``E``. Each leg
is shot in the frame of its base by `shooting.shoot`, with gravity turned into it.

A leg's length is given at each step; its grid is scaled with it, and its history belongs to grid
points. So the inertia of a leg does not know how fast the leg is pushed out, only how it bends:
right if lengths change slowly, which is what the paper does. The platform has its own history:
``v_e = c0 p_e + ph`` and again ``a_e = c0 v_e + vh``, and likewise from R_e to its spin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks.errors import InvalidModel
from ..numerics.lie import exp_so3, log_so3
from .arc_equations import _rotation, H, HISTORY, N, P, Q, STATES, UNKNOWNS
from .cantilever import Cantilever, Status
from .shooting import shoot as shoot_rod
from .shooting_robot import _cross, at_stages, checked, Shooter, ShootingRobot, TipBody

RK4 = 4
PLATFORM = 18  # p_e, R_e, v_e, w_e: what of the platform has a history, world frame
NO_TANGENT = np.empty((0, STATES))


def stewart_gough(radius: float, major_angle: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return bases and mounts of six parallel legs, each (6, 4, 4), as in the paper's code.

    Parameters
    ----------
    radius : float
        Of the circles on which legs are clamped to the base and the platform [m].
    major_angle : float
        Between neighbours, less than 2 pi / 3 [rad]. Where legs are this far apart at the base,
        they are as far as the minor angle at the platform.

    """
    minor = 2.0 * np.pi / 3.0 - major_angle
    i = np.arange(6)
    odd, even = (i + 1) // 2, i // 2

    def circle(angle: np.ndarray) -> np.ndarray:
        g = np.tile(np.eye(4), (6, 1, 1))
        g[:, :2, 3] = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return g

    return (
        circle(-0.5 * minor + odd * minor + even * major_angle),
        circle(-0.5 * major_angle + odd * major_angle + even * minor))


class ParallelRobot(ShootingRobot):
    """
    Legs, all alike, from given bases to a platform.

    At first they are free of stress and load; the first `statics` assembles them.

    Parameters
    ----------
    problem : Cantilever
        A leg, of one section and rest strain along its length; time scheme and surroundings.
    bases : (legs, 4, 4) array_like
        Poses of the legs' bases, in the world [m].
    mounts : (legs, 4, 4) array_like
        Poses of the legs' tips, seen from the platform's centre of mass [m]. The paper has no
        rotation there.
    platform : TipBody
    history, tolerance, max_iterations
        See `ShootingRobot`.

    """

    def __init__(
        self, problem: Cantilever, bases: ArrayLike, mounts: ArrayLike, platform: TipBody,
        history: str = 'cubic', tolerance: float = 1e-9, max_iterations: int = 50,
    ) -> None:
        segment = problem.rod.segments[0]
        if segment.tip_section is not None or segment.rest.tip_curvature is not None:
            raise InvalidModel('problem.rod', problem.rod, 'the same at all arc lengths')
        self._bases, self._mounts = _poses('bases', bases), _poses('mounts', mounts)
        self.legs = count = len(self._bases)
        if len(self._mounts) != count:
            raise InvalidModel('mounts', len(self._mounts), f'as many as bases, {count}')
        L, nodes, load = problem.rod.length, problem.elements + 1, problem.scales[N:Q]
        self._static = problem.arc_model(0.0)
        self._dynamic = problem.arc_model(problem.coefficients.c0)
        pose_scales = np.repeat([L, 1.0], 3)
        self._x_legs = (count, nodes, HISTORY)
        self._y = np.zeros((count, nodes, STATES))
        super().__init__(
            problem, np.concatenate([pose_scales, np.tile(load, count)]),
            np.concatenate([load, np.tile(pose_scales, count)]),
            np.zeros(count * nodes * HISTORY + PLATFORM),
            np.concatenate([np.full(count, L), np.zeros(7)]),
            platform, history, tolerance, max_iterations)
        tips = self._bases @ problem.rod.rest_poses(L)
        self._unknowns[:3] = tips[:, :3, 3].mean(axis=0)
        self._loose = tips.copy()  # seen from the platform as it is at first
        self._loose[:, :3, 3] -= self._unknowns[:3]

    def statics(self, lengths: ArrayLike, load: ArrayLike = (0.0,) * 6) -> Status:
        """
        Find the equilibrium nearest to the present state, and rest there.

        Parameters
        ----------
        lengths : (legs,) array_like
            [m].
        load : (6,) array_like
            Force and moment on the platform, about its centre of mass, besides its weight, world
            frame [N], [N m].

        """
        return self._follow(True, lengths, load)

    def step(self, lengths: ArrayLike, load: ArrayLike = (0.0,) * 6) -> Status:
        """Go one time step ahead, to these lengths and this load, as for `statics`."""
        return self._follow(False, lengths, load)

    def _follow(self, static: bool, lengths: ArrayLike, load: ArrayLike) -> Status:
        given = checked('lengths', lengths, self.legs)
        if not (given > 0.0).all():
            raise InvalidModel('lengths', lengths, '> 0 [m]')
        return self._advance(static, np.concatenate([given, checked('load', load, 6), [1.0]]))

    @property
    def tip(self) -> np.ndarray:
        """Position of the platform's centre of mass, world frame, (3,) [m]."""
        return self._unknowns[:3].copy()

    @property
    def rotation(self) -> np.ndarray:
        """Of the platform, body to world, (3, 3)."""
        return exp_so3(self._unknowns[3:6])

    @property
    def positions(self) -> np.ndarray:
        """Of the legs at equal steps from base to tip, world frame, (legs, points, 3) [m]."""
        local = self._y[:, :, P:H]
        turned = np.einsum('aij,akj->aki', self._bases[:, :3, :3], local)
        return self._bases[:, None, :3, 3] + turned

    @property
    def base_loads(self) -> np.ndarray:
        """Internal forces and moments at the legs' bases, world frame, (legs, 6) [N], [N m]."""
        return self._unknowns[6:].reshape(self.legs, UNKNOWNS).copy()

    def _shooter(self, c0: float, xh: np.ndarray) -> Shooter:
        xh_legs = xh[:-PLATFORM].reshape(self._x_legs)
        fine = [at_stages(leg, self._between) for leg in xh_legs]
        shots: dict[tuple[int, bytes, float], tuple[np.ndarray, ...]] = {}

        def leg(i: int, load: np.ndarray, length: float) -> tuple[np.ndarray, ...]:
            key = (i, load.tobytes(), length)  # most columns of the Jacobian move one leg only
            if key not in shots:
                shots[key] = self._shoot_leg(i, load, length, c0, fine[i])
            return shots[key]

        def shoot(
            unknowns: np.ndarray, inputs: np.ndarray,
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            lengths, load, assembled = np.split(inputs, [self.legs, self.legs + 6])
            p_e, R_e = unknowns[:3], exp_so3(unknowns[3:6])
            x_e, carried = self._platform(p_e, R_e, c0, xh[-PLATFORM:])
            sum_n, sum_m, errors, y, x = np.zeros(3), np.zeros(3), [], [], []
            for i, base_load in enumerate(unknowns[6:].reshape(-1, UNKNOWNS)):
                y_i, x_i, p, R, n, m = leg(i, base_load, float(lengths[i]))
                r, R_mount = self._mount(i, float(assembled[0]))
                arm = R_e @ r
                errors += [p_e + arm - p, _difference(R_e @ R_mount, R)]  # E_i^p, E_i^R
                sum_n += n
                sum_m += m + _cross(arm, n)
                y.append(y_i)
                x.append(x_i)
            balance = load + carried - np.append(sum_n, sum_m)  # E^F, E^M
            return (
                np.concatenate([balance, *errors]), np.array(y),
                np.concatenate([np.array(x).ravel(), x_e]))
        return shoot

    def _shoot_leg(
        self, i: int, load: np.ndarray, length: float, c0: float, xh: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """Return y, x, and at the tip p, R, n, m in the world, from n, m at the base (6,)."""
        p_base, R_base = self._bases[i, :3, 3], self._bases[i, :3, :3]
        model = (self._dynamic if c0 else self._static)._replace(
            ds=length / self.problem.elements, gravity=R_base.T @ self._gravity)
        y, x = np.empty(self._y.shape[1:]), np.empty(self._x_legs[1:])
        local = (load.reshape(2, 3) @ R_base).ravel()
        shoot_rod(local, model, xh, RK4, y, x, NO_TANGENT)
        R = np.array(_rotation(y[-1, H], tuple(y[-1, H + 1:N])))
        n, m = y[-1, N:Q].reshape(2, 3) @ R_base.T
        return y, x, p_base + R_base @ y[-1, P:H], R_base @ R, n, m

    def _platform(
        self, p_e: np.ndarray, R_e: np.ndarray, c0: float, xh: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the platform's variables with a history, and weight less inertia, (6,)."""
        ph, Rh, vh, wh = np.split(xh, [3, 12, 15])
        v = c0 * p_e + ph
        W = (c0 * R_e + Rh.reshape(3, 3)) @ R_e.T
        w = 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])
        a, w_t = c0 * v + vh, c0 * w + wh
        J = R_e @ np.diag(self.tip_body.inertia) @ R_e.T
        force = self.tip_body.mass * (self._gravity - a)
        return np.concatenate([p_e, R_e.ravel(), v, w]), np.append(
            force, -J @ w_t - _cross(w, J @ w))

    def _mount(self, i: int, assembled: float) -> tuple[np.ndarray, np.ndarray]:
        """Return a leg's place and rotation on the platform, from 0 for loose legs to 1."""
        here, there = self._loose[i], self._mounts[i]
        if assembled == 1.0:
            return there[:3, 3], there[:3, :3]
        turn = log_so3(here[:3, :3].T @ there[:3, :3])
        r = here[:3, 3] + assembled * (there[:3, 3] - here[:3, 3])
        return r, here[:3, :3] @ exp_so3(assembled * turn)


def _difference(R: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return ``(R^T R_other - R_other^T R)^v``, (3,)."""
    D = R.T @ other
    return np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])


def _poses(name: str, value: ArrayLike) -> np.ndarray:
    """Return poses (any, 4, 4), or raise."""
    g = np.asarray(value, dtype=float)
    if g.ndim != 3 or g.shape[1:] != (4, 4) or not len(g) or not np.isfinite(g).all():
        raise InvalidModel(name, value, 'finite, of shape (legs, 4, 4)')
    return g
