"""
The problem that the methods of this folder solve: one clamped rod with a load at its tip.

Time is discretised as in Till 2019, eq. (5): ``x_t = c0 x + xh`` with the history
``xh = c1 x' + c2 x'' + c3 x''' + d1 x_t'``, primes for one, two, three steps ago. What is left is
a boundary value problem in arc length at every time step (`arc_equations`); the methods differ
in how they solve it. Statics is the same with ``c0 = 0`` and no history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import simpson

from ..checks.errors import InvalidModel
from ..checks.fields import (
    check_number,
    check_vector,
    Checked,
    choice,
    instance,
    integer,
    number,
    vector,
)
from ..description.rod import Rod
from ..numerics.lie import matrix_from_quaternion, quaternion_from_matrix
from .arc_equations import ArcModel, H, HISTORY, N, P, Q, STATES

SCHEMES = ('backward_euler', 'bdf2', 'bdf3', 'bdf_alpha', 'trapezoidal')


class Coefficients(NamedTuple):
    """Of an implicit difference formula, Till 2019, eq. (5): c in [1/s], d1 [-]."""

    c0: float
    c1: float
    c2: float
    c3: float
    d1: float


def difference_formula(scheme: str, dt: float, alpha: float = 0.0) -> Coefficients:
    """
    Return the coefficients of a time scheme (Till 2019, section 2.2).

    Parameters
    ----------
    scheme : str
        One of `SCHEMES`.
    dt : float
        Time step [s].
    alpha : float
        Of ``'bdf_alpha'``, from -0.5 (the trapezoidal rule) to 0 (BDF2).

    """
    if scheme == 'backward_euler':
        return Coefficients(1.0 / dt, -1.0 / dt, 0.0, 0.0, 0.0)
    if scheme == 'bdf3':
        return Coefficients(11.0 / (6.0 * dt), -3.0 / dt, 1.5 / dt, -1.0 / (3.0 * dt), 0.0)
    a = {'bdf2': 0.0, 'trapezoidal': -0.5, 'bdf_alpha': alpha}[scheme]
    scale = dt * (1.0 + a)
    return Coefficients((1.5 + a) / scale, -2.0 / dt, (0.5 + a) / scale, 0.0, a / (1.0 + a))


@dataclass(frozen=True)
class Cantilever(Checked):
    """
    A rod clamped at the world's origin, its base section in the x-y plane, and a time scheme.

    Parameters
    ----------
    rod : Rod
        Of one segment: at a break, strains jump, which no method here looks for.
    time_step : float
        [s].
    elements : int
        Steps in arc length; Till counts the nodes, which are one more.
    scheme : str
        One of `SCHEMES`.
    alpha : float
        Of ``'bdf_alpha'`` [-].
    model : str
        ``'cosserat'`` (Till 2019, eq. (7)), or ``'kirchhoff'`` without shear and stretch
        (eq. (11), but with the section's rotational inertia as given by the rod).
    gravity : (3,) tuple
        World frame [m/s^2].
    drag : (3,) tuple
        Diagonal of C in the square-law drag ``-R C (q |q|)`` of eq. (3), body frame [kg/m^2].

    """

    rod: Rod = instance(Rod, 'a Rod')
    time_step: float = number('s', above=0.0)
    elements: int = integer(least=4, most=100_000, default=149)
    scheme: str = choice(*SCHEMES, default='bdf_alpha')
    alpha: float = number('-', default=-0.2, least=-0.5, most=0.0)
    model: str = choice('cosserat', 'kirchhoff', default='cosserat')
    gravity: tuple[float, float, float] = vector('m/s^2', default=(0.0, 0.0, -9.81))
    drag: tuple[float, float, float] = vector('kg/m^2', default=(0.0, 0.0, 0.0), least=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.rod.segments) > 1:
            raise InvalidModel('rod.segments', self.rod.segments, 'a single segment')
        stiffness = self.rod.stiffness(np.linspace(0.0, self.rod.length, 2 * self.elements + 1))
        if not stiffness.all():
            raise InvalidModel('rod.stiffness', 0.0, '> 0: strains are computed from loads')

    @property
    def coefficients(self) -> Coefficients:
        """Of the time scheme."""
        return difference_formula(self.scheme, self.time_step, self.alpha)

    @property
    def scales(self) -> np.ndarray:
        """Typical sizes of the states, (19,), that make residuals and updates comparable."""
        L, c0 = self.rod.length, self.coefficients.c0
        EI = self.rod.stiffness(0.0)[3:5].max()
        return np.repeat([L, 1.0, EI / L ** 2, EI / L, L * c0, c0], [3, 4, 3, 3, 3, 3])

    def arc_model(self, c0: float) -> ArcModel:
        """Return the rod at the ends and midpoints of its elements; `c0` = 0 for statics."""
        rod = self.rod
        s = np.linspace(0.0, rod.length, 2 * self.elements + 1)
        compliance = 1.0 / (rod.stiffness(s) + c0 * rod.damping(s))
        if self.model == 'kirchhoff':
            compliance[:, :3] = 0.0
        return ArcModel(
            c0, rod.length / self.elements, compliance, rod.damping(s), rod.inertia(s),
            rod.rest_strain(s), np.array(self.gravity), np.array(self.drag))


class Status(NamedTuple):
    """
    How a solution ended.

    Parameters
    ----------
    converged : bool
        If not, the simulator's state is what it was before.
    iterations : int
    residual : float
        What was compared with the tolerance, relative to `Cantilever.scales`.
    message : str

    """

    converged: bool
    iterations: int
    residual: float
    message: str


class Solution(NamedTuple):
    """
    A solved boundary value problem.

    Parameters
    ----------
    status : Status
    y : (points, 19) float64
    x : (points, 12) float64
        See `arc_equations`.

    """

    status: Status
    y: np.ndarray
    x: np.ndarray


class CantileverSimulator:
    """
    State and history of a cantilever; how a step is solved is left to the subclasses.

    It begins at rest and free of stress and load, gravity included. `statics` puts it at rest
    under load.

    Parameters
    ----------
    problem : Cantilever
    tolerance, max_iterations
        When the solver stops.
    points_per_element : int
        1, or 2 if midpoints are states, too.

    """

    def __init__(
        self, problem: Cantilever, tolerance: float, max_iterations: int,
        points_per_element: int = 1,
    ) -> None:
        self.problem = problem
        self._tolerance = check_number('tolerance', tolerance, above=0.0)
        self._max_iterations = int(check_number('max_iterations', max_iterations, least=1.0))
        points = problem.elements * points_per_element + 1
        self.s = np.linspace(0.0, problem.rod.length, points)  # [m]
        self.time = 0.0  # [s]
        self._x_t: np.ndarray
        self._x: tuple[np.ndarray, ...]  # of the last three steps, latest first
        self._coefficients = problem.coefficients
        self._scales = problem.scales
        self._static_model = problem.arc_model(0.0)
        self._dynamic_model = problem.arc_model(self._coefficients.c0)
        y = np.zeros((points, STATES))
        rest = problem.rod.rest_poses(self.s)
        y[:, P:H] = rest[:, :3, 3]
        y[:, H:N] = _quaternions(rest[:, :3, :3])
        self._rest_at(y, np.zeros((points, HISTORY)))

    def statics(self, tip_force: ArrayLike, tip_moment: ArrayLike = (0.0, 0.0, 0.0)) -> Status:
        """
        Find the equilibrium under load, nearest to the present state, and rest there.

        Parameters
        ----------
        tip_force, tip_moment : (3,) array_like
            World frame [N], [N m].

        """
        no_history = np.zeros_like(self._x[0])
        solution = self._solve(self._static_model, no_history, _load(tip_force, tip_moment))
        if solution.status.converged:
            self._rest_at(solution.y, solution.x)
        return solution.status

    def step(
        self, tip_force: ArrayLike = (0.0, 0.0, 0.0), tip_moment: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Status:
        """
        Go one time step ahead.

        Parameters
        ----------
        tip_force, tip_moment : (3,) array_like
            At the end of the step, world frame [N], [N m].

        """
        c0, c1, c2, c3, d1 = self._coefficients
        xh = c1 * self._x[0] + c2 * self._x[1] + c3 * self._x[2] + d1 * self._x_t
        solution = self._solve(self._dynamic_model, xh, _load(tip_force, tip_moment))
        if solution.status.converged:
            self._y = solution.y
            self._x_t = c0 * solution.x + xh
            self._x = (solution.x, self._x[0], self._x[1])
            self.time += self.problem.time_step
        return solution.status

    def _solve(self, model: ArcModel, xh: np.ndarray, load: np.ndarray) -> Solution:
        """Solve eq. (7) with the history `xh` (points, 12) and the tip load (6,)."""
        raise NotImplementedError

    def _rest_at(self, y: np.ndarray, x: np.ndarray) -> None:
        self._y = y
        self._x = (x, x, x)
        self._x_t = np.zeros_like(x)
        self.time = 0.0

    @property
    def poses(self) -> np.ndarray:
        """Section poses at `s`, body to world, (points, 4, 4), in [m]."""
        g = np.zeros((len(self.s), 4, 4))
        g[:, :3, :3] = matrix_from_quaternion(np.roll(self._y[:, H:N], -1, axis=1))
        g[:, :3, 3] = self._y[:, P:H]
        g[:, 3, 3] = 1.0
        return g

    @property
    def tip(self) -> np.ndarray:
        """Position of the tip, world frame, (3,) [m]."""
        return self._y[-1, P:H].copy()

    @property
    def loads(self) -> np.ndarray:
        """Internal force and moment at `s`, world frame, (points, 6) [N], [N m]."""
        return self._y[:, N:Q].copy()

    @property
    def strains(self) -> np.ndarray:
        """``(v, u)`` at `s`, body frame, (points, 6) [-], [1/m]."""
        return self.problem.rod.rest_strain(self.s) + self._x[0][:, :6]

    @property
    def velocities(self) -> np.ndarray:
        """``(q, w)`` at `s`, body frame, (points, 6) [m/s], [rad/s]."""
        return self._y[:, Q:].copy()

    @property
    def energy(self) -> float:
        """Elastic, kinetic and potential energy (Till 2019, section 3) [J]."""
        rod, x = self.problem.rod, self._x[0]
        inertia = rod.inertia(self.s)
        elastic = 0.5 * (rod.stiffness(self.s) * x[:, :6] ** 2).sum(axis=1)
        kinetic = 0.5 * (inertia * x[:, 6:] ** 2).sum(axis=1)
        potential = -inertia[:, 0] * (self._y[:, P:H] @ self.problem.gravity)
        return float(simpson(elastic + kinetic + potential, x=self.s))


def _load(force: ArrayLike, moment: ArrayLike) -> np.ndarray:
    """Return the tip's load, checked, (6,)."""
    given = {'tip_force': (force, 'N'), 'tip_moment': (moment, 'N m')}
    parts = (check_vector(name, x, 3, unit=unit) for name, (x, unit) in given.items())
    return np.array([component for part in parts for component in part])


def _quaternions(R: np.ndarray) -> np.ndarray:
    """Return quaternions (points, 4), scalar first, of one sign along the rod, from R(0) = I."""
    h = np.roll(quaternion_from_matrix(R), 1, axis=1)
    turns = np.sign((h[1:] * h[:-1]).sum(axis=1))
    h[1:] *= np.cumprod(np.where(turns < 0.0, -1.0, 1.0))[:, None]
    return h
