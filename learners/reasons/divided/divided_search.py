"""The nearest rows that are divided among leaves of a tree of boxes and have the wanted answer, by distance.

Such a row is answered by the mean of several leaves, so no single leaf's box holds it. The search knows of a region of
rows (see :mod:`learners.reasons.divided.near_tree`) the nearest one and a bound of the answer: the best that its rows
can reach within a budget, each test given the best branch by itself, means taken where all of them are divided. A
region whose bound is too low waits until the budget has grown; of another one the nearest row is looked at. If that has
not the wanted answer, the region is cut at the test on its way which keeps most from it. Bounds are never too low, and
cut regions hold all rows, so the rows are found nearest first. Budgets grow from leaf to leaf, and the part of the tree
that is looked at with them: few changed rows need more than a few hundred nodes.

Mostly nothing but known numbers can change as near as the nearest such row: a missing value that is filled in, and a
nominal level that changes, is farther. Then :mod:`learners.reasons.divided.numbers.number_search` finds it, among the
nearest leaves first; for more a descent (:mod:`learners.reasons.divided.numbers.coordinate_search`) says beyond which
distance none is needed.

A row that changes all columns of one that was found before, and others, is passed over.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Set

import numpy as np

from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.divided.near_region import Fork, NearRegion
from learners.reasons.divided.near_tree import NearTree, Prices
from learners.reasons.divided.numbers.among_numbers import NEAR, AmongNumbers
from learners.reasons.divided.numbers.near_ends import Ends, NearNumbers
from learners.reasons.divided.numbers.near_nodes import nodes_of_boxes
from learners.reasons.divided.numbers.stretched import Stretched
from learners.reasons.divided.single_changes import SingleChanges
from learners.reasons.nearest.demands import Demands
from learners.reasons.nearest.region_steps import Key, rounded_key
from learners.reasons.records import SearchEnded, Way
from learners.reasons.regions.boxes import Boxes
from learners.reasons.wanted.targets import answers_of
from learners.reasons.work import Allowance
from learners.table import Table
from learners.types import FloatArray

#: Leaves of the first part, how many times as many the next one has, and after how many leaves a budget grows.
_FIRST_LEAVES, _GROWTH, _STEP = 128, 2.5, 3
#: Leaves within which those are looked at first.
_FEW_LEAVES = 320
#: What a node of a part takes of the time, in nodes of the allowed work.
_NODE = 25
_ALL: Key = (math.inf, math.inf)


class DividedSearch:
    """The search of one row.

    Args:
        seeker: of the tree.
        boxes: of it.
        row: shape (d,).
        demands: of the row.

    Attributes:
        is_complete: whether all that could be nearer than what was asked for has been looked at.
    """

    def __init__(self, seeker: MixedSeeker, boxes: Boxes, row: FloatArray, demands: Demands) -> None:
        self.is_complete = True
        self._seeker, self._boxes, self._row, self._demands = seeker, boxes, row, demands
        self._allowance = Allowance(seeker.work)
        self._prices = Prices(boxes, demands, seeker.steps)
        self._n_leaves = 0
        self._budget: Key = (0.0, -1.0)  # all that is within has been looked at, or waits
        self._count = itertools.count()
        self._ladder: list[Key] = []
        self._regions: list[tuple[Key, int, NearRegion, int]] = []
        self._ways: list[tuple[Key, int, Way]] = []
        self._found: list[frozenset[int]] = []
        self._numbers = Stretched(boxes.stretches, row, seeker.steps)
        self._among = AmongNumbers(seeker, row, self._numbers, self._near, self._allowance)
        self._has_looked = False
        self._early = [self._entry(way) for way in self._changes_of_one()]

    def _entry(self, way: Way) -> tuple[Key, int, Way]:
        return self._seeker.steps.key(way.cost, way.distance), next(self._count), way

    def _changes_of_one(self) -> list[Way]:
        """The nearest rows in which one column changes: no other one can be farther and nearest."""
        seeker, row = self._seeker, self._row
        below = seeker.learner.packed_tree_.steps(row)
        singles = SingleChanges(self._boxes, row, below, seeker.margins, seeker.slack, seeker.steps)
        self._allowance.spend(singles.looked_at)
        return singles.nearest(seeker.hold)

    def ended(self) -> SearchEnded:
        """What is said where no row was found before the work that is allowed was done."""
        return self._allowance.ended()

    def next_before(self, key: Key | None) -> Way | None:
        """The next nearest row that comes before ``key``, of all if None; None where there is none left."""
        while True:
            if self._ways and self._ways[0][0] <= min(self._budget, self._regions[0][0] if self._regions else _ALL):
                if key is not None and self._ways[0][0] >= key:
                    return None
                way = heapq.heappop(self._ways)[2]
                if not self._is_passed_over(way.steps.keys()):
                    self._found.append(frozenset(way.steps))
                    return way
            elif self._regions and self._regions[0][0] < self._budget:
                if key is not None and self._regions[0][0] >= key:
                    return None
                if self._allowance.is_spent:
                    self._end()
                    continue
                self._look_at(*heapq.heappop(self._regions))
            elif self._n_leaves == len(self._prices.keys) or (key is not None and self._budget >= key):
                return None
            else:
                self._grow(key)

    def _grow(self, key: Key | None) -> None:
        """Begin anew with a larger part of the tree; what was found is passed over."""
        if not self._found and self._look_among_numbers(key):
            return
        keys, before = self._prices.keys, self._budget
        self._n_leaves = min(max(_FIRST_LEAVES, int(self._n_leaves * _GROWTH)), len(keys))
        last = self._n_leaves == len(keys)
        rounded = [rounded_key(*one) for one in keys[: self._n_leaves : _STEP].tolist()]
        self._budget = _ALL if last else rounded_key(*keys[self._n_leaves - 1].tolist())
        self._ways = [one for one in self._early if not self._is_passed_over(one[2].steps.keys())]
        heapq.heapify(self._ways)
        if self._ways and before < self._ways[0][0] < self._budget:
            self._budget = self._ways[0][0]  # until it is taken, nothing beyond matters
            self._n_leaves = min(self._n_leaves, len(keys) - 1)
        kept = self._prices.within(self._budget)
        self._spend(len(kept))
        tree = NearTree(self._boxes, self._row, self._demands, self._seeker.steps, self._seeker.margins, kept)
        whole = NearRegion(tree, tree.whole, range(len(tree.ids)), self._budget)
        self._ladder = [one for one in rounded if before < one < self._budget] + [self._budget]
        self._regions = [(max(before, (0.0, 0.0)), next(self._count), whole, 1)]

    def _look_among_numbers(self, key: Key | None) -> bool:
        """Find the nearest row of those within which only known numbers can change; whether that went any further."""
        begun, keys = self._budget, self._prices.keys
        limit = self._known(key)
        if not self._among.has(limit):
            small = min(limit, rounded_key(*keys[min(_FEW_LEAVES, len(keys)) - 1].tolist()))
            if begun < small and self._among.has(small):
                self._look_within(small)
                if self._budget < small or small == limit:
                    return True
        limit = self._known(key)
        if self._budget < limit and (self._among.has(limit) or not self._has_looked):
            self._has_looked = True
            self._look_within(limit)
        return self._budget > begun

    def _known(self, key: Key | None) -> Key:
        """The nearest row that is known so far, or the key before which rows are looked for."""
        return min([_ALL if key is None else key, *(early for early, _, _ in self._early)])

    def _near(self, limit: Key) -> NearNumbers:
        """What the known numbers decide within a limit."""
        kept = self._prices.within(limit)
        self._allowance.spend(NEAR * len(kept))
        nodes = nodes_of_boxes(self._boxes, self._row, self._demands, kept, self._seeker.margins, self._numbers)
        return Ends(nodes, self._numbers).within(limit)

    def _look_within(self, limit: Key) -> None:
        """Look for the nearest row before a limit among those of which only known numbers change."""
        among, n_before = self._among, len(self._among.ways)
        among.look(limit)
        self._early += [self._entry(way) for way in among.ways[n_before:]]
        if among.reached <= self._budget:
            return
        self._ways = self._early.copy()
        heapq.heapify(self._ways)
        self._regions, self._budget = [], among.reached
        n_within = int(np.searchsorted(self._prices.keys[:, 0], among.reached[0], side="right"))
        self._n_leaves = min(n_within, len(self._prices.keys) - 1)  # what is beyond has not been looked at
        if not among.is_complete:
            self._end()

    def _end(self) -> None:
        """Keep of what waits only the rows that were found."""
        self.is_complete = False
        self._regions, self._n_leaves, self._budget = [], len(self._prices.keys), _ALL

    def _spend(self, nodes: int) -> None:
        self._allowance.spend(_NODE * nodes)

    def _is_passed_over(self, columns: Set[int]) -> bool:
        return any(found <= columns for found in self._found)

    def _look_at(self, key: Key, number: int, region: NearRegion, stride: int) -> None:
        """Put a region off, cut it, or take its nearest row."""
        if self._is_passed_over(region.changed):
            return
        budget = self._ladder[min(bisect.bisect_right(self._ladder, key) + stride, len(self._ladder)) - 1]
        if self._ways:
            budget = min(budget, max(key, self._ways[0][0]))
        route, slack = region.route(), self._seeker.slack
        self._spend(len(region.places))
        worst = int(np.argmin(route.margins))
        is_wanted = bool(route.margins[worst] >= -slack)
        worth = None if is_wanted else region.highest(worst, budget)
        if worth is not None and not worth[0] >= -slack:
            if budget < self._budget:
                heapq.heappush(self._regions, (budget, number, region, 2 * stride))
        elif is_wanted and route.n_leaves > 1 and region.changed and self._holds(way := self._way(region)):
            heapq.heappush(self._ways, (self._seeker.steps.key(way.cost, way.distance), number, way))
        elif fork := region.best_fork(worth):
            self._cut(key, region, fork)

    def _way(self, region: NearRegion) -> Way:
        cells, steps = self._row.copy(), {}
        for column in sorted(region.changed):
            cells[column], steps[column] = region.nearest[column].cell, region.nearest[column].step
        return self._seeker.steps.way(cells, steps)

    def _holds(self, way: Way) -> bool:
        """Whether the tree itself says so."""
        table = Table(self._seeker.learner.columns_, np.asfortranarray(way.cells[None]))
        return bool(self._seeker.target.holds(answers_of(self._seeker.learner, table))[0])

    def _cut(self, key: Key, region: NearRegion, fork: Fork) -> None:
        """Cut a region at a test."""
        tree = region.tree
        column = tree.asked[fork.place]
        for piece in (region.masks[column] & fork.kept, region.masks[column] & ~fork.kept):
            if piece:
                masks = region.masks.copy()
                masks[column] = piece
                part = NearRegion(tree, masks, region.places, self._budget)
                heapq.heappush(self._regions, (max(key, part.key), next(self._count), part, 1))
