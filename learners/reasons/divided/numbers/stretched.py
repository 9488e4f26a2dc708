"""The numbers of a row that may change, each by the *stretches* between the thresholds of its column: all values of one
are answered alike, so the nearest allowed one stands for them.
"""

from __future__ import annotations

import math

import numpy as np

from learners.reasons.nearest.demands import nearest_numbers, steps_between
from learners.reasons.nearest.region_steps import Key, RegionSteps
from learners.reasons.records import Way
from learners.reasons.regions.stretches import Stretches
from learners.table import Kind
from learners.types import FloatArray, IntArray

#: What a stretch costs that cannot be reached.
NEVER = 1e300
_TIE = 1e-9


class Stretched:
    """The stretches of the numbers that may change; S of all C columns.

    Args:
        stretches: between a tree's thresholds.
        row: shape (d,).
        steps: what changes are allowed, and what they count.

    Attributes:
        fixed: which columns of the table may not change, shape (d,).
        columns: which numbers may, shape (C,).
        first, last: by column its first and last stretch.
        low, high: the bounds of each stretch.
        own: the row's own stretch in each.
        price: by stretch what its nearest allowed value counts; infinite without one.
        next: by stretch the nearest allowed one from there on, away from the row's own; perhaps of another column.
        above, below: what it costs at least to come to a stretch or one beyond: above the row's own, and below.
    """

    def __init__(self, stretches: Stretches, row: FloatArray, steps: RegionSteps) -> None:
        firsts, self._row, self._steps = stretches.firsts, row, steps
        self.low, self.high = stretches.low, stretches.high
        self.fixed = steps.wishes.fixed
        self.moves = (np.diff(firsts) > 0) & ~np.isnan(row) & ~self.fixed
        self.columns = np.flatnonzero(self.moves)
        self.first, self.last = firsts[self.columns], firsts[self.columns + 1] - 1
        features = np.repeat(np.arange(len(row)), np.diff(firsts))
        blocked, self._cells, self._far = nearest_numbers(
            row, features, stretches.low, stretches.high, steps.wishes, steps.scales
        )
        own = [
            first + int(np.searchsorted(stretches.high[first:last], row[column]))
            for column, first, last in zip(self.columns.tolist(), self.first.tolist(), self.last.tolist(), strict=True)
        ]
        self.own = np.array(own, np.int64)
        blocked[self.own], self._cells[self.own], self._far[self.own] = False, row[self.columns], 0.0
        self.price = np.where(blocked, np.inf, self._far * steps.weights[features])
        self.next = np.arange(len(blocked))
        self.above, self.below = np.zeros(len(blocked)), np.zeros(len(blocked))
        for first, last, mine in zip(self.first.tolist(), self.last.tolist(), self.own.tolist(), strict=True):
            part, numbers = slice(first, last + 1), np.arange(first, last + 1)
            up = np.where(blocked[part], last + 1, numbers)
            down = np.where(blocked[part], first - 1, numbers)
            up, down = np.minimum.accumulate(up[::-1])[::-1], np.maximum.accumulate(down)
            self.next[part] = np.where(numbers > mine, up, np.where(numbers < mine, down, mine))
            price = np.append(self.price[part], NEVER)  # place -1 is none too
            self.above[part] = np.where(numbers > mine, price[up - first], 0.0)
            self.below[part] = np.where(numbers < mine, price[down - first], 0.0)

    def least(self, begin: IntArray, end: IntArray) -> FloatArray:
        """What it costs at least to come to stretches from ``begin`` on, before ``end``; any shape."""
        least: FloatArray = np.maximum(self.above[begin], self.below[end - 1])
        return least

    def farther(self, begin: IntArray, end: IntArray) -> FloatArray:
        """How far a row is at least from stretches from ``begin`` on, before ``end``; no part of a sum of distances."""
        return self.least(begin, end)

    def key(self, stretch: IntArray) -> Key:
        """What the nearest row with a stretch of each column is compared by."""
        costs = self._steps.wishes.costs[self.columns[stretch != self.own]]
        return self._steps.key(math.fsum(costs.tolist()), math.fsum(self.price[stretch].tolist()))

    def way(self, stretch: IntArray) -> Way:
        """That row."""
        cells, steps = self._row.copy(), {}
        for place in np.flatnonzero(stretch != self.own).tolist():
            column = int(self.columns[place])
            cells[column], steps[column] = self._cells[stretch[place]], float(self._far[stretch[place]])
        return self._steps.way(cells, steps)


def least_other_change(row: FloatArray, steps: RegionSteps) -> float:
    """How far a change is at least that is none of a known number."""
    least = np.array(
        [
            steps_between(0.0, 1.0, len(column.levels)) if column.kind is Kind.ORDINAL and cell >= 0 else 1.0
            for column, cell in zip(steps.columns, row.tolist(), strict=True)
        ]
    )
    numeric = np.array([column.is_numeric for column in steps.columns])
    others = (~numeric | np.isnan(row)) & ~steps.wishes.fixed
    return float((least[others] * steps.weights[others]).min(initial=np.inf))
