"""The nearest rows with another answer of an ordered rule set, found exactly: the best region first.

The rows that a rule answers are those of its box that no earlier rule covers. The search begins with the box of
every rule that has the wanted answer and takes, again and again, the region whose nearest row is nearest of all.
If the rule itself answers that row, no row that it answers is nearer. Else an earlier rule covers it, and the region
is cut into the pieces that this rule does not cover, whose nearest rows are no nearer. So earlier rules are looked at
only where they stand in the way.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from learners.reasons.nearest.region_steps import KnownSteps, RegionSteps
from learners.reasons.records import Asked, Change, Counterfactual, SearchEnded, Way, Ways, shown_cell
from learners.reasons.regions.regions import Region, RuleRegions
from learners.reasons.wanted.targets import Target
from learners.reasons.work import Work
from learners.rules.fitted import FittedRules
from learners.table import Table
from learners.types import FloatArray

#: Most regions that are looked at for one row: some tenths of a second.
MAX_REGIONS = 2_000
#: What each takes of the work of a request, in nodes.
_REGION = 700


class RuleSeeker:
    """One search over any number of rows.

    Args:
        learner: a fitted rule set.
        target: the wanted answer.
        steps: what may be changed at what price, and what is compared first.
        count: how many counterfactuals of each row, at most one of each rule.
        diverse: let no two of them change the same set of columns.
        work: of the request.
    """

    def __init__(
        self,
        learner: FittedRules,
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
        self.regions = RuleRegions(learner.ordered_rules_, learner.columns_)
        self.wanted = np.flatnonzero(target.holds(learner.ordered_rules_.share)).tolist()

    def find(self, row: FloatArray) -> Ways:
        """The nearest ways of one row, shape (d,)."""
        found = Ways()
        changed: set[frozenset[int]] = set()
        for rule, way, exact in self._ways(row, found):
            if self.diverse and frozenset(way.steps) in changed:
                continue
            changed.add(frozenset(way.steps))
            found.append(replace(self._described(row, rule, way), exact=exact))
            if len(found) == self.count:
                break
        if found:
            found.unfinished = None
        return found

    def _ways(self, row: FloatArray, found: Ways) -> Iterator[tuple[int, Way, bool]]:
        """The nearest row of each wanted rule, the nearest first, and whether it surely is; where the search ends
        before that is known, what is left is told in ``found``."""
        known: KnownSteps = {}
        looked_at = 0
        numbers = itertools.count()
        heap: list[tuple[tuple[float, float], int, int, Region, Way]] = []

        def push(rule: int, region: Region) -> None:
            nonlocal looked_at
            looked_at += 1
            self.work.spend(_REGION)
            way = self.steps.nearest(row, region, known)
            if way is not None:
                heapq.heappush(heap, (self.steps.key(way.cost, way.distance), rule, next(numbers), region, way))

        for rule in self.wanted:
            region = self.regions.covered(rule)
            if region is not None:
                push(rule, region)
        done: set[int] = set()
        while heap and looked_at <= MAX_REGIONS and not self.work.is_spent:
            _, rule, _, region, way = heapq.heappop(heap)
            if rule in done:
                continue
            answering = self._answering(way.cells)
            if answering == rule:
                done.add(rule)
                yield rule, way, True
                continue
            for piece in self.regions.outside(answering, region):
                push(rule, piece)
        if heap:
            ended = SearchEnded(f"{MAX_REGIONS} regions between overlapping rules")
            found.unfinished = str(ended if looked_at > MAX_REGIONS else self.work.ended())
            yield from self._answered([entry[-1] for entry in sorted(heap)], done)

    def _answered(self, ways: list[Way], done: set[int]) -> Iterator[tuple[int, Way, bool]]:
        """Of the rows that wait to be looked at, the nearest first, those that wanted rules answer as they are."""
        rows = Table(self.learner.columns_, np.asfortranarray([way.cells for way in ways]))
        for rule, way in zip(self.learner.apply(rows).tolist(), ways, strict=True):
            if rule in self.wanted and rule not in done:
                done.add(rule)
                yield rule, way, False

    def _answering(self, cells: FloatArray) -> int:
        """The rule that answers a row: as the model says."""
        return int(self.learner.apply(Table(self.learner.columns_, np.asfortranarray(cells[None])))[0])

    def _described(self, row: FloatArray, rule: int, way: Way) -> Counterfactual:
        columns = self.learner.columns_
        record = self.learner.rules_.rules[rule]
        tests = self.regions.tests(rule)
        share = self.learner.ordered_rules_.share[rule]
        return Counterfactual(
            leaf=None,
            rank=rule + 1,
            rule=record.id,
            changes=tuple(
                Change(
                    columns[feature].name,
                    shown_cell(columns[feature], row[feature]),
                    columns[feature].decode(float(way.cells[feature])),
                    step,
                )
                for feature, step in way.steps.items()
            ),
            cost=way.cost,
            distance=way.distance,
            asked=tuple(
                Asked(
                    condition.condition,
                    shown_cell(columns[feature], row[feature]),
                    "met" if test.holds(float(row[feature])) else "unmet",
                )
                for condition, (feature, test) in zip(record.conditions, tests, strict=True)
            ),
            cells=way.cells,
            answer=self.target.answer(share),
            probabilities=tuple(share.tolist()),
        )
