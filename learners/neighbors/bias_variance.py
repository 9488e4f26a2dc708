"""What an error of k-NN regression is made of: noise, variance, which falls with k, and squared bias, which rises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.errors import DataError
from learners.neighbors.leave_one_out import Judged, errors_of, others
from learners.neighbors.regressor import NearestNeighborsRegressor
from learners.neighbors.voting import Kernel
from learners.types import FloatArray


@dataclass(frozen=True)
class ErrorParts:
    """Of one k the mean squared error and its parts: ``error = noise + variance + squared_bias``.

    Attributes:
        error: of training rows that the others answer.
        noise: variance of the target about its expectation, told by pairs of nearest rows.
        variance: of the answer, noise / k.
        squared_bias: the rest; by chance it may be below 0.
    """

    k: int
    error: float
    noise: float
    variance: float
    squared_bias: float


def asymptotic_bias(k: float, n_rows: int, density: tuple[float, float], slope: float, curvature: float) -> float:
    """The bias of k-NN at a point of one dimension: ``(m'' f + 2 m' f') / (24 f^3) (k / n)^2``.

    Source: Haerdle, Applied Nonparametric Regression (1990), section 3.2.

    Args:
        k: number of neighbours, of n_rows.
        n_rows: number of training rows.
        density: of the rows at the point, f, and its derivative f'.
        slope, curvature: first and second derivative m', m'' of the target's expectation.
    """
    f, f_slope = density
    return (curvature * f + 2 * slope * f_slope) / (24 * f**3) * (k / n_rows) ** 2


def asymptotic_variance(k: float, noise: float) -> float:
    """The variance of k-NN where the target has the variance ``noise``: ``noise / k``."""
    return noise / k


def error_parts(model: NearestNeighborsRegressor, X: Any, y: Any, ks: Sequence[int]) -> list[ErrorParts]:
    """The parts of the error for several k, by leave-one-out.

    The noise is half the mean squared difference of each row's number and its nearest row's (Rice 1984, in more
    dimensions), which is right but for what the expectation differs between them.

    Args:
        model: how distances are measured; its k does not matter, its kernel must be uniform.
        X, y: training rows, as for ``fit``.
        ks: each >= 1 and below the number of rows.

    Raises:
        DataError: a k is out of range, or the model votes by a kernel.
    """
    fitted = model.copied().fit(X, y)
    index, numbers = fitted.index_, fitted.numbers_
    if not ks or min(ks) < 1 or max(ks) >= index.n_rows or fitted.kernel != "uniform":
        raise DataError(f"k must be >= 1 and < {index.n_rows}, the number of rows, and the kernel uniform")
    errors = errors_of(Judged(index, numbers, 0, Kernel(), fitted._answer), ks)
    noise = _noise(fitted, numbers)
    found = []
    for k, error in zip(ks, errors.tolist(), strict=True):
        variance = asymptotic_variance(k, noise)
        found.append(ErrorParts(int(k), error, noise, variance, error - noise - variance))
    return found


def _noise(fitted: NearestNeighborsRegressor, numbers: FloatArray) -> float:
    total = 0.0
    for place, found, weights in others(fitted.index_, 1.0):
        nearest = found.rows[np.arange(len(found.rows)), np.argmax(weights > 0, axis=1)]
        total += float(((numbers[place] - numbers[nearest]) ** 2).sum()) / 2
    return total / len(numbers)
