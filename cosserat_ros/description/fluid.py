"""
What a fluid at rest does to a rod beside drag: a robot file says it by `rods.<name>.flow`.

The dataclasses are vocabulary of robot files; the forces are those of `laws.flow`.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import ClassVar, Union

from ..checks.errors import InvalidModel
from ..checks.fields import Checked, choice, number, vector

LONGEST = 1e3  # of a component of a direction
ACROSS = 1e-9  # of the x and y of a direction, below which it is along the rod


class BaseFlow(Checked):
    """What all kinds of flow share: that they are one."""


@dataclass(frozen=True)
class Slender(BaseFlow):
    """
    Lighthill's reactive forces on a slender body: added mass of its sections, and a wake.

    The added mass is that of an ellipse as wide and as high as the section. The fluid's weight is
    not in it: what floats has no `gravity`.

    Parameters
    ----------
    density : float
        Density of the fluid [kg/m^3].
    wake : str
        Whether the momentum of the fluid is shed behind the rod's 'tip', or 'none' is.

    """

    shape: ClassVar[str] = 'slender'
    density: float = number('kg/m^3', above=0.0)
    wake: str = choice('tip', 'none', default='tip')


@dataclass(frozen=True)
class Blade(BaseFlow):
    """
    Quasi-steady lift and drag of a blade along the rod, and its added mass.

    Its chord is the section's extent along `forward`, the leading edge ahead of its middle.

    Parameters
    ----------
    density : float
        Density of the fluid [kg/m^3].
    forward : (3,) tuple
        Direction from the trailing to the leading edge, in the section's plane.
    centre_of_pressure : float
        Behind the leading edge, as a part of the chord.
    lift : float
        C_L of the coefficient C_L sin 2 beta, beta the angle of attack.
    drag : (2,) tuple
        C_D0 and C_D2 of the coefficient C_D0 - C_D2 cos 2 beta.
    added_mass : float
        Added mass over that of a flat plate, pi/4 density chord^2 per length; it acts at the
        centre of pressure.

    """

    shape: ClassVar[str] = 'blade'
    density: float = number('kg/m^3', above=0.0)
    forward: tuple[float, float, float] = vector(
        '-', default=(0.0, 1.0, 0.0), least=-LONGEST, most=LONGEST)
    centre_of_pressure: float = number('-', least=0.0, most=1.0, default=0.4)
    lift: float = number('-', least=0.0, most=100.0, default=1.8)
    drag: tuple[float, float] = vector('-', size=2, default=(1.92, 1.55), least=0.0, most=100.0)
    added_mass: float = number('-', least=0.0, most=100.0, default=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        x, y, z = self.forward
        if abs(z) > ACROSS * math.hypot(x, y):
            raise InvalidModel('forward', self.forward, 'a direction in the plane of x and y')
        if self.drag[1] > self.drag[0]:
            raise InvalidModel('drag', self.drag, 'such that it never drives: C_D2 at most C_D0')
        size = math.hypot(x, y)
        object.__setattr__(self, 'forward', (x / size, y / size, 0.0))


Flow = Union[Slender, Blade]
