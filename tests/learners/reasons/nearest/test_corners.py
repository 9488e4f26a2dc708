"""The nearest point within linear bounds: the corners against scipy's linear programmes, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from learners.reasons.nearest.corners import nearest_beyond_one, nearest_corner


def by_programme(start, weights, slopes, tops, low, high):
    """The least weighted distance, as a linear programme of the values and how far each is from the start."""
    n, one = len(start), np.eye(len(start))
    lines = np.block([[slopes, np.zeros_like(slopes)], [one, -one], [-one, -one]])
    bounds = [*zip(low, high, strict=True), *[(0, None)] * n]
    costs = np.concatenate((np.zeros(n), weights))
    return linprog(costs, A_ub=lines, b_ub=np.concatenate((tops, start, -start)), bounds=bounds)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.integers(1, 6))
def test_the_nearest_corner_is_as_near_as_a_programme_says(seed, n, m):
    rng = np.random.default_rng(seed)
    start, weights = rng.normal(size=n), rng.random(n) * (rng.random(n) < 0.9)
    slopes = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.8)
    tops = rng.normal(size=m)
    low = np.where(rng.random(n) < 0.5, -np.inf, start - rng.random(n) * 3)
    high = np.where(rng.random(n) < 0.5, np.inf, start + rng.random(n) * 3)
    found = nearest_corner(start, weights, slopes, tops, low, high)
    expected = by_programme(start, weights, slopes, tops, low, high)
    assert (found is not None) == (expected.status == 0)
    if found is not None:
        assert (slopes @ found <= tops + 1e-7).all()
        assert ((low <= found) & (found <= high)).all()
        assert np.abs(found - start) @ weights == pytest.approx(expected.fun, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 4))
def test_where_one_bound_decides_its_columns_are_moved_as_a_programme_says(seed, n, m):
    rng = np.random.default_rng(seed)
    start, weights = rng.normal(size=n), rng.random(n) * (rng.random(n) < 0.9)
    slopes = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.8)
    tops = rng.normal(size=m)
    low = np.where(rng.random(n) < 0.5, -np.inf, start + rng.random(n) - 0.9)
    high = np.where(rng.random(n) < 0.5, np.inf, np.maximum(low, start) + rng.random(n) * 3)
    found = nearest_beyond_one(start, weights, slopes, tops, low, high)
    expected = by_programme(start, weights, slopes, tops, low, high)
    if found is not None:
        assert (slopes @ found <= tops + 1e-7).all()
        assert ((low <= found) & (found <= high)).all()
        assert np.abs(found - start) @ weights == pytest.approx(expected.fun, abs=1e-7)
    else:
        assert m > 1 or expected.status != 0


def test_the_faster_column_goes_as_far_as_it_may():
    """3x + y >= 10 from the origin at equal weights: x alone, to 10/3; with x at most 2 the rest by y."""
    slopes, tops, ones = np.array([[-3.0, -1.0]]) / 3, np.array([-10.0]) / 3, np.ones(2)
    free = np.full(2, np.inf)
    for nearest in (nearest_corner, nearest_beyond_one):
        assert nearest(np.zeros(2), ones, slopes, tops, -free, free) == pytest.approx([10 / 3, 0])
        assert nearest(np.zeros(2), ones, slopes, tops, -free, np.array([2, np.inf])) == pytest.approx([2, 4])
        assert nearest(np.zeros(2), ones, slopes, tops, -free, np.array([2.0, 3])) is None
