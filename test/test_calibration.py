"""Calibration: sensitivities, what is recovered from data with noise, what is said of the rest."""

from dataclasses import replace
import re
import runpy
import time

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.spatial.transform import Rotation

from cosserat_ros.calibration import prediction
from cosserat_ros.calibration.calibration import Calibration, fit, Misfit
from cosserat_ros.calibration.parameters import Fitted, Parameter, ParameterSet, Prior
from cosserat_ros.calibration.prediction import differenced, follow, NotDifferentiable, predict
from cosserat_ros.calibration.scale_out import Store, workers
from cosserat_ros.checks.errors import CosseratError
from cosserat_ros.commands.calibrate import main
from cosserat_ros.comparison.maps import load_map, RecordingMap
from cosserat_ros.comparison.metrics import angle_errors, summarise
from cosserat_ros.comparison.recordings import assemble, read
from cosserat_ros.description import documents as description
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.obstacles import ContactProperties, Obstacle, Plane
from cosserat_ros.description.parts import Pose
from cosserat_ros.description.robot import load, Robot
from cosserat_ros.simulation.simulator import Simulator

BENCHMARK = runpy.run_path(str(ROOT / 'benchmarks' / 'calibration.py'))
DATA = ROOT.parent / 'shared' / 'data' / 'opencr'
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f'the recordings of opencr are not in {DATA}')
ARM = replace(load(ROOT / 'config' / 'tendon_arm.yaml'), modes=StrainModes(1, 1, 1, 3, 3, 2))
E_PATH = 'rods.*.segments[*].material.young_modulus'


def channels(motion='static', held=None, **measured):
    """Return a map of a recording that is made here."""
    names = list(ARM.tendons)
    return description.build(RecordingMap, {
        'motion': motion, 'time': {'column': 't'}, 'held': held or {},
        'commands': {name: {'column': name} for name in names},
        'measured': measured or {'tip': {'columns': [0, 1, 2]}}})


def recording(chart, values, step=1.0):
    """Return a recording without measurements."""
    values = np.asarray(values, dtype=float)
    return assemble('made here', '0', chart, np.arange(len(values)) * step, values,
                    np.zeros((len(values), len(chart.measured), 3)), [''] * len(values))


def measured(made, positions, noise=0.0, seed=0):
    """Return a recording with these measurements and noise."""
    shaken = positions + noise * np.random.default_rng(seed).normal(size=positions.shape)
    return replace(made, positions=shaken)


def turned(made, rotations, noise=0.0, seed=1):
    """Return a recording with these rotations, (T, M, 3, 3), and noise [rad]."""
    random = np.random.default_rng(seed).normal(size=(rotations[..., 0, 0].size, 3))
    shaken = rotations @ Rotation.from_rotvec(noise * random).as_matrix().reshape(rotations.shape)
    return replace(made, rotations=shaken, turned=np.ones_like(made.seen))


def pulls(count, seed=1):
    """Return tensions [N] in two of four tendons at a time."""
    random = np.random.default_rng(seed)
    values = np.zeros((count, 4))
    for row in values:
        row[random.choice(4, 2, replace=False)] = random.uniform(0.5, 4.0, 2)
    return values


PARAMETERS = {
    'E': Parameter([E_PATH], 1e11, 4e11),
    'density': Parameter(['rods.*.segments[*].material.density'], 4e3, 3e4),
    'radius': Parameter(['tendons.*.routing.offset'], 0.8, 1.2, change='multiply'),
    'angle': Parameter(['tendons.tendon_1.routing.offset'], -1.0, 1.0, change='rotate'),
    'motor': Parameter(['commands.tendon_2.offset'], -1.0, 1.0),
    'roll': Parameter(['base.roll_pitch_yaw[0]'], -1.0, 1.0),
    'curvature': Parameter(['rods.*.segments[0].rest.curvature[1]'], -3.0, 3.0),
    'marker': Parameter(['measured.middle.offset[0]'], -0.02, 0.02),
    'turn': Parameter(['measured.middle.roll_pitch_yaw[1]'], -1.0, 1.0),
}
ON_A_BALL = """
name: on_a_ball
time: {step: 2e-3}
bodies:
  link: {mass: 0.05, centre_of_mass: [0.05, 0, 0], inertia: {xx: 1e-6, yy: 1e-5, zz: 1e-5}}
joints:
  ball:
    kind: spherical
    child: link
    coordinates: {turn_x: {stiffness: 0.4}, turn_y: {stiffness: 0.4}, turn_z: {stiffness: 0.4}}
rods:
  arm:
    segments:
      - length: 0.2
        section: {shape: circular, radius: 0.003}
        material: {young_modulus: 2e8, poisson_ratio: 0.3, density: 1200}
    base: {on: link, position: [0.1, 0, 0], roll_pitch_yaw: [0, 0.6, 0]}
tendons:
  pull: {routing: {shape: parallel, offset: [0.01, 0]}}
"""
QUATERNION = {'columns': [0, 1, 2], 'quaternion': [3, 4, 5, 6]}


def relative(jacobian, differences):
    """Return the greater error (T, M, 6) of positions and of rotations, each of its own size."""
    errors = []
    for kind in (slice(0, 3), slice(3, 6)):
        size = np.abs(differences[..., kind]).max()
        error = np.abs(jacobian - differences)[..., kind].max()
        # What moves or turns nothing does so to the rounding of the other kind.
        errors.append(error / max(size, 1e-9 * np.abs(differences).max()))
    return max(errors)


def check_sensitivities(parameters, made):
    """Compare the sensitivities of a prediction with whole predictions."""
    found = predict(parameters, parameters.start, made, range(len(parameters.names)))
    assert found.failed == 0
    for j, name in enumerate(parameters.names):
        differences = differenced(parameters, parameters.start, made, j)
        assert relative(found.jacobian[..., j], differences) < 1e-6, name


def test_static_sensitivities_are_those_of_whole_predictions(monkeypatch):
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-13)
    chart = channels(tip={'columns': [0, 1, 2]}, middle={
        **QUATERNION, 'at': 0.1, 'offset': [0.01, 0.0, 0.0],
        'roll_pitch_yaw': [0.3, -0.2, 0.1]})
    parameters = ParameterSet(PARAMETERS, ARM, chart)
    check_sensitivities(parameters, recording(chart, pulls(5)))


def test_sensitivities_are_carried_along_a_motion(monkeypatch):
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-12)
    monkeypatch.setattr(prediction, 'COARSE', 1e-3)
    robot = replace(ARM, time=replace(ARM.time, step=5e-3))
    chart = channels('dynamic', held={'hand': {'wrench': [0.1, 0.05, 0.0, 0.0, 0.0, 0.0]}})
    wanted = {
        'E': PARAMETERS['E'], 'density': PARAMETERS['density'],
        'drag': Parameter(['rods.*.drag.square[0]'], 0.0, 0.06),
        'damping': Parameter(['rods.*.segments[0].damping.bending_and_twist[1]'], 0.0, 1e-5),
        'motor': PARAMETERS['motor']}
    parameters = ParameterSet(wanted, robot, chart)
    values = np.zeros((12, 4))
    values[4:, 1] = 2.0
    made = recording(chart, values, step=0.01)
    start = parameters.start
    found = predict(parameters, start, made, range(len(wanted)))
    for j, name in enumerate(parameters.names):
        differences = differenced(parameters, start, made, j)
        assert relative(found.jacobian[..., j], differences) < 2e-3, name


SLOW = replace(ARM, tendons={
    name: replace(tendon, limits=replace(tendon.limits, rate=100.0))
    for name, tendon in ARM.tendons.items()})


def test_what_the_engine_does_not_differentiate_is_said():
    chart = channels('dynamic')
    parameters = ParameterSet({'E': PARAMETERS['E']}, SLOW, chart)
    with pytest.raises(NotDifferentiable, match='a rate or a lag'):
        predict(parameters, parameters.start, recording(chart, pulls(2), step=0.01), [0])


def test_what_cannot_be_carried_along_is_differenced():
    chart = channels('dynamic')
    parameters = ParameterSet({'E': PARAMETERS['E']}, SLOW, chart)
    made = recording(chart, pulls(6), step=0.01)
    made = measured(made, predict(parameters, np.array([1.8e11]), made).positions)
    result = fit(Misfit(parameters, [made], noise=1e-3))
    assert not result.exact
    assert_allclose(result.values, 1.8e11, rtol=0.01)


@pytest.mark.parametrize('motion', ['static', 'dynamic'])
def test_the_memory_of_tendons_is_differentiated_too(motion):
    """Pulled, let out and pulled again: dry friction and damping, in statics and in motion."""
    rough = replace(ARM, tendons={
        name: replace(tendon, coulomb_friction=0.15, damping_friction=1.0, presliding=1e-4)
        for name, tendon in ARM.tendons.items()})
    chart = channels(motion)
    parameters = ParameterSet({
        'E': PARAMETERS['E'], 'mu': Parameter(['tendons.*.coulomb_friction'], 0.01, 0.5),
        'beta': Parameter(['tendons.*.damping_friction'], 0.0, 5.0)}, rough, chart)
    made = recording(chart, [[0, 0, 0, 0], [3, 1, 0, 0], [2, 1, 0, 0], [4, 0, 0, 0]], step=0.01)
    found = predict(parameters, parameters.start, made, range(3))
    assert found.failed == 0
    for j, name in enumerate(parameters.names):
        differences = differenced(parameters, parameters.start, made, j)
        if motion == 'static' and name == 'beta':
            assert not found.jacobian[..., j].any() and not differences.any()
            continue
        assert relative(found.jacobian[1:, ..., j], differences[1:]) < 1e-2, name


def test_a_cluster_finds_the_same():
    distributed = pytest.importorskip('distributed')
    chart = channels()
    parameters = ParameterSet({'E': PARAMETERS['E'], 'roll': PARAMETERS['roll']}, ARM, chart)
    made = recording(chart, pulls(6))
    made = measured(made, predict(parameters, np.array([1.8e11, 0.05]), made).positions, 1e-4)
    here = fit(Misfit(parameters, [made], noise=1e-4))
    with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, workers(
            cluster=cluster.scheduler_address) as (pool, count):
        there = fit(Misfit(parameters, [made], 1e-4, pool=pool, workers=count))
    assert_allclose(there.values, here.values, rtol=1e-12)


def test_starts_are_many_reproducible_and_kept(tmp_path):
    chart = channels()
    parameters = ParameterSet({'E': PARAMETERS['E'], 'roll': PARAMETERS['roll']}, ARM, chart)
    made = recording(chart, pulls(6))
    made = measured(made, predict(parameters, np.array([1.8e11, 0.05]), made).positions, 1e-4)
    misfit, path = Misfit(parameters, [made], noise=1e-4), tmp_path / 'starts.jsonl'
    first = fit(misfit, starts=3, seed=5, store=Store(path))
    assert len(first.costs) == len(path.read_text().splitlines()) == 3
    assert_allclose(first.costs, first.costs[0], rtol=0.01)
    told = []
    again = fit(misfit, starts=3, seed=5, store=Store(path), progress=told.append)
    assert len(path.read_text().splitlines()) == 3
    assert len(told) <= 6  # each goes on from where it ended
    assert_allclose(again.values, first.values, rtol=1e-3)


def test_the_memory_of_rods_is_differentiated_too():
    """Rods with dry friction: a push and its return, after which the arm stays bent."""
    rods = {name: replace(rod, segments=tuple(
        replace(s, damping=replace(s.damping, dry_bending=1e-3)) for s in rod.segments))
        for name, rod in ARM.rods.items()}
    robot, chart = replace(ARM, rods=rods), channels()
    parameters = ParameterSet({'E': PARAMETERS['E'], 'dry': Parameter(
        ['rods.*.segments[*].damping.dry_bending'], 1e-4, 1e-2)}, robot, chart)
    made = recording(chart, [[0, 0, 0, 0], [3, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    found = predict(parameters, parameters.start, made, range(2))
    assert np.linalg.norm(found.positions[3] - found.positions[0]) > 1e-3
    for j in range(2):
        differences = differenced(parameters, parameters.start, made, j)
        assert relative(found.jacobian[1:, ..., j], differences[1:]) < 1e-2


def test_parameters_are_recovered_within_their_intervals():
    chart = channels()
    wanted = {name: PARAMETERS[name] for name in ('E', 'motor', 'roll')}
    parameters = ParameterSet(wanted, ARM, chart)
    truth = np.array([1.8e11, 0.1, 0.03])
    made = recording(chart, pulls(25))
    made = measured(made, predict(parameters, truth, made).positions, noise=5e-4)
    result = fit(Misfit(parameters, [made], noise=5e-4))
    assert result.exact
    for x, true in zip(result.intervals, truth):
        assert abs(x.value - true) < 2.0 * x.half, x
        assert x.half < 0.1 * abs(true) + 0.01
    assert result.warnings == []


def test_what_settles_is_found():
    """A tendon that loses 0.8 N with 10 s, in equilibria that are a second apart."""
    chart = channels()
    parameters = ParameterSet({
        'settling': Parameter(['commands.tendon_1.settling'], -2.0, 2.0),
        'time': Parameter(['settling_time'], 1.0, 100.0, start=30.0)}, ARM, chart)
    made = recording(chart, pulls(25))
    truth = np.array([0.8, 10.0])
    made = measured(made, predict(parameters, truth, made).positions, noise=1e-4)
    result = fit(Misfit(parameters, [made], noise=1e-4))
    assert result.exact
    for x, true in zip(result.intervals, truth):
        assert abs(x.value - true) < 2.0 * x.half, x
        assert x.half < 0.1 * true


def test_parameters_that_trade_off_are_named():
    """Without weight a bend by tension knows E and the radius of routing only by their ratio."""
    light, chart = replace(ARM, gravity=(0.0, 0.0, 0.0)), channels()
    wanted = {'E': replace(PARAMETERS['E'], prior=Prior(2e11, 1e11)),
              'radius': replace(PARAMETERS['radius'], prior=Prior(1.0, 0.2))}
    parameters = ParameterSet(wanted, light, chart)
    made = recording(chart, pulls(10))
    made = measured(made, predict(parameters, parameters.start, made).positions, noise=1e-4)
    result = fit(Misfit(parameters, [made], noise=1e-4))
    assert any('E and radius trade off' in line for line in result.warnings)


@pytest.mark.parametrize('parameter, reason', [
    ({'paths': ['rods.spine.drag'], 'lower': 0, 'upper': 1},
     r"paths\[0\] must be one of: backbone, got 'spine'"),
    ({'paths': ['tendons.*.routing.offset'], 'lower': 0, 'upper': 1}, 'that of a number'),
    ({'paths': ['name'], 'lower': 0, 'upper': 1}, 'that of a number'),
    ({'paths': ['rods.*.segments[7].length'], 'lower': 0, 'upper': 1}, r'one of: \[0\]'),
    ({'paths': ['gravity[2]'], 'lower': 0, 'upper': 1}, 'start must be from 0 to 1'),
    ({'paths': [], 'lower': 0, 'upper': 1}, 'a list of paths'),
    ({'paths': ['gravity[2]'], 'lower': 2, 'upper': 1}, 'lower must be less than upper'),
    ({'paths': ['modes.elements'], 'lower': 1, 'upper': 5}, 'that of a real number'),
    ({'paths': ['gravity[0]'], 'lower': 0, 'upper': 1.7e308}, 'upper must be a finite number'),
    ({'paths': ['gravity[' + '9' * 5000 + ']'], 'lower': 0, 'upper': 1}, r'one of: \[0\]'),
    ({'paths': ['gravity.\u00b2'], 'lower': 0, 'upper': 1}, r'one of: \[0\]'),
])
def test_a_bad_parameter_is_refused(parameter, reason):
    with pytest.raises(CosseratError, match=reason):
        ParameterSet({'x': description.build(Parameter, parameter)}, ARM, channels())


def test_train_and_validate_must_differ():
    with pytest.raises(CosseratError, match='not trained on'):
        description.build(Calibration, {
            'robot': 'a', 'map': 'b', 'train': ['x.csv'], 'validate': ['x.csv'],
            'parameters': {'E': {'paths': [E_PATH], 'lower': 1, 'upper': 2}}})


def test_a_described_robot_is_the_document_it_came_from():
    for path in sorted((ROOT / 'config').glob('*.yaml')):
        robot = load(path)
        for defaults in (True, False):
            assert description.build(Robot, description.document(robot, defaults)) == robot


# --- Rotations -----------------------------------------------------------------------------------

@pytest.mark.parametrize('align', ['none', 'offset'])
def test_the_misfit_of_rotations_has_exact_slopes(align, monkeypatch):
    """Also where rotations are far off, and where some are missing or held out."""
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-13)
    chart = channels(tip=QUATERNION, middle={**QUATERNION, 'at': 0.1})
    wanted = {name: PARAMETERS[name] for name in ('E', 'roll', 'turn')}
    parameters = ParameterSet(wanted, ARM, chart)
    made = recording(chart, pulls(4))
    clean = predict(parameters, np.array([1.8e11, 0.1, 0.2]), made)
    made = turned(measured(made, clean.positions), clean.rotations, noise=0.7)
    made.turned[1, 0] = False
    made = replace(made, groups=('', '', 'odd', ''))
    misfit = Misfit(parameters, [made], 1e-3, align, ['odd'], rotation_noise=0.02)
    x = misfit.scaled(np.array([2.1e11, -0.2, 0.3]))
    residual = misfit.residual(x)
    assert residual.size == 3 * (6 + 5)
    angles = np.linalg.norm(residual[18:].reshape(-1, 3), axis=1) * 0.02
    assert_allclose(angles, angle_errors(
        predict(parameters, misfit.values(x), made).rotations, made.rotations)[misfit.turned[0]],
        atol=1e-7)
    slopes, h = misfit.jacobian(x), 1e-3
    for j, step in enumerate(h * np.eye(3)):
        near, far = ((misfit.residual(x + k * step) - misfit.residual(x - k * step))
                     / (2.0 * k * h) for k in (1, 2))
        difference = (4.0 * near - far) / 3.0
        for part in (slice(0, 18), slice(18, None)):
            assert_allclose(slopes[part, j], difference[part], rtol=0.0,
                            atol=1e-7 * np.abs(difference).max())


def test_rotations_of_a_platform_are_differentiated(monkeypatch):
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-13)
    robot = load(ROOT / 'config' / 'stewart_gough.yaml')
    names = list(robot.legs)
    chart = description.build(RecordingMap, {
        'motion': 'static', 'commands': {name: {'column': name} for name in names},
        'measured': {'tip': {**QUATERNION, 'offset': [0.01, 0.0, 0.02]}}})
    parameters = ParameterSet({
        'E': Parameter([E_PATH], 1e10, 4e11), 'zero': Parameter(
            [f'commands.{names[0]}.offset'], -0.01, 0.01)}, robot, chart)
    rest = np.array([robot.rods[leg.rod].length for leg in robot.legs.values()])
    made = recording(chart, [rest, rest + 0.01 * np.array([1, 0, 0, -1, 0, 0.5])])
    check_sensitivities(parameters, made)


def test_rotations_on_driven_joints_are_differentiated(monkeypatch):
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-13)
    robot = load(ROOT / 'config' / 'arm_on_slide.yaml')
    chart = description.build(RecordingMap, {
        'motion': 'static',
        'commands': {name: {'column': name} for name in ('slide', 'turn', 'tendon_1')},
        'measured': {'tip': QUATERNION, 'middle': {**QUATERNION, 'at': 0.1}}})
    parameters = ParameterSet({
        'E': PARAMETERS['E'], 'zero': Parameter(['commands.turn.offset'], -1.0, 1.0)},
        robot, chart)
    made = recording(chart, [[0.0, 0.0, 1.0], [0.05, 0.7, 2.0]])
    found = predict(parameters, parameters.start, made, range(2))
    assert found.failed == 0
    for j, name in enumerate(parameters.names):
        differences = differenced(parameters, parameters.start, made, j)
        assert relative(found.jacobian[..., j], differences) < 1e-6, name


@pytest.mark.parametrize('motion', ['static', 'dynamic'])
def test_joints_that_turn_freely_are_differentiated(motion, monkeypatch, tmp_path):
    """Their turns are counted from the last attitude: of the robot that is followed."""
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-12)
    path = tmp_path / 'on_a_ball.yaml'
    path.write_text(ON_A_BALL)
    robot = load(path)
    chart = description.build(RecordingMap, {
        'motion': motion, 'commands': {'pull': {'column': 'pull'}},
        'measured': {'tip': QUATERNION},
        **({'time': {'column': 't'}} if motion == 'dynamic' else {})})
    parameters = ParameterSet({
        'm': Parameter(['bodies.link.mass'], 0.01, 0.2),
        'k': Parameter(['joints.ball.coordinates.turn_y.stiffness'], 0.1, 1.0),
        'E': Parameter([E_PATH], 1e8, 4e8)}, robot, chart)
    pulled = [[0.5], [1.0], [1.5]] if motion == 'static' else [
        [0.2 + 0.3 * np.sin(0.25 * i) ** 2] for i in range(20)]
    made = recording(chart, pulled, step=2e-3)
    found = predict(parameters, parameters.start, made, range(3))
    assert found.failed == 0
    for j, name in enumerate(parameters.names):
        differences = differenced(parameters, parameters.start, made, j)
        assert relative(found.jacobian[..., j], differences) < 1e-6, name


def test_rotations_tell_what_positions_cannot():
    """The twist stiffness of a straight rod in torsion, and the roll of its marker."""
    chart = description.build(RecordingMap, {
        'motion': 'dynamic', 'time': {'column': 't'}, 'measured': {'tip': QUATERNION},
        'held': {'twist': {'wrench': [0.0, 0.0, 0.0, 0.0, 0.0, 5e-3]}}})
    robot = replace(ARM, tendons={}, discs={}, time=replace(ARM.time, step=5e-3))
    parameters = ParameterSet({
        'nu': Parameter(['rods.*.segments[*].material.poisson_ratio'], 0.0, 0.5),
        'roll': Parameter(['measured.tip.roll_pitch_yaw[2]'], -3.0, 3.0)}, robot, chart)
    truth = np.array([0.2, 1.2])
    made = recording(chart, np.zeros((20, 0)), step=5e-3)
    clean = predict(parameters, truth, made)
    assert clean.failed == 0
    made = measured(made, clean.positions, 1e-5)
    alone = fit(Misfit(parameters, [made], 1e-5, rotation_noise=5e-3))
    for name in parameters.names:
        assert any(
            f'{name} is hardly determined' in line for line in alone.warnings), alone.warnings
    made = turned(made, clean.rotations, 5e-3)
    result = fit(Misfit(parameters, [made], 1e-5, rotation_noise=5e-3))
    assert result.exact and result.warnings == []
    for x, true in zip(result.intervals, truth):
        assert abs(x.value - true) < 2.0 * x.half < 0.1, x


# --- Friction and contact ------------------------------------------------------------------------

def test_friction_of_tendons_is_found(monkeypatch):
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-12)
    rough = replace(ARM, tendons={
        name: replace(tendon, coulomb_friction=0.1, presliding=2e-4)
        for name, tendon in ARM.tendons.items()})
    chart = channels(tip={'columns': [0, 1, 2]})
    parameters = ParameterSet({
        'mu': Parameter(['tendons.*.coulomb_friction'], 0.01, 0.5),
        'presliding': Parameter(['tendons.*.presliding'], 5e-5, 1e-3)}, rough, chart)
    truth = np.array([0.2, 4e-4])
    pulled = np.zeros((12, 4))
    pulled[:, 0] = [0, 1, 2, 3, 4, 3.5, 3, 2, 1, 2, 3, 4]
    made = recording(chart, pulled)
    found = predict(parameters, truth, made, range(2))
    for j, name in enumerate(parameters.names):
        differences = differenced(parameters, truth, made, j)
        assert relative(found.jacobian[..., j], differences) < 1e-5, name
    made = measured(made, found.positions, 1e-5)
    result = fit(Misfit(parameters, [made], 1e-5))
    assert result.exact
    for x, true in zip(result.intervals, truth):
        assert abs(x.value - true) < 2.0 * x.half < 0.2 * true, x


def test_viscous_friction_of_tendons_is_found(monkeypatch):
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-12)
    chart = channels('dynamic')
    rough = replace(ARM, time=replace(ARM.time, step=5e-3), tendons={
        name: replace(tendon, damping_friction=1.0) for name, tendon in ARM.tendons.items()})
    parameters = ParameterSet(
        {'beta': Parameter(['tendons.*.damping_friction'], 0.0, 20.0)}, rough, chart)
    truth = np.array([3.0])
    made = recording(chart, [[1, 0, 0, 0], *12 * [[4, 0, 0, 0]]], step=0.01)
    found = predict(parameters, truth, made, [0])
    assert relative(found.jacobian[..., 0], differenced(parameters, truth, made, 0)) < 1e-5
    made = measured(made, found.positions, 1e-5)
    result = fit(Misfit(parameters, [made], 1e-5))
    assert result.exact
    assert abs(result.values[0] - 3.0) < 2.0 * result.intervals[0].half < 0.3


SOFT = replace(
    ARM, gravity=(0.0, 0.0, 0.0), rods={'backbone': replace(
        ARM.rods['backbone'], contact=ContactProperties(stiffness=1e4, radius=0.01))},
    obstacles={'wall': Obstacle(Plane(), Pose((0.03, 0.0, 0.0), (0.0, -0.5 * np.pi, 0.0)),
                                stiffness=3e4)})


@pytest.mark.parametrize('path', ['rods.*.contact.stiffness', 'obstacles.*.stiffness'])
def test_stiffness_of_contact_is_found(path, monkeypatch):
    """An arm that is pulled against a wall, of which its tip is measured."""
    monkeypatch.setattr(prediction, 'SMOOTH', 1e-12)
    parameters, truth = ParameterSet(
        {'k': Parameter([path], 3e3, 1e5)}, SOFT, channels()), np.array([2e4])
    made = recording(channels(), [[x, 0, 0, 0] for x in (1.0, 1.5, 2.0, 2.5)])
    found = predict(parameters, truth, made, [0])
    assert found.failed == 0
    assert (found.positions[:, 0, 0] > 0.0201).all()  # in the wall, with its radius of 10 mm
    assert relative(found.jacobian[..., 0], differenced(parameters, truth, made, 0)) < 1e-6
    made = measured(made, found.positions, 1e-5)
    result = fit(Misfit(parameters, [made], 1e-5))
    assert result.exact
    assert abs(result.values[0] - 2e4) < 2.0 * result.intervals[0].half < 2e3


def test_friction_of_rods_with_each_other_is_differenced():
    rods = {name: replace(rod, contact=ContactProperties(
        stiffness=1e4, rods=True, friction=0.2)) for name, rod in SOFT.rods.items()}
    chart, rough = channels(), replace(SOFT, rods=rods, obstacles={})
    k = Parameter(['rods.*.contact.stiffness'], 3e3, 1e5)
    parameters = ParameterSet({'k': k}, rough, chart)
    with pytest.raises(NotDifferentiable, match='rods touch each other with friction'):
        predict(parameters, parameters.start, recording(chart, [[1, 0, 0, 0]]), [0])


def test_contact_with_friction_is_differenced():
    wall = replace(SOFT.obstacles['wall'], friction=0.2)
    chart, rough = channels(), replace(SOFT, obstacles={'wall': wall})
    parameters = ParameterSet({'k': Parameter(['obstacles.*.stiffness'], 3e3, 1e5)}, rough, chart)
    made = recording(chart, [[x, 0, 0, 0] for x in (1.0, 2.0, 3.0)])
    with pytest.raises(NotDifferentiable, match='touches obstacles with friction'):
        predict(parameters, parameters.start, made, [0])
    made = measured(made, predict(parameters, np.array([2e4]), made).positions)
    result = fit(Misfit(parameters, [made], 1e-5))
    assert not result.exact
    assert_allclose(result.values, 2e4, rtol=0.01)


def test_friction_of_contact_is_found():
    """An arm that slides up a wall and down it, as it is pulled and let go."""
    wall = replace(SOFT.obstacles['wall'], friction=0.2)
    chart, rough = channels(), replace(SOFT, obstacles={'wall': wall})
    parameters = ParameterSet({'mu': Parameter(['obstacles.*.friction'], 0.05, 0.8)}, rough, chart)
    assert parameters.start == 0.2
    truth = np.array([0.35])
    made = recording(chart, [[x, 0, 0, 0] for x in (1.0, 2.0, 3.0, 2.7, 2.4, 2.7, 3.0)])
    found = predict(parameters, truth, made)
    assert found.failed == 0
    lower = predict(parameters, 0.5 * truth, made)
    assert np.abs(found.positions - lower.positions).max() > 1e-4  # [m] it makes a difference
    made = measured(made, found.positions, 1e-5)
    result = fit(Misfit(parameters, [made], 1e-5))
    assert not result.exact
    assert abs(result.values[0] - 0.35) < 2.0 * result.intervals[0].half < 0.03


# --- The command ---------------------------------------------------------------------------------

CALIBRATION = """
robot: robot.yaml
map: map.yaml
train: [a.csv]
validate: [b.csv]
hold_out: ['odd*']
noise: 0.0005
rotation_noise: 0.005
parameters:
  E: {paths: ['rods.*.segments[*].material.young_modulus'], lower: 1.0e+11, upper: 4.0e+11}
  zero: {paths: [commands.tendon_2.offset], start: 0, lower: -1, upper: 1}
"""
MAP = """
motion: static
group: which
commands: {tendon_1: {column: pull, scale: 2.0}, tendon_2: {column: other}}
measured: {end: {columns: [x, y, z], scale: 0.001, at: 0.24, quaternion: [a, b, c, d]}}
"""


def write_case(folder):
    """Write a robot, a map and two tables of another arm, whose E and motor are otherwise."""
    text = (ROOT / 'config' / 'tendon_arm.yaml').read_text()
    (folder / 'robot.yaml').write_text(text)
    (folder / 'map.yaml').write_text(MAP)
    (folder / 'calibration.yaml').write_text(CALIBRATION)
    truth = (folder / 'robot.yaml').read_text().replace('207e9', '180e9')
    (folder / 'truth.yaml').write_text(truth)
    sim, random = Simulator(load(folder / 'truth.yaml')), np.random.default_rng(3)
    for name, count in (('a', 12), ('b', 6)):
        rows = ['pull,other,which,x,y,z,a,b,c,d']
        for k in range(count):
            pull, other = random.uniform(0.2, 1.5), random.uniform(0.5, 2.0)
            sim.command(tendon_1=2.0 * pull, tendon_2=other + 0.2)
            sim.statics()
            g = sim.shape()['backbone'].poses[-1]
            p = 1e3 * (g[:3, 3] + random.normal(size=3) * 2e-4)
            shaken = Rotation.from_matrix(g[:3, :3]) * Rotation.from_rotvec(
                random.normal(size=3) * 5e-3)
            rows.append(f'{pull},{other},{"odd" if k % 4 == 3 else "even"},'
                        + ','.join(f'{x:.4f}' for x in (*p, *shaken.as_quat() * (k != 1))))
        (folder / f'{name}.csv').write_text('\n'.join(rows))


def test_the_command_writes_a_robot_that_loads(tmp_path, capsys):
    write_case(tmp_path)
    output = tmp_path / 'fitted.yaml'
    code = main([str(tmp_path / 'calibration.yaml'), '--output', str(output), '--processes', '2'])
    printed = capsys.readouterr().out
    assert code == 0, printed
    robot = load(output)
    E = robot.rods['backbone'].segments[0].material.young_modulus
    assert_allclose(E, 180e9, rtol=0.01)
    assert_allclose(load_map(tmp_path / 'fitted_map.yaml').commands['tendon_2'].offset, 0.2,
                    atol=0.02)
    header = [line for line in output.read_text().splitlines() if line.startswith('#')]
    assert 'a.csv: 12 samples, 0 rows skipped, 0 points not seen, 1 rotations not seen' in printed
    for word in ('a.csv: 12 samples, SHA-256', 'E = 1.8', 'held out', 'validate', 'angle rms',
                 'if residuals are white noise', 'seem independent'):
        assert any(word in line for line in header), word
    assert '# m; N' in output.read_text()  # the comments of the robot's own file stay
    assert 'tendon_2: {offset: 0.' in (tmp_path / 'fitted_map.yaml').read_text()
    assert Simulator(robot).statics().converged


@pytest.mark.parametrize('name, old, new, reason', [
    ('calibration.yaml', 'train: [a.csv]', 'train: [c.csv]', 'c.csv: No such file'),
    ('calibration.yaml', 'noise: 0.0005', 'noise: -1', r'calibration.yaml:\d+: noise must be'),
    ('calibration.yaml', 'noise: 0.005\n', 'noise: 0\n', r': rotation_noise must be a finite'),
    ('calibration.yaml', 'material.young', 'material.yuong',
     "yuong_modulus is not a known key, .*nearest is 'young_modulus'"),
    ('calibration.yaml', '4.0e+11', '1.0e+308', r'yaml:\d+: parameters.E.upper must be a finite'),
    ('map.yaml', 'scale: 2.0', 'scale: 1.0e+300', 'no sample can be solved with E = '),
    ('map.yaml', 'tendon_2', 'tendon_9', "commands must be one of: .*got 'tendon_9'"),
])
def test_the_command_says_what_is_wrong(tmp_path, capsys, name, old, new, reason):
    write_case(tmp_path)
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    assert main([str(tmp_path / 'calibration.yaml'), '--processes', '1']) == 1
    assert re.search(reason, capsys.readouterr().err)


@pytest.mark.parametrize('option', ['--output', '--resume'])
def test_an_output_that_cannot_be_written_is_refused_before_the_fit(tmp_path, capsys, option):
    write_case(tmp_path)
    nowhere = tmp_path / 'nofolder' / 'x.yaml'
    assert main([str(tmp_path / 'calibration.yaml'), option, str(nowhere)]) == 1
    said = capsys.readouterr()
    assert said.err == f'calibrate: {nowhere}: No such file or directory\n'
    assert 'samples' not in said.out  # not even read


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('spoil', [
    lambda rows: rows[:2],                                       # one sample
    lambda rows: [rows[0], *(rows[1] for _ in range(5))],        # the same again and again
    lambda rows: [row.rsplit(',', 4)[0] + ',0,0,0,0' if k else row
                  for k, row in enumerate(rows)],                # no rotation at all
    lambda rows: [*rows, '1e308,1,even,1,1,1,0,0,0,1', 'inf,1,even,1,1,1,0,0,0,1'],  # overflow
    lambda rows: [*rows, '1,1,even,1e308,1,-1e308,1e308,0,0,1e308'],
], ids=['one', 'same', 'no_rotation', 'commands', 'points'])
def test_odd_data_give_no_warnings_of_numpy(tmp_path, capsys, spoil):
    write_case(tmp_path)
    rows = (tmp_path / 'a.csv').read_text().split('\n')
    (tmp_path / 'a.csv').write_text('\n'.join(spoil(rows)))
    code = main([str(tmp_path / 'calibration.yaml'), '--processes', '1',
                 '--output', str(tmp_path / 'new.yaml')])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert 'Warning' not in said.err
    assert np.isfinite(load(tmp_path / 'new.yaml').rods['backbone'].segments[0]
                       .material.young_modulus)


def test_nothing_is_left_of_a_fit_that_fails(tmp_path, capsys):
    write_case(tmp_path)
    (tmp_path / 'a.csv').write_text('nothing')
    assert main([str(tmp_path / 'calibration.yaml'), '--output', str(tmp_path / 'new.yaml')]) == 1
    assert not (tmp_path / 'new.yaml').exists()


def test_starts_are_not_kept_in_a_file_of_another_kind(tmp_path, capsys):
    write_case(tmp_path)
    mine = tmp_path / 'robot.yaml'
    before = mine.read_bytes()
    assert main([str(tmp_path / 'calibration.yaml'), '--resume', str(mine)]) == 1
    assert f'{mine}:1: not a file of results' in capsys.readouterr().err
    assert mine.read_bytes() == before


# --- Motions -------------------------------------------------------------------------------------

@needs_data
@pytest.mark.parametrize('number', (1, 6))
def test_stiffness_and_damping_of_the_soft_rod_are_found(number):
    """
    From the first half second of a release: the truth is 70 MPa and the file's beta.

    ``python benchmarks/calibration.py releases`` fits all ten.
    """
    (E, found), beta = BENCHMARK['fit_release'](DATA / 'sorosim_tpu' / f'release_{number}.txt')
    assert_allclose(E, 70e6, rtol=0.02)
    assert_allclose(found, beta, rtol=0.02)


def test_tills_weight_release():
    """EI, rho and C of Till 2019, section 4.1, within their intervals."""
    result, truth = BENCHMARK['fit_weight_release']()
    for x, value in zip(result.intervals, truth):
        assert abs(x.value - value) < x.half, x


# --- A real arm ----------------------------------------------------------------------------------

ARM_FOLDER = ROOT / 'examples' / 'three_segment_arm'


@needs_data
def test_the_calibrated_arm_predicts_what_it_was_not_fitted_to():
    """Tip of a real arm of three segments, in motions of another kind than those of the fit."""
    robot, chart = load(ARM_FOLDER / 'calibrated.yaml'), load_map(
        ARM_FOLDER / 'calibrated_map.yaml')
    made = read(DATA / 'ftdcr_v4' / 'val.csv', chart, robot)
    follow(Fitted(robot, chart), made.part(slice(0, 3)))  # compiles
    spent = []
    for _ in range(2):  # the faster counts: other processes make both slower
        begun = time.process_time()
        found = follow(Fitted(robot, chart), made)
        spent.append((time.process_time() - begun) / len(made))
    summary = summarise(found.positions[:, 0], made.positions[:, 0], 0.1865)
    print(f'{1e3 * summary.rmse_without_offset:.2f} mm, {1e3 * min(spent):.2f} ms per sample')
    assert found.failed == 0
    assert summary.rmse_without_offset <= 5.0e-3
    assert min(spent) <= 4e-3


@needs_data
def test_a_few_iterations_on_the_real_arm_get_far():
    """
    From the arm as designed, on the pulls of single tendons.

    The whole fit is the command of docs/calibration.md.
    """
    chart = load_map(ARM_FOLDER / 'map.yaml')
    robot = load(ARM_FOLDER / 'robot.yaml')
    given = description.load(ARM_FOLDER / 'calibration.yaml', Calibration)
    chosen = {name: x for name, x in given.parameters.items()
              if name.startswith(('scale', 'rest_curvature', 'roll', 'pitch'))}
    made = read(DATA / 'ftdcr_v4' / 'tendon_pull.csv', chart, robot)
    misfit = Misfit(ParameterSet(chosen, robot, chart), [made], given.noise, given.align)
    before = misfit.residual(misfit.scaled(misfit.parameters.start))
    result = fit(misfit, most=3)
    assert result.exact
    assert result.costs[0] < 0.75 * float(before @ before)
