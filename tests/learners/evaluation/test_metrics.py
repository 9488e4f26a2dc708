"""Metrics equal scikit-learn's on random weighted data, and are None where they are 0/0."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sklearn.metrics as peer
from hypothesis import example, given
from hypothesis import strategies as st

from learners.checks.require import require_json
from learners.evaluation import metrics


def classes(seed, k, n=60):
    generator = np.random.default_rng(seed)
    actual = np.concatenate([np.arange(k), generator.integers(0, k, n - k)])
    probabilities = generator.dirichlet(np.ones(k), n)
    probabilities = np.round(probabilities, 1)  # ties, zeros and ones
    probabilities[:, 0] += 1 - probabilities.sum(axis=1)
    probabilities = np.clip(probabilities, 0, None)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return actual, probabilities, generator.integers(1, 5, n).astype(float)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_classification_metrics_equal_scikit_learns(k, seed, weighted):
    actual, probabilities, weights = classes(seed, k)
    weights = weights if weighted else None
    predicted = probabilities.argmax(axis=1)
    found = metrics.classification_metrics(actual, probabilities, predicted, weights)
    options = {"sample_weight": weights}
    labels = list(range(k))
    expected = {
        "accuracy": peer.accuracy_score(actual, predicted, **options),
        "error": peer.zero_one_loss(actual, predicted, **options),
        "balanced_accuracy": peer.balanced_accuracy_score(actual, predicted, **options),
        "macro_f1": peer.f1_score(actual, predicted, average="macro", **options),
        "kappa": peer.cohen_kappa_score(actual, predicted, **options),
        "log_loss": peer.log_loss(actual, probabilities, labels=labels, **options),
        "brier_score": peer.brier_score_loss(
            actual, probabilities[:, 1] if k == 2 else probabilities, scale_by_half=False, labels=labels, **options
        ),
        "roc_auc": peer.roc_auc_score(
            actual, probabilities[:, 1] if k == 2 else probabilities, multi_class="ovr", **options
        ),
    }
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_confusion_matrix_and_its_classes_equal_scikit_learns(weighted):
    actual, probabilities, weights = classes(1, 4)
    weights = weights if weighted else None
    predicted = probabilities.argmax(axis=1)
    confusion = metrics.confusion_matrix(actual, predicted, 4, weights)
    assert np.array_equal(confusion, peer.confusion_matrix(actual, predicted, sample_weight=weights))
    precision, recall, f1, _ = peer.precision_recall_fscore_support(actual, predicted, sample_weight=weights)
    rows = metrics.per_class(confusion)
    assert [row["precision"] for row in rows] == pytest.approx(precision)
    assert [row["recall"] for row in rows] == pytest.approx(recall)
    assert [row["f1"] for row in rows] == pytest.approx(f1)
    assert [row["support"] for row in rows] == pytest.approx(confusion.sum(axis=1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_regression_metrics_equal_scikit_learns(seed, weighted):
    generator = np.random.default_rng(seed)
    actual, predicted = generator.normal(size=50), generator.normal(size=50)
    weights = generator.integers(0, 4, 50).astype(float) if weighted else None
    found = metrics.regression_metrics(actual, predicted, weights)
    centre = np.full(50, np.average(actual, weights=weights))
    options = {"sample_weight": weights}
    expected = {
        "mean_absolute_error": peer.mean_absolute_error(actual, predicted, **options),
        "mean_squared_error": peer.mean_squared_error(actual, predicted, **options),
        "root_mean_squared_error": peer.root_mean_squared_error(actual, predicted, **options),
        "r2": peer.r2_score(actual, predicted, **options),
        "relative_absolute_error": peer.mean_absolute_error(actual, predicted, **options)
        / peer.mean_absolute_error(actual, centre, **options),
    }
    assert found == pytest.approx(expected, rel=1e-12)


def test_relative_absolute_error_is_measured_from_the_given_centre():
    # errors 1 and 1; always answering 0 errs by 2 and 4
    actual, predicted = np.array([2.0, 4.0]), np.array([1.0, 5.0])
    assert metrics.relative_absolute_error(actual, predicted, centre=0.0) == pytest.approx(1 / 3)


def test_a_row_that_was_given_probability_0_costs_the_stated_most():
    loss = metrics.log_loss(np.array([0]), np.array([[0.0, 1.0]]))
    assert loss == pytest.approx(52 * math.log(2))  # eps is 2^-52


def test_published_kappa():
    # Cohen's (1960) example table: agreement .70, chance .41
    table = np.array([[88, 14, 18], [10, 40, 10], [2, 6, 12]], dtype=float)
    assert metrics.kappa(table) == pytest.approx((0.70 - 0.41) / (1 - 0.41), abs=1e-9)


def test_what_is_undefined_is_none():
    single = metrics.classification_metrics(np.zeros(3, int), np.array([[1.0, 0.0]] * 3), np.zeros(3, int))
    assert single["roc_auc"] is None
    assert single["kappa"] is None
    assert single["accuracy"] == 1
    rows = metrics.per_class(metrics.confusion_matrix(np.array([0, 0]), np.array([0, 0]), 2))
    assert rows[1] == {"precision": None, "recall": None, "f1": None, "support": 0.0}
    constant = metrics.regression_metrics(np.ones(3), np.zeros(3))
    assert constant["r2"] is None
    assert constant["relative_absolute_error"] is None
    assert constant["mean_absolute_error"] == 1


def test_numbers_that_are_equal_but_for_rows_without_weight_leave_nothing_to_explain():
    """Whatever rounding makes of their mean."""
    for n in range(2, 40):
        actual, weights = np.append(np.full(n, 0.1), 5.0), np.append(np.ones(n), 0.0)
        assert metrics.r2(actual, np.zeros(n + 1), weights) is None
        assert metrics.relative_absolute_error(actual, np.zeros(n + 1), weights) is None


@pytest.mark.parametrize("huge", [1e30, 1e200, 1e308])
def test_rows_without_weight_are_as_if_they_were_not_there_however_large(huge):
    actual, predicted, weights = np.array([1.0, 2, 4, 1]), np.array([0.0, 2, 3, 2]), np.array([1.0, 2, 3, 0])
    expected = metrics.regression_metrics(actual[:3], predicted[:3], weights[:3])
    assert expected["mean_squared_error"] == pytest.approx((1 + 0 + 3) / 6)
    for cell, answer in ((huge, 0.0), (0.0, huge), (-huge, huge)):
        actual[3], predicted[3] = cell, answer
        assert metrics.regression_metrics(actual, predicted, weights) == pytest.approx(expected, rel=1e-15)


def test_a_class_without_rows_is_left_out_of_the_mean_area():
    actual, probabilities, _ = classes(0, 3)
    padded = np.column_stack([probabilities, np.zeros(len(actual))])
    assert metrics.roc_auc(actual, padded) == pytest.approx(metrics.roc_auc(actual, probabilities))


def test_no_weight_at_all_defines_nothing():
    none = np.zeros(2)
    found = metrics.classification_metrics(np.array([0, 1]), np.full((2, 2), 0.5), np.array([0, 1]), none)
    assert set(found.values()) == {None}
    assert set(metrics.regression_metrics(np.arange(2.0), np.arange(2.0), none).values()) == {None, 0.0} - {0.0}


LARGEST = np.finfo(np.float64).max
numbers = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("value", [0.1, LARGEST])
def test_the_mean_of_equal_numbers_is_that_number(value):
    """To the last digit, though shares of rows add up to a little more or less than 1."""
    for n in range(1, 60):
        for weights in (None, np.arange(1.0, n + 1)):
            assert metrics.mean_absolute_error(np.zeros(n), np.full(n, value), weights) == value
            assert metrics.root_mean_squared_error(np.zeros(n), np.full(n, value), weights) == value


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
@example([(LARGEST, LARGEST)] * 5)
@example([(-LARGEST, LARGEST)] * 9)
def test_regression_metrics_of_any_doubles_are_json(pairs):
    actual, predicted = np.array(pairs).T
    require_json(metrics.regression_metrics(actual, predicted), "metrics")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 3)), min_size=1, max_size=20))
def test_the_area_is_the_share_of_pairs_in_the_right_order(rows):
    actual = np.array([row[0] for row in rows])
    score = np.array([row[1] / 20 for row in rows])
    weights = np.array([row[2] for row in rows], dtype=float)
    found = metrics.roc_auc(actual == 1, np.column_stack([1 - score, score]), weights)
    positive = actual == 1
    pairs = np.outer(weights[positive], weights[~positive])
    order = np.sign(score[positive][:, None] - score[~positive][None, :])
    total = pairs.sum()
    if total == 0:
        assert found is None
    else:
        assert found == pytest.approx((pairs * (order + 1) / 2).sum() / total)


def test_every_metric_has_a_meaning():
    actual, probabilities, _ = classes(0, 2)
    names = {*metrics.classification_metrics(actual, probabilities, actual, utility=np.eye(2))}
    names |= {*metrics.regression_metrics(np.arange(3.0), np.arange(3.0))}
    assert names == set(metrics.MEANINGS)
    assert set(metrics.BOUNDS) == names >= metrics.GREATER_IS_BETTER


def test_utility_is_what_the_decisions_were_worth():
    # good taken for bad costs 1, bad for good 5; one good row is taken for bad, two bad rows for good
    confusion = np.array([[3.0, 1.0], [2.0, 0.0]])
    utility = np.array([[0.0, -5.0], [-1.0, 0.0]])
    assert metrics.mean_utility(confusion, utility) == pytest.approx(-11 / 6)
    assert metrics.mean_utility(confusion, np.eye(2)) == metrics.accuracy(confusion)
    assert metrics.mean_utility(np.zeros((2, 2)), utility) is None
