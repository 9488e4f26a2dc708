"""Single queries by a product in single precision: the same rows as when all are measured, to the bit."""

import numpy as np
import pytest

from learners.neighbors.search import scan
from learners.neighbors.search.kd_tree import build
from learners.neighbors.search.scan import ScanSearch


def measured(points, query, k):
    """Rows and squared distances of the k nearest, columns added up in their order, of equal ones the first."""
    powers = np.zeros(len(points))
    for column, value in enumerate(query):
        off = value - points[:, column]
        powers += off * off
    order = np.argsort(powers, kind="stable")[:k]
    return order, powers[order]


def tables():
    generator = np.random.default_rng(0)
    normal = generator.normal(size=(3_000, 6))
    outlier = normal.copy()
    outlier[17] = 1e5
    yield "normal", normal
    yield "far from 0", normal * 1e-3 + 1e6
    yield "huge", normal * 1e110
    yield "tiny", normal * 1e-138
    yield "steep", normal * 10.0 ** np.arange(-6, 6, 2)
    yield "an outlier", outlier
    yield "ties", generator.integers(0, 3, (3_000, 5)) / 3.0
    yield "wide", generator.normal(size=(1_000, 40))
    yield "few rows", generator.normal(size=(5, 3))
    yield "one column", generator.normal(size=(500, 1))


@pytest.mark.parametrize(("name", "points"), [pytest.param(*one, id=one[0]) for one in tables()])
def test_the_nearest_are_those_of_all_measured(name, points):
    generator = np.random.default_rng(1)
    middle = points[generator.integers(0, len(points), 15)]
    spread = points.std(axis=0)
    queries = np.vstack([middle, middle + spread * 0.3, middle + spread * 20])
    tree = build(points, 2.0)
    for k in {1, min(5, len(points))}:
        for search, is_placed in ((ScanSearch(points, k, tree.rows), True), (ScanSearch(points, k), False)):
            answered = 0
            for query, leaf in zip(queries, tree.leaf_of(queries).tolist(), strict=True):
                found = search.nearest(query.tolist(), int(tree.start[leaf]) if is_placed else None)
                if found is not None:
                    answered += 1
                    rows, powers = measured(points, query, k)
                    assert found[0].tolist() == rows.tolist()
                    assert found[1].tolist() == powers.tolist()
            assert answered == len(queries), name


def test_few_rows_are_measured():
    generator = np.random.default_rng(2)
    points = generator.random((20_000, 8))
    tree = build(points, 2.0)
    search, queries = ScanSearch(points, 5, tree.rows), generator.random((8, 8))
    for query, leaf in zip(queries.tolist(), tree.leaf_of(queries).tolist(), strict=True):
        size = float(((np.array(query) - points.mean(axis=0)) ** 2).sum())
        least = search._right.T @ np.append((query - search._middle[:-1]) * search._scale[:-1], 1.0).astype(np.float32)
        exact = ((points[tree.rows] - query) ** 2).sum(axis=1) - size
        # what bounds the error is the claim on which everything rests
        scale = search._scale[0] ** 2
        squares = ((points[tree.rows] - points.mean(axis=0)) ** 2).sum(axis=1)
        off = least + 2 * search._error * squares * scale - exact * scale
        assert (np.abs(off) <= search._error * (size + 2 * squares) * scale).all()
        assert (least <= search._kth(least, int(tree.start[leaf])) + 1e-4).sum() < 400


@pytest.mark.parametrize("query", [[1e9, 0.0], [np.inf, 0.0], [np.nan, 0.0], [0.0, -1e300]])
def test_queries_far_beyond_all_rows_are_left_to_other_searches(query):
    assert ScanSearch(np.random.default_rng(3).random((100, 2)), 3).nearest(query) is None


def test_rows_whose_squares_have_no_digits_are_left_to_other_searches():
    points = np.random.default_rng(4).random((100, 2)) * 1e-160
    assert ScanSearch(points, 3).nearest(points[0].tolist()) is None


def test_where_too_many_rows_are_equally_near_another_search_is_due(monkeypatch):
    monkeypatch.setattr(scan, "_MOST_ROWS", 50)
    points = np.repeat([[0.0, 1.0], [5.0, 6.0]], 100, axis=0)
    assert ScanSearch(points, 3).nearest([0.0, 1.0]) is None
