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
from learners.errors import DataError, numbered_by, quoted
from learners.evaluation.calibration import reliability
from learners.evaluation.folds import Split
from learners.evaluation.intervals import effective_rows
from learners.evaluation.judging import Judging
from learners.evaluation.metrics import (
    classification_metrics,
    confusion_matrix,
    regression_metrics,
    weighted_mean,
)
from learners.evaluation.over_rows import of_classes, of_numbers
from learners.evaluation.results import FoldResult, RowResults
from learners.parts import part_of
from learners.table import OPEN_KINDS, Column, Series, Table
from learners.types import BoolArray, FloatArray, IntArray

#: Makes an unfitted learner; called once a fold.
MakeLearner = Callable[[], Learner]


def evaluate_fold(
    make_learner: MakeLearner,
    table: Any,
    target: Any,
    split: Split,
    judging: Judging | None = None,
    *,
    fold: int = 1,
    progress: Progress = no_progress,
) -> FoldResult:
    """Fit a fresh learner on some rows and judge it on others.

    Args:
        table, target: the whole data; the target's levels are the classes.
        split: row indices without a row in common.
        judging: weights and utilities; weights are of the whole table.
        fold: number to be kept in the result, from 1.
        progress: of the fit.

    Raises:
        DataError: a part is empty or the two overlap; or what the learner's ``fit`` refuses.
    """
    model = make_learner()
    train, test, judging = split.train, split.test, judging or Judging()
    with numbered_by(judging.rows):
        data, truth = check_training(table, target, classification=isinstance(model, Classifier), opened=OPEN_KINDS)
    if len(train) == 0 or len(test) == 0:
        raise DataError(f"fold {fold} has {len(train)} training and {len(test)} test rows; both need at least 1")
    if share_a_row(train, test, data.n_rows):
        raise DataError(f"fold {fold} would be judged on rows that it learned from")
    weights = None if judging.weights is None else check_weights(judging.weights, data.n_rows)
    train_weights, test_weights = (None, None) if weights is None else (weights[train], weights[test])
    learned, known = part_of(data, train), truth.take(train)
    with numbered_by(judging.numbers(train)):
        model.fit(learned, known, train_weights, progress=progress)
    found = answer(model, part_of(data, test), truth.take(test), test)
    centre = weighted_mean(known.cells, train_weights) if truth.column.is_numeric else None
    worth = judging.utility if judging.utility is not None else own_utility(model, truth.column)
    training = None
    if judging.judge_training:
        again = answer(model, learned, known, train)
        training = judge(again, truth.column, train_weights, utility=worth, centre=centre)["metrics"]
    return FoldResult(
        fold=fold,
        n_train=len(train),
        n_test=len(test),
        test_weight=float(len(test)) if test_weights is None else float(test_weights.sum()),
        effective_rows=effective_rows(test_weights, len(test)),
        warnings=(*_untrained_classes(truth, known), *model.training_notes().get("warnings", ())),
        rows=found,
        model=model,
        training=training,
        **judge(found, truth.column, test_weights, utility=worth, centre=centre),
    )


def share_a_row(train: IntArray, test: IntArray, n_rows: int) -> bool:
    """Whether two lists of rows have one in common."""
    is_learned_from = np.zeros(n_rows, np.bool_)
    is_learned_from[train] = True
    return bool(is_learned_from[test].any())


def own_utility(model: Learner, target: Column) -> FloatArray | None:
    """By what a model decides, in the order of a target's levels; ``None`` where it has no utilities."""
    if not isinstance(model, Classifier) or model.utility_ is None:
        return None
    codes = _codes_of(model, target)
    utility = np.zeros((len(target.levels), len(target.levels)))
    utility[np.ix_(codes, codes)] = model.utility_
    return utility


def answer(model: Learner, table: Table, target: Series, rows: IntArray) -> RowResults:
    """A fitted model's answers beside the truth.

    Args:
        table, target: the rows to answer and what is true of them.
        rows: their numbers in the whole table.
    """
    if not isinstance(model, Classifier):
        return RowResults(rows, target.cells, np.asarray(model.predict(table), dtype=np.float64))
    given = model.predict_proba(table)
    probabilities = align_probabilities(given, model.target_, target.column)
    predicted = _codes_of(model, target.column)[model.decide(given)]
    return RowResults(rows, target.cells, predicted.astype(np.float64), probabilities)


def _codes_of(model: Classifier, target: Column) -> IntArray:
    return np.array([target.encode(label) for label in model.target_.labels], dtype=np.int64)


def judge(
    found: RowResults,
    target: Column,
    weights: FloatArray | None = None,
    *,
    utility: FloatArray | None = None,
    centre: float | None = None,
) -> dict[str, Any]:
    """What answers are worth: the entries ``metrics``, ``intervals``, ``confusion`` and ``reliability`` of a
    :class:`FoldResult`.

    Args:
        weights: of the rows, shape (m,).
        utility: shape (K, K); see :class:`~learners.evaluation.judging.Judging`.
        centre: mean of the training rows, for the relative absolute error.
    """
    if found.probabilities is not None:
        actual, predicted = found.actual.astype(np.int64), found.predicted.astype(np.int64)
        return {
            "metrics": classification_metrics(actual, found.probabilities, predicted, weights, utility),
            "intervals": of_classes(actual, found.probabilities, predicted, utility) if weights is None else {},
            "confusion": confusion_matrix(actual, predicted, len(target.levels), weights).tolist(),
            "reliability": reliability(actual, found.probabilities, predicted, weights).tolist(),
        }
    return {
        "metrics": regression_metrics(found.actual, found.predicted, weights, centre),
        "intervals": of_numbers(found.actual, found.predicted) if weights is None else {},
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


def _untrained_classes(target: Series, known: Series) -> tuple[str, ...]:
    """A sentence on classes of a target that do not occur in what was learned from; none of its cells is missing."""
    if target.column.is_numeric:
        return ()
    learned = _occurring(known)
    if learned.all():
        return ()
    occurring = _occurring(target)
    absent = [quoted(target.column.labels[code]) for code in np.flatnonzero(occurring & ~learned).tolist()]
    return (f"not in the training rows, so never predicted: {', '.join(absent)}",) if absent else ()


def _occurring(target: Series) -> BoolArray:
    found: BoolArray = np.bincount(target.cells.astype(np.intp), minlength=len(target.column.levels)) > 0
    return found
