"""Contact against theory, by the assemblies of benchmarks/contact.py; see there for references."""

import sys

from conftest import ROOT
import numpy as np
import pytest

sys.path.insert(0, str(ROOT / 'benchmarks'))
import contact as cases  # noqa: E402


def test_the_longest_rope_is_that_of_the_closed_form():
    rope = cases.Rope()
    mu, R = rope.friction, rope.drum + rope.radius
    grown = np.exp(mu * np.pi)
    assert rope.longest == pytest.approx(
        grown * rope.light + R * 2.0 * mu / (1.0 + mu ** 2) * (grown + 1.0), rel=1e-8)


def test_a_rope_over_a_drum_holds_below_the_limit_of_friction():
    solver = cases.rope_over_drum(0.98)
    assert solver.statics().converged
    assert cases.travel(solver, 2.0) < 1e-7


def test_a_rope_over_a_drum_has_no_equilibrium_above_the_limit_of_friction():
    solver = cases.rope_over_drum(1.02)
    before = solver.z.copy()
    solution = solver.statics()
    assert not solution.converged
    assert solution.message
    np.testing.assert_array_equal(solver.z, before)


def test_a_rope_over_a_drum_slides_above_the_limit_of_friction():
    """Laid down with more friction than it has then."""
    assert cases.slips(1.02, 1.3) > 4e-3


@pytest.mark.parametrize('force', [0.12, 0.35])
def test_an_elastica_pressed_round_a_cylinder(force):
    """Place of the tip, curvature on the arc and lift-off are those of the free boundary."""
    case = cases.Pressed()
    arc, tip = cases.lift_off(case, force)
    solver = cases.pressed_rod(case, force)
    solver.refresh()
    links = solver.places.rods['rod']
    assert np.linalg.norm(solver.work.end.p[links[-1]][[0, 2]] - tip) < 1e-4 * case.length
    R = case.drum + case.radius
    end, pressed = cases.force_of_lift_off(solver, case)
    assert end == pytest.approx(arc, rel=5e-3)
    assert pressed == pytest.approx(force * np.cos(arc / R), rel=5e-3)
    element = case.length / len(links)
    inside = [link for i, link in enumerate(links) if (i + 1) * element < 0.8 * arc]
    for link in inside:  # the mean of the curvature is that of the first mode
        assert solver.z[solver.tree.links.first[link]] == pytest.approx(1.0 / R, rel=5e-3)
    # What presses in the middle of the arc: nothing but at its end, where the curvature jumps.
    pressing = sum(c.force[[0, 2]] for c in solver.contacts())
    root = solver.work.passed[links[0]][[0, 2]]
    np.testing.assert_allclose(root, pressing + [0.0, -force], atol=1e-9)


def test_a_clamped_rod_buckles_at_greenhills_twist():
    assert cases.greenhill() == pytest.approx(1.0, abs=2e-3)


def test_a_rod_in_a_tube_buckles_to_a_sine():
    assert cases.sinusoidal() == pytest.approx(1.0, abs=0.02)


def test_a_rod_in_a_tube_buckles_to_a_helix():
    """Within 5 % of the energy argument for an even helix of a long rod."""
    assert cases.helical() == pytest.approx(1.0, abs=0.05)


def test_an_arm_in_a_cage_has_20_contacts_that_are_not_deep():
    _, count, depth = cases.driven(cases.arm_in_cage(), seconds=2.0)
    assert count > 19.0
    assert depth < 0.01


def test_an_arm_among_posts_that_it_hits_and_leaves_is_never_deep_in_one():
    """Posts are anywhere between the points of contact; what is measured is the curve."""
    _, count, depth = cases.driven(cases.arm_among_posts(), seconds=20.0)
    assert 1.0 < count < 4.0
    assert depth < 0.01
