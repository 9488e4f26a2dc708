"""Every exact search finds the same rows in the same order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners._accel import interpreted, uncompiled
from learners.checks.require import require_same
from learners.neighbors.distances import Metric
from learners.neighbors.index import make_index
from learners.neighbors.search.brute import BruteSearch
from learners.neighbors.search.kd_tree import COMPARED_BY_BYTES, COMPARED_ROWS, LEAF_ROWS, build
from learners.neighbors.search.walk import search_tree


def plain(n_columns, p=2.0):
    return Metric(p, np.zeros(n_columns, bool), np.ones(n_columns), np.ones(n_columns))


def by_definition(metric, points, queries, k):
    """All distances, sorted by distance and then by index."""
    powers = metric.powers(queries[:, None], points[None])
    order = np.argsort(powers, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(powers, order, 1)


def require_nearest(found, wanted):
    require_same(found.rows, wanted[0], "rows")
    require_same(found.powers, wanted[1], "powers")


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_tree_and_brute_force_agree_on_ties_too(data):
    n_columns = data.draw(st.integers(1, 5))
    n_rows = data.draw(st.sampled_from([1, 2, 12, 13, 80, 400]))
    steps = data.draw(st.sampled_from([1, 3, 50]))
    p = data.draw(st.sampled_from([1.0, 2.0, 3.0, np.inf]))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    points = generator.integers(0, steps + 1, (n_rows, n_columns)) / 7.0
    queries = generator.integers(-2, steps + 3, (15, n_columns)) / 7.0
    k = data.draw(st.integers(1, n_rows))
    wanted = by_definition(plain(n_columns, p), points, queries, k)
    require_nearest(BruteSearch(plain(n_columns, p), points).nearest(queries, k), wanted)
    tree = build(points, p)
    found, visits = tree.visits(queries, k)
    require_nearest(found, wanted)
    assert ((k <= visits) & (visits <= n_rows)).all()
    half = max(1, n_rows // 2)
    grown = build(points[:half], p)
    for row in range(half, n_rows, 40):
        grown = grown.inserted(points[row : row + 40])
    require_nearest(grown.nearest(queries, k), wanted)


def test_the_product_of_matrices_only_filters():
    """Levels, gaps and large common parts, which a product alone would lose, change no neighbour."""
    generator = np.random.default_rng(1)
    points = np.column_stack([generator.normal(size=(300, 2)) + 1e6, generator.integers(0, 4, (300, 2))])
    queries = points[generator.integers(0, 300, 50)] + [1e-3, 0, 0, 0]
    metric = Metric(2.0, np.array([False, False, True, True]), np.array([1, 1, 0.5, 2]), np.array([3, 4, 0.5, 2]))
    for gaps in (0.0, 0.2):
        points[generator.random(points.shape) < gaps] = np.nan
        queries[generator.random(queries.shape) < gaps] = np.nan
        for k in (1, 7, 300):
            search = BruteSearch(metric, np.ascontiguousarray(points))
            require_nearest(search.nearest(queries, k), by_definition(metric, points, queries, k))
            assert search._products is not None


def test_plain_python_walks_alike():
    generator = np.random.default_rng(2)
    points, queries = generator.normal(size=(100, 3)), generator.normal(size=(5, 3))
    tree = build(points, 2.0)
    compiled = tree.nearest(queries, 4)
    rows, powers = np.empty((5, 4), np.int64), np.empty((5, 4))
    with uncompiled():
        interpreted(search_tree)(2.0, tree.searched, queries, np.arange(5), (rows, powers, np.empty(5, np.int64)))
    require_same(rows, compiled.rows, "rows")
    require_same(powers, compiled.powers, "powers")


@pytest.mark.parametrize("n_columns", [2, 3])
def test_few_rows_are_visited_however_many_there_are(n_columns):
    generator = np.random.default_rng(3)
    means = []
    for n_rows in (2_000, 32_000):
        tree = build(generator.random((n_rows, n_columns)), 2.0)
        means.append(tree.visits(generator.random((300, n_columns)), 1)[1].mean())
    assert means[1] < 1.3 * means[0]
    assert means[1] < 5 * COMPARED_ROWS


@pytest.mark.parametrize(("p", "corner"), [(1.0, 7), (2.0, 5), (np.inf, 4)])
@pytest.mark.parametrize(("times", "is_nearer", "visited"), [(0.99, False, 24), (1, True, 48), (1.001, True, 48)])
def test_a_box_that_the_ball_of_the_nearest_just_touches_is_visited(p, corner, times, is_nearer, visited):
    """Four pools, left and right, below and above; of (3, 1) the corner (0, -3) of the first is 3 and 4 away.

    It is looked at after the last pool, in whose box (3, 1) lies, and whose row 72 is at so many times the corner's
    distance. Of equally distant rows the first counts, so a box just touched is left alone if all its rows come later.
    """
    steps = np.arange(24.0)
    pools = [np.column_stack(np.broadcast_arrays(x, y)) for x, y in
             ((0, -3 - steps), (0, 50 + steps), (1000, -400 - steps), (1000, 400 + steps))]  # fmt: skip
    points = np.concatenate(pools)
    points[72:74] = (3 + times * corner, 1), (3, 1 + 2 * corner)
    tree = build(points, p)
    assert tree.split.tolist()[:3] == [0, -3, -400]
    found, visits = tree.visits(np.array([[3.0, 1.0]]), 1)
    assert (found.rows[0, 0], visits[0]) == (0 if is_nearer else 72, visited)
    found, visits = build(points[::-1].copy(), p).visits(np.array([[3.0, 1.0]]), 1)
    assert (found.rows[0, 0], visits[0]) == ((95, 48) if times > 1 else (23, 24))


def test_a_pool_whose_box_is_out_of_reach_is_not_visited():
    """The plane between the pools lies at the last row of the first, 0; the second's box begins at 100."""
    tree = build(np.concatenate([np.arange(-23.0, 1.0), np.arange(100.0, 124.0)])[:, None], 2.0)
    found, visits = tree.visits(np.array([[-0.4]]), 1)
    assert (found.rows[0, 0], visits[0]) == (23, 24)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_bytes_only_filter(data):
    """Clusters of any size beside each other and far off, equal rows, and columns of one value."""
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n_columns, n_rows = data.draw(st.integers(6, 14)), data.draw(st.sampled_from([5, 60, 700]))
    sizes = 10.0 ** generator.choice(data.draw(st.sampled_from([[0], [-9, 0, 6], [-310, -160, 0], [0, 120]])), 4)
    centres = generator.normal(size=(4, n_columns)) * sizes[::-1, None]
    cluster = generator.integers(0, 4, n_rows)
    points = centres[cluster] + generator.normal(size=(n_rows, n_columns)) * sizes[cluster, None]
    points[:, 0] = np.round(points[:, 0])
    points[::9] = points[0]
    points[:, 1] = data.draw(st.sampled_from([0.0, 1.5]))
    queries = np.vstack([points[:8], points[:8] * (1 + 1e-9), centres, generator.normal(size=(3, n_columns)) * 1e100])
    tree = build(points, 2.0)
    k = data.draw(st.integers(1, min(n_rows, 30)))
    assert (len(tree.searched[-1]) > 0) == (n_rows >= 2 * COMPARED_BY_BYTES)
    with np.errstate(under="ignore"):
        require_nearest(tree.nearest(queries, k), by_definition(plain(n_columns), points, queries, k))


def test_a_tree_out_of_balance_is_built_anew():
    generator = np.random.default_rng(4)
    tree = build(generator.random((500, 2)), 2.0)
    lopsided = tree.inserted(np.full((3, 2), 0.5)).inserted(generator.random((200, 2)) / 1000)
    assert lopsided.n_rows == 703
    assert np.diff(lopsided.start).max() <= LEAF_ROWS  # rebuilt
    assert np.diff(tree.inserted(generator.random((100, 2))).start).max() <= 4 * LEAF_ROWS


def test_incomplete_questions_are_answered_beside_complete_ones():
    generator = np.random.default_rng(7)
    points, queries = generator.random((200, 3)), generator.random((20, 3))
    queries[::3, 1] = np.nan
    index = make_index(plain(3), points, np.ones(200), "kd-tree")
    require_nearest(index.nearest(queries, 3), by_definition(plain(3), points, queries, 3))
