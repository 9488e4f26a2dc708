"""Whether one learner or version is really better than another, on the same folds or the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from learners.errors import DataError
from learners.evaluation.intervals import LEVEL, Interval, student
from learners.evaluation.results import FoldResult, RowResults
from learners.types import FloatArray


@dataclass(frozen=True)
class Paired:
    """A paired difference, first less second.

    Attributes:
        difference: its mean.
        standard_error: of that.
        interval: Student's.
        p_value: two-sided, of a mean of 0; ``None`` where all differences are alike and not 0.
        count: of pairs.
        test: ``corrected-resampled-t`` or ``paired-t``.
    """

    difference: float
    standard_error: float
    interval: Interval
    p_value: float | None
    count: int
    test: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def corrected_t(first: Sequence[float], second: Sequence[float], test_share: float, level: float = LEVEL) -> Paired:
    """The corrected resampled t-test of Nadeau and Bengio (Machine Learning 52, 2003).

    The variance of the differences counts ``1/k + n_test/n_train`` times, since folds share training rows.

    Args:
        first, second: a metric in the same k >= 2 folds, repeats too.
        test_share: n_test / n_train of a fold.
        level: of the interval.
    """
    return _tested(first, second, lambda count: 1 / count + test_share, "corrected-resampled-t", level)


def paired_t(first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray, level: float = LEVEL) -> Paired:
    """Student's paired t-test, of the losses on the same independent rows."""
    return _tested(first, second, lambda count: 1 / count, "paired-t", level)


def _tested(
    first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray, factor: Any, test: str, level: float
) -> Paired:
    from scipy.special import stdtr

    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    count = len(gaps)
    if count < 2:
        raise DataError(f"a paired comparison needs at least 2 pairs; there are {count}")
    mean = float(gaps.mean())
    error = float(gaps.std(ddof=1)) * math.sqrt(factor(count))
    p_value = float(2 * stdtr(count - 1, -abs(mean) / error)) if error > 0 else (1.0 if mean == 0 else None)
    return Paired(mean, error, student(mean, error, count - 1, level), p_value, count, test)


@dataclass(frozen=True)
class McNemar:
    """Rows that only one of two classifiers gets right, and how likely such a difference is by chance.

    Attributes:
        only_first_right, only_second_right: rows.
        p_value: of the exact test (binomial, two-sided): each such row might as well be the other's.
    """

    only_first_right: int
    only_second_right: int
    p_value: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def mcnemar(only_first_right: int, only_second_right: int) -> McNemar:
    """McNemar's test (Psychometrika 12, 1947) in its exact form."""
    from scipy.special import bdtr

    count = only_first_right + only_second_right
    fewer = min(only_first_right, only_second_right)
    p_value = min(1.0, 2 * float(bdtr(fewer, count, 0.5))) if count else 1.0
    return McNemar(only_first_right, only_second_right, p_value)


def compare_folds(
    first: Sequence[FoldResult], second: Sequence[FoldResult], metric: str, level: float = LEVEL
) -> Paired:
    """Two learners by a metric in the same folds.

    Raises:
        DataError: the folds are not the same, or the metric is undefined in one.
    """
    pairs = list(zip(sorted(first, key=_number), sorted(second, key=_number), strict=False))
    if len(first) != len(second) or any(_size(one) != _size(other) for one, other in pairs):
        raise DataError("the two evaluations have other folds; make them by the same plan and seed")
    values = [(one.metrics.get(metric), other.metrics.get(metric)) for one, other in pairs]
    known = [(one, other) for one, other in values if one is not None and other is not None]
    if len(known) < len(values):
        raise DataError(f"{metric} is undefined in some fold")
    share = float(np.mean([one.n_test / one.n_train for one in first]))
    return corrected_t([one for one, _ in known], [other for _, other in known], share, level)


def _number(result: FoldResult) -> int:
    return result.fold


def _size(result: FoldResult) -> tuple[int, int, int]:
    return result.fold, result.n_train, result.n_test


def compare_rows(first: RowResults, second: RowResults, level: float = LEVEL) -> dict[str, Any]:
    """Two models by their answers to the same rows; plain JSON.

    Returns:
        Of classes ``mcnemar`` and ``error``, the paired difference of the 0/1 losses; of numbers
        ``absolute_error`` and ``squared_error``, the paired differences of these.

    Raises:
        DataError: the rows are not the same.
    """
    if not np.array_equal(first.rows, second.rows) or not np.array_equal(first.actual, second.actual):
        raise DataError("the two models answered other rows")
    if first.probabilities is None:
        gap, other = (np.abs(one.predicted - one.actual) for one in (first, second))
        return {
            "absolute_error": paired_t(gap, other, level).to_json(),
            "squared_error": paired_t(gap**2, other**2, level).to_json(),
        }
    right, also = (one.predicted == one.actual for one in (first, second))
    counts = int((right & ~also).sum()), int((also & ~right).sum())
    return {"mcnemar": mcnemar(*counts).to_json(), "error": paired_t(1.0 - right, 1.0 - also, level).to_json()}
