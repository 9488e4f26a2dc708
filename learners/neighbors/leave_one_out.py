"""Leave-one-out: each training row answered by the others, for every k at once, in one search.

A row of weight w stands for w rows, of which one is left out: it still votes on itself with what is over 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from learners.neighbors.electorate import Answer, Electorate
from learners.neighbors.index import RowIndex
from learners.neighbors.search.found import Found
from learners.neighbors.voting import Kernel, counted, votes_of
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


@dataclass(frozen=True)
class Judged:
    """Training rows and how they are answered.

    Attributes:
        index: the rows.
        numbers: their class codes or numbers, shape (n,).
        n_classes: number of classes; 0 of numbers.
        kernel: how votes fall with the distance.
        answer: what voters say.
        by_shares: whether classes are judged by the Brier score of their shares, not by wrong answers.
    """

    index: RowIndex
    numbers: FloatArray
    n_classes: int
    kernel: Kernel
    answer: Answer
    by_shares: bool = False


def errors_of(judged: Judged, ks: Sequence[int]) -> FloatArray:
    """Leave-one-out error for each k: the share of wrong classes, Brier score or mean squared error; 0 of one row."""
    index, errors = judged.index, np.zeros(len(ks))
    for place, found, weights in others(index, float(max(ks))):
        distances = index.metric.root(found.powers)
        own, voters = judged.numbers[place], judged.numbers[found.rows]
        if not (weights.sum(axis=1) > 0).all():  # one row alone has no others
            return errors
        for position, k in enumerate(ks):
            counts = counted(weights, float(k))
            votes = votes_of(counts, distances, judged.kernel)
            electorate = Electorate(index, found.rows, distances, counts, votes, voters, judged.n_classes)
            answers = judged.answer(index.points[place], electorate)
            if judged.n_classes and judged.by_shares:
                wrong = ((answers - (own[:, None] == np.arange(judged.n_classes))) ** 2).sum(axis=1)
            elif judged.n_classes:
                best = answers >= answers.max(axis=1, keepdims=True) - _TIE
                wrong = (np.argmax(best, axis=1) != own) * 1.0
            else:
                wrong = (answers[:, 0] - own) ** 2
            errors[position] += float((index.weights[place] * wrong).sum())
    return np.asarray(errors / index.weights.sum())


def choose_k(judged: Judged, largest: int) -> int:
    """The k up to ``largest``, and below the number of rows, of the least error; the smallest of equal ones."""
    total = judged.index.weights.sum()
    errors = errors_of(judged, range(1, int(max(1, min(largest, total - 1))) + 1))
    return int(np.argmax(errors <= errors.min() * (1 + _TIE))) + 1
