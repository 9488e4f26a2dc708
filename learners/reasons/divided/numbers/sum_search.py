"""The search of :mod:`learners.reasons.divided.numbers.number_search` where known numbers decide weighted sums too.

A region gives each sum an interval of its stretches as it gives one to each number. Its bound is found as before: each
sum is on the side that promises most, unless the region says on which. Its nearest row is no longer the nearest value
of each number; where that misses a sum a programme finds it (:mod:`learners.reasons.nearest.programmes`), and the sums
that the region leaves open are where this row takes them. So no region is left out that holds a wanted row, and each
row that is found is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from learners.reasons.divided.numbers.near_ends import NearNumbers
from learners.reasons.divided.numbers.number_search import NumberSearch, Region
from learners.reasons.divided.numbers.stretched import NEVER
from learners.reasons.divided.numbers.stretched_sums import StretchedSums
from learners.reasons.nearest.region_steps import Key, RegionSteps
from learners.types import BoolArray, FloatArray, IntArray


class SumSearch(NumberSearch):
    """The search of one row.

    Args:
        numbers: that may change, and sums.
        steps: how changes are compared; the others as of :class:`NumberSearch`.
    """

    _ITEMS_MORE = 5_000  # a programme, if one is needed

    def __init__(
        self,
        numbers: StretchedSums,
        near: NearNumbers,
        slack: float,
        limit: Key,
        holds: Callable[[FloatArray], BoolArray],
        steps: RegionSteps,
    ) -> None:
        self._sums, self._steps = numbers, steps
        super().__init__(numbers, near, slack, limit, holds)

    def _parts(self, region: Region) -> Iterator[Region]:
        """The parts of a region: those that its cuts take from the nearest row, and what is left."""
        for column, cut in region.cuts:
            low, high = int(region.low[column]), int(region.high[column])
            up, down = (max(low, cut), high), (low, min(high, cut - 1))
            beyond, rest = (up, down) if cut > region.stretch[column] else (down, up)
            part = self._part(region, column, *beyond)
            if part is not None:
                yield part
            region.prices = self._priced(region, column, *rest)
            region.keep(column, *rest)
        yield region

    def _priced(self, region: Region, column: int, low: int, high: int) -> FloatArray:
        """What a row takes at least to reach each item, if a column keeps some of its stretches only."""
        near, asks = self._near, self._near.asks[column]
        before, after = self._least(int(region.low[column]), int(region.high[column])), self._least(low, high)
        prices: FloatArray = region.prices + (np.maximum(asks, after) - np.maximum(asks, before))
        prices[(near.end[column] <= low) | (near.begin[column] > high)] = np.inf
        return prices

    def _least(self, low: int, high: int) -> float:
        return float(max(self._sums.above[low], self._sums.below[high]))

    def _part(self, region: Region, column: int, low: int, high: int) -> Region | None:
        """The rows of a region with some stretches of a column, if they may be near enough."""
        if low > high or self._least(low, high) >= NEVER:
            return None
        lows, highs = region.low.copy(), region.high.copy()
        lows[column], highs[column] = low, high
        prices = self._priced(region, column, low, high)
        weights = self._weights(region.margins[None])
        if self._near.clusters.lift(self._worth([prices], weights))[0, 0] < -self._slack:
            return None  # found sooner than its nearest row
        way = self._sums.nearest(lows, highs, self.limit[0])
        if way is None or (key := self._steps.key(way.cost, way.distance)) >= self.limit:
            return None
        stretch: IntArray = self._sums.stretch(way.cells)
        outside = self._outside(stretch)
        return Region(key, lows, highs, stretch, prices, outside, *self._way(outside), [], way)
