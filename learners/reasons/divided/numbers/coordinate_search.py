"""A near row that stays divided and has the wanted answer, found soon, though a nearer one may be left: one known
number changes after the other.

What a tree answers is a sum over items (:mod:`learners.reasons.divided.numbers.near_clusters`): of each its share by
the values that stay missing, times whether the known numbers are within its box. While all numbers but one stay, that
is a sum over intervals, which one pass tells for all values of that number. So the search goes from the row on, by the
change that gains most for its distance, until one change more leads to the wanted answer, and then draws each number
back as far as the others allow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.reasons.divided.numbers.near_ends import NearNumbers
from learners.reasons.divided.numbers.stretched import Stretched
from learners.reasons.records import Way
from learners.types import BoolArray, FloatArray, IntArray


class _Column(NamedTuple):
    """One number that may change; S stretches between thresholds, I items.

    Attributes:
        price: of each stretch what its nearest value counts; infinite without one.
        begin, end: by item the first stretch within its box and the one after the last.
        own: the row's own stretch.
    """

    price: FloatArray
    begin: IntArray
    end: IntArray
    own: int


class CoordinateSearch:
    """The search of one row.

    Args:
        numbers: that may change.
        near: what is asked of them, as far as is looked.
        slack: how far above 0 the margins of the wanted answer shall be for rounding.
    """

    def __init__(self, numbers: Stretched, near: NearNumbers, slack: float) -> None:
        self._numbers, self._near, self._slack = numbers, near, slack
        self._columns = [
            _Column(numbers.price[first : last + 1], begin - first, end - first, own - first)
            for first, last, own, begin, end in zip(
                numbers.first.tolist(), numbers.last.tolist(), numbers.own.tolist(), near.begin, near.end, strict=True
            )
        ]
        self._worth = near.margins * near.shares
        self._at = [column.own for column in self._columns]
        inside = [self._within(place) for place in range(len(self._columns))]
        self._inside = np.array(inside, np.bool_).reshape(len(inside), len(near.shares))
        self._outside = (~self._inside).sum(axis=0)

    def nearest(self, limit: float) -> Way | None:
        """A row nearer than a limit that stays divided, if one is found."""
        found = self._completed(limit)
        if found is None:
            return None
        self._put(found)
        self._draw_back()
        if self._near.leaves[self._outside == 0].sum() < 2:
            return None
        return self._numbers.way(self._numbers.first + np.array(self._at, np.int64))

    def _within(self, place: int) -> BoolArray:
        column, at = self._columns[place], self._at[place]
        inside: BoolArray = (column.begin <= at) & (at < column.end)
        return inside

    def _set(self, place: int, stretch: int) -> None:
        """Move one number."""
        self._at[place] = stretch
        inside = self._within(place)
        self._outside += self._inside[place]
        self._outside -= inside
        self._inside[place] = inside

    def _put(self, at: list[int]) -> None:
        for place, stretch in enumerate(at):
            if self._at[place] != stretch:
                self._set(place, stretch)

    def _moved(self, at: list[int]) -> list[int]:
        return [place for place, column in enumerate(self._columns) if at[place] != column.own]

    def _total(self) -> float:
        """How far the numbers have moved."""
        return sum(float(column.price[stretch]) for column, stretch in zip(self._columns, self._at, strict=True))

    def _curve(self, place: int) -> FloatArray:
        """The least margin with each value of one number, while the others stay."""
        column = self._columns[place]
        reached = np.flatnonzero(self._outside == ~self._inside[place])
        begin, end, n = column.begin[reached], column.end[reached], len(column.price)
        sums = np.empty((len(self._worth), n))
        for margin, worth in enumerate(self._worth[:, reached]):
            steps = np.bincount(begin, worth, minlength=n + 1) - np.bincount(end, worth, minlength=n + 1)
            sums[margin] = np.cumsum(steps[:-1])
        worst: FloatArray = sums.min(axis=0)
        return worst

    def _completed(self, limit: float) -> list[int] | None:
        """From where the numbers are on: the nearest that one change more leads to the wanted answer, on the way of the
        changes that gain most for their distance."""
        best: list[int] | None = None
        while True:
            total, step, gain = self._total(), None, 0.0
            for place, column in enumerate(self._columns):
                totals = total - column.price[self._at[place]] + column.price
                worst = self._curve(place)
                near = totals < limit
                held = np.flatnonzero(near & (worst >= self._slack))
                if len(held):
                    stretch = int(held[np.argmin(totals[held])])
                    best, limit = [*self._at[:place], stretch, *self._at[place + 1 :]], float(totals[stretch])
                    near = totals < limit
                farther = np.flatnonzero(near & (totals > total))
                if len(farther):
                    with np.errstate(over="ignore"):  # a step of next to nothing
                        gains = (worst[farther] - worst[self._at[place]]) / (totals[farther] - total)
                    most = int(np.argmax(gains))
                    if gains[most] > gain:
                        step, gain = (place, int(farther[most])), float(gains[most])
            if step is None:
                return best
            self._set(*step)

    def _draw_back(self) -> None:
        """Move each number as far back as the others allow, those that count most first."""
        before = np.inf
        while self._total() < before:
            before = self._total()
            for place in sorted(self._moved(self._at), key=lambda one: -self._columns[one].price[self._at[one]]):
                price = np.where(self._curve(place) >= self._slack, self._columns[place].price, np.inf)
                if price.min() < self._columns[place].price[self._at[place]]:
                    self._set(place, int(np.argmin(price)))
