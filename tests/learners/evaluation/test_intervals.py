"""Intervals against closed forms and published tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from learners.checks.require import require_json
from learners.errors import ParameterError
from learners.evaluation.intervals import effective_rows, of_rows, over_folds, wilson
from learners.evaluation.metrics import (
    BOUNDS,
    GREATER_IS_BETTER,
    MEANINGS,
    classification_metrics,
    regression_metrics,
)


def test_wilson_is_newcombes_published_interval():
    # Newcombe (1998), table I, method 3: 81/263 -> 0.2553 to 0.3662; 15/148 -> 0.0624 to 0.1605; 0/20 -> 0 to 0.1611
    for successes, trials, low, high in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)]:
        found = wilson(successes, trials)
        assert (round(found.low, 4), round(found.high, 4)) == (low, high)
        assert found.method == "wilson"


@given(st.integers(0, 50), st.integers(1, 50), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_equals_scipys(successes, more, level):
    trials = successes + more
    peer = scipy.stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    found = wilson(successes, trials, level)
    assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=1e-12)


@given(st.floats(0, 1), st.floats(0.5, 1e6))
def test_wilson_holds_its_share_and_stays_within_0_and_1(share, trials):
    found = wilson(share * trials, trials)
    assert 0 <= found.low <= share + 1e-12
    assert share - 1e-12 <= found.high <= 1


def test_student_over_folds_by_hand():
    # values 1, 2, 3: mean 2, deviation 1, error 1/sqrt 3; t(2 degrees, 0.975) = 4.302653 (any table)
    found = over_folds([1.0, 2.0, 3.0], test_share=0.5)
    assert (found.mean, found.standard_deviation, found.count) == (2.0, 1.0, 3)
    assert found.standard_error == pytest.approx(1 / math.sqrt(3))
    assert found.interval.high == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-6)
    assert found.interval.low == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-6)
    assert found.interval.method == "student-t"
    # Nadeau and Bengio: sqrt(1/3 + 1/2) in place of sqrt(1/3)
    assert found.corrected_standard_error == pytest.approx(math.sqrt(1 / 3 + 1 / 2))
    assert found.corrected_interval.high == pytest.approx(2 + 4.302653 * math.sqrt(5 / 6), abs=1e-6)
    assert found.corrected_interval.method == "corrected-student-t"
    # t(2 degrees, 0.9) = 1.885618
    narrow = over_folds([1.0, 2.0, 3.0], test_share=0.5, level=0.8)
    assert narrow.interval.high == pytest.approx(2 + 1.885618 / math.sqrt(3), abs=1e-6)
    assert narrow.corrected_interval.low == pytest.approx(2 - 1.885618 * math.sqrt(5 / 6), abs=1e-6)
    assert narrow.interval.level == narrow.corrected_interval.level == 0.8


def test_a_spread_needs_two_folds():
    one = over_folds([0.5], test_share=0.1)
    assert (one.mean, one.standard_deviation, one.standard_error, one.interval) == (0.5, None, None, None)
    assert one.corrected_interval is None
    assert over_folds([]).mean is None
    assert wilson(0, 0) is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=10))
def test_any_values_give_json(values):
    require_json(over_folds(values, 0.1).to_json(), "metrics")


def test_the_interval_over_rows_is_students():
    errors = np.array([0.0, 1.0, 2.0, 5.0])
    for level in (0.95, 0.8):
        found = of_rows(errors, level)
        ends = scipy.stats.t.interval(level, 3, loc=2.0, scale=scipy.stats.sem(errors))
        assert (found.low, found.high) == pytest.approx(ends)
        cut = of_rows(errors, level, (1.5, 2.5))
        assert (cut.low, cut.high) == (1.5, 2.5)
    assert of_rows(errors) == of_rows(errors, 0.95)
    assert of_rows(errors[:1]) is None
    assert of_rows(np.array([0.0, np.inf])) is None


def test_equal_weights_count_whole_and_one_heavy_row_counts_as_one():
    assert effective_rows(None, 7) == 7
    assert effective_rows(np.full(7, 3.0), 7) == pytest.approx(7)
    assert effective_rows(np.array([5.0, 0, 0]), 3) == 1
    assert effective_rows(np.zeros(3), 3) == 0


@pytest.mark.parametrize("level", [0, 1, -1, 95])
def test_a_level_out_of_range_is_refused(level):
    with pytest.raises(ParameterError, match="level must be a number > 0 and < 1"):
        over_folds([1.0, 2.0], level=level)
    with pytest.raises(ParameterError, match="level must be a number > 0 and < 1"):
        wilson(1, 2, level)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=10), st.floats(0, 1))
def test_intervals_of_shares_end_at_0_and_1(values, test_share):
    found = over_folds(values, test_share, bounds=BOUNDS["accuracy"])
    for one, free in (
        (found.interval, over_folds(values, test_share).interval),
        (found.corrected_interval, over_folds(values, test_share).corrected_interval),
    ):
        assert (one.low, one.high) == (max(free.low, 0.0), min(free.high, 1.0))


def test_every_metric_has_bounds_and_perfect_answers_reach_them_without_a_minus():
    actual = np.array([0, 1, 0, 1])
    shares = np.eye(2)[actual]
    found = classification_metrics(actual, shares, actual, utility=np.eye(2))
    found |= regression_metrics(actual * 1.0, actual * 1.0, centre=0.5)
    assert set(BOUNDS) == set(MEANINGS) == set(found)
    assert found.pop("mean_utility") == 1  # the one that is bounded by what is given
    for name, value in found.items():
        assert value in BOUNDS[name], name
        assert math.copysign(1, value) == 1, name


def test_answers_that_are_always_wrong_reach_the_other_bounds():
    """Of two classes as often each, told the other way about and surely; R^2 has no least value."""
    actual = np.array([0, 1, 0, 1])
    found = classification_metrics(actual, np.eye(2)[1 - actual], 1 - actual)
    losses = {"error": 1, "brier_score": 2, "log_loss": pytest.approx(52 * math.log(2))}
    shares = dict.fromkeys(("accuracy", "balanced_accuracy", "macro_f1", "roc_auc"), 0)
    assert found == {"kappa": -1, **losses, **shares}
    for name in set(found) - {"log_loss"}:
        assert found[name] in BOUNDS[name], name
    far = regression_metrics(np.array([0.0, 1.0]), np.array([1e6, -1e6]))
    for name, value in (far | {"log_loss": found["log_loss"]}).items():
        low, high = BOUNDS[name]
        assert low < -1e9 or high == math.inf, (name, value)
    assert BOUNDS["mean_utility"] == (-math.inf, math.inf)  # what decisions are worth is given


def test_more_is_better_of_what_perfect_answers_have_most_of():
    actual, others = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0])
    perfect, poor = (
        classification_metrics(actual, np.eye(2)[told], told, utility=np.eye(2)) for told in (actual, others)
    )
    numbers = actual * 1.0
    perfect |= regression_metrics(numbers, numbers)
    poor |= regression_metrics(numbers, others * 1.0)
    assert {name for name in perfect if perfect[name] > poor[name]} == GREATER_IS_BETTER
    assert {name for name in perfect if perfect[name] < poor[name]} == set(MEANINGS) - GREATER_IS_BETTER
