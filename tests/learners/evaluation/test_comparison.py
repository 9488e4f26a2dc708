"""Paired comparisons, checked against scipy and by hand."""

from __future__ import annotations

import dataclasses
import json
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learners.checks.require import require_json
from learners.errors import DataError
from learners.evaluation import Plan, RowResults, cross_validate
from learners.evaluation.comparison import compare_folds, compare_rows, corrected_t, holm, mcnemar, paired_t
from learners.table import Column, Series, Table
from tests.learners.examples import Mean


def test_the_paired_t_test_is_scipys():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=30), generator.normal(0.3, size=30)
    found, peer = paired_t(first, second), stats.ttest_rel(first, second)
    assert found.p_value == pytest.approx(peer.pvalue)
    interval = peer.confidence_interval()
    assert (found.interval.low, found.interval.high) == pytest.approx((interval.low, interval.high))


def test_the_corrected_test_widens_the_error_by_nadeau_and_bengios_factor():
    generator = np.random.default_rng(1)
    first, second = generator.normal(size=10), generator.normal(0.5, size=10)
    plain, corrected = paired_t(first, second), corrected_t(first, second, 1 / 9)
    assert corrected.difference == plain.difference
    assert corrected.standard_error == pytest.approx(plain.standard_error * math.sqrt(1 + 10 / 9))
    statistic = corrected.difference / corrected.standard_error
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(abs(statistic), 9))
    assert (corrected.degrees_of_freedom, corrected.test_share, plain.test_share) == (9, 1 / 9, None)
    ends = stats.t.interval(0.95, 9, corrected.difference, corrected.standard_error)
    assert (corrected.interval.low, corrected.interval.high) == pytest.approx(ends)
    require_json(corrected.to_json(), "metrics")


def test_intervals_have_the_level_that_is_asked_for():
    generator = np.random.default_rng(2)
    first, second = generator.normal(size=12), generator.normal(0.4, size=12)
    peer = stats.ttest_rel(first, second)
    rows, zeros = np.arange(12), np.zeros(12)
    compared = compare_rows(RowResults(rows, zeros, abs(first)), RowResults(rows, zeros, abs(second)), level=0.8)
    peers = [peer, stats.ttest_rel(abs(first), abs(second))]
    for found, own in zip((paired_t(first, second, 0.8).to_json(), compared["absolute_error"]), peers, strict=True):
        assert found["interval"]["level"] == 0.8
        assert (found["interval"]["low"], found["interval"]["high"]) == pytest.approx(
            tuple(own.confidence_interval(0.8))
        )
    corrected = corrected_t(first, second, 0.25, 0.8)
    ends = stats.t.interval(0.8, 11, corrected.difference, corrected.standard_error)
    assert (corrected.interval.low, corrected.interval.high) == pytest.approx(ends)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 5), (12, 3), (40, 40), (0, 8), (700, 900)])
def test_mcnemar_is_the_exact_binomial_test(first, second):
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second).p_value == pytest.approx(expected)


def test_no_difference_and_a_constant_one():
    assert paired_t([1.0, 2, 3], [1.0, 2, 3]).p_value == 1.0
    assert paired_t([1.0, 2, 3], [0.0, 1, 2]).p_value is None
    with pytest.raises(DataError, match="2 pairs"):
        paired_t([1.0], [2.0])


def test_learners_are_compared_on_the_same_folds_alone():
    target, table = Series(Column("y"), np.arange(1.0, 21.0)), Table.from_array(np.zeros((20, 1)))
    plan = Plan(folds=4, repeats=2)
    one, other = (cross_validate(Mean(shrinkage=s), table, target, plan, 3).results for s in (0.0, 0.9))
    found = compare_folds(one, other, "mean_absolute_error")
    assert (found.count, found.test) == (8, "corrected-resampled-t")
    gaps = [
        a.metrics["mean_absolute_error"] - b.metrics["mean_absolute_error"] for a, b in zip(one, other, strict=True)
    ]
    assert found == corrected_t(gaps, [0.0] * 8, 1 / 3)
    assert compare_folds(one[::-1], other, "mean_absolute_error") == found  # each with that of its number
    assert compare_folds(one, other, "mean_absolute_error", 0.5) == corrected_t(gaps, [0.0] * 8, 1 / 3, 0.5)
    with pytest.raises(DataError, match="other folds"):
        compare_folds(one, cross_validate(Mean(), table, target, 5).results, "r2")
    others = [dataclasses.replace(result, n_test=result.n_test - 1) for result in other]
    with pytest.raises(DataError, match="other folds"):
        compare_folds(one, others, "r2")
    with pytest.raises(DataError, match="undefined"):
        compare_folds(one, other, "accuracy")


def test_models_are_compared_on_the_same_rows_alone():
    rows, actual, shares = np.arange(6), np.array([0.0, 0, 1, 1, 1, 0]), np.full((6, 2), 0.5)
    first = RowResults(rows, actual, np.array([0.0, 0, 1, 1, 1, 1]), shares)
    second = RowResults(rows, actual, np.array([0.0, 1, 0, 1, 0, 0]), shares)
    found = compare_rows(first, second)
    assert found["mcnemar"] == {"only_first_right": 3, "only_second_right": 1, "p_value": 0.625}
    assert found["error"]["difference"] == pytest.approx(1 / 6 - 3 / 6)
    numbers = compare_rows(RowResults(rows, actual, actual + 1), RowResults(rows, actual, actual - np.arange(6)))
    assert numbers["absolute_error"]["difference"] == pytest.approx(1 - 2.5)
    assert numbers["squared_error"]["difference"] == pytest.approx(1 - (0 + 1 + 4 + 9 + 16 + 25) / 6)
    for name, power in (("absolute_error", 1), ("squared_error", 2)):
        peer = stats.ttest_rel(np.ones(6), np.arange(6.0) ** power)
        assert numbers[name]["p_value"] == pytest.approx(peer.pvalue)
    with pytest.raises(DataError, match="other rows"):
        compare_rows(first, RowResults(rows + 1, actual, actual, shares))
    with pytest.raises(DataError, match="other rows"):
        compare_rows(first, RowResults(rows, 1 - actual, actual, shares))


def test_every_loss_of_a_row_is_compared():
    generator = np.random.default_rng(4)
    actual = generator.integers(0, 3, 40)
    utility = np.array([[1.0, 0, -2], [0, 2, 0], [-4, 0, 3]])  # decided down, true across
    answers = []
    for _ in range(2):
        shares = generator.dirichlet(np.ones(3), 40)
        answers.append(RowResults(np.arange(40), actual.astype(float), shares.argmax(axis=1).astype(float), shares))
    truth = np.eye(3)[actual]
    losses = {
        "error": [one.predicted != actual for one in answers],
        "log_loss": [-np.log((one.probabilities * truth).sum(axis=1)) for one in answers],
        "brier_score": [((one.probabilities - truth) ** 2).sum(axis=1) for one in answers],
        "mean_utility": [[utility[int(d), t] for d, t in zip(one.predicted, actual, strict=True)] for one in answers],
    }
    found = compare_rows(*answers, utility)
    assert set(found) == {"mcnemar", *losses}
    for name, pair in losses.items():
        peer = stats.ttest_rel(*(np.asarray(one, dtype=float) for one in pair))
        assert found[name]["p_value"] == pytest.approx(peer.pvalue), name
        interval = peer.confidence_interval()
        assert (found[name]["interval"]["low"], found[name]["interval"]["high"]) == pytest.approx(tuple(interval))
        assert (found[name]["count"], found[name]["degrees_of_freedom"]) == (40, 39)
    assert "mean_utility" not in compare_rows(*answers)


def test_of_one_row_there_is_a_difference_and_no_test():
    rows, actual = np.arange(1), np.array([2.0])
    found = compare_rows(RowResults(rows, actual, np.array([5.0])), RowResults(rows, actual, np.array([1.0])))
    for name, difference in (("absolute_error", 2.0), ("squared_error", 8.0)):
        assert found[name] == {
            "difference": difference, "standard_error": None, "interval": None, "p_value": None, "count": 1,
            "test": "paired-t", "degrees_of_freedom": 0, "test_share": None,
        }  # fmt: skip
    none = RowResults(rows[:0], actual[:0], actual[:0])
    assert compare_rows(none, none) == {"absolute_error": None, "squared_error": None}


def test_losses_beyond_the_largest_number_are_not_compared():
    rows, actual = np.arange(3), np.array([1.7e308, -1.7e308, 1.0])
    far, near = RowResults(rows, actual, -actual), RowResults(rows, actual, actual)
    assert compare_rows(near, far)["squared_error"] is compare_rows(far, near)["squared_error"] is None
    found = compare_rows(far, RowResults(rows, actual, np.zeros(3)))
    assert found["squared_error"] is None
    assert found["absolute_error"]["difference"] > 0
    json.dumps(found, allow_nan=False)
    wide = paired_t([1.7e308, 0.0, 0.0], [0.0, 1.7e308, 0.0])
    assert (wide.difference, wide.p_value, wide.interval) == (0.0, 1.0, None)
    large, small = paired_t([3e200, 1e200, 7e200], [1e200, 0.0, 2e200]), paired_t([3.0, 1, 7], [1.0, 0, 2])
    assert large.p_value == pytest.approx(small.p_value)
    assert large.standard_error == pytest.approx(1e200 * small.standard_error)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holms_correction_is_the_closed_test_by_bonferroni(p_values):
    """Each hypothesis is rejected if every set of hypotheses with it is, by Bonferroni (Marcus et al. 1976)."""
    places = range(len(p_values))
    sets = [chosen for size in places for chosen in combinations(places, size + 1)]
    expected = [
        max(min(1.0, len(chosen) * min(p_values[one] for one in chosen)) for chosen in sets if place in chosen)
        for place in places
    ]
    assert holm(p_values) == pytest.approx(expected)


def test_a_p_value_that_is_not_told_counts_as_nought():
    known = [0.01, 0.02, 0.03]
    assert holm([0.02, None, 0.01, 0.03]) == [0.04, None, 0.03, 0.04]
    assert holm([*known, 0.0])[:3] == pytest.approx(holm(known))
    assert holm([]) == []
