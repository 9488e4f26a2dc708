"""Leave-one-out without fitting n times, where that is exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.neighbors.electorate import Electorate
from learners.neighbors.estimator import NeighborsEstimator
from learners.neighbors.leave_one_out import others
from learners.neighbors.voting import counted, votes_of
from learners.types import FloatArray


def is_exact(estimator: NeighborsEstimator) -> bool:
    """Whether nothing but the rows themselves is learned from them, so that a row is left out by passing over it.

    Columns must be measured in their own unit. A column in which one row alone differs has no spread without that
    row and does not count then; with equal votes and any metric that adds up differences the nearest are the same.
    """
    return (
        estimator.distance_function_ is None
        and estimator.voters == "nearest"
        and estimator.choose_k == "given"
        and estimator.metric not in ("chebyshev", "minimum")
        and estimator.scaling == "none"
        and estimator.weighting in ("equal", "given")
        and estimator.kernel == "uniform"
        and estimator.search != "hashing"
        and getattr(estimator, "reduction", "none") == "none"
    )


def left_out_answers(estimator: NeighborsEstimator, X: Any, y: Any, sample_weight: Any) -> FloatArray | None:
    """The answer to each row of what is learned from all others, shape (n, answers).

    Returns:
        ``None`` where that is not exact: also with weights, levels or missing values.
    """
    if not is_exact(estimator) or sample_weight is not None:
        return None
    if any(not column.is_numeric for column in X.columns) or np.isnan(X.values).any():
        return None
    fitted = estimator.fit(X, y)
    index, k = fitted.index_, float(fitted.k_)
    answers = np.empty((index.n_rows, fitted._n_answers))
    for place, found, weights in others(index, k):
        distances = index.metric.root(found.powers)
        counts = counted(weights, k)
        votes = votes_of(counts, distances, fitted._kernel)
        numbers, n_classes = fitted.numbers_[found.rows], len(fitted.target_.levels)
        electorate = Electorate(index, found.rows, distances, counts, votes, numbers, n_classes)
        answers[place] = fitted._answer(index.points[place], electorate)
    return answers
