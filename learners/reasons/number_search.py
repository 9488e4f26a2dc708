"""The nearest row that stays divided and has the wanted answer, where only known numbers can change within a limit.

A region gives each number an interval of the stretches between thresholds. Its nearest row takes the nearest stretch
of each; its bound is the best answer that its rows within the limit can reach, each test given the best branch by
itself, means taken where missing values divide a row. Many regions are judged at once, level by level of the part of
the tree that is within the limit. Those whose bound is too low are left out, those whose nearest row has the wanted
answer lower the limit, and the others are cut at the test on the nearest row's way that keeps most from it. Bounds are
never too low, and cut regions hold all rows, so what is found when no region is left is the nearest of all.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from learners.reasons.boxes import Boxes
from learners.reasons.demands import Demands, nearest_numbers, steps_between
from learners.reasons.near_tree import Key
from learners.reasons.region_steps import RegionSteps, Way
from learners.table import Kind
from learners.types import BoolArray, FloatArray, IntArray

#: Regions that are judged at once, and most nodes times regions of them.
_AT_ONCE, _MOST_CELLS = 64, 400_000
_TIE = 1e-9
#: What a stretch costs that cannot be reached.
_NEVER = 1e300


class _Family(NamedTuple):
    """The nodes of one depth, and those above them.

    Attributes:
        children: their places, those of each parent side by side.
        parents: places, ascending.
        starts: of each parent its first child among the children.
        are_pairs: whether all parents have two.
        divided: which parents divide a row.
        parts, part_starts, fraction: the children of those, the first of each, and their shares.
    """

    children: slice
    parents: IntArray
    starts: IntArray
    are_pairs: bool
    divided: IntArray
    parts: IntArray
    part_starts: IntArray
    fraction: FloatArray


class NumberSearch:
    """The search of one row.

    Args:
        boxes: of the tree.
        row: shape (d,).
        demands: of the row.
        kept: ascending ids of the nodes that rows within the limit may reach, with the root.
        margins: of the answers of all nodes, shape (N, J): a row has the wanted answer if its means are not below 0.
        slack: how far below 0 they may be for rounding.
        steps: what changes are allowed; distances are compared first.
        limit: only what is nearer is looked for.

    Attributes:
        best: the nearest row that was found.
        limit: its key, or the one that was given.
    """

    def __init__(
        self,
        boxes: Boxes,
        row: FloatArray,
        demands: Demands,
        kept: IntArray,
        margins: FloatArray,
        slack: float,
        steps: RegionSteps,
        limit: Key,
    ) -> None:
        self.best: Way | None = None
        self.limit = limit
        self._boxes, self._row, self._steps, self._slack = boxes, row, steps, slack
        asked = np.diff(boxes.stretches.firsts) > 0
        self._moves = asked & ~np.isnan(row) & ~steps.wishes.fixed
        self._columns = np.flatnonzero(self._moves)
        self._set_stretches()
        self._set_nodes(demands, kept, margins)
        self._heap: list[tuple[Key, int, IntArray, IntArray]] = []
        self._numbers = itertools.count()
        ends = self._firsts[self._columns + 1] - 1
        self._push(self._firsts[self._columns][None], ends[None])

    @staticmethod
    def fits(boxes: Boxes, row: FloatArray, steps: RegionSteps, limit: Key) -> bool:
        """Whether within a limit nothing but known numbers can change, since each other change is farther."""
        least = np.array(
            [
                steps_between(0.0, 1.0, len(column.levels)) if column.kind is Kind.ORDINAL and cell >= 0 else 1.0
                for column, cell in zip(boxes.columns, row.tolist(), strict=True)
            ]
        )
        others = (~boxes.numeric | np.isnan(row)) & ~steps.wishes.fixed
        return bool((least[others] * steps.weights[others] > limit[0] * (1 + _TIE)).all())

    def run(self, spend: Callable[[int], bool], holds: Callable[[FloatArray], bool]) -> bool:
        """Search on; returns whether all regions have been looked at.

        Args:
            spend: counts nodes times regions, and says whether more may be looked at.
            holds: whether a row, shape (d,), stays divided and is answered as wanted by the tree itself.
        """
        at_once = max(1, min(_AT_ONCE, _MOST_CELLS // len(self._ids)))
        while self._heap:
            regions: list[tuple[IntArray, IntArray]] = []
            while self._heap and len(regions) < at_once and self._heap[0][0] < self.limit:
                regions.append(heapq.heappop(self._heap)[2:])
            if not regions:
                return True
            if not spend(len(self._ids) * len(regions)):
                return False
            low, high = (np.array(one) for one in zip(*regions, strict=True))
            self._look_at(low, high, holds)
        return True

    def _set_stretches(self) -> None:
        """Of each stretch what it counts, and the nearest allowed one from there away from the row's own."""
        boxes, row, steps = self._boxes, self._row, self._steps
        stretches = boxes.stretches
        self._firsts = stretches.firsts
        features = np.repeat(np.arange(len(row)), np.diff(stretches.firsts))
        blocked, self._cells, self._far = nearest_numbers(
            row, features, stretches.low, stretches.high, steps.wishes, steps.scales
        )
        own = [
            stretches.firsts[column] + int(np.searchsorted(boxes.cuts[column], row[column]))
            for column in self._columns.tolist()
        ]
        self._own = np.array(own, np.int64)
        blocked[self._own], self._cells[self._own], self._far[self._own] = False, row[self._columns], 0.0
        self._price = self._far * steps.weights[features]
        self._price[self._own] = 0.0
        self._next = np.arange(len(blocked))
        #: What it costs to come to a stretch above the row's own one or one beyond, and to one below.
        self._up, self._down = np.zeros(len(blocked)), np.zeros(len(blocked))
        for place, column in enumerate(self._columns.tolist()):
            first, end, mine = int(self._firsts[column]), int(self._firsts[column + 1]), own[place]
            numbers = np.arange(first, end)
            up = np.where(blocked[first:end], end, numbers)
            down = np.where(blocked[first:end], first - 1, numbers)
            above = np.minimum.accumulate(up[::-1])[::-1]
            below = np.maximum.accumulate(down)
            self._next[first:end] = np.where(numbers > mine, above, np.where(numbers < mine, below, mine))
            price = np.append(self._price[first:end], _NEVER)  # place -1 is none too
            self._up[first:end] = np.where(numbers > mine, price[above - first], 0.0)
            self._down[first:end] = np.where(numbers < mine, price[below - first], 0.0)

    def _set_nodes(self, demands: Demands, kept: IntArray, margins: FloatArray) -> None:
        """The nodes, by depth."""
        boxes = self._boxes
        moves = np.append(self._moves, False)[boxes.tested]
        shares = boxes.multiply_paths(np.where(moves, 1.0, boxes.shares_of(demands.taken)))
        kept = kept[shares[kept] > 0]
        depth = boxes.nodes.depth[kept]
        ids = kept[np.lexsort((kept, depth))]
        self._ids, place_of = ids, np.zeros(len(boxes.parent), np.int64)
        place_of[ids] = np.arange(len(ids))
        self._parent, self._before = place_of[boxes.parent[ids]], place_of[boxes.before[ids]]
        self._levels = np.split(np.arange(len(ids)), np.cumsum(np.bincount(np.sort(depth)))[:-1])
        self._share = shares[ids]
        inner = boxes.nodes.n_children[ids] > 0
        # of such nodes each child takes its share; of the others one is taken
        divides = inner & (demands.taken[ids] < 0) & ~np.append(self._moves, False)[boxes.nodes.feature[ids]]
        self._families = [self._family(level, divides, boxes.nodes.fraction[ids]) for level in self._levels[1:]]
        self._leaves = np.flatnonzero(~inner)
        self._margins = margins[ids].T.copy()
        self._mover = np.flatnonzero(moves[ids])
        places = np.zeros(len(self._row) + 1, np.int64)
        places[self._columns] = np.arange(len(self._columns))
        self._column = places[boxes.tested[ids]]
        self._begin, self._end = boxes.stretches.begin[ids], boxes.stretches.end[ids]
        #: Of the nodes beneath a test on a number what their state costs, and what the one before it does.
        asks = np.zeros(len(ids))
        begin, end = self._begin[self._mover], self._end[self._mover]
        exists = begin < end
        asks[self._mover] = _NEVER
        asks[self._mover[exists]] = np.maximum(self._up[begin[exists]], self._down[end[exists] - 1])
        self._asks, self._asked = asks[self._mover], asks[self._before[self._mover]]

    def _family(self, level: IntArray, divides: BoolArray, fraction: FloatArray) -> _Family:
        parents, starts, counts = np.unique(self._parent[level], return_index=True, return_counts=True)
        divided = divides[parents]
        parts = np.flatnonzero(np.repeat(divided, counts))
        part_starts = np.cumsum(counts[divided]) - counts[divided]
        return _Family(
            children=slice(int(level[0]), int(level[-1]) + 1),
            parents=parents,
            starts=starts,
            are_pairs=bool((counts == 2).all()),
            divided=np.flatnonzero(divided),
            parts=parts,
            part_starts=part_starts,
            fraction=fraction[level[parts]],
        )

    def _nearest(self, low: IntArray, high: IntArray) -> tuple[IntArray, BoolArray]:
        """Of regions, shape (R, columns), the nearest stretches, and whether there are some."""
        stretch = np.where(low > self._own, self._next[low], np.where(high < self._own, self._next[high], self._own))
        inside: BoolArray = (low <= stretch) & (stretch <= high)
        return stretch, np.all(inside, axis=1)

    def _push(self, low: IntArray, high: IntArray) -> None:
        """Put regions off that may be nearer than the limit."""
        exists = (low <= high).all(axis=1)
        low, high = low[exists], high[exists]
        stretch, exists = self._nearest(low, high)
        costs = self._steps.wishes.costs[self._columns]
        for place in np.flatnonzero(exists).tolist():
            distance = math.fsum(self._price[stretch[place]].tolist())
            key = self._steps.key(math.fsum(costs[stretch[place] != self._own].tolist()), distance)
            if key < self.limit:
                heapq.heappush(self._heap, (key, next(self._numbers), low[place], high[place]))

    def _look_at(self, low: IntArray, high: IntArray, holds: Callable[[FloatArray], bool]) -> None:
        """Leave regions out, take their nearest rows, or cut them."""
        stretch, _ = self._nearest(low, high)
        inside = self._reached(low, high, stretch)
        on_way = self._on_way(stretch)
        own = (self._share * self._margins)[:, self._leaves] @ on_way[self._leaves]
        worth = self._highest(inside, np.argmin(own, axis=0))
        may = np.flatnonzero(worth[0] >= -self._slack)
        for region in may.tolist():
            if (own[:, region] >= -self._slack).all():
                way = self._way(stretch[region])
                key = self._steps.key(way.cost, way.distance)
                if key < self.limit and holds(way.cells):
                    self.best, self.limit = way, key
                    continue
            node = self._fork(worth[:, region], inside[:, region], on_way[:, region])
            if node is not None:
                self._cut(low[region], high[region], stretch[region], node)

    def _reached(self, low: IntArray, high: IntArray, stretch: IntArray) -> BoolArray:
        """Which nodes rows of a region within the limit may reach, each by itself; shape (nodes, R).

        Prices rise from the row's own stretch on, so what a node and a region ask of a number together costs as much as
        the dearer of the two.
        """
        nodes, limit = self._mover, self.limit[0] * (1 + _TIE)
        column = self._column[nodes]
        base = self._price[stretch].T
        inside = np.ones((len(self._ids), len(low)), np.bool_)
        inside[nodes] = (self._begin[nodes, None] <= high.T[column]) & (low.T[column] < self._end[nodes, None])
        price = np.zeros(inside.shape)
        of_region = base[column]
        price[nodes] = np.maximum(self._asks[:, None], of_region) - np.maximum(self._asked[:, None], of_region)
        price[0] = base.sum(axis=0)
        for level in self._levels[1:]:
            part = slice(level[0], level[-1] + 1)
            above = self._parent[part]
            price[part] += price[above]
            inside[part] &= inside[above] & (price[part] <= limit)
        return inside

    def _highest(self, inside: BoolArray, margins: IntArray) -> FloatArray:
        """By node and region the highest mean of the region's margin that is reached below, shape (nodes, R)."""
        worth = np.where(inside, 0.0, -np.inf)
        worth[self._leaves] += self._margins[:, self._leaves].T[:, margins]
        for family in reversed(self._families):
            below = worth[family.children]
            if family.are_pairs:
                best = np.maximum(below[::2], below[1::2])
            else:
                best = np.maximum.reduceat(below, family.starts, axis=0)
            if len(family.divided):
                parts = below[family.parts] * family.fraction[:, None]
                best[family.divided] = np.add.reduceat(parts, family.part_starts, axis=0)
            worth[family.parents] += best
        return worth

    def _on_way(self, stretch: IntArray) -> BoolArray:
        """Which nodes the nearest rows of regions come to, shape (nodes, R)."""
        nodes = self._mover
        at = stretch.T[self._column[nodes]]
        on_way = np.ones((len(self._ids), len(stretch)), np.bool_)
        on_way[nodes] = (self._begin[nodes, None] <= at) & (at < self._end[nodes, None])
        for level in self._levels[1:]:
            part = slice(level[0], level[-1] + 1)
            on_way[part] &= on_way[self._parent[part]]
        return on_way

    def _fork(self, worth: FloatArray, inside: BoolArray, on_way: BoolArray) -> int | None:
        """Beside the way of a region's nearest row the node that promises most; None where all rows go that way."""
        nodes = self._mover
        parents = self._parent[nodes]
        taken = np.zeros(len(worth))
        ours = nodes[on_way[nodes]]
        taken[self._parent[ours]] = worth[ours]
        beside = np.flatnonzero(on_way[parents] & ~on_way[nodes] & inside[nodes])
        if not len(beside):
            return None
        gain = self._share[parents[beside]] * (worth[nodes[beside]] - taken[parents[beside]])
        return int(nodes[beside[np.argmax(gain)]])

    def _cut(self, low: IntArray, high: IntArray, stretch: IntArray, node: int) -> None:
        """Cut a region where its rows part before a node."""
        column = self._column[node]
        cut = self._begin[node] if self._begin[node] > stretch[column] else self._end[node]
        lows, highs = np.array([low, low]), np.array([high, high])
        highs[0, column], lows[1, column] = cut - 1, cut
        self._push(lows, highs)

    def _way(self, stretch: IntArray) -> Way:
        cells, steps = self._row.copy(), {}
        for place in np.flatnonzero(stretch != self._own).tolist():
            column = int(self._columns[place])
            cells[column], steps[column] = self._cells[stretch[place]], float(self._far[stretch[place]])
        return self._steps.way(cells, steps)
