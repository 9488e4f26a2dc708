"""Evaluation in one process; other processes run single folds of the same plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from learners.base import Classifier, Learner, Progress, check_training, no_progress
from learners.errors import DataError
from learners.evaluation.fold import MakeLearner, evaluate_fold
from learners.evaluation.judging import Judging
from learners.evaluation.leaving_out import answers_left_out, joined, judge_left_out
from learners.evaluation.plan import Plan, Splits
from learners.evaluation.results import FoldResult, RowResults
from learners.evaluation.summary import combine
from learners.parts import note_sound, parted
from learners.table import OPEN_KINDS, Series, Table


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The folds' results and their summary (see :func:`~learners.evaluation.summary.combine`)."""

    results: tuple[FoldResult, ...]
    summary: dict[str, Any]


def cross_validate(
    make_learner: Learner | MakeLearner,
    table: Any,
    target: Any,
    folds: int | Plan = 10,
    seed: int = 0,
    *,
    judging: Judging | None = None,
    progress: Progress = no_progress,
) -> CrossValidation:
    """Judge a learner on rows that it does not see, by any plan, all in this process.

    Args:
        make_learner: an unfitted learner, whose parameters are copied, or a function that makes one.
        folds: how rows are parted; a number asks for so many folds, stratified for classes.
        seed: of what is drawn.
        judging: weights, groups, times and utilities, where there are any.

    Raises:
        ParameterError, DataError: the plan does not fit the rows, or what the learner's ``fit`` refuses.
    """
    make, data, truth = prepared(make_learner, table, target)
    plan = folds if isinstance(folds, Plan) else Plan(folds=folds)
    judging = judging or Judging()
    splits = plan.splits(truth, seed, groups=judging.groups, times=judging.times)
    if len(splits) > 1:
        data = parted(data)
        note_sound(data, truth)
    if plan.method == "leave-one-out":
        results: tuple[FoldResult, ...] = (_left_out(make, data, truth, splits, judging, progress),)
    else:
        results = tuple(_run(make, data, truth, splits, number, judging, progress) for number in range(len(splits)))
    summary = combine(results, truth.column, warnings=splits.warnings, method=plan.method, repeats=plan.repeats)
    return CrossValidation(results, summary)


def out_of_fold(results: Sequence[FoldResult], n_rows: int) -> RowResults:
    """The answers of all folds by row index, each from the fold that did not train on that row."""
    found = joined([result.rows for result in results if result.rows is not None], None)
    answered = len(np.unique(found.rows))
    if answered != n_rows or len(found.rows) != n_rows:
        raise DataError(f"the folds hold {len(found.rows)} answers to {answered} rows, not one to each of {n_rows}")
    return found


def prepared(make_learner: Learner | MakeLearner, table: Any, target: Any) -> tuple[MakeLearner, Table, Series]:
    """A function that makes the learner, and what it learns from, checked."""
    make = copies_of(make_learner) if isinstance(make_learner, Learner) else make_learner
    classification = isinstance(make(), Classifier)
    data, truth = check_training(table, target, classification=classification, opened=OPEN_KINDS)
    return make, data, truth


def copies_of(learner: Learner, **changes: Any) -> MakeLearner:
    """A function that makes unfitted learners with the same parameters but for some; see ``Learner.copied``."""
    return partial(learner.copied, **changes)


def _left_out(
    make: MakeLearner, table: Table, target: Series, splits: Splits, judging: Judging, progress: Progress
) -> FoldResult:
    found = answers_left_out(make, table, target, splits, judging, progress=progress)
    return judge_left_out(make, found, target, judging, n_splits=len(splits))


def _run(
    make: MakeLearner,
    table: Table,
    target: Series,
    splits: Splits,
    number: int,
    judging: Judging,
    progress: Progress,
) -> FoldResult:
    def of_all(share: float, message: str) -> None:
        progress((number + share) / len(splits), f"fold {number + 1} of {len(splits)}: {message}")

    return evaluate_fold(make, table, target, splits[number], judging, fold=number + 1, progress=of_all)
