"""Distances against scipy's, and the axioms of a metric."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from learners.errors import ParameterError
from learners.neighbors.coordinates import fit_coordinates
from learners.neighbors.distances import Metric, minkowski
from learners.table import MISSING, UNSEEN, Column, Kind, Table

NUMBERS = np.random.default_rng(0).normal(size=(20, 4))


@pytest.mark.parametrize(
    ("p", "peer"),
    [
        (1, {"metric": "cityblock"}),
        (2, {}),
        (np.inf, {"metric": "chebyshev"}),
        (3.5, {"metric": "minkowski", "p": 3.5}),
    ],
)
def test_minkowski_is_the_peers(p, peer):
    found = minkowski(NUMBERS[:, None], NUMBERS[None], p)
    np.testing.assert_allclose(found, cdist(NUMBERS, NUMBERS, **peer), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("p", [0.999, 0.5, 0, -1, float("nan")])
def test_a_power_below_one_is_refused(p):
    with pytest.raises(ParameterError, match="triangle"):
        minkowski(NUMBERS, NUMBERS, p)


def test_weights_multiply_the_powers_of_differences():
    table = Table.from_array(NUMBERS)
    weights = np.array([1.0, 0.5, 0.0, 0.25])
    for p in (1.0, 2.0, 3.0):
        made = fit_coordinates(table, np.ones(20), p, "none", leaves_out=False).weighted(weights)
        points = made.of(table)
        found = made.metric.root(made.metric.powers(points[:, None], points[None]))
        peer = cdist(NUMBERS, NUMBERS, "minkowski", p=p, w=weights)
        np.testing.assert_allclose(found, peer, rtol=1e-9, atol=1e-12)


MIXED = Table(
    (Column("x"), Column("grade", Kind.ORDINAL, ("a", "b", "c")), Column("colour", Kind.NOMINAL, ("r", "g"))),
    np.array([[0.0, 0, 0], [4, 2, 1], [MISSING, 1, 0], [2, MISSING, MISSING], [1, UNSEEN, UNSEEN]]),
)


def heom(leaves_out, p=2.0):
    made = fit_coordinates(MIXED, np.ones(5), p, "range", leaves_out=leaves_out)
    points = made.of(MIXED)
    return made.metric.powers(points[:, None], points[None])


def test_mixed_and_missing_cells_as_heom_has_them():
    found = heom(leaves_out=False)
    assert found[0, 1] == 1 + 1 + 1
    assert found[0, 2] == 1 + 0.25 + 0  # missing: the whole range
    assert found[0, 3] == 0.25 + 1 + 1
    assert found[0, 4] == pytest.approx(1 / 16 + 1 + 1)  # an unseen rank is missing, an unseen level differs
    assert found[2, 2] == 1  # not known to be the same


def test_gower_leaves_missing_columns_out():
    found = heom(leaves_out=True, p=1.0)
    assert found[0, 1] == 3
    assert found[0, 2] == pytest.approx((0.5 + 0) * 3 / 2)  # two of three columns are known
    assert found[0, 3] == pytest.approx(0.5 * 3)
    assert found[2, 3] == 3  # nothing in common: as far as can be
    largest = fit_coordinates(MIXED, np.ones(5), np.inf, "none", leaves_out=True)
    points = largest.of(MIXED)
    widest = largest.metric.powers(points[:, None], points[None])
    assert widest[0, 1] == 4
    assert widest[0, 2] == 1  # of what both know the ranks alone differ
    assert widest[2, 3] == 4  # nothing in common: the largest of the spans 4, 2 and 1


rows = st.lists(st.floats(-50, 50).map(lambda x: round(x, 2)), min_size=3, max_size=3).map(np.array)


@settings(max_examples=60, deadline=None)
@given(a=rows, b=rows, c=rows, p=st.sampled_from([1.0, 1.5, 2.0, 4.0, np.inf]))
def test_axioms_of_a_metric(a, b, c, p):
    ab, bc, ac = minkowski(a, b, p), minkowski(b, c, p), minkowski(a, c, p)
    assert minkowski(b, a, p) == ab >= 0
    assert (ab == 0) == bool((a == b).all())
    assert ac <= (ab + bc) * (1 + 1e-12)


known = (st.integers(0, 40).map(lambda x: x / 10), st.integers(0, 2), st.integers(0, 1))
complete = st.tuples(*known)
gappy = st.tuples(*(st.just(MISSING) | cells for cells in known))
powers = st.sampled_from([1.0, 1.5, 2.0, 4.0, np.inf])


def mixed_distances(*cells, p=2.0, leaves_out=False, weights=(1.0, 1.0, 1.0)):
    """Distances of each of some rows of cells from each, shape (m, m), by the ranges of the mixed table."""
    made = fit_coordinates(MIXED, np.ones(5), p, "range", leaves_out=leaves_out).weighted(np.array(weights))
    points = made.of(Table(MIXED.columns, np.array(cells, float)))
    return made.metric.root(made.metric.powers(points[:, None], points[None]))


def keeps_the_triangle(found):
    """Whether no way round by a third row is shorter."""
    return bool((found[:, None] <= (found[:, :, None] + found[None]) * (1 + 1e-12)).all())


@settings(max_examples=60, deadline=None)
@given(a=gappy, b=gappy, c=gappy, p=powers)
def test_heom_is_a_metric_inside_the_ranges_but_a_gap_is_away_from_itself(a, b, c, p):
    found = mixed_distances(a, b, c, p=p)
    np.testing.assert_array_equal(found, found.T)
    assert keeps_the_triangle(found)
    for row, cells in enumerate((a, b, c)):
        n_missing = np.isnan(cells).sum()
        assert found[row, row] == pytest.approx(n_missing ** (1 / p) if n_missing else 0)
    assert (found[0, 1] == 0) == (a == b and not np.isnan(a).any())


@settings(max_examples=60, deadline=None)
@given(a=complete, b=complete, c=complete, p=powers, weights=st.tuples(*[st.sampled_from([0.0, 0.25, 1.0, 7.5])] * 3))
def test_weighted_distances_are_a_metric_of_the_columns_of_weight(a, b, c, p, weights):
    for leaves_out in (False, True):
        found = mixed_distances(a, b, c, p=p, weights=weights, leaves_out=leaves_out)
        np.testing.assert_array_equal(found, found.T)
        assert keeps_the_triangle(found)
        weighed = np.array(weights) > 0
        assert (found[0, 1] == 0) == bool((np.array(a) == np.array(b))[weighed].all())


def test_a_weight_multiplies_what_a_gap_counts_too():
    """By HEOM a gap counts the weight times the range, which is 1, squared; by Gower spans are weighted alike."""
    gap, weights = MISSING, (0.25, 4.0, 0.0)
    found = mixed_distances((gap, 0, 0), (4, 2, 1), (gap, gap, gap), weights=weights)
    assert found[0, 1] == pytest.approx(np.sqrt(0.25 + 4))
    assert found[0, 2] == pytest.approx(np.sqrt(0.25 + 4))
    assert found[0, 0] == pytest.approx(np.sqrt(0.25))
    left_out = mixed_distances((gap, 0, 0), (4, 1, 1), (gap, gap, gap), p=1.0, leaves_out=True, weights=weights)
    assert left_out[0, 1] == pytest.approx(4 * 0.5 * (4.25 / 4))  # the grade alone tells; it has 4 of 4.25
    assert left_out[0, 2] == pytest.approx(4.25)
    assert mixed_distances((0, 0, 0), (0, 0, 1), weights=(1.0, 1.0, 4.0))[0, 1] == 2  # of another level too
    made = fit_coordinates(MIXED, np.ones(5), 2.0, "range", leaves_out=False)
    once, twice = made.weighted(np.array([2.0, 3.0, 5.0])), made.weighted(np.array([7.0, 4.0, 1.0]))
    twice = twice.weighted(np.array([2.0, 3.0, 5.0]))  # in place of those before
    np.testing.assert_allclose(twice.metric.span, once.metric.span)
    np.testing.assert_allclose(once.metric.span**2, [2, 3, 5])


def test_a_gap_has_its_share_of_the_distance():
    """Of a gap, counted as the range, and half a range in the ranks: 1 and 1/4 of squares that add up to 5/4."""
    made = fit_coordinates(MIXED, np.ones(5), 2.0, "range", leaves_out=False)
    points = made.of(Table(MIXED.columns, np.array([[0.0, 0, 0], [MISSING, 1, 0], [0, 0, MISSING]])))
    np.testing.assert_allclose(made.metric.shares(points[0], points[1:]), [[4 / 5, 1 / 5, 0], [0, 0, 1]])
    left_out = fit_coordinates(MIXED, np.ones(5), 2.0, "range", leaves_out=True).metric
    np.testing.assert_allclose(left_out.shares(points[0], points[1:]), [[0, 1, 0], [0, 0, 0]])


@settings(max_examples=60, deadline=None)
@given(a=gappy, b=gappy)
def test_gower_is_symmetric_and_of_a_row_itself_0_where_anything_is_known(a, b):
    found = mixed_distances(a, b, p=1.0, leaves_out=True)
    np.testing.assert_array_equal(found, found.T)
    assert ((found >= 0) & (found <= 3 * (1 + 1e-12))).all()
    assert found[0, 0] == (3 if np.isnan(a).all() else 0)


def test_where_the_triangle_inequality_fails():
    gap = MISSING
    gower = mixed_distances((0, 0, 0), (gap, 0, 0), (4, 0, 0), p=1.0, leaves_out=True)
    assert not keeps_the_triangle(gower)
    assert (gower[0, 1], gower[1, 2], gower[0, 2]) == (0, 0, 1)  # by a row that does not know where they differ
    heom = mixed_distances((-8, 0, 0), (gap, 0, 0), (12, 0, 0), p=1.0)
    assert (heom[0, 1], heom[1, 2], heom[0, 2]) == (1, 1, 5)  # beyond twice the range a gap is nearer to both
    least = Metric(-np.inf, np.zeros(2, bool), np.ones(2), np.ones(2))
    corners = np.array([[0.0, 0.0], [0.0, 5.0], [5.0, 5.0]])
    assert least.powers(corners[[0, 1, 0]], corners[[1, 2, 2]]).tolist() == [0, 0, 5]


def test_shares_of_columns_sum_to_one():
    metric = Metric(2.0, np.zeros(2, bool), np.ones(2), np.ones(2))
    found = metric.shares(np.zeros(2), np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_allclose(found, [[9 / 25, 16 / 25], [0, 0], [1, 0]])
    widest = Metric(np.inf, np.zeros(2, bool), np.ones(2), np.ones(2))
    np.testing.assert_array_equal(widest.shares(np.zeros(2), np.array([[3.0, 4.0], [2, 2]])), [[0, 1], [0.5, 0.5]])


def smallest(table, **options):
    made = fit_coordinates(table, np.ones(table.n_rows), -np.inf, "none", **{"leaves_out": False, **options})
    points = made.of(table)
    return made.metric.powers(points[:, None], points[None])


def test_the_smallest_difference_is_numpys_over_columns_that_tell_rows_apart():
    constant = np.column_stack([NUMBERS, np.ones(len(NUMBERS))])
    expected = np.abs(NUMBERS[:, None] - NUMBERS[None]).min(axis=2)
    np.testing.assert_array_equal(smallest(Table.from_array(constant)), expected)
    np.testing.assert_array_equal(smallest(Table.from_array(np.ones((3, 2)))), np.zeros((3, 3)))


def test_the_smallest_difference_of_mixed_and_missing_cells():
    far, left_out = smallest(MIXED), smallest(MIXED, leaves_out=True)
    assert far[0, 1] == 1  # of 4, 2 ranks and another colour
    assert far[0, 2] == 0  # the same colour
    assert far[2, 3] == 1  # nothing in common: the least of the spans 4, 2 and 1
    assert far[1, 3] == 1  # what is missing counts as the span
    assert left_out[1, 3] == 2  # the number alone is known in both
    assert left_out[2, 3] == 1


def test_shares_of_the_smallest_difference_lie_in_its_column():
    metric = Metric(-np.inf, np.zeros(3, bool), np.array([1.0, 1.0, 0.0]), np.ones(3))
    found = metric.shares(np.zeros(3), np.array([[3.0, 4.0, 0.0], [2.0, 2.0, 0.0], [0.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(found, [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 0]])
