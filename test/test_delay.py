"""Measurements that come later than commands: a delay that is given, fitted, or not noticed."""

from dataclasses import replace
import re

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.calibration.calibration import fit, Misfit
from cosserat_ros.calibration.parameters import Parameter, ParameterSet
from cosserat_ros.calibration.prediction import differenced, follow, predict
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.commands.compare import main as compare
from cosserat_ros.comparison.maps import RecordingMap
from cosserat_ros.comparison.recordings import assemble
from cosserat_ros.description import documents as description
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load
from cosserat_ros.simulation.simulator import Simulator

FILE = ROOT / 'config' / 'tendon_arm.yaml'
ARM = load(FILE)
LATE = 0.033  # [s]
STEP, EVERY, COUNT = 1e-3, 10, 100  # of time [s]; steps per sample; samples
# A larger step than that of the truth would be a delay by itself.
ARM = replace(ARM, modes=StrainModes(1, 1, 1, 3, 3, 1), time=replace(ARM.time, step=STEP))
E_PATH = 'rods.*.segments[*].material.young_modulus'
PARAMETERS = {
    'E': Parameter([E_PATH], 1.2e11, 3e11),
    'scale': Parameter(['commands.tendon_2.scale'], 0.5, 1.5),
}
DELAY = Parameter(['delay'], -0.1, 0.1)
MAP = {'motion': 'dynamic', 'time': {'column': 't'}, 'measured': {
           'tip': {'columns': ['x', 'y', 'z'], 'quaternion': ['a', 'b', 'c', 'd']},
           'middle': {'columns': ['u', 'v', 'w'], 'at': 0.12}},
       'commands': {'tendon_1': {'column': 'one'}, 'tendon_2': {'column': 'two'}}}


def pulls(times):
    """Return what is commanded: two tendons, smoothly from rest."""
    return np.stack([1.5 - 1.5 * np.cos(2.0 * np.pi * 2.9 * times),
                     0.8 - 0.8 * np.cos(2.0 * np.pi * 1.7 * times)], axis=1)


def chart(**more):
    return description.build(RecordingMap, {**MAP, **more})


@pytest.fixture(scope='module')
def truth():
    """Return the tip and middle of a simulated arm at every step of 1 ms, (T, 2, 3)."""
    fine = Simulator(ARM)
    samples = -(-np.arange(EVERY * COUNT) // EVERY)  # whose commands act until they are taken
    values = pulls(samples * EVERY * STEP)
    fine.statics()
    places = []
    for k, (one, two) in enumerate(values):
        fine.command(tendon_1=one, tendon_2=two)
        if k:
            fine.step(STEP)
        places.append([fine.tip_pose()[:3, 3], fine.shape()['backbone'].poses[10, :3, 3]])
    return np.array(places)


def recording(truth, late, noise=2e-4, **more):
    """Return what a camera that is late says of it, every 10 ms."""
    here = np.arange(COUNT) * EVERY
    there = np.clip(here - round(late / STEP), 0, len(truth) - 1)
    if late < 0.0:  # the last samples would be of after the end
        here, there = here[:-10], there[:-10]
    times = here * STEP
    shaken = truth[there] + noise * np.random.default_rng(5).normal(size=truth[there].shape)
    return assemble('late', '0', chart(**more), times, pulls(times), shaken, [''] * len(here))


def test_a_delay_that_is_not_noticed_spoils_what_is_fitted_and_is_told(truth):
    made = recording(truth, LATE)
    result = fit(Misfit(ParameterSet(PARAMETERS, ARM, chart()), [made], noise=2e-4))
    E = result.intervals[0]
    assert abs(E.value - 207e9) > max(1.5 * E.half, 8e9)
    said = [line for line in result.warnings if 'correlate with velocity' in line]
    assert len(said) == 1 and 'ms later than the map says' in said[0], result.warnings
    assert LATE * 1e3 - 5.0 < float(said[0].split('came ')[1].split(' +-')[0]) < LATE * 1e3 + 5.0


@pytest.mark.parametrize('late', [LATE, -0.02])
def test_a_delay_is_fitted(truth, late):
    made = recording(truth, late)
    result = fit(Misfit(ParameterSet({**PARAMETERS, 'delay': DELAY}, ARM, chart()), [made],
                        noise=2e-4))
    assert result.exact
    for x, true in zip(result.intervals, (207e9, 1.0)):
        assert abs(x.value - true) < 2.0 * max(x.half, x.correlated) + 1e-3 * true, x
    assert abs(result.intervals[2].value - late) < 3e-4
    assert not any('velocity' in line for line in result.warnings)


def test_a_delay_that_is_given_needs_no_fit(truth):
    given = chart(delay=LATE)
    made = recording(truth, LATE, noise=0.0, delay=LATE)
    found = predict(ParameterSet(PARAMETERS, ARM, given), np.array([207e9, 1.0]), made)
    errors = np.linalg.norm(found.positions - made.positions, axis=2)
    late = predict(ParameterSet(PARAMETERS, ARM, chart()), np.array([207e9, 1.0]), made)
    unnoticed = np.linalg.norm(late.positions - made.positions, axis=2)
    assert errors.max() < 1e-3 and unnoticed.max() > 5e-3
    result = fit(Misfit(ParameterSet({'E': PARAMETERS['E']}, ARM, given), [made], 1e-3))
    assert_allclose(result.values, 207e9, rtol=5e-3)


@pytest.mark.parametrize('given', [0.0, 0.012, -0.012])
def test_sensitivities_to_a_delay_and_beside_it_are_exact(truth, given):
    made = replace(recording(truth, LATE), channels=chart(delay=given)).part(slice(0, 30))
    parameters = ParameterSet({**PARAMETERS, 'delay': DELAY}, ARM, chart(delay=given))
    start = parameters.start
    assert start[2] == given
    found = predict(parameters, start, made, range(3))
    for j, name in enumerate(parameters.names):
        whole = differenced(parameters, start, made, j)
        for kind in (slice(0, 3), slice(3, 6)):
            size = np.abs(whole[..., kind]).max()
            error = np.abs(found.jacobian[..., kind, j] - whole[..., kind]).max()
            assert error < 2e-3 * size, (name, kind)


def test_compare_tells_of_a_delay(truth, tmp_path, capsys):
    made = recording(truth, LATE)
    lines = ['t,one,two,x,y,z,a,b,c,d,u,v,w']
    for t, (one, two), (tip, middle) in zip(made.times, made.values, made.positions):
        lines.append(','.join(f'{x:.9g}' for x in (t, one, two, *tip, 0, 0, 0, 1, *middle)))
    (tmp_path / 'late.csv').write_text('\n'.join(lines))
    (tmp_path / 'arm.yaml').write_text(re.sub(
        'time:.*', f'time: {{step: {STEP}}}\nmodes: {{shear_x: 1, shear_y: 1, stretch: 1, '
        'bend_x: 3, bend_y: 3, twist: 1}', FILE.read_text()))
    for text, told in (('', True), (f'delay: {LATE}\n', False)):
        (tmp_path / 'map.yaml').write_text(f"""{text}motion: dynamic
time: {{column: t}}
commands: {{tendon_1: {{column: one}}, tendon_2: {{column: two}}}}
measured: {{tip: {{columns: [x, y, z]}}, middle: {{columns: [u, v, w], at: 0.12}}}}
""")
        code = compare([str(tmp_path / name) for name in ('arm.yaml', 'map.yaml', 'late.csv')])
        said = capsys.readouterr().out
        assert code == 0
        assert ('late.csv: residuals correlate with velocity' in said) == told, said


def test_equilibria_have_no_delay():
    with pytest.raises(InvalidModel, match='delay must be left out in a static recording'):
        chart(motion='static', delay=0.1)
    with pytest.raises(InvalidModel, match='left out where recordings are static'):
        ParameterSet({'delay': DELAY}, ARM, chart(motion='static'))
    with pytest.raises(InvalidModel, match='delay'):
        chart(delay=1e9)


def test_a_recording_of_one_sample_has_no_velocity(truth):
    made = recording(truth, LATE, delay=LATE).part(slice(0, 1))
    found = follow(ParameterSet(PARAMETERS, ARM, chart(delay=LATE)).at([2e11, 1.0]), made)
    assert np.isfinite(found.poses).all()
