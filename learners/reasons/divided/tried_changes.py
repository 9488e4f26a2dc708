"""What a tree with tests of several values answers if a single column of a row changes: for all columns and values.

While the other columns stay as they are, each test asks whether the column's value is above a threshold, or among some
levels: a count by its terms on that column, a sum by the value at which it meets its threshold. So a column has as
many kinds of values as there are thresholds and levels on the ways of its changes, and the nearest of each kind is
followed down these ways, all together. Where a sum meets its threshold is found to the double, by the tree's own sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learners.reasons.divided.reach import Level, Reach
from learners.reasons.divided.single_changes import judged, nearest_of_each
from learners.reasons.nearest.demands import nearest_numbers, permitted_levels, steps_between
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.records import Way
from learners.table import Kind
from learners.trees.combined.tests import NUMBER, CombinedTests
from learners.trees.estimator import FittedTree
from learners.trees.nodes import INTERVALS
from learners.types import BoolArray, FloatArray, IntArray

#: A sum meets its threshold within so many roundings of where it would without any.
_ROUNDINGS = 64


class TriedChanges:
    """The changes of single columns of one row.

    Args:
        learner: a fitted tree.
        row: shape (d,).
        reach: of the row.
        margins: of the answers of all nodes, shape (N, J): a row has the wanted answer if its means are not below 0.
        slack: how far below 0 they may be for rounding.
        steps: what changes are allowed, and how they are compared.

    Attributes:
        columns: that are tested on the ways of the row as it is, and may be changed; ascending.
        judged: those of them of which all changes are known: not where a sum's threshold was not found.
    """

    def __init__(
        self,
        learner: FittedTree,
        row: FloatArray,
        reach: Reach,
        margins: FloatArray,
        slack: float,
        steps: RegionSteps,
    ) -> None:
        self._learner, self._row, self._steps = learner, row, steps
        self._below, self._margins, self._slack = reach.below, margins, slack
        (whole,) = reach.bounds([frozenset()])
        self.columns = sorted(column for column in whole.columns if not steps.wishes.fixed[column])
        self._levels = self._dependent(reach.levels([frozenset({column}) for column in self.columns]))
        self._owners, self._nodes = self._free()
        self._met, lost = self._met_sums()
        self.judged = frozenset(self.columns) - lost

    def nearest(self, holds: Callable[[FloatArray], BoolArray]) -> list[Way]:
        """The nearest row of each column's changes that stays divided and has the wanted answer, where there is one.

        Args:
            holds: which rows, shape (n, d), the tree itself answers as wanted.
        """
        if not self.columns:
            return []
        parts = [self._numbers(one) if self._is_numeric(one) else self._of_levels(one) for one in self.columns]
        counts = np.array([len(cells) for cells, _ in parts])
        cells, far = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        owner = np.repeat(np.arange(len(counts)), counts)
        may, is_sure = judged(self._answers(owner, cells, counts), self._slack)
        kept = np.flatnonzero(may)
        columns = np.array(self.columns)[owner[kept]]
        return nearest_of_each(self._row, columns, cells[kept], far[kept], is_sure[kept], self._steps, holds)

    def _dependent(self, levels: list[Level]) -> list[Level]:
        """The same where a sum that misses another value is not free, since nothing makes its value known."""
        nodes, combined, d = self._learner.tree_, self._learner.tree_.combined, len(self._row)
        missing = np.isnan(self._row)
        tests = np.repeat(np.arange(len(combined)), combined.n_terms)
        looks_at = np.zeros((d, d + len(combined) + 1), np.bool_)  # of leaves, at last, none does
        looks_at[combined.feature, d + tests] = missing[combined.feature]
        others = looks_at.sum(axis=0) - looks_at[self.columns]
        lost = (others > 0) & np.concatenate((np.zeros(d, np.bool_), combined.need == 0, [False]))
        return [(owner, node, free & ~lost[owner, nodes.feature[node]], below) for owner, node, free, below in levels]

    def _free(self) -> tuple[IntArray, IntArray]:
        """The nodes whose tests depend on the changed column, and the places of these columns."""
        none = np.empty(0, np.int64)
        owners = np.concatenate([none, *(owners[free] for owners, _, free, _ in self._levels)])
        nodes = np.concatenate([none, *(nodes[free] for _, nodes, free, _ in self._levels)])
        return owners, nodes

    def _answers(self, owner: IntArray, cells: FloatArray, counts: IntArray) -> FloatArray:
        """Of each change, shape (m,), the margins of its answer and at last how many leaves it reaches, (m, J + 1)."""
        changed = np.repeat(self._row[:, None], len(cells), axis=1)
        changed[np.array(self.columns)[owner], np.arange(len(cells))] = cells
        first, most = np.cumsum(counts) - counts, int(counts.max(initial=0))
        fraction, n_columns = self._learner.tree_.fraction, len(counts)
        goes = self._goes(changed, first, counts, most)
        shares = np.ones((n_columns, most))
        sums = np.zeros((self._margins.shape[1] + 1, n_columns, most))
        done = 0
        for place, (owners, nodes, free, below) in enumerate(self._levels):
            ended = np.flatnonzero(below == 0)
            if len(ended):
                of_column = (owners[ended] == np.arange(n_columns)[:, None]).astype(np.float64)
                for margin, values in enumerate(self._margins[nodes[ended]].T):
                    sums[margin] += of_column @ (shares[ended] * values[:, None])
                sums[-1] += of_column @ (shares[ended] > 0).astype(np.float64)
            if place + 1 == len(self._levels):
                break
            above, children = np.repeat(np.arange(len(nodes)), below), self._levels[place + 1][1]
            to = np.repeat(self._below[nodes][:, None], most, axis=1)
            to[free] = goes[done : done + int(free.sum())]
            to, own, part = to[above], children[:, None], fraction[children][:, None]
            shares = shares[above] * np.where(to == nodes[above][:, None], part, to == own)
            done += int(free.sum())
        return sums[:, owner, np.arange(len(owner)) - first[owner]].T

    def _goes(self, changed: FloatArray, first: IntArray, counts: IntArray, most: int) -> IntArray:
        """Where each change of a column leads from each node whose test depends on it, shape (nodes, most of any)."""
        n = counts[self._owners]
        at = np.repeat(np.arange(len(n)), n)
        within = np.arange(len(at)) - np.repeat(np.cumsum(n) - n, n)
        goes = np.zeros((len(n), most), np.intp)
        walk = self._learner.packed_tree_.walk
        goes[at, within] = walk.step(self._nodes[at], changed, first[self._owners[at]] + within)
        return goes

    def _is_numeric(self, column: int) -> bool:
        return self._learner.columns_[column].is_numeric

    def _numbers(self, column: int) -> tuple[FloatArray, FloatArray]:
        """Of a numeric column the nearest values between two thresholds each, and how far they are."""
        cuts, row, steps = self._cuts(column), self._row, self._steps
        low, high = np.append(-np.inf, cuts), np.append(cuts, np.inf)
        features = np.full(len(low), column)
        blocked, cells, far = nearest_numbers(row, features, low, high, steps.wishes, steps.scales)
        blocked |= (low < row[column]) & (row[column] <= high)
        return cells[~blocked], far[~blocked]

    def _cuts(self, column: int) -> FloatArray:
        """The thresholds of a numeric column, ascending."""
        nodes, combined = self._learner.tree_, self._learner.tree_.combined
        asking = self._nodes[self._owners == self.columns.index(column)]
        own = asking[nodes.feature[asking] == column]
        uppers = [nodes.upper[list(nodes.children(node))] for node in own.tolist() if nodes.test[node] == INTERVALS]
        counts = np.unique(nodes.feature[asking]) - len(self._row)
        terms = [term for test in counts[counts >= 0].tolist() for term in combined.tests[test].terms]
        numbers = [term.number for term in terms if term.kind == NUMBER and term.feature == column]
        cuts = np.concatenate((nodes.threshold[own], np.array(numbers), self._met.get(column, np.empty(0)), *uppers))
        finite: FloatArray = np.unique(cuts[np.isfinite(cuts)])
        return finite

    def _of_levels(self, column: int) -> tuple[FloatArray, FloatArray]:
        """The same of a column with levels."""
        described, value = self._learner.columns_[column], float(self._row[column])
        n = len(described.levels)
        may = permitted_levels(described, self._row, self._steps.wishes, column)
        if value >= 0:
            may[int(value)] = False
        codes = np.flatnonzero(may)
        far = np.ones(len(codes))
        if described.kind is Kind.ORDINAL and value >= 0:
            far = np.array([steps_between(value, code, n) for code in codes.tolist()])
        return codes.astype(np.float64), far

    def _met_sums(self) -> tuple[dict[int, FloatArray], set[int]]:
        """By column the greatest values with which sums are still on the side where low values are, while all other
        columns stay as they are; and the columns of which some was not found."""
        nodes, combined, d = self._learner.tree_, self._learner.tree_.combined, len(self._row)
        of_sums = nodes.feature[self._nodes] >= d
        owners, places = self._owners[of_sums], self._nodes[of_sums]
        asked = zip(
            owners.tolist(), (nodes.feature[places] - d).tolist(), nodes.threshold[places].tolist(), strict=True
        )
        met: list[tuple[int, float, int, float]] = []
        for owner, test, top in dict.fromkeys(asked):
            column, terms = self.columns[owner], combined.tests[test].terms
            slope = sum(term.number for term in terms if term.feature == column)
            if combined.need[test] == 0 and slope != 0:
                met.append((test, top, column, slope))
        if not met:
            return {}, set()
        tests, tops, columns, slopes = (np.array(one) for one in zip(*met, strict=True))
        found, is_found = _meeting(combined, self._row, tests, tops, columns, slopes)
        lost = set(columns[~is_found].tolist())
        return {one: found[(columns == one) & is_found] for one in np.unique(columns).tolist()}, lost


def _meeting(
    tests: CombinedTests, row: FloatArray, asked: IntArray, tops: FloatArray, columns: IntArray, slopes: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """The greatest value of a column with which a sum is still where low values leave it, and whether it was found.

    A rounded sum never falls as its terms rise, so halving finds it.
    """
    n = np.arange(len(asked))
    cells = np.repeat(row[:, None], len(asked), axis=1)

    def is_low(values: FloatArray) -> BoolArray:
        cells[columns, n] = values
        above: BoolArray = (tests.values(asked, cells, n) > tops) != (slopes < 0)
        return ~above

    cells[columns, n] = 0.0
    rest = tests.values(asked, cells, n)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        edge = (tops - rest) / slopes
        beside = _ROUNDINGS * np.spacing(np.maximum(np.abs(edge), np.abs(rest / slopes)))
        low, high = edge - beside, edge + beside
        is_found = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(is_found, low, 0.0), np.where(is_found, high, 0.0)
        is_found &= is_low(low) & ~is_low(high)
        while True:
            middle = low / 2 + high / 2
            between = (low < middle) & (middle < high)
            if not between[is_found].any():
                return low, is_found
            under = is_low(middle)
            low, high = np.where(between & under, middle, low), np.where(between & ~under, middle, high)
