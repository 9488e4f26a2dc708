"""ROC and precision-recall curves of one class against the rest, and the areas under them.

Rows are taken from the highest score down; rows of equal score are one step. So every point is what
deciding for the class from its threshold on would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.evaluation.metrics import finite
from learners.types import Array, FloatArray

#: A curve as JSON has at most so many points, chosen evenly along it.
SHOWN_POINTS = 200


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve by its points.

    Attributes:
        kind: ``roc`` (x is the false positive rate, y the true positive rate) or ``precision-recall``
            (x is the recall, y the precision).
        x, y: shape (m,).
        thresholds: shape (m,): the class is decided from here on; ``inf`` where it never is.
        area: under the curve: of ``roc`` by trapezes, of ``precision-recall`` the average precision, a
            sum of steps; ``None`` where a side has no weight.
    """

    kind: str
    x: FloatArray
    y: FloatArray
    thresholds: FloatArray
    area: float | None

    def to_json(self, points: int = SHOWN_POINTS) -> dict[str, Any]:
        """Plain JSON; the threshold at which nothing is decided for is null."""
        last = len(self.x) - 1
        places = np.linspace(0, max(last, 0), min(points, last + 1))
        shown = np.unique(np.round(places).astype(np.int64))
        names = _AXES[self.kind]
        columns = (self.x[shown].tolist(), self.y[shown].tolist(), self.thresholds[shown].tolist())
        listed = [
            {names[0]: x, names[1]: y, "threshold": finite(threshold)} for x, y, threshold in zip(*columns, strict=True)
        ]
        return {"area": self.area, "points": listed}


_AXES = {"roc": ("false_positive_rate", "true_positive_rate"), "precision-recall": ("recall", "precision")}


def roc_curve(positive: Array, score: FloatArray, weights: FloatArray | None = None) -> Curve:
    """The true against the false positive rate, from (0, 0) to (1, 1).

    Args:
        positive: which rows are of the class, bool, shape (n,).
        score: its probability in each row, shape (n,).
        weights: shape (n,).
    """
    thresholds, hits, misses = _steps(positive, score, weights)
    if not len(hits) or hits[-1] == 0 or misses[-1] == 0:
        return Curve("roc", np.empty(0), np.empty(0), np.empty(0), None)
    x, y = np.append(0.0, misses / misses[-1]), np.append(0.0, hits / hits[-1])
    area = float(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum())
    return Curve("roc", x, y, np.append(np.inf, thresholds), area)


def precision_recall_curve(positive: Array, score: FloatArray, weights: FloatArray | None = None) -> Curve:
    """The precision against the recall, from recall 0, where the precision counts as 1, to 1."""
    thresholds, hits, misses = _steps(positive, score, weights)
    if not len(hits) or hits[-1] == 0:
        return Curve("precision-recall", np.empty(0), np.empty(0), np.empty(0), None)
    total = hits + misses
    precision = np.divide(hits, total, out=np.ones(len(hits)), where=total > 0)
    x, y = np.append(0.0, hits / hits[-1]), np.append(1.0, precision)
    area = float(((x[1:] - x[:-1]) * y[1:]).sum())
    return Curve("precision-recall", x, y, np.append(np.inf, thresholds), area)


def _steps(positive: Array, score: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The different scores from the highest down, and the weight of positives and of others at least as high."""
    counted = np.ones(len(score), dtype=bool) if weights is None else weights > 0
    weight = np.ones(len(score)) if weights is None else weights[counted]
    is_positive = np.asarray(positive, dtype=bool)[counted]
    values, group = np.unique(score[counted], return_inverse=True)
    hits = np.bincount(group, weights=weight * is_positive, minlength=len(values))[::-1]
    misses = np.bincount(group, weights=weight * ~is_positive, minlength=len(values))[::-1]
    return values[::-1], np.cumsum(hits), np.cumsum(misses)


def curves_json(
    actual: Array, probabilities: FloatArray, labels: tuple[Any, ...], weights: FloatArray | None = None
) -> list[dict[str, Any]]:
    """Both curves of each class that is judged by one: of two classes the second, of more each against the rest."""
    judged = [1] if len(labels) == 2 else range(len(labels))
    found = []
    for code in judged:
        of_class = np.asarray(actual) == code
        record: dict[str, Any] = {"label": labels[code]}
        for name, draw in (("roc", roc_curve), ("precision_recall", precision_recall_curve)):
            record[name] = draw(of_class, probabilities[:, code], weights).to_json()
        found.append(record)
    return found
