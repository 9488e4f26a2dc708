"""Leave-one-out: each training row answered by the others, for every k at once, in one search.

A row of weight w stands for w rows, of which one is left out: it still votes on itself with what is over 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from learners.columns import Column
from learners.neighbors.index import RowIndex
from learners.neighbors.search.found import Found
from learners.neighbors.voting import Kernel, class_shares, counted, mean_of, votes_of
from learners.types import FloatArray

#: Errors that differ by less are equal.
_TIE = 1e-12
#: Neighbours that are held at once.
_BLOCK = 2_000_000


def others(index: RowIndex, k: float) -> Iterator[tuple[slice, Found, FloatArray]]:
    """For some rows of the index at a time their neighbours, with weights of which one of the row's own is taken.

    Yields:
        Which rows; the neighbours found; their weights, shape (m, found), that reach k where rows do.
    """
    at_once = max(1, _BLOCK // max(int(min(k + 1, index.n_rows)), index.metric.n_columns))
    for first in range(0, index.n_rows, at_once):
        place = slice(first, min(first + at_once, index.n_rows))
        own = np.arange(place.start, place.stop)
        taken = np.minimum(index.weights[own], 1.0)
        found = index.by_weight(index.points[place], k + float(taken.max()))
        weights = index.weights[found.rows] - np.where(found.rows == own[:, None], taken[:, None], 0.0)
        yield place, found, weights


def errors_of(index: RowIndex, numbers: FloatArray, target: Column, largest: int, kernel: Kernel) -> FloatArray:
    """Leave-one-out error for k = 1 .. largest, shape (largest,): the share of wrong classes, or mean squared error.

    Args:
        index: the training rows.
        numbers: their class codes or numbers, shape (n,).
        target: the target's column.
        largest: the largest k.
        kernel: how votes fall with the distance.
    """
    errors = np.zeros(largest)
    for place, found, weights in others(index, float(largest)):
        distances = index.metric.root(found.powers)
        own, voters = numbers[place], numbers[found.rows]
        if not (weights.sum(axis=1) > 0).all():  # one row alone has no others
            return errors
        for k in range(1, largest + 1):
            votes = votes_of(counted(weights, float(k)), distances, kernel)
            if target.is_numeric:
                wrong = (mean_of(votes, voters) - own) ** 2
            else:
                shares = class_shares(votes, voters.astype(np.int64), len(target.levels))
                wrong = (np.argmax(shares >= shares.max(axis=1, keepdims=True) - _TIE, axis=1) != own) * 1.0
            errors[k - 1] += float((index.weights[place] * wrong).sum())
    return np.asarray(errors / index.weights.sum())


def choose_k(index: RowIndex, numbers: FloatArray, target: Column, largest: int, kernel: Kernel) -> int:
    """The k of the least leave-one-out error, the smallest of equal ones.

    Args:
        index, numbers, target, kernel: see :func:`errors_of`.
        largest: up to which k is tried, and below the number of rows.
    """
    total = index.weights.sum()
    errors = errors_of(index, numbers, target, int(max(1, min(largest, total - 1))), kernel)
    return int(np.argmax(errors <= errors.min() * (1 + _TIE))) + 1
