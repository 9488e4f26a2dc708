"""Intervals over rows: scipy's of the rows' own losses, of every metric that is a mean over rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.stats

from learners.checks.require import require_json
from learners.evaluation.intervals import wilson
from learners.evaluation.metrics import BY_TASK, classification_metrics, regression_metrics
from learners.evaluation.over_rows import of_classes, of_numbers
from learners.evaluation.results import FoldResult
from learners.evaluation.summary import combine
from learners.table import Column, Kind


def students(values):
    return scipy.stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=scipy.stats.sem(values))


def test_every_mean_over_rows_of_a_classifier_has_students_interval():
    random = np.random.default_rng(1)
    probabilities = random.dirichlet([1, 1, 1], 50)
    actual, predicted = random.integers(0, 3, 50), probabilities.argmax(axis=1)
    utility = random.normal(size=(3, 3))
    found = of_classes(actual, probabilities, predicted, utility)
    losses = {
        "log_loss": [-np.log(row[code]) for row, code in zip(probabilities, actual, strict=True)],
        "brier_score": [((row - np.eye(3)[code]) ** 2).sum() for row, code in zip(probabilities, actual, strict=True)],
        "mean_utility": [utility[answer, code] for answer, code in zip(predicted, actual, strict=True)],
    }
    metrics = classification_metrics(actual, probabilities, predicted, None, utility)
    assert set(found) == set(losses)
    for name, values in losses.items():
        assert metrics[name] == pytest.approx(np.mean(values))
        assert (found[name]["low"], found[name]["high"]) == pytest.approx(students(values))
        assert found[name]["method"] == "student-t"


def test_every_mean_over_rows_of_a_regressor_has_students_interval():
    random = np.random.default_rng(2)
    actual = random.normal(size=30)
    predicted = actual + random.normal(size=30)
    found = of_numbers(actual, predicted)
    low, high = students((actual - predicted) ** 2)
    assert [found["mean_squared_error"][end] for end in ("low", "high")] == pytest.approx([low, high])
    assert [found["root_mean_squared_error"][end] for end in ("low", "high")] == pytest.approx(np.sqrt([low, high]))
    bounds = students(np.abs(actual - predicted))
    assert [found["mean_absolute_error"][end] for end in ("low", "high")] == pytest.approx(bounds)


def test_intervals_of_losses_end_where_the_losses_do():
    """One row is sure and right, one sure and wrong; of two rows Student's interval goes far beyond either."""
    found = of_classes(np.array([0, 0]), np.eye(2), np.array([0, 1]))
    assert (found["brier_score"]["low"], found["brier_score"]["high"]) == (0, 2)
    losses = [0.0, -np.log(np.finfo(float).eps)]  # the most that a row costs
    low, high = students(losses)
    assert low < 0
    assert (found["log_loss"]["low"], found["log_loss"]["high"]) == (0, pytest.approx(high))


def test_huge_errors_and_single_rows_have_none_where_none_is_known():
    found = of_numbers(np.array([1e200, -1e200, 0.0]), np.zeros(3))
    assert found["mean_squared_error"] is None
    assert found["mean_absolute_error"]["low"] == 0  # where the metric ends
    require_json(found, "metrics")
    assert set(of_numbers(np.ones(1), np.zeros(1)).values()) == {None}


def test_the_summary_of_one_part_tells_them_beside_wilsons():
    """All metrics but those that are no mean over rows, so that the guide's list is whole."""
    random = np.random.default_rng(3)
    probabilities = random.dirichlet([1, 1], 40)
    actual, predicted = random.integers(0, 2, 40), probabilities.argmax(axis=1)
    confusion = [[int(((actual == i) & (predicted == j)).sum()) for j in range(2)] for i in range(2)]
    judged = {
        "metrics": classification_metrics(actual, probabilities, predicted, None, np.eye(2)),
        "intervals": of_classes(actual, probabilities, predicted, np.eye(2)),
        "confusion": confusion,
    }
    target = Column("c", Kind.NOMINAL, ("a", "b"), "text")
    kept = FoldResult.from_json(json.loads(json.dumps(FoldResult(1, 1, 40, 40.0, 40.0, **judged).to_json())))
    metrics = combine([kept], target)["metrics"]
    without = {name for name in BY_TASK["classification"] if metrics[name]["interval"] is None}
    assert without == {"balanced_accuracy", "macro_f1", "kappa", "roc_auc"}
    right = wilson(confusion[0][0] + confusion[1][1], 40)
    assert (metrics["error"]["interval"]["low"], metrics["error"]["interval"]["high"]) == pytest.approx(
        (1 - right.high, 1 - right.low)
    )
    numbers = random.normal(size=(2, 40))
    judged = {"metrics": regression_metrics(*numbers), "intervals": of_numbers(*numbers)}
    metrics = combine([FoldResult(1, 1, 40, 40.0, 40.0, **judged)], Column("n"))["metrics"]
    assert {name for name in metrics if metrics[name]["interval"] is None} == {"r2", "relative_absolute_error"}
