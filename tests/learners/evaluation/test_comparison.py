"""Paired comparisons, checked against scipy and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from learners.checks.require import require_json
from learners.errors import DataError
from learners.evaluation import Plan, RowResults, cross_validate
from learners.evaluation.comparison import compare_folds, compare_rows, corrected_t, mcnemar, paired_t
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
    require_json(corrected.to_json(), "metrics")


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
    with pytest.raises(DataError, match="other folds"):
        compare_folds(one, cross_validate(Mean(), table, target, 5).results, "r2")
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
    with pytest.raises(DataError, match="other rows"):
        compare_rows(first, RowResults(rows + 1, actual, actual, shares))
