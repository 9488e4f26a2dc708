"""A combined test as a column: what tells a tree, its paths and its rules of it in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.columns import Column
from learners.conditions import AnyCondition, Condition, CountCondition, SumCondition
from learners.trees.combined.tests import CombinedTest, CombinedTests
from learners.types import FloatArray, IntArray, Scalar

_LARGEST = float(np.finfo(np.float64).max)
_NOTHING = CombinedTest(1, ())


@dataclass(frozen=True)
class CombinedColumn(Column):
    """A numeric column of a combined test's values.

    Attributes:
        test: which values.
        terms: of a count what its terms ask, in labels.
        weights: of a sum its columns' names and weights.
        columns: of each term the column of the table.
    """

    test: CombinedTest = _NOTHING
    terms: tuple[Condition, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()
    columns: tuple[Column, ...] = ()

    def condition(self, low: float, high: float) -> AnyCondition:
        """What is asked of a row whose value lies in ``low < value <= high``; one of them is infinite."""
        above = low > -np.inf
        if self.test.is_sum:
            return SumCondition(self.weights, ">" if above else "<=", low if above else high)
        return CountCondition(self.terms, self.test.need, holds=not above)

    def observed(self, cells: FloatArray | Sequence[float]) -> Scalar | None:
        """What a row has: the sum, the value that an interval is asked of, or how many terms are known to hold.

        A sum that no double holds is told as the largest one; ``None`` where the test's value is missing.
        """
        value = self.test.value(cells)
        if np.isnan(value):
            return None
        if self.test.interval is not None:
            number: Scalar | None = self.columns[0].decode(float(cells[self.test.interval[0]]))
            return number
        if self.test.is_sum:
            return min(max(value, -_LARGEST), _LARGEST)
        return self.test.counted(cells)[0]

    def values(self, cells: FloatArray) -> FloatArray:
        """The test's values of a table's cells by column, shape (d, n); shape (n,)."""
        rows: IntArray = np.arange(cells.shape[1])
        tests = CombinedTests.of(len(cells), [self.test])
        return tests.values(np.zeros(len(rows), np.int64), cells, rows)
