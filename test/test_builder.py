"""Robots of config/ as assemblies: what they did on the engine before, see reference/."""

from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
import pytest
from reference.make_robots import lengths, run, transition, variants

KEPT = np.load(Path(__file__).parent / 'reference' / 'robots.npz')


@pytest.mark.parametrize('name', variants())
def test_a_robot_does_what_it_did_before(name):
    """
    Statics, loads, motion and stability, all to 1e-9: of a metre, a radian, the largest effort.

    But the least eigenvalue over the inertia, to 1e-8: of the planar platform with clamped strips
    the engines differ in it by 2.8e-9.
    """
    found = run(variants()[name])
    kept = {key: KEPT[f'{name}/{key}'] for key in found}
    for key in ('tips', 'tip', 'twist'):
        assert_allclose(found[key], kept[key], rtol=0.0, atol=1e-9, err_msg=key)
    # Efforts at rest are rounding: of a pressure, that of the atmosphere's.
    least = 1e-4 * np.abs(kept['actuators']).max(axis=(0, 1))
    for mine, before in zip(found['actuators'], kept['actuators'], strict=True):
        size = np.maximum(np.abs(before).max(axis=0), least)
        assert_allclose(mine / size, before / size, rtol=0.0, atol=1e-9)
    margin, ways, frequency = found['stability'].T
    before = kept['stability'].T
    assert_allclose(margin, before[0], rtol=0.0, atol=1e-9)
    assert ways.tolist() == before[1].tolist()
    assert_allclose(frequency, before[2], rtol=1e-8)


@pytest.mark.parametrize('name', [name for name, robot in variants().items() if robot.legs])
def test_a_platform_has_the_same_leg_lengths_at_a_pose_under_loads(name):
    """By inverse statics, from where a load has moved it."""
    found = lengths(variants()[name])
    assert_allclose(found, KEPT[f'{name}/lengths'], rtol=0.0, atol=1e-9)


def test_a_platform_loses_its_stiffness_where_it_did_before():
    """Margins and heights from 144 to 147 N, on both sides of the transition."""
    found, before = transition(), KEPT['transition']
    assert found[:, 1].tolist() == before[:, 1].tolist() == [0, 0, 2, 2]
    assert_allclose(found, before, rtol=0.0, atol=1e-9)
