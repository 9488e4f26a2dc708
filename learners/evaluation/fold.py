"""One fold: fit on some rows, judge on others; it may run in a process of its own.

Nothing is fitted outside a fold. What a fold takes from the whole table is its schema only: the
columns with their levels, and the classes in the target's order. A class that does not occur in a
training part keeps its column, with probability 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from learners.base import Classifier, Learner, Progress, check_training, check_weights, no_progress
from learners.errors import DataError, quoted
from learners.evaluation.intervals import effective_rows, of_rows
from learners.evaluation.metrics import (
    BOUNDS,
    absolute_errors,
    classification_metrics,
    confusion_matrix,
    regression_metrics,
    weighted_mean,
)
from learners.evaluation.results import FoldResult, RowResults
from learners.table import OPEN_KINDS, Column, Series, Table
from learners.types import Array, FloatArray

#: Makes an unfitted learner; called once a fold.
MakeLearner = Callable[[], Learner]


def evaluate_fold(
    make_learner: MakeLearner,
    table: Any,
    target: Any,
    train_rows: Array,
    test_rows: Array,
    sample_weight: Any = None,
    *,
    fold: int = 1,
    progress: Progress = no_progress,
) -> FoldResult:
    """Fit a fresh learner on some rows and judge it on others.

    Args:
        table, target: the whole data; the target's levels are the classes.
        train_rows, test_rows: row indices without a row in common.
        sample_weight: shape (n,), of the whole table; weighs training and judging.
        fold: number to be kept in the result, from 1.
        progress: of the fit.

    Raises:
        DataError: a part is empty or the two overlap; or what the learner's ``fit`` refuses.
    """
    model = make_learner()
    data, truth = check_training(table, target, classification=isinstance(model, Classifier), opened=OPEN_KINDS)
    train, test = _row_indices(train_rows), _row_indices(test_rows)
    if len(train) == 0 or len(test) == 0:
        raise DataError(f"fold {fold} has {len(train)} training and {len(test)} test rows; both need at least 1")
    if np.intersect1d(train, test).size:
        raise DataError(f"fold {fold} would be judged on rows that it learned from")
    weights = None if sample_weight is None else check_weights(sample_weight, data.n_rows)
    train_weights, test_weights = (None, None) if weights is None else (weights[train], weights[test])
    model.fit(data.take(train), truth.take(train), train_weights, progress=progress)
    asked, wanted = data.take(test), truth.take(test)
    if isinstance(model, Classifier):
        found = _judge_classifier(model, asked, wanted, test, test_weights)
    else:
        centre = weighted_mean(truth.cells[train], train_weights)
        found = _judge_regressor(model.predict(asked), wanted, test, test_weights, centre)
    return FoldResult(
        fold=fold,
        n_train=len(train),
        n_test=len(test),
        test_weight=float(len(test)) if test_weights is None else float(test_weights.sum()),
        effective_rows=effective_rows(test_weights, len(test)),
        warnings=_untrained_classes(truth, train),
        model=model,
        **found,
    )


def _row_indices(rows: Array) -> Array:
    array = np.asarray(rows)
    return np.flatnonzero(array) if array.dtype == np.bool_ else array.astype(np.int64)


def _judge_classifier(
    model: Classifier, table: Table, target: Series, rows: Array, weights: FloatArray | None
) -> dict[str, Any]:
    given = model.predict_proba(table)
    probabilities = align_probabilities(given, model.target_, target.column)
    codes = np.array([target.column.encode(label) for label in model.target_.labels], dtype=np.int64)
    predicted = codes[model.decide(given)]
    return {
        "metrics": classification_metrics(target.codes, probabilities, predicted, weights),
        "confusion": confusion_matrix(target.codes, predicted, len(target.column.levels), weights).tolist(),
        "rows": RowResults(rows, target.cells, predicted.astype(np.float64), probabilities),
    }


def _judge_regressor(
    answers: Array, target: Series, rows: Array, weights: FloatArray | None, centre: float | None
) -> dict[str, Any]:
    predicted = np.asarray(answers, dtype=np.float64)
    # an interval over rows needs rows that count alike
    interval = (
        of_rows(absolute_errors(target.cells, predicted), bounds=BOUNDS["mean_absolute_error"])
        if weights is None
        else None
    )
    return {
        "metrics": regression_metrics(target.cells, predicted, weights, centre),
        "absolute_error_interval": None if interval is None else interval.to_json(),
        "rows": RowResults(rows, target.cells, predicted),
    }


def align_probabilities(probabilities: FloatArray, given: Column, wanted: Column) -> FloatArray:
    """Columns in the order of ``wanted``'s levels; a level that ``given`` lacks has probability 0."""
    if given.levels == wanted.levels:
        return probabilities
    aligned = np.zeros((len(probabilities), len(wanted.levels)))
    for index, label in enumerate(given.labels):
        code = int(wanted.encode(label))
        if code < 0:
            raise DataError(f"the model has the class {quoted(label)}, which the target has not", field=wanted.name)
        aligned[:, code] = probabilities[:, index]
    return aligned


def _untrained_classes(target: Series, train: Array) -> tuple[str, ...]:
    if target.column.is_numeric:
        return ()
    occurring, learned = np.unique(target.codes), np.unique(target.codes[train])
    absent = [quoted(target.column.labels[code]) for code in np.setdiff1d(occurring, learned).tolist()]
    return (f"not in the training rows, so never predicted: {', '.join(absent)}",) if absent else ()
