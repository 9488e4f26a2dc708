"""Fewer rows that answer alike: Hart's condensed set and Wilson's edited set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from learners.base import Progress
from learners.neighbors.distances import Metric
from learners.neighbors.leave_one_out import others
from learners.neighbors.voting import Kernel, class_shares, counted, votes_of
from learners.types import FloatArray, IntArray

if TYPE_CHECKING:
    from learners.neighbors.estimator import NeighborsEstimator
    from learners.neighbors.index import RowIndex
    from learners.neighbors.training_rows import Rows

_EDITING_K = 3.0


def condensed(metric: Metric, points: FloatArray, codes: IntArray) -> IntArray:
    """Rows by which 1-NN answers every row with its class, ascending; equal rows of different classes aside.

    Source: Hart, The condensed nearest neighbor rule (1968): rows are gone through in order, and each that the set
    so far answers wrongly joins it, again and again until none does.

    Args:
        metric: how rows are compared.
        points: coordinates, shape (n, d).
        codes: classes, shape (n,).
    """
    kept = np.zeros(len(points), np.bool_)
    nearest, power = np.full(len(points), -1), np.full(len(points), np.inf)

    def join(row: int) -> None:
        kept[row] = True
        own = metric.powers(points, points[row])
        nearer = (own < power) | ((own == power) & (row < nearest))
        nearest[nearer], power[nearer] = row, own[nearer]

    join(0)
    changed = True
    while changed:
        changed, after = False, 0
        while True:
            wrong = np.flatnonzero((codes[nearest[after:]] != codes[after:]) & ~kept[after:])
            if not len(wrong):
                break
            after += int(wrong[0])
            join(after)
            changed = True
    return np.flatnonzero(kept)


def edited(index: RowIndex, codes: IntArray, n_classes: int) -> IntArray:
    """Rows whose 3 nearest others do not outvote their class, ascending; all rows if none would be left.

    Source: Wilson, Asymptotic properties of nearest neighbor rules using edited data (1972).
    """
    agreed = np.zeros(len(codes), np.bool_)
    for place, found, weights in others(index, _EDITING_K):
        alone = weights.sum(axis=1) <= 0
        votes = votes_of(counted(np.where(alone[:, None], 1.0, weights), _EDITING_K), found.powers, Kernel())
        shares = class_shares(votes, codes[found.rows], n_classes)
        own = np.take_along_axis(shares, codes[place][:, None], 1)[:, 0]
        agreed[place] = (own >= shares.max(axis=1) - 1e-12) | alone
    return np.flatnonzero(agreed) if agreed.any() else np.arange(len(codes))


def reduced(
    estimator: NeighborsEstimator, index: RowIndex, rows: Rows, progress: Progress
) -> tuple[IntArray, FloatArray]:
    """The rows that an estimator's ``reduction`` keeps, ascending, and their weights.

    Condensed rows weigh 1 each, as of a row that is there twice one is kept, and so that the nearest alone answers.
    """
    way = getattr(estimator, "reduction", "none")
    codes = rows.numbers.astype(np.int64)
    kept = np.arange(len(codes))
    if way == "none":
        return kept, rows.weights
    progress(0.5, "reducing")
    if way.startswith("edited"):
        kept = edited(index, codes, len(rows.target.levels))
    if way.endswith("condensed"):
        kept = kept[condensed(index.metric, index.points[kept], codes[kept])]
        return kept, np.ones(len(kept))
    return kept, rows.weights[kept]
