r"""
A robot about an operating point as a linear system: ``x_t = A x + B u``, ``y = C x``.

The equations of `cosserat_ros.assembly` have efforts and reactions among their unknowns, which
have no rates. With their slopes ``K = dr/dz``, ``D = dr/dz_t``, ``M = dr/dz_tt`` these are removed
exactly. In deviations, dy of the coordinates, de of efforts and reactions, du of commands:

    M dy_tt + D dy_t + K_yy dy + K_ye de + b_y du = 0      balance
                       K_ey dy + K_ee de + b_e du = 0      closures of drives, held tips

- *Given or soft efforts* have ``K_ee != 0``: given ones, slack tendons, tendons with a compliance,
  gas. Their own row is solved for de. What is left in the balance is ``K_yy + a k a^T``, a the
  gradient of the tendon's length or the chamber's volume and k = 0, 0, 1 / compliance,
  n R T / V^2: never negative.
- *Rigid constraints* have ``K_ee = 0``: loops, tips held by a platform or in space, tendons and
  chambers of a given length or volume without compliance; and joints' coordinates that are driven
  or at a limit, whose own row says where they are. With G = K_ey, ``dy = N eta + Y du``: N a basis
  of the null space of G (by SVD: constraints may be redundant), Y du what the commands of rigid
  drives force on the coordinates. As ``N^T G^T = 0``, their efforts and the reactions drop out of
  ``N^T`` times the balance.

The basis N is that of the undamped modes of vibration, slowest first and of unit inertia: ``N^T M
N = 1``, and ``N^T K N`` is diagonal, with squared frequencies, but for what is not symmetric in K.
(Inertia of strains spans ten decades; in another basis its inverse would cost the slow modes, and
so the controller, as many digits.) The state is ``x = (eta, eta_t)``, of twice as many entries as
there are coordinates less independent constraints.

A rigid drive has to be moved along: Y is chosen with ``N^T M Y = 0``, so that ``u_tt`` is not
seen, and ``eta_t + N^T D Y u`` in place of ``eta_t`` hides ``u_t``. Then ``y = C x + direct u``,
exact but for the part ``J Y u_t`` of the velocities, which no such system has; `direct` is zero
for all other drives.

Exact about any state of a robot without rigid constraints, and about states at rest of all
robots. In motion, the null space of rigid constraints and the axes of the platform's turn, and of
other free turns, are taken as fixed: terms of the order of the velocity times its deviation are
left out. Rates and supply lines of commands are not seen either: u is what has reached the
actuators. Dry friction is a spring, also where it is at its limit: it answers to small motions
from what it remembers of the last instant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ..assembly.solver import AssemblySolver
from ..numerics.lie import hat
from ..rod.kinematics import kinematics, State
from ..rod.stations import Stations
from ..simulation.builder import body_name
from ..simulation.joints import motion_at
from ..simulation.model import HERE
from ..simulation.simulator import pose_at, Simulator
from .sensitivity import (
    axes_of,
    command_columns,
    command_jacobian,
    compliance,
    singular_states_named,
    Spot,
    station_jacobian,
    tip_spot,
)

FAST = 1e6        # [1/s] rates at which D and M are found: K is then small beside them
APERIODIC = 1e-3  # part of an eigenvalue below which an imaginary part is rounding
WEIGHTLESS = 1e-16  # part of the slowest mode's mu, below which a mode is as good as static
REDUNDANT = 1e-9  # singular value of scaled constraints, below which they say nothing new


# --- Without efforts and reactions ---------------------------------------------------------------

class Slopes(NamedTuple):
    """Of the equations, (unknowns, unknowns) each."""

    stiffness: np.ndarray  # dr/dz
    damping: np.ndarray    # dr/dz_t
    mass: np.ndarray       # dr/dz_tt
    held: np.ndarray       # (unknowns,) bool: coordinates that are driven or at a limit


class Reduced(NamedTuple):
    """
    ``eta_tt + D eta_t + K eta + load u + load_rate u_t = 0``, with p independent coordinates.

    All unknowns change by ``basis eta + shift u``; efforts and reactions are left 0 there.
    """

    damping: np.ndarray    # (p, p)
    stiffness: np.ndarray  # (p, p)
    squares: np.ndarray    # (p,) squared frequencies of its symmetric part, ascending [rad^2/s^2]
    basis: np.ndarray      # (unknowns, p)
    dual: np.ndarray       # (p, unknowns) its inverse from the left: the inertia's scalar product
    shift: np.ndarray      # (unknowns, inputs)
    load: np.ndarray       # (p, inputs)
    load_rate: np.ndarray  # (p, inputs)


def slopes(
    solver: AssemblySolver, z: np.ndarray, z_t: np.ndarray, z_tt: np.ndarray,
) -> Slopes:
    """Return the derivatives of a solver's equations with unknowns, rates and accelerations."""
    K, damped, heavy = (
        solver.jacobian(z, z_t, z_tt, cV, cA)[1]
        for cV, cA in ((0.0, 0.0), (FAST, 0.0), (0.0, FAST ** 2)))
    if not all(np.isfinite(part).all() for part in (K, damped, heavy)):
        raise np.linalg.LinAlgError('the tangent is not finite')
    return Slopes(
        K, (damped - K) / FAST, (heavy - K) / FAST ** 2, solver.work.held.copy())


def reduced(slopes: Slopes, moves: np.ndarray, columns: np.ndarray | None = None) -> Reduced:
    """
    Return the equations of the independent coordinates.

    Parameters
    ----------
    slopes : Slopes
    moves : (unknowns,) bool array
        Which unknowns are coordinates.
    columns : (unknowns, inputs) array, optional
        Change of the equations with each command.

    """
    b = np.zeros((moves.size, 0)) if columns is None else columns
    K, b = without_soft_efforts(slopes.stiffness, moves, b)
    rigid = _rigid(slopes.stiffness, moves) | slopes.held
    here = np.ix_(moves, moves)
    D, M = slopes.damping[here], slopes.mass[here]
    N, Y = _null_space(slopes.stiffness[np.ix_(rigid, moves)], b[rigid])
    squares, modes = _vibrations(N.T @ K @ N, N.T @ M @ N)
    N = N @ modes
    Y = Y - N @ (N.T @ M @ Y)
    basis, shift = np.zeros((moves.size, N.shape[1])), np.zeros(b.shape)
    basis[moves], shift[moves] = N, Y
    dual = np.zeros(basis.T.shape)
    dual[:, moves] = N.T @ M
    return Reduced(N.T @ D @ N, N.T @ K @ N, squares, basis, dual, shift,
                   N.T @ (K @ Y + b[moves]), N.T @ D @ Y)


def constrained(K: np.ndarray, moves: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Return the static stiffness of independent coordinates, (p, p), in some basis of them."""
    none, rigid = np.zeros((moves.size, 0)), _rigid(K, moves) | held
    own = without_soft_efforts(K, moves, none)[0]
    if not rigid.any():
        return own
    N = _null_space(K[np.ix_(rigid, moves)], none[rigid])[0]
    return N.T @ own @ N


def _rigid(K: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return which unknowns are efforts and reactions of rigid constraints, bool."""
    return ~moves & (np.diag(K) == 0.0)


def _vibrations(K: np.ndarray, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return squared frequencies (p,), slowest first, and modes of unit inertia as columns (p, p).

    By ``M v = mu (K + shift M) v``: stiffness is far better conditioned than inertia, and the
    shift makes it positive where an equilibrium is not stable, or a base is free.
    """
    K, M = 0.5 * (K + K.T), 0.5 * (M + M.T)
    shift = 0.0
    while True:
        try:
            mu, modes = eigh(M, K + shift * M)
            break
        except np.linalg.LinAlgError:
            shift = max(10.0 * shift, 1.0)
            if shift > FAST ** 2:
                raise
    mu, modes = np.maximum(mu[::-1], WEIGHTLESS * mu[-1]), modes[:, ::-1]
    return 1.0 / mu - shift, modes / np.sqrt(mu)


def without_soft_efforts(
    K: np.ndarray, moves: np.ndarray, b: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the stiffness of the coordinates once all efforts that can be are solved for.

    Parameters
    ----------
    K : (unknowns, unknowns) array
    moves : (unknowns,) bool array
    b : (unknowns, inputs) array

    Returns
    -------
    K : (coordinates, coordinates) array
    b : (unknowns, inputs) array
        With its rows of coordinates changed.

    """
    soft = ~moves & (np.diag(K) != 0.0)
    across = K[np.ix_(moves, soft)] / np.diag(K)[soft]
    b = b.copy()
    b[moves] -= across @ b[soft]
    return K[np.ix_(moves, moves)] - across @ K[np.ix_(soft, moves)], b


def _null_space(G: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an orthonormal basis of G y = 0, and the least y per input with G y + b u = 0."""
    size = np.linalg.norm(G, axis=1)
    scale = 1.0 / np.where(size > 0.0, size, 1.0)
    U, values, Vt = np.linalg.svd(G * scale[:, None])
    rank = int(np.sum(values > REDUNDANT))
    inverse = Vt[:rank].T @ (U[:, :rank] / values[:rank]).T
    return Vt[rank:].T, -inverse @ (b * scale[:, None])


# --- Where y is ----------------------------------------------------------------------------------

class Outlook(NamedTuple):
    """What a station sees of the unknowns; position or velocity first, then rotation."""

    pose: np.ndarray    # (4, 4) in base_link
    motion: np.ndarray  # (6, unknowns) change of its pose with z, and of its velocity with z_t
    drift: np.ndarray   # (6, unknowns) change of its velocity with z; 0 at rest


class _Seen(NamedTuple):
    """A frame that is seen, and what it is fixed to."""

    spot: Spot
    pose: np.ndarray  # (4, 4) in base_link
    arm: np.ndarray   # (3, 3) matrix of the cross product with the way to it from the spot


def _seen(sim: Simulator, rod: str | None, at: float | None, body: str | None,
          offset: np.ndarray) -> _Seen:
    if rod is None and at is None and body is None:
        spot, pose, offset = tip_spot(sim), sim.tip_pose(), sim.model.tip_offset
    else:
        spot = Spot(rod, at, body)
        pose = sim.base.seen(pose_at(sim, rod, at, body)) @ offset
    carrier = pose @ np.linalg.inv(offset)
    return _Seen(spot, pose, hat(pose[:3, 3] - carrier[:3, 3]))


def outlook(
    sim: Simulator, rod: str | None = None, at: float | None = None, body: str | None = None,
    offset: np.ndarray = HERE,
) -> Outlook:
    """
    Return what a station sees at the present instant.

    Parameters
    ----------
    sim : Simulator
    rod, at, body : str, float and str, optional
        Rod and arc length [m], its end if left out; or a body. Without all, the tip of the
        description.
    offset : (4, 4) array
        Frame that is meant, seen from the rod's body frame there or from the body [m]; that of
        the tip is known.

    """
    spot, pose, arm = _seen(sim, rod, at, body, offset)
    J, V = station_jacobian(sim, *spot), _drift(sim, spot)
    spin = hat(J[3:] @ sim.solver.z_t)
    V[:3] += -arm @ V[3:] - spin @ arm @ J[3:]
    J[:3] -= arm @ J[3:]
    return Outlook(pose, J, V)


def _drift(sim: Simulator, spot: Spot) -> np.ndarray:
    """
    Return the change of a station's velocity with z, (6, unknowns).

    Accelerations at z_tt = 0 are quadratic in the rates, ``a(w) = (dJ . w) w``, so that ``dJ . c``
    times w is, but for a commutator of rotations, the mixed part of a(w + c).
    """
    solver = sim.solver
    V = np.zeros((6, solver.z.size))
    on_platform = sim.robot.platform is not None and spot == Spot()
    if on_platform or not np.any(solver.z_t):
        return V
    w, seen = solver.z_t, _seen_moving(sim, spot)
    size, own = np.max(np.abs(w)) or 1.0, seen(w)[0][3:]
    if spot.body is None and solver.bases_stand:
        seen_of = solver.q_places[sim.model.names.index(sim.robot.rod_name(spot.rod))]
    else:
        seen_of = np.setdiff1d(np.flatnonzero(solver.moves), solver.free_turns)
    for c in seen_of:
        unit = np.where(np.arange(w.size) == c, size, 0.0)
        column = 0.25 * (seen(w + unit)[1] - seen(w - unit)[1])
        column[3:] += 0.5 * np.cross(seen(unit)[0][3:], own)
        V[:, c] = column / size
    return axes_of(sim).T @ V


def _seen_moving(sim: Simulator, spot: Spot):
    """Return a function from rates of all unknowns to a spot's twist and its rate, (6,)."""
    solver = sim.solver
    if spot.body is not None:
        frame = solver.places.bodies[body_name(sim.robot, spot.body)]

        def seen_on_body(rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            solver.residual(solver.z, rates, np.zeros(rates.size))
            b = motion_at(solver, frame)
            return np.concatenate([b.p_t, b.Om]), np.concatenate([b.p_tt, b.Om_t])
        return seen_on_body
    i = sim.model.names.index(sim.robot.rod_name(spot.rod))
    at, average = solver.q_places[i], _average(sim, i, spot.at)

    def seen(rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        base = solver.base_at(i, solver.z, rates)
        return average(kinematics(
            solver.rods[i], base, solver.z[at], rates[at], np.zeros(at.size)))
    return seen


def _average(sim: Simulator, i: int, at: float | None):
    """Return a function from the kinematics of rod i to a station's twist and its rate, (6,)."""
    d = sim.model.rods[i]
    if at is None or at >= d.breaks[-1]:
        return lambda x: (np.concatenate([x.p_end_t[-1], x.Om[-1]]),
                          np.concatenate([x.p_end_tt[-1], x.Om_t[-1]]))
    share = Stations(d, np.array([at])).shares_of_point(0) * d.w

    def average(x: State) -> tuple[np.ndarray, np.ndarray]:
        return (share @ np.hstack([x.p_t, x.Om[d.station]]),
                share @ np.hstack([x.p_tt, x.Om_t[d.station]]))
    return average


# --- The linear system ---------------------------------------------------------------------------

class LinearModel(NamedTuple):
    """
    ``x_t = A x + B u``, ``y = C x + direct u``, in deviations; see `analysis.linearize`.

    u has the commands in described units, of a joint with a velocity drive its position, which is
    the integral of its command; y position [m], rotation vector [rad], velocity [m/s]
    and angular velocity [rad/s] of the station, along the axes of base_link.
    """

    A: np.ndarray           # (2 p, 2 p)
    B: np.ndarray           # (2 p, inputs)
    C: np.ndarray           # (12, 2 p)
    direct: np.ndarray      # (12, inputs), 0 unless a length or volume is given without compliance
    state: np.ndarray       # (2 p,) x at the operating point
    inputs: dict[str, float]  # u at the operating point, by name, in the order of u
    pose: np.ndarray        # (4, 4) of the station
    jacobian: np.ndarray    # (6, inputs) static motion of the station per unit of each command
    compliance: np.ndarray  # (6, 6) the same per unit of force [N] and moment [N m] there
    basis: np.ndarray       # (unknowns, p) change of the unknowns with the first half of x


@singular_states_named()
def linearize(
    sim: Simulator, rod: str | None = None, at: float | None = None, body: str | None = None,
    offset: np.ndarray = HERE,
) -> LinearModel:
    """
    Return the linear system about the present state: an equilibrium after `Simulator.statics`.

    Parameters
    ----------
    sim : Simulator
    rod, at, body, offset
        The station that y is about, see `outlook`.

    Raises
    ------
    SingularState
        If there is none.

    """
    solver, view = sim.solver, outlook(sim, rod, at, body, offset)
    tangents = slopes(sim.equations(), solver.z, solver.z_t, solver.z_tt)
    part = reduced(tangents, solver.moves, command_columns(sim))
    A, B, C, direct = state_space(part, view)
    state = np.concatenate([part.dual @ solver.z, part.dual @ solver.z_t])
    told = {name: state.position if sim.robot.actuators[name].interface == 'velocity'
            else state.command for name, state in sim.actuators().items()}
    return LinearModel(A, B, C, direct, state, told, view.pose,
                       *_statics(sim, _seen(sim, rod, at, body, offset)), part.basis)


def state_space(part: Reduced, view: Outlook) -> tuple[np.ndarray, ...]:
    """Return A, B, C and `direct`."""
    p, D, S = part.squares.size, part.damping, part.load_rate
    A = np.block([[np.zeros((p, p)), np.eye(p)], [-part.stiffness, -D]])
    B = np.vstack([-S, D @ S - part.load])
    J, V = view.motion @ part.basis, view.drift @ part.basis
    C = np.block([[J, np.zeros_like(J)], [V, J]])
    direct = np.vstack([view.motion @ part.shift, view.drift @ part.shift - J @ S])
    return A, B, C, direct


def _statics(sim: Simulator, seen: _Seen) -> tuple[np.ndarray, np.ndarray]:
    """Return static Jacobian and compliance of what is seen."""
    lever = np.eye(6)
    lever[:3, 3:] = -seen.arm
    return (lever @ command_jacobian(sim, *seen.spot),
            lever @ compliance(sim, *seen.spot) @ lever.T)


# --- What follows from it ------------------------------------------------------------------------

class Vibration(NamedTuple):
    """The modes of a linear system that oscillate, slowest first."""

    frequency: np.ndarray  # (m,) undamped, |eigenvalue| [rad/s]
    damping: np.ndarray    # (m,) ratio: 0 none, 1 aperiodic; negative where it grows [-]


def vibration(A: np.ndarray) -> Vibration:
    """Return frequencies and damping ratios of the complex eigenvalues of A."""
    values = np.linalg.eigvals(A)
    values = values[values.imag > APERIODIC * np.abs(values)]
    values = values[np.argsort(np.abs(values))]
    return Vibration(np.abs(values), -values.real / np.abs(values))
