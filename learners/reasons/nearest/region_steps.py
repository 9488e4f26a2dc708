"""The nearest row of a region: of each column that lies outside, the nearest allowed cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from learners.reasons.nearest.demands import nearest_numbers, permitted_levels, scaled_steps, steps_between
from learners.reasons.records import Way
from learners.reasons.regions.regions import Cells, Levels, Numbers, Region
from learners.reasons.wanted.scales import Scales
from learners.reasons.wanted.wishes import Wishes
from learners.table import Column, Kind
from learners.types import FloatArray

#: Costs and distances are compared by so many digits, so that rounding parts no equal ones.
_DIGITS = 10
_UNKNOWN_STEP = 1.0
#: What is compared first and second: cost and distance, or distance and cost.
Key: TypeAlias = tuple[float, float]
#: By column and cells that are kept, the nearest cell and how far it is; None where no allowed one is.
KnownSteps = dict[tuple[int, Cells], tuple[float, float] | None]


class RegionSteps:
    """Steps into regions under a caller's wishes.

    Args:
        columns: the model's.
        wishes: what may be changed and at what price.
        scales: of the columns.
        by_distance: whether distances, each times its column's cost, are compared before costs.
    """

    def __init__(self, columns: tuple[Column, ...], wishes: Wishes, scales: Scales, *, by_distance: bool) -> None:
        self.columns = columns
        self.wishes = wishes
        self.scales = scales
        self.by_distance = by_distance
        #: What a scaled step of each column counts.
        self.weights = wishes.costs if by_distance else np.ones(len(columns))

    def key(self, cost: float, distance: float) -> Key:
        """What ways are sorted by."""
        return rounded_key(distance, cost) if self.by_distance else rounded_key(cost, distance)

    def nearest(self, row: FloatArray, region: Region, known: KnownSteps) -> Way | None:
        """The nearest row of a region; None where no allowed change leads there."""
        cells = row.copy()
        steps: dict[int, float] = {}
        for feature, left in region.items():
            if left.holds(float(row[feature])):
                continue
            step = self.step(row, feature, left, known)
            if step is None:
                return None
            cells[feature], steps[feature] = step
        return self.way(cells, steps)

    def step(self, row: FloatArray, feature: int, left: Cells, known: KnownSteps) -> tuple[float, float] | None:
        """The nearest of some cells of a column that do not hold the row's own, and how far it is; None without any."""
        if (feature, left) not in known:
            known[feature, left] = self._step(row, feature, left)
        return known[feature, left]

    def steps(self, row: FloatArray, sets: Sequence[tuple[int, Cells]]) -> KnownSteps:
        """The same of many sets of numbers at once."""
        numbers = [
            (feature, cells)
            for feature, cells in sets
            if isinstance(cells, Numbers) and cells.low < cells.high and not cells.holds(float(row[feature]))
        ]
        known: KnownSteps = {}
        if numbers:
            features = np.array([feature for feature, _ in numbers])
            low, high = np.array([(cells.low, cells.high) for _, cells in numbers]).T.copy()
            blocked, target, distance = nearest_numbers(row, features, low, high, self.wishes, self.scales)
            blocked |= self.wishes.fixed[features]
            for one, never, cell, far in zip(
                numbers, blocked.tolist(), target.tolist(), distance.tolist(), strict=True
            ):
                known[one] = None if never else (cell, far)
        return known

    def way(self, cells: FloatArray, steps: dict[int, float]) -> Way:
        """The changed row with what its steps come to."""
        cost = math.fsum(float(self.wishes.costs[feature]) for feature in steps)
        distance = math.fsum(step * float(self.weights[feature]) for feature, step in steps.items())
        return Way(cells, cost, distance, steps)

    def number_step(self, row: FloatArray, feature: int, after: float) -> float:
        """How far a new value of a numeric column is."""
        before = row[feature]
        if math.isnan(before):
            return _UNKNOWN_STEP
        return float(scaled_steps(np.array([after]), np.array([before]), self.scales.width[[feature]])[0])

    def _step(self, row: FloatArray, feature: int, left: Cells) -> tuple[float, float] | None:
        """The nearest allowed cell of a column and how far it is."""
        if self.wishes.fixed[feature]:
            return None
        if isinstance(left, Numbers):
            if not left.low < left.high:
                return None
            places, bounds = np.array([feature]), (np.array([left.low]), np.array([left.high]))
            blocked, target, distance = nearest_numbers(row, places, *bounds, self.wishes, self.scales)
            return None if blocked[0] else (float(target[0]), float(distance[0]))
        return self._level_step(row, feature, left)

    def _level_step(self, row: FloatArray, feature: int, left: Levels) -> tuple[float, float] | None:
        column = self.columns[feature]
        open_codes = np.flatnonzero(left.flags[:-2] & permitted_levels(column, row, self.wishes, feature))
        if not len(open_codes):
            return None
        own = float(row[feature])
        if column.kind is not Kind.ORDINAL or not own >= 0:
            return float(open_codes[0]), _UNKNOWN_STEP
        nearest = open_codes[np.argmin(np.abs(open_codes - own))]
        return float(nearest), steps_between(own, float(nearest), len(column.levels))


def rounded_key(first: float, second: float) -> Key:
    """What is compared first and second, without what rounding makes of equal sums."""
    return float(f"{first:.{_DIGITS - 1}e}"), float(f"{second:.{_DIGITS - 1}e}")
