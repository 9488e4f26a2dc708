"""The kd-tree: how it is built, how it grows, and that it finds what all distances tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.neighbors import NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.neighbors.distances import Metric
from learners.neighbors.index import make_index
from learners.neighbors.search.brute import BruteSearch
from learners.neighbors.search.kd_tree import LEAF_ROWS, KdTree, build


def plain(n_columns, p=2.0):
    return Metric(p, np.zeros(n_columns, bool), np.ones(n_columns), np.ones(n_columns))


def rows_of_nodes(tree: KdTree) -> list[np.ndarray]:
    """The rows below each node, by the numbers of nodes: of a leaf its pool, of others those of both children."""
    n_inner = len(tree.axis)
    pools = [tree.rows[first:last] for first, last in zip(tree.start[:-1], tree.start[1:], strict=True)]
    below = [np.empty(0, int)] * n_inner + pools
    for node in reversed(range(n_inner)):
        below[node] = np.concatenate([below[2 * node + 1], below[2 * node + 2]])
    return below


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_nodes_are_split_at_the_median_of_the_axis_of_highest_variance_into_pools(data):
    n_columns, n_rows = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 300))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    points = generator.normal(size=(n_rows, n_columns)) * generator.lognormal(0, 2, n_columns)
    if data.draw(st.booleans()):
        points = np.round(points)  # many rows at the median
    tree = build(points, 2.0)
    below = rows_of_nodes(tree)
    assert sorted(tree.rows) == list(range(n_rows))
    for node, (axis, split) in enumerate(zip(tree.axis, tree.split, strict=True)):
        own = points[below[node]]
        variance = own.var(axis=0)
        assert variance[axis] >= variance.max() * (1 - 1e-9)
        along = np.sort(own[:, axis])
        assert split == along[(len(own) - 1) // 2]  # the median, the lower of two
        left, right = points[below[2 * node + 1], axis], points[below[2 * node + 2], axis]
        assert left.max() <= split <= right.min()
        assert 0 <= len(left) - len(right) <= 1
    sizes = [len(below[node]) for node in range(len(tree.axis), len(below))]
    assert max(sizes) <= LEAF_ROWS
    assert n_rows <= LEAF_ROWS or min(sizes) >= LEAF_ROWS // 2
    for node, (low, high) in enumerate(tree.boxes):
        assert (low == points[below[node]].min(axis=0)).all()
        assert (high == points[below[node]].max(axis=0)).all()


def test_the_first_axis_is_that_of_variance_not_of_range():
    """By hand: x spreads over 20 by one row alone, y over 10 by half of them."""
    x = np.zeros(40)
    x[0] = 20.0
    points = np.column_stack([x, np.repeat([0.0, 10.0], 20)])
    assert (points[:, 0].var(), points[:, 1].var()) == (9.75, 25.0)
    tree = build(points, 2.0)
    assert (tree.axis[0], tree.split[0]) == (1, 0.0)


def test_a_pool_may_grow_to_four_times_its_size_before_the_tree_is_built_anew():
    points = np.arange(24.0)[:, None]
    tree = build(points, 2.0)
    assert (np.diff(tree.start).tolist(), tree.split.tolist()) == ([12, 12], [11.0])
    more = 100 + np.arange(36.0)[:, None]
    grown = tree.inserted(more)
    assert (np.diff(grown.start).tolist(), grown.split.tolist()) == ([12, 48], [11.0])
    one_by_one = tree
    for row in more:
        one_by_one = one_by_one.inserted(row[None])
    assert one_by_one.rows.tolist() == grown.rows.tolist()
    rebuilt = grown.inserted(np.array([[200.0]]))
    assert np.diff(rebuilt.start).max() <= LEAF_ROWS
    anew = build(np.concatenate([points, more, [[200.0]]]), 2.0)
    for name, array in rebuilt.to_arrays().items():
        np.testing.assert_array_equal(array, anew.to_arrays()[name])
    asked = np.array([[11.6], [99.0], [300.0]])
    assert rebuilt.nearest(asked, 2).rows.tolist() == [[12, 11], [24, 25], [60, 59]]
    assert grown.nearest(asked, 2).rows.tolist() == [[12, 11], [24, 25], [59, 58]]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_of_any_minkowski_power_the_tree_finds_what_brute_force_finds(data):
    """Also of questions with gaps, and of ties, which a grid of few steps makes."""
    n_columns, n_rows = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([1, 13, 60, 400]))
    p = data.draw(st.sampled_from([1.0, 2.0, np.inf]) | st.floats(1, 32))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    steps = data.draw(st.sampled_from([1, 4, 100]))
    points = generator.integers(0, steps + 1, (n_rows, n_columns)) / steps
    queries = generator.integers(-1, steps + 2, (12, n_columns)) / steps
    queries[generator.random(queries.shape) < data.draw(st.sampled_from([0.0, 0.2]))] = np.nan
    k = data.draw(st.integers(1, max(1, n_rows // 8)))
    index = make_index(plain(n_columns, p), points, np.ones(n_rows), "kd-tree")
    assert index.tree is not None
    exact = BruteSearch(index.metric, points).nearest(queries, k)
    found = index.nearest(queries, k)
    np.testing.assert_array_equal(found.rows, exact.rows)
    np.testing.assert_array_equal(found.powers, exact.powers)


@pytest.mark.parametrize("asked", [[[0.0]], [[0.0], [1.0], [0.5]], [[0.5]]])
def test_where_more_rows_are_equally_near_than_a_tree_is_asked_for_the_first_count(asked):
    points = np.tile([[1.0], [0.0]], (100, 1))
    index = make_index(plain(1, 1.5), points, np.ones(200), "kd-tree")
    wanted = [[1, 3], [0, 2], [0, 1]]
    nearest = {0.0: wanted[0], 1.0: wanted[1], 0.5: wanted[2]}
    assert index.nearest(np.array(asked), 2).rows.tolist() == [nearest[one] for (one,) in asked]


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 7.3])
def test_learners_answer_alike_by_tree_and_by_brute_force(p):
    generator = np.random.default_rng(4)
    X = np.round(generator.normal(size=(900, 3)), 1)
    asked = np.round(generator.normal(size=(100, 3)), 1)
    asked[generator.random(asked.shape) < 0.1] = np.nan
    y = generator.integers(0, 3, 900)
    for learner in (NearestNeighborsClassifier, NearestNeighborsRegressor):
        found, exact = (
            learner(k=9, metric="minkowski", p=p, kernel="inverse", search=search).fit(X, y).explain(asked)
            for search in ("kd-tree", "brute")
        )
        assert found == exact
