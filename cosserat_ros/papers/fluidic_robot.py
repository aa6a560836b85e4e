"""
The fluidic robot of Till 2019, section 5.3: a soft rod with pressurised chambers along it.

States in arc length are those of a plain rod (`arc_equations`) and the chambers' volumes.
Differences from the paper:

* The guess at the base is the load of rod and fluid together, as for the tendon robot.
* A chamber's volume can be integrated as in the paper, ``A |v + u x r|``, or as
  ``A e3 . (v + u x r)``. Only the latter is conjugate to the paper's own pressure loads, eq. (18):
  their virtual work is P times its variation. The two differ where sections shear.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from ..checks.errors import UnknownName
from ..checks.fields import Checked, choice, number, vector
from ..numerics.kernels import kernel
from .arc_equations import (
    _add,
    _cross,
    _dot,
    _get,
    _put,
    _rotation,
    _row,
    _scale,
    _to_world,
    arc_derivative,
    ArcModel,
    H,
    HISTORY,
    M,
    N,
    Q,
    STATES,
    UNKNOWNS,
)
from .cantilever import Cantilever
from .shooting import _add_scaled
from .shooting_robot import ActuatedRod, at_stages, NO_BODY, Shooter, TipBody

GAS_CONSTANT = 8.314  # [J/(mol K)], as in section 5.3.3
VOLUMES = STATES  # where in y the chambers' volumes begin
E3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Chamber(Checked):
    """
    A chamber from the base to the tip, parallel to the rod, with flat caps.

    Parameters
    ----------
    offset : (2,) tuple
        From the section's centroid to the chamber's, body frame [m].
    area : float
        [m^2]; it does not depend on pressure or shape.
    fluid : str
        What is given at each step: ``'pressure'`` above the atmosphere [Pa], ``'volume'`` of an
        incompressible fluid [m^3], or ``'gas'``, the amount of an ideal gas [mol].
    temperature, atmosphere : float
        Of the gas [K]; outside [Pa].

    """

    offset: tuple[float, float] = vector('m', size=2)
    area: float = number('m^2', above=0.0)
    fluid: str = choice('pressure', 'volume', 'gas', default='pressure')
    temperature: float = number('K', default=293.15, above=0.0)
    atmosphere: float = number('Pa', default=101325.0, above=0.0)

    def volume(self, command: float, pressure: float) -> float:
        """Return the fluid's volume [m^3] at a pressure above the atmosphere [Pa]."""
        if self.fluid == 'volume':
            return command
        return command * GAS_CONSTANT * self.temperature / (pressure + self.atmosphere)

    def amount(self, volume: float) -> float:
        """Return the command with which a volume [m^3] is at the atmosphere's pressure."""
        gas = self.atmosphere * volume / (GAS_CONSTANT * self.temperature)
        return {'pressure': 0.0, 'volume': volume, 'gas': gas}[self.fluid]


class Fluid(NamedTuple):
    """
    What is in the chambers.

    Parameters
    ----------
    r : (chambers, 3) float64
        Offsets [m].
    area : (chambers,) float64
        [m^2].
    pressure : (chambers,) float64
        Above the atmosphere [Pa].
    conjugate : bool
        Whether the volume is that of ``e3 . (v + u x r)``.

    """

    r: np.ndarray
    area: np.ndarray
    pressure: np.ndarray
    conjugate: bool


@kernel
def fluidic_derivative(y, xh, model, fluid, k, y_s, x):
    """
    Write the derivatives in arc length, eqs. (7) and (18), and the variables with a history.

    Parameters
    ----------
    y, y_s : (19 + chambers,) float64
        State of a plain rod, then volumes [m^3]; derivatives, overwritten.
    xh, model, k, x
        As for `arc_equations.arc_derivative`.
    fluid : Fluid

    """
    arc_derivative(y, xh, model, k, y_s, x)
    R = _rotation(y[H], _get(y, H + 1))
    v, u = _add(_row(model.rest, k, 0), _get(x, 0)), _add(_row(model.rest, k, 3), _get(x, 3))
    turned = _cross(u, E3)
    for i in range(fluid.area.size):
        r, force = _row(fluid.r, i, 0), fluid.pressure[i] * fluid.area[i]
        c = _add(v, _cross(u, r))
        moved = _add(_cross(c, E3), _cross(r, turned))
        _put(y_s, N, _add(_get(y_s, N), _to_world(R, _scale(force, turned))))  # -f_P
        _put(y_s, M, _add(_get(y_s, M), _to_world(R, _scale(force, moved))))  # -l_P
        length = c[2] if fluid.conjugate else math.sqrt(_dot(c, c))
        y_s[VOLUMES + i] = fluid.area[i] * length


@kernel
def _add_caps(R, fluid, sign, load):
    """Add the forces and moments of the pressure on the chambers' caps, times `sign`."""
    for i in range(fluid.area.size):
        F = (0.0, 0.0, sign * fluid.pressure[i] * fluid.area[i])
        L = _cross(_row(fluid.r, i, 0), F)
        _put(load, 0, _add(_get(load, 0), _to_world(R, F)))
        _put(load, 3, _add(_get(load, 3), _to_world(R, L)))


@kernel
def shoot_fluidic(base_load, fluid, model, xh, y, x, tip_load):
    """
    Integrate from the clamped end to the tip.

    Parameters
    ----------
    base_load : (6,) float64
        Force and moment of rod and fluid together at s = 0 [N], [N m].
    fluid : Fluid
    model : ArcModel
    xh : (2 N + 1, 12) float64
        History at the ends and midpoints of the elements.
    y, x : (N + 1, 19 + chambers) and (N + 1, 12) float64
        At the ends of the elements, overwritten.
    tip_load : (6,) float64
        n and m beyond the tip, world frame, overwritten.

    """
    here, last = np.zeros(y.shape[1]), y.shape[0] - 1
    y_s, mean, stage = np.zeros_like(here), np.empty_like(here), np.empty_like(here)
    x_s, ds = np.empty(HISTORY), model.ds
    ahead, weights = (0.0, 0.5 * ds, 0.5 * ds, ds), (ds / 6, ds / 3, ds / 3, ds / 6)
    here[H] = 1.0
    here[N:Q] = base_load
    _add_caps(_rotation(1.0, (0.0, 0.0, 0.0)), fluid, 1.0, here[N:Q])
    for e in range(last):
        y[e] = here
        mean.fill(0.0)
        for i in range(4):
            _add_scaled(here, ahead[i], y_s, stage)
            fluidic_derivative(stage, xh, model, fluid, 2 * e + (i + 1) // 2, y_s, x_s)
            _add_scaled(mean, weights[i], y_s, mean)
            if i == 0:
                x[e] = x_s
        _add_scaled(here, 1.0, mean, here)
    y[last] = here
    fluidic_derivative(here, xh, model, fluid, 2 * last, y_s, x[last])
    tip_load[:] = here[N:Q]
    _add_caps(_rotation(here[H], _get(here, H + 1)), fluid, -1.0, tip_load)


class FluidicRobot(ActuatedRod):
    """
    A clamped rod with chambers and a body at its tip.

    Parameters
    ----------
    problem : Cantilever
        Rod, time scheme and surroundings.
    chambers : list of Chamber
    volume : str
        ``'length'`` as in the paper, or ``'conjugate'``; see above.
    tip_body : TipBody
    history, tolerance, max_iterations
        See `ShootingRobot`.

    """

    def __init__(
        self, problem: Cantilever, chambers: list[Chamber], volume: str = 'length',
        tip_body: TipBody = NO_BODY, history: str = 'cubic', tolerance: float = 1e-9,
        max_iterations: int = 50,
    ) -> None:
        if volume not in ('length', 'conjugate'):
            raise UnknownName('volume', volume, ['length', 'conjugate'])
        self.chambers = tuple(chambers)
        self._count = len(chambers)
        self.s = np.linspace(0.0, problem.rod.length, problem.elements + 1)  # [m]
        count, load = len(chambers), problem.scales[N:Q]
        self._area = np.array([c.area for c in chambers]).reshape(count)
        self._fluid = Fluid(
            np.array([(*c.offset, 0.0) for c in chambers]).reshape(count, 3), self._area,
            np.zeros(count), volume == 'conjugate')
        self._free = np.array([c.fluid != 'pressure' for c in chambers], dtype=bool)
        self._static = problem.arc_model(0.0)._replace(gravity=np.zeros(3))
        self._dynamic = problem.arc_model(problem.coefficients.c0)
        area = self._area[self._free]
        super().__init__(
            problem, np.append(load, load[0] / area),
            np.append(load, area * problem.rod.length), np.zeros((self.s.size, HISTORY)),
            np.zeros(count + 6), tip_body, history, tolerance, max_iterations)
        self._y = np.zeros((self.s.size, STATES + count))
        _, self._y, _ = self._shooter(0.0, self._history.x[0])(self._unknowns, self._inputs)
        self._inputs[:count] = [c.amount(v) for c, v in zip(chambers, self.volumes)]
        self._static = problem.arc_model(0.0)  # what came before was free of load

    @property
    def strains(self) -> np.ndarray:
        """``(v, u)`` at `s`, body frame, (points, 6) [-], [1/m]."""
        return self.problem.rod.rest_strain(self.s) + self._history.x[0][:, :6]

    @property
    def volumes(self) -> np.ndarray:
        """Of the chambers, (chambers,) [m^3]."""
        return self._y[-1, VOLUMES:].copy()

    @property
    def pressures(self) -> np.ndarray:
        """In the chambers, above the atmosphere, (chambers,) [Pa]."""
        return self._pressures(self._inputs, self._unknowns)

    def _pressures(self, inputs: np.ndarray, unknowns: np.ndarray) -> np.ndarray:
        pressure = inputs[:-6].copy()
        pressure[self._free] = unknowns[UNKNOWNS:]
        return pressure

    def _shooter(self, c0: float, xh: np.ndarray) -> Shooter:
        model: ArcModel = self._dynamic if c0 else self._static
        fine = at_stages(xh, self._between)

        def shoot(
            unknowns: np.ndarray, inputs: np.ndarray,
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            pressure = self._pressures(inputs, unknowns)
            fluid = self._fluid._replace(pressure=pressure)
            y, x, tip_load = np.empty_like(self._y), np.empty_like(xh), np.empty(6)
            shoot_fluidic(unknowns[:UNKNOWNS], fluid, model, fine, y, x, tip_load)
            excess = np.array([
                V - c.volume(command, pressure)
                for V, c, command, pressure
                in zip(y[-1, VOLUMES:], self.chambers, inputs, pressure)])[self._free]
            carried = self._carried(y[-1], c0, xh[-1, 6:12])
            return np.append(tip_load - inputs[-6:] - carried, excess), y, x
        return shoot
