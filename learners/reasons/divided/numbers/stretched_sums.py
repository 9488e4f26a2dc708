"""The numbers of a row that may change, and beside them the weighted sums that only known numbers decide.

A sum is one column more, whose stretches lie between the thresholds that the tree compares it with. It cannot be moved
by itself, so its stretches count nothing where what columns count is added up; how far a row is at least from one is
known all the same: as far as the column that moves the sum fastest would take it.
"""

from __future__ import annotations

import numpy as np

from learners.reasons.divided.numbers.stretched import Stretched
from learners.reasons.nearest.path_prices import SumPrices
from learners.reasons.nearest.programmes import Programmes
from learners.reasons.nearest.region_steps import KnownSteps, RegionSteps
from learners.reasons.records import Way
from learners.reasons.regions.path_regions import HalfSpace
from learners.reasons.regions.regions import Numbers, Region
from learners.reasons.regions.stretches import Stretches
from learners.trees.estimator import FittedTree
from learners.types import FloatArray, IntArray

_SLACK = 1e-9


class StretchedSums(Stretched):
    """Numbers and sums; S stretches of all C columns, the numbers first.

    Args:
        learner: a fitted tree.
        stretches: between the thresholds of its single numbers.
        row: shape (d,).
        steps: what changes are allowed, and what they count.
        programmes: find the nearest row that satisfies sums.

    Attributes:
        n_sums: how many columns are sums, numbered as the tree's tests are.
    """

    def __init__(
        self, learner: FittedTree, stretches: Stretches, row: FloatArray, steps: RegionSteps, programmes: Programmes
    ) -> None:
        super().__init__(stretches, row, steps)
        nodes, d = learner.tree_, len(row)
        self._tests, self._programmes = nodes.combined, programmes
        self._known: KnownSteps = {}
        self._numbers = self.columns
        values, prices = self._values(row), SumPrices.of(self._tests, steps)
        sums = np.flatnonzero((self._tests.need == 0) & np.isfinite(values) & np.isfinite(prices.cost))
        at = np.flatnonzero(nodes.feature >= d)
        bounds, of_test = nodes.threshold[at], nodes.feature[at] - d
        cuts = [np.unique(bounds[of_test == test]) for test in sums.tolist()]
        sizes = np.array([len(own) + 1 for own in cuts], np.int64)
        n_before, owner = len(self.high), np.repeat(sums, sizes)
        firsts = n_before + np.cumsum(sizes) - sizes
        low = np.concatenate([np.empty(0), *(np.append(-np.inf, own) for own in cuts)])
        high = np.concatenate([np.empty(0), *(np.append(own, np.inf) for own in cuts)])
        self._farther = prices.farther * (1 - _SLACK)
        value, farther = values[owner], self._farther[owner]
        none = np.zeros(n_before)
        self._far_above = np.append(none, np.maximum(low - value, 0.0) * farther)
        self._far_below = np.append(none, np.maximum(value - high, 0.0) * farther)
        self.n_sums = len(sums)
        self.columns = np.append(self.columns, d + sums)
        self.first, self.last = np.append(self.first, firsts), np.append(self.last, firsts + sizes - 1)
        self.low, self.high = np.append(self.low, low), np.append(self.high, high)
        self.next = np.append(self.next, n_before + np.arange(len(owner)))
        free = np.zeros(len(owner))
        self.price, self.above, self.below = (np.append(one, free) for one in (self.price, self.above, self.below))
        n_cuts = self.last - self.first
        self._cut_of = np.repeat(np.arange(len(self.columns)), n_cuts)
        self._cuts = self.high[np.arange(n_cuts.sum()) + np.repeat(self.first - np.cumsum(n_cuts) + n_cuts, n_cuts)]
        self.own = self.stretch(row)

    def farther(self, begin: IntArray, end: IntArray) -> FloatArray:
        far: FloatArray = np.maximum(self._far_above[begin], self._far_below[end - 1])
        return np.maximum(self.least(begin, end), far)

    def stretch(self, cells: FloatArray) -> IntArray:
        """By column the stretch of a row, shape (d,)."""
        values = np.append(cells[self._numbers], self._values(cells)[self.columns[len(self._numbers) :] - len(cells)])
        above = np.bincount(self._cut_of, values[self._cut_of] > self._cuts, len(values))
        return self.first + above.astype(np.int64)

    def nearest(self, low: IntArray, high: IntArray, most: float) -> Way | None:
        """The nearest row within stretches ``low`` to ``high`` of each column; None without any, or if all are farther
        than ``most``.

        Raises:
            SearchEnded: see :class:`Programmes`.
        """
        region: Region = {}
        sums: list[tuple[HalfSpace, float]] = []  # and how far a unit of each is at least
        for place in np.flatnonzero((low > self.first) | (high < self.last)).tolist():
            column, bottom, top = int(self.columns[place]), float(self.low[low[place]]), float(self.high[high[place]])
            if place < len(self._numbers):
                region[column] = Numbers(bottom, top, missing=False)
                continue
            number = column - len(self._row)
            test, far = self._tests.tests[number], float(self._farther[number])
            if low[place] > self.first[place]:
                sums.append((HalfSpace(test, bottom, above=True, unknown=False), far))
            if high[place] < self.last[place]:
                sums.append((HalfSpace(test, top, above=False, unknown=False), far))
        way = self._steps.nearest(self._row, region, self._known)
        if way is None:
            return None
        # from the box's nearest row on any way within the box adds to the distance
        missed = [(one, far) for one, far in sums if not one.holds(way.cells)]
        more = max((abs(one.test.value(way.cells) - one.threshold) * far for one, far in missed), default=0.0)
        if way.distance + more > most * (1 + _SLACK):
            return None
        return self._programmes.nearest(self._row, region, way, [one for one, _ in sums]) if missed else way

    def _values(self, cells: FloatArray) -> FloatArray:
        """Of all tests."""
        n = len(self._tests)
        return self._tests.values(np.arange(n), cells.reshape(-1, 1), np.zeros(n, np.int64))
