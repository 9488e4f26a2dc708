"""The nearest rows that are divided among leaves and have the wanted answer: some columns change, others stay missing.

Such a row is answered by the mean of several leaves, so no single leaf's box holds it. Sets of columns that change are
looked at from the nearest on, each made of a smaller one and a column that is tested on the ways which that one leaves
open: no other column could make a difference. A set counts only if its bound (:mod:`learners.reasons.divided.reach`)
reaches the wanted answer. Its values are then cut at the open test of largest share, again and again, the part whose
nearest row is nearest first, and without the parts whose bound is too low, until a part has one answer. Bounds are
never too low, and cut parts hold all values, so the first row that is found is the nearest of all.

All changes of single columns are known at once (:mod:`learners.reasons.divided.single_changes`, and of trees with tests
of several values :mod:`learners.reasons.divided.tried_changes`), so only larger sets are looked at in parts. A set that
holds one with which a row was found already is passed over. The work for one row is bounded
(:class:`learners.reasons.work.Allowance`).

By distance, mostly nothing but known numbers can change as near as the nearest such row: then
:mod:`learners.reasons.divided.numbers.among_numbers` finds it, unless the tree is too large for that.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.divided.mixed_tests import DIVIDED, MixedTests, Part, changed_cells
from learners.reasons.divided.numbers.among_numbers import AmongNumbers, among_tests
from learners.reasons.divided.reach import Bound, Reach
from learners.reasons.divided.single_changes import SingleChanges
from learners.reasons.divided.tried_changes import TriedChanges
from learners.reasons.nearest.demands import scaled_steps, steps_between
from learners.reasons.nearest.region_steps import KnownSteps
from learners.reasons.records import SearchEnded, Way
from learners.reasons.regions.boxes import boxes_of
from learners.reasons.regions.path_regions import PathRegions, paths_of
from learners.reasons.regions.regions import Numbers, Region
from learners.reasons.work import Allowance
from learners.table import Kind
from learners.types import FloatArray

#: What a set of columns, a part, and each node on a part's way take of the time, in nodes of whole sets' ways.
_SET, _PART, _STEP = 1500, 700, 15
#: Sets of columns whose bounds are found together, and most nodes of the trees that they look at.
_SETS_AT_ONCE, _NODES_AT_ONCE = 64, 1_000_000
#: A bound on distances is taken to be this much less, in case it was rounded up.
_ROUNDED = 1e-9


Key: TypeAlias = tuple[float, float]
_ALL: Key = (np.inf, np.inf)


@dataclass(frozen=True)
class _Mix:
    """A part of the values of some changed columns.

    Attributes:
        bound: of the columns.
        settled: the margins of the leaves that all of it reaches, times their shares.
        n_leaves: how many these are.
        open: tests that it is not decided at, and the shares with which they are reached.
        way: its nearest row.
    """

    columns: frozenset[int]
    bound: Bound
    part: Part
    settled: FloatArray
    n_leaves: int
    open: tuple[tuple[int, float], ...]
    way: Way


@dataclass(frozen=True)
class _Known:
    """Columns whose own changes are known: only larger sets are made of them."""

    columns: frozenset[int]


_Item: TypeAlias = frozenset[int] | _Known | _Mix | Way


class MixedSearch:
    """The search of one row, shape (d,).

    Attributes:
        is_complete: whether all that could be nearer than what was asked for has been looked at.
    """

    def __init__(self, seeker: MixedSeeker, row: FloatArray) -> None:
        self.is_complete = True
        self._seeker = seeker
        self._row = row
        self._allowance = Allowance(seeker.work)
        self._known: KnownSteps = {}
        self._numbers = itertools.count()
        self._heap: list[tuple[Key, int, _Item]] = []
        self._seen: set[frozenset[int]] = set()
        self._found: list[frozenset[int]] = []
        self._among: AmongNumbers | None = None
        learner = seeker.learner
        unknown = np.isnan(row) | (np.array([not one.is_numeric for one in learner.columns_]) & (row < 0))
        if not unknown.any():
            return
        self._unknown = frozenset(np.flatnonzero(unknown).tolist())
        self._reach = Reach(learner, row, seeker.margins)
        if self._reach.may_divide(unknown):
            self._least: dict[int, float] = {}
            paths: PathRegions = paths_of(learner)
            self._tests = MixedTests(learner, paths, row)
            self._levels = [None if one.is_numeric else len(one.levels) for one in learner.columns_]
            self._boxes = None if len(learner.tree_.combined) else boxes_of(learner)
            self._judge_singles()
            if seeker.steps.by_distance and self._boxes is None:
                known = self._judged >= self._tested
                self._among = among_tests(seeker, row, self._reach.below, self._allowance, singles_known=known)

    def next_before(self, key: Key | None) -> Way | None:
        """The next nearest row that comes before ``key``, of all if None; None where there is none left.

        Raises:
            SearchEnded: of the programmes for sums, see :class:`Programmes`.
        """
        if self._among is not None and not self._found and self._is_settled(self._among, key or _ALL):
            return self._nearest_way(key)
        while self._heap and (key is None or self._heap[0][0] < key):
            item = self._heap[0][2]
            if self._allowance.is_spent and not isinstance(item, Way):
                self.end()
                continue
            if isinstance(item, frozenset | _Known):
                self._look_at_sets(key)
                continue
            heapq.heappop(self._heap)
            columns = frozenset(item.steps) if isinstance(item, Way) else item.columns
            if self._is_passed_over(columns):
                continue
            if isinstance(item, _Mix) and item.open:
                self._cut(item)
            elif isinstance(item, Way) or self._holds(item):
                self._found.append(columns)
                return item if isinstance(item, Way) else item.way
        return None

    def ended(self) -> SearchEnded:
        """What is said where no row was found before the work that is allowed was done."""
        return self._allowance.ended()

    def end(self) -> list[Way]:
        """Keep of what waits only the rows that were found, which are told."""
        self.is_complete = False
        self._heap = [entry for entry in self._heap if isinstance(entry[2], Way)]
        heapq.heapify(self._heap)
        return [entry[2] for entry in self._heap if isinstance(entry[2], Way)]

    def _judge_singles(self) -> None:
        """Put off the nearest row of each column's changes; larger sets are made of them."""
        seeker, row = self._seeker, self._row
        singles: SingleChanges | TriedChanges
        if self._boxes is None:
            singles = TriedChanges(seeker.learner, row, self._reach, seeker.margins, seeker.slack, seeker.steps)
            self._allowance.spend(self._reach.visited)
        else:
            singles = SingleChanges(self._boxes, row, self._reach.below, seeker.margins, seeker.slack, seeker.steps)
            self._allowance.spend(singles.looked_at)
        self._judged, self._tested = singles.judged, frozenset(singles.columns)
        for way in singles.nearest(seeker.hold):
            self._push(seeker.steps.key(way.cost, way.distance), way)
        for column in singles.columns:
            self._push_set(frozenset({column}))

    def _is_settled(self, among: AmongNumbers, key: Key) -> bool:
        """Look for the nearest row of which only numbers change; whether the nearest of all before a key is known."""
        known = self._nearest_known()
        while among.is_complete and among.reached < among.bounded(min(key, known)):
            n_before = len(among.ways)
            among.look(among.next_limit(known))
            for way in among.ways[n_before:]:
                self._push(self._seeker.steps.key(way.cost, way.distance), way)
            known = self._nearest_known()
        if not among.is_complete:
            self.end()
        return among.is_complete and min(key, known) <= among.reached

    def _nearest_known(self) -> Key:
        return min((key for key, _, item in self._heap if isinstance(item, Way)), default=_ALL)

    def _nearest_way(self, key: Key | None) -> Way | None:
        """The nearest row that is known, if that is before a key."""
        known = [entry for entry in self._heap if isinstance(entry[2], Way)]
        nearest = min(known, default=None)
        if nearest is None or (key is not None and nearest[0] >= key):
            return None
        self._heap.remove(nearest)
        heapq.heapify(self._heap)
        way = nearest[2]
        assert isinstance(way, Way)  # noqa: S101 - it is one of the known
        self._found.append(frozenset(way.steps))
        return way

    def _may_hold(self, bound: Bound) -> bool:
        return bool((bound.highest >= -self._seeker.slack).all())

    def _is_passed_over(self, columns: frozenset[int]) -> bool:
        return any(found <= columns for found in self._found)

    def _holds(self, mix: _Mix) -> bool:
        """Whether a part's nearest row changes all its columns, is divided, and has the wanted answer."""
        if mix.way.steps.keys() != mix.columns or mix.n_leaves < 2:
            return False
        return bool(self._seeker.hold(mix.way.cells[None])[0])

    def _push(self, key: Key, item: _Item) -> None:
        heapq.heappush(self._heap, (key, next(self._numbers), item))

    def _push_set(self, columns: frozenset[int]) -> None:
        """Put off a set of columns until what is nearer has been looked at; no change of it is less."""
        if columns in self._seen or self._unknown <= columns:
            return
        self._seen.add(columns)
        steps = self._seeker.steps
        cost = sum(float(steps.wishes.costs[column]) for column in sorted(columns))
        distance = sum(self._least_step(column) * float(steps.weights[column]) for column in sorted(columns))
        if len(columns) == 1 and columns <= self._judged:
            others = [place for place in np.flatnonzero(~steps.wishes.fixed).tolist() if place not in columns]
            more = min((float(steps.wishes.costs[place]) for place in others), default=0.0)
            self._push(steps.key(cost + more, distance), _Known(columns))
        else:
            self._push(steps.key(cost, distance), columns)

    def _least_step(self, column: int) -> float:
        """A change of the column that makes a difference is at least so far: to the nearest threshold."""
        if column not in self._least:
            self._least[column] = self._nearest_threshold(column)
        return self._least[column]

    def _nearest_threshold(self, column: int) -> float:
        learner, scales = self._seeker.learner, self._seeker.steps.scales
        kind = learner.columns_[column].kind
        if column in self._unknown or kind not in (Kind.NUMERIC, Kind.ORDINAL):
            return 1.0
        if kind is Kind.ORDINAL:
            return steps_between(0.0, 1.0, len(learner.columns_[column].levels))
        if self._boxes is None:
            return 0.0
        cuts, own = self._boxes.cuts[column], self._row[column]
        place = int(np.searchsorted(cuts, own))
        beside = cuts[max(place - 1, 0) : place + 1]
        steps = scaled_steps(beside, np.full(len(beside), own), np.full(len(beside), scales.width[column]))
        return float(steps.min(initial=1.0)) * (1 - _ROUNDED)

    def _look_at_sets(self, key: Key | None) -> None:
        """Begin with the values of the next sets of columns, and put off those with one column more."""
        items: list[frozenset[int] | _Known] = []
        at_once = max(1, min(_SETS_AT_ONCE, _NODES_AT_ONCE // len(self._seeker.margins)))
        while self._heap and len(items) < at_once and (key is None or self._heap[0][0] < key):
            item = self._heap[0][2]
            if not isinstance(item, frozenset | _Known):
                break
            heapq.heappop(self._heap)
            if not self._is_passed_over(item.columns if isinstance(item, _Known) else item):
                items.append(item)
        if not items:
            return
        sets = [item.columns if isinstance(item, _Known) else item for item in items]
        before = self._reach.visited
        bounds = self._reach.bounds(sets)
        self._allowance.spend(self._reach.visited - before + _SET * len(sets))
        fixed = self._seeker.steps.wishes.fixed
        for item, columns, bound in zip(items, sets, bounds, strict=True):
            if columns and item is columns and self._may_hold(bound):
                self._begin(columns, bound)
            for column in sorted(bound.columns - columns):
                if not fixed[column]:
                    self._push_set(columns | {column})

    def _begin(self, columns: frozenset[int], bound: Bound) -> None:
        part = Part(changed_cells(self._row, columns, self._levels), {})
        self._settle(columns, bound, part, np.zeros(len(bound.highest)), 0, [(0, 1.0)])

    def _cut(self, mix: _Mix) -> None:
        """Cut a part at the open test of largest share."""
        node, _ = max(mix.open, key=lambda one: one[1])
        for piece in self._tests.pieces(node, mix.part):
            self._settle(mix.columns, mix.bound, piece, mix.settled, mix.n_leaves, list(mix.open))

    def _settle(
        self,
        columns: frozenset[int],
        bound: Bound,
        part: Part,
        settled: FloatArray,
        n_leaves: int,
        todo: list[tuple[int, float]],
    ) -> None:
        """Follow all of a part as far as it goes the same way, and put it off if it may have the wanted answer."""
        way = self._nearest(part)
        if way is None:
            return
        learner, seeker = self._seeker.learner, self._seeker
        nodes, margins, below = learner.tree_, seeker.margins, self._reach.below
        leaves: list[int] = []
        shares: list[float] = []
        still: list[tuple[int, float]] = []
        looked_at = 0
        while todo:
            node, share = todo.pop()
            looked_at += 1
            if nodes.feature[node] < 0:
                leaves.append(node)
                shares.append(share)
                continue
            if node in bound.free:
                branch = self._tests.branch(node, part)
                if branch is None:
                    still.append((node, share))
                    continue
            else:
                branch = int(below[node] - nodes.first_child[node]) if below[node] != node else DIVIDED
            first = int(nodes.first_child[node])
            if branch != DIVIDED:
                todo.append((first + branch, share))
                continue
            children = range(first, first + int(nodes.n_children[node]))
            todo.extend(
                (child, share * float(nodes.fraction[child])) for child in children if nodes.fraction[child] > 0
            )
        self._allowance.spend(_PART + _STEP * looked_at)
        settled = settled + np.array(shares) @ margins[leaves] if leaves else settled
        highest = settled + sum(share * bound.free[node] for node, share in still)
        if (highest < -seeker.slack).any():
            return
        key = seeker.steps.key(way.cost, way.distance)
        self._push(key, _Mix(columns, bound, part, settled, n_leaves + len(leaves), tuple(still), way))

    def _nearest(self, part: Part) -> Way | None:
        """The nearest row of a part; what does not change keeps the row's values."""
        steps = self._seeker.steps
        way = steps.nearest(self._row, part.region, self._known)
        if way is None or all(one.holds(way.cells) for one in part.sums.values()):
            return way
        kept: Region = {
            term.feature: Numbers(float(np.nextafter(own, -np.inf)), own, missing=False)
            for one in part.sums.values()
            for term in one.test.terms
            if term.feature not in part.region and not np.isnan(own := float(self._row[term.feature]))
        }
        return self._seeker.programmes.nearest(self._row, part.region | kept, way, list(part.sums.values()))
