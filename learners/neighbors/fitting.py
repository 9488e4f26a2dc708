"""Fitting the rows: those without weight go, columns are weighted, k is chosen, rows are thinned, the rest indexed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from learners.base import Progress
from learners.neighbors.column_weights import by_error, by_information
from learners.neighbors.distances import OwnMetric
from learners.neighbors.estimator import FittedRows, NeighborsEstimator
from learners.neighbors.index import RowIndex
from learners.neighbors.leave_one_out import Judged, choose_k
from learners.neighbors.training_rows import Rows
from learners.types import FloatArray, IntArray

#: Which rows an estimator keeps, ascending, and what they weigh from then on.
Reduce = Callable[[NeighborsEstimator, RowIndex, Rows, Progress], tuple[IntArray, FloatArray]]


def fit_rows(estimator: NeighborsEstimator, rows: Rows, progress: Progress, reduce: Reduce | None = None) -> FittedRows:
    """What an estimator keeps of training rows, those that ``reduce`` leaves."""
    progress(0.0, f"{len(rows.origin)} rows")
    coordinates = estimator._points(rows.table, rows.weights)
    if isinstance(coordinates.metric, OwnMetric):
        progress(0.2, "measuring by a function")
    elif estimator.weighting == "information-gain":
        coordinates = coordinates.weighted(by_information(rows.table, rows.numbers, rows.weights, rows.target))
    elif estimator.weighting == "cross-validation":
        coordinates = by_error(estimator, coordinates, rows, progress)
    points = coordinates.of(rows.table)
    progress(0.4, "indexing")
    compares = reduce is not None or estimator.choose_k != "given"
    metric = coordinates.metric_for(rows.table) if compares else coordinates.metric
    index = estimator._index(metric, points, rows.weights)
    kept, weights = (
        (np.arange(len(points)), rows.weights) if reduce is None else reduce(estimator, index, rows, progress)
    )
    if len(kept) < len(points) or (weights != rows.weights).any():
        index = estimator._index(metric, np.ascontiguousarray(points[kept]), weights)
    numbers, k = rows.numbers[kept], float(estimator.k)
    if estimator.choose_k == "leave-one-out":
        progress(0.7, "choosing k")
        judged = Judged(index, numbers, len(rows.target.levels), estimator._kernel, estimator._answer)
        k = float(choose_k(judged, int(estimator.k)))
    index = replace(index, metric=coordinates.metric)
    return FittedRows(coordinates, index, rows.origin[kept], numbers, k, len(rows.origin))
