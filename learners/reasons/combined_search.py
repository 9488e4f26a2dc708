"""The nearest rows with another answer of a tree with tests of several values, found exactly: the best region first.

The rows that reach a leaf are no box where a path asks for "at least so many of", or for a sum. The search begins
with what each wanted leaf's path asks of single columns, and takes, again and again, the region whose nearest row is
nearest of all. If that row satisfies the counts too, and the sums, no row of the region is nearer. If it misses a
count, the region is cut by one of the sets that could still hold: the cells within it and those outside. If it misses
a sum only, the nearest row by a programme (:mod:`learners.reasons.programmes`) takes its place. So alternatives are
looked at only where they stand in the way.

So the search is exact among rows that reach a leaf wholly. Rows that leave a missing value missing although it divides
them are looked for by :mod:`learners.reasons.mixed_search`, as far as they could be nearer than the next region.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from learners.errors import LearnerError
from learners.reasons.mixed_search import MixedSearch, MixedSeeker, too_many_nodes
from learners.reasons.path_regions import AtLeast, HalfSpace, Path, narrowed, paths_of
from learners.reasons.programmes import Programmes
from learners.reasons.records import Asked, Change, Counterfactual, shown_cell
from learners.reasons.region_steps import KnownSteps, RegionSteps, Way
from learners.reasons.regions import Levels, Numbers, Region
from learners.reasons.scales import Scales
from learners.reasons.targets import Target, answers_of
from learners.reasons.wishes import Wishes
from learners.rules.from_tree import rules_of_nodes
from learners.rules.rule import RuleCondition
from learners.table import Table
from learners.trees.combined.column import CombinedColumn
from learners.trees.estimator import FittedTree
from learners.types import FloatArray

#: Most regions that one search over all of its rows cuts: some seconds.
MAX_CUTS = 20_000


@dataclass(frozen=True)
class _Candidate:
    """A region of a leaf's rows and its nearest row; ``solved``: with the sums."""

    path: Path
    region: Region
    way: Way
    solved: bool = False


class CombinedSeeker:
    """One search over any number of rows.

    Args:
        learner: a fitted tree.
        target: the wanted answer.
        wishes: what may be changed and at what price.
        scales: of the model's columns.
        count: how many counterfactuals of each row, at most one of each leaf.
        diverse: let no two of them change the same set of columns.
        by_distance: whether distances, each times its column's cost, are compared before costs.
    """

    def __init__(
        self,
        learner: FittedTree,
        target: Target,
        wishes: Wishes,
        scales: Scales,
        *,
        count: int,
        diverse: bool,
        by_distance: bool,
    ) -> None:
        self.learner = learner
        self.target = target
        self.count = count
        self.diverse = diverse
        self.steps = RegionSteps(learner.columns_, wishes, scales, by_distance=by_distance)
        self.programmes = Programmes(self.steps)
        self.mixes = MixedSeeker(learner, target, self.steps)
        leaves = learner.tree_.leaves()
        self.wanted = leaves[target.holds(learner.packed_tree_.answers[leaves])].tolist()
        self.cuts = 0

    def find(self, row: FloatArray) -> list[Counterfactual]:
        """The nearest ways of one row, shape (d,).

        Raises:
            LearnerError: too many regions, sets of columns or programmes had to be looked at.
        """
        found: list[Counterfactual] = []
        changed: set[frozenset[int]] = set()
        mixes = self.mixes.of_row(row)
        for leaf, way in self._ways(row, mixes):
            if self.diverse and frozenset(way.steps) in changed:
                continue
            answers = answers_of(self.learner, self._table(way.cells))
            if self.target.holds(answers)[0]:
                changed.add(frozenset(way.steps))
                found.append(self._described(row, leaf, way, answers[0], exact=mixes.is_complete))
            if len(found) == self.count:
                break
        if not found and not mixes.is_complete:
            raise too_many_nodes()
        return found

    def _table(self, cells: FloatArray) -> Table:
        return Table(self.learner.columns_, np.asfortranarray(cells[None]))

    def _ways(self, row: FloatArray, mixes: MixedSearch) -> Iterator[tuple[int, Way]]:
        """The nearest row of each leaf that leads to the wanted answer, the nearest first."""
        known: KnownSteps = {}
        numbers = itertools.count()
        heap: list[tuple[tuple[float, float], int, int, _Candidate]] = []

        def push(found: Iterator[_Candidate]) -> None:
            for one in found:
                key = self.steps.key(*self._least(one))
                heapq.heappush(heap, (key, one.path.leaf, next(numbers), one))

        push(self._first(row, known))
        done: set[int] = set()
        while True:
            while (mixed := mixes.next_before(heap[0][0] if heap else None)) is not None:
                if (leaf := self.mixes.leaf(mixed.cells)) not in done:
                    done.add(leaf)
                    yield leaf, mixed
            if not heap:
                return
            _, leaf, _, candidate = heapq.heappop(heap)
            if leaf in done:
                continue
            missed = next((one for one in candidate.path.counts if not one.holds(candidate.way.cells)), None)
            if missed is not None:
                push(self._cut(row, candidate, missed, known))
            elif any(not one.holds(candidate.way.cells) for one in candidate.path.sums):
                push(self._solved(row, candidate))
            else:
                done.add(leaf)
                yield leaf, candidate.way

    def _first(self, row: FloatArray, known: KnownSteps) -> Iterator[_Candidate]:
        """What the paths ask of single columns."""
        paths = paths_of(self.learner)
        for leaf in self.wanted:
            path = paths.path(leaf)
            if path is not None:
                yield from self._candidate(row, path, path.region, known)

    def _candidate(self, row: FloatArray, path: Path, region: Region, known: KnownSteps) -> Iterator[_Candidate]:
        """A region with its nearest row, if there is one."""
        way = self.steps.nearest(row, region, known)
        if way is not None:
            yield _Candidate(path, region, way)

    def _cut(self, row: FloatArray, candidate: _Candidate, missed: AtLeast, known: KnownSteps) -> Iterator[_Candidate]:
        """The parts of a region within and outside one of the sets that its nearest row misses."""
        self.cuts += 1
        if self.cuts > MAX_CUTS:
            raise LearnerError(
                f"more than {MAX_CUTS} regions would have to be cut for the tree's tests of several values; ask of "
                "fewer rows, fix more columns, or narrow what is allowed"
            )
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
        """The region with its nearest row that satisfies the sums."""
        way = self.programmes.nearest(row, candidate.region, candidate.way, candidate.path.sums)
        if way is not None:
            yield replace(candidate, way=way, solved=True)

    def _least(self, candidate: _Candidate) -> tuple[float, float]:
        """No row of the region costs less, or is nearer: of sums that its nearest row misses each asks for more."""
        way = candidate.way
        more = [
            self._more(way, one) for one in candidate.path.sums if not candidate.solved and not one.holds(way.cells)
        ]
        costs, distances = zip(*more, strict=True) if more else ((0.0,), (0.0,))
        return way.cost + max(costs), way.distance + max(distances)

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


def _features(column: object, feature: int) -> Sequence[int]:
    """The table's columns that a condition looks at."""
    return [term.feature for term in column.test.terms] if isinstance(column, CombinedColumn) else [feature]
