"""Measures of fit, each a function of arrays; weighted, and ``None`` where undefined (0/0), never NaN.

Classes are given as codes 0 .. K-1 in the order of the schema. A confusion matrix has the actual
class down and the predicted class across. Weights are >= 0, shape (n,); ``None`` means all 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from learners.types import Array, FloatArray

#: Probabilities are clipped to [CLIP, 1] before their logarithm: no single row costs more than 36.04.
CLIP = float(np.finfo(np.float64).eps)
_LARGEST_ROOT = math.sqrt(np.finfo(np.float64).max)


def confusion_matrix(actual: Array, predicted: Array, n_classes: int, weights: FloatArray | None = None) -> FloatArray:
    """Weight of rows by actual (down) and predicted class (across), shape (K, K)."""
    cells = np.asarray(actual, dtype=np.int64) * n_classes + np.asarray(predicted, dtype=np.int64)
    return np.bincount(cells, weights=weights, minlength=n_classes**2).astype(np.float64).reshape(n_classes, n_classes)


def accuracy(confusion: FloatArray) -> float | None:
    """Share of the weight that is predicted right."""
    return ratio(float(np.trace(confusion)), float(confusion.sum()))


def balanced_accuracy(confusion: FloatArray) -> float | None:
    """Mean recall of the classes that occur."""
    return _mean([row["recall"] for row in per_class(confusion)])


def macro_f1(confusion: FloatArray) -> float | None:
    """Mean F1 of the classes that occur or are predicted."""
    return _mean([row["f1"] for row in per_class(confusion)])


def kappa(confusion: FloatArray) -> float | None:
    """Cohen's kappa: agreement beyond that of chance with the same margins (Cohen 1960)."""
    total = float(confusion.sum())
    if total == 0:
        return None
    observed = float(np.trace(confusion)) / total
    expected = float(confusion.sum(axis=0) @ confusion.sum(axis=1)) / total**2
    return ratio(observed - expected, 1 - expected)


def per_class(confusion: FloatArray) -> list[dict[str, float | None]]:
    """Precision, recall, F1 and support (weight of the actual rows) of each class."""
    hits = np.diag(confusion)
    predicted, actual = confusion.sum(axis=0), confusion.sum(axis=1)
    return [
        {
            "precision": ratio(float(hits[code]), float(predicted[code])),
            "recall": ratio(float(hits[code]), float(actual[code])),
            "f1": ratio(2 * float(hits[code]), float(predicted[code] + actual[code])),
            "support": float(actual[code]),
        }
        for code in range(len(confusion))
    ]


def mean_utility(confusion: FloatArray, utility: FloatArray) -> float | None:
    """What a decision was worth on average.

    Args:
        confusion: shape (K, K), the actual class down.
        utility: shape (K, K), the decided class down and the true one across; see :mod:`learners.decisions`.
    """
    return ratio(float((confusion * utility.T).sum()), float(confusion.sum()))


def log_loss(actual: Array, probabilities: FloatArray, weights: FloatArray | None = None) -> float | None:
    """Mean of -ln p(actual class), probabilities clipped to [:data:`CLIP`, 1]."""
    return weighted_mean(log_losses(actual, probabilities), weights)


def log_losses(actual: Array, probabilities: FloatArray) -> FloatArray:
    """-ln p(actual class) of each row."""
    given = probabilities[np.arange(len(actual)), np.asarray(actual, dtype=np.int64)]
    losses: FloatArray = 0.0 - np.log(np.clip(given, CLIP, 1))  # of 1 it is 0.0, not -0.0
    return losses


def brier_score(actual: Array, probabilities: FloatArray, weights: FloatArray | None = None) -> float | None:
    """Mean over rows of the sum over classes of (p - [is actual])^2: 0 to 2 (Brier 1950)."""
    return weighted_mean(brier_scores(actual, probabilities), weights)


def brier_scores(actual: Array, probabilities: FloatArray) -> FloatArray:
    """Sum over classes of (p - [is actual])^2 of each row."""
    wanted = np.zeros_like(probabilities)
    wanted[np.arange(len(actual)), np.asarray(actual, dtype=np.int64)] = 1
    scores: FloatArray = ((probabilities - wanted) ** 2).sum(axis=1)
    return scores


def roc_auc(actual: Array, probabilities: FloatArray, weights: FloatArray | None = None) -> float | None:
    """Area under the ROC curve; of more than two classes the mean of each against the rest.

    Classes without rows, or without rows of another class, are left out of the mean.
    """
    n_classes = probabilities.shape[1]
    codes = np.asarray(actual)
    judged = [1] if n_classes == 2 else range(n_classes)
    return _mean([_binary_auc(codes == code, probabilities[:, code], weights) for code in judged])


def _binary_auc(positive: Array, score: FloatArray, weights: FloatArray | None) -> float | None:
    """P(score of a positive > score of a negative) + half P(equal), by weight."""
    weight = np.ones(len(score)) if weights is None else weights
    _, group = np.unique(score, return_inverse=True)
    positives = np.bincount(group, weights=weight * positive)
    negatives = np.bincount(group, weights=weight * ~positive)
    below = np.cumsum(negatives) - negatives
    wins = float(positives @ (below + negatives / 2)) if len(score) else 0.0
    return ratio(wins, float(positives.sum() * negatives.sum()))


def mean_absolute_error(actual: FloatArray, predicted: FloatArray, weights: FloatArray | None = None) -> float | None:
    """Mean of |actual - predicted|, in the target's unit."""
    return weighted_mean(absolute_errors(actual, predicted), weights)


def absolute_errors(actual: FloatArray, predicted: FloatArray) -> FloatArray:
    """|actual - predicted| of each row; at most the largest double."""
    halves = np.abs(actual / 2 - predicted / 2)  # a difference of two doubles may be twice the largest
    return np.minimum(halves, np.finfo(np.float64).max / 2) * 2


def mean_squared_error(actual: FloatArray, predicted: FloatArray, weights: FloatArray | None = None) -> float | None:
    """Mean of (actual - predicted)^2, in the square of the target's unit; ``None`` where no double holds it."""
    root = root_mean_squared_error(actual, predicted, weights)
    return None if root is None or root > _LARGEST_ROOT else root**2


def root_mean_squared_error(
    actual: FloatArray, predicted: FloatArray, weights: FloatArray | None = None
) -> float | None:
    """Square root of the mean of (actual - predicted)^2, in the target's unit."""
    errors = _weighed(absolute_errors(actual, predicted), weights)
    largest = float(errors.max(initial=0.0))
    if largest == 0:
        return weighted_mean(errors, weights)
    mean = weighted_mean((errors / largest) ** 2, weights)  # relative to the largest: squares stay in range
    return None if mean is None else finite(largest * math.sqrt(mean))


def r2(actual: FloatArray, predicted: FloatArray, weights: FloatArray | None = None) -> float | None:
    """1 - (squared error) / (squared error of the mean); ``None`` where the actual values are all equal."""
    actual, predicted = _weighed(actual, weights), _weighed(predicted, weights)
    scale = float(max(np.abs(actual).max(initial=0.0), np.abs(predicted).max(initial=0.0)))
    if scale == 0:
        return None
    wanted, given = actual / scale, predicted / scale
    mean = weighted_mean(wanted, weights)
    if mean is None or not _varies(actual, weights):
        return None
    weight = np.ones(len(wanted)) if weights is None else weights
    residual = float(weight @ (wanted - given) ** 2)
    share = ratio(residual, float(weight @ (wanted - mean) ** 2))
    return None if share is None else 1 - share


def relative_absolute_error(
    actual: FloatArray, predicted: FloatArray, weights: FloatArray | None = None, centre: float | None = None
) -> float | None:
    """Absolute error as a share of that of always answering ``centre``.

    Args:
        centre: the mean of the training rows; by default that of the actual values.
    """
    middle = weighted_mean(actual, weights) if centre is None else centre
    if middle is None or (centre is None and not _varies(actual, weights)):
        return None
    own = mean_absolute_error(actual, predicted, weights)
    base = mean_absolute_error(actual, np.full(len(actual), middle), weights)
    return None if own is None or base is None else ratio(own, base)


def classification_metrics(
    actual: Array,
    probabilities: FloatArray,
    predicted: Array,
    weights: FloatArray | None = None,
    utility: FloatArray | None = None,
) -> dict[str, float | None]:
    """The scalar metrics of a classifier by name; JSON values. ``mean_utility`` is among them where it is given.

    Args:
        actual, predicted: class codes, shape (n,).
        probabilities: shape (n, K), columns in schema order.
    """
    confusion = confusion_matrix(actual, predicted, probabilities.shape[1], weights)
    right = accuracy(confusion)
    worth = {} if utility is None else {"mean_utility": mean_utility(confusion, utility)}
    return worth | {
        "accuracy": right,
        "error": None if right is None else 1 - right,
        "balanced_accuracy": balanced_accuracy(confusion),
        "macro_f1": macro_f1(confusion),
        "kappa": kappa(confusion),
        "log_loss": log_loss(actual, probabilities, weights),
        "brier_score": brier_score(actual, probabilities, weights),
        "roc_auc": roc_auc(actual, probabilities, weights),
    }


def regression_metrics(
    actual: FloatArray, predicted: FloatArray, weights: FloatArray | None = None, centre: float | None = None
) -> dict[str, float | None]:
    """The scalar metrics of a regressor by name; JSON values. ``centre``: see relative_absolute_error."""
    return {
        "mean_absolute_error": mean_absolute_error(actual, predicted, weights),
        "mean_squared_error": mean_squared_error(actual, predicted, weights),
        "root_mean_squared_error": root_mean_squared_error(actual, predicted, weights),
        "r2": r2(actual, predicted, weights),
        "relative_absolute_error": relative_absolute_error(actual, predicted, weights, centre),
    }


#: The least and the greatest value that each metric can have; its intervals end there.
BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("accuracy", "error", "balanced_accuracy", "macro_f1", "roc_auc"), (0.0, 1.0)),
    "kappa": (-1.0, 1.0),
    "mean_utility": (-math.inf, math.inf),
    "brier_score": (0.0, 2.0),
    "r2": (-math.inf, 1.0),
    **dict.fromkeys(
        ("log_loss", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "relative_absolute_error"),
        (0.0, math.inf),
    ),
}

#: Metrics by task; ``mean_utility`` only where utilities are given.
BY_TASK: dict[str, tuple[str, ...]] = {
    "classification": (
        "error",
        "accuracy",
        "balanced_accuracy",
        "macro_f1",
        "kappa",
        "log_loss",
        "brier_score",
        "roc_auc",
        "mean_utility",
    ),
    "regression": (
        "mean_squared_error",
        "mean_absolute_error",
        "root_mean_squared_error",
        "r2",
        "relative_absolute_error",
    ),
}

#: The metrics of which more is better; of all others less is.
GREATER_IS_BETTER = frozenset(("accuracy", "balanced_accuracy", "macro_f1", "kappa", "mean_utility", "roc_auc", "r2"))

#: What each metric means, for catalogues and reports.
MEANINGS: dict[str, str] = {
    "accuracy": "share of the rows whose class is predicted right",
    "error": "share of the rows whose class is predicted wrong",
    "balanced_accuracy": "mean recall of the classes that occur",
    "macro_f1": "mean F1 of the classes that occur or are predicted",
    "kappa": "agreement beyond chance (Cohen)",
    "mean_utility": "mean of what each decision is worth, by a matrix of utilities",
    "log_loss": f"mean of -ln of the probability given to the actual class, clipped at {CLIP:.3g}",
    "brier_score": "mean squared distance of the probabilities from the truth, summed over classes (0 to 2)",
    "roc_auc": "area under the ROC curve; of more than two classes the mean of each against the rest",
    "mean_absolute_error": "mean distance of the answer from the actual value",
    "mean_squared_error": "mean squared distance of the answer from the actual value",
    "root_mean_squared_error": "square root of the mean squared distance from the actual value",
    "r2": "share of the variance that is explained",
    "relative_absolute_error": "absolute error as a share of that of always answering the training mean",
}


def ratio(numerator: float, denominator: float) -> float | None:
    """The quotient, or ``None`` where it is undefined or not finite."""
    return finite(numerator / denominator) if denominator != 0 else None


def finite(value: float) -> float | None:
    """The value, or ``None`` in place of NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def weighted_mean(values: FloatArray, weights: FloatArray | None) -> float | None:
    """The mean; ``None`` where there is no weight. Safe for values near the largest double."""
    if len(values) == 0:
        return None
    shares = np.full(len(values), 1 / len(values)) if weights is None else _shares(weights)
    if shares is None:
        return None
    # Shares that add up to one and a last digit more carry values near the largest double over it: a mean
    # lies between the least and the greatest of its values, also in rounded arithmetic.
    with np.errstate(over="ignore"):
        mean = float(shares @ _weighed(values, weights))
    counted = _counted(values, weights)
    return finite(min(max(mean, float(counted.min())), float(counted.max())))


def _weighed(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The values, 0 where a row has no weight: whatever its own is, the others are neither scaled nor lost by it."""
    return values if weights is None else np.where(weights > 0, values, 0.0)


def _counted(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The values of the rows that have weight."""
    return values if weights is None else values[weights > 0]


def _shares(weights: FloatArray) -> FloatArray | None:
    total = float(weights.sum())
    return weights / total if total > 0 else None


def _varies(values: FloatArray, weights: FloatArray | None) -> bool:
    counted = _counted(values, weights)
    return bool(len(counted)) and bool(counted.min() < counted.max())


def _mean(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
