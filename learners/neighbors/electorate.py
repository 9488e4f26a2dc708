"""Who votes on some rows, with all that an answer is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from learners.neighbors.index import RowIndex
from learners.types import FloatArray, IntArray


@dataclass(frozen=True)
class Electorate:
    """Who votes on each of m rows: the nearest first.

    Attributes:
        index: the fitted rows.
        rows: int64 (m, k), places among them.
        distances: float64 (m, k), ascending.
        counts: float64 (m, k), what counts of the rows' weights; 0 does not vote.
        votes: float64 (m, k), shares in the answer.
        numbers: float64 (m, k), the rows' classes' codes, or their numbers.
        n_classes: number of classes; 0 of numbers.
    """

    index: RowIndex
    rows: IntArray
    distances: FloatArray
    counts: FloatArray
    votes: FloatArray
    numbers: FloatArray
    n_classes: int


#: What the voters say of each point: from points (m, d) to answers, shape (m, K) or (m, 1).
Answer: TypeAlias = Callable[[FloatArray, Electorate], FloatArray]
