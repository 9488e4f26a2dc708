"""From the results of folds to one summary: each metric's mean, spread and intervals; pooled counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learners.errors import DataError
from learners.evaluation.calibration import calibration_json
from learners.evaluation.intervals import LEVEL, UNBOUNDED, over_folds, wilson
from learners.evaluation.metrics import BOUNDS, accuracy, per_class
from learners.evaluation.results import FoldResult
from learners.table import Column


def combine(
    results: Sequence[FoldResult],
    target: Column,
    *,
    level: float = LEVEL,
    warnings: Sequence[str] = (),
    method: str | None = None,
    repeats: int = 1,
) -> dict[str, Any]:
    """Summarise one hold-out or the folds of a cross-validation; plain JSON without NaN.

    Args:
        results: in any order; their rows are not needed.
        target: the column of the target.
        level: of the intervals.
        warnings: of the plan of folds; those of the folds are added.
        method: of the plan; by default ``hold-out`` for one result and ``k-fold`` for several.
        repeats: how often each row was tested.

    Returns:
        ``task``, ``method``, ``folds``, ``rows`` (tested), ``metrics``
        (by name: ``mean``, ``standard_deviation``, ``standard_error``, ``interval``,
        ``corrected_standard_error``, ``corrected_interval``, ``count`` of the folds that define it,
        and the folds' ``values``; intervals end where the metric does: shares at 0 and 1),
        ``warnings``; for classes also ``classes`` in schema order and
        ``pooled``: the sum of the confusion matrices, with accuracy, its Wilson interval and
        precision, recall and F1 of each class, and ``calibration``
        (see :func:`~learners.evaluation.calibration.calibration_json`). ``training`` is there where the folds were
        judged on what they learned from too: each metric's mean over them. One fold alone has no spread over folds: its
        accuracy and error have Wilson's interval, metrics that are means over rows Student's over them (see
        :mod:`learners.evaluation.over_rows`), and all others none.
    """
    if not results:
        raise DataError("there are no folds to summarise")
    ordered = sorted(results, key=lambda result: result.fold)
    summary: dict[str, Any] = {
        "task": "regression" if target.is_numeric else "classification",
        "method": method or ("hold-out" if len(ordered) == 1 else "k-fold"),
        "folds": len(ordered),
        "rows": sum(result.n_test for result in ordered),
        "level": level,
        "metrics": {name: _metric(ordered, name, level) for name in ordered[0].metrics},
        "warnings": [*warnings, *(f"fold {r.fold}: {text}" for r in ordered for text in r.warnings), *_beyond(ordered)],
    }
    if not target.is_numeric:
        summary["classes"] = list(target.labels)
        summary["pooled"] = _pooled(ordered, target, level, repeats)
    if all(result.training is not None for result in ordered):
        summary["training"] = {name: _training_mean(ordered, name) for name in ordered[0].metrics}
    if repeats > 1:
        summary["repeats"] = repeats
    if len(ordered) == 1:
        _add_row_intervals(summary, ordered[0])
    return summary


def _beyond(results: Sequence[FoldResult]) -> list[str]:
    """A warning of squares that no double holds, though their root is known."""
    names = ("mean_squared_error", "root_mean_squared_error")
    squares, roots = ([result.metrics.get(name) for result in results] for name in names)
    lost = sum(square is None and root is not None for square, root in zip(squares, roots, strict=True))
    if not lost:
        return []
    return [
        f"mean_squared_error is beyond the largest number in {lost} of {len(results)} folds and null there; "
        "root_mean_squared_error tells the same"
    ]


def _metric(results: Sequence[FoldResult], name: str, level: float) -> dict[str, Any]:
    values = [result.metrics[name] for result in results]
    share = float(np.mean([result.n_test / result.n_train for result in results]))
    known = [value for value in values if value is not None]
    return {**over_folds(known, share, level, BOUNDS.get(name, UNBOUNDED)).to_json(), "values": values}


def _training_mean(results: Sequence[FoldResult], name: str) -> float | None:
    known = [value for result in results if (value := (result.training or {}).get(name)) is not None]
    return over_folds(known).mean


def _pooled(results: Sequence[FoldResult], target: Column, level: float, repeats: int) -> dict[str, Any]:
    confusion = np.sum([np.array(result.confusion) for result in results], axis=0)
    share = accuracy(confusion)
    trials = sum(result.effective_rows for result in results) / repeats
    interval = None if share is None else wilson(share * trials, trials, level)
    by_class = [{"label": label, **row} for label, row in zip(target.labels, per_class(confusion), strict=True)]
    return {
        "confusion": confusion.tolist(),
        "accuracy": share,
        "accuracy_interval": None if interval is None else interval.to_json(),
        "per_class": by_class,
        "calibration": _calibration(results),
    }


def _calibration(results: Sequence[FoldResult]) -> dict[str, Any] | None:
    """Of all folds together; None of results that were kept before there was any."""
    sums = [result.reliability for result in results]
    return None if None in sums else calibration_json(np.sum(np.array(sums, dtype=np.float64), axis=0))


def _add_row_intervals(summary: dict[str, Any], result: FoldResult) -> None:
    metrics = summary["metrics"]
    if "pooled" in summary:
        right = summary["pooled"]["accuracy_interval"]
        metrics["accuracy"]["interval"] = right
        wrong = None if right is None else right | {"low": 1 - right["high"], "high": 1 - right["low"]}
        metrics["error"]["interval"] = wrong
    for name, interval in result.intervals.items():
        metrics[name]["interval"] = interval
