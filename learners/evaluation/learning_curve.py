"""How a learner does by how much it has learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from learners.base import Learner, Progress, no_progress
from learners.errors import ParameterError, quoted
from learners.evaluation.crossval import prepared
from learners.evaluation.failing import AllFailed, Failed, Failure, refusals, told
from learners.evaluation.fold import MakeLearner, evaluate_fold
from learners.evaluation.folds import Split, dealing_order
from learners.evaluation.judging import Judging
from learners.evaluation.plan import Plan
from learners.evaluation.summary import combine
from learners.parts import parted
from learners.table import Series
from learners.types import IntArray

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)


def learning_curve(
    make_learner: Learner | MakeLearner,
    table: Any,
    target: Any,
    shares: Sequence[float] = SHARES,
    plan: Plan | None = None,
    seed: int = 0,
    *,
    judging: Judging | None = None,
    progress: Progress = no_progress,
) -> list[dict[str, Any]]:
    """The evaluation by share of the training rows; tested rows are the same for all shares.

    Args:
        shares: > 0 and <= 1; what a smaller share learns from, a larger one learns from too.
        plan: k-fold or hold-out.

    Returns:
        For each share ``share``, ``train_rows`` (mean number learned from) and the summary of
        :func:`~learners.evaluation.summary.combine`, with ``training``; in place of the summary ``failure`` where the
        learner cannot learn from so few rows of a fold (see :class:`~learners.evaluation.failing.Failure`).

    Raises:
        AllFailed: it can learn from none of the shares.
    """
    make, data, truth = prepared(make_learner, table, target)
    plan, given = plan or Plan(), judging or Judging()
    judged = replace(given, judge_training=True)
    splits = plan.splits(truth, seed, groups=given.groups, times=given.times)
    data = parted(data)
    points = []
    for place, share in enumerate(shares):
        parts = [partial_split(splits[number], share, truth, seed, given.times) for number in range(len(splits))]
        point: dict[str, Any] = {"share": share, "train_rows": float(np.mean([len(part.train) for part in parts]))}
        results = []
        try:
            for number, part in enumerate(parts):
                progress((place + number / len(splits)) / len(shares), f"share {share:g}, fold {number + 1}")
                with refusals(number + 1):
                    results.append(evaluate_fold(make, data, truth, part, judged, fold=number + 1))
        except Failed as failed:
            points.append(point | {"failure": failed.failure.to_json()})
            continue
        summary = combine(results, truth.column, warnings=splits.warnings, method=plan.method, repeats=plan.repeats)
        points.append(point | summary)
    check_some_learned(points)
    return points


def check_some_learned(points: Sequence[Mapping[str, Any]]) -> None:
    """Raise :class:`~learners.evaluation.failing.AllFailed` if every point of a curve failed."""
    failures = [({"share": one["share"]}, Failure.from_json(one["failure"])) for one in points if "failure" in one]
    if len(failures) == len(points):
        raise AllFailed(f"none of the {len(points)} shares can be learned from: {told(failures)}", failures)


def partial_split(split: Split, share: float, target: Series, seed: int, times: Series | None = None) -> Split:
    """The same rows to test and a share of those to learn from.

    Classes keep their shares; with times the latest rows are taken, else rows at random.

    Raises:
        ParameterError: the share is out of range.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ParameterError(f"parameter shares must be numbers > 0 and <= 1; one is {quoted(share)}", field="shares")
    count = max(1, round(share * len(split.train)))
    if times is not None:
        order = np.argsort(-times.cells[split.train], kind="stable")
    else:
        order = _mixed(dealing_order(len(split.train), seed, None), target, split.train)
    return Split(np.sort(split.train[order[:count]]), split.test)


def _mixed(order: IntArray, target: Series, rows: IntArray) -> IntArray:
    """The order changed so that every beginning of it has the classes in proportion."""
    if target.column.is_numeric:
        return order
    codes = target.codes[rows][order]
    place = np.empty(len(order))
    for code in np.unique(codes):
        of_class = np.flatnonzero(codes == code)
        place[of_class] = (np.arange(len(of_class)) + 0.5) / len(of_class)
    return order[np.argsort(place, kind="stable")]
