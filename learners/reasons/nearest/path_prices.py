"""What the paths of a tree with tests of several values cost a row at least: for all leaves at once.

What a path asks of single columns is a product of cells, so the nearest values of those columns that are outside add
up. Each weighted sum that the row misses asks for one more changed column, and for the distance at which the column
that moves it fastest would meet it, unless one of its columns moves anyway. Counts add nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from learners.reasons.nearest.demands import nearest_numbers, permitted_levels, steps_between
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.regions.path_regions import Path, PathRegions, paths_of
from learners.reasons.regions.regions import Levels, Numbers
from learners.table import Kind
from learners.trees.combined.tests import CombinedTests
from learners.trees.estimator import FittedTree
from learners.types import BoolArray, FloatArray, IntArray

#: Bounds are this much lower, in relation to their size, so that rounding never makes them too high.
_SLACK = 1e-9


@dataclass(frozen=True)
class SumPrices:
    """Of each test of a tree, if it is a sum, what meeting it takes more; shape (K,).

    Attributes:
        cost: the least of its columns; infinite where none may be changed.
        farther: the least distance for a unit of the sum.
    """

    cost: FloatArray
    farther: FloatArray

    @classmethod
    def of(cls, tests: CombinedTests, steps: RegionSteps) -> SumPrices:
        """By what is allowed and how it is compared."""
        wishes = steps.wishes
        start = np.cumsum(tests.n_terms, dtype=np.int64) - tests.n_terms
        feature = tests.feature
        free = ~wishes.fixed[feature]
        cost = np.minimum.reduceat(np.where(free, wishes.costs[feature], np.inf), start)
        weight = np.minimum.reduceat(np.where(free, steps.weights[feature], np.inf), start)
        with np.errstate(over="ignore", invalid="ignore"):
            speed = np.abs(tests.number) * steps.scales.width[feature]
        fastest = np.maximum.reduceat(speed, start)
        known = (tests.need == 0) & (fastest > 0) & np.isfinite(fastest) & np.isfinite(weight)
        return cls(cost, np.where(known, weight, 0.0) / np.where(known, fastest, 1.0))


class PathPrices:
    """The demands of P paths as arrays.

    Args:
        paths: of leaves.
        tests: the tree's tests of several values.
        n_columns: d.
    """

    def __init__(self, paths: Sequence[Path], tests: CombinedTests, n_columns: int) -> None:
        self._n_paths, self._tests = len(paths), tests
        self.leaves = np.array([path.leaf for path in paths], np.int64)
        asked = [(place, feature, cells) for place, path in enumerate(paths) for feature, cells in path.region.items()]
        numbers = [(place, feature, cells) for place, feature, cells in asked if isinstance(cells, Numbers)]
        self._owner = np.array([place for place, _, _ in numbers], np.int64)
        self._feature = np.array([feature for _, feature, _ in numbers], np.int64)
        bounds = [(cells.low, cells.high, cells.missing) for _, _, cells in numbers]
        self._low, self._high, missing = np.array(bounds, np.float64).reshape(-1, 3).T.copy()
        self._missing = missing > 0
        self._levels: dict[int, tuple[IntArray, BoolArray]] = {}
        for feature in {feature for _, feature, cells in asked if isinstance(cells, Levels)}:
            own = [(place, cells.flags) for place, one, cells in asked if one == feature and isinstance(cells, Levels)]
            self._levels[feature] = np.array([place for place, _ in own]), np.array([flags for _, flags in own])
        self._set_sums(paths, n_columns)

    def _set_sums(self, paths: Sequence[Path], n_columns: int) -> None:
        places = {id(test): place for place, test in enumerate(self._tests.tests)}
        sums = [(place, places[id(one.test)], one) for place, path in enumerate(paths) for one in path.sums]
        self._sum_owner = np.array([place for place, _, _ in sums], np.int64)
        self._sum = np.array([test for _, test, _ in sums], np.int64)
        self._threshold = np.array([one.threshold for _, _, one in sums])
        self._above = np.array([one.above for _, _, one in sums], np.bool_)
        self._unknown_will_do = np.array([one.unknown for _, _, one in sums], np.bool_)
        looks_at = np.zeros((len(self._tests), n_columns), np.bool_)
        for place, test in enumerate(self._tests.tests):
            looks_at[place, [term.feature for term in test.terms]] = True
        #: By sum of a path the columns that it looks at.
        self._looks_at = looks_at[self._sum]

    def of_row(self, row: FloatArray, steps: RegionSteps, sums: SumPrices) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Of each path whether a row, shape (d,), may be changed to reach it, and the least cost and distance."""
        needed = np.zeros((self._n_paths, len(row)), np.bool_)
        blocked = np.zeros(self._n_paths, np.bool_)
        far = np.zeros((self._n_paths, len(row)))
        self._add_numbers(row, steps, needed, blocked, far)
        for feature in self._levels:
            self._add_levels(row, feature, steps, needed, blocked, far)
        blocked |= (needed & steps.wishes.fixed).any(axis=1)
        cost, distance = needed @ steps.wishes.costs, far @ steps.weights
        more_cost, farther, hopeless = self._of_sums(row, needed, sums)
        blocked |= hopeless
        return ~blocked, (cost + more_cost) * (1 - _SLACK), (distance + farther) * (1 - _SLACK)

    def _add_numbers(
        self, row: FloatArray, steps: RegionSteps, needed: BoolArray, blocked: BoolArray, far: FloatArray
    ) -> None:
        cells = row[self._feature]
        held = np.where(np.isnan(cells), self._missing, (self._low < cells) & (cells <= self._high))
        out = np.flatnonzero(~held)
        owner, feature, low, high = self._owner[out], self._feature[out], self._low[out], self._high[out]
        never, _, distance = nearest_numbers(row, feature, low, high, steps.wishes, steps.scales)
        never |= ~(low < high)
        needed[owner, feature] = True
        far[owner, feature] = np.where(never, 0.0, distance)
        blocked[owner[never]] = True

    def _add_levels(
        self, row: FloatArray, feature: int, steps: RegionSteps, needed: BoolArray, blocked: BoolArray, far: FloatArray
    ) -> None:
        owner, flags = self._levels[feature]
        own, column = float(row[feature]), steps.columns[feature]
        n = len(column.levels)
        out = np.flatnonzero(~flags[:, -1 if np.isnan(own) else -2 if own < 0 else int(own)])
        allowed = flags[out, :n] & permitted_levels(column, row, steps.wishes, feature)
        steps_to = np.ones(n)
        if column.kind is Kind.ORDINAL and own >= 0:
            steps_to = np.array([steps_between(own, code, n) for code in range(n)])
        nearest = np.where(allowed, steps_to, np.inf).min(axis=1, initial=np.inf)
        needed[owner[out], feature] = True
        blocked[owner[out[~np.isfinite(nearest)]]] = True
        far[owner[out], feature] = np.where(np.isfinite(nearest), nearest, 0.0)

    def _of_sums(self, row: FloatArray, needed: BoolArray, sums: SumPrices) -> tuple[FloatArray, FloatArray, BoolArray]:
        """What the sums that a row misses take more at least, and of which paths some can never be met."""
        cost, distance = np.zeros(self._n_paths), np.zeros(self._n_paths)
        hopeless = np.zeros(self._n_paths, np.bool_)
        if not len(self._sum):
            return cost, distance, hopeless
        n = len(self._tests)
        values = self._tests.values(np.arange(n), row.reshape(-1, 1), np.zeros(n, np.int64))[self._sum]
        moves = (needed[self._sum_owner] & self._looks_at).any(axis=1)
        met = np.where(np.isnan(values), self._unknown_will_do, (values > self._threshold) == self._above)
        missed = np.flatnonzero(~met & ~moves & np.isfinite(values))
        owner, test = self._sum_owner[missed], self._sum[missed]
        np.maximum.at(cost, owner, sums.cost[test])
        np.maximum.at(distance, owner, np.abs(values[missed] - self._threshold[missed]) * sums.farther[test])
        hopeless[owner[np.isinf(sums.cost[test])]] = True
        return np.where(hopeless, 0.0, cost), distance, hopeless


def prices_of(learner: FittedTree) -> PathPrices:
    """Those of a fitted tree, made once for each."""
    paths = paths_of(learner)
    known = _known.get(paths)
    if known is None:
        known = _known[paths] = PathPrices(paths.every, learner.tree_.combined, len(learner.columns_))
    return known


_known: WeakKeyDictionary[PathRegions, PathPrices] = WeakKeyDictionary()
