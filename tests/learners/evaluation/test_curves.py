"""ROC and precision-recall curves and calibration equal scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as peer
from sklearn.calibration import calibration_curve

from learners.checks.require import require_json
from learners.evaluation.calibration import BINS, calibration_json, expected_calibration_error, reliability
from learners.evaluation.curves import curves_json, precision_recall_curve, roc_curve
from learners.evaluation.metrics import roc_auc


def rows(seed: int, weighted: bool):
    generator = np.random.default_rng(seed)
    positive = generator.random(80) < 0.4
    score = np.round(np.clip(generator.normal(positive * 0.3 + 0.35, 0.25), 0, 1), 2)  # with ties
    return positive, score, generator.integers(0, 4, 80).astype(float) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_roc_curve_is_scikit_learns(seed, weighted):
    positive, score, weights = rows(seed, weighted)
    found = roc_curve(positive, score, weights)
    x, y, thresholds = peer.roc_curve(positive, score, sample_weight=weights, drop_intermediate=False)
    assert found.x == pytest.approx(x)
    assert found.y == pytest.approx(y)
    assert np.array_equal(found.thresholds, thresholds)
    assert found.area == pytest.approx(peer.roc_auc_score(positive, score, sample_weight=weights))
    assert found.area == pytest.approx(roc_auc(positive.astype(int), np.column_stack([1 - score, score]), weights))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_precision_recall_curve_is_scikit_learns(seed, weighted):
    positive, score, weights = rows(seed, weighted)
    found = precision_recall_curve(positive, score, weights)
    precision, recall, thresholds = peer.precision_recall_curve(positive, score, sample_weight=weights)
    assert found.x[::-1] == pytest.approx(recall)
    assert found.y[::-1] == pytest.approx(precision)
    assert found.thresholds[1:][::-1] == pytest.approx(thresholds)
    assert found.area == pytest.approx(peer.average_precision_score(positive, score, sample_weight=weights))


def test_curves_as_json_are_thinned_and_keep_their_ends():
    generator = np.random.default_rng(0)
    actual = np.arange(5000) % 2
    shares = generator.random(5000)
    (found,) = curves_json(actual, np.column_stack([1 - shares, shares]), ("no", "yes"))
    require_json(found, "metrics")
    assert found["label"] == "yes"
    points = found["roc"]["points"]
    assert len(points) == 200
    assert points[0] == {"false_positive_rate": 0.0, "true_positive_rate": 0.0, "threshold": None}
    assert (points[-1]["false_positive_rate"], points[-1]["true_positive_rate"]) == (1.0, 1.0)
    assert len(curves_json(np.array([0, 1, 2]), np.eye(3), ("a", "b", "c"))) == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_each_class_has_the_curves_of_its_own_score_against_the_rest(weighted):
    generator = np.random.default_rng(7)
    shares, actual = generator.dirichlet(np.ones(3), 60), generator.integers(0, 3, 60)
    weights = generator.integers(1, 4, 60).astype(float) if weighted else None
    found = curves_json(actual, shares, ("a", "b", "c"), weights)
    for code, record in enumerate(found):
        assert record["label"] == "abc"[code]
        judged = {"y_true": actual == code, "y_score": shares[:, code], "sample_weight": weights}
        assert record["roc"]["area"] == pytest.approx(peer.roc_auc_score(**judged))
        assert record["precision_recall"]["area"] == pytest.approx(peer.average_precision_score(**judged))
        x, y, thresholds = peer.roc_curve(**judged, drop_intermediate=False)
        told = record["roc"]["points"]
        assert [one["false_positive_rate"] for one in told] == pytest.approx(x)
        assert [one["true_positive_rate"] for one in told] == pytest.approx(y)
        assert [one["threshold"] for one in told[1:]] == thresholds[1:].tolist()


def test_a_class_without_rows_has_no_curve():
    (found,) = curves_json(np.zeros(3, int), np.full((3, 2), 0.5), ("no", "yes"))
    assert found["roc"] == found["precision_recall"] == {"area": None, "points": []}
    (found,) = curves_json(np.ones(3, int), np.full((3, 2), 0.5), ("no", "yes"))
    assert found["roc"] == {"area": None, "points": []}
    assert found["precision_recall"]["area"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_reliability_is_scikit_learns_calibration_curve(seed):
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.ones(3), 300)
    actual, predicted = generator.integers(0, 3, 300), np.argmax(shares, axis=1)
    record = calibration_json(reliability(actual, shares, predicted))
    right, mean = calibration_curve(predicted == actual, shares.max(axis=1), n_bins=BINS)
    known = [one for one in record["bins"] if one["weight"]]
    assert [(one["from"], one["to"]) for one in record["bins"]] == [(k / 10, (k + 1) / 10) for k in range(10)]
    assert sum(one["weight"] for one in known) == 300
    assert [one["accuracy"] for one in known] == pytest.approx(right)
    assert [one["confidence"] for one in known] == pytest.approx(mean)
    expected = sum(one["weight"] * abs(one["accuracy"] - one["confidence"]) for one in known) / 300
    assert record["expected_calibration_error"] == pytest.approx(expected)
    assert record["maximum_calibration_error"] == pytest.approx(np.abs(right - mean).max())


def test_a_confidence_on_a_border_belongs_to_the_bin_below():
    shares = np.array([[0.5, 0.5], [0.0, 1.0], [0.7, 0.3], [0.75, 0.25]])
    found = reliability(np.zeros(4, int), shares, np.array([0, 1, 0, 0]), bins=4)
    assert found[:, 0].tolist() == [0, 1, 2, 1]
    none = reliability(np.array([1]), np.array([[0.0, 1.0]]), np.array([0]), bins=4)  # decided for by its worth alone
    assert none.tolist() == [[1, 0, 0], *[[0, 0, 0]] * 3]
    right, mean = calibration_curve([True, False, True, True], shares.max(axis=1), n_bins=4)
    assert (found[1:, 1] / found[1:, 0]).tolist() == pytest.approx(mean)
    assert (found[1:, 2] / found[1:, 0]).tolist() == pytest.approx(right)


def test_sums_of_parts_are_those_of_the_whole_by_weight():
    generator = np.random.default_rng(1)
    shares, actual = generator.dirichlet(np.ones(2), 60), generator.integers(0, 2, 60)
    weights = generator.integers(0, 3, 60).astype(float)
    predicted = np.argmax(shares, axis=1)
    parts = [reliability(actual[p], shares[p], predicted[p], weights[p]) for p in (slice(0, 20), slice(20, 60))]
    assert sum(parts) == pytest.approx(reliability(actual, shares, predicted, weights))
    repeated = np.repeat(np.arange(60), weights.astype(int))
    assert sum(parts) == pytest.approx(reliability(actual[repeated], shares[repeated], predicted[repeated]))
    assert expected_calibration_error(np.zeros((10, 3))) is None
