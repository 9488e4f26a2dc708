"""Leave-one-out: every row, or every group, is answered by what is learned from all others.

A learner that knows these answers without being fitted n times (nearest neighbours, which pass over
the row itself; least squares, by the diagonal of its hat matrix) says them in ``leave_one_out``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from learners.base import Classifier, Learner, Progress, check_training, check_weights, no_progress
from learners.decisions import PARAMETER, decide, utility_matrix
from learners.errors import numbered_by
from learners.evaluation.fold import MakeLearner, answer, judge
from learners.evaluation.intervals import effective_rows
from learners.evaluation.judging import Judging
from learners.evaluation.plan import Splits
from learners.evaluation.results import FoldResult, RowResults
from learners.parts import part_of
from learners.table import OPEN_KINDS, Column, Series
from learners.types import FloatArray, IntArray


@runtime_checkable
class LeavesOneOut(Protocol):
    """A learner with a fast path that is exact: the same as fitting it n times, up to rounding.

    Attributes:
        leaves_one_out: whether its parameters allow it; the rows may still not.
    """

    leaves_one_out: bool

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray | None:
        """The answer to each row of what is learned from all others.

        Returns:
            Probabilities (n, K) in the order of the target's levels, or values (n,); ``None`` where with these
            parameters or rows there is no such path.
        """


def answers_left_out(
    make_learner: MakeLearner,
    table: Any,
    target: Any,
    splits: Splits,
    judging: Judging,
    *,
    part: tuple[int, int] = (0, 1),
    progress: Progress = no_progress,
) -> RowResults:
    """The answers to the rows of every m-th split, from the i-th on, each by a learner that did not see them.

    Args:
        splits: of a plan of leave-one-out.
        part: (i, m), 0 <= i < m; (0, 1) is all.
    """
    model = make_learner()
    data, truth = check_training(table, target, classification=isinstance(model, Classifier), opened=OPEN_KINDS)
    weights = None if judging.weights is None else check_weights(judging.weights, data.n_rows)
    first, step = part
    if len(splits) == data.n_rows and isinstance(model, LeavesOneOut):
        found = model.leave_one_out(data, truth, weights)
        if found is not None:
            return _from_path(model, found, truth, np.arange(first, data.n_rows, step))
    numbers = range(first, len(splits), step)
    results = []
    for done, number in enumerate(numbers):
        split = splits[number]
        model = make_learner()
        taken = None if weights is None else weights[split.train]
        with numbered_by(judging.numbers(split.train)):
            model.fit(part_of(data, split.train), truth.take(split.train), taken)
        results.append(answer(model, part_of(data, split.test), truth.take(split.test), split.test))
        progress((done + 1) / len(numbers), f"{done + 1} of {len(numbers)} left out")
    return joined(results, None if truth.column.is_numeric else len(truth.column.levels))


def _from_path(model: Learner, found: FloatArray, truth: Series, rows: IntArray) -> RowResults:
    if not isinstance(model, Classifier):
        return RowResults(rows, truth.cells[rows], found[rows])
    decided = decide(found[rows], _declared_utility(model, truth.column))
    return RowResults(rows, truth.cells[rows], decided.astype(np.float64), found[rows])


def _declared_utility(model: Learner, target: Column) -> FloatArray | None:
    """By what a learner that is not fitted would decide."""
    return None if target.is_numeric else utility_matrix(getattr(model, PARAMETER, None), target)


def joined(parts: Sequence[RowResults], n_classes: int | None) -> RowResults:
    """The answers of several parts as one, by row.

    Args:
        n_classes: K, for the width of the probabilities where there is no part; ``None`` for numbers.
    """
    rows = np.concatenate([part.rows for part in parts]) if parts else np.empty(0, dtype=np.int64)
    order = np.argsort(rows, kind="stable")
    shares = [part.probabilities for part in parts if part.probabilities is not None]
    empty = None if n_classes is None else np.empty((0, n_classes))
    return RowResults(
        rows[order],
        np.concatenate([part.actual for part in parts])[order] if parts else np.empty(0),
        np.concatenate([part.predicted for part in parts])[order] if parts else np.empty(0),
        np.concatenate(shares)[order] if shares else empty,
    )


def judge_left_out(
    make_learner: MakeLearner,
    found: RowResults,
    target: Series,
    judging: Judging,
    *,
    n_splits: int,
) -> FoldResult:
    """The answers to all rows judged together, as one result: what one row is worth alone says little.

    Args:
        found: of every row.
        n_splits: the rows or groups that were left out one after the other.
    """
    weights = None if judging.weights is None else check_weights(judging.weights, len(target))[found.rows]
    worth = judging.utility if judging.utility is not None else _declared_utility(make_learner(), target.column)
    return FoldResult(
        fold=1,
        n_train=len(target) - round(len(target) / n_splits),
        n_test=len(found.rows),
        test_weight=float(len(found.rows)) if weights is None else float(weights.sum()),
        effective_rows=effective_rows(weights, len(found.rows)),
        rows=found,
        **judge(found, target.column, weights, utility=worth),
    )
