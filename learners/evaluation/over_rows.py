"""How sure the metrics of one part are that are means over its rows: Student's interval of each mean.

Rows must be independent and count alike, so weighted rows have none. What is no mean over rows (balanced accuracy, F1,
kappa, the area under the ROC curve, what is explained, relative errors) has no such interval; shares of rows have
Wilson's, see :mod:`learners.evaluation.summary`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from learners.evaluation.intervals import Interval, of_rows
from learners.evaluation.metrics import BOUNDS, absolute_errors, brier_scores, log_losses
from learners.types import FloatArray, IntArray

Intervals = dict[str, dict[str, Any] | None]


def of_classes(
    actual: IntArray, probabilities: FloatArray, predicted: IntArray, utility: FloatArray | None = None
) -> Intervals:
    """By metric, as JSON; see :func:`learners.evaluation.metrics.classification_metrics` for the arguments."""
    values = {"log_loss": log_losses(actual, probabilities), "brier_score": brier_scores(actual, probabilities)}
    if utility is not None:
        values["mean_utility"] = utility[predicted, actual]
    return {name: _told(of_rows(found, bounds=BOUNDS[name])) for name, found in values.items()}


def of_numbers(actual: FloatArray, predicted: FloatArray) -> Intervals:
    """By metric, as JSON; the root has the roots of the bounds of the mean square."""
    errors = absolute_errors(actual, predicted)
    with np.errstate(over="ignore"):
        squares = of_rows(errors**2, bounds=BOUNDS["mean_squared_error"])
    roots = None if squares is None else replace(squares, low=math.sqrt(squares.low), high=math.sqrt(squares.high))
    return {
        "mean_absolute_error": _told(of_rows(errors, bounds=BOUNDS["mean_absolute_error"])),
        "mean_squared_error": _told(squares),
        "root_mean_squared_error": _told(roots),
    }


def _told(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else interval.to_json()
