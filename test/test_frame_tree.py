"""The frame tree against matrix products, and against everything a tree must refuse."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest

from cosserat_ros.nodes.common.frame_tree import FrameTree, inverse, matrix

STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def unit(q):
    """Return a quaternion of length one."""
    return tuple(np.asarray(q) / np.linalg.norm(q))


coordinate = st.floats(-10.0, 10.0)
position = st.tuples(coordinate, coordinate, coordinate)
number = st.floats(-1.0, 1.0)
rotation = st.tuples(number, number, number, number).filter(
    lambda q: np.linalg.norm(q) > 0.1).map(unit)
transform = st.tuples(position, rotation).map(lambda pose: pose[0] + pose[1])
NAMES = 'abcdefgh'


@given(st.lists(transform, min_size=1, max_size=8))
def test_a_chain_is_a_product_of_matrices(chain):
    tree = FrameTree()
    expected = np.eye(4)
    parent = 'root'
    for name, values in zip(NAMES, chain):
        tree.set_transform(name, parent, values)
        expected = expected @ matrix(values)
        parent = name
    np.testing.assert_allclose(tree.pose(parent, 'root'), expected, atol=1e-9)
    np.testing.assert_allclose(tree.pose('root', parent), np.linalg.inv(expected), atol=1e-9)


@given(transform, transform, transform)
def test_poses_of_branches_compose_over_any_frame_between(left, right, stem):
    tree = FrameTree()
    tree.set_transform('stem', 'root', stem)
    tree.set_transform('left', 'stem', left)
    tree.set_transform('right', 'stem', right)
    direct = tree.pose('left', 'right')
    np.testing.assert_allclose(direct, np.linalg.inv(matrix(right)) @ matrix(left), atol=1e-9)
    over_root = tree.pose('root', 'right') @ tree.pose('left', 'root')
    np.testing.assert_allclose(direct, over_root, atol=1e-9)


@given(transform)
def test_matrix_is_rigid_and_inverse_is_its_inverse(values):
    pose = matrix(values)
    np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1.0)
    np.testing.assert_allclose(inverse(pose) @ pose, np.eye(4), atol=1e-12)


def test_a_quarter_turn_about_z_takes_x_to_y():
    tree = FrameTree()
    half = math.sqrt(0.5)
    tree.set_transform('turned', 'root', (1.0, 2.0, 3.0, 0.0, 0.0, half, half))
    x_end = tree.pose('turned', 'root') @ (1.0, 0.0, 0.0, 1.0)
    np.testing.assert_allclose(x_end[:3], (1.0, 3.0, 3.0), atol=1e-12)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=40))
def test_any_order_of_edges_leaves_a_forest_that_answers(edges):
    tree = FrameTree()
    for child, parent in edges:
        known = tree.pose(parent, child) is not None
        try:
            tree.set_transform(child, parent, STILL)
        except ValueError:
            assert known  # only what already hangs together can become a circle
    for name in tree.frames:
        assert sum(tree.pose(name, root) is not None for root in tree.roots) == 1


def test_the_newest_transform_counts():
    tree = FrameTree()
    tree.set_transform('a', 'root', STILL)
    tree.set_transform('b', 'a', STILL)
    assert tree.pose('b', 'root')[0, 3] == 0.0
    tree.set_transform('a', 'root', (1.0, *STILL[1:]))
    assert tree.pose('b', 'root')[0, 3] == 1.0


def test_a_frame_can_move_to_another_parent():
    tree = FrameTree()
    tree.set_transform('tool', 'left_hand', STILL)
    tree.set_transform('left_hand', 'body', (0.0, 1.0, *STILL[2:]))
    tree.set_transform('right_hand', 'body', (0.0, -1.0, *STILL[2:]))
    assert tree.pose('tool', 'body')[1, 3] == 1.0
    tree.set_transform('tool', 'right_hand', STILL)
    assert tree.pose('tool', 'body')[1, 3] == -1.0
    assert tree.frames.count('tool') == 1


def test_circles_are_refused_and_change_nothing():
    tree = FrameTree()
    tree.set_transform('b', 'a', (1.0, *STILL[1:]))
    tree.set_transform('c', 'b', STILL)
    for child, parent in (('a', 'c'), ('a', 'b'), ('a', 'a'), ('a', '/a'), ('d', 'd')):
        with pytest.raises(ValueError, match='own ancestor'):
            tree.set_transform(child, parent, STILL)
    assert tree.roots == ['a']
    assert tree.pose('c', 'a')[0, 3] == 1.0


@pytest.mark.parametrize('values', [
    (math.nan, *STILL[1:]), (math.inf, *STILL[1:]), (*STILL[:6], math.nan),
    (*STILL[:6], 0.0), (*STILL[:6], 1.1), (*STILL[:6], 1e200), STILL[:6],
])
def test_what_is_no_transform_is_refused_and_changes_nothing(values):
    tree = FrameTree()
    tree.set_transform('a', 'root', (1.0, *STILL[1:]))
    with pytest.raises(ValueError, match="'a'"):
        tree.set_transform('a', 'root', values)
    assert tree.pose('a', 'root')[0, 3] == 1.0


@pytest.mark.parametrize('names', [('', 'a'), ('a', ''), ('/', 'a')])
def test_frames_have_names(names):
    with pytest.raises(ValueError, match='name'):
        FrameTree().set_transform(*names, STILL)


def test_a_slightly_long_quaternion_is_made_a_rotation():
    tree = FrameTree()
    tree.set_transform('a', 'root', (*STILL[:6], 1.004))
    np.testing.assert_allclose(tree.pose('a', 'root'), np.eye(4), atol=1e-15)


def test_a_leading_slash_means_nothing():
    tree = FrameTree()
    tree.set_transform('/a', 'root', STILL)
    assert tree.frames == ['root', 'a']
    assert tree.pose('/a', '/root') is not None


def test_frames_of_other_trees_have_no_pose():
    tree = FrameTree()
    tree.set_transform('a', 'root', STILL)
    tree.set_transform('x', 'island', STILL)
    assert tree.pose('a', 'island') is None
    assert tree.pose('nobody', 'root') is None
    np.testing.assert_array_equal(tree.pose('nobody', 'nobody'), np.eye(4))


def test_the_root_of_most_frames_comes_first():
    tree = FrameTree()
    tree.set_transform('x', 'small', STILL)
    tree.set_transform('a', 'large', STILL)
    tree.set_transform('b', 'a', STILL)
    assert tree.roots == ['large', 'small']
    assert FrameTree().roots == []


def test_answers_belong_to_the_caller():
    tree = FrameTree()
    tree.set_transform('a', 'root', STILL)
    tree.pose('a', 'root')[:] = 7.0
    np.testing.assert_array_equal(tree.pose('a', 'root'), np.eye(4))


def test_what_a_source_said_before_a_time_can_be_forgotten():
    tree = FrameTree()
    tree.set_transform('mount', 'root', STILL, time=0.0, source='/tf_static')
    tree.set_transform('old', 'mount', STILL, time=1.0, source='/tf')
    tree.set_transform('new', 'mount', STILL, time=2.0, source='/tf')
    tree.forget(before=2.0, source='/tf')
    assert tree.frames == ['root', 'mount', 'new']
    tree.forget(before=math.inf, source='/tf_static')
    assert tree.frames == ['mount', 'new']


def test_a_very_long_chain_needs_no_recursion():
    tree = FrameTree()
    for k in range(3000):
        tree.set_transform(f'link_{k + 1}', f'link_{k}', (0.0, 0.0, 1e-3, *STILL[3:]))
    assert tree.pose('link_3000', 'link_0')[2, 3] == pytest.approx(3.0)
