"""How much tests in two branches gain in a node: many candidates at once, by the grower's own rules.

Criterion, least mass, share of known weight, gain ratio, minimum gain, the correction for many thresholds and the
costs of columns count as they do for simple tests (:mod:`learners.trees.searching`). A test of several columns
costs the sum of theirs, and is corrected for every threshold that it chose.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from learners._accel import interpreted
from learners.trees.chi_square import chi_square
from learners.trees.choosing import average_gain
from learners.trees.combined.tests import CombinedTest
from learners.trees.criteria import GINI, VARIANCE
from learners.trees.growth import Growth
from learners.trees.pricing import CS_ID3, EG2, FREE
from learners.trees.problem import AS_VALUE, CENTRED, TIE, WEIGHT
from learners.trees.searching import threshold_least
from learners.types import FloatArray, IntArray

#: C4.5's slack when it asks whether a gain reaches the average gain.
_AVERAGE_SLACK = 1e-3


class FoundTest(NamedTuple):
    """A combined test with what it gains.

    Attributes:
        test: what is asked; up to ``threshold`` its value takes branch 0, above it branch 1.
        missing_branch: where missing counts as a value, the branch that gains most by it; else -1.
    """

    test: CombinedTest
    threshold: float
    gain: float
    score: float
    missing_branch: int


class Judgement(NamedTuple):
    """Of p candidates gain and score, minus infinity where a test may not be made, and ``missing_branch``."""

    gain: FloatArray
    score: FloatArray
    missing_branch: IntArray


@dataclass(frozen=True, eq=False)
class NodeRows:
    """The m rows of a node.

    Attributes:
        growth, node: whose.
        rows: int64 (m,), their table rows.
        stats: float64 (m, S), what each adds to the sums of :func:`learners.trees.criteria.impurity_sum`, and
            in one more column its mass, which is what stop rules count.
        costs: float64 (d,), what each column costs here, or ``None`` where that does not matter.
        weight, impurity: the node's.
    """

    growth: Growth
    node: int
    rows: IntArray
    stats: FloatArray
    costs: FloatArray | None
    weight: float
    impurity: float

    @classmethod
    def of(cls, growth: Growth, node: int, costs: FloatArray | None) -> NodeRows:
        problem, rules = growth.problem, growth.rules
        record = growth.grown.nodes[node]
        span = slice(int(record.start), int(record.start) + int(record["count"]))
        rows = problem.row[span].astype(np.int64)
        weight = np.ones(len(rows)) if rules.unit else problem.numbers[WEIGHT, span].copy()
        mass = np.ones(len(rows)) if rules.unit else problem.numbers[rules.mass_row, span].copy()
        stats = np.zeros((len(rows), rules.n_stats + 1))
        if rules.criterion == VARIANCE:
            centred = problem.numbers[CENTRED, span]
            stats[:, :3] = np.column_stack((weight, weight * centred, weight * centred**2))
        else:
            stats[np.arange(len(rows)), problem.answer[rows].astype(np.int64)] = weight
        stats[:, -1] = mass
        return cls(growth, node, rows, stats, costs, float(record.weight), float(record.impurity))

    @property
    def scale(self) -> float:
        """In what units scores count as equal; see :func:`learners.trees.choosing.choose`."""
        return 1.0 if self.growth.rules.by_ratio else self.impurity

    @cached_property
    def total(self) -> FloatArray:
        """The sums of all rows."""
        return np.asarray(self.stats.sum(axis=0))

    def cells(self, column: int) -> FloatArray:
        """A column's cells, shape (m,)."""
        return np.asarray(self.growth.problem.cells[column, self.rows])

    def cost_of(self, columns: Iterable[int]) -> float:
        """The sum of what these columns cost."""
        return 0.0 if self.costs is None else float(self.costs[sorted(set(columns))].sum())

    def judge(
        self, left: FloatArray, unknown: FloatArray, bits: float | FloatArray, cost: float | FloatArray
    ) -> Judgement:
        """Judge p tests by the sums of the rows that take branch 0, and of those whose value is missing.

        Args:
            left, unknown: float64 (p, S + 1), sums of ``stats``.
            bits: by what the correction for many thresholds lowers the gain, times the weight; of all or of each.
            cost: of the columns that the tests look at.
        """
        total = self.total
        if self.growth.rules.missing != AS_VALUE:
            return self._judge(left, total - unknown, bits, cost, -1)
        with_right = self._judge(left, np.broadcast_to(total, left.shape), bits, cost, 1)
        with_left = self._judge(left + unknown, np.broadcast_to(total, left.shape), bits, cost, 0)
        better = with_left.gain > with_right.gain + TIE * self.scale
        branch = np.where(unknown[:, -1] > 0, np.where(better, 0, 1), -1)
        return Judgement(
            np.where(better, with_left.gain, with_right.gain),
            np.where(better, with_left.score, with_right.score),
            branch,
        )

    def _judge(
        self,
        left: FloatArray,
        known: FloatArray,
        bits: float | FloatArray,
        cost: float | FloatArray,
        branch: int,
    ) -> Judgement:
        rules, weight = self.growth.rules, self.weight
        right = known - left
        sums = impurity_sums(np.concatenate((known, left, right))[:, :-1], rules.criterion).reshape(3, -1)
        gain = (sums[0] - sums[1] - sums[2]) / weight
        allowed = np.ones(len(gain), np.bool_)
        if rules.penalty:
            gain = gain - bits / weight
            allowed = gain > 0
        least: FloatArray | float = rules.min_leaf
        if rules.quinlan_minimum:
            least = np.array([interpreted(threshold_least)(rules, mass) for mass in known[:, -1]])
        allowed &= (left[:, -1] >= least) & (right[:, -1] >= least) & (gain >= rules.min_gain)
        worth = gain
        if rules.by_ratio:
            weights = [_weights(part[:, :-1], rules.criterion) for part in (left, right, known)]
            parts = weighted_logs(weights[0]) + weighted_logs(weights[1]) + weighted_logs(weight - weights[2])
            information = (weighted_logs(np.array(weight)) - parts) / weight
            worth = np.where(information > 0, gain / np.where(information > 0, information, 1.0), 0.0)
        score = self._priced(worth, cost)
        branches = np.full(len(gain), branch)
        return Judgement(np.where(allowed, gain, -np.inf), np.where(allowed, score, -np.inf), branches)

    def _priced(self, worth: FloatArray, cost: float | FloatArray) -> FloatArray:
        """What tests are worth beside what they cost; see :mod:`learners.trees.pricing`."""
        extras = self.growth.problem.extras
        if self.costs is None or extras is None or extras.cost_form == FREE:
            return worth
        if extras.cost_form == EG2:
            return np.asarray((2.0**worth - 1.0) / (cost + 1.0) ** extras.exponent)
        return np.asarray((worth * worth if extras.cost_form == CS_ID3 else worth) / cost)

    def found(self, test: CombinedTest, threshold: float, values: FloatArray, bits: float) -> FoundTest | None:
        """A test judged by its values, shape (m,); ``None`` if it may not be made."""
        with np.errstate(invalid="ignore"):
            left = self.stats[values <= threshold].sum(axis=0)
        unknown = self.stats[np.isnan(values)].sum(axis=0)
        cost = self.cost_of(term.feature for term in test.terms)
        judged = self.judge(left[None], unknown[None], bits, cost)
        gain, score, branch = float(judged.gain[0]), float(judged.score[0]), int(judged.missing_branch[0])
        return None if score == -math.inf else FoundTest(test, threshold, gain, score, branch)

    def first_best(self, scores: FloatArray) -> int:
        """The first of the best scores; -1 if no test may be made."""
        best = float(np.max(scores, initial=-np.inf))
        if best == -math.inf:
            return -1
        return int(np.flatnonzero(scores >= best - self.slack(best))[0])

    def slack(self, score: float) -> float:
        """How far apart scores near this one may be that count as equal."""
        scale = abs(score) if self.costs is not None else self.scale
        return TIE * scale if math.isfinite(scale) else 0.0

    def simple(self) -> tuple[float, float]:
        """The score of the best simple test, minus infinity if there is none; and what a gain must reach."""
        work, rules = self.growth.work, self.growth.rules
        best = work.columns
        average = -math.inf
        if rules.by_ratio:
            average = interpreted(average_gain)(self.growth.problem, work) - _AVERAGE_SLACK
        stands = (best.place >= 0) & (best.gain >= average)
        return float(np.max(best.score[stands], initial=-np.inf)), average

    def differs(self, branches: IntArray) -> bool:
        """Whether two branches (-1: missing) differ in class as the stop rule asks, if there is one."""
        extras = self.growth.problem.extras
        if extras is None or len(extras.critical) == 0:
            return True
        sums = [self.stats[branches == branch, :-1].sum(axis=0) for branch in (0, 1)]
        deviation, freedom = chi_square(sums)
        return deviation >= float(extras.critical[freedom])


def impurity_sums(stats: FloatArray, criterion: int) -> FloatArray:
    """:func:`learners.trees.criteria.impurity_sum` of each row, shape (p,)."""
    if criterion == VARIANCE:
        weight = np.where(stats[:, 0] > 0, stats[:, 0], 1.0)
        return np.asarray(np.where(stats[:, 0] > 0, np.maximum(stats[:, 2] - stats[:, 1] ** 2 / weight, 0.0), 0.0))
    total = stats.sum(axis=1)
    if criterion == GINI:
        spread = total - (stats * stats).sum(axis=1) / np.where(total > 0, total, 1.0)
    else:
        spread = weighted_logs(total) - weighted_logs(stats).sum(axis=1)
    return np.asarray(np.where(total > 0, np.maximum(spread, 0.0), 0.0))


def weighted_logs(weights: FloatArray) -> FloatArray:
    """``w log2 w`` of each, 0 where w is 0."""
    return np.asarray(weights * np.log2(np.where(weights > 0, weights, 1.0)))


def _weights(stats: FloatArray, criterion: int) -> FloatArray:
    return stats[:, 0] if criterion == VARIANCE else np.asarray(stats.sum(axis=1))
