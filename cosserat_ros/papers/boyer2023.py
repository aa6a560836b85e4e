"""
The systems of Boyer 2023, sections VII-A to VII-C: a rod pulled by a tendon, released, a stick.

The swimmer of VII-D is `swimmer`. Radius and G of the rod are not printed: 1 mm, which gives the
paper's critical time step, and nu = 0.3. The profile in time of the stick's force is in a figure
only: here it rises and falls within 0.4 s. Rods are along z where the paper has X.

References
----------
Boyer 2023: see `acceleration_shooting`.

"""

from __future__ import annotations

import numpy as np

from ..assembly.one_rod import RodSolver
from ..assembly.state import at_rest
from ..checks.errors import UnknownName
from ..description.modes import StrainModes
from ..description.rod import Damping, Material, Rod, Segment
from ..description.section import Circular
from ..laws.actuators import given_efforts, Paths
from ..numerics.integrators import Scheme, SCHEMES
from ..rod.discretisation import discretise
from .convergence import require

LENGTH, DISC = 0.4, 0.02                  # of the rod, radius of its discs [m]
YOUNG_MODULUS, DENSITY = 207e9, 8000.0    # [Pa], [kg/m^3]
GRAVITY = np.array([0.0, 0.0, 9.81])      # it hangs
TENSIONS = np.arange(7.5, 70.0, 7.5)      # of test 1, to 67.5 N
CUT_TENSION, SIDE_FORCE = 15.0, 0.4       # of tests 2a and 2b [N]
SOFTER = 100.0                            # k* / k of test 2b
ROUTES = 'convergent', 'helical'          # D_1 and D_2
MODES = StrainModes(0, 0, 0, 5, 5, 5, substeps=2)
SOFT_MODES = StrainModes(0, 0, 0, 0, 12, 0, substeps=2)  # of test 2b, in a plane
STICK_MODES = StrainModes(0, 0, 0, 4, 4, 2)

TILT = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]])  # of the stick
STICK_FORCE, STICK_MOMENT = TILT @ [10.7, 0.0, 0.0], TILT @ [-5.35, -10.7, 0.0]
PUSH = 0.4                                # how long they act [s]


def tendon_rod(
    E: float = YOUNG_MODULUS, density: float = DENSITY, length: float = LENGTH,
) -> Rod:
    """Return the rod of tests 1 and 2, the star rod unless told otherwise."""
    return Rod((Segment(length, Circular(1e-3), Material(E, density, poisson_ratio=0.3)),))


def beam_time(rod: Rod) -> float:
    """Return l^2 sqrt(rho A / EI), by which eq. 88 measures the critical time step [s]."""
    return float(rod.length ** 2 * np.sqrt(rod.inertia(0.0)[0] / rod.stiffness(0.0)[3]))


def tendon_place(route: str, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return place and slope (k, 3) of a tendon at s (k,) [m]: D_1, or D_2, one turn."""
    r, r_s = np.zeros((2, s.size, 3))
    if route == 'convergent':
        r[:, 0], r_s[:, 0] = DISC * (1.0 - s / LENGTH), -DISC / LENGTH
    elif route == 'helical':
        k = 2.0 * np.pi / LENGTH
        r[:, :2] = DISC * np.stack([np.cos(k * s), np.sin(k * s)], axis=1)
        r_s[:, :2] = DISC * k * np.stack([-np.sin(k * s), np.cos(k * s)], axis=1)
    else:
        raise UnknownName('route', route, list(ROUTES))
    return r, r_s


def active_stress(route: str, tension: float, s: np.ndarray) -> np.ndarray:
    """Return the stress (k, 6) of a tendon, eq. 17 without the strain: of the straight rod."""
    r, r_s = tendon_place(route, s)
    c = np.array([0.0, 0.0, 1.0]) + r_s
    return tension * np.hstack([c, np.cross(r, c)]) / np.linalg.norm(c, axis=1, keepdims=True)


def tendon_arm(
    route: str, modes: StrainModes = MODES, scheme: Scheme = SCHEMES['newmark'],
) -> RodSolver:
    """Return the arm of test 1 with a slack tendon; drive it by `given_efforts` of its tension."""
    d = discretise(tendon_rod(), modes)
    r, r_s = tendon_place(route, d.s)
    solver = RodSolver(d, paths=Paths(r[None], r_s[None], d.w[None], np.array([False])),
                       scheme=scheme)
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    return solver


def cut_tendon(modes: StrainModes = MODES) -> RodSolver:
    """Return test 2a at its start: bent by the convergent tendon, which has just been cut."""
    solver = tendon_arm('convergent', modes)
    solver.drive(given_efforts(np.array([CUT_TENSION])))
    require(solver.statics())
    bent = np.where(solver.moves, solver.z, 0.0)  # without the tension
    solver.drive(given_efforts(np.zeros(1)))
    solver.set_state(bent)
    return solver


def pulled_sideways(modes: StrainModes = SOFT_MODES, steps: int = 4) -> RodSolver:
    """Return test 2b at its start: the soft rod, bent by a force that acts no more."""
    solver = RodSolver(discretise(tendon_rod(YOUNG_MODULUS / SOFTER), modes),
                       scheme=SCHEMES['newmark'])
    hanging = solver.no_loads()._replace(gravity=GRAVITY)
    for part in np.arange(1, steps + 1) / steps:
        solver.load(hanging._replace(end_force=np.array([[part * SIDE_FORCE, 0.0, 0.0]])))
        require(solver.statics())
    solver.load(hanging)
    return solver


def stick(relaxation_time: float = 0.0) -> Rod:
    """Return the rod of test 3: 1 m, 0.1 m thick, E = G = 1 MPa; the paper's is not damped."""
    return Rod((Segment(1.0, Circular(0.05), Material(1e6, 1e3, shear_modulus=1e6),
                        damping=Damping(relaxation_time=relaxation_time)),))


def flying_stick(
    modes: StrainModes = STICK_MODES, scheme: Scheme = SCHEMES['newmark'],
    relaxation_time: float = 0.0,
) -> RodSolver:
    """Return the stick of test 3 at rest, tilted; `push` throws it."""
    return RodSolver(discretise(stick(relaxation_time), modes), at_rest(TILT), free=True,
                     scheme=scheme)


def pushing(t: float) -> float:
    """Return the part of the stick's force and moment that acts at a time [s]."""
    return float(np.interp(t, [0.0, 0.5 * PUSH, PUSH], [0.0, 1.0, 0.0]))


def push(solver: RodSolver, t: float) -> None:
    """Make the force and moment on the stick's tip those of a time [s]."""
    now = pushing(t)
    solver.load(solver.no_loads()._replace(
        end_force=now * STICK_FORCE[None], end_moment=now * STICK_MOMENT[None]))
