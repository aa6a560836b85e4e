"""Two robots compared while they move: what is given in is found, and nothing breaks it."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.spatial.transform import Rotation
from test_alignment import SHIFT, TURN, wander

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.comparison.alignment import Alignment
from cosserat_ros.comparison.live import FITS, LiveComparison, Settings

SIZES = 0.4, 0.7, 1.0  # of the motion of three markers
ATTITUDE = Rotation.from_rotvec([0.1, 0.2, -0.3])
NO_TURN = Rotation.identity()
PERIOD = 0.02


def poses(t):
    """Return poses of the markers at a time, (3, 7)."""
    places = [wander(np.array([t]), size)[0] for size in SIZES]
    return np.hstack([places, np.tile(ATTITUDE.as_quat(), (3, 1))])


def seen(t, delay=0.0, turn=NO_TURN, shift=0.0, scale=1.0):
    """Return how a real robot is measured that does the same."""
    there = poses(t - delay)
    return np.hstack([(turn.apply(there[:, :3]) - shift) / scale,
                      np.tile((turn * ATTITUDE).as_quat(), (3, 1))])


def run(comparison, begin, end, spoil=lambda k, t, pose: [(t, pose)], **real):
    """Feed both, in steps of a period, and line them up once per second; return what came."""
    instants = []
    for i, t in enumerate(np.arange(begin, end, PERIOD)):
        comparison.simulate(t, poses(t))
        at = t - 0.3 * PERIOD  # between simulated shapes
        for k, pose in enumerate(seen(at, **real)):
            for stamp, given in spoil(k, at, pose):
                comparison.measure(k, stamp, given)
        instants += comparison.compare()
        if i % 50 == 49:
            comparison.line_up()
    return instants


def test_errors_are_those_of_a_shifted_robot():
    """One that does the same 60 ms later, 3 mm beside where it is said to be."""
    off = np.array([0.003, 0.0, 0.0])
    comparison = LiveComparison(3, 0.2, Settings())
    run(comparison, 0.0, 3.0, delay=0.06, shift=off)
    instants = run(comparison, 3.0, 6.0, delay=0.06, shift=off)
    assert abs(comparison.delay.value - 0.06) < 0.05 * PERIOD
    assert len(instants) > 140 and comparison.uncompared < 10
    for error in (*comparison.errors, comparison.shape):
        assert_allclose([error.last, error.rmse, error.largest], 0.003, atol=1e-4)
        assert_allclose(error.percent, 1.5, atol=0.05)
    assert_allclose(instants[-1].simulated - instants[-1].real, np.tile(off, (3, 1)), atol=1e-4)
    assert instants[-1].seen.all() and not instants[-1].angles.any()


@pytest.mark.parametrize('scale', [1.0, 2.0])
def test_an_unknown_place_is_found_and_then_kept(scale):
    comparison = LiveComparison(3, 0.2, Settings(
        fit='rigid' if scale == 1.0 else 'scaled', span=4.0, orientations=True))
    given = {'delay': -0.045, 'turn': TURN, 'shift': SHIFT, 'scale': scale}
    assert not run(comparison, 0.0, 0.9, **given)  # nobody knows yet
    run(comparison, 0.9, 7.0, **given)
    placement = comparison.placement
    assert comparison.placement_kept
    back = TURN.inv().as_matrix()
    assert_allclose(placement.rotation, back, atol=2e-3)
    assert_allclose(placement.translation, back @ SHIFT, atol=2e-3)
    assert_allclose(placement.scale, scale, rtol=2e-3)
    instants = run(comparison, 7.0, 8.0, **given)
    assert abs(comparison.delay.value + 0.045) < 0.05 * PERIOD
    assert comparison.shape.rmse < 2e-4
    assert np.max([i.angles for i in instants]) < 2e-3

    # Whatever is off after that is an error, not a placement,
    comparison.shape.clear()
    run(comparison, 8.0, 12.0, **{**given, 'shift': SHIFT + [0.0, 0.01, 0.0]})
    assert comparison.placement is placement
    assert_allclose(comparison.shape.last, 0.01, atol=5e-4)
    # until one asks for it anew.
    comparison.place_again()
    run(comparison, 12.0, 18.0, **{**given, 'shift': SHIFT + [0.0, 0.01, 0.0]})
    assert comparison.placement_kept and comparison.shape.rmse < 2e-4


def test_orientations_that_differ_are_told():
    comparison = LiveComparison(3, 0.2, Settings(find_delay=False, orientations=True), Alignment(
        TURN.inv().as_matrix(), np.zeros(3), 1.0, 0.0, 0.0, 0.0))
    twist = Rotation.from_rotvec([0.0, 0.25, 0.0])

    def spoil(k, t, pose):
        turned = Rotation.from_quat(pose[3:]) * twist
        return [(t, np.hstack([pose[:3], turned.as_quat()]))]

    instants = run(comparison, 0.0, 1.0, spoil, turn=TURN)
    assert_allclose([i.angles for i in instants], 0.25, atol=1e-9)


def test_what_is_spoilt_is_left_out_and_counted():
    rng = np.random.default_rng(5)
    given = {'nan': 0, 'late': 0}
    held = {}

    def spoil(k, t, pose):
        chance = rng.random()
        if k == 1 and 2.0 < t < 2.5:
            return []                          # not seen for half a second
        if chance < 0.1:
            given['nan'] += 1
            return [(t, np.full(7, np.nan))]
        if chance < 0.2 and k in held:
            given['late'] += 1
            return [(t, pose), held[k]]        # one that had come before
        held[k] = t, pose
        return [(t, pose)]

    comparison = LiveComparison(3, 0.2, Settings())
    instants = run(comparison, 0.0, 6.0, spoil, delay=0.03)
    total = comparison.total()
    assert (total.not_finite, total.out_of_order) == (given['nan'], given['late'])
    assert given['nan'] > 50 and given['late'] > 50
    assert comparison.counts(1).dropouts == 1 and total.clock_jumps == 0
    assert abs(comparison.delay.value - 0.03) < 0.1 * PERIOD
    unseen = [i.time for i in instants if not i.seen[1] and 2.1 < i.time < 2.4]
    assert len(unseen) > 10
    assert all(np.isfinite(part).all() for i in instants for part in i)
    assert max(error.largest for error in comparison.errors) < 0.001


def test_a_recording_that_begins_again_is_compared_again():
    comparison = LiveComparison(3, 0.2, Settings())
    first = run(comparison, 0.0, 4.0, delay=0.06)
    second = run(comparison, 0.0, 4.0, delay=0.06)
    assert comparison.total().clock_jumps == 3  # of every marker
    assert comparison.simulated_counts.clock_jumps == 1
    assert len(second) > 0.9 * len(first)
    assert abs(comparison.delay.value - 0.06) < 0.05 * PERIOD
    assert comparison.shape.largest < 1e-3


def test_what_is_known_stays_when_the_real_robot_is_gone():
    comparison = LiveComparison(3, 0.2, Settings(span=4.0))
    run(comparison, 0.0, 5.0, delay=0.06)
    found = comparison.delay
    assert abs(found.value - 0.06) < 0.05 * PERIOD
    for t in np.arange(5.0, 15.0, PERIOD):
        comparison.simulate(t, poses(5.0))
        assert not comparison.due and not comparison.line_up()
    assert comparison.delay is found


def test_measurements_that_come_late_are_compared_as_well():
    """By as much as is kept, as from a slow camera or over a slow net."""
    comparison = LiveComparison(3, 0.2, Settings(fit='rigid', span=4.0))
    for t in np.arange(0.0, 9.0, PERIOD):
        comparison.simulate(t, poses(t))
        if t > 3.0:
            for k, pose in enumerate(seen(t - 3.0, delay=0.06, turn=TURN)):
                comparison.measure(k, t - 3.0, pose)
            if comparison.due:
                comparison.line_up()
            comparison.compare()
    assert comparison.placement_kept and abs(comparison.delay.value - 0.06) < 0.05 * PERIOD
    assert comparison.shape.rmse < 2e-4 and comparison.shape.samples > 50


def test_a_robot_that_is_not_simulated_is_not_compared():
    comparison = LiveComparison(3, 0.2, Settings(rate=50.0))
    for t in np.arange(0.0, 3.0, PERIOD):
        comparison.measure(2, t, seen(t)[2])
        assert comparison.compare() == []
    comparison.line_up()
    assert 'at least 8 samples' in comparison.delay_fault
    assert comparison.lead == 0.0
    comparison.simulate(5.0, poses(5.0))  # long after
    assert comparison.compare() == [] and comparison.uncompared > 140
    assert_allclose(comparison.lead, 2.98 - 5.0)


NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
TIMES = st.floats(-10.0, 10.0) | NUMBERS


@hypothesis.settings(deadline=None, max_examples=60)
@hypothesis.given(
    st.lists(st.tuples(st.integers(-1, 1), TIMES, st.lists(NUMBERS, min_size=7, max_size=7)),
             max_size=40), st.sampled_from(FITS), st.booleans())
def test_nothing_that_is_measured_breaks_it(samples, fit, orientations):
    """Whatever comes, at whatever times: numbers that come out are finite."""
    comparison = LiveComparison(2, 0.2, Settings(
        fit=fit, orientations=orientations, longest_gap=2.0))
    for marker, time, numbers in samples:
        if marker < 0:
            comparison.simulate(time, [numbers, numbers[::-1]])
        else:
            comparison.measure(marker, time, numbers)
        comparison.line_up()
        for instant in comparison.compare():
            assert all(np.isfinite(part).all() for part in instant)
            assert np.isfinite([comparison.shape.rmse, comparison.shape.largest]).all()
        assert np.isfinite(comparison.present_delay)


@pytest.mark.parametrize(('wrong', 'words'), [
    ({'fit': 'loose'}, 'fit must be one of: known, rigid, scaled'),
    ({'span': 0.0}, 'span must be'), ({'rate': np.nan}, 'rate must be'),
    ({'longest_delay': 3.0}, 'longest_delay must be at most a quarter of the span, 10 s, got 3'),
    ({'longest_gap': 9.0}, 'longest_gap must be at most'),
    ({'delay': -9.0}, 'delay must be at most'),
    ({'find_delay': 'yes'}, 'find_delay must be true or false')])
def test_settings_that_make_no_sense_are_refused_by_name(wrong, words):
    with pytest.raises(InvalidModel, match=words):
        Settings(**wrong)
    with pytest.raises(InvalidModel, match='markers must be at least one'):
        LiveComparison(0, 0.2, Settings())
    with pytest.raises(InvalidModel, match='length'):
        LiveComparison(1, 0.0, Settings())
