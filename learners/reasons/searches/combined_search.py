"""The nearest rows with another answer of a tree with tests of several values, found exactly: the best region first.

The rows that reach a leaf are no box where a path asks for "at least so many of", or for a sum. The search begins with
what each wanted leaf's path asks of single columns, and takes, again and again, the region whose nearest row is nearest
of all. If that row satisfies the counts too, and the sums, no row of the region is nearer. If it misses a count, the
region is cut by one of the sets that could still hold: the cells within it and those outside. If it misses a sum only,
the nearest row by a programme (:mod:`learners.reasons.nearest.programmes`) takes its place. So alternatives are looked
at only where they stand in the way.

So the search is exact among rows that reach a leaf wholly. Rows that leave a missing value missing although it divides
them are looked for by :mod:`learners.reasons.divided.mixed_search`, as far as they could be nearer than the next
region.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from learners.reasons.divided.mixed_search import MixedSearch
from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.nearest.path_prices import SumPrices, prices_of
from learners.reasons.nearest.programmes import Programmes
from learners.reasons.nearest.region_steps import KnownSteps, RegionSteps
from learners.reasons.records import Asked, Change, Counterfactual, SearchEnded, Way, Ways, shown_cell
from learners.reasons.regions.path_regions import AtLeast, HalfSpace, Path, narrowed, paths_of
from learners.reasons.regions.regions import Cells, Levels, Numbers, Region
from learners.reasons.wanted.targets import Target, answers_of
from learners.reasons.work import Work
from learners.rules.from_tree import rules_of_nodes
from learners.rules.rule import RuleCondition
from learners.table import Table
from learners.trees.combined.column import CombinedColumn
from learners.trees.estimator import FittedTree
from learners.types import FloatArray

#: Most regions that are cut for one row: some tenths of a second.
MAX_CUTS = 2_000
#: What each takes of the work of a request, in nodes.
_CUT = 1_000


@dataclass(frozen=True)
class _Candidate:
    """A region of a leaf's rows and its nearest row.

    Attributes:
        solved: whether that satisfies the sums.
        search: for one that does, once it has begun, and how much ``more`` that costs at least.
    """

    path: Path
    region: Region
    way: Way
    solved: bool = False
    search: Iterator[float | Way] | None = None
    more: float = 0.0


#: What is sorted by, the leaf, a number, and a region, or the path of a leaf that has not been looked at.
_Entry: TypeAlias = tuple[tuple[float, float], int, int, _Candidate | Path]


class CombinedSeeker:
    """One search over any number of rows.

    Args:
        learner: a fitted tree.
        target: the wanted answer.
        steps: what may be changed at what price, and what is compared first.
        count: how many counterfactuals of each row, at most one of each leaf.
        diverse: let no two of them change the same set of columns.
        work: of the request.
    """

    def __init__(
        self,
        learner: FittedTree,
        target: Target,
        steps: RegionSteps,
        *,
        count: int,
        diverse: bool,
        work: Work,
    ) -> None:
        self.learner = learner
        self.target = target
        self.count = count
        self.diverse = diverse
        self.work = work
        self.steps = steps
        self.programmes = Programmes(self.steps, work)
        self.mixes = MixedSeeker(learner, target, self.steps, work)
        self.prices = prices_of(learner)
        self.sums = SumPrices.of(learner.tree_.combined, self.steps)
        self.is_wanted = target.holds(learner.packed_tree_.answers[self.prices.leaves])
        self.cuts = 0
        self._heap: list[_Entry] = []

    def find(self, row: FloatArray) -> Ways:
        """The nearest ways of one row, shape (d,)."""
        self.cuts, self._heap = 0, []
        self.programmes.begin()
        self.mixes.programmes.begin()
        mixes = MixedSearch(self.mixes, row)
        found, done = Ways(), set[int]()
        try:
            self._take(found, row, self._ways(row, mixes, done), mixes)
        except SearchEnded as ended:
            self._take(found, row, self._complete(mixes.end(), done), mixes)
            found.unfinished = None if found else str(ended)
        if not found and not mixes.is_complete:
            found.unfinished = found.unfinished or str(mixes.ended())
        return found

    def _take(self, found: Ways, row: FloatArray, ways: Iterator[tuple[int, Way]], mixes: MixedSearch) -> None:
        """Add the next ways that lead to the wanted answer, as many as are asked for."""
        changed = {_changed_names(one) for one in found}
        while len(found) < self.count and (following := next(ways, None)) is not None:
            leaf, way = following
            names = frozenset(self.learner.columns_[feature].name for feature in way.steps)
            if self.diverse and names in changed:
                continue
            answers = answers_of(self.learner, self._table(way.cells))
            if self.target.holds(answers)[0]:
                changed.add(names)
                found.append(self._described(row, leaf, way, answers[0], exact=mixes.is_complete))

    def _complete(self, mixed: list[Way], done: set[int]) -> Iterator[tuple[int, Way]]:
        """Of what waits the rows that have the wanted answer, the nearest first: divided ones, and of the regions the
        nearest rows that satisfy all that their paths ask."""
        found = [(self.steps.key(way.cost, way.distance), self.mixes.leaf(way.cells), way) for way in mixed]
        for key, leaf, _, candidate in self._heap:
            if isinstance(candidate, Path):
                continue
            asked: tuple[AtLeast | HalfSpace, ...] = (*candidate.path.counts, *candidate.path.sums)
            if all(one.holds(candidate.way.cells) for one in asked):
                found.append((key, leaf, candidate.way))
        for _, leaf, way in sorted(found, key=lambda entry: entry[:2]):
            if leaf not in done:
                done.add(leaf)
                yield leaf, way

    def _table(self, cells: FloatArray) -> Table:
        return Table(self.learner.columns_, np.asfortranarray(cells[None]))

    def _ways(self, row: FloatArray, mixes: MixedSearch, done: set[int]) -> Iterator[tuple[int, Way]]:
        """The nearest row of each leaf that leads to the wanted answer, the nearest first; those leaves are ``done``.

        Raises:
            SearchEnded: too many regions, sets of columns or programmes had to be looked at.
        """
        known = self.steps.steps(row, paths_of(self.learner).sets)
        numbers = itertools.count()
        heap = self._heap

        def push(found: Iterator[_Candidate]) -> None:
            for one in found:
                cost, distance = self._least(row, one, known)
                if cost < math.inf and distance < math.inf:
                    key = self.steps.key(cost, distance)
                    heapq.heappush(heap, (key, one.path.leaf, next(numbers), one))

        heap += self._first(row)
        heapq.heapify(heap)
        while True:
            while (mixed := mixes.next_before(heap[0][0] if heap else None)) is not None:
                if (leaf := self.mixes.leaf(mixed.cells)) not in done:
                    done.add(leaf)
                    yield leaf, mixed
            if not heap:
                return
            _, leaf, _, candidate = heapq.heappop(heap)
            parts = iter(()) if leaf in done else self._parts(row, candidate, known)
            if parts is not None:
                push(parts)
            elif isinstance(candidate, _Candidate):
                done.add(leaf)
                yield leaf, candidate.way

    def _parts(self, row: FloatArray, candidate: _Candidate | Path, known: KnownSteps) -> Iterator[_Candidate] | None:
        """A path's region, a region cut, or with its nearest row by the sums; None where that satisfies all already."""
        if isinstance(candidate, Path):
            return self._candidate(row, candidate, candidate.region, known)
        cells = candidate.way.cells
        missed = next((one for one in candidate.path.counts if not one.holds(cells)), None)
        if missed is not None:
            return self._cut(row, candidate, missed, known)
        if any(not one.holds(cells) for one in candidate.path.sums):
            return self._solved(row, candidate)
        return None

    def _first(self, row: FloatArray) -> list[_Entry]:
        """The paths of the wanted leaves, by what they take at least."""
        open_, costs, distances = self.prices.of_row(row, self.steps, self.sums)
        places = np.flatnonzero(open_ & self.is_wanted)
        keys = map(self.steps.key, costs[places].tolist(), distances[places].tolist())
        every = paths_of(self.learner).every
        return [(key, every[place].leaf, -1, every[place]) for key, place in zip(keys, places.tolist(), strict=True)]

    def _candidate(self, row: FloatArray, path: Path, region: Region, known: KnownSteps) -> Iterator[_Candidate]:
        """A region with its nearest row, if there is one."""
        way = self.steps.nearest(row, region, known)
        if way is not None:
            yield _Candidate(path, region, way)

    def _cut(self, row: FloatArray, candidate: _Candidate, missed: AtLeast, known: KnownSteps) -> Iterator[_Candidate]:
        """The parts of a region within and outside one of the sets that its nearest row misses."""
        self.cuts += 1
        if self.cuts > MAX_CUTS:
            raise SearchEnded(f"{MAX_CUTS} regions for the tree's tests of several values")
        self.work.spend(_CUT)
        if self.work.is_spent:
            raise self.work.ended()
        region, cells = candidate.region, candidate.way.cells
        possible = [
            (feature, one, left) for feature, one in missed.sets if (left := narrowed(region, feature, one)) is not None
        ]
        if len(possible) < missed.need:
            return
        feature, one, left = next(part for part in possible if not part[1].holds(float(cells[part[0]])))
        whole = region.get(feature) or (Numbers() if isinstance(one, Numbers) else Levels(np.ones_like(one.flags)))
        for part in (left, *whole.without(one)):  # type: ignore[arg-type]
            yield from self._candidate(row, candidate.path, region | {feature: part}, known)

    def _solved(self, row: FloatArray, candidate: _Candidate) -> Iterator[_Candidate]:
        """The region with its nearest row that satisfies the sums, or with what that costs at least."""
        search = candidate.search or self.programmes.ways(row, candidate.region, candidate.way, candidate.path.sums)
        try:
            found = next(search, None)
        except SearchEnded as ended:
            if ended.best is not None:
                way, leaf = ended.best, candidate.path.leaf
                best = replace(candidate, way=way, solved=True)
                self._heap.append((self.steps.key(way.cost, way.distance), leaf, -1, best))
            raise
        if isinstance(found, Way):
            yield replace(candidate, way=found, solved=True)
        elif found is not None:
            yield replace(candidate, search=search, more=found)

    def _least(self, row: FloatArray, candidate: _Candidate, known: KnownSteps) -> tuple[float, float]:
        """No row of the region costs less, or is nearer: what its nearest row misses asks for more."""
        way = candidate.way
        more = [
            self._more(way, one) for one in candidate.path.sums if not candidate.solved and not one.holds(way.cells)
        ]
        more += [self._more_sets(row, way, one, known) for one in candidate.path.counts if not one.holds(way.cells)]
        costs, distances = zip(*more, strict=True) if more else ((0.0,), (0.0,))
        return way.cost + max(*costs, 0.0 if candidate.solved else candidate.more), way.distance + max(distances)

    def _more_sets(self, row: FloatArray, way: Way, missed: AtLeast, known: KnownSteps) -> tuple[float, float]:
        """What it takes at least to satisfy a count: as many columns as its missing sets are of, the nearest ones."""
        prices: dict[int, tuple[float, float]] = {}
        sets_of: dict[int, int] = {}
        held = 0
        for feature, one in missed.sets:
            if one.holds(float(way.cells[feature])):
                held += 1
                continue
            sets_of[feature] = sets_of.get(feature, 0) + 1
            price = self._price_of_set(row, way, feature, one, known)
            before = prices.get(feature, price)
            prices[feature] = min(before[0], price[0]), min(before[1], price[1])
        n_columns = -(-(missed.need - held) // max(sets_of.values()))
        costs, distances = (sorted(one)[:n_columns] for one in zip(*prices.values(), strict=True))
        return math.fsum(costs) * (1 - 1e-9), math.fsum(distances) * (1 - 1e-9)

    def _price_of_set(
        self, row: FloatArray, way: Way, feature: int, one: Cells, known: KnownSteps
    ) -> tuple[float, float]:
        """What one more set of a count takes at least; nothing where its column moves anyway."""
        if feature in way.steps:
            return 0.0, 0.0
        step = self.steps.step(row, feature, one, known)
        if step is None:
            return math.inf, math.inf
        return float(self.steps.wishes.costs[feature]), step[1] * float(self.steps.weights[feature])

    def _more(self, way: Way, missed: HalfSpace) -> tuple[float, float]:
        """What it takes at least to satisfy one sum: the cheapest column, and the one that moves it fastest."""
        wishes, scales, weights = self.steps.wishes, self.steps.scales, self.steps.weights
        free = [term for term in missed.test.terms if not wishes.fixed[term.feature]]
        if not free:
            return math.inf, math.inf
        moved = any(term.feature in way.steps for term in free)
        cost = 0.0 if moved else min(float(wishes.costs[term.feature]) for term in free)
        missing = abs(missed.test.value(way.cells) - missed.threshold)
        known = all(way.steps.get(term.feature) != 1.0 for term in free)  # a value that was missing moves freely
        speeds = [abs(term.number) * float(scales.width[term.feature]) for term in free]
        slowest = min(float(weights[term.feature]) for term in free)
        fastest = max(speeds)
        return cost, missing / fastest * slowest * (1 - 1e-9) if known and 0 < fastest < math.inf else 0.0

    def _described(self, row: FloatArray, leaf: int, way: Way, answers: FloatArray, *, exact: bool) -> Counterfactual:
        learner, columns = self.learner, self.learner.columns_
        place = int(np.flatnonzero(learner.tree_.leaves_as_read == leaf)[0])
        part = range(place, place + 1)
        rules = rules_of_nodes(learner.tree_, columns, learner.target_, learner.utility_, part)
        asked = tuple(self._asked(row, rules.tested[one.feature], one) for one in rules.rules[0].conditions)
        mentioned = [
            feature
            for one in rules.rules[0].conditions
            for feature in _features(rules.tested[one.feature], one.feature)
        ]
        changes = tuple(
            Change(
                columns[feature].name,
                shown_cell(columns[feature], row[feature]),
                columns[feature].decode(float(way.cells[feature])),
                way.steps[feature],
            )
            for feature in dict.fromkeys((*mentioned, *sorted(way.steps)))
            if feature in way.steps
        )
        return Counterfactual(
            leaf=leaf,
            exact=exact,
            changes=changes,
            cost=way.cost,
            distance=way.distance,
            asked=asked,
            cells=way.cells,
            answer=self.target.answer(answers),
            probabilities=None if learner.target_.is_numeric else tuple(answers.tolist()),
        )

    def _asked(self, row: FloatArray, column: object, condition: RuleCondition) -> Asked:
        """How a row stands to a condition."""
        combined = isinstance(column, CombinedColumn)
        own = self.learner.columns_[condition.feature] if not combined else None
        cell = column.test.value(row) if isinstance(column, CombinedColumn) else float(row[condition.feature])
        share = float(condition.shares(np.array([cell]), own is None or own.is_numeric)[0])
        state: Literal["met", "unmet", "undecided"] = "met" if share == 1 else "unmet" if share == 0 else "undecided"
        observed = column.observed(row) if isinstance(column, CombinedColumn) else shown_cell(own, cell)  # type: ignore[arg-type]
        return Asked(condition.condition, observed, state)


def _changed_names(found: Counterfactual) -> frozenset[str]:
    return frozenset(change.column for change in found.changes)


def _features(column: object, feature: int) -> Sequence[int]:
    """The table's columns that a condition looks at."""
    return [term.feature for term in column.test.terms] if isinstance(column, CombinedColumn) else [feature]
