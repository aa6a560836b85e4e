"""Paths of tendons and chambers beside a backbone."""

from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.routing import (
    Convergent,
    Helical,
    Parallel,
    Path,
    Polynomial,
    Tabulated,
)

ROUTINGS = [
    Parallel((0.01, -0.002)),
    Convergent((0.01, 0.0), (0.002, 0.003)),
    Helical(0.008, pitch=-0.07, phase=0.4),
    Helical(0.008, turns=2.5),
    Polynomial((0.01, -0.02, 0.3), (0.0, 0.05, 0.0, -1.0)),
    Polynomial((0.01,), (0.0,)),
    Tabulated((0.05, 0.1, 0.12, 0.2), ((0.01, 0), (0.012, 0.001), (0.005, 0.004), (0, -0.01))),
]


@pytest.mark.parametrize('routing', ROUTINGS, ids=lambda r: r.shape)
@settings(deadline=None)
@given(x=st.floats(0.001, 0.999))
def test_the_slope_is_the_derivative(routing, x):
    path = Path('rod', 0.03, 0.25, routing)
    h = 1e-7
    s = np.array([path.start + x * (path.end - path.start)])
    difference = (path.at(s + h) - path.at(s - h)) / (2 * h)
    near_end = isinstance(routing, Tabulated) and np.abs(s - np.array([0.05, 0.2])).min() < 2 * h
    if not near_end:
        assert_allclose(path.slope(s), difference, atol=1e-5)


@pytest.mark.parametrize('routing', ROUTINGS, ids=lambda r: r.shape)
def test_paths_stay_in_the_section_for_any_number_of_stations(routing):
    path = Path('rod', 0.03, 0.25, routing)
    for count in (0, 1, 7):
        s = np.linspace(path.start, path.end, count)
        assert path.at(s).shape == path.slope(s).shape == (count, 3)
        assert not path.at(s)[:, 2].any() and not path.slope(s)[:, 2].any()


def test_a_convergent_path_is_linear_between_its_own_ends():
    path = Path('rod', 0.1, 0.3, Convergent((0.02, 0.0), (0.0, 0.01)))
    assert_allclose(path.at(np.array([0.1, 0.2, 0.3])),
                    [[0.02, 0, 0], [0.01, 0.005, 0], [0, 0.01, 0]], atol=1e-16)


def test_a_helix_begins_at_its_phase_and_is_right_handed():
    path = Path('rod', 0.1, 0.3, Helical(0.01, turns=1.0, phase=np.pi / 2))
    assert_allclose(path.at(np.array([0.1, 0.15, 0.3])),
                    [[0, 0.01, 0], [-0.01, 0, 0], [0, 0.01, 0]], atol=1e-16)
    by_pitch = Path('rod', 0.1, 0.3, Helical(0.01, pitch=0.2, phase=np.pi / 2))
    s = np.linspace(0.1, 0.3, 9)
    assert_allclose(by_pitch.at(s), path.at(s), atol=1e-16)


def test_a_polynomial_is_of_the_arc_length_from_the_base():
    path = Path('rod', 0.1, 0.3, Polynomial((0.01, 0.1), (0.0, 0.0, 2.0)))
    assert_allclose(path.at(np.array([0.2])), [[0.03, 0.08, 0.0]])


def test_a_table_is_met_not_overshot_and_clamped_outside():
    table = Tabulated((0.1, 0.15, 0.2), ((0.0, 0.01), (0.01, 0.01), (0.01, 0.0)))
    path = Path('rod', 0.0, 0.3, table)
    assert_allclose(path.at(np.array(table.arc_lengths))[:, :2], table.offsets)
    r = path.at(np.linspace(0.0, 0.3, 301))
    assert r.min() >= 0.0 and r.max() <= 0.01 + 1e-15
    outside = np.array([0.0, 0.05, 0.25, 0.3])
    assert_allclose(path.at(outside)[:, :2], [[0, 0.01]] * 2 + [[0.01, 0]] * 2)
    assert not path.slope(outside).any()


def test_areas_are_linear_between_the_ends_of_a_chamber():
    path = Path('rod', 0.1, 0.3, Parallel((0.0, 0.0)), (2e-5, 1e-5))
    assert_allclose(path.area(np.array([0.1, 0.2, 0.3])), [2e-5, 1.5e-5, 1e-5])


@pytest.mark.parametrize('make, words', [
    (lambda: Parallel((0.01,)), ['offset', '2 finite numbers']),
    (lambda: Parallel((0.01, np.nan)), [r'offset\[1\]', 'nan']),
    (lambda: Convergent((0.0, 0.0), (0.0, 1e9)), [r'tip_offset\[1\]', r'\[m\]']),
    (lambda: Helical(0.0, pitch=0.1), ['radius', '> 0']),
    (lambda: Helical(0.01), ['pitch, turns', 'one given']),
    (lambda: Helical(0.01, pitch=0.1, turns=2.0), ['pitch, turns', 'one given']),
    (lambda: Helical(0.01, pitch=0.0), ['pitch', 'not 0']),
    (lambda: Helical(0.01, turns=0.0), ['turns', 'not 0']),
    (lambda: Helical(0.01, turns=1e6), ['turns', '<= 1000']),
    (lambda: Polynomial((), (0.0,)), ['x must be', '1 to 20 numbers']),
    (lambda: Polynomial((0.0,) * 21, (0.0,)), ['x must be', '1 to 20 numbers']),
    (lambda: Polynomial('12', (0.0,)), ['x must be', 'list']),
    (lambda: Polynomial((0.0,), (0.0, np.inf)), [r'y\[1\]', 'inf']),
    (lambda: Tabulated((0.0,), ((0, 0),)), ['arc_lengths', '2 to 1000']),
    (lambda: Tabulated((0.0, 0.2, 0.1), ((0, 0),) * 3), [r'arc_lengths\[2\]', '0.2']),
    (lambda: Tabulated((0.0, 0.0), ((0, 0),) * 2), [r'arc_lengths\[1\]', 'more than']),
    (lambda: Tabulated((-0.1, 0.0), ((0, 0),) * 2), [r'arc_lengths\[0\]', '>= 0']),
    (lambda: Tabulated((0.0, np.nan), ((0, 0),) * 2), [r'arc_lengths\[1\]', 'nan']),
    (lambda: Tabulated((0.0, 0.1), ((0, 0),) * 3), ['offsets', 'as many as arc_lengths, 2']),
    (lambda: Tabulated((0.0, 0.1), ((0, 0), (0,))), [r'offsets\[1\]', '2 finite']),
    (lambda: Tabulated((0.0, 0.1), ((0, 0), 7)), [r'offsets\[1\]', '7']),
    (lambda: Tabulated((0.0, 0.1), 7), ['offsets', r'points \[x, y\]']),
])
def test_what_makes_no_path_is_refused(make, words):
    with pytest.raises(InvalidModel, match='.*'.join(words)):
        make()
