"""The numbers of a row that may change, each by the *stretches* between the thresholds of its column: all values of one
are answered alike, so the nearest allowed one stands for them.
"""

from __future__ import annotations

import math

import numpy as np

from learners.reasons.boxes import Boxes
from learners.reasons.demands import nearest_numbers, steps_between
from learners.reasons.near_tree import Key
from learners.reasons.region_steps import RegionSteps, Way
from learners.table import Kind
from learners.types import FloatArray, IntArray

#: What a stretch costs that cannot be reached.
NEVER = 1e300
_TIE = 1e-9


class Stretched:
    """The stretches of the numbers that may change; S of all C columns.

    Args:
        boxes: of the tree.
        row: shape (d,).
        steps: what changes are allowed, and what they count.

    Attributes:
        columns: which they are, shape (C,).
        first, last: by column its first and last stretch.
        own: the row's own stretch in each.
        price: by stretch what its nearest allowed value counts; infinite without one.
        next: by stretch the nearest allowed one from there on, away from the row's own; perhaps of another column.
        above, below: what it costs at least to come to a stretch or one beyond: above the row's own, and below.
    """

    def __init__(self, boxes: Boxes, row: FloatArray, steps: RegionSteps) -> None:
        stretches = boxes.stretches
        firsts, self._row, self._steps = stretches.firsts, row, steps
        self.moves = (np.diff(firsts) > 0) & ~np.isnan(row) & ~steps.wishes.fixed
        self.columns = np.flatnonzero(self.moves)
        self.first, self.last = firsts[self.columns], firsts[self.columns + 1] - 1
        features = np.repeat(np.arange(len(row)), np.diff(firsts))
        blocked, self._cells, self._far = nearest_numbers(
            row, features, stretches.low, stretches.high, steps.wishes, steps.scales
        )
        own = [np.searchsorted(boxes.cuts[column], row[column]) for column in self.columns.tolist()]
        self.own: IntArray = self.first + np.array(own, np.int64)
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


def only_numbers_change(boxes: Boxes, row: FloatArray, steps: RegionSteps, limit: Key) -> bool:
    """Whether within a limit nothing but known numbers can change, since each other change is farther."""
    least = np.array(
        [
            steps_between(0.0, 1.0, len(column.levels)) if column.kind is Kind.ORDINAL and cell >= 0 else 1.0
            for column, cell in zip(boxes.columns, row.tolist(), strict=True)
        ]
    )
    others = (~boxes.numeric | np.isnan(row)) & ~steps.wishes.fixed
    return bool((least[others] * steps.weights[others] > limit[0] * (1 + _TIE)).all())
