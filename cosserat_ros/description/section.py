"""
Cross sections of rods: dimensions in, area properties out.

SI units. A section's frame is the rod's body frame: z along the rest tangent (e3), x and y the
principal axes of the section, origin at its centroid. The names are also those of the YAML files.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Optional, Union

import numpy as np

from ..checks.errors import InvalidModel
from ..checks.fields import check_number, Checked, number


@dataclass(frozen=True)
class BaseSection(Checked):
    """
    A cross section: dimensions in, area properties out.

    Each kind has the fields or properties ``area`` [m^2], ``second_moments`` (I_xx, I_yy) about
    the local x and y axes [m^4], ``torsion_constant`` [m^4] and ``outline``, the full extents
    along x and y [m]. The formulas hold for floats and, along a taper, for arrays alike.

    Parameters
    ----------
    shear_correction : float
        Factor of the shear stiffness GA [-]. 1 as in Till 2019; Cowper (1966) gives
        ``6 (1 + nu) / (7 + 6 nu)`` for a disc, 0.89 at nu = 0.3, and
        ``10 (1 + nu) / (12 + 11 nu)`` for a rectangle, 0.85.

    """

    shape: ClassVar[str]  # the kind's name in YAML
    _moments: ClassVar[dict[str, float]] = {'above': 0.0}  # what a derived moment must be
    shear_correction: float = number('-', default=1.0, kw_only=True, above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_dimensions()
        # numpy's floats, unlike Python's, overflow to inf without an exception of their own
        wide: Any = self.toward(self, np.float64(0.0))
        with np.errstate(all='ignore'):
            check_number('area', float(wide.area), above=0.0, unit='m^2')
            for i, moment in enumerate(wide.second_moments):
                check_number(f'second_moments[{i}]', float(moment), unit='m^4', **self._moments)
            J = float(wide.torsion_constant)
            check_number('torsion_constant', J, unit='m^4', **self._moments)

    def _check_dimensions(self) -> None:
        """Raise if the dimensions, each valid by itself, do not fit together."""

    def toward(self, tip: BaseSection, x: np.ndarray) -> Any:
        """Return the section at the fraction `x` of a taper to `tip`: fields are as `x`."""
        between = object.__new__(type(self))  # unchecked: between two valid sections
        for f in fields(self):
            start, end = getattr(self, f.name), getattr(tip, f.name)
            value = None if start is None else (1.0 - x) * start + x * end
            object.__setattr__(between, f.name, value)
        return between


class _Round(BaseSection):
    """What `Circular` and `Annular` share."""

    @property
    def _radii(self) -> tuple[float, float]:
        """Outer and inner radius [m]."""
        raise NotImplementedError

    @property
    def area(self) -> float:
        outer, inner = self._radii
        return np.pi * (outer - inner) * (outer + inner)  # no cancellation in a thin wall

    @property
    def second_moments(self) -> tuple[float, float]:
        outer, inner = self._radii
        moment = self.area * (outer ** 2 + inner ** 2) / 4.0
        return moment, moment

    @property
    def torsion_constant(self) -> float:
        return sum(self.second_moments)  # the polar moment: round sections do not warp

    @property
    def outline(self) -> tuple[float, float]:
        outer, _ = self._radii
        return 2.0 * outer, 2.0 * outer


@dataclass(frozen=True)
class Circular(_Round):
    """
    A disc.

    Parameters
    ----------
    radius : float
        Radius [m].

    """

    shape: ClassVar[str] = 'circular'
    radius: float = number('m', above=0.0)

    @property
    def _radii(self) -> tuple[float, float]:
        return self.radius, 0.0


@dataclass(frozen=True)
class Annular(_Round):
    """
    A tube.

    Parameters
    ----------
    outer_radius : float
        Radius of the outer surface [m].
    inner_radius : float
        Radius of the inner surface, less than the outer one [m].

    """

    shape: ClassVar[str] = 'annular'
    outer_radius: float = number('m', above=0.0)
    inner_radius: float = number('m', least=0.0)

    def _check_dimensions(self) -> None:
        if not self.inner_radius < self.outer_radius:
            allowed = f'less than outer_radius, {self.outer_radius:g} [m]'
            raise InvalidModel('inner_radius', self.inner_radius, allowed)

    @property
    def _radii(self) -> tuple[float, float]:
        return self.outer_radius, self.inner_radius


@dataclass(frozen=True)
class Elliptic(BaseSection):
    """
    An ellipse.

    Parameters
    ----------
    semi_axis_x : float
        Semi-axis along the local x axis [m].
    semi_axis_y : float
        Semi-axis along the local y axis [m].

    """

    shape: ClassVar[str] = 'elliptic'
    semi_axis_x: float = number('m', above=0.0)
    semi_axis_y: float = number('m', above=0.0)

    @property
    def area(self) -> float:
        return np.pi * self.semi_axis_x * self.semi_axis_y

    @property
    def second_moments(self) -> tuple[float, float]:
        return self.area * self.semi_axis_y ** 2 / 4.0, self.area * self.semi_axis_x ** 2 / 4.0

    @property
    def torsion_constant(self) -> float:
        """Saint-Venant's pi a^3 b^3 / (a^2 + b^2), in terms of the second moments [m^4]."""
        I_xx, I_yy = self.second_moments
        return 4.0 / (1.0 / I_xx + 1.0 / I_yy)

    @property
    def outline(self) -> tuple[float, float]:
        return 2.0 * self.semi_axis_x, 2.0 * self.semi_axis_y


@dataclass(frozen=True)
class Rectangular(BaseSection):
    """
    A rectangle.

    Parameters
    ----------
    width : float
        Edge along the local x axis [m].
    height : float
        Edge along the local y axis [m].

    """

    shape: ClassVar[str] = 'rectangular'
    width: float = number('m', above=0.0)
    height: float = number('m', above=0.0)

    @property
    def area(self) -> float:
        return self.width * self.height

    @property
    def second_moments(self) -> tuple[float, float]:
        return self.area * self.height ** 2 / 12.0, self.area * self.width ** 2 / 12.0

    @property
    def torsion_constant(self) -> float:
        """
        Saint-Venant's series, to rounding error at any aspect ratio [m^4].

        With a >= b: ``a b^3 (1/3 - 64/pi^5 b/a sum tanh(n pi a/2b) / n^5)``, n odd (Timoshenko
        and Goodier, Theory of Elasticity, chapter on torsion). Summed as
        ``tanh = 1 - (1 - tanh)``: the first part is 31/32 zeta(5), the second falls like
        exp(-n pi).
        """
        a, b = np.maximum(self.width, self.height), np.minimum(self.width, self.height)
        series = 31.0 / 32.0 * 1.0369277551433699  # zeta(5)
        for n in (1, 3, 5, 7, 9):
            decay = np.exp(-n * np.pi * a / b)
            series = series - 2.0 * decay / (1.0 + decay) / n ** 5
        return a * b ** 3 * (1.0 / 3.0 - 64.0 / np.pi ** 5 * b / a * series)

    @property
    def outline(self) -> tuple[float, float]:
        return self.width, self.height


@dataclass(frozen=True)
class FreeSection(BaseSection):
    """
    A section known by its area properties alone. Moments may be 0: a string.

    Parameters
    ----------
    area : float
        Area of the material [m^2].
    second_moment_x : float
        Second moment of area about the local x axis, I_xx [m^4].
    second_moment_y : float
        Second moment of area about the local y axis, I_yy [m^4].
    torsion_constant : float
        Torsion constant J (Saint-Venant) [m^4].
    width : float, optional
        Extent along the local x axis, only for drawing [m]; if left out, that of a disc of
        equal area.
    height : float, optional
        Extent along the local y axis, likewise [m].

    """

    shape: ClassVar[str] = 'free'
    _moments: ClassVar[dict[str, float]] = {'least': 0.0}
    area: float = number('m^2', above=0.0)
    second_moment_x: float = number('m^4', least=0.0)
    second_moment_y: float = number('m^4', least=0.0)
    torsion_constant: float = number('m^4', least=0.0)
    width: Optional[float] = number('m', default=None, above=0.0)
    height: Optional[float] = number('m', default=None, above=0.0)

    @property
    def second_moments(self) -> tuple[float, float]:
        return self.second_moment_x, self.second_moment_y

    @property
    def outline(self) -> tuple[float, float]:
        diameter = 2.0 * np.sqrt(self.area / np.pi)
        width = diameter if self.width is None else self.width
        return width, diameter if self.height is None else self.height


Section = Union[Circular, Annular, Rectangular, Elliptic, FreeSection]
