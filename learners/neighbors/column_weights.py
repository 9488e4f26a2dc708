"""How much each column counts, told by the training rows: by information, or by leave-one-out error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from learners.base import Progress
from learners.columns import Column
from learners.neighbors.coordinates import Coordinates, numbers_of
from learners.neighbors.index import make_index
from learners.neighbors.leave_one_out import Judged, errors_of
from learners.preprocessing.discretise import equal_frequency, minimum_length
from learners.table import Table
from learners.types import FloatArray, IntArray

if TYPE_CHECKING:
    from learners.neighbors.estimator import NeighborsEstimator
    from learners.neighbors.training_rows import Rows

#: Intervals of a numeric column, to tell what it explains of a number.
_INTERVALS = 10
#: Factors that are tried on a column's weight.
_FACTORS = (0.0, 0.25)
#: How often columns are gone through at most: what one tells depends on the weights of the others.
_TURNS = 3
#: Rows on which weights are tried, evenly spread over all.
_TRIED_ROWS = 1_000
_TRIED_K = 5
_TIE = 1e-12


def by_information(table: Table, numbers: FloatArray, weights: FloatArray, target: Column) -> FloatArray:
    """The weight of each column, the largest 1, shape (d,); all 1 where none tells anything.

    Of classes the information gain in bits, a numeric column cut by least description length (Fayyad and Irani 1993),
    less what chance would gain, (branches - 1)(K - 1) / (2 n ln 2) (Miller 1955); of numbers the share of the variance
    that 10 intervals or the levels explain, adjusted for their number. Missing is a branch of its own.

    Args:
        table: training rows.
        numbers: their class codes or numbers, shape (n,).
        weights: > 0, shape (n,).
        target: the target's column.
    """
    values = numbers_of(table)
    told = np.array(
        [
            _gain(_branches(column, values[:, index], numbers, weights, target), numbers, weights, target)
            for index, column in enumerate(table.columns)
        ]
    )
    return np.asarray(told / told.max()) if told.max(initial=0.0) > 0 else np.ones(len(told))


def _branches(column: Column, cells: FloatArray, numbers: FloatArray, weights: FloatArray, target: Column) -> IntArray:
    """Which branch each row is in, counted from 0 without gaps."""
    branch = np.full(len(cells), -1.0)
    known = ~np.isnan(cells)
    if not column.is_numeric:
        branch[known] = cells[known] + 1
    elif known.any():
        of_known = cells[known], weights[known]
        if target.is_numeric:
            cuts = equal_frequency(*of_known, _INTERVALS)
        else:
            codes = numbers[known].astype(np.int64)
            cuts = minimum_length(of_known[0], codes, of_known[1], len(target.levels))
        branch[known] = np.searchsorted(cuts, of_known[0])
    return np.unique(branch, return_inverse=True)[1].reshape(-1)


def _gain(branch: IntArray, numbers: FloatArray, weights: FloatArray, target: Column) -> float:
    n_branches, total = int(branch.max()) + 1, float(weights.sum())
    if n_branches < 2:
        return 0.0
    if target.is_numeric:
        return _explained(branch, numbers, weights, n_branches)
    n_classes = len(target.levels)
    counts = np.bincount(
        branch * n_classes + numbers.astype(np.int64), weights=weights, minlength=n_branches * n_classes
    )
    table = counts.astype(np.float64).reshape(n_branches, n_classes)
    sizes = table.sum(axis=1)
    gain = _entropy(table.sum(axis=0)) - sum(
        size / total * _entropy(row) for size, row in zip(sizes, table, strict=True)
    )
    occurring = int((table.sum(axis=0) > 0).sum())
    return max(0.0, float(gain) - (n_branches - 1) * (occurring - 1) / (2 * total * math.log(2)))


def _entropy(counts: FloatArray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _explained(branch: IntArray, numbers: FloatArray, weights: FloatArray, n_branches: int) -> float:
    """Adjusted R^2 of the branches' means, not below 0."""
    largest = float(np.abs(numbers).max())
    scaled = numbers / largest if largest > 0 else numbers
    total = float(weights.sum())
    sizes = np.bincount(branch, weights=weights, minlength=n_branches)
    means = np.bincount(branch, weights=weights * scaled, minlength=n_branches) / sizes
    mean = float((weights * scaled).sum()) / total
    spread = float((weights * (scaled - mean) ** 2).sum())
    left = float((weights * (scaled - means[branch]) ** 2).sum())
    if spread <= 0 or total <= n_branches:
        return 0.0
    return max(0.0, 1.0 - left / spread * (total - 1) / (total - n_branches))


def by_error(estimator: NeighborsEstimator, coordinates: Coordinates, rows: Rows, progress: Progress) -> Coordinates:
    """Coordinates whose columns count less, or not, where that lowers the leave-one-out error.

    Columns are gone through, those that tell least first, until none changes, three times at most; of each a quarter
    and none of its weight are tried, by the error (of classes the Brier score, which a few rows move evenly) of the
    learner's k, or 5 where k is to be chosen, on up to 1,000 rows spread evenly. A lighter column is kept where the
    error does not rise.
    """
    chosen = np.arange(0, len(rows.origin), max(1, -(-len(rows.origin) // _TRIED_ROWS)))
    table, weights, numbers = rows.table.take(chosen), rows.weights[chosen], rows.numbers[chosen]
    k = int(estimator.k) if estimator.choose_k == "given" and estimator.voters == "nearest" else _TRIED_K
    k = int(max(1, min(k, weights.sum() - 1)))

    def error_with(tried: FloatArray) -> float:
        made = coordinates.weighted(tried)
        index = make_index(made.metric_for(table), made.of(table), weights, "brute")
        judged = Judged(index, numbers, len(rows.target.levels), estimator._kernel, estimator._answer, by_shares=True)
        return float(errors_of(judged, [k])[0])

    weight = np.ones(len(coordinates.factor))
    order = np.argsort(by_information(table, numbers, weights, rows.target), kind="stable")
    least = error_with(weight)
    for turn in range(_TURNS):
        before = weight
        for step, column in enumerate(order.tolist()):
            progress(0.3 * (turn + step / len(order)) / _TURNS, "weighting columns")
            for factor in (one for one in _FACTORS if one < weight[column]):
                tried = weight.copy()
                tried[column] = factor
                error = error_with(tried) if (tried * coordinates.factor).any() else np.inf
                if error <= least * (1 + _TIE):
                    weight, least = tried, error
                    break
        if before is weight:
            break
    return coordinates.weighted(weight)
