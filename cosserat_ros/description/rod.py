"""
What a rod is: sections, material, rest shape and damping along the arc length.

SI units. A section's frame is the rod's body frame: z along the rest tangent (e3), x and y the
principal axes of the section, origin at its centroid. Strains, stiffnesses and inertias are
6-vectors ``(v, u)``: linear part first. The names here are also those of the YAML files.

The linear visco-elastic law is that of Till 2019, eq. (4), in one line with B and K diagonal
(Boyer 2020, eqs. (3) and (12), with the linear part first)::

    (n, m)_body = K ((v, u) - (v*, u*)) + B (v, u)_t

References
----------
Till 2019: Till, Aloi, Rucker, "Real-time dynamics of soft and continuum robots based on Cosserat
rod models", Int. J. Robotics Research 38(6).
Boyer 2020: Boyer, Lebastard, Candelier, Renda, "Dynamics of continuum and soft robots: a strain
parametrization based approach", IEEE Trans. Robotics 37(3).
Blanes 2000: Blanes, Casas, Ros, "Improved high order integrators based on the Magnus expansion",
BIT Numerical Mathematics 40(3).

"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
import math
from typing import Any, Optional, Union

import numpy as np

from ..checks.errors import InvalidModel
from ..checks.fields import check_number, Checked, FARTHEST, instance, number, vector
from ..numerics.lie import exp_se3
from .section import BaseSection, Section

ROUNDING = 1e-12  # of the rod's length: arc lengths closer than this are the same
MAX_TURN = 1e3  # [rad], per segment: wound more often, it is a mistake, and slow to integrate
MAX_STEP = 0.03  # [rad], of the Magnus expansion: leaves an error below ROUNDING


# --- Material, rest shape, damping --------------------------------------------------------------

@dataclass(frozen=True)
class Material(Checked):
    """
    Homogeneous linear elastic material.

    Parameters
    ----------
    young_modulus : float
        E [Pa].
    density : float
        rho [kg/m^3].
    shear_modulus : float, optional
        G [Pa], free of E, so that a fibre-reinforced material can be described; or else nu.
    poisson_ratio : float, optional
        nu [-], from which G follows; or else G.

    """

    young_modulus: float = number('Pa', above=0.0)
    density: float = number('kg/m^3', above=0.0)
    shear_modulus: Optional[float] = number('Pa', default=None, above=0.0)
    poisson_ratio: Optional[float] = number('-', default=None, above=-1.0, most=0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.shear_modulus is None) == (self.poisson_ratio is None):
            given = (self.shear_modulus, self.poisson_ratio)
            raise InvalidModel('shear_modulus, poisson_ratio', given, 'one given, the other not')
        check_number('rigidity', self.rigidity, above=0.0, unit='Pa')

    @property
    def rigidity(self) -> float:
        """Shear modulus G, as given or ``E / (2 (1 + nu))`` [Pa]."""
        if self.shear_modulus is not None:
            return self.shear_modulus
        assert self.poisson_ratio is not None
        return self.young_modulus / (2.0 * (1.0 + self.poisson_ratio))


@dataclass(frozen=True)
class RestShape(Checked):
    """
    Strain of the rod free of stress, body frame.

    Parameters
    ----------
    linear_strain : (3,) tuple
        v* [-], its z component > 0. (0, 0, 1) makes s the arc length of the rest shape.
    curvature : (3,) tuple
        u* [1/m].
    tip_curvature : (3,) tuple, optional
        If given, u* varies linearly from `curvature` at the segment's base to this at its end
        [1/m].

    """

    linear_strain: tuple[float, float, float] = vector(
        '-', default=(0.0, 0.0, 1.0), least=-1e3, most=1e3)
    curvature: tuple[float, float, float] = vector('1/m', default=(0.0, 0.0, 0.0))
    tip_curvature: Optional[tuple[float, float, float]] = vector('1/m', default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number('linear_strain[2]', self.linear_strain[2], above=0.0)


@dataclass(frozen=True)
class Damping(Checked):
    """
    Kelvin-Voigt damping, body frame: ``B = relaxation_time K + diag(...)`` (Till 2019, eq. (4)).

    Parameters
    ----------
    relaxation_time : float
        Damping in proportion to stiffness [s].
    shear_and_stretch : (3,) tuple
        Diagonal of Bse, along x, y and z [N s].
    bending_and_twist : (3,) tuple
        Diagonal of Bbt, about x, y and z [N m^2 s].
    dry_bending : float
        Moment of dry friction that the rod must overcome to bend or to spring back: it keeps a
        bend without loads [N m].
    presliding : float
        Change of curvature over which dry friction builds up [1/m].

    """

    relaxation_time: float = number('s', default=0.0, least=0.0)
    shear_and_stretch: tuple[float, float, float] = vector('N s', default=(0.0,) * 3, least=0.0)
    bending_and_twist: tuple[float, float, float] = vector(
        'N m^2 s', default=(0.0,) * 3, least=0.0)
    dry_bending: float = number('N m', default=0.0, least=0.0)
    presliding: float = number('1/m', default=0.3, least=1e-6)


# --- Along the rod ------------------------------------------------------------------------------

@dataclass(frozen=True)
class Segment(Checked):
    """
    A stretch of rod along which everything is constant or varies smoothly.

    The methods ``..._at`` take the fraction `x` (N,) of the way along the segment, within [0, 1];
    what they return is explained at the methods of `Rod`.

    Parameters
    ----------
    length : float
        Length along the rest shape's arc length s [m].
    section : Circular, Annular, Rectangular, Elliptic or FreeSection
        Cross-section at the segment's base, and everywhere unless `tip_section` is given.
    material : Material
        What it is made of.
    tip_section : same class as `section`, optional
        Section at the segment's end: its fields are interpolated linearly in between.
    rest : RestShape
        Its shape without stress.
    damping : Damping
        Its damping.

    """

    length: float = number('m', least=1e-9, most=FARTHEST)
    section: Section = instance(
        BaseSection, 'a Circular, Annular, Rectangular, Elliptic or FreeSection')
    material: Material = instance(Material, 'a Material')
    tip_section: Optional[Section] = instance(BaseSection, 'a section, or none', default=None)
    rest: RestShape = instance(RestShape, 'a RestShape', default=RestShape())
    damping: Damping = instance(Damping, 'a Damping', default=Damping())

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_taper()
        self._check_turn()
        self._check_products()

    def _check_taper(self) -> None:
        """Raise unless the two sections have the same fields."""
        tip = self.tip_section
        if tip is None:
            return
        if type(tip) is not type(self.section):
            raise InvalidModel('tip_section', tip, f'{self.section.shape}, as section is')
        for f in fields(tip):
            here, there = getattr(self.section, f.name), getattr(tip, f.name)
            if (here is None) != (there is None):
                allowed = 'given for both or neither of section and tip_section'
                raise InvalidModel(f'tip_section.{f.name}', there, allowed)

    def _check_turn(self) -> None:
        """Raise if the rest shape winds too often to be integrated."""
        for name in ('curvature', 'tip_curvature'):
            u = getattr(self.rest, name) or (0.0,)
            if not self.length * math.hypot(*u) <= MAX_TURN:
                allowed = f'at most {MAX_TURN:g} [rad] over the length of {self.length:g} [m]'
                raise InvalidModel(f'rest.{name}', u, allowed)

    def _check_products(self) -> None:
        """Raise if valid factors make a product that double precision cannot hold."""
        x = np.linspace(0.0, 1.0, 5)
        with np.errstate(all='ignore'):
            for name, values, factors in (
                ('stiffness', self.stiffness_at(x), self._areas_at(x)),
                ('inertia', self.inertia_at(x), self._areas_at(x, polar=True)),
                ('damping', self.damping_at(x), np.zeros(6)),
            ):
                wrong = ~np.isfinite(values) | (values == 0.0) & (factors > 0.0)
                if wrong.any():
                    allowed = 'within the range of double precision, for this section and material'
                    raise InvalidModel(name, float(values[wrong][0]), allowed)

    def section_at(self, x: np.ndarray) -> Section:
        """Return the section, with arrays (N,) for fields if it is tapered."""
        tip = self.tip_section
        return self.section if tip is None else self.section.toward(tip, x)

    def _areas_at(self, x: np.ndarray, polar: bool = False) -> np.ndarray:
        """Return (A, A, A, I_xx, I_yy, J), J the torsion constant or the polar moment."""
        section = self.section_at(x)
        J = sum(section.second_moments) if polar else section.torsion_constant
        return _columns(x, *[section.area] * 3, *section.second_moments, J)

    def stiffness_at(self, x: np.ndarray) -> np.ndarray:
        E, G = self.material.young_modulus, self.material.rigidity
        kG = self.section_at(x).shear_correction * G
        return _columns(x, kG, kG, E, E, E, G) * self._areas_at(x)

    def damping_at(self, x: np.ndarray) -> np.ndarray:
        given = self.damping.shear_and_stretch + self.damping.bending_and_twist
        return self.damping.relaxation_time * self.stiffness_at(x) + given

    def dry_bending_at(self, x: np.ndarray) -> np.ndarray:
        limit = self.damping.dry_bending
        return _columns(x, limit, limit / self.damping.presliding)

    def inertia_at(self, x: np.ndarray) -> np.ndarray:
        return self.material.density * self._areas_at(x, polar=True)

    def outline_at(self, x: np.ndarray) -> np.ndarray:
        return _columns(x, *self.section_at(x).outline)

    def rest_strain_at(self, x: np.ndarray) -> np.ndarray:
        u_star = self.rest.curvature + x[:, None] * self._curvature_change
        return _columns(x, *self.rest.linear_strain, *u_star.T)

    def rest_pose_at(self, x: np.ndarray) -> np.ndarray:
        knots, poses = self._rest_knots
        k = np.clip(np.searchsorted(knots, x, side='right') - 1, 0, len(knots) - 2)
        return poses[k] @ self._rest_steps(knots[k], x)

    @property
    def mass(self) -> float:
        """[kg]. Simpson's rule is exact: areas are quadratic in s."""
        base, middle, tip = self.inertia_at(np.array([0.0, 0.5, 1.0]))[:, 0].tolist()
        return self.length * (base + 4.0 * middle + tip) / 6.0

    @property
    def _curvature_change(self) -> np.ndarray:
        """u* at the end less u* at the base, (3,) [1/m]."""
        start, end = self.rest.curvature, self.rest.tip_curvature
        return np.subtract(start if end is None else end, start)

    @cached_property
    def _rest_knots(self) -> tuple[np.ndarray, np.ndarray]:
        """Fractions (n + 1,) one Magnus step apart, and the poses there (n + 1, 4, 4)."""
        steps = 1  # exact for constant strain
        if self._curvature_change.any():
            ends = self.rest_strain_at(np.array([0.0, 1.0]))[:, 3:]
            turn = self.length * np.linalg.norm(ends, axis=1).max()
            steps += int(turn / MAX_STEP)
        knots = np.linspace(0.0, 1.0, steps + 1)
        return knots, _chain(self._rest_steps(knots[:-1], knots[1:]))

    def _rest_steps(self, x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
        """
        Return the poses at `x1` (N,) seen from those at `x0` (N,): (N, 4, 4).

        Magnus expansion of order 6 for a strain that is linear in s (Blanes 2000, with the signs
        of its odd brackets turned because here ``g_s = g xi``, not ``xi g``). Where the strain
        is constant all brackets vanish, and it is exact.
        """
        dx = (x1 - x0)[:, None]
        xi_mid = self.rest_strain_at(0.5 * (x0 + x1))
        mean = self.length * dx * xi_mid
        change = self.length * dx ** 2 * np.concatenate([np.zeros(3), self._curvature_change])
        C = _bracket(mean, change)
        Omega = mean + _bracket(20.0 * mean + C, change - _bracket(mean, C) / 60.0) / 240.0
        return np.array([exp_se3(xi) for xi in Omega]).reshape(-1, 4, 4)


def _columns(x: np.ndarray, *columns: Union[float, np.ndarray]) -> np.ndarray:
    """Return (N, len(columns)), each column a constant or an array like `x` (N,)."""
    return np.stack([np.broadcast_to(c, x.shape) for c in columns], axis=-1)


def _bracket(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Lie bracket of twists (N, 6), linear part first."""
    (v, u), (w, z) = np.split(a, 2, axis=-1), np.split(b, 2, axis=-1)
    return np.concatenate([np.cross(u, w) + np.cross(v, z), np.cross(u, z)], axis=-1)


def _chain(steps: np.ndarray) -> np.ndarray:
    """Return the n + 1 poses that start at the identity and are `steps` (n, 4, 4) apart."""
    poses = np.empty((len(steps) + 1, 4, 4))
    poses[0] = np.eye(4)
    for k, step in enumerate(steps):
        poses[k + 1] = poses[k] @ step
    return poses


@dataclass(frozen=True)
class Rod:
    """
    Segments end to end. Everything about a rod is a function of its arc length s.

    `s` [m] is a scalar or an array (N,) within [0, length]; for a scalar, the results lose their
    first axis. At a break the segment that begins there holds. `s` labels material points: it is
    the arc length of the rest shape where v* = (0, 0, 1).

    Parameters
    ----------
    segments : tuple of Segment
        From base to tip, at least one.

    """

    segments: tuple[Segment, ...]

    def __post_init__(self) -> None:
        allowed = 'a list of at least one Segment'
        if not isinstance(self.segments, (list, tuple)) or not self.segments:
            raise InvalidModel('segments', self.segments, allowed)
        for i, segment in enumerate(self.segments):
            if not isinstance(segment, Segment):
                raise InvalidModel(f'segments[{i}]', segment, 'a Segment')
        object.__setattr__(self, 'segments', tuple(self.segments))
        for i, segment in enumerate(self.segments):
            least = 10.0 * ROUNDING * self.length
            check_number(f'segments[{i}].length', segment.length, least=least, unit='m')
        check_number('mass', self.mass, above=0.0, unit='kg')

    @property
    def length(self) -> float:
        """[m]."""
        return float(self.breaks[-1])

    @property
    def mass(self) -> float:
        """[kg]."""
        return sum(segment.mass for segment in self.segments)

    @cached_property
    def breaks(self) -> np.ndarray:
        """Arc lengths at which segments begin and end, from 0 to `length`, read-only [m]."""
        breaks = np.cumsum([0.0] + [segment.length for segment in self.segments])
        breaks.flags.writeable = False
        return breaks

    def segment_at(self, s: float) -> Segment:
        """Return the segment that holds at `s`."""
        return self.segments[int(self._locate(s)[1])]

    def stiffness(self, s: Union[float, np.ndarray]) -> np.ndarray:
        """
        Return the diagonal of (Kse, Kbt), body frame (Till 2019, below eq. (4)).

        Returns
        -------
        (N, 6) float64
            ``(k GA, k GA, EA [N], EI_xx, EI_yy, GJ [N m^2])``, with the shear correction k and
            the torsion constant J. Till has k = 1 and the polar moment for J, which is right
            for round sections only.

        """
        return self._along(s, Segment.stiffness_at)

    def damping(self, s: Union[float, np.ndarray]) -> np.ndarray:
        """Return the diagonal of (Bse [N s], Bbt [N m^2 s]), (N, 6), body frame."""
        return self._along(s, Segment.damping_at)

    def dry_bending(self, s: Union[float, np.ndarray]) -> np.ndarray:
        """Return the moment of dry friction [N m] and its stiffness [N m^2], (N, 2)."""
        return self._along(s, Segment.dry_bending_at, (2,))

    def inertia(self, s: Union[float, np.ndarray]) -> np.ndarray:
        """
        Return the diagonal of the inertia per length, body frame (Boyer 2020, eq. (3)).

        Returns
        -------
        (N, 6) float64
            ``rho (A, A, A [kg/m], I_xx, I_yy, I_xx + I_yy [kg m])``. The last is the polar
            moment and not the torsion constant: sections spin as rigid bodies, whatever their
            warping does to the stiffness.

        """
        return self._along(s, Segment.inertia_at)

    def rest_strain(self, s: Union[float, np.ndarray]) -> np.ndarray:
        """Return the strain free of stress, (v* [-], u* [1/m]), (N, 6), body frame."""
        return self._along(s, Segment.rest_strain_at)

    def outline(self, s: Union[float, np.ndarray]) -> np.ndarray:
        """Return the section's full extents along the local x and y, (N, 2) [m]."""
        return self._along(s, Segment.outline_at, (2,))

    def rest_poses(
        self, s: Union[float, np.ndarray], base: Optional[np.ndarray] = None,
    ) -> np.ndarray:
        """
        Return the poses of the rod free of stress, the integral of ``g_s = g (v*, u*)``.

        Parameters
        ----------
        s : float or (N,) float64
            Arc length [m].
        base : (4, 4) float64, optional
            Pose at s = 0, body to world; the identity if not given.

        Returns
        -------
        (N, 4, 4) float64
            ``[[R, p], [0, 1]]``, body to world, p in [m]; exact to rounding.

        """
        base = np.eye(4) if base is None else _check_pose('base', base)
        _, index = self._locate(s)
        return base @ self._rest_starts[index] @ self._along(s, Segment.rest_pose_at, (4, 4))

    @cached_property
    def _rest_starts(self) -> np.ndarray:
        """Poses at the breaks, (segments + 1, 4, 4), seen from the base."""
        return _chain(np.concatenate([x.rest_pose_at(np.ones(1)) for x in self.segments]))

    def _locate(self, s: Union[float, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return `s` as an array, and like it the indices of its segments."""
        slack = ROUNDING * self.length
        allowed = f'within [0, {self.length:g}] [m]'
        s = _check_array('s', s, allowed)
        inside = (s >= -slack) & (s <= self.length + slack)
        if not inside.all():
            raise InvalidModel('s', float(s[~inside][0]), allowed)
        return s, np.searchsorted(self.breaks[1:-1] - slack, s, side='right')

    def _along(
        self, s: Union[float, np.ndarray], evaluate: Callable[[Segment, np.ndarray], np.ndarray],
        shape: tuple[int, ...] = (6,),
    ) -> np.ndarray:
        """Gather ``evaluate(segment, x)`` of the given `shape`, at each `s`."""
        s, index = self._locate(s)
        out = np.empty(s.shape + shape)
        for i, segment in enumerate(self.segments):
            here = index == i
            x = (s[here] - self.breaks[i]) / segment.length
            out[here] = evaluate(segment, np.clip(x, 0.0, 1.0))
        return out


def _check_array(name: str, value: Any, allowed: str) -> np.ndarray:
    """Return `value` as an array of floats, or raise `InvalidModel`."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in 'iuf':
        raise InvalidModel(name, value, allowed)
    return array.astype(float)


def _check_pose(name: str, value: Any) -> np.ndarray:
    """Return `value` as a (4, 4) rigid transform, or raise `InvalidModel`."""
    allowed = 'a rigid transform, (4, 4)'
    g = _check_array(name, value, allowed)
    if g.shape == (4, 4) and np.isfinite(g).all() and (g[3] == (0.0, 0.0, 0.0, 1.0)).all():
        R = g[:3, :3]
        if np.abs(R.T @ R - np.eye(3)).max() < 1e-9 and np.linalg.det(R) > 0.0:
            return g
    raise InvalidModel(name, value, allowed)
