"""How a real robot is drawn beside the simulated one."""

from builtin_interfaces.msg import Time
import numpy as np
from numpy.testing import assert_allclose
import pytest
from test_marker_places import circle, message

from cosserat_ros.comparison.live import Instant
from cosserat_ros.nodes.comparing.ghost import Ghost
from cosserat_ros.nodes.comparing.marker_places import MarkerPlaces, read_places

S = np.linspace(0.0, 0.2, 11)
OFF = np.array([[0.002, 0.0, 0.001], [0.004, -0.003, 0.0]])


def drawn(text, times=(0.0, 1.0), time=0.5, seen=(True, True)):
    """Return the markers of an arm whose two markers are off, by namespace."""
    arm = message(arm=S.tolist())
    places = MarkerPlaces(read_places(text), arm)
    ghost = Ghost(places)
    for t in times:
        ghost.simulate(t, arm)
    simulated = places.poses(arm)[:, :3]
    instant = Instant(time + 0.1, np.array(seen), simulated, simulated + OFF, np.zeros(2))
    return {m.ns: np.array([(p.x, p.y, p.z) for p in m.points])
            for m in ghost.markers(instant, 0.1, Time()).markers}, simulated


def test_the_rod_goes_from_its_base_through_the_markers():
    points, simulated = drawn('0.1 0.2')
    rod = circle(S)[:, :3]
    off = points['real/arm'] - rod
    assert_allclose(off[0], 0.0, atol=1e-15)
    assert_allclose(off[[5, 10]], OFF, atol=1e-12)
    assert np.abs(off[1]).max() < 0.3 * np.abs(off[5]).max()  # it leaves its base straight
    assert_allclose(points['real/markers'], simulated + OFF, atol=1e-15)
    assert_allclose(points['real/errors'][::2] - points['real/errors'][1::2], OFF, atol=1e-15)


def test_beyond_the_last_marker_it_is_as_far_off_as_there():
    points, _ = drawn('0.06 0.12')
    off = points['real/arm'] - circle(S)[:, :3]
    assert_allclose(off[6:], np.tile(OFF[1], (5, 1)), atol=1e-12)


@pytest.mark.parametrize(('text', 'seen'), [
    ('0 0', (True, True)), ('0.1 0.1', (True, True)), ('0.1 0.2', (False, True)),
    ('0.2 0.1', (True, True))])
def test_markers_in_any_order_or_place_are_drawn(text, seen):
    points, simulated = drawn(text, seen=seen)
    assert len(points['real/markers']) == sum(seen)
    assert np.isfinite(points['real/arm']).all()


@pytest.mark.parametrize('times', [(), (0.0,), (0.6, 1.0), (5.0, 6.0, 0.2)])
def test_without_a_shape_at_the_time_only_markers_are_drawn(times):
    """As before the simulated robot is known, or after its clock was set back."""
    points, _ = drawn('0.1 0.2', times)
    assert points.keys() == {'real/markers', 'real/errors'}
