"""Cross-validation and hold-out in one process, and the plans by which other processes run single folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.base import Classifier, Learner, Progress, check_training, no_progress
from learners.errors import DataError
from learners.evaluation.fold import MakeLearner, evaluate_fold
from learners.evaluation.folds import Folds, Split, hold_out, k_fold
from learners.evaluation.results import FoldResult, RowResults
from learners.evaluation.summary import combine
from learners.table import OPEN_KINDS, Series, Table

__all__ = [
    "CrossValidation",
    "combine",
    "cross_validate",
    "evaluate_fold",
    "hold_out_validate",
    "out_of_fold",
    "plan_folds",
    "plan_hold_out",
]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The folds' results and their summary (see :func:`~learners.evaluation.summary.combine`)."""

    results: tuple[FoldResult, ...]
    summary: dict[str, Any]


def cross_validate(
    make_learner: Learner | MakeLearner,
    table: Any,
    target: Any,
    folds: int = 10,
    seed: int = 0,
    *,
    stratified: bool = True,
    sample_weight: Any = None,
    progress: Progress = no_progress,
) -> CrossValidation:
    """k-fold cross-validation, all folds in this process, one after the other.

    Args:
        make_learner: an unfitted learner, whose parameters are copied, or a function that makes one.
        folds, seed, stratified: see :func:`~learners.evaluation.folds.k_fold`; a regressor's folds
            are not stratified.
    """
    make, data, truth = _prepare(make_learner, table, target)
    plan = plan_folds(truth, folds, seed, stratified=stratified)
    results = tuple(_run(make, data, truth, plan, number, sample_weight, progress) for number in range(len(plan)))
    return CrossValidation(results, combine(results, truth.column, warnings=plan.warnings))


def hold_out_validate(
    make_learner: Learner | MakeLearner,
    table: Any,
    target: Any,
    fraction: float = 0.25,
    seed: int = 0,
    *,
    stratified: bool = True,
    sample_weight: Any = None,
    progress: Progress = no_progress,
) -> CrossValidation:
    """Judge on a share of the rows that the learner does not see; see :func:`cross_validate`."""
    make, data, truth = _prepare(make_learner, table, target)
    split, warnings = plan_hold_out(truth, fraction, seed, stratified=stratified)
    result = evaluate_fold(make, data, truth, split.train, split.test, sample_weight, progress=progress)
    return CrossValidation((result,), combine([result], truth.column, warnings=warnings))


def plan_folds(target: Series, folds: int, seed: int, *, stratified: bool = True) -> Folds:
    """The folds of a target: the same in every process that has the same target."""
    codes = target.codes if stratified and not target.column.is_numeric else None
    return k_fold(len(target), folds, seed, codes, target.column.labels)


def plan_hold_out(
    target: Series, fraction: float, seed: int, *, stratified: bool = True
) -> tuple[Split, tuple[str, ...]]:
    """The hold-out split of a target and its warnings."""
    codes = target.codes if stratified and not target.column.is_numeric else None
    return hold_out(len(target), fraction, seed, codes, target.column.labels)


def out_of_fold(results: Sequence[FoldResult], n_rows: int) -> RowResults:
    """The answers of all folds by row index, each from the fold that did not train on that row."""
    parts = [result.rows for result in results if result.rows is not None]
    rows = np.concatenate([part.rows for part in parts]) if parts else np.empty(0, dtype=np.int64)
    if len(np.unique(rows)) != n_rows or len(rows) != n_rows:
        raise DataError(f"the folds hold the answers of {len(np.unique(rows))} rows, not of all {n_rows}")
    order = np.argsort(rows)
    shares = [part.probabilities for part in parts if part.probabilities is not None]
    return RowResults(
        rows[order],
        np.concatenate([part.actual for part in parts])[order],
        np.concatenate([part.predicted for part in parts])[order],
        np.concatenate(shares)[order] if shares else None,
    )


def _prepare(make_learner: Learner | MakeLearner, table: Any, target: Any) -> tuple[MakeLearner, Table, Series]:
    make = _copies_of(make_learner) if isinstance(make_learner, Learner) else make_learner
    classification = isinstance(make(), Classifier)
    data, truth = check_training(table, target, classification=classification, opened=OPEN_KINDS)
    return make, data, truth


def _copies_of(learner: Learner) -> MakeLearner:
    def copy() -> Learner:
        made = type(learner)()
        made.set_params(**learner.get_params())
        return made

    return copy


def _run(
    make: MakeLearner, table: Table, target: Series, plan: Folds, number: int, sample_weight: Any, progress: Progress
) -> FoldResult:
    def of_all(share: float, message: str) -> None:
        progress((number + share) / len(plan), f"fold {number + 1} of {len(plan)}: {message}")

    split = plan[number]
    return evaluate_fold(make, table, target, split.train, split.test, sample_weight, fold=number + 1, progress=of_all)
