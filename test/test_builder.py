"""Robots of config/ as assemblies: what they did on the engine before, see reference/."""

from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
import pytest
from reference.make_robots import run, variants

KEPT = np.load(Path(__file__).parent / 'reference' / 'robots.npz')


@pytest.mark.parametrize('name', variants())
def test_a_robot_does_what_it_did_before(name):
    """Statics, loads, motion and stability: poses to 1e-9 of a metre and a radian."""
    found = run(variants()[name])
    kept = {key: KEPT[f'{name}/{key}'] for key in found}
    for key in ('tips', 'tip'):
        assert_allclose(found[key], kept[key], rtol=0.0, atol=1e-9, err_msg=key)
    assert_allclose(found['twist'], kept['twist'], rtol=0.0, atol=1e-7)
    least = 1e-6 * np.abs(kept['actuators']).max(axis=(0, 1))  # efforts at rest are rounding
    for mine, before in zip(found['actuators'], kept['actuators'], strict=True):
        size = np.maximum(np.abs(before).max(axis=0), least)
        assert_allclose(mine / size, before / size, rtol=0.0, atol=1e-7)
    assert_allclose(found['stability'], kept['stability'], rtol=1e-6)
