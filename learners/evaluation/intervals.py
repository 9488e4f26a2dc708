"""How sure a measured mean is: each interval says by which method it was made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from learners.errors import ParameterError, quoted
from learners.types import FloatArray

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """Bounds that hold the true value in a share ``level`` of all such experiments.

    Attributes:
        method: ``wilson``, ``student-t`` or ``corrected-student-t``.
    """

    low: float
    high: float
    level: float
    method: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def wilson(successes: float, trials: float, level: float = LEVEL) -> Interval | None:
    """Wilson's score interval of a proportion (Wilson 1927); ``None`` without trials."""
    from scipy.special import ndtri

    _check_level(level)
    if trials <= 0:
        return None
    z = float(ndtri((1 + level) / 2))
    share = successes / trials
    middle = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    # exact at the ends, where the formula leaves a rounding error
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Interval(low, high, level, "wilson")


def effective_rows(weights: FloatArray | None, n_rows: int) -> float:
    """How many rows of equal weight tell as much: (sum w)^2 / sum w^2 (Kish 1965)."""
    if weights is None:
        return float(n_rows)
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


@dataclass(frozen=True)
class MeanEstimate:
    """A mean over folds with its spread; what needs two folds is ``None`` with one.

    Attributes:
        mean, standard_deviation (n - 1 in the denominator), count: of the folds' values.
        standard_error: standard deviation / sqrt(count), as if the folds were independent. They
            share most of their training rows, so it is too small.
        interval: Student t with count - 1 degrees of freedom, from ``standard_error``.
        corrected_standard_error: standard deviation * sqrt(1/count + n_test/n_train), which allows
            for the shared rows (Nadeau and Bengio 2003).
        corrected_interval: Student t from ``corrected_standard_error``.

    What is beyond the largest double is ``None`` too.
    """

    mean: float | None
    standard_deviation: float | None
    standard_error: float | None
    interval: Interval | None
    corrected_standard_error: float | None
    corrected_interval: Interval | None
    count: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


#: The bounds of a quantity that may be any number.
UNBOUNDED = (-math.inf, math.inf)


def over_folds(
    values: Sequence[float] | FloatArray,
    test_share: float | None = None,
    level: float = LEVEL,
    bounds: tuple[float, float] = UNBOUNDED,
) -> MeanEstimate:
    """Mean, spread and intervals of one metric over folds.

    Args:
        values: the metric in each fold.
        test_share: n_test / n_train of a fold, for the corrected error; ``None`` leaves it out.
        level: of the intervals.
        bounds: the least and the greatest value that the metric can have; intervals are cut to them.
    """
    _check_level(level)
    count = len(values)
    if count == 0:
        return MeanEstimate(None, None, None, None, None, None, 0)
    cells = np.asarray(values, dtype=np.float64)
    scale = float(np.abs(cells).max()) or 1.0  # relative to the largest: squares stay in range
    mean = scale * float(np.mean(cells / scale))
    if count == 1:
        return MeanEstimate(mean, None, None, None, None, None, 1)
    deviation = scale * float(np.std(cells / scale, ddof=1))
    error = deviation / math.sqrt(count)
    corrected = math.nan if test_share is None else deviation * math.sqrt(1 / count + test_share)
    return MeanEstimate(
        mean,
        _told(deviation),
        _told(error),
        _interval(mean, error, count - 1, level, "student-t", bounds),
        _told(corrected),
        _interval(mean, corrected, count - 1, level, "corrected-student-t", bounds),
        count,
    )


def _told(value: float) -> float | None:
    """A spread beyond the largest double is not told: JSON has no infinity."""
    return value if math.isfinite(value) else None


def _interval(
    mean: float, error: float, degrees: int, level: float, method: str, bounds: tuple[float, float]
) -> Interval | None:
    if not math.isfinite(error):
        return None
    found = student(mean, error, degrees, level, method, bounds)
    return found if math.isfinite(found.low) and math.isfinite(found.high) else None


def student(
    mean: float,
    error: float,
    degrees: float,
    level: float = LEVEL,
    method: str = "student-t",
    bounds: tuple[float, float] = UNBOUNDED,
) -> Interval:
    """mean -+ t(degrees, level) * error, cut to the bounds of what the mean can be."""
    from scipy.special import stdtrit

    half = float(stdtrit(degrees, (1 + level) / 2)) * error
    least, most = bounds
    return Interval(max(mean - half, least), min(mean + half, most), level, method)


def of_rows(values: FloatArray, level: float = LEVEL, bounds: tuple[float, float] = UNBOUNDED) -> Interval | None:
    """Student's interval of the mean of independent rows' values, e.g. absolute errors on held-out rows."""
    if not np.isfinite(values).all():
        return None
    return over_folds(values, level=level, bounds=bounds).interval


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"parameter level must be a number > 0 and < 1; it is {quoted(level)}", field="level")
