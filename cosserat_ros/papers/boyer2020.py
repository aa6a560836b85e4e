"""
The systems of Boyer 2020, section VIII: statics (tests 1 and 2, table I), releases, moved bases.

Test 3 is `flexion_torsion`. Each function returns the engine's solver of a rod, or yields it at
one load after another. Rods are along z where the paper has X, and their (x, y) are its (Y, Z).

Diameters 2 R_b of tests 1 and 2 are read as radii: with 0.57 m for a radius, the paper's five
monomials are good to 1 % of the length of test 2, as it says, and else they are not. The radius of
table I's spiral is not printed: it is that of the other routes.

References
----------
Boyer 2020: see `explicit_dynamics`.

"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ..assembly.loads import Bodies
from ..assembly.one_rod import RodSolver
from ..assembly.state import follow_twist
from ..checks.errors import UnknownName
from ..description.modes import StrainModes
from ..description.rod import Damping, Material, Rod, Segment
from ..description.section import Circular, FreeSection
from ..laws.actuators import Paths
from ..numerics.integrators import Scheme, SCHEMES
from ..rod.discretisation import discretise
from ..rod.kinematics import Base
from .convergence import require

GRAVITY = 9.81                       # [m/s^2]
TORQUES = np.arange(1.0, 6.0)        # of test 1 [N m]
TILTED = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)  # the axis of test 1's torque
MAST_RADIUS, MAST_YOUNG_MODULUS = 0.57, 4.015e8    # of test 2 [m], [Pa]
FORCES = 5e3 * np.arange(1, 27)      # of test 2, to 130 kN [N]
CABLE_RADIUS = 1e-2                  # R_b of table I [m]
RELEASE_MOMENTS = 0.8, 2.3, 5.4      # of test 4 [N m]
SWING, TURN = 0.15, 2.0 * np.pi      # of test 5: a [m] and omega [rad/s] of the base
BOB = 0.03                           # [kg]
BENDING, BENDING_RAMP = 0.2, 0.25    # of test 6: largest stress [N m], and its t_f [s]

# Modes: of bending both ways for tests 1, 5 and 6, in a plane for tests 2 and 4.
TORQUE_MODES = StrainModes(0, 0, 0, 5, 5, 0)
FOLLOWER_MODES = StrainModes(0, 0, 0, 0, 14, 0)
RELEASE_MODES = StrainModes(0, 0, 0, 0, 5, 0, family='chebyshev', nodes=14)
FLOATING_MODES = StrainModes(0, 0, 0, 3, 3, 0, family='chebyshev')

ROUTES = 'parallel', 'convergent', 'cross', 'spiral', 'parallel-truncated'


def soft_rod(radius: float = 1e-2, relaxation_time: float = 1e-3) -> Rod:
    """Return the rod of tests 1, 4 and 6: 1 m, 100 MPa."""
    return Rod((Segment(1.0, Circular(radius), Material(1e8, 1e3, poisson_ratio=0.5),
                        damping=Damping(relaxation_time=relaxation_time)),))


# --- Statics -------------------------------------------------------------------------------------

def rolled_by_a_torque(
    radius: float = 1e-2, follower: bool = False,
    modes: StrainModes = TORQUE_MODES,
) -> Iterator[RodSolver]:
    """
    Yield the rod of test 1 at each of its torques: a circle in the plane across their axis.

    Parameters
    ----------
    radius : float
        5e-3 m as printed, which makes 16 turns; see above.
    follower : bool
        Whether the torque turns with the tip.
    modes : StrainModes

    """
    solver = RodSolver(discretise(soft_rod(radius), modes))
    kind = 'follower_moment' if follower else 'end_moment'
    for torque in TORQUES:
        solver.load(solver.no_loads()._replace(**{kind: torque * TILTED[None]}))
        require(solver.statics())
        yield solver


def mast(radius: float = MAST_RADIUS) -> Rod:
    """Return the rod of test 2, 100 m long."""
    return Rod((Segment(100.0, Circular(radius), Material(
        MAST_YOUNG_MODULUS, 1e3, poisson_ratio=0.3)),))


def pushed_across(
    forces: Iterable[float] = FORCES, radius: float = MAST_RADIUS,
    modes: StrainModes = FOLLOWER_MODES,
) -> Iterator[RodSolver]:
    """Yield the rod of test 2 at each follower force [N], across its tip and turning with it."""
    solver = RodSolver(discretise(mast(radius), modes))
    for force in forces:
        loads = solver.no_loads()
        loads.follower_force[-1, 0] = force
        solver.load(loads)
        require(solver.statics())
        yield solver


def cable_place(route: str, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return place and slope (k, 3) of a cable of table I at s (k,) [m]; `ROUTES` are known."""
    R, r, r_s = CABLE_RADIUS, np.zeros((s.size, 3)), np.zeros((s.size, 3))
    if route == 'parallel':
        r[:, :2] = np.sqrt(2.0) * R / 4.0
    elif route == 'convergent':
        r[:, 0], r_s[:, 0] = 0.5 * R * (1.0 - s), -0.5 * R
    elif route == 'cross':
        r[:, 0], r_s[:, 0] = 0.5 * R * (1.0 - 2.0 * s), -R
    elif route == 'spiral':
        angle = 2.0 * np.pi * s
        r[:, :2] = 0.5 * R * np.stack([np.sin(angle), np.cos(angle)], axis=1)
        r_s[:, :2] = np.pi * R * np.stack([np.cos(angle), -np.sin(angle)], axis=1)
    elif route == 'parallel-truncated':
        r[:, 0] = np.where(s <= 0.5, 0.5 * R, 0.0)
    else:
        raise UnknownName('route', route, list(ROUTES))
    return r, r_s


def cable_rod() -> Rod:
    """Return the rod of table I: 1 m, 1 MPa."""
    return Rod((Segment(1.0, Circular(CABLE_RADIUS), Material(1e6, 1e3, poisson_ratio=0.5)),))


def cable_arm(route: str, modes: StrainModes, breaks: Sequence[float] = ()) -> RodSolver:
    """
    Return the rod of table I with a slack cable; drive it by `given_efforts` of its tension.

    Parameters
    ----------
    route : str
        One of `ROUTES`.
    modes : StrainModes
    breaks : sequence of float
        Where strains may jump [m]; at 0.5 m the truncated cable ends.

    """
    d = discretise(cable_rod(), modes, breaks)
    r, r_s = cable_place(route, d.s)
    return RodSolver(d, paths=Paths(r[None], r_s[None], d.w[None], np.array([False])))


# --- Dynamics ------------------------------------------------------------------------------------

def released(moment: float, modes: StrainModes = RELEASE_MODES) -> RodSolver:
    """Return the rod of test 4 as a moment at its tip [N m] has bent it, which acts no more."""
    solver = RodSolver(discretise(soft_rod(), modes))
    free = solver.no_loads()
    solver.load(free._replace(end_moment=np.array([[0.0, moment, 0.0]])))
    require(solver.statics())
    solver.load(free)
    return solver


def swinging_twist(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return Om, p_t, Om_t, p_tt of test 5's base at a time [s]."""
    a, w = SWING, TURN
    return (np.zeros(3), a * w * np.array([0.0, np.cos(w * t), -np.sin(w * t)]), np.zeros(3),
            -a * w ** 2 * np.array([0.0, np.sin(w * t), np.cos(w * t)]))


def swinging_base(t: float) -> Base:
    """Return test 5's base at a time [s]: on a circle, our z along the paper's x."""
    along_x = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    place = SWING * np.array([0.0, np.sin(TURN * t), np.cos(TURN * t)])
    return Base(along_x, place, *swinging_twist(t))


def string_pendulum(modes: StrainModes = FLOATING_MODES) -> RodSolver:
    """Return the string of test 5, which has no stiffness, with its bob and moved base."""
    string = Rod((Segment(1.0, FreeSection(1e-7, 0.0, 0.0, 0.0), Material(
        1.0, 785.0, poisson_ratio=0.0)),))
    solver = RodSolver(discretise(string, modes), swinging_base(0.0),
                       motion=follow_twist(swinging_twist))
    bob = Bodies(np.array([BOB]), np.zeros((1, 3)), np.zeros((1, 3)), np.eye(3)[None])
    solver.load(solver.no_loads()._replace(gravity=np.array([GRAVITY, 0.0, 0.0]), bodies=bob))
    return solver


def bending_stress(s: np.ndarray, t: float) -> np.ndarray:
    """Return the active stress (k, 6) of test 6 at s (k,) [m] and t [s], eqs. 63 to 65."""
    x = min(t / BENDING_RAMP, 1.0)
    ramp = x - np.sin(2.0 * np.pi * x) / (2.0 * np.pi)
    stress = np.zeros((s.size, 6))
    stress[:, 3] = BENDING * ramp * np.sin(2.0 * np.pi * (s - t))
    stress[:, 4] = BENDING * ramp * np.sin(2.0 * np.pi * (s / 0.5 - t / 0.25))
    return stress


def floating_rod(
    modes: StrainModes = FLOATING_MODES,
    scheme: Scheme = SCHEMES['generalised_alpha'],
) -> tuple[RodSolver, Callable[[float], None]]:
    """Return the rod of test 6, and what makes its stress that of a time [s]."""
    solver = RodSolver(discretise(soft_rod(), modes), free=True, scheme=scheme)

    def tell(t: float) -> None:
        solver.load(solver.no_loads()._replace(stress=bending_stress(solver.d.s, t)))
    return solver, tell
