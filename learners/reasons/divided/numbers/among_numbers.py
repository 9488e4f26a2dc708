"""The nearest row that stays divided, as far as only known numbers change: a descent, then the search that proves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.divided.numbers.coordinate_search import CoordinateSearch
from learners.reasons.divided.numbers.near_counts import NearCounts
from learners.reasons.divided.numbers.near_ends import Ends, NearNumbers
from learners.reasons.divided.numbers.number_search import NumberSearch
from learners.reasons.divided.numbers.stretched import Stretched, least_other_change
from learners.reasons.divided.numbers.stretched_sums import StretchedSums
from learners.reasons.divided.numbers.sum_search import SumSearch
from learners.reasons.nearest.region_steps import Key
from learners.reasons.records import SearchEnded, Way
from learners.reasons.regions.path_regions import paths_of
from learners.reasons.work import Allowance
from learners.types import FloatArray, IntArray

#: Most items times regions that are looked at for one row: some hundredths of a second.
MAX_CELLS = 850_000
#: Most columns and sums times nodes of a tree of which what numbers decide is found: some tens of megabytes.
MAX_OUTCOMES = 4_000_000
#: What a node of what numbers decide takes, and an item of the descent, in nodes of the allowed work.
NEAR, _ITEM = 10, 100
#: What numbers decide is found anew once the distance to look at has become less than so much of what it was.
_MUCH = 0.8
#: The first distance to look at, as part of that of other changes, and how many times as far is looked next.
_FIRST, _STEP = 0.15, 1.5
#: So few items are searched without a descent before.
_FEW_ITEMS = 400
_TIE = 1e-9


class AmongNumbers:
    """The search of one row.

    Args:
        seeker: of the tree.
        row: shape (d,).
        numbers: that may change.
        near: finds what these decide within a limit.
        allowance: of the row.
        singles_known: whether of all other columns the changes of that one alone are known already.
        in_steps: whether what is decided within a limit grows much faster than the limit.

    Attributes:
        ways: that were found, each nearer than the one before.
        reached: no row is nearer, but for these; beyond, nothing has been looked at.
        is_complete: whether that is sure.
    """

    def __init__(
        self,
        seeker: MixedSeeker,
        row: FloatArray,
        numbers: Stretched,
        near: Callable[[Key], NearNumbers],
        allowance: Allowance,
        *,
        singles_known: bool = False,
        in_steps: bool = True,
    ) -> None:
        self.ways: list[Way] = []
        self.reached: Key = (0.0, -1.0)
        self.is_complete = True
        self._seeker, self._numbers, self._near, self._allowance = seeker, numbers, near, allowance
        self._in_steps = in_steps
        self._cells, self._has_descended = 0, isinstance(numbers, StretchedSums)  # a sum cannot be moved by itself
        self._others = least_other_change(row, seeker.steps)
        #: No row that changes anything else comes before, but for those that are known.
        self._beyond: Key = (self._others * (1 - 2 * _TIE), -1.0)
        if singles_known:
            cheapest = np.sort(seeker.steps.wishes.costs[~seeker.steps.wishes.fixed])[:2]
            self._beyond = seeker.steps.key(float(cheapest.sum()), self._others)

    def has(self, limit: Key) -> bool:
        """Whether within a limit nothing but known numbers can change."""
        return limit <= self._beyond

    def bounded(self, limit: Key) -> Key:
        """As much of a limit as has nothing else."""
        return min(limit, self._beyond)

    def next_limit(self, known: Key) -> Key:
        """How far to look next, if at most to a row that is known: in steps, if each takes much more."""
        if not self._in_steps:
            return self.bounded(known)
        step = max(_FIRST * self._others, _STEP * self.reached[0])
        return self.bounded(min(known, (step, np.inf)))

    def look(self, limit: Key) -> None:
        """Look for the nearest row before a limit, as long as only numbers can change; else for some row."""
        near, before = self._near(limit), limit
        if not self._has_descended and (len(near.shares) > _FEW_ITEMS or not self.has(limit)):
            self._has_descended = True
            self._allowance.spend(_ITEM * len(near.shares))
            self._take(CoordinateSearch(self._numbers, near, self._seeker.slack).nearest(limit[0]))
            limit = min([limit, *(self._seeker.steps.key(way.cost, way.distance) for way in self.ways)])
        if not self.has(limit):
            return
        while True:
            if limit[0] < _MUCH * before[0]:
                near, before = self._near(limit), limit
            search = self._search(near, limit)
            try:
                search.run(self._spend, _MUCH * before[0] if len(near.shares) > _FEW_ITEMS else 0.0)
            except SearchEnded:  # more programmes than one row may take
                self.is_complete = False
            self._take(search.best)
            self.reached = limit = search.limit
            if not self.is_complete or search.is_complete or limit[0] >= _MUCH * before[0]:
                self.is_complete &= search.is_complete
                return

    def _search(self, near: NearNumbers, limit: Key) -> NumberSearch:
        seeker = self._seeker
        if isinstance(self._numbers, StretchedSums):
            return SumSearch(self._numbers, near, seeker.slack, limit, seeker.hold, seeker.steps)
        return NumberSearch(self._numbers, near, seeker.slack, limit, seeker.hold)

    def _take(self, way: Way | None) -> None:
        if way is not None:
            self.ways.append(way)

    def _spend(self, cells: int) -> bool:
        """Count items of regions; whether more may be looked at."""
        self._allowance.spend(cells)
        self._cells += cells
        return self._cells <= MAX_CELLS and not self._allowance.is_spent


def among_tests(
    seeker: MixedSeeker, row: FloatArray, below: IntArray, allowance: Allowance, *, singles_known: bool
) -> AmongNumbers | None:
    """The search of a row of a tree with tests of several values; None where known numbers decide nothing, or too much.

    Args:
        seeker: of the tree.
        row: shape (d,).
        below: where the row goes from each node, shape (N,).
        allowance: of the row.
        singles_known: see :class:`AmongNumbers`.
    """
    learner = seeker.learner
    stretches, nodes = paths_of(learner).stretches, learner.tree_
    numbers = Stretched(stretches, row, seeker.steps)
    has_sums = bool((nodes.combined.need == 0).any())
    if has_sums:
        numbers = StretchedSums(learner, stretches, row, seeker.steps, seeker.programmes)
    if not len(numbers.columns) or len(numbers.columns) * nodes.n_nodes > MAX_OUTCOMES or np.isinf(row).any():
        return None
    counts = NearCounts(learner, row, below, seeker.margins, numbers)

    def near(limit: Key) -> NearNumbers:
        nodes = counts.within(limit)
        allowance.spend(NEAR * len(nodes.parent))
        return Ends(nodes, numbers).within(limit)

    in_steps = bool((nodes.combined.need > 0).any())
    return AmongNumbers(seeker, row, numbers, near, allowance, singles_known=singles_known, in_steps=in_steps)
