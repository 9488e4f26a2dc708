"""The nearest row that stays divided and has the wanted answer, where only known numbers can change within a limit.

A region gives each number an interval of the stretches between thresholds. Its nearest row takes the nearest stretch of
each; its bound is the best answer that its rows within the limit can reach, each test given the best branch by itself,
means taken where missing values divide a row (:mod:`learners.reasons.divided.numbers.near_clusters`). Where several
margins have to be reached their mean is bounded, those that the nearest row misses by most counted most. Regions are
cut in two by dozens at once; either half differs in one number only, so what the leaves cost is kept with a region and
changed by that. Halves whose bound is too low are left out, those whose nearest row has the wanted answer lower the
limit, and the others wait to be cut: beside the way of the nearest row, where most is promised. Bounds are never too
low, and cut regions hold all rows, so what is found when no region is left is the nearest of all.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from learners.reasons.divided.numbers.near_ends import NearNumbers
from learners.reasons.divided.numbers.stretched import NEVER, Stretched
from learners.reasons.nearest.region_steps import Key
from learners.reasons.records import Way
from learners.types import Array, BoolArray, FloatArray, IntArray

#: Regions that are cut at once, and most items times regions of them.
_AT_ONCE, _MOST_CELLS = 32, 200_000
#: Most cuts of a region.
_MOST_CUTS = 2
#: What an item is worth that a region does not reach.
_LOW = -1e200
#: What it is worth more than, if it does: a mean of what a region reaches and what it does not is low too.
_REACHED = -1e100
#: Margins that differ by this part of the largest are counted e times as much as the other.
_SOFT = 0.02
#: Those that would be counted less than this part of the most are left out.
_FAINT = 0.05
_TIE = 1e-9


@dataclass(slots=True)
class Region:
    """Rows, by what they differ in.

    Attributes:
        key: of the nearest row.
        low, high: by column the first and last stretch.
        stretch: by column that of the nearest row.
        prices: of each item, what a row of the region that reaches it costs at least; infinite if there is none.
        outside: of each item, how many numbers of the nearest row do not lead there.
        reached: the items that the nearest row reaches.
        margins: of its answer, shape (J,).
        cuts: where it is cut, one after the other: columns, and the stretches before which.
        way: the nearest row, if its stretches do not tell it.
    """

    key: Key
    low: IntArray
    high: IntArray
    stretch: IntArray
    prices: FloatArray
    outside: Array
    reached: IntArray
    margins: FloatArray
    cuts: list[tuple[int, int]]
    way: Way | None = None

    def keep(self, column: int, low: int, high: int) -> None:
        """Leave out all but some stretches of a column."""
        if low > self.low[column]:
            self.low = self.low.copy()
            self.low[column] = low
        if high < self.high[column]:
            self.high = self.high.copy()
            self.high[column] = high


class NumberSearch:
    """The search of one row.

    Args:
        numbers: that may change.
        near: what is asked of them within the limit.
        slack: how far below 0 the margins of the wanted answer may be for rounding.
        limit: only what is nearer is looked for.
        holds: which rows, shape (n, d), the tree itself answers as wanted.

    Attributes:
        best: the nearest row that was found.
        limit: its key, or the one that was given.
    """

    #: What a part takes beside its items, in the time of so many.
    _ITEMS_MORE = 0

    def __init__(
        self, numbers: Stretched, near: NearNumbers, slack: float, limit: Key, holds: Callable[[FloatArray], BoolArray]
    ) -> None:
        self.best: Way | None = None
        self.limit = limit
        self._numbers, self._near, self._slack, self._holds = numbers, near, slack, holds
        ends = near.clusters.ends()
        self._undivided = ends[near.leaves[ends] < 2]  # no row that reaches one of these is divided
        self._weighted = (near.margins * near.shares).T.copy()
        self._softness = _SOFT * float(np.abs(near.margins).max(initial=0.0)) or 1.0
        self._heap: list[tuple[Key, int, Region]] = []
        self._count = itertools.count()
        outside = self._outside(numbers.own)
        prices = near.asks.sum(axis=0)
        whole = Region((0.0, 0.0), numbers.first, numbers.last, numbers.own, prices, outside, *self._way(outside), [])
        self._look_at([whole])

    def run(self, spend: Callable[[int], bool], until: float = 0.0) -> bool:
        """Search on until no region is left; returns whether more might have been looked at.

        Args:
            spend: counts items times regions, and says whether more may be looked at.
            until: a row that is nearer than this distance is enough too.
        """
        n_items = len(self._near.shares)
        at_once = max(1, min(_AT_ONCE, _MOST_CELLS // n_items))
        while not self.is_complete and self.limit[0] >= until:
            regions: list[Region] = []
            while len(regions) < at_once and not self.is_complete:
                regions.append(heapq.heappop(self._heap)[2])
            if not spend((n_items + self._ITEMS_MORE) * sum(1 + len(one.cuts) for one in regions)):
                heapq.heappush(self._heap, (regions[0].key, -1, regions[0]))
                return False
            self._look_at([part for one in regions for part in self._parts(one)])
        return True

    @property
    def is_complete(self) -> bool:
        """Whether no region is left that may be nearer than what was found."""
        return not self._heap or self._heap[0][0] >= self.limit

    def _outside(self, stretch: IntArray) -> Array:
        """Of each item how many numbers of a row with these stretches do not lead there."""
        own, near = stretch[:, None], self._near
        outside: Array = ((near.begin > own) | (near.end <= own)).sum(axis=0).astype(np.int16)
        return outside

    def _way(self, outside: Array) -> tuple[IntArray, FloatArray]:
        """The items that a nearest row reaches, and the margins of its answer."""
        reached = np.flatnonzero(outside == 0)
        return reached, self._weighted[reached].sum(axis=0)

    def _parts(self, region: Region) -> Iterator[Region]:
        """The parts of a region: those that its cuts take from the nearest row, and what is left."""
        near, next_ = self._near, self._numbers.next
        for column, cut in region.cuts:
            begin, end, at = near.begin[column], near.end[column], int(region.stretch[column])
            is_up = cut > at
            to = int(next_[cut if is_up else cut - 1])
            low, high = (cut, int(region.high[column])) if is_up else (int(region.low[column]), cut - 1)
            above, below = end > cut, begin < cut
            if low <= to <= high:
                part = self._beyond(region, column, to)
                if part is not None:
                    part.keep(column, low, high)
                    part.prices[~above if is_up else ~below] = np.inf
                    yield part
            region.keep(column, *((int(region.low[column]), cut - 1) if is_up else (cut, int(region.high[column]))))
            region.prices[~below if is_up else ~above] = np.inf
        yield region

    def _beyond(self, region: Region, column: int, to: int) -> Region | None:
        """The rows of a region that take a stretch of a column or one beyond, if they may be near enough."""
        near, price, at = self._near, self._numbers.price, int(region.stretch[column])
        stretch = region.stretch.copy()
        stretch[column] = to
        key = self._numbers.key(stretch)
        if key >= self.limit:
            return None
        asks, begin, end = near.asks[column], near.begin[column], near.end[column]
        prices = region.prices + np.maximum(asks, price[to])
        prices -= np.maximum(asks, price[at])
        outside = region.outside + ((begin <= at) & (at < end))
        outside -= (begin <= to) & (to < end)
        return Region(key, region.low, region.high, stretch, prices, outside, *self._way(outside), [])

    def _look_at(self, regions: list[Region]) -> None:
        """Leave regions out, take their nearest rows, or put them off."""
        margins = np.array([one.margins for one in regions])
        for place in np.flatnonzero((margins >= -self._slack).all(axis=1)).tolist():
            one = regions[place]
            if one.key < self.limit and self._near.leaves[one.reached].sum() > 1:
                way = one.way or self._numbers.way(one.stretch)
                if (one.margins >= self._slack).all() or self._holds(way.cells[None])[0]:
                    self.best, self.limit = way, one.key
        waiting = self._bounded(regions, self._weights(margins), some_gain=True)
        if waiting:  # what the mean of the margins promises is nothing more than what the nearest row has
            weights = (margins == margins.min(axis=1, keepdims=True)).astype(float)
            weights /= weights.sum(axis=1, keepdims=True)
            self._bounded([regions[place] for place in waiting], weights[waiting], some_gain=False)

    def _weights(self, margins: FloatArray) -> FloatArray:
        """How much each margin counts where nearest rows have these, shape (R, J)."""
        weights: FloatArray = np.exp((margins.min(axis=1, keepdims=True) - margins) / self._softness)
        weights[weights < _FAINT] = 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def _worth(self, prices: list[FloatArray], weights: FloatArray) -> FloatArray:
        """What regions make of the items' own answers, shape (R, I), by prices and weights of the margins."""
        worth = np.zeros((len(prices), len(self._near.shares)))
        for one, own, of_margins in zip(prices, worth, weights, strict=True):
            for place in np.flatnonzero(of_margins).tolist():
                np.add(own, of_margins[place] * self._near.margins[place], out=own)
            own[one > min(self.limit[0] * (1 + _TIE), NEVER)] = _LOW
            own[self._undivided] = _LOW
        return worth

    def _bounded(self, regions: list[Region], weights: FloatArray, *, some_gain: bool) -> list[int]:
        """Put off the regions whose bound by some weights of the margins, shape (R, J), is not too low.

        Args:
            regions: R of them.
            weights: of the margins, shape (R, J).
            some_gain: whether only those whose bound is more than what the nearest row has.

        Returns:
            The places of those where that is not so.
        """
        near = self._near
        worth = self._worth([one.prices for one in regions], weights)
        best = near.clusters.lift(worth)
        waiting = []
        for place in np.flatnonzero(best[:, 0] >= -self._slack).tolist():
            one = regions[place]
            if one.key >= self.limit:
                continue
            clusters = near.clusters.cluster[one.reached]
            gains = near.shares[one.reached] * (best[place, clusters] - worth[place, one.reached])
            order = np.argsort(-gains)
            if some_gain:
                promised = np.cumsum(gains[order[:_MOST_CUTS]])
                enough = 1 + int(np.searchsorted(promised, best[place, 0] + self._slack, side="right"))
                order = order[:enough][gains[order[:enough]] > 0]
                if not len(order):
                    waiting.append(place)
                    continue
            cuts = (self._beside(one, worth[place], cluster) for cluster in clusters[order].tolist())
            one.cuts = [cut for cut in cuts if cut is not None][:_MOST_CUTS]
            if one.cuts:
                heapq.heappush(self._heap, (one.key, next(self._count), one))
        return waiting

    def _beside(self, region: Region, worth: FloatArray, cluster: int) -> tuple[int, int] | None:
        """Where the nearest row and the best other item of a cluster come apart: in the column that costs most."""
        items = self._near.clusters.members(cluster)
        items = items[(region.outside[items] > 0) & (worth[items] > _REACHED)]
        if not len(items):
            return None
        item = int(items[np.argmax(worth[items])])
        begin, end, at = self._near.begin[:, item], self._near.end[:, item], region.stretch
        apart = np.flatnonzero((begin > at) | (end <= at))
        column = int(apart[np.argmax(self._near.asks[apart, item] - self._numbers.price[at[apart]])])
        return column, int(begin[column] if begin[column] > at[column] else end[column])
