"""Whether one learner or version is really better than another, on the same folds or the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from learners.errors import DataError
from learners.evaluation.intervals import LEVEL, Interval, student
from learners.evaluation.metrics import absolute_errors, brier_scores, finite, log_losses
from learners.evaluation.results import FoldResult, RowResults
from learners.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Paired:
    """A paired difference, first less second.

    Attributes:
        difference: its mean.
        standard_error: of that; ``None`` beyond the largest double.
        interval: Student's; ``None`` where an end is beyond the largest double.
        p_value: two-sided, of a mean of 0; ``None`` where all differences are alike and not 0.
        count: of pairs.
        test: ``corrected-resampled-t`` or ``paired-t``.
        degrees_of_freedom: of Student's distribution.
        test_share: by which the variance was corrected: n_test / n_train of a fold; ``None`` of rows.
    """

    difference: float
    standard_error: float | None
    interval: Interval | None
    p_value: float | None
    count: int
    test: str
    degrees_of_freedom: int
    test_share: float | None = None

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
    return _tested(first, second, test_share, level)


def paired_t(first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray, level: float = LEVEL) -> Paired:
    """Student's paired t-test, of the losses on the same independent rows."""
    return _tested(first, second, None, level)


def _tested(
    first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray, test_share: float | None, level: float
) -> Paired:
    from scipy.special import stdtr

    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    count = len(gaps)
    if count < 2:
        raise DataError(f"a paired comparison needs at least 2 pairs; there are {count}")
    scale = 2.0 ** (
        int(np.frexp(np.abs(gaps).max())[1]) - 1
    )  # a power of two rounds nothing, and squares stay in range
    gaps = gaps / scale
    mean = float(gaps.mean())
    error = float(gaps.std(ddof=1)) * math.sqrt(1 / count + (test_share or 0.0))
    p_value = float(2 * stdtr(count - 1, -abs(mean) / error)) if error > 0 else (1.0 if mean == 0 else None)
    with np.errstate(over="ignore"):
        interval = student(mean * scale, error * scale, count - 1, level)
    return Paired(
        mean * scale,
        finite(error * scale),
        interval if math.isfinite(interval.low) and math.isfinite(interval.high) else None,
        p_value,
        count,
        "paired-t" if test_share is None else "corrected-resampled-t",
        count - 1,
        test_share,
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P values of several tests adjusted so that all together err seldom (Holm, Scandinavian J. Statistics 6, 1979).

    The i-th least of m, i from 1, counts m - i + 1 times, and no less than those before it.

    Args:
        p_values: ``None`` where there was no test, or where its p value is too small to be told; it stays so.
    """
    known = sorted((value, place) for place, value in enumerate(p_values) if value is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for before, (value, place) in enumerate(known):
        largest = max(largest, min(1.0, value * (len(known) - before)))
        adjusted[place] = largest
    return adjusted


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


def row_losses(found: RowResults, utility: FloatArray | None = None) -> dict[str, FloatArray]:
    """What each answer costs, or is worth, by the metric that is its mean over rows; each of shape (m,).

    Args:
        found: of classes, codes of decisions may go beyond the target's levels, as may columns of probabilities.
        utility: shape (K, K), of as many classes; see :mod:`learners.decisions`.
    """
    if found.probabilities is None:
        errors = absolute_errors(found.actual, found.predicted)
        with np.errstate(over="ignore"):
            return {"mean_absolute_error": errors, "mean_squared_error": errors**2}
    actual, predicted = found.actual.astype(np.int64), found.predicted.astype(np.int64)
    losses: dict[str, FloatArray] = {
        "error": (predicted != actual).astype(np.float64),
        "log_loss": log_losses(actual, found.probabilities),
        "brier_score": brier_scores(actual, found.probabilities),
    }
    return losses if utility is None else losses | {"mean_utility": utility[predicted, actual]}


def mcnemar_of(wrong: FloatArray | BoolArray, also: FloatArray | BoolArray) -> McNemar:
    """McNemar's test of which rows two classifiers answer wrongly, each of shape (m,): 1 where wrong, else 0."""
    first, second = (np.asarray(one, dtype=np.bool_) for one in (wrong, also))
    return mcnemar(int((second & ~first).sum()), int((first & ~second).sum()))


#: What :func:`compare_rows` calls the losses of numbers.
_OF_A_ROW = {"mean_absolute_error": "absolute_error", "mean_squared_error": "squared_error"}


def compare_rows(
    first: RowResults, second: RowResults, utility: FloatArray | None = None, level: float = LEVEL
) -> dict[str, Any]:
    """Two models by their answers to the same rows; plain JSON.

    Args:
        utility: by which decisions are compared too; see :func:`row_losses`.

    Returns:
        Of classes ``mcnemar`` and the paired differences of ``error`` (the 0/1 losses), ``log_loss``,
        ``brier_score`` and, with utilities, ``mean_utility``; of numbers those of ``absolute_error`` and
        ``squared_error``. One is ``None`` where a loss is beyond the largest double, or without rows.

    Raises:
        DataError: the rows are not the same.
    """
    if not np.array_equal(first.rows, second.rows) or not np.array_equal(first.actual, second.actual):
        raise DataError("the two models answered other rows")
    own, other = (row_losses(one, utility) for one in (first, second))
    found: dict[str, Any] = (
        {} if "error" not in own else {"mcnemar": mcnemar_of(own["error"], other["error"]).to_json()}
    )
    for name in own:
        found[_OF_A_ROW.get(name, name)] = compare_losses(own[name], other[name], level)
    return found


def compare_losses(first: FloatArray, second: FloatArray, level: float = LEVEL) -> dict[str, Any] | None:
    """:func:`paired_t` of losses as JSON; ``None`` without rows, or where one is beyond the largest double.

    Of one row there is the difference, and no test.
    """
    if not (len(first) and np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    if len(first) == 1:
        return Paired(float(first[0] - second[0]), None, None, None, 1, "paired-t", 0).to_json()
    return paired_t(first, second, level).to_json()
