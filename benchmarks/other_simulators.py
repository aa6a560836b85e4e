"""
The engine against what one would take instead from PyPI: MuJoCo and PyElastica.

In a new virtual environment, from the root of this repository:

    pip install -r benchmarks/requirements.txt
    pip install .
    OPENBLAS_NUM_THREADS=1 python benchmarks/other_simulators.py

Till's release of `releases`, without any damping: 0.5 N, gravity across, all start at rest from
the same static shape. Errors are the root mean square distance of the tip, every 5 ms, from the
engine refined in space and time, over the first 50 ms and over one second.

MuJoCo 4 has discrete elastic rods (flexes of dimension 1) in place of the cable plugin of MuJoCo
3, with inextensible edges, as stiff as its step allows. Its implicit integrator damps; the
explicit one is shown at its largest stable step. PyElastica has Cosserat rods with an explicit
integrator, whose step is bound by shear waves, not by the length of elements; it runs 50 ms.

Both hold their first edge as a whole, so that it is centred on the clamp: half an edge below, half
above. MuJoCo divides the mass equally among points; here each has that of its share of the rod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import elastica
import mujoco
import numpy as np
from releases import (
    best_of_three,
    both,
    follow,
    GRAVITY,
    held,
    LENGTH,
    RADIUS,
    REFINED,
    Release,
    ROD,
    Run,
    STEEL,
    TILL,
)

from cosserat_ros.description.modes import StrainModes
from cosserat_ros.papers.cantilever import Cantilever
from cosserat_ros.papers.collocation import CollocationSimulator

SECOND = Release(TILL.force, 5e-3, 200, 'generalised_alpha')  # dt: between two looks at the tip
SHORT = SECOND._replace(steps=10)
MASS_PER_LENGTH = STEEL.density * np.pi * RADIUS ** 2
STRETCHED = 1.05  # lengths of a rod that is unstable


def engine(modes: StrainModes, tolerance: float, parts: int) -> Run:
    """Simulate one second, with so many steps between two looks."""
    solver = held(SECOND, modes, tolerance)
    solver.load(solver.no_loads()._replace(gravity=GRAVITY))
    solver.start()

    def step() -> bool:
        return all(solver.step(SECOND.dt / parts).converged for _ in range(parts))

    return follow(SECOND, step, lambda: solver.state().p_end[-1])


def static_points(edges: int) -> np.ndarray:
    """Return points of the held rod, (edges + 1, 3) [m], equally far from one another."""
    length = LENGTH / (edges - 0.5)
    rod = CollocationSimulator(Cantilever(
        ROD, time_step=1.0, elements=2 * edges - 1, gravity=tuple(GRAVITY)))
    assert rod.statics(TILL.force).converged
    along = np.diff(rod.poses[2::4, :3, 3], axis=0)
    along = np.concatenate([[[0.0, 0.0, 1.0]], along])
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    start = np.array([[0.0, 0.0, -0.5 * length]])
    return np.concatenate([start, start + np.cumsum(length * along, axis=0)])


def in_mujoco(edges: int, integrator: str, parts: int) -> Run:
    """Simulate one second, with so many steps between two looks."""
    length, dt = LENGTH / (edges - 0.5), SECOND.dt / parts
    straight = np.zeros((edges + 1, 3))
    straight[:, 2] = length * (np.arange(edges + 1) - 0.5)
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco>
          <option gravity="{_text(GRAVITY)}" timestep="{dt}" integrator="{integrator}">
            <flag contact="disable" autoreset="disable"/>
          </option>
          <worldbody>
            <flexcomp name="rod" type="direct" dim="1" radius="{RADIUS}" mass="1"
                point="{_text(straight)}" element="{_text(
                    np.stack([np.arange(edges), np.arange(1, edges + 1)], axis=1))}">
              <edge equality="true" solref="{2.0 * dt} 1" solimp="0.9999 0.9999 0.001"/>
              <elasticity young="{STEEL.young_modulus}" shear="{STEEL.shear_modulus}"/>
              <pin id="0 1"/>
            </flexcomp>
          </worldbody>
        </mujoco>""")
    data = mujoco.MjData(model)
    sliders = model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE
    points = np.unique(model.jnt_bodyid[sliders])
    model.body_mass[points] = MASS_PER_LENGTH * length
    model.body_mass[points[-1]] *= 0.5
    mujoco.mj_setConst(model, data)
    data.qpos[sliders] = (static_points(edges) - straight)[2:].ravel()

    def step() -> bool:
        mujoco.mj_step(model, data, nstep=parts)
        return _is_sound(tip())

    def tip() -> np.ndarray:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_flex(model, data)
        return data.flexvert_xpos[-1].copy()

    return follow(SECOND, step, tip)


class _Collection(elastica.BaseSystemCollection, elastica.Constraints, elastica.Forcing):
    """A system with a clamp and gravity."""


def in_elastica(edges: int, parts: int) -> Run:
    """Simulate the first 50 ms, with so many steps between two looks."""
    points = static_points(edges)
    up, across = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    rod = elastica.CosseratRod.straight_rod(
        edges, points[0], up, across, LENGTH * edges / (edges - 0.5), RADIUS, STEEL.density,
        youngs_modulus=STEEL.young_modulus, shear_modulus=STEEL.shear_modulus)
    along = np.diff(points, axis=0).T
    along /= np.linalg.norm(along, axis=0)
    rod.position_collection[:] = points.T
    rod.director_collection[2] = along  # the release is in the x-z plane: y stays
    rod.director_collection[0] = np.cross(rod.director_collection[1], along, axis=0)
    system = _Collection()
    system.append(rod)
    system.constrain(rod).using(
        elastica.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
    system.add_forcing_to(rod).using(elastica.GravityForces, acc_gravity=GRAVITY)
    system.finalize()
    stepper, now = elastica.PositionVerlet(), 0.0

    def step() -> bool:
        nonlocal now
        for _ in range(parts):
            now = stepper.step(system, now, SHORT.dt / parts)
        return _is_sound(tip())

    def tip() -> np.ndarray:
        return rod.position_collection[:, -1].copy()

    return follow(SHORT, step, tip)


def _text(numbers: np.ndarray) -> str:
    return ' '.join(str(number) for number in numbers.ravel())


def _is_sound(tip: np.ndarray) -> bool:
    return bool(np.linalg.norm(tip) < STRETCHED * LENGTH)  # not if it is no number


def largest_stable(
    name: str, run: Callable[..., Run], arguments: tuple, wanted: Release, trials: Iterable[int],
) -> int:
    """Return the fewest steps between two looks with which a run lasts; say what was tried."""
    for parts in trials:
        managed = len(run(*arguments, parts).path)
        stable = managed == wanted.steps
        print(f'{name}, {1e6 * wanted.dt / parts:g} us: '
              + ('stable' if stable else f'fails by {1e3 * wanted.dt * (managed + 1):g} ms'))
        if stable:
            return parts
    raise AssertionError('no step is small enough')


def rms(path: np.ndarray, reference: np.ndarray) -> float:
    """Return the root mean square distance of two paths [m]."""
    return float(np.sqrt(np.mean(np.sum((path - reference) ** 2, axis=1))))


def main() -> None:
    """Print the steps that were tried, and the table."""
    mujoco.set_mju_user_warning(lambda _: None)  # of instability, which is looked for
    finer, reference = (
        engine(REFINED, 1e-10, parts).path for parts in (100, 200))
    print(f'Reference: steps of 25 us; with 50 us it is off by {1e3 * rms(finer, reference):.1e} '
          'mm rms.')
    explicit = {
        edges: largest_stable(
            f'MuJoCo, {edges} edges, Euler', in_mujoco, (edges, 'Euler'), SECOND,
            (5, 10, 15, 20, 25, 50, 100, 200, 250, 500)) for edges in (10, 20, 40)}
    bound = largest_stable(
        'PyElastica, 20 elements', in_elastica, (20,), SHORT,
        (5000, 10000, 12500, 14000, 16000, 18000, 20000, 25000))
    print(f'\n{"method":38} {"step ms":>8} {"s per s":>8} {"mm, 50 ms":>10} {"mm, 1 s":>8}')
    for shear in (0, 2):
        for parts in (1, 2, 5, 10):
            _print_row(f'engine, {shear} shear + 5 bending modes', parts, reference, engine,
                       both(shear, 5), 1e-7, parts)
    for parts in (1, 5, 50):
        _print_row('MuJoCo, 20 edges, implicit', parts, reference, in_mujoco,
                   20, 'discrete', parts)
    for edges, parts in explicit.items():
        _print_row(f'MuJoCo, {edges} edges, Euler', parts, reference, in_mujoco,
                   edges, 'Euler', parts)
    _print_row('PyElastica, 20 elements', bound, reference, in_elastica, 20, bound)
    _print_row('PyElastica, 40 elements', bound, reference, in_elastica, 40, bound)


def _print_row(
    name: str, parts: int, reference: np.ndarray, run: Callable[..., Run], *arguments: object,
) -> None:
    best = best_of_three(run, *arguments)
    first = rms(best.path[:SHORT.steps], reference[:SHORT.steps])
    whole = f'{"-":>8}'
    if len(best.path) == SECOND.steps:
        whole = f'{1e3 * rms(best.path, reference):8.2f}'
    print(f'{name:38} {1e3 * SECOND.dt / parts:8.2g} {best.seconds:8.3f} {1e3 * first:10.3f} '
          f'{whole}', flush=True)


if __name__ == '__main__':
    main()
